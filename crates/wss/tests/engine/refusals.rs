//! Messages that must be refused, each for its own reason. Every test is an attack that someone has made, or a clause.

use std::sync::Arc;
use std::time::Duration;

use crate::support::*;
use soapstone_crypto::issue::Validity;
use soapstone_crypto::{SecretBytes, TrustError, TrustStore};
use soapstone_wss::{
    AlgorithmUse, EncryptedPart, Facts, FaultCode, FirstSeen, InboundPlan, KeyBinding, Keys,
    Mechanism, Part, PasswordKind, PlanProblem, Rejected, Retirement, TimestampPolicy,
};
use soapstone_xmlsec::dsig::SignatureError;
use soapstone_xmlsec::enc::EncryptionError;

fn sign() -> soapstone_wss::Policy {
    policy(Mechanism::Sign, "Basic128GCM")
}

/// The text of the first element of this name, tags included.
fn cut<'m>(message: &'m str, name: &str) -> &'m str {
    let start = message
        .find(&format!("<{name}"))
        .unwrap_or_else(|| panic!("no {name} in {message}"));
    let end = format!("</{name}>");
    let length = message[start..]
        .find(&end)
        .unwrap_or_else(|| panic!("no {end} in {message}"))
        + end.len();
    &message[start..start + length]
}

/// The same element with another first character of its text.
fn other_first_octet(element: &str) -> String {
    let at = element.find('>').unwrap() + 1;
    let other = if element.as_bytes()[at] == b'A' {
        "B"
    } else {
        "A"
    };
    format!("{}{other}{}", &element[..at], &element[at + 1..])
}

fn name_of(refused: &Rejected) -> &'static str {
    refused.name()
}

#[track_caller]
fn refuse(policy: &soapstone_wss::Policy, message: &str) -> Rejected {
    match open(policy, message) {
        Err(refused) => refused,
        Ok(verified) => panic!("accepted: {}", forwarded(&verified)),
    }
}

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
                    // CBC without a signature protects nothing: an altered block may still be XML. GCM may not.
                    Ok(_) => assert_ne!(suite, "Basic128GCM", "at {at}"),
                }
            }
        }
    }
}

#[test]
fn an_unsigned_body_is_refused() {
    let mut partial = sign();
    partial.signature.as_mut().unwrap().parts = vec![Part::Timestamp];
    let refused = refuse(&sign(), &secure(&partial, PLAIN));
    assert_eq!(refused, Rejected::Unsigned { part: Part::Body });
    assert_eq!(refused.fault(), FaultCode::InvalidSecurity);
}

#[test]
fn an_unsigned_timestamp_is_refused() {
    let mut partial = sign();
    partial.signature.as_mut().unwrap().parts = vec![Part::Body];
    assert_eq!(
        refuse(&sign(), &secure(&partial, PLAIN)),
        Rejected::Unsigned {
            part: Part::Timestamp
        }
    );
}

/// McIntosh and Austel, XML Signature Element Wrapping Attacks (2005): the signed body is moved elsewhere, another takes its place.
#[test]
fn a_signed_body_moved_elsewhere_is_not_the_body() {
    let message = secure(&sign(), PLAIN);
    let body = cut(&message, "soap:Body");
    let forged =
        "<soap:Body><e:echo xmlns:e=\"urn:echo\"><e:text>forged</e:text></e:echo></soap:Body>";
    let security_end = "</wsse:Security>";
    let placements = [
        (
            "a header block",
            message
                .replace(body, forged)
                .replace(security_end, &format!("{security_end}<w>{body}</w>")),
        ),
        (
            "under the signature",
            message.replace(body, forged).replace(
                "</ds:Signature>",
                &format!("<ds:Object>{body}</ds:Object></ds:Signature>"),
            ),
        ),
        (
            "inside the forged body",
            message.replace(
                body,
                &forged.replace("<e:text>", &format!("{body}<e:text>")),
            ),
        ),
        (
            "inside another header",
            message
                .replace(body, forged)
                .replace("<a:To>urn:service", &format!("<a:To>{body}urn:service")),
        ),
    ];
    for (placement, moved) in placements {
        let refused = refuse(&sign(), &moved);
        assert_eq!(
            refused,
            Rejected::Unsigned { part: Part::Body },
            "{placement}"
        );
    }
    let twice = message.replace(body, &format!("{forged}{body}"));
    assert_eq!(name_of(&refuse(&sign(), &twice)), "not-an-envelope");
    let in_security = message
        .replace(body, forged)
        .replace(security_end, &format!("{body}{security_end}"));
    assert_eq!(
        name_of(&refuse(&sign(), &in_security)),
        "element-unexpected"
    );
}

#[test]
fn a_signed_timestamp_moved_elsewhere_is_not_the_timestamp() {
    let message = secure(&sign(), PLAIN);
    let stamp = cut(&message, "wsu:Timestamp");
    let now = jiff::Timestamp::now();
    let forged = format!(
        "<wsu:Timestamp xmlns:wsu=\"{}\"><wsu:Created>{now}</wsu:Created></wsu:Timestamp>",
        soapstone_wss::names::WSU
    );
    let moved = message.replace(stamp, &forged).replace(
        "</wsse:Security>",
        &format!("</wsse:Security><w>{stamp}</w>"),
    );
    assert_eq!(
        refuse(&sign(), &moved),
        Rejected::Unsigned {
            part: Part::Timestamp
        }
    );
}

#[test]
fn two_elements_with_one_id_are_refused() {
    let message = secure(&sign(), PLAIN);
    let body = cut(&message, "soap:Body");
    let copied = message.replace("</soap:Header>", &format!("<w>{body}</w></soap:Header>"));
    let refused = refuse(&sign(), &copied);
    assert_eq!(name_of(&refused), "duplicate-id");
}

#[test]
fn an_encrypted_duplicate_of_an_id_is_refused() {
    let policy = policy(Mechanism::Encrypt, "Basic128GCM");
    let plain = PLAIN.replace("<e:empty/>", "<e:empty xml:id=\"twin\"/>");
    let message = secure(&policy, &plain);
    assert!(open(&policy, &message).is_ok());
    // Before decryption there is one element with this id, afterwards there would be two.
    let twins = message.replace("<a:To>", "<a:To xml:id=\"twin\">");
    let refused = refuse(&policy, &twins);
    assert_eq!(refused.name(), "duplicate-id");
}

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

#[test]
fn algorithms_outside_the_suite_are_refused_before_a_key_is_touched() {
    let weak = policy(Mechanism::SignEncrypt, "TripleDesRsa15");
    let strict = policy(Mechanism::SignEncrypt, "Basic128GCM");
    let refused = refuse(&strict, &secure(&weak, PLAIN));
    assert!(
        matches!(
            refused,
            Rejected::AlgorithmNotAllowed {
                purpose: AlgorithmUse::KeyTransport,
                ..
            }
        ),
        "{refused}"
    );
    assert_eq!(refused.fault(), FaultCode::UnsupportedAlgorithm);
    let refused = refuse(
        &sign(),
        &secure(&policy(Mechanism::Sign, "Basic256"), PLAIN),
    );
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
    let sha256 = suite("Basic256Sha256").with_sha256_signatures();
    let refused = refuse(
        &Mechanism::Sign.policy(suite("Basic256Sha256")),
        &secure(&Mechanism::Sign.policy(sha256), PLAIN),
    );
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
fn the_other_order_of_protection_is_refused() {
    let sign_first = policy(Mechanism::SignEncrypt, "Basic128GCM");
    let encrypt_first = policy(Mechanism::EncryptSign, "Basic128GCM");
    assert_eq!(
        refuse(&sign_first, &secure(&encrypt_first, PLAIN)),
        Rejected::WrongOrder { part: Part::Body }
    );
    assert_eq!(
        refuse(&encrypt_first, &secure(&sign_first, PLAIN)),
        Rejected::WrongOrder { part: Part::Body }
    );
}

#[test]
fn a_downgrade_to_less_protection_is_refused() {
    let both = policy(Mechanism::SignEncrypt, "Basic128GCM");
    assert_eq!(refuse(&both, PLAIN), Rejected::SecurityMissing);
    assert_eq!(
        refuse(&both, &secure(&sign(), PLAIN)),
        Rejected::Unencrypted { part: Part::Body }
    );
    assert_eq!(
        refuse(
            &both,
            &secure(&policy(Mechanism::Encrypt, "Basic128GCM"), PLAIN)
        ),
        Rejected::SignatureMissing
    );
    assert_eq!(
        refuse(
            &both,
            &secure(&policy(Mechanism::Username, "Basic128GCM"), PLAIN)
        )
        .name(),
        "element-unexpected"
    );
}

#[test]
fn two_security_headers_for_one_actor_are_refused() {
    let message = secure(&sign(), PLAIN);
    let doubled = message.replacen(
        "<wsse:Security ",
        &format!(
            "<wsse:Security xmlns:wsse=\"{}\"/><wsse:Security ",
            soapstone_wss::names::WSSE
        ),
        1,
    );
    assert_eq!(refuse(&sign(), &doubled), Rejected::SecurityDuplicated);
}

#[test]
fn timestamps_must_be_there_once_and_now() {
    let policy = policy(Mechanism::Username, "Basic128GCM");
    let required = soapstone_wss::Policy {
        timestamp: Some(TimestampPolicy::default()),
        ..policy.clone()
    };
    let message = secure(&policy, PLAIN);
    let stamp = cut(&message, "wsu:Timestamp");
    assert_eq!(
        refuse(&required, &message.replace(stamp, "")),
        Rejected::TimestampMissing
    );
    let again = stamp.replace("-time\"", "-again\"");
    assert_eq!(
        refuse(
            &required,
            &message.replace(stamp, &format!("{stamp}{again}"))
        ),
        Rejected::TimestampDuplicated
    );
    for (text, problem) in [
        ("yesterday", "dateTime"),
        ("2026-11-20 12:00:00Z", "dateTime"),
        ("2026-11-20T12:00:00", "dateTime"),
    ] {
        let created = cut(&message, "wsu:Created");
        let refused = refuse(
            &required,
            &message.replacen(created, &format!("<wsu:Created>{text}</wsu:Created>"), 1),
        );
        assert!(refused.to_string().contains(problem), "{refused}");
    }
}

#[test]
fn a_message_is_accepted_only_during_its_life() {
    let message = secure(&sign(), PLAIN);
    let at = |seconds: i64| {
        let then = now()
            .checked_add(jiff::SignedDuration::from_secs(seconds))
            .unwrap();
        open_with(&sign(), service_keys(), &facts(), &message, then)
    };
    assert!(at(0).is_ok() && at(350).is_ok() && at(-50).is_ok());
    let late = at(362).unwrap_err();
    assert!(
        matches!(late, Rejected::TimestampExpired { skew: 60, .. }),
        "{late}"
    );
    assert_eq!(late.fault(), FaultCode::MessageExpired);
    let early = at(-70).unwrap_err();
    assert!(
        matches!(early, Rejected::TimestampInFuture { skew: 60, .. }),
        "{early}"
    );
}

#[test]
fn a_message_cannot_claim_a_longer_life_than_the_plan_allows() {
    let mut generous = sign();
    generous.timestamp.as_mut().unwrap().ttl = Duration::from_secs(86_400);
    let message = secure(&generous, PLAIN);
    let then = now()
        .checked_add(jiff::SignedDuration::from_secs(600))
        .unwrap();
    let refused = open_with(&sign(), service_keys(), &facts(), &message, then).unwrap_err();
    assert!(
        matches!(refused, Rejected::TimestampExpired { .. }),
        "{refused}"
    );
}

#[test]
fn every_copy_of_a_message_has_the_same_marks() {
    for mechanism in [
        Mechanism::Username,
        Mechanism::Sign,
        Mechanism::Encrypt,
        Mechanism::SignEncrypt,
        Mechanism::EncryptSign,
    ] {
        let policy = policy(mechanism, "Basic128GCM");
        let plan = InboundPlan::compile(policy.clone(), service_keys()).unwrap();
        let marks = |message: &str| {
            plan.open(
                envelope(message),
                &facts(),
                now(),
                &mut soapstone_xml::Buffers::default(),
            )
            .unwrap()
            .marks()
            .to_vec()
        };
        let message = secure(&policy, PLAIN);
        let first = marks(&message);
        assert!(!first.is_empty(), "{mechanism}");
        let keys =
            |marks: &[soapstone_wss::Mark]| marks.iter().map(|mark| mark.key).collect::<Vec<_>>();
        assert_eq!(keys(&first), keys(&marks(&message)), "{mechanism}");
        assert_ne!(
            keys(&first),
            keys(&marks(&secure(&policy, PLAIN))),
            "{mechanism}"
        );
    }
}

#[test]
fn the_word_of_the_replay_cache_holds_for_one_message_only() {
    let plan = InboundPlan::compile(sign(), service_keys()).unwrap();
    let opened = |message: &str| {
        plan.open(
            envelope(message),
            &facts(),
            now(),
            &mut soapstone_xml::Buffers::default(),
        )
        .unwrap()
    };
    let other = FirstSeen::assertion(opened(&secure(&sign(), PLAIN)).marks());
    let refused = opened(&secure(&sign(), PLAIN)).admit(other).unwrap_err();
    assert_eq!(refused.name(), "replay-unknown");
}

#[test]
fn unknown_users_and_wrong_passwords_are_not_told_apart() {
    for kind in [PasswordKind::Digest, PasswordKind::Text] {
        let mut policy = policy(Mechanism::Username, "Basic128GCM");
        policy.username.as_mut().unwrap().passwords = vec![kind];
        let message = secure(&policy, PLAIN);
        let with = |passwords| {
            open_with(
                &policy,
                service_keys(),
                &Facts {
                    passwords,
                    ..Facts::default()
                },
                &message,
                now(),
            )
        };
        let wrong = with(vec![("alice".to_owned(), SecretBytes::copy_of(b"guess"))]).unwrap_err();
        let unknown = with(Vec::new()).unwrap_err();
        assert_eq!(
            wrong,
            Rejected::AuthenticationFailed {
                user: "alice".to_owned()
            }
        );
        assert_eq!(wrong, unknown);
        assert_eq!(wrong.fault(), FaultCode::FailedAuthentication);
    }
}

#[test]
fn a_password_in_the_clear_is_refused_where_a_digest_is_wanted() {
    let digest = policy(Mechanism::Username, "Basic128GCM");
    let mut text = digest.clone();
    text.username.as_mut().unwrap().passwords = vec![PasswordKind::Text];
    let refused = refuse(&digest, &secure(&text, PLAIN));
    assert_eq!(
        refused,
        Rejected::PasswordKindNotAllowed {
            found: soapstone_wss::names::PASSWORD_TEXT.to_owned()
        }
    );
}

#[test]
fn a_digest_needs_a_nonce_and_a_time() {
    let policy = policy(Mechanism::Username, "Basic128GCM");
    let message = secure(&policy, PLAIN);
    for element in ["wsse:Nonce", "wsu:Created"] {
        let token = cut(&message, "wsse:UsernameToken");
        let without = token.replace(cut(token, element), "");
        assert_eq!(
            name_of(&refuse(&policy, &message.replace(token, &without))),
            "malformed",
            "{element}"
        );
    }
}

#[test]
fn dtds_depth_size_and_encoding_are_checked_before_anything_else() {
    let policy = sign();
    let dtd = format!("<!DOCTYPE x [<!ENTITY a 'a'>]>{PLAIN}");
    assert_eq!(name_of(&refuse(&policy, &dtd)), "dtd");
    let deep = PLAIN.replace("<e:empty/>", &("<d>".repeat(300) + &"</d>".repeat(300)));
    assert_eq!(name_of(&refuse(&policy, &deep)), "too-deep");
    let large = PLAIN.replace("mehr", &"x".repeat(9 << 20));
    assert_eq!(name_of(&refuse(&policy, &large)), "too-large");
    let mut malformed = PLAIN.as_bytes().to_vec();
    let at = malformed.iter().position(|octet| *octet >= 0x80).unwrap();
    malformed[at] = 0xff;
    let refused = soapstone_wss::Envelope::parse(
        malformed,
        &soapstone_xml::Limits::default(),
        &mut soapstone_xml::Buffers::default(),
    );
    assert_eq!(
        name_of(&Rejected::from(refused.unwrap_err())),
        "malformed-encoding"
    );
}

#[test]
fn references_that_leave_the_message_are_refused() {
    let message = secure(&sign(), PLAIN);
    let uri = cut(&message, "ds:Reference")
        .split("URI=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    for outside in [
        "http://127.0.0.1/x",
        "file:///etc/passwd",
        "cid:attachment",
        "body.xml#x",
    ] {
        let refused = refuse(
            &sign(),
            &message.replacen(&format!("URI=\"{uri}\""), &format!("URI=\"{outside}\""), 1),
        );
        // The signature is checked first: it covers the reference.
        assert!(
            matches!(refused.name(), "signature-mismatch" | "external-reference"),
            "{outside}: {refused}"
        );
    }
}

/// CVE-2021-... class: transforms that execute code or select other nodes than the reference names.
#[test]
fn transforms_other_than_canonicalization_are_refused() {
    let message = secure(&sign(), PLAIN);
    for transform in [
        "http://www.w3.org/TR/1999/REC-xslt-19991116",
        "http://www.w3.org/TR/1999/REC-xpath-19991116",
        "http://www.w3.org/2002/06/xmldsig-filter2",
        "http://www.w3.org/2000/09/xmldsig#enveloped-signature",
        "http://www.w3.org/2000/09/xmldsig#base64",
    ] {
        let changed = message.replacen(
            "<ds:Transform Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\">",
            &format!("<ds:Transform Algorithm=\"{transform}\">"),
            1,
        );
        let refused = refuse(&sign(), &changed);
        assert_eq!(
            refused,
            Rejected::Signature(SignatureError::TransformRefused {
                uri: transform.to_owned()
            })
        );
        assert_eq!(refused.fault(), FaultCode::UnsupportedAlgorithm);
    }
}

#[test]
fn more_references_than_allowed_are_refused_before_they_are_digested() {
    let message = secure(&sign(), PLAIN);
    let reference = cut(&message, "ds:Reference");
    let many = message.replacen(reference, &reference.repeat(70), 1);
    assert_eq!(name_of(&refuse(&sign(), &many)), "too-many");
}

#[test]
fn a_retired_algorithm_is_refused_from_its_day_on() {
    let mut weak = policy(Mechanism::Sign, "Basic256");
    let message = secure(&weak, PLAIN);
    assert_eq!(
        open(&weak, &message).unwrap().evidence().weak,
        ["rsa-sha1", "sha1"]
    );
    let yesterday = now()
        .checked_sub(jiff::SignedDuration::from_hours(24))
        .unwrap();
    weak.retirements.push(Retirement {
        algorithm: "rsa-sha1".to_owned(),
        from: yesterday,
    });
    assert_eq!(
        refuse(&weak, &message),
        Rejected::AlgorithmRetired {
            algorithm: "rsa-sha1",
            since: yesterday
        }
    );
}

#[test]
fn a_header_that_must_be_understood_and_is_not_signed_is_not_dropped_silently() {
    let plain = PLAIN.replace("soap:mustUnderstand=\"0\"", "soap:mustUnderstand=\"1\"");
    let refused = refuse(&sign(), &secure(&sign(), &plain));
    assert_eq!(refused.name(), "header-not-verified");
    assert_eq!(refused.fault(), FaultCode::MustUnderstand);
}

#[test]
fn a_plan_says_everything_that_is_wrong_with_it() {
    let problems = InboundPlan::compile(
        policy(Mechanism::SignEncrypt, "Basic128GCM"),
        Keys::default(),
    )
    .unwrap_err();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(
        problems
            .iter()
            .all(|problem| matches!(problem, PlanProblem::KeyMissing { .. }))
    );
}

#[test]
fn a_response_under_a_key_that_no_request_had_is_refused() {
    let mut response = policy(Mechanism::Encrypt, "Basic128GCM");
    let request = secure_with(&response, client_keys(), PLAIN, None);
    response.encryption.as_mut().unwrap().key = KeyBinding::RequestKey;
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

/// Exclusive canonicalization repeats a declaration on every sibling that uses it: a long name and many short elements make much of little.
#[test]
fn a_message_whose_canonical_form_explodes_is_refused() {
    let long = format!("urn:{}", "x".repeat(60_000));
    let many = "<p:a/>".repeat(60_000);
    let plain = PLAIN
        .replace("<soap:Body>", &format!("<soap:Body xmlns:p=\"{long}\">"))
        .replace("<e:empty/>", &many);
    let plan = soapstone_wss::OutboundPlan::compile(sign(), client_keys()).unwrap();
    let refused = plan
        .secure(
            envelope(&plain),
            soapstone_wss::Outgoing::default(),
            now(),
            &mut soapstone_xml::Buffers::default(),
        )
        .unwrap_err();
    assert!(
        matches!(refused, soapstone_wss::SecureError::Canonicalization(_)),
        "{refused}"
    );
}

/// Jager and Somorovsky, How to Break XML Encryption (2011): the code must not tell whether a changed CBC cipher text could be read.
#[test]
fn what_fails_after_cbc_was_deciphered_looks_as_if_deciphering_had_failed() {
    let both = policy(Mechanism::SignEncrypt, "Basic256");
    // A stranger's own message around captured cipher text: it deciphers, and the signature is missing.
    let refused = refuse(
        &both,
        &secure(&policy(Mechanism::Encrypt, "Basic256"), PLAIN),
    );
    assert_eq!(*refused.cause(), Rejected::SignatureMissing);
    assert_eq!(refused.name(), "signature-missing");
    assert_eq!(refused.fault(), FaultCode::FailedCheck);
    // Authenticated cipher text cannot be changed: there is nothing to hide.
    let both = policy(Mechanism::SignEncrypt, "Basic256GCM");
    let refused = refuse(
        &both,
        &secure(&policy(Mechanism::Encrypt, "Basic256GCM"), PLAIN),
    );
    assert_eq!(refused, Rejected::SignatureMissing);
    assert_eq!(refused.fault(), FaultCode::InvalidSecurity);
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

#[test]
fn a_signed_header_block_that_was_moved_aside_is_not_overlooked() {
    let mut policy = sign();
    policy.signature.as_mut().unwrap().parts.push(Part::Header {
        namespace: "http://www.w3.org/2005/08/addressing".to_owned(),
        local: "To".to_owned(),
    });
    let message = secure(&policy, PLAIN);
    assert!(open(&policy, &message).is_ok());
    let block = cut(&message, "a:To");
    let aside = message.replace(block, &format!("<w>{block}</w>"));
    let without = message.replace(block, "");
    let object = format!("<ds:Object>{block}</ds:Object></ds:Signature>");
    let hidden = without.replace("</ds:Signature>", &object);
    for moved in [aside, hidden] {
        assert_ne!(moved, without);
        let refused = refuse(&policy, &moved);
        let element = "{http://www.w3.org/2005/08/addressing}To".to_owned();
        assert_eq!(refused, Rejected::SignedElsewhere { element });
    }
}

#[test]
fn a_signed_header_block_in_an_encrypted_header_that_holds_more_is_not_overlooked() {
    let to = Part::Header {
        namespace: "http://www.w3.org/2005/08/addressing".to_owned(),
        local: "To".to_owned(),
    };
    let mut policy = policy(Mechanism::SignEncrypt, "Basic128GCM");
    policy.signature.as_mut().unwrap().parts.push(to.clone());
    let encryption = policy.encryption.as_mut().unwrap();
    encryption.parts.push(EncryptedPart::customary(to));
    let message = secure(&policy, PLAIN);
    assert!(open(&policy, &message).is_ok());
    let start = message.find("<wsse11:EncryptedHeader").unwrap();
    let inside = start + message[start..].find('>').unwrap() + 1;
    let refused = refuse(
        &policy,
        &format!("{}<w/>{}", &message[..inside], &message[inside..]),
    );
    let element = "{http://www.w3.org/2005/08/addressing}To".to_owned();
    assert_eq!(refused, Rejected::SignedElsewhere { element });
}

#[test]
fn a_signed_header_block_that_is_gone_with_deciphered_data_is_not_overlooked() {
    for mechanism in [Mechanism::SignEncrypt, Mechanism::EncryptSign] {
        let mut policy = policy(mechanism, "Basic128GCM");
        policy.signature.as_mut().unwrap().parts = vec![Part::Header {
            namespace: "http://www.w3.org/2005/08/addressing".to_owned(),
            local: "To".to_owned(),
        }];
        let message = secure(&policy, PLAIN);
        assert!(open(&policy, &message).is_ok());
        let block = cut(&message, "a:To");
        let without = message.replace(block, "");
        let key_info = without.rfind("<ds:KeyInfo").unwrap();
        let inside = key_info + without[key_info..].find('>').unwrap() + 1;
        let refused = refuse(
            &policy,
            &format!("{}{block}{}", &without[..inside], &without[inside..]),
        );
        let element = "{http://www.w3.org/2005/08/addressing}To".to_owned();
        assert_eq!(refused, Rejected::SignedElsewhere { element });
    }
}
