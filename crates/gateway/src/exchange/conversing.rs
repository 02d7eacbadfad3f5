//! A request on a route with conversations: answered where it asks for a token, secured in the
//! conversation with the backend, and secured again where the backend has lost that.
//!
//! The rule kept here: a request is sent again once at most, and only when the backend says that it
//! refused it for its context. That word is not proven; whoever can forge it can drop messages as
//! well, and repeat one of ours once.

use std::sync::Arc;

use http::{Response, StatusCode};
use soapstone::endpoint::{TokenAnswer, says_context_is_gone};
use soapstone::wss::{Secured, SecurityContext, SoapVersion};
use tokio::time::Instant;

use crate::conversation::established::{Established, InUse};
use crate::conversation::handshake::Parties;
use crate::exchange::secured::{Arrival, Call};
use crate::exchange::steps::{Label, secure_request};
use crate::observe::log::Beginning;
use crate::observe::metrics::Flow;
use crate::route::side::Side;
use crate::wire::buffers::Place;
use crate::wire::fault::Cause;
use crate::wire::headers::X_REQUEST_ID;
use crate::wire::media;
use crate::wire::reply::Reply;
use crate::work::asking::{Desk, Task};
use crate::work::workers::Effort;

/// Largest response in which a fault is looked for that tells of a lost context. Such faults have
/// some hundred octets.
const LARGEST_FAULT: usize = 64 << 10;

/// The conversation that a request is secured in, and the request as it was before.
pub(crate) struct Within {
    in_use: InUse,
    plain: Vec<u8>,
    label: Label,
}

impl Within {
    pub(crate) fn new(in_use: InUse, plain: Vec<u8>, label: Label) -> Self {
        Self {
            in_use,
            plain,
            label,
        }
    }

    pub(crate) fn context(&self) -> &SecurityContext {
        self.in_use.context()
    }

    /// Whether a response says that the backend does not know the context any more.
    pub(crate) fn was_lost(&self, (head, octets): &Arrival) -> bool {
        !head.status.is_success() && octets.len() <= LARGEST_FAULT && says_context_is_gone(octets)
    }
}

impl Call<'_> {
    /// The answer to a request for a token.
    pub(crate) fn answered(&self, answer: TokenAnswer) -> Response<Reply> {
        let route = self.exchange.route;
        let request = self.id.to_str().unwrap_or_default();
        let peer = self.exchange.connection.peer;
        for done in &answer.done {
            route.metrics.context(done.what);
            tracing::info!(
                route = route.name,
                request,
                %peer,
                what = done.what,
                context = done.identifier,
                owner = done.owner,
                "security context"
            );
        }
        let status = match (&answer.refused, answer.version) {
            (None, _) => StatusCode::OK,
            (Some(_), SoapVersion::V11) => StatusCode::INTERNAL_SERVER_ERROR,
            (Some(_), SoapVersion::V12) => StatusCode::BAD_REQUEST,
        };
        if let Some(fault) = &answer.refused {
            route.metrics.context("refused");
            route.metrics.token_fault(fault.code());
            tracing::warn!(
                route = route.name,
                request,
                %peer,
                fault = fault.code().local(),
                detail = %Beginning(fault),
                "request for a token refused"
            );
        }
        route
            .metrics
            .octets(Flow::ToClient, answer.bytes.len() as u64);
        let content_type = media::with_action(answer.version, &answer.action);
        let mut response = Response::new(Reply::whole(answer.bytes));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(http::header::CONTENT_TYPE, content_type);
        headers.insert(X_REQUEST_ID, self.id.clone());
        response
    }

    /// What a handshake with the backend takes.
    pub(crate) fn parties(&self, side: &Arc<Side>, version: SoapVersion) -> Parties {
        let exchange = self.exchange;
        let shared = &exchange.connection.shared;
        Parties::new(shared, exchange.serving, exchange.route, side, version)
    }

    /// The context of the conversation with the backend, which is begun where there is none.
    pub(crate) async fn conversing(
        &self,
        established: &Arc<Established>,
        parties: Parties,
    ) -> Result<InUse, Response<Reply>> {
        let version = parties.version;
        let begun = Instant::now();
        let obtained = established.obtain(parties).await;
        self.exchange.record("handshake", begun);
        obtained.map_err(|failed| {
            let cause = if failed.is_busy() {
                Cause::Busy
            } else if failed.is_timeout() {
                Cause::GatewayTimeout
            } else {
                Cause::BadGateway
            };
            self.fail(version, cause, failed.name(), failed.to_string())
        })
    }

    /// Secures a request anew, in another conversation than the one that the backend lost.
    pub(crate) async fn within_another(
        &self,
        within: Within,
        version: SoapVersion,
        place: &mut Place,
    ) -> Result<(Secured, InUse), Response<Reply>> {
        let Within {
            in_use: lost,
            plain,
            label,
        } = within;
        let route = self.exchange.route;
        let both = route.outbound.clone().and_then(|side| {
            let established = side.established.clone()?;
            Some((side, established))
        });
        let Some((side, established)) = both else {
            let detail = "a conversation without an endpoint".to_owned();
            return Err(self.fail(version, Cause::Internal, "not-secured", detail));
        };
        tracing::info!(
            route = route.name,
            request = self.id.to_str().unwrap_or_default(),
            context = lost.context().identifier,
            "the backend has lost the conversation; the request is sent again in another one"
        );
        established.forget(lost.context());
        drop(lost);
        route.metrics.resent();
        let parties = self.parties(&side, version);
        let in_use = self.conversing(&established, parties).await?;
        let observed = self.exchange.observed();
        let work = |desk: Desk| async move {
            let buffers = &mut desk.workspace().buffers();
            let context = Some(in_use.context());
            secure_request(&side, plain, &label, context, &observed, buffers)
                .map(|secured| (secured, in_use))
        };
        let task = Task::new(Effort::Heavy, None, work).recorded(self.exchange.observed());
        self.work(version, task, place, |call, trouble| {
            call.unprepared(version, trouble)
        })
        .await
    }
}
