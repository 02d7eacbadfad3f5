//! Pools as their hosts use them: who is chosen, ejected, tried again and told.
//!
//! The rule kept here: the moment is given, so that nothing waits.

mod needs;

use super::*;
use crate::settings::{Checks, Ejection};
use crate::status::MemberStatus;

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
    // Only those cost something that were sent.
    for (unsent, expected) in [(Unsent, Err(NoRetry::Budget)), (Idempotent, Ok(()))] {
        pool.refund(unsent);
        assert_eq!(repeat(), expected);
    }
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
