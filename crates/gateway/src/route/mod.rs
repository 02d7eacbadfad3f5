//! Routes: which path leads to which upstream, through which endpoint.
//!
//! The rule kept here: what runs is made by [`build`], from specifications that were read before.

pub(crate) mod build;
pub(crate) mod remembered;
pub(crate) mod routes;
pub(crate) mod serving;
pub(crate) mod upstream;

use std::sync::Arc;

use http::Uri;

use crate::config::identity::IdentityHeaders;
use crate::config::path::{is_below, reading};
use crate::config::rate::Rate;
use crate::config::route::RouteSpec;
use crate::config::warm_up::WarmUp;
use crate::observe::metrics::RouteMetrics;
use crate::scheduling::endpoint::RouteEndpoint;
use crate::shares::Bucket;
use upstream::Upstream;

/// One route in use.
pub(crate) struct Route {
    pub(crate) name: String,
    path: String,
    /// As a generous reader understands the path.
    reading: String,
    /// The endpoint that faces the client, where messages do not pass it as they are.
    pub(crate) inbound: Option<Arc<RouteEndpoint>>,
    /// Where requests go.
    pub(crate) upstream: Arc<Upstream>,
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
}

impl Route {
    /// The route of a specification whose endpoints were built.
    fn new(
        spec: RouteSpec,
        inbound: Option<Arc<RouteEndpoint>>,
        upstream: Arc<Upstream>,
        metrics: Arc<RouteMetrics>,
        needs: Needs,
    ) -> Self {
        Self {
            name: spec.name,
            reading: reading(&spec.path).unwrap_or_else(|| spec.path.clone()),
            path: spec.path,
            inbound,
            upstream,
            needs_tls: needs.tls,
            needs_client_certificate: needs.client_certificate,
            metrics,
            rate: spec.rate.map(|rate| (rate, Bucket::default())),
            warm_up: spec.warm_up.map(Arc::new),
            identity: spec.identity,
        }
    }

    /// The endpoint that faces the backend, where messages do not pass it as they are.
    pub(crate) fn outbound(&self) -> Option<&Arc<RouteEndpoint>> {
        self.upstream.endpoint.as_ref()
    }

    /// Its endpoints.
    pub(crate) fn endpoints(&self) -> impl Iterator<Item = &RouteEndpoint> {
        [self.inbound.as_ref(), self.outbound()]
            .into_iter()
            .flatten()
            .map(|endpoint| &**endpoint)
    }

    /// Whether it leads from a path to a backend.
    fn is_at(&self, path: &str, backend: &Uri) -> bool {
        self.path == path && self.upstream.url == *backend
    }

    /// The path that clients use.
    pub(crate) fn path(&self) -> &str {
        &self.path
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
            backend: backend.parse().expect("a URL"),
            backend_tls: None,
            inbound: None,
            outbound: None,
            timeouts,
            rate: None,
            warm_up: None,
            identity: None,
        };
        let metrics = RouteMetrics::new(path, None, None);
        let memory = MessageMemory::new(0);
        let upstream = Upstream::plain(&spec.backend, None, timeouts, memory, 0);
        let upstream = Arc::new(upstream.expect("the URL has a host"));
        Route::new(spec, None, upstream, metrics, Needs::default())
    }
}
