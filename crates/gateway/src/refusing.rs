//! What a client is told when its exchange cannot go on: little; and operators, in the log: everything.

use http::Response;
use soapstone::wss::{FaultCode, Rejected, SecureError, SoapVersion};

use crate::body::Reply;
use crate::fault::Cause;
use crate::headers::X_REQUEST_ID;
use crate::log::Beginning;
use crate::metrics;
use crate::proxy::{Failure, fail};
use crate::secured::Call;
use crate::steps::Trouble;
use crate::unsecured;

impl Call<'_> {
    /// Answers for a request that cannot be opened or secured.
    pub(crate) fn unprepared(&self, version: SoapVersion, trouble: Trouble) -> Response<Reply> {
        match trouble {
            Trouble::Refused { side, rejected, .. } => {
                let cause = match &rejected {
                    // The message may be right; it is we who cannot tell.
                    Rejected::ReplayUnknown { .. } | Rejected::ContextsUnavailable { .. } => {
                        Cause::Busy
                    }
                    _ => Cause::Refused(rejected.fault()),
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
        let route = self.exchange.route;
        route.metrics.refusal(side, cause.code(), rejected.name());
        if side == metrics::Side::Inbound {
            self.exchange.note_refused();
        }
        self.exchange.note(|found| {
            found.refused = true;
            found.reason = Some(rejected.name());
        });
        route.metrics.fault(cause.code());
        tracing::warn!(
            route = route.name,
            request = self.id.to_str().unwrap_or_default(),
            trace = self.exchange.trace,
            peer = %self.exchange.connection.peer,
            direction = side.name(),
            reason = rejected.name(),
            detail = %Beginning(rejected),
            hint = rejected.hint(),
            fault = cause.code(),
            "message refused"
        );
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
