//! Where the interesting bytes are.
//!
//! The source is looked at in blocks of 64 bytes: one bit mask says where markup may begin or end and where a character needs a
//! closer look, and the mask becomes a list of offsets. Text without such bytes costs nothing more. The rule: every byte that can change the
//! meaning of text is in the list: `<`, `>`, `&`, CR, the control characters that XML forbids, and the lead byte of U+FFFE and
//! U+FFFF.

use wide::u8x16;

/// Bytes looked at in one go; with the slack of the unrolled loop their offsets fit into the list.
const CHUNK: usize = 63 * 64;
const LIST: usize = 4096;

/// The list of interesting offsets of the part of the source that is being scanned.
#[derive(Debug)]
pub(crate) struct Structure {
    offsets: Box<[u32; LIST]>,
    count: usize,
    next: usize,
    /// How far the source was looked at.
    scanned: usize,
}

impl Default for Structure {
    fn default() -> Self {
        Structure {
            offsets: Box::new([0; LIST]),
            count: 0,
            next: 0,
            scanned: 0,
        }
    }
}

impl Structure {
    /// Starts at `from`.
    pub(crate) fn start(&mut self, from: usize) {
        self.count = 0;
        self.next = 0;
        self.scanned = from;
    }

    /// The next interesting offset; the length of the source when there is none.
    #[inline(always)]
    pub(crate) fn peek(&mut self, source: &[u8]) -> usize {
        if self.next == self.count {
            self.refill(source);
        }
        self.offsets[self.next % LIST] as usize
    }

    /// Goes on after what [`Structure::peek`] returned.
    #[inline(always)]
    pub(crate) fn advance(&mut self) {
        self.next += 1;
    }

    /// Goes on with the first interesting offset from `offset` on.
    #[inline]
    pub(crate) fn skip_to(&mut self, source: &[u8], offset: usize) {
        while self.peek(source) < offset {
            self.next += 1;
        }
    }

    #[inline(never)]
    fn refill(&mut self, source: &[u8]) {
        self.next = 0;
        self.count = 0;
        while self.count == 0 {
            let chunk = &source[self.scanned..source.len().min(self.scanned + CHUNK)];
            if chunk.is_empty() {
                self.offsets[0] = source.len() as u32;
                self.count = 1;
                return;
            }
            let (blocks, rest) = chunk.as_chunks::<64>();
            for block in blocks {
                self.list(mask(block));
            }
            if !rest.is_empty() {
                let mut block = [b' '; 64];
                block[..rest.len()].copy_from_slice(rest);
                self.list(mask(&block));
                self.scanned -= 64 - rest.len();
            }
        }
    }

    /// Appends the offsets of the bits of one block's mask.
    #[inline(always)]
    fn list(&mut self, mut mask: u64) {
        let base = self.scanned as u32;
        let found = mask.count_ones() as usize;
        let mut from = self.count;
        // Eight at a time and a few too many: cheaper than asking after each one.
        while mask != 0 {
            let Some(places) = self.offsets.get_mut(from..from + 8) else {
                break;
            };
            for place in places {
                *place = base.wrapping_add(mask.trailing_zeros());
                mask &= mask.wrapping_sub(1);
            }
            from += 8;
        }
        self.count += found;
        self.scanned += 64;
    }
}

/// One bit per interesting byte.
#[inline(always)]
fn mask(block: &[u8; 64]) -> u64 {
    let (parts, _) = block.as_chunks::<16>();
    let mut mask = 0;
    for (index, part) in parts.iter().enumerate() {
        let bytes = u8x16::new(*part);
        let is = |byte: u8| bytes.simd_eq(u8x16::splat(byte));
        let control = bytes.min(u8x16::splat(0x1F)).simd_eq(bytes);
        let interesting =
            is(b'<') | is(b'>') | is(b'&') | is(0xEF) | (control & !(is(b'\n') | is(b'\t')));
        mask |= u64::from(interesting.to_bitmask()) << (16 * index);
    }
    mask
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
            structure.advance();
        }
        found
    }

    #[test]
    fn every_interesting_byte_is_listed_wherever_it_stands() {
        let interesting = |byte: u8| {
            matches!(byte, b'<' | b'>' | b'&' | 0xEF)
                || (byte < 0x20 && byte != b'\n' && byte != b'\t')
        };
        for length in [0, 1, 63, 64, 65, 4031, 4032, 4033, 10_000] {
            let source: Vec<u8> = (0..length)
                .map(|at| (at * 7 % 251 + at / 300) as u8)
                .collect();
            for from in [0, 3] {
                let from = from.min(length);
                let expected: Vec<usize> = (from..length)
                    .filter(|&at| interesting(source[at]))
                    .collect();
                assert_eq!(
                    offsets(&source, from),
                    expected,
                    "length {length} from {from}"
                );
            }
        }
    }

    #[test]
    fn a_block_of_nothing_but_interesting_bytes_is_listed_whole() {
        let source = vec![b'<'; 9000];
        assert_eq!(offsets(&source, 0).len(), 9000);
    }
}
