//! The file of the user's own calls: where the services are, what they are asked, and how often.
//!
//! The rule kept here: every problem of a file is told at once, with its place; no call is made
//! before all files are read.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use http::Uri;
use soapstone::config::{Document, LoadedFile, Located, Problem, Problems, Table, read_beside};
use soapstone::crypto::{DigestAlgorithm, digest, hexadecimal};
use soapstone::policy::{SampleCall, SampleCalls};
use soapstone::wss::Envelope;
use soapstone::xml::{Buffers, Limits};
use soapstone_lab::study::{OwnCalls, Setup};
use soapstone_services::SoapVersion;

use super::super::bench::OwnCall;
use crate::failure::Failure;

/// Ways that are measured where the file names none: one of each mechanism, with today's
/// algorithms, and TLS.
const SETUPS: [&str; 7] = [
    "https",
    "username",
    "sign/Basic128GCM",
    "encrypt/Basic128GCM",
    "sign-encrypt/Basic128GCM",
    "encrypt-sign/Basic128GCM",
    "secure-conversation/Basic128GCM",
];
/// Calls of each operation on each way.
const CALLS: u64 = 30;
/// Most clients at once.
const CLIENTS: u64 = 8;
/// Most calls of a conversation.
const CONVERSATION: u64 = 20;
/// New clients.
const NEWCOMERS: u64 = 5;
/// The largest document that a description refers to, bytes.
const LONGEST_DOCUMENT: usize = 16 << 20;

/// What files say.
#[derive(Default)]
pub(super) struct Files {
    /// What is measured, and how often.
    pub(super) own: OwnCalls,
    /// The calls, in the order of the operations.
    pub(super) calls: Vec<OwnCall>,
    /// The files and the messages, as a digest: a run goes on only with the same ones.
    pub(super) digest: String,
}

/// Reads files; what they say together is one run. Of counts the largest is taken.
///
/// # Errors
/// The problems of the first file that has any, or what files say does not go together.
pub(super) fn read(files: &[PathBuf]) -> Result<Files, Failure> {
    let mut all = Files::default();
    let mut told = Vec::new();
    for file in files {
        let more = one(file)?;
        for call in &more.calls {
            if all.own.operations.contains(&call.name) {
                return Err(Failure::file(
                    file,
                    format_args!("another file has an operation {}, too", call.name),
                )
                .with_hint("give one of them another name"));
            }
            all.own.operations.push(call.name.clone());
            told.extend_from_slice(format!("{call:?}").as_bytes());
        }
        for setup in more.setups {
            if !all.own.setups.contains(&setup) {
                all.own.setups.push(setup);
            }
        }
        all.calls.extend(more.calls);
        all.own.calls = all.own.calls.max(more.counts.calls);
        all.own.newcomers = all.own.newcomers.max(more.counts.newcomers);
        let larger = |steps: &mut Vec<u32>, most: u32| {
            if steps.last().is_none_or(|last| *last < most) {
                *steps = steps_to(most);
            }
        };
        larger(&mut all.own.clients, more.counts.clients);
        larger(&mut all.own.conversations, more.counts.conversation);
    }
    told.extend_from_slice(format!("{:?}", all.own).as_bytes());
    let digest = digest(DigestAlgorithm::Sha256, &told).map_err(Failure::new)?;
    all.digest = hexadecimal::encode(digest.as_ref());
    Ok(all)
}

/// From 1 on, each four times the one before, and the most itself.
fn steps_to(most: u32) -> Vec<u32> {
    let steps = std::iter::successors(Some(1_u32), |step| step.checked_mul(4));
    let mut steps: Vec<u32> = steps.take_while(|step| *step < most).collect();
    steps.push(most);
    steps
}

/// What one file says.
struct One {
    calls: Vec<OwnCall>,
    setups: Vec<Setup>,
    counts: Counts,
}

/// How often.
struct Counts {
    calls: u32,
    clients: u32,
    conversation: u32,
    newcomers: u32,
}

fn one(file: &Path) -> Result<One, Problems> {
    let environment = |_: &str| None;
    let document = Document::load(file, &environment).map_err(|Problems(problems)| {
        let unhinted = problems.into_iter().map(|it| Problem { hint: None, ..it });
        Problems(unhinted.collect())
    })?;
    let read = whole(&document);
    document.finish(read)
}

/// What all operations of a file have in common.
struct Common {
    target: Option<Located<String>>,
    authorities: Vec<PathBuf>,
    same: bool,
    description: Option<SampleCalls>,
}

fn whole(document: &Document<'_>) -> Option<One> {
    let mut root = document.root();
    let counts = Counts {
        calls: count(&mut root, "calls", CALLS, 1_000_000),
        clients: count(&mut root, "clients", CLIENTS, 1_000),
        conversation: count(&mut root, "conversation", CONVERSATION, 10_000),
        newcomers: count(&mut root, "newcomers", NEWCOMERS, 1_000),
    };
    let setups = setups(&mut root);
    let mut authorities = Vec::new();
    if let Some(files) = root.files("ca") {
        // The gateways that believe them have a folder of their own.
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        authorities.extend(files.into_iter().map(|file| absolute(file.path)));
    }
    let description = root.file("wsdl").and_then(|wsdl| described(&root, wsdl));
    let common = Common {
        target: root.string("target"),
        authorities,
        same: same(&mut root).unwrap_or(false),
        description,
    };
    let tables = root.tables("operations");
    let mut calls: Vec<OwnCall> = Vec::new();
    let (mut complete, named) = (true, !tables.is_empty());
    for table in tables {
        let place = table.place();
        match operation(table, &common) {
            Some(call) if calls.iter().any(|it| it.name == call.name) => {
                root.report(place, format!("there are two operations {}", call.name));
            }
            Some(call) => calls.push(call),
            None => complete = false,
        }
    }
    if !named {
        match &common.description {
            Some(description) => {
                for described in description.operations() {
                    let call = of_description(&root, &common, described);
                    complete &= call.is_some();
                    calls.extend(call);
                }
            }
            None if root.has("wsdl") => complete = false,
            None => root.missing(
                "operations",
                "name a captured request: [[operations]] with name, request and soap_action; or a wsdl",
            ),
        }
    }
    root.finish();
    (complete && !calls.is_empty()).then_some(One {
        calls,
        setups,
        counts,
    })
}

fn count(table: &mut Table<'_>, key: &'static str, usual: u64, most: u64) -> u32 {
    let found = table.integer(key, 1, most).map_or(usual, |it| it.value);
    u32::try_from(found).unwrap_or(u32::MAX)
}

fn setups(table: &mut Table<'_>) -> Vec<Setup> {
    let named = table.strings("mechanisms");
    let usual = || {
        let usual = SETUPS.iter().map(|name| Setup::named(name));
        usual.filter_map(Result::ok).collect()
    };
    named.map_or_else(usual, |named| {
        let mut setups = Vec::new();
        for Located { value, place } in named {
            match Setup::named(&value) {
                Ok(setup) => setups.push(setup),
                Err(expected) => table.report(place, format!("`mechanisms`: {expected}")),
            }
        }
        setups
    })
}

fn same(table: &mut Table<'_>) -> Option<bool> {
    let chosen = table.choice("answers", &[("alike", false), ("same", true)]);
    chosen.map(|it| it.value)
}

fn described(root: &Table<'_>, wsdl: LoadedFile) -> Option<SampleCalls> {
    let beside = |uri: &str| read_beside(&wsdl.path, uri, LONGEST_DOCUMENT);
    match SampleCalls::read(wsdl.bytes.expose().clone(), &beside, None) {
        Ok(description) => Some(description),
        Err(why) => {
            root.report(
                wsdl.place,
                format!("`wsdl`: {} cannot be used: {why}", wsdl.path.display()),
            );
            None
        }
    }
}

/// One `[[operations]]`.
fn operation(mut table: Table<'_>, common: &Common) -> Option<OwnCall> {
    let name = table.required_string("name", "what the operation is called in tables");
    let request = table.file("request");
    let action = table.string("soap_action");
    let target = table.string("target");
    let same = same(&mut table).unwrap_or(common.same);
    let name = name?;
    let described = common
        .description
        .as_ref()
        .and_then(|it| it.operation(&name.value));
    let place = table.place();
    let target = target
        .or_else(|| common.target.clone())
        .or_else(|| address(described, place));
    let url = match target {
        Some(target) => url(&table, &target, common),
        None => {
            table.missing("target", "the URL that the service is called at");
            None
        }
    };
    let message = match (request, described) {
        (Some(request), _) => captured(&table, &request),
        (None, Some(described)) => made(&table, described, name.place),
        (None, None) if table.has("request") => None,
        (None, None) => {
            let hint = match &common.description {
                Some(description) => format!(
                    "name a captured request, or an operation of the WSDL: {}",
                    description.names().join(", ")
                ),
                None => "name a file with a captured request, without security".to_owned(),
            };
            table.missing("request", &hint);
            None
        }
    };
    let described_action = described.and_then(|it| it.action.clone());
    let soap_action = match action {
        Some(action) => is_header(&action.value)
            .then_some(action.value)
            .or_else(|| {
                table.report(
                    action.place,
                    "`soap_action` must be one line of ASCII without quotes",
                );
                None
            }),
        None => Some(described_action.unwrap_or_default()),
    };
    table.finish();
    let (url, query) = url?;
    let (version, message) = message?;
    Some(OwnCall {
        name: segment(&name.value),
        url,
        query,
        authorities: common.authorities.clone(),
        version,
        soap_action: soap_action?,
        message,
        same,
    })
}

/// An operation of the WSDL that the file does not name.
fn of_description(root: &Table<'_>, common: &Common, described: &SampleCall) -> Option<OwnCall> {
    let place = root.place_of("wsdl").unwrap_or(root.place());
    let target = common
        .target
        .clone()
        .or_else(|| address(Some(described), place));
    let Some(target) = target else {
        root.missing("target", "the WSDL has no address");
        return None;
    };
    let (url, query) = url(root, &target, common)?;
    let (version, message) = made(root, described, place)?;
    Some(OwnCall {
        name: segment(&described.name),
        url,
        query,
        authorities: common.authorities.clone(),
        version,
        soap_action: described.action.clone().unwrap_or_default(),
        message,
        same: common.same,
    })
}

fn address(
    described: Option<&SampleCall>,
    place: soapstone::config::Place,
) -> Option<Located<String>> {
    let value = described?.address.clone()?;
    Some(Located { value, place })
}

/// A name that is one segment of the names of points.
fn segment(name: &str) -> String {
    name.replace('/', "-")
}

fn is_header(text: &str) -> bool {
    text.bytes().all(|it| it.is_ascii_graphic() && it != b'"')
}

/// The URL without its query, and the query.
fn url(table: &Table<'_>, target: &Located<String>, common: &Common) -> Option<(String, String)> {
    let wrong = |message: &str| {
        table.report(target.place, format!("`target` {message}"));
        None
    };
    let Ok(uri) = target.value.parse::<Uri>() else {
        return wrong("must be a URL such as http://127.0.0.1:9000/orders");
    };
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return wrong("must be a URL such as http://127.0.0.1:9000/orders");
    };
    match scheme {
        "http" => {}
        "https" if common.authorities.is_empty() => {
            return wrong("is behind https, and `ca` names no file with its authority");
        }
        "https" => {}
        _ => return wrong("must begin with http: or https:"),
    }
    let query = uri.query().map_or(String::new(), |it| format!("?{it}"));
    Some((format!("{scheme}://{authority}{}", uri.path()), query))
}

/// A captured request: an envelope without a security header.
fn captured(table: &Table<'_>, request: &LoadedFile) -> Option<(SoapVersion, Bytes)> {
    let bytes = request.bytes.expose();
    let wrong = |why: &str| {
        let message = format!("`request`: {} {why}", request.path.display());
        table.report(request.place, message);
        None
    };
    let mut limits = Limits::default();
    // It is the user's, and whole.
    limits.message = limits.message.max(bytes.len());
    let envelope = match Envelope::parse(bytes.clone(), &limits, &mut Buffers::default()) {
        Ok(envelope) => envelope,
        Err(error) => return wrong(&format!("is no SOAP message: {error}")),
    };
    if envelope.security_headers(None).next().is_some() {
        return wrong("has a Security header: capture it where the service gets it in plain");
    }
    let version = version_of(envelope.document().root().namespace());
    Some((version, Bytes::from(bytes.clone())))
}

fn version_of(namespace: &str) -> SoapVersion {
    let mut versions = SoapVersion::ALL.into_iter();
    let found = versions.find(|it| it.namespace() == namespace);
    found.unwrap_or(SoapVersion::Soap11)
}

/// A request that is made from the description.
fn made(
    table: &Table<'_>,
    described: &SampleCall,
    place: soapstone::config::Place,
) -> Option<(SoapVersion, Bytes)> {
    match &described.request {
        Ok(request) => {
            let version = version_of(described.version.namespace());
            Some((version, Bytes::from(request.clone())))
        }
        Err(why) => {
            table.report_with_hint(
                place,
                format!("no request can be made for {}: {why}", described.name),
                "name a captured one: request = \"FILE\"",
            );
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_grow_four_times_up_to_the_most() {
        assert_eq!(steps_to(1), [1]);
        assert_eq!(steps_to(8), [1, 4, 8]);
        assert_eq!(steps_to(64), [1, 4, 16, 64]);
    }

    #[test]
    fn the_usual_ways_are_ways() {
        let named = SETUPS.map(Setup::named);
        let arms = named.map(|setup| setup.expect("a way").arm());
        assert_eq!(arms, SETUPS);
    }
}
