//! What is kept of a token service's assertions: one entry for each user, with the assertion, the
//! question that is under way, and what the last one failed of.
//!
//! The rule kept here: an assertion ends with that of the user whom it was made for.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use soapstone::wss::{AssertionToken, IssuedAssertion};
use soapstone_store::Breaker;
use tokio::sync::watch;

use super::asking::Failed;

/// What a question came to. Everybody who waits for it is told the same.
pub(super) type Outcome = Result<Arc<Granted>, Arc<Failed>>;

/// Whose an assertion is: nobody's in particular, or that of the user whose assertion has this
/// digest.
pub(super) type Key = Option<[u8; 32]>;

/// The user that a request is sent for.
#[derive(Debug)]
pub(crate) struct User {
    pub(super) key: [u8; 32],
    pub(super) assertion: Arc<AssertionToken>,
}

impl User {
    /// Whether the token service is to see the user's assertion with each request.
    pub(super) fn asks_each_time(&self) -> bool {
        self.assertion.is_for_one_use()
    }
}

/// An assertion that was granted.
#[derive(Debug)]
pub(crate) struct Granted {
    pub(crate) assertion: IssuedAssertion,
    /// Whether a request has it, where it is for one.
    pub(super) is_taken: AtomicBool,
}

/// What is known of one user, or of nobody in particular.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) granted: Option<Arc<Granted>>,
    pub(super) renew_at: Timestamp,
    /// Whether the last one was for one use: then requests ask for themselves.
    pub(super) asks_each_time: bool,
    pub(super) under_way: Option<watch::Receiver<Option<Outcome>>>,
    /// In the way to questions for this user.
    pub(super) breaker: Breaker<Arc<Failed>>,
}

/// The last part of an assertion's life, as a divisor, in which the next one is asked for.
const LAST_PART: i64 = 10;

/// Least time before the end at which that begins. A shorter life is halved.
const LEAST_AHEAD: SignedDuration = SignedDuration::from_secs(30);

impl Entry {
    pub(super) fn new() -> Self {
        Self {
            granted: None,
            renew_at: Timestamp::MAX,
            asks_each_time: false,
            under_way: None,
            breaker: Breaker::new(Duration::ZERO),
        }
    }

    /// Puts an assertion into use: for later requests as well, unless it is for one, or was asked
    /// for with one that is.
    pub(super) fn keep(
        &mut self,
        mut assertion: IssuedAssertion,
        user: Option<&User>,
        now: Timestamp,
    ) -> Arc<Granted> {
        self.breaker.succeeded();
        let is_for_one = assertion.once || user.is_some_and(User::asks_each_time);
        self.asks_each_time = is_for_one;
        let users_end = user.and_then(|user| user.assertion.ends());
        self.renew_at = match users_end.filter(|end| *end <= assertion.ends) {
            // Then the next one would end no later.
            Some(end) => {
                assertion.ends = end;
                Timestamp::MAX
            }
            None => renewal(assertion.ends, now),
        };
        let is_kept = !is_for_one;
        let granted = Arc::new(Granted {
            assertion,
            is_taken: AtomicBool::new(false),
        });
        self.granted = is_kept.then(|| Arc::clone(&granted));
        granted
    }
}

/// When the next assertion is asked for.
fn renewal(ends: Timestamp, now: Timestamp) -> Timestamp {
    let life = ends.duration_since(now);
    let part = SignedDuration::from_secs(life.as_secs() / LAST_PART);
    let half = SignedDuration::from_secs(life.as_secs() / 2);
    let ahead = part.max(LEAST_AHEAD.min(half));
    ends.checked_sub(ahead).unwrap_or(now)
}

/// Whose assertion a request needs.
pub(super) fn key_of(user: Option<&Arc<User>>) -> Key {
    user.map(|user| user.key)
}
