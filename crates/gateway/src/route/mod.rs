//! Routes: which path leads to which upstream, through which endpoint.
//!
//! The rule kept here: what runs is made by [`build`], from specifications that were read before.

pub(crate) mod agreements;
pub(crate) mod balancer;
pub(crate) mod build;

pub(crate) mod remembered;
pub(crate) mod roles;
pub(crate) mod routes;
pub(crate) mod serving;
pub(crate) mod together;
pub(crate) mod upstream;

use std::sync::Arc;

use http::Uri;
use soapstone::xml::Limits;
use soapstone_broker::{Bucket, Rate};

use crate::config::bsp::Bsp;
use crate::config::identity::IdentityHeaders;
use crate::config::path::{is_below, reading};
use crate::config::registry::ProvidedSpec;
use crate::config::route::RouteSpec;
use crate::config::warm_up::WarmUp;
use crate::observe::metrics::RouteMetrics;
use crate::scheduling::endpoint::{InboundEndpoint, OutboundEndpoint, RouteStores};
use balancer::Balancer;
use upstream::Upstream;

/// One route in use.
pub(crate) struct Route {
    pub(crate) name: String,
    path: String,
    /// As a generous reader understands the path.
    reading: String,
    /// The endpoint that faces the client, where messages do not pass it as they are.
    pub(crate) inbound: Option<Arc<InboundEndpoint>>,
    /// Where requests go, or the first one of several; nowhere, where a token service answers
    /// them.
    pub(crate) upstream: Option<Arc<Upstream>>,
    /// The choice among several.
    pub(crate) balancer: Option<Arc<Balancer>>,
    /// The policy leaves the protection of what clients send to TLS.
    pub(crate) needs_tls: bool,
    /// The policy wants clients to show a certificate while the connection is made.
    pub(crate) needs_client_certificate: bool,
    pub(crate) metrics: Arc<RouteMetrics>,
    /// How many requests may come in a time, and how many may still.
    pub(crate) rate: Option<(Rate, Bucket)>,
    /// What is sent before the gateway says that it is ready.
    pub(crate) warm_up: Option<Arc<WarmUp>>,
    /// The header fields that tell the backend who sent a request.
    pub(crate) identity: Option<IdentityHeaders>,
    /// What is registered of it.
    pub(crate) provides: Option<ProvidedSpec>,
    /// Whether messages that verified are judged by the Basic Security Profile.
    pub(crate) bsp: Option<Bsp>,
}

impl Route {
    /// The route of a specification whose endpoints were built.
    fn new(
        spec: RouteSpec,
        inbound: Option<Arc<InboundEndpoint>>,
        (upstream, balancer): (Option<Arc<Upstream>>, Option<Arc<Balancer>>),
        metrics: Arc<RouteMetrics>,
        needs: Needs,
    ) -> Self {
        Self {
            name: spec.name,
            reading: reading(&spec.path).unwrap_or_else(|| spec.path.clone()),
            path: spec.path,
            inbound,
            upstream,
            balancer,
            needs_tls: needs.tls,
            needs_client_certificate: needs.client_certificate,
            metrics,
            rate: spec.rate.map(|rate| (rate, Bucket::default())),
            warm_up: spec.warm_up.map(Arc::new),
            identity: spec.identity,
            provides: spec.provides,
            bsp: spec.bsp,
        }
    }

    /// The endpoint that faces the backend, or the first one of several that has one, where
    /// messages do not pass it as they are.
    pub(crate) fn outbound(&self) -> Option<&Arc<OutboundEndpoint>> {
        let mut upstreams = self.upstreams();
        upstreams.find_map(|upstream| upstream.endpoint.as_ref())
    }

    /// The stores of its endpoints.
    fn stores(&self) -> impl Iterator<Item = &RouteStores> {
        let inbound = self.inbound.as_ref().map(|endpoint| &*endpoint.stores);
        let outbound = self.outbounds().into_iter();
        let tokens = self.upstreams().filter_map(|it| it.tokens.as_ref());
        let towards_services = tokens.map(|tokens| &*tokens.endpoint().stores);
        inbound
            .into_iter()
            .chain(outbound.map(|endpoint| &*endpoint.stores))
            .chain(towards_services)
    }

    /// The endpoints that face its backends, each once.
    fn outbounds(&self) -> Vec<&Arc<OutboundEndpoint>> {
        let mut all: Vec<&Arc<OutboundEndpoint>> = Vec::new();
        for endpoint in self.upstreams().filter_map(|it| it.endpoint.as_ref()) {
            if !all.iter().any(|known| Arc::ptr_eq(known, endpoint)) {
                all.push(endpoint);
            }
        }
        all
    }

    /// All of its upstreams.
    pub(crate) fn upstreams(&self) -> impl Iterator<Item = &Arc<Upstream>> {
        let alone = self.upstream.as_ref().filter(|_| self.balancer.is_none());
        let several = self.balancer.iter().flat_map(|several| &several.members);
        alone
            .into_iter()
            .chain(several.map(|member| &member.upstream))
    }

    /// Whether it leads from a path to these backends.
    fn is_at<'u>(&self, path: &str, backends: impl Iterator<Item = &'u Uri>) -> bool {
        self.path == path && self.upstreams().map(|upstream| &upstream.url).eq(backends)
    }

    /// Bounds on the requests of its clients.
    pub(crate) fn limits(&self) -> Limits {
        let inbound = self.inbound.as_ref();
        inbound.map_or_else(Limits::default, |side| side.endpoint.limits().clone())
    }

    /// The path that clients use.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Whether its calls are logged: it is registered, or one of several backends is chosen.
    pub(crate) fn is_logged(&self) -> bool {
        self.provides.is_some() || self.balancer.is_some()
    }

    /// Whether messages pass as they are.
    pub(crate) fn is_plain(&self) -> bool {
        self.inbound.is_none() && self.outbound().is_none()
    }

    fn serves(&self, path: &str) -> bool {
        is_below(path, &self.path)
    }
}

/// What the policy of a route wants of connections.
#[derive(Clone, Copy, Default)]
struct Needs {
    tls: bool,
    client_certificate: bool,
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::timeouts::Timeouts;
    use crate::wire::memory::MessageMemory;

    /// A route that passes messages as they are.
    pub(crate) fn route(path: &str, backend: &str) -> Route {
        let timeouts = Timeouts {
            idle: Duration::from_secs(1),
            ..Timeouts::default()
        };
        let spec = RouteSpec {
            place: soapstone::config::Place::default(),
            name: path.to_owned(),
            path: path.to_owned(),
            backend: backend.parse().ok(),
            backend_tls: None,
            group: None,
            inbound: None,
            outbound: None,
            timeouts,
            rate: None,
            warm_up: None,
            identity: None,
            provides: None,
            bsp: None,
        };
        let metrics = RouteMetrics::new(path, None, None);
        let memory = MessageMemory::new(0);
        let url = spec.backend.as_ref().expect("a URL");
        let upstream = Upstream::plain((url, None), None, timeouts, memory, 0);
        let upstream = Arc::new(upstream.expect("the URL has a host"));
        Route::new(
            spec,
            None,
            (Some(upstream), None),
            metrics,
            Needs::default(),
        )
    }
}
