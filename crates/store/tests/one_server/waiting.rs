//! How long a message waits for the store: a measurement.

use std::time::{Duration, Instant};

use soapstone::conversation::ContextStore;
use soapstone::replay::ReplayCache;
use soapstone_store::MemoryContexts;

use crate::servers::{Server, at, context, mark, node, wait_for};

#[test]
#[ignore = "a measurement: cargo test --release -p soapstone-store --test one_server waiting -- --ignored --nocapture"]
fn what_a_message_waits_for_the_store() {
    let primary = Server::start(&[]);
    let port = primary.port.to_string();
    let options = [
        "--replicaof",
        "127.0.0.1",
        &port,
        "--repl-diskless-sync-delay",
        "0",
    ];
    let _replica = Server::start(&options);
    let url = format!("url = \"redis://127.0.0.1:{}\"", primary.port);
    let (alone, copied) = (node(&url, ""), node(&format!("{url}\nreplicas = 1"), ""));
    wait_for("the replica to follow", || {
        copied.contexts.insert("/", &context(1, 0)).is_ok()
    });
    let memory = MemoryContexts::new(10);
    memory.insert("/", &context(1, 0)).expect("there is room");
    let mut number = 0;
    let mut median = |what: &str, call: &mut dyn FnMut(u32)| {
        let mut taken: Vec<Duration> = (0..5000)
            .map(|_| {
                number += 1;
                let start = Instant::now();
                call(number);
                start.elapsed()
            })
            .collect();
        taken.sort_unstable();
        println!(
            "{what}: {:?} (95 of 100 below {:?})",
            taken[2500], taken[4750]
        );
    };
    median("a replay mark", &mut |number| {
        alone
            .replay
            .first_seen(&[mark(number, 300)], at(0))
            .expect("the first time");
    });
    median("a replay mark that a replica has too", &mut |number| {
        copied
            .replay
            .first_seen(&[mark(number, 300)], at(0))
            .expect("the first time");
    });
    let name = context(1, 0).name();
    for (what, store) in [
        (
            "finding a context in Redis",
            &alone.contexts as &dyn ContextStore,
        ),
        ("finding a context in memory", &memory),
    ] {
        median(what, &mut |_| {
            let found = store.find("/", &name, at(1)).expect("it answers");
            assert!(found.is_some());
        });
    }
}
