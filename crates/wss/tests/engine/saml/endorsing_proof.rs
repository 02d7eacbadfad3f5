//! Symmetric proof keys that endorse (WS-SecurityPolicy 1.3, 8.3; WS-Trust 1.4, 4.4): the message
//! is under other keys, or comes over a connection, and the holder's signature says whose it is.

use std::sync::Arc;

use soapstone_crypto::{DigestAlgorithm, PHash, SignatureAlgorithm, SymmetricKey, base64};
use soapstone_testkit::envelope::{HELLO, SOAP11, SOAP12, with_header};
use soapstone_wss::names::{STR_TRANSFORM, WSSE, WSSE11, WSU};
use soapstone_wss::{
    AssertionPolicy, AssertionProtection, AssertionToken, Binding, ConfirmationMethod,
    ConversationVersion, DerivedKeyForm, DerivedKeyPolicy, EncryptedPart, EndorsingKey,
    EndorsingToken, Envelope, Facts, HolderUse, InboundPlan, KeyBinding, KeyReference, Keys,
    Layout, Mechanism, Part, PlanProblem, Policy, Rejected, SamlVersion, SignatureRole, Signer,
    TimestampPolicy, Verified, names,
};
use soapstone_xml::Canonicalization;

use super::issuing::*;
use super::proof::{derived, proving, secret};
use crate::support::{self, *};

/// How the message is protected whose signature, or Timestamp, the proof key signs.
fn bindings() -> [(&'static str, Policy); 4] {
    let session = with(&policy(Mechanism::SignEncrypt, "Basic256GCM"), |policy| {
        policy.bind(KeyBinding::SessionKey, KeyReference::Thumbprint);
    });
    let hiding_signature = with(&session, |policy| {
        let signature = EncryptedPart::customary(Part::Signature);
        policy.parts.encrypted.push(signature);
    });
    [
        ("connection", over_tls()),
        ("asymmetric", policy(Mechanism::SignEncrypt, "Basic256GCM")),
        ("symmetric", session),
        ("symmetric, encrypted signatures", hiding_signature),
    ]
}

fn over_tls() -> Policy {
    with(&policy(Mechanism::None, "Basic256GCM"), |policy| {
        policy.header.timestamp = Some(TimestampPolicy::default());
        policy.binding = Binding::Transport;
    })
}

/// The policy of messages that the proof key of an assertion endorses.
fn endorsed(policy: &Policy, by_place: bool, derived_keys: Option<DerivedKeyPolicy>) -> Policy {
    let mut policy = policy.clone();
    policy.endorse_with(EndorsingToken::by(EndorsingKey::Assertion {
        by_place,
        derived_keys,
    }));
    held(policy, HolderUse::Endorses)
}

/// The policy with an assertion that its holder's key confirms.
fn held(policy: Policy, holder: HolderUse) -> Policy {
    let protection = match policy.is_by_connection() {
        true => AssertionProtection::Connection,
        false => AssertionProtection::Signature,
    };
    let accepted = AssertionPolicy {
        methods: vec![ConfirmationMethod::HolderOfKey],
        holder,
        protection,
        ..accepting()
    };
    with_assertion(policy, accepted)
}

/// The keys of a client with this assertion and this proof key.
fn holding(assertion: &str, key: &SymmetricKey) -> Keys {
    let token = AssertionToken::parse(assertion.as_bytes().to_vec()).unwrap();
    Keys {
        assertion: Some(Arc::new(token.with_proof_key(key.clone()))),
        ..client_keys()
    }
}

fn sent(policy: &Policy, assertion: &str, key: &SymmetricKey, plain: &str) -> String {
    let secured = secure_at(policy, holding(assertion, key), plain, None, moment());
    String::from_utf8(secured.bytes).unwrap()
}

fn received(policy: &Policy, message: &str) -> Result<Verified<Envelope>, Rejected> {
    open_with(
        policy,
        knowing_issuers(),
        &Facts::default(),
        message,
        moment(),
    )
}

#[test]
fn the_holder_of_a_symmetric_key_endorses_under_every_binding_in_both_versions_of_soap() {
    let forms = [
        None,
        derived(DerivedKeyForm::Explicit),
        derived(DerivedKeyForm::Implied),
    ];
    let plain = [SOAP11, SOAP12].map(|soap| with_header(soap, "", HELLO));
    for (name, binding) in bindings() {
        for version in SamlVersion::ALL {
            let assertion = proving(version, &secret(7)).signed();
            for (form, covers_token) in forms.into_iter().zip([false, true, false]) {
                for (by_place, plain) in [false, true].into_iter().zip(&plain) {
                    let policy = with(&endorsed(&binding, by_place, form), |policy| {
                        for token in policy.endorsing_mut() {
                            token.covers_token = covers_token;
                        }
                    });
                    let message = sent(&policy, &assertion, &secret(7), plain);
                    let verified = received(&policy, &message)
                        .unwrap_or_else(|refused| panic!("{name} {form:?}: {refused}\n{message}"));
                    let evidence = verified.evidence();
                    let found = evidence.assertion.as_ref().unwrap();
                    assert_eq!(found.confirmed, Some(ConfirmationMethod::HolderOfKey));
                    let role = match binding.is_by_connection() {
                        true => SignatureRole::Message,
                        false => SignatureRole::Endorsing,
                    };
                    let mut signatures = evidence.signatures.iter();
                    let by_holder = signatures.find(|one| {
                        matches!(&one.signer, Signer::Holder { issuer, subject, certificate: None }
                            if issuer == ISSUER && subject == "alice")
                    });
                    assert_eq!(by_holder.map(|one| one.role), Some(role), "{name}");
                }
            }
        }
    }
}

/// WS-SecurityPolicy 1.3, 8.7: the key of the binding encrypts the assertion, whose key endorses.
#[test]
fn an_encrypted_assertion_endorses_by_its_proof_key() {
    for (name, binding) in bindings() {
        if binding.is_by_connection() {
            continue;
        }
        let encrypting = hiding_assertion(&endorsed(&binding, true, None));
        let assertion = proving(SamlVersion::V20, &secret(7)).signed();
        let message = sent(&encrypting, &assertion, &secret(7), PLAIN);
        assert!(!message.contains("alice"), "{name}\n{message}");
        received(&encrypting, &message).unwrap_or_else(|refused| panic!("{name}: {refused}"));
        let stolen = sent(&encrypting, &assertion, &secret(8), PLAIN);
        let refused = received(&encrypting, &stolen).unwrap_err();
        assert_eq!(refused.name(), "signature-mismatch", "{name}");
        // Keys are derived, and tokens stand before what uses them.
        let form = derived(DerivedKeyForm::Explicit);
        let strict = with(
            &hiding_assertion(&endorsed(&binding, true, form)),
            |policy| {
                policy.header.layout = Layout::Strict;
            },
        );
        let message = sent(&strict, &assertion, &secret(7), PLAIN);
        received(&strict, &message).unwrap_or_else(|refused| panic!("{name}: {refused}"));
    }
}

/// A private key that is the holder's endorses as well.
#[test]
fn an_encrypted_assertion_endorses_by_its_public_key() {
    let (_, binding) = bindings().into_iter().nth(2).unwrap();
    let by_certificate = with(&binding, |policy| {
        policy.endorse_with(EndorsingToken::by_certificate(KeyReference::Direct));
    });
    let policy = hiding_assertion(&held(by_certificate, HolderUse::Endorses));
    let assertion = Draft::holder(SamlVersion::V20, client().certificate()).signed();
    let message = sent(&policy, &assertion, &secret(7), PLAIN);
    assert!(!message.contains("alice"), "{message}");
    received(&policy, &message).unwrap();
    let other = Draft::holder(SamlVersion::V20, PARTIES.service.certificate()).signed();
    let refused = received(&policy, &sent(&policy, &other, &secret(7), PLAIN)).unwrap_err();
    assert_eq!(refused.name(), "signature-mismatch");
}

/// The message with its assertion signed, and encrypted with the key of the binding.
fn hiding_assertion(policy: &Policy) -> Policy {
    with(policy, |policy| {
        policy.parts.signed.push(Part::Assertion);
        let assertion = EncryptedPart::customary(Part::Assertion);
        policy.parts.encrypted.push(assertion);
    })
}

/// Whoever has the assertion without its key has nothing, and no other assertion or key will do.
#[test]
fn nothing_but_the_proof_key_of_the_right_assertion_endorses() {
    let version = SamlVersion::V20;
    let right = proving(version, &secret(7)).signed();
    let of_stranger = Draft {
        issuer: "https://stranger.example".to_owned(),
        ..proving(version, &secret(7))
    };
    // The key of one known issuer in the name of another.
    let of_other = Draft {
        issuer: OTHER_ISSUER.to_owned(),
        ..proving(version, &secret(7))
    };
    let public = Draft::holder(version, client().certificate());
    let mut wrong = Vec::new();
    for (binding, policy) in bindings().into_iter().take(3) {
        let demanded = endorsed(&policy, true, None);
        let by_certificate = with(&policy, |policy| {
            policy.endorse_with(EndorsingToken::by_certificate(KeyReference::Direct));
        });
        // Its own certificate endorses beside an assertion that is not its holder's.
        let by_another = held(by_certificate.clone(), HolderUse::Beside);
        // The private key takes the name of the assertion.
        let by_name = held(by_certificate, HolderUse::Endorses);
        let unendorsed = held(policy.clone(), HolderUse::Beside);
        let named = match binding {
            "connection" => "signature-missing",
            _ => "endorsement-missing",
        };
        let algorithm = match binding {
            "asymmetric" => "key-not-found",
            _ => "algorithm-not-allowed",
        };
        let another = match binding {
            "asymmetric" => "too-many",
            _ => "algorithm-not-allowed",
        };
        let cases = [
            (
                "another key",
                &demanded,
                right.clone(),
                secret(8),
                "signature-mismatch",
            ),
            (
                "no endorsement",
                &unendorsed,
                right.clone(),
                secret(7),
                named,
            ),
            (
                "another endorser",
                &by_another,
                right.clone(),
                secret(7),
                another,
            ),
            (
                "a private key by the name of the assertion",
                &by_name,
                right.clone(),
                secret(7),
                algorithm,
            ),
            (
                "a stranger's assertion",
                &demanded,
                of_stranger.signed(),
                secret(7),
                "issuer-unknown",
            ),
            (
                "an assertion in another issuer's name",
                &demanded,
                of_other.signed(),
                secret(7),
                "untrusted",
            ),
            (
                "a bearer's assertion",
                &demanded,
                Draft::bearer(version).signed(),
                secret(7),
                "key-not-found",
            ),
            (
                "an assertion with a public key",
                &demanded,
                public.signed(),
                secret(7),
                "key-misused",
            ),
        ];
        for (name, secured_by, assertion, key, expected) in cases {
            let message = sent(secured_by, &assertion, &key, PLAIN);
            let found = received(&demanded, &message).err();
            let found = found.as_ref().map(Rejected::name);
            if found != Some(expected) {
                wrong.push(format!("{binding}, {name}: {found:?}, expected {expected}"));
            }
        }
        // His own message with the stolen assertion in the place of his.
        let own = Draft {
            id: "_own".to_owned(),
            subject: "mallory".to_owned(),
            ..proving(version, &secret(8))
        };
        let own = own.signed();
        let written = |assertion: &str| {
            let token = AssertionToken::parse(assertion.as_bytes().to_vec()).unwrap();
            String::from_utf8(token.written_beneath("").into_owned()).unwrap()
        };
        let message = sent(&demanded, &own, &secret(8), PLAIN);
        let swapped = message.replace(&written(&own), &written(&right));
        assert_ne!(swapped, message);
        for (name, message, expected) in [
            ("swapped", swapped.clone(), "key-not-found"),
            (
                "swapped and named",
                swapped.replace("\"#_own\"", "\"#_assertion\""),
                "signature-mismatch",
            ),
        ] {
            let found = received(&demanded, &message).err();
            let found = found.as_ref().map(Rejected::name);
            if found != Some(expected) {
                wrong.push(format!("{binding}, {name}: {found:?}, expected {expected}"));
            }
        }
        // Keys are to be derived, and none is.
        let deriving = endorsed(&policy, true, derived(DerivedKeyForm::Explicit));
        let message = sent(&demanded, &right, &secret(7), PLAIN);
        let refused = received(&deriving, &message).unwrap_err();
        assert_eq!(refused, Rejected::KeyNotDerived, "{binding}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An endorsement belongs to one message: it names the signature, or the Timestamp, by an id and
/// covers its bytes.
#[test]
fn an_endorsement_of_another_message_is_none() {
    let assertion = proving(SamlVersion::V20, &secret(7)).signed();
    for (name, binding) in bindings().into_iter().take(3) {
        let policy = endorsed(&binding, true, None);
        let [first, other] = [(), ()].map(|()| sent(&policy, &assertion, &secret(7), PLAIN));
        // The holder's is the last signature of the header.
        let endorsement = |message: &str| {
            let start = message.rfind("<ds:Signature ").unwrap();
            let end = "</ds:Signature>";
            let length = message[start..].find(end).unwrap() + end.len();
            message[start..start + length].to_owned()
        };
        let moved = first.replace(&endorsement(&first), &endorsement(&other));
        assert_ne!(moved, first);
        let refused = received(&policy, &moved).unwrap_err();
        assert_eq!(refused.name(), "reference-not-found", "{name}: {refused}");
    }
}

#[test]
fn a_proof_key_that_endorses_needs_an_assertion_whose_holder_does() {
    let mut policy = over_tls();
    policy.endorse_with(EndorsingToken::by(EndorsingKey::Assertion {
        by_place: true,
        derived_keys: None,
    }));
    let alone = "the symmetric key of an assertion's holder endorses, and no assertion is demanded whose holder does";
    let late = "an assertion whose holder endorses is deciphered before his signature is verified: it is signed before it is encrypted";
    let encrypted_first = endorsed(
        &support::policy(Mechanism::EncryptSign, "Basic256GCM"),
        true,
        None,
    );
    for (policy, problem) in [
        (policy.clone(), alone),
        (held(policy, HolderUse::Beside), alone),
        (hiding_assertion(&encrypted_first), late),
    ] {
        let problems = InboundPlan::compile(policy, knowing_issuers()).unwrap_err();
        let expected = PlanProblem::Combination { problem };
        assert!(problems.contains(&expected), "{problems:?}");
    }
}

/// WS-SecurityPolicy 1.3, 6.5: a signature over the token that says how its key is derived covers
/// nothing of the token that the key is derived from.
#[test]
fn a_signature_over_its_derived_key_token_covers_no_assertion() {
    let assertion = proving(SamlVersion::V20, &secret(7)).signed();
    let form = derived(DerivedKeyForm::Explicit);
    let plain = endorsed(&over_tls(), true, form);
    let demanded = with(&plain, |policy| {
        for token in policy.endorsing_mut() {
            token.covers_token = true;
        }
    });
    let message = sent(&plain, &assertion, &secret(7), PLAIN);
    // Before it is the assertion, with the signature of its issuer.
    let own = message.find("<wsc:DerivedKeyToken").unwrap();
    let cut = |start: &str, end: &str| {
        let from = own + message[own..].find(start).unwrap();
        let length = message[from..].find(end).unwrap() + end.len();
        &message[from..from + length]
    };
    let token = cut("<wsc:DerivedKeyToken", "</wsc:DerivedKeyToken>");
    let wsc = ConversationVersion::V13.namespace();
    let digested = token
        .replace(
            "<wsc:DerivedKeyToken",
            &format!("<wsc:DerivedKeyToken xmlns=\"\" xmlns:wsc=\"{wsc}\" xmlns:wsu=\"{WSU}\""),
        )
        .replace(
            "<wsse:SecurityTokenReference",
            &format!(
                "<wsse:SecurityTokenReference xmlns:wsse=\"{WSSE}\" xmlns:wsse11=\"{WSSE11}\""
            ),
        );
    let digest = soapstone_crypto::digest(DigestAlgorithm::Sha256, digested.as_bytes()).unwrap();
    let exclusive = Canonicalization::Exclusive.uri();
    let reference = format!(
        "<ds:Reference URI=\"#str\"><ds:Transforms><ds:Transform Algorithm=\"{STR_TRANSFORM}\">\
         <wsse:TransformationParameters xmlns:wsse=\"{WSSE}\"><ds:CanonicalizationMethod Algorithm=\"{exclusive}\">\
         </ds:CanonicalizationMethod></wsse:TransformationParameters></ds:Transform></ds:Transforms>\
         <ds:DigestMethod Algorithm=\"{}\"></ds:DigestMethod><ds:DigestValue>{}</ds:DigestValue></ds:Reference>",
        DigestAlgorithm::Sha256.uri(),
        base64::encode(digest.as_ref()),
    );
    let info = cut("<ds:SignedInfo>", "</ds:SignedInfo>");
    let end = "</ds:SignedInfo>";
    let covering = info.replace(end, &format!("{reference}{end}"));
    let nonce = cut("<wsc:Nonce>", "</wsc:Nonce>");
    let nonce = nonce.trim_start_matches("<wsc:Nonce>");
    let nonce = nonce.trim_end_matches("</wsc:Nonce>");
    let mut salt = Vec::new();
    base64::decode(nonce.as_bytes(), &mut salt).unwrap();
    let label: &[u8] = b"WS-SecureConversationWS-SecureConversation";
    let key = PHash::SHA1
        .derive(&[7; 32], &[label, &salt], 0, 32)
        .unwrap();
    let key = SymmetricKey::new(key.expose().clone()).unwrap();
    let declared = format!("<ds:SignedInfo xmlns:ds=\"{}\">", names::DS);
    let canonical = covering.replace("<ds:SignedInfo>", &declared);
    let method = SignatureAlgorithm::HmacSha256;
    let value = key.sign(method, canonical.as_bytes(), None).unwrap();
    let value = format!(
        "<ds:SignatureValue>{}</ds:SignatureValue>",
        base64::encode(value.as_ref())
    );
    let key_info = "<ds:KeyInfo><wsse:SecurityTokenReference";
    let message = message
        .replace(info, &covering)
        .replace(cut("<ds:SignatureValue>", "</ds:SignatureValue>"), &value)
        .replacen(
            &format!("{value}{key_info}"),
            &format!("{value}{key_info} wsu:Id=\"str\""),
            1,
        );
    let refused = received(&demanded, &message).unwrap_err();
    assert!(matches!(refused, Rejected::Unsigned { .. }), "{refused}");
}
