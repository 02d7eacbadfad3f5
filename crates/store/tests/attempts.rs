//! Tallies of openings in Redis: one server, a cluster, and a store that is away.

mod servers;

use servers::{Server, at, mark, node, node_at, start_cluster};
use soapstone::attempts::{Attempts, KeyName, Outcome, Tally};
use soapstone::cancellations::{cancel, is_cancelled};
use soapstone::replay::{ReplayCache, ReplayError};
use soapstone_store::{FileReplay, MemoryReplay, ProcessMemory, Replay};

fn name(number: u8) -> KeyName {
    [number; 32]
}

fn tally(failed: u32, open: u32) -> Tally {
    Tally { failed, open }
}

fn begin(replay: &Replay, message: u32, names: &[KeyName]) -> Result<Vec<Tally>, ReplayError> {
    let marks = [mark(message, 300), mark(1_000_000 + message, 300)];
    let begun = replay.begin(&marks, names, at(300), at(0));
    begun.map(|(_, tallies)| tallies)
}

fn end(replay: &Replay, names: &[KeyName], outcome: Outcome) -> Result<Vec<Tally>, ReplayError> {
    replay.end(names, outcome, at(300), at(1))
}

/// An assertion that one node cancelled is over for all, until it ends.
#[test]
fn what_one_node_cancelled_is_cancelled_for_all() {
    let server = Server::start(&[]);
    let nodes = [node_at(&server).replay, node_at(&server).replay];
    let (name, other) = (("https://sts.example", "_1"), ("https://sts.example", "_2"));
    let known = |name| nodes.each_ref().map(|node| is_cancelled(node, name, at(1)));
    assert_eq!(known(name), [Ok(false), Ok(false)]);
    cancel(&nodes[0], name, "alice", at(300), at(0)).expect("it is remembered");
    // To ask changes nothing.
    for _ in 0..2 {
        assert_eq!(known(name), [Ok(true), Ok(true)]);
        assert_eq!(known(other), [Ok(false), Ok(false)]);
    }
    drop(server);
    for unknown in known(other) {
        assert!(
            matches!(unknown, Err(ReplayError::Unavailable { .. })),
            "{unknown:?}"
        );
    }
}

/// What a node may decide alone about messages, it may not about assertions.
#[test]
fn no_node_decides_alone_whether_an_assertion_was_cancelled() {
    let mut server = Server::start(&[]);
    let url = format!("url = \"redis://127.0.0.1:{}\"", server.port);
    let alone = node(&url, ", when_unavailable = \"accept\"").replay;
    let (cancelled, other) = (("https://sts.example", "_1"), ("https://sts.example", "_2"));
    cancel(&alone, cancelled, "alice", at(300), at(0)).expect("it is remembered");
    server.kill();
    for unknown in [
        cancel(&alone, other, "bob", at(300), at(1)),
        is_cancelled(&alone, ("https://sts.example", "_3"), at(1)).map(drop),
    ] {
        assert!(
            matches!(unknown, Err(ReplayError::Unavailable { .. })),
            "{unknown:?}"
        );
    }
    assert_eq!(is_cancelled(&alone, cancelled, at(1)), Ok(true));
    assert_eq!(begin(&alone, 1, &[name(1)]), Ok(vec![tally(0, 0)]));
}

/// One requester would fill the room of all, and nobody else could cancel what was stolen from him.
#[test]
fn one_requester_leaves_the_others_room_for_cancelled_assertions() {
    let folder = soapstone_testkit::Folder::new();
    let file = FileReplay::open(&folder.path("marks"), 16).expect("a file");
    let memory = MemoryReplay::new(16);
    for replay in [&file as &dyn ReplayCache, &memory] {
        let by = |who, id| cancel(replay, ("https://sts.example", id), who, at(300), at(0));
        assert_eq!([by("mallory", "_1"), by("mallory", "_2")], [Ok(()), Ok(())]);
        let refused = by("mallory", "_3");
        assert_eq!(refused, Err(ReplayError::ShareUsed { share: 2 }));
        let known = is_cancelled(replay, ("https://sts.example", "_3"), at(1));
        assert_eq!(known, Ok(false));
        assert_eq!(by("alice", "_3"), Ok(()));
        // What one cancelled before takes no other place.
        assert_eq!(by("mallory", "_1"), Ok(()));
    }
}

/// Whoever may cancel could keep everybody's messages out.
#[test]
fn cancelled_assertions_leave_the_keys_of_messages_their_room() {
    let folder = soapstone_testkit::Folder::new();
    let file = FileReplay::open(&folder.path("marks"), 2).expect("a file");
    let memory = MemoryReplay::new(2);
    for replay in [&file as &dyn ReplayCache, &memory] {
        let cancelled = |id| cancel(replay, ("https://sts.example", id), id, at(300), at(0));
        let known = |id| is_cancelled(replay, ("https://sts.example", id), at(1));
        for id in ["_1", "_2", "_1"] {
            cancelled(id).expect("there is room");
        }
        assert_eq!(cancelled("_3"), Err(ReplayError::Full { capacity: 2 }));
        assert_eq!(
            ["_1", "_2", "_3"].map(known),
            [Ok(true), Ok(true), Ok(false)]
        );
        let begun = replay.begin(&[], &[name(1), name(2)], at(300), at(0));
        assert_eq!(begun.map(|(_, before)| before), Ok(vec![tally(0, 0); 2]));
        assert_eq!(
            ["_1", "_2", "_3"].map(known),
            [Ok(true), Ok(true), Ok(false)]
        );
        // What has ended makes room.
        let late = ("https://sts.example", "_3");
        cancel(replay, late, "alice", at(600), at(300)).expect("there is room");
        assert_eq!(is_cancelled(replay, late, at(599)), Ok(true));
        assert_eq!(is_cancelled(replay, late, at(600)), Ok(false));
    }
}

/// A change of configuration, which gives an endpoint another store.
#[test]
fn what_a_process_cancelled_is_cancelled_under_another_store() {
    let folder = soapstone_testkit::Folder::new();
    let server = Server::start(&[]);
    let file = |name: &str| FileReplay::open(&folder.path(name), 8).expect("a file");
    let stores = || -> [Replay; 4] {
        let url = format!("url = \"redis://127.0.0.1:{}\"", server.port);
        let redis = |prefix: &str| node(&format!("{url}\nprefix = \"{prefix}\""), "").replay;
        let number = server.keys().len();
        [
            Replay::Memory(MemoryReplay::new(8)),
            Replay::File(file(&format!("one-{number}"))),
            redis(&format!("one-{number}")),
            redis(&format!("other-{number}")),
        ]
    };
    let assertion = ("https://sts.example", "_1");
    for before in 0..4 {
        let process = ProcessMemory::default();
        let mut stores = stores();
        for store in &mut stores {
            store.share(&process);
        }
        cancel(&stores[before], assertion, "alice", at(300), at(0)).expect("it is remembered");
        for store in &stores {
            assert_eq!(
                is_cancelled(store, assertion, at(299)),
                Ok(true),
                "{store:?}"
            );
        }
    }
}

/// Processes that share a file.
#[test]
fn what_a_process_cancelled_in_a_file_is_cancelled_for_the_next_one() {
    let folder = soapstone_testkit::Folder::new();
    let file = || FileReplay::open(&folder.path("marks"), 8).expect("a file");
    let assertion = ("https://sts.example", "_1");
    assert_eq!(is_cancelled(&file(), assertion, at(0)), Ok(false));
    cancel(&file(), assertion, "alice", at(300), at(0)).expect("it is remembered");
    assert_eq!(is_cancelled(&file(), assertion, at(299)), Ok(true));
    assert_eq!(is_cancelled(&file(), assertion, at(300)), Ok(false));
}

/// What holds wherever the keys of one call live.
fn openings_are_counted_by_all_nodes(nodes: [&Replay; 2]) {
    let [one, other] = nodes;
    let names: Vec<KeyName> = (0..5).map(name).collect();
    assert_eq!(begin(one, 1, &names), Ok(vec![tally(0, 0); 5]));
    // A copy begins nothing.
    assert_eq!(begin(other, 1, &names), Err(ReplayError::Seen));
    assert_eq!(begin(other, 2, &names), Ok(vec![tally(0, 1); 5]));
    assert_eq!(end(one, &names, Outcome::Failed), Ok(vec![tally(0, 2); 5]));
    assert_eq!(
        end(other, &names[..2], Outcome::Succeeded),
        Ok(vec![tally(1, 1); 2])
    );
    let again = other.begin(&[], &[name(0)], at(300), at(1));
    assert_eq!(again.map(|(_, tallies)| tallies), Ok(vec![tally(1, 0)]));
    assert_eq!(end(one, &[name(0)], Outcome::Failed), Ok(vec![tally(1, 1)]));
    // The tallies come in the order of their names.
    assert_eq!(
        begin(one, 3, &[name(4), name(0)]),
        Ok(vec![tally(1, 1), tally(2, 0)])
    );
    // No mark was taken of a message that was refused, and none lacks of one that was not.
    one.first_seen(&[mark(4, 300)], at(0))
        .expect("the first time");
    assert_eq!(begin(other, 4, &names), Err(ReplayError::Seen));
    one.first_seen(&[mark(1_000_004, 300)], at(0))
        .expect("it was taken back");
}

#[test]
fn one_server_counts_openings_for_all_nodes() {
    let server = Server::start(&[]);
    let nodes = [node_at(&server).replay, node_at(&server).replay];
    openings_are_counted_by_all_nodes([&nodes[0], &nodes[1]]);
}

#[test]
fn a_cluster_counts_openings_for_all_nodes() {
    let cluster = start_cluster(3, false);
    let ports: Vec<String> = cluster
        .iter()
        .map(|server| format!("\"127.0.0.1:{}\"", server.port))
        .collect();
    let store = format!("nodes = [{}]\nreplicas = 0", ports.join(", "));
    let nodes = [node(&store, "").replay, node(&store, "").replay];
    openings_are_counted_by_all_nodes([&nodes[0], &nodes[1]]);
    // The keys of one call, wherever they live, are all counted or none.
    let names: Vec<KeyName> = (10..30).map(name).collect();
    for message in 100..110 {
        assert_eq!(begin(&nodes[0], message, &names), Ok(vec![tally(0, 0); 20]));
        assert_eq!(begin(&nodes[1], message, &names), Err(ReplayError::Seen));
        let ended = end(&nodes[0], &names, Outcome::Succeeded);
        assert_eq!(ended, Ok(vec![tally(0, 1); 20]));
    }
    let tried = |server: &Server| {
        let keys = server.keys();
        keys.iter().filter(|key| key.contains(":tried:")).count()
    };
    assert_eq!(cluster.iter().map(tried).sum::<usize>(), 5);
}

#[test]
fn a_mark_and_its_openings_take_one_command() {
    let server = Server::start(&[]);
    let node = node_at(&server);
    begin(&node.replay, 1, &[name(1)]).expect("the first time");
    let commands = || -> u64 {
        let text: String = server.ask(&["INFO", "commandstats"]);
        let line = text.lines().find(|line| line.starts_with("cmdstat_eval:"));
        let calls = line.and_then(|line| line.split(['=', ',']).nth(1));
        calls.expect("it was called").parse().expect("a number")
    };
    let before = commands();
    begin(&node.replay, 2, &[name(1), name(2), name(3)]).expect("the first time");
    assert_eq!(commands(), before + 1);
}

#[test]
fn a_tally_lives_until_the_latest_end_that_it_was_given() {
    let server = Server::start(&[]);
    let replay = node_at(&server).replay;
    let now = jiff::Timestamp::now();
    let life = || -> i64 { server.ask(&["PTTL", &server.keys()[0]]) };
    for seconds in [600, 60] {
        let until = now + jiff::SignedDuration::from_secs(seconds);
        replay
            .end(&[name(1)], Outcome::Failed, until, now)
            .expect("there is room");
        let life = life();
        assert!((590_000..=605_000).contains(&life), "{life} ms");
    }
    assert_eq!(
        server.keys(),
        [format!("soapstone:tried:{}", "01".repeat(16))]
    );
}

#[test]
fn a_value_that_is_no_tally_is_no_permission() {
    let server = Server::start(&[]);
    let replay = node_at(&server).replay;
    let key = format!("soapstone:tried:{}", "01".repeat(16));
    let () = server.ask(&["SET", &key, "none"]);
    for refused in [
        begin(&replay, 1, &[name(1)]).map(drop),
        end(&replay, &[name(1)], Outcome::Failed).map(drop),
    ] {
        assert!(
            matches!(refused, Err(ReplayError::Unavailable { .. })),
            "{refused:?}"
        );
    }
}

#[test]
fn a_store_that_is_away_counts_nothing_unless_the_node_may_decide_alone() {
    let mut server = Server::start(&[]);
    let url = format!("url = \"redis://127.0.0.1:{}\"", server.port);
    let strict = node(&url, "").replay;
    let alone = node(&url, ", when_unavailable = \"accept\"").replay;
    assert_eq!(begin(&alone, 1, &[name(1)]), Ok(vec![tally(0, 0)]));
    assert_eq!(
        end(&alone, &[name(1)], Outcome::Failed),
        Ok(vec![tally(0, 1)])
    );
    server.kill();
    for refused in [
        begin(&strict, 2, &[name(1)]).map(drop),
        end(&strict, &[name(1)], Outcome::Failed).map(drop),
    ] {
        assert!(
            matches!(refused, Err(ReplayError::Unavailable { .. })),
            "{refused:?}"
        );
    }
    // The word of the node itself, with what it counted while the store was there.
    assert_eq!(begin(&alone, 2, &[name(1)]), Ok(vec![tally(1, 0)]));
    assert_eq!(begin(&alone, 2, &[name(1)]), Err(ReplayError::Seen));
    assert_eq!(begin(&alone, 3, &[name(1)]), Ok(vec![tally(1, 1)]));
}

#[test]
fn a_full_store_begins_no_opening() {
    let server = Server::start(&["--maxmemory", "1", "--maxmemory-policy", "noeviction"]);
    let url = format!("url = \"redis://127.0.0.1:{}\"", server.port);
    let replay = node(&url, ", when_unavailable = \"accept\"").replay;
    let problem = "the store of replay marks: the store has no memory left".to_owned();
    let refused = replay.begin(&[], &[name(1)], at(300), at(0)).unwrap_err();
    assert_eq!(refused, ReplayError::Unavailable { problem });
}

#[test]
fn a_tally_that_too_few_replicas_have_does_not_count() {
    let server = Server::start(&[]);
    let url = format!(
        "url = \"redis://127.0.0.1:{}\"\nreplicas = 1\ntimeout = \"1s\"",
        server.port
    );
    let replay = node(&url, "").replay;
    let problem = format!(
        "the store of replay marks: 127.0.0.1:{}: fewer than 1 replicas have the write",
        server.port
    );
    assert_eq!(
        replay.begin(&[], &[name(1)], at(300), at(0)).unwrap_err(),
        ReplayError::Unavailable { problem }
    );
}
