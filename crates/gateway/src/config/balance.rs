//! `backends` and `balance` of a route: several backends of one service, and how a call finds the
//! one that serves it.
//!
//! The rule kept here: each backend has a name of its own, by which it is known in metrics and from
//! one configuration to the next.

use std::net::SocketAddr;
use std::time::Duration;

use http::Uri;
use soapstone::config::{FlagOrTable, Located, OTHER_TEXT, Place, Table};
use soapstone::endpoint::Calling;
use soapstone_broker::{
    Checks, Ejection, FailureShare, Needs, SecurityIndex, Selection, Settings, Terms,
};
use soapstone_registry::Owner;

use super::endpoint::{EndpointSpec, read_endpoint};
use super::needs::{ClassMember, ClassSpec, read_assured, read_classes, read_needs};
use super::source::{OwnersPolicy, SourceSpec};
use super::tls::{self, ClientTls};
use super::url::{backend_url, without_brackets};

/// Most backends of a route: each call looks at all of them.
const MOST_BACKENDS: usize = 256;

/// The backends of one route.
pub(crate) struct GroupSpec {
    pub(crate) members: Vec<MemberSpec>,
    pub(crate) settings: Settings,
    pub(crate) rules: Rules,
    /// Where its members come from, if it is not the file.
    pub(crate) source: Option<SourceSpec>,
    /// TLS towards what DNS names behind https.
    pub(crate) source_tls: Option<ClientTls>,
    /// The policies of some owners of providers.
    pub(crate) policies: Vec<OwnersPolicy>,
    /// What providers without one of these assure, past a route that passes messages on.
    pub(crate) source_assured: Option<Located<SecurityIndex>>,
}

/// What a route says of its requests and backends beside what its pool is told.
pub(crate) struct Rules {
    pub(crate) sticky: Option<Sticky>,
    /// Operations that may be done twice.
    pub(crate) idempotent: Vec<OperationName>,
    pub(crate) check: Option<CheckSpec>,
    /// What every request needs.
    pub(crate) needs: Needs,
    /// What requests of some senders need besides.
    pub(crate) classes: Vec<ClassSpec>,
    /// Whether messages may say what they need.
    pub(crate) requirements: bool,
}

impl Rules {
    /// What requests of a sender need, beside what a message says. `is_sender` says which members
    /// of classes the sender is.
    pub(crate) fn needs_of(&self, is_sender: impl Fn(&ClassMember) -> bool) -> Needs {
        let mut needs = self.needs.clone();
        for class in &self.classes {
            if class.members.iter().any(&is_sender) {
                needs = needs.and(&class.needs);
            }
        }
        needs
    }
}

/// One of them.
pub(crate) struct MemberSpec {
    pub(crate) name: String,
    pub(crate) url: Uri,
    /// Who owns it in the registry that knows it.
    pub(crate) owner: Option<Owner>,
    /// Where it is, where that is not looked up by the host of its URL.
    pub(crate) address: Option<SocketAddr>,
    /// Where it is behind https.
    pub(crate) tls: Option<ClientTls>,
    /// The endpoint in front of it, where it is not that of the route.
    pub(crate) outbound: Option<EndpointSpec<Calling>>,
    /// Which of [`GroupSpec::policies`] is in front of it, where one of these is.
    pub(crate) policy: Option<usize>,
    /// What it and its clients assure each other, past a route that passes messages on.
    pub(crate) assured: Option<Located<SecurityIndex>>,
    pub(crate) terms: Terms,
}

/// The backend of a route for which no provider is known: it takes no call, so that clients are
/// told to come again. Nothing has its name (RFC 6761, section 6.4).
pub(super) fn nobody() -> MemberSpec {
    MemberSpec {
        name: "no provider is known".to_owned(),
        url: Uri::from_static("http://registry.invalid/"),
        owner: None,
        address: None,
        tls: None,
        outbound: None,
        policy: None,
        assured: None,
        terms: Terms {
            limit: Some(0),
            ..Terms::default()
        },
    }
}

/// Which calls go to the same backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sticky {
    /// Those of one address.
    Client,
    /// Those of one user or certificate that proved to have sent them.
    Partner,
    /// Those of one security context that a client has with the route.
    Conversation,
}

/// The name of the element in the Body of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OperationName {
    /// None: of every namespace.
    pub(crate) namespace: Option<String>,
    pub(crate) local: String,
}

/// How backends are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CheckSpec {
    /// What is asked for with GET; a connection is enough where there is none.
    pub(crate) path: Option<String>,
    pub(crate) interval: Duration,
    pub(crate) timeout: Duration,
}

/// Reads `backends`. What is wrong with one has been reported where there is none.
/// `scope` is that of their endpoints.
pub(super) fn read_backends(tables: Vec<Table<'_>>, scope: &str) -> Option<Vec<MemberSpec>> {
    let count = tables.len();
    if let Some(first) = tables.first().filter(|_| count > MOST_BACKENDS) {
        let message = format!("`backends` has at most {MOST_BACKENDS} entries, found {count}");
        first.report(first.place(), message);
        return None;
    }
    let mut members: Vec<(Place, MemberSpec)> = Vec::with_capacity(count);
    for table in tables {
        let document = table.document();
        let place = table.place();
        let Some(member) = read_backend(table, scope) else {
            continue;
        };
        let same = |(_, other): &&(Place, MemberSpec)| other.name == member.name;
        if let Some((first, _)) = members.iter().find(same) {
            let message = format!(
                "two backends have the same name; the first is on line {}",
                first.line
            );
            let hint = "without `name` it is host and port of the URL: give one of them a `name`";
            document.root().report_with_hint(place, message, hint);
        }
        members.push((place, member));
    }
    (members.len() == count && count > 0)
        .then(|| members.into_iter().map(|(_, member)| member).collect())
}

fn read_backend(mut table: Table<'_>, scope: &str) -> Option<MemberSpec> {
    let place = table.place();
    const EXAMPLE: &str = "for example url = \"http://127.0.0.1:9000/books\"";
    let url = table.required_string("url", EXAMPLE);
    let url = url.and_then(|text| match backend_url(&text.value) {
        Ok(url) => Some(url),
        Err(error) => {
            table.report_with_hint(text.place, format!("`url` {error}"), EXAMPLE);
            None
        }
    });
    let name = table.string("name").map(|name| name.value);
    let is_secure = url.as_ref().map(|url| url.scheme_str() == Some("https"));
    let tls_place = table.place_of("tls");
    let tls_table = table.table("tls");
    if let (Some(place), Some(false)) = (tls_place, is_secure) {
        let message = "`tls` is for a backend behind https, and this one is behind http";
        table.report(place, message);
    }
    let tls = match (&url, is_secure) {
        (Some(url), Some(true)) => {
            let host = without_brackets(url.host().unwrap_or_default());
            Some(tls::read_client(tls_table, host, &|message| {
                table.report(place, message);
            }))
        }
        _ => None,
    };
    let terms = Terms::default();
    let weight = table.integer("weight", 1, 1000);
    let limit = table.integer("limit", 1, 1_000_000);
    let backup = table.boolean("backup");
    let outbound_place = table.place_of("outbound");
    let outbound = table.table("outbound").map(|side| {
        let endpoint = read_endpoint::<Calling>(side, scope, is_secure == Some(true), None, None);
        if let (Some(place), Some(endpoint)) = (outbound_place, &endpoint) {
            demand_tls(&table, place, endpoint, is_secure == Some(true));
        }
        endpoint
    });
    let assured_place = table.place_of("assures");
    let assured = table.table("assures").map(read_assured);
    table.finish();
    let url = url?;
    Some(MemberSpec {
        name: match (name, url.authority()) {
            (Some(name), _) => name,
            (None, Some(authority)) => authority.as_str().to_owned(),
            (None, None) => return None,
        },
        tls: match tls {
            // What is wrong with it has been reported.
            Some(tls) => Some(tls?),
            None => None,
        },
        outbound: match outbound {
            // What is wrong with it has been reported.
            Some(outbound) => Some(outbound?),
            None => None,
        },
        policy: None,
        assured: match (assured, assured_place) {
            (Some(value), Some(place)) => Some(Located { value, place }),
            _ => None,
        },
        url,
        owner: None,
        address: None,
        terms: Terms {
            weight: weight.map_or(terms.weight, narrowed),
            limit: limit.map(narrowed),
            backup: backup.is_some_and(|backup| backup.value),
            security: terms.security,
        },
    })
}

/// Reports an endpoint that needs TLS where there is none.
fn demand_tls(table: &Table<'_>, place: Place, side: &EndpointSpec<Calling>, is_secure: bool) {
    let hint = "name the backend's https address";
    if side.endpoint.needs_tls() && !is_secure {
        let message = "the policy of the backend leaves protection to TLS, and `url` is not https";
        table.report_with_hint(place, message, hint);
    } else if side.shows_its_keys() && !is_secure {
        let message = "conversations begin with messages that hide no keys, and `url` is not https";
        table.report_with_hint(place, message, hint);
    }
}

/// A number whose bounds have been checked.
pub(super) fn narrowed(given: Located<u64>) -> u32 {
    u32::try_from(given.value).unwrap_or(u32::MAX)
}

fn percent(given: Located<u64>) -> u8 {
    u8::try_from(given.value).unwrap_or(100)
}

/// What a route says of the choice among its backends.
pub(super) struct Balance {
    pub(super) settings: Settings,
    pub(super) sticky: Option<Located<Sticky>>,
    pub(super) idempotent: Vec<OperationName>,
    pub(super) check: Option<CheckSpec>,
    pub(super) needs: Needs,
    pub(super) classes: Vec<ClassSpec>,
    /// Whether messages may say what they need.
    pub(super) requirements: Option<Located<bool>>,
}

impl Balance {
    /// Where it says that messages may say what they need.
    pub(super) fn requirements_place(&self) -> Option<Place> {
        let given = self.requirements.as_ref().filter(|given| given.value);
        given.map(|given| given.place)
    }

    /// Whether some requests need security, whatever messages say.
    pub(super) fn asks_for_security(&self) -> bool {
        let mut classes = self.classes.iter();
        self.needs.has_security() || classes.any(|class| class.needs.has_security())
    }

    /// What holds where a route says nothing.
    pub(super) fn unless_said() -> Self {
        Self {
            settings: Settings::default(),
            sticky: None,
            idempotent: Vec::new(),
            check: None,
            needs: Needs::nothing(),
            classes: Vec::new(),
            requirements: None,
        }
    }
}

/// What time counts where strength of security is weighed against it, in hundredths.
const TIME_WEIGHT: u8 = 50;

/// Reads `balance`. What is wrong with it has been reported.
pub(super) fn read_balance(mut table: Table<'_>) -> Balance {
    let default = Settings::default();
    let selections = [
        Selection::LeastLoad,
        Selection::Random,
        Selection::RoundRobin,
        Selection::Performance,
        Selection::Balanced { time: TIME_WEIGHT },
    ];
    let selections = selections.map(|selection| (selection.name(), selection));
    let selection = table.choice("selection", &selections);
    let weight_place = table.place_of("time_weight");
    let time_weight = table.integer("time_weight", 0, 100).map(percent);
    let mut selection = selection.map_or(default.selection, |given| given.value);
    match (&mut selection, time_weight, weight_place) {
        (Selection::Balanced { time }, Some(weight), _) => *time = weight,
        (Selection::Balanced { .. }, None, _) | (_, _, None) => {}
        (_, _, Some(place)) => {
            table.report(place, "`time_weight` is for `selection = \"balanced\"`");
        }
    }
    let fresh = some_time(&mut table, "fresh");
    let sticky = table.choice(
        "sticky",
        &[
            ("client", Sticky::Client),
            ("partner", Sticky::Partner),
            ("conversation", Sticky::Conversation),
        ],
    );
    let slow_start = table.duration("slow_start");
    let retries = table.integer("retries", 0, 10);
    let idempotent = read_operations(&mut table);
    let ejection = read_ejection(&mut table);
    let (check, checks) = table.table("check").map(read_check).unzip();
    let needs = table.table("needs").map(read_needs);
    let classes = read_classes(table.tables("classes"));
    let requirements = table.boolean("requirements");
    table.finish();
    Balance {
        settings: Settings {
            selection,
            ejection,
            checks: checks.unwrap_or_default(),
            slow_start: slow_start.map_or(default.slow_start, |given| given.value),
            retries: retries.map_or(default.retries, |given| narrowed(given) as usize),
            fresh: fresh.unwrap_or(default.fresh),
        },
        sticky,
        idempotent,
        check,
        needs: needs.unwrap_or_default(),
        classes,
        requirements,
    }
}

fn read_operations(table: &mut Table<'_>) -> Vec<OperationName> {
    let names = table.strings("idempotent").unwrap_or_default();
    let read = |name: Located<String>| {
        let parsed = OperationName::parse(&name.value);
        if parsed.is_none() {
            let message =
                format!("`idempotent` holds names of elements in the Body, found {OTHER_TEXT}");
            let hint = "for example \"getBooks\" or \"{urn:example:books}getBooks\"";
            table.report_with_hint(name.place, message, hint);
        }
        parsed
    };
    names.into_iter().filter_map(read).collect()
}

impl OperationName {
    /// Reads `getBooks` or `{urn:example:books}getBooks`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (namespace, local) = match text.strip_prefix('{') {
            Some(rest) => rest
                .split_once('}')
                .map(|(uri, local)| (Some(uri), local))?,
            None => (None, text),
        };
        let is_name = |text: &str| {
            !text.is_empty() && !text.contains([':', '{', '}', '/', '<', '>', '"', ' ', '\t', '\n'])
        };
        is_name(local).then(|| Self {
            namespace: namespace.map(str::to_owned),
            local: local.to_owned(),
        })
    }
}

fn read_ejection(table: &mut Table<'_>) -> Ejection {
    let default = Ejection::default();
    let Some(given) = table.flag_or_table("ejection", "{ failures = 5 }") else {
        return default;
    };
    let mut table = match given.value {
        FlagOrTable::Flag(true) => return default,
        FlagOrTable::Flag(false) => {
            return Ejection {
                failures: None,
                share: None,
                ..default
            };
        }
        FlagOrTable::Table(table) => table,
    };
    let failures = table.integer("failures", 1, 1_000_000);
    let share = FailureShare::default();
    let share = FailureShare {
        percent: table
            .integer("percent", 1, 100)
            .map_or(share.percent, percent),
        of: table
            .integer("calls", 1, 1_000_000)
            .map_or(share.of, narrowed),
        within: some_time(&mut table, "within").unwrap_or(share.within),
    };
    let time = some_time(&mut table, "time").unwrap_or(default.time);
    let longest = table.duration("longest");
    if let Some(longest) = longest.as_ref().filter(|longest| longest.value < time) {
        let message = "`longest` must be no shorter than `time`";
        table.report(longest.place, message);
    }
    let most = table.integer("most", 0, 100);
    table.finish();
    Ejection {
        failures: failures.map(narrowed).or(default.failures),
        share: Some(share),
        time,
        longest: longest.map_or(default.longest.max(time), |longest| longest.value),
        most: most.map_or(default.most, percent),
    }
}

/// How often backends are checked unless said otherwise, and how long a check may take: HAProxy
/// checks as often.
const INTERVAL: Duration = Duration::from_secs(2);
const TIMEOUT: Duration = Duration::from_secs(1);

fn read_check(mut table: Table<'_>) -> (CheckSpec, Checks) {
    let default = Checks::default();
    let path = table.string("path");
    if let Some(path) = path
        .as_ref()
        .filter(|path| !path.value.starts_with('/') || path.value.parse::<Uri>().is_err())
    {
        let message = "`path` must be a path with its query, and begin with /";
        table.report_with_hint(path.place, message, "for example path = \"/healthz\"");
    }
    let interval = some_time(&mut table, "interval");
    let timeout = some_time(&mut table, "timeout");
    let fall = table.integer("fall", 1, 1000);
    let rise = table.integer("rise", 1, 1000);
    table.finish();
    let check = CheckSpec {
        path: path.map(|path| path.value),
        interval: interval.unwrap_or(INTERVAL),
        timeout: timeout.unwrap_or(TIMEOUT),
    };
    let checks = Checks {
        fall: fall.map_or(default.fall, narrowed),
        rise: rise.map_or(default.rise, narrowed),
    };
    (check, checks)
}

/// A duration that is longer than nothing.
fn some_time(table: &mut Table<'_>, key: &'static str) -> Option<Duration> {
    let given = table.duration(key)?;
    if given.value.is_zero() {
        let message = format!("`{key}` must be longer than nothing, found 0");
        table.report(given.place, message);
    }
    Some(given.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_named_with_or_without_its_namespace() {
        let name = |namespace: Option<&str>, local: &str| {
            Some(OperationName {
                namespace: namespace.map(str::to_owned),
                local: local.to_owned(),
            })
        };
        for (text, expected) in [
            ("getBooks", name(None, "getBooks")),
            ("{urn:b}getBooks", name(Some("urn:b"), "getBooks")),
            ("{}getBooks", name(Some(""), "getBooks")),
            ("b:getBooks", None),
            ("urn:b/getBooks", None),
            ("{urn:b}", None),
            ("{urn:b", None),
            ("", None),
        ] {
            assert_eq!(OperationName::parse(text), expected, "{text}");
        }
    }
}
