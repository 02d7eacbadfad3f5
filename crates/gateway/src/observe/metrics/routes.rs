//! What Prometheus reads of routes: requests, their security, their conversations and their times.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::snapshot::{Detail, Snapshot};
use super::text::{COUNTER, Exposition, GAUGE, HISTOGRAM, escape, route_label};
use super::{OperationMetrics, Operations, RouteMetrics, STEPS};
use crate::config::direction::Direction;

/// Why requests fail, besides what the engine refuses: each is there from the start.
const FAILURES: [&str; 48] = [
    "agreement-operation",
    "agreement-rate",
    "agreement-size",
    "agreement-unknown",
    "backend-broken",
    "backend-connect-timeout",
    "backend-description",
    "backend-not-soap",
    "backend-refused",
    "backend-response-timeout",
    "backend-unreachable",
    "backends-busy",
    "backends-down",
    "client-certificate-revoked",
    "client-queue",
    "client-rate",
    "handshake-answer",
    "handshake-busy",
    "handshake-not-secured",
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
    "package",
    "partner-rate",
    "partner-room",
    "queue-full",
    "request-timeout",
    "route-rate",
    "token-busy",
    "token-not-secured",
    "token-refused",
    "token-service-answer",
    "token-service-away",
    "token-unfinished",
    "too-large",
    "worker-failed",
    "would-expose",
    "xop",
];

/// Rules of roles that refuse requests.
const RULES: [&str; 6] = ["action", "hours", "no-role", "operation", "rate", "size"];

pub(super) fn of_denials(routes: &[Arc<RouteMetrics>], out: &mut Exposition) {
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

pub(super) fn of_requests(routes: &[Arc<RouteMetrics>], out: &mut Exposition) {
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

pub(super) fn of_security(routes: &[Arc<RouteMetrics>], detail: Detail, out: &mut Exposition) {
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
    let help = "Messages passed on with attachments that nothing covers.";
    let mut samples = out.family((
        "soapstone_uncovered_attachment_messages_total",
        COUNTER,
        help,
    ));
    for (route, side) in with_sides(routes) {
        let count = route.uncovered_parts[side as usize].load(Ordering::Relaxed);
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
            of_sides(route, route.weak.entries(|uses| uses.count))
        });
    if detail == Detail::Everything {
        let help = "When a weak algorithm was used first since the start, in seconds since 1970.";
        out.family(("soapstone_weak_algorithm_first_use_seconds", GAUGE, help))
            .counts(routes, "algorithm", |route| {
                of_sides(route, route.weak.entries(|uses| uses.first))
            });
        let help = "When a weak algorithm was used last, in seconds since 1970.";
        out.family(("soapstone_weak_algorithm_last_use_seconds", GAUGE, help))
            .counts(routes, "algorithm", |route| {
                of_sides(route, route.weak.entries(|uses| uses.last))
            });
        let help = "Partners who used a weak algorithm since the start, as far as these are counted apart.";
        out.family(("soapstone_weak_algorithm_partners", GAUGE, help))
            .counts(routes, "algorithm", |route| {
                of_sides(route, route.weak_partners.partners())
            });
    }
    let help = "Items of Security headers that a plan ignores.";
    out.family(("soapstone_ignored_items_total", COUNTER, help))
        .counts(routes, "item", |route| {
            of_sides(route, route.ignored.entries())
        });
    let help =
        "Messages let through although they break a rule of the Basic Security Profile, by rule.";
    out.family(("soapstone_bsp_breaches_total", COUNTER, help))
        .counts(routes, "rule", |route| {
            of_sides(route, route.bsp_breaches.entries())
        });
    let help = "Answers to secured requests that nothing proves, accepted and sent.";
    out.family(("soapstone_unsecured_answers_total", COUNTER, help))
        .counts(routes, "kind", |route| {
            of_sides(route, route.unsecured_answers.entries())
        });
}

pub(super) fn of_conversations(
    routes: &[Arc<RouteMetrics>],
    snapshot: &Snapshot,
    out: &mut Exposition,
) {
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
    let help = "Assertions of a token service: issued, renewed, cancelled, refused.";
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

pub(super) fn of_times(routes: &[Arc<RouteMetrics>], detail: Detail, out: &mut Exposition) {
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

/// Writes what is counted of operations. It is for operators: when a message counts for its
/// operation tells when it was opened.
pub(super) fn of_operations(routes: &[Arc<RouteMetrics>], out: &mut Exposition) {
    let mut all: Vec<(String, Arc<OperationMetrics>)> = Vec::new();
    for route in routes {
        for operation in route
            .operations()
            .map(Operations::all)
            .into_iter()
            .flatten()
        {
            let label = format!(
                "{},operation=\"{}\"",
                route.label(),
                escape(operation.name())
            );
            all.push((label, operation));
        }
    }
    let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let help = "Requests of an operation in hand; \"*\" is what is of no other one.";
    let mut samples = out.family(("soapstone_operation_in_hand", GAUGE, help));
    for (label, operation) in &all {
        samples.sample(label, load(&operation.in_hand));
    }
    let help = "Messages of an operation that were refused for their security.";
    let mut samples = out.family(("soapstone_operation_refusals_total", COUNTER, help));
    for (label, operation) in &all {
        samples.sample(label, load(&operation.refusals));
    }
    let help = "Requests of an operation that failed for another reason.";
    let mut samples = out.family(("soapstone_operation_failures_total", COUNTER, help));
    for (label, operation) in &all {
        samples.sample(label, load(&operation.failures));
    }
    let help = "Time of security steps for requests of an operation.";
    let family = ("soapstone_operation_security_seconds_total", COUNTER, help);
    let mut samples = out.family(family);
    for (label, operation) in &all {
        samples.sample(label, load(&operation.security) as f64 / 1e9);
    }
    let help = "From a request's head to its response's, by operation.";
    let mut samples = out.family(("soapstone_operation_seconds", HISTOGRAM, help));
    for (label, operation) in &all {
        samples.histogram(label, &operation.request_time);
    }
    let help = "From sending a request to the head of its response, by operation.";
    let mut samples = out.family(("soapstone_operation_backend_seconds", HISTOGRAM, help));
    for (label, operation) in &all {
        samples.histogram(label, &operation.backend_time);
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
