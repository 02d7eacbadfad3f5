//! Changes to the source of a message, collected first and made in one pass over the bytes.

use std::ops::Range;

/// Replacements of ranges of one source, none of which overlap.
#[derive(Default)]
pub(super) struct Edits {
    edits: Vec<(Range<usize>, Vec<u8>)>,
}

impl Edits {
    /// Puts `with` in the place of `range`; an empty range is an insertion.
    pub(super) fn replace(&mut self, range: Range<usize>, with: Vec<u8>) {
        let at = self
            .edits
            .partition_point(|(other, _)| (other.start, other.end) <= (range.start, range.end));
        self.edits.insert(at, (range, with));
    }

    /// Takes out the edits inside `range`: what is encrypted takes its changes with it.
    pub(super) fn take_within(&mut self, range: &Range<usize>) -> Self {
        let inside =
            |edit: &(Range<usize>, Vec<u8>)| edit.0.start >= range.start && edit.0.end <= range.end;
        let (taken, kept) = std::mem::take(&mut self.edits)
            .into_iter()
            .partition(inside);
        self.edits = kept;
        Self { edits: taken }
    }

    /// Octets that the edits add to the source (or, negative, take from it).
    pub(super) fn growth(&self) -> isize {
        self.edits
            .iter()
            .map(|(range, with)| with.len() as isize - range.len() as isize)
            .sum()
    }

    /// Appends `source[range]` with the edits made.
    pub(super) fn apply(&self, source: &[u8], range: Range<usize>, out: &mut Vec<u8>) {
        let mut done = range.start;
        for (edit, with) in self
            .edits
            .iter()
            .filter(|(edit, _)| edit.start >= range.start && edit.end <= range.end)
        {
            out.extend_from_slice(&source[done..edit.start]);
            out.extend_from_slice(with);
            done = edit.end;
        }
        out.extend_from_slice(&source[done..range.end]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_made_in_the_order_of_the_source() {
        let mut edits = Edits::default();
        edits.replace(4..5, b"E".to_vec());
        edits.replace(1..1, b"+".to_vec());
        edits.replace(2..3, Vec::new());
        let mut out = Vec::new();
        edits.apply(b"abcdef", 0..6, &mut out);
        assert_eq!(out, b"a+bdEf");
        assert_eq!(edits.growth(), 0);
    }

    #[test]
    fn edits_inside_a_range_can_be_taken_out_and_made_there() {
        let mut edits = Edits::default();
        edits.replace(0..1, b"A".to_vec());
        edits.replace(3..4, b"D".to_vec());
        let inside = edits.take_within(&(2..5));
        let mut out = Vec::new();
        inside.apply(b"abcdef", 2..5, &mut out);
        assert_eq!(out, b"cDe");
        out.clear();
        edits.apply(b"abcdef", 0..6, &mut out);
        assert_eq!(out, b"Abcdef");
    }
}
