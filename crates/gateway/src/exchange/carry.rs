//! A request to one of several backends whose response passes as a stream.
//!
//! The rule kept here: a body that is streamed goes to another backend only where nothing of it has
//! been read.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, request};
use soapstone::wss::SoapVersion;
use soapstone_broker::{Affinity, Refusal};
use tokio::time::Instant;

use super::attempt::{cause_of, client_key, failure_by, failure_of, operation_of, repeatable};
use super::context::Exchange;
use super::failure::{backend_failure, fail};
use crate::config::balance::Sticky;
use crate::observe::metrics::Flow;
use crate::route::balancer::{Balancer, Wanted};
use crate::wire::backend::{BackendError, Download};
use crate::wire::body::Upload;
use crate::wire::fault::Failure;
use crate::wire::media;
use crate::wire::reply::Reply;

/// The body of such a request.
pub(crate) enum Carried {
    /// As it arrives from the client.
    Streamed(Upload),
    /// All of it, and whether the request may be obeyed twice.
    Whole { bytes: Bytes, is_idempotent: bool },
}

/// Why there is no response.
pub(crate) enum Uncarried {
    /// No backend can take the request.
    Refused(Refusal),
    /// A backend failed it.
    Backend(BackendError),
}

impl Uncarried {
    /// The answer to the client.
    pub(crate) fn answer(
        &self,
        exchange: &Exchange<'_>,
        version: SoapVersion,
        given_id: Option<&http::HeaderValue>,
    ) -> Response<Reply> {
        match self {
            Self::Backend(error) => backend_failure(exchange, version, error, given_id),
            Self::Refused(refusal) => {
                let failure = Failure::new(refusal.name(), refusal.to_string());
                fail(exchange, version, cause_of(*refusal), given_id, &failure)
            }
        }
    }
}

/// Sends a request with that head, as the client sent it, to one of several backends. The backend
/// has it in hand until all of the response has arrived.
pub(crate) async fn carry(
    exchange: &Exchange<'_>,
    balancer: &Arc<Balancer>,
    head: &request::Parts,
    mut body: Carried,
) -> Result<Response<Download>, Uncarried> {
    let wanted = Wanted {
        affinity: (balancer.rules.sticky == Some(Sticky::Client))
            .then(|| Affinity::of(&client_key(exchange.connection))),
        needs: balancer.rules.needs_of(|_| false),
        operation: operation_of(media::action_of(&head.headers).as_deref()),
        // Nobody proves to have sent it.
        ..Wanted::default()
    };
    let mut attempt = balancer.choose(wanted).map_err(Uncarried::Refused)?;
    loop {
        exchange.note_attempt(&attempt);
        let upstream = Arc::clone(attempt.upstream());
        let mut head = head.clone();
        exchange.head_for_backend(&mut head, &upstream);
        let mut calling = exchange.call(&mut head.headers);
        let (upload, is_idempotent) = match &mut body {
            Carried::Whole {
                bytes,
                is_idempotent,
            } => {
                let metrics = &exchange.route.metrics;
                metrics.octets(Flow::ToBackend, bytes.len() as u64);
                (Upload::whole(bytes.clone()), *is_idempotent)
            }
            Carried::Streamed(upload) => (std::mem::replace(upload, Upload::empty()), false),
        };
        let sent = Instant::now();
        let request = Request::from_parts(head, upload);
        let answered = upstream.backend.try_send(request, sent).await;
        exchange.waited_for_backend(sent);
        let unanswered = match answered {
            Err(unanswered) => unanswered,
            Ok(mut response) => {
                if let Some(calling) = &mut calling {
                    calling.answered(response.status());
                }
                let Some(failed) = failure_by(response.status()) else {
                    attempt.answered(sent.elapsed());
                    response.body_mut().hold(attempt);
                    return Ok(response);
                };
                let next = attempt.another(failed, repeatable(None, || is_idempotent));
                let Ok(next) = next else {
                    return Ok(response);
                };
                attempt = next;
                continue;
            }
        };
        let error = unanswered.error;
        let Some(failed) = failure_of(&error) else {
            return Err(Uncarried::Backend(error));
        };
        let repeatable = repeatable(Some(&error), || is_idempotent);
        attempt = match attempt.another(failed, repeatable) {
            Ok(next) => next,
            Err(_) => return Err(Uncarried::Backend(error)),
        };
        if let (Carried::Streamed(upload), Some(unsent)) = (&mut body, unanswered.unsent) {
            *upload = unsent.into_body();
        }
    }
}
