//! Replay marks in a file: processes that are killed while they write, and what many marks cost.

#[path = "servers/moments.rs"]
mod moments;

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use moments::{at, mark};
use soapstone::replay::{ReplayCache, ReplayError};
use soapstone_store::FileReplay;
use soapstone_testkit::Folder;

const CAPACITY: usize = 1_000_000;

/// Names the file for a process that is to be killed.
const FILE: &str = "SOAPSTONE_TEST_FILE";
/// The number of the first message that it sees.
const FIRST: &str = "SOAPSTONE_TEST_FIRST";

/// How often a process is killed.
const KILLED: u32 = 16;

/// Not a test by itself: sees messages one after the other, and prints the numbers of those that it
/// admits, until it is killed.
#[test]
fn sees_messages_until_it_is_killed() {
    let Some(path) = std::env::var_os(FILE) else {
        return;
    };
    let first = std::env::var(FIRST).expect("it is set");
    let cache = FileReplay::open(Path::new(&path), CAPACITY).expect("the file is usable");
    let mut out = std::io::stdout();
    for number in first.parse().expect("a number").. {
        match cache.first_seen(&[mark(number, 300), mark(1_000_000 + number, 300)], at(0)) {
            Ok(_) => {
                writeln!(out, "admitted {number}").expect("somebody reads it");
                out.flush().expect("somebody reads it");
            }
            Err(error) => assert_eq!(error, ReplayError::Seen),
        }
    }
}

fn start(path: &Path, first: u32, admitted: mpsc::Sender<u32>) -> Child {
    let mut child = Command::new(std::env::current_exe().expect("it runs"))
        .args(["--exact", "sees_messages_until_it_is_killed", "--nocapture"])
        .env(FILE, path)
        .env(FIRST, first.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("this program runs");
    let out = BufReader::new(child.stdout.take().expect("it is piped"));
    std::thread::spawn(move || {
        for line in out.lines().map_while(Result::ok) {
            // The first one follows what the test program prints.
            let number = line.split("admitted ").nth(1);
            if let Some(Ok(number)) = number.map(str::parse) {
                admitted.send(number).ok();
            }
        }
    });
    child
}

/// Two processes see the same messages, and one of them is killed again and again while it writes.
#[test]
fn processes_that_are_killed_admit_nothing_twice_and_lose_nothing() {
    let folder = Folder::new();
    let path = folder.path("marks");
    let (sender, receiver) = mpsc::channel();
    let mut steady = start(&path, 0, sender.clone());
    let mut admitted = HashSet::new();
    let mut take = |number: u32| {
        assert!(admitted.insert(number), "{number} was admitted twice");
        number
    };
    let mut latest: u32 = 0;
    for round in 0..KILLED {
        // It begins with messages that were admitted before.
        let mut killed = start(&path, latest.saturating_sub(10), sender.clone());
        let wait = Duration::from_millis(u64::from(30 + 7 * round));
        let start = Instant::now();
        let mut seen = 0;
        while seen < 3 || start.elapsed() < wait {
            let number = receiver
                .recv_timeout(Duration::from_secs(60))
                .expect("messages are admitted");
            latest = latest.max(take(number));
            seen += 1;
        }
        // A message takes some milliseconds: the kill meets another part of it each time.
        std::thread::sleep(Duration::from_millis(u64::from(round % 8)));
        killed.kill().expect("it runs");
        killed.wait().expect("it was started");
    }
    steady.kill().expect("it runs");
    steady.wait().expect("it was started");
    drop(sender);
    receiver.iter().for_each(|number| {
        take(number);
    });
    let cache = FileReplay::open(&path, CAPACITY).expect("the file is usable");
    println!("{} messages, {KILLED} processes killed", admitted.len());
    for number in admitted {
        for number in [number, 1_000_000 + number] {
            let copy = cache.first_seen(&[mark(number, 300)], at(1));
            assert_eq!(copy.unwrap_err(), ReplayError::Seen, "message {number}");
        }
    }
    cache
        .first_seen(&[mark(3_000_000, 300)], at(1))
        .expect("it was never seen");
}

/// A message reads and writes a few pages, however many marks there are.
#[test]
fn a_hundred_thousand_marks_take_less_than_twice_the_time_of_a_thousand() {
    let folder = Folder::new();
    let filled = |name: &str, marks: u32| {
        let cache = FileReplay::open(&folder.path(name), CAPACITY);
        let cache = cache.expect("the folder is writable");
        let marks: Vec<_> = (0..marks).map(|number| mark(number, 300)).collect();
        cache.first_seen(&marks, at(0)).expect("the first time");
        cache
    };
    let caches = [filled("few", 1_000), filled("many", 100_000)];
    let mut times: [Vec<Duration>; 2] = Default::default();
    // In turns, so that whatever else the machine does meets both.
    for number in 0..200 {
        for (cache, times) in caches.iter().zip(&mut times) {
            let start = Instant::now();
            cache
                .first_seen(&[mark(500_000 + number, 300)], at(0))
                .expect("the first time");
            times.push(start.elapsed());
        }
    }
    let [few, many] = times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    });
    println!("a message: {few:?} beside 1,000 marks, {many:?} beside 100,000");
    assert!(many < 2 * few, "{many:?} beside {few:?}");
}
