//! What the console shows, as JSON.
//!
//! The rule kept here: no key, password or message is in it.

use std::net::IpAddr;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use soapstone::endpoint::{Directions, Endpoint};
use soapstone::wss::{InboundPlan, OutboundPlan};

use crate::config::words::distinct;
use crate::observe::metrics::Detail;
use crate::route::Route;
use crate::server::candidates::{Question, of_routes};
use crate::server::snapshot::exposition;
use crate::server::state::State;
use crate::server::weak_algorithms::{policies, uses};

/// Everything that is known now, for an asker at that address.
pub(super) fn now(state: &State, peer: IpAddr) -> Value {
    let serving = state.current.serving();
    let routes: Vec<Value> = serving.routes.iter().map(of_route).collect();
    let certificates = serving.dated.iter().filter_map(|placed| {
        let place = placed.place.as_ref();
        Some(json!({
            "route": place.map(|place| &place.0),
            "direction": place.map(|place| place.1.name()),
            "use": placed.dated.usage().name(),
            "expires": placed.dated.last()?.as_second(),
        }))
    });
    let refused = state.resources.records.as_ref();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "now": Timestamp::now().as_second(),
        "draining": state.is_draining(),
        "warming_up": state.cold.paths(),
        "routes": routes,
        "selection": of_routes(&serving, &state.discovered, &Question::default()),
        "certificates": certificates.collect::<Vec<_>>(),
        "weak": uses(&serving),
        "refused": refused.map(|records| records.list()),
        "explains": state.explaining.is_able() && refused.is_some_and(|it| it.are_explained_for(peer)),
        "metrics": exposition(state, Detail::Everything),
    })
}

fn of_route(route: &Route) -> Value {
    let backends = route.upstreams().map(|upstream| upstream.url.to_string());
    let backends: Vec<String> = backends.collect();
    json!({
        "name": route.name,
        "path": route.path(),
        "backend": backends.join(", "),
        "inbound": route.inbound.as_ref().map(|side| of_endpoint(&side.endpoint)),
        "outbound": route.outbound().map(|side| of_endpoint(&side.endpoint)),
    })
}

fn of_endpoint<P: Directions>(endpoint: &Endpoint<P>) -> Value {
    let retirements = policies(endpoint).flat_map(|policy| &policy.retirements);
    let ends = retirements.map(|one| (one.algorithm.to_owned(), one.from.to_string().into()));
    json!({
        "ends": ends.collect::<Map<String, Value>>(),
        "mechanism": endpoint.mechanism(),
        "suite": endpoint.suite(),
        "arriving": distinct(endpoint.inbound().map(InboundPlan::policy)),
        "leaving": distinct(endpoint.outbound().map(OutboundPlan::policy)),
        "conversations": endpoint.conversation().is_some(),
    })
}
