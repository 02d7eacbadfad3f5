//! Filling in the `ds:KeyInfo` of a template, as `xmlsec1` does: empty elements say what is wanted.
//!
//! The one rule: what the template's author wrote stays; only empty elements are filled.

use soapstone_crypto::{Certificate, DigestAlgorithm, PublicKey, base64, digest};
use soapstone_xml::{Document, Element, NodeId, escape};

use super::edit::Edits;
use super::error::GenericError;
use super::key::Key;
use soapstone_xmlsec::namespaces::{DSIG, DSIG11};

/// `octets` in base64, in lines of `line` characters (0: one line).
pub(super) fn base64_lines(octets: &[u8], line: usize) -> Vec<u8> {
    let text = base64::encode(octets).into_bytes();
    if line == 0 || text.len() <= line {
        return text;
    }
    text.chunks(line).collect::<Vec<_>>().join(&b'\n')
}

/// Fills the empty children of `key_info` with what they ask of `key`.
pub(super) fn fill_key_info(
    document: &Document,
    key_info: NodeId,
    key: &Key,
    line: usize,
    edits: &mut Edits,
) -> Result<(), GenericError> {
    for child in document.element(key_info).children() {
        match (child.namespace(), child.local()) {
            (DSIG, "KeyName") if is_empty(child) => {
                if let Some(name) = &key.name {
                    let mut text = Vec::new();
                    escape::text(name, &mut text);
                    edits.replace_content(document, child.id(), &text);
                }
            }
            (DSIG, "KeyValue") if is_empty(child) => {
                if let Some(public) = key.public_key() {
                    edits.replace_content(
                        document,
                        child.id(),
                        key_value(child, public, line).as_bytes(),
                    );
                }
            }
            (DSIG11, "DEREncodedKeyValue") if is_empty(child) => {
                if let Some(public) = key.public_key() {
                    edits.replace_content(
                        document,
                        child.id(),
                        &base64_lines(public.spki_der(), line),
                    );
                }
            }
            (DSIG, "X509Data") => fill_x509(document, child, &key.certificates, line, edits)?,
            _ => {}
        }
    }
    Ok(())
}

fn fill_x509(
    document: &Document,
    data: Element<'_>,
    certificates: &[Certificate],
    line: usize,
    edits: &mut Edits,
) -> Result<(), GenericError> {
    let Some(own) = certificates.first() else {
        return Ok(());
    };
    let whole_path = || {
        let elements: Vec<String> = certificates
            .iter()
            .map(|certificate| element(data, "X509Certificate", &text(certificate.der(), line)))
            .collect();
        elements.join("\n").into_bytes()
    };
    if is_empty(data) {
        edits.replace_content(document, data.id(), &whole_path());
        return Ok(());
    }
    for child in data
        .children()
        .filter(|child| is_empty(*child) || child.is(DSIG, "X509IssuerSerial"))
    {
        let content = match (child.namespace(), child.local()) {
            (DSIG, "X509Certificate") => {
                edits.replace(document, child.id(), whole_path());
                continue;
            }
            (DSIG, "X509SubjectName") => escape::text_of(own.subject()),
            (DSIG, "X509IssuerSerial") if child.children().all(is_empty) => {
                let name = element(child, "X509IssuerName", &escape::text_of(own.issuer()));
                name + &element(child, "X509SerialNumber", own.serial_decimal())
            }
            (DSIG, "X509SKI") => text(own.ski(), line),
            (DSIG11, "X509Digest") => {
                let algorithm = child
                    .attribute("", "Algorithm")
                    .and_then(|uri| DigestAlgorithm::from_uri(&uri));
                let algorithm = algorithm.ok_or(GenericError::Template {
                    reason: "`dsig11:X509Digest` needs the `Algorithm` of a known digest",
                })?;
                text(digest(algorithm, own.der())?.as_ref(), line)
            }
            _ => continue,
        };
        edits.replace_content(document, child.id(), content.as_bytes());
    }
    Ok(())
}

/// The content of an empty `ds:KeyValue`.
fn key_value(parent: Element<'_>, key: &PublicKey, line: usize) -> String {
    if let Some((modulus, exponent)) = key.rsa_components() {
        let numbers = element(parent, "Modulus", &text(modulus, line))
            + &element(parent, "Exponent", &text(exponent, line));
        element(parent, "RSAKeyValue", &numbers)
    } else if let Some(numbers) = key.dsa_components() {
        let numbers: String = ["P", "Q", "G", "Y"]
            .into_iter()
            .zip(numbers)
            .map(|(name, number)| element(parent, name, &text(number, line)))
            .collect();
        element(parent, "DSAKeyValue", &numbers)
    } else if let Some((curve, point)) = key.ec_components() {
        format!(
            "<ECKeyValue xmlns=\"{DSIG11}\"><NamedCurve URI=\"{}\"/><PublicKey>{}</PublicKey></ECKeyValue>",
            curve.uri(),
            text(point, line)
        )
    } else {
        String::new()
    }
}

/// `local` in the namespace of `like`, with its prefix.
fn element(like: Element<'_>, local: &str, content: &str) -> String {
    match like.prefix() {
        "" => format!("<{local}>{content}</{local}>"),
        prefix => format!("<{prefix}:{local}>{content}</{prefix}:{local}>"),
    }
}

fn text(octets: &[u8], line: usize) -> String {
    String::from_utf8(base64_lines(octets, line)).unwrap_or_default()
}

/// Whether an element has no child and no text but white space.
pub(super) fn is_empty(element: Element<'_>) -> bool {
    element.first_child().is_none() && element.text().trim().is_empty()
}

/// Whether nothing at all is written in a `ds:KeyInfo`: then it names no key.
pub(super) fn names_nothing(key_info: Element<'_>) -> bool {
    key_info
        .descendants()
        .all(|element| element.first_child().is_some() || element.text().trim().is_empty())
}
