//! A node of a tree, by its place.
//!
//! The one rule: the order of nodes is document order.

/// A node of a [`Tree`](super::Tree). Ordered by document order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TreeNode(pub(super) u32);

impl TreeNode {
    /// The root node, parent of the document element.
    pub const ROOT: TreeNode = TreeNode(0);

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}
