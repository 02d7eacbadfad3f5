//! Just enough DER (ITU-T X.690) to read keys, certificates and keystores, and to write keys.
//!
//! Reading borrows from the input, never recurses on its own, and refuses what DER does not allow:
//! indefinite and non-minimal lengths, and tags of more than one byte (nothing read here has any).

use crate::error::CryptoError;

pub(crate) const BOOLEAN: u8 = 0x01;
pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const BIT_STRING: u8 = 0x03;
pub(crate) const OCTET_STRING: u8 = 0x04;
pub(crate) const NULL: u8 = 0x05;
pub(crate) const OID: u8 = 0x06;
pub(crate) const ENUMERATED: u8 = 0x0a;
pub(crate) const UTC_TIME: u8 = 0x17;
pub(crate) const GENERALIZED_TIME: u8 = 0x18;
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const SET: u8 = 0x31;

/// The tag `[number]` of a constructed value.
pub(crate) const fn context(number: u8) -> u8 {
    0xa0 | number
}

/// The tag `[number] IMPLICIT` of a primitive value.
pub(crate) const fn context_primitive(number: u8) -> u8 {
    0x80 | number
}

/// The input is not the DER that was expected. Callers say what they were reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotDer;

impl NotDer {
    /// The error for the outside: `expected` names the structure that was being read.
    pub(crate) fn reading(expected: &'static str) -> impl FnOnce(NotDer) -> CryptoError {
        move |_| CryptoError::Malformed {
            expected,
            found: "bytes that are not its DER".to_owned(),
        }
    }
}

/// One element: its tag, what it holds, and itself with its header.
#[derive(Clone, Copy)]
pub(crate) struct Element<'a> {
    pub(crate) tag: u8,
    pub(crate) content: &'a [u8],
    pub(crate) whole: &'a [u8],
}

/// Reads elements one after the other.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(octets: &'a [u8]) -> Self {
        Self { rest: octets }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The tag of the next element, if there is one.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// The next element, whatever it is.
    pub(crate) fn any(&mut self) -> Result<Element<'a>, NotDer> {
        let (&tag, after_tag) = self.rest.split_first().ok_or(NotDer)?;
        if tag & 0x1f == 0x1f {
            return Err(NotDer);
        }
        let (&first, after_length) = after_tag.split_first().ok_or(NotDer)?;
        let (length, body) = match first {
            0..=0x7f => (usize::from(first), after_length),
            0x81..=0x84 => {
                let count = usize::from(first & 0x7f);
                let (digits, body) = after_length.split_at_checked(count).ok_or(NotDer)?;
                let length = digits
                    .iter()
                    .fold(0_usize, |sum, &digit| sum << 8 | usize::from(digit));
                if digits[0] == 0 || length < 0x80 {
                    return Err(NotDer);
                }
                (length, body)
            }
            _ => return Err(NotDer),
        };
        let (content, rest) = body.split_at_checked(length).ok_or(NotDer)?;
        let whole = &self.rest[..self.rest.len() - rest.len()];
        self.rest = rest;
        Ok(Element {
            tag,
            content,
            whole,
        })
    }

    /// What the next element holds, if it has this tag.
    pub(crate) fn expect(&mut self, tag: u8) -> Result<&'a [u8], NotDer> {
        let element = self.any()?;
        if element.tag == tag {
            Ok(element.content)
        } else {
            Err(NotDer)
        }
    }

    /// What the next element holds if it has this tag; otherwise nothing is read.
    pub(crate) fn optional(&mut self, tag: u8) -> Result<Option<&'a [u8]>, NotDer> {
        if self.peek() == Some(tag) {
            self.expect(tag).map(Some)
        } else {
            Ok(None)
        }
    }

    /// A reader of what the next element, of this tag, holds.
    pub(crate) fn enter(&mut self, tag: u8) -> Result<Reader<'a>, NotDer> {
        self.expect(tag).map(Reader::new)
    }

    /// The bytes of a bit string without unused bits.
    pub(crate) fn bit_string(&mut self) -> Result<&'a [u8], NotDer> {
        match self.expect(BIT_STRING)? {
            [0, octets @ ..] => Ok(octets),
            _ => Err(NotDer),
        }
    }

    /// The magnitude of a positive integer, without leading zeros.
    pub(crate) fn positive(&mut self) -> Result<&'a [u8], NotDer> {
        match self.expect(INTEGER)? {
            [0, magnitude @ ..] if magnitude.first().is_some_and(|&first| first >= 0x80) => {
                Ok(magnitude)
            }
            magnitude
                if magnitude
                    .first()
                    .is_some_and(|&first| (1..0x80).contains(&first)) =>
            {
                Ok(magnitude)
            }
            _ => Err(NotDer),
        }
    }

    /// A small non-negative integer.
    pub(crate) fn small(&mut self) -> Result<u32, NotDer> {
        match self.expect(INTEGER)? {
            [] => Err(NotDer),
            [first, ..] if *first >= 0x80 => Err(NotDer),
            octets if octets.len() > 5 || (octets.len() == 5 && octets[0] != 0) => Err(NotDer),
            octets => Ok(octets
                .iter()
                .fold(0, |sum, &octet| sum << 8 | u32::from(octet))),
        }
    }

    /// Nothing may follow.
    pub(crate) const fn end(&self) -> Result<(), NotDer> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(NotDer)
        }
    }
}

/// An element of this tag around the parts.
pub(crate) fn element(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut output = Vec::with_capacity(length + 6);
    output.push(tag);
    if length < 0x80 {
        output.push(length as u8);
    } else {
        let digits = length.to_be_bytes();
        let skipped = digits.iter().take_while(|&&digit| digit == 0).count();
        output.push(0x80 | (digits.len() - skipped) as u8);
        output.extend_from_slice(&digits[skipped..]);
    }
    for part in parts {
        output.extend_from_slice(part);
    }
    output
}

/// A positive integer from its magnitude; leading zeros are dropped.
pub(crate) fn positive(magnitude: &[u8]) -> Vec<u8> {
    let skipped = magnitude.iter().take_while(|&&octet| octet == 0).count();
    match &magnitude[skipped..] {
        [] => element(INTEGER, &[&[0]]),
        rest @ [first, ..] if *first >= 0x80 => element(INTEGER, &[&[0], rest]),
        rest => element(INTEGER, &[rest]),
    }
}

/// A bit string of whole bytes.
pub(crate) fn bit_string(octets: &[u8]) -> Vec<u8> {
    element(BIT_STRING, &[&[0], octets])
}

/// An object identifier in dotted decimals, for messages and for names without a short form.
pub(crate) fn dotted(oid: &[u8]) -> String {
    let mut text = String::new();
    let mut arc = 0_u64;
    let mut first = true;
    for &octet in oid {
        arc = arc << 7 | u64::from(octet & 0x7f);
        if octet & 0x80 != 0 {
            // Nine groups of seven bits at most; anything longer is nobody's identifier.
            if arc >> 56 != 0 {
                return format!("{oid:02x?}");
            }
            continue;
        }
        if first {
            let root = (arc / 40).min(2);
            text = format!("{root}.{}", arc - root * 40);
            first = false;
        } else {
            text.push('.');
            text.push_str(&arc.to_string());
        }
        arc = 0;
    }
    text
}

/// The bytes of an object identifier written in dotted decimals.
pub(crate) fn oid_from_dotted(text: &str) -> Option<Vec<u8>> {
    let mut arcs = text.split('.').map(|arc| {
        let plain =
            !arc.is_empty() && arc.len() <= 15 && arc.bytes().all(|octet| octet.is_ascii_digit());
        plain.then(|| arc.parse::<u64>().ok()).flatten()
    });
    let (first, second) = (arcs.next()??, arcs.next()??);
    if first > 2 || (first < 2 && second > 39) {
        return None;
    }
    let mut octets = Vec::new();
    push_arc(first * 40 + second, &mut octets);
    for arc in arcs {
        push_arc(arc?, &mut octets);
    }
    Some(octets)
}

fn push_arc(arc: u64, octets: &mut Vec<u8>) {
    let groups = (64 - (arc | 1).leading_zeros()).div_ceil(7);
    for group in (0..groups).rev() {
        let more = if group > 0 { 0x80 } else { 0 };
        octets.push((arc >> (7 * group)) as u8 & 0x7f | more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_only_in_their_shortest_form() {
        for (octets, accepted) in [
            (&[0x04, 0x01, 0xff][..], true),
            (&[0x04, 0x81, 0x01, 0xff], false),
            (&[0x04, 0x80, 0x00, 0x00], false),
            (&[0x04, 0x82, 0x00, 0x01, 0xff], false),
            (&[0x04, 0x02, 0xff], false),
            (&[0x1f, 0x81, 0x01, 0x00], false),
            (&[0x04], false),
            (&[], false),
            (&[0x04, 0x84, 0xff, 0xff, 0xff, 0xff], false),
            (&[0x04, 0x85, 0x01, 0x00, 0x00, 0x00, 0x00], false),
        ] {
            assert_eq!(Reader::new(octets).any().is_ok(), accepted, "{octets:x?}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for length in [0, 1, 0x7f, 0x80, 0xff, 0x100, 0x1_0000] {
            let content = vec![7; length];
            let written = element(OCTET_STRING, &[&content]);
            let mut reader = Reader::new(&written);
            let read = reader.any().unwrap();
            assert_eq!(
                (read.content, read.whole),
                (content.as_slice(), written.as_slice())
            );
            assert!(reader.is_empty());
        }
        for magnitude in [&[1][..], &[0x7f], &[0x80], &[0xff, 0], &[1, 0, 0]] {
            assert_eq!(Reader::new(&positive(magnitude)).positive(), Ok(magnitude));
        }
    }

    #[test]
    fn object_identifiers_are_shown_in_dotted_decimals() {
        assert_eq!(
            dotted(&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01]),
            "1.2.840.113549.1.1.1"
        );
        assert_eq!(dotted(&[0x55, 0x04, 0x03]), "2.5.4.3");
        assert_eq!(dotted(&[0x88, 0x37, 0x03]), "2.999.3");
        for text in [
            "1.2.840.113549.1.1.1",
            "2.5.4.3",
            "2.999.3",
            "0.9.2342.19200300.100.1.25",
        ] {
            assert_eq!(dotted(&oid_from_dotted(text).unwrap()), text);
        }
        for text in [
            "",
            "1",
            "3.1",
            "1.40",
            "1.2.",
            "1..2",
            "1.2.x",
            "1.2.99999999999999999999",
        ] {
            assert_eq!(oid_from_dotted(text), None, "{text}");
        }
    }

    #[test]
    fn integers_that_are_negative_zero_or_not_minimal_are_no_magnitudes() {
        for octets in [
            &[0x02, 0x01, 0x00][..],
            &[0x02, 0x01, 0x80],
            &[0x02, 0x02, 0x00, 0x01],
            &[0x02, 0x00],
        ] {
            assert_eq!(Reader::new(octets).positive(), Err(NotDer), "{octets:x?}");
        }
    }
}
