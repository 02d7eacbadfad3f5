//! What Prometheus reads of the gateway as a whole: its load, its stores, its certificates, and
//! what it sends to others.

use std::sync::atomic::{AtomicU64, Ordering};

use super::GatewayMetrics;
use super::snapshot::Snapshot;
use super::text::{COUNTER, Exposition, GAUGE, HISTOGRAM, route_label};
use crate::observe::calls::CallCounts;

pub(super) fn of_the_gateway(gateway: &GatewayMetrics, snapshot: &Snapshot, out: &mut Exposition) {
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
        "Messages that wait for a crypto worker. The limit holds for new requests among them.",
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
        "Messages that may wait for a crypto worker or for a store before new requests are refused.",
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
        out.number(family, value);
    }
    let wait = "Time that messages waited for a crypto worker.";
    out.family(("soapstone_crypto_wait_seconds", HISTOGRAM, wait))
        .histogram("", &gateway.queue_wait);
}

pub(super) fn of_traces(snapshot: &Snapshot, out: &mut Exposition) {
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
        out.number(family, value);
    }
}

pub(super) fn of_calls(calls: CallCounts, out: &mut Exposition) {
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
        out.number(family, value);
    }
}

pub(super) fn of_revocation(gateway: &GatewayMetrics, snapshot: &Snapshot, out: &mut Exposition) {
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
    out.number(
        ("soapstone_revocation_soft_fails_total", COUNTER, help),
        counts.admitted,
    );
    let help = "Questions about revocation, by how they were asked and what became of them.";
    let mut samples = out.family(("soapstone_revocation_questions_total", COUNTER, help));
    for ((kind, outcome), count) in gateway.revocation.entries() {
        samples.sample(&format!("kind=\"{kind}\",outcome=\"{outcome}\""), count);
    }
}

pub(super) fn of_stores(gateway: &GatewayMetrics, out: &mut Exposition) {
    let help = "Messages that wait for the answer of a store, a KDC or an authority of assertions.";
    let waiting = gateway.store_waiting.load(Ordering::Relaxed);
    out.number(("soapstone_store_waiting", GAUGE, help), waiting);
    let help = "Time that messages waited for the answers of stores.";
    out.family(("soapstone_store_wait_seconds", HISTOGRAM, help))
        .histogram("", &gateway.store_wait);
}

pub(super) fn of_backends(snapshot: &Snapshot, out: &mut Exposition) {
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

pub(super) fn of_expiries(snapshot: &Snapshot, out: &mut Exposition) {
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

pub(super) fn of_shared_keys(snapshot: &Snapshot, out: &mut Exposition) {
    let help = "Part of its limit that a shared key has enciphered in this process: messages under AES-GCM, blocks under Triple DES.";
    out.family(("soapstone_shared_key_used_ratio", GAUGE, help))
        .of_sides(&snapshot.shared_keys);
    let help = "Seconds that the peer's clock is taken to be ahead of ours.";
    out.family(("soapstone_peer_clock_offset_seconds", GAUGE, help))
        .of_sides(&snapshot.peer_clocks);
}
