//! Content, digests, signature values and cipher text that were changed on the way.

use soapstone_wss::{FaultCode, Mechanism, Part, Rejected};
use soapstone_xmlsec::dsig::SignatureError;
use soapstone_xmlsec::enc::EncryptionError;

use super::{cut, other_first_octet, refuse, sign};
use crate::support::*;

#[test]
fn changed_content_has_another_digest() {
    let refused = refuse(&sign(), &secure(&sign(), PLAIN).replace("mehr", "weniger"));
    assert!(
        matches!(
            refused,
            Rejected::Signature(SignatureError::DigestMismatch { .. })
        ),
        "{refused}"
    );
    assert_eq!(refused.fault(), FaultCode::FailedCheck);
}

/// Encrypted and signed the other way round, a part has another digest, and no proxy did it.
#[test]
fn a_digest_over_the_other_form_has_a_hint_of_the_order() {
    let sent = policy(Mechanism::SignEncrypt, "Basic256GCM");
    let wanted = policy(Mechanism::EncryptSign, "Basic256GCM");
    let refused = refuse(&wanted, &secure(&sent, PLAIN));
    assert_eq!(refused.name(), "digest-mismatch");
    let hint = refused.hint().unwrap();
    assert!(
        hint.ends_with("exchange `sign-encrypt` and `encrypt-sign`"),
        "{hint}"
    );
}

#[test]
fn an_unsigned_part_has_a_remedy_on_either_side() {
    let wanted = with(&sign(), |policy| {
        policy.parts.signed.push("{urn:x}header".parse().unwrap());
    });
    let header = "<soap:Header><x:header xmlns:x=\"urn:x\"/>";
    let message = secure(&sign(), PLAIN).replacen("<soap:Header>", header, 1);
    let refused = refuse(&wanted, &message);
    assert_eq!(refused.name(), "unsigned");
    assert_eq!(
        refused.hint().unwrap(),
        "the peer does not sign it, or signs another element: add it to `signed` there, or take it out of `signed` here"
    );
}

#[test]
fn a_changed_digest_breaks_the_signature_value() {
    let message = secure(&sign(), PLAIN);
    let digest = cut(&message, "ds:DigestValue");
    let refused = refuse(
        &sign(),
        &message.replace(digest, &other_first_octet(digest)),
    );
    assert!(
        matches!(
            refused,
            Rejected::Signature(SignatureError::ValueMismatch { .. })
        ),
        "{refused}"
    );
    assert_eq!(refused.fault(), FaultCode::FailedCheck);
}

#[test]
fn a_changed_signature_value_does_not_verify() {
    let message = secure(&sign(), PLAIN);
    let value = cut(&message, "ds:SignatureValue");
    let swapped = other_first_octet(value);
    let refused = refuse(&sign(), &message.replace(value, &swapped));
    assert!(
        matches!(
            refused,
            Rejected::Signature(SignatureError::ValueMismatch { .. })
        ),
        "{refused}"
    );
}

#[test]
fn changed_cipher_text_is_one_failure_in_every_mode() {
    for suite in [
        "Basic128GCM",
        "Basic256",
        "TripleDes",
        "TripleDesRsa15",
        "Basic128Rsa15",
    ] {
        let policy = policy(Mechanism::Encrypt, suite);
        let message = secure(&policy, PLAIN);
        // The wrapped key, then the data: beginning, middle and end of each.
        for (index, _) in message.match_indices("<xenc:CipherValue>") {
            let start = index + "<xenc:CipherValue>".len();
            let length = message[start..].find('<').unwrap();
            for at in [start + 1, start + length / 2, start + length - 5] {
                let other = if message.as_bytes()[at] == b'A' {
                    "B"
                } else {
                    "A"
                };
                let changed = format!("{}{other}{}", &message[..at], &message[at + 1..]);
                match open(&policy, &changed) {
                    Err(refused) => {
                        assert_eq!(
                            *refused.cause(),
                            Rejected::Encryption(EncryptionError::Failed),
                            "{suite} at {at}"
                        );
                        assert_eq!(refused.fault(), FaultCode::FailedCheck);
                    }
                    // CBC without a signature protects nothing: an altered block may still be XML.
                    // GCM may not.
                    Ok(_) => assert_ne!(suite, "Basic128GCM", "at {at}"),
                }
            }
        }
    }
}

/// Jager and Somorovsky, How to Break XML Encryption (2011): the code must not tell whether a
/// changed CBC cipher text could be read.
#[test]
fn what_fails_after_a_decryption_looks_as_if_deciphering_had_failed() {
    for suite in ["Basic256", "Basic256GCM"] {
        let mut both = policy(Mechanism::SignEncrypt, suite);
        let message = secure(&both, PLAIN);
        // It deciphers, and does not sign all that is demanded.
        let to = Part::Header {
            namespace: "http://www.w3.org/2005/08/addressing".to_owned(),
            local: "To".to_owned(),
        };
        both.parts.signed.push(to);
        let refused = told_to_peer(&both, &message);
        assert!(matches!(refused, Rejected::AfterDecryption(_)), "{refused}");
        assert_eq!(refused.name(), "decryption-failed");
        assert_eq!(refused.fault(), FaultCode::FailedCheck);
    }
}

/// A stranger's own message around captured cipher text: nothing of it is deciphered.
#[test]
fn a_message_without_the_signature_that_the_plan_demands_is_not_deciphered() {
    for suite in ["Basic256", "Basic256GCM"] {
        let both = policy(Mechanism::SignEncrypt, suite);
        let unsigned = secure(&policy(Mechanism::Encrypt, suite), PLAIN);
        let refused = told_to_peer(&both, &unsigned);
        assert_eq!(refused, Rejected::SignatureMissing);
        assert_eq!(refused.fault(), FaultCode::InvalidSecurity);
    }
}
