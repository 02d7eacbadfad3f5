//! What a security token service must not grant, each by its clause or its attack.

use std::time::Duration;

use soapstone_crypto::{KeyKind, KeyTransport, OaepParameters, PrivateKey, base64};
use soapstone_trust::{
    BatchProblem, ContextsUnavailable, Effect, MessageError, Operation, Refusal,
    SecurityTokenService, ServiceRules, TrustFaultCode, TrustVersion,
};
use soapstone_wss::{ContextOwner, SecurityContext};

use crate::support::{
    Host, WSC, WST, WST_2005, after, alice, context, entropy, envelope, holder, lifetime, now,
    request, requester, user,
};

/// A reference to a context, as `RenewTarget` or `CancelTarget` of a request.
fn about(operation: &str, identifier: &str, more: &str) -> String {
    let token = format!(
        "<wsc:SecurityContextToken><wsc:Identifier>{identifier}</wsc:Identifier></wsc:SecurityContextToken>"
    );
    let target = format!("<wst:{operation}Target>{token}</wst:{operation}Target>{more}");
    request(operation, &target)
}

/// A host that has these contexts.
fn host_of(contexts: &[SecurityContext]) -> Host {
    let host = Host::default();
    host.contexts.borrow_mut().extend_from_slice(contexts);
    host
}

fn not_understood(local: &str) -> Refusal {
    Refusal::NotUnderstood {
        element: format!("{{{WST}}}{local}"),
    }
}

fn not_proven(context: &SecurityContext) -> Refusal {
    Refusal::ContextNotProven {
        name: Some(context.name()),
    }
}

/// WS-SecureConversation 1.4, 5 and 6: possession of the key MUST be proven. Alice herself did not, nor did who only knows the name.
#[test]
fn a_forged_name_of_a_context_moves_nothing() {
    let (theirs, host) = (context("urn:uuid:theirs"), Host::default());
    host.contexts.borrow_mut().push(theirs.clone());
    for operation in ["Renew", "Cancel"] {
        let body = about(operation, &theirs.identifier, "");
        for requester in [alice(), requester(user("mallory"))] {
            assert_eq!(host.refusal(&body, &requester), not_proven(&theirs));
        }
    }
}

/// A context of somebody else is not told apart from one that does not exist.
#[test]
fn the_holder_of_one_context_cannot_renew_or_cancel_another() {
    let mine = SecurityContext {
        owner: user("mallory"),
        ..context("urn:uuid:mine")
    };
    let theirs = context("urn:uuid:theirs");
    let host = host_of(&[mine.clone(), theirs.clone()]);
    let mallory = holder(user("mallory"), &mine);
    for operation in ["Renew", "Cancel"] {
        for other in [&theirs, &context("urn:uuid:none")] {
            let refusal = host.refusal(&about(operation, &other.identifier, ""), &mallory);
            assert_eq!(refusal, not_proven(other));
            assert_eq!(refusal.code(), TrustFaultCode::BadContextToken);
        }
    }
}

/// A stolen context key in a message that somebody else authenticates.
#[test]
fn a_context_is_not_renewed_cancelled_or_amended_by_somebody_else_than_its_owner() {
    let theirs = context("urn:uuid:theirs");
    let host = host_of(std::slice::from_ref(&theirs));
    let mallory = holder(user("mallory"), &theirs);
    let name = theirs.name();
    for operation in ["Renew", "Cancel"] {
        assert_eq!(
            host.refusal(&about(operation, &theirs.identifier, ""), &mallory),
            Refusal::ContextNotYours { name: name.clone() }
        );
    }
    let amend = format!("{WST}/RST/SCT/Amend");
    let body = request("Issue", "");
    let fault = host
        .answer(body.as_bytes(), Some(&amend), &mallory, now())
        .unwrap_err();
    assert_eq!(fault.refusal, Refusal::ContextNotYours { name });
    assert_eq!(
        host.find(&theirs.name()).unwrap().owner.to_string(),
        "alice"
    );
}

/// WS-SecureConversation 1.4, 4.
#[test]
fn nothing_is_amended_without_proof_of_key_and_identity_or_with_new_entropy() {
    let theirs = context("urn:uuid:theirs");
    let expired = SecurityContext {
        expires: now(),
        ..theirs.clone()
    };
    let host = host_of(std::slice::from_ref(&theirs));
    let amend = format!("{WST}/RST/SCT/Amend");
    for (elements, requester, refusal) in [
        (
            String::new(),
            alice(),
            Refusal::ContextNotProven { name: None },
        ),
        (
            String::new(),
            holder(ContextOwner::Anonymous, &theirs),
            Refusal::NotAuthenticated,
        ),
        (
            entropy(32),
            holder(user("alice"), &theirs),
            not_understood("Entropy"),
        ),
        (
            String::new(),
            holder(user("alice"), &expired),
            Refusal::ContextExpired {
                name: expired.name(),
                expired: expired.expires,
            },
        ),
    ] {
        let body = request("Issue", &elements);
        let fault = host.answer(body.as_bytes(), Some(&amend), &requester, now());
        assert_eq!(fault.unwrap_err().refusal, refusal);
    }
}

/// Fixation: the attacker lets the victim use a context whose name or key it knows beforehand.
#[test]
fn a_request_cannot_fix_the_name_of_a_context() {
    let host = Host::default();
    let fixed = "urn:uuid:11111111-1111-4111-8111-111111111111";
    let token = format!(
        "<wsc:SecurityContextToken><wsc:Identifier>{fixed}</wsc:Identifier></wsc:SecurityContextToken>"
    );
    let refusal = host.refusal(&request("Issue", &token), &alice());
    let element = format!("{{{WSC}}}SecurityContextToken");
    assert_eq!(refusal, Refusal::NotUnderstood { element });
    let inside = format!("<wst:RequestedSecurityToken>{token}</wst:RequestedSecurityToken>");
    let refusal = host.refusal(&request("Issue", &inside), &alice());
    assert_eq!(refusal, not_understood("RequestedSecurityToken"));
    let target = format!("<wst:RenewTarget>{token}</wst:RenewTarget>");
    let refusal = host.refusal(&request("Issue", &target), &alice());
    assert_eq!(refusal, not_understood("RenewTarget"));

    let body = request("Issue", &entropy(32)).replace(
        "RequestSecurityToken xmlns",
        &format!("RequestSecurityToken Context='{fixed}' xmlns"),
    );
    let answer = host.answer(body.as_bytes(), None, &alice(), now()).unwrap();
    let text = String::from_utf8(answer.body).unwrap();
    assert!(text.contains(&format!("Context=\"{fixed}\"")));
    let context = host.contexts.borrow_mut().pop().unwrap();
    assert_ne!(context.identifier, fixed);
    assert!(context.identifier.starts_with("urn:uuid:"));
}

/// The service contributes as much as the key has: equal requests give different keys.
#[test]
fn a_request_cannot_fix_the_key_of_a_context() {
    let host = Host::default();
    for _ in 0..2 {
        let body = request("Issue", &entropy(32));
        host.answer(body.as_bytes(), None, &alice(), now()).unwrap();
    }
    let contexts = host.contexts.borrow();
    assert_ne!(contexts[0].secret.expose(), contexts[1].secret.expose());
    assert_ne!(contexts[0].identifier, contexts[1].identifier);
}

/// STS asked without authority: nobody, or somebody who only holds a context.
#[test]
fn a_context_is_issued_to_somebody_who_is_known_only() {
    let host = Host::default();
    let theirs = context("urn:uuid:theirs");
    for requester in [
        requester(ContextOwner::Anonymous),
        holder(ContextOwner::Anonymous, &theirs),
    ] {
        let refusal = host.refusal(&request("Issue", &entropy(32)), &requester);
        assert_eq!(refusal, Refusal::NotAuthenticated);
        assert_eq!(refusal.code(), TrustFaultCode::FailedAuthentication);
    }
}

/// WS-SecureConversation 1.4, 5: the original claims MUST be authenticated anew.
#[test]
fn a_renewal_by_the_key_alone_is_refused_unless_a_rule_allows_it_for_a_while() {
    let theirs = context("urn:uuid:theirs");
    let body = about("Renew", &theirs.identifier, &entropy(32));
    let key_alone = holder(ContextOwner::Anonymous, &theirs);
    let host = host_of(std::slice::from_ref(&theirs));
    assert_eq!(host.refusal(&body, &key_alone), Refusal::NotAuthenticated);

    let limit = Duration::from_secs(1000);
    let host = Host::new(|rules| rules.renewal_by_key_alone = Some(limit));
    host.answer(body.as_bytes(), None, &key_alone, after(400))
        .unwrap();
    let renewed = host.contexts.borrow_mut().pop().unwrap();
    assert_eq!(renewed.expires, after(1000));
    assert_eq!(renewed.created, theirs.created);
    let living = SecurityContext {
        expires: after(2000),
        ..renewed
    };
    let again = holder(ContextOwner::Anonymous, &living);
    let fault = host
        .answer(body.as_bytes(), None, &again, after(1000))
        .unwrap_err();
    let name = living.name();
    assert_eq!(fault.code(), TrustFaultCode::ContextUnableToRenew);
    assert_eq!(fault.refusal, Refusal::RenewalsExhausted { name, limit });
}

#[test]
fn an_expired_context_is_not_renewed() {
    let theirs = context("urn:uuid:theirs");
    let host = host_of(std::slice::from_ref(&theirs));
    let body = about("Renew", &theirs.identifier, &entropy(32));
    let fault = host
        .answer(
            body.as_bytes(),
            None,
            &holder(user("alice"), &theirs),
            theirs.expires,
        )
        .unwrap_err();
    assert_eq!(fault.code(), TrustFaultCode::ContextRenewNeeded);
    let (name, expired) = (theirs.name(), theirs.expires);
    assert_eq!(fault.refusal, Refusal::ContextExpired { name, expired });
}

/// A context of one version, named in a request of the other, or by the instance of another key.
#[test]
fn version_and_instance_of_a_named_context_must_be_those_of_the_proven_one() {
    let theirs = SecurityContext {
        instance: Some("urn:uuid:two".to_owned()),
        ..context("urn:uuid:theirs")
    };
    let host = host_of(std::slice::from_ref(&theirs));
    let signed = holder(user("alice"), &theirs);
    let old = about("Cancel", &theirs.identifier, "").replace(
        "</wsc:Identifier>",
        "</wsc:Identifier><wsc:Instance>urn:uuid:one</wsc:Instance>",
    );
    let mut name = theirs.name();
    name.instance = Some("urn:uuid:one".to_owned());
    let refusal = Refusal::ContextNotProven { name: Some(name) };
    assert_eq!(host.refusal(&old, &signed), refusal);

    let other = about("Cancel", &theirs.identifier, "").replace(WST, WST_2005);
    let fault = host
        .answer(other.as_bytes(), None, &signed, now())
        .unwrap_err();
    assert_eq!(fault.version, TrustVersion::February2005);
    let mut name = theirs.name();
    name.instance = None;
    let refusal = Refusal::ContextNotProven { name: Some(name) };
    assert_eq!(fault.refusal, refusal);
}

/// WS-Trust 1.4, 7: validating must not be an oracle for the existence of contexts.
#[test]
fn a_strangers_context_is_as_invalid_as_none() {
    let theirs = context("urn:uuid:theirs");
    let host = host_of(std::slice::from_ref(&theirs));
    let status = |identifier: &str, requester| {
        let body = about("Validate", identifier, "");
        let answer = host.answer(body.as_bytes(), None, &requester, now());
        String::from_utf8(answer.unwrap().body).unwrap()
    };
    let mallory = || requester(user("mallory"));
    let foreign = status(&theirs.identifier, mallory());
    assert!(foreign.contains("status/invalid"), "{foreign}");
    assert_eq!(foreign, status("urn:uuid:none", mallory()));
    assert!(status(&theirs.identifier, alice()).contains("status/valid"));
    let nobody = requester(ContextOwner::Anonymous);
    let body = about("Validate", &theirs.identifier, "");
    assert_eq!(host.refusal(&body, &nobody), Refusal::NotAuthenticated);
}

/// An anonymous context belongs to whoever has its key, not to everybody who is nobody.
#[test]
fn nobody_does_not_own_the_contexts_of_nobody() {
    let theirs = SecurityContext {
        owner: ContextOwner::Anonymous,
        ..context("urn:uuid:theirs")
    };
    let host = host_of(std::slice::from_ref(&theirs));
    let other = holder(ContextOwner::Anonymous, &context("urn:uuid:other"));
    let body = about("Validate", &theirs.identifier, "");
    let answer = host.answer(body.as_bytes(), None, &other, now()).unwrap();
    let text = String::from_utf8(answer.body).unwrap();
    assert!(text.contains("status/invalid"), "{text}");
}

#[test]
fn a_store_that_is_away_is_no_answer() {
    let service = SecurityTokenService::default();
    let problem = "connection refused".to_owned();
    let away = |_: &_| {
        Err(ContextsUnavailable {
            problem: problem.clone(),
        })
    };
    let body = envelope(about("Validate", "urn:uuid:theirs", "").as_bytes());
    let fault = service.answer(body.body(), None, &alice(), &away, now());
    let fault = fault.unwrap_err();
    assert_eq!(fault.code(), TrustFaultCode::RequestFailed);
    assert_eq!(fault.refusal, Refusal::ContextsUnavailable { problem });
}

/// WS-Trust 1.4, 4.1 and 12: entropy that can be guessed makes a key that can be.
#[test]
fn short_entropy_is_refused() {
    let host = Host::default();
    for (found, bits, minimum) in [(1, 128, 16), (15, 256, 16), (16, 264, 17), (31, 512, 32)] {
        let elements = format!("{}<wst:KeySize>{bits}</wst:KeySize>", entropy(found));
        let refusal = host.refusal(&request("Issue", &elements), &alice());
        assert_eq!(refusal, Refusal::EntropyLength { found, minimum });
    }
}

#[test]
fn entropy_that_is_none_is_refused() {
    let host = Host::default();
    let secret = |attributes: &str, text: &str| {
        format!(
            "<wst:Entropy><wst:BinarySecret {attributes}>{text}</wst:BinarySecret></wst:Entropy>"
        )
    };
    let long = base64::encode(&[7; 129]);
    let good = base64::encode(&[7; 32]);
    let asymmetric = format!("Type='{WST}/AsymmetricKey'");
    for elements in [
        secret("", ""),
        secret("", "!!!!"),
        secret("", &long),
        secret("", &"A".repeat(100_000)),
        secret("", &format!("<x/>{good}")),
        secret("", &format!("<!-- -->{good}")),
        secret(&asymmetric, &good),
        secret("Type='urn:other'", &good),
        secret(&format!("Type='{WST_2005}/Nonce'"), &good),
        "<wst:Entropy/>".to_owned(),
        format!("<wst:Entropy><wst:Nonce>{good}</wst:Nonce></wst:Entropy>"),
        entropy(32).replace(
            "</wst:Entropy>",
            "<wst:BinarySecret>AAAA</wst:BinarySecret></wst:Entropy>",
        ),
    ] {
        let refusal = host.refusal(&request("Issue", &elements), &alice());
        assert!(matches!(refusal, Refusal::Malformed(_)), "{refusal}");
        assert_eq!(refusal.code(), TrustFaultCode::InvalidRequest);
        // What may be secret is in no log.
        assert!(!refusal.to_string().contains(&good), "{refusal}");
    }
}

#[test]
fn entropy_is_required_where_the_rules_say_so() {
    let host = Host::new(|rules| rules.issuer_key_alone = false);
    let refusal = host.refusal(&request("Issue", ""), &alice());
    assert_eq!(refusal, Refusal::EntropyMissing);
}

/// Entropy for one reader: one failure, whatever its cause (Bleichenbacher 1998; Manger 2001).
#[test]
fn encrypted_entropy_opens_with_oaep_and_our_key_or_not_at_all() {
    let key = PrivateKey::generate(KeyKind::Rsa { bits: 2048 }).unwrap();
    let other = PrivateKey::generate(KeyKind::Rsa { bits: 2048 }).unwrap();
    let sealed = |key: &PrivateKey, algorithm: KeyTransport| {
        let cipher = key
            .public_key()
            .wrap(algorithm, &OaepParameters::default(), &[7; 32])
            .unwrap();
        format!(
            "<wst:Entropy><x:EncryptedKey xmlns:x='http://www.w3.org/2001/04/xmlenc#'><x:EncryptionMethod Algorithm='{}'/>\
             <x:CipherData><x:CipherValue>{}</x:CipherValue></x:CipherData></x:EncryptedKey></wst:Entropy>",
            algorithm.uri(),
            base64::encode(&cipher)
        )
    };
    let host = Host::new(|rules| rules.decryption_key = Some(key.clone()));
    // The one's entropy is secret, so that the other's need not be.
    let mut readable = alice();
    readable.confidential = false;
    let body = request("Issue", &sealed(&key, KeyTransport::RsaOaepMgf1p));
    let answer = host
        .answer(body.as_bytes(), None, &readable, now())
        .unwrap();
    assert!(!answer.confidential);

    let longer =
        sealed(&key, KeyTransport::RsaOaepMgf1p).replace("<x:CipherValue>", "<x:CipherValue>AAAA");
    for elements in [
        sealed(&other, KeyTransport::RsaOaepMgf1p),
        sealed(&key, KeyTransport::Rsa15),
        sealed(&other, KeyTransport::Rsa15),
        longer,
    ] {
        let refusal = host.refusal(&request("Issue", &elements), &alice());
        assert_eq!(refusal, Refusal::EntropyUnreadable);
    }
    let keyless = Host::default();
    assert_eq!(keyless.refusal(&body, &alice()), Refusal::EntropyUnreadable);
}

/// Key material in messages that everybody on the way can read.
#[test]
fn keys_are_not_made_in_the_open() {
    let theirs = context("urn:uuid:theirs");
    let host = host_of(std::slice::from_ref(&theirs));
    let mut requester = holder(user("alice"), &theirs);
    requester.confidential = false;
    for body in [
        request("Issue", ""),
        request("Issue", &entropy(32)),
        about("Renew", &theirs.identifier, &entropy(32)),
        about("Renew", &theirs.identifier, ""),
    ] {
        assert_eq!(host.refusal(&body, &requester), Refusal::NotConfidential);
    }
    let body = about("Cancel", &theirs.identifier, "");
    host.answer(body.as_bytes(), None, &requester, now())
        .unwrap();
}

#[test]
fn absurd_key_sizes_are_refused() {
    let host = Host::default();
    for found in [0, 1, 8, 120, 127, 129, 255, 520, 4096, u32::MAX] {
        let elements = format!("<wst:KeySize>{found}</wst:KeySize>{}", entropy(32));
        let refusal = host.refusal(&request("Issue", &elements), &alice());
        let (minimum, maximum) = (128, 512);
        assert_eq!(
            refusal,
            Refusal::KeySizeNotOffered {
                found,
                minimum,
                maximum
            }
        );
    }
    for text in ["", "-1", "4294967296", "256.0", "0x100", "256 bits"] {
        let elements = format!("<wst:KeySize>{text}</wst:KeySize>");
        let refusal = host.refusal(&request("Issue", &elements), &alice());
        let expected = MessageError::Value {
            element: format!("{{{WST}}}KeySize"),
            expected: "a number of bits",
            found: Some(text.to_owned()),
            line: 1,
        };
        assert_eq!(refusal, Refusal::Malformed(expected));
    }
}

/// WS-Trust 1.4, 9.2.
#[test]
fn other_keys_and_computations_are_refused() {
    let host = Host::default();
    for kind in ["PublicKey", "Bearer", "Other"] {
        let found = format!("{WST}/{kind}");
        let elements = format!("<wst:KeyType>{found}</wst:KeyType>");
        let refusal = host.refusal(&request("Issue", &elements), &alice());
        assert_eq!(refusal, Refusal::KeyTypeNotOffered { found });
    }
    for algorithm in ["CK/HASH", "CK/PSHA256", "PSHA1"] {
        let found = format!("{WST}/{algorithm}");
        let elements = format!(
            "<wst:ComputedKeyAlgorithm>{found}</wst:ComputedKeyAlgorithm>{}",
            entropy(32)
        );
        let refusal = host.refusal(&request("Issue", &elements), &alice());
        assert_eq!(refusal, Refusal::ComputedKeyNotOffered { found });
    }
}

/// WS-Trust 1.4, 4.1: `wst:InvalidTimeRange`.
#[test]
fn absurd_lifetimes_are_refused_and_long_ones_cut() {
    let host = Host::default();
    for (created, expires) in [(0, 0), (10, 5), (-7200, -3600), (301, 600), (-100_000, 0)] {
        let body = request("Issue", &(lifetime(created, expires) + &entropy(32)));
        let refusal = host.refusal(&body, &alice());
        assert!(matches!(refusal, Refusal::TimeRange { .. }), "{refusal}");
        assert_eq!(refusal.code(), TrustFaultCode::InvalidTimeRange);
    }
    let hour = 3600;
    for (elements, granted) in [
        (lifetime(0, 600), 600),
        (lifetime(-120, 480), 600),
        (lifetime(250, 850), 600),
        (lifetime(0, 240 * hour), 12 * hour),
        (lifetime(-1000 * hour, 2 * hour), 2 * hour),
        (
            lifetime(0, 1).replace(&after(1).to_string(), "9999-12-30T22:00:00Z"),
            12 * hour,
        ),
        ("<wst:Lifetime/>".to_owned(), hour),
        (String::new(), hour),
    ] {
        let body = request("Issue", &(elements + &entropy(32)));
        host.answer(body.as_bytes(), None, &alice(), now()).unwrap();
        let context = host.contexts.borrow_mut().pop().unwrap();
        assert_eq!(context.expires, after(granted), "{body}");
    }
    for text in [
        "",
        "tomorrow",
        "2026-11-20T13:00:00",
        "2026-11-20 13:00:00Z",
    ] {
        let time = format!("<wst:Lifetime><wsu:Expires>{text}</wsu:Expires></wst:Lifetime>");
        let refusal = host.refusal(&request("Issue", &time), &alice());
        assert!(matches!(refusal, Refusal::Malformed(_)), "{refusal}");
    }
}

/// Two readers could take different ones.
#[test]
fn an_element_that_occurs_twice_is_refused() {
    let host = Host::default();
    let scope = "<p:AppliesTo xmlns:p='http://schemas.xmlsoap.org/ws/2004/09/policy'><a:EndpointReference xmlns:a='http://www.w3.org/2005/08/addressing'><a:Address>urn:a</a:Address></a:EndpointReference></p:AppliesTo>";
    for (local, element) in [
        (
            "RequestType",
            format!("<wst:RequestType>{WST}/Cancel</wst:RequestType>"),
        ),
        (
            "TokenType",
            format!("<wst:TokenType>{WSC}/sct</wst:TokenType>").repeat(2),
        ),
        ("Entropy", entropy(32).repeat(2)),
        ("Lifetime", lifetime(0, 60).repeat(2)),
        ("KeySize", "<wst:KeySize>128</wst:KeySize>".repeat(2)),
        (
            "KeyType",
            format!("<wst:KeyType>{WST}/SymmetricKey</wst:KeyType>").repeat(2),
        ),
        (
            "ComputedKeyAlgorithm",
            format!("<wst:ComputedKeyAlgorithm>{WST}/CK/PSHA1</wst:ComputedKeyAlgorithm>")
                .repeat(2),
        ),
        ("Renewing", "<wst:Renewing/>".repeat(2)),
        (
            "SecondaryParameters",
            "<wst:SecondaryParameters/>".repeat(2),
        ),
        ("AppliesTo", scope.repeat(2)),
    ] {
        let refusal = host.refusal(&request("Issue", &element), &alice());
        let Refusal::Malformed(MessageError::Duplicate { element, line: 1 }) = &refusal else {
            panic!("{refusal}");
        };
        assert!(element.ends_with(&format!("}}{local}")), "{element}");
    }
    for target in ["Renew", "Cancel"] {
        let one = about(target, "urn:uuid:one", "");
        let (start, rest) = one.split_at(one.find(&format!("<wst:{target}Target")).unwrap());
        let (twice, end) = rest.split_at(rest.find("</wst:RequestSecurityToken>").unwrap());
        let body = format!("{start}{twice}{}{end}", twice.replace("one", "two"));
        let refusal = host.refusal(&body, &alice());
        let element = format!("{{{WST}}}{target}Target");
        let duplicate = MessageError::Duplicate { element, line: 1 };
        assert_eq!(refusal, Refusal::Malformed(duplicate));
    }
    let twice = about("Cancel", "urn:uuid:one", "").replace(
        "</wsc:Identifier>",
        "</wsc:Identifier><wsc:Identifier>urn:uuid:two</wsc:Identifier>",
    );
    let element = format!("{{{WSC}}}Identifier");
    let duplicate = MessageError::Duplicate { element, line: 1 };
    assert_eq!(
        host.refusal(&twice, &alice()),
        Refusal::Malformed(duplicate)
    );
}

/// The action chose the policy by which the message was verified; the request type would choose what is done.
#[test]
fn an_action_for_something_else_than_the_request_is_refused() {
    let host = Host::default();
    for (action, kind) in [
        (format!("{WST}/RST/SCT/Cancel"), "Issue"),
        (format!("{WST}/RST/SCT/Renew"), "Issue"),
        (format!("{WST}/RST/SCT"), "Cancel"),
        (format!("{WST}/RST/SCT"), "Renew"),
        (format!("{WST}/RST/SCT/Amend"), "Renew"),
        (format!("{WST}/RST/Validate"), "Issue"),
        (format!("{WST_2005}/RST/SCT"), "Issue"),
        (format!("{WST}/RSTR/SCT"), "Issue"),
        (format!("{WST}/BatchIssue"), "Issue"),
        ("urn:books/list".to_owned(), "Issue"),
    ] {
        let body = request(kind, "");
        let fault = host
            .answer(body.as_bytes(), Some(&action), &alice(), now())
            .unwrap_err();
        let request_type = format!("{WST}/{kind}");
        assert_eq!(
            fault.refusal,
            Refusal::ActionMismatch {
                action,
                request_type
            }
        );
    }
}

/// What a policy's template says for the requestor must not act for it (WS-Trust 1.4, 3.1).
#[test]
fn secondary_parameters_hold_wishes_and_nothing_else() {
    let host = Host::default();
    for inside in [
        entropy(32),
        format!("<wst:RequestType>{WST}/Cancel</wst:RequestType>"),
        "<wst:Participants/>".to_owned(),
        "<wst:SecondaryParameters/>".to_owned(),
    ] {
        let elements = format!("<wst:SecondaryParameters>{inside}</wst:SecondaryParameters>");
        let refusal = host.refusal(&request("Issue", &elements), &alice());
        let expected = "the requestor's own elements outside of `wst:SecondaryParameters`";
        let element = format!("{{{WST}}}SecondaryParameters");
        let value = MessageError::Value {
            element,
            expected,
            found: None,
            line: 1,
        };
        assert_eq!(refusal, Refusal::Malformed(value));
    }
}

/// WS-Trust 1.4, 3.1: what is not understood is refused, not left out.
#[test]
fn wishes_that_nothing_is_done_about_are_refused() {
    let host = Host::default();
    for local in [
        "OnBehalfOf",
        "Claims",
        "UseKey",
        "DelegateTo",
        "Forwardable",
        "Delegatable",
        "ProofEncryption",
        "Encryption",
        "Issuer",
        "AllowPostdating",
        "BinaryExchange",
        "SignChallenge",
        "Participants",
        "Anything",
    ] {
        let refusal = host.refusal(&request("Issue", &format!("<wst:{local}/>")), &alice());
        assert_eq!(refusal, not_understood(local));
        assert_eq!(refusal.code(), TrustFaultCode::BadRequest);
        let inside = format!("<wst:SecondaryParameters><wst:{local}/></wst:SecondaryParameters>");
        if local != "Participants" {
            let refusal = host.refusal(&request("Issue", &inside), &alice());
            assert_eq!(refusal, not_understood(local));
        }
    }
    let act_as = "<t:ActAs xmlns:t='http://docs.oasis-open.org/ws-sx/ws-trust/200802'/>";
    let element = "{http://docs.oasis-open.org/ws-sx/ws-trust/200802}ActAs".to_owned();
    let refusal = host.refusal(&request("Issue", act_as), &alice());
    assert_eq!(refusal, Refusal::NotUnderstood { element });
}

#[test]
fn other_tokens_versions_and_scopes_are_refused() {
    let host = Host::new(|rules| {
        rules.versions = vec![TrustVersion::V13];
        rules.scopes = vec!["https://example.org/books".to_owned()];
    });
    for found in [
        "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.1#SAMLV2.0",
        "http://schemas.xmlsoap.org/ws/2005/02/sc/sct",
    ] {
        let elements = format!("<wst:TokenType>{found}</wst:TokenType>");
        let refusal = host.refusal(&request("Issue", &elements), &alice());
        let found = found.to_owned();
        assert_eq!(refusal, Refusal::TokenTypeNotOffered { found });
    }
    let old = request("Issue", "").replace(WST, WST_2005);
    let version = TrustVersion::February2005;
    let refusal = host.refusal(&old, &alice());
    assert_eq!(refusal, Refusal::VersionNotOffered { version });

    let scope = |address: &str| {
        format!(
            "<p:AppliesTo xmlns:p='http://www.w3.org/ns/ws-policy'><a:EndpointReference xmlns:a='http://www.w3.org/2005/08/addressing'>\
             <a:Address>{address}</a:Address></a:EndpointReference></p:AppliesTo>{}",
            entropy(32)
        )
    };
    let address = "https://example.org/payroll".to_owned();
    let refusal = host.refusal(&request("Issue", &scope(&address)), &alice());
    assert_eq!(refusal, Refusal::ScopeNotOffered { address });
    let body = request("Issue", &scope("https://example.org/books"));
    host.answer(body.as_bytes(), None, &alice(), now()).unwrap();
}

#[test]
fn a_body_without_exactly_one_request_is_refused() {
    let host = Host::default();
    for body in [
        String::new(),
        request("Issue", "").repeat(2),
        "<x xmlns='urn:x'/>".to_owned(),
        format!("<RequestSecurityTokenResponse xmlns='{WST}'/>"),
        format!("<RequestSecurityToken xmlns='{WST}'/>"),
        request("Explode", ""),
        request("STSCancel", ""),
        format!("<RequestSecurityTokenCollection xmlns='{WST_2005}'/>"),
    ] {
        let refusal = host.refusal(&body, &alice());
        assert!(matches!(refusal, Refusal::Malformed(_)), "{refusal}");
    }
}

#[test]
fn a_target_that_names_no_context_is_refused() {
    let theirs = context("urn:uuid:theirs");
    let host = host_of(std::slice::from_ref(&theirs));
    let signed = holder(user("alice"), &theirs);
    let operation = Operation::Cancel;
    for inside in [
        "<wsse:SecurityTokenReference><wsse:KeyIdentifier>x</wsse:KeyIdentifier></wsse:SecurityTokenReference>",
        "<wsse:SecurityTokenReference><wsse:Reference URI='#absent'/></wsse:SecurityTokenReference>",
        "<wsse:SecurityTokenReference><wsse:Reference URI='urn:uuid:theirs' ValueType='urn:other'/></wsse:SecurityTokenReference>",
        "<wsse:UsernameToken/>",
    ] {
        let target = format!("<wst:CancelTarget>{inside}</wst:CancelTarget>");
        let refusal = host.refusal(&request("Cancel", &target), &signed);
        assert_eq!(refusal, Refusal::TargetMissing { operation }, "{inside}");
    }
    let refusal = host.refusal(&request("Cancel", ""), &signed);
    assert_eq!(refusal, Refusal::TargetMissing { operation });
    for uri in ["", "relative", "urn:with space", "1urn:x"] {
        let reference = format!(
            "<wst:CancelTarget><wsse:SecurityTokenReference><wsse:Reference URI='{uri}'/></wsse:SecurityTokenReference></wst:CancelTarget>"
        );
        let refusal = host.refusal(&request("Cancel", &reference), &signed);
        assert!(matches!(refusal, Refusal::Malformed(_)), "{uri}: {refusal}");
    }
}

fn collection(requests: &[String]) -> String {
    format!(
        "<wst:RequestSecurityTokenCollection xmlns:wst='{WST}'>{}</wst:RequestSecurityTokenCollection>",
        requests.concat()
    )
}

/// WS-Trust 1.4, 4.2.1.
#[test]
fn a_collection_gets_all_its_contexts_or_none() {
    let host = Host::default();
    let good = request("BatchIssue", &entropy(32));
    let body = collection(&[good.clone(), good.clone(), good.clone()]);
    let answer = host
        .answer(
            body.as_bytes(),
            Some(&format!("{WST}/BatchIssue")),
            &alice(),
            now(),
        )
        .unwrap();
    assert_eq!(answer.effects.len(), 3);
    assert_eq!(answer.action, format!("{WST}/RSTRC/IssueFinal"));
    host.contexts.borrow_mut().clear();

    let bad = request("BatchIssue", &entropy(3));
    let refusal = host.refusal(&collection(&[good.clone(), good, bad]), &alice());
    let (found, minimum) = (3, 16);
    assert_eq!(refusal, Refusal::EntropyLength { found, minimum });
    assert!(host.contexts.borrow().is_empty());
}

#[test]
fn huge_and_mixed_collections_are_refused() {
    let host = Host::default();
    let good = request("BatchIssue", &entropy(32));
    for found in [0, 1, 9, 64] {
        let refusal = host.refusal(&collection(&vec![good.clone(); found]), &alice());
        let problem = BatchProblem::Size { found, limit: 8 };
        assert_eq!(refusal, Refusal::Batch { problem });
    }
    let refusal = host.refusal(&collection(&vec![good.clone(); 65]), &alice());
    let too_many = MessageError::TooMany {
        what: "requests in a collection",
        limit: 64,
    };
    assert_eq!(refusal, Refusal::Malformed(too_many));
    for other in ["Issue", "BatchCancel"] {
        let mixed = collection(&[good.clone(), request(other, "")]);
        let problem = BatchProblem::RequestType {
            found: format!("{WST}/{other}"),
        };
        assert_eq!(host.refusal(&mixed, &alice()), Refusal::Batch { problem });
    }
    let problem = BatchProblem::RequestType {
        found: format!("{WST}/BatchIssue"),
    };
    assert_eq!(host.refusal(&good, &alice()), Refusal::Batch { problem });
}

/// Each context's key would have to sign.
#[test]
fn contexts_are_not_renewed_or_cancelled_by_the_dozen() {
    let theirs = context("urn:uuid:theirs");
    let host = host_of(std::slice::from_ref(&theirs));
    let signed = holder(user("alice"), &theirs);
    for operation in ["Renew", "Cancel"] {
        let one = about(operation, &theirs.identifier, "")
            .replace(&format!("/{operation}<"), &format!("/Batch{operation}<"));
        let found = format!("{WST}/Batch{operation}");
        assert_eq!(
            host.refusal(&collection(&[one.clone(), one]), &signed),
            Refusal::RequestTypeNotOffered { found }
        );
    }
}

#[test]
fn an_answer_shows_no_key_in_logs() {
    let host = Host::default();
    let answer = host
        .answer(request("Issue", "").as_bytes(), None, &alice(), now())
        .unwrap();
    let text = String::from_utf8(answer.body.clone()).unwrap();
    let (_, secret) = text.split_once("SymmetricKey\">").unwrap();
    let secret = &secret[..40];
    let [Effect::Store(context)] = &answer.effects[..] else {
        panic!("one context");
    };
    assert!(base64::encode(context.secret.expose()).starts_with(secret));
    assert!(!format!("{answer:?}").contains(secret));
}

#[test]
fn the_rules_are_those_that_were_given() {
    let service = SecurityTokenService::new(ServiceRules::default());
    assert!(service.rules().confidential && !service.rules().anonymous);
}

/// WS-SecureConversation 1.4, 5 wants the key's signature as well; CXF's client shows only who it is.
#[test]
fn an_owner_without_the_key_renews_and_cancels_only_where_a_rule_allows_it() {
    let theirs = context("urn:uuid:theirs");
    let nobodys = SecurityContext {
        owner: ContextOwner::Anonymous,
        ..context("urn:uuid:nobodys")
    };
    let body = about("Renew", &theirs.identifier, &entropy(32));
    let host = host_of(std::slice::from_ref(&theirs));
    assert_eq!(host.refusal(&body, &alice()), not_proven(&theirs));

    let host = Host::new(|rules| rules.owner_alone = true);
    host.contexts
        .borrow_mut()
        .extend([theirs.clone(), nobodys.clone()]);
    for stranger in [
        requester(user("mallory")),
        requester(ContextOwner::Anonymous),
    ] {
        assert_eq!(host.refusal(&body, &stranger), not_proven(&theirs));
    }
    let body_of_nobody = about("Renew", &nobodys.identifier, &entropy(32));
    assert_eq!(
        host.refusal(&body_of_nobody, &alice()),
        not_proven(&nobodys)
    );
    host.answer(body.as_bytes(), None, &alice(), after(60))
        .unwrap();
    let cancel = about("Cancel", &theirs.identifier, "");
    assert_eq!(
        host.refusal(&cancel, &requester(user("mallory"))),
        not_proven(&theirs)
    );
    host.answer(cancel.as_bytes(), None, &alice(), after(60))
        .unwrap();
}
