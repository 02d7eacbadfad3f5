//! Every way to read a document, and canonical forms of it.
//!
//! The one rule: whatever is handed out was asked of the public interface, so that what holds here
//! holds for every caller.

use soapstone_xml::{
    Apex, Buffers, C14nError, C14nOptions, C14nScratch, Canonicalization, Content, Document,
    Element, ParseOptions, canonicalize,
};

/// Parses with the default limits; `None` if the bytes are refused.
pub fn parse(bytes: &[u8]) -> Option<Document> {
    Document::parse(
        bytes.to_vec(),
        &ParseOptions::default(),
        &mut Buffers::default(),
    )
    .ok()
}

/// Parses with memory that read the same bytes twice before, and the same with other digits, and so
/// knows what the scanner remembers of them.
pub fn parse_again(bytes: &[u8]) -> Option<Document> {
    let mut buffers = Buffers::default();
    let options = ParseOptions::default();
    for shift in [0, 0, 1, 2, 3] {
        let shifted = bytes.iter().map(|byte| match byte {
            b'0'..=b'9' => b'0' + (byte - b'0' + shift) % 10,
            other => *other,
        });
        // References to characters may be wrong with other digits.
        if let Ok(document) = Document::parse(shifted.collect(), &options, &mut buffers) {
            document.recycle(&mut buffers);
        }
    }
    Document::parse(bytes.to_vec(), &options, &mut buffers).ok()
}

/// Reads everything that an element and what is inside it can say.
///
/// # Panics
/// If two ways of reading contradict each other.
pub fn read(document: &Document) {
    let all: Vec<Element<'_>> = document.root().descendants().collect();
    assert!(all.len() <= document.element_count());
    document.contents().for_each(drop);
    for element in &all {
        let (line, column) = element.line_column();
        assert!(line > 0 && column > 0);
        let range = element.range();
        assert!(range.start < range.end);
        let tag = element.start_tag_range();
        assert!(range.start == tag.start && tag.end <= range.end);
        assert!(element.qualified_name().ends_with(element.local()));
        assert!(element.is(element.namespace(), element.local()));
        for attribute in element.attributes() {
            assert_eq!(
                element.attribute(attribute.namespace(), attribute.local()),
                Some(attribute.value())
            );
        }
        for (prefix, namespace) in element.declarations() {
            let bound = element.namespace_of(prefix);
            assert_eq!(bound.unwrap_or_default(), namespace);
        }
        for (prefix, namespace) in element.namespaces_in_scope() {
            assert_eq!(element.namespace_of(prefix), Some(namespace));
        }
        for child in element.children() {
            assert_eq!(child.parent().map(|parent| parent.id()), Some(element.id()));
            assert!(element.contains(child) && !child.contains(*element));
        }
        let (mut text, mut others) = (String::new(), 0);
        for content in element.contents() {
            match content {
                Content::Text(more) => text.push_str(&more),
                Content::Element(_)
                | Content::Comment(_)
                | Content::ProcessingInstruction { .. } => {
                    others += 1;
                }
            }
        }
        assert_eq!(element.text(), text);
        assert_eq!(
            element.text_strict().as_deref(),
            (others == 0).then_some(text.as_str())
        );
        if let (Some(source), Some(content)) = (
            document.source(element.id()),
            document.content_source(element.id()),
        ) {
            assert!(content.len() < source.len());
        }
    }
}

/// The canonical form of `apex`; `None` if it is larger than the limits allow.
///
/// # Panics
/// If it depends on whether runs of the source are used as they are.
pub fn canonical(document: &Document, apex: Apex, method: Canonicalization) -> Option<Vec<u8>> {
    canonical_with(document, apex, &C14nOptions::new(method))
}

/// The canonical form of `apex` under these options; `None` if it is larger than the limits allow.
///
/// # Panics
/// If it depends on whether runs of the source are used as they are.
pub fn canonical_with(
    document: &Document,
    apex: Apex,
    options: &C14nOptions<'_>,
) -> Option<Vec<u8>> {
    let [runs, rewritten] = [true, false].map(|canonical_runs| {
        let options = C14nOptions {
            canonical_runs,
            ..*options
        };
        let mut octets = Vec::new();
        match canonicalize(
            document,
            apex,
            &options,
            &mut C14nScratch::default(),
            &mut octets,
        ) {
            Ok(()) => Some(octets),
            Err(C14nError::TooLarge { .. }) => None,
            Err(error) => panic!("{error}"),
        }
    });
    let (runs, rewritten) = (runs?, rewritten?);
    assert_eq!(
        String::from_utf8_lossy(&runs),
        String::from_utf8_lossy(&rewritten),
        "runs of the source and rewriting differ in {options:?}"
    );
    Some(runs)
}
