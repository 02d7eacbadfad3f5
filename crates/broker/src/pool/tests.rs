//! Pools as their hosts use them: who is chosen, ejected, tried again and told.
//!
//! The rule kept here: the moment is given, so that nothing waits.

use super::*;
use crate::claims::Claim;
use crate::needs::Property;
use crate::security::Level;
use crate::settings::{Checks, Ejection};

const TOOK: Duration = Duration::from_millis(2);

fn members<const N: usize>(terms: [Terms; N]) -> impl Iterator<Item = (String, Terms)> {
    let names = ["a", "b", "c", "d"].map(str::to_owned);
    names.into_iter().zip(terms)
}

fn settings(selection: Selection) -> Settings {
    Settings {
        selection,
        ejection: Ejection {
            failures: Some(2),
            share: None,
            ..Ejection::default()
        },
        ..Settings::default()
    }
}

fn pool<const N: usize>(selection: Selection, terms: [Terms; N]) -> Pool {
    Pool::new(settings(selection), members(terms), Dice::new(1))
}

fn three(selection: Selection) -> Pool {
    pool(selection, [(); 3].map(|()| Terms::default()))
}

/// Chooses and ends as told; the index of the member.
fn call(pool: &Pool, now: Instant, outcome: impl Fn(usize) -> Outcome) -> usize {
    let choice = pool.choose(&Ask::default(), now).expect("there is one");
    let index = choice.member.index();
    pool.ended(choice, outcome(index), now);
    index
}

fn answered(_: usize) -> Outcome {
    Outcome::answered(TOOK)
}

fn failing(which: usize, failed: Failed) -> impl Fn(usize) -> Outcome {
    move |index| match index == which {
        true => Outcome::Failed(failed),
        false => answered(index),
    }
}

fn state(pool: &Pool, index: usize, now: Instant) -> &'static str {
    pool.status(now)[index].state.name()
}

#[test]
fn a_member_that_fails_gets_no_calls_then_one_on_trial_then_its_share() {
    let (pool, now) = (three(Selection::RoundRobin), Instant::now());
    let order: Vec<usize> = (0..9)
        .map(|_| call(&pool, now, failing(1, Failed::Broken)))
        .collect();
    assert_eq!(order[..6], [0, 1, 2, 0, 1, 2]);
    assert!(!order[6..].contains(&1), "{order:?}");
    assert_eq!(state(&pool, 1, now), "ejected");
    let later = now + Ejection::default().time;
    assert_eq!(state(&pool, 1, later), "half-open");
    // One call on trial at a time.
    let choices: Vec<Choice> = (0..6)
        .map(|_| pool.choose(&Ask::default(), later).expect("there is one"))
        .collect();
    let on_trial: Vec<&Choice> = choices
        .iter()
        .filter(|choice| choice.member == MemberId(1))
        .collect();
    assert_eq!(on_trial.len(), 1);
    assert_eq!(on_trial[0].reason, Reason::Trial);
    let change = pool.ended(*on_trial[0], answered(1), later);
    assert_eq!(change, Some(Change::Returned));
    assert_eq!(state(&pool, 1, later), "up");
}

#[test]
fn a_trial_that_nobody_waits_for_is_followed_by_another() {
    let (pool, now) = (
        pool(Selection::Random, [(); 2].map(|()| Terms::default())),
        Instant::now(),
    );
    while state(&pool, 0, now) == "up" {
        call(&pool, now, failing(0, Failed::Broken));
    }
    let later = now + Ejection::default().time;
    let trial = || {
        (0..20).find_map(|_| {
            let choice = pool.choose(&Ask::default(), later).expect("there is one");
            (choice.reason == Reason::Trial).then_some(choice)
        })
    };
    let first = trial().expect("half-open");
    assert_eq!(trial(), None);
    pool.ended(first, Outcome::Abandoned, later);
    let second = trial().expect("half-open still");
    let change = pool.ended(second, Outcome::Failed(Failed::Late), later);
    let time = 2 * Ejection::default().time;
    let failed = Failed::Late;
    assert_eq!(change, Some(Change::Ejected { failed, time }));
}

#[test]
fn failures_of_calls_never_eject_more_than_they_may() {
    let (pool, now) = (
        pool(Selection::Random, [(); 4].map(|()| Terms::default())),
        Instant::now(),
    );
    for _ in 0..200 {
        call(&pool, now, |_| Outcome::Failed(Failed::Late));
    }
    let usable = pool.status(now);
    let usable = usable.iter().filter(|status| status.state.is_usable());
    assert_eq!(usable.count(), 2);
}

#[test]
fn all_that_cannot_be_reached_are_ejected_and_tried_all_the_same() {
    let (pool, now) = (three(Selection::Random), Instant::now());
    for _ in 0..50 {
        call(&pool, now, |_| Outcome::Failed(Failed::Unreachable));
    }
    let is_ejected = |status: &MemberStatus| status.state.name() == "ejected";
    assert!(pool.status(now).iter().all(is_ejected));
    let choice = pool.choose(&Ask::default(), now).expect("the last resort");
    assert_eq!(choice.reason, Reason::LastResort);
    let change = pool.ended(choice, answered(0), now);
    assert_eq!(change, Some(Change::Returned));
    let next = pool.choose(&Ask::default(), now).expect("there is one");
    assert_eq!((next.member, next.reason), (choice.member, Reason::Only));
}

#[test]
fn members_that_checks_find_down_get_nothing() {
    let (pool, now) = (three(Selection::RoundRobin), Instant::now());
    for member in pool.ids() {
        for _ in 1..Checks::default().fall {
            assert_eq!(pool.checked(member, false, now), None);
        }
        assert_eq!(pool.checked(member, false, now), Some(Change::Down));
    }
    let refused = pool.choose(&Ask::default(), now);
    assert_eq!(refused, Err(Refusal::Down));
    for _ in 0..Checks::default().rise {
        pool.checked(MemberId(2), true, now);
    }
    assert_eq!(call(&pool, now, answered), 2);
}

#[test]
fn a_limit_holds_and_backups_get_calls_where_no_other_can() {
    let limited = Terms {
        limit: Some(1),
        ..Terms::default()
    };
    let backup = Terms {
        backup: true,
        ..Terms::default()
    };
    let (pool, now) = (
        pool(Selection::LeastLoad, [limited.clone(), limited, backup]),
        Instant::now(),
    );
    let choose = || pool.choose(&Ask::default(), now);
    let (first, second) = (choose().expect("one"), choose().expect("another"));
    assert_ne!(first.member, second.member);
    // Too much to do is no reason for a backup.
    assert_eq!(choose(), Err(Refusal::Busy));
    for choice in [first, second] {
        pool.ended(choice, answered(0), now);
    }
    let unreachable = |index| match index {
        2 => answered(2),
        _ => Outcome::Failed(Failed::Unreachable),
    };
    let order: Vec<usize> = (0..8).map(|_| call(&pool, now, unreachable)).collect();
    let mut of_others = order[..4].to_vec();
    of_others.sort_unstable();
    assert_eq!((of_others, &order[4..]), (vec![0, 0, 1, 1], &[2; 4][..]));
}

#[test]
fn calls_go_where_there_are_fewer_in_hand() {
    let (pool, now) = (
        pool(Selection::LeastLoad, [(); 2].map(|()| Terms::default())),
        Instant::now(),
    );
    // The first one never answers.
    let mut counts = [0, 0];
    for _ in 0..100 {
        let choice = pool.choose(&Ask::default(), now).expect("there is one");
        counts[choice.member.index()] += 1;
        if choice.member.index() == 1 {
            pool.ended(choice, answered(1), now);
        }
    }
    // Alike with none in hand each, at most once.
    assert!(counts[0] <= 1, "{counts:?}");
}

#[test]
fn calls_that_belong_together_stay_together_until_their_member_fails() {
    let (pool, now) = (three(Selection::RoundRobin), Instant::now());
    let ask = Ask {
        affinity: Some(Affinity::of(b"urn:uuid:1")),
        ..Ask::default()
    };
    let home = pool.choose(&ask, now).expect("there is one");
    assert_eq!(home.reason, Reason::Sticky);
    for _ in 0..2 {
        let choice = pool.choose(&ask, now).expect("there is one");
        assert_eq!(choice.member, home.member);
        pool.ended(choice, Outcome::Failed(Failed::Unreachable), now);
    }
    let elsewhere = pool.choose(&ask, now).expect("there is one");
    assert_ne!(elsewhere.member, home.member);
    assert_eq!(pool.choose(&ask, now), Ok(elsewhere));
}

#[test]
fn a_call_goes_to_each_member_once_and_again_only_if_it_may() {
    let (pool, now) = (three(Selection::Random), Instant::now());
    let mut tried = Vec::new();
    for _ in 0..3 {
        let ask = Ask {
            tried: &tried,
            ..Ask::default()
        };
        let choice = pool.choose(&ask, now).expect("there is one");
        assert!(!tried.contains(&choice.member));
        tried.push(choice.member);
    }
    let ask = Ask {
        tried: &tried,
        ..Ask::default()
    };
    assert_eq!(pool.choose(&ask, now), Err(Refusal::Tried));
    use Repeatable::{Idempotent, Once, Unsent};
    for (failed, repeatable, attempts, expected) in [
        (Failed::Unreachable, Unsent, 1, Ok(())),
        (Failed::Broken, Idempotent, 2, Ok(())),
        (Failed::Unavailable, Idempotent, 1, Ok(())),
        (Failed::Broken, Once, 1, Err(NoRetry::Once)),
        (Failed::Late, Idempotent, 1, Err(NoRetry::Failure)),
        (Failed::Unproven, Idempotent, 1, Err(NoRetry::Failure)),
        (Failed::Unreachable, Unsent, 3, Err(NoRetry::Attempts)),
    ] {
        assert_eq!(pool.retry(failed, repeatable, attempts), expected);
    }
    let repeat = || pool.retry(Failed::Broken, Idempotent, 1);
    while repeat().is_ok() {}
    assert_eq!(repeat(), Err(NoRetry::Budget));
}

#[test]
fn a_reload_keeps_what_is_known_of_members_that_stay() {
    let (former, now) = (three(Selection::RoundRobin), Instant::now());
    for _ in 0..6 {
        call(&former, now, failing(1, Failed::Broken));
    }
    let in_hand = former.choose(&Ask::default(), now).expect("there is one");
    let settings = Settings {
        slow_start: Duration::from_secs(10),
        ..settings(Selection::Random)
    };
    let stays = former.name(in_hand.member);
    let names = [("b", true), ("other", false), (stays, true), ("a", false)];
    let members = names.map(|(name, stays)| (name.to_owned(), Terms::default(), stays));
    let next = Pool::following(&former, settings, members, Dice::new(2), now);
    assert_eq!(state(&next, 0, now), "ejected");
    // A member that joins others starts slowly, and those that stay go on.
    assert_eq!(state(&next, 1, now), "starting");
    assert_eq!(next.status(now)[3].answered, 0);
    assert_eq!(state(&next, 2, now), "up");
    assert_eq!(next.status(now)[2].in_hand, 1);
    former.ended(in_hand, answered(0), now);
    assert_eq!(next.status(now)[2].in_hand, 0);
}

#[test]
fn no_call_goes_where_it_is_barred_whatever_fails() {
    let (pool, now) = (three(Selection::Random), Instant::now());
    let ids: Vec<MemberId> = pool.ids().collect();
    let choose = |barred: &[MemberId], tried: &[MemberId]| {
        let ask = Ask {
            barred,
            tried,
            ..Ask::default()
        };
        pool.choose(&ask, now)
    };
    for _ in 0..50 {
        let choice = choose(&ids[..2], &[]).expect("one takes it");
        assert_eq!((choice.member, choice.covering), (ids[2], 1));
        pool.ended(choice, Outcome::Failed(Failed::Unreachable), now);
    }
    assert_eq!(choose(&ids[..2], &ids[2..]), Err(Refusal::Tried));
    assert_eq!(choose(&ids, &[]), Err(Refusal::Uncovered));
}

#[test]
fn one_member_alone_is_never_ejected() {
    let (pool, now) = (
        pool(Selection::LeastLoad, [Terms::default()]),
        Instant::now(),
    );
    for _ in 0..20 {
        call(&pool, now, |_| Outcome::Failed(Failed::Unreachable));
    }
    assert_eq!(state(&pool, 0, now), "up");
}

fn giving(bits: u16) -> Terms {
    let mut terms = Terms::default();
    terms
        .security
        .give(Property::Integrity, Level::Message, bits);
    terms
}

#[test]
fn no_call_goes_below_the_security_that_it_needs_whatever_fails() {
    let terms = [giving(80), giving(112), giving(128)];
    let (pool, now) = (pool(Selection::Random, terms), Instant::now());
    let needs = |bits| Needs {
        properties: vec![Property::Integrity],
        bits,
        ..Needs::nothing()
    };
    let choose = |needs: &Needs| {
        let ask = Ask {
            needs: Some(needs),
            ..Ask::default()
        };
        pool.choose(&ask, now)
    };
    for _ in 0..50 {
        let choice = choose(&needs(112)).expect("two cover it");
        assert_ne!(choice.member.index(), 0);
        pool.ended(choice, Outcome::Failed(Failed::Unreachable), now);
    }
    // Both are ejected now: they are the last resort, and the weak one is none.
    for _ in 0..20 {
        let choice = choose(&needs(112)).expect("two cover it");
        assert_eq!(choice.reason, Reason::LastResort);
        assert_ne!(choice.member.index(), 0);
    }
    for member in pool.ids().skip(1) {
        for _ in 0..Checks::default().fall {
            pool.checked(member, false, now);
        }
    }
    assert_eq!(choose(&needs(112)), Err(Refusal::Down));
    assert_eq!(choose(&needs(192)), Err(Refusal::Uncovered));
    let weak = choose(&needs(80)).expect("the weak one covers it");
    assert_eq!(weak.member.index(), 0);
}

#[test]
fn calls_that_are_in_a_hurry_go_where_the_time_is_known_to_be_met() {
    let (pool, now) = (three(Selection::LeastLoad), Instant::now());
    let answer = |index: usize, took: Duration| {
        let tried: Vec<MemberId> = pool.ids().filter(|id| id.index() != index).collect();
        let ask = Ask {
            tried: &tried,
            ..Ask::default()
        };
        let choice = pool.choose(&ask, now).expect("it is there");
        pool.ended(choice, Outcome::answered(took), now);
    };
    answer(0, Duration::from_millis(400));
    answer(1, Duration::from_millis(20));
    let hurry = |time: u64| {
        let needs = Needs {
            time: Some(Duration::from_millis(time)),
            ..Needs::nothing()
        };
        let ask = Ask {
            needs: Some(&needs),
            ..Ask::default()
        };
        let choice = pool.choose(&ask, now).expect("there is one");
        pool.ended(choice, Outcome::Abandoned, now);
        (choice.member.index(), choice.reason.name())
    };
    for _ in 0..20 {
        assert_eq!(hurry(50).0, 1);
        assert_ne!(hurry(500).0, 2, "unknown is never good");
        assert_eq!(hurry(5), (1, "nearest"));
    }
}

#[test]
fn a_slow_member_gets_next_to_nothing_by_performance() {
    let (pool, now) = (three(Selection::Performance), Instant::now());
    let mut counts = [0_u32; 3];
    for _ in 0..300 {
        let took = |index| Outcome::answered(Duration::from_millis([90, 10, 10][index]));
        counts[call(&pool, now, took)] += 1;
    }
    assert!(counts[0] <= 3, "{counts:?}");
    assert!(counts[1] > 60 && counts[2] > 60, "{counts:?}");
    let verdicts = pool.explain(&Ask::default(), now);
    assert!(verdicts[0].time > verdicts[1].time);
    let later = now + Settings::default().fresh + TOOK;
    assert_eq!(pool.explain(&Ask::default(), later)[1].time, None);
}

fn claims(taken: i64, ms: u64) -> Claims {
    let time = Duration::from_millis(ms);
    let claim = Claim {
        mean: time,
        p95: time,
    };
    Claims {
        taken,
        all: Some(claim),
        operations: Vec::new(),
    }
}

/// Every member reports that its calls take so long.
fn report(pool: &Pool, taken: i64, times: [u64; 3], now: Instant) -> Vec<Change> {
    let reports = pool.ids().zip(times);
    let changes = reports.filter_map(|(id, ms)| pool.reported(id, &claims(taken, ms), now));
    changes.collect()
}

/// A provider that reports next to nothing and takes 500 ms, among two that take 10 ms and say so.
/// In the end it gets no more calls than one that is slow and says so.
#[test]
fn a_lie_about_load_is_worth_nothing_once_a_call_was_answered() {
    let took = |index| Outcome::answered(Duration::from_millis([500, 10, 10][index]));
    let calls_of_first = |claimed: u64| {
        let (pool, mut now) = (three(Selection::Performance), Instant::now());
        report(&pool, 0, [claimed, 10, 10], now);
        let mut got = Vec::new();
        for number in 1..=300 {
            now += Duration::from_millis(50);
            let index = call(&pool, now, took);
            if index == 0 {
                got.push(number);
            }
            report(&pool, number, [claimed, 10, 10], now);
        }
        got
    };
    let (liar, honest) = (calls_of_first(0), calls_of_first(500));
    assert!(honest.len() <= 2, "{honest:?}");
    assert!(liar.len() <= 2, "{liar:?}");
    assert!(liar.iter().all(|number| *number <= 12), "{liar:?}");
}

/// Whoever calls the liar all the same, finds it out.
#[test]
fn a_liar_is_doubted_after_three_reports_that_calls_contradict() {
    let (pool, mut now) = (three(Selection::RoundRobin), Instant::now());
    let took = |index| Outcome::answered(Duration::from_millis([500, 10, 10][index]));
    report(&pool, 0, [1, 10, 10], now);
    let mut found = Vec::new();
    for round in 1..=6 {
        for _ in 0..3 {
            now += Duration::from_millis(10);
            call(&pool, now, took);
        }
        let changes = report(&pool, round, [1, 10, 10], now).into_iter();
        found.extend(changes.map(|change| (round, change)));
    }
    let doubted = Change::Doubted {
        seen: Duration::from_millis(500),
        claimed: Duration::from_millis(1),
    };
    assert_eq!(found, [(4, doubted)]);
    let status = pool.status(now);
    let doubted = status.iter().map(|it| it.doubted);
    assert_eq!(doubted.collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(status[0].claimed, None);
    assert_eq!(status[1].claimed, Some(Duration::from_millis(10)));
    assert!(status[0].contradictions >= 3);
}

/// A promise is none that was seen to be kept.
#[test]
fn what_a_member_claims_of_itself_meets_no_need_for_a_time() {
    let (pool, now) = (three(Selection::Performance), Instant::now());
    report(&pool, 0, [1, 50, 50], now);
    let needs = Needs {
        time: Some(Duration::from_millis(100)),
        ..Needs::nothing()
    };
    let ask = Ask {
        needs: Some(&needs),
        ..Ask::default()
    };
    assert!(pool.explain(&ask, now).iter().all(|it| !it.in_time));
    let ids: Vec<MemberId> = pool.ids().collect();
    let choice = Choice {
        member: ids[1],
        reason: Reason::Measuring,
        covering: 3,
    };
    let took = Outcome::answered(Duration::from_millis(50));
    pool.ended(choice, took, now);
    let verdicts = pool.explain(&ask, now);
    let in_time = verdicts.iter().map(|it| it.in_time);
    assert_eq!(in_time.collect::<Vec<_>>(), [false, true, false]);
    // Nobody who was not called is faster than who was.
    assert_eq!(verdicts[0].time, Some(Duration::from_millis(50)));
    assert_eq!(verdicts[0].seen, None);
    for _ in 0..20 {
        let choice = pool.choose(&ask, now).expect("there is one");
        assert_eq!(choice.member, ids[1], "{}", choice.reason);
        pool.ended(choice, took, now);
    }
    // Nor is anybody nearest to a need by a claim.
    let needs = Needs {
        time: Some(Duration::from_millis(5)),
        ..Needs::nothing()
    };
    let ask = Ask {
        needs: Some(&needs),
        ..Ask::default()
    };
    let choice = pool.choose(&ask, now).expect("there is one");
    assert_eq!((choice.member, choice.reason.name()), (ids[1], "nearest"));
}

/// A provider that nobody has called yet, and that says how it does, is no blind guess.
#[test]
fn members_that_were_not_called_are_ranked_by_what_they_report() {
    let (pool, now) = (three(Selection::Performance), Instant::now());
    report(&pool, 0, [900, 10, 900], now);
    let mut counts = [0_u32; 3];
    for _ in 0..30 {
        let took = |index| Outcome::answered(Duration::from_millis([900, 10, 900][index]));
        counts[call(&pool, now, took)] += 1;
    }
    assert!(counts[1] >= 15, "{counts:?}");
}

/// Who serves calls whose agreement says that of the members.
fn served_under(pool: &Pool, standings: &[Standing], now: Instant) -> Vec<(usize, Reason)> {
    let ask = Ask {
        standings,
        ..Ask::default()
    };
    let serve = |_| {
        let choice = pool.choose(&ask, now).expect("there is one");
        pool.ended(choice, Outcome::answered(TOOK), now);
        (choice.member.index(), choice.reason)
    };
    (0..4).map(serve).collect()
}

#[test]
fn a_call_goes_to_the_provider_of_its_agreement_and_to_others_only_without_it() {
    use Standing::{Excluded, Other, Party};
    let (pool, now) = (three(Selection::RoundRobin), Instant::now());
    let (turn, only, last) = (Reason::Turn, Reason::Only, Reason::LastResort);
    for (standings, expected) in [
        ([Other, Party, Other], [(1, only); 4]),
        ([Excluded, Party, Other], [(1, only); 4]),
        ([Other, Excluded, Excluded], [(0, only); 4]),
        // An agreement never leaves its client without a backend.
        (
            [Excluded, Excluded, Excluded],
            [(0, last), (1, last), (2, last), (0, last)],
        ),
    ] {
        assert_eq!(
            served_under(&pool, &standings, now),
            expected,
            "{standings:?}"
        );
    }
    let pool = three(Selection::RoundRobin);
    let all = served_under(&pool, &[], now);
    assert_eq!(all, [(0, turn), (1, turn), (2, turn), (0, turn)]);
    // Those that are down are no resort.
    for id in pool.ids() {
        for _ in 0..Checks::default().fall {
            pool.checked(id, false, now);
        }
    }
    let ask = Ask {
        standings: &[Excluded, Excluded, Excluded],
        ..Ask::default()
    };
    assert_eq!(pool.choose(&ask, now), Err(Refusal::Down));
}

/// A provider of an agreement that is weaker than the call needs does not get it.
#[test]
fn an_agreement_does_not_weaken_what_a_call_needs() {
    let mut strong = Terms::default();
    strong
        .security
        .give(Property::Integrity, Level::Message, 112);
    let terms = [Terms::default(), strong];
    let (pool, now) = (pool(Selection::RoundRobin, terms), Instant::now());
    let needs = Needs {
        properties: vec![Property::Integrity],
        ..Needs::nothing()
    };
    let ask = Ask {
        needs: Some(&needs),
        standings: &[Standing::Party, Standing::Excluded],
        ..Ask::default()
    };
    for _ in 0..10 {
        let choice = pool.choose(&ask, now).expect("the strong one");
        assert_eq!(choice.member.index(), 1);
        pool.ended(choice, Outcome::answered(TOOK), now);
    }
}

#[test]
fn lower_classes_leave_room_to_higher_ones() {
    let limit = |limit| Terms {
        limit: Some(limit),
        ..Terms::default()
    };
    let now = Instant::now();
    for (class, expected) in [
        (Some(Class::Bronze), 15),
        (Some(Class::Silver), 18),
        (Some(Class::Gold), 20),
        (None, 20),
    ] {
        let pool = pool(Selection::LeastLoad, [limit(20)]);
        let ask = Ask {
            class,
            ..Ask::default()
        };
        let mut count = 0;
        while pool.choose(&ask, now).is_ok() {
            count += 1;
        }
        assert_eq!(count, expected, "{class:?}");
    }
    // One call of a class is never none.
    let pool = pool(Selection::LeastLoad, [limit(1)]);
    let ask = Ask {
        class: Some(Class::Bronze),
        ..Ask::default()
    };
    assert!(pool.choose(&ask, now).is_ok());
    assert_eq!(pool.choose(&ask, now), Err(Refusal::Busy));
}

/// What is told of a choice is what chooses: whoever is chosen was told to be eligible, and where
/// somebody is eligible a call is taken.
#[test]
fn a_member_is_told_to_be_eligible_where_calls_go() {
    let slow = Needs {
        time: Some(Duration::from_millis(5)),
        ..Needs::nothing()
    };
    let strong = Needs {
        properties: vec![Property::Integrity],
        ..Needs::nothing()
    };
    let secure = || {
        let mut terms = Terms::default();
        terms
            .security
            .give(Property::Integrity, Level::Message, 112);
        terms
    };
    let backup = || Terms {
        backup: true,
        ..secure()
    };
    let limited = || Terms {
        limit: Some(1),
        ..secure()
    };
    let now = Instant::now();
    for needs in [&Needs::nothing(), &slow, &strong] {
        for selection in [Selection::RoundRobin, Selection::Performance] {
            let pool = pool(selection, [Terms::default(), secure(), limited(), backup()]);
            let ask = Ask {
                needs: Some(needs),
                ..Ask::default()
            };
            let mut moment = now;
            let mut kept = Vec::new();
            for step in 0..400_u32 {
                let told = pool.explain(&ask, moment);
                let eligible = |index: usize| told[index].prospect.is_eligible();
                match pool.choose(&ask, moment) {
                    Err(why) => assert!(!(0..4).any(eligible), "{why}: {told:?}"),
                    Ok(choice) => {
                        assert!(eligible(choice.member.index()), "{choice:?}: {told:?}");
                        let is_last = choice.reason == Reason::LastResort;
                        let prospect = told[choice.member.index()].prospect;
                        assert_eq!(prospect == Prospect::LastResort, is_last);
                        match step % 7 {
                            0 => kept.push(choice),
                            1 | 2 => drop(pool.ended(choice, answered(0), moment)),
                            _ => {
                                let failed = Outcome::Failed(Failed::Unreachable);
                                pool.ended(choice, failed, moment);
                            }
                        }
                    }
                }
                if kept.len() > 2 {
                    pool.ended(kept.remove(0), answered(0), moment);
                }
                moment += Duration::from_millis(u64::from(step % 5) * 700);
            }
        }
    }
}

#[test]
fn late_and_ejected_members_are_eligible_where_there_is_no_other() {
    let needs = Needs {
        time: Some(Duration::from_millis(5)),
        ..Needs::nothing()
    };
    let ask = Ask {
        needs: Some(&needs),
        ..Ask::default()
    };
    let (pool, now) = (three(Selection::RoundRobin), Instant::now());
    let told = |pool: &Pool| -> Vec<Prospect> {
        let told = pool.explain(&ask, now);
        told.iter().map(|verdict| verdict.prospect).collect()
    };
    assert_eq!(told(&pool), [Prospect::Late; 3]);
    for _ in 0..4 {
        let choice = pool.choose(&ask, now).expect("there is one");
        pool.ended(choice, answered(0), now);
    }
    // One was measured in time: calls go there, and to no other.
    let told_then = told(&pool);
    assert_eq!(told_then.iter().filter(|it| it.is_eligible()).count(), 1);
    assert!(told_then.contains(&Prospect::OthersInTime), "{told_then:?}");
    let ids: Vec<MemberId> = pool.ids().collect();
    for member in ids {
        for _ in 0..2 {
            let choice = Choice {
                member,
                reason: Reason::Only,
                covering: 3,
            };
            pool.ended(choice, Outcome::Failed(Failed::Unreachable), now);
        }
    }
    let told_last = told(&pool);
    assert!(told_last.contains(&Prospect::LastResort), "{told_last:?}");
}
