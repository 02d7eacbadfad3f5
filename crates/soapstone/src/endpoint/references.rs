//! Assertions that messages name, fetched from the authorities of the file.
//!
//! ```text
//! reference ─ allowed? ─▶ at hand? ── yes ─▶ used
//!                               └─ no ──▶ fetched (one question for each; others wait for it)
//!                                         ─▶ verified ─▶ kept until it ends
//! ```
//!
//! Where nothing is kept, nobody waits for a question of others: its answer is not for them.
//!
//! What is kept is of one endpoint: its issuers have verified it. What could not be had is not
//! asked for again for a moment. An assertion for one use is never kept, and no assertion is where
//! the file says so.
//!
//! The rule kept here: a message decides which of the allowed assertions is asked for, and nothing
//! else. How much is asked, how often, and for how long is bounded by the file.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use soapstone_crypto::{hexadecimal::Digits, random};
use soapstone_wss::{
    AssertionIssuer, AssertionPolicy, AssertionReference, FetchedAssertion, Rejected,
};

use crate::config::{ByReferenceConfig, USUAL_CAPACITY, USUAL_SIZE};

/// How long an authority may take unless the file says otherwise: a client waits meanwhile.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Most questions at once unless the file says otherwise.
const AT_ONCE: u64 = 8;
/// Most questions in a second unless the file says otherwise.
const PER_SECOND: u32 = 20;
/// Most messages that wait for one question: each of them has a thread.
const WAITING_FOR_ONE: usize = 12;
/// Most messages of an endpoint that wait for questions of others.
const WAITING: usize = 16;
/// Most places below one entry at which the assertion of one id is kept: a message may write any
/// place there, and its authority may have the same for all of them.
const PLACES: usize = 4;
/// How long nobody asks again for what could not be had.
const PAUSE: Duration = Duration::from_secs(5);

/// A question to an authority.
#[derive(Debug)]
pub struct AssertionErrand {
    /// The address. Whoever knows it may be taken for the subject.
    pub url: String,
    /// What is asked for, as it is told in logs: without the id.
    pub described: String,
    /// A message of SOAP 1.1 to post; none, where the document of the address is fetched.
    pub message: Option<Vec<u8>>,
    /// How long all of it may take.
    pub patience: Duration,
    /// Most bytes of the answer.
    pub limit: u64,
}

/// Asks authorities: the host's, since nothing here has a socket.
pub trait AssertionFetcher: Send + Sync + fmt::Debug {
    /// Asks, and waits for the whole answer. Nothing but the address is asked, whatever the answer
    /// says.
    ///
    /// # Errors
    /// Why there is no answer.
    fn fetch(&self, errand: AssertionErrand) -> Result<Vec<u8>, String>;
}

/// The assertions elsewhere of one endpoint.
#[derive(Debug)]
pub(super) struct References {
    authorities: Vec<String>,
    patience: Duration,
    limit: u64,
    at_once: usize,
    per_second: u32,
    /// Most of them; with none, failures alone are remembered.
    capacity: usize,
    /// Whether any is kept, so that it is worth to wait for another message's question.
    keeps: bool,
    issuers: Arc<[AssertionIssuer]>,
    /// What any message of the endpoint may have. Each is judged by its own plan again.
    policy: AssertionPolicy,
    fetcher: Option<Arc<dyn AssertionFetcher>>,
    state: Mutex<State>,
    /// Rung when a question has ended.
    ended: Condvar,
}

#[derive(Debug)]
struct State {
    known: HashMap<AssertionReference, Known>,
    under_way: usize,
    /// How many wait for a question of another message.
    waiting: usize,
    /// The number of the last question.
    last: u64,
    /// When the second began in which questions are counted, and how many there were.
    second: (Instant, u32),
}

#[derive(Debug)]
enum Known {
    /// The question of this number, and how many wait for it.
    UnderWay {
        number: u64,
        waiting: usize,
    },
    Held(Arc<FetchedAssertion>),
    Failed {
        again: Instant,
        problem: String,
    },
}

impl References {
    pub(super) fn new(
        config: &ByReferenceConfig,
        issuers: Arc<[AssertionIssuer]>,
        policy: AssertionPolicy,
    ) -> Self {
        let number = |found: u64| usize::try_from(found).unwrap_or(usize::MAX);
        let per_second = config.per_second.map(u32::try_from);
        let capacity = config.capacity.filter(|found| *found > 0);
        let capacity = capacity.unwrap_or(USUAL_CAPACITY);
        Self {
            authorities: config
                .authorities
                .iter()
                .map(|authority| authority.value.clone())
                .collect(),
            patience: config.timeout.unwrap_or(TIMEOUT),
            limit: config.size.unwrap_or(USUAL_SIZE),
            at_once: number(config.at_once.unwrap_or(AT_ONCE)),
            per_second: per_second.map_or(PER_SECOND, |found| found.unwrap_or(u32::MAX)),
            capacity: number(capacity),
            keeps: config.capacity != Some(0),
            issuers,
            policy,
            fetcher: None,
            state: Mutex::new(State {
                known: HashMap::new(),
                under_way: 0,
                waiting: 0,
                last: 0,
                second: (Instant::now(), 0),
            }),
            ended: Condvar::new(),
        }
    }

    /// The same, asked for by the host.
    pub(super) fn fetched_with(mut self, fetcher: Arc<dyn AssertionFetcher>) -> Self {
        self.fetcher = Some(fetcher);
        self
    }

    /// The assertion, if it is at hand. It waits for nothing.
    ///
    /// # Errors
    /// Nobody may ask for it, or it could not be had a moment ago.
    pub(super) fn at_hand(
        &self,
        reference: &AssertionReference,
        now: Timestamp,
    ) -> Result<Option<Arc<FetchedAssertion>>, Rejected> {
        if !self.allows(reference) {
            return Err(unavailable(format!(
                "`authorities` does not name `{}`",
                reference.place()
            )));
        }
        self.state().at_hand(reference, now)
    }

    /// The assertion, which the file allows. It waits for the authority, or for another message's
    /// question to it.
    ///
    /// # Errors
    /// Why it cannot be had.
    pub(super) fn fetch(
        &self,
        reference: &AssertionReference,
        now: Timestamp,
    ) -> Result<Arc<FetchedAssertion>, Rejected> {
        let until = Instant::now() + self.patience + self.patience;
        let mut state = self.state();
        loop {
            if let Some(held) = state.at_hand(reference, now)? {
                return Ok(held);
            }
            let Some(number) = state.begin_waiting(reference)? else {
                self.begin(state, reference)?;
                return self.asked(reference, now);
            };
            let left = until.saturating_duration_since(Instant::now());
            // Another question may end, and this one's place is kept.
            let is_under_way = |state: &mut State| state.is_under_way(reference, number);
            let waited = self.ended.wait_timeout_while(state, left, is_under_way);
            let (woken, end) = waited.unwrap_or_else(PoisonError::into_inner);
            state = woken;
            state.end_waiting(reference, number);
            if end.timed_out() {
                return Err(unavailable("a question for it takes too long".to_owned()));
            }
        }
    }

    /// Whether the file names the place of an assertion: it is an entry, or begins with one that
    /// ends with a slash. Nothing in it leads out of there, however a server reads it.
    fn allows(&self, reference: &AssertionReference) -> bool {
        let path = reference.place();
        let mut authorities = self.authorities.iter();
        authorities.any(|authority| {
            let below = authority
                .ends_with('/')
                .then(|| path.strip_prefix(authority.as_str()))
                .flatten();
            let is_below = |below: &str| {
                !below.contains(['%', ';'])
                    && !below.split('/').any(|step| [".", ".."].contains(&step))
            };
            path == authority || below.is_some_and(is_below)
        })
    }

    /// Whether an entry is the whole place, so that a message could not have written another one
    /// for the same assertion.
    fn is_entry(&self, reference: &AssertionReference) -> bool {
        let mut authorities = self.authorities.iter();
        authorities.any(|authority| authority == reference.place())
    }

    /// Takes the place of a question, if there is room for one. Others wait for it where its answer
    /// may be kept.
    fn begin(
        &self,
        mut state: MutexGuard<'_, State>,
        reference: &AssertionReference,
    ) -> Result<(), Rejected> {
        let now = Instant::now();
        if state.second.0 + Duration::from_secs(1) <= now {
            state.second = (now, 0);
        }
        if state.under_way >= self.at_once {
            return Err(unavailable("too many questions are under way".to_owned()));
        }
        if state.second.1 >= self.per_second {
            return Err(unavailable(
                "too many questions were asked in this second".to_owned(),
            ));
        }
        state.under_way += 1;
        state.second.1 += 1;
        state.last += 1;
        if self.keeps {
            let known = Known::UnderWay {
                number: state.last,
                waiting: 0,
            };
            state.known.insert(reference.clone(), known);
        }
        Ok(())
    }

    /// Asks the authority, and keeps what comes of it.
    fn asked(
        &self,
        reference: &AssertionReference,
        now: Timestamp,
    ) -> Result<Arc<FetchedAssertion>, Rejected> {
        let mut place = Place {
            references: self,
            reference,
            becomes: None,
        };
        let outcome = self.ask(reference, now);
        place.becomes = match &outcome {
            Ok(found) if found.is_for_one_use() || !self.keeps => None,
            Ok(found) => Some(Known::Held(Arc::clone(found))),
            Err(problem) => Some(Known::Failed {
                again: Instant::now() + PAUSE,
                problem: problem.clone(),
            }),
        };
        drop(place);
        outcome.map_err(unavailable)
    }

    fn ask(
        &self,
        reference: &AssertionReference,
        now: Timestamp,
    ) -> Result<Arc<FetchedAssertion>, String> {
        let fetcher = self.fetcher.as_ref();
        let fetcher = fetcher.ok_or("nothing here asks authorities: a gateway does")?;
        let request_id = format!("_{}", Digits(&random::bytes::<16>()));
        let message = FetchedAssertion::request(reference, &request_id, now);
        let answer = fetcher.fetch(AssertionErrand {
            url: reference.location.clone(),
            described: reference.to_string(),
            message,
            patience: self.patience,
            limit: self.limit,
        })?;
        let (issuers, policy) = (&self.issuers, &self.policy);
        FetchedAssertion::read(reference, answer, &request_id, issuers, policy, now)
            .map(Arc::new)
            .map_err(|error| format!("what came is not accepted: {error}"))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing there is left half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// What is kept, unless the last question for it failed a moment ago.
    fn at_hand(
        &self,
        reference: &AssertionReference,
        now: Timestamp,
    ) -> Result<Option<Arc<FetchedAssertion>>, Rejected> {
        match self.known.get(reference) {
            Some(Known::Held(held)) if held.ends() > now => Ok(Some(Arc::clone(held))),
            Some(Known::Failed { again, problem }) if *again > Instant::now() => {
                Err(unavailable(problem.clone()))
            }
            _ => Ok(None),
        }
    }

    /// Waits for the question of another message, if there is one and not too many wait: the
    /// question's number.
    fn begin_waiting(&mut self, reference: &AssertionReference) -> Result<Option<u64>, Rejected> {
        let Some(Known::UnderWay { number, waiting }) = self.known.get_mut(reference) else {
            return Ok(None);
        };
        if *waiting >= WAITING_FOR_ONE || self.waiting >= WAITING {
            return Err(unavailable("too many messages wait for it".to_owned()));
        }
        *waiting += 1;
        self.waiting += 1;
        Ok(Some(*number))
    }

    /// Whether the question of this number has not ended.
    fn is_under_way(&self, reference: &AssertionReference, number: u64) -> bool {
        let known = self.known.get(reference);
        matches!(known, Some(Known::UnderWay { number: found, .. }) if *found == number)
    }

    /// The question may have ended, and another one begun, for which others wait.
    fn end_waiting(&mut self, reference: &AssertionReference, asked: u64) {
        self.waiting -= 1;
        if let Some(Known::UnderWay { number, waiting }) = self.known.get_mut(reference)
            && *number == asked
        {
            *waiting -= 1;
        }
    }

    /// Leaves so many places of one assertion, and the one that was asked last among them. Of the
    /// others those go first at which it could not be had.
    fn bound_places(&mut self, last: &AssertionReference) {
        let others = self.known.iter().filter(|(other, known)| {
            let is_other = (&other.id, other.version) == (&last.id, last.version) && *other != last;
            is_other && !matches!(known, Known::UnderWay { .. })
        });
        let mut others: Vec<_> = others
            .map(|(other, known)| (matches!(known, Known::Failed { .. }), other.clone()))
            .collect();
        others.sort_by_key(|(is_failed, _)| *is_failed);
        for (_, other) in others.iter().skip(PLACES - 1) {
            self.known.remove(other);
        }
    }

    /// Makes room: for what is kept no more first, and then for what ends first.
    fn make_room(&mut self, capacity: usize, now: Instant, present: Timestamp) {
        if self.known.len() <= capacity {
            return;
        }
        self.known.retain(|_, known| match known {
            Known::UnderWay { .. } => true,
            Known::Held(held) => held.ends() > present,
            Known::Failed { again, .. } => *again > now,
        });
        while self.known.len() > capacity {
            let mut first: Option<(&AssertionReference, Timestamp)> = None;
            for (reference, known) in &self.known {
                let end = match known {
                    Known::UnderWay { .. } => continue,
                    Known::Held(held) => held.ends(),
                    Known::Failed { .. } => Timestamp::MIN,
                };
                if first.is_none_or(|(_, earliest)| end < earliest) {
                    first = Some((reference, end));
                }
            }
            let Some(reference) = first.map(|(reference, _)| reference.clone()) else {
                return;
            };
            self.known.remove(&reference);
        }
    }
}

/// The place of a question, which is given back whatever becomes of the question.
struct Place<'r> {
    references: &'r References,
    reference: &'r AssertionReference,
    becomes: Option<Known>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let References {
            capacity, ended, ..
        } = self.references;
        let mut state = self.references.state();
        state.under_way -= 1;
        match self.becomes.take() {
            Some(known) => state.known.insert(self.reference.clone(), known),
            None => state.known.remove(self.reference),
        };
        if !self.references.is_entry(self.reference) {
            state.bound_places(self.reference);
        }
        state.make_room(*capacity, Instant::now(), Timestamp::now());
        drop(state);
        ended.notify_all();
    }
}

fn unavailable(problem: String) -> Rejected {
    Rejected::AssertionUnavailable { problem }
}

#[cfg(test)]
mod waiting_tests;

#[cfg(test)]
mod tests {
    use soapstone_crypto::TrustStore;
    use soapstone_crypto::trust::TrustRules;
    use soapstone_testkit::assertion::{Assertion, ID, ISSUER};
    use soapstone_testkit::keys;
    use soapstone_wss::SamlVersion;

    use super::*;

    /// Whoever knows an id may write places at which its assertion is not.
    #[test]
    fn an_assertion_stays_where_others_of_its_id_could_not_be_had() {
        let at = |place: usize| AssertionReference {
            version: SamlVersion::V20,
            id: ID.to_owned(),
            location: format!("https://idp.example/{place}?ID={ID}"),
        };
        let held = held(&at(0));
        let failed = || Known::Failed {
            again: Instant::now() + PAUSE,
            problem: "nothing is there".to_owned(),
        };
        // Another map has another order.
        for _ in 0..32 {
            let mut state = State {
                known: HashMap::new(),
                under_way: 0,
                waiting: 0,
                last: 0,
                second: (Instant::now(), 0),
            };
            state.known.insert(at(0), Known::Held(Arc::clone(&held)));
            for place in 1..=2 * PLACES {
                state.known.insert(at(place), failed());
                state.bound_places(&at(place));
                assert!(state.known.contains_key(&at(0)));
                assert!(state.known.contains_key(&at(place)));
                assert!(state.known.len() <= PLACES);
            }
            for place in 1..PLACES {
                let held = Known::Held(Arc::clone(&held));
                state.known.insert(at(place), held);
                state.bound_places(&at(place));
            }
            let mut kept = state.known.values();
            assert!(kept.all(|known| matches!(known, Known::Held(_))));
            assert_eq!(state.known.len(), PLACES);
        }
    }

    fn held(reference: &AssertionReference) -> Arc<FetchedAssertion> {
        let idp = keys::identity("CN=idp", keys::RSA);
        let assertion = Assertion {
            is_20: true,
            method: "bearer",
            holder: None,
            audience: None,
            attributes: &[],
        };
        let answer = assertion.about("alice", &idp).into_bytes();
        let mut rules = TrustRules::default();
        rules.pinned = vec![idp.certificate().clone()];
        let issuer = AssertionIssuer {
            name: ISSUER.to_owned(),
            trust: Some(TrustStore::new(rules).expect("trust")),
        };
        let policy = AssertionPolicy::default();
        let now = Timestamp::now();
        let fetched = FetchedAssertion::read(reference, answer, "_", &[issuer], &policy, now);
        Arc::new(fetched.expect("an assertion"))
    }
}
