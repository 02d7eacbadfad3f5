//! The registry that all connections share.
//!
//! The rule kept here: writers come one after another, and each is in force once it is kept;
//! readers never wait for the database. A registry whose database failed ends: it cannot know what
//! the database has.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, Weak};

use jiff::Timestamp;
use soapstone::crypto::{hexadecimal, random};
use soapstone_registry::calls::{CallEntry, CallQuery};
use soapstone_registry::ganglia::HostMetrics;
use soapstone_registry::{
    Answer, Applied, Asked, Owner, PublisherRule, Refusal, Registry, Request,
};
use tokio::sync::{Mutex, Notify};

use crate::storage::Storage;

/// The registry with its storage.
pub(crate) struct Shared {
    registry: RwLock<Registry>,
    storage: Storage,
    writing: Mutex<()>,
    turns: Turns,
    /// Told once the storage has failed.
    broken: Notify,
}

/// The turns of owners who write: whoever sends many requests waits for himself.
#[derive(Default)]
struct Turns(std::sync::Mutex<BTreeMap<Owner, Weak<Mutex<()>>>>);

impl Turns {
    fn of(&self, owner: &Owner) -> Arc<Mutex<()>> {
        let mut owners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = owners.get(owner).and_then(Weak::upgrade) {
            return turn;
        }
        owners.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::default();
        owners.insert(owner.clone(), Arc::downgrade(&turn));
        turn
    }
}

impl Shared {
    pub(crate) fn new(registry: Registry, storage: Storage) -> Self {
        Self {
            registry: RwLock::new(registry),
            storage,
            writing: Mutex::new(()),
            turns: Turns::default(),
            broken: Notify::new(),
        }
    }

    /// Answers what changes nothing, in the thread that asks.
    pub(crate) fn inquire(&self, request: &Request) -> Result<Answer, Refusal> {
        match request.writes() {
            true => Err(Refusal::Unsigned),
            false => self.applied(request, None).map(|applied| applied.answer),
        }
    }

    fn applied(&self, request: &Request, owner: Option<&Owner>) -> Result<Applied, Refusal> {
        let registry = self.registry.read().unwrap_or_else(PoisonError::into_inner);
        registry.apply(
            request,
            &mut Asked {
                owner,
                now: Timestamp::now(),
                new_key: &mut new_key,
            },
        )
    }

    /// Does what changes something.
    pub(crate) async fn write(
        &self,
        request: &Request,
        owner: Option<&Owner>,
    ) -> Result<Answer, Refusal> {
        let own = self.turns.of(owner.ok_or(Refusal::Unsigned)?);
        let _own = own.lock().await;
        let _turn = self.writing.lock().await;
        let applied = self.applied(request, owner)?;
        if let Err(error) = self.storage.keep(&applied.changes).await {
            tracing::error!(%error, request = request.name(), "a change was not kept");
            // Whether the database has it is not known: a registry that starts anew reads what it
            // has.
            self.broken.notify_one();
            return Err(Refusal::NotKept);
        }
        if !applied.changes.is_empty() {
            let registry = self.registry.write();
            let mut registry = registry.unwrap_or_else(PoisonError::into_inner);
            registry.commit(applied.changes);
        }
        Ok(applied.answer)
    }

    /// Takes other rules of publication into force. What was published stays.
    pub(crate) fn replace_rules(&self, rules: Vec<PublisherRule>) {
        let registry = self.registry.write();
        let mut registry = registry.unwrap_or_else(PoisonError::into_inner);
        registry.replace_rules(rules);
    }

    /// Calls of the log; `None` where they cannot be read.
    pub(crate) async fn calls(&self, query: &CallQuery, most: usize) -> Option<Vec<CallEntry>> {
        let calls = self.storage.calls(query, most).await;
        calls
            .inspect_err(|error| tracing::warn!(%error, "the log of calls could not be read"))
            .ok()
    }

    /// Deletes calls that are too old.
    pub(crate) async fn expire(&self) {
        if let Err(error) = self.storage.expire().await {
            tracing::warn!(%error, "calls that are too old were not deleted");
        }
    }

    /// Lets go of the database: another registry may have it.
    pub(crate) async fn close(self) {
        self.storage.close().await;
    }

    /// Ends when the storage has failed.
    pub(crate) async fn broken(&self) {
        self.broken.notified().await;
    }

    /// What a `gmond` says of its hosts.
    pub(crate) fn observe(&self, source: &str, hosts: Vec<HostMetrics>) {
        let registry = self.registry.write();
        let mut registry = registry.unwrap_or_else(PoisonError::into_inner);
        registry.observe(source, hosts, Timestamp::now());
    }
}

/// A key with 122 random bits, as RFC 9562 has it for version 4.
fn new_key() -> String {
    let mut bytes: [u8; 16] = random::bytes();
    bytes[6] = bytes[6] & 0x0F | 0x40;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    let hex = hexadecimal::encode(&bytes);
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    format!("uddi:{}", parts.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_owner_waits_for_himself_alone() {
        let turns = Turns::default();
        let owner = |subject: &str| Owner::new(subject, "CN=ca");
        let held = turns.of(&owner("CN=p1")).lock_owned().await;
        let again = turns.of(&owner("CN=p1"));
        assert!(again.try_lock().is_err());
        assert!(turns.of(&owner("CN=p2")).try_lock().is_ok());
        drop((held, again));
        drop(turns.of(&owner("CN=p3")));
        assert_eq!(turns.0.lock().expect("no panic").len(), 1);
    }
}
