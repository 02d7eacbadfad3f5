//! Numbers of names that are known from the start.
//!
//! The rule: a number that is no name's is [`NONE`], in all tables.

/// "No such": an undeclared prefix, an empty table place.
pub(crate) const NONE: u16 = u16::MAX;

/// Prefixes known from the start.
pub(crate) mod prefix {
    pub(crate) const DEFAULT: u16 = 0;
    pub(crate) const XML: u16 = 1;
    pub(crate) const XMLNS: u16 = 2;
}

/// Namespace names known from the start.
pub(crate) mod uri {
    pub(crate) const EMPTY: u16 = 0;
    pub(crate) const XML: u16 = 1;
    pub(crate) const XMLNS: u16 = 2;
}
