//! Memory for whole messages, handed from one to the next.
//!
//! A message is read into a buffer from here, goes through a crypto worker (which exchanges it for
//! one of its own), and leaves in a buffer that comes back here when its last byte is sent. Memory
//! of the size of messages is so allocated as often as the number of messages in hand grows, not
//! once per message.
//!
//! The rule kept here: what is kept is bounded, in number, in size and in time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use soapstone::xml::BufferPool;

use super::budget::Reservation;

/// Most buffers kept. As many as messages that are usefully in hand at once on a small machine.
const KEPT: usize = 64;

/// Most bytes kept, in all buffers together: five messages of 8 MiB, the largest unless limits say
/// otherwise, with their cipher text in base64.
const KEPT_OCTETS: usize = 64 << 20;

/// How often memory that nobody needed meanwhile is let go: it stays for this time at least, and
/// for twice this time at most.
pub(crate) const TRIM_INTERVAL: Duration = Duration::from_secs(10);

/// Buffers that nobody uses at the moment.
#[derive(Debug)]
pub(crate) struct SharedBuffers(Mutex<BufferPool>);

impl Default for SharedBuffers {
    fn default() -> Self {
        Self(Mutex::new(BufferPool::new(KEPT, KEPT_OCTETS)))
    }
}

impl SharedBuffers {
    fn pool(&self) -> MutexGuard<'_, BufferPool> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An empty buffer of at least this capacity, used before or new.
    pub(crate) fn take(&self, capacity: usize) -> Vec<u8> {
        let found = self.find(capacity);
        found.unwrap_or_else(|| Vec::with_capacity(capacity))
    }

    /// An empty buffer of at least this capacity, if there is one that was used before.
    pub(crate) fn find(&self, capacity: usize) -> Option<Vec<u8>> {
        self.pool().find(capacity)
    }

    /// Takes a buffer back.
    pub(crate) fn give(&self, buffer: Vec<u8>) {
        self.pool().give(buffer);
    }

    /// Lets go of buffers that nobody needed since this was last called.
    pub(crate) fn trim(&self) {
        self.pool().trim();
    }

    /// Bytes to be sent, whose buffer comes back when they are.
    pub(crate) fn lend(self: &Arc<Self>, octets: Vec<u8>) -> Bytes {
        self.lend_in(octets, None)
    }

    /// The same, and they have their place in the room until then.
    pub(crate) fn lend_in(
        self: &Arc<Self>,
        octets: Vec<u8>,
        reservation: Option<Reservation>,
    ) -> Bytes {
        Bytes::from_owner(Lent {
            octets,
            owner: Arc::clone(self),
            _place: reservation,
        })
    }
}

struct Lent {
    octets: Vec<u8>,
    owner: Arc<SharedBuffers>,
    _place: Option<Reservation>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.octets
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.owner.give(std::mem::take(&mut self.octets));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_when_its_last_octet_is_let_go() {
        let buffers = Arc::new(SharedBuffers::default());
        let sent = buffers.lend(b"message".to_vec());
        let part = sent.slice(..3);
        drop(sent);
        assert!(buffers.find(7).is_none());
        drop(part);
        assert!(buffers.find(7).is_some());
    }

    #[test]
    fn a_buffer_that_nobody_needs_is_let_go() {
        let buffers = SharedBuffers::default();
        buffers.give(buffers.take(1 << 20));
        buffers.trim();
        buffers.give(buffers.find(1 << 20).expect("it was used"));
        buffers.trim();
        buffers.trim();
        assert!(buffers.find(1 << 20).is_none());
    }
}
