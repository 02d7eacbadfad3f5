//! Assertions that are cancelled (WS-Trust 1.4, 6): who may, and what they are good for afterwards.

use soapstone_testkit::assertion::ISSUER as PARTNER;
use soapstone_testkit::keys;
use soapstone_trust::{Effect, Operation, Records, Refusal, Requester, TrustFaultCode};
use soapstone_wss::ContextOwner;

use super::{
    BOOKS, FRONT, ISSUER, Sts, by_password, by_signature, certificate, is_valid, issue, issuer,
    request,
};
use crate::support::{WST, entropy};

fn cancelling() -> Sts {
    Sts::with(|rules| rules.cancellable = true)
}

fn target(operation: &str, token: &str) -> String {
    let element = format!("wst:{operation}Target");
    request(operation, &format!("<{element}>{token}</{element}>"))
}

fn acting(token: &str) -> String {
    let act_as = format!("<wst14:ActAs>{token}</wst14:ActAs>");
    issue(BOOKS, "PublicKey", &act_as)
}

fn not_allowed(requester: &str) -> Refusal {
    let requester = requester.to_owned();
    Refusal::CancelNotAllowed { requester }
}

/// Whether the token service says that an assertion is good.
fn holds(sts: &Sts, token: &str) -> bool {
    let answer = sts.answer(&target("Validate", token), &by_signature("CN=books"));
    is_valid(&answer.expect("an answer"))
}

#[test]
fn what_its_subject_cancelled_is_good_for_nothing_any_more() {
    let sts = cancelling();
    let alice = by_password("alice");
    let token = sts.issued(&issue(FRONT, "Bearer", ""), &alice);
    let other = sts.issued(&issue(FRONT, "Bearer", ""), &alice);
    assert!(holds(&sts, &token));
    for _ in 0..2 {
        let answer = sts
            .answer(&target("Cancel", &token), &alice)
            .expect("an answer");
        assert_eq!(answer.action, format!("{WST}/RSTR/CancelFinal"));
        let body = String::from_utf8(answer.body).expect("text");
        assert!(body.contains("<wst:RequestedTokenCancelled>"), "{body}");
        let told = &answer.issued[0];
        assert_eq!((told.what, told.subject.as_str()), ("cancelled", "alice"));
        assert_eq!(told.audience, "https://front.example");
    }
    assert!(!holds(&sts, &token));
    let problem = "it was cancelled".to_owned();
    let cancelled = Refusal::TokenRejected { problem };
    assert_eq!(sts.refusal(&target("Renew", &token), &alice), cancelled);
    assert_eq!(
        sts.refusal(&acting(&token), &by_signature("CN=front")),
        cancelled
    );
    // It says nothing of another assertion of the same subject.
    assert!(holds(&sts, &other));
    sts.answer(&acting(&other), &by_signature("CN=front"))
        .expect("an answer");
}

/// An actor is no subject of what it got, and gives it back nevertheless.
#[test]
fn the_holder_of_its_key_cancels_an_assertion() {
    let sts = cancelling();
    let front = by_signature("CN=front");
    let user = sts.issued(&issue(FRONT, "Bearer", ""), &by_password("alice"));
    let token = sts.issued(&acting(&user), &front);
    sts.answer(&target("Cancel", &token), &front)
        .expect("an answer");
    assert!(!holds(&sts, &token));
    assert!(holds(&sts, &user));
    let own = sts.issued(&issue(BOOKS, "PublicKey", ""), &by_signature("CN=client"));
    let client = by_signature("CN=client");
    sts.answer(&target("Cancel", &own), &client)
        .expect("an answer");
    assert!(!holds(&sts, &own));
}

/// Whoever sees an assertion could end it for its subject: the service that it is for, and
/// everybody on the way.
#[test]
fn a_stranger_cancels_nothing() {
    let sts = cancelling();
    let alices = sts.issued(&issue(FRONT, "Bearer", ""), &by_password("alice"));
    let user = sts.issued(&issue(FRONT, "Bearer", ""), &by_password("alice"));
    let held = sts.issued(&acting(&user), &by_signature("CN=front"));
    let clients = sts.issued(&issue(BOOKS, "PublicKey", ""), &by_signature("CN=client"));
    for (token, who) in [
        (&alices, by_password("bob")),
        // The service that gets it, and an actor that may act for its subject.
        (&alices, by_signature("CN=books")),
        (&alices, by_signature("CN=front")),
        (&held, by_signature("CN=books")),
        // The same name, and another kind of party.
        (&clients, by_password("CN=client")),
        (&alices, by_signature("CN=alice")),
    ] {
        let refusal = sts.refusal(&target("Cancel", token), &who);
        let name = match &who.owner {
            ContextOwner::User(name) | ContextOwner::Kerberos { client: name, .. } => name.clone(),
            ContextOwner::Certificate(certificate) => certificate.subject().to_owned(),
            ContextOwner::Subject(_) | ContextOwner::Anonymous => String::new(),
        };
        assert_eq!(refusal, not_allowed(&name));
        assert_eq!(refusal.code(), TrustFaultCode::FailedAuthentication);
        assert!(holds(&sts, token));
    }
    let nobody = Requester {
        owner: ContextOwner::Anonymous,
        ..by_signature("CN=front")
    };
    assert_eq!(
        sts.refusal(&target("Cancel", &held), &nobody),
        Refusal::NotAuthenticated
    );
    let mixed = Requester {
        mixed: true,
        ..by_password("alice")
    };
    assert_eq!(
        sts.refusal(&target("Cancel", &alices), &mixed),
        Refusal::RequesterAmbiguous
    );
    assert!(sts.cancelled.borrow().is_empty());
}

/// What is cancelled is an assertion of ours with its signature, and not a name: ids travel in
/// messages and logs.
#[test]
fn what_is_no_assertion_of_ours_is_not_cancelled() {
    let sts = Sts::with(|rules| {
        rules.cancellable = true;
        let partner = issuer(PARTNER, certificate("CN=idp"));
        rules.issuers = [issuer(ISSUER, certificate("CN=sts")), partner].into();
    });
    let alice = by_password("alice");
    let token = sts.issued(&issue(FRONT, "Bearer", ""), &alice);
    let changed = token.replace("https://front.example", "https://front.other");
    assert_ne!(changed, token);
    let (start, rest) = token.split_once("<ds:Signature ").expect("a signature");
    let (_, end) = rest.split_once("</ds:Signature>").expect("its end");
    let unsigned = format!("{start}{end}");
    let id = token.split_once("ID=\"").expect("an id").1.split_once('"');
    let named = format!(
        "<wsse:SecurityTokenReference><wsse:KeyIdentifier ValueType='urn:id'>{}</wsse:KeyIdentifier></wsse:SecurityTokenReference>",
        id.expect("its end").0
    );
    for other in [changed, unsigned, named] {
        let refusal = sts.refusal(&target("Cancel", &other), &alice);
        assert_eq!(
            refusal.code(),
            TrustFaultCode::FailedAuthentication,
            "{refusal:?}"
        );
    }
    let foreign = soapstone_testkit::assertion::Assertion {
        is_20: true,
        method: "bearer",
        holder: None,
        audience: Some("https://front.example"),
        attributes: &[],
    };
    let foreign = foreign.about("alice", &keys::identity("CN=idp", keys::RSA));
    assert!(holds(&sts, &foreign));
    assert_eq!(
        sts.refusal(&target("Cancel", &foreign), &alice),
        not_allowed("alice")
    );
    assert_eq!(
        sts.refusal(&request("Cancel", ""), &alice),
        Refusal::TargetMissing {
            operation: Operation::Cancel
        }
    );
    let more = format!(
        "<wst:CancelTarget>{token}</wst:CancelTarget>{}",
        entropy(32)
    );
    let element = format!("{{{WST}}}Entropy");
    assert_eq!(
        sts.refusal(&request("Cancel", &more), &alice),
        Refusal::NotUnderstood { element }
    );
    assert!(sts.cancelled.borrow().is_empty());
}

#[test]
fn a_service_that_remembers_nothing_cancels_nothing() {
    let sts = Sts::new();
    let alice = by_password("alice");
    let token = sts.issued(&issue(FRONT, "Bearer", ""), &alice);
    let operation = Operation::Cancel;
    assert_eq!(
        sts.refusal(&target("Cancel", &token), &alice),
        Refusal::OperationNotOffered { operation }
    );
}

/// A store that is away makes no assertion good, and none bad.
#[test]
fn nothing_is_said_of_an_assertion_while_the_store_is_away() {
    let mut sts = cancelling();
    let alice = by_password("alice");
    let token = sts.issued(&issue(FRONT, "Bearer", ""), &alice);
    sts.remembers = false;
    let problem = "away".to_owned();
    let unknown = Refusal::CancellationsUnavailable { problem };
    for (body, who) in [
        (target("Validate", &token), by_signature("CN=books")),
        (target("Renew", &token), alice),
        (acting(&token), by_signature("CN=front")),
    ] {
        let refusal = sts.refusal(&body, &who);
        assert_eq!(refusal, unknown);
        assert_eq!(refusal.code(), TrustFaultCode::RequestFailed);
    }
}

/// Who has eight names fills the room of all (SAML Core 2.0, 8.3.8: an issuer may give a subject a
/// new name each time).
#[test]
fn a_requester_has_one_share_under_all_its_names() {
    let sts = cancelling();
    let share = |token: &str, requester: &Requester| {
        let message = super::message(&target("Cancel", token));
        let records = Records::of_contexts(&|_| Ok(None));
        let answer = sts
            .service
            .answer(message.body(), None, requester, records, sts.now);
        match &answer.expect("an answer").effects[..] {
            [Effect::CancelAssertion { requester, .. }] => requester.clone(),
            other => panic!("{other:?}"),
        }
    };
    let of = |subject: &str| {
        let requester = by_signature(subject);
        let token = sts.issued(&issue(BOOKS, "PublicKey", ""), &requester);
        share(&token, &requester)
    };
    assert_eq!(of("CN=client"), of("CN=CLIENT"));
    assert_ne!(of("CN=client"), of("CN=front"));
    let user = by_password("CN=client");
    let token = sts.issued(&issue(BOOKS, "Bearer", ""), &user);
    assert_ne!(share(&token, &user), of("CN=client"));
}
