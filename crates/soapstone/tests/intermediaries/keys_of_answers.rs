//! A node on the way that holds a key with the client, and another one with the service.
use super::*;

fn shared(octet: &str) -> String {
    let hex = octet.repeat(32);
    format!("shared_key = {{ name = \"node\", hex = \"{hex}\" }}\n")
}

/// The node: its key of requests, and what it says of answers.
fn node(requests: &str, answers: &str) -> String {
    format!(
        "role = \"urn:node\"\n{requests}security = {{ mechanism = \"sign\", {SUITE}, signed = [\"Timestamp\", \"Body\"] }}\n\
         [answers]\nmechanism = \"sign\"\nsigned = [\"Timestamp\", \"Body\"]\n{answers}"
    )
}

/// A message with a header for the node under a key that its sender holds, too.
fn for_the_node(nodes: &Nodes, key: &str) -> String {
    let sender = format!(
        "peer = {{ certificate = \"service.cert.pem\" }}\nsecurity = {{ mechanism = \"sign\", {SUITE} }}\n\
         [[recipients]]\nactor = \"urn:node\"\nmechanism = \"sign\"\nsigned = [\"Timestamp\", \"Body\"]\n{key}"
    );
    nodes.sent(&sender, plain(SOAP11)).expect("it is secured")
}

/// What the node makes of an answer.
fn read(nodes: &Nodes, file: &str, answer: &str) -> Result<String, Rejected> {
    let node = nodes.opener("first", file);
    let node = node.unwrap_or_else(|problems| panic!("{problems}"));
    let reader = node.reader_of_answers().expect("it reads answers");
    passed(reader, answer).map(|passed| text(&passed))
}

/// SOAP Message Security 1.1.1, 5: each header is proven by the key of the two who hold it. A
/// request that an attacker has come back as an answer proves nothing.
#[test]
fn answers_are_read_by_the_key_that_the_service_holds() {
    let nodes = Nodes::new();
    let (client, service) = (shared("5a"), shared("5c"));
    let file = node(&client, &service);
    let request = for_the_node(&nodes, &client);
    nodes
        .passed("first", &file, &request)
        .unwrap_or_else(|refused| panic!("{refused}"));
    let answer = for_the_node(&nodes, &service);
    let left = read(&nodes, &file, &answer).unwrap_or_else(|refused| panic!("{refused}"));
    assert_eq!(headers(&left).len(), 1, "{left}");
    let reflected = read(&nodes, &file, &request).expect_err("it is a request");
    assert_eq!(reflected.name(), "signature-mismatch");
    let of_service = nodes.passed("first", &file, &answer).map(|_| ());
    let of_service = of_service.expect_err("it is an answer");
    assert_eq!(of_service.name(), "signature-mismatch");
}

/// `trust` of answers is asked, though a key is held with the client.
#[test]
fn answers_are_read_by_certificates_where_the_file_says_whose() {
    let nodes = Nodes::new();
    let client = shared("5a");
    let trust = "trust = { anchors = [\"ca.cert.pem\"], subjects = [\"CN=client\"] }\n";
    let file = node(&client, trust);
    // It is the client's certificate that signs here.
    let answer = for_the_node(&nodes, "");
    read(&nodes, &file, &answer).unwrap_or_else(|refused| panic!("{refused}"));
    let reflected = read(&nodes, &file, &for_the_node(&nodes, &client));
    let reflected = reflected.expect_err("it is a request");
    assert_eq!(reflected.name(), "algorithm-not-allowed");
}

#[test]
fn answers_that_the_key_of_requests_would_prove_are_a_mistake_of_the_file() {
    let nodes = Nodes::new();
    let client = shared("5a");
    let trust = "trust = { anchors = [\"ca.cert.pem\"] }\n";
    for (file, expected) in [
        (
            node(&client, ""),
            "`answers` says nothing of who signs them, and the `shared_key` of requests is that of the client",
        ),
        (
            node(&client, &client),
            "`shared_key` of `answers` is the key of requests: a request that comes back would be an answer",
        ),
        (
            node("", &[trust, &client].concat()),
            "both `trust` and `shared_key` of `answers` are given",
        ),
        (
            format!("security = {{ mechanism = \"sign\", {SUITE} }}\n[answers]\n{client}"),
            "`shared_key` of `answers` is for a node on the way",
        ),
    ] {
        let told = nodes.opener("first", &file).map(|_| ());
        let told = told.expect_err("a problem").to_string();
        assert!(told.contains(expected), "expected {expected}\nfound {told}");
    }
}
