//! Temporary folders.
//!
//! The rule kept here: no two folders have one name, even in one process, because tests run side
//! by side. A folder and its files are gone when it is dropped.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A temporary folder.
#[derive(Debug)]
pub struct Folder(TempDir);

impl Folder {
    /// An empty folder.
    ///
    /// # Panics
    /// If the system's folder for temporary files is not writable.
    #[expect(
        clippy::new_without_default,
        reason = "a folder is made on disk, which `default` would hide"
    )]
    pub fn new() -> Self {
        let made = tempfile::Builder::new().prefix("soapstone-").tempdir();
        Self(made.expect("the temporary folder is writable"))
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        self.0.path()
    }

    /// The path of a file in the folder, which may be absent.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root().join(name)
    }

    /// Writes a file, and the folders above it.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub fn write(&self, name: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        let parent = path.parent().expect("a file of the folder");
        fs::create_dir_all(parent).unwrap_or_else(|error| panic!("{parent:?}: {error}"));
        fs::write(&path, contents).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        path
    }

    /// The bytes of a file.
    ///
    /// # Panics
    /// If the file cannot be read.
    pub fn read(&self, name: impl AsRef<Path>) -> Vec<u8> {
        let path = self.path(name);
        fs::read(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"))
    }

    /// A text in which the paths of files of the folder are relative to it.
    pub fn relative(&self, text: &str) -> String {
        let prefix = format!("{}{}", self.root().display(), std::path::MAIN_SEPARATOR);
        text.replace(&prefix, "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_folders_of_one_process_are_apart() {
        let folders = [Folder::new(), Folder::new()];
        folders[0].write("file", "one");
        folders[1].write("file", "two");
        assert_eq!(folders[0].read("file"), b"one");
        assert_eq!(folders[1].read("file"), b"two");
    }

    #[test]
    fn a_folder_that_is_dropped_is_gone_with_its_files() {
        let folder = Folder::new();
        let file = folder.write("inner/file", "contents");
        let root = folder.root().to_owned();
        drop(folder);
        assert_eq!((file.exists(), root.exists()), (false, false));
    }

    #[test]
    fn paths_in_messages_become_relative() {
        let folder = Folder::new();
        let text = format!("{}: not found", folder.path("a.toml").display());
        assert_eq!(folder.relative(&text), "a.toml: not found");
    }
}
