//! One endpoint of a route, with everything that it remembers.
//!
//! The rule kept here: what a predecessor kept in this process goes on after a reload, so that
//! changing a key lets no replay in.

use std::sync::Arc;

use soapstone::endpoint::{Endpoint, Memory, Question, SentMessages};
use soapstone_store::{Contexts, ProcessMemory, Replay, StoreError, Stores};

use crate::config::endpoint::EndpointSpec;
use crate::config::published::PublishedPolicy;
use crate::scheduling::class::WorkClass;

/// One endpoint of a route, and what it remembers.
pub(crate) struct RouteEndpoint {
    pub(crate) endpoint: Endpoint,
    pub(crate) replay: Replay,
    /// The conversations of clients with us. A conversation that the gateway begins belongs to its
    /// upstream.
    pub(crate) contexts: Arc<Contexts>,
    /// What clients are told of the policy.
    pub(crate) published: Option<PublishedPolicy>,
    /// What an operation of a private key takes.
    private_key: WorkClass,
}

/// What an endpoint takes over.
pub(crate) struct Inheritance<'i> {
    /// The messages that any endpoint of this process has accepted.
    pub(crate) accepted: &'i ProcessMemory,
    /// The messages that any endpoint of its role has sent.
    pub(crate) sent: &'i SentMessages,
    /// All endpoints of the former configuration.
    pub(crate) former: &'i [&'i RouteEndpoint],
    /// The endpoint whose place it takes, and whether it is where its predecessor was.
    pub(crate) predecessor: Option<(&'i RouteEndpoint, bool)>,
}

/// The stores of an endpoint, opened: which may take seconds.
pub(crate) struct OpenStores {
    replay: Replay,
    contexts: Contexts,
}

impl OpenStores {
    /// Those of an endpoint; `None` if messages pass it as they are.
    ///
    /// # Errors
    ///
    /// When a store cannot be opened any more.
    pub(crate) fn of(
        spec: Option<&EndpointSpec>,
        stores: &Stores,
    ) -> Result<Option<Self>, StoreError> {
        let Some(endpoint) = spec.map(|spec| &spec.endpoint) else {
            return Ok(None);
        };
        if endpoint.is_plain() {
            return Ok(None);
        }
        Ok(Some(Self {
            replay: stores.replay(endpoint.replay())?,
            contexts: stores.contexts(endpoint.conversations())?,
        }))
    }
}

impl RouteEndpoint {
    /// Goes on with what a predecessor kept in this process: a reload lets no replay in and ends no
    /// conversation of a client. Conversations that the gateway began are begun anew: the keys
    /// that began them may be those that changed.
    pub(crate) fn build(
        spec: EndpointSpec,
        stores: OpenStores,
        inheritance: &Inheritance<'_>,
    ) -> Arc<Self> {
        let mut endpoint = spec.endpoint;
        let OpenStores {
            mut replay,
            contexts,
        } = stores;
        let mut contexts = Arc::new(contexts);
        replay.share(inheritance.accepted);
        for former in inheritance.former {
            replay.know(&former.replay);
        }
        endpoint.share_sent(inheritance.sent);
        if let Some((predecessor, stays)) = inheritance.predecessor {
            replay.follow(&predecessor.replay);
            if stays {
                replay.stay(&predecessor.replay);
            }
            let same_scope = endpoint.scope() == predecessor.endpoint.scope();
            if same_scope
                && matches!(
                    (&*contexts, &*predecessor.contexts),
                    (Contexts::Memory(_), Contexts::Memory(_))
                )
            {
                contexts = Arc::clone(&predecessor.contexts);
            }
            endpoint.keep_memory_of(&predecessor.endpoint);
        }
        Arc::new(Self {
            private_key: WorkClass::of_private_keys(endpoint.waits_for_keys()),
            endpoint,
            replay,
            contexts,
            published: spec.published,
        })
    }

    /// What it takes to open a message that is not large, one of a conversation or one outside of
    /// all.
    pub(crate) fn opening(&self, in_conversation: bool) -> WorkClass {
        if self.is_ordinary(in_conversation) && self.endpoint.opens_lightly() {
            WorkClass::Inline
        } else {
            self.private_key
        }
    }

    /// Whether a question takes longer to be answered than work takes to be handed on: its store is
    /// a file or another server.
    pub(crate) fn waits_for(&self, question: &Question) -> bool {
        match question.is_for_contexts() {
            true => !matches!(&*self.contexts, Contexts::Memory(_)),
            false => !matches!(&self.replay, Replay::Memory(_)),
        }
    }

    /// Whether it has such a store.
    pub(crate) fn may_wait(&self) -> bool {
        let in_memory = matches!(&self.replay, Replay::Memory(_))
            && matches!(&*self.contexts, Contexts::Memory(_));
        !in_memory
    }

    /// What it takes to secure a message that is not large, one of a conversation or one outside of
    /// all.
    pub(crate) fn securing(&self, in_conversation: bool) -> WorkClass {
        if self.is_ordinary(in_conversation) && self.endpoint.secures_lightly() {
            WorkClass::Inline
        } else {
            self.private_key
        }
    }

    /// Whether such a message is what the plans are for: of a conversation where there are
    /// conversations.
    fn is_ordinary(&self, in_conversation: bool) -> bool {
        in_conversation == self.endpoint.conversation().is_some()
    }

    /// Whether messages that it secures are signed or encrypted, or carry a user.
    pub(crate) fn secures_more(&self) -> bool {
        let mut plans = self.endpoint.outbound();
        plans.any(|plan| plan.policy().has_security())
    }

    /// What the endpoint asks about other messages than the one at hand.
    pub(crate) fn memory(&self) -> Memory<'_> {
        Memory {
            replay: &self.replay,
            contexts: self.contexts.as_ref(),
        }
    }
}
