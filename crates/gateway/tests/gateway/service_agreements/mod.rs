//! Agreements between clients and providers as a gateway enforces them: who is let in, what is
//! measured, and what the records say.

mod classes;
mod load;
mod together;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use http::StatusCode;
use serde_json::Value;
use soapstone::config::json_schema;
use soapstone::crypto::issue::{self, Validity};
use soapstone::crypto::{Certificate, TrustRules, TrustStore};
use soapstone_gateway::{Config, Running, VerifiedRecord, verify_records};
use soapstone_testkit::keys::{self, RSA};
use soapstone_testkit::moment;

use crate::secured;
use crate::support::{Backend, ENVELOPE, Folder, post, send, to_admin};

const GOLD: &str = "service = \"/echo\"\nclass = \"gold\"\nuntil = 2999-01-01\nwindow = { calls = 10 }\n\
    [client]\nsubject = \"CN=client\"\nrate = \"1/h\"\nburst = 3\noperations = [\"{urn:echo}echo\"]\nlargest = \"1KiB\"\n\
    penalty = \"1 EUR\"\n";

/// A folder with the keys of three clients' and servers' sides, and this agreement.
fn folder(agreement: &str) -> Folder {
    let folder = Folder::with_keys();
    for name in ["mallory", "gateway"] {
        folder.write_identity(name, &keys::identity(&format!("CN={name}"), RSA));
    }
    folder.write("gold.toml", agreement);
    folder
}

const AGREEMENTS: &str = "admin = \"127.0.0.1:0\"\n[agreements]\nfiles = [\"gold.toml\"]\nrecords = \"violations.xml\"\n\
    identity = { key = \"gateway.key.pem\", certificate = \"gateway.cert.pem\" }\n";

/// A gateway's file with a route to these backends.
fn file(backends: &str, more: &str) -> String {
    format!(
        "LISTEN\n{AGREEMENTS}[[routes]]\npath = \"/echo\"\nbackends = [{backends}]\n[routes.inbound]\n{}{more}",
        secured::service("sign")
    )
}

fn backend(name: &str, backend: &Backend) -> String {
    format!(
        "{{ name = \"{name}\", url = \"http://{}/echo\" }}, ",
        backend.address
    )
}

/// The status of the answer to a message that this client signed.
async fn call(folder: &Folder, gateway: &Running, client: &str) -> StatusCode {
    called(folder, gateway, client, ENVELOPE).await.0
}

async fn called(
    folder: &Folder,
    gateway: &Running,
    client: &str,
    envelope: &str,
) -> (StatusCode, Option<String>) {
    let tables = secured::client("sign").replace("client.", &format!("{client}."));
    let message = folder.secured(&tables, envelope);
    let answer = send(gateway.address(), post("/echo", message)).await;
    let wait = answer.headers.get("retry-after");
    let wait = wait.map(|wait| wait.to_str().expect("text").to_owned());
    (answer.status, wait)
}

async fn calls(folder: &Folder, gateway: &Running, client: &str, count: usize) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..count {
        statuses.push(call(folder, gateway, client).await.as_u16());
    }
    statuses
}

/// What the gateway tells of its agreement.
async fn told(gateway: &Running) -> Value {
    let admin = gateway.admin_address().expect("it has one");
    let answer = send(admin, to_admin("/agreements")).await;
    let told: Value = serde_json::from_str(&answer.body).expect("JSON");
    told["agreements"][0].clone()
}

fn certificate(folder: &Folder, name: &str) -> Certificate {
    let file = folder.path(format!("{name}.cert.pem"));
    let contents = std::fs::read(file).expect("it is there");
    Certificate::from_pem(&contents).expect("a certificate")
}

/// The records of a gateway that has ended.
async fn records(folder: &Folder, gateway: Running) -> Vec<VerifiedRecord> {
    gateway.shutdown().await;
    let mut rules = TrustRules::default();
    rules.pinned = vec![certificate(folder, "gateway")];
    let trust = TrustStore::new(rules).expect("a certificate");
    let bytes = std::fs::read(folder.path("violations.xml")).expect("it is there");
    let (records, _) = verify_records(&bytes, trust).expect("they verify");
    records
}

/// How many calls violated each obligation.
fn violating(records: &[VerifiedRecord]) -> BTreeMap<&str, u64> {
    let mut counts = BTreeMap::new();
    for record in records {
        let part = |name| record.part(name).expect("each has it");
        let count: u64 = part("Violating").parse().expect("a number");
        *counts.entry(part("Obligation")).or_insert(0) += count;
    }
    counts
}

#[tokio::test]
async fn excess_is_refused_told_and_recorded() {
    let folder = folder(GOLD);
    let backend_one = Backend::echo().await;
    let text = file(&backend("one", &backend_one), "");
    let audit = "LISTEN\naudit = { file = \"audit.jsonl\" }";
    let gateway = folder.gateway(&text.replace("LISTEN", audit)).await;
    let statuses = calls(&folder, &gateway, "client", 9).await;
    assert_eq!(statuses, [200, 200, 200, 429, 429, 429, 429, 429, 429]);
    let (status, wait) = called(&folder, &gateway, "client", ENVELOPE).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    let wait: u64 = wait.expect("it is told when").parse().expect("seconds");
    assert!((3590..=3600).contains(&wait), "{wait}");
    // Ten requests are a window, and it is open for a minute at least: the client sets no pace.
    let shown = told(&gateway).await;
    assert_eq!(
        (&shown["admitted"], &shown["refused"]),
        (&3.into(), &7.into()),
        "{shown}"
    );
    assert_eq!(shown["violations"]["rate"], 0, "{shown}");
    let metrics = gateway.metrics();
    for expected in [
        "soapstone_agreement_in_force{agreement=\"gold\"} 1",
        "soapstone_agreement_requests_total{agreement=\"gold\",outcome=\"refused\"} 7",
        "soapstone_agreement_violations_total{agreement=\"gold\",party=\"client\",obligation=\"rate\"} 0",
        "soapstone_failures_total{route=\"/echo\",reason=\"agreement-rate\"} 7",
        "soapstone_violation_records_lost_total 0",
    ] {
        assert!(
            metrics.lines().any(|line| line == expected),
            "{expected} in {metrics}"
        );
    }
    // The end records what is open.
    assert_eq!(calls(&folder, &gateway, "client", 2).await, [429, 429]);
    let records = records(&folder, gateway).await;
    assert_eq!(violating(&records), BTreeMap::from([("rate", 9)]));
    let calls = records.iter().map(|record| record.part("Calls"));
    assert_eq!(calls.collect::<Vec<_>>(), [Some("12")]);
    let penalties = records.iter().map(|record| record.part("Penalty"));
    assert_eq!(penalties.collect::<Vec<_>>(), [Some("1 EUR")]);
    assert_eq!(records[0].signer, "CN=gateway");
    let audit = std::fs::read_to_string(folder.path("audit.jsonl")).expect("it is there");
    assert_eq!(
        audit.matches("\"agreement\":\"gold\"").count(),
        3,
        "{audit}"
    );
}

/// Neither its promises nor its tokens: what another certificate signs is under no agreement.
#[tokio::test]
async fn a_client_cannot_use_the_agreement_of_another() {
    let folder = folder(GOLD);
    let backend_one = Backend::echo().await;
    let gateway = folder
        .gateway(&file(&backend("one", &backend_one), ""))
        .await;
    assert_eq!(calls(&folder, &gateway, "mallory", 6).await, [200; 6]);
    let shown = told(&gateway).await;
    assert_eq!(
        (&shown["admitted"], &shown["refused"]),
        (&0.into(), &0.into()),
        "{shown}"
    );
    assert_eq!(
        calls(&folder, &gateway, "client", 4).await,
        [200, 200, 200, 429]
    );
}

#[tokio::test]
async fn other_operations_and_larger_requests_than_agreed_are_refused() {
    let folder = folder(GOLD);
    let backend_one = Backend::echo().await;
    let gateway = folder
        .gateway(&file(&backend("one", &backend_one), ""))
        .await;
    let other = ENVELOPE.replace("e:echo", "e:delete");
    let large = ENVELOPE.replace("hello", &"hello".repeat(300));
    for (envelope, expected) in [
        (&*other, StatusCode::FORBIDDEN),
        (&*large, StatusCode::PAYLOAD_TOO_LARGE),
    ] {
        let (status, wait) = called(&folder, &gateway, "client", envelope).await;
        assert_eq!((status, wait), (expected, None));
    }
    // The backend may go by the action: that of another operation is not this one's.
    let message = folder.secured(&secured::client("sign"), ENVELOPE);
    let mut request = post("/echo", message);
    let action = "\"urn:delete\"".parse().expect("a value");
    request.headers_mut().insert("soapaction", action);
    let answer = send(gateway.address(), request).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    // What was refused has cost no token.
    assert_eq!(calls(&folder, &gateway, "client", 3).await, [200; 3]);
    let records = records(&folder, gateway).await;
    assert_eq!(
        violating(&records),
        // Who changes a word that the client did not sign does not make the client guilty.
        BTreeMap::from([("operation", 1), ("size", 1)])
    );
}

/// A bucket that a reload filled, and a window that it emptied, would be for whoever can have the
/// file read again.
#[tokio::test]
async fn a_reload_resets_neither_bucket_nor_window() {
    let folder = folder(GOLD);
    let backend_one = Backend::echo().await;
    let text = file(&backend("one", &backend_one), "");
    let gateway = folder.gateway(&text).await;
    let mut statuses = Vec::new();
    for _ in 0..5 {
        statuses.push(call(&folder, &gateway, "client").await.as_u16());
        gateway.reload(folder.config(&text));
    }
    assert_eq!(statuses, [200, 200, 200, 429, 429]);
    assert_eq!(told(&gateway).await["window"]["requests"], 5);
    let records = records(&folder, gateway).await;
    assert_eq!(violating(&records), BTreeMap::from([("rate", 2)]));
}

const PROVIDER: &str = "service = \"/echo\"\nuntil = 2999-01-01\nwindow = { calls = 2 }\n[client]\nsubject = \"CN=client\"\n";

/// Every violation that is made is recorded, and nothing else is.
#[tokio::test]
async fn what_a_provider_does_not_keep_is_recorded() {
    for (provider, expected) in [
        (
            "time = \"0s\"\nquantile = \"50%\"",
            vec![("response-time", 6)],
        ),
        (
            "time = \"10m\"\nquantile = \"99%\"\navailability = \"100%\"",
            vec![],
        ),
    ] {
        let folder = folder(&format!("{PROVIDER}[provider]\n{provider}\n"));
        let backend_one = Backend::echo().await;
        let gateway = folder
            .gateway(&file(&backend("one", &backend_one), ""))
            .await;
        assert_eq!(calls(&folder, &gateway, "client", 6).await, [200; 6]);
        // Under no agreement.
        assert_eq!(calls(&folder, &gateway, "mallory", 2).await, [200; 2]);
        let records = records(&folder, gateway).await;
        assert_eq!(
            violating(&records),
            expected.into_iter().collect(),
            "{provider}"
        );
    }
    let folder = folder(&format!("{PROVIDER}[provider]\navailability = \"60%\"\n"));
    let away = Backend::answering(|_| {
        let mut response = http::Response::new(http_body_util::Full::default());
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        response
    });
    let away = away.await;
    let gateway = folder.gateway(&file(&backend("one", &away), "")).await;
    calls(&folder, &gateway, "client", 4).await;
    let records = records(&folder, gateway).await;
    assert_eq!(violating(&records), BTreeMap::from([("availability", 4)]));
    let measured = records.iter().map(|record| record.part("Measured"));
    assert_eq!(measured.collect::<Vec<_>>(), [Some("0% answered"); 2]);
}

/// A backend with an endpoint in front of it that demands signatures.
fn signing(name: &str, backend: SocketAddr) -> String {
    let tables = secured::client("sign").replace("client.", "gateway.");
    let tables: String = tables.trim_end().replace('\n', ", ");
    format!("{{ name = \"{name}\", url = \"http://{backend}/echo\", outbound = {{ {tables} }} }}, ")
}

/// A service, and the gateway in front of it that demands signatures and signs its answers.
async fn signing_provider(folder: &Folder) -> (Backend, Running) {
    let service = Backend::echo().await;
    let text = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.inbound]\n{}",
        service.address,
        secured::service("sign")
    );
    let gateway = folder.gateway(&text).await;
    (service, gateway)
}

/// A strong offer and a weak service: an answer that does not prove what the policy demands is a
/// violation, and the provider gets no more calls of the agreement.
#[tokio::test]
async fn a_provider_whose_answers_are_weaker_than_agreed_is_excluded() {
    let agreement = format!(
        "{PROVIDER}[provider]\nbackends = [\"lying\"]\nsecurity = {{ properties = [\"integrity\"] }}\n\
         availability = \"60%\"\n\
         exclusion = {{ after = 1, time = \"1h\" }}\n"
    );
    let folder = folder(&agreement);
    // It sends back what it got: nothing of that is signed by the server.
    let mut lying = Backend::echo().await;
    let (_service, honest) = signing_provider(&folder).await;
    let honest = signing("honest", honest.address());
    let backends = signing("lying", lying.address) + &honest;
    let gateway = folder
        .gateway(&file(&backends, "[routes.balance]\nejection = false\n"))
        .await;
    assert_eq!(
        calls(&folder, &gateway, "client", 4).await,
        [502, 502, 200, 200]
    );
    let mut asked = 0;
    while lying.seen.try_recv().is_ok() {
        asked += 1;
    }
    assert_eq!(asked, 2);
    let shown = told(&gateway).await;
    assert!(shown["backends"][0]["excluded_for_ms"].is_u64(), "{shown}");
    let metrics = gateway.metrics();
    let expected = "soapstone_agreement_excluded{agreement=\"gold\",backend=\"lying\"} 1";
    assert!(metrics.lines().any(|line| line == expected), "{metrics}");
    let records = records(&folder, gateway).await;
    // What is refused is no answer.
    assert_eq!(
        violating(&records),
        BTreeMap::from([("availability", 2), ("security", 2)])
    );
    let excluded = records.iter().map(|record| record.part("ExcludedSeconds"));
    assert!(excluded.flatten().eq(["3600"]), "{records:?}");
    let weak = |record: &&VerifiedRecord| record.part("Obligation") == Some("security");
    let measured = records.iter().find(weak).and_then(|it| it.part("Measured"));
    assert!(
        measured.is_some_and(|it| it.starts_with("an answer that is refused: ")),
        "{records:?}"
    );
}

/// SOAP 1.1, 4.2.3: a service that does not know a block of the header answers with a fault, which
/// its stack mostly does not secure. A client chooses its blocks, and cannot make a provider
/// guilty.
#[tokio::test]
async fn a_fault_that_nobody_secured_is_no_violation() {
    let agreement = format!(
        "{PROVIDER}[provider]\nsubject = \"CN=server\"\nsecurity = {{ properties = [\"integrity\"] }}\n\
         exclusion = {{ after = 1, time = \"1h\" }}\n"
    );
    let fault = ENVELOPE.replace(
        "<e:echo xmlns:e=\"urn:echo\">hello</e:echo>",
        "<s:Fault><faultcode>s:MustUnderstand</faultcode><faultstring>x:foo</faultstring></s:Fault>",
    );
    assert_ne!(fault, ENVELOPE);
    for (answers, expected) in [
        ("unsecured_faults = \"code\"", 502),
        ("unsecured_faults = \"all\"", 500),
    ] {
        let folder = folder(&agreement);
        let body = bytes::Bytes::from(fault.clone());
        let service = Backend::answering(move |_| {
            let mut response = http::Response::new(http_body_util::Full::new(body.clone()));
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            let headers = response.headers_mut();
            headers.insert("content-type", "text/xml".parse().expect("a value"));
            response
        });
        let service = service.await;
        let answers = format!("answers = {{ {answers}, without_tls = true }}, identity");
        let backend = signing("one", service.address).replacen("identity", &answers, 1);
        let gateway = folder.gateway(&file(&backend, "")).await;
        assert_eq!(calls(&folder, &gateway, "client", 2).await, [expected; 2]);
        let shown = told(&gateway).await;
        assert!(shown["backends"][0]["excluded_for_ms"].is_null(), "{shown}");
        assert_eq!(violating(&records(&folder, gateway).await), BTreeMap::new());
    }
}

/// What the gateway cannot judge: its store is away, nobody tells whether a certificate was
/// revoked, or an answer is beyond its limits, which a client can cause. The provider answers as
/// agreed.
#[tokio::test]
async fn an_answer_that_the_gateway_cannot_judge_is_no_violation_of_a_provider() {
    let agreement = format!(
        "{PROVIDER}[provider]\nsubject = \"CN=server\"\navailability = \"100%\"\n\
         exclusion = {{ after = 1, time = \"1h\" }}\n"
    );
    let folder = folder(&agreement);
    let validity = Validity {
        not_before: moment("2024-01-01T00:00:00Z"),
        not_after: moment("2024-06-01T00:00:00Z"),
    };
    let authority = keys::authority(keys::AUTHORITY);
    let list = issue::revocation_list(&authority, [], validity).expect("a list");
    folder.write("ca.crl", list);
    let (_service, provider) = signing_provider(&folder).await;
    let plain = signing("one", provider.address());
    let store = "store = { url = \"redis://127.0.0.1:9\" }, identity";
    // Another backend may have a certificate of which somebody tells.
    for (backend, reason, failed) in [
        (
            plain.replacen("identity", store, 1).replace(
                "mechanism = \"sign\"",
                "mechanism = \"sign\", replay = { store = \"redis\" }",
            ),
            "replay-unknown",
            0,
        ),
        (
            plain.replace("anchors = ", "crls = [\"ca.crl\"], anchors = "),
            "revocation-unknown",
            2,
        ),
        (
            plain.replacen("identity", "limits = { elements = 8 }, identity", 1),
            "too-many",
            0,
        ),
    ] {
        assert_ne!(backend, plain);
        let gateway = folder.gateway(&file(&backend, "")).await;
        assert_eq!(calls(&folder, &gateway, "client", 2).await, [502; 2]);
        let shown = told(&gateway).await;
        assert_eq!(shown["backends"], Value::Array(Vec::new()), "{reason}");
        let metrics = gateway.metrics();
        for expected in [
            format!("reason=\"{reason}\"}} 2\n"),
            format!(
                "soapstone_balanced_failed_total{{route=\"/echo\",backend=\"one\"}} {failed}\n"
            ),
        ] {
            assert!(metrics.contains(&expected), "{expected} in {metrics}");
        }
        assert_eq!(violating(&records(&folder, gateway).await), BTreeMap::new());
    }
}

/// Trusted by the same authority, and not the provider of the agreement.
#[tokio::test]
async fn answers_that_another_one_than_the_provider_signs_are_violations() {
    for (subject, expected) in [
        ("CN=server", None),
        ("CN=other", Some("signed by CN=server")),
    ] {
        let agreement = format!("{PROVIDER}[provider]\nsubject = \"{subject}\"\n");
        let folder = folder(&agreement);
        let (_service, provider) = signing_provider(&folder).await;
        let backends = signing("one", provider.address());
        let gateway = folder.gateway(&file(&backends, "")).await;
        assert_eq!(calls(&folder, &gateway, "client", 2).await, [200; 2]);
        let records = records(&folder, gateway).await;
        let measured: Vec<_> = records.iter().map(|it| it.part("Measured")).collect();
        let expected: Vec<_> = expected.into_iter().map(Some).collect();
        assert_eq!(measured, expected, "{subject}");
    }
}

/// The provider of the agreement does not cover what the route needs: no call goes there.
#[tokio::test]
async fn an_agreement_does_not_weaken_what_its_route_needs() {
    let folder = folder(&format!("{PROVIDER}[provider]\nbackends = [\"plain\"]\n"));
    let mut plain = Backend::echo().await;
    let (_service, strong) = signing_provider(&folder).await;
    let strong = signing("strong", strong.address());
    let backends = backend("plain", &plain) + &strong;
    for (needs, plain_gets) in [
        ("", true),
        ("needs = { properties = [\"integrity\"] }\n", false),
    ] {
        let more = format!("[routes.balance]\n{needs}");
        let gateway = folder.gateway(&file(&backends, &more)).await;
        assert_eq!(
            calls(&folder, &gateway, "client", 4).await,
            [200; 4],
            "{needs}"
        );
        let mut asked = 0;
        while plain.seen.try_recv().is_ok() {
            asked += 1;
        }
        assert_eq!(asked, if plain_gets { 4 } else { 0 }, "{needs}");
        gateway.shutdown().await;
    }
}

/// It is no agreement any more, and its client is served as others are.
#[tokio::test]
async fn an_agreement_that_has_expired_is_warned_of_and_not_in_force() {
    let folder = folder(&GOLD.replace("2999", "2001"));
    let backend_one = Backend::echo().await;
    let text = file(&backend("one", &backend_one), "");
    let config = folder.config(&text);
    let names: Vec<&str> = config
        .warnings()
        .iter()
        .map(|warning| warning.name)
        .collect();
    assert!(names.contains(&"agreement-expired"), "{names:?}");
    let gateway = folder.gateway(&text).await;
    assert_eq!(calls(&folder, &gateway, "client", 5).await, [200; 5]);
    assert_eq!(told(&gateway).await["in_force"], false);
}

/// Token buckets and windows are of one process: whoever runs several is told.
#[tokio::test]
async fn an_agreement_about_a_route_whose_store_others_share_is_warned_of() {
    let folder = folder(GOLD);
    let backend_one = Backend::echo().await;
    let plain = file(&backend("one", &backend_one), "");
    let names = |text: &str| -> Vec<&'static str> {
        let warnings = folder.config(text).warnings();
        warnings.iter().map(|warning| warning.name).collect()
    };
    let store = "store = { url = \"redis://127.0.0.1:9\" }\nidentity";
    let shared = plain.replace(
        "mechanism = \"sign\"",
        "mechanism = \"sign\", replay = { store = \"redis\" }",
    );
    // The first `identity` is that of the records.
    let (before, inbound) = shared.split_once("[routes.inbound]").expect("an endpoint");
    let inbound = inbound.replacen("identity", store, 1);
    let warned = names(&format!("{before}[routes.inbound]{inbound}"));
    assert!(warned.contains(&"agreement-not-shared"), "{warned:?}");
    // So does one store of conversations, with replays in memory.
    let key = "5a".repeat(32);
    let shared = plain.replace(
        "mechanism = \"sign\"",
        "mechanism = \"secure-conversation\", conversations = { store = \"redis\" }",
    );
    let store =
        format!("store = {{ url = \"redis://127.0.0.1:9\", seal_key = \"{key}\" }}\nidentity");
    let (before, inbound) = shared.split_once("[routes.inbound]").expect("an endpoint");
    let inbound = inbound.replacen("identity", &store, 1);
    let warned = names(&format!("{before}[routes.inbound]{inbound}"));
    assert!(warned.contains(&"agreement-not-shared"), "{warned:?}");
    let alone = names(&plain);
    assert!(!alone.contains(&"agreement-not-shared"), "{alone:?}");
}

/// What `Config` says of a file with this agreement and these routes.
fn problems(agreement: &str, routes: &str) -> String {
    read(agreement, routes).map(|_| ()).expect_err(agreement)
}

fn read(agreement: &str, routes: &str) -> Result<Config, String> {
    let folder = folder(agreement);
    let text = format!("listen = \"127.0.0.1:0\"\n{AGREEMENTS}{routes}");
    let read = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
    read.map_err(|problems| {
        let place = folder.path("");
        let problems = problems.to_string();
        problems.replace(place.to_str().expect("UTF-8"), "")
    })
}

/// A backend that no provider will ever have is a mistake, though providers come and go.
#[test]
fn backends_of_providers_are_named_as_they_will_be_found() {
    let inbound = secured::service("sign");
    let registry = format!(
        "[registry]\nurl = \"http://127.0.0.1:9/uddi\"\n[registry.client]\n{}",
        secured::service("sign").replace("anchors = ", "subjects = [\"CN=registry\"], anchors = ")
    );
    let text = |owners: &str| {
        format!(
            "{registry}[[routes]]\npath = \"/echo\"\n\
             [routes.backends]\nservice = \"Books\"\nowners = [{owners}]\n[routes.inbound]\n{inbound}"
        )
    };
    let (alone, owned) = ("http://10.0.0.1/books", "http://10.0.0.1/books (CN=p1)");
    let apart = "gold.toml:7:12: `backends` must hold access points with their owners, since owners have backends of their own, found another text\n    \
                 hint: access point and owner: \"http://10.0.0.1/books (CN=p1)\"";
    let of_one = "gold.toml:7:12: `backends` must hold access points, since the route has the providers of one owner, found another text\n    \
                  hint: the access point alone: \"http://10.0.0.1/books\"";
    for (owners, name, expected) in [
        ("\"CN=p1\", \"CN=p2\"", alone, Some(apart)),
        ("\"*\"", alone, Some(apart)),
        ("\"CN=p1\"", owned, Some(of_one)),
        ("\"CN=p1\", \"CN=p2\"", owned, None),
        ("\"CN=p1\"", alone, None),
    ] {
        let agreement = format!("{PROVIDER}[provider]\nbackends = [\"{name}\"]\n");
        let found = read(&agreement, &text(owners)).map(|_| ());
        let found = found.err().unwrap_or_default();
        let is_told = expected.map_or(!found.contains("`backends`"), |it| found.contains(it));
        assert!(is_told, "{owners} and {name}: {found}");
    }
}

#[test]
fn what_is_wrong_with_an_agreement_is_told_with_its_place() {
    let inbound = secured::service("sign");
    let route = format!(
        "[[routes]]\npath = \"/echo\"\nbackends = [{{ name = \"one\", url = \"http://127.0.0.1:9/echo\" }}]\n\
         [routes.inbound]\n{inbound}"
    );
    for (agreement, expected) in [
        (
            PROVIDER.replace("/echo", "/other"),
            "gold.toml:1:11: `service` must be the name of a route, and no route has it\n    \
             hint: the `name` of a route, or its path where it has none",
        ),
        (
            PROVIDER.replace(
                "until = 2999-01-01\n",
                "from = 2030-01-01\nuntil = 2029-01-01\n",
            ),
            "gold.toml:3:9: `until` must be later than `from`",
        ),
        (
            PROVIDER.replace("calls = 2", "calls = 2, time = \"1m\""),
            "gold.toml:3:10: `window` is a `time` or a number of `calls`\n    \
             hint: { time = \"1m\" } or { calls = 100 }",
        ),
        (
            PROVIDER.replace("CN=client", "client"),
            "gold.toml:5:11: `subject` must be a distinguished name, found another text\n    \
             hint: for example subject = \"CN=client,O=Example\"",
        ),
        (
            format!("{PROVIDER}[provider]\nbackends = [\"two\"]\n"),
            "gold.toml:7:12: `backends` must hold names of backends of the route, found another text\n    \
             hint: the `name` of a backend, or host and port where it has none",
        ),
        (
            format!("{PROVIDER}[provider]\nsubject = \"CN=server\"\n"),
            "gold.toml:7:11: `subject` of [provider] is proven by answers, and nothing opens those of a backend\n    \
             hint: give the route or the backend an `outbound` whose answers are signed",
        ),
        (
            format!("{PROVIDER}[provider]\nsecurity = {{ bits = 128 }}\n"),
            "gold.toml:7:12: no backend of the provider covers `security`, with what the route needs\n    \
             hint: `soapstone broker explain` shows what each backend gives",
        ),
        (
            format!("{PROVIDER}[provider]\ndescription = true\n"),
            "gold.toml:7:15: `description` of [provider] is about policies that a registry knows, and the backends of the route are not found in one\n    \
             hint: leave it out, or let the route have backends = { service = \"…\", owners = […] }",
        ),
        (
            format!("{PROVIDER}[provider]\ntime = \"1s\"\n"),
            "gold.toml:7:8: `time` needs `quantile`: the share of calls that are answered in it\n    \
             hint: for example quantile = \"95%\"",
        ),
        (
            format!("{PROVIDER}[provider]\navailability = \"99,9%\"\n"),
            "gold.toml:7:16: `availability` must be a share of calls, found another text\n    \
             hint: for example \"95%\" or \"99.95%\"",
        ),
        (
            format!("{PROVIDER}rates = \"1/s\"\n"),
            "gold.toml:6:1: unknown key `rates` in [client]\n    hint: did you mean `rate`?",
        ),
    ] {
        assert_eq!(problems(&agreement, &route), expected);
    }
    let alone = format!(
        "[[routes]]\npath = \"/echo\"\nbackend = \"http://127.0.0.1:9/echo\"\n[routes.inbound]\n{inbound}"
    );
    assert_eq!(
        problems(PROVIDER, &alone),
        "gold.toml:1:11: route /echo has one `backend`, and nothing measures it\n    \
         hint: write it as several: backends = [{ url = \"…\" }]"
    );
    let plain = route.replace(
        "/echo\" }",
        "/echo\", outbound = { security = { mechanism = \"none\" } } }",
    );
    let secured = format!("{plain}[routes.outbound]\n{}", secured::client("sign"));
    assert_eq!(
        problems(
            &format!("{PROVIDER}[provider]\nsubject = \"CN=server\"\n"),
            &secured
        ),
        "gold.toml:7:11: `subject` of [provider] is proven by answers, and nothing opens those of a backend\n    \
         hint: give the route or the backend an `outbound` whose answers are signed"
    );
    let open = "[[routes]]\npath = \"/echo\"\nbackends = [{ url = \"http://127.0.0.1:9/echo\" }]\n";
    assert_eq!(
        problems(PROVIDER, open),
        "gold.toml:1:11: route /echo has no `inbound`: nobody proves to be the client of an agreement\n    \
         hint: give it an endpoint whose clients sign"
    );
}

/// Both files of the guide, with keys that its reader would have.
#[test]
fn the_example_of_the_guide_is_read() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let guide = std::fs::read_to_string(root.join("docs/agreements.md")).expect("the guide");
    let block = |name: &str| {
        let (_, rest) = guide
            .split_once(&format!("```toml\n# {name}\n"))
            .expect(name);
        rest.split_once("\n```").expect("its end").0.to_owned()
    };
    let folder = folder(&block("gold.toml"));
    folder.write_identity("service", &keys::identity("CN=service", RSA));
    let config = folder.config(&block("gateway.toml"));
    let warnings = config.warnings();
    let ours = warnings.iter().find(|it| it.name.starts_with("agreement"));
    assert_eq!(ours, None);
}

/// To write it anew: `SOAPSTONE_WRITE_SCHEMA=1 cargo test -p soapstone-gateway --test gateway
/// schema`.
#[test]
fn the_schema_of_agreements_has_the_keys_that_are_read() {
    let text = "window = {}\n[client]\n[provider]\nsecurity = {}\nexclusion = {}\n";
    let keys = Config::known_agreement_keys(text, Path::new("gold.toml"));
    let schema = json_schema("Soapstone agreement", &keys);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let written = root.join("docs/agreement.schema.json");
    if std::env::var_os("SOAPSTONE_WRITE_SCHEMA").is_some() {
        std::fs::write(&written, &schema).expect("it is written");
    }
    let written = std::fs::read_to_string(written).expect("a schema");
    assert!(
        schema == written,
        "docs/agreement.schema.json is not what is read"
    );
}
