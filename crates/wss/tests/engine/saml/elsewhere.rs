//! Assertions that messages only name (SAML Token Profile 1.1.1, 3.3): what the engine makes of
//! one that its host has fetched.

use std::sync::Arc;

use soapstone_wss::{
    AssertionProtection, AssertionReference, ConfirmationMethod, Envelope, Facts, FetchedAssertion,
    Mechanism, Part, Policy, Rejected, SamlVersion, Verified, names,
};

use super::accepted::{by_holder, carrying};
use super::issuing::*;
use crate::support::*;

const PLACE: &str = "https://idp.example/assertions";

/// A reference to an assertion of SAML 2.0.
fn named(id: &str) -> String {
    format!(
        "<wsse:SecurityTokenReference xmlns:wsse=\"{}\" xmlns:wsu=\"{}\" xmlns:wsse11=\"{}\" wsse11:TokenType=\"{}\" wsu:Id=\"ref\"><wsse:Reference URI=\"{PLACE}?ID={id}\"></wsse:Reference></wsse:SecurityTokenReference>",
        names::WSSE,
        names::WSU,
        names::WSSE11,
        names::SAML20_TOKEN
    )
}

fn reference(id: &str) -> AssertionReference {
    AssertionReference {
        version: SamlVersion::V20,
        id: id.to_owned(),
        location: format!("{PLACE}?ID={id}"),
    }
}

fn fetched(assertion: &str) -> Result<FetchedAssertion, Rejected> {
    let issuers = issuers();
    let answer = assertion.as_bytes().to_vec();
    FetchedAssertion::read(
        &reference(ID),
        answer,
        "_",
        &issuers,
        &accepting(),
        moment(),
    )
}

fn with_fetched(assertion: &str) -> Facts {
    Facts {
        assertion: Some(Arc::new(fetched(assertion).unwrap())),
        ..Facts::default()
    }
}

fn naming(policy: &Policy) -> Policy {
    adjusted(policy, |accepted| accepted.by_reference = true)
}

/// A message whose signature names its assertion elsewhere, and that does not carry it.
fn signed_by_holder(assertion: &str) -> String {
    let message = carrying(&by_holder(), assertion);
    let without = |message: &str, begin: &str, end: &str, instead: &str| {
        let from = message.find(begin).unwrap();
        let to = from + message[from..].find(end).unwrap() + end.len();
        format!("{}{instead}{}", &message[..from], &message[to..])
    };
    let message = without(&message, "<saml:Assertion", "</saml:Assertion>", "");
    let (begin, end) = (
        "<wsse:SecurityTokenReference",
        "</wsse:SecurityTokenReference>",
    );
    without(&message, begin, end, &named(ID))
}

#[test]
fn the_holder_of_a_named_assertion_signs() {
    let assertion = Draft::holder(SamlVersion::V20, client().certificate()).signed();
    let message = signed_by_holder(&assertion);
    let policy = naming(&by_holder());
    let open = |facts: &Facts| open_as(&policy, &message, facts);
    let verified = open(&with_fetched(&assertion)).unwrap();
    let found = verified.evidence().assertion.as_ref().unwrap();
    assert_eq!(found.confirmed, Some(ConfirmationMethod::HolderOfKey));
    assert_eq!(found.assertion.subject.value, "alice");
    // Another key, and nothing that was fetched.
    let stolen = Draft::holder(SamlVersion::V20, OTHER_IDP.certificate()).signed();
    let refused = open(&with_fetched(&stolen)).unwrap_err();
    assert_ne!(refused.name(), "assertion-unavailable", "{refused}");
    let refused = open(&Facts::default()).unwrap_err();
    assert_eq!(refused.name(), "key-not-found", "{refused}");
    // A plan that does not let messages name assertions.
    let refused = open_as(&by_holder(), &message, &with_fetched(&assertion)).unwrap_err();
    assert_eq!(refused.name(), "key-not-found", "{refused}");
}

/// A bearer's name for an assertion may be in many messages: whoever signs it has not seen what it
/// names (SAML Token Profile 1.1.1, 3.5.2).
#[test]
fn a_signature_over_a_reference_covers_no_assertion() {
    let assertion = Draft::bearer(SamlVersion::V20).signed();
    let plain = message_with("", &named(ID), "");
    let mut policy = policy(Mechanism::Sign, "Basic256GCM");
    policy.parts.signed.push(Part::Id("ref".to_owned()));
    // The security header of the plain message is empty.
    let empty = format!(
        "<wsse:Security xmlns:wsse=\"{}\"></wsse:Security>",
        names::WSSE
    );
    let plain = plain.replace(&empty, "");
    let message = secure_at(&policy, client_keys(), &plain, None, moment()).bytes;
    let message = String::from_utf8(message).unwrap().replace(&named(ID), "");
    let end = message.find("</wsse:Security>").unwrap();
    let message = format!("{}{}{}", &message[..end], named(ID), &message[end..]);
    let by_bearer = |protection| {
        adjusted(&naming(&by_signature()), move |accepted| {
            accepted.methods = vec![ConfirmationMethod::Bearer];
            accepted.protection = protection;
        })
    };
    let open = |protection| -> Result<Verified<Envelope>, Rejected> {
        open_as(&by_bearer(protection), &message, &with_fetched(&assertion))
    };
    open(AssertionProtection::Connection).unwrap();
    let refused = open(AssertionProtection::Signature).unwrap_err();
    assert_eq!(refused.name(), "assertion-unconfirmed", "{refused}");
}

#[test]
fn what_came_has_the_id_that_was_named_and_its_issuers_signature() {
    let right = Draft::bearer(SamlVersion::V20);
    fetched(&right.signed()).unwrap();
    let other = Draft {
        id: "_other".to_owned(),
        ..right.clone()
    };
    fetched(&other.signed()).unwrap_err();
    fetched(&right.signed().replace("alice", "admin")).unwrap_err();
    fetched(&Draft::bearer(SamlVersion::V11).signed()).unwrap_err();
    fetched(&format!("<!DOCTYPE a>{}", right.signed())).unwrap_err();
}

/// Nothing is asked for but one https address with one id.
#[test]
fn a_reference_is_read_strictly() {
    let policy = naming(&by_connection());
    let open = |reference: &str| {
        let facts = with_fetched(&Draft::bearer(SamlVersion::V20).signed());
        open_as(&policy, &message(reference), &facts)
    };
    open(&named(ID)).unwrap();
    let uri = format!("{PLACE}?ID={ID}");
    for changed in [
        format!("{PLACE}?ID={ID}&amp;ID={ID}"),
        format!("{PLACE}?ID=_other"),
        format!("{PLACE}?ID=_a%20b"),
        format!("{PLACE}?ID="),
        PLACE.to_owned(),
        format!("{PLACE}?ID={ID}#a"),
        format!("http://idp.example/assertions?ID={ID}"),
        format!("https://idp.example@evil.example/assertions?ID={ID}"),
        format!("{PLACE}?ID={}", "a".repeat(200)),
    ] {
        open(&named(ID).replace(&uri, &changed)).unwrap_err();
    }
    open(&named(ID).replace("#SAMLV2.0", "#SAMLV1.1")).unwrap_err();
    open(&format!("{}{}", named(ID), named("_other"))).unwrap_err();
}
