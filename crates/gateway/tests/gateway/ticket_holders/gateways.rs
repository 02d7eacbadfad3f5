//! Gateways that ask a token service with tickets of their own.

use super::*;

#[test]
fn a_gateway_asks_with_its_ticket() {
    run("gateways", "a_gateway_asks_with_its_ticket");
}

/// Kerberos Token Profile 1.1, 3.4: a later message names a token that the service has accepted.
#[test]
fn a_lost_question_leaves_no_session_behind_that_the_token_service_does_not_know() {
    run(
        "gateways",
        "a_lost_question_leaves_no_session_behind_that_the_token_service_does_not_know",
    );
}

#[test]
fn questions_that_wait_for_a_kdc_hold_no_worker() {
    let Some(mut realm) = realm("") else {
        return;
    };
    let hangs = realm.hang_kdc();
    within(
        &realm,
        "gateways",
        "questions_that_wait_for_a_kdc_hold_no_worker",
    );
    drop(hangs);
}

#[test]
fn a_kdc_that_is_away_is_no_failure_of_the_backend() {
    let Some(mut realm) = realm("") else {
        return;
    };
    realm.stop_kdc();
    within(
        &realm,
        "gateways",
        "a_kdc_that_is_away_is_no_failure_of_the_backend",
    );
}

#[test]
fn while_a_kdc_hangs_few_requests_wait_for_a_handshake() {
    let Some(mut realm) = realm("") else {
        return;
    };
    let hangs = realm.hang_kdc();
    within(
        &realm,
        "gateways",
        "while_a_kdc_hangs_few_requests_wait_for_a_handshake",
    );
    drop(hangs);
}

#[test]
fn a_renewal_without_a_ticket_asks_for_none_again() {
    run("gateways", "a_renewal_without_a_ticket_asks_for_none_again");
}

mod body {
    use std::time::{Duration, Instant};

    use http::StatusCode;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::conversations::metric;
    use crate::support::{Backend, ENVELOPE, Said, get, post, send, soon};
    use crate::token_services::{AUDIENCE, SIGNER, asking, folder};

    /// A route to that service, which asks a token service for the assertion. Both are named by
    /// their ports.
    fn client_of(books: u16, sts: u16, path: &str, usage: &str, endpoint: &str) -> String {
        let applies_to = format!("applies_to = \"{AUDIENCE}\"");
        format!(
            "[[routes]]\npath = \"{path}\"\nbackend = \"https://localhost:{books}/echo\"\ntls = {{ ca = [\"ca.cert.pem\"] }}\n\
             [routes.outbound]\nsecurity = {{ mechanism = \"none\" }}\n{}",
            asking(sts, usage, "bearer", &applies_to, endpoint)
        )
    }

    /// A route whose conversation with that backend a ticket begins.
    fn conversation(backend: SocketAddr, tickets: &str) -> String {
        let (tickets, _) = tickets.split_once("security").expect("a table");
        format!(
            "[[routes]]\npath = \"/conversation\"\nbackend = \"http://{backend}/echo\"\n[routes.outbound]\n{tickets}\
             security = {{ mechanism = \"secure-conversation\", suite = \"Basic256GCM\", conversations = {{ bootstrap = \"sign-encrypt\" }} }}\n"
        )
    }

    /// Leads to a port on loopback, but for the first connection that somebody speaks on.
    async fn loses_the_first_connection(port: u16) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        tokio::spawn(async move {
            let mut is_first = true;
            while let Ok((mut near, _)) = listener.accept().await {
                let mut head = [0; 1];
                let spoken = near.read(&mut head).await;
                if !spoken.is_ok_and(|read| read == 1) || std::mem::take(&mut is_first) {
                    continue;
                }
                let far = TcpStream::connect(("127.0.0.1", port)).await;
                let mut far = far.expect("the token service listens");
                far.write_all(&head).await.expect("it reads");
                tokio::spawn(async move {
                    // Whichever side ends first ends both.
                    let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                });
            }
        });
        address.port()
    }

    /// A plain client behind an outbound gateway, which has a keytab.
    #[tokio::test]
    #[ignore = "runs in the process of a realm"]
    async fn a_gateway_asks_with_its_ticket() {
        let folder = folder();
        let sts = folder.gateway(&services("", "")).await;
        let mut backend = Backend::echo().await;
        let books = folder.gateway(&books(backend.address)).await;
        for (usage, _) in USES {
            let (books, sts) = (books.address().port(), sts.address().port());
            let client = client_of(books, sts, "/echo", usage, &tables(ALICE, usage, ""));
            let client = folder.gateway(&format!("LISTEN\n{client}")).await;
            for _ in 0..2 {
                let answer = send(client.address(), post("/echo", ENVELOPE)).await;
                assert_eq!(answer.status, StatusCode::OK, "{usage}: {}", answer.body);
                let seen = soon("the request", backend.seen.recv()).await;
                assert_eq!(seen.expect("a request").headers["x-subject"], ALICE);
            }
        }
    }

    #[tokio::test]
    #[ignore = "runs in the process of a realm"]
    async fn a_lost_question_leaves_no_session_behind_that_the_token_service_does_not_know() {
        let (said, _listening) = Said::listen();
        let folder = folder();
        let sts = folder.gateway(&services("", ", include = \"once\"")).await;
        let port = loses_the_first_connection(sts.address().port()).await;
        let mut backend = Backend::echo().await;
        let books = folder.gateway(&books(backend.address)).await;
        let once = tables(ALICE, "protect", "").replacen(" }", ", include = \"once\" }", 1);
        let client = client_of(books.address().port(), port, "/echo", "protect", &once);
        let client = folder.gateway(&format!("LISTEN\n{client}")).await;
        let lost = send(client.address(), post("/echo", ENVELOPE)).await;
        assert_ne!(lost.status, StatusCode::OK, "{}", lost.body);
        // A token service that was away is not asked at once.
        let asked = async {
            while send(client.address(), post("/echo", ENVELOPE)).await.status != StatusCode::OK {
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        };
        soon("an answer", asked).await;
        let seen = soon("the request", backend.seen.recv()).await;
        assert_eq!(seen.expect("a request").headers["x-subject"], ALICE);
        assert_eq!(said.caused("kerberos-unknown"), 0, "{said}");
    }

    /// One that would begin a conversation, and one that would ask a token service.
    #[tokio::test]
    #[ignore = "runs in the process of a realm"]
    async fn a_kdc_that_is_away_is_no_failure_of_the_backend() {
        let (said, _listening) = Said::listen();
        let folder = folder();
        let mut backend = Backend::echo().await;
        let tickets = tables(ALICE, "protect", "");
        let conversation = conversation(backend.address, &tickets);
        let asks = client_of(1, 1, "/asks", "protect", &tables(ALICE, "protect", ""));
        let gateway = folder
            .gateway(&format!("LISTEN\n{conversation}{asks}"))
            .await;
        // The second one may be told what the first one was, and that blames nobody either.
        for round in 1..=2 {
            for (path, reason) in [
                ("/conversation", "handshake-not-secured"),
                ("/asks", "token-not-secured"),
            ] {
                let answer = send(gateway.address(), post(path, ENVELOPE)).await;
                assert_eq!(
                    answer.status,
                    StatusCode::SERVICE_UNAVAILABLE,
                    "{path}: {said}"
                );
                let metrics = send(gateway.address(), get("/metrics")).await;
                let line = format!(
                    "soapstone_failures_total{{route=\"{path}\",reason=\"{reason}\"}} {round}\n"
                );
                assert!(metrics.body.contains(&line), "{line}{}", metrics.body);
            }
        }
        let asked = said.times("no conversation with the backend route=");
        assert!([1, 2].contains(&asked), "{said}");
        assert!(backend.seen.try_recv().is_err(), "it was asked");
    }

    /// After the first failure one request a second tries, and the others are told at once.
    #[tokio::test]
    #[ignore = "runs in the process of a realm"]
    async fn while_a_kdc_hangs_few_requests_wait_for_a_handshake() {
        let folder = folder();
        let mut backend = Backend::echo().await;
        let tickets = tables(ALICE, "protect", "").replacen("60s", "4s", 1);
        let conversation = conversation(backend.address, &tickets);
        let asks = client_of(1, 1, "/asks", "protect", &tickets);
        let file = format!("LISTEN\n{conversation}{asks}");
        let gateway = folder.gateway(&file).await;
        let address = gateway.address();
        for path in ["/conversation", "/asks"] {
            let begun = Instant::now();
            let first = send(address, post(path, ENVELOPE)).await;
            assert_eq!(first.status, StatusCode::SERVICE_UNAVAILABLE, "{path}");
            assert!(begun.elapsed() > Duration::from_secs(3), "{path}");
            let requests = (0..16).map(|_| {
                tokio::spawn(async move {
                    let begun = Instant::now();
                    let answer = send(address, post(path, ENVELOPE)).await;
                    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{path}");
                    begun.elapsed()
                })
            });
            let mut waited = 0;
            for request in requests.collect::<Vec<_>>() {
                let took = request.await.expect("an answer");
                waited += u32::from(took > Duration::from_secs(2));
            }
            assert!(waited < 8, "{waited} of 16 waited: {path}");
        }
        assert!(backend.seen.try_recv().is_err(), "it was asked");
    }

    /// A request for a new context would take the ticket that the renewal lacks.
    #[tokio::test]
    #[ignore = "runs in the process of a realm"]
    async fn a_renewal_without_a_ticket_asks_for_none_again() {
        let folder = folder();
        let backend = Backend::echo().await;
        let secures = |keys: &str| {
            format!(
                "security = {{ mechanism = \"secure-conversation\", suite = \"Basic256GCM\", conversations = {{ bootstrap = \"sign-encrypt\"{keys} }} }}\n"
            )
        };
        let service = format!(
            "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.inbound]\n\
             kerberos = {{ keytab = \"{}\", principal = \"{SERVICE}\", use = \"protect\" }}\n{}",
            backend.address,
            keytab_of(SERVICE),
            secures(", lifetime = \"8s\", owner_alone = true")
        );
        let service = folder.gateway(&service).await;
        let known = folder.path("alice.cache");
        let mut kinit = std::process::Command::new("/usr/bin/kinit");
        let keytab = keytab_of(ALICE);
        let kinit = kinit.args(["-k", "-t", &keytab, "-c"]).arg(&known);
        assert!(kinit.arg(ALICE).status().expect("kinit starts").success());
        let cache = format!("cache = \"{}\"", known.display());
        let tickets = tables(ALICE, "protect", &cache);
        let gateway = conversation(service.address(), &tickets);
        let gateway = folder.gateway(&format!("LISTEN\n{gateway}")).await;
        let called = async || {
            let answer = send(gateway.address(), post("/conversation", ENVELOPE)).await;
            assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        };
        called().await;
        std::fs::remove_file(&known).expect("the tickets are there");
        let handshakes = |outcome: &str| {
            format!("soapstone_handshakes_total{{route=\"/conversation\",outcome=\"{outcome}\"}}")
        };
        let failed = async {
            while metric(&gateway, &handshakes("failed")).await == 0 {
                called().await;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        soon("a renewal that fails", failed).await;
        let failed = metric(&gateway, &handshakes("failed")).await;
        // One for the first context, and one for each renewal.
        let tickets = metric(&gateway, "soapstone_store_wait_seconds_count").await;
        assert_eq!(tickets, failed + 1, "{failed}");
    }

    /// More questions than there are workers, each for another route.
    #[tokio::test]
    #[ignore = "runs in the process of a realm"]
    async fn questions_that_wait_for_a_kdc_hold_no_worker() {
        let folder = folder();
        let backend = Backend::echo().await;
        let patient = tables(ALICE, "protect", "").replacen("60s", "10s", 1);
        let asking =
            |number: usize| client_of(1, 1, &format!("/asking{number}"), "protect", &patient);
        let routes: String = (0..64).map(asking).collect();
        let signs = "trust = { pinned = [\"client.cert.pem\"] }\nidentity = { key = \"server.key.pem\", certificate = \"server.cert.pem\" }\nsecurity = { mechanism = \"sign\" }\n";
        let signed = format!(
            "[[routes]]\npath = \"/signed\"\nbackend = \"http://{}/echo\"\n[routes.inbound]\n{signs}",
            backend.address
        );
        let gateway = folder.gateway(&format!("LISTEN\n{routes}{signed}")).await;
        let address = gateway.address();
        let waiting: Vec<_> = (0..64)
            .map(|number| {
                let request = post(&format!("/asking{number}"), ENVELOPE);
                tokio::spawn(async move { send(address, request).await.status })
            })
            .collect();
        for _ in 0..4 {
            let message = folder.secured(SIGNER, ENVELOPE);
            let answer = send(address, post("/signed", message)).await;
            assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        }
        let ended = waiting.iter().filter(|one| one.is_finished()).count();
        // Some were told at once that too many wait already.
        assert!(ended < waiting.len(), "they wait for the KDC");
        for one in waiting {
            assert_ne!(one.await.expect("no panic"), StatusCode::OK);
        }
    }
}
