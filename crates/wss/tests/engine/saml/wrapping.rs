//! Assertions that were moved aside, for others to be read in their place: the eight variants of
//! Somorovsky et al. (On Breaking SAML, 2012), and what was found since.
//!
//! In each of them the issuer's signature verifies over the right assertion, and a reader that
//! looks for an assertion elsewhere than the signature does finds another one.

use soapstone_wss::{Facts, SamlVersion, names};

use super::issuing::*;
use super::{Case, refuse_all};

/// The pieces of an attack.
struct Pieces {
    /// The issuer's assertion as it was, with its signature.
    right: String,
    /// The same without the signature, which is what it is a signature over.
    bare: String,
    signature: String,
    /// An assertion of the attacker's, about an administrator.
    forged: String,
}

fn pieces(version: SamlVersion) -> Pieces {
    let draft = Draft::bearer(version);
    let (bare, right) = (draft.unsigned(), draft.signed());
    let start = right.find("<ds:Signature ").unwrap();
    let end = right.find("</ds:Signature>").unwrap() + "</ds:Signature>".len();
    Pieces {
        signature: right[start..end].to_owned(),
        forged: Draft {
            id: "_forged".to_owned(),
            subject: "admin".to_owned(),
            ..draft
        }
        .unsigned(),
        right,
        bare,
    }
}

/// The assertion with something at its end.
fn around(assertion: &str, inside: &str) -> String {
    assertion.replacen(
        "</saml:Assertion>",
        &format!("{inside}</saml:Assertion>"),
        1,
    )
}

fn behind(text: &str, tag: &str, added: &str) -> String {
    assert!(text.contains(tag), "{tag} in {text}");
    text.replacen(tag, &format!("{tag}{added}"), 1)
}

const ONE: &str = "too-many: more than 1 `saml:Assertion` in one message";
const INSIDE: &str = "malformed: `saml:Assertion`: expected no assertion inside of another one";
const SECOND_SIGNATURE: &str =
    "malformed: `saml:Assertion`: expected no signature but the assertion's own";
const OTHER_ID: &str = "malformed: `saml:Assertion`: expected its signature to refer to its id";
const UNSIGNED: &str =
    "assertion-unsigned: expected the issuer's signature in the assertion, found none";

#[test]
fn the_eight_variants_are_refused() {
    for version in SamlVersion::ALL {
        let Pieces {
            right,
            bare,
            signature,
            forged,
        } = pieces(version);
        let with_object = |object: &str| {
            signature.replace(
                "</ds:Signature>",
                &format!("<ds:Object>{object}</ds:Object></ds:Signature>"),
            )
        };
        let signed_forged = insert_signature(&forged, &signature);
        let inside = |text: String| {
            let advice = format!("<saml:Advice>{text}</saml:Advice>");
            behind(&forged, "</saml:Conditions>", &advice)
        };
        let cases: Vec<Case> = vec![
            // The signature stays where it was, beside what it is a signature over.
            (
                "XSW1: the right one inside of the signature of the forged one",
                message(&insert_signature(&forged, &with_object(&bare))),
                INSIDE,
            ),
            (
                "XSW2: a signature in front of the right one, detached",
                message(&format!("{signature}{bare}{forged}")),
                "element-unexpected: the plan has no use for `{http://www.w3.org/2000/09/xmldsig#}Signature` in `wsse:Security`",
            ),
            (
                "XSW3: the forged one in front of the right one",
                message(&format!("{forged}{right}")),
                UNSIGNED,
            ),
            (
                "XSW3: the forged one behind the right one",
                message(&format!("{right}{forged}")),
                ONE,
            ),
            (
                "XSW4: the right one inside of the forged one",
                message(&around(&forged, &right)),
                INSIDE,
            ),
            (
                "XSW5: the signature in the forged one, the right one behind it",
                message(&format!("{signed_forged}{bare}")),
                OTHER_ID,
            ),
            (
                "XSW6: the right one in the signature of the forged one",
                message(&insert_signature(&forged, &with_object(&right))),
                INSIDE,
            ),
            (
                "XSW7: the right one among extensions",
                message(&format!(
                    "<x:Extensions xmlns:x=\"urn:x\">{right}</x:Extensions>{forged}"
                )),
                "element-unexpected: the plan has no use for `{urn:x}Extensions` in `wsse:Security`",
            ),
            (
                "XSW8: the right one in an object of the forged one's signature",
                message(&around(
                    &signed_forged,
                    &format!("<ds:Object xmlns:ds=\"{}\">{bare}</ds:Object>", names::DS),
                )),
                INSIDE,
            ),
            (
                "the right one as advice of the forged one",
                message(&inside(right.clone())),
                INSIDE,
            ),
            (
                "the right one in another header block",
                message_with(
                    &signed_forged,
                    &format!("<x:block xmlns:x=\"urn:x\">{bare}</x:block>"),
                    "",
                ),
                OTHER_ID,
            ),
            (
                "the right one in the Body",
                message_with(&signed_forged, "", &bare),
                OTHER_ID,
            ),
            (
                "the forged one with the signature, the right one in the Body with its own",
                message_with(&forged, "", &right),
                UNSIGNED,
            ),
        ];
        refuse_all(cases, open_over_tls);
    }
}

#[test]
fn variants_of_2024_to_2026_are_refused() {
    let v20 = SamlVersion::V20;
    let Pieces {
        right,
        bare,
        signature,
        forged,
    } = pieces(v20);
    let digest_value = |text: &str| {
        let start = text.find("<ds:DigestValue>").unwrap();
        let end = text.find("</ds:DigestValue>").unwrap() + "</ds:DigestValue>".len();
        text[start..end].to_owned()
    };
    let info = |text: &str| {
        let start = text.find("<ds:SignedInfo>").unwrap();
        let end = text.find("</ds:SignedInfo>").unwrap() + "</ds:SignedInfo>".len();
        text[start..end].to_owned()
    };
    let digest_of_forged = digest_value(&sign(
        &Draft {
            subject: "admin".to_owned(),
            ..Draft::bearer(v20)
        }
        .unsigned(),
        &SignatureForm::of(ID),
        &OTHER_IDP,
    ));
    let changed = right.replace(">alice<", ">admin<");
    let same_id = changed.replacen(&signature, "", 1);
    let void = signature_over(b"", &SignatureForm::of(ID), &IDP);
    let relative = bare.replace("<saml:Assertion ", "<saml:Assertion xmlns:r=\"relative\" ");
    let foreign_info = |info: &str| info.replace("ds:", "x:");
    let cases: Vec<Case> = vec![
        // CVE-2024-45409 (ruby-saml), CVE-2025-29775 (xml-crypto): the digest is looked for by
        // name, and another one stands in front of it.
        ("CVE-2024-45409: a digest in the subject", message(&changed.replacen("<saml:Subject>", &format!("<saml:Subject><x:Extension xmlns:x=\"urn:x\" xmlns:ds=\"{}\">{digest_of_forged}</x:Extension>", names::DS), 1)), "malformed: `saml:Assertion`: expected `NameID` in `Subject`, found `{urn:x}Extension`"),
        ("CVE-2024-45409: a digest in the key information", message(&changed.replacen("<ds:KeyInfo>", &format!("<ds:KeyInfo>{digest_of_forged}"), 1)), "digest-mismatch"),
        ("CVE-2025-29775: a second digest in the reference", message(&changed.replacen("<ds:DigestValue>", &format!("{digest_of_forged}<ds:DigestValue>"), 1)), "structure"),
        // CVE-2025-29774 (xml-crypto): the value is verified over one of them, references are taken
        // from the other.
        ("CVE-2025-29774: a second SignedInfo", message(&changed.replacen("<ds:SignedInfo>", &format!("{}<ds:SignedInfo>", info(&right).replace(&digest_value(&right), &digest_of_forged)), 1)), "structure"),
        ("CVE-2025-29774: a SignedInfo in an object", message(&changed.replacen("</ds:Signature>", &format!("<ds:Object>{}</ds:Object></ds:Signature>", info(&right)), 1)), "malformed: `saml:Assertion`: expected no `ds:Object` in its signature"),
        // CVE-2025-25291, CVE-2025-25292 (ruby-saml), CVE-2025-66567: two readers of one document.
        ("CVE-2025-25291: a DOCTYPE", message(&right).replacen("<soap:Envelope", "<!DOCTYPE x [<!ENTITY y \"z\">]><soap:Envelope", 1), "dtd"),
        ("CVE-2025-25292: a signature in another namespace in front of the right one", message(&changed.replacen("<ds:Signature ", &format!("<x:Signature xmlns:x=\"urn:x\">{}</x:Signature><ds:Signature ", foreign_info(&info(&right))), 1)), "malformed: `saml:Assertion`: expected `Subject` in `Assertion`, found `{urn:x}Signature`"),
        ("CVE-2025-66567: a prefix that means something else inside", message(&changed.replacen("<ds:SignedInfo>", "<ds:SignedInfo xmlns:ds=\"urn:x\">", 1)), "structure"),
        // CVE-2025-66568 (ruby-saml): canonicalization fails on a relative namespace, and the
        // digest of nothing is compared.
        ("CVE-2025-66568: the digest of nothing over a relative namespace", message(&insert_signature(&relative.replace(">alice<", ">admin<"), &void)), "digest-mismatch"),
        ("CVE-2025-66568: the digest of nothing", message(&insert_signature(&bare.replace(">alice<", ">admin<"), &void)), "digest-mismatch"),
        // CVE-2025-47949 (samlify), CVE-2025-46572 (passport-wsfed-saml2), CVE-2024-8698
        // (Keycloak): there is a valid signature, and the assertion is taken from elsewhere.
        ("CVE-2025-47949: a signature of another assertion", message(&insert_signature(&forged, &signature)), OTHER_ID),
        ("CVE-2025-46572: the right one in front, the forged one read", message(&format!("{right}{}", insert_signature(&forged, &signature))), ONE),
        ("CVE-2024-8698: two signatures in one assertion", message(&insert_signature(&right, &signature)), "malformed: `saml:Assertion`: expected `Subject` in `Assertion`, found `{http://www.w3.org/2000/09/xmldsig#}Signature`"),
        ("CVE-2024-8698: a signature inside of a value", message(&bare.replace(">reader<", &format!(">{signature}<"))), SECOND_SIGNATURE),
        // CVE-2025-54419, CVE-2025-54369 (node-saml): values come from what was not signed.
        ("CVE-2025-54419: another subject", message(&changed), "digest-mismatch"),
        // CVE-2016-5697 (ruby-saml), CVE-2024-6800 (GitHub Enterprise): one id on two elements.
        ("CVE-2016-5697: one id on two assertions", message(&format!("{same_id}{right}")), "duplicate-id"),
        ("CVE-2024-6800: the id of the right one in the Body", message_with(&changed, "", &bare), "duplicate-id"),
        ("an id of WS-Security that is the same", message_with(&changed, &format!("<x:block xmlns:x=\"urn:x\" xmlns:wsu=\"{}\" wsu:Id=\"{ID}\"/>", names::WSU), ""), "duplicate-id"),
        ("an id of SAML 1.1 that is the same", message_with(&changed, &format!("<x:block xmlns:x=\"urn:x\">{}</x:block>", pieces(SamlVersion::V11).bare), ""), "duplicate-id"),
        ("an attribute that looks like an id", message_with(&changed, &format!("<x:block xmlns:x=\"urn:x\" ID=\"{ID}\"/>"), ""), "duplicate-id"),
        // CVE-2025-23369 (GitHub Enterprise): an id that normalizes to another one.
        ("CVE-2025-23369: a reference with an entity", message(&right.replacen("URI=\"#_assertion\"", "URI=\"#_asserti&#111;n\"", 1).replace(">alice<", ">admin<")), "digest-mismatch"),
        // A response of a browser's login is no token.
        ("a response of the protocol", message(&format!("<samlp:Response xmlns:samlp=\"urn:oasis:names:tc:SAML:2.0:protocol\">{right}</samlp:Response>")), "element-unexpected: the plan has no use for `{urn:oasis:names:tc:SAML:2.0:protocol}Response` in `wsse:Security`"),
        ("a message of the protocol inside", message(&bare.replace(">reader<", "><samlp:Response xmlns:samlp=\"urn:oasis:names:tc:SAML:2.0:protocol\"/><")), "malformed: `saml:Assertion`: expected no message of a protocol in an assertion"),
    ];
    let mut wrong = Vec::new();
    for (name, message, expected) in cases {
        let refused = match open_over_tls(&message) {
            Ok(_) => {
                wrong.push(format!("{name}: accepted"));
                continue;
            }
            Err(refused) => refused,
        };
        let found = format!("{}: {refused}", refused.name());
        let is_right = match expected {
            "structure" => matches!(
                refused,
                soapstone_wss::Rejected::Signature(
                    soapstone_xmlsec::dsig::SignatureError::Structure(_)
                )
            ),
            expected => found == expected || refused.name() == expected,
        };
        if !is_right {
            wrong.push(format!("{name}: expected {expected}, found {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_assertion_counts_in_its_place_alone() {
    let right = Draft::bearer(SamlVersion::V20).signed();
    let cases: Vec<Case> = vec![
        (
            "as a header block",
            message_with("", &right, ""),
            "assertion-missing: expected a `saml:Assertion`, found none",
        ),
        (
            "in the Body",
            message_with("", "", &right),
            "assertion-missing: expected a `saml:Assertion`, found none",
        ),
    ];
    refuse_all(cases, open_over_tls);
    // The header of another actor is none of ours.
    let other =
        message(&right).replace("<wsse:Security ", "<wsse:Security soap:actor=\"urn:hop\" ");
    let refused = open_as(&by_connection(), &other, &Facts::default()).unwrap_err();
    assert_eq!(refused.name(), "security-missing");
}
