//! What compiled plans assure of messages, by preset and suite.

use soapstone_wss::{Assurance, Assured, InboundPlan, Mechanism, OutboundPlan, Suite};

use crate::support::{client_keys, service_keys};

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
