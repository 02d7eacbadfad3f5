//! A canonical form as a sequence of tags and text, and how to write it otherwise.
//!
//! The rule kept here: what is read is canonical or was made of a canonical form, so quotes and
//! brackets are balanced. What is not is taken for text, and nothing panics.

use std::ops::Range;

/// What a stretch of a canonical form is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Start,
    End,
    Text,
    /// A comment or a processing instruction.
    Other,
}

/// The stretches of a canonical form, in order and without gaps.
pub(crate) struct Tokens<'b> {
    bytes: &'b [u8],
    at: usize,
}

pub(crate) fn tokens(bytes: &[u8]) -> Tokens<'_> {
    Tokens { bytes, at: 0 }
}

impl<'b> Iterator for Tokens<'b> {
    type Item = (Kind, &'b [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        let (kind, length) = match rest {
            [b'<', b'/', ..] => (Kind::End, until(rest, b'>')),
            [b'<', b'!' | b'?', ..] => (Kind::Other, other_length(rest)),
            [b'<', ..] => (Kind::Start, tag_length(rest)),
            _ => (
                Kind::Text,
                rest.iter()
                    .position(|byte| *byte == b'<')
                    .unwrap_or(rest.len()),
            ),
        };
        self.at += length;
        Some((kind, &rest[..length]))
    }
}

fn until(rest: &[u8], last: u8) -> usize {
    let found = rest.iter().position(|byte| *byte == last);
    found.map_or(rest.len(), |place| place + 1)
}

fn other_length(rest: &[u8]) -> usize {
    let last: &[u8] = if rest.starts_with(b"<!--") {
        b"-->"
    } else if rest.starts_with(b"<![CDATA[") {
        b"]]>"
    } else {
        b"?>"
    };
    find(rest, last).map_or(rest.len(), |place| place + last.len())
}

/// Length of a start tag: a `>` may stand in the value of an attribute.
pub(crate) fn tag_length(rest: &[u8]) -> usize {
    let mut quote = None;
    for (place, byte) in rest.iter().enumerate() {
        match (quote, byte) {
            (Some(open), byte) if open == *byte => quote = None,
            (None, b'"' | b'\'') => quote = Some(*byte),
            (None, b'>') => return place + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Most bytes that a rewriting makes of a form: as a canonical form may be of a document
/// ([`Limits::canonical`](soapstone_xml::Limits::canonical)).
pub(crate) fn bound(form: &[u8]) -> usize {
    form.len().saturating_mul(16).saturating_add(64 << 10)
}

/// The first place of `what`.
pub(crate) fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    let (first, _) = what.split_first()?;
    let mut from = 0;
    while let Some(place) = bytes[from..].iter().position(|byte| byte == first) {
        if bytes[from + place..].starts_with(what) {
            return Some(from + place);
        }
        from += place + 1;
    }
    None
}

/// The bytes with `what` replaced everywhere; `None` if it does not occur.
pub(crate) fn replaced(bytes: &[u8], what: &[u8], by: &[u8]) -> Option<Vec<u8>> {
    let mut at = find(bytes, what)?;
    let mut out = Vec::with_capacity(bytes.len() + by.len());
    let mut copied = 0;
    loop {
        out.extend_from_slice(&bytes[copied..at]);
        out.extend_from_slice(by);
        copied = at + what.len();
        match find(&bytes[copied..], what) {
            Some(next) => at = copied + next,
            None => break,
        }
    }
    out.extend_from_slice(&bytes[copied..]);
    Some(out)
}

/// One attribute or declaration of a start tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attribute {
    /// From the white space before it to behind the closing quote.
    pub(crate) range: Range<usize>,
    pub(crate) name: Range<usize>,
    /// Between the quotes.
    pub(crate) value: Range<usize>,
}

/// Length of the name of a start tag, the `<` included.
pub(crate) fn name_end(tag: &[u8]) -> usize {
    let end = tag
        .iter()
        .position(|byte| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/'));
    end.unwrap_or(tag.len())
}

/// The attributes and declarations of a start tag as they are written.
pub(crate) fn attributes(tag: &[u8]) -> Vec<Attribute> {
    let mut found = Vec::new();
    let mut at = name_end(tag);
    loop {
        let start = at;
        let spaces = tag[at..]
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace());
        at += spaces.count();
        let name_start = at;
        let Some(equals) = tag[at..].iter().position(|byte| *byte == b'=') else {
            return found;
        };
        let name = &tag[name_start..at + equals];
        let name_stop = name_start + name.trim_ascii_end().len();
        at += equals + 1;
        let spaces = tag[at..]
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace());
        at += spaces.count();
        let Some(quote @ (b'"' | b'\'')) = tag.get(at).copied() else {
            return found;
        };
        let Some(length) = tag[at + 1..].iter().position(|byte| *byte == quote) else {
            return found;
        };
        let value = at + 1..at + 1 + length;
        at = value.end + 1;
        found.push(Attribute {
            range: start..at,
            name: name_start..name_stop,
            value,
        });
    }
}

/// The prefix that an attribute declares, empty for the default namespace.
pub(crate) fn declared(name: &[u8]) -> Option<&[u8]> {
    match name.strip_prefix(b"xmlns")? {
        [] => Some(&[]),
        rest => rest.strip_prefix(b":"),
    }
}

/// The prefix of a qualified name; empty for none.
pub(crate) fn prefix(name: &[u8]) -> &[u8] {
    let colon = name.iter().position(|byte| *byte == b':');
    colon.map_or(&[], |colon| &name[..colon])
}

/// Whether a start tag uses a prefix visibly. The default namespace is used by names of elements
/// alone.
pub(crate) fn uses(tag: &[u8], wanted: &[u8]) -> bool {
    prefix(&tag[1..name_end(tag)]) == wanted
        || !wanted.is_empty()
            && attributes(tag)
                .iter()
                .any(|attribute| prefix(&tag[attribute.name.clone()]) == wanted)
}

/// The canonical form with every start tag rewritten by `change`, which says whether it did
/// anything; `None` if it never did, and where the form grows beyond its bound.
pub(crate) fn with_start_tags(
    bytes: &[u8],
    mut change: impl FnMut(&[u8], &mut Vec<u8>) -> bool,
) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len() + 64);
    let (mut changed, bound) = (false, bound(bytes));
    for (kind, token) in tokens(bytes) {
        if kind == Kind::Start && token.len() > 2 && token.ends_with(b">") {
            changed |= change(token, &mut out);
        } else {
            out.extend_from_slice(token);
        }
        if out.len() > bound {
            return None;
        }
    }
    changed.then_some(out)
}

/// The canonical form with every text rewritten by `change`; `None` if nothing is another.
pub(crate) fn with_text(
    bytes: &[u8],
    mut change: impl FnMut(&[u8]) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len() + 64);
    let mut changed = false;
    for (kind, token) in tokens(bytes) {
        let text = (kind == Kind::Text).then(|| change(token)).flatten();
        changed |= text.is_some();
        out.extend_from_slice(text.as_deref().unwrap_or(token));
    }
    changed.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_read_without_gaps() {
        let form = b"<a x=\"1>2\">t<!--<c>--><b></b>u</a>";
        let read: Vec<_> = tokens(form).collect();
        assert_eq!(read[0], (Kind::Start, &b"<a x=\"1>2\">"[..]));
        assert_eq!(read[2], (Kind::Other, &b"<!--<c>-->"[..]));
        let joined: Vec<u8> = read.iter().flat_map(|(_, token)| token.to_vec()).collect();
        assert_eq!(joined, form);
    }

    #[test]
    fn attributes_are_found_with_their_white_space() {
        let tag = b"<p:a xmlns:p=\"u\"  p:x = 'y'>";
        let found = attributes(tag);
        assert_eq!(&tag[found[0].range.clone()], b" xmlns:p=\"u\"");
        assert_eq!(&tag[found[1].name.clone()], b"p:x");
        assert_eq!(&tag[found[1].value.clone()], b"y");
        assert!(uses(tag, b"p") && !uses(tag, b""));
    }

    #[test]
    fn broken_markup_does_not_panic() {
        for broken in [
            "<", "<a", "<a b", "<a b=", "<a b='", "<!--", "</", "<a  ", "<>",
        ] {
            let _ = tokens(broken.as_bytes()).count();
            let _ = attributes(broken.as_bytes());
        }
    }
}
