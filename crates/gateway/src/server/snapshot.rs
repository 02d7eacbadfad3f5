//! What is measured when somebody asks for metrics.
//!
//! The rule kept here: asking changes nothing.

use std::sync::Arc;

use jiff::Timestamp;
use soapstone::endpoint::Directions;

use super::state::State;
use crate::config::direction::Direction;
use crate::observe::audit::Audit;
use crate::observe::calls::CallLog;
use crate::observe::log;
use crate::observe::metrics::{self, AgreementsSnapshot, Detail, RouteMetrics, Snapshot};
use crate::scheduling::endpoint::RouteEndpoint;

/// Every metric, in Prometheus' text format.
pub(crate) fn exposition(state: &State, detail: Detail) -> String {
    let serving = state.current.serving();
    let resources = &state.resources;
    let workers = resources.executor.workers();
    let room = &resources.memory.budget;
    let mut snapshot = Snapshot {
        queued: workers.waiting(),
        workers: workers.count(),
        buffered: room.taken(),
        room: room.size(),
        queue: workers.capacity(),
        most_connections: state.most_connections(serving.limits.connections),
        clients: resources.clients.len(),
        lost_lines: log::lost_lines(),
        lost_audit_lines: resources.audit.as_ref().map_or(0, Audit::lost),
        waiting_audit: resources.audit.as_ref().map_or(0, Audit::waiting),
        spans: resources.traces.counts(),
        calls: resources.calls.as_ref().map(CallLog::counts),
        revocation: state.routes.revocation.counts(Timestamp::now()),
        ..Snapshot::default()
    };
    let mut routes: Vec<Arc<RouteMetrics>> = Vec::new();
    for route in serving.routes.iter() {
        routes.push(Arc::clone(&route.metrics));
        let mut backends = route.upstreams().map(|upstream| &upstream.backend);
        let is_up = backends.any(|backend| backend.is_reachable());
        snapshot.backends.push((route.name.clone(), is_up));
        if let Some(balancer) = &route.balancer {
            let members = balancer.status();
            snapshot.balanced.push((route.name.clone(), members));
        }
        if let Some(endpoint) = &route.inbound {
            snapshot.add(&route.name, Direction::Inbound, endpoint);
        }
        if let Some(endpoint) = route.outbound() {
            snapshot.add(&route.name, Direction::Outbound, endpoint);
        }
    }
    snapshot.agreements = serving.agreements.as_ref().map(|agreements| {
        let violations = &state.routes.violations;
        AgreementsSnapshot {
            agreements: agreements.status().map(|(_, status)| status).collect(),
            records: violations.head().number,
            lost: violations.lost(),
            shared: agreements.shared().map(|shared| shared.counts()),
        }
    });
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
    metrics::expose(&resources.metrics, &routes, &snapshot, detail)
}

impl Snapshot {
    /// What an endpoint holds, and what its shared stores did not answer.
    fn add<P: Directions>(&mut self, route: &str, which: Direction, endpoint: &RouteEndpoint<P>) {
        let named = |value: u64| (route.to_owned(), which, value);
        self.replay_marks.extend(
            endpoint
                .stores
                .replay
                .len()
                .map(|marks| named(marks as u64)),
        );
        self.replay_capacity.extend(
            endpoint
                .stores
                .replay
                .capacity()
                .map(|marks| named(marks as u64)),
        );
        if which == Direction::Inbound && endpoint.endpoint.conversation().is_some() {
            let held = endpoint.stores.contexts.len();
            self.conversations
                .extend(held.map(|contexts| named(contexts as u64)));
            let capacity = endpoint.stores.contexts.capacity();
            self.conversations_capacity
                .extend(capacity.map(|contexts| named(contexts as u64)));
        }
        // What is held in this process is never out of reach.
        for (about, is_shared, count) in [
            (
                "replay",
                endpoint.stores.replay.len().is_none(),
                endpoint.stores.replay.unanswered(),
            ),
            (
                "conversations",
                endpoint.stores.contexts.len().is_none(),
                endpoint.stores.contexts.unanswered(),
            ),
        ] {
            if is_shared {
                self.unanswered
                    .push((route.to_owned(), which, about, count));
            }
        }
        if let Some(usage) = endpoint.endpoint.shared_key_usage() {
            self.shared_keys
                .push((route.to_owned(), which, usage.ratio()));
        }
        if endpoint.endpoint.allows_for_clock() {
            let ahead = endpoint.endpoint.peer_clock().ahead.as_secs_f64();
            self.peer_clocks.push((route.to_owned(), which, ahead));
        }
        if endpoint.stores.replay.len().is_none() {
            self.decided_alone
                .push(named(endpoint.stores.replay.decided_alone()));
        }
    }
}
