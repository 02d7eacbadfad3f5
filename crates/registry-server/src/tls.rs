//! TLS of the registry's addresses, which may change while it runs.
//!
//! The rule kept here: a connection that comes finds what the files said last. One that was made
//! before keeps what it was made with.

use std::sync::{Arc, PoisonError, RwLock};

use soapstone_gateway::{Handshakes, ServerTls};

/// The handshakes with whoever connects, until others take their place; none without TLS.
#[derive(Clone)]
pub(crate) struct CurrentTls(Arc<RwLock<Option<Handshakes>>>);

impl CurrentTls {
    pub(crate) fn new(tls: Option<&ServerTls>) -> Self {
        Self(Arc::new(RwLock::new(tls.map(Handshakes::new))))
    }

    /// Those of a connection that comes now.
    pub(crate) fn handshakes(&self) -> Option<Handshakes> {
        let current = self.0.read().unwrap_or_else(PoisonError::into_inner);
        current.clone()
    }

    /// Takes the place of what was before, for connections that come from now on.
    pub(crate) fn replace(&self, tls: Option<&ServerTls>) {
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *current = tls.map(Handshakes::new);
    }
}
