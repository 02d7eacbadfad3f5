//! MTOM: the message that an XOP package stands for, with the base64 of a part in the place of each
//! `xop:Include` that leads to it (XOP 1.0, 3.2).
//!
//! The engine takes no such package. A sender signs the message before it is taken apart, so its
//! digests can be compared only here.
//!
//! The rule kept here: what is written is bounded, and each part is decoded once, however often one
//! part is included.

use std::borrow::Cow;
use std::collections::HashMap;
use std::iter;

use soapstone_crypto::base64;
use soapstone_mime::{Attachment, Message, Package, Part, attachment_named};
use soapstone_xml::{Buffers, Document, ParseError, ParseOptions};

use crate::model::{Explanation, Finding, Severity};

/// Of `xop:Include`.
const XOP: &str = "http://www.w3.org/2004/08/xop/include";

/// The media type of the root of an XOP package.
const XOP_TYPE: &str = "application/xop+xml";

/// How many times as large as its package a message may get whose parts are written into it. Base64
/// takes a third more.
const GROWTH: usize = 2;

/// Most addresses that are told of elements that were left as they are.
const MOST_TOLD: usize = 4;
/// Most characters of such an address.
const LONGEST_TOLD: usize = 200;

/// Where it is that findings are about.
const PLACE: &str = "the package";

/// An XOP package, read.
pub(crate) struct Included {
    /// The message with the base64 of its parts, and the parts that it does not include.
    pub(crate) message: Message,
    /// The message as it stands in the package.
    pub(crate) as_sent: Document,
    /// How many elements were replaced.
    replaced: usize,
    /// Those that lead to no part that can be read.
    missing: Left,
    /// Those whose part would make the message too large.
    too_large: Left,
}

/// Whether a package is one of MTOM.
pub(crate) fn is_xop(package: &Package<'_>) -> bool {
    let media_type = package.root.media_type();
    media_type.is_some_and(|it| it.essence() == XOP_TYPE)
}

/// Reads an XOP package of so many bytes.
///
/// # Errors
/// The message as it stands is no XML within the limits of the parser.
pub(crate) fn read(
    package: Package<'_>,
    size: usize,
    parsing: &ParseOptions,
) -> Result<Included, ParseError> {
    read_by(package, size, parsing, &mut |part| part.decoded())
}

/// The content of a part, if it can be decoded.
type Content<'s> = Option<Cow<'s, [u8]>>;

/// As [`read`], with what decodes a part. Each part is decoded once at most.
fn read_by<'s>(
    package: Package<'s>,
    size: usize,
    parsing: &ParseOptions,
    decode: &mut dyn FnMut(&Part<'s>) -> Content<'s>,
) -> Result<Included, ParseError> {
    let root = package.root.decoded().unwrap_or_default().into_owned();
    let as_sent = Document::parse(root, parsing, &mut Buffers::new())?;
    let source = as_sent.bytes();
    let most = size.saturating_mul(GROWTH);
    let mut out = Vec::with_capacity(source.len());
    let (mut copied, mut replaced) = (0, 0);
    let (mut missing, mut too_large) = (Left::default(), Left::default());
    let mut places = HashMap::new();
    for (place, part) in package.attachments.iter().enumerate() {
        if let Some(id) = part.id() {
            places.entry(id.as_bytes()).or_insert(place);
        }
    }
    let mut contents: Vec<Option<Content<'s>>> = vec![None; package.attachments.len()];
    let mut included = vec![false; package.attachments.len()];
    for element in as_sent.elements_named(XOP, "Include") {
        let start = element.start_tag_range().start as usize;
        if start < copied {
            // One inside of another was copied with it.
            continue;
        }
        let uri = element.attribute("", "href").unwrap_or_default();
        let id = attachment_named(&uri);
        let place = id.and_then(|id| places.get(id.as_slice()).copied());
        let content = place.and_then(|place| {
            let content = &mut contents[place];
            let content = content.get_or_insert_with(|| decode(&package.attachments[place]));
            Some((place, content.as_deref()?))
        });
        match content {
            None => missing.add(&uri),
            Some((_, content)) if out.len() + content.len().div_ceil(3) * 4 > most => {
                too_large.add(&uri);
            }
            Some((place, content)) => {
                out.extend_from_slice(&source[copied..start]);
                out.extend_from_slice(base64::encode(content).as_bytes());
                copied = start + as_sent.source(element.id()).map_or(0, <[u8]>::len);
                included[place] = true;
                replaced += 1;
            }
        }
    }
    out.extend_from_slice(&source[copied..]);
    let mut parts = Vec::new();
    for (place, part) in package.attachments.iter().enumerate() {
        if included[place] {
            continue;
        }
        let content = contents[place].take().unwrap_or_else(|| decode(part));
        let media_type = part.header.field("Content-Type");
        let media_type = media_type.map_or("text/plain", |(value, _)| value);
        if let (Some(id), Some(content)) = (part.id(), content) {
            parts.extend(Attachment::new(id, media_type, content.into_owned()).ok());
        }
    }
    Ok(Included {
        message: Message { root: out, parts },
        as_sent,
        replaced,
        missing,
        too_large,
    })
}

/// Elements that were left as they are.
#[derive(Default)]
struct Left {
    /// Where they lead: some of the addresses, each once.
    told: Vec<String>,
    /// How many elements they are.
    count: usize,
}

impl Left {
    fn add(&mut self, uri: &str) {
        self.count += 1;
        if self.told.len() < MOST_TOLD {
            let uri: String = uri.chars().take(LONGEST_TOLD).collect();
            if !self.told.contains(&uri) {
                self.told.push(uri);
            }
        }
    }

    /// What is told of them: where they lead, and how many more there are.
    fn tell(&self, kind: &'static str, why: &str) -> impl Iterator<Item = Finding> {
        let more = self.count - self.told.len();
        let more = (more > 0).then(|| format!("{more} more xop:Include as well: {why}"));
        let each = self.told.iter();
        let each = each.map(move |uri| format!("an xop:Include leads to `{uri}`: {why}"));
        let said = each.chain(more);
        said.map(move |says| Finding::new(Severity::Error, kind, PLACE, says))
    }
}

impl Included {
    /// Tells what was done to the package before the message was looked at. The engine refuses it,
    /// if one is asked.
    pub(crate) fn tell(&self, told: &mut Explanation, is_opened: bool) {
        let count = self.replaced;
        let says = format!(
            "it is of MTOM: {count} xop:Include read as the base64 of their parts, over which senders make digests; the engine and the gateway take no MTOM"
        );
        let severity = match is_opened {
            true => Severity::Error,
            false => Severity::Note,
        };
        let package = Finding::new(severity, "xop-package", PLACE, says);
        let missing = "no part of the package that can be read has that id";
        let missing = self.missing.tell("xop-part-missing", missing);
        let too_large = format!(
            "with this part the message would be more than {GROWTH} times as large as its package, and it is not read into it"
        );
        let too_large = self.too_large.tell("xop-too-large", &too_large);
        let before = iter::once(package).chain(missing).chain(too_large);
        told.findings.splice(0..0, before.collect::<Vec<_>>());
    }
}

/// The message that a package of MTOM stands for, with its other parts. `None` of anything else,
/// and of one that cannot be read.
///
/// Nothing is verified, and the engine takes no such package: this is for those who explain.
pub fn of_mtom(source: &[u8], parsing: &ParseOptions) -> Option<Message> {
    let package = Package::read(source).ok().flatten()?;
    if !is_xop(&package) {
        return None;
    }
    let included = read(package, source.len(), parsing).ok()?;
    Some(included.message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decoding a part for each element that leads to it would be quadratic work.
    #[test]
    fn a_part_that_many_elements_lead_to_is_decoded_once() {
        for (length, is_replaced) in [(3, true), (3_000_000, false)] {
            let include = format!("<x:Include xmlns:x='{XOP}' href='cid:data@x'/>");
            let content = base64::encode(&vec![b'x'; length]);
            let package = format!(
                "MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=b; type=\"{XOP_TYPE}\"\r\n\r\n\
                 --b\r\nContent-Type: {XOP_TYPE}; type=\"text/xml\"\r\nContent-ID: <root@x>\r\n\r\n<a>{}</a>\r\n\
                 --b\r\nContent-Transfer-Encoding: base64\r\nContent-ID: <data@x>\r\n\r\n{content}\r\n--b--\r\n",
                include.repeat(1_000)
            );
            let read = Package::read(package.as_bytes()).expect("a package");
            let (mut count, options) = (0, ParseOptions::default());
            let included = read_by(
                read.expect("it has parts"),
                100_000,
                &options,
                &mut |part| {
                    count += 1;
                    part.decoded()
                },
            );
            let included = included.expect("a message");
            assert_eq!(count, 1);
            assert_eq!(included.replaced, if is_replaced { 1_000 } else { 0 });
            assert_eq!(included.too_large.count, 1_000 - included.replaced);
            assert_eq!(included.missing.count, 0);
        }
    }
}
