//! Whether a message holds content that anybody can read: in its Body, in a header block, as a
//! password.
//!
//! The rule kept here: what is not known to be free of content holds some.

use soapstone::mime::{Package, Part, attachment_named};
use soapstone::wss::names::{DS, PASSWORD_DIGEST, SOAP11, SOAP12, WSSE, WSSE11, WSU, XENC};
use soapstone::xml::{Buffers, Document, Element, ParseOptions};

/// Namespaces of WS-Addressing, whose headers say where a message goes.
const ADDRESSING: [&str; 2] = [
    "http://www.w3.org/2005/08/addressing",
    "http://schemas.xmlsoap.org/ws/2004/08/addressing",
];

/// Whether a message holds content in the clear, or cannot be read.
pub(super) fn holds_content(message: &[u8]) -> bool {
    !match Package::read(message) {
        Ok(None) => is_free_document(message, is_free),
        Ok(Some(package)) => is_free_package(&package),
        Err(_) => false,
    }
}

fn is_free_document(message: &[u8], is_free: impl FnOnce(Element<'_>) -> bool) -> bool {
    let parsed = Document::parse(
        message.to_vec(),
        &ParseOptions::default(),
        &mut Buffers::new(),
    );
    parsed.is_ok_and(|document| is_free(document.root()))
}

/// A package whose parts are named as cipher text by its message, and whose headers say no more
/// than what they are.
fn is_free_package(package: &Package<'_>) -> bool {
    package.outside.is_none()
        && is_free_document(package.root.content, |root| {
            let named: Vec<Vec<u8>> = root
                .descendants()
                .filter(|element| element.is(XENC, "CipherReference"))
                .filter_map(|reference| attachment_named(&reference.attribute("", "URI")?))
                .collect();
            let is_free_part = |part: &Part<'_>| {
                let says = |field: &&str| part.header.field(field).is_some();
                let id = part.id().unwrap_or_default().as_bytes();
                named.iter().any(|named| named == id) && !TELLING.iter().any(says)
            };
            is_free(root) && package.attachments.iter().all(is_free_part)
        })
}

/// Fields of parts that say something of the content.
const TELLING: [&str; 3] = [
    "Content-Description",
    "Content-Disposition",
    "Content-Location",
];

fn is_free(root: Element<'_>) -> bool {
    let soap = root.namespace();
    let is_envelope = matches!(soap, SOAP11 | SOAP12) && root.local() == "Envelope";
    let mut parts = root.children();
    is_envelope
        && parts.all(|part| match part.local() {
            "Header" if part.namespace() == soap => part.children().all(is_free_block),
            "Body" if part.namespace() == soap => {
                is_blank(part)
                    && part
                        .children()
                        .all(|inside| inside.is(XENC, "EncryptedData"))
            }
            _ => false,
        })
}

fn is_free_block(block: Element<'_>) -> bool {
    match (block.namespace(), block.local()) {
        (WSSE, "Security") => block.children().all(is_free_item),
        (WSSE11, "EncryptedHeader") => block
            .children()
            .all(|inside| inside.is(XENC, "EncryptedData")),
        (namespace, _) => ADDRESSING.contains(&namespace),
    }
}

/// An item of `wsse:Security`: no assertion, and no password as it is.
fn is_free_item(item: Element<'_>) -> bool {
    match (item.namespace(), item.local()) {
        (WSSE, "UsernameToken") => {
            let password = item.child(WSSE, "Password");
            let kind = password.map(|password| password.attribute("", "Type"));
            kind.is_none_or(|kind| kind.as_deref() == Some(PASSWORD_DIGEST))
        }
        (WSSE, "BinarySecurityToken" | "SecurityTokenReference") => true,
        (WSU, "Timestamp") | (DS, "Signature") | (WSSE11, "SignatureConfirmation") => true,
        (XENC, "EncryptedKey" | "EncryptedData" | "ReferenceList") => true,
        (_, local) => matches!(local, "DerivedKeyToken" | "SecurityContextToken"),
    }
}

/// Whether an element has no text of its own but white space.
fn is_blank(element: Element<'_>) -> bool {
    element.text().trim_ascii().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(header: &str, body: &str) -> bool {
        let message = format!(
            "<s:Envelope xmlns:s=\"{SOAP11}\" xmlns:w=\"{WSSE}\" xmlns:x=\"{XENC}\" xmlns:d=\"{DS}\">\
             <s:Header>{header}</s:Header><s:Body>{body}</s:Body></s:Envelope>"
        );
        holds_content(message.as_bytes())
    }

    const DATA: &str = "<x:EncryptedData/>";

    #[test]
    fn cipher_text_and_addresses_are_no_content() {
        assert!(!holds("", DATA));
        let to = "<a:To xmlns:a=\"http://www.w3.org/2005/08/addressing\">urn:x</a:To>";
        assert!(!holds(to, DATA));
        assert!(!holds(
            "<w:Security><x:EncryptedKey/><d:Signature/></w:Security>",
            DATA
        ));
    }

    #[test]
    fn a_package_is_free_whose_parts_are_named_as_cipher_text() {
        let package = |named: &str, field: &str| {
            let data = format!(
                "<x:EncryptedData><x:CipherData><x:CipherReference URI=\"cid:{named}\"/></x:CipherData></x:EncryptedData>"
            );
            let root = format!(
                "<s:Envelope xmlns:s=\"{SOAP11}\" xmlns:w=\"{WSSE}\" xmlns:x=\"{XENC}\">\
                 <s:Header><w:Security>{data}</w:Security></s:Header><s:Body/></s:Envelope>"
            );
            let text = format!(
                "Content-Type: multipart/related; type=\"text/xml\"; boundary=b\r\n\r\n\
                 --b\r\nContent-Type: text/xml\r\n\r\n{root}\r\n\
                 --b\r\nContent-ID: <one@x>\r\n{field}\r\nbytes\r\n--b--\r\n"
            );
            holds_content(text.as_bytes())
        };
        assert!(!package("one@x", ""));
        assert!(package("two@x", ""));
        assert!(package(
            "one@x",
            "Content-Disposition: attachment; filename=\"dismissals\"\r\n"
        ));
        assert!(holds_content(
            b"Content-Type: multipart/related; boundary=b\r\n\r\n--b"
        ));
    }

    #[test]
    fn everything_else_is() {
        assert!(holds("", "<order/>"));
        assert!(holds("", "text<x:EncryptedData/>"));
        assert!(holds("<t:trace xmlns:t=\"urn:t\">7</t:trace>", DATA));
        let password = "<w:Security><w:UsernameToken><w:Password>p</w:Password></w:UsernameToken></w:Security>";
        assert!(holds(password, DATA));
        let assertion = "<w:Security><saml:Assertion xmlns:saml=\"urn:oasis:names:tc:SAML:2.0:assertion\"/></w:Security>";
        assert!(holds(assertion, DATA));
        assert!(holds_content(b"<s:Envelope"));
        assert!(holds_content(b"<order/>"));
    }
}
