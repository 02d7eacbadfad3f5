//! Health, readiness and metrics.
//!
//! `/healthz` says that the process answers. `/readyz` says whether it makes sense to send it
//! requests: not before its warm-ups are over, not while it drains, and not when none of its
//! backends can be reached. `/metrics` is for Prometheus.
//!
//! The rule kept here: asking changes nothing but what is known of the backends, and however often
//! somebody asks, they are tried once a second.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Method, Response, StatusCode, header};
use soapstone_store::StoreProblem;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::config::direction::Direction;
use crate::observe::audit::Audit;
use crate::observe::log;
use crate::observe::metrics::{self, Detail, RouteMetrics, Snapshot};
use crate::route::Serving;
use crate::server::gateway::Shared;
use crate::server::stores::store_problems;
use crate::wire::reply::Reply;

/// Whether a path is answered here when no route serves it.
pub(crate) fn knows(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz" | "/metrics")
}

/// Answers a request to one of the paths.
pub(crate) async fn answer(
    shared: &Shared,
    method: &Method,
    path: &str,
    detail: Detail,
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
    match path {
        "/healthz" => text(StatusCode::OK, "text/plain", "ok\n".to_owned()),
        "/readyz" => readiness(shared).await,
        "/metrics" => text(
            StatusCode::OK,
            "text/plain; version=0.0.4",
            exposition(shared, detail),
        ),
        _ => text(
            StatusCode::NOT_FOUND,
            "text/plain",
            "known here: /healthz, /readyz, /metrics\n".to_owned(),
        ),
    }
}

/// How long what was found of backends and stores is told again without asking them.
///
/// Without it whoever reaches `/readyz` has the gateway open connections to all backends as fast as
/// he asks. Load balancers ask every second or two.
const FRESH: Duration = Duration::from_secs(1);

/// What was last found of backends and stores, and when.
#[derive(Debug, Default)]
pub(crate) struct Readiness(Mutex<Option<(Instant, Arc<Found>)>>);

/// What backends and stores answered.
#[derive(Debug)]
struct Found {
    /// There are no backends, or at least one is there; and the stores let this node in.
    useful: bool,
    /// A line for each.
    lines: String,
}

impl Readiness {
    /// What was found, found anew if it is old. Who asks meanwhile gets the same.
    async fn found(&self, serving: &Serving) -> Arc<Found> {
        let mut last = self.0.lock().await;
        if let Some((when, found)) = &*last
            && when.elapsed() < FRESH
        {
            return Arc::clone(found);
        }
        let found = Arc::new(Found::now(serving).await);
        *last = Some((Instant::now(), Arc::clone(&found)));
        found
    }
}

impl Found {
    async fn now(serving: &Serving) -> Self {
        let mut probes = tokio::task::JoinSet::new();
        for route in serving.routes.iter() {
            let (name, backend) = (route.name.clone(), Arc::clone(&route.backend));
            probes.spawn(async move { (name, backend.probe().await) });
        }
        let mut probed = probes.join_all().await;
        probed.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut lines = String::new();
        for (name, result) in &probed {
            // Writing to a string cannot fail.
            let _ = match result {
                Ok(()) => writeln!(lines, "{name}: reachable"),
                Err(error) => writeln!(lines, "{name}: {error}"),
            };
        }
        // A reason to send requests elsewhere only where the other nodes may not have it as well.
        let problems = store_problems(&serving.stores).await;
        for problem in &problems {
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "store: {problem}");
        }
        let is_let_in = !problems.iter().any(StoreProblem::is_of_this_node);
        let reaches_any = probed.is_empty() || probed.iter().any(|(_, result)| result.is_ok());
        Self {
            useful: is_let_in && reaches_any,
            lines,
        }
    }
}

async fn readiness(shared: &Shared) -> Response<Reply> {
    let found = shared.readiness.found(&shared.serving()).await;
    let draining = shared.is_draining();
    let warming_up = shared.cold.paths();
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

pub(crate) fn exposition(shared: &Shared, detail: Detail) -> String {
    let serving = shared.serving();
    let mut snapshot = Snapshot {
        queued: shared.workers.waiting(),
        workers: shared.workers.count(),
        buffered: shared.room.taken(),
        room: shared.room.size(),
        queue: shared.workers.capacity(),
        most_connections: shared.most_connections(serving.limits.connections),
        clients: shared.clients.len(),
        lost_lines: log::lost_lines(),
        lost_audit_lines: shared.audit.as_ref().map_or(0, Audit::lost),
        waiting_audit: shared.audit.as_ref().map_or(0, Audit::waiting),
        spans: shared.traces.counts(),
        ..Snapshot::default()
    };
    let mut routes: Vec<Arc<RouteMetrics>> = Vec::new();
    for route in serving.routes.iter() {
        routes.push(Arc::clone(&route.metrics));
        snapshot
            .backends
            .push((route.name.clone(), route.backend.is_reachable()));
        for (which, side) in [
            (Direction::Inbound, &route.inbound),
            (Direction::Outbound, &route.outbound),
        ] {
            if let Some(side) = side {
                snapshot.add(&route.name, which, side);
            }
        }
    }
    for placed in &serving.dated {
        let Some(last) = placed.dated.last() else {
            continue;
        };
        let expires = last.as_second();
        let first = snapshot
            .expiries
            .entry((placed.place.clone(), placed.dated.usage().name()))
            .or_insert(expires);
        *first = expires.min(*first);
    }
    metrics::expose(&shared.metrics, &routes, &snapshot, detail)
}

impl Snapshot {
    /// What an endpoint holds, and what its shared stores did not answer.
    fn add(&mut self, route: &str, which: Direction, side: &crate::route::side::Side) {
        let named = |value: u64| (route.to_owned(), which, value);
        self.replay_marks
            .extend(side.replay.len().map(|marks| named(marks as u64)));
        self.replay_capacity
            .extend(side.replay.capacity().map(|marks| named(marks as u64)));
        if side.endpoint.conversation().is_some() && side.established.is_none() {
            let held = side.contexts.len();
            self.conversations
                .extend(held.map(|contexts| named(contexts as u64)));
            let capacity = side.contexts.capacity();
            self.conversations_capacity
                .extend(capacity.map(|contexts| named(contexts as u64)));
        }
        // What is held in this process is never out of reach.
        for (about, is_shared, count) in [
            (
                "replay",
                side.replay.len().is_none(),
                side.replay.unanswered(),
            ),
            (
                "conversations",
                side.contexts.len().is_none(),
                side.contexts.unanswered(),
            ),
        ] {
            if is_shared {
                self.unanswered
                    .push((route.to_owned(), which, about, count));
            }
        }
        if let Some(usage) = side.endpoint.shared_key_usage() {
            self.shared_keys
                .push((route.to_owned(), which, usage.ratio()));
        }
        if side.replay.len().is_none() {
            self.decided_alone.push(named(side.replay.decided_alone()));
        }
    }
}

fn text(status: StatusCode, media_type: &'static str, body: String) -> Response<Reply> {
    let mut response = Response::new(Reply::whole(body));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}
