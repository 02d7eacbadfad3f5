//! `wsse:SecurityTokenReference` and what else stands in a `ds:KeyInfo`: read into one [`KeyLocator`], written in canonical form.
//!
//! The one rule: a reference says which key is meant. Whether that key may be used is decided elsewhere.

use std::borrow::Cow;
use std::fmt;

use soapstone_crypto::{Certificate, base64};
use soapstone_xml::Element;
use soapstone_xmlsec::write;

use crate::envelope::expanded_name;
use crate::names::{
    BASE64_BINARY, DS, ENCRYPTED_KEY_SHA1, ENCRYPTED_KEY_TOKEN, THUMBPRINT_SHA1, WSSE, WSSE11,
    X509_SKI, X509_V3,
};
use crate::plan::SharedKey;
use crate::policy::KeyReference;
use crate::rejected::Rejected;

/// Which key a message means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyLocator {
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
    /// A session key by the SHA-1 of its wrapped octets.
    EncryptedKeySha1(Vec<u8>),
    /// A key by name.
    Name(String),
}

impl fmt::Display for KeyLocator {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = |octets: &[u8]| {
            octets
                .iter()
                .map(|octet| format!("{octet:02x}"))
                .collect::<String>()
        };
        match self {
            Self::Token(id) => write!(out, "the token `#{id}`"),
            Self::Certificate(_) => out.write_str("the certificate in the message"),
            Self::Path(_) => out.write_str("the certification path in the message"),
            Self::SubjectKeyIdentifier(octets) => {
                write!(out, "the subject key identifier {}", hex(octets))
            }
            Self::Thumbprint(octets) => write!(out, "the SHA-1 thumbprint {}", hex(octets)),
            Self::IssuerSerial { issuer, serial } => {
                write!(out, "serial number {serial} of issuer `{issuer}`")
            }
            Self::EncryptedKeySha1(octets) => {
                write!(out, "the encrypted key with SHA-1 {}", hex(octets))
            }
            Self::Name(name) => write!(out, "the key name `{name}`"),
        }
    }
}

fn malformed(problem: impl Into<String>) -> Rejected {
    Rejected::Malformed {
        element: "ds:KeyInfo",
        problem: problem.into(),
    }
}

fn only_child<'d>(parent: Element<'d>) -> Result<Element<'d>, Rejected> {
    let mut children = parent.children();
    match (children.next(), children.next()) {
        (Some(child), None) => Ok(child),
        _ => Err(malformed(format!(
            "expected one element in `{}`",
            parent.local()
        ))),
    }
}

fn text(element: Element<'_>) -> Result<Cow<'_, str>, Rejected> {
    element
        .text_strict()
        .ok_or_else(|| malformed(format!("expected text in `{}`", element.local())))
}

/// Longest base64 in a key reference, octets: a certificate of 16 KiB and then some.
const OCTETS_LIMIT: usize = 32 * 1024;

pub(crate) fn octets(element: Element<'_>) -> Result<Vec<u8>, Rejected> {
    let coded = text(element)?;
    if coded.len() > OCTETS_LIMIT {
        return Err(malformed(format!(
            "expected at most {OCTETS_LIMIT} octets in `{}`",
            element.local()
        )));
    }
    let mut octets = Vec::new();
    base64::decode_xml(coded.as_bytes(), &mut octets)
        .map_err(|_| malformed(format!("expected base64 in `{}`", element.local())))?;
    Ok(octets)
}

impl KeyLocator {
    /// Reads a `ds:KeyInfo` with its one child.
    pub(crate) fn read(key_info: Element<'_>) -> Result<Self, Rejected> {
        let child = only_child(key_info)?;
        match (child.namespace(), child.local()) {
            (WSSE, "SecurityTokenReference") => Self::read_reference(child),
            (DS, "X509Data") => Self::read_x509_data(child),
            (DS, "KeyName") => Ok(Self::Name(text(child)?.trim().to_owned())),
            _ => Err(Rejected::TokenUnsupported {
                found: expanded_name(child),
            }),
        }
    }

    /// Reads a `wsse:SecurityTokenReference` (SOAP Message Security 1.1.1, 7).
    pub(crate) fn read_reference(reference: Element<'_>) -> Result<Self, Rejected> {
        let child = only_child(reference)?;
        match (child.namespace(), child.local()) {
            (WSSE, "Reference") => {
                let uri = child.attribute("", "URI").unwrap_or_default();
                match uri.strip_prefix('#').filter(|id| !id.is_empty()) {
                    Some(id) => Ok(Self::Token(id.to_owned())),
                    None => Err(Rejected::TokenUnsupported {
                        found: format!("a reference to `{uri}`"),
                    }),
                }
            }
            (WSSE, "KeyIdentifier") => {
                let encoding = child.attribute("", "EncodingType");
                if encoding
                    .as_deref()
                    .is_some_and(|encoding| encoding != BASE64_BINARY)
                {
                    return Err(Rejected::TokenUnsupported {
                        found: format!(
                            "key identifier encoding `{}`",
                            encoding.unwrap_or_default()
                        ),
                    });
                }
                match child.attribute("", "ValueType").as_deref() {
                    Some(X509_SKI) => octets(child).map(Self::SubjectKeyIdentifier),
                    Some(THUMBPRINT_SHA1) => octets(child).map(Self::Thumbprint),
                    Some(ENCRYPTED_KEY_SHA1) => octets(child).map(Self::EncryptedKeySha1),
                    Some(X509_V3) => octets(child).map(Self::Certificate),
                    other => Err(Rejected::TokenUnsupported {
                        found: format!("key identifier `{}`", other.unwrap_or("without ValueType")),
                    }),
                }
            }
            (DS, "X509Data") => Self::read_x509_data(child),
            (DS, "KeyName") => Ok(Self::Name(text(child)?.trim().to_owned())),
            (WSSE, "Embedded") => {
                let token = only_child(child)?;
                if token.is(WSSE, "BinarySecurityToken") {
                    Self::read_token(token)
                } else {
                    Err(Rejected::TokenUnsupported {
                        found: expanded_name(token),
                    })
                }
            }
            _ => Err(Rejected::TokenUnsupported {
                found: expanded_name(child),
            }),
        }
    }

    /// Reads a `wsse:BinarySecurityToken` (X.509 Token Profile 1.1.1, 3.1).
    pub(crate) fn read_token(token: Element<'_>) -> Result<Self, Rejected> {
        let encoding = token.attribute("", "EncodingType");
        if encoding
            .as_deref()
            .is_some_and(|encoding| encoding != BASE64_BINARY)
        {
            return Err(Rejected::TokenUnsupported {
                found: format!("token encoding `{}`", encoding.unwrap_or_default()),
            });
        }
        match token.attribute("", "ValueType").as_deref() {
            Some(X509_V3) => octets(token).map(Self::Certificate),
            Some(crate::names::X509_PKI_PATH_V1) => octets(token).map(Self::Path),
            other => Err(Rejected::TokenUnsupported {
                found: format!("token type `{}`", other.unwrap_or("without ValueType")),
            }),
        }
    }

    /// Reads a `ds:X509Data`: the certificate if it is there, else what names it (XML-DSig 4.5.4).
    fn read_x509_data(data: Element<'_>) -> Result<Self, Rejected> {
        if let Some(certificate) = data.child(DS, "X509Certificate") {
            return octets(certificate).map(Self::Certificate);
        }
        if let Some(pair) = data.child(DS, "X509IssuerSerial") {
            let part = |local| {
                pair.child(DS, local)
                    .ok_or_else(|| malformed(format!("expected `{local}` in `X509IssuerSerial`")))
            };
            let issuer = text(part("X509IssuerName")?)?.trim().to_owned();
            let serial = text(part("X509SerialNumber")?)?.trim().to_owned();
            return Ok(Self::IssuerSerial { issuer, serial });
        }
        if let Some(identifier) = data.child(DS, "X509SKI") {
            return octets(identifier).map(Self::SubjectKeyIdentifier);
        }
        if let Some(subject) = data.child(DS, "X509SubjectName") {
            return Ok(Self::Name(text(subject)?.trim().to_owned()));
        }
        Err(Rejected::TokenUnsupported {
            found: "ds:X509Data without certificate, issuer, subject or key identifier".to_owned(),
        })
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
            Self::Token(_) | Self::Path(_) | Self::EncryptedKeySha1(_) => false,
        }
    }
}

/// Appends what stands in a `ds:KeyInfo` that names `certificate`; `token` is the id of its `BinarySecurityToken` for
/// [`KeyReference::Direct`]. Canonical where `ds` is declared by the `ds:KeyInfo` around it.
pub(crate) fn write_certificate(
    reference: KeyReference,
    certificate: &Certificate,
    token: &str,
    out: &mut Vec<u8>,
) {
    if reference == KeyReference::KeyName {
        write::key_name(certificate.subject(), out);
        return;
    }
    out.extend_from_slice(
        format!("<wsse:SecurityTokenReference xmlns:wsse=\"{WSSE}\">").as_bytes(),
    );
    match reference {
        KeyReference::Direct => {
            out.extend_from_slice(
                format!(
                    "<wsse:Reference URI=\"#{token}\" ValueType=\"{X509_V3}\"></wsse:Reference>"
                )
                .as_bytes(),
            );
        }
        KeyReference::SubjectKeyIdentifier => {
            write_identifier(X509_SKI, certificate.ski(), out);
        }
        KeyReference::Thumbprint => {
            write_identifier(THUMBPRINT_SHA1, &certificate.thumbprint_sha1(), out)
        }
        KeyReference::Embedded => {
            out.extend_from_slice(b"<wsse:Embedded>");
            write_token(certificate, token, out);
            out.extend_from_slice(b"</wsse:Embedded>");
        }
        KeyReference::IssuerSerial | KeyReference::KeyName | KeyReference::EncryptedKeySha1 => {
            write::x509_issuer_serial(certificate, out);
        }
    }
    out.extend_from_slice(b"</wsse:SecurityTokenReference>");
}

/// Appends a reference to the `EncryptedKey` with this id.
pub(crate) fn write_encrypted_key(id: &str, out: &mut Vec<u8>) {
    open_encrypted_key_reference(out);
    out.extend_from_slice(
        format!("<wsse:Reference URI=\"#{id}\"></wsse:Reference></wsse:SecurityTokenReference>")
            .as_bytes(),
    );
}

/// Appends a reference to a session key by the SHA-1 of its wrapped octets.
pub(crate) fn write_encrypted_key_sha1(sha1: &[u8; 20], out: &mut Vec<u8>) {
    open_encrypted_key_reference(out);
    write_identifier(ENCRYPTED_KEY_SHA1, sha1, out);
    out.extend_from_slice(b"</wsse:SecurityTokenReference>");
}

fn open_encrypted_key_reference(out: &mut Vec<u8>) {
    out.extend_from_slice(
        format!(
            "<wsse:SecurityTokenReference xmlns:wsse=\"{WSSE}\" xmlns:wsse11=\"{WSSE11}\" wsse11:TokenType=\"{ENCRYPTED_KEY_TOKEN}\">"
        )
        .as_bytes(),
    );
}

/// Appends the name of a shared key, or the SHA-1 that stands for it.
pub(crate) fn write_shared(reference: KeyReference, shared: &SharedKey, out: &mut Vec<u8>) {
    match reference {
        KeyReference::EncryptedKeySha1 => write_encrypted_key_sha1(&shared.sha1(), out),
        _ => write::key_name(&shared.name, out),
    }
}

/// Appends a `wsse:BinarySecurityToken` with `certificate`, in canonical form.
pub(crate) fn write_token(certificate: &Certificate, id: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(
        format!(
            "<wsse:BinarySecurityToken xmlns:wsse=\"{WSSE}\" xmlns:wsu=\"{}\" EncodingType=\"{BASE64_BINARY}\" ValueType=\"{X509_V3}\" \
             wsu:Id=\"{id}\">",
            crate::names::WSU
        )
        .as_bytes(),
    );
    base64::encode_into(certificate.der(), out);
    out.extend_from_slice(b"</wsse:BinarySecurityToken>");
}

fn write_identifier(value_type: &str, octets: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(
        format!("<wsse:KeyIdentifier EncodingType=\"{BASE64_BINARY}\" ValueType=\"{value_type}\">")
            .as_bytes(),
    );
    base64::encode_into(octets, out);
    out.extend_from_slice(b"</wsse:KeyIdentifier>");
}
