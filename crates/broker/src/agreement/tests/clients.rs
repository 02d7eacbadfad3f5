//! What clients owe: who is let in, and what is refused.

use super::*;

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
