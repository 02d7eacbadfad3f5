//! Messages that other keys protect, and that the key of a security context endorses
//! (WS-SecurityPolicy 1.3, 8.3 and 8.4, under 7.4 and 7.5).

use std::sync::Arc;

use soapstone_crypto::SymmetricKey;
use soapstone_wss::{
    ContextOwner, ConversationVersion, DerivedKeyForm, DerivedKeyPolicy, EncryptedPart,
    EndorsingToken, Facts, InboundPlan, KeyBinding, KeyReference, Keys, Layout, Mechanism,
    OutboundPlan, Outgoing, Part, PlanProblem, Policy, ProtectionOrder, Rejected, ReplayKey,
    Secured, SecurityContext, SignatureRole, Signer, SupportingToken,
};
use soapstone_xml::Buffers;

use crate::conversations::{bound, context, derived, knowing, refused, text};
use crate::endorsers::{NOTARY, demand, elements, endorsed_by};
use crate::support::{
    Adjust as _, PARTIES, PLAIN, aside, client_keys, declaring, envelope, facts, forwarded, header,
    merged, now, open_with, path, policy, secure_with, service_keys, with,
};

const VERSION: ConversationVersion = ConversationVersion::V13;
const MISSING: Rejected = Rejected::EndorsementMissing;

fn by_session_key() -> Policy {
    bound(
        Mechanism::SignEncrypt,
        "Basic256",
        KeyBinding::SessionKey,
        KeyReference::Thumbprint,
    )
}

fn by_certificate() -> Policy {
    policy(Mechanism::SignEncrypt, "Basic256")
}

/// A context from whose key the endorsing one is derived.
fn deriving(form: DerivedKeyForm, exclusive: bool) -> EndorsingToken {
    let derived = derived(VERSION, form).map(|derived| DerivedKeyPolicy {
        exclusive,
        ..derived
    });
    EndorsingToken::by_context(true, derived)
}

fn by_context() -> EndorsingToken {
    EndorsingToken::by_context(true, None)
}

fn endorsed(mut policy: Policy) -> Policy {
    policy.endorse_by(vec![by_context()]);
    policy
}

/// Another conversation at the same service.
fn mallorys() -> SecurityContext {
    SecurityContext {
        identifier: "urn:uuid:6b2f7c1e-0000-4000-8000-000000000002".to_owned(),
        secret: SymmetricKey::new(vec![9; 32]).unwrap(),
        owner: ContextOwner::User("mallory".to_owned()),
        ..context(VERSION)
    }
}

fn known() -> Facts {
    knowing(&[&context(VERSION), &mallorys()])
}

fn secured_with(policy: &Policy, keys: Keys, plain: &str, context: &SecurityContext) -> Secured {
    let plan = OutboundPlan::compile(policy.clone(), keys).unwrap();
    let outgoing = Outgoing::within(context);
    plan.secure(envelope(plain), outgoing, now(), &mut Buffers::default())
        .unwrap()
}

fn message(policy: &Policy) -> String {
    text(&secured_with(
        policy,
        client_keys(),
        PLAIN,
        &context(VERSION),
    ))
}

fn signatures(message: &str) -> [&str; 2] {
    elements(message, "ds:Signature").try_into().unwrap()
}

fn every(name: &str) -> Part {
    path(&format!("//*[local-name()='{name}']"))
}

fn to() -> Part {
    header("To")
}

/// The key of a context signs, and nothing endorses.
fn in_conversation() -> Policy {
    bound(
        Mechanism::Sign,
        "Basic256",
        KeyBinding::Context,
        KeyReference::Direct,
    )
}

/// What somebody signs with a context of his in a message that is secured already, with the token,
/// in the header beside the rest.
fn beside(message: &str, context: &SecurityContext, part: Part) -> String {
    let his = aside(in_conversation(), vec![part]);
    let made = text(&secured_with(&his, client_keys(), message, context));
    declaring(&merged(&made))
}

fn marks(policy: &Policy, message: &str) -> Vec<ReplayKey> {
    let plan = InboundPlan::compile(policy.clone(), service_keys()).unwrap();
    let opened = plan.open_unmarked(envelope(message), &known(), now(), &mut Buffers::default());
    opened.unwrap().marks().to_vec()
}

/// Every binding that is none of a context.
fn bindings() -> Vec<Policy> {
    let mut with_derived_keys = by_session_key();
    with_derived_keys.set_derived_keys(derived(VERSION, DerivedKeyForm::Explicit));
    let mut bindings = vec![by_session_key(), with_derived_keys, by_certificate()];
    for at in 0..bindings.len() {
        let mut other_order = bindings[at].clone();
        other_order.set_order(ProtectionOrder::EncryptBeforeSigning);
        bindings.push(other_order);
    }
    bindings
}

#[test]
fn a_context_endorses_what_other_keys_protect() {
    for binding in bindings() {
        for form in [
            None,
            Some(DerivedKeyForm::Explicit),
            Some(DerivedKeyForm::Implied),
        ] {
            for (carried, hides_signature, protects) in [
                (true, false, false),
                (true, true, true),
                (false, false, false),
            ] {
                let mut policy = binding.clone();
                policy.header.layout = Layout::Strict;
                policy.endorse_by(vec![EndorsingToken {
                    covers_token: protects,
                    signed: protects,
                    ..EndorsingToken::by_context(
                        carried,
                        form.and_then(|form| derived(VERSION, form)),
                    )
                }]);
                if hides_signature {
                    let signature = EncryptedPart::customary(Part::Signature);
                    policy.parts.encrypted.push(signature);
                }
                let message = message(&policy);
                let opened = open_with(&policy, service_keys(), &known(), &message, now());
                let opened = opened.unwrap();
                let evidence = opened.evidence();
                let roles = evidence.signatures.iter().map(|one| one.role);
                let roles: Vec<_> = roles.collect();
                assert_eq!(roles, [SignatureRole::Message, SignatureRole::Endorsing]);
                let Signer::Context { name, owner } = &evidence.signatures[1].signer else {
                    panic!("endorsed by {:?}", evidence.signatures[1].signer);
                };
                assert_eq!(name, &context(VERSION).name());
                assert_eq!(owner.to_string(), "alice");
                let by_name = policy.uses(KeyBinding::Certificate);
                let signer = evidence.signer().map(|signer| signer.subject());
                assert_eq!(signer, by_name.then_some("CN=client"));
                assert!(forwarded(&opened).contains("Grüße"));
            }
        }
    }
}

#[test]
fn the_host_is_asked_for_the_context_that_endorses() {
    for carried in [true, false] {
        let mut policy = endorsed(by_session_key());
        policy.endorse_by(vec![EndorsingToken::by_context(carried, None)]);
        let plan = InboundPlan::compile(policy.clone(), service_keys()).unwrap();
        let lookups = plan.peek(&envelope(&message(&policy)));
        assert_eq!(lookups.contexts, [context(VERSION).name()]);
        let bootstrap = message(&by_session_key());
        assert!(plan.peek(&envelope(&bootstrap)).contexts.is_empty());
    }
}

#[test]
fn a_message_that_no_context_endorses_is_refused() {
    for binding in [by_session_key(), by_certificate()] {
        let policy = endorsed(binding.clone());
        let good = message(&policy);
        let [signature, endorsement] = signatures(&good);
        let bare = good.replace(endorsement, "");
        assert_eq!(refused(&policy, &known(), &bare), MISSING);
        assert_eq!(refused(&policy, &known(), &message(&binding)), MISSING);
        let alone = good.replace(signature, "");
        assert_eq!(
            refused(&policy, &known(), &alone).name(),
            "reference-not-found"
        );
        // Nor with one more than the policy has.
        let copied = good.replace(
            endorsement,
            &format!(
                "{endorsement}{}",
                endorsement.replace("-endorsement\"", "-copy\"")
            ),
        );
        assert_eq!(refused(&policy, &known(), &copied), MISSING);
        // What wants none knows no contexts.
        assert_eq!(
            refused(&binding, &known(), &good).name(),
            "element-unexpected"
        );
    }
}

#[test]
fn only_the_key_of_a_context_that_is_known_and_alive_endorses() {
    for binding in [by_session_key(), by_certificate()] {
        let policy = endorsed(binding);
        let good = message(&policy);
        let name = context(VERSION).name();
        assert_eq!(
            refused(&policy, &facts(), &good),
            Rejected::ContextUnknown { name: name.clone() }
        );
        let expired = SecurityContext {
            expires: now(),
            ..context(VERSION)
        };
        assert_eq!(
            refused(&policy, &knowing(&[&expired]), &good),
            Rejected::ContextExpired {
                name,
                expired: expired.expires
            }
        );
        let another = SecurityContext {
            secret: SymmetricKey::new(vec![8; 32]).unwrap(),
            ..context(VERSION)
        };
        assert_eq!(
            refused(&policy, &knowing(&[&another]), &good).name(),
            "signature-mismatch"
        );
    }
}

/// What a stranger can make signs nothing that a context or a certificate is to sign.
#[test]
fn no_key_does_what_a_key_of_another_kind_is_to_do() {
    let symmetric = endorsed(by_session_key());
    let asymmetric = endorsed(by_certificate());
    let by_client = |mut policy: Policy| {
        policy.endorse_by(vec![demand()]);
        policy
    };
    let [symmetric_by_client, asymmetric_by_client] =
        [by_session_key(), by_certificate()].map(by_client);
    // The message's session key, signing a second time.
    let good = message(&symmetric);
    let [signature, endorsement] = signatures(&good);
    let info = |signature: &str| elements(signature, "wsse:SecurityTokenReference")[0].to_owned();
    let forged = endorsement.replace(&info(endorsement), &info(signature));
    assert_ne!(forged, endorsement);
    let copy = signature.replace("-signature\"", "-copy\"");
    let alone = message(&in_conversation());
    for (policy, message, expected) in [
        // A session key in the place of the sender's certificate, though HMACs are at home here.
        (&asymmetric, &good, "algorithm-not-allowed"),
        (&symmetric, &message(&asymmetric), "algorithm-not-allowed"),
        // The context's in the place of either.
        (&symmetric, &alone, "signature-missing"),
        (&asymmetric, &alone, "signature-missing"),
        // A certificate in the place of the context.
        (
            &symmetric,
            &message(&symmetric_by_client),
            "algorithm-not-allowed",
        ),
        (&asymmetric, &message(&asymmetric_by_client), "too-many"),
        (
            &asymmetric_by_client,
            &message(&asymmetric),
            "element-unexpected",
        ),
        (
            &symmetric,
            &good.replace(endorsement, &forged),
            "signature-mismatch",
        ),
        (&symmetric, &good.replace(endorsement, &copy), "too-many"),
    ] {
        assert_eq!(refused(policy, &known(), message).name(), expected);
    }
}

#[test]
fn a_context_that_signs_anything_but_the_signature_of_the_message_endorses_nothing() {
    for binding in [by_session_key(), by_certificate()] {
        let policy = endorsed(binding.clone());
        let plain = message(&binding);
        for part in [every("Timestamp"), to()] {
            let elsewhere = beside(&plain, &context(VERSION), part);
            assert_eq!(refused(&policy, &known(), &elsewhere), MISSING);
        }
        // The endorsement of another message, with that signature.
        let before = message(&policy);
        let [old, endorsement] = signatures(&before);
        let token = elements(&before, "wsc:SecurityContextToken")[0];
        let moved = declaring(&plain.replace(
            "</wsse:Security>",
            &format!("{token}{endorsement}</wsse:Security>"),
        ));
        assert_eq!(
            refused(&policy, &known(), &moved).name(),
            "reference-not-found"
        );
        let aside = moved.replace("</wsse:Security>", &format!("</wsse:Security>{old}"));
        assert_eq!(refused(&policy, &known(), &aside), MISSING);
        let over_signature = beside(&plain, &context(VERSION), every("Signature"));
        open_with(&policy, service_keys(), &known(), &over_signature, now()).unwrap();
    }
}

#[test]
fn two_contexts_endorse_no_message() {
    let policy = endorsed(by_session_key());
    let both = beside(&message(&policy), &mallorys(), every("Timestamp"));
    assert_eq!(
        refused(&policy, &known(), &both),
        Rejected::KeyMisused {
            problem: "one message is secured with two security contexts".to_owned()
        }
    );
}

#[test]
fn the_key_of_the_context_is_derived_if_and_only_if_the_plan_says_so() {
    for binding in bindings() {
        let as_it_is = endorsed(binding.clone());
        let mut from_it = as_it_is.clone();
        from_it.endorse_by(vec![deriving(DerivedKeyForm::Explicit, false)]);
        assert_eq!(
            refused(&from_it, &known(), &message(&as_it_is)),
            Rejected::KeyNotDerived
        );
        let other = refused(&as_it_is, &known(), &message(&from_it));
        let expected = match binding.derived_keys() {
            None => "element-unexpected",
            Some(_) => "token-unsupported",
        };
        assert_eq!(other.name(), expected);
        // In the one form that is wanted.
        let mut implied = from_it.clone();
        implied.endorse_by(vec![deriving(DerivedKeyForm::Implied, true)]);
        assert_eq!(
            refused(&implied, &known(), &message(&from_it)).name(),
            "token-unsupported"
        );
    }
    // The message's own keys are derived, or not, as is said of them.
    let mut derived_session_key = endorsed(by_session_key());
    derived_session_key.set_derived_keys(derived(VERSION, DerivedKeyForm::Explicit));
    let mut derived_context = endorsed(by_session_key());
    derived_context.endorse_by(vec![deriving(DerivedKeyForm::Explicit, false)]);
    assert_eq!(
        refused(&derived_context, &known(), &message(&derived_session_key)).name(),
        "token-unsupported"
    );
    assert_eq!(
        refused(&derived_session_key, &known(), &message(&derived_context)),
        Rejected::KeyNotDerived
    );
}

/// A partner who has a copy of the message on its way, and a conversation of his own.
#[test]
fn where_its_token_is_signed_a_message_says_whose_context_endorses_it() {
    for binding in [by_session_key(), by_certificate()] {
        let mut policy = endorsed(binding);
        policy.token(0).signed = true;
        let good = message(&policy);
        let [_, endorsement] = signatures(&good);
        let stripped = good.replace(endorsement, "");
        let his = beside(&stripped, &mallorys(), every("Signature"));
        assert_eq!(
            refused(&policy, &known(), &his),
            Rejected::Unsigned {
                part: Part::EndorsingToken
            }
        );
        // By its name alone no context takes the place of one whose token is to be there.
        let mut named = policy.clone();
        *named.token(0) = EndorsingToken::by_context(false, None);
        assert_eq!(
            refused(&policy, &known(), &message(&named)),
            Rejected::Unsigned {
                part: Part::EndorsingToken
            }
        );
        let mut unsigned = policy.clone();
        unsigned.token(0).signed = false;
        let opened = open_with(&unsigned, service_keys(), &known(), &his, now()).unwrap();
        let Signer::Context { owner, .. } = &opened.evidence().signatures[1].signer else {
            panic!("no context");
        };
        assert_eq!(owner.to_string(), "mallory");
    }
}

/// And where the endorsing signature is to cover its own token (8.9).
#[test]
fn a_protected_token_of_a_context_is_signed_by_its_key() {
    let mut policy = endorsed(by_session_key());
    let without = message(&policy);
    policy.token(0).covers_token = true;
    assert_eq!(
        refused(&policy, &known(), &without),
        Rejected::Unsigned {
            part: Part::EndorsingToken
        }
    );
}

#[test]
fn certificates_and_a_context_endorse_together_and_neither_for_the_other() {
    for binding in [by_session_key(), by_certificate()] {
        let mut policy = binding;
        policy.endorse_by(vec![demand(), by_context()]);
        let good = message(&policy);
        let opened = open_with(&policy, service_keys(), &known(), &good, now()).unwrap();
        assert_eq!(opened.evidence().signer().unwrap().subject(), "CN=client");
        let [_, by_client, by_alice] = elements(&good, "ds:Signature").try_into().unwrap();
        for gone in [by_client, by_alice] {
            assert_eq!(refused(&policy, &known(), &good.replace(gone, "")), MISSING);
        }
        let mut twice = policy.clone();
        twice.endorse_by(vec![demand(), demand()]);
        let keys = endorsed_by(&[&PARTIES.client, &NOTARY]);
        let by_two = text(&secure_with(&twice, keys, PLAIN, None));
        assert_eq!(refused(&policy, &known(), &by_two), MISSING);
        // The context first: of a message that nobody signed by name, its owner is the sender.
        policy.supporting.reverse();
        let good = message(&policy);
        let opened = open_with(&policy, service_keys(), &known(), &good, now()).unwrap();
        let signer = opened
            .evidence()
            .signer()
            .map(|one| one.subject().to_owned());
        let by_name = policy.uses(KeyBinding::Certificate);
        assert_eq!(signer, by_name.then(|| "CN=client".to_owned()));
    }
}

#[test]
fn a_header_block_that_the_context_alone_covers_is_passed_on_if_its_owner_sends() {
    for (binding, is_senders) in [(by_session_key(), true), (by_certificate(), false)] {
        let mut policy = endorsed(binding);
        policy.token(0).parts = vec![to()];
        let good = message(&policy);
        let opened = open_with(&policy, service_keys(), &known(), &good, now()).unwrap();
        assert_eq!(forwarded(&opened).contains("urn:service"), is_senders);
        let without = message(&endorsed(policy.clone()));
        assert_eq!(
            refused(&policy, &known(), &without),
            Rejected::Unendorsed { part: to() }
        );
        // Of a certificate that is named first the context is not the sender.
        policy
            .supporting
            .insert(0, SupportingToken::Endorsing(demand()));
        let good = message(&policy);
        let opened = open_with(&policy, service_keys(), &known(), &good, now()).unwrap();
        assert!(!forwarded(&opened).contains("urn:service"));
    }
}

#[test]
fn both_signatures_make_a_message_known_to_who_receives_it_and_to_who_sent_it() {
    let policy = endorsed(by_session_key());
    let secured = secured_with(&policy, client_keys(), PLAIN, &context(VERSION));
    let seen = marks(&policy, &text(&secured));
    assert_eq!(seen.len(), 2);
    let sent: Vec<_> = secured.receipt.marks.iter().map(|mark| mark.key).collect();
    for mark in &seen {
        assert!(sent.contains(&mark.key), "{sent:?}");
    }
    // An endorsement of his own makes no other message of it.
    let copied = text(&secured);
    let [_, endorsement] = signatures(&copied);
    let his = beside(
        &copied.replace(endorsement, ""),
        &mallorys(),
        every("Signature"),
    );
    let again = marks(&policy, &his);
    assert!(again.iter().any(|mark| seen.contains(mark)));
}

#[test]
fn plans_for_contexts_that_cannot_endorse_are_none() {
    let hidden = "a security context or a Kerberos token is looked up before anything is deciphered: what names it must stay readable";
    let one = "a message belongs to one conversation, or to the session of one Kerberos token";
    let short = "a derived signature key has 16 to 64 bytes";
    let cases: [(fn(&mut Policy), _); 5] = [
        (|policy| policy.token(0).encrypted = true, hidden),
        (
            |policy| {
                *policy.token(0) = EndorsingToken::by_context(false, None);
                let signature = EncryptedPart::customary(Part::Signature);
                policy.parts.encrypted.push(signature);
            },
            hidden,
        ),
        (|policy| policy.endorse_with(by_context()), one),
        (
            |policy| policy.bind(KeyBinding::Context, KeyReference::Direct),
            one,
        ),
        (
            |policy| {
                let mut keys = derived(VERSION, DerivedKeyForm::Explicit).unwrap();
                keys.signature_length = 8;
                *policy.token(0) = EndorsingToken::by_context(true, Some(keys));
            },
            short,
        ),
    ];
    for (change, problem) in cases {
        let policy = with(&endorsed(by_session_key()), change);
        let problems = InboundPlan::compile(policy, service_keys()).unwrap_err();
        assert_eq!(problems, [PlanProblem::Combination { problem }]);
    }
    // Nobody is believed by name, and nobody signs by name.
    let keys = Keys {
        trust: None,
        ..service_keys()
    };
    InboundPlan::compile(endorsed(by_session_key()), keys).unwrap();
    let keys = Keys {
        identity: None,
        peer: Some(Arc::clone(&PARTIES.service).certificate().clone()),
        ..Keys::default()
    };
    OutboundPlan::compile(endorsed(by_session_key()), keys).unwrap();
}
