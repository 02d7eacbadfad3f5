//! Messages of the gateway's own to a backend, for which no client waits.
//!
//! The rule kept here: the answer has its bounds in time and size, and a failure tells its cause.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Method, Request, StatusCode, Uri, header, response};
use soapstone::wss::SoapVersion;
use tokio::time::Instant;

use crate::wire::answer_head;
use crate::wire::backend::{Backend, BackendError};
use crate::wire::body::{CollectError, Upload, collect};
use crate::wire::media;
use crate::wire::memory::MessageMemory;

/// The way to one backend.
#[derive(Clone)]
pub(crate) struct Errand {
    pub(crate) backend: Arc<Backend>,
    /// Where answers find their place.
    pub(crate) memory: MessageMemory,
    /// Largest answer.
    pub(crate) limit: u64,
    /// The user of HTTP that the policy of requests demands.
    pub(crate) authorization: Option<HeaderValue>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Undone {
    /// The backend does not answer.
    Backend(BackendError),
    /// The answer did not arrive whole, or is no SOAP message.
    Answer {
        /// What it was.
        detail: String,
    },
    /// The gateway has too many messages in hand.
    Busy,
    /// The answer was not complete in time.
    Unfinished,
}

impl fmt::Display for Undone {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Backend(error) => error.fmt(out),
            Self::Answer { detail } => out.write_str(detail),
            Self::Busy => out.write_str("the gateway has no room for the answer"),
            Self::Unfinished => out.write_str("the answer was not complete in time"),
        }
    }
}

impl Errand {
    /// A request with that action. An empty one says nothing (WS-I Basic Profile 1.1, R2745).
    pub(crate) fn request(
        &self,
        version: SoapVersion,
        action: &str,
        octets: Vec<u8>,
    ) -> Request<Upload> {
        let mut request = Request::new(Upload::whole(octets));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.backend.path().parse().unwrap_or(Uri::from_static("/"));
        let headers = request.headers_mut();
        headers.insert(header::HOST, self.backend.authority().clone());
        headers.insert(header::CONTENT_TYPE, media::with_action(version, action));
        if let Some(authorization) = &self.authorization {
            headers.insert(header::AUTHORIZATION, authorization.clone());
        }
        if version == SoapVersion::V11
            && let Ok(action) = HeaderValue::try_from(format!("\"{action}\""))
        {
            headers.insert("soapaction", action);
        }
        request
    }

    /// The longest that a question to the backend may take: each of its steps has its own bounds,
    /// and this one is for all of them.
    pub(crate) fn patience(&self) -> Duration {
        let timeouts = self.backend.timeouts();
        timeouts.connect + timeouts.response * 2
    }

    /// Sends a message with that action, and waits for all of its answer, which is a SOAP message.
    pub(crate) async fn ask(
        &self,
        version: SoapVersion,
        action: &str,
        octets: Vec<u8>,
    ) -> Result<(StatusCode, Vec<u8>), Undone> {
        let request = self.request(version, action, octets);
        let (head, answer) = self.exchange(request).await?;
        demand_soap(&head)?;
        Ok((head.status, answer))
    }

    /// Sends a request, and waits for all of its answer.
    pub(crate) async fn exchange(
        &self,
        request: Request<Upload>,
    ) -> Result<(response::Parts, Vec<u8>), Undone> {
        let sent = Instant::now();
        let response = self
            .backend
            .send(request, sent)
            .await
            .map_err(Undone::Backend)?;
        let (head, body) = response.into_parts();
        if let Some(failure) = answer_head::unfit(head.status) {
            let detail = failure.detail;
            return Err(Undone::Answer { detail });
        }
        let mut reservation = self.memory.budget.reserve();
        let collecting = collect(body, self.limit, &mut reservation, &self.memory.buffers);
        let patience = self.backend.timeouts().response;
        let unusable = |detail: String| Undone::Answer { detail };
        match tokio::time::timeout_at(sent + patience, collecting).await {
            Ok(Ok(octets)) => Ok((head, octets)),
            Ok(Err(CollectError::NoRoom)) => Err(Undone::Busy),
            Ok(Err(CollectError::TooLarge { limit })) => {
                Err(unusable(format!("its answer has more than {limit} bytes")))
            }
            Ok(Err(CollectError::Broken(error))) => {
                Err(unusable(format!("its answer broke off: {error}")))
            }
            Err(_) => Err(Undone::Unfinished),
        }
    }
}

/// That the answer with that head is a SOAP message.
pub(crate) fn demand_soap(head: &response::Parts) -> Result<(), Undone> {
    match media::version_of(&head.headers) {
        Some(_) => Ok(()),
        None => Err(Undone::Answer {
            detail: format!(
                "it answered {} with something that is no SOAP message",
                head.status
            ),
        }),
    }
}
