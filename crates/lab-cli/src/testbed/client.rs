//! A plain SOAP client, and what is compared of the answers that it gets.
//!
//! The rule kept here: an answer is right if what its body holds is, in canonical form, what the
//! service gives without gateways.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{Method, Request, StatusCode, Uri, header, request};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use soapstone::xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Canonicalization, Document, Element, ParseOptions,
    canonicalize,
};
use soapstone_services::SoapVersion;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::failure::Failure;

/// The client, for HTTP/1.1 with and without TLS. It keeps its connections, and shares them with
/// its clones.
#[derive(Clone)]
pub(crate) struct Client {
    /// Connections that nobody uses, by scheme and address.
    idle: Arc<Mutex<HashMap<String, Vec<Connection>>>>,
    tls: Option<TlsConnector>,
    /// The same trust; its handshakes resume no earlier one.
    whole: Option<TlsConnector>,
}

type Connection = SendRequest<Full<Bytes>>;

impl Client {
    /// One that knows no TLS.
    pub(crate) fn new() -> Self {
        Self {
            idle: Arc::default(),
            tls: None,
            whole: None,
        }
    }

    /// One that trusts the authorities whose certificates are in these files.
    pub(crate) fn trusting(authorities: &[&Path]) -> Result<Self, Failure> {
        let mut roots = RootCertStore::empty();
        for authority in authorities {
            let unusable = |problem: &dyn fmt::Display| Failure::file(authority, problem);
            let certificates =
                CertificateDer::pem_file_iter(authority).map_err(|error| unusable(&error))?;
            for certificate in certificates {
                let certificate = certificate.map_err(|error| unusable(&error))?;
                roots.add(certificate).map_err(|error| unusable(&error))?;
            }
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(Failure::new)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let mut whole = config.clone();
        whole.resumption = Resumption::disabled();
        let connector = |config| Some(TlsConnector::from(Arc::new(config)));
        Ok(Self {
            tls: connector(config),
            whole: connector(whole),
            ..Self::new()
        })
    }

    /// The same trust, and no connection yet.
    pub(crate) fn another(&self) -> Self {
        Self {
            tls: self.tls.clone(),
            whole: self.whole.clone(),
            ..Self::new()
        }
    }

    /// The same, whose first connection begins with a whole handshake.
    pub(crate) fn without_resumption(&self) -> Self {
        Self {
            tls: self.whole.clone(),
            ..self.another()
        }
    }

    /// Sends a SOAP request and reads the whole answer, which must be one of success.
    pub(crate) async fn post(
        &self,
        url: &str,
        soap: (SoapVersion, &str),
        message: Bytes,
    ) -> Result<Bytes, Failure> {
        let (status, body) = self.ask(url, soap, message).await?;
        successful(url, status, body)
    }

    /// Sends a SOAP request and reads the whole answer, whatever its status.
    pub(crate) async fn ask(
        &self,
        url: &str,
        (version, action): (SoapVersion, &str),
        message: Bytes,
    ) -> Result<(StatusCode, Bytes), Failure> {
        let request = Request::builder().method(Method::POST);
        let content = version.content_type();
        let request = match version {
            SoapVersion::Soap11 => request
                .header(header::CONTENT_TYPE, content)
                .header("SOAPAction", format!("\"{action}\"")),
            SoapVersion::Soap12 if action.is_empty() => {
                request.header(header::CONTENT_TYPE, content)
            }
            SoapVersion::Soap12 => {
                let content = format!("{content}; action=\"{action}\"");
                request.header(header::CONTENT_TYPE, content)
            }
        };
        self.send(url, request, message).await
    }

    /// Gets a resource as JSON, whole.
    pub(crate) async fn json(&self, url: &str) -> Result<Bytes, Failure> {
        let request = Request::builder().header(header::ACCEPT, "application/json");
        let (status, body) = self.send(url, request, Bytes::new()).await?;
        successful(url, status, body)
    }

    /// Gets a resource that is text, whole.
    pub(crate) async fn text(&self, url: &str) -> Result<String, Failure> {
        let (status, body) = self.send(url, Request::builder(), Bytes::new()).await?;
        let body = successful(url, status, body)?;
        String::from_utf8(body.to_vec()).map_err(Failure::new)
    }

    async fn send(
        &self,
        url: &str,
        request: request::Builder,
        message: Bytes,
    ) -> Result<(StatusCode, Bytes), Failure> {
        let failed = |problem: &dyn fmt::Display| failed(url, problem);
        let uri: Uri = url.parse().map_err(|error| failed(&error))?;
        let authority = uri.authority().ok_or_else(|| failed(&"it has no host"))?;
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let request = request
            .uri(path)
            .header(header::HOST, authority.as_str())
            .body(Full::new(message))
            .map_err(|error| failed(&error))?;
        let place = format!("{}://{authority}", uri.scheme_str().unwrap_or("http"));
        let mut connection = match self.take(&place) {
            Some(connection) => connection,
            None => self.connect(&uri).await.map_err(|error| failed(&error))?,
        };
        let response = connection.send_request(request).await;
        let response = response.map_err(|error| failed(&error))?;
        let status = response.status();
        let body = response.into_body().collect().await;
        let body = body.map_err(|error| failed(&error))?.to_bytes();
        self.give_back(place, connection);
        Ok((status, body))
    }

    fn take(&self, place: &str) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let connections = idle.get_mut(place)?;
        while let Some(connection) = connections.pop() {
            if connection.is_ready() {
                return Some(connection);
            }
        }
        None
    }

    fn give_back(&self, place: String, connection: Connection) {
        if !connection.is_closed() {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.entry(place).or_default().push(connection);
        }
    }

    async fn connect(&self, uri: &Uri) -> Result<Connection, Box<dyn std::error::Error>> {
        let host = uri.host().ok_or("it has no host")?;
        let secure = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let stream = TcpStream::connect((host, port)).await?;
        stream.set_nodelay(true)?;
        if !secure {
            return Ok(converse(stream).await?);
        }
        let tls = self.tls.as_ref().ok_or("the client trusts nobody")?;
        let name = ServerName::try_from(host.to_owned())?;
        Ok(converse(tls.connect(name, stream).await?).await?)
    }
}

/// The answer, if its status is one of success.
fn successful(url: &str, status: StatusCode, body: Bytes) -> Result<Bytes, Failure> {
    if status.is_success() {
        Ok(body)
    } else {
        let told = String::from_utf8_lossy(&body);
        Err(failed(url, &format_args!("{status}: {told}")))
    }
}

fn failed(url: &str, problem: &dyn fmt::Display) -> Failure {
    Failure::new(format_args!("the call to {url} failed: {problem}"))
}

/// Begins HTTP/1.1 on a stream.
async fn converse(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) -> Result<Connection, hyper::Error> {
    let (connection, driver) = http1::handshake(TokioIo::new(stream)).await?;
    // That a connection broke is told to whoever waits for an answer on it.
    tokio::spawn(async { driver.await.ok() });
    Ok(connection)
}

/// The canonical form of what the body of an envelope, the answer to `what`, holds. The body itself
/// may have got an id on its way.
pub(crate) fn canonical_body(envelope: &[u8], what: &str) -> Result<Vec<u8>, Failure> {
    of_body(envelope, what, |document, element, canonical| {
        let options = C14nOptions::new(Canonicalization::Exclusive);
        let apex = Apex::Element(element.id());
        canonicalize(
            document,
            apex,
            &options,
            &mut C14nScratch::default(),
            canonical,
        )
        .map_err(|error| error.to_string())
    })
}

/// The names of the elements that the body of an envelope, the answer to `what`, holds.
pub(crate) fn names_in_body(envelope: &[u8], what: &str) -> Result<Vec<u8>, Failure> {
    of_body(envelope, what, |_, element, names| {
        let name = format!("{{{}}}{} ", element.namespace(), element.local());
        names.extend_from_slice(name.as_bytes());
        Ok(())
    })
}

/// What `one` writes of each element in the body of an envelope.
fn of_body(
    envelope: &[u8],
    what: &str,
    one: impl Fn(&Document, Element<'_>, &mut Vec<u8>) -> Result<(), String>,
) -> Result<Vec<u8>, Failure> {
    let unreadable = |problem: &dyn std::fmt::Display| {
        Failure::new(format_args!(
            "the answer to {what} is no SOAP envelope: {problem}"
        ))
    };
    let mut options = ParseOptions::default();
    // It is ours, and whole: whatever came may be as long as it is.
    options.limits.message = options.limits.message.max(envelope.len());
    let mut buffers = Buffers::default();
    let document = Document::parse(envelope.to_vec(), &options, &mut buffers)
        .map_err(|error| unreadable(&error))?;
    let root = document.root();
    let body = root
        .child(root.namespace(), "Body")
        .ok_or_else(|| unreadable(&"it has no Body"))?;
    let mut written = Vec::with_capacity(envelope.len());
    for element in body.children() {
        one(&document, element, &mut written).map_err(|error| unreadable(&error))?;
    }
    Ok(written)
}
