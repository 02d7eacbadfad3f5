//! What gateways, and programs of other stacks, say beside their answers.
//!
//! The rule kept here: it is kept in the folder of the run, and never runs across the line that
//! tells of progress.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::failure::Failure;

/// Its name in the folder of a run.
const SAID: &str = "said.log";

/// What is said: on standard error until there is a folder, and in a file of it from then on.
#[derive(Clone, Default)]
pub(super) struct ProcessLog(Arc<OnceLock<InFile>>);

struct InFile {
    path: PathBuf,
    file: File,
    /// How long it was, bytes, when this run began or went on.
    before: u64,
}

impl ProcessLog {
    /// Goes on in a file of the folder.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn keep(&self, folder: &Path) -> Result<File, Failure> {
        let path = folder.join(SAID);
        let unusable = |error: std::io::Error| Failure::file(&path, error);
        let file = OpenOptions::new().append(true).create(true).open(&path);
        let file = file.map_err(unusable)?;
        let before = file.metadata().map_err(unusable)?.len();
        let another = file.try_clone().map_err(unusable)?;
        self.0.get_or_init(|| InFile {
            path: path.clone(),
            file,
            before,
        });
        Ok(another)
    }

    /// The file, for processes that say something themselves; none before there is a folder.
    pub(super) fn file(&self) -> Option<File> {
        self.0.get()?.file.try_clone().ok()
    }

    /// Copies lines as they come, until there are no more.
    pub(super) fn listen(&self, stream: impl Read + Send + 'static) {
        let said = self.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stream).split(b'\n') {
                let Ok(mut line) = line else { break };
                line.push(b'\n');
                // What cannot be written is heard all the same, so that whoever says it never
                // waits.
                let _ = match said.0.get() {
                    Some(InFile { file, .. }) => (&*file).write_all(&line),
                    None => std::io::stderr().write_all(&line),
                };
            }
        });
    }

    /// Where it is, if something was said since this run began or went on.
    pub(super) fn heard(&self) -> Option<&Path> {
        let InFile { path, file, before } = self.0.get()?;
        let length = file.metadata().ok()?.len();
        (length > *before).then_some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_said_since_the_run_went_on_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(SAID), "before\n").expect("a file");
        let said = ProcessLog::default();
        assert_eq!(said.heard(), None);
        let mut file = said.keep(folder.path()).expect("it is kept");
        assert_eq!(said.heard(), None);
        writeln!(file, "now").expect("it is written");
        let path = said.heard().expect("something was said");
        assert_eq!(std::fs::read_to_string(path).unwrap(), "before\nnow\n");
    }
}
