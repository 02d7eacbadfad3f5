//! Backends, clients and folders for tests.

use std::convert::Infallible;
use std::fmt;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use soapstone::Securer;
use soapstone::config::EndpointConfig;
use soapstone_gateway::{Config, Gateway, Running};
pub(crate) use soapstone_testkit::envelope::{ECHO as ENVELOPE, ECHO_12 as ENVELOPE_12};
use soapstone_testkit::keys::RSA;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;

/// What arrived at a backend.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// A server that answers as told, and tells what arrived.
pub(crate) struct Backend {
    pub(crate) address: SocketAddr,
    pub(crate) seen: mpsc::UnboundedReceiver<Seen>,
    pub(crate) connections: Arc<AtomicU32>,
}

impl Backend {
    /// Answers every request with its own body.
    pub(crate) async fn echo() -> Self {
        Self::answering(|seen| {
            let mut response = Response::new(Full::new(seen.body.clone()));
            if let Some(media_type) = seen.headers.get("content-type") {
                response
                    .headers_mut()
                    .insert("content-type", media_type.clone());
            }
            response
        })
        .await
    }

    /// Answers as the function says.
    pub(crate) async fn answering(
        answer: impl Fn(&Seen) -> Response<Full<Bytes>> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let (tell, seen) = mpsc::unbounded_channel();
        let connections = Arc::new(AtomicU32::new(0));
        let (answer, count) = (Arc::new(answer), Arc::clone(&connections));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::Relaxed);
                let (answer, tell) = (Arc::clone(&answer), tell.clone());
                let service = service_fn(move |request: Request<Incoming>| {
                    let (answer, tell) = (Arc::clone(&answer), tell.clone());
                    async move {
                        let (head, body) = request.into_parts();
                        let body = body.collect().await?.to_bytes();
                        let seen = Seen {
                            method: head.method,
                            uri: head.uri,
                            headers: head.headers,
                            body,
                        };
                        let response = answer(&seen);
                        // A test that does not look at it has dropped the receiver.
                        let _ = tell.send(seen);
                        Ok::<_, hyper::Error>(response)
                    }
                });
                let serving = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service);
                tokio::spawn(serving);
            }
        });
        Self {
            address,
            seen,
            connections,
        }
    }
}

/// A response, whole.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// As text; a package has other bytes than these.
    pub(crate) body: String,
    pub(crate) bytes: Bytes,
}

/// Starts a gateway from the text of its file; `LISTEN` stands for a line with a free port.
pub(crate) async fn gateway(text: &str) -> Running {
    Gateway::start(config(text))
        .await
        .expect("the system has ports")
}

pub(crate) fn config(text: &str) -> Config {
    let text = text.replace("LISTEN", "listen = \"127.0.0.1:0\"");
    Config::from_text(&text, Path::new("gateway.toml"), &|_| None)
        .unwrap_or_else(|problems| panic!("{problems}"))
}

/// A gateway with one route from `/echo` to a backend, and more lines before it.
pub(crate) async fn gateway_before(backend: SocketAddr, more: &str) -> Running {
    gateway(&format!(
        "LISTEN\n{more}\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{backend}/echo\"\n"
    ))
    .await
}

pub(crate) fn post(uri: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    let mut request = Request::post(uri)
        .body(Full::new(body.into()))
        .expect("a request");
    request.headers_mut().insert(
        "content-type",
        HeaderValue::from_static("text/xml; charset=utf-8"),
    );
    request
        .headers_mut()
        .insert("soapaction", HeaderValue::from_static("\"urn:echo\""));
    request
}

/// The same with another media type.
pub(crate) fn post_as(uri: &str, media_type: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    let mut request = post(uri, body);
    let media_type = HeaderValue::from_str(media_type).expect("a value");
    request.headers_mut().insert("content-type", media_type);
    request
}

/// The same in SOAP 1.2.
pub(crate) fn post_12(uri: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    post_as(uri, "application/soap+xml; charset=utf-8", body)
}

pub(crate) fn get(uri: &str) -> Request<Full<Bytes>> {
    Request::get(uri).body(Full::default()).expect("a request")
}

/// The same to the admin listener of this host, by its address.
pub(crate) fn to_admin(path: &str) -> Request<Full<Bytes>> {
    let mut request = get(path);
    let host = HeaderValue::from_static("127.0.0.1:9901");
    request.headers_mut().insert("host", host);
    request
}

/// Sends a request over a connection of its own.
pub(crate) async fn send(address: SocketAddr, request: Request<Full<Bytes>>) -> Answer {
    let stream = TcpStream::connect(address).await.expect("somebody listens");
    send_over(stream, request).await.expect("an answer")
}

/// Sends a request over a stream, which is closed afterwards.
pub(crate) async fn send_over<S>(
    stream: S,
    mut request: Request<Full<Bytes>>,
) -> Result<Answer, hyper::Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let driver = tokio::spawn(connection);
    request
        .headers_mut()
        .entry("host")
        .or_insert(HeaderValue::from_static("gateway.example:8443"));
    let answer = whole(sender.send_request(request).await?).await;
    driver.abort();
    answer
}

/// Sends a request over a stream with HTTP/2 from the first byte.
pub(crate) async fn send_over_http2<S>(
    stream: S,
    request: Request<Full<Bytes>>,
) -> Result<Answer, hyper::Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let executor = TokioExecutor::new();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(executor, TokioIo::new(stream)).await?;
    let driver = tokio::spawn(connection);
    let answer = whole(sender.send_request(request).await?).await;
    driver.abort();
    answer
}

async fn whole(response: Response<Incoming>) -> Result<Answer, hyper::Error> {
    let (head, body) = response.into_parts();
    let bytes = body.collect().await?.to_bytes();
    let content_type = head.headers.get("content-type");
    let is_package = content_type.is_some_and(|it| it.as_bytes().starts_with(b"multipart/"));
    let body = match is_package {
        true => String::from_utf8_lossy(&bytes).into_owned(),
        false => String::from_utf8(bytes.to_vec()).expect("the answer is UTF-8"),
    };
    Ok(Answer {
        status: head.status,
        headers: head.headers,
        body,
        bytes,
    })
}

/// Writes bytes as they are and reads until `enough` says so of what came back, or the end.
pub(crate) async fn exchange(
    stream: &mut TcpStream,
    octets: &[u8],
    enough: impl Fn(&str) -> bool,
) -> String {
    stream
        .write_all(octets)
        .await
        .expect("the connection is open");
    let mut read = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if enough(&text) {
            return text;
        }
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return text,
            Ok(count) => read.extend_from_slice(&buffer[..count]),
        }
    }
}

pub(crate) fn header(name: &'static str) -> HeaderName {
    HeaderName::from_static(name)
}

/// The faultstring or reason of a fault.
pub(crate) fn reason(body: &str) -> &str {
    let after = body
        .split_once("<faultstring>")
        .or_else(|| body.split_once("xml:lang=\"en\">"));
    after
        .and_then(|(_, rest)| rest.split_once('<'))
        .map_or("no fault", |(reason, _)| reason)
}

/// A temporary folder in which gateways have their files.
pub(crate) struct Folder(soapstone_testkit::Folder);

impl std::ops::Deref for Folder {
    type Target = soapstone_testkit::Folder;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(soapstone_testkit::Folder::new())
    }

    /// A folder with the certificate of an authority, and with certificates and keys of `server`
    /// and `client`.
    pub(crate) fn with_keys() -> Self {
        let names = ["server", "client"];
        Self(soapstone_testkit::Folder::with_keys(RSA, &names))
    }

    /// A message that a sender with these tables, which name files of this folder, secured.
    pub(crate) fn secured(&self, tables: &str, plain: &str) -> Vec<u8> {
        let secured = self.securer(tables).secure(plain);
        secured.expect("it can be secured").bytes
    }

    /// A sender with these tables, which name files of this folder.
    pub(crate) fn securer(&self, tables: &str) -> Securer {
        let file = self.path("client.toml");
        EndpointConfig::from_text(tables, &file, &|_| None)
            .and_then(|config| Securer::from_config(&config))
            .unwrap_or_else(|problems| panic!("{problems}"))
    }

    /// Starts a gateway from the text of its file, which lies in this folder.
    pub(crate) async fn gateway(&self, text: &str) -> Running {
        Gateway::start(self.config(text))
            .await
            .expect("the system has ports")
    }

    pub(crate) fn config(&self, text: &str) -> Config {
        let text = text.replace("LISTEN", "listen = \"127.0.0.1:0\"");
        Config::from_text(&text, &self.path("gateway.toml"), &|_| None)
            .unwrap_or_else(|problems| panic!("{problems}"))
    }
}

/// Waits for something that must come soon; a test that would hang fails instead.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(std::time::Duration::from_secs(20), future)
        .await
        .unwrap_or_else(|_| panic!("{what} did not come"))
}

/// Never answers.
pub(crate) async fn silent_backend() -> (SocketAddr, mpsc::UnboundedReceiver<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let (tell, accepted) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if tell.send(stream).is_err() {
                break;
            }
        }
        Ok::<(), Infallible>(())
    });
    (address, accepted)
}

/// A request that has arrived at a silent backend: the client's connection and the backend's.
pub(crate) async fn request_in_flight(
    gateway: &Running,
    accepted: &mut mpsc::UnboundedReceiver<TcpStream>,
) -> (TcpStream, TcpStream) {
    let mut client = TcpStream::connect(gateway.address())
        .await
        .expect("it listens");
    client
        .write_all(b"POST /echo HTTP/1.1\r\nHost: g\r\nContent-Length: 2\r\n\r\nhi")
        .await
        .expect("it reads");
    let at_backend = soon("the request", accepted.recv())
        .await
        .expect("the gateway connects");
    (client, at_backend)
}

/// An address for a program or a gateway that has to bind it itself. Each is a loopback address of
/// its own, where no connection of another test takes the port meanwhile.
pub(crate) fn free_address() -> SocketAddr {
    static TAKEN: AtomicU32 = AtomicU32::new(0x7f00_0101);
    let own = std::net::Ipv4Addr::from(TAKEN.fetch_add(1, Ordering::Relaxed));
    let free = std::net::TcpListener::bind((own, 0)).expect("a free port");
    free.local_addr().expect("it is bound")
}

/// An address where nobody listens, and which no other test is given meanwhile.
pub(crate) struct Nobody {
    pub(crate) address: SocketAddr,
    _bound: TcpSocket,
}

impl Nobody {
    pub(crate) fn new() -> Self {
        let bound = TcpSocket::new_v4().expect("a socket");
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        bound.bind(any).expect("a free port");
        Self {
            address: bound.local_addr().expect("it is bound"),
            _bound: bound,
        }
    }
}

/// A `redis-server` of a test, which ends with it.
pub(crate) struct Redis(std::process::Child, pub(crate) u16);

impl Redis {
    pub(crate) async fn start(options: &[&str]) -> Self {
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = free.local_addr().expect("it is bound").port();
        drop(free);
        let text = port.to_string();
        let child = std::process::Command::new("redis-server")
            .args(["--save", "", "--bind", "127.0.0.1", "--port", &text])
            .args(options)
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("redis-server runs (Debian: apt-get install redis-server)");
        let redis = Self(child, port);
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        redis
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// What the gateways of one test say in their log.
#[derive(Clone, Default)]
pub(crate) struct Said(Arc<Mutex<Vec<u8>>>);

impl Write for Said {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut said = self.0.lock().expect("nobody panicked");
        said.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Display for Said {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = self.0.lock().expect("nobody panicked");
        formatter.write_str(&String::from_utf8_lossy(&said))
    }
}

impl Said {
    /// Listens until the guard is dropped. The runtime of the test has one thread, which serves its
    /// gateways.
    pub(crate) fn listen() -> (Self, tracing::subscriber::DefaultGuard) {
        // While a process has one subscriber, a line that another thread is the first to say counts
        // as one that nobody listens to.
        let _second = tracing::Dispatch::new(tracing::subscriber::NoSubscriber::default());
        let said = Self::default();
        let writer = said.clone();
        let log = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        (said, tracing::subscriber::set_default(log))
    }

    /// How many times a part of a line was said.
    pub(crate) fn times(&self, part: &str) -> usize {
        self.to_string().matches(part).count()
    }

    /// How many messages were refused for this reason, whatever the peer and the metrics were told.
    pub(crate) fn caused(&self, cause: &str) -> usize {
        self.times(&format!(" cause=\"{cause}\" "))
    }
}
