//! Symmetric proof keys (SAML Token Profile 1.1.1, 3.5.1; WS-Trust 1.4, 4.4.2): the holder's key is
//! in an `xenc:EncryptedKey` of the assertion, and protects the message.

use std::sync::Arc;

use soapstone_crypto::{Identity, KeyTransport, OaepParameters, SymmetricKey};
use soapstone_testkit::keys;
use soapstone_wss::{
    AssertionToken, Binding, ConfirmationMethod, ConversationVersion, DerivedKeyForm,
    DerivedKeyPolicy, EncryptedPart, Envelope, Facts, InboundPlan, KeyBinding, Keys, Mechanism,
    Part, PlanProblem, Policy, Rejected, SamlVersion, Secured, Signer, SymmetricBinding,
    SymmetricToken, Verified, names,
};
use soapstone_xml::Buffers;

use super::hidden::{hiding, wrapped_for};
use super::issuing::*;
use super::{Case, refuse_all};
use crate::derivations::cut;
use crate::support::*;

pub(crate) fn secret(byte: u8) -> SymmetricKey {
    SymmetricKey::new(vec![byte; 32]).unwrap()
}

/// How the suite of these tests wraps keys.
fn transport() -> (KeyTransport, OaepParameters) {
    let transport = suite("Basic256GCM").key_transport[0];
    let oaep = OaepParameters::new(transport.digest, transport.mask);
    (transport.algorithm, oaep)
}

/// An assertion about Alice, who has a symmetric key that this receiver can unwrap.
fn proving_to(version: SamlVersion, key: &SymmetricKey, receiver: &Identity) -> Draft {
    let (algorithm, oaep) = transport();
    let wrapped = wrapped_for(receiver, key, algorithm, oaep);
    proving_by(version, &wrapped)
}

fn proving_by(version: SamlVersion, wrapped: &str) -> Draft {
    let info = format!(
        "<ds:KeyInfo xmlns:ds=\"{}\">{wrapped}</ds:KeyInfo>",
        names::DS
    );
    let content = match version {
        SamlVersion::V20 => {
            format!("<saml:SubjectConfirmationData>{info}</saml:SubjectConfirmationData>")
        }
        SamlVersion::V11 => info,
    };
    Draft {
        confirmation: confirmation(version, "holder-of-key", &content),
        ..Draft::bearer(version)
    }
}

pub(crate) fn proving(version: SamlVersion, key: &SymmetricKey) -> Draft {
    proving_to(version, key, &PARTIES.service)
}

pub(crate) fn derived(form: DerivedKeyForm) -> Option<DerivedKeyPolicy> {
    Some(DerivedKeyPolicy {
        version: ConversationVersion::V13,
        form,
        exclusive: false,
        signature_length: 32,
    })
}

/// The policy of messages that the proof key of an assertion protects.
pub(crate) fn by_proof(
    mechanism: Mechanism,
    by_place: bool,
    derived: Option<DerivedKeyPolicy>,
) -> Policy {
    let bound = with(&policy(mechanism, "Basic256GCM"), |policy| {
        policy.binding = Binding::Symmetric(SymmetricBinding {
            key: SymmetricToken::Assertion { by_place },
            derived_keys: derived,
            order: policy.order(),
        });
    });
    let accepted = soapstone_wss::AssertionPolicy {
        methods: vec![ConfirmationMethod::HolderOfKey],
        ..accepting()
    };
    with_assertion(bound, accepted)
}

fn signed_by_proof() -> Policy {
    by_proof(Mechanism::Sign, true, None)
}

/// A message of a policy with an assertion, under this key.
fn secured(policy: &Policy, assertion: &str, key: &SymmetricKey) -> Secured {
    secure_at(policy, holding(assertion, key), PLAIN, None, moment())
}

/// The keys of a client that has an assertion and its proof key.
pub(crate) fn holding(assertion: &str, key: &SymmetricKey) -> Keys {
    let token = AssertionToken::parse(assertion.as_bytes().to_vec()).unwrap();
    Keys {
        assertion: Some(Arc::new(token.with_proof_key(key.clone()))),
        peer: client_keys().peer,
        ..Keys::default()
    }
}

fn sent(policy: &Policy, assertion: &str, key: &SymmetricKey) -> String {
    String::from_utf8(secured(policy, assertion, key).bytes).unwrap()
}

/// The keys of a service that trusts no certificate but those of issuers.
pub(crate) fn service() -> Keys {
    Keys {
        trust: None,
        ..knowing_issuers()
    }
}

fn open_proven(policy: &Policy, message: &str) -> Result<Verified<Envelope>, Rejected> {
    open_with(policy, service(), &Facts::default(), message, moment())
}

/// The policy of the answers.
fn of_answers(policy: &Policy) -> Policy {
    with(policy, |policy| policy.supporting.clear())
}

#[test]
fn the_holder_of_a_symmetric_key_signs_and_encrypts_and_is_answered_with_it() {
    let forms = [
        None,
        derived(DerivedKeyForm::Explicit),
        derived(DerivedKeyForm::Implied),
    ];
    let mechanisms = [
        Mechanism::Sign,
        Mechanism::SignEncrypt,
        Mechanism::EncryptSign,
    ];
    for version in SamlVersion::ALL {
        for mechanism in mechanisms {
            for form in forms {
                let by_place = form.is_none() || mechanism == Mechanism::SignEncrypt;
                let policy = by_proof(mechanism, by_place, form);
                let assertion = proving(version, &secret(7)).signed();
                let request = secured(&policy, &assertion, &secret(7));
                let text = String::from_utf8(request.bytes).unwrap();
                let what = format!("{version:?} {mechanism} {form:?}\n{text}");
                let hides = mechanism != Mechanism::Sign;
                assert_eq!(text.contains("<xenc:EncryptedData "), hides, "{what}");
                let verified = open_proven(&policy, &text)
                    .unwrap_or_else(|refused| panic!("{refused}: {what}"));
                let found = verified.evidence().assertion.as_ref().unwrap();
                assert_eq!(found.confirmed, Some(ConfirmationMethod::HolderOfKey));
                let signer = &verified.evidence().signatures[0].signer;
                assert!(
                    matches!(signer, Signer::Holder { issuer, subject, certificate: None } if issuer == ISSUER && subject == "alice")
                );
                let (_, receipt) = verified.finish(&mut Buffers::default());
                let answers = of_answers(&policy);
                let answer = secure_at(&answers, service(), PLAIN, Some(&receipt), moment());
                let text = String::from_utf8(answer.bytes).unwrap();
                assert!(!text.contains("saml:Assertion"), "{text}");
                let facts = Facts {
                    request: Some(request.receipt),
                    ..Facts::default()
                };
                open_with(&answers, Keys::default(), &facts, &text, moment())
                    .unwrap_or_else(|refused| panic!("{refused}: {text}"));
            }
        }
    }
}

/// Proof keys of other lengths than the suite's ciphers have: the first bytes encrypt.
#[test]
fn a_longer_proof_key_encrypts_with_its_first_bytes() {
    let policy = with(&by_proof(Mechanism::SignEncrypt, true, None), |policy| {
        policy.suite = suite("Basic128GCM");
    });
    let assertion = proving(SamlVersion::V20, &secret(7)).signed();
    let message = sent(&policy, &assertion, &secret(7));
    open_proven(&policy, &message).unwrap();
}

#[test]
fn an_assertion_in_cipher_text_of_its_own_has_a_proof_key() {
    let policy = hiding(&signed_by_proof());
    let assertion = proving(SamlVersion::V20, &secret(7)).signed();
    let message = sent(&policy, &assertion, &secret(7));
    assert!(message.contains("<saml:EncryptedAssertion ") && !message.contains("alice"));
    open_proven(&policy, &message).unwrap();
    let refused = open_proven(&policy, &sent(&policy, &assertion, &secret(8))).unwrap_err();
    assert_eq!(refused.name(), "signature-mismatch");
}

const MISMATCH: &str = "signature-mismatch";

/// Whoever has the assertion without its key has nothing.
#[test]
fn a_stolen_assertion_is_worth_nothing_without_its_proof_key() {
    let policy = signed_by_proof();
    let version = SamlVersion::V20;
    let own = Draft {
        subject: "mallory".to_owned(),
        id: "_own".to_owned(),
        ..proving(version, &secret(8))
    };
    let (stolen, own) = (proving(version, &secret(7)).signed(), own.signed());
    let written = |assertion: &str| {
        let token = AssertionToken::parse(assertion.as_bytes().to_vec()).unwrap();
        String::from_utf8(token.written_beneath("").into_owned()).unwrap()
    };
    let (stolen_written, own_written) = (written(&stolen), written(&own));
    let mut wrong = Vec::new();
    let mut refuse = |name: &str, message: &str, expected: &str| {
        let found = open_proven(&policy, message).err();
        let found = found.as_ref().map(Rejected::name);
        if found != Some(expected) {
            wrong.push(format!("{name}: {found:?}"));
        }
    };
    // Another key, one that the thief has.
    refuse("another key", &sent(&policy, &stolen, &secret(8)), MISMATCH);
    // His own message, in which the stolen assertion takes the place of his.
    let his = sent(&policy, &own, &secret(8));
    let swapped = his.replace(&own_written, &stolen_written);
    refuse("swapped, named as before", &swapped, "key-not-found");
    let renamed = swapped.replace("\"#_own\"", "\"#_assertion\"");
    refuse("swapped, and named", &renamed, MISMATCH);
    // Both of them, and the key of his.
    let both = his.replace(&own_written, &format!("{stolen_written}{own_written}"));
    refuse("both", &both, "too-many");
    let both = his.replace(&own_written, &format!("{own_written}{stolen_written}"));
    refuse("both, his in front", &both, "too-many");
    // The right key, by the name of something else.
    let right = sent(&policy, &stolen, &secret(7));
    let named = right.rfind("URI=\"#_assertion\"").unwrap();
    let time = cut(&right, "wsu:Id=\"", "-time\"").replace("wsu:Id=\"", "URI=\"#");
    let renamed = right[named..].replacen("URI=\"#_assertion\"", &time, 1);
    let renamed = format!("{}{renamed}", &right[..named]);
    refuse("named by something else", &renamed, "key-not-found");
    // His wrapped key in the stolen assertion.
    let key = |text: &str| cut(text, "<xenc:EncryptedKey ", "</xenc:EncryptedKey>").to_owned();
    let forged = stolen.replace(&key(&stolen), &key(&own));
    assert_ne!(forged, stolen);
    refuse(
        "a swapped key",
        &sent(&policy, &forged, &secret(8)),
        "digest-mismatch",
    );
    // A key for somebody else is refused as any wrong one is.
    let other = keys::identity("CN=other service", keys::RSA);
    let foreign = proving_to(version, &secret(7), &other).signed();
    refuse(
        "for another receiver",
        &sent(&policy, &foreign, &secret(7)),
        MISMATCH,
    );
    let short = proving(version, &SymmetricKey::new(vec![7; 8]).unwrap()).signed();
    let message = sent(&policy, &short, &SymmetricKey::new(vec![7; 8]).unwrap());
    refuse("a short key", &message, MISMATCH);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The key of one kind is none of another kind.
#[test]
fn a_public_key_is_no_proof_key_and_the_other_way_round() {
    let policy = signed_by_proof();
    let (version, certificate) = (SamlVersion::V20, client().certificate().clone());
    let public = Draft::holder(version, &certificate).signed();
    let misused =
        "key-misused: expected a symmetric key of the holder in the assertion, found a public one";
    let mut cases: Vec<Case> = Vec::new();
    for (name, bytes) in [
        ("the certificate as the key", certificate.der().to_vec()),
        (
            "its public key as the key",
            certificate.public_key().key_bits().to_vec(),
        ),
    ] {
        let key = SymmetricKey::new(bytes).unwrap();
        cases.push((name, sent(&policy, &public, &key), misused));
    }
    let symmetric = proving(version, &secret(7)).signed();
    let by_certificate = adjusted(&by_signature(), |accepted| {
        accepted.methods = vec![ConfirmationMethod::HolderOfKey];
    });
    let signed = super::accepted::carrying(&by_certificate, &symmetric);
    cases.push((
        "a private key for a proof key",
        signed.clone(),
        "algorithm-not-allowed: signature algorithm `http://www.w3.org/2001/04/xmldsig-more#rsa-sha256` is not allowed (allowed: hmac-sha256)",
    ));
    let (rsa15, oaep) = (KeyTransport::Rsa15, OaepParameters::default());
    let padded = wrapped_for(&PARTIES.service, &secret(7), rsa15, oaep);
    cases.push((
        "a key under RSA 1.5",
        sent(&policy, &proving_by(version, &padded).signed(), &secret(7)),
        "algorithm-not-allowed: key transport algorithm `http://www.w3.org/2001/04/xmlenc#rsa-1_5` is not allowed (allowed: rsa-oaep-mgf1p, rsa-oaep)",
    ));
    refuse_all(cases, |message| open_proven(&policy, message));
    // The other plan: certificates sign.
    let cases: Vec<Case> = vec![
        (
            "an HMAC for a private key",
            sent(&policy, &symmetric, &secret(7)),
            "algorithm-not-allowed: signature algorithm `http://www.w3.org/2000/09/xmldsig#hmac-sha256` is not allowed (allowed: rsa-sha256)",
        ),
        (
            "a proof key for a private key",
            signed,
            "key-not-found: no key found for an assertion that was not accepted",
        ),
    ];
    let mut wrong = Vec::new();
    for (name, message, expected) in cases {
        let refused = open_as(&by_certificate, &message, &Facts::default()).unwrap_err();
        let prefix = &expected[..expected.find(':').unwrap()];
        if refused.name() != prefix {
            wrong.push(format!("{name}: {refused}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What it would list, the issuer has enciphered under the key that proves: nobody asks for that.
#[test]
fn a_proof_key_that_lists_cipher_text_is_none() {
    let key = secret(1);
    let (algorithm, oaep) = transport();
    let wrapped = wrapped_for(&PARTIES.service, &key, algorithm, oaep);
    for reference in ["DataReference", "KeyReference"] {
        let end = "</xenc:EncryptedKey>";
        let list = format!(
            "<xenc:ReferenceList><xenc:{reference} URI=\"#any\"/></xenc:ReferenceList>{end}"
        );
        let listing = wrapped.replace(end, &list);
        let assertion = proving_by(SamlVersion::V20, &listing).signed();
        let message = sent(&signed_by_proof(), &assertion, &key);
        let refused = open_proven(&signed_by_proof(), &message).unwrap_err();
        let problem = "expected no list of cipher text in the key of an assertion's holder";
        let problem = problem.to_owned();
        assert_eq!(refused, Rejected::KeyMisused { problem }, "{reference}");
    }
}

/// Nobody but its issuer says whose key it is.
#[test]
fn a_proof_key_that_no_issuer_signed_is_none() {
    let vouched = Draft {
        issuer: "https://silent.example".to_owned(),
        ..proving(SamlVersion::V20, &secret(8))
    };
    let policy = adjusted(&signed_by_proof(), |accepted| {
        accepted.methods.push(ConfirmationMethod::SenderVouches);
    });
    let silent = soapstone_wss::AssertionIssuer {
        name: "https://silent.example".to_owned(),
        trust: None,
    };
    let keys = Keys {
        issuers: Arc::new([silent]),
        ..service()
    };
    let message = sent(&policy, &vouched.unsigned(), &secret(8));
    let refused = open_with(&policy, keys, &Facts::default(), &message, moment()).unwrap_err();
    assert_eq!(refused.name(), "key-not-found");
    let unsigned = sent(
        &signed_by_proof(),
        &proving(SamlVersion::V20, &secret(8)).unsigned(),
        &secret(8),
    );
    let refused = open_proven(&signed_by_proof(), &unsigned).unwrap_err();
    assert_eq!(refused, Rejected::AssertionUnsigned);
}

/// An answer is under the key of its request, and what we sent is none.
#[test]
fn an_answer_under_another_proof_key_is_refused() {
    let policy = by_proof(Mechanism::Sign, false, None);
    let version = SamlVersion::V20;
    let assertion = proving(version, &secret(7)).signed();
    let request = secured(&policy, &assertion, &secret(7));
    let text = String::from_utf8(request.bytes).unwrap();
    let answers = of_answers(&policy);
    let facts = Facts {
        request: Some(request.receipt),
        ..Facts::default()
    };
    let refused = |message: &str| {
        let refused = open_with(&answers, Keys::default(), &facts, message, moment());
        refused.unwrap_err().name()
    };
    // Sent back.
    assert_eq!(refused(&text), "element-unexpected");
    let bare = {
        let token = AssertionToken::parse(assertion.into_bytes()).unwrap();
        text.replace(std::str::from_utf8(&token.written_beneath("")).unwrap(), "")
    };
    assert_ne!(bare, text);
    let sent = facts.request.as_ref().unwrap();
    let plan = InboundPlan::compile(answers.clone(), Keys::default()).unwrap();
    let opened = plan
        .open_unmarked(envelope(&bare), &facts, moment(), &mut Buffers::default())
        .unwrap();
    // What tells it from an answer is what its sender remembers of it.
    let is_sent = |key| sent.marks.iter().any(|mark| mark.key == key);
    assert!(opened.marks().iter().any(|mark| is_sent(mark.key)));
    // Of another assertion.
    let other = Draft {
        id: "_other".to_owned(),
        ..proving(version, &secret(8))
    };
    let message = self::sent(&policy, &other.signed(), &secret(8));
    let verified = open_proven(&policy, &message).unwrap();
    let (_, receipt) = verified.finish(&mut Buffers::default());
    let answer = secure_at(&answers, service(), PLAIN, Some(&receipt), moment());
    let answer = String::from_utf8(answer.bytes).unwrap();
    assert_eq!(refused(&answer), "key-not-found");
    assert_eq!(
        refused(&answer.replace(">_other<", ">_assertion<")),
        MISMATCH
    );
}

/// A session key of the sender's own takes no part.
#[test]
fn a_session_key_beside_a_proof_key_is_refused() {
    let policy = signed_by_proof();
    let assertion = proving(SamlVersion::V20, &secret(7)).signed();
    let message = sent(&policy, &assertion, &secret(7));
    let (algorithm, oaep) = transport();
    let own = wrapped_for(&PARTIES.service, &secret(8), algorithm, oaep);
    let beside = message.replacen("<ds:Signature ", &format!("{own}<ds:Signature "), 1);
    // The first one stands in the issuer's own signature, inside of the assertion.
    let beside = match beside.find(&own) < beside.find("</saml:Assertion>") {
        true => message.replacen("</saml:Assertion>", &format!("</saml:Assertion>{own}"), 1),
        false => beside,
    };
    let refused = open_proven(&policy, &beside).unwrap_err();
    assert_eq!(refused.name(), "element-unexpected");
}

#[test]
fn what_does_not_go_with_a_proof_key_is_no_plan() {
    let hidden_key = "the key inside of an assertion that is encrypted deciphers nothing: its signature could not be verified before";
    let encrypts = by_proof(Mechanism::SignEncrypt, true, None);
    let encrypted = with(&encrypts, |policy| {
        let assertion = EncryptedPart::customary(Part::Assertion);
        policy.parts.encrypted.push(assertion);
    });
    let bearers = adjusted(&signed_by_proof(), |accepted| {
        accepted.methods = vec![ConfirmationMethod::Bearer];
    });
    let unsigned = with(&encrypts, |policy| policy.parts.signed.clear());
    for (policy, expected) in [
        (hiding(&encrypts), hidden_key),
        (encrypted, hidden_key),
        (
            bearers,
            "messages are protected with the key of an assertion's holder, and holder-of-key is not accepted",
        ),
        (
            unsigned,
            "the symmetric key of an assertion's holder encrypts for somebody whom a signature with it proves",
        ),
    ] {
        let problems = InboundPlan::compile(policy, service()).unwrap_err();
        let expected = PlanProblem::Combination { problem: expected };
        assert!(problems.contains(&expected), "{problems:?}");
    }
    let without = Keys {
        identity: None,
        decryption: Vec::new(),
        ..service()
    };
    let problems = InboundPlan::compile(signed_by_proof(), without).unwrap_err();
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        ["our private key is needed to unwrap the keys of assertions"]
    );
    assert_eq!(signed_by_proof().signs_with(), Some(KeyBinding::Assertion));
}
