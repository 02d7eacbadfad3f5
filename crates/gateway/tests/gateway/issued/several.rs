//! Several backends, some of which have a token service of their own.

use super::*;
use crate::secured;

/// A backend with that endpoint of its own.
fn own(name: &str, backend: SocketAddr, sts: SocketAddr, more: &str) -> String {
    let text = file(backend, sts, "bearer", more);
    let (_, tables) = text.split_once("[routes.outbound]").expect("the tables");
    let tables = tables.replace("[routes.outbound.", "[routes.backends.outbound.");
    format!(
        "[[routes.backends]]\nname = \"{name}\"\nurl = \"http://{backend}/echo\"\n[routes.backends.outbound]{tables}"
    )
}

/// A route with these backends, which are taken in turn.
fn in_turn(backends: &[String]) -> String {
    let backends = backends.concat();
    format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\n{backends}[routes.balance]\nselection = \"round-robin\"\n"
    )
}

/// Whether a request went on to another backend.
pub(super) fn went_on(gateway: &Running) -> bool {
    let metrics = gateway.metrics();
    let mut lines = metrics.lines();
    lines.any(|line| line.starts_with("soapstone_retries_total{"))
}

/// A backend whose own token service is away cannot be served; another backend can.
#[tokio::test]
async fn a_backend_whose_token_service_is_away_is_replaced_by_another() {
    for user in ["", "user = \"on-behalf-of\""] {
        let folder = folder();
        let (backend, _) = service(&folder, "bearer").await;
        let sts = Sts::honest(&folder, true, false).await;
        let nobody = Nobody::new();
        let text = in_turn(&[
            own("one", backend.address, nobody.address, user),
            own("other", backend.address, sts.backend.address, user),
        ]);
        let gateway = folder.gateway(&text).await;
        let request = users::of("alice", &Made::default());
        for _ in 0..6 {
            let answer = users::call(&gateway, &request).await;
            assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        }
        assert_eq!(sts.asked(), 1);
        assert!(went_on(&gateway));
    }
}

/// A provider answers for its backends, and not for the token service of others that a backend asks
/// for: no record with a signature tells of it.
#[tokio::test]
async fn a_token_service_that_is_away_violates_no_agreement() {
    let folder = folder();
    folder.write_identity("gateway", &keys::identity("CN=gateway", keys::RSA));
    let agreement = "service = \"/echo\"\nuntil = 2999-01-01\nwindow = { calls = 3 }\n\
         [client]\nsubject = \"CN=client\"\n[provider]\navailability = \"100%\"\n";
    folder.write("gold.toml", agreement);
    let (backend, _) = service(&folder, "bearer").await;
    let sts = Sts::honest(&folder, true, false).await;
    let nobody = Nobody::new();
    let text = in_turn(&[
        own("one", backend.address, nobody.address, ""),
        own("other", backend.address, sts.backend.address, ""),
    ]);
    let agreements = "LISTEN\n[agreements]\nfiles = [\"gold.toml\"]\nrecords = \"violations.xml\"\n\
         identity = { key = \"gateway.key.pem\", certificate = \"gateway.cert.pem\" }\n";
    let inbound = secured::service("sign");
    let text = text.replace("LISTEN\n", agreements) + "[routes.inbound]\n" + &inbound;
    let gateway = folder.gateway(&text).await;
    for _ in 0..4 {
        let message = folder.secured(&secured::client("sign"), ENVELOPE);
        let answer = send(gateway.address(), post("/echo", message)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    }
    assert!(went_on(&gateway));
    gateway.shutdown().await;
    let records = std::fs::read_to_string(folder.path("violations.xml")).expect("a file");
    assert!(!records.contains("availability"), "{records}");
}

/// The token service that refuses a user is at work: its backend has not failed.
#[tokio::test]
async fn a_user_who_is_refused_sets_no_backend_aside() {
    let folder = folder();
    let (backend, _) = service(&folder, "bearer").await;
    let sts = users::granting_users(&folder).await;
    let user = "user = \"on-behalf-of\"";
    let text = in_turn(&[
        own("one", backend.address, sts.backend.address, user),
        own("other", backend.address, sts.backend.address, user),
    ]);
    let gateway = folder.gateway(&text).await;
    let mallory = users::of("mallory", &Made::default());
    let answer = users::call(&gateway, &mallory).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{}", answer.body);
    assert_eq!((sts.asked(), went_on(&gateway)), (1, false));
}

/// With one token service for all, none of the backends could be served.
#[tokio::test]
async fn a_token_service_for_all_backends_sets_none_aside() {
    let folder = folder();
    let (backend, _) = service(&folder, "bearer").await;
    let nobody = Nobody::new();
    let text = file(backend.address, nobody.address, "bearer", "");
    let (_, tables) = text.split_once("[routes.outbound]").expect("the tables");
    let member = |name: &str| {
        let address = backend.address;
        format!("[[routes.backends]]\nname = \"{name}\"\nurl = \"http://{address}/echo\"\n")
    };
    let text = in_turn(&[member("one"), member("other")]);
    let gateway = folder
        .gateway(&format!("{text}[routes.outbound]{tables}"))
        .await;
    for _ in 0..3 {
        let answer = ask(&gateway).await;
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{}", answer.body);
    }
    assert!(!went_on(&gateway));
}
