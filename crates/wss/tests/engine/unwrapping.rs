//! Which private keys of ours unwrap a key that came wrapped: by what the key is for, and by the
//! suite. Compiling, opening, assurance and token services have one answer.

use std::sync::Arc;

use soapstone_crypto::{Curve, Identity, KeyKind};
use soapstone_wss::{
    AssertionPolicy, AssertionProtection, AssertionToken, ConfirmationMethod, InboundPlan,
    KeyBinding, KeyField, KeyReference, Keys, Mechanism, PlanProblem, Policy, SamlVersion,
};

use crate::conversations::text;
use crate::derivations::cut;
use crate::endorsers::other;
use crate::saml::issuing::{Draft, accepting, knowing_issuers, moment, with_assertion};
use crate::saml::proof::{by_proof, service};
use crate::support::*;

const EC: KeyKind = KeyKind::Ec(Curve::P256);
const RSA: KeyKind = KeyKind::Rsa { bits: 2048 };

fn curve() -> Arc<Identity> {
    identity("CN=curve", EC)
}

fn rsa() -> Arc<Identity> {
    other("CN=rsa")
}

fn decrypting(own: &[&Arc<Identity>], keys: Keys) -> Keys {
    Keys {
        decryption: own.iter().map(|one| Arc::clone(one)).collect(),
        ..keys
    }
}

/// Encrypts session keys to keys of either kind.
fn both_ways(reference: KeyReference) -> Policy {
    let mut policy = policy(Mechanism::Encrypt, "Basic256GCM");
    policy.suite.key_agreement = suite("Basic128GCMEcdhEs").key_agreement;
    policy.name_encrypting_key(reference);
    policy
}

/// The same beside an assertion of a bearer in cipher text of its own.
fn beside_assertion(policy: Policy) -> Policy {
    let bearing = AssertionPolicy {
        methods: vec![ConfirmationMethod::Bearer],
        protection: AssertionProtection::Connection,
        encrypted: true,
        ..accepting()
    };
    with_assertion(policy, bearing)
}

fn unfit(key: KeyKind, suite: &str) -> PlanProblem {
    PlanProblem::RecipientDoesNotFit {
        field: KeyField::Identity,
        key,
        suite: suite.to_owned(),
    }
}

fn misnamed(key: KeyKind) -> PlanProblem {
    PlanProblem::ReferenceDoesNotFit {
        reference: KeyReference::RsaKeyValue,
        key,
    }
}

/// `sp:RsaKeyValue` is said of the token of session keys. The issuer of an assertion enciphers it
/// for whichever key of ours he knows.
#[test]
fn an_assertion_of_its_own_cipher_text_is_for_any_key_of_ours() {
    let (curve, rsa) = (curve(), rsa());
    let sent = beside_assertion(both_ways(KeyReference::KeyValue));
    let assertion = Draft::bearer(SamlVersion::V20).signed().into_bytes();
    let assertion = Arc::new(AssertionToken::parse(assertion).unwrap());
    let to = |recipient: &Identity| {
        let keys = Keys {
            peer: Some(recipient.certificate().clone()),
            assertion: Some(Arc::clone(&assertion)),
            ..client_keys()
        };
        text(&secure_at(&sent, keys, PLAIN, None, moment()))
    };
    let item = |message: &str| {
        let end = "</saml:EncryptedAssertion>";
        cut(message, "<saml:EncryptedAssertion ", end).to_owned()
    };
    let (to_rsa, to_curve) = (to(&rsa), to(&curve));
    let mixed = to_rsa.replace(&item(&to_rsa), &item(&to_curve));
    let keys = || decrypting(&[&curve, &rsa], knowing_issuers());
    let wanted = beside_assertion(both_ways(KeyReference::RsaKeyValue));
    let open = |message: &str| open_with(&wanted, keys(), &facts(), message, moment()).map(drop);
    open(&to_rsa).unwrap();
    open(&mixed).unwrap();
    // The session key is for the key of RSA alone.
    let refused = open(&to_curve.replace(&item(&to_curve), &item(&to_rsa)));
    assert_eq!(refused.unwrap_err().name(), "key-not-found");
}

/// A shared key has a name, whatever the policy says of it, and is wrapped to nobody.
#[test]
fn the_name_of_another_key_says_nothing_of_a_certificate() {
    let mut shared = both_ways(KeyReference::Direct);
    shared.bind(KeyBinding::Shared, KeyReference::RsaKeyValue);
    let keys = decrypting(&[&curve()], knowing_issuers());
    let found = InboundPlan::compile(beside_assertion(shared), keys).map(drop);
    assert_eq!(found, Ok(()));
}

/// Partners change one by one, and operations of one endpoint have suites of their own.
#[test]
fn one_key_that_fits_the_suite_is_enough() {
    let (curve, rsa) = (curve(), rsa());
    for (suite, fitting, other) in [
        ("Basic256GCM", &rsa, &curve),
        ("Basic128GCMEcdhEs", &curve, &rsa),
    ] {
        let policy = policy(Mechanism::Encrypt, suite);
        let peer = Some(fitting.certificate().clone());
        let keys = Keys {
            peer,
            ..client_keys()
        };
        let message = text(&secure_with(&policy, keys, PLAIN, None));
        for own in [[fitting, other], [other, fitting]] {
            let compiled = InboundPlan::compile(policy.clone(), decrypting(&own, service_keys()));
            assert_eq!(compiled.map(drop), Ok(()), "{suite}");
            let keys = decrypting(&own, service_keys());
            open_with(&policy, keys, &facts(), &message, now()).unwrap();
        }
        let alone = decrypting(&[other], service_keys());
        let found = InboundPlan::compile(policy, alone).map(drop);
        assert_eq!(found, Err(vec![unfit(other.key().kind(), suite)]));
    }
}

/// One that the suite has a way to, and another one that may be named, are none.
#[test]
fn a_key_fits_the_suite_and_the_reference_together() {
    let mut policy = both_ways(KeyReference::RsaKeyValue);
    policy.suite.key_transport.clear();
    let found = |own: &[&Arc<Identity>]| {
        InboundPlan::compile(policy.clone(), decrypting(own, service_keys())).map(drop)
    };
    let problems = vec![misnamed(EC), unfit(RSA, "Basic256GCM")];
    assert_eq!(found(&[&curve(), &rsa()]), Err(problems));
    assert_eq!(found(&[&curve()]), Err(vec![misnamed(EC)]));
}

/// Proof keys come by RSA-OAEP and in no other way (WS-Trust 1.4, 4.4.3).
#[test]
fn a_proof_key_needs_a_key_of_rsa_and_a_suite_with_oaep() {
    let with_suite = |name: &str| {
        with(&by_proof(Mechanism::Sign, true, None), |policy| {
            policy.suite = suite(name);
        })
    };
    let (curve, rsa) = (curve(), rsa());
    let found = |name: &str, own: &[&Arc<Identity>]| {
        InboundPlan::compile(with_suite(name), decrypting(own, service())).map(drop)
    };
    let problem = |key, suite: &str| {
        Err(vec![PlanProblem::ProofKeyDoesNotFit {
            key,
            suite: suite.to_owned(),
        }])
    };
    assert_eq!(found("Basic256GCM", &[&curve, &rsa]), Ok(()));
    assert_eq!(found("Basic256GCM", &[&curve]), problem(EC, "Basic256GCM"));
    for suite in ["Basic128GCMEcdhEs", "Basic256Rsa15"] {
        assert_eq!(found(suite, &[&rsa]), problem(RSA, suite));
    }
}

/// What WS-Trust has encrypted by itself comes by RSA-OAEP.
#[test]
fn a_secret_is_opened_by_the_first_key_of_rsa() {
    let (curve, rsa) = (curve(), rsa());
    let mut policy = policy(Mechanism::Encrypt, "Basic256GCM");
    policy.suite.key_agreement = suite("Basic128GCMEcdhEs").key_agreement;
    let found = |own: &[&Arc<Identity>]| {
        let plan = InboundPlan::compile(policy.clone(), decrypting(own, service_keys())).unwrap();
        plan.decryption_key().map(|key| key.kind())
    };
    assert_eq!(found(&[&curve, &rsa]), Some(RSA));
    assert_eq!(found(&[&rsa, &curve]), Some(RSA));
    assert_eq!(found(&[&curve]), None);
}
