//! One endpoint of a route, with everything that it remembers.
//!
//! The rule kept here: what a predecessor kept in this process goes on after a reload, so that changing a key lets no replay in.

use std::sync::Arc;

use soapstone::config::{EndpointConfig, Place, Table};
use soapstone::endpoint::{Endpoint, Memory, Role};
use soapstone_store::{Contexts, Replay, StoreError, Stores};

use crate::established::Established;
use crate::wsdl::PublishedPolicy;

/// One endpoint of a route, and what it remembers.
#[derive(Clone)]
pub(crate) struct Side {
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) replay: Arc<Replay>,
    /// The conversations of clients with us. What we began ourselves is in [`Established`].
    pub(crate) contexts: Arc<Contexts>,
    /// The conversation with the backend, where this endpoint begins one.
    pub(crate) established: Option<Arc<Established>>,
    /// What clients are told of the policy.
    pub(crate) published: Option<Arc<PublishedPolicy>>,
}

/// Reads `inbound` or `outbound` of a route, compiles it and opens its stores. `None` when something is wrong, which is reported.
pub(crate) fn read_side(
    table: Table<'_>,
    role: Role,
    scope: &str,
    stores: &Stores,
) -> Option<Side> {
    let document = table.document();
    let config = EndpointConfig::read(table)?;
    let endpoint = match Endpoint::compile(&config, role) {
        Ok(endpoint) => endpoint.with_scope(scope),
        Err(problems) => {
            problems
                .0
                .into_iter()
                .for_each(|problem| document.report(problem));
            return None;
        }
    };
    let (replay, conversations) = (&config.security.replay, &config.security.conversations);
    let unusable = |place: Option<Place>, error: StoreError| {
        document.report(config.problem(place.unwrap_or(config.place), error.to_string()));
    };
    let replay = stores
        .replay(endpoint.replay())
        .map_err(|error| unusable(replay.as_ref().map(|replay| replay.place), error));
    let contexts = stores
        .contexts(endpoint.conversations())
        .map_err(|error| unusable(conversations.as_ref().map(|table| table.place), error));
    let begins = role == Role::Client && endpoint.conversation().is_some();
    Some(Side {
        endpoint: Arc::new(endpoint),
        replay: Arc::new(replay.ok()?),
        contexts: Arc::new(contexts.ok()?),
        established: begins.then(Arc::default),
        published: PublishedPolicy::of(&config.security).map(Arc::new),
    })
}

impl Side {
    /// Whether messages of its conversations are worked on in tens of microseconds, without waiting for a store.
    pub(crate) fn converses_briefly(&self) -> bool {
        self.endpoint.converses_lightly()
            && matches!(&*self.replay, Replay::Memory(_))
            && matches!(&*self.contexts, Contexts::Memory(_))
    }

    /// Name of the mechanism, for metrics.
    pub(crate) fn mechanism(&self) -> &str {
        self.endpoint.mechanism()
    }

    /// Goes on with what a predecessor kept in this process, so that a reload lets no replay in and ends no conversation of a client.
    /// Conversations that we began are begun anew: the keys that began them may be those that changed.
    pub(crate) fn keep_memory_of(&mut self, predecessor: &Self) {
        if matches!(
            (&*self.replay, &*predecessor.replay),
            (Replay::Memory(_), Replay::Memory(_))
        ) {
            self.replay = Arc::clone(&predecessor.replay);
        }
        let same_scope = self.endpoint.scope() == predecessor.endpoint.scope();
        if same_scope
            && matches!(
                (&*self.contexts, &*predecessor.contexts),
                (Contexts::Memory(_), Contexts::Memory(_))
            )
        {
            self.contexts = Arc::clone(&predecessor.contexts);
        }
    }

    /// What the endpoint asks about other messages than the one at hand.
    pub(crate) fn memory(&self) -> Memory<'_> {
        Memory {
            replay: self.replay.as_ref(),
            contexts: self.contexts.as_ref(),
        }
    }
}
