//! What is said of mistakes in endpoint files tells no secret: a value of every kind stands in the
//! place of every key.

#[path = "support/canary.rs"]
mod canary;
#[path = "support/every_key.rs"]
mod every_key;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use soapstone::config::{EndpointConfig, KeyKind, KnownKey, json_schema};
use soapstone::{Client, Service};

use canary::{Node, assert_untold, canaries, may_be_told, unopened};
use every_key::{every_table, without_mistakes};

fn samples() -> [Node; 2] {
    [every_table(), without_mistakes()]
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/endpoint.toml")
}

/// Every variable is there, and holds a secret.
fn environment(_: &str) -> Option<String> {
    Some("C4naryS3cret".to_owned())
}

fn known(sample: &Node) -> Vec<KnownKey> {
    EndpointConfig::known_keys(&sample.file(), &file(), &environment)
}

/// Everything that is said while such a file is read and compiled.
fn told(text: &str, environment: &dyn Fn(&str) -> Option<String>) -> String {
    let config = match EndpointConfig::from_text(text, &file(), environment) {
        Ok(config) => config,
        Err(problems) => return format!("{problems}\n{problems:?}"),
    };
    let mut told = String::new();
    let compiled = [
        Service::from_config(&config).map(drop),
        Client::from_config(&config).map(drop),
    ];
    for problems in compiled.into_iter().filter_map(Result::err) {
        told.push_str(&format!("{problems}\n{problems:?}"));
    }
    told
}

#[test]
fn the_samples_have_every_table() {
    let all: Vec<KnownKey> = samples().iter().flat_map(known).collect();
    assert_eq!(unopened(&all), Vec::<String>::new());
    let names: BTreeSet<(&str, &str)> = all
        .iter()
        .map(|key| (key.table.as_str(), key.key))
        .collect();
    assert!(names.len() > 130, "{} keys", names.len());
}

#[test]
fn no_value_of_any_key_is_told_that_may_be_a_secret() {
    let samples = samples();
    let keys: Vec<(&Node, KnownKey)> = samples
        .iter()
        .flat_map(|sample| known(sample).into_iter().map(move |key| (sample, key)))
        .collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for first in 0..threads {
            let keys = keys.iter().skip(first).step_by(threads);
            scope.spawn(move || {
                for (sample, key) in keys {
                    no_value_is_told(sample, key);
                }
            });
        }
    });
}

fn no_value_is_told(sample: &Node, key: &KnownKey) {
    for value in canaries() {
        let Some(text) = sample.with(key, &value) else {
            continue;
        };
        if may_be_told(&key.kind, &value) {
            continue;
        }
        let of = format!("[{}] {} = {value}", key.table, key.key);
        assert_untold(&told(&text, &|_| None), &of);
        if matches!(key.kind, KeyKind::Variable) {
            assert_untold(&told(&text, &environment), &of);
        }
    }
}

#[test]
fn secrets_in_their_places_are_shown_by_no_debug() {
    let mut secrets = 0;
    for sample in samples() {
        for key in known(&sample) {
            let is_secret = matches!(key.kind, KeyKind::Secret | KeyKind::Variable);
            let value = "\"C4naryS3cret\"";
            let Some(text) = sample.with(&key, value).filter(|_| is_secret) else {
                continue;
            };
            secrets += 1;
            match EndpointConfig::from_text(&text, &file(), &environment) {
                Ok(config) => assert_untold(&format!("{config:?}"), key.key),
                Err(problems) => assert_untold(&format!("{problems:?}"), key.key),
            }
        }
    }
    assert!(secrets > 20, "{secrets} secrets");
}

/// To write it anew: `SOAPSTONE_WRITE_SCHEMA=1 cargo test -p soapstone --test keys schema`.
#[test]
fn the_schema_of_endpoint_files_has_the_keys_that_are_read() {
    let mut keys: Vec<KnownKey> = samples().iter().flat_map(known).collect();
    keys.sort();
    keys.dedup();
    let schema = json_schema("Soapstone endpoint file", &keys);
    let written = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/endpoint.schema.json");
    if std::env::var_os("SOAPSTONE_WRITE_SCHEMA").is_some() {
        std::fs::write(&written, &schema).expect("it is written");
    }
    let written = std::fs::read_to_string(written).expect("a schema");
    assert!(
        schema == written,
        "docs/endpoint.schema.json is not what is read"
    );
}
