//! TLS and mutual TLS, towards clients and towards backends.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WantsServerCert;
use rustls::{ConfigBuilder, ServerConfig};
use soapstone::crypto::Identity;
use soapstone::crypto::issue::{self, Template};
use soapstone_testkit::client_tls;
use soapstone_testkit::keys::{self, P256, RSA};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::support::{Backend, ENVELOPE, Folder, get, post, send, send_over, send_over_http2};

const TLS: &str = "tls = { certificate = \"server.cert.pem\", key = \"server.key.pem\" }";
const MUTUAL: &str = "tls = { certificate = \"server.cert.pem\", key = \"server.key.pem\", client_ca = \"ca.cert.pem\" }";

fn route(address: std::net::SocketAddr) -> String {
    format!("[[routes]]\npath = \"/echo\"\nbackend = \"http://{address}/echo\"\n")
}

/// What a server of TLS begins with, which asks no client for a certificate: the chain and the key
/// of `server`, and a configuration that lacks them.
pub(crate) fn server_identity(folder: &Folder) -> ServerIdentity {
    let read = |name: &str| std::fs::read(folder.path(name)).expect("a file");
    let chain = CertificateDer::pem_slice_iter(&read("server.cert.pem")).collect::<Result<_, _>>();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    ServerIdentity {
        chain: chain.expect("certificates"),
        key: PrivateKeyDer::from_pem_slice(&read("server.key.pem")).expect("a key"),
        builder: ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider has them")
            .with_no_client_auth(),
    }
}

/// See [`server_identity`].
pub(crate) struct ServerIdentity {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
    pub(crate) builder: ConfigBuilder<ServerConfig, WantsServerCert>,
}

pub(crate) async fn connect(
    address: std::net::SocketAddr,
    protocol: &[u8],
    with_certificate: bool,
) -> std::io::Result<TlsStream<TcpStream>> {
    let client = with_certificate.then(|| keys::identity("CN=client", RSA));
    connect_as(address, protocol, client.as_deref()).await
}

/// A connection with that certificate of a client.
pub(crate) async fn connect_as(
    address: std::net::SocketAddr,
    protocol: &[u8],
    client: Option<&Identity>,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut config = client_tls(client);
    config.alpn_protocols = vec![protocol.to_vec()];
    let stream = TcpStream::connect(address).await?;
    let name = ServerName::try_from("localhost").expect("a name");
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
}

#[tokio::test]
async fn plain_http_at_the_port_of_tls_is_answered_in_plain_words() {
    let mut backend = Backend::echo().await;
    let folder = Folder::with_keys();
    let gateway = folder
        .gateway(&format!("LISTEN\n{TLS}\n{}", route(backend.address)))
        .await;
    for request in [get("/healthz"), post("/echo", ENVELOPE)] {
        let answer = send(gateway.address(), request).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST);
        assert_eq!(
            answer.body,
            "this port speaks TLS, and the request came as plain HTTP: use https://\n"
        );
    }
    assert!(backend.seen.try_recv().is_err());
    // Clients of TLS are served as before.
    let stream = connect(gateway.address(), b"http/1.1", false).await;
    let stream = stream.expect("a handshake");
    let answer = send_over(stream, post("/echo", ENVELOPE)).await;
    assert_eq!(answer.expect("an answer").status, StatusCode::OK);
}

#[tokio::test]
async fn http11_and_http2_are_served_through_tls() {
    let mut backend = Backend::echo().await;
    let folder = Folder::with_keys();
    let gateway = folder
        .gateway(&format!("LISTEN\n{TLS}\n{}", route(backend.address)))
        .await;
    let stream = connect(gateway.address(), b"http/1.1", false)
        .await
        .expect("a handshake");
    let answer = send_over(stream, post("/echo", ENVELOPE))
        .await
        .expect("an answer");
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (StatusCode::OK, ENVELOPE)
    );
    assert_eq!(
        backend.seen.recv().await.expect("it arrived").headers["x-forwarded-proto"],
        "https"
    );

    let stream = connect(gateway.address(), b"h2", false)
        .await
        .expect("a handshake");
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let answer = send_over_http2(stream, post("https://localhost/echo", ENVELOPE))
        .await
        .expect("an answer");
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (StatusCode::OK, ENVELOPE)
    );
}

#[tokio::test]
async fn mutual_tls_serves_clients_with_a_certificate_and_no_others() {
    let mut backend = Backend::echo().await;
    let folder = Folder::with_keys();
    let gateway = folder
        .gateway(&format!("LISTEN\n{MUTUAL}\n{}", route(backend.address)))
        .await;
    let stream = connect(gateway.address(), b"http/1.1", true)
        .await
        .expect("a handshake");
    let answer = send_over(stream, post("/echo", ENVELOPE))
        .await
        .expect("an answer");
    assert_eq!(answer.status, StatusCode::OK);
    backend.seen.recv().await.expect("it arrived");

    // In TLS 1.3 a client learns only afterwards that its handshake was refused.
    if let Ok(stream) = connect(gateway.address(), b"http/1.1", false).await {
        send_over(stream, post("/echo", ENVELOPE))
            .await
            .expect_err("there is no answer");
    }
    assert!(backend.seen.try_recv().is_err());
}

/// What `openssl req -x509` makes: self-signed, and that of an authority.
fn self_signed(owner: &str, template: &Template) -> Identity {
    issue::self_signed(keys::key_of(owner, P256), template).expect("a certificate")
}

fn authority_template(name: &str) -> Template {
    Template::new("CN=backend", keys::validity())
        .expect("a name")
        .with_alternative_names([name])
        .for_authority()
}

#[tokio::test]
async fn a_backend_with_a_self_signed_certificate_is_reached_if_it_is_named_or_pinned() {
    let backend = Backend::echo().await;
    let folder = Folder::with_keys();
    for name in ["own", "other"] {
        folder.write_identity(name, &self_signed(name, &authority_template("localhost")));
    }
    let own = "tls = { certificate = \"own.cert.pem\", key = \"own.key.pem\" }";
    let server = folder
        .gateway(&format!("LISTEN\n{own}\n{}", route(backend.address)))
        .await;
    let port = server.address().port();
    for (tls, reached) in [
        ("ca = [\"own.cert.pem\"]", true),
        ("ca = [\"other.cert.pem\", \"own.cert.pem\"]", true),
        (
            "ca = [\"own.cert.pem\"], server_name = \"elsewhere\"",
            false,
        ),
        ("ca = [\"other.cert.pem\"]", false),
        ("pinned = [\"own.cert.pem\"]", true),
        (
            "pinned = [\"own.cert.pem\"], server_name = \"elsewhere\"",
            true,
        ),
        ("pinned = [\"other.cert.pem\"]", false),
        ("ca = [\"ca.cert.pem\"], pinned = [\"own.cert.pem\"]", true),
        (
            "ca = [\"ca.cert.pem\"], pinned = [\"other.cert.pem\"]",
            false,
        ),
    ] {
        let front = format!(
            "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"https://localhost:{port}/echo\"\ntls = {{ {tls} }}\n"
        );
        let gateway = folder.gateway(&front).await;
        let answer = send(gateway.address(), post("/echo", ENVELOPE)).await;
        let expected = if reached {
            StatusCode::OK
        } else {
            StatusCode::BAD_GATEWAY
        };
        assert_eq!(answer.status, expected, "{tls}: {}", answer.body);
    }
}

/// As `clients/13` has it for backends.
#[tokio::test]
async fn a_client_with_a_self_signed_certificate_is_served_if_it_is_named() {
    let backend = Backend::echo().await;
    let folder = Folder::with_keys();
    // RFC 5280, 4.2.1.12: id-kp-serverAuth, and no other purpose.
    let only_servers = [0x30, 0x0a, 0x06, 8, 0x2b, 6, 1, 5, 5, 7, 3, 1];
    let server =
        authority_template("client").with_extension(&[0x55, 0x1d, 0x25], false, &only_servers);
    for (name, template) in [
        ("own", &authority_template("client")),
        ("other", &authority_template("client")),
        ("server-alone", &server),
    ] {
        folder.write_identity(name, &self_signed(name, template));
    }
    for (named, shown, served) in [
        ("[\"own.cert.pem\"]", "own", true),
        ("[\"own.cert.pem\", \"other.cert.pem\"]", "other", true),
        ("\"other.cert.pem\"", "own", false),
        ("\"server-alone.cert.pem\"", "server-alone", false),
        ("\"ca.cert.pem\"", "own", false),
    ] {
        let server = folder
            .gateway(&format!(
                "LISTEN\n{}\n{}",
                MUTUAL.replace("\"ca.cert.pem\"", named),
                route(backend.address)
            ))
            .await;
        let port = server.address().port();
        let gateway = folder
            .gateway(&format!(
                "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"https://localhost:{port}/echo\"\n\
                 tls = {{ ca = [\"ca.cert.pem\"], certificate = \"{shown}.cert.pem\", key = \"{shown}.key.pem\" }}\n"
            ))
            .await;
        let answer = send(gateway.address(), post("/echo", ENVELOPE)).await;
        let expected = if served {
            StatusCode::OK
        } else {
            StatusCode::BAD_GATEWAY
        };
        assert_eq!(answer.status, expected, "{named}, {shown}: {}", answer.body);
    }
}

/// WS-SecurityPolicy 1.3, 5.4.10, and RFC 7617: the policy's user takes the place of the client's.
#[tokio::test]
async fn the_user_of_http_that_a_policy_demands_goes_to_the_backend() {
    const POLICY: &str = "<wsp:Policy xmlns:wsp='http://www.w3.org/ns/ws-policy' \
        xmlns:sp='http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702'><sp:TransportBinding><wsp:Policy>\
        <sp:TransportToken><wsp:Policy><sp:HttpsToken><wsp:Policy><sp:HttpBasicAuthentication/></wsp:Policy></sp:HttpsToken>\
        </wsp:Policy></sp:TransportToken><sp:AlgorithmSuite><wsp:Policy><sp:Basic256/></wsp:Policy></sp:AlgorithmSuite>\
        </wsp:Policy></sp:TransportBinding></wsp:Policy>";
    let backend = Backend::answering(|request| {
        let told = request.headers.get("authorization");
        let told = told.map_or("none", |value| value.to_str().expect("text"));
        let body = ENVELOPE.replace("hello", told);
        let mut response = Response::new(Full::new(Bytes::from(body)));
        let media_type = "text/xml".parse().expect("a value");
        response.headers_mut().insert("content-type", media_type);
        response
    })
    .await;
    let folder = Folder::with_keys();
    folder.write("policy.xml", POLICY);
    let server = folder
        .gateway(&format!("LISTEN\n{MUTUAL}\n{}", route(backend.address)))
        .await;
    let port = server.address().port();
    let front = |users: &str| {
        format!(
            "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"https://localhost:{port}/echo\"\n\
             tls = {{ ca = [\"ca.cert.pem\"], certificate = \"client.cert.pem\", key = \"client.key.pem\" }}\n\
             [routes.outbound]\n{users}\nsecurity = {{ policy = \"policy.xml\" }}\n"
        )
    };
    let alice = "users = [{ name = \"alice\", password = \"opens it\" }]";
    for (users, expected) in [
        (alice, "Basic YWxpY2U6b3BlbnMgaXQ="),
        ("", "Basic Ym9iOg=="),
    ] {
        let gateway = folder.gateway(&front(users)).await;
        let mut request = post("/echo", ENVELOPE);
        let own = "Basic Ym9iOg==".parse().expect("a value");
        request.headers_mut().insert("authorization", own);
        let answer = send(gateway.address(), request).await;
        assert!(answer.body.contains(expected), "{}", answer.body);
    }
}

#[tokio::test]
async fn a_backend_behind_https_is_checked_and_reached() {
    let backend = Backend::echo().await;
    let folder = Folder::with_keys();
    let server = folder
        .gateway(&format!("LISTEN\n{MUTUAL}\n{}", route(backend.address)))
        .await;
    let port = server.address().port();
    let front = |tls: &str| {
        format!(
            "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"https://localhost:{port}/echo\"\n{tls}\n"
        )
    };

    let certified = "tls = { ca = [\"ca.cert.pem\"], certificate = \"client.cert.pem\", key = \"client.key.pem\" }";
    let gateway = folder.gateway(&front(certified)).await;
    for _ in 0..2 {
        let answer = send(gateway.address(), post("/echo", ENVELOPE)).await;
        assert_eq!(
            (answer.status, answer.body.as_str()),
            (StatusCode::OK, ENVELOPE)
        );
    }

    let untrusting = folder.gateway(&front("")).await;
    assert_eq!(
        send(untrusting.address(), post("/echo", ENVELOPE))
            .await
            .status,
        StatusCode::BAD_GATEWAY
    );

    let other_name = "tls = { ca = [\"ca.cert.pem\"], certificate = \"client.cert.pem\", key = \"client.key.pem\", server_name = \"other.example\" }";
    let gateway = folder.gateway(&front(other_name)).await;
    assert_eq!(
        send(gateway.address(), post("/echo", ENVELOPE))
            .await
            .status,
        StatusCode::BAD_GATEWAY
    );
}

#[tokio::test]
async fn a_changed_certificate_is_shown_to_the_next_connection() {
    let backend = Backend::echo().await;
    let folder = Folder::with_keys();
    let text = format!("LISTEN\n{TLS}\n{}", route(backend.address));
    let gateway = folder.gateway(&text).await;
    let shown = async || {
        let stream = connect(gateway.address(), b"http/1.1", false)
            .await
            .expect("a handshake");
        let shown = stream
            .get_ref()
            .1
            .peer_certificates()
            .expect("it shows one");
        shown[0].to_vec()
    };
    let [server, client] = ["CN=server", "CN=client"].map(|name| keys::identity(name, RSA));
    assert_eq!(shown().await, server.certificate().der());
    folder.write_identity("server", &client);
    gateway.reload(folder.config(&text));
    assert_eq!(shown().await, client.certificate().der());
}

#[test]
fn a_key_that_is_not_the_certificates_is_reported() {
    let folder = Folder::with_keys();
    let text = "listen = \"127.0.0.1:0\"\ntls = { certificate = \"server.cert.pem\", key = \"client.key.pem\" }\n\
                [[routes]]\npath = \"/\"\nbackend = \"http://127.0.0.1:9/\"\n";
    let file = folder.path("gateway.toml");
    let problems = soapstone_gateway::Config::from_text(text, &file, &|_| None)
        .expect_err("they do not belong together");
    assert_eq!(
        problems.to_string(),
        format!(
            "{}:2:7: the certificate and the key cannot be used: keys may not be consistent: KeyMismatch\n    \
             hint: the key must be the one that the file's first certificate was issued for",
            file.display()
        )
    );
}

/// WS-SecurityPolicy 1.3, 5.4.10: `sp:RequireClientCertificate`.
#[tokio::test]
async fn a_policy_that_wants_a_client_certificate_is_not_met_without_one() {
    let mut backend = Backend::echo().await;
    let folder = Folder::with_keys();
    let recorded = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../interop/recorded/cxf/transport-username-Basic256/service.wsdl");
    let policy = std::fs::read_to_string(recorded).expect("a recorded policy");
    let wanting = policy.replace(
        "<sp:HttpsToken><wsp:Policy/></sp:HttpsToken>",
        "<sp:HttpsToken><wsp:Policy><sp:RequireClientCertificate/></wsp:Policy></sp:HttpsToken>",
    );
    assert_ne!(policy, wanting);
    folder.write("service.wsdl", &wanting);
    let tls = MUTUAL.replace(" }", ", client_auth = \"optional\" }");
    let gateway = folder
        .gateway(&format!(
            "LISTEN\n{tls}\n{}[routes.inbound]\nusers = [{{ name = \"alice\", password = \"secret\" }}]\n\
             security = {{ policy = \"service.wsdl\" }}\n",
            route(backend.address)
        ))
        .await;
    for (with_certificate, status) in [
        (false, StatusCode::FORBIDDEN),
        (true, StatusCode::INTERNAL_SERVER_ERROR),
    ] {
        let stream = connect(gateway.address(), b"http/1.1", with_certificate)
            .await
            .expect("a handshake");
        let answer = send_over(stream, post("/echo", ENVELOPE))
            .await
            .expect("an answer");
        assert_eq!(answer.status, status, "{}", answer.body);
        assert_eq!(
            answer.body.contains("wsse:InvalidSecurity"),
            with_certificate,
            "{}",
            answer.body
        );
    }
    assert!(backend.seen.try_recv().is_err());
}

#[tokio::test]
async fn a_handshake_that_does_not_go_on_does_not_keep_the_gateway_from_ending() {
    let backend = Backend::echo().await;
    let folder = Folder::with_keys();
    let gateway = folder
        .gateway(&format!("LISTEN\n{TLS}\n{}", route(backend.address)))
        .await;
    let mut client = TcpStream::connect(gateway.address())
        .await
        .expect("it listens");
    // The beginning of a record that does not come.
    client
        .write_all(b"\x16\x03\x01\x00\xc8\x01")
        .await
        .expect("it reads");
    // Until it has been accepted.
    while !send_over(
        connect(gateway.address(), b"http/1.1", false)
            .await
            .expect("a handshake"),
        get("/metrics"),
    )
    .await
    .expect("an answer")
    .body
    .contains("soapstone_connections 2\n")
    {}
    let begun = std::time::Instant::now();
    assert_eq!(gateway.shutdown().await, 0);
    let took = begun.elapsed();
    assert!(took < std::time::Duration::from_secs(5), "{took:?}");
}
