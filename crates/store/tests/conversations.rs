//! What stores of security contexts do alike, in memory and in Redis.

mod servers;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use servers::{Server, at, context, node_at, secret};
use soapstone::conversation::{ContextStore, StoreUnavailable};
use soapstone::wss::{
    AssertedOwner, ContextOwner, ConversationVersion, NameIdentifier, SecurityContext,
};
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
        store.renew("/", &second, grace, at(100)),
        Ok(false),
        "there is none yet"
    );
    store.insert("/", &first).expect("there is room");
    assert_eq!(store.renew("/", &second, grace, at(100)), Ok(true));
    assert!(there(&first, 129) && !there(&first, 130), "grace is 30 s");
    assert!(
        there(&second, 3699) && !there(&second, 3700),
        "its own hour"
    );
    assert_eq!(store.renew("/", &third, grace, at(110)), Ok(true));
    assert!(!there(&first, 111), "only the latest of those before stays");
    assert!(there(&second, 139) && !there(&second, 140) && there(&third, 140));
    assert_eq!(store.cancel("/", &first.identifier), Ok(true));
    assert!(
        !there(&second, 111) && !there(&third, 111),
        "all instances are cancelled"
    );
    assert_eq!(
        store.renew("/", &renewed("c", 120), grace, at(120)),
        Ok(false)
    );
}

#[test]
fn an_expired_context_cannot_be_renewed() {
    let server = Server::start(&[]);
    let memory = MemoryContexts::new(1);
    for store in [&memory as &dyn ContextStore, &node_at(&server).contexts] {
        store.insert("/", &context(1, 0)).expect("there is room");
        assert_eq!(
            store.renew("/", &context(1, 3600), Duration::ZERO, at(3600)),
            Ok(false)
        );
    }
}

/// A context that is renewed by its key alone keeps the time at which its owner was last seen;
/// messages under way keep their time all the same.
#[test]
fn the_time_of_the_instance_before_counts_from_the_renewal() {
    let server = Server::start(&[]);
    let memory = MemoryContexts::new(1);
    for store in [&memory as &dyn ContextStore, &node_at(&server).contexts] {
        let first = context(1, 0);
        let second = SecurityContext {
            instance: Some("a".to_owned()),
            ..first.clone()
        };
        store.insert("/", &first).expect("there is room");
        let grace = Duration::from_secs(30);
        assert_eq!(store.renew("/", &second, grace, at(600)), Ok(true));
        let there = |context: &SecurityContext, second| {
            let found = store.find("/", &context.name(), at(second));
            found.expect("it answers").is_some()
        };
        assert!(there(&first, 629) && !there(&first, 630));
        assert!(there(&second, 3599) && !there(&second, 3600));
        let late = store.renew("/", &second, grace, at(3600));
        assert_eq!(late, Ok(false), "it has expired in the meantime");
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
        assert_eq!(store.renew("/", &renewed, grace, at(turn)), Ok(true));
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
        assert_eq!(store.renew("/", &renewed, grace, at(10)), Ok(true));
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

#[test]
fn an_amended_context_is_the_same_with_another_owner() {
    let server = Server::start(&[]);
    let memory = MemoryContexts::new(1);
    for store in [&memory as &dyn ContextStore, &node_at(&server).contexts] {
        let (before, after) = (ownerless(context(1, 0)), context(1, 0));
        store.insert("/", &before).expect("there is room");
        assert_eq!(store.amend("/other", &before, &after), Ok(false));
        assert_eq!(store.amend("/", &before, &after), Ok(true));
        assert_eq!(owner(store, &after, 10).as_deref(), Some("alice"));
        let found = store.find("/", &after.name(), at(10));
        let found = found.expect("it answers").expect("it is there");
        assert_eq!(found.secret.expose(), secret(1));
        assert_eq!(
            (found.created, found.expires),
            (after.created, after.expires)
        );
        assert_eq!(owner(store, &after, 3600), None, "it ends as it would have");
        // What somebody else has amended meanwhile is not as it was.
        assert_eq!(store.amend("/", &before, &after), Ok(false));
        assert_eq!(store.amend("/", &after, &after), Ok(true));
    }
}

/// Whoever amends a context of his own gets it with the end of another token, in his one share.
#[test]
fn an_owner_amends_his_own_context() {
    let server = Server::start(&[]);
    let memory = MemoryContexts::new(10).with_share(1);
    let subject = |id: &str| {
        let mut subject = NameIdentifier::default();
        subject.value = "alice".to_owned();
        ContextOwner::Subject(Arc::new(AssertedOwner {
            issuer: "https://idp.example".to_owned(),
            signed_by: None,
            subject,
            id: id.to_owned(),
            ends: at(3600),
            attributes: Vec::new(),
            attester: None,
        }))
    };
    let principal = |ends: i64| ContextOwner::Kerberos {
        client: "alice@EXAMPLE.COM".to_owned(),
        ends: at(ends),
    };
    let user = || ContextOwner::User("alice".to_owned());
    let cases = [
        (user(), user()),
        (principal(3600), principal(7200)),
        (subject("_a1"), subject("_a2")),
    ];
    for store in [&memory as &dyn ContextStore, &node_at(&server).contexts] {
        for (owner, again) in &cases {
            let with = |owner: &ContextOwner| SecurityContext {
                owner: owner.clone(),
                ..context(1, 0)
            };
            let (before, after) = (with(owner), with(again));
            store.insert("/", &before).expect("there is room");
            let found = store.find("/", &before.name(), at(10));
            let found = found.expect("it answers").expect("it is there");
            assert_eq!(store.amend("/", &found, &after), Ok(true), "{owner:?}");
            assert_eq!(store.amend("/", &after, &after), Ok(true), "{again:?}");
            assert_eq!(store.cancel("/", &before.identifier), Ok(true));
        }
    }
}

#[test]
fn a_context_that_was_cancelled_is_not_brought_back_by_an_amendment() {
    let server = Server::start(&[]);
    let memory = MemoryContexts::new(1);
    for store in [&memory as &dyn ContextStore, &node_at(&server).contexts] {
        let (before, after) = (ownerless(context(1, 0)), context(1, 0));
        assert_eq!(
            store.amend("/", &before, &after),
            Ok(false),
            "there was none"
        );
        store.insert("/", &before).expect("there is room");
        assert_eq!(store.cancel("/", &before.identifier), Ok(true));
        assert_eq!(store.amend("/", &before, &after), Ok(false));
        assert_eq!(owner(store, &after, 10), None);
    }
    assert_eq!((memory.len(), server.keys().len()), (0, 0));
}

#[test]
fn an_amendment_undoes_no_renewal() {
    let server = Server::start(&[]);
    let memory = MemoryContexts::new(1);
    for store in [&memory as &dyn ContextStore, &node_at(&server).contexts] {
        // With a grace that shortens the life of the instance before, and with one that does not.
        for grace in [Duration::from_secs(30), Duration::from_secs(7200)] {
            let before = ownerless(context(1, 0));
            let renewed = SecurityContext {
                instance: Some("a".to_owned()),
                ..ownerless(context(1, 100))
            };
            store.insert("/", &before).expect("there is room");
            assert_eq!(store.renew("/", &renewed, grace, at(100)), Ok(true));
            assert_eq!(store.amend("/", &before, &context(1, 0)), Ok(false));
            // Nor does what is found during the grace.
            let found = store.find("/", &before.name(), at(110));
            let found = found.expect("it answers").expect("it is there");
            let after = SecurityContext {
                owner: context(1, 0).owner,
                ..found.clone()
            };
            assert_eq!(store.amend("/", &found, &after), Ok(false));
            assert_eq!(owner(store, &renewed, 110).as_deref(), Some("anonymous"));
            // The latest instance can be amended, and the one before stays what it is for as long
            // as it may.
            let amended = SecurityContext {
                owner: context(1, 0).owner,
                ..renewed.clone()
            };
            assert_eq!(store.amend("/", &renewed, &amended), Ok(true));
            assert_eq!(owner(store, &amended, 110).as_deref(), Some("alice"));
            assert_eq!(owner(store, &before, 110).as_deref(), Some("anonymous"));
            assert_eq!(store.cancel("/", &before.identifier), Ok(true));
        }
    }
    assert_eq!((memory.len(), server.keys().len()), (0, 0));
}

#[test]
fn of_many_amendments_at_once_one_is_made() {
    let server = Server::start(&[]);
    let memory = MemoryContexts::new(1);
    let node = node_at(&server).contexts;
    for store in [&memory as &dyn ContextStore, &node] {
        let before = ownerless(context(1, 0));
        store.insert("/", &before).expect("there is room");
        let made = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (before, made) = (&before, &made);
                scope.spawn(move || {
                    let after = SecurityContext {
                        owner: ContextOwner::User(number.to_string()),
                        ..before.clone()
                    };
                    let amended = store.amend("/", before, &after).expect("it answers");
                    made.fetch_add(u32::from(amended), Ordering::Relaxed);
                });
            }
        });
        assert_eq!(made.load(Ordering::Relaxed), 1);
    }
}

fn ownerless(context: SecurityContext) -> SecurityContext {
    SecurityContext {
        owner: ContextOwner::Anonymous,
        ..context
    }
}

/// Whose a context is, if it is there.
fn owner(store: &dyn ContextStore, context: &SecurityContext, second: i64) -> Option<String> {
    let found = store.find("/", &context.name(), at(second));
    found
        .expect("it answers")
        .map(|found| found.owner.to_string())
}

/// THREAT-MODEL, "a partner": who may have contexts may not have them all.
#[test]
fn one_owner_does_not_take_the_room_of_the_others() {
    let store = MemoryContexts::new(10).with_share(2);
    let owned = |number, owner: &str| SecurityContext {
        owner: ContextOwner::User(owner.to_owned()),
        ..context(number, 0)
    };
    for number in [1, 2] {
        assert_eq!(store.insert("/", &owned(number, "mallory")), Ok(()));
    }
    let used = Err(StoreUnavailable::ShareUsed { share: 2 });
    assert_eq!(store.insert("/", &owned(3, "mallory")), used);
    assert_eq!(store.insert("/", &owned(4, "alice")), Ok(()));
    // What has no owner yet becomes nobody's who has his share.
    let nobodys = ownerless(context(5, 0));
    assert_eq!(store.insert("/", &nobodys), Ok(()));
    let taken = owned(5, "mallory");
    assert_eq!(store.amend("/", &nobodys, &taken), used.map(|()| false));
    let kept = owned(1, "mallory");
    assert_eq!(store.amend("/", &kept, &kept), Ok(true));
    // It ends with the conversation, however that ends; not with a renewal.
    let renewed = SecurityContext {
        instance: Some("a".to_owned()),
        ..owned(1, "mallory")
    };
    assert_eq!(store.renew("/", &renewed, Duration::ZERO, at(1)), Ok(true));
    assert_eq!(store.cancel("/", &renewed.identifier), Ok(true));
    assert_eq!(store.amend("/", &nobodys, &taken), Ok(true));
    let late = SecurityContext {
        created: at(3600),
        expires: at(7200),
        ..owned(6, "mallory")
    };
    assert_eq!(store.insert("/", &late), Ok(()), "the others have expired");
}
