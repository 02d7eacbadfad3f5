//! Algorithm suites: which algorithms a plan uses and accepts.
//!
//! The named suites are those of WS-SecurityPolicy 1.3, 6.1, read by the letter: the `…Sha256`
//! suites change the digest, while signatures stay RSA-SHA1 and HMAC-SHA1.
//! [`Suite::with_sha256_signatures`] is the other reading, which WCF and many others use. Neither
//! reading accepts the other's messages.
//!
//! Beside them stand suites with authenticated encryption, and suites without RSA: their session
//! keys are wrapped with a key that sender and receiver agree on. Each of these has the algorithms
//! of one published profile and no others.
//!
//! The one rule: an algorithm is used or accepted only if the suite lists it. The first of a list
//! is the one used in messages that we make.

use jiff::Timestamp;
use soapstone_crypto::{
    DataEncryption, DigestAlgorithm, KeyAgreement, KeyDerivation, KeyKind, KeyTransport, KeyWrap,
    SignatureAlgorithm, SignatureFamily,
};
use soapstone_xml::Canonicalization;
use soapstone_xmlsec::keyinfo::KeyDerivationMethod;

/// The end of a weak algorithm in one peer's messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Retirement {
    /// Short name of the algorithm.
    pub algorithm: String,
    /// From then on it is refused, although the suite lists it.
    pub from: Timestamp,
}

/// When `algorithm` was retired, if that is past.
pub(crate) fn retired(
    retirements: &[Retirement],
    algorithm: &str,
    now: Timestamp,
) -> Option<Timestamp> {
    let mut retirements = retirements.iter();
    let retirement = retirements.find(|retirement| retirement.algorithm == algorithm)?;
    (retirement.from <= now).then_some(retirement.from)
}

/// A key transport algorithm with the parameters that it may come with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// Whether a message that comes with `found` is within what this names. RSA 1.5 has no
    /// parameters.
    pub(crate) fn accepts(&self, found: &Self) -> bool {
        self.algorithm == found.algorithm
            && (self.algorithm == KeyTransport::Rsa15 || self == found)
    }
}

/// A key agreement algorithm with how the agreed secret becomes a key, and how that key wraps a
/// session key (XML-Enc 1.1 section 5.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyAgreementMethod {
    /// The algorithm.
    pub algorithm: KeyAgreement,
    /// ConcatKDF or HKDF.
    pub derivation: KeyDerivation,
    /// The digest of ConcatKDF, or of the HMAC of HKDF.
    pub digest: DigestAlgorithm,
    /// Wrapping of the session key.
    pub wrap: KeyWrap,
}

impl KeyAgreementMethod {
    /// ECDH-ES with ConcatKDF over SHA-256, which XML-Enc 1.1 section 5.6.4 asks of every
    /// implementation.
    pub const fn ecdh_es(wrap: KeyWrap) -> Self {
        Self {
            algorithm: KeyAgreement::EcdhEs,
            derivation: KeyDerivation::ConcatKdf,
            digest: DigestAlgorithm::Sha256,
            wrap,
        }
    }

    /// X25519 with HKDF over HMAC-SHA256, as eDelivery AS4 2.0 has it.
    pub const fn x25519(wrap: KeyWrap) -> Self {
        Self {
            algorithm: KeyAgreement::X25519,
            derivation: KeyDerivation::Hkdf,
            digest: DigestAlgorithm::Sha256,
            wrap,
        }
    }

    /// The HMAC of HKDF; none where the digest has none.
    pub(crate) fn prf(&self) -> Option<SignatureAlgorithm> {
        let mut macs = SignatureAlgorithm::ALL.iter().copied();
        macs.find(|one| one.is_mac() && one.digest() == Some(self.digest))
    }

    /// Whether this names the derivation that a message comes with.
    pub(crate) fn derives(&self, found: &KeyDerivationMethod) -> bool {
        match (self.derivation, found) {
            (KeyDerivation::ConcatKdf, KeyDerivationMethod::ConcatKdf(parameters)) => {
                parameters.digest == self.digest
            }
            (KeyDerivation::Hkdf, KeyDerivationMethod::Hkdf(parameters, _)) => {
                self.prf() == Some(parameters.prf)
            }
            _ => false,
        }
    }
}

/// How a session key gets to the holder of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrapping<'s> {
    /// Encrypted to an RSA key.
    Transport(&'s KeyTransportMethod),
    /// Wrapped with a key that was agreed on.
    Agreement(&'s KeyAgreementMethod),
}

impl Wrapping<'_> {
    /// Short name of the algorithm that encrypts the key.
    pub(crate) fn short_name(self) -> &'static str {
        match self {
            Self::Transport(method) => method.algorithm.short_name(),
            Self::Agreement(method) => method.wrap.short_name(),
        }
    }
}

/// The algorithms of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
    /// Encryption of session keys to a certificate with an RSA key.
    pub key_transport: Vec<KeyTransportMethod>,
    /// Wrapping of session keys with a key agreed on with the holder of a certificate with any
    /// other key.
    pub key_agreement: Vec<KeyAgreementMethod>,
    /// Encryption of content.
    pub data: Vec<DataEncryption>,
    /// What ConcatKDF digests behind an agreed secret, in messages that we make (XML-Enc 1.1,
    /// 5.4.1): `None` is the URI of the key wrap. Inbound, the message says it.
    pub derivation_info: Option<Vec<u8>>,
    /// Whether messages that we make leave the digest of OAEP out where it is the default, SHA-1
    /// (XML-Enc 1.1, 5.5.2). Inbound, it is the default in any case.
    pub implied_oaep_digest: bool,
}

/// Every name that [`Suite::named`] knows.
pub const NAMES: [&str; 22] = [
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
    "Basic128GCMEcdhEs",
    "Basic256GCMEcdhEs",
    "Basic128GCMX25519",
    "Basic256GCMX25519",
];

/// What stands behind the name of a suite in endpoint files where its signatures use SHA-256 as
/// digests do: the second reading of the `…Sha256` suites goes by the name that WCF's users know it
/// by.
pub const SHA256_SIGNATURES: &str = "+RsaSha256";

impl Suite {
    /// The suite that endpoint files call so: one of [`SUITE_NAMES`](NAMES), alone or with
    /// [`SHA256_SIGNATURES`] behind it. Its name is as written.
    pub fn called(name: &str) -> Option<Self> {
        let suite = match name.strip_suffix(SHA256_SIGNATURES) {
            Some(letter) => Self::named(letter)?.with_sha256_signatures(),
            None => Self::named(name)?,
        };
        Some(Self {
            name: name.to_owned(),
            ..suite
        })
    }

    /// A suite of which no algorithm is known: it protects and accepts nothing.
    pub fn without_algorithms(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            signature: Vec::new(),
            symmetric_signature: Vec::new(),
            digest: Vec::new(),
            canonicalization: Vec::new(),
            key_transport: Vec::new(),
            key_agreement: Vec::new(),
            data: Vec::new(),
            derivation_info: None,
            implied_oaep_digest: false,
        }
    }

    /// The suite of this name; `None` if there is none.
    pub fn named(name: &str) -> Option<Self> {
        let modern = [
            ("Basic128GCM", DataEncryption::Aes128Gcm, KeyWrap::Aes128),
            ("Basic256GCM", DataEncryption::Aes256Gcm, KeyWrap::Aes256),
        ];
        for (base, data, wrap) in modern {
            let (signature, transport, agreement) = match name.strip_prefix(base) {
                Some("") => (
                    SignatureAlgorithm::RsaSha256,
                    Some(KeyTransportMethod::OAEP_SHA256),
                    None,
                ),
                Some("EcdhEs") => (
                    SignatureAlgorithm::EcdsaSha256,
                    None,
                    Some(KeyAgreementMethod::ecdh_es(wrap)),
                ),
                Some("X25519") => (
                    SignatureAlgorithm::Ed25519,
                    None,
                    Some(KeyAgreementMethod::x25519(wrap)),
                ),
                _ => continue,
            };
            return Some(Self {
                name: name.to_owned(),
                signature: vec![signature],
                symmetric_signature: vec![SignatureAlgorithm::HmacSha256],
                digest: vec![DigestAlgorithm::Sha256],
                canonicalization: vec![Canonicalization::Exclusive],
                key_transport: transport.into_iter().collect(),
                key_agreement: agreement.into_iter().collect(),
                data: vec![data],
                derivation_info: None,
                implied_oaep_digest: false,
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
            key_agreement: Vec::new(),
            data: vec![data],
            derivation_info: None,
            implied_oaep_digest: false,
        })
    }

    /// How a session key gets to the holder of a certificate with a key of this kind: the first of
    /// the suite's ways that fits it; none, where none does.
    pub(crate) fn wrapping(&self, kind: KeyKind) -> Option<Wrapping<'_>> {
        self.wrappings(kind).next()
    }

    /// Each way in which a session key may get there.
    pub(crate) fn wrappings(&self, kind: KeyKind) -> impl Iterator<Item = Wrapping<'_>> {
        let is_rsa = matches!(kind, KeyKind::Rsa { .. });
        let transports = self.key_transport.iter().filter(move |_| is_rsa);
        let agreements = self.key_agreement.iter();
        let agreements = agreements.filter(move |one| !is_rsa && one.algorithm.fits(kind));
        let agreements = agreements.map(Wrapping::Agreement);
        transports.map(Wrapping::Transport).chain(agreements)
    }

    /// Whether session keys are agreed on and never encrypted to an RSA key.
    pub fn only_agrees(&self) -> bool {
        self.key_transport.is_empty() && !self.key_agreement.is_empty()
    }

    /// Whether a certificate that signs by an algorithm of the suite may be one to which session
    /// keys can be wrapped by another: not where signatures are Ed25519's, whose keys do
    /// nothing else. An answer to whoever signed the request can be encrypted to the signer's
    /// certificate only then.
    pub fn wraps_to_signers(&self) -> bool {
        let agrees = |wanted| {
            let mut agreements = self.key_agreement.iter();
            agreements.any(|one| one.algorithm == wanted)
        };
        self.signature.iter().any(|one| match one.family() {
            SignatureFamily::RsaPkcs1 | SignatureFamily::RsaPss => !self.key_transport.is_empty(),
            SignatureFamily::Ecdsa => agrees(KeyAgreement::EcdhEs),
            SignatureFamily::Dsa | SignatureFamily::EdDsa | SignatureFamily::Hmac => false,
        })
    }

    /// Bytes of signature keys derived for this suite: 24, or 16 where data is encrypted with keys
    /// of 16 bytes (WS-SecurityPolicy 1.3, 6.1: `PSha1L192`, `PSha1L128`).
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
            "Basic128EcdhEs",
            "Basic192GCMX25519",
        ] {
            assert_eq!(Suite::named(name), None, "{name}");
        }
    }

    #[test]
    fn the_kind_of_the_recipients_key_chooses_between_transport_and_agreement() {
        use soapstone_crypto::Curve;
        let (rsa, p256) = (KeyKind::Rsa { bits: 2048 }, KeyKind::Ec(Curve::P256));
        let named = |name| Suite::named(name).unwrap();
        let name_of = |suite: &Suite, kind| suite.wrapping(kind).map(Wrapping::short_name);
        let transport = named("Basic128GCM");
        assert_eq!(name_of(&transport, rsa), Some("rsa-oaep"));
        assert_eq!(name_of(&transport, p256), None);
        let mut ecdh = named("Basic256GCMEcdhEs");
        assert_eq!(name_of(&ecdh, p256), Some("kw-aes256"));
        for kind in [rsa, KeyKind::X25519, KeyKind::Ed25519] {
            assert_eq!(name_of(&ecdh, kind), None, "{kind}");
        }
        ecdh.key_transport = transport.key_transport;
        assert_eq!(name_of(&ecdh, rsa), Some("rsa-oaep"));
        assert_eq!(name_of(&ecdh, p256), Some("kw-aes256"));
        assert_eq!(
            name_of(&named("Basic128GCMX25519"), KeyKind::X25519),
            Some("kw-aes128")
        );
    }

    #[test]
    fn answers_are_wrapped_to_signers_where_a_key_can_do_both() {
        for (name, wraps) in [
            ("Basic256", true),
            ("Basic256GCM", true),
            ("Basic128GCMEcdhEs", true),
            ("Basic128GCMX25519", false),
        ] {
            let suite = Suite::named(name).unwrap();
            assert_eq!(suite.wraps_to_signers(), wraps, "{name}");
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
