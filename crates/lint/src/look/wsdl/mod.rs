//! Descriptions in WSDL 1.1, as the Basic Profiles have them.
//!
//! The rules about bindings are in [`bindings`], those about schemas in [`schemas`], and those of
//! Basic Profile 1.2 and 2.0 alone in [`addressing`]. The rule kept here: what a description
//! imports is read only where a rule is about it, and a document that is not at hand breaks
//! nothing.

mod addressing;
pub(crate) mod bindings;
mod schemas;

use std::collections::{BTreeMap, HashMap, HashSet};

use soapstone_xml::{Buffers, Document, Element, NodeId, ParseOptions};

use crate::Resolver;
use crate::findings::{Findings, quoted};
use crate::look::envelope::look_at_text;
use crate::names::{WSDL, WSDL_SOAP11, WSDL_SOAP12, XSD};

/// Imported documents that are read for one description.
const MOST_IMPORTS: usize = 32;

/// A name with its namespace.
type QName = (String, String);

/// A description, with what its elements refer to by name.
pub(super) struct Description<'d> {
    definitions: Element<'d>,
    /// Messages by local name. Those of other namespaces are not at hand.
    messages: HashMap<String, Element<'d>>,
    /// The parts of all messages, by the message and their name: of two with one name the first.
    parts: HashMap<(NodeId, String), Element<'d>>,
    port_types: HashMap<String, PortType<'d>>,
    target: String,
}

/// The operations of a port type, by name: read once, however many bindings it has.
pub(super) type PortType<'d> = BTreeMap<String, Element<'d>>;

impl<'d> Description<'d> {
    fn read(definitions: Element<'d>) -> Self {
        let named = |local: &'static str| {
            let of_kind = definitions.children();
            let of_kind = of_kind.filter(move |child| child.is(WSDL, local));
            of_kind.filter_map(|child| Some((child.attribute("", "name")?.into_owned(), child)))
        };
        let target = definitions.attribute("", "targetNamespace");
        let mut parts = HashMap::new();
        for (_, message) in named("message") {
            for part in message.children().filter(|child| child.is(WSDL, "part")) {
                if let Some(name) = part.attribute("", "name") {
                    parts
                        .entry((message.id(), name.into_owned()))
                        .or_insert(part);
                }
            }
        }
        Self {
            definitions,
            parts,
            messages: named("message").collect(),
            port_types: named("portType")
                .map(|(name, port_type)| (name, named_operations(port_type).collect()))
                .collect(),
            target: target.unwrap_or_default().into_owned(),
        }
    }

    /// The message that an attribute names.
    fn message(&self, element: Element<'d>) -> Option<Element<'d>> {
        let (namespace, local) = qname(element, &element.attribute("", "message")?)?;
        let found = self.messages.get(&local).copied();
        found.filter(|_| namespace == self.target)
    }

    /// The part of a message with this name.
    fn part(&self, message: Element<'d>, name: &str) -> Option<Element<'d>> {
        self.parts.get(&(message.id(), name.to_owned())).copied()
    }

    /// The port type of a binding.
    fn port_type(&self, binding: Element<'d>) -> Option<&PortType<'d>> {
        let (namespace, local) = qname(binding, &binding.attribute("", "type")?)?;
        let found = self.port_types.get(&local);
        found.filter(|_| namespace == self.target)
    }
}

/// The operations of a binding or a port type with their names.
fn named_operations<'d>(owner: Element<'d>) -> impl Iterator<Item = (String, Element<'d>)> {
    let operations = owner.children().filter(|child| child.is(WSDL, "operation"));
    operations.map(|operation| {
        let name = operation.attribute("", "name").unwrap_or_default();
        (name.into_owned(), operation)
    })
}

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

/// The expanded name that a value with a prefix means.
pub(super) fn qname(element: Element<'_>, value: &str) -> Option<QName> {
    let value = value.trim();
    let (prefix, local) = value.split_once(':').unwrap_or(("", value));
    let namespace = element.namespace_of(prefix);
    if namespace.is_none() && !prefix.is_empty() {
        return None;
    }
    Some((namespace.unwrap_or_default().to_owned(), local.to_owned()))
}

/// Whether an element is of the SOAP binding, of either version.
pub(super) fn is_soap(element: Element<'_>, local: &str) -> bool {
    element.is(WSDL_SOAP11, local) || element.is(WSDL_SOAP12, local)
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
