//! The store of security contexts of an endpoint, whichever its configuration asks for.
//!
//! The rule kept here: what is not known without a question to a server is not said.

use std::time::Duration;

use jiff::Timestamp;
use soapstone::conversation::{ContextStore, StoreUnavailable};
use soapstone::wss::{ContextName, SecurityContext};

use crate::contexts::RedisContexts;
use crate::memory_contexts::MemoryContexts;

/// The store of security contexts that a configuration asks for.
#[derive(Debug)]
#[non_exhaustive]
pub enum Contexts {
    /// In this process.
    Memory(MemoryContexts),
    /// In Redis or Valkey, sealed.
    Redis(RedisContexts),
}

impl Contexts {
    /// How many conversations are held, expired ones that were not yet dropped included; `None`
    /// where that is not known without looking.
    pub fn len(&self) -> Option<usize> {
        match self {
            Self::Memory(memory) => Some(memory.len()),
            Self::Redis(_) => None,
        }
    }

    /// How many conversations may be held; `None` where that is another's to say.
    pub fn capacity(&self) -> Option<usize> {
        match self {
            Self::Memory(memory) => Some(memory.capacity()),
            Self::Redis(_) => None,
        }
    }

    /// How many questions a shared store has not answered.
    pub fn unanswered(&self) -> u64 {
        match self {
            Self::Memory(_) => 0,
            Self::Redis(redis) => redis.unanswered(),
        }
    }

    /// Whether no conversations are held; `None` where that is not known without looking.
    pub fn is_empty(&self) -> Option<bool> {
        self.len().map(|conversations| conversations == 0)
    }

    fn store(&self) -> &dyn ContextStore {
        match self {
            Self::Memory(memory) => memory,
            Self::Redis(redis) => redis,
        }
    }
}

impl ContextStore for Contexts {
    fn find(
        &self,
        scope: &str,
        name: &ContextName,
        now: Timestamp,
    ) -> Result<Option<SecurityContext>, StoreUnavailable> {
        self.store().find(scope, name, now)
    }

    fn insert(&self, scope: &str, context: &SecurityContext) -> Result<(), StoreUnavailable> {
        self.store().insert(scope, context)
    }

    fn renew(
        &self,
        scope: &str,
        context: &SecurityContext,
        grace: Duration,
        now: Timestamp,
    ) -> Result<bool, StoreUnavailable> {
        self.store().renew(scope, context, grace, now)
    }

    fn amend(
        &self,
        scope: &str,
        before: &SecurityContext,
        after: &SecurityContext,
    ) -> Result<bool, StoreUnavailable> {
        self.store().amend(scope, before, after)
    }

    fn cancel(&self, scope: &str, identifier: &str) -> Result<bool, StoreUnavailable> {
        self.store().cancel(scope, identifier)
    }
}
