//! `wsse:SecurityTokenReference` and what else stands in a `ds:KeyInfo`, read into one
//! [`KeyLocator`].
//!
//! The one rule: a reference says which key is meant. Whether that key may be used is decided
//! elsewhere.

use soapstone_crypto::Certificate;
use soapstone_xml::Element;
use soapstone_xmlsec::keyinfo::{KeyValue, der_encoded_key_value};

use crate::attributes::only_attributes;
use crate::envelope::expanded_name;
use crate::key_locator::KeyLocator;
use crate::names::{
    DS, DSIG11, ENCRYPTED_KEY_SHA1, ENCRYPTED_KEY_TOKEN, ENCRYPTED_KEY_TOKEN_OF_WSS4J, WSSE, XENC,
};
use crate::rejected::Rejected;
use crate::token::{self, AssertionReference, TokenKind};
use crate::values::{octets, only_base64, text};

fn malformed(problem: impl Into<String>) -> Rejected {
    Rejected::Malformed {
        element: "ds:KeyInfo",
        problem: problem.into(),
    }
}

fn unsupported(found: &str) -> Rejected {
    Rejected::TokenUnsupported {
        found: found.to_owned(),
    }
}

fn several(parent: Element<'_>) -> Rejected {
    malformed(format!("expected one element in `{}`", parent.local()))
}

fn only_child<'d>(parent: Element<'d>) -> Result<Element<'d>, Rejected> {
    let mut children = parent.children();
    match (children.next(), children.next()) {
        (Some(child), None) => Ok(child),
        _ => Err(several(parent)),
    }
}

/// Most certificates, public keys and names for one certificate in a `ds:KeyInfo` or a
/// `ds:X509Data`. Paths have two to five certificates.
const MOST_NAMES: usize = 8;

/// Longest name in a key reference, bytes. A certificate's names have some hundreds, with
/// attributes of at most 64 to 128 characters (RFC 5280, appendix A). They are compared with those
/// of every certificate that is known, before anything is proven.
const LONGEST_NAME: usize = 4 * 1024;

fn name(element: Element<'_>) -> Result<String, Rejected> {
    let text = text(element)?;
    let name = text.trim();
    if name.len() > LONGEST_NAME {
        return Err(malformed(format!(
            "expected at most {LONGEST_NAME} bytes in `{}`",
            element.local()
        )));
    }
    Ok(name.to_owned())
}

impl KeyLocator {
    /// Reads a `ds:KeyInfo` with its one child. Beside each other stand only certificates and
    /// public keys that are written out, as .NET has them, and names of the same key (XML-DSig
    /// 4.5.1), as templates of xmlsec have them.
    pub(crate) fn read(key_info: Element<'_>) -> Result<Self, Rejected> {
        let mut children = key_info.children();
        let (first, second) = (children.next(), children.next());
        let (Some(first), Some(_)) = (first, second) else {
            return Self::read_child(only_child(key_info)?);
        };
        let is_written_out =
            |child: Element<'_>| child.is(DS, "X509Data") || child.is(DS, "KeyValue");
        let is_name = |child: Element<'_>| child.is(DS, "KeyName");
        let count = key_info.children().take(MOST_NAMES + 1).count();
        let mut children = key_info.children();
        if count > MOST_NAMES
            || !key_info.children().any(is_written_out)
            || !children.all(|child| is_written_out(child) || is_name(child))
        {
            return Err(several(key_info));
        }
        let mut names = vec![Self::read_child(first)?];
        for child in key_info.children().skip(1) {
            names.push(Self::read_child(child)?);
        }
        Ok(Self::All(names))
    }

    fn read_child(child: Element<'_>) -> Result<Self, Rejected> {
        match (child.namespace(), child.local()) {
            (WSSE, "SecurityTokenReference") => Self::read_reference(child),
            (DS, "X509Data") => Self::read_x509_data(child),
            (DS, "KeyName") => name(child).map(Self::Name),
            (DS, "KeyValue") => {
                let value = KeyValue::parse(child).map_err(|error| malformed(error.to_string()))?;
                let value =
                    value.ok_or_else(|| unsupported("a `ds:KeyValue` of an unknown kind"))?;
                Ok(Self::PublicKey(value.into_public_key()))
            }
            (DSIG11, "DEREncodedKeyValue") => {
                let key = der_encoded_key_value(child);
                key.map(Self::PublicKey)
                    .map_err(|error| malformed(error.to_string()))
            }
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
        if let Some(elsewhere) = AssertionReference::read(reference)? {
            return Ok(Self::AssertionElsewhere(elsewhere));
        }
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

    /// Reads a `ds:X509Data`: certificates, and names for one (XML-DSig 4.5.4). All of them mean
    /// one key.
    fn read_x509_data(data: Element<'_>) -> Result<Self, Rejected> {
        let mut certificates = Vec::new();
        let mut names = Vec::new();
        for (at, child) in data.children().enumerate() {
            if at == MOST_NAMES {
                return Err(several(data));
            }
            match (child.namespace(), child.local()) {
                (DS, "X509Certificate") => certificates.push(octets(child)?),
                (DS, "X509IssuerSerial") => {
                    let part = |local| {
                        child.child(DS, local).ok_or_else(|| {
                            malformed(format!("expected `{local}` in `X509IssuerSerial`"))
                        })
                    };
                    let issuer = name(part("X509IssuerName")?)?;
                    let serial = name(part("X509SerialNumber")?)?;
                    names.push(Self::IssuerSerial { issuer, serial });
                }
                (DS, "X509SKI") => names.push(Self::SubjectKeyIdentifier(octets(child)?)),
                (DS, "X509SubjectName") => names.push(Self::Name(name(child)?)),
                // Revocation lists, and what the schema has room for, name no key.
                _ => {}
            }
        }
        match certificates.len() {
            0 => {}
            1 => names.extend(certificates.pop().map(Self::Certificate)),
            _ => names.push(Self::Path(path(&certificates)?)),
        }
        match names.len() {
            0 => Err(unsupported(
                "ds:X509Data without certificate, issuer, subject or key identifier",
            )),
            1 => Ok(names.swap_remove(0)),
            _ => Ok(Self::All(names)),
        }
    }
}

/// Puts certificates into the order of a path, as `PkiPath`. The order that they came in says
/// nothing (XML-DSig 4.5.4): the one that issued none of the others is the signer's.
fn path(certificates: &[Vec<u8>]) -> Result<Vec<u8>, Rejected> {
    let read = certificates.iter().map(|der| Certificate::from_der(der));
    let mut left = read
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| malformed(error.to_string()))?;
    let issued = |one: &Certificate, all: &[Certificate]| {
        let mut others = all.iter().filter(|other| other.der() != one.der());
        others.any(|other| other.issuer_name().matches(one.subject_name()))
    };
    let no_path = || malformed("expected the certificates of one path in `X509Data`");
    let ends: Vec<usize> = (0..left.len())
        .filter(|at| !issued(&left[*at], &left))
        .collect();
    let [end] = *ends.as_slice() else {
        return Err(no_path());
    };
    let mut ordered = vec![left.swap_remove(end)];
    while !left.is_empty() {
        let issuer = |last: &Certificate| {
            let mut candidates = left.iter();
            candidates.position(|one| last.issuer_name().matches(one.subject_name()))
        };
        let next = ordered.last().and_then(issuer).ok_or_else(no_path)?;
        ordered.push(left.swap_remove(next));
    }
    Ok(Certificate::to_pki_path(&ordered))
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
/// R3058): a receiver that heeds it reads another token than one that heeds the token's own. Types
/// that are read in the same way fit each other.
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
