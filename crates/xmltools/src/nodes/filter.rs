//! Filters of node-sets: XPath Filter 2.0 and the enveloped-signature transform.
//!
//! The XPath transform itself is [`Evaluation::filter`].
//!
//! The one rule kept here: a filter only takes away. What comes out is part of what went in.

use super::xpath::{Evaluation, Expression, XPathError};
use super::{NodeSet, Tree, TreeNode};

/// What an `XPath` element of Filter 2.0 does with the subtrees that it selects (its `Filter`
/// attribute).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operation {
    /// Only what is in them stays.
    Intersect,
    /// What is in them goes.
    Subtract,
    /// What is in them comes back.
    Union,
}

impl Operation {
    /// By the value of the `Filter` attribute.
    pub fn from_name(name: &str) -> Option<Operation> {
        match name {
            "intersect" => Some(Operation::Intersect),
            "subtract" => Some(Operation::Subtract),
            "union" => Some(Operation::Union),
            _ => None,
        }
    }
}

/// One `XPath` element of an XPath Filter 2.0 transform.
#[derive(Clone, Debug)]
pub struct Filter {
    /// What to do with the subtrees that are selected.
    pub operation: Operation,
    /// Selects their apexes, with the root node as context node.
    pub expression: Expression,
    /// What `here()` returns: the `XPath` element, if it stands in the tree.
    pub here: Option<TreeNode>,
}

/// Applies an XPath Filter 2.0 transform (section 3.4): starts from all nodes of the document,
/// applies `filters` one after another, and returns what of the result is in `input`.
///
/// # Errors
///
/// Those of [`Evaluation::select`].
pub fn filter2(
    evaluation: &mut Evaluation<'_, '_>,
    filters: &[Filter],
    input: &NodeSet,
) -> Result<NodeSet, XPathError> {
    let tree = evaluation.tree();
    let mut set = tree.whole(true);
    for Filter {
        operation,
        expression,
        here,
    } in filters
    {
        evaluation.set_here(*here);
        let selected = evaluation.select(expression)?;
        let mut subtrees = NodeSet::empty(tree.len());
        for apex in selected.iter() {
            // An apex inside a subtree that is in already adds nothing.
            if !subtrees.contains(apex) {
                subtrees.insert_range(apex.index()..tree.end(apex).index());
            }
        }
        match operation {
            Operation::Intersect => set.intersect(&subtrees),
            Operation::Subtract => set.subtract(&subtrees),
            Operation::Union => set.unite(&subtrees),
        }
    }
    set.intersect(input);
    Ok(set)
}

/// Takes the signature that contains the transform out of `set`, with all that is in it
/// (XML-Signature section 6.6.4).
pub fn enveloped_signature(tree: &Tree<'_>, signature: TreeNode, set: &mut NodeSet) {
    set.remove_range(signature.index()..tree.end(signature).index());
}
