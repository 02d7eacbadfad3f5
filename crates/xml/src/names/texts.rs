//! Texts of one kind, each once, by a small integer.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

use super::key::SHORT;

/// The namespace of a cached name that was not yet seen as an element's: no prefix is ever bound to
/// it.
pub(super) const UNSEEN: u16 = u16::MAX - 1;

/// A table is full: more different entries than `u16` can tell apart.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Full {
    /// Of qualified names, or of element names.
    Names,
    /// Of prefixes, or of namespace names.
    Namespaces,
}

/// Texts of one kind with small integers as their keys.
#[derive(Debug, Default)]
pub(super) struct Texts {
    pub(super) spans: Vec<(u32, u32)>,
    table: HashTable<u16>,
    pub(super) text: String,
}

impl Texts {
    pub(super) fn with(known: &[&str], hasher: &RandomState) -> Texts {
        let mut texts = Texts::default();
        for text in known {
            // Three entries always fit.
            let _ = texts.intern(text, hasher);
        }
        texts
    }

    #[inline]
    pub(super) fn at(&self, index: u16) -> &str {
        let (start, end) = self.spans[index as usize];
        &self.text[start as usize..end as usize]
    }

    /// Whether this is the text of an entry.
    #[inline]
    pub(super) fn is(&self, index: u16, text: &str) -> bool {
        let (start, end) = self.spans[index as usize];
        let own = &self.text.as_bytes()[start as usize..end as usize];
        same(own, text.as_bytes())
    }

    pub(super) fn find(&self, text: &str, hasher: &RandomState) -> Option<u16> {
        self.table
            .find(hasher.hash_one(text), |&index| self.at(index) == text)
            .copied()
    }

    pub(super) fn intern(&mut self, text: &str, hasher: &RandomState) -> Result<u16, Full> {
        if let Some(index) = self.find(text, hasher) {
            return Ok(index);
        }
        if self.spans.len() >= UNSEEN as usize {
            return Err(Full::Namespaces);
        }
        let index = self.spans.len() as u16;
        let start = self.text.len() as u32;
        self.text.push_str(text);
        self.spans.push((start, self.text.len() as u32));
        let Texts {
            spans,
            table,
            text: all,
        } = self;
        table.insert_unique(hasher.hash_one(text), index, |&index| {
            let (start, end) = spans[index as usize];
            hasher.hash_one(&all[start as usize..end as usize])
        });
        Ok(index)
    }
}

/// Whether two texts are the same, most of which are short: those of up to 16 bytes are compared as
/// two words, without a call.
#[inline]
pub(super) fn same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    match (one.len(), one.first_chunk::<8>(), other.first_chunk::<8>()) {
        (..8, ..) => one.iter().zip(other).all(|(one, other)| one == other),
        (..=SHORT, first, second) => {
            first == second && one.last_chunk::<8>() == other.last_chunk::<8>()
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_differ_wherever_they_differ() {
        let text: Vec<u8> = (b'A'..b'A' + 40).collect();
        for length in 0..=text.len() {
            let text = &text[..length];
            assert!(same(text, text), "{length}");
            assert!(length == 0 || !same(text, &text[1..]), "{length}");
            for at in 0..length {
                let mut other = text.to_vec();
                other[at] = b'!';
                assert!(!same(text, &other), "{length} at {at}");
            }
        }
    }
}
