//! The extensions of a certificate that decide what its key may be used for (RFC 5280 section 4.2).
//!
//! The one rule: an extension that occurs twice, or has more in it than it should, makes the
//! certificate unreadable. Two readers of it could otherwise take it for two different
//! certificates.

use std::collections::HashSet;

use super::KeyPurpose;
use crate::der::{self, NotDer, Reader};

#[derive(Default)]
pub(super) struct Extensions {
    pub(super) ski: Option<Vec<u8>>,
    pub(super) key_usage: Option<KeyUsage>,
    pub(super) extended_key_usage: Option<ExtendedKeyUsage>,
    pub(super) is_authority: bool,
    pub(super) path_length: Option<u32>,
    /// The DER of `CRLDistributionPoints`, read when a revocation list is asked.
    pub(super) distribution_points: Option<Vec<u8>>,
    /// The DER of `AuthorityInfoAccessSyntax`, read when a responder is looked for.
    pub(super) authority_access: Option<Vec<u8>>,
    /// Whether `id-pkix-ocsp-nocheck` is there (RFC 6960 section 4.2.2.2.1).
    pub(super) ocsp_no_check: bool,
}

/// What a certificate's key may be used for (RFC 5280 section 4.2.1.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyUsage(u16);

impl KeyUsage {
    pub(crate) const DIGITAL_SIGNATURE: u16 = 1 << 15;
    pub(crate) const NON_REPUDIATION: u16 = 1 << 14;
    pub(crate) const KEY_ENCIPHERMENT: u16 = 1 << 13;
    pub(crate) const DATA_ENCIPHERMENT: u16 = 1 << 12;
    pub(crate) const KEY_AGREEMENT: u16 = 1 << 11;
    pub(crate) const KEY_CERT_SIGN: u16 = 1 << 10;
    pub(crate) const CRL_SIGN: u16 = 1 << 9;

    /// Each usage by its bit and its name in RFC 5280, section 4.2.1.3.
    const NAMES: [(u16, &str); 9] = [
        (Self::DIGITAL_SIGNATURE, "digitalSignature"),
        (Self::NON_REPUDIATION, "nonRepudiation"),
        (Self::KEY_ENCIPHERMENT, "keyEncipherment"),
        (Self::DATA_ENCIPHERMENT, "dataEncipherment"),
        (Self::KEY_AGREEMENT, "keyAgreement"),
        (Self::KEY_CERT_SIGN, "keyCertSign"),
        (Self::CRL_SIGN, "cRLSign"),
        (1 << 8, "encipherOnly"),
        (1 << 7, "decipherOnly"),
    ];

    /// The names of the usages, in their order.
    #[must_use]
    pub fn names(self) -> String {
        let named = Self::NAMES.iter().filter(|(bit, _)| self.has(*bit));
        let named: Vec<String> = named.map(|(_, name)| format!("`{name}`")).collect();
        match named.is_empty() {
            true => "none".to_owned(),
            false => named.join(", "),
        }
    }

    const fn has(self, bit: u16) -> bool {
        self.0 & bit != 0
    }

    /// Whether messages may be signed: `digitalSignature` or `nonRepudiation`.
    #[must_use]
    pub const fn may_sign(self) -> bool {
        self.has(Self::DIGITAL_SIGNATURE) || self.has(Self::NON_REPUDIATION)
    }

    /// Whether keys or data may be encrypted to it: `keyEncipherment`, `dataEncipherment` or
    /// `keyAgreement`.
    #[must_use]
    pub const fn may_encrypt(self) -> bool {
        self.has(Self::KEY_ENCIPHERMENT)
            || self.has(Self::DATA_ENCIPHERMENT)
            || self.has(Self::KEY_AGREEMENT)
    }

    /// Whether certificates may be signed: `keyCertSign`.
    #[must_use]
    pub const fn may_sign_certificates(self) -> bool {
        self.has(Self::KEY_CERT_SIGN)
    }

    /// Whether revocation lists may be signed: `cRLSign`.
    #[must_use]
    pub const fn may_sign_revocation_lists(self) -> bool {
        self.has(Self::CRL_SIGN)
    }
}

/// The purposes that a certificate names for its key (RFC 5280 section 4.2.1.12).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExtendedKeyUsage {
    /// Whether whoever does not understand the extension has to refuse the certificate.
    pub critical: bool,
    /// The purposes, at least one.
    pub purposes: Vec<KeyPurpose>,
}

impl Extensions {
    pub(super) fn read(octets: &[u8]) -> Result<Self, NotDer> {
        let mut outer = Reader::new(octets);
        let mut list = outer.enter(der::SEQUENCE)?;
        outer.end()?;
        let mut found = Self::default();
        let mut seen = HashSet::new();
        while !list.is_empty() {
            let mut extension = list.enter(der::SEQUENCE)?;
            let oid = extension.expect(der::OID)?;
            let critical = extension
                .optional(der::BOOLEAN)?
                .is_some_and(|value| value != [0]);
            let value = extension.expect(der::OCTET_STRING)?;
            extension.end()?;
            if !seen.insert(oid) {
                return Err(NotDer);
            }
            found.take(oid, critical, value)?;
        }
        Ok(found)
    }

    fn take(&mut self, oid: &[u8], critical: bool, value: &[u8]) -> Result<(), NotDer> {
        let mut reader = Reader::new(value);
        match oid {
            [0x55, 0x1d, 14] => self.ski = Some(reader.expect(der::OCTET_STRING)?.to_vec()),
            [0x55, 0x1d, 15] => {
                let octets = reader.expect(der::BIT_STRING)?;
                let bits = |index| octets.get(index).copied().unwrap_or(0);
                self.key_usage = Some(KeyUsage(u16::from_be_bytes([bits(1), bits(2)])));
            }
            [0x55, 0x1d, 19] => {
                let mut constraints = reader.enter(der::SEQUENCE)?;
                self.is_authority = constraints
                    .optional(der::BOOLEAN)?
                    .is_some_and(|value| value != [0]);
                if !constraints.is_empty() {
                    self.path_length = Some(constraints.small()?);
                }
                constraints.end()?;
            }
            [0x55, 0x1d, 31] => {
                self.distribution_points = Some(value.to_vec());
                return Ok(());
            }
            [0x2b, 6, 1, 5, 5, 7, 1, 1] => {
                self.authority_access = Some(value.to_vec());
                return Ok(());
            }
            [0x2b, 6, 1, 5, 5, 7, 48, 1, 5] => {
                self.ocsp_no_check = true;
                return Ok(());
            }
            [0x55, 0x1d, 37] => {
                let mut list = reader.enter(der::SEQUENCE)?;
                let mut purposes = Vec::new();
                while !list.is_empty() {
                    purposes.push(KeyPurpose::from_oid(list.expect(der::OID)?));
                }
                if purposes.is_empty() {
                    return Err(NotDer);
                }
                self.extended_key_usage = Some(ExtendedKeyUsage { critical, purposes });
            }
            _ => return Ok(()),
        }
        reader.end()
    }
}
