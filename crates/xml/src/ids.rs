//! Which attributes are ids, and the index from id to element.
//!
//! Without a DTD or a schema at hand, what is an id is known from the specifications of the
//! elements that carry them. The rule: an id that occurs twice is never silently resolved to one of
//! its elements.

use crate::chars;
use crate::error::DuplicateId;
use crate::tape::NodeId;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::borrow::Cow;
use std::hash::BuildHasher;
use std::sync::LazyLock;

const WSU: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";
const XML: &str = crate::names::XML_NAMESPACE;

/// `wsu:Id` and `xml:id` on every element; the others on the elements of these namespaces, without
/// prefix.
static STANDARD: [Rule; 20] = [
    on_any_element(WSU, "Id"),
    on_any_element(XML, "id"),
    // XML-Signature 1.0 and 1.1, XML-Encryption 1.0 and 1.1.
    on_elements_of("http://www.w3.org/2000/09/xmldsig#", "Id"),
    on_elements_of("http://www.w3.org/2009/xmldsig11#", "Id"),
    on_elements_of("http://www.w3.org/2001/04/xmlenc#", "Id"),
    on_elements_of("http://www.w3.org/2009/xmlenc11#", "Id"),
    // WS-Security declares no `Id` without prefix, but BSP 1.1 receivers meet it on tokens of old
    // senders.
    on_elements_of(
        "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd",
        "Id",
    ),
    // SAML 1.0 and 1.1, assertions and protocol.
    on_elements_of("urn:oasis:names:tc:SAML:1.0:assertion", "AssertionID"),
    on_elements_of("urn:oasis:names:tc:SAML:1.0:protocol", "RequestID"),
    on_elements_of("urn:oasis:names:tc:SAML:1.0:protocol", "ResponseID"),
    // SAML 2.0: assertions, protocol, metadata.
    on_elements_of("urn:oasis:names:tc:SAML:2.0:assertion", "ID"),
    on_elements_of("urn:oasis:names:tc:SAML:2.0:protocol", "ID"),
    on_elements_of("urn:oasis:names:tc:SAML:2.0:metadata", "ID"),
    // XAdES 1.1.1 to 1.4.1.
    on_elements_of("http://uri.etsi.org/01903/v1.1.1#", "Id"),
    on_elements_of("http://uri.etsi.org/01903/v1.2.2#", "Id"),
    on_elements_of("http://uri.etsi.org/01903/v1.3.2#", "Id"),
    on_elements_of("http://uri.etsi.org/01903/v1.4.1#", "Id"),
    // XKMS 2.0.
    on_elements_of("http://www.w3.org/2002/03/xkms#", "Id"),
    // XML-Signature properties and the later namespaces of the same working group.
    on_elements_of("http://www.w3.org/2009/xmldsig-properties", "Id"),
    on_elements_of("http://www.w3.org/2010/xmldsig2#", "Id"),
];

/// Bits of the [shapes](shape) of the local names of [`STANDARD`].
static STANDARD_SHAPES: LazyLock<u64> = LazyLock::new(|| {
    let shapes = STANDARD.iter().map(|rule| shape(rule.local.as_bytes()));
    shapes.fold(0, std::ops::BitOr::bitor)
});

/// Tells which attributes are ids. Made for each message: the standard rules cost nothing to make
/// or to clone.
#[derive(Clone, Debug)]
pub struct IdAttributes {
    rules: Cow<'static, [Rule]>,
    /// Bits of the [shapes](shape) of the rules' local names.
    shapes: u64,
    /// Whether [lookalikes](Self::with_lookalikes) are noted.
    lookalikes: bool,
}

#[derive(Clone, Debug)]
struct Rule {
    /// Namespace and local name of the attribute; no namespace: any, for rules given by local name
    /// alone.
    namespace: Option<Cow<'static, str>>,
    local: Cow<'static, str>,
    /// Namespace of the elements whose attribute it is; `None`: any element.
    element: Option<&'static str>,
}

const fn on_any_element(namespace: &'static str, local: &'static str) -> Rule {
    Rule {
        namespace: Some(Cow::Borrowed(namespace)),
        local: Cow::Borrowed(local),
        element: None,
    }
}

const fn on_elements_of(element: &'static str, local: &'static str) -> Rule {
    Rule {
        namespace: Some(Cow::Borrowed("")),
        local: Cow::Borrowed(local),
        element: Some(element),
    }
}

impl Default for IdAttributes {
    fn default() -> Self {
        IdAttributes::standard()
    }
}

impl IdAttributes {
    /// No attribute at all is an id.
    pub const fn none() -> IdAttributes {
        IdAttributes {
            rules: Cow::Borrowed(&[]),
            shapes: 0,
            lookalikes: false,
        }
    }

    /// What the specifications say: `wsu:Id` and `xml:id` on every element; `Id`, `ID`,
    /// `AssertionID`, `RequestID` and `ResponseID` on the elements of XML-Signature,
    /// XML-Encryption, SAML and XAdES.
    pub fn standard() -> IdAttributes {
        IdAttributes {
            rules: Cow::Borrowed(&STANDARD),
            shapes: *STANDARD_SHAPES,
            lookalikes: false,
        }
    }

    /// The [standard](Self::standard) ones, and lookalikes are noted: attributes `Id`, `ID` and
    /// `id` without a namespace on elements of other namespaces. They are no ids, but other
    /// receivers take them for some, so an id that equals a lookalike on another element is a
    /// duplicate. Two lookalikes that are equal are data of an application.
    pub fn with_lookalikes() -> IdAttributes {
        IdAttributes {
            lookalikes: true,
            ..IdAttributes::standard()
        }
    }

    /// Adds one: `{namespace}local`, or `local` for an attribute of this name in any or no
    /// namespace, on any element.
    #[must_use]
    pub fn with(mut self, attribute: &str) -> IdAttributes {
        let (namespace, local) = match attribute
            .strip_prefix('{')
            .and_then(|rest| rest.rsplit_once('}'))
        {
            Some((namespace, local)) => (Some(Cow::Owned(namespace.to_owned())), local),
            None => (None, attribute),
        };
        let rule = Rule {
            namespace,
            local: Cow::Owned(local.to_owned()),
            element: None,
        };
        self.shapes |= shape(rule.local.as_bytes());
        self.rules.to_mut().push(rule);
        self
    }

    /// Whether these are the [standard](Self::standard) ones.
    #[inline]
    pub(crate) fn is_standard(&self) -> bool {
        matches!(&self.rules, Cow::Borrowed(rules) if rules.len() == STANDARD.len())
    }

    /// Whether an attribute with this local name can be an id at all.
    #[inline]
    pub(crate) fn may_have(&self, local: &str) -> bool {
        self.shapes & shape(local.as_bytes()) != 0
    }

    /// Whether an attribute whose local name has one of these [shapes](shape) can be an id.
    #[inline]
    pub(crate) fn may_have_any(&self, shapes: u64) -> bool {
        self.shapes & shapes != 0
    }

    /// Whether [lookalikes](Self::with_lookalikes) are noted.
    pub(crate) fn notes_lookalikes(&self) -> bool {
        self.lookalikes
    }

    /// Whether an attribute is noted as a [lookalike](Self::with_lookalikes), unless it is an id.
    pub(crate) fn resembles(&self, namespace: &str, local: &str) -> bool {
        self.lookalikes && looks_like_an_id(namespace, local)
    }

    pub(crate) fn matches(&self, element: &str, namespace: &str, local: &str) -> bool {
        self.rules.iter().any(|rule| {
            rule.local == local
                && rule
                    .namespace
                    .as_deref()
                    .is_none_or(|wanted| wanted == namespace)
                && rule.element.is_none_or(|wanted| wanted == element)
        })
    }
}

/// Whether some receivers take such an attribute for an id on any element.
pub(crate) fn looks_like_an_id(namespace: &str, local: &str) -> bool {
    namespace.is_empty() && matches!(local, "Id" | "ID" | "id")
}

/// One bit for the length and the first byte of a name: one look tells `Algorithm` from
/// `RequestID`.
#[inline]
pub(crate) fn shape(local: &[u8]) -> u64 {
    let first = usize::from(local.first().copied().unwrap_or_default());
    1 << ((local.len() + 7 * first) % 64)
}

/// An id without the white space around it. Hardly any has some.
fn trimmed(id: &str) -> &str {
    let is_space = |byte: Option<&u8>| byte.is_some_and(|&byte| chars::is_space(byte));
    match is_space(id.as_bytes().first()) || is_space(id.as_bytes().last()) {
        true => id.trim_matches([' ', '\t', '\n', '\r']),
        false => id,
    }
}

/// A table of this size is always kept for the next document.
const KEPT: usize = 1 << 10;

/// From id to element. Entries keep the order of scanning.
#[derive(Debug, Default)]
pub(crate) struct IdIndex {
    hasher: RandomState,
    table: HashTable<u32>,
    entries: Vec<Entry>,
    text: String,
    /// The entry whose id was the first to occur twice.
    first_duplicate: Option<u32>,
    /// Hashes of [lookalikes](IdAttributes::with_lookalikes). The hasher is keyed at random, so
    /// nobody makes two that collide.
    lookalikes: HashTable<u64>,
}

#[derive(Debug)]
struct Entry {
    start: u32,
    end: u32,
    node: NodeId,
    /// The second element with the same id.
    duplicate: Option<NodeId>,
}

/// How full the index was, to take back what a failed graft added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    entries: usize,
}

impl IdIndex {
    pub(crate) fn clear(&mut self) {
        // Emptying a table costs what it can hold: a large one is kept only while documents need
        // it.
        if self.table.capacity() > KEPT.max(16 * self.entries.len()) {
            self.table = HashTable::new();
        }
        self.table.clear();
        if self.lookalikes.capacity() > KEPT.max(16 * self.lookalikes.len()) {
            self.lookalikes = HashTable::new();
        }
        self.lookalikes.clear();
        self.entries.clear();
        self.text.clear();
        self.first_duplicate = None;
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Adds an id. White space around it is not part of it (xml:id 4, XML Schema `ID`).
    pub(crate) fn insert(&mut self, id: &str, node: NodeId) {
        let id = trimmed(id);
        if id.is_empty() {
            return;
        }
        let hash = self.hasher.hash_one(id);
        let IdIndex {
            table,
            entries,
            text,
            hasher,
            first_duplicate,
            lookalikes,
        } = self;
        let of = |entry: &Entry, text: &str| text[entry.start as usize..entry.end as usize] == *id;
        if let Some(&found) = table.find(hash, |&index| of(&entries[index as usize], text)) {
            let entry = &mut entries[found as usize];
            // The same element may say the same id twice, as `wsu:Id` and as `xml:id`: that is not
            // ambiguous.
            if entry.node != node && entry.duplicate.is_none() {
                entry.duplicate = Some(node);
                first_duplicate.get_or_insert(found);
            }
            return;
        }
        let start = text.len() as u32;
        text.push_str(id);
        let index = entries.len() as u32;
        let resembled = lookalikes.find(hash, |&other| other == hash).is_some();
        if resembled {
            first_duplicate.get_or_insert(index);
        }
        entries.push(Entry {
            start,
            end: text.len() as u32,
            node,
            duplicate: resembled.then_some(node),
        });
        table.insert_unique(hash, index, |&index| {
            let entry = &entries[index as usize];
            hasher.hash_one(&text[entry.start as usize..entry.end as usize])
        });
    }

    /// Notes a [lookalike](IdAttributes::with_lookalikes) on an element that has no id of this
    /// value.
    pub(crate) fn insert_lookalike(&mut self, value: &str, node: NodeId) {
        let value = trimmed(value);
        if value.is_empty() {
            return;
        }
        let hash = self.hasher.hash_one(value);
        if let Some(&found) = self.table.find(hash, |&index| self.id(index) == value) {
            let entry = &mut self.entries[found as usize];
            if entry.duplicate.is_none() {
                entry.duplicate = Some(node);
                self.first_duplicate.get_or_insert(found);
            }
        }
        self.lookalikes
            .entry(hash, |&other| other == hash, |&other| other)
            .or_insert(hash);
    }

    pub(crate) fn find(&self, id: &str) -> Result<Option<NodeId>, DuplicateId> {
        let hash = self.hasher.hash_one(id);
        let found = self.table.find(hash, |&index| self.id(index) == id);
        match found.map(|&index| (&self.entries[index as usize], index)) {
            None => Ok(None),
            Some((entry, index)) if entry.duplicate.is_some() => Err(self.duplicate_of(index)),
            Some((entry, _)) => Ok(Some(entry.node)),
        }
    }

    pub(crate) fn duplicate(&self) -> Option<DuplicateId> {
        self.first_duplicate.map(|index| self.duplicate_of(index))
    }

    fn id(&self, index: u32) -> &str {
        let entry = &self.entries[index as usize];
        &self.text[entry.start as usize..entry.end as usize]
    }

    fn duplicate_of(&self, index: u32) -> DuplicateId {
        let entry = &self.entries[index as usize];
        DuplicateId {
            id: self.id(index).to_owned(),
            first: entry.node,
            second: entry.duplicate.unwrap_or(entry.node),
        }
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark {
            entries: self.entries.len(),
        }
    }

    /// Forgets what was added since `mark`, by elements from `first_node` on.
    pub(crate) fn take_back(&mut self, mark: Mark, first_node: NodeId) {
        for index in (mark.entries..self.entries.len()).rev() {
            let hash = self.hasher.hash_one(self.id(index as u32));
            if let Ok(found) = self.table.find_entry(hash, |&other| other == index as u32) {
                found.remove();
            }
        }
        if let Some(entry) = self.entries.get(mark.entries) {
            self.text.truncate(entry.start as usize);
        }
        self.entries.truncate(mark.entries);
        for entry in &mut self.entries {
            if entry.duplicate.is_some_and(|node| node >= first_node) {
                entry.duplicate = None;
            }
        }
        if let Some(first) = self.first_duplicate {
            let still = self.entries.get(first as usize);
            if still.is_none_or(|entry| entry.duplicate.is_none()) {
                self.first_duplicate = self
                    .entries
                    .iter()
                    .position(|entry| entry.duplicate.is_some())
                    .map(|at| at as u32);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(index: u32) -> NodeId {
        NodeId::new(index)
    }

    #[test]
    fn standard_ids_depend_on_the_element() {
        let ids = IdAttributes::standard();
        let ds = "http://www.w3.org/2000/09/xmldsig#";
        assert!(ids.matches("urn:any", WSU, "Id"));
        assert!(ids.matches("urn:any", XML, "id"));
        assert!(ids.matches(ds, "", "Id"));
        assert!(!ids.matches("urn:any", "", "Id"));
        assert!(!ids.matches(ds, "", "ID"));
        assert!(ids.matches("urn:oasis:names:tc:SAML:2.0:assertion", "", "ID"));
        assert!(ids.may_have("AssertionID") && !ids.may_have("Algorithm"));
    }

    #[test]
    fn added_ids_hold_on_any_element() {
        let ids = IdAttributes::none().with("{urn:a}key").with("name");
        assert!(ids.matches("urn:any", "urn:a", "key") && !ids.matches("urn:any", "", "key"));
        assert!(ids.matches("urn:any", "", "name") && ids.matches("urn:any", "urn:b", "name"));
    }

    #[test]
    fn an_id_on_two_elements_is_an_error_when_asked_for() {
        let mut index = IdIndex::default();
        index.insert("a", node(1));
        index.insert("b", node(2));
        index.insert(" a ", node(3));
        let duplicate = DuplicateId {
            id: "a".into(),
            first: node(1),
            second: node(3),
        };
        assert_eq!(index.find("a"), Err(duplicate.clone()));
        assert_eq!(index.find("b"), Ok(Some(node(2))));
        assert_eq!(index.find("c"), Ok(None));
        assert_eq!(index.duplicate(), Some(duplicate));
    }

    #[test]
    fn an_id_that_a_lookalike_equals_is_a_duplicate_in_either_order() {
        for lookalike_first in [true, false] {
            let mut index = IdIndex::default();
            if lookalike_first {
                index.insert_lookalike(" a", node(1));
            }
            index.insert("a", node(2));
            if !lookalike_first {
                index.insert_lookalike("a ", node(3));
            }
            let duplicate = index.duplicate().expect("a duplicate");
            assert_eq!((duplicate.id.as_str(), duplicate.first), ("a", node(2)));
            assert_eq!(index.find("a"), Err(duplicate));
        }
    }

    #[test]
    fn lookalikes_alone_are_no_ids() {
        let mut index = IdIndex::default();
        index.insert_lookalike("a", node(1));
        index.insert_lookalike("a", node(2));
        index.insert("b", node(3));
        assert_eq!((index.find("a"), index.duplicate()), (Ok(None), None));
        assert_eq!(index.len(), 1);
        index.clear();
        index.insert("a", node(1));
        assert_eq!(index.duplicate(), None);
    }

    #[test]
    fn the_same_id_twice_on_one_element_is_no_duplicate() {
        let mut index = IdIndex::default();
        index.insert("a", node(1));
        index.insert("a", node(1));
        assert_eq!(index.find("a"), Ok(Some(node(1))));
        assert_eq!(index.duplicate(), None);
    }

    #[test]
    fn what_a_failed_graft_added_is_taken_back() {
        let mut index = IdIndex::default();
        index.insert("a", node(1));
        let mark = index.mark();
        index.insert("a", node(5));
        index.insert("b", node(6));
        index.take_back(mark, node(5));
        assert_eq!(index.find("a"), Ok(Some(node(1))));
        assert_eq!(index.find("b"), Ok(None));
        assert_eq!(index.duplicate(), None);
    }
}
