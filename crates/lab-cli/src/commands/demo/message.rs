//! Shows a message to people: indented, long base64 cut short.
//!
//! The rule kept here: what is shown is the message's own text. Only white space is added, and what
//! is cut is counted.

use std::fmt::Write as _;

use soapstone::xml::{Buffers, Document, Element, ParseOptions, escape};

/// Columns that a line should not exceed.
const WIDTH: usize = 110;
/// Characters of a word that are shown when it is cut; longer words are base64 or digests, which
/// tell nothing to the eye.
const SHOWN: usize = 44;

/// The message, indented; as it is, if it is no XML.
pub(super) fn indented(message: &[u8]) -> String {
    let parsed = Document::parse(
        message.to_vec(),
        &ParseOptions::default(),
        &mut Buffers::default(),
    );
    match parsed {
        Ok(document) => {
            let mut out = String::new();
            element(document.root(), 1, &mut out);
            out
        }
        Err(_) => String::from_utf8_lossy(message).into_owned(),
    }
}

fn element(element: Element<'_>, depth: usize, out: &mut String) {
    let margin = "  ".repeat(depth);
    let (name, attributes) = start_tag(element);
    out.push_str(&margin);
    out.push('<');
    out.push_str(&name);
    let length = margin.len()
        + name.len()
        + attributes
            .iter()
            .map(|attribute| attribute.len() + 1)
            .sum::<usize>();
    for attribute in &attributes {
        if length > WIDTH && attributes.len() > 1 {
            let _ = write!(out, "\n{margin}    {attribute}");
        } else {
            let _ = write!(out, " {attribute}");
        }
    }
    let text = element.text();
    let text = text.trim();
    if element.first_child().is_none() {
        match text {
            "" => out.push_str("/>\n"),
            text => {
                let _ = writeln!(out, ">{}</{name}>", shortened(text));
            }
        }
        return;
    }
    out.push_str(">\n");
    if !text.is_empty() {
        let _ = writeln!(out, "{margin}  {}", shortened(text));
    }
    for child in element.children() {
        self::element(child, depth + 1, out);
    }
    let _ = writeln!(out, "{margin}</{name}>");
}

/// Name and attributes of a start tag, as they are written.
fn start_tag(element: Element<'_>) -> (String, Vec<String>) {
    let range = element.range();
    let source = element
        .document()
        .bytes()
        .get(range.start as usize..range.end as usize)
        .unwrap_or_default();
    let source = String::from_utf8_lossy(source);
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for character in source.chars().skip(1) {
        match (quote, character) {
            (None, '>') => break,
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            (None, ' ' | '\t' | '\r' | '\n') => {
                words.push(std::mem::take(&mut word));
                continue;
            }
            _ => {}
        }
        word.push(character);
    }
    // What a self-closing tag ends with is no attribute.
    words.push(word.strip_suffix('/').map_or(word.clone(), str::to_owned));
    words.retain(|word| !word.is_empty());
    let name = if words.is_empty() {
        String::new()
    } else {
        words.remove(0)
    };
    (name, words)
}

/// The text, escaped as it must be, with each long word cut.
fn shortened(text: &str) -> String {
    let mut shown = String::new();
    for word in text.split_ascii_whitespace() {
        if !shown.is_empty() {
            shown.push(' ');
        }
        let length = word.chars().count();
        if length <= 2 * SHOWN {
            shown.push_str(&escape::text_of(word));
        } else {
            let cut: String = word.chars().take(SHOWN).collect();
            let _ = write!(
                shown,
                "{}… ({} more)",
                escape::text_of(&cut),
                length - SHOWN
            );
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_shown_with_its_own_tags_and_long_words_cut() {
        let long = "QUJD".repeat(50);
        let message =
            format!("<a:x xmlns:a='urn:a' b=\"1 2\"><a:y/><z>{long}</z><w>one &amp; two</w></a:x>");
        let expected = format!(
            "  <a:x xmlns:a='urn:a' b=\"1 2\">\n    <a:y/>\n    <z>{}… (156 more)</z>\n    <w>one &amp; two</w>\n  </a:x>\n",
            &long[..44]
        );
        assert_eq!(indented(message.as_bytes()), expected);
    }

    #[test]
    fn what_is_no_xml_is_shown_as_it_is() {
        assert_eq!(indented(b"not <xml"), "not <xml");
    }
}
