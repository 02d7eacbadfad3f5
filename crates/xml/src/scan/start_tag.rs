//! Start tags with attributes, and names met for the first time.
//!
//! One walk over the tag checks its grammar and finds out whether C14N would write it the same way;
//! then namespaces are bound, attributes resolved, compared and looked at for ids. The rule:
//! strictly ascending attribute order is the canonical check and the duplicate check at once; only
//! tags in another order are sorted.

use super::scanner::{Scanner, full};
use super::tags::Lookup;
use super::workspace::RawAttribute;
use super::{find, reference};
use crate::attributes;
use crate::error::{Failure, Limit, Problem, Scan};
use crate::names::{QNAME_XMLNS, SHORT, key_at};
use crate::numbers::{NONE, prefix, uri};
use crate::tape::{Declaration, Entry, Listed, LongTag, NodeId, Qualified, flags};
use std::cmp::Ordering;

/// Attributes that are listed at most. Those of a message's header are fewer than a hundred; a body
/// whose every element has some would make the list larger than the message.
const LISTED: usize = 512;

impl RawAttribute {
    /// The value as it is written in the text that is scanned.
    fn written<'t>(&self, text: &'t str) -> &'t str {
        &text[self.value_start as usize..self.value_end as usize]
    }

    fn is_declaration(&self) -> bool {
        self.prefix == prefix::XMLNS || self.qname == QNAME_XMLNS
    }
}

impl Scanner<'_> {
    #[inline(never)]
    pub(super) fn start_tag(&mut self, at: usize) -> Scan<()> {
        self.check_room(at)?;
        let undo = self.work.undo.len();
        let sight = self.sight(at);
        let known = match sight {
            Lookup::Known(index) => Some((index, 0)),
            Lookup::Filled(index, length) => Some((index, length)),
            Lookup::Unknown(_) | Lookup::Other => None,
        };
        if let Some((index, filled)) = known {
            let (name, tag, flags) = self.repeat(at, index, filled);
            self.work.guess.follow(name, &self.tape);
            self.finish_start_tag(at, tag, name, flags, undo)?;
            if filled > 0 {
                // A `>` in a value is listed by the structure, and nothing else of a known tag.
                self.work.structure.skip_to(self.source, tag.end);
            }
            return Ok(());
        }
        let name_end = find::name_end(self.source, at + 1);
        if name_end == at + 1 {
            return Err(Failure::at(name_end, Problem::IllegalName));
        }
        self.check_name_length(at + 1, name_end)?;
        let tag = self.attributes(name_end)?;
        let declared = self.parts.declarations.len();
        let mut flags = if tag.declares {
            self.bind_namespaces()?
        } else {
            0
        };

        let length = name_end - at - 1;
        let name = self.element_name(at + 1, length)?;
        self.work.guess.follow(name, &self.tape);
        if !self.work.attributes.is_empty() {
            flags |= self.resolve_attributes()?;
            if !self.work.attributes.is_empty() {
                self.index_ids(name)?;
            }
        }
        if !tag.canonical {
            flags |= flags::TAG_REWRITE;
        }
        let length = flags::of_length(tag.end - at);
        if length == 0 {
            self.parts.long_tags.push(LongTag {
                element: self.tape.len() as u32,
                end: self.base + tag.end as u32,
            });
        }
        flags |= length;
        if let Lookup::Unknown(hash) = sight {
            self.know(hash, at, tag, name, flags, declared);
        }
        self.finish_start_tag(at, tag, name, flags, undo)?;
        self.work.structure.skip_to(self.source, tag.end);
        Ok(())
    }

    fn finish_start_tag(
        &mut self,
        at: usize,
        tag: Tag,
        name: u16,
        flags: u16,
        undo: usize,
    ) -> Scan<()> {
        if !tag.empty {
            self.open(at, name, flags, undo);
            return Ok(());
        }
        if flags & flags::NAMESPACES != 0 {
            self.unbind(undo);
        }
        let parent = self.top.index;
        let start = self.base + at as u32;
        let end = self.base + tag.end as u32;
        self.tape.push(Entry {
            start,
            end,
            parent,
            name,
            flags: flags | flags::EMPTY,
        });
        self.mark(flags::MIXED);
        if self.at_top() {
            self.between_roots(tag.end)?;
        }
        Ok(())
    }

    fn check_name_length(&self, from: usize, end: usize) -> Scan<()> {
        if end - from > self.limits.name as usize {
            return Err(self.too_many(from, Limit::Name));
        }
        Ok(())
    }

    /// Walks over the attributes from the end of the element's name to the end of the tag.
    fn attributes(&mut self, name_end: usize) -> Scan<Tag> {
        self.work.attributes.clear();
        let mut tag = Tag {
            canonical: true,
            plain: true,
            empty: false,
            declares: false,
            end: name_end,
        };
        loop {
            let space = tag.end;
            let at = find::space_end(self.source, space);
            match self.source.get(at) {
                Some(b'>') => {
                    tag.canonical &= at == space;
                    tag.end = at + 1;
                    return Ok(tag);
                }
                Some(b'/') => {
                    if self.source.get(at + 1) != Some(&b'>') {
                        return Err(self.expected(at + 1, "`>`"));
                    }
                    tag.canonical &= at == space;
                    tag.empty = true;
                    tag.end = at + 2;
                    return Ok(tag);
                }
                Some(_) if at == space => {
                    return Err(self.expected(at, "white space, `/>` or `>`"));
                }
                Some(_) => {}
                None => {
                    return Err(Failure::at(
                        at,
                        Problem::UnexpectedEnd {
                            inside: "a start tag",
                        },
                    ));
                }
            }
            tag.canonical &= at == space + 1 && self.source[space] == b' ';
            if self.work.attributes.len() >= self.limits.attributes as usize {
                return Err(self.too_many(at, Limit::Attributes));
            }
            self.attribute(at, &mut tag)?;
        }
    }

    /// One attribute; moves the end of the tag behind it.
    fn attribute(&mut self, at: usize, tag: &mut Tag) -> Scan<()> {
        let name_end = find::name_end(self.source, at);
        self.check_name_length(at, name_end)?;
        let qname = self.qname(at, name_end - at)?;
        let (open, quote) = match self.source.get(name_end..name_end + 2) {
            Some(b"=\"") => (name_end + 1, b'"'),
            _ => {
                tag.canonical = false;
                self.open_quote(name_end)?
            }
        };
        let mut decode = false;
        let mut end = open + 1;
        loop {
            end = find::value_stop(self.source, end, quote);
            match self.source.get(end) {
                Some(&stop) if stop == quote => break,
                Some(b'<') => return Err(Failure::at(end, Problem::LessThanInAttribute)),
                Some(b'\t' | b'\n' | b'\r') => {
                    decode = true;
                    tag.canonical = false;
                    end += 1;
                }
                Some(b'&') => {
                    let reference = reference::read(self.text, end)?;
                    decode = true;
                    tag.canonical &=
                        reference::is_canonical_in_attribute(&self.text[end..reference.end]);
                    end = reference.end;
                }
                // A control character.
                Some(_) => {
                    self.check_character(end)?;
                    end += 1;
                }
                None => {
                    return Err(Failure::at(
                        at,
                        Problem::UnexpectedEnd {
                            inside: "an attribute value",
                        },
                    ));
                }
            }
        }
        let attribute = RawAttribute {
            name_at: at as u32,
            value_start: open as u32 + 1,
            value_end: end as u32,
            qname,
            prefix: self.parts.names.qname(qname).prefix,
            uri: uri::EMPTY,
            decode,
        };
        tag.plain &= !decode;
        tag.declares |= attribute.is_declaration();
        tag.end = end + 1;
        self.work.attributes.push(attribute);
        Ok(())
    }

    /// The quote that opens a value behind `Eq`, and its place.
    fn open_quote(&self, name_end: usize) -> Scan<(usize, u8)> {
        let equals = find::space_end(self.source, name_end);
        if self.source.get(equals) != Some(&b'=') {
            return Err(self.expected(equals, "`=`"));
        }
        let open = find::space_end(self.source, equals + 1);
        match self.source.get(open) {
            Some(&quote @ (b'"' | b'\'')) => Ok((open, quote)),
            _ => Err(self.expected(open, "a quoted attribute value")),
        }
    }

    /// The qualified name written at `at`.
    fn qname(&mut self, at: usize, length: usize) -> Scan<u16> {
        let key = key_at(self.source, at, length);
        if let Some(qname) = self.parts.names.cached_qname(key)
            && (length < SHORT || self.text[at..at + length] == *self.parts.names.qname_text(qname))
        {
            return Ok(qname);
        }
        let text = &self.text[at..at + length];
        let full = full(self.limits, at);
        let Some(qname) = self.parts.names.intern_qname(text).map_err(full)? else {
            return Err(Failure::at(at, Problem::IllegalName));
        };
        self.check_names(at)?;
        self.parts.names.remember_qname(key, qname);
        Ok(qname)
    }

    /// The name of the element, in the namespaces as they are bound now.
    fn element_name(&mut self, at: usize, length: usize) -> Scan<u16> {
        let key = key_at(self.source, at, length);
        if let Some(name) = self.parts.names.cached_name(key, &self.work.bindings)
            && (length < SHORT
                || self
                    .parts
                    .names
                    .is_named(name, &self.source[at..at + length]))
        {
            return Ok(name);
        }
        let qname = self.qname(at, length)?;
        let prefix = self.parts.names.qname(qname).prefix;
        let uri = self
            .uri_of(prefix)
            .ok_or_else(|| self.undeclared(at, prefix))?;
        let full = full(self.limits, at);
        let name = self.parts.names.intern_name(qname, uri).map_err(full)?;
        self.check_names(at)?;
        self.parts.names.remember(key, name);
        Ok(name)
    }

    fn uri_of(&self, prefix: u16) -> Option<u16> {
        self.work
            .bindings
            .get(prefix as usize)
            .copied()
            .filter(|&uri| uri != NONE)
    }

    fn undeclared(&self, at: usize, prefix: u16) -> Box<Failure> {
        let prefix = self.parts.names.prefix(prefix).to_owned();
        Failure::at(at, Problem::UndeclaredPrefix { prefix })
    }

    /// Binds what the tag declares, and keeps only the other attributes. Returns flags of the tag.
    fn bind_namespaces(&mut self) -> Scan<u16> {
        let mut attributes = std::mem::take(&mut self.work.attributes);
        let element = self.tape.len() as u32;
        let first = self.parts.declarations.len();
        let mut flags = 0;
        let mut others = 0;
        for at in 0..attributes.len() {
            let attribute = attributes[at];
            if !attribute.is_declaration() {
                attributes[others] = attribute;
                others += 1;
                continue;
            }
            // C14N writes namespace declarations before attributes.
            if others > 0 {
                flags |= flags::TAG_REWRITE;
            }
            flags |= self.declare(element, attribute)?;
        }
        attributes.truncate(others);
        self.work.attributes = attributes;

        let declared = &self.parts.declarations[first..];
        if !declared.is_empty() {
            flags |= flags::NAMESPACES;
            let names = &self.parts.names;
            if !declared
                .windows(2)
                .all(|pair| names.prefix(pair[0].prefix) < names.prefix(pair[1].prefix))
            {
                flags |= flags::TAG_REWRITE;
            }
        }
        Ok(flags)
    }

    /// One namespace declaration. Returns flags of the tag.
    fn declare(&mut self, element: u32, attribute: RawAttribute) -> Scan<u16> {
        let at = attribute.name_at as usize;
        let names = &mut self.parts.names;
        let (declared, uri) = if attribute.decode {
            let value = attributes::normalize(attribute.written(self.text));
            names.declaration(attribute.qname, &value)
        } else {
            names.declaration(attribute.qname, attribute.written(self.text))
        }
        .map_err(full(self.limits, at))?;
        self.check_names(at)?;
        let text = || self.parts.names.prefix(declared).to_owned();
        match (declared, uri) {
            // It may be declared as what it is; C14N does not write that.
            (prefix::XML, uri::XML) => {
                self.check_once(element, attribute, declared)?;
                self.parts.declarations.push(Declaration {
                    element,
                    prefix: declared,
                    uri,
                });
                return Ok(flags::TAG_REWRITE);
            }
            (prefix::XML | prefix::XMLNS, _) | (_, uri::XML | uri::XMLNS) => {
                return Err(Failure::at(
                    at,
                    Problem::ReservedNamespace { prefix: text() },
                ));
            }
            (prefix::DEFAULT, _) => {}
            (_, uri::EMPTY) => {
                return Err(Failure::at(
                    at,
                    Problem::UndeclaringPrefix { prefix: text() },
                ));
            }
            _ => {}
        }
        self.check_once(element, attribute, declared)?;
        self.work.bind(declared, uri);
        self.parts.declarations.push(Declaration {
            element,
            prefix: declared,
            uri,
        });
        Ok(0)
    }

    /// Checks that `element` did not declare `prefix` before.
    fn check_once(&self, element: u32, attribute: RawAttribute, prefix: u16) -> Scan<()> {
        let before = self.parts.declarations.iter().rev();
        let mut before = before.take_while(|declaration| declaration.element == element);
        if before.any(|declaration| declaration.prefix == prefix) {
            return Err(self.duplicate(attribute));
        }
        Ok(())
    }

    fn duplicate(&self, attribute: RawAttribute) -> Box<Failure> {
        let name = self.parts.names.qname_text(attribute.qname).to_owned();
        Failure::at(
            attribute.name_at as usize,
            Problem::DuplicateAttribute { name },
        )
    }

    /// Resolves the prefixes of the attributes, lists and compares them. Returns flags of the tag.
    fn resolve_attributes(&mut self) -> Scan<u16> {
        let mut flags = 0;
        let element = self.tape.len() as u32;
        let lists = self.lists(element, self.work.attributes.len());
        for at in 0..self.work.attributes.len() {
            let RawAttribute {
                prefix, name_at, ..
            } = self.work.attributes[at];
            let uri = match prefix {
                prefix::DEFAULT => uri::EMPTY,
                prefix::XML => {
                    flags |= flags::QUALIFIED;
                    uri::XML
                }
                _ => {
                    flags |= flags::QUALIFIED;
                    let uri = self.uri_of(prefix);
                    let uri = uri.ok_or_else(|| self.undeclared(name_at as usize, prefix))?;
                    self.parts.qualified.push(Qualified {
                        element,
                        prefix,
                        uri,
                    });
                    uri
                }
            };
            let attribute = &mut self.work.attributes[at];
            attribute.uri = uri;
            if lists {
                self.parts.listed.push(Listed {
                    element,
                    start: self.base + attribute.value_start,
                    end: self.base + attribute.value_end,
                    qname: attribute.qname,
                    uri,
                    decode: attribute.decode,
                });
            }
        }
        let attributes = &self.work.attributes;
        if attributes
            .windows(2)
            .all(|pair| self.order(&pair[0], &pair[1]) == Ordering::Less)
        {
            return Ok(flags);
        }
        let mut sorted = std::mem::take(&mut self.work.attributes);
        sorted.sort_unstable_by(|one, other| {
            self.order(one, other).then(one.name_at.cmp(&other.name_at))
        });
        let twice = sorted
            .windows(2)
            .find(|pair| self.order(&pair[0], &pair[1]) == Ordering::Equal);
        if let Some(pair) = twice {
            return Err(self.duplicate(pair[1]));
        }
        self.work.attributes = sorted;
        Ok(flags | flags::TAG_REWRITE)
    }

    /// Whether so many attributes of `element`, the next one on the tape, are to be listed.
    pub(super) fn lists(&mut self, element: u32, attributes: usize) -> bool {
        let parts = &mut *self.parts;
        if parts.listed.len() + attributes > LISTED {
            parts.unlisted.get_or_insert(element);
        }
        parts.unlisted.is_none()
    }

    /// The order of C14N 1.0 section 2.3: by namespace, then by local name.
    fn order(&self, one: &RawAttribute, other: &RawAttribute) -> Ordering {
        let names = &self.parts.names;
        if one.uri != other.uri {
            let by_uri = names.uri(one.uri).cmp(names.uri(other.uri));
            if by_uri != Ordering::Equal {
                return by_uri;
            }
        }
        names.order_by_local(one.qname, other.qname)
    }

    fn index_ids(&mut self, name: u16) -> Scan<()> {
        for at in 0..self.work.attributes.len() {
            let attribute = self.work.attributes[at];
            let names = &self.parts.names;
            let local = names.local(attribute.qname);
            if !self.ids.may_have(local) {
                continue;
            }
            let element = names.uri(names.name(name).uri);
            if self.ids.matches(element, names.uri(attribute.uri), local) {
                let node = NodeId::new(self.tape.len() as u32);
                let value = self.value(attribute);
                if self.parts.ids.len() >= self.limits.ids as usize {
                    return Err(self.too_many(attribute.name_at as usize, Limit::Ids));
                }
                self.parts.ids.insert(&value, node);
                self.work.value = value;
            } else if self.ids.resembles(names.uri(attribute.uri), local)
                && !self.is_also_its_id(attribute, element)
            {
                let node = NodeId::new(self.tape.len() as u32);
                let value = self.value(attribute);
                self.parts.ids.insert_lookalike(&value, node);
                self.work.value = value;
            }
        }
        Ok(())
    }

    /// Whether another attribute of the same element is an id, with the value of this one.
    fn is_also_its_id(&self, attribute: RawAttribute, element: &str) -> bool {
        let names = &self.parts.names;
        let normalized = |one: &RawAttribute| {
            let mut value = String::new();
            attributes::normalize_into(one.written(self.text), &mut value);
            value
        };
        let mut others = self.work.attributes.iter();
        others.any(|other| {
            let (uri, local) = (names.uri(other.uri), names.local(other.qname));
            self.ids.may_have(local)
                && self.ids.matches(element, uri, local)
                && normalized(other).trim() == normalized(&attribute).trim()
        })
    }

    /// The normalized value. The string is the workspace's: give it back.
    fn value(&mut self, attribute: RawAttribute) -> String {
        let mut value = std::mem::take(&mut self.work.value);
        value.clear();
        let written = attribute.written(self.text);
        if attribute.decode {
            attributes::normalize_into(written, &mut value);
        } else {
            value.push_str(written);
        }
        value
    }
}

/// The form of a start tag.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tag {
    /// Written as C14N writes tags, as far as that can be told without names.
    pub(super) canonical: bool,
    /// No value of its attributes is to be decoded.
    pub(super) plain: bool,
    pub(super) empty: bool,
    /// Among its attributes are namespace declarations.
    pub(super) declares: bool,
    pub(super) end: usize,
}
