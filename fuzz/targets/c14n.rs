//! A subtree of any document: the streaming canonicalizer and the one for sets of nodes, which
//! share no code, agree.
//!
//! The first byte chooses the method, the second the element, the third what is omitted; the rest
//! is the document.
#![no_main]

use libfuzzer_sys::fuzz_target;
use soapstone_fuzz::reading;
use soapstone_xml::{Apex, C14nOptions, Canonicalization, Element, NodeId};
use soapstone_xmltools::nodes::{Tree, canonicalize_nodes};

fuzz_target!(|bytes: &[u8]| {
    let [method, apex, omitted, source @ ..] = bytes else {
        return;
    };
    let Some(document) = reading::parse(source) else {
        return;
    };
    let method = Canonicalization::ALL[usize::from(*method) % Canonicalization::ALL.len()];
    let elements: Vec<Element<'_>> = document.root().descendants().collect();
    let apex = elements[usize::from(*apex) % elements.len()];
    let omit: Vec<NodeId> = elements
        .get(usize::from(*omitted))
        .filter(|element| element.id() != apex.id() && apex.contains(**element))
        .map(|element| element.id())
        .into_iter()
        .collect();
    // Every second prefix in scope, so that lists of prefixes are met with and without effect.
    let scope = apex.namespaces_in_scope();
    let prefixes: Vec<&str> = scope
        .iter()
        .step_by(2)
        .map(|(prefix, _)| {
            if prefix.is_empty() {
                "#default"
            } else {
                prefix
            }
        })
        .collect();
    let options = C14nOptions {
        inclusive_prefixes: &prefixes,
        omit: &omit,
        ..C14nOptions::new(method)
    };
    let Some(streamed) = reading::canonical_with(&document, Apex::Element(apex.id()), &options)
    else {
        return;
    };

    let Ok(tree) = Tree::new(&document, &[]) else {
        return;
    };
    let node = |id| tree.element(id).expect("nothing was grafted over it");
    let mut set = tree.subtree_set(node(apex.id()), method.with_comments());
    for omitted in &omit {
        set.subtract(&tree.subtree_set(node(*omitted), true));
    }
    let mut selected = Vec::new();
    canonicalize_nodes(&tree, &set, method, &prefixes, &mut selected);
    assert_eq!(
        String::from_utf8_lossy(&streamed),
        String::from_utf8_lossy(&selected),
        "{method:?} with prefixes {prefixes:?}"
    );
});
