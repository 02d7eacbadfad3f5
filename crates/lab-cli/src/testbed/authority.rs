//! The authority of an assertion: an HTTPS server of localhost that gives it to whoever names its
//! id (SAML Bindings 2.0, 3.7).
//!
//! The rule kept here: it runs in a process of its own, where the gateway that asks it runs.

use std::ffi::OsStr;
use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use soapstone::crypto::Identity;
use soapstone::wss::AssertionToken;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::apart::LOOPBACK;
use super::child::Child;
use super::{Layout, Scratch, tokens};
use crate::failure::Failure;
use crate::files;

/// The path of assertions.
const PATH: &str = "/assertions";

/// The address that an authority of localhost with this port has in files.
pub(super) fn url(port: u16) -> String {
    format!("https://localhost:{port}{PATH}")
}

/// Starts the authority of a layout in a process of its own, by way of the words `before` it; none,
/// where no request names an assertion. What it logs goes to `log`.
pub(super) fn start(
    scratch: &Scratch,
    layout: &Layout,
    before: &[String],
    log: Option<&File>,
) -> Result<Option<Child>, Failure> {
    let mut routes = layout.routes.iter();
    if !routes.any(|route| tokens::is_named(route.proof)) {
        return Ok(None);
    }
    let folder = scratch.folder();
    let words = ["lab", "apart", "authority", "--folder"].map(OsStr::new);
    let words = [&words[..], &[folder.as_os_str()]].concat();
    let child = Child::start(before, &words, log);
    let child = child.map_err(|why| Failure::new(format_args!("the authority: {why}")))?;
    Ok(Some(child))
}

/// A running authority. It stops when it is dropped.
pub(crate) struct Authority {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Authority {
    /// Serves the assertion that requests of a scratch folder name, on a free port.
    ///
    /// # Errors
    /// A file cannot be read, or there is no port.
    pub(crate) async fn start(folder: &Path) -> Result<Self, Failure> {
        let read = |name: &str| files::read(Some(&folder.join(name)));
        let document = read(&tokens::named_file())?;
        let assertion = AssertionToken::parse(document.clone()).map_err(Failure::new)?;
        let (key, certificate) = (read("server.key.pem")?, read("server.cert.pem")?);
        let server = Identity::from_file_contents(&key, &certificate, None);
        let acceptor = TlsAcceptor::from(Arc::new(config(&server.map_err(Failure::new)?)?));
        let listener = TcpListener::bind((LOOPBACK, 0)).await;
        let listener = listener.map_err(Failure::new)?;
        let address = listener.local_addr().map_err(Failure::new)?;
        let target = format!("{PATH}?ID={}", assertion.id());
        let answers = Answers {
            target: target.into(),
            document: Bytes::from(document),
        };
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, answers) = (acceptor.clone(), answers.clone());
                tokio::spawn(async move {
                    // Whoever connects may go away.
                    if let Ok(stream) = acceptor.accept(stream).await {
                        let service = service_fn(|request| answers.clone().to(request));
                        let serving = hyper::server::conn::http1::Builder::new()
                            .serve_connection(TokioIo::new(stream), service);
                        serving.await.ok();
                    }
                });
            }
        });
        Ok(Self { address, task })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The one assertion, and what it is asked for with.
#[derive(Clone)]
struct Answers {
    target: Arc<str>,
    document: Bytes,
}

impl Answers {
    async fn to(self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
        let asked = request.uri().path_and_query();
        let is_known = asked.is_some_and(|asked| *asked == *self.target);
        let mut response = Response::new(Full::new(self.document));
        if !is_known {
            *response.body_mut() = Full::default();
            *response.status_mut() = StatusCode::NOT_FOUND;
        }
        Ok(response)
    }
}

/// TLS with the key of this server.
fn config(server: &Identity) -> Result<ServerConfig, Failure> {
    let der = |certificate: &soapstone::crypto::Certificate| {
        CertificateDer::from(certificate.der().to_vec())
    };
    let chain = std::iter::once(server.certificate()).chain(server.chain());
    let key = server.key().to_pkcs8_der().map_err(Failure::new)?;
    let key = PrivateKeyDer::try_from(key.expose().to_vec()).map_err(Failure::new)?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(Failure::new)?
        .with_no_client_auth()
        .with_single_cert(chain.map(der).collect(), key)
        .map_err(Failure::new)
}
