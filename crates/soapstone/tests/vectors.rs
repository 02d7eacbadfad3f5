//! The project's own messages (`vectors/messages`): the endpoint of each case accepts it, or
//! refuses it for the reason that the case names.

#[path = "support/body.rs"]
mod body;
#[path = "support/moment.rs"]
mod moment;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use soapstone::wss::{Rejected, SUITE_NAMES};
use soapstone::{ForgetfulReplayCache, Memory, Opener};
use soapstone_testkit::Case;

use body::body_content;

/// The endpoints of cases, each compiled once.
#[derive(Default)]
struct Endpoints(BTreeMap<PathBuf, Opener>);

impl Endpoints {
    fn of(&mut self, case: &Case, hours: i64) -> &Opener {
        let file = case.value["endpoint"].as_str().expect("an endpoint file");
        let file = case.folder.join(file);
        self.0
            .entry(file.clone())
            .or_insert_with(|| moment::endpoint(&file, hours))
    }
}

fn open(endpoint: &Opener, message: Vec<u8>) -> Result<Vec<u8>, Rejected> {
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    let opened = endpoint.open(message, memory);
    opened.map(|opened| opened.bytes)
}

fn cases() -> Vec<Case> {
    soapstone_testkit::cases("endpoint-open")
}

#[test]
fn every_message_is_accepted_with_its_body_or_refused_for_its_reason() {
    let mut endpoints = Endpoints::default();
    let mut problems = Vec::new();
    for case in cases() {
        let outcome = open(endpoints.of(&case, 0), case.input());
        let problem = match (case.outcome(), outcome) {
            ("valid", Ok(opened)) => {
                let plain = case.read(case.expected("plain").expect("the plain message"));
                (body_content(opened) != body_content(plain)).then(|| "another Body".to_owned())
            }
            ("invalid", Err(rejected))
                if Some(rejected.cause().name()) == case.expected("reason") =>
            {
                None
            }
            (_, Ok(_)) => Some("accepted".to_owned()),
            (_, Err(rejected)) => Some(format!("{}: {rejected}", rejected.cause().name())),
        };
        problems.extend(problem.map(|problem| format!("{}: {problem}", case.id)));
    }
    assert!(
        problems.is_empty(),
        "{} cases:\n{}",
        problems.len(),
        problems.join("\n")
    );
}

#[test]
fn no_message_is_accepted_when_its_time_is_over() {
    let mut endpoints = Endpoints::default();
    let mut expired = 0;
    for case in cases() {
        let endpoint = case.value["endpoint"].as_str().expect("an endpoint file");
        let file = String::from_utf8(case.read(endpoint)).expect("an endpoint file");
        // Endpoints that demand no Timestamp say so.
        if case.outcome() != "valid" || file.contains("timestamp = false") {
            continue;
        }
        let outcome = open(endpoints.of(&case, 1), case.input());
        let reason = outcome.map_err(|rejected| rejected.cause().name());
        assert_eq!(reason, Err("timestamp-expired"), "{}", case.id);
        expired += 1;
    }
    assert!(expired > 600, "{expired} messages");
}

#[test]
fn every_mechanism_has_every_suite_and_every_reference_in_both_versions_of_soap() {
    let files: BTreeSet<String> = cases().into_iter().map(|case| case.file).collect();
    let references = [
        "direct",
        "ski",
        "thumbprint",
        "issuer-serial",
        "embedded",
        "key-name",
    ];
    for mechanism in ["sign", "encrypt", "sign-encrypt", "encrypt-sign"] {
        for suite in SUITE_NAMES {
            let of_suite = format!("accepted/{mechanism}/{suite}_");
            for reference in references {
                let versions = ["soap11", "soap12"]
                    .map(|version| files.contains(&format!("{of_suite}{reference}_{version}.xml")));
                assert!(versions.contains(&true), "{mechanism} {suite} {reference}");
            }
            for version in ["soap11", "soap12"] {
                let end = format!("_{version}.xml");
                let found = files
                    .iter()
                    .any(|file| file.starts_with(&of_suite) && file.ends_with(&end));
                assert!(found, "{mechanism} {suite} {version}");
            }
        }
        for reference in references {
            for version in ["soap11", "soap12"] {
                let start = format!("accepted/{mechanism}/");
                let end = format!("_{reference}_{version}.xml");
                let found = files
                    .iter()
                    .any(|file| file.starts_with(&start) && file.ends_with(&end));
                assert!(found, "{mechanism} {reference} {version}");
            }
        }
    }
}
