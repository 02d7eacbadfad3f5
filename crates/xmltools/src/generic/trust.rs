//! Whether the caller's anchors vouch for a certificate, by the rules of `xmlsec1`: old
//! certificates are taken, anchors must be self-signed, revocation lists count when they speak.
//!
//! The one rule: without an anchor nothing is trusted.

use soapstone_crypto::trust::RevocationListFacts;
use soapstone_crypto::{Certificate, TrustError, TrustRules, TrustStore};

use super::error::GenericError;
use super::key::Key;
use super::keys::Keys;
use super::options::Options;

/// Longest path that is followed to look for revoked members (`xmlsec1`'s default verification
/// depth).
const PATH: usize = 9;

/// Checks `certificate` with what came with it.
///
/// Lists in the message can only take trust away; whoever made the message could have left them
/// out.
pub(super) fn check(
    certificate: &Certificate,
    embedded: &[Certificate],
    embedded_lists: &[Vec<u8>],
    keys: &Keys,
    options: &Options,
) -> Result<(), GenericError> {
    let untrusted = |error: TrustError| GenericError::Untrusted {
        subject: certificate.subject().to_owned(),
        reason: error.to_string(),
    };
    let now = options.verification_time;
    store(keys, options, Vec::new())?
        .check(certificate, embedded, now)
        .map_err(untrusted)?;
    let path = path(certificate, embedded, keys);
    let ours = keys.revocation_lists.iter().map(|list| (list, true));
    for (list, ours) in ours.chain(embedded_lists.iter().map(|list| (list, false))) {
        let facts = match RevocationListFacts::of(list) {
            Ok(facts) => facts,
            Err(error) if ours => return Err(error.into()),
            Err(_) => continue,
        };
        let must_hold = ours && options.verify_revocation_lists;
        // A list that was made later says nothing about then; one that is out of date still names
        // what was revoked.
        if facts.this_update > now && !options.skip_time_checks && !must_hold {
            continue;
        }
        let store = store(keys, options, vec![list.clone()])?;
        for member in &path {
            let of_its_issuer = facts.issuer == member.issuer_name().to_string();
            match store.check(member, embedded, now) {
                Err(error @ TrustError::Revoked { .. }) => return Err(untrusted(error)),
                // The issuer did not sign the list, or the list is out of date.
                Err(
                    error @ (TrustError::RevocationUnknown { .. }
                    | TrustError::RevocationListExpired { .. }),
                ) if must_hold && of_its_issuer => return Err(untrusted(error)),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Whether a key of the caller's may be used when its own certificate has to be verified
/// (`--verify-keys`).
pub(super) fn key_is_verified(key: &Key, keys: &Keys, options: &Options) -> bool {
    match key.certificates.split_first() {
        Some((own, others)) => check(own, others, &[], keys, options).is_ok(),
        None => true,
    }
}

fn store(
    keys: &Keys,
    options: &Options,
    revocation_lists: Vec<Vec<u8>>,
) -> Result<TrustStore, GenericError> {
    let (anchors, others): (Vec<_>, Vec<_>) = keys
        .trusted
        .iter()
        .cloned()
        .partition(Certificate::is_self_signed);
    let mut rules = TrustRules::default();
    rules.anchors = anchors;
    rules.intermediates = keys.untrusted.iter().cloned().chain(others).collect();
    rules.revocation_lists = revocation_lists;
    rules.min_rsa_bits = 512;
    rules.allow_sha1_certificates = true;
    rules.allow_legacy_certificates = true;
    rules.require_key_usage = false;
    rules.ignore_validity = options.skip_time_checks;
    Ok(TrustStore::new(rules)?)
}

/// The certificate and those above it, as far as they are at hand.
fn path<'c>(
    certificate: &'c Certificate,
    embedded: &'c [Certificate],
    keys: &'c Keys,
) -> Vec<&'c Certificate> {
    let mut path = vec![certificate];
    while let Some(last) = path.last().filter(|last| !last.is_self_signed()) {
        let issuer = embedded
            .iter()
            .chain(&keys.untrusted)
            .chain(&keys.trusted)
            .find(|candidate| {
                candidate.subject_name().matches(last.issuer_name()) && !path.contains(candidate)
            });
        match issuer {
            Some(issuer) if path.len() < PATH => path.push(issuer),
            _ => break,
        }
    }
    path
}
