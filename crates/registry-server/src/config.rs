//! The registry's file.
//!
//! The rule kept here: a registry that anybody could write to is no configuration: requests prove a
//! certificate and a signed Body, and publishers are named.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use soapstone::Service;
use soapstone::config::{
    Certifiers, Document, EndpointConfig, Environment, FileState, Located, Place, Problems,
    Surroundings, Table, TrustConfig,
};
use soapstone::crypto::HolderName;
use soapstone::wss::Part;
use soapstone_gateway::{
    AdminAccess, LogConfig, NAME_THE_ISSUER, ServerTls, read_access, read_address, read_log,
    read_name, read_tls, share_a_port,
};
use soapstone_registry::{Limits, PublisherRule};

use crate::at_start::{AtStart, Files};
use crate::location::Location;
use crate::storage::Retention;
use crate::tls::LeftToTls;

/// Calls in the log: some 150 MB.
const ROWS: u64 = 200_000;
/// How long a call stays in the log.
const AGE: Duration = Duration::from_hours(30 * 24);

/// The file of entries where the configuration names none.
const DATABASE: &str = "sqlite:registry.db";

/// Why nothing is asked about revocation: certificates would be accepted unasked, or never.
const ASKS_NOBODY: &str =
    "`revocation` is for gateways: a registry asks nobody whether certificates were revoked";

/// A registry's configuration, read and compiled.
pub struct Config {
    /// The file it was read from.
    pub(crate) file: PathBuf,
    /// Every file that it was read from, each as it was just before it was read.
    pub(crate) files: Vec<(PathBuf, FileState)>,
    /// Where signed messages arrive.
    pub(crate) listen: SocketAddr,
    /// Where inquiries without a signature arrive.
    pub(crate) inquiry: Option<SocketAddr>,
    /// TLS of both.
    pub(crate) tls: Option<ServerTls>,
    pub(crate) service: Service,
    pub(crate) database: Location,
    pub(crate) publishers: Vec<PublisherRule>,
    pub(crate) limits: Limits,
    pub(crate) ganglia: Option<GangliaConfig>,
    pub(crate) calls: Option<CallsConfig>,
    /// Each `gmond` that is asked.
    pub(crate) sources: Vec<SocketAddr>,
    /// What the keys say that wait for a restart.
    pub(crate) at_start: AtStart,
    log: LogConfig,
}

/// The log of calls.
pub(crate) struct CallsConfig {
    /// Where operators read it.
    pub(crate) listen: SocketAddr,
    /// Who may.
    pub(crate) access: AdminAccess,
    pub(crate) retention: Retention,
}

/// How metrics are served to Ganglia.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GangliaConfig {
    /// Where `gmetad` connects.
    pub listen: SocketAddr,
    /// The name of the cluster.
    pub cluster: String,
}

impl Config {
    /// Loads a registry's file and everything that it names.
    ///
    /// # Errors
    ///
    /// Everything wrong with it, in the order of the file.
    pub fn load(file: &Path, environment: &Environment<'_>) -> Result<Self, Problems> {
        finish(Document::load(file, environment)?)
    }

    /// Reads a registry's configuration from a text. Relative paths start at the folder of `file`.
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
        finish(Document::parse(text, surroundings))
    }

    /// How log lines look.
    pub fn log(&self) -> LogConfig {
        self.log
    }

    /// Where entries are kept.
    pub fn database(&self) -> &Location {
        &self.database
    }
}

fn finish(document: Document<'_>) -> Result<Config, Problems> {
    let config = read(&document);
    document.finish(config)
}

fn read(document: &Document<'_>) -> Option<Config> {
    let mut root = document.root();
    if !root.has("listen") {
        let hint = "say where signed messages arrive: listen = \"127.0.0.1:8700\"";
        root.missing("listen", hint);
    }
    let listen = read_address(&mut root, "listen");
    let inquiry = read_address(&mut root, "inquiry");
    if let (Some(listen), Some(inquiry), Some(place)) = (listen, inquiry, root.place_of("inquiry"))
        && share_a_port(listen, inquiry)
    {
        root.report(place, "`inquiry` must be another address than `listen`");
    }
    let tls = root.table("tls").map(read_own_tls);
    let read = document.files().len();
    let database = read_database(&mut root, document.file());
    let of_database = files_since(document, read);
    let read = document.files().len();
    let service = match root.table("inbound") {
        Some(table) => read_service(table, tls.as_ref()),
        None => {
            let hint = "say whom to trust: [inbound] with identity, trust and security";
            root.missing("inbound", hint);
            None
        }
    };
    let of_inbound = files_since(document, read);
    let (service, certifiers) = service.unzip();
    let publishers = read_publishers(&mut root, &certifiers.unwrap_or_default());
    let mut limits = root.table("limits").map(read_limits).unwrap_or_default();
    let read = document.files().len();
    let calls = root.table("calls").map(read_calls);
    let of_calls = files_since(document, read);
    limits.logs_calls = calls.is_some();
    let ganglia = root.table("ganglia").map(read_ganglia);
    let sources = root.tables("gmond").into_iter().map(|mut table| {
        let address = read_address(&mut table, "address");
        if !table.has("address") {
            table.missing("address", "for example address = \"127.0.0.1:8649\"");
        }
        table.finish();
        address
    });
    let sources: Option<Vec<SocketAddr>> = sources.collect();
    let log = read_log(root.table("log"));
    let files = vec![
        ("database", of_database),
        ("inbound", of_inbound),
        ("calls", of_calls),
    ];
    let at_start = AtStart::read(&root, files);
    root.finish();
    Some(Config {
        file: document.file().to_path_buf(),
        files: document.files(),
        listen: listen?,
        inquiry,
        tls: match tls {
            // What is wrong with it has been reported.
            Some(tls) => Some(tls?),
            None => None,
        },
        service: service?,
        database: database?,
        publishers: publishers?,
        limits,
        ganglia: match ganglia {
            Some(ganglia) => Some(ganglia?),
            None => None,
        },
        calls: match calls {
            Some(calls) => Some(calls?),
            None => None,
        },
        sources: sources?,
        at_start,
        log,
    })
}

/// The files that were named since there were so many.
fn files_since(document: &Document<'_>, read: usize) -> Files {
    document.files().split_off(read)
}

fn read_own_tls(table: Table<'_>) -> Option<ServerTls> {
    if let Some(place) = table.place_of("revocation") {
        let hint = "leave it out: a certificate of TLS gives no right here";
        table.report_with_hint(place, ASKS_NOBODY, hint);
    }
    read_tls(table)
}

fn read_database(root: &mut Table<'_>, file: &Path) -> Option<Location> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let given = root.secret("database", "database_env", "database_file");
    let text = match &given {
        Some(secret) => secret.value.expose().clone(),
        None => DATABASE.to_owned(),
    };
    let location = Location::parse(&text, folder);
    if let (None, Some(given)) = (&location, &given) {
        let hint = "sqlite:PATH, or postgres://USER:PASSWORD@HOST/DATABASE";
        root.report_with_hint(given.place, "`database` is none that is known", hint);
    }
    location
}

/// Reads `[inbound]`, and who may have issued certificates that it believes. `tls` is nothing
/// without `[tls]`, and holds nothing where that has problems.
fn read_service(
    table: Table<'_>,
    tls: Option<&Option<ServerTls>>,
) -> Option<(Service, Certifiers)> {
    let (document, place) = (table.document(), table.place());
    let config = EndpointConfig::read(table)?;
    let service = match Service::from_config(&config) {
        Ok(service) => service.with_scope("registry"),
        Err(problems) => {
            let problems = problems.0.into_iter();
            problems.for_each(|problem| document.report(problem));
            return None;
        }
    };
    let report = |place: Place, message: &str, hint: &str| {
        document.root().report_with_hint(place, message, hint);
    };
    let mut plans = service.inbound();
    if !plans.all(|plan| plan.policy().parts.signed.contains(&Part::Body)) {
        let message = "the policy of the registry must have the Body of requests signed";
        report(
            place,
            message,
            "for example security = { mechanism = \"sign\" }",
        );
    }
    if !config.has("trust") {
        let message = "the registry knows publishers by their certificates: `trust` is missing";
        report(
            place,
            message,
            "for example trust = { anchors = [\"ca.cert.pem\"] }",
        );
    }
    drop(plans);
    if !service.online_revocation().is_empty() {
        let trust = config.trust.as_ref();
        let named = trust.and_then(|trust| trust.revocation.as_ref());
        report(
            named.map_or(place, |revocation| revocation.place),
            ASKS_NOBODY,
            "name revocation lists: trust = { crls = [\"ca.crl.pem\"] }",
        );
    }
    let is_wrong = matches!(tls, Some(None));
    let tls = tls.and_then(Option::as_ref);
    if let Some([message, hint]) = LeftToTls::by(&service).missing(tls)
        && !is_wrong
    {
        report(place, message, hint);
    }
    let certifiers = config.trust.as_ref().map(TrustConfig::certifiers);
    Some((service, certifiers.unwrap_or_default()))
}

/// The subject of rules that are about every certificate that is trusted.
const EVERYBODY: &str = "*";

/// Reads `[[publishers]]` of a registry that believes certificates of these.
fn read_publishers(root: &mut Table<'_>, certifiers: &Certifiers) -> Option<Vec<PublisherRule>> {
    const HINT: &str = "say who may publish: [[publishers]] with subject = \"CN=…\"";
    const EXAMPLE: &str = "CN=provider,O=Example";
    if !root.has("publishers") {
        root.missing("publishers", HINT);
    }
    let rules = root.tables("publishers").into_iter().map(|mut table| {
        let subject = table.required_string("subject", HINT);
        let issuer = table.string("issuer");
        let read = |key, text| read_name(&table, key, text, EXAMPLE);
        let is_one = |text: &&Located<String>| text.value != EVERYBODY;
        let named = subject.as_ref().filter(is_one);
        let subject_name = named.map(|text| read("subject", text));
        let issuer_name = issuer.as_ref().map(|text| read("issuer", text));
        if let (Some(text), Some(Some(name)), None) = (named, &subject_name, &issuer)
            && let Some(of_several) = certifiers.ambiguity(&HolderName::new(name.clone(), None))
        {
            let message = format!("`subject` is {of_several}");
            table.report_with_hint(text.place, message, NAME_THE_ISSUER);
        }
        let services = table.strings("services");
        let points = table.strings("access_points");
        let calls = table.boolean("calls").is_some_and(|given| given.value);
        for point in points.iter().flatten() {
            let has_host = ["http://", "https://"].iter().any(|scheme| {
                let rest = point.value.strip_prefix(scheme);
                rest.is_some_and(|rest| rest.find('/').is_some_and(|at| at > 0))
            });
            if !has_host || !point.value.ends_with('/') {
                let message = "`access_points` has URLs that end with /";
                let hint = "for example \"http://10.0.0.5:8443/\"";
                table.report_with_hint(point.place, message, hint);
            }
        }
        let words = |given: Option<Vec<Located<String>>>| {
            given.map(|given| given.into_iter().map(|it| it.value).collect())
        };
        let (services, access_points) = (words(services), words(points));
        table.finish();
        // What is no name was reported.
        if matches!(subject_name, Some(None)) || matches!(issuer_name, Some(None)) {
            return None;
        }
        let subject = subject?.value;
        Some(PublisherRule {
            subject: (subject != EVERYBODY).then(|| subject.into()),
            issuer: issuer.map(|issuer| issuer.value.into()),
            services,
            access_points,
            calls,
        })
    });
    rules.collect()
}

fn read_limits(mut table: Table<'_>) -> Limits {
    let default = Limits::default();
    let per_owner = table.integer("per_owner", 1, 1_000_000);
    let entries = table.integer("entries", 1, 10_000_000);
    let period = table.duration("period");
    if let Some(period) = period.as_ref().filter(|it| it.value.as_millis() == 0) {
        table.report(period.place, "`period` must be 1 ms at least");
    }
    table.finish();
    let count = |given: u64| usize::try_from(given).unwrap_or(usize::MAX);
    Limits {
        per_owner: per_owner.map_or(default.per_owner, |it| count(it.value)),
        entries: entries.map_or(default.entries, |it| count(it.value)),
        period: period.map_or(default.period, |it| {
            u32::try_from(it.value.as_millis()).unwrap_or(u32::MAX)
        }),
        logs_calls: false,
    }
}

fn read_calls(mut table: Table<'_>) -> Option<CallsConfig> {
    if !table.has("listen") {
        table.missing("listen", "for example listen = \"127.0.0.1:8702\"");
    }
    let listen = read_address(&mut table, "listen");
    let access = read_access(&mut table, listen);
    let rows = table.integer("rows", 1, 2_000_000);
    let age = table.duration("age");
    if let Some(age) = age.as_ref().filter(|it| it.value < Duration::from_secs(1)) {
        table.report(age.place, "`age` must be 1 s at least");
    }
    if let (Some(listen), Some(access), Some(place)) = (listen, &access, table.place_of("listen"))
        && !access.wants_token()
        && !listen.ip().is_loopback()
    {
        let message = "the log says who called what: beyond this machine it takes a token to read";
        table.report_with_hint(place, message, "for example token_file = \"calls.token\"");
    }
    table.finish();
    let rows = rows.map_or(ROWS, |it| it.value);
    let age = age.map_or(AGE, |it| it.value);
    Some(CallsConfig {
        listen: listen?,
        access: access?,
        retention: Retention {
            rows: i64::try_from(rows).unwrap_or(i64::MAX),
            age: i64::try_from(age.as_millis()).unwrap_or(i64::MAX),
        },
    })
}

fn read_ganglia(mut table: Table<'_>) -> Option<GangliaConfig> {
    if !table.has("listen") {
        table.missing("listen", "for example listen = \"127.0.0.1:8651\"");
    }
    let listen = read_address(&mut table, "listen");
    let cluster = table.string("cluster");
    table.finish();
    Some(GangliaConfig {
        listen: listen?,
        cluster: cluster.map_or_else(|| "soapstone".to_owned(), |it| it.value),
    })
}
