//! Names as small integers.
//!
//! Prefixes, namespace names, qualified names and element names are interned while scanning, so
//! that "the same name?" and "the same namespace?" are compares of integers. The tables outlive a
//! document: with recycled [`Buffers`](crate::Buffers) the names of the last message are already
//! known in the next one. The rule: a name's text is checked once, when it enters a table; what is
//! found in a table is well-formed.

mod key;
mod texts;

use crate::chars;
use crate::numbers::{NONE, prefix, uri};
use crate::scan::TagCache;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::cmp::Ordering;
use std::hash::BuildHasher;

use self::key::Key;
pub(crate) use self::key::{SHORT, key_at, mask_name};
pub(crate) use self::texts::Full;
use self::texts::{Texts, UNSEEN, same};

/// What the prefix `xml` is bound to, always.
pub const XML_NAMESPACE: &str = "http://www.w3.org/XML/1998/namespace";
pub(crate) const XMLNS_NAMESPACE: &str = "http://www.w3.org/2000/xmlns/";

/// The qualified name `xmlns`, known from the start.
pub(crate) const QNAME_XMLNS: u16 = 0;

/// Tables larger than this are not kept for the next document.
const KEPT_NAMES: usize = 1024;
const KEPT_TEXT: usize = 64 << 10;

/// A qualified name as written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QName {
    start: u32,
    pub(crate) length: u16,
    /// Length of prefix and colon: 0 without a prefix.
    pub(crate) local_at: u16,
    pub(crate) prefix: u16,
    /// As the name of a namespace declaration: the prefix that it declares, and the namespace that
    /// it last bound it to. [`NONE`] before the first one.
    declares: u16,
    declared: u16,
    /// The first bytes of the local name, the first one being the most significant: local names
    /// differ as these do.
    order: u64,
}

/// A qualified name with the namespace it has as an element's name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name {
    /// If it is short, the name and the `>` behind it.
    pub(crate) key: [u8; SHORT],
    /// The bits of the bytes of the key; if it is not short all bits, of a key that no source has.
    pub(crate) mask: u16,
    pub(crate) qname: u16,
    pub(crate) uri: u16,
    pub(crate) prefix: u16,
    /// Bytes of the qualified name.
    pub(crate) length: u16,
    /// Its local name in the text of the qualified names.
    local_length: u16,
    local_start: u32,
}

/// One place of the cache that answers "which name?" for names with one compare.
#[derive(Clone, Copy, Debug)]
struct Slot {
    key: Key,
    qname: u16,
    prefix: u16,
    /// The name it last was as an element, and its namespace.
    name: u16,
    uri: u16,
}

/// Places by hash, two for each: names that meet in one place are rare, three rarer still.
const SETS: usize = 512;
const VACANT: Slot = Slot {
    key: [0, 0],
    qname: NONE,
    prefix: 0,
    name: NONE,
    uri: UNSEEN,
};

#[inline(always)]
fn set_of(key: Key) -> usize {
    let mixed = (key[0] ^ key[1].rotate_left(29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 55) as usize % SETS
}

#[derive(Debug)]
pub(crate) struct Names {
    hasher: RandomState,
    prefixes: Texts,
    uris: Texts,
    /// Text of the qualified names.
    text: String,
    qnames: Vec<QName>,
    qname_table: HashTable<u16>,
    names: Vec<Name>,
    name_table: HashTable<u16>,
    slots: Box<[[Slot; 2]; SETS]>,
    /// Tags of such names.
    pub(crate) tags: TagCache,
}

impl Default for Names {
    fn default() -> Self {
        let hasher = RandomState::default();
        let mut names = Names {
            prefixes: Texts::with(&["", "xml", "xmlns"], &hasher),
            uris: Texts::with(&["", XML_NAMESPACE, XMLNS_NAMESPACE], &hasher),
            hasher,
            text: String::new(),
            qnames: Vec::new(),
            qname_table: HashTable::new(),
            names: Vec::new(),
            name_table: HashTable::new(),
            slots: Box::new([[VACANT; 2]; SETS]),
            tags: TagCache::default(),
        };
        // The first name always fits.
        let _ = names.intern_qname("xmlns");
        names
    }
}

impl Names {
    /// Forgets everything if the last document left much behind.
    pub(crate) fn settle(&mut self) {
        let many = [
            self.prefixes.spans.len(),
            self.uris.spans.len(),
            self.qnames.len(),
            self.names.len(),
        ];
        let text = self.text.len() + self.uris.text.len() + self.prefixes.text.len();
        if many.iter().any(|&entries| entries > KEPT_NAMES) || text > KEPT_TEXT {
            *self = Names::default();
        }
    }

    pub(crate) fn prefix_count(&self) -> usize {
        self.prefixes.spans.len()
    }

    pub(crate) fn uri_count(&self) -> usize {
        self.uris.spans.len()
    }

    /// Qualified names, and names: whichever are more.
    pub(crate) fn name_count(&self) -> usize {
        self.qnames.len().max(self.names.len())
    }

    pub(crate) fn prefix(&self, index: u16) -> &str {
        self.prefixes.at(index)
    }

    #[inline]
    pub(crate) fn uri(&self, index: u16) -> &str {
        self.uris.at(index)
    }

    pub(crate) fn find_prefix(&self, prefix: &str) -> Option<u16> {
        self.prefixes.find(prefix, &self.hasher)
    }

    pub(crate) fn find_uri(&self, uri: &str) -> Option<u16> {
        self.uris.find(uri, &self.hasher)
    }

    pub(crate) fn intern_prefix(&mut self, prefix: &str) -> Result<u16, Full> {
        self.prefixes.intern(prefix, &self.hasher)
    }

    pub(crate) fn intern_uri(&mut self, uri: &str) -> Result<u16, Full> {
        self.uris.intern(uri, &self.hasher)
    }

    #[inline]
    pub(crate) fn qname(&self, index: u16) -> QName {
        self.qnames[index as usize]
    }

    #[inline]
    pub(crate) fn name(&self, index: u16) -> &Name {
        &self.names[index as usize]
    }

    /// All element names.
    #[inline]
    pub(crate) fn all(&self) -> &[Name] {
        &self.names
    }

    #[inline]
    pub(crate) fn qname_text(&self, index: u16) -> &str {
        let qname = &self.qnames[index as usize];
        &self.text[qname.start as usize..qname.start as usize + qname.length as usize]
    }

    #[inline]
    pub(crate) fn local(&self, qname: u16) -> &str {
        let QName {
            start,
            length,
            local_at,
            ..
        } = self.qnames[qname as usize];
        &self.text[start as usize + local_at as usize..start as usize + length as usize]
    }

    /// Whether an element name is this one.
    #[inline]
    pub(crate) fn element_is(&self, name: u16, namespace: &str, local: &str) -> bool {
        self.local_is(name, local) && self.uris.is(self.names[name as usize].uri, namespace)
    }

    /// Whether the local part of an element name is this one.
    #[inline]
    pub(crate) fn local_is(&self, name: u16, local: &str) -> bool {
        let name = &self.names[name as usize];
        // Lengths first: most names that are asked for differ in them.
        name.local_length as usize == local.len()
            && self.text.as_bytes()[name.local_start as usize..][..local.len()] == *local.as_bytes()
    }

    /// The numbers of the element names that are this one.
    pub(crate) fn numbers_of(&self, namespace: &str, local: &str) -> Vec<u16> {
        let numbers = 0..self.names.len() as u16;
        numbers
            .filter(|&name| self.element_is(name, namespace, local))
            .collect()
    }

    /// Whether a qualified name is this one as an attribute's, in the namespace that its prefix has
    /// there.
    #[inline]
    pub(crate) fn attribute_is(&self, qname: u16, uri: u16, namespace: &str, local: &str) -> bool {
        let name = &self.qnames[qname as usize];
        // Lengths first, as with elements.
        if usize::from(name.length - name.local_at) != local.len() {
            return false;
        }
        let start = name.start as usize + usize::from(name.local_at);
        let own = &self.text.as_bytes()[start..start + local.len()];
        same(own, local.as_bytes())
            && match namespace {
                "" => uri == uri::EMPTY,
                _ => self.uris.is(uri, namespace),
            }
    }

    /// How the local names of two qualified names are ordered.
    #[inline]
    pub(crate) fn order_by_local(&self, one: u16, other: u16) -> Ordering {
        let (first, second) = (&self.qnames[one as usize], &self.qnames[other as usize]);
        first
            .order
            .cmp(&second.order)
            .then_with(|| self.local(one).cmp(self.local(other)))
    }

    /// The element name of a key, if it is known and its prefix is still bound to the same
    /// namespace.
    #[inline(always)]
    pub(crate) fn cached_name(&self, key: Key, bindings: &[u16]) -> Option<u16> {
        let slot = self.slot(key)?;
        (bindings.get(slot.prefix as usize) == Some(&slot.uri)).then_some(slot.name)
    }

    #[inline(always)]
    fn slot(&self, key: Key) -> Option<&Slot> {
        // A vacant place has the key 0, which no name has.
        let [first, second] = &self.slots[set_of(key)];
        match first.key == key {
            true => Some(first),
            false => (second.key == key).then_some(second),
        }
    }

    /// Puts a slot in the first of its two places; what was there moves to the second one.
    fn keep(&mut self, slot: Slot) {
        let [first, second] = &mut self.slots[set_of(slot.key)];
        if first.key != slot.key {
            *second = *first;
        }
        *first = slot;
    }

    /// Whether this is the text of an element name.
    #[inline]
    pub(crate) fn is_named(&self, name: u16, text: &[u8]) -> bool {
        self.qname_text(self.names[name as usize].qname).as_bytes() == text
    }

    /// The qualified name of a key, if it is known.
    #[inline]
    pub(crate) fn cached_qname(&self, key: Key) -> Option<u16> {
        self.slot(key).map(|slot| slot.qname)
    }

    /// Interns the text of a name: its qualified name, or `None` if it is not a QName.
    pub(crate) fn intern_qname(&mut self, text: &str) -> Result<Option<u16>, Full> {
        let hash = self.hasher.hash_one(text);
        if let Some(&found) = self
            .qname_table
            .find(hash, |&index| self.qname_text(index) == text)
        {
            return Ok(Some(found));
        }
        let Some(colon) = split_qname(text) else {
            return Ok(None);
        };
        if self.qnames.len() >= NONE as usize || text.len() > u16::MAX as usize {
            return Err(Full::Names);
        }
        let prefix = match colon {
            Some(colon) => self.intern_prefix(&text[..colon])?,
            None => prefix::DEFAULT,
        };
        let index = self.qnames.len() as u16;
        let start = self.text.len() as u32;
        self.text.push_str(text);
        let local_at = colon.map_or(0, |colon| colon + 1);
        let mut order = [0; 8];
        for (place, &byte) in order.iter_mut().zip(&text.as_bytes()[local_at..]) {
            *place = byte;
        }
        let order = u64::from_be_bytes(order);
        let local_at = local_at as u16;
        self.qnames.push(QName {
            start,
            length: text.len() as u16,
            local_at,
            prefix,
            declares: NONE,
            declared: NONE,
            order,
        });
        let Names {
            qname_table,
            qnames,
            text: all,
            hasher,
            ..
        } = self;
        qname_table.insert_unique(hash, index, |&index| {
            let qname = qnames[index as usize];
            hasher
                .hash_one(&all[qname.start as usize..qname.start as usize + qname.length as usize])
        });
        Ok(Some(index))
    }

    /// Prefix and namespace of a declaration, `qname="namespace"`. Most declare what they declared
    /// before.
    pub(crate) fn declaration(&mut self, qname: u16, namespace: &str) -> Result<(u16, u16), Full> {
        let QName {
            start,
            length,
            local_at,
            declares,
            declared,
            ..
        } = self.qnames[qname as usize];
        if declared != NONE && self.uri(declared) == namespace {
            return Ok((declares, declared));
        }
        let uri = self.intern_uri(namespace)?;
        let prefix = match qname {
            QNAME_XMLNS => prefix::DEFAULT,
            _ => {
                let local = start as usize + local_at as usize..start as usize + length as usize;
                self.prefixes.intern(&self.text[local], &self.hasher)?
            }
        };
        let known = &mut self.qnames[qname as usize];
        (known.declares, known.declared) = (prefix, uri);
        Ok((prefix, uri))
    }

    /// Interns a qualified name with its namespace.
    pub(crate) fn intern_name(&mut self, qname: u16, uri: u16) -> Result<u16, Full> {
        let hash = self.hasher.hash_one((qname, uri));
        let names = &self.names;
        let same =
            |&index: &u16| names[index as usize].qname == qname && names[index as usize].uri == uri;
        if let Some(&found) = self.name_table.find(hash, same) {
            return Ok(found);
        }
        if self.names.len() >= NONE as usize {
            return Err(Full::Names);
        }
        let index = self.names.len() as u16;
        let QName {
            start,
            prefix,
            length,
            local_at,
            ..
        } = self.qnames[qname as usize];
        let text = self.qname_text(qname).as_bytes();
        // No byte of UTF-8 is 0xFF.
        let (mut key, mut mask) = ([0xFF; SHORT], u16::MAX);
        if text.len() < SHORT {
            key[..text.len()].copy_from_slice(text);
            key[text.len()] = b'>';
            mask >>= SHORT - 1 - text.len();
        }
        self.names.push(Name {
            key,
            mask,
            qname,
            uri,
            prefix,
            length,
            local_length: length - local_at,
            local_start: start + u32::from(local_at),
        });
        let Names {
            name_table,
            names,
            hasher,
            ..
        } = self;
        name_table.insert_unique(hash, index, |&index| {
            let name = names[index as usize];
            hasher.hash_one((name.qname, name.uri))
        });
        Ok(index)
    }

    /// Remembers the answer for [`Names::cached_qname`].
    pub(crate) fn remember_qname(&mut self, key: Key, qname: u16) {
        let prefix = self.qnames[qname as usize].prefix;
        self.keep(Slot {
            key,
            qname,
            prefix,
            name: NONE,
            uri: UNSEEN,
        });
    }

    /// Remembers the answer for [`Names::cached_name`].
    pub(crate) fn remember(&mut self, key: Key, name: u16) {
        let Name {
            qname, uri, prefix, ..
        } = self.names[name as usize];
        self.keep(Slot {
            key,
            qname,
            prefix,
            name,
            uri,
        });
    }
}

/// Checks the production QName; the place of the colon if it has one.
fn split_qname(text: &str) -> Option<Option<usize>> {
    let end = chars::ncname_end(text, 0)?;
    if end == text.len() {
        return Some(None);
    }
    (text.as_bytes()[end] == b':' && chars::ncname_end(text, end + 1)? == text.len())
        .then_some(Some(end))
}

#[cfg(test)]
mod tests {
    use super::key::key_of;
    use super::*;

    #[test]
    fn the_same_text_is_the_same_number() {
        let mut names = Names::default();
        let a = names.intern_qname("p:a").unwrap().unwrap();
        let b = names.intern_qname("p:b").unwrap().unwrap();
        assert_eq!(names.intern_qname("p:a").unwrap(), Some(a));
        assert_ne!(a, b);
        assert_eq!(names.qname(a).prefix, names.qname(b).prefix);
        assert_eq!((names.qname_text(a), names.local(a)), ("p:a", "a"));
        assert_eq!(names.prefix(names.qname(a).prefix), "p");
        let longer = names.intern_qname("a-longer-name").unwrap().unwrap();
        let longest = names.intern_qname("a-longer-name.").unwrap().unwrap();
        assert_eq!(names.order_by_local(a, b), Ordering::Less);
        assert_eq!(names.order_by_local(a, longer), Ordering::Less);
        assert_eq!(names.order_by_local(longest, longer), Ordering::Greater);
        assert_eq!(names.order_by_local(b, b), Ordering::Equal);
    }

    #[test]
    fn what_is_no_qname_is_not_interned() {
        let mut names = Names::default();
        for text in ["", ":", "a:", ":a", "a:b:c", "1a", "a:1", "a b", "a/"] {
            assert_eq!(names.intern_qname(text).unwrap(), None, "{text}");
        }
    }

    #[test]
    fn a_cached_name_is_found_only_while_its_prefix_is_bound_as_it_was() {
        let mut names = Names::default();
        let key = key_of(b"a");
        assert_eq!(names.cached_name(key, &[0, 1, 2]), None);
        let qname = names.intern_qname("a").unwrap().unwrap();
        let name = names.intern_name(qname, uri::EMPTY).unwrap();
        names.remember(key, name);
        assert_eq!(names.cached_name(key, &[0, 1, 2]), Some(name));
        assert_eq!(names.cached_name(key, &[7, 1, 2]), None);
    }
}
