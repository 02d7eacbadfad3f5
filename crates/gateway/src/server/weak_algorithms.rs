//! Who has used weak algorithms, when, and until when that is allowed, as JSON.
//!
//! The rule kept here: looking changes nothing.

use jiff::Timestamp;
use serde_json::{Value, json};
use soapstone::endpoint::{Directions, Endpoint};
use soapstone::wss::{InboundPlan, OutboundPlan, Policy};

use crate::config::direction::Direction;
use crate::observe::metrics::{WeakPartner, WeakUse};
use crate::route::Route;
use crate::route::serving::Serving;

/// The same for the paths of the listener.
pub(super) fn weak_algorithms(serving: &Serving) -> String {
    format!("{:#}\n", json!({ "uses": uses(serving) }))
}

/// All uses since the start of the process.
pub(super) fn uses(serving: &Serving) -> Value {
    let routes = serving.routes.iter();
    let uses = routes.flat_map(|route| {
        let of_route = route.metrics.weak_uses();
        of_route.into_iter().map(|it| told(route, &it))
    });
    uses.collect()
}

fn told(route: &Route, used: &WeakUse) -> Value {
    let (by, name) = match &used.partner {
        WeakPartner::Proven(by, name) => (*by, Some(name.as_str())),
        WeakPartner::Nobody => ("nobody", None),
        WeakPartner::Others => ("others", None),
    };
    let until = match used.side {
        Direction::Inbound => route
            .inbound
            .as_ref()
            .and_then(|side| end(&side.endpoint, used.algorithm)),
        Direction::Outbound => route
            .outbound()
            .and_then(|side| end(&side.endpoint, used.algorithm)),
    };
    json!({
        "route": route.name,
        "direction": used.side.name(),
        "proven_by": by,
        "partner": name,
        "algorithm": used.algorithm,
        "uses": used.uses.count,
        "first": moment(used.uses.first),
        "last": moment(used.uses.last),
        "until": until.map(|it| it.to_string()),
    })
}

fn moment(second: u64) -> Option<String> {
    let second = i64::try_from(second).ok()?;
    Some(Timestamp::from_second(second).ok()?.to_string())
}

/// When an endpoint takes the algorithm no more, if its file says so.
fn end<P: Directions>(endpoint: &Endpoint<P>, algorithm: &str) -> Option<Timestamp> {
    let mut ends = policies(endpoint).flat_map(|policy| &policy.retirements);
    let end = ends.find(|end| end.algorithm == algorithm)?;
    Some(end.from)
}

/// The policies of an endpoint, those of messages that arrive first.
pub(super) fn policies<P: Directions>(endpoint: &Endpoint<P>) -> impl Iterator<Item = &Policy> {
    let arriving = endpoint.inbound().map(InboundPlan::policy);
    arriving.chain(endpoint.outbound().map(OutboundPlan::policy))
}
