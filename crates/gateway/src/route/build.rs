//! Makes what runs of a configuration: stores, endpoints, upstreams, routes.
//!
//! A route that was in use under the same name hands over its numbers and what it remembers. What
//! any route has accepted is known to all of them.
//!
//! The rule kept here: nothing of the former configuration changes before all stores of the next
//! one are open. Requests wait for none of them.

use std::fmt;
use std::sync::Arc;

use soapstone::endpoint::{Directions, SentMessages};
use soapstone_store::{StoreError, Stores};
use tokio_rustls::TlsAcceptor;

use super::remembered::Remembered;
use super::routes::Routes;
use super::serving::Serving;
use super::upstream::Upstream;
use super::{Needs, Route};
use crate::config::Config;
use crate::config::endpoint::{EndpointSpec, SideSpec};
use crate::config::route::RouteSpec;
use crate::config::validity::dated_in;
use crate::conversation::context::OutboundContext;
use crate::conversation::handshake::Handshaker;
use crate::observe::metrics::RouteMetrics;
use crate::scheduling::background::Background;
use crate::scheduling::endpoint::{
    Inheritance, OpenStores, OutboundEndpoint, RouteEndpoint, RouteStores,
};
use crate::scheduling::executor::Executor;
use crate::wire::memory::MessageMemory;

/// What the routes of every configuration of a gateway work with.
pub(crate) struct RouteResources {
    pub(crate) executor: Arc<Executor>,
    pub(crate) background: Arc<Background>,
    pub(crate) memory: MessageMemory,
    pub(crate) remembered: Remembered,
}

/// Why a configuration cannot be taken into use.
#[derive(Debug)]
pub(crate) struct BuildError {
    /// The route with the store that cannot be opened any more.
    pub(crate) route: String,
    pub(crate) source: StoreError,
}

impl fmt::Display for BuildError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "route {}: {}", self.route, self.source)
    }
}

/// A configuration whose stores are open.
pub(crate) struct Opened {
    config: Config,
    stores: Arc<Stores>,
    /// Those of each route: inbound, outbound.
    of_routes: Vec<[Option<OpenStores>; 2]>,
}

impl Opened {
    /// Opens the stores of a configuration.
    ///
    /// # Errors
    ///
    /// When a store that could be opened while the file was read cannot be opened any more.
    pub(crate) fn new(config: Config) -> Result<Self, BuildError> {
        let stores = Arc::<Stores>::default();
        let of_route = |spec: &RouteSpec| {
            let inbound = OpenStores::of(spec.inbound.as_ref(), &stores);
            let opened = inbound.and_then(|inbound| {
                let outbound = OpenStores::of(spec.outbound.as_ref(), &stores)?;
                Ok([inbound, outbound])
            });
            opened.map_err(|source| BuildError {
                route: spec.name.clone(),
                source,
            })
        };
        Ok(Self {
            of_routes: config
                .routes
                .iter()
                .map(of_route)
                .collect::<Result<_, _>>()?,
            stores,
            config,
        })
    }

    /// What was read.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }
}

/// The routes of a configuration, which take over what those of the former one remember.
pub(crate) fn serving(
    opened: Opened,
    former: Option<&Serving>,
    resources: &RouteResources,
) -> Serving {
    let config = opened.config;
    let former: Vec<&Route> = former
        .into_iter()
        .flat_map(|former| former.routes.iter())
        .collect();
    let stores = former.iter().flat_map(|route| route.stores());
    let builder = Builder {
        stores: stores.collect(),
        former: &former,
        limit: config.limits.body,
        resources,
    };
    let remembered = &resources.remembered;
    remembered.accepted.reconfigured();
    let dated = dated_in(&config.certificates, &config.routes);
    let specs = config.routes.into_iter().zip(opened.of_routes);
    let routes: Vec<Route> = specs
        .filter_map(|(spec, stores)| builder.route(spec, stores))
        .collect();
    for stores in &builder.stores {
        let successors = routes.iter().flat_map(Route::stores);
        let successors = successors.map(|stores| &stores.replay);
        stores.replay.retire(successors);
    }
    Serving {
        routes: Routes::new(routes),
        limits: config.limits,
        timeouts: config.timeouts,
        public_url: config.public_url,
        tls: config.tls.map(TlsAcceptor::from),
        dated,
        stores: opened.stores,
    }
}

struct Builder<'b> {
    former: &'b [&'b Route],
    /// The stores of all of these.
    stores: Vec<&'b RouteStores>,
    /// Largest answer to the gateway's own messages.
    limit: u64,
    resources: &'b RouteResources,
}

impl Builder<'_> {
    /// One route. `None` when the URL of its backend has no host.
    fn route(&self, mut spec: RouteSpec, stores: [Option<OpenStores>; 2]) -> Option<Route> {
        let [of_inbound, of_outbound] = stores;
        let predecessor = self.former.iter().find(|route| route.name == spec.name);
        let stays = predecessor.is_some_and(|route| route.is_at(&spec.path, &spec.backend));
        let inbound = spec.inbound.as_ref().map(SideSpec::mechanism);
        let outbound = spec.outbound.as_ref().map(SideSpec::mechanism);
        let metrics = predecessor
            .map(|route| &route.metrics)
            .filter(|metrics| metrics.is_for(&spec.name, inbound, outbound))
            .map_or_else(
                || RouteMetrics::new(&spec.name, inbound, outbound),
                Arc::clone,
            );
        let needs = spec
            .inbound
            .as_ref()
            .map_or_else(Needs::default, |spec| Needs {
                tls: spec.endpoint.needs_tls(),
                client_certificate: spec.endpoint.needs_client_certificate(),
            });
        let remembered = &self.resources.remembered;
        let inbound = self.endpoint(
            spec.inbound.take().zip(of_inbound),
            &remembered.answers,
            predecessor.and_then(|route| Some((&**route.inbound.as_ref()?, stays))),
        );
        let outbound = self.endpoint(
            spec.outbound.take().zip(of_outbound),
            &remembered.requests,
            predecessor.and_then(|route| Some((&***route.outbound().as_ref()?, stays))),
        );
        let upstream = self.upstream(&mut spec, outbound, &metrics)?;
        Some(Route::new(spec, inbound, upstream, metrics, needs))
    }

    /// An endpoint; `None` if messages pass it as they are.
    fn endpoint<P: Directions>(
        &self,
        opened: Option<(EndpointSpec<P>, OpenStores)>,
        sent: &SentMessages,
        predecessor: Option<(&RouteEndpoint<P>, bool)>,
    ) -> Option<Arc<RouteEndpoint<P>>> {
        let (spec, stores) = opened?;
        let inheritance = Inheritance {
            accepted: &self.resources.remembered.accepted,
            sent,
            former: &self.stores,
            predecessor,
        };
        Some(RouteEndpoint::build(spec, stores, &inheritance))
    }

    fn upstream(
        &self,
        spec: &mut RouteSpec,
        endpoint: Option<Arc<OutboundEndpoint>>,
        metrics: &Arc<RouteMetrics>,
    ) -> Option<Arc<Upstream>> {
        let memory = self.resources.memory.clone();
        let (tls, timeouts) = (spec.backend_tls.take(), spec.timeouts);
        let mut upstream = Upstream::plain(&spec.backend, tls, timeouts, memory, self.limit)?;
        let begun = endpoint
            .as_ref()
            .filter(|endpoint| endpoint.endpoint.conversation().is_some());
        upstream.conversation = begun.map(|endpoint| {
            let handshaker = Handshaker {
                executor: Arc::clone(&self.resources.executor),
                route: spec.name.clone(),
                endpoint: Arc::clone(endpoint),
                errand: upstream.errand.clone(),
                url: spec.backend.to_string(),
                metrics: Arc::clone(metrics),
            };
            OutboundContext::new(handshaker, Arc::clone(&self.resources.background))
        });
        upstream.endpoint = endpoint;
        Some(Arc::new(upstream))
    }
}
