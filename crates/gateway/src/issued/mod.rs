//! Assertions that the gateway gets from token services, to be shown to backends.
//!
//! The rule kept here: whoever needs an assertion either gets one that is meant for this request or
//! learns why there is none.

pub(crate) mod asking;
pub(crate) mod entries;
pub(crate) mod failed;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod tokens;
