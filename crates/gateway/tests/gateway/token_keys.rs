//! Symmetric keys from our token service to our client, and messages under them to our service.

use http::StatusCode;
use soapstone_gateway::Config;

use crate::support::{Backend, ENVELOPE, Folder, Said, post, send, soon};
use crate::token_services::{AUDIENCE, SIGNER, TLS, asking, folder, services};

/// The key transport that a service accepts, and how the token service is told of it.
const TRANSPORTS: [(&str, &str); 3] = [
    (
        "algorithms = { key_transport = [\"rsa-oaep-mgf1p\"], oaep_digest = [\"sha256\"] }",
        "",
    ),
    ("suite = \"Basic256Sha256\"", "suite = \"Basic256Sha256\", "),
    ("suite = \"Basic256GCM\"", "suite = \"Basic256GCM\", "),
];

/// A gateway in front of the service, which wants messages under the key of an assertion.
fn books(backend: std::net::SocketAddr, algorithms: &str) -> String {
    format!(
        "LISTEN\n{TLS}\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{backend}/echo\"\nidentity = {{ subject = \"X-Subject\" }}\n\
         [routes.inbound]\nidentity = {{ key = \"server.key.pem\", certificate = \"server.cert.pem\" }}\n\
         security = {{ mechanism = \"sign-encrypt\", {algorithms} }}\n\
         [routes.inbound.saml]\naudience = [\"{AUDIENCE}\"]\nconfirmation = [\"holder-of-key\"]\nholder_key = \"symmetric\"\n\
         issuers = [{{ name = \"https://sts.example\", pinned = [\"sts.cert.pem\"] }}]\n"
    )
}

/// A gateway in front of plain clients.
fn client(books: u16, sts: u16, suite: &str, entropy: &str) -> String {
    let towards = format!("trust = {{ pinned = [\"sts.cert.pem\"] }}\n{SIGNER}");
    let more = format!("applies_to = \"{AUDIENCE}\"\n{entropy}");
    let asking = asking(sts, "signers", "holder-of-key", &more, &towards);
    let symmetric = "[routes.outbound.saml]\nholder_key = \"symmetric\"\n";
    format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"https://localhost:{books}/echo\"\ntls = {{ ca = [\"ca.cert.pem\"] }}\n\
         [routes.outbound]\nsecurity = {{ mechanism = \"sign-encrypt\", {suite} }}\n{}",
        asking.replacen("[routes.outbound.saml]\n", symmetric, 1)
    )
}

/// The token services, which know how keys are encrypted to the service.
fn token_services(suite: &str, more: &str) -> String {
    let table = services("");
    let known = "address = \"https://books.example/books\", certificate";
    let table = table.replace(known, &format!("{suite}{known}"));
    table.replace("longest_lifetime", &format!("{more}longest_lifetime"))
}

/// One call through all of them: its status, and whom the service was told of.
async fn called(
    folder: &Folder,
    algorithms: (&str, &str),
    sts: &str,
    entropy: &str,
) -> (StatusCode, Option<String>) {
    let (accepted, told) = algorithms;
    let sts = folder.gateway(&token_services(told, sts)).await;
    let mut backend = Backend::echo().await;
    let books = folder.gateway(&books(backend.address, accepted)).await;
    let (books, sts) = (books.address().port(), sts.address().port());
    let sends = match accepted.starts_with("suite") {
        true => accepted,
        false => "suite = \"Basic256GCM\"",
    };
    let gateway = folder.gateway(&client(books, sts, sends, entropy)).await;
    let answer = send(gateway.address(), post("/echo", ENVELOPE)).await;
    if answer.status != StatusCode::OK {
        return (answer.status, None);
    }
    let seen = soon("the request", backend.seen.recv()).await;
    let headers = seen.expect("a request").headers;
    let subject = headers["x-subject"].to_str().expect("text");
    (answer.status, Some(subject.to_owned()))
}

#[tokio::test]
async fn a_key_of_both_sides_protects_the_messages_of_a_client_to_a_service() {
    let folder = folder();
    for algorithms in TRANSPORTS {
        let (status, subject) = called(&folder, algorithms, "", "").await;
        assert_eq!(status, StatusCode::OK, "{algorithms:?}");
        assert_eq!(subject.as_deref(), Some("CN=client"));
    }
}

#[tokio::test]
async fn one_side_alone_makes_the_key_where_files_say_so() {
    let folder = folder();
    for (sts, entropy, expected) in [
        ("", "entropy = \"token-service\"", StatusCode::OK),
        (
            "requester_keys = true\n",
            "entropy = \"client\"",
            StatusCode::OK,
        ),
        (
            "requester_keys = true\n",
            "entropy = \"both\"",
            StatusCode::OK,
        ),
        ("", "entropy = \"client\"", StatusCode::BAD_GATEWAY),
    ] {
        let (said, _listening) = Said::listen();
        let (status, _) = called(&folder, TRANSPORTS[1], sts, entropy).await;
        assert_eq!(status, expected, "{sts} {entropy}\n{said}");
        if expected != StatusCode::OK {
            let log = said.to_string();
            assert!(
                log.contains("expected our own key as that of the token"),
                "{log}"
            );
        }
    }
}

/// The service under `Basic256Sha256` opens no key that is encrypted by other algorithms.
#[tokio::test]
async fn a_key_that_is_encrypted_by_another_suite_is_refused_by_the_service() {
    let folder = folder();
    let (said, _listening) = Said::listen();
    let (status, _) = called(&folder, (TRANSPORTS[1].0, TRANSPORTS[2].1), "", "").await;
    assert_eq!(status, StatusCode::BAD_GATEWAY);
    let log = said.to_string();
    assert!(log.contains("algorithm-not-allowed"), "{log}");
}

#[test]
fn a_suite_that_encrypts_no_key_is_told() {
    let folder = folder();
    let told = |suite: &str| {
        let text = token_services(suite, "").replace("LISTEN", "listen = \"127.0.0.1:0\"");
        let read = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        read.err().map(|it| it.to_string()).unwrap_or_default()
    };
    assert_eq!(told("suite = \"Basic256\", "), "");
    let rsa15 = told("suite = \"Basic256Rsa15\", ");
    assert!(
        rsa15.contains("a symmetric key is encrypted by RSA-OAEP alone"),
        "{rsa15}"
    );
    let unknown = told("suite = \"Basic257\", ");
    assert!(
        unknown.contains("`suite` must name an algorithm suite"),
        "{unknown}"
    );
    let text = services("").replace(
        "{ address = \"https://front.example\" }",
        "{ address = \"https://front.example\", suite = \"Basic256\" }",
    );
    let text = text.replace("LISTEN", "listen = \"127.0.0.1:0\"");
    let read = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
    let needless = read.err().map(|it| it.to_string()).unwrap_or_default();
    assert!(needless.contains("it has no certificate"), "{needless}");
}
