//! Replay marks and security contexts in a single Redis.

#[path = "one_server/buckets.rs"]
mod buckets;
#[path = "one_server/clocks.rs"]
mod clocks;
mod servers;
#[path = "one_server/waiting.rs"]
mod waiting;
#[path = "one_server/windows.rs"]
mod windows;

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use servers::{
    Server, at, context, drop_keys, keep_keys, mark, node, node_at, node_in, secret, wait_for,
};
use soapstone::conversation::{ContextStore, StoreUnavailable};
use soapstone::crypto::issue::{self, Template, Validity};
use soapstone::replay::{ReplayCache, ReplayError};
use soapstone_store::{MemoryReplay, ProcessMemory, Replay, StoreProblem};
use soapstone_testkit::{Folder, keys};

#[test]
fn what_one_node_has_accepted_the_other_refuses() {
    let server = Server::start(&[]);
    let (one, other) = (node_at(&server).replay, node_at(&server).replay);
    one.first_seen(&[mark(1, 300), mark(2, 300)], at(0))
        .expect("the first time");
    for marks in [vec![mark(1, 300)], vec![mark(3, 300), mark(2, 300)]] {
        for node in [&one, &other] {
            let refused = node.first_seen(&marks, at(1)).unwrap_err();
            assert_eq!(refused, ReplayError::Seen);
        }
    }
    other
        .first_seen(&[mark(3, 300)], at(1))
        .expect("it was not remembered when its message was refused");
}

#[test]
fn of_many_copies_at_many_nodes_one_is_first() {
    let server = Server::start(&[]);
    let nodes: Vec<Replay> = (0..3).map(|_| node_at(&server).replay).collect();
    let first = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for node in &nodes {
            for _ in 0..3 {
                scope.spawn(|| {
                    for number in 0..50 {
                        let marks = [mark(number, 300), mark(number + 1000, 300)];
                        if node.first_seen(&marks, at(0)).is_ok() {
                            first.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        }
    });
    assert_eq!(first.load(Ordering::Relaxed), 50);
}

#[test]
fn connections_that_the_server_has_closed_are_replaced_without_a_refusal() {
    let server = Server::start(&[]);
    let node = node_at(&server);
    for number in 0..5 {
        node.replay
            .first_seen(&[mark(number, 300)], at(0))
            .expect("the first time");
        let () = server.ask(&["CLIENT", "KILL", "TYPE", "normal"]);
    }
}

#[test]
fn a_store_that_hangs_costs_its_timeout_once_and_then_nothing() {
    // The system accepts connections for a listener that never does.
    let hung = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = hung.local_addr().expect("it is bound").port();
    let node = node(
        &format!("url = \"redis://127.0.0.1:{port}\"\ntimeout = \"200ms\""),
        "",
    );
    let problem = format!("the store of replay marks: 127.0.0.1:{port}: no answer in time");
    let timed = || {
        let start = Instant::now();
        let refused = node.replay.first_seen(&[mark(1, 300)], at(0)).unwrap_err();
        assert_eq!(
            refused,
            ReplayError::Unavailable {
                problem: problem.clone()
            }
        );
        start.elapsed()
    };
    let first = timed();
    assert!((190..2000).contains(&first.as_millis()), "{first:?}");
    // Now and then one call tries again; the others do not wait.
    let slow = (0..1000)
        .filter(|_| timed() > Duration::from_millis(100))
        .count();
    assert!(slow <= 3, "{slow} of 1000 calls waited");
    let found = node
        .contexts
        .find("/", &context(1, 0).name(), at(0))
        .unwrap_err();
    let problem = format!("127.0.0.1:{port}: no answer in time");
    assert_eq!(found, StoreUnavailable::Unreachable { problem });
}

#[test]
fn a_store_that_was_away_is_used_again_when_it_is_back() {
    let mut server = Server::start(&[]);
    let node = node_at(&server);
    node.replay
        .first_seen(&[mark(0, 300)], at(0))
        .expect("the first time");
    server.kill();
    for number in 1..50 {
        let refused = node
            .replay
            .first_seen(&[mark(number, 300)], at(0))
            .unwrap_err();
        assert!(
            matches!(refused, ReplayError::Unavailable { .. }),
            "{refused}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    server.restart();
    let mut number = 100;
    let recovery = wait_for("the store to be used again", || {
        number += 1;
        node.replay.first_seen(&[mark(number, 300)], at(0)).is_ok()
    });
    println!("back {} ms after the server", recovery.as_millis());
    assert!(recovery < Duration::from_secs(3), "{recovery:?}");
}

#[test]
fn a_node_that_may_decide_alone_still_refuses_what_it_has_seen() {
    let mut server = Server::start(&[]);
    let url = format!("url = \"redis://127.0.0.1:{}\"", server.port);
    let node = node(&url, ", when_unavailable = \"accept\"");
    let Replay::Redis(replay) = &node.replay else {
        panic!("not Redis")
    };
    replay
        .first_seen(&[mark(1, 300)], at(0))
        .expect("the first time");
    server.kill();
    replay
        .first_seen(&[mark(2, 300)], at(0))
        .expect("this node has not seen it");
    for number in [1, 2] {
        let refused = replay.first_seen(&[mark(number, 300)], at(1)).unwrap_err();
        assert_eq!(refused, ReplayError::Seen);
    }
    assert_eq!((replay.decided_alone(), replay.unanswered()), (1, 1));
    server.restart();
    wait_for("the store to be used again", || {
        replay.first_seen(&[mark(3, 300)], at(2)).ok();
        !server.keys().is_empty() || replay.first_seen(&[mark(4, 300)], at(2)).is_ok()
    });
    let refused = replay.first_seen(&[mark(2, 300)], at(3)).unwrap_err();
    assert_eq!(refused, ReplayError::Seen, "the store never knew it");
}

#[test]
fn a_node_that_may_decide_alone_has_not_forgotten_what_it_has_seen_when_its_file_is_read_again() {
    let mut server = Server::start(&[]);
    let url = format!("url = \"redis://127.0.0.1:{}\"", server.port);
    let process = ProcessMemory::default();
    let started = || {
        let mut replay = node(&url, ", when_unavailable = \"accept\"").replay;
        replay.share(&process);
        replay
    };
    let before = started();
    server.kill();
    before
        .first_seen(&[mark(1, 300)], at(0))
        .expect("this node has not seen it");
    let mut again = started();
    again.follow(&before);
    let refused = again.first_seen(&[mark(1, 300)], at(1)).unwrap_err();
    assert_eq!(refused, ReplayError::Seen);
}

#[test]
fn a_node_whose_own_memory_is_full_goes_by_the_word_of_the_store_and_decides_nothing_alone() {
    let mut server = Server::start(&[]);
    let url = format!("url = \"redis://127.0.0.1:{}\"", server.port);
    let node = node(&url, ", when_unavailable = \"accept\", capacity = 2");
    for (number, until) in [(1, 300), (2, 300), (3, 320)] {
        node.replay
            .first_seen(&[mark(number, until)], at(0))
            .expect("the store has room");
    }
    let refused = node.replay.first_seen(&[mark(3, 320)], at(1)).unwrap_err();
    assert_eq!(refused, ReplayError::Seen);
    server.kill();
    let refused = node.replay.first_seen(&[mark(4, 300)], at(1)).unwrap_err();
    assert_eq!(refused, ReplayError::Full { capacity: 2 });
    // Messages that the store accepts meanwhile find room, and put the end off no further.
    server.restart();
    wait_for("the store to be used again", || {
        let accepted = node.replay.first_seen(&[mark(5, 330)], at(310));
        accepted.is_ok()
    });
    server.kill();
    // There is room again before the last message has ended that the node has seen and does not
    // remember. One that ends at another time is none of these.
    for (until, expected) in [(320, Err(ReplayError::Full { capacity: 2 })), (600, Ok(()))] {
        let decided = node.replay.first_seen(&[mark(6, until)], at(309));
        assert_eq!(decided.map(drop), expected);
    }
}

#[test]
fn a_store_without_memory_refuses_even_where_a_node_may_decide_alone() {
    let server = Server::start(&["--maxmemory", "100kb", "--maxmemory-policy", "noeviction"]);
    let url = format!("url = \"redis://127.0.0.1:{}\"", server.port);
    let node = node(&url, ", when_unavailable = \"accept\"");
    let problem = "the store of replay marks: the store has no memory left".to_owned();
    let refused = node.replay.first_seen(&[mark(1, 300)], at(0)).unwrap_err();
    assert_eq!(refused, ReplayError::Unavailable { problem });
    let refused = node.contexts.insert("/", &context(1, 0)).unwrap_err();
    assert_eq!(refused, StoreUnavailable::Full { capacity: None });
}

/// A reload that names another store, or none: what this node accepted stays known to it.
#[test]
fn what_a_node_accepted_is_known_whatever_store_follows() {
    let (first, second) = (Server::start(&[]), Server::start(&[]));
    let process = ProcessMemory::default();
    let shared = |mut replay: Replay| {
        replay.share(&process);
        replay
    };
    let one = shared(node_at(&first).replay);
    one.first_seen(&[mark(1, 300)], at(0))
        .expect("the first time");
    let memory = || Replay::Memory(MemoryReplay::new(10));
    for mut next in [memory(), node_at(&second).replay, node_at(&first).replay] {
        next.share(&process);
        next.follow(&one);
        one.retire([&next]);
        let copy = next.first_seen(&[mark(1, 300)], at(1)).unwrap_err();
        assert_eq!(copy, ReplayError::Seen);
    }
    // And the other way round, the store has lost its marks meanwhile.
    let before = shared(memory());
    before
        .first_seen(&[mark(2, 300)], at(0))
        .expect("the first time");
    let () = first.ask(&["FLUSHALL"]);
    for number in [1, 2] {
        let copy = one.first_seen(&[mark(number, 300)], at(1)).unwrap_err();
        assert_eq!(copy, ReplayError::Seen);
    }
}

/// Nobody is told to try again and refused as his own copy then.
#[test]
fn a_message_that_the_store_did_not_answer_for_is_no_copy_later() {
    let mut server = Server::start(&[]);
    let node = node_at(&server);
    server.kill();
    let refused = node.replay.first_seen(&[mark(1, 300)], at(0)).unwrap_err();
    assert!(
        matches!(refused, ReplayError::Unavailable { .. }),
        "{refused}"
    );
    server.restart();
    wait_for("the store to be used again", || {
        node.replay.first_seen(&[mark(1, 300)], at(0)).is_ok()
    });
}

#[test]
fn a_node_that_found_no_room_for_what_its_store_accepted_says_so_to_whoever_follows() {
    let server = Server::start(&[]);
    let process = ProcessMemory::default();
    let url = format!("url = \"redis://127.0.0.1:{}\"", server.port);
    let with_room_for_one = || {
        let mut replay = node(&url, ", capacity = 1").replay;
        replay.share(&process);
        replay
    };
    let one = with_room_for_one();
    for number in [1, 2] {
        one.first_seen(&[mark(number, 300)], at(0))
            .expect("the store has room");
    }
    // With the same store nothing is in doubt.
    let mut same = with_room_for_one();
    same.follow(&one);
    one.retire([&same]);
    same.first_seen(&[mark(3, 200)], at(1))
        .expect("the store has room");
    let memory = Replay::Memory(MemoryReplay::new(10).within(&process));
    // A route that is renamed has the same store, too.
    let mut renamed = with_room_for_one();
    renamed.know(&same);
    same.retire([&memory, &renamed]);
    memory
        .first_seen(&[mark(6, 200)], at(1))
        .expect("nothing is in doubt");
    same.retire([&memory]);
    let other = with_room_for_one();
    for follower in [&memory, &other] {
        let problem = format!(
            "the store that was used before has accepted more messages than this process remembers: until {} it is \
             not known whether the message was one of them",
            at(300)
        );
        let refused = follower.first_seen(&[mark(2, 300)], at(299)).unwrap_err();
        assert_eq!(refused, ReplayError::Unavailable { problem });
    }
    // A request in hand, which still has the former configuration.
    same.first_seen(&[mark(4, 400)], at(300))
        .expect("the store has room");
    let refused = memory.first_seen(&[mark(5, 400)], at(301)).unwrap_err();
    let end = at(400).to_string();
    assert!(refused.to_string().contains(&end), "{refused}");
    memory
        .first_seen(&[mark(5, 401)], at(301))
        .expect("none of it ends so late");
}

#[test]
fn a_store_that_drops_keys_to_make_room_is_refused() {
    let server = Server::start(&["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"]);
    let node = node_at(&server);
    let problem = format!(
        "the store of replay marks: 127.0.0.1:{}: the server drops keys to make room (maxmemory-policy allkeys-lru): \
         it must be noeviction",
        server.port
    );
    let refused = node.replay.first_seen(&[mark(1, 300)], at(0)).unwrap_err();
    assert_eq!(refused, ReplayError::Unavailable { problem });
}

/// Case `reliability/07`: the policy changes while nodes are connected.
#[test]
fn a_server_that_drops_keys_is_refused_though_nodes_are_connected_to_it() {
    let server = Server::start(&[]);
    let (one, other) = (node_at(&server), node_at(&server));
    for number in 0..300 {
        one.replay
            .first_seen(&[mark(number, 300)], at(0))
            .expect("the first time");
    }
    other
        .replay
        .first_seen(&[mark(1000, 300)], at(0))
        .expect("the first time");
    assert_eq!(other.stores.problems(), []);
    drop_keys(&server);
    assert!(server.keys().len() < 301, "marks were dropped");
    let problem = |problem: &str| format!("127.0.0.1:{}: {problem}", server.port);
    let policy = problem(
        "the server drops keys to make room (maxmemory-policy allkeys-random): it must be noeviction",
    );
    for number in 0..300 {
        let refused = other.replay.first_seen(&[mark(number, 300)], at(1));
        let problem = format!("the store of replay marks: {policy}");
        assert_eq!(
            refused.unwrap_err(),
            ReplayError::Unavailable { problem },
            "message {number}"
        );
    }
    assert_eq!(
        other.stores.problems(),
        [StoreProblem::Refuses { problem: policy }]
    );
    // Its marks are lost, whatever it is told then.
    keep_keys(&server);
    let lost = problem("the server has dropped ");
    for number in 0..300 {
        let refused = other.replay.first_seen(&[mark(number, 300)], at(1));
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(&lost), "message {number}: {refused}");
    }
    let check = other.stores.problems()[0].to_string();
    assert!(check.starts_with(&lost), "{check}");
    // Nor does a reload make it forget, which opens connections anew.
    let mut again = node_at(&server).replay;
    again.know(&other.replay);
    let refused = again.first_seen(&[mark(0, 300)], at(1)).unwrap_err();
    assert!(refused.to_string().contains(&lost), "{refused}");
    // What is refused is not written.
    let before = server.keys();
    let () = server.ask(&["CONFIG", "RESETSTAT"]);
    other
        .replay
        .first_seen(&[mark(2000, 300)], at(1))
        .unwrap_err();
    assert_eq!(server.keys(), before);
}

#[test]
fn a_write_that_too_few_replicas_have_does_not_count() {
    let server = Server::start(&[]);
    let url = format!(
        "url = \"redis://127.0.0.1:{}\"\nreplicas = 1\ntimeout = \"1s\"",
        server.port
    );
    let node = node(&url, "");
    let problem = format!(
        "127.0.0.1:{}: fewer than 1 replicas have the write",
        server.port
    );
    let start = Instant::now();
    let refused = node.replay.first_seen(&[mark(1, 300)], at(0)).unwrap_err();
    let waited = start.elapsed();
    let expected = format!("the store of replay marks: {problem}");
    assert_eq!(refused, ReplayError::Unavailable { problem: expected });
    let start = Instant::now();
    let refused = node.contexts.insert("/", &context(1, 0)).unwrap_err();
    assert_eq!(refused, StoreUnavailable::Unreachable { problem });
    assert!(start.elapsed() < waited, "the second one does not wait");
    let found = node.contexts.find("/", &context(1, 0).name(), at(0));
    assert!(matches!(found, Ok(None)), "what is only read goes on");
}

#[test]
fn what_rests_in_the_store_shows_no_secret_and_opens_in_its_own_place_only() {
    let server = Server::start(&[]);
    let store = node_at(&server).contexts;
    for number in [1, 2] {
        store
            .insert("/books", &context(number, 0))
            .expect("there is room");
    }
    let keys = server.keys();
    let values: Vec<Vec<u8>> = keys
        .iter()
        .map(|key| server.ask(&["HGET", key, "-"]))
        .collect();
    let shown =
        |hidden: &[u8], octets: &[u8]| octets.windows(hidden.len()).any(|part| part == hidden);
    for (key, value) in keys.iter().zip(&values) {
        for hidden in ["sesame", "alice", "urn:uuid", "books"] {
            assert!(!shown(hidden.as_bytes(), value), "{hidden} is in a value");
            assert!(!key.contains(hidden), "{hidden} is in {key}");
        }
        for number in [1, 2] {
            // Any eight bytes of it would be too many.
            for part in secret(number).windows(8) {
                assert!(!shown(part, value), "a part of a secret is in a value");
            }
        }
    }
    // Exchanged by somebody who can write to the store.
    let mut connection = server.connect();
    for (key, value) in keys.iter().zip(values.iter().rev()) {
        let () = redis::cmd("HSET")
            .arg(key)
            .arg("-")
            .arg(value)
            .query(&mut connection)
            .expect("it is written");
    }
    for number in [1, 2] {
        let name = context(number, 0).name();
        let expected = StoreUnavailable::Unreadable {
            identifier: name.identifier.clone(),
        };
        assert_eq!(store.find("/books", &name, at(1)).unwrap_err(), expected);
    }
}

#[test]
fn an_idle_conversation_takes_less_than_a_kilobyte_and_a_half_of_the_store() {
    let server = Server::start(&[]);
    let node = node_at(&server);
    let owner = issue::self_signed(
        keys::key(keys::RSA),
        &Template::new("CN=client,O=Example", Validity::days(at(0), 365)).expect("a template"),
    )
    .expect("a certificate");
    let mut by_certificate = context(1, 0);
    by_certificate.owner = soapstone::wss::ContextOwner::Certificate(owner.certificate().clone());
    for (what, context, most) in [
        ("with a certificate", by_certificate, 1536_i64),
        ("with a user's name", context(2, 0), 512),
    ] {
        let before = server.keys();
        node.contexts
            .insert("/books", &context)
            .expect("there is room");
        let key = server
            .keys()
            .into_iter()
            .find(|key| !before.contains(key))
            .expect("a key");
        let used: i64 = server.ask(&["MEMORY", "USAGE", &key]);
        println!("a conversation {what}: {used} bytes of Redis");
        assert!(used <= most, "{used}");
    }
    node.replay
        .first_seen(&[mark(1, 300)], at(0))
        .expect("the first time");
    let used: i64 = server.ask(&[
        "MEMORY",
        "USAGE",
        "soapstone:seen:00000001000000000000000000000000",
    ]);
    println!("a replay mark: {used} bytes of Redis");
    assert!(used <= 160, "{used}");
}

#[test]
fn passwords_databases_and_mutual_tls_are_used() {
    let folder = Folder::with_keys(keys::RSA, &["server", "client"]);
    let path = |name: &str| folder.path(name).display().to_string();
    let port = servers::free_port();
    let text = port.to_string();
    let _server = Server::start_at(
        port,
        &[
            "--port",
            "0",
            "--tls-port",
            &text,
            "--tls-cert-file",
            &path("server.cert.pem"),
            "--tls-key-file",
            &path("server.key.pem"),
            "--tls-ca-cert-file",
            &path("ca.cert.pem"),
            "--requirepass",
            "open sesame",
        ],
    );
    let tls = "tls = { ca = \"ca.cert.pem\", certificate = \"client.cert.pem\", key = \"client.key.pem\" }\ntimeout = \"2s\"";
    let url = format!("url = \"rediss://:open%20sesame@localhost:{port}/3\"\n{tls}");
    let node = node_in(folder.root(), &url, "");
    node.replay
        .first_seen(&[mark(1, 300)], at(0))
        .expect("the first time");
    let refused = node.replay.first_seen(&[mark(1, 300)], at(0)).unwrap_err();
    assert_eq!(refused, ReplayError::Seen);
    // Another password, another authority, no certificate of ours, no TLS.
    for (wrong, expected) in [
        (
            format!("url = \"rediss://:sesame@localhost:{port}\"\n{tls}"),
            "WRONGPASS",
        ),
        (
            format!("url = \"rediss://:open%20sesame@localhost:{port}\"\ntls = true"),
            "UnknownIssuer",
        ),
        (
            format!(
                "url = \"rediss://:open%20sesame@localhost:{port}\"\ntls = {{ ca = \"ca.cert.pem\" }}"
            ),
            "CertificateRequired",
        ),
        (
            format!("url = \"redis://:open%20sesame@localhost:{port}\""),
            "localhost",
        ),
    ] {
        let refused = node_in(folder.root(), &wrong, "")
            .replay
            .first_seen(&[mark(2, 300)], at(0))
            .unwrap_err();
        assert!(
            matches!(&refused, ReplayError::Unavailable { problem } if problem.contains(expected)),
            "{refused}"
        );
        assert!(!refused.to_string().contains("sesame"), "{refused}");
    }
}
