//! How several files get into a folder: all of them, or none, and never over what is there.
//!
//! They are made in a folder of their own inside, which nobody else can look into, and linked to
//! their places when all of them are good. The rule kept here: whatever goes wrong, nothing of it
//! stays.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::failure::Failure;

/// A place where files are made before they are seen.
pub(super) struct Staging {
    folder: PathBuf,
    inside: TempDir,
    /// The folders were not there before.
    made: Vec<PathBuf>,
    kept: bool,
}

impl Staging {
    /// Prepares for files of these names in a folder, which is made if it is not there.
    ///
    /// # Errors
    /// [`Failure`] naming every file that is in the way, or why nothing can be made there.
    pub(super) fn begin(folder: &Path, names: &[&str]) -> Result<Self, Failure> {
        let taken: Vec<PathBuf> = names
            .iter()
            .map(|name| folder.join(name))
            .filter(|path| path.symlink_metadata().is_ok())
            .collect();
        if !taken.is_empty() {
            return Err(in_the_way(&taken));
        }
        let mut made: Vec<PathBuf> = Vec::new();
        let missing = folder.ancestors().take_while(|folder| {
            !folder.as_os_str().is_empty() && folder.symlink_metadata().is_err()
        });
        made.extend(missing.map(Path::to_path_buf));
        let inside = fs::create_dir_all(folder).and_then(|()| {
            tempfile::Builder::new()
                .prefix(".soapstone-init-")
                .tempdir_in(folder)
        });
        match inside {
            Ok(inside) => Ok(Self {
                folder: folder.to_path_buf(),
                inside,
                made,
                kept: false,
            }),
            Err(error) => {
                remove_empty(&made);
                Err(unwritable(folder, &error))
            }
        }
    }

    /// Where the files are made.
    pub(super) fn folder(&self) -> &Path {
        self.inside.path()
    }

    /// Puts the files into their places.
    ///
    /// # Errors
    /// [`Failure`] naming the file that came to be in the way meanwhile, or cannot be put there;
    /// then none of them is.
    pub(super) fn place(mut self, names: &[&str]) -> Result<(), Failure> {
        let mut placed: Vec<PathBuf> = Vec::new();
        for name in names {
            let place = self.folder.join(name);
            // Unlike a rename, a link never replaces what is there.
            if let Err(error) = fs::hard_link(self.inside.path().join(name), &place) {
                for path in placed {
                    // It was made a moment ago by us.
                    let _ = fs::remove_file(path);
                }
                return Err(match error.kind() {
                    io::ErrorKind::AlreadyExists => in_the_way(&[place]),
                    _ => unwritable(&place, &error),
                });
            }
            placed.push(place);
        }
        self.kept = true;
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // What cannot be removed is of no use to anybody: the folder is its owner's alone.
        let _ = fs::remove_dir_all(self.inside.path());
        if !self.kept {
            remove_empty(&self.made);
        }
    }
}

/// Removes folders that were made, innermost first, as long as nobody has put anything into them.
fn remove_empty(folders: &[PathBuf]) {
    for folder in folders {
        let _ = fs::remove_dir(folder);
    }
}

fn in_the_way(paths: &[PathBuf]) -> Failure {
    let names: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let exist = if paths.len() == 1 { "exists" } else { "exist" };
    Failure::new(format_args!(
        "nothing was written: {} {exist} already",
        names.join(", ")
    ))
    .with_hint("name another folder, soapstone init FOLDER, or move away what is there")
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::file(path, format_args!("cannot be written: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_comes_meanwhile_stays_and_nothing_else_does() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("new");
        let staging = Staging::begin(&place, &["a", "b"]).unwrap();
        for name in ["a", "b"] {
            fs::write(staging.folder().join(name), "ours").unwrap();
        }
        fs::write(place.join("b"), "theirs").unwrap();
        let failure = staging.place(&["a", "b"]).unwrap_err();
        assert!(
            failure.to_string().contains("new/b exists already"),
            "{failure}"
        );
        let left: Vec<_> = fs::read_dir(&place).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
        assert_eq!(fs::read(place.join("b")).unwrap(), b"theirs");
    }

    #[test]
    fn what_is_given_up_leaves_no_folder_behind() {
        let folder = tempfile::tempdir().unwrap();
        let staging = Staging::begin(&folder.path().join("a/b"), &["c"]).unwrap();
        fs::write(staging.folder().join("c"), "ours").unwrap();
        drop(staging);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
