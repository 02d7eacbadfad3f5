//! The sockets of a registry, and its end.
//!
//! The rule kept here: a registry that was started can be stopped, and then everything it began is
//! over.

use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::rt::{Read, Write};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use soapstone_registry::Registry;
use soapstone_store::{StoreError, Stores};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::answer::{self, Signed, Turns};
use crate::calls;
use crate::config::Config;
use crate::ganglia;
use crate::peers::Peers;
use crate::reload::{self, Hangups, Started};
use crate::shared::Shared;
use crate::stalling::Stalling;
use crate::storage::{Storage, StorageError};
use crate::tls::{CurrentTls, LeftToTls};

/// How long a connection may be idle, or take for a TLS handshake or the head of a request.
const IDLE: Duration = Duration::from_secs(10);
/// Connections to one address at once; others wait to be accepted.
const CONNECTIONS: usize = 1024;

/// How many milliseconds the end of connections may take.
const CLOSING: usize = 1_000;

/// Why a registry cannot start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// An address cannot be had.
    Listen {
        /// Which.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// Entries cannot be read.
    Storage {
        /// Where they are, without a password.
        location: String,
        /// Why not.
        source: StorageError,
    },
    /// The store of messages that were seen cannot be opened.
    Store(StoreError),
}

impl fmt::Display for StartError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen { address, source } => write!(out, "cannot listen on {address}: {source}"),
            Self::Storage { location, source } => write!(out, "{location}: {source}"),
            Self::Store(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Listen { source, .. } => Some(source),
            Self::Storage { source, .. } => Some(source),
            Self::Store(error) => Some(error),
        }
    }
}

/// A registry that serves. Dropping it ends it.
pub struct Running {
    address: SocketAddr,
    inquiry: Option<SocketAddr>,
    ganglia: Option<SocketAddr>,
    calls: Option<SocketAddr>,
    tasks: JoinSet<()>,
    shared: Arc<Shared>,
    tls: CurrentTls,
    /// The file of the configuration.
    file: PathBuf,
    started: Started,
    hangups: Hangups,
}

impl Running {
    /// Where signed messages arrive, with the real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where inquiries without a signature arrive.
    pub fn inquiry(&self) -> Option<SocketAddr> {
        self.inquiry
    }

    /// Where Ganglia connects.
    pub fn ganglia(&self) -> Option<SocketAddr> {
        self.ganglia
    }

    /// Where operators read the log of calls.
    pub fn calls(&self) -> Option<SocketAddr> {
        self.calls
    }

    /// Ends when the database has failed: the registry is to be ended, and started anew.
    pub async fn failed(&self) {
        self.shared.broken().await;
    }

    /// Takes changes of `[tls]` and `[[publishers]]` into use for as long as it is waited for. See
    /// `SIGHUP` and the files of the configuration. A signal that came since the start counts.
    pub async fn follow_files(&self) -> Infallible {
        let (started, hangups) = (&self.started, &self.hangups);
        reload::follow(&self.file, started, hangups, &self.tls, &self.shared).await
    }

    /// Ends it. What was kept is kept.
    pub async fn shutdown(mut self) {
        self.tasks.shutdown().await;
        // Connections that were told to end let go of it in a moment.
        for _ in 0..CLOSING {
            if Arc::strong_count(&self.shared) == 1 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        if let Some(shared) = Arc::into_inner(self.shared) {
            shared.close().await;
        }
    }
}

/// Opens the storage, listens, and serves in the background. From its first moment on, `SIGHUP`
/// does not end the process.
///
/// # Errors
///
/// What cannot be had.
// Boxed, so that drivers and HTTP are compiled with this crate and not into each that calls it.
pub fn start(config: Config) -> Pin<Box<dyn Future<Output = Result<Running, StartError>> + Send>> {
    Box::pin(begin(config))
}

async fn begin(config: Config) -> Result<Running, StartError> {
    // To open the storage may take long, and the default of the signal is the end.
    let hangups = Hangups::listen();
    let listener = listen(config.listen).await?;
    let inquiries = match config.inquiry {
        Some(address) => Some(listen(address).await?),
        None => None,
    };
    let metrics = match &config.ganglia {
        Some(ganglia) => Some((listen(ganglia.listen).await?, ganglia.cluster.clone())),
        None => None,
    };
    let log = match config.calls {
        Some(calls) => Some((listen(calls.listen).await?, calls.access, calls.retention)),
        None => None,
    };
    let retention = log.as_ref().map(|(_, _, retention)| *retention);
    let opened = Storage::open(&config.database, retention).await;
    let (storage, records) = opened.map_err(|source| StartError::Storage {
        location: config.database.to_string(),
        source,
    })?;
    let entries = records.len();
    let registry = Registry::new(config.publishers, config.limits, records);
    let shared = Arc::new(Shared::new(registry, storage));
    let stores = Stores::default();
    let replay = stores
        .replay(config.service.replay())
        .map_err(StartError::Store)?;
    let contexts = stores
        .contexts(config.service.conversations())
        .map_err(StartError::Store)?;
    let address = listener.1;
    tracing::info!(%address, database = %config.database, entries, "registry serves");
    let left = LeftToTls::by(&config.service);
    let signed = Arc::new(Signed::new(
        config.service,
        replay,
        contexts,
        Arc::clone(&shared),
    ));
    let tls = CurrentTls::new(config.tls.as_ref());
    let mut tasks = JoinSet::new();
    tasks.spawn(accept(listener.0, Some(tls.clone()), move |request| {
        Arc::clone(&signed).answer(request)
    }));
    let inquiry = inquiries.map(|(listener, address)| {
        let (shared, turns) = (Arc::clone(&shared), Arc::new(Turns::new()));
        let current = tls.clone();
        tasks.spawn(accept(listener, Some(tls.clone()), move |request| {
            let scheme = match current.handshakes() {
                Some(_) => "https",
                None => "http",
            };
            answer::inquire(Arc::clone(&shared), Arc::clone(&turns), scheme, request)
        }));
        address
    });
    let ganglia = metrics.map(|((listener, address), cluster)| {
        tasks.spawn(ganglia::serve(listener, cluster, Arc::clone(&shared)));
        address
    });
    shared.expire().await;
    let calls = log.map(|((listener, address), access, _)| {
        let (reading, access) = (Arc::clone(&shared), Arc::new(access));
        tasks.spawn(accept(listener, None, move |request| {
            calls::answer(Arc::clone(&reading), Arc::clone(&access), request)
        }));
        tasks.spawn(calls::expire(Arc::clone(&shared)));
        address
    });
    for source in config.sources {
        tasks.spawn(ganglia::poll(source, Arc::clone(&shared)));
    }
    Ok(Running {
        address,
        inquiry,
        ganglia,
        calls,
        tasks,
        shared,
        tls,
        file: config.file,
        started: Started {
            files: config.files,
            at_start: config.at_start,
            left,
        },
        hangups,
    })
}

async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let failed = |source| StartError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// Serves the connections to one address, with TLS where there is some. They end with this task.
async fn accept<A, F>(listener: TcpListener, tls: Option<CurrentTls>, answer: A)
where
    A: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Full<Bytes>>> + Send + 'static,
{
    let mut connections = JoinSet::new();
    let peers = Peers::default();
    loop {
        tokio::select! {
            accepted = listener.accept(), if connections.len() < CONNECTIONS => {
                let Ok((stream, peer)) = accepted else {
                    // Most often there are no file descriptors, and others give some back.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                };
                let Some(counted) = peers.one_more(peer.ip()) else {
                    tracing::debug!(%peer, "an address has too many connections");
                    continue;
                };
                let handshakes = tls.as_ref().and_then(CurrentTls::handshakes);
                let answer = answer.clone();
                connections.spawn(async move {
                    let _counted = counted;
                    let Some(handshakes) = handshakes else {
                        return serve(TokioIo::new(stream), answer).await;
                    };
                    match tokio::time::timeout(IDLE, handshakes.accept(stream)).await {
                        Ok(Ok(stream)) => serve(TokioIo::new(stream), answer).await,
                        Ok(Err(error)) => {
                            tracing::info!(%peer, %error, "the TLS handshake failed");
                        }
                        Err(_) => tracing::info!(%peer, "the TLS handshake was not finished in time"),
                    }
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Serves one connection to its end.
async fn serve<S, A, F>(stream: S, answer: A)
where
    S: Read + Write + Unpin,
    A: Fn(Request<Incoming>) -> F,
    F: Future<Output = Response<Full<Bytes>>>,
{
    let service = service_fn(move |request| {
        let answering = answer(request);
        async move { Ok::<_, Infallible>(answering.await) }
    });
    let serving = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .serve_connection(Stalling::new(stream), service);
    if let Err(error) = serving.await {
        tracing::debug!(%error, "a connection broke");
    }
}
