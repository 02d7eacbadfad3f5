//! What compiled plans assure of messages, by preset and suite.

use std::sync::Arc;

use soapstone_crypto::{Curve, Identity, KeyKind};
use soapstone_wss::{
    Assurance, Assured, InboundPlan, Keys, Mechanism, OutboundPlan, Policy, Recipient, SamlVersion,
    Suite,
};

use crate::saml::hidden::hiding;
use crate::saml::issuing::{by_connection, knowing_issuers};
use crate::saml::proof::{by_proof, holding, proving, secret, service};
use crate::support::{
    Adjust as _, PARTIES, client_keys, identity, policy, service_keys, suite, with,
};

/// Of a request on both sides: authentication, integrity, confidentiality, freshness and
/// non-repudiation, in bits.
type Bits = [Option<u16>; 5];

fn bits(assurance: &Assurance) -> Bits {
    [
        assurance.authentication,
        assurance.integrity,
        assurance.confidentiality,
        assurance.freshness,
        assurance.non_repudiation,
    ]
    .map(|assured| assured.map(|assured: Assured| assured.bits))
}

fn plans(mechanism: Mechanism, suite: &str) -> (OutboundPlan, InboundPlan) {
    let policy = mechanism.policy(Suite::called(suite).expect("a suite"));
    let leaving = OutboundPlan::compile(policy.clone(), client_keys()).expect("nothing is wrong");
    let arriving = InboundPlan::compile(policy, service_keys()).expect("nothing is wrong");
    (leaving, arriving)
}

#[test]
fn each_preset_assures_what_its_name_says_as_strongly_as_its_weakest_part() {
    use Mechanism::{Encrypt, EncryptSign, None as Nothing, Sign, SignEncrypt, Username};
    let signed = [Some(112), Some(112), None, Some(112), Some(112)];
    let both = [Some(112); 5];
    for (mechanism, suite, expected) in [
        (Nothing, "Basic256Sha256", [None; 5]),
        // A password is of no known strength.
        (
            Username,
            "Basic256Sha256",
            [Some(0), None, None, None, None],
        ),
        // RSA-2048 is weaker than what it signs.
        (Sign, "Basic256Sha256+RsaSha256", signed),
        (
            Encrypt,
            "Basic256Sha256+RsaSha256",
            [None, None, Some(112), None, None],
        ),
        (SignEncrypt, "Basic256Sha256+RsaSha256", both),
        (EncryptSign, "Basic128GCM", both),
        // The suite signs with RSA-SHA1, whatever its name says.
        (
            Sign,
            "Basic256Sha256",
            [Some(61), Some(61), None, Some(61), Some(61)],
        ),
        (
            SignEncrypt,
            "TripleDes",
            [Some(61), Some(61), Some(80), Some(61), Some(61)],
        ),
    ] {
        let (leaving, arriving) = plans(mechanism, suite);
        assert_eq!(bits(&leaving.assurance()), expected, "{mechanism} {suite}");
        assert_eq!(bits(&arriving.assurance()), expected, "{mechanism} {suite}");
    }
}

#[test]
fn the_names_of_algorithms_and_encrypted_parts_are_told() {
    let (leaving, arriving) = plans(Mechanism::SignEncrypt, "TripleDes");
    let found = leaving.assurance();
    assert_eq!(found.encrypted, ["Body"]);
    assert_eq!(found.algorithms, ["rsa-sha1", "sha1", "tripledes-cbc"]);
    assert_eq!(arriving.assurance(), found);
}

/// Both parties have the key, and each can say that the other one wrote it.
#[test]
fn a_conversation_assures_all_but_that_a_third_party_can_be_shown() {
    let (leaving, arriving) = plans(Mechanism::SecureConversation, "Basic256Sha256");
    for assurance in [leaving.assurance(), arriving.assurance()] {
        let [
            authentication,
            integrity,
            confidentiality,
            freshness,
            non_repudiation,
        ] = bits(&assurance);
        let others = [authentication, integrity, confidentiality, freshness];
        assert!(others.iter().all(|bits| *bits >= Some(112)), "{others:?}");
        assert_eq!(non_repudiation, None);
    }
}

/// What somebody on the way can make say something else is assured by nobody.
#[test]
fn short_cipher_text_without_its_key_signed_assures_no_integrity() {
    for (suite, is_assured) in [("Basic256", false), ("Basic256GCM", true)] {
        let mut policy = Mechanism::EncryptSign.policy(Suite::called(suite).expect("a suite"));
        policy.parts.short_cipher_text = true;
        policy.parts.unsigned_session_key = true;
        let leaving = OutboundPlan::compile(policy.clone(), client_keys()).expect("right");
        let arriving = InboundPlan::compile(policy, service_keys()).expect("right");
        for assurance in [leaving.assurance(), arriving.assurance()] {
            assert_eq!(assurance.integrity.is_some(), is_assured, "{suite}");
            assert_eq!(assurance.non_repudiation.is_some(), is_assured, "{suite}");
            assert!(assurance.authentication.is_some());
        }
    }
}

/// A need that refuses it would else be covered by silence.
#[test]
fn the_old_padding_of_session_keys_is_told_of() {
    let told = |mechanism, suite| {
        let (leaving, arriving) = plans(mechanism, suite);
        let has = |assurance: Assurance| assurance.algorithms.contains(&"rsa-1_5");
        [has(leaving.assurance()), has(arriving.assurance())]
    };
    for mechanism in [Mechanism::Encrypt, Mechanism::SignEncrypt] {
        assert_eq!(told(mechanism, "Basic256Rsa15"), [true; 2]);
        assert_eq!(told(mechanism, "Basic256Sha256"), [false; 2]);
    }
    // Nothing is encrypted there.
    assert_eq!(told(Mechanism::Sign, "Basic256Rsa15"), [false; 2]);
}

/// An assertion in cipher text of its own comes by the same ways, where nothing else is encrypted.
#[test]
fn the_old_padding_of_an_assertions_key_is_told_of() {
    for (name, is_told) in [("Basic256Rsa15", true), ("Basic256Sha256", false)] {
        let policy = with(&hiding(&by_connection()), |policy| {
            policy.suite = suite(name);
        });
        let leaving = OutboundPlan::compile(policy.clone(), client_keys()).unwrap();
        let arriving = InboundPlan::compile(policy, knowing_issuers()).unwrap();
        for found in [leaving.assurance(), arriving.assurance()] {
            assert_eq!(found.algorithms.contains(&"rsa-1_5"), is_told, "{name}");
        }
    }
}

/// A suite with both ways encrypts session keys to keys of either kind.
fn both_ways(transport: &str) -> Policy {
    with(&policy(Mechanism::Encrypt, "Basic256GCM"), |policy| {
        policy.suite.key_transport = suite(transport).key_transport;
        policy.suite.key_agreement = suite("Basic128GCMEcdhEs").key_agreement;
    })
}

fn curve() -> Arc<Identity> {
    identity("CN=curve", KeyKind::Ec(Curve::P256))
}

/// No session key is encrypted to a key of a curve by it.
#[test]
fn the_old_padding_is_told_of_where_a_key_is_of_rsa() {
    let policy = both_ways("Basic256Rsa15");
    let (curve, rsa) = (curve(), Arc::clone(&PARTIES.service));
    let leaving = |peer: Option<&Identity>, recipient| {
        let mut policy = policy.clone();
        policy.set_recipient(recipient);
        let keys = Keys {
            peer: peer.map(|peer| peer.certificate().clone()),
            ..client_keys()
        };
        let plan = OutboundPlan::compile(policy, keys).unwrap();
        plan.assurance().algorithms.contains(&"rsa-1_5")
    };
    assert!(leaving(Some(&rsa), Recipient::Peer));
    assert!(!leaving(Some(&curve), Recipient::Peer));
    // Whoever signs a request has a key of either kind.
    assert!(leaving(None, Recipient::Requester));
    assert!(leaving(Some(&curve), Recipient::Requester));
    let arriving = |own: &[&Arc<Identity>]| {
        let keys = Keys {
            decryption: own.iter().map(|one| Arc::clone(one)).collect(),
            ..service_keys()
        };
        let plan = InboundPlan::compile(policy.clone(), keys).unwrap();
        plan.assurance().algorithms.contains(&"rsa-1_5")
    };
    assert!(arriving(&[&curve, &rsa]));
    assert!(!arriving(&[&curve]));
}

/// A key of ours that no session key comes to weakens none.
#[test]
fn the_weakest_key_counts_of_those_that_unwrap() {
    let confidential = |assurance: Assurance| assurance.confidentiality.map(|found| found.bits);
    let (curve, rsa) = (curve(), Arc::clone(&PARTIES.service));
    let arriving = |policy: &Policy| {
        let keys = Keys {
            decryption: vec![Arc::clone(&curve), Arc::clone(&rsa)],
            ..service_keys()
        };
        let plan = InboundPlan::compile(policy.clone(), keys).unwrap();
        confidential(plan.assurance())
    };
    let both = both_ways("Basic256GCM");
    assert_eq!(arriving(&both), Some(112));
    let agreeing = with(&both, |policy| policy.suite.key_transport.clear());
    assert_eq!(arriving(&agreeing), Some(128));
    // Answers go to whoever signed the request, before they go to the configured peer.
    let leaving = |recipient| {
        let mut policy = both.clone();
        policy.set_recipient(recipient);
        let keys = Keys {
            peer: Some(curve.certificate().clone()),
            ..service_keys()
        };
        confidential(OutboundPlan::compile(policy, keys).unwrap().assurance())
    };
    assert_eq!(leaving(Recipient::Peer), Some(128));
    assert_eq!(leaving(Recipient::Requester), Some(112));
}

/// Whoever breaks our key has the proof key that the issuer encrypted to it.
#[test]
fn a_proof_key_is_as_strong_as_the_key_that_unwraps_it() {
    let policy = by_proof(Mechanism::SignEncrypt, true, None);
    let assertion = proving(SamlVersion::V20, &secret(7)).signed();
    let leaving = OutboundPlan::compile(policy.clone(), holding(&assertion, &secret(7))).unwrap();
    let arriving = InboundPlan::compile(policy, service()).unwrap();
    for found in [leaving.assurance(), arriving.assurance()] {
        let [authentication, integrity, confidentiality, ..] = bits(&found);
        let found = [authentication, integrity, confidentiality];
        assert_eq!(found, [Some(112); 3]);
    }
}
