//! Signatures of those who may not sign, or with a key that is not theirs.

use std::sync::Arc;

use soapstone_crypto::issue::Validity;
use soapstone_crypto::{KeyKind, TrustError, TrustStore};
use soapstone_wss::{
    AlgorithmUse, EncryptedPart, FaultCode, KeyBinding, KeyReference, Keys, Mechanism,
    OutboundPlan, Outgoing, Part, Policy, Receipt, Rejected, SecureError, Secured, names,
};
use soapstone_xml::Buffers;

use super::{cut, name_of, refuse, sign};
use crate::conversations::bound;
use crate::support::Adjust as _;
use crate::support::*;

#[test]
fn a_stranger_is_not_trusted_because_the_certificate_is_in_the_message() {
    let keys = Keys {
        identity: Some(Arc::clone(&PARTIES.stranger)),
        ..client_keys()
    };
    let message = secure_with(&sign(), keys, PLAIN, None).bytes;
    let refused = refuse(&sign(), std::str::from_utf8(&message).unwrap());
    assert_eq!(name_of(&refused), "untrusted");
    assert_eq!(refused.fault(), FaultCode::InvalidSecurityToken);
}

#[test]
fn an_expired_certificate_is_refused() {
    let days_ago = |days: i64| {
        now()
            .checked_sub(jiff::SignedDuration::from_hours(24 * days))
            .unwrap()
    };
    let validity = Validity {
        not_before: days_ago(2),
        not_after: days_ago(1),
    };
    let identity = leaf(&PARTIES.authority, "CN=client", validity);
    let keys = Keys {
        identity: Some(Arc::new(identity)),
        ..client_keys()
    };
    let message = secure_with(&sign(), keys, PLAIN, None).bytes;
    let refused = refuse(&sign(), std::str::from_utf8(&message).unwrap());
    assert!(
        matches!(refused, Rejected::Untrusted(TrustError::Expired { .. })),
        "{refused}"
    );
}

#[test]
fn a_trusted_certificate_of_another_subject_is_refused() {
    let mut rules = trust_rules();
    rules.subjects.push("CN=somebody else".to_owned());
    let trust = TrustStore::new(rules).unwrap();
    let keys = Keys {
        trust: Some(Arc::new(trust)),
        ..service_keys()
    };
    let refused = open_with(&sign(), keys, &facts(), &secure(&sign(), PLAIN), now()).unwrap_err();
    assert!(
        matches!(
            refused,
            Rejected::Untrusted(TrustError::SubjectNotAllowed { .. })
        ),
        "{refused}"
    );
}

/// Key confusion: an HMAC under the bytes of a public key must not pass for a signature.
#[test]
fn an_hmac_does_not_pass_for_a_signature() {
    let hmac = secure(&with_shared_key(sign()), PLAIN);
    let refused = refuse(&sign(), &hmac);
    assert!(
        matches!(
            refused,
            Rejected::AlgorithmNotAllowed {
                purpose: AlgorithmUse::Signature,
                ..
            }
        ),
        "{refused}"
    );
    let refused = refuse(&with_shared_key(sign()), &secure(&sign(), PLAIN));
    assert!(
        matches!(
            refused,
            Rejected::AlgorithmNotAllowed {
                purpose: AlgorithmUse::Signature,
                ..
            }
        ),
        "{refused}"
    );
}

#[test]
fn a_response_under_a_key_that_no_request_had_is_refused() {
    let mut response = policy(Mechanism::Encrypt, "Basic128GCM");
    let request = secure_with(&response, client_keys(), PLAIN, None);
    response.encrypt_under_request();
    let message = secure_with(&response, service_keys(), PLAIN, Some(&request.receipt)).bytes;
    let refused = open_with(
        &response,
        client_keys(),
        &facts(),
        std::str::from_utf8(&message).unwrap(),
        now(),
    )
    .unwrap_err();
    assert_eq!(refused.name(), "key-not-found");
}

/// What a stranger puts into requests: an `EncryptedKey` of his own, a header block that it
/// deciphers, and what he knows of it.
fn strangers_key(suite: &str, keys: Keys) -> (String, String, Receipt) {
    let mut policy = policy(Mechanism::Encrypt, suite);
    let to = Part::Header {
        namespace: "http://www.w3.org/2005/08/addressing".to_owned(),
        local: "To".to_owned(),
    };
    policy.parts.encrypted = vec![EncryptedPart::customary(to)];
    let Secured { bytes, receipt, .. } = secure_with(&policy, keys, PLAIN, None);
    let message = String::from_utf8(bytes).unwrap();
    let key = cut(&message, "xenc:EncryptedKey").to_owned();
    let block = cut(&message, "wsse11:EncryptedHeader").to_owned();
    (key, block, receipt)
}

/// What is said of one message in which two session keys sign or encipher, where the policy has one
/// do both.
pub(super) fn two_session_keys() -> Rejected {
    let problem = "one message is secured with two session keys".to_owned();
    Rejected::KeyMisused { problem }
}

/// Anybody can wrap a key to our certificate, and no signature covers those that came with a
/// request: an answer under a key that somebody put there would be his to read.
#[test]
fn an_answer_is_not_under_a_key_that_somebody_put_into_the_request() {
    use KeyBinding::{Certificate, SessionKey};
    for (mechanism, suite, key) in [
        (Mechanism::Encrypt, "Basic128GCM", Certificate),
        (Mechanism::SignEncrypt, "Basic128GCMX25519", Certificate),
        (Mechanism::EncryptSign, "Basic128GCMX25519", Certificate),
        (Mechanism::SignEncrypt, "Basic128GCMEcdhEs", SessionKey),
    ] {
        let agreeing = Agreeing::of(suite);
        let (client, service) = (
            agreeing.map_or_else(client_keys, Agreeing::client_keys),
            agreeing.map_or_else(service_keys, Agreeing::service_keys),
        );
        let mut request = bound(mechanism, suite, key, KeyReference::Thumbprint);
        if request.signature().is_some() {
            request.name_signing_key(KeyReference::Direct);
            // Deciphered by a list of its own.
            let encrypted = &mut request.parts.encrypted;
            encrypted.push(EncryptedPart::customary(Part::Signature));
        }
        let answer = bound(
            Mechanism::Encrypt,
            suite,
            KeyBinding::RequestKey,
            KeyReference::EncryptedKeySha1,
        );
        let asked = secure_with(&request, client.clone(), PLAIN, None);
        let message = String::from_utf8(asked.bytes).unwrap();
        let answered = |message: &str| {
            let opened = open_with(&request, service.clone(), &facts(), message, now());
            let (_, receipt) = opened?.finish(&mut Buffers::default());
            let plan = OutboundPlan::compile(answer.clone(), service.clone()).unwrap();
            let outgoing = Outgoing::answer(&receipt);
            let secured = plan.secure(envelope(PLAIN), outgoing, now(), &mut Buffers::default());
            Ok(secured.map(|secured| String::from_utf8(secured.bytes).unwrap()))
        };
        let (strangers, block, his) = strangers_key(suite, client.clone());
        let idle = strangers.replace(cut(&strangers, "xenc:ReferenceList"), "");
        let beside = answered(&with_elements(&message, &[&idle], &[])).unwrap();
        let beside = beside.unwrap();
        let used = answered(&with_elements(&message, &[&strangers], &[&block]));
        let element = format!("{{{}}}EncryptedHeader", names::WSSE11);
        match (key, mechanism) {
            (SessionKey, _) => assert_eq!(used, Err(two_session_keys())),
            (_, Mechanism::EncryptSign) => {
                assert_eq!(used, Err(Rejected::CipherTextUnexpected { element }));
            }
            // Whose part is whose cannot be told.
            _ => assert_eq!(used, Ok(Err(SecureError::RequestKeyMissing))),
        }
        let mut known = facts();
        for (of, can_read) in [(his, false), (asked.receipt, true)] {
            known.request = Some(of);
            let read = open_with(&answer, client.clone(), &known, &beside, now());
            let refused = read.map(drop).err().map(|refused| refused.name());
            let expected = (!can_read).then_some("key-not-found");
            assert_eq!(refused, expected, "{mechanism} {suite} {key:?}");
        }
    }
}

/// What a stranger enciphers once more under a key of his own is still the sender's, and the key is
/// not.
#[test]
fn an_answer_is_not_under_a_key_that_somebody_put_around_the_senders() {
    let request = policy(Mechanism::Encrypt, "Basic128GCM");
    let inner = secure(&request, PLAIN);
    // In a header for nobody he finds the sender's.
    let outer = inner.replace(
        "<wsse:Security ",
        "<wsse:Security soap:actor=\"urn:nobody\" ",
    );
    let Secured { bytes, .. } = secure_with(&request, client_keys(), &outer, None);
    let outer = String::from_utf8(bytes).unwrap();
    let his = cut(&outer, "xenc:EncryptedKey");
    let body = &outer[outer.find("<soap:Body").unwrap()..];
    let message = format!("{}{body}", &inner[..inner.find("<soap:Body").unwrap()]);
    let message = with_elements(&message, &[his], &[]);
    let opened = open(&request, &message).unwrap();
    assert!(forwarded(&opened).contains("Grüße"));
    let (_, receipt) = opened.finish(&mut Buffers::default());
    assert!(receipt.session_keys.is_empty());
}

#[test]
fn our_own_message_sent_back_to_us_is_no_answer() {
    let mut policy = sign();
    policy.refuse_own_signatures = true;
    let request = secure(&policy, PLAIN);
    let reflected = open_with(&policy, client_keys(), &facts(), &request, now()).unwrap_err();
    assert_eq!(reflected, Rejected::Reflected);
    assert!(open(&policy, &request).is_ok());
    let pinned = Keys {
        peer: Some(PARTIES.client.certificate().clone()),
        ..client_keys()
    };
    assert!(open_with(&policy, pinned, &facts(), &request, now()).is_ok());
}

/// The message with `elements` first in its Security header and `blocks` as header blocks behind
/// that.
fn with_elements(message: &str, elements: &[&str], blocks: &[&str]) -> String {
    let security = message.find("<wsse:Security").unwrap();
    let inside = security + message[security..].find('>').unwrap() + 1;
    let security_end = "</wsse:Security>";
    format!(
        "{}{}{}",
        &message[..inside],
        elements.concat(),
        message[inside..].replace(security_end, &format!("{security_end}{}", blocks.concat())),
    )
}

/// McIntosh and Austel (2005), with a signer of one's own: the parts of two messages are put
/// together, each as it was signed.
fn refuse_spliced(policy: &Policy, spliced: &str) {
    let refused = refuse(policy, spliced);
    let what = "signatures that endorse none";
    assert_eq!(refused, Rejected::TooMany { what, limit: 1 });
}

#[test]
fn a_partner_does_not_send_in_the_name_of_another_whose_signature_he_has() {
    let captured = secure(&sign(), PLAIN);
    let mut keys = client_keys();
    let rsa = KeyKind::Rsa { bits: 2048 };
    keys.identity = Some(identity("CN=mallory", rsa));
    // What the other one signed lies somewhere in the Body.
    let aside = [cut(&captured, "soap:Body"), cut(&captured, "wsu:Timestamp")].concat();
    let plain = PLAIN.replace("<e:empty/>", &format!("<e:empty>{aside}</e:empty>"));
    let message = String::from_utf8(secure_with(&sign(), keys, &plain, None).bytes).unwrap();
    let proof = [
        cut(&captured, "wsse:BinarySecurityToken"),
        cut(&captured, "ds:Signature"),
    ];
    assert!(open(&sign(), &message).is_ok());
    refuse_spliced(&sign(), &with_elements(&message, &proof, &[]));
}

#[test]
fn an_old_body_is_not_renewed_by_the_timestamp_of_another_message() {
    let (old, new) = (secure(&sign(), PLAIN), secure(&sign(), PLAIN));
    let proof = [
        cut(&old, "wsse:BinarySecurityToken"),
        cut(&old, "ds:Signature"),
    ];
    let aside = [cut(&old, "wsu:Timestamp"), cut(&new, "soap:Body")];
    let message = new.replace(aside[1], cut(&old, "soap:Body"));
    refuse_spliced(&sign(), &with_elements(&message, &proof, &aside));
}

#[test]
fn a_signed_password_is_of_no_use_to_whoever_signs_another_body() {
    let mut policy = policy(Mechanism::Username, "Basic128GCM");
    policy.parts.signed = sign().parts.signed;
    policy.bind(KeyBinding::SessionKey, KeyReference::Direct);
    let without_user = with(&policy, |policy| policy.set_username(None));
    let parts = &mut policy.parts.signed;
    parts.push(Part::UsernameToken);
    let captured = secure(&policy, PLAIN);
    assert!(open(&policy, &captured).is_ok());
    // Anybody can make a session key.
    let message = secure(&without_user, PLAIN);
    let proof = [
        "wsse:BinarySecurityToken",
        "xenc:EncryptedKey",
        "wsse:UsernameToken",
        "ds:Signature",
    ];
    let proof = proof.map(|name| cut(&captured, name));
    let aside = [cut(&captured, "wsu:Timestamp"), cut(&captured, "soap:Body")];
    let spliced = with_elements(&message, &proof, &aside);
    assert_eq!(refuse(&policy, &spliced), two_session_keys());
}
