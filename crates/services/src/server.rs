//! The HTTP server of the sample services: HTTP/1.1 and HTTP/2 without TLS (prior knowledge),
//! keep-alive, graceful stop.
//!
//! What HTTP itself can tell (no such path, method, media type or size) is told with an HTTP status
//! and plain text; what takes a look into the message is told with a SOAP fault of the message's
//! own version. The one rule it keeps: no request waits for ever, and none is lost by a stop that
//! comes while it is answered.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use crate::answer::Answers;
use crate::config::Config;
use crate::database::Database;
use crate::service::Service;
use crate::start_error::StartError;

/// The sample services.
#[derive(Debug)]
pub struct Services;

impl Services {
    /// Opens the database (creating and filling it if need be), listens, and serves in the
    /// background of the current Tokio runtime.
    ///
    /// # Errors
    /// [`StartError`] when the address or the database cannot be had.
    // Boxed, so that database drivers and HTTP are compiled with this crate and not into each that
    // calls it.
    pub fn start(config: Config) -> Pin<Box<dyn Future<Output = Result<Running, StartError>>>> {
        Box::pin(begin(config))
    }
}

async fn begin(config: Config) -> Result<Running, StartError> {
    let listen = |source| StartError::Listen {
        address: config.listen,
        source,
    };
    // The address first: a port in use is told at once.
    let listener = TcpListener::bind(config.listen).await.map_err(listen)?;
    let address = listener.local_addr().map_err(listen)?;
    let database = Database::open(&config.database)
        .await
        .map_err(StartError::Database)?;
    tracing::info!(%address, database = %config.database, "sample services listen");
    let answers = Arc::new(Answers::open(database, address, &config).await?);
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(run(listener, answers, config.grace, stopped));
    Ok(Running {
        address,
        stop,
        task,
    })
}

/// Runs the services until `stop` is done, then stops gracefully.
///
/// # Errors
/// [`StartError`] when the address or the database cannot be had.
pub async fn serve(config: Config, stop: impl Future<Output = ()>) -> Result<(), StartError> {
    let running = Services::start(config).await?;
    stop.await;
    running.shutdown().await;
    Ok(())
}

/// Services that run. They stop when this is dropped; [`shutdown`](Running::shutdown) also waits
/// for the end.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Running {
    /// The address they listen on, with the real port.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a service.
    pub fn url(&self, service: Service) -> String {
        format!("http://{}{}", self.address, service.path())
    }

    /// Takes no new connection, lets the requests that are being answered end within the configured
    /// time, and closes the database.
    pub async fn shutdown(self) {
        drop(self.stop);
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the sample services did not stop in order");
        }
    }
}

async fn run(
    listener: TcpListener,
    answers: Arc<Answers>,
    grace: Duration,
    mut stopped: oneshot::Receiver<()>,
) {
    /// After a failure to accept, most often for want of file descriptors, others need time to give
    /// some back.
    const PAUSE: Duration = Duration::from_millis(50);
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            // Resolves when the sender is dropped, too.
            _ = &mut stopped => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(stream, answers.clone(), &graceful));
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(PAUSE).await;
                }
            },
            Some(ended) = connections.join_next() => report(ended),
        }
    }
    drop(listener);
    if tokio::time::timeout(grace, graceful.shutdown())
        .await
        .is_err()
    {
        tracing::warn!(
            ?grace,
            "requests were still being answered when the services stopped"
        );
    }
    connections.shutdown().await;
    answers.close().await;
}

fn report(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a connection ended in disorder");
    }
}

fn connection(
    stream: TcpStream,
    answers: Arc<Answers>,
    graceful: &GracefulShutdown,
) -> impl Future<Output = ()> + use<> {
    /// How long a connection may be idle, or take for the head of a request.
    const IDLE: Duration = Duration::from_secs(75);
    // Answers are written whole: waiting to join small packets would only delay them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY cannot be set");
    }
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(IDLE);
    let service = service_fn(move |request| {
        let answers = answers.clone();
        async move { Ok::<_, Infallible>(answers.answer(request).await) }
    });
    let connection = builder
        .serve_connection(TokioIo::new(stream), service)
        .into_owned();
    let connection = graceful.watch(connection);
    async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection broke");
        }
    }
}
