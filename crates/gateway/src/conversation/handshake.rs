//! A handshake with a backend: a request for a security context, its answer, and in the end the
//! word that it is not needed any more.
//!
//! The rule kept here: every step has its bound in time, and a failure tells its cause.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::{StatusCode, Uri};
use soapstone::endpoint::{Handshake, HandshakeError};
use soapstone::wss::{SecurityContext, SoapVersion};
use soapstone_trust::Operation;

use crate::observe::metrics::RouteMetrics;
use crate::route::backend::BackendError;
use crate::route::errand::{Errand, Undone, demand_soap};
use crate::route::side::Side;
use crate::route::{Route, Serving};
use crate::server::gateway::Shared;
use crate::wire::unsecured;
use crate::work::asking::{Desk, Task};
use crate::work::workers::{Effort, NotDone};

/// Everything that a handshake takes, so that it can go on without the message that it began for.
#[derive(Clone)]
pub(crate) struct Parties {
    pub(crate) shared: Arc<Shared>,
    pub(crate) route: String,
    pub(crate) side: Arc<Side>,
    errand: Errand,
    url: Uri,
    pub(crate) metrics: Arc<RouteMetrics>,
    /// Version of the messages that it is for.
    pub(crate) version: SoapVersion,
    /// To connect to the backend.
    pub(crate) connect: Duration,
    /// For the backend's whole answer.
    pub(crate) patience: Duration,
}

/// Why there is no context.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The backend does not answer.
    Backend(BackendError),
    /// Its answer did not arrive whole, or is no SOAP message.
    Answer {
        /// What it was.
        detail: String,
    },
    /// The request could not be made, or the answer grants nothing.
    Handshake {
        /// Why.
        error: HandshakeError,
        /// The code of the fault that the answer was, where it was one without security.
        peer_fault: Option<String>,
    },
    /// The gateway has too much to do.
    Busy,
    /// It was not finished in time, or the gateway ends.
    Unfinished,
}

impl Failed {
    /// A stable name for metrics and logs.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Backend(error) => error.name(),
            Self::Answer { .. } => "handshake-answer",
            Self::Handshake { .. } => "handshake-refused",
            Self::Busy => "handshake-busy",
            Self::Unfinished => "handshake-unfinished",
        }
    }

    /// Whether the gateway itself has too much to do.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, Self::Busy)
    }

    /// Whether something was slow rather than wrong.
    pub(crate) fn is_timeout(&self) -> bool {
        match self {
            Self::Backend(error) => error.is_timeout(),
            _ => matches!(self, Self::Unfinished),
        }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Backend(error) => write!(out, "no conversation with the backend: {error}"),
            Self::Answer { detail } => write!(out, "no conversation with the backend: {detail}"),
            Self::Handshake {
                peer_fault: Some(code),
                ..
            } => write!(
                out,
                "no conversation with the backend: it refused the request for a context with the unsecured fault {code}"
            ),
            Self::Handshake { error, .. } => {
                write!(out, "no conversation with the backend: {error}")
            }
            Self::Busy => {
                out.write_str("no conversation with the backend: the crypto workers are busy")
            }
            Self::Unfinished => {
                out.write_str("no conversation with the backend: the handshake took too long")
            }
        }
    }
}

impl From<Undone> for Failed {
    fn from(undone: Undone) -> Self {
        match undone {
            Undone::Backend(error) => Self::Backend(error),
            Undone::Answer { detail } => Self::Answer { detail },
            Undone::Busy => Self::Busy,
            Undone::Unfinished => Self::Unfinished,
        }
    }
}

impl Parties {
    /// For a handshake of one side of a route with the route's backend.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        serving: &Serving,
        route: &Route,
        side: &Arc<Side>,
        version: SoapVersion,
    ) -> Self {
        let timeouts = route.backend.timeouts();
        Self {
            shared: Arc::clone(shared),
            route: route.name.clone(),
            side: Arc::clone(side),
            errand: shared.errand(serving, &route.backend, version),
            url: route.backend_url.clone(),
            metrics: Arc::clone(&route.metrics),
            version,
            connect: timeouts.connect,
            patience: timeouts.response,
        }
    }

    /// One request for a context, or for a renewal, and its answer.
    pub(crate) async fn ask(
        &self,
        renewed: Option<Arc<SecurityContext>>,
    ) -> Result<SecurityContext, Failed> {
        let (endpoint, url, version) = (
            Arc::clone(&self.side.endpoint),
            self.url.to_string(),
            self.version,
        );
        let mut handshake = self
            .work(move |desk| async move {
                let buffers = &mut desk.workspace().buffers();
                let now = jiff::Timestamp::now();
                let begun = match renewed {
                    Some(context) => endpoint.renew(&context, &url, version, now, buffers),
                    None => endpoint.begin(&url, version, now, buffers),
                };
                begun.map_err(|error| Failed::Handshake {
                    error,
                    peer_fault: None,
                })
            })
            .await?;
        let octets = std::mem::take(&mut handshake.bytes);
        let (_, answer) = self.exchange(&handshake.action, octets).await?;
        let side = self.side.clone();
        self.work(move |desk| async move { conclude(&side, handshake, answer, &desk).await })
            .await
    }

    /// Tells the backend that a context is not needed any more: with the context's key or, where
    /// that is not heard, as a new context is asked for. Nothing depends on it: a context ends
    /// by itself. Not where the policy rules it out.
    pub(crate) async fn cancel(&self, context: &Arc<SecurityContext>) {
        let conversation = self.side.endpoint.conversation();
        if !conversation.is_some_and(|it| it.has(Operation::Cancel)) {
            return;
        }
        for as_bootstrap in [false, true] {
            let (endpoint, url, version) = (
                Arc::clone(&self.side.endpoint),
                self.url.to_string(),
                self.version,
            );
            let ending = Arc::clone(context);
            let made = self
                .work(move |desk| async move {
                    let buffers = &mut desk.workspace().buffers();
                    let now = jiff::Timestamp::now();
                    let made = endpoint.cancel(&ending, as_bootstrap, &url, version, now, buffers);
                    made.map_err(|error| Failed::Handshake {
                        error: HandshakeError::Unsecurable(error),
                        peer_fault: None,
                    })
                })
                .await;
            let outcome = match made {
                Ok((octets, action)) => self.exchange(&action, octets).await,
                Err(failed) => Err(failed),
            };
            match outcome {
                Ok((status, _)) if status.is_success() => {
                    tracing::info!(
                        route = self.route,
                        context = context.identifier,
                        "the conversation with the backend was ended"
                    );
                    return;
                }
                Ok((status, _)) => tracing::debug!(%status, as_bootstrap, "not cancelled"),
                Err(failed) => {
                    tracing::debug!(detail = %failed, as_bootstrap, "not cancelled");
                    return;
                }
            }
        }
    }

    /// Sends a request, and waits for all of its answer.
    async fn exchange(
        &self,
        action: &str,
        octets: Vec<u8>,
    ) -> Result<(StatusCode, Vec<u8>), Failed> {
        let request = self.errand.request(action, octets);
        let (head, octets) = self.errand.exchange(request).await?;
        demand_soap(&head)?;
        Ok((head.status, octets))
    }

    async fn work<T, F>(&self, work: impl FnOnce(Desk) -> F) -> Result<T, Failed>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Failed>> + Send + 'static,
    {
        let task = Task::new(Effort::Heavy, Some(Arc::clone(&self.side)), work);
        match task.perform(&self.shared, ()).await.0 {
            Ok(result) => result,
            Err(NotDone::Full) => Err(Failed::Busy),
            Err(NotDone::Failed) => Err(Failed::Unfinished),
        }
    }
}

/// Judges the answer. A peer that refuses says so in a fault that it mostly does not secure.
async fn conclude(
    side: &Side,
    handshake: Handshake,
    answer: Vec<u8>,
    desk: &Desk,
) -> Result<SecurityContext, Failed> {
    let kept = answer.clone();
    let now = jiff::Timestamp::now();
    let concluded = side
        .endpoint
        .conclude_in(desk.workspace(), handshake, answer, now)
        .await;
    concluded.map_err(|error| {
        let buffers = &mut desk.workspace().buffers();
        let peer_fault = match &error {
            HandshakeError::Rejected(_) => unsecured::fault_code(kept, buffers),
            _ => None,
        };
        Failed::Handshake { error, peer_fault }
    })
}

impl fmt::Debug for Parties {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Parties")
            .field("route", &self.route)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}
