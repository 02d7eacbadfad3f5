//! Which key a message means, however it is written.
//!
//! The one rule: a name says which key is meant. Whether that key may be used is decided elsewhere.

use std::fmt;

use soapstone_crypto::hexadecimal::Digits;
use soapstone_crypto::{Certificate, PublicKey};

use crate::conversation::ContextName;
use crate::token::{AssertionReference, SamlVersion};

/// Which key a message means.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyLocator {
    /// A token of this message by id (a `BinarySecurityToken` or an `EncryptedKey`).
    Token(String),
    /// A certificate, as DER.
    Certificate(Vec<u8>),
    /// A certification path, as DER (`PkiPath`).
    Path(Vec<u8>),
    /// A certificate by its subject key identifier.
    SubjectKeyIdentifier(Vec<u8>),
    /// A certificate by the SHA-1 of its DER form.
    Thumbprint(Vec<u8>),
    /// A certificate by issuer and serial number.
    IssuerSerial {
        /// Distinguished name, RFC 4514.
        issuer: String,
        /// Decimal.
        serial: String,
    },
    /// A session key by the SHA-1 of its wrapped bytes.
    EncryptedKeySha1(Vec<u8>),
    /// A security context whose token is not in the message.
    Context(ContextName),
    /// A Kerberos token by the SHA-1 of its bytes.
    KerberosSha1(Vec<u8>),
    /// The key of the holder of an assertion.
    Assertion {
        /// The version of the assertion.
        version: SamlVersion,
        /// Its id.
        id: String,
    },
    /// The key of the holder of an assertion that stands elsewhere.
    AssertionElsewhere(AssertionReference),
    /// A key by name.
    Name(String),
    /// A public key, written out.
    PublicKey(PublicKey),
    /// A certificate by all of these names at once.
    All(Vec<KeyLocator>),
}

impl fmt::Display for KeyLocator {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token(id) => write!(out, "the token `#{id}`"),
            Self::Certificate(_) => out.write_str("the certificate in the message"),
            Self::Path(_) => out.write_str("the certification path in the message"),
            Self::SubjectKeyIdentifier(octets) => {
                write!(out, "the subject key identifier {}", Digits(octets))
            }
            Self::Thumbprint(octets) => write!(out, "the SHA-1 thumbprint {}", Digits(octets)),
            Self::IssuerSerial { issuer, serial } => {
                write!(out, "serial number {serial} of issuer `{issuer}`")
            }
            Self::EncryptedKeySha1(octets) => {
                write!(out, "the encrypted key with SHA-1 {}", Digits(octets))
            }
            Self::Context(name) => name.fmt(out),
            Self::KerberosSha1(bytes) => {
                write!(out, "the Kerberos token with SHA-1 {}", Digits(bytes))
            }
            Self::Assertion { version, id } => {
                write!(out, "the assertion `{id}` of SAML {}", version.name())
            }
            Self::AssertionElsewhere(reference) => reference.fmt(out),
            Self::Name(name) => write!(out, "the key name `{name}`"),
            Self::PublicKey(key) => {
                write!(out, "a public key in the message, which is {}", key.kind())
            }
            Self::All(names) => {
                for (at, name) in names.iter().enumerate() {
                    let separator = if at == 0 { "" } else { " and " };
                    write!(out, "{separator}{name}")?;
                }
                Ok(())
            }
        }
    }
}

impl KeyLocator {
    /// Whether the message holds the certificate that this means.
    pub(crate) fn is_carried(&self) -> bool {
        match self {
            Self::Token(_) | Self::Certificate(_) | Self::Path(_) => true,
            Self::All(names) => names.iter().any(Self::is_carried),
            _ => false,
        }
    }

    /// Whether this names `certificate`.
    pub(crate) fn names(&self, certificate: &Certificate) -> bool {
        match self {
            Self::Certificate(der) => certificate.der() == der.as_slice(),
            Self::SubjectKeyIdentifier(octets) => certificate.matches_ski(octets),
            Self::Thumbprint(octets) => {
                certificate.thumbprint_sha1().as_slice() == octets.as_slice()
            }
            Self::IssuerSerial { issuer, serial } => {
                certificate.matches_issuer_serial(issuer, serial)
            }
            // A distinguished name, or the common name alone.
            Self::Name(name) => {
                certificate.matches_subject(name)
                    || certificate.subject_matches(&format!("CN={name}"))
            }
            Self::PublicKey(key) => certificate.public_key() == key,
            Self::All(names) => names.iter().all(|name| name.names(certificate)),
            Self::Token(_)
            | Self::Path(_)
            | Self::EncryptedKeySha1(_)
            | Self::Context(_)
            | Self::KerberosSha1(_)
            | Self::Assertion { .. }
            | Self::AssertionElsewhere(_) => false,
        }
    }
}
