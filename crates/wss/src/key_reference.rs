//! `wsse:SecurityTokenReference` and what else stands in a `ds:KeyInfo`, read into one
//! [`KeyLocator`].
//!
//! The one rule: a reference says which key is meant. Whether that key may be used is decided
//! elsewhere.

use std::borrow::Cow;
use std::fmt;

use soapstone_crypto::hexadecimal::Digits;
use soapstone_crypto::{Certificate, base64};
use soapstone_xml::Element;

use crate::attributes::only_attributes;
use crate::conversation::{ContextName, ConversationVersion};
use crate::envelope::expanded_name;
use crate::names::{
    BASE64_BINARY, DS, ENCRYPTED_KEY_SHA1, ENCRYPTED_KEY_TOKEN, ENCRYPTED_KEY_TOKEN_OF_WSS4J,
    THUMBPRINT_SHA1, USERNAME_TOKEN, WSSE, X509_SKI, X509_V3, XENC,
};
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
    /// A security context whose token is not in the message.
    Context(ContextName),
    /// A key by name.
    Name(String),
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

/// Longest name in a key reference, octets. A certificate's names have some hundreds, with
/// attributes of at most 64 to 128 characters (RFC 5280, appendix A). They are compared with those
/// of every certificate that is known, before anything is proven.
const LONGEST_NAME: usize = 4 * 1024;

fn name(element: Element<'_>) -> Result<String, Rejected> {
    let text = text(element)?;
    let name = text.trim();
    if name.len() > LONGEST_NAME {
        return Err(malformed(format!(
            "expected at most {LONGEST_NAME} octets in `{}`",
            element.local()
        )));
    }
    Ok(name.to_owned())
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
            (DS, "KeyName") => name(child).map(Self::Name),
            _ => Err(Rejected::TokenUnsupported {
                found: expanded_name(child),
            }),
        }
    }

    /// Reads a `wsse:SecurityTokenReference` (SOAP Message Security 1.1.1, 7).
    pub(crate) fn read_reference(reference: Element<'_>) -> Result<Self, Rejected> {
        let attributes =
            |element, allowed: &[&str]| only_attributes(element, allowed).map_err(malformed);
        attributes(reference, &[])?;
        let child = only_child(reference)?;
        match (child.namespace(), child.local()) {
            (WSSE, "Reference") => {
                attributes(child, &["URI", "ValueType"])?;
                let uri = child.attribute("", "URI").unwrap_or_default();
                if let Some(name) = outside_context(child, &uri) {
                    return Ok(Self::Context(name));
                }
                match uri.strip_prefix('#').filter(|id| !id.is_empty()) {
                    Some(id) => {
                        check_type_of_reference(child, id)?;
                        Ok(Self::Token(id.to_owned()))
                    }
                    None => Err(Rejected::TokenUnsupported {
                        found: format!("a reference to `{uri}`"),
                    }),
                }
            }
            (WSSE, "KeyIdentifier") => {
                attributes(child, &["EncodingType", "ValueType"])?;
                only_base64(child, "key identifier")?;
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
            (DS, "KeyName") => name(child).map(Self::Name),
            (WSSE, "Embedded") => {
                attributes(child, &["ValueType"])?;
                let token = only_child(child)?;
                check_type(child, token)?;
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
        only_attributes(token, &["EncodingType", "ValueType"]).map_err(malformed)?;
        only_base64(token, "token")?;
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
            let issuer = name(part("X509IssuerName")?)?;
            let serial = name(part("X509SerialNumber")?)?;
            return Ok(Self::IssuerSerial { issuer, serial });
        }
        if let Some(identifier) = data.child(DS, "X509SKI") {
            return octets(identifier).map(Self::SubjectKeyIdentifier);
        }
        if let Some(subject) = data.child(DS, "X509SubjectName") {
            return name(subject).map(Self::Name);
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
            Self::Token(_) | Self::Path(_) | Self::EncryptedKeySha1(_) | Self::Context(_) => false,
        }
    }
}

/// Checks that the content of an element is said to be base64, or nothing is said of it (BSP 1.1,
/// R3030, R3071 and R4221).
pub(crate) fn only_base64(element: Element<'_>, what: &str) -> Result<(), Rejected> {
    match element.attribute("", "EncodingType") {
        Some(encoding) if encoding != BASE64_BINARY => Err(Rejected::TokenUnsupported {
            found: format!("{what} encoding `{encoding}`"),
        }),
        _ => Ok(()),
    }
}

/// Checks the type that a `wsse:Reference` claims for a token of this message. One that is not
/// there is missed by whoever looks for it.
fn check_type_of_reference(reference: Element<'_>, id: &str) -> Result<(), Rejected> {
    let document = reference.document();
    match document.by_id(id) {
        Ok(Some(token)) => check_type(reference, document.element(token)),
        _ => Ok(()),
    }
}

/// Checks that the `ValueType` of a reference, where it has one, is the type of the token (BSP 1.1,
/// R3058): a receiver that heeds it reads another token than one that heeds the token's own.
fn check_type(reference: Element<'_>, token: Element<'_>) -> Result<(), Rejected> {
    let Some(claimed) = reference.attribute("", "ValueType") else {
        return Ok(());
    };
    let version = ConversationVersion::from_namespace(token.namespace());
    let fits = match (token.namespace(), token.local(), version) {
        (WSSE, "BinarySecurityToken", _) => {
            token.attribute("", "ValueType").as_ref() == Some(&claimed)
        }
        (WSSE, "UsernameToken", _) => claimed == USERNAME_TOKEN,
        (XENC, "EncryptedKey", _) => {
            [ENCRYPTED_KEY_TOKEN, ENCRYPTED_KEY_TOKEN_OF_WSS4J].contains(&&*claimed)
        }
        (_, "SecurityContextToken", Some(version)) => claimed == version.token_type(),
        (_, "DerivedKeyToken", Some(version)) => claimed == version.derived_key_type(),
        // What is no token is refused for that.
        _ => true,
    };
    match fits {
        true => Ok(()),
        false => Err(Rejected::TokenUnsupported {
            found: format!(
                "a reference of type `{claimed}` to `{}`",
                expanded_name(token)
            ),
        }),
    }
}

/// The context that a `wsse:Reference` names by its identifier (WS-SecureConversation 1.4, 8); none
/// by one that is longer than any.
pub(crate) fn outside_context(reference: Element<'_>, uri: &str) -> Option<ContextName> {
    if uri.is_empty() || uri.starts_with('#') || uri.len() > LONGEST_IDENTIFIER {
        return None;
    }
    let value_type = reference.attribute("", "ValueType")?;
    let version = ConversationVersion::ALL
        .into_iter()
        .find(|version| version.token_type() == value_type)?;
    let instance = reference.attribute(version.namespace(), "Instance");
    let is_short = |instance: &Cow<'_, str>| instance.len() <= LONGEST_IDENTIFIER;
    instance.iter().all(is_short).then(|| ContextName {
        version,
        identifier: uri.to_owned(),
        instance: instance.map(Cow::into_owned),
    })
}

/// What a `wsc:SecurityContextToken` names (WS-SecureConversation 1.4, 2); `None` for any other
/// element.
pub(crate) fn context_token(token: Element<'_>) -> Result<Option<ContextName>, Rejected> {
    if token.local() != "SecurityContextToken" {
        return Ok(None);
    }
    let Some(version) = ConversationVersion::from_namespace(token.namespace()) else {
        return Ok(None);
    };
    let malformed = |problem: &str| Rejected::Malformed {
        element: "wsc:SecurityContextToken",
        problem: problem.to_owned(),
    };
    let one = |local: &str| {
        let mut found = token
            .children()
            .filter(|child| child.is(version.namespace(), local));
        let first = found.next();
        if found.next().is_some() {
            return Err(malformed(&format!("expected one `{local}`, found more")));
        }
        let text = |element: Element<'_>| {
            only_attributes(element, &[]).map_err(|problem| malformed(&problem))?;
            let text = element.text_strict().map(|text| text.trim().to_owned());
            text.filter(|text| !text.is_empty() && text.len() <= LONGEST_IDENTIFIER)
                .ok_or_else(|| malformed(&format!("expected a short text in `{local}`")))
        };
        first.map(text).transpose()
    };
    let identifier = one("Identifier")?.ok_or_else(|| malformed("expected an `Identifier`"))?;
    let instance = one("Instance")?;
    Ok(Some(ContextName {
        version,
        identifier,
        instance,
    }))
}

/// Longest identifier of a security context, octets.
const LONGEST_IDENTIFIER: usize = 1024;

/// Octets from short base64 text.
pub(crate) fn base64_octets(coded: &str, element: &'static str) -> Result<Vec<u8>, Rejected> {
    let mut octets = Vec::new();
    let decoded =
        coded.len() <= OCTETS_LIMIT && base64::decode_xml(coded.as_bytes(), &mut octets).is_ok();
    decoded
        .then_some(octets)
        .ok_or_else(|| Rejected::Malformed {
            element,
            problem: "expected base64".to_owned(),
        })
}
