//! Conversations over a node: the handshake and every message have a header for it.

use soapstone::wss::{Outgoing, SoapVersion};
use soapstone::{Arrived, Call, Client, Service};

use super::contexts::Granted;
use super::*;

const SECURITY: &str =
    "security = { mechanism = \"secure-conversation\", suite = \"Basic256GCM\" }\n";

/// What the node reads.
fn node() -> String {
    format!(
        "role = \"urn:first\"\nsecurity = {{ mechanism = \"sign\", {SUITE}, signed = [\"Timestamp\", \"Body\"] }}\n"
    )
}

const FOR_THE_NODE: &str =
    "actor = \"urn:first\"\nmechanism = \"sign\"\nsigned = [\"Timestamp\", \"Body\"]\n";

#[test]
fn a_conversation_goes_over_a_node_with_its_handshake_and_its_answers() {
    let nodes = Nodes::new();
    let made = |name: &str, peer: &str, back: &str| {
        let text = format!(
            "peer = {{ certificate = \"{peer}.cert.pem\" }}\n{SECURITY}[[{back}]]\n{FOR_THE_NODE}"
        );
        nodes.config(name, &text)
    };
    let client = made("client", "service", "recipients");
    let client: Client = client
        .and_then(|it| Endpoint::from_config(&it))
        .unwrap_or_else(|problems| panic!("{problems}"));
    let service = made("service", "client", "answers.recipients");
    let service: Service = service
        .and_then(|it| Endpoint::from_config(&it))
        .unwrap_or_else(|problems| panic!("{problems}"));
    let granted = Granted::default();
    let serving = || Memory {
        replay: &ForgetfulReplayCache,
        contexts: &granted,
    };
    let over = |message: Vec<u8>| {
        let message = String::from_utf8(message).expect("text");
        assert_eq!(headers(&message).len(), 2, "{message}");
        let passed = nodes.passed("first", &node(), &message);
        passed.expect("the node").bytes
    };
    let nobody = Memory::without_conversations(&ForgetfulReplayCache);
    let mut buffers = Buffers::new();
    let mut call = Call::new(jiff::Timestamp::now(), &mut buffers);
    let handshakes = client.handshakes().expect("it has conversations");
    let mut handshake = handshakes
        .begin("http://service.example/", SoapVersion::V12, &mut call)
        .expect("it is asked for");
    let request = over(std::mem::take(&mut handshake.bytes));
    let Ok(Arrived::Answered(answer)) = service.receive(request, serving()) else {
        panic!("no answer");
    };
    let context = handshakes
        .conclude(handshake, over(answer.bytes), nobody, &mut call)
        .expect("a context");
    for _ in 0..2 {
        let sent = client
            .secure_with(
                plain(SOAP12).into_bytes(),
                Outgoing::within(&context),
                &mut call,
            )
            .expect("it is secured");
        let Ok(Arrived::Message(opened)) = service.receive(over(sent.bytes), serving()) else {
            panic!("the request is not received");
        };
        let answer = service.answer(plain(SOAP12).into_bytes(), &opened.receipt);
        let answer = over(answer.expect("it is secured").bytes);
        let nobody = Memory::without_conversations(&ForgetfulReplayCache);
        let opened = client.open_with(answer, sent.receipt, nobody, &mut call);
        opened.expect("the client");
    }
}
