//! Paths into the Security header, which a sender makes itself.

use soapstone_policy::ProblemKind;
use soapstone_wss::{EncryptedPart, Extent, Part, Policy};

use crate::support::*;

const SOAP: &str = "http://schemas.xmlsoap.org/soap/envelope/";
const WSSE: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd";
const WSU: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";
const DS: &str = "http://www.w3.org/2000/09/xmldsig#";

/// An assertion with one path, as WebSphere writes them: names in predicates, from the Envelope to
/// the last step.
fn elements(assertion: &str, steps: &[(&str, &str)]) -> String {
    let around = [(SOAP, "Envelope"), (SOAP, "Header"), (WSSE, "Security")];
    let path: String = around
        .iter()
        .chain(steps)
        .map(|(namespace, local)| {
            format!("/*[namespace-uri()='{namespace}' and local-name()='{local}']")
        })
        .collect();
    format!("<sp:{assertion}><sp:XPath>{path}</sp:XPath></sp:{assertion}>")
}

fn with_user(more: &str) -> String {
    let users = nest(
        "SupportingTokens",
        &token("UsernameToken", "AlwaysToRecipient", "<sp:HashPassword/>"),
    );
    let binding = asymmetric(&format!("{}<sp:IncludeTimestamp/>", suite("Basic128Rsa15")));
    format!("{binding}{SIGNED_BODY}{ENCRYPTED_BODY}{users}{more}")
}

fn signs(policy: &Policy, part: &Part) -> bool {
    let signature = policy.signature();
    signature.is_some_and(|signature| signature.parts.contains(part))
}

fn encrypts(policy: &Policy, part: Part) -> bool {
    let wanted = EncryptedPart {
        part,
        extent: Extent::Element,
    };
    let encryption = policy.encryption();
    encryption.is_some_and(|encryption| encryption.parts.contains(&wanted))
}

/// WS-SecurityPolicy 1.3, 4.1.2 and 4.2.2: what stands in the header when it is complete. A sender
/// looked for it in the plain message, found nothing, and sent the password's digest in the clear.
#[test]
fn paths_to_parts_of_the_security_header_are_those_parts() {
    let user = [(WSSE, "UsernameToken")];
    let plain = agreement(&with_user("")).request;
    assert!(!signs(&plain, &Part::UsernameToken));
    assert!(!encrypts(&plain, Part::UsernameToken));
    let more = [
        elements("SignedElements", &[(WSU, "Timestamp")]),
        elements("SignedElements", &user),
        elements("SignedElements", &[(WSSE, "BinarySecurityToken")]),
        elements("EncryptedElements", &user),
        elements("EncryptedElements", &[(DS, "Signature")]),
    ];
    let agreement = agreement(&with_user(&more.concat()));
    let request = agreement.request;
    for part in [Part::Timestamp, Part::UsernameToken, Part::Token] {
        assert!(signs(&request, &part), "{part}");
    }
    for part in [Part::UsernameToken, Part::Signature] {
        assert!(encrypts(&request, part.clone()), "{part}");
    }
    // Answers have no user.
    assert!(encrypts(&agreement.response, Part::Signature));
    assert!(!encrypts(&agreement.response, Part::UsernameToken));
    assert!(!signs(&agreement.response, &Part::UsernameToken));
}

#[test]
fn a_path_that_skips_levels_leads_into_the_header_as_well() {
    let path = format!(
        "<sp:EncryptedElements xmlns:w='{WSSE}'><sp:XPath>//w:UsernameToken</sp:XPath></sp:EncryptedElements>"
    );
    assert!(encrypts(
        &agreement(&with_user(&path)).request,
        Part::UsernameToken
    ));
}

#[test]
fn what_cannot_be_signed_or_encrypted_by_itself_is_refused() {
    let reason = "what it selects in the Security header is neither signed nor encrypted by itself";
    let password = [(WSSE, "UsernameToken"), (WSSE, "Password")];
    let whole =
        "<sp:SignedElements><sp:XPath>/*/*[local-name()='Header']</sp:XPath></sp:SignedElements>";
    for more in [
        elements("SignedElements", &[(DS, "Signature")]),
        elements("SignedElements", &[]),
        elements("SignedElements", &password),
        elements("EncryptedElements", &[(WSU, "Timestamp")]),
        elements("EncryptedElements", &[(WSSE, "BinarySecurityToken")]),
        elements("ContentEncryptedElements", &[(WSSE, "UsernameToken")]),
        whole.to_owned(),
    ] {
        assert_eq!(
            refused(&with_user(&more)),
            [("XPath".to_owned(), ProblemKind::NotSupported { reason })],
            "{more}"
        );
    }
    let header = format!("<sp:SignedParts><sp:Header Namespace='{WSSE}'/></sp:SignedParts>");
    let reason = "the Security header as a whole is neither signed nor encrypted";
    assert_eq!(
        refused(&with_user(&header)),
        [(
            "SignedParts".to_owned(),
            ProblemKind::NotSupported { reason }
        )]
    );
}

/// WS-SecurityPolicy 1.3, 8.3: over TLS an endorsing token signs the Timestamp, whether a path
/// names it or not.
#[test]
fn an_endorsing_token_signs_of_the_header_what_it_signs_anyway() {
    let endorsing = |path: &str| {
        nest(
            "EndorsingSupportingTokens",
            &format!("{}{path}", x509("AlwaysToRecipient", "")),
        )
    };
    let timestamp = elements("SignedElements", &[(WSU, "Timestamp")]);
    let over_tls = |path: &str| {
        let binding = transport("<sp:IncludeTimestamp/>");
        format!("{binding}{}", endorsing(path))
    };
    let agreed = agreement(&over_tls(&timestamp));
    assert!(signs(&agreed.request, &Part::Timestamp));
    let reason = "what it selects in the Security header is neither signed nor encrypted by itself";
    let refusal = [("XPath".to_owned(), ProblemKind::NotSupported { reason })];
    let user = elements("SignedElements", &[(WSSE, "UsernameToken")]);
    assert_eq!(refused(&over_tls(&user)), refusal);
    assert_eq!(refused(&with_user(&endorsing(&timestamp))), refusal);
}
