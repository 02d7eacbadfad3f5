//! One attribute of a name: its value, how it is written, and when two are the same.

use std::fmt::Write;

use super::keywords::keyword_of;
use crate::der;
use crate::hexadecimal::Digits;

#[derive(Clone, Debug)]
pub(super) struct Attribute {
    pub(super) oid: Vec<u8>,
    pub(super) value: Value,
    /// The value's DER, where the name came from DER.
    pub(super) der: Option<Vec<u8>>,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Text(String),
    /// DER of something that is not a character string.
    Other(Vec<u8>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    Rfc2253,
    OpenSsl { ascii: bool },
    Microsoft,
}

impl Attribute {
    pub(super) fn write(&self, spelling: Spelling, text: &mut String) {
        let known = keyword_of(&self.oid);
        let keyword = match spelling {
            Spelling::Rfc2253 => known.and_then(|known| known.rfc2253),
            Spelling::OpenSsl { .. } => known.map(|known| known.openssl),
            Spelling::Microsoft => known.and_then(|known| known.microsoft),
        };
        match keyword {
            Some(keyword) => text.push_str(keyword),
            None if spelling == Spelling::Microsoft => {
                text.push_str("OID.");
                text.push_str(&der::dotted(&self.oid));
            }
            None => text.push_str(&der::dotted(&self.oid)),
        }
        text.push('=');
        match &self.value {
            // Windows shows text whatever its attribute; RFC 2253 wants the DER where it has no
            // keyword.
            Value::Text(value) if keyword.is_some() || spelling == Spelling::Microsoft => {
                match spelling {
                    Spelling::Rfc2253 => escape(value, RFC2253_SPECIAL, spelling, text),
                    Spelling::OpenSsl { .. } => escape(value, OPENSSL_SPECIAL, spelling, text),
                    Spelling::Microsoft => quote(value, text),
                }
            }
            _ => {
                text.push('#');
                let _ = write!(text, "{}", Digits(&self.value_der()));
            }
        }
    }

    fn value_der(&self) -> Vec<u8> {
        match (&self.der, &self.value) {
            (Some(der), _) | (None, Value::Other(der)) => der.clone(),
            (None, Value::Text(text)) => encode_text(&self.oid, text),
        }
    }

    pub(super) fn to_der(&self) -> Vec<u8> {
        let oid = der::element(der::OID, &[&self.oid]);
        der::element(der::SEQUENCE, &[&oid, &self.value_der()])
    }

    /// A text that two attributes have in common if and only if they match: lengths stand before
    /// what may have any character.
    pub(super) fn folded(&self) -> String {
        let (kind, value) = match &self.value {
            Value::Text(text) => ("text", folded(text).collect()),
            Value::Other(der) => ("der", Digits(der).to_string()),
        };
        let oid = Digits(&self.oid);
        format!("{oid} {kind} {} {value}", value.len())
    }

    pub(super) fn matches(&self, other: &Self) -> bool {
        self.oid == other.oid
            && match (&self.value, &other.value) {
                (Value::Text(one), Value::Text(two)) => one == two || folded(one).eq(folded(two)),
                (Value::Other(one), Value::Other(two)) => one == two,
                _ => false,
            }
    }
}

/// The characters of a value in lower case, every run of white space as one space, none at the
/// ends.
fn folded(value: &str) -> impl Iterator<Item = char> {
    value
        .split_whitespace()
        .enumerate()
        .flat_map(|(index, word)| (index > 0).then_some(' ').into_iter().chain(word.chars()))
        .flat_map(char::to_lowercase)
}

/// What Java escapes wherever it stands.
const RFC2253_SPECIAL: &[char] = &[',', '=', '+', '<', '>', '#', ';', '"', '\\'];

/// What OpenSSL escapes wherever it stands.
const OPENSSL_SPECIAL: &[char] = &[',', '+', '<', '>', ';', '"', '\\'];

/// Backslashes before special characters, before `#` at the beginning, and before spaces at both
/// ends (RFC 2253 section 2.4): all of them in Java, the outermost in OpenSSL.
fn escape(value: &str, special: &[char], spelling: Spelling, text: &mut String) {
    let characters = value.chars().count();
    let (leading, trailing) = match spelling {
        Spelling::Rfc2253 => (
            characters - value.trim_start_matches(' ').chars().count(),
            characters - value.trim_end_matches(' ').chars().count(),
        ),
        _ => (1, 1),
    };
    let ascii = spelling == Spelling::OpenSsl { ascii: true };
    for (index, character) in value.chars().enumerate() {
        let space_at_end = character == ' ' && (index < leading || index + trailing >= characters);
        if special.contains(&character) || space_at_end || (index == 0 && character == '#') {
            text.push('\\');
            text.push(character);
        } else if ascii && (!character.is_ascii() || character.is_ascii_control()) {
            let mut octets = [0; 4];
            for octet in character.encode_utf8(&mut octets).bytes() {
                let _ = write!(text, "\\{octet:02X}");
            }
        } else {
            text.push(character);
        }
    }
}

/// Quotes around what needs them, quotes inside doubled (`CertNameToStr`).
fn quote(value: &str, text: &mut String) {
    let plain = !value.is_empty()
        && !value.starts_with(char::is_whitespace)
        && !value.ends_with(char::is_whitespace)
        && !value.contains([',', '+', '=', '"', '\n', '<', '>', '#', ';']);
    if plain {
        text.push_str(value);
        return;
    }
    text.push('"');
    text.push_str(&value.replace('"', "\"\""));
    text.push('"');
}

impl Value {
    /// The text of any of X.520's character strings; anything else stays DER.
    pub(super) fn of(element: der::Element<'_>) -> Self {
        let octets = element.content;
        let text = match element.tag {
            // UTF8String, NumericString, PrintableString, IA5String, VisibleString
            0x0c | 0x12 | 0x13 | 0x16 | 0x1a => String::from_utf8(octets.to_vec()).ok(),
            // TeletexString, in practice Latin-1
            0x14 => Some(octets.iter().copied().map(char::from).collect()),
            // BMPString
            0x1e if octets.len().is_multiple_of(2) => String::from_utf16(
                &octets
                    .chunks(2)
                    .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
                    .collect::<Vec<_>>(),
            )
            .ok(),
            // UniversalString
            0x1c if octets.len().is_multiple_of(4) => octets
                .chunks(4)
                .map(|four| {
                    char::from_u32(u32::from_be_bytes([four[0], four[1], four[2], four[3]]))
                })
                .collect(),
            _ => None,
        };
        text.map_or_else(|| Self::Other(element.whole.to_vec()), Self::Text)
    }
}

/// The encoding that certificate profiles ask for: IA5String for mail addresses and domain
/// components, PrintableString for countries and serial numbers, UTF8String for the rest (RFC 5280
/// section 4.1.2.4 and appendix A).
fn encode_text(oid: &[u8], text: &str) -> Vec<u8> {
    let openssl = keyword_of(oid).map_or("", |known| known.openssl);
    let tag = match openssl {
        "emailAddress" | "DC" if text.is_ascii() => 0x16,
        "C" | "serialNumber" | "dnQualifier" if is_printable(text) => 0x13,
        _ => 0x0c,
    };
    der::element(tag, &[text.as_bytes()])
}

fn is_printable(text: &str) -> bool {
    text.chars()
        .all(|character| character.is_ascii_alphanumeric() || " '()+,-./:=?".contains(character))
}
