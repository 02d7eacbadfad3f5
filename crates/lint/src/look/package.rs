//! MIME packages: their message, their attachments, and what leads from one to the other.
//!
//! The rule kept here: a part is known by its Content-ID. What a message says of a part is held
//! against the part that is there.

use std::collections::{HashMap, HashSet};

use soapstone_mime::{Package, Part};
use soapstone_xml::Position;

use crate::element::Element;

use crate::findings::{Findings, quoted};
use crate::look::ebms::{content_id, is_compressed, payload};
use crate::message::Message;
use crate::names::{DS, EBMS, SOAP11, XENC, XOP};

/// Bytes that every member of a gzip file begins with: its magic number, and the one method that
/// there is (RFC 1952, 2.3.1).
const GZIP: [u8; 3] = [0x1f, 0x8b, 8];

/// What a message says of its attachments, by their Content-IDs.
struct Mentioned<'d> {
    /// What the references of its signatures lead to.
    signed: Vec<(Vec<u8>, Element<'d>)>,
    /// What was enciphered.
    encrypted: HashMap<Vec<u8>, Element<'d>>,
    /// What stands in the place of binary content (XOP 1.0, 2.1).
    included: Vec<(Vec<u8>, Element<'d>)>,
    /// What its user messages list.
    listed: Vec<(Vec<u8>, Element<'d>)>,
}

/// Looks at a package. What is about an element goes to `findings`, and what is about a part to
/// `of_parts`.
pub(crate) fn look(
    message: &Message<'_>,
    package: &Package<'_>,
    findings: &mut Findings,
    of_parts: &mut Findings,
) {
    let mentioned = Mentioned::read(message);
    look_at_root(message, package, of_parts);
    let mut parts: HashMap<Vec<u8>, &Part<'_>> = HashMap::new();
    for part in std::iter::once(&package.root).chain(&package.attachments) {
        look_at_id(part, &mut parts, of_parts);
        look_at_encoding(part, of_parts);
    }
    if let Some(line) = package.outside {
        let (expected, found) = ("all bytes in parts", "bytes that readers leave out");
        add(
            of_parts,
            "swa-outside-parts",
            line,
            "multipart/related",
            expected,
            found,
        );
    }
    look_at_references(&mentioned, &parts, findings);
    if message
        .header
        .is_some_and(|header| header.child(EBMS, "Messaging").is_some())
    {
        look_at_listed(message, &mentioned, package, of_parts);
    }
    for id in compressed(&mentioned.listed) {
        if let Some(part) = parts.get(id) {
            let data = mentioned.encrypted.get(id).copied();
            look_at_content(part, data, findings, of_parts);
        }
    }
    for id in mentioned.encrypted.keys() {
        if let Some(part) = parts.get(id) {
            look_at_cipher(part, of_parts);
        }
    }
}

fn add(
    findings: &mut Findings,
    rule: &str,
    line: u32,
    element: &str,
    expected: impl Into<String>,
    found: impl Into<String>,
) {
    let place = Position {
        offset: 0,
        line,
        column: 1,
    };
    findings.add_at(rule, place, element, expected, found);
}

/// Notes a breach of a part, at one of its fields or at its first line.
fn add_of(
    findings: &mut Findings,
    rule: &str,
    (part, field): (&Part<'_>, &str),
    expected: impl Into<String>,
    found: impl Into<String>,
) {
    let line = part.header.line_of(field);
    add(findings, rule, line, field, expected, found);
}

impl<'d> Mentioned<'d> {
    fn read(message: &Message<'d>) -> Self {
        let named = |element: Element<'d>, attribute: &str| {
            let uri = element.attribute("", attribute)?;
            Some((content_id(uri.trim())?, element))
        };
        let references = message
            .signatures
            .iter()
            .filter_map(|signature| signature.child(DS, "SignedInfo"))
            .flat_map(|info| info.children())
            .filter(|child| child.is(DS, "Reference"));
        let data = message.encrypted_data.iter().filter_map(|data| {
            let cipher = data.child(XENC, "CipherData")?;
            let (id, _) = named(cipher.child(XENC, "CipherReference")?, "URI")?;
            Some((id, *data))
        });
        let includes = message.envelope.descendants();
        let includes = includes.filter(|element| element.is(XOP, "Include"));
        Self {
            signed: references.filter_map(|one| named(one, "URI")).collect(),
            encrypted: data.collect(),
            included: includes.filter_map(|one| named(one, "href")).collect(),
            listed: payload(message).attachments,
        }
    }
}

/// The media type of the message, and the one that the package announces.
fn look_at_root(message: &Message<'_>, package: &Package<'_>, of_parts: &mut Findings) {
    let Some((related, line)) = &package.related else {
        return;
    };
    let of_soap = match message.soap {
        SOAP11 => "text/xml",
        _ => "application/soap+xml",
    };
    let field = "Content-Type";
    let media_type = package.root.media_type();
    let root = media_type.as_ref().map(|it| it.essence());
    let is_xop = root == Some("application/xop+xml");
    if !is_xop && root != Some(of_soap) {
        let expected = format!("`{of_soap}` or `application/xop+xml`");
        add_of(
            of_parts,
            "swa-root-type",
            (&package.root, field),
            expected,
            quoted(root),
        );
    }
    if is_xop {
        let of_xop = media_type.as_ref().and_then(|it| it.parameter("type"));
        // The value may have parameters of its own, such as an action.
        let named = of_xop.map(|it| it.split(';').next().unwrap_or_default().trim());
        if !named.is_some_and(|it| it.eq_ignore_ascii_case(of_soap)) {
            let expected = format!("the parameter type `{of_soap}`");
            add_of(
                of_parts,
                "xop-root-type",
                (&package.root, field),
                expected,
                quoted(of_xop),
            );
        }
    }
    let announced = related.parameter("type");
    if !announced
        .zip(root)
        .is_some_and(|(one, other)| one.eq_ignore_ascii_case(other))
    {
        let expected = format!("the parameter type {}", quoted(root));
        add(
            of_parts,
            "swa-type-parameter",
            *line,
            field,
            expected,
            quoted(announced),
        );
    }
}

/// The Content-ID of a part: its form, and that no other part has it.
fn look_at_id<'p, 's>(
    part: &'p Part<'s>,
    parts: &mut HashMap<Vec<u8>, &'p Part<'s>>,
    of_parts: &mut Findings,
) {
    let field = "Content-ID";
    let written = part.header.field(field).map(|(written, _)| written);
    let Some(id) = part.id().filter(|id| is_content_id(id)) else {
        let rule = match written {
            Some(_) => "swa-content-id",
            None => "swa-content-id-missing",
        };
        let expected = "a Content-ID such as `<part@sender.example>`";
        add_of(of_parts, rule, (part, field), expected, quoted(written));
        return;
    };
    if parts.insert(id.as_bytes().to_vec(), part).is_some() {
        let expected = "a Content-ID of this part alone";
        add_of(
            of_parts,
            "swa-content-id-unique",
            (part, field),
            expected,
            quoted(written),
        );
    }
}

/// Whether a text is an id between angle brackets: no brackets and no white space, and an `@`
/// between two sides.
fn is_content_id(text: &str) -> bool {
    let is_character = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>');
    let sides = text.rsplit_once('@');
    text.bytes().all(is_character)
        && sides.is_some_and(|(left, right)| !left.is_empty() && !right.is_empty())
}

/// The encoding of a part for transfer: one that there is, and that its content follows.
fn look_at_encoding(part: &Part<'_>, of_parts: &mut Findings) {
    let encoding = part.encoding();
    let found = match encoding.as_str() {
        "binary" | "8bit" | "quoted-printable" => return,
        "7bit" if part.content.is_ascii() => return,
        "7bit" => "bytes beyond ASCII, without an encoding that has them".to_owned(),
        "base64" if part.decoded().is_some() => return,
        "base64" => "content that is no base64".to_owned(),
        other => quoted(Some(other)),
    };
    let field = "Content-Transfer-Encoding";
    let expected =
        "content in one of the encodings 7bit, 8bit, binary, base64 and quoted-printable";
    add_of(
        of_parts,
        "swa-transfer-encoding",
        (part, field),
        expected,
        found,
    );
}

/// Whether each `cid:` of the message leads to a part.
fn look_at_references(
    mentioned: &Mentioned<'_>,
    parts: &HashMap<Vec<u8>, &Part<'_>>,
    findings: &mut Findings,
) {
    let encrypted = mentioned.encrypted.iter();
    let encrypted = encrypted.map(|(id, data)| ("swa-reference", id, *data));
    let signed = mentioned.signed.iter();
    let signed = signed.map(|(id, reference)| ("swa-reference", id, *reference));
    let included = mentioned.included.iter();
    let included = included.map(|(id, include)| ("xop-include", id, *include));
    let listed = mentioned.listed.iter();
    let listed = listed.map(|(id, part)| ("as4-part-attached", id, *part));
    for (rule, id, element) in signed.chain(encrypted).chain(included).chain(listed) {
        if !parts.contains_key(id) {
            let id = String::from_utf8_lossy(id);
            let expected = format!(
                "a part with the Content-ID {}",
                quoted(Some(&format!("<{id}>")))
            );
            findings.add(rule, element, expected, "none");
        }
    }
}

/// Attachments that no user message lists, and those that no signature of the message covers.
fn look_at_listed(
    message: &Message<'_>,
    mentioned: &Mentioned<'_>,
    package: &Package<'_>,
    of_parts: &mut Findings,
) {
    let ids = |named: &'_ [(Vec<u8>, Element<'_>)]| -> HashSet<Vec<u8>> {
        named.iter().map(|(id, _)| id.clone()).collect()
    };
    let (listed, signed) = (ids(&mentioned.listed), ids(&mentioned.signed));
    for part in &package.attachments {
        let has = |of: &HashSet<Vec<u8>>| part.id().is_some_and(|id| of.contains(id.as_bytes()));
        let (named, field) = (part.header.field("Content-ID"), "Content-ID");
        let found = || format!("the part {}", quoted(named.map(|(id, _)| id)));
        if !has(&listed) {
            let expected = "an eb:PartInfo for each part";
            add_of(
                of_parts,
                "as4-part-listed",
                (part, field),
                expected,
                found(),
            );
            // Of listed parts the rules about the message say so.
            if !message.signatures.is_empty() && !has(&signed) {
                let expected = "a ds:Reference for each part of a signed message";
                add_of(
                    of_parts,
                    "as4-part-signed",
                    (part, field),
                    expected,
                    found(),
                );
            }
        }
    }
}

/// The parts that are listed as compressed. Each stands here once, however often it is listed: a
/// message is small, and what it lists may be large.
fn compressed<'m>(listed: &'m [(Vec<u8>, Element<'_>)]) -> Vec<&'m [u8]> {
    let mut seen = HashSet::new();
    let compressed = listed.iter().filter(|(_, info)| is_compressed(*info));
    let ids = compressed.map(|(id, _)| id.as_slice());
    ids.filter(|id| seen.insert(*id)).collect()
}

/// A compressed part: what it is called, and its bytes, where they are not enciphered.
fn look_at_content(
    part: &Part<'_>,
    data: Option<Element<'_>>,
    findings: &mut Findings,
    of_parts: &mut Findings,
) {
    let expected = quoted(Some("application/gzip"));
    if let Some(data) = data {
        // The type before encryption; without it another rule is broken.
        if let Some(said) = data.attribute("", "MimeType")
            && !said.trim().eq_ignore_ascii_case("application/gzip")
        {
            findings.add("as4-compressed-type", data, expected, quoted(Some(&said)));
        }
        return;
    }
    let media_type = part.media_type();
    if !media_type
        .as_ref()
        .is_some_and(|it| it.is("application/gzip"))
    {
        let found = quoted(media_type.as_ref().map(|it| it.essence()));
        add_of(
            of_parts,
            "as4-compressed-type",
            (part, "Content-Type"),
            expected,
            found,
        );
    }
    let first = part.first_bytes();
    if first.is_some_and(|first| !first.starts_with(&GZIP)) {
        let expected = "the first bytes of gzip, 1f 8b 08";
        add_of(
            of_parts,
            "as4-compressed-bytes",
            (part, "Content-ID"),
            expected,
            "others",
        );
    }
}

/// What an enciphered part is called.
fn look_at_cipher(part: &Part<'_>, of_parts: &mut Findings) {
    let media_type = part.media_type();
    if !media_type
        .as_ref()
        .is_some_and(|it| it.is("application/octet-stream"))
    {
        let expected = quoted(Some("application/octet-stream"));
        let found = quoted(media_type.as_ref().map(|it| it.essence()));
        let field = "Content-Type";
        add_of(
            of_parts,
            "as4-encrypted-part-type",
            (part, field),
            expected,
            found,
        );
    }
}

#[cfg(test)]
mod tests {
    use soapstone_xml::{Buffers, Document, ParseOptions};

    use super::*;
    use crate::element::Work;

    #[test]
    fn a_part_that_is_listed_often_is_looked_at_once() {
        let info = |compressed: &str| {
            format!(
                "<PartInfo><PartProperties><Property name=\"{compressed}\">application/gzip</Property></PartProperties></PartInfo>"
            )
        };
        let infos = info("MimeType") + &info("CompressionType").repeat(1_000);
        let text = format!("<PayloadInfo xmlns=\"{EBMS}\">{infos}</PayloadInfo>");
        let document = Document::parse(
            text.into_bytes(),
            &ParseOptions::default(),
            &mut Buffers::new(),
        )
        .expect("XML");
        let work = Work::of(u64::MAX);
        let root = Element::new(document.root(), &work);
        let listed = root.children().map(|info| (b"a".to_vec(), info));
        let listed: Vec<_> = listed.collect();
        assert_eq!(listed.len(), 1_001);
        assert_eq!(compressed(&listed), [b"a"]);
        assert!(compressed(&listed[..1]).is_empty());
    }
}
