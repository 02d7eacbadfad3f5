//! Reads the gateway's file.
//!
//! The rule kept here: whatever is wrong with the file is reported at its place, all of it at once.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use soapstone::config::{
    Certifiers, Document, Environment, KnownKey, Located, Place, Problem, Problems, Surroundings,
    Table,
};
use soapstone::crypto::trust::OnlineRevocation;
use soapstone::crypto::{Certificate, HolderName};
use soapstone::policy::TransportRequirement;
use soapstone::wss::AssertionProtection;
use soapstone_store::tls_revocation::TlsRevocation;

use super::Config;
use super::address::read_address;
use super::admin::{AdminConfig, read_admin};
use super::agreements::{self, read_agreements};
use super::limits::read_limits;
use super::log::read_log;
use super::record::read_record;
use super::registry::{RegistrySpec, read_registry};
use super::revocation::{RevocationConfig, read_revocation};
use super::roles::{RoleSpec, read_roles};
use super::route::RouteSpec;
use super::route_table::{ClientSide, read_route};
use super::source::SourceSpec;
use super::timeouts::read_timeouts;
use super::tls::{ClientTls, ServerTls, read_server};
use super::traces::{TracesConfig, read_traces};
use super::url::address;

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

    /// The same for the reader of an agreement's file.
    pub fn known_agreement_keys(text: &str, file: &Path) -> Vec<KnownKey> {
        agreements::known_keys(text, file)
    }

    fn from_document(document: Document<'_>) -> Result<Self, Problems> {
        let config = read(&document);
        document.finish(config)
    }
}

fn read(document: &Document<'_>) -> Option<Config> {
    let mut root = document.root();
    if !root.has("listen") {
        root.missing("listen", "say where to listen: listen = \"127.0.0.1:8443\"");
    }
    let listen = read_address(&mut root, "listen");
    let admin = read_admin_listener(&mut root, listen);
    let reuse_port = root.boolean("reuse_port").is_some_and(|given| given.value);
    let public_url = read_public_url(&mut root);
    let has_tls = root.has("tls");
    let tls = root.table("tls").and_then(read_server);
    let transport = transport_of(public_url.as_deref(), tls.as_ref());
    // What is wrong with a table that is there has been reported.
    let client_side = ClientSide {
        transport,
        through_tls: has_tls,
        public_url: public_url.as_deref(),
    };
    let timeouts = read_timeouts(&mut root);
    let limits = root.table("limits").map(read_limits).unwrap_or_default();
    let log = read_log(root.table("log"));
    let audit = root.table("audit").and_then(read_audit);
    let has_admin = admin.is_some();
    let record = root.table("record");
    let record = record.and_then(|table| read_record(table, has_admin));
    let has_registry = root.has("registry");
    let registry = root.table("registry").and_then(read_registry);
    let has_traces = root.has("traces");
    let traces = root.table("traces").and_then(read_traces);
    let revocation = root.table("revocation").and_then(read_revocation);
    let has_revocation = root.has("revocation");
    let outside = asking_outside(
        &root,
        tls.as_ref(),
        admin.as_ref(),
        registry.as_ref(),
        traces.as_ref(),
    );
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
    let routes: Vec<RouteSpec> = tables
        .into_iter()
        .filter_map(|table| read_route(table, timeouts, client_side, &mut paths))
        .collect();
    demand_registry(&root, &routes, has_registry, registry.as_ref());
    refuse_shared_caches(&root, &routes);
    if let Some(tls) = &tls {
        refuse_ambiguous_attesters(&root, &routes, tls);
    }
    let has_agreements = root.has("agreements");
    let agreements = read_agreements(&mut root, &routes);
    let roles = root.has("roles").then(|| root.tables("roles"));
    let roles = roles.map(|tables| read_roles_of(document, tables, &routes));
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
    // What is wrong with a table that is there has been reported.
    if revocation.is_some() || !has_revocation {
        refuse_unasked(document, &routes, revocation.as_ref());
        refuse_unasked_outside(document, &outside, revocation.as_ref());
    }
    if routes.len() != count
        || (has_tls && tls.is_none())
        || (has_traces && traces.is_none())
        || (has_registry && registry.is_none())
        || (has_agreements && agreements.is_none())
    {
        return None;
    }
    let file = document.file().to_path_buf();
    let files = document.files();
    let asks_for_certificates = tls.as_ref().is_some_and(|tls| tls.asks_for_certificate);
    let risks = document.warnings();
    let client_revocation = revocation_of(tls.as_ref()).cloned();
    let (tls, certificates) = tls.map(|tls| (tls.answering, tls.certificates)).unzip();
    let of_admin = admin.as_ref().map(AdminConfig::certificates);
    let certificates = [certificates, of_admin].into_iter().flatten().flatten();
    Some(Config {
        file,
        listen: listen?,
        admin,
        reuse_port,
        public_url,
        tls,
        client_revocation,
        asks_for_certificates,
        certificates: certificates.collect(),
        routes,
        timeouts,
        limits,
        log,
        audit,
        record,
        traces,
        revocation,
        online: outside.into_iter().map(|it| it.online).collect(),
        roles,
        agreements,
        registry,
        files,
        risks,
    })
}

/// Reports routes that share the file of another source: each would overwrite it.
fn refuse_shared_caches(root: &Table<'_>, routes: &[RouteSpec]) {
    let mut seen: BTreeMap<&Path, &SourceSpec> = BTreeMap::new();
    for route in routes {
        let group = route.group.as_ref();
        let Some(source) = group.and_then(|group| group.source.as_ref()) else {
            continue;
        };
        let Some(cache) = source.cache() else {
            continue;
        };
        if *seen.entry(cache).or_insert(source) != source {
            let message = "`backends.cache` is the file of other providers, too";
            root.report_with_hint(route.place, message, "give each its own file");
        }
    }
}

/// Reports attesters who may vouch as clients of TLS and may be several people: whoever
/// `client_ca` believes issues the certificates of clients, beside the authorities of `[trust]`.
fn refuse_ambiguous_attesters(root: &Table<'_>, routes: &[RouteSpec], tls: &ServerTls) {
    let authorities: Vec<Certificate> = tls
        .authorities
        .iter()
        .filter_map(|der| Certificate::from_der(der).ok())
        .collect();
    let of_clients = Certifiers::new(&authorities, &[]);
    for route in routes {
        let Some(inbound) = &route.inbound else {
            continue;
        };
        let certifiers = of_clients.clone().or(&inbound.certifiers);
        let assertions = inbound.endpoint.inbound();
        let attesters: BTreeSet<&str> = assertions
            .filter_map(|plan| plan.policy().assertion())
            .filter(|assertion| assertion.protection == AssertionProtection::Connection)
            .flat_map(|assertion| assertion.attesters.iter().map(String::as_str))
            .collect();
        for attester in attesters {
            let name = HolderName::parse(attester).ok();
            // Those whom `[trust]` makes ambiguous are reported with their file.
            if let Some(name) = name
                && inbound.certifiers.ambiguity(&name).is_none()
                && certifiers.ambiguity(&name).is_some()
            {
                root.report_with_hint(
                    route.place,
                    "`attesters` vouch over TLS here, and `client_ca` and `trust` believe several issuers, each of whom may issue the certificate of one",
                    "say whose it is: attesters = [\"CN=gateway of CN=authority\"]",
                );
                break;
            }
        }
    }
}

/// Reports routes that need a registry, or a name in it, where there is none.
fn demand_registry(
    root: &Table<'_>,
    routes: &[RouteSpec],
    has_registry: bool,
    registry: Option<&RegistrySpec>,
) {
    let business = registry.map(|registry| registry.business.is_some());
    for route in routes {
        let provides = route.provides.is_some();
        let message = match (has_registry, business) {
            (false, _) if provides || route.reads_registry() => {
                "the route needs a registry, and the file names none"
            }
            (true, Some(false)) if provides => {
                "the route provides a service, and `registry.business` is missing"
            }
            _ => continue,
        };
        let hint = "[registry] with url, business and client";
        root.report_with_hint(route.place, message, hint);
    }
}

/// Reads `[[roles]]`, and reports routes on which no role allows anything: they would serve nobody.
fn read_roles_of(
    document: &Document<'_>,
    tables: Vec<Table<'_>>,
    routes: &[RouteSpec],
) -> Vec<RoleSpec> {
    let governed = || routes.iter().filter(|route| route.inbound.is_some());
    let names: Vec<&str> = governed().map(|route| route.name.as_str()).collect();
    let count = tables.len();
    let roles = read_roles(tables, &names);
    // What is wrong with a role that is there has been reported.
    if roles.len() < count {
        return roles;
    }
    for role in &roles {
        refuse_ambiguous_members(document, role, governed());
    }
    for route in governed() {
        let mut grants = roles.iter().flat_map(|role| &role.allow);
        if !grants.any(|grant| grant.is_for(&route.name)) {
            let message = format!(
                "route {} serves nobody: no role allows anything on it",
                route.path
            );
            let problem = Problem::new(document.file(), route.place, message);
            let hint = "there are `roles`, and what no role allows is refused: allow = [\"NAME:*\"] in one of them";
            document.report(problem.with_hint(hint));
        }
    }
    roles
}

/// Reports members of a role who may be several people on the routes that it is about.
fn refuse_ambiguous_members<'r>(
    document: &Document<'_>,
    role: &RoleSpec,
    routes: impl Iterator<Item = &'r RouteSpec>,
) {
    let is_about = |route: &&RouteSpec| role.allow.iter().any(|it| it.is_for(&route.name));
    let inbound = routes.filter(is_about).filter_map(|it| it.inbound.as_ref());
    let certifiers = inbound.fold(Certifiers::default(), |all, it| all.or(&it.certifiers));
    for holder in &role.members.subjects {
        if let Some(of_several) = certifiers.ambiguity(&holder.value) {
            let message = format!("`subjects` has {of_several}");
            let problem = Problem::new(document.file(), holder.place, message);
            let hint = "say whose it is: subjects = [\"CN=client of CN=authority\"]";
            document.report(problem.with_hint(hint));
        }
    }
}

/// Reads `[audit]`: the file that lines go to.
fn read_audit(mut table: Table<'_>) -> Option<PathBuf> {
    let file = table.path("file");
    if file.is_none() && !table.has("file") {
        table.missing("file", "say where lines go: file = \"audit.jsonl\"");
    }
    table.finish();
    Some(file?.value)
}

/// Reports routes that ask about revocation where nobody may be asked: with certificates that have
/// to be answered for, they would serve nobody.
fn refuse_unasked(
    document: &Document<'_>,
    routes: &[RouteSpec],
    revocation: Option<&RevocationConfig>,
) {
    for route in routes {
        for online in route.online_revocation() {
            if let Some(message) = unasked(online, revocation) {
                let message = format!("route {} {message}", route.path);
                let problem = Problem::new(document.file(), route.place, message);
                document.report(problem.with_hint(SAY_HOSTS));
            }
        }
    }
}

/// Reads `admin`: a table, or an address alone. It must be another one than `listen`.
fn read_admin_listener(root: &mut Table<'_>, listen: Option<SocketAddr>) -> Option<AdminConfig> {
    let admin = if root.is_table("admin") {
        root.table("admin").and_then(read_admin)
    } else {
        let listen = read_address(root, "admin");
        listen.map(AdminConfig::open)
    };
    if let (Some(listen), Some(AdminConfig { listen: admin, .. }), Some(place)) =
        (listen, &admin, root.place_of("admin"))
        && share_a_port(listen, *admin)
    {
        root.report_with_hint(
            place,
            format!("`admin` must be another address than `listen`, found {listen} and {admin}"),
            "without `admin`, health and metrics are served beside the routes",
        );
    }
    admin
}

const SAY_HOSTS: &str =
    "say which hosts may be asked: [revocation] hosts = [\"ocsp.example.com\", …]";

/// What asks about revocation outside of routes.
struct Outside {
    /// The table that says so.
    name: &'static str,
    place: Place,
    online: Arc<OnlineRevocation>,
}

/// What asks about the certificates of clients, of those who ask at `admin`, of the registry and of
/// the collector of traces.
fn asking_outside(
    root: &Table<'_>,
    tls: Option<&ServerTls>,
    admin: Option<&AdminConfig>,
    registry: Option<&RegistrySpec>,
    traces: Option<&TracesConfig>,
) -> Vec<Outside> {
    let of_server = |tls: &ClientTls| tls.online().cloned();
    let registry = registry.and_then(|it| it.tls.as_ref());
    let traces = traces.and_then(|it| it.tls.as_ref());
    let asking = [
        (
            "tls",
            revocation_of(tls).and_then(|it| it.online().cloned()),
        ),
        ("admin", admin.and_then(|it| it.online().cloned())),
        ("registry", registry.and_then(of_server)),
        ("traces", traces.and_then(of_server)),
    ];
    let asking = asking.into_iter().filter_map(|(name, online)| {
        Some(Outside {
            name,
            place: root.place_of(name).unwrap_or_default(),
            online: online?,
        })
    });
    asking.collect()
}

/// The same of what asks outside of routes.
fn refuse_unasked_outside(
    document: &Document<'_>,
    outside: &[Outside],
    revocation: Option<&RevocationConfig>,
) {
    for Outside {
        name,
        place,
        online,
    } in outside
    {
        if let Some(message) = unasked(online, revocation) {
            let message = format!("`{name}` {message}");
            let problem = Problem::new(document.file(), *place, message);
            document.report(problem.with_hint(SAY_HOSTS));
        }
    }
}

/// Why what asks would not be answered.
fn unasked(
    online: &OnlineRevocation,
    revocation: Option<&RevocationConfig>,
) -> Option<&'static str> {
    let rules = online.rules();
    let mut named = rules.responder.iter().chain(&rules.list_urls);
    let refused = |url: &&String| {
        let allows = |uri| revocation.is_some_and(|allowed| allowed.allowed_host(&uri).is_some());
        !url.parse().is_ok_and(allows)
    };
    match (revocation, named.find(refused)) {
        (None, _) => Some("asks whether certificates were revoked, and no host may be asked"),
        (Some(_), Some(_)) => Some("names a host in `revocation` that may not be asked"),
        (Some(_), None) => None,
    }
}

/// What asks whether the certificates of clients were revoked.
fn revocation_of(tls: Option<&ServerTls>) -> Option<&Arc<TlsRevocation>> {
    tls?.revocation.as_ref()
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
