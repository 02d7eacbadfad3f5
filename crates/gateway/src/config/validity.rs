//! What a configuration names that holds for a time only: where each is used, and what the operator
//! should know of it.
//!
//! The rule kept here: one that has expired is a warning, never a reason not to serve. It may be
//! that of one partner among many, and what is done without it would be no better.

use std::fmt;

use jiff::Timestamp;
use soapstone::endpoint::ExpiringFile;

use super::route::RouteSpec;
use crate::config::direction::Direction;

/// A certificate or a revocation list, and where it is used.
#[derive(Clone, Debug)]
pub(crate) struct ExpiringMaterial {
    /// None of `[tls]`, which all routes share.
    pub(crate) place: Option<(String, Direction)>,
    pub(crate) dated: ExpiringFile,
}

/// What the operator should know of a certificate or a revocation list: that it has expired, will
/// soon, or is not valid yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidityWarning {
    /// The route that uses it, and whether inbound or outbound; none of `[tls]`.
    pub place: Option<(String, &'static str)>,
    /// The key of the configuration that names such a file.
    pub usage: &'static str,
    /// The file, whose it is, and the moment.
    pub message: String,
}

/// In one line.
impl fmt::Display for ValidityWarning {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((route, direction)) = &self.place {
            write!(out, "route {route}, {direction} ")?;
        }
        write!(out, "{}: {}", self.usage, self.message)
    }
}

/// All certificates and revocation lists of a configuration: those of `[tls]`, and of all routes.
pub(crate) fn dated_in(of_tls: &[ExpiringFile], routes: &[RouteSpec]) -> Vec<ExpiringMaterial> {
    let shared = of_tls.iter().map(|dated| ExpiringMaterial {
        place: None,
        dated: dated.clone(),
    });
    let of_routes = routes.iter().flat_map(of_route);
    shared.chain(of_routes).collect()
}

fn of_route(route: &RouteSpec) -> impl Iterator<Item = ExpiringMaterial> {
    let of_sides = route
        .endpoints()
        .flat_map(|(which, side)| side.dated().iter().map(move |dated| (which, dated)));
    let of_several = route.group.iter().flat_map(|group| &group.members);
    let of_several = of_several.filter_map(|member| member.tls.as_ref());
    let of_backend = route
        .backend_tls
        .iter()
        .chain(of_several)
        .chain(route.source_tls())
        .flat_map(|tls| &tls.certificates)
        .map(|dated| (Direction::Outbound, dated));
    of_sides
        .chain(of_backend)
        .map(|(which, dated)| ExpiringMaterial {
            place: Some((route.name.clone(), which)),
            dated: dated.clone(),
        })
}

/// What should be known at that moment.
pub(crate) fn warnings(
    placed: &[ExpiringMaterial],
    now: Timestamp,
) -> impl Iterator<Item = ValidityWarning> {
    placed.iter().filter_map(move |placed| {
        let place = placed.place.as_ref();
        Some(ValidityWarning {
            place: place.map(|(route, side)| (route.clone(), side.name())),
            usage: placed.dated.usage().name(),
            message: placed.dated.warning(now)?,
        })
    })
}

/// Writes what should be known at that moment into the log.
pub(crate) fn tell(placed: &[ExpiringMaterial], now: Timestamp) {
    for warning in warnings(placed, now) {
        let place = warning.place.as_ref();
        tracing::warn!(
            route = place.map(|(route, _)| route.as_str()),
            direction = place.map(|(_, direction)| *direction),
            r#use = warning.usage,
            "{}",
            warning.message
        );
    }
}
