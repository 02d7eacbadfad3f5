//! What policies compile to.

use soapstone_crypto::{DataEncryption, DigestAlgorithm, SignatureAlgorithm};
use soapstone_policy::{
    CompileOptions, ProblemKind, SignatureReading, TransportRequirement, message_in_words,
};
use soapstone_wss::{
    ConversationVersion, DerivedKeyForm, EncryptedPart, Extent, KeyBinding, KeyReference,
    KeyTransportMethod, Layout, Part, PasswordKind, Policy, ProtectionOrder, Recipient,
    SUITE_NAMES,
};

use crate::support::*;

pub(crate) fn signed(policy: &Policy) -> Vec<Part> {
    policy.signature().unwrap().parts.into_owned()
}

pub(crate) fn encrypted(policy: &Policy) -> &[EncryptedPart] {
    policy.encryption().unwrap().parts
}

pub(crate) fn body() -> EncryptedPart {
    EncryptedPart::customary(Part::Body)
}

#[test]
fn an_asymmetric_binding_signs_and_encrypts_with_certificates_both_ways() {
    let agreement = agreement(&format!(
        "{}{SIGNED_BODY}{ENCRYPTED_BODY}",
        asymmetric(&format!("{}<sp:IncludeTimestamp/>", suite("Basic256")))
    ));
    let request = &agreement.request;
    assert_eq!(signed(request), [Part::Body, Part::Timestamp]);
    assert_eq!(encrypted(request), [body()]);
    let signature = request.signature().unwrap();
    assert_eq!(
        (signature.key, signature.reference),
        (KeyBinding::Certificate, KeyReference::Direct)
    );
    let encryption = request.encryption().unwrap();
    assert_eq!(
        (encryption.reference, encryption.recipient),
        (KeyReference::Thumbprint, Recipient::Peer)
    );
    assert!(request.header.timestamp.unwrap().required);
    // The recipient's token is in no message; the initiator's in none to the initiator.
    let response = &agreement.response;
    assert_eq!(
        response.signature().unwrap().reference,
        KeyReference::Thumbprint
    );
    let encryption = response.encryption().unwrap();
    assert_eq!(
        (encryption.reference, encryption.recipient),
        (KeyReference::IssuerSerial, Recipient::Requester)
    );
    assert!(agreement.transport.is_none() && agreement.conversation.is_none());
}

#[test]
fn properties_of_a_binding_become_those_of_both_plans() {
    let layout = nest("Layout", "<sp:LaxTsLast/>");
    let agreement = agreement(&format!(
        "{}{SIGNED_BODY}",
        asymmetric(&format!(
            "{}{layout}<sp:IncludeTimestamp/><sp:EncryptBeforeSigning/><sp:EncryptSignature/><sp:ProtectTokens/>\
             <sp:OnlySignEntireHeadersAndBody/>",
            suite("Basic128")
        ))
    ));
    for policy in [&agreement.request, &agreement.response] {
        assert_eq!(policy.header.layout, Layout::LaxTimestampLast);
        assert_eq!(policy.order(), ProtectionOrder::EncryptBeforeSigning);
        assert!(policy.parts.only_entire_headers_and_body);
        assert_eq!(signed(policy), [Part::Body, Part::Timestamp, Part::Token]);
        assert_eq!(
            encrypted(policy),
            [EncryptedPart::customary(Part::Signature)]
        );
    }
}

/// WS-SecurityPolicy 1.3, 5.4.3: `WssX509PkiPathV1Token10` and `…11`.
#[test]
fn a_token_that_is_a_path_is_sent_as_one() {
    for version in ["10", "11"] {
        let path = format!("<sp:WssX509PkiPathV1Token{version}/>");
        let carried = token("X509Token", "AlwaysToRecipient", &path);
        let named = format!("<sp:RequireThumbprintReference/>{path}");
        let named = token("X509Token", "Never", &named);
        let tokens = nest("InitiatorToken", &carried) + &nest("RecipientToken", &named);
        let binding = nest(
            "AsymmetricBinding",
            &format!("{tokens}{}", suite("Basic256")),
        );
        let agreement = agreement(&format!("{binding}{SIGNED_BODY}{ENCRYPTED_BODY}"));
        let request = &agreement.request;
        assert_eq!(
            request.signature().unwrap().reference,
            KeyReference::PkiPath
        );
        assert_eq!(
            request.encryption().unwrap().reference,
            KeyReference::Thumbprint
        );
        let answer = agreement.response.signature().unwrap().reference;
        assert_eq!(answer, KeyReference::Thumbprint);
    }
}

/// WS-SecurityPolicy 1.3, 6.5 and 8.9: a token inside of the reference to it is covered through
/// that (SOAP Message Security 1.1.1, 8.3).
#[test]
fn protected_tokens_may_be_inside_of_the_references_to_them() {
    let inside = x509("AlwaysToRecipient", "<sp:RequireEmbeddedTokenReference/>");
    let protects = format!("{}<sp:ProtectTokens/>", suite("Basic256"));
    let tokens = nest("InitiatorToken", &inside)
        + &nest(
            "RecipientToken",
            &x509("Never", "<sp:RequireThumbprintReference/>"),
        );
    let binding = nest("AsymmetricBinding", &format!("{tokens}{protects}"));
    let signature = agreement(&format!("{binding}{SIGNED_BODY}")).request;
    assert_eq!(
        signature.signature().unwrap().reference,
        KeyReference::Embedded
    );
    assert_eq!(signed(&signature), [Part::Body, Part::Token]);
    let endorsing = nest("EndorsingSupportingTokens", &inside);
    for binding in [
        symmetric(&x509("Never", ""), &protects) + SIGNED_BODY,
        transport("<sp:IncludeTimestamp/><sp:ProtectTokens/>"),
    ] {
        let request = agreement(&format!("{binding}{endorsing}")).request;
        let tokens: Vec<_> = request.endorsing().collect();
        assert!(tokens[0].covers_token);
        assert_eq!(tokens[0].key.reference(), KeyReference::Embedded);
    }
}

#[test]
fn without_include_timestamp_there_is_none() {
    let agreement = agreement(&format!("{}{SIGNED_BODY}", asymmetric(&suite("Basic256"))));
    assert_eq!(agreement.request.header.timestamp, None);
    assert_eq!(signed(&agreement.request), [Part::Body]);
}

#[test]
fn a_symmetric_binding_uses_one_fresh_key_for_both_directions() {
    let agreement = agreement(&format!(
        "{}{SIGNED_BODY}{ENCRYPTED_BODY}",
        symmetric(
            &x509("Never", "<sp:RequireDerivedKeys/>"),
            &suite("Basic256")
        )
    ));
    let request = agreement.request;
    assert_eq!(request.signature().unwrap().key, KeyBinding::SessionKey);
    assert_eq!(request.encryption().unwrap().key, KeyBinding::SessionKey);
    let derived = request.derived_keys().unwrap();
    assert_eq!(
        (derived.version, derived.form, derived.signature_length),
        (ConversationVersion::V13, DerivedKeyForm::Explicit, 24)
    );
    let response = agreement.response;
    let encryption = response.encryption().unwrap();
    assert_eq!(
        (encryption.key, encryption.reference),
        (KeyBinding::RequestKey, KeyReference::EncryptedKeySha1)
    );
    assert_eq!(response.derived_keys(), Some(derived));
}

#[test]
fn https_with_a_user_needs_nothing_of_messages_but_the_user() {
    let users = nest(
        "SignedSupportingTokens",
        &token("UsernameToken", "AlwaysToRecipient", "<sp:HashPassword/>"),
    );
    let https = nest(
        "TransportToken",
        &nest("HttpsToken", "<sp:RequireClientCertificate/>"),
    );
    let binding = nest(
        "TransportBinding",
        &format!("{https}{}<sp:IncludeTimestamp/>", suite("Basic128")),
    );
    let agreement = agreement(&format!("{binding}{users}{SIGNED_BODY}"));
    assert_eq!(
        agreement.transport,
        Some(TransportRequirement {
            client_certificate: true
        })
    );
    let request = agreement.request;
    assert_eq!(
        request.username().unwrap().passwords,
        [PasswordKind::Digest]
    );
    assert!(request.header.timestamp.is_some());
    // What is signed and encrypted, TLS signs and encrypts.
    assert!(request.signature().is_none() && request.encryption().is_none());
    assert!(agreement.response.username().is_none());
}

#[test]
fn a_user_in_a_message_binding_is_signed_and_a_password_in_the_clear_is_encrypted() {
    let users = |inner| {
        nest(
            "SignedSupportingTokens",
            &token("UsernameToken", "AlwaysToRecipient", inner),
        )
    };
    let with = |inner| {
        agreement(&format!(
            "{}{SIGNED_BODY}{}",
            asymmetric(&suite("Basic256")),
            users(inner)
        ))
        .request
    };
    let clear = with("");
    assert_eq!(signed(&clear), [Part::Body, Part::UsernameToken]);
    let token = EncryptedPart::customary(Part::UsernameToken);
    assert_eq!(encrypted(&clear), std::slice::from_ref(&token));
    let digest = with("<sp:HashPassword/>");
    assert!(digest.encryption().is_none());
    let encrypting = agreement(&format!(
        "{}{SIGNED_BODY}{ENCRYPTED_BODY}{}",
        asymmetric(&suite("Basic256")),
        users("").replace("SignedSupporting", "SignedEncryptedSupporting")
    ));
    assert_eq!(encrypted(&encrypting.request), [body(), token]);
}

/// WS-SecurityPolicy 1.3, 8.2: signed tokens are in the message's signature, whether it covers
/// anything else or not.
#[test]
fn a_user_may_be_all_that_is_signed() {
    let users = nest(
        "SignedSupportingTokens",
        &token("UsernameToken", "AlwaysToRecipient", ""),
    );
    for binding in [
        symmetric(&x509("Never", ""), &suite("Basic128")),
        asymmetric(&suite("Basic128")),
    ] {
        let agreement = agreement(&format!("{binding}{users}"));
        assert_eq!(signed(&agreement.request), [Part::UsernameToken]);
        assert!(agreement.response.signature().is_none());
    }
}

/// WS-SecurityPolicy 1.3, 7.5, and its Examples 1.0, 2.1.3.1: tokens that encrypt are enough where
/// nothing is signed.
#[test]
fn a_binding_with_tokens_that_encrypt_alone_signs_nothing() {
    let tokens = nest("InitiatorEncryptionToken", &x509("Never", ""))
        + &nest("RecipientEncryptionToken", &x509("Never", ""));
    let binding = |more: &str| {
        let inner = format!("{tokens}{}{more}", suite("Basic128"));
        nest("AsymmetricBinding", &inner)
    };
    let users = nest(
        "EncryptedSupportingTokens",
        &token("UsernameToken", "AlwaysToRecipient", "<sp:HashPassword/>"),
    );
    let encrypting = agreement(&format!("{}{ENCRYPTED_BODY}{users}", binding("")));
    let token = EncryptedPart::customary(Part::UsernameToken);
    assert_eq!(encrypted(&encrypting.request), [body(), token]);
    assert_eq!(encrypted(&encrypting.response), [body()]);
    assert!(encrypting.request.signature().is_none());
    assert!(encrypting.response.signature().is_none());
    let missing = |what| {
        let kind = ProblemKind::Missing { what };
        ("AsymmetricBinding".to_owned(), kind)
    };
    assert_eq!(
        refused(&format!(
            "{}{ENCRYPTED_BODY}",
            binding("<sp:IncludeTimestamp/>")
        )),
        [missing("sp:InitiatorToken"), missing("sp:RecipientToken")]
    );
}

#[test]
fn answers_confirm_signatures_and_encrypt_the_confirmations_where_signatures_are() {
    let wss = nest("Wss11", "<sp:RequireSignatureConfirmation/>");
    let binding = asymmetric(&format!("{}<sp:EncryptSignature/>", suite("Basic256")));
    let agreement = agreement(&format!("{binding}{wss}{SIGNED_BODY}"));
    assert!(!agreement.request.header.signature_confirmation);
    let response = agreement.response;
    assert!(response.header.signature_confirmation);
    assert_eq!(signed(&response), [Part::Body, Part::SignatureConfirmation]);
    assert_eq!(
        encrypted(&response),
        [Part::Signature, Part::SignatureConfirmation].map(EncryptedPart::customary)
    );
}

#[test]
fn a_conversation_has_the_agreement_of_its_bootstrap_inside() {
    let bootstrap = format!(
        "{}{SIGNED_BODY}{ENCRYPTED_BODY}",
        symmetric(&x509("Never", ""), &suite("Basic128"))
    );
    let token = token(
        "SecureConversationToken",
        "AlwaysToRecipient",
        &format!(
            "<sp:RequireDerivedKeys/><sp:MustNotSendAmend/>{}",
            nest("BootstrapPolicy", &bootstrap)
        ),
    );
    let agreement = agreement(&format!(
        "{}{SIGNED_BODY}{ENCRYPTED_BODY}",
        symmetric(&token, &suite("Basic128"))
    ));
    let conversation = agreement.conversation.unwrap();
    assert_eq!(conversation.version, ConversationVersion::V13);
    assert!(conversation.may_cancel && conversation.may_renew && !conversation.may_amend);
    let inside = conversation.bootstrap.unwrap();
    assert_eq!(
        inside.request.signature().unwrap().key,
        KeyBinding::SessionKey
    );
    let signature = |policy: &Policy| {
        let signature = policy.signature().unwrap();
        (signature.key, signature.reference)
    };
    assert_eq!(
        signature(&agreement.request),
        (KeyBinding::Context, KeyReference::Direct)
    );
    // The token is in requests only.
    assert_eq!(
        signature(&agreement.response),
        (KeyBinding::Context, KeyReference::KeyName)
    );
    assert_eq!(
        agreement.request.derived_keys().unwrap().signature_length,
        16
    );
}

#[test]
fn a_bootstrap_that_names_no_parts_signs_and_encrypts_the_body() {
    let bootstrap = symmetric(&x509("Never", ""), &suite("Basic128"));
    let token = token(
        "SecureConversationToken",
        "AlwaysToRecipient",
        &nest("BootstrapPolicy", &bootstrap),
    );
    let agreement = agreement(&symmetric(&token, &suite("Basic128")));
    let inside = agreement.conversation.unwrap().bootstrap.unwrap();
    for policy in [&inside.request, &inside.response] {
        assert_eq!(signed(policy), [Part::Body]);
        assert_eq!(encrypted(policy), [body()]);
    }
    assert!(agreement.request.signature().is_none());
}

#[test]
fn agreements_are_told_in_words() {
    let agreement = agreement(&format!(
        "{}<sp:SignedParts><sp:Header Name='To' Namespace='urn:a'/><sp:Header Name='From' Namespace='urn:a'/><sp:Body/></sp:SignedParts>\
         {ENCRYPTED_BODY}",
        symmetric(
            &x509("Never", "<sp:RequireDerivedKeys/>"),
            &suite("Basic256")
        )
    ));
    assert_eq!(
        message_in_words(&agreement.request),
        [
            "Algorithms: Basic256 (hmac-sha1, sha1, rsa-oaep-mgf1p, aes256-cbc).",
            "Signed with a fresh key, wrapped to the receiver's certificate, which is named by issuer and serial number: \
             the Body; the headers To, From of urn:a.",
            "Encrypted with the same key: the content of the Body.",
            "Keys are derived from that key (WS-SecureConversation 1.3), and described in tokens of their own; \
             signature keys have 24 bytes.",
            "It is signed first, then encrypted.",
        ]
    );
}

#[test]
fn elements_and_headers_of_a_namespace_are_selected_by_paths() {
    let agreement = agreement(&format!(
        "{}<sp:SignedParts><sp:Header Namespace='urn:a'/></sp:SignedParts>\
         <sp:SignedElements xmlns:e='urn:e'><sp:XPath>//e:x</sp:XPath></sp:SignedElements>\
         <sp:ContentEncryptedElements xmlns:e='urn:e'><sp:XPath>//e:y</sp:XPath></sp:ContentEncryptedElements>\
         <sp:RequiredElements xmlns:e='urn:e'><sp:XPath>//e:z</sp:XPath></sp:RequiredElements>\
         <sp:RequiredParts><sp:Header Name='To' Namespace='urn:a'/></sp:RequiredParts>",
        asymmetric(&suite("Basic256"))
    ));
    let request = agreement.request;
    let texts: Vec<String> = signed(&request).iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "/*[local-name()='Envelope']/*[local-name()='Header']/*[namespace-uri()='urn:a']",
            "//e:x"
        ]
    );
    let words = message_in_words(&request);
    let told = "all headers of urn:a; the elements //e:x";
    assert!(words.iter().any(|it| it.contains(told)), "{words:?}");
    assert_eq!(encrypted(&request)[0].extent, Extent::Content);
    assert_eq!(encrypted(&request)[0].part.to_string(), "//e:y");
    let required: Vec<String> = request
        .parts
        .required
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(required, ["{urn:a}To", "//e:z"]);
}

/// WS-SecurityPolicy 1.3, 4.1.2 and 4.2.2: against the envelope; 4.3.1: against the header.
#[test]
fn relative_paths_begin_where_the_specification_says() {
    let agreement = agreement(&format!(
        "{}<sp:SignedElements xmlns:e='urn:e'><sp:XPath>e:Body/e:x</sp:XPath><sp:XPath>.//e:y</sp:XPath></sp:SignedElements>\
         <sp:EncryptedElements xmlns:e='urn:e'><sp:XPath>./e:Body/*</sp:XPath></sp:EncryptedElements>\
         <sp:RequiredElements xmlns:e='urn:e'><sp:XPath>e:z</sp:XPath><sp:XPath>/e:Envelope//e:v</sp:XPath></sp:RequiredElements>",
        asymmetric(&suite("Basic256"))
    ));
    let request = agreement.request;
    let signed: Vec<String> = signed(&request).iter().map(ToString::to_string).collect();
    assert_eq!(
        signed,
        [
            "/*[local-name()='Envelope']/e:Body/e:x",
            "/*[local-name()='Envelope']//e:y"
        ]
    );
    assert_eq!(
        encrypted(&request)[0].part.to_string(),
        "/*[local-name()='Envelope']/e:Body/*"
    );
    let required: Vec<String> = request
        .parts
        .required
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        required,
        [
            "/*[local-name()='Envelope']/*[local-name()='Header']/e:z",
            "/e:Envelope//e:v"
        ]
    );
}

#[test]
fn algorithms_are_told_where_some_are_used_and_not_over_tls_alone() {
    let told = |policy: &str| {
        let words = message_in_words(&agreement(policy).request);
        assert!(!words.is_empty());
        words.iter().any(|it| it.starts_with("Algorithms: "))
    };
    assert!(!told(&transport("<sp:IncludeTimestamp/>")));
    let signed = format!("{}{SIGNED_BODY}", asymmetric(&suite("Basic256")));
    assert!(told(&signed));
}

#[test]
fn signed_parts_without_a_name_are_the_body_and_all_headers() {
    let agreement = agreement(&format!(
        "{}<sp:SignedParts/>",
        asymmetric(&suite("Basic256"))
    ));
    let parts = signed(&agreement.request);
    assert!(
        matches!(parts[..], [Part::Path(_), Part::Body]),
        "{parts:?}"
    );
}

#[test]
fn all_suites_of_the_specification_are_known_in_both_readings() {
    let by_the_letter = CompileOptions::default();
    let with_sha256 = CompileOptions {
        signatures: SignatureReading::Sha256,
        ..CompileOptions::default()
    };
    for name in SUITE_NAMES.iter().filter(|name| !name.contains("GCM")) {
        let policy = format!("{}{SIGNED_BODY}", asymmetric(&suite(name)));
        let letter = agreement_with(&policy, &by_the_letter)
            .unwrap()
            .request
            .suite;
        assert_eq!(letter.name, *name);
        assert_eq!(letter.signature, [SignatureAlgorithm::RsaSha1]);
        let modern = agreement_with(&policy, &with_sha256).unwrap().request.suite;
        let expected = if name.contains("Sha256") {
            SignatureAlgorithm::RsaSha256
        } else {
            SignatureAlgorithm::RsaSha1
        };
        assert_eq!(modern.signature, [expected], "{name}");
    }
}

#[test]
fn suites_of_cxf_change_the_data_encryption_of_the_classic_ones() {
    let cxf = |name: &str| {
        let suite = nest(
            "AlgorithmSuite",
            &format!("<c:{name} xmlns:c='http://cxf.apache.org/custom/security-policy'/>"),
        );
        agreement(&format!("{}{SIGNED_BODY}", asymmetric(&suite)))
            .request
            .suite
    };
    let suite = cxf("Basic256GCM");
    assert_eq!(suite.data, [DataEncryption::Aes256Gcm]);
    assert_eq!(suite.digest, [DigestAlgorithm::Sha1]);
    assert_eq!(suite.key_transport, [KeyTransportMethod::OAEP_SHA1]);
    let suite = cxf("Basic192GCMSha256Rsa15");
    assert_eq!(suite.data, [DataEncryption::Aes192Gcm]);
    assert_eq!(suite.digest, [DigestAlgorithm::Sha256]);
    assert_eq!(suite.key_transport, [KeyTransportMethod::RSA15]);
}

#[test]
fn the_first_alternative_that_can_be_done_is_taken() {
    let rights = symmetric(&token("RelToken", "Once", ""), &suite("Basic128"));
    let agreement = agreement(&format!(
        "<wsp:ExactlyOne>{rights}{}{}</wsp:ExactlyOne>{SIGNED_BODY}",
        asymmetric(&suite("Basic192")),
        asymmetric(&suite("Basic128"))
    ));
    assert_eq!(agreement.request.suite.name, "Basic192");
}

#[test]
fn an_empty_policy_demands_nothing_and_says_so() {
    let agreement = agreement("");
    assert!(agreement.demands_nothing());
    assert_eq!(agreement.in_words(), ["Messages need no protection."]);
}

#[test]
fn ignorable_assertions_are_obeyed_if_they_are_understood_and_passed_over_otherwise() {
    let binding = asymmetric(&suite("Basic256")).replacen(
        "<sp:AsymmetricBinding>",
        "<sp:AsymmetricBinding wsp:Ignorable='true'>",
        1,
    );
    let agreement = agreement(&format!(
        "{binding}{SIGNED_BODY}<log xmlns='urn:l' wsp:Ignorable='true'/>"
    ));
    assert_eq!(signed(&agreement.request), [Part::Body]);
    let passed_over: Vec<String> = agreement
        .passed_over
        .iter()
        .map(|(name, _)| name.to_string())
        .collect();
    assert_eq!(passed_over, ["{urn:l}log"]);
}
