//! A SOAP envelope: shape only, no security yet.
//!
//! [`Envelope::parse`] finds the parts every later step speaks of and refuses what no honest SOAP
//! stack sends: a DTD, ids that occur twice, a second Body, anything after the Body. What it
//! returns says nothing about who sent it.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use soapstone_mime::Attachment;
use soapstone_xml::{Buffers, Document, Element, IdAttributes, Limits, NodeId, ParseOptions};

use crate::envelope_error::EnvelopeError;
use crate::names::{
    NEXT, NEXT_11, NEXT_12, SOAP11, SOAP12, ULTIMATE_RECEIVER, WSSE, WSSE_2002, WSSE11,
};
use crate::recognize::LOOKED_AT;
use crate::rejected::Rejected;

/// Version of the SOAP envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SoapVersion {
    /// SOAP 1.1.
    V11,
    /// SOAP 1.2.
    V12,
}

impl SoapVersion {
    /// The envelope's namespace.
    pub const fn namespace(self) -> &'static str {
        match self {
            Self::V11 => SOAP11,
            Self::V12 => SOAP12,
        }
    }

    /// Media type of a message in this version.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::V11 => "text/xml",
            Self::V12 => "application/soap+xml",
        }
    }

    /// The attribute that says which node a header block is for.
    pub const fn actor_attribute(self) -> &'static str {
        match self {
            Self::V11 => "actor",
            Self::V12 => "role",
        }
    }

    /// The actor or role of whichever node a message reaches next.
    pub const fn next_role(self) -> &'static str {
        match self {
            Self::V11 => NEXT_11,
            Self::V12 => NEXT_12,
        }
    }

    /// The actor or role that a policy names: `next` is another URI in each version.
    pub(crate) fn role(self, named: &str) -> &str {
        match named {
            NEXT => self.next_role(),
            uri => uri,
        }
    }
}

impl fmt::Display for SoapVersion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::V11 => "SOAP 1.1",
            Self::V12 => "SOAP 1.2",
        })
    }
}

/// Where header blocks go.
pub(crate) struct HeaderRoom {
    /// In whose place of the source they are put.
    pub(crate) place: Range<usize>,
    /// What has to stand before and behind them there.
    pub(crate) before: Vec<u8>,
    pub(crate) behind: Vec<u8>,
}

/// A well-formed, bounded SOAP envelope with unambiguous ids.
#[derive(Debug)]
pub struct Envelope {
    pub(crate) document: Document,
    pub(crate) options: ParseOptions,
    /// What travels beside it; none of a message that is no package.
    pub(crate) attachments: Box<[Attachment]>,
    /// Most bytes of them together, as they come and in canonical form.
    pub(crate) attachment_bytes: usize,
    version: SoapVersion,
    header: Option<NodeId>,
    body: NodeId,
}

/// What makes a document an envelope.
struct Shape {
    version: SoapVersion,
    header: Option<NodeId>,
    body: NodeId,
}

impl Shape {
    fn of(document: &Document) -> Result<Self, EnvelopeError> {
        if !is_version_1_0(document.bytes()) {
            let found = "XML of another version than 1.0";
            return Err(EnvelopeError::NotXml { found });
        }
        if let Some(duplicate) = document.duplicate_id() {
            return Err(EnvelopeError::DuplicateId(duplicate));
        }
        let root = document.root();
        let version = match (root.namespace(), root.local()) {
            (SOAP11, "Envelope") => SoapVersion::V11,
            (SOAP12, "Envelope") => SoapVersion::V12,
            _ => {
                return Err(EnvelopeError::NotAnEnvelope {
                    found: expanded_name(root),
                });
            }
        };
        let mut header = None;
        let mut body = None;
        for child in root.children() {
            let ours = child.namespace() == version.namespace() && body.is_none();
            match child.local() {
                "Header" if ours && header.is_none() => header = Some(child.id()),
                "Body" if ours => body = Some(child.id()),
                _ => {
                    return Err(EnvelopeError::UnexpectedChild {
                        found: expanded_name(child),
                        line: child.line_column().0,
                    });
                }
            }
        }
        let body = body.ok_or(EnvelopeError::BodyMissing)?;
        Ok(Self {
            version,
            header,
            body,
        })
    }
}

impl Envelope {
    /// Scans `bytes` once and finds Header and Body.
    ///
    /// ```
    /// use soapstone_wss::{Envelope, SoapVersion};
    /// use soapstone_xml::{Buffers, Limits};
    ///
    /// let bytes = br#"<Envelope xmlns="http://www.w3.org/2003/05/soap-envelope">
    ///     <Body/></Envelope>"#;
    /// let mut buffers = Buffers::default();
    /// let envelope = Envelope::parse(bytes.to_vec(), &Limits::default(), &mut buffers)?;
    /// assert_eq!(envelope.version(), SoapVersion::V12);
    /// # Ok::<(), soapstone_wss::EnvelopeError>(())
    /// ```
    pub fn parse(
        bytes: Vec<u8>,
        limits: &Limits,
        buffers: &mut Buffers,
    ) -> Result<Self, EnvelopeError> {
        Self::parse_with(bytes, limits, &[], buffers)
    }

    /// [Parses](Self::parse) a message in which attributes of these names, without a namespace, are
    /// ids on every element.
    ///
    /// # Errors
    /// As [`parse`](Self::parse). Two elements with one id are a duplicate, whichever attributes
    /// have it.
    pub fn parse_with(
        bytes: Vec<u8>,
        limits: &Limits,
        ids: &[&str],
        buffers: &mut Buffers,
    ) -> Result<Self, EnvelopeError> {
        let ids = ids.iter().fold(IdAttributes::with_lookalikes(), |all, id| {
            all.with(&format!("{{}}{id}"))
        });
        let options = ParseOptions {
            limits: limits.clone(),
            ids,
        };
        let mut beginning = [0; LOOKED_AT];
        let looked_at = bytes.len().min(LOOKED_AT);
        beginning[..looked_at].copy_from_slice(&bytes[..looked_at]);
        let document = match Document::parse(bytes, &options, buffers) {
            Ok(document) => document,
            Err(error) => {
                return Err(EnvelopeError::of_unread(&beginning[..looked_at], error));
            }
        };
        let Shape {
            version,
            header,
            body,
        } = Shape::of(&document)?;
        Ok(Self {
            document,
            options,
            attachments: Box::default(),
            attachment_bytes: 0,
            version,
            header,
            body,
        })
    }

    /// Whether [`parse`](Self::parse) takes a document for an envelope.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn check(document: &Document) -> Result<(), EnvelopeError> {
        Shape::of(document).map(drop)
    }

    /// The same envelope with the attachments of its message, of `limit` bytes at most together.
    /// The canonical forms that signatures are over are bounded by it, too.
    ///
    /// # Errors
    /// [`EnvelopeError::AttachmentRepeated`] where two have one Content-ID,
    /// [`EnvelopeError::AttachmentsTooLarge`].
    pub fn with_attachments(
        mut self,
        attachments: Vec<Attachment>,
        limit: usize,
    ) -> Result<Self, EnvelopeError> {
        let mut ids = HashSet::with_capacity(attachments.len());
        let mut left = limit;
        for one in &attachments {
            if !ids.insert(one.id()) {
                let id = one.id().to_owned();
                return Err(EnvelopeError::AttachmentRepeated { id });
            }
            let rest = left.checked_sub(one.content().len());
            left = rest.ok_or(EnvelopeError::AttachmentsTooLarge { limit })?;
        }
        self.attachments = attachments.into();
        self.attachment_bytes = limit;
        Ok(self)
    }

    /// The attachments of the message, as they came. Nothing of them is proven.
    pub fn attachments(&self) -> &[Attachment] {
        &self.attachments
    }

    /// SOAP version of the envelope.
    pub fn version(&self) -> SoapVersion {
        self.version
    }

    /// The `soap:Header`, if there is one.
    pub fn header(&self) -> Option<Element<'_>> {
        self.header.map(|header| self.document.element(header))
    }

    /// The `soap:Body`.
    pub fn body(&self) -> Element<'_> {
        self.document.element(self.body)
    }

    /// The envelope as a document.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Name of the operation that the Body asks for: its first child, `{namespace}local`.
    pub fn operation(&self) -> Option<String> {
        self.body().first_child().map(expanded_name)
    }

    /// The message, as it was read.
    pub fn into_bytes(self, buffers: &mut Buffers) -> Vec<u8> {
        self.document.into_bytes(buffers)
    }

    /// Gives the memory back for the next message.
    pub fn recycle(self, buffers: &mut Buffers) {
        self.document.recycle(buffers);
    }

    /// The message with `blocks`, in canonical form, put first into its `soap:Header`. For messages
    /// that nothing was grafted into.
    pub fn with_header_blocks(&self, blocks: &[u8], buffers: &mut Buffers) -> Vec<u8> {
        let source = self.document.bytes();
        let room = self.room_for_header();
        let added = room.before.len() + blocks.len() + room.behind.len();
        let mut bytes = buffers.take(source.len() + added);
        for piece in [
            &source[..room.place.start],
            &room.before,
            blocks,
            &room.behind,
            &source[room.place.end..],
        ] {
            bytes.extend_from_slice(piece);
        }
        bytes
    }

    /// Where blocks have to be put to come first in the `soap:Header`.
    pub(crate) fn room_for_header(&self) -> HeaderRoom {
        let source = self.document.bytes();
        match self.header() {
            Some(block) if is_self_closing(block, source) => {
                let place = range(block);
                let tag = &source[place.start..place.end - 2];
                HeaderRoom {
                    before: [tag, b">"].concat(),
                    behind: ["</", block.qualified_name(), ">"].concat().into_bytes(),
                    place,
                }
            }
            Some(block) => {
                let at = content(block, source).start;
                HeaderRoom {
                    place: at..at,
                    before: Vec::new(),
                    behind: Vec::new(),
                }
            }
            None => {
                let prefix = self.document.root().prefix();
                let colon = if prefix.is_empty() { "" } else { ":" };
                let at = range(self.body()).start;
                HeaderRoom {
                    place: at..at,
                    before: ["<", prefix, colon, "Header>"].concat().into_bytes(),
                    behind: ["</", prefix, colon, "Header>"].concat().into_bytes(),
                }
            }
        }
    }

    /// Checks that each `wsse11:EncryptedHeader` holds one element, which `is_right` judges (BSP
    /// 1.1, R3230): of several, receivers would take different ones for the header block.
    pub(crate) fn check_encrypted_headers(
        &self,
        is_right: impl Fn(Element<'_>) -> bool,
    ) -> Result<(), Rejected> {
        let blocks = self.header().into_iter().flat_map(|it| it.children());
        for block in blocks.filter(|block| block.is(WSSE11, "EncryptedHeader")) {
            let mut held = block.children();
            let only = held.next().filter(|_| held.next().is_none());
            if !only.is_some_and(&is_right) || !block.text().trim().is_empty() {
                return Err(Rejected::Malformed {
                    element: "wsse11:EncryptedHeader",
                    problem: "expected one `xenc:EncryptedData`, or one header block in it, and nothing else".to_owned(),
                });
            }
        }
        Ok(())
    }

    /// `wsse:Security` header blocks for `actor`; more than one is an error that the caller states.
    pub fn security_headers<'e>(
        &'e self,
        actor: Option<&'e str>,
    ) -> impl Iterator<Item = Element<'e>> {
        self.security_headers_of(WSSE, actor)
    }

    /// As [`security_headers`](Self::security_headers), those of the draft of WS-Security of July
    /// 2002.
    pub(crate) fn draft_headers<'e>(
        &'e self,
        actor: Option<&'e str>,
    ) -> impl Iterator<Item = Element<'e>> {
        self.security_headers_of(WSSE_2002, actor)
    }

    fn security_headers_of<'e>(
        &'e self,
        namespace: &'static str,
        actor: Option<&'e str>,
    ) -> impl Iterator<Item = Element<'e>> {
        self.header()
            .into_iter()
            .flat_map(|header| header.children())
            .filter(move |block| block.is(namespace, "Security") && self.is_for(*block, actor))
    }

    /// Whether a header block is addressed to `actor` (`None`: the ultimate receiver, however
    /// spelled).
    pub(crate) fn is_for(&self, block: Element<'_>, actor: Option<&str>) -> bool {
        self.actor_of(block).as_deref() == actor.map(|actor| self.version.role(actor))
    }

    /// The actor or role that a header block is addressed to; `None` is the ultimate receiver,
    /// however spelled.
    pub fn actor_of<'e>(&self, block: Element<'e>) -> Option<Cow<'e, str>> {
        let said = block.attribute(self.version.namespace(), self.version.actor_attribute());
        said.filter(|role| !role.is_empty() && *role != ULTIMATE_RECEIVER)
    }

    /// Whether a header block goes on with the message where nothing has processed it (SOAP 1.2
    /// part 1, 5.2.4).
    pub(crate) fn is_relayed(&self, block: Element<'_>) -> bool {
        let said = match self.version {
            SoapVersion::V11 => None,
            SoapVersion::V12 => block.attribute(SOAP12, "relay"),
        };
        matches!(said.as_deref().map(str::trim), Some("1" | "true"))
    }

    /// Whether the receiver must understand a header block or fail.
    pub(crate) fn must_understand(&self, block: Element<'_>) -> bool {
        let said = block.attribute(self.version.namespace(), "mustUnderstand");
        matches!(said.as_deref().map(str::trim), Some("1" | "true"))
    }
}

/// Whether a well-formed document is, by its declaration, of XML 1.0, which SOAP messages are
/// serialized as (RFC 3902 for SOAP 1.2). A reader of XML 1.1 takes other characters for ends of
/// lines.
pub(crate) fn is_version_1_0(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let declaration = text
        .strip_prefix(b"<?xml")
        .filter(|rest| rest.first().is_some_and(u8::is_ascii_whitespace));
    let version = declaration.and_then(|rest| rest.trim_ascii_start().strip_prefix(b"version"));
    let Some(version) = version else {
        return true;
    };
    let version = version.trim_ascii_start();
    let version = version.strip_prefix(b"=").unwrap_or(version);
    matches!(
        version.trim_ascii_start(),
        [b'"' | b'\'', b'1', b'.', b'0', b'"' | b'\'', ..]
    )
}

/// Where an element lies in the source of a message that has no grafts.
pub(crate) fn range(element: Element<'_>) -> Range<usize> {
    let range = element.range();
    range.start as usize..range.end as usize
}

/// Where the content of an element lies in the source; empty, and behind the element, where its tag
/// closes itself.
pub(crate) fn content(element: Element<'_>, source: &[u8]) -> Range<usize> {
    let whole = range(element);
    if is_self_closing(element, source) {
        return whole.end..whole.end;
    }
    let start = element.start_tag_range().end as usize;
    let end = source[..whole.end]
        .iter()
        .rposition(|octet| *octet == b'<')
        .unwrap_or(start);
    start..end
}

pub(crate) fn is_self_closing(element: Element<'_>, source: &[u8]) -> bool {
    source[range(element)].ends_with(b"/>") && element.start_tag_range().end == element.range().end
}

/// `{namespace}local`, or `local` without a namespace.
pub(crate) fn expanded_name(element: Element<'_>) -> String {
    if element.namespace().is_empty() {
        element.local().to_owned()
    } else {
        format!("{{{}}}{}", element.namespace(), element.local())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(inner: &str) -> Result<Envelope, EnvelopeError> {
        let text = format!(r#"<s:Envelope xmlns:s="{SOAP11}">{inner}</s:Envelope>"#);
        Envelope::parse(
            text.into_bytes(),
            &Limits::default(),
            &mut Buffers::default(),
        )
    }

    #[test]
    fn header_and_body_are_found() {
        let envelope =
            parse("<s:Header><a/></s:Header><s:Body><b xmlns='urn:b'/></s:Body>").unwrap();
        assert_eq!(envelope.version(), SoapVersion::V11);
        assert_eq!(envelope.header().unwrap().local(), "Header");
        assert_eq!(envelope.operation().unwrap(), "{urn:b}b");
    }

    #[test]
    fn a_second_body_is_refused() {
        let refused = parse("<s:Body/><s:Body/>").unwrap_err();
        let found = format!("{{{SOAP11}}}Body");
        assert_eq!(refused, EnvelopeError::UnexpectedChild { found, line: 1 });
    }

    #[test]
    fn an_envelope_in_xml_1_1_is_refused() {
        let parse = |declaration: &str| {
            let text =
                format!("{declaration}<s:Envelope xmlns:s='{SOAP11}'><s:Body/></s:Envelope>");
            let parsed = Envelope::parse(
                text.into_bytes(),
                &Limits::default(),
                &mut Buffers::default(),
            );
            parsed.map(|_| ())
        };
        for declaration in [
            "",
            "\u{feff}",
            "<?xml version='1.0'?>",
            "\u{feff}<?xml  version = \"1.0\" encoding='UTF-8' ?>",
            "<?xml-model version='1.1'?>",
        ] {
            assert_eq!(parse(declaration), Ok(()), "{declaration}");
        }
        let found = "XML of another version than 1.0";
        for declaration in ["<?xml version='1.1'?>", "\u{feff}<?xml version=\"1.10\" ?>"] {
            let refused = Err(EnvelopeError::NotXml { found });
            assert_eq!(parse(declaration), refused, "{declaration}");
        }
    }

    #[test]
    fn a_header_after_the_body_is_refused() {
        let found = format!("{{{SOAP11}}}Header");
        assert_eq!(
            parse("<s:Body/><s:Header/>").unwrap_err(),
            EnvelopeError::UnexpectedChild { found, line: 1 }
        );
    }

    #[test]
    fn an_envelope_without_body_is_refused() {
        assert_eq!(
            parse("<s:Header/>").unwrap_err(),
            EnvelopeError::BodyMissing
        );
    }

    #[test]
    fn an_id_that_occurs_twice_is_refused() {
        let wsu = crate::names::WSU;
        let refused = parse(&format!(
            "<s:Body xmlns:u='{wsu}' u:Id='a'><b u:Id='a'/></s:Body>"
        ))
        .unwrap_err();
        assert!(
            matches!(refused, EnvelopeError::DuplicateId(_)),
            "{refused}"
        );
    }
}
