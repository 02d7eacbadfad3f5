//! How much memory all messages in hand take together, and whose share it is.
//!
//! The rule kept here: whoever reads a message reserves each piece first.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::shares::Client;

/// How many bytes of messages may be in hand.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    taken: AtomicU64,
    size: u64,
}

impl MemoryBudget {
    pub(crate) fn new(size: u64) -> Arc<Self> {
        Arc::new(Self {
            taken: AtomicU64::new(0),
            size,
        })
    }

    /// How many bytes may be.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// How many bytes are in hand.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// A place for one request and its response, as yet without size.
    pub(crate) fn reserve(self: &Arc<Self>) -> Reservation {
        Reservation {
            budget: Arc::clone(self),
            octets: 0,
            holders: [None, None],
        }
    }
}

/// The part of the room that one request takes, and then its answer, until it is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<MemoryBudget>,
    octets: u64,
    /// Whose shares it is out of, and how large these are: a client's, and a partner's.
    holders: [Option<(Arc<Client>, u64)>; 2],
}

impl Reservation {
    /// Takes so many bytes more. False when there is no room for them.
    pub(crate) fn grow(&mut self, octets: u64) -> bool {
        let before = self.budget.taken.fetch_add(octets, Ordering::Relaxed);
        if before.saturating_add(octets) > self.budget.size {
            self.budget.taken.fetch_sub(octets, Ordering::Relaxed);
            return false;
        }
        let own = self.octets;
        for (number, (client, most)) in self.holders.iter().flatten().enumerate() {
            if !client.take_room(octets, own, *most) {
                for (client, _) in self.holders.iter().flatten().take(number) {
                    client.settle_room(octets, 0);
                }
                self.budget.taken.fetch_sub(octets, Ordering::Relaxed);
                return false;
            }
        }
        self.octets += octets;
        true
    }

    /// What it takes, for work to hold that may go on without it. Nothing is left in this one.
    pub(crate) fn hand_over(&mut self) -> Self {
        Self {
            budget: Arc::clone(&self.budget),
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

    /// Takes so many bytes and no others, in any case: what they were made of was in the room.
    pub(crate) fn settle(&mut self, octets: u64) {
        let taken = &self.budget.taken;
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

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.taken.fetch_sub(self.octets, Ordering::Relaxed);
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
        let budget = MemoryBudget::new(10);
        let mut one = budget.reserve();
        let mut other = budget.reserve();
        assert!(one.grow(8));
        assert!(!other.grow(3));
        assert!(other.grow(2));
        drop(one);
        assert_eq!(budget.taken(), 2);
        assert!(other.grow(8));
        for octets in [4, 11] {
            other.settle(octets);
            assert_eq!(budget.taken(), octets);
        }
        drop(other);
        assert_eq!(budget.taken(), 0);
    }
}
