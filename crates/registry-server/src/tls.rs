//! TLS of the registry's addresses, which may change while it runs.
//!
//! The rule kept here: a connection that comes finds what the files said last. One that was made
//! before keeps what it was made with.

use std::sync::{Arc, PoisonError, RwLock};

use soapstone::Service;
use soapstone_gateway::{Handshakes, ServerTls};

/// What the policy of a registry leaves to TLS.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeftToTls {
    /// The protection of messages.
    protection: bool,
    /// Who the client is: it shows a certificate (`sp:RequireClientCertificate`).
    certificates: bool,
}

impl LeftToTls {
    pub(crate) fn by(service: &Service) -> Self {
        Self {
            protection: service.needs_tls(),
            certificates: service.needs_client_certificate(),
        }
    }

    /// What is missing in TLS, if something is, and what to do.
    pub(crate) fn missing(self, tls: Option<&ServerTls>) -> Option<[&'static str; 2]> {
        match tls {
            None if self.protection => Some([
                "the policy leaves protection to TLS, and there is no [tls]",
                "protect messages: security = { mechanism = \"sign\" }",
            ]),
            tls if self.certificates && !tls.is_some_and(ServerTls::demands_certificate) => Some([
                "the policy wants clients to show a certificate, and [tls] demands none",
                "name their authorities: [tls] client_ca = [\"ca.cert.pem\"], without client_auth = \"optional\"",
            ]),
            _ => None,
        }
    }
}

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
