//! What breaks each rule of policies.

use super::Sample;

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
