//! Security contexts that endorse (WS-SecurityPolicy 1.3, 5.4.6, 5.4.7 and 8.3): on a transport
//! binding what WCF calls a message credential with a security context, and in message bindings.
//! What policies with them demand, and which of them are refused.

use soapstone_policy::{ProblemKind, message_in_words};
use soapstone_wss::{
    ConversationVersion, DerivedKeyPolicy, EndorsingToken, KeyBinding, KeyReference, Part,
    PasswordKind, Policy,
};

use crate::agreements::signed;
use crate::refusals::not_supported;
use crate::support::*;

const CONTEXT: &str = "SecureConversationToken";

fn on_tls() -> String {
    transport("<sp:IncludeTimestamp/>")
}

fn users() -> String {
    let user = token("UsernameToken", "AlwaysToRecipient", "");
    format!("{}{}", on_tls(), nest("SignedSupportingTokens", &user))
}

fn certificates() -> String {
    let certificate = x509("AlwaysToRecipient", "");
    let endorsing = nest("EndorsingSupportingTokens", &certificate);
    format!("{}{endorsing}", on_tls())
}

fn begun_by(bootstrap: &str, options: &str) -> String {
    let inner = format!("{options}{}", nest("BootstrapPolicy", bootstrap));
    token(CONTEXT, "AlwaysToRecipient", &inner)
}

fn endorsed_by(token: &str) -> String {
    nest("EndorsingSupportingTokens", token)
}

fn key(policy: &Policy) -> Option<(KeyBinding, KeyReference)> {
    let signature = policy.signature()?;
    Some((signature.key, signature.reference))
}

#[test]
fn the_key_of_a_context_signs_the_timestamp_of_requests_and_nothing_else() {
    for kind in [
        "EndorsingSupportingTokens",
        "SignedEndorsingSupportingTokens",
        "EndorsingEncryptedSupportingTokens",
        "SignedEndorsingEncryptedSupportingTokens",
    ] {
        let context = nest(kind, &begun_by(&users(), ""));
        let agreement = agreement(&format!("{}{context}", on_tls()));
        let request = &agreement.request;
        assert_eq!(
            key(request),
            Some((KeyBinding::Context, KeyReference::Direct))
        );
        assert_eq!(signed(request), [Part::Timestamp], "{kind}");
        assert_eq!(request.derived_keys(), None);
        assert!(request.header.timestamp.is_some_and(|it| it.required));
        assert!(request.encryption().is_none() && beside(request).is_empty());
        assert!(request.username().is_none());
        // Who answers is known by his TLS.
        let response = &agreement.response;
        assert!(response.signature().is_none() && response.encryption().is_none());
        assert!(response.header.timestamp.is_some_and(|it| it.required));
        assert!(request.is_by_connection() && response.is_by_connection());
        assert!(agreement.transport.is_some());
        assert_eq!(
            agreement.in_words(),
            [
                "The connection is TLS.",
                "Messages belong to a conversation (WS-SecureConversation 1.3): client and service agree on a key first, and it signs \
                 for every request.",
            ]
        );
        assert_eq!(
            message_in_words(request),
            [
                "Algorithms: Basic256 (hmac-sha1, sha1).",
                "It has a Timestamp, at most 300 s old.",
                "Signed with the key of the conversation, whose token is in the message: the Timestamp.",
            ]
        );
    }
}

#[test]
fn a_context_that_endorses_is_begun_by_users_or_certificates_on_tls() {
    let begun = |bootstrap: &str| {
        let context = endorsed_by(&begun_by(bootstrap, ""));
        let agreement = agreement(&format!("{}{context}", on_tls()));
        let conversation = agreement.conversation.expect("it has one");
        assert_eq!(conversation.version, ConversationVersion::V13);
        *conversation.bootstrap.expect("it has a bootstrap")
    };
    let user = begun(&users());
    let passwords = user.request.username().map(|user| user.passwords.clone());
    assert_eq!(passwords, Some(vec![PasswordKind::Text]));
    assert!(user.request.signature().is_none() && user.transport.is_some());
    let certificate = begun(&certificates());
    assert_eq!(
        key(&certificate.request),
        Some((KeyBinding::Certificate, KeyReference::Direct))
    );
    assert_eq!(signed(&certificate.request), [Part::Timestamp]);
    assert!(certificate.response.signature().is_none() && certificate.transport.is_some());
    // Messages may begin it that protect themselves.
    let secured = begun(&format!(
        "{}{SIGNED_BODY}{ENCRYPTED_BODY}",
        asymmetric(&suite("Basic256"))
    ));
    assert!(secured.request.encryption().is_some() && secured.transport.is_none());
}

#[test]
fn a_context_that_endorses_is_derived_from_named_and_kept_as_the_policy_says() {
    for (derived, form) in DERIVED_KEYS {
        let context = endorsed_by(&begun_by(&users(), derived));
        let request = agreement(&format!("{}{context}", on_tls())).request;
        let keys = request.derived_keys().expect("keys are derived");
        assert_eq!((keys.form, keys.exclusive), form);
        // WS-SecurityPolicy 1.3, 6.1: the suite says how long signature keys are.
        assert_eq!(keys.signature_length, 24);
    }
    let kept = "<sp:MustNotSendCancel/><sp:MustNotSendRenew/><sp:SC10SecurityContextToken/>";
    let context = endorsed_by(&begun_by(&users(), kept));
    let conversation = agreement(&format!("{}{context}", on_tls())).conversation;
    let conversation = conversation.expect("it has one");
    assert_eq!(conversation.version, ConversationVersion::February2005);
    assert!(!conversation.may_cancel && !conversation.may_renew && conversation.may_amend);
    for (inclusion, reference) in [
        ("Once", KeyReference::Direct),
        ("Always", KeyReference::Direct),
        ("AlwaysToInitiator", KeyReference::KeyName),
        ("Never", KeyReference::KeyName),
    ] {
        let known = endorsed_by(&token("SecurityContextToken", inclusion, ""));
        let agreement = agreement(&format!("{}{known}", on_tls()));
        let named = Some((KeyBinding::Context, reference));
        assert_eq!(key(&agreement.request), named, "{inclusion}");
        let conversation = agreement.conversation.expect("it has one");
        assert!(conversation.bootstrap.is_none(), "both sides have it");
    }
}

/// WS-SecurityPolicy 1.3, 8.3: parts that the token signs besides, as WCF has it sign `To`.
#[test]
fn a_context_signs_what_its_assertion_names_besides_the_timestamp() {
    let to = "<sp:SignedParts><sp:Header Name='To' Namespace='urn:a'/></sp:SignedParts>";
    let context = endorsed_by(&format!("{}{to}", begun_by(&users(), "")));
    let agreement = agreement(&format!("{}{context}", on_tls()));
    let header = Part::Header {
        namespace: "urn:a".to_owned(),
        local: "To".to_owned(),
    };
    assert_eq!(signed(&agreement.request), [Part::Timestamp, header]);
}

/// The context's signature is the message's, wherever the policy names it: its key says whose the
/// message is.
#[test]
fn certificates_endorse_beside_a_context_in_either_order() {
    let to = "<sp:SignedParts><sp:Header Name='To' Namespace='urn:a'/></sp:SignedParts>";
    let certificate = x509("AlwaysToRecipient", "");
    let signed_one = nest(
        "SignedEndorsingSupportingTokens",
        &format!("{certificate}{to}"),
    );
    let context = endorsed_by(&begun_by(&users(), "<sp:RequireDerivedKeys/>"));
    for tokens in [
        format!("{context}{signed_one}"),
        format!("{signed_one}{context}"),
    ] {
        let agreement = agreement(&format!("{}{tokens}", on_tls()));
        let request = &agreement.request;
        assert_eq!(
            key(request),
            Some((KeyBinding::Context, KeyReference::Direct))
        );
        assert_eq!(signed(request), [Part::Timestamp]);
        assert!(request.derived_keys().is_some() && agreement.conversation.is_some());
        let header = Part::Header {
            namespace: "urn:a".to_owned(),
            local: "To".to_owned(),
        };
        let beside = beside(request);
        let [endorsing] = beside.as_slice() else {
            panic!("{beside:?}");
        };
        assert_eq!(endorsing.parts, [header]);
        assert!(!endorsing.signed && !endorsing.covers_token);
    }
    // With the parts of each assertion, and with three of them.
    let own = endorsed_by(&format!("{}{to}", begun_by(&users(), "")));
    let two = nest("EndorsingSupportingTokens", &certificate.repeat(2));
    let request = agreement(&format!("{}{two}{own}", on_tls())).request;
    assert_eq!(signed(&request).len(), 2);
    let parts = beside(&request).into_iter().map(|one| one.parts.len());
    assert_eq!(parts.collect::<Vec<_>>(), [0, 0]);
}

/// WS-SecurityPolicy 1.3, 8.3 and 8.4, under 7.4 and 7.5: another key protects messages, and the
/// context's signs the signature of requests.
#[test]
fn in_a_message_binding_a_context_endorses_the_signature_of_requests() {
    let to = "<sp:SignedParts><sp:Header Name='To' Namespace='urn:a'/></sp:SignedParts>";
    let by_session_key = symmetric(&x509("Never", ""), &suite("Basic256"));
    for (binding, protects) in [
        (by_session_key, KeyBinding::SessionKey),
        (asymmetric(&suite("Basic256")), KeyBinding::Certificate),
    ] {
        for (kind, signed_token) in [
            ("EndorsingSupportingTokens", false),
            ("SignedEndorsingSupportingTokens", true),
        ] {
            for (inclusion, carried) in [("AlwaysToRecipient", true), ("Never", false)] {
                let bootstrap = nest("BootstrapPolicy", &users());
                let context = token(CONTEXT, inclusion, &bootstrap);
                let context = nest(kind, &format!("{context}{to}"));
                let agreement =
                    agreement(&format!("{binding}{SIGNED_BODY}{ENCRYPTED_BODY}{context}"));
                let request = &agreement.request;
                assert_eq!(key(request).map(|(key, _)| key), Some(protects));
                assert_eq!(signed(request), [Part::Body]);
                let header = Part::Header {
                    namespace: "urn:a".to_owned(),
                    local: "To".to_owned(),
                };
                assert_eq!(
                    beside(request),
                    [EndorsingToken {
                        parts: vec![header],
                        signed: signed_token,
                        ..EndorsingToken::by_context(carried, None)
                    }]
                );
                let response = &agreement.response;
                assert!(beside(response).is_empty() && !response.uses_context());
                let conversation = agreement.conversation.expect("it has one");
                assert!(
                    conversation
                        .bootstrap
                        .is_some_and(|it| it.transport.is_some())
                );
            }
        }
    }
}

/// Each key is derived, or not, as its own token says.
#[test]
fn the_keys_of_a_context_and_of_a_binding_are_derived_each_as_its_token_says() {
    for (derived, form) in DERIVED_KEYS {
        for (of_binding, of_context) in [("", derived), (derived, ""), (derived, derived)] {
            let binding = symmetric(&x509("Never", of_binding), &suite("Basic256"));
            let context = endorsed_by(&begun_by(&users(), of_context));
            let request = agreement(&format!("{binding}{SIGNED_BODY}{context}")).request;
            let found = |keys: Option<DerivedKeyPolicy>| {
                keys.map(|keys| ((keys.form, keys.exclusive), keys.signature_length))
            };
            let wanted = |said: &str| (!said.is_empty()).then_some((form, 24));
            assert_eq!(found(request.derived_keys()), wanted(of_binding));
            assert_eq!(
                found(beside(&request)[0].key.derived_keys()),
                wanted(of_context)
            );
        }
    }
}

#[test]
fn a_context_that_endorses_messages_is_told_in_words() {
    let binding = asymmetric(&format!("{}<sp:ProtectTokens/>", suite("Basic256")));
    let context = begun_by(&users(), "<sp:RequireDerivedKeys/>");
    let told = agreement(&format!("{binding}{SIGNED_BODY}{}", endorsed_by(&context)));
    assert_eq!(
        told.in_words(),
        [
            "Messages belong to a conversation (WS-SecureConversation 1.3): client and service agree on a key first, and it signs \
             for every request.",
        ]
    );
    assert_eq!(
        message_in_words(&told.request),
        [
            "Algorithms: Basic256 (hmac-sha1, rsa-sha1, sha1).",
            "Signed with the key of the sender's certificate, which is in the message: the Body; the token of the signature's key.",
            "The signature is endorsed by a second one, made with the key of the conversation, whose token is in the message, which it covers itself.",
            "Its key is derived from that key (WS-SecureConversation 1.3), and described in tokens of their own; signature keys have 24 bytes.",
        ]
    );
    let both = endorsed_by(&format!("{context}{}", x509("AlwaysToRecipient", "")));
    let binding = symmetric(&x509("Never", ""), &suite("Basic256"));
    let request = agreement(&format!("{binding}{SIGNED_BODY}{both}")).request;
    assert_eq!(
        message_in_words(&request)[2..],
        [
            "The signature is endorsed by 2 others, each with a key of its own.",
            "The first endorsing signature is made with the key of the conversation, whose token is in the message.",
            "Its key is derived from that key (WS-SecureConversation 1.3), and described in tokens of their own; signature keys have 24 bytes.",
            "The certificate of the second endorsing signature is in the message.",
        ]
    );
}

#[test]
fn a_context_that_proves_nothing_or_not_alone_is_refused() {
    let context = begun_by(&users(), "");
    let only = "a security context protects messages in a symmetric binding, or endorses them";
    let refused_context = |reason| {
        move |policy: &str| assert_eq!(not_supported(policy), (CONTEXT.to_owned(), reason))
    };
    let misplaced = refused_context(only);
    for kind in ["SupportingTokens", "SignedSupportingTokens"] {
        misplaced(&format!("{}{}", on_tls(), nest(kind, &context)));
    }
    misplaced(&format!(
        "{}{SIGNED_BODY}{}",
        asymmetric(&suite("Basic256")),
        nest("SignedSupportingTokens", &context)
    ));
    let once = refused_context("a message belongs to one conversation");
    once(&format!("{}{}", on_tls(), endorsed_by(&context.repeat(2))));
    let in_message = format!("{}{SIGNED_BODY}", asymmetric(&suite("Basic256")));
    once(&format!("{in_message}{}", endorsed_by(&context.repeat(2))));
    let in_conversation = symmetric(&context, &suite("Basic256"));
    once(&format!(
        "{in_conversation}{SIGNED_BODY}{}",
        endorsed_by(&context)
    ));
    let hidden = refused_context(
        "a context is looked up before anything is deciphered: what names it cannot be encrypted",
    );
    for kind in [
        "EndorsingEncryptedSupportingTokens",
        "SignedEndorsingEncryptedSupportingTokens",
    ] {
        hidden(&format!("{in_message}{}", nest(kind, &context)));
    }
    let named = token(CONTEXT, "Never", &nest("BootstrapPolicy", &users()));
    let with_hidden_signature = asymmetric(&format!("{}<sp:EncryptSignature/>", suite("Basic256")));
    hidden(&format!(
        "{with_hidden_signature}{SIGNED_BODY}{}",
        endorsed_by(&named)
    ));
    let outside = refused_context("a conversation is made by messages outside of conversations");
    let nested = begun_by(&format!("{}{}", on_tls(), endorsed_by(&context)), "");
    outside(&format!("{}{}", on_tls(), endorsed_by(&nested)));
    let known = endorsed_by(&token("SecurityContextToken", "AlwaysToRecipient", ""));
    let nested = begun_by(&format!("{}{known}", on_tls()), "");
    let (name, _) = not_supported(&format!("{}{}", on_tls(), endorsed_by(&nested)));
    assert_eq!(name, "SecurityContextToken");
}

#[test]
fn a_context_that_endorses_needs_a_timestamp_algorithms_and_a_bootstrap() {
    let missing = |policy: &str, assertion: &str, what| {
        let expected = (assertion.to_owned(), ProblemKind::Missing { what });
        assert_eq!(refused(policy), [expected]);
    };
    let context = begun_by(&users(), "");
    let endorsing = "EndorsingSupportingTokens";
    let timeless = format!("{}{}", transport(""), endorsed_by(&context));
    missing(&timeless, endorsing, "sp:IncludeTimestamp");
    let https = nest("TransportToken", &nest("HttpsToken", ""));
    let suiteless = nest(
        "TransportBinding",
        &format!("{https}<sp:IncludeTimestamp/>"),
    );
    let suiteless = format!("{suiteless}{}", endorsed_by(&context));
    missing(&suiteless, endorsing, "sp:AlgorithmSuite");
    let bare = endorsed_by(&token(CONTEXT, "AlwaysToRecipient", ""));
    let bare = format!("{}{bare}", on_tls());
    missing(&bare, CONTEXT, "sp:BootstrapPolicy");
}
