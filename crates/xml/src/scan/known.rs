//! Start tags that were met before.
//!
//! Headers say the same in every message: `<ds:DigestMethod Algorithm="…">` means today what it
//! meant yesterday. A tag that was met twice is kept with what the general path made of it, and
//! costs one look the next time. Ids, and references to them, are others in each message: a tag
//! with one such value is kept with a blank in its place. The rule: what is kept follows from the
//! tag's text beside the blank, and from the namespaces of the prefixes that it uses, which are
//! compared; an id in the blank is indexed like any other.

use super::find;
use super::scanner::Scanner;
use super::start_tag::Tag;
use super::tags::{
    Blank, Holds, KEPT, KnownAttribute, KnownTag, LONGEST, Lookup, MOST_ATTRIBUTES, beginning,
    hash_around,
};
use crate::ids::looks_like_an_id;
use crate::numbers::{NONE, prefix};
use crate::tape::{Declaration, Listed, LongTag, NodeId, Qualified, flags};

impl Scanner<'_> {
    /// Looks whether the start tag at `at` is known, and means here what it meant before.
    #[inline]
    pub(super) fn sight(&mut self, at: usize) -> Lookup {
        let names = &mut self.parts.names;
        // Limits are those of this document: a tag that could be beyond them takes the general
        // path, which says so.
        if (self.limits.name as usize) < LONGEST
            || (self.limits.attributes as usize) < MOST_ATTRIBUTES
        {
            return Lookup::Other;
        }
        let sight = names.tags.look(self.source, at);
        let (Lookup::Known(index) | Lookup::Filled(index, _)) = sight else {
            return sight;
        };
        let tag = &names.tags.tags[index];
        let bound =
            |&(prefix, uri): &(u16, u16)| self.work.bindings.get(prefix as usize) == Some(&uri);
        let has_the_same_ids = match tag.blank {
            None => !self.ids.may_have_any(tag.shapes),
            Some(_) => self.ids.is_standard() && self.parts.ids.len() < self.limits.ids as usize,
        };
        let means_the_same =
            has_the_same_ids && names.tags.bindings[tag.needed.clone()].iter().all(bound);
        if means_the_same { sight } else { Lookup::Other }
    }

    /// Does with a known tag what the general path would do. `filled` is the length of what stands
    /// in its blank. Returns its name, its form and its flags.
    pub(super) fn repeat(&mut self, at: usize, index: usize, filled: usize) -> (u16, Tag, u16) {
        let element = self.tape.len() as u32;
        let tag = &self.parts.names.tags.tags[index];
        let attributes = tag.attributes.len();
        let blank = tag.blank.map_or(u32::MAX, |blank| blank.at);
        if let Some(Blank { at: place, holds }) = tag.blank {
            let value = at + place as usize;
            let value = &self.text[value..value + filled];
            match holds {
                Holds::Id => self.parts.ids.insert(value, NodeId::new(element)),
                Holds::Lookalike if self.ids.notes_lookalikes() => {
                    self.parts.ids.insert_lookalike(value, NodeId::new(element));
                }
                Holds::Lookalike | Holds::Other => {}
            }
        }
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
        let moved = |place: u32, first: u32| place + if place >= first { filled as u32 } else { 0 };
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
                    start: start + moved(attribute.start, blank.saturating_add(1)),
                    end: start + moved(attribute.end, blank),
                    qname: attribute.qname,
                    uri,
                    decode: false,
                });
            }
        }
        let length = tag.text.len() + filled;
        let flags = tag.flags | flags::of_length(length);
        if flags >> flags::LENGTH_SHIFT == 0 {
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
        (tag.name, form, flags)
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
        // References and other quotes are rare, and a `>` in a value, behind which the hash does
        // not reach, is, too.
        let whole = &self.source[at..tag.end];
        let ends_once = find::byte(whole, 0, b'>') + 1 == whole.len();
        if !tag.canonical || !tag.plain || !ends_once || whole.len() > LONGEST {
            return;
        }
        let declared = &self.parts.declarations[declared..];
        let attributes = &self.work.attributes;
        if declared.len() + attributes.len() > MOST_ATTRIBUTES
            || declared.iter().any(|one| one.prefix == prefix::XML)
        {
            return;
        }
        let names = &mut self.parts.names;
        let named = *names.name(name);
        let mut shapes = 0;
        let mut blank = None;
        for attribute in attributes {
            let local = names.local(attribute.qname);
            shapes |= crate::ids::shape(local.as_bytes());
            // An id, or what refers into this message, is of no other one.
            let may_be_id = self.ids.may_have(local);
            if !may_be_id && self.source[attribute.value_start as usize] != b'#' {
                continue;
            }
            let (element, uri) = (names.uri(named.uri), names.uri(attribute.uri));
            let holds = match may_be_id {
                true if self.ids.matches(element, uri, local) => Holds::Id,
                true if looks_like_an_id(uri, local) => Holds::Lookalike,
                _ => Holds::Other,
            };
            let value = (attribute.value_start - at as u32) as usize
                ..(attribute.value_end - at as u32) as usize;
            if blank.replace((value, holds)).is_some() || !self.ids.is_standard() {
                return;
            }
        }
        let whole_end = whole.len()..whole.len();
        let value = blank.as_ref().map_or(whole_end, |(value, _)| value.clone());
        let (before, behind) = (&whole[..value.start], &whole[value.end..]);
        let (hash, begins) = match blank {
            None => (hash, None),
            Some(_) => match beginning(self.source, at) {
                Some(place) => (hash_around(before, behind), Some(place)),
                None => return,
            },
        };
        if !names.tags.places.meet(hash) {
            return;
        }
        if names.tags.tags.len() >= KEPT {
            names.tags.clear();
            return;
        }

        let known = &mut names.tags;
        let text = known.text.len();
        known.text.extend_from_slice(before);
        known.text.extend_from_slice(behind);
        let filled = value.len() as u32;
        let moved = |place: u32| {
            place
                - if place as usize >= value.end {
                    filled
                } else {
                    0
                }
        };
        let first = known.attributes.len();
        known
            .attributes
            .extend(attributes.iter().map(|attribute| KnownAttribute {
                start: moved(attribute.value_start - at as u32),
                end: moved(attribute.value_end - at as u32),
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
            next: NONE,
            text: text..known.text.len(),
            blank: blank.map(|(value, holds)| Blank {
                at: value.start as u32,
                holds,
            }),
            declared: declares..needs,
            needed: needs..known.bindings.len(),
            attributes: first..known.attributes.len(),
            shapes,
            name,
            flags: flags & flags::BESIDE_LENGTH,
            empty: tag.empty,
        });
        match begins {
            Some(place) => known.begin(place, index),
            None => known.places.keep(hash, index),
        }
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

    /// A message with an id and references to it.
    fn identified(id: &str) -> String {
        format!(
            "<a xmlns:wsu=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd\">\
             <part wsu:Id=\"{id}\">text</part><reference-to URI=\"#{id}\" Type=\"urn:part\"/>\
             <reference-to URI=\"#{id}\" Type=\"urn:other\" More=\"urn:more\"></reference-to>\
             <reference-to URI=\"urn:one\"></reference-to></a>"
        )
    }

    /// Buffers that know the tags of messages with ids.
    fn knowing_ids() -> Buffers {
        let mut buffers = Buffers::new();
        for number in 0..3 {
            let source = identified(&format!("id-{number}"));
            parse(&source, &ParseOptions::default(), &mut buffers).recycle(&mut buffers);
        }
        buffers
    }

    #[test]
    fn what_stands_in_a_blank_is_read_like_any_value() {
        let mut buffers = knowing_ids();
        let options = ParseOptions::default();
        let long = "x".repeat(200);
        let ids = [
            "one",
            "",
            "a>b",
            "#",
            "it's",
            "\u{e9}t\u{e9}",
            " spaced ",
            "1&lt;2",
            "a\tb",
        ];
        for id in ids.into_iter().chain([long.as_str()]) {
            let source = identified(id);
            let again = parse(&source, &options, &mut buffers);
            let cold = parse(&source, &options, &mut Buffers::new());
            assert_eq!(read(&again), read(&cold), "{id}");
            let named =
                |document: &Document| document.by_id(id.trim()).unwrap().map(|node| node.index());
            assert_eq!(named(&again), named(&cold), "{id}");
            assert_eq!(again.parts.names.tags.tags.len(), 5, "{id}");
            again.recycle(&mut buffers);
        }
        for broken in ["a<b", "a\u{1}b", "a&b", "a\" b"] {
            let source = identified(broken).into_bytes();
            let warm = Document::parse(source.clone(), &options, &mut buffers).unwrap_err();
            let cold = Document::parse(source, &options, &mut Buffers::new()).unwrap_err();
            assert_eq!(format!("{warm:?}"), format!("{cold:?}"));
        }
    }

    #[test]
    fn an_id_in_a_blank_that_occurs_twice_is_found_out() {
        let mut buffers = knowing_ids();
        let source = identified("one").replace("</a>", "<part wsu:Id=\"one\"></part></a>");
        let document = parse(&source, &ParseOptions::default(), &mut buffers);
        let duplicate = document.by_id("one").unwrap_err();
        assert_ne!(duplicate.first, duplicate.second);
    }

    /// BSP 1.1 receivers resolve `Id` without a namespace on any element, and others resolve
    /// `wsu:Id` alone.
    #[test]
    fn a_lookalike_in_a_blank_is_compared_with_ids_where_lookalikes_are_noted() {
        let part =
            |id: &str| identified("one").replace("</a>", &format!("<b Id=\"{id}\"></b></a>"));
        let mut buffers = knowing_ids();
        for number in 0..3 {
            let source = part(&format!("b-{number}"));
            parse(&source, &ParseOptions::default(), &mut buffers).recycle(&mut buffers);
        }
        let noting = ParseOptions {
            ids: IdAttributes::with_lookalikes(),
            ..ParseOptions::default()
        };
        for (options, id, is_duplicate) in [
            (&noting, "one", true),
            (&noting, "b-0", false),
            (&ParseOptions::default(), "one", false),
        ] {
            let known = parse(&part(id), options, &mut buffers);
            let cold = parse(&part(id), options, &mut Buffers::new());
            assert_eq!(known.duplicate_id(), cold.duplicate_id());
            assert_eq!(known.duplicate_id().is_some(), is_duplicate, "{id}");
            known.recycle(&mut buffers);
        }
    }

    #[test]
    fn ids_in_blanks_are_counted() {
        let mut buffers = knowing_ids();
        let mut options = ParseOptions::default();
        options.limits.ids = 1;
        let source = identified("one").replace("</a>", "<part wsu:Id=\"two\"></part></a>");
        let refused = Document::parse(source.into_bytes(), &options, &mut buffers).unwrap_err();
        let limit = Limit::Ids;
        assert_eq!(refused.problem, Problem::TooMany { limit, allowed: 1 });
    }

    #[test]
    fn what_is_an_id_in_one_document_is_none_in_another() {
        let mut buffers = knowing_ids();
        let options = ParseOptions {
            ids: IdAttributes::none().with("Type"),
            ..ParseOptions::default()
        };
        let document = parse(&identified("one"), &options, &mut buffers);
        assert_eq!(document.by_id("one"), Ok(None));
        assert!(document.by_id("urn:part").unwrap().is_some());
    }

    #[test]
    fn a_tag_with_two_values_of_its_message_is_not_kept() {
        let mut buffers = Buffers::new();
        for number in 0..3 {
            let source = format!("<a><reference-to URI=\"#{number}\" Other=\"#{number}\"/></a>");
            parse(&source, &ParseOptions::default(), &mut buffers).recycle(&mut buffers);
        }
        let document = parse("<a/>", &ParseOptions::default(), &mut buffers);
        assert_eq!(document.parts.names.tags.tags.len(), 0);
    }
}
