//! `[agreements]`: what clients and providers owe each other, a file for each agreement, and where
//! violations are recorded.
//!
//! The rule kept here: an agreement is about a route that can keep it. What could not be proven,
//! measured or met at run time is reported when the file is read.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use soapstone::config::{
    ConversationStoreConfig, Document, KnownKey, LoadedFile, Located, OTHER_TEXT, Place, Problem,
    ReplayStoreConfig, StoreConfig, Surroundings, Table, Warning, WhenUnavailable,
};
use soapstone::crypto::Identity;
use soapstone_broker::{
    AgreementTerms, Class, ClientTerms, Exclusion, Needs, ProviderTerms, ResponseTime, Share,
    Validity, Window,
};

use super::balance::{MemberSpec, OperationName, narrowed};
use super::needs::read_security;
use super::owner_name::OwnerName;
use super::party::{NAME_THE_ISSUER, PartyName, ReadParty};
use super::rate::read_rate;
use super::route::RouteSpec;
use super::source::{OwnersPolicy, SourceSpec};

/// Most agreements of a gateway: each request compares its client with those of all of its route.
const MOST_AGREEMENTS: usize = 1000;

/// Calls of a window of time from which on time and availability are judged, unless the file says
/// otherwise: one late call of three is no quantile.
const AT_LEAST: u64 = 20;

/// `[agreements]`.
#[derive(Clone)]
pub(crate) struct AgreementsSpec {
    pub(crate) agreements: Vec<AgreementSpec>,
    /// The file of violation records.
    pub(crate) records: PathBuf,
    /// Whose key signs them.
    pub(crate) identity: Arc<Identity>,
    /// Where requests are counted together with those at other gateways, and what is done while
    /// that does not answer.
    pub(crate) store: Option<(Box<StoreConfig>, WhenUnavailable)>,
}

/// One agreement.
#[derive(Clone, Debug)]
pub(crate) struct AgreementSpec {
    pub(crate) client: PartyName,
    /// Who signs the provider's answers.
    pub(crate) provider: Option<PartyName>,
    pub(crate) terms: AgreementTerms,
}

/// An agreement as it was read, with what its routes are asked about.
struct Read {
    client: ReadParty,
    provider: Option<ReadParty>,
    terms: AgreementTerms,
    file: PathBuf,
    places: Places,
}

/// Where an agreement says what its route has to fit.
struct Places {
    name: Place,
    service: Place,
    backends: Place,
    security: Place,
    reports: Place,
    description: Place,
}

/// Every key that the reader of an agreement with this text asks for.
pub(super) fn known_keys(text: &str, file: &Path) -> Vec<KnownKey> {
    let document = document(text, file);
    read_agreement(&document);
    document.known_keys()
}

fn document(text: &str, file: &Path) -> Document<'static> {
    let surroundings = Surroundings {
        file: file.to_path_buf(),
        // There is no secret in an agreement: both parties read it.
        environment: &|_| None,
    };
    Document::parse(text, surroundings)
}

/// Reads `[agreements]` and the files that it names. What is wrong has been reported where there is
/// nothing.
pub(super) fn read_agreements(
    root: &mut Table<'_>,
    routes: &[RouteSpec],
) -> Option<AgreementsSpec> {
    let mut table = root.table("agreements")?;
    let place = table.place();
    const FILES: &str = "say which: files = [\"gold.toml\"]";
    let files = table.files("files");
    if !table.has("files") {
        table.missing("files", FILES);
    } else if table.is_empty_list("files") {
        table.report_with_hint(place, "`files` names no agreement", FILES);
    }
    let records = table.path("records");
    if !table.has("records") {
        table.missing(
            "records",
            "say where violations go: records = \"violations.xml\"",
        );
    }
    const IDENTITY: &str = "say whose key signs records: identity = { key = \"gateway.key.pem\", certificate = \"gateway.cert.pem\" }";
    if !table.has("identity") {
        table.missing("identity", IDENTITY);
    }
    let identity = table.table("identity").and_then(read_identity);
    let store = read_store(&mut table);
    let outer = table.document();
    table.finish();
    let is_shared = matches!(store, Some(Some(_)));
    let files = files?;
    if files.len() > MOST_AGREEMENTS {
        let message = format!("`files` has at most {MOST_AGREEMENTS} entries");
        outer.root().report(place, message);
        return None;
    }
    let wanted = files.len();
    let mut read: Vec<Read> = Vec::with_capacity(wanted);
    for file in files {
        let Some(agreement) = read_file(outer, &file) else {
            continue;
        };
        let name = &agreement.terms.name;
        let same = |other: &&Read| other.terms.name == *name;
        if let Some(other) = read.iter().find(same) {
            let message = format!("the agreement {} has the same `name`", other.file.display());
            outer.report(Problem::new(
                &agreement.file,
                agreement.places.name,
                message,
            ));
        }
        read.push(agreement);
    }
    for agreement in &read {
        demand_route(outer, agreement, routes);
        if !is_shared {
            warn_of_others(outer, agreement, routes);
        }
        warn_of_validity(outer, agreement, Timestamp::now());
    }
    let agreements = read.into_iter().map(|read| AgreementSpec {
        client: read.client.name,
        provider: read.provider.map(|it| it.name),
        terms: read.terms,
    });
    let agreements: Vec<AgreementSpec> = agreements.collect();
    (agreements.len() == wanted).then_some(AgreementsSpec {
        agreements,
        records: records?.value,
        identity: Arc::new(identity?),
        store: match store {
            // What is wrong with it has been reported.
            Some(store) => Some(store?),
            None => None,
        },
    })
}

/// Reads where requests are counted together, if they are.
fn read_store(table: &mut Table<'_>) -> Option<Option<(Box<StoreConfig>, WhenUnavailable)>> {
    let choices = [
        ("refuse", WhenUnavailable::Refuse),
        ("accept", WhenUnavailable::Accept),
    ];
    let when_unavailable = table.choice("when_unavailable", &choices);
    if let (Some(when_unavailable), false) = (&when_unavailable, table.has("store")) {
        table.report_with_hint(
            when_unavailable.place,
            "`when_unavailable` is about a `store`, and there is none",
            "name the Redis that the gateways share: store = { url = \"redis://127.0.0.1:6379\" }",
        );
    }
    let when_unavailable = when_unavailable.map(|it| it.value).unwrap_or_default();
    let store = table.table("store").map(StoreConfig::read)?;
    Some(store.map(|store| (Box::new(store), when_unavailable)))
}

fn read_identity(mut table: Table<'_>) -> Option<Identity> {
    for (key, hint) in [
        ("key", "name a PEM file with the private key"),
        ("certificate", "name a PEM file with its certificate"),
    ] {
        if !table.has(key) {
            table.missing(key, hint);
        }
    }
    let key = table.secret_file("key");
    let certificate = table.file("certificate");
    let password = table.secret("password", "password_env", "password_file");
    let (document, place) = (table.document(), table.place());
    table.finish();
    let password = password.as_ref().map(|it| it.value.expose().as_str());
    let identity =
        Identity::from_file_contents(key?.bytes.expose(), certificate?.bytes.expose(), password);
    let unusable = |error| {
        let message = format!("`identity` cannot be used: {error}");
        document.root().report(place, message);
    };
    identity.map_err(unusable).ok()
}

fn read_file(outer: &Document<'_>, file: &LoadedFile) -> Option<Read> {
    let Ok(text) = std::str::from_utf8(file.bytes.expose()) else {
        let message = format!(
            "{} must be a text file, and it is not UTF-8",
            file.path.display()
        );
        outer.root().report(file.place, message);
        return None;
    };
    let document = document(text, &file.path);
    let read = read_agreement(&document);
    match document.finish(read) {
        Ok(read) => Some(read),
        Err(problems) => {
            problems.0.into_iter().for_each(|it| outer.report(it));
            None
        }
    }
}

fn read_agreement(document: &Document<'_>) -> Option<Read> {
    let mut root = document.root();
    let file = document.file().to_path_buf();
    let stem = file.file_stem().and_then(|stem| stem.to_str());
    let name = root.string("name");
    let service = root.required_string("service", "the name of a route: service = \"books\"");
    let classes = Class::ALL.map(|class| (class.name(), class));
    let class = root.choice("class", &classes);
    let from = root.moment("from");
    let until = root.moment("until");
    if !root.has("until") {
        root.missing("until", "say when it ends: until = 2027-01-01");
    }
    if let (Some(from), Some(until)) = (&from, &until)
        && from.value >= until.value
    {
        root.report(until.place, "`until` must be later than `from`");
    }
    let window = root.table("window").and_then(read_window);
    if !root.has("window") {
        let hint = "say which calls are measured together: window = { time = \"1m\" } or window = { calls = 100 }";
        root.missing("window", hint);
    }
    let client = root.table("client");
    if client.is_none() && !root.has("client") {
        root.missing("client", "[client] with subject = \"CN=client\"");
    }
    let client = client.and_then(read_client);
    let provider = root.table("provider").map(read_provider);
    root.finish();
    let (client, of_client) = client?;
    let provider = match provider {
        Some(provider) => provider?,
        None => ReadProvider::default(),
    };
    let places = Places {
        name: name.as_ref().map(|name| name.place).unwrap_or_default(),
        service: service.as_ref()?.place,
        backends: provider.backends_place,
        security: provider.security_place,
        reports: provider.reports_place,
        description: provider.description_place,
    };
    let since = |moment: &Located<Timestamp>| {
        Duration::from_secs(u64::try_from(moment.value.as_second()).unwrap_or(0))
    };
    let terms = AgreementTerms {
        name: match name {
            Some(name) => name.value,
            None => stem?.to_owned(),
        },
        service: service?.value,
        client: client.text.clone(),
        backends: provider.backends,
        class: class.map(|class| class.value).unwrap_or_default(),
        validity: Validity {
            from: from.as_ref().map(since).unwrap_or_default(),
            until: since(&until?),
        },
        of_client,
        of_provider: provider.terms,
        window: window?,
    };
    Some(Read {
        client,
        provider: provider.party,
        terms,
        file,
        places,
    })
}

fn read_window(mut table: Table<'_>) -> Option<Window> {
    let place = table.place();
    let calls = table.integer("calls", 1, 1_000_000);
    let time = table.duration("time");
    let at_least = table.integer("at_least", 1, 1_000_000);
    if let Some(time) = time.as_ref().filter(|time| time.value.as_millis() < 100) {
        table.report(time.place, "`time` must be 100 ms at least");
    }
    if let (Some(at_least), None) = (&at_least, &time) {
        table.report(at_least.place, "`at_least` is for a window of `time`");
    }
    let window = match (calls, time) {
        (Some(calls), None) => Some(Window::Calls(calls.value)),
        (None, Some(time)) => Some(Window::Time {
            length: time.value,
            at_least: at_least.map_or(AT_LEAST, |it| it.value),
        }),
        (None, None) if table.has("calls") || table.has("time") => None,
        _ => {
            let hint = "{ time = \"1m\" } or { calls = 100 }";
            table.report_with_hint(place, "`window` is a `time` or a number of `calls`", hint);
            None
        }
    };
    table.finish();
    window
}

fn read_client(mut table: Table<'_>) -> Option<(ReadParty, ClientTerms)> {
    let subject = table.required_string("subject", "of its certificate: subject = \"CN=client\"");
    let party = ReadParty::read(&mut table, subject);
    let rate_text = table.place_of("rate").is_some();
    let rate = read_rate(&mut table, "rate", "burst");
    let largest = table.size("largest");
    let mut operations = Vec::new();
    for operation in table.strings("operations").unwrap_or_default() {
        if OperationName::parse(&operation.value).is_none() {
            let message =
                format!("`operations` holds names of elements in the Body, found {OTHER_TEXT}");
            let hint = "for example \"getBooks\" or \"{urn:example:books}getBooks\"";
            table.report_with_hint(operation.place, message, hint);
        }
        operations.push(operation.value);
    }
    if let (Some(place), true) = (
        table.place_of("operations"),
        table.is_empty_list("operations"),
    ) {
        let hint = "leave it out where every operation may be called";
        table.report_with_hint(place, "`operations` names no operation", hint);
    }
    let penalty = table.string("penalty").map(|it| it.value);
    table.finish();
    if rate_text && rate.is_none() {
        return None;
    }
    let terms = ClientTerms {
        rate_text: rate.map(in_words).unwrap_or_default(),
        rate,
        bytes: largest.map(|largest| largest.value),
        operations,
        penalty,
    };
    Some((party?, terms))
}

/// A rate as records tell it.
fn in_words(rate: soapstone_broker::Rate) -> String {
    let (each, burst) = (rate.each(), rate.burst());
    format!("a request every {each:?}, {burst} at once")
}

/// What `[provider]` says.
#[derive(Default)]
struct ReadProvider {
    party: Option<ReadParty>,
    backends: Vec<String>,
    backends_place: Place,
    security_place: Place,
    reports_place: Place,
    description_place: Place,
    terms: ProviderTerms,
}

fn read_provider(mut table: Table<'_>) -> Option<ReadProvider> {
    let names_party = table.has("subject") || table.has("issuer");
    let subject = table.string("subject");
    let party = ReadParty::read(&mut table, subject);
    let backends_place = table.place_of("backends").unwrap_or_default();
    let backends = table.strings("backends").unwrap_or_default();
    if table.is_empty_list("backends") {
        let hint = "leave it out where the agreement is about every backend of the route";
        table.report_with_hint(backends_place, "`backends` names no backend", hint);
    }
    let time = table.duration("time");
    let quantile = read_share(&mut table, "quantile");
    let time = match (time, quantile) {
        (Some(time), Some(quantile)) => Some(ResponseTime {
            within: time.value,
            quantile: quantile.value,
        }),
        (Some(time), None) => {
            if !table.has("quantile") {
                let hint = "for example quantile = \"95%\"";
                let message = "`time` needs `quantile`: the share of calls that are answered in it";
                table.report_with_hint(time.place, message, hint);
            }
            None
        }
        (None, Some(quantile)) => {
            table.report(
                quantile.place,
                "`quantile` is for a `time`, and there is none",
            );
            None
        }
        (None, None) => None,
    };
    let availability = read_share(&mut table, "availability").map(|share| share.value);
    let security_place = table.place_of("security").unwrap_or_default();
    let security = table.table("security").map(|mut table| {
        let security = read_security(&mut table);
        table.finish();
        security
    });
    let reports_place = table.place_of("reports").unwrap_or_default();
    let reports = table.boolean("reports");
    let description_place = table.place_of("description").unwrap_or_default();
    let description = table.boolean("description");
    let penalty = table.string("penalty").map(|it| it.value);
    let has_exclusion = table.has("exclusion");
    let exclusion = table.table("exclusion").and_then(read_exclusion);
    table.finish();
    if (names_party && party.is_none()) || (has_exclusion && exclusion.is_none()) {
        return None;
    }
    Some(ReadProvider {
        backends: backends.into_iter().map(|name| name.value).collect(),
        backends_place,
        security_place,
        reports_place,
        description_place,
        terms: ProviderTerms {
            time,
            availability,
            security: security.unwrap_or_default(),
            reports: reports.is_some_and(|reports| reports.value),
            description: description.is_some_and(|description| description.value),
            subject: party.as_ref().map(|party| party.text.clone()),
            penalty,
            exclusion,
        },
        party,
    })
}

fn read_share(table: &mut Table<'_>, key: &'static str) -> Option<Located<Share>> {
    let text = table.string(key)?;
    let share = Share::parse(&text.value);
    if share.is_none() {
        let message = format!("`{key}` must be a share of calls, found {OTHER_TEXT}");
        table.report_with_hint(text.place, message, "for example \"95%\" or \"99.95%\"");
    }
    share.map(|share| text.map(|_| share))
}

fn read_exclusion(mut table: Table<'_>) -> Option<Exclusion> {
    let place = table.place();
    let after = table.integer("after", 1, 1_000_000).map(narrowed);
    let time = table.duration("time");
    for (key, hint) in [
        ("after", "after how many violations: after = 3"),
        ("time", "for how long: time = \"10m\""),
    ] {
        if !table.has(key) {
            table.missing(key, hint);
        }
    }
    if time.as_ref().is_some_and(|time| time.value.is_zero()) {
        table.report(place, "`time` must be longer than nothing, found 0");
    }
    table.finish();
    Some(Exclusion {
        after: after?,
        time: time?.value,
    })
}

/// Reports what the route of an agreement cannot prove, measure or meet.
fn demand_route(document: &Document<'_>, agreement: &Read, routes: &[RouteSpec]) {
    let (terms, places) = (&agreement.terms, &agreement.places);
    let report = |place, message: String, hint: &str| {
        document.report(Problem::new(&agreement.file, place, message).with_hint(hint));
    };
    let mut named = routes.iter().filter(|route| route.name == terms.service);
    let (Some(route), None) = (named.next(), named.next()) else {
        let count = routes.iter().filter(|route| route.name == terms.service);
        let message = match count.count() {
            0 => "`service` must be the name of a route, and no route has it".to_owned(),
            count => format!("`service` must be the name of one route, and {count} routes have it"),
        };
        let hint = "the `name` of a route, or its path where it has none";
        return report(places.service, message, hint);
    };
    if route.inbound.is_none() {
        let message = format!(
            "route {} has no `inbound`: nobody proves to be the client of an agreement",
            route.path
        );
        report(
            places.service,
            message,
            "give it an endpoint whose clients sign",
        );
    }
    for (place, message) in ambiguous_parties(agreement, route) {
        report(place, message, NAME_THE_ISSUER);
    }
    let Some(group) = &route.group else {
        let message = format!(
            "route {} has one `backend`, and nothing measures it",
            route.path
        );
        let hint = "write it as several: backends = [{ url = \"…\" }]";
        return report(places.service, message, hint);
    };
    let is_reported = matches!(group.source, Some(SourceSpec::Registry(_)));
    if terms.of_provider.reports && !is_reported {
        let message = "`reports` of [provider] is about what monitors report to a registry, and the backends of the route are not found in one";
        let hint =
            "leave it out, or let the route have backends = { service = \"…\", owners = […] }";
        report(places.reports, message.to_owned(), hint);
    }
    if terms.of_provider.description && !is_reported {
        let message = "`description` of [provider] is about policies that a registry knows, and the backends of the route are not found in one";
        let hint =
            "leave it out, or let the route have backends = { service = \"…\", owners = […] }";
        report(places.description, message.to_owned(), hint);
    }
    // What a registry knows comes and goes, and the file says how it is named.
    if let Some(source) = &group.source {
        if let Some((message, hint)) = misnamed(terms, source, &group.policies) {
            report(places.backends, message.to_owned(), hint);
        }
        return;
    }
    for name in &terms.backends {
        if !group.members.iter().any(|member| member.name == *name) {
            let message =
                format!("`backends` must hold names of backends of the route, found {OTHER_TEXT}");
            let hint = "the `name` of a backend, or host and port where it has none";
            report(places.backends, message, hint);
        }
    }
    let of_provider = || {
        let members = group.members.iter();
        members.filter(|member| terms.is_about(&member.name))
    };
    // An endpoint through which messages pass as they are opens nothing.
    let is_opened = |member: &MemberSpec| {
        let side = member.outbound.as_ref().or(route.outbound.as_ref());
        side.is_some_and(|side| !side.endpoint.is_plain())
    };
    if let Some(provider) = &agreement.provider
        && !of_provider().all(is_opened)
    {
        let message =
            "`subject` of [provider] is proven by answers, and nothing opens those of a backend";
        let hint = "give the route or the backend an `outbound` whose answers are signed";
        report(provider.place, message.to_owned(), hint);
    }
    let needs = group.rules.needs.and(&terms.of_provider.security);
    let is_covered = |needs: &Needs| of_provider().any(|it| it.terms.security.covers(needs));
    if terms.of_provider.security.has_security() && !is_covered(&needs) {
        let message = "no backend of the provider covers `security`, with what the route needs";
        let hint = "`soapstone broker explain` shows what each backend gives";
        report(places.security, message.to_owned(), hint);
    }
    let is_unseen = |member: &MemberSpec| member.assured.is_some();
    if terms.of_provider.security.has_security() && of_provider().any(is_unseen) {
        let message = "`security` of [provider] is compared with answers, and the route passes those of a backend on unopened";
        let hint = "leave it out: the client compares them with its own policy";
        report(places.security, message.to_owned(), hint);
    }
}

/// What is wrong with the parties of an agreement where the route trusts several authorities: each
/// of these may have certified one subject.
fn ambiguous_parties(agreement: &Read, route: &RouteSpec) -> Vec<(Place, String)> {
    let clients = route.inbound.as_ref().map(|it| &it.certifiers);
    let of = |party: &ReadParty, certifiers| Some((party.place, party.ambiguity(certifiers)?));
    let client = clients.and_then(|certifiers| of(&agreement.client, certifiers));
    let provider = agreement.provider.as_ref().and_then(|provider| {
        let group = route.group.as_ref();
        let members = group.iter().flat_map(|it| &it.members);
        let members = members.filter(|it| agreement.terms.is_about(&it.name));
        let members = members.filter_map(|it| it.outbound.as_ref());
        let policies = group.iter().flat_map(|it| &it.policies);
        let policies = policies.filter_map(|it| it.outbound.as_ref());
        let mut sides = members.chain(policies).chain(&route.outbound);
        sides.find_map(|side| of(provider, &side.certifiers))
    });
    client.into_iter().chain(provider).collect()
}

/// What is wrong with the names of backends that are found at run time, and what is right: no
/// backend would ever have such a name.
fn misnamed(
    terms: &AgreementTerms,
    source: &SourceSpec,
    policies: &[OwnersPolicy],
) -> Option<(&'static str, &'static str)> {
    // An access point has no space in it.
    let more = |name: &String| {
        let (_, more) = name.strip_suffix(')')?.split_once(" (")?;
        Some(OwnerName::parse(more))
    };
    let mut names = terms.backends.iter();
    match source {
        SourceSpec::Dns(_) => names.any(|it| more(it).is_none()).then_some((
            "`backends` must hold names with addresses, as DNS finds them, found another text",
            "host and address: \"books.example (10.0.0.1:80)\"",
        )),
        SourceSpec::Registry(of) if source.names_owners() || !policies.is_empty() => {
            let named = || policies.iter().flat_map(|it| &it.owners).chain(&of.owners);
            let may_be = |owner: &OwnerName| {
                (of.is_open() && owner.has_issuer()) || named().any(|it| it == owner)
            };
            let is_nobodys = |name| !more(name).is_some_and(|owner| may_be(&owner));
            names.any(is_nobodys).then_some((
                "`backends` must hold access points with their owners, since owners have backends of their own, found another text",
                match of.is_open() {
                    true => "access point, owner and issuer: \"http://10.0.0.1/books (CN=p1 of CN=authority)\"",
                    false => "access point and owner, as `owners` names it: \"http://10.0.0.1/books (CN=p1)\"",
                },
            ))
        }
        SourceSpec::Registry(_) => names.any(|it| more(it).is_some()).then_some((
            "`backends` must hold access points, since the route has the providers of one owner, found another text",
            "the access point alone: \"http://10.0.0.1/books\"",
        )),
    }
}

/// Warns of an agreement about a route that other gateways serve as well: each of them measures and
/// admits by itself.
fn warn_of_others(document: &Document<'_>, agreement: &Read, routes: &[RouteSpec]) {
    let terms = &agreement.terms;
    let mut named = routes.iter().filter(|route| route.name == terms.service);
    let Some(inbound) = named.next().and_then(|route| route.inbound.as_ref()) else {
        return;
    };
    let replay = inbound.endpoint.replay().map(|replay| &replay.store);
    let contexts = inbound.endpoint.conversations().map(|it| &it.store);
    let shares = matches!(replay, Some(ReplayStoreConfig::Redis { .. }))
        || matches!(contexts, Some(ConversationStoreConfig::Redis { .. }));
    if !shares {
        return;
    }
    let message = format!(
        "the agreement \"{}\" is kept by each gateway alone, and this one shares a store with others: together they admit the rate of each",
        terms.name
    );
    let problem = Problem::new(&agreement.file, agreement.places.name, message);
    let hint = "name the store in [agreements]: store = { url = \"redis://…\" }; or divide `rate` and `burst` by the number of gateways";
    document.warn(Warning {
        name: "agreement-not-shared",
        problem: problem.with_hint(hint),
    });
}

/// Warns of an agreement that is not in force.
fn warn_of_validity(document: &Document<'_>, agreement: &Read, now: Timestamp) {
    let terms = &agreement.terms;
    let now = Duration::from_secs(u64::try_from(now.as_second()).unwrap_or(0));
    if terms.is_in_force(now) {
        return;
    }
    let (name, what) = match now < terms.validity.from {
        true => ("agreement-not-yet", "is not in force yet"),
        false => ("agreement-expired", "has expired"),
    };
    let message = format!(
        "the agreement \"{}\" {what}: its client is served without it",
        terms.name
    );
    let problem = Problem::new(&agreement.file, agreement.places.name, message);
    document.warn(Warning {
        name,
        problem: problem.with_hint("look at `from` and `until`"),
    });
}
