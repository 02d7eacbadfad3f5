//! Messages that this project writes keep the rules, and so do the contracts of its sample
//! services. Each breach that is known is listed with its reason.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use soapstone::config::EndpointConfig;
use soapstone::endpoint::{Endpoint, Fixed};
use soapstone::{Arrived, Client, ForgetfulReplayCache, Memory, Service};
use soapstone_lint::{Choice, lint};

/// Breaches of messages that this project writes: the rule, what the names of the messages hold,
/// and why.
const KNOWN: &[(&str, &[&str], &str)] = &[
    (
        "R5417",
        &["key-name"],
        "an endpoint file that asks for key names gets them; the profile does not know shared keys",
    ),
    (
        "R5426",
        &["key-name"],
        "an endpoint file that asks for key names gets them; the profile does not know shared keys",
    ),
    (
        "R5426",
        &["ecdh", "Ecdh", "X25519"],
        "an agreed key is named by xenc:AgreementMethod, which is younger than the profile",
    ),
    (
        "R5620",
        &["aes192", "Basic192"],
        "WS-SecurityPolicy has suites with AES-192, and the profile has not",
    ),
];

/// Breaches of messages that other stacks wrote, by the beginning of their names.
const OF_OTHERS: &[(&str, &str, &str)] = &[
    (
        "cxf",
        "R3022",
        "a thumbprint of a certificate that is sent along",
    ),
    (
        "cxf",
        "R3058",
        "WS-Trust renewal: a type of token that no token profile defines",
    ),
    (
        "cxf",
        "R3059",
        "references to derived keys and contexts, which the profile does not know",
    ),
    (
        "cxf",
        "R3074",
        "WS-Trust renewal: a type of token that no token profile defines",
    ),
    (
        "metro",
        "R3059",
        "references to derived keys and contexts, which the profile does not know",
    ),
    (
        "soap",
        "bp-action",
        "the messages that are secured name their receiver alone",
    ),
    (
        "wss4j",
        "bp-action",
        "the messages that are secured name their receiver alone",
    ),
    (
        "zeep",
        "bp-action",
        "the messages that are secured name their receiver alone",
    ),
    (
        "wcf",
        "bp-addressing-iri",
        "Mono's WCF answers with the action `*`",
    ),
    ("metro", "R3069", "Metro leaves the TokenType out"),
    ("wcf", "R3029", "Mono's WCF leaves the EncodingType out"),
    ("wcf", "R3059", "Mono's WCF leaves the ValueType out"),
    ("wcf", "R3069", "Mono's WCF leaves the TokenType out"),
    ("wcf", "R3070", "Mono's WCF leaves the EncodingType out"),
    ("wcf", "R5218", "Mono's WCF leaves the ValueType out"),
    ("zeep", "R5205", "zeep puts the token behind the signature"),
    (
        "wse-php",
        "R5205",
        "wse-php puts the token behind the signature, if the caller signs first",
    ),
    (
        "wse-php",
        "bp-action",
        "the messages that are secured name their receiver alone",
    ),
    ("wss4j", "R5620", "suites with AES-192"),
    ("wcf", "R5620", "suites with AES-192"),
    ("metro", "R5620", "suites with AES-192"),
];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files of a folder and the folders in it with an ending, by their paths inside of it.
fn files(folder: &str, ending: &str) -> Vec<(String, Vec<u8>)> {
    let top = repository().join(folder);
    let (mut found, mut folders) = (Vec::new(), vec![top.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|own| own == ending) {
                let name = path.strip_prefix(&top).expect("a path inside");
                found.push((
                    name.display().to_string(),
                    std::fs::read(&path).expect("a file"),
                ));
            }
        }
    }
    found.sort();
    found
}

fn broken(source: Vec<u8>) -> BTreeSet<&'static str> {
    let report = lint(source, &Choice::Fitting, &|_| None).expect("a document");
    report
        .findings
        .iter()
        .map(|finding| finding.rule.id)
        .collect()
}

/// Compares what messages break with what is known of them; gives how many there are.
fn compare(messages: Vec<(String, Vec<u8>)>) -> usize {
    let mut unexpected: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let count = messages.len();
    for (name, source) in messages {
        for rule in broken(source) {
            let is_known = KNOWN.iter().any(|(known, of_names, _)| {
                *known == rule && of_names.iter().any(|part| name.contains(part))
            });
            if !is_known {
                unexpected.entry(rule).or_default().push(name.clone());
            }
        }
    }
    assert!(unexpected.is_empty(), "{unexpected:#?}");
    count
}

#[test]
fn every_message_of_the_vectors_keeps_the_rules_or_has_its_reason() {
    let count = compare(files("vectors/messages/accepted", "xml"));
    assert!(count >= 600, "{count} messages");
}

#[test]
fn every_breach_that_is_listed_is_there() {
    let messages = files("vectors/messages/accepted", "xml");
    for (rule, of_names, _) in KNOWN {
        let mut named = messages
            .iter()
            .filter(|(name, _)| of_names.iter().any(|part| name.contains(part)));
        let is_there = named.any(|(_, source)| broken(source.clone()).contains(rule));
        assert!(is_there, "{rule} in {of_names:?}");
    }
}

#[test]
fn the_contracts_of_the_sample_services_keep_the_rules() {
    let contracts = files("crates/services/contract", "wsdl");
    assert_eq!(contracts.len(), 6);
    for (name, source) in contracts {
        assert_eq!(broken(source), BTreeSet::new(), "{name}");
    }
}

#[test]
fn messages_of_other_stacks_break_the_rules_that_are_listed_and_no_others() {
    let messages = files("interop/recorded", "xml");
    assert!(messages.len() >= 400, "{} messages", messages.len());
    let mut found = BTreeSet::new();
    for (name, source) in messages {
        let stack = OF_OTHERS.iter().map(|(stack, ..)| *stack);
        let stack = stack.into_iter().find(|stack| name.starts_with(stack));
        for rule in broken(source) {
            found.insert((stack.unwrap_or("plain").to_owned(), rule.to_owned()));
        }
    }
    let listed = OF_OTHERS.iter();
    let listed: BTreeSet<_> = listed
        .map(|(stack, rule, _)| ((*stack).to_owned(), (*rule).to_owned()))
        .collect();
    assert_eq!(found, listed);
}

/// Our client and our service in place of the recorded ones, under the policies of Metro: requests
/// and answers of the writer as it is now.
#[test]
fn what_the_writer_makes_under_each_recorded_policy_keeps_the_rules() {
    let mut messages = Vec::new();
    for (name, _) in files("interop/recorded", "toml") {
        let client = repository().join("interop/recorded").join(&name);
        if !name.ends_with("client.toml") || client.with_file_name("bootstrap.wsdl").exists() {
            continue;
        }
        let service: Service = endpoint(&client.with_file_name("service.toml"));
        let client: Client = endpoint(&client);
        let version = if name.contains("SOAP-1.2") {
            "soap12"
        } else {
            "soap11"
        };
        let plain = repository().join(format!("interop/recorded/{version}.plain.xml"));
        let plain = std::fs::read_to_string(plain).expect("a plain message");
        let action = "<wsa:Action xmlns:wsa=\"http://www.w3.org/2005/08/addressing\">urn:getBooks</wsa:Action></soap:Header>";
        let plain = plain.replacen("</soap:Header>", action, 1).into_bytes();
        let request = client.secure(plain.clone());
        let request = request.unwrap_or_else(|error| panic!("{error}")).bytes;
        let memory = Memory::without_conversations(&ForgetfulReplayCache);
        let opened = match service.receive(request.clone(), memory) {
            Ok(Arrived::Message(opened)) => opened,
            other => panic!("{name}: {other:?}"),
        };
        let answer = service.answer(plain, &opened.receipt);
        let answer = answer.unwrap_or_else(|error| panic!("{error}")).bytes;
        messages.push((format!("{name} request"), request));
        messages.push((format!("{name} answer"), answer));
    }
    let count = compare(messages);
    assert!(count >= 60, "{count} messages");
}

fn endpoint<P: Fixed>(file: &Path) -> Endpoint<P> {
    let text = std::fs::read_to_string(file).expect("an endpoint file");
    EndpointConfig::from_text(&text, file, &|_| None)
        .and_then(|config| Endpoint::from_config(&config))
        .unwrap_or_else(|problems| panic!("{problems}"))
}
