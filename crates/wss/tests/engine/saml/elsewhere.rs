//! Assertions that messages only name (SAML Token Profile 1.1.1, 3.3): what the engine makes of
//! one that its host has fetched.

use std::sync::Arc;
use std::time::Duration;

use soapstone_wss::{
    AssertionPolicy, AssertionProtection, AssertionReference, ConfirmationMethod, Envelope, Facts,
    FetchedAssertion, InboundPlan, Mechanism, Part, PlanProblem, Policy, Rejected, SamlVersion,
    Verified, names,
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

/// A signature over what stands for the token covers the name of it.
#[test]
fn a_signed_name_is_no_signed_token() {
    let assertion = Draft::holder(SamlVersion::V20, client().certificate()).signed();
    let mut signing = policy(Mechanism::Sign, "Basic256GCM");
    signing.parts.signed.push(Part::Id("ref".to_owned()));
    // The security header of the plain message is empty.
    let empty = format!(
        "<wsse:Security xmlns:wsse=\"{}\"></wsse:Security>",
        names::WSSE
    );
    let plain = message_with("", &named(ID), "").replace(&empty, "");
    let message = secure_at(&signing, client_keys(), &plain, None, moment()).bytes;
    let message = String::from_utf8(message).unwrap().replace(&named(ID), "");
    // The holder's signature names the assertion in the place of the certificate.
    let replaced = |message: &str, name: &str, instead: &str| {
        let (begin, end) = (format!("<wsse:{name}"), format!("</wsse:{name}>"));
        let from = message.find(&begin).unwrap();
        let to = from + message[from..].find(&end).unwrap() + end.len();
        format!("{}{instead}{}", &message[..from], &message[to..])
    };
    let message = replaced(&message, "BinarySecurityToken", "");
    let message = replaced(&message, "SecurityTokenReference", &named(ID));
    let mut accepting = naming(&by_holder());
    let open = |policy: &Policy| open_as(policy, &message, &with_fetched(&assertion)).map(drop);
    open(&accepting).unwrap();
    accepting.parts.signed.push(Part::Token);
    let refused = open(&accepting).unwrap_err();
    assert_eq!(refused.name(), "unsigned", "{refused}");
}

/// What is accepted is kept, for the clocks of issuers too.
#[test]
fn an_assertion_is_kept_for_as_long_as_it_is_accepted() {
    let assertion = Draft::bearer(SamlVersion::V20).signed();
    let ends = |skew| {
        let policy = AssertionPolicy {
            skew,
            ..accepting()
        };
        let answer = assertion.as_bytes().to_vec();
        FetchedAssertion::read(&reference(ID), answer, "_", &issuers(), &policy, moment())
            .unwrap()
            .ends()
    };
    let (exact, skewed) = (ends(Duration::ZERO), ends(Duration::from_secs(60)));
    assert_eq!(skewed.duration_since(exact).as_secs(), 60);
}

/// Whoever reads a log has no reference.
#[test]
fn a_reference_is_told_without_its_id() {
    let told = reference(ID).to_string();
    assert!(told.contains(PLACE) && !told.contains(ID), "{told}");
    let message =
        signed_by_holder(&Draft::holder(SamlVersion::V20, client().certificate()).signed());
    let refused = open_as(&naming(&by_holder()), &message, &Facts::default()).unwrap_err();
    assert!(!refused.to_string().contains(ID), "{refused}");
}

/// The reference to an assertion of SAML 1.1 as the Basic Security Profile has it (R6606, R6607),
/// and as the protocol's schema would have it, in either order.
#[test]
fn an_authority_is_bound_in_either_order_and_namespace() {
    let (saml, protocol) = (names::SAML11, names::SAML11_PROTOCOL);
    let assertion = Draft::bearer(SamlVersion::V11).signed();
    let reference = AssertionReference {
        version: SamlVersion::V11,
        id: ID.to_owned(),
        location: PLACE.to_owned(),
    };
    let answered = format!(
        "<s:Envelope xmlns:s=\"{}\"><s:Body><samlp:Response xmlns:samlp=\"{protocol}\" InResponseTo=\"_\"><samlp:Status><samlp:StatusCode Value=\"samlp:Success\"/></samlp:Status>{assertion}</samlp:Response></s:Body></s:Envelope>",
        names::SOAP11
    );
    let policy = adjusted(&naming(&by_connection()), |accepted| {
        accepted.versions = vec![SamlVersion::V11];
    });
    let of_11 = AssertionPolicy {
        versions: vec![SamlVersion::V11],
        ..accepting()
    };
    let fetched = FetchedAssertion::read(
        &reference,
        answered.into_bytes(),
        "_",
        &issuers(),
        &of_11,
        moment(),
    );
    let facts = Facts {
        assertion: Some(Arc::new(fetched.unwrap())),
        ..Facts::default()
    };
    let binding = |kind: &str| {
        format!(
            "<saml:AuthorityBinding xmlns:saml=\"{saml}\" xmlns:samlp=\"{protocol}\" AuthorityKind=\"{kind}\" Location=\"{PLACE}\" Binding=\"urn:oasis:names:tc:SAML:1.0:bindings:SOAP-binding\"></saml:AuthorityBinding>"
        )
    };
    let identifier = format!(
        "<wsse:KeyIdentifier ValueType=\"{}\">{ID}</wsse:KeyIdentifier>",
        names::SAML11_ID
    );
    let open = |children: &str| {
        let named = format!(
            "<wsse:SecurityTokenReference xmlns:wsse=\"{}\">{children}</wsse:SecurityTokenReference>",
            names::WSSE
        );
        open_as(&policy, &message(&named), &facts).map(drop)
    };
    for kind in ["saml:AssertionIDReference", "samlp:AssertionIDReference"] {
        let binding = binding(kind);
        open(&format!("{identifier}{binding}")).unwrap();
        open(&format!("{binding}{identifier}")).unwrap();
        open(&format!("{binding}{binding}")).unwrap_err();
    }
    for kind in [
        "saml:AttributeQuery",
        "AssertionIDReference",
        "wsse:AssertionIDReference",
    ] {
        open(&format!("{identifier}{}", binding(kind))).unwrap_err();
    }
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
        format!("{PLACE}?ID={ID}&amp;action=revoke"),
        format!("{PLACE}?n=1&amp;ID={ID}"),
        format!("{PLACE}?ID={ID}&amp;"),
        format!("{PLACE}?ID={ID}?"),
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

/// Many elements stand before it: the signatures, keys and tokens of a long header.
#[test]
fn a_reference_behind_other_elements_is_looked_up() {
    let policy = naming(&by_connection());
    let tokens = policy.limits.tokens;
    let plan = InboundPlan::compile(policy, knowing_issuers()).unwrap();
    let found = |before: String| {
        let message = message(&format!("{before}{}", named(ID)));
        plan.peek(&envelope(&message)).assertion
    };
    assert_eq!(found("<a></a>".repeat(tokens)), Some(reference(ID)));
    // Not what is referred to: a token of the message.
    let local = "<wsse:SecurityTokenReference><wsse:Reference URI=\"#a\"></wsse:Reference></wsse:SecurityTokenReference>";
    assert_eq!(found(local.repeat(tokens - 1)), Some(reference(ID)));
    assert_eq!(found(local.repeat(tokens)), None);
}

/// What authorities answer is in the clear, whatever a plan demands of messages.
#[test]
fn a_named_assertion_is_not_demanded_in_cipher_text_of_its_own() {
    let policy = adjusted(&naming(&by_signature()), |accepted| {
        accepted.encrypted = true;
    });
    let problems = InboundPlan::compile(policy, knowing_issuers()).unwrap_err();
    let problem = "an assertion that a message only names is fetched in the clear, and one in cipher text of its own is demanded";
    assert!(
        problems.contains(&PlanProblem::Combination { problem }),
        "{problems:?}"
    );
}

/// A policy whose sender names its assertion.
fn named_by_sender(policy: &Policy) -> Policy {
    adjusted(policy, |accepted| {
        accepted.authority = Some(PLACE.to_owned());
    })
}

/// The assertion as its authority gives it, to whom a message leads.
fn given_by_authority(policy: &Policy, message: &str, assertion: &str) -> Facts {
    let plan = InboundPlan::compile(policy.clone(), knowing_issuers()).unwrap();
    let reference = plan.peek(&envelope(message)).assertion;
    let reference = reference.expect("a reference");
    let answer = match reference.version {
        SamlVersion::V20 => assertion.to_owned(),
        SamlVersion::V11 => format!(
            "<s:Envelope xmlns:s=\"{}\"><s:Body><samlp:Response xmlns:samlp=\"{}\" InResponseTo=\"_\"><samlp:Status><samlp:StatusCode Value=\"samlp:Success\"/></samlp:Status>{assertion}</samlp:Response></s:Body></s:Envelope>",
            names::SOAP11,
            names::SAML11_PROTOCOL
        ),
    };
    let answer = answer.into_bytes();
    let (issuers, accepted) = (issuers(), accepting());
    let fetched = FetchedAssertion::read(&reference, answer, "_", &issuers, &accepted, moment());
    Facts {
        assertion: Some(Arc::new(fetched.unwrap())),
        ..Facts::default()
    }
}

/// SAML Token Profile 1.1.1, 3.3: what one side names, the other one fetches. Where everybody can
/// read the signature, it alone has the name.
#[test]
fn a_sender_names_its_assertion_and_the_receiver_fetches_it() {
    let held = AssertionPolicy {
        methods: vec![ConfirmationMethod::HolderOfKey],
        ..accepting()
    };
    let encrypting = with_assertion(policy(Mechanism::SignEncrypt, "Basic256GCM"), held);
    let hiding = with(&encrypting, |policy| {
        let signature = soapstone_wss::EncryptedPart::customary(Part::Signature);
        policy.parts.encrypted.push(signature);
    });
    for version in SamlVersion::ALL {
        let assertion = Draft::holder(version, client().certificate()).signed();
        for (policy, times) in [(&by_holder(), 1), (&encrypting, 1), (&hiding, 1)] {
            let message = carrying(&named_by_sender(policy), &assertion);
            assert!(!message.contains("Assertion>"), "{message}");
            assert_eq!(message.matches(PLACE).count(), times, "{message}");
            let receiving = naming(policy);
            let facts = given_by_authority(&receiving, &message, &assertion);
            let verified = open_as(&receiving, &message, &facts).unwrap();
            let found = verified.evidence().assertion.as_ref().unwrap();
            assert_eq!(found.confirmed, Some(ConfirmationMethod::HolderOfKey));
            // A receiver whom nothing was fetched for has no key.
            let refused = open_as(&receiving, &message, &Facts::default()).unwrap_err();
            assert_eq!(refused.name(), "key-not-found", "{refused}");
        }
        let bearers = Draft::bearer(version).signed();
        let message = carrying(&named_by_sender(&by_connection()), &bearers);
        assert_eq!(message.matches(PLACE).count(), 1, "{message}");
        let receiving = naming(&by_connection());
        let facts = given_by_authority(&receiving, &message, &bearers);
        open_as(&receiving, &message, &facts).unwrap();
    }
}

/// SAML Token Profile 1.1.1, 3.5: a signature over a name is none over the assertion, and what is
/// not in the message has no cipher text in it.
#[test]
fn a_sender_protects_nothing_of_an_assertion_that_it_names() {
    let problems = |policy: &Policy| {
        let assertion = Draft::holder(SamlVersion::V20, client().certificate()).signed();
        let token = soapstone_wss::AssertionToken::parse(assertion.into_bytes()).unwrap();
        let keys = soapstone_wss::Keys {
            assertion: Some(Arc::new(token)),
            ..client_keys()
        };
        match soapstone_wss::OutboundPlan::compile(policy.clone(), keys) {
            Ok(_) => String::new(),
            Err(problems) => format!("{problems:?}"),
        }
    };
    assert_eq!(problems(&named_by_sender(&by_holder())), "");
    assert_eq!(problems(&named_by_sender(&by_connection())), "");
    let covers = "a signature over the name of an assertion covers nothing";
    let enciphers = "nothing enciphers it";
    let covering_token = with(&by_holder(), |policy| policy.parts.signed.push(Part::Token));
    let covering_assertion = with(&by_holder(), |policy| {
        policy.parts.signed.push(Part::Assertion);
    });
    let encrypting = with_assertion(policy(Mechanism::SignEncrypt, "Basic256GCM"), accepting());
    let encrypting = with(&encrypting, |policy| {
        let assertion = soapstone_wss::EncryptedPart::customary(Part::Assertion);
        policy.parts.encrypted.push(assertion);
    });
    let hidden = adjusted(&by_connection(), |accepted| accepted.encrypted = true);
    for (policy, expected) in [
        (&by_signature(), covers),
        (&covering_token, covers),
        (&covering_assertion, covers),
        (&encrypting, enciphers),
        (&hidden, enciphers),
    ] {
        let found = problems(&named_by_sender(policy));
        assert!(found.contains(expected), "{expected}: {found}");
    }
}

/// What no receiver reads is not sent: the id would say what else the authority is asked for.
#[test]
fn an_assertion_whose_id_no_receiver_reads_is_not_named() {
    for id in ["_a&action=revoke", "_a b", "1", &"a".repeat(129)] {
        AssertionReference::at(PLACE, SamlVersion::V20, id).unwrap_err();
        AssertionReference::at(PLACE, SamlVersion::V11, id).unwrap_err();
    }
    let with_query = format!("{PLACE}?n=1");
    AssertionReference::at(&with_query, SamlVersion::V20, ID).unwrap_err();
    assert_eq!(
        AssertionReference::at(PLACE, SamlVersion::V20, ID).unwrap(),
        reference(ID)
    );
}
