//! MTOM: the message that an XOP package stands for, with the base64 of a part in the place of each
//! `xop:Include` that leads to it (XOP 1.0, 3.2).
//!
//! The engine takes no such package. A sender signs the message before it is taken apart, so its
//! digests can be compared only here.
//!
//! The rule kept here: what is written is bounded, however often one part is included.

use soapstone_crypto::base64;
use soapstone_mime::{Attachment, Message, Package, attachment_named};
use soapstone_xml::{Buffers, Document, ParseError, ParseOptions};

use crate::model::{Explanation, Finding, Severity};

/// Of `xop:Include`.
const XOP: &str = "http://www.w3.org/2004/08/xop/include";

/// The media type of the root of an XOP package.
const XOP_TYPE: &str = "application/xop+xml";

/// How many times as large as its package a message may get whose parts are written into it. Base64
/// takes a third more.
const GROWTH: usize = 2;

/// Most ids that are told of parts that are missing.
const MOST_TOLD: usize = 4;

/// An XOP package, read.
pub(crate) struct Included {
    /// The message with the base64 of its parts, and the parts that it does not include.
    pub(crate) message: Message,
    /// The message as it stands in the package.
    pub(crate) as_sent: Document,
    /// How many elements were replaced.
    replaced: usize,
    /// Where elements lead that were not.
    missing: Vec<String>,
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
    let root = package.root.decoded().unwrap_or_default().into_owned();
    let as_sent = Document::parse(root, parsing, &mut Buffers::new())?;
    let source = as_sent.bytes();
    let mut out = Vec::with_capacity(source.len());
    let (mut copied, mut replaced) = (0, 0);
    let mut missing = Vec::new();
    let mut included = vec![false; package.attachments.len()];
    for element in as_sent.elements_named(XOP, "Include") {
        let start = element.start_tag_range().start as usize;
        let length = as_sent.source(element.id()).map_or(0, <[u8]>::len);
        let uri = element.attribute("", "href").unwrap_or_default();
        let id = attachment_named(&uri);
        let mut parts = package.attachments.iter();
        let place = parts.position(|part| {
            let own = part.id().map(str::as_bytes);
            own.is_some() && own == id.as_deref()
        });
        let content = place.and_then(|place| package.attachments[place].decoded());
        let most = size.saturating_mul(GROWTH);
        let fits = |content: &[u8]| out.len() + content.len().div_ceil(3) * 4 <= most;
        match (place, content) {
            // One inside of another was copied with it.
            _ if start < copied => {}
            (Some(place), Some(content)) if fits(&content) => {
                out.extend_from_slice(&source[copied..start]);
                out.extend_from_slice(base64::encode(&content).as_bytes());
                copied = start + length;
                included[place] = true;
                replaced += 1;
            }
            _ => missing.push(uri.into_owned()),
        }
    }
    out.extend_from_slice(&source[copied..]);
    let others = package.attachments.into_iter().zip(included);
    let others = others.filter(|(_, included)| !included);
    let parts = others.filter_map(|(part, _)| {
        let media_type = part.header.field("Content-Type");
        let media_type = media_type.map_or("text/plain", |(value, _)| value);
        Attachment::new(part.id()?, media_type, part.decoded()?.into_owned()).ok()
    });
    Ok(Included {
        message: Message {
            root: out,
            parts: parts.collect(),
        },
        as_sent,
        replaced,
        missing,
    })
}

impl Included {
    /// Tells what was done to the package before the message was looked at.
    pub(crate) fn tell(&self, told: &mut Explanation) {
        let place = "the package";
        let count = self.replaced;
        let says = format!(
            "it is of MTOM: {count} xop:Include read as the base64 of their parts, over which senders make digests; the engine and the gateway take no MTOM"
        );
        let note = Finding::new(Severity::Note, "xop-package", place, says);
        let missing = self.missing.iter().take(MOST_TOLD).map(|uri| {
            let uri: String = uri.chars().take(200).collect();
            let says = format!("an xop:Include leads to `{uri}`, and no part of the package that can be read has that id");
            Finding::new(Severity::Error, "xop-part-missing", place, says)
        });
        let before = std::iter::once(note).chain(missing).collect::<Vec<_>>();
        told.findings.splice(0..0, before);
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
