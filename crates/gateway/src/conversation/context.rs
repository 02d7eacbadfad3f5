//! Conversations that an outbound endpoint begins: it asks the service for a security context,
//! keeps it, and asks for the next one before it ends.
//!
//! ```text
//! message ─▶ context in hand? ── yes ─▶ used; if it ends soon, the next one is asked for meanwhile
//!                             └─ no ──▶ handshake (one at a time; its callers wait) ─▶ used
//! ```
//!
//! A context that is about to end is renewed in a moment without exchanges; or followed by a new
//! one, where there is no such moment or the service does not renew.
//!
//! After a handshake that failed none is begun for a moment in its version of SOAP: who needs a
//! context meanwhile is told why the last one failed.
//!
//! Where the assertion of a token service begins conversations, none is begun in the pause of that
//! service either. A context is followed early by one that lasts longer: by a later assertion. If
//! there is no later one, the context is used to its end.
//!
//! A refusal that may be the assertion's fault has another assertion asked for (`doubts.rs`).
//! Handshakes do not wait for it: until it is there, they begin with the one at hand.
//!
//! A request that this side could not secure says nothing of the backend: the KDC may be away. It
//! has a pause of its own, for both versions. Then one handshake tries, and one exchange a second
//! waits for it at most.
//!
//! The rule kept here: at any moment one handshake is under way at most, and everybody who waits
//! for it learns what came of it.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use soapstone::trust::{Cached, Operation, TokenCache};
use soapstone::wss::{SecurityContext, SoapVersion};
use soapstone_store::Breaker;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::doubts::Doubts;
use super::handshake::{Failed, Handshaker, Shown};
use crate::observe::log::Beginning;
use crate::scheduling::background::Background;

/// What a handshake came to. Everybody who waits for it is given the same.
type Outcome = Result<Arc<SecurityContext>, Arc<Failed>>;

/// The conversation of one endpoint with its backend.
#[derive(Debug)]
pub(crate) struct OutboundContext {
    handshaker: Handshaker,
    background: Arc<Background>,
    state: Mutex<State>,
    /// In the way to handshakes in SOAP 1.1 and in SOAP 1.2: whoever speaks a version that the
    /// backend refuses stops nobody who speaks the other.
    breakers: [Breaker<Arc<Failed>>; 2],
    /// In the way to what this side secures handshakes with: a KDC, or what holds the key.
    securing: Breaker<Arc<Failed>>,
    /// Read by every exchange in the conversation, written by a renewal.
    exchanges: Arc<RwLock<()>>,
}

#[derive(Debug)]
struct State {
    cache: TokenCache,
    /// Version of the last handshake's messages.
    version: SoapVersion,
    under_way: Option<watch::Receiver<Option<Outcome>>>,
    /// When another assertion may be asked for.
    doubts: Doubts,
}

/// No exchange uses the context meanwhile.
type Alone = OwnedRwLockWriteGuard<()>;

/// What a renewal came to.
enum Renewed {
    Done(SecurityContext, Alone),
    /// There was no moment for it.
    Unsent,
    /// The service does not renew, or was too slow.
    Refused,
}

impl Default for State {
    fn default() -> Self {
        Self {
            cache: TokenCache::new(1),
            version: SoapVersion::V11,
            under_way: None,
            doubts: Doubts::default(),
        }
    }
}

impl State {
    /// The context that a handshake follows, if it is still in use. `Break` has the context that is
    /// used further, as following it would gain nothing now: it lives, and there is no assertion
    /// that ends later.
    fn followed(
        &mut self,
        renewed: Option<Arc<SecurityContext>>,
        token: &Result<Shown, Failed>,
        now: jiff::Timestamp,
    ) -> ControlFlow<Arc<SecurityContext>, Option<Arc<SecurityContext>>> {
        // The service may have lost it while the token service was asked: nobody uses it again.
        let Some(context) = renewed.filter(|context| self.cache.holds(KEY, context)) else {
            return ControlFlow::Continue(None);
        };
        let gains = match token {
            Ok(None) => true,
            // One for one use is used: nobody else could.
            Ok(Some(token)) => token.assertion.once || token.assertion.ends > context.expires,
            Err(_) => false,
        };
        if gains || context.expires <= now {
            return ControlFlow::Continue(Some(context));
        }
        // The token service answered, and has no later one.
        if token.is_ok() {
            self.cache.renew_no_more(KEY, &context);
        }
        self.under_way = None;
        ControlFlow::Break(context)
    }
}

/// A context and an exchange that uses it. It is not renewed meanwhile: some services forget the
/// instance before at once, and refuse requests under it or answer them under the new one.
#[derive(Debug)]
pub(crate) struct ContextLease {
    context: Arc<SecurityContext>,
    _exchange: OwnedRwLockReadGuard<()>,
}

impl ContextLease {
    pub(crate) fn context(&self) -> &SecurityContext {
        &self.context
    }
}

/// How long a renewal waits for a moment without exchanges. New ones wait with it.
const QUIET: Duration = Duration::from_millis(250);

/// How long a renewal may keep exchanges waiting.
const RENEWAL: Duration = Duration::from_secs(2);

/// Longest that others are turned away while one handshake tries whether it can be secured again:
/// as long as the longest pause. Then one more waits with it.
const SECURING_TRIAL: Duration = Duration::from_secs(1);

/// An endpoint has one backend.
const KEY: &str = "backend";

impl OutboundContext {
    /// No context as yet. Handshakes are done in the background.
    pub(crate) fn new(handshaker: Handshaker, background: Arc<Background>) -> Arc<Self> {
        // While a handshake is under way, no other one asks whether it may begin.
        let breaker = || Breaker::new(Duration::ZERO);
        Arc::new(Self {
            securing: Breaker::new(SECURING_TRIAL),
            handshaker,
            background,
            state: Mutex::default(),
            breakers: [breaker(), breaker()],
            exchanges: Arc::default(),
        })
    }

    /// The context to use now, if it is there. Where it ends soon, the next one is asked for
    /// meanwhile, in that version.
    pub(crate) fn at_hand(self: &Arc<Self>, version: SoapVersion) -> Option<ContextLease> {
        let exchange = Arc::clone(&self.exchanges).try_read_owned().ok()?;
        let context = self.find(&mut self.state(), version)?;
        Some(ContextLease {
            context,
            _exchange: exchange,
        })
    }

    /// The context to use now; a handshake for it, where there is none.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub(crate) async fn obtain(
        self: &Arc<Self>,
        version: SoapVersion,
    ) -> Result<ContextLease, Arc<Failed>> {
        tokio::time::timeout(self.handshaker.patience(), self.obtained(version))
            .await
            .unwrap_or_else(|_| Err(Arc::new(Failed::Unfinished)))
    }

    async fn obtained(self: &Arc<Self>, version: SoapVersion) -> Result<ContextLease, Arc<Failed>> {
        let exchange = Arc::clone(&self.exchanges).read_owned().await;
        let known = {
            let mut state = self.state();
            match self.find(&mut state, version) {
                Some(context) => Ok(context),
                None => Err(self.begin(&mut state, None, version)),
            }
        };
        let context = match known {
            Ok(context) => context,
            Err(mut outcome) => match outcome.wait_for(Option::is_some).await.as_deref() {
                Ok(Some(outcome)) => outcome.clone()?,
                _ => return Err(Arc::new(Failed::Unfinished)),
            },
        };
        Ok(ContextLease {
            context,
            _exchange: exchange,
        })
    }

    fn find(
        self: &Arc<Self>,
        state: &mut State,
        version: SoapVersion,
    ) -> Option<Arc<SecurityContext>> {
        match state.cache.find(KEY, self.now()) {
            Cached::Missing => None,
            Cached::Usable(context) => Some(context),
            Cached::RenewalDue(context) => {
                self.begin(state, Some(Arc::clone(&context)), version);
                Some(context)
            }
        }
    }

    /// Forgets a context that the service does not know any more.
    pub(crate) fn forget(&self, context: &SecurityContext) {
        self.state().cache.forget(KEY, context);
    }

    /// Ends the conversation, and tells the backend so, as far as it listens. The next exchange
    /// begins a new one.
    pub(crate) fn end(self: &Arc<Self>, farewells: &mut JoinSet<()>) {
        let (contexts, version) = {
            let mut state = self.state();
            let contexts = state.cache.drain(self.now());
            (contexts, state.version)
        };
        for (_, context) in contexts {
            let ended = Arc::clone(self);
            farewells.spawn(async move { ended.handshaker.cancel(version, &context).await });
        }
    }

    /// The present, as the endpoint has it.
    fn now(&self) -> jiff::Timestamp {
        let endpoint = &self.handshaker.endpoint.endpoint;
        endpoint.clock(jiff::Timestamp::now())
    }

    fn breaker(&self, version: SoapVersion) -> &Breaker<Arc<Failed>> {
        let [first, second] = &self.breakers;
        match version {
            SoapVersion::V11 => first,
            SoapVersion::V12 => second,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a handshake, unless one is under way or failed a moment ago: for a new context, or to
    /// renew one.
    fn begin(
        self: &Arc<Self>,
        state: &mut State,
        renewed: Option<Arc<SecurityContext>>,
        version: SoapVersion,
    ) -> watch::Receiver<Option<Outcome>> {
        let now = Instant::now().into_std();
        // A sender that is gone without a word was dropped with its task.
        let running = state.under_way.as_ref();
        let running = running.filter(|running| running.has_changed().is_ok());
        let backend = match running {
            Some(_) => Ok(()),
            None => {
                let token = self.handshaker.may_have_token();
                token.and_then(|()| self.breaker(version).enter(now))
            }
        };
        if let Err(failed) = backend.and_then(|()| self.securing.enter(now)) {
            return watch::channel(Some(Err(failed))).1;
        }
        if let Some(running) = running {
            return running.clone();
        }
        state.version = version;
        let (tell, outcome) = watch::channel(None);
        state.under_way = Some(outcome.clone());
        let conversation = Arc::clone(self);
        self.background.spawn(async move {
            let outcome = conversation.shake_hands(renewed, version).await;
            tell.send_replace(Some(outcome));
        });
        outcome
    }

    /// Establishes a context and puts it into use.
    async fn shake_hands(
        &self,
        renewed: Option<Arc<SecurityContext>>,
        version: SoapVersion,
    ) -> Outcome {
        let started = Instant::now();
        let handshaker = &self.handshaker;
        let mut token = handshaker.token(renewed.as_deref()).await;
        let follows = renewed.is_some();
        let followed = self.state().followed(renewed, &token, self.now());
        let renewed = match followed {
            ControlFlow::Continue(renewed) => renewed,
            ControlFlow::Break(context) => {
                tracing::debug!(
                    route = handshaker.route,
                    context = context.identifier,
                    expires = %context.expires,
                    "no assertion ends later than the context, which is not renewed yet"
                );
                return Ok(context);
            }
        };
        // A later assertion was asked for. To begin anew, the one at hand is enough.
        if follows && renewed.is_none() && token.is_err() {
            token = handshaker.token(None).await;
        }
        let mut shown = None;
        let (granted, alone) = match token {
            Ok(token) => {
                shown = token;
                self.granted(renewed, version, &mut shown).await
            }
            Err(failed) => (Err(failed), None),
        };
        let now = self.now();
        let breaker = self.breaker(version);
        let mut state = self.state();
        state.under_way = None;
        handshaker
            .metrics
            .handshake(granted.is_ok(), started.elapsed());
        let outcome = match granted {
            Ok(context) => {
                tracing::info!(
                    route = handshaker.route,
                    context = context.identifier,
                    expires = %context.expires,
                    took = ?started.elapsed(),
                    "the conversation with the backend has a context"
                );
                breaker.succeeded();
                self.securing.succeeded();
                Ok(state.cache.put(KEY, context, now))
            }
            Err(failed) => {
                tracing::warn!(
                    route = handshaker.route,
                    reason = failed.name(),
                    detail = %Beginning(&failed),
                    "no conversation with the backend"
                );
                let now = Instant::now().into_std();
                handshaker.doubt(&shown, &failed, || state.doubts.may_ask(now));
                let failed = Arc::new(failed);
                // What we lack ourselves says nothing about the peer, nor does a token service.
                match &*failed {
                    Failed::Unsecured(_) => self.securing.failed(Arc::clone(&failed), now),
                    // The token service has pauses of its own.
                    Failed::Busy | Failed::Token(_) => {}
                    _ => {
                        breaker.failed(Arc::clone(&failed), now);
                        self.securing.succeeded();
                    }
                }
                Err(failed)
            }
        };
        // Exchanges go on when the context is in its place.
        drop(alone);
        outcome
    }

    /// A renewed context, or a new one. In the end `shown` is the assertion that the last request
    /// has.
    async fn granted(
        &self,
        renewed: Option<Arc<SecurityContext>>,
        version: SoapVersion,
        shown: &mut Shown,
    ) -> (Result<SecurityContext, Failed>, Option<Alone>) {
        let handshaker = &self.handshaker;
        let conversation = handshaker.endpoint.endpoint.conversation();
        let renews = conversation.is_some_and(|it| it.has(Operation::Renew));
        if let Some(context) = renewed.filter(|_| renews) {
            match self.renew(&context, version, shown.clone()).await {
                Ok(Renewed::Done(context, alone)) => return (Ok(context), Some(alone)),
                Ok(Renewed::Unsent) => {}
                Ok(Renewed::Refused) => {
                    // One for one use was shown already.
                    if shown.as_ref().is_some_and(|it| it.assertion.once) {
                        *shown = match handshaker.token(None).await {
                            Ok(another) => another,
                            Err(failed) => return (Err(failed), None),
                        };
                    }
                }
                Err(failed) => return (Err(failed), None),
            }
        }
        let granted = handshaker.ask(version, shown.clone(), None).await;
        (granted, None)
    }

    /// Renews a context while no exchange uses it, and keeps new ones waiting until it is in its
    /// place. Where there is no such moment, or the service does not renew, a new context has to
    /// do, and exchanges go on with the old one until it is there.
    ///
    /// # Errors
    ///
    /// The request cannot be made now. One for a new context would lack the same.
    async fn renew(
        &self,
        context: &Arc<SecurityContext>,
        version: SoapVersion,
        token: Shown,
    ) -> Result<Renewed, Failed> {
        let handshaker = &self.handshaker;
        // It may wait for the KDC, and exchanges do not wait with it.
        let renewal = handshaker.begin_renewal(context).await?;
        let alone = Arc::clone(&self.exchanges).write_owned();
        let Ok(alone) = tokio::time::timeout(QUIET, alone).await else {
            return Ok(Renewed::Unsent);
        };
        let renewal = handshaker.ask(version, token, Some(renewal));
        let renewal = tokio::time::timeout(RENEWAL, renewal);
        match renewal.await {
            Ok(Ok(renewed)) => Ok(Renewed::Done(renewed, alone)),
            Ok(Err(failed @ Failed::Unsecured(_))) => Err(failed),
            Ok(Err(failed)) => {
                tracing::info!(
                    route = handshaker.route,
                    detail = %Beginning(&failed),
                    "the backend does not renew its context; a new one is asked for"
                );
                Ok(Renewed::Refused)
            }
            Err(_) => {
                tracing::info!(
                    route = handshaker.route,
                    after = ?RENEWAL,
                    "the backend has not renewed its context in time; a new one is asked for"
                );
                Ok(Renewed::Refused)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use soapstone::crypto::SymmetricKey;
    use soapstone::wss::{ContextOwner, ConversationVersion};
    use soapstone_testkit::at;

    use super::*;
    use crate::issued::testing::granted;

    /// For ten minutes.
    fn context() -> SecurityContext {
        SecurityContext {
            version: ConversationVersion::V13,
            identifier: "urn:one".to_owned(),
            instance: None,
            secret: SymmetricKey::generate(32).expect("a key"),
            created: at(0),
            expires: at(600),
            owner: ContextOwner::Anonymous,
        }
    }

    /// An assertion that ends at that second.
    fn shown(second: i64) -> Result<Shown, Failed> {
        Ok(Some(granted(at(second))))
    }

    /// The service lost it while the token service was asked.
    #[test]
    fn a_context_that_was_forgotten_meanwhile_is_neither_used_nor_renewed() {
        for token in [shown(600), shown(700), Ok(None), Err(Failed::Unfinished)] {
            let mut state = State::default();
            let context = state.cache.put(KEY, context(), at(0));
            state.cache.forget(KEY, &context);
            let followed = state.followed(Some(context), &token, at(550));
            assert!(matches!(followed, ControlFlow::Continue(None)), "{token:?}");
        }
    }

    #[test]
    fn a_context_is_followed_where_a_later_assertion_is_there() {
        for (token, is_followed) in [
            (shown(600), false),
            (shown(601), true),
            (Ok(None), true),
            (Err(Failed::Unfinished), false),
        ] {
            let mut state = State::default();
            let context = state.cache.put(KEY, context(), at(0));
            let followed = state.followed(Some(context), &token, at(550));
            assert_eq!(followed.is_continue(), is_followed, "{token:?}");
            let (ControlFlow::Continue(Some(context)) | ControlFlow::Break(context)) = followed
            else {
                panic!("the context is gone: {token:?}");
            };
            assert_eq!(context.identifier, "urn:one");
        }
    }

    /// How often a context is to be followed in each second of its life, with that assertion.
    fn times(token: &Result<Shown, Failed>) -> usize {
        let mut state = State::default();
        state.cache.put(KEY, context(), at(0));
        let due = (0..600).filter(|second| match state.cache.find(KEY, at(*second)) {
            Cached::RenewalDue(context) => {
                let followed = state.followed(Some(context), token, at(*second));
                assert!(followed.is_break(), "{token:?}");
                true
            }
            _ => false,
        });
        due.count()
    }

    #[test]
    fn a_token_service_without_a_later_assertion_is_asked_once_for_a_context() {
        assert_eq!(times(&shown(600)), 1);
        // One that fails is asked again each half minute of the last tenth.
        assert_eq!(times(&Err(Failed::Unfinished)), 2);
    }
}
