//! A configuration with the providers that are known as the backends of its routes.
//!
//! The rule kept here: a provider that its policy does not fit is passed over.

use soapstone::endpoint::Calling;
use soapstone_broker::Terms;

use super::Config;
use super::balance::{MemberSpec, nobody};
use super::endpoint::EndpointSpec;
use super::route::{RouteSpec, with_security};
use super::source::{KnownProvider, KnownProviders, OwnersPolicy, SourceSpec};
use super::tls;
use super::url::{backend_url, without_brackets};

impl Config {
    /// The same configuration, with the providers that are known as the backends of its routes.
    pub(crate) fn resolved(mut self, known: &KnownProviders) -> Self {
        for route in &mut self.routes {
            route.resolve(known);
        }
        self
    }

    /// The sources of its routes.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &SourceSpec> {
        let groups = self.routes.iter().filter_map(|route| route.group.as_ref());
        groups.filter_map(|group| group.source.as_ref())
    }
}

impl RouteSpec {
    fn resolve(&mut self, known: &KnownProviders) {
        let Some(group) = &mut self.group else {
            return;
        };
        let known = group.source.as_ref().and_then(|source| known.get(source));
        let Some(known) = known else {
            return;
        };
        let mut members: Vec<MemberSpec> = Vec::new();
        for provider in known {
            match member(provider, &group.policies, self.outbound.as_ref()) {
                Ok(member) if members.iter().all(|it| it.url != member.url) => members.push(member),
                Ok(_) => {}
                Err(why) => {
                    let url = provider.access_point.as_str();
                    tracing::warn!(route = self.name, url, why, "provider passed over");
                }
            }
        }
        if members.is_empty() {
            members.push(nobody());
        }
        group.members = with_security(members, &group.policies, self.outbound.as_ref());
    }
}

fn member(
    provider: &KnownProvider,
    policies: &[OwnersPolicy],
    of_route: Option<&EndpointSpec<Calling>>,
) -> Result<MemberSpec, &'static str> {
    let is_of = |policy: &OwnersPolicy| policy.owners.contains(&provider.owner);
    let policy = policies.iter().position(is_of);
    let side = policy.map(|index| &policies[index].outbound).or(of_route);
    let needs_tls = side.is_some_and(|side| side.endpoint.needs_tls() || side.shows_its_keys());
    let url = backend_url(&provider.access_point).map_err(|error| error.found)?;
    let is_secure = url.scheme_str() == Some("https");
    if needs_tls && !is_secure {
        return Err("its policy leaves protection to TLS, and it is not https");
    }
    let host = without_brackets(url.host().unwrap_or_default());
    let tls = match is_secure {
        true => {
            let unusable = "TLS cannot be used with its host";
            Some(tls::read_client(None, host, &|_| {}).ok_or(unusable)?)
        }
        false => None,
    };
    Ok(MemberSpec {
        // Of one host there may be several.
        name: provider.access_point.clone(),
        tls,
        outbound: None,
        policy,
        terms: Terms {
            backup: provider.backup,
            ..Terms::default()
        },
        url,
    })
}
