//! Calls that wait for the log of calls of the registry.
//!
//! Calls wait in memory of a bounded size. A task of its own tells the registry of them, so that a
//! registry that is slow or away costs records and nothing else.
//!
//! The rule kept here: a record holds names, times and numbers, and no address of a client. A call
//! that finds no room is lost and counted.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::StatusCode;
use jiff::Timestamp;
use soapstone_registry::calls::{Call, LARGEST_NUMBER, LONGEST_TEXT, MOST_CALLS, Outcome};

use super::audit::Found;
use crate::config::registry::ProvidedSpec;

/// Most calls that wait for the registry. The texts of each are bounded.
const MOST_WAITING: usize = 8192;
/// Bytes of a request to a registry, which takes 1 MiB.
const LARGEST_BATCH: usize = 900_000;
/// Bytes of a call in a request beside its texts.
const FRAME: usize = 512;
/// Bytes of a character that is written as an entity (`&quot;`).
const ESCAPED: usize = 6;

/// Where the time of a call goes while it is served, in nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct Spent {
    security: AtomicU64,
    backend: AtomicU64,
    choice: AtomicU64,
    attempts: AtomicU64,
}

impl Spent {
    /// A security step took that time.
    pub(crate) fn secured(&self, took: Duration) {
        add(&self.security, took);
    }

    /// A backend was waited for.
    pub(crate) fn waited(&self, took: Duration) {
        add(&self.backend, took);
        self.attempts.fetch_add(1, Ordering::Relaxed);
    }

    /// A backend was chosen.
    pub(crate) fn chose(&self, took: Duration) {
        add(&self.choice, took);
    }
}

fn add(sum: &AtomicU64, took: Duration) {
    let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
    sum.fetch_add(nanoseconds, Ordering::Relaxed);
}

/// A call whose answer is ready.
pub(crate) struct Served<'s> {
    pub(crate) route: &'s str,
    /// What is registered of the route.
    pub(crate) provided: Option<&'s ProvidedSpec>,
    /// The service whose providers the route chooses from.
    pub(crate) service: Option<&'s str>,
    pub(crate) request: Option<&'s str>,
    pub(crate) status: StatusCode,
    pub(crate) took: Duration,
    pub(crate) outcome: Outcome,
    pub(crate) found: &'s Found,
    pub(crate) spent: &'s Spent,
}

/// A call that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) call: Call,
    /// Service and access point of its route, where the gateway provides it.
    pub(crate) provided: Option<(String, String)>,
}

impl Waiting {
    /// Whether it is the word of a broker. Another rule of the registry is about these.
    fn is_of_broker(&self) -> bool {
        self.provided.is_none() || self.call.chosen.is_some()
    }

    /// Bytes that it has in a request at most.
    fn size(&self) -> usize {
        let texts = self.call.texts().into_iter().filter_map(|(_, text)| text);
        FRAME + texts.map(|text| text.len() * ESCAPED).sum::<usize>()
    }
}

/// The calls that wait, and what became of others.
#[derive(Debug)]
pub(crate) struct CallLog {
    /// The name of the process.
    pub(crate) source: String,
    /// What brokers tell stands apart.
    queues: Mutex<[VecDeque<Waiting>; 2]>,
    number: AtomicU64,
    logged: AtomicU64,
    lost: AtomicU64,
}

/// What became of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallCounts {
    pub(crate) waiting: usize,
    pub(crate) logged: u64,
    pub(crate) lost: u64,
}

impl CallLog {
    /// Of a process with that name.
    pub(crate) fn new(source: String) -> Self {
        Self {
            source,
            queues: Mutex::default(),
            number: AtomicU64::new(0),
            logged: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        }
    }

    /// Takes a call in.
    pub(crate) fn push(&self, served: &Served<'_>) {
        let waiting = self.waiting(served);
        let mut queues = self.queues();
        if queues.iter().map(VecDeque::len).sum::<usize>() >= MOST_WAITING {
            drop(queues);
            self.lose(1);
            return;
        }
        queues[usize::from(waiting.is_of_broker())].push_back(waiting);
    }

    fn waiting(&self, served: &Served<'_>) -> Waiting {
        let (provided, found) = (served.provided, served.found);
        let service = provided.map(|it| it.service.as_str()).or(served.service);
        let (backend, chosen) = match &found.backend {
            Some((name, reason)) => (Some(name.as_str()), Some(*reason)),
            None => (None, None),
        };
        let access_point = provided.map(|it| it.access_point.as_str());
        let took = i64::try_from(served.took.as_millis()).unwrap_or(i64::MAX);
        let spent = served.spent;
        let call = Call {
            number: self.number.fetch_add(1, Ordering::Relaxed),
            time: Timestamp::now().as_millisecond().saturating_sub(took),
            request: served.request.map(word),
            route: word(served.route),
            service: service.map(word),
            binding_key: None,
            provider: backend.or(access_point).map(word),
            chosen: chosen.map(word),
            operation: found.operation.as_deref().map(word),
            client: found.sender.as_ref().map(|sender| word(&sender.name)),
            class: found.class.map(word),
            agreement: found.agreement.as_deref().map(word),
            request_bytes: found.request_bytes.map(bounded),
            response_bytes: found.response_bytes.map(bounded),
            total: microseconds(served.took),
            backend: nanoseconds(&spent.backend),
            security: nanoseconds(&spent.security),
            choice: nanoseconds(&spent.choice),
            attempts: bounded(spent.attempts.load(Ordering::Relaxed)),
            outcome: served.outcome,
            reason: found.reason.map(word),
            status: u64::from(served.status.as_u16()),
        };
        Waiting {
            call,
            provided: provided.map(|it| (it.service.clone(), it.access_point.clone())),
        }
    }

    /// The calls that are told of next, which go on waiting.
    pub(crate) fn next(&self, of_broker: bool) -> Vec<Waiting> {
        let queues = self.queues();
        let mut size = 0;
        let fitting = queues[usize::from(of_broker)].iter().take_while(|waiting| {
            size += waiting.size();
            size <= LARGEST_BATCH
        });
        fitting.take(MOST_CALLS).cloned().collect()
    }

    /// So many of the first calls wait no longer: some of them are in the log.
    pub(crate) fn told(&self, of_broker: bool, count: usize, logged: u64) {
        self.queues()[usize::from(of_broker)].drain(..count);
        self.logged.fetch_add(logged, Ordering::Relaxed);
        self.lose((count as u64).saturating_sub(logged));
    }

    fn lose(&self, calls: u64) {
        self.lost.fetch_add(calls, Ordering::Relaxed);
    }

    /// What became of calls until now.
    pub(crate) fn counts(&self) -> CallCounts {
        CallCounts {
            waiting: self.queues().iter().map(VecDeque::len).sum(),
            logged: self.logged.load(Ordering::Relaxed),
            lost: self.lost.load(Ordering::Relaxed),
        }
    }

    fn queues(&self) -> MutexGuard<'_, [VecDeque<Waiting>; 2]> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A text as the registry takes it.
fn word(text: &str) -> String {
    let characters = text.chars().take(LONGEST_TEXT);
    let shown = characters.map(|one| match one.is_control() {
        true => char::REPLACEMENT_CHARACTER,
        false => one,
    });
    shown.collect()
}

fn bounded(number: u64) -> u64 {
    number.min(LARGEST_NUMBER)
}

fn microseconds(took: Duration) -> u64 {
    bounded(u64::try_from(took.as_micros()).unwrap_or(u64::MAX))
}

fn nanoseconds(sum: &AtomicU64) -> u64 {
    microseconds(Duration::from_nanos(sum.load(Ordering::Relaxed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(log: &CallLog, operation: &str) {
        let found = Found {
            operation: Some(operation.to_owned()),
            ..Found::default()
        };
        log.push(&served(&found, &Spent::default()));
    }

    fn served<'s>(found: &'s Found, spent: &'s Spent) -> Served<'s> {
        Served {
            route: "/books",
            provided: None,
            service: Some("Books"),
            request: None,
            status: StatusCode::OK,
            took: Duration::from_micros(1_500),
            outcome: Outcome::Accepted,
            found,
            spent,
        }
    }

    #[test]
    fn calls_that_find_no_room_are_lost_and_counted() {
        let log = CallLog::new("g".to_owned());
        for _ in 0..MOST_WAITING + 2 {
            push(&log, "urn:buy");
        }
        let mut expected = CallCounts {
            waiting: MOST_WAITING,
            logged: 0,
            lost: 2,
        };
        assert_eq!(log.counts(), expected);
        let next = log.next(true);
        assert_eq!(next.len(), MOST_CALLS);
        assert_eq!(log.next(true), next, "they wait until they are told");
        // The registry knows the entries of all but one.
        log.told(true, MOST_CALLS, MOST_CALLS as u64 - 1);
        expected = CallCounts {
            waiting: MOST_WAITING - MOST_CALLS,
            logged: MOST_CALLS as u64 - 1,
            lost: 3,
        };
        assert_eq!(log.counts(), expected);
        assert_eq!(log.next(true)[0].call.number, MOST_CALLS as u64);
    }

    #[test]
    fn a_batch_is_no_larger_than_a_registry_takes() {
        let log = CallLog::new("g".to_owned());
        for _ in 0..MOST_CALLS {
            push(&log, &"\"".repeat(10_000));
        }
        let next = log.next(true);
        assert!(!next.is_empty() && next.len() < MOST_CALLS);
        let calls = next.into_iter().map(|waiting| waiting.call).collect();
        let source = log.source.clone();
        let told = soapstone_registry::calls::Calls { source, calls };
        let request = soapstone_registry::Request::LogCalls(told);
        let written = soapstone_registry::uddi::write_request(&request);
        assert!(written.len() <= LARGEST_BATCH, "{}", written.len());
    }

    /// Calls of a backend that was chosen are the word of a broker, and so are those of a route
    /// that provides nothing. The registry has a rule of its own about them, and refuses a
    /// batch at once.
    #[test]
    fn what_a_broker_tells_is_told_apart() {
        let provided = ProvidedSpec {
            service: "Books".to_owned(),
            port_type: None,
            access_point: "http://here/books".to_owned(),
            agreements: Vec::new(),
        };
        let of = |backend: Option<(String, &'static str)>, provided: Option<&ProvidedSpec>| {
            let log = CallLog::new("g".to_owned());
            let found = Found {
                backend,
                ..Found::default()
            };
            log.push(&Served {
                provided,
                ..served(&found, &Spent::default())
            });
            let (own, of_broker) = (log.next(false), log.next(true));
            assert_eq!(own.len() + of_broker.len(), 1);
            !of_broker.is_empty()
        };
        let backend = || Some(("http://p1".to_owned(), "turn"));
        assert!(!of(None, Some(&provided)));
        assert!(of(backend(), Some(&provided)));
        assert!(of(backend(), None) && of(None, None));
    }

    #[test]
    fn numbers_are_as_the_registry_takes_them() {
        let log = CallLog::new("g".to_owned());
        let found = Found {
            request_bytes: Some(u64::MAX),
            response_bytes: Some(u64::MAX),
            ..Found::default()
        };
        let spent = Spent::default();
        let longest = Duration::from_micros(LARGEST_NUMBER + 1);
        log.push(&Served {
            took: longest,
            ..served(&found, &spent)
        });
        let call = &log.next(true)[0].call;
        let largest = Some(LARGEST_NUMBER);
        assert_eq!(
            (call.request_bytes, call.response_bytes),
            (largest, largest)
        );
        assert_eq!(call.total, LARGEST_NUMBER);
        assert_eq!(nanoseconds(&AtomicU64::new(u64::MAX)), LARGEST_NUMBER);
        assert_eq!(microseconds(Duration::MAX), LARGEST_NUMBER);
    }

    #[test]
    fn texts_are_as_the_registry_takes_them() {
        assert_eq!(word("a\0b\u{7f}"), "a\u{fffd}b\u{fffd}");
        assert_eq!(word(&"ä".repeat(300)), "ä".repeat(LONGEST_TEXT));
    }
}
