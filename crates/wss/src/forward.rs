//! The message that is passed on: rebuilt from nodes, not cut out of the bytes that arrived.
//!
//! Blocks and Body are written in inclusive canonical form without comments. It keeps every
//! namespace in scope, so that qualified names in content stay valid, and it leaves out what
//! signatures do not cover: comments, and whatever stands between the blocks. The form has Body and
//! blocks inherit `xml:lang`, `xml:base` and their like; where signatures do not cover these, they
//! are left out, too.

use soapstone_xml::{
    Apex, Buffers, C14nError, C14nOptions, C14nScratch, Canonicalization, NodeId, canonicalize,
    canonicalize_each,
};

use crate::envelope::Envelope;

pub(crate) fn write(
    envelope: &Envelope,
    blocks: &[NodeId],
    inherits: bool,
    out: &mut Vec<u8>,
    buffers: &mut Buffers,
) -> Result<(), C14nError> {
    let mut scratch = buffers.take_scratch();
    let written = write_with(envelope, blocks, inherits, out, &mut scratch);
    buffers.give_scratch(scratch);
    written
}

fn write_with(
    envelope: &Envelope,
    blocks: &[NodeId],
    inherits: bool,
    out: &mut Vec<u8>,
    scratch: &mut C14nScratch,
) -> Result<(), C14nError> {
    let document = envelope.document();
    let root = document.root();
    let prefix = root.prefix();
    let colon = if prefix.is_empty() { "" } else { ":" };
    let options = C14nOptions {
        inherited_attributes: inherits,
        ..C14nOptions::new(Canonicalization::Inclusive10)
    };
    out.reserve(document.bytes().len());
    let namespace = envelope.version().namespace();
    push(
        &[
            "<",
            prefix,
            colon,
            "Envelope xmlns",
            colon,
            prefix,
            "=\"",
            namespace,
            "\">",
        ],
        out,
    );
    if !blocks.is_empty() {
        push(&["<", prefix, colon, "Header>"], out);
        canonicalize_each(document, blocks, &options, scratch, out)?;
        push(&["</", prefix, colon, "Header>"], out);
    }
    let body = Apex::Element(envelope.body().id());
    canonicalize(document, body, &options, scratch, out)?;
    push(&["</", prefix, colon, "Envelope>"], out);
    Ok(())
}

fn push(pieces: &[&str], out: &mut Vec<u8>) {
    for piece in pieces {
        out.extend_from_slice(piece.as_bytes());
    }
}
