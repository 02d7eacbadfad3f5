//! Accepts connections and drives each until its client, its idleness or the end of the gateway closes it.
//!
//! The rule kept here: nothing that a single connection does or fails to do keeps the next one waiting.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Version};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::rt::{Read, Write};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

use crate::activity::{Activity, InHand, Patience, Watched};
use crate::body::{PassError, Reply};
use crate::gateway::Shared;
use crate::headers::Forwarded;
use crate::settled::Settled;

/// What the gateway is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Serving.
    Running,
    /// Finishing the requests in hand.
    Draining,
    /// Dropping what is left.
    Ending,
}

/// What answers requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The routes.
    Gateway,
    /// Health and metrics.
    Admin,
}

impl Role {
    /// How many connections are open to listeners of this kind.
    fn connections(self, shared: &Shared) -> &AtomicU64 {
        match self {
            Self::Gateway => &shared.metrics.connections,
            Self::Admin => &shared.metrics.admin_connections,
        }
    }
}

/// Most connections to the listener of health and metrics at once. They are no part of `limits.connections`, so that a gateway that has all its
/// clients can still say that it is well. A load balancer, an orchestrator and a Prometheus have one or two each.
const ADMIN_CONNECTIONS: u64 = 256;

/// One listening socket.
pub(crate) struct Listener {
    pub(crate) socket: TcpListener,
    pub(crate) role: Role,
    pub(crate) shared: Arc<Shared>,
    pub(crate) phase: watch::Receiver<Phase>,
    /// Held by every connection: all are done when no sender is left.
    pub(crate) alive: mpsc::Sender<Infallible>,
}

impl Listener {
    /// Accepts until the gateway drains.
    pub(crate) async fn run(mut self) {
        loop {
            let accepted = tokio::select! {
                accepted = self.socket.accept() => accepted,
                _ = self.phase.wait_for(|phase| *phase > Phase::Running) => return,
            };
            match accepted {
                Ok((stream, peer)) => self.begin(stream, peer),
                Err(error) => {
                    // Out of file descriptors, most likely: the next attempt would fail as fast. Those that no request uses are let go.
                    tracing::error!(%error, "a connection could not be accepted");
                    self.shared.close_idle();
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    fn begin(&self, stream: TcpStream, peer: SocketAddr) {
        let metrics = &self.shared.metrics;
        let serving = self.shared.serving();
        let (most, tls) = match self.role {
            Role::Gateway => {
                let most = self.shared.most_connections(serving.limits.connections);
                (most, serving.tls.clone())
            }
            Role::Admin => (ADMIN_CONNECTIONS, None),
        };
        let open = self.role.connections(&self.shared);
        if open.fetch_add(1, Ordering::Relaxed) >= most {
            open.fetch_sub(1, Ordering::Relaxed);
            metrics.refused_connections.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let connection = Connection {
            role: self.role,
            shared: Arc::clone(&self.shared),
            forwarded: Forwarded::new(peer.ip(), tls.is_some()),
            through_tls: tls.is_some(),
            shows_certificate: false,
            peer,
        };
        let (phase, alive) = (self.phase.clone(), self.alive.clone());
        tokio::spawn(async move {
            let (role, shared) = (connection.role, Arc::clone(&connection.shared));
            let others = Arc::clone(&shared);
            let served = serve(connection, stream, tls, phase);
            Settled::new(served, move || others.has_one_in_hand()).await;
            role.connections(&shared).fetch_sub(1, Ordering::Relaxed);
            drop(alive);
        });
    }
}

/// What is known of a connection to those who answer its requests.
pub(crate) struct Connection {
    role: Role,
    pub(crate) shared: Arc<Shared>,
    pub(crate) forwarded: Forwarded,
    pub(crate) through_tls: bool,
    /// The client proved a certificate that `client_ca` trusts while the connection was made.
    pub(crate) shows_certificate: bool,
    pub(crate) peer: SocketAddr,
}

async fn serve(
    mut connection: Connection,
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    mut phase: watch::Receiver<Phase>,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, peer = %connection.peer, "the connection was gone at once");
        return;
    }
    let Some(acceptor) = tls else {
        return drive(connection, TokioIo::new(stream), phase).await;
    };
    let patience = connection.shared.serving().timeouts.header;
    let peer = connection.peer;
    let handshake = tokio::time::timeout(patience, acceptor.accept(stream));
    let made = tokio::select! {
        made = handshake => made,
        // No request of this connection can be in hand, and none would be taken from it any more.
        _ = phase.wait_for(|phase| *phase > Phase::Running) => return,
    };
    match made {
        Ok(Ok(stream)) => {
            connection.shows_certificate = stream.get_ref().1.peer_certificates().is_some();
            drive(connection, TokioIo::new(stream), phase).await;
        }
        Ok(Err(error)) => tracing::info!(%peer, %error, "the TLS handshake failed"),
        Err(_) => {
            tracing::info!(%peer, after = ?patience, "the TLS handshake was not finished in time")
        }
    }
}

async fn drive<S>(connection: Connection, stream: S, mut phase: watch::Receiver<Phase>)
where
    S: Read + Write + Unpin + Send + 'static,
{
    let timeouts = connection.shared.serving().timeouts;
    let patience = Patience {
        idle: timeouts.idle,
        header: timeouts.header,
        // Longer than everything that a request in hand may rightly wait for.
        stalled: timeouts.request + timeouts.connect + timeouts.response,
    };
    let activity = Activity::new();
    let stream = Watched::new(stream, Arc::clone(&activity));
    let connection = Arc::new(connection);
    let service = {
        let activity = Arc::clone(&activity);
        service_fn(move |request: Request<Incoming>| {
            let in_hand = activity.request(request.version() == Version::HTTP_2);
            let connection = Arc::clone(&connection);
            async move {
                let response = answer(&connection, request).await;
                Ok::<_, Infallible>(response.map(|body| Sending {
                    body,
                    _in_hand: in_hand,
                }))
            }
        })
    };
    let mut builder = auto::Builder::new(TokioExecutor::new());
    // Activity watches over both, for less than a timer per request.
    builder
        .http1()
        .header_read_timeout(None)
        .timer(TokioTimer::new());
    builder.http2().timer(TokioTimer::new());
    let mut exchange = pin!(builder.serve_connection(stream, service));
    let mut watch = pin!(tokio::time::sleep(patience.shortest()));
    loop {
        tokio::select! {
            biased;
            _ = exchange.as_mut() => return,
            () = watch.as_mut() => match activity.remaining(patience) {
                Some(left) => watch.as_mut().reset(Instant::now() + left.min(patience.shortest())),
                None => return,
            },
            changed = phase.changed() => match changed.map(|()| *phase.borrow_and_update()) {
                Ok(Phase::Running) => {}
                Ok(Phase::Draining) => exchange.as_mut().graceful_shutdown(),
                Ok(Phase::Ending) | Err(_) => return,
            },
        }
    }
}

async fn answer(connection: &Connection, request: Request<Incoming>) -> Response<Reply> {
    match connection.role {
        Role::Gateway => crate::proxy::answer(connection, request).await,
        Role::Admin => {
            crate::admin::answer(&connection.shared, request.method(), request.uri().path()).await
        }
    }
}

/// The body of a response on its way to the client. Until all of it was handed on, or it is given up, its request is in hand.
struct Sending {
    body: Reply,
    _in_hand: InHand,
}

impl Body for Sending {
    type Data = Bytes;
    type Error = PassError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, PassError>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
