//! Whether a message is of the subject of its assertion (SAML Token Profile 1.1.1, 3.5): what is
//! refused by each method. Every assertion here is one that its issuer has signed.

use std::sync::Arc;

use soapstone_crypto::base64;
use soapstone_testkit::keys;
use soapstone_wss::{
    AssertionIssuer, AssertionProtection, ConfirmationMethod, EncryptedPart, EndorsingToken, Facts,
    HolderUse, InboundPlan, KeyBinding, KeyReference, Keys, Mechanism, Part, PlanProblem, Policy,
    Rejected, SamlVersion, names,
};

use super::accepted::{by_holder, carrying, covering};
use super::issuing::*;
use super::{Case, refuse_all};
use crate::support::*;

const V20: SamlVersion = SamlVersion::V20;
const NOT_HELD: &str = "assertion-unconfirmed: nothing confirms the subject of the assertion: its holder's key did not sign the message, and was not shown by the connection";
const NOT_VOUCHED: &str = "assertion-unconfirmed: nothing confirms the subject of the assertion: nobody who may vouch for others signed it together with the Body";
const NOT_BOUND: &str = "assertion-unconfirmed: nothing confirms the subject of the assertion: no signature covers it together with the Body";

fn open(message: &str) -> Result<soapstone_wss::Verified<soapstone_wss::Envelope>, Rejected> {
    open_as(&by_signature(), message, &Facts::default())
}

/// A policy of signed messages that carry an assertion and do not cover it.
fn beside() -> Policy {
    with(&covering(), |policy| {
        policy.parts.signed.retain(|part| *part != Part::Assertion)
    })
}

/// A message of a client with another key than that of the assertion's holder.
fn stolen(assertion: &str) -> String {
    carrying(&beside(), assertion)
}

#[test]
fn a_stolen_assertion_is_worth_nothing_without_its_key() {
    let thief = keys::identity("CN=thief", keys::RSA);
    let of_thief = Draft::holder(V20, thief.certificate()).signed();
    let of_other = |version| Draft::holder(version, PARTIES.service.certificate()).signed();
    // The holder has signed this one; somebody has put another assertion into it.
    let right = carrying(
        &by_holder(),
        &Draft::holder(V20, client().certificate()).signed(),
    );
    let taken = cut_assertion(&right);
    let other_holder = Draft::holder(V20, thief.certificate()).signed();
    let cases: Vec<Case> = vec![
        ("a stolen assertion", stolen(&of_other(V20)), NOT_HELD),
        (
            "a stolen assertion of 1.1",
            stolen(&of_other(SamlVersion::V11)),
            NOT_HELD,
        ),
        (
            "an assertion without a key",
            stolen(
                &Draft {
                    confirmation: confirmation(V20, "holder-of-key", ""),
                    ..Draft::bearer(V20)
                }
                .signed(),
            ),
            NOT_HELD,
        ),
        (
            "an assertion of somebody else in a signed message",
            right.replace(&taken, &other_holder),
            "signature-mismatch",
        ),
    ];
    for (name, message, expected) in cases {
        let refused = open(&message).unwrap_err();
        let found = format!("{}: {refused}", refused.name());
        assert!(
            found == expected || refused.name() == expected,
            "{name}: {found}"
        );
    }
    // Over a connection without its key, and with another one.
    let bare = super::issuing::message(&of_thief);
    let refused = open_as(&by_connection(), &bare, &Facts::default()).unwrap_err();
    assert_eq!(format!("{}: {refused}", refused.name()), NOT_HELD);
    let refused = open_as(&by_connection(), &bare, &shown(&client())).unwrap_err();
    assert_eq!(format!("{}: {refused}", refused.name()), NOT_HELD);
    open_as(&by_connection(), &bare, &shown(&thief)).unwrap();
    // A certificate that the connection shows confirms nothing where signatures do.
    let refused = open_as(&by_signature(), &stolen(&of_thief), &shown(&thief)).unwrap_err();
    assert_eq!(format!("{}: {refused}", refused.name()), NOT_HELD);
}

/// WS-SecurityPolicy 1.3, 8.3: where a trusted certificate is demanded beside an assertion, the
/// assertion's issuer does not say whose key signs.
#[test]
fn the_holders_key_stands_for_no_certificate() {
    let used = |policy: &Policy, holder: HolderUse| {
        adjusted(policy, |accepted| {
            accepted.methods = vec![ConfirmationMethod::HolderOfKey];
            accepted.holder = holder;
        })
    };
    let assertion = Draft::holder(V20, client().certificate()).signed();
    let by_holder = carrying(&by_holder(), &assertion);
    let by_certificate = stolen(&assertion);
    for holder in [HolderUse::Beside, HolderUse::Endorses] {
        let mut demanded = used(&by_signature(), holder);
        if holder == HolderUse::Endorses {
            demanded.endorse_with(EndorsingToken::by_certificate(KeyReference::Direct));
        }
        let refused = open_as(&demanded, &by_holder, &Facts::default()).unwrap_err();
        assert_eq!(refused.name(), "key-misused", "{holder:?}: {refused}");
    }
    let beside = used(&by_signature(), HolderUse::Beside);
    open_as(&beside, &by_certificate, &Facts::default()).unwrap();
    // Nor does it endorse where it is to sign.
    let endorsing = |holder| {
        let mut policy = used(
            &with(&by_signature(), |policy| {
                policy.bind(KeyBinding::SessionKey, KeyReference::Thumbprint);
            }),
            holder,
        );
        policy.endorse_with(EndorsingToken::by_certificate(KeyReference::Direct));
        policy
    };
    let endorsed = carrying(&endorsing(HolderUse::Endorses), &assertion);
    open_as(
        &endorsing(HolderUse::Endorses),
        &endorsed,
        &Facts::default(),
    )
    .unwrap();
    for holder in [HolderUse::Beside, HolderUse::Signs] {
        let refused = open_as(&endorsing(holder), &endorsed, &Facts::default()).unwrap_err();
        assert_eq!(refused.name(), "key-misused", "{holder:?}: {refused}");
    }
    // Nothing is deciphered for the holder: whatever his signature covers, no demand takes it.
    let encrypting = |holder| {
        with(&endorsing(holder), |policy| {
            let body = EncryptedPart::customary(Part::Body);
            policy.parts.encrypted.push(body);
        })
    };
    let endorsed = carrying(&encrypting(HolderUse::Endorses), &assertion);
    let (wanted, facts) = (encrypting(HolderUse::Signs), Facts::default());
    let told = open_as_peer_with(&wanted, knowing_issuers(), &facts, &endorsed, moment());
    let problem = "expected a signature with a trusted certificate, found one with the key of the assertion's holder";
    assert_eq!(
        told.map(drop),
        Err(Rejected::KeyMisused {
            problem: problem.to_owned()
        })
    );
    // What the connection is to show, no signature shows.
    let connects = adjusted(&used(&by_signature(), HolderUse::Connects), |accepted| {
        accepted.protection = AssertionProtection::Connection;
    });
    let refused = open_as(&connects, &by_certificate, &Facts::default()).unwrap_err();
    assert_eq!(format!("{}: {refused}", refused.name()), NOT_HELD);
    open_as(&connects, &by_certificate, &shown(&client())).unwrap();
}

/// The assertion of a message.
fn cut_assertion(message: &str) -> String {
    let start = message.find("<saml:Assertion").unwrap();
    let end = message.find("</saml:Assertion>").unwrap() + "</saml:Assertion>".len();
    message[start..end].to_owned()
}

#[test]
fn a_signature_that_does_not_cover_the_body_holds_no_assertion() {
    let timestamp_alone =
        |policy: &Policy| with(policy, |policy| policy.parts.signed = vec![Part::Timestamp]);
    let assertion = Draft::holder(V20, client().certificate()).signed();
    let message = carrying(&timestamp_alone(&by_holder()), &assertion);
    let refused = open_as(
        &timestamp_alone(&by_signature()),
        &message,
        &Facts::default(),
    );
    let refused = refused.unwrap_err();
    assert_eq!(format!("{}: {refused}", refused.name()), NOT_HELD);
}

#[test]
fn the_key_of_a_holder_comes_from_the_assertion_that_was_accepted() {
    let assertion = Draft::holder(V20, client().certificate()).signed();
    let message = carrying(&by_holder(), &assertion);
    // Where holders are not accepted, their keys are not.
    let bearers = adjusted(&by_signature(), |accepted| {
        accepted.methods = vec![ConfirmationMethod::Bearer];
    });
    let refused = open_as(&bearers, &message, &Facts::default()).unwrap_err();
    let expected = Rejected::KeyNotFound {
        reference: format!("the holder of the assertion `{ID}`"),
    };
    assert_eq!(refused, expected);
    // A bearer's assertion has no key, and its issuer's is none of the message.
    let of_bearer = message.replace(&cut_assertion(&message), &Draft::bearer(V20).signed());
    assert_eq!(open(&of_bearer).unwrap_err(), expected);
    // Nobody but the holder says that an unsigned one has this key.
    let unsigned = Draft::holder(V20, client().certificate()).unsigned();
    let issuers: Arc<[AssertionIssuer]> = Arc::new([AssertionIssuer {
        name: ISSUER.to_owned(),
        trust: None,
    }]);
    let keys = Keys {
        issuers,
        ..knowing_issuers()
    };
    let of_nobody = carrying(&by_holder(), &unsigned);
    let facts = Facts::default();
    let refused = open_with(&by_holder(), keys, &facts, &of_nobody, moment()).unwrap_err();
    let expected = Rejected::KeyNotFound {
        reference: "an assertion that was not accepted".to_owned(),
    };
    assert_eq!(refused, expected);
    // Two keys: nobody could say which one a signature is to be made with.
    let infos = key_info(client().certificate()) + &key_info(PARTIES.service.certificate());
    let content = format!("<saml:SubjectConfirmationData>{infos}</saml:SubjectConfirmationData>");
    let of_two = Draft {
        confirmation: confirmation(V20, "holder-of-key", &content),
        ..Draft::bearer(V20)
    }
    .signed();
    let refused = open(&message.replace(&cut_assertion(&message), &of_two)).unwrap_err();
    assert_eq!(
        refused,
        Rejected::KeyMisused {
            problem:
                "expected one holder's key in the assertion that a signature names, found several"
                    .to_owned()
        }
    );
    // Either one confirms the subject where the signature names a certificate.
    open(&carrying(&beside(), &of_two)).unwrap();
    // Two keys in one `ds:KeyInfo` are none.
    let both = infos.replacen(
        &format!("</ds:KeyInfo><ds:KeyInfo xmlns:ds=\"{}\">", names::DS),
        "",
        1,
    );
    let content = format!("<saml:SubjectConfirmationData>{both}</saml:SubjectConfirmationData>");
    let confused = Draft {
        confirmation: confirmation(V20, "holder-of-key", &content),
        ..Draft::bearer(V20)
    }
    .signed();
    let refused = open(&message.replace(&cut_assertion(&message), &confused)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`saml:Assertion`: expected one key in a `KeyInfo`, found several"
    );
}

#[test]
fn a_reference_names_an_assertion_of_its_version() {
    let mut naming = by_holder();
    naming.name_signing_key(KeyReference::KeyName);
    let assertion = Draft::holder(V20, client().certificate()).signed();
    let message = carrying(&naming, &assertion);
    let replaced = |from: &str, to: &str| {
        assert!(message.contains(from), "{from} in {message}");
        message.replace(from, to)
    };
    let (id_20, id_11) = (names::SAML20_ID, names::SAML11_ID);
    let unknown = Rejected::KeyNotFound {
        reference: format!("the assertion `{ID}` of SAML 1.1"),
    };
    assert_eq!(open(&replaced(id_20, id_11)).unwrap_err(), unknown);
    let other_type = replaced(names::SAML20_TOKEN, names::SAML11_TOKEN);
    let refused = open(&other_type).unwrap_err();
    assert_eq!(
        refused,
        Rejected::TokenUnsupported {
            found: format!(
                "a reference of type `{}` to an assertion of SAML 2.0",
                names::SAML11_TOKEN
            )
        }
    );
    let elsewhere = message.replace(
        &format!(">{ID}</wsse:KeyIdentifier>"),
        ">_elsewhere</wsse:KeyIdentifier>",
    );
    let unknown = Rejected::KeyNotFound {
        reference: "the assertion `_elsewhere` of SAML 2.0".to_owned(),
    };
    assert_eq!(open(&elsewhere).unwrap_err(), unknown);
}

#[test]
fn a_stranger_vouches_for_nobody() {
    let assertion = Draft::vouched(V20).signed();
    let vouched = carrying(&covering(), &assertion);
    let others = adjusted(&by_signature(), |accepted| {
        accepted.attesters = vec!["CN=gateway".to_owned()]
    });
    let refused = open_as(&others, &vouched, &Facts::default()).unwrap_err();
    assert_eq!(format!("{}: {refused}", refused.name()), NOT_VOUCHED);
    // A namesake of another authority.
    let named = |text: &str| {
        adjusted(&by_signature(), |accepted| {
            accepted.attesters = vec![text.to_owned()]
        })
    };
    let theirs = named("CN=client of CN=other");
    let refused = open_as(&theirs, &vouched, &Facts::default()).unwrap_err();
    assert_eq!(format!("{}: {refused}", refused.name()), NOT_VOUCHED);
    let own = named("cn = client of CN=Ca");
    open_as(&own, &vouched, &Facts::default()).expect("the attester of that authority");
    // A name that only begins like the attester's.
    let others = adjusted(&by_signature(), |accepted| {
        accepted.attesters = vec!["CN=client,O=Example".to_owned()]
    });
    let refused = open_as(&others, &vouched, &Facts::default()).unwrap_err();
    assert_eq!(format!("{}: {refused}", refused.name()), NOT_VOUCHED);
    // Who has signed the message, and not the assertion, has not vouched.
    let refused = open(&carrying(&beside(), &assertion)).unwrap_err();
    assert_eq!(format!("{}: {refused}", refused.name()), NOT_VOUCHED);
    // Nor who has signed the assertion, and not the Body.
    let without_body = |policy: &Policy| {
        with(policy, |policy| {
            policy.parts.signed = vec![Part::Timestamp, Part::Assertion]
        })
    };
    let message = carrying(&without_body(&covering()), &assertion);
    let refused = open_as(&without_body(&by_signature()), &message, &Facts::default());
    let refused = refused.unwrap_err();
    assert_eq!(format!("{}: {refused}", refused.name()), NOT_VOUCHED);
    // A connection: nobody, a stranger, and one who may.
    let bare = super::issuing::message(&assertion);
    let refused = open_as(&by_connection(), &bare, &Facts::default()).unwrap_err();
    assert_eq!(format!("{}: {refused}", refused.name()), NOT_VOUCHED);
    let stranger = keys::identity("CN=stranger", keys::RSA);
    let refused = open_as(&by_connection(), &bare, &shown(&stranger)).unwrap_err();
    assert_eq!(format!("{}: {refused}", refused.name()), NOT_VOUCHED);
    // A holder does not vouch for himself by a key that the message's receiver does not trust.
    let holding = Draft::holder(V20, client().certificate());
    let confirmations = holding.confirmation.clone() + &confirmation(V20, "sender-vouches", "");
    let both = Draft {
        confirmation: confirmations,
        ..holding
    }
    .signed();
    let vouching = adjusted(&by_signature(), |accepted| {
        accepted.methods = vec![ConfirmationMethod::SenderVouches]
    });
    let message = carrying(&by_holder(), &both);
    let refused = open_as(&vouching, &message, &Facts::default()).unwrap_err();
    assert_eq!(refused.name(), "key-not-found");
}

#[test]
fn a_bearers_assertion_belongs_to_its_message() {
    let assertion = Draft::bearer(V20).signed();
    let cases: Vec<Case> = vec![(
        "an assertion that nobody signed with the message",
        carrying(&beside(), &assertion),
        NOT_BOUND,
    )];
    refuse_all(cases, open);
    // A session key is everybody's.
    let session = with(&policy(Mechanism::SignEncrypt, "Basic256GCM"), |policy| {
        policy.bind(
            soapstone_wss::KeyBinding::SessionKey,
            KeyReference::Thumbprint,
        );
        policy.parts.signed.push(Part::Assertion);
    });
    let sending = adjusted(&with_assertion(session, accepting()), |accepted| {
        accepted.methods = vec![ConfirmationMethod::Bearer];
    });
    // What is hidden beside it says nothing of it.
    let hiding_signature = with(&sending, |policy| {
        let signature = soapstone_wss::EncryptedPart::customary(Part::Signature);
        policy.parts.encrypted.push(signature);
    });
    for policy in [&sending, &hiding_signature] {
        let message = carrying(policy, &assertion);
        let refused = open_as(policy, &message, &Facts::default()).unwrap_err();
        assert_eq!(format!("{}: {refused}", refused.name()), NOT_BOUND);
    }
    // One that was hidden with it has not been in another message.
    let hiding = with(&sending, |policy| {
        let assertion = soapstone_wss::EncryptedPart::customary(Part::Assertion);
        policy.parts.encrypted.push(assertion);
    });
    open_as(&hiding, &carrying(&hiding, &assertion), &Facts::default()).unwrap();
}

#[test]
fn a_confirmation_says_nothing_that_is_not_understood() {
    let bearer = |content: &str| {
        let confirmation = confirmation(V20, "bearer", content);
        message(
            &Draft {
                confirmation,
                ..Draft::bearer(V20)
            }
            .signed(),
        )
    };
    let data = |attributes: &str, content: &str| {
        bearer(&format!(
            "<saml:SubjectConfirmationData {attributes}>{content}</saml:SubjectConfirmationData>"
        ))
    };
    let unconfirmed = |problem: &str| {
        format!("assertion-unconfirmed: nothing confirms the subject of the assertion: {problem}")
    };
    let xsi = "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"";
    let info = key_info(client().certificate());
    let other_method = |method: &str| {
        let confirmation = Draft::bearer(V20)
            .confirmation
            .replace("urn:oasis:names:tc:SAML:2.0:cm:bearer", method);
        message(
            &Draft {
                confirmation,
                ..Draft::bearer(V20)
            }
            .signed(),
        )
    };
    let cases = [
        ("another recipient", data("Recipient=\"https://other.example/in\"", ""), unconfirmed("its `Recipient` is `https://other.example/in`")),
        ("an answer to a request", data("InResponseTo=\"_request\"", ""), unconfirmed("it answers the request `_request`")),
        ("an address", data("Address=\"192.0.2.1\"", ""), unconfirmed("it says an `Address`")),
        ("data of another type", data(&format!("{xsi} xsi:type=\"saml:Other\""), ""), unconfirmed("it says data of another type")),
        ("a type with another prefix", data(&format!("{xsi} xmlns:x=\"urn:x\" xsi:type=\"x:KeyInfoConfirmationDataType\""), ""), unconfirmed("it says data of another type")),
        ("elements of a stranger", data("", "<x:y xmlns:x=\"urn:x\"/>"), unconfirmed("it says data of another type")),
        ("a key of a bearer", data("", &info), unconfirmed("it says a key beside another method than holder-of-key")),
        ("another party", bearer("<saml:NameID>gateway</saml:NameID>"), unconfirmed("it says the identifier of another party")),
        ("an attribute of no schema", data("NotAfter=\"x\"", ""), "malformed: `saml:Assertion`: expected no attribute `NotAfter` in `SubjectConfirmationData`".to_owned()),
        ("a method of nobody", other_method("urn:x:anybody"), unconfirmed("it has no confirmation of a known method")),
        ("a method of SAML 1.0", other_method("urn:oasis:names:tc:SAML:1.0:cm:bearer"), unconfirmed("it has no confirmation of a known method")),
        ("no confirmation", message(&Draft { confirmation: String::new(), ..Draft::bearer(V20) }.signed()), unconfirmed("it has no confirmation of a known method")),
        ("data of SAML 1.1", message(&Draft { confirmation: confirmation(SamlVersion::V11, "bearer", "<saml:SubjectConfirmationData>x</saml:SubjectConfirmationData>"), ..Draft::bearer(SamlVersion::V11) }.signed()), unconfirmed("it says `SubjectConfirmationData`")),
        ("a key of a bearer in SAML 1.1", message(&Draft { confirmation: confirmation(SamlVersion::V11, "bearer", &info), ..Draft::bearer(SamlVersion::V11) }.signed()), unconfirmed("it says a key beside another method than holder-of-key")),
    ];
    for (name, message, expected) in cases {
        let refused = open_over_tls(&message).unwrap_err();
        assert_eq!(format!("{}: {refused}", refused.name()), expected, "{name}");
    }
    let recipients = adjusted(&by_connection(), |accepted| {
        accepted
            .recipients
            .push("https://service.example/in".to_owned())
    });
    let ours = data("Recipient=\"https://service.example/in\"", "");
    open_as(&recipients, &ours, &Facts::default()).unwrap();
    // A key by name, and one by a reference, are compared with nothing.
    let named = |source: &str| {
        let info = format!(
            "<saml:SubjectConfirmationData><ds:KeyInfo xmlns:ds=\"{}\">{source}</ds:KeyInfo></saml:SubjectConfirmationData>",
            names::DS
        );
        message(
            &Draft {
                confirmation: confirmation(V20, "holder-of-key", &info),
                ..Draft::bearer(V20)
            }
            .signed(),
        )
    };
    for (source, problem) in [
        (
            "<ds:KeyName>CN=client</ds:KeyName>",
            "it says a key that is only named",
        ),
        (
            "<ds:X509Data><ds:X509SubjectName>CN=client</ds:X509SubjectName></ds:X509Data>",
            "it says a key that is only named",
        ),
        (
            "<ds:RetrievalMethod URI=\"#X\"/>",
            "it says a key that is only named",
        ),
    ] {
        let refused = open_as(&by_connection(), &named(source), &shown(&client())).unwrap_err();
        assert_eq!(
            format!("{}: {refused}", refused.name()),
            unconfirmed(problem),
            "{source}"
        );
    }
}

/// SAML Core 2.0, 2.4.1: any one confirmation is enough, and each stands for itself.
#[test]
fn one_confirmation_of_several_is_enough() {
    let ended = format!(
        "<saml:SubjectConfirmationData NotOnOrAfter=\"{}\"/>",
        in_seconds(-600)
    );
    let first = confirmation(V20, "bearer", &ended);
    let two = Draft {
        confirmation: first.clone() + &confirmation(V20, "bearer", ""),
        ..Draft::bearer(V20)
    };
    open_over_tls(&message(&two.signed())).unwrap();
    let refused = Draft {
        confirmation: first,
        ..Draft::bearer(V20)
    };
    assert_eq!(
        open_over_tls(&message(&refused.signed()))
            .unwrap_err()
            .name(),
        "assertion-expired"
    );
    // A method that is not accepted is none.
    let vouching = adjusted(&by_connection(), |accepted| {
        accepted.methods = vec![ConfirmationMethod::SenderVouches]
    });
    let refused = open_as(
        &vouching,
        &message(&Draft::bearer(V20).signed()),
        &shown(&client()),
    )
    .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "nothing confirms the subject of the assertion: the method bearer is not accepted"
    );
}

#[test]
fn a_plan_says_how_assertions_are_tied_to_messages() {
    let problems = |policy: Policy| InboundPlan::compile(policy, knowing_issuers()).unwrap_err();
    let combination = |problem| vec![PlanProblem::Combination { problem }];
    let unbound = with_assertion(policy(Mechanism::None, "Basic256GCM"), accepting());
    assert_eq!(
        problems(unbound),
        combination(
            "an assertion is tied to its message by a signature, or by a connection that protects both"
        )
    );
    let nobody = adjusted(&by_connection(), |accepted| accepted.attesters.clear());
    assert_eq!(
        problems(nobody),
        combination("a confirmation by sender-vouches needs those who may vouch")
    );
    let nothing = adjusted(&by_connection(), |accepted| accepted.methods.clear());
    assert_eq!(
        problems(nothing),
        combination("an assertion needs a version and a confirmation that are accepted")
    );
    let twice = with_assertion(by_connection(), accepting());
    assert_eq!(problems(twice), combination("a message has one assertion"));
    let without_issuers = Keys {
        issuers: std::sync::Arc::new([]),
        ..knowing_issuers()
    };
    let problems = InboundPlan::compile(by_connection(), without_issuers).unwrap_err();
    assert_eq!(
        problems[0].to_string(),
        "an issuer is needed to believe assertions"
    );
}

/// The certificate inside of a confirmation is the issuer's word, and no reason to believe messages
/// that name it otherwise.
#[test]
fn a_holders_certificate_is_not_trusted_elsewhere() {
    let stranger = PARTIES.stranger.certificate().clone();
    let assertion = Draft::holder(V20, &stranger).signed();
    let keys = Keys {
        identity: Some(std::sync::Arc::clone(&PARTIES.stranger)),
        assertion: Some(std::sync::Arc::new(
            soapstone_wss::AssertionToken::parse(assertion.into_bytes()).unwrap(),
        )),
        ..client_keys()
    };
    let text = |policy: &Policy| {
        String::from_utf8(secure_at(policy, keys.clone(), PLAIN, None, moment()).bytes).unwrap()
    };
    open(&text(&by_holder())).unwrap();
    let refused = open(&text(&beside())).unwrap_err();
    assert!(matches!(refused, Rejected::Untrusted(_)), "{refused}");
    assert!(!base64::encode(stranger.der()).is_empty());
}
