//! What an exchange with one backend of several came to, as the choice of the next one sees it.
//!
//! The rule kept here: what a client can cause with its message is no failure of the backend, as
//! far as the two can be told apart. A SOAP fault is an answer, whatever its status.

use http::StatusCode;
use soapstone_broker::{Affinity, Failed, Operation, Refusal, Repeatable};

use super::open::Opened;
use crate::config::balance::Sticky;
use crate::conversation::handshake;
use crate::exchange::connection::Connection;
use crate::issued::failed as token;
use crate::wire::backend::BackendError;
use crate::wire::fault::Cause;

/// How a backend failed that gave no response; `None` where the request could not be sent for a
/// reason of its client's.
pub(crate) fn failure_of(error: &BackendError) -> Option<Failed> {
    if error.upload_error().is_some() {
        return None;
    }
    Some(match error {
        error if error.is_unreachable() => Failed::Unreachable,
        error if error.is_timeout() => Failed::Late,
        _ => Failed::Broken,
    })
}

/// How a backend failed that answered with this status; `None` where it did not.
pub(crate) fn failure_by(status: StatusCode) -> Option<Failed> {
    match status {
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => {
            Some(Failed::Unavailable)
        }
        _ => None,
    }
}

/// How a backend failed that granted no conversation; `None` where it is not known to have.
pub(super) fn failure_in(failed: &handshake::Failed) -> Option<Failed> {
    match failed {
        handshake::Failed::Backend(error) => failure_of(error),
        handshake::Failed::Answer { .. } => Some(Failed::Broken),
        handshake::Failed::Handshake { .. } => Some(Failed::Unproven),
        handshake::Failed::Unfinished => Some(Failed::Late),
        // Conversations are begun for no user.
        handshake::Failed::Token(failed) => failure_in_token(failed, false),
        handshake::Failed::Unsecured(_) | handshake::Failed::Busy => None,
    }
}

/// How a backend failed whose token service gave no assertion; `None` where that is not known to be
/// the token service's fault. A user's request may be to blame for much.
pub(super) fn failure_in_token(failed: &token::Failed, are_for_users: bool) -> Option<Failed> {
    if are_for_users && !failed.is_of_the_service() {
        return None;
    }
    match failed {
        token::Failed::Away(error) => failure_of(error),
        token::Failed::Answer { .. } => Some(Failed::Broken),
        token::Failed::Refused { .. } if failed.is_an_answer() => Some(Failed::Unproven),
        token::Failed::Unfinished => Some(Failed::Late),
        token::Failed::Refused { .. }
        | token::Failed::User(_)
        | token::Failed::Unsecured(_)
        | token::Failed::Busy => None,
    }
}

/// Whether a request that was not answered may be sent again. `is_idempotent` is asked only where
/// that matters.
pub(crate) fn repeatable(
    error: Option<&BackendError>,
    is_idempotent: impl FnOnce() -> bool,
) -> Repeatable {
    if error.is_some_and(BackendError::is_unsent) {
        Repeatable::Unsent
    } else if is_idempotent() {
        Repeatable::Idempotent
    } else {
        Repeatable::Once
    }
}

/// What the time of a request is predicted by: the element in its Body where the request was
/// opened, or else what its client says that it is about. Nothing else depends on that.
pub(crate) fn operation_of(name: Option<&str>) -> Option<Operation> {
    name.map(|name| Operation::of(name.as_bytes()))
}

/// What a client is told whose request no backend can take.
pub(crate) fn cause_of(refusal: Refusal) -> Cause {
    match refusal {
        Refusal::Uncovered => Cause::NeedsUncovered,
        Refusal::Down | Refusal::Busy | Refusal::Tried => Cause::Busy,
    }
}

/// The key of a request that was opened, where its calls stay together.
pub(super) fn affinity(sticky: Option<Sticky>, client: &[u8], opened: &Opened) -> Option<Affinity> {
    match sticky? {
        Sticky::Client => Some(Affinity::of(client)),
        Sticky::Partner => {
            let sender = opened.sender.as_ref()?;
            let name = [sender.by, "\0", &sender.name].concat();
            Some(Affinity::of(name.as_bytes()))
        }
        Sticky::Conversation => {
            let context = opened.receipt.context.as_ref()?;
            Some(Affinity::of(context.identifier.as_bytes()))
        }
    }
}

/// What calls of one address have in common.
pub(crate) fn client_key(connection: &Connection) -> Vec<u8> {
    let address = connection.peer.ip().to_canonical();
    address.to_string().into_bytes()
}
