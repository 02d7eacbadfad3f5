//! What an attacker makes of a secured message, by its text alone.
//!
//! The rule kept here: an alteration that finds nothing to alter panics, so that no case is an
//! unaltered message.

/// The first `from` replaced.
pub(crate) fn replaced(message: &str, from: &str, to: &str) -> String {
    assert!(message.contains(from), "no `{from}`");
    let altered = message.replacen(from, to, 1);
    assert_ne!(altered, message);
    altered
}

/// `text` before the first `place`.
pub(crate) fn before(message: &str, place: &str, text: &str) -> String {
    replaced(message, place, &format!("{text}{place}"))
}

/// The first element of this name, from its start tag to its end tag.
pub(crate) fn element<'m>(message: &'m str, name: &str) -> &'m str {
    let starts = [format!("<{name} "), format!("<{name}>")];
    let starts = starts
        .iter()
        .filter_map(|start| message.find(start.as_str()));
    let start = starts.min().unwrap_or_else(|| panic!("no <{name}>"));
    let end = format!("</{name}>");
    let length = message[start..].find(&end).expect("its end tag") + end.len();
    &message[start..start + length]
}

/// The message without the first element of this name.
pub(crate) fn without(message: &str, name: &str) -> String {
    replaced(message, element(message, name), "")
}

/// The first element of this name twice.
pub(crate) fn twice(message: &str, name: &str) -> String {
    let found = element(message, name);
    before(message, found, found)
}

/// Another base64 digit in the middle of the first element of this name.
pub(crate) fn tampered(message: &str, name: &str) -> String {
    let found = element(message, name);
    let content = found.find('>').expect("its start tag") + 1;
    let at = content + 4;
    let other = if &found[at..=at] == "A" { "B" } else { "A" };
    let altered = format!("{}{other}{}", &found[..at], &found[at + 1..]);
    replaced(message, found, &altered)
}

/// The message without an attribute of the first start tag of this name.
pub(crate) fn without_attribute(message: &str, name: &str, attribute: &str) -> String {
    let found = element(message, name);
    let at = found
        .find(&format!(" {attribute}=\""))
        .expect("the attribute");
    let value = at + attribute.len() + 3;
    let end = value + found[value..].find('"').expect("its end") + 1;
    replaced(
        message,
        found,
        &format!("{}{}", &found[..at], &found[end..]),
    )
}

/// The value of an attribute in the first start tag of this name.
pub(crate) fn attribute<'m>(message: &'m str, name: &str, attribute: &str) -> &'m str {
    let found = element(message, name);
    let mark = format!(" {attribute}=\"");
    let start = found.find(&mark).expect("the attribute") + mark.len();
    found[start..].split('"').next().expect("its end")
}

/// Where a signed Body is put when another one takes its place (McIntosh and Austel, 2005).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    Header,
    Security,
    Body,
    Envelope,
    SignatureObject,
}

/// A forged Body in the place of the signed one, which is kept elsewhere.
pub(crate) fn moved_body(message: &str, place: Place) -> String {
    let body = element(message, "soap:Body");
    let kept = format!("<w:keep xmlns:w=\"urn:w\">{body}</w:keep>");
    let order = "<b:order xmlns:b=\"urn:books\"><b:price>0</b:price></b:order>";
    let forged = match place {
        Place::Body => format!("<soap:Body>{order}{kept}</soap:Body>"),
        Place::Envelope => format!("<soap:Body>{order}</soap:Body>{kept}"),
        _ => format!("<soap:Body>{order}</soap:Body>"),
    };
    let altered = replaced(message, body, &forged);
    match place {
        Place::Header => before(&altered, "</soap:Header>", &kept),
        Place::Security => before(&altered, "</wsse:Security>", &kept),
        Place::SignatureObject => before(
            &altered,
            "</ds:Signature>",
            &format!("<ds:Object>{kept}</ds:Object>"),
        ),
        Place::Body | Place::Envelope => altered,
    }
}

/// Another element with the id of the Body.
pub(crate) fn doubled_id(message: &str) -> String {
    let id = attribute(message, "soap:Body", "wsu:Id");
    let other = format!("<x:other xmlns:x=\"urn:x\" xml:id=\"{id}\"/>");
    before(message, "</soap:Header>", &other)
}
