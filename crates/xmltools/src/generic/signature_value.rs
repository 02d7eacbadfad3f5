//! The forms in which ECDSA and DSA signature values are met.
//!
//! XML-DSig 6.4 wants the two numbers side by side, each as long as the order of the group. Old
//! Java signers write them longer, with zeros in front; some writers use ASN.1.
//! The one rule: only the encoding changes; each form is verified like any other.

use soapstone_crypto::{KeyKind, PublicKey, SignatureAlgorithm, SignatureFamily};

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;

/// `value` as XML-DSig wants it, if it is in another form; ASN.1 only when `asn1` allows it.
pub(super) fn normalized(
    method: SignatureAlgorithm,
    key: &PublicKey,
    value: &[u8],
    asn1: bool,
) -> Option<Vec<u8>> {
    if !matches!(
        method.family(),
        SignatureFamily::Ecdsa | SignatureFamily::Dsa
    ) {
        return None;
    }
    let length = match key.kind() {
        KeyKind::Ec(curve) => curve.coordinate_length(),
        KeyKind::Dsa { .. } => key.dsa_components()?[1].len(),
        _ => return None,
    };
    if asn1 && let Some((r, s)) = from_asn1(value) {
        return side_by_side(r, s, length);
    }
    if value.len() == 2 * length || !value.len().is_multiple_of(2) {
        return None;
    }
    let (r, s) = value.split_at(value.len() / 2);
    side_by_side(r, s, length)
}

/// The ASN.1 form of two numbers side by side.
pub(super) fn to_asn1(value: &[u8]) -> Vec<u8> {
    let (r, s) = value.split_at(value.len() / 2);
    let mut content = integer(r);
    content.extend(integer(s));
    let mut encoded = vec![SEQUENCE];
    // Two numbers of at most 66 bytes each: one byte of length, or two.
    if content.len() >= 0x80 {
        encoded.push(0x81);
    }
    encoded.push(content.len() as u8);
    encoded.extend(content);
    encoded
}

fn side_by_side(r: &[u8], s: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut value = Vec::with_capacity(2 * length);
    for number in [without_zeros(r), without_zeros(s)] {
        let missing = length.checked_sub(number.len())?;
        value.resize(value.len() + missing, 0);
        value.extend_from_slice(number);
    }
    Some(value)
}

fn from_asn1(value: &[u8]) -> Option<(&[u8], &[u8])> {
    let (content, []) = element(value, SEQUENCE)? else {
        return None;
    };
    let (r, rest) = element(content, INTEGER)?;
    let (s, []) = element(rest, INTEGER)? else {
        return None;
    };
    Some((r, s))
}

/// The content of a DER element, and what follows it.
fn element(octets: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let [found, length, rest @ ..] = octets else {
        return None;
    };
    if *found != tag {
        return None;
    }
    match (*length, rest) {
        (length @ 0..=0x7f, rest) => rest.split_at_checked(usize::from(length)),
        (0x81, [length, rest @ ..]) if *length >= 0x80 => {
            rest.split_at_checked(usize::from(*length))
        }
        _ => None,
    }
}

fn integer(number: &[u8]) -> Vec<u8> {
    let number = without_zeros(number);
    // A number is positive: a leading bit of 1 gets a zero in front; zero itself is one byte.
    let sign = number.first().is_none_or(|first| *first >= 0x80);
    let mut encoded = vec![INTEGER, (number.len() + usize::from(sign)) as u8];
    encoded.extend(sign.then_some(0));
    encoded.extend_from_slice(number);
    encoded
}

fn without_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|octet| **octet == 0).count();
    &number[zeros..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_to_asn1_and_back() {
        for value in [[0x80; 64], [0x01; 64], [0x00; 64]] {
            let encoded = to_asn1(&value);
            let (r, s) = from_asn1(&encoded).unwrap();
            assert_eq!(side_by_side(r, s, 32).unwrap(), value);
        }
        let long = [0xff; 132];
        let encoded = to_asn1(&long);
        assert_eq!(encoded[1], 0x81);
        let (r, s) = from_asn1(&encoded).unwrap();
        assert_eq!(side_by_side(r, s, 66).unwrap(), long);
    }

    #[test]
    fn only_zeros_may_be_in_front_of_a_number() {
        assert_eq!(side_by_side(&[0, 0, 1], &[2], 2), Some(vec![0, 1, 0, 2]));
        assert_eq!(side_by_side(&[1, 0, 0], &[2], 2), None);
    }

    #[test]
    fn truncated_asn1_is_not_read() {
        for value in [
            &[][..],
            &[0x30],
            &[0x30, 3, 2, 1, 1],
            &[0x30, 6, 2, 1, 1, 2, 1, 1, 0],
            &[0x30, 0x81, 6, 2, 1, 1, 2, 1, 1],
        ] {
            assert_eq!(from_asn1(value), None);
        }
    }
}
