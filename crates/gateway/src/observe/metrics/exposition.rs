//! The text that Prometheus reads (exposition format 0.0.4).
//!
//! The rule kept here: label values come from the configuration and from names in the code, so that
//! no peer can make the series grow. Names of operations may come from messages of proven senders;
//! there are so many at most.

use std::sync::Arc;

use super::gateway::{
    of_backends, of_calls, of_expiries, of_revocation, of_shared_keys, of_stores, of_the_gateway,
    of_traces,
};
use super::routes::{
    of_conversations, of_denials, of_operations, of_requests, of_security, of_times,
};
use super::snapshot::{Detail, Snapshot};
use super::text::Exposition;
use super::{GatewayMetrics, RouteMetrics, agreements, balanced, process};

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
        of_operations(routes, &mut out);
        // A client is told that it may not, and not why.
        of_denials(routes, &mut out);
        process::expose(&mut out);
    }
    out.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::direction::Direction;

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
