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

/// The vectors directory, if there is one.
pub(crate) fn vectors() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOUND
        .get_or_init(|| {
            find(std::env::var_os(VARIABLE), &repository()).unwrap_or_else(|why| panic!("{why}"))
        })
        .as_deref()
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
