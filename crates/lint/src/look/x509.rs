//! X.509 tokens and references to them (X.509 Token Profile 1.1.1).

use crate::element::Element;
use soapstone_crypto::{DistinguishedName, base64};

use crate::findings::{Findings, quoted};
use crate::message::{Message, Token, TokenReference};
use crate::names::{DS, PKCS7, PKI_PATH, SUBJECT_KEY_IDENTIFIER, THUMBPRINT, X509_PROFILE, X509V3};

/// Bytes of a SHA-1.
const SHA1: usize = 20;

/// What a binary token holds, by the first tags of its DER.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Certificate,
    Path,
    Pkcs7,
}

pub(crate) fn look(message: &Message<'_>, findings: &mut Findings) {
    for token in &message.binary_tokens {
        look_at_token(*token, findings);
    }
    for reference in &message.references {
        look_at_reference(reference, findings);
    }
}

fn look_at_token(token: Element<'_>, findings: &mut Findings) {
    let value = token.attribute("", "ValueType");
    let value = value.as_deref();
    let bytes = base64::decode_xml_to_vec(token.text().as_bytes());
    let content = bytes.ok().and_then(|bytes| content(&bytes));
    let found = || quoted(value);
    match content {
        Some(Content::Certificate) if value != Some(X509V3) => {
            findings.add("R3033", token, quoted(Some(X509V3)), found());
        }
        Some(Content::Path) if value != Some(PKI_PATH) => {
            findings.add("R5214", token, quoted(Some(PKI_PATH)), found());
        }
        Some(Content::Pkcs7) if value != Some(PKCS7) => {
            findings.add("R5211", token, quoted(Some(PKCS7)), found());
        }
        _ => {}
    }
    let is_path = matches!(content, Some(Content::Path | Content::Pkcs7));
    if is_path && !matches!(value, Some(PKCS7 | PKI_PATH)) {
        findings.add("R5201", token, "#PKCS7 or #X509PKIPathv1", found());
    }
    if content == Some(Content::Pkcs7) || value == Some(PKCS7) {
        findings.add(
            "R5202",
            token,
            "a path as #X509PKIPathv1",
            "a PKCS#7 structure",
        );
    }
}

/// What DER holds: a certificate begins with its version or serial number, a path with a
/// certificate, and PKCS#7 with the identifier of its content.
fn content(bytes: &[u8]) -> Option<Content> {
    const SEQUENCE: u8 = 0x30;
    let inside = contents(bytes, SEQUENCE)?;
    if inside.first() == Some(&0x06) {
        return Some(Content::Pkcs7);
    }
    match contents(inside, SEQUENCE)?.first()? {
        0xA0 | 0x02 => Some(Content::Certificate),
        &SEQUENCE => Some(Content::Path),
        _ => None,
    }
}

/// The contents of a DER value with this tag.
fn contents(bytes: &[u8], tag: u8) -> Option<&[u8]> {
    let (first, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_first()?;
    let further = match length {
        0..=0x7F => 0,
        0x81..=0x84 => usize::from(length - 0x80),
        _ => return None,
    };
    (*first == tag).then(|| rest.get(further..)).flatten()
}

fn look_at_reference(reference: &TokenReference<'_>, findings: &mut Findings) {
    let element = reference.element;
    let token_type = reference.token_type.as_deref();
    let rules = match reference.token {
        Some(Token::X509) => Some((X509V3, "R5218", None)),
        Some(Token::Pkcs7) => Some((PKCS7, "R5213", Some("R5212"))),
        Some(Token::PkiPath) => Some((PKI_PATH, "R5216", Some("R5215"))),
        _ => None,
    };
    if let Some((wanted, of_value, of_token)) = rules {
        if let Some(rule) = of_token
            && token_type != Some(wanted)
        {
            findings.add(rule, element, quoted(Some(wanted)), quoted(token_type));
        }
        if let Some(direct) = reference.direct {
            let value = direct.attribute("", "ValueType");
            if value.as_deref() != Some(wanted) {
                findings.add(
                    of_value,
                    direct,
                    quoted(Some(wanted)),
                    quoted(value.as_deref()),
                );
            }
        }
    }
    if let Some(identifier) = reference.key_identifier {
        look_at_identifier(reference, identifier, findings);
    }
    if let Some(data) = element.child(DS, "X509Data") {
        let serial = data.child(DS, "X509IssuerSerial");
        match serial.and_then(|serial| serial.child(DS, "X509IssuerName")) {
            None => {
                let found = data.first_child().map(|child| child.qualified_name());
                findings.add("R5209", data, "a ds:X509IssuerSerial", quoted(found));
            }
            Some(name) => {
                let text = name.text();
                if text.trim().is_empty() || DistinguishedName::parse(text.trim()).is_err() {
                    let expected = "a name as RFC 4514 writes it";
                    findings.add("R5409", name, expected, quoted(Some(&text)));
                }
            }
        }
    }
}

fn look_at_identifier(
    reference: &TokenReference<'_>,
    identifier: Element<'_>,
    findings: &mut Findings,
) {
    let value = identifier.attribute("", "ValueType");
    let bytes = base64::decode_xml_to_vec(identifier.text().as_bytes());
    let bytes = bytes.ok().filter(|bytes| !bytes.is_empty());
    match value.as_deref() {
        Some(SUBJECT_KEY_IDENTIFIER) if bytes.is_none() => {
            findings.add(
                "R5208",
                identifier,
                "base64",
                quoted(Some(&identifier.text())),
            );
        }
        Some(THUMBPRINT) => {
            let length = bytes.map_or(0, |bytes| bytes.len());
            if length != SHA1 {
                let found = format!("{length} bytes");
                findings.add("R5210", identifier, "a SHA-1 of 20 bytes in base64", found);
            }
        }
        Some(SUBJECT_KEY_IDENTIFIER) | None => {}
        Some(other) => {
            let is_x509 = other.starts_with(X509_PROFILE) || reference.token == Some(Token::X509);
            if is_x509 {
                let expected = "#X509SubjectKeyIdentifier or #ThumbprintSHA1";
                findings.add("R5206", identifier, expected, quoted(Some(other)));
            }
        }
    }
}
