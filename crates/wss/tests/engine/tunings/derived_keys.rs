//! Derived keys that are used for several messages: what they protect is refused wherever it would
//! be without.

use std::time::Duration;

use soapstone_crypto::{SymmetricKey, base64};
use soapstone_wss::{
    ConversationVersion, DerivedKeyForm, DerivedKeyLimits, OutboundPlan, Outgoing, Policy,
    Rejected, SecurityContext, Suite, Tuning,
};
use soapstone_xml::Buffers;

use super::Receiver;
use crate::conversations::{context, conversation, derived, knowing};
use crate::derivations::cut;
use crate::support::*;

const V13: ConversationVersion = ConversationVersion::V13;

fn kept(messages: u32) -> Tuning {
    Tuning {
        derived_keys: Some(DerivedKeyLimits {
            messages,
            ..DerivedKeyLimits::default()
        }),
        ..Tuning::default()
    }
}

fn anew() -> Tuning {
    Tuning {
        derived_keys: None,
        ..Tuning::default()
    }
}

/// A side that secures one message after the other.
struct Sender {
    plan: OutboundPlan,
    buffers: Buffers,
}

impl Sender {
    fn new(policy: &Policy, tuning: Tuning) -> Self {
        let mut policy = policy.clone();
        policy.tuning = tuning;
        Self {
            plan: OutboundPlan::compile(policy, client_keys()).unwrap(),
            buffers: Buffers::default(),
        }
    }

    fn secure(&mut self, context: &SecurityContext) -> String {
        let outgoing = Outgoing::within(context);
        let secured = self
            .plan
            .secure(envelope(PLAIN), outgoing, now(), &mut self.buffers);
        String::from_utf8(secured.unwrap().bytes).unwrap()
    }
}

/// The other side's context: the same secret, in other memory.
fn held_by_the_other(context: &SecurityContext) -> SecurityContext {
    SecurityContext {
        secret: SymmetricKey::new(context.secret.expose().to_vec()).unwrap(),
        ..context.clone()
    }
}

fn conversation_of(form: DerivedKeyForm) -> Policy {
    with(&conversation(V13), |policy| {
        policy.set_derived_keys(derived(V13, form))
    })
}

/// The nonces of a message, in the order in which they stand.
fn nonces(message: &str) -> Vec<&str> {
    let explicit = message.split("<wsc:Nonce>").skip(1);
    let implied = message.split("wsc:Nonce=\"").skip(1);
    let end = |rest: &'_ str| rest.find(['<', '"']).unwrap();
    explicit
        .chain(implied)
        .map(|rest| &rest[..end(rest)])
        .collect()
}

/// Whether a context has a key with this nonce kept with it.
fn keeps(context: &SecurityContext, nonce: &str) -> bool {
    let mut octets = Vec::new();
    base64::decode_xml(nonce.as_bytes(), &mut octets).unwrap();
    let label = b"WS-SecureConversation".repeat(2);
    let derived = context.secret.derived();
    [24, 32]
        .into_iter()
        .any(|length| derived.find(&[&label, &octets], 0, length).is_some())
}

#[test]
fn so_many_messages_of_a_conversation_have_the_same_keys_and_nothing_else_of_their_randomness() {
    for form in [DerivedKeyForm::Explicit, DerivedKeyForm::Implied] {
        let policy = conversation_of(form);
        let mut sender = Sender::new(&policy, kept(3));
        let ours = context(V13);
        let theirs = held_by_the_other(&ours);
        let mut receiver = Receiver::service(&policy, kept(3));
        let messages: Vec<String> = (0..7).map(|_| sender.secure(&ours)).collect();
        for message in &messages {
            let opened = receiver.open_at(message, &knowing(&[&theirs]), now());
            assert!(forwarded(&opened.unwrap()).contains("Grüße"));
        }
        let nonces: Vec<_> = messages.iter().map(|message| nonces(message)).collect();
        assert!(
            nonces
                .iter()
                .all(|nonces| nonces.len() == 2 && nonces[0] != nonces[1])
        );
        let same: Vec<bool> = nonces.windows(2).map(|pair| pair[0] == pair[1]).collect();
        assert_eq!(same, [true, true, false, true, true, false], "{form:?}");
        for (what, end) in [
            ("<xenc:CipherValue>", "</xenc:CipherValue>"),
            ("<ds:SignatureValue>", "</ds:SignatureValue>"),
            ("<wsu:Timestamp", ">"),
        ] {
            let mut found: Vec<_> = messages.iter().map(|it| cut(it, what, end)).collect();
            found.sort_unstable();
            found.dedup();
            assert_eq!(found.len(), messages.len(), "{what}");
        }
    }
}

#[test]
fn without_it_each_message_has_keys_of_its_own() {
    let policy = conversation(V13);
    let mut sender = Sender::new(&policy, anew());
    let ours = context(V13);
    let theirs = held_by_the_other(&ours);
    let mut receiver = Receiver::service(&policy, anew());
    let mut found = Vec::new();
    for _ in 0..3 {
        let message = sender.secure(&ours);
        receiver
            .open_at(&message, &knowing(&[&theirs]), now())
            .unwrap();
        let nonces = nonces(&message);
        assert!(
            nonces
                .iter()
                .all(|nonce| !keeps(&theirs, nonce) && !keeps(&ours, nonce))
        );
        found.extend(nonces.into_iter().map(str::to_owned));
    }
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), 6);
}

/// What is sent under one secret names no key of another one: neither another conversation's, nor
/// that of the context before its renewal, nor those of the other side.
#[test]
fn conversations_instances_and_sides_share_no_keys() {
    let policy = conversation(V13);
    let mut sender = Sender::new(&policy, kept(9));
    let ours = context(V13);
    let other = SecurityContext {
        identifier: "urn:uuid:other".to_owned(),
        ..held_by_the_other(&ours)
    };
    let renewed = SecurityContext {
        instance: Some("2".to_owned()),
        secret: SymmetricKey::generate(32).unwrap(),
        ..ours.clone()
    };
    let messages = [&ours, &other, &renewed].map(|context| sender.secure(context));
    let mut answering = Sender::new(&policy, kept(9));
    let theirs = held_by_the_other(&ours);
    Receiver::service(&policy, kept(9))
        .open_at(&messages[0], &knowing(&[&theirs]), now())
        .unwrap();
    let answer = answering.secure(&theirs);
    let mut found: Vec<_> = messages
        .iter()
        .chain([&answer])
        .flat_map(|it| nonces(it))
        .collect();
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), 8);
}

/// Operations may have suites of their own. One key for CBC and GCM would let what is known of one
/// help against the other (Jager, Paterson and Somorovsky, NDSS 2013).
#[test]
fn two_algorithms_share_no_key() {
    let ours = context(V13);
    let policies = ["Basic128", "Basic128GCM"].map(|suite| Policy {
        suite: Suite::called(suite).unwrap(),
        ..conversation(V13)
    });
    let messages = policies.map(|policy| Sender::new(&policy, kept(9)).secure(&ours));
    let [cbc, gcm] = messages.each_ref().map(|message| nonces(message));
    assert!(messages[0].contains("aes128-cbc") && messages[1].contains("aes128-gcm"));
    assert!(
        cbc.iter().all(|nonce| !gcm.contains(nonce)),
        "{cbc:?} {gcm:?}"
    );
}

/// CVE-2016-2183: with blocks of 64 bits, a key that enciphers some gigabytes shows what they were.
/// Signatures have no such bound.
#[test]
fn triple_des_has_a_new_key_for_each_message() {
    let ours = context(V13);
    let policy = Policy {
        suite: Suite::called("TripleDes").unwrap(),
        ..conversation(V13)
    };
    let mut sender = Sender::new(&policy, kept(9));
    let messages = [0, 1].map(|_| sender.secure(&ours));
    assert!(messages[0].contains("tripledes-cbc"));
    let [first, second] = messages.each_ref().map(|message| nonces(message));
    assert_eq!(first[0], second[0], "what signs");
    assert_ne!(first[1], second[1], "what enciphers");
}

/// A derivation that somebody changed is another one, though the receiver knows the key of the one
/// before.
#[test]
fn a_changed_derivation_gives_another_key_though_the_one_before_is_known() {
    let policy = conversation_of(DerivedKeyForm::Explicit);
    let mut sender = Sender::new(&policy, kept(9));
    let ours = context(V13);
    let facts = knowing(&[&held_by_the_other(&ours)]);
    let mut receiver = Receiver::service(&policy, kept(9));
    let message = sender.secure(&ours);
    receiver.open_at(&message, &facts, now()).unwrap();
    let message = sender.secure(&ours);
    let [signing, encrypting] = ["-dk-sig", "-dk-enc"].map(|name| {
        let mut tokens = message.split("<wsc:DerivedKeyToken").skip(1);
        let token = tokens.find(|token| token.split('>').next().unwrap().contains(name));
        let token = token.unwrap();
        &token[..token.find("</wsc:DerivedKeyToken>").unwrap()]
    });
    let nonce = |token| nonces(token)[0];
    for (expected, token, from, to) in [
        (
            "signature-mismatch",
            signing,
            "<wsc:Offset>0<",
            "<wsc:Offset>8<",
        ),
        (
            "signature-mismatch",
            signing,
            "<wsc:Length>24<",
            "<wsc:Length>32<",
        ),
        (
            "signature-mismatch",
            signing,
            "<wsc:Offset>",
            "<wsc:Label>x</wsc:Label><wsc:Offset>",
        ),
        (
            "signature-mismatch",
            signing,
            nonce(signing),
            nonce(encrypting),
        ),
        (
            "decryption-failed",
            encrypting,
            "<wsc:Offset>0<",
            "<wsc:Offset>8<",
        ),
        (
            "decryption-failed",
            encrypting,
            "<wsc:Offset>",
            "<wsc:Label>x</wsc:Label><wsc:Offset>",
        ),
        (
            "decryption-failed",
            encrypting,
            nonce(encrypting),
            nonce(signing),
        ),
    ] {
        let changed = token.replace(from, to);
        assert_ne!(changed, token);
        let changed = message.replace(token, &changed);
        let refused = receiver.open_at(&changed, &facts, now()).unwrap_err();
        assert_eq!(refused.name(), expected, "{from} -> {to}");
    }
    receiver.open_at(&message, &facts, now()).unwrap();
}

/// Whoever is not in the conversation makes the receiver keep nothing, and so pushes nothing out.
#[test]
fn only_messages_that_are_accepted_leave_keys_behind() {
    for form in [DerivedKeyForm::Explicit, DerivedKeyForm::Implied] {
        let policy = conversation_of(form);
        let ours = context(V13);
        let theirs = held_by_the_other(&ours);
        let facts = knowing(&[&theirs]);
        let mut receiver = Receiver::service(&policy, kept(9));
        let stranger = SecurityContext {
            secret: SymmetricKey::generate(32).unwrap(),
            ..ours.clone()
        };
        let forged = Sender::new(&policy, kept(9)).secure(&stranger);
        let message = Sender::new(&policy, kept(9)).secure(&ours);
        let value = |message| cut(message, "<ds:SignatureValue>", "</ds:SignatureValue>");
        let tampered = message.replace(value(&message), value(&forged));
        let unsigned = message.replace(cut(&message, "<ds:Signature ", "</ds:Signature>"), "");
        for (refused, expected) in [
            (forged.as_str(), "signature-mismatch"),
            (&tampered, "signature-mismatch"),
            (&unsigned, "signature-missing"),
        ] {
            let why = receiver.open_at(refused, &facts, now()).unwrap_err();
            assert_eq!(why.name(), expected);
            assert!(nonces(refused).iter().all(|nonce| !keeps(&theirs, nonce)));
        }
        receiver.open_at(&message, &facts, now()).unwrap();
        assert!(nonces(&message).iter().all(|nonce| keeps(&theirs, nonce)));
    }
}

/// WS-SecureConversation 1.4, 5 and 6: a context that was renewed, or has ended, is not there any
/// more, however well its keys are known.
#[test]
fn known_keys_open_nothing_of_a_context_that_is_gone() {
    let policy = conversation(V13);
    let mut sender = Sender::new(&policy, kept(9));
    let ours = context(V13);
    let theirs = held_by_the_other(&ours);
    let mut receiver = Receiver::service(&policy, kept(9));
    let message = sender.secure(&ours);
    receiver
        .open_at(&message, &knowing(&[&theirs]), now())
        .unwrap();
    let message = sender.secure(&ours);
    let gone = Rejected::ContextUnknown { name: ours.name() };
    let refused = receiver.open_at(&message, &facts(), now());
    assert_eq!(refused.unwrap_err(), gone);
    let renewed = SecurityContext {
        instance: Some("2".to_owned()),
        secret: SymmetricKey::generate(32).unwrap(),
        ..theirs.clone()
    };
    let refused = receiver.open_at(&message, &knowing(&[&renewed]), now());
    assert_eq!(refused.unwrap_err(), gone);
    // The same name with another secret, as after a restart of who gives the names.
    let namesake = SecurityContext {
        instance: None,
        ..renewed
    };
    let refused = receiver.open_at(&message, &knowing(&[&namesake]), now());
    assert_eq!(refused.unwrap_err().name(), "signature-mismatch");
    let expired = SecurityContext {
        expires: now() - Duration::from_secs(1),
        ..theirs.clone()
    };
    let refused = receiver.open_at(&message, &knowing(&[&expired]), now());
    assert_eq!(refused.unwrap_err().name(), "context-expired");
    receiver
        .open_at(&message, &knowing(&[&theirs]), now())
        .unwrap();
}
