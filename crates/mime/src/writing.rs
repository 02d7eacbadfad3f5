//! Packages, written.
//!
//! The rule kept here: a boundary is drawn when all parts are known, so that no part can hold it.

use soapstone_crypto::{hexadecimal, random};

use crate::attachment::{FIELDS, Message};
use crate::media_type::MediaType;

/// What stands around a message that is packaged.
#[derive(Clone, Copy, Debug)]
pub struct Packaging<'a> {
    /// The `Content-Type` of the envelope, with its parameters.
    pub root_type: &'a str,
    /// Further parameters of the package, by name and value, such as `action` and `start-info`.
    pub parameters: &'a [(&'a str, &'a str)],
}

/// A message as it travels.
#[derive(Debug)]
pub struct Packaged {
    /// Its `Content-Type`.
    pub content_type: String,
    /// All parts.
    pub body: Vec<u8>,
}

impl Packaged {
    /// The package as a file, with its header.
    pub fn into_file(self) -> Vec<u8> {
        let header = format!(
            "MIME-Version: 1.0\r\nContent-Type: {}\r\n\r\n",
            self.content_type
        );
        let mut file = Vec::with_capacity(header.len() + self.body.len());
        file.extend_from_slice(header.as_bytes());
        file.extend_from_slice(&self.body);
        file
    }
}

impl Packaging<'_> {
    /// Writes a package (RFC 2387): the envelope first, then its attachments.
    pub fn write(&self, message: &Message) -> Packaged {
        let drawn = hexadecimal::encode(&random::bytes::<16>());
        let (boundary, root) = (format!("part-{drawn}"), format!("root-{drawn}@soapstone"));
        let essence = self.root_type.split(';').next().unwrap_or_default().trim();
        let mut content_type = format!(
            "multipart/related; type=\"{essence}\"; start=\"<{root}>\"; boundary=\"{boundary}\""
        );
        for (name, value) in self.parameters {
            content_type.push_str(&format!("; {name}={}", quoted(value)));
        }
        let contents = message.parts.iter().map(|part| part.content().len() + 512);
        let mut body = Vec::with_capacity(contents.sum::<usize>() + message.root.len() + 512);
        let fields = format!(
            "Content-Type: {}\r\nContent-ID: <{root}>\r\n",
            self.root_type
        );
        add(&boundary, &fields, &message.root, &mut body);
        for part in &message.parts {
            let fields = FIELDS
                .iter()
                .filter_map(|name| Some((*name, part.field(name)?)));
            let fields = fields.map(|(name, value)| format!("{name}: {value}\r\n"));
            add(
                &boundary,
                &fields.collect::<String>(),
                part.content(),
                &mut body,
            );
        }
        body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        Packaged { content_type, body }
    }
}

fn add(boundary: &str, fields: &str, content: &[u8], body: &mut Vec<u8>) {
    let head = format!("--{boundary}\r\n{fields}Content-Transfer-Encoding: binary\r\n\r\n");
    body.extend_from_slice(head.as_bytes());
    body.extend_from_slice(content);
    body.extend_from_slice(b"\r\n");
}

/// A value between quotes (RFC 2045, 5.1).
fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Whether a `Content-Type` is of a package.
pub fn is_multipart(content_type: &str) -> bool {
    MediaType::parse(content_type).is_some_and(|it| it.is("multipart/related"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attachment::Attachment;
    use crate::package::Package;

    #[test]
    fn a_package_reads_back() {
        let one = Attachment::new(
            "a+b@x",
            "text/plain; charset=utf-8",
            b"--b\r\n\r\n".to_vec(),
        );
        let one = one.and_then(|one| one.with_field("Content-Disposition", "inline"));
        let two = Attachment::new("two@x", "application/octet-stream", Vec::new());
        let message = Message {
            root: b"<a/>\n".to_vec(),
            parts: vec![one.expect("an attachment"), two.expect("an attachment")],
        };
        let packaging = Packaging {
            root_type: "application/soap+xml; charset=utf-8",
            parameters: &[("action", "urn:\"a\"")],
        };
        let packaged = packaging.write(&message);
        assert!(is_multipart(&packaged.content_type));
        let announced = MediaType::parse(&packaged.content_type).expect("a media type");
        assert_eq!(announced.parameter("type"), Some("application/soap+xml"));
        assert_eq!(announced.parameter("action"), Some("urn:\"a\""));
        let file = packaged.into_file();
        let read = Package::read(&file).expect("a package").expect("a header");
        let read = read.into_message().expect("a message");
        assert_eq!(read.root, message.root);
        for (read, written) in read.parts.iter().zip(&message.parts) {
            assert_eq!(
                (read.id(), read.content()),
                (written.id(), written.content())
            );
            assert_eq!(read.canonical_header(), written.canonical_header());
        }
        assert_eq!(read.parts.len(), 2);
    }
}
