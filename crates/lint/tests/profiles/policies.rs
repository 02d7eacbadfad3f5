//! What breaks each rule of policies.

use std::collections::BTreeSet;

use soapstone_lint::{Choice, Profile, Profiles};

use super::{SERVICE, Sample, broken, compare};

pub(super) const POLICIES: &[Sample] = &[
    (
        "policy-unattached",
        "    <wsp:PolicyReference URI=\"#Signed\"/>\n",
        "",
        &[],
    ),
    (
        "policy-misplaced",
        "example/calls\"/>",
        "example/calls\"><wsp:PolicyReference URI=\"#Signed\"/></soap:address>",
        &[],
    ),
    (
        "policy-reference",
        "URI=\"#Signed\"",
        "URI=\"#Sealed\"",
        &["policy-unattached"],
    ),
    (
        "policy-impossible",
        "<wsp:PolicyReference URI=\"#Signed\"/>",
        "<wsp:PolicyReference URI=\"#Signed\"/><wsp:Policy><wsp:ExactlyOne/></wsp:Policy>",
        &[],
    ),
    (
        "policy-optional",
        "<sp:AsymmetricBinding>",
        "<sp:AsymmetricBinding wsp:Optional=\"true\">",
        &[],
    ),
    (
        "policy-invalid",
        "<wsp:ExactlyOne>",
        "<wsp:ExactlyOne><wsp:Nothing/>",
        &[],
    ),
    (
        "assertion-conflict",
        "<sp:WssX509V3Token10/>",
        "<sp:WssX509V3Token10/><sp:RequireExplicitDerivedKeys/><sp:RequireImpliedDerivedKeys/>",
        &[],
    ),
    (
        "assertion-repeated",
        "<sp:Layout>",
        "<sp:AlgorithmSuite><wsp:Policy><sp:Basic128Sha256/></wsp:Policy></sp:AlgorithmSuite><sp:Layout>",
        &[],
    ),
    (
        "assertion-incomplete",
        "            <sp:AlgorithmSuite><wsp:Policy><sp:Basic256Sha256/></wsp:Policy></sp:AlgorithmSuite>\n",
        "",
        &[],
    ),
    (
        "assertion-unknown",
        "<sp:SignedParts>",
        "<sp:SealedParts/><sp:SignedParts>",
        &[],
    ),
    (
        "assertion-value",
        "IncludeToken/Never",
        "IncludeToken/Sometimes",
        &[],
    ),
    (
        "suite-weak",
        "<sp:Basic256Sha256/>",
        "<sp:Basic256Sha256Rsa15/>",
        &[],
    ),
    (
        "password-in-clear",
        "<sp:SignedParts>",
        "<sp:SignedSupportingTokens><wsp:Policy><sp:UsernameToken sp:IncludeToken=\"http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702/IncludeToken/AlwaysToRecipient\"><wsp:Policy/></sp:UsernameToken></wsp:Policy></sp:SignedSupportingTokens><sp:SignedParts>",
        &[],
    ),
    (
        "encrypt-before-sign",
        "<sp:IncludeTimestamp/>",
        "<sp:IncludeTimestamp/><sp:EncryptBeforeSigning/>",
        &[],
    ),
    (
        "timestamp-missing",
        "            <sp:IncludeTimestamp/>\n",
        "",
        &[],
    ),
    (
        "headers-in-part",
        "            <sp:OnlySignEntireHeadersAndBody/>\n",
        "",
        &[],
    ),
    (
        "nothing-signed",
        "        <sp:SignedParts><sp:Body/></sp:SignedParts>\n",
        "",
        &[],
    ),
    (
        "transport-unprotected",
        "<wsp:PolicyReference URI=\"#Signed\"/>\n    <soap:binding transport",
        "<wsp:PolicyReference URI=\"#Signed\"/>\n    <wsp:Policy><sp:TransportBinding><wsp:Policy><sp:TransportToken><wsp:Policy><sp:HttpsToken><wsp:Policy/></sp:HttpsToken></wsp:Policy></sp:TransportToken><sp:AlgorithmSuite><wsp:Policy><sp:Basic256Sha256/></wsp:Policy></sp:AlgorithmSuite></wsp:Policy></sp:TransportBinding></wsp:Policy><soap:binding transport",
        &["assertion-repeated"],
    ),
];

#[test]
fn each_rule_of_policies_is_found_where_it_is_broken() {
    compare(SERVICE, POLICIES, Profiles::of(Profile::Policy));
}

/// What a policy demands may be completed by another one that is attached beside it.
#[test]
fn a_policy_that_stands_alone_is_taken_for_a_piece() {
    let token = "<sp:EncryptedSupportingTokens><wsp:Policy><sp:UsernameToken><wsp:Policy/></sp:UsernameToken></wsp:Policy></sp:EncryptedSupportingTokens>";
    let alone = format!(
        "<wsp:Policy xmlns:wsp=\"http://www.w3.org/ns/ws-policy\" xmlns:sp=\"http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702\">{token}</wsp:Policy>"
    );
    assert_eq!(broken(&alone, Choice::Fitting), BTreeSet::new());
    let start = SERVICE.find("<wsp:Policy wsu:Id").expect("a policy");
    let end = SERVICE.find("  <wsdl:import").expect("its end");
    let policy = SERVICE[start..end].replacen(
        "wsu:Id=\"Signed\"",
        "xmlns:wsp=\"http://www.w3.org/ns/ws-policy\" xmlns:sp=\"http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702\"",
        1,
    );
    let policy = policy.replace("<sp:SignedParts><sp:Body/></sp:SignedParts>", "");
    assert_eq!(broken(&policy, Choice::Fitting), BTreeSet::new());
    // In a description nothing is elsewhere.
    let (from, to) = ("<sp:SignedParts><sp:Body/></sp:SignedParts>", "");
    let whole = SERVICE.replacen(from, to, 1);
    assert!(broken(&whole, Choice::Fitting).contains("nothing-signed"));
}

/// The policy of the messages that begin a conversation says nothing of the port's own messages.
#[test]
fn transport_that_protects_the_beginning_of_a_conversation_alone_demands_no_https() {
    let bootstrap = "<wsp:Policy wsu:Id=\"Signed\"><sp:Trust13><wsp:Policy><sp:TransportBinding/></wsp:Policy></sp:Trust13>";
    let nested = SERVICE.replacen("<wsp:Policy wsu:Id=\"Signed\">", bootstrap, 1);
    let found = broken(&nested, Choice::Of(Profiles::of(Profile::Policy)));
    assert!(!found.contains("transport-unprotected"), "{found:?}");
}
