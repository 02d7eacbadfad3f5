//! Elements: cheap views into a document.
//!
//! Children, siblings and descendants follow grafts: an element that was replaced is not met, what
//! it held is. The rule: a view only reads, and what it returns borrows from the document.

use crate::attributes::{self, Attribute, StartTag};
use crate::document::Document;
use crate::error::Position;
use crate::names;
use crate::numbers::{NONE, prefix, uri};
use crate::tape::{Listed, NO_PARENT, NodeId, flags};
use std::borrow::Cow;
use std::ops::Range;

/// An element of a [`Document`].
#[derive(Clone, Copy)]
pub struct Element<'d> {
    document: &'d Document,
    index: u32,
}

impl std::fmt::Debug for Element<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<{}> {:?}", self.qualified_name(), self.id())
    }
}

impl PartialEq for Element<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.document, other.document) && self.index == other.index
    }
}

impl Eq for Element<'_> {}

impl Document {
    /// The root element; what was grafted over it, if it was replaced.
    pub fn root(&self) -> Element<'_> {
        let root = self.resolve(0).unwrap_or(0);
        Element::new(self, root)
    }

    /// The elements with this expanded name in the order in which they were read, replaced ones
    /// included.
    pub fn elements_named(
        &self,
        namespace: &str,
        local: &str,
    ) -> impl Iterator<Item = Element<'_>> {
        let names = &self.parts.names;
        // A name has few numbers, one for each prefix: they are looked up once, unless there are
        // more names than elements.
        let numbers = (names.all().len() <= 2 * self.parts.tape.len())
            .then(|| names.numbers_of(namespace, local));
        let read = self.parts.tape.iter().enumerate();
        read.filter(move |(_, entry)| match &numbers {
            Some(numbers) => numbers.contains(&entry.name),
            None => names.element_is(entry.name, namespace, local),
        })
        .map(|(index, _)| Element::new(self, index as u32))
    }

    /// The view of an element.
    ///
    /// # Panics
    ///
    /// If `node` is of another document that has more elements.
    #[inline]
    pub fn element(&self, node: NodeId) -> Element<'_> {
        assert!(
            node.index() < self.parts.tape.len(),
            "a node of another document"
        );
        Element::new(self, node.index() as u32)
    }

    #[inline]
    pub(crate) fn element_at(&self, index: u32) -> Element<'_> {
        Element::new(self, index)
    }
}

impl<'d> Element<'d> {
    #[inline]
    pub(crate) fn new(document: &'d Document, index: u32) -> Element<'d> {
        Element { document, index }
    }

    /// The name of this place in its document.
    #[inline]
    pub fn id(&self) -> NodeId {
        NodeId::new(self.index)
    }

    /// The document.
    #[inline]
    pub fn document(&self) -> &'d Document {
        self.document
    }

    fn name(&self) -> &'d names::Name {
        self.document
            .parts
            .names
            .name(self.document.entry(self.index).name)
    }

    /// The namespace name; empty for none.
    #[inline]
    pub fn namespace(&self) -> &'d str {
        self.document.parts.names.uri(self.name().uri)
    }

    /// The local name.
    #[inline]
    pub fn local(&self) -> &'d str {
        self.document.parts.names.local(self.name().qname)
    }

    /// The prefix; empty for none.
    #[inline]
    pub fn prefix(&self) -> &'d str {
        self.document.parts.names.prefix(self.name().prefix)
    }

    /// Where its start tag lies in the offset space, from `<` to behind `>`; all of it for an
    /// empty-element tag.
    #[inline]
    pub fn start_tag_range(&self) -> Range<u32> {
        let start = self.document.entry(self.index).start;
        start..self.document.start_tag_end(self.index)
    }

    /// The qualified name as written.
    pub fn qualified_name(&self) -> &'d str {
        self.document.parts.names.qname_text(self.name().qname)
    }

    /// Whether this is its expanded name.
    #[inline]
    pub fn is(&self, namespace: &str, local: &str) -> bool {
        let names = &self.document.parts.names;
        names.element_is(self.document.entry(self.index).name, namespace, local)
    }

    /// Whether this is its local name.
    #[inline]
    pub fn is_local(&self, local: &str) -> bool {
        let names = &self.document.parts.names;
        names.local_is(self.document.entry(self.index).name, local)
    }

    /// The parent; `None` for the root.
    #[inline]
    pub fn parent(&self) -> Option<Element<'d>> {
        match self.document.entry(self.index).parent {
            NO_PARENT => None,
            parent => Some(Element::new(self.document, parent)),
        }
    }

    /// The parent, its parent, and so on to the root.
    pub fn ancestors(&self) -> impl Iterator<Item = Element<'d>> + use<'d> {
        std::iter::successors(self.parent(), Element::parent)
    }

    /// The first child element.
    #[inline]
    pub fn first_child(&self) -> Option<Element<'d>> {
        self.document
            .first_child(self.index)
            .map(|child| Element::new(self.document, child))
    }

    /// The next sibling element.
    #[inline]
    pub fn next_sibling(&self) -> Option<Element<'d>> {
        self.document
            .next_sibling(self.index)
            .map(|next| Element::new(self.document, next))
    }

    /// The child elements.
    #[inline]
    pub fn children(&self) -> impl Iterator<Item = Element<'d>> + use<'d> {
        std::iter::successors(self.first_child(), Element::next_sibling)
    }

    /// The first child element with this expanded name.
    pub fn child(&self, namespace: &str, local: &str) -> Option<Element<'d>> {
        self.children().find(|child| child.is(namespace, local))
    }

    /// This element and all elements inside it, in document order.
    pub fn descendants(&self) -> impl Iterator<Item = Element<'d>> + use<'d> {
        let apex = *self;
        let is_whole = self.document.parts.grafts.is_empty();
        // Without grafts the tape has them in this order.
        let written = match is_whole {
            true => apex.index..self.document.behind(apex.index),
            false => 0..0,
        };
        let grafted = std::iter::successors((!is_whole).then_some(apex), move |element| {
            if let Some(child) = element.first_child() {
                return Some(child);
            }
            let mut element = *element;
            while element != apex {
                if let Some(next) = element.next_sibling() {
                    return Some(next);
                }
                element = element.parent()?;
            }
            None
        });
        let document = self.document;
        let written = written.map(move |index| Element { document, index });
        written.chain(grafted)
    }

    /// Whether `other` is this element or lies inside it, grafts followed.
    pub fn contains(&self, other: Element<'_>) -> bool {
        if !std::ptr::eq(self.document, other.document) {
            return false;
        }
        let mut index = other.index;
        loop {
            if index == self.index {
                return true;
            }
            match self.document.entry(index).parent {
                NO_PARENT => return false,
                parent => index = parent,
            }
        }
    }

    /// Whether a graft stands in its place.
    pub fn is_replaced(&self) -> bool {
        self.document.entry(self.index).flags & flags::REPLACED != 0
    }

    /// Whether it is part of the document as it now stands: neither it nor an element around it was
    /// replaced.
    pub fn is_live(&self) -> bool {
        !self.is_replaced() && self.ancestors().all(|ancestor| !ancestor.is_replaced())
    }

    fn start_tag(&self) -> StartTag<'d> {
        let entry = self.document.entry(self.index);
        let name = self.document.parts.names.name(entry.name);
        StartTag::new(self.document.slice(entry.start..entry.end), name.length)
    }

    /// The value of an attribute: references resolved, white space normalized (XML 3.3.3).
    pub fn attribute(&self, namespace: &str, local: &str) -> Option<Cow<'d, str>> {
        let Some(listed) = self.document.parts.listed(self.index) else {
            return self.read_attribute(namespace, local);
        };
        let names = &self.document.parts.names;
        let named =
            |listed: &&Listed| names.attribute_is(listed.qname, listed.uri, namespace, local);
        let listed = listed.iter().find(named)?;
        let written = self.document.slice(listed.start..listed.end);
        Some(match listed.decode {
            true => attributes::normalize(written),
            false => Cow::Borrowed(written),
        })
    }

    /// [`Element::attribute`] of an element whose attributes are not listed.
    fn read_attribute(&self, namespace: &str, local: &str) -> Option<Cow<'d, str>> {
        let mut read = self.read_attributes();
        read.find(|attribute| attribute.local() == local && attribute.namespace == namespace)
            .map(|attribute| attribute.value())
    }

    /// The attributes in the order in which they are written, without namespace declarations.
    pub fn attributes(&self) -> impl Iterator<Item = Attribute<'d>> + use<'d> {
        let document = self.document;
        let names = &document.parts.names;
        let listed = document.parts.listed(self.index);
        let read = listed.is_none().then(|| self.read_attributes());
        let listed = listed.unwrap_or_default().iter();
        listed
            .map(move |listed| Attribute {
                name: names.qname_text(listed.qname),
                namespace: names.uri(listed.uri),
                written: document.slice(listed.start..listed.end),
            })
            .chain(read.into_iter().flatten())
    }

    /// The [`attributes`](Self::attributes) without a namespace: their names have no prefix.
    pub fn plain_attributes(&self) -> impl Iterator<Item = Attribute<'d>> + use<'d> {
        let document = self.document;
        let names = &document.parts.names;
        let listed = document.parts.listed(self.index);
        let read = listed.is_none().then(|| self.read_attributes());
        let read = read.into_iter().flatten();
        let listed = listed.unwrap_or_default().iter();
        listed
            .filter(|listed| listed.uri == uri::EMPTY)
            .map(move |listed| Attribute {
                name: names.qname_text(listed.qname),
                namespace: "",
                written: document.slice(listed.start..listed.end),
            })
            .chain(read.filter(|attribute| attribute.namespace.is_empty()))
    }

    /// The first attribute without a namespace whose name `is_meant`.
    pub fn plain_attribute(&self, mut is_meant: impl FnMut(&str) -> bool) -> Option<Attribute<'d>> {
        let Some(listed) = self.document.parts.listed(self.index) else {
            let mut read = self.read_attributes();
            return read
                .find(|attribute| attribute.namespace.is_empty() && is_meant(attribute.name));
        };
        let names = &self.document.parts.names;
        listed
            .iter()
            .filter(|listed| listed.uri == uri::EMPTY)
            .map(|listed| (listed, names.qname_text(listed.qname)))
            .find(|(_, name)| is_meant(name))
            .map(|(listed, name)| Attribute {
                name,
                namespace: "",
                written: self.document.slice(listed.start..listed.end),
            })
    }

    /// [`Element::attributes`] of an element whose attributes are not listed.
    fn read_attributes(&self) -> impl Iterator<Item = Attribute<'d>> + use<'d> {
        let element = *self;
        self.start_tag()
            .filter(|written| written.declares().is_none())
            .map(move |written| Attribute {
                name: written.name,
                namespace: element.attribute_namespace(attributes::split(written.name).0),
                written: written.value,
            })
    }

    fn attribute_namespace(&self, prefix: &str) -> &'d str {
        match prefix {
            "" => "",
            _ => self.namespace_of(prefix).unwrap_or_default(),
        }
    }

    /// The namespaces that its start tag declares: prefix and namespace name.
    pub fn declarations(&self) -> impl Iterator<Item = (&'d str, &'d str)> + use<'d> {
        let names = &self.document.parts.names;
        let declared = self.document.declarations(self.index).iter();
        declared.map(|declaration| (names.prefix(declaration.prefix), names.uri(declaration.uri)))
    }

    /// The namespace to which a prefix (empty: the default) is bound here; `None` if it is bound to
    /// none.
    pub fn namespace_of(&self, prefix: &str) -> Option<&'d str> {
        let names = &self.document.parts.names;
        let prefix = names.find_prefix(prefix)?;
        if prefix == prefix::XML {
            return Some(names.uri(uri::XML));
        }
        let mut index = self.index;
        while index != NO_PARENT {
            let declared = self.document.declarations(index).iter();
            if let Some(found) = declared
                .clone()
                .find(|declaration| declaration.prefix == prefix)
            {
                return (found.uri != uri::EMPTY).then(|| names.uri(found.uri));
            }
            index = self.document.entry(index).parent;
        }
        None
    }

    /// All namespaces in scope: prefix (empty: the default) and namespace name, in order of
    /// prefixes, without `xml`.
    pub fn namespaces_in_scope(&self) -> Vec<(&'d str, &'d str)> {
        let mut bindings = Vec::new();
        self.document.parts.bind_context(self.index, &mut bindings);
        let names = &self.document.parts.names;
        let mut scope: Vec<(&str, &str)> = (0..)
            .zip(bindings)
            .filter(|&(prefix, uri)| uri != NONE && uri != uri::EMPTY && prefix != prefix::XML)
            .map(|(prefix, uri)| (names.prefix(prefix), names.uri(uri)))
            .collect();
        scope.sort_unstable();
        scope
    }

    /// Its place: from the `<` of its start tag to behind the `>` of its end tag. Offsets of the
    /// message are those of [`Document::bytes`]; plaintexts have theirs behind them.
    pub fn range(&self) -> Range<u32> {
        let entry = self.document.entry(self.index);
        entry.start..entry.end
    }

    /// Line and column of its start tag, in the message or in the plaintext in which it came.
    pub fn line_column(&self) -> (u32, u32) {
        let start = self.document.entry(self.index).start;
        let segment = self.document.segment(start);
        let position = Position::of(segment.text.as_bytes(), (start - segment.base) as usize);
        (position.line, position.column)
    }
}
