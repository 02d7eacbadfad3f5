//! `wsse:SecurityTokenReference` and what else stands in a `ds:KeyInfo`, read into one
//! [`KeyLocator`].
//!
//! The one rule: a reference says which key is meant. Whether that key may be used is decided
//! elsewhere.

use soapstone_xml::Element;

use crate::attributes::only_attributes;
use crate::envelope::expanded_name;
use crate::key_locator::KeyLocator;
use crate::names::{
    DS, ENCRYPTED_KEY_SHA1, ENCRYPTED_KEY_TOKEN, ENCRYPTED_KEY_TOKEN_OF_WSS4J, WSSE, XENC,
};
use crate::rejected::Rejected;
use crate::token::{self, TokenKind};
use crate::values::{octets, only_base64, text};

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

/// Longest name in a key reference, bytes. A certificate's names have some hundreds, with
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
                if let Some(locator) = token::outside(child, &uri) {
                    return Ok(locator);
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
                let value_type = child.attribute("", "ValueType");
                if let Some(named) = value_type.as_deref().and_then(token::named_by_text) {
                    return name(child).map(named);
                }
                only_base64(child, "key identifier")?;
                if value_type.as_deref() == Some(ENCRYPTED_KEY_SHA1) {
                    return octets(child).map(Self::EncryptedKeySha1);
                }
                match value_type.as_deref().and_then(token::identified_by) {
                    Some(named) => octets(child).map(named),
                    None => Err(Rejected::TokenUnsupported {
                        found: format!(
                            "key identifier `{}`",
                            value_type.as_deref().unwrap_or("without ValueType")
                        ),
                    }),
                }
            }
            (DS, "X509Data") => Self::read_x509_data(child),
            (DS, "KeyName") => name(child).map(Self::Name),
            (WSSE, "Embedded") => {
                attributes(child, &["ValueType"])?;
                let token = only_child(child)?;
                check_type(child, token)?;
                token::certificate(token)
            }
            _ => Err(Rejected::TokenUnsupported {
                found: expanded_name(child),
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
    let fits = match TokenKind::of(token) {
        Some(kind) => kind.has_type(token, &claimed),
        None if token.is(XENC, "EncryptedKey") => {
            [ENCRYPTED_KEY_TOKEN, ENCRYPTED_KEY_TOKEN_OF_WSS4J].contains(&&*claimed)
        }
        // What is no token is refused for that.
        None => true,
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
