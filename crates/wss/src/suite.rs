//! Algorithm suites: which algorithms a plan uses and accepts.
//!
//! The named suites are those of WS-SecurityPolicy 1.3, 6.1, read by the letter: the `…Sha256` suites change the
//! digest, while signatures stay RSA-SHA1 and HMAC-SHA1. [`Suite::with_sha256_signatures`] is the other reading,
//! which WCF and many others use. Neither reading accepts the other's messages.
//!
//! The one rule: an algorithm is used or accepted only if the suite lists it. The first of a list is the one
//! used in messages that we make.

use soapstone_crypto::{DataEncryption, DigestAlgorithm, KeyTransport, SignatureAlgorithm};
use soapstone_xml::Canonicalization;

/// A key transport algorithm with the parameters that it may come with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyTransportMethod {
    /// The algorithm.
    pub algorithm: KeyTransport,
    /// OAEP's digest; unused by RSA 1.5.
    pub digest: DigestAlgorithm,
    /// Digest of OAEP's mask generation function; unused by RSA 1.5.
    pub mask: DigestAlgorithm,
}

impl KeyTransportMethod {
    /// `rsa-1_5`.
    pub const RSA15: Self = Self {
        algorithm: KeyTransport::Rsa15,
        digest: DigestAlgorithm::Sha1,
        mask: DigestAlgorithm::Sha1,
    };
    /// `rsa-oaep-mgf1p` with its default digest, SHA-1 (XML-Enc 5.5.2).
    pub const OAEP_SHA1: Self = Self {
        algorithm: KeyTransport::RsaOaepMgf1p,
        digest: DigestAlgorithm::Sha1,
        mask: DigestAlgorithm::Sha1,
    };
    /// `rsa-oaep` of XML-Enc 1.1 with SHA-256 as digest and in the mask.
    pub const OAEP_SHA256: Self = Self {
        algorithm: KeyTransport::RsaOaep,
        digest: DigestAlgorithm::Sha256,
        mask: DigestAlgorithm::Sha256,
    };
}

impl KeyTransportMethod {
    /// Whether a message that comes with `found` is within what this names. RSA 1.5 has no parameters.
    pub(crate) fn accepts(&self, found: &Self) -> bool {
        self.algorithm == found.algorithm
            && (self.algorithm == KeyTransport::Rsa15 || self == found)
    }
}

/// The algorithms of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suite {
    /// The name it goes by in configuration and logs.
    pub name: String,
    /// Signatures with a private key.
    pub signature: Vec<SignatureAlgorithm>,
    /// Signatures with a shared key.
    pub symmetric_signature: Vec<SignatureAlgorithm>,
    /// Digests of references.
    pub digest: Vec<DigestAlgorithm>,
    /// Canonical forms, of `SignedInfo` and of references.
    pub canonicalization: Vec<Canonicalization>,
    /// Wrapping of session keys to a certificate.
    pub key_transport: Vec<KeyTransportMethod>,
    /// Encryption of content.
    pub data: Vec<DataEncryption>,
}

/// Every name that [`Suite::named`] knows.
pub const NAMES: [&str; 18] = [
    "Basic256",
    "Basic192",
    "Basic128",
    "TripleDes",
    "Basic256Rsa15",
    "Basic192Rsa15",
    "Basic128Rsa15",
    "TripleDesRsa15",
    "Basic256Sha256",
    "Basic192Sha256",
    "Basic128Sha256",
    "TripleDesSha256",
    "Basic256Sha256Rsa15",
    "Basic192Sha256Rsa15",
    "Basic128Sha256Rsa15",
    "TripleDesSha256Rsa15",
    "Basic128GCM",
    "Basic256GCM",
];

impl Suite {
    /// The suite of this name; `None` if there is none.
    pub fn named(name: &str) -> Option<Self> {
        if let Some(data) = match name {
            "Basic128GCM" => Some(DataEncryption::Aes128Gcm),
            "Basic256GCM" => Some(DataEncryption::Aes256Gcm),
            _ => None,
        } {
            return Some(Self {
                name: name.to_owned(),
                signature: vec![SignatureAlgorithm::RsaSha256],
                symmetric_signature: vec![SignatureAlgorithm::HmacSha256],
                digest: vec![DigestAlgorithm::Sha256],
                canonicalization: vec![Canonicalization::Exclusive],
                key_transport: vec![KeyTransportMethod::OAEP_SHA256],
                data: vec![data],
            });
        }
        let (rest, key_transport) = match name.strip_suffix("Rsa15") {
            Some(rest) => (rest, KeyTransportMethod::RSA15),
            None => (name, KeyTransportMethod::OAEP_SHA1),
        };
        let (rest, digest) = match rest.strip_suffix("Sha256") {
            Some(rest) => (rest, DigestAlgorithm::Sha256),
            None => (rest, DigestAlgorithm::Sha1),
        };
        let data = match rest {
            "Basic256" => DataEncryption::Aes256Cbc,
            "Basic192" => DataEncryption::Aes192Cbc,
            "Basic128" => DataEncryption::Aes128Cbc,
            "TripleDes" => DataEncryption::TripleDesCbc,
            _ => return None,
        };
        Some(Self {
            name: name.to_owned(),
            signature: vec![SignatureAlgorithm::RsaSha1],
            symmetric_signature: vec![SignatureAlgorithm::HmacSha1],
            digest: vec![digest],
            canonicalization: vec![Canonicalization::Exclusive],
            key_transport: vec![key_transport],
            data: vec![data],
        })
    }

    /// Octets of signature keys derived for this suite: 24, or 16 where data is encrypted with keys of 16 octets
    /// (WS-SecurityPolicy 1.3, 6.1: `PSha1L192`, `PSha1L128`).
    pub fn derived_signature_length(&self) -> usize {
        let encryption = self.data.first().map_or(32, |data| data.key_length());
        encryption.min(24)
    }

    /// The same suite in the reading where signatures use SHA-256 as digests do.
    #[must_use]
    pub fn with_sha256_signatures(mut self) -> Self {
        self.signature = vec![SignatureAlgorithm::RsaSha256];
        self.symmetric_signature = vec![SignatureAlgorithm::HmacSha256];
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_name_is_a_suite_and_no_other() {
        for name in NAMES {
            assert_eq!(Suite::named(name).unwrap().name, name);
        }
        for name in [
            "",
            "Basic512",
            "Basic256Rsa15Sha256",
            "basic256",
            "Rsa15",
            "Basic256GCMRsa15",
        ] {
            assert_eq!(Suite::named(name), None, "{name}");
        }
    }

    #[test]
    fn sha256_suites_keep_sha1_signatures_by_the_letter() {
        let suite = Suite::named("Basic256Sha256").unwrap();
        assert_eq!(suite.digest, [DigestAlgorithm::Sha256]);
        assert_eq!(suite.signature, [SignatureAlgorithm::RsaSha1]);
        assert_eq!(
            suite.with_sha256_signatures().signature,
            [SignatureAlgorithm::RsaSha256]
        );
    }
}
