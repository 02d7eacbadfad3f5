//! One endpoint of a route, with everything that it remembers.
//!
//! The rule kept here: what a predecessor kept in this process goes on after a reload, so that
//! changing a key lets no replay in.

use std::sync::Arc;

use soapstone::config::{EndpointConfig, Located, Place, SecuritySource, Table, Warning};
use soapstone::endpoint::{Endpoint, Memory, Question, Role, SentMessages};
use soapstone_policy::TransportRequirement;
use soapstone_store::{Contexts, ProcessMemory, Replay, StoreError, Stores};

use crate::config::NO_DEMANDS;
use crate::conversation::established::Established;
use crate::description::{PublishedPolicy, Telling};
use crate::work::workers::Effort;

/// One endpoint of a route, and what it remembers.
pub(crate) struct Side {
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) replay: Arc<Replay>,
    /// The conversations of clients with us. What we began ourselves is in [`Established`].
    pub(crate) contexts: Arc<Contexts>,
    /// The conversation with the backend, where this endpoint begins one.
    pub(crate) established: Option<Arc<Established>>,
    /// What clients are told of the policy.
    pub(crate) published: Option<Arc<PublishedPolicy>>,
    /// What the operator should know of it: why clients are told nothing, or how they must read
    /// it.
    pub(crate) remark: Option<String>,
    /// A policy was named, and nothing in it demands anything: the description of a service
    /// without its security, perhaps.
    pub(crate) without_demands: bool,
}

/// Whether clients are told of a policy, and what else they are told.
#[derive(Debug)]
pub(crate) struct Publishing {
    /// `publish_policy`.
    pub(crate) wanted: Option<Located<bool>>,
    /// What clients find when they connect, where that is TLS.
    pub(crate) transport: Option<TransportRequirement>,
}

/// Reads `inbound` or `outbound` of a route, compiles it and opens its stores. `through_tls` says
/// whether its messages come or go over TLS. `None` when something is wrong, which is reported.
pub(crate) fn read_side(
    table: Table<'_>,
    role: Role,
    scope: &str,
    stores: &Stores,
    through_tls: bool,
    publishing: Option<&Publishing>,
) -> Option<Side> {
    let document = table.document();
    let config = EndpointConfig::read(table)?;
    if let Some(time) = &config.security.time {
        // It would hold for every message from now on: none would ever expire, and what others send
        // would soon be too new.
        document.report(
            config
                .problem(
                    time.place,
                    "`time` is for single messages, and would stop the clock of a gateway",
                )
                .with_hint(
                    "leave it out; `soapstone open` and `soapstone secure` take it for recorded messages",
                ),
        );
    }
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
    if endpoint.lacks_users() && !config.has("users") {
        document.report(
            config
                .problem(
                    config.security.source.place,
                    "a user with a password is needed to check a `UsernameToken`",
                )
                .with_hint("say whom we know: users = [{ name = \"…\", password_env = \"…\" }]"),
        );
    }
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
    let wanted = publishing.and_then(|publishing| publishing.wanted.as_ref());
    let told = match publishing.filter(|_| wanted.is_none_or(|wanted| wanted.value)) {
        Some(publishing) => PublishedPolicy::of(&config, publishing.transport),
        None => Ok(Telling::default()),
    };
    if let (Err(reason), Some(wanted)) = (&told, wanted) {
        document.report(
            config
                .problem(
                    wanted.place,
                    format!("the policy cannot be published: {reason}"),
                )
                .with_hint("without `publish_policy` the description is served without a policy"),
        );
    }
    let (published, remark) = match told {
        Ok(Telling { published, note }) => (published, note.map(str::to_owned)),
        Err(reason) => (
            None,
            Some(format!("?wsdl tells clients of no policy: {reason}")),
        ),
    };
    let by_policy = matches!(config.security.source.value, SecuritySource::Policy(_));
    let without_demands = by_policy && endpoint.demands_nothing() && !endpoint.needs_tls();
    for risk in endpoint.risks(&config, through_tls) {
        document.warn(risk);
    }
    let open: Vec<&str> = endpoint.unprotected_operations().collect();
    if without_demands || !open.is_empty() {
        let message = match without_demands {
            true => NO_DEMANDS.to_owned(),
            false => format!(
                "the policy demands nothing of requests for {}",
                open.join(", ")
            ),
        };
        let problem = config.problem(config.security.source.place, message);
        document.warn(Warning {
            name: "without-protection",
            problem: problem.with_hint("attach a policy to them, unless everybody may call them"),
        });
    }
    let begins = role == Role::Client && endpoint.conversation().is_some();
    Some(Side {
        endpoint: Arc::new(endpoint),
        replay: Arc::new(replay.ok()?),
        contexts: Arc::new(contexts.ok()?),
        established: begins.then(Arc::default),
        published: published.map(Arc::new),
        remark,
        without_demands,
    })
}

impl Side {
    /// What it takes to open a message that is not large, one of a conversation or one outside of
    /// all.
    pub(crate) fn opening(&self, in_conversation: bool) -> Effort {
        if self.is_ordinary(in_conversation) && self.endpoint.opens_lightly() {
            Effort::Brief
        } else {
            Effort::Short
        }
    }

    /// Whether a question takes longer to be answered than work takes to be handed on: its store is
    /// a file or another server.
    pub(crate) fn waits_for(&self, question: &Question) -> bool {
        match question.is_for_contexts() {
            true => !matches!(&*self.contexts, Contexts::Memory(_)),
            false => !matches!(&*self.replay, Replay::Memory(_)),
        }
    }

    /// Whether it has such a store.
    pub(crate) fn may_wait(&self) -> bool {
        let in_memory = matches!(&*self.replay, Replay::Memory(_))
            && matches!(&*self.contexts, Contexts::Memory(_));
        !in_memory
    }

    /// What it takes to secure a message that is not large, one of a conversation or one outside of
    /// all.
    pub(crate) fn securing(&self, in_conversation: bool) -> Effort {
        if self.is_ordinary(in_conversation) && self.endpoint.secures_lightly() {
            Effort::Brief
        } else {
            Effort::Short
        }
    }

    /// Whether such a message is what the plans are for: of a conversation where there are
    /// conversations.
    fn is_ordinary(&self, in_conversation: bool) -> bool {
        in_conversation == self.endpoint.conversation().is_some()
    }

    /// Whether it has conversations that begin with messages which everybody on the way can read.
    pub(crate) fn shows_its_keys(&self) -> bool {
        let conversation = self.endpoint.conversation();
        conversation.is_some_and(|conversation| !conversation.hides_its_keys())
    }

    /// Name of the mechanism, for metrics.
    pub(crate) fn mechanism(&self) -> &str {
        self.endpoint.mechanism()
    }

    /// Goes on with what a predecessor kept in this process, so that a reload lets no replay in and
    /// ends no conversation of a client. Conversations that we began are begun anew: the keys
    /// that began them may be those that changed.
    /// `stays` says whether it is where its predecessor was.
    pub(crate) fn keep_memory_of(&mut self, predecessor: &Self, stays: bool) {
        let replay = self.replay_mut();
        replay.follow(&predecessor.replay);
        if stays {
            replay.stay(&predecessor.replay);
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
        self.endpoint_mut().keep_memory_of(&predecessor.endpoint);
    }

    /// Knows the messages that any endpoint of this process has accepted, those that any of its
    /// role has sent, and what the endpoints of the former configuration know of its store.
    pub(crate) fn share<'s>(
        &mut self,
        memory: &ProcessMemory,
        sent: &SentMessages,
        former: impl IntoIterator<Item = &'s Self>,
    ) {
        let replay = self.replay_mut();
        replay.share(memory);
        for side in former {
            replay.know(&side.replay);
        }
        self.endpoint_mut().share_sent(sent);
    }

    fn endpoint_mut(&mut self) -> &mut Endpoint {
        Arc::get_mut(&mut self.endpoint)
            .expect("a route that is not in use yet has its endpoints to itself")
    }

    fn replay_mut(&mut self) -> &mut Replay {
        Arc::get_mut(&mut self.replay)
            .expect("a route that is not in use yet has its stores to itself")
    }

    /// What the endpoint asks about other messages than the one at hand.
    pub(crate) fn memory(&self) -> Memory<'_> {
        Memory {
            replay: self.replay.as_ref(),
            contexts: self.contexts.as_ref(),
        }
    }
}
