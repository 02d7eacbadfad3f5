//! Start tags that were met before.
//!
//! Headers say the same in every message: `<ds:DigestMethod Algorithm="…">` means today what it meant yesterday. A tag that was met
//! twice is kept with what the general path made of it, and costs one look the next time. The rule: what is kept follows from the tag's
//! text, and from the namespaces of the prefixes that it uses, which are compared; a tag with an id is not kept.

use super::start_tag::{RawAttribute, Tag};
use super::{Scanner, find};
use crate::names::{NONE, prefix};
use crate::tape::{Declaration, Listed, LongTag, Qualified, flags};
use std::ops::Range;

/// Longest tag that is kept: the start of an envelope that declares five or six namespaces is longer, but comes once in a message.
const LONGEST: usize = 320;
/// Shortest one: those without attributes are cheap anyway.
const SHORTEST: usize = 18;
/// Most attributes and declarations of a tag that is kept.
const MOST_ATTRIBUTES: usize = 16;
/// Tags that are kept. A signed and encrypted message has about twenty that others have, too.
const KEPT: usize = 256;
/// Places by hash.
const PLACES: usize = 512;

/// The tags, kept as long as the names that they refer to.
#[derive(Debug, Default)]
pub(crate) struct KnownTags {
    places: Vec<Place>,
    tags: Vec<KnownTag>,
    text: Vec<u8>,
    /// Prefix and namespace: what tags declare, and what must be bound already.
    bindings: Vec<(u16, u16)>,
    attributes: Vec<KnownAttribute>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    /// Half of the hash of the tag that was met last and was not known.
    met: u32,
    /// Index of a tag.
    tag: u16,
}

/// A tag: ranges of the lists of [`KnownTags`].
#[derive(Clone, Debug)]
struct KnownTag {
    text: Range<usize>,
    declared: Range<usize>,
    needed: Range<usize>,
    attributes: Range<usize>,
    /// [Shapes](crate::ids::shape) of the local names of its attributes.
    shapes: u64,
    name: u16,
    flags: u16,
    empty: bool,
}

#[derive(Clone, Copy, Debug)]
struct KnownAttribute {
    /// Its value's place in the tag.
    start: u32,
    end: u32,
    qname: u16,
    prefix: u16,
    uri: u16,
}

/// What is known of a tag that was looked at.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sight {
    Known(usize),
    /// The hash of a tag that may become known, up to its first `>`.
    Unknown(u64),
    /// A tag that is not to be known.
    Other,
}

impl KnownTags {
    #[inline]
    fn look(&self, source: &[u8], at: usize) -> Sight {
        let window = &source[at..source.len().min(at + LONGEST)];
        let Some(tag) = window.get(..=find::byte(window, 0, b'>')) else {
            return Sight::Other;
        };
        let Some(hash) = hash(tag) else {
            return Sight::Other;
        };
        let place = self.places.get(hash as usize % PLACES);
        match place.and_then(|place| self.tags.get(place.tag as usize).zip(Some(place.tag))) {
            Some((known, index)) if self.text[known.text.clone()] == *tag => {
                Sight::Known(index as usize)
            }
            _ => Sight::Unknown(hash),
        }
    }

    /// Whether a tag of this hash was met before.
    fn meet(&mut self, hash: u64) -> bool {
        if self.places.is_empty() {
            let vacant = Place { met: 0, tag: NONE };
            self.places.resize(PLACES, vacant);
        }
        let place = &mut self.places[hash as usize % PLACES];
        let met = (hash >> 32) as u32;
        std::mem::replace(&mut place.met, met) == met
    }

    fn clear(&mut self) {
        self.places.clear();
        self.tags.clear();
        self.text.clear();
        self.bindings.clear();
        self.attributes.clear();
    }
}

/// Length, first, last and middle bytes. Tags that differ only elsewhere push each other out.
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

impl Scanner<'_> {
    /// Looks whether the start tag at `at` is known, and means here what it meant before.
    #[inline]
    pub(super) fn sight(&self, at: usize) -> Sight {
        let names = &self.parts.names;
        // Limits are those of this document: a tag that could be beyond them takes the general path, which says so.
        if (self.limits.name as usize) < LONGEST
            || (self.limits.attributes as usize) < MOST_ATTRIBUTES
        {
            return Sight::Other;
        }
        let sight = names.tags.look(self.source, at);
        let Sight::Known(index) = sight else {
            return sight;
        };
        let tag = &names.tags.tags[index];
        let bound =
            |&(prefix, uri): &(u16, u16)| self.work.bindings.get(prefix as usize) == Some(&uri);
        let means_the_same = !self.ids.may_have_any(tag.shapes)
            && names.tags.bindings[tag.needed.clone()].iter().all(bound);
        if means_the_same { sight } else { Sight::Other }
    }

    /// Does with a known tag what the general path would do. Returns its name, its form and its flags.
    pub(super) fn repeat(&mut self, at: usize, index: usize) -> (u16, Tag, u16) {
        let element = self.tape.len() as u32;
        let attributes = self.parts.names.tags.tags[index].attributes.len();
        let lists = self.lists(element, attributes);
        let parts = &mut *self.parts;
        let known = &parts.names.tags;
        let tag = &known.tags[index];
        for &(prefix, uri) in &known.bindings[tag.declared.clone()] {
            self.work.bind(prefix, uri);
            parts.declarations.push(Declaration {
                element,
                prefix,
                uri,
            });
        }
        let start = self.base + at as u32;
        for attribute in &known.attributes[tag.attributes.clone()] {
            let &KnownAttribute { prefix, uri, .. } = attribute;
            if prefix != prefix::DEFAULT && prefix != prefix::XML {
                parts.qualified.push(Qualified {
                    element,
                    prefix,
                    uri,
                });
            }
            if lists {
                parts.listed.push(Listed {
                    element,
                    start: start + attribute.start,
                    end: start + attribute.end,
                    qname: attribute.qname,
                    uri,
                    decode: false,
                });
            }
        }
        let length = tag.text.len();
        if tag.flags >> flags::LENGTH_SHIFT == 0 {
            parts.long_tags.push(LongTag {
                element,
                end: start + length as u32,
            });
        }
        let form = Tag {
            canonical: true,
            plain: true,
            empty: tag.empty,
            declares: !tag.declared.is_empty(),
            end: at + length,
        };
        (tag.name, form, tag.flags)
    }

    /// Keeps the tag at `at` if it was met before. Its declarations are those from `declared` on.
    pub(super) fn know(
        &mut self,
        hash: u64,
        at: usize,
        tag: Tag,
        name: u16,
        flags: u16,
        declared: usize,
    ) {
        // References and other quotes are rare, and a `>` in a value, behind which the hash does not reach, is, too.
        let whole = &self.source[at..tag.end];
        if !tag.canonical || !tag.plain || self::hash(whole) != Some(hash) || whole.len() > LONGEST
        {
            return;
        }
        let declared = &self.parts.declarations[declared..];
        let attributes = &self.work.attributes;
        // What refers into this message is of no other one.
        let refers = |attribute: &RawAttribute| self.source[attribute.value_start as usize] == b'#';
        if declared.len() + attributes.len() > MOST_ATTRIBUTES
            || declared.iter().any(|one| one.prefix == prefix::XML)
            || attributes.iter().any(refers)
        {
            return;
        }
        let names = &mut self.parts.names;
        let mut shapes = 0;
        for attribute in attributes {
            shapes |= crate::ids::shape(names.local(attribute.qname).as_bytes());
        }
        if self.ids.may_have_any(shapes) || !names.tags.meet(hash) {
            return;
        }
        if names.tags.tags.len() >= KEPT {
            names.tags.clear();
            return;
        }

        let named = *names.name(name);
        let known = &mut names.tags;
        let text = known.text.len();
        known.text.extend_from_slice(whole);
        let first = known.attributes.len();
        known
            .attributes
            .extend(attributes.iter().map(|attribute| KnownAttribute {
                start: attribute.value_start - at as u32,
                end: attribute.value_end - at as u32,
                qname: attribute.qname,
                prefix: attribute.prefix,
                uri: attribute.uri,
            }));
        // As written: for the comparison they may have been sorted.
        known.attributes[first..].sort_unstable_by_key(|attribute| attribute.start);
        let declares = known.bindings.len();
        let pairs = declared.iter().map(|one| (one.prefix, one.uri));
        known.bindings.extend(pairs);
        let needs = known.bindings.len();
        let qualified = attributes
            .iter()
            .map(|attribute| (attribute.prefix, attribute.uri))
            .filter(|&(prefix, _)| prefix != prefix::DEFAULT && prefix != prefix::XML);
        for (prefix, uri) in std::iter::once((named.prefix, named.uri)).chain(qualified) {
            if declared.iter().all(|one| one.prefix != prefix) {
                known.bindings.push((prefix, uri));
            }
        }
        let index = known.tags.len() as u16;
        known.tags.push(KnownTag {
            text: text..known.text.len(),
            declared: declares..needs,
            needed: needs..known.bindings.len(),
            attributes: first..known.attributes.len(),
            shapes,
            name,
            flags,
            empty: tag.empty,
        });
        known.places[hash as usize % PLACES].tag = index;
    }
}

#[cfg(test)]
mod tests {
    use crate::error::{Limit, Problem};
    use crate::{Buffers, Document, IdAttributes, ParseOptions};

    const MESSAGE: &str = "<a xmlns:p=\"urn:p\"><p:b p:c=\"1\" b=\"&amp;\"></p:b>\
        <digest-method Algorithm=\"urn:sha\" Other=\"a>b\"/><p:transform Algorithm=\"urn:exc\" p:kind=\"k\"></p:transform>\
        <key-info xmlns=\"urn:key\" xmlns:q=\"urn:q\" xml:lang=\"en\"><name q:z=\"a long value\"></name></key-info></a>";

    fn parse(source: &str, options: &ParseOptions, buffers: &mut Buffers) -> Document {
        Document::parse(source.as_bytes().to_vec(), options, buffers).unwrap()
    }

    /// Everything that can be asked of the elements.
    fn read(document: &Document) -> String {
        let elements = document.root().descendants().map(|element| {
            let attributes: Vec<_> = element.attributes().collect();
            let declared: Vec<_> = element.declarations().collect();
            let (tag, range) = (element.start_tag_range(), element.range());
            let (namespace, local) = (element.namespace(), element.local());
            let scope = element.namespaces_in_scope();
            format!("{namespace} {local} {attributes:?} {declared:?} {scope:?} {tag:?} {range:?}\n")
        });
        elements.collect()
    }

    /// Buffers that know the tags of `source`.
    fn knowing(source: &str) -> Buffers {
        let mut buffers = Buffers::new();
        for _ in 0..3 {
            parse(source, &ParseOptions::default(), &mut buffers).recycle(&mut buffers);
        }
        buffers
    }

    #[test]
    fn a_known_tag_is_what_it_was_when_it_was_met_first() {
        let mut buffers = knowing(MESSAGE);
        let options = ParseOptions::default();
        let again = parse(MESSAGE, &options, &mut buffers);
        assert_eq!(
            read(&again),
            read(&parse(MESSAGE, &options, &mut Buffers::new()))
        );
        assert_eq!(again.parts.names.tags.tags.len(), 4);
    }

    #[test]
    fn a_known_tag_means_something_else_where_its_prefixes_do() {
        let mut buffers = knowing(MESSAGE);
        let options = ParseOptions::default();
        for (from, to) in [
            ("\"urn:p\"", "\"urn:other\""),
            ("<a ", "<a xmlns=\"urn:a\" "),
        ] {
            let other = MESSAGE.replace(from, to);
            let read_again = read(&parse(&other, &options, &mut buffers));
            assert_eq!(
                read_again,
                read(&parse(&other, &options, &mut Buffers::new()))
            );
        }
        let unbound = MESSAGE.replace("<a xmlns:p=\"urn:p\"><p:b p:c", "<a><b c");
        let unbound = unbound.replace("</p:b>", "</b>").into_bytes();
        let problem = Document::parse(unbound, &options, &mut buffers)
            .unwrap_err()
            .problem;
        assert_eq!(problem, Problem::UndeclaredPrefix { prefix: "p".into() });
    }

    #[test]
    fn limits_hold_for_known_tags() {
        let mut buffers = knowing(MESSAGE);
        let mut options = ParseOptions::default();
        options.limits.attributes = 1;
        let source = "<a xmlns:p=\"urn:p\"><p:transform Algorithm=\"urn:exc\" p:kind=\"k\"></p:transform></a>";
        let refused = Document::parse(source.as_bytes().to_vec(), &options, &mut buffers);
        let limit = Limit::Attributes;
        assert_eq!(
            refused.unwrap_err().problem,
            Problem::TooMany { limit, allowed: 1 }
        );
    }

    #[test]
    fn what_is_no_id_in_one_document_is_one_in_another() {
        let mut buffers = knowing(MESSAGE);
        let options = ParseOptions {
            ids: IdAttributes::none().with("Algorithm"),
            ..ParseOptions::default()
        };
        let document = parse(MESSAGE, &options, &mut buffers);
        let found = document.by_id("urn:exc").unwrap().unwrap();
        assert_eq!(document.element(found).local(), "transform");
    }

    #[test]
    fn a_tag_that_refers_into_its_message_is_not_kept() {
        let source = "<a><reference-to URI=\"#one\"></reference-to><reference-to URI=\"urn:one\"></reference-to></a>";
        let mut buffers = knowing(source);
        let document = parse(source, &ParseOptions::default(), &mut buffers);
        assert_eq!(document.parts.names.tags.tags.len(), 1);
    }
}
