//! References that are written like one before them.
//!
//! Where many parts are signed, their references differ in nothing but what they name and its
//! digest. Such a reference is compared byte by byte with one that was read, instead of being
//! read. The one rule: equal bytes in one parent have one meaning. Both references are children of
//! the same `SignedInfo` with no graft in it, so that every prefix means in one what it means in
//! the other, and what differs is text without markup, references to characters or white space, in
//! which nothing can hide.

use std::sync::Arc;

use soapstone_crypto::{Digest, DigestAlgorithm, base64};
use soapstone_xml::{Element, NodeId};

use super::reference::Reference;
use super::transform::Transform;
use crate::namespaces::DSIG;

/// How one reference is written around its `URI` and its digest, and what was read of it.
pub(super) struct ReferenceTemplate<'d> {
    before_uri: &'d [u8],
    between: &'d [u8],
    digest_length: usize,
    behind: &'d [u8],
    kind: Option<String>,
    transforms: Arc<[Transform]>,
    digest_method: DigestAlgorithm,
    /// Memory of a digest that is decoded.
    digest: Vec<u8>,
}

impl<'d> ReferenceTemplate<'d> {
    /// How `reference` is written, of which `read` was read; `None` if it is not written as nearly
    /// all are: `URI` first, the digest on one line, no `Id`, and no transform with parameters
    /// of its own.
    pub(super) fn of(reference: Element<'d>, read: &Reference) -> Option<Self> {
        let has_parameters = |transform: &Transform| matches!(transform, Transform::Other { .. });
        if read.id.is_some() || read.transforms.iter().any(has_parameters) {
            return None;
        }
        let document = reference.document();
        let source = document.source(reference.id())?;
        let uri = reference.attributes().next()?;
        let before_uri = 1 + reference.qualified_name().len() + " URI='".len();
        let before_end = source.get(..before_uri)?;
        let quoted = before_end
            .strip_suffix(b"\"")
            .or(before_end.strip_suffix(b"'"))?;
        if uri.qualified_name() != "URI" || !quoted.ends_with(b" URI=") {
            return None;
        }
        let value = reference.child(DSIG, "DigestValue")?;
        let digest_at = (value.start_tag_range().end - reference.range().start) as usize;
        let digest_length = document.content_source(value.id())?.len();
        if digest_length != base64::encoded_length(read.digest_method.output_length()) {
            return None;
        }
        Some(Self {
            before_uri: before_end,
            between: source.get(before_uri + uri.written().len()..digest_at)?,
            digest_length,
            behind: source.get(digest_at + digest_length..)?,
            kind: read.kind.clone(),
            transforms: Arc::clone(&read.transforms),
            digest_method: read.digest_method,
            digest: Vec::new(),
        })
    }

    /// Reads a sibling of the reference that the template was made of; `None` if it is written in
    /// another way.
    pub(super) fn read(&mut self, reference: Element<'d>, signature: NodeId) -> Option<Reference> {
        let source = reference.document().source(reference.id())?;
        let rest = source.strip_prefix(self.before_uri)?;
        let rest = rest.strip_suffix(self.behind)?;
        let (rest, digest) = rest.split_at_checked(rest.len().checked_sub(self.digest_length)?)?;
        let uri = rest.strip_suffix(self.between)?;
        let plain = |octet: &u8| !matches!(octet, 0..=b' ' | b'"' | b'&' | b'\'' | b'<');
        if !uri.iter().all(plain) {
            return None;
        }
        let uri = std::str::from_utf8(uri).ok()?.to_owned();
        self.digest.clear();
        base64::decode(digest, &mut self.digest).ok()?;
        if self.digest.len() != self.digest_method.output_length() {
            return None;
        }
        Some(Reference {
            node: reference.id(),
            signature,
            id: None,
            uri: Some(uri),
            kind: self.kind.clone(),
            transforms: Arc::clone(&self.transforms),
            digest_method: self.digest_method,
            digest_value: Digest::of_octets(&self.digest)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use soapstone_xml::{Buffers, Document, ParseOptions};

    use super::super::{Rules, Signature, SignatureError};
    use super::*;
    use crate::namespaces::DSIG;

    const FIRST: &str = "<ds:Reference URI=\"#a\" Type=\"urn:t\"><ds:Transforms><ds:Transform Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"><ec:InclusiveNamespaces xmlns:ec=\"http://www.w3.org/2001/10/xml-exc-c14n#\" PrefixList=\"x\"/></ds:Transform></ds:Transforms><ds:DigestMethod Algorithm=\"http://www.w3.org/2000/09/xmldsig#sha1\"/><ds:DigestValue>AAAAAAAAAAAAAAAAAAAAAAAAAAA=</ds:DigestValue></ds:Reference>";

    /// The second reference of a signature with `FIRST` and `second`.
    struct Second {
        /// As the signature has it.
        together: Result<Reference, SignatureError>,
        /// As it is when it is read alone.
        alone: Result<Reference, SignatureError>,
        /// Whether it is written like the first.
        alike: bool,
    }

    impl Second {
        /// `None` if that is no document, or has no second reference.
        fn of(second: &[u8]) -> Option<Self> {
            let mut text = format!("<ds:Signature xmlns:ds=\"{DSIG}\"><ds:SignedInfo><ds:CanonicalizationMethod Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"/><ds:SignatureMethod Algorithm=\"http://www.w3.org/2000/09/xmldsig#hmac-sha1\"/>{FIRST}").into_bytes();
            text.extend_from_slice(second);
            text.extend_from_slice(
                b"</ds:SignedInfo><ds:SignatureValue>AA==</ds:SignatureValue></ds:Signature>",
            );
            let document =
                Document::parse(text, &ParseOptions::default(), &mut Buffers::new()).ok()?;
            let root = document.root();
            let mut references = root.first_child()?.children().skip(2);
            let first = references.next()?;
            let node = references
                .next()
                .filter(|node| node.is(DSIG, "Reference") && references.next().is_none())?;
            let rules = Rules::default();
            let read = Reference::parse(first, root.id(), &rules).expect("a reference");
            let mut template =
                ReferenceTemplate::of(first, &read).expect("written as nearly all are");
            let signature = Signature::parse(&document, root.id(), &rules);
            Some(Self {
                together: signature.map(|mut signature| {
                    assert_eq!(signature.references.len(), 2);
                    signature.references.remove(1)
                }),
                alone: Reference::parse(node, root.id(), &rules),
                alike: template.read(node, root.id()).is_some(),
            })
        }
    }

    /// Whether both readings are the same one, and no error; whether it is alike.
    fn assert_same(second: &[u8]) -> (bool, bool) {
        let Some(found) = Second::of(second) else {
            return (false, false);
        };
        assert_eq!(
            format!("{:?}", found.together),
            format!("{:?}", found.alone),
            "{}",
            String::from_utf8_lossy(second)
        );
        (found.together.is_ok(), found.alike)
    }

    #[test]
    fn a_reference_behind_another_is_what_it_is_alone_whatever_octet_of_it_is_changed() {
        let another = FIRST.replace("#a", "#another").replace("AAAA=", "BBBA=");
        assert_eq!(assert_same(another.as_bytes()), (true, true));
        let (mut read, mut refused) = (0, 0);
        for at in 0..FIRST.len() {
            for change in [
                &b""[..],
                b"B",
                b"&#66;",
                b"&amp;",
                b" ",
                b"\t",
                b"\n",
                b"'",
                b"\"",
                b"<",
                b">",
                b"=",
                b"/",
                b"<!---->",
                b"\xc3\xa9",
                b"x=''",
            ] {
                for keep in [0, 1] {
                    let mut second = FIRST.as_bytes().to_vec();
                    second.splice(at..at + 1 - keep, change.iter().copied());
                    match assert_same(&second) {
                        (true, _) => read += 1,
                        (false, _) => refused += 1,
                    }
                }
            }
        }
        assert!(read > 500 && refused > 5_000, "{read} {refused}");
    }

    #[test]
    fn references_that_say_the_same_in_other_words_are_read_in_full() {
        for (from, to) in [
            ("URI=\"#a\" Type=\"urn:t\"", "Type=\"urn:t\" URI=\"#a\""),
            ("URI=\"#a\"", "Id=\"i\" URI=\"#a\""),
            ("URI=\"#a\"", "URI='#a'"),
            ("URI=\"#a\"", "URI=\"&#x23;a\""),
            ("URI=\"#a\" ", ""),
            ("AAA=", "AAA=\n"),
            ("AAA=", "AAA&#61;"),
            ("<ds:Reference ", "<ds:Reference xmlns:x=\"urn:x\" "),
            ("PrefixList=\"x\"", "PrefixList=\"y\""),
        ] {
            let second = FIRST.replace(from, to);
            assert_ne!(second, FIRST);
            assert_eq!(assert_same(second.as_bytes()), (true, false), "{second}");
        }
    }
}
