//! Session keys, security contexts, derived keys, endorsing signatures and confirmations: what is secured opens, and what is forged does not.

use soapstone_crypto::SymmetricKey;
use soapstone_wss::{
    ContextOwner, ConversationVersion, DerivedKeyForm, DerivedKeyPolicy, EncryptedPart,
    EndorsingPolicy, Facts, InboundPlan, KeyBinding, KeyReference, Layout, Mechanism, OutboundPlan,
    Outgoing, Part, Policy, ProtectionOrder, Rejected, SecureError, Secured, SecurityContext,
    SignatureRole, Signer,
};
use soapstone_xml::Buffers;

use crate::support::{
    PLAIN, client_keys, envelope, facts, forwarded, now, open_with, policy, secure_with,
    service_keys,
};

const VERSIONS: [ConversationVersion; 2] = ConversationVersion::ALL;

fn bound(mechanism: Mechanism, suite: &str, key: KeyBinding, reference: KeyReference) -> Policy {
    let mut policy = policy(mechanism, suite);
    if let Some(signature) = &mut policy.signature {
        (signature.key, signature.reference) = (key, reference);
    }
    if let Some(encryption) = &mut policy.encryption {
        (encryption.key, encryption.reference) = (key, reference);
    }
    policy
}

fn derived(version: ConversationVersion, form: DerivedKeyForm) -> Option<DerivedKeyPolicy> {
    Some(DerivedKeyPolicy {
        version,
        form,
        signature_length: 24,
    })
}

fn context(version: ConversationVersion) -> SecurityContext {
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

fn conversation(version: ConversationVersion) -> Policy {
    let mut policy = bound(
        Mechanism::SignEncrypt,
        "Basic256",
        KeyBinding::Context,
        KeyReference::Direct,
    );
    policy.derived_keys = derived(version, DerivedKeyForm::Explicit);
    policy
}

fn within(policy: &Policy, context: &SecurityContext) -> Secured {
    let plan = OutboundPlan::compile(policy.clone(), client_keys()).unwrap();
    plan.secure(
        envelope(PLAIN),
        Outgoing::within(context),
        now(),
        &mut Buffers::default(),
    )
    .unwrap()
}

fn knowing(contexts: &[&SecurityContext]) -> Facts {
    Facts {
        contexts: contexts.iter().map(|one| (*one).clone()).collect(),
        ..facts()
    }
}

fn text(secured: &Secured) -> String {
    String::from_utf8(secured.bytes.clone()).unwrap()
}

fn refused(policy: &Policy, facts: &Facts, message: &str) -> Rejected {
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
                request.derived_keys = form.and_then(|form| derived(version, form));
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
                response.derived_keys = request.derived_keys;
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
            request.derived_keys = form.and_then(|form| derived(version, form));
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
            response.signature.as_mut().unwrap().reference = KeyReference::EncryptedKeySha1;
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

/// WSS4J uses the first octets of a secret that is longer than the algorithm's keys.
#[test]
fn a_secret_used_as_it_is_may_be_longer_than_a_key() {
    let mut policy = bound(
        Mechanism::SignEncrypt,
        "Basic128",
        KeyBinding::Context,
        KeyReference::Direct,
    );
    policy.derived_keys = None;
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

/// WS-SecureConversation 1.4, 12: contexts that were never made, have expired, or belong to another conversation.
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
        "decryption-failed"
    );

    let expired = SecurityContext {
        expires: now() - std::time::Duration::from_secs(1),
        ..context.clone()
    };
    assert!(matches!(
        refused(&policy, &knowing(&[&expired]), &message),
        Rejected::ContextExpired { name, .. } if name == context.name()
    ));
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

/// An answer must come in the conversation of its request, not in another one that the client has with somebody else.
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
    sign.encryption = None;
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
    // The Timestamp and the Body of the second message are not in the first: the key is refused before its references are looked at.
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
        ("<wsc:Offset>0<", "<wsc:Offset>4090<", "first 4096 octets"),
        ("<wsc:Offset>0<", "<wsc:Offset>-1<", "small number"),
        ("<wsc:Length>24<", "<wsc:Length>2<", "16 to 64"),
        ("<wsc:Length>24<", "<wsc:Length>100000000<", "16 to 64"),
        (
            "<wsc:Offset>0</wsc:Offset>",
            "<wsc:Generation>999999999</wsc:Generation>",
            "first 4096 octets",
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
        message.replace(&format!("URI=\"#{sct}\""), &format!("URI=\"#{id}\""))
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
    let plain = Policy {
        derived_keys: None,
        ..derives.clone()
    };
    let facts = knowing(&[&context]);
    let message = text(&within(&plain, &context));
    assert_eq!(refused(&derives, &facts, &message), Rejected::KeyNotDerived);
    let message = text(&within(&derives, &context));
    assert_eq!(
        refused(&plain, &facts, &message).name(),
        "element-unexpected"
    );
}

/// A message secured with a session key proves nothing about its sender: a plan that wants a certificate or a context does not take it.
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
    in_context.encryption = None;
    in_context.derived_keys = None;
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

#[test]
fn an_endorsing_signature_says_who_sent_what_a_session_key_signed() {
    for token_signed in [false, true] {
        for order in [
            ProtectionOrder::SignBeforeEncrypting,
            ProtectionOrder::EncryptBeforeSigning,
        ] {
            let mut endorsed = bound(
                Mechanism::SignEncrypt,
                "Basic256GCM",
                KeyBinding::SessionKey,
                KeyReference::Thumbprint,
            );
            endorsed.order = order;
            endorsed.endorsing = Some(EndorsingPolicy {
                reference: KeyReference::Direct,
                token_signed,
            });
            let message = text(&secure_with(&endorsed, client_keys(), PLAIN, None));
            let opened = open_with(&endorsed, service_keys(), &facts(), &message, now()).unwrap();
            assert_eq!(opened.evidence().signer().unwrap().subject(), "CN=client");
            let roles: Vec<_> = opened
                .evidence()
                .signatures
                .iter()
                .map(|one| one.role)
                .collect();
            assert_eq!(roles, [SignatureRole::Message, SignatureRole::Endorsing]);
        }
    }
}

#[test]
fn a_missing_or_misplaced_endorsement_is_refused() {
    let mut endorsed = bound(
        Mechanism::Sign,
        "Basic256GCM",
        KeyBinding::SessionKey,
        KeyReference::Thumbprint,
    );
    let without = text(&secure_with(&endorsed, client_keys(), PLAIN, None));
    endorsed.endorsing = Some(EndorsingPolicy {
        reference: KeyReference::Direct,
        token_signed: false,
    });
    assert_eq!(
        refused(&endorsed, &facts(), &without),
        Rejected::EndorsementMissing
    );

    // The endorsement of one message does not serve another.
    let (one, two) = (
        text(&secure_with(&endorsed, client_keys(), PLAIN, None)),
        without,
    );
    let at = one.find("<ds:Signature ").unwrap();
    let second = at + 1 + one[at + 1..].find("<ds:Signature ").unwrap();
    let end = second + one[second..].find("</ds:Signature>").unwrap() + "</ds:Signature>".len();
    let token = one.find("<wsse:BinarySecurityToken").unwrap();
    let token_end =
        one.find("</wsse:BinarySecurityToken>").unwrap() + "</wsse:BinarySecurityToken>".len();
    let moved = two.replace(
        "</wsse:Security>",
        &format!(
            "{}{}</wsse:Security>",
            &one[token..token_end],
            &one[second..end]
        ),
    );
    assert_eq!(
        refused(&endorsed, &facts(), &moved).name(),
        "reference-not-found"
    );

    let mut token_signed = endorsed.clone();
    token_signed.endorsing = Some(EndorsingPolicy {
        reference: KeyReference::Direct,
        token_signed: true,
    });
    assert_eq!(
        refused(&token_signed, &facts(), &one),
        Rejected::Unsigned { part: Part::Token }
    );
}

/// SOAP Message Security 1.1.1, 8.5.
#[test]
fn an_answer_confirms_the_signatures_of_its_request() {
    let request = policy(Mechanism::Sign, "Basic256GCM");
    let mut response = request.clone();
    response.signature_confirmation = true;
    response
        .signature
        .as_mut()
        .unwrap()
        .parts
        .push(Part::SignatureConfirmation);
    let exchange = |response: &Policy| {
        let secured = secure_with(&request, client_keys(), PLAIN, None);
        let opened = open_with(&request, service_keys(), &facts(), &text(&secured), now()).unwrap();
        let (_, receipt) = opened.finish(&mut Buffers::default());
        let answer = text(&secure_with(
            response,
            service_keys(),
            PLAIN,
            Some(&receipt),
        ));
        (
            Facts {
                request: Some(secured.receipt),
                ..facts()
            },
            answer,
        )
    };
    let opened = |facts: &Facts, answer: &str| {
        open_with(&response, client_keys(), facts, answer, now())
            .map(|_| ())
            .map_err(|error| error.cause().clone())
    };
    let (facts_one, one) = exchange(&response);
    let (facts_two, two) = exchange(&response);
    opened(&facts_one, &one).unwrap();
    assert_eq!(
        opened(&facts_one, &two).unwrap_err(),
        Rejected::ConfirmationMismatch
    );
    assert_eq!(
        opened(&facts_two, &exchange(&request).1).unwrap_err(),
        Rejected::ConfirmationMissing
    );
}

#[test]
fn parts_that_are_required_must_be_there() {
    let mut wants = policy(Mechanism::Sign, "Basic256GCM");
    let message = text(&secure_with(&wants, client_keys(), PLAIN, None));
    let header = |local: &str| Part::Header {
        namespace: "http://www.w3.org/2005/08/addressing".to_owned(),
        local: local.to_owned(),
    };
    wants.required = vec![header("To")];
    open_with(&wants, service_keys(), &facts(), &message, now()).unwrap();
    wants.required = vec![header("MessageID")];
    assert_eq!(
        refused(&wants, &facts(), &message),
        Rejected::PartMissing {
            part: header("MessageID")
        }
    );
}

/// WS-SecurityPolicy 1.3, 6.6 and 6.7.
#[test]
fn the_layout_and_the_extent_of_signatures_are_checked() {
    let mut wants = bound(
        Mechanism::SignEncrypt,
        "Basic256GCM",
        KeyBinding::SessionKey,
        KeyReference::Thumbprint,
    );
    wants.derived_keys = derived(ConversationVersion::V13, DerivedKeyForm::Explicit);
    let message = text(&secure_with(&wants, client_keys(), PLAIN, None));
    for layout in [Layout::Strict, Layout::LaxTimestampFirst] {
        wants.layout = layout;
        open_with(&wants, service_keys(), &facts(), &message, now()).unwrap();
    }
    wants.layout = Layout::LaxTimestampLast;
    assert_eq!(
        refused(&wants, &facts(), &message).name(),
        "layout-violated"
    );
    wants.layout = Layout::Strict;
    let start = message.find("<wsc:DerivedKeyToken").unwrap();
    let end = message.rfind("</wsc:DerivedKeyToken>").unwrap() + "</wsc:DerivedKeyToken>".len();
    let late = message[..start].to_owned()
        + &message[end..].replace(
            "</wsse:Security>",
            &format!("{}</wsse:Security>", &message[start..end]),
        );
    assert_eq!(refused(&wants, &facts(), &late).name(), "layout-violated");
    wants.layout = Layout::Lax;
    open_with(&wants, service_keys(), &facts(), &late, now()).unwrap();

    let mut by_id = policy(Mechanism::Sign, "Basic256GCM");
    by_id
        .signature
        .as_mut()
        .unwrap()
        .parts
        .push(Part::Id("inner".to_owned()));
    let wsu = soapstone_wss::names::WSU;
    let plain = PLAIN.replace(
        "<e:empty/>",
        &format!("<e:empty xmlns:wsu=\"{wsu}\" wsu:Id=\"inner\"/>"),
    );
    let message = text(&secure_with(&by_id, client_keys(), &plain, None));
    open_with(&by_id, service_keys(), &facts(), &message, now()).unwrap();
    let entire = Policy {
        only_entire_headers_and_body: true,
        signature: policy(Mechanism::Sign, "Basic256GCM").signature,
        ..by_id
    };
    assert_eq!(
        refused(&entire, &facts(), &message).name(),
        "signed-elsewhere"
    );
}

#[test]
fn confirmations_are_encrypted_with_the_signature_in_either_order() {
    for order in [
        ProtectionOrder::SignBeforeEncrypting,
        ProtectionOrder::EncryptBeforeSigning,
    ] {
        let request = policy(Mechanism::Sign, "Basic256");
        let sent = secure_with(&request, client_keys(), PLAIN, None);
        let received = open_with(&request, service_keys(), &facts(), &text(&sent), now()).unwrap();
        let (_, receipt) = received.finish(&mut Buffers::default());
        let mut response = policy(Mechanism::SignEncrypt, "Basic256");
        response.order = order;
        response.signature_confirmation = true;
        let signed = &mut response.signature.as_mut().unwrap().parts;
        signed.push(Part::SignatureConfirmation);
        let encrypted = &mut response.encryption.as_mut().unwrap().parts;
        encrypted
            .extend([Part::Signature, Part::SignatureConfirmation].map(EncryptedPart::customary));
        let answer = secure_with(&response, service_keys(), PLAIN, Some(&receipt));
        assert!(!text(&answer).contains("SignatureConfirmation"));
        let facts = Facts {
            request: Some(sent.receipt),
            ..facts()
        };
        open_with(&response, client_keys(), &facts, &text(&answer), now()).unwrap();
    }
}

#[test]
fn the_timestamp_is_last_where_the_layout_wants_it() {
    let mut policy = policy(Mechanism::SignEncrypt, "Basic256");
    policy.layout = Layout::LaxTimestampLast;
    let message = text(&secure_with(&policy, client_keys(), PLAIN, None));
    assert!(
        message.contains("</wsu:Timestamp></wsse:Security>"),
        "{message}"
    );
    open_with(&policy, service_keys(), &facts(), &message, now()).unwrap();
}

/// A partner adds an endorsement of his own to somebody else's message, in order to be taken for its sender.
#[test]
fn a_second_endorsement_is_refused() {
    let mut endorsed = bound(
        Mechanism::Sign,
        "Basic256GCM",
        KeyBinding::SessionKey,
        KeyReference::Thumbprint,
    );
    endorsed.endorsing = Some(EndorsingPolicy {
        reference: KeyReference::Thumbprint,
        token_signed: false,
    });
    let message = text(&secure_with(&endorsed, client_keys(), PLAIN, None));
    let first = message.find("<ds:Signature ").unwrap();
    let second = first + 1 + message[first + 1..].find("<ds:Signature ").unwrap();
    let end = second + message[second..].find("</ds:Signature>").unwrap() + "</ds:Signature>".len();
    let added = message[second..end].replacen("-endorsement\"", "-added\"", 1);
    let twice = message.replace("</wsse:Security>", &format!("{added}</wsse:Security>"));
    assert_eq!(
        refused(&endorsed, &facts(), &twice),
        Rejected::EndorsementMissing
    );
}

/// Under a key that many messages share nothing but the cipher text tells a copy from another message.
#[test]
fn a_copy_of_a_message_that_is_only_encrypted_has_the_same_mark() {
    let context = context(ConversationVersion::V13);
    let mut encrypt = conversation(ConversationVersion::V13);
    encrypt.signature = None;
    let plan = InboundPlan::compile(encrypt.clone(), service_keys()).unwrap();
    let marks = |message: &str| {
        let opened = plan.open(
            envelope(message),
            &knowing(&[&context]),
            now(),
            &mut Buffers::default(),
        );
        let marks = opened.unwrap().marks().to_vec();
        assert_eq!(marks.len(), 1);
        marks[0].key
    };
    let (one, other) = (
        text(&within(&encrypt, &context)),
        text(&within(&encrypt, &context)),
    );
    let wrapped = one.replace("<xenc:CipherValue>", "<xenc:CipherValue>\n ");
    assert_eq!(marks(&one), marks(&wrapped));
    assert_ne!(marks(&one), marks(&other));
}
