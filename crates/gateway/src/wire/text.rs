//! Answers without SOAP, for those who did not speak it.
//!
//! The rule kept here: what a stranger wrote is repeated with escapes, if at all.

use http::{HeaderValue, Response, StatusCode, header};

use super::reply::Reply;

/// Says why in plain text.
pub(crate) fn text(status: StatusCode, why: impl Into<String>) -> Response<Reply> {
    let mut response = Response::new(Reply::whole(why.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response
}
