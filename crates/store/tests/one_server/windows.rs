//! Windows of calls that processes measure together.

use std::path::Path;
use std::time::Duration;

use soapstone::config::EndpointConfig;
use soapstone_store::{RedisWindows, StoreProblem, Stores, WindowCounts, WindowEnd};

use super::servers::Server;

const HOUR: Duration = Duration::from_secs(3600);
const TEN: WindowEnd = WindowEnd::Calls(10);

/// The windows of a process of its own.
fn windows(port: u16) -> RedisWindows {
    let text = format!(
        "[store]\nurl = \"redis://127.0.0.1:{port}\"\ntimeout = \"30s\"\n[security]\nmechanism = \"sign\"\n"
    );
    let config = EndpointConfig::from_text(&text, Path::new("endpoint.toml"), &|_| None);
    let config = config.unwrap_or_else(|problems| panic!("{problems}"));
    let store = config.store.expect("given");
    Stores::default().windows(&store).expect("it is right")
}

fn counts(calls: u64, late: u64) -> WindowCounts {
    WindowCounts {
        calls,
        late,
        failed: 1,
        weak: 0,
    }
}

fn full(process: &RedisWindows, counts: WindowCounts) -> Option<WindowCounts> {
    let added = process.add("gold", counts, TEN).expect("the store answers");
    added.full.map(|(_, counts)| counts)
}

#[test]
fn one_process_judges_what_all_have_counted_and_each_call_is_in_one_window() {
    let server = Server::start(&[]);
    let (one, other) = (windows(server.port), windows(server.port));
    assert_eq!(full(&one, counts(4, 1)), None);
    assert_eq!(full(&other, counts(4, 2)), None);
    let together = WindowCounts {
        failed: 3,
        ..counts(11, 3)
    };
    assert_eq!(full(&one, counts(3, 0)), Some(together));
    assert_eq!(full(&other, WindowCounts::default()), None);
    // Another provider, or another agreement, is another window.
    assert_eq!(full(&other, counts(9, 0)), None);
    let added = other.add("silver", counts(9, 0), TEN);
    assert_eq!(added.expect("the store answers").full, None);
    assert_eq!(full(&one, counts(1, 0)).map(|it| it.calls), Some(10));
}

/// However many ask at once: all calls are in windows, and each in one.
#[test]
fn calls_that_are_counted_at_once_are_counted_once() {
    let server = Server::start(&[]);
    let judged: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|_| {
                let process = windows(server.port);
                scope.spawn(move || {
                    let windows = (0..50).filter_map(|_| full(&process, counts(1, 0)));
                    windows.map(|it| it.calls).sum::<u64>()
                })
            })
            .collect();
        let sums = threads.into_iter().map(|thread| thread.join());
        sums.map(|it| it.expect("no panic")).sum()
    });
    assert_eq!(judged, 300);
}

#[test]
fn a_window_of_time_ends_when_it_is_over_though_no_call_comes() {
    let server = Server::start(&[]);
    let one = windows(server.port);
    let end = WindowEnd::Time(Duration::from_millis(100));
    let add = |counts| {
        one.add("gold", counts, end)
            .expect("the store answers")
            .full
    };
    assert_eq!(add(WindowCounts::default()), None);
    assert_eq!(add(counts(2, 2)), None);
    std::thread::sleep(Duration::from_millis(110));
    let ended = add(WindowCounts::default()).expect("it is over");
    assert_eq!(ended.1, counts(2, 2));
    assert_eq!(add(WindowCounts::default()), None);
}

#[test]
fn violations_that_processes_find_exclude_a_provider_for_all() {
    let server = Server::start(&[]);
    let (one, other) = (windows(server.port), windows(server.port));
    let strike = |process: &RedisWindows| process.strike("gold", 1, 2, HOUR);
    let excluded = |process: &RedisWindows| {
        let added = process.add("gold", WindowCounts::default(), TEN);
        added.expect("the store answers").excluded
    };
    assert_eq!(strike(&one), Ok(false));
    assert_eq!(excluded(&other), None);
    assert_eq!(strike(&other), Ok(true));
    for process in [&one, &other] {
        assert!(excluded(process).is_some_and(|left| left <= HOUR));
    }
    // Who is excluded is not excluded again.
    assert_eq!(strike(&one), Ok(false));
    assert_eq!(strike(&one), Ok(false));
}

#[test]
fn a_store_that_is_away_takes_nothing() {
    let mut server = Server::start(&[]);
    let one = windows(server.port);
    server.kill();
    let away = one.add("gold", counts(1, 0), TEN);
    assert!(matches!(away, Err(StoreProblem::Away { .. })), "{away:?}");
    let away = one.strike("gold", 1, 1, HOUR);
    assert!(matches!(away, Err(StoreProblem::Away { .. })), "{away:?}");
}
