//! Makes what runs of a configuration: stores, endpoints, upstreams, routes.
//!
//! A route that was in use under the same name hands over its numbers and what it remembers. What
//! any route has accepted is known to all of them.
//!
//! The rule kept here: nothing of the former configuration changes before all stores of the next
//! one are open. Requests wait for none of them.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use http::{HeaderValue, Uri};
use soapstone::crypto::trust::RevocationCache;
use soapstone::endpoint::{Calling, Directions, ReflectionGuard};
use soapstone_broker::{Dice, Pool};
use soapstone_registry::Owner;
use soapstone_store::{StoreError, Stores};
use tokio::time::Instant;

use super::agreements::Agreements;
use super::balancer::{BalancedMember, Balancer};
use super::remembered::Remembered;
use super::roles::Roles;
use super::routes::Routes;
use super::serving::Serving;
use super::together::Together;
use super::upstream::Upstream;
use super::{Needs, Route};
use crate::config::Config;
use crate::config::agreements::AgreementsSpec;
use crate::config::balance::{GroupSpec, MemberSpec};
use crate::config::endpoint::{EndpointSpec, SideSpec};
use crate::config::route::RouteSpec;
use crate::config::tls::ClientTls;
use crate::config::token_service::TokenServiceSpec;
use crate::config::validity::dated_in;
use crate::conversation::context::OutboundContext;
use crate::conversation::device_clock::DeviceClock;
use crate::conversation::handshake::Handshaker;
use crate::issued::asking::{LARGEST_ANSWER, TokenAsker};
use crate::issued::tokens::IssuedTokens;
use crate::observe::changes::Changes;
use crate::observe::metrics::RouteMetrics;
use crate::observe::violations::Violations;
use crate::scheduling::background::Background;
use crate::scheduling::endpoint::{
    Inheritance, OpenStores, OutboundEndpoint, RouteEndpoint, RouteStores,
};
use crate::scheduling::executor::Executor;
use crate::wire::backend::{Backend, BackendTimeouts};
use crate::wire::memory::MessageMemory;

/// What the routes of every configuration of a gateway work with.
pub(crate) struct RouteResources {
    pub(crate) executor: Arc<Executor>,
    pub(crate) background: Arc<Background>,
    pub(crate) memory: MessageMemory,
    pub(crate) remembered: Remembered,
    /// What is known of revocation, by whatever configuration it was asked.
    pub(crate) revocation: Arc<RevocationCache>,
    /// Where violations of agreements are told.
    pub(crate) violations: Arc<Violations>,
    /// Who is told when a backend comes or goes.
    pub(crate) changes: Changes,
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

/// The stores of one route, opened.
struct StoresOfRoute {
    inbound: Option<OpenStores>,
    outbound: Option<OpenStores>,
    /// Those of its backends that have endpoints of their own.
    members: Vec<Option<OpenStores>>,
    /// Those of the policies of owners of providers.
    policies: Vec<Option<OpenStores>>,
}

/// A configuration whose stores are open.
pub(crate) struct Opened {
    config: Config,
    stores: Arc<Stores>,
    /// Where requests under agreements are counted together with those at other gateways.
    together: Option<Together>,
    /// Those of each route.
    of_routes: Vec<StoresOfRoute>,
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
                let members = spec.group.iter().flat_map(|group| &group.members);
                let members = members.map(|it| OpenStores::of(it.outbound.as_ref(), &stores));
                let policies = spec.group.iter().flat_map(|group| &group.policies);
                let policies = policies.map(|it| OpenStores::of(it.outbound.as_ref(), &stores));
                Ok(StoresOfRoute {
                    inbound,
                    outbound: OpenStores::of(spec.outbound.as_ref(), &stores)?,
                    members: members.collect::<Result<_, _>>()?,
                    policies: policies.collect::<Result<_, _>>()?,
                })
            });
            opened.map_err(|source| BuildError {
                route: spec.name.clone(),
                source,
            })
        };
        let together = |spec: &AgreementsSpec| {
            let (store, when_unavailable) = spec.store.as_ref()?;
            let together = Together::open(&stores, store, *when_unavailable);
            Some(together.map_err(|source| BuildError {
                route: "of agreements".to_owned(),
                source,
            }))
        };
        Ok(Self {
            together: config.agreements.as_ref().and_then(together).transpose()?,
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
    let known_roles = former.and_then(|former| former.roles.as_deref());
    let roles = config
        .roles
        .map(|specs| Arc::new(Roles::new(specs, known_roles)));
    let known_agreements = former.and_then(|former| former.agreements.as_deref());
    let violations = &resources.violations;
    let agreements = config.agreements.map(|spec| {
        Arc::new(Agreements::new(
            spec,
            opened.together,
            known_agreements,
            violations,
        ))
    });
    if let (Some(gone), None) = (known_agreements, &agreements) {
        gone.end();
    }
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
    for online in config.routes.iter().flat_map(RouteSpec::online_revocation) {
        online.attach(&resources.revocation);
    }
    for online in &config.online {
        online.attach(&resources.revocation);
    }
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
        tls: config.tls,
        client_revocation: config.client_revocation,
        dated,
        stores: opened.stores,
        roles,
        agreements,
        revocation: config.revocation.map(Arc::new),
    }
}

/// What faces a backend: an endpoint, and what makes the assertions of its requests.
#[derive(Clone)]
struct Facing {
    endpoint: Arc<OutboundEndpoint>,
    tokens: Option<Arc<IssuedTokens>>,
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
    fn route(&self, mut spec: RouteSpec, stores: StoresOfRoute) -> Option<Route> {
        let StoresOfRoute {
            inbound: of_inbound,
            outbound: of_outbound,
            members: of_members,
            policies: of_policies,
        } = stores;
        let predecessor = self.former.iter().find(|route| route.name == spec.name);
        let stays = predecessor.is_some_and(|route| route.is_at(&spec.path, spec.backends()));
        let inbound = spec.inbound.as_ref().map(SideSpec::mechanism);
        let outbound = mechanism_towards_backends(&spec);
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
        let towards_backends = spec.outbound.take().zip(of_outbound);
        let outbound = self.facing(
            &spec,
            &metrics,
            towards_backends,
            predecessor.and_then(|route| {
                let mut upstreams = route.upstreams();
                Some((upstreams.find(|it| it.endpoint.is_some())?, stays))
            }),
        );
        let upstreams = match spec.group.take() {
            None => {
                let tls = spec.backend_tls.take();
                let upstream = match &spec.backend {
                    Some(url) => {
                        Some(self.upstream(&spec, (url, None), tls, outbound, &metrics)?)
                    }
                    None => None,
                };
                (upstream, None)
            }
            Some(mut group) => {
                let former = predecessor.and_then(|route| route.balancer.as_deref());
                // An endpoint through which messages pass as they are is none, and yet is named.
                let of_route = |it: &MemberSpec| it.outbound.is_none() && it.policy.is_none();
                let of_route: Vec<bool> = group.members.iter().map(of_route).collect();
                let own =
                    self.own_endpoints(&spec, &metrics, (&mut group, of_members), former, stays);
                let policies = self.owners_endpoints(
                    &spec,
                    &metrics,
                    (&mut group, of_policies),
                    former,
                    stays,
                );
                let of_owners = group.members.iter().map(|member| member.policy);
                let of_owners: Vec<_> = of_owners
                    .map(|policy| policies.get(policy?)?.clone())
                    .collect();
                let named = own.into_iter().zip(of_owners);
                let endpoints =
                    named
                        .zip(of_route)
                        .map(|((own, of_owner), of_route)| match of_route {
                            true => outbound.clone(),
                            false => own.or(of_owner),
                        });
                let balancer = self.balancer(&spec, group, endpoints, &metrics, former)?;
                let first = Arc::clone(&balancer.members.first()?.upstream);
                (Some(first), Some(Arc::new(balancer)))
            }
        };
        if let (Some(operations), Some(inbound)) = (metrics.operations(), &inbound) {
            operations.know(inbound.endpoint.operation_names());
        }
        Some(Route::new(spec, inbound, upstreams, metrics, needs))
    }

    /// An endpoint; `None` if messages pass it as they are.
    fn endpoint<P: Directions>(
        &self,
        opened: Option<(EndpointSpec<P>, OpenStores)>,
        sent: &ReflectionGuard,
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

    /// What faces backends, in the place of what faced that upstream; `None` if messages pass as
    /// they are.
    fn facing(
        &self,
        route: &RouteSpec,
        metrics: &Arc<RouteMetrics>,
        opened: Option<(EndpointSpec<Calling>, OpenStores)>,
        predecessor: Option<(&Arc<Upstream>, bool)>,
    ) -> Option<Facing> {
        let (mut spec, mut stores) = opened?;
        let sent = &self.resources.remembered.requests;
        let service = spec.token_service.take();
        let service = service.zip(stores.of_token_service.take());
        let tokens = service.and_then(|(service, stores)| {
            let TokenServiceSpec {
                side,
                requests,
                url,
                tls,
            } = *service;
            let former = predecessor.and_then(|(upstream, stays)| {
                Some((&**upstream.tokens.as_ref()?.endpoint(), stays))
            });
            let endpoint = self.endpoint(Some((side, *stores)), sent, former)?;
            let memory = self.resources.memory.clone();
            let limit = self.limit.min(LARGEST_ANSWER);
            let mut towards = Upstream::plain((&url, None), tls, route.timeouts, memory, limit)?;
            towards.errand.authorization = authorization(&endpoint);
            let asker = TokenAsker {
                executor: Arc::clone(&self.resources.executor),
                route: route.name.clone(),
                endpoint,
                errand: towards.errand,
                requests: Arc::new(requests),
                metrics: Arc::clone(metrics),
            };
            let background = Arc::clone(&self.resources.background);
            Some(IssuedTokens::new(asker, background))
        });
        let former =
            predecessor.and_then(|(upstream, stays)| Some((&**upstream.endpoint.as_ref()?, stays)));
        Some(Facing {
            endpoint: self.endpoint(Some((spec, stores)), sent, former)?,
            tokens,
        })
    }

    /// The way to the backend at that URL.
    fn upstream(
        &self,
        spec: &RouteSpec,
        place: (&Uri, Option<SocketAddr>),
        tls: Option<ClientTls>,
        facing: Option<Facing>,
        metrics: &Arc<RouteMetrics>,
    ) -> Option<Arc<Upstream>> {
        let (endpoint, tokens) = facing.map(|it| (it.endpoint, it.tokens)).unzip();
        let tokens = tokens.flatten();
        let memory = self.resources.memory.clone();
        let mut upstream = Upstream::plain(place, tls, spec.timeouts, memory, self.limit)?;
        upstream.backend.tells(&self.resources.changes);
        upstream.errand.authorization = endpoint.as_deref().and_then(authorization);
        let background = &self.resources.background;
        upstream.device_clock = endpoint
            .as_ref()
            .and_then(|it| DeviceClock::of(&spec.name, it, &upstream.errand, background));
        let begun = endpoint
            .as_ref()
            .filter(|endpoint| endpoint.endpoint.conversation().is_some());
        upstream.conversation = begun.map(|endpoint| {
            let handshaker = Handshaker {
                executor: Arc::clone(&self.resources.executor),
                route: spec.name.clone(),
                endpoint: Arc::clone(endpoint),
                errand: upstream.errand.clone(),
                url: place.0.to_string(),
                tokens: tokens.clone(),
                metrics: Arc::clone(metrics),
            };
            OutboundContext::new(handshaker, Arc::clone(&self.resources.background))
        });
        upstream.endpoint = endpoint;
        upstream.tokens = tokens;
        Some(Arc::new(upstream))
    }

    /// The endpoints of several backends that have their own.
    fn own_endpoints(
        &self,
        route: &RouteSpec,
        metrics: &Arc<RouteMetrics>,
        (group, stores): (&mut GroupSpec, Vec<Option<OpenStores>>),
        former: Option<&Balancer>,
        stays: bool,
    ) -> Vec<Option<Facing>> {
        let members = group.members.iter_mut().zip(stores);
        let own = members.map(|(member, stores)| {
            let opened = member.outbound.take().zip(stores);
            let predecessor = former_upstream(former, &member.name);
            let predecessor = predecessor.map(|upstream| (upstream, stays));
            self.facing(route, metrics, opened, predecessor)
        });
        own.collect()
    }

    /// The endpoints of the policies of owners, each for all providers of these owners.
    fn owners_endpoints(
        &self,
        route: &RouteSpec,
        metrics: &Arc<RouteMetrics>,
        (group, stores): (&mut GroupSpec, Vec<Option<OpenStores>>),
        former: Option<&Balancer>,
        stays: bool,
    ) -> Vec<Option<Facing>> {
        let policies = std::mem::take(&mut group.policies);
        let policies = policies.into_iter().zip(stores).enumerate();
        let endpoints = policies.map(|(index, (policy, stores))| {
            let mut of_policy = group.members.iter().filter(|it| it.policy == Some(index));
            let predecessor = of_policy.find_map(|it| former_upstream(former, &it.name));
            let predecessor = predecessor.map(|upstream| (upstream, stays));
            let opened = policy.outbound.zip(stores);
            self.facing(route, metrics, opened, predecessor)
        });
        endpoints.collect()
    }

    /// The ways to several backends, each with its endpoint; conversations are apart.
    fn balancer(
        &self,
        spec: &RouteSpec,
        group: GroupSpec,
        endpoints: impl Iterator<Item = Option<Facing>>,
        metrics: &Arc<RouteMetrics>,
        former: Option<&Balancer>,
    ) -> Option<Balancer> {
        let mut members = Vec::with_capacity(group.members.len());
        let mut terms = Vec::with_capacity(group.members.len());
        for (member, endpoint) in group.members.into_iter().zip(endpoints) {
            let checked = group.rules.check.as_ref().map(|check| {
                let timeouts = BackendTimeouts {
                    connect: check.timeout,
                    response: check.timeout,
                    idle: spec.timeouts.idle,
                };
                Backend::at(member.address, &member.url, member.tls.clone(), timeouts)
            });
            let upstream = self.upstream(
                spec,
                (&member.url, member.address),
                member.tls,
                endpoint,
                metrics,
            )?;
            let assured = member.assured.map(|assured| assured.value);
            let balanced = BalancedMember::new(upstream, checked.flatten());
            let mut balanced = balanced.assuring(assured);
            balanced.owner = member.owner;
            let same = former.and_then(|former| former.named(&member.name));
            let is_same = |it: &&BalancedMember| {
                it.upstream.url == balanced.upstream.url && it.owner == balanced.owner
            };
            if let Some(same) = same.filter(is_same) {
                balanced.follow(same);
            }
            members.push(balanced);
            terms.push((member.name, member.terms));
        }
        let dice = Dice::new(RandomState::new().hash_one(&spec.name));
        let pool = match former {
            None => Pool::new(group.settings, terms, dice),
            Some(former) => {
                let names = former.pool.ids().map(|id| former.pool.name(id));
                // Who owns it now may be another one of its name.
                let backend = |it: &'_ BalancedMember| (it.upstream.url.clone(), it.owner.clone());
                let known = names.zip(former.members.iter().map(backend));
                let known: Vec<(&str, (Uri, Option<Owner>))> = known.collect();
                let backends = members.iter().map(backend);
                let terms = terms
                    .into_iter()
                    .zip(backends)
                    .map(|((name, terms), backend)| {
                        let stays = known.contains(&(name.as_str(), backend));
                        (name, terms, stays)
                    });
                let now = Instant::now().into_std();
                Pool::following(&former.pool, group.settings, terms, dice, now)
            }
        };
        let same = former.filter(|former| former.source == group.source);
        Some(Balancer {
            pool,
            members,
            rules: group.rules,
            source: group.source,
            answered: Mutex::new(same.and_then(Balancer::answered)),
            metrics: Arc::clone(metrics),
            changes: self.resources.changes.clone(),
        })
    }
}

/// The way that led to the backend with this name.
fn former_upstream<'f>(former: Option<&'f Balancer>, name: &str) -> Option<&'f Arc<Upstream>> {
    Some(&former?.named(name)?.upstream)
}

/// The name of the mechanism towards the backends of a route, for metrics.
fn mechanism_towards_backends(spec: &RouteSpec) -> Option<&'static str> {
    let of_route = spec.outbound.as_ref().map(SideSpec::mechanism);
    let Some(group) = &spec.group else {
        return of_route;
    };
    let members = group.members.iter();
    let mut each = members.map(|it| {
        let of_owner = it.policy.and_then(|index| group.policies.get(index));
        let of_owner = of_owner.and_then(|it| it.outbound.as_ref());
        let own = it.outbound.as_ref().or(of_owner);
        own.map_or(of_route, |own| Some(own.mechanism()))
    });
    let first = each.next()?;
    match each.all(|other| other == first) {
        true => first,
        false => Some("several"),
    }
}

/// The value of `Authorization` that the policy of an endpoint demands of requests.
fn authorization(endpoint: &OutboundEndpoint) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(endpoint.endpoint.http_authorization()?).ok()?;
    value.set_sensitive(true);
    Some(value)
}
