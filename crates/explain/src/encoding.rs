//! A digest or a signature value as its sender may have meant it: in hexadecimal, in base64url,
//! encoded twice.
//!
//! The rule kept here: what is written comes first, and each other reading has a name.

use soapstone_crypto::{base64, hexadecimal};

use crate::cause::Step;

/// Bytes that a text may stand for, and the step that leads from them to the text.
pub(crate) type Reading = (Vec<u8>, Option<Step>);

/// All readings of a text. `value` is what it decodes to as base64, `noun` what it is called.
pub(crate) fn readings(
    kind: &'static str,
    noun: &str,
    text: &str,
    value: Option<&[u8]>,
) -> Vec<Reading> {
    let mut found: Vec<Reading> = Vec::new();
    let step = |says: String| Some(Step::new(kind, says));
    if let Some(value) = value {
        found.push((value.to_vec(), None));
        if let Ok(inner) = std::str::from_utf8(value) {
            found.extend(hexadecimal::decode(inner).map(|bytes| {
                let says = format!("the base64 of the hexadecimal form of {noun}");
                (bytes, step(says))
            }));
            found.extend(base64::decode_xml_to_vec(value).ok().map(|bytes| {
                let says = format!("{noun} written in base64 twice");
                (bytes, step(says))
            }));
        }
    }
    // A form that was sent by a browser has a space for each plus sign.
    if text.trim().contains(' ') {
        let signs = text.trim().replace(' ', "+");
        found.extend(
            base64::decode_xml_to_vec(signs.as_bytes())
                .ok()
                .map(|bytes| {
                    let says = format!("the plus signs of {noun} read as spaces on the way");
                    (bytes, step(says))
                }),
        );
    }
    let text: String = text.split_ascii_whitespace().collect();
    if let Some(bytes) = hexadecimal::decode(&text) {
        let says = format!("{noun} written in hexadecimal, not in base64");
        found.push((bytes, step(says)));
    }
    if text.contains(['-', '_']) || !text.len().is_multiple_of(4) {
        let mut usual = text.replace('-', "+").replace('_', "/");
        while !usual.len().is_multiple_of(4) {
            usual.push('=');
        }
        found.extend(
            base64::decode_xml_to_vec(usual.as_bytes())
                .ok()
                .map(|bytes| {
                    let says = format!("{noun} written in base64url, not in base64");
                    (bytes, step(says))
                }),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<(Vec<u8>, bool)> {
        let value = base64::decode_xml_to_vec(text.as_bytes()).ok();
        let found = readings("digest-encoding", "the digest", text, value.as_deref());
        let found = found.into_iter();
        found.map(|(bytes, step)| (bytes, step.is_none())).collect()
    }

    #[test]
    fn what_is_written_comes_first() {
        assert_eq!(of("AQID"), [(vec![1, 2, 3], true)]);
    }

    #[test]
    fn other_codes_are_read_with_a_name() {
        assert_eq!(of("_-8"), [(vec![0xFF, 0xEF], false)]);
        assert_eq!(
            of(" 00 ff "),
            [(vec![0xD3, 0x47, 0xDF], true), (vec![0, 0xFF], false)]
        );
        assert_eq!(of("QVFJRA==")[1], (vec![1, 2, 3], false));
        assert!(of("A /8").contains(&(vec![0x03, 0xEF, 0xFC], false)));
    }
}
