//! Bindings (Basic Profile 1.1, 4.4, 4.6 and 4.7).
//!
//! The rule kept here: what is not looked at is told, and breaks no rule.

use std::collections::HashSet;

use soapstone_xml::{Element, NodeId};

use crate::findings::{Findings, quoted};
use crate::look::wsdl::description::{Description, PortType, is_soap, named_operations, qname};
use crate::names::{SOAP_HTTP, WSDL};

/// The rules that are not looked for in the messages of operations that are not looked at.
pub(crate) const RULES_OF_MESSAGES: [&str; 8] = [
    "R2201", "R2203", "R2204", "R2205", "R2209", "R2210", "R2710", "R2740",
];

/// The rule that tells of such operations.
pub(crate) const NOT_LOOKED_AT: &str = "wsdl-not-looked-at";

/// Operations of all bindings whose messages are looked at, and parts of these messages: a
/// description may bind one large message many times.
const MOST_LOOKED_AT: usize = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Document,
    Rpc,
}

/// What may still be looked at.
struct Budget {
    left: usize,
    /// How many children of operations and messages were counted for it.
    counted: usize,
}

pub(super) fn look(description: &Description<'_>, findings: &mut Findings) {
    let left = MOST_LOOKED_AT;
    look_within(&mut Budget { left, counted: 0 }, description, findings);
}

fn look_within(budget: &mut Budget, description: &Description<'_>, findings: &mut Findings) {
    let all = description.definitions.children();
    for binding in all.filter(|child| child.is(WSDL, "binding")) {
        let Some(soap) = binding.children().find(|child| is_soap(*child, "binding")) else {
            findings.add("R2401", binding, "a soap:binding", "none");
            continue;
        };
        match soap.attribute("", "transport") {
            None => findings.add("R2701", soap, "a transport", "none"),
            Some(transport) if transport != SOAP_HTTP => {
                findings.add(
                    "R2702",
                    soap,
                    quoted(Some(SOAP_HTTP)),
                    quoted(Some(&transport)),
                );
            }
            Some(_) => {}
        }
        let operations: Vec<_> = named_operations(binding).collect();
        let style = look_at_styles(binding, soap, &operations, findings);
        let bound = Bound {
            description,
            binding,
            style,
            operations: &operations,
        };
        bound.look(budget, findings);
    }
}

fn style_of(element: Element<'_>) -> Option<Style> {
    match element.attribute("", "style")?.trim() {
        "rpc" => Some(Style::Rpc),
        _ => Some(Style::Document),
    }
}

fn look_at_styles(
    binding: Element<'_>,
    soap: Element<'_>,
    operations: &[(String, Element<'_>)],
    findings: &mut Findings,
) -> Style {
    let common = style_of(soap).unwrap_or(Style::Document);
    let styles = operations.iter().map(|(_, operation)| {
        let own = operation
            .children()
            .find(|child| is_soap(*child, "operation"));
        own.and_then(style_of).unwrap_or(common)
    });
    let styles: Vec<Style> = styles.collect();
    let first = styles.first().copied().unwrap_or(common);
    if styles.iter().any(|style| *style != first) {
        findings.add(
            "R2705",
            binding,
            "operations of one style",
            "document and rpc",
        );
    }
    first
}

/// A SOAP binding that is looked at.
struct Bound<'a, 'd> {
    description: &'a Description<'d>,
    binding: Element<'d>,
    style: Style,
    operations: &'a [(String, Element<'d>)],
}

impl<'d> Bound<'_, 'd> {
    fn look(&self, budget: &mut Budget, findings: &mut Findings) {
        for (_, operation) in self.operations {
            for message in operation
                .children()
                .filter(|child| child.namespace() == WSDL)
            {
                self.look_at_extensions(message, findings);
            }
        }
        let Some(abstract_operations) = self.description.port_type(self.binding) else {
            return;
        };
        self.look_at_set(abstract_operations, findings);
        let mut signatures = HashSet::new();
        let mut bound_parts = HashSet::new();
        let mut parts = Vec::new();
        for (place, (name, operation)) in self.operations.iter().enumerate() {
            let Some(meant) = abstract_operations.get(name) else {
                continue;
            };
            let Some(left) = self.left(*meant, budget) else {
                // What is too much for one binding is not counted again for the next.
                budget.left = 0;
                let whole = "messages that can be looked at";
                let found = format!(
                    "more than {MOST_LOOKED_AT}: those of the last {} operations are not",
                    self.operations.len() - place
                );
                findings.add(NOT_LOOKED_AT, *operation, whole, found);
                // A later operation may bind a part that none has bound so far.
                return;
            };
            budget.left = left;
            for kind in ["input", "output"] {
                let message = meant.child(WSDL, kind);
                let message = message.and_then(|message| self.description.message(message));
                let Some(message) = message else { continue };
                parts.extend(message.children().filter(|child| child.is(WSDL, "part")));
                if let Some(ours) = operation.child(WSDL, kind) {
                    let body = self.look_at_message(ours, message, &mut bound_parts, findings);
                    if kind == "input" {
                        self.look_at_signature(name, ours, body, &mut signatures, findings);
                    }
                }
            }
            self.look_at_faults(*operation, *meant, findings);
        }
        let unbound = parts.iter().find(|part| !bound_parts.contains(&part.id()));
        if let Some(part) = unbound {
            let name = part.attribute("", "name");
            let expected = "every part bound";
            let found = format!("part {} is not", quoted(name.as_deref()));
            findings.add("R2209", self.binding, expected, found);
        }
    }

    /// What is left behind the messages of an operation, which cost one, their parts, and one for
    /// each fault; `None` if they are too large. No more is counted than is left.
    fn left(&self, meant: Element<'d>, budget: &mut Budget) -> Option<usize> {
        let left = budget.left.checked_sub(1)?;
        let of_kinds = ["input", "output"].into_iter();
        let of_kinds = of_kinds.filter_map(|kind| meant.child(WSDL, kind));
        let faults = meant.children().filter(|child| child.is(WSDL, "fault"));
        let faults = faults.flat_map(|fault| [None, Some(fault)]);
        let looked_at = of_kinds.map(Some).chain(faults).flat_map(|named| {
            let message = named.map(|named| self.description.message(named));
            let parts = message.map(|message| message.into_iter().flat_map(|it| it.children()));
            let itself = named.is_none().then_some(());
            itself
                .into_iter()
                .chain(parts.into_iter().flatten().map(drop))
        });
        let size = looked_at.take(left + 1).count();
        budget.counted += 1 + size;
        left.checked_sub(size)
    }

    /// Whether the binding has the operations of its port type. All are compared: each operation of
    /// the description is looked at once.
    fn look_at_set(&self, meant: &PortType<'d>, findings: &mut Findings) {
        let own: HashSet<&str> = self
            .operations
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        for (name, operation) in self.operations {
            if !meant.contains_key(name) {
                let found = format!("{} that the port type lacks", quoted(Some(name)));
                findings.add("R2718", *operation, "operations of the port type", found);
            }
        }
        // The first one that is missing comes after the own ones at the latest.
        let mut names = meant.keys();
        if let Some(name) = names.find(|name| !own.contains(name.as_str())) {
            let found = format!("{} is not bound", quoted(Some(name)));
            findings.add(
                "R2718",
                self.binding,
                "all operations of the port type",
                found,
            );
        }
    }

    /// The SOAP elements of a bound message.
    fn look_at_extensions(&self, message: Element<'d>, findings: &mut Findings) {
        for element in message.descendants() {
            let kind = ["body", "header", "headerfault", "fault"]
                .into_iter()
                .find(|kind| is_soap(element, kind));
            let Some(kind) = kind else { continue };
            let uses = element.attribute("", "use");
            if uses.as_deref().is_some_and(|uses| uses != "literal") {
                let rule = if kind == "fault" { "R2723" } else { "R2706" };
                findings.add(rule, element, "`literal`", quoted(uses.as_deref()));
            }
            let namespace = element.attribute("", "namespace");
            let given = quoted(namespace.as_deref());
            match (self.style, kind) {
                (Style::Document, _) if namespace.is_some() => {
                    findings.add("R2716", element, "no namespace", given);
                }
                (Style::Rpc, "body") => {
                    let is_absolute = namespace.is_some_and(|namespace| namespace.contains(':'));
                    if !is_absolute {
                        findings.add(
                            "R2717",
                            element,
                            "a namespace that is an absolute URI",
                            given,
                        );
                    }
                }
                (Style::Rpc, _) if namespace.is_some() => {
                    findings.add("R2726", element, "no namespace", given);
                }
                _ => {}
            }
            if matches!(kind, "header" | "headerfault") {
                if element.attribute("", "part").is_none() {
                    findings.add("R2720", element, "a part", "none");
                }
                if let Some(parts) = element.attribute("", "parts") {
                    findings.add("R2749", element, "no parts", quoted(Some(&parts)));
                }
            }
            if kind == "fault" {
                let name = element.attribute("", "name");
                let around = message.attribute("", "name");
                if name.is_none() {
                    findings.add("R2721", element, "a name", "none");
                } else if name != around {
                    let expected = quoted(around.as_deref());
                    findings.add("R2754", element, expected, quoted(name.as_deref()));
                }
            }
        }
    }

    /// How the parts of a message are bound; gives the parts of the Body.
    fn look_at_message(
        &self,
        ours: Element<'d>,
        message: Element<'d>,
        bound: &mut HashSet<NodeId>,
        findings: &mut Findings,
    ) -> Vec<Element<'d>> {
        let parts: Vec<_> = message
            .children()
            .filter(|child| child.is(WSDL, "part"))
            .collect();
        let mut of_body = Vec::new();
        for element in ours.descendants() {
            if is_soap(element, "body") {
                match element.attribute("", "parts") {
                    Some(list) => {
                        let names: Vec<&str> = list.split_ascii_whitespace().collect();
                        if self.style == Style::Document && names.len() > 1 {
                            findings.add("R2201", element, "one part", quoted(Some(&list)));
                        }
                        let named = |name: &&str| self.description.part(message, name);
                        of_body.extend(names.iter().filter_map(named));
                    }
                    None => {
                        if self.style == Style::Document && parts.len() > 1 {
                            let found = format!("{} parts", parts.len());
                            findings.add("R2210", element, "a message of one part", found);
                        }
                        of_body.extend(parts.iter().copied());
                    }
                }
            } else if is_soap(element, "header") || is_soap(element, "headerfault") {
                let message = self.description.message(element);
                let name = element.attribute("", "part").unwrap_or_default();
                let part = message.and_then(|message| self.description.part(message, &name));
                if let Some(part) = part {
                    bound.insert(part.id());
                    look_at_part(part, "R2205", findings);
                }
            }
        }
        for part in &of_body {
            bound.insert(part.id());
            match self.style {
                Style::Document => look_at_part(*part, "R2204", findings),
                Style::Rpc if part.attribute("", "type").is_none() => {
                    findings.add("R2203", *part, "a type", "none");
                }
                Style::Rpc => {}
            }
        }
        of_body
    }

    /// Whether the Body of a request tells its operation from the others.
    fn look_at_signature(
        &self,
        name: &str,
        ours: Element<'d>,
        body: Vec<Element<'d>>,
        known: &mut HashSet<String>,
        findings: &mut Findings,
    ) {
        let signature = match self.style {
            Style::Rpc => name.to_owned(),
            Style::Document => {
                let element = body.first().and_then(|part| {
                    let value = part.attribute("", "element")?;
                    qname(*part, &value)
                });
                format!("{element:?}")
            }
        };
        if !known.insert(signature) {
            let expected = "a request that no other operation has";
            let found = format!(
                "the same Body as another one: operation {}",
                quoted(Some(name))
            );
            findings.add("R2710", ours, expected, found);
        }
    }

    fn look_at_faults(&self, operation: Element<'d>, meant: Element<'d>, findings: &mut Findings) {
        let bound: HashSet<_> = operation
            .children()
            .filter(|child| child.is(WSDL, "fault"))
            .filter_map(|fault| fault.attribute("", "name"))
            .collect();
        for fault in meant.children().filter(|child| child.is(WSDL, "fault")) {
            let name = fault.attribute("", "name").unwrap_or_default();
            if !bound.contains(&name) {
                let found = format!("{} is not bound", quoted(Some(&name)));
                findings.add("R2740", operation, "all faults of the operation", found);
            }
            let message = self.description.message(fault);
            for part in message.into_iter().flat_map(|message| message.children()) {
                if part.is(WSDL, "part") && bound.contains(&name) {
                    look_at_part(part, "R2205", findings);
                }
            }
        }
    }
}

/// A part that is an element.
fn look_at_part(part: Element<'_>, rule: &str, findings: &mut Findings) {
    if part.attribute("", "element").is_none() {
        let found = part.attribute("", "type");
        findings.add(rule, part, "an element", quoted(found.as_deref()));
    }
}

#[cfg(test)]
mod tests {
    use soapstone_xml::{Buffers, Document, ParseOptions};

    use super::*;
    use crate::rule::Profiles;

    /// What was counted of a description whose bindings have one port type, and what is told.
    fn counted(bindings: usize, operation: &str, most: usize) -> (usize, usize) {
        let parts = "<part name=\"p\" element=\"t:e\"/>".repeat(1_000);
        let bound = "<binding type=\"t:P\"><s:binding/><operation name=\"o\"/></binding>";
        let text = format!(
            "<definitions xmlns=\"{WSDL}\" xmlns:s=\"http://schemas.xmlsoap.org/wsdl/soap/\" xmlns:t=\"urn:t\" targetNamespace=\"urn:t\">\
             <message name=\"m\">{parts}</message>\
             <portType name=\"P\"><operation name=\"o\">{operation}</operation></portType>{}</definitions>",
            bound.repeat(bindings)
        );
        let options = ParseOptions::default();
        let document = Document::parse(text.into_bytes(), &options, &mut Buffers::new());
        let document = document.expect("a document");
        let mut findings = Findings::new(Profiles::BASIC);
        let (left, counted) = (most, 0);
        let mut budget = Budget { left, counted };
        look_within(
            &mut budget,
            &Description::read(document.root()),
            &mut findings,
        );
        (budget.counted, findings.count(NOT_LOOKED_AT))
    }

    /// A message that is too large is counted once, and no further than to the bound.
    #[test]
    fn what_is_not_looked_at_is_not_counted_for_each_binding() {
        let input = "<input message=\"t:m\"/>";
        assert_eq!(counted(1, input, 1_001), (1_001, 0));
        assert_eq!(counted(1, input, 1_000), (1_001, 1));
        assert_eq!(counted(300, input, 100), (101, 300));
        assert_eq!(counted(300, input, 1_001), (1_001, 299));
        // Faults have messages, too.
        assert_eq!(counted(1, "<fault message=\"t:m\"/>", 2_000), (1_002, 0));
        let faults = "<fault message=\"t:m\"/>".repeat(300);
        assert_eq!(counted(300, &faults, 2_000), (2_001, 300));
    }
}
