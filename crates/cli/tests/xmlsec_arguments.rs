//! Every command line of xmlsec1 in the vectors directory is one of ours, too.

use std::ffi::OsString;

use clap::Parser;
use soapstone_cli::arguments::Arguments;
use soapstone_cli::commands::xml::spelling;

#[test]
fn every_command_line_of_xmlsec1_in_the_vectors_is_understood() {
    let cases = soapstone_testkit::cases_of_suite("xmlsec");
    let mut read = 0;
    for case in &cases {
        let Some(tail) = case.option("xmlsec_args") else {
            continue;
        };
        let operation = match case.kind.as_str() {
            "dsig-verify" => "verify",
            "enc-decrypt" => "decrypt",
            _ => continue,
        };
        // No value in them has spaces but times, which are quoted.
        let words = ["soapstone", "xml", operation].into_iter();
        let words = words.map(str::to_owned).chain(split(tail));
        let words = words.map(OsString::from).chain(["in.xml".into()]).collect();
        let parsed = Arguments::try_parse_from(spelling::normalize(words));
        assert!(parsed.is_ok(), "{tail}: {}", parsed.unwrap_err());
        read += 1;
    }
    assert!(
        cases.is_empty() || read > 300,
        "{read} command lines were found"
    );
}

/// The words of a command line: separated by spaces, except between quotes.
fn split(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = None;
    for character in line.chars() {
        match (quoted, character) {
            (None, '"' | '\'') => quoted = Some(character),
            (Some(open), _) if open == character => quoted = None,
            (None, ' ') => words.push(String::new()),
            _ => words.last_mut().expect("there is one").push(character),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
