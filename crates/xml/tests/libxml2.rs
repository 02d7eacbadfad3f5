//! The same documents through libxml2's `xmllint`: canonical forms must be equal, and nothing that
//! it refuses may be accepted.
//!
//! Where `xmllint` is not installed (Debian: `libxml2-utils`) these tests say so and pass, but not
//! in continuous integration.

mod generate;

use generate::{root, write};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use soapstone_testkit::Folder;
use soapstone_xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Canonicalization, Document, ParseOptions, canonicalize,
};
use std::io::Write;
use std::process::Command;

const DOCUMENTS: usize = 120;

fn has_xmllint() -> bool {
    let found = Command::new("xmllint").arg("--version").output().is_ok();
    if !found {
        let text = "`xmllint` is not installed (package libxml2-utils)";
        assert!(std::env::var_os("CI").is_none(), "{text}");
        let _ = writeln!(std::io::stderr(), "SKIPPED: {text}");
    }
    found
}

fn documents() -> Vec<String> {
    let mut runner = TestRunner::deterministic();
    (0..DOCUMENTS)
        .map(|_| {
            let source = write(&root().new_tree(&mut runner).unwrap().current());
            // libxml2 writes `&` in namespace names as it is, against C14N 1.0 section 2.3.
            source.replace("?a=1&amp;b=2", "?a=1;b=2")
        })
        .collect()
}

fn parse(source: &[u8]) -> Result<Document, soapstone_xml::ParseError> {
    Document::parse(
        source.to_vec(),
        &ParseOptions::default(),
        &mut Buffers::new(),
    )
}

#[test]
fn canonical_forms_are_those_of_libxml2() {
    if !has_xmllint() {
        return;
    }
    let folder = Folder::new();
    let methods = [
        ("--c14n", Canonicalization::Inclusive10WithComments),
        ("--c14n11", Canonicalization::Inclusive11WithComments),
        ("--exc-c14n", Canonicalization::ExclusiveWithComments),
    ];
    for (number, source) in documents().into_iter().enumerate() {
        let path = folder.write(format!("{number}.xml"), &source);
        let document = parse(source.as_bytes()).unwrap();
        for (argument, method) in methods {
            let theirs = Command::new("xmllint")
                .arg(argument)
                .arg(&path)
                .output()
                .unwrap();
            let mut ours = Vec::new();
            let options = C14nOptions::new(method);
            canonicalize(
                &document,
                Apex::Document,
                &options,
                &mut C14nScratch::default(),
                &mut ours,
            )
            .unwrap();
            assert_eq!(
                String::from_utf8_lossy(&ours),
                String::from_utf8_lossy(&theirs.stdout),
                "{argument} of {source}"
            );
        }
    }
}

#[test]
fn what_libxml2_refuses_is_refused() {
    if !has_xmllint() {
        return;
    }
    let folder = Folder::new();
    let edits = b"<>&/=\"' !-?[]x\r:;#\x00\xEF";
    // A small generator of its own: the same edits on every run.
    let mut state = 0x2545_F491_4F6C_DD1Du64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % below
    };
    let mut accepted = 0;
    let mut command = Command::new("xmllint");
    command.arg("--noout");
    for (number, source) in documents().into_iter().enumerate() {
        for variant in 0..5 {
            let mut bytes = source.clone().into_bytes();
            for _ in 0..=random(2) {
                let at = random(bytes.len());
                match random(3) {
                    0 => bytes[at] = edits[random(edits.len())],
                    1 => bytes.insert(at, edits[random(edits.len())]),
                    _ => drop(bytes.remove(at)),
                }
            }
            if parse(&bytes).is_ok() {
                accepted += 1;
                command.arg(folder.write(format!("{number}-{variant}.xml"), &bytes));
            }
        }
    }
    assert!(
        accepted > 50,
        "only {accepted} of the edited documents are accepted: nothing is compared"
    );
    let output = command.output().unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr);
    // That namespace names be URIs is not a constraint of Namespaces in XML.
    let refused: Vec<&str> = complaints
        .lines()
        .filter(|line| line.contains(" error : ") && !line.ends_with("is not a valid URI"))
        .collect();
    assert_eq!(
        refused,
        Vec::<&str>::new(),
        "accepted here, refused by libxml2"
    );
}
