//! What a signature covers, digested.
//!
//! The one rule: the bytes that were digested are kept for a listener, and for nothing else.

use std::borrow::Cow;

use soapstone_crypto::Digest;

use super::attached::Attached;
use super::shown::Shown;

/// One `ds:Reference` to be written.
#[derive(Clone)]
pub(super) struct Signed<'m> {
    pub(super) id: Cow<'m, str>,
    pub(super) digest: Digest,
    /// What its canonicalization lists.
    pub(super) prefixes: Vec<String>,
    /// The place of its part among those of the message's signature.
    pub(super) place: usize,
    /// For a listener.
    pub(super) shown: Option<Box<Shown>>,
}

/// The place of what no part of the message's signature names.
pub(super) const LAST: usize = usize::MAX;

/// What a signature covers.
pub(super) struct Covered<'s, 'm> {
    /// Elements.
    pub(super) elements: &'s [Signed<'m>],
    /// Attachments.
    pub(super) attached: &'s [Attached],
    /// `SecurityTokenReference`s, whose tokens are digested in their place.
    pub(super) dereferenced: Vec<Signed<'s>>,
}
