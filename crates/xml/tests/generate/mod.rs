//! Random documents, written in every way that XML allows and C14N normalizes.
//!
//! A [`Piece`] is what shrinks; [`write`] makes it well-formed, whatever it is: prefixes that are
//! not in scope are left out, attributes that occur twice are written once.

use proptest::prelude::*;
use std::fmt::Write;

/// An element, or something between tags.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    Element(Box<Element>),
    Text(Vec<Character>),
    Cdata(String),
    Comment(String),
    Instruction(String),
}

#[derive(Clone, Debug)]
pub(crate) struct Element {
    prefix: u8,
    name: u8,
    /// Prefix and namespace.
    declarations: Vec<(u8, u8)>,
    /// Prefix, name, value.
    attributes: Vec<(u8, u8, Vec<Character>)>,
    /// How it is written: quotes, spaces, order.
    style: u16,
    pub(crate) content: Vec<Piece>,
}

/// A character and how it is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Character {
    character: char,
    form: u8,
}

const PREFIXES: [&str; 4] = ["", "p", "q", "wsu"];
const NAMES: [&str; 8] = [
    "a",
    "b",
    "id",
    "Id",
    "lang",
    "record",
    "aVeryLongElementName",
    "aVeryLongElementNode",
];
const NAMESPACES: [&str; 5] = [
    "",
    "urn:one",
    "urn:two",
    "http://example.org/?a=1&b=2",
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd",
];
const CHARACTERS: [char; 16] = [
    'x', 'y', ' ', '\n', '\r', '\t', '&', '<', '>', '"', '\'', ']', 'é', '€', '😀', '-',
];

fn character() -> impl Strategy<Value = Character> {
    (0..CHARACTERS.len(), any::<u8>()).prop_map(|(at, form)| Character {
        character: CHARACTERS[at],
        form,
    })
}

fn text() -> impl Strategy<Value = Vec<Character>> {
    prop::collection::vec(character(), 0..12)
}

fn raw() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&CHARACTERS[..]), 0..8)
        .prop_map(|characters| characters.into_iter().collect())
}

fn leaf() -> impl Strategy<Value = Piece> {
    prop_oneof![
        4 => text().prop_map(Piece::Text),
        1 => raw().prop_map(Piece::Cdata),
        1 => raw().prop_map(Piece::Comment),
        1 => raw().prop_map(Piece::Instruction),
        3 => element(Just(Vec::new()).boxed()),
    ]
}

fn element(content: BoxedStrategy<Vec<Piece>>) -> impl Strategy<Value = Piece> {
    let small = prop_oneof![3 => Just(0u8), 1 => 0..4u8];
    let declaration = (0..4u8, 0..NAMESPACES.len() as u8);
    let attribute = (0..5u8, 0..8u8, text());
    (
        small,
        0..8u8,
        prop::collection::vec(declaration, 0..3),
        prop::collection::vec(attribute, 0..4),
        prop_oneof![2 => Just(0u16), 1 => any::<u16>()],
        content,
    )
        .prop_map(|(prefix, name, declarations, attributes, style, content)| {
            Piece::Element(Box::new(Element {
                prefix,
                name,
                declarations,
                attributes,
                style,
                content,
            }))
        })
}

/// A root element with what is inside it.
pub(crate) fn root() -> impl Strategy<Value = Element> {
    let piece = leaf().prop_recursive(5, 60, 6, |inner| {
        element(prop::collection::vec(inner, 0..6).boxed())
    });
    element(prop::collection::vec(piece, 0..8).boxed()).prop_map(|piece| match piece {
        Piece::Element(element) => *element,
        _ => unreachable!("an element was made"),
    })
}

/// Writes a document with this root.
pub(crate) fn write(root: &Element) -> String {
    let mut output = String::new();
    write_element(root, &[(0, 0)], &mut output);
    output
}

fn write_element(element: &Element, scope: &[(u8, u8)], output: &mut String) {
    let mut scope = scope.to_vec();
    let mut declared: Vec<(u8, u8)> = Vec::new();
    for &(prefix, namespace) in &element.declarations {
        let undeclares_prefix = prefix != 0 && namespace == 0;
        if !undeclares_prefix && !declared.iter().any(|&(other, _)| other == prefix) {
            declared.push((prefix, namespace));
            scope.push((prefix, namespace));
        }
    }
    let bound = |prefix: u8| {
        scope
            .iter()
            .rev()
            .find(|&&(other, _)| other == prefix)
            .map(|&(_, namespace)| namespace)
    };
    let usable = |prefix: u8| if bound(prefix).is_some() { prefix } else { 0 };
    let qualified = |prefix: u8, name: u8| match PREFIXES[usable(prefix) as usize] {
        "" => NAMES[name as usize].to_owned(),
        prefix => format!("{prefix}:{}", NAMES[name as usize]),
    };

    let name = qualified(element.prefix, element.name);
    let style = element.style;
    let _ = write!(output, "<{name}");
    let mut parts: Vec<String> = declared
        .iter()
        .map(|&(prefix, namespace)| {
            let name = match PREFIXES[prefix as usize] {
                "" => "xmlns".to_owned(),
                prefix => format!("xmlns:{prefix}"),
            };
            let quote = if style & 1 == 0 { '"' } else { '\'' };
            format!(
                "{name}={quote}{}{quote}",
                NAMESPACES[namespace as usize].replace('&', "&amp;")
            )
        })
        .collect();
    let mut seen: Vec<(u8, u8)> = Vec::new();
    for (prefix, attribute, value) in &element.attributes {
        // Namespace 9 stands for that of `xml`; attributes without prefix have none.
        let (namespace, name) = match prefix {
            4 => (9, format!("xml:{}", NAMES[*attribute as usize])),
            0 => (0, NAMES[*attribute as usize].to_owned()),
            _ if bound(*prefix).is_none() => (0, NAMES[*attribute as usize].to_owned()),
            _ => (bound(*prefix).unwrap_or(0), qualified(*prefix, *attribute)),
        };
        // `xml:id` would have to be a name for libxml2, `xml:lang` and `xml:space` have their own
        // rules.
        if (namespace == 9 && NAMES[*attribute as usize] == "id")
            || seen.contains(&(namespace, *attribute))
        {
            continue;
        }
        seen.push((namespace, *attribute));
        let quote = if style & 2 == 0 { '"' } else { '\'' };
        let mut written = format!("{name}={quote}");
        for character in value {
            written.push_str(&form(*character, Some(quote)));
        }
        written.push(quote);
        parts.push(written);
    }
    if style & 4 != 0 {
        parts.reverse();
    }
    for part in parts {
        let space = match style >> 3 & 3 {
            0 | 1 => " ",
            2 => "  ",
            _ => "\r\n\t",
        };
        let _ = write!(output, "{space}{part}");
    }
    if element.content.is_empty() && style & 32 != 0 {
        output.push_str(if style & 64 == 0 { "/>" } else { " />" });
        return;
    }
    output.push_str(if style & 128 == 0 { ">" } else { "\n>" });
    for piece in &element.content {
        match piece {
            Piece::Element(element) => write_element(element, &scope, output),
            Piece::Text(text) => {
                for character in text {
                    output.push_str(&form(*character, None));
                }
            }
            Piece::Cdata(text) => {
                let _ = write!(output, "<![CDATA[{}]]>", text.replace("]]>", "]] >"));
            }
            Piece::Comment(text) => {
                let text = text.replace('-', "_");
                let _ = write!(output, "<!--{text}-->");
            }
            Piece::Instruction(text) => {
                let _ = write!(output, "<?target {text}?>");
            }
        }
    }
    output.push_str("</");
    output.push_str(&name);
    output.push_str(if style & 256 == 0 { ">" } else { " >" });
}

/// One character as it may be written in an attribute value between `quote`, or in text.
fn form(character: Character, quote: Option<char>) -> String {
    let Character { character: c, form } = character;
    match (form % 4, c, quote) {
        (0, _, _) if form > 128 => format!("&#{};", c as u32),
        (1, _, _) if form > 128 => format!("&#x{:X};", c as u32),
        (_, '&', _) => "&amp;".into(),
        (_, '<', _) => "&lt;".into(),
        (2, '>', _) | (_, '>', None) => "&gt;".into(),
        (2, '\'', _) => "&apos;".into(),
        (2, '"', _) => "&quot;".into(),
        (_, c, Some(quote)) if c == quote => format!("&#{};", c as u32),
        _ => c.into(),
    }
}
