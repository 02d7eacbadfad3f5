//! References of real signatures: transforms over node-sets give the bytes that other
//! implementations digested.
//!
//! Every valid `dsig-verify` case is searched for references into its own document whose transforms
//! are those of [`nodes`](soapstone_xmltools::nodes). The digest of their result must be the signed
//! one. Keys do not matter here.

use soapstone_crypto::{DigestAlgorithm, base64};
use soapstone_xml::{
    Buffers, Canonicalization, Document, Element, IdAttributes, Limits, ParseOptions,
};
use soapstone_xmltools::dtd::flatten;
use soapstone_xmltools::nodes::filter::{Filter, Operation, enveloped_signature, filter2};
use soapstone_xmltools::nodes::xpath::{Evaluation, Expression};
use soapstone_xmltools::nodes::{NodeSet, Tree, canonicalize_nodes};

const DS: &str = "http://www.w3.org/2000/09/xmldsig#";
const XPATH: &str = "http://www.w3.org/TR/1999/REC-xpath-19991116";
const FILTER2: &str = "http://www.w3.org/2002/06/xmldsig-filter2";
const EXCLUSIVE: &str = "http://www.w3.org/2001/10/xml-exc-c14n#";

#[test]
fn transformed_references_of_valid_signatures_have_the_signed_digest() {
    let (mut checked, mut problems) = (0, Vec::new());
    for case in soapstone_testkit::cases("dsig-verify") {
        // Signers that dropped white space signed another document than the file holds.
        if case.outcome() != "valid" || case.value["options"]["drop_blank_text_nodes"] == true {
            continue;
        }
        match check(&case.input(), &case.listed("id_attrs")) {
            Ok(references) => checked += references,
            Err(problem) => problems.push(format!("{}: {problem}", case.id)),
        }
    }
    println!("{checked} references with transforms over node-sets");
    assert!(
        problems.is_empty(),
        "{} cases fail:\n{}",
        problems.len(),
        problems.join("\n")
    );
    assert!(checked > 0);
}

/// Checks what can be checked in one file; returns how many references that were.
fn check(source: &[u8], id_attributes: &[&str]) -> Result<usize, String> {
    let flat =
        flatten(source, &Limits::default(), &mut |_| None).map_err(|error| error.to_string())?;
    let mut ids = IdAttributes::standard();
    for attribute in id_attributes {
        ids = ids.with(attribute.split(':').next().unwrap_or(attribute));
    }
    let options = ParseOptions {
        ids,
        ..ParseOptions::default()
    };
    let document = Document::parse(flat.document, &options, &mut Buffers::default())
        .map_err(|error| error.to_string())?;
    let tree = Tree::new(&document, &flat.ids).map_err(|error| error.to_string())?;
    let mut checked = 0;
    for signature in document
        .root()
        .descendants()
        .filter(|element| element.is(DS, "Signature"))
    {
        let Some(signed_info) = signature.child(DS, "SignedInfo") else {
            continue;
        };
        for reference in signed_info
            .children()
            .filter(|element| element.is(DS, "Reference"))
        {
            // Without URI the application knows what is meant (XML-Signature section 4.4.3.1).
            let Some(uri) = reference.attribute("", "URI") else {
                continue;
            };
            if let Some(octets) = transformed(&tree, signature, reference, &uri)? {
                checked += 1;
                let expected = reference
                    .child(DS, "DigestValue")
                    .map(|value| value.text().into_owned());
                let expected: String = expected.unwrap_or_default().split_whitespace().collect();
                let Some(found) = digest(reference, &octets) else {
                    continue;
                };
                if found != expected {
                    let shown =
                        String::from_utf8_lossy(&octets[..octets.len().min(2000)]).into_owned();
                    return Err(format!(
                        "reference {checked} `{uri}` gave other bytes: {shown}"
                    ));
                }
            }
        }
    }
    Ok(checked)
}

/// The bytes that a reference digests, or `None` if it needs something else than node-sets.
fn transformed(
    tree: &Tree<'_>,
    signature: Element<'_>,
    reference: Element<'_>,
    uri: &str,
) -> Result<Option<Vec<u8>>, String> {
    let xpointer_id = uri
        .strip_prefix("#xpointer(id('")
        .and_then(|rest| rest.strip_suffix("'))"));
    let mut set = match (uri, xpointer_id) {
        ("", _) => tree.whole(false),
        ("#xpointer(/)", _) => tree.whole(true),
        (_, id) => match id.or_else(|| uri.strip_prefix('#')) {
            None => return Ok(None),
            Some(name) => match tree.by_id(name).map_err(|error| error.to_string())? {
                Some(node) => tree.subtree_set(node, id.is_some()),
                None => return Ok(None),
            },
        },
    };
    let transforms = reference.child(DS, "Transforms");
    let mut evaluation = Evaluation::new(tree);
    let mut method = (Canonicalization::Inclusive10, Vec::new());
    let transforms: Vec<Element<'_>> = transforms
        .into_iter()
        .flat_map(|transforms| transforms.children())
        .collect();
    for (index, transform) in transforms.iter().enumerate() {
        let algorithm = transform.attribute("", "Algorithm").unwrap_or_default();
        if let Some(canonicalization) = Canonicalization::from_uri(&algorithm) {
            if index + 1 < transforms.len() {
                return Ok(None);
            }
            let list = transform.child(EXCLUSIVE, "InclusiveNamespaces");
            let list = list
                .and_then(|list| list.attribute("", "PrefixList"))
                .unwrap_or_default();
            method = (
                canonicalization,
                list.split_whitespace().map(str::to_owned).collect(),
            );
        } else if algorithm == "http://www.w3.org/2000/09/xmldsig#enveloped-signature" {
            enveloped_signature(tree, tree.element(signature.id()).unwrap(), &mut set);
        } else if algorithm == XPATH || algorithm == FILTER2 {
            set = filtered(tree, &mut evaluation, *transform, &set, &algorithm)?;
        } else {
            return Ok(None);
        }
    }
    let prefixes: Vec<&str> = method.1.iter().map(String::as_str).collect();
    let mut octets = Vec::new();
    canonicalize_nodes(tree, &set, method.0, &prefixes, &mut octets);
    Ok(Some(octets))
}

fn filtered(
    tree: &Tree<'_>,
    evaluation: &mut Evaluation<'_, '_>,
    transform: Element<'_>,
    input: &NodeSet,
    algorithm: &str,
) -> Result<NodeSet, String> {
    let mut filters = Vec::new();
    for element in transform.children() {
        let expression = Expression::parse(&element.text(), &|prefix| element.namespace_of(prefix))
            .map_err(|error| format!("{error} in {}", element.text()))?;
        let operation = element
            .attribute("", "Filter")
            .and_then(|name| Operation::from_name(&name));
        let operation = operation.unwrap_or(Operation::Intersect);
        filters.push(Filter {
            operation,
            expression,
            here: tree.element(element.id()),
        });
    }
    if algorithm == FILTER2 {
        return filter2(evaluation, &filters, input).map_err(|error| error.to_string());
    }
    let filter = filters.first().ok_or("no XPath element")?;
    evaluation.set_here(filter.here);
    evaluation
        .filter(&filter.expression, input)
        .map_err(|error| error.to_string())
}

/// The digest of `octets` in base64, if its algorithm is known.
fn digest(reference: Element<'_>, octets: &[u8]) -> Option<String> {
    let method = reference
        .child(DS, "DigestMethod")?
        .attribute("", "Algorithm")?;
    let algorithm = DigestAlgorithm::from_uri(&method)?;
    let digest = soapstone_crypto::digest(algorithm, octets).ok()?;
    Some(base64::encode(digest.as_ref()))
}
