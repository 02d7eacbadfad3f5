//! Gateways that count requests under agreements together, in one Redis.

use std::net::TcpListener;

use soapstone_gateway::Config;

use super::*;
use crate::support::Redis;

const RATE: &str = "service = \"/echo\"\nuntil = 2999-01-01\nwindow = { calls = 1000 }\n\
    [client]\nsubject = \"CN=client\"\nrate = \"1/h\"\nburst = 50\n";

/// A gateway's file whose agreements are counted in the store at that port.
fn shared(backends: &str, port: u16, more: &str, records: &str) -> String {
    let store = format!(
        "store = {{ url = \"redis://127.0.0.1:{port}\", timeout = \"500ms\" }}\n{more}records = \"{records}\"\n"
    );
    file(backends, "").replace("records = \"violations.xml\"\n", &store)
}

/// The records of a file, each of them verified.
fn verified(folder: &Folder, name: &str) -> Vec<VerifiedRecord> {
    let bytes = std::fs::read(folder.path(name)).unwrap_or_default();
    let mut rules = TrustRules::default();
    rules.pinned = vec![certificate(folder, "gateway")];
    let trust = TrustStore::new(rules).expect("a certificate");
    let (records, _) = verify_records(&bytes, trust).expect("they verify");
    records
}

async fn metric(gateway: &Running, name: &str) -> Option<u64> {
    let admin = gateway.admin_address().expect("it has one");
    let answer = send(admin, to_admin("/metrics")).await;
    let mut lines = answer.body.lines();
    let line = lines.find(|line| line.starts_with(name) && !line.starts_with('#'))?;
    line.rsplit_once(' ')?.1.parse().ok()
}

/// Two gateways let in what one may, and their records hold each refused request once. The bar is
/// an excess of 2 %: there is none.
#[tokio::test]
async fn two_gateways_let_in_together_what_was_agreed() {
    let folder = folder(RATE);
    let redis = Redis::start(&[]).await;
    let backend_one = Backend::echo().await;
    let backends = backend("one", &backend_one);
    let gateway_of = async |records: &str| {
        folder
            .gateway(&shared(&backends, redis.1, "", records))
            .await
    };
    let gateways = [
        gateway_of("violations.xml").await,
        gateway_of("other.xml").await,
    ];
    let mut statuses = Vec::new();
    for _ in 0..40 {
        for gateway in &gateways {
            statuses.push(call(&folder, gateway, "client").await.as_u16());
        }
    }
    let count = |status: u16| statuses.iter().filter(|it| **it == status).count();
    assert_eq!((count(200), count(429)), (50, 30), "{statuses:?}");
    let told = [told(&gateways[0]).await, told(&gateways[1]).await];
    let sum = |key: &str| -> u64 {
        told.iter()
            .map(|it| it[key].as_u64().expect("a number"))
            .sum()
    };
    assert_eq!((sum("admitted"), sum("refused")), (50, 30));
    for gateway in &gateways {
        let unanswered = metric(gateway, "soapstone_agreement_store_unanswered_total").await;
        assert_eq!(unanswered, Some(0));
    }
    let mut recorded = 0;
    for (gateway, name) in gateways.into_iter().zip(["violations.xml", "other.xml"]) {
        gateway.shutdown().await;
        recorded += violating(&verified(&folder, name))["rate"];
    }
    assert_eq!(recorded, 30);
}

/// Who lost the store decides as the file says: nobody is let in, or as many as were agreed on with
/// this gateway alone, and what it let in before counts. No call hangs, and each is counted.
#[tokio::test]
async fn a_store_of_rates_that_is_away_refuses_or_leaves_it_to_each_gateway() {
    for (more, expected) in [
        ("", [503; 60].to_vec()),
        (
            "when_unavailable = \"accept\"\n",
            [[200; 40].to_vec(), [429; 20].to_vec()].concat(),
        ),
    ] {
        let folder = folder(RATE);
        let redis = Redis::start(&[]).await;
        let backend_one = Backend::echo().await;
        let text = shared(
            &backend("one", &backend_one),
            redis.1,
            more,
            "violations.xml",
        );
        let gateway = folder.gateway(&text).await;
        assert_eq!(calls(&folder, &gateway, "client", 10).await, [200; 10]);
        drop(redis);
        assert_eq!(calls(&folder, &gateway, "client", 60).await, expected);
        let unanswered = metric(&gateway, "soapstone_agreement_store_unanswered_total").await;
        assert_eq!(unanswered, Some(60));
        let alone = metric(&gateway, "soapstone_agreement_decided_alone_total").await;
        let let_in = expected.iter().filter(|status| **status == 200).count();
        assert_eq!(alone, Some(let_in as u64));
        // What nobody can tell is no violation.
        let refused = expected.iter().filter(|status| **status == 429).count() as u64;
        let recorded = records(&folder, gateway).await;
        let counted = violating(&recorded).get("rate").copied();
        assert_eq!(counted.unwrap_or_default(), refused);
    }
}

/// The store accepts connections and never answers.
#[tokio::test]
async fn a_store_of_rates_that_hangs_holds_up_no_call() {
    let folder = folder(RATE);
    let hung = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = hung.local_addr().expect("it is bound").port();
    let backend_one = Backend::echo().await;
    let more = "when_unavailable = \"accept\"\n";
    let text = shared(&backend("one", &backend_one), port, more, "violations.xml");
    let gateway = folder.gateway(&text).await;
    assert_eq!(calls(&folder, &gateway, "client", 20).await, [200; 20]);
    let alone = metric(&gateway, "soapstone_agreement_decided_alone_total").await;
    assert_eq!(alone, Some(20));
}

/// Each gateway has half a window of the calls, and both together have one. One of them judges it,
/// and both leave the provider alone.
#[tokio::test]
async fn two_gateways_judge_a_provider_together() {
    let folder = folder(
        "service = \"/echo\"\nuntil = 2999-01-01\nwindow = { calls = 10 }\n[client]\nsubject = \"CN=client\"\n\
         [provider]\nbackends = [\"one\"]\ntime = \"0s\"\nquantile = \"50%\"\nexclusion = { after = 1, time = \"1h\" }\n",
    );
    let redis = Redis::start(&[]).await;
    let backend_one = Backend::echo().await;
    let backends = backend("one", &backend_one);
    let mut gateways = Vec::new();
    for records in ["violations.xml", "other.xml"] {
        let text = shared(&backends, redis.1, "", records);
        gateways.push(folder.gateway(&text).await);
    }
    for gateway in &gateways {
        assert_eq!(calls(&folder, gateway, "client", 5).await, [200; 5]);
    }
    for gateway in &gateways {
        let mut patience = 600;
        while !told(gateway).await["backends"][0]["excluded_for_ms"].is_u64() {
            patience -= 1;
            assert!(patience > 0, "{}", told(gateway).await);
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }
    let mut found = Vec::new();
    for (gateway, name) in gateways.into_iter().zip(["violations.xml", "other.xml"]) {
        gateway.shutdown().await;
        found.extend(verified(&folder, name));
    }
    assert_eq!(found.len(), 1, "{found:?}");
    for (part, expected) in [
        ("Obligation", "response-time"),
        ("Calls", "10"),
        ("Violating", "10"),
        ("ExcludedSeconds", "3600"),
    ] {
        assert_eq!(found[0].part(part), Some(expected), "{found:?}");
    }
}

/// Each second the store adds what it is asked to, and its answer does not count: no replica has
/// it. The calls are added once, and operators see that nobody judges.
#[tokio::test]
async fn calls_whose_addition_is_not_answered_are_added_once() {
    let folder = folder(
        "service = \"/echo\"\nuntil = 2999-01-01\nwindow = { calls = 1000 }\n[client]\nsubject = \"CN=client\"\n\
         [provider]\nbackends = [\"one\"]\ntime = \"0s\"\nquantile = \"50%\"\n",
    );
    let redis = Redis::start(&[]).await;
    let backend_one = Backend::echo().await;
    let text = shared(&backend("one", &backend_one), redis.1, "", "violations.xml");
    let text = text.replace("\"500ms\"", "\"200ms\", replicas = 1");
    let gateway = folder.gateway(&text).await;
    assert_eq!(calls(&folder, &gateway, "client", 5).await, [200; 5]);
    let mut patience = 600;
    while metric(&gateway, "soapstone_agreement_window_unanswered_total").await < Some(4) {
        patience -= 1;
        assert!(patience > 0, "nothing is told");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let ask = |arguments: &[&str]| {
        let answer = std::process::Command::new("redis-cli")
            .args(["-p", &redis.1.to_string()])
            .args(arguments)
            .output()
            .expect("redis-cli comes with redis-server");
        String::from_utf8_lossy(&answer.stdout).trim().to_owned()
    };
    let keys = ask(&["KEYS", "*"]);
    let counts: Vec<String> = keys
        .lines()
        .map(|key| ask(&["HGET", key, "calls"]))
        .filter(|count| !count.is_empty())
        .collect();
    assert_eq!(counts, ["5"]);
}

/// What the client may not do costs nothing of its rate, and asks nobody.
#[tokio::test]
async fn what_is_refused_for_its_size_takes_no_token_of_the_store() {
    let folder = folder(&format!("{RATE}largest = \"100B\"\n"));
    let redis = Redis::start(&[]).await;
    let backend_one = Backend::echo().await;
    let text = shared(&backend("one", &backend_one), redis.1, "", "violations.xml");
    let gateway = folder.gateway(&text).await;
    assert_eq!(calls(&folder, &gateway, "client", 3).await, [413; 3]);
    let keys = std::process::Command::new("redis-cli")
        .args(["-p", &redis.1.to_string(), "DBSIZE"])
        .output()
        .expect("redis-cli comes with redis-server");
    assert_eq!(String::from_utf8_lossy(&keys.stdout).trim(), "0");
}

#[test]
fn what_is_done_without_a_store_needs_one() {
    let folder = folder(RATE);
    let text = file("{ url = \"http://127.0.0.1:1/\" }", "");
    let said = |from: &str, to: &str| {
        let text = text
            .replacen(from, to, 1)
            .replacen("LISTEN", "listen = \"127.0.0.1:0\"", 1);
        let config = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        config.map(|config| {
            let warnings = config.warnings();
            warnings.iter().map(|it| it.name).collect::<Vec<_>>()
        })
    };
    let records = "records = \"violations.xml\"\n";
    let told = said(
        records,
        &format!("{records}when_unavailable = \"accept\"\n"),
    );
    let told = told.expect_err("no store").to_string();
    assert!(
        told.contains("`when_unavailable` is about a `store`, and there is none"),
        "{told}"
    );
    let told = said(records, &format!("{records}store = {{ prefix = \"a\" }}\n"));
    let told = told.expect_err("no server").to_string();
    assert!(
        told.contains("`url` is missing in [agreements.store]"),
        "{told}"
    );
    let store = format!("{records}store = {{ url = \"redis://127.0.0.1:9\" }}\n");
    let names = said(records, &store).expect("it is right");
    assert!(!names.contains(&"agreement-not-shared"), "{names:?}");
}
