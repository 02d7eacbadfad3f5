//! Sets of nodes of one tree, as the transforms of XML-Signature pass them on.
//!
//! The one rule kept here: a set knows nothing of its tree but its size. Sets of one tree combine;
//! every node of the tree is in or out.

use std::ops::Range;

use super::node::TreeNode;

/// A set of nodes of one [`Tree`](super::Tree): one bit per node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeSet {
    words: Vec<u64>,
    nodes: usize,
}

impl NodeSet {
    /// No node of a tree of `nodes` nodes.
    pub fn empty(nodes: usize) -> NodeSet {
        NodeSet {
            words: vec![0; nodes.div_ceil(64)],
            nodes,
        }
    }

    /// Whether `node` is in the set.
    pub fn contains(&self, node: TreeNode) -> bool {
        self.words
            .get(node.index() / 64)
            .is_some_and(|word| word >> (node.index() % 64) & 1 == 1)
    }

    /// Whether no node is in the set.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Number of nodes in the set.
    pub fn len(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Adds a node of the tree.
    pub fn insert(&mut self, node: TreeNode) {
        if node.index() < self.nodes {
            self.words[node.index() / 64] |= 1 << (node.index() % 64);
        }
    }

    /// Takes a node out.
    pub fn remove(&mut self, node: TreeNode) {
        if let Some(word) = self.words.get_mut(node.index() / 64) {
            *word &= !(1 << (node.index() % 64));
        }
    }

    /// Keeps the nodes that are in `other` too.
    pub fn intersect(&mut self, other: &NodeSet) {
        self.combine(other, |word, other| word & other);
    }

    /// Takes out the nodes that are in `other`.
    pub fn subtract(&mut self, other: &NodeSet) {
        self.combine(other, |word, other| word & !other);
    }

    /// Adds the nodes that are in `other`.
    pub fn unite(&mut self, other: &NodeSet) {
        self.combine(other, |word, other| word | other);
    }

    /// The nodes in document order.
    pub fn iter(&self) -> impl Iterator<Item = TreeNode> + '_ {
        self.words.iter().enumerate().flat_map(|(index, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(TreeNode(index as u32 * 64 + bit))
            })
        })
    }

    pub(super) fn insert_range(&mut self, range: Range<usize>) {
        self.each_word(range, |word, mask| *word |= mask);
    }

    pub(super) fn remove_range(&mut self, range: Range<usize>) {
        self.each_word(range, |word, mask| *word &= !mask);
    }

    fn each_word(&mut self, range: Range<usize>, change: impl Fn(&mut u64, u64)) {
        let (start, end) = (range.start, range.end.min(self.nodes));
        let mut at = start;
        while at < end {
            let word_end = (at / 64 + 1) * 64;
            let stop = word_end.min(end);
            let mask = (u64::MAX << (at % 64)) & (u64::MAX >> (word_end - stop));
            change(&mut self.words[at / 64], mask);
            at = stop;
        }
    }

    fn combine(&mut self, other: &NodeSet, operation: impl Fn(u64, u64) -> u64) {
        let others = other.words.iter().copied().chain(std::iter::repeat(0));
        for (word, other) in self.words.iter_mut().zip(others) {
            *word = operation(*word, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(set: &NodeSet) -> Vec<u32> {
        set.iter().map(|node| node.0).collect()
    }

    #[test]
    fn ranges_reach_across_words_and_stop_at_the_tree() {
        let mut set = NodeSet::empty(200);
        set.insert_range(60..130);
        assert_eq!(members(&set), (60..130).collect::<Vec<_>>());
        set.remove_range(64..129);
        assert_eq!(members(&set), [60, 61, 62, 63, 129]);
        set.insert_range(198..1000);
        set.insert(TreeNode(1000));
        assert_eq!(members(&set), [60, 61, 62, 63, 129, 198, 199]);
        assert_eq!(
            (
                set.len(),
                set.contains(TreeNode(129)),
                set.contains(TreeNode(1000))
            ),
            (7, true, false)
        );
    }

    #[test]
    fn sets_combine_as_sets_do() {
        let of = |range| {
            let mut set = NodeSet::empty(100);
            set.insert_range(range);
            set
        };
        let (mut both, mut first, mut all) = (of(0..70), of(0..70), of(0..70));
        both.intersect(&of(60..90));
        first.subtract(&of(60..90));
        all.unite(&of(60..90));
        assert_eq!(members(&both), (60..70).collect::<Vec<_>>());
        assert_eq!(members(&first), (0..60).collect::<Vec<_>>());
        assert_eq!(members(&all), (0..90).collect::<Vec<_>>());
        first.subtract(&of(0..60));
        assert!(first.is_empty());
    }
}
