//! The certificates of a configuration: where each is used, and what the operator should know of it.
//!
//! The rule kept here: one that has expired is a warning, never a reason not to serve. It may be that of one partner among many, and what
//! is done without it would be no better.

use std::fmt;

use jiff::Timestamp;
use soapstone::endpoint::UsedCertificate;

use crate::config::{Config, RouteConfig};
use crate::metrics::Side;

/// A certificate, and where it is used.
#[derive(Clone, Debug)]
pub(crate) struct PlacedCertificate {
    /// None of `[tls]`, which all routes share.
    pub(crate) place: Option<(String, Side)>,
    pub(crate) used: UsedCertificate,
}

/// What the operator should know of a certificate: that it has expired, will soon, or is not valid yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateWarning {
    /// The route that uses it, and whether inbound or outbound; none of `[tls]`.
    pub place: Option<(String, &'static str)>,
    /// The key of the configuration that names such a certificate.
    pub usage: &'static str,
    /// Its file, its subject, and the moment.
    pub message: String,
}

/// In one line.
impl fmt::Display for CertificateWarning {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((route, direction)) = &self.place {
            write!(out, "route {route}, {direction} ")?;
        }
        write!(out, "{}: {}", self.usage, self.message)
    }
}

/// All certificates of a configuration.
pub(crate) fn certificates_of(config: &Config) -> Vec<PlacedCertificate> {
    let shared = config.certificates.iter().map(|used| PlacedCertificate {
        place: None,
        used: used.clone(),
    });
    let of_routes = config.routes.iter().flat_map(of_route);
    shared.chain(of_routes).collect()
}

fn of_route(route: &RouteConfig) -> impl Iterator<Item = PlacedCertificate> {
    let sides = [
        (Side::Inbound, route.inbound.as_ref()),
        (Side::Outbound, route.outbound.as_ref()),
    ];
    let of_sides = sides.into_iter().flat_map(|(which, side)| {
        let certificates = side.map_or(&[][..], |side| side.endpoint.certificates());
        certificates.iter().map(move |used| (which, used))
    });
    let of_backend = route
        .backend_certificates
        .iter()
        .map(|used| (Side::Outbound, used));
    of_sides
        .chain(of_backend)
        .map(|(which, used)| PlacedCertificate {
            place: Some((route.name.clone(), which)),
            used: used.clone(),
        })
}

/// What should be known of certificates at that moment.
pub(crate) fn warnings(
    certificates: &[PlacedCertificate],
    now: Timestamp,
) -> impl Iterator<Item = CertificateWarning> {
    certificates.iter().filter_map(move |certificate| {
        let place = certificate.place.as_ref();
        Some(CertificateWarning {
            place: place.map(|(route, side)| (route.clone(), side.name())),
            usage: certificate.used.usage().name(),
            message: certificate.used.warning(now)?,
        })
    })
}
