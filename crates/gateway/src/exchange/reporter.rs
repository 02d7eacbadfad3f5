//! What a client is told when its exchange cannot go on, and what operators are told.
//!
//! The rule kept here: the client learns little, and operators everything.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{HeaderValue, Response};
use soapstone::mime::PackageError;
use soapstone::wss::{EnvelopeError, FaultCode, Rejected, SecureError, SoapVersion};
use soapstone::xml::{ParseError, Problem};
use soapstone_broker::Excess;

use super::context::Exchange;
use super::failure::{fail, retry_after};
use super::steps::{EndpointError, PeerFault};
use super::token_done::tell_done;
use crate::config::direction::Direction;
use crate::observe::log::Beginning;
use crate::observe::record::{MessageCopy, Refused};
use crate::observe::traces::Observed;
use crate::route::agreements::AnswerEvidence;
use crate::wire::fault::{Cause, Failure};
use crate::wire::headers::X_REQUEST_ID;
use crate::wire::packaged::{Announced, NO_WORD};
use crate::wire::reply::Reply;
use crate::wire::unsecured;

/// A message that was refused.
struct Refusal {
    direction: Direction,
    rejected: Rejected,
    fault: &'static str,
    /// The message as it arrived, where refused messages are recorded.
    copy: Option<MessageCopy>,
}

/// The refusals of one exchange. Metrics and log are told of them when its answer leaves: a counter
/// that moves when the work is done would tell how long the work took, and so what the answer's
/// time hides.
struct Refusals<'c> {
    exchange: &'c Exchange<'c>,
    id: HeaderValue,
    untold: Mutex<Vec<Refusal>>,
}

impl<'c> Refusals<'c> {
    fn new(exchange: &'c Exchange<'c>, id: HeaderValue) -> Self {
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

    /// Why the answer of the backend was refused.
    fn of_answer(&self) -> Option<RefusedAnswer> {
        let untold = self.untold.lock().unwrap_or_else(PoisonError::into_inner);
        let mut refusals = untold.iter();
        let of_answer = refusals.find(|refusal| refusal.direction == Direction::Outbound);
        of_answer.map(|refusal| RefusedAnswer::of(&refusal.rejected))
    }
}

/// What a refused answer says of its backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefusedAnswer {
    /// The answer does not prove what it has to, for that reason.
    Unproven(&'static str),
    /// Nobody tells whether its certificate was revoked. Another backend may have one of another
    /// authority.
    Unknown,
    /// The answer may be right, and this side cannot tell: a store or a key is away, or the answer
    /// is beyond the limits, which a client can cause.
    Undecided,
}

impl RefusedAnswer {
    fn of(rejected: &Rejected) -> Self {
        match rejected.cause() {
            cause if cause.is_temporary() => Self::Undecided,
            Rejected::Envelope(EnvelopeError::Xml(ParseError {
                problem: Problem::TooMany { .. },
                ..
            })) => Self::Undecided,
            cause if cause.name() == REVOCATION_UNKNOWN => Self::Unknown,
            _ => Self::Unproven(rejected.name()),
        }
    }
}

/// The name of a refusal for want of word about a certificate.
const REVOCATION_UNKNOWN: &str = "revocation-unknown";

impl Refusals<'_> {
    /// Records a refused message, and returns the id of its record.
    fn record(
        &self,
        copy: Option<MessageCopy>,
        direction: Direction,
        rejected: &Rejected,
    ) -> Option<String> {
        let records = self.exchange.resources.records.as_ref()?;
        let refused = Refused {
            route: self.exchange.route.name.clone(),
            request: self.id.to_str().unwrap_or_default().to_owned(),
            direction,
            reason: rejected.name(),
            cause: rejected.cause().name(),
        };
        Some(records.add(copy?, refused))
    }
}

impl Drop for Refusals<'_> {
    fn drop(&mut self) {
        let untold = self.untold.get_mut();
        for refusal in std::mem::take(untold.unwrap_or_else(PoisonError::into_inner)) {
            let Refusal {
                direction,
                rejected,
                fault,
                copy,
            } = refusal;
            let route = self.exchange.route;
            let cause = rejected.cause().name();
            let likely = copy.as_ref().and_then(|copy| copy.form().hint(cause));
            let record = self.record(copy, direction, &rejected);
            self.exchange
                .count_refusal(direction, fault, rejected.name());
            route.metrics.fault(fault);
            tracing::warn!(
                route = route.name,
                request = self.id.to_str().unwrap_or_default(),
                trace = self.exchange.trace,
                peer = %self.exchange.connection.peer,
                direction = direction.name(),
                reason = rejected.name(),
                cause,
                detail = %Beginning(&rejected),
                hint = likely.or(rejected.hint()),
                record,
                fault,
                "message refused"
            );
        }
    }
}

/// What is wrong with a package, for operators.
fn of_package(error: &PackageError) -> String {
    format!(
        "the package: {error} (lines are counted in the body; line 0 is the Content-Type of HTTP)"
    )
}

/// Which message of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message {
    Request,
    Response,
}

/// Answers for what goes wrong with one request, and reports it.
pub(super) struct Reporter<'c> {
    pub(super) exchange: &'c Exchange<'c>,
    /// The name of the request.
    pub(super) id: HeaderValue,
    /// What observes the work on its messages.
    pub(super) observed: Arc<Observed>,
    refusals: Refusals<'c>,
    /// The message in hand as it arrived, where refused messages are recorded.
    copy: Mutex<Option<MessageCopy>>,
    /// What was proven of the answer of the backend, unless it is a fault that nobody secured.
    answer: Mutex<Option<AnswerEvidence>>,
}

impl<'c> Reporter<'c> {
    /// For a request with that name.
    pub(super) fn new(exchange: &'c Exchange<'c>, id: HeaderValue) -> Self {
        Self {
            exchange,
            refusals: Refusals::new(exchange, id.clone()),
            id,
            observed: Arc::new(exchange.observed()),
            copy: Mutex::default(),
            answer: Mutex::default(),
        }
    }

    /// Why the answer of the backend was refused, where it was, and was no fault that tells why.
    pub(super) fn refused_answer(&self) -> Option<RefusedAnswer> {
        self.refusals.of_answer()
    }

    /// Notes what was proven of the answer of the backend.
    pub(super) fn note_answer(&self, evidence: AnswerEvidence) {
        let mut answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        *answer = Some(evidence);
    }

    /// What was proven of it.
    pub(super) fn answer(&self) -> Option<AnswerEvidence> {
        let answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        answer.clone()
    }

    /// Copies a message that arrived, where refused messages are recorded. `package` is what its
    /// head announces.
    pub(super) fn copy(&self, message: &[u8], package: Option<&Announced>) {
        let resources = self.exchange.resources;
        if let Some(records) = &resources.records {
            let copy = records.copy(
                message,
                package.map(Announced::content_type),
                &resources.memory.budget,
            );
            *self.copied() = Some(copy);
        }
    }

    /// Drops the copy of a message that was accepted.
    pub(super) fn drop_copy(&self) {
        self.copied().take();
    }

    fn copied(&self) -> MutexGuard<'_, Option<MessageCopy>> {
        self.copy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers for a message that an endpoint does not let through.
    pub(super) fn error(
        &self,
        message: Message,
        version: SoapVersion,
        error: EndpointError,
    ) -> Response<Reply> {
        match message {
            Message::Request => self.request_error(version, error),
            Message::Response => self.response_error(version, error),
        }
    }

    /// A response under the name of the request.
    pub(super) fn named(&self, mut response: Response<Reply>) -> Response<Reply> {
        response.headers_mut().insert(X_REQUEST_ID, self.id.clone());
        response
    }

    /// Answers for a request that cannot be opened or secured.
    fn request_error(&self, version: SoapVersion, trouble: EndpointError) -> Response<Reply> {
        match trouble {
            EndpointError::Refused { direction, rejected, .. } => {
                // The message may be right; it is we who cannot tell.
                let cause = match rejected.is_temporary() {
                    true => Cause::Busy,
                    false => Cause::Refused(rejected.fault()),
                };
                self.refuse(version, direction, &rejected, cause)
            }
            EndpointError::Unsecurable {
                direction,
                error: SecureError::Envelope(error),
            } => {
                let rejected = Rejected::Envelope(error);
                self.refuse(version, direction, &rejected, Cause::Refused(rejected.fault()))
            }
            EndpointError::Unsecurable { direction, error } => {
                let (cause, reason) = match &error {
                    SecureError::AlreadySecured
                    | SecureError::PartMissing { .. }
                    | SecureError::AttachmentsUnexpected { .. }
                    | SecureError::AttachmentUnfit { .. }
                    | SecureError::ActionUnknown
                    | SecureError::TokenRequest => {
                        (Cause::Refused(FaultCode::Sender), "not-secured")
                    }
                    SecureError::OperationUnknown { .. } => {
                        (Cause::OperationUnknown, "operation-unknown")
                    }
                    SecureError::OperationUnclear { .. } => {
                        (Cause::OperationUnclear, "operation-unclear")
                    }
                    error if error.is_temporary() => (Cause::Busy, "key-unavailable"),
                    _ => (Cause::Internal, "not-secured"),
                };
                let detail = format!("{} request: {error}", direction.name());
                self.fail(version, cause, reason, detail)
            }
            EndpointError::Denied(denied) => {
                let rule = denied.denial.name();
                self.exchange.route.metrics.denial(rule);
                let detail = format!("{rule}: {}", denied.detail);
                self.fail(version, Cause::NotAllowed, "not-allowed", detail)
            }
            EndpointError::OverAgreement(over) => {
                let cause = match over.excess {
                    Excess::Operation | Excess::Unproven => Cause::NotAllowed,
                    Excess::Size => Cause::TooLarge,
                    Excess::Rate { .. } => Cause::TooMany,
                    Excess::Unknown => Cause::Busy,
                };
                let wait = over.wait();
                let response = self.fail(version, cause, over.excess.name(), over.detail);
                match wait {
                    Some(wait) => retry_after(response, wait),
                    None => response,
                }
            }
            EndpointError::Package(error) => {
                let (cause, reason) = match *error {
                    PackageError::Xop { .. } => (Cause::MediaType, "xop"),
                    _ => (Cause::Refused(FaultCode::Sender), "package"),
                };
                self.fail(version, cause, reason, of_package(&error))
            }
            EndpointError::AfterTokens { told, error } => {
                tell_done(self.exchange, self.id.to_str().unwrap_or_default(), &told);
                self.request_error(version, *error)
            }
            EndpointError::NoRoom => self.no_room(version),
            EndpointError::PackageUntaken => self.fail(
                version,
                Cause::MediaType,
                "media-type",
                format!("expected text/xml or application/soap+xml, {NO_WORD}"),
            ),
            EndpointError::WouldExpose => self.fail(
                version,
                Cause::Internal,
                "would-expose",
                "the answer to a request for a token holds a key, and neither TLS nor the policy of answers hides it".to_owned(),
            ),
        }
    }

    /// Answers for a response that cannot be opened or secured.
    fn response_error(&self, version: SoapVersion, trouble: EndpointError) -> Response<Reply> {
        match trouble {
            EndpointError::Refused {
                direction,
                rejected,
                peer_fault: None,
            } => self.refuse(version, direction, &rejected, Cause::BadGateway),
            EndpointError::Refused {
                peer_fault: Some(PeerFault { fault, told, hint }),
                ..
            } => {
                let text = fault.text();
                let detail =
                    format!("the backend refused the request with the unsecured fault {text}");
                let failure = Failure {
                    hint,
                    ..Failure::new("backend-refused", detail)
                };
                let mut response = self.fail_with(version, Cause::BadGateway, &failure);
                *response.body_mut() = crate::wire::fault::body(
                    version,
                    Cause::BadGateway,
                    &unsecured::explanation(&fault, told),
                );
                response
            }
            EndpointError::Package(error) => {
                let detail = of_package(&error);
                self.fail(version, Cause::BadGateway, "backend-not-soap", detail)
            }
            trouble @ (EndpointError::WouldExpose
            | EndpointError::AfterTokens { .. }
            | EndpointError::NoRoom
            | EndpointError::PackageUntaken
            | EndpointError::Denied(_)
            | EndpointError::OverAgreement(_)) => self.request_error(version, trouble),
            EndpointError::Unsecurable { direction, error } => {
                let (cause, reason) = match &error {
                    SecureError::Envelope(_)
                    | SecureError::AlreadySecured
                    | SecureError::AttachmentsUnexpected { .. }
                    | SecureError::AttachmentUnfit { .. }
                    | SecureError::PartMissing { .. } => (Cause::BadGateway, "not-secured"),
                    error if error.is_temporary() => (Cause::Busy, "key-unavailable"),
                    _ => (Cause::Internal, "not-secured"),
                };
                let detail = format!("{} response: {error}", direction.name());
                self.fail(version, cause, reason, detail)
            }
        }
    }

    /// Tells operators of a fault that nobody secured and that is passed on, and what its sender
    /// may refuse of the request.
    pub(super) fn passed_fault(&self, text: &str, hint: Option<&str>) {
        tracing::warn!(
            route = self.exchange.route.name,
            request = self.id.to_str().unwrap_or_default(),
            trace = self.exchange.trace,
            peer = %self.exchange.connection.peer,
            detail = %Beginning(text),
            hint,
            "an unsecured fault is passed on"
        );
    }

    /// Answers for a message that finds no place.
    pub(super) fn no_room(&self, version: SoapVersion) -> Response<Reply> {
        let held = self.exchange.resources.memory.budget.taken();
        let own = self.exchange.connection.client.buffered();
        let detail = format!(
            "{held} bytes of messages are in hand, {own} of them of this client, and no more fit"
        );
        self.fail(version, Cause::Busy, "no-room", detail)
    }

    /// Answers for a message that was refused.
    fn refuse(
        &self,
        version: SoapVersion,
        direction: Direction,
        rejected: &Rejected,
        cause: Cause,
    ) -> Response<Reply> {
        // What this side cannot tell now is no fault of the client.
        if direction == Direction::Inbound && !rejected.is_temporary() {
            self.exchange.note_refused();
        }
        self.exchange.note(|found| {
            found.refused = true;
            found.reason = Some(rejected.name());
        });
        self.refusals.add(Refusal {
            direction,
            rejected: rejected.clone(),
            fault: cause.code(),
            copy: self.copied().take(),
        });
        self.named(crate::wire::fault::response(version, cause))
    }

    /// Answers for anything else, of which the log is told the reason and the detail.
    pub(super) fn fail(
        &self,
        version: SoapVersion,
        cause: Cause,
        reason: &'static str,
        detail: String,
    ) -> Response<Reply> {
        self.fail_with(version, cause, &Failure::new(reason, detail))
    }

    /// The same, for a failure that somebody else put into words.
    pub(super) fn fail_with(
        &self,
        version: SoapVersion,
        cause: Cause,
        failure: &Failure,
    ) -> Response<Reply> {
        fail(self.exchange, version, cause, Some(&self.id), failure)
    }
}
