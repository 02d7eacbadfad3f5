//! Accepts connections and drives each until its client, its idleness or the end of the gateway
//! closes it.
//!
//! The rule kept here: nothing that a single connection does or fails to do keeps the next one
//! waiting.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::os::fd::AsFd;
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
use soapstone::crypto::Certificate;
use soapstone_store::server_trust::describe;
use soapstone_store::tls_revocation::Shown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::activity::{Activity, ConnectionTimeouts, InHand, Watched};
use super::repoll::RepollOnWake;
use super::state::State;
use super::tls::Handshakes;
use super::{admin, dispatch};
use crate::config::tls::Answering;
use crate::exchange::connection::Connection;
use crate::shares::Held;
use crate::wire::body::PassError;
use crate::wire::headers::Forwarded;
use crate::wire::reply::Reply;

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
    fn connections(self, state: &State) -> &AtomicU64 {
        match self {
            Self::Gateway => &state.resources.metrics.connections,
            Self::Admin => &state.resources.metrics.admin_connections,
        }
    }
}

/// Most connections to the listener of health and metrics at once. They are no part of
/// `limits.connections`, so that a gateway that has all its clients can still say that it is well.
/// A load balancer, an orchestrator and a Prometheus have one or two each.
const ADMIN_CONNECTIONS: u64 = 256;

/// One listening socket.
pub(crate) struct Listener {
    pub(crate) socket: TcpListener,
    pub(crate) role: Role,
    pub(crate) state: Arc<State>,
    pub(crate) phase: watch::Receiver<Phase>,
    /// Held by every connection: all are done when no sender is left.
    pub(crate) alive: mpsc::Sender<Infallible>,
}

impl Listener {
    /// Accepts until the gateway drains; health and metrics are told until it ends.
    pub(crate) async fn run(mut self) {
        let last = match self.role {
            Role::Gateway => Phase::Running,
            Role::Admin => Phase::Draining,
        };
        loop {
            let accepted = tokio::select! {
                accepted = self.socket.accept() => Some(accepted),
                _ = self.phase.wait_for(|phase| *phase > last) => None,
            };
            let Some(accepted) = accepted else {
                return self.accept_waiting();
            };
            match accepted {
                Ok((stream, peer)) => self.begin(stream, peer),
                Err(error) => {
                    // Out of file descriptors, most likely: the next attempt would fail as fast.
                    // Those that no request uses are let go.
                    tracing::error!(%error, "a connection could not be accepted");
                    self.state.current.close_idle();
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    /// Accepts whoever is connected already and waits: the socket would take them along when it
    /// closes.
    fn accept_waiting(&self) {
        // The system is asked, since the runtime learns of a connection a moment later.
        let socket = self.socket.as_fd().try_clone_to_owned();
        let Ok(socket) = socket.map(std::net::TcpListener::from) else {
            return;
        };
        while let Ok((stream, peer)) = socket.accept() {
            let taken = stream.set_nonblocking(true);
            if let Ok(stream) = taken.and_then(|()| TcpStream::from_std(stream)) {
                self.begin(stream, peer);
            }
        }
    }

    fn begin(&self, stream: TcpStream, peer: SocketAddr) {
        let metrics = &self.state.resources.metrics;
        let serving = self.state.current.serving();
        let (most, tls, admin) = match self.role {
            Role::Gateway => {
                let most = self.state.most_connections(serving.limits.connections);
                (most, serving.tls.clone(), None)
            }
            Role::Admin => {
                let admin = self.state.admin();
                let tls = admin.as_ref().and_then(|admin| admin.tls.as_ref());
                let tls = tls.map(|tls| tls.answering.clone());
                (ADMIN_CONNECTIONS, tls, admin)
            }
        };
        let open = self.role.connections(&self.state);
        if open.fetch_add(1, Ordering::Relaxed) >= most {
            open.fetch_sub(1, Ordering::Relaxed);
            metrics.refused_connections.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let client = self.state.resources.clients.at(peer.ip());
        let held = match self.role {
            Role::Gateway => {
                let share = serving.limits.of_client(peer.ip()).connections_of(most);
                client.connect(share).map(Some)
            }
            // Whoever asks for health may share an address with clients that hold all of theirs,
            // and takes none of their places.
            Role::Admin => Some(None),
        };
        let Some(held) = held else {
            open.fetch_sub(1, Ordering::Relaxed);
            metrics.refused_connections.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let connection = Connection {
            forwarded: Forwarded::new(peer.ip(), tls.is_some()),
            through_tls: tls.is_some(),
            shows_certificate: false,
            client_certificate: None,
            shown: None,
            peer,
            client,
            partner: None,
            admin,
        };
        let (phase, alive) = (self.phase.clone(), self.alive.clone());
        let (role, state) = (self.role, Arc::clone(&self.state));
        tokio::spawn(async move {
            let others = Arc::clone(&state);
            let served = serve(role, Arc::clone(&state), connection, stream, tls, phase);
            let is_alone = move || others.resources.metrics.has_one_in_hand();
            RepollOnWake::new(served, is_alone).await;
            role.connections(&state).fetch_sub(1, Ordering::Relaxed);
            drop((held, alive));
        });
    }
}

/// Counts the connection for whoever proved a certificate of that subject; `None` if there are
/// too many of these.
fn hold_for_partner(
    state: &State,
    connection: &mut Connection,
    subject: Option<String>,
) -> Option<Option<Held>> {
    let Some(subject) = subject else {
        return Some(None);
    };
    let limits = state.current.serving().limits;
    let most = state.most_connections(limits.connections);
    let partner = state.resources.clients.partner("certificate", &subject);
    let held = partner.connect(limits.per_partner.connections_of(most))?;
    connection.partner = Some(partner);
    Some(Some(held))
}

async fn serve(
    role: Role,
    state: Arc<State>,
    mut connection: Connection,
    stream: TcpStream,
    answering: Option<Answering>,
    mut phase: watch::Receiver<Phase>,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, peer = %connection.peer, "the connection was gone at once");
        return;
    }
    let Some(answering) = answering else {
        return drive(role, state, connection, TokioIo::new(stream), phase).await;
    };
    let patience = state.current.serving().timeouts.header;
    let peer = connection.peer;
    let handshakes = Handshakes::from(answering);
    let handshake = tokio::time::timeout(patience, handshakes.accept(stream));
    let made = tokio::select! {
        made = handshake => made,
        // Who has just come gets a moment.
        () = silence_after(&mut phase) => return,
    };
    match made {
        Ok(Ok(stream)) => {
            let shown = stream.get_ref().1.peer_certificates();
            connection.shows_certificate = shown.is_some();
            connection.shown = shown.map(Shown::new);
            let shown = shown.and_then(|shown| Certificate::from_der(shown.first()?).ok());
            let subject = shown.as_ref().map(|shown| shown.subject().to_owned());
            connection.client_certificate = shown.map(Arc::new);
            // An operator is no partner.
            let subject = subject.filter(|_| role == Role::Gateway);
            let Some(_held) = hold_for_partner(&state, &mut connection, subject) else {
                let metrics = &state.resources.metrics;
                metrics.refused_connections.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(%peer, "connection refused: its certificate has all its connections");
                return;
            };
            drive(role, state, connection, TokioIo::new(stream), phase).await;
        }
        Ok(Err(error)) => {
            let error = describe(&error);
            tracing::info!(%peer, error, "the TLS handshake failed");
        }
        Err(_) => {
            tracing::info!(%peer, after = ?patience, "the TLS handshake was not finished in time")
        }
    }
}

/// How long a connection that was accepted before the gateway drains may be silent from then on:
/// its first request may be on its way.
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// How often is looked whether it has come.
const LOOKING: Duration = Duration::from_millis(10);

/// Done when a connection that has made no request yet need not be waited for.
async fn silence_after(phase: &mut watch::Receiver<Phase>) {
    // Without a sender the gateway is gone.
    let _ = phase.wait_for(|phase| *phase > Phase::Running).await;
    let ending = phase.wait_for(|phase| *phase > Phase::Draining);
    let _ = tokio::time::timeout(LAST_MOMENT, ending).await;
}

async fn drive<S>(
    role: Role,
    state: Arc<State>,
    connection: Connection,
    stream: S,
    mut phase: watch::Receiver<Phase>,
) where
    S: Read + Write + Unpin + Send + 'static,
{
    let timeouts = state.current.serving().timeouts;
    let patience = ConnectionTimeouts {
        idle: timeouts.idle,
        header: timeouts.header,
        // Longer than everything that a request in hand may rightly wait for.
        stalled: timeouts.request + timeouts.connect + timeouts.response,
    };
    let began_with = connection.admin.clone();
    let admin_of = Arc::clone(&state);
    // Of a connection to the routes nothing is judged anew here.
    let mut is_settled = began_with.is_none();
    let mut judged_otherwise = pin!(async move {
        if let Some(began_with) = &began_with {
            admin_of.judges_otherwise(began_with).await;
        }
    });
    let activity = Activity::new();
    let stream = Watched::new(stream, Arc::clone(&activity), timeouts.request);
    let served = Arc::new(Served {
        role,
        state,
        connection: Arc::new(connection),
    });
    let service = {
        let activity = Arc::clone(&activity);
        service_fn(move |request: Request<Incoming>| {
            let in_hand = activity.request(request.version() == Version::HTTP_2);
            let (served, activity) = (Arc::clone(&served), Arc::clone(&activity));
            let has_body = !request.body().is_end_stream();
            async move {
                let response = served.answer(request).await;
                if has_body && !response.status().is_success() {
                    activity.interrupt();
                }
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
    // Since when the connection is to end with its request, if that is not said yet.
    let mut draining: Option<Instant> = None;
    // Known before it is waited for: a connection may be accepted at the last moment.
    phase.mark_changed();
    loop {
        tokio::select! {
            biased;
            _ = exchange.as_mut() => return,
            () = tokio::time::sleep(LOOKING), if draining.is_some() => {
                if draining.is_some_and(|since| activity.was_heard() || since.elapsed() >= LAST_MOMENT) {
                    exchange.as_mut().graceful_shutdown();
                    draining = None;
                }
            }
            // The client is to connect again, after the requests in hand.
            () = judged_otherwise.as_mut(), if !is_settled => {
                is_settled = true;
                match activity.was_heard() {
                    true => exchange.as_mut().graceful_shutdown(),
                    false => draining = Some(Instant::now()),
                }
            }
            () = watch.as_mut() => match activity.remaining(patience) {
                Some(left) => watch.as_mut().reset(Instant::now() + left.min(patience.shortest())),
                None => return,
            },
            changed = phase.changed() => match changed.map(|()| *phase.borrow_and_update()) {
                Ok(Phase::Running) => {}
                Ok(Phase::Draining) if role == Role::Admin => {}
                Ok(Phase::Draining) if activity.was_heard() => exchange.as_mut().graceful_shutdown(),
                // It would be closed with the request that is on its way.
                Ok(Phase::Draining) => draining = Some(Instant::now()),
                Ok(Phase::Ending) | Err(_) => return,
            },
        }
    }
}

/// A connection, and what answers its requests.
struct Served {
    role: Role,
    state: Arc<State>,
    connection: Arc<Connection>,
}

impl Served {
    async fn answer(&self, request: Request<Incoming>) -> Response<Reply> {
        match self.role {
            Role::Gateway => {
                dispatch::answer(&self.state, &self.connection, Box::new(request)).await
            }
            Role::Admin => admin::answer_alone(&self.state, &request, &self.connection).await,
        }
    }
}

/// The body of a response on its way to the client. Until all of it was handed on, or it is given
/// up, its request is in hand.
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
