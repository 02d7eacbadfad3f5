//! A primary with replicas and Sentinels, and what is left when the primary is killed under load.

mod servers;

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use servers::{Node, Server, at, context, drop_keys, mark, node, secret, wait_for};
use soapstone::conversation::ContextStore;
use soapstone::replay::{ReplayCache, ReplayError};
use soapstone::wss::SecurityContext;
use soapstone_store::StoreProblem;

struct Watched {
    primary: Server,
    _replicas: Vec<Server>,
    sentinels: Vec<Server>,
}

impl Watched {
    fn start() -> Self {
        let primary = Server::start(&[]);
        let port = primary.port.to_string();
        let replicas: Vec<Server> = (0..2)
            .map(|_| {
                Server::start(&[
                    "--replicaof",
                    "127.0.0.1",
                    &port,
                    "--repl-diskless-sync-delay",
                    "0",
                ])
            })
            .collect();
        wait_for("the replicas to follow", || {
            let text: String = primary.ask(&["INFO", "replication"]);
            text.matches("state=online").count() == 2
        });
        let sentinels: Vec<Server> = (0..3)
            .map(|_| Server::start_sentinel(primary.port))
            .collect();
        for sentinel in &sentinels {
            wait_for("the Sentinels to know each other and the replicas", || {
                let text: String = sentinel.ask(&["INFO", "sentinel"]);
                text.contains("slaves=2,sentinels=3")
            });
        }
        Self {
            primary,
            _replicas: replicas,
            sentinels,
        }
    }

    fn node(&self) -> Node {
        let ports: Vec<String> = self
            .sentinels
            .iter()
            .map(|sentinel| format!("\"127.0.0.1:{}\"", sentinel.port))
            .collect();
        let store = format!(
            "sentinels = [{}]\nmaster = \"soapstone\"\nreplicas = 1\ntimeout = \"1s\"",
            ports.join(", ")
        );
        node(&store, "")
    }
}

#[test]
fn no_replay_is_accepted_and_no_conversation_lost_when_the_primary_is_killed() {
    survives("killed", Server::kill, |_| ());
}

#[test]
fn no_replay_is_accepted_and_no_conversation_lost_when_the_primary_freezes_and_thaws() {
    survives(
        "frozen",
        |primary| primary.signal("STOP"),
        // It takes itself for the primary until the Sentinels have told it otherwise.
        |primary| primary.signal("CONT"),
    );
}

fn survives(how: &str, ends: impl Fn(&mut Server), returns: impl Fn(&mut Server)) {
    let mut watched = Watched::start();
    let nodes: Vec<Node> = (0..3).map(|_| watched.node()).collect();
    let conversations: Vec<SecurityContext> = (0..200).map(|number| context(number, 0)).collect();
    for context in &conversations {
        nodes[0]
            .contexts
            .insert("/books", context)
            .expect("a replica has it");
    }
    assert_eq!(
        nodes[1]
            .contexts
            .cancel("/books", &conversations[0].identifier),
        Ok(true)
    );

    let ended = AtomicBool::new(false);
    let next = AtomicU32::new(0);
    let (accepted, refused) = (AtomicU32::new(0), AtomicU32::new(0));
    let (admitted, twice) = (Mutex::new(HashSet::new()), AtomicU32::new(0));
    let mut longest = Duration::ZERO;
    let mut recovery = Duration::ZERO;
    std::thread::scope(|scope| {
        // Each message arrives at two nodes, and its conversation is looked up at one.
        for worker in 0..4_usize {
            let (nodes, conversations) = (&nodes, &conversations);
            let (ended, next, admitted, twice) = (&ended, &next, &admitted, &twice);
            let (accepted, refused) = (&accepted, &refused);
            scope.spawn(move || {
                while !ended.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    for turn in 0..2 {
                        let node = &nodes[(worker + turn) % nodes.len()];
                        match node.replay.first_seen(&[mark(number, 300)], at(1)) {
                            Ok(_) => {
                                accepted.fetch_add(1, Ordering::Relaxed);
                                let first = admitted.lock().expect("nobody panics").insert(number);
                                twice.fetch_add(u32::from(!first), Ordering::Relaxed);
                            }
                            Err(ReplayError::Seen) => {}
                            Err(_) => {
                                refused.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                        let context = &conversations[1 + number as usize % 199];
                        if let Ok(found) = node.contexts.find("/books", &context.name(), at(1)) {
                            assert!(found.is_some(), "{} is lost", context.name());
                        }
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
        }
        std::thread::sleep(Duration::from_millis(500));
        ends(&mut watched.primary);
        let killed = Instant::now();
        let mut number = 1_000_000;
        wait_for("a new primary to serve", || {
            number += 1;
            let asked = Instant::now();
            let answer = nodes[2].replay.first_seen(&[mark(number, 300)], at(1));
            longest = longest.max(asked.elapsed());
            answer.is_ok()
        });
        recovery = killed.elapsed();
        std::thread::sleep(Duration::from_millis(500));
        ended.store(true, Ordering::Relaxed);
    });

    let (accepted, refused) = (accepted.into_inner(), refused.into_inner());
    println!(
        "recovered {} ms after the primary was {how} (Sentinels wait 500 ms); {accepted} messages accepted, {refused} refused, \
         longest wait {} ms",
        recovery.as_millis(),
        longest.as_millis()
    );
    assert_eq!(twice.into_inner(), 0, "messages accepted twice");
    // The timeout, and what a busy machine adds to it.
    assert!(longest < Duration::from_secs(3), "{longest:?}");
    returns(&mut watched.primary);
    // Each node finds the new primary by itself.
    for (node, number) in nodes.iter().zip(2_000_000..) {
        wait_for("the node to be served", || {
            let answer = node.replay.first_seen(&[mark(number, 300)], at(1));
            !matches!(answer, Err(ReplayError::Unavailable { .. }))
        });
    }
    // One that has accepted nothing itself.
    let node = watched.node();
    for number in admitted.into_inner().expect("nobody panics") {
        let replayed = node.replay.first_seen(&[mark(number, 300)], at(2));
        assert_eq!(replayed.unwrap_err(), ReplayError::Seen, "message {number}");
    }
    for (number, context) in (0..).zip(&conversations) {
        let found = nodes[2]
            .contexts
            .find("/books", &context.name(), at(2))
            .expect("it answers");
        let found = found.map(|context| context.secret.expose().to_vec());
        assert_eq!(
            found,
            (number != 0).then(|| secret(number)),
            "{}",
            context.name()
        );
    }
}

#[test]
fn a_watched_primary_that_drops_keys_is_refused_and_told() {
    let watched = Watched::start();
    let (one, other) = (watched.node(), watched.node());
    for number in 0..200 {
        one.replay
            .first_seen(&[mark(number, 300)], at(0))
            .expect("the first time");
    }
    other
        .replay
        .first_seen(&[mark(1000, 300)], at(0))
        .expect("the first time");
    drop_keys(&watched.primary);
    let problem = format!(
        "127.0.0.1:{}: the server drops keys to make room (maxmemory-policy allkeys-random): it must be noeviction",
        watched.primary.port
    );
    for number in 0..200 {
        let refused = other.replay.first_seen(&[mark(number, 300)], at(1));
        let problem = format!("the store of replay marks: {problem}");
        assert_eq!(refused.unwrap_err(), ReplayError::Unavailable { problem });
    }
    assert_eq!(other.stores.problems(), [StoreProblem::Refuses { problem }]);
}

#[test]
fn a_primary_that_was_demoted_is_left_for_the_new_one() {
    let watched = Watched::start();
    let node = watched.node();
    node.replay
        .first_seen(&[mark(1, 300)], at(0))
        .expect("the first time");
    let () = watched.sentinels[0].ask(&["SENTINEL", "FAILOVER", "soapstone"]);
    wait_for("the old primary to be a replica", || {
        let text: Option<String> = watched.primary.try_ask(&["INFO", "replication"]);
        text.is_some_and(|text| text.contains("role:slave"))
    });
    let mut number = 10;
    wait_for("the new primary to serve", || {
        number += 1;
        node.replay.first_seen(&[mark(number, 300)], at(0)).is_ok()
    });
    let replayed = node.replay.first_seen(&[mark(1, 300)], at(1));
    assert_eq!(replayed.unwrap_err(), ReplayError::Seen);
}
