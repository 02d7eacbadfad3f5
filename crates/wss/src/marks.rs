//! What a message is known by when it comes again: to its receiver, as a copy, or back to its sender, as if it were an answer.
//!
//! The rule kept here: who secures a message and who opens it compute its marks with the same functions, from what a stranger cannot
//! change: the digests that were signed, or the cipher text; and from the name of the key, which both sides know it by.

use jiff::Timestamp;

use crate::digest;
use crate::evidence::{Mark, Signer};
use crate::freshness::{self, Freshness};
use crate::policy::TimestampPolicy;

/// The mark of a signature, by the name of its key and the digests of its references.
///
/// Of what was signed, not of the signature value: an ECDSA value can be changed into another one that verifies.
pub(crate) fn of_signature<'d>(
    key: &'d [u8],
    digests: impl IntoIterator<Item = &'d [u8]>,
) -> [u8; 32] {
    digest::mark_gathered([b"signature".as_slice(), key].into_iter().chain(digests))
}

/// What names the key of a signature in its mark. Who made a session key and who answers under it have one name for it.
///
/// Of a certificate, its key: no signature need cover which certificate is named, and another one for the same key, the one before a renewal, would make
/// another message of a copy.
pub(crate) fn key_of(signer: &Signer) -> &[u8] {
    match signer {
        Signer::Certificate(certificate) => certificate.public_key().key_bits(),
        Signer::SharedKey(name) => name.as_bytes(),
        Signer::RequestKey(sha1) | Signer::SessionKey(sha1) => sha1,
        Signer::Context { name, .. } => name.identifier.as_bytes(),
    }
}

/// The mark of a message that is only encrypted, by the SHA-1 of its wrapped key.
pub(crate) fn of_session_key(sha1: &[u8; 20]) -> [u8; 32] {
    digest::mark([b"encrypted key".as_slice(), sha1])
}

/// The mark of cipher text that lies in `pieces`, under a key that many messages share: nothing else tells it from a copy of it.
pub(crate) fn of_cipher_text(pieces: &[&[u8]]) -> [u8; 32] {
    digest::mark_of_parts(&[b"cipher text"], pieces)
}

/// Until when a message could be accepted, by the life that it says it has or by the moment at which it was met.
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

/// [`Mark`]s that end together.
pub(crate) fn ending(
    until: Timestamp,
    keys: impl IntoIterator<Item = [u8; 32]>,
) -> impl Iterator<Item = Mark> {
    keys.into_iter().map(move |key| Mark { key, until })
}
