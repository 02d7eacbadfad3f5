//! Gateways as nodes on the way: client, two nodes, and the gateway before the service.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use soapstone::config::EndpointConfig;
use soapstone::endpoint::Endpoint;
use soapstone::wss::{Receipt, SoapVersion};
use soapstone::{Arrived, Client, ForgetfulReplayCache, Memory, Service};
use soapstone_gateway::{Config, Running};
use soapstone_testkit::envelope::{HELLO, SOAP11, SOAP12, with_header};
use soapstone_testkit::keys::RSA;

use crate::support::{Backend, Seen, post, post_12, send};

const ROUTE: &str = "<h:route xmlns:h=\"urn:hop\">north</h:route>";

/// A request in a version of SOAP, which its namespace names.
fn post_in(soap: &str, message: Vec<u8>) -> Request<Full<Bytes>> {
    match soap {
        SOAP12 => post_12("/echo", message),
        _ => post("/echo", message),
    }
}

/// The nodes with their keys.
struct Nodes(soapstone_testkit::Folder);

impl Nodes {
    fn new() -> Self {
        let names = ["client", "first", "second", "service"];
        Self(soapstone_testkit::Folder::with_keys(RSA, &names))
    }

    fn keys(name: &str) -> String {
        format!(
            "identity = {{ key = \"{name}.key.pem\", certificate = \"{name}.cert.pem\" }}\n\
             trust = {{ anchors = [\"ca.cert.pem\"] }}\n"
        )
    }

    /// A client that secures requests for the service, and for both nodes.
    fn client(&self) -> Client {
        let text = Self::keys("client")
            + "peer = { certificate = \"service.cert.pem\" }\n\
               security = { mechanism = \"sign-encrypt\", suite = \"Basic256GCM\" }\n\
               [[recipients]]\nactor = \"next\"\npeer = { certificate = \"first.cert.pem\" }\n\
               mechanism = \"sign-encrypt\"\nsigned = [\"Timestamp\", \"{urn:hop}route\"]\nencrypted = [\"{urn:hop}route\"]\n\
               [[recipients]]\nactor = \"urn:second\"\nmechanism = \"sign\"\nsigned = [\"Timestamp\"]\n";
        let config = EndpointConfig::from_text(&text, &self.0.path("client.toml"), &|_| None);
        let client = config.and_then(|config| Endpoint::from_config(&config));
        client.unwrap_or_else(|problems| panic!("{problems}"))
    }

    fn config(&self, name: &str, backend: &str, inbound: &str) -> Result<Config, String> {
        let text = format!(
            "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{backend}/echo\"\n[routes.inbound]\n{}{inbound}",
            Self::keys(name)
        );
        let config = Config::from_text(&text, &self.0.path("gateway.toml"), &|_| None);
        config.map_err(|problems| problems.to_string())
    }

    async fn gateway(&self, name: &str, backend: std::net::SocketAddr, inbound: &str) -> Running {
        let config = self.config(name, &backend.to_string(), inbound);
        let config = config.unwrap_or_else(|problems| panic!("{problems}"));
        let started = soapstone_gateway::Gateway::start(config).await;
        started.expect("the system has ports")
    }
}

const FIRST: &str = "role = \"next\"\nsecurity = { mechanism = \"sign-encrypt\", suite = \"Basic256GCM\", \
     signed = [\"Timestamp\", \"{urn:hop}route\"], encrypted = [\"{urn:hop}route\"] }\n";
const SECOND: &str = "role = \"urn:second\"\nsecurity = { mechanism = \"sign\", suite = \"Basic256GCM\", signed = [\"Timestamp\"] }\n";
const SERVICE: &str = "security = { mechanism = \"sign-encrypt\", suite = \"Basic256GCM\" }\n";

/// A server that passes on what it gets to a gateway, and keeps both messages.
async fn tap(to: std::net::SocketAddr) -> (Backend, Arc<Mutex<Vec<(Bytes, Bytes)>>>) {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keeping = Arc::clone(&kept);
    let handle = tokio::runtime::Handle::current();
    let backend = Backend::answering(move |seen: &Seen| {
        let mut request = post("/echo", seen.body.clone());
        *request.headers_mut() = seen.headers.clone();
        let answer = tokio::task::block_in_place(|| handle.block_on(send(to, request)));
        let body = Bytes::from(answer.body);
        let mut kept = keeping.lock().expect("nobody panicked");
        kept.push((seen.body.clone(), body.clone()));
        let mut response = Response::new(Full::new(body));
        *response.status_mut() = answer.status;
        if let Some(media_type) = answer.headers.get("content-type") {
            response
                .headers_mut()
                .insert("content-type", media_type.clone());
        }
        response
    })
    .await;
    (backend, kept)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_goes_over_two_gateways_to_a_third_and_its_answer_comes_back_whole() {
    let nodes = Nodes::new();
    let client = nodes.client();
    for soap in [SOAP11, SOAP12] {
        let mut backend = Backend::echo().await;
        let service = nodes.gateway("service", backend.address, SERVICE).await;
        let (before_service, at_service) = tap(service.address()).await;
        let second = nodes
            .gateway("second", before_service.address, SECOND)
            .await;
        let (before_second, at_second) = tap(second.address()).await;
        let first = nodes.gateway("first", before_second.address, FIRST).await;

        let plain = with_header(
            soap,
            &format!("\n {ROUTE}\t<!-- kept -->"),
            &format!("{HELLO}\n"),
        );
        let secured = client.secure(plain.into_bytes()).expect("it is secured");
        let sent = String::from_utf8(secured.bytes.clone()).expect("text");
        let request = post_in(soap, secured.bytes.clone());
        let answer = send(first.address(), request).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);

        // Each node has taken its own header out, and nothing else.
        let end = "</wsse:Security>";
        let header = |message: &str| {
            let start = message.find("<wsse:Security ").expect("a header");
            let behind = start + message[start..].find(end).expect("its end") + end.len();
            message[start..behind].to_owned()
        };
        let to_second = sent.replacen(&header(&sent), "", 1);
        let to_service = to_second.replacen(&header(&to_second), "", 1);
        let (found, answered) = at_second.lock().expect("nobody panicked")[0].clone();
        assert_eq!(String::from_utf8_lossy(&found), to_second);
        let (found, end_answer) = at_service.lock().expect("nobody panicked")[0].clone();
        assert_eq!(String::from_utf8_lossy(&found), to_service);
        // The answer passes both of them as the service's gateway made it.
        assert_eq!(answered, end_answer);
        assert_eq!(answer.body.as_bytes(), &end_answer[..]);
        let memory = Memory::without_conversations(&ForgetfulReplayCache);
        let opened = client.open(answer.body.into_bytes(), secured.receipt, memory);
        let opened = String::from_utf8(opened.expect("the answer").bytes).expect("text");
        assert!(opened.contains(HELLO), "{opened}");
        let seen = backend.seen.recv().await.expect("a request");
        assert!(String::from_utf8_lossy(&seen.body).contains(HELLO));

        // A copy gets nowhere.
        let request = post_in(soap, secured.bytes);
        let again = send(first.address(), request).await;
        let refused = match soap {
            SOAP11 => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::BAD_REQUEST,
        };
        assert_eq!(again.status, refused, "{}", again.body);
        assert_eq!(at_second.lock().expect("nobody panicked").len(), 1);
    }
}

#[tokio::test]
async fn the_next_node_is_told_what_nothing_proves_here() {
    let nodes = Nodes::new();
    let mut next = Backend::echo().await;
    let first = nodes.gateway("first", next.address, FIRST).await;
    let plain = with_header(SOAP11, ROUTE, HELLO);
    let secured = nodes
        .client()
        .secure(plain.into_bytes())
        .expect("it is secured");
    let answer = send(first.address(), post("/echo", secured.bytes)).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let seen = next.seen.recv().await.expect("a request");
    let told = seen.headers.get("x-soapstone-unproven").expect("a field");
    let wsse = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd";
    assert_eq!(
        told.to_str().expect("text"),
        format!("{{{wsse}}}Security, {{{SOAP11}}}Body")
    );
}

/// Attack: a sender with a role for one operation, and on the way somebody who writes another one
/// into the Body. A node on the way does not notice where the Body is signed for the last node.
#[tokio::test]
async fn a_body_that_nothing_proves_here_calls_no_operation_of_a_role() {
    let nodes = Nodes::new();
    let mut next = Backend::echo().await;
    let roles = |allow: &str| {
        format!(
            "[[roles]]\nname = \"callers\"\nmembers = {{ subjects = [\"CN=client\"] }}\nallow = [\"*:{allow}\"]\n"
        )
    };
    let client = |signed: &str| {
        let text = format!(
            "{}security = {{ mechanism = \"sign\", suite = \"Basic256GCM\" }}\n\
             [[recipients]]\nactor = \"urn:second\"\nmechanism = \"sign\"\nsigned = {signed}\n",
            Nodes::keys("client")
        );
        let config = EndpointConfig::from_text(&text, &nodes.0.path("client.toml"), &|_| None);
        let client = config.and_then(|config| Endpoint::from_config(&config));
        let client: Client = client.unwrap_or_else(|problems| panic!("{problems}"));
        let plain = with_header(SOAP11, "", HELLO);
        let secured = client.secure(plain.into_bytes()).expect("it is secured");
        secured.bytes
    };
    for (signed, demanded, allow, expected) in [
        (
            "[\"Timestamp\"]",
            "[\"Timestamp\"]",
            "echo",
            StatusCode::FORBIDDEN,
        ),
        (
            "[\"Timestamp\"]",
            "[\"Timestamp\"]",
            "{urn:echo}echo",
            StatusCode::FORBIDDEN,
        ),
        ("[\"Timestamp\"]", "[\"Timestamp\"]", "*", StatusCode::OK),
        (
            "[\"Timestamp\", \"Body\"]",
            "[\"Timestamp\", \"Body\"]",
            "echo",
            StatusCode::OK,
        ),
        // It is proven, although the node does not demand it.
        (
            "[\"Timestamp\", \"Body\"]",
            "[\"Timestamp\"]",
            "echo",
            StatusCode::OK,
        ),
    ] {
        let inbound = SECOND.replacen("[\"Timestamp\"]", demanded, 1) + &roles(allow);
        let second = nodes.gateway("second", next.address, &inbound).await;
        let answer = send(second.address(), post("/echo", client(signed))).await;
        assert_eq!(answer.status, expected, "{signed} {allow}: {}", answer.body);
        assert_eq!(next.seen.try_recv().is_ok(), expected == StatusCode::OK);
    }
}

#[tokio::test]
async fn a_message_that_is_not_for_the_node_gets_no_further() {
    let nodes = Nodes::new();
    let mut next = Backend::echo().await;
    let second = nodes.gateway("second", next.address, SECOND).await;
    // It is still to pass the first node.
    let plain = with_header(SOAP11, ROUTE, HELLO);
    let secured = nodes
        .client()
        .secure(plain.into_bytes())
        .expect("it is secured");
    let answer = send(second.address(), post("/echo", secured.bytes)).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(answer.body.contains("InvalidSecurity"), "{}", answer.body);
    assert!(next.seen.try_recv().is_err(), "nothing was passed on");
}

/// What the service's answers have for the node, and what it reads.
const BACK: &str = "[[answers.recipients]]\nactor = \"urn:back\"\npeer = { certificate = \"second.cert.pem\" }\n\
     mechanism = \"sign-encrypt\"\nsigned = [\"Timestamp\", \"Body\", \"{urn:hop}price\"]\nencrypted = [\"{urn:hop}price\"]\n";
const READS: &str = "[routes.inbound.answers]\nrole = \"urn:back\"\nmechanism = \"sign-encrypt\"\n\
     signed = [\"Timestamp\", \"Body\", \"{urn:hop}price\"]\nencrypted = [\"{urn:hop}price\"]\n\
     trust = { anchors = [\"ca.cert.pem\"], subjects = [\"CN=service\"] }\n";

/// What becomes of answers between the service and the node.
type Change = Arc<Mutex<Box<dyn Fn(String) -> String + Send>>>;

impl Nodes {
    /// A service whose answers have a header for the node, and what is kept of them.
    async fn service(&self, change: Change) -> (Backend, Arc<Mutex<Vec<String>>>) {
        let text = Self::keys("service")
            + "peer = { certificate = \"client.cert.pem\" }\n"
            + SERVICE
            + BACK;
        let config = EndpointConfig::from_text(&text, &self.0.path("service.toml"), &|_| None);
        let service = config.and_then(|config| Endpoint::from_config(&config));
        let service: Service = service.unwrap_or_else(|problems| panic!("{problems}"));
        let sent = Arc::new(Mutex::new(Vec::new()));
        let keeping = Arc::clone(&sent);
        let backend = Backend::answering(move |seen: &Seen| {
            let memory = Memory::without_conversations(&ForgetfulReplayCache);
            let Ok(Arrived::Message(opened)) = service.receive(seen.body.to_vec(), memory) else {
                panic!("the request is not received");
            };
            let soap = match opened.version {
                SoapVersion::V11 => SOAP11,
                SoapVersion::V12 => SOAP12,
            };
            let price = "<h:price xmlns:h=\"urn:hop\">12</h:price>";
            let plain = with_header(soap, &format!("\n {price}\t<!-- kept -->"), HELLO);
            let answer = service.answer(plain.into_bytes(), &opened.receipt);
            let answer = answer.expect("the answer is secured").bytes;
            let answer = String::from_utf8(answer).expect("text");
            let changed = change.lock().expect("nobody panicked")(answer);
            let mut kept = keeping.lock().expect("nobody panicked");
            kept.push(changed.clone());
            let is_fault = changed.contains(":Fault>");
            let mut response = Response::new(Full::new(Bytes::from(changed)));
            if is_fault {
                *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            }
            let media_type = match opened.version {
                SoapVersion::V11 => "text/xml; charset=utf-8",
                SoapVersion::V12 => "application/soap+xml; charset=utf-8",
            };
            let media_type = http::HeaderValue::from_static(media_type);
            response.headers_mut().insert("content-type", media_type);
            response
        })
        .await;
        (backend, sent)
    }

    /// What a request of the client's comes to at the node, and what its answer needs.
    async fn called(
        &self,
        soap: &str,
        node: &Running,
    ) -> (crate::support::Answer, Client, Receipt) {
        let text = Self::keys("client")
            + "peer = { certificate = \"service.cert.pem\" }\n"
            + SERVICE
            + "[[recipients]]\nactor = \"urn:second\"\nmechanism = \"sign\"\nsigned = [\"Timestamp\"]\n";
        let config = EndpointConfig::from_text(&text, &self.0.path("client.toml"), &|_| None);
        let client = config.and_then(|config| Endpoint::from_config(&config));
        let client: Client = client.unwrap_or_else(|problems| panic!("{problems}"));
        let secured = client.secure(with_header(soap, "", HELLO).into_bytes());
        let secured = secured.expect("it is secured");
        let request = post_in(soap, secured.bytes);
        (send(node.address(), request).await, client, secured.receipt)
    }
}

#[tokio::test]
async fn a_node_reads_what_is_for_it_in_answers_and_passes_every_other_byte_on() {
    let nodes = Nodes::new();
    for soap in [SOAP11, SOAP12] {
        let unchanged: Change = Arc::new(Mutex::new(Box::new(|answer| answer)));
        let (backend, sent) = nodes.service(unchanged).await;
        let inbound = format!("{SECOND}{READS}");
        let node = nodes.gateway("second", backend.address, &inbound).await;
        let (answer, client, receipt) = nodes.called(soap, &node).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let sent = sent.lock().expect("nobody panicked")[0].clone();
        let start = sent.find("<wsse:Security ").expect("a header");
        let end = "</wsse:Security>";
        let behind = start + sent[start..].find(end).expect("its end") + end.len();
        assert!(sent[start..behind].contains("urn:back"), "{sent}");
        let without = format!("{}{}", &sent[..start], &sent[behind..]);
        assert_eq!(answer.body, without);
        let told = answer.headers.get("x-soapstone-unproven").expect("a field");
        assert!(
            told.to_str().expect("text").ends_with("}Security"),
            "{told:?}"
        );
        let memory = Memory::without_conversations(&ForgetfulReplayCache);
        let opened = client.open(answer.body.into_bytes(), receipt, memory);
        let opened = String::from_utf8(opened.expect("the answer").bytes).expect("text");
        assert!(opened.contains(HELLO), "{opened}");
    }
}

/// Section 4 of the mission, on the way back: what was changed, left out, repeated or made by
/// somebody else reaches no client.
#[tokio::test]
async fn an_answer_that_does_not_prove_what_is_for_the_node_reaches_no_client() {
    let nodes = Nodes::new();
    let change: Change = Arc::new(Mutex::new(Box::new(|answer| answer)));
    let (backend, sent) = nodes.service(Arc::clone(&change)).await;
    let inbound = format!("{SECOND}{READS}");
    let node = nodes.gateway("second", backend.address, &inbound).await;
    let first = nodes.called(SOAP11, &node).await.0;
    assert_eq!(first.status, StatusCode::OK, "{}", first.body);
    let accepted = sent.lock().expect("nobody panicked")[0].clone();
    let fault = with_header(
        SOAP11,
        "",
        "<s:Fault><faultcode>s:Server</faultcode><faultstring>secret place</faultstring></s:Fault>",
    );
    type Made = Box<dyn Fn(String) -> String + Send>;
    let changes: [Made; 6] = [
        // Its Body, which the header of the node covers as cipher text.
        Box::new(|answer| answer.replacen("<s:Body", "<s:Body xml:lang=\"en\"", 1)),
        // Its header, left out or for another node.
        Box::new(|answer| {
            let start = answer.find("<wsse:Security ").expect("a header");
            let end = "</wsse:Security>";
            let behind = start + answer[start..].find(end).expect("its end") + end.len();
            format!("{}{}", &answer[..start], &answer[behind..])
        }),
        Box::new(|answer| answer.replace("urn:back", "urn:else")),
        // The header of another answer.
        Box::new(move |_| accepted.clone()),
        // A fault that nobody secured.
        Box::new(move |_| fault.clone()),
        Box::new(|_| "<s:Envelope".to_owned()),
    ];
    for (at, made) in changes.into_iter().enumerate() {
        *change.lock().expect("nobody panicked") = made;
        let answer = nodes.called(SOAP11, &node).await.0;
        assert!(answer.status.is_server_error(), "{at}: {}", answer.body);
        for untold in [HELLO, "EncryptedData", "secret place"] {
            assert!(!answer.body.contains(untold), "{at}: {}", answer.body);
        }
    }
    // Who may sign requests signs no answers.
    let inbound = inbound.replace("CN=service", "CN=client");
    let other = nodes.gateway("second", backend.address, &inbound).await;
    *change.lock().expect("nobody panicked") = Box::new(|answer| answer);
    let answer = nodes.called(SOAP11, &other).await.0;
    assert!(answer.status.is_server_error(), "{}", answer.body);
}

#[test]
fn routes_that_no_node_can_keep_are_refused() {
    let nodes = Nodes::new();
    let outbound = "[routes.outbound]\npeer = { certificate = \"service.cert.pem\" }\nsecurity = { mechanism = \"none\" }\n";
    let problem = |inbound: &str| {
        let config = nodes.config("first", "127.0.0.1:1", inbound);
        config.err().unwrap_or_default()
    };
    let told = problem(&(FIRST.to_owned() + outbound));
    assert!(told.contains("`outbound` is given, and `inbound` passes messages on: their answers are for whoever sent them"), "{told}");
    let text = format!(
        "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/echo\"\npublish_policy = true\nbackends = [{{ url = \"http://127.0.0.1:1/\" }}]\n\
         balance = {{ requirements = true }}\n[routes.inbound]\n{}{FIRST}",
        Nodes::keys("first")
    );
    let config = Config::from_text(&text, &nodes.0.path("gateway.toml"), &|_| None);
    let told = config.map(drop).expect_err("problems").to_string();
    for expected in [
        "`requirements` is given, and `inbound` passes on messages without the sender's signature of them for this node",
        "the policy cannot be published: it is that of a node on the way, and not of the service",
    ] {
        assert!(told.contains(expected), "{told}");
    }
}
