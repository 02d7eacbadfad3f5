//! The start scripts and access rights of `deploy/` do what the guide to clusters says of them.

mod servers;

use std::path::Path;
use std::time::Duration;

use servers::{Server, at, context, free_port, mark, node_in, wait_for};
use soapstone::attempts::{Attempts, Outcome};
use soapstone::config::EndpointConfig;
use soapstone::conversation::ContextStore;
use soapstone::replay::{ReplayCache, ReplayError};
use soapstone_store::{Stores, Turn, WindowCounts, WindowEnd, WindowName};

/// What a gateway asks of the store that counts under agreements.
fn asks_of_agreements(folder: &soapstone_testkit::Folder, store: &str) {
    let text = format!("[store]\n{store}\n[security]\nmechanism = \"sign\"\n");
    let config = EndpointConfig::from_text(&text, &folder.path("endpoint.toml"), &|_| None);
    let config = config.unwrap_or_else(|problems| panic!("{problems}"));
    let store = config.store.expect("given");
    let stores = Stores::default();
    let buckets = stores.buckets(&store).expect("it is right");
    let second = Duration::from_secs(1);
    assert_eq!(buckets.take("gold", second, second), Ok(None));
    let windows = stores.windows(&store).expect("it is right");
    let name = WindowName {
        provider: "gold".to_owned(),
        terms: "these".to_owned(),
    };
    let calls = WindowCounts {
        calls: 5,
        ..WindowCounts::default()
    };
    for full in [false, true] {
        let added = windows.add(&Turn::new(), &name, calls, WindowEnd::Calls(10));
        assert_eq!(added.map(|it| it.full.is_some()), Ok(full));
    }
    for begins in [false, true] {
        let struck = windows.strike(&Turn::new(), &name, 1, (2, second));
        assert_eq!(struck, Ok(begins));
    }
}

const PASSWORD: &str = "00112233445566778899aabbccddeeff";

#[test]
fn the_deployment_serves_and_its_primary_can_be_killed_and_restarted_at_once() {
    let folder = soapstone_testkit::Folder::new();
    let password = folder.path("redis.password");
    std::fs::write(&password, format!("{PASSWORD}\n")).expect("it is writable");
    let rights = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/users.acl");
    let ports: Vec<u16> = (0..6).map(|_| free_port()).collect();
    let (redis, sentinels) = ports.split_at(3);
    let environment = [
        ("PASSWORD_FILE", password.display().to_string()),
        ("ACL_FILE", rights.display().to_string()),
        ("FIRST", format!("127.0.0.1:{}", redis[0])),
    ];
    let mut servers: Vec<Server> = redis
        .iter()
        .map(|port| {
            let mut arguments = vec!["127.0.0.1".to_owned(), port.to_string()];
            arguments.extend(sentinels.iter().map(|port| format!("127.0.0.1:{port}")));
            Server::start_script(*port, "redis-start", &arguments, &environment)
        })
        .collect();
    let watchers: Vec<Server> = sentinels
        .iter()
        .map(|port| {
            let arguments = ["127.0.0.1".to_owned(), port.to_string()];
            Server::start_script(*port, "sentinel-start", &arguments, &environment)
        })
        .collect();
    let knows = |what: &str| {
        for watcher in &watchers {
            wait_for(what, || {
                let text: Option<String> = watcher.try_ask(&["INFO", "sentinel"]);
                text.is_some_and(|text| text.contains(what))
            });
        }
    };
    knows("slaves=2,sentinels=3");

    let names: Vec<String> = sentinels
        .iter()
        .map(|port| format!("\"127.0.0.1:{port}\""))
        .collect();
    let store = format!(
        "sentinels = [{}]\nmaster = \"soapstone\"\nusername = \"soapstone\"\npassword_file = \"redis.password\"\n\
         replicas = 1",
        names.join(", ")
    );
    let node = node_in(folder.root(), &store, "");
    let mut number = 1000;
    wait_for("a replica to follow the primary", || {
        number += 1;
        node.replay.first_seen(&[mark(number, 300)], at(0)).is_ok()
    });
    // Everything that a node asks of the store, with the rights that it has there.
    let (made, renewed) = (context(1, 0), context(1, 10));
    node.contexts.insert("/", &made).expect("a replica has it");
    let grace = std::time::Duration::from_secs(60);
    assert_eq!(node.contexts.renew("/", &renewed, grace, at(10)), Ok(true));
    assert_eq!(node.contexts.amend("/", &renewed, &renewed), Ok(true));
    node.contexts
        .insert("/", &context(2, 0))
        .expect("a replica has it");
    assert_eq!(
        node.contexts.cancel("/", &context(2, 0).identifier),
        Ok(true)
    );
    node.replay
        .first_seen(&[mark(1, 300)], at(0))
        .expect("the first time");
    let names = [[1; 32]];
    node.replay
        .begin(&[mark(2, 300)], &names, at(300), at(0))
        .expect("a replica has it");
    node.replay
        .end(&names, Outcome::Failed, at(300), at(0))
        .expect("a replica has it");
    let again = node.replay.begin(&[], &names, at(300), at(0));
    assert_eq!(again.map(|(_, tallies)| tallies[0].failed), Ok(1));
    asks_of_agreements(&folder, &store);
    node.stores.announce();
    assert_eq!(node.stores.problems(), []);
    let address = format!("redis://soapstone:{PASSWORD}@127.0.0.1:{}", redis[0]);
    let canary: Vec<u8> = redis::Client::open(address)
        .and_then(|client| client.get_connection())
        .and_then(|mut primary| {
            redis::cmd("GET")
                .arg("soapstone:canary")
                .query(&mut primary)
        })
        .expect("the node may write it");
    assert!(!canary.is_empty());

    servers[0].kill();
    // It waits for its successor before it listens.
    servers[0].restart();
    wait_for("the new primary to serve", || {
        number += 1;
        node.replay.first_seen(&[mark(number, 300)], at(0)).is_ok()
    });
    // One that has accepted nothing itself.
    let node = node_in(folder.root(), &store, "");
    let replayed = node.replay.first_seen(&[mark(1, 300)], at(1));
    assert_eq!(replayed.unwrap_err(), ReplayError::Seen);
    let found = node.contexts.find("/", &renewed.name(), at(11));
    assert!(found.is_ok_and(|found| found.is_some()));
    knows("status=ok,address=127.0.0.1");
    let named: Vec<String> = watchers[0].ask(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "soapstone"]);
    assert_ne!(named[1], redis[0].to_string(), "another is the primary now");
}
