//! What a message is known by when it comes again: to its receiver, as a copy, or back to its
//! sender, as if it were an answer.
//!
//! The rule kept here: who secures a message and who opens it compute its marks with the same
//! functions, from what a stranger cannot change: the digests that were signed, with the key; an
//! authentication code; or the cipher text.

use jiff::Timestamp;

use crate::digest;
use crate::freshness::{self, Freshness, TimestampPolicy};

/// Something that must not be seen twice before `until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReplayKey {
    /// SHA-256 of what identifies it.
    pub key: [u8; 32],
    /// From then on the message is too old anyway.
    pub until: Timestamp,
    /// How the end of the message is known.
    pub end: End,
}

/// How the end of a [`ReplayKey`] is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The message proves its end. A copy ends at the same moment of the clock, so that a clock
    /// which is set back makes a copy good again.
    Proven,
    /// The end was counted from the moment at which the message was met. The clock says nothing
    /// about a copy: the mark is to be held for as long as it takes by a clock that nobody sets.
    Counted,
}

/// The mark of a signature with a private key, by its public key and the digests of its references.
///
/// Of what was signed, not of the signature value: an ECDSA value can be changed into another one
/// that verifies.
pub(crate) fn of_signature<'d>(
    key: &'d [u8],
    digests: impl IntoIterator<Item = &'d [u8]>,
) -> [u8; 32] {
    digest::mark_gathered([b"signature".as_slice(), key].into_iter().chain(digests))
}

/// The mark of a signature with a symmetric key: its value. What is signed has one, and without the
/// key nobody makes another, or one that another message has.
pub(crate) fn of_code(value: &[u8]) -> [u8; 32] {
    match value.first_chunk() {
        Some(first) => *first,
        // SHA-1's, or one that was cut short.
        None => digest::mark([b"code".as_slice(), value]),
    }
}

/// The mark of a message that is only encrypted, by the SHA-1 of its wrapped key.
pub(crate) fn of_session_key(sha1: &[u8; 20]) -> [u8; 32] {
    digest::mark([b"encrypted key".as_slice(), sha1])
}

/// The mark of cipher text that lies in `pieces`, under a key that many messages share: nothing
/// else tells it from a copy of it.
pub(crate) fn of_cipher_text(pieces: &[&[u8]]) -> [u8; 32] {
    digest::mark_of_parts(&[b"cipher text"], pieces)
}

/// Until when a message could be accepted, by the life that it says it has or by the moment at
/// which it was met.
pub(crate) fn until(
    policy: Option<TimestampPolicy>,
    life: Option<Freshness>,
    now: Timestamp,
) -> Timestamp {
    let policy = policy.unwrap_or_default();
    match life {
        Some(life) => life.remember_until(policy.skew),
        None => freshness::later(now, policy.ttl + policy.skew),
    }
}

/// [`ReplayKey`]s that end together.
pub(crate) fn ending(
    (until, end): (Timestamp, End),
    keys: impl IntoIterator<Item = [u8; 32]>,
) -> impl Iterator<Item = ReplayKey> {
    let mark = move |key| ReplayKey { key, until, end };
    keys.into_iter().map(mark)
}
