//! Algorithms of a message by the lists of an endpoint file.
//!
//! The rule kept here: an algorithm that no list has is kept by its URI, to be told.

use std::collections::BTreeSet;

use soapstone::crypto::{
    DataEncryption, DigestAlgorithm, KeyAgreement, KeyDerivation, KeyTransport, KeyWrap,
    SignatureAlgorithm,
};
use soapstone::wss::names::{DS, XENC, XENC11};
use soapstone::xml::{Canonicalization, Element};

/// The namespace of HKDF (RFC 9231, 2.6.6).
const XMLDSIG_MORE_2021: &str = "http://www.w3.org/2021/04/xmldsig-more#";

/// One list of algorithms of an endpoint file.
pub(crate) const LISTS: [&str; 11] = [
    "signature",
    "digest",
    "canonicalization",
    "key_transport",
    "oaep_digest",
    "oaep_mgf",
    "key_agreement",
    "key_derivation",
    "derivation_digest",
    "key_wrap",
    "data",
];

/// Algorithms by the list that they belong to, and URIs that no list has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Algorithms {
    lists: [BTreeSet<&'static str>; LISTS.len()],
    pub(crate) unknown: BTreeSet<String>,
}

impl Algorithms {
    pub(crate) fn add(&mut self, list: &str, name: &'static str) {
        if let Some(place) = LISTS.iter().position(|known| *known == list) {
            self.lists[place].insert(name);
        }
    }

    pub(crate) fn join(&mut self, other: &Self) {
        for (ours, theirs) in self.lists.iter_mut().zip(&other.lists) {
            ours.extend(theirs);
        }
        self.unknown.extend(other.unknown.iter().cloned());
    }

    /// The lists that have something.
    pub(crate) fn lists(&self) -> impl Iterator<Item = (&'static str, &BTreeSet<&'static str>)> {
        LISTS
            .into_iter()
            .zip(&self.lists)
            .filter(|(_, names)| !names.is_empty())
    }

    pub(crate) fn has_mac(&self) -> bool {
        self.lists[0].iter().any(|name| name.starts_with("hmac"))
    }

    /// The algorithms that stand at an element and below it.
    pub(crate) fn of(element: Element<'_>) -> Self {
        let mut found = Self::default();
        found.read(element);
        element.descendants().for_each(|below| found.read(below));
        found
    }

    fn read(&mut self, element: Element<'_>) {
        let Some(uri) = element.attribute("", "Algorithm") else {
            return;
        };
        let uri = uri.as_ref();
        let parent = element.parent();
        let within =
            |namespace: &str, local: &str| parent.is_some_and(|parent| parent.is(namespace, local));
        let (list, name) = match (element.namespace(), element.local()) {
            (DS, "SignatureMethod") => (
                "signature",
                SignatureAlgorithm::from_uri(uri).map(|it| it.short_name()),
            ),
            (DS, "CanonicalizationMethod") | (DS, "Transform") => {
                let known = Canonicalization::from_uri(uri).map(|it| it.short_name());
                if known.is_none() {
                    // Transforms of another sort are told apart by their effect, not by a list.
                    return;
                }
                ("canonicalization", known)
            }
            (DS, "DigestMethod") => {
                let list = match within(XENC, "EncryptionMethod") {
                    true => "oaep_digest",
                    false if within(XENC11, "ConcatKDFParams") => "derivation_digest",
                    false => "digest",
                };
                (
                    list,
                    DigestAlgorithm::from_uri(uri).map(|it| it.short_name()),
                )
            }
            // HKDF (RFC 9231, 2.6.6) names an HMAC, and an endpoint file its digest.
            (_, "PRF") if within(XMLDSIG_MORE_2021, "HKDFParams") => {
                let digest = SignatureAlgorithm::from_uri(uri).and_then(|mac| mac.digest());
                ("derivation_digest", digest.map(|it| it.short_name()))
            }
            (XENC11, "MGF") => (
                "oaep_mgf",
                DigestAlgorithm::from_mgf1_uri(uri).map(|it| it.short_name()),
            ),
            (XENC, "EncryptionMethod") if within(XENC, "EncryptedKey") => {
                match KeyTransport::from_uri(uri) {
                    Some(transport) => ("key_transport", Some(transport.short_name())),
                    None => ("key_wrap", KeyWrap::from_uri(uri).map(|it| it.short_name())),
                }
            }
            (XENC, "EncryptionMethod") => (
                "data",
                DataEncryption::from_uri(uri).map(|it| it.short_name()),
            ),
            (XENC, "AgreementMethod") => (
                "key_agreement",
                KeyAgreement::from_uri(uri).map(|it| it.short_name()),
            ),
            (XENC11, "KeyDerivationMethod") => (
                "key_derivation",
                KeyDerivation::from_uri(uri).map(|it| it.short_name()),
            ),
            _ => return,
        };
        match name {
            Some(name) => self.add(list, name),
            None => {
                self.unknown.insert(uri.to_owned());
            }
        }
    }
}
