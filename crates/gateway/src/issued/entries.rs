//! What is kept of a token service's assertions: one entry for each user, with the assertion, the
//! question that is under way, and what the last one failed of.
//!
//! The rule kept here: an assertion ends with that of the user whom it was made for, and there are
//! never more entries than the operator allows.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use soapstone::wss::{AssertionToken, IssuedAssertion};
use soapstone_store::Breaker;
use tokio::sync::watch;

use super::failed::Failed;

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
    /// Whether a renewal failed.
    pub(super) is_renewed_no_more: AtomicBool,
}

/// One entry for each user, as many as there are places for.
#[derive(Debug)]
pub(super) struct Entries {
    entries: HashMap<Key, Entry>,
    capacity: usize,
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

/// Longest that others are turned away while one question tries: as long as the longest pause.
pub(super) const TRIAL: Duration = Duration::from_secs(1);

impl Entries {
    /// None, and that many places.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            entries: HashMap::new(),
            capacity,
        }
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Entry> {
        self.entries.get(key)
    }

    pub(super) fn get_mut(&mut self, key: &Key) -> Option<&mut Entry> {
        self.entries.get_mut(key)
    }

    /// The entry of a user, made where there is none. `None` where every place has a question under
    /// way.
    pub(super) fn place(&mut self, key: Key, now: Timestamp) -> Option<&mut Entry> {
        if !self.entries.contains_key(&key) && !self.make_room(now) {
            return None;
        }
        Some(self.entries.entry(key).or_insert_with(Entry::new))
    }

    /// Takes out what is kept and has not ended: nobody gets it any more.
    pub(super) fn take_all(&mut self, now: Timestamp) -> Vec<Arc<Granted>> {
        let kept = self.entries.values_mut();
        let kept = kept.filter_map(|entry| entry.granted.take());
        kept.filter(|granted| granted.assertion.ends > now)
            .collect()
    }

    /// Makes room for one more user: all whose assertions have ended go; else one who has none, or
    /// whose assertion ends first. It only costs a question. `false` where nobody can go.
    fn make_room(&mut self, now: Timestamp) -> bool {
        if self.entries.len() < self.capacity {
            return true;
        }
        self.entries.retain(|_, entry| {
            entry.question().is_some() || entry.end().is_none_or(|end| end > now)
        });
        if self.entries.len() < self.capacity {
            return true;
        }
        let entries = self.entries.iter();
        let idle = entries.filter(|(_, entry)| entry.question().is_none());
        let first = idle.min_by_key(|(_, entry)| entry.end());
        let first = first.map(|(key, _)| *key);
        first.is_some_and(|key| self.entries.remove(&key).is_some())
    }
}

impl Entry {
    pub(super) fn new() -> Self {
        Self {
            granted: None,
            renew_at: Timestamp::MAX,
            asks_each_time: false,
            under_way: None,
            breaker: Breaker::new(TRIAL),
        }
    }

    /// The question that is under way.
    pub(super) fn question(&self) -> Option<&watch::Receiver<Option<Outcome>>> {
        // A sender that is gone without a word was dropped with its task.
        let mut running = self.under_way.iter();
        running.find(|running| running.has_changed().is_ok())
    }

    /// When the assertion at hand ends.
    fn end(&self) -> Option<Timestamp> {
        self.granted.as_ref().map(|granted| granted.assertion.ends)
    }

    /// Puts an assertion into use: for later requests as well, unless it is for one.
    pub(super) fn keep(
        &mut self,
        mut assertion: IssuedAssertion,
        user: Option<&User>,
        now: Timestamp,
    ) -> Arc<Granted> {
        self.breaker.succeeded();
        self.asks_each_time = assertion.once;
        let users_end = user.and_then(|user| user.assertion.ends());
        self.renew_at = match users_end.filter(|end| *end <= assertion.ends) {
            // Then the next one would end no later.
            Some(end) => {
                assertion.ends = end;
                Timestamp::MAX
            }
            None => renewal(assertion.ends, now),
        };
        let is_kept = !assertion.once;
        let granted = Arc::new(Granted {
            assertion,
            is_taken: AtomicBool::new(false),
            is_renewed_no_more: AtomicBool::new(false),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issued::testing::{issued, text};

    fn placed(entries: &mut Entries, key: u8, now: Timestamp) -> &mut Entry {
        entries.place(Some([key; 32]), now).expect("a place")
    }

    #[test]
    fn ended_assertions_make_room_before_anybody_loses_a_place() {
        let mut entries = Entries::new(3);
        let now = Timestamp::now();
        placed(&mut entries, 0, now);
        for (key, end) in [(1, 60), (2, 90)] {
            placed(&mut entries, key, now).keep(issued(end), None, now);
        }
        let later = now + SignedDuration::from_secs(100);
        placed(&mut entries, 3, later);
        let known: Vec<bool> = (0..4)
            .map(|key| entries.get(&Some([key; 32])).is_some())
            .collect();
        assert_eq!(known, [true, false, false, true]);
    }

    #[test]
    fn what_is_kept_ends_with_the_assertion_of_its_user() {
        let now = Timestamp::now();
        let assertion = AssertionToken::parse(text(60)).expect("an assertion");
        let end = assertion.ends().expect("its end");
        let user = User {
            key: [0; 32],
            assertion: Arc::new(assertion),
        };
        let mut entry = Entry::new();
        let granted = entry.keep(issued(600), Some(&user), now);
        assert_eq!(granted.assertion.ends, end);
        // The next one would end no later.
        assert_eq!(entry.renew_at, Timestamp::MAX);
    }
}
