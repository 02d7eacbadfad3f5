//! Whether certificates of TLS were revoked: those of backends and of clients, asked of `openssl
//! ocsp` as a live responder, or told by an answer that a server staples.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use soapstone_gateway::{Config, Running};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::revocation::{Responder, outcome, told, write_responder};
use crate::support::{Backend, ENVELOPE, Folder, get, post, send, send_over, silent_backend};
use crate::tls::server_identity;

const SERVER: &str = "certificate = \"server.cert.pem\", key = \"server.key.pem\"";

/// A gateway behind TLS, which shows `server`, and asks about clients by these rules.
async fn server(folder: &Folder, backend: &Backend, before: &str, more: &str) -> Running {
    let text = format!(
        "LISTEN\n{before}\ntls = {{ {SERVER}{more} }}\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n",
        backend.address
    );
    folder.gateway(&text).await
}

/// The file of a gateway whose backend is behind TLS at that port.
fn front(port: u16, hosts: &str, tls: &str) -> String {
    format!(
        "LISTEN\nrevocation = {{ hosts = [{hosts}] }}\n[[routes]]\npath = \"/echo\"\n\
         backend = \"https://localhost:{port}/echo\"\ntls = {{ {tls} }}\n"
    )
}

async fn status(gateway: &Running) -> StatusCode {
    send(gateway.address(), post("/echo", ENVELOPE))
        .await
        .status
}

/// Sends requests until one is answered like this.
async fn answered(gateway: &Running, expected: StatusCode) {
    for _ in 0..200 {
        if status(gateway).await == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no request was answered {expected}: {}", gateway.metrics());
}

/// TLS of a client that shows `client`; all its connections may resume a session.
fn client(folder: &Folder) -> TlsConnector {
    let read = |name: &str| std::fs::read(folder.path(name)).expect("a file");
    let chain = |name: &str| -> Vec<CertificateDer<'static>> {
        let chain = CertificateDer::pem_slice_iter(&read(name)).collect::<Result<_, _>>();
        chain.expect("certificates")
    };
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(chain("ca.cert.pem"));
    let key = PrivateKeyDer::from_pem_slice(&read("client.key.pem")).expect("a key");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has them")
        .with_root_certificates(roots)
        .with_client_auth_cert(chain("client.cert.pem"), key)
        .expect("they belong together");
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    TlsConnector::from(Arc::new(config))
}

/// What a request over a new connection is answered; nothing where the gateway ends the
/// connection. In TLS 1.3 a client learns only afterwards that its handshake was refused.
async fn served(connector: &TlsConnector, address: SocketAddr) -> Option<StatusCode> {
    let stream = TcpStream::connect(address).await.expect("somebody listens");
    let name = ServerName::try_from("localhost").expect("a name");
    let stream = connector.connect(name, stream).await.ok()?;
    let answer = send_over(stream, post("/echo", ENVELOPE)).await;
    Some(answer.ok()?.status)
}

async fn becomes(connector: &TlsConnector, address: SocketAddr, expected: Option<StatusCode>) {
    for _ in 0..200 {
        if served(connector, address).await == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no connection was served like {expected:?}");
}

#[tokio::test]
async fn a_backend_is_believed_once_its_responder_has_answered() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let behind = server(&folder, &backend, "", "").await;
    let responder = Responder::about(&folder, "server", 'V');
    let tls = format!(
        "ca = [\"ca.cert.pem\"], revocation = {{ {} }}",
        responder.rules()
    );
    let port = behind.address().port();
    let gateway = folder.gateway(&front(port, &responder.host(), &tls)).await;
    assert_eq!(status(&gateway).await, StatusCode::BAD_GATEWAY);
    answered(&gateway, StatusCode::OK).await;
    told(&gateway, &outcome("ocsp", "good")).await;
}

/// A connection that is kept open, a session that is resumed, and a reload: none of them lets a
/// server go on whose certificate was revoked.
#[tokio::test]
async fn a_backend_whose_certificate_was_revoked_is_not_reached_any_more() {
    let folder = Folder::with_keys();
    let (gateway, text, _running) = reached_until_revoked(&folder, "ca = [\"ca.cert.pem\"]").await;
    gateway.reload(folder.config(&text));
    assert_eq!(status(&gateway).await, StatusCode::BAD_GATEWAY);
}

#[tokio::test]
async fn a_pinned_backend_is_asked_about_in_the_name_of_a_named_issuer() {
    let folder = Folder::with_keys();
    let trust = "pinned = [\"server.cert.pem\", \"ca.cert.pem\"]";
    reached_until_revoked(&folder, trust).await;
}

/// A gateway whose backend was reached once, as nobody had answered yet (soft fail), and not again
/// after the responder had said that its certificate was revoked; the gateway's file; and what runs
/// behind it.
async fn reached_until_revoked(
    folder: &Folder,
    trust: &str,
) -> (Running, String, (Backend, Running, Responder)) {
    let backend = Backend::echo().await;
    let behind = server(folder, &backend, "", "").await;
    let responder = Responder::about(folder, "server", 'R');
    let tls = format!(
        "{trust}, revocation = {{ {}, fail = \"soft\" }}",
        responder.rules()
    );
    let text = front(behind.address().port(), &responder.host(), &tls);
    let gateway = folder.gateway(&text).await;
    assert_eq!(status(&gateway).await, StatusCode::OK, "soft fail");
    told(&gateway, &outcome("ocsp", "revoked")).await;
    assert_eq!(status(&gateway).await, StatusCode::BAD_GATEWAY);
    (gateway, text, (backend, behind, responder))
}

#[tokio::test]
async fn a_client_is_served_once_its_responder_has_answered() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let responder = Responder::start(&folder, 'V');
    let before = format!("revocation = {{ hosts = [{}] }}", responder.host());
    let rules = format!(
        ", client_ca = \"ca.cert.pem\", revocation = {{ {} }}",
        responder.rules()
    );
    let gateway = server(&folder, &backend, &before, &rules).await;
    let connector = client(&folder);
    assert_eq!(served(&connector, gateway.address()).await, None);
    becomes(&connector, gateway.address(), Some(StatusCode::OK)).await;
    told(&gateway, &outcome("ocsp", "good")).await;
}

/// The client could resume the session that it made before, and does not.
#[tokio::test]
async fn a_client_whose_certificate_was_revoked_is_served_no_more() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let responder = Responder::start(&folder, 'R');
    let before = format!("revocation = {{ hosts = [{}] }}", responder.host());
    let rules = format!(
        ", client_ca = \"ca.cert.pem\", revocation = {{ {}, fail = \"soft\" }}",
        responder.rules()
    );
    let gateway = server(&folder, &backend, &before, &rules).await;
    let connector = client(&folder);
    let address = gateway.address();
    assert_eq!(served(&connector, address).await, Some(StatusCode::OK));
    told(&gateway, &outcome("ocsp", "revoked")).await;
    assert_eq!(served(&connector, address).await, None);
}

/// A gateway as the client keeps its connection: the second request goes over the one that was made
/// before the certificate was known to be revoked.
#[tokio::test]
async fn a_connection_that_stays_open_does_not_outlive_its_certificate() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let responder = Responder::start(&folder, 'R');
    let before = format!("revocation = {{ hosts = [{}] }}", responder.host());
    let rules = format!(
        ", client_ca = \"ca.cert.pem\", revocation = {{ {}, fail = \"soft\" }}",
        responder.rules()
    );
    let behind = server(&folder, &backend, &before, &rules).await;
    let port = behind.address().port();
    let client = folder
        .gateway(&format!(
            "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"https://localhost:{port}/echo\"\n\
             tls = {{ ca = [\"ca.cert.pem\"], certificate = \"client.cert.pem\", key = \"client.key.pem\" }}\n"
        ))
        .await;
    assert_eq!(status(&client).await, StatusCode::OK);
    backend.seen.recv().await.expect("a request");
    told(&behind, &outcome("ocsp", "revoked")).await;
    assert_ne!(status(&client).await, StatusCode::OK);
    assert!(
        backend.seen.try_recv().is_err(),
        "nothing reaches the backend"
    );
    let refused = "reason=\"client-certificate-revoked\"";
    let metrics = behind.metrics();
    assert!(metrics.contains(refused), "{metrics}");
    let health = send(client.address(), get("/healthz")).await.status;
    assert_eq!(health, StatusCode::OK);
}

/// A connection that was accepted while nobody answered, and a reload that demands an answer.
#[tokio::test]
async fn a_connection_that_stays_open_goes_by_the_rules_of_a_reload() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let (silent, _accepted) = silent_backend().await;
    let text = |fail: &str| {
        format!(
            "LISTEN\nrevocation = {{ hosts = [\"{silent}\"] }}\ntls = {{ {SERVER}, client_ca = \"ca.cert.pem\", \
             revocation = {{ responder = \"http://{silent}/\", fail = \"{fail}\" }} }}\n\
             [[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n",
            backend.address
        )
    };
    let (soft, hard) = (text("soft"), text("hard"));
    let behind = folder.gateway(&soft).await;
    let port = behind.address().port();
    let client = folder
        .gateway(&format!(
            "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"https://localhost:{port}/echo\"\n\
             tls = {{ ca = [\"ca.cert.pem\"], certificate = \"client.cert.pem\", key = \"client.key.pem\" }}\n"
        ))
        .await;
    for _ in 0..2 {
        assert_eq!(status(&client).await, StatusCode::OK);
        backend.seen.recv().await.expect("a request");
    }
    behind.reload(folder.config(&hard));
    assert_ne!(status(&client).await, StatusCode::OK);
    assert!(
        backend.seen.try_recv().is_err(),
        "nothing reaches the backend"
    );
    let refused = "reason=\"client-certificate-revoked\"";
    let metrics = behind.metrics();
    assert!(metrics.contains(refused), "{metrics}");
}

/// The answer counts for four seconds, and the connection to the backend stays open.
#[tokio::test]
async fn a_connection_to_a_backend_does_not_outlive_the_answer_that_it_was_accepted_by() {
    let folder = Folder::with_keys();
    let good = answer_about(&folder, "server", 'V');
    let (silent, _accepted) = silent_backend().await;
    let behind = stapling(&folder, good).await;
    let tls = format!(
        "ca = [\"ca.cert.pem\"], revocation = {{ responder = \"http://{silent}/\", max_age = \"4s\" }}"
    );
    let text = front(behind.port(), &format!("\"{silent}\""), &tls);
    let gateway = folder.gateway(&text).await;
    for _ in 0..2 {
        assert_eq!(status(&gateway).await, StatusCode::OK);
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(status(&gateway).await, StatusCode::BAD_GATEWAY);
}

/// A server of TLS that staples this answer.
async fn stapling(folder: &Folder, answer: Vec<u8>) -> SocketAddr {
    let server = server_identity(folder);
    let config = server
        .builder
        .with_single_cert_with_ocsp(server.chain, server.key, answer);
    let acceptor = TlsAcceptor::from(Arc::new(config.expect("they belong together")));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else {
                    return;
                };
                let service = service_fn(|_: Request<Incoming>| async {
                    let body = Full::new(Bytes::from_static(ENVELOPE.as_bytes()));
                    let mut response = Response::new(body);
                    let media = "text/xml".parse().expect("a value");
                    response.headers_mut().insert("content-type", media);
                    Ok::<_, hyper::Error>(response)
                });
                let serving = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service);
                // Whoever connects may go away.
                serving.await.ok();
            });
        }
    });
    address
}

/// What `openssl ocsp` answers about a certificate, in a file.
fn answer_about(folder: &Folder, name: &str, state: char) -> Vec<u8> {
    write_responder(folder, name, state);
    let run = |command: &mut Command| {
        let ran = command.current_dir(folder.path("")).output();
        let ran = ran.expect("openssl runs");
        assert!(ran.status.success(), "{ran:?}");
    };
    let certificate = format!("{name}.cert.pem");
    run(Command::new("openssl").args([
        "ocsp",
        "-issuer",
        "ca.cert.pem",
        "-cert",
        &certificate,
        "-no_nonce",
        "-reqout",
        "request.der",
    ]));
    run(Command::new("openssl").args([
        "ocsp",
        "-index",
        "index.txt",
        "-CA",
        "ca.cert.pem",
        "-rsigner",
        "responder.cert.pem",
        "-rkey",
        "responder.key.pem",
        "-nmin",
        "60",
        "-reqin",
        "request.der",
        "-respout",
        "response.der",
    ]));
    std::fs::read(folder.path("response.der")).expect("an answer")
}

/// Nobody can be asked in these: the host is silent.
async fn stapled(folder: &Folder, answer: Vec<u8>, rules: &str) -> StatusCode {
    let (silent, _accepted) = silent_backend().await;
    let behind = stapling(folder, answer).await;
    let tls = format!(
        "ca = [\"ca.cert.pem\"], revocation = {{ responder = \"http://{silent}/\"{rules} }}"
    );
    let text = front(behind.port(), &format!("\"{silent}\""), &tls);
    let gateway = folder.gateway(&text).await;
    status(&gateway).await
}

#[tokio::test]
async fn a_stapled_answer_counts_at_the_first_handshake() {
    let folder = Folder::with_keys();
    let good = answer_about(&folder, "server", 'V');
    assert_eq!(stapled(&folder, good.clone(), "").await, StatusCode::OK);
    // Nobody asked for it with a nonce.
    let found = stapled(&folder, good, ", nonce = \"required\"").await;
    assert_eq!(found, StatusCode::BAD_GATEWAY);
}

/// RFC 6066, 8: an answer that is not satisfactory ends the handshake, also where none would not.
#[tokio::test]
async fn a_stapled_answer_that_does_not_count_ends_the_handshake() {
    let folder = Folder::with_keys();
    let soft = ", fail = \"soft\"";
    let revoked = answer_about(&folder, "server", 'R');
    let of_another = answer_about(&folder, "client", 'V');
    let mut forged = answer_about(&folder, "server", 'V');
    let last = forged.len() - 1;
    forged[last] ^= 1;
    for (answer, what) in [
        (revoked, "revoked"),
        (of_another, "about another certificate"),
        (forged, "changed"),
        (b"nothing".to_vec(), "no answer"),
    ] {
        let found = stapled(&folder, answer, soft).await;
        assert_eq!(found, StatusCode::BAD_GATEWAY, "{what}");
    }
    assert_eq!(stapled(&folder, Vec::new(), soft).await, StatusCode::OK);
}

#[test]
fn what_cannot_be_asked_is_told_when_the_file_is_read() {
    let folder = Folder::with_keys();
    let read = |text: &str| {
        let config = Config::from_text(text, &folder.path("gateway.toml"), &|_| None);
        let problems = config.err().map(|problems| problems.to_string());
        problems.unwrap_or_default()
    };
    let route = "[[routes]]\npath = \"/echo\"\nbackend = \"https://localhost:9/echo\"\n";
    let dns = "[[routes]]\npath = \"/echo\"\n[routes.backends]\nsrv = \"https://_a._tcp.example.com/\"\n\
               networks = [\"10.0.0.0/8\"]\n";
    let hosts = "listen = \"127.0.0.1:0\"\nrevocation = { hosts = [\"ocsp.example.com\"] }\n";
    let plain = "listen = \"127.0.0.1:0\"\n";
    for (text, told) in [
        (
            format!(
                "{plain}{route}tls = {{ ca = [\"ca.cert.pem\"], revocation = {{ fail = \"hard\" }} }}\n"
            ),
            "asks whether certificates were revoked, and no host may be asked",
        ),
        (
            format!(
                "{hosts}{route}tls = {{ ca = [\"ca.cert.pem\"], revocation = {{ responder = \"http://other.example/\" }} }}\n"
            ),
            "names a host in `revocation` that may not be asked",
        ),
        (
            format!(
                "{plain}{dns}tls = {{ ca = [\"ca.cert.pem\"], revocation = {{ fail = \"soft\" }} }}\n"
            ),
            "asks whether certificates were revoked, and no host may be asked",
        ),
        (
            format!(
                "{hosts}{dns}tls = {{ ca = [\"ca.cert.pem\"], revocation = {{ responder = \"http://other.example/\" }} }}\n"
            ),
            "names a host in `revocation` that may not be asked",
        ),
        (
            format!(
                "{hosts}{route}tls = {{ pinned = [\"server.cert.pem\"], revocation = {{ fail = \"hard\" }} }}\n"
            ),
            "nobody can be asked whether `CN=server` was revoked",
        ),
        (
            format!(
                "{plain}tls = {{ {SERVER}, client_ca = \"ca.cert.pem\", revocation = {{ fail = \"hard\" }} }}\n{route}"
            ),
            "`tls` asks whether certificates were revoked, and no host may be asked",
        ),
        (
            format!("{hosts}tls = {{ {SERVER}, revocation = {{ fail = \"hard\" }} }}\n{route}"),
            "`revocation` is about the certificates of clients, and there is no `client_ca`",
        ),
        (
            format!(
                "{hosts}tls = {{ {SERVER}, client_ca = \"client.cert.pem\", revocation = {{ fail = \"hard\" }} }}\n{route}"
            ),
            "nobody can be asked whether `CN=client` was revoked",
        ),
    ] {
        let found = read(&text);
        assert!(found.contains(told), "{text}{found}");
    }
    for text in [
        format!(
            "{hosts}{route}tls = {{ pinned = [\"server.cert.pem\"], revocation = {{ fail = \"soft\" }} }}\n"
        ),
        format!(
            "{hosts}tls = {{ {SERVER}, client_ca = \"ca.cert.pem\", revocation = {{ fail = \"hard\" }} }}\n{route}"
        ),
    ] {
        assert_eq!(read(&text), "", "{text}");
    }
}
