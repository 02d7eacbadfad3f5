//! A registry that runs: signed messages, inquiries, Ganglia, and attacks on each.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;

use soapstone::config::{EndpointConfig, Problems};
use soapstone::{Client, ForgetfulReplayCache, Memory};
use soapstone_registry::names::XML_LOCAL_NAME;
use soapstone_registry::{
    Answer, BindingTemplate, BusinessEntity, BusinessService, Figures, Host, KeyedReference,
    Provider, ProviderQuery, Report, Request, State, Text, uddi,
};
use soapstone_registry_server::{Config, Running, start};
use soapstone_services::{DatabaseLocation, DatabaseServer, NoServer};
use soapstone_testkit::Folder;
use soapstone_testkit::keys::P256;

#[path = "served/attacks.rs"]
mod attacks;
#[path = "served/authorities.rs"]
mod authorities;
#[path = "served/calls.rs"]
mod calls;
#[path = "served/contract.rs"]
mod contract;
#[path = "served/find.rs"]
mod find;
#[path = "served/ganglia.rs"]
mod ganglia;
#[path = "served/gmond.rs"]
mod gmond;
#[path = "served/reload.rs"]
mod reload;
#[path = "served/tls.rs"]
mod tls;

const SERVER: &str = "\
listen = \"127.0.0.1:0\"
inquiry = \"127.0.0.1:0\"
[inbound]
identity = { key = \"registry.key.pem\", certificate = \"registry.cert.pem\" }
trust = { anchors = [\"ca.cert.pem\"] }
security = { mechanism = \"sign\", suite = \"Basic256GCMEcdhEs\" }
[[publishers]]
subject = \"*\"
[ganglia]
listen = \"127.0.0.1:0\"
cluster = \"test\"
";

/// A folder with keys of a registry and two providers.
fn folder() -> Folder {
    Folder::with_keys(P256, &["registry", "p1", "mallory"])
}

fn config(folder: &Folder, text: &str) -> Result<Config, Problems> {
    Config::from_text(text, &folder.path("registry.toml"), &|_| None)
}

async fn registry(folder: &Folder) -> Running {
    let config = config(folder, SERVER).unwrap_or_else(|problems| panic!("{problems}"));
    start(config)
        .await
        .unwrap_or_else(|error| panic!("{error}"))
}

/// The client of a provider.
fn client(folder: &Folder, name: &str) -> Client {
    let text = format!(
        "identity = {{ key = \"{name}.key.pem\", certificate = \"{name}.cert.pem\" }}\n\
         peer = {{ certificate = \"registry.cert.pem\" }}\n\
         trust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"CN=registry\"] }}\n\
         security = {{ mechanism = \"sign\", suite = \"Basic256GCMEcdhEs\" }}\n"
    );
    let config = EndpointConfig::from_text(&text, &folder.path("client.toml"), &|_| None);
    let config = config.unwrap_or_else(|problems| panic!("{problems}"));
    Client::from_config(&config).unwrap_or_else(|problems| panic!("{problems}"))
}

fn envelope(body: &str) -> Vec<u8> {
    format!("<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body>{body}</s:Body></s:Envelope>")
        .into_bytes()
}

/// Sends a message, and returns status and body.
fn post(address: SocketAddr, path: &str, body: &[u8]) -> (u16, Vec<u8>) {
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: registry\r\ncontent-type: text/xml\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    exchange(address, &[head.as_bytes(), body].concat())
}

/// All bytes of an answer, its head among them.
fn whole(address: SocketAddr, request: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.write_all(request).expect("it reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("it answers");
    answer
}

fn exchange(address: SocketAddr, request: &[u8]) -> (u16, Vec<u8>) {
    let answer = whole(address, request);
    let text = String::from_utf8_lossy(&answer);
    let end = text.find("\r\n\r\n").expect("a head");
    let status = text[9..12].parse().expect("a status");
    (status, answer[end + 4..].to_vec())
}

/// The body of a message, as text.
fn body_of(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let start = text.find("<soap:Body").expect("a Body");
    let start = start + text[start..].find('>').expect("the end of its tag") + 1;
    let end = text.rfind("</soap:Body>").expect("the end of the Body");
    text[start..end].to_owned()
}

/// Sends a signed request: the bytes that were sent, the status, and the body of the answer, which
/// the registry has signed.
fn call(address: SocketAddr, client: &Client, body: &str) -> (Vec<u8>, u16, String) {
    let secured = client.secure(envelope(body)).expect("it is secured");
    let (status, answer) = post(address, "/uddi", &secured.bytes);
    let cache = ForgetfulReplayCache;
    let memory = Memory::without_conversations(&cache);
    let opened = client.open(answer, secured.receipt, memory);
    let opened = opened.unwrap_or_else(|rejected| panic!("{status}: {rejected}"));
    (secured.bytes, status, body_of(&opened.bytes))
}

fn business(access_point: &str) -> Request {
    let binding = BindingTemplate {
        binding_key: "uddi:p1:binding".to_owned(),
        access_point: access_point.to_owned(),
        ..BindingTemplate::default()
    };
    let service = BusinessService {
        service_key: "uddi:p1:service".to_owned(),
        names: vec![Text::new("Books")],
        bindings: vec![binding],
        categories: vec![KeyedReference::new(XML_LOCAL_NAME, "BooksPort")],
        ..BusinessService::default()
    };
    Request::SaveBusiness(vec![BusinessEntity {
        business_key: "uddi:p1".to_owned(),
        names: vec![Text::new("p1")],
        services: vec![service],
        ..BusinessEntity::default()
    }])
}

fn report(taken: i64) -> Request {
    Request::Report(Report {
        bindings: vec![Figures {
            binding_key: "uddi:p1:binding".to_owned(),
            in_hand: 3.0,
            ..Figures::default()
        }],
        taken,
        period: 2_000,
        host: Host {
            load_one: Some(0.5),
            ..Host::default()
        },
    })
}

/// The providers, as anybody may ask for them.
fn providers(running: &Running) -> Vec<Provider> {
    let address = running.inquiry().expect("inquiries");
    let get = b"GET /providers?service=Books HTTP/1.1\r\nhost: r\r\nconnection: close\r\n\r\n";
    let (status, body) = exchange(address, get);
    assert_eq!(status, 200);
    match serde_json::from_slice(&body).expect("an answer") {
        Answer::Providers(providers) => providers.found,
        other => panic!("{other:?}"),
    }
}

const HOME: &str = "http://127.0.0.1:9001/books";

/// A thread that waits for the registry, which runs on others.
async fn waiting<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.expect("it ends")
}

/// Runs until it is dropped.
struct Program(std::process::Child);

impl Drop for Program {
    fn drop(&mut self) {
        // One that has ended by itself needs nothing.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn what_a_certificate_publishes_is_found_and_kept() {
    let folder = folder();
    let running = registry(&folder).await;
    let (own, address) = (client(&folder, "p1"), running.address());
    let running = waiting(move || {
        let (_, status, body) = call(address, &own, &uddi::write_request(&business(HOME)));
        assert_eq!(status, 200, "{body}");
        let taken = jiff::Timestamp::now().as_millisecond();
        let (_, status, body) = call(address, &own, &uddi::write_request(&report(taken)));
        assert_eq!(status, 200, "{body}");
        let [provider] = &providers(&running)[..] else {
            panic!("one provider");
        };
        assert_eq!(provider.access_point, HOME);
        assert_eq!(provider.owner.subject.as_str(), "CN=p1");
        assert_eq!(provider.state, State::Active);
        assert_eq!(provider.figures.as_ref().map(|it| it.in_hand), Some(3.0));
        running
    })
    .await;
    running.shutdown().await;
    let running = registry(&folder).await;
    let found = waiting(move || (providers(&running), running)).await.0;
    assert_eq!(found.len(), 1, "it is there after a restart");
    assert_eq!(found[0].figures.as_ref().map(|it| it.in_hand), Some(3.0));
}

#[tokio::test]
async fn requests_are_the_same_as_json() {
    let folder = folder();
    let running = registry(&folder).await;
    let (own, address) = (client(&folder, "p1"), running.address());
    waiting(move || {
        let json = serde_json::to_string(&business(HOME)).expect("JSON");
        let json = json.replace('&', "&amp;").replace('<', "&lt;");
        let body = format!("<json xmlns=\"urn:soapstone:registry:1\">{json}</json>");
        let (_, status, body) = call(address, &own, &body);
        assert_eq!(status, 200, "{body}");
        assert!(body.contains("\"businessDetail\""), "{body}");
        let inquiry = running.inquiry().expect("inquiries");
        let (status, answer) = post(
            inquiry,
            "/json",
            b"{\"find_service\":{\"names\":[{\"text\":\"Books\"}]}}",
        );
        assert_eq!(status, 200);
        let Answer::List(list) = serde_json::from_slice(&answer).expect("an answer") else {
            panic!("a list");
        };
        assert_eq!(list.infos[0].key, "uddi:p1:service");
        let write = serde_json::to_vec(&business("http://203.0.113.66/")).expect("JSON");
        let (status, answer) = post(inquiry, "/json", &write);
        let answer = String::from_utf8_lossy(&answer);
        assert_eq!(status, 403);
        assert!(answer.contains("\"E_authTokenRequired\""), "{answer}");
        let query = Request::FindProviders(ProviderQuery::default());
        let (_, status, body) = call(address, &own, &uddi::write_request(&query));
        assert_eq!(status, 200);
        assert!(body.contains(HOME), "{body}");
    })
    .await;
}

/// Whoever has one address takes no place of others.
#[tokio::test]
async fn an_address_has_so_many_connections() {
    let folder = folder();
    let running = registry(&folder).await;
    let address = running.inquiry().expect("inquiries");
    waiting(move || {
        let get = b"GET /healthz HTTP/1.1\r\nhost: r\r\nconnection: close\r\n\r\n";
        let silent: Vec<TcpStream> = (0..64)
            .map(|_| TcpStream::connect(address).expect("it listens"))
            .collect();
        let mut more = TcpStream::connect(address).expect("it listens");
        let mut answer = Vec::new();
        // It is closed, or reset where the request had not been read.
        let _ = more.write_all(get);
        let _ = more.read_to_end(&mut answer);
        assert_eq!(String::from_utf8_lossy(&answer), "");
        drop(silent);
        let answered = (0..1_000).any(|_| {
            let mut stream = TcpStream::connect(address).expect("it listens");
            let mut answer = Vec::new();
            let sent = stream.write_all(get);
            sent.and_then(|()| stream.read_to_end(&mut answer)).is_ok() && answer.ends_with(b"ok")
        });
        assert!(answered, "those that are gone take no place");
        drop(running);
    })
    .await;
}

/// PostgreSQL keeps what SQLite keeps, has one registry, and is missed when it is gone.
#[tokio::test]
async fn postgresql_keeps_entries_and_is_missed_when_it_is_gone() {
    let mut server = match DatabaseServer::postgresql() {
        Ok(server) => server,
        Err(missing @ NoServer::NotInstalled { .. }) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: {missing}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let url = match server.location() {
        DatabaseLocation::Postgres(url) => url.clone(),
        other => panic!("{other:?}"),
    };
    let folder = folder();
    let text = format!("database = \"{url}\"\n{SERVER}");
    let begin = async || {
        let config = config(&folder, &text).unwrap_or_else(|problems| panic!("{problems}"));
        start(config).await
    };
    let running = begin().await.unwrap_or_else(|error| panic!("{error}"));
    let Err(second) = begin().await else {
        panic!("the first one has it");
    };
    let expected = "another registry uses the database";
    assert!(second.to_string().ends_with(expected), "{second}");
    let own = client(&folder, "p1");
    let address = running.address();
    let own = waiting(move || {
        let (_, status, body) = call(address, &own, &uddi::write_request(&business(HOME)));
        assert_eq!(status, 200, "{body}");
        let taken = jiff::Timestamp::now().as_millisecond();
        let (_, status, body) = call(address, &own, &uddi::write_request(&report(taken)));
        assert_eq!(status, 200, "{body}");
        own
    })
    .await;
    running.shutdown().await;
    // The server notices a little later that the first one has gone.
    let mut begun = begin().await;
    for _ in 0..200 {
        if begun.is_ok() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        begun = begin().await;
    }
    let running = begun.unwrap_or_else(|error| panic!("{error}"));
    let address = running.address();
    let running = waiting(move || {
        let found = providers(&running);
        assert_eq!(found[0].access_point, HOME, "it is there after a restart");
        assert_eq!(found[0].figures.as_ref().map(|it| it.in_hand), Some(3.0));
        server.stop();
        let moved = uddi::write_request(&business("http://127.0.0.1:9002/books"));
        let (_, status, body) = call(address, &own, &moved);
        assert_eq!(status, 500);
        assert!(body.contains("errCode=\"E_fatalError\""), "{body}");
        assert_eq!(providers(&running)[0].access_point, HOME);
        running
    })
    .await;
    running.failed().await;
    running.shutdown().await;
}

#[tokio::test]
async fn a_database_has_one_registry() {
    let folder = folder();
    let running = registry(&folder).await;
    let second =
        start(config(&folder, SERVER).unwrap_or_else(|problems| panic!("{problems}"))).await;
    let Err(error) = second else {
        panic!("the first one has it");
    };
    let error = error.to_string();
    let expected = "another registry uses the database";
    assert!(error.ends_with(expected), "{error}");
    running.shutdown().await;
}

#[test]
fn a_registry_that_anybody_could_write_to_is_no_configuration() {
    let folder = folder();
    let said = |text: &str| match config(&folder, text) {
        Ok(_) => String::new(),
        Err(problems) => problems.to_string(),
    };
    assert_eq!(said(SERVER), "");
    let without = SERVER.replace("[[publishers]]\nsubject = \"*\"\n", "");
    assert!(said(&without).contains("publishers"), "{}", said(&without));
    let unsigned = SERVER.replace("mechanism = \"sign\"", "mechanism = \"encrypt\"");
    let expected = "the policy of the registry must have the Body of requests signed";
    assert!(said(&unsigned).contains(expected), "{}", said(&unsigned));
    let asking = SERVER.replace(
        "anchors = [\"ca.cert.pem\"] }",
        "anchors = [\"ca.cert.pem\"], revocation = { fail = \"soft\" } }",
    );
    let expected =
        "`revocation` is for gateways: a registry asks nobody whether certificates were revoked";
    assert!(said(&asking).contains(expected), "{}", said(&asking));
    let prefix = SERVER.replace(
        "subject = \"*\"",
        "subject = \"*\"\naccess_points = [\"http://10.0.0.1\"]",
    );
    let expected = "`access_points` has URLs that end with /";
    assert!(said(&prefix).contains(expected), "{}", said(&prefix));
    let never = format!("{SERVER}[limits]\nperiod = \"0s\"\n");
    let expected = "`period` must be 1 ms at least";
    assert!(said(&never).contains(expected), "{}", said(&never));
    let database = format!("database = \"mysql://db/x\"\n{SERVER}");
    let expected = "`database` is none that is known";
    assert!(said(&database).contains(expected), "{}", said(&database));
    assert!(!Path::new("registry.db").exists(), "nothing was opened");
}
