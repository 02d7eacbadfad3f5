//! Envelopes, as the Basic Profiles have them.

use soapstone_xml::{Content, Document};

use crate::element::Element;

use crate::findings::{Findings, quoted};
use crate::look::envelope12;
use crate::message::Message;
use crate::names::{SOAP_ENCODING, SOAP11, SOAP12, XML};
use crate::rule::Profile;

/// Elements of a fault of SOAP 1.1.
const OF_FAULT: [&str; 4] = ["faultcode", "faultstring", "faultactor", "detail"];

/// Fault codes of SOAP 1.1.
const CODES: [&str; 4] = ["VersionMismatch", "MustUnderstand", "Client", "Server"];

pub(crate) fn look(
    document: &Document,
    encoding: Option<&str>,
    message: &Message<'_>,
    findings: &mut Findings,
) {
    look_at_structure(message, findings);
    look_at_text(document, encoding, ["R1012", "R1033"], findings);
    look_at_instructions(document, message.envelope, findings);
    if message.soap == SOAP12 {
        envelope12::look(message, findings);
    }
    if message.soap == SOAP11 {
        look_at_attributes(message, findings);
        let fault = message.body.and_then(|body| body.child(SOAP11, "Fault"));
        if let Some(fault) = fault {
            look_at_fault(fault, findings);
        }
    }
}

fn look_at_structure(message: &Message<'_>, findings: &mut Findings) {
    let envelope = message.envelope;
    let profiles = findings.profiles();
    let of_11 = profiles.has(Profile::Bp11) || profiles.has(Profile::Bp12);
    if message.soap == SOAP12 && of_11 && !profiles.has(Profile::Bp20) {
        findings.add(
            "R9980",
            envelope,
            "an envelope of SOAP 1.1",
            "one of SOAP 1.2",
        );
    }
    if message.soap == SOAP11 && profiles.has(Profile::Bp20) && !of_11 {
        findings.add(
            "R9980",
            envelope,
            "an envelope of SOAP 1.2",
            "one of SOAP 1.1",
        );
    }
    let Some(body) = message.body else {
        findings.add("R9980", envelope, "a Body", "none");
        return;
    };
    let (mut headers, mut behind) = (0, false);
    for child in envelope.children() {
        if child == body {
            behind = true;
        } else if behind && child.namespace() != message.soap && message.soap == SOAP11 {
            let found = quoted(Some(child.qualified_name()));
            findings.add("R1011", child, "nothing behind the Body", found);
        } else if child.is(message.soap, "Header") && !behind {
            headers += 1;
            if headers == 2 {
                findings.add("R9980", child, "one Header", "a second one");
            }
        } else {
            let found = quoted(Some(child.qualified_name()));
            findings.add("R9980", child, "a Header and a Body behind it", found);
        }
    }
    let mut children = body.children();
    if let (Some(_), Some(second)) = (children.next(), children.next()) {
        let found = format!("{} elements", body.children().count());
        findings.add("R9981", second, "one element in the Body", found);
    }
    for child in body.children().filter(|child| child.namespace().is_empty()) {
        findings.add("R1014", child, "an element with a namespace", "none");
    }
}

/// Encoding and declarations, of messages and descriptions.
pub(crate) fn look_at_text(
    document: &Document,
    encoding: Option<&str>,
    [of_encoding, of_prefix]: [&str; 2],
    findings: &mut Findings,
) {
    let root = document.root();
    let is_unicode = encoding.is_none_or(|encoding| {
        ["UTF-8", "UTF-16", "UTF-16LE", "UTF-16BE"]
            .iter()
            .any(|known| encoding.eq_ignore_ascii_case(known))
    });
    if !is_unicode {
        findings.add(of_encoding, root, "UTF-8 or UTF-16", quoted(encoding));
    }
    for element in root.descendants() {
        if element
            .declarations()
            .any(|(prefix, uri)| prefix == "xml" && uri == XML)
        {
            findings.add(
                of_prefix,
                element,
                "no declaration of the prefix xml",
                "one",
            );
        }
    }
}

/// The encoding that an XML declaration names, in a document as it was received.
pub(crate) fn declared_encoding(source: &[u8]) -> Option<String> {
    let source = source.strip_prefix(&[0xEF, 0xBB, 0xBF]).unwrap_or(source);
    let declaration = source.strip_prefix(b"<?xml")?;
    let end = declaration.iter().position(|&byte| byte == b'>')?;
    let declaration = std::str::from_utf8(&declaration[..end]).ok()?;
    let (_, value) = declaration.split_once("encoding")?;
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let quote = value
        .chars()
        .next()
        .filter(|first| matches!(first, '\'' | '"'))?;
    value
        .strip_prefix(quote)?
        .split(quote)
        .next()
        .map(str::to_owned)
}

fn look_at_instructions(document: &Document, envelope: Element<'_>, findings: &mut Findings) {
    let mut told = |element: Element<'_>, content: Content<'_>| {
        if let Content::ProcessingInstruction { target, .. } = content {
            let found = format!("`<?{target}`");
            findings.add("R1009", element, "no processing instruction", found);
        }
    };
    for content in document.contents() {
        told(envelope, content);
    }
    // Contents of elements are read from the source, so only a message with one is read again.
    let source = document.bytes();
    if source.windows(2).skip(5).any(|two| two == b"<?") {
        for element in envelope.descendants() {
            for content in element.contents() {
                told(element, content);
            }
        }
    }
}

fn look_at_attributes(message: &Message<'_>, findings: &mut Findings) {
    let parts = [Some(message.envelope), message.header, message.body];
    for part in parts.into_iter().flatten() {
        for attribute in part.attributes().filter(|one| one.namespace() == SOAP11) {
            let found = quoted(Some(attribute.qualified_name()));
            findings.add("R1032", part, "no attribute of SOAP's namespace", found);
        }
    }
    for element in message.envelope.descendants() {
        if let Some(style) = element.attribute(SOAP11, "encodingStyle") {
            let found = quoted(Some(&style));
            if element.namespace() == SOAP11 {
                findings.add("R1005", element, "no soap:encodingStyle", found);
            } else if element.parent() == message.body {
                findings.add("R1006", element, "no soap:encodingStyle", found);
            }
        }
        if let Some(value) = element.attribute(SOAP11, "mustUnderstand")
            && !matches!(&*value, "0" | "1")
        {
            findings.add("R1013", element, "0 or 1", quoted(Some(&value)));
        }
        if let Some(value) = element.attribute(SOAP_ENCODING, "arrayType") {
            findings.add(
                "R2113",
                element,
                "no soapenc:arrayType",
                quoted(Some(&value)),
            );
        }
    }
}

fn look_at_fault(fault: Element<'_>, findings: &mut Findings) {
    for child in fault.children() {
        let found = quoted(Some(child.qualified_name()));
        if !OF_FAULT.contains(&child.local()) {
            let expected = "faultcode, faultstring, faultactor or detail";
            findings.add("R1000", child, expected, found);
        } else if !child.namespace().is_empty() {
            findings.add("R1001", child, "an element without a namespace", found);
        } else if child.local() == "faultcode" {
            look_at_code(child, findings);
        }
    }
}

fn look_at_code(code: Element<'_>, findings: &mut Findings) {
    let text = code.text();
    let text = text.trim();
    let (prefix, local) = text.split_once(':').unwrap_or(("", text));
    let namespace = code.namespace_of(prefix);
    let (family, is_refined) = match local.split_once('.') {
        Some((family, _)) => (family, true),
        None => (local, false),
    };
    let of_soap = namespace == Some(SOAP11);
    if of_soap && is_refined {
        findings.add("R1031", code, "a code without dots", quoted(Some(text)));
    }
    if namespace.is_none() || of_soap && !CODES.contains(&family) {
        let expected = "a code of SOAP 1.1, or a name of your own namespace";
        findings.add("R1004", code, expected, quoted(Some(text)));
    }
}
