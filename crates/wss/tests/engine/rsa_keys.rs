//! `sp:RsaKeyValue` (WS-SecurityPolicy 1.3, 5.4.11) is said of one token: it is the key of that
//! token which has to be of RSA, and no other.

use std::sync::Arc;

use soapstone_crypto::{Curve, Identity, KeyKind, SignatureAlgorithm, TrustStore};
use soapstone_wss::{
    Binding, EndorsingToken, InboundPlan, KeyBinding, KeyReference, Keys, Mechanism, OutboundPlan,
    PlanProblem, Policy, Rejected, TimestampPolicy,
};

use crate::conversations::{bound, text};
use crate::endorsers::{endorsed_by, other};
use crate::support::{
    Adjust as _, PLAIN, client_keys, facts, identity, now, open_as_peer_with, open_with, policy,
    secure_with, service_keys, suite, trust_rules, with,
};

const EC: KeyKind = KeyKind::Ec(Curve::P256);

/// Signed by whoever is named first, and endorsed by the other, with keys of either kind.
fn endorsed(signing: KeyReference, endorsing: KeyReference) -> Policy {
    let mut policy = policy(Mechanism::Sign, "Basic256GCM");
    policy.suite.signature = both_kinds();
    policy.name_signing_key(signing);
    policy.endorse_by(vec![EndorsingToken::by_certificate(endorsing)]);
    policy
}

/// The same over a Timestamp, where the connection protects the rest.
fn over_timestamp(signing: KeyReference, endorsing: KeyReference) -> Policy {
    let mut policy = policy(Mechanism::None, "Basic256");
    policy.suite.signature = both_kinds();
    policy.header.timestamp = Some(TimestampPolicy::default());
    policy.binding = Binding::Transport;
    for reference in [signing, endorsing] {
        policy.endorse_with(EndorsingToken::by_certificate(reference));
    }
    policy
}

fn both_kinds() -> Vec<SignatureAlgorithm> {
    let algorithm = |name| SignatureAlgorithm::from_name(name).unwrap();
    ["rsa-sha256", "ecdsa-sha256"].map(algorithm).to_vec()
}

/// What is said of the message that these sign and endorse under one policy, by another one.
fn opened(sent: &Policy, wanted: &Policy, who: [&Arc<Identity>; 2]) -> Option<&'static str> {
    let [signer, endorser] = who;
    let over_timestamp = sent.binding == Binding::Transport;
    let endorsing = match over_timestamp {
        true => endorsed_by(&[signer, endorser]),
        false => endorsed_by(&[endorser]),
    };
    let keys = Keys {
        identity: Some(Arc::clone(signer)),
        ..endorsing
    };
    let message = text(&secure_with(sent, keys, PLAIN, None));
    let mut rules = trust_rules();
    for one in who {
        rules.pinned.push(one.certificate().clone());
    }
    let keys = Keys {
        trust: Some(Arc::new(TrustStore::new(rules).unwrap())),
        ..service_keys()
    };
    let opened = open_with(wanted, keys, &facts(), &message, now());
    opened.err().map(|refused| refused.name())
}

#[test]
fn the_key_of_each_signature_is_judged_by_what_is_said_of_its_token() {
    use KeyReference::{Direct, KeyValue, RsaKeyValue};
    let (rsa, curve) = (other("CN=rsa"), identity("CN=curve", EC));
    let (another, second) = (other("CN=another"), identity("CN=second", EC));
    let refused = Some("token-unsupported");
    for make in [endorsed, over_timestamp] {
        for (wanted, sent, who, expected) in [
            // The message's key is of a curve, and is named as the endorser's may be.
            (
                (RsaKeyValue, Direct),
                (Direct, Direct),
                [&curve, &second],
                refused,
            ),
            (
                (Direct, RsaKeyValue),
                (Direct, KeyValue),
                [&curve, &second],
                refused,
            ),
            // An endorser under another token writes his key out.
            (
                (RsaKeyValue, Direct),
                (RsaKeyValue, KeyValue),
                [&rsa, &curve],
                None,
            ),
            (
                (RsaKeyValue, Direct),
                (RsaKeyValue, Direct),
                [&rsa, &curve],
                None,
            ),
            (
                (Direct, RsaKeyValue),
                (KeyValue, RsaKeyValue),
                [&curve, &rsa],
                None,
            ),
            // Each is to be of RSA, however it is named.
            (
                (RsaKeyValue, RsaKeyValue),
                (Direct, Direct),
                [&rsa, &another],
                None,
            ),
            (
                (RsaKeyValue, RsaKeyValue),
                (Direct, Direct),
                [&rsa, &curve],
                refused,
            ),
        ] {
            let (wanted, sent) = (make(wanted.0, wanted.1), make(sent.0, sent.1));
            assert_eq!(opened(&sent, &wanted, who), expected, "{sent:?} {wanted:?}");
        }
    }
    // Over the message, each signature has the role that it has by what it covers.
    let wanted = endorsed(RsaKeyValue, Direct);
    let sent = endorsed(Direct, Direct);
    assert_eq!(opened(&sent, &wanted, [&curve, &rsa]), refused);
    let wanted = endorsed(Direct, RsaKeyValue);
    assert_eq!(opened(&sent, &wanted, [&rsa, &curve]), refused);
}

#[test]
fn a_key_that_endorses_for_several_tokens_fits_each_of_them() {
    let curve = identity("CN=curve", EC);
    let named = |references: [KeyReference; 2]| {
        let mut policy = bound(
            Mechanism::SignEncrypt,
            "Basic256GCM",
            KeyBinding::SessionKey,
            KeyReference::Thumbprint,
        );
        policy.suite.signature = both_kinds();
        policy.endorse_by(references.map(EndorsingToken::by_certificate).to_vec());
        policy.same_endorser = true;
        let keys = Keys {
            identity: Some(Arc::clone(&curve)),
            ..client_keys()
        };
        OutboundPlan::compile(policy, keys).map(drop)
    };
    let misfit = PlanProblem::ReferenceDoesNotFit {
        reference: KeyReference::RsaKeyValue,
        key: EC,
    };
    assert_eq!(named([KeyReference::Direct, KeyReference::Direct]), Ok(()));
    for references in [
        [KeyReference::Direct, KeyReference::RsaKeyValue],
        [KeyReference::RsaKeyValue, KeyReference::Direct],
    ] {
        assert_eq!(named(references), Err(vec![misfit.clone()]));
    }
}

/// One fitting key is enough to begin with, and no other one opens messages.
#[test]
fn a_session_key_is_opened_by_a_key_that_its_token_may_have() {
    let bound_by = |mechanism, reference| {
        let policy = bound(mechanism, "Basic256GCM", KeyBinding::SessionKey, reference);
        with(&policy, |policy| {
            policy.suite.key_agreement = suite("Basic128GCMEcdhEs").key_agreement;
        })
    };
    let (rsa, curve) = (other("CN=rsa"), identity("CN=curve", EC));
    let having = |keys: &[&Arc<Identity>]| Keys {
        decryption: keys.iter().map(|one| Arc::clone(one)).collect(),
        ..service_keys()
    };
    for mechanism in [Mechanism::Sign, Mechanism::Encrypt, Mechanism::SignEncrypt] {
        let wanted = bound_by(mechanism, KeyReference::RsaKeyValue);
        let misfit = PlanProblem::ReferenceDoesNotFit {
            reference: KeyReference::RsaKeyValue,
            key: EC,
        };
        let found = InboundPlan::compile(wanted.clone(), having(&[&curve])).map(drop);
        assert_eq!(found, Err(vec![misfit]), "{mechanism}");
        let sent = bound_by(mechanism, KeyReference::KeyValue);
        for (peer, expected) in [(&rsa, None), (&curve, Some("key-not-found"))] {
            let keys = Keys {
                peer: Some(peer.certificate().clone()),
                ..client_keys()
            };
            let message = text(&secure_with(&sent, keys, PLAIN, None));
            let open = |policy| {
                let opened = open_with(policy, having(&[&curve, &rsa]), &facts(), &message, now());
                opened.err().map(|refused| refused.name())
            };
            assert_eq!(open(&sent), None, "{mechanism}");
            assert_eq!(open(&wanted), expected, "{mechanism}");
        }
    }
}

/// A signature that verifies lets a message be deciphered. Of these none will be accepted.
#[test]
fn a_signer_of_a_kind_that_no_demand_takes_has_nothing_deciphered() {
    use KeyReference::{Direct, RsaKeyValue};
    let (rsa, curve) = (other("CN=rsa"), identity("CN=curve", EC));
    let refused = Rejected::TokenUnsupported {
        found: format!("a key of kind {EC}, where the policy wants one of RSA"),
    };
    let encrypting = |mut policy: Policy| {
        let encrypting = crate::support::policy(Mechanism::SignEncrypt, "Basic256GCM");
        policy
            .parts
            .encrypted
            .clone_from(&encrypting.parts.encrypted);
        if let (Binding::Asymmetric(binding), Binding::Asymmetric(other)) =
            (&mut policy.binding, &encrypting.binding)
        {
            binding.encryption = other.encryption;
        }
        policy
    };
    let alone = |reference| {
        let mut policy = endorsed(reference, Direct);
        policy.endorse_by(Vec::new());
        policy
    };
    for (sent, wanted, who) in [
        (alone(Direct), alone(RsaKeyValue), [&curve, &rsa]),
        (
            endorsed(Direct, Direct),
            endorsed(RsaKeyValue, RsaKeyValue),
            [&curve, &rsa],
        ),
        (
            endorsed(Direct, Direct),
            endorsed(RsaKeyValue, RsaKeyValue),
            [&rsa, &curve],
        ),
    ] {
        let [signer, endorser] = who;
        let keys = Keys {
            identity: Some(Arc::clone(signer)),
            ..endorsed_by(&[endorser])
        };
        let message = text(&secure_with(&encrypting(sent), keys, PLAIN, None));
        let mut rules = trust_rules();
        rules
            .pinned
            .extend(who.map(|one| one.certificate().clone()));
        let keys = Keys {
            trust: Some(Arc::new(TrustStore::new(rules).unwrap())),
            ..service_keys()
        };
        let opened = open_as_peer_with(&encrypting(wanted), keys, &facts(), &message, now());
        // Nothing was deciphered when it was refused.
        assert_eq!(opened.map(drop), Err(refused.clone()));
    }
}
