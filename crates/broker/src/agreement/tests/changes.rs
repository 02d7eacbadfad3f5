//! What stays of an agreement: after a reload, at its end, and of backends that are gone.

use super::*;

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

/// A request keeps the configuration that it began with. Its terms are withdrawn nevertheless.
#[test]
fn terms_that_were_withdrawn_exclude_nobody_and_end_no_window_of_others() {
    let clock = Clock::new();
    let now = clock.at(Duration::ZERO);
    let owing = |provider: ProviderTerms| AgreementTerms {
        of_provider: ProviderTerms {
            availability: Share::parse("100%"),
            reports: true,
            ..provider
        },
        window: Window::Calls(1),
        ..terms("gold")
    };
    let lie = |agreement: &Agreement| {
        let events = agreement.doubted("one", ms(500), ms(1), now);
        told(&events)
    };
    let former = agreement(owing(terms("gold").of_provider));
    let lenient = owing(ProviderTerms::default());
    let (next, _) = Agreement::following(&former, lenient, now);
    for _ in 0..3 {
        assert_eq!(former.ended("one", Served::Failed, now), []);
        assert_eq!(told(&former.ended("one", WEAK, now)).len(), 1);
        assert_eq!(lie(&former).len(), 1);
        let found = former.judge("one", &failed(1), HOUR, now);
        let (events, kept) = former.judged_alone("one", found.clone(), now);
        assert_eq!((events, &kept), (Vec::new(), &found));
        let events = former.judged("one", found, Some(now.at), now);
        assert_eq!(told(&events), [(Obligation::Availability, 1, 1)]);
        former.excluded_elsewhere("one", HOUR, now);
    }
    assert_eq!(next.standing("one", now.at), Standing::Party);
    assert_eq!(next.status(now).providers[0].calls, 0);
    assert_eq!(former.counted(|_| false), []);
    // One that has no successor excludes nobody either.
    let gone = agreement(terms("gold"));
    assert_eq!(gone.withdraw(now), []);
    for _ in 0..3 {
        let found = gone.judge("one", &failed(10), HOUR, now);
        let (events, kept) = gone.judged_alone("one", found, now);
        assert_eq!((events.len(), kept.len()), (0, 1));
    }
    gone.excluded_elsewhere("one", HOUR, now);
    assert_eq!(gone.standing("one", now.at), Standing::Party);
}

fn failed(calls: u64) -> ServedCounts {
    ServedCounts {
        calls,
        failed: calls,
        ..ServedCounts::default()
    }
}

/// What comes back after other terms were taken into use is in no window of theirs.
#[test]
fn calls_that_come_back_after_their_terms_end() {
    let clock = Clock::new();
    let now = clock.at(Duration::ZERO);
    let counts = ServedCounts {
        weak: 1,
        weakness: "unsigned".to_owned(),
        ..failed(2)
    };
    let former = agreement(terms("gold"));
    assert_eq!(former.count_again("one", &counts, now), []);
    assert_eq!(former.status(now).providers[0].calls, 2);
    let longer = AgreementTerms {
        window: Window::Calls(100),
        ..terms("gold")
    };
    let (next, events) = Agreement::following(&former, longer, now);
    assert_eq!(told(&events), [(Obligation::Security, 1, 2)]);
    let events = former.count_again("one", &counts, now);
    assert_eq!(told(&events), [(Obligation::Security, 1, 2)]);
    assert_eq!(next.status(now).providers[0].calls, 0);
}

/// What the store says late of an exclusion takes nothing away.
#[test]
fn a_late_exclusion_ends_none_earlier_and_one_that_is_over_erases_no_strikes() {
    let clock = Clock::new();
    let (begun, now) = (clock.at(Duration::ZERO), clock.at(2 * HOUR));
    let late: [fn(&Agreement, Moment, Moment); 2] = [
        |agreement, begun, now| {
            let found = agreement.judge("one", &failed(10), HOUR, now);
            let events = agreement.judged("one", found, Some(begun.at), now);
            let violated = |event: &AgreementEvent| match event {
                AgreementEvent::Violated(violation) => Some(violation.excluded),
                _ => None,
            };
            let excluded: Vec<_> = events.iter().filter_map(violated).collect();
            assert_eq!(excluded, [None]);
        },
        |agreement, _, now| agreement.excluded_elsewhere("one", Duration::ZERO, now),
    ];
    for report in late {
        let agreement = agreement(terms("gold"));
        let strikes = || agreement.status(now).providers[0].strikes;
        let found = agreement.judge("one", &failed(10), HOUR, now);
        agreement.judged_alone("one", found, now);
        report(&agreement, begun, now);
        assert_eq!(strikes(), 1);
        assert_eq!(agreement.standing("one", now.at), Standing::Party);
        agreement.excluded_elsewhere("one", HOUR, now);
        let nearly_over = clock.at(3 * HOUR - ms(1)).at;
        report(&agreement, begun, now);
        agreement.excluded_elsewhere("one", ms(5), now);
        assert_eq!(agreement.standing("one", nearly_over), Standing::Excluded);
    }
}
