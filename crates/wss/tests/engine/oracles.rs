//! Decryption oracles (Jager and Somorovsky, How to Break XML Encryption, 2011; CVE-2011-1096):
//! somebody has a captured message and no key, and asks whether what he made of its cipher text
//! could be read.
//!
//! What is compared is what the engine does, not how long it takes: the steps, the store's
//! questions, what peer and metrics are told. They are the same whether the cipher text was
//! readable or not, in each combination of mechanism, cipher and key establishment.

use std::collections::{HashMap, HashSet};

use soapstone_crypto::random::Supply;
use soapstone_crypto::{KeyKind, base64, seal_in_place};
use soapstone_wss::{
    ConversationVersion, DerivedKeyForm, EncryptedPart, Envelope, Facts, FaultCode, FirstSeen,
    InboundPlan, KeyBinding, KeyReference, Keys, Mechanism, Operation, OperationObserver, Part,
    Policy, ProtectionOrder, Receipt, Rejected, SamlVersion, SecurityContext, names,
};
use soapstone_xml::{Buffers, Limits};

use crate::conversations::{bound, context, conversation, derived, knowing, text, within};
use crate::derivations::cut;
use crate::saml::hidden::{Sealed, hiding};
use crate::saml::issuing::{self, Draft, by_connection, knowing_issuers};
use crate::saml::proof::{self, by_proof, holding, proving, secret};
use crate::support::*;

/// A receiver, and what its replay store holds.
struct Receiver {
    plan: InboundPlan,
    facts: Facts,
    seen: HashSet<[u8; 32]>,
    failures: HashMap<[u8; 32], u32>,
}

/// What a stranger could see of the work on one message, if he saw all of it but the plaintext.
#[derive(Debug, PartialEq, Eq)]
struct Trace {
    operations: Vec<Operation>,
    /// Questions to the store.
    asked: u32,
    /// Name and fault of the refusal.
    told: Option<(&'static str, FaultCode)>,
}

#[derive(Default)]
struct Steps(Vec<Operation>);

impl OperationObserver for Steps {
    fn ended(&mut self, operation: Operation) {
        self.0.push(operation);
    }
}

impl Receiver {
    fn new(policy: &Policy, keys: Keys, facts: Facts) -> Self {
        Self {
            plan: InboundPlan::compile(policy.clone(), keys).unwrap(),
            facts,
            seen: HashSet::new(),
            failures: HashMap::new(),
        }
    }

    fn receive(&mut self, message: &str) -> Trace {
        let (mut steps, mut asked) = (Steps::default(), 0);
        let refused = self.open(message, &mut steps, &mut asked).err();
        Trace {
            operations: steps.0,
            asked,
            told: refused.map(|rejected| (rejected.name(), rejected.fault())),
        }
    }

    fn open(
        &mut self,
        message: &str,
        steps: &mut Steps,
        asked: &mut u32,
    ) -> Result<Receipt, Rejected> {
        let mut buffers = Buffers::default();
        let octets = message.as_bytes().to_vec();
        let envelope = Envelope::parse(octets, &Limits::default(), &mut buffers)?;
        let message = self
            .plan
            .authenticate(envelope, &self.facts, now(), &mut buffers, steps)?;
        *asked += 1;
        if message
            .marks()
            .iter()
            .any(|mark| self.seen.contains(&mark.key))
        {
            return Err(Rejected::Replayed);
        }
        self.seen
            .extend(message.marks().iter().map(|mark| mark.key));
        let keys = message.deciphering_keys().to_vec();
        for key in &keys {
            let tries = self.failures.get(&key.name).copied().unwrap_or_default();
            if tries >= key.most_failures {
                return Err(Rejected::KeyTriedTooOften { tries });
            }
        }
        let first_seen = FirstSeen::assertion(message.marks());
        let opened = message.open(&first_seen, &mut buffers).inspect_err(|_| {
            for key in &keys {
                *self.failures.entry(key.name).or_default() += 1;
            }
        })?;
        let late = FirstSeen::assertion(opened.late_marks());
        let verified = opened.admit(late)?;
        Ok(verified.finish(&mut buffers).1)
    }
}

/// The message with a bit of its last cipher text changed: of the first block, so that the
/// plaintext begins otherwise.
fn unreadable(message: &str) -> String {
    let last = message.rfind("<xenc:CipherValue>").unwrap() + "<xenc:CipherValue>".len();
    // Behind the initialization vector.
    let at = last + 32;
    let other = if &message[at..=at] == "A" { "B" } else { "A" };
    format!("{}{other}{}", &message[..at], &message[at + 1..])
}

/// The message with another initialization vector: under CBC the plaintext may begin otherwise and
/// is readable to its end.
fn changed_otherwise(message: &str) -> String {
    let at = message.rfind("<xenc:CipherValue>").unwrap() + "<xenc:CipherValue>".len();
    let other = if &message[at..=at] == "A" { "B" } else { "A" };
    format!("{}{other}{}", &message[..at], &message[at + 1..])
}

/// Suites of every kind of cipher and of key establishment.
const SUITES: [&str; 9] = [
    "Basic256",
    "Basic128",
    "TripleDes",
    "Basic256Rsa15",
    "Basic128Rsa15",
    "TripleDesRsa15",
    "Basic128GCM",
    "Basic256GCM",
    "Basic128GCMEcdhEs",
];

/// What a stranger makes of a captured message, without any key.
fn variants(captured: &str) -> Vec<(&'static str, String)> {
    let spaces = " ".repeat(60_000);
    let heavier = captured.replace("<soap:Header>", &format!("<soap:Header>{spaces}"));
    let mut variants = vec![("as it was", captured.to_owned()), ("heavier", heavier)];
    if captured.contains("<ds:Signature ") {
        let signature = cut(captured, "<ds:Signature ", "</ds:Signature>");
        variants.push(("without its signature", captured.replace(signature, "")));
        let quotes = "&#x22;".repeat(5_000);
        let info = "<ds:SignedInfo>";
        let work = format!("{info}<!--{quotes}-->");
        variants.push(("with work in its signature", captured.replace(info, &work)));
    }
    // One inside of an assertion has no id.
    let keys = captured.contains("<xenc:EncryptedKey ");
    let key = keys.then(|| cut(captured, "<xenc:EncryptedKey ", "</xenc:EncryptedKey>"));
    if let Some(key) = key.filter(|key| key.contains(" Id=\"")) {
        let id = cut(key, "Id=\"", "\"");
        let second = key.replace(id, "Id=\"second\"");
        let both = captured.replace(key, &format!("{key}{second}"));
        variants.push(("with a second key", both));
    }
    variants
}

#[track_caller]
fn no_try(what: &str, mut receiver: Receiver, captured: &str) {
    let accepted = receiver.receive(captured);
    assert_eq!(accepted.told, None, "{what}");
    for (variant, readable) in variants(captured) {
        let unreadable = unreadable(&readable);
        assert_ne!(unreadable, readable);
        // Where cipher text is what is signed, every change shows before anything is deciphered.
        let readable = match receiver.plan.policy().order() {
            ProtectionOrder::EncryptBeforeSigning => changed_otherwise(&readable),
            ProtectionOrder::SignBeforeEncrypting => readable,
        };
        for round in 0..5 {
            let one = receiver.receive(&readable);
            let other = receiver.receive(&unreadable);
            assert_eq!(one, other, "{what}, {variant}, round {round}");
            assert!(one.told.is_some(), "{what}, {variant}: accepted");
            let deciphers = one.operations.contains(&Operation::Encryption);
            assert!(!deciphers, "{what}, {variant}: deciphered");
        }
    }
}

#[test]
fn a_captured_request_gives_no_try_at_its_cipher_text() {
    for mechanism in [
        Mechanism::Encrypt,
        Mechanism::SignEncrypt,
        Mechanism::EncryptSign,
    ] {
        for suite in SUITES {
            let policy = policy(mechanism, suite);
            let captured = secure(&policy, PLAIN);
            let keys = service_keys_for(&policy);
            let what = format!("{mechanism} {suite}");
            no_try(&what, Receiver::new(&policy, keys, facts()), &captured);
        }
    }
}

#[test]
fn a_captured_request_of_a_symmetric_binding_gives_no_try_at_its_cipher_text() {
    let version = ConversationVersion::V13;
    for mechanism in [Mechanism::SignEncrypt, Mechanism::EncryptSign] {
        for suite in ["Basic256", "TripleDes", "Basic128Rsa15", "Basic256GCM"] {
            let reference = KeyReference::Thumbprint;
            let by_session_key = bound(mechanism, suite, KeyBinding::SessionKey, reference);
            let by_derived_keys = with(&by_session_key, |policy| {
                policy.set_derived_keys(derived(version, DerivedKeyForm::Explicit));
            });
            let shared = with_shared_key(policy(mechanism, suite));
            let fits = suite.starts_with("Basic256");
            let policies = [by_session_key, by_derived_keys].into_iter();
            for policy in policies.chain(fits.then_some(shared)) {
                let captured = text(&secure_with(&policy, client_keys(), PLAIN, None));
                let receiver = Receiver::new(&policy, service_keys(), facts());
                no_try(&format!("{mechanism} {suite}"), receiver, &captured);
            }
        }
    }
}

#[test]
fn a_captured_message_of_a_conversation_gives_no_try_at_its_cipher_text() {
    for version in ConversationVersion::ALL {
        let context = context(version);
        let policy = conversation(version);
        let captured = text(&within(&policy, &context));
        let receiver = Receiver::new(&policy, service_keys(), knowing(&[&context]));
        no_try("conversation", receiver, &captured);
    }
}

/// The other direction: somebody on the way answers in the service's place.
#[test]
fn a_captured_answer_gives_no_try_at_its_cipher_text() {
    for mechanism in [Mechanism::SignEncrypt, Mechanism::EncryptSign] {
        for suite in ["Basic256", "TripleDes", "Basic128Rsa15", "Basic256GCM"] {
            let policy = policy(mechanism, suite);
            let request = secure_with(&policy, client_keys(), PLAIN, None);
            let mut service = Receiver::new(&policy, service_keys(), facts());
            let octets = text(&request);
            let receipt = service
                .open(&octets, &mut Steps::default(), &mut 0)
                .unwrap();
            let answer = secure_with(&policy, service_keys(), PLAIN, Some(&receipt));
            let facts = Facts {
                request: Some(request.receipt),
                ..facts()
            };
            let client = Receiver::new(&policy, client_keys(), facts);
            no_try(
                &format!("answer, {mechanism} {suite}"),
                client,
                &text(&answer),
            );
        }
    }
}

/// The signature itself is encrypted, so that it cannot be verified first: the wrapped key is what
/// a copy is known by.
#[test]
fn a_captured_message_with_an_encrypted_signature_gives_no_try_at_its_cipher_text() {
    for suite in ["Basic256", "TripleDes", "Basic128Rsa15", "Basic256GCM"] {
        let policy = encrypting_signature(suite);
        let captured = secure(&policy, PLAIN);
        assert!(!captured.contains("<ds:SignatureValue>"));
        let receiver = Receiver::new(&policy, service_keys(), facts());
        no_try(
            &format!("encrypted signature, {suite}"),
            receiver,
            &captured,
        );
    }
}

/// Under a key that many messages share, and without a signature, cipher text is all that a copy is
/// known by. One that a stranger changed is tried once.
#[test]
fn a_copy_of_what_is_only_encrypted_under_a_shared_key_is_not_deciphered() {
    for suite in ["Basic256", "Basic256GCM"] {
        let policy = with_shared_key(policy(Mechanism::Encrypt, suite));
        let captured = text(&secure_with(&policy, client_keys(), PLAIN, None));
        let list = cut(&captured, "<xenc:ReferenceList", "</xenc:ReferenceList>");
        let twice = captured.replace(list, &format!("{list}{list}"));
        let reference = cut(list, "<xenc:DataReference", ">");
        let more = format!("<xenc:DataReference URI=\"#nothing\"></xenc:DataReference>{reference}");
        let beside_nothing = captured.replace(reference, &more);
        let mut receiver = Receiver::new(&policy, service_keys(), facts());
        let first = receiver.receive(&captured);
        assert_eq!(first.told, None, "{suite}");
        let mut copies = variants(&captured);
        copies.push(("with its list twice", twice));
        copies.push(("with a reference to nothing", beside_nothing));
        for (variant, copy) in copies {
            let trace = receiver.receive(&copy);
            let told = Some(("replayed", FaultCode::FailedAuthentication));
            assert_eq!(trace.told, told, "{suite}, {variant}");
            let deciphers = trace.operations.contains(&Operation::Encryption);
            assert!(!deciphers, "{suite}, {variant}: deciphered");
        }
        let changed = unreadable(&captured);
        let tried = receiver.receive(&changed).told.map(|told| told.0);
        assert_eq!(tried, Some("decryption-failed"), "{suite}");
        let again = receiver.receive(&changed).told.map(|told| told.0);
        assert_eq!(again, Some("replayed"), "{suite}");
    }
}

/// In a conversation whose signatures are encrypted no key of the message is its own. The tries of
/// strangers end the context for them.
#[test]
fn tries_in_a_conversation_with_encrypted_signatures_are_counted() {
    let version = ConversationVersion::V13;
    let context = context(version);
    let mut policy = conversation(version);
    let signature = EncryptedPart::customary(Part::Signature);
    policy.parts.encrypted.push(signature);
    let captured = text(&within(&policy, &context));
    let mut receiver = Receiver::new(&policy, service_keys(), knowing(&[&context]));
    assert_eq!(receiver.receive(&captured).told, None);
    let changed = unreadable(&captured);
    let tried = |receiver: &mut Receiver| {
        let told = receiver.receive(&changed).told;
        told.expect("it is refused").0
    };
    let most = policy.limits.failed_openings_of_context;
    for _ in 0..most {
        assert_eq!(tried(&mut receiver), "decryption-failed");
    }
    assert_eq!(tried(&mut receiver), "key-tried-too-often");
    // Another context of the same parties goes on.
    let another = SecurityContext {
        identifier: "urn:another".to_owned(),
        ..context
    };
    receiver.facts = knowing(&[&another]);
    let message = text(&within(&policy, &another));
    assert_eq!(receiver.receive(&message).told, None);
}

/// A partner signs messages of his own around a key that he captured: he has few tries, whatever he
/// signs.
#[test]
fn a_partner_has_three_tries_at_a_key_that_he_captured() {
    for suite in ["Basic256", "TripleDes", "Basic128Rsa15", "Basic256GCM"] {
        let policy = policy(Mechanism::SignEncrypt, suite);
        let captured = secure(&policy, PLAIN);
        let key = cut(&captured, "<xenc:EncryptedKey ", "</xenc:EncryptedKey>");
        let partner = identity("CN=mallory", KeyKind::Rsa { bits: 2048 });
        let keys = Keys {
            identity: Some(partner),
            ..client_keys()
        };
        let mut receiver = Receiver::new(&policy, service_keys(), facts());
        assert_eq!(receiver.receive(&captured).told, None);
        let mut told = Vec::new();
        for _ in 0..5 {
            // His message, in which the key is the captured one, and names his cipher text.
            let own = text(&secure_with(&policy, keys.clone(), PLAIN, None));
            let own_key = cut(&own, "<xenc:EncryptedKey ", "</xenc:EncryptedKey>");
            let list =
                |key: &str| cut(key, "<xenc:ReferenceList>", "</xenc:ReferenceList>").to_owned();
            let around = own.replace(own_key, &key.replace(&list(key), &list(own_key)));
            told.push(receiver.receive(&around).told.expect("it is refused").0);
        }
        let failed = ["decryption-failed"; 3];
        assert_eq!(told[..3], failed, "{suite}");
        assert_eq!(told[3..], ["key-tried-too-often"; 2], "{suite}");
    }
}

/// A captured key inside of cipher text of the attacker's own would be counted nowhere.
#[test]
fn a_wrapped_key_that_cipher_text_brings_is_refused() {
    let policy = encrypting_signature("Basic256GCM");
    let captured = secure(&policy, PLAIN);
    let key = cut(&captured, "<xenc:EncryptedKey ", "</xenc:EncryptedKey>");
    // The attacker's own message: in the place of the signature, its cipher text has the captured
    // key.
    let own = secure_with(&policy, client_keys(), PLAIN, None);
    let algorithm = policy.suite.data[0];
    let mut cipher = vec![0; algorithm.iv_length()];
    let (tag, mut inner) = (&key[..key.find('>').unwrap()], key.to_owned());
    for (prefix, namespace) in [
        ("xenc", names::XENC),
        ("ds", names::DS),
        ("wsse", names::WSSE),
    ] {
        let declaration = format!(" xmlns:{prefix}=\"{namespace}\"");
        if !tag.contains(&declaration) {
            inner.insert_str("<xenc:EncryptedKey".len(), &declaration);
        }
    }
    cipher.extend_from_slice(inner.as_bytes());
    let key = &own.receipt.session_keys[0].1;
    seal_in_place(algorithm, key, &mut cipher, 0, &mut Supply::default()).unwrap();
    let own = text(&own);
    let header = &own[..own.find("</wsse:Security>").unwrap()];
    let start = header.rfind("<xenc:CipherValue>").unwrap() + "<xenc:CipherValue>".len();
    let end = start + own[start..].find('<').unwrap();
    let hiding = format!(
        "{}{}{}",
        &own[..start],
        base64::encode(&cipher),
        &own[end..]
    );
    let refused = open(&policy, &hiding).unwrap_err();
    let expected = Rejected::ElementUnexpected {
        element: "{http://www.w3.org/2001/04/xmlenc#}EncryptedKey".to_owned(),
    };
    assert_eq!(refused, expected);
}

/// Sign, then encrypt Body and signature.
fn encrypting_signature(suite: &str) -> Policy {
    let mut policy = policy(Mechanism::SignEncrypt, suite);
    let signature = EncryptedPart::customary(Part::Signature);
    policy.parts.encrypted.push(signature);
    policy
}

/// An assertion in cipher text of its own comes in many messages of its user, so that no mark tells
/// a copy of it. Whoever has captured it has three tries, and learns the same from each of them:
/// whether its key can be unwrapped (Bleichenbacher 1998), its padding is right (Vaudenay 2002),
/// its plaintext is XML, and its issuer signed it, or not.
#[test]
fn tries_at_the_cipher_text_of_an_assertion_are_counted_and_all_alike() {
    for suite in ["Basic256GCM", "Basic256", "Basic256Rsa15"] {
        let policy = with(&hiding(&by_connection()), |policy| {
            policy.suite = crate::support::suite(suite);
        });
        let assertion = Draft::bearer(SamlVersion::V20).signed();
        let captured = issuing::message(&Sealed::by_suite(&assertion, suite).inline());
        let mut receiver = Receiver::new(&policy, knowing_issuers(), Facts::default());
        for _ in 0..5 {
            assert_eq!(receiver.receive(&captured).told, None, "{suite}");
        }
        let unsigned = Draft::bearer(SamlVersion::V20).unsigned();
        let unsigned = issuing::message(&Sealed::by_suite(&unsigned, suite).inline());
        let key = captured.find("<xenc:CipherValue>").unwrap() + "<xenc:CipherValue>".len();
        let other = if &captured[key..=key] == "A" {
            "B"
        } else {
            "A"
        };
        let changed_key = format!("{}{other}{}", &captured[..key], &captured[key + 1..]);
        let faults: HashSet<_> = [
            unreadable(&captured),
            changed_otherwise(&captured),
            changed_key,
            unsigned,
        ]
        .iter()
        .map(|message| receiver.receive(message).told.map(|told| told.1))
        .collect();
        assert_eq!(
            faults,
            HashSet::from([Some(FaultCode::FailedCheck)]),
            "{suite}"
        );
        let told: Vec<_> = (0..3)
            .filter_map(|_| receiver.receive(&unreadable(&captured)).told)
            .map(|told| told.0)
            .collect();
        let too_often = "key-tried-too-often";
        assert_eq!(told, ["decryption-failed", too_often, too_often], "{suite}");
        assert_eq!(
            receiver.receive(&captured).told.map(|told| told.0),
            Some(too_often)
        );
    }
}

/// The signature with a proof key is verified, and a copy known, before the key deciphers anything.
#[test]
fn a_captured_message_under_a_proof_key_gives_no_try_at_its_cipher_text() {
    let assertion = proving(SamlVersion::V20, &secret(7)).signed();
    for mechanism in [Mechanism::SignEncrypt, Mechanism::EncryptSign] {
        for form in [None, proof::derived(DerivedKeyForm::Explicit)] {
            let policy = by_proof(mechanism, true, form);
            let keys = holding(&assertion, &secret(7));
            let captured = text(&secure_with(&policy, keys, PLAIN, None));
            let receiver = Receiver::new(&policy, proof::service(), Facts::default());
            no_try(&format!("proof key, {mechanism}"), receiver, &captured);
        }
    }
}

/// Where the signature itself is in cipher text, tries are counted by the proof key.
#[test]
fn tries_under_a_proof_key_with_encrypted_signatures_are_counted() {
    let mut policy = by_proof(Mechanism::SignEncrypt, true, None);
    let signature = EncryptedPart::customary(Part::Signature);
    policy.parts.encrypted.push(signature);
    let assertion = proving(SamlVersion::V20, &secret(7)).signed();
    let sent = || {
        let keys = holding(&assertion, &secret(7));
        text(&secure_with(&policy, keys, PLAIN, None))
    };
    let mut receiver = Receiver::new(&policy, proof::service(), Facts::default());
    assert_eq!(receiver.receive(&sent()).told, None);
    let changed = unreadable(&sent());
    let tried = |receiver: &mut Receiver| {
        let told = receiver.receive(&changed).told;
        told.expect("it is refused").0
    };
    for _ in 0..policy.limits.failed_openings_of_context {
        assert_eq!(tried(&mut receiver), "decryption-failed");
    }
    assert_eq!(tried(&mut receiver), "key-tried-too-often");
}
