//! Canonical XML: inclusive 1.0 (REC-xml-c14n-20010315), inclusive 1.1 (REC-xml-c14n11-20080502)
//! and exclusive 1.0 (REC-xml-exc-c14n-20020718), of whole documents and of subtrees.
//!
//! Canonicalization is a check first: the scanner knows which elements are written canonically
//! already, and whole runs of the source go to the sink as they are. Only what differs is
//! rewritten. The rule: the octets are those of the specification, whether a run was taken or not;
//! `canonical_runs: false` exists to measure and to prove that.

mod output;
mod tag;
mod walk;

use crate::document::Document;
use crate::sink::Sink;
use crate::tape::NodeId;
use output::Output;
use std::fmt;
use tag::WrittenAttribute;
use walk::{Frame, Walk};

/// A canonicalization method.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Canonicalization {
    /// Canonical XML 1.0.
    Inclusive10,
    /// Canonical XML 1.0 with comments.
    Inclusive10WithComments,
    /// Canonical XML 1.1.
    Inclusive11,
    /// Canonical XML 1.1 with comments.
    Inclusive11WithComments,
    /// Exclusive XML Canonicalization 1.0.
    Exclusive,
    /// Exclusive XML Canonicalization 1.0 with comments.
    ExclusiveWithComments,
}

impl Canonicalization {
    /// All methods.
    pub const ALL: [Canonicalization; 6] = [
        Canonicalization::Inclusive10,
        Canonicalization::Inclusive10WithComments,
        Canonicalization::Inclusive11,
        Canonicalization::Inclusive11WithComments,
        Canonicalization::Exclusive,
        Canonicalization::ExclusiveWithComments,
    ];

    /// The method that an algorithm URI names.
    pub fn from_uri(uri: &str) -> Option<Canonicalization> {
        Canonicalization::ALL
            .into_iter()
            .find(|method| method.uri() == uri)
    }

    /// Its algorithm URI.
    pub fn uri(self) -> &'static str {
        match self {
            Canonicalization::Inclusive10 => "http://www.w3.org/TR/2001/REC-xml-c14n-20010315",
            Canonicalization::Inclusive10WithComments => {
                "http://www.w3.org/TR/2001/REC-xml-c14n-20010315#WithComments"
            }
            Canonicalization::Inclusive11 => "http://www.w3.org/2006/12/xml-c14n11",
            Canonicalization::Inclusive11WithComments => {
                "http://www.w3.org/2006/12/xml-c14n11#WithComments"
            }
            Canonicalization::Exclusive => "http://www.w3.org/2001/10/xml-exc-c14n#",
            Canonicalization::ExclusiveWithComments => {
                "http://www.w3.org/2001/10/xml-exc-c14n#WithComments"
            }
        }
    }

    /// The method of this short name (`exc-c14n`, `c14n`, `c14n11`, each also with
    /// `-with-comments`) or URI.
    pub fn from_name(name: &str) -> Option<Canonicalization> {
        Canonicalization::ALL
            .into_iter()
            .find(|method| method.short_name() == name || method.uri() == name)
    }

    /// The name used in configuration.
    pub fn short_name(self) -> &'static str {
        match self {
            Canonicalization::Inclusive10 => "c14n",
            Canonicalization::Inclusive10WithComments => "c14n-with-comments",
            Canonicalization::Inclusive11 => "c14n11",
            Canonicalization::Inclusive11WithComments => "c14n11-with-comments",
            Canonicalization::Exclusive => "exc-c14n",
            Canonicalization::ExclusiveWithComments => "exc-c14n-with-comments",
        }
    }

    /// Whether comments are kept.
    pub fn with_comments(self) -> bool {
        matches!(
            self,
            Canonicalization::Inclusive10WithComments
                | Canonicalization::Inclusive11WithComments
                | Canonicalization::ExclusiveWithComments
        )
    }

    /// Whether it is exclusive canonicalization.
    pub fn is_exclusive(self) -> bool {
        matches!(
            self,
            Canonicalization::Exclusive | Canonicalization::ExclusiveWithComments
        )
    }
}

/// How to canonicalize.
#[derive(Clone, Copy, Debug)]
pub struct C14nOptions<'a> {
    /// The method.
    pub method: Canonicalization,
    /// `InclusiveNamespaces PrefixList` of exclusive canonicalization; `#default` is the default
    /// namespace. The inclusive methods ignore it.
    pub inclusive_prefixes: &'a [&'a str],
    /// Subtrees left out, as the enveloped-signature transform does. Meant for a few.
    pub omit: &'a [NodeId],
    /// Hand over whole runs of the source where it is canonical already. Off: rewrite everything.
    /// The octets are the same.
    pub canonical_runs: bool,
    /// The apex of an inclusive method has the attributes of the XML namespace (`xml:lang`,
    /// `xml:base`) that stand around it, as the methods want it (C14N 1.0 and 1.1, 2.4). Off:
    /// it has its own.
    pub inherited_attributes: bool,
    /// An attribute that the apex is to have although the source does not have it (yet).
    pub apex_attribute: Option<ApexAttribute<'a>>,
}

/// An attribute added to the apex of an exclusive canonicalization, with the declaration of its
/// prefix.
///
/// A sender digests an element as it will be sent, with the `wsu:Id` that is inserted into its
/// source meanwhile. The prefix must not be bound to another namespace on the apex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApexAttribute<'a> {
    /// Prefix; declared on the apex.
    pub prefix: &'a str,
    /// Namespace URI.
    pub namespace: &'a str,
    /// Local name.
    pub local: &'a str,
    /// Value, not escaped.
    pub value: &'a str,
}

impl C14nOptions<'_> {
    /// A method, and nothing special.
    pub fn new(method: Canonicalization) -> C14nOptions<'static> {
        C14nOptions {
            method,
            inclusive_prefixes: &[],
            omit: &[],
            canonical_runs: true,
            inherited_attributes: true,
            apex_attribute: None,
        }
    }
}

/// What is canonicalized.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Apex {
    /// The whole document, with the comments and processing instructions around the root.
    Document,
    /// An element with all that is inside it. An element that was replaced by a graft is taken as
    /// it was before.
    Element(NodeId),
}

impl From<NodeId> for Apex {
    fn from(node: NodeId) -> Apex {
        Apex::Element(node)
    }
}

/// Why there is no canonical form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum C14nError {
    /// The apex is not an element of the document.
    UnknownNode {
        /// Elements that the document has.
        elements: usize,
    },
    /// It is larger than the limit `canonical` of the document allows. Part of it was written.
    TooLarge {
        /// Octets allowed.
        allowed: usize,
    },
}

impl fmt::Display for C14nError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            C14nError::UnknownNode { elements } => write!(
                f,
                "expected an element of the document, which has {elements}, found another node"
            ),
            C14nError::TooLarge { allowed } => {
                write!(
                    f,
                    "the canonical form is larger than {allowed} octets (limit `canonical`)"
                )
            }
        }
    }
}

impl std::error::Error for C14nError {}

/// Working memory of canonicalization, to be used again and again, for any document.
#[derive(Debug, Default)]
pub struct C14nScratch {
    /// By prefix: the namespace last written in the output above. Back to its initial state after
    /// each call.
    rendered: Vec<u16>,
    rendered_undo: Vec<(u16, u16)>,
    /// By prefix: the namespace in scope in the apex.
    scope: Vec<u16>,
    /// Prefixes treated as inclusive canonicalization does, in order.
    inclusive: Vec<u16>,
    frames: Vec<Frame>,
    /// Declarations and attributes of one tag.
    declared: Vec<(u16, u16)>,
    attributes: Vec<WrittenAttribute>,
    /// One tag as rebuilt.
    tag: Vec<u8>,
    /// Small pieces of output on their way to the sink.
    staged: Vec<u8>,
}

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
/// let mut octets = Vec::new();
/// canonicalize(&document, Apex::Element(b), &options, &mut C14nScratch::default(), &mut octets)?;
/// assert_eq!(octets, br#"<p:b xmlns:p="urn:p" x="1" y="2"></p:b>"#);
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
