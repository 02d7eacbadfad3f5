//! Trees, node-sets and XPath: the slow path, for the transforms of XML-Signature that the fast
//! path does not know.
//!
//! WS-Security needs none of this. XML-Signature as such does: an XPath transform or a filter
//! selects an arbitrary set of nodes, and canonicalization then writes that set, orphaned
//! attributes and namespaces included. The `soapstone xml …` commands offer it. A [`Tree`] is built
//! from a [`Document`](soapstone_xml::Document), [`xpath`] and [`Filter`](filter::Filter)
//! make [`NodeSet`]s of it, [`canonicalize_nodes`] writes them.
//!
//! The one rule kept here: whatever comes with a message (expression, document, depth, size) is
//! bounded, and passing a bound is an error with a name.

mod build;
mod canonical;
pub mod filter;
mod node;
mod set;
mod tree;
pub mod xpath;

pub use build::TreeTooLarge;
pub use canonical::canonicalize_nodes;
pub use node::TreeNode;
pub use set::NodeSet;
pub use tree::{NodeKind, Tree};
