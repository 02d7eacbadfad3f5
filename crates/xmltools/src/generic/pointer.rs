//! Fragments of URIs: percent escapes (RFC 3986 2.1) and XPointer (XPointer Framework 3.3).
//!
//! The one rule: a fragment has one reading. A fragment whose escaped spelling is an id of its own
//! is refused, because a reader that undoes no escapes finds another element.

use std::borrow::Cow;

use crate::nodes::{NodeSet, Tree};
use soapstone_crypto::hexadecimal;
use soapstone_xmlsec::dsig::SignatureError;

use super::error::GenericError;
use super::selection::select;
use super::source::Source;

/// The URI with the escapes of its fragment undone; a URI that leads out of the document as it is.
pub(super) fn without_escapes<'u>(
    uri: &'u str,
    source: &Source,
) -> Result<Cow<'u, str>, GenericError> {
    let Some(fragment) = uri.strip_prefix('#').filter(|text| text.contains('%')) else {
        return Ok(Cow::Borrowed(uri));
    };
    let plain = unescape(fragment).ok_or_else(|| GenericError::XPath {
        expression: uri.to_owned(),
        reason: "expected two hexadecimal digits behind each `%`, and UTF-8".to_owned(),
    })?;
    if source.has_id(fragment) {
        let id = fragment.to_owned();
        return Err(SignatureError::DuplicateId { id }.into());
    }
    Ok(Cow::Owned(format!("#{plain}")))
}

/// The text that percent escapes stand for; `None` if an escape is broken or the bytes are no
/// UTF-8.
fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (digits, behind) = rest.split_at_checked(2)?;
        bytes.extend(hexadecimal::decode(std::str::from_utf8(digits).ok()?)?);
        rest = behind;
    }
    String::from_utf8(bytes).ok()
}

/// The nodes that an XPointer selects, each with all nodes below it: the first `xpointer` part
/// that selects anything, under the `xmlns` parts in front of it.
pub(super) fn point(tree: &Tree<'_>, pointer: &str) -> Result<NodeSet, GenericError> {
    let refused = |reason: &str| GenericError::XPath {
        expression: pointer.to_owned(),
        reason: reason.to_owned(),
    };
    let mut namespaces: Vec<(String, String)> = Vec::new();
    let mut rest = pointer.trim();
    let mut evaluated = false;
    while let Some((scheme, after)) = rest.split_once('(') {
        let end = closing(after).ok_or_else(|| refused("unbalanced parentheses"))?;
        let (data, behind) = (&after[..end], &after[end + 1..]);
        match scheme.trim() {
            "xmlns" => {
                let (prefix, uri) = data
                    .split_once('=')
                    .ok_or_else(|| refused("expected `xmlns(prefix=uri)`"))?;
                namespaces.push((prefix.trim().to_owned(), uri.trim().to_owned()));
            }
            "xpointer" => {
                let lookup = |prefix: &str| {
                    namespaces
                        .iter()
                        .rev()
                        .find(|(known, _)| known == prefix)
                        .map(|(_, uri)| uri.as_str())
                };
                evaluated = true;
                let selected = select(tree, data, &lookup)?;
                let mut set = NodeSet::empty(tree.len());
                for node in selected.iter() {
                    set.unite(&tree.subtree_set(node, true));
                }
                if !set.is_empty() {
                    return Ok(set);
                }
            }
            _ => return Err(refused("only the schemes `xmlns` and `xpointer` are known")),
        }
        rest = behind.trim_start();
    }
    if !rest.is_empty() {
        return Err(refused("expected an XPointer"));
    }
    Err(refused(if evaluated {
        "the XPointer selects nothing"
    } else {
        "expected an XPointer"
    }))
}

/// Where the parenthesis closes that opened just before `text`; `^` escapes.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut escaped) = (1u32, false);
    for (at, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '^' => escaped = true,
            '(' => depth += 1,
            ')' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::Options;
    use super::*;

    fn source(text: &str) -> Source {
        let options = Options::new(jiff::Timestamp::UNIX_EPOCH);
        Source::load(text.as_bytes(), &options, &mut |_| None).unwrap()
    }

    fn broken(uri: &str) -> GenericError {
        GenericError::XPath {
            expression: uri.to_owned(),
            reason: "expected two hexadecimal digits behind each `%`, and UTF-8".to_owned(),
        }
    }

    #[test]
    fn percent_escapes_of_a_fragment_are_undone_once_and_before_it_is_read() {
        let source = source("<a Id='caf\u{e9}'/>");
        for (uri, plain) in [
            ("#caf%C3%A9", "#caf\u{e9}"),
            ("#caf%c3%a9", "#caf\u{e9}"),
            ("#caf\u{e9}", "#caf\u{e9}"),
            ("#a%2562", "#a%62"),
            ("#xpointer(//*%5B@at='2'%5D)", "#xpointer(//*[@at='2'])"),
            ("", ""),
            // What leads out of the document is not ours to read.
            ("a%20b.xml", "a%20b.xml"),
        ] {
            assert_eq!(without_escapes(uri, &source).unwrap(), plain, "{uri}");
        }
    }

    #[test]
    fn a_broken_escape_is_refused() {
        let source = source("<a/>");
        for uri in ["#a%", "#a%4", "#a%zz", "#a%+1", "#a%C3", "#%FF"] {
            assert_eq!(without_escapes(uri, &source), Err(broken(uri)), "{uri}");
        }
    }

    #[test]
    fn a_fragment_whose_escaped_spelling_is_an_id_as_well_is_refused() {
        let source = source("<a><b Id='x%62'/><c Id='xb'/></a>");
        let duplicate = SignatureError::DuplicateId {
            id: "x%62".to_owned(),
        };
        assert_eq!(
            without_escapes("#x%62", &source),
            Err(GenericError::Signature(duplicate))
        );
    }

    #[test]
    fn the_first_part_of_an_xpointer_that_selects_anything_counts() {
        let document = source("<a><b Id='x'/><c Id='y'/></a>").document;
        let tree = Tree::new(&document, &[]).unwrap();
        let of = |pointer: &str| point(&tree, pointer);
        assert_eq!(of("xpointer(//d) xpointer(//b)"), of("xpointer(//b)"));
        assert_ne!(of("xpointer(//b) xpointer(//c)"), of("xpointer(//c)"));
        let refused = |expression: &str, reason: &str| {
            Err(GenericError::XPath {
                expression: expression.to_owned(),
                reason: reason.to_owned(),
            })
        };
        for (pointer, reason) in [
            ("xpointer(//d)", "the XPointer selects nothing"),
            ("xpointer(//b", "unbalanced parentheses"),
            ("xpointer(//d) behind", "expected an XPointer"),
            ("xmlns(p=urn:p)", "expected an XPointer"),
            (
                "element(/1)",
                "only the schemes `xmlns` and `xpointer` are known",
            ),
        ] {
            assert_eq!(of(pointer), refused(pointer, reason), "{pointer}");
        }
    }
}
