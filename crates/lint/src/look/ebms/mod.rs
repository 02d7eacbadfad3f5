//! Headers of ebMS 3.0: what message units share. User messages and signal messages have files of
//! their own.
//!
//! The rule kept here: an element is looked at where it stands. Copies of user messages in receipts
//! are evidence, and no message units.

mod signal_message;
mod structure;
mod units;
mod user_message;
mod values;

use std::collections::HashSet;

use crate::element::Element;

pub(crate) use units::{messaging, units};
pub(crate) use user_message::{content_id, is_compressed, payload};

use crate::date_time::DateTime;
use crate::findings::{Findings, quoted};
use crate::message::Message;
use crate::names::{EBMS, SOAP11};
use structure::{Child, Content, Others};
use values::is_message_id;

const UNITS: Content = Content {
    rule: "eb-messaging-content",
    children: &[Child::any("SignalMessage"), Child::any("UserMessage")],
    others: Others::Behind,
};
const INFO: Content = Content {
    rule: "eb-message-info",
    children: &[
        Child::one("Timestamp"),
        Child::one("MessageId"),
        Child::at_most_one("RefToMessageId"),
    ],
    others: Others::None,
};

/// Zones that say UTC; without a zone UTC is meant.
const UTC: [&str; 4] = ["", "Z", "+00:00", "-00:00"];

pub(crate) fn look(message: &Message<'_>, findings: &mut Findings) {
    let blocks: Vec<Element<'_>> = message
        .header
        .into_iter()
        .flat_map(|header| header.children())
        .filter(|block| block.is(EBMS, "Messaging"))
        .collect();
    let Some(messaging) = blocks.first().copied() else {
        let place = message.header.unwrap_or(message.envelope);
        findings.add("eb-messaging", place, "an eb:Messaging", "none");
        return;
    };
    if let Some(second) = blocks.get(1) {
        let found = blocks.len().to_string();
        findings.add("eb-messaging", *second, "one eb:Messaging", found);
    }
    look_at_mark(message, messaging, findings);
    look_at_units(messaging, findings);
    // What stands in an encrypted Body is not seen.
    let is_body_seen = !encrypted_in_body(message).any(|_| true);
    let mut ids = HashSet::new();
    for unit in units(messaging) {
        look_at_info(unit, &mut ids, findings);
        if unit.local() == "UserMessage" {
            user_message::look(message, unit, is_body_seen, findings);
        } else {
            signal_message::look(unit, findings);
        }
    }
}

/// Encrypted data in the Body.
pub(crate) fn encrypted_in_body<'d>(message: &Message<'d>) -> impl Iterator<Item = Element<'d>> {
    let body = message.body;
    let data = message.encrypted_data.iter().copied();
    data.filter(move |data| body.is_some_and(|body| body.contains(*data)))
}

fn look_at_mark(message: &Message<'_>, messaging: Element<'_>, findings: &mut Findings) {
    let mark = messaging.attribute(message.soap, "mustUnderstand");
    let mark = mark.as_deref().map(str::trim);
    let is_set = match message.soap {
        SOAP11 => mark == Some("1"),
        _ => matches!(mark, Some("1" | "true")),
    };
    if !is_set {
        let expected = match message.soap {
            SOAP11 => "mustUnderstand=\"1\"",
            _ => "mustUnderstand=\"true\"",
        };
        findings.add("eb-must-understand", messaging, expected, quoted(mark));
    }
}

fn look_at_units(messaging: Element<'_>, findings: &mut Findings) {
    UNITS.look(messaging, findings);
    if units(messaging).next().is_none() {
        let expected = "an eb:UserMessage or an eb:SignalMessage";
        findings.add("eb-messaging-content", messaging, expected, "none");
    }
    let users = units(messaging).filter(|unit| unit.local() == "UserMessage");
    let users: Vec<Element<'_>> = users.collect();
    if let Some(second) = users.get(1) {
        let found = users.len().to_string();
        findings.add("eb-one-user-message", *second, "one eb:UserMessage", found);
    }
}

fn look_at_info(unit: Element<'_>, ids: &mut HashSet<String>, findings: &mut Findings) {
    let Some(info) = unit.child(EBMS, "MessageInfo") else {
        // The content of the unit is told to have none.
        return;
    };
    INFO.look(info, findings);
    if let Some(timestamp) = info.child(EBMS, "Timestamp") {
        let text = timestamp.text();
        let time = DateTime::read(text.trim());
        if !time.is_some_and(|time| UTC.contains(&time.zone) && time.seconds < 60) {
            let expected = "an xsd:dateTime in UTC";
            findings.add("eb-timestamp", timestamp, expected, quoted(Some(&text)));
        }
    }
    for (local, rule) in [
        ("MessageId", "eb-message-id"),
        ("RefToMessageId", "eb-ref-to-message-id"),
    ] {
        let Some(element) = info.child(EBMS, local) else {
            continue;
        };
        let id = element.text();
        let bare = id
            .strip_prefix('<')
            .and_then(|inner| inner.strip_suffix('>'));
        if bare.is_some() {
            let expected = "an id without angle brackets";
            let found = quoted(Some(&id));
            findings.add("eb-message-id-brackets", element, expected, found);
        }
        if !is_message_id(bare.unwrap_or(&id)) {
            let expected = "an id such as 6f1a@sender.example";
            findings.add(rule, element, expected, quoted(Some(&id)));
        }
        if local == "MessageId" && !ids.insert(id.clone().into_owned()) {
            let expected = "an id of this unit alone";
            let found = quoted(Some(&id));
            findings.add("eb-message-id-unique", element, expected, found);
        }
    }
}
