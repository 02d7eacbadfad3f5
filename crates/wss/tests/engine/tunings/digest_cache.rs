//! The memory of signed elements: what is in it, for whom, and what cannot be got out of it.

use std::sync::Arc;

use jiff::SignedDuration;
use soapstone_crypto::{DigestAlgorithm, KeyKind, SignatureAlgorithm};
use soapstone_wss::{CacheBounds, Mechanism, Operation, Part, Rejected, Retirement, Tuning};

use super::{Receiver, bounds, items, items_policy, sender, shared, signed_anew};
use crate::support::*;

fn caching() -> Tuning {
    Tuning {
        digest_cache: bounds(),
        ..Tuning::default()
    }
}

#[test]
fn what_the_same_signer_has_sent_before_is_not_digested_again() {
    let policy = items_policy();
    let mut receiver = Receiver::service(&policy, caching());
    let message = |texts| secure(&policy, &items(texts));
    receiver.open(&message(["1", "2", "3"])).unwrap();
    assert_eq!(receiver.counted.of(Operation::Recognition), 0);
    assert_eq!(receiver.counted.of(Operation::Digest), 3);
    let verified = receiver.open(&message(["1", "new", "3"])).unwrap();
    assert_eq!(receiver.counted.of(Operation::Recognition), 2);
    assert_eq!(receiver.counted.of(Operation::Digest), 1);
    assert!(forwarded(&verified).contains(">new</p:item>"));
    // Without the tuning nothing is remembered.
    let mut without = Receiver::service(&policy, Tuning::default());
    for _ in 0..2 {
        without.open(&message(["1", "2", "3"])).unwrap();
        assert_eq!(without.counted.of(Operation::Digest), 3);
    }
}

/// Nobody can be made to remember what did not verify.
#[test]
fn content_under_the_digest_of_other_content_is_refused_before_and_after_the_other_was_seen() {
    let policy = items_policy();
    let honest = secure(&policy, &items(["1", "2", "3"]));
    let poisoned = honest.replace(">1</p:item>", ">9</p:item>");
    let mut receiver = Receiver::service(&policy, caching());
    for _ in 0..3 {
        assert_eq!(receiver.refuse(&poisoned).name(), "digest-mismatch");
        let verified = receiver.open(&honest).unwrap();
        assert!(forwarded(&verified).contains(">1</p:item>"));
    }
    assert_eq!(receiver.counted.of(Operation::Recognition), 3);
}

#[test]
fn an_id_that_comes_again_with_other_content_means_the_other_content() {
    let policy = items_policy();
    let mut receiver = Receiver::service(&policy, caching());
    for texts in [
        ["1", "2", "3"],
        ["3", "2", "1"],
        ["2", "1", "3"],
        ["1", "2", "3"],
    ] {
        let verified = receiver.open(&secure(&policy, &items(texts))).unwrap();
        let plain = forwarded(&verified);
        for (id, text) in ["a", "b", "c"].into_iter().zip(texts) {
            assert!(
                plain.contains(&format!("u:Id=\"{id}\">{text}</p:item>")),
                "{plain}"
            );
        }
    }
}

#[test]
fn elements_that_are_known_and_were_exchanged_are_refused() {
    let policy = items_policy();
    let message = secure(&policy, &items(["1", "2", "3"]));
    let mut receiver = Receiver::service(&policy, caching());
    receiver.open(&message).unwrap();
    let exchanged = message
        .replace(">1</p:item>", ">x</p:item>")
        .replace(">2</p:item>", ">1</p:item>")
        .replace(">x</p:item>", ">2</p:item>");
    assert_eq!(receiver.refuse(&exchanged).name(), "digest-mismatch");
    let renamed = message.replace("u:Id=\"a\"", "u:Id=\"q\"");
    assert_eq!(receiver.refuse(&renamed).name(), "reference-not-found");
}

/// The bytes of the element are those that are known; what its prefix means is not.
#[test]
fn known_octets_among_other_namespaces_are_not_the_known_element() {
    let policy = items_policy();
    let message = secure(&policy, &items(["1", "2", "3"]));
    let mut receiver = Receiver::service(&policy, caching());
    receiver.open(&message).unwrap();
    let elsewhere = message.replace("xmlns:p=\"urn:items\"", "xmlns:p=\"urn:other\"");
    assert_eq!(receiver.refuse(&elsewhere).name(), "digest-mismatch");
    let between = message.replace("<p:items>", "<p:items xmlns:p=\"urn:other\">");
    assert_eq!(receiver.refuse(&between).name(), "digest-mismatch");
}

/// A digest that is known counts for the algorithm it was computed with.
#[test]
fn a_known_digest_under_the_name_of_another_algorithm_is_refused() {
    let mut policy = items_policy();
    policy.suite.digest = vec![DigestAlgorithm::Sha256, DigestAlgorithm::Sha3_256];
    let message = secure(&policy, &items(["1", "2", "3"]));
    let mut receiver = Receiver::service(&policy, caching());
    receiver.open(&message).unwrap();
    let renamed = signed_anew(&message.replace(
        DigestAlgorithm::Sha256.uri(),
        DigestAlgorithm::Sha3_256.uri(),
    ));
    assert_eq!(receiver.refuse(&renamed).name(), "digest-mismatch");
}

/// A reference with another prefix list digests other bytes; what is known is known under its own
/// list.
#[test]
fn a_known_element_under_another_prefix_list_is_digested_again() {
    let policy = items_policy();
    let message = secure(&policy, &items(["1", "2", "3"]));
    let mut receiver = Receiver::service(&policy, caching());
    receiver.open(&message).unwrap();
    let plain =
        "<ds:Transform Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"></ds:Transform>";
    assert!(message.contains(plain));
    let listed = plain.replace(
        "></",
        "><ec:InclusiveNamespaces xmlns:ec=\"http://www.w3.org/2001/10/xml-exc-c14n#\" PrefixList=\"soap\"></ec:InclusiveNamespaces></",
    );
    let message = signed_anew(&message.replace(plain, &listed));
    assert_eq!(receiver.refuse(&message).name(), "digest-mismatch");
    assert_eq!(receiver.counted.of(Operation::Recognition), 0);
}

#[test]
fn what_one_partner_has_sent_is_not_known_of_another() {
    let mut policy = policy(Mechanism::Sign, "Basic128GCM");
    let ids = ["a", "b", "c"].map(|id| Part::Id(id.to_owned()));
    policy.parts.signed = ids.to_vec();
    let plain = items(["1", "2", "3"]);
    let mut other = client_keys();
    let rsa = KeyKind::Rsa { bits: 2048 };
    other.identity = Some(identity("CN=other", rsa));
    let of_other = secure_with(&policy, other, &plain, None).bytes;
    let of_other = String::from_utf8(of_other).unwrap();

    let mut receiver = Receiver::service(&policy, caching());
    receiver.open(&secure(&policy, &plain)).unwrap();
    receiver.open(&of_other).unwrap();
    assert_eq!(receiver.counted.of(Operation::Recognition), 0);
    receiver.open(&of_other).unwrap();
    assert_eq!(receiver.counted.of(Operation::Recognition), 3);
    // Nor does another plan know it, of the same partner.
    let mut another = Receiver::service(&policy, caching());
    another.open(&of_other).unwrap();
    assert_eq!(another.counted.of(Operation::Recognition), 0);
}

/// Somebody without a trusted key cannot push out what partners have sent.
#[test]
fn what_a_stranger_signs_is_not_remembered() {
    let policy = policy(Mechanism::Sign, "Basic128GCM");
    let one = Tuning {
        digest_cache: Some(CacheBounds {
            entries: 2,
            octets: 1 << 20,
        }),
        ..Tuning::default()
    };
    let mut receiver = Receiver::service(&policy, one);
    let message = secure(&policy, PLAIN);
    receiver.open(&message).unwrap();
    let mut stranger = client_keys();
    stranger.identity = Some(Arc::clone(&PARTIES.stranger));
    let forged = secure_with(&policy, stranger, PLAIN, None).bytes;
    assert_eq!(
        receiver
            .refuse(std::str::from_utf8(&forged).unwrap())
            .name(),
        "untrusted"
    );
    receiver.open(&message).unwrap();
    assert_eq!(receiver.counted.of(Operation::Recognition), 2);
}

#[test]
fn a_changed_signature_over_known_elements_is_refused() {
    let policy = items_policy();
    let message = secure(&policy, &items(["1", "2", "3"]));
    let mut receiver = Receiver::service(&policy, caching());
    receiver.open(&message).unwrap();
    let start = message.find("<ds:SignatureValue>").unwrap() + 19;
    let other = if &message[start..=start] == "A" {
        "B"
    } else {
        "A"
    };
    let forged = format!("{}{other}{}", &message[..start], &message[start + 1..]);
    assert_eq!(receiver.refuse(&forged).name(), "signature-mismatch");
}

#[test]
fn a_known_element_does_not_outlive_the_algorithm_of_its_digest() {
    let mut policy = shared(&[Part::Body]);
    policy.suite.digest = vec![DigestAlgorithm::Sha1];
    policy.header.timestamp = None;
    let tomorrow = now() + SignedDuration::from_hours(24);
    policy.retirements = vec![Retirement {
        algorithm: DigestAlgorithm::Sha1.short_name().to_owned(),
        from: tomorrow,
    }];
    let message = secure(&policy, PLAIN);
    let mut receiver = Receiver::service(&policy, caching());
    let facts = facts();
    receiver.open_at(&message, &facts, now()).unwrap();
    let again = receiver.open_at(&message, &facts, now()).unwrap();
    assert_eq!(receiver.counted.of(Operation::Recognition), 1);
    assert_eq!(again.evidence().weak, ["sha1"]);
    let late = receiver.open_at(&message, &facts, tomorrow).unwrap_err();
    assert_eq!(
        late,
        Rejected::AlgorithmRetired {
            algorithm: "sha1",
            since: tomorrow
        }
    );
}

#[test]
fn a_copy_of_known_elements_has_the_marks_of_the_first_message() {
    let policy = items_policy();
    let message = secure(&policy, &items(["1", "2", "3"]));
    let plan = Receiver::service(&policy, caching()).plan;
    let marks = || {
        let opened = plan
            .open_unmarked(
                envelope(&message),
                &facts(),
                now(),
                &mut soapstone_xml::Buffers::default(),
            )
            .unwrap();
        opened
            .marks()
            .iter()
            .map(|mark| mark.key)
            .collect::<Vec<_>>()
    };
    let first = marks();
    assert!(!first.is_empty());
    assert_eq!(marks(), first);
}

#[test]
fn what_was_deciphered_is_not_taken_for_what_is_known() {
    let policy = policy(Mechanism::SignEncrypt, "Basic128GCM");
    let plan = sender(&policy, Tuning::default());
    let mut receiver = Receiver::service(&policy, caching());
    let rsa = SignatureAlgorithm::RsaSha256;
    for text in ["one", "two", "one"] {
        let plain = PLAIN.replace("Grüße", text);
        let (message, _) = super::handed_over(&plan, &plain);
        let verified = receiver.open(&message).unwrap();
        assert!(forwarded(&verified).contains(text));
        assert_eq!(verified.evidence().signatures[0].algorithm, rsa);
        assert_eq!(receiver.counted.of(Operation::Recognition), 0);
    }
}
