//! Why a recorded message was refused, as the console shows it.
//!
//! The rule kept here: what is explained is no more than `/refused/ID` gives to the same asker, and
//! no key of the gateway is used for it.

use std::net::IpAddr;

use http::StatusCode;

use crate::server::explaining::{RefusedMessage, Unexplained};
use crate::server::state::State;

/// The explanation of the message of an id, or why there is none.
pub(super) async fn told(state: &State, id: &str, peer: IpAddr) -> (StatusCode, String) {
    let Some(records) = &state.resources.records else {
        return not_found();
    };
    if !records.are_for(peer) {
        let why = "messages are explained for this host alone\n";
        return (StatusCode::FORBIDDEN, why.to_owned());
    }
    let found = || match records.message(id) {
        None => Err(not_found()),
        Some(Err(why)) => {
            let why = format!("the message is not explained here: {why}\n");
            Err((StatusCode::CONFLICT, why))
        }
        Some(Ok((time, bytes))) => Ok(RefusedMessage {
            id: id.to_owned(),
            time,
            bytes,
        }),
    };
    match state.explaining.of(found).await {
        Ok(Ok(text)) => (StatusCode::OK, text),
        Ok(Err(instead)) => instead,
        Err(why) => unexplained(why),
    }
}

fn not_found() -> (StatusCode, String) {
    let why = "no message of this id is kept (any more)\n";
    (StatusCode::NOT_FOUND, why.to_owned())
}

fn unexplained(why: Unexplained) -> (StatusCode, String) {
    let (status, why) = match why {
        Unexplained::Unable => (
            StatusCode::NOT_FOUND,
            "this gateway has nothing that explains; `soapstone explain --gateway` does\n",
        ),
        Unexplained::Busy => (
            StatusCode::SERVICE_UNAVAILABLE,
            "another message is being explained; ask again\n",
        ),
        Unexplained::Ending => (StatusCode::SERVICE_UNAVAILABLE, "the gateway ends\n"),
        Unexplained::Failed => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "the message could not be explained\n",
        ),
    };
    (status, why.to_owned())
}
