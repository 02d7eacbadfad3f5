//! What the unit tests of several files need.

use soapstone_xml::{Buffers, Document, IdAttributes, ParseOptions};

/// Scans a document as an envelope is scanned.
pub(crate) fn document(text: &[u8]) -> Document {
    let options = ParseOptions {
        ids: IdAttributes::standard(),
        ..ParseOptions::default()
    };
    Document::parse(text.to_vec(), &options, &mut Buffers::new()).expect("well-formed")
}
