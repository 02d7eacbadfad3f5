//! What the marks in a file keeps to.

use redb::ReadableDatabase;
use soapstone_testkit::{Elapsed as Passed, Folder as Temporary, at};

use super::*;

/// A folder with a file of marks.
struct Folder(Temporary);

impl Folder {
    fn new() -> Self {
        Self(Temporary::new())
    }

    fn cache(&self, capacity: usize) -> FileReplay {
        FileReplay::open(&self.0.path("marks"), capacity).expect("the folder is writable")
    }

    /// How many marks the file has, expired ones included.
    fn marks(&self) -> u64 {
        let database = Database::open(self.0.path("marks")).expect("nobody uses it");
        let transaction = database.begin_read().expect("it is whole");
        let marks = transaction.open_table(MARKS).expect("it is there");
        marks.len().expect("it is whole")
    }
}

/// A cache whose time elapsed is set as well.
fn measured(folder: &Folder, capacity: usize) -> (FileReplay, Passed) {
    let passed = Passed::default();
    let read = passed.clone();
    let running = Elapsed::read_by(move || read.get());
    (folder.cache(capacity).measured_by(running), passed)
}

fn mark(number: u16, until: i64) -> ReplayKey {
    let mut key = [7; 32];
    key[..2].copy_from_slice(&number.to_be_bytes());
    key[30..].copy_from_slice(&number.to_be_bytes());
    ReplayKey {
        key,
        until: at(until),
        end: End::Proven,
    }
}

#[test]
fn a_second_call_sees_what_the_first_one_remembered() {
    let folder = Folder::new();
    folder
        .cache(10)
        .first_seen(&[mark(1, 60)], at(0))
        .expect("the first time");
    assert_eq!(
        folder
            .cache(10)
            .first_seen(&[mark(1, 60)], at(1))
            .unwrap_err(),
        ReplayError::Seen
    );
    folder
        .cache(10)
        .first_seen(&[mark(1, 120)], at(60))
        .expect("it is expired");
}

#[test]
fn expired_marks_are_dropped_faster_than_new_ones_come() {
    let folder = Folder::new();
    let (cache, elapsed) = measured(&folder, 1000);
    let marks: Vec<ReplayKey> = (0..300).map(|number| mark(number, 60)).collect();
    cache.first_seen(&marks, at(0)).expect("the first time");
    assert_eq!(folder.marks(), 300);
    elapsed.set(61);
    let later = |number: u16| cache.first_seen(&[mark(number, 200)], at(61));
    later(500).expect("the first time");
    assert_eq!(folder.marks(), 300 - CLEARED as u64);
    for number in 501..520 {
        later(number).expect("the first time");
    }
    assert_eq!(folder.marks(), 20);
    assert_eq!(later(500).unwrap_err(), ReplayError::Seen);
}

#[test]
fn what_was_dropped_is_not_admitted_when_the_clock_is_set_back() {
    let folder = Folder::new();
    let (cache, elapsed) = measured(&folder, 1000);
    cache
        .first_seen(&[mark(1, 360)], at(0))
        .expect("the first time");
    elapsed.set(400);
    cache
        .first_seen(&[mark(500, 660)], at(400))
        .expect("the first time");
    let problem = "marks that ended like it, by 2027-01-15T08:06:00Z, are dropped, and the clock was set \
                   since: whether the message was seen before is not known";
    let other = folder.cache(1000);
    assert_eq!(
        other.first_seen(&[mark(1, 360)], at(60)).unwrap_err(),
        ReplayError::Unavailable {
            problem: problem.to_owned()
        }
    );
    other
        .first_seen(&[mark(501, 361)], at(61))
        .expect("nothing that ends so late was dropped");
}

/// The file of a process that was started anew while its clock was a day ahead.
#[test]
fn a_message_that_proves_no_end_is_a_copy_for_its_time_after_a_start_in_an_excursion() {
    let folder = Folder::new();
    let offer = |number, now: i64, running: u64| {
        let mark = ReplayKey {
            end: End::Counted,
            ..mark(number, now + 360)
        };
        let (cache, elapsed) = measured(&folder, 10);
        elapsed.set(running);
        cache.first_seen(&[mark], at(now)).map(drop)
    };
    assert_eq!(offer(1, 0, 1000), Ok(()));
    assert_eq!(offer(1, 86_400, 1359), Err(ReplayError::Seen));
    // The machine was started anew: nobody knows how long that took.
    assert_eq!(offer(2, 86_400, 10), Ok(()));
    assert_eq!(offer(1, 86_400, 369), Err(ReplayError::Seen));
    assert_eq!(offer(1, 0, 371), Ok(()));
}

#[test]
fn a_full_file_refuses() {
    let folder = Folder::new();
    let cache = folder.cache(1);
    cache
        .first_seen(&[mark(1, 60)], at(0))
        .expect("room is left");
    assert_eq!(
        cache.first_seen(&[mark(2, 60)], at(1)).unwrap_err(),
        ReplayError::Full { capacity: 1 }
    );
}

#[test]
fn a_full_file_makes_room_by_dropping_all_that_is_expired() {
    let folder = Folder::new();
    let cache = folder.cache(100);
    let marks: Vec<ReplayKey> = (0..100).map(|number| mark(number, 60)).collect();
    cache.first_seen(&marks, at(0)).expect("room is left");
    let marks: Vec<ReplayKey> = (100..200).map(|number| mark(number, 90)).collect();
    assert_eq!(
        cache.first_seen(&marks, at(59)).unwrap_err(),
        ReplayError::Full { capacity: 100 }
    );
    cache.first_seen(&marks, at(60)).expect("all are expired");
}

#[test]
fn openings_are_counted_by_all_who_use_the_file() {
    let folder = Folder::new();
    let names = [[1; 32], [2; 32]];
    let tally = |failed, open| Tally { failed, open };
    let begin = |number| {
        let marks = [mark(number, 60)];
        let begun = folder.cache(10).begin(&marks, &names, at(60), at(0));
        begun.map(|(_, tallies)| tallies)
    };
    assert_eq!(begin(1), Ok(vec![tally(0, 0); 2]));
    assert_eq!(begin(1), Err(ReplayError::Seen));
    assert_eq!(begin(2), Ok(vec![tally(0, 1); 2]));
    let end = |outcome| folder.cache(10).end(&names, outcome, at(90), at(1));
    assert_eq!(end(Outcome::Failed), Ok(vec![tally(0, 2); 2]));
    assert_eq!(end(Outcome::Succeeded), Ok(vec![tally(1, 1); 2]));
    let cache = folder.cache(2);
    let begin = |name, until, now| {
        let begun = cache.begin(&[], &[name], at(until), at(now));
        begun.map(|(_, tallies)| tallies[0])
    };
    assert_eq!(begin(names[0], 30, 2), Ok(tally(1, 0)));
    assert_eq!(begin(names[0], 30, 89), Ok(tally(1, 1)));
    let full = ReplayError::Full { capacity: 2 };
    assert_eq!(begin([3; 32], 90, 89), Err(full));
    assert_eq!(begin(names[0], 120, 90), Ok(tally(0, 0)));
    assert_eq!(begin([3; 32], 120, 90), Ok(tally(0, 0)));
}

#[test]
fn a_message_that_was_seen_begins_no_opening_and_a_full_store_admits_no_message() {
    let folder = Folder::new();
    let cache = folder.cache(1);
    cache
        .begin(&[mark(1, 60)], &[[1; 32]], at(60), at(0))
        .expect("there is room");
    let end = |outcome| cache.end(&[[1; 32]], outcome, at(60), at(0));
    end(Outcome::Failed).expect("it is there");
    let seen = cache.begin(&[mark(1, 60)], &[[1; 32]], at(60), at(0));
    assert_eq!(seen.unwrap_err(), ReplayError::Seen);
    let again = cache.begin(&[], &[[1; 32]], at(60), at(0));
    let tallies = again.map(|(_, tallies)| tallies);
    assert_eq!(tallies, Ok(vec![Tally { failed: 1, open: 0 }]));
    let cache = FileReplay {
        capacity: 2,
        ..cache
    };
    cache
        .begin(&[], &[[2; 32]], at(60), at(0))
        .expect("there is room");
    let full = cache.begin(&[mark(2, 60)], &[[3; 32]], at(60), at(0));
    assert_eq!(full.unwrap_err(), ReplayError::Full { capacity: 2 });
    assert_eq!(folder.marks(), 1);
}

#[test]
fn a_damaged_file_admits_nothing() {
    let folder = Folder::new();
    let cache = folder.cache(10);
    for damaged in ["nonsense\n", ""] {
        std::fs::write(&cache.path, damaged).expect("the file is writable");
        let refused = cache.first_seen(&[mark(1, 60)], at(0)).unwrap_err();
        let problem = format!("{}: ", cache.path.display());
        assert!(
            matches!(&refused, ReplayError::Unavailable { problem: told } if told.starts_with(&problem)),
            "{refused}"
        );
    }
    std::fs::remove_file(&cache.path).expect("it is there");
    let problem = format!(
        "{}: No such file or directory (os error 2)",
        cache.path.display()
    );
    assert_eq!(
        cache.first_seen(&[mark(1, 60)], at(0)).unwrap_err(),
        ReplayError::Unavailable { problem }
    );
}

#[test]
fn a_file_of_another_form_is_called_what_it_is() {
    let folder = Folder::new();
    let path = folder.0.path("marks");
    let line = format!("{} 1800000060\n", "07".repeat(32));
    for (text, problem) in [
        (
            line.as_str(),
            "an earlier version wrote it, as text; remove it when no message that it names could be accepted \
             any more, `ttl` and `skew` after its last use, or name another file",
        ),
        ("nonsense\n", "it is no file of replay marks"),
    ] {
        std::fs::write(&path, text).expect("the folder is writable");
        let error = FileReplay::open(&path, 10).unwrap_err();
        let expected = format!(
            "the file of replay marks {} cannot be used: {problem}",
            path.display()
        );
        assert_eq!(error.to_string(), expected);
        let kept = std::fs::read_to_string(&path).expect("it is there");
        assert_eq!(kept, text);
    }
}

#[test]
fn whoever_waits_for_the_file_too_long_says_so() {
    let folder = Folder::new();
    let mut cache = folder.cache(10);
    let turn = cache.turn().expect("nobody uses it");
    cache.longest_wait = Duration::from_millis(20);
    let problem = format!("{}: other processes used it for 20ms", cache.path.display());
    assert_eq!(
        cache.first_seen(&[mark(1, 60)], at(0)).unwrap_err(),
        ReplayError::Unavailable { problem }
    );
    drop(turn);
    cache
        .first_seen(&[mark(1, 60)], at(0))
        .expect("it was not remembered");
}

#[test]
fn of_many_copies_at_once_one_is_first() {
    let folder = Folder::new();
    let shared = folder.cache(1000);
    let first = std::sync::atomic::AtomicU32::new(0);
    std::thread::scope(|scope| {
        for number in 0..4 {
            let (shared, folder, first) = (&shared, &folder, &first);
            scope.spawn(move || {
                // As threads of one process, and as processes do.
                let own = folder.cache(1000);
                let cache = if number % 2 == 0 { shared } else { &own };
                for number in 0..20 {
                    match cache.first_seen(&[mark(number, 60)], at(0)) {
                        Ok(_) => {
                            first.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        }
                        Err(error) => assert_eq!(error, ReplayError::Seen),
                    }
                }
            });
        }
    });
    assert_eq!(first.into_inner(), 20);
}

#[test]
fn a_folder_that_does_not_exist_is_reported_at_once() {
    let folder = Folder::new();
    let path = folder.0.path("absent/marks");
    let error = FileReplay::open(&path, 10).unwrap_err();
    let expected = format!(
        "the file of replay marks {}.lock cannot be used: No such file or directory (os error 2)",
        path.display()
    );
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_cancelled_assertion_is_cancelled_for_later_calls() {
    use soapstone::cancellations::{cancel, is_cancelled};

    let folder = Folder::new();
    let name = ("https://sts.example", "_1");
    cancel(&folder.cache(10), name, "alice", at(60), at(0)).expect("there is room");
    let later = folder.cache(10);
    for _ in 0..2 {
        assert_eq!(is_cancelled(&later, name, at(1)), Ok(true));
    }
    let other = ("https://sts.example", "_2");
    assert_eq!(is_cancelled(&later, other, at(1)), Ok(false));
}

#[test]
fn what_is_told_late_ends_nothing_earlier() {
    use soapstone::cancellations::{cancel, is_cancelled};

    let folder = Folder::new();
    let name = ("https://sts.example", "_1");
    for until in [60, 30] {
        let cache = folder.cache(10);
        let ended = cache.end(&[[1; 32]], Outcome::Failed, at(until), at(0));
        ended.expect("there is room");
        cancel(&cache, name, "alice", at(until), at(0)).expect("there is room");
    }
    let later = folder.cache(10);
    assert_eq!(is_cancelled(&later, name, at(59)), Ok(true));
    assert_eq!(is_cancelled(&later, name, at(60)), Ok(false));
    let begun = later.begin(&[], &[[1; 32]], at(120), at(59));
    let failed = begun.map(|(_, tallies)| tallies[0].failed);
    assert_eq!(failed, Ok(2));
}
