//! Policies that providers register, beside what they serve: a strong offer and a weak service.

use std::net::Shutdown;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use soapstone_testkit::keys::RSA;

use super::claims::recorded;
use super::*;

const SUITE: &str = "Basic256Sha256+RsaSha256";

/// A description without a policy. A gateway in front attaches its own.
const DESCRIPTION: &str = "<w:definitions xmlns:w=\"http://schemas.xmlsoap.org/wsdl/\" xmlns:t=\"urn:t\" targetNamespace=\"urn:t\" \
    xmlns:soap=\"http://schemas.xmlsoap.org/wsdl/soap/\"><w:binding name=\"b\" type=\"t:T\">\
    <soap:binding transport=\"http://schemas.xmlsoap.org/soap/http\"/><w:operation name=\"echo\">\
    <w:input/><w:output/></w:operation></w:binding>\
    <w:service name=\"S\"><w:port name=\"P\" binding=\"t:b\"><soap:address location=\"http://internal/echo\"/></w:port></w:service>\
    </w:definitions>";

/// With a suite that a policy can say.
fn writable(text: &str) -> String {
    text.replace("Basic256GCMEcdhEs", SUITE)
}

fn free_address() -> SocketAddr {
    let port = TcpListener::bind("127.0.0.1:0").expect("a port");
    port.local_addr().expect("it is bound")
}

/// A service that answers with a message, and whoever only reads with its description.
fn described() -> SocketAddr {
    let (reads, calls) = (backend(DESCRIPTION), backend(ECHO));
    turning(&Arc::new(Mutex::new(reads)), calls, &Arc::default())
}

/// A place that leads reads to one address and calls to another. It counts reads.
fn turning(
    reads: &Arc<Mutex<SocketAddr>>,
    calls: SocketAddr,
    count: &Arc<AtomicUsize>,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it is bound");
    let (reads, count) = (Arc::clone(reads), Arc::clone(count));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.expect("a connection");
            let mut first = [0; 1];
            if stream.peek(&mut first).unwrap_or_default() == 0 {
                continue;
            }
            let to = match first[0] {
                b'G' => {
                    count.fetch_add(1, Ordering::SeqCst);
                    *reads.lock().expect("it is whole")
                }
                _ => calls,
            };
            let onward = TcpStream::connect(to).expect("it listens");
            let both = |stream: &TcpStream| stream.try_clone().expect("a handle");
            for (mut from, mut into) in [(both(&stream), both(&onward)), (onward, stream)] {
                std::thread::spawn(move || {
                    // Whoever has gone is none of its business.
                    let _ = std::io::copy(&mut from, &mut into);
                    let _ = into.shutdown(Shutdown::Write);
                });
            }
        }
    });
    address
}

/// A gateway of a provider that tells clients of its policy. Its entry has that access point.
async fn publishing(
    folder: &Folder,
    registry: SocketAddr,
    (name, mechanism): (&str, &str),
    listen: SocketAddr,
    access_point: SocketAddr,
) -> soapstone_gateway::Running {
    let text = format!(
        "listen = \"{listen}\"\n{}[[routes]]\npath = \"/books\"\nbackend = \"http://{}/\"\npublish_policy = true\n\
         provides = {{ service = \"Books\", access_point = \"http://{access_point}/books\" }}\n[routes.inbound]\n{}",
        table(registry, name).replace("100ms", "10s"),
        described(),
        endpoint(name, "broker", mechanism)
    );
    gateway(folder, name, &writable(&text)).await
}

/// A broker with an agreement about descriptions, its client, and where both are.
struct Agreed {
    folder: Folder,
    registry: Running,
    p1: soapstone_gateway::Running,
    liar: String,
    client: soapstone_gateway::Running,
    admin: SocketAddr,
    broker: tokio::task::JoinHandle<()>,
}

impl Agreed {
    /// `p2` is at that place, and has that mechanism in the file of the broker.
    async fn new(folder: Folder, registry: Running, p2: SocketAddr, mechanism: &str) -> Self {
        let policies = policy("p1", "sign") + &policy("p2", mechanism);
        Self::with(folder, registry, p2, ("", &policies)).await
    }

    /// The same with other tables: those of the route, and those of its backends.
    async fn with(
        folder: Folder,
        registry: Running,
        p2: SocketAddr,
        (of_route, of_backends): (&str, &str),
    ) -> Self {
        let address = registry.address();
        let own = free_address();
        let p1 = publishing(&folder, address, ("p1", "sign"), own, own).await;
        folder.write(
            "gold.toml",
            "service = \"/fair\"\nuntil = 2999-01-01\nwindow = { calls = 1 }\n[client]\nsubject = \"CN=client\"\n\
             [provider]\ndescription = true\nexclusion = { after = 1, time = \"1h\" }\n",
        );
        let text = format!(
            "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n[agreements]\nfiles = [\"gold.toml\"]\nrecords = \"violations.xml\"\n\
             identity = {{ key = \"broker.key.pem\", certificate = \"broker.cert.pem\" }}\n{}\
             [[routes]]\npath = \"/fair\"\nbalance = {{ selection = \"round-robin\" }}\n[routes.inbound]\n{}{of_route}\
             [routes.backends]\nservice = \"Books\"\nowners = [\"CN=p1\", \"CN=p2\"]\n{of_backends}",
            table(address, "broker"),
            endpoint("broker", "client", "sign"),
        );
        let (at, admin, broker) = administered(&folder, &writable(&text)).await;
        let text = format!(
            "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/fair\"\nbackend = \"http://{at}/fair\"\n[routes.outbound]\n{}",
            endpoint("client", "broker", "sign")
        );
        let client = gateway(&folder, "client", &writable(&text)).await;
        until("both are known", async || {
            backends(admin, "/fair").await.len() >= 2
        })
        .await;
        Self {
            folder,
            registry,
            p1,
            liar: format!("http://{p2}/books (CN=p2)"),
            client,
            admin,
            broker,
        }
    }

    async fn told(&self) -> serde_json::Value {
        let (_, told) = ask(self.admin, "GET", "/agreements").await;
        serde_json::from_str(&told).expect("JSON")
    }

    async fn violations(&self, obligation: &str) -> u64 {
        let told = self.told().await;
        let count = &told["agreements"][0]["violations"][obligation];
        count.as_u64().unwrap_or_default()
    }

    /// Whether the liar gets no calls of the agreement.
    async fn is_excluded(&self) -> bool {
        self.excludes(&self.liar).await
    }

    /// Whether a backend gets no calls of the agreement.
    async fn excludes(&self, backend: &str) -> bool {
        let told = self.told().await;
        let backends = told["agreements"][0]["backends"].as_array().cloned();
        let mut backends = backends.into_iter().flatten();
        backends.any(|it| it["name"] == *backend && it["excluded_for_ms"].is_number())
    }

    /// Calls that the liar answered, and those that it failed.
    async fn of_the_liar(&self) -> (u64, u64) {
        let members = backends(self.admin, "/fair").await;
        let found = members.iter().find(|it| it["name"] == *self.liar);
        let found = found.expect("the liar");
        let number = |key: &str| found[key].as_u64().expect("a number");
        (number("answered"), number("failed"))
    }

    async fn calls(&self, count: usize) {
        for _ in 0..count {
            let (status, body) = call(self.client.address(), "/fair").await;
            assert_eq!(status, 200, "{body}");
        }
    }
}

/// An agreement with a provider that signs no answers. p2 registers a policy that has them signed,
/// and the file of the broker has less of p2: it encrypts.
struct Unsigning {
    agreed: Agreed,
    /// Where the policy of p2 is read, and how often that was done.
    reads: Arc<Mutex<SocketAddr>>,
    count: Arc<AtomicUsize>,
    /// What p2 registers, and what it does.
    _gateways: [soapstone_gateway::Running; 2],
}

impl Unsigning {
    async fn new() -> Self {
        let (folder, registry) = prepared().await;
        let strong = free_address();
        let text = format!(
            "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/books\"\nbackend = \"http://{}/\"\n[routes.inbound]\n{}",
            described(),
            endpoint("p2", "broker", "encrypt")
        );
        let weak = gateway(&folder, "weak", &writable(&text)).await;
        let (reads, count) = (Arc::new(Mutex::new(strong)), Arc::default());
        let way = turning(&reads, weak.address(), &count);
        let offer = ("p2", "sign-encrypt");
        let p2 = publishing(&folder, registry.address(), offer, strong, way).await;
        Self {
            agreed: Agreed::new(folder, registry, way, "encrypt").await,
            reads,
            count,
            _gateways: [p2, weak],
        }
    }
}

/// Waits until policies were read so many times more.
async fn read_again(count: &AtomicUsize, times: usize) {
    let before = count.load(Ordering::SeqCst);
    until("policies were read again", async || {
        count.load(Ordering::SeqCst) >= before + times
    })
    .await;
}

async fn prepared() -> (Folder, Running) {
    let folder = Folder::with_keys(RSA, &["registry", "p1", "p2", "broker", "client"]);
    let text = writable(&REGISTRY.replace("LISTEN", "127.0.0.1:0"));
    let registry = started(&folder, &text).await;
    (folder, registry)
}

/// p2 registers a policy that signs, serves it for a while, and then a description and a service
/// without any. No call meets the weak service: the description is read before.
#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_serves_a_weaker_policy_than_it_registered_is_recorded_and_excluded() {
    let (folder, registry) = prepared().await;
    let (strong, plain) = (free_address(), described());
    let (reads, count) = (Arc::new(Mutex::new(strong)), Arc::default());
    let way = turning(&reads, plain, &count);
    let p2 = publishing(&folder, registry.address(), ("p2", "sign"), strong, way).await;
    let agreed = Agreed::new(folder, registry, way, "sign").await;
    // Both are as they were registered, and nobody is guilty.
    read_again(&count, 2).await;
    assert_eq!(agreed.violations("description").await, 0);
    *reads.lock().expect("it is whole") = plain;
    until("the provider is excluded", async || {
        agreed.is_excluded().await
    })
    .await;
    assert!(agreed.violations("description").await >= 1);
    agreed.calls(6).await;
    assert_eq!(agreed.of_the_liar().await, (0, 0));
    let records = recorded(&agreed.folder, "broker");
    for (part, expected) in [
        ("Obligation", "description"),
        ("Client", "CN=client"),
        ("Backend", agreed.liar.as_str()),
        ("Measured", "requests: nothing is signed"),
    ] {
        assert_eq!(records[0].part(part), Some(expected), "{:?}", records[0]);
    }
    let (_, metrics) = ask(agreed.admin, "GET", "/metrics").await;
    let counted = |line: &str| {
        line.starts_with("soapstone_agreement_violations_total{")
            && line.contains("obligation=\"description\"")
            && !line.ends_with(" 0")
    };
    assert!(metrics.lines().any(counted), "{metrics}");
    agreed.broker.abort();
    drop((p2, agreed.p1, agreed.registry));
}

/// The file has less of p2 than p2 registered: answers are encrypted, and nobody signs them.
#[tokio::test(flavor = "multi_thread")]
async fn answers_that_prove_less_than_the_registered_policy_are_violations() {
    let unsigning = Unsigning::new().await;
    let agreed = &unsigning.agreed;
    read_again(&unsigning.count, 2).await;
    until("the provider is excluded", async || {
        agreed.calls(2).await;
        agreed.is_excluded().await
    })
    .await;
    assert_eq!(agreed.violations("description").await, 0);
    let answered = agreed.of_the_liar().await;
    agreed.calls(6).await;
    assert_eq!(agreed.of_the_liar().await, answered);
    let records = recorded(&agreed.folder, "broker");
    for (part, expected) in [
        ("Obligation", "security"),
        ("Backend", agreed.liar.as_str()),
        (
            "Measured",
            "signed by nobody, and the registered policy signs answers",
        ),
    ] {
        assert_eq!(records[0].part(part), Some(expected), "{:?}", records[0]);
    }
    agreed.broker.abort();
}

/// p2 registers a policy that has answers signed. Then nobody can read it any more, and a third
/// provider comes: that makes the backends anew, and p2 owes signatures as before.
#[tokio::test(flavor = "multi_thread")]
async fn a_policy_that_was_registered_stays_known_when_other_providers_come() {
    let unsigning = Unsigning::new().await;
    let agreed = &unsigning.agreed;
    read_again(&unsigning.count, 2).await;
    // What answers reads now is no description.
    *unsigning.reads.lock().expect("it is whole") = backend("<nothing/>");
    let third = free_address();
    let address = agreed.registry.address();
    let p3 = publishing(&agreed.folder, address, ("p1", "sign"), third, third).await;
    until("the third is known", async || {
        backends(agreed.admin, "/fair").await.len() == 3
    })
    .await;
    read_again(&unsigning.count, 2).await;
    assert!(!agreed.is_excluded().await);
    agreed.calls(6).await;
    assert!(agreed.is_excluded().await);
    assert_eq!(agreed.violations("description").await, 0);
    let records = recorded(&agreed.folder, "broker");
    assert_eq!(
        records[0].part("Measured"),
        Some("signed by nobody, and the registered policy signs answers")
    );
    agreed.broker.abort();
    drop(p3);
}

/// p1 publishes the access point of p2, which serves a weaker policy. Each has a policy in the
/// file, and so a backend of its own.
#[tokio::test(flavor = "multi_thread")]
async fn no_owner_hides_what_another_one_with_a_policy_of_its_own_serves() {
    let (folder, registry) = prepared().await;
    let way = described();
    let (strong, other) = (free_address(), free_address());
    let p2 = publishing(&folder, registry.address(), ("p2", "sign"), strong, way).await;
    let stranger = publishing(&folder, registry.address(), ("p1", "sign"), other, way).await;
    let agreed = Agreed::new(folder, registry, way, "sign").await;
    until("the provider is excluded", async || {
        agreed.is_excluded().await
    })
    .await;
    agreed.broker.abort();
    drop((p2, stranger, agreed.p1, agreed.registry));
}

/// p1 publishes the access point of p2, too, and both have the policy of the route. Each has a
/// backend of its own there. What p2 serves is found out, and what p1 serves elsewhere is no worse
/// for that.
#[tokio::test(flavor = "multi_thread")]
async fn no_owner_hides_what_another_one_with_the_same_policy_serves() {
    let (folder, registry) = prepared().await;
    let (strong, other) = (free_address(), free_address());
    let (reads, count) = (Arc::new(Mutex::new(strong)), Arc::default());
    let way = turning(&reads, described(), &count);
    let p2 = publishing(&folder, registry.address(), ("p2", "sign"), strong, way).await;
    let stranger = publishing(&folder, registry.address(), ("p1", "sign"), other, way).await;
    let of_route = format!("[routes.outbound]\n{}", endpoint("broker", "p2", "sign"));
    let agreed = Agreed::with(folder, registry, way, (&of_route, "")).await;
    until("the stranger is known", async || {
        backends(agreed.admin, "/fair").await.len() == 3
    })
    .await;
    read_again(&count, 4).await;
    assert_eq!(agreed.violations("description").await, 0);
    *reads.lock().expect("it is whole") = described();
    until("the provider is excluded", async || {
        agreed.is_excluded().await
    })
    .await;
    let honest = format!("http://{}/books (CN=p1)", agreed.p1.address());
    assert!(!agreed.excludes(&honest).await);
    agreed.broker.abort();
    drop((p2, stranger, agreed.p1, agreed.registry));
}
