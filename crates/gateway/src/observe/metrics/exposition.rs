//! The text that Prometheus reads (exposition format 0.0.4).
//!
//! The rule kept here: label values come from the configuration and from names in the code, never
//! from a message, so that no peer can make the series grow.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use soapstone::crypto::trust::RevocationCounts;
use soapstone_broker::MemberStatus;

use super::text::{COUNTER, Exposition, GAUGE, HISTOGRAM, escape, route_label};
use super::{
    AgreementsSnapshot, GatewayMetrics, RouteMetrics, STEPS, agreements, balanced, process,
};
use crate::config::direction::Direction;
use crate::observe::calls::CallCounts;
use crate::observe::traces::Counts;

/// What is measured when asked for.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) queued: usize,
    pub(crate) workers: usize,
    pub(crate) buffered: u64,
    /// How much of that there may be, and of what waits and connects.
    pub(crate) room: u64,
    pub(crate) queue: usize,
    pub(crate) most_connections: u64,
    /// Clients and partners that are known.
    pub(crate) clients: usize,
    /// Lines of the log that were lost.
    pub(crate) lost_lines: u64,
    /// Lines of the audit trail that were lost, and bytes of it that wait.
    pub(crate) lost_audit_lines: u64,
    pub(crate) waiting_audit: usize,
    /// What became of the spans of traces.
    pub(crate) spans: Counts,
    /// What became of calls for the log of the registry, where they are logged.
    pub(crate) calls: Option<CallCounts>,
    /// Route and side, with the number of replay marks held.
    pub(crate) replay_marks: Vec<(String, Direction, u64)>,
    /// Route and side, with the number of replay marks that may be.
    pub(crate) replay_capacity: Vec<(String, Direction, u64)>,
    /// Route and side, with the number of conversations that may be held.
    pub(crate) conversations_capacity: Vec<(String, Direction, u64)>,
    /// Route and side, with the number of conversations held.
    pub(crate) conversations: Vec<(String, Direction, u64)>,
    /// Route, side and what was asked for, with the number of questions that a shared store did
    /// not answer.
    pub(crate) unanswered: Vec<(String, Direction, &'static str, u64)>,
    /// Route and side, with the number of messages that were accepted without the shared store's
    /// word.
    pub(crate) decided_alone: Vec<(String, Direction, u64)>,
    /// What certificates and revocation lists are there for, with the second at which the first of
    /// them expires.
    pub(crate) expiries: BTreeMap<ExpiryLabels, i64>,
    /// What is known of revocation.
    pub(crate) revocation: RevocationCounts,
    /// Route and side, with the part of its limit that a shared key has enciphered.
    pub(crate) shared_keys: Vec<(String, Direction, f64)>,
    /// Route and side, with the seconds that the peer's clock is ahead.
    pub(crate) peer_clocks: Vec<(String, Direction, f64)>,
    /// Route, and whether its backend could last be reached.
    pub(crate) backends: Vec<(String, bool)>,
    /// Route, and what is known of each of its backends where there are several.
    pub(crate) balanced: Vec<(String, Vec<MemberStatus>)>,
    /// What is known of agreements, where there are some.
    pub(crate) agreements: Option<AgreementsSnapshot>,
}

/// Route and side (none of `[tls]`), and what the certificate or list is there for.
type ExpiryLabels = (Option<(String, Direction)>, &'static str);

/// How much is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// What strangers may read: no more of a refused message than its sender is told, and nothing
    /// of the steps that it took.
    Classes,
    /// What operators read.
    Everything,
}

/// Why requests fail, besides what the engine refuses: each is there from the start.
const FAILURES: [&str; 42] = [
    "agreement-operation",
    "agreement-rate",
    "agreement-size",
    "backend-broken",
    "backend-connect-timeout",
    "backend-description",
    "backend-not-soap",
    "backend-refused",
    "backend-response-timeout",
    "backend-unreachable",
    "backends-busy",
    "backends-down",
    "client-queue",
    "client-rate",
    "handshake-answer",
    "handshake-busy",
    "handshake-refused",
    "handshake-unfinished",
    "incomplete",
    "media-type",
    "needs-client-certificate",
    "needs-tls",
    "needs-unclear",
    "needs-uncovered",
    "no-room",
    "not-allowed",
    "not-secured",
    "operation-unclear",
    "operation-unknown",
    "partner-rate",
    "partner-room",
    "queue-full",
    "request-timeout",
    "route-rate",
    "token-busy",
    "token-refused",
    "token-service-answer",
    "token-service-away",
    "token-unfinished",
    "too-large",
    "worker-failed",
    "would-expose",
];

/// Rules of roles that refuse requests.
const RULES: [&str; 6] = ["action", "hours", "no-role", "operation", "rate", "size"];

/// Writes everything in Prometheus' text format.
pub(crate) fn expose(
    gateway: &GatewayMetrics,
    routes: &[Arc<RouteMetrics>],
    snapshot: &Snapshot,
    detail: Detail,
) -> String {
    let mut out = Exposition(String::with_capacity(16 * 1024));
    of_the_gateway(gateway, snapshot, &mut out);
    of_traces(snapshot, &mut out);
    if let Some(calls) = snapshot.calls {
        of_calls(calls, &mut out);
    }
    of_backends(snapshot, &mut out);
    of_expiries(snapshot, &mut out);
    of_shared_keys(snapshot, &mut out);
    of_revocation(gateway, snapshot, &mut out);
    of_requests(routes, &mut out);
    of_security(routes, detail, &mut out);
    of_conversations(routes, snapshot, &mut out);
    of_times(routes, detail, &mut out);
    if detail == Detail::Everything {
        if let Some(known) = &snapshot.agreements {
            agreements::expose(known, &mut out);
        }
        // How often a message waits tells which step refused it.
        of_stores(gateway, &mut out);
        // Names of backends are mostly their addresses.
        balanced::expose(&snapshot.balanced, routes, &mut out);
        // A client is told that it may not, and not why.
        of_denials(routes, &mut out);
        process::expose(&mut out);
    }
    out.0
}

fn of_the_gateway(gateway: &GatewayMetrics, snapshot: &Snapshot, out: &mut Exposition) {
    let version = format!("version=\"{}\"", env!("CARGO_PKG_VERSION"));
    out.family(("soapstone_build_info", GAUGE, "The running version."))
        .sample(&version, 1);
    let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let connections = (
        "soapstone_connections",
        GAUGE,
        "Open connections from clients.",
    );
    let refused_connections = (
        "soapstone_refused_connections_total",
        COUNTER,
        "Connections turned away because there were too many.",
    );
    let in_flight = ("soapstone_requests_in_flight", GAUGE, "Requests in hand.");
    let unrouted = (
        "soapstone_unrouted_total",
        COUNTER,
        "Requests for a path without a route.",
    );
    let reloads = (
        "soapstone_reloads_total",
        COUNTER,
        "Configurations taken into use after the first.",
    );
    let failed_reloads = (
        "soapstone_failed_reloads_total",
        COUNTER,
        "Changed configurations with problems.",
    );
    let queued = (
        "soapstone_crypto_queue",
        GAUGE,
        "Messages that wait for a crypto worker.",
    );
    let workers = ("soapstone_crypto_workers", GAUGE, "Crypto workers.");
    let buffered = (
        "soapstone_buffered_bytes",
        GAUGE,
        "Bytes of messages in hand.",
    );
    let formerly_buffered = (
        "soapstone_buffered_octets",
        GAUGE,
        "Former name of soapstone_buffered_bytes, which goes with the next release.",
    );
    let room = (
        "soapstone_buffered_limit_bytes",
        GAUGE,
        "Most bytes of messages in hand.",
    );
    let queue = (
        "soapstone_crypto_queue_limit",
        GAUGE,
        "Most messages that may wait for a crypto worker or for a store.",
    );
    let most_connections = (
        "soapstone_connections_limit",
        GAUGE,
        "Most open connections from clients.",
    );
    let clients = (
        "soapstone_clients",
        GAUGE,
        "Addresses and partners whose shares are counted.",
    );
    let lost_lines = (
        "soapstone_log_lines_lost_total",
        COUNTER,
        "Lines of the log that were lost, because its reader stood still or there was no room.",
    );
    let lost_audit_lines = (
        "soapstone_audit_lines_lost_total",
        COUNTER,
        "Lines of the audit trail that were lost, because they could not be written.",
    );
    let waiting_audit = (
        "soapstone_audit_waiting_bytes",
        GAUGE,
        "Bytes of the audit trail that wait to be written.",
    );
    for (family, value) in [
        (connections, load(&gateway.connections)),
        (refused_connections, load(&gateway.refused_connections)),
        (in_flight, load(&gateway.in_flight)),
        (unrouted, load(&gateway.unrouted)),
        (reloads, load(&gateway.reloads)),
        (failed_reloads, load(&gateway.failed_reloads)),
        (queued, snapshot.queued as u64),
        (workers, snapshot.workers as u64),
        (buffered, snapshot.buffered),
        (formerly_buffered, snapshot.buffered),
        (room, snapshot.room),
        (queue, snapshot.queue as u64),
        (most_connections, snapshot.most_connections),
        (clients, snapshot.clients as u64),
        (lost_lines, snapshot.lost_lines),
        (lost_audit_lines, snapshot.lost_audit_lines),
        (waiting_audit, snapshot.waiting_audit as u64),
    ] {
        out.family(family).sample("", value);
    }
    let wait = "Time that messages waited for a crypto worker.";
    out.family(("soapstone_crypto_wait_seconds", HISTOGRAM, wait))
        .histogram("", &gateway.queue_wait);
}

fn of_traces(snapshot: &Snapshot, out: &mut Exposition) {
    let waiting_spans = (
        "soapstone_spans_waiting",
        GAUGE,
        "Spans of traces that wait for the collector.",
    );
    let exported_spans = (
        "soapstone_spans_exported_total",
        COUNTER,
        "Spans of traces that the collector took.",
    );
    let lost_spans = (
        "soapstone_spans_lost_total",
        COUNTER,
        "Spans of traces that were lost, because the collector did not take them in time.",
    );
    let over_rate = (
        "soapstone_traces_over_rate_total",
        COUNTER,
        "Requests that were not recorded, because there were more than `traces.rate`.",
    );
    for (family, value) in [
        (waiting_spans, snapshot.spans.waiting as u64),
        (exported_spans, snapshot.spans.exported),
        (lost_spans, snapshot.spans.lost),
        (over_rate, snapshot.spans.over_rate),
    ] {
        out.family(family).sample("", value);
    }
}

fn of_calls(calls: CallCounts, out: &mut Exposition) {
    let waiting = (
        "soapstone_call_records_waiting",
        GAUGE,
        "Calls that the registry is to be told of.",
    );
    let logged = (
        "soapstone_call_records_logged_total",
        COUNTER,
        "Calls that are in the log of the registry.",
    );
    let lost = (
        "soapstone_call_records_lost_total",
        COUNTER,
        "Calls that did not get into the log of the registry: there was no room, or it refused them.",
    );
    for (family, value) in [
        (waiting, calls.waiting as u64),
        (logged, calls.logged),
        (lost, calls.lost),
    ] {
        out.family(family).sample("", value);
    }
}

fn of_revocation(gateway: &GatewayMetrics, snapshot: &Snapshot, out: &mut Exposition) {
    let counts = &snapshot.revocation;
    let help = "Certificates that responders are asked about, by what is known of them.";
    let mut samples = out.family(("soapstone_revocation_certificates", GAUGE, help));
    let good = counts.certificates - counts.unanswered - counts.revoked;
    for (status, count) in [
        ("good", good),
        ("revoked", counts.revoked),
        ("unanswered", counts.unanswered),
    ] {
        samples.sample(&format!("status=\"{status}\""), count);
    }
    let help = "Revocation lists that are fetched, by whether they are up to date.";
    let mut samples = out.family(("soapstone_revocation_lists", GAUGE, help));
    for (state, count) in [
        ("fresh", counts.lists - counts.stale_lists),
        ("stale", counts.stale_lists),
    ] {
        samples.sample(&format!("state=\"{state}\""), count);
    }
    let help = "Checks that believed a certificate although nobody answered (`fail = \"soft\"`).";
    out.family(("soapstone_revocation_soft_fails_total", COUNTER, help))
        .sample("", counts.admitted);
    let help = "Questions about revocation, by how they were asked and what became of them.";
    let mut samples = out.family(("soapstone_revocation_questions_total", COUNTER, help));
    for ((kind, outcome), count) in gateway.revocation.entries() {
        samples.sample(&format!("kind=\"{kind}\",outcome=\"{outcome}\""), count);
    }
}

fn of_denials(routes: &[Arc<RouteMetrics>], out: &mut Exposition) {
    let help = "Requests that no role let through, by the rule of the nearest role.";
    out.family(("soapstone_denied_total", COUNTER, help))
        .counts(routes, "rule", |route| {
            let mut rules: BTreeMap<_, _> = RULES.map(|rule| (rule, 0)).into();
            rules.extend(route.denials.entries());
            let rules = rules.into_iter();
            rules
                .map(|(rule, count)| (route.label(), rule.to_owned(), count))
                .collect()
        });
}

fn of_stores(gateway: &GatewayMetrics, out: &mut Exposition) {
    let help = "Messages that wait for the answer of a store.";
    let waiting = gateway.store_waiting.load(Ordering::Relaxed);
    out.family(("soapstone_store_waiting", GAUGE, help))
        .sample("", waiting);
    let help = "Time that messages waited for the answers of stores.";
    out.family(("soapstone_store_wait_seconds", HISTOGRAM, help))
        .histogram("", &gateway.store_wait);
}

fn of_backends(snapshot: &Snapshot, out: &mut Exposition) {
    let help = "Whether the backend could last be reached.";
    let mut samples = out.family(("soapstone_backend_up", GAUGE, help));
    for (route, up) in &snapshot.backends {
        samples.sample(&route_label(route), u8::from(*up));
    }
    let help = "Replay marks held.";
    out.family(("soapstone_replay_marks", GAUGE, help))
        .of_sides(&snapshot.replay_marks);
    let help = "Most replay marks that may be held.";
    out.family(("soapstone_replay_marks_limit", GAUGE, help))
        .of_sides(&snapshot.replay_capacity);
    let help = "Messages accepted by this node alone, because the shared store did not answer.";
    out.family(("soapstone_replay_decided_alone_total", COUNTER, help))
        .of_sides(&snapshot.decided_alone);
    let help = "Questions that a shared store did not answer.";
    let mut samples = out.family(("soapstone_store_unanswered_total", COUNTER, help));
    for (route, side, about, count) in &snapshot.unanswered {
        let (route, side) = (route_label(route), side.name());
        samples.sample(
            &format!("{route},direction=\"{side}\",about=\"{about}\""),
            count,
        );
    }
}

fn of_expiries(snapshot: &Snapshot, out: &mut Exposition) {
    let help =
        "When the first certificate or revocation list of its use expires, in seconds since 1970.";
    let mut samples = out.family(("soapstone_certificate_expires_seconds", GAUGE, help));
    for ((place, usage), seconds) in &snapshot.expiries {
        let place = place.as_ref().map_or_else(String::new, |(route, side)| {
            format!("{},direction=\"{}\",", route_label(route), side.name())
        });
        samples.sample(&format!("{place}use=\"{usage}\""), seconds);
    }
}

fn of_shared_keys(snapshot: &Snapshot, out: &mut Exposition) {
    let help = "Part of its limit that a shared key has enciphered in this process: messages under AES-GCM, blocks under Triple DES.";
    out.family(("soapstone_shared_key_used_ratio", GAUGE, help))
        .of_sides(&snapshot.shared_keys);
    let help = "Seconds that the peer's clock is taken to be ahead of ours.";
    out.family(("soapstone_peer_clock_offset_seconds", GAUGE, help))
        .of_sides(&snapshot.peer_clocks);
}

fn of_requests(routes: &[Arc<RouteMetrics>], out: &mut Exposition) {
    const FLOWS: [&str; 4] = ["from-client", "to-backend", "from-backend", "to-client"];
    let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let help = "Responses to clients, by class of status.";
    out.family(("soapstone_requests_total", COUNTER, help))
        .counts(routes, "status", |route| {
            let classes = (1_u8..).zip(&route.responses);
            classes
                .map(|(class, count)| (route.label(), format!("{class}xx"), load(count)))
                .collect()
        });
    for (name, help) in [
        (
            "soapstone_bytes_total",
            "Bytes of bodies, by where they came from or went to.",
        ),
        (
            "soapstone_octets_total",
            "Former name of soapstone_bytes_total, which goes with the next release.",
        ),
    ] {
        out.family((name, COUNTER, help))
            .counts(routes, "flow", |route| {
                let flows = FLOWS.iter().zip(&route.octets);
                flows
                    .map(|(flow, count)| (route.label(), (*flow).to_owned(), load(count)))
                    .collect()
            });
    }
}

fn of_security(routes: &[Arc<RouteMetrics>], detail: Detail, out: &mut Exposition) {
    let of_sides = |route: &RouteMetrics, entries: Vec<((Direction, &'static str), u64)>| {
        let entries = entries.into_iter();
        let labelled = entries.map(|((side, name), count)| {
            let labels = route.side_labels(side);
            (labels, name.to_owned(), count)
        });
        labelled.collect()
    };
    let of_route = |route: &RouteMetrics, entries: Vec<(&'static str, u64)>| {
        let entries = entries.into_iter();
        entries
            .map(|(name, count)| (route.label(), name.to_owned(), count))
            .collect()
    };
    let help = "Messages refused for their security.";
    let mut samples = out.family(("soapstone_refused_messages_total", COUNTER, help));
    for (route, side) in with_sides(routes) {
        let entries = route.refusals.entries();
        let of_side = entries.iter().filter(|((refused, ..), _)| *refused == side);
        let count: u64 = of_side.map(|(_, count)| count).sum();
        samples.sample(&route.side_labels(side), count);
    }
    let help = "Messages passed on with header blocks that nothing proves.";
    let mut samples = out.family(("soapstone_unproven_header_messages_total", COUNTER, help));
    for (route, side) in with_sides(routes) {
        let count = route.unproven_blocks[side as usize].load(Ordering::Relaxed);
        samples.sample(&route.side_labels(side), count);
    }
    let (by, help) = match detail {
        Detail::Everything => ("reason", "Messages refused for their security, by reason."),
        Detail::Classes => (
            "class",
            "Messages refused for their security, by what the sender is told.",
        ),
    };
    let told = |class, reason| match detail {
        Detail::Everything => reason,
        Detail::Classes => class,
    };
    out.family(("soapstone_refusals_total", COUNTER, help))
        .counts(routes, by, |route| of_sides(route, route.refusals_by(told)));
    let help = "Requests that failed for another reason.";
    out.family(("soapstone_failures_total", COUNTER, help))
        .counts(routes, "reason", |route| {
            let mut failures: BTreeMap<_, _> = FAILURES.map(|reason| (reason, 0)).into();
            failures.extend(route.failures.entries());
            of_route(route, failures.into_iter().collect())
        });
    let help = "SOAP faults that the gateway answered with, by code.";
    out.family(("soapstone_faults_total", COUNTER, help))
        .counts(routes, "code", |route| {
            let entries = route.faults.entries().into_iter();
            entries
                .map(|((prefix, local), count)| (route.label(), format!("{prefix}:{local}"), count))
                .collect()
        });
    let help = "Uses of weak algorithms that a plan allows.";
    out.family(("soapstone_weak_algorithm_uses_total", COUNTER, help))
        .counts(routes, "algorithm", |route| {
            of_sides(route, route.weak.entries())
        });
    let help = "Items of Security headers that a plan ignores.";
    out.family(("soapstone_ignored_items_total", COUNTER, help))
        .counts(routes, "item", |route| {
            of_sides(route, route.ignored.entries())
        });
    let help = "Answers to secured requests that nothing proves, accepted and sent.";
    out.family(("soapstone_unsecured_answers_total", COUNTER, help))
        .counts(routes, "kind", |route| {
            of_sides(route, route.unsecured_answers.entries())
        });
}

fn of_conversations(routes: &[Arc<RouteMetrics>], snapshot: &Snapshot, out: &mut Exposition) {
    const OUTCOMES: [&str; 2] = ["established", "failed"];
    const EVENTS: [&str; 5] = ["amended", "cancelled", "issued", "refused", "renewed"];
    let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let help = "Conversations with clients that are held.";
    out.family(("soapstone_conversations", GAUGE, help))
        .of_sides(&snapshot.conversations);
    let help = "Most conversations with clients that may be held.";
    out.family(("soapstone_conversations_limit", GAUGE, help))
        .of_sides(&snapshot.conversations_capacity);
    let help = "Security contexts of clients: issued, renewed, amended, cancelled, refused.";
    out.family(("soapstone_contexts_total", COUNTER, help))
        .counts(routes, "event", |route| {
            let mut events: BTreeMap<&str, u64> =
                match route.mechanisms[Direction::Inbound as usize] {
                    Some(_) => EVENTS.map(|event| (event, 0)).into(),
                    None => BTreeMap::new(),
                };
            events.extend(route.contexts.entries());
            events
                .into_iter()
                .map(|(what, count)| (route.label(), what.to_owned(), count))
                .collect()
        });
    let help = "Assertions of a token service: issued, renewed, refused.";
    out.family(("soapstone_assertions_total", COUNTER, help))
        .counts(routes, "event", |route| {
            let events = route.assertions.entries().into_iter();
            events
                .map(|(what, count)| (route.label(), what.to_owned(), count))
                .collect()
        });
    let converses = |route: &RouteMetrics| route.mechanisms[Direction::Outbound as usize].is_some();
    let help = "Security contexts asked for at the backend, by outcome.";
    out.family(("soapstone_handshakes_total", COUNTER, help))
        .counts(routes, "outcome", |route| {
            let outcomes = OUTCOMES.iter().zip(&route.handshakes);
            let outcomes = outcomes.map(|(outcome, count)| (*outcome, load(count)));
            outcomes
                .filter(|_| converses(route))
                .map(|(outcome, count)| (route.label(), outcome.to_owned(), count))
                .collect()
        });
    let help = "From asking for a security context to having it, or not.";
    let mut samples = out.family(("soapstone_handshake_seconds", HISTOGRAM, help));
    for route in routes.iter().filter(|route| converses(route)) {
        samples.histogram(&route.label(), &route.handshake_time);
    }
    let help = "Assertions asked for at token services, by outcome.";
    out.family(("soapstone_token_requests_total", COUNTER, help))
        .counts(routes, "outcome", |route| {
            let outcomes = ["issued", "failed"];
            let outcomes = outcomes.iter().zip(&route.token_requests);
            let outcomes = outcomes.map(|(outcome, count)| (*outcome, load(count)));
            outcomes
                .filter(|_| converses(route))
                .map(|(outcome, count)| (route.label(), outcome.to_owned(), count))
                .collect()
        });
    let help = "From asking a token service for an assertion to having it, or not.";
    let mut samples = out.family(("soapstone_token_request_seconds", HISTOGRAM, help));
    for route in routes.iter().filter(|route| converses(route)) {
        samples.histogram(&route.label(), &route.token_request_time);
    }
    let help = "Requests sent again because the backend had lost their conversation.";
    let mut samples = out.family(("soapstone_resent_requests_total", COUNTER, help));
    for route in routes.iter().filter(|route| converses(route)) {
        samples.sample(&route.label(), load(&route.resent));
    }
}

fn of_times(routes: &[Arc<RouteMetrics>], detail: Detail, out: &mut Exposition) {
    let help = "From a request's head to its response's.";
    let mut samples = out.family(("soapstone_request_seconds", HISTOGRAM, help));
    for route in routes {
        samples.histogram(&route.label(), &route.request_time);
    }
    let help = "From sending a request to the head of its response.";
    let mut samples = out.family(("soapstone_backend_seconds", HISTOGRAM, help));
    for route in routes {
        samples.histogram(&route.label(), &route.backend_time);
    }
    // Which of them a refused message took tells where it failed.
    if detail == Detail::Classes {
        return;
    }
    let help = "Steps of the work on a message.";
    let mut samples = out.family(("soapstone_step_seconds", HISTOGRAM, help));
    for (route, side) in with_sides(routes) {
        for (step, histogram) in STEPS.iter().zip(&route.steps[side as usize]) {
            if !histogram.is_empty() {
                let labels = format!("{},step=\"{}\"", route.side_labels(side), step.name());
                samples.histogram(&labels, histogram);
            }
        }
    }
}

/// Every endpoint of every route.
fn with_sides(routes: &[Arc<RouteMetrics>]) -> impl Iterator<Item = (&RouteMetrics, Direction)> {
    let sides = routes
        .iter()
        .flat_map(|route| Direction::ALL.map(|side| (&**route, side)));
    sides.filter(|(route, side)| route.mechanisms[*side as usize].is_some())
}

impl RouteMetrics {
    /// Refusals by side and what is told of class and reason.
    fn refusals_by(
        &self,
        told: impl Fn(&'static str, &'static str) -> &'static str,
    ) -> Vec<((Direction, &'static str), u64)> {
        let mut counts = BTreeMap::new();
        for ((side, class, reason), count) in self.refusals.entries() {
            *counts.entry((side, told(class, reason))).or_insert(0) += count;
        }
        counts.into_iter().collect()
    }

    fn side_labels(&self, side: Direction) -> String {
        let mechanism = self.mechanisms[side as usize].as_deref().unwrap_or("none");
        format!(
            "{},direction=\"{}\",mechanism=\"{}\"",
            self.label(),
            side.name(),
            escape(mechanism)
        )
    }

    pub(super) fn label(&self) -> String {
        route_label(&self.route)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_counted_by_route_direction_mechanism_and_reason() {
        let route = RouteMetrics::new("/books", Some("sign"), None);
        route.refusal(Direction::Inbound, "wsse:FailedCheck", "replayed");
        route.refusal(Direction::Inbound, "wsse:FailedCheck", "replayed");
        route.refusal(Direction::Inbound, "wsse:FailedCheck", "signature-wrong");
        let routes = [route];
        let text = |detail| {
            let snapshot = Snapshot::default();
            expose(&GatewayMetrics::default(), &routes, &snapshot, detail)
        };
        let all = text(Detail::Everything);
        let labels = "route=\"/books\",direction=\"inbound\",mechanism=\"sign\"";
        for expected in [
            format!("soapstone_refusals_total{{{labels},reason=\"replayed\"}} 2"),
            format!("soapstone_refused_messages_total{{{labels}}} 3"),
        ] {
            assert!(all.lines().any(|line| line == expected), "{all}");
        }
        // Strangers read no more than they are told.
        let told = text(Detail::Classes);
        let expected = format!("soapstone_refusals_total{{{labels},class=\"wsse:FailedCheck\"}} 3");
        assert!(told.lines().any(|line| line == expected), "{told}");
        for hidden in [
            "replayed",
            "signature-wrong",
            "soapstone_step_seconds",
            "process_",
        ] {
            assert!(!told.contains(hidden), "{told}");
        }
    }

    #[test]
    fn counters_with_known_labels_exist_from_the_start() {
        let routes = [RouteMetrics::new("/books", Some("sign"), Some("none"))];
        let metrics = GatewayMetrics::default();
        let text = expose(&metrics, &routes, &Snapshot::default(), Detail::Everything);
        for expected in [
            "soapstone_refused_messages_total{route=\"/books\",direction=\"outbound\",mechanism=\"none\"} 0",
            "soapstone_failures_total{route=\"/books\",reason=\"too-large\"} 0",
            "soapstone_contexts_total{route=\"/books\",event=\"issued\"} 0",
            "soapstone_handshakes_total{route=\"/books\",outcome=\"failed\"} 0",
            "soapstone_resent_requests_total{route=\"/books\"} 0",
        ] {
            assert!(
                text.lines().any(|line| line == expected),
                "{expected} in {text}"
            );
        }
    }
}
