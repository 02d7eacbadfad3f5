//! The message that is passed on: rebuilt from nodes, not cut out of the bytes that arrived.
//!
//! Blocks and Body are written in inclusive canonical form without comments. It keeps every namespace in scope, so that qualified
//! names in content stay valid, and it leaves out what signatures do not cover: comments, and whatever stands between the blocks.

use soapstone_xml::{
    Apex, C14nError, C14nOptions, C14nScratch, Canonicalization, NodeId, canonicalize,
};

use crate::envelope::Envelope;

pub(crate) fn write(
    envelope: &Envelope,
    blocks: &[NodeId],
    out: &mut Vec<u8>,
) -> Result<(), C14nError> {
    let document = envelope.document();
    let root = document.root();
    let prefix = root.prefix();
    let colon = if prefix.is_empty() { "" } else { ":" };
    let options = C14nOptions::new(Canonicalization::Inclusive10);
    let mut scratch = C14nScratch::default();
    out.reserve(document.bytes().len());
    out.extend_from_slice(
        format!(
            "<{prefix}{colon}Envelope xmlns{colon}{prefix}=\"{}\">",
            envelope.version().namespace()
        )
        .as_bytes(),
    );
    if !blocks.is_empty() {
        out.extend_from_slice(format!("<{prefix}{colon}Header>").as_bytes());
        for block in blocks {
            part(document, *block, &options, &mut scratch, out)?;
        }
        out.extend_from_slice(format!("</{prefix}{colon}Header>").as_bytes());
    }
    part(document, envelope.body().id(), &options, &mut scratch, out)?;
    out.extend_from_slice(format!("</{prefix}{colon}Envelope>").as_bytes());
    Ok(())
}

fn part(
    document: &soapstone_xml::Document,
    node: NodeId,
    options: &C14nOptions<'_>,
    scratch: &mut C14nScratch,
    out: &mut Vec<u8>,
) -> Result<(), C14nError> {
    canonicalize(document, Apex::Element(node), options, scratch, out)
}
