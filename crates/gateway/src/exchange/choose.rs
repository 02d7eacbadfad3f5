//! The second step of a request: where it goes, and in which conversation.
//!
//! A route has one upstream, so that the conversation alone is to be chosen.
//!
//! The rule kept here: the backend is asked for nothing before the request is admitted.

use std::sync::Arc;

use http::Response;
use soapstone::wss::SoapVersion;
use tokio::time::Instant;

use super::reporter::Reporter;
use crate::conversation::context::ContextLease;
use crate::route::upstream::Upstream;
use crate::wire::fault::Cause;
use crate::wire::reply::Reply;

/// Where a request goes.
pub(super) struct Chosen {
    pub(super) upstream: Arc<Upstream>,
    /// The context of the conversation with it, where there are conversations.
    pub(super) context: Option<ContextLease>,
}

/// The choice as far as it can be made without waiting: `Err` is the upstream whose conversation
/// has no context.
pub(super) fn at_once(
    upstream: Arc<Upstream>,
    version: SoapVersion,
) -> Result<Chosen, Arc<Upstream>> {
    let context = match &upstream.conversation {
        None => None,
        Some(conversation) => match conversation.at_hand(version) {
            Some(context) => Some(context),
            None => return Err(upstream),
        },
    };
    Ok(Chosen { upstream, context })
}

/// The same, after the handshake that the conversation needs.
///
/// # Errors
///
/// The answer, where there is no context.
pub(super) async fn after_handshake(
    reporter: &Reporter<'_>,
    upstream: Arc<Upstream>,
    version: SoapVersion,
) -> Result<Chosen, Response<Reply>> {
    let Some(conversation) = &upstream.conversation else {
        let context = None;
        return Ok(Chosen { upstream, context });
    };
    let begun = Instant::now();
    let obtained = conversation.obtain(version).await;
    reporter.exchange.record("handshake", begun);
    match obtained {
        Ok(context) => {
            let context = Some(context);
            Ok(Chosen { upstream, context })
        }
        Err(failed) => {
            let cause = if failed.is_busy() {
                Cause::Busy
            } else if failed.is_timeout() {
                Cause::GatewayTimeout
            } else {
                Cause::BadGateway
            };
            Err(reporter.fail(version, cause, failed.name(), failed.to_string()))
        }
    }
}
