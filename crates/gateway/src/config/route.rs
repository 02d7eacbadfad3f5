//! A route: where clients' messages go, and what is done with them on either side.
//!
//! The rule kept here: what runs is made of this alone, and nothing of it is looked up again.

use std::sync::Arc;

use http::Uri;
use soapstone::config::Place;
use soapstone::crypto::trust::OnlineRevocation;
use soapstone::endpoint::{Calling, Serving};
use soapstone_broker::Rate;

use super::balance::GroupSpec;
use super::bsp::Bsp;
use super::direction::Direction;
use super::endpoint::{EndpointSpec, SideSpec};
use super::identity::IdentityHeaders;
use super::registry::ProvidedSpec;
use super::source::SourceSpec;
use super::timeouts::Timeouts;
use super::tls::ClientTls;
use super::warm_up::WarmUp;
use crate::config::path::is_below;

/// One of `[[routes]]`.
pub(crate) struct RouteSpec {
    /// Where its table begins.
    pub(crate) place: Place,
    pub(crate) name: String,
    pub(crate) path: String,
    /// The backend, or the first one of several; none behind a token service.
    pub(crate) backend: Option<Uri>,
    /// Where it is alone, and behind https.
    pub(crate) backend_tls: Option<ClientTls>,
    /// All backends, where there are several to choose from.
    pub(crate) group: Option<GroupSpec>,
    pub(crate) inbound: Option<EndpointSpec<Serving>>,
    pub(crate) outbound: Option<EndpointSpec<Calling>>,
    pub(crate) timeouts: Timeouts,
    /// Most requests in a time.
    pub(crate) rate: Option<Rate>,
    /// What is sent before the gateway says that it is ready.
    pub(crate) warm_up: Option<WarmUp>,
    /// The header fields that tell the backend who sent a request.
    pub(crate) identity: Option<IdentityHeaders>,
    /// What is registered of it.
    pub(crate) provides: Option<ProvidedSpec>,
    /// Whether messages that verified are judged by the Basic Security Profile.
    pub(crate) bsp: Option<Bsp>,
}

impl RouteSpec {
    /// Whether its backends are the providers that a registry knows.
    pub(super) fn reads_registry(&self) -> bool {
        let group = self.group.as_ref();
        let source = group.and_then(|group| group.source.as_ref());
        matches!(source, Some(SourceSpec::Registry(_)))
    }

    /// Its endpoints.
    pub(super) fn endpoints(&self) -> impl Iterator<Item = (Direction, &dyn SideSpec)> {
        let inbound = self.inbound.as_ref().map(|side| side as &dyn SideSpec);
        let outbound = self.outbound.as_ref().map(|side| side as &dyn SideSpec);
        let inbound = inbound.map(|side| (Direction::Inbound, side));
        let outbound = outbound.map(|side| (Direction::Outbound, side));
        let members = self.group.iter().flat_map(|group| &group.members);
        let of_members = members.filter_map(|member| member.outbound.as_ref());
        let policies = self.group.iter().flat_map(|group| &group.policies);
        let own = of_members.chain(policies.filter_map(|policy| policy.outbound.as_ref()));
        let own = own.map(|side| (Direction::Outbound, side as &dyn SideSpec));
        inbound.into_iter().chain(outbound).chain(own)
    }

    /// What of it asks whether certificates were revoked.
    pub(crate) fn online_revocation(&self) -> impl Iterator<Item = &Arc<OnlineRevocation>> {
        let of_sides = self
            .endpoints()
            .flat_map(|(_, side)| side.online_revocation());
        let members = self.group.iter().flat_map(|group| &group.members);
        let of_members = members.flat_map(|member| {
            let own = member.outbound.as_ref().and_then(token_service_tls);
            member.tls.iter().chain(own)
        });
        let policies = self.group.iter().flat_map(|group| &group.policies);
        let of_policies = policies.filter_map(|policy| policy.outbound.as_ref());
        let of_policies = of_policies.filter_map(token_service_tls);
        let own = self.outbound.as_ref().and_then(token_service_tls);
        let of_tls = self.backend_tls.iter().chain(own).chain(self.source_tls());
        let of_tls = of_tls.chain(of_members).chain(of_policies);
        of_sides.chain(of_tls.filter_map(ClientTls::online))
    }

    /// TLS towards the backends that DNS names: it is there before any of them is known.
    pub(super) fn source_tls(&self) -> Option<&ClientTls> {
        self.group.as_ref()?.source_tls.as_ref()
    }

    /// The URLs of its backends.
    pub(crate) fn backends(&self) -> impl Iterator<Item = &Uri> {
        let several = self.group.iter().flat_map(|group| &group.members);
        let alone = self.backend.as_ref().filter(|_| self.group.is_none());
        alone.into_iter().chain(several.map(|member| &member.url))
    }

    /// Whether something is demanded of what clients send.
    fn protects(&self) -> bool {
        let demands = |side: &EndpointSpec<Serving>| {
            !side.endpoint.demands_nothing() || side.endpoint.needs_tls()
        };
        self.inbound.as_ref().is_some_and(demands)
    }

    /// The protected route that this unprotected route bypasses: both reach the same backend.
    pub(crate) fn bypassed_route<'r>(&self, routes: &'r [Self]) -> Option<&'r Self> {
        let is_open = |side: &EndpointSpec<Calling>| side.endpoint.demands_nothing();
        if self.protects() || !self.outbound.as_ref().is_none_or(is_open) {
            return None;
        }
        let base = |backend: &Uri| backend.path().trim_end_matches('/').to_owned();
        let by_this_one = |backend: &Uri, of_other: &Uri| {
            let base_of_other = base(of_other);
            let Some(rest) = base_of_other.strip_prefix(&base(backend)) else {
                return false;
            };
            let asked = match (self.path.trim_end_matches('/'), rest) {
                ("", "") => "/".to_owned(),
                (path, rest) => format!("{path}{rest}"),
            };
            let serving = routes.iter().filter(|route| is_below(&asked, &route.path));
            let serving = serving.max_by_key(|route| route.path.len());
            (rest.is_empty() || rest.starts_with('/'))
                && serving.is_some_and(|route| route.path == self.path)
        };
        let leads_there = |of_other: &Uri| {
            let mut own = self.backends();
            own.any(|backend| {
                backend.authority() == of_other.authority() && by_this_one(backend, of_other)
            })
        };
        let mut routes = routes.iter().filter(|other| other.protects());
        routes.find(|other| other.backends().any(leads_there))
    }
}

/// TLS towards the token service of an endpoint.
fn token_service_tls(side: &EndpointSpec<Calling>) -> Option<&ClientTls> {
    side.token_service.as_ref()?.tls.as_ref()
}
