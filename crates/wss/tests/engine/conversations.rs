//! Session keys, security contexts and derived keys: what is secured opens, and what is forged does
//! not.

use soapstone_crypto::{DigestAlgorithm, SymmetricKey, base64, digest};
use soapstone_wss::{
    ContextOwner, ConversationVersion, DerivedKeyForm, DerivedKeyPolicy, Facts, InboundPlan,
    KeyBinding, KeyReference, Mechanism, OutboundPlan, Outgoing, Policy, Rejected, SecureError,
    Secured, SecurityContext, Signer, names,
};
use soapstone_xml::Buffers;

use crate::support::{
    Adjust as _, PLAIN, client_keys, envelope, facts, forwarded, now, open_with, policy,
    secure_with, service_keys, with,
};

const VERSIONS: [ConversationVersion; 2] = ConversationVersion::ALL;

pub(crate) fn bound(
    mechanism: Mechanism,
    suite: &str,
    key: KeyBinding,
    reference: KeyReference,
) -> Policy {
    let mut policy = policy(mechanism, suite);
    policy.bind(key, reference);
    policy
}

pub(crate) fn derived(
    version: ConversationVersion,
    form: DerivedKeyForm,
) -> Option<DerivedKeyPolicy> {
    Some(DerivedKeyPolicy {
        version,
        form,
        exclusive: false,
        signature_length: 24,
    })
}

pub(crate) fn context(version: ConversationVersion) -> SecurityContext {
    SecurityContext {
        version,
        identifier: "urn:uuid:6b2f7c1e-0000-4000-8000-000000000001".to_owned(),
        instance: None,
        secret: SymmetricKey::new(vec![7; 32]).unwrap(),
        created: now(),
        expires: now() + std::time::Duration::from_secs(600),
        owner: ContextOwner::User("alice".to_owned()),
    }
}

pub(crate) fn conversation(version: ConversationVersion) -> Policy {
    let mut policy = bound(
        Mechanism::SignEncrypt,
        "Basic256",
        KeyBinding::Context,
        KeyReference::Direct,
    );
    policy.set_derived_keys(derived(version, DerivedKeyForm::Explicit));
    policy
}

pub(crate) fn within(policy: &Policy, context: &SecurityContext) -> Secured {
    let plan = OutboundPlan::compile(policy.clone(), client_keys()).unwrap();
    plan.secure(
        envelope(PLAIN),
        Outgoing::within(context),
        now(),
        &mut Buffers::default(),
    )
    .unwrap()
}

pub(crate) fn knowing(contexts: &[&SecurityContext]) -> Facts {
    Facts {
        contexts: contexts.iter().map(|one| (*one).clone()).collect(),
        ..facts()
    }
}

pub(crate) fn text(secured: &Secured) -> String {
    String::from_utf8(secured.bytes.clone()).unwrap()
}

pub(crate) fn refused(policy: &Policy, facts: &Facts, message: &str) -> Rejected {
    open_with(policy, service_keys(), facts, message, now())
        .unwrap_err()
        .cause()
        .clone()
}

#[test]
fn a_session_key_signs_and_encrypts_and_the_answer_uses_it_again() {
    for mechanism in [
        Mechanism::Sign,
        Mechanism::Encrypt,
        Mechanism::SignEncrypt,
        Mechanism::EncryptSign,
    ] {
        for form in [
            None,
            Some(DerivedKeyForm::Explicit),
            Some(DerivedKeyForm::Implied),
        ] {
            for version in VERSIONS {
                let mut request = bound(
                    mechanism,
                    "Basic128",
                    KeyBinding::SessionKey,
                    KeyReference::Thumbprint,
                );
                request.set_derived_keys(form.and_then(|form| derived(version, form)));
                let secured = secure_with(&request, client_keys(), PLAIN, None);
                let opened = open_with(&request, service_keys(), &facts(), &text(&secured), now())
                    .unwrap_or_else(|error| {
                        panic!("{mechanism} {form:?}: {error}\n{}", text(&secured))
                    });
                assert!(forwarded(&opened).contains("Grüße"));

                let mut response = bound(
                    mechanism,
                    "Basic128",
                    KeyBinding::RequestKey,
                    KeyReference::EncryptedKeySha1,
                );
                response.set_derived_keys(request.derived_keys());
                let (_, receipt) = opened.finish(&mut Buffers::default());
                let answer = secure_with(&response, service_keys(), PLAIN, Some(&receipt));
                let facts = Facts {
                    request: Some(secured.receipt),
                    ..facts()
                };
                open_with(&response, client_keys(), &facts, &text(&answer), now())
                    .unwrap_or_else(|error| panic!("answer {mechanism} {form:?}: {error}"));
            }
        }
    }
}

#[test]
fn a_context_signs_and_encrypts_in_both_directions() {
    for version in VERSIONS {
        for form in [
            None,
            Some(DerivedKeyForm::Explicit),
            Some(DerivedKeyForm::Implied),
        ] {
            let context = SecurityContext {
                instance: Some("urn:instance:2".to_owned()),
                ..context(version)
            };
            let mut request = conversation(version);
            request.set_derived_keys(form.and_then(|form| derived(version, form)));
            let secured = within(&request, &context);
            let opened = open_with(
                &request,
                service_keys(),
                &knowing(&[&context]),
                &text(&secured),
                now(),
            )
            .unwrap();
            assert!(matches!(
                &opened.evidence().signatures[0].signer,
                Signer::Context { name, owner: ContextOwner::User(user) } if *name == context.name() && user == "alice"
            ));
            // The answer names the context from outside: its token is not repeated.
            let mut response = request.clone();
            response.name_signing_key(KeyReference::EncryptedKeySha1);
            let (_, receipt) = opened.finish(&mut Buffers::default());
            let answer = secure_with(&response, service_keys(), PLAIN, Some(&receipt));
            assert!(
                !text(&answer).contains("SecurityContextToken "),
                "{}",
                text(&answer)
            );
            let facts = Facts {
                request: Some(secured.receipt),
                ..facts()
            };
            open_with(&response, client_keys(), &facts, &text(&answer), now()).unwrap();
        }
    }
}

/// Metro's services look for the instance in the reference, also where the token beside it says it.
#[test]
fn a_reference_to_a_renewed_context_says_which_instance_it_is() {
    for version in VERSIONS {
        let context = SecurityContext {
            instance: Some("urn:instance:2".to_owned()),
            ..context(version)
        };
        let message = text(&within(&conversation(version), &context));
        let reference = format!("ValueType=\"{}\"", version.token_type());
        let complete = format!("{reference} wsc:Instance=\"urn:instance:2\"");
        let count = message.matches(&reference).count();
        assert!(count > 0, "{message}");
        assert_eq!(message.matches(&complete).count(), count, "{message}");
    }
}

/// WSS4J uses the first bytes of a secret that is longer than the algorithm's keys.
#[test]
fn a_secret_used_as_it_is_may_be_longer_than_a_key() {
    let mut policy = bound(
        Mechanism::SignEncrypt,
        "Basic128",
        KeyBinding::Context,
        KeyReference::Direct,
    );
    policy.set_derived_keys(None);
    let context = context(ConversationVersion::V13);
    assert_eq!(context.secret.len(), 32);
    let message = text(&within(&policy, &context));
    open_with(
        &policy,
        service_keys(),
        &knowing(&[&context]),
        &message,
        now(),
    )
    .unwrap();
}

#[test]
fn the_host_is_asked_for_the_context_that_a_message_names() {
    let context = context(ConversationVersion::V13);
    let policy = conversation(ConversationVersion::V13);
    let secured = within(&policy, &context);
    let plan = InboundPlan::compile(policy, service_keys()).unwrap();
    let lookups = plan.peek(&envelope(&text(&secured)));
    assert_eq!(lookups.contexts, [context.name()]);
}

/// WS-SecureConversation 1.4, 12: contexts that were never made, have expired, or belong to another
/// conversation.
#[test]
fn a_context_that_is_not_there_is_refused() {
    let version = ConversationVersion::V13;
    let policy = conversation(version);
    let context = context(version);
    let message = text(&within(&policy, &context));
    let unknown = Rejected::ContextUnknown {
        name: context.name(),
    };
    assert_eq!(refused(&policy, &facts(), &message), unknown);

    let renewed = SecurityContext {
        instance: Some("2".to_owned()),
        ..context.clone()
    };
    assert_eq!(refused(&policy, &knowing(&[&renewed]), &message), unknown);

    let of_the_other_version = SecurityContext {
        version: ConversationVersion::February2005,
        ..context.clone()
    };
    assert_eq!(
        refused(&policy, &knowing(&[&of_the_other_version]), &message),
        unknown
    );

    let forged = SecurityContext {
        secret: SymmetricKey::new(vec![8; 32]).unwrap(),
        ..context.clone()
    };
    assert_eq!(
        refused(&policy, &knowing(&[&forged]), &message).name(),
        "signature-mismatch"
    );

    let expired = SecurityContext {
        expires: now() - std::time::Duration::from_secs(1),
        ..context.clone()
    };
    assert!(matches!(
        refused(&policy, &knowing(&[&expired]), &message),
        Rejected::ContextExpired { name, .. } if name == context.name()
    ));
    let at = now();
    let ending = SecurityContext {
        expires: at,
        ..context.clone()
    };
    let ending = knowing(&[&ending]);
    let opened = |now| open_with(&policy, service_keys(), &ending, &message, now).map(drop);
    assert_eq!(opened(at - std::time::Duration::from_nanos(1)), Ok(()));
    let name = context.name();
    let over = Rejected::ContextExpired { name, expired: at };
    assert_eq!(opened(at), Err(over));
    let plan = OutboundPlan::compile(policy, client_keys()).unwrap();
    let outcome = plan.secure(
        envelope(PLAIN),
        Outgoing::within(&expired),
        now(),
        &mut Buffers::default(),
    );
    assert!(matches!(outcome, Err(SecureError::ContextExpired { .. })));
    let outcome = plan.secure(
        envelope(PLAIN),
        Outgoing::default(),
        now(),
        &mut Buffers::default(),
    );
    assert_eq!(outcome.unwrap_err(), SecureError::ContextMissing);
}

/// An answer must come in the conversation of its request, not in another one that the client has
/// with somebody else.
#[test]
fn an_answer_in_another_conversation_is_refused() {
    let version = ConversationVersion::V13;
    let policy = conversation(version);
    let (asked, other) = (
        context(version),
        SecurityContext {
            identifier: "urn:uuid:other".to_owned(),
            ..context(version)
        },
    );
    let request = within(&policy, &asked);
    let answer = text(&within(&policy, &other));
    let facts = Facts {
        request: Some(request.receipt),
        ..knowing(&[&other])
    };
    let refused = open_with(&policy, client_keys(), &facts, &answer, now()).unwrap_err();
    assert_eq!(refused, Rejected::ContextUnknown { name: other.name() });
}

#[test]
fn a_message_in_two_contexts_is_refused() {
    let version = ConversationVersion::V13;
    let mut sign = conversation(version);
    sign.unencrypt();
    let (one, two) = (
        context(version),
        SecurityContext {
            identifier: "urn:uuid:two".to_owned(),
            secret: SymmetricKey::new(vec![9; 32]).unwrap(),
            ..context(version)
        },
    );
    let (first, second) = (text(&within(&sign, &one)), text(&within(&sign, &two)));
    let cut = |message: &str, from: &str, to: &str| {
        let start = message.find(from).unwrap();
        let end = start + message[start..].find(to).unwrap() + to.len();
        message[start..end].to_owned()
    };
    let extra = [
        cut(&second, "<wsu:Timestamp", "</wsu:Timestamp>"),
        cut(
            &second,
            "<wsc:SecurityContextToken",
            "</wsc:SecurityContextToken>",
        ),
        cut(&second, "<wsc:DerivedKeyToken", "</wsc:DerivedKeyToken>"),
        cut(&second, "<ds:Signature ", "</ds:Signature>"),
    ];
    // The Timestamp and the Body of the second message are not in the first: the key is refused
    // before its references are looked at.
    let message = first.replace(
        "</wsse:Security>",
        &format!("{}</wsse:Security>", extra[1..].concat()),
    );
    assert_eq!(
        refused(&sign, &knowing(&[&one, &two]), &message),
        Rejected::KeyMisused {
            problem: "one message is secured with two security contexts".to_owned()
        }
    );
}

/// WS-SecureConversation 1.4, 7.1 and 12: what a derivation may ask for is bounded.
#[test]
fn absurd_derivations_are_refused() {
    let version = ConversationVersion::V13;
    let context = context(version);
    let policy = conversation(version);
    let message = text(&within(&policy, &context));
    let facts = knowing(&[&context]);
    for (from, to, expected) in [
        ("<wsc:Offset>0<", "<wsc:Offset>4294967295<", "small number"),
        ("<wsc:Offset>0<", "<wsc:Offset>4090<", "first 4096 bytes"),
        ("<wsc:Offset>0<", "<wsc:Offset>-1<", "small number"),
        ("<wsc:Length>24<", "<wsc:Length>2<", "16 to 64"),
        ("<wsc:Length>24<", "<wsc:Length>100000000<", "16 to 64"),
        (
            "<wsc:Offset>0</wsc:Offset>",
            "<wsc:Generation>999999999</wsc:Generation>",
            "first 4096 bytes",
        ),
        (
            "<wsc:Offset>0</wsc:Offset>",
            "<wsc:Offset>0</wsc:Offset><wsc:Generation>0</wsc:Generation>",
            "found both",
        ),
        (
            "<wsc:Offset>0</wsc:Offset>",
            "<wsc:Offset>0</wsc:Offset><wsc:Offset>0</wsc:Offset>",
            "found more",
        ),
    ] {
        let changed = message.replacen(from, to, 2);
        assert_ne!(changed, message, "{from}");
        match refused(&policy, &facts, &changed) {
            Rejected::Malformed { problem, .. } => {
                assert!(problem.contains(expected), "{to}: {problem}")
            }
            other => panic!("{to}: {other}"),
        }
    }
    let chained = {
        let id = message.find("-dk-sig\"").unwrap();
        let start = message[..id].rfind('"').unwrap() + 1;
        let id = &message[start..id + "-dk-sig".len()];
        let sct = id.replace("-dk-sig", "-sct");
        let of_type = |id: &str, claimed| format!("URI=\"#{id}\" ValueType=\"{claimed}\"");
        let (from, to) = (version.token_type(), version.derived_key_type());
        let chained = message.replace(&of_type(&sct, from), &of_type(id, to));
        assert_ne!(chained, message);
        chained
    };
    assert_eq!(refused(&policy, &facts, &chained).name(), "key-not-found");
    let other = message.replacen(
        "<wsc:DerivedKeyToken ",
        "<wsc:DerivedKeyToken Algorithm=\"urn:weak\" ",
        1,
    );
    assert_eq!(
        refused(&policy, &facts, &other).name(),
        "algorithm-not-allowed"
    );
}

/// A plan that derives keys accepts no key as it is, and the other way round (downgrade).
#[test]
fn keys_are_derived_if_and_only_if_the_plan_says_so() {
    let version = ConversationVersion::V13;
    let context = context(version);
    let derives = conversation(version);
    let plain = with(&derives, |policy| policy.set_derived_keys(None));
    let facts = knowing(&[&context]);
    let message = text(&within(&plain, &context));
    assert_eq!(refused(&derives, &facts, &message), Rejected::KeyNotDerived);
    let message = text(&within(&derives, &context));
    assert_eq!(
        refused(&plain, &facts, &message).name(),
        "element-unexpected"
    );
}

/// A message secured with a session key proves nothing about its sender: a plan that wants a
/// certificate or a context does not take it.
#[test]
fn keys_of_another_kind_are_not_found() {
    let session = bound(
        Mechanism::Sign,
        "Basic256",
        KeyBinding::SessionKey,
        KeyReference::Thumbprint,
    );
    let message = text(&secure_with(&session, client_keys(), PLAIN, None));
    let by_certificate = policy(Mechanism::Sign, "Basic256");
    assert_eq!(
        refused(&by_certificate, &facts(), &message).name(),
        "element-unexpected"
    );
    let mut in_context = conversation(ConversationVersion::V13);
    in_context.unencrypt();
    in_context.set_derived_keys(None);
    assert_eq!(
        refused(&in_context, &facts(), &message).name(),
        "element-unexpected"
    );
    let signed = text(&secure_with(&by_certificate, client_keys(), PLAIN, None));
    assert_eq!(
        refused(&session, &facts(), &signed).name(),
        "algorithm-not-allowed"
    );
}

/// SOAP Message Security 1.1.1, 7.3: a wrapped key may be named by the SHA-1 of its cipher text, in
/// the message that brings it as in the answer.
#[test]
fn a_session_key_of_the_message_is_named_by_its_digest() {
    let (key, reference) = (KeyBinding::SessionKey, KeyReference::Thumbprint);
    let policy = bound(Mechanism::Sign, "Basic256GCM", key, reference);
    let message = text(&secure_with(&policy, client_keys(), PLAIN, None));
    let signature = message.find("<ds:Signature ").unwrap();
    let start = signature + message[signature..].find("<ds:KeyInfo").unwrap();
    let end = start + message[start..].find("</ds:KeyInfo>").unwrap();
    let wrapped = message.split("<xenc:CipherValue>").nth(1).unwrap();
    let mut cipher_value = Vec::new();
    let coded = wrapped.split('<').next().unwrap();
    base64::decode(coded.as_bytes(), &mut cipher_value).unwrap();
    let named = |sha1: &[u8]| {
        let info = format!(
            "<ds:KeyInfo><s:SecurityTokenReference xmlns:s=\"{}\"><s:KeyIdentifier ValueType=\"{}\" EncodingType=\"{}\">{}</s:KeyIdentifier></s:SecurityTokenReference>",
            names::WSSE,
            names::ENCRYPTED_KEY_SHA1,
            names::BASE64_BINARY,
            base64::encode(sha1)
        );
        format!("{}{info}{}", &message[..start], &message[end..])
    };
    let digest = |octets: &[u8]| digest(DigestAlgorithm::Sha1, octets).unwrap();
    let sha1 = digest(&cipher_value);
    open_with(
        &policy,
        service_keys(),
        &facts(),
        &named(sha1.as_ref()),
        now(),
    )
    .unwrap();
    let other = digest(b"another key");
    let refused = refused(&policy, &facts(), &named(other.as_ref()));
    assert_eq!(refused.name(), "key-not-found");
}
