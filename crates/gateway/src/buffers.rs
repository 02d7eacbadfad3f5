//! Memory for whole messages, handed from one to the next.
//!
//! A message is read into a buffer from here, goes through a crypto worker (which exchanges it for one of its own), and leaves in a
//! buffer that comes back here when its last octet is sent. Memory of the size of messages is so allocated as often as the number of
//! messages in hand grows, not once per message.
//!
//! How much memory all messages in hand take together is bounded too: who reads one asks the [`Room`] for each piece.
//!
//! The rule kept here: what is kept is bounded, in number and in size.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

/// Most buffers kept. As many as messages that are usefully in hand at once on a small machine.
const KEPT: usize = 64;

/// Largest buffer kept, in octets; with [`KEPT`], at most 256 MiB after a burst of large messages.
const LARGEST: usize = 4 << 20;

/// Buffers that nobody uses at the moment.
#[derive(Debug, Default)]
pub(crate) struct SharedBuffers(Mutex<Vec<Vec<u8>>>);

impl SharedBuffers {
    /// An empty buffer.
    pub(crate) fn take(&self) -> Vec<u8> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop()
            .unwrap_or_default()
    }

    /// Takes a buffer back.
    pub(crate) fn give(&self, mut buffer: Vec<u8>) {
        if buffer.capacity() == 0 || buffer.capacity() > LARGEST {
            return;
        }
        buffer.clear();
        let mut spare = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < KEPT {
            spare.push(buffer);
        }
    }

    /// Octets to be sent, whose buffer comes back when they are.
    pub(crate) fn lend(self: &Arc<Self>, octets: Vec<u8>) -> Bytes {
        Bytes::from_owner(Lent {
            octets,
            owner: Arc::clone(self),
        })
    }
}

struct Lent {
    octets: Vec<u8>,
    owner: Arc<SharedBuffers>,
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

/// How many octets of messages may be in hand.
#[derive(Debug)]
pub(crate) struct Room {
    taken: AtomicU64,
    size: u64,
}

impl Room {
    pub(crate) fn new(size: u64) -> Arc<Self> {
        Arc::new(Self {
            taken: AtomicU64::new(0),
            size,
        })
    }

    /// How many octets are in hand.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// A place for one request and its response, as yet without size.
    pub(crate) fn place(self: &Arc<Self>) -> Place {
        Place {
            room: Arc::clone(self),
            octets: 0,
        }
    }
}

/// The part of the room that one request takes, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    room: Arc<Room>,
    octets: u64,
}

impl Place {
    /// Takes so many octets more. False when there is no room for them.
    pub(crate) fn grow(&mut self, octets: u64) -> bool {
        let before = self.room.taken.fetch_add(octets, Ordering::Relaxed);
        if before.saturating_add(octets) > self.room.size {
            self.room.taken.fetch_sub(octets, Ordering::Relaxed);
            return false;
        }
        self.octets += octets;
        true
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.taken.fetch_sub(self.octets, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_until_somebody_leaves() {
        let room = Room::new(10);
        let mut one = room.place();
        let mut other = room.place();
        assert!(one.grow(8));
        assert!(!other.grow(3));
        assert!(other.grow(2));
        drop(one);
        assert_eq!(room.taken(), 2);
        assert!(other.grow(8));
    }

    #[test]
    fn a_buffer_comes_back_when_its_last_octet_is_let_go() {
        let buffers = Arc::new(SharedBuffers::default());
        let sent = buffers.lend(b"message".to_vec());
        let part = sent.slice(..3);
        drop(sent);
        assert_eq!(buffers.take().capacity(), 0);
        drop(part);
        assert!(buffers.take().capacity() >= 7);
    }

    #[test]
    fn a_buffer_larger_than_most_messages_is_not_kept() {
        let buffers = SharedBuffers::default();
        buffers.give(Vec::with_capacity(LARGEST + 1));
        assert_eq!(buffers.take().capacity(), 0);
    }
}
