//! Start tags that were met before: the table.
//!
//! The names that a tag refers to own the table: with them it is forgotten. The rule: a tag that is
//! found is written like the tag that was kept, but for what stands in its blank.

use super::find;
use super::places::Places;
use crate::numbers::NONE;
use std::ops::Range;

/// Longest tag that is kept: the start of an envelope that declares five or six namespaces is
/// longer, but comes once in a message.
pub(super) const LONGEST: usize = 320;

/// Shortest one: those without attributes are cheap anyway.
const SHORTEST: usize = 18;

/// Most attributes and declarations of a tag that is kept.
pub(super) const MOST_ATTRIBUTES: usize = 16;

/// Tags that are kept. A signed and encrypted message has about twenty that others have, too.
pub(super) const KEPT: usize = 256;

/// Places of tags with a blank, by what they begin with.
const BEGINNINGS: usize = 64;

/// Tags with a blank that begin alike: `<wsse:Reference URI="` goes on with each kind of token.
const ALIKE: usize = 4;

/// The first value of a tag with a blank begins at most so far behind its `<`.
const BEGINNING: usize = 64;

/// The tags, kept as long as the names that they refer to.
#[derive(Debug)]
pub(crate) struct TagCache {
    /// Index of the tag that was met last.
    last: u16,
    pub(super) places: Places,
    /// Indexes of tags with a blank, the last one kept first.
    beginnings: Vec<[u16; ALIKE]>,
    pub(super) tags: Vec<KnownTag>,
    pub(super) text: Vec<u8>,
    /// Prefix and namespace: what tags declare, and what must be bound already.
    pub(super) bindings: Vec<(u16, u16)>,
    pub(super) attributes: Vec<KnownAttribute>,
}

/// A tag: ranges of the lists of [`TagCache`].
#[derive(Clone, Debug)]
pub(super) struct KnownTag {
    /// The tag that came next when this one was met last: what is looked at first, as messages
    /// have the same order mostly.
    pub(super) next: u16,
    /// Without what stands in the blank.
    pub(super) text: Range<usize>,
    pub(super) blank: Option<Blank>,
    pub(super) declared: Range<usize>,
    pub(super) needed: Range<usize>,
    pub(super) attributes: Range<usize>,
    /// [Shapes](crate::ids::shape) of the local names of its attributes.
    pub(super) shapes: u64,
    pub(super) name: u16,
    pub(super) flags: u16,
    pub(super) empty: bool,
}

/// Where a tag is different in each message: between the quotes of one of its attributes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blank {
    /// Its place in the tag.
    pub(super) at: u32,
    pub(super) holds: Holds,
}

/// What stands in a blank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    Id,
    Lookalike,
    Other,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct KnownAttribute {
    /// Its value's place in the tag, nothing being in the blank.
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) qname: u16,
    pub(super) prefix: u16,
    pub(super) uri: u16,
}

/// What is known of a tag that was looked at.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lookup {
    Known(usize),
    /// A known tag with so many bytes in its blank.
    Filled(usize, usize),
    /// The hash of a tag that may become known, up to its first `>`.
    Unknown(u64),
    /// A tag that is not to be known.
    Other,
}

impl Default for TagCache {
    fn default() -> Self {
        Self {
            last: NONE,
            places: Places::default(),
            beginnings: Vec::new(),
            tags: Vec::new(),
            text: Vec::new(),
            bindings: Vec::new(),
            attributes: Vec::new(),
        }
    }
}

impl TagCache {
    #[inline]
    pub(super) fn look(&mut self, source: &[u8], at: usize) -> Lookup {
        let last = self.tags.get(self.last as usize);
        let guess = last.map_or(NONE, |last| last.next);
        if let Some(sight) = self.fits(guess, &source[at..]) {
            self.last = guess;
            return sight;
        }
        let sight = self.find(source, at);
        if let Lookup::Known(index) | Lookup::Filled(index, _) = sight {
            if let Some(last) = self.tags.get_mut(self.last as usize) {
                last.next = index as u16;
            }
            self.last = index as u16;
        }
        sight
    }

    fn find(&self, source: &[u8], at: usize) -> Lookup {
        let alike = beginning(source, at).and_then(|place| self.beginnings.get(place));
        let mut alike = alike.into_iter().flatten();
        if let Some(sight) = alike.find_map(|&index| self.fits(index, &source[at..])) {
            return sight;
        }
        let window = &source[at..source.len().min(at + LONGEST)];
        let Some(tag) = window.get(..=find::byte(window, 0, b'>')) else {
            return Lookup::Other;
        };
        let Some(hash) = hash(tag) else {
            return Lookup::Other;
        };
        let text = |index: u16| &self.text[self.tags[index as usize].text.clone()];
        let known = self.places.kept(hash).find(|&index| text(index) == tag);
        known.map_or(Lookup::Unknown(hash), |index| Lookup::Known(index as usize))
    }

    /// Whether `rest` begins with a tag.
    #[inline]
    fn fits(&self, index: u16, rest: &[u8]) -> Option<Lookup> {
        let tag = self.tags.get(index as usize)?;
        let text = &self.text[tag.text.clone()];
        let index = index as usize;
        let Some(blank) = tag.blank else {
            return rest.starts_with(text).then_some(Lookup::Known(index));
        };
        let place = blank.at as usize;
        let (before, behind) = text.split_at(place);
        if !rest.starts_with(before) {
            return None;
        }
        // What stands there is nothing to be decoded, as it ends with the quote.
        let end = find::value_stop(rest, place, b'"');
        let is_whole = rest[end..].starts_with(behind);
        is_whole.then_some(Lookup::Filled(index, end - place))
    }

    /// Keeps a tag with a blank where those are looked for that begin like it.
    pub(super) fn begin(&mut self, place: usize, tag: u16) {
        if self.beginnings.is_empty() {
            self.beginnings.resize(BEGINNINGS, [NONE; ALIKE]);
        }
        let alike = &mut self.beginnings[place];
        alike.rotate_right(1);
        alike[0] = tag;
    }

    pub(super) fn clear(&mut self) {
        self.last = NONE;
        self.places.clear();
        self.beginnings.clear();
        self.tags.clear();
        self.text.clear();
        self.bindings.clear();
        self.attributes.clear();
    }
}

/// Where tags are looked for that begin like the one at `at`, up to its first value.
#[inline]
pub(super) fn beginning(source: &[u8], at: usize) -> Option<usize> {
    let window = &source[at..source.len().min(at + BEGINNING)];
    let text = &window[..find::byte(window, 0, b'"')];
    let word = |bytes: Option<&[u8; 8]>| bytes.map(|bytes| u64::from_le_bytes(*bytes));
    let first = word(text.get(1..)?.first_chunk())?;
    let last = word(text.last_chunk())?;
    let mixed = (first.rotate_left(23) ^ last).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    Some((mixed >> 32) as usize % BEGINNINGS)
}

/// Of a tag with a blank: everything beside it.
pub(super) fn hash_around(before: &[u8], behind: &[u8]) -> u64 {
    let mixed = before.iter().chain(behind).fold(0, |mixed: u64, &byte| {
        (mixed.rotate_left(5) ^ u64::from(byte)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    });
    mixed ^ mixed >> 32
}

/// Length, first, last and middle bytes. Tags that differ only elsewhere have one place.
#[inline]
fn hash(tag: &[u8]) -> Option<u64> {
    if tag.len() < SHORTEST {
        return None;
    }
    let word = |bytes: Option<&[u8; 8]>| bytes.map(|bytes| u64::from_le_bytes(*bytes));
    let first = word(tag[1..].first_chunk())?;
    let middle = word(tag[tag.len() / 2..].first_chunk())?;
    let last = word(tag[..tag.len() - 1].last_chunk())?;
    let mut mixed = tag.len() as u64;
    for word in [first, middle, last] {
        mixed = (mixed.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
    Some(mixed ^ mixed >> 32)
}
