//! Windows of calls that processes measure together.

use std::path::Path;
use std::time::Duration;

use soapstone::config::EndpointConfig;
use soapstone_store::{
    Added, RedisWindows, StoreProblem, Stores, Turn, WindowCounts, WindowEnd, WindowName,
};

use super::servers::Server;

const HOUR: Duration = Duration::from_secs(3600);
/// Longer than what is known of a provider without an exclusion.
const LONG: Duration = Duration::from_secs(60 * 24 * 3600);
const TEN: WindowEnd = WindowEnd::Calls(10);

/// The windows of a process of its own.
fn windows(port: u16) -> RedisWindows {
    windows_of(port, "timeout = \"30s\"")
}

fn windows_of(port: u16, more: &str) -> RedisWindows {
    let text = format!(
        "[store]\nurl = \"redis://127.0.0.1:{port}\"\n{more}\n[security]\nmechanism = \"sign\"\n"
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

/// The window of that provider, by the same terms always.
fn named(provider: &str) -> WindowName {
    WindowName {
        provider: provider.to_owned(),
        terms: "these".to_owned(),
    }
}

fn add(
    process: &RedisWindows,
    provider: &str,
    counts: WindowCounts,
    end: WindowEnd,
) -> Result<Added, StoreProblem> {
    process.add(&Turn::new(), &named(provider), counts, end)
}

fn strike(process: &RedisWindows, after: u32) -> Result<bool, StoreProblem> {
    process.strike(&Turn::new(), &named("gold"), 1, (after, HOUR))
}

fn full(process: &RedisWindows, counts: WindowCounts) -> Option<WindowCounts> {
    let added = add(process, "gold", counts, TEN).expect("the store answers");
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
    let added = add(&other, "silver", counts(9, 0), TEN);
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
        add(&one, "gold", counts, end)
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
    let strike = |process: &RedisWindows| strike(process, 2);
    let excluded = |process: &RedisWindows| {
        let added = add(process, "gold", WindowCounts::default(), TEN);
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

/// The exclusion of a violation that is reported late is over by then.
#[test]
fn a_late_report_takes_neither_fresh_strikes_nor_an_exclusion_away() {
    let server = Server::start(&[]);
    let (one, other) = (windows(server.port), windows(server.port));
    let strike = |process: &RedisWindows, after, time| {
        process.strike(&Turn::new(), &named("gold"), 1, (after, time))
    };
    let late = || strike(&other, 3, Duration::ZERO);
    assert_eq!(strike(&one, 3, HOUR), Ok(false));
    assert_eq!(late(), Ok(false));
    // It is the third one, and begins nothing.
    assert_eq!(late(), Ok(false));
    assert_eq!(strike(&one, 3, LONG), Ok(true));
    assert_eq!(late(), Ok(false));
    assert_eq!(strike(&other, 3, HOUR), Ok(false));
    let added = add(&other, "gold", WindowCounts::default(), TEN);
    let left = added.expect("the store answers").excluded;
    assert!(left.is_some_and(|left| left > LONG - HOUR), "{left:?}");
    let lives: Vec<i64> = server
        .keys()
        .iter()
        .map(|key| server.ask(&["PTTL", key]))
        .collect();
    let longest = lives.into_iter().max().map(i64::unsigned_abs);
    assert!(
        longest.is_some_and(|life| life > LONG.as_millis() as u64),
        "{longest:?}"
    );
}

#[test]
fn a_store_that_is_away_takes_nothing() {
    let mut server = Server::start(&[]);
    let one = windows(server.port);
    server.kill();
    let away = add(&one, "gold", counts(1, 0), TEN);
    assert!(matches!(away, Err(StoreProblem::Away { .. })), "{away:?}");
    let away = strike(&one, 1);
    assert!(matches!(away, Err(StoreProblem::Away { .. })), "{away:?}");
}

/// The store has done what was asked, and its answer is lost: the same is asked again.
#[test]
fn what_is_repeated_with_its_turn_counts_once_and_is_answered_as_before() {
    let server = Server::start(&[]);
    let one = windows(server.port);
    let (turn, name) = (Turn::new(), named("gold"));
    for _ in 0..3 {
        let added = one.add(&turn, &name, counts(6, 0), TEN);
        assert_eq!(added.expect("the store answers").full, None);
    }
    let turn = Turn::new();
    for _ in 0..3 {
        let added = one.add(&turn, &name, counts(6, 1), TEN);
        let full = added.expect("the store answers").full;
        assert_eq!(full.map(|(_, it)| (it.calls, it.late)), Some((12, 1)));
    }
    assert_eq!(full(&one, WindowCounts::default()), None);
    let turn = Turn::new();
    for _ in 0..3 {
        assert_eq!(one.strike(&turn, &name, 1, (2, HOUR)), Ok(false));
    }
    let turn = Turn::new();
    for _ in 0..3 {
        assert_eq!(one.strike(&turn, &name, 1, (2, HOUR)), Ok(true));
    }
}

/// It is written, and no replica has it: so it is asked again, and counted once.
#[test]
fn what_too_few_replicas_have_counts_once() {
    let server = Server::start(&[]);
    let one = windows_of(server.port, "timeout = \"200ms\"\nreplicas = 1");
    let (turn, name) = (Turn::new(), named("gold"));
    for _ in 0..4 {
        let added = one.add(&turn, &name, counts(3, 0), TEN);
        assert!(matches!(added, Err(StoreProblem::Away { .. })), "{added:?}");
        std::thread::sleep(Duration::from_millis(250));
    }
    let other = windows(server.port);
    assert_eq!(full(&other, counts(6, 0)), None);
    assert_eq!(full(&other, counts(1, 0)).map(|it| it.calls), Some(10));
}

#[test]
fn calls_that_were_counted_by_other_terms_are_in_another_window_of_the_same_provider() {
    let server = Server::start(&[]);
    let one = windows(server.port);
    assert_eq!(full(&one, counts(9, 9)), None);
    let changed = WindowName {
        terms: "others".to_owned(),
        ..named("gold")
    };
    let added = one.add(&Turn::new(), &changed, counts(9, 0), TEN);
    assert_eq!(added.expect("the store answers").full, None);
    assert_eq!(strike(&one, 1), Ok(true));
    let added = one.add(&Turn::new(), &changed, counts(1, 0), TEN);
    let added = added.expect("the store answers");
    assert_eq!(added.full.map(|(_, it)| (it.calls, it.late)), Some((10, 0)));
    assert!(added.excluded.is_some());
}

#[test]
fn a_process_that_reads_its_configuration_again_leaves_nothing_more_in_the_store() {
    let server = Server::start(&[]);
    let mut process = windows(server.port);
    let mut keys = Vec::new();
    for reload in 0..20 {
        assert_eq!(strike(&process, 1000), Ok(false));
        let added = add(&process, "gold", counts(1, 0), WindowEnd::Calls(1000));
        assert_eq!(added.expect("the store answers").full, None);
        let mut found = server.keys();
        found.sort();
        let lengths = found.into_iter().map(|key| {
            let length: u64 = server.ask(&["HLEN", &key]);
            (key, length)
        });
        let found: Vec<_> = lengths.collect();
        if reload == 0 {
            keys.clone_from(&found);
        }
        assert_eq!(found, keys);
        process = windows(server.port).following(&process);
    }
    // Another process has a key of its own, which does not stay for long.
    let other = windows(server.port);
    assert_eq!(
        full(&other, WindowCounts::default()).map(|it| it.calls),
        Some(20)
    );
    for key in server.keys() {
        let left: i64 = server.ask(&["PTTL", &key]);
        assert!(left > 0, "{key}");
    }
}
