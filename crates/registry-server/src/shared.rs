//! The registry that all connections share.
//!
//! The rule kept here: writers come one after another, and each is in force once it is kept;
//! readers never wait for the database.

use std::sync::{PoisonError, RwLock};

use jiff::Timestamp;
use soapstone::crypto::random;
use soapstone_registry::ganglia::HostMetrics;
use soapstone_registry::{Answer, Asked, Owner, Refusal, Registry, Request};
use tokio::sync::Mutex;

use crate::storage::Storage;

/// The registry with its storage.
pub(crate) struct Shared {
    registry: RwLock<Registry>,
    storage: Storage,
    writing: Mutex<()>,
}

impl Shared {
    pub(crate) fn new(registry: Registry, storage: Storage) -> Self {
        Self {
            registry: RwLock::new(registry),
            storage,
            writing: Mutex::new(()),
        }
    }

    /// Does what is asked.
    pub(crate) async fn apply(
        &self,
        request: &Request,
        owner: Option<&Owner>,
    ) -> Result<Answer, Refusal> {
        let _turn = match request.writes() {
            true => Some(self.writing.lock().await),
            false => None,
        };
        let applied = {
            let registry = self.registry.read().unwrap_or_else(PoisonError::into_inner);
            registry.apply(
                request,
                &mut Asked {
                    owner,
                    now: Timestamp::now(),
                    new_key: &mut new_key,
                },
            )
        }?;
        if let Err(error) = self.storage.keep(&applied.changes).await {
            tracing::error!(%error, request = request.name(), "a change was not kept");
            return Err(Refusal::NotKept);
        }
        if !applied.changes.is_empty() {
            let registry = self.registry.write();
            let mut registry = registry.unwrap_or_else(PoisonError::into_inner);
            registry.commit(applied.changes);
        }
        Ok(applied.answer)
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
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    format!("uddi:{}", parts.join("-"))
}
