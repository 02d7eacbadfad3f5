//! Messages that their connection protects, and whose sender a security context shows: its key
//! signs the Timestamp (WS-SecurityPolicy 1.3, 7.3 and 8.3).

use soapstone_crypto::SymmetricKey;
use soapstone_wss::{
    Binding, ConversationVersion, DerivedKeyForm, DerivedKeyPolicy, EndorsingToken, Facts,
    InboundPlan, KeyBinding, KeyReference, Mechanism, OutboundPlan, Outgoing, Part, Policy,
    Rejected, ReplayKey, SecurityContext, Signer, TimestampPolicy,
};
use soapstone_xml::Buffers;

use crate::conversations::{bound, context, derived, knowing, refused, text, within};
use crate::support::{
    PLAIN, client_keys, envelope, facts, forwarded, now, open_with, policy, secure_with,
    service_keys,
};

const VERSION: ConversationVersion = ConversationVersion::V13;

fn signing(token: EndorsingToken) -> Policy {
    let mut policy = policy(Mechanism::None, "Basic256");
    policy.header.timestamp = Some(TimestampPolicy::default());
    policy.binding = Binding::Transport;
    policy.endorse_with(token);
    policy
}

/// Whose token is there, or is named, and from whose key others are derived, or not.
fn endorsed_by(carried: bool, derived_keys: Option<DerivedKeyPolicy>) -> Policy {
    signing(EndorsingToken::by_context(carried, derived_keys))
}

fn endorsed() -> Policy {
    endorsed_by(true, None)
}

/// The key of the context signs parts of a message that nothing else protects.
fn signing_itself(parts: &[Part]) -> Policy {
    let reference = KeyReference::Direct;
    let mut policy = bound(Mechanism::Sign, "Basic256", KeyBinding::Context, reference);
    policy.header.timestamp = Some(TimestampPolicy::default());
    policy.parts.signed = parts.to_vec();
    policy
}

fn header(local: &str) -> Part {
    Part::Header {
        namespace: "http://www.w3.org/2005/08/addressing".to_owned(),
        local: local.to_owned(),
    }
}

/// The message without what stands between two texts, which are gone as well.
fn without(message: &str, from: &str, to: &str) -> String {
    let (before, rest) = message.split_once(from).expect("it begins");
    let (_, after) = rest.split_once(to).expect("it ends");
    format!("{before}{after}")
}

fn marks(policy: &Policy, facts: &Facts, message: &str) -> Vec<ReplayKey> {
    let plan = InboundPlan::compile(policy.clone(), service_keys()).unwrap();
    let opened = plan.open_unmarked(envelope(message), facts, now(), &mut Buffers::default());
    opened.unwrap().marks().to_vec()
}

#[test]
fn a_context_says_who_sends_and_the_connection_what() {
    let context = context(VERSION);
    let understood = PLAIN.replace("mustUnderstand=\"0\"", "mustUnderstand=\"1\"");
    for form in [
        None,
        Some(DerivedKeyForm::Explicit),
        Some(DerivedKeyForm::Implied),
    ] {
        for carried in [true, false] {
            let derived_keys = form.and_then(|form| derived(VERSION, form));
            let policy = endorsed_by(carried, derived_keys);
            let plan = OutboundPlan::compile(policy.clone(), client_keys()).unwrap();
            let secured = plan
                .secure(
                    envelope(&understood),
                    Outgoing::within(&context),
                    now(),
                    &mut Buffers::default(),
                )
                .unwrap();
            let facts = knowing(&[&context]);
            let opened =
                open_with(&policy, service_keys(), &facts, &text(&secured), now()).unwrap();
            let Signer::Context { name, owner } = &opened.evidence().signatures[0].signer else {
                panic!("{form:?}: signed by {:?}", opened.evidence().signatures);
            };
            assert_eq!(
                (name, owner.to_string()),
                (&context.name(), "alice".to_owned())
            );
            let passed_on = forwarded(&opened);
            for part in ["urn:service", "urn:echo<", "Grüße"] {
                assert!(passed_on.contains(part), "{part}: {passed_on}");
            }
        }
    }
}

/// The same signature, where nothing but signatures protects: whoever stands on the way can have
/// put the header blocks there.
#[test]
fn header_blocks_that_are_not_signed_are_good_only_where_the_connection_protects_them() {
    let context = context(VERSION);
    let secured = text(&within(&endorsed(), &context));
    let alone = signing_itself(&[Part::Timestamp]);
    let facts = knowing(&[&context]);
    let opened = open_with(&alone, service_keys(), &facts, &secured, now()).unwrap();
    assert!(!forwarded(&opened).contains("urn:service"));
    let binding = secured.replace("mustUnderstand=\"0\"", "mustUnderstand=\"1\"");
    assert_eq!(
        refused(&alone, &facts, &binding),
        Rejected::HeaderNotVerified {
            header: "{http://www.w3.org/2005/08/addressing}Action".to_owned()
        }
    );
}

#[test]
fn a_message_without_the_contexts_signature_over_its_timestamp_is_refused() {
    let context = context(VERSION);
    let facts = knowing(&[&context]);
    let good = text(&within(&endorsed(), &context));

    let bare = without(&good, "<ds:Signature ", "</ds:Signature>");
    assert!(bare.contains("SecurityContextToken"));
    assert_eq!(
        refused(&endorsed(), &facts, &bare),
        Rejected::SignatureMissing
    );
    let nothing = without(&good, "<wsu:Timestamp ", "</wsu:Timestamp>");
    assert_eq!(
        refused(&endorsed(), &facts, &nothing),
        Rejected::TimestampMissing
    );
    let other_time = good.replace("Z</wsu:Created>", "5Z</wsu:Created>");
    assert_ne!(other_time, good);
    assert_eq!(
        refused(&endorsed(), &facts, &other_time).name(),
        "digest-mismatch"
    );
    let elsewhere = signing_itself(&[header("To")]);
    let unsigned = text(&within(&elsewhere, &context));
    assert_eq!(
        refused(&endorsed(), &facts, &unsigned),
        Rejected::Unsigned {
            part: Part::Timestamp
        }
    );
    // And where the policy has the token sign more, that as well.
    let more = signing(EndorsingToken {
        parts: vec![header("To")],
        ..EndorsingToken::by_context(true, None)
    });
    assert_eq!(
        refused(&more, &facts, &good),
        Rejected::Unsigned { part: header("To") }
    );
}

#[test]
fn only_the_key_of_a_context_that_is_known_and_alive_endorses() {
    let context = context(VERSION);
    let good = text(&within(&endorsed(), &context));

    let unknown = refused(&endorsed(), &facts(), &good);
    let name = context.name();
    assert_eq!(unknown, Rejected::ContextUnknown { name: name.clone() });
    let expired = SecurityContext {
        expires: now(),
        ..context.clone()
    };
    let late = refused(&endorsed(), &knowing(&[&expired]), &good);
    let at = expired.expires;
    assert_eq!(late, Rejected::ContextExpired { name, expired: at });
    let another = SecurityContext {
        secret: SymmetricKey::new(vec![8; 32]).unwrap(),
        ..context.clone()
    };
    let forged = refused(&endorsed(), &knowing(&[&another]), &good);
    assert_eq!(forged.name(), "signature-mismatch");
    // The key of the certificate that the conversation began with.
    let certificate = signing(EndorsingToken::by_certificate(KeyReference::Direct));
    let by_certificate = text(&secure_with(&certificate, client_keys(), PLAIN, None));
    let facts = knowing(&[&context]);
    let instead = refused(&endorsed(), &facts, &by_certificate);
    assert_eq!(instead.name(), "algorithm-not-allowed");
}

#[test]
fn a_context_endorses_with_a_derived_key_where_the_policy_wants_one_and_only_there() {
    let context = context(VERSION);
    let facts = knowing(&[&context]);
    let deriving = endorsed_by(true, derived(VERSION, DerivedKeyForm::Explicit));
    let as_it_is = text(&within(&endorsed(), &context));
    assert_eq!(
        refused(&deriving, &facts, &as_it_is),
        Rejected::KeyNotDerived
    );
    let from_it = text(&within(&deriving, &context));
    assert_eq!(
        refused(&endorsed(), &facts, &from_it).name(),
        "element-unexpected"
    );
}

/// Somebody who has a copy of a message, and a connection of his own, has no second message: what
/// the context's key has signed is good for one.
#[test]
fn an_endorsement_under_another_body_is_a_replay() {
    let context = context(VERSION);
    let facts = knowing(&[&context]);
    let message = text(&within(&endorsed(), &context));
    let changed = message.replace("Grüße", "Other");
    assert_ne!(message, changed);
    let marks_of = |message: &str| marks(&endorsed(), &facts, message);
    assert_eq!(marks_of(&message).len(), 1);
    assert_eq!(marks_of(&message), marks_of(&changed));
    let next = text(&within(&endorsed(), &context));
    assert_ne!(marks_of(&message), marks_of(&next));
}
