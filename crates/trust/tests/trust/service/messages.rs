//! Requests that say too much, too little, twice, or something else than their action.

use soapstone_crypto::base64;
use soapstone_trust::{
    BatchProblem, Effect, MessageError, Operation, Refusal, SecurityTokenService, ServiceRules,
    TrustFaultCode, TrustVersion,
};

use super::{about, host_of, not_understood};
use crate::support::{
    Host, WSC, WST, WST_2005, alice, context, entropy, holder, lifetime, now, request, user,
};

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

/// The action chose the policy by which the message was verified; the request type would choose
/// what is done.
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
        "Claims",
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
