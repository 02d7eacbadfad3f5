//! Text and base64 in the small elements of WS-Security.
//!
//! The one rule: a value has a bound, and is nothing but text.

use std::borrow::Cow;

use soapstone_crypto::base64;
use soapstone_xml::Element;

use crate::names::BASE64_BINARY;
use crate::rejected::Rejected;

fn malformed(problem: String) -> Rejected {
    Rejected::Malformed {
        element: "ds:KeyInfo",
        problem,
    }
}

/// The text of an element that has nothing else.
pub(crate) fn text(element: Element<'_>) -> Result<Cow<'_, str>, Rejected> {
    element
        .text_strict()
        .ok_or_else(|| malformed(format!("expected text in `{}`", element.local())))
}

/// Longest base64 text, bytes: a certificate of 16 KiB and then some.
const OCTETS_LIMIT: usize = 32 * 1024;

/// The bytes that an element has as base64.
pub(crate) fn octets(element: Element<'_>) -> Result<Vec<u8>, Rejected> {
    let coded = text(element)?;
    if coded.len() > OCTETS_LIMIT {
        return Err(malformed(format!(
            "expected at most {OCTETS_LIMIT} bytes in `{}`",
            element.local()
        )));
    }
    let mut octets = Vec::new();
    base64::decode_xml(coded.as_bytes(), &mut octets)
        .map_err(|_| malformed(format!("expected base64 in `{}`", element.local())))?;
    Ok(octets)
}

/// Checks that the content of an element is said to be base64, or nothing is said of it (BSP 1.1,
/// R3030, R3071 and R4221).
pub(crate) fn only_base64(element: Element<'_>, what: &str) -> Result<(), Rejected> {
    match element.attribute("", "EncodingType") {
        Some(encoding) if encoding != BASE64_BINARY => Err(Rejected::TokenUnsupported {
            found: format!("{what} encoding `{encoding}`"),
        }),
        _ => Ok(()),
    }
}

/// Bytes from short base64 text.
pub(crate) fn base64_octets(coded: &str, element: &'static str) -> Result<Vec<u8>, Rejected> {
    let mut octets = Vec::new();
    let decoded =
        coded.len() <= OCTETS_LIMIT && base64::decode_xml(coded.as_bytes(), &mut octets).is_ok();
    decoded
        .then_some(octets)
        .ok_or_else(|| Rejected::Malformed {
            element,
            problem: "expected base64".to_owned(),
        })
}
