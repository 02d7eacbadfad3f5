//! Accepted messages with their elements moved, copied, wrapped, renamed and changed: the search
//! for a signature wrapping attack.
//!
//! The first byte chooses the message; every four bytes that follow are one change: what, to which
//! element, with which other element, and where. After each change the message is read anew, so
//! that changes build upon each other.
#![no_main]

use libfuzzer_sys::fuzz_target;
use soapstone_fuzz::parties::CASES;
use soapstone_fuzz::reading;
use soapstone_xml::{Document, Element};

/// Most changes to one message: the known attacks need two or three.
const CHANGES: usize = 6;

fuzz_target!(|bytes: &[u8]| {
    let [which, changes @ ..] = bytes else {
        return;
    };
    let case = &CASES[usize::from(*which) % CASES.len()];
    let mut message = case.message.clone();
    for change in changes.as_chunks().0.iter().take(CHANGES) {
        let Some(document) = reading::parse(&message) else {
            break;
        };
        if let Some(changed) = changed(&document, *change) {
            message = changed;
        }
    }
    case.open(&message);
});

/// The message after one change; `None` if the change makes no sense here.
fn changed(document: &Document, [what, first, second, place]: [u8; 4]) -> Option<Vec<u8>> {
    let elements: Vec<Element<'_>> = document.root().descendants().collect();
    let pick = |number: u8| elements[usize::from(number) % elements.len()];
    let (one, other) = (pick(first), pick(second));
    let source = document.bytes();
    let (tag, all) = (span(one.start_tag_range()), span(one.range()));
    let text = source.get(all.clone())?;
    let cut = |insert: &[u8]| splice(source, all.clone(), insert);
    Some(match what % 10 {
        // Moves it.
        0 if !one.contains(other) => {
            let at = beside(source, other, place);
            if at <= all.start {
                splice(&cut(b""), at..at, text)
            } else {
                let at = at - all.len();
                splice(&cut(b""), at..at, text)
            }
        }
        // Copies it.
        1 => {
            let at = beside(source, other, place);
            splice(source, at..at, text)
        }
        // Removes it.
        2 => cut(b""),
        // Puts it into an element that nobody knows, or into one with the name of another.
        3 if place % 2 == 0 => cut(&[b"<x>", text, b"</x>"].concat()),
        3 => {
            let name = other.qualified_name();
            let open = source.get(span(other.start_tag_range()))?;
            let open = open.strip_suffix(b"/>").unwrap_or(open.strip_suffix(b">")?);
            let close = format!("></{name}>");
            let (start, end) = close.split_at(1);
            cut(&[open, start.as_bytes(), text, end.as_bytes()].concat())
        }
        // Two change places.
        4 if !one.contains(other) && !other.contains(one) => {
            let with = span(other.range());
            let (early, late) = if all.start < with.start {
                (all, with)
            } else {
                (with, all)
            };
            [
                &source[..early.start],
                &source[late.clone()],
                &source[early.end..late.start],
                &source[early.clone()],
                &source[late.end..],
            ]
            .concat()
        }
        // An attribute gets the value of another one, or a value of its own.
        5 => {
            let attribute = one.attributes().nth(usize::from(place & 3))?;
            let value = other.attributes().nth(usize::from(place >> 2 & 3));
            let value = value.map_or("x".into(), |other| other.value().into_owned());
            let found = position(&source[tag.clone()], attribute.written().as_bytes())?;
            let at = tag.start + found;
            splice(source, at..at + attribute.written().len(), value.as_bytes())
        }
        // An attribute of another element comes as well.
        6 => {
            let name_end = tag.start + 1 + one.qualified_name().len();
            let attribute = other.attributes().nth(usize::from(place & 3))?;
            let added = format!(
                " {}=\"{}\"",
                attribute.qualified_name(),
                attribute.written()
            );
            splice(source, name_end..name_end, added.as_bytes())
        }
        // Something that canonicalization drops, or resolves.
        7 => {
            let inside = tag.end.min(all.end);
            let added: &[u8] = match place % 4 {
                0 => b"<!--x-->",
                1 => b"<![CDATA[]]>",
                2 => b"<?x y?>",
                _ => b"&#32;",
            };
            splice(source, inside..inside, added)
        }
        // Its text becomes that of another, or changes.
        8 => {
            let inside = tag.end..tag.end + document.content_source(one.id())?.len();
            let content = if place % 2 == 0 {
                document.content_source(other.id())?
            } else {
                b"x"
            };
            splice(source, inside, content)
        }
        // One octet changes.
        9 => {
            let at = all.start + usize::from(place) * all.len() / 256;
            let mut changed = source.to_vec();
            *changed.get_mut(at)? ^= second.max(1);
            changed
        }
        _ => return None,
    })
}

/// Before, at the beginning, at the end, or behind.
fn beside(source: &[u8], element: Element<'_>, place: u8) -> usize {
    let (tag, all) = (span(element.start_tag_range()), span(element.range()));
    let has_end_tag = tag.end < all.end;
    match place % 4 {
        0 => all.start,
        1 if has_end_tag => tag.end,
        2 if has_end_tag => source[..all.end]
            .iter()
            .rposition(|octet| *octet == b'<')
            .unwrap_or(all.end),
        _ => all.end,
    }
}

fn span(range: std::ops::Range<u32>) -> std::ops::Range<usize> {
    range.start as usize..range.end as usize
}

fn splice(source: &[u8], range: std::ops::Range<usize>, insert: &[u8]) -> Vec<u8> {
    [&source[..range.start], insert, &source[range.end..]].concat()
}

fn position(source: &[u8], wanted: &[u8]) -> Option<usize> {
    source
        .windows(wanted.len().max(1))
        .position(|window| window == wanted)
}
