//! The log of calls, told by gateways as they run.

use soapstone::config::EndpointConfig;
use soapstone::endpoint::Arrived;
use soapstone::{ForgetfulReplayCache, Memory, Service};
use soapstone_registry::calls::{Basis, CallPage, Logged, Outcome, Overhead, Part};
use soapstone_registry::{Refusal, uddi};

use super::*;

async fn registry_with_log(folder: &Folder, rules: &str) -> Running {
    registry_with_log_at(folder, "127.0.0.1:0", rules).await
}

async fn registry_with_log_at(folder: &Folder, listen: &str, rules: &str) -> Running {
    let text = REGISTRY.replace("LISTEN", listen);
    let text = format!("{text}{rules}[calls]\nlisten = \"127.0.0.1:0\"\n");
    started(folder, &text).await
}

/// `[registry]` of a gateway that tells of its calls, when it ends: the next report is far.
fn telling(registry: SocketAddr, name: &str) -> String {
    table(registry, name).replace("period = \"100ms\"", "period = \"1h\"\ncalls = true")
}

async fn page(registry: &Running, path: &'static str) -> CallPage {
    let (status, body) = ask(registry.calls().expect("a log"), "GET", path).await;
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).expect("a page")
}

/// A number of the gateway's metrics.
fn counted(gateway: &soapstone_gateway::Running, name: &str) -> u64 {
    let metrics = gateway.metrics();
    let line = metrics.lines().find(|line| line.starts_with(name));
    let line = line.unwrap_or_else(|| panic!("{name} in {metrics}"));
    let (_, value) = line.rsplit_once(' ').expect("a value");
    value.parse().expect("a number")
}

/// A provider that signs, and a broker in front of it. Both end before they have told of a call:
/// what they tell at their end is all that they served.
#[tokio::test(flavor = "multi_thread")]
async fn broker_and_provider_tell_of_each_call_and_lose_none_at_their_end() {
    const CALLS: u64 = 7;
    let folder = folder();
    let rule = "[[publishers]]\nsubject = \"CN=broker\"\nservices = []\ncalls = true\n";
    let registry = registry_with_log(&folder, rule).await;
    let address = registry.address();
    let port = TcpListener::bind("127.0.0.1:0").expect("a port");
    let listen = port.local_addr().expect("it is bound");
    drop(port);
    let text = format!(
        "listen = \"{listen}\"\npublic_url = \"http://{listen}\"\n{}[[routes]]\npath = \"/books\"\n\
         backend = \"http://{}/\"\nprovides = {{ service = \"Books\" }}\n[routes.inbound]\n{}",
        telling(address, "p1"),
        backend(ECHO),
        endpoint("p1", "broker", "sign")
    );
    let provider = gateway(&folder, "p1", &text).await;
    until("it is registered", async || {
        let providers = providers(&registry).await;
        providers.iter().any(|it| it.state == State::Active)
    })
    .await;
    let access_point = format!("http://{listen}/books");
    // It knows the provider from before.
    let known = format!(
        "{{\"of\":{{\"owners\":[\"CN=p1\"],\"port_type\":null,\"service\":\"Books\"}},\
         \"providers\":[{{\"access_point\":\"{access_point}\",\"backup\":false,\"issuer\":\"CN=ca\",\"owner\":\"CN=p1\"}}]}}"
    );
    folder.write("books.json", known);
    let text = format!(
        "listen = \"127.0.0.1:0\"\n{}[[routes]]\npath = \"/books\"\n[routes.outbound]\n{}\
         [routes.backends]\nservice = \"Books\"\nowners = [\"CN=p1\"]\ncache = \"books.json\"\n",
        telling(address, "broker").replace("business = \"broker\"\n", ""),
        endpoint("broker", "p1", "sign")
    );
    let file = folder.write("broker.toml", text);
    let config = GatewayConfig::load(&file, &|_| None);
    let config = config.unwrap_or_else(|problems| panic!("{problems}"));
    let broker = Gateway::start(config)
        .await
        .unwrap_or_else(|error| panic!("{error}"));
    for _ in 0..CALLS {
        let (status, body) = call(broker.address(), "/books").await;
        assert_eq!(status, 200, "{body}");
    }
    assert_eq!(counted(&broker, "soapstone_call_records_waiting"), CALLS);
    assert_eq!(page(&registry, "/calls").await, CallPage::default());
    broker.shutdown().await;
    provider.shutdown().await;
    let accepted = page(&registry, "/calls?outcome=accepted&limit=1000").await;
    let told_by = |owner: &str| {
        let told = accepted.calls.iter().filter(|it| it.owner == owner);
        told.map(|it| it.call.clone()).collect::<Vec<_>>()
    };
    let (of_broker, of_provider) = (told_by("CN=broker"), told_by("CN=p1"));
    assert_eq!(of_broker.len() as u64, CALLS);
    assert_eq!(of_provider.len() as u64, CALLS);
    let all = page(&registry, "/calls?limit=1000").await;
    assert_eq!(all.calls.len() as u64, 2 * CALLS);
    for call in of_broker.iter().chain(&of_provider) {
        assert_eq!(call.service.as_deref(), Some("Books"));
        assert_eq!(call.provider.as_ref(), Some(&access_point));
        assert_eq!((call.outcome, call.status), (Outcome::Accepted, 200));
        assert!(call.security > 0 && call.total >= call.backend, "{call:?}");
        assert_eq!(call.attempts, 1);
    }
    for call in &of_broker {
        assert_eq!(call.chosen.as_deref(), Some("only"));
        assert_eq!((&call.client, &call.binding_key), (&None, &None));
        assert_eq!(call.request_bytes, Some(ECHO.len() as u64));
        let same = of_provider.iter().filter(|it| it.request == call.request);
        assert_eq!(
            same.count(),
            1,
            "the provider tells of it under the same name"
        );
    }
    for call in &of_provider {
        assert_eq!(call.client.as_deref(), Some("CN=broker"));
        assert!(call.binding_key.is_some() && call.chosen.is_none());
    }
    let (_, body) = ask(registry.calls().expect("a log"), "GET", "/calls/overhead").await;
    let overhead: Overhead = serde_json::from_str(&body).expect("the overhead");
    let group = overhead
        .groups
        .iter()
        .find(|it| it.service == "Books" && it.provider.is_some());
    let group = group.unwrap_or_else(|| panic!("{body}"));
    assert_eq!((group.basis, group.calls), (Basis::Both, CALLS));
    let parts: Vec<Part> = group.parts.iter().map(|(part, _)| *part).collect();
    let expected = [
        Part::Choice,
        Part::Security,
        Part::Network,
        Part::Service,
        Part::Other,
    ];
    assert_eq!(parts, expected);
    let whole: f64 = group.parts.iter().map(|(_, times)| times.share).sum();
    assert!(
        (whole - 1.0).abs() < 1e-6,
        "all time is in one part: {body}"
    );
}

/// A plain gateway that chooses between two backends, and tells of it.
fn balancing(registry: SocketAddr, name: &str) -> String {
    let (one, two) = (backend("one"), backend("one"));
    let registry = telling(registry, name);
    let registry = registry.replace(&format!("business = \"{name}\"\n"), "");
    format!(
        "listen = \"127.0.0.1:0\"\n{}[[routes]]\npath = \"/books\"\nbackends = [{{ url = \"http://{one}/\" }}, {{ url = \"http://{two}/\" }}]\n\
         [[routes]]\npath = \"/other\"\nbackend = \"http://{one}/\"\n",
        registry.replace("1h", "100ms")
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_stranger_tells_is_not_in_the_log_and_is_counted_as_lost() {
    let folder = folder();
    let registry = registry_with_log(&folder, "").await;
    let text = balancing(registry.address(), "mallory");
    let stranger = gateway(&folder, "mallory", &text).await;
    for _ in 0..3 {
        assert_eq!(ask(stranger.address(), "POST", "/books").await.0, 200);
    }
    until("it was refused", async || {
        counted(&stranger, "soapstone_call_records_lost_total") == 3
    })
    .await;
    assert_eq!(counted(&stranger, "soapstone_call_records_logged_total"), 0);
    assert_eq!(page(&registry, "/calls").await, CallPage::default());
    stranger.shutdown().await;
}

/// The registry takes the connection and never answers. Calls are answered meanwhile, and are told
/// to the registry that comes in its place.
#[tokio::test(flavor = "multi_thread")]
async fn no_call_waits_for_a_registry_and_none_is_lost_while_it_is_away() {
    let folder = folder();
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = silent.local_addr().expect("it is bound");
    let text = balancing(address, "broker");
    let broker = gateway(&folder, "broker", &text).await;
    for _ in 0..5 {
        let (status, body) = ask(broker.address(), "POST", "/books").await;
        assert_eq!((status, body.as_str()), (200, "one"));
        // It is no route of the architecture, and not told of.
        assert_eq!(ask(broker.address(), "POST", "/other").await.0, 200);
    }
    let asked = tokio::task::spawn_blocking(move || silent.accept().expect("it is asked"));
    let hanging = asked.await.expect("it ends");
    assert_eq!(counted(&broker, "soapstone_call_records_waiting"), 5);
    assert_eq!(counted(&broker, "soapstone_call_records_lost_total"), 0);
    // The listener is gone with the closure, and the connection is given up here.
    drop(hanging);
    let registry = registry_with_log_at(&folder, &address.to_string(), "calls = true\n").await;
    until("the registry was told", async || {
        counted(&broker, "soapstone_call_records_logged_total") == 5
    })
    .await;
    assert_eq!(counted(&broker, "soapstone_call_records_waiting"), 0);
    assert_eq!(page(&registry, "/calls").await.calls.len(), 5);
    broker.shutdown().await;
}

/// A gateway of p1 with these routes: what each provides. It tells of its calls when it ends.
async fn providing(
    folder: &Folder,
    registry: SocketAddr,
    routes: &[(&'static str, &str)],
) -> soapstone_gateway::Running {
    gateway(folder, "p1", &provided(registry, routes)).await
}

fn provided(registry: SocketAddr, routes: &[(&'static str, &str)]) -> String {
    let routes = routes.iter().map(|(path, access_point)| {
        format!(
            "[[routes]]\npath = \"{path}\"\nbackend = \"http://{}/\"\n\
             provides = {{ service = \"Books\", access_point = \"{access_point}\" }}\n",
            backend("one")
        )
    });
    let routes: String = routes.collect();
    format!(
        "listen = \"127.0.0.1:0\"\n{}{routes}",
        telling(registry, "p1")
    )
}

/// Waits until so many entries of p1 are in the registry.
async fn registered(registry: &Running, count: usize) {
    until("it is registered", async || {
        providers(registry).await.len() == count
    })
    .await;
}

/// The providers of the calls in the log.
async fn logged(registry: &Running) -> Vec<String> {
    let page = page(registry, "/calls?limit=1000").await;
    let providers = page.calls.into_iter().map(|it| it.call.provider);
    providers.map(|it| it.expect("a provider")).collect()
}

/// An access point may be longer than a record holds. The registry would refuse such a call, and
/// with it all that are told of at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_access_point_is_too_long_takes_no_other_one_out_of_the_log() {
    let folder = folder();
    let registry = registry_with_log(&folder, "").await;
    let long = format!("http://10.0.0.5/{}", "b".repeat(300));
    let routes = [
        ("/long", long.as_str()),
        ("/short", "http://10.0.0.5/short"),
    ];
    let gateway = providing(&folder, registry.address(), &routes).await;
    registered(&registry, 2).await;
    for path in ["/long", "/short"] {
        assert_eq!(ask(gateway.address(), "POST", path).await.0, 200);
    }
    gateway.shutdown().await;
    assert_eq!(logged(&registry).await, ["http://10.0.0.5/short"]);
}

/// What is told of at once is bounded, and what waits at the end is told of all the same.
#[tokio::test(flavor = "multi_thread")]
async fn all_calls_that_wait_are_told_of_at_the_end_however_many_requests_that_takes() {
    let folder = folder();
    let registry = registry_with_log(&folder, "").await;
    let routes = [("/books", "http://10.0.0.5/books")];
    let gateway = providing(&folder, registry.address(), &routes).await;
    registered(&registry, 1).await;
    let calls = soapstone_registry::calls::MOST_CALLS + 1;
    for _ in 0..calls {
        assert_eq!(ask(gateway.address(), "POST", "/books").await.0, 200);
    }
    gateway.shutdown().await;
    assert_eq!(logged(&registry).await.len(), calls);
}

/// A registry that lets a gateway publish nothing does not know what its calls are about: they wait
/// until it does.
#[tokio::test(flavor = "multi_thread")]
async fn calls_wait_until_the_registry_knows_the_entries_that_they_are_about() {
    let folder = folder();
    let text = REGISTRY.replace("LISTEN", "127.0.0.1:0");
    let text = text.replace("subject = \"*\"", "subject = \"CN=p2\"");
    let text = format!("{text}[calls]\nlisten = \"127.0.0.1:0\"\n");
    let registry = started(&folder, &text).await;
    let text = provided(registry.address(), &[("/books", "http://10.0.0.5/books")]);
    let gateway = gateway(&folder, "p1", &text.replace("1h", "100ms")).await;
    for _ in 0..3 {
        assert_eq!(ask(gateway.address(), "POST", "/books").await.0, 200);
    }
    // Ten reports later.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(counted(&gateway, "soapstone_call_records_waiting"), 3);
    assert_eq!(counted(&gateway, "soapstone_call_records_lost_total"), 0);
    assert_eq!(page(&registry, "/calls").await, CallPage::default());
    gateway.shutdown().await;
}

/// A route that a reload takes away is no entry any more. Its calls are lost, and keep none of the
/// others from the log.
#[tokio::test(flavor = "multi_thread")]
async fn calls_of_a_route_that_a_reload_took_away_keep_no_other_one_from_the_log() {
    let folder = folder();
    let port = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = port.local_addr().expect("it is bound");
    drop(port);
    let file = |routes: &[(&'static str, &str)]| provided(address, routes).replace("1h", "100ms");
    let both = [("/a", "http://10.0.0.5/a"), ("/b", "http://10.0.0.5/b")];
    let gateway = gateway(&folder, "p1", &file(&both)).await;
    for path in ["/b", "/a"] {
        assert_eq!(ask(gateway.address(), "POST", path).await.0, 200);
    }
    let config = GatewayConfig::from_text(&file(&both[..1]), &folder.path("p1.toml"), &|_| None);
    gateway.reload(config.unwrap_or_else(|problems| panic!("{problems}")));
    assert_eq!(counted(&gateway, "soapstone_call_records_waiting"), 2);
    let registry = registry_with_log_at(&folder, &address.to_string(), "").await;
    until("both are told of", async || {
        counted(&gateway, "soapstone_call_records_waiting") == 0
    })
    .await;
    assert_eq!(logged(&registry).await, ["http://10.0.0.5/a"]);
    assert_eq!(counted(&gateway, "soapstone_call_records_lost_total"), 1);
    gateway.shutdown().await;
}

/// A registry that refuses the first requests for these reasons, signed, and says to all others
/// that it logged their calls.
fn refusing_at_first(folder: &Folder, refusals: Vec<Refusal>) -> SocketAddr {
    let text = "identity = { key = \"registry.key.pem\", certificate = \"registry.cert.pem\" }\n\
                trust = { anchors = [\"ca.cert.pem\"] }\n\
                security = { mechanism = \"sign\", suite = \"Basic256GCMEcdhEs\" }\n";
    let config = EndpointConfig::from_text(text, &folder.path("fake.toml"), &|_| None);
    let config = config.unwrap_or_else(|problems| panic!("{problems}"));
    let service = Service::from_config(&config).unwrap_or_else(|problems| panic!("{problems}"));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it is bound");
    let mut refusals = refusals.into_iter();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let memory = Memory::without_conversations(&ForgetfulReplayCache);
            let request = service.receive(whole_body(&mut stream), memory);
            let Ok(Arrived::Message(request)) = request else {
                panic!("{request:?}");
            };
            let calls = String::from_utf8_lossy(&request.bytes)
                .matches("<call ")
                .count();
            let (status, body) = match refusals.next() {
                Some(refusal) => {
                    let detail = uddi::write_refusal(&refusal);
                    let fault = format!(
                        "<s:Fault><faultcode>s:Server</faultcode><faultstring>no</faultstring><detail>{detail}</detail></s:Fault>"
                    );
                    ("500 Internal Server Error", fault)
                }
                None => {
                    let calls = calls as u64;
                    let logged = Answer::Logged(Logged { calls, unknown: 0 });
                    ("200 OK", uddi::write_answer(&logged))
                }
            };
            let plain = format!(
                "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body>{body}</s:Body></s:Envelope>"
            );
            let secured = service.answer(plain.into_bytes(), &request.receipt);
            let secured = secured.expect("it is secured").bytes;
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: text/xml\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                secured.len()
            );
            let answer = [head.as_bytes(), &secured].concat();
            stream.write_all(&answer).expect("it is read");
        }
    });
    address
}

/// The body of a request.
fn whole_body(stream: &mut TcpStream) -> Vec<u8> {
    let (mut read, mut part) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&read).to_lowercase();
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let length = head.split_once("content-length: ").map(|(_, rest)| rest);
            let length = length.and_then(|rest| rest.split("\r\n").next());
            let length: usize = length.expect("a length").parse().expect("a number");
            if read.len() >= head.len() + 4 + length {
                return read.split_off(head.len() + 4);
            }
        }
        let count = stream.read(&mut part).expect("a request");
        assert!(count > 0, "the request is whole");
        read.extend_from_slice(&part[..count]);
    }
}

/// A registry whose database is full, or that has just begun, takes the same calls later.
#[tokio::test(flavor = "multi_thread")]
async fn calls_that_are_refused_for_a_while_wait_and_others_are_lost() {
    for (refusals, lost) in [
        (vec![Refusal::NotKept, Refusal::FutureReport], false),
        (vec![Refusal::Unsigned], true),
    ] {
        let folder = folder();
        let registry = refusing_at_first(&folder, refusals);
        let broker = gateway(&folder, "broker", &balancing(registry, "broker")).await;
        assert_eq!(ask(broker.address(), "POST", "/books").await.0, 200);
        until("the registry was told", async || {
            counted(&broker, "soapstone_call_records_waiting") == 0
        })
        .await;
        let told = ["lost", "logged"].map(|what| {
            let name = format!("soapstone_call_records_{what}_total");
            counted(&broker, &name) == 1
        });
        assert_eq!(told, [lost, !lost]);
        broker.shutdown().await;
    }
}
