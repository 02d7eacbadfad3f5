//! Filling in templates: replacing content in the text of a document.
//!
//! Templates are edited as text, so that everything that is not filled in stays as its author wrote
//! it. The one rule: an edit is made on an element of the parsed document, never by searching the
//! text.

use std::ops::Range;

use soapstone_xml::{Document, NodeId};

/// Replacements to make in one document's text.
#[derive(Default)]
pub(super) struct Edits(Vec<(Range<usize>, Vec<u8>)>);

impl Edits {
    /// Replaces the content of the element `node` by `content`, which is markup.
    pub(super) fn replace_content(&mut self, document: &Document, node: NodeId, content: &[u8]) {
        let element = document.element(node);
        let range = element_range(document, node);
        let source = &document.bytes()[range.clone()];
        if let Some(start_tag) = source.strip_suffix(b"/>") {
            let mut text = start_tag.trim_ascii_end().to_vec();
            text.push(b'>');
            text.extend_from_slice(content);
            text.extend_from_slice(format!("</{}>", element.qualified_name()).as_bytes());
            self.0.push((range, text));
        } else {
            let start = range.start + start_tag_length(source);
            let end = range.start
                + source
                    .iter()
                    .rposition(|&byte| byte == b'<')
                    .unwrap_or(source.len());
            self.0.push((start..end, content.to_vec()));
        }
    }

    /// Replaces the whole element `node` by `markup`.
    pub(super) fn replace(&mut self, document: &Document, node: NodeId, markup: Vec<u8>) {
        self.0.push((element_range(document, node), markup));
    }

    /// Replaces a range of the text.
    pub(super) fn replace_range(&mut self, range: Range<usize>, markup: Vec<u8>) {
        self.0.push((range, markup));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The edited text of `document`.
    pub(super) fn apply(mut self, document: &Document) -> Vec<u8> {
        let source = document.bytes();
        self.0.sort_by_key(|(range, _)| range.start);
        let mut text = Vec::with_capacity(
            source.len() + self.0.iter().map(|(_, markup)| markup.len()).sum::<usize>(),
        );
        let mut copied = 0;
        for (range, markup) in self.0 {
            text.extend_from_slice(&source[copied..range.start.max(copied)]);
            text.extend_from_slice(&markup);
            copied = range.end.max(copied);
        }
        text.extend_from_slice(&source[copied..]);
        text
    }
}

/// Where `node` stands in the text of a document without grafts.
pub(super) fn element_range(document: &Document, node: NodeId) -> Range<usize> {
    let range = document.element(node).range();
    range.start as usize..range.end as usize
}

/// Where the content of `node` stands, for an element that has an end tag; an empty range
/// otherwise.
pub(super) fn content_range(document: &Document, node: NodeId) -> Range<usize> {
    let range = element_range(document, node);
    let source = &document.bytes()[range.clone()];
    if source.ends_with(b"/>") {
        return range.end..range.end;
    }
    let end = source
        .iter()
        .rposition(|&byte| byte == b'<')
        .unwrap_or(source.len());
    range.start + start_tag_length(source)..range.start + end
}

/// Bytes of the start tag that `source` begins with: up to the first `>` outside of quotes.
fn start_tag_length(source: &[u8]) -> usize {
    let mut quote = None;
    for (at, &byte) in source.iter().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at + 1,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    source.len()
}
