//! One endpoint of a route, with everything that it remembers.
//!
//! The rule kept here: what a predecessor kept in this process goes on after a reload, so that
//! changing a key lets no replay in.

use std::sync::Arc;

use soapstone::endpoint::{
    Calling, Directions, Endpoint, Memory, Question, ReflectionGuard, Serving,
};
use soapstone_store::{Contexts, ProcessMemory, Replay, StoreError, Stores};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::config::endpoint::{EndpointSpec, SideSpec};
use crate::config::published::PublishedPolicy;
use crate::scheduling::class::WorkClass;
use crate::wire::authorities::Authorities;

/// The endpoint of a route that faces its clients.
pub(crate) type InboundEndpoint = RouteEndpoint<Serving>;

/// The endpoint of a route that faces its backend.
pub(crate) type OutboundEndpoint = RouteEndpoint<Calling>;

/// One endpoint of a route, and what it remembers.
pub(crate) struct RouteEndpoint<P> {
    pub(crate) endpoint: Endpoint<P>,
    pub(crate) stores: Arc<RouteStores>,
    /// What clients are told of the policy.
    pub(crate) published: Option<PublishedPolicy>,
    /// What an operation of a private key takes.
    private_key: WorkClass,
}

/// What an endpoint asks about other messages than the one at hand.
pub(crate) struct RouteStores {
    pub(crate) replay: Replay,
    /// The conversations of clients with us. A conversation that the gateway begins belongs to its
    /// upstream.
    pub(crate) contexts: Arc<Contexts>,
    /// Whether Kerberos tokens are accepted or made, which takes files and a KDC, or assertions
    /// are fetched from authorities.
    asks_beyond_stores: bool,
    /// Held by messages that may wait for a KDC. A predecessor's go on: those that wait still do.
    kdc_permits: Arc<Semaphore>,
    /// The same for authorities of assertions.
    authority_permits: Arc<Semaphore>,
}

/// Most messages of a route that wait for a KDC at once. With a ticket that is there a token takes
/// less than a millisecond. Two routes whose KDCs hang leave 32 permits to the others.
const MOST_WAITING_FOR_A_KDC: usize = 48;

/// Most messages of a route that wait for an authority of assertions at once: those that ask, and
/// those that wait for an answer to others. An endpoint lets 16 ask and 16 wait, and says itself
/// which of the two is too much.
const MOST_WAITING_FOR_AN_AUTHORITY: usize = 32;

impl RouteStores {
    /// Whether a question takes longer to be answered than work takes to be handed on: its store is
    /// a file or another server.
    pub(crate) fn waits_for(&self, question: &Question) -> bool {
        match question.is_for_contexts() {
            _ if question.outlasts_handing_on() => true,
            true => !matches!(&*self.contexts, Contexts::Memory(_)),
            false => !matches!(&self.replay, Replay::Memory(_)),
        }
    }

    /// Whether there is such a store.
    pub(crate) fn may_wait(&self) -> bool {
        let in_memory = !self.asks_beyond_stores
            && matches!(&self.replay, Replay::Memory(_))
            && matches!(&*self.contexts, Contexts::Memory(_));
        !in_memory
    }

    /// The right to ask an authority; `None` if too many messages wait for one.
    pub(super) fn authority_permit(&self) -> Option<SemaphorePermit<'_>> {
        self.authority_permits.try_acquire().ok()
    }

    /// The right to ask a KDC; `None` if too many messages wait for one.
    pub(super) fn kdc_permit(&self) -> Option<SemaphorePermit<'_>> {
        self.kdc_permits.try_acquire().ok()
    }

    pub(crate) fn memory(&self) -> Memory<'_> {
        Memory {
            replay: &self.replay,
            contexts: self.contexts.as_ref(),
        }
    }
}

/// What an endpoint takes over.
pub(crate) struct Inheritance<'i, P> {
    /// The messages that any endpoint of this process has accepted.
    pub(crate) accepted: &'i ProcessMemory,
    /// The messages that any endpoint of its role has sent.
    pub(crate) sent: &'i ReflectionGuard,
    /// All endpoints of the former configuration.
    pub(crate) former: &'i [&'i RouteStores],
    /// The endpoint whose place it takes, and whether it is where its predecessor was.
    pub(crate) predecessor: Option<(&'i RouteEndpoint<P>, bool)>,
}

/// The stores of an endpoint, opened: which may take seconds.
pub(crate) struct OpenStores {
    replay: Replay,
    contexts: Contexts,
    /// Those of the endpoint that faces the token service, where there is one.
    pub(crate) of_token_service: Option<Box<Self>>,
}

impl OpenStores {
    /// Those of an endpoint; `None` if messages pass it as they are.
    ///
    /// # Errors
    ///
    /// When a store cannot be opened any more.
    pub(crate) fn of<P: Directions>(
        spec: Option<&EndpointSpec<P>>,
        stores: &Stores,
    ) -> Result<Option<Self>, StoreError> {
        let spec = spec.filter(|spec| !spec.endpoint.is_plain());
        spec.map(|spec| Self::open(spec, stores)).transpose()
    }

    fn open<P: Directions>(spec: &EndpointSpec<P>, stores: &Stores) -> Result<Self, StoreError> {
        let (replay, contexts) = spec.open(stores);
        let service = spec.token_service.as_ref();
        let of_token_service = service.map(|service| Self::open(&service.side, stores));
        Ok(Self {
            replay: replay?,
            contexts: contexts?,
            of_token_service: of_token_service.transpose()?.map(Box::new),
        })
    }
}

impl<P: Directions> RouteEndpoint<P> {
    /// Goes on with what a predecessor kept in this process: a reload lets no replay in and ends no
    /// conversation of a client. Conversations that the gateway began are begun anew: the keys
    /// that began them may be those that changed.
    pub(crate) fn build(
        spec: EndpointSpec<P>,
        stores: OpenStores,
        inheritance: &Inheritance<'_, P>,
    ) -> Arc<Self> {
        let mut endpoint = match spec.authorities.is_empty() {
            true => spec.endpoint,
            false => {
                let authorities = Authorities::new(spec.authorities);
                spec.endpoint.fetching_with(Arc::new(authorities))
            }
        };
        let OpenStores {
            mut replay,
            contexts,
            of_token_service: _,
        } = stores;
        let mut contexts = Arc::new(contexts);
        let permits = |of: fn(&RouteStores) -> &Arc<Semaphore>, most: usize| {
            inheritance.predecessor.map_or_else(
                || Arc::new(Semaphore::new(most)),
                |(predecessor, _)| Arc::clone(of(&predecessor.stores)),
            )
        };
        let kdc_permits = permits(|stores| &stores.kdc_permits, MOST_WAITING_FOR_A_KDC);
        let authority_permits = permits(
            |stores| &stores.authority_permits,
            MOST_WAITING_FOR_AN_AUTHORITY,
        );
        replay.share(inheritance.accepted);
        for former in inheritance.former {
            replay.know(&former.replay);
        }
        endpoint.share_sent(inheritance.sent);
        if let Some((predecessor, stays)) = inheritance.predecessor {
            replay.follow(&predecessor.stores.replay);
            if stays {
                replay.stay(&predecessor.stores.replay);
            }
            let same_scope = endpoint.scope() == predecessor.endpoint.scope();
            if same_scope
                && matches!(
                    (&*contexts, &*predecessor.stores.contexts),
                    (Contexts::Memory(_), Contexts::Memory(_))
                )
            {
                contexts = Arc::clone(&predecessor.stores.contexts);
            }
            endpoint.keep_memory_of(&predecessor.endpoint);
        }
        let asks_beyond_stores = endpoint.accepts_tickets()
            || endpoint.asks_for_tickets()
            || endpoint.fetches_assertions();
        Arc::new(Self {
            private_key: WorkClass::of_private_keys(endpoint.waits_for_keys()),
            endpoint,
            stores: Arc::new(RouteStores {
                replay,
                contexts,
                asks_beyond_stores,
                kdc_permits,
                authority_permits,
            }),
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

    /// What it takes to secure a message that is not large, one of a conversation or one outside of
    /// all.
    pub(crate) fn securing(&self, in_conversation: bool) -> WorkClass {
        if self.is_ordinary(in_conversation) && self.endpoint.secures_lightly() {
            WorkClass::Inline
        } else {
            self.private_key
        }
    }

    /// What it takes to read an answer that passes, and is not large.
    pub(crate) fn passing_answers(&self) -> WorkClass {
        let reader = self.endpoint.reader_of_answers();
        match reader.is_some_and(|reader| !reader.opens_lightly()) {
            true => self.private_key,
            false => WorkClass::Inline,
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
}
