//! Whether a message holds content that anybody can read: in its Body, in a header block, as a
//! password.
//!
//! The rule kept here: what is not known to be free of content holds some.

use soapstone::mime::{MediaType, Package, Part, attachment_named};
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
        Ok(Some(package)) => is_free_package(&package, message),
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

/// A package whose parts are named as cipher text by its message, and whose fields say no more than
/// what they are.
fn is_free_package(package: &Package<'_>, message: &[u8]) -> bool {
    let Some((related, _)) = &package.related else {
        // A recorded message of HTTP, with fields that nobody looks at.
        return false;
    };
    package.outside.is_none()
        && has_one_field(message)
        && related.parameters().all(|parameter| match parameter {
            ("type", value) => is_of_soap(&value.to_ascii_lowercase()),
            (name, _) => matches!(name, "boundary" | "start" | "action"),
        })
        && is_free_header(&package.root, |media_type| {
            let known = |(name, value): (&str, &str)| match name {
                "charset" => value.eq_ignore_ascii_case("utf-8"),
                name => name == "action",
            };
            is_of_soap(media_type.essence()) && media_type.parameters().all(known)
        })
        && is_free_document(package.root.content, |root| {
            let named: Vec<Vec<u8>> = root
                .descendants()
                .filter(|element| element.is(XENC, "CipherReference"))
                .filter_map(|reference| attachment_named(&reference.attribute("", "URI")?))
                .collect();
            let is_free_part = |part: &Part<'_>| {
                let id = part.id().unwrap_or_default().as_bytes();
                let has_none = |it: &MediaType| it.parameters().next().is_none();
                named.iter().any(|named| named == id) && is_free_header(part, has_none)
            };
            is_free(root) && package.attachments.iter().all(is_free_part)
        })
}

fn is_of_soap(essence: &str) -> bool {
    matches!(essence, "text/xml" | "application/soap+xml")
}

/// Whether a file begins with `Content-Type`, in one line, and no other field but the version of
/// MIME, as the gateway writes it.
fn has_one_field(message: &[u8]) -> bool {
    let rest = message.strip_prefix(b"MIME-Version: 1.0\r\n");
    let mut lines = rest.unwrap_or(message).split(|byte| *byte == b'\n');
    let first = lines.next().unwrap_or_default();
    let name = first.split(|byte| *byte == b':').next();
    name.is_some_and(|name| name.eq_ignore_ascii_case(b"Content-Type"))
        && first.ends_with(b"\r")
        && lines.next() == Some(b"\r")
}

/// Whether fields of a part are known to say no more than what it is.
fn is_free_header(part: &Part<'_>, is_free: impl FnOnce(&MediaType) -> bool) -> bool {
    const FIELDS: [&str; 3] = ["Content-ID", "Content-Type", "Content-Transfer-Encoding"];
    const ENCODINGS: [&str; 4] = ["7bit", "8bit", "binary", "base64"];
    let is_known = |name: &str| FIELDS.iter().any(|known| name.eq_ignore_ascii_case(known));
    part.header.names().all(is_known)
        && ENCODINGS.contains(&part.encoding().as_str())
        && part.media_type().as_ref().is_some_and(is_free)
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
        for field in [
            "Content-Type: application/octet-stream; name=\"dismissals\"\r\n",
            "X-Note: dismissals\r\n",
            "Content-Transfer-Encoding: dismissals\r\n",
            "Content-Transfer-Encoding: quoted-printable\r\n",
        ] {
            assert!(package("one@x", field), "{field}");
        }
        let binary =
            "content-transfer-encoding: Binary\r\nContent-Type: application/octet-stream\r\n";
        assert!(!package("one@x", binary));
        assert!(holds_content(
            b"Content-Type: multipart/related; boundary=b\r\n\r\n--b"
        ));
    }

    #[test]
    fn fields_around_cipher_text_are_content_unless_they_are_known() {
        let envelope = format!(
            "<s:Envelope xmlns:s=\"{SOAP11}\" xmlns:x=\"{XENC}\"><s:Body>{DATA}</s:Body></s:Envelope>"
        );
        let holds = |head: &str, root: &str| {
            let text = format!("{head}\r\n\r\n--b\r\n{root}\r\n{envelope}\r\n--b--\r\n");
            holds_content(text.as_bytes())
        };
        let head = "Content-Type: multipart/related; type=\"text/xml\"; boundary=b";
        let root = "Content-Type: text/xml; charset=UTF-8; action=\"urn:a\"\r\n";
        assert!(!holds(head, root));
        assert!(!holds(
            &format!("{head}; start=\"<r@x>\"; action=\"urn:a\""),
            &format!("Content-ID: <r@x>\r\n{root}")
        ));
        let versioned = format!("MIME-Version: 1.0\r\n{head}");
        assert!(!holds(&versioned, root));
        let versioned = format!("MIME-Version: 1.0 (secret)\r\n{head}");
        assert!(holds(&versioned, root));
        for more in [
            "; name=secret",
            "; start-info=secret",
            "\r\nX-Note: secret",
            ";\r\n x=secret",
        ] {
            assert!(holds(&format!("{head}{more}"), root), "{more}");
        }
        for root in [
            "Content-Type: text/xml; name=secret\r\n",
            "Content-Type: text/xml; charset=secret\r\n",
            "Content-Type: text/xml\r\nX-Note: secret\r\n",
            "Content-Type: text/xml\r\nContent-Description: secret\r\n",
        ] {
            assert!(holds(head, root), "{root}");
        }
        for head in [
            "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nX-Note: secret",
            "Content-Type: text/xml\r\nX-Note: secret",
            "Content-Type: text/xml; name=secret",
        ] {
            let text = format!("{head}\r\n\r\n{envelope}");
            assert!(holds_content(text.as_bytes()), "{head}");
        }
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
