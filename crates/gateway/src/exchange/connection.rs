//! The connection that a request came over.
//!
//! The rule kept here: whose share something is of was proven, or is an address.

use std::net::SocketAddr;
use std::sync::Arc;

use rustls::Error;
use soapstone::crypto::Certificate;
use soapstone_store::tls_revocation::{Shown, TlsRevocation};

use crate::config::admin::AdminConfig;
use crate::config::limits::GatewayLimits;
use crate::shares::Client;
use crate::wire::budget::Reservation;
use crate::wire::headers::Forwarded;
use crate::wire::memory::MessageMemory;

/// What is known of a connection to those who answer its requests.
pub(crate) struct Connection {
    pub(crate) forwarded: Forwarded,
    pub(crate) through_tls: bool,
    /// The client proved a certificate that `client_ca` trusts while the connection was made.
    pub(crate) shows_certificate: bool,
    /// That certificate.
    pub(crate) client_certificate: Option<Arc<Certificate>>,
    /// The same with those that came with it, as they came.
    pub(crate) shown: Option<Shown>,
    pub(crate) peer: SocketAddr,
    /// Whose share it is of what all share.
    pub(crate) client: Arc<Client>,
    /// The same by the certificate that was shown.
    pub(crate) partner: Option<Arc<Client>>,
    /// Who might ask when the connection was made, at the listener of health and metrics.
    pub(crate) admin: Option<Arc<AdminConfig>>,
}

impl Connection {
    /// Why the certificate that made the connection is not good any more, by what is known of
    /// revocation now.
    ///
    /// # Errors
    ///
    /// It is not.
    pub(crate) fn check_revoked(&self, revocation: Option<&TlsRevocation>) -> Result<(), Error> {
        match (&self.shown, revocation) {
            (Some(shown), Some(revocation)) => shown.check(revocation),
            _ => Ok(()),
        }
    }

    /// A place in the room for one request and its response, out of the shares of whoever sent it.
    pub(crate) fn reserve(&self, memory: &MessageMemory, limits: &GatewayLimits) -> Reservation {
        let mut reservation = memory.budget.reserve();
        reservation.hold_for(&self.client, limits.of_client(self.peer.ip()).buffered);
        if let Some(partner) = &self.partner {
            reservation.hold_for(partner, limits.per_partner.buffered);
        }
        reservation
    }
}
