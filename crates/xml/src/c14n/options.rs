//! How to canonicalize, and what.

use super::method::Canonicalization;
use crate::tape::NodeId;

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
    /// The bytes are the same.
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
