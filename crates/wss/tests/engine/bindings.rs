//! What a policy demands beside keys: endorsing signatures, confirmations, required parts, layout,
//! and that copies are told.

use std::sync::Arc;

use soapstone_crypto::SymmetricKey;
use soapstone_wss::{
    ConversationVersion, DerivedKeyForm, EncryptedPart, Facts, InboundPlan, KeyBinding,
    KeyReference, Keys, Layout, Mechanism, Part, Policy, ProtectionOrder, Rejected, SharedKey,
    SignatureRole,
};
use soapstone_xml::Buffers;

use crate::conversations::{bound, context, conversation, derived, knowing, refused, text, within};
use crate::support::{
    Adjust as _, PLAIN, client_keys, endorse, envelope, facts, now, open_with, policy, secure_with,
    service_keys, with,
};

#[test]
fn an_endorsing_signature_says_who_sent_what_a_session_key_signed() {
    for signed in [false, true] {
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
            endorsed.set_order(order);
            endorse(&mut endorsed, KeyReference::Direct, signed, false);
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

/// A key that may sign does not decipher what the policy leaves as it is, whoever lists it: the key
/// itself or a list of its own.
#[test]
fn what_no_policy_encrypts_is_not_deciphered() {
    let version = ConversationVersion::V13;
    let by_session_key = bound(
        Mechanism::SignEncrypt,
        "Basic256GCM",
        KeyBinding::SessionKey,
        KeyReference::Thumbprint,
    );
    let by_derived_keys = with(&by_session_key, |policy| {
        policy.set_derived_keys(derived(version, DerivedKeyForm::Explicit));
    });
    let secured = |policy: &Policy| text(&secure_with(policy, client_keys(), PLAIN, None));
    let messages = [
        (secured(&by_session_key), by_session_key),
        (secured(&by_derived_keys), by_derived_keys),
        (
            text(&within(&conversation(version), &context(version))),
            conversation(version),
        ),
    ];
    for (message, policy) in messages {
        let signing = with(&policy, |policy| policy.unencrypt());
        let refused = refused(&signing, &knowing(&[&context(version)]), &message);
        assert!(
            matches!(&refused, Rejected::ElementUnexpected { element } if element.ends_with("EncryptedData")),
            "{refused}"
        );
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
    endorse(&mut endorsed, KeyReference::Direct, false, false);
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

    let mut signed = endorsed.clone();
    endorse(&mut signed, KeyReference::Direct, true, false);
    assert_eq!(
        refused(&signed, &facts(), &one),
        Rejected::Unsigned {
            part: Part::EndorsingToken
        }
    );
}

/// WS-SecurityPolicy 1.3, 8.9: where tokens are protected, an endorsing signature covers its own.
#[test]
fn an_endorsement_covers_its_token_where_the_policy_protects_tokens() {
    let with = |covers_token, signed, key, reference| {
        let mut endorsed = bound(Mechanism::Sign, "Basic256GCM", key, reference);
        endorse(&mut endorsed, KeyReference::Direct, signed, covers_token);
        endorsed
    };
    for signed in [false, true] {
        let (key, reference) = (KeyBinding::SessionKey, KeyReference::Thumbprint);
        let protects = with(true, signed, key, reference);
        let message = text(&secure_with(&protects, client_keys(), PLAIN, None));
        open_with(&protects, service_keys(), &facts(), &message, now()).unwrap();
        let other = with(false, signed, key, reference);
        let message = text(&secure_with(&other, client_keys(), PLAIN, None));
        assert_eq!(
            refused(&protects, &facts(), &message),
            Rejected::Unsigned {
                part: Part::EndorsingToken
            }
        );
    }
}

/// SOAP Message Security 1.1.1, 8.5.
#[test]
fn an_answer_confirms_the_signatures_of_its_request() {
    let request = policy(Mechanism::Sign, "Basic256GCM");
    let mut response = request.clone();
    response.header.signature_confirmation = true;
    response.parts.signed.push(Part::SignatureConfirmation);
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

/// The same where the connection protects the answer, and nothing in it is signed
/// (WS-SecurityPolicy 1.3, 6.5 and 7.3).
#[test]
fn an_answer_that_is_not_signed_confirms_the_signatures_of_its_request() {
    let request = policy(Mechanism::Sign, "Basic256GCM");
    let silent = policy(Mechanism::None, "Basic256GCM");
    let mut response = silent.clone();
    response.header.signature_confirmation = true;
    let secured = secure_with(&request, client_keys(), PLAIN, None);
    let opened = open_with(&request, service_keys(), &facts(), &text(&secured), now()).unwrap();
    let (_, receipt) = opened.finish(&mut Buffers::default());
    let answer =
        |policy: &Policy, receipt| text(&secure_with(policy, service_keys(), PLAIN, Some(receipt)));
    let facts = Facts {
        request: Some(secured.receipt),
        ..facts()
    };
    let refusal = |answer: &str| {
        open_with(&response, client_keys(), &facts, answer, now())
            .map(|_| ())
            .map_err(|error| error.cause().clone())
    };
    assert_eq!(refusal(&answer(&response, &receipt)), Ok(()));
    assert_eq!(
        refusal(&answer(&silent, &receipt)),
        Err(Rejected::SecurityMissing)
    );
    let other = soapstone_wss::Receipt::default();
    assert_eq!(
        refusal(&answer(&response, &other)),
        Err(Rejected::ConfirmationMismatch)
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
    wants.parts.required = vec![header("To")];
    open_with(&wants, service_keys(), &facts(), &message, now()).unwrap();
    wants.parts.required = vec![header("MessageID")];
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
    wants.set_derived_keys(derived(ConversationVersion::V13, DerivedKeyForm::Explicit));
    let message = text(&secure_with(&wants, client_keys(), PLAIN, None));
    for layout in [Layout::Strict, Layout::LaxTimestampFirst] {
        wants.header.layout = layout;
        open_with(&wants, service_keys(), &facts(), &message, now()).unwrap();
    }
    wants.header.layout = Layout::LaxTimestampLast;
    assert_eq!(
        refused(&wants, &facts(), &message).name(),
        "layout-violated"
    );
    wants.header.layout = Layout::Strict;
    let start = message.find("<wsc:DerivedKeyToken").unwrap();
    let end = message.rfind("</wsc:DerivedKeyToken>").unwrap() + "</wsc:DerivedKeyToken>".len();
    let late = message[..start].to_owned()
        + &message[end..].replace(
            "</wsse:Security>",
            &format!("{}</wsse:Security>", &message[start..end]),
        );
    assert_eq!(refused(&wants, &facts(), &late).name(), "layout-violated");
    wants.header.layout = Layout::Lax;
    open_with(&wants, service_keys(), &facts(), &late, now()).unwrap();

    let mut by_id = policy(Mechanism::Sign, "Basic256GCM");
    by_id.parts.signed.push(Part::Id("inner".to_owned()));
    let wsu = soapstone_wss::names::WSU;
    let plain = PLAIN.replace(
        "<e:empty/>",
        &format!("<e:empty xmlns:wsu=\"{wsu}\" wsu:Id=\"inner\"/>"),
    );
    let message = text(&secure_with(&by_id, client_keys(), &plain, None));
    open_with(&by_id, service_keys(), &facts(), &message, now()).unwrap();
    let entire = with(&by_id, |policy| {
        policy.parts.only_entire_headers_and_body = true;
        policy.parts.signed = vec![Part::Body, Part::Timestamp];
    });
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
        response.set_order(order);
        response.header.signature_confirmation = true;
        let signed = &mut response.parts.signed;
        signed.push(Part::SignatureConfirmation);
        let encrypted = &mut response.parts.encrypted;
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
    policy.header.layout = Layout::LaxTimestampLast;
    let message = text(&secure_with(&policy, client_keys(), PLAIN, None));
    assert!(
        message.contains("</wsu:Timestamp></wsse:Security>"),
        "{message}"
    );
    open_with(&policy, service_keys(), &facts(), &message, now()).unwrap();
    policy.header.layout = Layout::LaxTimestampFirst;
    let problem = "expected the `wsu:Timestamp` first in `wsse:Security`";
    assert_eq!(
        refused(&policy, &facts(), &message),
        Rejected::LayoutViolated { problem }
    );
}

/// A key that both sides have may be two. Where keys are derived, all come from the one that signs.
#[test]
fn a_shared_key_encrypts_with_its_second_key_unless_keys_are_derived() {
    let keys = |own: Keys, signing: u8, encrypting: u8| {
        let key = |octet| SymmetricKey::new(vec![octet; 32]).unwrap();
        let shared = SharedKey {
            name: "both of us".to_owned(),
            signing: key(signing),
            encrypting: key(encrypting),
        };
        Keys {
            shared: Some(Arc::new(shared)),
            ..own
        }
    };
    let (key, reference) = (KeyBinding::Shared, KeyReference::KeyName);
    let two = bound(Mechanism::SignEncrypt, "Basic256GCM", key, reference);
    let deriving = with(&two, |policy| {
        policy.set_derived_keys(derived(ConversationVersion::V13, DerivedKeyForm::Explicit));
    });
    for (policy, other_deciphers) in [(two, false), (deriving, true)] {
        let message = text(&secure_with(
            &policy,
            keys(client_keys(), 1, 2),
            PLAIN,
            None,
        ));
        let opened = |encrypting| {
            let keys = keys(service_keys(), 1, encrypting);
            let opened = open_with(&policy, keys, &facts(), &message, now());
            opened.map(drop).map_err(|refused| refused.name())
        };
        assert_eq!(opened(2), Ok(()));
        let other = match other_deciphers {
            true => Ok(()),
            false => Err("decryption-failed"),
        };
        assert_eq!(opened(3), other);
    }
}

/// A partner adds an endorsement of his own to somebody else's message, in order to be taken for
/// its sender.
#[test]
fn a_second_endorsement_is_refused() {
    let mut endorsed = bound(
        Mechanism::Sign,
        "Basic256GCM",
        KeyBinding::SessionKey,
        KeyReference::Thumbprint,
    );
    endorse(&mut endorsed, KeyReference::Thumbprint, false, false);
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

/// Under a key that many messages share nothing but the cipher text tells a copy from another
/// message.
#[test]
fn a_copy_of_a_message_that_is_only_encrypted_has_the_same_mark() {
    let context = context(ConversationVersion::V13);
    let mut encrypt = conversation(ConversationVersion::V13);
    encrypt.unsign();
    let plan = InboundPlan::compile(encrypt.clone(), service_keys()).unwrap();
    let marks = |message: &str| {
        let opened = plan.open_unmarked(
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
