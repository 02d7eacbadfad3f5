//! The assertions that one endpoint shows to its backends: kept until they end, and asked for again
//! before that.
//!
//! ```text
//! request ─▶ assertion at hand? ── yes ─▶ used; if it ends soon, the next one is asked for
//!                               └─ no ──▶ asked for (one question at a time for each user;
//!                                         the others wait) ─▶ used
//! ```
//!
//! They are for one audience. One that is for a user is kept by all that the user's own assertion
//! is, so that nobody else gets it, and no longer than that assertion holds. One with `OneTimeUse`
//! is never kept, nor is one for a user whose assertion has `OneTimeUse`.
//!
//! While the token service is away, requests go on with what is at hand. After a question that
//! failed none is asked for a moment: of the service, if it cannot be reached; else of the user,
//! whose assertion may be to blame. Then one question tries, and the others wait for its outcome.
//!
//! A backend that seems to refuse the assertion about ourselves takes it from no other backend, and
//! not from itself: what it says may be wrong or forged. Another assertion is asked for beside it,
//! at the pauses of `conversation/doubts.rs`, and takes its place when it is there.
//!
//! Where the file says so, one about ourselves is renewed, and those that are kept are cancelled
//! when the gateway ends.
//!
//! What this side could not secure says nothing of either: its KDC may be away. That has a pause of
//! its own, for all users. Then one question tries, and one request a second waits for it at most.
//!
//! The rule kept here: an assertion leaves this place for the request that it was asked for, or for
//! another one of the same user.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use soapstone::crypto::{DigestAlgorithm, digest};
use soapstone::endpoint::user_of;
use soapstone::wss::SecureError;
use soapstone::xml::{Buffers, Limits};
use soapstone_store::Breaker;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::asking::TokenAsker;
use super::entries::{Entries, Entry, Granted, Outcome, TRIAL, User, key_of};
use super::failed::Failed;
use crate::observe::log::Beginning;
use crate::scheduling::background::Background;
use crate::scheduling::endpoint::OutboundEndpoint;

/// The assertions of one endpoint.
#[derive(Debug)]
pub(crate) struct IssuedTokens {
    asker: TokenAsker,
    background: Arc<Background>,
    state: Mutex<Entries>,
    /// A permit for each question that may be under way.
    questions: Arc<Semaphore>,
    /// In the way to the token service.
    breaker: Breaker<Arc<Failed>>,
    /// In the way to what this side secures questions with: a KDC, or what holds the key.
    securing: Breaker<Arc<Failed>>,
}

/// What there is for a request.
enum Found {
    Granted(Arc<Granted>),
    /// A question is under way.
    Awaited(watch::Receiver<Option<Outcome>>),
    /// The request asks for itself.
    Alone,
}

/// Most questions at once. Each has a message and a connection, whether or not its client still
/// waits.
const MOST_QUESTIONS: usize = 64;

/// Largest assertion of a user that a token service is shown.
const LARGEST_USER: usize = 256 << 10;

impl IssuedTokens {
    /// None as yet. Questions are asked in the background.
    pub(crate) fn new(asker: TokenAsker, background: Arc<Background>) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(Entries::new(asker.requests.capacity())),
            questions: Arc::new(Semaphore::new(MOST_QUESTIONS)),
            asker,
            background,
            breaker: Breaker::new(TRIAL),
            securing: Breaker::new(TRIAL),
        })
    }

    /// The endpoint that faces the token service.
    pub(crate) fn endpoint(&self) -> &Arc<OutboundEndpoint> {
        &self.asker.endpoint
    }

    /// The id of one of them, as logs and the audit trail have it.
    pub(crate) fn told_id(&self, granted: &Granted) -> String {
        self.asker.requests.told_id(&granted.assertion.token)
    }

    /// Whether each is for the user whose assertion a plain request brings.
    pub(crate) fn are_for_users(&self) -> bool {
        self.asker.requests.are_for_users()
    }

    /// The user of a plain request, where assertions are for users.
    ///
    /// # Errors
    ///
    /// The request brings none, several, or one that has ended or is too large.
    pub(crate) fn user_of(
        &self,
        octets: &[u8],
        limits: &Limits,
        buffers: &mut Buffers,
    ) -> Result<Option<Arc<User>>, SecureError> {
        if !self.are_for_users() {
            return Ok(None);
        }
        let (_, assertion) = user_of(octets.to_vec(), limits, buffers)?;
        let unfit = |problem| SecureError::AssertionUnfit { problem };
        let size = assertion.written().len();
        if size > LARGEST_USER {
            let problem = format!("expected at most {LARGEST_USER} bytes, found {size}");
            return Err(unfit(problem));
        }
        if let Some(ended) = assertion.ends().filter(|end| *end <= self.now()) {
            return Err(unfit(format!("it ended at {ended}")));
        }
        let key = digest(DigestAlgorithm::Sha256, assertion.written());
        let key = key.ok().and_then(|key| key.as_ref().try_into().ok());
        Ok(Some(Arc::new(User {
            key: key.ok_or(SecureError::AssertionMissing)?,
            assertion: Arc::new(assertion),
        })))
    }

    /// The assertion to use now, if it is there. Where it ends soon, the next one is asked for
    /// meanwhile.
    pub(crate) fn at_hand(self: &Arc<Self>, user: Option<&Arc<User>>) -> Option<Arc<Granted>> {
        self.usable(&mut self.state(), user)
    }

    /// The assertion to use now; a question for it, where there is none.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub(crate) async fn obtain(
        self: &Arc<Self>,
        user: Option<Arc<User>>,
    ) -> Result<Arc<Granted>, Arc<Failed>> {
        tokio::time::timeout(self.patience(), self.obtained(user))
            .await
            .unwrap_or_else(|_| Err(Arc::new(Failed::Unfinished)))
    }

    /// The longest that [`Self::obtain`] waits.
    pub(crate) fn patience(&self) -> Duration {
        self.asker.errand.patience()
    }

    /// An assertion about ourselves that ends after that moment, asked for where the one at hand
    /// does not. The token service may give one that ends before.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub(crate) async fn obtain_beyond(
        self: &Arc<Self>,
        end: Timestamp,
    ) -> Result<Arc<Granted>, Arc<Failed>> {
        let found = {
            let mut state = self.state();
            match self.usable(&mut state, None) {
                Some(granted) if granted.assertion.ends > end => Found::Granted(granted),
                _ => self.lacking(&mut state, None),
            }
        };
        tokio::time::timeout(self.patience(), self.awaited(found, None))
            .await
            .unwrap_or_else(|_| Err(Arc::new(Failed::Unfinished)))
    }

    /// Asks for another assertion about ourselves than that one, which a backend seems to refuse.
    /// It stays in use until another one is there. Nothing is asked where it is not at hand any
    /// more, is being followed already, or no question may be asked now: then `may_ask` is not
    /// called.
    pub(crate) fn ask_for_another(
        self: &Arc<Self>,
        doubted: &Arc<Granted>,
        may_ask: impl FnOnce() -> bool,
    ) {
        let now = self.now();
        let mut state = self.state();
        let entry = state.get(&None);
        let entry = entry.filter(|entry| {
            let granted = entry.granted.as_ref();
            granted.is_some_and(|it| Arc::ptr_eq(it, doubted) && it.assertion.ends > now)
        });
        let asks = |entry: &Entry| entry.question().is_none() && self.may_begin(entry);
        if !entry.is_some_and(asks) || !may_ask() {
            return;
        }
        tracing::info!(
            route = self.asker.route,
            assertion = %Beginning(&self.told_id(doubted)),
            "a backend seems to refuse the assertion; another one is asked for"
        );
        // The same with a later end would be refused as well.
        doubted.is_renewed_no_more.store(true, Ordering::Release);
        self.begin(&mut state, None);
    }

    /// Whether one about ourselves is at hand, or may be asked for now.
    ///
    /// # Errors
    ///
    /// What the last question failed of, in the pause after it.
    pub(crate) fn not_pausing(&self) -> Result<(), Arc<Failed>> {
        let (present, now) = (self.now(), Instant::now().into_std());
        let state = self.state();
        let entry = state.get(&None);
        let is_at_hand = |entry: &Entry| {
            let granted = entry.granted.as_ref();
            granted.is_some_and(|it| it.assertion.ends > present) || entry.question().is_some()
        };
        if entry.is_some_and(is_at_hand) {
            return Ok(());
        }
        let pausing = entry.and_then(|entry| entry.breaker.pausing(now));
        let pausing = pausing.or_else(|| self.breaker.pausing(now));
        let pausing = pausing.or_else(|| self.securing.pausing(now));
        pausing.map_or(Ok(()), Err)
    }

    async fn obtained(
        self: &Arc<Self>,
        user: Option<Arc<User>>,
    ) -> Result<Arc<Granted>, Arc<Failed>> {
        let found = self.find(user.as_ref());
        self.awaited(found, user).await
    }

    async fn awaited(
        &self,
        found: Found,
        user: Option<Arc<User>>,
    ) -> Result<Arc<Granted>, Arc<Failed>> {
        let mut awaited = match found {
            Found::Granted(granted) => return Ok(granted),
            Found::Alone => return self.question(user).await,
            Found::Awaited(awaited) => awaited,
        };
        let granted = match awaited.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(outcome)) => outcome.clone()?,
            _ => return Err(Arc::new(Failed::Unfinished)),
        };
        let is_another_ones =
            granted.assertion.once && granted.is_taken.swap(true, Ordering::AcqRel);
        match is_another_ones {
            true => self.question(user).await,
            false => Ok(granted),
        }
    }

    fn find(self: &Arc<Self>, user: Option<&Arc<User>>) -> Found {
        let mut state = self.state();
        if let Some(granted) = self.usable(&mut state, user) {
            return Found::Granted(granted);
        }
        self.lacking(&mut state, user)
    }

    /// What there is for a request that the assertion at hand is none for.
    fn lacking(self: &Arc<Self>, state: &mut Entries, user: Option<&Arc<User>>) -> Found {
        let is_once = user.is_some_and(|user| user.asks_each_time());
        let entry = state.get(&key_of(user));
        match is_once || entry.is_some_and(|entry| entry.asks_each_time) {
            true => Found::Alone,
            false => Found::Awaited(self.begin(state, user)),
        }
    }

    fn usable(
        self: &Arc<Self>,
        state: &mut Entries,
        user: Option<&Arc<User>>,
    ) -> Option<Arc<Granted>> {
        let now = self.now();
        let entry = state.get_mut(&key_of(user))?;
        let granted = entry.granted.clone()?;
        if granted.assertion.ends <= now {
            entry.granted = None;
            return None;
        }
        if entry.renew_at <= now {
            self.begin(state, user);
        }
        Some(granted)
    }

    /// Begins a question for a user, unless one is under way or failed a moment ago.
    fn begin(
        self: &Arc<Self>,
        state: &mut Entries,
        user: Option<&Arc<User>>,
    ) -> watch::Receiver<Option<Outcome>> {
        let told = |failed| watch::channel(Some(Err(failed))).1;
        let Some(entry) = state.place(key_of(user), self.now()) else {
            return told(Arc::new(Failed::Busy));
        };
        if let Some(running) = entry.question() {
            let entered = self.securing.enter(Instant::now().into_std());
            return entered.map_or_else(told, |()| running.clone());
        }
        let permit = match self.may_ask(Some(entry)) {
            Ok(permit) => permit,
            Err(failed) => return told(failed),
        };
        let (tell, outcome) = watch::channel(None);
        entry.under_way = Some(outcome.clone());
        let (tokens, user) = (Arc::clone(self), user.cloned());
        self.background.spawn(async move {
            let outcome = tokens.asked(user, permit).await;
            tell.send_replace(Some(outcome));
        });
        outcome
    }

    /// A question of a request that needs an assertion of its own.
    async fn question(&self, user: Option<Arc<User>>) -> Outcome {
        let permit = self.may_ask(self.state().get(&key_of(user.as_ref())))?;
        let granted = self.asked(user, permit).await?;
        granted.is_taken.store(true, Ordering::Release);
        Ok(granted)
    }

    /// Whether a question for the user with this entry would be asked now. Nothing is taken for it.
    fn may_begin(&self, entry: &Entry) -> bool {
        let now = Instant::now().into_std();
        let pausing = entry.breaker.pausing(now);
        let pausing = pausing.or_else(|| self.breaker.pausing(now));
        let pausing = pausing.or_else(|| self.securing.pausing(now));
        pausing.is_none() && self.questions.available_permits() > 0
    }

    /// Whether to ask now for the user with this entry.
    fn may_ask(&self, entry: Option<&Entry>) -> Result<OwnedSemaphorePermit, Arc<Failed>> {
        let permit = Arc::clone(&self.questions).try_acquire_owned();
        let permit = permit.map_err(|_| Arc::new(Failed::Busy))?;
        let now = Instant::now().into_std();
        entry.map_or(Ok(()), |entry| entry.breaker.enter(now))?;
        self.breaker.enter(now)?;
        self.securing.enter(now)?;
        Ok(permit)
    }

    /// Asks, and puts what is granted into use. The permit is for the time until then.
    async fn asked(&self, user: Option<Arc<User>>, _permit: OwnedSemaphorePermit) -> Outcome {
        let started = Instant::now();
        let asker = &self.asker;
        let assertion = user.as_ref().map(|user| Arc::clone(&user.assertion));
        let patience = asker.errand.patience();
        let former = self.former(user.as_ref());
        let asking = asker.ask(assertion, former.clone());
        let answered = tokio::time::timeout(patience, asking).await;
        let answered = answered.unwrap_or(Err(Failed::Unfinished));
        if let (Some(former), Err(_)) = (&former, &answered) {
            // A renewal that failed once is not tried again: the next one is asked for anew.
            former.is_renewed_no_more.store(true, Ordering::Release);
        }
        asker
            .metrics
            .token_request(answered.is_ok(), started.elapsed());
        let mut state = self.state();
        let asks_each_time = user.as_ref().is_some_and(|user| user.asks_each_time());
        let kept = match asks_each_time {
            true => None,
            false => state.place(key_of(user.as_ref()), self.now()),
        };
        let mut forgotten = Entry::new();
        let entry = kept.unwrap_or(&mut forgotten);
        entry.under_way = None;
        match answered {
            Ok(assertion) => {
                tracing::info!(
                    route = asker.route,
                    issuer = %Beginning(&assertion.issuer),
                    assertion = %Beginning(&asker.requests.told_id(&assertion.token)),
                    ends = %assertion.ends,
                    once = assertion.once,
                    took = ?started.elapsed(),
                    "the token service has issued an assertion"
                );
                self.breaker.succeeded();
                self.securing.succeeded();
                Ok(entry.keep(assertion, user.as_deref(), self.now()))
            }
            Err(failed) => {
                let at_hand = entry.granted.as_ref().map(|granted| granted.assertion.ends);
                tracing::warn!(
                    route = asker.route,
                    reason = failed.name(),
                    detail = %Beginning(&failed),
                    at_hand_until = at_hand.map(tracing::field::display),
                    "no assertion from the token service"
                );
                let failed = Arc::new(failed);
                let now = Instant::now().into_std();
                if failed.is_an_answer() {
                    self.breaker.succeeded();
                    self.securing.succeeded();
                }
                if failed.is_of_the_service() {
                    self.breaker.failed(Arc::clone(&failed), now);
                    self.securing.succeeded();
                } else if let Failed::Unsecured(_) = &*failed {
                    self.securing.failed(Arc::clone(&failed), now);
                } else if !failed.is_busy() {
                    // That we have too much to do ourselves says nothing about anybody else.
                    entry.breaker.failed(Arc::clone(&failed), now);
                }
                Err(failed)
            }
        }
    }

    /// The assertion to renew, where that is asked for and there is one.
    fn former(&self, user: Option<&Arc<User>>) -> Option<Arc<Granted>> {
        if user.is_some() || !self.asker.requests.renew() {
            return None;
        }
        let now = self.now();
        let state = self.state();
        let granted = state.get(&key_of(user))?.granted.clone();
        granted.filter(|granted| {
            granted.assertion.ends > now && !granted.is_renewed_no_more.load(Ordering::Acquire)
        })
    }

    /// Ends all assertions that are kept, and tells the token service so, where the file says it
    /// and as far as it listens. The next request asks for another one.
    pub(crate) fn end(self: &Arc<Self>, farewells: &mut JoinSet<()>) {
        if !self.asker.requests.cancel() {
            return;
        }
        let kept = self.state().take_all(self.now());
        for granted in kept {
            let tokens = Arc::clone(self);
            farewells.spawn(async move {
                // As many at once as there may be questions.
                let permit = Arc::clone(&tokens.questions).acquire_owned().await;
                if permit.is_ok() {
                    tokens.asker.cancel(granted).await;
                }
            });
        }
    }

    /// The present, as the endpoint has it.
    fn now(&self) -> Timestamp {
        self.asker.endpoint.endpoint.clock(Timestamp::now())
    }

    fn state(&self) -> MutexGuard<'_, Entries> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
