//! A question to a token service: a request for an assertion, and its answer.
//!
//! The rule kept here: every step has its bound in time and size, nobody follows an answer that
//! leads elsewhere, and a failure tells its cause.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use soapstone::endpoint::{Call, TokenError, TokenRequests, UnsecuredFault};
use soapstone::wss::{AssertionToken, IssuedAssertion, SecureError};

use crate::observe::metrics::RouteMetrics;
use crate::scheduling::class::WorkClass;
use crate::scheduling::endpoint::OutboundEndpoint;
use crate::scheduling::executor::Executor;
use crate::scheduling::session::SessionInUse;
use crate::scheduling::task::{Desk, Task};
use crate::scheduling::workers::NotDone;
use crate::wire::backend::BackendError;
use crate::wire::errand::{Errand, Undone, demand_soap};

/// Largest answer of a token service.
pub(crate) const LARGEST_ANSWER: u64 = 1 << 20;

/// Asks one token service. It needs nothing of the message that an assertion is for.
pub(crate) struct TokenAsker {
    pub(crate) executor: Arc<Executor>,
    pub(crate) route: String,
    /// The endpoint that faces the token service.
    pub(crate) endpoint: Arc<OutboundEndpoint>,
    pub(crate) errand: Errand,
    pub(crate) requests: Arc<TokenRequests>,
    pub(crate) metrics: Arc<RouteMetrics>,
}

/// Why there is no assertion.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The token service does not answer.
    Away(BackendError),
    /// Its answer did not arrive whole, or is no SOAP message.
    Answer {
        /// What it was.
        detail: String,
    },
    /// The request could not be made, or the answer grants nothing.
    Refused {
        /// Why.
        error: TokenError,
        /// What the fault says that the answer was, where it was one without security.
        peer_fault: Option<String>,
    },
    /// The plain request brings no assertion of a user, or one that nobody would accept.
    User(SecureError),
    /// This side cannot secure the request now: the KDC is away, or what holds the key.
    Unsecured(SecureError),
    /// The gateway has too much to do, or too many questions are under way.
    Busy,
    /// It was not finished in time, or the gateway ends.
    Unfinished,
}

impl Failed {
    /// A stable name for metrics and logs.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Away(_) => "token-service-away",
            Self::Answer { .. } => "token-service-answer",
            Self::Refused { .. } => "token-refused",
            Self::User(_) => "not-secured",
            Self::Unsecured(_) => "token-not-secured",
            Self::Busy => "token-busy",
            Self::Unfinished => "token-unfinished",
        }
    }

    /// Whether the gateway itself has too much to do, or lacks something for now: the token service
    /// was not asked.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, Self::Busy | Self::Unsecured(_))
    }

    /// Whether something was slow rather than wrong.
    pub(crate) fn is_timeout(&self) -> bool {
        match self {
            Self::Away(error) => error.is_timeout(),
            _ => matches!(self, Self::Unfinished),
        }
    }

    /// Whether nobody would be answered: there is no connection. What breaks off or takes too long
    /// may do so for the message of one user.
    pub(crate) fn is_of_the_service(&self) -> bool {
        matches!(self, Self::Away(error) if error.is_unreachable())
    }

    /// Whether the token service answered, so that it is there.
    pub(crate) fn is_an_answer(&self) -> bool {
        match self {
            Self::Answer { .. } => true,
            Self::Refused { error, .. } => !matches!(error, TokenError::Unsecurable(_)),
            _ => false,
        }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Away(error) => write!(out, "token service away: {error}"),
            Self::Answer { detail } => write!(out, "no assertion from the token service: {detail}"),
            Self::Refused {
                peer_fault: Some(text),
                ..
            } => write!(
                out,
                "no assertion from the token service: it refused with the unsecured fault {text}"
            ),
            Self::Refused { error, .. } => {
                write!(out, "no assertion from the token service: {error}")
            }
            Self::User(error) => write!(
                out,
                "no assertion of a user in the request, to ask the token service with: {error}"
            ),
            Self::Unsecured(error) => write!(
                out,
                "no assertion from the token service: the request cannot be secured now: {error}"
            ),
            Self::Busy => {
                out.write_str("no assertion from the token service: too much is under way already")
            }
            Self::Unfinished => {
                out.write_str("no assertion from the token service: it took too long")
            }
        }
    }
}

impl From<Undone> for Failed {
    fn from(undone: Undone) -> Self {
        match undone {
            Undone::Backend(error) => Self::Away(error),
            Undone::Answer { detail } => Self::Answer { detail },
            Undone::Busy => Self::Busy,
            Undone::Unfinished => Self::Unfinished,
        }
    }
}

impl TokenAsker {
    /// The longest that a question may take: each of its steps has its own bounds, and this one is
    /// for all of them.
    pub(super) fn patience(&self) -> Duration {
        let timeouts = self.errand.backend.timeouts();
        timeouts.connect + timeouts.response * 2
    }

    /// One request for an assertion, for that user, and its answer.
    pub(super) async fn ask(
        &self,
        user: Option<Arc<AssertionToken>>,
    ) -> Result<IssuedAssertion, Failed> {
        let (asked, requests) = (Arc::clone(&self.endpoint), Arc::clone(&self.requests));
        let (mut question, session) = self
            .work(move |desk| async move {
                let refused = |error| match error {
                    TokenError::Unsecurable(error) if error.is_temporary() => {
                        Failed::Unsecured(error)
                    }
                    error => Failed::Refused {
                        error,
                        peer_fault: None,
                    },
                };
                let session = SessionInUse::begin(&asked, &desk).await;
                let session = session.map_err(|error| refused(TokenError::Unsecurable(error)))?;
                let kerberos = session.as_ref().and_then(SessionInUse::session);
                let buffers = &mut desk.workspace().buffers();
                let mut call = Call::new(jiff::Timestamp::now(), buffers);
                let (side, user) = (&asked.endpoint, user.as_deref());
                let begun = requests.begin(side, user, kerberos, &mut call);
                Ok((begun.map_err(refused)?, session))
            })
            .await?;
        let octets = std::mem::take(&mut question.bytes);
        let version = self.requests.soap();
        let request = self.errand.request(version, &question.action, octets);
        let (head, answer) = self.errand.exchange(request).await?;
        demand_soap(&head)?;
        let (endpoint, requests) = (Arc::clone(&self.endpoint), Arc::clone(&self.requests));
        let concluding = self.work(move |desk| async move {
            let (kept, now) = (answer.clone(), jiff::Timestamp::now());
            let (side, workspace) = (&endpoint.endpoint, desk.workspace());
            let concluded = requests.conclude_in(side, workspace, question, answer, now);
            concluded.await.map_err(|error| {
                let peer_fault = match &error {
                    TokenError::Rejected(_) => {
                        let fault = UnsecuredFault::read(kept, &mut workspace.buffers());
                        fault.map(|fault| fault.text())
                    }
                    _ => None,
                };
                Failed::Refused { error, peer_fault }
            })
        });
        let granted = concluding.await?;
        if let Some(session) = session {
            session.accepted();
        }
        Ok(granted)
    }

    async fn work<T, F>(&self, work: impl FnOnce(Desk) -> F) -> Result<T, Failed>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Failed>> + Send + 'static,
    {
        let stores = Some(Arc::clone(&self.endpoint.stores));
        let task = Task::new(WorkClass::Blocking, stores, work);
        match task.perform(&self.executor, ()).await.0 {
            Ok(result) => result,
            Err(NotDone::Full) => Err(Failed::Busy),
            Err(NotDone::Failed) => Err(Failed::Unfinished),
        }
    }
}

impl fmt::Debug for TokenAsker {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("TokenAsker")
            .field("route", &self.route)
            .field("url", &self.requests.url())
            .finish_non_exhaustive()
    }
}
