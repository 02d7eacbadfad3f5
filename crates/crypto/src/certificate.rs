//! X.509 certificates (RFC 5280), as WS-Security names and uses them.
//!
//! Reading borrows nothing and trusts nothing: a [`Certificate`] says what it claims, and only
//! [`TrustStore`](crate::trust::TrustStore) says whether to believe it. It is cheap to clone;
//! names, digests and the parsed public key are made once, when first asked for.

mod bundle;
mod distribution;
mod extensions;
mod key_purpose;
mod parts;

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use aws_lc_rs::digest as aws;
use jiff::Timestamp;

use crate::der::{NotDer, Reader};
use crate::digest::sha256;
use crate::error::CryptoError;
use crate::key::PublicKey;
use crate::keystore::pem;
use crate::name::{DistinguishedName, NameStyle};
use crate::signature::SignedWith;
pub(crate) use distribution::{DistributionPoint, PointName};
use extensions::Extensions;
pub use extensions::{ExtendedKeyUsage, KeyUsage};
pub use key_purpose::KeyPurpose;
use parts::Parts;
pub(crate) use parts::time;

/// Longest certificate that is read, in bytes. Real ones have 1 to 3 kB; the longest in the wild
/// stay below 32 kB.
const LONGEST: usize = 64 * 1024;

const EXPECTED: &str = "an X.509 certificate";

/// An X.509 certificate. Nothing in it has been checked yet, except that it can be read.
#[derive(Clone)]
pub struct Certificate(Arc<Inner>);

struct Inner {
    der: Vec<u8>,
    /// Where in `der` the part that is signed lies.
    signed: Range<usize>,
    signed_with: SignedWith,
    /// Where in `der` the bytes of the signature lie.
    signature: Range<usize>,
    version: u8,
    serial: Vec<u8>,
    serial_decimal: OnceLock<String>,
    issuer: Name,
    subject: Name,
    not_before: Timestamp,
    not_after: Timestamp,
    public_key: PublicKey,
    extensions: Extensions,
    computed_ski: OnceLock<[u8; 20]>,
    sha1: OnceLock<[u8; 20]>,
    sha256: OnceLock<[u8; 32]>,
}

struct Name {
    der: Vec<u8>,
    name: DistinguishedName,
    text: OnceLock<String>,
}

impl Certificate {
    /// Reads one certificate.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Malformed`] if it is not one, or longer than 64 KiB; and as for
    /// [`PublicKey::from_spki_der`], since a certificate without a usable key is of no use.
    pub fn from_der(der: &[u8]) -> Result<Self, CryptoError> {
        if der.len() > LONGEST {
            return Err(CryptoError::Malformed {
                expected: EXPECTED,
                found: format!("{} bytes, more than {LONGEST}", der.len()),
            });
        }
        let parts = Parts::read(der).map_err(NotDer::reading(EXPECTED))?;
        let public_key = PublicKey::from_spki_der(parts.spki)?;
        let name = |der: &[u8]| {
            DistinguishedName::from_der(der)
                .map(|name| Name {
                    der: der.to_vec(),
                    name,
                    text: OnceLock::new(),
                })
                .map_err(NotDer::reading("a distinguished name in a certificate"))
        };
        Ok(Self(Arc::new(Inner {
            signed: parts.header..parts.header + parts.signed,
            signature: der.len() - parts.signature..der.len(),
            signed_with: SignedWith::read(parts.algorithm),
            version: parts.version,
            serial: parts.serial.to_vec(),
            serial_decimal: OnceLock::new(),
            issuer: name(parts.issuer)?,
            subject: name(parts.subject)?,
            not_before: parts.not_before,
            not_after: parts.not_after,
            public_key,
            extensions: parts.extensions,
            computed_ski: OnceLock::new(),
            sha1: OnceLock::new(),
            sha256: OnceLock::new(),
            der: der.to_vec(),
        })))
    }

    /// Reads the first certificate of a PEM file.
    ///
    /// # Errors
    ///
    /// As for [`pem_chain`](Self::pem_chain).
    pub fn from_pem(pem: &[u8]) -> Result<Self, CryptoError> {
        Ok(Self::pem_chain(pem)?.swap_remove(0))
    }

    /// Reads every certificate of a PEM file, at least one; other blocks are skipped.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Malformed`] if there is none, and as for [`from_der`](Self::from_der).
    pub fn pem_chain(pem: &[u8]) -> Result<Vec<Self>, CryptoError> {
        let mut found = Vec::new();
        for block in pem::blocks(pem)? {
            if let Some(certificate) = Self::from_pem_block(&block) {
                found.push(certificate?);
            }
        }
        if found.is_empty() {
            return Err(CryptoError::Malformed {
                expected: "a PEM block `CERTIFICATE`",
                found: "none".to_owned(),
            });
        }
        Ok(found)
    }

    /// Reads certificates from a file, whatever it is: PEM with one or more blocks, or the DER of
    /// one.
    ///
    /// # Errors
    ///
    /// As for [`pem_chain`](Self::pem_chain) and [`from_der`](Self::from_der).
    pub fn from_file_contents(contents: &[u8]) -> Result<Vec<Self>, CryptoError> {
        if pem::looks_like_pem(contents) {
            Self::pem_chain(contents)
        } else {
            Self::from_der(contents).map(|certificate| vec![certificate])
        }
    }

    /// The certificate in this block, if it is one.
    pub(crate) fn from_pem_block(block: &pem::Block<'_>) -> Option<Result<Self, CryptoError>> {
        let octets = block.octets.expose();
        match block.label {
            "CERTIFICATE" | "X509 CERTIFICATE" => Some(Self::from_der(octets)),
            // OpenSSL's own format has settings after the certificate.
            "TRUSTED CERTIFICATE" => Some(
                Reader::new(octets)
                    .any()
                    .map_err(NotDer::reading(EXPECTED))
                    .and_then(|first| Self::from_der(first.whole)),
            ),
            _ => None,
        }
    }

    /// The certificate as a PEM block.
    #[must_use]
    pub fn to_pem(&self) -> String {
        pem::block("CERTIFICATE", self.der())
    }

    /// The certificate itself: what goes into a `wsse:BinarySecurityToken` or `ds:X509Certificate`.
    #[must_use]
    pub fn der(&self) -> &[u8] {
        &self.0.der
    }

    /// The version it claims: 1, 2 or 3.
    #[must_use]
    pub fn version(&self) -> u8 {
        self.0.version
    }

    /// The key it is about.
    #[must_use]
    pub fn public_key(&self) -> &PublicKey {
        &self.0.public_key
    }

    /// The subject as RFC 2253 writes it, ready for `ds:X509SubjectName`. For people,
    /// [`subject_name`](Self::subject_name) reads better.
    #[must_use]
    pub fn subject(&self) -> &str {
        self.0.subject.text()
    }

    /// The issuer as RFC 2253 writes it, ready for `ds:X509IssuerName`.
    #[must_use]
    pub fn issuer(&self) -> &str {
        self.0.issuer.text()
    }

    /// The subject.
    #[must_use]
    pub fn subject_name(&self) -> &DistinguishedName {
        &self.0.subject.name
    }

    /// The issuer.
    #[must_use]
    pub fn issuer_name(&self) -> &DistinguishedName {
        &self.0.issuer.name
    }

    pub(crate) fn subject_der(&self) -> &[u8] {
        &self.0.subject.der
    }

    pub(crate) fn issuer_der(&self) -> &[u8] {
        &self.0.issuer.der
    }

    pub(crate) fn serial(&self) -> &[u8] {
        &self.0.serial
    }

    /// The serial number in decimal, as `ds:X509SerialNumber` has it.
    #[must_use]
    pub fn serial_decimal(&self) -> &str {
        let inner = &*self.0;
        inner.serial_decimal.get_or_init(|| decimal(&inner.serial))
    }

    /// Whether `ds:X509IssuerName` and `ds:X509SerialNumber`, written by anybody, mean this
    /// certificate. They may mean certificates of two issuers
    /// ([`is_meant_by`](DistinguishedName::is_meant_by)).
    #[must_use]
    pub fn matches_issuer_serial(&self, issuer: &str, serial: &str) -> bool {
        let digits = serial.trim();
        let plain = digits
            .strip_prefix('+')
            .unwrap_or(digits)
            .trim_start_matches('0');
        let plain = if plain.is_empty() { "0" } else { plain };
        // Most write the name as we do.
        let is_ours = || issuer == self.issuer();
        let means_ours = || self.issuer_name().is_meant_by(issuer);
        plain == self.serial_decimal() && (is_ours() || means_ours())
    }

    /// Whether `ds:X509SubjectName`, written by anybody, means this certificate's subject.
    #[must_use]
    pub fn matches_subject(&self, subject: &str) -> bool {
        DistinguishedName::parse(subject).is_ok_and(|name| name.matches(self.subject_name()))
    }

    /// Whether the subject has every attribute of the pattern, and of the types that it names no
    /// further ones: `CN=client` matches `CN=client,O=Acme,C=CH`.
    #[must_use]
    pub fn subject_matches(&self, pattern: &str) -> bool {
        DistinguishedName::parse(pattern)
            .is_ok_and(|pattern| self.subject_name().contains(&pattern))
    }

    /// The subject key identifier: the extension if there is one, otherwise the SHA-1 of the key's
    /// bits (RFC 5280 section 4.2.1.2, method 1), as WSS4J computes it then.
    #[must_use]
    pub fn ski(&self) -> &[u8] {
        match &self.0.extensions.ski {
            Some(extension) => extension,
            None => self.computed_ski(),
        }
    }

    /// The subject key identifier extension, if there is one.
    #[must_use]
    pub fn ski_extension(&self) -> Option<&[u8]> {
        self.0.extensions.ski.as_deref()
    }

    fn computed_ski(&self) -> &[u8; 20] {
        self.0
            .computed_ski
            .get_or_init(|| sha1(self.public_key().key_bits()))
    }

    /// Whether a `wsse:KeyIdentifier` or `ds:X509SKI` with these bytes means this certificate.
    ///
    /// Without the extension, the identifiers of RFC 5280 and of WSS4J 1.x are both accepted; the
    /// latter (Rampart, old CXF) cuts 22 bytes off the public key whatever its length, and
    /// hashes the rest.
    #[must_use]
    pub fn matches_ski(&self, identifier: &[u8]) -> bool {
        match &self.0.extensions.ski {
            Some(extension) => extension == identifier,
            None => {
                let old = || self.public_key().spki_der().get(22..).map(sha1);
                self.computed_ski() == identifier
                    || old().is_some_and(|digest| digest == identifier)
            }
        }
    }

    /// SHA-1 of the certificate: `wsse:KeyIdentifier` of type `ThumbprintSHA1`.
    #[must_use]
    pub fn thumbprint_sha1(&self) -> [u8; 20] {
        *self.0.sha1.get_or_init(|| sha1(self.der()))
    }

    /// SHA-256 of the certificate.
    #[must_use]
    pub fn thumbprint_sha256(&self) -> [u8; 32] {
        *self.0.sha256.get_or_init(|| sha256(self.der()))
    }

    /// First moment of validity.
    #[must_use]
    pub fn not_before(&self) -> Timestamp {
        self.0.not_before
    }

    /// Last moment of validity.
    #[must_use]
    pub fn not_after(&self) -> Timestamp {
        self.0.not_after
    }

    /// What the key may be used for, if the certificate restricts it.
    #[must_use]
    pub fn key_usage(&self) -> Option<KeyUsage> {
        self.0.extensions.key_usage
    }

    /// Whether it claims to be a certification authority.
    #[must_use]
    pub fn is_authority(&self) -> bool {
        self.0.extensions.is_authority
    }

    /// Whether it may certify others as an anchor: one of version 1 cannot say whether it is an
    /// authority, and is taken for one.
    #[must_use]
    pub fn may_certify(&self) -> bool {
        self.is_authority() || self.version() < 3
    }

    /// What the key may be used for, if the certificate says so by extended key usage.
    #[must_use]
    pub fn extended_key_usage(&self) -> Option<&ExtendedKeyUsage> {
        self.0.extensions.extended_key_usage.as_ref()
    }

    /// Most authorities that may stand below this one on a path, beside those that issue to
    /// themselves.
    pub(crate) fn path_length(&self) -> Option<u32> {
        self.0.extensions.path_length
    }

    /// Where the issuer publishes the lists on which this certificate would be (RFC 5280 section
    /// 4.2.1.13).
    pub(crate) fn distribution_points(&self) -> Result<Vec<DistributionPoint>, NotDer> {
        match &self.0.extensions.distribution_points {
            Some(points) => DistributionPoint::read_all(points, self.issuer_der()),
            None => Ok(Vec::new()),
        }
    }

    /// The URLs at which its issuer answers questions about it (RFC 5280 section 4.2.2.1), at most
    /// four. An extension that cannot be read names none.
    #[must_use]
    pub fn responder_urls(&self) -> Vec<String> {
        let access = self.0.extensions.authority_access.as_deref();
        access.map_or_else(Vec::new, |access| {
            distribution::responders(access).unwrap_or_default()
        })
    }

    /// The URLs at which its issuer publishes the lists on which it would be, at most four. An
    /// extension that cannot be read names none.
    #[must_use]
    pub fn revocation_list_urls(&self) -> Vec<String> {
        distribution::list_urls(&self.distribution_points().unwrap_or_default())
    }

    /// Whether it is that of a responder whose own revocation nobody need ask about (RFC 6960
    /// section 4.2.2.2.1).
    pub(crate) fn needs_no_check(&self) -> bool {
        self.0.extensions.ocsp_no_check
    }

    /// Whether issuer and subject are the same and the signature was made with its own key.
    #[must_use]
    pub fn is_self_signed(&self) -> bool {
        self.issuer_der() == self.subject_der() && self.is_signed_by(self.public_key())
    }

    /// Whether the signature was made with this key. Says nothing about trust.
    #[must_use]
    pub fn is_signed_by(&self, issuer: &PublicKey) -> bool {
        let inner = &*self.0;
        let signed = &inner.der[inner.signed.clone()];
        inner
            .signed_with
            .verify(issuer, signed, &inner.der[inner.signature.clone()])
            .is_ok()
    }

    /// The algorithm of the signature on it.
    pub(crate) fn signed_with(&self) -> &SignedWith {
        &self.0.signed_with
    }
}

impl Name {
    fn text(&self) -> &str {
        self.text
            .get_or_init(|| self.name.to_text(NameStyle::Rfc2253))
    }
}

impl PublicKey {
    /// Reads a PEM block `PUBLIC KEY`, `RSA PUBLIC KEY` or `CERTIFICATE`.
    ///
    /// # Errors
    ///
    /// As for [`from_spki_der`](Self::from_spki_der); [`CryptoError::Malformed`] if there is no
    /// such block.
    pub fn from_pem(pem: &[u8]) -> Result<Self, CryptoError> {
        for block in pem::blocks(pem)? {
            if let Some(certificate) = Certificate::from_pem_block(&block) {
                return Ok(certificate?.public_key().clone());
            }
            if let Some(key) = Self::from_pem_block(&block) {
                return key;
            }
        }
        Err(CryptoError::Malformed {
            expected: "a PEM block `PUBLIC KEY` or `CERTIFICATE`",
            found: "none".to_owned(),
        })
    }
}

fn sha1(octets: &[u8]) -> [u8; 20] {
    let mut digest = [0; 20];
    digest.copy_from_slice(aws::digest(&aws::SHA1_FOR_LEGACY_USE_ONLY, octets).as_ref());
    digest
}

/// A two's complement integer in decimal.
fn decimal(octets: &[u8]) -> String {
    let negative = octets.first().is_some_and(|first| first & 0x80 != 0);
    let mut digits: Vec<u32> = vec![0];
    // For a negative number, the magnitude less one is the complement: one is added at the end.
    let mut magnitude: Vec<u8> = octets
        .iter()
        .map(|octet| if negative { !octet } else { *octet })
        .collect();
    if negative {
        for octet in magnitude.iter_mut().rev() {
            let (sum, carried) = octet.overflowing_add(1);
            *octet = sum;
            if !carried {
                break;
            }
        }
    }
    const BASE: u64 = 1_000_000_000;
    for octet in magnitude {
        let mut carry = u64::from(octet);
        for digit in &mut digits {
            carry += u64::from(*digit) << 8;
            *digit = (carry % BASE) as u32;
            carry /= BASE;
        }
        if carry > 0 {
            digits.push(carry as u32);
        }
    }
    let mut text = if negative {
        "-".to_owned()
    } else {
        String::new()
    };
    for (index, digit) in digits.iter().rev().enumerate() {
        if index == 0 {
            text.push_str(&digit.to_string());
        } else {
            text.push_str(&format!("{digit:09}"));
        }
    }
    text
}

impl PartialEq for Certificate {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.der == other.0.der
    }
}

impl Eq for Certificate {}

impl fmt::Debug for Certificate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Certificate({})", self.subject_name())
    }
}

#[cfg(test)]
mod tests;
