//! Where the interesting bytes are.
//!
//! The source is looked at in blocks of 64 bytes: bit masks say where markup begins and where a
//! character needs a closer look, and the masks become a list of offsets. Text without such bytes
//! costs nothing more. The rule: every byte that can change the meaning of text is in the list:
//! `<`, `&`, CR, the control characters that XML forbids, and each `>` that is not the first one
//! behind a `<`.

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, mask8x64, u8x64};

/// Bytes looked at in one go; with what is left over and the slack of the unrolled loop their
/// offsets fit into the list.
const CHUNK: usize = 62 * 64;
const LIST: usize = 4096;

/// The list of interesting offsets of the part of the source that is being scanned.
#[derive(Debug)]
pub(crate) struct Structure {
    /// What the machine can do.
    level: Level,
    offsets: Box<[u32; LIST]>,
    count: usize,
    next: usize,
    /// How far the source was looked at.
    scanned: usize,
    /// Whether there was a `<` without a `>` behind it so far.
    inside: bool,
    ascii: bool,
}

impl Default for Structure {
    fn default() -> Self {
        Structure {
            level: Level::new(),
            offsets: Box::new([0; LIST]),
            count: 0,
            next: 0,
            scanned: 0,
            inside: false,
            ascii: true,
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
        self.ascii = true;
    }

    /// What the machine can do.
    pub(crate) fn level(&self) -> Level {
        self.level
    }

    /// Whether what was looked at so far was ASCII.
    pub(crate) fn is_ascii(&self) -> bool {
        self.ascii
    }

    /// The interesting offsets that are listed already, at least two; the length of the source
    /// stands for those that are not there.
    #[inline]
    pub(crate) fn rest(&mut self, source: &[u8]) -> &[u32] {
        if self.next + 2 > self.count {
            self.refill(source);
        }
        self.offsets.get(self.next..self.count).unwrap_or(&[])
    }

    /// The next interesting offset.
    #[inline]
    pub(crate) fn peek(&mut self, source: &[u8]) -> usize {
        self.rest(source)
            .first()
            .map_or(source.len(), |&offset| offset as usize)
    }

    /// Goes on behind so many offsets, at most as many as are listed.
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
            dispatch!(self.level, simd => self.list(simd, chunk));
        }
    }

    /// Appends the interesting offsets of the next part of the source.
    #[inline(always)]
    fn list<S: Simd>(&mut self, simd: S, chunk: &[u8]) {
        let (blocks, rest) = chunk.as_chunks::<64>();
        let mut count = self.count;
        let mut inside = self.inside;
        let mut base = self.scanned as u32;
        let mut seen = u8x64::splat(simd, 0);
        for block in blocks {
            let bytes = u8x64::simd_from(simd, *block);
            seen |= bytes;
            let found = mask(simd, bytes, &mut inside);
            // Long text, base64 above all, has nothing for many blocks.
            if found != 0 {
                count = list_bits(&mut self.offsets, count, base, found);
            }
            base += 64;
        }
        if !rest.is_empty() {
            let mut block = [b' '; 64];
            block[..rest.len()].copy_from_slice(rest);
            let bytes = u8x64::simd_from(simd, block);
            seen |= bytes;
            count = list_bits(
                &mut self.offsets,
                count,
                base,
                mask(simd, bytes, &mut inside),
            );
        }
        self.count = count;
        self.inside = inside;
        self.scanned += chunk.len();
        self.ascii &= !seen.simd_ge(u8x64::splat(simd, 0x80)).any_true();
    }
}

/// One bit per interesting byte.
#[inline(always)]
fn mask<S: Simd>(simd: S, bytes: u8x64<S>, inside: &mut bool) -> u64 {
    let starts = places(simd, bytes, b'<').to_bitmask();
    let ends = places(simd, bytes, b'>').to_bitmask();
    let control = bytes.min(u8x64::splat(simd, 0x1F)).simd_eq(bytes);
    let allowed = places(simd, bytes, b'\n') | places(simd, bytes, b'\t');
    let others = (places(simd, bytes, b'&') | (control & !allowed)).to_bitmask();
    // A carry runs from each `<` to the first `>` behind it, out of the block if need be.
    let (sum, carried) = (!ends).overflowing_add(starts);
    let (sum, carried_on) = sum.overflowing_add(u64::from(*inside));
    *inside = carried | carried_on;
    starts | others | (ends & !sum)
}

#[inline(always)]
fn places<S: Simd>(simd: S, bytes: u8x64<S>, byte: u8) -> mask8x64<S> {
    bytes.simd_eq(u8x64::splat(simd, byte))
}

/// Appends the offsets of the bits of one block's mask; returns how many there are now.
#[inline(always)]
fn list_bits(offsets: &mut [u32; LIST], mut count: usize, base: u32, mut mask: u64) -> usize {
    // Eight at a time and a few too many: cheaper than asking after each one.
    while let Some(places) = offsets.get_mut(count..count + 8) {
        let found = mask.count_ones() as usize;
        for place in places {
            *place = base.wrapping_add(mask.trailing_zeros());
            mask &= mask.wrapping_sub(1);
        }
        if mask == 0 {
            return count + found;
        }
        count += 8;
    }
    count
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
