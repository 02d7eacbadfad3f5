//! A running gateway: its sockets, its workers, the configuration in use, and its end.
//!
//! The rule kept here: a gateway that was started can be stopped, and then everything it began is
//! over.

use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};

use super::current::Current;
use super::explaining::RefusedMessage;
use super::listener::{Listener, Phase, Role};
use super::registry::{self, Discovered, RegistryClient};
use super::snapshot::exposition;
use super::sockets::listen;
use super::start_error::StartError;
use super::state::State;
use super::{descriptors, janitor, notices, revocation};
use crate::config::Config;
use crate::config::validity::tell;
use crate::exchange::resources::{RequestNames, Resources};
use crate::observe::audit::Audit;
use crate::observe::calls::CallLog;
use crate::observe::changes::Changes;
use crate::observe::metrics::{Detail, GatewayMetrics};
use crate::observe::record::Records;
use crate::observe::traces::Traces;
use crate::route::build::{self, Opened, RouteResources};
use crate::route::remembered::Remembered;
use crate::route::serving::Serving;
use crate::scheduling::background::Background;
use crate::scheduling::executor::Executor;
use crate::shares::Clients;
use crate::wire::memory::MessageMemory;

/// How long a gateway that ends waits for backends to hear that conversations are over, and for the
/// collector of traces to take the last spans.
const FAREWELL: Duration = Duration::from_secs(2);

/// A gateway that serves. Dropping it ends it at once; [`Self::shutdown`] lets requests in hand
/// finish.
pub struct Running {
    address: SocketAddr,
    admin_address: Option<SocketAddr>,
    state: Arc<State>,
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

/// Begins to serve, with these sockets in the place of own ones.
pub(crate) async fn begin(
    mut config: Config,
    mut passed: Vec<std::net::TcpListener>,
) -> Result<Running, StartError> {
    let worker_count = config.limits.workers;
    let metrics = Arc::<GatewayMetrics>::default();
    let executor = Executor::start(worker_count, config.limits.queue, Arc::clone(&metrics));
    let executor = executor.map_err(|source| StartError::Threads { source })?;
    let socket = listen(config.listen, config.reuse_port, &mut passed)?;
    let admin = config.admin.take();
    let admin_socket = match &admin {
        Some(admin) => Some(listen(admin.listen, config.reuse_port, &mut passed)?),
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
    let records = match config.record.clone() {
        None => None,
        Some(record) => {
            let records = Records::new(record, &name);
            Some(records.map_err(|source| StartError::Records { source })?)
        }
    };
    let traces = Traces::new(name.clone());
    traces.configure(config.traces.take());
    let drain = config.timeouts.drain;
    let discovered = Discovered::begin(config.sources());
    config = config.resolved(&discovered.known());
    let memory = MessageMemory::new(config.limits.buffered);
    let fitting = descriptors::clients_that_fit();
    descriptors::tell_if_out_of_reach(config.limits.connections, fitting);
    let memory_of_registry = memory.clone();
    let routes = RouteResources {
        executor: Arc::clone(&executor),
        background: Arc::new(Background::new()),
        memory: memory.clone(),
        remembered: Remembered::default(),
        revocation: Arc::default(),
        violations: Arc::default(),
        changes: Changes::default(),
    };
    record_violations(&config, &routes)?;
    // Before the first request: where answers are demanded, it would be refused.
    let revocation = config.revocation.as_ref();
    if let Some(folder) = revocation.and_then(|it| it.folder.as_ref()) {
        revocation::restore(folder, &routes.revocation);
    }
    let logs_calls = config.registry.as_ref().is_some_and(|it| it.calls);
    let resources = Resources {
        calls: logs_calls.then(|| CallLog::new(name.clone())),
        executor,
        memory,
        clients: Clients::new(worker_count),
        audit,
        records,
        traces,
        metrics,
        changes: routes.changes.clone(),
        requests: RequestNames::new(name),
    };
    let registry = match config.registry.take() {
        None => None,
        Some(spec) => {
            let client = RegistryClient::new(spec, memory_of_registry);
            client.map_err(|source| StartError::Registry { source })?
        }
    };
    let current = Current::new(build(Opened::new(config)?, None, &routes));
    let state = State::new(
        current,
        resources,
        routes,
        admin,
        fitting,
        (registry, discovered),
    );
    let state = Arc::new(state);
    let (phase, watching) = watch::channel(Phase::Running);
    let begun = |socket, role| {
        let (alive, ended) = mpsc::channel(1);
        let listener = Listener {
            socket,
            role,
            state: Arc::clone(&state),
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
    let janitor = tokio::spawn(janitor::tidy(Arc::clone(&state)));
    tracing::info!(%address, admin = admin_address.map(tracing::field::display), "serving");
    Ok(Running {
        address,
        admin_address,
        state,
        phase,
        routes,
        admin,
        janitor,
        drain,
    })
}

impl Running {
    /// What its connections share.
    pub(super) fn state(&self) -> &Arc<State> {
        &self.state
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
        exposition(&self.state, Detail::Everything)
    }

    /// Has refused messages that were recorded explained at the admin listener's console: one at a
    /// time, on a thread that gives way to all others. What was handed over first stays.
    pub fn explain_with(&self, explain: impl Fn(RefusedMessage) -> String + Send + Sync + 'static) {
        self.state.explaining.set(Arc::new(explain));
    }

    /// Takes another configuration into use: its routes, limits, times and traces for requests that
    /// come from now on, its certificate for connections that come from now on, and who may ask at
    /// `admin`. Addresses, workers, the room for messages and the log stay as they were when
    /// the gateway started. Where a store cannot be opened any more, the log says so, and the
    /// former configuration stays in use.
    pub fn reload(&self, config: Config) {
        if let Err(error) = self.take_into_use(config) {
            self.tell_unusable(&error);
        }
    }

    /// Counts and tells that a configuration could not be taken into use.
    pub(super) fn tell_unusable(&self, error: &StartError) {
        self.reload_failed();
        tracing::error!(%error, "the changed configuration cannot be used; the former one stays in use");
    }

    /// The same.
    ///
    /// # Errors
    ///
    /// When a store cannot be opened any more; then the former configuration stays in use.
    pub(super) fn take_into_use(&self, mut config: Config) -> Result<(), StartError> {
        let state = &self.state;
        let traces = config.traces.take();
        let admin = config.admin.take();
        state.discovered.take_over(config.sources());
        let config = config.resolved(&state.discovered.known());
        let opened = Opened::new(config)?;
        record_violations(opened.config(), &state.routes)?;
        let connections = opened.config().limits.connections;
        descriptors::tell_if_out_of_reach(connections, state.fitting);
        state
            .current
            .replace(|former| build(opened, Some(former), &state.routes));
        state.resources.traces.configure(traces);
        state.replace_admin(admin);
        let metrics = &state.resources.metrics;
        metrics.reloads.fetch_add(1, Ordering::Relaxed);
        state.resources.changes.tell();
        Ok(())
    }

    /// Writes the audit trail into the file that has its name now: the former one may have been
    /// moved away.
    pub fn reopen_audit(&self) {
        if let Some(audit) = &self.state.resources.audit {
            audit.reopen();
        }
    }

    /// Notes that a changed configuration was not fit for use.
    pub fn reload_failed(&self) {
        let metrics = &self.state.resources.metrics;
        metrics.failed_reloads.fetch_add(1, Ordering::Relaxed);
    }

    /// Closes the connections to backends that no request uses at the moment; otherwise they stay
    /// for as long as `[timeouts] idle` says.
    pub fn close_idle(&self) {
        self.state.current.close_idle();
    }

    /// Ends the conversations with backends and tells them so, as far as they listen; and the
    /// assertions of token services, where the file says so. The next exchange begins a new one.
    /// One that is under way in a conversation that ends is sent again in another, as after any
    /// loss.
    // Boxed for the same reason as `Gateway::start`.
    pub fn end_conversations(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            let mut farewells = JoinSet::new();
            for route in self.state.current.serving().routes.iter() {
                let upstreams = route.upstreams();
                for conversation in upstreams.filter_map(|it| it.conversation.as_ref()) {
                    conversation.end(&mut farewells);
                }
                let upstreams = route.upstreams();
                for tokens in upstreams.filter_map(|it| it.tokens.as_ref()) {
                    tokens.end(&mut farewells);
                }
            }
            // Whoever does not hear it in time learns it when the context expires.
            let _ = tokio::time::timeout(FAREWELL, farewells.join_all()).await;
        })
    }

    /// Says at `/readyz` that the gateway will end, and serves on: whoever sends it requests gets
    /// time to notice.
    pub fn announce_end(&self) {
        self.state.announce_end();
    }

    /// Stops: accepts nothing more, lets requests in hand finish for as long as `[timeouts] drain`
    /// says, and drops what is left then. Health and metrics are told until then. Returns how
    /// many connections had to be dropped.
    pub async fn shutdown(mut self) -> u64 {
        self.announce_end();
        if let Some(registry) = &self.state.registry {
            // A registry that is away learns it from the silence.
            let _ = tokio::time::timeout(FAREWELL, registry::withdraw(&self.state, registry)).await;
        }
        self.phase.send_replace(Phase::Draining);
        let drained = tokio::time::timeout(self.drain, self.routes.end()).await;
        let mut left = 0;
        if drained.is_ok() {
            self.end_conversations().await;
        } else {
            let metrics = &self.state.resources.metrics;
            left = metrics.connections.load(Ordering::Relaxed);
            tracing::warn!(connections = left, after = ?self.drain, "connections were dropped at the end of the drain time");
        }
        if let Some(registry) = &self.state.registry {
            // Calls that were not told of in time are lost with the process.
            let telling = registry::log_last_calls(&self.state, registry);
            let _ = tokio::time::timeout(FAREWELL, telling).await;
        }
        self.state.resources.traces.flush(FAREWELL).await;
        self.phase.send_replace(Phase::Ending);
        if drained.is_err() {
            self.routes.ended.recv().await;
        }
        let workers = self.state.resources.executor.workers();
        // What stores were asked for clients that have gone. Tries that are cut off stay counted.
        let _ = tokio::time::timeout(FAREWELL, workers.all_back()).await;
        let _ = tokio::time::timeout(FAREWELL, self.state.explaining.end()).await;
        if let Some(admin) = &mut self.admin {
            admin.end().await;
        }
        left
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.phase.send_replace(Phase::Ending);
        if let Some(audit) = &self.state.resources.audit {
            audit.flush();
        }
        if let Some(agreements) = &self.state.current.serving().agreements {
            agreements.finish();
            self.state.routes.violations.flush(FAREWELL);
        }
        self.janitor.abort();
        self.state.routes.background.abort();
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

/// Has the violations of agreements recorded as a configuration says.
fn record_violations(config: &Config, routes: &RouteResources) -> Result<(), StartError> {
    let Some(spec) = &config.agreements else {
        return Ok(());
    };
    let configured = routes.violations.configure(&spec.records, &spec.identity);
    configured.map_err(|source| StartError::Violations {
        file: spec.records.clone(),
        source,
    })
}

/// Eight digits that another process hardly has, for names of requests.
fn process_name() -> String {
    use std::hash::{BuildHasher, RandomState};
    format!(
        "{:08x}",
        RandomState::new().hash_one(std::process::id()) >> 32
    )
}

/// Builds what runs of a configuration, and tells what the operator should know of it.
fn build(opened: Opened, former: Option<&Serving>, resources: &RouteResources) -> Serving {
    notices::tell(opened.config());
    let serving = build::serving(opened, former, resources);
    tell(&serving.dated, Timestamp::now());
    serving
}
