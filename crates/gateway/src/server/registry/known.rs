//! The providers that are known, and their file.
//!
//! The rule kept here: what is known stays known until the registry, or DNS, says otherwise.

use std::collections::BTreeMap;
use std::io::Read;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};
use soapstone_registry::Owner;
use tokio::sync::watch;

use crate::config::source::{DnsTarget, KnownProvider, KnownProviders, SourceSpec};

/// How it went when a source was asked.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    /// When it last answered.
    answered: Option<Instant>,
    /// Whether it gave no answer that counts when it was last asked.
    is_away: bool,
}

/// The providers that are known.
pub(crate) struct Discovered {
    known: Mutex<KnownProviders>,
    /// How it went for each of them.
    asked: Mutex<BTreeMap<SourceSpec, Asked>>,
    changed: watch::Sender<u64>,
}

impl Discovered {
    /// Begins with what was known when the gateway last ran.
    pub(crate) fn begin<'s>(sources: impl Iterator<Item = &'s SourceSpec>) -> Self {
        let kept = |source: &SourceSpec| Some((source.clone(), load(source)?));
        Self {
            known: Mutex::new(sources.filter_map(kept).collect()),
            asked: Mutex::default(),
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
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = asked.get(source).copied().unwrap_or_default();
        let age = asked.answered.map(|answered| answered.elapsed());
        let known = self.known().get(source).map(Vec::len);
        let mut status = json!({
            "known": known,
            // What was known before the gateway began is not known to hold, either.
            "stale": asked.is_away || (asked.answered.is_none() && known.is_some()),
            "answered_ms_ago": age.map(|age| age.as_millis() as u64),
        });
        match source {
            SourceSpec::Registry(source) => {
                status["service"] = json!(source.service);
                status["port_type"] = json!(source.port_type);
            }
            SourceSpec::Dns(source) => status["srv"] = json!(source.name.to_string()),
        }
        status
    }

    /// Begins with sources that are new: with what is known of the same service where the file said
    /// something else of it, as far as it may be a backend now, or else with what was known when
    /// the gateway last ran.
    pub(crate) fn take_over<'s>(&self, sources: impl Iterator<Item = &'s SourceSpec>) {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let answered = |source: &SourceSpec| asked.get(source).and_then(|it| it.answered);
        let mut known = self.known();
        for source in sources {
            if known.contains_key(source) {
                continue;
            }
            let former = known.iter().filter_map(|(former, providers)| {
                let providers = taken_over(source, former, providers)?;
                Some((answered(former), providers))
            });
            let former = former.max_by_key(|(answered, _)| *answered);
            let Some(providers) = former.map(|(_, it)| it).or_else(|| load(source)) else {
                continue;
            };
            keep_in_file(source, &providers);
            known.insert(source.clone(), providers);
        }
    }

    /// Notes that a source gave no answer that counts: what is known stays.
    pub(super) fn miss(&self, source: &SourceSpec) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.entry(source.clone()).or_default().is_away = true;
    }

    pub(super) fn learn(&self, source: &SourceSpec, providers: Vec<KnownProvider>) {
        let now = Asked {
            answered: Some(Instant::now()),
            is_away: false,
        };
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.insert(source.clone(), now);
        drop(asked);
        let mut known = self.known();
        if known.get(source) == Some(&providers) {
            return;
        }
        keep_in_file(source, &providers);
        let said = match source {
            SourceSpec::Registry(_) => "the registry knows other providers",
            SourceSpec::Dns(_) => "DNS names other providers",
        };
        tracing::info!(
            service = source.label(),
            providers = providers.len(),
            "{said}"
        );
        known.insert(source.clone(), providers);
        drop(known);
        self.changed.send_modify(|times| *times += 1);
    }
}

/// The providers of a source that may be those of another one for the same service. `None` where
/// there are none.
fn taken_over(
    source: &SourceSpec,
    former: &SourceSpec,
    providers: &[KnownProvider],
) -> Option<Vec<KnownProvider>> {
    let taken: Vec<KnownProvider> = match (source, former) {
        (SourceSpec::Dns(source), SourceSpec::Dns(former)) if source.name == former.name => {
            let admitted = providers.iter().filter_map(|provider| {
                let address = provider.target.as_ref()?.address;
                source.admits(address.ip()).then(|| KnownProvider {
                    access_point: source.url(address.port()),
                    ..provider.clone()
                })
            });
            admitted.collect()
        }
        (SourceSpec::Registry(source), SourceSpec::Registry(former))
            if source.service == former.service && source.port_type == former.port_type =>
        {
            let is_named = |it: &&KnownProvider| source.name_of(&it.owner).is_some();
            providers.iter().filter(is_named).cloned().collect()
        }
        _ => return None,
    };
    (!taken.is_empty()).then_some(taken)
}

/// Keeps providers of a source for the next start, where it has a file.
fn keep_in_file(source: &SourceSpec, providers: &[KnownProvider]) {
    if let Some(cache) = source.cache()
        && let Err(error) = keep(cache, source, providers)
    {
        tracing::warn!(file = %cache.display(), %error, "known providers are not kept");
    }
}

/// The largest file that is read: as many providers as an answer of a registry has.
const LARGEST: u64 = 8 << 20;

/// The providers in the file of a source. `None` where there are none, and where they are those of
/// another source: its owners may be others.
fn load(source: &SourceSpec) -> Option<Vec<KnownProvider>> {
    let file = std::fs::File::open(source.cache()?).ok()?;
    let mut text = Vec::new();
    file.take(LARGEST).read_to_end(&mut text).ok()?;
    let kept: Value = serde_json::from_slice(&text).ok()?;
    if kept.get("of")? != &identity(source) {
        return None;
    }
    let known = kept.get("providers")?.as_array()?.iter();
    known
        .map(|provider| provider_of(provider, source))
        .collect()
}

/// A provider in the file of a source. What DNS named is where it may be, as the file of the
/// gateway has it now.
fn provider_of(kept: &Value, source: &SourceSpec) -> Option<KnownProvider> {
    let access_point = kept.get("access_point")?.as_str()?.to_owned();
    let target = match (source, kept.get("target")) {
        (SourceSpec::Registry(_), None) => None,
        (SourceSpec::Dns(source), Some(target)) => {
            let address: SocketAddr = target.get("address")?.as_str()?.parse().ok()?;
            let is_its = access_point == source.url(address.port());
            if !is_its || !source.admits(address.ip()) {
                return None;
            }
            Some(DnsTarget {
                host: target.get("host")?.as_str()?.to_owned(),
                address,
                weight: target.get("weight")?.as_u64()?.try_into().ok()?,
            })
        }
        _ => return None,
    };
    Some(KnownProvider {
        access_point,
        owner: Owner::new(
            kept.get("owner")?.as_str()?,
            // Hosts of DNS are nobody's.
            match (kept.get("issuer"), &target) {
                (Some(issuer), _) => issuer.as_str()?,
                (None, Some(_)) => "",
                (None, None) => return None,
            },
        ),
        backup: kept.get("backup")?.as_bool()?,
        target,
    })
}

/// What providers were asked for.
fn identity(source: &SourceSpec) -> Value {
    match source {
        SourceSpec::Registry(source) => json!({
            "service": source.service,
            "port_type": source.port_type,
            "owners": source.owners.iter().map(ToString::to_string).collect::<Vec<_>>(),
        }),
        SourceSpec::Dns(source) => {
            let networks = source.networks.iter().map(ToString::to_string);
            json!({
                "srv": source.name.to_string(),
                "networks": networks.collect::<Vec<_>>(),
            })
        }
    }
}

/// Writes providers of a source into a file, whole or not at all.
fn keep(file: &Path, source: &SourceSpec, providers: &[KnownProvider]) -> std::io::Result<()> {
    let known = providers.iter().map(|it| {
        let Owner { subject, issuer } = &it.owner;
        let mut kept = json!({
            "access_point": it.access_point,
            "backup": it.backup,
            "owner": subject,
            "issuer": issuer,
        });
        if let Some(DnsTarget {
            host,
            address,
            weight,
        }) = &it.target
        {
            kept["target"] =
                json!({ "host": host, "address": address.to_string(), "weight": weight });
        }
        kept
    });
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
    use crate::config::owner_name::OwnerName;
    use crate::config::source::RegistrySource;

    #[test]
    fn a_file_counts_for_the_source_that_it_was_written_for() {
        let folder = soapstone_testkit::Folder::new();
        let registry = RegistrySource {
            service: Some("Books".to_owned()),
            port_type: None,
            owners: vec![OwnerName::parse("CN=p1")],
            cache: Some(folder.path("known.json")),
        };
        let source = SourceSpec::Registry(registry.clone());
        assert_eq!(load(&source), None);
        let known = [("http://a/", false), ("http://b/", true)];
        let known = known.map(|(access_point, backup)| KnownProvider {
            access_point: access_point.to_owned(),
            owner: Owner::new("CN=p1", "CN=ca"),
            backup,
            target: None,
        });
        let file = registry.cache.clone().expect("a file");
        keep(&file, &source, &known).expect("it is kept");
        assert_eq!(load(&source).as_deref(), Some(&known[..]));
        let other_owners = RegistrySource {
            owners: vec![OwnerName::parse("CN=p2")],
            ..registry.clone()
        };
        assert_eq!(load(&SourceSpec::Registry(other_owners)), None);
        let other_service = RegistrySource {
            service: Some("Payments".to_owned()),
            ..registry
        };
        assert_eq!(load(&SourceSpec::Registry(other_service)), None);
        // A file without end is no file of this program.
        let endless = vec![b' '; usize::try_from(LARGEST).expect("a size") + 1];
        let kept = std::fs::read(&file).expect("a file");
        std::fs::write(&file, [endless, kept].concat()).expect("it is written");
        assert_eq!(load(&source), None);
    }

    /// What DNS named once is a backend where the gateway's file has it now: scheme, path and
    /// networks.
    #[test]
    fn a_file_of_what_dns_named_counts_within_what_is_configured() {
        let folder = soapstone_testkit::Folder::new();
        let source = |url: &str| {
            let text = format!(
                "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/\"\n[routes.backends]\nsrv = \"{url}\"\n\
                 networks = [\"10.0.0.0/8\"]\ncache = \"known.json\"\n"
            );
            let file = folder.path("gateway.toml");
            let config = crate::config::Config::from_text(&text, &file, &|_| None);
            let config = config.unwrap_or_else(|problems| panic!("{problems}"));
            let source = config.sources().next();
            source.cloned().expect("a source")
        };
        let books = source("http://_a._tcp.example.com/books");
        let known = |address: &str| KnownProvider {
            access_point: "http://example.com:80/books".to_owned(),
            owner: Owner::default(),
            backup: false,
            target: Some(DnsTarget {
                host: "one.example.com".to_owned(),
                address: address.parse().expect("an address"),
                weight: 1,
            }),
        };
        let file = folder.path("known.json");
        keep(&file, &books, &[known("10.0.0.1:80")]).expect("it is kept");
        assert_eq!(load(&books), Some(vec![known("10.0.0.1:80")]));
        assert_eq!(load(&source("http://_a._tcp.example.com/other")), None);
        assert_eq!(load(&source("http://_b._tcp.example.com/books")), None);
        for elsewhere in ["127.0.0.1:80", "10.0.0.1:81"] {
            keep(&file, &books, &[known(elsewhere)]).expect("it is kept");
            assert_eq!(load(&books), None, "{elsewhere}");
        }
    }

    /// DNS may be away at the time of a reload: what it said before stays in use, and is marked.
    #[test]
    fn a_source_that_changes_begins_with_what_is_known_of_its_service() {
        let folder = soapstone_testkit::Folder::new();
        let source = |url: &str, more: &str| {
            let text = format!(
                "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/\"\n[routes.backends]\nsrv = \"{url}\"\n{more}\n"
            );
            let file = folder.path("gateway.toml");
            let config = crate::config::Config::from_text(&text, &file, &|_| None);
            let config = config.unwrap_or_else(|problems| panic!("{problems}"));
            let source = config.sources().next();
            source.cloned().expect("a source")
        };
        let url = "http://_a._tcp.example.com/books";
        let known = |access_point: &str, address: &str| KnownProvider {
            access_point: access_point.to_owned(),
            owner: Owner::default(),
            backup: false,
            target: Some(DnsTarget {
                host: "one.example.com".to_owned(),
                address: address.parse().expect("an address"),
                weight: 1,
            }),
        };
        let books = "http://example.com:80/books";
        let (near, far) = (known(books, "10.0.0.1:80"), known(books, "10.1.0.1:80"));
        let first = source(url, "networks = [\"10.0.0.0/8\"]");
        let discovered = Discovered::begin([&first].into_iter());
        discovered.learn(&first, vec![near.clone(), far.clone()]);
        let taken = |source: &SourceSpec| {
            discovered.take_over([source].into_iter());
            discovered.known().get(source).cloned()
        };
        let more =
            "networks = [\"10.0.0.0/8\"]\nservers = [\"10.0.0.1:53\"]\ncache = \"known.json\"";
        let with_server = source(url, more);
        let both = Some(vec![near.clone(), far]);
        assert_eq!(taken(&with_server), both);
        assert_eq!(discovered.status(&with_server)["stale"], true);
        assert_eq!(load(&with_server), both, "the file that is new has it");
        let narrower = source(url, "networks = [\"10.0.0.0/16\"]");
        assert_eq!(taken(&narrower), Some(vec![near]));
        let secure = source(
            "https://_a._tcp.example.com/other",
            "networks = [\"10.0.0.0/16\"]",
        );
        let moved = known("https://example.com:80/other", "10.0.0.1:80");
        assert_eq!(taken(&secure), Some(vec![moved]));
        for (url, networks) in [
            (url, "192.168.0.0/16"),
            ("http://_b._tcp.example.com/books", "10.0.0.0/8"),
        ] {
            let other = source(url, &format!("networks = [\"{networks}\"]"));
            assert_eq!(taken(&other), None);
        }
    }
}
