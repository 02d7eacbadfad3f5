//! User messages: parties, collaboration, properties and payload (ebMS 3.0 Core, 5.2.2), and
//! compressed payloads (AS4 1.0, 3.1).

use std::collections::HashSet;

use crate::element::Element;

use super::structure::{Child, Content, Others};
use super::units::{look_at_channel, look_at_untyped, messaging, units};
use super::values::{is_uri, unescaped};
use crate::findings::{Findings, quoted};
use crate::message::{Message, Target};
use crate::names::{EBMS, EBMS_TEST_ACTION, EBMS_TEST_SERVICE, XML};

const USER_MESSAGE: Content = Content {
    rule: "eb-user-message",
    children: &[
        Child::one("MessageInfo"),
        Child::one("PartyInfo"),
        Child::one("CollaborationInfo"),
        Child::at_most_one("MessageProperties"),
        Child::at_most_one("PayloadInfo"),
    ],
    others: Others::None,
};
const PARTY_INFO: Content = Content {
    rule: "eb-party-info",
    children: &[Child::one("From"), Child::one("To")],
    others: Others::None,
};
const PARTY: Content = Content {
    rule: "eb-party",
    children: &[Child::some("PartyId"), Child::one("Role")],
    others: Others::None,
};
const COLLABORATION: Content = Content {
    rule: "eb-collaboration-info",
    children: &[
        Child::at_most_one("AgreementRef"),
        Child::one("Service"),
        Child::one("Action"),
        Child::one("ConversationId"),
    ],
    others: Others::None,
};
const PROPERTIES: Content = Content {
    rule: "eb-property",
    children: &[Child::some("Property")],
    others: Others::None,
};
const PAYLOAD: Content = Content {
    rule: "eb-payload-info",
    children: &[Child::some("PartInfo")],
    others: Others::None,
};
const PART: Content = Content {
    rule: "eb-payload-info",
    children: &[
        Child::at_most_one("Schema"),
        Child::at_most_one("Description"),
        Child::at_most_one("PartProperties"),
    ],
    others: Others::None,
};

/// A payload part that a user message lists.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// The Body, or an element in it.
    InBody,
    /// The attachment with this Content-ID.
    Attachment(Vec<u8>),
    /// Something elsewhere.
    Elsewhere,
}

impl Part {
    /// The part that a `href` names; without one it is the Body.
    fn of(href: Option<&str>) -> Self {
        match href {
            None => Self::InBody,
            Some(href) if href.starts_with('#') => Self::InBody,
            Some(href) => content_id(href).map_or(Self::Elsewhere, Self::Attachment),
        }
    }
}

/// What the user messages of a message list.
#[derive(Default)]
pub(crate) struct Payload<'d> {
    /// Attachments, each with the element that lists it.
    pub(crate) attachments: Vec<(Vec<u8>, Element<'d>)>,
    /// Whether a part is in the Body.
    pub(crate) is_in_body: bool,
}

/// What the user messages of a message list.
pub(crate) fn payload<'d>(message: &Message<'d>) -> Payload<'d> {
    let mut payload = Payload::default();
    let units = messaging(message).into_iter().flat_map(units);
    for part in units.flat_map(parts) {
        let href = part.attribute("", "href");
        match Part::of(href.as_deref().map(str::trim)) {
            Part::InBody => payload.is_in_body = true,
            Part::Attachment(id) => payload.attachments.push((id, part)),
            Part::Elsewhere => {}
        }
    }
    payload
}

/// The Content-ID of a `cid:` URI (RFC 2392).
pub(crate) fn content_id(uri: &str) -> Option<Vec<u8>> {
    let scheme = uri.get(..4)?;
    scheme
        .eq_ignore_ascii_case("cid:")
        .then(|| unescaped(&uri[4..]))
}

/// Whether the properties of a part say that it is compressed.
pub(crate) fn is_compressed(part: Element<'_>) -> bool {
    let properties = part.child(EBMS, "PartProperties");
    properties.is_some_and(|properties| property(properties, "CompressionType").is_some())
}

/// The property with a name.
fn property<'d>(properties: Element<'d>, name: &str) -> Option<Element<'d>> {
    let mut children = properties.children();
    children
        .find(|one| one.is(EBMS, "Property") && one.attribute("", "name").as_deref() == Some(name))
}

/// The parts that a unit lists.
fn parts<'d>(unit: Element<'d>) -> impl Iterator<Item = Element<'d>> {
    let payload = unit.child(EBMS, "PayloadInfo").into_iter();
    let parts = payload.flat_map(|payload| payload.children());
    parts.filter(|part| part.is(EBMS, "PartInfo"))
}

pub(super) fn look(
    message: &Message<'_>,
    unit: Element<'_>,
    is_body_seen: bool,
    findings: &mut Findings,
) {
    USER_MESSAGE.look(unit, findings);
    look_at_channel(unit, findings);
    if let Some(parties) = unit.child(EBMS, "PartyInfo") {
        PARTY_INFO.look(parties, findings);
        for party in parties
            .children()
            .filter(|party| party.is(EBMS, "From") || party.is(EBMS, "To"))
        {
            look_at_party(party, findings);
        }
    }
    if let Some(collaboration) = unit.child(EBMS, "CollaborationInfo") {
        look_at_collaboration(collaboration, findings);
    }
    if let Some(properties) = unit.child(EBMS, "MessageProperties") {
        look_at_properties(properties, findings);
    }
    if let Some(payload) = unit.child(EBMS, "PayloadInfo") {
        PAYLOAD.look(payload, findings);
    }
    for part in parts(unit) {
        look_at_part(message, part, is_body_seen, findings);
    }
}

fn look_at_party(party: Element<'_>, findings: &mut Findings) {
    PARTY.look(party, findings);
    let mut types = HashSet::new();
    for child in party.children() {
        look_at_value(child, findings);
        if !child.is(EBMS, "PartyId") {
            continue;
        }
        look_at_untyped(child, "eb-party-id-uri", findings);
        if let Some(of_type) = child.attribute("", "type") {
            let found = quoted(Some(&of_type));
            if !types.insert(of_type.into_owned()) {
                findings.add("eb-party-id-type", child, "one id of a type", found);
            }
        }
    }
}

fn look_at_collaboration(collaboration: Element<'_>, findings: &mut Findings) {
    COLLABORATION.look(collaboration, findings);
    let text = |local| {
        let child = collaboration.child(EBMS, local);
        child.map(|child| child.text().trim().to_owned())
    };
    if let Some(agreement) = collaboration.child(EBMS, "AgreementRef") {
        look_at_value(agreement, findings);
        look_at_untyped(agreement, "eb-agreement-uri", findings);
    }
    if let Some(service) = collaboration.child(EBMS, "Service") {
        look_at_value(service, findings);
        look_at_untyped(service, "eb-service-uri", findings);
        let is_test = text("Action").as_deref() == Some(EBMS_TEST_ACTION);
        let named = text("Service");
        if is_test && named.as_deref() != Some(EBMS_TEST_SERVICE) {
            let expected = quoted(Some(EBMS_TEST_SERVICE));
            let found = quoted(named.as_deref());
            findings.add("eb-test-service", service, expected, found);
        }
    }
}

fn look_at_properties(properties: Element<'_>, findings: &mut Findings) {
    PROPERTIES.look(properties, findings);
    for property in properties
        .children()
        .filter(|property| property.is(EBMS, "Property"))
    {
        look_at_value(property, findings);
        let name = property.attribute("", "name");
        if name.as_deref().is_none_or(str::is_empty) {
            findings.add("eb-property-name", property, "a name", "none");
        }
    }
}

/// A value that the header schema wants to be there.
fn look_at_value(element: Element<'_>, findings: &mut Findings) {
    if element.namespace() == EBMS && element.text().is_empty() {
        findings.add("eb-empty-value", element, "a value", "none");
    }
}

fn look_at_part(
    message: &Message<'_>,
    part: Element<'_>,
    is_body_seen: bool,
    findings: &mut Findings,
) {
    PART.look(part, findings);
    let href = part.attribute("", "href");
    let href = href.as_deref().map(str::trim);
    if let Some(href) = href {
        if href.starts_with('#') {
            if is_body_seen && !is_in_body(message, href) {
                let expected = "the id of the Body or of an element in it";
                findings.add("eb-part-target", part, expected, quoted(Some(href)));
            }
        } else if !is_uri(href) || content_id(href).is_some_and(|id| id.starts_with(b"<")) {
            // A Content-ID in angle brackets with percent signs is a URI, and still none.
            let expected = "cid: and a Content-ID, # and an id, or a URL";
            findings.add("eb-part-href", part, expected, quoted(Some(href)));
        }
    }
    if let Some(schema) = part.child(EBMS, "Schema")
        && schema.attribute("", "location").is_none()
    {
        findings.add("eb-schema-location", schema, "a location", "none");
    }
    if let Some(description) = part.child(EBMS, "Description") {
        look_at_language(description, findings);
    }
    if let Some(properties) = part.child(EBMS, "PartProperties") {
        look_at_properties(properties, findings);
        look_at_compression(part, properties, &Part::of(href), findings);
    }
}

/// The language of a description, of a part or of an error.
pub(super) fn look_at_language(description: Element<'_>, findings: &mut Findings) {
    if description.attribute(XML, "lang").is_none() {
        let rule = "eb-description-language";
        findings.add(rule, description, "an xml:lang", "none");
    }
}

/// Whether a `#id` leads to the Body, or to an element in it.
fn is_in_body(message: &Message<'_>, href: &str) -> bool {
    match (message.target(Some(href)), message.body) {
        (Target::Inside(target), Some(body)) => body.contains(target),
        _ => false,
    }
}

fn look_at_compression(
    part: Element<'_>,
    properties: Element<'_>,
    of: &Part,
    findings: &mut Findings,
) {
    let named = |name| property(properties, name);
    let Some(compression) = named("CompressionType") else {
        return;
    };
    let text = compression.text();
    if text.trim() != "application/gzip" {
        let found = quoted(Some(&text));
        findings.add(
            "as4-compression-type",
            compression,
            "`application/gzip`",
            found,
        );
    }
    if named("MimeType").is_none() {
        let expected = "a property MimeType";
        findings.add("as4-compression-mime-type", properties, expected, "none");
    }
    if *of == Part::InBody {
        let expected = "compression of attachments alone";
        findings.add(
            "as4-compression-part",
            part,
            expected,
            "a payload in the Body",
        );
    }
}
