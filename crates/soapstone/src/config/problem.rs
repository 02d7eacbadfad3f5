//! What can be wrong with a configuration file, said so that its author can correct it without a
//! manual.
//!
//! The rule kept here: a problem names its file, line and column, says what was expected and what
//! was found, and carries a hint when there is something better to say than that.

use std::fmt;
use std::path::{Path, PathBuf};

/// A place in a text file, counted from 1 as editors do. The column counts characters, not bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Line, from 1. Zero means that the problem is with the file as a whole.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// A value together with the place where it was written, so that later checks can point there.
#[derive(Clone, Debug)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Where the file has it.
    pub place: Place,
}

impl<T> Located<T> {
    /// The same place with another value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Located<U> {
        Located {
            value: change(self.value),
            place: self.place,
        }
    }
}

/// One thing wrong with a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The configuration file.
    pub file: PathBuf,
    /// Line, from 1; zero when the whole file is meant (it cannot be read, for example).
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// What was expected and what was found.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Problem {
    /// A problem at a place in a file.
    pub fn new(file: &Path, place: Place, message: impl Into<String>) -> Self {
        Self {
            file: file.to_path_buf(),
            line: place.line,
            column: place.column,
            message: message.into(),
            hint: None,
        }
    }

    /// The same problem with advice.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// `file:line:column: message`, and the hint on a line of its own.
impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.file.display())?;
        if self.line > 0 {
            write!(formatter, ":{}:{}", self.line, self.column)?;
        }
        write!(formatter, ": {}", self.message)?;
        if let Some(hint) = &self.hint {
            write!(formatter, "\n    hint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}

/// Everything wrong with one configuration, in the order of the file. Never empty when it is an
/// `Err`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl From<Vec<Problem>> for Problems {
    fn from(problems: Vec<Problem>) -> Self {
        Self(problems)
    }
}

/// One problem after another, each on lines of its own.
impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                formatter.write_str("\n")?;
            }
            write!(formatter, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
