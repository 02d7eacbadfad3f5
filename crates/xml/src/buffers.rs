//! Reusable memory.
//!
//! The rule: in the steady state a worker that gives back what it took allocates nothing that grows
//! with its messages; and what no message needs any more does not stay because one message needed
//! it once.

use crate::c14n::C14nScratch;
use crate::parts::Parts;
use crate::tape::Entry;
use std::cmp::Reverse;
use std::fmt;

/// Buffers kept at most by one worker, and tapes.
const KEPT: usize = 8;

/// Bytes kept at most by one worker, in buffers. A message is there three times while it is
/// secured, of which twice in base64: four thirds.
const KEPT_OCTETS: usize = 64 << 20;

/// How much larger than what is asked for a kept buffer may be: a short answer must not hold on to
/// the memory of a large message.
const SPACIOUS: usize = 4;

/// Bytes below which a buffer is not large.
const SMALL: usize = 64 << 10;

/// Byte buffers that nobody uses at the moment; bounded, in number and in bytes.
pub struct BufferPool {
    kept: Vec<Kept>,
    most: usize,
    most_octets: usize,
}

struct Kept {
    buffer: Vec<u8>,
    /// Given back since the last [`BufferPool::trim`].
    used: bool,
}

impl fmt::Debug for BufferPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufferPool")
            .field("capacity", &self.capacity())
            .finish_non_exhaustive()
    }
}

impl BufferPool {
    /// Nothing kept yet, and never more than so many buffers and bytes.
    pub const fn new(most: usize, most_octets: usize) -> Self {
        Self {
            kept: Vec::new(),
            most,
            most_octets,
        }
    }

    /// An empty buffer of at least this capacity, if one is kept: the smallest one, unless even
    /// that is far too large.
    pub fn find(&mut self, capacity: usize) -> Option<Vec<u8>> {
        let most = capacity.saturating_mul(SPACIOUS).max(SMALL);
        let sizes = self.kept.iter().map(|kept| kept.buffer.capacity());
        let fitting = sizes
            .zip(0..)
            .filter(|(size, _)| (capacity..=most).contains(size));
        let (_, at) = fitting.min()?;
        Some(self.kept.swap_remove(at).buffer)
    }

    /// An empty buffer of at least this capacity: one that is kept, as [`find`](Self::find) does,
    /// or else a new one.
    pub fn take(&mut self, capacity: usize) -> Vec<u8> {
        self.find(capacity)
            .unwrap_or_else(|| Vec::with_capacity(capacity))
    }

    /// Gives a buffer back. Of too many the smallest is dropped, of too many bytes the largest.
    pub fn give(&mut self, mut buffer: Vec<u8>) {
        if buffer.capacity() == 0 {
            return;
        }
        buffer.clear();
        self.kept.push(Kept { buffer, used: true });
        if self.kept.len() > self.most {
            self.drop_first(|size| size);
        }
        while self.capacity() > self.most_octets {
            self.drop_first(Reverse);
        }
    }

    /// Drops the buffer that is the first by what `order` makes of its size.
    fn drop_first<O: Ord>(&mut self, order: impl Fn(usize) -> O) {
        let sizes = self.kept.iter().map(|kept| kept.buffer.capacity());
        if let Some((_, at)) = sizes.map(order).zip(0..).min() {
            self.kept.swap_remove(at);
        }
    }

    /// Bytes in all buffers.
    pub fn capacity(&self) -> usize {
        self.kept.iter().map(|kept| kept.buffer.capacity()).sum()
    }

    /// Drops the buffers that were not in use since this was last called: to be called from time to
    /// time by who keeps them.
    pub fn trim(&mut self) {
        self.kept.retain_mut(|kept| std::mem::take(&mut kept.used));
    }
}

/// Memory given back by finished documents and writers, for the next ones. One per worker.
pub struct Buffers {
    bytes: BufferPool,
    #[expect(
        clippy::vec_box,
        reason = "they come from documents and go to documents, which have them boxed"
    )]
    documents: Vec<Box<Parts>>,
    /// Elements of the largest document since the last [`Buffers::trim`].
    elements: usize,
    canonical: Vec<C14nScratch>,
}

impl Default for Buffers {
    fn default() -> Self {
        Self {
            bytes: BufferPool::new(KEPT, KEPT_OCTETS),
            documents: Vec::new(),
            elements: 0,
            canonical: Vec::new(),
        }
    }
}

impl fmt::Debug for Buffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffers")
            .field("capacity", &self.bytes.capacity())
            .finish_non_exhaustive()
    }
}

impl Buffers {
    /// Nothing kept yet.
    pub fn new() -> Buffers {
        Buffers::default()
    }

    /// An empty buffer of at least this capacity.
    pub fn take(&mut self, capacity: usize) -> Vec<u8> {
        self.bytes.take(capacity)
    }

    /// Gives a buffer back. A few are kept, the largest ones.
    pub fn give(&mut self, buffer: Vec<u8>) {
        self.bytes.give(buffer);
    }

    /// Lets go of what was not needed since this was last called: to be called from time to time by
    /// who keeps buffers for long.
    pub fn trim(&mut self) {
        self.bytes.trim();
        let most = std::mem::take(&mut self.elements).saturating_mul(SPACIOUS);
        let most = most.max(SMALL / size_of::<Entry>());
        self.documents.retain(|kept| kept.tape.capacity() <= most);
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

    pub(crate) fn take_parts(&mut self) -> Box<Parts> {
        self.documents.pop().unwrap_or_default()
    }

    pub(crate) fn give_parts(&mut self, mut parts: Box<Parts>) {
        for segment in parts.segments.drain(..) {
            self.give(segment.text.into_bytes());
        }
        self.elements = self.elements.max(parts.tape.len());
        if self.documents.len() < KEPT {
            parts.clear();
            self.documents.push(parts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Document, ParseOptions};

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
        assert_eq!(buffers.bytes.kept.len(), KEPT);
        assert_eq!(buffers.take(0).capacity(), 1_300);
    }

    #[test]
    fn a_small_buffer_is_not_taken_from_a_large_message() {
        let mut buffers = Buffers::new();
        buffers.give(Vec::with_capacity(1 << 20));
        assert_eq!(buffers.take(500).capacity(), 500);
        assert_eq!(buffers.take(300_000).capacity(), 1 << 20);
    }

    #[test]
    fn no_more_octets_are_kept_than_the_bound_says() {
        let mut buffers = Buffers::new();
        buffers.give(Vec::with_capacity(KEPT_OCTETS + 1));
        assert_eq!(buffers.bytes.capacity(), 0);
        for _ in 0..4 {
            buffers.give(Vec::with_capacity(KEPT_OCTETS / 3));
        }
        assert_eq!(buffers.bytes.capacity(), KEPT_OCTETS / 3 * 3);
    }

    #[test]
    fn what_nobody_needed_for_a_while_goes() {
        let mut buffers = Buffers::new();
        let large = format!("<a>{}</a>", "<b/>".repeat(50_000)).into_bytes();
        let parse = |source: Vec<u8>, buffers: &mut Buffers| {
            let parsed = Document::parse(source, &ParseOptions::default(), buffers);
            parsed.expect("well-formed").recycle(buffers);
        };
        parse(large, &mut buffers);
        buffers.trim();
        assert!(buffers.bytes.capacity() > 200_000);
        assert!(buffers.documents[0].tape.capacity() >= 50_000);
        parse(b"<a/>".to_vec(), &mut buffers);
        buffers.trim();
        assert!(buffers.bytes.capacity() < 1_000);
        assert!(buffers.documents.is_empty());
        parse(b"<a/>".to_vec(), &mut buffers);
        buffers.trim();
        assert_eq!(buffers.documents.len(), 1);
    }
}
