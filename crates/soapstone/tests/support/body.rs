//! What messages say, whatever their envelopes.

use soapstone::xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Canonicalization, Document, ParseOptions, canonicalize,
};

/// The canonical form of what the Body holds.
pub(crate) fn body_content(envelope: Vec<u8>) -> Vec<u8> {
    let document = Document::parse(envelope, &ParseOptions::default(), &mut Buffers::default())
        .expect("an envelope");
    let body = document
        .root()
        .children()
        .find(|child| child.local() == "Body")
        .expect("a Body");
    let content = body.first_child().expect("content");
    let mut canonical = Vec::new();
    let options = C14nOptions::new(Canonicalization::Exclusive);
    canonicalize(
        &document,
        Apex::Element(content.id()),
        &options,
        &mut C14nScratch::default(),
        &mut canonical,
    )
    .expect("a canonical form");
    canonical
}
