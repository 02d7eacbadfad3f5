//! Policies from pieces.

use soapstone_policy::{
    CompileOptions, ExchangePolicy, ExchangePolicyError, PolicyDocument, PolicyError, PolicyLimits,
    PolicyProblem, ProblemKind, Selection,
};
use soapstone_wss::DerivedKeyForm;
use soapstone_wss::{EndorsingToken, Policy};

pub(crate) const WSP: &str = "http://www.w3.org/ns/ws-policy";
pub(crate) const SP: &str = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702";

/// Assertions of a token that demand derived keys, and what they demand: in which form, and whether
/// in no other one.
pub(crate) const DERIVED_KEYS: [(&str, (DerivedKeyForm, bool)); 3] = [
    (
        "<sp:RequireDerivedKeys/>",
        (DerivedKeyForm::Explicit, false),
    ),
    (
        "<sp:RequireExplicitDerivedKeys/>",
        (DerivedKeyForm::Explicit, true),
    ),
    (
        "<sp:RequireImpliedDerivedKeys/>",
        (DerivedKeyForm::Implied, true),
    ),
];

pub(crate) fn document(source: &str) -> PolicyDocument {
    PolicyDocument::parse(source.as_bytes().to_vec(), &PolicyLimits::default()).unwrap()
}

/// A policy with `assertions` inside.
pub(crate) fn policy(assertions: &str) -> String {
    format!(
        "<wsp:Policy xmlns:wsp='{WSP}' xmlns:sp='{SP}' xmlns:u='http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd'>{assertions}</wsp:Policy>"
    )
}

/// An assertion with a nested policy.
pub(crate) fn nest(name: &str, inner: &str) -> String {
    format!("<sp:{name}><wsp:Policy>{inner}</wsp:Policy></sp:{name}>")
}

pub(crate) fn suite(name: &str) -> String {
    nest("AlgorithmSuite", &format!("<sp:{name}/>"))
}

/// A token assertion; `inclusion` is the end of the URI.
pub(crate) fn token(name: &str, inclusion: &str, inner: &str) -> String {
    format!(
        "<sp:{name} sp:IncludeToken='{SP}/IncludeToken/{inclusion}'><wsp:Policy>{inner}</wsp:Policy></sp:{name}>"
    )
}

pub(crate) fn x509(inclusion: &str, inner: &str) -> String {
    token(
        "X509Token",
        inclusion,
        &format!("{inner}<sp:WssX509V3Token10/>"),
    )
}

pub(crate) fn asymmetric(inner: &str) -> String {
    let initiator = nest("InitiatorToken", &x509("AlwaysToRecipient", ""));
    let recipient = nest(
        "RecipientToken",
        &x509("Never", "<sp:RequireThumbprintReference/>"),
    );
    nest(
        "AsymmetricBinding",
        &format!("{initiator}{recipient}{inner}"),
    )
}

pub(crate) fn symmetric(token: &str, inner: &str) -> String {
    let protection = nest("ProtectionToken", token);
    nest("SymmetricBinding", &format!("{protection}{inner}"))
}

pub(crate) fn transport(inner: &str) -> String {
    let https = nest("TransportToken", &nest("HttpsToken", ""));
    nest(
        "TransportBinding",
        &format!("{https}{}{inner}", suite("Basic256")),
    )
}

pub(crate) const SIGNED_BODY: &str = "<sp:SignedParts><sp:Body/></sp:SignedParts>";
pub(crate) const ENCRYPTED_BODY: &str = "<sp:EncryptedParts><sp:Body/></sp:EncryptedParts>";

pub(crate) fn agreement(assertions: &str) -> ExchangePolicy {
    agreement_with(assertions, &CompileOptions::default()).unwrap()
}

pub(crate) fn agreement_with(
    assertions: &str,
    options: &CompileOptions,
) -> Result<ExchangePolicy, ExchangePolicyError> {
    document(&policy(assertions)).agreement(&Selection::default(), options)
}

/// The problems for which a policy is refused.
pub(crate) fn problems(assertions: &str) -> Vec<PolicyProblem> {
    match agreement_with(assertions, &CompileOptions::default()) {
        Err(ExchangePolicyError::NotSupported(problems)) => problems,
        other => panic!("expected problems, found {other:?}"),
    }
}

/// The local names of the assertions for which a policy is refused, and why.
pub(crate) fn refused(assertions: &str) -> Vec<(String, ProblemKind)> {
    problems(assertions)
        .into_iter()
        .map(|problem| (problem.assertion.local.to_string(), problem.kind))
        .collect()
}

pub(crate) fn normal_error(source: &str) -> PolicyError {
    document(source).normal_form().unwrap_err()
}

/// The tokens that endorse beside the message's own signature.
pub(crate) fn beside(policy: &Policy) -> Vec<EndorsingToken> {
    policy.endorsing_beside().cloned().collect()
}
