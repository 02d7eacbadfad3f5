//! What is known of the backends of each route that has several, as JSON.
//!
//! The rule kept here: looking changes nothing.

use serde_json::{Value, json};
use soapstone_broker::{MemberStatus, State};

use super::registry::Discovered;
use crate::config::source::SourceSpec;
use crate::route::serving::Serving;

/// All of them.
pub(super) fn backends(serving: &Serving, discovered: &Discovered) -> String {
    let routes = serving.routes.iter().filter_map(|route| {
        let balancer = route.balancer.as_ref()?;
        let urls = route.upstreams().map(|upstream| upstream.url.to_string());
        let verdicts = balancer.verdicts();
        let members = balancer.status().into_iter().zip(urls).zip(verdicts);
        let members = members.map(|((status, url), verdict)| {
            let mut shown = member(&status, &url);
            shown["predicted_ms"] = json!(verdict.time.map(|time| time.as_secs_f64() * 1e3));
            shown["seen_ms"] = json!(verdict.seen.map(|time| time.as_secs_f64() * 1e3));
            shown["security_index"] = json!(verdict.security);
            shown["covers_route"] = json!(verdict.shortfalls.is_empty());
            shown
        });
        let members: Vec<Value> = members.collect();
        let status = |is_such: fn(&SourceSpec) -> bool| {
            let source = balancer.source.as_ref().filter(|it| is_such(it));
            source.map(|source| discovered.status(source))
        };
        Some(json!({
            "route": route.name,
            "selection": balancer.pool.settings().selection.name(),
            "backends": members,
            "registry": status(|it| matches!(it, SourceSpec::Registry(_))),
            "dns": status(|it| matches!(it, SourceSpec::Dns(_))),
        }))
    });
    let routes: Vec<Value> = routes.collect();
    format!("{:#}\n", json!({ "routes": routes }))
}

/// What is known of one backend.
pub(super) fn member(status: &MemberStatus, url: &str) -> Value {
    let mut member = json!({
        "name": status.name,
        "url": url,
        "state": status.state.name(),
        "usable": status.state.is_usable(),
        "weight": status.weight,
        "limit": status.limit,
        "backup": status.backup,
        "in_hand": status.in_hand,
        "answered": status.answered,
        "failed": status.failed,
        "ejections": status.ejections,
        "availability_percent": status.availability,
        "mean_ms": status.mean.map(|mean| mean.as_secs_f64() * 1e3),
        "claimed_ms": status.claimed.map(|claimed| claimed.as_secs_f64() * 1e3),
        "doubted": status.doubted,
        "contradictions": status.contradictions,
    });
    match status.state {
        State::Ejected { left } => member["ejected_for_ms"] = json!(left.as_millis()),
        State::Starting { percent } => member["share_percent"] = json!(percent),
        _ => {}
    }
    member
}
