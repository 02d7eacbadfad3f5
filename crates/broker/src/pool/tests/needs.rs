//! Who is chosen by what a call needs, by what members say of themselves, and by agreements.
//!
//! The rule kept here: nothing that a member says weakens what a call needs.

use super::*;
use crate::claims::Claim;
use crate::needs::Property;
use crate::security::Level;
use crate::verdict::Prospect;

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
