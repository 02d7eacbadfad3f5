//! The markup that nearly all of a document is made of.
//!
//! `<name>text</name>`, `<name>` and `</name>`, with names that were seen before in the same
//! namespace, are understood in one tight loop over the list of interesting bytes. The rule: what
//! the loop accepts is what the general path would have accepted, with the same tape; whatever is
//! not obvious is left to that path.

use super::scanner::Scanner;
use super::workspace::{Open, Workspace, mixed};
use crate::names::{Name, SHORT, mask_name};
use crate::tape::{Entry, flags};
use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x16};

/// Bytes that are looked at together: `</` and a short name with its `>`.
const HEAD: usize = 18;

impl Scanner<'_> {
    /// Whether what comes next looks like something for [`Scanner::usual`]: asking is cheaper than
    /// beginning in vain.
    #[inline]
    pub(super) fn is_usual(&mut self) -> bool {
        let at = self.work.structure.peek(self.source);
        match head(self.source, at as u32) {
            Some([b'<', b'/', ..]) => {
                let name = self.parts.names.all().get(self.top.name as usize);
                self.top.flags & flags::NAMESPACES == 0
                    && name.is_some_and(|name| (name.length as usize) < SHORT)
            }
            Some(head @ [b'<', ..]) => dispatch!(Level::baseline(), simd => {
                let window = u8x16::simd_from(simd, *behind::<1>(head));
                window.simd_eq(u8x16::splat(simd, b'>')).any_true()
            }),
            _ => false,
        }
    }

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
        let known = names.all();
        let tape = &mut self.tape;
        let Workspace {
            structure,
            outer,
            bindings,
            undo,
            guess,
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
                    let Some(name) = known.get(top.name as usize) else {
                        break false;
                    };
                    // Bindings to take back and what follows the root are not for this loop.
                    if !is_name(simd, behind::<2>(head), name)
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
                    entry.end = base + at + 3 + u32::from(name.length);
                    entry.flags = top.flags;
                    parent.flags |= mixed(&top, &parent);
                    top = parent;
                    rest = &rest[1..];
                    continue;
                }

                let window = behind::<1>(head);
                let guessed = tape.get(guess.next).map_or(0, |entry| entry.name);
                let (index, name) = match known.get(guessed as usize) {
                    Some(name)
                        if is_name(simd, window, name)
                            && bindings.get(name.prefix as usize) == Some(&name.uri) =>
                    {
                        guess.next += 1;
                        (guessed, name)
                    }
                    _ => {
                        let bytes = u8x16::simd_from(simd, *window);
                        let close = bytes.simd_eq(u8x16::splat(simd, b'>')).to_bitmask();
                        let length = (close | 1 << SHORT).trailing_zeros() as usize;
                        let key = mask_name(window, length % SHORT);
                        let Some(index) = names.cached_name(key, bindings) else {
                            break false;
                        };
                        let Some(name) = known.get(index as usize) else {
                            break false;
                        };
                        guess.correct(index, tape.len());
                        (index, name)
                    }
                };
                if outer.is_empty() || outer.len() >= deepest || tape.len() >= elements {
                    break false;
                }
                let prefix = name.prefix;
                let start = base + at;
                let flags = flags::of_length(name.length as usize + 2);
                if is_end_tag(simd, source, next, name) {
                    let end = base + next + 3 + u32::from(name.length);
                    tape.push(Entry {
                        start,
                        end,
                        parent: top.index,
                        name: index,
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
                let place = tape.len() as u32;
                tape.push(Entry {
                    start,
                    end: start,
                    parent: top.index,
                    name: index,
                    flags,
                });
                outer.push(top);
                top = Open {
                    index: place,
                    undo,
                    name: index,
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

#[inline(always)]
fn head(source: &[u8], at: u32) -> Option<&[u8; HEAD]> {
    let at = at as usize;
    source.get(at..at + HEAD)?.first_chunk()
}

#[inline(always)]
fn behind<const N: usize>(head: &[u8; HEAD]) -> &[u8; SHORT] {
    match head[N..].first_chunk() {
        Some(window) => window,
        None => &[0; SHORT],
    }
}

/// Whether `window` begins with a name, which is short, and `>`.
#[inline(always)]
fn is_name<S: Simd>(simd: S, window: &[u8; SHORT], name: &Name) -> bool {
    let window = u8x16::simd_from(simd, *window);
    let equal = window
        .simd_eq(u8x16::simd_from(simd, name.key))
        .to_bitmask();
    !(equal as u16) & name.mask == 0
}

#[inline(always)]
fn is_end_tag<S: Simd>(simd: S, source: &[u8], at: u32, name: &Name) -> bool {
    match head(source, at) {
        Some(head) => head[0] == b'<' && head[1] == b'/' && is_name(simd, behind::<2>(head), name),
        None => false,
    }
}
