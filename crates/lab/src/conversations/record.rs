//! What happened: calls by second, disturbances, conversations that were lost, replays.
//!
//! The rule kept here: times are counted from the beginning of the load; nothing is averaged over a
//! disturbance.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use soapstone::wss::SecurityContext;
use tokio::time::Instant;

use super::caller::{Answer, Failed};
use super::service::Delivered;
use super::{Options, clock};

/// How often something happened, by the name of its kind.
pub type Counts = BTreeMap<String, u64>;

/// The result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Conversations held.
    pub conversations: usize,
    /// Seconds of load.
    pub seconds: f64,
    /// When the load began: seconds since 1970.
    pub began: f64,
    /// Calls a second that were wanted.
    pub rate: u32,
    /// Contexts that were made, and how long that took.
    pub handshakes: Latencies,
    /// Contexts that could not be made, by kind of failure.
    pub handshakes_failed: Counts,
    /// Calls that were answered rightly, those of the audit included.
    pub answered: Latencies,
    /// Calls that were not, by kind.
    pub failed: Counts,
    /// Share of calls that failed.
    pub error_rate: f64,
    /// Longest time without a right answer during the load, seconds.
    pub longest_silence: f64,
    /// Times of failures: each ends when a second has passed without one.
    pub disturbances: Vec<Disturbance>,
    /// Conversations that were lost.
    pub lost: Vec<Lost>,
    /// Accepted messages that were sent once more.
    pub replays: Replays,
    /// Messages with an unknown fate that were sent once more: accepted ones were accepted for the
    /// first time.
    pub resent: Resent,
    /// What the service received, if it was run here.
    pub delivered: Option<Delivered>,
    /// The load by second.
    pub timeline: Vec<Second>,
}

impl Outcome {
    /// Whether no conversation was lost and no message accepted twice.
    pub fn holds(&self) -> bool {
        let repeated = self.delivered.map_or(0, |delivered| delivered.repeated);
        self.lost.is_empty() && self.replays.accepted == 0 && repeated == 0
    }
}

/// How long things took, microseconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Latencies {
    /// How many.
    pub n: usize,
    /// Half took no longer.
    pub median_us: f64,
    /// 95 of 100 took no longer.
    pub p95_us: f64,
    /// 99 of 100 took no longer.
    pub p99_us: f64,
    /// The longest.
    pub most_us: f64,
}

/// A time of failures.
#[derive(Clone, Debug, Serialize)]
pub struct Disturbance {
    /// The first failure, seconds from the beginning of the load.
    pub begins: f64,
    /// The last one.
    pub ends: f64,
    /// From the first failure to the last, seconds: the time to recover.
    pub seconds: f64,
    /// Longest time in it without a right answer, seconds.
    pub silence: f64,
    /// What failed, by kind.
    pub failed: Counts,
    /// How many calls were answered meanwhile.
    pub answered: u64,
}

/// A conversation that was lost.
#[derive(Clone, Debug, Serialize)]
pub struct Lost {
    /// Its number.
    pub conversation: usize,
    /// Its context.
    pub identifier: String,
    /// When, seconds from the beginning of the load.
    pub second: f64,
    /// What said so.
    pub reason: String,
}

/// Accepted messages that were sent once more.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Replays {
    /// How many.
    pub sent: u64,
    /// How many were accepted. None may be.
    pub accepted: u64,
    /// Refusals, by fault code.
    pub refused: Counts,
    /// How many were neither, by kind of failure.
    pub unanswered: Counts,
}

/// Messages with an unknown fate that were sent once more.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Resent {
    /// How many.
    pub sent: u64,
    /// How many had not been accepted before.
    pub accepted: u64,
    /// How many had been, or were not acceptable any more.
    pub refused: u64,
}

/// One second of the load.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Second {
    /// Its number.
    pub second: usize,
    /// Calls answered.
    pub answered: u64,
    /// Calls that failed, by kind.
    pub failed: Counts,
    /// The longest that an answer took, microseconds.
    pub most_us: f64,
}

/// A time without failures that ends a disturbance.
const CALM: f64 = 1.0;

/// Everything seen so far.
#[derive(Default)]
pub(super) struct Record {
    handshakes: Durations,
    handshakes_failed: Counts,
    answered: Durations,
    failed: Counts,
    lost: Vec<Lost>,
    replays: Replays,
    resent: Resent,
    /// When the load began, by both clocks.
    begun: Option<(Instant, f64)>,
    /// How long it was.
    load: Option<f64>,
    /// Calls of the load in the order in which they ended: when, how long they took, and why they
    /// failed if they did.
    events: Vec<Event>,
}

struct Event {
    at: f64,
    took: Duration,
    failed: Option<String>,
}

impl Record {
    pub(super) fn load_begins(&mut self) {
        self.begun = Some((Instant::now(), clock()));
    }

    pub(super) fn load_ended(&mut self) {
        self.load = Some(self.elapsed());
    }

    fn elapsed(&self) -> f64 {
        self.begun
            .map_or(0.0, |(begun, _)| begun.elapsed().as_secs_f64())
    }

    /// A context that was asked for.
    pub(super) fn handshake(&mut self, granted: &Result<SecurityContext, Failed>, took: Duration) {
        match granted {
            Ok(_) => self.handshakes.push(took),
            Err(failed) => count(&mut self.handshakes_failed, &failed.kind()),
        }
    }

    /// A call of a conversation.
    pub(super) fn call(&mut self, outcome: &Result<(), Failed>, took: Duration) {
        let failed = outcome.as_ref().err().map(Failed::kind);
        match &failed {
            None => self.answered.push(took),
            Some(kind) => count(&mut self.failed, kind),
        }
        if self.load.is_none() {
            let at = self.elapsed();
            self.events.push(Event { at, took, failed });
        }
    }

    pub(super) fn lost(&mut self, conversation: usize, context: &SecurityContext, reason: &str) {
        self.lost.push(Lost {
            conversation,
            identifier: context.identifier.clone(),
            second: self.elapsed(),
            reason: reason.to_owned(),
        });
    }

    pub(super) fn replayed(&mut self, answer: &Answer) {
        self.replays.sent += 1;
        match answer {
            Answer::Accepted => self.replays.accepted += 1,
            Answer::Refused(code) => count(&mut self.replays.refused, code),
            Answer::Nothing(failed) => count(&mut self.replays.unanswered, &failed.kind()),
        }
    }

    pub(super) fn resent(&mut self, answer: &Answer) {
        self.resent.sent += 1;
        match answer {
            Answer::Accepted => self.resent.accepted += 1,
            Answer::Refused(_) => self.resent.refused += 1,
            Answer::Nothing(_) => {}
        }
    }

    pub(super) fn outcome(&self, options: &Options, delivered: Option<Delivered>) -> Outcome {
        let failures: u64 = self.failed.values().sum();
        let calls = failures + self.answered.0.len() as u64;
        let load = self.load.unwrap_or(0.0);
        Outcome {
            conversations: options.conversations,
            seconds: load,
            began: self.begun.map_or(0.0, |(_, clock)| clock),
            rate: options.rate,
            handshakes: self.handshakes.figures(),
            handshakes_failed: self.handshakes_failed.clone(),
            answered: self.answered.figures(),
            failed: self.failed.clone(),
            error_rate: failures as f64 / calls.max(1) as f64,
            longest_silence: silence(&self.events, 0.0, load),
            disturbances: disturbances(&self.events),
            lost: self.lost.clone(),
            replays: self.replays.clone(),
            resent: self.resent.clone(),
            delivered,
            timeline: timeline(&self.events),
        }
    }
}

fn count(counts: &mut Counts, kind: &str) {
    *counts.entry(kind.to_owned()).or_default() += 1;
}

/// Longest time between right answers from one moment to another.
fn silence(events: &[Event], from: f64, to: f64) -> f64 {
    let answers = events
        .iter()
        .filter(|event| event.failed.is_none())
        .map(|event| event.at)
        .filter(|at| (from..=to).contains(at));
    let mut last = from;
    let mut longest: f64 = 0.0;
    for at in answers.chain([to]) {
        longest = longest.max(at - last);
        last = at;
    }
    longest
}

fn disturbances(events: &[Event]) -> Vec<Disturbance> {
    let mut found: Vec<Disturbance> = Vec::new();
    for event in events {
        let Some(kind) = &event.failed else {
            continue;
        };
        match found.last_mut() {
            Some(current) if event.at - current.ends < CALM => current.ends = event.at,
            _ => found.push(Disturbance {
                begins: event.at,
                ends: event.at,
                seconds: 0.0,
                silence: 0.0,
                failed: Counts::new(),
                answered: 0,
            }),
        }
        if let Some(current) = found.last_mut() {
            count(&mut current.failed, kind);
        }
    }
    for disturbance in &mut found {
        let (begins, ends) = (disturbance.begins, disturbance.ends);
        disturbance.seconds = ends - begins;
        disturbance.silence = silence(events, begins, ends);
        let answered =
            |event: &&Event| event.failed.is_none() && (begins..=ends).contains(&event.at);
        disturbance.answered = events.iter().filter(answered).count() as u64;
    }
    found
}

fn timeline(events: &[Event]) -> Vec<Second> {
    let last = events.last().map_or(0, |event| event.at as usize + 1);
    let mut seconds: Vec<Second> = (0..last)
        .map(|second| Second {
            second,
            ..Second::default()
        })
        .collect();
    for event in events {
        let Some(second) = seconds.get_mut(event.at as usize) else {
            continue;
        };
        match &event.failed {
            None => {
                second.answered += 1;
                second.most_us = second.most_us.max(event.took.as_secs_f64() * 1e6);
            }
            Some(kind) => count(&mut second.failed, kind),
        }
    }
    seconds
}

/// Times of single calls.
#[derive(Default)]
struct Durations(Vec<Duration>);

impl Durations {
    fn push(&mut self, took: Duration) {
        self.0.push(took);
    }

    fn figures(&self) -> Latencies {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let at = |hundredths: usize| {
            let place = (sorted.len() * hundredths).div_ceil(100).saturating_sub(1);
            sorted
                .get(place)
                .map_or(0.0, |took| took.as_secs_f64() * 1e6)
        };
        Latencies {
            n: sorted.len(),
            median_us: at(50),
            p95_us: at(95),
            p99_us: at(99),
            most_us: at(100),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(at: f64, failed: Option<&str>) -> Event {
        Event {
            at,
            took: Duration::from_millis(1),
            failed: failed.map(str::to_owned),
        }
    }

    #[test]
    fn failures_less_than_a_second_apart_are_one_disturbance() {
        let events = [
            event(0.5, None),
            event(1.0, Some("broken")),
            event(1.8, None),
            event(1.9, Some("broken")),
            event(2.5, None),
            event(3.0, Some("connect")),
        ];
        let found = disturbances(&events);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].begins, found[0].ends), (1.0, 1.9));
        assert_eq!(found[0].failed, Counts::from([("broken".to_owned(), 2)]));
        assert_eq!(found[0].answered, 1);
        assert!((found[0].silence - 0.8).abs() < 1e-9);
        assert_eq!((found[1].begins, found[1].seconds), (3.0, 0.0));
    }

    #[test]
    fn the_longest_silence_reaches_to_the_end_of_the_load() {
        let events = [event(0.5, None), event(1.0, None), event(1.5, Some("x"))];
        assert_eq!(silence(&events, 0.0, 3.0), 2.0);
    }

    #[test]
    fn seconds_without_calls_are_in_the_timeline() {
        let seconds = timeline(&[event(0.1, None), event(2.2, Some("timeout"))]);
        let answered: Vec<u64> = seconds.iter().map(|second| second.answered).collect();
        assert_eq!(answered, [1, 0, 0]);
        assert_eq!(seconds[2].failed, Counts::from([("timeout".to_owned(), 1)]));
    }

    #[test]
    fn percentiles_of_a_hundred_calls() {
        let durations = Durations((1..=100).map(Duration::from_micros).collect());
        let figures = durations.figures();
        assert_eq!(figures.n, 100);
        assert_eq!(
            [
                figures.median_us,
                figures.p95_us,
                figures.p99_us,
                figures.most_us
            ]
            .map(|us| us.round()),
            [50.0, 95.0, 99.0, 100.0]
        );
    }
}
