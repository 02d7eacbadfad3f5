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

#[path = "served/authorities.rs"]
mod authorities;
#[path = "served/calls.rs"]
mod calls;
#[path = "served/contract.rs"]
mod contract;
#[path = "served/find.rs"]
mod find;
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
        assert_eq!(provider.owner.subject, "CN=p1");
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

/// Registry poisoning, over the wire.
#[tokio::test]
async fn another_certificate_turns_no_traffic_to_itself() {
    let folder = folder();
    let running = registry(&folder).await;
    let (own, mallory) = (client(&folder, "p1"), client(&folder, "mallory"));
    let address = running.address();
    waiting(move || {
        call(address, &own, &uddi::write_request(&business(HOME)));
        let evil = uddi::write_request(&business("http://203.0.113.66/"));
        let (_, status, body) = call(address, &mallory, &evil);
        assert_eq!(status, 500);
        assert!(body.contains("errCode=\"E_userMismatch\""), "{body}");
        assert_eq!(providers(&running)[0].access_point, HOME);
        // Without a signature there is not even that much to be heard.
        let (status, answer) = post(address, "/uddi", &envelope(&evil));
        let answer = String::from_utf8_lossy(&answer);
        assert_eq!(status, 500);
        assert!(answer.contains("wsse:InvalidSecurity"), "{answer}");
        assert!(!answer.contains("errCode"), "{answer}");
        // The other address has no ear for it.
        let inquiry = running.inquiry().expect("inquiries");
        let (_, answer) = post(inquiry, "/uddi", &envelope(&evil));
        let answer = String::from_utf8_lossy(&answer);
        assert!(
            answer.contains("errCode=\"E_authTokenRequired\""),
            "{answer}"
        );
        assert_eq!(providers(&running)[0].access_point, HOME);
    })
    .await;
}

#[tokio::test]
async fn a_replayed_message_is_refused() {
    let folder = folder();
    let running = registry(&folder).await;
    let (own, address) = (client(&folder, "p1"), running.address());
    let (running, old, found) = waiting(move || {
        let (old, ..) = call(address, &own, &uddi::write_request(&business(HOME)));
        call(
            address,
            &own,
            &uddi::write_request(&business("http://127.0.0.1:9002/books")),
        );
        let (status, answer) = post(address, "/uddi", &old);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert_eq!(status, 500);
        assert!(answer.contains("wsse:FailedAuthentication"), "{answer}");
        let found = providers(&running);
        (running, old, found)
    })
    .await;
    assert_eq!(found[0].access_point, "http://127.0.0.1:9002/books");
    // Nor does a restart forget it, whose memory of messages is gone.
    running.shutdown().await;
    let running = registry(&folder).await;
    let address = running.address();
    let found = waiting(move || {
        let (status, _) = post(address, "/uddi", &old);
        assert_eq!(status, 500);
        providers(&running)
    })
    .await;
    assert_eq!(found[0].access_point, "http://127.0.0.1:9002/books");
}

/// Signature wrapping: the signed request is moved aside, and another one takes its place.
#[tokio::test]
async fn a_wrapped_request_is_refused() {
    let folder = folder();
    let running = registry(&folder).await;
    let (own, address) = (client(&folder, "p1"), running.address());
    waiting(move || {
        let good = uddi::write_request(&business(HOME));
        let secured = own.secure(envelope(&good)).expect("it is secured");
        let text = String::from_utf8(secured.bytes).expect("text");
        let start = text.find("<s:Body").expect("a Body");
        let end = text.find("</s:Envelope>").expect("an end");
        let signed = &text[start..end];
        let evil = uddi::write_request(&business("http://203.0.113.66/"));
        let wrapped = format!(
            "{}<s:Body>{evil}</s:Body></s:Envelope>",
            text[..start].replace(
                "</s:Header>",
                &format!("<w:w xmlns:w=\"urn:w\">{signed}</w:w></s:Header>")
            )
        );
        assert!(wrapped.contains("urn:w"), "{wrapped}");
        let (status, answer) = post(address, "/uddi", wrapped.as_bytes());
        assert_eq!(status, 500);
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.contains("wsse:"), "{answer}");
        assert_eq!(providers(&running), []);
    })
    .await;
}

/// External entities and entity bombs (CVE-2013-1643 and its kind): a DTD is refused at its first
/// byte, on both addresses.
#[tokio::test]
async fn document_types_are_refused() {
    let folder = folder();
    let running = registry(&folder).await;
    waiting(move || {
        let inquiry = running.inquiry().expect("inquiries");
        for declared in [
            "<!ENTITY x SYSTEM \"file:///etc/passwd\">",
            "<!ENTITY a \"aaaaaaaaaa\"><!ENTITY x \"&a;&a;&a;&a;&a;&a;&a;&a;\">",
        ] {
            let find = "<find_service xmlns=\"urn:uddi-org:api_v3\"><name>&x;</name></find_service>";
            let message = [
                format!("<!DOCTYPE s [{declared}]>").as_bytes(),
                &envelope(find),
            ]
            .concat();
            for address in [running.address(), inquiry] {
                let (status, answer) = post(address, "/uddi", &message);
                let answer = String::from_utf8_lossy(&answer);
                assert_eq!(status, 500, "{answer}");
                assert!(!answer.contains("root:"), "{answer}");
                assert!(!answer.contains("serviceList"), "{answer}");
            }
        }
        // A bomb of elements, and one of bytes.
        let deep = "<a>".repeat(100_000);
        let (status, _) = post(inquiry, "/uddi", &envelope(&deep));
        assert_eq!(status, 500);
        let head = "POST /uddi HTTP/1.1\r\nhost: r\r\ncontent-type: text/xml\r\ncontent-length: 99999999\r\nconnection: close\r\n\r\n";
        assert_eq!(exchange(inquiry, head.as_bytes()).0, 413);
        // A bomb of brackets.
        let (status, _) = post(inquiry, "/json", "[".repeat(500_000).as_bytes());
        assert_eq!(status, 400);
    })
    .await;
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

#[tokio::test]
async fn ganglia_reads_what_providers_report_and_is_read_for_those_that_do_not() {
    let folder = folder();
    let running = registry(&folder).await;
    let (own, address) = (client(&folder, "p1"), running.address());
    let document = waiting(move || {
        call(address, &own, &uddi::write_request(&business(HOME)));
        let taken = jiff::Timestamp::now().as_millisecond();
        call(address, &own, &uddi::write_request(&report(taken)));
        let mut stream =
            TcpStream::connect(running.ganglia().expect("metrics")).expect("it listens");
        let mut document = Vec::new();
        stream.read_to_end(&mut document).expect("it ends");
        document
    })
    .await;
    let hosts = soapstone_registry::ganglia::read(&document).expect("a document");
    assert_eq!(hosts[0].host().load_one, Some(0.5));
    let in_hand = hosts[0]
        .metrics
        .iter()
        .find(|(name, ..)| name == "soapstone_in_hand");
    assert_eq!(in_hand.map(|(_, value, _)| *value), Some(3.0));

    // The same document, as another gmond would say it of the provider's machine.
    let gmond = TcpListener::bind("127.0.0.1:0").expect("a port");
    let source = gmond.local_addr().expect("it is bound");
    let folder = self::folder();
    let text = format!("{SERVER}[[gmond]]\naddress = \"{source}\"\n");
    let text = config(&folder, &text).unwrap_or_else(|problems| panic!("{problems}"));
    let running = start(text).await.unwrap_or_else(|error| panic!("{error}"));
    let (own, address) = (client(&folder, "p1"), running.address());
    waiting(move || {
        call(address, &own, &uddi::write_request(&business(HOME)));
        // The first one never says a word, and holds nobody up.
        let (silent, _) = gmond.accept().expect("it asks");
        assert_eq!(providers(&running)[0].state, State::Unmonitored);
        drop(silent);
        let (mut stream, _) = gmond.accept().expect("it asks again");
        stream.write_all(&document).expect("it reads");
        drop(stream);
        // It has taken the document before it asks again.
        let _again = gmond.accept().expect("it asks again");
        let provider = &providers(&running)[0];
        assert_eq!(provider.state, State::Active);
        assert_eq!(provider.host.and_then(|host| host.load_one), Some(0.5));
    })
    .await;
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

/// `gmetad` itself takes what is served: it ended on a host whose name was no name of a folder.
#[tokio::test]
async fn gmetad_takes_what_is_served() {
    let gmetad = Path::new("/usr/sbin/gmetad");
    if !gmetad.exists() {
        assert!(std::env::var_os("CI").is_none(), "gmetad is not installed");
        eprintln!("skipped: gmetad is not installed");
        return;
    }
    let folder = folder();
    let running = registry(&folder).await;
    let (own, address) = (client(&folder, "p1"), running.address());
    let source = running.ganglia().expect("metrics");
    waiting(move || {
        let request = uddi::write_request(&business("http://127.0.0.1:9001/books/../x"));
        let (_, status, _) = call(address, &own, &request);
        assert_eq!(status, 500, "no dot segments");
        call(address, &own, &uddi::write_request(&business(HOME)));
        let taken = jiff::Timestamp::now().as_millisecond();
        call(address, &own, &uddi::write_request(&report(taken)));
        let rounds = folder.path("rrds");
        std::fs::create_dir(&rounds).expect("a folder");
        let ports = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
        let [xml, interactive] = ports.map(|it| it.local_addr().expect("it is bound").port());
        let text = format!(
            "data_source \"soapstone\" 1 {source}\nrrd_rootdir \"{}\"\nsetuid off\n\
             xml_port {xml}\ninteractive_port {interactive}\n",
            rounds.display()
        );
        let file = folder.write("gmetad.conf", text);
        let log = std::fs::File::create(folder.path("gmetad.log")).expect("a file");
        let mut command = std::process::Command::new(gmetad);
        command.arg("-d1").arg("-c").arg(file);
        command.stdout(log.try_clone().expect("a file")).stderr(log);
        let mut program = Program(command.spawn().expect("it starts"));
        let kept = || -> Option<std::path::PathBuf> {
            let hosts = std::fs::read_dir(rounds.join("test")).ok()?;
            let mut hosts = hosts.filter_map(|host| Some(host.ok()?.path()));
            hosts.find(|host| host.join("soapstone_in_hand.rrd").exists())
        };
        let is_kept = (0..1_200).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            kept().is_some() || program.0.try_wait().expect("a state").is_some()
        });
        let said = folder.read("gmetad.log");
        let said = String::from_utf8_lossy(&said);
        assert!(is_kept && kept().is_some(), "{said}");
        let ended = program.0.try_wait().expect("a state");
        assert_eq!(ended, None, "{said}");
        drop(running);
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
