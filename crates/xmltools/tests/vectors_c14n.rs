//! Every canonicalization case of the vectors, byte by byte.
//!
//! Cases with an XPath expression go through [`nodes`](soapstone_xmltools::nodes), the others
//! through both paths, which must agree. `c14n-exceptions.json` beside this file names the cases
//! that are not passed, each with its reason; passing one of them is a failure too, so that the
//! list stays true.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use soapstone_testkit::Case;
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
    let exceptions: BTreeMap<String, String> =
        serde_json::from_slice(&fs::read(root.join("tests/c14n-exceptions.json")).unwrap())
            .unwrap();
    let mut problems = Vec::new();
    let cases = soapstone_testkit::cases("c14n");
    for case in &cases {
        let id = &case.id;
        match (check(case), exceptions.get(id)) {
            (Ok(()), None) | (Err(_), Some(_)) => {}
            (Ok(()), Some(reason)) => {
                problems.push(format!("{id}: passes, although excepted: {reason}"))
            }
            (Err(problem), None) => problems.push(format!("{id}: {problem}")),
        }
    }
    println!(
        "{} canonicalization vectors, {} of them excepted",
        cases.len(),
        exceptions.len()
    );
    assert!(!cases.is_empty());
    assert!(
        problems.is_empty(),
        "{} of {} fail:\n{}",
        problems.len(),
        cases.len(),
        problems.join("\n")
    );
}

fn check(case: &Case) -> Result<(), String> {
    let expected = case.read(case.expected("canonical_file").unwrap());
    let method =
        Canonicalization::from_uri(case.option("algorithm").unwrap()).ok_or("unknown algorithm")?;
    let prefixes = case.listed("inclusive_prefixes");

    let mut source = case.input();
    let mut ids = Vec::new();
    if source.windows(9).any(|window| window == b"<!DOCTYPE") {
        let input = case.folder.join(&case.file);
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

    let set = if let Some(expression) = case.option("xpath") {
        let namespaces = &case.value["options"]["xpath_ns"];
        let expression = Expression::parse(expression, &|prefix| namespaces[prefix].as_str())
            .map_err(|error| error.to_string())?;
        Evaluation::new(&tree)
            .select(&expression)
            .map_err(|error| error.to_string())?
    } else {
        let apex = case
            .option("subtree")
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
        "{path} differs at byte {at}: found …{:?}, expected …{:?}",
        show(found),
        show(expected)
    ))
}
