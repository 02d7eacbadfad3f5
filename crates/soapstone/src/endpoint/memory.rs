//! What an endpoint asks about other messages than the one at hand.

use crate::conversation::{ContextStore, NoContexts};
use crate::replay::ReplayCache;

/// What an endpoint asks about messages before and beside the one at hand.
#[derive(Clone, Copy)]
pub struct Memory<'m> {
    /// Remembers messages.
    pub replay: &'m dyn ReplayCache,
    /// Remembers conversations.
    pub contexts: &'m dyn ContextStore,
}

impl<'m> Memory<'m> {
    /// A memory for messages that belong to no conversation.
    pub fn without_conversations(replay: &'m dyn ReplayCache) -> Self {
        Self {
            replay,
            contexts: &NoContexts,
        }
    }
}
