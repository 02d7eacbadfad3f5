//! The providers that are known, and their file.
//!
//! The rule kept here: what is known stays known until the registry says otherwise.

use std::collections::BTreeMap;
use std::io::Read;
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
        let kept = |source: &SourceSpec| Some((source.clone(), load(source)?));
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
            && let Err(error) = keep(cache, source, &providers)
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

/// The largest file that is read: as many providers as an answer of a registry has.
const LARGEST: u64 = 8 << 20;

/// The providers in the file of a source. `None` where there are none, and where they are those of
/// another source: its owners may be others.
fn load(source: &SourceSpec) -> Option<Vec<KnownProvider>> {
    let file = std::fs::File::open(source.cache.as_deref()?).ok()?;
    let mut text = Vec::new();
    file.take(LARGEST).read_to_end(&mut text).ok()?;
    let kept: Value = serde_json::from_slice(&text).ok()?;
    if kept.get("of")? != &identity(source) {
        return None;
    }
    let known = kept.get("providers")?.as_array()?.iter().map(|provider| {
        Some(KnownProvider {
            access_point: provider.get("access_point")?.as_str()?.to_owned(),
            owner: provider.get("owner")?.as_str()?.to_owned(),
            backup: provider.get("backup")?.as_bool()?,
        })
    });
    known.collect()
}

/// What providers were asked for.
fn identity(source: &SourceSpec) -> Value {
    json!({
        "service": source.service,
        "port_type": source.port_type,
        "owners": source.owners,
    })
}

/// Writes providers of a source into a file, whole or not at all.
fn keep(file: &Path, source: &SourceSpec, providers: &[KnownProvider]) -> std::io::Result<()> {
    let known = providers.iter();
    let known = known.map(
        |it| json!({ "access_point": it.access_point, "backup": it.backup, "owner": it.owner }),
    );
    let kept = json!({ "of": identity(source), "providers": known.collect::<Vec<_>>() });
    let text = serde_json::to_vec(&kept).map_err(std::io::Error::other)?;
    let mut next = file.as_os_str().to_owned();
    next.push(".next");
    std::fs::write(&next, text)?;
    std::fs::rename(&next, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_counts_for_the_source_that_it_was_written_for() {
        let folder = soapstone_testkit::Folder::new();
        let source = SourceSpec {
            service: Some("Books".to_owned()),
            port_type: None,
            owners: vec!["CN=p1".to_owned()],
            cache: Some(folder.path("known.json")),
        };
        assert_eq!(load(&source), None);
        let known = [("http://a/", false), ("http://b/", true)];
        let known = known.map(|(access_point, backup)| KnownProvider {
            access_point: access_point.to_owned(),
            owner: "CN=p1".to_owned(),
            backup,
        });
        let file = source.cache.clone().expect("a file");
        keep(&file, &source, &known).expect("it is kept");
        assert_eq!(load(&source).as_deref(), Some(&known[..]));
        let other_owners = SourceSpec {
            owners: vec!["CN=p2".to_owned()],
            ..source.clone()
        };
        assert_eq!(load(&other_owners), None);
        let other_service = SourceSpec {
            service: Some("Payments".to_owned()),
            ..source.clone()
        };
        assert_eq!(load(&other_service), None);
        // A file without end is no file of this program.
        let endless = vec![b' '; usize::try_from(LARGEST).expect("a size") + 1];
        let kept = std::fs::read(&file).expect("a file");
        std::fs::write(&file, [endless, kept].concat()).expect("it is written");
        assert_eq!(load(&source), None);
    }
}
