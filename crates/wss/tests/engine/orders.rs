//! The order in which the items of a Security header are written: `HeaderPolicy::order`.
//!
//! Producers prepend, and a receiver processes from the first item to the last (SOAP Message
//! Security 1.1.1, 5). WS-SecurityPolicy 1.3, 6.7 places tokens and the Timestamp.

use soapstone_wss::{
    EncryptedPart, Layout, Mechanism, OrderedItem, OutboundPlan, Part, PasswordKind, PlanProblem,
    Policy, UsernamePolicy,
};
use soapstone_xml::{Buffers, Document, ParseOptions};

use crate::support::{PLAIN, client_keys, endorse, open, policy, secure, with, with_shared_key};
use OrderedItem::{Key, KeyToken, Signature, Timestamp, Token, Username};

/// The names of the items of a message, in order.
fn items(message: &str) -> Vec<String> {
    let options = ParseOptions::default();
    let document = Document::parse(message.into(), &options, &mut Buffers::default());
    let document = document.expect("a message");
    let mut headers = document.root().descendants();
    let security = headers.find(|it| it.local() == "Security").expect("one");
    security
        .children()
        .map(|it| it.local().to_owned())
        .collect()
}

fn ordered(policy: &Policy, order: &[OrderedItem]) -> Policy {
    with(policy, |policy| policy.header.order = order.to_vec())
}

/// With a user, and with the token of the peer's certificate.
fn whole(mechanism: Mechanism) -> Policy {
    let mut whole = policy(mechanism, "Basic256GCM");
    whole.set_username(Some(UsernamePolicy::with_passwords(vec![
        PasswordKind::Digest,
    ])));
    whole
}

fn local(item: OrderedItem) -> &'static str {
    match item {
        Timestamp => "Timestamp",
        Token | KeyToken => "BinarySecurityToken",
        Username => "UsernameToken",
        Key => "EncryptedKey",
        Signature => "Signature",
        other => panic!("{other:?}"),
    }
}

/// All orders of these items.
fn orders(items: &[OrderedItem]) -> Vec<Vec<OrderedItem>> {
    let Some((first, rest)) = items.split_first() else {
        return vec![Vec::new()];
    };
    let mut found = Vec::new();
    for order in orders(rest) {
        for place in 0..=order.len() {
            let mut longer = order.clone();
            longer.insert(place, *first);
            found.push(longer);
        }
    }
    found
}

#[test]
fn every_order_that_can_be_processed_is_written_and_opened_and_the_others_are_refused() {
    for (mechanism, first, second) in [
        (Mechanism::SignEncrypt, Key, Signature),
        (Mechanism::EncryptSign, Signature, Key),
    ] {
        let whole = whole(mechanism);
        let mut written = 0;
        for order in orders(&[Timestamp, Token, Username, Key, Signature]) {
            let place = |item| order.iter().position(|it| *it == item);
            let policy = ordered(&whole, &order);
            if place(first) > place(second) {
                let problems = OutboundPlan::compile(policy, client_keys()).unwrap_err();
                let [
                    PlanProblem::HeaderOrder {
                        first: one,
                        second: other,
                        ..
                    },
                ] = problems[..]
                else {
                    panic!("{problems:?}");
                };
                assert_eq!((one, other), (first, second));
                continue;
            }
            let message = secure(&policy, PLAIN);
            let expected: Vec<_> = order.iter().map(|item| local(*item)).collect();
            assert_eq!(items(&message), expected);
            open(&policy, &message).unwrap_or_else(|rejected| panic!("{order:?}: {rejected}"));
            written += 1;
        }
        assert_eq!(written, 60);
    }
}

#[test]
fn items_that_an_order_does_not_name_stand_behind_as_without_it() {
    let whole = whole(Mechanism::SignEncrypt);
    let usual = [
        "Timestamp",
        "BinarySecurityToken",
        "EncryptedKey",
        "Signature",
        "UsernameToken",
    ];
    assert_eq!(items(&secure(&whole, PLAIN)), usual);
    let user_first = ordered(&whole, &[Username]);
    let mut moved = usual;
    moved.rotate_right(1);
    assert_eq!(items(&secure(&user_first, PLAIN)), moved);
}

#[test]
fn a_key_stands_before_what_it_deciphers() {
    let mut hides = whole(Mechanism::SignEncrypt);
    hides
        .parts
        .encrypted
        .push(EncryptedPart::customary(Part::UsernameToken));
    hides.parts.signed.push(Part::UsernameToken);
    let problems = OutboundPlan::compile(ordered(&hides, &[Username]), client_keys());
    assert_eq!(
        problems.unwrap_err(),
        [PlanProblem::HeaderOrder {
            first: Key,
            second: Username,
            reason: "a key stands before what it deciphers",
        }]
    );
    let fitting = ordered(&hides, &[Key, Username]);
    open(&fitting, &secure(&fitting, PLAIN)).unwrap_or_else(|rejected| panic!("{rejected}"));
}

#[test]
fn a_layout_says_what_an_order_must_not_undo() {
    let laid_out = |layout: Layout, order: &[OrderedItem]| {
        let mut policy = ordered(&whole(Mechanism::Sign), order);
        policy.header.layout = layout;
        OutboundPlan::compile(policy, client_keys())
            .err()
            .unwrap_or_default()
    };
    let broken = |first, second, reason| {
        vec![PlanProblem::HeaderOrder {
            first,
            second,
            reason,
        }]
    };
    let behind = [Signature, Token];
    assert_eq!(
        laid_out(Layout::Strict, &behind),
        broken(
            Token,
            Signature,
            "the layout is strict: a token stands before what uses it"
        )
    );
    assert_eq!(laid_out(Layout::Lax, &behind), []);
    assert_eq!(
        laid_out(Layout::LaxTimestampFirst, &behind),
        broken(Timestamp, Signature, "the layout has the Timestamp first")
    );
    assert_eq!(
        laid_out(Layout::LaxTimestampFirst, &[Timestamp, Signature]),
        []
    );
    assert_eq!(laid_out(Layout::LaxTimestampLast, &behind), []);
    assert_eq!(
        laid_out(Layout::LaxTimestampLast, &[Signature, Timestamp]),
        [PlanProblem::Combination {
            problem: "the layout has the Timestamp last, where it stands if `header_order` does not name it"
        }]
    );
}

#[test]
fn keys_that_come_from_each_other_have_their_own_order() {
    let problem = "`header_order` is for signatures and session keys by certificates and shared keys: other keys have their own order";
    let mut endorsed = policy(Mechanism::Sign, "Basic256GCM");
    endorse(
        &mut endorsed,
        soapstone_wss::KeyReference::Direct,
        false,
        false,
    );
    let conversation = policy(Mechanism::SecureConversation, "Basic256GCM");
    let mut sealed = policy(Mechanism::EncryptSign, "Basic256GCM");
    let signature = EncryptedPart::customary(Part::Signature);
    sealed.parts.encrypted.push(signature);
    for other in [endorsed, conversation, sealed] {
        let compiled = OutboundPlan::compile(ordered(&other, &[Timestamp]), client_keys());
        let problems = compiled.unwrap_err();
        assert!(problems.contains(&PlanProblem::Combination { problem }));
    }
    let shared = with_shared_key(policy(Mechanism::SignEncrypt, "Basic256GCM"));
    let last = ordered(&shared, &[Key, Signature, Timestamp]);
    let message = secure(&last, PLAIN);
    assert_eq!(items(&message), ["ReferenceList", "Signature", "Timestamp"]);
    open(&last, &message).unwrap_or_else(|rejected| panic!("{rejected}"));
}

#[test]
fn an_item_has_one_place() {
    let twice = ordered(&whole(Mechanism::Sign), &[Token, Timestamp, Token]);
    let problems = OutboundPlan::compile(twice, client_keys()).unwrap_err();
    assert_eq!(problems, [PlanProblem::ItemRepeated { item: Token }]);
}
