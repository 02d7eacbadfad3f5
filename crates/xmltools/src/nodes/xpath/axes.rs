//! The thirteen axes and the node tests (XPath 1.0 sections 2.2 and 2.3).
//!
//! The one rule kept here: nodes come in axis order, which is document order but for the axes that
//! look back; positions in predicates count in that order.

use super::error::XPathError;
use super::expression::{Axis, NodeTest, Step};
use crate::nodes::{NodeKind, Tree, TreeNode};

/// Calls `visit` for each node on the axis of `node`, in axis order, until it says to stop.
pub(super) fn walk(
    tree: &Tree<'_>,
    axis: Axis,
    node: TreeNode,
    visit: &mut dyn FnMut(TreeNode) -> Result<bool, XPathError>,
) -> Result<(), XPathError> {
    let owned =
        |node: TreeNode| matches!(tree.kind(node), NodeKind::Namespace | NodeKind::Attribute);
    let mut all = |nodes: &mut dyn Iterator<Item = TreeNode>| {
        for node in nodes {
            if !visit(node)? {
                break;
            }
        }
        Ok(())
    };
    let siblings = || {
        tree.parent(node)
            .filter(|_| !owned(node))
            .into_iter()
            .flat_map(|parent| tree.children(parent))
    };
    match axis {
        Axis::ItSelf => all(&mut std::iter::once(node)),
        Axis::Parent => all(&mut tree.parent(node).into_iter()),
        Axis::Ancestor => all(&mut tree.ancestors_or_self(node).skip(1)),
        Axis::AncestorOrSelf => all(&mut tree.ancestors_or_self(node)),
        Axis::Attribute => all(&mut tree.attributes(node)),
        Axis::Namespace => all(&mut tree.namespaces(node)),
        Axis::Child => all(&mut tree.children(node)),
        Axis::Descendant => all(&mut tree.subtree(node).skip(1).filter(|inner| !owned(*inner))),
        Axis::DescendantOrSelf => all(&mut std::iter::once(node)
            .chain(tree.subtree(node).skip(1).filter(|inner| !owned(*inner)))),
        Axis::FollowingSibling => all(&mut siblings().skip_while(|sibling| *sibling <= node)),
        Axis::PrecedingSibling => {
            let before: Vec<TreeNode> = siblings().take_while(|sibling| *sibling < node).collect();
            all(&mut before.into_iter().rev())
        }
        Axis::Following => all(&mut tree
            .after(first_after(tree, node))
            .filter(|inner| !owned(*inner))),
        Axis::Preceding => all(&mut tree
            .before(node)
            .rev()
            .filter(|inner| !owned(*inner) && tree.end(*inner) <= node)),
    }
}

/// Whether `node`, found on the axis of `step`, passes its node test.
pub(super) fn passes(tree: &Tree<'_>, step: &Step, node: TreeNode) -> bool {
    let kind = tree.kind(node);
    let principal = match step.axis {
        Axis::Attribute => NodeKind::Attribute,
        Axis::Namespace => NodeKind::Namespace,
        _ => NodeKind::Element,
    };
    match &step.test {
        NodeTest::Any => true,
        NodeTest::Text => kind == NodeKind::Text,
        NodeTest::Comment => kind == NodeKind::Comment,
        NodeTest::Instruction(target) => {
            kind == NodeKind::Instruction
                && target
                    .as_deref()
                    .is_none_or(|target| tree.local(node) == target)
        }
        NodeTest::Principal => kind == principal,
        NodeTest::Namespace(namespace) => kind == principal && tree.namespace(node) == namespace,
        NodeTest::Name { namespace, local } => {
            kind == principal && tree.local(node) == local && tree.namespace(node) == namespace
        }
    }
}

/// Drops context nodes that can add nothing to what the others select, for a step without
/// predicates.
pub(super) fn needed(tree: &Tree<'_>, axis: Axis, nodes: &[TreeNode]) -> Vec<TreeNode> {
    match axis {
        // What is in a subtree that is walked anyway.
        Axis::Descendant | Axis::DescendantOrSelf => {
            let mut covered = TreeNode::ROOT;
            let adds = |node: &TreeNode| {
                let owned = matches!(tree.kind(*node), NodeKind::Namespace | NodeKind::Attribute);
                let new = tree.end(*node) > covered;
                covered = covered.max(if owned { covered } else { tree.end(*node) });
                new || owned
            };
            nodes.iter().copied().filter(adds).collect()
        }
        // The last node has the most before it, the one that ends first the most after it.
        Axis::Preceding => nodes.last().copied().into_iter().collect(),
        Axis::Following => nodes
            .iter()
            .copied()
            .min_by_key(|node| first_after(tree, *node))
            .into_iter()
            .collect(),
        _ => nodes.to_vec(),
    }
}

/// Where the nodes after `node` begin: behind an attribute or namespace comes the content of its
/// element.
fn first_after(tree: &Tree<'_>, node: TreeNode) -> TreeNode {
    match (tree.kind(node), tree.parent(node)) {
        (NodeKind::Namespace | NodeKind::Attribute, Some(element)) => tree.content(element),
        _ => tree.end(node),
    }
}
