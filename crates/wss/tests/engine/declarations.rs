//! Who declares the namespaces of a header's pieces: the header, or the piece itself where it is
//! signed or enciphered.

use soapstone_wss::{
    ContextOwner, ConversationVersion, DerivedKeyForm, EncryptedPart, EndorsingToken, KeyBinding,
    KeyReference, Mechanism, OutboundPlan, Outgoing, Part, Policy, SecurityContext,
};
use soapstone_xml::Buffers;

use crate::conversations::{bound, context, conversation, derived, knowing, text};
use crate::endorsers::elements;
use crate::support::{
    Adjust as _, PLAIN, client_keys, endorse, envelope, forwarded, now, open_with, policy,
    service_keys,
};

/// A policy's message in this conversation, which its receiver has opened.
fn message(policy: &Policy, context: &SecurityContext) -> String {
    let plan = OutboundPlan::compile(policy.clone(), client_keys()).unwrap();
    let outgoing = Outgoing::within(context);
    let secured = plan.secure(envelope(PLAIN), outgoing, now(), &mut Buffers::default());
    let message = text(&secured.unwrap());
    let opened = open_with(
        policy,
        service_keys(),
        &knowing(&[context]),
        &message,
        now(),
    );
    assert!(forwarded(&opened.unwrap()).contains("Grüße"), "{message}");
    message
}

/// The namespaces that the elements with this name declare themselves.
fn declared<'m>(message: &'m str, name: &str) -> Vec<Vec<&'m str>> {
    let of = |element: &'m str| {
        let start_tag = &element[..element.find('>').unwrap()];
        let pieces = start_tag.split(" xmlns:").skip(1);
        pieces
            .map(|piece| &piece[..piece.find('=').unwrap()])
            .collect()
    };
    let named = message.match_indices(name).map(|(at, _)| at);
    named
        .filter(|at| message[..*at].ends_with('<'))
        .map(|at| of(&message[at..]))
        .collect()
}

/// The namespaces that the message's signature declares where it says which key it is of.
fn declared_in_signature(message: &str) -> Vec<&str> {
    let signature = elements(message, "ds:Signature")[0];
    declared(signature, "wsse:SecurityTokenReference").swap_remove(0)
}

#[test]
fn what_stays_in_the_header_leaves_its_declarations_to_it() {
    for version in ConversationVersion::ALL {
        for form in [DerivedKeyForm::Explicit, DerivedKeyForm::Implied] {
            let mut policy = conversation(version);
            policy.set_derived_keys(derived(version, form));
            let renewed = SecurityContext {
                instance: Some("urn:second".to_owned()),
                ..context(version)
            };
            for context in [context(version), renewed] {
                let message = message(&policy, &context);
                assert_eq!(
                    declared(&message, "wsse:Security "),
                    [["wsc", "wsse", "wsu"]]
                );
                for name in ["wsc:SecurityContextToken", "wsc:DerivedKeyToken"] {
                    assert!(
                        declared(&message, name).iter().all(Vec::is_empty),
                        "{message}"
                    );
                }
                let header = elements(&message, "wsse:Security")[0];
                let references = declared(header, "wsse:SecurityTokenReference");
                assert!(!references.is_empty() && references.iter().all(Vec::is_empty));
                // In the Body nothing of that is in scope.
                let body = elements(&message, "soap:Body")[0];
                let references = declared(body, "wsse:SecurityTokenReference");
                assert!(
                    references.iter().all(|own| own.contains(&"wsse")),
                    "{message}"
                );
            }
        }
    }
}

#[test]
fn a_header_declares_nothing_that_none_of_its_pieces_has_left_to_it() {
    let context = context(ConversationVersion::V13);
    let mut by_name = policy(Mechanism::SignEncrypt, "Basic256GCM");
    by_name.name_signing_key(KeyReference::Thumbprint);
    let message = message(&by_name, &context);
    assert_eq!(declared(&message, "wsse:Security "), [["wsse"]]);
    assert_eq!(declared(&message, "wsu:Timestamp"), [["wsu"]]);
}

/// Its canonical form is as it was when it was digested or enciphered, whatever is around it then.
#[test]
fn what_is_signed_or_enciphered_declares_what_it_uses() {
    let context = context(ConversationVersion::V13);
    let certificates = [
        KeyReference::Direct,
        KeyReference::SubjectKeyIdentifier,
        KeyReference::Thumbprint,
        KeyReference::IssuerSerial,
        KeyReference::Embedded,
    ];
    let mut signing: Vec<Policy> = Vec::new();
    for reference in certificates {
        let mut one = policy(Mechanism::SignEncrypt, "Basic256GCM");
        one.name_signing_key(reference);
        signing.push(one);
    }
    signing.push(conversation(ConversationVersion::V13));
    let session = (KeyBinding::SessionKey, KeyReference::Thumbprint);
    signing.push(bound(
        Mechanism::SignEncrypt,
        "Basic256GCM",
        session.0,
        session.1,
    ));
    for policy in signing {
        assert_eq!(declared_in_signature(&message(&policy, &context)), [""; 0]);
        let is_bound = policy.signature().unwrap().key != KeyBinding::Certificate;
        if is_bound {
            let mut endorsed = policy.clone();
            endorse(&mut endorsed, KeyReference::Direct, true, true);
            let message = message(&endorsed, &context);
            assert!(
                declared_in_signature(&message).contains(&"wsse"),
                "{message}"
            );
            assert_eq!(
                declared(&message, "wsse:BinarySecurityToken"),
                [["wsse", "wsu"]]
            );
        } else {
            let mut endorsed = policy.clone();
            endorsed.endorse_by(vec![EndorsingToken::by_context(true, None)]);
            let message = message(&endorsed, &context);
            assert!(
                declared_in_signature(&message).contains(&"wsse"),
                "{message}"
            );
            assert_eq!(
                declared(&message, "wsc:SecurityContextToken"),
                [["wsc", "wsu"]]
            );
        }
        // A token inside of its reference cannot be signed beside it.
        if policy.signature().unwrap().reference != KeyReference::Embedded {
            let mut protected = policy.clone();
            protected.parts.signed.push(Part::Token);
            let message = message(&protected, &context);
            for (token, own) in [
                ("wsse:BinarySecurityToken", ["wsse", "wsu"]),
                ("wsc:SecurityContextToken", ["wsc", "wsu"]),
            ] {
                let tokens = declared(&message, token);
                assert!(tokens.iter().all(|one| *one == own), "{message}");
            }
        }
        let mut hidden = policy.clone();
        hidden
            .parts
            .encrypted
            .push(EncryptedPart::customary(Part::Signature));
        let hidden = message(&hidden, &context);
        assert!(!hidden.contains("<ds:Signature "), "{hidden}");
    }
}

#[test]
fn tokens_of_another_version_than_the_derived_keys_are_declared_where_they_stand() {
    let context = SecurityContext {
        owner: ContextOwner::User("alice".to_owned()),
        ..context(ConversationVersion::February2005)
    };
    let mut policy = conversation(ConversationVersion::February2005);
    policy.set_derived_keys(derived(ConversationVersion::V13, DerivedKeyForm::Explicit));
    let message = message(&policy, &context);
    let own = declared(&message, "wsc:DerivedKeyToken");
    assert!(own.iter().all(|own| *own == ["wsc"]), "{message}");
}
