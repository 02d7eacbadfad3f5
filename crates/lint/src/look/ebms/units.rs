//! Message units of a header block, and what user messages and signal messages have in common.
//!
//! The rule kept here: a copy of a user message in a receipt is no unit.

use super::values::is_uri;
use crate::element::Element;
use crate::findings::{Findings, quoted};
use crate::message::Message;
use crate::names::EBMS;

/// The first header block of a message.
pub(crate) fn messaging<'d>(message: &Message<'d>) -> Option<Element<'d>> {
    message.header?.child(EBMS, "Messaging")
}

/// The message units of a header block.
pub(crate) fn units<'d>(messaging: Element<'d>) -> impl Iterator<Item = Element<'d>> {
    let children = messaging.children();
    children.filter(|unit| unit.is(EBMS, "UserMessage") || unit.is(EBMS, "SignalMessage"))
}

/// The channel of a user message or of a pull request.
pub(super) fn look_at_channel(element: Element<'_>, findings: &mut Findings) {
    if let Some(channel) = element.attribute("", "mpc")
        && !is_uri(&channel)
    {
        findings.add("eb-mpc", element, "a URI", quoted(Some(&channel)));
    }
}

/// Text that is a URI unless a type says otherwise.
pub(super) fn look_at_untyped(element: Element<'_>, rule: &str, findings: &mut Findings) {
    let text = element.text();
    let value = text.trim();
    if element.attribute("", "type").is_none() && !value.is_empty() && !is_uri(value) {
        let expected = "a URI, or a type attribute";
        findings.add(rule, element, expected, quoted(Some(value)));
    }
}
