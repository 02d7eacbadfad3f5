//! Start tags as C14N writes them.
//!
//! Namespace declarations by prefix, attributes by namespace and local name, values escaped. The
//! rule: a tag that needs any of this is rebuilt from the source and then compared with it; an
//! equal one does not break the run.

use super::options::ApexAttribute;
use super::scratch::WrittenAttribute;
use super::walk::Walk;
use crate::attributes::{Places, name_end};
use crate::base::join;
use crate::document::Document;
use crate::element::Element;
use crate::names::XML_NAMESPACE;
use crate::numbers::{NONE, prefix, uri};
use crate::scan::reference;
use crate::tape::{Qualified, flags};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

impl WrittenAttribute {
    #[inline]
    fn local<'d>(&self, document: &'d Document) -> &'d [u8] {
        document.octets(self.local_at..self.name.end)
    }

    #[inline]
    fn order(&self, other: &WrittenAttribute, document: &Document) -> Ordering {
        let names = &document.parts.names;
        let by_uri = match self.uri == other.uri {
            true => Ordering::Equal,
            false => names.uri(self.uri).cmp(names.uri(other.uri)),
        };
        by_uri.then_with(|| self.local(document).cmp(other.local(document)))
    }
}

impl Walk<'_, '_> {
    /// Writes a start tag that is canonical but for the namespaces that it declares.
    pub(super) fn write_declarations(&mut self, index: u32, apex: bool, tag_end: u32) {
        let document = self.document;
        let entry = document.entry(index);
        let name_end = entry.start + 1 + u32::from(document.parts.names.name(entry.name).length);
        self.collect_declarations(index, apex);
        self.scratch.tag.clear();
        self.push_declarations();
        let mut declared = name_end;
        if entry.flags & flags::NAMESPACES != 0 {
            // They stand before all attributes.
            let tag = document.octets(entry.start..tag_end);
            let mut at = (name_end - entry.start) as usize;
            while let Some(places) =
                Places::next(tag, at).filter(|places| is_declaration(tag, places))
            {
                at = places.value.end + 1;
            }
            declared = entry.start + at as u32;
        }
        if document.octets(name_end..declared) == self.scratch.tag {
            self.output.source(entry.start..tag_end);
        } else {
            self.output.source(entry.start..name_end);
            self.output.write(&self.scratch.tag);
            self.output.source(declared..tag_end);
        }
    }

    /// Appends the collected declarations to the scratch's `tag`.
    fn push_declarations(&mut self) {
        let names = &self.document.parts.names;
        let scratch = &mut *self.scratch;
        if scratch.declared.len() > 1 {
            scratch
                .declared
                .sort_unstable_by_key(|&(prefix, _)| names.prefix(prefix));
        }
        for &(prefix, uri) in &scratch.declared {
            push_declaration(names.prefix(prefix), names.uri(uri), &mut scratch.tag);
        }
    }

    /// Rebuilds the start tag of `index` in the scratch's `tag`, without its `>`.
    pub(super) fn rebuild(&mut self, index: u32, apex: bool) {
        let document = self.document;
        let entry = document.entry(index);
        let name = document.parts.names.name(entry.name);
        self.read_attributes(index);
        let mut joined_base = None;
        if apex && !self.exclusive && self.options.inherited_attributes {
            self.inherit_attributes(index);
            joined_base = self.join_base(index);
        }
        self.collect_declarations(index, apex);

        let names = &document.parts.names;
        let scratch = &mut *self.scratch;
        sort(&mut scratch.attributes, document);

        let tag = &mut scratch.tag;
        tag.clear();
        tag.push(b'<');
        tag.extend_from_slice(names.qname_text(name.qname).as_bytes());
        if !apex || self.options.apex_attribute.is_none() {
            self.push_declarations();
            for attribute in &self.scratch.attributes {
                push_attribute(
                    document,
                    attribute,
                    joined_base.as_deref(),
                    &mut self.scratch.tag,
                );
            }
            return;
        }
        scratch
            .declared
            .sort_unstable_by_key(|&(prefix, _)| names.prefix(prefix));
        let mut added = self.options.apex_attribute.filter(|_| apex);
        let known = |added: &ApexAttribute<'_>| {
            scratch
                .declared
                .iter()
                .any(|&(prefix, _)| names.prefix(prefix) == added.prefix)
        };
        let mut undeclared = added.filter(|added| !known(added));
        for &(prefix, uri) in &scratch.declared {
            let first = |added: &mut ApexAttribute<'_>| added.prefix < names.prefix(prefix);
            if let Some(added) = undeclared.take_if(first) {
                push_declaration(added.prefix, added.namespace, tag);
            }
            push_declaration(names.prefix(prefix), names.uri(uri), tag);
        }
        if let Some(added) = undeclared {
            push_declaration(added.prefix, added.namespace, tag);
        }
        for attribute in &scratch.attributes {
            let first = |added: &mut ApexAttribute<'_>| {
                let order = (added.namespace, added.local.as_bytes());
                order < (names.uri(attribute.uri), attribute.local(document))
            };
            if let Some(attribute) = added.take_if(first) {
                push_added(attribute, tag);
            }
            push_attribute(document, attribute, joined_base.as_deref(), tag);
        }
        if let Some(attribute) = added {
            push_added(attribute, tag);
        }
    }

    /// Reads the attributes of the tag.
    fn read_attributes(&mut self, index: u32) {
        let document = self.document;
        self.scratch.attributes.clear();
        let entry = document.entry(index);
        let name = document.parts.names.name(entry.name);
        let tag = document.octets(entry.start..entry.end);
        let mut at = 1 + name.length as usize;
        let mut qualified = match entry.flags & flags::QUALIFIED {
            0 => [].iter(),
            _ => self.qualified(index).iter(),
        };
        while let Some(places) = Places::next(tag, at) {
            at = places.value.end + 1;
            if is_declaration(tag, &places) {
                continue;
            }
            let name = &tag[places.name.clone()];
            let (uri, local) = match name.iter().position(|&byte| byte == b':') {
                None => (uri::EMPTY, 0),
                Some(3) if name.starts_with(b"xml") => (uri::XML, 4),
                Some(colon) => (
                    qualified
                        .next()
                        .map_or(uri::EMPTY, |qualified| qualified.uri),
                    colon + 1,
                ),
            };
            let start = entry.start + places.name.start as u32;
            self.scratch.attributes.push(WrittenAttribute {
                local_at: start + local as u32,
                name: start..entry.start + places.name.end as u32,
                value: entry.start + places.value.start as u32
                    ..entry.start + places.value.end as u32,
                uri,
            });
        }
    }

    /// Adds the attributes of the XML namespace that an apex inherits in inclusive canonicalization
    /// (C14N 1.0 and 1.1, 2.4).
    fn inherit_attributes(&mut self, index: u32) {
        let document = self.document;
        let Some(parent) = document.element_at(index).parent() else {
            return;
        };
        let inherited = match self.inherited.take() {
            Some((from, inherited)) if from == parent.id() => inherited,
            _ => self.inheritable(parent),
        };
        let attributes = &mut self.scratch.attributes;
        if !inherited.is_empty() {
            attributes.extend_from_slice(&inherited);
            keep_nearest(attributes, document);
        }
        self.inherited = Some((parent.id(), inherited));
    }

    /// The attributes of the XML namespace that children of an element inherit.
    fn inheritable(&self, parent: Element<'_>) -> Vec<WrittenAttribute> {
        let document = self.document;
        let mut inherited = Vec::new();
        for element in std::iter::once(parent).chain(parent.ancestors()) {
            let entry = document.entry(element.id().index() as u32);
            if entry.flags & flags::QUALIFIED == 0 {
                continue;
            }
            let tag = document.octets(entry.start..entry.end);
            let mut from = name_end(tag);
            while let Some(places) = Places::next(tag, from) {
                from = places.value.end + 1;
                let Some(local) = tag[places.name.clone()].strip_prefix(b"xml:") else {
                    continue;
                };
                if self.eleven && !matches!(local, b"lang" | b"space" | b"base") {
                    continue;
                }
                let start = entry.start + places.name.start as u32;
                inherited.push(WrittenAttribute {
                    local_at: start + 4,
                    name: start..entry.start + places.name.end as u32,
                    value: entry.start + places.value.start as u32
                        ..entry.start + places.value.end as u32,
                    uri: uri::XML,
                });
            }
        }
        keep_nearest(&mut inherited, document);
        inherited
    }

    /// The `xml:base` of an apex in C14N 1.1 (2.4): its own joined with those of its ancestors,
    /// which are all left out. `None` if no ancestor has one; empty if the attribute is not
    /// written.
    fn join_base(&self, index: u32) -> Option<String> {
        if !self.eleven {
            return None;
        }
        let base = |element: Element<'_>| {
            element
                .attribute(XML_NAMESPACE, "base")
                .map(Cow::into_owned)
        };
        let apex = self.document.element_at(index);
        let mut outer = apex.ancestors().filter_map(base);
        let nearest = outer.next()?;
        let innermost = match base(apex) {
            Some(own) => join(&nearest, &own),
            None => nearest,
        };
        Some(outer.fold(innermost, |inner, outer| join(&outer, &inner)))
    }

    /// Finds the namespaces that this tag must declare in the output, and remembers them as
    /// rendered.
    fn collect_declarations(&mut self, index: u32, apex: bool) {
        self.scratch.declared.clear();
        if self.exclusive {
            let name = self
                .document
                .parts
                .names
                .name(self.document.entry(index).name);
            self.render(name.prefix, name.uri);
            if self.document.entry(index).flags & flags::QUALIFIED != 0 {
                for &Qualified { prefix, uri, .. } in self.qualified(index) {
                    self.render(prefix, uri);
                }
            }
            if !self.scratch.inclusive.is_empty() {
                self.collect_inclusive(index, apex);
            }
            if let Some(added) = self.options.apex_attribute.filter(|_| apex) {
                // A prefix or a namespace that the document does not know has no meaning further
                // down.
                let names = &self.document.parts.names;
                if let (Some(prefix), Some(uri)) = (
                    names.find_prefix(added.prefix),
                    names.find_uri(added.namespace),
                ) {
                    self.render(prefix, uri);
                }
            }
        } else if apex {
            for prefix in 0..self.scratch.scope.len() {
                self.render(prefix as u16, self.scratch.scope[prefix]);
            }
        } else {
            for declaration in self.document.declarations(index) {
                self.render(declaration.prefix, declaration.uri);
            }
        }
    }

    /// The prefixes of the `PrefixList`: all of them at the apex, then those that an element
    /// declares.
    fn collect_inclusive(&mut self, index: u32, apex: bool) {
        if apex {
            for at in 0..self.scratch.inclusive.len() {
                let prefix = self.scratch.inclusive[at];
                self.render(prefix, self.scratch.scope[prefix as usize]);
            }
            return;
        }
        for declaration in self.document.declarations(index) {
            let listed = self.scratch.inclusive.binary_search(&declaration.prefix);
            if listed.is_ok() {
                self.render(declaration.prefix, declaration.uri);
            }
        }
    }

    /// Declares a namespace unless the output has it so already.
    fn render(&mut self, prefix: u16, uri: u16) {
        let rendered = &mut self.scratch.rendered[prefix as usize];
        if *rendered == uri || uri == NONE || prefix == prefix::XML {
            return;
        }
        self.scratch.rendered_undo.push((prefix, *rendered));
        *rendered = uri;
        self.scratch.declared.push((prefix, uri));
    }
}

/// Sorts attributes, nearest first, and keeps of those with one name the first.
fn keep_nearest(attributes: &mut Vec<WrittenAttribute>, document: &Document) {
    // There may be as many as a document has attributes around an element: no two of them are
    // compared for nothing.
    attributes.sort_by(|one, other| one.order(other, document));
    attributes.dedup_by(|one, other| one.order(other, document) == Ordering::Equal);
}

/// Sorts attributes as C14N orders them. They are few and mostly sorted.
fn sort(attributes: &mut [WrittenAttribute], document: &Document) {
    const FEW: usize = 20;
    if attributes.len() > FEW {
        return attributes.sort_unstable_by(|one, other| one.order(other, document));
    }
    for sorted in 1..attributes.len() {
        let mut at = sorted;
        while at > 0 && attributes[at].order(&attributes[at - 1], document) == Ordering::Less {
            attributes.swap(at, at - 1);
            at -= 1;
        }
    }
}

/// Whether an attribute is a namespace declaration.
fn is_declaration(tag: &[u8], places: &Places) -> bool {
    let name = &tag[places.name.clone()];
    name.starts_with(b"xmlns") && matches!(name.get(5), None | Some(b':'))
}

fn push_declaration(prefix: &str, uri: &str, tag: &mut Vec<u8>) {
    tag.extend_from_slice(b" xmlns");
    if !prefix.is_empty() {
        tag.push(b':');
        tag.extend_from_slice(prefix.as_bytes());
    }
    tag.extend_from_slice(b"=\"");
    crate::escape::attribute(uri, tag);
    tag.push(b'"');
}

fn push_added(attribute: ApexAttribute<'_>, tag: &mut Vec<u8>) {
    tag.push(b' ');
    tag.extend_from_slice(attribute.prefix.as_bytes());
    tag.push(b':');
    tag.extend_from_slice(attribute.local.as_bytes());
    tag.extend_from_slice(b"=\"");
    crate::escape::attribute(attribute.value, tag);
    tag.push(b'"');
}

/// Appends an attribute, `xml:base` with its joined value if there is one.
fn push_attribute(
    document: &Document,
    attribute: &WrittenAttribute,
    base: Option<&str>,
    tag: &mut Vec<u8>,
) {
    let WrittenAttribute { name, value, .. } = attribute;
    let is_base = || attribute.uri == uri::XML && attribute.local(document) == b"base";
    let base = base.filter(|_| is_base());
    if base == Some("") {
        return;
    }
    // ` name="value"`, if that is how it is written.
    let written = document.octets(name.start - 1..value.end + 1);
    let opening = (name.end - name.start) as usize + 3;
    if let (None, Some((opening, [plain @ .., b'"']))) = (base, written.split_at_checked(opening))
        && opening.starts_with(b" ")
        && opening.ends_with(b"=\"")
        && value.start == name.end + 2
        && crate::escape::is_plain_value(plain)
    {
        tag.extend_from_slice(written);
        return;
    }
    tag.push(b' ');
    tag.extend_from_slice(document.octets(name.clone()));
    tag.extend_from_slice(b"=\"");
    match base {
        Some(base) => crate::escape::attribute(base, tag),
        None => push_value(document, value.clone(), tag),
    }
    tag.push(b'"');
}

/// Appends an attribute value as C14N writes it.
fn push_value(document: &Document, place: Range<u32>, output: &mut Vec<u8>) {
    let bytes = document.octets(place.clone());
    let special = |&byte: &u8| byte < b' ' || byte == b'&' || byte == b'"';
    let written = document.slice(place);
    let mut copied = 0;
    let mut at = 0;
    while let Some(length) = bytes[at..].iter().position(special) {
        at += length;
        output.extend_from_slice(&bytes[copied..at]);
        match bytes[at] {
            b'&' => {
                if let Ok(reference) = reference::read(written, at) {
                    let mut utf8 = [0; 4];
                    crate::escape::attribute(reference.character.encode_utf8(&mut utf8), output);
                    at = reference.end;
                } else {
                    at += 1;
                }
            }
            b'"' => {
                output.extend_from_slice(b"&quot;");
                at += 1;
            }
            byte => {
                output.push(b' ');
                let pair = byte == b'\r' && bytes.get(at + 1) == Some(&b'\n');
                at += if pair { 2 } else { 1 };
            }
        }
        copied = at;
    }
    output.extend_from_slice(&bytes[copied..]);
}
