//! Any expression over any document: parsing and evaluation end within their bounds, and what is
//! selected has a canonical form.
//!
//! The first line is the expression, the rest the document.
#![no_main]

use libfuzzer_sys::fuzz_target;
use soapstone_fuzz::reading;
use soapstone_xml::Canonicalization;
use soapstone_xmltools::nodes::xpath::{Evaluation, Expression};
use soapstone_xmltools::nodes::{Tree, canonicalize_nodes};

/// Operations for one input: some milliseconds.
const OPERATIONS: u64 = 200_000;

const DOCUMENT: &str = r#"<a xmlns="urn:d" xmlns:p="urn:p" Id="i1"><p:b c="1" p:c="2">text<!--comment--><?target data?></p:b><b xml:id="i2"/></a>"#;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let (expression, source) = text.split_once('\n').unwrap_or((text, DOCUMENT));
    let uri = |prefix: &str| match prefix {
        "p" => Some("urn:p"),
        "d" => Some("urn:d"),
        "ds" => Some("http://www.w3.org/2000/09/xmldsig#"),
        "soap" => Some("http://schemas.xmlsoap.org/soap/envelope/"),
        _ => None,
    };
    let Ok(expression) = Expression::parse(expression, &uri) else {
        return;
    };
    let Some(document) = reading::parse(source.as_bytes()) else {
        return;
    };
    let Ok(tree) = Tree::new(&document, &[]) else {
        return;
    };
    let mut evaluation = Evaluation::bounded(&tree, OPERATIONS);
    evaluation.set_here(tree.element(document.root().id()));
    if let Ok(selected) = evaluation.select(&expression) {
        for method in Canonicalization::ALL {
            canonicalize_nodes(
                &tree,
                &selected,
                method,
                &["p", "#default"],
                &mut Vec::new(),
            );
        }
    }
    let whole = tree.whole(true);
    if let Ok(kept) = Evaluation::bounded(&tree, OPERATIONS).filter(&expression, &whole) {
        assert!(kept.len() <= whole.len());
    }
});
