//! A cluster of three primaries: marks and conversations spread over them, slots that move, a node
//! that dies.

mod servers;

use std::time::{Duration, Instant};

use servers::{
    Node, Server, at, context, drop_keys, mark, node, node_at, secret, start_cluster, wait_for,
};
use soapstone::conversation::{ContextStore, StoreUnavailable};
use soapstone::replay::{ReplayCache, ReplayError};
use soapstone_store::{Replay, StoreProblem};

fn node_of(cluster: &[Server]) -> Node {
    node_with(cluster, 0)
}

fn node_with(cluster: &[Server], replicas: u32) -> Node {
    let ports: Vec<String> = cluster
        .iter()
        .map(|server| format!("\"127.0.0.1:{}\"", server.port))
        .collect();
    let store = format!(
        "nodes = [{}]\nreplicas = {replicas}\ntimeout = \"1s\"",
        ports.join(", ")
    );
    node(&store, "")
}

#[test]
fn marks_of_one_message_in_many_slots_are_remembered_all_or_none() {
    let cluster = start_cluster(3, false);
    let (one, other) = (node_of(&cluster).replay, node_of(&cluster).replay);
    for message in 0..50 {
        let marks = [
            mark(3 * message, 300),
            mark(3 * message + 1, 300),
            mark(3 * message + 2, 300),
        ];
        one.first_seen(&marks, at(0)).expect("the first time");
        for (turn, seen) in (0..).zip(&marks) {
            let fresh = |number| mark(1000 + 6 * message + 2 * turn + number, 300);
            let mixed = [fresh(0), *seen, fresh(1)];
            assert_eq!(
                other.first_seen(&mixed, at(0)).unwrap_err(),
                ReplayError::Seen
            );
        }
    }
    let held: Vec<usize> = cluster.iter().map(|server| server.keys().len()).collect();
    assert_eq!(
        held.iter().sum::<usize>(),
        150,
        "those of refused messages were taken back"
    );
    assert!(
        held.iter().all(|held| *held > 20),
        "spread over all: {held:?}"
    );
}

#[test]
fn conversations_live_where_their_slot_is_and_follow_it() {
    let cluster = start_cluster(3, false);
    let store = node_of(&cluster).contexts;
    for number in 0..30 {
        store
            .insert("/", &context(number, 0))
            .expect("there is room");
    }
    let all_there = || {
        (0..30).all(|number| {
            let found = store.find("/", &context(number, 0).name(), at(1));
            found.is_ok_and(|found| {
                found.is_some_and(|context| context.secret.expose() == secret(number))
            })
        })
    };
    assert!(all_there());
    // One key moves to another node, half-way at first: the slot is being moved, and the key has
    // gone already.
    let (from, to) = (&cluster[0], &cluster[1]);
    let key = from.keys().remove(0);
    let slot: u16 = from.ask(&["CLUSTER", "KEYSLOT", &key]);
    let slot = slot.to_string();
    let (from_id, to_id): (String, String) =
        (from.ask(&["CLUSTER", "MYID"]), to.ask(&["CLUSTER", "MYID"]));
    let () = to.ask(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &from_id]);
    let () = from.ask(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &to_id]);
    let () = from.ask(&[
        "MIGRATE",
        "127.0.0.1",
        &to.port.to_string(),
        &key,
        "0",
        "1000",
    ]);
    assert!(all_there(), "while the slot is being moved");
    for server in [to, from] {
        let () = server.ask(&["CLUSTER", "SETSLOT", &slot, "NODE", &to_id]);
    }
    assert!(all_there(), "after it was moved");
    for number in 0..30 {
        assert_eq!(store.cancel("/", &context(number, 0).identifier), Ok(true));
    }
    assert!(cluster.iter().all(|server| server.keys().is_empty()));
}

#[test]
fn a_node_of_a_cluster_that_is_taken_for_a_single_server_says_so() {
    let cluster = start_cluster(3, false);
    let node = node_at(&cluster[0]);
    let expected = format!(
        "127.0.0.1:{} belongs to a cluster, and is to be named in `nodes`",
        cluster[0].port
    );
    let refused = (0..30).find_map(|number| node.contexts.insert("/", &context(number, 0)).err());
    assert_eq!(
        refused,
        Some(StoreUnavailable::Refused { problem: expected })
    );
}

#[test]
fn a_primary_that_drops_keys_is_refused_with_its_slots_and_told() {
    let cluster = start_cluster(3, false);
    let (one, other) = (node_of(&cluster), node_of(&cluster));
    for number in 0..300 {
        one.replay
            .first_seen(&[mark(number, 300)], at(0))
            .expect("the first time");
    }
    for number in 1000..1030 {
        other
            .replay
            .first_seen(&[mark(number, 300)], at(0))
            .expect("the first time");
    }
    let dropping = &cluster[2];
    drop_keys(dropping);
    let problem = format!(
        "127.0.0.1:{}: the server drops keys to make room (maxmemory-policy allkeys-random): it must be noeviction",
        dropping.port
    );
    let mut refused = 0;
    for number in 0..300 {
        match other.replay.first_seen(&[mark(number, 300)], at(1)) {
            Err(ReplayError::Seen) => {}
            Err(ReplayError::Unavailable { problem: told }) => {
                assert_eq!(told, format!("the store of replay marks: {problem}"));
                refused += 1;
            }
            other => panic!("message {number}: {other:?}"),
        }
    }
    assert!(refused > 50, "a third of the slots: {refused}");
    assert_eq!(other.stores.problems(), [StoreProblem::Refuses { problem }]);
}

#[test]
fn a_dead_node_takes_its_slots_with_it_and_nothing_else() {
    let mut cluster = start_cluster(3, false);
    let replay = node_of(&cluster).replay;
    for number in 0..60 {
        replay
            .first_seen(&[mark(number, 300)], at(0))
            .expect("the first time");
    }
    let lost = cluster[0].keys().len();
    cluster[0].kill();
    // One that has accepted nothing itself.
    let replay = node_of(&cluster).replay;
    let start = Instant::now();
    let answers: Vec<ReplayError> = (0..60)
        .map(|number| replay.first_seen(&[mark(number, 300)], at(1)).unwrap_err())
        .collect();
    let took = start.elapsed();
    let seen = answers
        .iter()
        .filter(|answer| **answer == ReplayError::Seen)
        .count();
    println!(
        "{seen} of 60 marks answered for, {lost} refused in {} ms",
        took.as_millis()
    );
    assert_eq!(seen, 60 - lost);
    assert!(took < Duration::from_secs(2), "{took:?}");
    cluster[0].restart();
    // What was only there is forgotten: a cluster without replicas keeps nothing safe.
    wait_for("the slots to be served again", || {
        (100..160).all(|number| {
            let answer = replay.first_seen(&[mark(number, 300)], at(1));
            !matches!(answer, Err(ReplayError::Unavailable { .. }))
        })
    });
}

#[test]
fn a_replica_takes_over_and_serves_writes_when_it_has_a_replica_itself() {
    let mut cluster = start_cluster(3, true);
    let node = node_with(&cluster, 1);
    all_writes_count(&node.replay, 3000);
    let conversations = 0..60;
    for number in conversations.clone() {
        node.contexts
            .insert("/", &context(number, 0))
            .expect("a replica has it");
        node.replay
            .first_seen(&[mark(number, 300)], at(0))
            .expect("the first time");
    }
    let there = |number| {
        let found = node.contexts.find("/", &context(number, 0).name(), at(1));
        found.map(|found| found.map(|context| context.secret.expose().to_vec()))
    };
    cluster[0].kill();
    let recovery = wait_for("the replica to take over", || {
        conversations.clone().all(|number| there(number).is_ok())
    });
    println!(
        "all slots are read again {} ms after a primary was killed",
        recovery.as_millis()
    );
    for number in conversations.clone() {
        assert_eq!(
            there(number),
            Ok(Some(secret(number))),
            "conversation {number}"
        );
    }
    // The new primary has no replica yet, so what is written there does not count.
    let uncopied = (1000..1100)
        .filter_map(|number| node.replay.first_seen(&[mark(number, 300)], at(1)).err())
        .find(|error| {
            error
                .to_string()
                .contains("fewer than 1 replicas have the write")
        });
    assert!(uncopied.is_some());
    cluster[0].restart();
    all_writes_count(&node.replay, 2000);
    // One that has accepted nothing itself.
    let node = node_with(&cluster, 1);
    for number in conversations {
        let replayed = node.replay.first_seen(&[mark(number, 300)], at(1));
        assert_eq!(replayed.unwrap_err(), ReplayError::Seen, "message {number}");
    }
}

/// Waits until the primaries of all slots have replicas that acknowledge.
fn all_writes_count(replay: &Replay, first: u32) {
    wait_for("the replicas to follow their primaries", || {
        (first..first + 30).all(|number| {
            let answer = replay.first_seen(&[mark(number, 300)], at(0));
            !matches!(answer, Err(ReplayError::Unavailable { .. }))
        })
    });
}
