//! Where the interesting bytes are.
//!
//! The source is looked at in blocks of 64 bytes: bit masks say where markup begins and where a character needs a closer look, and the
//! masks become a list of offsets. Text without such bytes costs nothing more. The rule: every byte that can change the meaning of text
//! is in the list: `<`, `&`, CR, the control characters that XML forbids, and each `>` that is not the first one behind a `<`.

use wide::u8x16;

/// Bytes looked at in one go; with what is left over and the slack of the unrolled loop their offsets fit into the list.
const CHUNK: usize = 62 * 64;
const LIST: usize = 4096;

/// The list of interesting offsets of the part of the source that is being scanned.
#[derive(Debug)]
pub(crate) struct Structure {
    offsets: Box<[u32; LIST]>,
    count: usize,
    next: usize,
    /// How far the source was looked at.
    scanned: usize,
    /// Whether there was a `<` without a `>` behind it so far.
    inside: bool,
    /// All bytes seen, or-ed.
    seen: u8x16,
}

impl Default for Structure {
    fn default() -> Self {
        Structure {
            offsets: Box::new([0; LIST]),
            count: 0,
            next: 0,
            scanned: 0,
            inside: false,
            seen: u8x16::splat(0),
        }
    }
}

impl Structure {
    /// Starts at `from`.
    pub(crate) fn start(&mut self, from: usize) {
        self.count = 0;
        self.next = 0;
        self.scanned = from;
        self.inside = false;
        self.seen = u8x16::splat(0);
    }

    /// Whether what was looked at so far was ASCII.
    pub(crate) fn is_ascii(&self) -> bool {
        self.seen.to_bitmask() == 0
    }

    /// The next two interesting offsets; the length of the source where there are none.
    #[inline(always)]
    pub(crate) fn ahead(&mut self, source: &[u8]) -> [usize; 2] {
        if self.next + 2 > self.count {
            self.refill(source);
        }
        match self.offsets.get(self.next..self.next + 2) {
            Some(&[first, second]) => [first as usize, second as usize],
            _ => [source.len(); 2],
        }
    }

    /// The next interesting offset.
    #[inline]
    pub(crate) fn peek(&mut self, source: &[u8]) -> usize {
        self.ahead(source)[0]
    }

    /// Goes on behind so many offsets, at most two.
    #[inline(always)]
    pub(crate) fn advance(&mut self, offsets: usize) {
        self.next += offsets;
    }

    /// Goes on with the first interesting offset from `offset` on.
    #[inline]
    pub(crate) fn skip_to(&mut self, source: &[u8], offset: usize) {
        while self.peek(source) < offset {
            self.advance(1);
        }
    }

    /// Keeps what is left of the list and appends what the next part of the source has.
    #[inline(never)]
    fn refill(&mut self, source: &[u8]) {
        self.offsets
            .copy_within(self.next.min(self.count)..self.count, 0);
        self.count -= self.next.min(self.count);
        self.next = 0;
        while self.count < 2 {
            let chunk = &source[self.scanned..source.len().min(self.scanned + CHUNK)];
            if chunk.is_empty() {
                self.offsets[self.count..self.count + 2].fill(source.len() as u32);
                self.count += 2;
                return;
            }
            let (blocks, rest) = chunk.as_chunks::<64>();
            for block in blocks {
                self.list(block);
            }
            if !rest.is_empty() {
                let mut block = [b' '; 64];
                block[..rest.len()].copy_from_slice(rest);
                self.list(&block);
                self.scanned -= 64 - rest.len();
            }
        }
    }

    /// Appends the interesting offsets of one block.
    #[inline(always)]
    fn list(&mut self, block: &[u8; 64]) {
        let (mut starts, mut ends, mut others) = (0, 0, 0);
        for (index, part) in block.as_chunks::<16>().0.iter().enumerate() {
            let bytes = u8x16::new(*part);
            self.seen = self.seen | bytes;
            let is = |byte: u8| bytes.simd_eq(u8x16::splat(byte));
            let control = bytes.min(u8x16::splat(0x1F)).simd_eq(bytes);
            let other = is(b'&') | (control & !(is(b'\n') | is(b'\t')));
            starts |= u64::from(is(b'<').to_bitmask()) << (16 * index);
            ends |= u64::from(is(b'>').to_bitmask()) << (16 * index);
            others |= u64::from(other.to_bitmask()) << (16 * index);
        }
        // A carry runs from each `<` to the first `>` behind it, out of the block if need be.
        let (sum, carried) = (!ends).overflowing_add(starts);
        let (sum, carried_on) = sum.overflowing_add(u64::from(self.inside));
        self.inside = carried | carried_on;
        let mut mask = starts | others | (ends & !sum);

        let base = self.scanned as u32;
        // Eight at a time and a few too many: cheaper than asking after each one.
        while let Some(places) = self.offsets.get_mut(self.count..self.count + 8) {
            let mut rest = mask;
            for place in places {
                *place = base.wrapping_add(rest.trailing_zeros());
                rest &= rest.wrapping_sub(1);
            }
            if rest == 0 {
                self.count += mask.count_ones() as usize;
                break;
            }
            self.count += 8;
            mask = rest;
        }
        self.scanned += 64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(source: &[u8], from: usize) -> Vec<usize> {
        let mut structure = Structure::default();
        structure.start(from);
        let mut found = Vec::new();
        while structure.peek(source) < source.len() {
            found.push(structure.peek(source));
            structure.advance(1);
        }
        found
    }

    fn expected(source: &[u8], from: usize) -> Vec<usize> {
        let mut inside = false;
        let interesting = |at: &usize| match source[*at] {
            b'<' => {
                inside = true;
                true
            }
            b'>' => !std::mem::take(&mut inside),
            b'\n' | b'\t' => false,
            byte => byte == b'&' || byte < 0x20,
        };
        (from..source.len()).filter(interesting).collect()
    }

    #[test]
    fn every_interesting_byte_is_listed_wherever_it_stands() {
        for length in [0, 1, 63, 64, 65, 3967, 3968, 3969, 10_000] {
            let source: Vec<u8> = (0..length)
                .map(|at| (at * 7 % 251 + at / 300) as u8)
                .collect();
            for from in [0, 3] {
                let from = from.min(length);
                assert_eq!(
                    offsets(&source, from),
                    expected(&source, from),
                    "length {length} from {from}"
                );
            }
        }
    }

    #[test]
    fn only_a_greater_than_in_text_is_listed() {
        for gap in 0..200 {
            let spaces = " ".repeat(gap);
            let source =
                format!("<a{spaces}>{spaces}>{spaces}</a{spaces}><b{spaces}><{spaces}<>{spaces}>");
            assert_eq!(
                offsets(source.as_bytes(), 0),
                expected(source.as_bytes(), 0)
            );
        }
    }

    #[test]
    fn a_block_of_nothing_but_interesting_bytes_is_listed_whole() {
        let source = vec![b'<'; 9000];
        assert_eq!(offsets(&source, 0).len(), 9000);
    }
}
