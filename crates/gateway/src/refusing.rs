//! What a client is told when its exchange cannot go on: little; and operators, in the log:
//! everything.

use std::sync::{Mutex, PoisonError};

use http::{HeaderValue, Response};
use soapstone::wss::{FaultCode, Rejected, SecureError, SoapVersion};

use crate::body::Reply;
use crate::fault::{Cause, Failure};
use crate::headers::X_REQUEST_ID;
use crate::log::Beginning;
use crate::metrics;
use crate::proxy::{Exchange, fail};
use crate::secured::Call;
use crate::steps::Trouble;
use crate::unsecured;

/// A message that was refused.
struct Refusal {
    side: metrics::Side,
    rejected: Rejected,
    fault: &'static str,
}

/// The refusals of one exchange, which metrics and log are told of when its answer leaves: a
/// counter that moves when the work is done would tell how long the work took, and so what the
/// answer's time hides.
pub(crate) struct Refusals<'c> {
    exchange: &'c Exchange<'c>,
    id: HeaderValue,
    untold: Mutex<Vec<Refusal>>,
}

impl<'c> Refusals<'c> {
    pub(crate) fn new(exchange: &'c Exchange<'c>, id: HeaderValue) -> Self {
        Self {
            exchange,
            id,
            untold: Mutex::default(),
        }
    }

    fn add(&self, refusal: Refusal) {
        let mut untold = self.untold.lock().unwrap_or_else(PoisonError::into_inner);
        untold.push(refusal);
    }
}

impl Drop for Refusals<'_> {
    fn drop(&mut self) {
        let untold = self.untold.get_mut();
        for refusal in untold.unwrap_or_else(PoisonError::into_inner).drain(..) {
            let Refusal {
                side,
                rejected,
                fault,
            } = refusal;
            let route = self.exchange.route;
            route.metrics.refusal(side, fault, rejected.name());
            route.metrics.fault(fault);
            tracing::warn!(
                route = route.name,
                request = self.id.to_str().unwrap_or_default(),
                trace = self.exchange.trace,
                peer = %self.exchange.connection.peer,
                direction = side.name(),
                reason = rejected.name(),
                cause = rejected.cause().name(),
                detail = %Beginning(&rejected),
                hint = rejected.hint(),
                fault,
                "message refused"
            );
        }
    }
}

impl Call<'_> {
    /// Answers for a request that cannot be opened or secured.
    pub(crate) fn unprepared(&self, version: SoapVersion, trouble: Trouble) -> Response<Reply> {
        match trouble {
            Trouble::Refused { side, rejected, .. } => {
                // The message may be right; it is we who cannot tell.
                let cause = match rejected.is_temporary() {
                    true => Cause::Busy,
                    false => Cause::Refused(rejected.fault()),
                };
                self.refuse(version, side, &rejected, cause)
            }
            Trouble::Unsecurable {
                side,
                error: SecureError::Envelope(error),
            } => {
                let rejected = Rejected::Envelope(error);
                self.refuse(version, side, &rejected, Cause::Refused(rejected.fault()))
            }
            Trouble::Unsecurable { side, error } => {
                let (cause, reason) = match &error {
                    SecureError::AlreadySecured
                    | SecureError::PartMissing { .. }
                    | SecureError::TokenRequest => {
                        (Cause::Refused(FaultCode::Sender), "not-secured")
                    }
                    SecureError::OperationUnknown { .. } => {
                        (Cause::OperationUnknown, "operation-unknown")
                    }
                    SecureError::OperationUnclear { .. } => {
                        (Cause::OperationUnclear, "operation-unclear")
                    }
                    _ => (Cause::Internal, "not-secured"),
                };
                let detail = format!("{} request: {error}", side.name());
                self.fail(version, cause, reason, detail)
            }
            Trouble::WouldExpose => self.fail(
                version,
                Cause::Internal,
                "would-expose",
                "the answer to a request for a token holds a key, and neither TLS nor the policy of answers hides it".to_owned(),
            ),
        }
    }

    /// Answers for a response that cannot be opened or secured.
    pub(crate) fn unanswerable(&self, version: SoapVersion, trouble: Trouble) -> Response<Reply> {
        match trouble {
            Trouble::Refused {
                side,
                rejected,
                peer_fault: None,
            } => self.refuse(version, side, &rejected, Cause::BadGateway),
            Trouble::Refused {
                peer_fault: Some(code),
                ..
            } => {
                let detail =
                    format!("the backend refused the request with the unsecured fault {code}");
                let mut response = self.fail(version, Cause::BadGateway, "backend-refused", detail);
                *response.body_mut() =
                    crate::fault::body(version, Cause::BadGateway, &unsecured::explanation(&code));
                response
            }
            trouble @ Trouble::WouldExpose => self.unprepared(version, trouble),
            Trouble::Unsecurable { side, error } => {
                let cause = match &error {
                    SecureError::Envelope(_)
                    | SecureError::AlreadySecured
                    | SecureError::PartMissing { .. } => Cause::BadGateway,
                    _ => Cause::Internal,
                };
                self.fail(
                    version,
                    cause,
                    "not-secured",
                    format!("{} response: {error}", side.name()),
                )
            }
        }
    }

    /// Answers for a message that finds no place.
    pub(crate) fn no_room(&self, version: SoapVersion) -> Response<Reply> {
        let held = self.exchange.shared().room.taken();
        let own = self.exchange.connection.client.buffered();
        let detail = format!(
            "{held} octets of messages are in hand, {own} of them of this client, and no more fit"
        );
        self.fail(version, Cause::Busy, "no-room", detail)
    }

    /// Answers for a message that was refused.
    fn refuse(
        &self,
        version: SoapVersion,
        side: metrics::Side,
        rejected: &Rejected,
        cause: Cause,
    ) -> Response<Reply> {
        if side == metrics::Side::Inbound {
            self.exchange.note_refused();
        }
        self.exchange.note(|found| {
            found.refused = true;
            found.reason = Some(rejected.name());
        });
        self.refusals.add(Refusal {
            side,
            rejected: rejected.clone(),
            fault: cause.code(),
        });
        let mut response = crate::fault::response(version, cause);
        response.headers_mut().insert(X_REQUEST_ID, self.id.clone());
        response
    }

    /// Answers for anything else, of which the log is told the reason and the detail.
    pub(crate) fn fail(
        &self,
        version: SoapVersion,
        cause: Cause,
        reason: &'static str,
        detail: String,
    ) -> Response<Reply> {
        self.fail_with(version, cause, &Failure { reason, detail })
    }

    /// The same, for a failure that somebody else put into words.
    pub(crate) fn fail_with(
        &self,
        version: SoapVersion,
        cause: Cause,
        failure: &Failure,
    ) -> Response<Reply> {
        fail(self.exchange, version, cause, Some(&self.id), failure)
    }
}
