//! The table of docs/algorithms.md says of each algorithm of RFC 9231 what the code does.
//!
//! The rule kept here: the table is walked against the registries of algorithms, in both
//! directions; a row without a verdict fails.

use std::collections::BTreeSet;

use soapstone_crypto::{
    DataEncryption, DigestAlgorithm, KeyAgreement, KeyDerivation, KeyTransport, KeyWrap,
    SignatureAlgorithm,
};
use soapstone_xml::Canonicalization;
use soapstone_xmlsec::namespaces::XPOINTER;

/// The namespaces of the identifiers that RFC 9231 and its predecessors define.
const MORE: &str = "/xmldsig-more";

/// Every identifier that the registries know.
fn registered() -> BTreeSet<&'static str> {
    let mut uris = BTreeSet::from([XPOINTER]);
    uris.extend(DigestAlgorithm::ALL.iter().map(|it| it.uri()));
    uris.extend(SignatureAlgorithm::ALL.iter().map(|it| it.uri()));
    uris.extend(DataEncryption::ALL.iter().map(|it| it.uri()));
    uris.extend(KeyTransport::ALL.iter().map(|it| it.uri()));
    uris.extend(KeyWrap::ALL.iter().map(|it| it.uri()));
    uris.extend(KeyAgreement::ALL.iter().map(|it| it.uri()));
    uris.extend(KeyDerivation::ALL.iter().map(|it| it.uri()));
    uris
}

/// The rows of the table: an identifier and its verdict.
fn rows() -> Vec<(String, String)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/algorithms.md");
    let text = std::fs::read_to_string(path).expect("the guide is there");
    let cells = text
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"))
        .map(|row| row.split(" | ").collect::<Vec<_>>());
    let rows = cells.filter_map(|row| match row[..] {
        [_, uri, verdict] if uri.starts_with('`') => {
            Some((uri.trim_matches('`').to_owned(), verdict.to_owned()))
        }
        _ => None,
    });
    rows.collect()
}

#[test]
fn the_table_of_rfc_9231_says_what_the_registries_know() {
    let registered = registered();
    let rows = rows();
    assert_eq!(rows.len(), 98, "RFC 9231 has 98 algorithms");
    for (uri, verdict) in &rows {
        let known = registered.contains(uri.as_str()) || Canonicalization::from_uri(uri).is_some();
        match verdict.split_once(": ") {
            None if verdict == "yes" => assert!(known, "{uri} is said to work"),
            Some(("no", reason)) if !reason.is_empty() => {
                assert!(!known, "{uri} is said not to work");
            }
            _ => panic!("{uri}: expected `yes` or `no: REASON`, found `{verdict}`"),
        }
    }
}

#[test]
fn every_algorithm_of_those_namespaces_is_in_the_table() {
    let rows = rows();
    let listed: BTreeSet<&str> = rows.iter().map(|(uri, _)| uri.as_str()).collect();
    assert_eq!(listed.len(), rows.len(), "an identifier has one row");
    let missing: Vec<&str> = registered()
        .into_iter()
        .filter(|uri| uri.contains(MORE) && !listed.contains(uri))
        .collect();
    assert_eq!(missing, [""; 0]);
}
