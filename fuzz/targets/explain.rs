//! Any bytes as a message that is explained: the explanation ends within its bounds, and its text
//! stays in its lines.
//!
//! What a listener hears of the message, a plan with the service's keys told. The seeds are
//! messages that are accepted, and one that a proxy indented.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use soapstone_crypto::{SecretBytes, SymmetricKey};
use soapstone_explain::{EngineReport, Explanation, Known, Options, explain, json, text};
use soapstone_fuzz::parties::{CASES, PASSWORD, USER, identity, moment};

/// Bytes that may be written and digested: small enough that one input takes some milliseconds.
const WORK: usize = 1 << 20;

/// Keys of the service.
static SERVICE: LazyLock<std::sync::Arc<soapstone_crypto::Identity>> =
    LazyLock::new(|| identity("service"));

fn known() -> Known {
    let shared = SymmetricKey::new((1..=32).collect()).expect("octets");
    Known {
        private_keys: vec![("our key".to_owned(), SERVICE.key().clone())],
        certificates: vec![("our certificate".to_owned(), SERVICE.certificate().clone())],
        secrets: vec![("the shared key".to_owned(), shared)],
        passwords: vec![(USER.to_owned(), SecretBytes::copy_of(PASSWORD))],
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut report = EngineReport::default();
    for case in CASES.iter() {
        case.explain(bytes, &mut report);
    }
    let options = Options {
        now: Some(moment()),
        known: known(),
        engine: Some(&report),
        against: Some(bytes),
        request: Some(bytes),
        work: WORK,
        dump: true,
        ..Options::default()
    };
    let Ok(told) = explain(bytes.to_vec(), &options) else {
        return;
    };
    is_bounded(&told, bytes.len());
    let text = text("input", &told);
    let is_steering = |one: char| one.is_control() && one != '\n';
    assert!(!text.contains(is_steering), "{text:?}");
    assert_eq!(json("input", &told)["bytes"], bytes.len());
});

/// What is kept was taken from the budget, and each candidate takes 512 bytes of it.
fn is_bounded(told: &Explanation, length: usize) {
    let kept: usize = told.dumps.iter().map(|(_, bytes)| bytes.len()).sum();
    assert!(kept <= WORK, "{kept} bytes of {length}");
    assert!(told.tried <= WORK / 512, "{} candidates", told.tried);
}
