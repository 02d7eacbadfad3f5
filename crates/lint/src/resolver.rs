//! Where documents come from that a description imports.
//!
//! The rule kept here: nothing is fetched by this crate.

/// Gives the bytes of another document, by its URI; `None` if it cannot.
pub type Resolver<'r> = &'r dyn Fn(&str) -> Option<Vec<u8>>;
