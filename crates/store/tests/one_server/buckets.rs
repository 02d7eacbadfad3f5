//! Token buckets that processes share.

use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use soapstone::config::EndpointConfig;
use soapstone_store::{RedisBuckets, StoreProblem, Stores};

use super::servers::Server;

const HOUR: Duration = Duration::from_secs(3600);

/// The buckets of a process of its own.
fn buckets(port: u16, more: &str) -> RedisBuckets {
    let text = format!(
        "[store]\nurl = \"redis://127.0.0.1:{port}\"\n{more}[security]\nmechanism = \"sign\"\n"
    );
    let config = EndpointConfig::from_text(&text, Path::new("endpoint.toml"), &|_| None);
    let config = config.unwrap_or_else(|problems| panic!("{problems}"));
    let store = config.store.expect("given");
    Stores::default().buckets(&store).expect("it is right")
}

fn is_taken(buckets: &RedisBuckets, name: &str, each: Duration, count: u32) -> bool {
    let taken = buckets.take(name, each, each * count);
    taken.expect("the store answers").is_none()
}

/// However many ask at once, and wherever: no more than the burst comes out.
#[test]
fn processes_that_share_a_bucket_take_together_what_one_of_them_may() {
    let server = Server::start(&[]);
    let taken = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let process = buckets(server.port, "timeout = \"30s\"\n");
            let (process, taken) = (std::sync::Arc::new(process), &taken);
            for _ in 0..4 {
                let process = std::sync::Arc::clone(&process);
                scope.spawn(move || {
                    for _ in 0..100 {
                        if is_taken(&process, "gold", HOUR, 200) {
                            taken.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        }
    });
    assert_eq!(taken.load(Ordering::Relaxed), 200);
    // Another name is another bucket, and so is another prefix.
    let other = buckets(server.port, "prefix = \"other\"\n");
    assert!(is_taken(&other, "gold", HOUR, 200));
    let one = buckets(server.port, "");
    assert!(is_taken(&one, "silver", HOUR, 200));
    assert!(!is_taken(&one, "gold", HOUR, 200));
}

#[test]
fn whoever_waits_as_told_gets_a_token_and_a_full_bucket_is_not_kept() {
    let server = Server::start(&[]);
    let one = buckets(server.port, "");
    let each = Duration::from_millis(20);
    for _ in 0..3 {
        assert!(is_taken(&one, "gold", each, 3));
    }
    let mut waits = 0;
    while waits < 5 {
        let taken = one.take("gold", each, each * 3);
        match taken.expect("the store answers") {
            None => {}
            Some(wait) => {
                assert!(wait <= each, "{wait:?}");
                waits += 1;
                std::thread::sleep(wait + Duration::from_millis(1));
                assert!(is_taken(&one, "gold", each, 3), "it waited as told");
            }
        }
    }
    std::thread::sleep(each * 5);
    assert_eq!(server.keys(), Vec::<String>::new());
}

/// A bucket of an hour's rate, or one of a clock that was set back, keeps nobody waiting for
/// longer than the rate that is asked for.
#[test]
fn a_bucket_is_never_emptier_than_empty() {
    let server = Server::start(&[]);
    let one = buckets(server.port, "");
    assert!(is_taken(&one, "gold", HOUR, 1));
    let key = server.keys().remove(0);
    let each = Duration::from_millis(50);
    let wait = one.take("gold", each, each * 2).expect("the store answers");
    assert!(wait.is_some_and(|wait| wait <= each), "{wait:?}");
    let () = server.ask(&["SET", &key, "9000000000000000"]);
    let wait = one.take("gold", each, each * 2).expect("the store answers");
    assert!(wait.is_some_and(|wait| wait <= each), "{wait:?}");
}

/// A moment since 1970 and a time that is no whole number of microseconds are not added up to
/// something that is a little too late.
#[test]
fn a_bucket_of_one_lets_one_in_whatever_the_rate() {
    let server = Server::start(&[]);
    let one = buckets(server.port, "");
    for seconds in [1, 60, 3600] {
        for count in 1..=100 {
            let rate = format!("{count} in {seconds} s");
            let each = Duration::from_secs(seconds) / count;
            assert!(is_taken(&one, &rate, each, 1), "{rate}");
        }
    }
}

#[test]
fn a_store_that_is_away_or_hangs_is_told_of_in_its_time() {
    let mut server = Server::start(&[]);
    let one = buckets(server.port, "");
    assert!(is_taken(&one, "gold", HOUR, 1));
    server.kill();
    let away = one.take("gold", HOUR, HOUR);
    assert!(matches!(away, Err(StoreProblem::Away { .. })), "{away:?}");
    // The system accepts connections for a listener that never does.
    let hung = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = hung.local_addr().expect("it is bound").port();
    let hanging = buckets(port, "timeout = \"100ms\"\n");
    let begun = Instant::now();
    for _ in 0..50 {
        let away = hanging.take("gold", HOUR, HOUR);
        assert!(matches!(away, Err(StoreProblem::Away { .. })), "{away:?}");
    }
    // Each by itself would take five seconds together.
    assert!(
        begun.elapsed() < Duration::from_secs(4),
        "{:?}",
        begun.elapsed()
    );
}

/// A store that drops keys to make room would fill buckets.
#[test]
fn a_store_that_drops_keys_counts_nothing() {
    let server = Server::start(&["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"]);
    let refused = buckets(server.port, "").take("gold", HOUR, HOUR);
    assert!(
        matches!(refused, Err(StoreProblem::Refuses { .. })),
        "{refused:?}"
    );
}
