//! One configuration in use.
//!
//! The rule kept here: requests in hand keep the configuration that they began with.

use std::sync::Arc;

use soapstone_store::Stores;
use soapstone_store::tls_revocation::TlsRevocation;

use super::agreements::Agreements;
use super::roles::Roles;
use super::routes::Routes;
use crate::config::limits::GatewayLimits;
use crate::config::revocation::RevocationConfig;
use crate::config::timeouts::Timeouts;
use crate::config::tls::Answering;
use crate::config::validity::ExpiringMaterial;

/// What one configuration in use consists of.
pub(crate) struct Serving {
    pub(crate) routes: Routes,
    pub(crate) limits: GatewayLimits,
    pub(crate) timeouts: Timeouts,
    pub(crate) public_url: Option<String>,
    pub(crate) tls: Option<Answering>,
    /// What asks whether the certificates of clients were revoked.
    pub(crate) client_revocation: Option<Arc<TlsRevocation>>,
    pub(crate) dated: Vec<ExpiringMaterial>,
    pub(crate) stores: Arc<Stores>,
    /// Who may do what; everybody everything, where there are none.
    pub(crate) roles: Option<Arc<Roles>>,
    /// What clients and providers owe each other.
    pub(crate) agreements: Option<Arc<Agreements>>,
    /// Who may be asked about revocation.
    pub(crate) revocation: Option<Arc<RevocationConfig>>,
}

impl Serving {
    /// Whether somebody decides by what a request asks for.
    pub(crate) fn asks_for_operations(&self) -> bool {
        self.roles.is_some() || self.agreements.is_some()
    }
}
