//! Objects that are made of signed elements: made once for each content and signer, and never of
//! what was not signed.

use std::cell::Cell;
use std::convert::Infallible;
use std::sync::Arc;

use soapstone_crypto::{DigestAlgorithm, KeyKind};
use soapstone_wss::{
    CacheBounds, Envelope, Mechanism, ObjectCache, ObjectError, Part, Policy, Tuning, Verified,
};

use super::{Receiver, bounds, items, items_policy};
use crate::support::*;

/// Counts how often an object was really made.
struct Maker {
    cache: ObjectCache<String>,
    made: Cell<usize>,
}

impl Maker {
    fn new() -> Self {
        Self {
            cache: ObjectCache::new(CacheBounds::default()),
            made: Cell::new(0),
        }
    }

    fn item(
        &self,
        message: &Verified<Envelope>,
        id: &str,
    ) -> Result<Arc<String>, ObjectError<Infallible>> {
        let node = message.envelope().document().by_id(id).unwrap().unwrap();
        self.cache.object(message, node, |octets| {
            self.made.set(self.made.get() + 1);
            Ok(String::from_utf8(octets.to_vec()).unwrap())
        })
    }
}

fn receiver(policy: &Policy) -> Receiver {
    let tuning = Tuning {
        digest_cache: bounds(),
        ..Tuning::default()
    };
    Receiver::service(policy, tuning)
}

#[test]
fn an_object_is_made_once_for_each_content_of_the_canonical_octets() {
    let policy = items_policy();
    let mut receiver = receiver(&policy);
    let maker = Maker::new();
    for (text, made) in [("1", 1), ("1", 1), ("2", 2), ("1", 2)] {
        let message = receiver
            .open(&secure(&policy, &items([text, "x", "y"])))
            .unwrap();
        let object = maker.item(&message, "a").unwrap();
        let wsu = soapstone_wss::names::WSU;
        assert_eq!(
            *object,
            format!("<p:item xmlns:p=\"urn:items\" xmlns:u=\"{wsu}\" u:Id=\"a\">{text}</p:item>")
        );
        assert_eq!(maker.made.get(), made);
    }
}

/// What the bytes are made of decides, not what surrounds them where nobody signed: the object of
/// a message is that of its own bytes.
#[test]
fn the_namespaces_around_an_element_are_no_part_of_its_object() {
    let policy = items_policy();
    let mut receiver = receiver(&policy);
    let maker = Maker::new();
    let message = secure(&policy, &items(["q:name", "x", "y"]));
    let around = |namespace: &str| {
        message.replace("<p:items>", &format!("<p:items xmlns:q=\"{namespace}\">"))
    };
    let one = maker.item(&receiver.open(&around("urn:1")).unwrap(), "a");
    let other = maker.item(&receiver.open(&around("urn:2")).unwrap(), "a");
    assert_eq!(one.unwrap(), other.unwrap());
    assert_eq!(maker.made.get(), 1);
}

#[test]
fn there_is_no_object_of_what_no_signature_refers_to() {
    let policy = items_policy();
    let maker = Maker::new();
    let partly = {
        let mut policy = items_policy();
        let parts = &mut policy.parts.signed;
        parts.retain(|part| *part != Part::Id("b".to_owned()));
        policy
    };
    let message = receiver(&partly)
        .open(&secure(&partly, &items(["1", "2", "3"])))
        .unwrap();
    assert_eq!(maker.item(&message, "b"), Err(ObjectError::NotSigned));
    // A plan without the tuning keeps no digests.
    let message = open(&policy, &secure(&policy, &items(["1", "2", "3"]))).unwrap();
    assert_eq!(maker.item(&message, "a"), Err(ObjectError::NotSigned));
    assert_eq!(maker.made.get(), 0);
}

#[test]
fn an_element_inside_a_signed_one_has_no_digest_and_so_no_object() {
    let policy = super::shared(&[Part::Body]);
    let message = receiver(&policy)
        .open(&secure(&policy, &items(["1", "2", "3"])))
        .unwrap();
    assert_eq!(
        Maker::new().item(&message, "a"),
        Err(ObjectError::NotSigned)
    );
}

#[test]
fn objects_of_one_signer_are_not_those_of_another() {
    let mut policy = policy(Mechanism::Sign, "Basic128GCM");
    policy.parts.signed = vec![Part::Id("a".to_owned())];
    let mut other = client_keys();
    let rsa = KeyKind::Rsa { bits: 2048 };
    other.identity = Some(identity("CN=other", rsa));
    let plain = items(["1", "2", "3"]);
    let of_other = secure_with(&policy, other, &plain, None).bytes;
    let messages = [
        secure(&policy, &plain),
        String::from_utf8(of_other).unwrap(),
        secure(&policy, &plain),
    ];
    let mut receiver = receiver(&policy);
    let maker = Maker::new();
    let objects = messages.map(|message| {
        let message = receiver.open(&message).unwrap();
        maker.item(&message, "a").unwrap()
    });
    assert_eq!(maker.made.get(), 2);
    assert!(Arc::ptr_eq(&objects[0], &objects[2]) && !Arc::ptr_eq(&objects[0], &objects[1]));
}

/// Two contents with one SHA-1 digest can be made; their objects must not be mistaken for each
/// other.
#[test]
fn nothing_is_kept_under_digests_that_collide() {
    let mut policy = items_policy();
    policy.suite.digest = vec![DigestAlgorithm::Sha1];
    let mut receiver = receiver(&policy);
    let maker = Maker::new();
    for made in 1..=2 {
        let message = receiver
            .open(&secure(&policy, &items(["1", "2", "3"])))
            .unwrap();
        maker.item(&message, "a").unwrap();
        assert_eq!(maker.made.get(), made);
    }
}

#[test]
fn what_could_not_be_made_is_tried_again() {
    let policy = items_policy();
    let message = receiver(&policy)
        .open(&secure(&policy, &items(["1", "2", "3"])))
        .unwrap();
    let cache = ObjectCache::<u32>::new(CacheBounds::default());
    let node = message.envelope().document().by_id("a").unwrap().unwrap();
    let failed = cache.object(&message, node, |_| Err("no number"));
    assert_eq!(failed, Err(ObjectError::Making("no number")));
    let made = cache.object(&message, node, |_| Ok::<_, &str>(1));
    assert_eq!(made, Ok(Arc::new(1)));
}
