//! Keys that sender and receiver agree on (XML-Enc 1.1 section 5.6): every curve, derivation,
//! wrapping and mechanism.

use std::sync::Arc;

use soapstone_crypto::{
    Curve, DataEncryption, DigestAlgorithm, KeyAgreement, KeyDerivation, KeyKind, KeyWrap,
    SignatureAlgorithm,
};
use soapstone_wss::{
    InboundPlan, KeyAgreementMethod, KeyBinding, KeyEvidence, KeyField, KeyReference, Keys,
    Mechanism, OutboundPlan, Outgoing, PlanProblem, Policy, Receipt, Recipient, SecureError,
    Signer,
};
use soapstone_xml::Buffers;

use crate::conversations::{bound, text};
use crate::support::Adjust as _;
use crate::support::*;

/// A policy whose keys are agreed on by one method.
fn agreeing(mechanism: Mechanism, method: KeyAgreementMethod) -> Policy {
    let mut policy = policy(mechanism, "Basic128GCMEcdhEs");
    policy.suite.name = "custom".to_owned();
    policy.suite.signature = vec![SignatureAlgorithm::EcdsaSha256, SignatureAlgorithm::Ed25519];
    policy.suite.key_agreement = vec![method];
    policy
}

#[test]
fn every_curve_and_derivation_and_wrapping_opens_under_every_mechanism() {
    let p256 = KeyKind::Ec(Curve::P256);
    for (algorithm, kind, decrypting) in [
        (KeyAgreement::EcdhEs, p256, None),
        (KeyAgreement::EcdhEs, KeyKind::Ec(Curve::P384), None),
        (KeyAgreement::EcdhEs, KeyKind::Ec(Curve::P521), None),
        (KeyAgreement::EcdhEs, KeyKind::Ec(Curve::Brainpool256), None),
        (KeyAgreement::EcdhEs, KeyKind::Ed25519, Some(p256)),
        (
            KeyAgreement::X25519,
            KeyKind::Ed25519,
            Some(KeyKind::X25519),
        ),
        (KeyAgreement::X448, KeyKind::Ed25519, Some(KeyKind::X448)),
    ] {
        let parties = Agreeing::new(kind, decrypting);
        for derivation in [KeyDerivation::ConcatKdf, KeyDerivation::Hkdf] {
            for (digest, wrap) in [
                (DigestAlgorithm::Sha256, KeyWrap::Aes128),
                (DigestAlgorithm::Sha384, KeyWrap::Aes192),
                (DigestAlgorithm::Sha512, KeyWrap::Aes256),
            ] {
                let method = KeyAgreementMethod {
                    algorithm,
                    derivation,
                    digest,
                    wrap,
                };
                for mechanism in [
                    Mechanism::Encrypt,
                    Mechanism::SignEncrypt,
                    Mechanism::EncryptSign,
                ] {
                    let what = format!("{mechanism} {method:?}");
                    let policy = agreeing(mechanism, method);
                    let secured = secure_with(&policy, parties.client_keys(), PLAIN, None);
                    let opened = open_with(
                        &policy,
                        parties.service_keys(),
                        &facts(),
                        &text(&secured),
                        now(),
                    )
                    .unwrap_or_else(|error| panic!("{what}: {error}"));
                    assert_eq!(
                        opened.evidence().keys,
                        [KeyEvidence::Agreement(method)],
                        "{what}"
                    );
                    assert!(forwarded(&opened).contains("Grüße &amp; mehr"), "{what}");
                    assert!(!text(&secured).contains("Grüße"), "{what}");
                }
            }
        }
    }
}

#[test]
fn no_two_messages_have_the_same_originator_or_salt() {
    let policy = policy(Mechanism::Encrypt, "Basic128GCMX25519");
    let between = |message: &str, name: &str| {
        let start = message.find(&format!("<{name}")).unwrap();
        message[start..start + message[start..].find("</").unwrap()].to_owned()
    };
    let (one, other) = (secure(&policy, PLAIN), secure(&policy, PLAIN));
    for name in ["dsig11:DEREncodedKeyValue", "dsig-more:Salt"] {
        assert_ne!(between(&one, name), between(&other, name), "{name}");
    }
}

#[test]
fn every_way_to_name_the_recipient() {
    for suite in ["Basic256GCMEcdhEs", "Basic256GCMX25519"] {
        for reference in [
            KeyReference::Direct,
            KeyReference::SubjectKeyIdentifier,
            KeyReference::Thumbprint,
            KeyReference::IssuerSerial,
            KeyReference::Embedded,
            KeyReference::KeyName,
        ] {
            for mechanism in [Mechanism::SignEncrypt, Mechanism::EncryptSign] {
                let mut policy = policy(mechanism, suite);
                policy.name_encrypting_key(reference);
                let message = secure(&policy, PLAIN);
                open(&policy, &message).unwrap_or_else(|error| {
                    panic!("{suite} {mechanism} {reference:?}: {error}\n{message}")
                });
            }
        }
    }
}

/// WS-SecurityPolicy 1.3, 7.4: the bootstrap of a conversation may be under a session key; so may
/// any message.
#[test]
fn a_session_key_that_was_agreed_on_signs_encrypts_and_is_used_by_the_answer() {
    for suite in ["Basic128GCMEcdhEs", "Basic128GCMX25519"] {
        let parties = Agreeing::of(suite).unwrap();
        let request = bound(
            Mechanism::SignEncrypt,
            suite,
            KeyBinding::SessionKey,
            KeyReference::Thumbprint,
        );
        let secured = secure_with(&request, parties.client_keys(), PLAIN, None);
        let opened = open_with(
            &request,
            parties.service_keys(),
            &facts(),
            &text(&secured),
            now(),
        )
        .unwrap();
        let signer = &opened.evidence().signatures[0].signer;
        assert!(
            matches!(signer, Signer::SessionKey(_)),
            "anybody can agree: {signer:?}"
        );
        let (_, receipt) = opened.finish(&mut Buffers::default());
        let answer = bound(
            Mechanism::SignEncrypt,
            suite,
            KeyBinding::RequestKey,
            KeyReference::EncryptedKeySha1,
        );
        let answered = secure_with(&answer, parties.service_keys(), PLAIN, Some(&receipt));
        let known = soapstone_wss::Facts {
            request: Some(secured.receipt),
            ..facts()
        };
        open_with(
            &answer,
            parties.client_keys(),
            &known,
            &text(&answered),
            now(),
        )
        .unwrap();
    }
}

fn answering(
    policy: &Policy,
    keys: Keys,
    receipt: &Receipt,
) -> Result<soapstone_wss::Secured, SecureError> {
    let plan = OutboundPlan::compile(policy.clone(), keys).unwrap();
    plan.secure(
        envelope(PLAIN),
        Outgoing::answer(receipt),
        now(),
        &mut Buffers::default(),
    )
}

#[test]
fn an_answer_is_agreed_on_with_whoever_signed_the_request_if_that_key_can() {
    let mut answer = policy(Mechanism::SignEncrypt, "Basic128GCMEcdhEs");
    answer.set_recipient(Recipient::Requester);
    let parties = Agreeing::of("Basic128GCMEcdhEs").unwrap();
    let signed_by = |keys: Keys| Receipt {
        signer: keys.identity.map(|identity| identity.certificate().clone()),
        ..Receipt::default()
    };
    let service = Keys {
        peer: None,
        ..parties.service_keys()
    };
    let answered = answering(&answer, service.clone(), &signed_by(parties.client_keys())).unwrap();
    open_with(
        &answer,
        parties.client_keys(),
        &facts(),
        &text(&answered),
        now(),
    )
    .unwrap();

    let ed25519 = Agreeing::of("Basic128GCMX25519").unwrap();
    let refused = answering(&answer, service, &signed_by(ed25519.client_keys())).map(drop);
    assert_eq!(
        refused,
        Err(SecureError::RecipientUnfit {
            key: KeyKind::Ed25519,
            suite: "Basic128GCMEcdhEs".to_owned()
        })
    );
}

#[test]
fn a_certificate_that_does_not_fit_the_suite_is_told_before_any_message() {
    let rsa = KeyKind::Rsa { bits: 2048 };
    for (suite, key) in [
        ("Basic128GCMEcdhEs", rsa),
        ("Basic128GCMX25519", rsa),
        ("Basic128GCM", KeyKind::Ec(Curve::P256)),
        ("Basic128GCMX25519", KeyKind::Ec(Curve::P256)),
        ("Basic128GCMEcdhEs", KeyKind::X25519),
    ] {
        let policy = policy(Mechanism::Encrypt, suite);
        let unfit = identity("CN=unfit", key);
        let problem = |field| {
            vec![PlanProblem::RecipientDoesNotFit {
                field,
                key,
                suite: suite.to_owned(),
            }]
        };
        let keys = Keys {
            peer: Some(unfit.certificate().clone()),
            ..client_keys()
        };
        let outbound = OutboundPlan::compile(policy.clone(), keys).map(drop);
        assert_eq!(outbound, Err(problem(KeyField::Peer)), "{suite}");
        let keys = Keys {
            identity: Some(unfit),
            ..service_keys()
        };
        let inbound = InboundPlan::compile(policy, keys).map(drop);
        assert_eq!(inbound, Err(problem(KeyField::Identity)), "{suite}");
    }
}

/// A partner changes from RSA to P-256 while others have not: one endpoint has both keys, and a
/// suite with both ways.
#[test]
fn transport_and_agreement_stand_beside_each_other_while_partners_change() {
    let mut both = policy(Mechanism::Encrypt, "Basic128GCM");
    both.suite.key_agreement = vec![KeyAgreementMethod::ecdh_es(KeyWrap::Aes128)];
    let rsa = Arc::clone(&PARTIES.service);
    let p256 = identity("CN=service", KeyKind::Ec(Curve::P256));
    let keys = Keys {
        decryption: vec![Arc::clone(&p256), Arc::clone(&rsa)],
        ..service_keys()
    };
    // By a name that both certificates have, and by one that only one has.
    for reference in [KeyReference::KeyName, KeyReference::IssuerSerial] {
        both.name_encrypting_key(reference);
        for (recipient, is_agreed) in [(&rsa, false), (&p256, true)] {
            let peer = Some(recipient.certificate().clone());
            let secured = secure_with(
                &both,
                Keys {
                    peer,
                    ..client_keys()
                },
                PLAIN,
                None,
            );
            let opened = open_with(&both, keys.clone(), &facts(), &text(&secured), now()).unwrap();
            let agreed = matches!(opened.evidence().keys[..], [KeyEvidence::Agreement(_)]);
            assert_eq!(agreed, is_agreed, "{reference:?}");
        }
    }
    assert_eq!(both.suite.data, [DataEncryption::Aes128Gcm]);
}

/// One key signs, another decrypts: what is encrypted to the one that signs is not opened with it.
#[test]
fn a_key_that_signs_does_not_decrypt_where_another_one_does() {
    let policy = policy(Mechanism::Encrypt, "Basic128GCMEcdhEs");
    let make = |subject| identity(subject, KeyKind::Ec(Curve::P256));
    let (signing, decrypting) = (make("CN=signs"), make("CN=decrypts"));
    let keys = Keys {
        identity: Some(Arc::clone(&signing)),
        decryption: vec![Arc::clone(&decrypting)],
        ..service_keys()
    };
    let open_of = |recipient: &soapstone_crypto::Identity| {
        let peer = Some(recipient.certificate().clone());
        let secured = secure_with(
            &policy,
            Keys {
                peer,
                ..client_keys()
            },
            PLAIN,
            None,
        );
        open_with(&policy, keys.clone(), &facts(), &text(&secured), now()).map(drop)
    };
    open_of(&decrypting).unwrap();
    assert_eq!(open_of(&signing).unwrap_err().name(), "key-not-found");
}
