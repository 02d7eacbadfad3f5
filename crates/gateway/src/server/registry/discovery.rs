//! Asks the registry for the providers of routes, again and again.
//!
//! The rule kept here: a registry that is away, hangs or has lost its reports takes no backend out
//! of use.

use std::collections::BTreeSet;
use std::sync::Arc;

use soapstone_registry::{Answer, Provider, ProviderQuery, Request, State as ProviderState};

use super::claims::told;

use super::client::{AskError, RegistryClient};
use crate::config::source::{KnownProvider, RegistrySource, SourceSpec};
use crate::server::state::State;

/// Asks for as long as the gateway serves.
pub(in crate::server) async fn discover(state: &State, client: &Arc<RegistryClient>) {
    let mut ticks = tokio::time::interval(client.period);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut away: BTreeSet<SourceSpec> = BTreeSet::new();
    loop {
        ticks.tick().await;
        let serving = state.current.serving();
        let balancers = serving.routes.iter().filter_map(|it| it.balancer.as_ref());
        let mut sources: Vec<SourceSpec> = balancers.filter_map(|it| it.source.clone()).collect();
        sources.dedup();
        for source in sources {
            let SourceSpec::Registry(wanted) = &source else {
                continue;
            };
            match providers(client, wanted).await {
                Ok(found) => {
                    told(&serving, &source, &found);
                    state.discovered.learn(&source, usable(wanted, found));
                    if away.remove(&source) {
                        tracing::info!("the registry answers again");
                    }
                }
                Err(error) => {
                    state.discovered.miss(&source);
                    if !away.contains(&source) {
                        let service = wanted.label();
                        tracing::warn!(%error, service, "the registry is not to be had: what is known stays in use");
                        away.insert(source);
                    }
                }
            }
        }
    }
}

pub(super) async fn providers(
    client: &Arc<RegistryClient>,
    source: &RegistrySource,
) -> Result<Vec<Provider>, AskError> {
    let query = Request::FindProviders(ProviderQuery {
        service: source.service.clone(),
        port_type: source.port_type.clone(),
        owners: match source.is_open() {
            true => Vec::new(),
            false => {
                let subjects = source.owners.iter().map(|it| it.subject());
                subjects.collect::<BTreeSet<_>>().into_iter().collect()
            }
        },
        operations: true,
    });
    match client.ask(&query).await? {
        Answer::Providers(providers) if providers.truncated => Err(AskError::Truncated),
        Answer::Providers(providers) => Ok(providers
            .found
            .into_iter()
            .filter(|provider| is_named(source, provider))
            .collect()),
        _ => Err(AskError::Other),
    }
}

/// Whether a provider is one of those that were asked for, by an owner that is named.
fn is_named(source: &RegistrySource, provider: &Provider) -> bool {
    source.name_of(&provider.owner).is_some() && source.is_about(provider)
}

/// Whether a provider may be a backend.
pub(super) fn is_usable(source: &RegistrySource, provider: &Provider) -> bool {
    let is_there = match provider.state {
        ProviderState::Active | ProviderState::Unmonitored | ProviderState::Inactive => true,
        ProviderState::Withdrawn => false,
    };
    is_there && is_named(source, provider)
}

/// The providers that may be backends, in an order of their own.
fn usable(source: &RegistrySource, found: Vec<Provider>) -> Vec<KnownProvider> {
    let found = found.into_iter();
    let known = found.filter(|it| is_usable(source, it));
    let known = known.map(|provider| KnownProvider {
        access_point: provider.access_point,
        owner: provider.owner,
        // A registry that has just begun has no reports yet.
        backup: provider.state == ProviderState::Inactive,
        target: None,
    });
    let mut known: Vec<KnownProvider> = known.collect();
    // Not by keys, which publishers choose.
    known.sort();
    known
}

#[cfg(test)]
mod tests {
    use soapstone_registry::WrittenName;

    use super::super::testing;
    use super::*;
    use crate::config::owner_name::OwnerName;

    fn provider(access_point: &str, owner: &str, state: ProviderState) -> Provider {
        Provider {
            state,
            ..testing::provider(access_point, owner)
        }
    }

    #[test]
    fn only_providers_of_named_owners_are_backends() {
        let source = RegistrySource {
            service: Some("Books".to_owned()),
            port_type: None,
            owners: vec![OwnerName::parse("CN=p1")],
            cache: None,
        };
        let found = vec![
            provider("http://d/", "CN=p1", ProviderState::Unmonitored),
            provider("http://evil/", "CN=mallory", ProviderState::Active),
            provider("http://c/", "CN=p1", ProviderState::Withdrawn),
            provider("http://b/", "CN=p1", ProviderState::Inactive),
            provider("http://a/", "CN=p1", ProviderState::Active),
        ];
        let known = |access_point: &str, backup| KnownProvider {
            access_point: access_point.to_owned(),
            owner: testing::provider(access_point, "CN=p1").owner,
            backup,
            target: None,
        };
        let expected = [
            known("http://a/", false),
            known("http://b/", true),
            known("http://d/", false),
        ];
        assert_eq!(usable(&source, found), expected);
    }

    /// A registry that trusts several authorities answers with the owners of each.
    #[test]
    fn only_the_owner_of_the_authority_that_the_file_names_is_one() {
        let named = RegistrySource {
            service: Some("Books".to_owned()),
            port_type: None,
            owners: vec![OwnerName::parse("CN=p1 of CN=ca")],
            cache: None,
        };
        let own = provider("http://a/", "CN=p1", ProviderState::Active);
        let mut namesake = provider("http://evil/", "CN=p1", ProviderState::Active);
        namesake.owner.issuer = WrittenName::new("CN=other");
        let found = usable(&named, vec![namesake, own.clone()]);
        let owners: Vec<_> = found.into_iter().map(|it| it.owner).collect();
        assert_eq!(owners, [own.owner]);
    }

    /// The answer of a registry that is mistaken, or one to another question.
    #[test]
    fn only_providers_of_what_was_asked_for_are_backends() {
        let source = |service: Option<&str>, port_type: Option<&str>| RegistrySource {
            service: service.map(str::to_owned),
            port_type: port_type.map(str::to_owned),
            owners: vec![OwnerName::parse("CN=p1")],
            cache: None,
        };
        let typed = |port_type: Option<&str>| Provider {
            service_key: "uddi:p1:service".to_owned(),
            port_type: port_type.map(str::to_owned),
            ..provider("http://a/", "CN=p1", ProviderState::Active)
        };
        let books = Some("{urn:b}BooksPort");
        for (source, port_type, fits) in [
            (source(Some("Books"), None), None, true),
            (source(Some("uddi:p1:service"), None), None, true),
            (source(Some("Payments"), None), None, false),
            (source(None, books), books, true),
            (source(None, Some("BooksPort")), books, true),
            (source(None, Some("{urn:c}BooksPort")), books, false),
            (source(None, books), None, false),
            (source(Some("Books"), books), Some("{}Other"), false),
        ] {
            let found = usable(&source, vec![typed(port_type)]);
            assert_eq!(!found.is_empty(), fits, "{source:?} {port_type:?}");
        }
    }
}
