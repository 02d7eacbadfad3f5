//! The gateway's file: where it listens, what it serves, and how long and how much it bears.
//!
//! The rule kept here: a [`Config`] is complete. Whatever can be wrong with keys, policies and
//! addresses was found while it was read; starting a gateway from it can only fail because the
//! system refuses.

pub(crate) mod address;
pub(crate) mod admin;
pub(crate) mod agreements;
pub(crate) mod authorities;
pub(crate) mod balance;
pub(crate) mod bsp;
mod client_trust;
pub(crate) mod considered;
pub(crate) mod direction;
mod discovery;
mod display;
pub(crate) mod dns_name;
pub(crate) mod endpoint;
pub(crate) mod identity;
pub(crate) mod limits;
pub(crate) mod log;
mod memory;
pub(crate) mod needs;
pub(crate) mod network;
pub(crate) mod owner_name;
pub(crate) mod party;
pub(crate) mod path;
pub(crate) mod published;
pub(crate) mod rate;
pub(crate) mod read;
pub(crate) mod record;
pub(crate) mod registry;
pub(crate) mod revocation;
pub(crate) mod roles;
pub(crate) mod route;
mod route_table;
pub(crate) mod security_index;
pub(crate) mod source;
pub(crate) mod srv;
pub(crate) mod timeouts;
pub(crate) mod tls;
mod tls_identity;
pub(crate) mod tls_turns;
pub(crate) mod token_service;
pub(crate) mod traces;
mod transparent;
pub(crate) mod url;
pub(crate) mod validity;
pub(crate) mod warm_up;
pub(crate) mod words;

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use soapstone::config::{FileState, Problem, Warning};
use soapstone::endpoint::ExpiringFile;
use soapstone_store::tls_revocation::TlsRevocation;
use soapstone_store::{StoreProblem, Stores};

use admin::AdminConfig;
use agreements::AgreementsSpec;
use endpoint::EndpointSpec;
use limits::GatewayLimits;
use log::LogConfig;
use record::RecordConfig;
use registry::RegistrySpec;
use revocation::RevocationConfig;
use roles::RoleSpec;
use route::RouteSpec;
use soapstone::crypto::trust::OnlineRevocation;
use soapstone::endpoint::Serving;
use timeouts::Timeouts;
use tls::Answering;
use traces::TracesConfig;
use validity::{ValidityWarning, dated_in, warnings};

/// What is said of a route whose backend is protected on another one.
pub(crate) const BYPASSES: &str = "it leads to what is protected on the route";

/// What is said of a route whose policy every connection fails.
const NEEDS_TLS: &str = "the policy leaves protection to TLS, and there is no [tls]";
const NEEDS_CLIENT_CERTIFICATES: &str =
    "the policy wants client certificates, and [tls] has no `client_ca`";
const ANONYMOUS: &str = "its clients are anonymous";

/// A gateway's configuration, read and compiled.
pub struct Config {
    pub(crate) file: PathBuf,
    pub(crate) listen: SocketAddr,
    pub(crate) admin: Option<AdminConfig>,
    /// Whether another process may listen at the same addresses.
    pub(crate) reuse_port: bool,
    pub(crate) public_url: Option<String>,
    pub(crate) tls: Option<Answering>,
    /// What asks whether the certificates of clients were revoked.
    pub(crate) client_revocation: Option<Arc<TlsRevocation>>,
    /// Whether clients can show certificates.
    asks_for_certificates: bool,
    /// Those of `[tls]`.
    pub(crate) certificates: Vec<ExpiringFile>,
    pub(crate) routes: Vec<RouteSpec>,
    pub(crate) timeouts: Timeouts,
    pub(crate) limits: GatewayLimits,
    log: LogConfig,
    /// The file of the audit trail.
    pub(crate) audit: Option<PathBuf>,
    /// Which refused messages are kept.
    pub(crate) record: Option<RecordConfig>,
    /// Where spans are sent.
    pub(crate) traces: Option<TracesConfig>,
    /// Who may do what; everybody everything, where there are none.
    pub(crate) roles: Option<Vec<RoleSpec>>,
    /// What clients and providers owe each other.
    pub(crate) agreements: Option<AgreementsSpec>,
    /// Who may be asked about revocation.
    pub(crate) revocation: Option<RevocationConfig>,
    /// What asks about it outside of routes: about clients, the registry and the collector of
    /// traces.
    pub(crate) online: Vec<Arc<OnlineRevocation>>,
    /// The registry that the gateway registers in and reads.
    pub(crate) registry: Option<RegistrySpec>,
    files: Vec<(PathBuf, FileState)>,
    risks: Vec<Warning>,
}

impl Config {
    /// Where clients are served. Port 0 means a free one; see [`crate::Running::address`].
    pub fn listen(&self) -> SocketAddr {
        self.listen
    }

    /// The file it was read from.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Every file that it was read from: its own, keys, certificates, and what else it names.
    pub fn files(&self) -> Vec<PathBuf> {
        self.files.iter().map(|(file, _)| file.clone()).collect()
    }

    /// The same files, each as it was just before it was read.
    pub(crate) fn files_as_read(&self) -> Vec<(PathBuf, FileState)> {
        self.files.clone()
    }

    /// How log lines look.
    pub fn log(&self) -> LogConfig {
        self.log
    }

    /// Why a route with such an inbound endpoint serves nobody, if it does not, and what to do
    /// about it.
    pub(crate) fn refuses_everybody(
        &self,
        inbound: &EndpointSpec<Serving>,
    ) -> Option<(&'static str, &'static str)> {
        let endpoint = &inbound.endpoint;
        if endpoint.needs_tls() && self.tls.is_none() {
            Some((
                NEEDS_TLS,
                "give the gateway a certificate: tls = { certificate = \"….pem\", key = \"….pem\" }",
            ))
        } else if endpoint.needs_client_certificate() && !self.asks_for_certificates {
            Some((
                NEEDS_CLIENT_CERTIFICATES,
                "say whose certificates clients show: client_ca = [\"….pem\"] in [tls]",
            ))
        } else if endpoint.begins_for_nobody() {
            Some((
                ANONYMOUS,
                "the messages that begin conversations show nobody; where anybody may begin one: conversations = { anonymous = true }",
            ))
        } else {
            None
        }
    }

    /// Whether a restart lets assertions in again that were cancelled, or none is ever known that
    /// was: a warning's name, what it says, and what to do about it.
    fn forgets_cancelled(
        &self,
        inbound: &EndpointSpec<Serving>,
    ) -> Option<(&'static str, &'static str, &'static str)> {
        let endpoint = &inbound.endpoint;
        if !endpoint.forgets_at_its_end() {
            return None;
        }
        if endpoint.cancels_assertions() {
            return Some((
                "cancelled-until-restart",
                "forgets with the process which assertions were cancelled",
                "remember them elsewhere: [routes.inbound.security] replay = { store = \"redis\", … }",
            ));
        }
        // It shares the memory of the process, of which its token service has warned.
        let mut services = self
            .routes
            .iter()
            .filter_map(|route| route.inbound.as_ref());
        let is_shared = services
            .any(|side| side.endpoint.cancels_assertions() && side.endpoint.forgets_at_its_end());
        (endpoint.refuses_cancelled() && !is_shared).then_some((
            "cancelled-elsewhere",
            "has `refuse_cancelled`, and its replay marks are in memory: what a token service cancels elsewhere, or before a restart, is \
             accepted",
            "name the store of the token service: [routes.inbound.security] replay = { store = \"redis\", … }",
        ))
    }

    /// What should be known at that moment of the certificates and revocation lists that it names:
    /// which have expired, will soon, or are not valid yet.
    pub fn validity_warnings(&self, now: Timestamp) -> Vec<ValidityWarning> {
        warnings(&dated_in(&self.certificates, &self.routes), now).collect()
    }

    /// The certificates and revocation lists that it names, each as often as it is used.
    pub fn dated(&self) -> Vec<ExpiringFile> {
        let placed = dated_in(&self.certificates, &self.routes);
        placed.into_iter().map(|placed| placed.dated).collect()
    }

    /// The folder in which answers about revocation are kept.
    pub fn revocation_folder(&self) -> Option<&Path> {
        self.revocation.as_ref()?.folder.as_deref()
    }

    /// The problems of the stores that its endpoints share with other nodes. It asks the stores,
    /// and waits for those that do not answer.
    pub fn store_problems(&self) -> Vec<StoreProblem> {
        let stores = Stores::default();
        // Whatever cannot be opened was reported when the file was read.
        let opened: Vec<_> = self
            .routes
            .iter()
            .flat_map(RouteSpec::endpoints)
            .map(|(_, side)| side.open(&stores))
            .collect();
        let problems = stores.problems();
        drop(opened);
        problems
    }

    /// The risks that single endpoints take, and files with secrets that everybody can read.
    pub(crate) fn risks(&self) -> &[Warning] {
        &self.risks
    }

    /// Every risk that the file takes, in its order: what is right and may not be meant.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = self.risks.clone();
        let mut warn = |name, route: &RouteSpec, message: String, hint: &str| {
            let problem = Problem::new(&self.file, route.place, message).with_hint(hint);
            warnings.push(Warning { name, problem });
        };
        for route in &self.routes {
            if let Some(other) = route.bypassed_route(&self.routes) {
                let message = format!(
                    "route {} is without protection: {BYPASSES} {}",
                    route.path, other.path
                );
                let hint = "give it the same protection, or another backend";
                warn("leads-around", route, message, hint);
            }
            let inbound = route.inbound.as_ref();
            if let Some((why, hint)) = inbound.and_then(|side| self.refuses_everybody(side)) {
                let message = format!("route {} serves nobody: {why}", route.path);
                warn("serves-nobody", route, message, hint);
            }
            if let Some((name, why, hint)) = inbound.and_then(|side| self.forgets_cancelled(side)) {
                warn(name, route, format!("route {} {why}", route.path), hint);
            }
        }
        warnings.sort_by_key(|warning| (warning.problem.line, warning.problem.column));
        warnings
    }

    /// The keys that a gateway takes into use only when it starts, each with what it says.
    pub(crate) fn at_start(&self) -> [(&'static str, String); 13] {
        let limits = &self.limits;
        [
            ("listen", self.listen.to_string()),
            (
                "admin",
                self.admin
                    .as_ref()
                    .map(|admin| admin.listen.to_string())
                    .unwrap_or_default(),
            ),
            ("limits.buffered", limits.buffered.to_string()),
            ("limits.queue", limits.queue.to_string()),
            ("limits.workers", limits.workers.to_string()),
            ("reuse_port", self.reuse_port.to_string()),
            (
                "timeouts.drain_delay",
                format!("{:?}", self.timeouts.drain_delay),
            ),
            ("timeouts.drain", format!("{:?}", self.timeouts.drain)),
            ("audit.file", format!("{:?}", self.audit)),
            ("record", format!("{:?}", self.record)),
            (
                "registry",
                self.registry
                    .as_ref()
                    .map(RegistrySpec::fingerprint)
                    .unwrap_or_default(),
            ),
            ("log.level", self.log.level.to_string()),
            ("log.format", format!("{:?}", self.log.format)),
        ]
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let routes: Vec<&str> = self
            .routes
            .iter()
            .map(|route| route.name.as_str())
            .collect();
        formatter
            .debug_struct("Config")
            .field("file", &self.file)
            .field("listen", &self.listen)
            .field("admin", &self.admin)
            .field("routes", &routes)
            .finish_non_exhaustive()
    }
}
