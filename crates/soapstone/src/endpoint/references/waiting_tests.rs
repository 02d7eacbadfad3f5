//! Messages that wait for the question of another one.
//!
//! The rule kept here: whoever waits has its place until that question has ended.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use soapstone_wss::SamlVersion;

use super::*;
use crate::config::{Located, Place};

/// Answers with nothing usable: at the address of the slow one when the test says so, at others at
/// once.
#[derive(Debug)]
struct Slow {
    asked: Mutex<Sender<()>>,
    answers: Mutex<Receiver<()>>,
}

const SLOW: &str = "https://idp.example/slow";

impl AssertionFetcher for Slow {
    fn fetch(&self, errand: AssertionErrand) -> Result<Vec<u8>, String> {
        if errand.url.starts_with(SLOW) {
            self.asked.lock().unwrap().send(()).unwrap();
            self.answers.lock().unwrap().recv().unwrap();
        }
        Err("it has none".to_owned())
    }
}

fn reference(place: &str) -> AssertionReference {
    AssertionReference {
        version: SamlVersion::V20,
        id: "a".to_owned(),
        location: format!("{place}?ID=a"),
    }
}

/// References with a fetcher, who tells when the slow one is asked, and waits for its answer.
fn references(capacity: Option<u64>) -> (References, Receiver<()>, Sender<()>) {
    let authority = Located {
        value: "https://idp.example/".to_owned(),
        place: Place::default(),
    };
    let config = ByReferenceConfig {
        place: Place::default(),
        authorities: vec![authority],
        allow_bearer: false,
        timeout: Some(Duration::from_secs(30)),
        size: None,
        at_once: Some(16),
        per_second: Some(u64::MAX),
        capacity,
        tls: None,
    };
    let (asked, is_asked) = channel();
    let (answer, answers) = channel();
    let fetcher = Slow {
        asked: Mutex::new(asked),
        answers: Mutex::new(answers),
    };
    let references = References::new(&config, Arc::new([]), AssertionPolicy::default());
    (references.fetched_with(Arc::new(fetcher)), is_asked, answer)
}

fn problem(references: &References, place: &str) -> String {
    let fetched = references.fetch(&reference(place), Timestamp::now());
    match fetched.expect_err("there is none") {
        Rejected::AssertionUnavailable { problem } => problem,
        other => panic!("{other}"),
    }
}

fn until(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "it never is");
        thread::yield_now();
    }
}

/// Other questions end all the while, and newcomers want the places of those who wait.
#[test]
fn who_waits_keeps_his_place_until_his_question_has_ended() {
    let (references, is_asked, answer) = references(None);
    let references = &references;
    thread::scope(|scope| {
        let first = scope.spawn(|| problem(references, SLOW));
        is_asked.recv().unwrap();
        let waiters: Vec<_> = (0..WAITING_FOR_ONE)
            .map(|_| scope.spawn(|| problem(references, SLOW)))
            .collect();
        until(|| references.state().waiting == WAITING_FOR_ONE);
        let newcomers = scope.spawn(|| {
            for _ in 0..20_000 {
                assert_eq!(problem(references, SLOW), "too many messages wait for it");
            }
        });
        let mut number = 0;
        while !newcomers.is_finished() {
            let place = format!("https://idp.example/{number}");
            assert_eq!(problem(references, &place), "it has none");
            number += 1;
        }
        answer.send(()).unwrap();
        newcomers.join().expect("each is turned away");
        for waiter in waiters.into_iter().chain([first]) {
            assert_eq!(waiter.join().unwrap(), "it has none");
        }
    });
    assert_eq!(references.state().waiting, 0);
}

/// What comes is for one message alone where nothing is kept, and so is the question. What could
/// not be had is not asked for again for a moment all the same.
#[test]
fn nobody_waits_for_another_ones_question_where_nothing_is_kept() {
    let (references, is_asked, answer) = references(Some(0));
    let references = &references;
    thread::scope(|scope| {
        let messages = [(); 2].map(|()| scope.spawn(|| problem(references, SLOW)));
        let asked = [(); 2].map(|()| is_asked.recv_timeout(Duration::from_secs(20)).is_ok());
        let under_way = references.state().under_way;
        for _ in &messages {
            answer.send(()).unwrap();
        }
        assert_eq!(
            (asked, under_way),
            ([true; 2], 2),
            "both are with the authority at once"
        );
        for message in messages {
            assert_eq!(message.join().unwrap(), "it has none");
        }
    });
    assert_eq!(references.state().under_way, 0);
    // Nobody is asked: there would be no answer.
    assert_eq!(problem(references, SLOW), "it has none");
    assert!(is_asked.try_recv().is_err());
}

/// One who waited for a question that has ended leaves the next one's count alone.
#[test]
fn questions_for_one_assertion_are_told_apart() {
    let (references, _, _) = references(None);
    let slow = reference(SLOW);
    references.begin(references.state(), &slow).unwrap();
    let mut state = references.state();
    let former = state.begin_waiting(&slow).unwrap().expect("it is asked");
    state.known.remove(&slow);
    references.begin(state, &slow).unwrap();
    let mut state = references.state();
    let next = state.begin_waiting(&slow).unwrap().expect("it is asked");
    assert!(!state.is_under_way(&slow, former));
    state.end_waiting(&slow, former);
    let known = state.known.get(&slow);
    assert!(matches!(known, Some(Known::UnderWay { waiting: 1, .. })));
    state.end_waiting(&slow, next);
    assert_eq!(state.waiting, 0);
}
