//! The memory of messages in hand: buffers, and how much they may take together.
//!
//! The rule kept here: whoever reads a message asks for the room first.

use std::sync::Arc;

use super::budget::MemoryBudget;
use super::buffers::SharedBuffers;

/// The memory of all messages of one gateway.
#[derive(Clone, Debug)]
pub(crate) struct MessageMemory {
    pub(crate) buffers: Arc<SharedBuffers>,
    pub(crate) budget: Arc<MemoryBudget>,
}

impl MessageMemory {
    /// For so many bytes of messages at once.
    pub(crate) fn new(size: u64) -> Self {
        Self {
            buffers: Arc::default(),
            budget: MemoryBudget::new(size),
        }
    }
}
