//! Gateways and a registry, each as it runs: registration, reports, withdrawal, and backends that
//! are providers.

use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use serde_json::json;
use soapstone_gateway::{Config as GatewayConfig, Gateway};
use soapstone_registry::{Answer, Provider, State};
use soapstone_registry_server::{Config, Running, start};
use soapstone_testkit::Folder;
use soapstone_testkit::keys::P256;

#[path = "gateways/calls.rs"]
mod calls;
#[path = "gateways/claims.rs"]
mod claims;
#[path = "gateways/described.rs"]
mod described;
#[path = "gateways/dns.rs"]
mod dns;
#[path = "gateways/owners.rs"]
mod owners;
#[path = "gateways/tls.rs"]
mod tls;

const REGISTRY: &str = "\
listen = \"LISTEN\"
inquiry = \"127.0.0.1:0\"
[inbound]
identity = { key = \"registry.key.pem\", certificate = \"registry.cert.pem\" }
trust = { anchors = [\"ca.cert.pem\"] }
security = { mechanism = \"sign\", suite = \"Basic256GCMEcdhEs\" }
[[publishers]]
subject = \"*\"
";

fn folder() -> Folder {
    Folder::with_keys(P256, &["registry", "p1", "p2", "mallory", "broker"])
}

async fn registry(folder: &Folder, listen: &str) -> Running {
    started(folder, &REGISTRY.replace("LISTEN", listen)).await
}

/// A registry with this file.
async fn started(folder: &Folder, text: &str) -> Running {
    let config = Config::from_text(text, &folder.path("registry.toml"), &|_| None);
    let config = config.unwrap_or_else(|problems| panic!("{problems}"));
    start(config)
        .await
        .unwrap_or_else(|error| panic!("{error}"))
}

/// A gateway with this file.
async fn gateway(folder: &Folder, name: &str, text: &str) -> soapstone_gateway::Running {
    let config = GatewayConfig::from_text(text, &folder.path(format!("{name}.toml")), &|_| None);
    let config = config.unwrap_or_else(|problems| panic!("{problems}"));
    Gateway::start(config)
        .await
        .unwrap_or_else(|error| panic!("{error}"))
}

/// `[registry]` of a gateway that signs as `name`.
fn table(registry: SocketAddr, name: &str) -> String {
    format!(
        "[registry]\nurl = \"http://{registry}/uddi\"\nbusiness = \"{name}\"\nperiod = \"100ms\"\n[registry.client]\n\
         identity = {{ key = \"{name}.key.pem\", certificate = \"{name}.cert.pem\" }}\n\
         peer = {{ certificate = \"registry.cert.pem\" }}\n\
         trust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"CN=registry\"] }}\n\
         security = {{ mechanism = \"sign\", suite = \"Basic256GCMEcdhEs\" }}\n"
    )
}

/// A gateway that provides a backend as `Books`, at an access point.
async fn provider(
    folder: &Folder,
    registry: SocketAddr,
    name: &str,
    backend: SocketAddr,
    access_point: &str,
) -> soapstone_gateway::Running {
    let text = format!(
        "listen = \"127.0.0.1:0\"\n{}[[routes]]\npath = \"/books\"\nbackend = \"http://{backend}/\"\n\
         provides = {{ service = \"Books\", port_type = \"{{urn:b}}BooksPort\", access_point = \"{access_point}\", agreements = [\"gold\"] }}\n",
        // However busy the machine is: a provider whose reports are late is a backup.
        table(registry, name).replace("100ms", "2s")
    );
    gateway(folder, name, &text).await
}

/// A server that answers each request with its name.
fn backend(name: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut request = [0; 4096];
            if stream.read(&mut request).unwrap_or_default() > 0 {
                let answer = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: text/xml\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{name}",
                    name.len()
                );
                // A client that has gone is none of its business.
                let _ = stream.write_all(answer.as_bytes());
            }
        }
    });
    address
}

/// Status and body of an answer.
async fn ask(address: SocketAddr, method: &'static str, path: &'static str) -> (u16, String) {
    let asked = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address).expect("it listens");
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/xml\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let status = answer[9..12].parse().expect("a status");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
        (status, body.to_owned())
    });
    asked.await.expect("it ends")
}

async fn providers(registry: &Running) -> Vec<Provider> {
    let address = registry.inquiry().expect("inquiries");
    let (_, body) = ask(address, "GET", "/providers").await;
    match serde_json::from_str(&body).expect("an answer") {
        Answer::Providers(providers) => providers.found,
        other => panic!("{other:?}"),
    }
}

/// Waits until something is so, which the test's own time limit bounds.
async fn until<F: Future<Output = bool>>(what: &str, mut is_so: impl FnMut() -> F) {
    for _ in 0..600 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_registers_reports_and_withdraws() {
    let folder = folder();
    let registry = registry(&folder, "127.0.0.1:0").await;
    let address = registry.address();
    let gateway = provider(
        &folder,
        address,
        "p1",
        backend("one"),
        "http://10.0.0.5:8443/books",
    )
    .await;
    until("it reports", async || {
        let providers = providers(&registry).await;
        providers
            .first()
            .is_some_and(|it| it.state == State::Active)
    })
    .await;
    let (status, body) = ask(gateway.address(), "POST", "/books").await;
    assert_eq!((status, body.as_str()), (200, "one"));
    until("the call is reported", async || {
        let figures = providers(&registry).await[0].figures.clone();
        figures.is_some_and(|figures| figures.calls == 1.0)
    })
    .await;
    let [found] = &providers(&registry).await[..] else {
        panic!("one provider");
    };
    assert_eq!(found.business, "p1");
    assert_eq!(found.service, "Books");
    assert_eq!(found.port_type.as_deref(), Some("{urn:b}BooksPort"));
    assert_eq!(found.access_point, "http://10.0.0.5:8443/books");
    assert_eq!(
        found.wsdl.as_deref(),
        Some("http://10.0.0.5:8443/books?wsdl")
    );
    assert_eq!(found.agreements, ["gold"]);
    assert_eq!(found.owner.subject.as_str(), "CN=p1");
    assert!(
        found.host.is_some_and(|host| host.cpu_num >= Some(1.0)),
        "{found:?}"
    );
    gateway.shutdown().await;
    let providers = providers(&registry).await;
    assert_eq!(providers[0].state, State::Withdrawn);
}

/// A reload that adds a route that the registry refuses takes out nothing that it does not.
#[tokio::test(flavor = "multi_thread")]
async fn a_route_that_the_registry_refuses_takes_no_other_one_out() {
    let folder = folder();
    let text = REGISTRY.replace("LISTEN", "127.0.0.1:0") + "services = [\"Books\"]\n";
    let registry = started(&folder, &text).await;
    let route = |service: &str| {
        format!(
            "[[routes]]\npath = \"/{service}\"\nbackend = \"http://127.0.0.1:1/\"\n\
             provides = {{ service = \"{service}\", access_point = \"http://10.0.0.5/{service}\" }}\n"
        )
    };
    let table = table(registry.address(), "p1");
    let books = format!("listen = \"127.0.0.1:0\"\n{table}{}", route("Books"));
    let file = folder.write("p1.toml", books.as_bytes());
    let config = GatewayConfig::load(&file, &|_| None);
    let config = config.unwrap_or_else(|problems| panic!("{problems}"));
    let running = tokio::spawn(async move {
        let ended = soapstone_gateway::run(config, |_| {}).await;
        ended.unwrap_or_else(|error| panic!("{error}"));
    });
    until("it reports", async || {
        let providers = providers(&registry).await;
        providers
            .first()
            .is_some_and(|it| it.state == State::Active)
    })
    .await;
    let former = providers(&registry).await[0].binding_key.clone();
    folder.write("p1.toml", format!("{books}{}", route("Payments")));
    until("the other business takes its place", async || {
        let providers = providers(&registry).await;
        assert!(!providers.is_empty(), "at no moment nothing is there");
        assert!(providers.iter().all(|it| it.service == "Books"));
        providers.len() == 1
            && providers[0].binding_key != former
            && providers[0].state == State::Active
    })
    .await;
    running.abort();
}

/// A broker whose route `/books` has the providers of `Books` that p1 and p2 own; it runs as the
/// command does, and its address is given back.
async fn broker(
    folder: &Folder,
    registry: SocketAddr,
) -> (SocketAddr, tokio::task::JoinHandle<()>) {
    let text = format!(
        "listen = \"127.0.0.1:0\"\n{}[[routes]]\npath = \"/books\"\n\
         backends = {{ service = \"Books\", owners = [\"CN=p1\", \"CN=p2\"], cache = \"books.json\" }}\n",
        table(registry, "broker")
    );
    let file = folder.write("broker.toml", text);
    let config = GatewayConfig::load(&file, &|_| None);
    let config = config.unwrap_or_else(|problems| panic!("{problems}"));
    let (tell, told) = tokio::sync::oneshot::channel();
    let running = tokio::spawn(async move {
        let ready = |running: &soapstone_gateway::Running| {
            tell.send(running.address()).expect("the test waits");
        };
        let ended = soapstone_gateway::run(config, ready).await;
        ended.unwrap_or_else(|error| panic!("{error}"));
    });
    (told.await.expect("it serves"), running)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_hangs_or_lies_takes_no_backend_out() {
    let folder = folder();
    let registry = registry(&folder, "127.0.0.1:0").await;
    let address = registry.address();
    let (broker, running) = broker(&folder, address).await;
    let (status, _) = ask(broker, "POST", "/books").await;
    assert_eq!(status, 503, "no provider is known");
    let one = backend("one");
    let evil = backend("evil");
    let p1 = provider(&folder, address, "p1", one, &format!("http://{one}/")).await;
    // Of the same service, by a certificate that the registry trusts and the broker does not name.
    let mallory = provider(
        &folder,
        address,
        "mallory",
        evil,
        &format!("http://{evil}/"),
    )
    .await;
    until("a provider is known", async || {
        ask(broker, "POST", "/books").await == (200, "one".to_owned())
    })
    .await;
    until("both are registered", async || {
        providers(&registry).await.len() == 2
    })
    .await;
    let only_one = async || {
        for _ in 0..5 {
            assert_eq!(ask(broker, "POST", "/books").await, (200, "one".to_owned()));
        }
    };
    only_one().await;
    registry.shutdown().await;
    only_one().await;
    // Something else takes its place: it hangs at first, and then tells of the attacker unsigned.
    let impostor = TcpListener::bind(address).expect("the port is free");
    let asked = tokio::task::spawn_blocking(move || {
        let (silent, _) = impostor.accept().expect("the broker asks");
        for stream in impostor.incoming().take(6) {
            let mut stream = stream.expect("a connection");
            let mut request = [0; 16384];
            let _ = stream.read(&mut request);
            let body = format!(
                "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body><providers xmlns=\"urn:soapstone:registry:1\">\
                 <provider bindingKey=\"k\" serviceKey=\"s\" service=\"Books\" accessPoint=\"http://{evil}/\" owner=\"CN=p1\" issuer=\"CN=ca\" \
                 state=\"active\"/></providers></s:Body></s:Envelope>"
            );
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/xml\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all([head, body].concat().as_bytes());
        }
        drop(silent);
    });
    only_one().await;
    asked.await.expect("it was asked");
    only_one().await;
    running.abort();
    drop((p1, mallory));
    // A broker that starts anew knows what it knew, though no registry is there.
    let known = folder.read("books.json");
    assert_eq!(
        String::from_utf8(known).expect("text"),
        format!(
            "{{\"of\":{{\"owners\":[\"CN=p1\",\"CN=p2\"],\"port_type\":null,\"service\":\"Books\"}},\
             \"providers\":[{{\"access_point\":\"http://{one}/\",\"backup\":false,\"issuer\":\"CN=ca\",\"owner\":\"CN=p1\"}}]}}"
        )
    );
    let (broker, running) = self::broker(&folder, address).await;
    assert_eq!(ask(broker, "POST", "/books").await, (200, "one".to_owned()));
    running.abort();
}

#[test]
fn what_a_route_says_of_a_registry_needs_one() {
    let folder = folder();
    let said = |text: &str| {
        let text = format!("listen = \"127.0.0.1:0\"\n{text}");
        match GatewayConfig::from_text(&text, &folder.path("gateway.toml"), &|_| None) {
            Ok(_) => String::new(),
            Err(problems) => problems.to_string(),
        }
    };
    let route = "[[routes]]\npath = \"/\"\nbackend = \"http://127.0.0.1:1/\"\n";
    let provides = "provides = { service = \"Books\", access_point = \"http://10.0.0.5/\" }\n";
    let found = said(&format!("{route}{provides}"));
    assert!(found.contains("the route needs a registry"), "{found}");
    let registry = table(SocketAddr::from(([127, 0, 0, 1], 1)), "p1");
    assert_eq!(said(&format!("{registry}{route}{provides}")), "");
    let anonymous = registry.replace("business = \"p1\"\n", "");
    let found = said(&format!("{anonymous}{route}{provides}"));
    assert!(found.contains("`registry.business` is missing"), "{found}");
    let nowhere = provides.replace(", access_point = \"http://10.0.0.5/\"", "");
    let found = said(&format!("{registry}{route}{nowhere}"));
    assert!(
        found.contains("where clients call the route is not known"),
        "{found}"
    );
    let cached = |path: &str, service: &str| {
        format!(
            "[[routes]]\npath = \"{path}\"\n\
             backends = {{ service = \"{service}\", owners = [\"CN=p1\"], cache = \"known.json\" }}\n"
        )
    };
    let shared = |service| {
        format!(
            "{registry}{}{}",
            cached("/a", "Books"),
            cached("/b", service)
        )
    };
    assert_eq!(said(&shared("Books")), "");
    let found = said(&shared("Payments"));
    let expected = "`backends.cache` is the file of other providers, too";
    assert!(found.contains(expected), "{found}");
    // A provider that the same authority certifies would answer for the registry.
    let unnamed = registry.replace(", subjects = [\"CN=registry\"]", "");
    let found = said(&format!("{unnamed}{route}{provides}"));
    let expected = "whoever has a certificate of these authorities would be the registry";
    assert!(found.contains(expected), "{found}");
    let anybody = "[[routes]]\npath = \"/\"\nbackends = { service = \"Books\" }\n";
    let found = said(&format!("{registry}{anybody}"));
    assert!(found.contains("owners"), "{found}");
    // The rules of a registry bound names of services alone: anybody may claim a port type.
    let claimed = anybody.replace("service = \"Books\"", "port_type = \"P\", owners = [\"*\"]");
    let found = said(&format!("{registry}{claimed}"));
    let expected = "any publisher can claim a port type";
    assert!(found.contains(expected), "{found}");
    let named = claimed.replace("\"*\"", "\"CN=p1\"");
    assert_eq!(said(&format!("{registry}{named}")), "");
    let policy = |owner: &str| {
        format!(
            "[[routes.backends.policies]]\nowners = [\"{owner}\"]\n\
             [routes.backends.policies.outbound]\nsecurity = {{ mechanism = \"none\" }}\n"
        )
    };
    let sources = format!(
        "{registry}[[routes]]\npath = \"/\"\n[routes.backends]\nservice = \"Books\"\nowners = [\"CN=p1\"]\n"
    );
    assert_eq!(said(&format!("{sources}{}", policy("CN=p1"))), "");
    for (policies, expected) in [
        (
            policy("CN=p2"),
            "this owner has a policy, and is not one of `owners`",
        ),
        (
            policy("*"),
            "the policy of all others is `outbound` of the route",
        ),
        (
            policy("CN=p1").repeat(2),
            "this owner has two policies: keep one",
        ),
        (
            "[[routes.backends.policies]]\nowners = [\"CN=p1\"]\n".to_owned(),
            "`outbound` is missing",
        ),
    ] {
        let found = said(&format!("{sources}{policies}"));
        assert!(found.contains(expected), "{found}");
    }
}

const ECHO: &str = "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body><e:Echo xmlns:e=\"urn:e\"/></s:Body></s:Envelope>";

/// What a gateway demands of messages to its route, or makes them meet.
fn endpoint(own: &str, peer: &str, mechanism: &str) -> String {
    format!(
        "identity = {{ key = \"{own}.key.pem\", certificate = \"{own}.cert.pem\" }}\n\
         peer = {{ certificate = \"{peer}.cert.pem\" }}\n\
         trust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"CN={peer}\"] }}\n\
         security = {{ mechanism = \"{mechanism}\", suite = \"Basic256GCMEcdhEs\" }}\n"
    )
}

/// A gateway of a provider of its own port, which demands a mechanism of calls.
async fn protected(
    folder: &Folder,
    registry: SocketAddr,
    name: &str,
    mechanism: &str,
) -> soapstone_gateway::Running {
    let backend = backend(ECHO);
    let port = TcpListener::bind("127.0.0.1:0").expect("a port");
    let listen = port.local_addr().expect("it is bound");
    drop(port);
    let text = format!(
        "listen = \"{listen}\"\npublic_url = \"http://{listen}\"\n{}[[routes]]\npath = \"/books\"\n\
         backend = \"http://{backend}/\"\nprovides = {{ service = \"Books\" }}\n[routes.inbound]\n{}",
        // However busy the machine is: a provider whose reports are late is a backup.
        table(registry, name).replace("100ms", "10s"),
        endpoint(name, "broker", mechanism)
    );
    gateway(folder, name, &text).await
}

/// The policy that a broker agreed on with an owner.
fn policy(owner: &str, mechanism: &str) -> String {
    format!(
        "[[routes.backends.policies]]\nowners = [\"CN={owner}\"]\n[routes.backends.policies.outbound]\n{}",
        endpoint("broker", owner, mechanism)
    )
}

/// A broker with this file, which runs as the command does: the addresses of its routes and for
/// operators.
async fn administered(
    folder: &Folder,
    text: &str,
) -> (SocketAddr, SocketAddr, tokio::task::JoinHandle<()>) {
    let file = folder.write("broker.toml", text);
    let config = GatewayConfig::load(&file, &|_| None);
    let config = config.unwrap_or_else(|problems| panic!("{problems}"));
    let (tell, told) = tokio::sync::oneshot::channel();
    let running = tokio::spawn(async move {
        let ready = |running: &soapstone_gateway::Running| {
            let admin = running.admin_address().expect("it has one");
            tell.send((running.address(), admin))
                .expect("the test waits");
        };
        let ended = soapstone_gateway::run(config, ready).await;
        ended.unwrap_or_else(|error| panic!("{error}"));
    });
    let (broker, admin) = told.await.expect("it serves");
    (broker, admin, running)
}

/// What operators are told of the backends of a route.
async fn backends(admin: SocketAddr, route: &str) -> Vec<serde_json::Value> {
    let (_, body) = ask(admin, "GET", "/backends").await;
    let told: serde_json::Value = serde_json::from_str(&body).expect("JSON");
    let mut routes = told["routes"].as_array().expect("a list").iter();
    let found = routes.find(|it| it["route"] == route).expect("the route");
    found["backends"].as_array().expect("a list").clone()
}

/// Status and body of the answer to a call.
async fn call(address: SocketAddr, path: &'static str) -> (u16, String) {
    let asked = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address).expect("it listens");
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/xml\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{ECHO}",
            ECHO.len()
        );
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        (answer[9..12].parse().expect("a status"), answer)
    });
    asked.await.expect("it ends")
}
