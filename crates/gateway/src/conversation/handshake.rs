//! A handshake with a backend: a request for a security context, its answer, and in the end the
//! word that it is not needed any more.
//!
//! The rule kept here: every step has its bound in time, and a failure tells its cause.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use soapstone::endpoint::{Call, Calling, Handshake, HandshakeError, Handshakes, UnsecuredFault};
use soapstone::trust::{Operation, TrustError};
use soapstone::wss::{KerberosSession, SecureError, SecurityContext, SoapVersion};

use crate::issued::entries::Granted;
use crate::issued::failed as token;
use crate::issued::tokens::IssuedTokens;
use crate::observe::metrics::RouteMetrics;
use crate::scheduling::endpoint::OutboundEndpoint;
use crate::scheduling::executor::Executor;
use crate::scheduling::own_message::{OwnMessage, work_on_own_message};
use crate::scheduling::task::Desk;
use crate::wire::backend::BackendError;
use crate::wire::errand::{Errand, Undone};

/// Asks one backend for security contexts. It needs nothing of the message that a handshake began
/// for.
pub(crate) struct Handshaker {
    pub(crate) executor: Arc<Executor>,
    pub(crate) route: String,
    pub(crate) endpoint: Arc<OutboundEndpoint>,
    pub(crate) errand: Errand,
    /// The backend's.
    pub(crate) url: String,
    /// The assertions that begin conversations, where a token service makes these.
    pub(crate) tokens: Option<Arc<IssuedTokens>>,
    pub(crate) metrics: Arc<RouteMetrics>,
}

/// A renewal that waits for nobody but the backend.
pub(super) struct Renewal {
    context: Arc<SecurityContext>,
    session: Option<KerberosSession>,
}

/// The assertion of a token service that a request shows, where one makes these.
pub(super) type Shown = Option<Arc<Granted>>;

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
        /// What the fault says that the answer was, where it was one without security.
        peer_fault: Option<String>,
        /// Whether the answer is a fault that blames a token of the request. The fault is proven,
        /// or it claims no security.
        blames_token: bool,
    },
    /// This side cannot secure the request now: the KDC is away, or what holds the key.
    Unsecured(SecureError),
    /// There is no assertion to begin with.
    Token(Arc<token::Failed>),
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
            Self::Unsecured(_) => "handshake-not-secured",
            Self::Token(failed) => failed.name(),
            Self::Busy => "handshake-busy",
            Self::Unfinished => "handshake-unfinished",
        }
    }

    /// Whether the gateway itself has too much to do, or lacks something for now: the backend was
    /// not asked.
    pub(crate) fn is_busy(&self) -> bool {
        match self {
            Self::Token(failed) => failed.is_busy(),
            _ => matches!(self, Self::Busy | Self::Unsecured(_)),
        }
    }

    /// Whether the backend says that it refuses the assertion, or another token of the request.
    fn blames_token(&self) -> bool {
        matches!(
            self,
            Self::Handshake {
                blames_token: true,
                ..
            }
        )
    }

    /// Whether something was slow rather than wrong.
    pub(crate) fn is_timeout(&self) -> bool {
        match self {
            Self::Backend(error) => error.is_timeout(),
            Self::Token(failed) => failed.is_timeout(),
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
                peer_fault: Some(text),
                ..
            } => write!(
                out,
                "no conversation with the backend: it refused the request for a context with the unsecured fault {text}"
            ),
            Self::Handshake { error, .. } => {
                write!(out, "no conversation with the backend: {error}")
            }
            Self::Unsecured(error) => write!(
                out,
                "no conversation with the backend: the request for a context cannot be secured now: {error}"
            ),
            Self::Token(failed) => write!(out, "no conversation with the backend: {failed}"),
            Self::Busy => {
                out.write_str("no conversation with the backend: the crypto workers are busy")
            }
            Self::Unfinished => {
                out.write_str("no conversation with the backend: the handshake took too long")
            }
        }
    }
}

impl From<HandshakeError> for Failed {
    fn from(error: HandshakeError) -> Self {
        match error {
            HandshakeError::Unsecurable(error) if error.is_temporary() => Self::Unsecured(error),
            error => Self::Handshake {
                error,
                peer_fault: None,
                blames_token: false,
            },
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

impl Handshaker {
    /// What a renewal needs before it keeps exchanges waiting.
    pub(super) async fn begin_renewal(
        &self,
        context: &Arc<SecurityContext>,
    ) -> Result<Renewal, Failed> {
        let asked = Arc::clone(&self.endpoint);
        let session = self.work(OwnMessage::Question, move |desk| async move {
            session(&asked, &desk).await
        });
        Ok(Renewal {
            context: Arc::clone(context),
            session: session.await?,
        })
    }

    /// The longest that a handshake may take: a token service has its own time before it.
    pub(super) fn patience(&self) -> Duration {
        let tokens = self.tokens.as_ref();
        let of_tokens = tokens.map_or(Duration::ZERO, |tokens| tokens.patience());
        of_tokens + self.errand.patience()
    }

    /// The assertion to begin with, asked for where it is not at hand. To follow a context, it has
    /// to end later than that, as far as the token service gives one.
    pub(super) async fn token(&self, before: Option<&SecurityContext>) -> Result<Shown, Failed> {
        let Some(tokens) = &self.tokens else {
            return Ok(None);
        };
        let token = match before {
            Some(context) => tokens.obtain_beyond(context.expires).await,
            None => tokens.obtain(None).await,
        };
        token.map(Some).map_err(Failed::Token)
    }

    /// Whether an assertion is at hand or may be asked for, where one begins conversations.
    ///
    /// # Errors
    ///
    /// What the token service failed of a moment ago.
    pub(super) fn may_have_token(&self) -> Result<(), Arc<Failed>> {
        let tokens = self.tokens.as_ref();
        let pausing = tokens.map_or(Ok(()), |tokens| tokens.not_pausing());
        pausing.map_err(|failed| Arc::new(Failed::Token(failed)))
    }

    /// Asks for another assertion than the one that the backend refused, perhaps for what it is:
    /// where the fault says so, and it is not too soon. The next handshake begins with the one that
    /// is there by then.
    pub(super) fn doubt(&self, shown: &Shown, failed: &Failed, may_ask: impl FnOnce() -> bool) {
        if let (Some(tokens), Some(token)) = (&self.tokens, shown)
            && failed.blames_token()
        {
            tokens.ask_for_another(token, may_ask);
        }
    }

    /// One request for a context, or for a renewal, and its answer.
    pub(super) async fn ask(
        &self,
        version: SoapVersion,
        token: Shown,
        renewal: Option<Renewal>,
    ) -> Result<SecurityContext, Failed> {
        let (asked, url) = (Arc::clone(&self.endpoint), self.url.clone());
        let mut handshake = self
            .work(OwnMessage::Question, move |desk| async move {
                let (renewed, session) = match renewal {
                    Some(Renewal { context, session }) => (Some(context), session),
                    None => (None, session(&asked, &desk).await?),
                };
                let buffers = &mut desk.workspace().buffers();
                let mut call = Call::new(jiff::Timestamp::now(), buffers);
                let token = token.as_deref().map(|granted| &granted.assertion);
                let handshakes = handshakes(&asked)?
                    .with_session(session.as_ref())
                    .with_assertion(token);
                let begun = match renewed {
                    Some(context) => handshakes.renew(&context, &url, version, &mut call),
                    None => handshakes.begin(&url, version, &mut call),
                };
                begun.map_err(Failed::from)
            })
            .await?;
        let octets = std::mem::take(&mut handshake.bytes);
        let (_, answer) = self.errand.ask(version, &handshake.action, octets).await?;
        let endpoint = Arc::clone(&self.endpoint);
        self.work(OwnMessage::Answer, move |desk| async move {
            conclude(&endpoint, handshake, answer, &desk).await
        })
        .await
    }

    /// Tells the backend that a context is not needed any more: with the context's key or, where
    /// that is not heard, as a new context is asked for. Nothing depends on it: a context ends
    /// by itself. Not where the policy rules it out.
    pub(super) async fn cancel(&self, version: SoapVersion, context: &Arc<SecurityContext>) {
        let conversation = self.endpoint.endpoint.conversation();
        if !conversation.is_some_and(|it| it.has(Operation::Cancel)) {
            return;
        }
        for as_bootstrap in [false, true] {
            let (asked, url) = (Arc::clone(&self.endpoint), self.url.clone());
            let ending = Arc::clone(context);
            // Nobody is asked for one now: it may be the end of the gateway.
            let tokens = self.tokens.as_ref().filter(|_| as_bootstrap);
            let token = tokens.and_then(|tokens| tokens.at_hand(None));
            let made = self
                .work(OwnMessage::Question, move |desk| async move {
                    let session = match as_bootstrap {
                        true => session(&asked, &desk).await?,
                        false => None,
                    };
                    let buffers = &mut desk.workspace().buffers();
                    let mut call = Call::new(jiff::Timestamp::now(), buffers);
                    let token = token.as_deref().map(|granted| &granted.assertion);
                    let handshakes = handshakes(&asked)?
                        .with_session(session.as_ref())
                        .with_assertion(token);
                    let made = handshakes.cancel(&ending, as_bootstrap, &url, version, &mut call);
                    made.map_err(|error| HandshakeError::Unsecurable(error).into())
                })
                .await;
            let outcome = match made {
                Ok((octets, action)) => {
                    let asked = self.errand.ask(version, &action, octets).await;
                    asked.map_err(Failed::from)
                }
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

    async fn work<T, F>(&self, about: OwnMessage, work: impl FnOnce(Desk) -> F) -> Result<T, Failed>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Failed>> + Send + 'static,
    {
        work_on_own_message(&self.executor, &self.endpoint, about, work).await
    }
}

/// What begins and ends the conversations of an endpoint. One without them has no handshaker.
fn handshakes(side: &OutboundEndpoint) -> Result<Handshakes<'_, Calling>, Failed> {
    side.endpoint.handshakes().ok_or(Failed::Unfinished)
}

/// The Kerberos session of a request for a context, where a token begins conversations. It waits
/// for the KDC apart from the workers.
async fn session(side: &OutboundEndpoint, desk: &Desk) -> Result<Option<KerberosSession>, Failed> {
    let now = jiff::Timestamp::now();
    let session = side.endpoint.handshake_session(desk.workspace(), now);
    let session = session.await;
    session.map_err(|error| HandshakeError::Unsecurable(error).into())
}

/// Judges the answer. A peer that refuses says so in a fault that it mostly does not secure.
async fn conclude(
    side: &OutboundEndpoint,
    handshake: Handshake,
    answer: Vec<u8>,
    desk: &Desk,
) -> Result<SecurityContext, Failed> {
    let kept = answer.clone();
    let now = jiff::Timestamp::now();
    let concluded = handshakes(side)?
        .conclude_in(desk.workspace(), handshake, answer, now)
        .await;
    concluded.map_err(|error| {
        let buffers = &mut desk.workspace().buffers();
        let fault = match &error {
            HandshakeError::Rejected(_) => UnsecuredFault::read(kept, buffers),
            _ => None,
        };
        let blames_token = match (&error, &fault) {
            (HandshakeError::Trust(TrustError::Fault { blames_token, .. }), _) => *blames_token,
            // One whose security does not verify says nothing.
            (_, Some(fault)) => fault.blames_token && fault.plain.is_some(),
            _ => false,
        };
        Failed::Handshake {
            error,
            peer_fault: fault.map(|fault| fault.text()),
            blames_token,
        }
    })
}

impl fmt::Debug for Handshaker {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Handshaker")
            .field("route", &self.route)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}
