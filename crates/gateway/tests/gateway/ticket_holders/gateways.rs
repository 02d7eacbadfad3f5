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

mod body {
    use http::StatusCode;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
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
        let (tickets, _) = tickets.split_once("security").expect("a table");
        let conversation = format!(
            "[[routes]]\npath = \"/conversation\"\nbackend = \"http://{}/echo\"\n[routes.outbound]\n{tickets}\
             security = {{ mechanism = \"secure-conversation\", suite = \"Basic256GCM\", conversations = {{ bootstrap = \"sign-encrypt\" }} }}\n",
            backend.address
        );
        let asks = client_of(1, 1, "/asks", "protect", &tables(ALICE, "protect", ""));
        let gateway = folder
            .gateway(&format!("LISTEN\n{conversation}{asks}"))
            .await;
        // The second one is not told what the first one was: nothing keeps it from asking.
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
        assert_eq!(asked, 2, "{said}");
        assert!(backend.seen.try_recv().is_err(), "it was asked");
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
