//! `soapstone registry find`: what it sends to any registry, and what it tells of the answer.

use std::process::{Command, Output};

use super::*;

/// A registry that gives these answers, one after another: status and body. The requests that it
/// got.
fn answering(answers: Vec<(&str, String)>) -> (SocketAddr, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let answers: Vec<(String, String)> = answers
        .into_iter()
        .map(|(status, body)| (status.to_owned(), body))
        .collect();
    let serving = std::thread::spawn(move || {
        let mut requests = Vec::new();
        for (status, body) in answers {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            while !request.ends_with(b"</soap:Envelope>") {
                let read = stream.read(&mut buffer).expect("a request");
                assert!(read > 0, "the request is cut");
                request.extend_from_slice(&buffer[..read]);
            }
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: text/xml\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            stream.write_all((head + &body).as_bytes()).expect("sent");
            requests.push(String::from_utf8(request).expect("text"));
        }
        requests
    });
    (address, serving)
}

fn find(address: SocketAddr, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_soapstone-registry"))
        .args(["registry", "find", "--service", "Boo%", "--approximate"])
        .arg("--registry")
        .arg(format!("http://{address}/uddi"))
        .args(words)
        .output()
        .expect("the program runs")
}

fn answer(body: &str) -> String {
    String::from_utf8(envelope(body)).expect("text")
}

/// What it says of a failure.
fn failing(status: &str, body: &str) -> String {
    let (address, serving) = answering(vec![(status, body.to_owned())]);
    let output = find(address, &[]);
    assert_eq!(output.status.code(), Some(1));
    serving.join().expect("one request");
    String::from_utf8(output.stderr).expect("text")
}

/// SOAP 1.1, 6.1.1: a client must send the field.
#[test]
fn a_question_has_an_action_and_the_answer_says_whether_there_is_more() {
    let list = "<serviceList xmlns=\"urn:uddi-org:api_v3\" truncated=\"true\"><serviceInfos/></serviceList>";
    let (address, serving) = answering(vec![("200 OK", answer(list))]);
    let output = find(address, &["--json"]);
    let said = String::from_utf8(output.stdout).expect("text");
    let said: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    let expected = serde_json::json!({ "services": [], "truncated": true });
    assert_eq!(said, expected);
    let requests = serving.join().expect("one request");
    let head = requests[0].to_ascii_lowercase();
    assert!(head.contains("\r\nsoapaction: \"\"\r\n"), "{head}");
}

#[test]
fn a_fault_is_told_with_its_code() {
    let report = "<dispositionReport xmlns=\"urn:uddi-org:api_v3\"><result errno=\"10030\">\
        <errInfo errCode=\"E_resultSetTooLarge\">ask\nless</errInfo></result></dispositionReport>";
    let fault = |detail: &str| {
        answer(&format!(
            "<s:Fault><faultcode>s:Client</faultcode><faultstring>no such luck</faultstring>{detail}</s:Fault>"
        ))
    };
    let told = fault(&format!("<detail>{report}</detail>"));
    // Some answer with status 200.
    for status in ["500 Internal Server Error", "200 OK"] {
        let said = failing(status, &told);
        let expected = "it refused with E_resultSetTooLarge: ask\\nless";
        assert!(said.contains(expected), "{said}");
    }
    let said = failing("500 Internal Server Error", &fault(""));
    assert!(
        said.contains("it answered with a fault: no such luck"),
        "{said}"
    );
    for (status, body) in [
        ("500 Internal Server Error", "<html>".to_owned()),
        ("500 Internal Server Error", answer("<x/>")),
        ("404 Not Found", fault("")),
    ] {
        let said = failing(status, &body);
        assert!(said.contains(&format!("it answered {status}")), "{said}");
    }
}
