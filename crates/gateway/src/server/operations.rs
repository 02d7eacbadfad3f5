//! What is counted of each operation, as JSON.
//!
//! The rule kept here: looking changes nothing.

use serde_json::{Value, json};
use soapstone_registry::{OTHER, Times};

use super::registry::of_operation;
use crate::observe::metrics::Operations;
use crate::route::serving::Serving;

/// The operations of all routes that count by operation, since the gateway began.
pub(super) fn operations(serving: &Serving) -> String {
    let routes = serving.routes.iter().filter_map(|route| {
        let counted = route.metrics.operations().map(Operations::all)?;
        let shown = counted.iter().map(|counted| {
            let figures = of_operation(counted.name(), &counted.sample(), None);
            json!({
                "name": (figures.name != OTHER).then_some(&figures.name),
                "in_hand": figures.in_hand,
                "calls": figures.calls,
                "errors": figures.errors,
                "refusals": figures.refusals,
                "security_share": figures.security_share,
                "service": times(figures.service),
                "backend": times(figures.backend),
            })
        });
        let shown: Vec<Value> = shown.collect();
        Some(json!({ "route": route.name, "operations": shown }))
    });
    let routes: Vec<Value> = routes.collect();
    format!("{:#}\n", json!({ "routes": routes }))
}

fn times(times: Times) -> Value {
    json!({ "mean_ms": times.mean, "p50_ms": times.p50, "p95_ms": times.p95 })
}
