//! Assertions that messages only name: fetched from the authorities of the file, and from nowhere
//! else. The authority is a server of TLS that the test runs.

mod bounded;
mod fetched;
mod sent;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use soapstone_gateway::{Config, Running};
use soapstone_testkit::assertion::{Assertion, ID, Made};
use soapstone_testkit::{envelope, keys};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::support::{
    Answer, Backend, Folder, free_address, post, reason, send_over, silent_backend, soon,
};
use crate::tls::{connect, server_identity};

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
        let server = server_identity(folder);
        let config = server.builder.with_single_cert(server.chain, server.key);
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

fn response(request: &str, status: &str, assertion: &str) -> String {
    format!(
        "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body><samlp:Response xmlns:samlp=\"urn:oasis:names:tc:SAML:1.0:protocol\" InResponseTo=\"{request}\" IssueInstant=\"2026-01-01T00:00:00Z\" MajorVersion=\"1\" MinorVersion=\"1\" ResponseID=\"_response\"><samlp:Status><samlp:StatusCode Value=\"{status}\"/></samlp:Status>{assertion}</samlp:Response></s:Body></s:Envelope>"
    )
}
