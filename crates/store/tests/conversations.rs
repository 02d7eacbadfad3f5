//! What stores of security contexts do alike, in memory and in Redis.

mod servers;

use std::time::Duration;

use servers::{Server, at, context, node_at, secret};
use soapstone::conversation::ContextStore;
use soapstone::wss::{ConversationVersion, SecurityContext};
use soapstone_store::MemoryContexts;

#[test]
fn a_conversation_goes_on_at_any_node_until_it_is_cancelled() {
    let server = Server::start(&[]);
    let memory = MemoryContexts::new(10);
    for (one, other) in [
        (&memory as &dyn ContextStore, &memory as &dyn ContextStore),
        (&node_at(&server).contexts, &node_at(&server).contexts),
    ] {
        goes_on_until_it_is_cancelled(one, other);
    }
}

fn goes_on_until_it_is_cancelled(one: &dyn ContextStore, other: &dyn ContextStore) {
    let made = context(1, 0);
    one.insert("/books", &made).expect("there is room");
    let found = other
        .find("/books", &made.name(), at(10))
        .expect("it answers")
        .expect("it is there");
    assert_eq!(found.secret.expose(), secret(1));
    assert_eq!((found.created, found.expires), (made.created, made.expires));
    assert_eq!(found.owner.to_string(), "alice");
    let absent = |scope: &str, context: &SecurityContext, second| {
        let found = one.find(scope, &context.name(), at(second));
        found.expect("it answers").is_none()
    };
    assert!(
        absent("/employees", &made, 10),
        "contexts of other endpoints do not exist"
    );
    assert!(absent("/books", &context(2, 0), 10), "nobody made it");
    let earlier = SecurityContext {
        version: ConversationVersion::February2005,
        ..made.clone()
    };
    assert!(
        absent("/books", &earlier, 10),
        "a name of another version names nothing"
    );
    assert!(absent("/books", &made, 3600), "it has expired");
    assert_eq!(other.cancel("/employees", &made.identifier), Ok(false));
    assert_eq!(other.cancel("/books", &made.identifier), Ok(true));
    assert!(absent("/books", &made, 10), "it was cancelled");
    assert_eq!(other.cancel("/books", &made.identifier), Ok(false));
}

#[test]
fn a_renewed_context_keeps_the_instance_before_for_a_while_and_a_cancelled_one_stays_so() {
    let server = Server::start(&[]);
    let memory = MemoryContexts::new(1);
    let redis = node_at(&server).contexts;
    keeps_the_instance_before_for_a_while(&memory);
    keeps_the_instance_before_for_a_while(&redis);
    assert_eq!((memory.len(), server.keys().len()), (0, 0));
}

fn keeps_the_instance_before_for_a_while(store: &dyn ContextStore) {
    let renewed = |name: &str, made: i64| SecurityContext {
        instance: Some(name.to_owned()),
        ..context(1, made)
    };
    let there = |context: &SecurityContext, second| {
        let found = store.find("/", &context.name(), at(second));
        found.expect("it answers").is_some()
    };
    let grace = Duration::from_secs(30);
    let (first, second, third) = (context(1, 0), renewed("a", 100), renewed("b", 110));
    assert_eq!(
        store.renew("/", &second, grace),
        Ok(false),
        "there is none yet"
    );
    store.insert("/", &first).expect("there is room");
    assert_eq!(store.renew("/", &second, grace), Ok(true));
    assert!(there(&first, 129) && !there(&first, 130), "grace is 30 s");
    assert!(
        there(&second, 3699) && !there(&second, 3700),
        "its own hour"
    );
    assert_eq!(store.renew("/", &third, grace), Ok(true));
    assert!(!there(&first, 111), "only the latest of those before stays");
    assert!(there(&second, 139) && !there(&second, 140) && there(&third, 140));
    assert_eq!(store.cancel("/", &first.identifier), Ok(true));
    assert!(
        !there(&second, 111) && !there(&third, 111),
        "all instances are cancelled"
    );
    assert_eq!(store.renew("/", &renewed("c", 120), grace), Ok(false));
}

#[test]
fn an_expired_context_cannot_be_renewed() {
    let server = Server::start(&[]);
    let memory = MemoryContexts::new(1);
    for store in [&memory as &dyn ContextStore, &node_at(&server).contexts] {
        store.insert("/", &context(1, 0)).expect("there is room");
        assert_eq!(
            store.renew("/", &context(1, 3600), Duration::ZERO),
            Ok(false)
        );
    }
}

#[test]
fn a_conversation_that_is_renewed_often_takes_no_more_room() {
    let server = Server::start(&[]);
    let store = node_at(&server).contexts;
    store.insert("/", &context(1, 0)).expect("there is room");
    for turn in 0..20 {
        let renewed = SecurityContext {
            instance: Some(turn.to_string()),
            ..context(1, turn)
        };
        let grace = Duration::from_secs(300);
        assert_eq!(store.renew("/", &renewed, grace), Ok(true));
    }
    let keys = server.keys();
    let fields: Vec<String> = server.ask(&["HKEYS", &keys[0]]);
    assert_eq!((keys.len(), fields.len()), (1, 2));
    let life: i64 = server.ask(&["PTTL", &keys[0]]);
    assert!((3_600_000..=3_660_000).contains(&life), "{life} ms");
}

#[test]
fn a_context_that_is_made_anew_replaces_all_that_had_its_identifier() {
    let server = Server::start(&[]);
    let memory = MemoryContexts::new(1);
    for store in [&memory as &dyn ContextStore, &node_at(&server).contexts] {
        let renewed = SecurityContext {
            instance: Some("a".to_owned()),
            ..context(1, 10)
        };
        store.insert("/", &context(1, 0)).expect("there is room");
        let grace = Duration::from_secs(300);
        assert_eq!(store.renew("/", &renewed, grace), Ok(true));
        store
            .insert("/", &context(1, 20))
            .expect("it takes the room of its predecessor");
        let found = |context: &SecurityContext| {
            let found = store
                .find("/", &context.name(), at(30))
                .expect("it answers");
            found.map(|context| context.created)
        };
        assert_eq!(found(&renewed), None);
        assert_eq!(found(&context(1, 0)), Some(at(20)));
    }
}
