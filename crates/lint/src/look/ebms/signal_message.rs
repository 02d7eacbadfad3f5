//! Signal messages: pull requests, receipts and errors (ebMS 3.0 Core, 5.2.3 and 6), and what
//! receipts hold (AS4 1.0, 5.1.8).

use crate::element::Element;

use super::structure::{Child, Content, Others};
use super::units::look_at_channel;
use super::user_message::look_at_language;
use crate::findings::{Findings, quoted};
use crate::names::{DS, EBBP_SIGNALS, EBMS};

const SIGNAL_MESSAGE: Content = Content {
    rule: "eb-signal-message",
    children: &[
        Child::one("MessageInfo"),
        Child::at_most_one("PullRequest"),
        Child::at_most_one("Receipt"),
        Child::any("Error"),
    ],
    others: Others::Behind,
};
const ERROR: Content = Content {
    rule: "eb-error",
    children: &[
        Child::at_most_one("Description"),
        Child::at_most_one("ErrorDetail"),
    ],
    others: Others::None,
};

pub(super) fn look(unit: Element<'_>, findings: &mut Findings) {
    SIGNAL_MESSAGE.look(unit, findings);
    if unit.children().all(|child| child.is(EBMS, "MessageInfo")) {
        let expected = "a PullRequest, a Receipt or an Error";
        findings.add("eb-signal-message", unit, expected, "none");
    }
    let info = unit.child(EBMS, "MessageInfo");
    let reference = info.and_then(|info| info.child(EBMS, "RefToMessageId"));
    let reference = reference.map(|reference| reference.text().trim().to_owned());
    for signal in unit.children().filter(|child| child.namespace() == EBMS) {
        match signal.local() {
            "PullRequest" => look_at_channel(signal, findings),
            "Receipt" => {
                if reference.is_none() {
                    let expected = "an eb:RefToMessageId";
                    findings.add("eb-receipt-reference", signal, expected, "none");
                }
                look_at_receipt(signal, findings);
            }
            "Error" => look_at_error(signal, reference.as_deref(), findings),
            _ => {}
        }
    }
}

fn look_at_receipt(receipt: Element<'_>, findings: &mut Findings) {
    if let Some(evidence) = receipt.child(EBBP_SIGNALS, "NonRepudiationInformation") {
        look_at_evidence(evidence, findings);
    } else if receipt.child(EBMS, "UserMessage").is_none() {
        let first = receipt.first_child();
        let found = quoted(first.as_ref().map(Element::qualified_name));
        let expected = "an ebbp:NonRepudiationInformation or an eb:UserMessage";
        findings.add("as4-receipt-content", receipt, expected, found);
    }
}

fn look_at_evidence(evidence: Element<'_>, findings: &mut Findings) {
    let rule = "as4-receipt-evidence";
    let mut is_empty = true;
    let parts = evidence.children();
    for part in parts.filter(|part| part.is(EBBP_SIGNALS, "MessagePartNRInformation")) {
        is_empty = false;
        let reference = part.child(DS, "Reference");
        let has = |local| reference.is_some_and(|reference| reference.child(DS, local).is_some());
        if !(has("DigestMethod") && has("DigestValue")) {
            let first = part.first_child();
            let found = quoted(first.as_ref().map(Element::qualified_name));
            findings.add(rule, part, "a ds:Reference with its digest", found);
        }
    }
    if is_empty {
        let expected = "an ebbp:MessagePartNRInformation";
        findings.add(rule, evidence, expected, "none");
    }
}

fn look_at_error(error: Element<'_>, reference: Option<&str>, findings: &mut Findings) {
    ERROR.look(error, findings);
    if let Some(description) = error.child(EBMS, "Description") {
        look_at_language(description, findings);
    }
    let code = error.attribute("", "errorCode");
    if code.as_deref().is_none_or(|code| code.trim().is_empty()) {
        findings.add("eb-error-code", error, "an errorCode", "none");
    }
    let severity = error.attribute("", "severity");
    let severity = severity.as_deref().map(str::trim);
    if !matches!(severity, Some("warning" | "failure")) {
        let expected = "`warning` or `failure`";
        findings.add("eb-error-severity", error, expected, quoted(severity));
    }
    let about = error.attribute("", "refToMessageInError");
    if let Some(about) = about.as_deref().map(str::trim)
        && reference != Some(about)
    {
        let expected = match reference {
            Some(reference) => format!("{}, as in eb:RefToMessageId", quoted(Some(reference))),
            None => "an eb:RefToMessageId with the same id".to_owned(),
        };
        findings.add("eb-error-reference", error, expected, quoted(Some(about)));
    }
}
