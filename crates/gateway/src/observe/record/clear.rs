//! Whether a message holds content that anybody can read: in its Body, in a header block, as a
//! password.
//!
//! The rule kept here: what is not known to be free of content holds some.

use soapstone::wss::names::{DS, PASSWORD_DIGEST, SOAP11, SOAP12, WSSE, WSSE11, WSU, XENC};
use soapstone::xml::{Buffers, Document, Element, ParseOptions};

/// Namespaces of WS-Addressing, whose headers say where a message goes.
const ADDRESSING: [&str; 2] = [
    "http://www.w3.org/2005/08/addressing",
    "http://schemas.xmlsoap.org/ws/2004/08/addressing",
];

/// Whether a message holds content in the clear, or cannot be read.
pub(super) fn holds_content(message: &[u8]) -> bool {
    let parsed = Document::parse(
        message.to_vec(),
        &ParseOptions::default(),
        &mut Buffers::new(),
    );
    !parsed.is_ok_and(|document| is_free(document.root()))
}

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
