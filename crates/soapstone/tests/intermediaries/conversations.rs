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

/// The handshake goes the same way as what follows it, and has a policy of its own.
#[test]
fn a_node_breaks_nothing_of_the_messages_that_a_conversation_begins_with() {
    let nodes = Nodes::new();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let wsdl = root.join("interop/recorded/cxf/secure-conversation-Basic128GCM/service.wsdl");
    let wsdl = std::fs::read_to_string(wsdl).expect("a description");
    let (before, parts) = wsdl
        .rsplit_once("<sp:SignedParts><sp:Body/>")
        .expect("parts");
    let parts = parts.replacen("<sp:EncryptedParts><sp:Body/></sp:EncryptedParts>", "", 1);
    nodes
        .0
        .write("service.wsdl", format!("{before}<sp:SignedParts>{parts}"));
    let problems = |part: &str| {
        let text = format!(
            "peer = {{ certificate = \"service.cert.pem\" }}\n\
             security = {{ policy = \"service.wsdl\", sha256_suites = \"sha256\" }}\n\
             [[recipients]]\nactor = \"urn:first\"\npeer = {{ certificate = \"first.cert.pem\" }}\n\
             mechanism = \"sign-encrypt\"\n{SUITE}\nsigned = [\"Timestamp\"]\nencrypted = [\"{part}\"]\n"
        );
        let client = nodes.config("client", &text);
        let client: Result<Client, Problems> = client.and_then(|it| Endpoint::from_config(&it));
        client.err().map(|it| it.to_string()).unwrap_or_default()
    };
    let found = problems("Body");
    let told = "`Body` is encrypted for this node, and later ones read it or its signature";
    assert!(found.contains(told), "{found}");
    assert_eq!(problems("{urn:hop}route"), "");
}
