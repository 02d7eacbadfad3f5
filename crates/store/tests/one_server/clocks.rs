//! Replay marks in a single Redis, where clocks of nodes and server are apart or are set.

use jiff::ToSpan;
use soapstone::replay::{ReplayCache, ReplayError};
use soapstone::wss::{End, ReplayKey};
use soapstone_store::Replay;

use crate::servers::{Server, at, mark, node, node_at};

/// For how many milliseconds a server keeps the mark of a message that ends so many seconds from
/// now, when it is told by a node whose clock is so many seconds ahead.
fn life_of_a_mark(server: &Server, ends: i64, ahead: i64) -> i64 {
    let now = jiff::Timestamp::now();
    let mark = ReplayKey {
        until: now + ends.seconds(),
        ..mark(1, 0)
    };
    let () = server.ask(&["FLUSHALL"]);
    node_at(server)
        .replay
        .first_seen(&[mark], now + ahead.seconds())
        .expect("the first time");
    let keys = server.keys();
    assert_eq!(keys, ["soapstone:seen:00000001000000000000000000000000"]);
    server.ask(&["PTTL", &keys[0]])
}

#[test]
fn marks_are_kept_until_their_message_is_too_old_and_a_little_longer() {
    let server = Server::start(&[]);
    let life = life_of_a_mark(&server, 300, 0);
    assert!((300_000..=305_000).contains(&life), "{life} ms");
}

/// Its messages end soon by its own clock, and not by those of the other nodes.
#[test]
fn a_node_whose_clock_is_set_forth_does_not_have_marks_forgotten_early() {
    let server = Server::start(&[]);
    let life = life_of_a_mark(&server, 300, 240);
    assert!((300_000..=305_000).contains(&life), "{life} ms");
    // The other way round it keeps them longer than need be.
    let life = life_of_a_mark(&server, 300, -240);
    assert!((540_000..=545_000).contains(&life), "{life} ms");
    // Where the node may not ask the server for its time, its own counts.
    let () = server.ask(&["ACL", "SETUSER", "default", "-time"]);
    let life = life_of_a_mark(&server, 300, 240);
    assert!((60_000..=65_000).contains(&life), "{life} ms");
}

/// Marks of the excursion would fill the store, or end before the clock gets there by itself.
#[test]
fn a_node_whose_clock_is_far_ahead_of_the_servers_is_refused_until_it_is_right() {
    let server = Server::start(&[]);
    let offer = |now: i64| {
        let marks = [mark(u32::try_from(now).expect("few"), now + 300)];
        // Its process was started anew meanwhile.
        let node = node_at(&server);
        node.replay.first_seen(&marks, at(now)).map(drop)
    };
    assert_eq!(offer(1), Ok(()));
    assert_eq!(offer(3000), Ok(()));
    let refused = offer(86_400).unwrap_err().to_string();
    let (begin, end) = (
        "the store of replay marks: its clock is 86",
        " s behind this node's: \
         whether the message was seen before is not known",
    );
    assert!(
        refused.starts_with(begin) && refused.ends_with(end),
        "{refused}"
    );
    assert_eq!(server.keys().len(), 2);
    assert_eq!(offer(2), Ok(()));
    let () = server.ask(&["ACL", "SETUSER", "default", "-time"]);
    assert_eq!(offer(86_401), Ok(()), "nobody knows the server's clock");
}

/// Marks that ended by the server's clock are gone, and no node knows of them.
#[test]
fn a_node_whose_clock_is_set_back_accepts_nothing_that_ended_by_the_servers() {
    let server = Server::start(&[]);
    let (hour, marks) = (3600, [mark(1, -3300)]);
    let node = node_at(&server).replay;
    let refused = node.first_seen(&marks, at(-hour)).unwrap_err().to_string();
    let (begin, end) = (
        "the store of replay marks: its clock is 36",
        " s ahead of this node's: \
         whether the message was seen before is not known",
    );
    assert!(
        refused.starts_with(begin) && refused.ends_with(end),
        "{refused}"
    );
    assert_eq!(server.keys(), Vec::<String>::new());
    node.first_seen(&[mark(1, 300)], at(0))
        .expect("its clock is right");
    // A message that proves no end has none by any clock.
    let unproven = ReplayKey {
        end: End::Counted,
        ..mark(2, -3300)
    };
    node.first_seen(&[unproven], at(-hour))
        .expect("the first time");
    let copy = node_at(&server).replay.first_seen(&[unproven], at(0));
    assert_eq!(copy.unwrap_err(), ReplayError::Seen);
}

/// The marks of a node's own memory are dropped in time, and those of the server as well.
#[test]
fn a_node_knows_which_marks_are_gone_when_its_clock_is_set_back() {
    let server = Server::start(&[]);
    let full = node_with_room_for_one(&server);
    full.first_seen(&[mark(2, 300)], at(0))
        .expect("the first time");
    full.first_seen(&[mark(3, 700)], at(310))
        .expect("the first time");
    let () = server.ask(&["FLUSHALL"]);
    let refused = full.first_seen(&[mark(2, 300)], at(1)).unwrap_err();
    let problem = format!(
        "marks that ended like it, by {}, are dropped, and the clock was set since: whether the message was seen \
         before is not known",
        at(300)
    );
    assert_eq!(refused, ReplayError::Unavailable { problem });
}

fn node_with_room_for_one(server: &Server) -> Replay {
    let url = format!("url = \"redis://127.0.0.1:{}\"", server.port);
    node(&url, ", capacity = 1").replay
}
