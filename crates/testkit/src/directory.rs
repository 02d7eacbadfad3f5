//! Where the vectors directory is.
//!
//! The rule kept here: a directory that is named has to be there. The one beside the repository may
//! be missing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The variable that names the vectors directory.
const VARIABLE: &str = "SOAPSTONE_VECTORS";

/// Whether the cases of other projects can be run.
///
/// # Panics
/// If `SOAPSTONE_VECTORS` names a directory that is not there.
pub fn has_vectors_directory() -> bool {
    vectors().is_some()
}

/// The folder `cases` beside the vectors directory, if there is one: messages and files of real
/// clients and sectors. `SOAPSTONE_CASES` names another one.
///
/// # Panics
/// If `SOAPSTONE_CASES` names a directory that is not there.
pub fn cases_of_partners() -> Option<PathBuf> {
    let named = std::env::var_os("SOAPSTONE_CASES");
    let beside = vectors().map(|vectors| vectors.join("../cases"));
    match named {
        Some(named) => {
            let directory = repository().join(named);
            let shown = directory.display();
            assert!(
                directory.is_dir(),
                "SOAPSTONE_CASES names `{shown}`, which is no directory"
            );
            Some(directory)
        }
        None => beside.filter(|directory| directory.is_dir()),
    }
}

/// The vectors directory, if there is one.
pub(crate) fn vectors() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOUND
        .get_or_init(|| {
            find(std::env::var_os(VARIABLE), &repository()).unwrap_or_else(|why| panic!("{why}"))
        })
        .as_deref()
}

/// The folder of the project's own vectors.
pub fn own() -> PathBuf {
    repository().join("vectors")
}

/// The root of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The directory that is named, or the one beside the repository. A relative name is relative to
/// the repository, because Cargo runs the tests of each crate in its own folder.
fn find(named: Option<OsString>, repository: &Path) -> Result<Option<PathBuf>, String> {
    match named {
        Some(named) => {
            let directory = repository.join(&named);
            if !named.is_empty() && directory.is_dir() {
                Ok(Some(directory))
            } else {
                Err(format!(
                    "{VARIABLE} names `{}`, which is no directory",
                    Path::new(&named).display()
                ))
            }
        }
        None => {
            let beside = repository.join("../shared/vectors");
            Ok(beside.is_dir().then_some(beside))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_named_and_not_there_is_an_error() {
        let missing = find(Some("no/such/directory".into()), &repository());
        assert_eq!(
            missing,
            Err("SOAPSTONE_VECTORS names `no/such/directory`, which is no directory".to_owned())
        );
        let empty = find(Some("".into()), &repository());
        assert_eq!(
            empty,
            Err("SOAPSTONE_VECTORS names ``, which is no directory".to_owned())
        );
    }

    #[test]
    fn a_relative_name_begins_at_the_repository() {
        let found = find(Some("vectors".into()), &repository());
        assert_eq!(found, Ok(Some(repository().join("vectors"))));
    }

    #[test]
    fn the_directory_beside_the_repository_may_be_missing() {
        let alone = repository().join("crates/testkit");
        assert_eq!(find(None, &alone), Ok(None));
    }
}
