//! The body of an answer to a client: whole, or streamed from a backend.
//!
//! The rule kept here: what is streamed drives the connection that it comes from.

use std::sync::Arc;

use http::{HeaderValue, Response, StatusCode, header};

use super::body::{Passing, Way};
use crate::observe::metrics::RouteMetrics;
use crate::wire::backend::Download;

/// The body of a response to a client.
pub(crate) type Reply = Passing<Download>;

impl Reply {
    /// A backend's body as it arrives, up to a limit.
    pub(crate) fn streamed(body: Download, limit: u64, metrics: Arc<RouteMetrics>) -> Self {
        Self::bounded(body, Way::Down, limit, metrics)
    }
}

/// A whole answer in a media type of text.
pub(crate) fn text(status: StatusCode, media_type: &'static str, body: String) -> Response<Reply> {
    let mut response = Response::new(Reply::whole(body));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}
