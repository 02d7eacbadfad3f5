//! Who is let in under an agreement, and what is refused to a client.

use super::*;

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

/// A route that trusts two authorities: each may certify one subject.
#[tokio::test]
async fn a_namesake_of_another_authority_is_under_no_agreement_of_the_client() {
    let folder = folder(&GOLD.replace("rate = ", "issuer = \"CN=ca\"\nrate = "));
    another_authority(&folder);
    folder.write_identity("namesake", &keys::identity_by("CN=other", "CN=client", RSA));
    let backend_one = Backend::echo().await;
    let both = file(&backend("one", &backend_one), "").replace(
        "anchors = [\"ca.cert.pem\"]",
        "anchors = [\"ca.cert.pem\", \"other.cert.pem\"]",
    );
    let gateway = folder.gateway(&both).await;
    assert_eq!(calls(&folder, &gateway, "namesake", 5).await, [200; 5]);
    let own = calls(&folder, &gateway, "client", 4).await;
    assert_eq!(own, [200, 200, 200, 429]);
    let shown = told(&gateway).await;
    assert_eq!(shown["client"], "CN=client of CN=ca");
}
