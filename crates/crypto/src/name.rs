//! Distinguished names: read from certificates and from text, written and compared.
//!
//! `ds:X509IssuerName` is a string, and every stack writes it in its own way: attribute keywords,
//! separators, quoting, order and escapes differ. So names are written exactly as the common stacks
//! do ([`NameStyle`]) and compared by what they mean ([`DistinguishedName::matches`]), never as
//! text.

use std::fmt::{self, Write};

use crate::der::{self, NotDer, Reader};
use crate::error::CryptoError;
use crate::hexadecimal::{self, Digits};

/// A distinguished name: a sequence of sets of attributes, as X.501 has it.
#[derive(Clone, Debug)]
pub struct DistinguishedName {
    /// In the order of the certificate: the most general first.
    sets: Vec<Vec<Attribute>>,
}

#[derive(Clone, Debug)]
struct Attribute {
    oid: Vec<u8>,
    value: Value,
    /// The value's DER, where the name came from DER.
    der: Option<Vec<u8>>,
}

#[derive(Clone, Debug)]
enum Value {
    Text(String),
    /// DER of something that is not a character string.
    Other(Vec<u8>),
}

/// How a name is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameStyle {
    /// RFC 2253 to the letter, as Java's `X500Principal.getName()` and so WSS4J, CXF and Metro
    /// write it: the nine keywords of its table, everything else as `OID=#hexadecimal DER`.
    Rfc2253,
    /// As OpenSSL's `XN_FLAG_RFC2253`, and so xmlsec1: OpenSSL's short names, bytes above ASCII
    /// escaped.
    OpenSsl,
    /// As Windows and .NET: `, ` between the parts, values in quotes, `E` and `S` for mail address
    /// and state.
    Microsoft,
}

/// One attribute type and what it is called.
struct Keyword {
    oid: &'static [u8],
    /// In RFC 2253's table.
    rfc2253: Option<&'static str>,
    openssl: &'static str,
    microsoft: Option<&'static str>,
    /// Other names it has when read.
    aliases: &'static [&'static str],
}

macro_rules! keyword {
    ([$($oid:literal),*], $rfc:expr, $openssl:literal, $microsoft:expr $(, $alias:literal)*) => {
        Keyword { oid: &[$($oid),*], rfc2253: $rfc, openssl: $openssl, microsoft: $microsoft, aliases: &[$($alias),*] }
    };
}

/// X.520, RFC 4519, PKCS#9 and the extended validation guidelines.
const KEYWORDS: &[Keyword] = &[
    keyword!([0x55, 4, 3], Some("CN"), "CN", Some("CN"), "commonName"),
    keyword!([0x55, 4, 4], None, "SN", Some("SN"), "surname"),
    keyword!([0x55, 4, 5], None, "serialNumber", Some("SERIALNUMBER")),
    keyword!([0x55, 4, 6], Some("C"), "C", Some("C"), "countryName"),
    keyword!([0x55, 4, 7], Some("L"), "L", Some("L"), "localityName"),
    keyword!(
        [0x55, 4, 8],
        Some("ST"),
        "ST",
        Some("S"),
        "stateOrProvinceName"
    ),
    keyword!(
        [0x55, 4, 9],
        Some("STREET"),
        "street",
        Some("STREET"),
        "streetAddress"
    ),
    keyword!([0x55, 4, 10], Some("O"), "O", Some("O"), "organizationName"),
    keyword!(
        [0x55, 4, 11],
        Some("OU"),
        "OU",
        Some("OU"),
        "organizationalUnitName"
    ),
    keyword!([0x55, 4, 12], None, "title", Some("T")),
    keyword!([0x55, 4, 13], None, "description", Some("Description")),
    keyword!([0x55, 4, 15], None, "businessCategory", None),
    keyword!([0x55, 4, 17], None, "postalCode", Some("PostalCode")),
    keyword!([0x55, 4, 41], None, "name", None),
    keyword!([0x55, 4, 42], None, "GN", Some("G"), "givenName"),
    keyword!([0x55, 4, 43], None, "initials", Some("I")),
    keyword!(
        [0x55, 4, 44],
        None,
        "generationQualifier",
        None,
        "generation"
    ),
    keyword!(
        [0x55, 4, 46],
        None,
        "dnQualifier",
        Some("dnQualifier"),
        "DNQ"
    ),
    keyword!([0x55, 4, 65], None, "pseudonym", None),
    keyword!([0x55, 4, 97], None, "organizationIdentifier", None),
    keyword!(
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1],
        None,
        "emailAddress",
        Some("E"),
        "email"
    ),
    keyword!(
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 2],
        None,
        "unstructuredName",
        None
    ),
    keyword!(
        [0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 1],
        Some("UID"),
        "UID",
        None,
        "userId"
    ),
    keyword!(
        [0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25],
        Some("DC"),
        "DC",
        Some("DC"),
        "domainComponent"
    ),
    keyword!(
        [0x2b, 6, 1, 4, 1, 0x82, 0x37, 0x3c, 2, 1, 1],
        None,
        "jurisdictionL",
        None
    ),
    keyword!(
        [0x2b, 6, 1, 4, 1, 0x82, 0x37, 0x3c, 2, 1, 2],
        None,
        "jurisdictionST",
        None
    ),
    keyword!(
        [0x2b, 6, 1, 4, 1, 0x82, 0x37, 0x3c, 2, 1, 3],
        None,
        "jurisdictionC",
        None
    ),
];

fn keyword_of(oid: &[u8]) -> Option<&'static Keyword> {
    KEYWORDS.iter().find(|keyword| keyword.oid == oid)
}

const EXPECTED: &str = "a distinguished name";

impl DistinguishedName {
    /// Reads the DER of an X.501 `Name`.
    pub(crate) fn from_der(name: &[u8]) -> Result<Self, NotDer> {
        let mut outer = Reader::new(name);
        let mut sequence = outer.enter(der::SEQUENCE)?;
        outer.end()?;
        let mut sets = Vec::new();
        while !sequence.is_empty() {
            let mut set = sequence.enter(der::SET)?;
            let mut attributes = Vec::new();
            while !set.is_empty() {
                let mut attribute = set.enter(der::SEQUENCE)?;
                let oid = attribute.expect(der::OID)?.to_vec();
                let value = attribute.any()?;
                attribute.end()?;
                attributes.push(Attribute {
                    oid,
                    value: Value::of(value),
                    der: Some(value.whole.to_vec()),
                });
            }
            sets.push(attributes);
        }
        Ok(Self { sets })
    }

    /// Reads a name as any of the styles writes it, and a few more: `,` or `;` between the parts,
    /// spaces around them, values plain, escaped, quoted or as `#hexadecimal`, attribute types
    /// by keyword in any case or by number with or without `OID.`.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Malformed`] if it cannot be read.
    pub fn parse(text: &str) -> Result<Self, CryptoError> {
        let mut sets: Vec<Vec<Attribute>> = Vec::new();
        let mut rest = without_space_around(text);
        let mut joined = false;
        while !rest.is_empty() {
            let (attribute, after, separator) = parse_attribute(rest)?;
            match sets.last_mut() {
                Some(last) if joined => last.push(attribute),
                _ => sets.push(vec![attribute]),
            }
            joined = separator == Some('+');
            rest = after.trim_start();
            if rest.is_empty() && separator.is_some() {
                return Err(malformed(format!("`{text}`, which ends in a separator")));
            }
        }
        sets.reverse();
        Ok(Self { sets })
    }

    /// The name in this style.
    #[must_use]
    pub fn to_text(&self, style: NameStyle) -> String {
        self.write(match style {
            NameStyle::Rfc2253 => Spelling::Rfc2253,
            NameStyle::OpenSsl => Spelling::OpenSsl { ascii: true },
            NameStyle::Microsoft => Spelling::Microsoft,
        })
    }

    fn write(&self, spelling: Spelling) -> String {
        let mut text = String::new();
        for (index, set) in self.sets.iter().rev().enumerate() {
            if index > 0 {
                text.push_str(if spelling == Spelling::Microsoft {
                    ", "
                } else {
                    ","
                });
            }
            for (index, attribute) in set.iter().enumerate() {
                if index > 0 {
                    text.push_str(if spelling == Spelling::Microsoft {
                        " + "
                    } else {
                        "+"
                    });
                }
                attribute.write(spelling, &mut text);
            }
        }
        text
    }

    /// Whether both are the same name: the same attributes in the same or exactly the opposite
    /// order, values compared without regard to case and to repeated, leading and trailing
    /// spaces (RFC 5280 section 7.1).
    #[must_use]
    pub fn matches(&self, other: &Self) -> bool {
        let same = |(one, two): (&Vec<Attribute>, &Vec<Attribute>)| same_attributes(one, two);
        self.sets.len() == other.sets.len()
            && (self.sets.iter().zip(&other.sets).all(same)
                || self.sets.iter().zip(other.sets.iter().rev()).all(same))
    }

    /// Whether this name has every attribute of `pattern`, wherever it stands, and of the types
    /// that `pattern` names no further ones: `CN=client` is no part of a name with two CNs. An
    /// empty pattern is part of nothing.
    #[must_use]
    pub fn contains(&self, pattern: &Self) -> bool {
        let wanted: Vec<&Attribute> = pattern.sets.iter().flatten().collect();
        let of_these_types = self
            .sets
            .iter()
            .flatten()
            .filter(|own| wanted.iter().any(|wanted| wanted.oid == own.oid));
        !wanted.is_empty() && same_attributes(of_these_types, wanted.iter().copied())
    }

    /// Whether there is no attribute at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// The DER of the name, for certificates that are made here.
    pub(crate) fn to_der(&self) -> Vec<u8> {
        let sets: Vec<Vec<u8>> = self
            .sets
            .iter()
            .map(|set| {
                let mut attributes: Vec<Vec<u8>> = set.iter().map(Attribute::to_der).collect();
                attributes.sort();
                let parts: Vec<&[u8]> = attributes.iter().map(Vec::as_slice).collect();
                der::element(der::SET, &parts)
            })
            .collect();
        der::element(
            der::SEQUENCE,
            &sets.iter().map(Vec::as_slice).collect::<Vec<_>>(),
        )
    }
}

/// For people: as OpenSSL, but with every character shown as it is.
impl fmt::Display for DistinguishedName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.write(Spelling::OpenSsl { ascii: false }))
    }
}

/// Whether each attribute of one side has its counterpart on the other one.
fn same_attributes<'a>(
    one: impl IntoIterator<Item = &'a Attribute>,
    two: impl IntoIterator<Item = &'a Attribute>,
) -> bool {
    let mut unmatched: Vec<&Attribute> = two.into_iter().collect();
    one.into_iter().all(|attribute| {
        let position = unmatched.iter().position(|other| attribute.matches(other));
        position
            .map(|position| unmatched.swap_remove(position))
            .is_some()
    }) && unmatched.is_empty()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    Rfc2253,
    OpenSsl { ascii: bool },
    Microsoft,
}

impl Attribute {
    fn write(&self, spelling: Spelling, text: &mut String) {
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

    fn to_der(&self) -> Vec<u8> {
        let oid = der::element(der::OID, &[&self.oid]);
        der::element(der::SEQUENCE, &[&oid, &self.value_der()])
    }

    fn matches(&self, other: &Self) -> bool {
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
    fn of(element: der::Element<'_>) -> Self {
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

fn malformed(found: String) -> CryptoError {
    CryptoError::Malformed {
        expected: EXPECTED,
        found,
    }
}

/// Reads `type = value`; returns what follows and the separator that was there.
fn parse_attribute(text: &str) -> Result<(Attribute, &str, Option<char>), CryptoError> {
    let (keyword, rest) = text
        .split_once('=')
        .ok_or_else(|| malformed(format!("`{text}`")))?;
    let keyword = keyword.trim();
    let oid =
        parse_type(keyword).ok_or_else(|| malformed(format!("the attribute type `{keyword}`")))?;
    let rest = rest.trim_start();
    let (value, rest) = match rest.chars().next() {
        Some('#') => parse_hexadecimal(rest)?,
        Some('"') => parse_quoted(&rest[1..])?,
        _ => parse_plain(rest)?,
    };
    let rest = rest.trim_start();
    let mut characters = rest.chars();
    let separator = characters.next();
    if !matches!(separator, None | Some(',' | ';' | '+')) {
        return Err(malformed(format!("`{rest}` after a value")));
    }
    Ok((
        Attribute {
            oid,
            value,
            der: None,
        },
        characters.as_str(),
        separator,
    ))
}

fn parse_type(keyword: &str) -> Option<Vec<u8>> {
    let is = |name: &str| name.eq_ignore_ascii_case(keyword);
    let known = KEYWORDS.iter().find(|known| {
        is(known.openssl)
            || known.rfc2253.is_some_and(is)
            || known.microsoft.is_some_and(is)
            || known.aliases.iter().any(|alias| is(alias))
    });
    match known {
        Some(known) => Some(known.oid.to_vec()),
        None => {
            let number = match keyword.get(..4) {
                Some(prefix) if prefix.eq_ignore_ascii_case("OID.") => &keyword[4..],
                _ => keyword,
            };
            der::oid_from_dotted(number)
        }
    }
}

fn parse_hexadecimal(text: &str) -> Result<(Value, &str), CryptoError> {
    let digits = text[1..]
        .find(|character: char| !character.is_ascii_hexdigit())
        .unwrap_or(text.len() - 1);
    let (digits, rest) = text[1..].split_at(digits);
    let octets = hexadecimal::decode(digits)
        .ok_or_else(|| malformed(format!("`#{digits}`, which is no hexadecimal DER")))?;
    let mut reader = Reader::new(&octets);
    match reader.any() {
        Ok(element) if reader.is_empty() => Ok((Value::of(element), rest)),
        _ => Err(malformed(format!(
            "`#{digits}`, which is no hexadecimal DER"
        ))),
    }
}

/// A name without the space around it. A space that a backslash escapes belongs to the last value.
fn without_space_around(text: &str) -> &str {
    let text = text.trim_start();
    let end = text.trim_end().len();
    let backslashes = end - text[..end].trim_end_matches('\\').len();
    match text[end..].chars().next() {
        Some(escaped) if backslashes % 2 == 1 => &text[..end + escaped.len_utf8()],
        _ => &text[..end],
    }
}

fn parse_quoted(text: &str) -> Result<(Value, &str), CryptoError> {
    let unclosed = || malformed(format!("`\"{text}` without a closing quote"));
    let mut value = Unescaped::default();
    let mut characters = text.chars();
    loop {
        match characters.next().ok_or_else(unclosed)? {
            '"' if characters.as_str().starts_with('"') => {
                characters.next();
                value.push('"');
            }
            '"' => return Ok((value.finish(usize::MAX)?, characters.as_str())),
            // RFC 1779 escapes inside quotes, Windows does not: there a backslash stands for
            // itself.
            '\\' if characters.as_str().starts_with(['"', '\\']) => {
                value.push_escaped(&mut characters).ok_or_else(unclosed)?;
            }
            character => value.push(character),
        }
    }
}

fn parse_plain(text: &str) -> Result<(Value, &str), CryptoError> {
    let mut value = Unescaped::default();
    // Bytes up to the last one that is not an unescaped space: trailing space is not part of the
    // value.
    let mut kept = 0;
    let mut characters = text.chars();
    loop {
        let rest = characters.as_str();
        match characters.next() {
            None | Some(',' | ';' | '+') => return Ok((value.finish(kept)?, rest)),
            Some('\\') => {
                value
                    .push_escaped(&mut characters)
                    .ok_or_else(|| malformed(format!("`{text}`, which ends in a backslash")))?;
                kept = value.octets.len();
            }
            Some(character) => {
                value.push(character);
                if character != ' ' {
                    kept = value.octets.len();
                }
            }
        }
    }
}

/// A value as bytes, because an escape may stand for one byte of a longer character.
#[derive(Default)]
struct Unescaped {
    octets: Vec<u8>,
}

impl Unescaped {
    fn push(&mut self, character: char) {
        let mut octets = [0; 4];
        self.octets
            .extend_from_slice(character.encode_utf8(&mut octets).as_bytes());
    }

    /// What follows a backslash: two hexadecimal digits or any one character.
    fn push_escaped(&mut self, characters: &mut std::str::Chars<'_>) -> Option<()> {
        let rest = characters.as_str();
        if let Some(octet) = rest.get(..2).and_then(hexadecimal::decode) {
            self.octets.extend(octet);
            *characters = rest[2..].chars();
        } else {
            self.push(characters.next()?);
        }
        Some(())
    }

    fn finish(mut self, kept: usize) -> Result<Value, CryptoError> {
        self.octets.truncate(kept);
        String::from_utf8(self.octets)
            .map(Value::Text)
            .map_err(|_| malformed("escaped bytes that are not UTF-8".to_owned()))
    }
}

#[cfg(test)]
mod tests;
