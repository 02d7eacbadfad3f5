//! Opens stores, so that endpoints that name the same servers share connections to them.
//!
//! The rule kept here: whether two endpoints share is decided by their configuration alone; what
//! they remember stays apart by their prefixes and scopes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use soapstone::config::{
    ConversationStoreConfig, ConversationsConfig, LoadedFile, ReplayConfig, ReplayScope,
    ReplayStoreConfig, StoreConfig, StoreLogin, StoreTlsConfig,
};

use crate::buckets::RedisBuckets;
use crate::canary::Canary;
use crate::contexts::RedisContexts;
use crate::conversations::Contexts;
use crate::error::StoreError;
use crate::file::FileReplay;
use crate::marks::RedisReplay;
use crate::memory::MemoryReplay;
use crate::memory_contexts::MemoryContexts;
use crate::problem::StoreProblem;
use crate::remote::{Remote, Unanswered};
use crate::replay::Replay;
use crate::sealing::{Opener, SealKeys};
use crate::windows::RedisWindows;

/// Most unexpired marks held when the configuration does not say: 1,048,576.
///
/// At five minutes of life that is 3,500 messages a second; in memory they take some 120 MB.
pub const DEFAULT_CAPACITY: usize = 1 << 20;

/// Most conversations held in memory when the configuration does not say: 65,536.
///
/// At no more than 2 kB each they take 130 MB.
pub const DEFAULT_CONVERSATIONS: usize = 1 << 16;

/// What an owner may hold of the room for conversations in memory when the configuration does not
/// say, as a divisor: a quarter.
pub const DEFAULT_SHARE: usize = 4;

/// Opens the stores of one process. What nobody uses any more, after a change of configuration, is
/// closed.
#[derive(Debug, Default)]
pub struct Stores {
    remotes: Mutex<Vec<(StoreConfig, Weak<Remote>)>>,
    canaries: Mutex<Vec<Weak<Canary>>>,
}

impl Stores {
    /// The replay cache of a configuration; in memory when there is none.
    ///
    /// # Errors
    ///
    /// When the file, or the keys and certificates for TLS, cannot be used. Whether Redis answers
    /// is not asked here.
    pub fn replay(&self, config: Option<&ReplayConfig>) -> Result<Replay, StoreError> {
        let capacity = capacity(config.and_then(|config| config.capacity), DEFAULT_CAPACITY);
        match config.map(|config| &config.store) {
            None | Some(ReplayStoreConfig::Memory) => {
                let memory = MemoryReplay::new(capacity);
                let is_apart = config.is_some_and(|config| config.scope == ReplayScope::Route);
                Ok(Replay::Memory(match is_apart {
                    true => memory.apart(),
                    false => memory,
                }))
            }
            Some(ReplayStoreConfig::File { path }) => {
                Ok(Replay::File(FileReplay::open(path, capacity)?))
            }
            Some(ReplayStoreConfig::Redis {
                store,
                when_unavailable,
            }) => {
                let remote = self.remote(store)?;
                Ok(Replay::Redis(RedisReplay::new(
                    remote,
                    store,
                    *when_unavailable,
                    capacity,
                )))
            }
        }
    }

    /// The store of security contexts of a configuration; in memory when there is none.
    ///
    /// # Errors
    ///
    /// When the keys and certificates for TLS cannot be used, or the key that seals is missing.
    /// Whether Redis answers is not asked here.
    pub fn contexts(&self, config: Option<&ConversationsConfig>) -> Result<Contexts, StoreError> {
        match config.map(|config| &config.store) {
            None | Some(ConversationStoreConfig::Memory) => {
                let configured = config.and_then(|config| config.capacity);
                let capacity = capacity(configured, DEFAULT_CONVERSATIONS);
                let configured = config.and_then(|config| config.per_owner);
                let share = self::capacity(configured, capacity.div_ceil(DEFAULT_SHARE));
                let store = MemoryContexts::new(capacity).with_share(share);
                Ok(Contexts::Memory(store))
            }
            Some(ConversationStoreConfig::Redis { store }) => {
                let keys = SealKeys::from_config(store)
                    .ok()
                    .flatten()
                    .ok_or(StoreError::NoSealKey)?;
                let canary = Arc::new(Canary {
                    remote: self.remote(store)?,
                    prefix: store.prefix.clone(),
                    keys,
                });
                let mut canaries = self.canaries();
                canaries.retain(|canary| canary.strong_count() > 0);
                canaries.push(Arc::downgrade(&canary));
                Ok(Contexts::Redis(RedisContexts::new(canary)))
            }
        }
    }

    /// The token buckets that processes share in a store. Whether it answers is not asked here.
    ///
    /// # Errors
    ///
    /// When the keys and certificates for TLS cannot be used.
    pub fn buckets(&self, store: &StoreConfig) -> Result<RedisBuckets, StoreError> {
        Ok(RedisBuckets::new(self.remote(store)?, &store.prefix))
    }

    /// The windows of calls that processes measure together in a store. Whether it answers is not
    /// asked here.
    ///
    /// # Errors
    ///
    /// When the keys and certificates for TLS cannot be used.
    pub fn windows(&self, store: &StoreConfig) -> Result<RedisWindows, StoreError> {
        Ok(RedisWindows::new(self.remote(store)?, &store.prefix))
    }

    /// The problems of all shared stores that were opened, for those who ask whether this process
    /// is ready. It takes the timeouts of those that do not answer.
    pub fn problems(&self) -> Vec<StoreProblem> {
        let remotes: Vec<Arc<Remote>> = self
            .remotes()
            .iter()
            .filter_map(|(_, remote)| remote.upgrade())
            .collect();
        let mut problems = Vec::new();
        for remote in &remotes {
            match remote.check() {
                Ok(()) => problems.extend(self.strange_seals(remote)),
                Err(problem) => problems.push(problem.into()),
            }
        }
        problems
    }

    /// Shows the other nodes with which key this one seals. Once a minute is enough; a store that
    /// does not answer is not waited for again.
    pub fn announce(&self) {
        for canary in self.living_canaries() {
            // Whoever asks for problems is told.
            canary.keep().ok();
        }
    }

    /// Whether the contexts in a store are sealed with a key that this process does not have.
    fn strange_seals(&self, remote: &Arc<Remote>) -> Vec<StoreProblem> {
        // Endpoints that share a prefix may have keys of their own: one that opens is enough.
        let mut found: BTreeMap<String, Result<bool, Unanswered>> = BTreeMap::new();
        for canary in self.living_canaries() {
            if Arc::ptr_eq(&canary.remote, remote) {
                let opens = canary.look().map(|opener| opener != Some(Opener::Neither));
                let known = found.entry(canary.prefix.clone()).or_insert(Ok(false));
                if *known == Ok(false) {
                    *known = opens;
                }
            }
        }
        let problems = found.into_iter().filter_map(|(prefix, opens)| match opens {
            Ok(true) => None,
            Ok(false) => Some(StoreProblem::OtherSealKey { prefix }),
            Err(problem) => Some(problem.into()),
        });
        problems.collect()
    }

    fn living_canaries(&self) -> Vec<Arc<Canary>> {
        self.canaries().iter().filter_map(Weak::upgrade).collect()
    }

    fn canaries(&self) -> MutexGuard<'_, Vec<Weak<Canary>>> {
        self.canaries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remote(&self, config: &StoreConfig) -> Result<Arc<Remote>, StoreError> {
        let mut remotes = self.remotes();
        remotes.retain(|(_, remote)| remote.strong_count() > 0);
        let known = remotes
            .iter()
            .find(|(known, _)| same_servers(known, config))
            .and_then(|(_, remote)| remote.upgrade());
        if let Some(remote) = known {
            return Ok(remote);
        }
        let remote = Remote::new(config).map_err(|problem| StoreError::Tls { problem })?;
        let remote = Arc::new(remote);
        remotes.push((config.clone(), Arc::downgrade(&remote)));
        Ok(remote)
    }

    fn remotes(&self) -> MutexGuard<'_, Vec<(StoreConfig, Weak<Remote>)>> {
        self.remotes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Replay {
    /// Opens the cache of a configuration; in memory when there is none. Caches in Redis that are
    /// opened through one [`Stores`] share connections; this one has its own.
    ///
    /// # Errors
    ///
    /// When the file, or the keys and certificates for TLS, cannot be used. Whether Redis answers
    /// is not asked here.
    pub fn open(config: Option<&ReplayConfig>) -> Result<Self, StoreError> {
        Stores::default().replay(config)
    }
}

fn capacity(configured: Option<u64>, customary: usize) -> usize {
    configured.map_or(customary, |capacity| {
        usize::try_from(capacity).unwrap_or(usize::MAX)
    })
}

/// Whether both reach the same servers in the same way. Both are our own configuration: nobody
/// measures how long this takes.
fn same_servers(one: &StoreConfig, other: &StoreConfig) -> bool {
    let login = |login: &StoreLogin| {
        let password = login.password.as_ref().map(|password| password.expose());
        (login.username.clone(), password.cloned())
    };
    let file = |file: &LoadedFile| file.bytes.expose().clone();
    let is_same_tls = |one: &StoreTlsConfig, other: &StoreTlsConfig| {
        let authorities = |tls: &StoreTlsConfig| tls.ca.iter().map(file).collect::<Vec<_>>();
        authorities(one) == authorities(other)
            && match (&one.identity, &other.identity) {
                (Some((certificate, key)), Some((other_certificate, other_key))) => {
                    file(certificate) == file(other_certificate) && key.is_same(other_key)
                }
                (None, None) => true,
                _ => false,
            }
    };
    let is_same_connection = match (&one.tls, &other.tls) {
        (Some(one), Some(other)) => is_same_tls(one, other),
        (None, None) => true,
        _ => false,
    };
    one.servers == other.servers
        && (one.database, one.timeout, one.replicas)
            == (other.database, other.timeout, other.replicas)
        && login(&one.login) == login(&other.login)
        && login(&one.sentinel_login) == login(&other.sentinel_login)
        && is_same_connection
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use soapstone::config::EndpointConfig;

    use super::*;

    fn config(store: &str) -> ReplayConfig {
        let text = format!(
            "[security]\nmechanism = \"sign\"\nreplay = {{ store = \"redis\", {store} }}\n"
        );
        EndpointConfig::from_text(&text, Path::new("endpoint.toml"), &|_| None)
            .unwrap_or_else(|problems| panic!("{problems}"))
            .security
            .replay
            .expect("given")
    }

    #[test]
    fn endpoints_that_name_the_same_servers_share_them_until_none_is_left() {
        let stores = Stores::default();
        let open = |store: &str| stores.replay(Some(&config(store))).expect("it is right");
        let count = || {
            let remotes = stores.remotes();
            remotes
                .iter()
                .filter(|(_, remote)| remote.strong_count() > 0)
                .count()
        };
        let one = open("url = \"redis://h\"");
        let other = open("url = \"redis://h\", prefix = \"other\", when_unavailable = \"accept\"");
        assert_eq!(count(), 1);
        let elsewhere = open("url = \"redis://h\", password = \"another\"");
        assert_eq!(count(), 2);
        drop((one, other));
        assert_eq!(count(), 1);
        drop(elsewhere);
        assert_eq!(count(), 0);
        assert_eq!(stores.problems(), [], "nothing is used");
    }
}
