//! Asks the registry for the providers of routes, again and again.
//!
//! The rule kept here: what is known stays known. A registry that is away, hangs or has lost its
//! reports takes no backend out of use.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};
use soapstone_registry::{Answer, Provider, ProviderQuery, Request, State as ProviderState};
use tokio::sync::watch;

use super::client::{AskError, RegistryClient};
use crate::config::discovery::{KnownProvider, KnownProviders, SourceSpec};
use crate::server::state::State;

/// The providers that are known.
pub(crate) struct Discovered {
    known: Mutex<KnownProviders>,
    /// When the registry last answered for each of them.
    answered: Mutex<BTreeMap<SourceSpec, Instant>>,
    changed: watch::Sender<u64>,
}

impl Discovered {
    /// Begins with what was known when the gateway last ran.
    pub(crate) fn begin<'s>(sources: impl Iterator<Item = &'s SourceSpec>) -> Self {
        let kept = |source: &SourceSpec| Some((source.clone(), load(source.cache.as_deref()?)?));
        Self {
            known: Mutex::new(sources.filter_map(kept).collect()),
            answered: Mutex::default(),
            changed: watch::Sender::new(0),
        }
    }

    /// What is known.
    pub(crate) fn known(&self) -> MutexGuard<'_, KnownProviders> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells of each change from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// What operators are told of a source.
    pub(crate) fn status(&self, source: &SourceSpec) -> Value {
        let answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        let age = answered.get(source).map(Instant::elapsed);
        let known = self.known().get(source).map(Vec::len);
        json!({
            "service": source.service,
            "port_type": source.port_type,
            "known": known,
            "answered_ms_ago": age.map(|age| age.as_millis() as u64),
        })
    }

    fn learn(&self, source: &SourceSpec, providers: Vec<KnownProvider>) {
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        answered.insert(source.clone(), Instant::now());
        drop(answered);
        let mut known = self.known();
        if known.get(source) == Some(&providers) {
            return;
        }
        if let Some(cache) = &source.cache
            && let Err(error) = keep(cache, &providers)
        {
            tracing::warn!(file = %cache.display(), %error, "known providers are not kept");
        }
        tracing::info!(
            service = source.service.as_deref().or(source.port_type.as_deref()),
            providers = providers.len(),
            "the registry knows other providers"
        );
        known.insert(source.clone(), providers);
        drop(known);
        self.changed.send_modify(|times| *times += 1);
    }
}

/// Asks for as long as the gateway serves.
pub(in crate::server) async fn discover(state: &State, client: &Arc<RegistryClient>) {
    let mut ticks = tokio::time::interval(client.period);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut was_away = false;
    loop {
        ticks.tick().await;
        let serving = state.current.serving();
        let balancers = serving.routes.iter().filter_map(|it| it.balancer.as_ref());
        let mut sources: Vec<SourceSpec> = balancers.filter_map(|it| it.source.clone()).collect();
        sources.dedup();
        for source in sources {
            match providers(client, &source).await {
                Ok(providers) => {
                    state.discovered.learn(&source, providers);
                    if was_away {
                        tracing::info!("the registry answers again");
                        was_away = false;
                    }
                }
                Err(error) if !was_away => {
                    tracing::warn!(%error, "the registry is not to be had: what is known stays in use");
                    was_away = true;
                }
                Err(_) => {}
            }
        }
    }
}

async fn providers(
    client: &Arc<RegistryClient>,
    source: &SourceSpec,
) -> Result<Vec<KnownProvider>, AskError> {
    let query = Request::FindProviders(ProviderQuery {
        service: source.service.clone(),
        port_type: source.port_type.clone(),
    });
    match client.ask(&query).await? {
        Answer::Providers(found) => Ok(usable(source, found)),
        _ => Err(AskError::Other),
    }
}

/// The providers that may be backends, in an order of their own.
fn usable(source: &SourceSpec, found: Vec<Provider>) -> Vec<KnownProvider> {
    let is_named = |provider: &Provider| {
        let mut owners = source.owners.iter();
        owners.any(|owner| owner == "*" || *owner == provider.owner.subject)
    };
    let known = found.into_iter().filter_map(|provider| {
        let backup = match provider.state {
            ProviderState::Active | ProviderState::Unmonitored => false,
            // A registry that has just begun has no reports yet.
            ProviderState::Inactive => true,
            ProviderState::Withdrawn => return None,
        };
        is_named(&provider).then_some(KnownProvider {
            access_point: provider.access_point,
            backup,
        })
    });
    let mut known: Vec<KnownProvider> = known.collect();
    known.sort_by(|one, other| one.access_point.cmp(&other.access_point));
    known
}

/// The providers in a file. `None` where there are none.
fn load(file: &Path) -> Option<Vec<KnownProvider>> {
    let text = std::fs::read(file).ok()?;
    let kept: Vec<String> = serde_json::from_slice(&text).ok()?;
    let known = kept.into_iter().map(|access_point| KnownProvider {
        access_point,
        backup: false,
    });
    Some(known.collect())
}

/// Writes providers into a file, whole or not at all.
fn keep(file: &Path, providers: &[KnownProvider]) -> std::io::Result<()> {
    let urls: Vec<&str> = providers
        .iter()
        .map(|it| it.access_point.as_str())
        .collect();
    let text = serde_json::to_vec(&urls).map_err(std::io::Error::other)?;
    let mut next = file.as_os_str().to_owned();
    next.push(".next");
    std::fs::write(&next, text)?;
    std::fs::rename(&next, file)
}

#[cfg(test)]
mod tests {
    use soapstone_registry::Owner;

    use super::*;

    fn provider(access_point: &str, owner: &str, state: ProviderState) -> Provider {
        Provider {
            binding_key: String::new(),
            service_key: String::new(),
            business: String::new(),
            service: "Books".to_owned(),
            port_type: None,
            access_point: access_point.to_owned(),
            wsdl: None,
            policy: None,
            agreements: Vec::new(),
            owner: Owner {
                subject: owner.to_owned(),
                issuer: "CN=ca".to_owned(),
            },
            state,
            age: None,
            host: None,
            figures: None,
        }
    }

    #[test]
    fn only_providers_of_named_owners_are_backends() {
        let source = SourceSpec {
            service: Some("Books".to_owned()),
            port_type: None,
            owners: vec!["CN=p1".to_owned()],
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
            backup,
        };
        let expected = [
            known("http://a/", false),
            known("http://b/", true),
            known("http://d/", false),
        ];
        assert_eq!(usable(&source, found), expected);
    }
}
