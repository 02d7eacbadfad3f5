//! White space: indentation, lines of base64, text.

use crate::search::Change;
use crate::tokens::{Kind, bound, tokens, with_text};

pub(super) fn indentation(changes: &mut Vec<Change>) {
    let without = Change::new(
        "white-space",
        "the white space between the tags left out (the message was indented after it was signed)",
        without_indentation,
    );
    changes.push(without.in_any_company());
    changes.push(Change::new(
        "white-space",
        "all white space at the ends of texts left out (the message was indented or wrapped after it was signed)",
        |form| trimmed(form, true),
    ));
    changes.push(Change::new(
        "white-space",
        "all texts of white space alone left out",
        |form| with_text(form, |text| is_blank(text).then(Vec::new)),
    ));
    for (indent, name) in [
        ("  ", "two spaces"),
        ("    ", "four spaces"),
        ("\t", "a tab"),
        ("   ", "three spaces"),
        (" ", "one space"),
        ("", "line ends alone"),
    ] {
        changes.push(Change::new(
            "white-space",
            format!("the tags indented by {name} (the white space was taken out after signing)"),
            move |form| indented(form, indent),
        ));
    }
    changes.push(Change::new(
        "white-space",
        "a line end between all tags, also in empty elements",
        |form| crate::tokens::replaced(form, b"><", b">\n<"),
    ));
    for (end, says) in [
        (&b"\n"[..], "a line end behind it"),
        (b"\r\n", "a line end of CR LF behind it"),
    ] {
        changes.push(Change::new(
            "white-space",
            "a line end in front of it",
            |form| Some([b"\n", form].concat()),
        ));
        changes.push(Change::new("white-space", says, move |form| {
            Some([form, end].concat())
        }));
    }
    changes.push(Change::new(
        "white-space",
        "the line ends left out",
        |form| with_text(form, |text| crate::tokens::replaced(text, b"\n", b"")),
    ));
    changes.push(Change::new(
        "white-space",
        "the line ends written as spaces",
        |form| with_text(form, |text| crate::tokens::replaced(text, b"\n", b" ")),
    ));
}

pub(super) fn base64(changes: &mut Vec<Change>) {
    changes.push(Change::new(
        "base64-white-space",
        "the base64 in it written without line ends",
        |form| {
            with_text(form, |text| {
                joined(text).filter(|joined| joined.len() < text.len())
            })
        },
    ));
    for (width, end, name) in [
        (76, "\n", "lines of 76 characters"),
        (64, "\n", "lines of 64 characters"),
        (76, "&#xD;\n", "lines of 76 characters that end with CR LF"),
        (64, "&#xD;\n", "lines of 64 characters that end with CR LF"),
    ] {
        changes.push(Change::new(
            "base64-white-space",
            format!("the base64 in it wrapped in {name}"),
            move |form| {
                with_text(form, |text| {
                    let long = joined(text).filter(|joined| joined.len() > width)?;
                    let lines = wrapped(&long, width, end.as_bytes());
                    (lines != text).then_some(lines)
                })
            },
        ));
        changes.push(Change::new(
            "base64-white-space",
            format!("the base64 in it wrapped in {name}, the last one included"),
            move |form| {
                with_text(form, |text| {
                    let mut lines = wrapped(&joined(text)?, width, end.as_bytes());
                    lines.extend_from_slice(end.as_bytes());
                    (lines != text).then_some(lines)
                })
            },
        ));
    }
}

pub(super) fn text(form: &[u8], changes: &mut Vec<Change>) {
    changes.push(Change::new(
        "white-space",
        "the white space at the ends of texts left out",
        |form| trimmed(form, false),
    ));
    changes.push(Change::new(
        "white-space",
        "each stretch of white space in texts written as one space",
        |form| {
            with_text(form, |text| {
                let mut out: Vec<u8> = Vec::with_capacity(text.len());
                for byte in text {
                    match (is_space(*byte), out.last()) {
                        (true, Some(b' ')) => {}
                        (true, _) => out.push(b' '),
                        (false, _) => out.push(*byte),
                    }
                }
                (out != text).then_some(out)
            })
        },
    ));
    changes.push(Change::new(
        "white-space",
        "tabs written as spaces",
        |form| with_text(form, |text| crate::tokens::replaced(text, b"\t", b" ")),
    ));
    for (spaces, says) in [
        (
            "    ",
            "tabs in texts, which a program on the way wrote as four spaces",
        ),
        (
            "  ",
            "tabs in texts, which a program on the way wrote as two spaces",
        ),
        (
            "        ",
            "tabs in texts, which a program on the way wrote as eight spaces",
        ),
    ] {
        changes.push(Change::new("white-space", says, move |form| {
            with_text(form, |text| {
                let is_content = !is_blank(text);
                is_content
                    .then(|| crate::tokens::replaced(text, spaces.as_bytes(), b"\t"))
                    .flatten()
            })
        }));
    }
    changes.push(Change::new(
        "white-space",
        "non-breaking spaces written as spaces",
        |form| crate::tokens::replaced(form, "\u{a0}".as_bytes(), b" "),
    ));
    lost(form, changes);
}

/// Most places at which white space is put in that a program on the way may have taken out.
const MOST_PLACES: usize = 8;

/// White space that was the content of an element, or its end, and that is not there any more.
fn lost(form: &[u8], changes: &mut Vec<Change>) {
    changes.push(Change::new(
        "white-space",
        "a space in each empty element (white space that was all of it was taken out)",
        |form| {
            let places: Vec<usize> = leaves(form, true).map(|(at, _)| at).collect();
            inserted(form, &places, b" ")
        },
    ));
    let named = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    for (at, name) in leaves(form, true).take(MOST_PLACES) {
        let name = named(name);
        let says = format!("a space in the empty `{name}`, where a program on the way took it out");
        let change = Change::new("white-space", says, move |form| inserted(form, &[at], b" "));
        changes.push(change.alone());
    }
    for (at, name) in leaves(form, false).take(MOST_PLACES) {
        let name = named(name);
        for (end, says) in [(&b"\n"[..], "a line end"), (b" ", "a space")] {
            let says = format!(
                "{says} at the end of `{name}`, where a program on the way trimmed the text"
            );
            let change = Change::new("white-space", says, move |form| inserted(form, &[at], end));
            changes.push(change.alone());
        }
    }
}

/// The places of the end tags of elements that hold nothing, or of those that hold a text alone,
/// and the names of these elements.
fn leaves(form: &[u8], empty: bool) -> impl Iterator<Item = (usize, &[u8])> {
    let (mut at, mut open) = (0, None);
    tokens(form).filter_map(move |(kind, token)| {
        let place = at;
        at += token.len();
        match (kind, open.take()) {
            (Kind::Start, _) => {
                let name = token.get(1..crate::tokens::name_end(token));
                open = Some((name.unwrap_or_default(), true));
                None
            }
            (Kind::Text, Some((name, true))) => {
                open = Some((name, false));
                None
            }
            (Kind::End, Some((name, is_empty))) => (is_empty == empty).then_some((place, name)),
            _ => None,
        }
    })
}

/// The form with these bytes at places, which are in order.
fn inserted(form: &[u8], places: &[usize], bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(form.len() + places.len() * bytes.len());
    let mut copied = 0;
    for place in places {
        out.extend_from_slice(form.get(copied..*place)?);
        out.extend_from_slice(bytes);
        copied = *place;
    }
    out.extend_from_slice(form.get(copied..)?);
    (!places.is_empty()).then_some(out)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// A CR in a canonical form (Canonical XML 1.0, 2.3): of lines that ended with CR LF when a
/// serializer escaped them.
const CR: &[u8] = b"&#xD;";

/// Whether a text is white space alone.
fn is_blank(text: &[u8]) -> bool {
    inner(text).is_empty()
}

/// The text without the white space at its ends.
fn inner(text: &[u8]) -> &[u8] {
    let mut rest = text.trim_ascii();
    while let Some(shorter) = rest.strip_prefix(CR).or(rest.strip_suffix(CR)) {
        rest = shorter.trim_ascii();
    }
    rest
}

/// Base64 without its line ends; `None` of another text. Words in lines are none, although their
/// letters may be: lines of base64 have no white space inside and are of one length, but the last.
fn joined(text: &[u8]) -> Option<Vec<u8>> {
    let without = crate::tokens::replaced(text, CR, b"");
    let lines = without
        .as_deref()
        .unwrap_or(text)
        .split(|byte| *byte == b'\n');
    let lines: Vec<&[u8]> = lines
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty())
        .collect();
    let (last, others) = lines.split_last()?;
    let first = others.first().unwrap_or(last);
    let even = others.iter().all(|line| line.len() == first.len()) && last.len() <= first.len();
    let joined = lines.concat();
    (even && is_base64(&joined)).then_some(joined)
}

/// Whether a text is long enough for base64 and nothing else.
fn is_base64(text: &[u8]) -> bool {
    text.len() >= 16
        && text.len().is_multiple_of(4)
        && text
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
}

fn wrapped(text: &[u8], width: usize, end: &[u8]) -> Vec<u8> {
    let lines: Vec<&[u8]> = text.chunks(width).collect();
    lines.join(end)
}

/// White space that stands alone between tags is left out, unless it is all that an element has.
fn without_indentation(form: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(form.len());
    let mut changed = false;
    let mut read = tokens(form).peekable();
    let mut before = Kind::End;
    while let Some((kind, token)) = read.next() {
        let blank = kind == Kind::Text && is_blank(token);
        let all_content =
            before == Kind::Start && read.peek().is_some_and(|(next, _)| *next == Kind::End);
        if blank && !all_content {
            changed = true;
        } else {
            out.extend_from_slice(token);
        }
        if !blank || all_content {
            before = kind;
        }
    }
    changed.then_some(out)
}

/// White space at both ends of every text is left out; with `wrapped` the lines of base64 are
/// joined too.
fn trimmed(form: &[u8], wrapped: bool) -> Option<Vec<u8>> {
    with_text(form, |text| {
        let inner = inner(text);
        if wrapped
            && let Some(joined) = joined(inner)
            && joined.len() < inner.len()
        {
            return Some(joined);
        }
        (inner.len() < text.len()).then(|| inner.to_vec())
    })
}

/// Tags on lines of their own, as writers indent: an element that holds text stays on its line.
fn indented(form: &[u8], indent: &str) -> Option<Vec<u8>> {
    let read: Vec<(Kind, &[u8])> = tokens(form).collect();
    // White space that is all of an element is its content, and stays.
    let kind_at = |place: usize| read.get(place).map(|(kind, _)| *kind);
    let is_indentation = |place: usize| {
        let (kind, token) = read[place];
        let is_content = place > 0
            && kind_at(place - 1) == Some(Kind::Start)
            && kind_at(place + 1) == Some(Kind::End);
        kind == Kind::Text && is_blank(token) && !is_content
    };
    if (0..read.len()).any(is_indentation) {
        return None;
    }
    let mut out = Vec::with_capacity(form.len() * 2);
    let (mut depth, bound) = (0, bound(form));
    for (place, (kind, token)) in read.iter().enumerate() {
        if out.len() > bound {
            return None;
        }
        let before = place.checked_sub(1).and_then(|before| read.get(before));
        let mut new_line = |depth: usize| {
            out.push(b'\n');
            out.extend_from_slice(indent.repeat(depth).as_bytes());
        };
        match (kind, before.map(|(kind, _)| *kind)) {
            (Kind::Start, Some(Kind::Start | Kind::End)) => new_line(depth),
            (Kind::End, Some(Kind::End)) => new_line(depth - 1),
            _ => {}
        }
        match kind {
            Kind::Start => depth += 1,
            Kind::End => depth = usize::max(depth, 2) - 1,
            _ => {}
        }
        out.extend_from_slice(token);
    }
    (read.len() > 3).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indentation_goes_and_comes() {
        let flat = b"<a><b>t</b><c></c></a>";
        let pretty = b"<a>\n  <b>t</b>\n  <c></c>\n</a>";
        assert_eq!(indented(flat, "  ").as_deref(), Some(&pretty[..]));
        assert_eq!(without_indentation(pretty).as_deref(), Some(&flat[..]));
        assert_eq!(without_indentation(b"<a> </a>"), None);
        let blank = b"<a><b> </b><c></c></a>";
        let pretty = b"<a>\n  <b> </b>\n  <c></c>\n</a>";
        assert_eq!(indented(blank, "  ").as_deref(), Some(&pretty[..]));
    }

    #[test]
    fn escaped_line_ends_of_windows_are_white_space() {
        let flat = b"<a><b>t</b></a>";
        let pretty = b"<a>&#xD;\n  <b>t</b>&#xD;\n</a>";
        assert_eq!(without_indentation(pretty).as_deref(), Some(&flat[..]));
        assert_eq!(inner(b"&#xD;\n x&#xD;y \n&#xD;"), b"x&#xD;y");
        assert!(is_blank(b"\t&#xD;\n") && !is_blank(b"&#xD"));
        let text = b"QUJDREVGR0hJSktM&#xD;\nTU5PUFFSU1RVVldY";
        let whole = Some(b"QUJDREVGR0hJSktMTU5PUFFSU1RVVldY".to_vec());
        assert_eq!(joined(text), whole);
        // Their letters are 16.
        for words in [&b"first\nsecond\tthird"[..], b"first\nsecond\nthird"] {
            assert_eq!(joined(words), None);
        }
    }

    #[test]
    fn leaves_are_found_with_their_places() {
        let form = b"<a><b></b><c>t</c><d>t<e></e></d></a>";
        let places = |empty| leaves(form, empty).map(|(at, name)| (at, name.to_vec()));
        let empty: Vec<_> = places(true).collect();
        assert_eq!(empty, [(6, b"b".to_vec()), (25, b"e".to_vec())]);
        let of_text: Vec<_> = places(false).collect();
        assert_eq!(of_text, [(14, b"c".to_vec())]);
        let filled = inserted(form, &[6, 25], b" ").expect("two places");
        assert_eq!(filled, b"<a><b> </b><c>t</c><d>t<e> </e></d></a>");
    }

    #[test]
    fn indentation_of_deep_elements_grows_no_further_than_its_bound() {
        let deep = |depth: usize, leaves: usize| {
            let leaves = "<b></b>".repeat(leaves);
            format!("{}{leaves}{}", "<a>".repeat(depth), "</a>".repeat(depth))
        };
        assert!(indented(deep(10, 4000).as_bytes(), "    ").is_some());
        // Each leaf would get 800 spaces.
        assert_eq!(indented(deep(200, 4000).as_bytes(), "    "), None);
    }
}
