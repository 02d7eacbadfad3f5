//! What the service must not grant.

use soapstone_crypto::base64;
use soapstone_testkit::keys;
use soapstone_trust::{Refusal, Requester, TrustFaultCode};
use soapstone_wss::ContextOwner;

use super::deputies::{acting, presented};
use super::{
    BOOKS, FRONT, SAML20, Sts, by_password, by_signature, certificate, is_valid, issue, request,
};
use crate::support::{WST, WSU, entropy};

/// An unknown sender is told one thing, and learns nothing of services,
/// claims and tokens.
#[test]
fn strangers_are_told_one_thing() {
    let sts = Sts::new();
    let stranger = Requester {
        owner: ContextOwner::Anonymous,
        ..by_signature("CN=client")
    };
    for body in [
        issue(BOOKS, "Bearer", ""),
        issue("urn:unknown", "Bearer", ""),
        issue(BOOKS, "Unknown", ""),
        acting("wst:OnBehalfOf", &presented(&sts)),
        request("Validate", ""),
        request("Unknown", ""),
        "<a/>".to_owned(),
    ] {
        assert_eq!(
            sts.refusal(&body, &stranger),
            Refusal::NotAuthenticated,
            "{body}"
        );
    }
}

/// A user's token and a certificate's signature in one request can be of two senders.
#[test]
fn nobody_is_granted_what_two_senders_may_have_asked_for() {
    let sts = Sts::new();
    let mut two = by_signature("CN=client");
    two.owner = ContextOwner::User("alice".to_owned());
    two.mixed = true;
    let target = format!("<wst:RenewTarget>{}</wst:RenewTarget>", presented(&sts));
    for body in [
        issue(BOOKS, "Bearer", ""),
        issue(BOOKS, "PublicKey", ""),
        request("Renew", &target),
        request("Validate", &target.replace("Renew", "Validate")),
    ] {
        let refusal = sts.refusal(&body, &two);
        assert_eq!(refusal, Refusal::RequesterAmbiguous, "{body}");
        assert_eq!(refusal.code(), TrustFaultCode::FailedAuthentication);
    }
}

/// WS-Trust 1.4, 9.2: the key of `UseKey` has to be proven. Every client
/// can write a foreign certificate there.
#[test]
fn a_key_that_did_not_sign_is_in_no_assertion() {
    let sts = Sts::new();
    let der = base64::encode(certificate("CN=books").der());
    let token_type =
        "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-x509-token-profile-1.0#X509v3";
    let token = format!(
        "<wsse:BinarySecurityToken ValueType='{token_type}'>{der}</wsse:BinarySecurityToken>"
    );
    let data = format!(
        "<ds:KeyInfo><ds:X509Data><ds:X509Certificate>{der}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>"
    );
    for inside in [&token, &data] {
        let use_key = format!("<wst:UseKey>{inside}</wst:UseKey>");
        let request = issue(BOOKS, "PublicKey", &use_key);
        let refusal = sts.refusal(&request, &by_signature("CN=client"));
        assert_eq!(refusal, Refusal::KeyNotProven);
        let said = sts.issued(&request, &by_signature("CN=books"));
        assert!(said.contains(&der));
        for key_type in ["Bearer", "SymmetricKey"] {
            let refusal = sts.refusal(&issue(BOOKS, key_type, &use_key), &by_signature("CN=books"));
            let element = format!("{{{WST}}}UseKey");
            assert_eq!(refusal, Refusal::NotUnderstood { element });
        }
    }
    // Two keys in one element: a reader could take either.
    let two = data.replace(
        "</ds:KeyInfo>",
        &format!(
            "<ds:X509Data><ds:X509Certificate>{}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>",
            base64::encode(certificate("CN=client").der())
        ),
    );
    let use_key = format!("<wst:UseKey>{two}</wst:UseKey>");
    let refusal = sts.refusal(
        &issue(BOOKS, "PublicKey", &use_key),
        &by_signature("CN=client"),
    );
    assert_eq!(refusal.code(), TrustFaultCode::InvalidRequest);
    // A user with a password has no key.
    let refusal = sts.refusal(&issue(BOOKS, "PublicKey", ""), &by_password("alice"));
    assert_eq!(refusal, Refusal::KeyNotProven);
}

#[test]
fn no_assertion_is_for_a_service_that_is_not_listed() {
    let sts = Sts::new();
    for address in [
        "urn:unknown",
        "https://books.example/books/",
        "https://books.example",
    ] {
        let refusal = sts.refusal(&issue(address, "Bearer", ""), &by_password("alice"));
        let address = address.to_owned();
        assert_eq!(refusal, Refusal::ScopeNotOffered { address });
    }
    let anywhere = request("Issue", "");
    assert_eq!(
        sts.refusal(&anywhere, &by_password("alice")),
        Refusal::ScopeMissing
    );
}

#[test]
fn a_lifetime_is_neither_stretched_nor_shortened_beyond_the_rules() {
    let sts = Sts::new();
    let asked = |created: i64, expires: i64| {
        let at = |seconds| sts.now + jiff::SignedDuration::from_secs(seconds);
        format!(
            "<wst:Lifetime><wsu:Created xmlns:wsu='{WSU}'>{}</wsu:Created><wsu:Expires xmlns:wsu='{WSU}'>{}</wsu:Expires></wst:Lifetime>",
            at(created),
            at(expires)
        )
    };
    let policy = super::rules(&keys::identity("CN=sts", keys::RSA)).policy;
    for (created, expires) in [(0, 3601), (0, 1_000_000_000), (-1_000_000, 1_000_000)] {
        let wanted = issue(BOOKS, "Bearer", &asked(created, expires));
        let issued = sts.issued(&wanted, &by_password("alice"));
        let end = super::read(&issued, "CN=sts", sts.now).expires(&policy);
        assert_eq!(end.as_second() - sts.now.as_second(), 3600);
    }
    // For later, over, of no length, and shorter than the shortest.
    for (created, expires) in [(600, 1200), (-1200, -600), (0, 0), (0, 59)] {
        let wanted = issue(BOOKS, "Bearer", &asked(created, expires));
        let refusal = sts.refusal(&wanted, &by_password("alice"));
        assert_eq!(
            refusal.code(),
            TrustFaultCode::InvalidTimeRange,
            "{created} {expires}"
        );
    }
}

#[test]
fn a_changed_assertion_is_not_valid() {
    let sts = Sts::new();
    let assertion = sts.issued(&issue(BOOKS, "Bearer", ""), &by_password("alice"));
    let forged = Sts::signing("CN=evil", |_| ());
    let forged = forged.issued(&issue(BOOKS, "Bearer", ""), &by_password("alice"));
    for (token, valid) in [
        (assertion.clone(), true),
        (assertion.replace(">alice<", ">bob<"), false),
        (assertion.replace("reader", "admin"), false),
        (forged, false),
        (
            format!("<saml2:Advice xmlns:saml2='{SAML20}'>{assertion}</saml2:Advice>"),
            false,
        ),
        ("<a/>".to_owned(), false),
    ] {
        let target = format!("<wst:ValidateTarget>{token}</wst:ValidateTarget>");
        let validate = request("Validate", &target);
        let answer = sts
            .answer(&validate, &by_signature("CN=books"))
            .expect("an answer");
        assert_eq!(is_valid(&answer), valid, "{token}");
    }
}

/// The key is never the requestor's alone, and never weaker than the rules (WS-Trust 1.4, 4.4.3 and
/// 4.4.4).
#[test]
fn entropy_of_the_requestor_does_not_choose_a_key() {
    let sts = Sts::new();
    let client = by_signature("CN=client");
    let refusal = sts.refusal(&issue(BOOKS, "SymmetricKey", &entropy(15)), &client);
    assert_eq!(
        refusal,
        Refusal::EntropyLength {
            found: 15,
            minimum: 16
        }
    );
    let size = format!("{}<wst:KeySize>64</wst:KeySize>", entropy(32));
    let refusal = sts.refusal(&issue(BOOKS, "SymmetricKey", &size), &client);
    let (found, minimum, maximum) = (64, 128, 512);
    assert_eq!(
        refusal,
        Refusal::KeySizeNotOffered {
            found,
            minimum,
            maximum
        }
    );
    let algorithm = format!(
        "{}<wst:ComputedKeyAlgorithm>{WST}/CK/HASH</wst:ComputedKeyAlgorithm>",
        entropy(32)
    );
    let refusal = sts.refusal(&issue(BOOKS, "SymmetricKey", &algorithm), &client);
    let found = format!("{WST}/CK/HASH");
    assert_eq!(refusal, Refusal::ComputedKeyNotOffered { found });
    // The same entropy twice gives different keys.
    let wanted = issue(BOOKS, "SymmetricKey", &entropy(32));
    let proof = |sts: &Sts| {
        let answer = sts.answer(&wanted, &client).expect("an answer");
        let body = String::from_utf8(answer.body).expect("text");
        let from = body.find("/Nonce\">").expect("entropy of ours");
        body[from..from + 52].to_owned()
    };
    assert_ne!(proof(&sts), proof(&sts));
    // A request that everybody can read tells everybody its part of the key.
    let mut open = by_signature("CN=client");
    open.confidential = false;
    assert_eq!(sts.refusal(&wanted, &open), Refusal::NotConfidential);
    for key_type in ["Bearer", "PublicKey"] {
        let refusal = sts.refusal(&issue(BOOKS, key_type, &entropy(32)), &client);
        let element = format!("{{{WST}}}Entropy");
        assert_eq!(refusal, Refusal::NotUnderstood { element });
    }
    // No service that has no certificate gets a key in the clear instead.
    let refusal = sts.refusal(&issue(FRONT, "SymmetricKey", &entropy(32)), &client);
    let found = format!("{WST}/SymmetricKey");
    assert_eq!(refusal, Refusal::KeyTypeNotOffered { found });
}

/// A service of contexts alone does nothing about assertions, and one of assertions alone nothing
/// about contexts.
#[test]
fn what_a_service_does_not_issue_is_refused() {
    let sts = Sts::new();
    let found = "http://docs.oasis-open.org/ws-sx/ws-secureconversation/200512/sct".to_owned();
    let wanted = format!("<wst:TokenType>{found}</wst:TokenType>");
    let refusal = sts.refusal(
        &issue(BOOKS, "SymmetricKey", &wanted),
        &by_password("alice"),
    );
    assert_eq!(refusal, Refusal::TokenTypeNotOffered { found });
    let contexts = crate::support::Host::default();
    let token = presented(&sts);
    let der = base64::encode(certificate("CN=client").der());
    let key = format!("<wsse:BinarySecurityToken>{der}</wsse:BinarySecurityToken>");
    for (element, inside, name) in [
        ("wst:OnBehalfOf", &token, format!("{{{WST}}}OnBehalfOf")),
        ("wst14:ActAs", &token, format!("{{{}}}ActAs", super::WST14)),
        ("wst:UseKey", &key, format!("{{{WST}}}UseKey")),
    ] {
        let body = request("Issue", &format!("<{element}>{inside}</{element}>"));
        let refusal = contexts.refusal(&body, &by_password("alice"));
        assert_eq!(refusal, Refusal::NotUnderstood { element: name });
    }
}
