//! Envelopes of SOAP 1.2, as Basic Profile 2.0 has them.

use std::collections::HashSet;

use crate::element::Element;
use crate::findings::{Findings, quoted};
use crate::message::Message;
use crate::names::{SOAP12, XML};

/// Codes of faults (SOAP 1.2 Part 1, 5.4.6).
const CODES: [&str; 5] = [
    "VersionMismatch",
    "MustUnderstand",
    "DataEncodingUnknown",
    "Sender",
    "Receiver",
];

/// Elements of a fault in their order, and whether a fault must have them.
const OF_FAULT: [(&str, bool); 5] = [
    ("Code", true),
    ("Reason", true),
    ("Node", false),
    ("Role", false),
    ("Detail", false),
];

/// Attributes of header blocks.
const OF_BLOCKS: [&str; 3] = ["role", "mustUnderstand", "relay"];

pub(super) fn look(message: &Message<'_>, findings: &mut Findings) {
    let parts = [Some(message.envelope), message.header, message.body];
    for part in parts.into_iter().flatten() {
        for attribute in part.attributes().filter(|one| one.namespace().is_empty()) {
            let found = quoted(Some(attribute.qualified_name()));
            let expected = "attributes with a namespace";
            findings.add("bp20-attributes", part, expected, found);
        }
    }
    for element in message.envelope.descendants() {
        look_at_attributes(element, message, findings);
    }
    let fault = message.body.and_then(|body| body.child(SOAP12, "Fault"));
    if let Some(fault) = fault {
        look_at_fault(fault, findings);
    }
}

fn look_at_attributes(element: Element<'_>, message: &Message<'_>, findings: &mut Findings) {
    for attribute in element
        .attributes()
        .filter(|attribute| attribute.namespace() == SOAP12)
    {
        let local = attribute.local();
        let name = quoted(Some(attribute.qualified_name()));
        if local == "encodingStyle" && element.namespace() == SOAP12 {
            let expected = "no encodingStyle";
            findings.add("bp20-encoding-style", element, expected, name);
        } else if OF_BLOCKS.contains(&local) {
            let of_block = message.header.is_some() && element.parent() == message.header;
            if !of_block {
                let expected = "the attribute at a header block";
                findings.add("bp20-block-attributes", element, expected, name);
            }
            let value = element.attribute(SOAP12, local).unwrap_or_default();
            let is_boolean = matches!(value.trim(), "true" | "false" | "1" | "0");
            if local != "role" && !is_boolean {
                let expected = "true, false, 1 or 0";
                findings.add("bp20-boolean", element, expected, quoted(Some(&value)));
            }
        }
    }
}

fn look_at_fault(fault: Element<'_>, findings: &mut Findings) {
    let mut at = 0;
    for child in fault.children() {
        let place = OF_FAULT
            .iter()
            .position(|(local, _)| child.is(SOAP12, local));
        let skips = |to: usize| OF_FAULT[at..to].iter().any(|(_, needed)| *needed);
        match place {
            Some(place) if place >= at && !skips(place) => at = place + 1,
            _ => {
                let found = quoted(Some(child.qualified_name()));
                let expected = "Code, Reason, Node, Role and Detail in this order";
                findings.add("bp20-fault", child, expected, found);
                return;
            }
        }
    }
    if at < 2 {
        findings.add("bp20-fault", fault, "a Code and a Reason", "one is missing");
    }
    let code = fault.child(SOAP12, "Code");
    if let Some(code) = code {
        look_at_code(code, findings);
    }
    if let Some(reason) = fault.child(SOAP12, "Reason") {
        look_at_reason(reason, findings);
    }
}

fn look_at_code(code: Element<'_>, findings: &mut Findings) {
    let expected = "a Value with a code of SOAP 1.2";
    let Some(value) = code.child(SOAP12, "Value") else {
        findings.add("bp20-fault-code", code, expected, "none");
        return;
    };
    let text = value.text();
    let (prefix, local) = text.trim().split_once(':').unwrap_or(("", text.trim()));
    if value.namespace_of(prefix) != Some(SOAP12) || !CODES.contains(&local) {
        findings.add("bp20-fault-code", value, expected, quoted(Some(&text)));
    }
}

fn look_at_reason(reason: Element<'_>, findings: &mut Findings) {
    let rule = "bp20-fault-reason";
    let mut languages = HashSet::new();
    let mut count = 0;
    for text in reason.children() {
        count += 1;
        let expected = "an env:Text with an xml:lang";
        match text.attribute(XML, "lang") {
            _ if !text.is(SOAP12, "Text") => {
                findings.add(rule, text, expected, quoted(Some(text.qualified_name())));
            }
            None => findings.add(rule, text, expected, "none"),
            Some(language) => {
                let found = quoted(Some(&language));
                // Tags of languages are the same in small and large letters (BCP 47, 2.1.1).
                if !languages.insert(language.to_ascii_lowercase()) {
                    let expected = "a language of its own";
                    let found = format!("a second {found}");
                    findings.add("bp20-fault-languages", text, expected, found);
                }
            }
        }
    }
    if count == 0 {
        findings.add(rule, reason, "an env:Text", "none");
    }
}
