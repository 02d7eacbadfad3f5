//! Several endorsing signatures over one Timestamp, where the connection protects the message
//! (WS-SecurityPolicy 1.3, 7.3, 8.3 and 8.4): each demand is met by a signature of its own, made
//! with a key of its own.

use std::sync::Arc;

use soapstone_crypto::Identity;
use soapstone_wss::{
    Binding, ConversationVersion, DerivedKeyForm, EndorsingKey, EndorsingToken, Evidence,
    InboundPlan, KeyReference, Keys, Layout, Mechanism, OutboundPlan, Outgoing, Part, PlanProblem,
    Policy, Rejected, ReplayKey, SignatureRole, Signer, TimestampPolicy,
};
use soapstone_xml::Buffers;

use crate::conversations::{context, derived, knowing, refused, text};
use crate::endorsers::{
    NOTARY, demand, elements, endorsed_by, one_key_does_not_sign_for_two, other,
};
use crate::support::{
    Adjust as _, PARTIES, PLAIN, aside, client_keys, envelope, facts, forwarded, header, merged,
    now, open, open_with, path, policy, secure_with, service_keys, with,
};

const VERSION: ConversationVersion = ConversationVersion::V13;
const TIMESTAMP: &str = "//*[local-name()='Timestamp']";

/// A token of this kind signs the Timestamp.
fn by(token: EndorsingToken) -> Policy {
    let mut policy = policy(Mechanism::None, "Basic256");
    policy.header.timestamp = Some(TimestampPolicy::default());
    policy.binding = Binding::Transport;
    policy.endorse_with(token);
    policy.header.layout = Layout::Strict;
    policy
}

/// And another one, by certificate.
fn two(token: EndorsingToken) -> Policy {
    let mut policy = by(token);
    policy.endorse_with(demand());
    policy
}

fn by_context() -> EndorsingToken {
    EndorsingToken::by_context(true, None)
}

fn certificates() -> Policy {
    two(demand())
}

fn both() -> Keys {
    endorsed_by(&[&PARTIES.client, &NOTARY])
}

fn to() -> Part {
    header("To")
}

fn message(policy: &Policy, keys: Keys) -> String {
    text(&secure_with(policy, keys, PLAIN, None))
}

fn within(policy: &Policy, keys: Keys) -> String {
    let plan = OutboundPlan::compile(policy.clone(), keys).unwrap();
    let context = context(VERSION);
    let outgoing = Outgoing::within(&context);
    let secured = plan.secure(envelope(PLAIN), outgoing, now(), &mut Buffers::default());
    text(&secured.unwrap())
}

fn signatures(message: &str) -> [&str; 2] {
    let found = elements(message, "ds:Signature");
    found.try_into().unwrap()
}

/// What else somebody signs in a message that is secured already, with the token, in the header
/// beside the rest.
fn beside(message: &str, who: &Arc<Identity>, parts: &[Part]) -> String {
    let his = aside(policy(Mechanism::Sign, "Basic256"), parts.to_vec());
    let keys = Keys {
        identity: Some(Arc::clone(who)),
        ..client_keys()
    };
    merged(&text(&secure_with(&his, keys, message, None)))
}

fn endorsers(evidence: &Evidence) -> Vec<(SignatureRole, String)> {
    let signatures = evidence.signatures.iter();
    let who = |signer: &Signer| match signer {
        Signer::Certificate(certificate) => certificate.subject().to_owned(),
        Signer::Context { owner, .. } => owner.to_string(),
        other => panic!("signed by {other:?}"),
    };
    signatures.map(|one| (one.role, who(&one.signer))).collect()
}

fn marks(policy: &Policy, message: &str) -> Vec<ReplayKey> {
    let plan = InboundPlan::compile(policy.clone(), service_keys()).unwrap();
    let opened = plan.open_unmarked(envelope(message), &facts(), now(), &mut Buffers::default());
    opened.unwrap().marks().to_vec()
}

#[test]
fn every_certificate_signs_the_timestamp_with_a_key_of_its_own() {
    let third = other("CN=auditor");
    for reference in [KeyReference::Direct, KeyReference::Embedded] {
        let mut policy = certificates();
        for token in policy.endorsing_mut() {
            token.key = EndorsingKey::Certificate(reference);
        }
        policy.endorse_with(EndorsingToken {
            parts: vec![Part::Body, to()],
            ..demand()
        });
        let keys = endorsed_by(&[&PARTIES.client, &NOTARY, &third]);
        let opened = open(&policy, &message(&policy, keys)).unwrap();
        assert_eq!(
            endorsers(opened.evidence()),
            [
                (SignatureRole::Message, "CN=client".to_owned()),
                (SignatureRole::Endorsing, "CN=notary".to_owned()),
                (SignatureRole::Endorsing, "CN=auditor".to_owned()),
            ]
        );
        assert_eq!(opened.evidence().signer().unwrap().subject(), "CN=client");
        let passed_on = forwarded(&opened);
        for part in ["urn:service", "urn:echo<", "Grüße"] {
            assert!(passed_on.contains(part), "{part}: {passed_on}");
        }
    }
}

#[test]
fn a_certificate_endorses_beside_a_context_whose_owner_sends() {
    for form in [
        None,
        Some(DerivedKeyForm::Explicit),
        Some(DerivedKeyForm::Implied),
    ] {
        for carried in [true, false] {
            let derived_keys = form.and_then(|form| derived(VERSION, form));
            let policy = two(EndorsingToken::by_context(carried, derived_keys));
            let facts = knowing(&[&context(VERSION)]);
            let message = within(&policy, client_keys());
            let opened = open_with(&policy, service_keys(), &facts, &message, now()).unwrap();
            assert_eq!(
                endorsers(opened.evidence()),
                [
                    (SignatureRole::Message, "alice".to_owned()),
                    (SignatureRole::Endorsing, "CN=client".to_owned()),
                ]
            );
            // Whoever endorses beside the context is not who asks for another one.
            assert!(opened.evidence().signer().is_none());
        }
    }
}

/// Who renews a context: by name, and by its key.
#[test]
fn a_context_endorses_beside_a_certificate_that_says_who_asks() {
    let mut policy = by(demand());
    policy.endorse_with(by_context());
    let facts = knowing(&[&context(VERSION)]);
    let good = within(&policy, client_keys());
    let opened = open_with(&policy, service_keys(), &facts, &good, now()).unwrap();
    assert_eq!(
        endorsers(opened.evidence()),
        [
            (SignatureRole::Message, "CN=client".to_owned()),
            (SignatureRole::Endorsing, "alice".to_owned()),
        ]
    );
    assert_eq!(opened.evidence().signer().unwrap().subject(), "CN=client");
    for gone in signatures(&good) {
        let stripped = good.replace(gone, "");
        assert_eq!(
            refused(&policy, &facts, &stripped),
            Rejected::EndorsementMissing
        );
    }
    let certificates = message(&certificates(), both());
    assert_eq!(
        refused(&policy, &facts, &certificates),
        Rejected::EndorsementMissing
    );
    let [_, by_context] = signatures(&good);
    let copy = by_context.replace("-endorsement\"", "-copy\"");
    let [by_client, _] = signatures(&good);
    let twice = good.replace(by_client, &copy);
    let twice = twice.replace(elements(&good, "wsse:BinarySecurityToken")[0], "");
    assert_eq!(refused(&policy, &facts, &twice), Rejected::EndorserRepeated);
    let mut lenient = policy.clone();
    lenient.same_endorser = true;
    assert_eq!(
        refused(&lenient, &facts, &twice),
        Rejected::EndorsementMissing
    );
    // The context signs the Timestamp of this message.
    let elsewhere = beside(&message(&by(demand()), client_keys()), &NOTARY, &[to()]);
    assert_eq!(
        refused(&policy, &facts, &elsewhere),
        Rejected::EndorsementMissing
    );
}

/// The key of `[[identity.endorsing]]` that is named first signs, with or without others beside it.
#[test]
fn whoever_is_named_first_among_those_who_endorse_signs_the_timestamp() {
    let policy = by(demand());
    let alone = Keys {
        identity: None,
        ..endorsed_by(&[&NOTARY])
    };
    for (keys, who) in [
        (client_keys(), "CN=client"),
        (endorsed_by(&[&NOTARY]), "CN=notary"),
        (alone, "CN=notary"),
    ] {
        let opened = open(&policy, &message(&policy, keys)).unwrap();
        assert_eq!(opened.evidence().signer().unwrap().subject(), who);
    }
}

#[test]
fn a_signature_that_is_missing_is_missed_whichever_it_is_and_one_too_many_is_refused() {
    let policy = certificates();
    let good = message(&policy, both());
    let [first, second] = signatures(&good);
    let time = path(TIMESTAMP);
    for (message, expected) in [
        (good.replace(first, ""), Rejected::EndorsementMissing),
        (good.replace(second, ""), Rejected::EndorsementMissing),
        (
            good.replace(first, "").replace(second, ""),
            Rejected::SignatureMissing,
        ),
        (
            beside(&good, &other("CN=mallory"), std::slice::from_ref(&time)),
            Rejected::EndorsementMissing,
        ),
    ] {
        assert_eq!(refused(&policy, &facts(), &message), expected);
    }
    // One more than a policy has that wants one.
    let alone = by(demand());
    assert_eq!(refused(&alone, &facts(), &good).name(), "too-many");
    // That is an endorsement where there is none yet.
    let one = message(&alone, client_keys());
    open(&policy, &beside(&one, &NOTARY, &[time])).unwrap();
}

#[test]
fn neither_a_context_nor_a_certificate_stands_in_for_the_other() {
    let policy = two(by_context());
    let facts = knowing(&[&context(VERSION)]);
    let good = within(&policy, client_keys());
    let [by_context, by_certificate] = signatures(&good);
    for (gone, expected) in [
        (by_context, Rejected::SignatureMissing),
        (by_certificate, Rejected::EndorsementMissing),
    ] {
        assert_eq!(refused(&policy, &facts, &good.replace(gone, "")), expected);
    }
    let certificates = message(&certificates(), both());
    assert_eq!(
        refused(&policy, &facts, &certificates),
        Rejected::SignatureMissing
    );
    let copied = good.replace(
        by_certificate,
        &by_context.replace("-signature\"", "-copy\""),
    );
    assert_eq!(refused(&policy, &facts, &copied).name(), "too-many");
    // Where certificates alone are wanted.
    let wanted = self::certificates();
    assert_eq!(refused(&wanted, &facts, &good).name(), "element-unexpected");
    let without_token = elements(&good, "wsc:SecurityContextToken")[0];
    assert_eq!(
        refused(&wanted, &facts, &good.replace(without_token, "")).name(),
        "algorithm-not-allowed"
    );
}

#[test]
fn one_key_does_not_sign_for_two_whatever_its_certificates() {
    let policy = certificates();
    one_key_does_not_sign_for_two(&policy);
    let good = message(&policy, both());
    let [first, second] = signatures(&good);
    let copy = first.replacen("-signature\"", "-copy\"", 1);
    let copied = good.replace(second, &copy);
    assert_ne!(copied, good);
    assert_eq!(
        refused(&policy, &facts(), &copied),
        Rejected::EndorserRepeated
    );
}

/// Each of them is over this Timestamp, not over something else of the message, nor over the
/// Timestamp of another one that somebody has put aside.
#[test]
fn a_signature_over_anything_but_the_timestamp_of_the_message_endorses_nothing() {
    let policy = certificates();
    let alone = by(demand());
    let one = message(&alone, client_keys());
    let unendorsed = Rejected::Unendorsed {
        part: Part::Timestamp,
    };
    let over_signature = path("//*[local-name()='Signature']");
    for part in [to(), Part::Body, over_signature] {
        let elsewhere = beside(&one, &NOTARY, &[part]);
        assert_eq!(refused(&policy, &facts(), &elsewhere), unendorsed);
    }
    // The notary's own message of before: his Timestamp goes along with his signature.
    let before = message(&alone, endorsed_by(&[&NOTARY]));
    let [old] = elements(&before, "wsu:Timestamp").try_into().unwrap();
    let [signature] = elements(&before, "ds:Signature").try_into().unwrap();
    let [token] = elements(&before, "wsse:BinarySecurityToken")
        .try_into()
        .unwrap();
    let with_signature = one.replace(
        "</wsse:Security>",
        &format!("{token}{signature}</wsse:Security>"),
    );
    let duplicated = with_signature.replace(token, &format!("{old}{token}"));
    assert_eq!(
        refused(&policy, &facts(), &duplicated),
        Rejected::TimestampDuplicated
    );
    let aside = with_signature.replace("</wsse:Security>", &format!("</wsse:Security>{old}"));
    assert_eq!(refused(&policy, &facts(), &aside), unendorsed);
    // And what was signed is not changed afterwards.
    let good = message(&policy, both());
    let later = good.replace("Z</wsu:Expires>", "5Z</wsu:Expires>");
    assert_ne!(later, good);
    assert_eq!(refused(&policy, &facts(), &later).name(), "digest-mismatch");
}

/// What is demanded of a token, or what it does.
type Own = fn(&mut EndorsingToken);

const NOTHING: Own = |_| ();
const SIGNS_TO: Own = |token| token.parts.push(to());
/// WS-SecurityPolicy 1.3, 8.9: each token's own signature covers it.
const PROTECTS: Own = |token| token.covers_token = true;

/// Neither of two demands is met by who meets the other one alone.
#[test]
fn each_of_two_demands_has_a_signature_over_all_that_it_names() {
    let unendorsed = || Some(Rejected::Unendorsed { part: to() });
    let unsigned = |part: Part| Some(Rejected::Unsigned { part });
    let token = || unsigned(Part::EndorsingToken);
    let [none, signs, both_sign] = [[NOTHING; 2], [NOTHING, SIGNS_TO], [SIGNS_TO; 2]];
    let protect = [PROTECTS; 2];
    for (demanded, sent, expected) in [
        // Parts that a token is to sign in particular.
        (signs, none, unendorsed()),
        ([SIGNS_TO, NOTHING], none, unsigned(to())),
        (both_sign, signs, unendorsed()),
        (both_sign, both_sign, None),
        // Tokens that are protected.
        (protect, [PROTECTS, NOTHING], token()),
        (protect, [NOTHING, PROTECTS], token()),
        (protect, none, unsigned(Part::Token)),
        (protect, protect, None),
    ] {
        let [demanded, sent] = [demanded, sent].map(|own| {
            with(&certificates(), |policy| {
                for (token, own) in policy.endorsing_mut().zip(own) {
                    own(token);
                }
            })
        });
        let found = open(&demanded, &message(&sent, both())).map(drop);
        let found = found.map_err(|refused| refused.cause().clone()).err();
        assert_eq!(found, expected, "{:?}", demanded.supporting);
    }
}

/// Where one of them signs what is demanded of the first alone, he sends, wherever his signature
/// stands.
#[test]
fn who_meets_what_is_said_of_the_first_token_sends_and_no_order_says_it() {
    let mut policy = certificates();
    policy.token(0).parts.push(to());
    let keys = endorsed_by(&[&NOTARY, &PARTIES.client]);
    let message = self::message(&policy, keys);
    let [first, second] = signatures(&message);
    let exchanged = message
        .replace(first, "held")
        .replace(second, first)
        .replace("held", second);
    for message in [&message, &exchanged] {
        let opened = open(&policy, message).unwrap();
        assert_eq!(opened.evidence().signer().unwrap().subject(), "CN=notary");
    }
    // Where either would do, the name says it.
    let policy = certificates();
    let of = |keys| {
        let opened = open(&policy, &self::message(&policy, keys)).unwrap();
        opened.evidence().signer().unwrap().subject().to_owned()
    };
    assert_eq!(of(both()), of(endorsed_by(&[&NOTARY, &PARTIES.client])));
}

/// Whoever has a copy takes neither of the signatures into another message.
#[test]
fn each_of_the_signatures_makes_a_message_known() {
    let policy = certificates();
    let good = message(&policy, both());
    let seen = marks(&policy, &good);
    assert_eq!(seen.len(), 2);
    let changed = good.replace("Grüße", "Other");
    assert_eq!(marks(&policy, &changed), seen);
    // The client's signature with that of another approver.
    let [_, second] = signatures(&good);
    let time = path(TIMESTAMP);
    let other = beside(&good.replace(second, ""), &other("CN=auditor"), &[time]);
    let plan = InboundPlan::compile(policy, service_keys()).unwrap();
    let opened = plan.open_unmarked(envelope(&other), &facts(), now(), &mut Buffers::default());
    let marks = opened.unwrap().marks().to_vec();
    let known: Vec<_> = marks.iter().filter(|mark| seen.contains(mark)).collect();
    assert_eq!((marks.len(), known.len()), (2, 1));
}

#[test]
fn a_plan_that_endorses_a_timestamp_that_is_not_there_is_none() {
    let mut policy = certificates();
    policy.header.timestamp = None;
    policy.header.layout = Layout::Lax;
    assert_eq!(
        InboundPlan::compile(policy, service_keys()).unwrap_err(),
        [PlanProblem::Part {
            part: Part::Timestamp,
            problem: "is to be signed, and the policy has none",
        }]
    );
}

/// The connection protects tokens as it protects everything else.
#[test]
fn tokens_are_neither_signed_nor_encrypted_where_the_connection_protects_them() {
    let mut policy = certificates();
    for token in policy.endorsing_mut() {
        (token.signed, token.encrypted) = (true, true);
    }
    let good = message(&certificates(), both());
    open(&policy, &good).unwrap();
    let as_plain = message(&policy, both());
    assert!(!as_plain.contains("xenc:"), "{as_plain}");
    let references = |message: &str| message.matches("<ds:Reference ").count();
    assert_eq!(references(&as_plain), references(&good));
    open(&certificates(), &as_plain).unwrap();
}
