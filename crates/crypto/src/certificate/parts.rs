//! A certificate taken apart (RFC 5280, 4.1).
//!
//! The rule kept here: what is not DER, or has more than a certificate has, is refused.

use jiff::Timestamp;

use super::extensions::Extensions;
use crate::der::{self, NotDer, Reader};

/// The pieces of a certificate, as they lie in its DER.
pub(super) struct Parts<'a> {
    /// Bytes before the part that is signed: the header of the whole.
    pub(super) header: usize,
    /// Bytes of the part that is signed.
    pub(super) signed: usize,
    /// Bytes of the signature, which is the end of the whole.
    pub(super) signature: usize,
    pub(super) algorithm: &'a [u8],
    pub(super) version: u8,
    pub(super) serial: &'a [u8],
    pub(super) issuer: &'a [u8],
    pub(super) subject: &'a [u8],
    pub(super) not_before: Timestamp,
    pub(super) not_after: Timestamp,
    pub(super) spki: &'a [u8],
    pub(super) extensions: Extensions,
}

impl<'a> Parts<'a> {
    pub(super) fn read(der: &'a [u8]) -> Result<Self, NotDer> {
        let mut outer = Reader::new(der);
        let whole = outer.expect(der::SEQUENCE)?;
        outer.end()?;
        let mut certificate = Reader::new(whole);
        let signed = certificate.any()?;
        let algorithm = certificate.any()?;
        let signature = certificate.bit_string()?;
        certificate.end()?;
        if signed.tag != der::SEQUENCE || algorithm.tag != der::SEQUENCE {
            return Err(NotDer);
        }
        let mut body = Reader::new(signed.content);
        let version = match body.optional(der::context(0))? {
            None => 1,
            Some(version) => match Reader::new(version).small()? {
                version @ 0..=2 => version as u8 + 1,
                _ => return Err(NotDer),
            },
        };
        let serial = body.expect(der::INTEGER)?;
        // RFC 5280 section 4.1.2.2 allows 20 bytes; some authorities use a few more.
        if serial.is_empty() || serial.len() > 32 {
            return Err(NotDer);
        }
        // What is signed must name the algorithm it is signed with (RFC 5280 section 4.1.1.2).
        if body.any()?.whole != algorithm.whole {
            return Err(NotDer);
        }
        let issuer = body.any()?.whole;
        let mut validity = body.enter(der::SEQUENCE)?;
        let (not_before, not_after) = (time(&mut validity)?, time(&mut validity)?);
        validity.end()?;
        let subject = body.any()?.whole;
        let spki = body.any()?.whole;
        body.optional(der::context_primitive(1))?;
        body.optional(der::context_primitive(2))?;
        let extensions = match body.optional(der::context(3))? {
            Some(extensions) if version == 3 => Extensions::read(extensions)?,
            Some(_) => return Err(NotDer),
            None => Extensions::default(),
        };
        body.end()?;
        Ok(Self {
            header: der.len() - whole.len(),
            signed: signed.whole.len(),
            signature: signature.len(),
            algorithm: algorithm.content,
            version,
            serial,
            issuer,
            subject,
            not_before,
            not_after,
            spki,
            extensions,
        })
    }
}

/// A `Time`: UTCTime or GeneralizedTime, in UTC and with seconds (RFC 5280 section 4.1.2.5).
pub(crate) fn time(reader: &mut Reader<'_>) -> Result<Timestamp, NotDer> {
    let element = reader.any()?;
    let text = std::str::from_utf8(element.content).map_err(|_| NotDer)?;
    let digits = text.strip_suffix('Z').ok_or(NotDer)?;
    let expected = match element.tag {
        der::UTC_TIME => 12,
        der::GENERALIZED_TIME => 14,
        _ => return Err(NotDer),
    };
    if digits.len() != expected || !digits.bytes().all(|octet| octet.is_ascii_digit()) {
        return Err(NotDer);
    }
    let (year, rest) = digits.split_at(expected - 10);
    let number = |text: &str| text.parse::<i16>().map_err(|_| NotDer);
    let year = match number(year)? {
        short @ 0..50 if expected == 12 => 2000 + short,
        short if expected == 12 => 1900 + short,
        full => full,
    };
    let part = |at: usize| number(&rest[at..at + 2]).map(|number| number as i8);
    let date =
        jiff::civil::DateTime::new(year, part(0)?, part(2)?, part(4)?, part(6)?, part(8)?, 0)
            .map_err(|_| NotDer)?;
    date.to_zoned_datetime(jiff::tz::TimeZone::UTC)
        .map(|zoned| zoned.timestamp())
        .map_err(|_| NotDer)
}
