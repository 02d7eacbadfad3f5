//! Recorded messages of other stacks: what each stack breaks of the Basic Security Profile, and
//! why.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use soapstone_lint::{Choice, Conformance, Evidence, Pairing, Profile, Profiles, lint};

/// A stack, a rule that messages of it break, and why.
const BROKEN: &[(&str, &str, &str)] = &[
    (
        "cxf",
        "R3022",
        "a thumbprint leads to a certificate that stands in the message",
    ),
    ("cxf", "R3058", RENEWAL),
    (
        "cxf",
        "R3059",
        "references to derived keys and contexts have no type",
    ),
    ("cxf", "R3074", RENEWAL),
    (
        "metro",
        "R3059",
        "references to keys and contexts have no type",
    ),
    (
        "metro",
        "R3069",
        "references to encrypted keys have no TokenType",
    ),
    ("metro", "R5620", AES_192),
    ("wcf", "R3029", "certificates have no EncodingType"),
    ("wcf", "R3059", "references have no type"),
    (
        "wcf",
        "R3069",
        "references to encrypted keys have no TokenType",
    ),
    ("wcf", "R3070", "thumbprints have no EncodingType"),
    ("wcf", "R5218", "references to certificates have no type"),
    ("wcf", "R5620", AES_192),
    ("wss4j", "R5620", AES_192),
    (
        "wse-php",
        "R5205",
        "the certificate stands behind the signature that refers to it",
    ),
    (
        "zeep",
        "R5205",
        "the certificate stands behind the signature that refers to it",
    ),
];

const RENEWAL: &str = "requests for renewal call the context an assertion of SAML 1.1";
const AES_192: &str =
    "suites with AES-192, which the profile leaves out: WSS4J judges them by this rule as well";

fn messages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            messages(&path, found);
        } else if path.extension().is_some_and(|end| end == "xml") {
            found.push(path);
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop/recorded")
}

/// The stack that made a message: its folder, or the first word of its name.
fn stack(path: &Path) -> String {
    let inside = path.strip_prefix(root()).expect("it is recorded");
    let first = inside.iter().next().and_then(|it| it.to_str());
    let first = first.unwrap_or_default();
    first
        .split(['_', '.'])
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn recorded_messages_break_the_rules_that_are_listed_and_no_others() {
    let mut paths = Vec::new();
    messages(&root(), &mut paths);
    paths.sort();
    let choice = Choice::Of(Profiles::of(Profile::Bsp));
    let mut found: BTreeMap<(String, &str), Vec<String>> = BTreeMap::new();
    for path in &paths {
        let message = std::fs::read(path).expect("a message");
        let report = lint(message, &choice, &|_| None);
        let report = report.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for finding in &report.findings {
            let place = format!(
                "{}:{}: {}: expected {}, found {}",
                path.display(),
                finding.line,
                finding.element,
                finding.expected,
                finding.found
            );
            let key = (stack(path), finding.rule.id);
            found.entry(key).or_default().push(place);
        }
    }
    let listed: BTreeSet<(String, &str)> = BROKEN
        .iter()
        .map(|(stack, rule, _)| ((*stack).to_owned(), *rule))
        .collect();
    let unlisted = found.iter().filter(|(key, _)| !listed.contains(*key));
    let unlisted: Vec<String> = unlisted
        .map(|((stack, rule), places)| {
            format!("{stack} {rule}, {} times: {}", places.len(), places[0])
        })
        .collect();
    assert!(unlisted.is_empty(), "{}", unlisted.join("\n"));
    let kept = listed.iter().filter(|key| !found.contains_key(*key));
    assert_eq!(kept.collect::<Vec<_>>(), Vec::<&(String, &str)>::new());
}

/// All profiles of envelopes judge all of them as one traffic.
#[test]
fn reports_are_made_of_all_recorded_messages() {
    let mut paths = Vec::new();
    messages(&root(), &mut paths);
    for profile in [
        Profile::Bsp,
        Profile::Bp12,
        Profile::Digikoppeling,
        Profile::As4,
    ] {
        let choice = Choice::Of(Profiles::of(profile));
        let traffic: Vec<Evidence> = paths
            .iter()
            .map(|path| {
                let message = std::fs::read(path).expect("a message");
                Evidence {
                    name: path.display().to_string(),
                    digest: String::new(),
                    bytes: message.len(),
                    report: lint(message, &choice, &|_| None).expect("an envelope"),
                }
            })
            .collect();
        let report = Conformance::of(profile, &traffic);
        let report = report.with_exchanges(&traffic, Pairing::default());
        let text = report.markdown("Made now.");
        assert!(text.lines().count() > paths.len(), "{profile:?}");
        assert_eq!(
            report.json()["documents"].as_array().map(Vec::len),
            Some(paths.len())
        );
    }
}
