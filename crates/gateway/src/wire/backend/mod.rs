//! Connections to one backend, kept alive between requests.
//!
//! A connection is not driven by a task of its own. It travels with the request that uses it and is
//! polled by the same task, first for the response's head and then for its body; so an exchange
//! wakes one task, not two on different cores. When the body is at its end the connection goes back
//! to the idle ones; when the request is dropped (its client has gone) the connection is dropped
//! with it, which tells the backend to stop.
//!
//! The rule kept here: a request is sent again only when not a byte of it has left.

mod error;
mod interim;
mod stream;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, Uri, Version};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use soapstone_store::tls_revocation::{Shown, TlsRevocation};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

pub(crate) use self::error::BackendError;
use self::interim::InterimAnswers;
use self::stream::{BackendStream, Transport};
use crate::config::tls::ClientTls;
use crate::config::tls_turns::Turns;
use crate::config::url::without_brackets;
use crate::observe::changes::Changes;
use crate::wire::body::Upload;
use crate::wire::headers::{authenticates_connection, has_unknown_coding, remove_hop_by_hop};

/// Most idle connections kept for one backend; further ones are closed after use.
///
/// As many as clients that the tests and studies run at once, several times over; each costs a
/// socket and some 20 kB.
const IDLE_CONNECTIONS: usize = 1024;

/// Idle connections that stay for as long as they may, when others are let go that nobody needs.
///
/// A thousand connections that a burst of requests made take 20 MB here and as much at another
/// gateway. As many as these take a hundredth of a second to make anew.
const IDLE_KEPT: usize = 32;

/// How long a backend may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BackendTimeouts {
    /// To accept a connection, TLS included.
    pub(crate) connect: Duration,
    /// From the request to the end of the response's head, and of all of the response where that
    /// is read whole.
    pub(crate) response: Duration,
    /// For an unused connection, before we close it.
    pub(crate) idle: Duration,
}

/// One backend.
pub(crate) struct Backend {
    host: String,
    port: u16,
    /// Where it is, where that is not looked up by its host.
    located: Option<SocketAddr>,
    tls: Option<(TlsConnector, ServerName<'static>, Turns)>,
    /// What asks whether its certificate was revoked.
    revocation: Option<Arc<TlsRevocation>>,
    timeouts: BackendTimeouts,
    /// The value of the `Host` header.
    authority: HeaderValue,
    /// The path of the backend's URL, without a slash at its end unless it is all.
    path: String,
    idle: Mutex<Vec<Link>>,
    reachable: AtomicBool,
    /// Who is told when it can be reached no more, or again.
    changes: OnceLock<Changes>,
}

/// One connection, with the machine that drives it.
struct Link {
    sender: http1::SendRequest<Upload>,
    machine: Machine,
    interim: Arc<InterimAnswers>,
    /// Goes off when a response is late. Put off from one request to the next, it costs less than
    /// a timer for each.
    alarm: Pin<Box<Sleep>>,
    /// When it was last given a request.
    used: Instant,
    /// The certificates that the backend showed, where revocation is asked about.
    shown: Option<Shown>,
}

/// Moves a connection's bytes. `None` once it has come to its end: it must not be polled again.
struct Machine(Option<Pin<Box<Exchanges>>>);

type Exchanges = http1::Connection<TokioIo<BackendStream>, Upload>;

impl Machine {
    /// Goes on as far as possible. What becomes of it is learnt from the request or the body that
    /// waits for the bytes.
    fn drive(&mut self, context: &mut Context<'_>) {
        let ended = self
            .0
            .as_mut()
            .is_some_and(|running| running.as_mut().poll(context).is_ready());
        if ended {
            self.0 = None;
        }
    }

    fn has_ended(&self) -> bool {
        self.0.is_none()
    }
}

/// A request without a response.
#[derive(Debug)]
pub(crate) struct Unanswered {
    pub(crate) error: BackendError,
    /// The request, where nothing of it has left.
    pub(crate) unsent: Option<Box<Request<Upload>>>,
}

impl Unanswered {
    /// Of a request that has left.
    fn of(error: BackendError) -> Self {
        let unsent = None;
        Self { error, unsent }
    }
}

impl Backend {
    /// A backend at that URL, reached through TLS when `tls` says how. `None` when the URL has no
    /// host.
    pub(crate) fn new(
        url: &Uri,
        tls: Option<ClientTls>,
        timeouts: BackendTimeouts,
    ) -> Option<Arc<Self>> {
        Self::at(None, url, tls, timeouts)
    }

    /// The same, at an address that is known: the host of the URL is not looked up.
    pub(crate) fn at(
        located: Option<SocketAddr>,
        url: &Uri,
        tls: Option<ClientTls>,
        timeouts: BackendTimeouts,
    ) -> Option<Arc<Self>> {
        let host = url.host()?;
        let port = url
            .port_u16()
            .unwrap_or(if tls.is_some() { 443 } else { 80 });
        let path = match url.path() {
            "" | "/" => "/".to_owned(),
            path => path.trim_end_matches('/').to_owned(),
        };
        let authority = url.authority()?.as_str();
        let revocation = tls.as_ref().and_then(|tls| tls.revocation.clone());
        Some(Arc::new(Self {
            host: without_brackets(host).to_owned(),
            port,
            located,
            tls: tls.map(|tls| {
                let connector = TlsConnector::from(tls.config);
                (connector, tls.server_name, tls.turns)
            }),
            revocation,
            timeouts,
            authority: HeaderValue::from_str(authority).ok()?,
            path,
            idle: Mutex::new(Vec::new()),
            reachable: AtomicBool::new(true),
            changes: OnceLock::new(),
        }))
    }

    /// How long it may take.
    pub(crate) fn timeouts(&self) -> BackendTimeouts {
        self.timeouts
    }

    /// Path of its URL.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The value of its `Host` header.
    pub(crate) fn authority(&self) -> &HeaderValue {
        &self.authority
    }

    /// Whether the last attempt to reach it succeeded. True before the first one.
    pub(crate) fn is_reachable(&self) -> bool {
        self.reachable.load(Ordering::Relaxed)
    }

    /// Tells them from now on when it can be reached no more, or again. Those that were named first
    /// stay.
    pub(crate) fn tells(&self, changes: &Changes) {
        self.changes.get_or_init(|| changes.clone());
    }

    /// Notes whether an attempt to reach it succeeded.
    fn was_reached(&self, reached: bool) {
        let before = self.reachable.swap(reached, Ordering::Relaxed);
        if before != reached
            && let Some(changes) = self.changes.get()
        {
            changes.tell();
        }
    }

    /// Tries a connection; what it finds is what [`Self::is_reachable`] says from then on. The
    /// connection is not kept: a peer may close one that has carried no request long before an
    /// idle one.
    pub(crate) async fn probe(self: &Arc<Self>) -> Result<(), BackendError> {
        self.connect().await.map(drop)
    }

    /// Closes connections that nobody has used for so long.
    pub(crate) fn close_idle(&self, unused: Duration) {
        self.idle_links()
            .retain(|link| link.used.elapsed() < unused);
    }

    /// Closes connections that nobody has used for so long, but for the last ones.
    pub(crate) fn shrink(&self, unused: Duration) {
        let mut links = self.idle_links();
        // The last one that came back is the first to be used again: the first ones lie for
        // longest.
        let mut spare = links.len().saturating_sub(IDLE_KEPT);
        links.retain(|link| {
            let stays = spare == 0 || link.used.elapsed() < unused;
            spare = spare.saturating_sub(1);
            stays
        });
    }

    /// Sends a request (origin-form, with `Host`) and waits for the head of the response, which
    /// says nothing more of the connection that it came over. `now` is the present.
    ///
    /// # Errors
    ///
    /// See [`BackendError`].
    pub(crate) async fn send(
        self: &Arc<Self>,
        request: Request<Upload>,
        now: Instant,
    ) -> Result<Response<Download>, BackendError> {
        self.try_send(request, now)
            .await
            .map_err(|unanswered| unanswered.error)
    }

    /// The same, and a request of which nothing has left comes back.
    ///
    /// # Errors
    ///
    /// See [`BackendError`].
    pub(crate) async fn try_send(
        self: &Arc<Self>,
        mut request: Request<Upload>,
        now: Instant,
    ) -> Result<Response<Download>, Unanswered> {
        let is_one_clients = authenticates_connection(request.headers());
        loop {
            let (mut link, reused) = match self.take_idle(now).await {
                Some(link) => (link, true),
                None => match Box::pin(self.connect()).await {
                    Ok(link) => (link, false),
                    Err(error) => {
                        let unsent = Some(Box::new(request));
                        return Err(Unanswered { error, unsent });
                    }
                },
            };
            link.used = now;
            link.interim.begin();
            let counted = Arc::clone(&link.interim);
            hyper::ext::on_informational(&mut request, move |interim| {
                counted.count(interim.headers());
            });
            let mut sending = pin!(link.sender.try_send_request(request));
            let (machine, alarm) = (&mut link.machine, &mut link.alarm);
            alarm.as_mut().reset(now + self.timeouts.response);
            let answered = std::future::poll_fn(|context| {
                // Asked first: a backend that sends without end uses up what a task may do in one
                // turn (`tokio::task::coop`), and no timer goes off in the rest of it.
                let is_late = alarm.as_mut().poll(context).is_ready();
                machine.drive(context);
                match sending.as_mut().poll(context) {
                    Poll::Ready(answer) => Poll::Ready(Some(answer)),
                    Poll::Pending if is_late => Poll::Ready(None),
                    Poll::Pending => Poll::Pending,
                }
            })
            .await;
            if link.interim.are_too_many() {
                return Err(Unanswered::of(BackendError::Interim {
                    address: self.address(),
                }));
            }
            match answered {
                Some(Ok(mut response)) => {
                    if let Some(why) = unfit(&response) {
                        return Err(Unanswered::of(BackendError::Unfit {
                            address: self.address(),
                            why,
                        }));
                    }
                    remove_hop_by_hop(response.headers_mut());
                    *response.version_mut() = Version::HTTP_11;
                    return Ok(response.map(|body| Download {
                        body,
                        link: Some(link),
                        is_one_clients,
                        backend: Arc::clone(self),
                        held: None,
                    }));
                }
                Some(Err(mut error)) => match error.take_message() {
                    Some(unsent) if reused => request = unsent,
                    unsent => {
                        let error = BackendError::Exchange {
                            address: self.address(),
                            source: error.into_error(),
                            unsent: unsent.is_some(),
                        };
                        let unsent = unsent.map(Box::new);
                        return Err(Unanswered { error, unsent });
                    }
                },
                None => {
                    return Err(Unanswered::of(BackendError::ResponseTimeout {
                        address: self.address(),
                        after: self.timeouts.response,
                    }));
                }
            }
        }
    }

    /// An idle connection that its backend has not closed.
    async fn take_idle(&self, now: Instant) -> Option<Link> {
        loop {
            let mut link = self.idle_links().pop()?;
            if now.saturating_duration_since(link.used) >= reusable(self.timeouts.idle) {
                continue;
            }
            // Its certificate may have been revoked since, or the answer about it have come to its
            // end: a new connection shows that.
            if let (Some(shown), Some(revocation)) = (&link.shown, &self.revocation)
                && shown.check(revocation).is_err()
            {
                continue;
            }
            // Learns that the backend has closed it, if so.
            std::future::poll_fn(|context| {
                link.machine.drive(context);
                Poll::Ready(())
            })
            .await;
            if !link.machine.has_ended() && link.sender.is_ready() {
                return Some(link);
            }
        }
    }

    async fn connect(&self) -> Result<Link, BackendError> {
        let after = self.timeouts.connect;
        let interim = Arc::new(InterimAnswers::default());
        let mut shown = None;
        let connected = match tokio::time::timeout(after, self.open()).await {
            Ok(Ok(transport)) => {
                let asked = self.revocation.as_ref();
                shown = asked.and_then(|_| transport.shown()).map(Shown::new);
                let stream = BackendStream::new(transport, Arc::clone(&interim));
                let made = http1::Builder::new().handshake(TokioIo::new(stream)).await;
                made.map_err(|source| BackendError::Exchange {
                    address: self.address(),
                    source,
                    unsent: true,
                })
            }
            Ok(Err(source)) => Err(BackendError::Connect {
                address: self.address(),
                source,
            }),
            Err(_) => Err(BackendError::ConnectTimeout {
                address: self.address(),
                after,
            }),
        };
        self.was_reached(connected.is_ok());
        let (sender, machine) = connected?;
        Ok(Link {
            sender,
            machine: Machine(Some(Box::pin(machine))),
            interim,
            alarm: Box::pin(tokio::time::sleep(self.timeouts.response)),
            used: Instant::now(),
            shown,
        })
    }

    async fn open(&self) -> io::Result<Transport> {
        let stream = match self.located {
            Some(located) => TcpStream::connect(located).await?,
            None => TcpStream::connect((self.host.as_str(), self.port)).await?,
        };
        stream.set_nodelay(true)?;
        match &self.tls {
            None => Ok(Transport::Plain(stream)),
            Some((connector, name, turns)) => {
                let shaking = connector.connect(name.clone(), stream);
                let stream = turns.take(shaking).await?;
                Ok(Transport::Tls(Box::new(stream)))
            }
        }
    }

    fn put_back(&self, link: Link) {
        let mut idle = self.idle_links();
        if idle.len() < IDLE_CONNECTIONS {
            idle.push(link);
        }
    }

    fn idle_links(&self) -> std::sync::MutexGuard<'_, Vec<Link>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn address(&self) -> String {
        match self.located {
            Some(located) => located.to_string(),
            None => format!("{}:{}", self.host, self.port),
        }
    }
}

/// How long a connection may have been unused to be used again: less than until it is closed, as
/// whoever is at its other end, another gateway above all, closes it after the same time. A request
/// that meets that on its way may have been taken or not, and is not sent again.
fn reusable(idle: Duration) -> Duration {
    idle - idle / 8
}

/// Why a response cannot be passed on; `None` if it can.
fn unfit(response: &Response<Incoming>) -> Option<&'static str> {
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        Some("switches protocols, which nobody asked for")
    } else if has_unknown_coding(response.headers()) {
        Some("has another transfer coding than chunked")
    } else {
        None
    }
}

/// The body of a backend's response, which drives the connection that it arrives on.
pub(crate) struct Download {
    body: Incoming,
    link: Option<Link>,
    /// A client has authenticated the connection, which serves nobody else then.
    is_one_clients: bool,
    backend: Arc<Backend>,
    /// Dropped with it: what lasts for as long as the response is on its way.
    held: Option<Box<dyn Send + Sync>>,
}

impl Download {
    /// Keeps something until all of it has arrived or nobody waits for it any more.
    pub(crate) fn hold(&mut self, what: impl Send + Sync + 'static) {
        self.held = Some(Box::new(what));
    }

    fn release(&mut self) {
        self.held = None;
        if let Some(link) = self.link.take().filter(|link| !link.machine.has_ended())
            && !self.is_one_clients
        {
            self.backend.put_back(link);
        }
    }
}

impl Body for Download {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = &mut *self;
        let mut polled = Pin::new(&mut this.body).poll_frame(context);
        if polled.is_pending()
            && let Some(link) = &mut this.link
        {
            link.machine.drive(context);
            polled = Pin::new(&mut this.body).poll_frame(context);
        }
        match &polled {
            Poll::Ready(None) => this.release(),
            Poll::Ready(Some(Ok(_))) if this.body.is_end_stream() => this.release(),
            Poll::Ready(Some(Err(_))) => this.link = None,
            _ => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A response without a body is never polled for one: its connection is free as soon as it is
/// dropped.
impl Drop for Download {
    fn drop(&mut self) {
        if self.body.is_end_stream() {
            self.release();
        }
    }
}
