//! What the tests of several crates share, for tests alone.
//!
//! ```text
//! vectors     one loader for the project's own cases and those of other projects
//! failures    every failing case of a table, told together
//! folder      temporary folders, each with a name of its own
//! clock       moments of a story, and time that a test lets pass
//! processor   the processor time of work, to compare with that of other work
//! envelope    SOAP messages
//! assertion   SAML assertions, signed by an issuer (feature `keys`)
//! kdc         a realm of MIT Kerberos with its KDC
//! keys        keys, certificates and authorities, made once in a process (feature `keys`)
//! ```
//!
//! **Vectors.** `vectors/` holds the project's own cases, which always run. The vectors directory
//! (`SOAPSTONE_VECTORS`, or `../shared/vectors`) holds cases of other projects. [`cases`] gives
//! both. Without a vectors directory the cases of other projects are not run; they are counted, and
//! the count is reported at the end of the run (`not_run.rs`). [`cases_of_partners`] is the folder
//! `cases` beside it, with messages and endpoint files of real clients and sectors.
//!
//! **Place in the house.** A crate whose own unit tests (in `src`) use this one is compiled twice
//! if this one depends on it, and the two copies of its types differ. So the only crate of the
//! project below this one is `soapstone-crypto`, by the feature `keys`. Unit tests of
//! `soapstone-crypto` use its own `testing.rs`; its tests in `tests/` may use this crate.
//!
//! The rule kept here: no case is left out in silence. A vectors directory that `SOAPSTONE_VECTORS`
//! names, and every file that a case names, has to be there.
#![forbid(unsafe_code)]

#[cfg(feature = "keys")]
pub mod assertion;
mod case;
#[cfg(feature = "tls")]
mod client_tls;
mod clock;
mod directory;
pub mod envelope;
mod failures;
mod folder;
pub mod kdc;
#[cfg(feature = "keys")]
pub mod keys;
mod not_run;
mod processor;
mod table;

pub use case::Case;
#[cfg(feature = "tls")]
pub use client_tls::client_tls;
pub use clock::{Elapsed, at, moment};
pub use directory::{cases_of_partners, has_vectors_directory, own};
pub use failures::Failures;
pub use folder::Folder;
pub use processor::processor_time;
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

/// Notes that so many cases of partners were not run, because their folder is not there.
pub fn without_cases_of_partners(cases: usize) {
    not_run::record(&[Row {
        suite: "partners".to_owned(),
        kind: "case".to_owned(),
        cases,
    }]);
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
