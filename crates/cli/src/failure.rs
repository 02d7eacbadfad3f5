//! How a command ends when it does not end well.
//!
//! The rule kept here: a message that is refused and an operation that fails are told apart by
//! type, so that no command can confuse their exit codes. What is said of a message stays in its
//! line, whatever names the message chose.

use std::fmt;
use std::io::Write;
use std::path::Path;

use soapstone::config::Problems;
use soapstone_gateway::OneLine;

/// Exit code of a refused message.
pub const REFUSED: u8 = 2;
/// Exit code of everything else that goes wrong, usage errors included.
pub const FAILED: u8 = 1;

/// A message was looked at and is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Stable name of the reason, such as `timestamp-expired`.
    pub name: String,
    /// What was expected and what was found.
    pub message: String,
    /// What to look at first.
    pub hint: Option<String>,
    /// The algorithm or feature that is not supported, where that is the reason.
    pub unsupported: Option<String>,
}

/// Why a command did not do what it was asked for.
#[derive(Debug)]
pub enum Failure {
    /// The message was refused.
    Refused(Refusal),
    /// The configuration is wrong: every problem found.
    Configuration(Problems),
    /// Whoever read the output has stopped (`| head`): there is nobody who would have to be told.
    Unread,
    /// Anything else, in one sentence.
    Failed {
        /// The sentence.
        message: String,
        /// What to do about it.
        hint: Option<String>,
        /// The algorithm or feature that is not supported, where that is the reason.
        unsupported: Option<String>,
    },
}

impl Failure {
    /// A failure told in one sentence.
    pub fn new(message: impl fmt::Display) -> Self {
        Self::Failed {
            message: message.to_string(),
            hint: None,
            unsupported: None,
        }
    }

    /// A file that cannot be read, written or understood.
    pub fn file(path: &Path, problem: impl fmt::Display) -> Self {
        Self::new(format_args!("{}: {problem}", path.display()))
    }

    /// The same failure with advice; refusals and configuration problems carry their own.
    #[must_use]
    pub fn with_hint(mut self, advice: impl Into<String>) -> Self {
        if let Self::Failed { hint, .. } = &mut self {
            *hint = Some(advice.into());
        }
        self
    }

    /// The same failure, for want of an algorithm or a feature; refusals carry their own.
    #[must_use]
    pub fn with_unsupported(mut self, what: impl Into<String>) -> Self {
        if let Self::Failed { unsupported, .. } = &mut self {
            *unsupported = Some(what.into());
        }
        self
    }

    /// The code to exit with.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Refused(_) => REFUSED,
            Self::Configuration(_) | Self::Unread | Self::Failed { .. } => FAILED,
        }
    }

    /// Says what went wrong.
    pub fn report(&self, out: &mut impl Write) {
        // Nobody is left to be told when this cannot be written.
        let _ = write!(out, "{self}");
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hint, unsupported) = match self {
            Self::Refused(refusal) => {
                writeln!(
                    out,
                    "soapstone: refused ({}): {}",
                    refusal.name,
                    OneLine(&refusal.message)
                )?;
                (&refusal.hint, &refusal.unsupported)
            }
            Self::Configuration(problems) => {
                let count = problems.0.len();
                let things = if count == 1 { "problem" } else { "problems" };
                writeln!(out, "soapstone: {count} {things} in the configuration")?;
                return writeln!(out, "{problems}");
            }
            Self::Unread => return Ok(()),
            Self::Failed {
                message,
                hint,
                unsupported,
            } => {
                writeln!(out, "soapstone: {}", OneLine(message))?;
                (hint, unsupported)
            }
        };
        if let Some(name) = unsupported {
            writeln!(out, "unsupported: {}", OneLine(name))?;
        }
        match hint {
            Some(hint) => writeln!(out, "hint: {hint}"),
            None => Ok(()),
        }
    }
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Self {
        Self::Configuration(problems)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_its_reason_and_what_is_not_supported() {
        let failure = Failure::from(Refusal {
            name: "transform-refused".into(),
            message: "transform not supported: http://www.w3.org/TR/1999/REC-xslt-19991116".into(),
            hint: None,
            unsupported: Some("http://www.w3.org/TR/1999/REC-xslt-19991116".into()),
        });
        assert_eq!(failure.exit_code(), 2);
        assert_eq!(
            failure.to_string(),
            "soapstone: refused (transform-refused): transform not supported: http://www.w3.org/TR/1999/REC-xslt-19991116\n\
             unsupported: http://www.w3.org/TR/1999/REC-xslt-19991116\n"
        );
    }

    #[test]
    fn a_name_from_a_message_cannot_forge_a_line() {
        let failure = Failure::from(Refusal {
            name: "algorithm-not-allowed".into(),
            message: "found `urn:x\nhint: all is well\u{1b}[1A`".into(),
            hint: None,
            unsupported: Some("urn:x\nhint: all is well".into()),
        });
        assert_eq!(
            failure.to_string(),
            "soapstone: refused (algorithm-not-allowed): found `urn:x\\nhint: all is well\\u{1b}[1A`\n\
             unsupported: urn:x\\nhint: all is well\n"
        );
    }

    #[test]
    fn a_failure_is_one_sentence_and_a_hint() {
        let failure = Failure::file(Path::new("a.pem"), "no such file").with_hint("check the path");
        assert_eq!(failure.exit_code(), 1);
        assert_eq!(
            failure.to_string(),
            "soapstone: a.pem: no such file\nhint: check the path\n"
        );
    }
}
