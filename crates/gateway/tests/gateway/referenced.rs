//! Assertions that messages only name: fetched from the authorities of the file, and from nowhere
//! else. The authority is a server of TLS that the test runs.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use soapstone_gateway::{Config, Running};
use soapstone_testkit::assertion::{Assertion, ID, Made};
use soapstone_testkit::{envelope, keys};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::support::{
    Answer, Backend, Folder, free_address, post, reason, send_over, silent_backend, soon,
};
use crate::tls::connect;

const AUDIENCE: &str = "https://books.example";

/// What an authority answers: for the path with its query, and the body.
type Answering = dyn Fn(&str, &str) -> Response<Full<Bytes>> + Send + Sync;

/// An authority of assertions.
struct Authority {
    address: SocketAddr,
    /// The paths that it was asked, with their queries.
    asked: Arc<Mutex<Vec<String>>>,
    serving: tokio::task::JoinHandle<()>,
}

impl Authority {
    async fn start(
        folder: &Folder,
        answer: impl Fn(&str, &str) -> Response<Full<Bytes>> + Send + Sync + 'static,
    ) -> Self {
        let read = |name: &str| std::fs::read(folder.path(name)).expect("a file");
        let chain = read("server.cert.pem");
        let chain = CertificateDer::pem_slice_iter(&chain).collect::<Result<_, _>>();
        let key = PrivateKeyDer::from_pem_slice(&read("server.key.pem")).expect("a key");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider has them")
            .with_no_client_auth()
            .with_single_cert(chain.expect("certificates"), key);
        let acceptor = TlsAcceptor::from(Arc::new(config.expect("they belong together")));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let answer: Arc<Answering> = Arc::new(answer);
        let noted = Arc::clone(&asked);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, answer) = (acceptor.clone(), Arc::clone(&answer));
                let noted = Arc::clone(&noted);
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else {
                        return;
                    };
                    let service = service_fn(|request: Request<Incoming>| {
                        let (answer, noted) = (Arc::clone(&answer), Arc::clone(&noted));
                        async move {
                            let target = request.uri().path_and_query();
                            let target = target.map(ToString::to_string).unwrap_or_default();
                            noted.lock().expect("no panic").push(target.clone());
                            let body = request.into_body().collect().await?.to_bytes();
                            let body = String::from_utf8_lossy(&body).into_owned();
                            Ok::<_, hyper::Error>(answer(&target, &body))
                        }
                    });
                    let serving = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service);
                    // Whoever connects may go away.
                    serving.await.ok();
                });
            }
        });
        Self {
            address,
            asked,
            serving,
        }
    }

    /// One that has this document, whatever is asked.
    async fn with(folder: &Folder, document: String) -> Self {
        Self::start(folder, move |_, _| found(document.clone())).await
    }

    fn url(&self) -> String {
        format!("https://localhost:{}/assertions", self.address.port())
    }

    fn times(&self) -> usize {
        self.asked.lock().expect("no panic").len()
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn found(document: String) -> Response<Full<Bytes>> {
    Response::new(Full::new(Bytes::from(document)))
}

fn answered(status: StatusCode, location: &str) -> Response<Full<Bytes>> {
    let mut response = found(String::new());
    *response.status_mut() = status;
    let location = location.parse().expect("a value");
    response.headers_mut().insert("location", location);
    response
}

/// An assertion for whoever brings it, or for the holder of the client's key.
fn assertion(is_20: bool, by_key: bool, made: &Made<'_>) -> String {
    let client = keys::identity("CN=client", keys::RSA);
    let assertion = Assertion {
        is_20,
        method: if by_key { "holder-of-key" } else { "bearer" },
        holder: by_key.then(|| client.certificate()),
        audience: Some(AUDIENCE),
        attributes: &[("role", "reader")],
    };
    assertion.made("alice", &keys::identity("CN=idp", keys::RSA), made)
}

fn bearer() -> String {
    assertion(true, false, &Made::default())
}

fn folder() -> Folder {
    let folder = Folder::with_keys();
    folder.write_identity("idp", &keys::identity("CN=idp", keys::RSA));
    folder
}

/// A gateway whose clients name assertions at these authorities.
async fn gateway(folder: &Folder, backend: &Backend, authorities: &str, more: &str) -> Running {
    folder
        .gateway(&file(backend.address, authorities, more))
        .await
}

fn file(backend: SocketAddr, authorities: &str, more: &str) -> String {
    let clients = match more.contains("holder-of-key") {
        true => ", client_ca = \"ca.cert.pem\"",
        false => "",
    };
    format!(
        "LISTEN\ntls = {{ certificate = \"server.cert.pem\", key = \"server.key.pem\"{clients} }}\n\
         [[routes]]\npath = \"/echo\"\nbackend = \"http://{backend}/echo\"\n\
         [routes.identity]\nsubject = \"X-Subject\"\n{}",
        inbound(authorities, more)
    )
}

fn inbound(authorities: &str, more: &str) -> String {
    let confirmation = match more.contains("confirmation") {
        true => "",
        false => "confirmation = [\"bearer\"]\n",
    };
    let bearer = match more.contains("confirmation") {
        true => "",
        false => "allow_bearer = true\n",
    };
    format!(
        "[routes.inbound.saml]\naudience = [\"{AUDIENCE}\"]\n{confirmation}{more}\n\
         issuers = [{{ name = \"https://idp.example\", pinned = [\"idp.cert.pem\"] }}]\n\
         [routes.inbound.saml.by_reference]\nauthorities = [{authorities}]\n\
         {bearer}timeout = \"2s\"\ntls = {{ ca = [\"ca.cert.pem\"] }}\n\
         [routes.inbound.security]\nmechanism = \"none\"\n"
    )
}

/// A reference to an assertion of SAML 2.0 (SAML Token Profile 1.1.1, 3.3).
fn reference(uri: &str) -> String {
    format!(
        "<wsse:SecurityTokenReference xmlns:wsse11=\"http://docs.oasis-open.org/wss/oasis-wss-wssecurity-secext-1.1.xsd\" wsse11:TokenType=\"http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.1#SAMLV2.0\"><wsse:Reference URI=\"{uri}\"/></wsse:SecurityTokenReference>"
    )
}

/// A reference to an assertion of SAML 1.1 (Basic Security Profile 1.1, R6607).
fn binding(location: &str, id: &str) -> String {
    format!(
        "<wsse:SecurityTokenReference><saml:AuthorityBinding xmlns:saml=\"urn:oasis:names:tc:SAML:1.0:assertion\" AuthorityKind=\"saml:AssertionIDReference\" Location=\"{location}\" Binding=\"urn:oasis:names:tc:SAML:1.0:bindings:SOAP-binding\"/><wsse:KeyIdentifier ValueType=\"http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.0#SAMLAssertionID\">{id}</wsse:KeyIdentifier></wsse:SecurityTokenReference>"
    )
}

fn message(reference: &str) -> String {
    let header = format!(
        "<wsse:Security xmlns:wsse=\"{}\">{reference}</wsse:Security>",
        soapstone::wss::names::WSSE
    );
    envelope::with_header(soapstone::wss::names::SOAP11, &header, "<a/>")
}

async fn asked(gateway: &Running, reference: &str) -> Answer {
    asked_by(gateway, reference, false).await
}

async fn asked_by(gateway: &Running, reference: &str, with_certificate: bool) -> Answer {
    let stream = connect(gateway.address(), b"http/1.1", with_certificate).await;
    let stream = stream.expect("a handshake");
    let request = post("/echo", message(reference));
    let answer = soon("an answer", send_over(stream, request)).await;
    answer.expect("an answer")
}

fn quoted(url: &str) -> String {
    format!("\"{url}\"")
}

fn named(url: &str) -> String {
    reference(&format!("{url}?ID={ID}"))
}

/// SAML Bindings 2.0, 3.7.
#[tokio::test]
async fn a_named_assertion_is_fetched_once_and_kept() {
    let folder = folder();
    let mut backend = Backend::echo().await;
    let authority = Authority::with(&folder, bearer()).await;
    let gateway = gateway(&folder, &backend, &quoted(&authority.url()), "").await;
    for _ in 0..3 {
        let answer = asked(&gateway, &named(&authority.url())).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let seen = backend.seen.recv().await.expect("a request");
        assert_eq!(seen.headers["x-subject"], "alice");
    }
    let paths = authority.asked.lock().expect("no panic").clone();
    assert_eq!(paths, [format!("/assertions?ID={ID}")]);
    // What is kept goes on while the authority is away.
    let url = authority.url();
    drop(authority);
    let answer = asked(&gateway, &named(&url)).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
}

/// SAML Bindings 1.1, 3.1, and SAML Core 1.1, 3.2.
#[tokio::test]
async fn an_authority_of_saml_11_is_asked_in_its_protocol() {
    let folder = folder();
    let mut backend = Backend::echo().await;
    let authority = Authority::start(&folder, |_, request| {
        let id = request.split("RequestID=\"").nth(1);
        let id = id
            .and_then(|rest| rest.split('"').next())
            .unwrap_or_default();
        assert!(
            request.contains(&format!(">{ID}</saml:AssertionIDReference>")),
            "{request}"
        );
        found(response(
            id,
            "samlp:Success",
            &assertion(false, false, &Made::default()),
        ))
    });
    let authority = authority.await;
    let gateway = gateway(
        &folder,
        &backend,
        &quoted(&authority.url()),
        "versions = [\"1.1\"]",
    )
    .await;
    for _ in 0..2 {
        let answer = asked(&gateway, &binding(&authority.url(), ID)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let seen = backend.seen.recv().await.expect("a request");
        assert_eq!(seen.headers["x-subject"], "alice");
    }
    assert_eq!(authority.times(), 1);
}

fn response(request: &str, status: &str, assertion: &str) -> String {
    format!(
        "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body><samlp:Response xmlns:samlp=\"urn:oasis:names:tc:SAML:1.0:protocol\" InResponseTo=\"{request}\" IssueInstant=\"2026-01-01T00:00:00Z\" MajorVersion=\"1\" MinorVersion=\"1\" ResponseID=\"_response\"><samlp:Status><samlp:StatusCode Value=\"{status}\"/></samlp:Status>{assertion}</samlp:Response></s:Body></s:Envelope>"
    )
}

/// SAML Token Profile 1.1.1, 3.5.1: the holder's key was shown by the connection.
#[tokio::test]
async fn a_named_assertion_wants_its_holder_as_one_that_is_carried() {
    let folder = folder();
    let backend = Backend::echo().await;
    let authority = Authority::with(&folder, assertion(true, true, &Made::default())).await;
    let more = "confirmation = [\"holder-of-key\"]";
    let gateway = gateway(&folder, &backend, &quoted(&authority.url()), more).await;
    let answer = asked_by(&gateway, &named(&authority.url()), true).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let other = keys::identity("CN=other", keys::RSA);
    let stolen = Assertion {
        is_20: true,
        method: "holder-of-key",
        holder: Some(other.certificate()),
        audience: Some(AUDIENCE),
        attributes: &[],
    };
    let idp = keys::identity("CN=idp", keys::RSA);
    let authority = Authority::with(&folder, stolen.about("alice", &idp)).await;
    let gateway = folder
        .gateway(&file(backend.address, &quoted(&authority.url()), more))
        .await;
    let answer = asked_by(&gateway, &named(&authority.url()), true).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(authority.times(), 1);
}

/// Server-side request forgery (CWE-918): no address of a message is asked that the file does not
/// have.
#[tokio::test]
async fn no_message_leads_to_another_address() {
    let folder = folder();
    let mut backend = Backend::echo().await;
    let authority = Authority::with(&folder, bearer()).await;
    let port = authority.address.port();
    let below = format!("https://localhost:{port}/below/");
    let both = format!("\"{}\", \"{below}\"", authority.url());
    let gateway = gateway(&folder, &backend, &both, "").await;
    for base in [
        format!("https://127.0.0.1:{port}/assertions"),
        format!("https://LOCALHOST:{port}/assertions"),
        format!("https://localhost.evil.example:{port}/assertions"),
        format!("https://localhost:{port}@evil.example/assertions"),
        format!("https://evil.example/https://localhost:{port}/assertions"),
        format!("https://localhost:{port}/assertions/more"),
        format!("https://localhost:{port}/assertionsmore"),
        format!("https://localhost:{port}/"),
        format!("http://localhost:{port}/assertions"),
        format!("file:///localhost:{port}/assertions"),
        format!("{below}../admin"),
        format!("{below}%2e%2e/admin"),
        format!("{below}..;/admin"),
        format!("https://localhost:{port}1/assertions"),
    ] {
        let answer = asked(&gateway, &named(&base)).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR, "{base}");
    }
    assert_eq!(authority.times(), 0);
    assert!(backend.seen.try_recv().is_err());
    let answer = asked(&gateway, &named(&format!("{below}a"))).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
}

/// Whatever comes is judged as an assertion that the message carries, and is the one that was
/// named. The peer is told one thing of all of it, and nothing is asked for again at once.
#[tokio::test]
async fn what_is_not_the_named_assertion_lets_nobody_in() {
    let folder = folder();
    let mut backend = Backend::echo().await;
    let other = Made {
        id: "_other",
        ..Made::default()
    };
    let ended = Made {
        begin: -900,
        end: -600,
        ..Made::default()
    };
    let good = bearer();
    let strangers = Assertion {
        is_20: true,
        method: "bearer",
        holder: None,
        audience: Some(AUDIENCE),
        attributes: &[],
    };
    let strangers = strangers.about("alice", &keys::identity("CN=other", keys::RSA));
    let two = format!("<two>{good}{}</two>", assertion(true, false, &other));
    // The id that was named stands around another assertion (assertion swap).
    let swapped = format!("<x ID=\"{ID}\">{}</x>", assertion(true, false, &other));
    let documents = [
        assertion(true, false, &other),
        assertion(true, false, &ended),
        assertion(false, false, &Made::default()),
        good.replace("alice", "admin"),
        strangers,
        two,
        swapped,
        good.replacen("ID=\"_assertion\"", "ID=\"_evil\"", 1),
        format!("<!DOCTYPE a [<!ENTITY b \"c\">]>{good}"),
        format!("{good}<!--{}-->", "x".repeat(200 << 10)),
        response("_a", "samlp:Success", &good),
        "<a/>".to_owned(),
        String::new(),
    ];
    let mut told = Vec::new();
    for (at, document) in documents.into_iter().enumerate() {
        let authority = Authority::with(&folder, document).await;
        let gateway = folder
            .gateway(&file(backend.address, &quoted(&authority.url()), ""))
            .await;
        for _ in 0..3 {
            let answer = asked(&gateway, &named(&authority.url())).await;
            assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR, "{at}");
            told.push(reason(&answer.body).to_owned());
        }
        assert_eq!(authority.times(), 1, "{at}");
        assert!(gateway.metrics().contains("assertion-unavailable"), "{at}");
    }
    told.dedup();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(backend.seen.try_recv().is_err());
}

/// A redirection, a failure and an answer to another request of SAML 1.1 give nothing.
#[tokio::test]
async fn no_answer_leads_elsewhere() {
    let folder = folder();
    let backend = Backend::echo().await;
    let elsewhere = Authority::with(&folder, bearer()).await;
    let to = format!("{}?ID={ID}", elsewhere.url());
    for status in [
        StatusCode::FOUND,
        StatusCode::TEMPORARY_REDIRECT,
        StatusCode::NOT_FOUND,
    ] {
        let to = to.clone();
        let authority = Authority::start(&folder, move |_, _| answered(status, &to)).await;
        // Both are allowed: it is the redirection that is refused.
        let both = format!("\"{}\", \"{}\"", authority.url(), elsewhere.url());
        let gateway = folder.gateway(&file(backend.address, &both, "")).await;
        let answer = asked(&gateway, &named(&authority.url())).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!((authority.times(), elsewhere.times()), (1, 0));
    }
    for (right_id, code) in [
        (false, "samlp:Success"),
        (true, "samlp:Responder"),
        (true, "Success"),
    ] {
        let authority = Authority::start(&folder, move |_, request| {
            let id = request.split("RequestID=\"").nth(1);
            let id = id
                .and_then(|rest| rest.split('"').next())
                .filter(|_| right_id);
            let assertion = assertion(false, false, &Made::default());
            found(response(id.unwrap_or("_before"), code, &assertion))
        });
        let authority = authority.await;
        let text = file(
            backend.address,
            &quoted(&authority.url()),
            "versions = [\"1.1\"]",
        );
        let gateway = folder.gateway(&text).await;
        let answer = asked(&gateway, &binding(&authority.url(), ID)).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR, "{code}");
    }
}

/// SAML Core 2.0, 2.5.1.5: an assertion for one use is not kept, and is used once.
#[tokio::test]
async fn an_assertion_for_one_use_is_accepted_once() {
    let folder = folder();
    let backend = Backend::echo().await;
    let once = Made {
        once: true,
        ..Made::default()
    };
    let authority = Authority::with(&folder, assertion(true, false, &once)).await;
    let gateway = gateway(&folder, &backend, &quoted(&authority.url()), "").await;
    let first = asked(&gateway, &named(&authority.url())).await;
    assert_eq!(first.status, StatusCode::OK, "{}", first.body);
    let second = asked(&gateway, &named(&authority.url())).await;
    assert_eq!(second.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(authority.times(), 2);
}

/// What is kept is kept until it ends. Afterwards it is asked for, and has ended.
#[tokio::test]
async fn no_assertion_is_kept_after_its_end() {
    let folder = folder();
    let backend = Backend::echo().await;
    let short = Made {
        end: 3,
        ..Made::default()
    };
    let authority = Authority::with(&folder, assertion(true, false, &short)).await;
    let gateway = gateway(
        &folder,
        &backend,
        &quoted(&authority.url()),
        "skew = \"1s\"",
    )
    .await;
    let first = asked(&gateway, &named(&authority.url())).await;
    assert_eq!(first.status, StatusCode::OK, "{}", first.body);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let late = asked(&gateway, &named(&authority.url())).await;
    assert_eq!(late.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(authority.times(), 2);
}

/// What one route has fetched, and its issuers vouch for, is unknown to another route.
#[tokio::test]
async fn routes_share_no_assertions() {
    let folder = folder();
    let backend = Backend::echo().await;
    let authority = Authority::with(&folder, bearer()).await;
    let url = authority.url();
    let other = inbound(&quoted(&url), "").replace("https://idp.example", "https://other.example");
    let text = format!(
        "{}[[routes]]\npath = \"/other\"\nbackend = \"http://{}/echo\"\n{other}",
        file(backend.address, &quoted(&url), ""),
        backend.address
    );
    let gateway = folder.gateway(&text).await;
    let answer = asked(&gateway, &named(&url)).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let stream = connect(gateway.address(), b"http/1.1", false).await;
    let request = post("/other", message(&named(&url)));
    let answer = send_over(stream.expect("a handshake"), request).await;
    let status = answer.expect("an answer").status;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(authority.times(), 2);
}

/// Amplification: strangers make the gateway ask so often, and no more.
#[tokio::test]
async fn questions_in_a_second_are_bounded() {
    let folder = folder();
    let backend = Backend::echo().await;
    let authority = Authority::with(&folder, bearer()).await;
    let text = file(backend.address, &quoted(&authority.url()), "");
    let text = text.replace(
        "timeout = \"2s\"",
        "timeout = \"2s\"\nper_second = 1\nat_once = 1",
    );
    let gateway = folder.gateway(&text).await;
    let messages = (0..20).map(|at| {
        let reference = reference(&format!("{}?ID=_{at}", authority.url()));
        let gateway = &gateway;
        async move { asked(gateway, &reference).await.status }
    });
    let began = std::time::Instant::now();
    for one in messages {
        assert_eq!(one.await, StatusCode::INTERNAL_SERVER_ERROR);
    }
    let seconds = usize::try_from(began.elapsed().as_secs()).expect("a few");
    assert!(
        authority.times() <= seconds + 2,
        "{} in {seconds} s",
        authority.times()
    );
}

/// An authority that hangs or is away ends with a refusal, whose reason the operator has. It may
/// come back.
#[tokio::test]
async fn an_authority_that_is_away_or_slow_stops_nobody_for_long() {
    let folder = folder();
    let backend = Backend::echo().await;
    let (silent, _accepted) = silent_backend().await;
    let slow = format!("https://localhost:{}/a", silent.port());
    let away = format!("https://localhost:{}/a", free_address().port());
    let authority = Authority::with(&folder, bearer()).await;
    let all = format!("\"{slow}\", \"{away}\", \"{}\"", authority.url());
    let text = file(backend.address, &all, "").replace("timeout = \"2s\"", "timeout = \"200ms\"");
    let gateway = folder.gateway(&text).await;
    for url in [&slow, &away] {
        let answer = asked(&gateway, &named(url)).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR, "{url}");
    }
    assert!(gateway.metrics().contains("assertion-unavailable"));
    let text = text.replace("200ms", "10s");
    gateway.reload(folder.config(&text));
    let answer = asked(&gateway, &named(&authority.url())).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
}

/// Each message that waits has a thread: those above the bound are refused at once.
#[tokio::test]
async fn few_messages_wait_for_one_question() {
    let folder = folder();
    let backend = Backend::echo().await;
    let authority = Authority::start(&folder, |_, _| {
        std::thread::sleep(Duration::from_millis(1_500));
        found(bearer())
    });
    let authority = authority.await;
    let gateway = gateway(&folder, &backend, &quoted(&authority.url()), "").await;
    let reference = named(&authority.url());
    let (address, message) = (gateway.address(), message(&reference));
    let mut messages = tokio::task::JoinSet::new();
    for _ in 0..40 {
        let message = message.clone();
        messages.spawn(async move {
            let stream = connect(address, b"http/1.1", false).await;
            let sent = send_over(stream.expect("a handshake"), post("/echo", message));
            sent.await.expect("an answer").status
        });
    }
    let answers = messages.join_all().await;
    let accepted = answers.iter().filter(|status| **status == StatusCode::OK);
    let accepted = accepted.count();
    // The one that asks, and those that may wait; a late one finds it kept.
    assert!((1..40).contains(&accepted), "{accepted} of 40");
    assert_eq!(authority.times(), 1);
}

/// A message chooses the place below an entry, and fills nothing by that.
#[tokio::test]
async fn one_assertion_is_kept_for_few_places() {
    let folder = folder();
    let backend = Backend::echo().await;
    let authority = Authority::with(&folder, bearer()).await;
    let below = format!("https://localhost:{}/below/", authority.address.port());
    let gateway = gateway(&folder, &backend, &quoted(&below), "").await;
    let ask = async |place: usize| {
        let answer = asked(&gateway, &named(&format!("{below}{place}"))).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    };
    for place in 0..6 {
        ask(place).await;
    }
    assert_eq!(authority.times(), 6);
    for place in 0..6 {
        ask(place).await;
    }
    assert!(authority.times() >= 8, "{}", authority.times());
}

/// Messages that name one assertion at once wait for one question.
#[tokio::test]
async fn one_question_serves_all_who_wait() {
    let folder = folder();
    let backend = Backend::echo().await;
    let authority = Authority::start(&folder, |_, _| {
        std::thread::sleep(Duration::from_millis(300));
        found(bearer())
    });
    let authority = authority.await;
    let gateway = gateway(&folder, &backend, &quoted(&authority.url()), "").await;
    let reference = named(&authority.url());
    let (a, b, c) = tokio::join!(
        asked(&gateway, &reference),
        asked(&gateway, &reference),
        asked(&gateway, &reference)
    );
    for answer in [a, b, c] {
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    }
    assert_eq!(authority.times(), 1);
}

/// Without the table nothing is fetched, and a second reference has nothing fetched for it.
#[tokio::test]
async fn nothing_is_fetched_unasked() {
    let folder = folder();
    let mut backend = Backend::echo().await;
    let authority = Authority::with(&folder, bearer()).await;
    let text = file(backend.address, &quoted(&authority.url()), "");
    let begin = text
        .find("[routes.inbound.saml.by_reference]")
        .expect("the table");
    let end = text
        .find("[routes.inbound.security]")
        .expect("the next table");
    let off = folder
        .gateway(&format!("{}{}", &text[..begin], &text[end..]))
        .await;
    let answer = asked(&off, &named(&authority.url())).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(authority.times(), 0);
    let on = folder.gateway(&text).await;
    let both = format!(
        "{}{}",
        named(&authority.url()),
        reference(&format!("{}?ID=_second", authority.url()))
    );
    let beside = format!("{}{}", named(&authority.url()), bearer());
    let of_11 = binding(&authority.url(), ID);
    for (never, times) in [(beside, 0), (of_11, 0), (both, 1)] {
        let answer = asked(&on, &never).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(authority.times(), times, "{never}");
    }
    assert!(backend.seen.try_recv().is_err());
}

/// The id of a bearer's assertion is a password: the operator is told at the start.
#[test]
fn a_bearer_by_reference_is_warned_of() {
    let folder = folder();
    for (more, expected) in [
        ("", &["bearer-by-reference"][..]),
        ("confirmation = [\"holder-of-key\"]", &[]),
    ] {
        let text = file(free_address(), "\"https://idp.example/a\"", more);
        let text = text.replace("LISTEN", "listen = \"127.0.0.1:0\"");
        let config = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        let config = config.unwrap_or_else(|problems| panic!("{problems}"));
        let warnings = config.warnings().into_iter().map(|warning| warning.name);
        let warnings: Vec<_> = warnings.filter(|name| *name != "readable-secret").collect();
        assert_eq!(warnings, expected, "{more}");
    }
}

#[test]
fn files_that_could_not_keep_their_word_are_refused() {
    let folder = folder();
    let backend = free_address();
    let said = |authorities: &str, more: &str| {
        let text = file(backend, authorities, more).replace("LISTEN", "listen = \"127.0.0.1:0\"");
        let read = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        read.err().map(|it| it.to_string()).unwrap_or_default()
    };
    let good = "\"https://idp.example/a\"";
    assert_eq!(said(good, ""), "");
    for (authorities, more, part) in [
        (good, "forward = true", "`forward` passes on"),
        (good, "encrypted = true", "in the clear"),
        (good, "protection = \"signature\"", "signature"),
        ("", "", "authorities"),
        ("\"http://idp.example/a\"", "", "https"),
        ("\"https://idp.example\"", "", "a path"),
        (good, "confirmation = [\"bearer\"]", "`allow_bearer = true`"),
    ] {
        let problems = said(authorities, more);
        assert!(problems.contains(part), "{more}: {problems}");
    }
    let changed = |authorities: &str, from: &str, to: &str| {
        let text = file(backend, authorities, "").replace("LISTEN", "listen = \"127.0.0.1:0\"");
        let text = text.replace(from, to);
        let read = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        read.err().map(|it| it.to_string()).unwrap_or_default()
    };
    let ca = "ca = [\"ca.cert.pem\"]";
    let named = format!("{ca}, server_name = \"idp.example\"");
    let tls = |to: &str| format!("tls = {{ {to} }}\n[routes.inbound.security]");
    let of_authorities = tls(ca);
    let both = format!("{good}, \"https://other.example/a\"");
    assert_eq!(changed(good, &of_authorities, &tls(&named)), "");
    for (authorities, from, to, part) in [
        (&*both, &*of_authorities, tls(&named), "`server_name` is"),
        (
            good,
            &of_authorities,
            tls(&format!("{ca}, revocation = {{ ocsp = true }}")),
            "revocation",
        ),
        (good, "\"2s\"", "\"31s\"".to_owned(), "at most 30 s"),
        (
            good,
            "\"2s\"",
            "\"2s\"\nsize = \"1MiB\"\ncapacity = 1025".to_owned(),
            "`size` times `capacity`",
        ),
        (
            good,
            "confirmation = [\"bearer\"]",
            "confirmation = [\"holder-of-key\"]".to_owned(),
            "`allow_bearer` is for bearers",
        ),
    ] {
        let problems = changed(authorities, from, &to);
        assert!(problems.contains(part), "{to}: {problems}");
    }
}
