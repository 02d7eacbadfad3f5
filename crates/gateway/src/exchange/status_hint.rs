//! What a backend says by its status alone: that it is busy, or that whoever stands behind it did
//! not answer.
//!
//! Another gateway answers so without security, as it has nothing to secure, and its client is to
//! try again. That the answer cannot be opened tells the client of an outbound route nothing; the
//! status does.
//!
//! The rule kept here: of an unproven answer two statuses are believed, and each is said again in
//! words of our own.

use http::{Response, StatusCode};
use soapstone::wss::SoapVersion;

use crate::wire::fault::{self, Cause};
use crate::wire::headers::X_REQUEST_ID;
use crate::wire::reply::Reply;

/// What a status says that is said again.
pub(crate) struct StatusHint(Option<Cause>);

impl StatusHint {
    /// What the status of a backend's answer says.
    pub(crate) fn of(status: StatusCode) -> Self {
        Self(match status {
            StatusCode::SERVICE_UNAVAILABLE => Some(Cause::Busy),
            StatusCode::GATEWAY_TIMEOUT => Some(Cause::GatewayTimeout),
            _ => None,
        })
    }

    /// That, where the answer itself came to nothing.
    pub(crate) fn in_place_of(
        self,
        failed: Response<Reply>,
        version: SoapVersion,
    ) -> Response<Reply> {
        let Some(cause) = self
            .0
            .filter(|_| failed.status() == StatusCode::BAD_GATEWAY)
        else {
            return failed;
        };
        let mut response = fault::response(version, cause);
        if let Some(id) = failed.headers().get(X_REQUEST_ID) {
            response.headers_mut().insert(X_REQUEST_ID, id.clone());
        }
        response
    }
}
