//! Who is let in at the admin listener: by certificate, by token, and by no page of another site.

use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, StatusCode};
use http_body_util::Full;
use jiff::Timestamp;
use soapstone::crypto::Identity;
use soapstone::crypto::issue::{self, Template, Validity};
use soapstone_gateway::{Config, Running};
use soapstone_testkit::keys::{self, P256};

use crate::support::{Answer, Backend, Folder, gateway_before, get, send, send_over};
use crate::tls::connect_as;

const TOKEN: &str = "5f0c9d3a7e1b4628a1d2c3b4e5f60718";

/// `admin` with TLS, an authority of clients, and the one who may ask.
fn admin(more: &str, of_tls: &str) -> String {
    format!(
        "admin = {{ listen = \"127.0.0.1:0\", subjects = [\"CN=client\"]{more}, tls = {{ certificate = \
         \"server.cert.pem\", key = \"server.key.pem\", client_ca = \"ca.cert.pem\"{of_tls} }} }}"
    )
}

async fn started(folder: &Folder, backend: &Backend, admin: &str) -> Running {
    folder.gateway(&text(backend, admin)).await
}

fn text(backend: &Backend, admin: &str) -> String {
    format!(
        "LISTEN\n{admin}\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n",
        backend.address
    )
}

/// The answer to a request; `None` where TLS was refused, which a client of TLS 1.3 learns late.
async fn asked(
    gateway: &Running,
    client: Option<&Identity>,
    request: Request<Full<bytes::Bytes>>,
) -> Option<Answer> {
    let address = gateway.admin_address().expect("it has one");
    let stream = connect_as(address, b"http/1.1", client).await.ok()?;
    send_over(stream, request).await.ok()
}

fn with_token(path: &str, token: &str) -> Request<Full<bytes::Bytes>> {
    let mut request = get(path);
    let value = HeaderValue::from_str(&format!("Bearer {token}")).expect("a value");
    request.headers_mut().insert(AUTHORIZATION, value);
    request
}

fn expired() -> Identity {
    let validity = Validity {
        not_before: Timestamp::now() - jiff::Span::new().hours(48),
        not_after: Timestamp::now() - jiff::Span::new().hours(24),
    };
    let template = Template::new("CN=client", validity).expect("a name");
    let authority = keys::authority(keys::AUTHORITY);
    issue::identity(&authority, P256, &template).expect("an identity")
}

const PATHS: [&str; 5] = [
    "/console",
    "/console/state",
    "/metrics",
    "/refused",
    "/backends",
];

#[tokio::test]
async fn only_the_named_holder_of_a_certificate_of_the_authority_is_let_in() {
    let (folder, backend) = (Folder::with_keys(), Backend::echo().await);
    let gateway = started(&folder, &backend, &admin("", "")).await;
    let client = keys::identity("CN=client", P256);
    let answer = asked(&gateway, Some(&client), get("/console/state")).await;
    assert_eq!(answer.expect("an answer").status, StatusCode::OK);
    // The right authority, and another name.
    let other = keys::identity("CN=clients", P256);
    for path in PATHS {
        let answer = asked(&gateway, Some(&other), get(path)).await;
        let answer = answer.expect("an answer");
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path}");
        assert_eq!(
            answer.body,
            "the client certificate is of nobody whom `admin.subjects` names\n"
        );
    }
    // The right name by another authority, an expired certificate, and none: no TLS at all.
    let forged = keys::identity_by("CN=another authority", "CN=client", P256);
    let expired = expired();
    for client in [Some(&*forged), Some(&expired), None] {
        let answer = asked(&gateway, client, get("/metrics")).await;
        assert!(answer.is_none(), "{answer:?}");
    }
    // Plain HTTP.
    let address = gateway.admin_address().expect("it has one");
    for path in PATHS {
        let plain = send(address, get(path)).await;
        assert_eq!(plain.status, StatusCode::BAD_REQUEST, "{path}");
        assert_eq!(
            plain.body,
            "this port speaks TLS, and the request came as plain HTTP: use https://\n"
        );
    }
}

#[tokio::test]
async fn a_demanded_certificate_and_a_token_are_both_needed() {
    let (folder, backend) = (Folder::with_keys(), Backend::echo().await);
    let more = format!(", token = \"{TOKEN}\"");
    let gateway = started(&folder, &backend, &admin(&more, "")).await;
    let client = keys::identity("CN=client", P256);
    let other = keys::identity("CN=other", P256);
    let status = async |client: &Identity, request| {
        let answer = asked(&gateway, Some(client), request).await;
        answer.expect("an answer").status
    };
    assert_eq!(
        status(&client, get("/metrics")).await,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(
        status(&client, with_token("/metrics", &TOKEN[1..])).await,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(
        status(&other, with_token("/metrics", TOKEN)).await,
        StatusCode::FORBIDDEN
    );
    assert_eq!(
        status(&client, with_token("/metrics", TOKEN)).await,
        StatusCode::OK
    );
}

#[tokio::test]
async fn an_optional_certificate_is_as_good_as_the_token_and_another_is_not() {
    let (folder, backend) = (Folder::with_keys(), Backend::echo().await);
    let more = format!(", token = \"{TOKEN}\"");
    let admin = admin(&more, ", client_auth = \"optional\"");
    let gateway = started(&folder, &backend, &admin).await;
    let client = keys::identity("CN=client", P256);
    let other = keys::identity("CN=other", P256);
    let status = async |client: Option<&Identity>, request| {
        let answer = asked(&gateway, client, request).await;
        answer.expect("an answer").status
    };
    assert_eq!(status(Some(&client), get("/metrics")).await, StatusCode::OK);
    assert_eq!(
        status(None, with_token("/metrics", TOKEN)).await,
        StatusCode::OK
    );
    assert_eq!(
        status(None, get("/metrics")).await,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(
        status(Some(&other), get("/metrics")).await,
        StatusCode::FORBIDDEN
    );
    assert_eq!(
        status(Some(&other), with_token("/metrics", &TOKEN[1..])).await,
        StatusCode::UNAUTHORIZED
    );
    // Health is for load balancers.
    assert_eq!(status(None, get("/healthz")).await, StatusCode::OK);
}

#[tokio::test]
async fn a_reload_lets_others_in_and_ends_what_former_connections_were_let_in_by() {
    let (folder, backend) = (Folder::with_keys(), Backend::echo().await);
    let gateway = started(&folder, &backend, &admin("", "")).await;
    let client = keys::identity("CN=client", P256);
    let other = keys::identity("CN=other", P256);
    let address = gateway.admin_address().expect("it has one");
    let former = connect_as(address, b"http/1.1", Some(&client))
        .await
        .expect("TLS");
    let others = keys::authority("CN=another authority");
    folder.write("other.pem", others.certificate().to_pem());
    let changed = admin("", "").replace("CN=client", "CN=other");
    let wider = changed.replace("\"ca.cert.pem\"", "[\"ca.cert.pem\", \"other.pem\"]");
    gateway.reload(folder.config(&text(&backend, &wider)));
    let answer = send_over(former, get("/metrics")).await.expect("an answer");
    assert_eq!(answer.status, StatusCode::MISDIRECTED_REQUEST);
    assert_eq!(
        answer.body,
        "`admin` has changed since this connection was made: connect again\n"
    );
    let answer = asked(&gateway, Some(&client), get("/metrics")).await;
    assert_eq!(answer.expect("an answer").status, StatusCode::FORBIDDEN);
    let answer = asked(&gateway, Some(&other), get("/metrics")).await;
    assert_eq!(answer.expect("an answer").status, StatusCode::OK);
}

/// Of HTTP/2, where no field of an answer ends the connection.
#[tokio::test]
async fn a_kept_connection_is_served_after_a_reload_and_ends_after_another_authority() {
    let (folder, backend) = (Folder::with_keys(), Backend::echo().await);
    let gateway = started(&folder, &backend, &admin("", "")).await;
    let client = keys::identity("CN=client", P256);
    let address = gateway.admin_address().expect("it has one");
    let kept = connect_as(address, b"h2", Some(&client))
        .await
        .expect("TLS");
    let executor = hyper_util::rt::TokioExecutor::new();
    let io = hyper_util::rt::TokioIo::new(kept);
    let (mut sender, connection) = hyper::client::conn::http2::handshake(executor, io)
        .await
        .expect("HTTP/2");
    let ended = tokio::spawn(connection);
    let url = "https://localhost/metrics";
    let status = sender.send_request(get(url)).await.map(|it| it.status());
    assert_eq!(status.expect("an answer"), StatusCode::OK);
    // Nothing has changed.
    gateway.reload(folder.config(&text(&backend, &admin("", ""))));
    let status = sender.send_request(get(url)).await.map(|it| it.status());
    assert_eq!(status.expect("an answer"), StatusCode::OK);
    // Others may ask: that is seen with each request.
    let changed = admin("", "").replace("CN=client", "CN=other");
    gateway.reload(folder.config(&text(&backend, &changed)));
    let status = sender.send_request(get(url)).await.map(|it| it.status());
    assert_eq!(status.expect("an answer"), StatusCode::FORBIDDEN);
    let others = keys::authority("CN=another authority");
    folder.write("other.pem", others.certificate().to_pem());
    let wider = admin("", "").replace("\"ca.cert.pem\"", "[\"ca.cert.pem\", \"other.pem\"]");
    gateway.reload(folder.config(&text(&backend, &wider)));
    let ended = tokio::time::timeout(std::time::Duration::from_secs(10), ended).await;
    assert!(ended.is_ok(), "the connection is kept");
    let again = asked(&gateway, Some(&client), get("/metrics")).await;
    assert_eq!(again.expect("an answer").status, StatusCode::OK);
}

#[test]
fn a_table_that_would_let_in_others_is_refused() {
    let folder = Folder::with_keys();
    let tls = "certificate = \"server.cert.pem\", key = \"server.key.pem\"";
    let mutual = format!("{tls}, client_ca = \"ca.cert.pem\"");
    let optional = format!("{mutual}, client_auth = \"optional\"");
    for (more, expected) in [
        (
            format!("tls = {{ {mutual} }}"),
            "`client_ca` needs `subjects`: an authority issues certificates for others, too",
        ),
        (
            format!("tls = {{ {tls} }}, subjects = [\"CN=client\"]"),
            "`subjects` needs `client_ca` in `tls`",
        ),
        (
            "subjects = [\"CN=client\"]".to_owned(),
            "`subjects` needs certificates, and the listener speaks no TLS",
        ),
        (
            format!("tls = {{ {mutual} }}, subjects = []"),
            "`subjects` names nobody",
        ),
        (
            format!("tls = {{ {mutual} }}, subjects = [\"client\"]"),
            "a subject of a certificate must be a distinguished name",
        ),
        (
            format!("tls = {{ {optional} }}, subjects = [\"CN=client\"]"),
            "optional certificates need a token for whoever shows none",
        ),
    ] {
        let text = format!(
            "listen = \"127.0.0.1:0\"\nadmin = {{ listen = \"127.0.0.1:9901\", {more} }}\n\
             [[routes]]\npath = \"/\"\nbackend = \"http://127.0.0.1:9/\"\n"
        );
        let problems = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        let problems = problems.map(drop).expect_err(expected).to_string();
        assert!(problems.contains(expected), "{problems}");
    }
}

/// Fetch Metadata Request Headers, 2.1: a browser says whose page asks.
#[tokio::test]
async fn what_a_page_of_another_site_has_a_browser_ask_is_refused() {
    let backend = Backend::echo().await;
    let admin = format!("admin = {{ listen = \"127.0.0.1:0\", token = \"{TOKEN}\" }}");
    let gateway = gateway_before(backend.address, &admin).await;
    let address = gateway.admin_address().expect("it has one");
    let asked = async |path: &str, site: &'static str| {
        let mut request = with_token(path, TOKEN);
        let headers = request.headers_mut();
        headers.insert("sec-fetch-site", HeaderValue::from_static(site));
        send(address, request).await
    };
    for site in ["cross-site", "same-site"] {
        for path in [
            "/console/state",
            "/console/events",
            "/console/explained/p-r1",
            "/metrics",
            "/backends",
        ] {
            let answer = asked(path, site).await;
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path}, {site}");
            assert_eq!(
                answer.body,
                "a page of another site asks: `admin` answers its own alone\n"
            );
        }
        // A link to the page is followed.
        assert_eq!(asked("/console", site).await.status, StatusCode::OK);
    }
    for site in ["same-origin", "none"] {
        let answer = asked("/console/state", site).await;
        assert_eq!(answer.status, StatusCode::OK, "{site}");
        assert!(!answer.headers.contains_key("set-cookie"));
        assert!(!answer.headers.contains_key("access-control-allow-origin"));
        let policy = answer.headers["content-security-policy"].to_str();
        let policy = policy.expect("text");
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    }
}

#[tokio::test]
async fn a_name_that_a_stranger_points_here_opens_no_console() {
    let backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "admin = \"127.0.0.1:0\"").await;
    let address = gateway.admin_address().expect("it has one");
    let asked = async |path: &str, host: &'static str| {
        let mut request = get(path);
        let headers = request.headers_mut();
        headers.insert("host", HeaderValue::from_static(host));
        send(address, request).await.status
    };
    for path in [
        "/",
        "/console/state",
        "/console/explained/p-r1",
        "/refused",
        "/refused/p-r1",
        "/backends",
        "/candidates",
        "/agreements",
        "/operations",
        "/elsewhere",
    ] {
        let status = asked(path, "rebound.example:9901").await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{path}");
    }
    for host in ["127.0.0.1:9901", "localhost:9901", "[::1]:9901"] {
        assert_eq!(
            asked("/console/state", host).await,
            StatusCode::OK,
            "{host}"
        );
    }
    // Prometheus and load balancers ask by name, and what they read names no message.
    for path in ["/metrics", "/healthz"] {
        assert_eq!(asked(path, "gateway-0:9901").await, StatusCode::OK);
    }
}
