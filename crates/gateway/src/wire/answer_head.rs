//! Heads of answers on routes that secure requests: status line and fields, which no signature
//! covers.
//!
//! Somebody on the way can put any head before a genuine answer: a redirection, by which a client
//! sends its plain request to him (WS-I Basic Profile 1.1, R1131 lets it follow a 307), a challenge
//! that asks for a password, cookies, policies for other connections.
//!
//! The rule kept here: no field of such a head and no phrase of it reaches the client, and the
//! status tells what the proven message is.

use http::{Response, StatusCode, header};
use soapstone::endpoint::Blame;
use soapstone::wss::SoapVersion;

use crate::wire::fault::Failure;
use crate::wire::headers::mark_unproven;
use crate::wire::media;
use crate::wire::reply::Reply;

/// What was proven of an answer, as far as its head tells it to the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Proven {
    /// The version of the message.
    pub(crate) version: SoapVersion,
    /// Whom it blames, if it is a fault.
    pub(crate) fault: Option<Blame>,
    /// Header blocks in it that nothing proves.
    pub(crate) unproven: Vec<String>,
}

/// Why an answer with this status is not looked at; `None` if it is.
///
/// An answer comes with 200, a fault with 500; an answer without a message with 202 or 200 (WS-I
/// Basic Profile 1.1, R1111, R1112, R1126). A fault that blames the sender comes with 400 in
/// SOAP 1.2 (part 2, table 20), and a message that was not read with 400 in SOAP 1.1 (R1113).
pub(crate) fn unfit(status: StatusCode) -> Option<Failure> {
    let (reason, what) = match status {
        StatusCode::OK
        | StatusCode::ACCEPTED
        | StatusCode::BAD_REQUEST
        | StatusCode::INTERNAL_SERVER_ERROR => return None,
        StatusCode::UNAUTHORIZED | StatusCode::PROXY_AUTHENTICATION_REQUIRED => (
            "backend-challenge",
            "asks for authentication by HTTP, which nothing proves",
        ),
        _ if status.is_redirection() => (
            "backend-redirect",
            "leads elsewhere, which nothing proves and nobody follows",
        ),
        _ => ("backend-status", "comes with no answer of SOAP"),
    };
    Some(Failure::new(
        reason,
        format!("the backend answered {status}, which {what}"),
    ))
}

/// The answer to a client that has a message. The caller puts in what is its own.
pub(crate) fn with_message(proven: Proven, body: Reply) -> Response<Reply> {
    let mut response = Response::new(body);
    *response.status_mut() = match (proven.fault, proven.version) {
        (None, _) => StatusCode::OK,
        (Some(Blame::Sender), SoapVersion::V12) => StatusCode::BAD_REQUEST,
        (Some(_), _) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, media::plain(proven.version));
    mark_unproven(headers, &proven.unproven);
    response
}

/// The answer to a client that has none: to a one-way message.
pub(crate) fn without_message() -> Response<Reply> {
    let mut response = Response::new(Reply::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_statuses_of_soap_are_looked_at() {
        let reason = |status: u16| {
            let status = StatusCode::from_u16(status).expect("a status");
            unfit(status).map(|failure| failure.reason)
        };
        for status in [200, 202, 400, 500] {
            assert_eq!(reason(status), None, "{status}");
        }
        for status in [300, 301, 302, 303, 304, 305, 307, 308, 399] {
            assert_eq!(reason(status), Some("backend-redirect"), "{status}");
        }
        for status in [401, 407] {
            assert_eq!(reason(status), Some("backend-challenge"), "{status}");
        }
        for status in [
            101, 201, 203, 204, 205, 206, 402, 403, 404, 429, 501, 502, 503, 504, 599, 999,
        ] {
            assert_eq!(reason(status), Some("backend-status"), "{status}");
        }
    }

    /// SOAP 1.1 section 6.2; SOAP 1.2 part 2, table 20.
    #[test]
    fn the_status_tells_what_the_proven_message_is() {
        use SoapVersion::{V11, V12};
        for (version, fault, status) in [
            (V11, None, 200),
            (V11, Some(Blame::Sender), 500),
            (V11, Some(Blame::Other), 500),
            (V12, None, 200),
            (V12, Some(Blame::Sender), 400),
            (V12, Some(Blame::Other), 500),
        ] {
            let proven = Proven {
                version,
                fault,
                unproven: Vec::new(),
            };
            let answer = with_message(proven, Reply::empty());
            assert_eq!(answer.status(), status, "{version:?} {fault:?}");
            assert_eq!(answer.headers().len(), 1);
        }
    }
}
