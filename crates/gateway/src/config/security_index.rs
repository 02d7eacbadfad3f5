//! The security index of a backend: what the compiled policy in front of it assures, and what TLS
//! adds.
//!
//! The rule kept here: it is computed from what the gateway enforces, or said by the file where the
//! gateway passes messages on. No word of a backend counts.

use soapstone::crypto::{DataEncryption, DigestAlgorithm, KeyTransport, SignatureAlgorithm};
use soapstone::endpoint::{Calling, Endpoint};
use soapstone::wss::{Assurance, Assured};
use soapstone_broker::{Level, Property, SecurityIndex};

use super::tls::ClientTls;

/// The index of a backend with that endpoint and that TLS in front of it.
pub(super) fn security_index(
    endpoint: Option<&Endpoint<Calling>>,
    tls: Option<&ClientTls>,
) -> SecurityIndex {
    let assurances = endpoint.into_iter().flat_map(Endpoint::assurances);
    let indices = assurances.map(|assurance| index(&assurance));
    let weakest = indices.reduce(|one, other| one.both(&other));
    over_tls(weakest.unwrap_or_default(), tls)
}

/// The short name of an algorithm that the index tells of: of signatures, digests, or the
/// encryption of data. It may be named by its URI, and in any case.
fn told_algorithm(name: &str) -> Option<&'static str> {
    let signature = SignatureAlgorithm::from_name(name).map(SignatureAlgorithm::short_name);
    let digest = || DigestAlgorithm::from_name(name).map(DigestAlgorithm::short_name);
    let data = || DataEncryption::from_name(name).map(DataEncryption::short_name);
    signature.or_else(digest).or_else(data)
}

/// The short name of an algorithm that a file may assure, and a need refuse: one of signatures,
/// digests or the encryption of data, or RSA 1.5 for session keys. An index that is silent about
/// that has it not.
pub(crate) fn assured_algorithm(name: &str) -> Option<&'static str> {
    let old = KeyTransport::Rsa15;
    let wraps = || (KeyTransport::from_name(name) == Some(old)).then_some(old.short_name());
    told_algorithm(name).or_else(wraps)
}

/// Those that are weak.
pub(crate) fn weak_among(names: &[String]) -> Vec<&'static str> {
    let is_weak = |name: &&'static str| {
        let signs = SignatureAlgorithm::from_name(name).is_some_and(SignatureAlgorithm::is_weak);
        let digests = || DigestAlgorithm::from_name(name).is_some_and(DigestAlgorithm::is_weak);
        let data = || DataEncryption::from_name(name).is_some_and(DataEncryption::is_weak);
        let wraps = || KeyTransport::from_name(name).is_some_and(KeyTransport::is_weak);
        signs || digests() || data() || wraps()
    };
    let known = names.iter().filter_map(|name| assured_algorithm(name));
    known.filter(is_weak).collect()
}

/// An index with what TLS adds, where there is TLS.
pub(super) fn over_tls(index: SecurityIndex, tls: Option<&ClientTls>) -> SecurityIndex {
    match tls {
        None => index,
        Some(tls) => index.over_tls(!tls.certificates.is_empty()),
    }
}

fn index(assurance: &Assurance) -> SecurityIndex {
    let mut index = SecurityIndex::default();
    let mut give = |property, assured: Option<Assured>| {
        if let Some(Assured { bits, confirmed }) = assured {
            let level = match confirmed {
                true => Level::Confirmed,
                false => Level::Message,
            };
            index.give(property, level, bits);
        }
    };
    give(Property::Authentication, assurance.authentication);
    give(Property::Integrity, assurance.integrity);
    give(Property::Confidentiality, assurance.confidentiality);
    give(Property::Freshness, assurance.freshness);
    give(Property::NonRepudiation, assurance.non_repudiation);
    let in_message = [assurance.integrity, assurance.confidentiality];
    let in_message = in_message.into_iter().flatten();
    if let Some(bits) = in_message.map(|assured| assured.bits).min() {
        index.give(Property::EndToEnd, Level::Message, bits);
    }
    let names = assurance.algorithms.iter();
    index.algorithms = names.map(|name| (*name).to_owned()).collect();
    index.encrypted.clone_from(&assurance.encrypted);
    index
}
