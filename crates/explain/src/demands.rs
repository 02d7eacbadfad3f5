//! The demands of a policy, each held against what the message has.
//!
//! The rule kept here: this says what is there. Whether it is proven and by whom, the verdict says.

use soapstone_wss::names::{DS, SAML11, SAML20, SOAP11, SOAP12, WSSE, WSSE11, WSU};
use soapstone_wss::{Part, Policy};

use crate::model::{Demand, Explanation};

/// All demands of a policy on messages that arrive, met or not.
#[must_use]
pub fn demands(policy: &Policy, told: &Explanation) -> Vec<Demand> {
    let mut all = Vec::new();
    let mut add = |demand: String, met: bool, says: String| {
        all.push(Demand { demand, met, says });
    };
    let item = |local: &str| {
        told.header
            .iter()
            .any(|item| item.name.rsplit(':').next() == Some(local))
    };
    if policy.header.timestamp.is_some() {
        let met = item("Timestamp");
        let says = match met {
            true => "it is there".to_owned(),
            false => {
                "there is none: have the sender add one, or set `timestamp = false`".to_owned()
            }
        };
        add("a wsu:Timestamp".to_owned(), met, says);
    }
    if policy.username().is_some() {
        let met = item("UsernameToken");
        let says = match met {
            true => "it is there".to_owned(),
            false => "there is none, or it is still encrypted".to_owned(),
        };
        add("a wsse:UsernameToken".to_owned(), met, says);
    }
    let signed = policy.signed_parts();
    if !signed.is_empty() {
        let met = !told.signatures.is_empty();
        let says = match met {
            true => format!("found: {}", told.signatures.len()),
            false => "there is none".to_owned(),
        };
        add("a signature".to_owned(), met, says);
    }
    for part in signed.iter() {
        let Some(names) = names_of(part) else {
            continue;
        };
        let has = |list: &[(String, String)]| {
            list.iter()
                .any(|(namespace, local)| names.contains(&(namespace.as_str(), local.as_str())))
        };
        let met = has(&told.signed);
        // A header block that is not there needs no signature.
        let absent = match part {
            Part::Header { .. } => !has(&told.blocks),
            Part::SignatureConfirmation => !item("SignatureConfirmation"),
            _ => false,
        };
        let says = match (met, absent) {
            (true, _) => "a signature covers it",
            (false, true) => "the message does not have it",
            (false, false) => "no signature whose digest matches covers it",
        };
        add(format!("`{part}` signed"), met || absent, says.to_owned());
    }
    for encrypted in policy.encrypted_parts() {
        if encrypted.part != Part::Body {
            continue;
        }
        let body = |(namespace, local): &(String, String)| {
            matches!(namespace.as_str(), SOAP11 | SOAP12) && local == "Body"
        };
        let met = told.encrypted.iter().any(body);
        let says = match met {
            true => "it holds cipher text".to_owned(),
            false => "it is in the clear: have the sender encrypt it".to_owned(),
        };
        add(format!("`{}` encrypted", encrypted.part), met, says);
    }
    algorithms(policy, told, &mut all);
    all
}

fn names_of(part: &Part) -> Option<Vec<(&str, &str)>> {
    Some(match part {
        Part::Body => vec![(SOAP11, "Body"), (SOAP12, "Body")],
        Part::Timestamp => vec![(WSU, "Timestamp")],
        Part::Header { namespace, local } => vec![(namespace, local)],
        Part::UsernameToken => vec![(WSSE, "UsernameToken")],
        Part::Assertion => vec![(SAML20, "Assertion"), (SAML11, "Assertion")],
        Part::Signature => vec![(DS, "Signature")],
        Part::SignatureConfirmation => vec![(WSSE11, "SignatureConfirmation")],
        _ => return None,
    })
}

fn algorithms(policy: &Policy, told: &Explanation, all: &mut Vec<Demand>) {
    let suite = &policy.suite;
    let mut add = |what: &str, found: &str, allowed: Vec<&str>| {
        let met = allowed.contains(&found);
        let list = allowed.join(", ");
        let demand = format!("{what}: one of {list}");
        let says = match met {
            true => format!("it is {found}"),
            false => format!(
                "it is {found}: have the sender change it, or name it in `algorithms` or another `suite`"
            ),
        };
        let one = Demand { demand, met, says };
        if !all.contains(&one) {
            all.push(one);
        }
    };
    for signature in &told.signatures {
        let methods = suite.signature.iter().chain(&suite.symmetric_signature);
        add(
            "signature method",
            &signature.algorithm,
            methods.map(|one| one.short_name()).collect(),
        );
        let forms = || {
            suite
                .canonicalization
                .iter()
                .map(|one| one.short_name())
                .collect()
        };
        let form = signature
            .canonicalization
            .split(' ')
            .next()
            .unwrap_or_default();
        add("canonicalization of ds:SignedInfo", form, forms());
        for reference in &signature.references {
            let digests = suite.digest.iter().map(|one| one.short_name()).collect();
            add("digest method", &reference.algorithm, digests);
        }
    }
}
