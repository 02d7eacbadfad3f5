//! The events of opening: what a listener hears, and that a verdict does not hang on one.

use soapstone_wss::{
    Demand, Envelope, Event, FirstSeen, InboundPlan, KeyReference, Mechanism, Operation,
    OperationObserver, Part, Policy, Rejected, Signer,
};
use soapstone_xml::{Buffers, Limits};
use soapstone_xmlsec::dsig::SignatureError;

use crate::derivations::cut;
use crate::support::*;

/// Writes down what it hears.
#[derive(Default)]
struct Listener {
    operations: Vec<Operation>,
    heard: Vec<String>,
}

fn outcome(refused: Option<&Rejected>) -> &'static str {
    refused.map_or("met", Rejected::name)
}

impl OperationObserver for Listener {
    fn ended(&mut self, operation: Operation) {
        self.operations.push(operation);
    }

    fn listens(&self) -> bool {
        true
    }

    fn found(&mut self, envelope: &Envelope, event: Event<'_>) {
        let local = |node| envelope.document().element(node).local().to_owned();
        self.heard.push(match event {
            Event::KeyFound { user, holder, .. } => {
                let holder = match holder {
                    Signer::Certificate(certificate) => certificate.subject().to_owned(),
                    other => format!("{other:?}"),
                };
                format!("key of {}: {holder}", local(user))
            }
            Event::Trust { refused, .. } => format!("trusted: {}", refused.is_none()),
            Event::SignatureValue {
                signed_info,
                refused,
                ..
            } => {
                assert!(signed_info.starts_with(b"<ds:SignedInfo "));
                assert!(signed_info.ends_with(b"</ds:SignedInfo>"));
                format!("value verified: {}", refused.is_none())
            }
            Event::Reference {
                reference,
                target,
                canonical,
                computed,
                refused,
            } => {
                let Some((canonical, computed)) = canonical.zip(computed) else {
                    return self.heard.push(format!("lost: {}", outcome(refused)));
                };
                let digest = soapstone_crypto::digest(reference.digest_method, canonical).unwrap();
                assert_eq!(digest.as_ref(), computed.as_ref());
                let is_same = computed.as_ref() == reference.digest_value.as_ref();
                assert_eq!(is_same, refused.is_none());
                format!("{}: {}", local(target.unwrap()), outcome(refused))
            }
            Event::WrappedKey { recipient, .. } => {
                format!("key wrapped to {}", recipient.subject())
            }
            Event::Decryption {
                plaintext, refused, ..
            } => {
                let names: Vec<String> = plaintext.iter().map(|node| local(*node)).collect();
                format!("deciphered {}: {}", names.concat(), outcome(refused))
            }
            Event::Demand {
                demand,
                refused,
                unjudged_for,
            } => {
                let demand = match demand {
                    Demand::Signed(part) => format!("{part} signed"),
                    Demand::Encrypted(wanted) => format!("{} encrypted", wanted.part),
                    other => format!("{other:?}"),
                };
                match unjudged_for {
                    Some(item) => format!("{demand}: not judged for {}", local(item)),
                    None => format!("{demand}: {}", outcome(refused)),
                }
            }
            other => panic!("expected an event that is known, found {other:?}"),
        });
    }
}

fn opened(
    policy: &Policy,
    message: &str,
    observer: &mut dyn OperationObserver,
) -> Result<(), Rejected> {
    let plan = InboundPlan::compile(policy.clone(), service_keys_for(policy)).unwrap();
    let (facts, mut buffers) = (facts(), Buffers::default());
    let bytes = message.as_bytes().to_vec();
    let envelope = Envelope::parse(bytes, &Limits::default(), &mut buffers)?;
    let authentic = plan.authenticate(envelope, &facts, now(), &mut buffers, observer)?;
    let first_seen = FirstSeen::assertion(authentic.marks());
    authentic.open(&first_seen, &mut buffers).map(|_| ())
}

/// What a listener hears of a message, and the verdict.
fn heard(policy: &Policy, message: &str) -> (Vec<String>, Result<(), Rejected>) {
    let mut listener = Listener::default();
    let verdict = opened(policy, message, &mut listener);
    (listener.heard, verdict)
}

/// What the explanation of a message is, and the verdict.
fn explained(policy: &Policy, message: &str) -> (Vec<String>, Result<(), Rejected>) {
    let plan = InboundPlan::compile(policy.clone(), service_keys_for(policy)).unwrap();
    let (mut listener, mut buffers) = (Listener::default(), Buffers::default());
    let bytes = message.as_bytes().to_vec();
    let verdict = match Envelope::parse(bytes, &Limits::default(), &mut buffers) {
        Ok(envelope) => plan
            .explain(envelope, &facts(), now(), &mut buffers, &mut listener)
            .map(|_| ()),
        Err(error) => Err(error.into()),
    };
    (listener.heard, verdict)
}

fn sign_encrypt() -> Policy {
    policy(Mechanism::SignEncrypt, "Basic256Sha256")
}

#[test]
fn a_listener_hears_of_keys_digests_plaintext_and_demands() {
    let (heard, verdict) = heard(&sign_encrypt(), &secure(&sign_encrypt(), PLAIN));
    assert_eq!(verdict, Ok(()));
    let expected = [
        "key wrapped to CN=service",
        "key of Signature: CN=client",
        "trusted: true",
        "value verified: true",
        "Timestamp: met",
        "deciphered echo: met",
        "Body: met",
        "EncryptedHeaders: met",
        "Timestamp: met",
        "Signature: met",
        "Timestamp signed: met",
        "Body signed: met",
        "Body encrypted: met",
        "Order: met",
        "Layout: met",
        "Places: met",
        "HeaderBlocks: met",
    ];
    for one in expected {
        assert!(heard.iter().any(|it| it == one), "{one}: {heard:#?}");
    }
    let place = |one: &str| heard.iter().position(|it| it == one).unwrap();
    assert!(place("value verified: true") < place("deciphered echo: met"));
    assert!(place("deciphered echo: met") < place("Body signed: met"));
}

#[test]
fn every_part_that_was_changed_is_told_and_the_first_one_is_the_verdict() {
    let policy = with(&policy(Mechanism::Sign, "Basic256Sha256"), |policy| {
        policy.parts.signed.push(Part::Header {
            namespace: "http://www.w3.org/2005/08/addressing".to_owned(),
            local: "To".to_owned(),
        });
    });
    let message = secure(&policy, PLAIN)
        .replace("mehr", "weniger")
        .replace("urn:service", "urn:other");
    let (heard, verdict) = explained(&policy, &message);
    let failed: Vec<&String> = heard
        .iter()
        .filter(|one| one.ends_with(": digest-mismatch"))
        .collect();
    assert_eq!(failed.len(), 2, "{heard:#?}");
    let refused = verdict.unwrap_err();
    let is_mismatch = matches!(
        refused.cause(),
        Rejected::Signature(SignatureError::DigestMismatch { .. })
    );
    assert!(is_mismatch, "{refused}");
    assert_eq!(opened(&policy, &message, &mut ()), Err(refused));
}

#[test]
fn every_demand_that_is_not_met_is_told() {
    let demanding = with(&sign_encrypt(), |policy| {
        for local in ["To", "Action"] {
            policy.parts.signed.push(Part::Header {
                namespace: "http://www.w3.org/2005/08/addressing".to_owned(),
                local: local.to_owned(),
            });
        }
    });
    let message = secure(&sign_encrypt(), PLAIN);
    let (heard, verdict) = explained(&demanding, &message);
    let unmet: Vec<&str> = heard
        .iter()
        .filter_map(|one| one.strip_suffix(" signed: unsigned"))
        .collect();
    assert_eq!(unmet.len(), 2, "{heard:#?}");
    assert_eq!(opened(&demanding, &message, &mut ()), verdict);
    assert!(verdict.is_err_and(|refused| refused.cause().name() == "unsigned"));
}

#[test]
fn a_certificate_that_is_not_trusted_is_told_with_its_key() {
    let keys = soapstone_wss::Keys {
        identity: Some(std::sync::Arc::clone(&PARTIES.stranger)),
        ..client_keys()
    };
    let sign = policy(Mechanism::Sign, "Basic256Sha256");
    let message = String::from_utf8(secure_with(&sign, keys, PLAIN, None).bytes).unwrap();
    let (heard, verdict) = heard(&sign, &message);
    assert_eq!(heard, ["key of Signature: CN=client", "trusted: false"]);
    assert_eq!(verdict.unwrap_err().name(), "untrusted");
}

#[test]
fn an_explanation_goes_on_after_a_signature_that_does_not_verify() {
    let message = secure(&sign_encrypt(), PLAIN);
    let value = cut(&message, "<ds:SignatureValue>", "</ds:SignatureValue>");
    let at = "<ds:SignatureValue>".len();
    let other = if &value[at..=at] == "A" { "B" } else { "A" };
    let changed = [&value[..at], other, &value[at + 1..]].concat();
    let (heard, verdict) = explained(&sign_encrypt(), &message.replace(value, &changed));
    let expected = [
        "value verified: false",
        "deciphered echo: met",
        "Signature: not judged for Signature",
        "Body signed: not judged for Signature",
        "Body encrypted: not judged for Signature",
        "Order: not judged for Signature",
        "Places: not judged for Signature",
    ];
    for one in expected {
        assert!(heard.iter().any(|it| it == one), "{one}: {heard:#?}");
    }
    assert_eq!(verdict.unwrap_err().name(), "signature-mismatch");
}

#[test]
fn an_explanation_judges_no_demand_that_rests_on_cipher_text_nobody_could_decipher() {
    let message = secure(&sign_encrypt(), PLAIN);
    let value = cut(&message, "<xenc:CipherValue>", "</xenc:CipherValue>");
    let at = "<xenc:CipherValue>".len();
    let other = if &value[at..=at] == "A" { "B" } else { "A" };
    let changed = [&value[..at], other, &value[at + 1..]].concat();
    let (heard, verdict) = explained(&sign_encrypt(), &message.replacen(value, &changed, 1));
    let expected = [
        "Timestamp: met",
        "Body encrypted: not judged for EncryptedKey",
        "Body signed: not judged for Signature",
    ];
    for one in expected {
        assert!(heard.iter().any(|it| it == one), "{one}: {heard:#?}");
    }
    assert_eq!(verdict.unwrap_err().name(), "decryption-failed");
}

#[test]
fn an_explanation_judges_what_a_message_lacks() {
    // Nothing was refused before: the Signature is not there, and nothing was encrypted.
    let message = secure(&policy(Mechanism::Sign, "Basic256Sha256"), PLAIN);
    let (heard, _) = explained(&sign_encrypt(), &message);
    let expected = ["Body signed: met", "Body encrypted: unencrypted"];
    for one in expected {
        assert!(heard.iter().any(|it| it == one), "{one}: {heard:#?}");
    }
    let signature = cut(&message, "<ds:Signature ", "</ds:Signature>");
    let (heard, _) = explained(&sign_encrypt(), &message.replace(signature, ""));
    let expected = [
        "Signature: signature-missing",
        "Body signed: unsigned",
        "Body encrypted: unencrypted",
    ];
    for one in expected {
        assert!(heard.iter().any(|it| it == one), "{one}: {heard:#?}");
    }
}

/// What a listener is told costs work, and must cost nothing else. An explanation ends with the
/// verdict of the opening.
#[test]
fn a_listener_changes_no_verdict_and_no_operation() {
    let mut policies = vec![sign_encrypt()];
    for mechanism in [Mechanism::Username, Mechanism::Sign, Mechanism::EncryptSign] {
        policies.push(policy(mechanism, "Basic256Sha256"));
    }
    policies.push(with(&sign_encrypt(), |policy| {
        policy.name_signing_key(KeyReference::Embedded);
    }));
    for policy in policies {
        let message = secure(&policy, PLAIN);
        let header = cut(&message, "<wsse:Security ", "</wsse:Security>");
        let pieces = header.match_indices('<').map(|(at, _)| at);
        let mut changed = vec![message.clone()];
        // A start tag at a time has another name, or another value of an attribute.
        for at in pieces.filter(|at| !header[*at..].starts_with("</")) {
            let end = at + header[at..].find('>').unwrap();
            let (tag, other) = (&header[at..=end], header[at..=end].replacen(":", ":x", 1));
            changed.push(message.replacen(tag, &other, 1));
            let other = tag.replacen("=\"", "=\"x", 1);
            changed.push(message.replacen(tag, &other, 1));
        }
        for message in changed {
            struct Silent(Vec<Operation>);
            impl OperationObserver for Silent {
                fn ended(&mut self, operation: Operation) {
                    self.0.push(operation);
                }
            }
            let (mut listener, mut silent) = (Listener::default(), Silent(Vec::new()));
            let with = opened(&policy, &message, &mut listener);
            let without = opened(&policy, &message, &mut silent);
            let name = |verdict: &Result<(), Rejected>| verdict.clone().map_err(|it| it.name());
            assert_eq!(name(&with), name(&without), "{message}");
            let (_, explained) = explained(&policy, &message);
            assert_eq!(explained, without, "{message}");
            if with.is_ok() {
                assert_eq!(listener.operations, silent.0, "{message}");
            }
        }
    }
}
