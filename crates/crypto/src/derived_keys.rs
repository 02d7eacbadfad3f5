//! Keys derived from a key, kept with it from one message to the next.
//!
//! In a conversation, deriving the keys of a short message and preparing them is a good part of all
//! work on it. The rules: what is kept is wiped with the key that it was derived from, never more
//! than a few keys are kept, and one is found only for the very seed, offset and length that it was
//! derived with.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::key::SymmetricKey;

/// Bytes of the nonces that are chosen here (WS-SecureConversation 1.4, 7.1 leaves it open;
/// everybody writes as many).
pub const NONCE_OCTETS: usize = 16;

/// Most keys that are kept of those that the other side chose: the two of its messages and of those
/// before, and of a third node of it.
const FOUND: usize = 6;

/// Most keys that are kept of those that were chosen here: to sign, to endorse, to encrypt, and
/// again where operations have other algorithms.
const CHOSEN: usize = 6;

/// What a key was chosen for. One for another purpose or another algorithm is another key: what is
/// known of one use of a key must not help against another (Jager, Paterson and Somorovsky, NDSS
/// 2013, of CBC and GCM under one key).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyUse {
    /// The caller's number for it.
    pub purpose: u8,
    /// Name of the algorithm.
    pub algorithm: &'static str,
    /// Bytes of the key.
    pub length: usize,
}

/// The keys that were derived from one key.
#[derive(Default)]
pub struct DerivedKeys(Mutex<Option<Box<Kept>>>);

#[derive(Default)]
struct Kept {
    /// The last one used stands last.
    found: Vec<Found>,
    chosen: Vec<Chosen>,
}

/// A key whose derivation the other side chose.
struct Found {
    seed: Box<[u8]>,
    offset: usize,
    key: SymmetricKey,
}

/// A key whose derivation was chosen here.
struct Chosen {
    usage: KeyUse,
    nonce: [u8; NONCE_OCTETS],
    key: SymmetricKey,
    uses: u32,
}

impl DerivedKeys {
    /// What a thread that panicked left behind is as good as before: a key is there with all that
    /// it was derived with, or it is not.
    fn lock(&self) -> MutexGuard<'_, Option<Box<Kept>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The key that was derived with this seed, given in pieces that are put together, from
    /// `offset` on and of this length.
    #[must_use]
    pub fn find(&self, seed: &[&[u8]], offset: usize, length: usize) -> Option<SymmetricKey> {
        let mut kept = self.lock();
        let found = &mut kept.as_mut()?.found;
        let is_it = |one: &Found| {
            one.offset == offset && one.key.len() == length && consists_of(&one.seed, seed)
        };
        let place = found.iter().rposition(is_it)?;
        let key = found[place].key.clone();
        // The two keys of a message are mostly the last ones.
        if place + 2 < found.len() {
            found[place..].rotate_left(1);
        }
        Some(key)
    }

    /// Keeps a key that was derived with this seed from `offset` on; what was not used for longest
    /// makes room. Says whether it is the first that is kept.
    pub fn keep(&self, seed: &[&[u8]], offset: usize, key: &SymmetricKey) -> bool {
        let mut kept = self.lock();
        let first = kept.is_none();
        let found = &mut kept.get_or_insert_default().found;
        if found.len() == FOUND {
            found.remove(0);
        }
        found.push(Found {
            seed: seed.concat().into(),
            offset,
            key: key.clone(),
        });
        first
    }

    /// The key that was chosen last for a use, with its nonce, if it was used less than `limit`
    /// times. It counts as used now.
    #[must_use]
    pub fn chosen(&self, usage: KeyUse, limit: u32) -> Option<([u8; NONCE_OCTETS], SymmetricKey)> {
        let mut kept = self.lock();
        let mut chosen = kept.as_mut()?.chosen.iter_mut();
        let one = chosen.find(|one| one.usage == usage && one.uses < limit)?;
        one.uses += 1;
        Some((one.nonce, one.key.clone()))
    }

    /// Keeps a key that was derived with this nonce, used once, in the place of the one before.
    /// Says whether it is the first that is kept.
    pub fn choose(&self, usage: KeyUse, nonce: [u8; NONCE_OCTETS], key: &SymmetricKey) -> bool {
        let mut kept = self.lock();
        let first = kept.is_none();
        let chosen = &mut kept.get_or_insert_default().chosen;
        chosen.retain(|one| one.usage != usage);
        if chosen.len() == CHOSEN {
            chosen.remove(0);
        }
        chosen.push(Chosen {
            usage,
            nonce,
            key: key.clone(),
            uses: 1,
        });
        first
    }

    /// Keeps nothing any more.
    pub fn forget(&self) {
        *self.lock() = None;
    }
}

/// Whether `whole` is these pieces one behind the other.
fn consists_of(whole: &[u8], pieces: &[&[u8]]) -> bool {
    let rest = pieces
        .iter()
        .try_fold(whole, |rest, piece| rest.strip_prefix(*piece));
    rest.is_some_and(<[u8]>::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(octet: u8, length: usize) -> SymmetricKey {
        SymmetricKey::new(vec![octet; length]).unwrap()
    }

    fn first(key: Option<SymmetricKey>) -> Option<u8> {
        key.map(|key| key.expose()[0])
    }

    #[test]
    fn a_key_is_found_for_what_it_was_derived_with_and_for_nothing_else() {
        let derived = DerivedKeys::default();
        assert!(derived.keep(&[b"label", b"nonce"], 8, &key(1, 16)));
        let find = |seed: &[&[u8]], offset, length| first(derived.find(seed, offset, length));
        assert_eq!(find(&[b"label", b"nonce"], 8, 16), Some(1));
        // P_hash puts the pieces together before it looks at them.
        assert_eq!(find(&[b"labelnonce"], 8, 16), Some(1));
        for (seed, offset, length) in [
            ([b"label".as_slice(), b"nonc".as_slice()], 8, 16),
            ([b"label", b"nonces"], 8, 16),
            ([b"lable", b"nonce"], 8, 16),
            ([b"label", b""], 8, 16),
            ([b"label", b"nonce"], 0, 16),
            ([b"label", b"nonce"], 8, 24),
        ] {
            assert_eq!(
                find(&seed, offset, length),
                None,
                "{seed:?} {offset} {length}"
            );
        }
    }

    #[test]
    fn what_was_not_used_for_longest_makes_room() {
        let derived = DerivedKeys::default();
        for octet in 0..FOUND as u8 {
            assert_eq!(derived.keep(&[&[octet]], 0, &key(octet, 16)), octet == 0);
        }
        let find = |octet: u8| first(derived.find(&[&[octet]], 0, 16));
        assert_eq!(find(0), Some(0));
        for octet in [100, 101] {
            assert!(!derived.keep(&[&[octet]], 0, &key(octet, 16)));
        }
        let found: Vec<_> = [0, 1, 2, 3, 100, 101]
            .map(find)
            .into_iter()
            .flatten()
            .collect();
        assert_eq!(found, [0, 3, 100, 101]);
        let kept = derived.lock();
        assert_eq!(kept.as_ref().unwrap().found.len(), FOUND);
    }

    fn usage(purpose: u8, algorithm: &'static str) -> KeyUse {
        KeyUse {
            purpose,
            algorithm,
            length: 16,
        }
    }

    #[test]
    fn what_was_chosen_is_used_so_often_and_for_its_purpose_only() {
        let derived = DerivedKeys::default();
        assert!(derived.choose(usage(1, "gcm"), [1; 16], &key(1, 16)));
        let chosen = |usage| {
            let found = derived.chosen(usage, 3);
            found.map(|(nonce, key)| (nonce[0], key.expose()[0]))
        };
        assert_eq!(chosen(usage(2, "gcm")), None);
        assert_eq!(chosen(usage(1, "cbc")), None);
        let longer = KeyUse {
            length: 24,
            ..usage(1, "gcm")
        };
        assert_eq!(chosen(longer), None);
        assert_eq!(chosen(usage(1, "gcm")), Some((1, 1)));
        assert_eq!(chosen(usage(1, "gcm")), Some((1, 1)));
        assert_eq!(chosen(usage(1, "gcm")), None);
        assert!(!derived.choose(usage(1, "gcm"), [2; 16], &key(2, 16)));
        assert_eq!(chosen(usage(1, "gcm")), Some((2, 2)));
        // Another side chose nothing here.
        assert!(derived.find(&[&[2; 16]], 0, 16).is_none());
    }

    #[test]
    fn no_more_is_kept_than_there_are_uses() {
        let derived = DerivedKeys::default();
        for purpose in 0..10 {
            derived.choose(usage(purpose, "gcm"), [purpose; 16], &key(purpose, 16));
        }
        assert_eq!(derived.lock().as_ref().unwrap().chosen.len(), CHOSEN);
        assert!(derived.chosen(usage(9, "gcm"), 10).is_some());
    }

    #[test]
    fn what_is_forgotten_is_wiped_and_so_is_what_is_kept_with_a_key_that_is_gone() {
        let root = key(1, 32);
        let (found, chosen) = (key(2, 16), key(3, 16));
        let weak = [&found, &chosen].map(SymmetricKey::downgrade);
        let keep = || {
            root.derived().keep(&[b"seed"], 0, &found);
            root.derived().choose(usage(0, "gcm"), [0; 16], &chosen);
        };
        keep();
        root.derived().forget();
        assert!(root.derived().find(&[b"seed"], 0, 16).is_none());
        assert!(root.derived().chosen(usage(0, "gcm"), 9).is_none());
        keep();
        let another = root.clone();
        drop(root);
        drop((found, chosen));
        assert!(weak.iter().all(|weak| weak.upgrade().is_some()));
        drop(another);
        assert!(weak.iter().all(|weak| weak.upgrade().is_none()));
    }
}
