//! Health, readiness and metrics.
//!
//! `/healthz` says that the process answers. `/readyz` says whether it makes sense to send it
//! requests: not before its warm-ups are over, not while it drains, and not when none of its
//! backends can be reached. `/metrics` is for Prometheus. On a listener of its own alone,
//! `/backends` tells what is known of each backend of the routes that have several, `/candidates`
//! what each of them is worth to a request with given needs, `/operations`
//! what is counted of each operation, `/agreements` what is known of each agreement, and
//! `/weak-algorithms` who has used which. `/refused` lists the messages that were recorded there,
//! and `/refused/ID` gives one.
//!
//! The rule kept here: asking changes nothing but what is known of the backends, and however often
//! somebody asks, they are tried once a second.

use std::fmt::Write;
use std::net::IpAddr;
use std::sync::Arc;

use http::{HeaderValue, Method, Request, Response, StatusCode, header};

use super::admission::{Asker, let_in};
use super::agreements::agreements;
use super::backends::backends;
use super::candidates::{Question, candidates};
use super::console;
use super::operations::operations;
use super::snapshot::exposition;
use super::state::State;
use super::weak_algorithms::weak_algorithms;
use crate::exchange::connection::Connection;
use crate::observe::metrics::Detail;
use crate::observe::record::Records;
use crate::wire::reply::{Reply, text};

/// Whether a path is answered here when no route serves it.
pub(crate) fn knows(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz" | "/metrics")
}

/// Answers a request to one of the paths. `peer` asks, on the listener of its own; beside the
/// routes it is not known.
pub(crate) async fn answer(
    state: &State,
    method: &Method,
    path: &str,
    detail: Detail,
    peer: Option<IpAddr>,
) -> Response<Reply> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        let mut response = text(
            StatusCode::METHOD_NOT_ALLOWED,
            "text/plain",
            "only GET is served here\n".to_owned(),
        );
        response
            .headers_mut()
            .insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    answer_known(state, path, detail, peer).await
}

/// Answers a request to the listener of its own. Health is for everybody, for load balancers have
/// no token.
pub(crate) async fn answer_alone<B>(
    state: &Arc<State>,
    request: &Request<B>,
    connection: &Arc<Connection>,
) -> Response<Reply> {
    let (method, path) = (request.method(), request.uri().path());
    let peer = connection.peer.ip();
    let is_health = matches!(path, "/healthz" | "/readyz");
    let admin = state.admin().filter(|_| !is_health);
    if let Some(admin) = &admin
        && let Err(refused) = let_in(admin, request, connection)
    {
        return refused.response();
    }
    if let Some(admin) = &admin
        && admin.access.console
        && *method == Method::GET
    {
        if path == "/console/events" {
            return console::events(state, Asker::of(request, connection));
        }
        if let Some(page) = console::answer(state, path, peer).await {
            return page;
        }
    }
    if path == "/candidates" && matches!(*method, Method::GET | Method::HEAD) {
        return match Question::read(request.uri().query().unwrap_or_default()) {
            Ok(question) => {
                let found = candidates(&state.current.serving(), &state.discovered, &question);
                text(StatusCode::OK, "application/json", found)
            }
            Err(why) => text(StatusCode::BAD_REQUEST, "text/plain", format!("{why}\n")),
        };
    }
    answer(state, method, path, Detail::Everything, Some(peer)).await
}

async fn answer_known(
    state: &State,
    path: &str,
    detail: Detail,
    peer: Option<IpAddr>,
) -> Response<Reply> {
    match path {
        "/healthz" => text(StatusCode::OK, "text/plain", "ok\n".to_owned()),
        "/readyz" => readiness(state).await,
        "/metrics" => text(
            StatusCode::OK,
            "text/plain; version=0.0.4",
            exposition(state, detail),
        ),
        "/backends" if detail == Detail::Everything => {
            let serving = state.current.serving();
            text(
                StatusCode::OK,
                "application/json",
                backends(&serving, &state.discovered),
            )
        }
        "/operations" if detail == Detail::Everything => text(
            StatusCode::OK,
            "application/json",
            operations(&state.current.serving()),
        ),
        "/weak-algorithms" if detail == Detail::Everything => text(
            StatusCode::OK,
            "application/json",
            weak_algorithms(&state.current.serving()),
        ),
        "/agreements" if detail == Detail::Everything => text(
            StatusCode::OK,
            "application/json",
            agreements(&state.current.serving(), &state.routes.violations),
        ),
        _ => match (peer, &state.resources.records) {
            (Some(peer), Some(records)) => refused(records, peer, path),
            _ => not_found(
                "known here: /healthz, /readyz, /metrics, /backends, /candidates, /operations, /agreements, /weak-algorithms\n",
            ),
        },
    }
}

/// The messages that were refused. What is not sealed for the holder of a key is for this host.
fn refused(records: &Records, peer: IpAddr, path: &str) -> Response<Reply> {
    let found = match path {
        "/refused" => records.list(),
        _ => match path.strip_prefix("/refused/") {
            None => {
                return not_found(
                    "known here: /healthz, /readyz, /metrics, /backends, /candidates, /operations, /agreements, /weak-algorithms, /refused\n",
                );
            }
            Some(_) if !records.are_for(peer) => {
                let why = "messages are for this host alone, unless `record.seal_key` seals them\n";
                return text(StatusCode::FORBIDDEN, "text/plain", why.to_owned());
            }
            Some(id) => match records.find(id) {
                Some(found) => found,
                None => return not_found("no message of this id is kept (any more)\n"),
            },
        },
    };
    text(StatusCode::OK, "application/json", format!("{found}\n"))
}

fn not_found(why: &str) -> Response<Reply> {
    text(StatusCode::NOT_FOUND, "text/plain", why.to_owned())
}

async fn readiness(state: &State) -> Response<Reply> {
    let found = state.readiness.found(&state.current.serving()).await;
    let draining = state.is_draining();
    let warming_up = state.cold.paths();
    let ready = !draining && found.useful && warming_up.is_empty();
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let lines = &found.lines;
    let mut body = format!("ready: {ready}\ndraining: {draining}\n{lines}");
    for path in &warming_up {
        // Writing to a string cannot fail.
        let _ = writeln!(body, "warming up: {path}");
    }
    text(status, "text/plain", body)
}
