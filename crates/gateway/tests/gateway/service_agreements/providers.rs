//! What is measured of a provider, and when it is excluded.

use soapstone::crypto::issue::{self, Validity};
use soapstone_testkit::moment;

use super::*;

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
        ("CN=other", Some("signed by CN=server of CN=ca")),
        ("CN=server\"\nissuer = \"CN=ca", None),
        // The same subject, of another authority.
        (
            "CN=server\"\nissuer = \"CN=other",
            Some("signed by CN=server of CN=ca"),
        ),
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
