//! Conversations that an outbound endpoint begins: it asks the service for a security context, keeps it, and asks for the next one
//! before it ends.
//!
//! ```text
//! message ─▶ context in hand? ── yes ─▶ used; if it ends soon, the next one is asked for meanwhile
//!                             └─ no ──▶ handshake (one at a time; who needs its context waits) ─▶ used
//! ```
//!
//! The rule kept here: at any moment one handshake is under way at most, and everybody who waits for it learns what came of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use soapstone::conversation::{ContextStore, NoContexts, StoreUnavailable};
use soapstone::endpoint::Endpoint;
use soapstone::wss::{ContextName, SecurityContext, SoapVersion};
use soapstone_trust::{Cached, TokenCache};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::handshake::{Failed, Parties};

/// What a handshake came to. Everybody who waits for it is given the same.
type Outcome = Result<Arc<SecurityContext>, Arc<Failed>>;

/// The conversation of one endpoint with its backend.
#[derive(Debug, Default)]
pub(crate) struct Established(Mutex<State>);

#[derive(Debug)]
struct State {
    cache: TokenCache,
    /// What was put into the cache last, for answers: looking there is not asking for a renewal.
    latest: Option<Arc<SecurityContext>>,
    /// Version of the last handshake's messages.
    version: SoapVersion,
    under_way: Option<watch::Receiver<Option<Outcome>>>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            cache: TokenCache::new(1),
            latest: None,
            version: SoapVersion::V11,
            under_way: None,
        }
    }
}

impl Established {
    /// The context to use now, if it is there. Where it ends soon, the next one is asked for meanwhile.
    pub(crate) fn at_hand(
        self: &Arc<Self>,
        endpoint: &Endpoint,
        parties: impl FnOnce() -> Parties,
    ) -> Option<Arc<SecurityContext>> {
        self.find(&mut self.state(), endpoint, parties)
    }

    /// The context to use now; a handshake for it, where there is none.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub(crate) async fn obtain(self: &Arc<Self>, parties: Parties) -> Outcome {
        // Each step of a handshake has its own bounds; this one is for all of them.
        let patience = parties.connect + parties.patience * 2;
        let mut outcome = {
            let mut state = self.state();
            match self.find(&mut state, &parties.side.endpoint, || parties.clone()) {
                Some(context) => return Ok(context),
                None => self.begin(&mut state, None, parties),
            }
        };
        match tokio::time::timeout(patience, outcome.wait_for(Option::is_some)).await {
            Ok(Ok(known)) => known
                .clone()
                .unwrap_or_else(|| Err(Arc::new(Failed::Unfinished))),
            _ => Err(Arc::new(Failed::Unfinished)),
        }
    }

    fn find(
        self: &Arc<Self>,
        state: &mut State,
        endpoint: &Endpoint,
        parties: impl FnOnce() -> Parties,
    ) -> Option<Arc<SecurityContext>> {
        match state
            .cache
            .find(KEY, endpoint.clock(jiff::Timestamp::now()))
        {
            Cached::Missing => None,
            Cached::Usable(context) => Some(context),
            Cached::RenewalDue(context) => {
                self.begin(state, Some(Arc::clone(&context)), parties());
                Some(context)
            }
        }
    }

    /// Forgets a context that the service does not know any more.
    pub(crate) fn forget(&self, context: &SecurityContext) {
        self.state().cache.forget(KEY, context);
    }

    /// Whether a handshake is under way.
    pub(crate) fn is_shaking_hands(&self) -> bool {
        self.state().under_way.is_some()
    }

    /// Waits for the handshake that is under way, if an answer names a context that only it can tell: a service that has just renewed a context
    /// may secure the answer to an earlier request with it.
    pub(crate) async fn settle(&self, used: &SecurityContext, answer: &[u8], parties: &Parties) {
        let Some(mut outcome) = self.state().under_way.clone() else {
            return;
        };
        if parties.names_another(used, answer) {
            // Whatever comes of it: the answer is judged by what is known then.
            let _ = tokio::time::timeout(SETTLING, outcome.wait_for(Option::is_some)).await;
        }
    }

    /// The contexts that are not needed any more, and the version that the backend was last spoken to in.
    pub(crate) fn drain(&self, endpoint: &Endpoint) -> (Vec<Arc<SecurityContext>>, SoapVersion) {
        let mut state = self.state();
        let now = endpoint.clock(jiff::Timestamp::now());
        let contexts = state.cache.drain(now);
        (
            contexts.into_iter().map(|(_, context)| context).collect(),
            state.version,
        )
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a handshake, unless one is under way: for a new context, or to renew one.
    fn begin(
        self: &Arc<Self>,
        state: &mut State,
        renewed: Option<Arc<SecurityContext>>,
        parties: Parties,
    ) -> watch::Receiver<Option<Outcome>> {
        // A sender that is gone without a word was dropped with its task.
        if let Some(running) = &state.under_way
            && running.has_changed().is_ok()
        {
            return running.clone();
        }
        state.version = parties.version;
        let (tell, outcome) = watch::channel(None);
        state.under_way = Some(outcome.clone());
        let established = Arc::clone(self);
        let shared = Arc::clone(&parties.shared);
        shared.in_background(async move {
            let outcome = established.shake_hands(renewed, &parties).await;
            tell.send_replace(Some(outcome));
        });
        outcome
    }

    /// Establishes a context and puts it into use.
    async fn shake_hands(
        &self,
        renewed: Option<Arc<SecurityContext>>,
        parties: &Parties,
    ) -> Outcome {
        let started = Instant::now();
        let granted = parties.next(renewed).await;
        let now = parties.side.endpoint.clock(jiff::Timestamp::now());
        let mut state = self.state();
        state.under_way = None;
        parties
            .metrics
            .handshake(granted.is_ok(), started.elapsed());
        match granted {
            Ok(context) => {
                tracing::info!(
                    route = parties.route,
                    context = context.identifier,
                    expires = %context.expires,
                    took = ?started.elapsed(),
                    "a conversation with the backend began"
                );
                let context = state.cache.put(KEY, context, now);
                state.latest = Some(Arc::clone(&context));
                Ok(context)
            }
            Err(failed) => {
                tracing::warn!(
                    route = parties.route,
                    reason = failed.name(),
                    detail = %failed,
                    "no conversation with the backend"
                );
                Err(Arc::new(failed))
            }
        }
    }
}

/// What answers may name beside the context of their request: the one that was established last.
impl ContextStore for Established {
    fn find(
        &self,
        _: &str,
        name: &ContextName,
        now: jiff::Timestamp,
    ) -> Result<Option<SecurityContext>, StoreUnavailable> {
        let latest = self.state().latest.clone();
        let named = latest.filter(|context| context.name() == *name && now < context.expires);
        Ok(named.map(|context| SecurityContext::clone(&context)))
    }

    fn insert(&self, scope: &str, context: &SecurityContext) -> Result<(), StoreUnavailable> {
        NoContexts.insert(scope, context)
    }

    fn renew(
        &self,
        scope: &str,
        context: &SecurityContext,
        grace: Duration,
    ) -> Result<bool, StoreUnavailable> {
        NoContexts.renew(scope, context, grace)
    }

    fn cancel(&self, scope: &str, identifier: &str) -> Result<bool, StoreUnavailable> {
        NoContexts.cancel(scope, identifier)
    }
}

/// How long an answer waits for a handshake. The service has answered it before, or at the same time.
const SETTLING: Duration = Duration::from_secs(2);

/// An endpoint has one backend.
const KEY: &str = "backend";
