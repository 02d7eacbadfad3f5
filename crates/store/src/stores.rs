//! Opens stores, so that endpoints that name the same servers share connections to them.
//!
//! The rule kept here: whether two endpoints share is decided by their configuration alone; what they remember stays apart by their
//! prefixes and scopes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use soapstone::config::{
    ConversationStoreConfig, ConversationsConfig, LoadedFile, ReplayConfig, ReplayStoreConfig,
    StoreConfig, StoreLogin, StoreTlsConfig,
};

use crate::contexts::RedisContexts;
use crate::file::FileReplay;
use crate::marks::RedisReplay;
use crate::memory::MemoryReplay;
use crate::memory_contexts::MemoryContexts;
use crate::remote::Remote;
use crate::sealing::SealKeys;
use crate::{Contexts, DEFAULT_CAPACITY, DEFAULT_CONVERSATIONS, DEFAULT_SHARE, Replay, StoreError};

/// Opens the stores of one process. What nobody uses any more, after a change of configuration, is closed.
#[derive(Debug, Default)]
pub struct Stores {
    remotes: Mutex<Vec<(StoreConfig, Weak<Remote>)>>,
}

impl Stores {
    /// The replay cache of a configuration; in memory when there is none.
    ///
    /// # Errors
    ///
    /// When the file, or the keys and certificates for TLS, cannot be used. Whether Redis answers is not asked here.
    pub fn replay(&self, config: Option<&ReplayConfig>) -> Result<Replay, StoreError> {
        let capacity = capacity(config.and_then(|config| config.capacity), DEFAULT_CAPACITY);
        match config.map(|config| &config.store) {
            None | Some(ReplayStoreConfig::Memory) => {
                Ok(Replay::Memory(MemoryReplay::new(capacity)))
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
    /// When the keys and certificates for TLS cannot be used, or the key that seals is missing. Whether Redis answers is not asked here.
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
                let remote = self.remote(store)?;
                Ok(Contexts::Redis(RedisContexts::new(
                    remote,
                    &store.prefix,
                    keys,
                )))
            }
        }
    }

    /// Asks each shared store that was opened whether it is there: for those who ask whether this process is ready.
    ///
    /// # Errors
    ///
    /// Why the first that is not there is not.
    pub fn check(&self) -> Result<(), String> {
        let remotes: Vec<Arc<Remote>> = self
            .remotes()
            .iter()
            .filter_map(|(_, remote)| remote.upgrade())
            .collect();
        remotes
            .iter()
            .try_for_each(|remote| remote.check())
            .map_err(|problem| problem.to_string())
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

fn capacity(configured: Option<u64>, customary: usize) -> usize {
    configured.map_or(customary, |capacity| {
        usize::try_from(capacity).unwrap_or(usize::MAX)
    })
}

/// Whether both reach the same servers in the same way. Both are our own configuration: nobody measures how long this takes.
fn same_servers(one: &StoreConfig, other: &StoreConfig) -> bool {
    let login = |login: &StoreLogin| {
        let password = login.password.as_ref().map(|password| password.expose());
        (login.username.clone(), password.cloned())
    };
    let file = |file: &LoadedFile| file.bytes.expose().clone();
    let tls = |tls: Option<&StoreTlsConfig>| {
        tls.map(|tls| {
            let identity = tls.identity.as_ref();
            (
                tls.ca.iter().map(file).collect::<Vec<_>>(),
                identity.map(|(certificate, key)| (file(certificate), file(key))),
            )
        })
    };
    one.servers == other.servers
        && (one.database, one.timeout, one.replicas)
            == (other.database, other.timeout, other.replicas)
        && login(&one.login) == login(&other.login)
        && login(&one.sentinel_login) == login(&other.sentinel_login)
        && tls(one.tls.as_ref()) == tls(other.tls.as_ref())
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
        stores.check().expect("nothing is used");
    }
}
