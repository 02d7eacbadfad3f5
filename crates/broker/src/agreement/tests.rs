//! Agreements as the host uses them. The clock is the tests' own, so that what is counted is exact.

use super::*;
use crate::rate::Rate;

const HOUR: Duration = Duration::from_secs(3600);

fn ms(time: u64) -> Duration {
    Duration::from_millis(time)
}

/// Moments of one test.
struct Clock(Instant);

impl Clock {
    fn new() -> Self {
        Self(Instant::now())
    }

    fn at(&self, since: Duration) -> Moment {
        Moment {
            at: self.0 + since,
            unix: HOUR + since,
        }
    }
}

fn terms(name: &str) -> AgreementTerms {
    AgreementTerms {
        name: name.to_owned(),
        service: "books".to_owned(),
        client: "CN=client".to_owned(),
        backends: Vec::new(),
        class: Class::Gold,
        validity: Validity {
            from: Duration::ZERO,
            until: 100 * HOUR,
        },
        of_client: ClientTerms {
            rate: Rate::parse("10/s", Some(5)),
            rate_text: "10/s, 5 at once".to_owned(),
            bytes: Some(1000),
            operations: vec!["getBooks".to_owned(), "{urn:b}getBook".to_owned()],
            penalty: Some("1 EUR".to_owned()),
        },
        of_provider: ProviderTerms {
            time: Some(ResponseTime {
                within: ms(200),
                quantile: Share::parse("90%").expect("a share"),
            }),
            availability: Share::parse("80%"),
            subject: Some("CN=provider".to_owned()),
            penalty: Some("2 EUR".to_owned()),
            exclusion: Some(Exclusion {
                after: 2,
                time: Duration::from_secs(60),
            }),
            ..ProviderTerms::default()
        },
        window: Window::Calls(10),
    }
}

fn agreement(terms: AgreementTerms) -> Arc<Agreement> {
    Arc::new(Agreement::new(terms))
}

/// An answer that was let through in time.
const WEAK: Served<'_> = Served::Weak {
    why: "unsigned",
    took: Some(Duration::ZERO),
};

const BOOKS: Asked<'_> = Asked {
    operation: Some(("{urn:b}getBooks", "getBooks")),
    bytes: 1000,
    is_proven: true,
};

/// What the events say of violations: obligation, violating calls, all calls.
fn told(events: &[AgreementEvent]) -> Vec<(Obligation, u64, u64)> {
    let told = events.iter().filter_map(|event| match event {
        AgreementEvent::Violated(it) => Some((it.obligation, it.violating, it.calls)),
        _ => None,
    });
    told.collect()
}

fn is_admitted(agreement: &Arc<Agreement>, asked: &Asked<'_>, now: Moment) -> bool {
    matches!(admit([agreement], asked, now).0, Admission::Under(_))
}

fn refusal(admission: Admission) -> Excess {
    match admission {
        Admission::Refused { excess, .. } => excess,
        other => panic!("expected a refusal, found {other:?}"),
    }
}

/// A minute of ten times as many requests as agreed. What is let in beyond the agreement is no more
/// than 2 % of it, and every other request is a violation that is told.
#[test]
fn excess_is_refused_and_each_refused_request_is_in_a_violation() {
    let clock = Clock::new();
    let agreement = agreement(AgreementTerms {
        window: Window::Time {
            length: Duration::from_secs(1),
            at_least: 1,
        },
        ..terms("gold")
    });
    let (mut admitted, mut refused, mut events) = (0_u64, 0_u64, Vec::new());
    for tick in 0..6000 {
        let (admission, changed) = admit([&agreement], &BOOKS, clock.at(ms(10 * tick)));
        events.extend(changed);
        match admission {
            Admission::Under(_) => admitted += 1,
            Admission::Refused { .. } => refused += 1,
            Admission::Free => panic!("it is in force"),
        }
    }
    let end = clock.at(Duration::from_secs(60));
    events.extend(agreement.finish(end));
    let agreed = 60 * 10 + 5;
    assert!(admitted <= agreed + agreed / 50, "{admitted} of {agreed}");
    assert!(admitted >= agreed - agreed / 50, "{admitted} of {agreed}");
    let recorded: u64 = told(&events)
        .iter()
        .map(|(_, violating, _)| violating)
        .sum();
    assert_eq!((recorded, admitted + refused), (refused, 6000));
    // No more records than windows, however many requests are refused.
    assert!(events.len() <= 60, "{}", events.len());
    let status = agreement.status(end);
    assert_eq!((status.admitted, status.refused), (admitted, refused));
}

#[test]
fn what_the_client_owes_is_checked_and_what_is_refused_costs_no_token() {
    let clock = Clock::new();
    let now = clock.at(Duration::ZERO);
    let agreement = agreement(terms("gold"));
    for (operation, bytes, expected) in [
        (
            Some(("{urn:b}deleteBook", "deleteBook")),
            10,
            Excess::Operation,
        ),
        (
            Some(("{urn:other}getBook", "getBook")),
            10,
            Excess::Operation,
        ),
        (None, 10, Excess::Operation),
        (Some(("{urn:b}getBook", "getBook")), 1001, Excess::Size),
    ] {
        let asked = Asked {
            operation,
            bytes,
            is_proven: true,
        };
        assert_eq!(refusal(admit([&agreement], &asked, now).0), expected);
    }
    for _ in 0..5 {
        assert!(is_admitted(&agreement, &BOOKS, now));
    }
    let wait = ms(100);
    let excess = refusal(admit([&agreement], &BOOKS, now).0);
    assert_eq!(excess, Excess::Rate { wait });
    assert!(is_admitted(&agreement, &BOOKS, clock.at(wait)));
    let (admission, events) = admit([&agreement], &BOOKS, clock.at(wait));
    assert_eq!(refusal(admission).name(), "agreement-rate");
    assert_eq!(told(&events), []);
    let status = agreement.status(now);
    assert_eq!((status.asked, status.excess), (12, 6));
    assert_eq!(
        told(&agreement.tick(clock.at(ms(60_000)))),
        [
            (Obligation::Operation, 3, 12),
            (Obligation::Size, 1, 12),
            (Obligation::Rate, 2, 12)
        ]
    );
    let status = agreement.status(now);
    let violations = [
        (Obligation::Operation, 1),
        (Obligation::Size, 1),
        (Obligation::Rate, 1),
        (Obligation::ResponseTime, 0),
        (Obligation::Availability, 0),
        (Obligation::Security, 0),
        (Obligation::Reports, 0),
        (Obligation::Description, 0),
    ];
    assert_eq!(status.violations, violations);
}

/// What nobody signed may be changed on the way to the gateway: it refuses a request, and makes no
/// client guilty.
#[test]
fn an_operation_that_the_client_did_not_say_is_refused_and_no_violation() {
    let clock = Clock::new();
    let now = clock.at(Duration::ZERO);
    let agreement = agreement(terms("gold"));
    let unproven = Asked {
        is_proven: false,
        ..BOOKS
    };
    let unknown = Asked {
        operation: None,
        ..unproven
    };
    for asked in [unproven, unknown] {
        let excess = refusal(admit([&agreement], &asked, now).0);
        assert_eq!(
            (excess.name(), excess.obligation()),
            ("agreement-operation", None)
        );
    }
    assert_eq!(told(&agreement.finish(now)), []);
    let status = agreement.status(now);
    assert_eq!((status.admitted, status.refused), (0, 2));
    // What the client signed counts, whatever is said beside it.
    let other = Asked {
        operation: Some(("{urn:b}deleteBook", "deleteBook")),
        ..unproven
    };
    let excess = refusal(admit([&agreement], &other, now).0);
    assert_eq!(excess, Excess::Operation);
    assert_eq!(
        told(&agreement.finish(now)),
        [(Obligation::Operation, 1, 1)]
    );
    // Another agreement may have let in what the client has sent.
    let mut silver = terms("silver");
    silver.of_client.operations = vec!["deleteBook".to_owned()];
    let silver = Arc::new(Agreement::new(silver));
    for agreements in [[&agreement, &silver], [&silver, &agreement]] {
        let excess = refusal(admit(agreements, &other, now).0);
        assert_eq!(excess.name(), "agreement-operation");
    }
    for agreement in [agreement, silver] {
        assert_eq!(told(&agreement.finish(now)), []);
    }
}

#[test]
fn an_agreement_that_is_not_in_force_is_none() {
    let clock = Clock::new();
    let agreement = agreement(AgreementTerms {
        validity: Validity {
            from: HOUR + ms(10),
            until: HOUR + ms(20),
        },
        ..terms("gold")
    });
    for (since, in_force) in [(9, false), (10, true), (19, true), (20, false)] {
        let now = clock.at(ms(since));
        let (admission, _) = admit([&agreement], &BOOKS, now);
        assert_eq!(
            matches!(admission, Admission::Under(_)),
            in_force,
            "{since}"
        );
        assert_eq!(agreement.status(now).in_force, in_force, "{since}");
    }
    // Its end is told once.
    let expired = AgreementEvent::Expired {
        agreement: "gold".to_owned(),
    };
    for (since, told) in [(9, 0), (10, 0), (19, 0), (20, 1), (21, 0)] {
        let events = agreement.tick(clock.at(ms(since)));
        let count = events.iter().filter(|event| **event == expired).count();
        assert_eq!(count, told, "{since}");
    }
}

/// Of several agreements of one client the first counts that lets the request in.
#[test]
fn a_request_is_let_in_by_one_of_its_agreements() {
    let clock = Clock::new();
    let now = clock.at(Duration::ZERO);
    let gold = agreement(terms("gold"));
    let every = agreement(AgreementTerms {
        of_client: ClientTerms {
            rate: Rate::parse("1/s", Some(1)),
            ..ClientTerms::default()
        },
        ..terms("every")
    });
    let delete = Asked {
        operation: Some(("{urn:b}deleteBook", "deleteBook")),
        bytes: 1,
        is_proven: true,
    };
    let Admission::Under(by) = admit([&gold, &every], &delete, now).0 else {
        panic!("the second one lets it in");
    };
    assert_eq!(by.terms().name, "every");
    // The nearest one is told.
    let (admission, _) = admit([&gold, &every], &delete, now);
    let Admission::Refused { agreement, excess } = admission else {
        panic!("it has one a second");
    };
    let wait = Duration::from_secs(1);
    assert_eq!(
        (&*agreement.terms().name, excess),
        ("every", Excess::Rate { wait })
    );
    assert_eq!(
        (gold.status(now).refused, every.status(now).refused),
        (0, 1)
    );
}

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

/// Otherwise whoever has the gateway read its file again would have a full bucket and a clean
/// record.
#[test]
fn a_reload_resets_neither_bucket_nor_windows_nor_exclusions() {
    let clock = Clock::new();
    let now = clock.at(Duration::ZERO);
    let mut current = agreement(AgreementTerms {
        window: Window::Calls(6),
        ..terms("gold")
    });
    let mut admitted = 0;
    for _ in 0..10 {
        admitted += u32::from(is_admitted(&current, &BOOKS, now));
        let (next, events) = Agreement::following(&current, current.terms().clone(), now);
        assert_eq!(events, []);
        current = Arc::new(next);
    }
    assert_eq!(admitted, 5);
    assert_eq!(current.status(now).asked, 10);
    let mut events = Vec::new();
    for _ in 0..6 {
        events.extend(current.ended("one", Served::Failed, now));
        let (next, _) = Agreement::following(&current, current.terms().clone(), now);
        current = Arc::new(next);
    }
    assert_eq!(told(&events).len(), 2);
    assert_eq!(current.standing("one", now.at), Standing::Excluded);
    // Other terms end the window, and what its client did is not lost. The bucket stays.
    let (next, events) = Agreement::following(
        &current,
        AgreementTerms {
            window: Window::Calls(100),
            ..terms("gold")
        },
        now,
    );
    assert_eq!(told(&events), [(Obligation::Rate, 5, 10)]);
    assert!(!is_admitted(&Arc::new(next), &BOOKS, now));
}

/// A record is signed, and names a party: what one did is no word against another one that has the
/// name of the agreement now.
#[test]
fn what_one_party_did_is_never_told_of_another_one() {
    let clock = Clock::new();
    let now = clock.at(Duration::ZERO);
    for (next, known) in [
        (
            AgreementTerms {
                client: "CN=other".to_owned(),
                ..terms("gold")
            },
            false,
        ),
        (
            AgreementTerms {
                service: "maps".to_owned(),
                ..terms("gold")
            },
            false,
        ),
        (
            AgreementTerms {
                backends: vec!["two".to_owned()],
                ..terms("gold")
            },
            true,
        ),
    ] {
        let former = agreement(terms("gold"));
        for _ in 0..6 {
            is_admitted(&former, &BOOKS, now);
        }
        former.ended("one", WEAK, now);
        let (next, events) = Agreement::following(&former, next, now);
        assert_eq!(
            told(&events),
            [(Obligation::Rate, 1, 6), (Obligation::Security, 1, 1)]
        );
        for event in &events {
            let AgreementEvent::Violated(violation) = event else {
                panic!("a violation, found {event:?}");
            };
            let parties = (&*violation.client, &*violation.service);
            assert_eq!(parties, ("CN=client", "books"));
        }
        assert_eq!(told(&next.finish(now)), []);
        // Nor does one pay with the tokens of another one.
        let next = Arc::new(next);
        assert_eq!(next.status(now).admitted > 0, known);
        assert_eq!(is_admitted(&next, &BOOKS, now), !known);
    }
}

/// Otherwise a client would set the pace at which its violations are signed and written.
#[test]
fn a_client_makes_no_more_windows_of_calls_than_one_a_minute() {
    let clock = Clock::new();
    let agreement = agreement(AgreementTerms {
        window: Window::Calls(1),
        ..terms("gold")
    });
    let mut events = Vec::new();
    for since in 0..60_000 {
        events.extend(admit([&agreement], &BOOKS, clock.at(ms(since))).1);
    }
    assert_eq!(events, []);
    // Whoever looks first ends it: the next request, or the clock.
    let told_by = |events: Vec<AgreementEvent>| told(&events);
    let next = admit([&agreement], &BOOKS, clock.at(ms(60_000))).1;
    let admitted = 60 * 10 + 5 - 1;
    assert_eq!(
        told_by(next),
        [(Obligation::Rate, 60_000 - admitted, 60_000)]
    );
    let late = Asked {
        bytes: 1001,
        ..BOOKS
    };
    assert_eq!(admit([&agreement], &late, clock.at(ms(60_001))).1, []);
    assert_eq!(agreement.tick(clock.at(ms(119_999))), []);
    let ended = agreement.tick(clock.at(ms(120_000)));
    assert_eq!(told_by(ended), [(Obligation::Size, 1, 2)]);
}

/// What the former rate would have made the client wait for is not owed at the next one.
#[test]
fn a_rate_that_was_raised_counts_at_once() {
    let clock = Clock::new();
    let at = |rate, burst| AgreementTerms {
        of_client: ClientTerms {
            rate: Rate::parse(rate, Some(burst)),
            ..ClientTerms::default()
        },
        ..terms("gold")
    };
    let former = agreement(at("1/h", 3));
    for _ in 0..3 {
        assert!(is_admitted(&former, &BOOKS, clock.at(ms(0))));
    }
    let (next, _) = Agreement::following(&former, at("100/s", 200), clock.at(ms(0)));
    // A request in hand of the former configuration.
    assert!(!is_admitted(&former, &BOOKS, clock.at(ms(1))));
    let next = Arc::new(next);
    assert!(!is_admitted(&next, &BOOKS, clock.at(ms(1))));
    assert!(is_admitted(&next, &BOOKS, clock.at(ms(10))));
}

#[test]
fn the_end_tells_what_single_requests_did_and_no_share_of_a_part() {
    let clock = Clock::new();
    let now = clock.at(Duration::ZERO);
    let agreement = agreement(terms("gold"));
    agreement.ended("one", Served::Failed, now);
    agreement.ended("one", WEAK, now);
    for _ in 0..6 {
        is_admitted(&agreement, &BOOKS, now);
    }
    assert_eq!(
        told(&agreement.finish(now)),
        [(Obligation::Rate, 1, 6), (Obligation::Security, 1, 2)]
    );
    assert_eq!(agreement.finish(now), []);
}

#[test]
fn backends_that_come_and_go_take_no_memory_without_bound() {
    let clock = Clock::new();
    let agreement = agreement(terms("gold"));
    for name in 0..3000 {
        let backend = format!("backend {name}");
        agreement.ended(&backend, Served::Failed, clock.at(ms(name)));
    }
    assert_eq!(agreement.state().providers.len(), MOST_BACKENDS);
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
