//! Messages of the vectors, opened by the plans that their policies compile to.

use std::sync::Arc;

use jiff::Timestamp;
use soapstone_crypto::{Certificate, Identity, TrustRules, TrustStore};
use soapstone_policy::{CompileOptions, PolicyDocument, PolicyLimits, Selection};
use soapstone_testkit::{Case, Failures, cases};
use soapstone_wss::{Envelope, Facts, FirstSeen, InboundPlan, Keys};
use soapstone_xml::{Buffers, Limits};

/// Messages that their policy allows and we refuse, with the reason. One of them being accepted is
/// a failure too.
const EXCEPTIONS: [(&str, &str); 2] = [
    (
        // SOAP Message Security 1.1.1, 9: soap:Envelope, soap:Header and soap:Body must not be
        // encrypted themselves.
        "cxf-wss/policy/encrypted_body_element__encrypted_elements_policy2",
        "no envelope: expected an optional `Header` and one `Body` in the `Envelope`, \
         found `{http://www.w3.org/2001/04/xmlenc#}EncryptedData` in line 19",
    ),
    (
        // Two elements with one id make references ambiguous.
        "cxf-wss/policy/encrypted_body_content_signed_with_encrypted_header__encrypted_parts_policy_header_and_body_signed",
        "no envelope: two elements carry the id `_9`",
    ),
];

/// What a case's policy says of its message: nothing, or why it is refused.
fn open(case: &Case) -> Result<(), String> {
    let policy = case.read(case.value["policy"].as_str().expect("a policy"));
    let agreement = PolicyDocument::parse(policy, &PolicyLimits::default())
        .expect("a policy")
        .agreement(&Selection::default(), &CompileOptions::default())
        .map_err(|error| format!("not compiled: {error}"))?;
    let plan = InboundPlan::compile(agreement.request, keys(case))
        .map_err(|problems| format!("no plan: {problems:?}"))?;
    let mut buffers = Buffers::new();
    let envelope = Envelope::parse(case.input(), &Limits::default(), &mut buffers)
        .map_err(|error| format!("no envelope: {error}"))?;
    let opened = plan
        .open_unmarked(envelope, &Facts::default(), Timestamp::now(), &mut buffers)
        .map_err(|rejected| format!("{}: {rejected}", rejected.name()))?;
    let first_seen = FirstSeen::assertion(opened.late_marks());
    opened
        .admit(first_seen)
        .map_err(|rejected| format!("{}: {rejected}", rejected.name()))?;
    Ok(())
}

/// The certificate of the vectors is pinned, old as it is: they are about policies, not about
/// trust.
fn keys(case: &Case) -> Keys {
    let (key, certificate) = (case.key("privkey-pem"), case.key("cert-pem"));
    let known = Certificate::from_pem(&certificate).expect("a certificate");
    let mut rules = TrustRules::default();
    rules.pinned.push(known.clone());
    rules.min_rsa_bits = 1024;
    rules.ignore_validity = true;
    Keys {
        identity: Some(Arc::new(
            Identity::from_file_contents(&key, &certificate, None).expect("an identity"),
        )),
        peer: Some(known),
        trust: Some(Arc::new(TrustStore::new(rules).expect("a trust store"))),
        ..Keys::default()
    }
}

#[test]
fn messages_are_accepted_by_the_right_policy_and_refused_by_the_wrong_one() {
    let mut failures = Failures::default();
    for case in cases("wss-policy") {
        let outcome = open(&case);
        if let Some((_, reason)) = EXCEPTIONS.iter().find(|(id, _)| *id == case.id) {
            if outcome.as_ref().err().map(String::as_str) != Some(*reason) {
                failures.add(&case.id, format!("expected `{reason}`, found {outcome:?}"));
            }
            continue;
        }
        let satisfied = case.outcome() == "policy-satisfied";
        // A policy that gives no plan refuses nothing.
        let planned = !matches!(&outcome, Err(reason) if reason.starts_with("not compiled") || reason.starts_with("no plan"));
        if outcome.is_ok() != satisfied || !planned {
            let expected = case.outcome();
            failures.add(&case.id, format!("expected {expected}, found {outcome:?}"));
        }
    }
    failures.end();
}
