//! Demands in places where they are easily overlooked: each is obeyed or refused, so that no plan
//! is weaker than its policy.

use soapstone_policy::ProblemKind;

use crate::refusals::not_supported;
use crate::support::*;

const IN_A_POLICY: ProblemKind = ProblemKind::Missing {
    what: "a wsp:Policy around it",
};

/// An asymmetric binding, and a signed Body.
fn plain() -> String {
    format!("{}{SIGNED_BODY}", asymmetric(&suite("Basic256")))
}

/// WS-SecurityPolicy 1.3, 4.1.2: paths stand in the assertion itself. In a nested policy they were
/// left out, and nothing of theirs was signed.
#[test]
fn paths_in_a_nested_policy_are_refused() {
    let paths = "<wsp:Policy><sp:XPath>/*/*[local-name()='Body']</sp:XPath></wsp:Policy>";
    for name in [
        "SignedElements",
        "EncryptedElements",
        "ContentEncryptedElements",
        "RequiredElements",
    ] {
        let found = not_supported(&format!("{}<sp:{name}>{paths}</sp:{name}>", plain()));
        let reason = "a nested policy says nothing here";
        assert_eq!(found, (name.to_owned(), reason));
    }
}

/// WS-SecurityPolicy 1.3, 4.1.2: `sp:XPath` is there once at least.
#[test]
fn elements_without_a_path_are_refused() {
    assert_eq!(
        refused(&format!("{}<sp:SignedElements/>", plain())),
        [(
            "SignedElements".to_owned(),
            ProblemKind::Missing { what: "sp:XPath" }
        )]
    );
}

/// WS-SecurityPolicy 1.3, 4.1.2: in XPath 2.0 the same expression may select something else.
/// Rampart writes the attribute with a prefix.
#[test]
fn the_version_of_xpath_counts_with_a_prefix_as_well() {
    let path = "<sp:XPath>/*/*[local-name()='Body']</sp:XPath>";
    let elements = format!(
        "<sp:SignedElements sp:XPathVersion='http://www.w3.org/TR/xpath20'>{path}</sp:SignedElements>"
    );
    assert_eq!(
        refused(&format!("{}{elements}", plain())),
        [(
            "SignedElements".to_owned(),
            ProblemKind::Value {
                attribute: "XPathVersion",
                expected: "XPath 1.0",
                found: "http://www.w3.org/TR/xpath20".to_owned()
            }
        )]
    );
}

/// WS-Policy 1.5, 4.3.2: what is nested is a policy, and a reference to one is an element of it.
/// Without a `wsp:Policy` around it, nobody followed it, and answers needed no confirmations.
#[test]
fn references_in_the_place_of_a_nested_policy_are_refused() {
    let reference = "<wsp:PolicyReference URI='#more'/>";
    assert_eq!(
        refused(&format!("{}<sp:Wss11>{reference}</sp:Wss11>", plain())),
        [("PolicyReference".to_owned(), IN_A_POLICY)]
    );
    let layout = format!("{}<sp:Layout>{reference}</sp:Layout>", suite("Basic256"));
    assert_eq!(
        refused(&format!("{}{SIGNED_BODY}", asymmetric(&layout))),
        [("PolicyReference".to_owned(), IN_A_POLICY)]
    );
}

/// What is not known in an assertion may change what it demands.
#[test]
fn elements_of_others_in_an_assertion_are_refused() {
    for (holder, policy) in [
        ("AsymmetricBinding", plain()),
        ("Wss10", format!("{}{}", plain(), nest("Wss10", ""))),
        ("AlgorithmSuite", plain()),
    ] {
        let end = format!("</sp:{holder}>");
        let more = format!("<x xmlns='urn:x'/>{end}");
        assert_eq!(
            refused(&policy.replace(&end, &more)),
            [("x".to_owned(), ProblemKind::Unknown)],
            "{holder}"
        );
    }
}

/// WS-SecurityPolicy 1.3, 5.4.10 and 5.1.2: client certificates of one issuer. Any that was trusted
/// would have done.
#[test]
fn an_issuer_of_client_certificates_is_refused() {
    let client = "<wsp:Policy><sp:RequireClientCertificate/></wsp:Policy>";
    for demand in [
        "<sp:IssuerName>CN=authority</sp:IssuerName>",
        "<sp:Issuer/>",
        "<sp:Claims/>",
    ] {
        let https = format!("<sp:HttpsToken>{demand}{client}</sp:HttpsToken>");
        let binding = nest(
            "TransportBinding",
            &format!("{}{}", nest("TransportToken", &https), suite("Basic256")),
        );
        let reason = "issuers and claims are a matter of trust anchors, not of policies";
        assert_eq!(not_supported(&binding), ("HttpsToken".to_owned(), reason));
    }
}

/// WS-SecurityPolicy 1.3, 5.3.5 and 5.3.6: derived keys are described in one way. The last word is
/// not the only one.
#[test]
fn two_ways_to_derive_keys_are_refused() {
    let both = "<sp:RequireImpliedDerivedKeys/><sp:RequireExplicitDerivedKeys/>";
    let binding = symmetric(&x509("Never", both), &suite("Basic256"));
    assert_eq!(
        refused(&format!("{binding}{SIGNED_BODY}")),
        [(
            "RequireExplicitDerivedKeys".to_owned(),
            ProblemKind::Conflict {
                with: "the other way to derive keys"
            }
        )]
    );
}

/// WS-SecurityPolicy 1.3, 5.4.1: a user has a password, its digest, or none.
#[test]
fn two_words_about_a_password_are_refused() {
    let both = "<sp:NoPassword/><sp:HashPassword/>";
    let user = token("UsernameToken", "AlwaysToRecipient", both);
    let policy = format!("{}{}", transport(""), nest("SupportingTokens", &user));
    let found = refused(&policy);
    let conflict = ProblemKind::Conflict {
        with: "what else is said of the password",
    };
    assert!(
        found.contains(&("HashPassword".to_owned(), conflict)),
        "{found:?}"
    );
}

/// WS-SecurityPolicy 1.3, 6.1 and 8: inclusive canonical form is refused wherever it is demanded.
#[test]
fn another_canonical_form_is_refused_in_a_second_suite_as_well() {
    let inclusive = nest("AlgorithmSuite", "<sp:Basic256/><sp:InclusiveC14N/>");
    let twice = asymmetric(&format!("{}{inclusive}", suite("Basic256")));
    assert_eq!(
        refused(&format!("{twice}{SIGNED_BODY}")),
        [("AlgorithmSuite".to_owned(), ProblemKind::Repeated)]
    );
    let endorsing = nest(
        "EndorsingSupportingTokens",
        &format!("{inclusive}{}", x509("AlwaysToRecipient", "")),
    );
    assert_eq!(
        not_supported(&format!("{}{endorsing}", plain())),
        (
            "EndorsingSupportingTokens".to_owned(),
            "its algorithm suite is not that of the binding"
        )
    );
    let two = nest(
        "EndorsingSupportingTokens",
        &format!(
            "{}{}{}",
            suite("TripleDes"),
            suite("Basic256"),
            x509("AlwaysToRecipient", "")
        ),
    );
    assert_eq!(
        refused(&format!("{}{two}", plain())),
        [("AlgorithmSuite".to_owned(), ProblemKind::Repeated)]
    );
}
