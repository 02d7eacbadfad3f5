//! What a program that runs notices of the files that it was configured by, and what it says of
//! those that are wrong.
//!
//! The rule kept here: a change counts from the moment at which a file was read, however long the
//! reading took.

use std::collections::BTreeMap;
use std::path::PathBuf;

use soapstone::config::{FileState, Problems};

/// Files as they were when they were last read or looked at.
pub struct WatchedFiles(BTreeMap<PathBuf, FileState>);

impl WatchedFiles {
    /// Begins with the states that they had just before they were read.
    pub fn new(files: impl IntoIterator<Item = (PathBuf, FileState)>) -> Self {
        let mut watched = BTreeMap::new();
        for (file, state) in files {
            // Of a file that is named twice the first state is kept: what came between is a change.
            watched.entry(file).or_insert(state);
        }
        Self(watched)
    }

    /// Whether any file changed since the last look.
    pub fn changed(&mut self) -> bool {
        let mut changed = false;
        for (file, known) in &mut self.0 {
            let now = FileState::of(file);
            changed |= now != *known;
            *known = now;
        }
        changed
    }
}

/// Writes what is wrong with a changed configuration into the log, a line for each problem.
pub fn tell_problems(problems: &Problems) {
    tracing::error!(
        problems = problems.0.len(),
        "the changed configuration has problems; the former one stays in use"
    );
    for problem in &problems.0 {
        // Zero is the whole file.
        let place = (problem.line > 0).then_some((problem.line, problem.column));
        tracing::error!(
            file = %problem.file.display(),
            line = place.map(|(line, _)| line),
            column = place.map(|(_, column)| column),
            hint = problem.hint,
            "{}",
            problem.message
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changes_comes_or_goes_is_noticed_once() {
        let file = std::env::temp_dir().join(format!("soapstone-watched-{}", std::process::id()));
        std::fs::write(&file, "one").expect("the temporary folder is writable");
        let mut watched = WatchedFiles::new([(file.clone(), FileState::of(&file))]);
        assert!(!watched.changed());
        let handle = std::fs::File::options()
            .append(true)
            .open(&file)
            .expect("it exists");
        handle
            .set_modified(std::time::SystemTime::UNIX_EPOCH)
            .expect("it is ours");
        assert!(watched.changed());
        assert!(!watched.changed());
        std::fs::remove_file(&file).expect("it exists");
        assert!(watched.changed());
        assert!(!watched.changed());
    }
}
