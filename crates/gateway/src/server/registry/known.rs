//! The providers that are known, and their file.
//!
//! The rule kept here: what is known stays known until the registry says otherwise.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};
use tokio::sync::watch;

use crate::config::source::{KnownProvider, KnownProviders, SourceSpec};

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

    pub(super) fn learn(&self, source: &SourceSpec, providers: Vec<KnownProvider>) {
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
