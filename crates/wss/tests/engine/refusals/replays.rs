//! Messages at another time than theirs, or a second time.

use std::time::Duration;

use soapstone_crypto::base64;
use soapstone_crypto::issue::{self, Template, Validity};
use soapstone_wss::{
    ConversationVersion, EncryptedPart, Facts, FaultCode, FirstSeen, InboundPlan, KerberosSession,
    Mechanism, Part, Policy, Rejected, SecurityLimits, TimestampPolicy, kerberos_sha1,
};
use soapstone_xml::Buffers;

use super::{cut, refuse, sign};
use crate::conversations::{context, conversation, knowing, text, within};
use crate::support::Adjust as _;
use crate::support::*;

#[test]
fn timestamps_must_be_there_once_and_now() {
    let policy = policy(Mechanism::Username, "Basic128GCM");
    let required = with(&policy, |policy| {
        policy.header.timestamp = Some(TimestampPolicy::default());
    });
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
    generous.header.timestamp.as_mut().unwrap().ttl = Duration::from_secs(86_400);
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
    let by_certificate = [
        Mechanism::Username,
        Mechanism::Sign,
        Mechanism::Encrypt,
        Mechanism::SignEncrypt,
        Mechanism::EncryptSign,
    ]
    .map(|mechanism| policy(mechanism, "Basic128GCM"));
    // HMAC with SHA-256 and with SHA-1.
    let by_shared_key =
        ["Basic128GCM", "Basic128"].map(|suite| with_shared_key(policy(Mechanism::Sign, suite)));
    for policy in by_certificate.into_iter().chain(by_shared_key) {
        let plan = InboundPlan::compile(policy.clone(), service_keys()).unwrap();
        let marks = |message: &str| -> Vec<[u8; 32]> {
            let mut buffers = Buffers::default();
            let opened = plan.open_unmarked(envelope(message), &facts(), now(), &mut buffers);
            opened
                .unwrap()
                .marks()
                .iter()
                .map(|mark| mark.key)
                .collect()
        };
        let message = secure(&policy, PLAIN);
        let first = marks(&message);
        let suite = &policy.suite.name;
        assert!(!first.is_empty(), "{suite}");
        // White space in base64 means nothing, and nobody signs how the value is written.
        let copy = message.replace("<ds:SignatureValue>", "<ds:SignatureValue> \n");
        assert_eq!(copy != message, policy.signature().is_some());
        assert_eq!(first, marks(&copy), "{suite}");
        assert_ne!(first, marks(&secure(&policy, PLAIN)), "{suite}");
    }
}

#[test]
fn the_word_of_the_replay_cache_holds_for_one_message_only() {
    let plan = InboundPlan::compile(sign(), service_keys()).unwrap();
    let (facts, mut buffers) = (facts(), soapstone_xml::Buffers::default());
    let mut nobody = [(), ()];
    let [one, other] = nobody.each_mut().map(|nobody| {
        let message = envelope(&secure(&sign(), PLAIN));
        plan.authenticate(message, &facts, now(), &mut buffers, nobody)
            .unwrap()
    });
    let of_other = FirstSeen::assertion(other.marks());
    let refused = one.open(&of_other, &mut buffers).unwrap_err();
    assert_eq!(refused.name(), "replay-unknown");
}

/// The message with another certificate for the signer's key in the token, which no signature
/// covers.
fn under_another_certificate(message: &str) -> String {
    let validity = Validity::days(now(), 60);
    let template = Template::new("CN=client", validity).unwrap();
    let key = PARTIES.client.key().public_key();
    let renewed = issue::issued(&PARTIES.authority, key, &template).unwrap();
    let token = cut(message, "wsse:BinarySecurityToken");
    let text = token.trim_end_matches("</wsse:BinarySecurityToken>");
    let text = &text[text.find('>').unwrap() + 1..];
    message.replace(text, &base64::encode(renewed.der()))
}

#[test]
fn a_copy_under_another_certificate_for_the_same_key_has_the_same_marks() {
    let plan = InboundPlan::compile(sign(), service_keys()).unwrap();
    let marks = |message: &str| {
        let opened =
            plan.open_unmarked(envelope(message), &facts(), now(), &mut Buffers::default());
        opened.unwrap().marks().to_vec()
    };
    let message = secure(&sign(), PLAIN);
    let copy = under_another_certificate(&message);
    assert_ne!(message, copy);
    assert_eq!(marks(&message), marks(&copy));
}

#[test]
fn our_own_message_under_another_certificate_for_our_key_is_no_answer() {
    let mut policy = sign();
    policy.refuse_own_signatures = true;
    let request = under_another_certificate(&secure(&policy, PLAIN));
    let refused = open_with(&policy, client_keys(), &facts(), &request, now()).map(drop);
    assert_eq!(refused, Err(Rejected::Reflected));
}

/// Where nobody signed when a message ends, somebody on the way may say that it ends at once, to
/// have it forgotten.
#[test]
fn a_life_that_nobody_signed_does_not_shorten_the_memory_of_a_message() {
    let mut signed = sign();
    signed.parts.signed = vec![Part::Body];
    let encrypted = policy(Mechanism::Encrypt, "Basic128GCM");
    for policy in [signed, encrypted] {
        let message = secure(&policy, PLAIN);
        let expires = cut(&message, "wsu:Expires");
        let created = cut(&message, "wsu:Created").replace("Created", "Expires");
        let ends_at_once = message.replace(expires, &created);
        assert_ne!(ends_at_once, message);
        let plan = InboundPlan::compile(policy, service_keys()).unwrap();
        let then = now();
        let opened = plan.open_unmarked(
            envelope(&ends_at_once),
            &facts(),
            then,
            &mut Buffers::default(),
        );
        let opened = opened.unwrap();
        assert!(!opened.marks().is_empty());
        for mark in opened.marks() {
            // The customary life and skew.
            assert!(mark.until >= then + Duration::from_secs(360), "{mark:?}");
        }
    }
}

/// What a signature in cipher text is known by can be told when it is deciphered, and not before.
#[test]
fn a_signature_that_cipher_text_held_makes_a_message_known() {
    let hiding = with(&policy(Mechanism::SignEncrypt, "Basic128GCM"), |policy| {
        let signature = EncryptedPart::customary(Part::Signature);
        policy.parts.encrypted.push(signature);
    });
    let plan = InboundPlan::compile(hiding.clone(), service_keys()).unwrap();
    let late = |message: &str| {
        let mut buffers = Buffers::default();
        let opened = plan.open_unmarked(envelope(message), &facts(), now(), &mut buffers);
        let opened = opened.unwrap();
        let late: Vec<_> = opened.late_marks().iter().map(|mark| mark.key).collect();
        assert_eq!(late.len(), 1);
        late[0]
    };
    let (one, other) = (secure(&hiding, PLAIN), secure(&hiding, PLAIN));
    assert_eq!(late(&one), late(&one));
    assert_ne!(late(&one), late(&other));
}

/// A failure of a key that a known sender used counts for a day. That of a key which nobody signed
/// for ends with the message, as anybody makes such messages. What deciphers many messages has
/// more failures, and what deciphers nothing has none.
#[test]
fn failed_openings_are_counted_by_what_deciphers_and_by_nothing_else() {
    let conversation_of = |unsigned: bool| {
        let mut policy = conversation(ConversationVersion::V13);
        if unsigned {
            policy.unsign();
        }
        policy
    };
    let context = context(ConversationVersion::V13);
    let knowing = Facts {
        kerberos: Some(KerberosSession {
            sha1: kerberos_sha1(b"a token"),
            token: None,
            key: context.secret.clone(),
            client: "alice@EXAMPLE.COM".to_owned(),
            expires: context.expires,
            authenticator: None,
            authenticator_ends: context.expires,
        }),
        ..knowing(&[&context])
    };
    let at = now();
    let day = at + Duration::from_secs(24 * 60 * 60);
    let limits = SecurityLimits::default();
    let (few, many) = (limits.failed_openings, limits.failed_openings_of_context);
    let encrypting = policy(Mechanism::Encrypt, "Basic128GCM");
    let signing = policy(Mechanism::SignEncrypt, "Basic128GCM");
    let secured = |policy: &Policy| secure(policy, PLAIN);
    let within = |policy: &Policy| text(&within(policy, &context));
    let cases = [
        (secured(&signing), signing, Some((few, Some(day)))),
        (secured(&encrypting), encrypting, Some((few, None))),
        (
            within(&conversation_of(true)),
            conversation_of(true),
            Some((many, Some(day))),
        ),
        (
            within(&conversation_of(false)),
            conversation_of(false),
            None,
        ),
    ];
    for (message, policy, expected) in cases {
        let plan = InboundPlan::compile(policy, service_keys()).unwrap();
        let (mut buffers, mut nobody) = (Buffers::default(), ());
        let shown = plan.authenticate(envelope(&message), &knowing, at, &mut buffers, &mut nobody);
        let shown = shown.unwrap();
        let ends = shown.marks().iter().map(|mark| mark.until).max();
        let counted = shown.deciphering_keys().iter();
        let counted: Vec<_> = counted
            .map(|key| (key.most_failures, Some(key.failures_until)))
            .collect();
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(most, until)| (most, until.or(ends)))
            .collect();
        assert_eq!(counted, expected);
    }
}
