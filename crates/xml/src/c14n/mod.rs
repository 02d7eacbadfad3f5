//! Canonical XML: inclusive 1.0 (REC-xml-c14n-20010315), inclusive 1.1 (REC-xml-c14n11-20080502)
//! and exclusive 1.0 (REC-xml-exc-c14n-20020718), of whole documents and of subtrees.
//!
//! Canonicalization is a check first: the scanner knows which elements are written canonically
//! already, and whole runs of the source go to the sink as they are. Only what differs is
//! rewritten. The rule: the bytes are those of the specification, whether a run was taken or not;
//! `canonical_runs: false` exists to measure and to prove that.

mod error;
mod method;
mod options;
mod output;
mod scratch;
mod tag;
mod walk;

use crate::document::Document;
use crate::sink::Sink;
use crate::tape::NodeId;
pub use error::C14nError;
pub use method::Canonicalization;
pub use options::{Apex, ApexAttribute, C14nOptions};
use output::Output;
pub use scratch::C14nScratch;
use walk::Walk;

/// Writes the canonical form of `apex` to `sink`, in runs as long as the source allows.
///
/// The cost is that of the subtree and of the apex's ancestors; the rest of the document is not
/// looked at.
///
/// ```
/// use soapstone_xml::{Apex, C14nOptions, C14nScratch, Canonicalization, canonicalize};
/// use soapstone_xml::{Buffers, Document, ParseOptions};
///
/// let source = b"<p:a xmlns:p='urn:p' xmlns:q='urn:q'><p:b  y='2' x='1'/></p:a>".to_vec();
/// let document = Document::parse(source, &ParseOptions::default(), &mut Buffers::new())?;
/// let b = document.root().first_child().expect("b").id();
/// let options = C14nOptions::new(Canonicalization::Exclusive);
/// let mut bytes = Vec::new();
/// canonicalize(&document, Apex::Element(b), &options, &mut C14nScratch::default(), &mut bytes)?;
/// assert_eq!(bytes, br#"<p:b xmlns:p="urn:p" x="1" y="2"></p:b>"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`C14nError::UnknownNode`] for an apex that is not of this document; [`C14nError::TooLarge`]
/// when declarations repeated again and again make the canonical form grow beyond
/// [`Limits::canonical`](crate::Limits::canonical).
pub fn canonicalize(
    document: &Document,
    apex: Apex,
    options: &C14nOptions<'_>,
    scratch: &mut C14nScratch,
    sink: &mut impl Sink,
) -> Result<(), C14nError> {
    if let Apex::Element(node) = apex {
        check(document, node)?;
    }
    let staged = std::mem::take(&mut scratch.staged);
    let mut output = Output::new(document, staged, sink);
    let walked = Walk::new(document, options, scratch, &mut output).run(apex);
    scratch.staged = output.finish();
    walked
}

/// Writes the canonical forms of elements one behind the other, each as that of an apex of its own.
///
/// The bound on the size of a canonical form holds for all of them together: in inclusive
/// canonicalization each repeats the namespaces around it, which many short elements would make
/// many times as large as the document.
///
/// # Errors
///
/// As [`canonicalize`].
pub fn canonicalize_each(
    document: &Document,
    nodes: &[NodeId],
    options: &C14nOptions<'_>,
    scratch: &mut C14nScratch,
    sink: &mut impl Sink,
) -> Result<(), C14nError> {
    nodes.iter().try_for_each(|node| check(document, *node))?;
    let staged = std::mem::take(&mut scratch.staged);
    let mut output = Output::new(document, staged, sink);
    let mut walk = Walk::new(document, options, scratch, &mut output);
    let walked = nodes
        .iter()
        .try_for_each(|node| walk.run(Apex::Element(*node)));
    scratch.staged = output.finish();
    walked
}

/// Appends the start tag that an element has as the apex of its canonical form, even where it is
/// written as an empty element: all that the namespaces around it change, if what is inside is
/// canonical in itself.
///
/// # Errors
///
/// [`C14nError::UnknownNode`] for an element that is not of this document.
pub fn canonical_start_tag(
    document: &Document,
    node: NodeId,
    options: &C14nOptions<'_>,
    scratch: &mut C14nScratch,
    out: &mut Vec<u8>,
) -> Result<(), C14nError> {
    check(document, node)?;
    let mut nowhere = Vec::new();
    let mut output = Output::new(document, Vec::new(), &mut nowhere);
    Walk::new(document, options, scratch, &mut output).start_tag(node.index() as u32, out);
    Ok(())
}

fn check(document: &Document, node: NodeId) -> Result<(), C14nError> {
    let elements = document.element_count();
    if node.index() < elements {
        Ok(())
    } else {
        Err(C14nError::UnknownNode { elements })
    }
}
