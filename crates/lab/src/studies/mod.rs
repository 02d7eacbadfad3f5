//! The studies, one file each, named after who published when.
//!
//! The rule kept here: a file holds what the paper did and reported; how it is run is [`study`](crate::study)'s.

mod mchale2012;

use crate::study::Study;

/// All of them, by name.
pub const ALL: [&Study; 1] = [&mchale2012::STUDY];

/// The study of this name.
pub fn named(name: &str) -> Option<&'static Study> {
    ALL.into_iter().find(|study| study.name == name)
}
