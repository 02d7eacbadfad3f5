//! `ds:X509Data` (XML-DSig 4.5.4): certificates, and names for certificates.
//!
//! The one rule: what is named here is looked up among certificates that the caller has; what is
//! embedded here is only a candidate until the caller's trust store has accepted it.

use soapstone_crypto::{Certificate, DigestAlgorithm, base64, digest};
use soapstone_xml::Element;

use super::error::KeyInfoError;
use crate::namespaces::{DSIG, DSIG11};
use crate::structure::{Children, required_attribute, simple_content};

/// `ds:X509IssuerSerial`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuerSerial {
    /// `ds:X509IssuerName` as written.
    pub issuer: String,
    /// `ds:X509SerialNumber`: a decimal number as written.
    pub serial: String,
}

/// `dsig11:X509Digest`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct X509Digest {
    /// The digest method.
    pub algorithm: DigestAlgorithm,
    /// Digest of the DER certificate.
    pub value: Vec<u8>,
}

/// The content of a `ds:X509Data`.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct X509Data {
    /// Embedded certificates, in document order (which need not be the order of the path).
    pub certificates: Vec<Certificate>,
    /// Embedded revocation lists, DER.
    pub revocation_lists: Vec<Vec<u8>>,
    /// Certificates named by issuer and serial number.
    pub issuer_serials: Vec<IssuerSerial>,
    /// Certificates named by subject.
    pub subject_names: Vec<String>,
    /// Certificates named by subject key identifier.
    pub subject_key_identifiers: Vec<Vec<u8>>,
    /// Certificates named by digest.
    pub digests: Vec<X509Digest>,
}

impl X509Data {
    /// Reads a `ds:X509Data` of at most `limit` children.
    ///
    /// # Errors
    /// [`KeyInfoError::TooMany`], [`Malformed`](KeyInfoError::Malformed),
    /// [`UnknownAlgorithm`](KeyInfoError::UnknownAlgorithm) and
    /// [`Crypto`](KeyInfoError::Crypto) when a certificate cannot be read. Foreign children are
    /// skipped, as the schema allows them.
    pub fn parse(element: Element<'_>, limit: usize) -> Result<Self, KeyInfoError> {
        let mut data = Self::default();
        for (count, child) in element.children().enumerate() {
            if count == limit {
                return Err(KeyInfoError::TooMany {
                    what: "child of ds:X509Data",
                    limit,
                });
            }
            match (child.namespace(), child.local()) {
                // An empty element is what a signature template holds.
                (DSIG | DSIG11, _)
                    if child.first_child().is_none() && child.text().trim().is_empty() => {}
                (DSIG, "X509Certificate") => {
                    // Some writers encode the PEM file instead of the DER in it.
                    data.certificates
                        .extend(Certificate::from_file_contents(&octets(
                            child,
                            "ds:X509Certificate",
                        )?)?);
                }
                (DSIG, "X509CRL") => data.revocation_lists.push(octets(child, "ds:X509CRL")?),
                (DSIG, "X509SKI") => data
                    .subject_key_identifiers
                    .push(octets(child, "ds:X509SKI")?),
                (DSIG, "X509SubjectName") => data
                    .subject_names
                    .push(simple_content(child)?.trim().to_owned()),
                (DSIG, "X509IssuerSerial") => {
                    let mut parts = Children::of(child);
                    let issuer = parts.required(DSIG, "X509IssuerName", "`ds:X509IssuerName`")?;
                    let serial =
                        parts.required(DSIG, "X509SerialNumber", "`ds:X509SerialNumber`")?;
                    parts.end("nothing after `ds:X509SerialNumber`")?;
                    data.issuer_serials.push(IssuerSerial {
                        issuer: simple_content(issuer)?.trim().to_owned(),
                        serial: simple_content(serial)?.trim().to_owned(),
                    });
                }
                (DSIG11, "X509Digest") => {
                    let uri = required_attribute(child, "Algorithm", "an `Algorithm` attribute")?;
                    let algorithm = DigestAlgorithm::from_uri(&uri).ok_or_else(|| {
                        KeyInfoError::UnknownAlgorithm {
                            element: "dsig11:X509Digest",
                            uri: uri.clone().into_owned(),
                        }
                    })?;
                    data.digests.push(X509Digest {
                        algorithm,
                        value: octets(child, "dsig11:X509Digest")?,
                    });
                }
                _ => {}
            }
        }
        Ok(data)
    }

    /// Whether `certificate` is one that this element names (by issuer and serial, subject, key
    /// identifier or digest).
    #[must_use]
    pub fn names(&self, certificate: &Certificate) -> bool {
        self.subject_key_identifiers
            .iter()
            .any(|identifier| certificate.matches_ski(identifier))
            || self.digests.iter().any(|named| named.matches(certificate))
            || self
                .issuer_serials
                .iter()
                .any(|named| named.matches(certificate))
            || self
                .subject_names
                .iter()
                .any(|named| certificate.matches_subject(named))
    }

    /// Adds what another `ds:X509Data` of the same `ds:KeyInfo` holds.
    pub fn merge(&mut self, other: Self) {
        self.certificates.extend(other.certificates);
        self.revocation_lists.extend(other.revocation_lists);
        self.issuer_serials.extend(other.issuer_serials);
        self.subject_names.extend(other.subject_names);
        self.subject_key_identifiers
            .extend(other.subject_key_identifiers);
        self.digests.extend(other.digests);
    }

    /// Whether this element names certificates rather than only embedding them.
    #[must_use]
    pub fn has_names(&self) -> bool {
        !(self.subject_key_identifiers.is_empty()
            && self.digests.is_empty()
            && self.issuer_serials.is_empty()
            && self.subject_names.is_empty())
    }
}

impl IssuerSerial {
    /// Whether this is the issuer and serial number of `certificate`.
    #[must_use]
    pub fn matches(&self, certificate: &Certificate) -> bool {
        certificate.matches_issuer_serial(&self.issuer, &self.serial)
    }
}

impl X509Digest {
    /// Whether this is the digest of `certificate`.
    #[must_use]
    pub fn matches(&self, certificate: &Certificate) -> bool {
        digest(self.algorithm, certificate.der()).is_ok_and(|found| found.matches(&self.value))
    }
}

fn octets(element: Element<'_>, name: &'static str) -> Result<Vec<u8>, KeyInfoError> {
    base64::decode_xml_to_vec(simple_content(element)?.as_bytes()).map_err(|_| {
        KeyInfoError::Malformed {
            element: name,
            reason: "not base64",
        }
    })
}
