//! Whether a server drops keys to make room. It would drop replay marks, and let their messages in
//! again.
//!
//! The policy of a server can change at any time, so it is looked at again and again, in the round
//! trip of a write. A server that has dropped keys is refused for as long as one of them could have
//! been the mark of a message that is still good, whatever its policy is then.
//!
//! The rule kept here: what is not known to be kept is not relied on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use redis::{Pipeline, Value};

use super::failure::Failure;

/// For how long one look is good. A look takes a server some 10 µs, so that it has half a
/// thousandth of its time for the looks of each node.
const GOOD_FOR: Duration = Duration::from_millis(20);

/// The shortest time for which a server is refused after it has dropped keys: the life of a mark
/// with the `ttl` and `skew` that are used where none are configured.
const SHORTEST_REFUSAL: Duration = Duration::from_secs(360);

/// The number of answers to a look.
pub(super) const ANSWERS: usize = 2;

/// The longest life of a mark so far, in milliseconds: of all servers of a store.
#[derive(Clone, Debug, Default)]
pub(crate) struct LongestLife(Arc<AtomicU64>);

impl LongestLife {
    /// Notes the life of a mark, in milliseconds.
    pub(crate) fn note(&self, life: i64) {
        let life = u64::try_from(life).unwrap_or(0);
        self.0.fetch_max(life, Ordering::Relaxed);
    }

    fn refusal(&self) -> Duration {
        let longest = Duration::from_millis(self.0.load(Ordering::Relaxed));
        longest.max(SHORTEST_REFUSAL)
    }
}

/// What is known of one server.
#[derive(Debug)]
pub(super) struct Eviction {
    life: LongestLife,
    found: Mutex<Found>,
}

#[derive(Clone, Debug, Default)]
struct Found {
    /// When it was last looked at.
    looked: Option<Instant>,
    /// Whether it may be relied on since.
    good: bool,
    /// How many keys it has dropped since it was started.
    dropped: Option<u64>,
    /// Until when it is refused because of the keys that it dropped, and how many these are.
    lost: Option<(Instant, u64)>,
}

/// Whether to look before a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// No: the last look was good, and a moment ago.
    No,
    /// In the same round trip.
    Beside,
    /// Before anything is written: the last look was not good.
    Before,
}

impl Eviction {
    pub(super) fn new(life: LongestLife) -> Self {
        Self {
            life,
            found: Mutex::default(),
        }
    }

    /// Goes on with what is known of the server already.
    pub(super) fn know(&self, other: &Self) {
        // A store that is shared by endpoints is its own predecessor.
        if std::ptr::eq(self, other) {
            return;
        }
        let life = other.life.0.load(Ordering::Relaxed);
        self.life.0.fetch_max(life, Ordering::Relaxed);
        let known = other.found().clone();
        let mut found = self.found();
        if found.looked.is_none() {
            *found = known;
        }
    }

    /// Whether to look before a write.
    pub(super) fn look(&self, now: Instant) -> Look {
        let found = self.found();
        match found.looked {
            Some(_) if !found.good => Look::Before,
            Some(looked) if now.saturating_duration_since(looked) < GOOD_FOR => Look::No,
            _ => Look::Beside,
        }
    }

    /// Adds the questions of a look.
    pub(super) fn ask(questions: &mut Pipeline) {
        questions.cmd("INFO").arg("memory");
        questions.cmd("INFO").arg("stats");
    }

    /// Learns from the answers to a look.
    ///
    /// # Errors
    ///
    /// Why the server may not be relied on.
    pub(super) fn learn(&self, memory: &Value, stats: &Value, now: Instant) -> Result<(), Failure> {
        let memory = text("INFO memory", memory)?;
        let stats = text("INFO stats", stats)?;
        let mut found = self.found();
        found.looked = Some(now);
        found.good = false;
        if let Some(dropped) =
            field(&stats, "evicted_keys").and_then(|text| text.parse::<u64>().ok())
        {
            // A server that was started again counts anew.
            let new = found
                .dropped
                .map_or(0, |before| dropped.saturating_sub(before));
            found.dropped = Some(dropped);
            if new > 0 {
                let before = found.lost.map_or(0, |(_, lost)| lost);
                found.lost = Some((now + self.life.refusal(), before + new));
            }
        }
        let bounded = field(&memory, "maxmemory").is_some_and(|bound| bound != "0");
        if let Some(policy) = field(&memory, "maxmemory_policy")
            && bounded
            && policy != "noeviction"
        {
            return Err(Failure::Refused(format!(
                "the server drops keys to make room (maxmemory-policy {policy}): it must be noeviction"
            )));
        }
        if let Some((until, lost)) = found.lost {
            let left = until.saturating_duration_since(now);
            if !left.is_zero() {
                return Err(Failure::Refused(format!(
                    "the server has dropped {lost} keys to make room, replay marks perhaps: it is not used for another {} s",
                    left.as_secs() + 1
                )));
            }
            found.lost = None;
        }
        found.good = true;
        Ok(())
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn text(question: &str, answer: &Value) -> Result<String, Failure> {
    match answer {
        Value::BulkString(text) => Ok(String::from_utf8_lossy(text).into_owned()),
        _ => Err(Failure::unexpected(question, answer)),
    }
}

fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learn(eviction: &Eviction, policy: &str, dropped: u64, now: Instant) -> Result<(), String> {
        let text = |text: String| Value::BulkString(text.into_bytes());
        let memory = text(format!(
            "# Memory\r\nmaxmemory:100\r\nmaxmemory_policy:{policy}\r\n"
        ));
        let stats = text(format!("# Stats\r\nevicted_keys:{dropped}\r\n"));
        let learned = eviction.learn(&memory, &stats, now);
        learned.map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_look_is_good_for_a_moment_and_a_bad_one_for_none() {
        let (eviction, start) = (Eviction::new(LongestLife::default()), Instant::now());
        assert_eq!(eviction.look(start), Look::Beside);
        assert_eq!(learn(&eviction, "noeviction", 0, start), Ok(()));
        assert_eq!(eviction.look(start + GOOD_FOR / 2), Look::No);
        assert_eq!(eviction.look(start + GOOD_FOR), Look::Beside);
        let problem = "the server drops keys to make room (maxmemory-policy allkeys-lru): it must be noeviction";
        let refused = learn(&eviction, "allkeys-lru", 0, start);
        assert_eq!(refused, Err(problem.to_owned()));
        assert_eq!(eviction.look(start), Look::Before);
        // It has dropped nothing.
        assert_eq!(learn(&eviction, "noeviction", 0, start), Ok(()));
        assert_eq!(eviction.look(start), Look::No);
    }

    #[test]
    fn a_server_that_has_dropped_keys_is_refused_while_one_of_them_could_have_been_a_good_mark() {
        let (eviction, start) = (Eviction::new(LongestLife::default()), Instant::now());
        let problem = |lost: u64, left: u64| {
            Err(format!(
                "the server has dropped {lost} keys to make room, replay marks perhaps: it is not used for another {left} s"
            ))
        };
        // What was dropped before is not known to have been ours.
        assert_eq!(learn(&eviction, "noeviction", 7, start), Ok(()));
        assert_eq!(
            learn(&eviction, "noeviction", 9, start),
            problem(2, SHORTEST_REFUSAL.as_secs() + 1)
        );
        let later = start + Duration::from_secs(300);
        assert_eq!(learn(&eviction, "noeviction", 9, later), problem(2, 61));
        let later = start + SHORTEST_REFUSAL;
        assert_eq!(learn(&eviction, "noeviction", 9, later), Ok(()));
        // Started again, it counts from none.
        assert_eq!(learn(&eviction, "noeviction", 0, later), Ok(()));
        // The longest life of a mark counts, and drops add up.
        eviction.life.note(1_000_000);
        assert_eq!(learn(&eviction, "noeviction", 1, later), problem(1, 1001));
        assert_eq!(learn(&eviction, "noeviction", 3, later), problem(3, 1001));
    }
}
