//! Elements whose digest is known: what [`Tuning::digest_cache`](crate::Tuning) and
//! [`Tuning::prehash`](crate::Tuning) remember.
//!
//! Exclusive canonicalization is a function of three things: the bytes of an element, the
//! namespaces in scope around it, and the prefix list. An element is known if all three are, byte
//! for byte, what they were when it was digested; then its digest is what it was. That is the one
//! rule kept here, and nothing else has to be believed: neither an id nor that a digest does not
//! collide. The key under which an element is remembered only says with what it is to be compared.

use std::sync::Arc;

use soapstone_crypto::{Digest, DigestAlgorithm};
use soapstone_xml::{Document, NodeId};

use crate::lru_cache::LruCache;
use crate::tuning::CacheBounds;

/// A bounded memory of elements, shared between threads, and of what is to be known about each
/// beside that it was digested.
#[derive(Debug)]
pub(crate) struct DigestCache<D>(LruCache<Arc<Known<D>>>);

/// An element, what it was digested in, and what came out.
#[derive(Debug)]
pub(crate) struct Known<D> {
    source: Box<[u8]>,
    surroundings: Arc<[u8]>,
    known: D,
}

impl<D: Copy> DigestCache<D> {
    pub(crate) fn new(bounds: CacheBounds) -> Self {
        Self(LruCache::new(bounds))
    }

    /// What is known about an element, if it is this one that `key` stands for.
    pub(crate) fn find(&self, key: &[u8], source: &[u8], surroundings: &[u8]) -> Option<D> {
        let found = self.0.find(key)?;
        let same = *found.source == *source && *found.surroundings == *surroundings;
        same.then_some(found.known)
    }

    /// Remembers an element that was digested, in the place of what `key` meant before.
    pub(crate) fn learn(&self, key: &[u8], source: &[u8], surroundings: &Arc<[u8]>, known: D) {
        let weight = source.len() + surroundings.len();
        self.0.keep(key, weight, || {
            Arc::new(Known {
                source: source.into(),
                surroundings: Arc::clone(surroundings),
                known,
            })
        });
    }
}

/// What a signed element is remembered under: who signed it, and the digest that the signature has
/// of it.
pub(crate) struct SignedKey {
    octets: [u8; Self::LONGEST],
    length: usize,
}

impl SignedKey {
    /// Room for a partner, the short name of an algorithm, and the longest digest.
    const LONGEST: usize = 32 + 31 + 1 + 64;

    pub(crate) fn new(partner: &[u8; 32], algorithm: DigestAlgorithm, digest: &Digest) -> Self {
        let mut key = Self {
            octets: [0; Self::LONGEST],
            length: 0,
        };
        for piece in [
            partner.as_slice(),
            algorithm.short_name().as_bytes(),
            b"\n",
            digest.as_ref(),
        ] {
            let end = key.length + piece.len();
            key.octets[key.length..end].copy_from_slice(piece);
            key.length = end;
        }
        key
    }
}

impl AsRef<[u8]> for SignedKey {
    fn as_ref(&self) -> &[u8] {
        &self.octets[..self.length]
    }
}

/// What the canonical form of elements depends on beside their bytes. Most signed elements of a
/// message that are many have one parent, so that the last answer is mostly the next one.
#[derive(Default)]
pub(crate) struct NamespaceContext {
    last: Option<Surrounded>,
}

/// An answer, and what it is the answer to.
struct Surrounded {
    parent: Option<NodeId>,
    prefixes: Vec<String>,
    octets: Arc<[u8]>,
}

impl NamespaceContext {
    /// Those of `node`, canonicalized with a prefix list.
    pub(crate) fn of(
        &mut self,
        document: &Document,
        node: NodeId,
        prefixes: &[String],
    ) -> Arc<[u8]> {
        let around = document.element(node).parent();
        let parent = around.map(|element| element.id());
        if let Some(last) = &self.last
            && last.parent == parent
            && last.prefixes == prefixes
        {
            return Arc::clone(&last.octets);
        }
        let mut octets = Vec::new();
        // Each piece with its length before it, so that no two lists are the same bytes.
        let mut push = |piece: &str| {
            octets.extend_from_slice(&(piece.len() as u64).to_be_bytes());
            octets.extend_from_slice(piece.as_bytes());
        };
        prefixes.iter().for_each(|prefix| push(prefix));
        push("");
        for (prefix, namespace) in around.map_or_else(Vec::new, |one| one.namespaces_in_scope()) {
            push(prefix);
            push(namespace);
        }
        let octets: Arc<[u8]> = octets.into();
        self.last = Some(Surrounded {
            parent,
            prefixes: prefixes.to_vec(),
            octets: Arc::clone(&octets),
        });
        octets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_is_known_only_with_all_its_octets_and_surroundings() {
        let known = DigestCache::new(CacheBounds::default());
        let surroundings: Arc<[u8]> = Arc::from(b"around".as_slice());
        known.learn(b"key", b"<a></a>", &surroundings, 7);
        assert_eq!(known.find(b"key", b"<a></a>", b"around"), Some(7));
        assert_eq!(known.find(b"key", b"<a></a>", b"aroune"), None);
        assert_eq!(known.find(b"key", b"<b></b>", b"around"), None);
        assert_eq!(known.find(b"key", b"<a></a>\n", b"around"), None);
        assert_eq!(known.find(b"yek", b"<a></a>", b"around"), None);
    }

    #[test]
    fn keys_tell_partners_algorithms_and_digests_apart() {
        let key = |partner: u8, algorithm, digest: u8| {
            let digest = Digest::of_octets(&[digest; 64]).unwrap();
            SignedKey::new(&[partner; 32], algorithm, &digest)
        };
        let mut keys = Vec::new();
        for algorithm in DigestAlgorithm::ALL {
            for (partner, digest) in [(1, 1), (1, 2), (2, 1)] {
                keys.push(key(partner, *algorithm, digest).as_ref().to_vec());
            }
        }
        let all = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), all);
    }

    #[test]
    fn surroundings_tell_prefixes_namespaces_and_lists_apart() {
        let parse = |text: &str| {
            Document::parse(
                text.as_bytes().to_vec(),
                &soapstone_xml::ParseOptions::default(),
                &mut soapstone_xml::Buffers::new(),
            )
            .unwrap()
        };
        let of = |text: &str, prefixes: &[&str]| {
            let document = parse(text);
            let node = document.root().first_child().unwrap().id();
            let prefixes: Vec<String> = prefixes.iter().map(|&one| one.to_owned()).collect();
            NamespaceContext::default().of(&document, node, &prefixes)
        };
        let plain = of("<r xmlns:p='urn:p'><p:a/></r>", &[]);
        assert_eq!(plain, of("<r  xmlns:p=\"urn:p\" ><p:b/></r>", &[]));
        assert_ne!(plain, of("<r xmlns:p='urn:q'><p:a/></r>", &[]));
        assert_ne!(
            plain,
            of("<r xmlns:p='urn:p' xmlns='urn:d'><p:a/></r>", &[])
        );
        assert_ne!(plain, of("<r xmlns:p='urn:p'><p:a/></r>", &["p"]));
        assert_ne!(
            plain,
            of("<r xmlns:pu='rn:p' xmlns:p='urn:p'><p:a/></r>", &[])
        );
    }
}
