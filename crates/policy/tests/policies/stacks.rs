//! What other stacks write into their policies: obeyed, passed over where it says nothing about
//! messages, or refused with a reason.

use soapstone_policy::ProblemKind;
use soapstone_wss::Part;

use crate::refusals::not_supported;
use crate::support::*;

/// An asymmetric binding, and a signed Body.
fn plain() -> String {
    format!("{}{SIGNED_BODY}", asymmetric(&suite("Basic256")))
}

const MICROSOFT: &str = "http://schemas.microsoft.com/ws/2005/07/securitypolicy";

/// SAP: a feature and whether it is asked for.
fn feature(namespace: &str, name: &str, value: &str) -> String {
    format!("<f:{name} xmlns:f='http://www.sap.com/{namespace}/'>{value}</f:{name}>")
}

#[test]
fn features_of_sap_that_are_switched_off_say_nothing_about_messages() {
    let session = feature(
        "webas/630/soap/features/session",
        "Session",
        "<f:enableSession>false</f:enableSession>",
    );
    let features = [
        session,
        feature("710/features/attachment", "Enabled", "false"),
        feature("NW05/soap/features/wsrm", "enableWSRM", " false "),
        feature("NW05/soap/features/transaction", "required", "no"),
        feature("NW05/soap/features/blocking", "enableBlocking", "true"),
    ];
    let agreement = agreement(&format!("{}{}", plain(), features.concat()));
    assert_eq!(agreement.passed_over.len(), features.len());
    assert_eq!(*agreement.request.signature().unwrap().parts, [Part::Body]);
}

#[test]
fn features_of_sap_that_are_asked_for_are_refused() {
    for (namespace, name, value) in [
        ("NW05/soap/features/wsrm", "enableWSRM", "true"),
        ("710/features/attachment", "Enabled", ""),
        (
            "webas/630/soap/features/session",
            "Session",
            "<f:enableSession>true</f:enableSession><f:other>false</f:other>",
        ),
    ] {
        let policy = format!("{}{}", plain(), feature(namespace, name, value));
        assert_eq!(refused(&policy), [(name.to_owned(), ProblemKind::Unknown)]);
    }
}

#[test]
fn what_metro_says_of_its_other_transports_is_passed_over() {
    let more = "<f:OptimizedFastInfosetSerialization xmlns:f='http://java.sun.com/xml/ns/wsit/2006/09/policy/fastinfoset/service' enabled='true'/>\
                <t:OptimizedTCPTransport xmlns:t='http://java.sun.com/xml/ns/wsit/2006/09/policy/soaptcp/service' enabled='true'/>";
    assert_eq!(
        agreement(&format!("{}{more}", plain())).passed_over.len(),
        2
    );
}

#[test]
fn demands_of_other_specifications_are_refused_with_a_reason() {
    for (namespace, name, reason) in [
        (
            "http://schemas.microsoft.com/ws/06/2004/policy/http",
            "DigestAuthentication",
            "of the ways in which HTTP authenticates users, only Basic is supported",
        ),
        (
            "http://docs.oasis-open.org/ws-rx/wsrmp/200702",
            "RMAssertion",
            "reliable messaging is not supported",
        ),
        (
            "http://www.bea.com/wls90/security/policy",
            "Integrity",
            "this is the language of WebLogic 9: ask for a policy in WS-SecurityPolicy",
        ),
    ] {
        let policy = format!("{}<x:{name} xmlns:x='{namespace}'/>", plain());
        assert_eq!(not_supported(&policy), (name.to_owned(), reason));
    }
}

#[test]
fn tokens_of_microsoft_are_refused_each_by_name() {
    let own = |name: &str| {
        format!(
            "<m:{name} xmlns:m='{MICROSOFT}' sp:IncludeToken='{SP}/IncludeToken/AlwaysToRecipient'><wsp:Policy><sp:RequireDerivedKeys/></wsp:Policy></m:{name}>"
        )
    };
    let negotiated = symmetric(&own("SslContextToken"), &suite("Basic256"));
    assert_eq!(
        not_supported(&format!("{negotiated}{SIGNED_BODY}")),
        (
            "SslContextToken".to_owned(),
            "TLS within SOAP messages is not supported"
        )
    );
    let bare = nest("EndorsingSupportingTokens", &own("RsaToken"));
    assert_eq!(
        not_supported(&format!("{}{bare}", plain())),
        ("RsaToken".to_owned(), "a bare key proves nobody")
    );
}

/// WS-Policy 1.5, 4.3.1: the policy of a token service of WCF, which takes a bare key beside a user
/// and does without.
#[test]
fn supporting_tokens_of_which_none_has_to_be_there_demand_none() {
    let users = nest(
        "SignedSupportingTokens",
        &token("UsernameToken", "AlwaysToRecipient", ""),
    );
    let to = "<sp:SignedParts><sp:Header Name='To' Namespace='http://www.w3.org/2005/08/addressing'/></sp:SignedParts>";
    let bare = format!("<m:RsaToken xmlns:m='{MICROSOFT}' wsp:Optional='true'/>");
    let chosen = token("KeyValueToken", "Never", "");
    for tokens in [
        bare,
        format!("<wsp:ExactlyOne>{chosen}<wsp:All/></wsp:ExactlyOne>"),
    ] {
        let endorsing = nest("EndorsingSupportingTokens", &format!("{tokens}{to}"));
        let agreement = agreement(&format!(
            "{}{users}{endorsing}",
            transport("<sp:IncludeTimestamp/>")
        ));
        assert!(agreement.request.username().is_some());
        assert!(agreement.request.signature().is_none());
    }
    let nothing = nest("EndorsingSupportingTokens", to);
    assert_eq!(
        refused(&format!("{}{nothing}", transport("<sp:IncludeTimestamp/>"))),
        [(
            "EndorsingSupportingTokens".to_owned(),
            ProblemKind::Missing {
                what: "a token assertion"
            }
        )]
    );
}

/// An optional token that can be had is demanded: the alternative with it comes first.
#[test]
fn an_optional_token_that_is_supported_is_demanded() {
    let certificate = x509("AlwaysToRecipient", "").replacen(
        "<sp:X509Token",
        "<sp:X509Token wsp:Optional='true'",
        1,
    );
    let endorsing = nest("EndorsingSupportingTokens", &certificate);
    let agreement = agreement(&format!("{}{endorsing}", plain()));
    assert_eq!(beside(&agreement.request).len(), 1);
}

#[test]
fn suites_whose_algorithms_are_elsewhere_are_refused_in_either_namespace() {
    let binding = asymmetric(&suite("CustomAlgorithmSuite"));
    let found = refused(&format!("{binding}{SIGNED_BODY}"));
    let reason = "its algorithms are in the configuration of CXF, and not in the policy: `algorithms` beside `policy` says them";
    let custom = ProblemKind::NotSupported { reason };
    assert!(
        found.contains(&("CustomAlgorithmSuite".to_owned(), custom)),
        "{found:?}"
    );
}
