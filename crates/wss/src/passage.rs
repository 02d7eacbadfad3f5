//! The message that an intermediary passes on: the bytes that came, with some ranges exchanged.
//!
//! The one rule: nothing is written anew. What stands between the ranges goes on as it came, white
//! space and comments included, so that no signature of others changes.

use std::ops::Range;

use soapstone_xml::NodeId;

/// The ranges of a message that an intermediary exchanges.
#[derive(Debug, Default)]
pub(crate) struct Passage {
    /// Ascending, and none in another one; with the bytes that take the place of each.
    exchanged: Vec<(Range<usize>, Vec<u8>)>,
    /// Header blocks that go no further, whose sender addressed and signed them for this node.
    addressed: Vec<NodeId>,
}

impl Passage {
    /// Of a message whose sender addressed and signed those header blocks for this node.
    pub(crate) fn taking(addressed: Vec<NodeId>) -> Self {
        Self {
            exchanged: Vec::new(),
            addressed,
        }
    }

    /// The header blocks that are addressed to this node and signed for it.
    pub(crate) fn addressed(&self) -> &[NodeId] {
        &self.addressed
    }

    /// Has bytes take the place of a range that lies behind those before, or is inside of the last
    /// one and goes with it.
    pub(crate) fn exchange(&mut self, range: Range<usize>, with: Vec<u8>) {
        let last = self.exchanged.last();
        if last.is_none_or(|(last, _)| last.end <= range.start) {
            self.exchanged.push((range, with));
        }
    }

    /// Appends the message.
    pub(crate) fn write(&self, source: &[u8], out: &mut Vec<u8>) {
        let mut done = 0;
        for (range, with) in &self.exchanged {
            out.extend_from_slice(&source[done..range.start]);
            out.extend_from_slice(with);
            done = range.end;
        }
        out.extend_from_slice(&source[done..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_exchanged_ranges_stays() {
        let mut passage = Passage::default();
        passage.exchange(1..3, Vec::new());
        passage.exchange(2..3, b"no".to_vec());
        passage.exchange(3..4, b"D!".to_vec());
        let mut out = Vec::new();
        passage.write(b"abcdef", &mut out);
        assert_eq!(out, b"aD!ef");
    }
}
