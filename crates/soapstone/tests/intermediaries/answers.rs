//! Answers on their way back over nodes: each node has a header of its own, and the client reads
//! what is for it alone.

use soapstone::config::Problems;
use soapstone::wss::Receipt;
use soapstone::{Arrived, Client, Service};

use super::*;

/// The way back begins with the second node.
const BACK: &str = "[[answers.recipients]]\nactor = \"urn:second\"\nmechanism = \"sign\"\nsigned = [\"Timestamp\", \"{urn:hop}price\"]\n\
     [[answers.recipients]]\nactor = \"urn:first\"\npeer = { certificate = \"first.cert.pem\" }\n\
     mechanism = \"sign-encrypt\"\nsigned = [\"Timestamp\", \"{urn:hop}route\"]\nencrypted = [\"{urn:hop}route\"]\n";

/// The first node as it reads answers: a header for `next` would be for every node before it, too.
fn first_on_the_way_back() -> String {
    first().replace("role = \"next\"", "role = \"urn:first\"")
}

/// Both ends, each with the other as its peer.
pub(super) struct Ends {
    client: Client,
    service: Service,
}

pub(super) fn ends(nodes: &Nodes, back: &str) -> Result<Ends, Problems> {
    let client = format!(
        "peer = {{ certificate = \"service.cert.pem\" }}\n{}",
        super::service()
    );
    let service = format!(
        "peer = {{ certificate = \"client.cert.pem\" }}\n{}{back}",
        super::service()
    );
    Ok(Ends {
        client: Endpoint::from_config(&nodes.config("client", &client)?)?,
        service: Endpoint::from_config(&nodes.config("service", &service)?)?,
    })
}

fn memory() -> Memory<'static> {
    Memory::without_conversations(&ForgetfulReplayCache)
}

/// An answer that was sent, and what the client needs to open it.
pub(super) fn answered(ends: &Ends, answer: String) -> Result<(String, Receipt), SecureError> {
    let request = ends.client.secure(plain(SOAP11).into_bytes());
    let request = request.expect("it is secured");
    let Ok(Arrived::Message(opened)) = ends.service.receive(request.bytes, memory()) else {
        panic!("the request is not received");
    };
    let answer = ends.service.answer(answer.into_bytes(), &opened.receipt)?;
    let answer = String::from_utf8(answer.bytes).expect("text");
    Ok((answer, request.receipt))
}

#[test]
fn each_node_on_the_way_back_has_a_header_of_its_own() {
    let nodes = Nodes::new();
    for soap in [SOAP11, SOAP12] {
        let ends = ends(&nodes, BACK).unwrap_or_else(|problems| panic!("{problems}"));
        let request = plain(soap);
        let request = ends.client.secure(request.into_bytes()).expect("secured");
        let Ok(Arrived::Message(opened)) = ends.service.receive(request.bytes, memory()) else {
            panic!("the request is not received");
        };
        let answer = ends
            .service
            .answer(plain(soap).into_bytes(), &opened.receipt);
        let answer = String::from_utf8(answer.expect("secured").bytes).expect("text");
        assert_eq!(headers(&answer).len(), 3, "{answer}");
        let passed_second = nodes.passed("second", &second(), &answer);
        let left = text(&passed_second.expect("the second node"));
        assert_eq!(headers(&left).len(), 2, "{left}");
        let left = text(
            &nodes
                .passed("first", &first_on_the_way_back(), &left)
                .expect("the first node"),
        );
        assert_eq!(headers(&left).len(), 1, "{left}");
        let opened = ends
            .client
            .open(left.into_bytes(), request.receipt, memory())
            .expect("the client");
        assert!(String::from_utf8_lossy(&opened.bytes).contains("hello"));
    }
}

/// The way of an answer is not that of its request: a node that left its header there costs the
/// client nothing, and proves nothing.
#[test]
fn a_header_that_a_node_left_in_an_answer_proves_nothing_to_the_client() {
    let nodes = Nodes::new();
    let ends = ends(&nodes, BACK).unwrap_or_else(|problems| panic!("{problems}"));
    let (answer, receipt) = answered(&ends, plain(SOAP11)).expect("it is secured");
    let opened = ends.client.open(answer.into_bytes(), receipt, memory());
    let opened = String::from_utf8(opened.expect("the client").bytes).expect("text");
    // The nodes' parts are covered by nothing that is for the client.
    assert!(!opened.contains("<h:price"), "{opened}");
}

#[test]
fn a_part_that_was_changed_on_the_way_back_is_refused_by_its_node() {
    let nodes = Nodes::new();
    let ends = ends(&nodes, BACK).unwrap_or_else(|problems| panic!("{problems}"));
    let (answer, _) = answered(&ends, plain(SOAP11)).expect("it is secured");
    let forged = answer.replace(">7</h:price>", ">8</h:price>");
    assert_ne!(forged, answer);
    let refused = nodes
        .passed("second", &second(), &forged)
        .map(|it| text(&it));
    let refused = refused.expect_err("it was changed");
    assert_eq!(refused.name(), "digest-mismatch");
}

/// SOAP 1.1, 4.2.2: the node in between takes out what is addressed to it.
#[test]
fn an_answer_whose_block_is_taken_out_on_the_way_is_not_sent() {
    let nodes = Nodes::new();
    let ends = ends(&nodes, BACK).unwrap_or_else(|problems| panic!("{problems}"));
    let block =
        route(" xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\" s:actor=\"urn:second\"");
    let answer = with_header(SOAP11, &(block + &price("")), HELLO);
    let refused = answered(&ends, answer).map(|(text, _)| text);
    assert!(
        matches!(refused, Err(SecureError::TakenOutBefore { .. })),
        "{refused:?}"
    );
}

#[test]
fn what_makes_no_sense_of_the_way_back_is_a_mistake_of_the_file() {
    let nodes = Nodes::new();
    let problems = |back: &str| {
        ends(&nodes, back)
            .err()
            .map(|problems| problems.to_string())
            .unwrap_or_default()
    };
    let twice = "[[answers.recipients]]\nactor = \"urn:a\"\nmechanism = \"sign\"\n".repeat(2);
    let encrypts = "[[answers.recipients]]\nactor = \"urn:a\"\npeer = { certificate = \"first.cert.pem\" }\n\
                    mechanism = \"sign-encrypt\"\nencrypted = [\"Body\"]\nsigned = [\"Timestamp\"]\n";
    for (back, told) in [
        (twice.as_str(), "two recipients have one actor"),
        (
            encrypts,
            "`Body` is encrypted for this node, and later ones read it",
        ),
    ] {
        let found = problems(back);
        assert!(found.contains(told), "{found}");
    }
    let client = format!(
        "peer = {{ certificate = \"service.cert.pem\" }}\n{}{BACK}",
        super::service()
    );
    let client = nodes.config("client", &client);
    let client: Result<Client, Problems> = client.and_then(|it| Endpoint::from_config(&it));
    let found = client.err().map(|it| it.to_string()).unwrap_or_default();
    let told = "`recipients` of `answers` is for answers that leave, and this endpoint sends none";
    assert!(found.contains(told), "{found}");
}
