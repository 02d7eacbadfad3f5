//! Messages that are sent with a tuning are those that are sent without it.

use soapstone_wss::{Buffering, Mechanism, Operation, Outgoing, Part, Tuning, names::WSU};
use soapstone_xml::{Buffers, FnSink};

use super::{bounds, handed_over, items, items_policy, sender, shared};
use crate::support::*;

fn prehashing() -> Tuning {
    Tuning {
        prehash: bounds(),
        ..Tuning::default()
    }
}

#[test]
fn an_element_that_did_not_change_is_not_digested_again_and_one_that_did_is() {
    let policy = items_policy();
    let plan = sender(&policy, prehashing());
    for (texts, recognized) in [
        (["1", "2", "3"], 0),
        (["1", "2", "3"], 3),
        (["1", "4", "3"], 2),
        (["1", "2", "3"], 2),
    ] {
        let (message, counted) = handed_over(&plan, &items(texts));
        assert_eq!(counted.of(Operation::Recognition), recognized, "{texts:?}");
        let plain = forwarded(&open(&policy, &message).unwrap());
        assert!(
            texts
                .iter()
                .all(|text| plain.contains(&format!(">{text}</p:item>")))
        );
    }
}

#[test]
fn the_same_octets_among_other_namespaces_are_digested_anew() {
    let policy = items_policy();
    let plan = sender(&policy, prehashing());
    for namespace in ["urn:items", "urn:other", "urn:items"] {
        let plain = items(["1", "2", "3"]).replace("urn:items", namespace);
        let (message, counted) = handed_over(&plan, &plain);
        assert_eq!(counted.of(Operation::Recognition), 0, "{namespace}");
        open(&policy, &message).unwrap();
    }
}

#[test]
fn an_id_that_is_made_for_the_message_is_not_remembered() {
    let policy = shared(&[Part::Body]);
    let plan = sender(&policy, prehashing());
    for _ in 0..3 {
        let (message, counted) = handed_over(&plan, PLAIN);
        assert_eq!(counted.of(Operation::Recognition), 0);
        open(&policy, &message).unwrap();
    }
}

#[test]
fn messages_that_are_handed_over_in_pieces_open_like_others() {
    for mechanism in Mechanism::SINGLE {
        for buffering in [Buffering::Streaming, Buffering::Buffered] {
            let policy = policy(mechanism, "Basic128GCM");
            let tuning = Tuning {
                buffering,
                ..prehashing()
            };
            let plan = sender(&policy, tuning);
            for _ in 0..2 {
                let (message, _) = handed_over(&plan, PLAIN);
                let verified = open(&policy, &message)
                    .unwrap_or_else(|error| panic!("{mechanism} {buffering:?}: {error}"));
                assert!(forwarded(&verified).contains("Grüße"));
            }
        }
    }
}

#[test]
fn a_large_body_is_handed_over_where_it_lies() {
    let policy = shared(&[Part::Body]);
    let text = "x".repeat(200_000);
    let plain = format!(
        "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:u=\"{WSU}\"><s:Body u:Id=\"b\">{text}</s:Body></s:Envelope>"
    );
    let plan = sender(&policy, Tuning::default());
    let mut longest = 0;
    plan.secure_into(
        envelope(&plain),
        Outgoing::default(),
        now(),
        &mut Buffers::default(),
        &mut FnSink(|piece: &[u8]| longest = longest.max(piece.len())),
        &mut (),
    )
    .unwrap();
    assert!(longest >= text.len(), "{longest}");
}

#[test]
fn canonical_form_and_digest_are_told_apart_where_octets_are_collected() {
    let policy = items_policy();
    for (buffering, canonicalizations) in [(Buffering::Streaming, 0), (Buffering::Buffered, 3)] {
        let tuning = Tuning {
            buffering,
            ..Tuning::default()
        };
        let (message, counted) = handed_over(&sender(&policy, tuning), &items(["1", "2", "3"]));
        assert_eq!(counted.of(Operation::Canonicalization), canonicalizations);
        assert_eq!(counted.of(Operation::Signature), 1);
        let mut receiver = super::Receiver::service(&policy, tuning);
        receiver.open(&message).unwrap();
        assert_eq!(
            receiver.counted.of(Operation::Canonicalization),
            canonicalizations
        );
        assert_eq!(receiver.counted.of(Operation::Digest), 3);
        assert_eq!(receiver.counted.0.last(), Some(&Operation::Other));
    }
}
