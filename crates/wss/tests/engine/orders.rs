//! The order in which the items of a Security header are written: `HeaderPolicy::order`.
//!
//! Producers prepend, and a receiver processes from the first item to the last (SOAP Message
//! Security 1.1.1, 5). WS-SecurityPolicy 1.3, 6.7 places tokens and the Timestamp.

use std::collections::HashSet;

use soapstone_wss::{
    AssertionPolicy, ConfirmationMethod, EncryptedPart, Facts, InboundPlan, KeyReference, Layout,
    Mechanism, OrderedItem, OutboundPlan, Part, PasswordKind, PlanProblem, Policy, SamlVersion,
    UsernamePolicy,
};
use soapstone_xml::{Buffers, Document, ParseOptions};

use crate::saml::accepted::carrying;
use crate::saml::hidden::hiding;
use crate::saml::issuing::{
    Draft, accepting, adjusted, by_connection, client, knowing_issuers, open_as, with_assertion,
};
use crate::support::{
    Adjust, PLAIN, client_keys, endorse, open, policy, secure, with, with_shared_key,
};
use OrderedItem::{Assertion, Key, KeyToken, Signature, Timestamp, Token, Username};

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

/// The message with two items of its header in each other's place.
fn swapped(message: &str, one: &str, other: &str) -> String {
    let options = ParseOptions::default();
    let document = Document::parse(message.into(), &options, &mut Buffers::default());
    let document = document.expect("a message");
    let mut headers = document.root().descendants();
    let security = headers.find(|it| it.local() == "Security").expect("one");
    let range = |local: &str| {
        let mut items = security.children();
        let item = items.find(|it| it.local() == local).expect("an item");
        let range = item.range();
        range.start as usize..range.end as usize
    };
    let (one, other) = (range(one), range(other));
    let (first, second) = match one.start < other.start {
        true => (one, other),
        false => (other, one),
    };
    [
        &message[..first.start],
        &message[second.clone()],
        &message[first.end..second.start],
        &message[first],
        &message[second.end..],
    ]
    .concat()
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

/// A policy whose messages have an assertion, and the items that are put in every order.
struct Carrying {
    name: &'static str,
    policy: Policy,
    assertion: String,
    items: Vec<OrderedItem>,
    /// Which item must stand before which.
    rules: Vec<(OrderedItem, OrderedItem)>,
}

impl Carrying {
    fn new(name: &'static str, mechanism: Mechanism, method: ConfirmationMethod) -> Self {
        let mut protected = policy(mechanism, "Basic256GCM");
        let mut items = vec![Assertion, Signature];
        let mut rules = Vec::new();
        if mechanism != Mechanism::Sign {
            protected.name_encrypting_key(KeyReference::Direct);
            items.extend([KeyToken, Key]);
            rules.push(match mechanism {
                Mechanism::EncryptSign => (Signature, Key),
                _ => (Key, Signature),
            });
        }
        if method == ConfirmationMethod::Bearer {
            protected.parts.signed.push(Part::Assertion);
            items.push(Token);
        }
        let version = SamlVersion::V20;
        let draft = match method {
            ConfirmationMethod::Bearer => Draft::bearer(version),
            _ => Draft::holder(version, client().certificate()),
        };
        let accepted = AssertionPolicy {
            methods: vec![method],
            ..accepting()
        };
        Self {
            name,
            policy: with_assertion(protected, accepted),
            assertion: draft.signed(),
            items,
            rules,
        }
    }

    fn encrypted_with_message(mut self) -> Self {
        let assertion = EncryptedPart::customary(Part::Assertion);
        self.policy.parts.encrypted.push(assertion);
        self
    }

    fn before(mut self, rules: &[(OrderedItem, OrderedItem)]) -> Self {
        self.rules.extend(rules);
        self
    }

    fn encrypted_alone(mut self) -> Self {
        self.policy = hiding(&self.policy);
        self
    }

    /// The element of an item.
    fn local(&self, item: OrderedItem) -> &'static str {
        let own = self.policy.assertion().is_some_and(|it| it.encrypted);
        match item {
            Assertion if own => "EncryptedAssertion",
            Assertion if self.policy.encrypts(&Part::Assertion) => "EncryptedData",
            Assertion => "Assertion",
            item => local(item),
        }
    }

    fn message(&self, order: &[OrderedItem]) -> String {
        carrying(&ordered(&self.policy, order), &self.assertion)
    }

    /// Which rules an order breaks, and which of them its compiler tells.
    fn check(&self, order: &[OrderedItem]) {
        let place = |item| order.iter().position(|it| *it == item);
        let behind = |item| place(item).unwrap_or(order.len());
        let broken = self.rules.iter().copied();
        let broken: Vec<_> = broken
            .filter(|(first, second)| behind(*first) > behind(*second))
            .collect();
        let compiled = OutboundPlan::compile(ordered(&self.policy, order), client_keys());
        let problems = compiled.err().unwrap_or_default();
        let told: Vec<_> = problems
            .iter()
            .map(|problem| match problem {
                PlanProblem::HeaderOrder { first, second, .. } => (*first, *second),
                other => panic!("{}, {order:?}: {other:?}", self.name),
            })
            .collect();
        let unsorted = |of: &[(OrderedItem, OrderedItem)]| {
            let mut names: Vec<_> = of.iter().map(|(a, b)| (a.name(), b.name())).collect();
            names.sort_unstable();
            names
        };
        let name = self.name;
        assert_eq!(unsorted(&told), unsorted(&broken), "{name}, {order:?}");
        if broken.is_empty() {
            let message = self.message(order);
            open_as(&self.policy, &message, &Facts::default())
                .unwrap_or_else(|rejected| panic!("{name}, {order:?}: {rejected}"));
        }
    }
}

fn messages_with_assertions() -> [Carrying; 9] {
    use ConfirmationMethod::{Bearer, HolderOfKey};
    use Mechanism::{EncryptSign, Sign, SignEncrypt};
    [
        Carrying::new("readable", SignEncrypt, Bearer),
        Carrying::new("holder, readable", EncryptSign, HolderOfKey),
        Carrying::new("signed, then encrypted", SignEncrypt, Bearer)
            .encrypted_with_message()
            .before(&[(Key, Assertion)]),
        Carrying::new("encrypted, then signed", EncryptSign, Bearer)
            .encrypted_with_message()
            .before(&[(Key, Assertion)]),
        Carrying::new("holder, signed, then encrypted", SignEncrypt, HolderOfKey)
            .encrypted_with_message()
            .before(&[(Key, Assertion), (Assertion, Signature)]),
        Carrying::new("own cipher text", Sign, Bearer)
            .encrypted_alone()
            .before(&[(Assertion, Signature)]),
        Carrying::new("own cipher text beside encryption", SignEncrypt, Bearer)
            .encrypted_alone()
            .before(&[(Assertion, Signature)]),
        Carrying::new("holder, own cipher text", SignEncrypt, HolderOfKey)
            .encrypted_alone()
            .before(&[(Assertion, Signature)]),
        Carrying::new("holder, own cipher text, late", EncryptSign, HolderOfKey)
            .encrypted_alone()
            .before(&[(Assertion, Signature)]),
    ]
}

#[test]
fn every_order_with_an_assertion_is_opened_or_refused() {
    for case in messages_with_assertions() {
        // And without their last items, which stand behind then.
        let whole = orders(&case.items).into_iter();
        let parts = whole.flat_map(|order| {
            let lengths = 1..=order.len();
            lengths.map(move |named| order[..named].to_vec())
        });
        for order in parts.collect::<HashSet<_>>() {
            case.check(&order);
        }
        // The usual order, written out, is one of those that can be processed.
        let usual = items(&case.message(&[]));
        let written: Vec<_> = orders(&case.items)
            .into_iter()
            .filter(|order| {
                let policy = ordered(&case.policy, order);
                OutboundPlan::compile(policy, client_keys()).is_ok()
            })
            .collect();
        let count = case.items.len() + 1;
        assert_eq!(usual.len(), count, "{}: {usual:?}", case.name);
        let is_usual = |order: &Vec<OrderedItem>| {
            let mut longer = vec![Timestamp];
            longer.extend(order);
            items(&case.message(&longer)) == usual
        };
        assert!(written.iter().any(is_usual), "{}: {usual:?}", case.name);
    }
}

/// What a rule forbids is refused by our own engine, too.
#[test]
fn an_order_that_is_refused_is_one_that_is_not_opened() {
    for case in messages_with_assertions() {
        for (first, second) in &case.rules {
            let message = case.message(&[]);
            let swapped = swapped(&message, case.local(*first), case.local(*second));
            let opened = open_as(&case.policy, &swapped, &Facts::default());
            assert!(opened.is_err(), "{}: {first:?}, {second:?}", case.name);
        }
    }
}

#[test]
fn an_assertion_over_a_connection_has_any_place() {
    let policy = adjusted(&hiding(&by_connection()), |accepted| {
        accepted.methods = vec![ConfirmationMethod::Bearer];
    });
    let draft = Draft::bearer(SamlVersion::V20);
    let message = carrying(&ordered(&policy, &[Assertion]), &draft.signed());
    assert_eq!(items(&message), ["EncryptedAssertion"]);
    open_as(&policy, &message, &Facts::default()).unwrap_or_else(|rejected| panic!("{rejected}"));
}

/// The key of the signature is in what the signature must stand before.
#[test]
fn a_holder_who_signs_has_an_assertion_that_is_signed_before_it_is_encrypted() {
    let late = Carrying::new("", Mechanism::EncryptSign, ConfirmationMethod::HolderOfKey)
        .encrypted_with_message();
    let problem = "an assertion whose holder signs is deciphered before his signature is verified: it is signed before it is encrypted";
    let expected = [PlanProblem::Combination { problem }];
    let outbound = OutboundPlan::compile(late.policy.clone(), client_keys());
    assert_eq!(outbound.unwrap_err(), expected);
    // Another sender may have a key for the assertion alone.
    InboundPlan::compile(late.policy, knowing_issuers()).unwrap();
}

/// No signature uses the assertion whose cipher text it covers.
#[test]
fn a_strict_layout_has_an_assertion_behind_the_signature_over_its_cipher_text() {
    let bearer = ConfirmationMethod::Bearer;
    let mut late = Carrying::new("", Mechanism::EncryptSign, bearer).encrypted_with_message();
    late.policy.header.layout = Layout::Strict;
    late.check(&[Timestamp, Token, KeyToken, Signature, Key, Assertion]);
    late.check(&[]);
}

#[test]
fn an_order_is_for_messages_that_leave() {
    let wrong = ordered(&whole(Mechanism::SignEncrypt), &[Signature, Key]);
    InboundPlan::compile(wrong.clone(), knowing_issuers()).unwrap();
    OutboundPlan::compile(wrong, client_keys()).unwrap_err();
}

/// Several operations share an order.
#[test]
fn an_item_that_messages_lack_breaks_no_rule() {
    let mut signed = ordered(
        &policy(Mechanism::Sign, "Basic256GCM"),
        &[Username, Signature, Key, Timestamp],
    );
    assert!(!signed.writes_item(Username) && signed.writes_item(Signature));
    open(&signed, &secure(&signed, PLAIN)).unwrap_or_else(|rejected| panic!("{rejected}"));
    signed.header.layout = Layout::LaxTimestampFirst;
    signed.header.order = vec![Username, Timestamp, Signature];
    open(&signed, &secure(&signed, PLAIN)).unwrap_or_else(|rejected| panic!("{rejected}"));
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
        [PlanProblem::HeaderOrderUnfit {
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
        assert!(problems.contains(&PlanProblem::HeaderOrderUnfit { problem }));
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
