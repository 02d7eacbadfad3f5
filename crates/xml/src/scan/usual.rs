//! The markup that nearly all of a document is made of.
//!
//! `<name>text</name>`, `<name>` and `</name>`, with names that were seen before in the same namespace, are understood in one tight loop
//! over the list of interesting bytes. The rule: what the loop accepts is what the general path would have accepted, with the same tape;
//! whatever is not obvious is left to that path.

use super::{Open, Scanner, Workspace};
use crate::names::{Key, SHORT, mask_name};
use crate::tape::{Entry, flags};
use fearless_simd::prelude::*;
use fearless_simd::{dispatch, u8x16};

/// Bytes that are looked at together: `</` and a short name with its `>`.
const HEAD: usize = 18;

impl Scanner<'_> {
    /// Goes on until something is not as usual.
    #[inline(never)]
    pub(super) fn usual(&mut self) {
        dispatch!(self.work.structure.level(), simd => self.usual_with(simd));
    }

    #[inline(always)]
    fn usual_with<S: Simd>(&mut self, simd: S) {
        let source = self.source;
        let base = self.base;
        let (deepest, elements) = (self.deepest, self.limits.elements as usize);
        let names = &self.parts.names;
        let tape = &mut self.tape;
        let Workspace {
            structure,
            outer,
            bindings,
            undo,
            ..
        } = &mut self.work;
        let undo = undo.len() as u32;
        let mut top = self.top;
        loop {
            let offsets = structure.rest(source);
            let mut rest = offsets;
            let refill = loop {
                let [at, next, ..] = *rest else { break true };
                let Some(head) = head(source, at) else {
                    break false;
                };
                if head[0] != b'<' {
                    break false;
                }
                if head[1] == b'/' {
                    let length = top.name_length as usize;
                    // Bindings to take back and what follows the root are not for this loop.
                    if length >= SHORT
                        || mask_name(behind::<2>(head), length) != top.key
                        || top.flags & flags::NAMESPACES != 0
                        || outer.len() < 2
                    {
                        break false;
                    }
                    let Some(mut parent) = outer.pop() else {
                        break false;
                    };
                    let Some(entry) = tape.get_mut(top.index as usize) else {
                        break false;
                    };
                    entry.end = base + at + 3 + length as u32;
                    entry.flags = top.flags;
                    parent.flags |= mixed(&top, &parent);
                    top = parent;
                    rest = &rest[1..];
                    continue;
                }
                let window = behind::<1>(head);
                let window_bytes = u8x16::simd_from(simd, *window);
                let close = window_bytes.simd_eq(u8x16::splat(simd, b'>')).to_bitmask();
                let length = (close | 1 << SHORT).trailing_zeros() as usize;
                let key = mask_name(window, length % SHORT);
                let Some((name, prefix)) = names.cached_name(key, bindings) else {
                    break false;
                };
                if outer.is_empty() || outer.len() >= deepest || tape.len() >= elements {
                    break false;
                }
                let start = base + at;
                let flags = flags::of_length(length + 2);
                if is_end_tag(source, next, key, length) {
                    let end = base + next + 3 + length as u32;
                    tape.push(Entry {
                        start,
                        end,
                        parent: top.index,
                        name,
                        flags,
                    });
                    top.flags |= if prefix == top.prefix {
                        0
                    } else {
                        flags::MIXED
                    };
                    rest = &rest[2..];
                    continue;
                }
                let index = tape.len() as u32;
                tape.push(Entry {
                    start,
                    end: start,
                    parent: top.index,
                    name,
                    flags,
                });
                outer.push(top);
                top = Open {
                    key,
                    index,
                    name_at: at + 1,
                    undo,
                    name_length: length as u16,
                    prefix,
                    flags,
                };
                rest = &rest[1..];
            };
            let taken = offsets.len() - rest.len();
            structure.advance(taken);
            if !refill {
                break;
            }
        }
        self.top = top;
    }
}

/// What a child does to its parent's [`flags::MIXED`].
#[inline(always)]
pub(super) fn mixed(child: &Open, parent: &Open) -> u16 {
    let plain = child.flags & (flags::TAG | flags::CONTENT | flags::MIXED) == 0
        && child.prefix == parent.prefix;
    if plain { 0 } else { flags::MIXED }
}

#[inline(always)]
fn head(source: &[u8], at: u32) -> Option<&[u8; HEAD]> {
    let at = at as usize;
    source.get(at..at + HEAD)?.first_chunk()
}

#[inline(always)]
fn behind<const N: usize>(head: &[u8; HEAD]) -> &[u8; 16] {
    match head[N..].first_chunk() {
        Some(window) => window,
        None => &[0; 16],
    }
}

#[inline(always)]
fn is_end_tag(source: &[u8], at: u32, key: Key, length: usize) -> bool {
    match head(source, at) {
        Some(head) => {
            head[0] == b'<' && head[1] == b'/' && mask_name(behind::<2>(head), length) == key
        }
        None => false,
    }
}
