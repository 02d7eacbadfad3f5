//! What providers owe: windows, violations and exclusions.

use super::*;

/// Violations that are made, of every kind, and nothing besides.
#[test]
fn violations_told_are_violations_made() {
    let clock = Clock::new();
    let agreement = agreement(AgreementTerms {
        of_provider: ProviderTerms {
            exclusion: None,
            ..terms("").of_provider
        },
        ..terms("gold")
    });
    let mut events = Vec::new();
    let mut serve = |served: &[Served<'_>]| {
        let before = events.len();
        for one in served {
            events.extend(agreement.ended("one", *one, clock.at(ms(1))));
        }
        told(&events[before..])
    };
    let (good, late) = (Served::Answered(ms(200)), Served::Answered(ms(201)));
    let failed = Served::Failed;
    assert_eq!(serve(&[good; 10]), []);
    // One of ten may be late.
    assert_eq!(
        serve(&[good, good, good, good, late, good, good, good, good, good]),
        []
    );
    assert_eq!(
        serve(&[late, good, good, good, good, late, good, good, good, good]),
        [(Obligation::ResponseTime, 2, 10)]
    );
    // What is not answered is not in time either.
    assert_eq!(
        serve(&[
            failed, good, good, failed, good, failed, good, good, good, good
        ]),
        [
            (Obligation::ResponseTime, 3, 10),
            (Obligation::Availability, 3, 10)
        ]
    );
    let weak = WEAK;
    assert_eq!(
        serve(&[good, good, weak, good, good, good, good, good, good, good]),
        [(Obligation::Security, 1, 10)]
    );
    // It takes its time, too, and one that is refused is none.
    let late_and_weak = Served::Weak {
        why: "unsigned",
        took: Some(ms(201)),
    };
    assert_eq!(
        serve(&[
            late,
            late_and_weak,
            good,
            good,
            good,
            good,
            good,
            good,
            good,
            good
        ]),
        [
            (Obligation::ResponseTime, 2, 10),
            (Obligation::Security, 1, 10)
        ]
    );
    let refused = Served::Weak {
        why: "a refused answer",
        took: None,
    };
    assert_eq!(
        serve(&[
            refused, good, good, refused, good, refused, good, good, good, good
        ]),
        [
            (Obligation::ResponseTime, 3, 10),
            (Obligation::Availability, 3, 10),
            (Obligation::Security, 3, 10)
        ]
    );
    // A client that goes away says something only of what was late by then.
    let (left, waited) = (Served::Left(ms(200)), Served::Left(ms(500)));
    assert_eq!(serve(&[left; 100]), []);
    assert_eq!(
        serve(&[
            waited, waited, good, good, good, good, good, good, good, good
        ]),
        [(Obligation::ResponseTime, 2, 10)]
    );
    let AgreementEvent::Violated(first) = &events[0] else {
        panic!("a violation");
    };
    let expected = Violation {
        agreement: "gold".to_owned(),
        service: "books".to_owned(),
        client: "CN=client".to_owned(),
        backend: Some("one".to_owned()),
        provider: Some("CN=provider".to_owned()),
        obligation: Obligation::ResponseTime,
        promised: "90% within 200ms".to_owned(),
        measured: "80% within 200ms".to_owned(),
        calls: 10,
        violating: 2,
        window: (HOUR + ms(1), HOUR + ms(1)),
        penalty: Some("2 EUR".to_owned()),
        excluded: None,
    };
    assert_eq!(**first, expected);
}

#[test]
fn a_window_of_time_ends_with_its_time_and_is_judged_from_some_calls_on() {
    let clock = Clock::new();
    let length = Duration::from_secs(10);
    let at_least = 3;
    let agreement = agreement(AgreementTerms {
        window: Window::Time { length, at_least },
        ..terms("gold")
    });
    for _ in 0..2 {
        agreement.ended("one", Served::Failed, clock.at(Duration::ZERO));
    }
    assert_eq!(told(&agreement.tick(clock.at(length))), []);
    for _ in 0..3 {
        agreement.ended("one", Served::Failed, clock.at(length));
    }
    assert_eq!(agreement.tick(clock.at(length + ms(9999))), []);
    let events = agreement.tick(clock.at(3 * length));
    let [AgreementEvent::Violated(time), AgreementEvent::Violated(_)] = &events[..] else {
        panic!("two violations, found {events:?}");
    };
    assert_eq!(time.window, (HOUR + length, HOUR + 2 * length));
    assert_eq!(told(&agreement.tick(clock.at(4 * length))), []);
}

#[test]
fn a_provider_is_excluded_after_its_violations_and_returns() {
    let clock = Clock::new();
    let agreement = agreement(AgreementTerms {
        backends: vec!["one".to_owned()],
        window: Window::Calls(1),
        ..terms("gold")
    });
    let standing = |since: u64| agreement.standing("one", clock.at(ms(since)).at);
    let late = Served::Answered(ms(300));
    assert_eq!(agreement.standing("two", clock.0), Standing::Other);
    assert_eq!(agreement.ended("two", late, clock.at(ms(0))), []);
    agreement.ended("one", late, clock.at(ms(0)));
    assert_eq!(standing(0), Standing::Party);
    let events = agreement.ended("one", late, clock.at(ms(1)));
    let [AgreementEvent::Violated(last)] = &events[..] else {
        panic!("a violation, found {events:?}");
    };
    assert_eq!(last.excluded, Some(ms(60_000)));
    assert_eq!(
        (standing(1), standing(60_000)),
        (Standing::Excluded, Standing::Excluded)
    );
    // What it serves meanwhile, where no other backend can, makes it no longer.
    agreement.ended("one", late, clock.at(ms(2)));
    agreement.ended("one", late, clock.at(ms(3)));
    assert_eq!(standing(60_001), Standing::Party);
    let returned = AgreementEvent::Returned {
        agreement: "gold".to_owned(),
        backend: "one".to_owned(),
    };
    assert_eq!(agreement.tick(clock.at(ms(60_001))), [returned]);
    assert_eq!(agreement.tick(clock.at(ms(60_002))), []);
}

/// The store's clock says when a window began, and the gateway's may be far from it.
#[test]
fn a_window_that_is_judged_together_ends_after_its_length_whatever_the_clocks_say() {
    let length = Duration::from_secs(60);
    let counts = ServedCounts {
        calls: 10,
        failed: 10,
        ..ServedCounts::default()
    };
    let now = Clock::new().at(HOUR);
    let judged = |window, begun| {
        let one = Agreement::new(AgreementTerms {
            window,
            ..terms("gold")
        });
        let found = one.judge("one", &counts, begun, now);
        assert!(!found.is_empty());
        found[0].window
    };
    for begun in [HOUR, 2 * HOUR - ms(1), 2 * HOUR, 3 * HOUR] {
        let window = Window::Time {
            length,
            at_least: 1,
        };
        assert_eq!(judged(window, begun), (begun, begun + length));
        let (from, until) = judged(Window::Calls(10), begun);
        assert_eq!((from, until), (begun, begun.max(2 * HOUR)));
    }
}
