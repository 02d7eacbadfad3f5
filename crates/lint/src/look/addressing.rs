//! Header blocks of WS-Addressing, as Basic Profile 1.2 and 2.0 take them in.

use std::collections::HashSet;

use crate::element::Element;
use crate::findings::{Findings, quoted};
use crate::message::Message;
use crate::names::{
    ADDRESSING, ADDRESSING_DRAFTS, ADDRESSING_FAULT, ADDRESSING_NONE, SOAP11, SOAP12,
};

/// Headers that a receiver is given once at most.
const ONCE: [&str; 5] = ["To", "ReplyTo", "FaultTo", "Action", "MessageID"];

/// Headers whose value is an IRI.
const IRIS: [&str; 4] = ["To", "Action", "MessageID", "RelatesTo"];

/// Headers that are endpoint references.
const ENDPOINTS: [&str; 3] = ["From", "ReplyTo", "FaultTo"];

pub(crate) fn look(message: &Message<'_>, findings: &mut Findings) {
    let mut blocks = Vec::new();
    for block in message.header.into_iter().flat_map(Element::children) {
        if ADDRESSING_DRAFTS.contains(&block.namespace()) {
            let found = quoted(Some(block.namespace()));
            let expected = "headers of 2005/08";
            findings.add("bp-addressing-version", block, expected, found);
        } else if block.namespace() == ADDRESSING {
            blocks.push(block);
        }
    }
    let fault = message
        .body
        .and_then(|body| body.child(message.soap, "Fault"));
    let Some(first) = blocks.first() else { return };
    look_at_counts(message, &blocks, findings);
    for block in &blocks {
        if IRIS.contains(&block.local()) && !is_absolute(&block.text()) {
            let found = quoted(Some(&block.text()));
            findings.add("bp-addressing-iri", *block, "an absolute IRI", found);
        }
        if ENDPOINTS.contains(&block.local()) {
            look_at_endpoint(*block, findings);
        }
    }
    let named = |local: &str| blocks.iter().find(|block| block.local() == local);
    let Some(action) = named("Action") else {
        findings.add("bp-action", *first, "a wsa:Action", "none");
        return;
    };
    // Of `FaultTo` alone nothing follows: a one-way message may say where its faults go.
    let answered = blocks.iter().find(|block| {
        let address = block.child(ADDRESSING, "Address");
        let goes_nowhere = address.is_some_and(|one| one.text().trim() == ADDRESSING_NONE);
        block.local() == "ReplyTo" && !goes_nowhere
    });
    if let Some(answered) = answered.filter(|_| named("MessageID").is_none()) {
        findings.add("bp-message-id", *answered, "a wsa:MessageID", "none");
    }
    if let Some(fault) = fault.filter(|fault| is_of_addressing(*fault)) {
        let text = action.text();
        if text.trim() != ADDRESSING_FAULT {
            let expected = quoted(Some(ADDRESSING_FAULT));
            findings.add("bp-fault-action", *action, expected, quoted(Some(&text)));
        }
        let detail = fault.child("", "detail");
        if let Some(detail) = detail.filter(|_| message.soap == SOAP11) {
            let expected = "a wsa:FaultDetail in the Header";
            findings.add(
                "bp12-fault-detail",
                detail,
                expected,
                "a detail in the Body",
            );
        }
    }
}

/// Each header once for each role.
fn look_at_counts(message: &Message<'_>, blocks: &[Element<'_>], findings: &mut Findings) {
    let role = match message.soap {
        SOAP11 => "actor",
        _ => "role",
    };
    let mut seen = HashSet::new();
    for block in blocks.iter().filter(|block| ONCE.contains(&block.local())) {
        let receiver = block.attribute(message.soap, role).unwrap_or_default();
        if !seen.insert((block.local(), receiver.into_owned())) {
            let found = format!("a second {}", quoted(Some(block.qualified_name())));
            findings.add("bp-addressing-once", *block, "one header", found);
        }
    }
}

fn look_at_endpoint(endpoint: Element<'_>, findings: &mut Findings) {
    let mut addresses = endpoint
        .children()
        .filter(|child| child.is(ADDRESSING, "Address"));
    let expected = "one wsa:Address with an absolute IRI";
    let found = match (addresses.next(), addresses.next()) {
        (None, _) => "none".to_owned(),
        (Some(_), Some(_)) => "more than one".to_owned(),
        (Some(one), None) if !is_absolute(&one.text()) => quoted(Some(&one.text())),
        (Some(_), None) => return,
    };
    findings.add("bp-endpoint-address", endpoint, expected, found);
}

/// Whether the code of a fault is one of WS-Addressing.
fn is_of_addressing(fault: Element<'_>) -> bool {
    let code = fault.child("", "faultcode").or_else(|| {
        let code = fault.child(SOAP12, "Code")?;
        code.child(SOAP12, "Subcode")?.child(SOAP12, "Value")
    });
    code.is_some_and(|code| {
        let text = code.text();
        let prefix = text.trim().split_once(':').map_or("", |(prefix, _)| prefix);
        code.namespace_of(prefix) == Some(ADDRESSING)
    })
}

/// Whether a text is an IRI with a scheme (RFC 3987, 2.2).
pub(crate) fn is_absolute(text: &str) -> bool {
    let text = text.trim();
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|one| one.is_ascii_alphanumeric() || "+-.".contains(one));
    is_scheme && !rest.is_empty() && !text.contains(char::is_whitespace)
}
