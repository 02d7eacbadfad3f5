//! Every canonicalization case of the vectors directory, octet by octet.
//!
//! Cases with an XPath expression go through [`nodes`](soapstone_xmltools::nodes), the others through both paths, which must agree.
//! `c14n-exceptions.json` beside this file names the cases that are not passed, each with its reason; passing one of them is a
//! failure too, so that the list stays true.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;
use soapstone_xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Canonicalization, Document, Element, Limits,
    ParseOptions, canonicalize,
};
use soapstone_xmltools::dtd::flatten;
use soapstone_xmltools::nodes::xpath::{Evaluation, Expression};
use soapstone_xmltools::nodes::{Tree, canonicalize_nodes};

#[test]
fn every_canonicalization_vector_gives_its_octets() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let directory = std::env::var_os("SOAPSTONE_VECTORS")
        .map_or_else(|| root.join("../../../shared/vectors"), PathBuf::from);
    if !directory.is_dir() {
        say(&format!(
            "SKIPPED: no canonicalization vector was run, there is no vectors directory at {}",
            directory.display()
        ));
        return;
    }
    let exceptions: BTreeMap<String, String> =
        serde_json::from_slice(&fs::read(root.join("tests/c14n-exceptions.json")).unwrap())
            .unwrap();
    let mut problems = Vec::new();
    let mut run = 0;
    for suite in suites(&directory) {
        let manifest: Value =
            serde_json::from_slice(&fs::read(suite.join("manifest.json")).unwrap()).unwrap();
        for case in manifest["cases"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|case| case["kind"] == "c14n")
        {
            run += 1;
            let id = case["id"].as_str().unwrap();
            match (check(&suite, case), exceptions.get(id)) {
                (Ok(()), None) | (Err(_), Some(_)) => {}
                (Ok(()), Some(reason)) => {
                    problems.push(format!("{id}: passes, although excepted: {reason}"))
                }
                (Err(problem), None) => problems.push(format!("{id}: {problem}")),
            }
        }
    }
    println!(
        "{run} canonicalization vectors, {} of them excepted",
        exceptions.len()
    );
    assert!(
        run > 0,
        "no canonicalization case in {}",
        directory.display()
    );
    assert!(
        problems.is_empty(),
        "{} of {run} fail:\n{}",
        problems.len(),
        problems.join("\n")
    );
}

fn suites(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut suites: Vec<PathBuf> = entries
        .filter(|path| path.join("manifest.json").is_file())
        .collect();
    suites.sort();
    suites
}

fn check(suite: &Path, case: &Value) -> Result<(), String> {
    let options = &case["options"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let expected =
        fs::read(suite.join(text(&case["expected"]["canonical_file"]).unwrap())).unwrap();
    let input = suite.join(case["file"].as_str().unwrap());
    let method = Canonicalization::from_uri(options["algorithm"].as_str().unwrap())
        .ok_or("unknown algorithm")?;
    let prefixes: Vec<String> = options["inclusive_prefixes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(text)
        .collect();
    let prefixes: Vec<&str> = prefixes.iter().map(String::as_str).collect();

    let mut source = fs::read(&input).unwrap();
    let mut ids = Vec::new();
    if source.windows(9).any(|it| it == b"<!DOCTYPE") {
        let beside = input.parent().unwrap();
        let flat = flatten(&source, &Limits::default(), &mut |system_id| {
            fs::read(beside.join(system_id)).ok()
        });
        let flat = flat.map_err(|error| error.to_string())?;
        (source, ids) = (flat.document, flat.ids);
    }
    let document = Document::parse(source, &ParseOptions::default(), &mut Buffers::default())
        .map_err(|error| error.to_string())?;
    let tree = Tree::new(&document, &ids).map_err(|error| error.to_string())?;

    let set = if let Some(expression) = options["xpath"].as_str() {
        let namespaces = &options["xpath_ns"];
        let expression = Expression::parse(expression, &|prefix| namespaces[prefix].as_str())
            .map_err(|error| error.to_string())?;
        Evaluation::new(&tree)
            .select(&expression)
            .map_err(|error| error.to_string())?
    } else {
        let apex = options["subtree"]
            .as_str()
            .map(|path| subtree(&document, path))
            .transpose()?;
        let set = match apex {
            Some(element) => {
                tree.subtree_set(tree.element(element.id()).ok_or("no such node")?, true)
            }
            None => tree.whole(true),
        };
        let apex = apex.map_or(Apex::Document, |element| Apex::Element(element.id()));
        let mut c14n = C14nOptions::new(method);
        c14n.inclusive_prefixes = &prefixes;
        let mut fast = Vec::new();
        canonicalize(
            &document,
            apex,
            &c14n,
            &mut C14nScratch::default(),
            &mut fast,
        )
        .map_err(|error| error.to_string())?;
        same("the fast path", &fast, &expected)?;
        set
    };
    let mut octets = Vec::new();
    canonicalize_nodes(&tree, &set, method, &prefixes, &mut octets);
    same("the node-set path", &octets, &expected)
}

/// `first {namespace}local`
fn subtree<'d>(document: &'d Document, path: &str) -> Result<Element<'d>, String> {
    let name = path
        .strip_prefix("first {")
        .and_then(|rest| rest.split_once('}'));
    let (namespace, local) = name.ok_or_else(|| format!("subtree `{path}` is not understood"))?;
    document
        .root()
        .descendants()
        .find(|element| element.is(namespace, local))
        .ok_or_else(|| format!("no {path}"))
}

fn same(path: &str, found: &[u8], expected: &[u8]) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    let at = found
        .iter()
        .zip(expected)
        .take_while(|(found, expected)| found == expected)
        .count();
    let show = |octets: &[u8]| {
        let end = octets.len().min(at + 60);
        String::from_utf8_lossy(&octets[at.saturating_sub(20).min(end)..end]).into_owned()
    };
    Err(format!(
        "{path} differs at octet {at}: found …{:?}, expected …{:?}",
        show(found),
        show(expected)
    ))
}

/// Writes a line that the test harness does not swallow.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
