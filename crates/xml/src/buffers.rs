//! Reusable memory.
//!
//! The rule: in the steady state a worker that gives back what it took allocates nothing that grows with its messages.

use crate::c14n::C14nScratch;
use crate::document::Parts;
use std::fmt;

/// Buffers kept at most, and tapes kept at most.
const KEPT: usize = 8;

/// Memory given back by finished documents and writers, for the next ones. One per worker.
#[derive(Default)]
pub struct Buffers {
    bytes: Vec<Vec<u8>>,
    documents: Vec<Parts>,
    canonical: Vec<C14nScratch>,
}

impl fmt::Debug for Buffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let capacity: usize = self.bytes.iter().map(Vec::capacity).sum();
        f.debug_struct("Buffers")
            .field("capacity", &capacity)
            .finish_non_exhaustive()
    }
}

impl Buffers {
    /// Nothing kept yet.
    pub fn new() -> Buffers {
        Buffers::default()
    }

    /// An empty buffer of at least this capacity: the smallest kept one that is large enough, or else the largest one,
    /// enlarged.
    pub fn take(&mut self, capacity: usize) -> Vec<u8> {
        let fits = |buffer: &Vec<u8>| buffer.capacity() >= capacity;
        let kept = self.bytes.iter().enumerate();
        let best = kept.min_by_key(|(_, buffer)| {
            (
                !fits(buffer),
                if fits(buffer) {
                    buffer.capacity()
                } else {
                    usize::MAX - buffer.capacity()
                },
            )
        });
        let mut buffer = match best.map(|(at, _)| at) {
            Some(at) => self.bytes.swap_remove(at),
            None => Vec::new(),
        };
        buffer.reserve(capacity);
        buffer
    }

    /// Gives a buffer back. A few are kept, the largest ones.
    pub fn give(&mut self, mut buffer: Vec<u8>) {
        if buffer.capacity() == 0 {
            return;
        }
        buffer.clear();
        self.bytes.push(buffer);
        if self.bytes.len() > KEPT {
            let smallest = self
                .bytes
                .iter()
                .enumerate()
                .min_by_key(|(_, buffer)| buffer.capacity());
            if let Some(at) = smallest.map(|(at, _)| at) {
                self.bytes.swap_remove(at);
            }
        }
    }

    /// Working memory for canonicalization, used before or new.
    pub fn take_scratch(&mut self) -> C14nScratch {
        self.canonical.pop().unwrap_or_default()
    }

    /// Gives working memory back. A few are kept.
    pub fn give_scratch(&mut self, scratch: C14nScratch) {
        if self.canonical.len() < KEPT {
            self.canonical.push(scratch);
        }
    }

    pub(crate) fn take_parts(&mut self) -> Parts {
        self.documents.pop().unwrap_or_default()
    }

    pub(crate) fn give_parts(&mut self, mut parts: Parts) {
        for segment in parts.segments.drain(..) {
            self.give(segment.text.into_bytes());
        }
        if self.documents.len() < KEPT {
            parts.clear();
            self.documents.push(parts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_fitting_buffer_is_taken() {
        let mut buffers = Buffers::new();
        for capacity in [100, 10_000, 1_000] {
            buffers.give(Vec::with_capacity(capacity));
        }
        assert_eq!(buffers.take(500).capacity(), 1_000);
        assert_eq!(buffers.take(500).capacity(), 10_000);
        assert!(buffers.take(500).capacity() >= 500);
        assert!(buffers.take(0).is_empty());
    }

    #[test]
    fn the_largest_buffers_are_kept() {
        let mut buffers = Buffers::new();
        for size in 1..=20 {
            buffers.give(Vec::with_capacity(size * 100));
        }
        assert_eq!(buffers.bytes.len(), KEPT);
        assert_eq!(buffers.take(0).capacity(), 1_300);
    }
}
