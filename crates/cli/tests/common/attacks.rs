//! What an attacker makes of a secured message.

#![allow(dead_code, reason = "each test program uses its part")]

/// Changes the first character of the text between two marks, the last time that they stand there.
pub(crate) fn tamper(message: &str, before: &str, after: &str) -> String {
    let end = message.rfind(after).expect("the mark is there");
    let start = message[..end].rfind(before).expect("the mark is there") + before.len();
    let first = &message[start..start + 1];
    let other = if first == "A" { "B" } else { "A" };
    format!("{}{other}{}", &message[..start], &message[start + 1..])
}

/// From the start tag of the first element of this name to its end tag.
pub(crate) fn element<'m>(message: &'m str, name: &str) -> &'m str {
    let start = message.find(&format!("<{name}")).expect("it begins");
    let end = format!("</{name}>");
    let length = message[start..].find(&end).expect("it ends") + end.len();
    &message[start..start + length]
}

/// Where the signed body goes, when another one takes its place (McIntosh and Austel, 2005).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// Inside of a new header block.
    Header,
    /// Inside of the `wsse:Security` header.
    Security,
    /// Inside of the forged body.
    Body,
    /// Behind the body.
    Envelope,
    /// Inside of the signature.
    Signature,
}

/// A forged body where the signed one was, and that one elsewhere.
pub(crate) fn moved_body(message: &str, place: Place) -> String {
    let body = element(message, "soap:Body");
    let order = "<b:order xmlns:b=\"urn:books\"><b:price>0</b:price></b:order>";
    let kept = format!("<w:keep xmlns:w=\"urn:w\">{body}</w:keep>");
    let forged = match place {
        Place::Body => format!("<soap:Body>{order}{kept}</soap:Body>"),
        Place::Envelope => format!("<soap:Body>{order}</soap:Body>{kept}"),
        _ => format!("<soap:Body>{order}</soap:Body>"),
    };
    let before = |end: &str| {
        message
            .replace(body, &forged)
            .replacen(end, &(kept.clone() + end), 1)
    };
    match place {
        Place::Header => before("</soap:Header>"),
        Place::Security => before("</wsse:Security>"),
        Place::Signature => message.replace(body, &forged).replacen(
            "</ds:Signature>",
            &format!("<ds:Object>{kept}</ds:Object></ds:Signature>"),
            1,
        ),
        Place::Body | Place::Envelope => message.replace(body, &forged),
    }
}

/// A second element with the last id of the message.
pub(crate) fn doubled_id(message: &str) -> String {
    let at = message.rfind("Id=\"").expect("an id") + 4;
    let id = message[at..].split('"').next().expect("it ends");
    message.replace(
        "</soap:Header>",
        &format!("<x xml:id=\"{id}\"/></soap:Header>"),
    )
}

/// The timestamp twice.
pub(crate) fn doubled_timestamp(message: &str) -> String {
    let again = element(message, "wsu:Timestamp").replacen("-time\"", "-again\"", 1);
    message.replacen("<wsu:Timestamp", &format!("{again}<wsu:Timestamp"), 1)
}
