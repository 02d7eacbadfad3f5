//! What is known of the backends of each route that has several, as JSON.
//!
//! The rule kept here: looking changes nothing.

use serde_json::{Value, json};
use soapstone_broker::{MemberStatus, State};

use crate::route::serving::Serving;

/// All of them.
pub(super) fn backends(serving: &Serving) -> String {
    let routes = serving.routes.iter().filter_map(|route| {
        let balancer = route.balancer.as_ref()?;
        let urls = route.upstreams().map(|upstream| upstream.url.to_string());
        let members = balancer.status().into_iter().zip(urls);
        let members: Vec<Value> = members.map(|(status, url)| member(&status, &url)).collect();
        Some(json!({
            "route": route.name,
            "selection": balancer.pool.settings().selection.name(),
            "backends": members,
        }))
    });
    let routes: Vec<Value> = routes.collect();
    format!("{:#}\n", json!({ "routes": routes }))
}

fn member(status: &MemberStatus, url: &str) -> Value {
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
        "mean_ms": status.mean.map(|mean| mean.as_secs_f64() * 1e3),
    });
    match status.state {
        State::Ejected { left } => member["ejected_for_ms"] = json!(left.as_millis()),
        State::Starting { percent } => member["share_percent"] = json!(percent),
        _ => {}
    }
    member
}
