//! Keys derived from the secrets of conversations, used for several messages instead of one.
//!
//! A derived key is named by its nonce, and two messages may name the same one
//! (WS-SecureConversation 1.4, 7); WCF uses the keys of a session for all of its messages. The keys
//! are kept with the secret itself, so that they are gone when it is; here is kept which secrets
//! have any, so that they are never more than agreed. The rule for what others chose: it is kept
//! once the whole message was accepted, so that a stranger pushes nothing out.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use soapstone_crypto::{KeyUse, NONCE_OCTETS, SymmetricKey, WeakSymmetricKey};

use crate::tuning::DerivedKeyLimits;

/// Which secrets have derived keys kept with them, because of one plan.
pub(crate) struct DerivedKeyCache {
    bounds: DerivedKeyLimits,
    /// In the order in which they came.
    holders: Mutex<VecDeque<WeakSymmetricKey>>,
}

impl fmt::Debug for DerivedKeyCache {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("DerivedKeyCache")
            .field("bounds", &self.bounds)
            .finish_non_exhaustive()
    }
}

/// A key that the other side chose.
pub(crate) struct FoundKey<'d> {
    pub(crate) label: &'d [u8],
    pub(crate) nonce: &'d [u8],
    pub(crate) offset: usize,
    pub(crate) length: usize,
}

impl DerivedKeyCache {
    pub(crate) fn new(bounds: DerivedKeyLimits) -> Self {
        Self {
            bounds,
            holders: Mutex::default(),
        }
    }

    /// The key that messages under this secret have at present for a use, with its nonce.
    pub(crate) fn chosen(
        &self,
        secret: &SymmetricKey,
        usage: KeyUse,
    ) -> Option<([u8; NONCE_OCTETS], SymmetricKey)> {
        let most = self.bounds.messages.min(DerivedKeyLimits::MOST_MESSAGES);
        secret.derived().chosen(usage, most)
    }

    /// Has a key used for messages to come.
    pub(crate) fn choose(
        &self,
        secret: &SymmetricKey,
        usage: KeyUse,
        nonce: [u8; NONCE_OCTETS],
        key: &SymmetricKey,
    ) {
        if secret.derived().choose(usage, nonce, key) {
            self.hold(secret);
        }
    }

    /// The key that another message of the other side has used.
    pub(crate) fn find(&self, secret: &SymmetricKey, found: &FoundKey<'_>) -> Option<SymmetricKey> {
        let seed = [found.label, found.nonce];
        secret.derived().find(&seed, found.offset, found.length)
    }

    /// Remembers a key that a message of the other side has used.
    pub(crate) fn keep(&self, secret: &SymmetricKey, found: &FoundKey<'_>, key: &SymmetricKey) {
        let seed = [found.label, found.nonce];
        if secret.derived().keep(&seed, found.offset, key) {
            self.hold(secret);
        }
    }

    /// Notes that a secret has keys kept with it from now on. Those that came first lose theirs, or
    /// are gone anyway.
    fn hold(&self, secret: &SymmetricKey) {
        let mut holders = self.holders.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(first) = holders.front() {
            match first.upgrade() {
                Some(_) if holders.len() < self.bounds.conversations => break,
                Some(first) => first.derived().forget(),
                None => {}
            }
            holders.pop_front();
        }
        holders.push_back(secret.downgrade());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounded(conversations: usize) -> DerivedKeyCache {
        DerivedKeyCache::new(DerivedKeyLimits {
            conversations,
            ..DerivedKeyLimits::default()
        })
    }

    fn secret() -> SymmetricKey {
        SymmetricKey::generate(32).unwrap()
    }

    const USE: KeyUse = KeyUse {
        purpose: 0,
        algorithm: "aes128-gcm",
        length: 16,
    };

    const FOUND: FoundKey<'_> = FoundKey {
        label: b"label",
        nonce: b"nonce",
        offset: 0,
        length: 16,
    };

    #[test]
    fn so_many_secrets_have_keys_and_the_first_lose_theirs() {
        let holders = bounded(3);
        let secrets: Vec<_> = std::iter::repeat_with(secret).take(5).collect();
        let key = SymmetricKey::generate(16).unwrap();
        for secret in &secrets {
            // Both kinds, and twice: a secret counts once.
            holders.choose(secret, USE, [0; NONCE_OCTETS], &key);
            holders.keep(secret, &FOUND, &key);
            holders.keep(secret, &FOUND, &key);
        }
        let found: Vec<_> = secrets
            .iter()
            .map(|secret| holders.find(secret, &FOUND).is_some())
            .collect();
        assert_eq!(found, [false, false, true, true, true]);
        let chosen = |secret| holders.chosen(secret, USE).is_some();
        assert!(!chosen(&secrets[1]) && chosen(&secrets[2]));
        // One that comes back is the newest.
        holders.keep(&secrets[0], &FOUND, &key);
        assert!(holders.find(&secrets[2], &FOUND).is_none());
        assert!(holders.find(&secrets[0], &FOUND).is_some());
        assert_eq!(holders.holders.lock().unwrap().len(), 3);
    }

    #[test]
    fn secrets_that_are_gone_are_not_held() {
        let holders = bounded(1_000);
        for _ in 0..10 {
            holders.keep(&secret(), &FOUND, &secret());
        }
        assert_eq!(holders.holders.lock().unwrap().len(), 1);
    }

    #[test]
    fn a_key_is_used_for_no_more_messages_than_are_safe() {
        let greedy = DerivedKeyCache::new(DerivedKeyLimits {
            messages: u32::MAX,
            ..DerivedKeyLimits::default()
        });
        let (secret, key) = (secret(), SymmetricKey::generate(16).unwrap());
        greedy.choose(&secret, USE, [0; NONCE_OCTETS], &key);
        let used = std::iter::from_fn(|| greedy.chosen(&secret, USE)).take(1 << 21);
        assert_eq!(1 + used.count(), DerivedKeyLimits::MOST_MESSAGES as usize);
    }
}
