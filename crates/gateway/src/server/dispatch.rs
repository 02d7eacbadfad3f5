//! Where a request goes that came over a connection to the routes.
//!
//! The rule kept here: a request whose head can be read in two ways reaches no route.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use tokio::time::Instant;

use super::admin;
use super::state::State;
use crate::exchange::connection::Connection;
use crate::exchange::context::Exchange;
use crate::exchange::serve;
use crate::observe::audit::Notes;
use crate::observe::metrics::Detail;
use crate::observe::trace_context;
use crate::observe::traces::Traced;
use crate::wire::headers;
use crate::wire::reply::Reply;
use crate::wire::text::text;

/// Answers a request.
pub(super) async fn answer(
    state: &State,
    connection: &Connection,
    mut request: Box<Request<Incoming>>,
) -> Response<Reply> {
    let started = Instant::now();
    let resources = &state.resources;
    let serving = state.current.serving();
    if let Some((status, why)) = unfit(&mut request) {
        tracing::debug!(peer = %connection.peer, status = status.as_u16(), why, "request not looked at");
        return text(status, format!("{why}\n"));
    }
    let path = request.uri().path();
    let Some(route) = serving.routes.find(path) else {
        if admin::knows(path) && state.admin().is_none() {
            return admin::answer(state, request.method(), path, Detail::Classes, None).await;
        }
        resources.metrics.unrouted.fetch_add(1, Ordering::Relaxed);
        tracing::debug!(peer = %connection.peer, %path, "no route has this path");
        return not_found(path);
    };
    // Before anything is read of them: what is judged is what passes on.
    headers::remove_hop_by_hop(request.headers_mut());
    let context = trace_context::settle(request.headers_mut());
    let recording = resources.traces.begin(context, started);
    let trace = recording
        .as_ref()
        .map(|recording| recording.trace())
        .or(context.map(|context| context.trace));
    let traced = recording.as_ref().map(|recording| {
        let names = (route.name.as_str(), route.path());
        Traced::new(&resources.traces, recording, request.method(), names)
    });
    let is_logged =
        resources.calls.is_some() && request.method() == Method::POST && route.is_logged();
    let is_told = is_logged || resources.audit.is_some() || recording.is_some();
    let notes = is_told.then(Notes::default);
    let _in_flight = resources.metrics.in_flight();
    let exchange = Exchange {
        resources,
        connection,
        serving: &serving,
        route,
        started,
        notes,
        trace: trace.map(|trace| format!("{trace:032x}")),
        recording,
        spent: is_logged.then(Arc::default),
        counted: route.metrics.operations().map(|_| Arc::default()),
    };
    serve(&exchange, request, traced).await
}

/// Why no route gets a request whose head can be read in two ways, or asks for what is not done
/// here; `None` if it is as it should be.
fn unfit(request: &mut Request<Incoming>) -> Option<(StatusCode, &'static str)> {
    if request.method() == Method::CONNECT {
        return Some((StatusCode::NOT_IMPLEMENTED, "no tunnels are made here"));
    }
    if headers::has_unknown_coding(request.headers()) {
        // RFC 9112 section 6.1.
        let why = "the only transfer coding that is known here is chunked";
        return Some((StatusCode::NOT_IMPLEMENTED, why));
    }
    if !headers::settle_host(request) {
        let why = "a request names its host, once and without a user";
        return Some((StatusCode::BAD_REQUEST, why));
    }
    None
}

fn not_found(path: &str) -> Response<Reply> {
    let why = format!("no route serves {}\n", path.escape_debug());
    text(StatusCode::NOT_FOUND, why)
}
