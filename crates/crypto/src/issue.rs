//! New certificates: for `soapstone keys new`, the demonstration, and tests.
//!
//! This is no certification authority: there is no database and no policy, only what is needed to
//! make keys that other stacks accept. Certificates are of version 3, signed with SHA-256 or
//! better, with random serial numbers and the extensions that RFC 5280 asks for.
//!
//! ```
//! use soapstone_crypto::issue::{self, Template, Validity};
//! use soapstone_crypto::{KeyKind, TrustRules, TrustStore};
//!
//! let now = jiff::Timestamp::now();
//! let validity = Validity::days(now, 365);
//! let kind = KeyKind::Rsa { bits: 2048 };
//! let authority = issue::authority("CN=Example CA,O=Acme", kind, validity)?;
//! let template = Template::new("CN=client,O=Acme", validity)?;
//! let client = issue::identity(&authority, KeyKind::Rsa { bits: 2048 }, &template)?;
//!
//! let mut rules = TrustRules::default();
//! rules.anchors.push(authority.certificate().clone());
//! TrustStore::new(rules)?.check(client.certificate(), &[], now)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp};

use crate::algorithms::SignatureAlgorithm;
use crate::certificate::{Certificate, KeyUsage};
use crate::der;
use crate::error::CryptoError;
use crate::identity::Identity;
use crate::key::{Curve, KeyKind, PrivateKey, PublicKey};
use crate::name::DistinguishedName;
use crate::random;

/// From when to when a certificate is valid. Fractions of seconds are dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Validity {
    /// First moment.
    pub not_before: Timestamp,
    /// Last moment.
    pub not_after: Timestamp,
}

impl Validity {
    /// That many days from `now` on, beginning five minutes earlier, since clocks differ.
    #[must_use]
    pub fn days(now: Timestamp, days: u32) -> Self {
        let ago = SignedDuration::from_mins(5);
        let ahead = SignedDuration::from_hours(24 * i64::from(days));
        Self {
            not_before: now.checked_sub(ago).unwrap_or(Timestamp::MIN),
            not_after: now.checked_add(ahead).unwrap_or(Timestamp::MAX),
        }
    }
}

/// What a new certificate says.
#[derive(Clone, Debug)]
pub struct Template {
    subject: DistinguishedName,
    validity: Validity,
    alternative_names: Vec<String>,
    authority: bool,
    key_usage: Option<u16>,
    key_identifier: bool,
    algorithm: Option<SignatureAlgorithm>,
    further: Vec<Vec<u8>>,
}

impl Template {
    /// A certificate for signing and encrypting, for this subject.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Malformed`] if the subject is not a distinguished name.
    pub fn new(subject: &str, validity: Validity) -> Result<Self, CryptoError> {
        Ok(Self {
            subject: DistinguishedName::parse(subject)?,
            validity,
            alternative_names: Vec::new(),
            authority: false,
            key_usage: None,
            key_identifier: true,
            algorithm: None,
            further: Vec::new(),
        })
    }

    /// Adds subject alternative names: host names, IP addresses, or mail addresses (those with an
    /// `@`).
    #[must_use]
    pub fn with_alternative_names<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Self {
        self.alternative_names
            .extend(names.into_iter().map(str::to_owned));
        self
    }

    /// Makes it the certificate of an authority: it may sign certificates and revocation lists, and
    /// nothing else.
    #[must_use]
    pub fn for_authority(mut self) -> Self {
        self.authority = true;
        self
    }

    /// Leaves out what the usual certificate allows: signatures (`sign`) or encryption (`encrypt`).
    #[must_use]
    pub fn limited_to(mut self, sign: bool, encrypt: bool) -> Self {
        let bits = |wanted, bits| if wanted { bits } else { 0 };
        self.key_usage = Some(
            bits(
                sign,
                KeyUsage::DIGITAL_SIGNATURE | KeyUsage::NON_REPUDIATION,
            ) | bits(
                encrypt,
                KeyUsage::KEY_ENCIPHERMENT | KeyUsage::DATA_ENCIPHERMENT,
            ),
        );
        self
    }

    /// Leaves out the subject key identifier, as many old tools do.
    #[must_use]
    pub fn without_key_identifier(mut self) -> Self {
        self.key_identifier = false;
        self
    }

    /// Adds an extension: the content of its object identifier, and its value in DER.
    #[must_use]
    pub fn with_extension(mut self, oid: &[u8], critical: bool, value: &[u8]) -> Self {
        self.further.push(extension(oid, critical, value));
        self
    }

    /// Signs with this algorithm instead of the one that suits the issuer's key.
    #[must_use]
    pub fn signed_with(mut self, algorithm: SignatureAlgorithm) -> Self {
        self.algorithm = Some(algorithm);
        self
    }
}

/// A new authority: a key and its self-signed certificate.
///
/// # Errors
///
/// As for [`Template::new`] and [`PrivateKey::generate`].
pub fn authority(
    subject: &str,
    kind: KeyKind,
    validity: Validity,
) -> Result<Identity, CryptoError> {
    self_signed(
        PrivateKey::generate(kind)?,
        &Template::new(subject, validity)?.for_authority(),
    )
}

/// A certificate for this key, signed with the key itself.
///
/// # Errors
///
/// [`CryptoError::WrongKey`] if the key cannot sign.
pub fn self_signed(key: PrivateKey, template: &Template) -> Result<Identity, CryptoError> {
    let certificate = certificate(&key, &template.subject, key.public_key(), template)?;
    Identity::new(key, certificate, Vec::new())
}

/// A new key with a certificate issued by `issuer`. The chain holds what comes before the
/// authority.
///
/// # Errors
///
/// As for [`PrivateKey::generate`]; [`CryptoError::WrongKey`] if the issuer's key cannot sign.
pub fn identity(
    issuer: &Identity,
    kind: KeyKind,
    template: &Template,
) -> Result<Identity, CryptoError> {
    let key = PrivateKey::generate(kind)?;
    let certificate = issued(issuer, key.public_key(), template)?;
    let mut chain = Vec::new();
    if issuer.certificate().issuer_der() != issuer.certificate().subject_der() {
        chain.push(issuer.certificate().clone());
        chain.extend_from_slice(issuer.chain());
    }
    Identity::new(key, certificate, chain)
}

/// A certificate for somebody's public key, issued by `issuer`.
///
/// # Errors
///
/// [`CryptoError::WrongKey`] if the issuer's key cannot sign.
pub fn issued(
    issuer: &Identity,
    key: &PublicKey,
    template: &Template,
) -> Result<Certificate, CryptoError> {
    certificate(
        issuer.key(),
        issuer.certificate().subject_name(),
        key,
        template,
    )
}

/// A revocation list of `issuer` (DER, version 2).
///
/// # Errors
///
/// [`CryptoError::WrongKey`] if the issuer's key cannot sign.
pub fn revocation_list<'c>(
    issuer: &Identity,
    revoked: impl IntoIterator<Item = &'c Certificate>,
    validity: Validity,
) -> Result<Vec<u8>, CryptoError> {
    let name = issuer.certificate().subject_der();
    list_with(issuer, name, revoked, validity, &[])
}

/// A revocation list of an issuer whose name is written as `name`, with further extensions.
pub(crate) fn list_with<'c>(
    issuer: &Identity,
    name: &[u8],
    revoked: impl IntoIterator<Item = &'c Certificate>,
    validity: Validity,
    further: &[Vec<u8>],
) -> Result<Vec<u8>, CryptoError> {
    let algorithm = usual_algorithm(issuer.key().kind())?;
    let this_update = time(validity.not_before);
    let entries: Vec<Vec<u8>> = revoked
        .into_iter()
        .map(|certificate| {
            let serial = der::element(der::INTEGER, &[certificate.serial()]);
            der::element(der::SEQUENCE, &[&serial, &this_update])
        })
        .collect();
    let entries = if entries.is_empty() {
        Vec::new()
    } else {
        sequence(&entries)
    };
    let number = extension(
        &[0x55, 0x1d, 20],
        false,
        &der::positive(&random::bytes::<8>()),
    );
    let extensions = sequence(&[&[number], further].concat());
    let extensions = der::element(der::context(0), &[&extensions]);
    let body = der::element(
        der::SEQUENCE,
        &[
            &der::positive(&[1]),
            &x509_identifier(algorithm)?,
            name,
            &this_update,
            &time(validity.not_after),
            &entries,
            &extensions,
        ],
    );
    signed(issuer.key(), algorithm, &body)
}

fn certificate(
    issuer_key: &PrivateKey,
    issuer: &DistinguishedName,
    key: &PublicKey,
    template: &Template,
) -> Result<Certificate, CryptoError> {
    let algorithm = match template.algorithm {
        Some(algorithm) => algorithm,
        None => usual_algorithm(issuer_key.kind())?,
    };
    // Positive and without leading zeros: 127 bits of chance below a first bit that is set.
    let mut serial: [u8; 16] = random::bytes();
    serial[0] = serial[0] & 0x7f | 0x40;
    let version = der::element(der::context(0), &[&der::positive(&[2])]);
    let validity = der::element(
        der::SEQUENCE,
        &[
            &time(template.validity.not_before),
            &time(template.validity.not_after),
        ],
    );
    let body = der::element(
        der::SEQUENCE,
        &[
            &version,
            &der::positive(&serial),
            &x509_identifier(algorithm)?,
            &issuer.to_der(),
            &validity,
            &template.subject.to_der(),
            key.spki_der(),
            &der::element(der::context(3), &[&extensions(issuer_key, key, template)?]),
        ],
    );
    Certificate::from_der(&signed(issuer_key, algorithm, &body)?)
}

fn extensions(
    issuer_key: &PrivateKey,
    key: &PublicKey,
    template: &Template,
) -> Result<Vec<u8>, CryptoError> {
    let digest =
        |key: &PublicKey| crate::digest::digest(crate::DigestAlgorithm::Sha1, key.key_bits());
    let constraints = if template.authority {
        sequence(&[der::element(der::BOOLEAN, &[&[0xff]])])
    } else {
        sequence(&[])
    };
    let mut list = vec![
        extension(&[0x55, 0x1d, 19], true, &constraints),
        extension(&[0x55, 0x1d, 15], true, &key_usage(key.kind(), template)),
    ];
    if template.key_identifier {
        let own = digest(key)?;
        let own = der::element(der::OCTET_STRING, &[own.as_ref()]);
        list.push(extension(&[0x55, 0x1d, 14], false, &own));
        let issuer = digest(issuer_key.public_key())?;
        let issuer = sequence(&[der::element(der::context_primitive(0), &[issuer.as_ref()])]);
        list.push(extension(&[0x55, 0x1d, 35], false, &issuer));
    }
    if !template.alternative_names.is_empty() {
        let names: Vec<Vec<u8>> = template
            .alternative_names
            .iter()
            .map(|name| alternative_name(name))
            .collect();
        list.push(extension(&[0x55, 0x1d, 17], false, &sequence(&names)));
    }
    list.extend_from_slice(&template.further);
    Ok(sequence(&list))
}

fn key_usage(kind: KeyKind, template: &Template) -> Vec<u8> {
    let bits = match (template.key_usage, kind) {
        (Some(bits), _) => bits,
        (None, _) if template.authority => KeyUsage::KEY_CERT_SIGN | KeyUsage::CRL_SIGN,
        (None, KeyKind::Rsa { .. }) => {
            KeyUsage::DIGITAL_SIGNATURE | KeyUsage::KEY_ENCIPHERMENT | KeyUsage::DATA_ENCIPHERMENT
        }
        (None, KeyKind::Ec(_)) => KeyUsage::DIGITAL_SIGNATURE | KeyUsage::KEY_AGREEMENT,
        (None, KeyKind::X25519 | KeyKind::X448) => KeyUsage::KEY_AGREEMENT,
        (None, _) => KeyUsage::DIGITAL_SIGNATURE,
    };
    // DER of a list of bits ends with the last one set (X.690 section 11.2.2); all of these lie in
    // the first byte.
    let octet = (bits >> 8) as u8;
    der::element(
        der::BIT_STRING,
        &[&[octet.trailing_zeros().min(7) as u8], &[octet]],
    )
}

fn alternative_name(name: &str) -> Vec<u8> {
    match name.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => der::element(der::context_primitive(7), &[&address.octets()]),
        Ok(IpAddr::V6(address)) => der::element(der::context_primitive(7), &[&address.octets()]),
        Err(_) => {
            let kind = if name.contains('@') { 1 } else { 2 };
            der::element(der::context_primitive(kind), &[name.as_bytes()])
        }
    }
}

fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    der::element(
        der::SEQUENCE,
        &parts.iter().map(Vec::as_slice).collect::<Vec<_>>(),
    )
}

pub(crate) fn extension(oid: &[u8], critical: bool, value: &[u8]) -> Vec<u8> {
    let oid = der::element(der::OID, &[oid]);
    let critical = if critical {
        der::element(der::BOOLEAN, &[&[0xff]])
    } else {
        Vec::new()
    };
    der::element(
        der::SEQUENCE,
        &[&oid, &critical, &der::element(der::OCTET_STRING, &[value])],
    )
}

/// UTCTime until 2049, GeneralizedTime from then on (RFC 5280 section 4.1.2.5).
fn time(moment: Timestamp) -> Vec<u8> {
    let date = moment.to_zoned_datetime(jiff::tz::TimeZone::UTC).datetime();
    if (1950..2050).contains(&date.year()) {
        der::element(
            der::UTC_TIME,
            &[date.strftime("%y%m%d%H%M%SZ").to_string().as_bytes()],
        )
    } else {
        der::element(
            der::GENERALIZED_TIME,
            &[date.strftime("%Y%m%d%H%M%SZ").to_string().as_bytes()],
        )
    }
}

pub(crate) fn usual_algorithm(kind: KeyKind) -> Result<SignatureAlgorithm, CryptoError> {
    match kind {
        KeyKind::Rsa { .. } => Ok(SignatureAlgorithm::RsaSha256),
        KeyKind::Ec(Curve::P256 | Curve::Brainpool256) => Ok(SignatureAlgorithm::EcdsaSha256),
        KeyKind::Ec(Curve::P384 | Curve::Brainpool384) => Ok(SignatureAlgorithm::EcdsaSha384),
        KeyKind::Ec(Curve::P521 | Curve::Brainpool512) => Ok(SignatureAlgorithm::EcdsaSha512),
        KeyKind::Ed25519 => Ok(SignatureAlgorithm::Ed25519),
        KeyKind::Ed448 => Ok(SignatureAlgorithm::Ed448),
        KeyKind::Dsa { .. } => Ok(SignatureAlgorithm::DsaSha256),
        KeyKind::X25519 | KeyKind::X448 => Err(CryptoError::WrongKey {
            operation: "signing a certificate",
            key: kind,
        }),
    }
}

/// The `AlgorithmIdentifier` of a signature.
pub(crate) fn x509_identifier(algorithm: SignatureAlgorithm) -> Result<Vec<u8>, CryptoError> {
    use SignatureAlgorithm as Algorithm;
    let (oid, with_null): (&[u8], bool) = match algorithm {
        Algorithm::RsaSha1 => (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 5], true),
        Algorithm::RsaSha256 => (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11], true),
        Algorithm::RsaSha384 => (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 12], true),
        Algorithm::RsaSha512 => (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 13], true),
        Algorithm::EcdsaSha1 => (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 1], false),
        Algorithm::EcdsaSha256 => (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2], false),
        Algorithm::EcdsaSha384 => (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 3], false),
        Algorithm::EcdsaSha512 => (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 4], false),
        Algorithm::DsaSha1 => (&[0x2a, 0x86, 0x48, 0xce, 0x38, 4, 3], false),
        Algorithm::DsaSha256 => (&[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 2], false),
        Algorithm::Ed25519 => (&[0x2b, 0x65, 0x70], false),
        Algorithm::Ed448 => (&[0x2b, 0x65, 0x71], false),
        _ => {
            return Err(CryptoError::Unsupported {
                what: format!("certificates signed with {algorithm}"),
            });
        }
    };
    let null = if with_null {
        der::element(der::NULL, &[])
    } else {
        Vec::new()
    };
    Ok(der::element(
        der::SEQUENCE,
        &[&der::element(der::OID, &[oid]), &null],
    ))
}

/// The body with its signature: a certificate or a revocation list.
pub(crate) fn signed(
    key: &PrivateKey,
    algorithm: SignatureAlgorithm,
    body: &[u8],
) -> Result<Vec<u8>, CryptoError> {
    let signature = key.sign_for_x509(algorithm, body)?;
    let identifier = x509_identifier(algorithm)?;
    Ok(der::element(
        der::SEQUENCE,
        &[body, &identifier, &der::bit_string(&signature)],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn validity() -> Validity {
        Validity::days("2026-11-21T00:00:00Z".parse().unwrap(), 365)
    }

    #[test]
    fn every_kind_of_key_gets_a_certificate_that_its_issuer_signed() {
        for issuer_kind in [
            KeyKind::Rsa { bits: 2048 },
            KeyKind::Ec(Curve::P256),
            KeyKind::Ec(Curve::P384),
            KeyKind::Ec(Curve::P521),
            KeyKind::Ec(Curve::Brainpool256),
            KeyKind::Ed25519,
            KeyKind::Ed448,
        ] {
            let issuer = authority("CN=ca", issuer_kind, validity()).unwrap();
            assert!(issuer.certificate().is_self_signed(), "{issuer_kind}");
            assert!(issuer.certificate().is_authority());
            for kind in [KeyKind::Ec(Curve::P256), KeyKind::Ed25519, KeyKind::X25519] {
                let template = Template::new("CN=leaf", validity()).unwrap();
                let leaf = identity(&issuer, kind, &template).unwrap();
                let certificate = leaf.certificate();
                assert!(
                    certificate.is_signed_by(issuer.key().public_key()),
                    "{issuer_kind} {kind}"
                );
                assert!(!certificate.is_self_signed());
                assert!(!certificate.is_authority());
                assert_eq!(certificate.issuer(), "CN=ca");
            }
        }
    }

    #[test]
    fn a_key_that_cannot_sign_issues_nothing() {
        assert_eq!(
            authority("CN=ca", KeyKind::X25519, validity()).map(drop),
            Err(CryptoError::WrongKey {
                operation: "signing a certificate",
                key: KeyKind::X25519
            })
        );
    }

    #[test]
    fn openssl_reads_what_is_issued() {
        let issuer = authority(
            "CN=ca,O=Acme\\, Inc.,C=CH",
            KeyKind::Ec(Curve::P256),
            validity(),
        )
        .unwrap();
        let names = ["localhost", "127.0.0.1", "::1", "a@example.com"];
        let template = Template::new("CN=leaf,C=CH", validity())
            .unwrap()
            .with_alternative_names(names);
        let leaf = identity(&issuer, KeyKind::Rsa { bits: 2048 }, &template).unwrap();
        let read = openssl::x509::X509::from_der(leaf.certificate().der()).unwrap();
        let text = String::from_utf8(read.to_text().unwrap()).unwrap();
        for expected in [
            "Not Before: Nov 20 23:55:00 2026 GMT",
            "Digital Signature, Key Encipherment, Data Encipherment",
            "CA:FALSE",
            "DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, email:a@example.com",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
        assert!(
            read.verify(issuer.key().public_key().openssl().unwrap())
                .unwrap()
        );
    }

    #[test]
    fn times_after_2049_are_written_in_full() {
        let late = Validity {
            not_before: "2049-12-31T23:59:59Z".parse().unwrap(),
            not_after: "2050-01-01T00:00:00Z".parse().unwrap(),
        };
        let issuer = authority("CN=ca", KeyKind::Ed25519, late).unwrap();
        assert_eq!(issuer.certificate().not_before(), late.not_before);
        assert_eq!(issuer.certificate().not_after(), late.not_after);
    }
}
