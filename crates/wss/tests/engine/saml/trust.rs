//! Whose assertion it is: each issuer has keys of its own, and signs one assertion as a whole.

use std::sync::Arc;

use jiff::Timestamp;
use soapstone_crypto::{DigestAlgorithm, Identity, SignatureAlgorithm, SymmetricKey, base64};
use soapstone_testkit::keys;
use soapstone_wss::{AssertionIssuer, Facts, Keys, Rejected, Retirement, SamlVersion};
use soapstone_xml::Canonicalization;

use super::issuing::*;
use super::{Case, refuse_all};
use crate::support::{PARTIES, open_with};

fn unsigned() -> String {
    Draft::bearer(SamlVersion::V20).unsigned()
}

/// A message with an assertion that this identity has signed in the issuer's name.
fn by(signer: &Identity) -> String {
    message(&sign(&unsigned(), &SignatureForm::of(ID), signer))
}

/// A message with an assertion that its issuer has signed in another form.
fn formed(change: impl FnOnce(&mut SignatureForm)) -> String {
    let mut form = SignatureForm::of(ID);
    change(&mut form);
    message(&sign(&unsigned(), &form, &IDP))
}

/// A message with a right assertion, in which one text is another one.
fn changed(from: &str, to: &str) -> String {
    let assertion = Draft::bearer(SamlVersion::V20).signed();
    assert!(assertion.contains(from), "{from} in {assertion}");
    message(&assertion.replacen(from, to, 1))
}

#[test]
fn nobody_signs_in_the_name_of_an_issuer() {
    let namesake = keys::identity_by("CN=other ca", "CN=idp", keys::RSA);
    let data = |identity: &Identity| base64::encode(identity.certificate().der());
    let right = Draft::bearer(SamlVersion::V20).signed();
    let other_issuer = Draft {
        issuer: "https://unknown.example".to_owned(),
        ..Draft::bearer(SamlVersion::V20)
    };
    let issuer_with_space = Draft {
        issuer: format!("{ISSUER} "),
        ..Draft::bearer(SamlVersion::V20)
    };
    let issuer_11 = Draft {
        issuer: "https://unknown.example".to_owned(),
        ..Draft::bearer(SamlVersion::V11)
    };
    let in_other_name = Draft {
        issuer: OTHER_ISSUER.to_owned(),
        ..Draft::bearer(SamlVersion::V20)
    };
    let cases: Vec<Case> = vec![
        (
            "no signature",
            message(&unsigned()),
            "assertion-unsigned: expected the issuer's signature in the assertion, found none",
        ),
        (
            "no signature in 1.1",
            message(&Draft::bearer(SamlVersion::V11).unsigned()),
            "assertion-unsigned: expected the issuer's signature in the assertion, found none",
        ),
        (
            "an unknown issuer",
            message(&other_issuer.signed()),
            "issuer-unknown: expected an assertion of a known issuer, found one of `https://unknown.example`",
        ),
        (
            "an unknown issuer in 1.1",
            message(&issuer_11.signed()),
            "issuer-unknown: expected an assertion of a known issuer, found one of `https://unknown.example`",
        ),
        (
            "an issuer that is written in another way",
            message(&issuer_with_space.signed()),
            "issuer-unknown: expected an assertion of a known issuer, found one of `https://idp.example `",
        ),
        // Issuer confusion: each of them is trusted, for its own assertions.
        ("the key of another issuer", by(&OTHER_IDP), "untrusted"),
        (
            "an assertion in another issuer's name",
            message(&in_other_name.signed()),
            "untrusted",
        ),
        // Key confusion: this key signs messages.
        (
            "the key of a client whose messages are believed",
            by(&PARTIES.client),
            "untrusted",
        ),
        (
            "a certificate with the same subject",
            by(&namesake),
            "untrusted",
        ),
        (
            "a stranger's key beside the issuer's certificate",
            by(&namesake).replace(&data(&namesake), &data(&IDP)),
            "signature-mismatch",
        ),
        (
            "a stranger's certificate beside the issuer's signature",
            message(&right.replace(&data(&IDP), &data(&namesake))),
            "untrusted",
        ),
        (
            "no certificate, and a stranger's key",
            message(&sign(
                &unsigned(),
                &SignatureForm {
                    with_certificate: false,
                    ..SignatureForm::of(ID)
                },
                &namesake,
            )),
            "signature-mismatch",
        ),
    ];
    for (name, message, expected) in cases {
        let refused = open_over_tls(&message).unwrap_err();
        let found = match expected.contains(':') {
            true => format!("{}: {refused}", refused.name()),
            false if matches!(refused, Rejected::Untrusted(_)) => "untrusted".to_owned(),
            false => refused.name().to_owned(),
        };
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn a_signature_covers_one_assertion_as_a_whole() {
    const FORM: &str = "malformed: `saml:Assertion`: expected its signature to have the transforms enveloped-signature and exclusive canonicalization";
    const ID_ONLY: &str = "malformed: `saml:Assertion`: expected its signature to refer to its id";
    let transform = "<ds:Transform Algorithm=\"http://www.w3.org/2000/09/xmldsig#enveloped-signature\"></ds:Transform>";
    let reference = {
        let signed = Draft::bearer(SamlVersion::V20).signed();
        let start = signed.find("<ds:Reference").unwrap();
        let end = signed.find("</ds:Reference>").unwrap() + "</ds:Reference>".len();
        signed[start..end].to_owned()
    };
    let cases: Vec<Case> = vec![
        (
            "the whole document",
            formed(|form| form.uri = String::new()),
            ID_ONLY,
        ),
        (
            "another id",
            formed(|form| form.uri = "#_other".to_owned()),
            ID_ONLY,
        ),
        (
            "an id by XPointer",
            formed(|form| form.uri = format!("#xpointer(id('{ID}'))")),
            ID_ONLY,
        ),
        (
            "an address",
            formed(|form| form.uri = "https://idp.example/assertion".to_owned()),
            ID_ONLY,
        ),
        (
            "inclusive canonicalization",
            formed(|form| form.canonicalization = Canonicalization::Inclusive10),
            FORM,
        ),
        (
            "canonicalization with comments",
            formed(|form| form.canonicalization = Canonicalization::ExclusiveWithComments),
            FORM,
        ),
        (
            "a signature that is part of what it covers",
            formed(|form| form.enveloped = false),
            FORM,
        ),
        (
            "no canonicalization",
            changed(
                "<ds:Transform Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"></ds:Transform>",
                "",
            ),
            FORM,
        ),
        (
            "a transform twice",
            changed(transform, &transform.repeat(2)),
            "too-many: more than 2 `ds:Transform`",
        ),
        (
            "a stylesheet",
            changed(
                transform,
                "<ds:Transform Algorithm=\"http://www.w3.org/TR/1999/REC-xslt-19991116\"/>",
            ),
            "transform-not-allowed",
        ),
        (
            "a path",
            changed(
                transform,
                "<ds:Transform Algorithm=\"http://www.w3.org/TR/1999/REC-xpath-19991116\"/>",
            ),
            "transform-not-allowed",
        ),
        (
            "a second reference",
            changed(&reference, &reference.repeat(2)),
            "too-many: more than 1 `ds:Reference`",
        ),
        ("no reference", changed(&reference, ""), ""),
        (
            "an object in the signature",
            changed("</ds:Signature>", "<ds:Object/></ds:Signature>"),
            "malformed: `saml:Assertion`: expected no `ds:Object` in its signature",
        ),
        (
            "another canonicalization of the signature",
            changed(
                "<ds:CanonicalizationMethod Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\">",
                "<ds:CanonicalizationMethod Algorithm=\"http://www.w3.org/TR/2001/REC-xml-c14n-20010315\">",
            ),
            FORM,
        ),
    ];
    for (name, message, expected) in cases {
        let refused = open_over_tls(&message).unwrap_err();
        let found = format!("{}: {refused}", refused.name());
        match expected {
            "" => assert!(matches!(refused, Rejected::Signature(_)), "{name}: {found}"),
            expected if !expected.contains(':') => assert_eq!(refused.name(), expected, "{name}"),
            expected => assert_eq!(found, expected, "{name}"),
        }
    }
}

#[test]
fn what_was_signed_is_what_is_read() {
    let changes = [
        ("another subject", ">alice<", ">admin<"),
        ("another role", ">reader<", ">admin<"),
        (
            "another audience",
            "https://service.example<",
            "https://service.example/x<",
        ),
        ("another method", "cm:bearer", "cm:sender-vouches"),
        (
            "another value of an attribute",
            "<saml:AttributeValue>",
            "<saml:AttributeValue>admin</saml:AttributeValue><saml:AttributeValue>",
        ),
    ];
    let policy = adjusted(&by_connection(), |accepted| {
        accepted
            .audiences
            .push("https://service.example/x".to_owned());
    });
    for (name, from, to) in changes {
        let refused = open_as(&policy, &changed(from, to), &Facts::default()).unwrap_err();
        assert_eq!(refused.name(), "digest-mismatch", "{name}");
    }
    let other_value = changed("<ds:SignatureValue>", "<ds:SignatureValue>AAAA");
    assert_eq!(
        open_over_tls(&other_value).unwrap_err().name(),
        "signature-mismatch"
    );
}

#[test]
fn weak_algorithms_of_issuers_are_those_that_are_named() {
    let (method, digest) = (SignatureAlgorithm::RsaSha1, DigestAlgorithm::Sha1);
    let weak_method = formed(|form| form.method = Some(method));
    let weak_digest = formed(|form| form.digest = digest);
    let refused = |message: &str| open_over_tls(message).unwrap_err();
    let Rejected::AlgorithmNotAllowed { found, .. } = refused(&weak_method) else {
        panic!("{}", refused(&weak_method));
    };
    assert_eq!(found, method.uri());
    let Rejected::AlgorithmNotAllowed { found, .. } = refused(&weak_digest) else {
        panic!("{}", refused(&weak_digest));
    };
    assert_eq!(found, digest.uri());
    let mut policy = adjusted(&by_connection(), |accepted| {
        accepted.signature.push(method);
        accepted.digest.push(digest);
    });
    for (message, name) in [(&weak_method, "rsa-sha1"), (&weak_digest, "sha1")] {
        let verified = open_as(&policy, message, &Facts::default()).unwrap();
        assert_eq!(verified.evidence().weak, [name]);
    }
    policy.retirements.push(Retirement {
        algorithm: "rsa-sha1".to_owned(),
        from: Timestamp::UNIX_EPOCH,
    });
    let refused = open_as(&policy, &weak_method, &Facts::default()).unwrap_err();
    assert_eq!(refused.name(), "algorithm-retired");
}

/// A public key is no secret: whoever knows it would make an authentication code with it.
#[test]
fn the_public_key_of_an_issuer_is_no_secret() {
    let signed = Draft::bearer(SamlVersion::V20).signed();
    let rsa = SignatureAlgorithm::RsaSha256;
    let hmac = SignatureAlgorithm::HmacSha256;
    let confused = signed.replace(rsa.uri(), hmac.uri());
    let start = confused.find("<ds:SignedInfo>").unwrap();
    let end = confused.find("</ds:SignedInfo>").unwrap() + "</ds:SignedInfo>".len();
    let info = confused[start..end].replacen(
        "<ds:SignedInfo>",
        &format!("<ds:SignedInfo xmlns:ds=\"{}\">", soapstone_wss::names::DS),
        1,
    );
    let key = SymmetricKey::new(IDP.certificate().der().to_vec()).unwrap();
    let code = key.sign(hmac, info.as_bytes(), None).unwrap();
    let start = confused.find("<ds:SignatureValue>").unwrap() + "<ds:SignatureValue>".len();
    let end = confused.find("</ds:SignatureValue>").unwrap();
    let confused = confused.replace(
        &confused[start..end].to_owned(),
        &base64::encode(code.as_ref()),
    );
    let lenient = adjusted(&by_connection(), |accepted| accepted.signature.push(hmac));
    for policy in [by_connection(), lenient] {
        let refused = open_as(&policy, &message(&confused), &Facts::default()).unwrap_err();
        let Rejected::AlgorithmNotAllowed { found, .. } = refused else {
            panic!("{refused}");
        };
        assert_eq!(found, hmac.uri());
    }
}

#[test]
fn an_issuer_that_does_not_sign_is_answered_for_by_an_attester_alone() {
    let open = |policy: &soapstone_wss::Policy, draft: Draft, facts: &Facts| {
        let issuers: Arc<[AssertionIssuer]> = Arc::new([AssertionIssuer {
            name: ISSUER.to_owned(),
            trust: None,
        }]);
        let keys = Keys {
            issuers,
            ..knowing_issuers()
        };
        open_with(policy, keys, facts, &message(&draft.unsigned()), moment())
    };
    let v20 = SamlVersion::V20;
    open(&by_connection(), Draft::vouched(v20), &shown(&client())).unwrap();
    let unsigned = Rejected::AssertionUnsigned;
    let refused = open(&by_connection(), Draft::bearer(v20), &shown(&client()));
    assert_eq!(refused.unwrap_err(), unsigned);
    let holder = Draft::holder(v20, client().certificate());
    let refused = open(&by_connection(), holder, &shown(&client()));
    assert_eq!(refused.unwrap_err(), unsigned);
    let refused = open(&by_connection(), Draft::vouched(v20), &Facts::default());
    assert_eq!(refused.unwrap_err().name(), "assertion-unconfirmed");
}

#[test]
fn a_policy_without_a_use_for_assertions_refuses_them() {
    let policy = crate::support::policy(soapstone_wss::Mechanism::Username, "Basic256GCM");
    let message = message(&Draft::bearer(SamlVersion::V20).signed());
    let refused = open_as(&policy, &message, &Facts::default()).unwrap_err();
    let element = "{urn:oasis:names:tc:SAML:2.0:assertion}Assertion".to_owned();
    assert_eq!(refused, Rejected::ElementUnexpected { element });
    let cases = vec![(
        "no assertion",
        super::issuing::message(""),
        "assertion-missing: expected a `saml:Assertion`, found none",
    )];
    refuse_all(cases, open_over_tls);
}
