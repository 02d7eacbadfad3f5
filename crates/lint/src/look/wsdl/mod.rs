//! Descriptions in WSDL 1.1, as the Basic Profiles have them.
//!
//! The rules about bindings are in [`bindings`], those about schemas in [`schemas`], and those of
//! Basic Profile 1.2 and 2.0 alone in [`addressing`]. The rule kept here: what a description
//! imports is read only where a rule is about it, and a document that is not at hand breaks
//! nothing.

mod addressing;
pub(crate) mod bindings;
mod description;
mod schemas;

use std::collections::HashSet;

use soapstone_xml::{Buffers, Document, Element, ParseOptions};

use crate::findings::{Findings, quoted};
use crate::look::envelope::look_at_text;
use crate::names::{WSDL, XSD};
use crate::resolver::Resolver;

pub(super) use description::is_soap;
use description::{Description, qname};

/// Imported documents that are read for one description.
const MOST_IMPORTS: usize = 32;

pub(crate) fn look(
    document: &Document,
    encoding: Option<&str>,
    resolver: Resolver<'_>,
    findings: &mut Findings,
) {
    let definitions = document.root();
    let description = Description::read(definitions);
    look_at_text(document, encoding, ["R4003", "R4005"], findings);
    look_at_order(definitions, findings);
    look_at_imports(definitions, resolver, findings);
    look_at_extensions(definitions, findings);
    let known = schemas::look(definitions, findings);
    look_at_names(&description, &known, findings);
    for port_type in definitions
        .children()
        .filter(|child| child.is(WSDL, "portType"))
    {
        look_at_port_type(&description, port_type, findings);
    }
    bindings::look(&description, findings);
    addressing::look(&description, findings);
    look_at_addresses(definitions, findings);
}

fn look_at_order(definitions: Element<'_>, findings: &mut Findings) {
    let (mut seen_types, mut seen_others) = (false, false);
    for child in definitions
        .children()
        .filter(|child| child.namespace() == WSDL)
    {
        match child.local() {
            "documentation" => {}
            "import" if seen_types || seen_others => {
                findings.add("R2022", child, "imports first", "one behind other elements");
            }
            "import" => {}
            "types" => {
                if seen_others {
                    let found = "types behind other elements";
                    findings.add("R2023", child, "types in front of messages", found);
                }
                seen_types = true;
            }
            _ => seen_others = true,
        }
    }
}

fn look_at_imports(definitions: Element<'_>, resolver: Resolver<'_>, findings: &mut Findings) {
    let imports = definitions
        .children()
        .filter(|child| child.is(WSDL, "import"));
    for import in imports.take(MOST_IMPORTS) {
        let namespace = import.attribute("", "namespace").unwrap_or_default();
        if !namespace.contains(':') {
            findings.add("R2803", import, "an absolute URI", quoted(Some(&namespace)));
        }
        let location = import.attribute("", "location").unwrap_or_default();
        if location.trim().is_empty() {
            findings.add("R2007", import, "a location", "none");
            continue;
        }
        let source = resolver(&location);
        let options = ParseOptions::default();
        let parsed =
            source.and_then(|source| Document::parse(source, &options, &mut Buffers::new()).ok());
        let Some(other) = parsed else {
            continue;
        };
        let root = other.root();
        if !root.is(WSDL, "definitions") {
            let found = quoted(Some(root.qualified_name()));
            findings.add("R2001", import, "a wsdl:definitions", found);
            continue;
        }
        let target = root.attribute("", "targetNamespace").unwrap_or_default();
        if target != namespace {
            findings.add(
                "R2005",
                import,
                quoted(Some(&target)),
                quoted(Some(&namespace)),
            );
        }
    }
}

fn look_at_extensions(definitions: Element<'_>, findings: &mut Findings) {
    for element in definitions.descendants() {
        let required = element.attribute(WSDL, "required");
        if required.is_some_and(|required| matches!(required.trim(), "true" | "1")) {
            let found = quoted(Some(element.qualified_name()));
            findings.add(
                "R2026",
                element,
                "extensions that may be passed over",
                found,
            );
        }
    }
}

/// Names that the description's own elements refer to.
fn look_at_names(description: &Description<'_>, known: &schemas::Known, findings: &mut Findings) {
    let definitions = description.definitions;
    let imported = definitions
        .children()
        .filter(|child| child.is(WSDL, "import"))
        .filter_map(|import| Some(import.attribute("", "namespace")?.into_owned()));
    let mut namespaces: HashSet<String> = imported.collect();
    namespaces.insert(description.target.clone());
    namespaces.insert(XSD.to_owned());
    namespaces.extend(known.namespaces.iter().cloned());
    for element in definitions.descendants() {
        if element.namespace() != WSDL && !is_soap(element, "header") {
            continue;
        }
        for local in ["element", "type", "binding", "message"] {
            let Some(value) = element.attribute("", local) else {
                continue;
            };
            let name = qname(element, &value);
            let is_known = name
                .as_ref()
                .is_some_and(|(namespace, _)| namespaces.contains(namespace));
            if !is_known {
                let expected = "a name of a namespace that is defined or imported";
                findings.add("R2101", element, expected, quoted(Some(&value)));
            }
            if let Some(name) = name
                && element.is(WSDL, "part")
                && local == "element"
                && (name.0 == XSD || known.lacks(&name))
            {
                let expected = "an element that a schema declares";
                findings.add("R2206", element, expected, quoted(Some(&value)));
            }
        }
        let both = element
            .attribute("", "element")
            .and(element.attribute("", "type"));
        if element.is(WSDL, "part") && both.is_some() {
            findings.add("R2306", element, "an element or a type", "both");
        }
    }
}

fn look_at_port_type(
    description: &Description<'_>,
    port_type: Element<'_>,
    findings: &mut Findings,
) {
    let mut names = HashSet::new();
    for operation in port_type
        .children()
        .filter(|child| child.is(WSDL, "operation"))
    {
        let name = operation.attribute("", "name").unwrap_or_default();
        if !names.insert(name.clone()) {
            let expected = "an operation with a name of its own";
            findings.add("R2304", operation, expected, quoted(Some(&name)));
        }
        let first = operation
            .children()
            .find(|child| child.is(WSDL, "input") || child.is(WSDL, "output"));
        if first.is_some_and(|first| first.is(WSDL, "output")) {
            findings.add("R2303", operation, "wsdl:input first", "wsdl:output first");
        }
        let Some(order) = operation.attribute("", "parameterOrder") else {
            continue;
        };
        let order: HashSet<&str> = order.split_ascii_whitespace().collect();
        let output = operation.child(WSDL, "output");
        let message = output.and_then(|output| description.message(output));
        let parts = message.into_iter().flat_map(|message| message.children());
        let omitted = parts
            .filter(|part| part.is(WSDL, "part"))
            .filter(|part| {
                let name = part.attribute("", "name").unwrap_or_default();
                !order.contains(&*name)
            })
            .count();
        if omitted > 1 {
            let found = format!("{omitted} left out");
            findings.add(
                "R2305",
                operation,
                "one part of the output left out at most",
                found,
            );
        }
    }
}

fn look_at_addresses(definitions: Element<'_>, findings: &mut Findings) {
    let mut known = HashSet::new();
    let services = definitions
        .children()
        .filter(|child| child.is(WSDL, "service"));
    let ports = services.flat_map(|service| service.children());
    for address in ports.flat_map(|port| port.children()) {
        if !is_soap(address, "address") {
            continue;
        }
        let location = address.attribute("", "location").unwrap_or_default();
        let version = address.namespace();
        if !known.insert((version, location.clone().into_owned())) {
            let expected = "an address that no other port has";
            findings.add("R2711", address, expected, quoted(Some(&location)));
        }
    }
}
