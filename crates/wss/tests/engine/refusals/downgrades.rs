//! Less protection than the plan wants: other algorithms, another order, parts of it missing.

use soapstone_crypto::KeyWrap;
use soapstone_wss::names::{STR_TRANSFORM, WSSE};
use soapstone_wss::{
    AlgorithmUse, FaultCode, InboundPlan, KeyBinding, KeyReference, Keys, Mechanism, OutboundPlan,
    Outgoing, Part, PlanProblem, Policy, Receipt, Recipient, Rejected, Retirement, SecureError,
};

use soapstone_xml::{Buffers, Canonicalization};

use super::{cut, refuse, sign};
use crate::conversations::{bound, text};
use crate::support::Adjust as _;
use crate::support::*;

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

/// Who changes their names has to sign, or encipher, with others: nothing is computed first.
#[test]
fn digests_and_ciphers_outside_the_suite_are_refused_before_a_key_is_touched() {
    let encrypt = policy(Mechanism::Encrypt, "Basic128GCM");
    let sha3 = "http://www.w3.org/2007/05/xmldsig-more#sha3-256";
    let cbc = "http://www.w3.org/2001/04/xmlenc#aes128-cbc";
    for (policy, element, other, purpose) in [
        (sign(), "ds:DigestMethod", sha3, AlgorithmUse::Digest),
        (encrypt, "xenc:EncryptedData", cbc, AlgorithmUse::Data),
    ] {
        let message = secure(&policy, PLAIN);
        let (before, method) = message.split_once(&format!("<{element}")).unwrap();
        let (start, rest) = method.split_once("Algorithm=\"").unwrap();
        let (_, after) = rest.split_once('"').unwrap();
        let changed = format!("{before}<{element}{start}Algorithm=\"{other}\"{after}");
        match refuse(&policy, &changed) {
            Rejected::AlgorithmNotAllowed {
                purpose: for_what,
                found,
                ..
            } => {
                assert_eq!((for_what, found.as_str()), (purpose, other));
            }
            refused => panic!("{refused}"),
        }
    }
}

/// WS-I Basic Security Profile 1.1, R5404: the form of a token that is signed in the place of its
/// reference is as canonical as any.
#[test]
fn a_canonical_form_outside_the_suite_is_refused_in_what_dereferences_tokens_too() {
    let message = secure(&sign(), PLAIN);
    let inclusive = Canonicalization::Inclusive10;
    let dereferencing = format!(
        "<ds:Transforms><ds:Transform Algorithm=\"{STR_TRANSFORM}\"><wsse:TransformationParameters xmlns:wsse=\"{WSSE}\">\
         <ds:CanonicalizationMethod Algorithm=\"{}\"/></wsse:TransformationParameters></ds:Transform></ds:Transforms>",
        inclusive.uri()
    );
    let transforms = cut(&message, "ds:Transforms");
    let refused = refuse(&sign(), &message.replacen(transforms, &dereferencing, 1));
    assert_eq!(
        refused,
        Rejected::AlgorithmNotAllowed {
            purpose: AlgorithmUse::Canonicalization,
            found: inclusive.uri().to_owned(),
            allowed: Canonicalization::Exclusive.uri().to_owned(),
        }
    );
}

/// The suite has the exclusive form alone. What names another one, or names none and so means the
/// inclusive one (XML-DSig 4.4.3.2), is refused before a key is touched.
#[test]
fn a_canonical_form_outside_the_suite_is_refused_wherever_it_stands() {
    let message = secure(&sign(), PLAIN);
    let exclusive = Canonicalization::Exclusive.uri();
    let inclusive = Canonicalization::Inclusive10.uri();
    let transforms = cut(&message, "ds:Transforms");
    let other = format!("<ds:Transforms><ds:Transform Algorithm=\"{inclusive}\"/></ds:Transforms>");
    let of_signed_info = "<ds:CanonicalizationMethod Algorithm=\"";
    let changes = [
        message.replacen(transforms, &other, 1),
        message.replacen(transforms, "", 1),
        message.replacen(
            &format!("{of_signed_info}{exclusive}"),
            &format!("{of_signed_info}{inclusive}"),
            1,
        ),
    ];
    for changed in changes {
        assert_ne!(changed, message);
        assert_eq!(
            refuse(&sign(), &changed),
            Rejected::AlgorithmNotAllowed {
                purpose: AlgorithmUse::Canonicalization,
                found: inclusive.to_owned(),
                allowed: exclusive.to_owned(),
            }
        );
    }
}

#[test]
fn the_other_order_of_protection_is_refused() {
    let sign_first = policy(Mechanism::SignEncrypt, "Basic128GCM");
    let encrypt_first = policy(Mechanism::EncryptSign, "Basic128GCM");
    assert_eq!(
        refuse(&sign_first, &secure(&encrypt_first, PLAIN)),
        Rejected::WrongOrder { part: Part::Body }
    );
    // Where cipher text is what is to be signed, it is checked as cipher text, before anything is
    // deciphered.
    let refused = told_to_peer(&encrypt_first, &secure(&sign_first, PLAIN));
    assert_eq!(refused.name(), "digest-mismatch");
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

/// How a session key came is told, and refused from its day on, as how a message was signed.
#[test]
fn a_session_key_by_a_retired_algorithm_is_refused() {
    let mut agreed = policy(Mechanism::Encrypt, "Basic256GCMEcdhEs");
    agreed.suite.key_agreement[0].wrap = KeyWrap::TripleDes;
    let transported = policy(Mechanism::Encrypt, "Basic128Rsa15");
    for (mut policy, algorithm) in [(transported, "rsa-1_5"), (agreed, "kw-tripledes")] {
        let client = match Agreeing::of(&policy.suite.name) {
            Some(agreeing) => agreeing.client_keys(),
            None => client_keys(),
        };
        let secured = secure_with(&policy, client, PLAIN, None);
        let message = text(&secured);
        let opened = open(&policy, &message).unwrap();
        assert!(opened.evidence().weak.contains(&algorithm));
        let since = now() - std::time::Duration::from_secs(24 * 60 * 60);
        policy.retirements.push(Retirement {
            algorithm: algorithm.to_owned(),
            from: since,
        });
        let retired = Rejected::AlgorithmRetired { algorithm, since };
        assert_eq!(refuse(&policy, &message), retired);
    }
}

/// What a message is endorsed with, and what its session key is wrapped with, in every binding.
#[test]
fn a_retired_algorithm_is_not_used_from_its_day_on() {
    let bound = |suite, key| bound(Mechanism::SignEncrypt, suite, key, KeyReference::Thumbprint);
    let mut endorsed = bound("Basic256", KeyBinding::SessionKey);
    endorse(&mut endorsed, KeyReference::Direct, false, false);
    let session = bound("Basic256Rsa15", KeyBinding::SessionKey);
    let certificate = bound("Basic256Rsa15", KeyBinding::Certificate);
    let mut requester = bound("Basic256GCMEcdhEs", KeyBinding::Certificate);
    requester.suite.key_agreement[0].wrap = KeyWrap::TripleDes;
    requester.set_recipient(Recipient::Requester);
    let agreeing = Agreeing::of("Basic256GCMEcdhEs").unwrap();
    let agreeing = Keys {
        peer: None,
        ..agreeing.client_keys()
    };
    let asked = Receipt {
        signer: agreeing
            .identity
            .as_ref()
            .map(|identity| identity.certificate().clone()),
        ..Receipt::default()
    };
    for (mut policy, keys, algorithm) in [
        (endorsed, client_keys(), "rsa-sha1"),
        (session, client_keys(), "rsa-1_5"),
        (certificate, client_keys(), "rsa-1_5"),
        (requester, agreeing, "kw-tripledes"),
    ] {
        let made = |policy: &Policy| {
            let plan = OutboundPlan::compile(policy.clone(), keys.clone()).unwrap();
            let outgoing = Outgoing::answer(&asked);
            let made = plan.secure(envelope(PLAIN), outgoing, now(), &mut Buffers::default());
            made.map(drop)
        };
        assert_eq!(made(&policy), Ok(()), "{algorithm}");
        let since = now();
        policy.retirements.push(Retirement {
            algorithm: algorithm.to_owned(),
            from: since,
        });
        let refused = Err(SecureError::AlgorithmRetired { algorithm, since });
        assert_eq!(made(&policy), refused);
    }
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

/// A host that finds out after deciphering that a message is of another operation than its plan
/// must not become an oracle (Jager and Somorovsky, How to Break XML Encryption, 2011).
#[test]
fn what_the_host_refuses_after_a_decryption_looks_as_if_deciphering_had_failed() {
    let another = || Rejected::OperationMismatch {
        expected: "`echo`".to_owned(),
        found: "`pay`".to_owned(),
    };
    for suite in ["Basic128", "Basic128GCM"] {
        let policy = policy(Mechanism::Encrypt, suite);
        let message = envelope(&secure(&policy, PLAIN));
        let plan = InboundPlan::compile(policy, service_keys()).unwrap();
        let opened = plan
            .open_unmarked(message, &facts(), now(), &mut Buffers::default())
            .unwrap();
        let seen = opened.examine(|envelope| Ok(envelope.operation()));
        assert_eq!(seen.unwrap().as_deref(), Some("{urn:echo}echo"));
        let refused = opened
            .examine(|_| Err::<(), _>(another()))
            .expect_err("the host refuses it");
        assert_eq!(refused.fault(), FaultCode::FailedCheck, "{suite}");
        assert_eq!(refused.cause(), &another());
        assert_eq!(refused.name(), "decryption-failed");
    }
}

/// Jager and Somorovsky (2011): a changed copy of a message that was accepted is a copy, if it can
/// be read.
#[test]
fn a_copy_that_is_known_after_a_decryption_looks_as_if_deciphering_had_failed() {
    let unknown = || Rejected::ReplayUnknown {
        problem: "full".to_owned(),
    };
    let copied = FaultCode::FailedAuthentication;
    for (mechanism, suite, code_of_unknown) in [
        (Mechanism::Encrypt, "Basic128", FaultCode::FailedCheck),
        (Mechanism::Encrypt, "Basic128GCM", FaultCode::FailedCheck),
        (Mechanism::SignEncrypt, "Basic128", copied),
    ] {
        let policy = policy(mechanism, suite);
        let message = envelope(&secure(&policy, PLAIN));
        let plan = InboundPlan::compile(policy, service_keys()).unwrap();
        let opened = plan
            .open_unmarked(message, &facts(), now(), &mut Buffers::default())
            .unwrap();
        let refused = opened.refused(Rejected::Replayed);
        assert_eq!(
            refused.fault(),
            FaultCode::FailedCheck,
            "{mechanism} {suite}"
        );
        assert_eq!(*refused.cause(), Rejected::Replayed);
        let refused = opened.refused(unknown());
        assert_eq!(refused.fault(), code_of_unknown, "{mechanism} {suite}");
    }
}
