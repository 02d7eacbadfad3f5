//! The certificates that were found trusted, so that a steady peer costs one lookup.
//!
//! Only positive answers are kept, each with the time for which it holds, so nobody who is not
//! trusted can fill the cache. It belongs to one store, whose rules never change.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::window::Window;
use crate::certificate::Certificate;
use crate::digest::sha256;

/// Most certificates kept: some 4 MB. A gateway with more signers than this validates some of them
/// again.
const MOST: usize = 1024;

/// A trusted certificate and when it is.
pub(super) struct Entry {
    pub(super) certificate: Certificate,
    pub(super) window: Window,
    /// SHA-256 of the certificate of the rules that vouches for it.
    pub(super) root: [u8; 32],
    /// What was known of revocation then: see `RevocationCache::generation`.
    pub(super) generation: u64,
}

#[derive(Default)]
pub(super) struct Cache(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    by_digest: HashMap<[u8; 32], Entry>,
    /// Oldest first.
    order: VecDeque<[u8; 32]>,
}

impl Cache {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        // Nothing here can be left half done, so a panic elsewhere while holding the lock does no
        // harm.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The certificate with exactly this DER.
    pub(super) fn certificate(&self, der: &[u8]) -> Option<Certificate> {
        let digest = sha256(der);
        let entries = self.entries();
        entries
            .by_digest
            .get(&digest)
            .map(|entry| entry.certificate.clone())
    }

    /// When this certificate is trusted and by which one of the rules, if it was since revocation
    /// was last told of.
    pub(super) fn known(
        &self,
        certificate: &Certificate,
        generation: u64,
    ) -> Option<(Window, [u8; 32])> {
        let digest = certificate.thumbprint_sha256();
        self.entries()
            .by_digest
            .get(&digest)
            .filter(|entry| entry.generation == generation)
            .map(|entry| (entry.window, entry.root))
    }

    pub(super) fn remember(&self, entry: Entry) {
        let digest = entry.certificate.thumbprint_sha256();
        let mut entries = self.entries();
        if entries.by_digest.insert(digest, entry).is_none() {
            entries.order.push_back(digest);
        }
        if entries.order.len() > MOST
            && let Some(oldest) = entries.order.pop_front()
        {
            entries.by_digest.remove(&oldest);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries().by_digest.len()
    }
}
