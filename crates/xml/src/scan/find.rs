//! Where names and attribute values end.
//!
//! Both are short, so that 16 bytes at a time with the vectors every machine has are enough. The
//! rule: a byte that could end them is never passed over.

use crate::chars;
use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x16};

/// The first byte from `from` on that ends a name, well-formed or not: white space or a control
/// character, `=`, `/`, `>`. The length of the source if there is none.
#[inline]
pub(crate) fn name_end(source: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(window) = source.get(at..at + 16).and_then(<[u8]>::first_chunk) {
        let ends = dispatch!(Level::baseline(), simd => name_ends(simd, window));
        if ends != 0 {
            return at + ends.trailing_zeros() as usize;
        }
        at += 16;
    }
    let rest = source.get(at..).unwrap_or(&[]);
    let ends = |&byte: &u8| byte <= b' ' || matches!(byte, b'=' | b'/' | b'>');
    at + rest.iter().position(ends).unwrap_or(rest.len())
}

#[inline(always)]
fn name_ends<S: Simd>(simd: S, window: &[u8; 16]) -> u64 {
    let bytes = u8x16::simd_from(simd, *window);
    let space = bytes.min(u8x16::splat(simd, b' ')).simd_eq(bytes);
    let equals = bytes.simd_eq(u8x16::splat(simd, b'='));
    let slash = bytes.simd_eq(u8x16::splat(simd, b'/'));
    let close = bytes.simd_eq(u8x16::splat(simd, b'>'));
    (space | equals | slash | close).to_bitmask()
}

/// The first byte from `from` on that is `quote`, `<`, `&` or a control character. The length of
/// the source if there is none.
#[inline]
pub(crate) fn value_stop(source: &[u8], from: usize, quote: u8) -> usize {
    let mut at = from;
    while let Some(window) = source.get(at..at + 16).and_then(<[u8]>::first_chunk) {
        let stops = dispatch!(Level::baseline(), simd => value_stops(simd, window, quote));
        if stops != 0 {
            return at + stops.trailing_zeros() as usize;
        }
        at += 16;
    }
    let rest = source.get(at..).unwrap_or(&[]);
    let stops = |&byte: &u8| byte < b' ' || byte == quote || matches!(byte, b'<' | b'&');
    at + rest.iter().position(stops).unwrap_or(rest.len())
}

#[inline(always)]
fn value_stops<S: Simd>(simd: S, window: &[u8; 16], quote: u8) -> u64 {
    let bytes = u8x16::simd_from(simd, *window);
    let control = bytes.min(u8x16::splat(simd, 0x1F)).simd_eq(bytes);
    let quote = bytes.simd_eq(u8x16::splat(simd, quote));
    let less = bytes.simd_eq(u8x16::splat(simd, b'<'));
    let reference = bytes.simd_eq(u8x16::splat(simd, b'&'));
    (control | quote | less | reference).to_bitmask()
}

/// The first `wanted` from `from` on. The length of the source if there is none.
#[inline]
pub(crate) fn byte(source: &[u8], from: usize, wanted: u8) -> usize {
    let mut at = from;
    while let Some(window) = source.get(at..at + 16).and_then(<[u8]>::first_chunk) {
        let found = dispatch!(Level::baseline(), simd => {
            u8x16::simd_from(simd, *window).simd_eq(u8x16::splat(simd, wanted)).to_bitmask()
        });
        if found != 0 {
            return at + found.trailing_zeros() as usize;
        }
        at += 16;
    }
    let rest = source.get(at..).unwrap_or(&[]);
    at + rest
        .iter()
        .position(|&byte| byte == wanted)
        .unwrap_or(rest.len())
}

/// The first byte from `from` on that is not white space.
#[inline]
pub(super) fn space_end(source: &[u8], from: usize) -> usize {
    let mut at = from;
    while source.get(at).is_some_and(|&byte| chars::is_space(byte)) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_found_wherever_they_stand() {
        for length in 0..50 {
            for behind in 0..20 {
                let name = "é".repeat(length / 2) + &"a".repeat(length % 2);
                for end in [" ", "\n", "=", "/", ">", "\u{1}"] {
                    let source = format!("{name}{end}{}", "x".repeat(behind));
                    assert_eq!(name_end(source.as_bytes(), 0), length);
                }
                for stop in ["\"", "<", "&", "\t"] {
                    let source = format!("{name}{stop}{}", "x".repeat(behind));
                    assert_eq!(value_stop(source.as_bytes(), 0, b'"'), length);
                }
                let source = format!("{name}'{}", "x".repeat(behind));
                assert_eq!(byte(source.as_bytes(), 0, b'\''), length);
                assert_eq!(byte(source.as_bytes(), 0, b'"'), source.len());
                assert_eq!(value_stop(source.as_bytes(), 0, b'"'), source.len());
                assert_eq!(value_stop(source.as_bytes(), 0, b'\''), length);
                assert_eq!(name_end(source.as_bytes(), 0), source.len());
            }
        }
    }
}
