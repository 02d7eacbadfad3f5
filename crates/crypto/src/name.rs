//! Distinguished names: read from certificates and from text, written and compared.
//!
//! `ds:X509IssuerName` is a string, and every stack writes it in its own way: attribute keywords,
//! separators, quoting, order and escapes differ. So names are written exactly as the common stacks
//! do ([`NameStyle`]) and compared by what they mean ([`DistinguishedName::matches`]), never as
//! text.

mod attribute;
mod holder;
mod keywords;
mod parse;

use std::fmt;

use self::attribute::{Attribute, Spelling, Value};
pub use self::holder::HolderName;
use self::parse::{QuotedPairs, malformed, parse_attribute, without_space_around};
use crate::der::{self, NotDer, Reader};
use crate::error::CryptoError;

/// A distinguished name: a sequence of sets of attributes, as X.501 has it.
#[derive(Clone, Debug)]
pub struct DistinguishedName {
    /// In the order of the certificate: the most general first.
    sets: Vec<Vec<Attribute>>,
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
        Self::parse_with(text, QuotedPairs::Literal)
    }

    /// Whether a text, written by anybody, means this name. Inside of quotes a backslash and two
    /// hexadecimal digits are read both ways: Windows means the characters, and OpenSSL a byte of
    /// one (RFC 2253, 3). So one text may mean two names, and its reader has to expect that.
    #[must_use]
    pub fn is_meant_by(&self, text: &str) -> bool {
        let is_read = |pairs| Self::parse_with(text, pairs).is_ok_and(|name| name.matches(self));
        let has_pairs = || text.contains('"') && text.contains('\\');
        is_read(QuotedPairs::Literal) || has_pairs() && is_read(QuotedPairs::Bytes)
    }

    fn parse_with(text: &str, pairs: QuotedPairs) -> Result<Self, CryptoError> {
        let mut sets: Vec<Vec<Attribute>> = Vec::new();
        let mut rest = without_space_around(text);
        let mut joined = false;
        while !rest.is_empty() {
            let (attribute, after, separator) = parse_attribute(rest, pairs)?;
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

    /// A text that two names have in common if and only if they [match](Self::matches). It is for
    /// comparison, and no style reads it.
    #[must_use]
    pub fn folded(&self) -> String {
        let sets = self.sets.iter().map(|set| {
            let mut attributes: Vec<_> = set.iter().map(Attribute::folded).collect();
            attributes.sort();
            attributes.join("+")
        });
        let sets: Vec<_> = sets.collect();
        let reversed: Vec<_> = sets.iter().rev().cloned().collect();
        sets.min(reversed).join(",")
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

#[cfg(test)]
mod tests;
