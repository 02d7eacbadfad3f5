//! A question to a token service: a request for an assertion, for a later end of one or for its
//! cancellation, and the answer.
//!
//! The rule kept here: every step has its bound in time and size, and nobody follows an answer that
//! leads elsewhere.

use std::fmt;
use std::sync::Arc;

use soapstone::endpoint::{
    Call, Calling, Endpoint, TokenError, TokenQuestion, TokenRequests, UnsecuredFault,
};
use soapstone::wss::{AssertionToken, IssuedAssertion, KerberosSession};

use super::entries::Granted;
use super::failed::Failed;
use crate::observe::log::Beginning;
use crate::observe::metrics::RouteMetrics;
use crate::scheduling::endpoint::OutboundEndpoint;
use crate::scheduling::executor::Executor;
use crate::scheduling::own_message::{OwnMessage, work_on_own_message};
use crate::scheduling::session::SessionInUse;
use crate::scheduling::task::Desk;
use crate::wire::errand::Errand;

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

impl TokenAsker {
    /// A later end of that assertion, or another one for that user: where the token service refuses
    /// to renew, it is asked anew.
    pub(super) async fn ask(
        &self,
        user: Option<Arc<AssertionToken>>,
        former: Option<Arc<Granted>>,
    ) -> Result<IssuedAssertion, Failed> {
        if let Some(former) = former {
            match self.renewed(former).await {
                Err(failed) if failed.is_an_answer() => {
                    tracing::debug!(
                        route = self.route,
                        detail = %Beginning(&failed),
                        "the token service does not renew the assertion"
                    );
                }
                outcome => return outcome,
            }
        }
        let asked = self.begun(move |requests, endpoint, session, call| {
            requests.begin(endpoint, user.as_deref(), session, call)
        });
        let (question, session) = asked.await?;
        self.answered(question, session).await
    }

    async fn renewed(&self, former: Arc<Granted>) -> Result<IssuedAssertion, Failed> {
        let asked = self.begun(move |requests, endpoint, session, call| {
            requests.begin_renewal(endpoint, &former.assertion, session, call)
        });
        match asked.await? {
            (Some(question), session) => self.answered(question, session).await,
            (None, _) => Err(Failed::Answer {
                detail: "assertions are asked for anew".to_owned(),
            }),
        }
    }

    /// Tells the token service that an assertion is not needed any more. Nothing depends on it: an
    /// assertion ends by itself.
    pub(super) async fn cancel(&self, granted: Arc<Granted>) {
        let id = self.requests.told_id(&granted.assertion.token);
        match self.cancelled(granted).await {
            Ok(()) => tracing::info!(
                route = self.route,
                assertion = %Beginning(&id),
                "the token service has cancelled an assertion"
            ),
            Err(failed) => tracing::debug!(
                route = self.route,
                assertion = %Beginning(&id),
                detail = %Beginning(&failed),
                "not cancelled"
            ),
        }
    }

    async fn cancelled(&self, granted: Arc<Granted>) -> Result<(), Failed> {
        let asked = self.begun(move |requests, endpoint, session, call| {
            requests.begin_farewell(endpoint, &granted.assertion, session, call)
        });
        let (mut farewell, _session) = asked.await?;
        let octets = std::mem::take(&mut farewell.bytes);
        let answer = self.exchanged(&farewell.action, octets).await?;
        let (endpoint, requests) = (Arc::clone(&self.endpoint), Arc::clone(&self.requests));
        self.work(OwnMessage::Answer, move |desk| async move {
            let (side, workspace) = (&endpoint.endpoint, desk.workspace());
            let now = jiff::Timestamp::now();
            let concluded = requests.conclude_farewell(side, workspace, farewell, answer, now);
            concluded.await.map_err(|error| Failed::Refused {
                error,
                peer_fault: None,
            })
        })
        .await
    }

    /// A request that was made and secured, with the session of this side's Kerberos token.
    async fn begun<Q: Send + 'static>(
        &self,
        begin: impl FnOnce(
            &TokenRequests,
            &Endpoint<Calling>,
            Option<&KerberosSession>,
            &mut Call<'_>,
        ) -> Result<Q, TokenError>
        + Send
        + 'static,
    ) -> Result<(Q, Option<SessionInUse>), Failed> {
        let (asked, requests) = (Arc::clone(&self.endpoint), Arc::clone(&self.requests));
        self.work(OwnMessage::Question, move |desk| async move {
            let refused = |error| match error {
                TokenError::Unsecurable(error) if error.is_temporary() => Failed::Unsecured(error),
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
            let begun = begin(&requests, &asked.endpoint, kerberos, &mut call);
            Ok((begun.map_err(refused)?, session))
        })
        .await
    }

    /// Sends a request, and waits for all of its answer.
    async fn exchanged(&self, action: &str, octets: Vec<u8>) -> Result<Vec<u8>, Failed> {
        let (_, answer) = self
            .errand
            .ask(self.requests.soap(), action, octets)
            .await?;
        Ok(answer)
    }

    /// Sends a question, and takes the assertion out of its answer.
    async fn answered(
        &self,
        mut question: TokenQuestion,
        session: Option<SessionInUse>,
    ) -> Result<IssuedAssertion, Failed> {
        let octets = std::mem::take(&mut question.bytes);
        let answer = self.exchanged(&question.action, octets).await?;
        let (endpoint, requests) = (Arc::clone(&self.endpoint), Arc::clone(&self.requests));
        let concluding = self.work(OwnMessage::Answer, move |desk| async move {
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

    async fn work<T, F>(&self, about: OwnMessage, work: impl FnOnce(Desk) -> F) -> Result<T, Failed>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Failed>> + Send + 'static,
    {
        work_on_own_message(&self.executor, &self.endpoint, about, work).await
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
