//! Stores that answer late, or never.

use std::net::TcpListener;
use std::time::Duration;

use soapstone::config::{Place, ServerAddress, StoreLogin, StoreServers};
use soapstone_broker::{
    AgreementTerms, Class, ClientTerms, ProviderTerms, Served, Share, Standing, Validity,
};

use super::*;

const HOUR: Duration = Duration::from_secs(3600);

/// How often counting is ended while somebody looks: some in a thousand were lost.
const ENDS: usize = 5000;

fn terms() -> AgreementTerms {
    AgreementTerms {
        name: "gold".to_owned(),
        service: "/books".to_owned(),
        client: "CN=client".to_owned(),
        backends: Vec::new(),
        class: Class::Gold,
        validity: Validity {
            from: Duration::ZERO,
            until: Duration::MAX,
        },
        of_client: ClientTerms::default(),
        of_provider: ProviderTerms::default(),
        window: Window::Calls(10),
    }
}

/// The second call that fails excludes its provider.
fn strict() -> Arc<Agreement> {
    let mut terms = terms();
    terms.of_provider.availability = Share::parse("100%");
    terms.of_provider.exclusion = Some(Exclusion {
        after: 2,
        time: HOUR,
    });
    Arc::new(Agreement::new(terms).judged_together())
}

/// A store of which that is the port.
fn store(port: u16) -> Together {
    let config = StoreConfig {
        place: Place::default(),
        servers: StoreServers::Single(ServerAddress {
            host: "127.0.0.1".to_owned(),
            port,
        }),
        tls: None,
        login: StoreLogin::default(),
        sentinel_login: StoreLogin::default(),
        database: 0,
        prefix: "test".to_owned(),
        timeout: Duration::from_secs(2),
        replicas: 0,
        seal_key: None,
        other_seal_key: None,
    };
    let opened = Together::open(&Stores::default(), &config, WhenUnavailable::Refuse);
    opened.expect("no TLS")
}

/// A store that has added up a call that failed, and then was away. Nothing is told yet.
fn store_with_a_strike(agreement: &Arc<Agreement>) -> Together {
    let store = store(1);
    let question = Question {
        agreement: Arc::clone(agreement),
        backend: "one".to_owned(),
        turn: Turn::new(),
        about: About::Calls(ServedCounts::default()),
    };
    let failed = WindowCounts {
        calls: 1,
        failed: 1,
        ..WindowCounts::default()
    };
    let added = Added {
        full: Some((HOUR, failed)),
        excluded: None,
    };
    let mut round = using(agreement);
    store.added(&question, &ServedCounts::default(), added, &mut round);
    assert_eq!(round.events, []);
    store
}

fn failed_once() -> ServedCounts {
    ServedCounts {
        calls: 1,
        failed: 1,
        ..ServedCounts::default()
    }
}

fn using(agreement: &Arc<Agreement>) -> Round<'_> {
    Round {
        in_use: vec![agreement],
        ..Round::default()
    }
}

/// For how long the violations of these events exclude the provider.
fn excluded(events: Vec<AgreementEvent>) -> Vec<Option<Duration>> {
    let told = events.into_iter().map(|event| match event {
        AgreementEvent::Violated(violation) => violation.excluded,
        other => panic!("expected a violation, found {other:?}"),
    });
    told.collect()
}

fn standing(agreement: &Agreement) -> Standing {
    agreement.standing("one", Instant::now())
}

#[test]
fn a_strike_that_is_answered_late_tells_of_the_exclusion_that_it_begins() {
    for (begins, time) in [(true, Some(HOUR)), (false, None)] {
        let agreement = strict();
        let store = store_with_a_strike(&agreement);
        let waiting = std::mem::take(&mut *store.waiting());
        let [question] = &waiting.into_values().collect::<Vec<_>>()[..] else {
            panic!("one question");
        };
        let About::Violations(struck) = &question.about else {
            panic!("a strike");
        };
        assert_eq!(struck.count, 1);
        let mut round = using(&agreement);
        store.struck(question, struck, begins, &mut round);
        assert_eq!(excluded(round.events), [time]);
        assert_eq!(standing(&agreement) == Standing::Excluded, begins);
    }
}

#[test]
fn a_violation_whose_strike_is_not_answered_is_told_in_the_end() {
    let store = store_with_a_strike(&strict());
    assert_eq!(excluded(store.end(Vec::new(), moment())), [None]);
    assert_eq!(store.end(Vec::new(), moment()), []);
}

/// What one gateway found excludes the backend, whatever others have found.
#[test]
fn violations_that_exclude_by_themselves_are_told_at_once() {
    let agreement = strict();
    let mut found = agreement.judge("one", &failed_once(), HOUR, moment());
    found.extend(found.clone());
    let (events, kept) = agreement.judged_alone("one", found, moment());
    assert_eq!((excluded(events), kept.len()), (vec![None, Some(HOUR)], 0));
    assert_eq!(standing(&agreement), Standing::Excluded);
}

#[test]
fn terms_that_were_withdrawn_exclude_nobody() {
    let agreement = strict();
    let store = store_with_a_strike(&agreement);
    let mut terms = agreement.terms().clone();
    terms.of_provider.exclusion = None;
    let (next, _) = Agreement::following(&agreement, terms, moment());
    let next = Arc::new(next.judged_together());
    // The store is still away, and is not asked for an exclusion any more.
    assert_eq!(excluded(store.look(std::iter::once(&next))), [None]);
    let waiting = std::mem::take(&mut *store.waiting());
    let mut waiting = waiting.into_values();
    assert!(waiting.all(|it| matches!(it.about, About::Calls(_))));
    // Others have it nevertheless.
    let question = Question {
        agreement,
        backend: "one".to_owned(),
        turn: Turn::new(),
        about: About::Calls(ServedCounts::default()),
    };
    let added = Added {
        full: None,
        excluded: Some(HOUR),
    };
    let mut round = using(&next);
    store.added(&question, &ServedCounts::default(), added, &mut round);
    store.struck(&question, &told(Instant::now()), true, &mut round);
    assert_eq!(standing(&next), Standing::Party);
}

/// A violation that was told when it was found.
fn told(at: Instant) -> Struck {
    Struck {
        count: 1,
        found: Vec::new(),
        at,
    }
}

#[test]
fn an_exclusion_begins_with_its_violation_whenever_the_store_answers() {
    let since = Instant::now();
    let moments = [HOUR / 2, HOUR, 2 * HOUR].map(|ago| since.checked_sub(ago));
    let [Some(half), Some(whole), Some(long)] = moments else {
        // The clock of this machine has not run for so long.
        return;
    };
    let (agreement, store) = (strict(), store(1));
    let question = || Question {
        agreement: Arc::clone(&agreement),
        backend: "one".to_owned(),
        turn: Turn::new(),
        about: About::Calls(ServedCounts::default()),
    };
    let mut found = agreement.judge("one", &failed_once(), HOUR, moment());
    found.truncate(1);
    for over in [whole, long] {
        // Neither one that was told nor one that was not excludes anybody any more.
        let mut round = using(&agreement);
        store.struck(&question(), &told(over), true, &mut round);
        let struck = Struck {
            found: found.clone(),
            ..told(over)
        };
        store.struck(&question(), &struck, true, &mut round);
        assert_eq!(excluded(round.events), [None]);
        assert_eq!(standing(&agreement), Standing::Party);
    }
    let struck = Struck {
        found,
        ..told(half)
    };
    for struck in [told(half), struck] {
        let mut round = using(&agreement);
        store.struck(&question(), &struck, true, &mut round);
        let at = |after| agreement.standing("one", since + after);
        assert_eq!(at(HOUR / 3), Standing::Excluded);
        assert_eq!(at(HOUR / 2 + HOUR / 60), Standing::Party);
    }
}

#[test]
fn strikes_before_an_exclusion_count_towards_no_other_one() {
    let excluding: [fn(&Arc<Agreement>); 2] = [
        |agreement| agreement.excluded_elsewhere("one", HOUR, moment()),
        |agreement| {
            let found = agreement.judge("one", &failed_once(), HOUR, moment());
            agreement.judged("one", found, Some(Instant::now()), moment());
        },
    ];
    for exclude in excluding {
        let agreement = strict();
        let found = agreement.judge("one", &failed_once(), HOUR, moment());
        agreement.judged_alone("one", found, moment());
        let strikes = || agreement.status(moment()).providers[0].strikes;
        assert_eq!(strikes(), 1);
        exclude(&agreement);
        assert_eq!(strikes(), 0);
        assert_eq!(standing(&agreement), Standing::Excluded);
    }
}

/// Has a call of the provider served, and does that while a store is asked about it which accepts
/// connections and never answers. Returns what the thread that asks tells of in the end.
fn meanwhile(
    agreement: &Arc<Agreement>,
    served: Served<'_>,
    act: impl FnOnce(&Together, &dyn Fn() -> bool),
) -> Vec<AgreementEvent> {
    let hung = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let store = store(hung.local_addr().expect("it is bound").port());
    agreement.ended("one", served, moment());
    assert_eq!(calls(agreement), 1);
    let events = std::thread::scope(|scope| {
        let asking = scope.spawn(|| store.look(std::iter::once(agreement)));
        while calls(agreement) > 0 {
            assert!(!asking.is_finished());
            std::thread::yield_now();
        }
        act(&store, &|| !asking.is_finished());
        asking.join().expect("no panic")
    });
    // Nothing is taken any more.
    let known = calls(agreement);
    assert_eq!(store.look(std::iter::once(agreement)), []);
    assert_eq!(calls(agreement), known);
    events
}

fn calls(agreement: &Agreement) -> u64 {
    agreement.status(moment()).providers[0].calls
}

#[test]
fn calls_about_which_the_store_is_being_asked_come_back_at_the_end() {
    let agreement = strict();
    let events = meanwhile(&agreement, Served::Failed, |store, _| {
        let after = vec![Arc::clone(&agreement)];
        assert_eq!(store.end_and_wait(after, moment()), []);
        assert_eq!(calls(&agreement), 1);
    });
    assert_eq!(events, []);
}

/// The next configuration is taken into use under a lock for which requests wait.
#[test]
fn the_end_of_counting_together_waits_for_no_store() {
    let agreement = strict();
    let mut next = None;
    let events = meanwhile(&agreement, Served::Failed, |store, is_asking| {
        let (same, _) = Agreement::following(&agreement, agreement.terms().clone(), moment());
        let same = next.insert(Arc::new(same));
        assert_eq!(store.end(vec![Arc::clone(same)], moment()), []);
        assert!(is_asking());
        assert_eq!(calls(same), 0);
    });
    assert_eq!(events, []);
    // Whoever asked has given it back.
    assert_eq!(next.map(|next| calls(&next)), Some(1));
}

#[test]
fn calls_under_terms_that_have_ended_come_back_to_no_window() {
    let agreement = strict();
    let events = meanwhile(&agreement, Served::Failed, |store, is_asking| {
        assert_eq!(store.end(Vec::new(), moment()), []);
        assert!(is_asking());
    });
    // A part of a window shows no share.
    assert_eq!(events, []);
    assert_eq!(calls(&agreement), 0);
    let weak = Served::Weak {
        why: "signed by nobody",
        took: None,
    };
    let events = meanwhile(&agreement, weak, |store, _| {
        assert_eq!(store.end(Vec::new(), moment()), []);
    });
    assert_eq!(excluded(events), [None]);
}

#[test]
fn violations_that_are_found_after_the_end_are_told_and_nobody_is_asked() {
    let agreement = strict();
    let store = store(1);
    assert_eq!(store.end(Vec::new(), moment()), []);
    let question = Question {
        agreement: Arc::clone(&agreement),
        backend: "one".to_owned(),
        turn: Turn::new(),
        about: About::Calls(ServedCounts::default()),
    };
    let failed = WindowCounts {
        calls: 1,
        failed: 1,
        ..WindowCounts::default()
    };
    let added = Added {
        full: Some((HOUR, failed)),
        excluded: None,
    };
    let mut round = using(&agreement);
    store.added(&question, &ServedCounts::default(), added, &mut round);
    assert_eq!((round.asked, store.counts().windows), (0, 0));
    assert_eq!(excluded(round.events), [None]);
    assert_eq!(store.look(std::iter::once(&agreement)), []);
}

/// The store is asked under one configuration, and answers under the next one.
#[test]
fn terms_that_the_configuration_after_the_end_has_not_exclude_nobody() {
    let harmless = || {
        let mut terms = terms();
        terms.of_provider.exclusion = None;
        Arc::new(Agreement::new(terms))
    };
    let other = || {
        let mut terms = terms();
        terms.client = "CN=other".to_owned();
        terms.of_provider = strict().terms().of_provider.clone();
        Arc::new(Agreement::new(terms))
    };
    let after: [(Vec<Arc<Agreement>>, bool); 4] = [
        (vec![strict()], true),
        (vec![harmless()], false),
        (vec![other()], false),
        (Vec::new(), false),
    ];
    for (after, excludes) in after {
        let (former, store) = (strict(), store(1));
        assert_eq!(store.end(after.clone(), moment()), []);
        let question = Question {
            agreement: Arc::clone(&former),
            backend: "one".to_owned(),
            turn: Turn::new(),
            about: About::Calls(ServedCounts::default()),
        };
        let enough = WindowCounts {
            calls: 1,
            failed: 1,
            weak: 1,
            ..WindowCounts::default()
        };
        let added = Added {
            full: Some((HOUR, enough)),
            excluded: None,
        };
        let mut round = using(&former);
        store.added(&question, &ServedCounts::default(), added, &mut round);
        assert_eq!(round.asked, 0);
        assert_eq!(excluded(round.events), [None, excludes.then_some(HOUR)]);
        assert_eq!(standing(&former), Standing::Party);
        let expected = match excludes {
            true => Standing::Excluded,
            false => Standing::Party,
        };
        assert!(after.iter().all(|one| standing(one) == expected));
        // What others have found excludes by the same agreements.
        let added = Added {
            full: None,
            excluded: Some(HOUR),
        };
        store.added(
            &question,
            &ServedCounts::default(),
            added,
            &mut using(&former),
        );
        assert_eq!(standing(&former), Standing::Party);
        assert!(after.iter().all(|one| standing(one) == expected));
    }
}

/// A thread looks again and again whether counting has ended, and another one ends it. Neither may
/// leave what waits to the other one.
#[test]
fn whoever_comes_first_at_the_end_what_waits_is_given_back_once() {
    let (agreement, store) = (strict(), store(1));
    let found = agreement.judge("one", &failed_once(), HOUR, moment());
    let name = name_of(&agreement, "one");
    let mut told = [0; ENDS];
    for told in &mut told {
        *store.after() = None;
        let question = Question {
            agreement: Arc::clone(&agreement),
            backend: "one".to_owned(),
            turn: Turn::new(),
            about: About::Violations(Struck {
                found: found.clone(),
                ..self::told(Instant::now())
            }),
        };
        store.waiting().insert(name.clone(), question);
        std::thread::scope(|scope| {
            let (begun, looking) = std::sync::mpsc::channel();
            let store = &store;
            let looks = scope.spawn(move || {
                begun.send(()).expect("the test waits");
                let mut told = 0;
                while !store.has_ended() {
                    told += store.give_back_unless_asking(moment()).len();
                }
                told
            });
            looking.recv().expect("it begins");
            *told += store.end(Vec::new(), moment()).len();
            *told += looks.join().expect("no panic");
        });
    }
    assert_eq!(told, [1; ENDS]);
}

#[test]
fn other_terms_of_a_provider_have_other_windows_and_the_same_exclusions() {
    let terms = terms();
    let name = |terms: &AgreementTerms| name_of(&Agreement::new(terms.clone()), "one");
    let known = name(&terms);
    let mut of_client = terms.clone();
    of_client.of_client.bytes = Some(1);
    assert_eq!(name(&of_client), known);
    let mut longer = terms.clone();
    longer.window = Window::Calls(11);
    let mut stricter = terms.clone();
    stricter.of_provider.availability = Share::parse("99%");
    for changed in [longer, stricter] {
        let changed = name(&changed);
        assert_eq!(changed.provider, known.provider);
        assert_ne!(changed.terms, known.terms);
    }
}
