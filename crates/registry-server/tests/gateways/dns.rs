//! Gateways whose backends DNS names (RFC 2782), with a server of DNS on loopback: `dnsmasq`.

use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use soapstone::crypto::issue::{self, Template};
use soapstone_testkit::keys;

use super::*;

/// A server of DNS that runs until it is dropped.
struct Dns(Child);

impl Drop for Dns {
    fn drop(&mut self) {
        // One that has ended by itself needs nothing.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether there is one; the tests of continuous integration must have it.
fn has_dns() -> bool {
    let has_it = Path::new("/usr/sbin/dnsmasq").exists();
    if !has_it {
        assert!(std::env::var_os("CI").is_none(), "dnsmasq is not installed");
        eprintln!("skipped: dnsmasq is not installed");
    }
    has_it
}

/// Where a server of DNS may be: a loopback address on which nothing else of these tests listens.
fn free_address() -> SocketAddr {
    let free = UdpSocket::bind("127.0.53.1:0").expect("a port");
    free.local_addr().expect("it is bound")
}

impl Dns {
    /// Serves records of `example.test`, each an option of `dnsmasq`, at an address.
    async fn serve(address: SocketAddr, records: &[String]) -> Self {
        let mut command = Command::new("/usr/sbin/dnsmasq");
        command
            .args(["--no-daemon", "--conf-file=/dev/null"])
            .args(["--no-resolv", "--no-hosts", "--bind-interfaces"])
            .arg("--local=/example.test/")
            .arg(format!("--listen-address={}", address.ip()))
            .arg(format!("--port={}", address.port()))
            .args(records)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let dns = Self(command.spawn().expect("it starts"));
        until("the server of DNS listens", async || {
            TcpStream::connect(address).is_ok()
        })
        .await;
        dns
    }
}

/// A record of the service `_books._tcp.example.test`, and where its host is.
fn service(host: &str, backend: SocketAddr, priority: u16, weight: u16) -> [String; 2] {
    let (ip, port) = (backend.ip(), backend.port());
    [
        format!(
            "--srv-host=_books._tcp.example.test,{host}.example.test,{port},{priority},{weight}"
        ),
        format!("--host-record={host}.example.test,{ip}"),
    ]
}

/// A server that answers each request with its name and the `Host` that the request has.
fn telling(name: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut request = [0; 4096];
            let length = stream.read(&mut request).unwrap_or_default();
            let request = String::from_utf8_lossy(&request[..length]).to_lowercase();
            let mut lines = request.lines();
            if let Some(host) = lines.find_map(|line| line.strip_prefix("host: ")) {
                let body = format!("{name} {host}");
                let answer = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: text/xml\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                );
                // A client that has gone is none of its business.
                let _ = stream.write_all(answer.as_bytes());
            }
        }
    });
    address
}

/// What operators are told of the route `/books`: how many backends DNS names, and whether that is
/// stale.
async fn known(admin: SocketAddr) -> (u64, bool) {
    let (_, body) = ask(admin, "GET", "/backends").await;
    let told: Value = serde_json::from_str(&body).expect("JSON");
    let dns = &told["routes"][0]["dns"];
    let known = dns["known"].as_u64().unwrap_or_default();
    (known, dns["stale"].as_bool().expect("a flag"))
}

#[tokio::test(flavor = "multi_thread")]
async fn backends_are_those_of_dns_and_stay_while_it_is_away() {
    if !has_dns() {
        return;
    }
    let [one, two, three] = ["one", "two", "three"].map(telling);
    let address = free_address();
    let first = [
        service("one", one, 1, 3),
        service("two", two, 1, 1),
        service("three", three, 2, 1),
    ];
    let dns = Dns::serve(address, &first.concat()).await;
    let folder = folder();
    let text = format!(
        "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n[[routes]]\npath = \"/books\"\n\
         balance = {{ selection = \"round-robin\" }}\n[routes.backends]\n\
         srv = \"http://_books._tcp.example.test/books\"\nnetworks = [\"127.0.0.0/8\"]\n\
         servers = [\"{address}\"]\ncache = \"books.json\"\n"
    );
    // No name of DNS is in a request: the host is that of the file.
    let answer = |name: &str, at: SocketAddr| (200, format!("{name} example.test:{}", at.port()));
    let (broker, admin, running) = administered(&folder, &text).await;
    until("providers are known", async || {
        ask(broker, "POST", "/books").await.0 == 200
    })
    .await;
    assert_eq!(known(admin).await, (3, false));
    let mut answers = Vec::new();
    for _ in 0..8 {
        answers.push(ask(broker, "POST", "/books").await);
    }
    let count = |wanted: (u16, String)| answers.iter().filter(|it| **it == wanted).count();
    let counts = (count(answer("one", one)), count(answer("two", two)));
    assert_eq!(
        counts,
        (6, 2),
        "by weight, and none to a later priority: {answers:?}"
    );

    drop(dns);
    until("it is noticed", async || known(admin).await == (3, true)).await;
    for _ in 0..4 {
        assert_eq!(ask(broker, "POST", "/books").await.0, 200);
    }

    let dns = Dns::serve(address, &service("two", two, 5, 0)).await;
    until("what it says anew is in use", async || {
        known(admin).await == (1, false) && backends(admin, "/books").await.len() == 1
    })
    .await;
    for _ in 0..4 {
        assert_eq!(ask(broker, "POST", "/books").await, answer("two", two));
    }
    running.abort();

    // A gateway that starts anew knows what was known, and says that it may hold no more.
    drop(dns);
    let (broker, admin, running) = administered(&folder, &text).await;
    assert_eq!(ask(broker, "POST", "/books").await, answer("two", two));
    assert_eq!(known(admin).await, (1, true));
    running.abort();
}

/// The file of the guide, with records in the form of those that an agent of Consul serves: nodes
/// of a data center as targets, all of one priority and weight.
#[tokio::test(flavor = "multi_thread")]
async fn instances_of_a_service_that_consul_names_are_backends() {
    if !has_dns() {
        return;
    }
    let [one, two] = ["one", "two"].map(telling);
    let address = free_address();
    let record = |node: &str, instance: SocketAddr| {
        let host = format!("{node}.node.dc1.consul");
        let (ip, port) = (instance.ip(), instance.port());
        [
            format!("--srv-host=_books._tcp.service.consul,{host},{port},1,1"),
            format!("--host-record={host},{ip}"),
        ]
    };
    let mut records = [record("node-1", one), record("node-2", two)].concat();
    records.push("--local=/consul/".to_owned());
    let _dns = Dns::serve(address, &records).await;
    let guide = include_str!("../../../../docs/balance-backends.md");
    let blocks = guide.split("```toml\n").skip(1);
    let mut blocks = blocks.filter_map(|it| Some(it.split_once("```")?.0));
    let example = blocks.find(|block| block.contains("service.consul"));
    let mut text = example.expect("a block").to_owned();
    for (there, here) in [
        ("127.0.0.1:8443", "127.0.0.1:0"),
        ("127.0.0.1:9901", "127.0.0.1:0"),
        ("10.0.0.0/8", "127.0.0.0/8"),
        ("127.0.0.1:8600", &address.to_string()),
    ] {
        assert!(text.contains(there), "{text}");
        text = text.replace(there, here);
    }
    let folder = folder();
    let (broker, admin, running) = administered(&folder, &text).await;
    until("both instances are known", async || {
        known(admin).await == (2, false) && backends(admin, "/books").await.len() == 2
    })
    .await;
    let mut answers = std::collections::BTreeSet::new();
    for _ in 0..64 {
        answers.insert(ask(broker, "POST", "/books").await);
    }
    let answer = |name: &str, at: SocketAddr| (200, format!("{name} service.consul:{}", at.port()));
    assert_eq!(answers, [answer("one", one), answer("two", two)].into());
    running.abort();
}

/// Whoever can write the zone has a certificate for the names in it. That of the file is proven
/// (RFC 9525, section 6.1).
#[tokio::test(flavor = "multi_thread")]
async fn who_answers_proves_the_name_in_the_file_and_none_of_dns() {
    if !has_dns() {
        return;
    }
    let behind = backend(ECHO);
    let folder = folder();
    let authority = keys::authority(keys::AUTHORITY);
    let mut servers = Vec::new();
    for (name, certified) in [("own", "example.test"), ("evil", "one.example.test")] {
        let template = Template::new(&format!("CN={name}"), keys::validity());
        let template = template
            .expect("a name")
            .with_alternative_names([certified]);
        let identity = issue::identity(&authority, P256, &template).expect("a certificate");
        folder.write_identity(name, &identity);
        let text = format!(
            "listen = \"127.0.0.1:0\"\ntls = {{ certificate = \"{name}.cert.pem\", key = \"{name}.key.pem\" }}\n\
             [[routes]]\npath = \"/\"\nbackend = \"http://{behind}/\"\n"
        );
        let config = GatewayConfig::from_text(&text, &folder.path("server.toml"), &|_| None);
        let config = config.unwrap_or_else(|problems| panic!("{problems}"));
        let server = Gateway::start(config).await;
        servers.push(server.unwrap_or_else(|error| panic!("{error}")));
    }
    let address = free_address();
    let mut records = vec!["--host-record=one.example.test,127.0.0.1".to_owned()];
    let mut text = "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n".to_owned();
    for (name, server) in ["own", "evil"].into_iter().zip(&servers) {
        let port = server.address().port();
        records.push(format!(
            "--srv-host=_{name}._tcp.example.test,one.example.test,{port},1,1"
        ));
        text.push_str(&format!(
            "[[routes]]\npath = \"/{name}\"\n[routes.backends]\nsrv = \"https://_{name}._tcp.example.test/\"\n\
             networks = [\"127.0.0.0/8\"]\nservers = [\"{address}\"]\ntls = {{ ca = [\"ca.cert.pem\"] }}\n"
        ));
    }
    let _dns = Dns::serve(address, &records).await;
    let (broker, admin, running) = administered(&folder, &text).await;
    until("both are known", async || {
        let own = backends(admin, "/own").await;
        let evil = backends(admin, "/evil").await;
        // Where nothing is known there is one that takes no request.
        own[0]["limit"].is_null() && evil[0]["limit"].is_null()
    })
    .await;
    let (status, body) = call(broker, "/own").await;
    assert_eq!((status, body.contains("Echo")), (200, true), "{body}");
    let (status, body) = call(broker, "/evil").await;
    assert_eq!((status, body.contains("Echo")), (502, false), "{body}");
    running.abort();
}
