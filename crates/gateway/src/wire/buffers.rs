//! Memory for whole messages, handed from one to the next.
//!
//! A message is read into a buffer from here, goes through a crypto worker (which exchanges it for
//! one of its own), and leaves in a buffer that comes back here when its last octet is sent. Memory
//! of the size of messages is so allocated as often as the number of messages in hand grows, not
//! once per message.
//!
//! How much memory all messages in hand take together is bounded too: who reads one asks the
//! [`Room`] for each piece.
//!
//! The rule kept here: what is kept is bounded, in number, in size and in time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use soapstone::xml::BufferPool;

use crate::shares::Client;

/// Most buffers kept. As many as messages that are usefully in hand at once on a small machine.
const KEPT: usize = 64;

/// Most octets kept, in all buffers together: five messages of 8 MiB, the largest unless limits say
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

    /// Octets to be sent, whose buffer comes back when they are.
    pub(crate) fn lend(self: &Arc<Self>, octets: Vec<u8>) -> Bytes {
        self.lend_in(octets, None)
    }

    /// The same, and they have their place in the room until then.
    pub(crate) fn lend_in(self: &Arc<Self>, octets: Vec<u8>, place: Option<Place>) -> Bytes {
        Bytes::from_owner(Lent {
            octets,
            owner: Arc::clone(self),
            _place: place,
        })
    }
}

struct Lent {
    octets: Vec<u8>,
    owner: Arc<SharedBuffers>,
    _place: Option<Place>,
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

    /// How many octets may be.
    pub(crate) fn size(&self) -> u64 {
        self.size
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
            holders: [None, None],
        }
    }
}

/// The part of the room that one request takes, and then its answer, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    room: Arc<Room>,
    octets: u64,
    /// Whose shares it is out of, and how large these are: a client's, and a partner's.
    holders: [Option<(Arc<Client>, u64)>; 2],
}

impl Place {
    /// Takes so many octets more. False when there is no room for them.
    pub(crate) fn grow(&mut self, octets: u64) -> bool {
        let before = self.room.taken.fetch_add(octets, Ordering::Relaxed);
        if before.saturating_add(octets) > self.room.size {
            self.room.taken.fetch_sub(octets, Ordering::Relaxed);
            return false;
        }
        let own = self.octets;
        for (number, (client, most)) in self.holders.iter().flatten().enumerate() {
            if !client.take_room(octets, own, *most) {
                for (client, _) in self.holders.iter().flatten().take(number) {
                    client.settle_room(octets, 0);
                }
                self.room.taken.fetch_sub(octets, Ordering::Relaxed);
                return false;
            }
        }
        self.octets += octets;
        true
    }

    /// What it takes, for work to hold that may go on without it. Nothing is left in this one.
    pub(crate) fn hand_over(&mut self) -> Self {
        Self {
            room: Arc::clone(&self.room),
            octets: std::mem::take(&mut self.octets),
            holders: std::mem::take(&mut self.holders),
        }
    }

    /// Counts it in the share of one more who holds it, of at most `most` bytes. False, and not
    /// counted, when it does not fit.
    pub(crate) fn hold_for(&mut self, client: &Arc<Client>, most: u64) -> bool {
        let is_holder = |holder: &(Arc<Client>, u64)| Arc::ptr_eq(&holder.0, client);
        if self.holders.iter().flatten().any(is_holder) {
            return true;
        }
        let Some(free) = self.holders.iter_mut().find(|holder| holder.is_none()) else {
            return true;
        };
        if !client.take_room(self.octets, 0, most) {
            return false;
        }
        *free = Some((Arc::clone(client), most));
        true
    }

    /// Takes so many octets and no others, in any case: what they were made of was in the room.
    pub(crate) fn settle(&mut self, octets: u64) {
        let taken = &self.room.taken;
        match octets.checked_sub(self.octets) {
            Some(more) => taken.fetch_add(more, Ordering::Relaxed),
            None => taken.fetch_sub(self.octets - octets, Ordering::Relaxed),
        };
        for (client, _) in self.holders.iter().flatten() {
            client.settle_room(self.octets, octets);
        }
        self.octets = octets;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.taken.fetch_sub(self.octets, Ordering::Relaxed);
        for (client, _) in self.holders.iter().flatten() {
            client.settle_room(self.octets, 0);
        }
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
        for octets in [4, 11] {
            other.settle(octets);
            assert_eq!(room.taken(), octets);
        }
        drop(other);
        assert_eq!(room.taken(), 0);
    }

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
