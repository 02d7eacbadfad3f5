//! What a node says of its shared store: that it is not let in, that the others seal with another
//! key.

mod servers;

use std::path::Path;

use servers::{Server, at, mark, node};
use soapstone::config::EndpointConfig;
use soapstone::replay::{ReplayCache, ReplayError};
use soapstone_store::{Contexts, StoreProblem, Stores};

/// Whether a node says that it is not let in, with a server's code, and admits nothing, even where
/// it may decide alone.
fn is_denied(store: &str, port: u16, code: &str) {
    let node = node(store, ", when_unavailable = \"accept\"");
    let problems = node.stores.problems();
    let [denied @ StoreProblem::Denied { problem }] = problems.as_slice() else {
        panic!("{problems:?}");
    };
    let expected = format!("127.0.0.1:{port}: {code} ");
    assert!(problem.starts_with(&expected), "{problem}");
    assert!(denied.is_of_this_node());
    let hint = "compare `username` and `password` of the store with the server's users, and these with deploy/users.acl";
    assert_eq!(denied.hint(), Some(hint));
    let refused = node.replay.first_seen(&[mark(1, 300)], at(0)).unwrap_err();
    let problem = format!("the store of replay marks: {problem}");
    assert_eq!(refused, ReplayError::Unavailable { problem });
}

#[test]
fn a_node_with_a_wrong_password_says_so() {
    let server = Server::start(&["--requirepass", "sesame"]);
    let port = server.port;
    let url = |login: &str| format!("url = \"redis://{login}127.0.0.1:{port}\"");
    is_denied(&url(":guessed@"), port, "WRONGPASS");
    is_denied(&url("nobody:sesame@"), port, "WRONGPASS");
    is_denied(&url(""), port, "NOAUTH");
    let right = node(&url(":sesame@"), "");
    assert_eq!(right.stores.problems(), []);
}

#[test]
fn a_node_with_a_password_for_a_server_without_one_says_so() {
    let server = Server::start(&[]);
    let url = format!("url = \"redis://:sesame@127.0.0.1:{}\"", server.port);
    is_denied(&url, server.port, "ERR AUTH");
}

#[test]
fn a_node_whose_user_may_not_do_what_it_must_says_so() {
    let server = Server::start(&[]);
    let () = server.ask(&["ACL", "SETUSER", "default", "-info"]);
    let url = format!("url = \"redis://127.0.0.1:{}\"", server.port);
    is_denied(&url, server.port, "NOPERM");
}

#[test]
fn a_node_with_a_wrong_password_for_the_sentinels_says_so() {
    let primary = Server::start(&[]);
    let sentinel = Server::start_sentinel(primary.port);
    let () = sentinel.ask(&["ACL", "SETUSER", "default", "resetpass", ">sesame"]);
    let store = |password: &str| {
        format!(
            "sentinels = [\"127.0.0.1:{}\"]\nmaster = \"soapstone\"\nreplicas = 0\nsentinel_password = \"{password}\"",
            sentinel.port
        )
    };
    is_denied(&store("guessed"), sentinel.port, "WRONGPASS");
    assert_eq!(node(&store("sesame"), "").stores.problems(), []);
}

#[test]
fn a_store_that_is_away_is_no_problem_of_the_node() {
    let mut server = Server::start(&[]);
    let node = node(&format!("url = \"redis://127.0.0.1:{}\"", server.port), "");
    server.kill();
    let problems = node.stores.problems();
    assert!(
        matches!(problems.as_slice(), [StoreProblem::Away { problem }] if problem.contains("refused")),
        "{problems:?}"
    );
    assert!(!problems[0].is_of_this_node());
}

/// A node that keeps contexts.
struct Sealing {
    stores: Stores,
    _contexts: Contexts,
}

impl Sealing {
    /// Seals with a key of equal bytes, and may open with another.
    fn new(server: &Server, byte: u8, other: Option<u8>) -> Self {
        let key = |name: &str, byte: u8| {
            let digits = format!("{byte:02x}").repeat(32);
            format!(", {name} = \"{digits}\"")
        };
        let other = other.map_or_else(String::new, |other| key("other_seal_key", other));
        let text = format!(
            "[security]\nmechanism = \"sign\"\nconversations = {{ store = \"redis\", \
             url = \"redis://127.0.0.1:{}\"{}{other} }}\n",
            server.port,
            key("seal_key", byte)
        );
        let config = EndpointConfig::from_text(&text, Path::new("endpoint.toml"), &|_| None)
            .unwrap_or_else(|problems| panic!("{problems}\nin\n{text}"));
        let stores = Stores::default();
        let contexts = stores.contexts(config.security.conversations.as_ref());
        Self {
            _contexts: contexts.expect("the configuration is right"),
            stores,
        }
    }

    /// Announces its key, and says whether it has no problem then.
    fn is_content(&self) -> bool {
        self.stores.announce();
        let problems = self.stores.problems();
        if problems.is_empty() {
            return true;
        }
        let prefix = "soapstone".to_owned();
        assert_eq!(problems, [StoreProblem::OtherSealKey { prefix }]);
        let said = problems[0].to_string();
        assert_eq!(
            said,
            "other nodes seal the security contexts below `soapstone` with another key than this one"
        );
        let hint = "give all nodes the same `seal_key`; while it is being changed, name the other one in `other_seal_key`";
        assert_eq!(problems[0].hint(), Some(hint));
        // Whoever else has taken over the key would be at odds with all others.
        assert!(!problems[0].is_of_this_node());
        false
    }
}

#[test]
fn a_node_with_another_seal_key_says_so_and_the_others_do_not() {
    let server = Server::start(&[]);
    let (one, other) = (
        Sealing::new(&server, 1, None),
        Sealing::new(&server, 1, None),
    );
    // Whoever only looks leaves nothing behind.
    assert_eq!(one.stores.problems(), []);
    assert!(server.keys().is_empty());
    assert!(one.is_content() && other.is_content());
    let wrong = Sealing::new(&server, 2, None);
    assert!(!wrong.is_content());
    assert!(one.is_content() && other.is_content());
    assert!(!wrong.is_content());
    // Somebody who can write to the store cannot have nodes believe that they are at one.
    let key = "soapstone:canary";
    assert_eq!(server.keys(), [key]);
    let () = server.ask(&["SET", key, "chirp"]);
    assert!(!one.is_content());
    // It goes when nobody keeps it.
    let life: i64 = server.ask(&["PTTL", key]);
    assert_eq!(life, -1, "the test has set it without an end");
    let () = server.ask(&["DEL", key]);
    assert!(wrong.is_content());
    let life: i64 = server.ask(&["PTTL", key]);
    assert!((290_000..=300_000).contains(&life), "{life} ms");
}

#[test]
fn seal_keys_are_changed_without_a_problem() {
    let server = Server::start(&[]);
    let step = |key, other| Sealing::new(&server, key, other);
    let (old, first, second, third) = (
        step(1, None),
        step(1, Some(2)),
        step(2, Some(1)),
        step(2, None),
    );
    for nodes in [
        [&old, &old, &first],
        [&first, &old, &first],
        [&first, &first, &second],
        [&second, &first, &second],
        [&second, &second, &third],
        [&third, &second, &third],
    ] {
        for node in nodes {
            assert!(node.is_content());
        }
    }
    // Nodes that skip the steps are at odds.
    assert!(!old.is_content());
}

#[test]
fn the_seal_keys_of_a_node_that_has_several_are_no_problem() {
    let server = Server::start(&[]);
    let _others = Sealing::new(&server, 1, None).is_content();
    let stores = Stores::default();
    let config = |byte: u8| {
        let digits = format!("{byte:02x}").repeat(32);
        let text = format!(
            "[security]\nmechanism = \"sign\"\nconversations = {{ store = \"redis\", \
             url = \"redis://127.0.0.1:{}\", seal_key = \"{digits}\" }}\n",
            server.port
        );
        EndpointConfig::from_text(&text, Path::new("endpoint.toml"), &|_| None)
            .unwrap_or_else(|problems| panic!("{problems}\nin\n{text}"))
    };
    let _contexts = [2, 1].map(|byte| {
        let config = config(byte);
        stores
            .contexts(config.security.conversations.as_ref())
            .expect("the configuration is right")
    });
    assert_eq!(stores.problems(), []);
}
