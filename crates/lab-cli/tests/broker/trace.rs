//! One trace of a call through the architecture: registry, providers and broker as processes of
//! their own, and a collector that both gateways tell.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use crate::common::{Folder, build_registry};
use crate::server::{Server, backend, free_port, post_octets};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";

const CALL: &str = "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body><e:Echo xmlns:e=\"urn:e\"/></s:Body></s:Envelope>";

/// The spans that were exported.
type Spans = Arc<Mutex<Vec<Value>>>;

/// Collects spans (OTLP over HTTP): where, and what it was told.
fn collector() -> (String, Spans) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let told = Spans::default();
    let spans = Arc::clone(&told);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let request: Value = serde_json::from_slice(&body(&mut stream)).expect("JSON");
            let answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
            stream.write_all(answer.as_bytes()).expect("it is read");
            let found = request["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array();
            let mut spans = spans.lock().expect("nobody panicked");
            spans.extend(found.into_iter().flatten().cloned());
        }
    });
    (format!("http://{address}"), told)
}

/// The body of a request.
fn body(stream: &mut TcpStream) -> Vec<u8> {
    let mut read = Vec::new();
    let mut part = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&read).to_lowercase();
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let length = head.split_once("content-length: ").map(|(_, rest)| rest);
            let length = length
                .and_then(|rest| rest.split("\r\n").next())
                .expect("a length");
            let length: usize = length.parse().expect("a number");
            if read.len() >= head.len() + 4 + length {
                return read.split_off(head.len() + 4);
            }
        }
        let count = stream.read(&mut part).expect("a request");
        assert!(count > 0, "the request is whole");
        read.extend_from_slice(&part[..count]);
    }
}

fn endpoint(own: &str, peer: &str) -> String {
    format!(
        "identity = {{ key = \"{own}.key.pem\", certificate = \"{own}.cert.pem\" }}\n\
         peer = {{ certificate = \"{peer}.cert.pem\" }}\n\
         trust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"CN={peer}\"] }}\n\
         security = {{ mechanism = \"sign\", suite = \"Basic256GCMEcdhEs\" }}\n"
    )
}

/// What a gateway says of the registry and of the collector.
fn tables(registry: u16, collector: &str, name: &str) -> String {
    format!(
        "[traces]\ncollector = \"{collector}\"\n[registry]\nurl = \"http://127.0.0.1:{registry}/uddi\"\nbusiness = \"{name}\"\n\
         period = \"200ms\"\n[registry.client]\n{}",
        endpoint(name, "registry")
    )
}

/// Registers as a provider of books, and demands what is said of calls.
fn provider(
    folder: &Folder,
    name: &str,
    (registry, collector): (u16, &str),
    demands: &str,
) -> Server {
    let port = free_port();
    let text = format!(
        "listen = \"127.0.0.1:{port}\"\npublic_url = \"http://127.0.0.1:{port}\"\n{}[[routes]]\npath = \"/books\"\n\
         backend = \"http://{}/\"\nprovides = {{ service = \"Books\" }}\n{demands}",
        // However busy the machine is: a provider whose reports are late is a backup.
        tables(registry, collector, name).replace("200ms", "5s"),
        backend()
    );
    folder.write(&format!("{name}.toml"), text);
    Server::start(
        folder,
        &format!("gateway --config {name}.toml"),
        "gateway at",
    )
}

fn attributes(span: &Value) -> BTreeMap<String, String> {
    let attributes = span["attributes"].as_array().into_iter().flatten();
    let told = attributes.map(|attribute| {
        let value = attribute["value"].as_object().expect("an object");
        let value = value
            .values()
            .next()
            .and_then(Value::as_str)
            .expect("a text");
        let name = attribute["key"].as_str().expect("a name");
        (name.to_owned(), value.to_owned())
    });
    told.collect()
}

fn at(span: &Value, which: &str) -> u64 {
    let text = span[which].as_str().expect("a text");
    text.parse().expect("a number")
}

/// What `/backends` tells.
fn known(admin: u16) -> Value {
    let mut stream = TcpStream::connect(("127.0.0.1", admin)).expect("somebody listens");
    let request = "GET /backends HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("it is read");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
    serde_json::from_str(body).expect("JSON")
}

/// Rodrigues, Estrella and Branco, section 5.1: the seven steps of a request.
#[test]
fn the_seven_steps_of_a_call_are_in_one_trace() {
    build_registry();
    let folder = Folder::new();
    folder
        .run("keys new ca --ca --kind ec-p256 --subject CN=ca")
        .succeeds();
    for name in ["registry", "p1", "p2", "broker"] {
        let words = format!("keys new {name} --kind ec-p256 --signed-by ca --subject CN={name}");
        folder.run(&words).succeeds();
    }
    let (collector, told) = collector();
    let registry_port = free_port();
    folder.write(
        "registry.toml",
        format!(
            "listen = \"127.0.0.1:{registry_port}\"\n[inbound]\nidentity = {{ key = \"registry.key.pem\", certificate = \"registry.cert.pem\" }}\n\
             trust = {{ anchors = [\"ca.cert.pem\"] }}\nsecurity = {{ mechanism = \"sign\", suite = \"Basic256GCMEcdhEs\" }}\n\
             [[publishers]]\nsubject = \"*\"\nservices = [\"Books\"]\n"
        ),
    );
    let _registry = Server::start(
        &folder,
        "registry serve --config registry.toml",
        "registry at",
    );
    let demands = format!("[routes.inbound]\n{}", endpoint("p1", "broker"));
    let towards = (registry_port, collector.as_str());
    let mut signing = provider(&folder, "p1", towards, &demands);
    let _plain = provider(&folder, "p2", towards, "");
    let (port, admin) = (free_port(), free_port());
    folder.write(
        "broker.toml",
        format!(
            "listen = \"127.0.0.1:{port}\"\nadmin = \"127.0.0.1:{admin}\"\n{}[[routes]]\npath = \"/books\"\n\
             balance = {{ selection = \"performance\", needs = {{ properties = [\"integrity\"] }} }}\n\
             [routes.outbound]\nsecurity = {{ mechanism = \"none\" }}\n\
             [routes.backends]\nservice = \"Books\"\nowners = [\"CN=p1\", \"CN=p2\"]\n\
             [[routes.backends.policies]]\nowners = [\"CN=p1\"]\n[routes.backends.policies.outbound]\n{}",
            tables(registry_port, &collector, "broker").replace("business = \"broker\"\n", ""),
            endpoint("broker", "p1")
        ),
    );
    let mut broker = Server::start(&folder, "gateway --config broker.toml", "gateway at");
    let knows_both = || {
        let known = known(admin);
        let backends = known["routes"][0]["backends"].as_array().map(Vec::len);
        backends == Some(2) && known["routes"][0]["registry"]["answered_ms_ago"].is_u64()
    };
    let mut patience = 400;
    while !knows_both() {
        patience -= 1;
        assert!(
            patience > 0,
            "the broker knows both providers: {}",
            known(admin)
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    let headers = format!("traceparent: 00-{TRACE}-{CALLER}-01\r\n");
    let answer = post_octets(
        &format!("http://127.0.0.1:{port}/books"),
        &headers,
        CALL.as_bytes(),
    );
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // Their ends hand over what waits.
    broker.stop("-TERM");
    signing.stop("-TERM");
    let spans = told.lock().expect("nobody panicked").clone();
    let spans: Vec<Value> = spans
        .into_iter()
        .filter(|span| span["traceId"] == TRACE)
        .collect();
    let one = |name: &str, parent: &Value| {
        let mut found = spans
            .iter()
            .filter(|it| it["name"] == name && it["parentSpanId"] == *parent);
        let only = found
            .next()
            .unwrap_or_else(|| panic!("{name} below {parent} in {spans:#?}"));
        assert!(found.next().is_none(), "one {name}");
        only
    };
    // 1: the client calls the broker.
    let call = one("POST /books", &Value::from(CALLER));
    // 2: it searches the providers that are known for those that cover the needs; 3: what the
    // registry told of these; 4: it chooses.
    let choice = one("choose", &call["spanId"]);
    let said = attributes(choice);
    let attribute = |name: &str| said.get(name).map(String::as_str);
    assert_eq!(attribute("soapstone.backends"), Some("2"));
    assert_eq!(attribute("soapstone.backends.covering"), Some("1"));
    assert_eq!(attribute("soapstone.chosen"), Some("only"));
    let age = attribute("soapstone.source.age_ms").expect("the registry has answered");
    age.parse::<u64>().expect("a number");
    // 5: it invokes the provider, 6: which answers to the broker.
    let invoked = one("backend", &call["spanId"]);
    assert!(at(choice, "endTimeUnixNano") <= at(invoked, "startTimeUnixNano"));
    let served = one("POST /books", &invoked["spanId"]);
    let status = |span: &Value| attributes(span).remove("http.response.status_code");
    assert_eq!(status(invoked).as_deref(), Some("200"));
    assert_eq!(status(served).as_deref(), Some("200"));
    // 7: and the broker to the client.
    assert_eq!(status(call).as_deref(), Some("200"));
    assert!(at(invoked, "endTimeUnixNano") <= at(call, "endTimeUnixNano"));
    // The provider opened the request and secured the answer; the broker the other way round.
    for (of, steps) in [(call, ["secure", "open"]), (served, ["open", "secure"])] {
        for step in steps {
            one(step, &of["spanId"]);
        }
    }
    // Names of providers are their own words.
    let all = serde_json::to_string(&spans).expect("JSON");
    assert!(!all.contains("127.0.0.1"), "{all}");
}
