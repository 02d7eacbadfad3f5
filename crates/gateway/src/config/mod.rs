//! The gateway's file: where it listens, what it serves, and how long and how much it bears.
//!
//! The rule kept here: a [`Config`] is complete. Whatever can be wrong with keys, policies and
//! addresses was found while it was read; starting a gateway from it can only fail because the
//! system refuses.

mod client_trust;
pub(crate) mod direction;
pub(crate) mod limits;
pub(crate) mod log;
mod memory;
pub(crate) mod rate;
mod routes;
pub(crate) mod timeouts;
pub(crate) mod tls;
pub(crate) mod traces;
pub(crate) mod url;
pub(crate) mod validity;
mod warm_up;

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use rustls::ServerConfig;
use soapstone::config::{
    Document, Environment, FileState, KnownKey, Located, Problem, Problems, Surroundings, Table,
    Warning,
};
use soapstone::endpoint::Dated;
use soapstone_policy::TransportRequirement;
use soapstone_store::{StoreProblem, Stores};

use crate::config::validity::{ValidityWarning, dated_in, warnings};
use crate::route::side::Side;
use limits::read_limits;
use log::read_log;
use routes::{ClientSide, read_route};
use timeouts::read_timeouts;
use tls::ServerTls;
use traces::{TracesConfig, read_traces};
use url::address;

pub use limits::{GatewayLimits, Shares};
pub use log::{LogConfig, LogFormat};
pub(crate) use routes::RouteConfig;
pub use timeouts::Timeouts;
pub(crate) use warm_up::WarmUp;

/// What is said of a route whose backend is protected on another one.
pub(crate) const LEADS_AROUND: &str = "it leads to what is protected on the route";

/// What is said of a route with a policy that demands nothing.
pub(crate) const NO_DEMANDS: &str = "the policy demands nothing of messages";

/// What is said of a route whose policy every connection fails.
const NEEDS_TLS: &str = "the policy leaves protection to TLS, and there is no [tls]";
const NEEDS_CLIENT_CERTIFICATES: &str =
    "the policy wants client certificates, and [tls] has no `client_ca`";

/// A gateway's configuration, read and compiled.
pub struct Config {
    pub(crate) file: PathBuf,
    pub(crate) listen: SocketAddr,
    pub(crate) admin: Option<SocketAddr>,
    /// Whether another process may listen at the same addresses.
    pub(crate) reuse_port: bool,
    pub(crate) public_url: Option<String>,
    pub(crate) tls: Option<Arc<ServerConfig>>,
    /// Whether clients can show certificates.
    asks_for_certificates: bool,
    /// Those of `[tls]`.
    pub(crate) certificates: Vec<Dated>,
    pub(crate) routes: Vec<RouteConfig>,
    pub(crate) timeouts: Timeouts,
    pub(crate) limits: GatewayLimits,
    /// What all endpoints keep in other places than this process.
    pub(crate) stores: Arc<Stores>,
    log: LogConfig,
    /// The file of the audit trail.
    pub(crate) audit: Option<PathBuf>,
    /// Where spans are sent.
    pub(crate) traces: Option<TracesConfig>,
    files: Vec<(PathBuf, FileState)>,
    risks: Vec<Warning>,
}

impl Config {
    /// Loads a gateway's file and everything that it names.
    ///
    /// # Errors
    ///
    /// Everything wrong with it, in the order of the file.
    pub fn load(file: &Path, environment: &Environment<'_>) -> Result<Self, Problems> {
        Self::from_document(Document::load(file, environment)?)
    }

    /// Reads a gateway's configuration from a text. `file` is its name for messages, and relative
    /// paths start at its folder.
    ///
    /// # Errors
    ///
    /// Everything wrong with it, in the order of the file.
    pub fn from_text(
        text: &str,
        file: &Path,
        environment: &Environment<'_>,
    ) -> Result<Self, Problems> {
        let surroundings = Surroundings {
            file: file.to_path_buf(),
            environment,
        };
        Self::from_document(Document::parse(text, surroundings))
    }

    /// Every key that the reader of a gateway's file with this text asks for, whether it is there
    /// or not: those of tables that the text has.
    pub fn known_keys(text: &str, file: &Path, environment: &Environment<'_>) -> Vec<KnownKey> {
        let surroundings = Surroundings {
            file: file.to_path_buf(),
            environment,
        };
        let document = Document::parse(text, surroundings);
        // Whatever is wrong with the text, its keys are those.
        let _ = read(&document);
        document.known_keys()
    }

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

    /// Why a route with such an inbound endpoint serves nobody, if it does not.
    pub(crate) fn refuses_everybody(&self, inbound: &Side) -> Option<&'static str> {
        let endpoint = &inbound.endpoint;
        if endpoint.needs_tls() && self.tls.is_none() {
            Some(NEEDS_TLS)
        } else if endpoint.needs_client_certificate() && !self.asks_for_certificates {
            Some(NEEDS_CLIENT_CERTIFICATES)
        } else {
            None
        }
    }

    /// What should be known at that moment of the certificates and revocation lists that it names:
    /// which have expired, will soon, or are not valid yet.
    pub fn validity_warnings(&self, now: Timestamp) -> Vec<ValidityWarning> {
        warnings(&dated_in(self), now).collect()
    }

    /// The problems of the stores that its endpoints share with other nodes. It asks the stores,
    /// and waits for those that do not answer.
    pub fn store_problems(&self) -> Vec<StoreProblem> {
        self.stores.problems()
    }

    /// The risks that single endpoints take, and files with secrets that everybody can read.
    pub(crate) fn risks(&self) -> &[Warning] {
        &self.risks
    }

    /// Every risk that the file takes, in its order: what is right and may not be meant.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = self.risks.clone();
        let mut warn = |name, route: &RouteConfig, message: String, hint: &str| {
            let problem = Problem::new(&self.file, route.place, message).with_hint(hint);
            warnings.push(Warning { name, problem });
        };
        for route in &self.routes {
            if let Some(other) = route.leads_around(&self.routes) {
                let message = format!(
                    "route {} is without protection: {LEADS_AROUND} {}",
                    route.path, other.path
                );
                let hint = "give it the same protection, or another backend";
                warn("leads-around", route, message, hint);
            }
            let inbound = route.inbound.as_ref();
            if let Some(why) = inbound.and_then(|side| self.refuses_everybody(side)) {
                let message = format!("route {} serves nobody: {why}", route.path);
                let hint = "give the gateway a certificate: tls = { certificate = \"….pem\", key = \"….pem\" }";
                warn("serves-nobody", route, message, hint);
            }
        }
        warnings.sort_by_key(|warning| (warning.problem.line, warning.problem.column));
        warnings
    }

    /// The keys that a gateway takes into use only when it starts, each with what it says.
    pub(crate) fn at_start(&self) -> [(&'static str, String); 11] {
        let limits = &self.limits;
        [
            ("listen", self.listen.to_string()),
            ("admin", format!("{:?}", self.admin)),
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
            ("log.level", self.log.level.to_string()),
            ("log.format", format!("{:?}", self.log.format)),
        ]
    }

    fn from_document(document: Document<'_>) -> Result<Self, Problems> {
        let config = read(&document);
        document.finish(config)
    }
}

/// What would be run, for people: a line for each address, and one for each route with what is done
/// on either side of it.
impl fmt::Display for Config {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tls = if self.tls.is_some() { " (TLS)" } else { "" };
        writeln!(formatter, "listen {}{tls}", self.listen)?;
        if let Some(admin) = self.admin {
            writeln!(formatter, "admin {admin}")?;
        }
        for route in &self.routes {
            write!(formatter, "route {} -> {}", route.path, route.backend)?;
            for (name, side) in [("inbound", &route.inbound), ("outbound", &route.outbound)] {
                if let Some(side) = side {
                    let suite = side.endpoint.suite();
                    let separator = if suite.is_empty() { "" } else { " " };
                    write!(formatter, ", {name} {}{separator}{suite}", side.mechanism())?;
                    if name == "inbound"
                        && let Some(why) = self.refuses_everybody(side)
                    {
                        write!(formatter, " (serves nobody: {why})")?;
                    }
                    if side.without_demands {
                        write!(formatter, " (without protection: {NO_DEMANDS})")?;
                    }
                    let open: Vec<&str> = side.endpoint.unprotected_operations().collect();
                    if !open.is_empty() {
                        write!(formatter, " (without protection: {})", open.join(", "))?;
                    }
                }
            }
            if let Some(other) = route.leads_around(&self.routes) {
                write!(
                    formatter,
                    " (without protection: {LEADS_AROUND} {})",
                    other.path
                )?;
            }
            writeln!(formatter)?;
        }
        Ok(())
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

fn read(document: &Document<'_>) -> Option<Config> {
    let mut root = document.root();
    if !root.has("listen") {
        root.missing("listen", "say where to listen: listen = \"127.0.0.1:8443\"");
    }
    let listen = read_address(&mut root, "listen");
    let admin = if root.is_table("admin") {
        root.table("admin").and_then(|mut table| {
            if !table.has("listen") {
                table.missing("listen", "say where to listen: listen = \"127.0.0.1:9901\"");
            }
            let address = read_address(&mut table, "listen");
            table.finish();
            address
        })
    } else {
        read_address(&mut root, "admin")
    };
    if let (Some(listen), Some(admin), Some(place)) = (listen, admin, root.place_of("admin"))
        && share_a_port(listen, admin)
    {
        root.report_with_hint(
            place,
            format!("`admin` must be another address than `listen`, found {listen} and {admin}"),
            "without `admin`, health and metrics are served beside the routes",
        );
    }
    let reuse_port = root.boolean("reuse_port").is_some_and(|given| given.value);
    let public_url = read_public_url(&mut root);
    let has_tls = root.has("tls");
    let tls = root.table("tls").and_then(tls::read_server);
    let transport = transport_of(public_url.as_deref(), tls.as_ref());
    // What is wrong with a table that is there has been reported.
    let client_side = ClientSide {
        transport,
        through_tls: has_tls,
    };
    let timeouts = read_timeouts(&mut root);
    let limits = root.table("limits").map(read_limits).unwrap_or_default();
    let log = read_log(root.table("log"));
    let audit = root.table("audit").and_then(|mut table| {
        let file = table.path("file");
        if file.is_none() && !table.has("file") {
            table.missing("file", "say where lines go: file = \"audit.jsonl\"");
        }
        table.finish();
        Some(file?.value)
    });
    let has_traces = root.has("traces");
    let traces = root.table("traces").and_then(read_traces);
    const SAY_ROUTES: &str =
        "say what is served: [[routes]] with path = \"/…\" and backend = \"http://…\"";
    if !root.has("routes") {
        root.missing("routes", SAY_ROUTES);
    } else if let (true, Some(place)) = (root.is_empty_list("routes"), root.place_of("routes")) {
        root.report_with_hint(place, "`routes` names no route", SAY_ROUTES);
    }
    let tables = root.tables("routes");
    let count = tables.len();
    let mut paths: Vec<Located<String>> = Vec::new();
    let stores = Arc::<Stores>::default();
    let routes: Vec<RouteConfig> = tables
        .into_iter()
        .filter_map(|table| read_route(table, timeouts, client_side, &stores, &mut paths))
        .collect();
    root.belong_elsewhere(
        &[
            "identity",
            "inbound",
            "outbound",
            "peer",
            "security",
            "shared_key",
            "store",
            "trust",
            "users",
        ],
        "the tables of an endpoint stand below a route: [routes.inbound] or [routes.outbound]",
    );
    root.finish();
    if routes.len() != count || (has_tls && tls.is_none()) || (has_traces && traces.is_none()) {
        return None;
    }
    let file = document.file().to_path_buf();
    let files = document.files();
    let asks_for_certificates = tls.as_ref().is_some_and(|tls| tls.asks_for_certificate);
    let risks = document.warnings();
    let (tls, certificates) = tls.map(|tls| (tls.config, tls.certificates)).unzip();
    Some(Config {
        file,
        listen: listen?,
        admin,
        reuse_port,
        public_url,
        tls,
        asks_for_certificates,
        certificates: certificates.unwrap_or_default(),
        routes,
        timeouts,
        limits,
        stores,
        log,
        audit,
        traces,
        files,
        risks,
    })
}

/// Whether two listeners cannot have these addresses at once.
pub fn share_a_port(one: SocketAddr, other: SocketAddr) -> bool {
    let any = one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() != 0 && one.port() == other.port() && (any || one.ip() == other.ip())
}

/// What clients find when they connect to the address that descriptions have, where that is TLS:
/// ours, or that of whoever stands before us.
fn transport_of(public_url: Option<&str>, tls: Option<&ServerTls>) -> Option<TransportRequirement> {
    let secure = public_url.map_or(tls.is_some(), |url| url.starts_with("https:"));
    secure.then(|| TransportRequirement {
        client_certificate: tls.is_some_and(|tls| tls.demands_certificate),
    })
}

fn read_address(table: &mut Table<'_>, key: &'static str) -> Option<SocketAddr> {
    let text = table.string(key)?;
    match listening_address(&text.value) {
        Ok(address) => Some(address),
        Err(found) => {
            table.report_with_hint(
                text.place,
                format!("`{key}` must be an address and a port, found {found}"),
                "for example \"127.0.0.1:8443\", \"localhost:8443\", or \":8443\" for every address of this host",
            );
            None
        }
    }
}

/// An address and a port; `:8443` is every IPv4 address of this host, and `localhost` is 127.0.0.1.
/// Other names are not looked up: what they mean may change, and a gateway would listen elsewhere.
fn listening_address(text: &str) -> Result<SocketAddr, &'static str> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let Some((host, port)) = text.rsplit_once(':') else {
        return Err("a text without a port");
    };
    let port = port
        .parse()
        .map_err(|_| "a text whose port is no number up to 65535")?;
    match host {
        "" => Ok(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port))),
        "localhost" => Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
        _ => Err("another host than an address or localhost"),
    }
}

fn read_public_url(root: &mut Table<'_>) -> Option<String> {
    let text = root.string("public_url")?;
    match address(&text.value) {
        Ok(_) => Some(text.value.trim_end_matches('/').to_owned()),
        Err(error) => {
            root.report_with_hint(
                text.place,
                format!("`public_url` {error}"),
                "what clients see, for example \"https://soap.example.com\"",
            );
            None
        }
    }
}
