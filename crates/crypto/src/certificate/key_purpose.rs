//! Purposes of extended key usages, by name and by number (RFC 5280 section 4.2.1.12).

use std::fmt;

use crate::der;
use crate::error::CryptoError;

/// One purpose of an extended key usage, such as `emailProtection`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct KeyPurpose(Vec<u8>);

const ANY: &[u8] = &[0x55, 0x1d, 0x25, 0];
const CLIENT_AUTH: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 2];
const OCSP_SIGNING: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 9];
const EMAIL_PROTECTION: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 4];

/// RFC 5280 section 4.2.1.12 and RFC 9336.
const NAMES: &[(&[u8], &str)] = &[
    (ANY, "anyExtendedKeyUsage"),
    (&[0x2b, 6, 1, 5, 5, 7, 3, 1], "serverAuth"),
    (CLIENT_AUTH, "clientAuth"),
    (&[0x2b, 6, 1, 5, 5, 7, 3, 3], "codeSigning"),
    (EMAIL_PROTECTION, "emailProtection"),
    (&[0x2b, 6, 1, 5, 5, 7, 3, 8], "timeStamping"),
    (OCSP_SIGNING, "OCSPSigning"),
    (&[0x2b, 6, 1, 5, 5, 7, 3, 36], "documentSigning"),
];

impl KeyPurpose {
    pub(super) fn from_oid(oid: &[u8]) -> Self {
        Self(oid.to_vec())
    }

    /// Reads the name of a purpose, or its object identifier in dotted decimals.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Malformed`] if it is neither.
    pub fn parse(text: &str) -> Result<Self, CryptoError> {
        let named = NAMES
            .iter()
            .find(|(_, name)| name.eq_ignore_ascii_case(text))
            .map(|(oid, _)| oid.to_vec());
        named
            .or_else(|| der::oid_from_dotted(text))
            .map(Self)
            .ok_or_else(|| CryptoError::Malformed {
                expected: "an extended key usage, such as `clientAuth` or `1.3.6.1.5.5.7.3.2`",
                found: format!("`{text}`"),
            })
    }

    /// Whether it is `anyExtendedKeyUsage`, which restricts nothing.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.0 == ANY
    }

    /// Whether it lets a key answer for the authority that issued its certificate.
    #[must_use]
    pub fn is_ocsp_signing(&self) -> bool {
        self.0 == OCSP_SIGNING
    }

    /// Whether it covers the signing of messages between programs, for which no purpose of its own
    /// was ever registered: any purpose, the signing of mail, or the authentication of a client.
    #[must_use]
    pub fn covers_messages(&self) -> bool {
        [ANY, CLIENT_AUTH, EMAIL_PROTECTION].contains(&self.0.as_slice())
    }
}

impl fmt::Display for KeyPurpose {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(oid, _)| *oid == self.0) {
            Some((_, name)) => formatter.write_str(name),
            None => formatter.write_str(&der::dotted(&self.0)),
        }
    }
}
