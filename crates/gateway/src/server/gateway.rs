//! A running gateway: its sockets, its workers, the configuration in use, and its end.
//!
//! The rule kept here: a gateway that was started can be stopped, and then everything it began is
//! over.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use http::HeaderValue;
use jiff::Timestamp;
use soapstone::endpoint::SentMessages;
use soapstone::wss::SoapVersion;
use soapstone_store::ProcessMemory;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use crate::config::validity::{dated_in, tell};
use crate::config::{Config, LEADS_AROUND, RouteConfig};
use crate::conversation::handshake::Parties;
use crate::observe::audit::Audit;
use crate::observe::metrics::{Detail, GatewayMetrics, RouteMetrics};
use crate::observe::traces::Traces;
use crate::route::backend::Backend;
use crate::route::errand::Errand;
use crate::route::{Route, Routes, Serving};
use crate::server::admin::Readiness;
use crate::server::cold::Cold;
use crate::server::descriptors;
use crate::server::key_usage::KeyUsageWarnings;
use crate::server::listener::{Listener, Phase, Role};
use crate::server::sockets::listen;
use crate::server::stores;
use crate::shares::Clients;
use crate::wire::buffers::{Room, SharedBuffers, TRIM_INTERVAL};
use crate::work::asking::MOST_ASKED;
use crate::work::workers::Workers;

/// What all connections share.
pub(crate) struct Shared {
    serving: RwLock<Arc<Serving>>,
    /// The messages that any route has accepted under any configuration.
    memory: Remembered,
    pub(crate) workers: Workers,
    /// Held by who asks a store.
    pub(crate) askers: Semaphore,
    pub(crate) buffers: Arc<SharedBuffers>,
    pub(crate) room: Arc<Room>,
    pub(crate) clients: Clients,
    pub(crate) audit: Option<Audit>,
    pub(crate) traces: Arc<Traces>,
    pub(crate) metrics: GatewayMetrics,
    pub(crate) readiness: Readiness,
    pub(crate) cold: Cold,
    /// Work that no request waits for.
    background: Mutex<JoinSet<()>>,
    draining: AtomicBool,
    admin: bool,
    /// How many clients there are file descriptors for.
    fitting: Option<u64>,
    /// Differs from one process to the next; with a number behind it, names a request.
    name: String,
    requests: AtomicU64,
}

impl Shared {
    /// The configuration in use.
    pub(crate) fn serving(&self) -> Arc<Serving> {
        Arc::clone(&self.serving.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Begins work that goes on without its request; it ends with the gateway.
    pub(crate) fn in_background(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.background();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(work);
    }

    fn background(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.background
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing but the request of whoever asks is in hand.
    pub(crate) fn has_one_in_hand(&self) -> bool {
        self.metrics.in_flight.load(Ordering::Relaxed) <= 1
    }

    /// Whether so little is in hand that sockets may wait for all of it.
    pub(crate) fn is_calm(&self) -> bool {
        let most = CALM * self.workers.count() as u64;
        let in_hand = self.metrics.in_flight.load(Ordering::Relaxed);
        // Whoever waits for a store leaves the processors alone.
        let waiting = self.metrics.store_waiting.load(Ordering::Relaxed);
        in_hand.saturating_sub(waiting) <= most
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    pub(crate) fn has_admin_listener(&self) -> bool {
        self.admin
    }

    /// How many connections from clients there may be.
    pub(crate) fn most_connections(&self, configured: usize) -> u64 {
        let configured = configured as u64;
        self.fitting
            .map_or(configured, |fitting| configured.min(fitting))
    }

    /// Closes the connections to backends that no request uses at the moment.
    pub(crate) fn close_idle(&self) {
        for route in self.serving().routes.iter() {
            route.backend.close_idle(Duration::ZERO);
        }
    }

    /// The way of our own messages to a backend.
    pub(crate) fn errand(
        &self,
        serving: &Serving,
        backend: &Arc<Backend>,
        version: SoapVersion,
    ) -> Errand {
        Errand {
            backend: Arc::clone(backend),
            room: Arc::clone(&self.room),
            buffers: Arc::clone(&self.buffers),
            version,
            limit: serving.limits.body,
        }
    }

    /// Counts a request as in hand until the guard is dropped.
    pub(crate) fn in_flight(&self) -> InFlight<'_> {
        self.metrics.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(&self.metrics.in_flight)
    }

    /// A name for a request that came without one.
    pub(crate) fn new_request_id(&self) -> HeaderValue {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        HeaderValue::try_from(format!("{}-{number:x}", self.name))
            .unwrap_or(HeaderValue::from_static("unnamed"))
    }
}

/// A request in hand.
pub(crate) struct InFlight<'s>(&'s AtomicU64);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Most requests in hand for each worker while work on messages that takes a private-key operation
/// keeps the thread's sockets waiting: at some 0.3 ms each (RSA-2048), the last of them waits for 5
/// ms.
const CALM: u64 = 16;

/// How long a gateway that ends waits for backends to hear that conversations are over, and for the
/// collector of traces to take the last spans.
const FAREWELL: Duration = Duration::from_secs(2);

/// How often a gateway that runs says what has expired or will soon.
const REMINDING: Duration = Duration::from_hours(24);

/// A gateway that serves. Dropping it ends it at once; [`Self::shutdown`] lets requests in hand
/// finish.
pub struct Running {
    address: SocketAddr,
    admin_address: Option<SocketAddr>,
    shared: Arc<Shared>,
    phase: watch::Sender<Phase>,
    routes: Listening,
    admin: Option<Listening>,
    janitor: JoinHandle<()>,
    drain: Duration,
}

/// A listener, and the end of all its connections.
struct Listening {
    task: JoinHandle<()>,
    ended: mpsc::Receiver<Infallible>,
}

impl Listening {
    /// Waits for the end of both.
    async fn end(&mut self) {
        // It ends at the word; should it have panicked, it has ended too.
        let _ = (&mut self.task).await;
        self.ended.recv().await;
    }
}

/// Why a gateway does not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// It cannot listen at an address.
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// What was passed is no socket that listens.
    Sockets {
        /// Why.
        source: io::Error,
    },
    /// A socket was passed that has neither of the addresses.
    Unnamed {
        /// Its address.
        address: SocketAddr,
    },
    /// The file of the audit trail cannot be written.
    Audit {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The system gives no threads.
    Threads {
        /// Why.
        source: io::Error,
    },
}

impl StartError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        let Self::Listen { source, .. } = self else {
            return None;
        };
        match source.kind() {
            io::ErrorKind::AddrInUse => Some("stop it, or choose another port"),
            io::ErrorKind::PermissionDenied => {
                Some("ports below 1024 need a privilege; choose a higher one")
            }
            io::ErrorKind::AddrNotAvailable => Some("0.0.0.0 and [::] are all of its addresses"),
            _ => None,
        }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen { address, source } => match source.kind() {
                io::ErrorKind::AddrInUse => write!(
                    formatter,
                    "cannot listen on {address}: another program listens there"
                ),
                io::ErrorKind::AddrNotAvailable => write!(
                    formatter,
                    "cannot listen on {address}: this machine has no such address"
                ),
                _ => write!(formatter, "cannot listen on {address}: {source}"),
            },
            Self::Sockets { source } => {
                write!(
                    formatter,
                    "what was passed to listen on is no TCP socket that listens: {source}"
                )
            }
            Self::Unnamed { address } => write!(
                formatter,
                "a socket that listens on {address} was passed, and neither `listen` nor `admin` is that address"
            ),
            Self::Audit { file, source } => write!(
                formatter,
                "the audit trail {} cannot be written: {source}",
                file.display()
            ),
            Self::Threads { source } => {
                write!(formatter, "the crypto workers cannot be started: {source}")
            }
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Listen { source, .. }
            | Self::Sockets { source }
            | Self::Audit { source, .. }
            | Self::Threads { source } => Some(source),
            Self::Unnamed { .. } => None,
        }
    }
}

/// Begins to serve, with these sockets in the place of own ones.
pub(crate) async fn begin(
    mut config: Config,
    mut passed: Vec<std::net::TcpListener>,
) -> Result<Running, StartError> {
    let worker_count = config.limits.workers;
    let workers = Workers::start(worker_count, config.limits.queue);
    let workers = workers.map_err(|source| StartError::Threads { source })?;
    let socket = listen(config.listen, config.reuse_port, &mut passed)?;
    let admin_socket = match config.admin {
        Some(address) => Some(listen(address, config.reuse_port, &mut passed)?),
        None => None,
    };
    if let Some(socket) = passed.first() {
        let address = socket.local_addr();
        return Err(StartError::Unnamed {
            address: address.map_err(|source| StartError::Sockets { source })?,
        });
    }
    let (address, admin_address) = (socket.0, admin_socket.as_ref().map(|(address, _)| *address));
    let audit = match &config.audit {
        None => None,
        Some(path) => {
            let opened = Audit::open(path).map_err(|source| StartError::Audit {
                file: path.clone(),
                source,
            });
            Some(opened?)
        }
    };
    let name = process_name();
    let traces = Traces::new(name.clone());
    traces.configure(config.traces.take());
    let drain = config.timeouts.drain;
    let room = Room::new(config.limits.buffered);
    let memory = Remembered::default();
    let fitting = descriptors::clients_that_fit();
    descriptors::tell_if_out_of_reach(config.limits.connections, fitting);
    let serving = serving(config, &[], &memory);
    let cold = serving
        .routes
        .iter()
        .filter(|route| route.warm_up.is_some());
    let cold = Cold::new(cold.map(|route| route.path().to_owned()));
    let shared = Arc::new(Shared {
        serving: RwLock::new(Arc::new(serving)),
        memory,
        workers,
        askers: Semaphore::new(MOST_ASKED),
        buffers: Arc::default(),
        room,
        clients: Clients::new(worker_count),
        audit,
        traces,
        metrics: GatewayMetrics::default(),
        readiness: Readiness::default(),
        cold,
        background: Mutex::default(),
        draining: AtomicBool::new(false),
        admin: admin_address.is_some(),
        fitting,
        name,
        requests: AtomicU64::new(0),
    });
    let (phase, watching) = watch::channel(Phase::Running);
    let begun = |socket, role| {
        let (alive, ended) = mpsc::channel(1);
        let listener = Listener {
            socket,
            role,
            shared: Arc::clone(&shared),
            phase: watching.clone(),
            alive,
        };
        Listening {
            task: tokio::spawn(listener.run()),
            ended,
        }
    };
    let routes = begun(socket.1, Role::Gateway);
    let admin = admin_socket.map(|(_, socket)| begun(socket, Role::Admin));
    let janitor = tokio::spawn(tidy(Arc::clone(&shared)));
    tracing::info!(%address, admin = admin_address.map(tracing::field::display), "serving");
    Ok(Running {
        address,
        admin_address,
        shared,
        phase,
        routes,
        admin,
        janitor,
        drain,
    })
}

impl Running {
    /// What its connections share.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Where clients are served.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where health and metrics are served, when not beside the routes.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin_address
    }

    /// Every metric, in Prometheus' text format, as the admin listener tells them.
    pub fn metrics(&self) -> String {
        crate::server::admin::exposition(&self.shared, Detail::Everything)
    }

    /// Takes another configuration into use: its routes, limits, times and traces for requests that
    /// come from now on, its certificate for connections that come from now on. Addresses, workers,
    /// the room for messages and the log stay as they were when the gateway started.
    pub fn reload(&self, mut config: Config) {
        self.shared.traces.configure(config.traces.take());
        let mut current = self
            .shared
            .serving
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        descriptors::tell_if_out_of_reach(config.limits.connections, self.shared.fitting);
        let former: Vec<&Route> = current.routes.iter().collect();
        let next = Arc::new(serving(config, &former, &self.shared.memory));
        *current = next;
        drop(current);
        self.shared.metrics.reloads.fetch_add(1, Ordering::Relaxed);
    }

    /// Writes the audit trail into the file that has its name now: the former one may have been
    /// moved away.
    pub fn reopen_audit(&self) {
        if let Some(audit) = &self.shared.audit {
            audit.reopen();
        }
    }

    /// Notes that a changed configuration was not fit for use.
    pub fn reload_failed(&self) {
        self.shared
            .metrics
            .failed_reloads
            .fetch_add(1, Ordering::Relaxed);
    }

    /// Closes the connections to backends that no request uses at the moment; otherwise they stay
    /// for as long as `[timeouts] idle` says.
    pub fn close_idle(&self) {
        self.shared.close_idle();
    }

    /// Ends the conversations with backends and tells them so, as far as they listen; the next
    /// exchange begins a new one. One that is under way in a conversation that ends is sent
    /// again in another, as after any loss.
    // Boxed for the same reason as `Gateway::start`.
    pub fn end_conversations(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            let serving = self.shared.serving();
            let mut farewells = JoinSet::new();
            for route in serving.routes.iter() {
                let Some(side) = &route.outbound else {
                    continue;
                };
                let Some(established) = &side.established else {
                    continue;
                };
                let (contexts, version) = established.drain(&side.endpoint);
                for context in contexts {
                    let parties = Parties::new(&self.shared, &serving, route, side, version);
                    farewells.spawn(async move { parties.cancel(&context).await });
                }
            }
            // Whoever does not hear it in time learns it when the context expires.
            let _ = tokio::time::timeout(FAREWELL, farewells.join_all()).await;
        })
    }

    /// Says at `/readyz` that the gateway will end, and serves on: whoever sends it requests gets
    /// time to notice.
    pub fn announce_end(&self) {
        self.shared.draining.store(true, Ordering::Relaxed);
    }

    /// Stops: accepts nothing more, lets requests in hand finish for as long as `[timeouts] drain`
    /// says, and drops what is left then. Health and metrics are told until then. Returns how
    /// many connections had to be dropped.
    pub async fn shutdown(mut self) -> u64 {
        self.announce_end();
        self.phase.send_replace(Phase::Draining);
        let drained = tokio::time::timeout(self.drain, self.routes.end()).await;
        let mut left = 0;
        if drained.is_ok() {
            self.end_conversations().await;
        } else {
            left = self.shared.metrics.connections.load(Ordering::Relaxed);
            tracing::warn!(connections = left, after = ?self.drain, "connections were dropped at the end of the drain time");
        }
        self.shared.traces.flush(FAREWELL).await;
        self.phase.send_replace(Phase::Ending);
        if drained.is_err() {
            self.routes.ended.recv().await;
        }
        // What stores were asked for clients that have gone. Tries that are cut off stay counted.
        let _ = tokio::time::timeout(FAREWELL, self.shared.workers.all_back()).await;
        if let Some(admin) = &mut self.admin {
            admin.end().await;
        }
        left
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.phase.send_replace(Phase::Ending);
        if let Some(audit) = &self.shared.audit {
            audit.flush();
        }
        self.janitor.abort();
        self.shared.background().abort_all();
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Running")
            .field("address", &self.address)
            .field("admin_address", &self.admin_address)
            .finish_non_exhaustive()
    }
}

/// What the process remembers of messages, whichever route they came to or left from.
#[derive(Debug, Default)]
struct Remembered {
    accepted: ProcessMemory,
    /// Of inbound sides, which are services.
    answers: SentMessages,
    /// Of outbound sides, which are clients.
    requests: SentMessages,
}

fn serving(config: Config, former: &[&Route], memory: &Remembered) -> Serving {
    let idle = config.timeouts.idle;
    for risk in config.risks() {
        let problem = &risk.problem;
        tracing::warn!(
            name = risk.name,
            line = problem.line,
            hint = problem.hint,
            "{}",
            problem.message
        );
    }
    for route in &config.routes {
        let remark = route.inbound.as_ref().and_then(|side| side.remark.as_ref());
        if let Some(remark) = remark {
            tracing::info!(route = route.name, "{remark}");
        }
        let inbound = route.inbound.as_ref();
        if let Some(why) = inbound.and_then(|side| config.refuses_everybody(side)) {
            tracing::warn!(route = route.name, "every request is refused: {why}");
        }
        // It may be meant so, and nobody is to get used to warnings.
        if let Some(other) = route.leads_around(&config.routes) {
            tracing::info!(route = route.name, "{LEADS_AROUND} {}", other.path);
        }
    }
    memory.accepted.reconfigured();
    let dated = dated_in(&config);
    tell(&dated, Timestamp::now());
    let routes: Vec<Route> = config
        .routes
        .into_iter()
        .filter_map(|route| put_into_use(route, idle, former, memory))
        .collect();
    for side in former.iter().flat_map(|route| route.sides()) {
        let successors = routes.iter().flat_map(Route::sides);
        side.replay.retire(successors.map(|side| &*side.replay));
    }
    Serving {
        routes: Routes::new(routes),
        limits: config.limits,
        timeouts: config.timeouts,
        public_url: config.public_url,
        tls: config.tls.map(TlsAcceptor::from),
        dated,
        stores: config.stores,
    }
}

/// A route that was in use under the same name hands over its numbers and what it remembers. What
/// any route has accepted is known to all of them.
fn put_into_use(
    mut config: RouteConfig,
    idle: Duration,
    former: &[&Route],
    memory: &Remembered,
) -> Option<Route> {
    let sides = [
        (&mut config.inbound, &memory.answers),
        (&mut config.outbound, &memory.requests),
    ];
    for (side, sent) in sides {
        if let Some(side) = side {
            let former = former.iter().flat_map(|route| route.sides());
            side.share(&memory.accepted, sent, former);
        }
    }
    let predecessor = former.iter().find(|route| route.name == config.name);
    if let Some(route) = predecessor {
        let stays = route.is_at(&config.path, &config.backend);
        for (new, old) in [
            (&mut config.inbound, &route.inbound),
            (&mut config.outbound, &route.outbound),
        ] {
            if let (Some(new), Some(old)) = (new, old) {
                new.keep_memory_of(old, stays);
            }
        }
    }
    let metrics: Vec<Arc<RouteMetrics>> = predecessor
        .iter()
        .map(|route| Arc::clone(&route.metrics))
        .collect();
    Route::new(config, idle, &metrics)
}

/// Closes connections and lets go of memory that nobody needs any more, and warns of shared keys
/// that are used up soon; and says once a day what expires meanwhile.
async fn tidy(shared: Arc<Shared>) {
    let connections = async {
        loop {
            let serving = shared.serving();
            tokio::time::sleep((serving.timeouts.idle / 4).max(Duration::from_millis(100))).await;
            for route in serving.routes.iter() {
                route.backend.close_idle(route.backend.timeouts().idle);
            }
        }
    };
    let memory = async {
        let mut key_usage = KeyUsageWarnings::default();
        loop {
            tokio::time::sleep(TRIM_INTERVAL).await;
            let serving = shared.serving();
            key_usage.tell(&serving.routes);
            for route in serving.routes.iter() {
                route.backend.shrink(TRIM_INTERVAL);
            }
            shared.buffers.trim();
            shared.workers.trim();
            shared.clients.tidy();
        }
    };
    let validity = async {
        loop {
            tokio::time::sleep(REMINDING).await;
            tell(&shared.serving().dated, Timestamp::now());
        }
    };
    let traces = shared.traces.export();
    tokio::join!(
        connections,
        memory,
        validity,
        stores::watch(&shared),
        traces
    );
}

/// Eight digits that another process hardly has, for names of requests.
fn process_name() -> String {
    use std::hash::{BuildHasher, RandomState};
    format!(
        "{:08x}",
        RandomState::new().hash_one(std::process::id()) >> 32
    )
}
