//! A file with one agreement.
//!
//! The rule kept here: what a file says of its route is judged where the routes are known.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use soapstone::config::{
    Document, KnownKey, LoadedFile, Located, OTHER_TEXT, Place, Surroundings, Table,
};
use soapstone_broker::{
    AgreementTerms, Class, ClientTerms, Exclusion, ProviderTerms, ResponseTime, Share, Validity,
    Window,
};

use crate::config::balance::{OperationName, narrowed};
use crate::config::needs::read_security;
use crate::config::party::ReadParty;
use crate::config::rate::read_rate;

/// Calls of a window of time from which on time and availability are judged, unless the file says
/// otherwise: one late call of three is no quantile.
const AT_LEAST: u64 = 20;

/// An agreement as it was read, with what its routes are asked about.
pub(super) struct Read {
    pub(super) client: ReadParty,
    pub(super) provider: Option<ReadParty>,
    pub(super) terms: AgreementTerms,
    pub(super) file: PathBuf,
    pub(super) places: Places,
}

/// Where an agreement says what its route has to fit.
pub(super) struct Places {
    pub(super) name: Place,
    pub(super) service: Place,
    pub(super) backends: Place,
    pub(super) security: Place,
    pub(super) reports: Place,
    pub(super) description: Place,
}

/// Every key that the reader of an agreement with this text asks for.
pub(in crate::config) fn known_keys(text: &str, file: &Path) -> Vec<KnownKey> {
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

pub(super) fn read_file(outer: &Document<'_>, file: &LoadedFile) -> Option<Read> {
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
