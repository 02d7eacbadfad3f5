//! What the marks of a process keeps to.

use std::sync::atomic::AtomicU32;

use soapstone_testkit::{Elapsed as Passed, at};

use super::shard::EPOCH_SECONDS;
use super::*;

/// A memory whose time elapsed is set as well.
fn measured() -> (ProcessMemory, Passed) {
    let passed = Passed::default();
    let read = passed.clone();
    let elapsed = Elapsed::read_by(move || read.get());
    (ProcessMemory::by(elapsed), passed)
}

fn mark(number: u32, until: i64) -> ReplayKey {
    let mut key = [0; 32];
    key[0] = number.to_le_bytes()[0];
    key[28..].copy_from_slice(&number.to_le_bytes());
    ReplayKey {
        key,
        until: at(until),
        end: End::Proven,
    }
}

#[test]
fn a_mark_is_seen_until_it_expires() {
    let cache = MemoryReplay::new(10);
    cache
        .first_seen(&[mark(1, 60)], at(0))
        .expect("the first time");
    assert_eq!(
        cache.first_seen(&[mark(1, 60)], at(59)).unwrap_err(),
        ReplayError::Seen
    );
    cache
        .first_seen(&[mark(1, 90)], at(60))
        .expect("it is expired");
}

#[test]
fn one_mark_seen_refuses_all_and_remembers_none() {
    let cache = MemoryReplay::new(10);
    cache
        .first_seen(&[mark(1, 60)], at(0))
        .expect("the first time");
    assert_eq!(
        cache
            .first_seen(&[mark(2, 60), mark(1, 60)], at(1))
            .unwrap_err(),
        ReplayError::Seen
    );
    assert_eq!(cache.len(), 1);
    cache
        .first_seen(&[mark(2, 60)], at(2))
        .expect("it was not remembered");
}

#[test]
fn a_full_cache_refuses_until_marks_expire() {
    let cache = MemoryReplay::new(100);
    for number in 0..100 {
        cache
            .first_seen(&[mark(number, 60)], at(0))
            .expect("room is left");
    }
    assert_eq!(
        cache.first_seen(&[mark(100, 60)], at(59)).unwrap_err(),
        ReplayError::Full { capacity: 100 }
    );
    assert_eq!(cache.len(), 100);
    // The epoch in which the marks expire has passed.
    cache
        .first_seen(&[mark(100, 200)], at(60 + EPOCH_SECONDS))
        .expect("the others are expired");
    assert_eq!(cache.len(), 1);
}

#[test]
fn of_many_copies_at_once_one_is_first() {
    let cache = MemoryReplay::new(1000);
    let first = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for number in 0..50 {
                    let marks = [mark(number, 60), mark(number + 1000, 60)];
                    if cache.first_seen(&marks, at(0)).is_ok() {
                        first.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(first.load(Ordering::Relaxed), 50);
    assert_eq!(cache.len(), 100);
}

/// Whoever can set a clock forth and back (RFC 7384, 3.2) would have marks dropped while their
/// messages are good.
#[test]
fn a_clock_that_is_set_forth_and_back_lets_no_copy_in() {
    let (process, elapsed) = measured();
    let cache = MemoryReplay::new(10).within(&process);
    cache
        .first_seen(&[mark(1, 360)], at(0))
        .expect("the first time");
    // A message that the clock of then takes for fresh, in the same shard.
    elapsed.set(400);
    cache
        .first_seen(&[mark(17, 660)], at(400))
        .expect("the first time");
    let problem = "marks that ended like it, by 2027-01-15T08:06:00Z, are dropped, and the clock was set \
                   since: whether the message was seen before is not known";
    assert_eq!(
        cache.first_seen(&[mark(1, 360)], at(60)).unwrap_err(),
        ReplayError::Unavailable {
            problem: problem.to_owned()
        }
    );
    cache
        .first_seen(&[mark(33, 361)], at(61))
        .expect("nothing that ends so late was dropped");
    assert_eq!(cache.len(), 2);
}

/// As shown by `reliability/03`.
#[test]
fn after_an_excursion_of_the_clock_messages_are_accepted_at_once_and_no_copy_ever() {
    let (process, elapsed) = measured();
    let cache = MemoryReplay::new(1000).within(&process);
    let day = 86_400;
    // All in one shard.
    let mark = |number: i64, until| mark(u32::try_from(16 * number).expect("few"), until);
    let offer = |number, until, now| cache.first_seen(&[mark(number, until)], at(now)).map(drop);
    assert_eq!(offer(0, 360, 0), Ok(()));
    // Ten minutes a day ahead.
    for minute in 0..10 {
        elapsed.pass(60);
        let now = day + 60 * minute;
        assert_eq!(offer(minute + 1, now + 360, now), Ok(()));
    }
    for minute in 0..10 {
        elapsed.pass(60);
        let now = 600 + 60 * minute;
        assert_eq!(offer(minute + 100, now + 360, now), Ok(()));
    }
    elapsed.set(day);
    // The clock gets there by itself.
    for minute in 0..10 {
        let now = day + 60 * minute;
        elapsed.set(now);
        assert_eq!(offer(minute + 1, now + 360, now), Err(ReplayError::Seen));
        assert_eq!(offer(minute + 200, now + 361, now), Ok(()));
    }
}

#[test]
fn a_message_that_proves_no_end_is_a_copy_for_its_time_wherever_the_clock_is_set() {
    let (process, elapsed) = measured();
    let cache = MemoryReplay::new(10).within(&process);
    let offer = |now: i64| {
        let mark = ReplayKey {
            end: End::Counted,
            ..mark(1, now + 360)
        };
        cache.first_seen(&[mark], at(now)).map(drop)
    };
    assert_eq!(offer(0), Ok(()));
    elapsed.set(359);
    for now in [86_400, 359, -86_400, 400] {
        assert_eq!(offer(now), Err(ReplayError::Seen), "{now}");
    }
    elapsed.set(361);
    assert_eq!(offer(0), Ok(()));
    // What was dropped of such messages speaks against no others.
    elapsed.set(10_000);
    let other = cache.first_seen(&[mark(17, 360)], at(0));
    assert_eq!(other.map(drop), Ok(()));
    assert_eq!(cache.len(), 1);
}

#[test]
fn what_is_accepted_in_an_excursion_does_not_fill_the_memory_when_the_clock_is_right() {
    let (process, elapsed) = measured();
    let cache = MemoryReplay::new(10).within(&process);
    let day = 86_400;
    for number in 0..10 {
        cache
            .first_seen(&[mark(number, day + 360)], at(day))
            .expect("room is left");
    }
    let fresh = |number, now| {
        cache
            .first_seen(&[mark(number, now + 360)], at(now))
            .map(drop)
    };
    elapsed.set(10);
    assert_eq!(fresh(20, 10), Ok(()));
    assert_eq!(cache.len(), 1);
    // When the clock gets there, none of them is known to be new.
    elapsed.set(day);
    let problem = "marks that ended like it, by 2027-01-16T08:06:00Z, are dropped, and the clock was set \
                   since: whether the message was seen before is not known";
    let problem = problem.to_owned();
    assert_eq!(fresh(3, day), Err(ReplayError::Unavailable { problem }));
    assert_eq!(fresh(3, day + 1), Ok(()));
}

#[test]
fn a_message_that_was_seen_begins_no_opening() {
    let cache = MemoryReplay::new(10);
    let names = [[1; 32]];
    let begin = || {
        let begun = cache.begin(&[mark(1, 60)], &names, at(60), at(0));
        begun.map(|(_, tallies)| tallies)
    };
    assert_eq!(begin(), Ok(vec![Tally::default()]));
    assert_eq!(begin(), Err(ReplayError::Seen));
    let ended = cache.end(&names, Outcome::Failed, at(60), at(0));
    assert_eq!(ended, Ok(vec![Tally { failed: 0, open: 1 }]));
    let again = cache.begin(&[], &names, at(60), at(59));
    let tallies = again.map(|(_, tallies)| tallies);
    assert_eq!(tallies, Ok(vec![Tally { failed: 1, open: 0 }]));
}

/// Two endpoints of one process.
fn endpoints(capacities: [usize; 2]) -> [MemoryReplay; 2] {
    let process = ProcessMemory::default();
    capacities.map(|capacity| MemoryReplay::new(capacity).within(&process))
}

#[test]
fn what_one_endpoint_of_a_process_took_is_a_copy_for_the_others() {
    let [one, other] = endpoints([10, 10]);
    one.first_seen(&[mark(1, 60)], at(0))
        .expect("the first time");
    let copy = other.first_seen(&[mark(1, 60)], at(1)).unwrap_err();
    assert_eq!(copy, ReplayError::Seen);
    // It outlives who took it.
    drop(one);
    let copy = other.first_seen(&[mark(1, 60)], at(59)).unwrap_err();
    assert_eq!(copy, ReplayError::Seen);
    other
        .first_seen(&[mark(1, 90)], at(60))
        .expect("it is expired");
}

#[test]
fn each_endpoint_fills_its_own_room() {
    let [small, large] = endpoints([1, 2]);
    small
        .first_seen(&[mark(1, 60)], at(0))
        .expect("room is left");
    let full = ReplayError::Full { capacity: 1 };
    let refused = small.first_seen(&[mark(2, 60)], at(0)).unwrap_err();
    assert_eq!(refused, full);
    for number in [2, 3] {
        large
            .first_seen(&[mark(number, 60)], at(0))
            .expect("room is left");
    }
    assert_eq!((small.len(), large.len()), (1, 2));
    // A copy is told as one, though there is no room for it.
    let copy = small.first_seen(&[mark(1, 60)], at(1)).unwrap_err();
    assert_eq!(copy, ReplayError::Seen);
    let tally = |replay: &MemoryReplay, name| {
        let begun = replay.begin(&[], &[[name; 32]], at(60), at(0));
        begun.map(|(_, tallies)| tallies[0].open)
    };
    assert_eq!(tally(&small, 1), Ok(0));
    assert_eq!(tally(&large, 1), Ok(1));
    assert_eq!(tally(&small, 2), Err(full));
}

#[test]
fn a_mark_that_another_endpoint_takes_again_leaves_the_room_of_the_first() {
    let [one, other] = endpoints([10, 10]);
    one.first_seen(&[mark(1, 60)], at(0))
        .expect("the first time");
    other
        .first_seen(&[mark(1, 90)], at(60))
        .expect("it is expired");
    assert_eq!((one.len(), other.len()), (0, 1));
}

#[test]
fn what_a_former_store_accepted_and_nobody_remembers_is_refused_until_it_is_expired() {
    let [one, other] = endpoints([10, 10]);
    let mut missed = Doubt::default();
    let elapsed = one.memory().elapsed().clone();
    missed.note(&[mark(1, 60), mark(2, 90)], at(0), &elapsed);
    one.memory().doubt(&missed);
    let problem = "the store that was used before has accepted more messages than this process remembers: \
                   until 2027-01-15T08:01:30Z it is not known whether the message was one of them";
    assert_eq!(
        other.first_seen(&[mark(3, 70)], at(0)).unwrap_err(),
        ReplayError::Unavailable {
            problem: problem.to_owned()
        }
    );
    other
        .first_seen(&[mark(3, 91)], at(0))
        .expect("none of it ends so late");
}

#[test]
fn a_message_without_marks_is_always_first() {
    let cache = MemoryReplay::new(0);
    cache
        .first_seen(&[], at(0))
        .expect("there is nothing to remember");
}

/// WS-Trust 1.4, 6: all endpoints of a process know it, whatever marks they share.
#[test]
fn a_cancelled_assertion_is_cancelled_for_the_process_until_it_ends() {
    use soapstone::cancellations::{cancel, is_cancelled};

    let process = ProcessMemory::default();
    let [mut one, other] = [MemoryReplay::new(10), MemoryReplay::new(10)];
    one.share(&process);
    let mut other = other.apart();
    other.share(&process);
    let name = ("https://sts.example", "_1");
    assert_eq!(is_cancelled(&other, name, at(0)), Ok(false));
    cancel(&one, name, "alice", at(60), at(0)).expect("there is room");
    for _ in 0..2 {
        assert_eq!(is_cancelled(&other, name, at(59)), Ok(true));
    }
    // Neither a part of the name alone, nor one that is cut elsewhere.
    for strange in [
        ("https://sts.example", "_2"),
        ("https://other.example", "_1"),
        ("https://sts.example_", "1"),
    ] {
        assert_eq!(is_cancelled(&other, strange, at(0)), Ok(false));
    }
    assert_eq!(is_cancelled(&other, name, at(60)), Ok(false));
    let full = MemoryReplay::new(1);
    cancel(&full, name, "alice", at(60), at(0)).expect("there is room");
    let refused = cancel(&full, ("https://sts.example", "_2"), "bob", at(60), at(0));
    assert_eq!(refused, Err(ReplayError::Full { capacity: 1 }));
}

#[test]
fn what_is_told_late_of_a_cancelled_assertion_ends_nothing_earlier() {
    use soapstone::cancellations::{cancel, is_cancelled};

    let memory = MemoryReplay::new(10);
    let name = ("https://sts.example", "_1");
    for (by, until) in [("alice", 60), ("bob", 30), ("alice", 30)] {
        cancel(&memory, name, by, at(until), at(0)).expect("there is room");
    }
    assert_eq!(is_cancelled(&memory, name, at(59)), Ok(true));
    assert_eq!(is_cancelled(&memory, name, at(60)), Ok(false));
}
