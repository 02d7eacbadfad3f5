//! A request that is secured again, in another conversation than the one that the backend lost.
//!
//! The rule kept here: a request is sent again once at most, and only when the backend says that it
//! refused it for its context. That word is not proven; whoever can forge it can drop messages as
//! well, and repeat one of ours once.

use std::sync::Arc;

use http::{HeaderValue, Response};
use soapstone::endpoint::says_context_is_gone;
use soapstone::wss::{Receipt, SoapVersion};

use super::choose::{self, Chosen};
use super::reporter::Reporter;
use super::secure::InConversation;
use super::send::Arrival;
use super::steps::{With, secure_request};
use super::working::go_on;
use crate::conversation::context::ContextLease;
use crate::route::upstream::Upstream;
use crate::scheduling::class::WorkClass;
use crate::scheduling::task::{Desk, Task};
use crate::wire::budget::Reservation;
use crate::wire::fault::Cause;
use crate::wire::packaged::message_in;
use crate::wire::reply::Reply;

/// Largest response in which a fault is looked for that tells of a lost context. Such faults have
/// some hundred bytes.
const LARGEST_FAULT: usize = 64 << 10;

/// Whether a response says that the backend does not know the context any more.
pub(super) fn was_lost((head, octets): &Arrival) -> bool {
    !head.status.is_success()
        && octets.len() <= LARGEST_FAULT
        && message_in(&head.headers, octets).is_some_and(says_context_is_gone)
}

/// A request that was secured anew.
pub(super) struct Again {
    pub(super) octets: Vec<u8>,
    /// Its `Content-Type`, where it is a package.
    pub(super) content_type: Option<HeaderValue>,
    pub(super) receipt: Receipt,
}

/// Secures a request anew. The conversation is in use until its answer is here.
pub(super) async fn secure_again(
    reporter: &Reporter<'_>,
    upstream: &Arc<Upstream>,
    former: InConversation,
    version: SoapVersion,
    reservation: &mut Reservation,
) -> Result<(Again, ContextLease), Response<Reply>> {
    let InConversation {
        lease: lost,
        plain,
        label,
        packing,
    } = former;
    let route = reporter.exchange.route;
    tracing::info!(
        route = route.name,
        request = reporter.id.to_str().unwrap_or_default(),
        context = lost.context().identifier,
        "the backend has lost the conversation; the request is sent again in another one"
    );
    if let Some(conversation) = &upstream.conversation {
        conversation.forget(lost.context());
    }
    drop(lost);
    route.metrics.resent();
    let chosen =
        choose::after_handshake(reporter, Arc::clone(upstream), None, version, &plain.root).await?;
    let Chosen {
        upstream, context, ..
    } = chosen;
    let (Some(endpoint), Some(lease)) = (upstream.endpoint.clone(), context) else {
        let detail = "a conversation without an endpoint".to_owned();
        return Err(reporter.fail(version, Cause::Internal, "not-secured", detail));
    };
    let observed = Arc::clone(&reporter.observed);
    let step = |desk: Desk| async move {
        let buffers = &mut desk.workspace().buffers();
        let with = With {
            context: Some(lease.context()),
            ..With::default()
        };
        let secured = secure_request(&endpoint, plain, &label, with, &observed, buffers)?;
        let (octets, content_type) = match packing {
            Some(packing) => {
                let packed = packing.write(secured.bytes, secured.parts);
                (packed.body, Some(packed.content_type))
            }
            None => (secured.bytes, None),
        };
        let again = Again {
            octets,
            content_type,
            receipt: secured.receipt,
        };
        Ok((again, lease))
    };
    let task = Task::new(WorkClass::Blocking, None, step).recorded(&reporter.observed);
    go_on(reporter, version, task, reservation).await
}
