//! Test vectors: one loader for all crates, used by tests alone.
//!
//! ```text
//! vectors/              the project's own cases: they always run
//! vectors directory     cases of other projects (SOAPSTONE_VECTORS, or ../shared/vectors)
//! ```
//!
//! [`cases`] gives both. Without a vectors directory the cases of other projects are not run; they
//! are counted, and the count is reported at the end of the run (`not_run.rs`).
//!
//! The rule kept here: no case is left out in silence. A vectors directory that `SOAPSTONE_VECTORS`
//! names, and every file that a case names, has to be there.
#![forbid(unsafe_code)]

mod case;
mod directory;
mod not_run;
mod table;

use std::path::PathBuf;

pub use case::Case;
pub use directory::has_vectors_directory;
pub use table::{Row, rows};

/// All cases of a kind: the project's own, and those of other projects where their vectors are
/// there.
///
/// # Panics
/// If the vectors directory has no case of a kind that the table counts in it, or if a manifest
/// cannot be read.
pub fn cases(kind: &str) -> Vec<Case> {
    select(|row| row.kind == kind, |case| case.kind == kind, kind)
}

/// All cases of a suite, whatever their kind.
///
/// # Panics
/// If the vectors directory does not have a suite that the table counts in it, or if a manifest
/// cannot be read.
pub fn cases_of_suite(suite: &str) -> Vec<Case> {
    select(|row| row.suite == suite, |case| case.suite == suite, suite)
}

/// The project's own cases.
///
/// # Panics
/// If a manifest cannot be read.
pub fn own_cases() -> Vec<Case> {
    case::all(&own())
}

/// Every case of the vectors directory; `None` where there is no such directory.
///
/// # Panics
/// If a manifest cannot be read.
pub fn outside_cases() -> Option<Vec<Case>> {
    directory::vectors().map(case::all)
}

/// The folder of the project's own vectors.
pub fn own() -> PathBuf {
    directory::repository().join("vectors")
}

fn select(counted: impl Fn(&Row) -> bool, wanted: impl Fn(&Case) -> bool, what: &str) -> Vec<Case> {
    let mut found: Vec<Case> = own_cases().into_iter().filter(&wanted).collect();
    let missing: Vec<Row> = rows().into_iter().filter(counted).collect();
    match outside_cases() {
        None => not_run::record(&missing),
        Some(outside) => {
            let own = found.len();
            found.extend(outside.into_iter().filter(&wanted));
            assert!(
                missing.is_empty() || found.len() > own,
                "the vectors directory has no case of `{what}`"
            );
        }
    }
    found
}
