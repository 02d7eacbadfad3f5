//! What providers report of themselves: figures by operation, and providers that report little load
//! and are slow.

use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use soapstone::crypto::{Certificate, TrustRules, TrustStore};
use soapstone_gateway::{VerifiedRecord, verify_records};

use super::*;

/// How much later what goes by the slow way arrives.
const LATE: Duration = Duration::from_secs(1);

/// A way to a gateway on which each request takes longer, and which the gateway does not see: its
/// monitor says that it is quick.
fn slow_way(to: SocketAddr) -> SocketAddr {
    way(to, LATE, Arc::new(AtomicBool::new(true)))
}

/// A way on which each request takes so much longer. Nothing passes while it is not open.
fn way(to: SocketAddr, late: Duration, open: Arc<AtomicBool>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for from in listener.incoming() {
            let from = from.expect("a connection");
            let Ok(to) = TcpStream::connect(to) else {
                continue;
            };
            let copies = [
                (from.try_clone(), to.try_clone(), late),
                (Ok(to), Ok(from), Duration::ZERO),
            ];
            for (source, sink, late) in copies {
                let (source, sink) = (source.expect("a stream"), sink.expect("a stream"));
                let open = Arc::clone(&open);
                std::thread::spawn(move || pass(source, sink, late, &open));
            }
        }
    });
    address
}

fn pass(mut source: TcpStream, mut sink: TcpStream, late: Duration, open: &AtomicBool) {
    let mut part = [0; 65536];
    while let Ok(count @ 1..) = source.read(&mut part) {
        std::thread::sleep(late);
        if !open.load(Ordering::Relaxed) || sink.write_all(&part[..count]).is_err() {
            break;
        }
    }
    // Either end may have gone.
    let _ = sink.shutdown(Shutdown::Write);
    let _ = source.shutdown(Shutdown::Read);
}

/// A gateway of a provider, whose access point is another one if that is said.
async fn reporting(
    folder: &Folder,
    registry: SocketAddr,
    name: &str,
    through: impl FnOnce(SocketAddr) -> SocketAddr,
) -> soapstone_gateway::Running {
    let port = TcpListener::bind("127.0.0.1:0").expect("a port");
    let listen = port.local_addr().expect("it is bound");
    drop(port);
    let access_point = through(listen);
    let text = format!(
        "listen = \"{listen}\"\n{}[[routes]]\npath = \"/books\"\nbackend = \"http://{}/\"\n\
         provides = {{ service = \"Books\", access_point = \"http://{access_point}/books\" }}\n[routes.inbound]\n{}",
        // However busy the machine is: a provider whose reports are late is a backup.
        table(registry, name).replace("100ms", "1s"),
        backend(ECHO),
        endpoint(name, "broker", "sign")
    );
    gateway(folder, name, &text).await
}

/// The records of violations, each of them verified.
pub(super) fn recorded(folder: &Folder, gateway: &str) -> Vec<VerifiedRecord> {
    let certificate = folder.read(format!("{gateway}.cert.pem"));
    let mut rules = TrustRules::default();
    rules.pinned = vec![Certificate::from_pem(&certificate).expect("a certificate")];
    let trust = TrustStore::new(rules).expect("a certificate");
    let (records, _) = verify_records(&folder.read("violations.xml"), trust).expect("they verify");
    records
}

const AGREEMENT: &str = "service = \"/fair\"\nuntil = 2999-01-01\nwindow = { calls = 100000 }\n\
    [client]\nsubject = \"CN=client\"\n[provider]\nreports = true\n";

/// Each figure of the monitor is there by operation, and a broker asks for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_provider_reports_by_operation() {
    let folder = folder();
    let registry = registry(&folder, "127.0.0.1:0").await;
    let p1 = reporting(&folder, registry.address(), "p1", |own| own).await;
    let sender = format!(
        "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/books\"\nbackend = \"http://{}/books\"\n[routes.outbound]\n{}",
        p1.address(),
        endpoint("broker", "p1", "sign")
    );
    let sender = gateway(&folder, "sender", &sender).await;
    for _ in 0..3 {
        let (status, body) = call(sender.address(), "/books").await;
        assert_eq!(status, 200, "{body}");
    }
    // Nobody signed it.
    let (status, _) = call(p1.address(), "/books").await;
    assert_eq!(status, 500);
    let inquiry = registry.inquiry().expect("inquiries");
    let operations = async || {
        let (_, body) = ask(inquiry, "GET", "/providers?operations=true").await;
        let Answer::Providers(providers) = serde_json::from_str(&body).expect("an answer") else {
            panic!("{body}");
        };
        let figures = providers.found.into_iter().find_map(|it| it.figures);
        figures.map(|it| it.operations).unwrap_or_default()
    };
    until("all calls are reported", async || {
        let calls = operations().await.iter().map(|it| it.calls).sum::<f64>();
        calls == 4.0
    })
    .await;
    let told = operations().await;
    let named: Vec<(&str, f64, f64)> = told
        .iter()
        .map(|it| (it.name.as_str(), it.calls, it.refusals))
        .collect();
    assert_eq!(named, [("{urn:e}Echo", 3.0, 0.0), ("*", 1.0, 1.0)]);
    // Inquiries that do not ask for them are as small as before.
    let figures = providers(&registry).await.remove(0).figures;
    assert_eq!(figures.expect("figures").operations, []);
}

/// p2 reports what its monitor sees, a few milliseconds, and its calls take a second more.
#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_lies_about_its_load_gets_no_calls_by_it_and_is_found_out() {
    let folder = Folder::with_keys(P256, &["registry", "p1", "p2", "broker", "client"]);
    let registry = registry(&folder, "127.0.0.1:0").await;
    let address = registry.address();
    let p1 = reporting(&folder, address, "p1", |own| own).await;
    let liar = RefCell::new(String::new());
    let p2 = reporting(&folder, address, "p2", |own| {
        let way = slow_way(own);
        *liar.borrow_mut() = format!("http://{way}/books (CN=p2)");
        way
    })
    .await;
    let liar = liar.into_inner();
    folder.write("gold.toml", AGREEMENT);
    let route = |path: &str, selection: &str| {
        format!(
            "[[routes]]\npath = \"/{path}\"\nbalance = {{ selection = \"{selection}\" }}\n[routes.inbound]\n{}\
             [routes.backends]\nservice = \"Books\"\nowners = [\"CN=p1\", \"CN=p2\"]\n{}{}",
            endpoint("broker", "client", "sign"),
            policy("p1", "sign"),
            policy("p2", "sign")
        )
    };
    let text = format!(
        "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n[agreements]\nfiles = [\"gold.toml\"]\nrecords = \"violations.xml\"\n\
         identity = {{ key = \"broker.key.pem\", certificate = \"broker.cert.pem\" }}\n{}{}{}",
        table(address, "broker"),
        route("fair", "round-robin"),
        route("quick", "performance")
    );
    let (broker, admin, running) = administered(&folder, &text).await;
    let client = |path: &str| {
        format!(
            "[[routes]]\npath = \"/{path}\"\nbackend = \"http://{broker}/{path}\"\n[routes.outbound]\n{}",
            endpoint("client", "broker", "sign")
        )
    };
    let text = format!(
        "listen = \"127.0.0.1:0\"\n{}{}",
        client("fair"),
        client("quick")
    );
    let client = gateway(&folder, "client", &text).await;
    until("both are known to both routes", async || {
        backends(admin, "/fair").await.len() == 2 && backends(admin, "/quick").await.len() == 2
    })
    .await;
    let of = async |path: &str| {
        let members = backends(admin, path).await.into_iter();
        let mut members = members.filter(|it| it["name"] == liar.as_str());
        members.next().expect("the liar")
    };
    let called = async |path: &'static str| {
        let (status, body) = call(client.address(), path).await;
        assert_eq!(status, 200, "{body}");
    };
    // Whoever sends it calls all the same finds it out by three reports.
    until("the liar is doubted", async || {
        called("/fair").await;
        called("/fair").await;
        of("/fair").await["doubted"] == true
    })
    .await;
    let found = of("/fair").await;
    assert!(found["claimed_ms"].is_null(), "{found}");
    assert!(found["contradictions"].as_u64() >= Some(3), "{found}");
    let members = backends(admin, "/fair").await.into_iter();
    let honest = members.filter(|it| it["name"] != liar.as_str());
    assert!(honest.map(|it| it["doubted"].clone()).all(|it| it == false));
    // It promised true reports to the client, and violates that again as long as it goes on.
    until("both violations are recorded", async || {
        called("/fair").await;
        called("/fair").await;
        let (_, told) = ask(admin, "GET", "/agreements").await;
        let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
        let violations = &told["agreements"][0]["violations"]["reports"];
        violations.as_u64() >= Some(2) && told["records"]["number"] == *violations
    })
    .await;
    let records = recorded(&folder, "broker");
    assert!(records.len() >= 2, "{records:?}");
    for record in records {
        for (part, expected) in [
            ("Obligation", "reports"),
            ("Client", "CN=client"),
            ("Backend", &liar),
        ] {
            assert_eq!(record.part(part), Some(expected), "{record:?}");
        }
    }
    let (_, metrics) = ask(admin, "GET", "/metrics").await;
    for (route, doubted) in [("/fair", 1), ("/quick", 0)] {
        let sample =
            format!("soapstone_balanced_doubted{{route=\"{route}\",backend=\"{liar}\"}} {doubted}");
        assert!(metrics.lines().any(|line| line == sample), "{metrics}");
    }
    // Where times choose, its claims are known by now, and worth nothing after one answer.
    let claimed = of("/quick").await["claimed_ms"].as_f64();
    assert!(
        claimed.is_some_and(|claimed| claimed < 1_000.0),
        "{claimed:?}"
    );
    for _ in 0..60 {
        // One whose report is late on a busy machine is a backup, and leaves all calls to the
        // other.
        until("both report in time", async || {
            let members = backends(admin, "/quick").await;
            members.iter().all(|it| it["backup"] == false)
        })
        .await;
        called("/quick").await;
    }
    let found = of("/quick").await;
    assert!(found["answered"].as_u64() <= Some(3), "{found}");
    running.abort();
    drop((p1, p2));
}

/// The reports of p2 stop, and it goes on serving. What it last said of its times is worth nothing
/// soon, it is marked as a backup, and gets no call while the other one reports. Its next report
/// brings it back.
#[tokio::test(flavor = "multi_thread")]
async fn a_provider_whose_reports_stop_is_marked_and_chosen_by_no_old_claim() {
    let folder = folder();
    let registry = registry(&folder, "127.0.0.1:0").await;
    let address = registry.address();
    let p1 = reporting(&folder, address, "p1", |own| own).await;
    let open = Arc::new(AtomicBool::new(true));
    let reports = way(address, Duration::ZERO, Arc::clone(&open));
    let p2 = reporting(&folder, reports, "p2", |own| own).await;
    let text = format!(
        "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n{}[[routes]]\npath = \"/books\"\n\
         balance = {{ selection = \"performance\", fresh = \"5s\" }}\n\
         [routes.backends]\nservice = \"Books\"\nowners = [\"CN=p1\", \"CN=p2\"]\n{}{}",
        table(address, "broker"),
        policy("p1", "sign"),
        policy("p2", "sign")
    );
    let (broker, admin, running) = administered(&folder, &text).await;
    let of = async |owner: &str| {
        let members = backends(admin, "/books").await.into_iter();
        let mut members = members.filter(|it| it["name"].to_string().contains(owner));
        members.next().unwrap_or_default()
    };
    let called = async || {
        let (status, body) = call(broker, "/books").await;
        assert_eq!(status, 200, "{body}");
    };
    until("both are known", async || {
        backends(admin, "/books").await.len() == 2
    })
    .await;
    until("the claims of both are used", async || {
        called().await;
        let both = [of("CN=p1").await, of("CN=p2").await];
        both.iter()
            .all(|it| it["claimed_ms"].is_f64() && it["backup"] == false)
    })
    .await;
    open.store(false, Ordering::Relaxed);
    until(
        "it is marked, and its claims are worth nothing",
        async || {
            called().await;
            let silent = of("CN=p2").await;
            silent["backup"] == true && silent["claimed_ms"].is_null()
        },
    )
    .await;
    let stored = providers(&registry).await;
    let stored = stored
        .iter()
        .find(|it| it.owner.subject.as_str() == "CN=p2");
    assert_eq!(stored.map(|it| it.state), Some(State::Inactive));
    let mut judged = 0;
    for _ in 0..600 {
        let before = (of("CN=p1").await, of("CN=p2").await);
        called().await;
        let after = (of("CN=p1").await, of("CN=p2").await);
        // On a busy machine a report of the other one may be late, and both are backups then.
        if before.0["backup"] == false && after.0["backup"] == false {
            assert_eq!(before.1["answered"], after.1["answered"], "{after:?}");
            assert!(after.1["claimed_ms"].is_null(), "{after:?}");
            judged += 1;
        }
        if judged == 20 {
            break;
        }
    }
    assert_eq!(judged, 20, "calls while the other one reports");
    open.store(true, Ordering::Relaxed);
    until("its next report brings it back", async || {
        of("CN=p2").await["backup"] == false
    })
    .await;
    running.abort();
    drop((p1, p2));
}

/// p2 publishes the access point of p1, and both have the policy of the route.
#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_publishes_the_access_point_of_another_one_hides_none_of_its_reports() {
    let folder = folder();
    let registry = registry(&folder, "127.0.0.1:0").await;
    let address = registry.address();
    let p1 = reporting(&folder, address, "p1", |own| own).await;
    let url = format!("http://{}/books", p1.address());
    let p2 = provider(&folder, address, "p2", backend("p2"), &url).await;
    let text = format!(
        "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n{}[[routes]]\npath = \"/books\"\n\
         balance = {{ selection = \"performance\" }}\n[routes.outbound]\n{}\
         [routes.backends]\nservice = \"Books\"\nowners = [\"CN=p1\", \"CN=p2\"]\n",
        table(address, "broker"),
        endpoint("broker", "p1", "sign")
    );
    let (broker, admin, running) = administered(&folder, &text).await;
    let of = async |owner: &str| {
        let name = format!("{url} (CN={owner})");
        let members = backends(admin, "/books").await.into_iter();
        let mut members = members.filter(|it| it["name"] == name.as_str());
        members.next().unwrap_or_default()
    };
    until("both are known", async || {
        backends(admin, "/books").await.len() == 2
    })
    .await;
    until("what p1 reports is used", async || {
        let (status, body) = call(broker, "/books").await;
        assert_eq!(status, 200, "{body}");
        of("p1").await["claimed_ms"].is_f64()
    })
    .await;
    // The gateway of p2 serves no call, and so reports of none.
    assert!(of("p2").await["claimed_ms"].is_null());
    running.abort();
    drop((p1, p2));
}
