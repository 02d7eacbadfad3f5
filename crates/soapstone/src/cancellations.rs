//! Assertions that a token service cancelled (WS-Trust 1.4, 6), remembered until they end.
//!
//! The store of replay marks keeps them, by name. Whatever keeps marks for several nodes keeps
//! these.
//!
//! The rule kept here: a store that does not answer says of no assertion that it still holds,
//! whatever the node may decide alone about other things.

use jiff::Timestamp;
use soapstone_crypto::{DigestAlgorithm, digest};

use crate::attempts::{Attempts, KeyName};
use crate::replay::ReplayError;

/// Remembers that an assertion was cancelled, by `requester`, who holds a share of the room at
/// most.
///
/// # Errors
/// The store does not answer, is full, or the share is used. Whether the assertion was cancelled is
/// not known then.
pub fn cancel(
    store: &(impl Attempts + ?Sized),
    (issuer, id): (&str, &str),
    requester: &str,
    until: Timestamp,
    now: Timestamp,
) -> Result<(), ReplayError> {
    let by = named(b"requester of cancellations", &[requester])?;
    store.cancel(&name(issuer, id)?, &by, until, now)
}

/// Whether an assertion was cancelled.
///
/// # Errors
/// The store does not answer.
pub fn is_cancelled(
    store: &(impl Attempts + ?Sized),
    (issuer, id): (&str, &str),
    now: Timestamp,
) -> Result<bool, ReplayError> {
    store.is_cancelled(&name(issuer, id)?, now)
}

/// No key has this name: those of keys are digests of other beginnings.
fn name(issuer: &str, id: &str) -> Result<KeyName, ReplayError> {
    named(b"cancelled assertion", &[issuer, id])
}

fn named(what: &[u8], parts: &[&str]) -> Result<KeyName, ReplayError> {
    let mut named = what.to_vec();
    for part in parts {
        named.extend_from_slice(&(part.len() as u64).to_be_bytes());
        named.extend_from_slice(part.as_bytes());
    }
    let digest = digest::digest(DigestAlgorithm::Sha256, &named);
    let digest = digest.ok().and_then(|it| it.as_ref().try_into().ok());
    digest.ok_or_else(|| ReplayError::Unavailable {
        problem: "the name of an assertion cannot be digested".to_owned(),
    })
}
