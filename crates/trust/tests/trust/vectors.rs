//! Messages of other projects: every case of WS-Trust in the vectors directory.

use soapstone_trust::addressing::{Addressing, AddressingVersion};
use soapstone_trust::{
    Action, KeyType, Lifetime, Operation, Refusal, RequestType, Requests, Responses, SecurityToken,
    TrustVersion,
};
use soapstone_wss::Envelope;
use soapstone_xml::{Buffers, Limits};

use crate::support::{Host, alice, now};

#[test]
fn messages_of_other_projects_are_read() {
    for case in soapstone_testkit::cases_of_suite("wstrust-adal") {
        let message =
            Envelope::parse(case.input(), &Limits::default(), &mut Buffers::default()).unwrap();
        match case.id.as_str() {
            "wstrust-adal/RST" => adal_request(&message),
            "wstrust-adal/common.rstr" => adal_response(&message),
            other => panic!("nothing is expected of {other}"),
        }
    }
}

fn headers(message: &Envelope) -> Addressing {
    let header = message.header().unwrap();
    Addressing::read(header).unwrap().expect("headers")
}

fn adal_request(message: &Envelope) {
    let headers = headers(message);
    let action = Action::from_uri(&headers.action).unwrap();
    assert_eq!(action.operation, Operation::Issue);
    assert!(!action.context);
    assert!(headers.is_answered_here());
    assert_eq!(headers.to.as_deref(), Some("%WSTRUST_ENDPOINT%"));
    let element = message.body().first_child().unwrap();
    let Requests::One(request) = Requests::read(element).unwrap() else {
        panic!("one request");
    };
    assert_eq!(request.version, TrustVersion::V13);
    assert_eq!(request.request_type, RequestType::single(Operation::Issue));
    assert_eq!(request.key_type, Some(KeyType::Bearer));
    assert_eq!(request.applies_to.as_ref().unwrap().address, "%APPLIES_TO%");
    assert!(request.not_understood.is_empty());
    // A bearer token is no security context.
    let fault = Host::default()
        .answer_to(message, &headers.action, &alice())
        .unwrap_err();
    let found = KeyType::Bearer.uri(TrustVersion::V13);
    assert_eq!(fault.refusal, Refusal::KeyTypeNotOffered { found });
}

fn adal_response(message: &Envelope) {
    let headers = headers(message);
    assert_eq!(headers.version, AddressingVersion::V10);
    let issue = Action {
        version: TrustVersion::V13,
        operation: Operation::Issue,
        context: false,
        batch: false,
    };
    assert_eq!(headers.action, issue.answer_uri());
    let element = message.body().first_child().unwrap();
    let answers = Responses::read(element).unwrap().into_vec();
    let [answer] = &answers[..] else {
        panic!("one answer: {}", answers.len());
    };
    let Some(SecurityToken::Other(token)) = &answer.token else {
        panic!("another token: {:?}", answer.token);
    };
    assert_eq!(
        token.name,
        "{urn:oasis:names:tc:SAML:1.0:assertion}Assertion"
    );
    // All that verifying its signature needs is kept, and written again.
    let mut again = Vec::new();
    answer.write(&mut again);
    let again = Envelope::parse(
        [
            b"<e:Envelope xmlns:e=\"http://schemas.xmlsoap.org/soap/envelope/\"><e:Body>",
            &again[..],
            b"</e:Body></e:Envelope>",
        ]
        .concat(),
        &Limits::default(),
        &mut Buffers::default(),
    )
    .unwrap();
    let read = Responses::read(again.body().first_child().unwrap()).unwrap();
    assert_eq!(read.into_vec()[0].token, answer.token);
    assert_eq!(answer.key_type, Some(KeyType::Bearer));
    let (created, expires) = ("2014-01-27T08:15:45.003Z", "2014-01-27T09:15:45.003Z");
    let lifetime = Lifetime::new(created.parse().unwrap(), expires.parse().unwrap());
    assert_eq!(answer.lifetime, Some(lifetime));
    let scope = answer.applies_to.as_ref().unwrap();
    assert_eq!(scope.address, "urn:federation:MicrosoftOnline");
    assert!(answer.proof.is_none() && answer.entropy.is_none());
    assert!(lifetime.expires.unwrap() < now());
}
