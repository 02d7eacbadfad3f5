//! `ds:KeyValue` and `dsig11:DEREncodedKeyValue` (XML-DSig 4.5.2 and 4.5.9): a public key written
//! out.
//!
//! The one rule: reading gives a key, never a reason to trust it.

use soapstone_crypto::{Curve, PublicKey, base64};
use soapstone_xml::Element;

use super::error::KeyInfoError;
use crate::namespaces::{DSIG, DSIG_MORE_2001, DSIG11};
use crate::structure::{Children, StructureError, required_attribute, simple_content};

/// Longest `CryptoBinary` read: the modulus of an RSA key of 16,384 bits is 2,048 bytes.
const LONGEST_NUMBER: usize = 4096;

/// A key written out in a `ds:KeyValue`.
#[derive(Clone, Debug)]
pub enum KeyValue {
    /// `ds:RSAKeyValue`.
    Rsa(PublicKey),
    /// `ds:DSAKeyValue`.
    Dsa(PublicKey),
    /// `dsig11:ECKeyValue`, or `ECDSAKeyValue` of RFC 4050.
    Ec(PublicKey),
}

impl KeyValue {
    /// The public key.
    #[must_use]
    pub fn into_public_key(self) -> PublicKey {
        match self {
            Self::Rsa(key) | Self::Dsa(key) | Self::Ec(key) => key,
        }
    }

    /// Reads a `ds:KeyValue`; `None` when it holds a kind of key that is not known.
    ///
    /// # Errors
    /// [`KeyInfoError`] when the kind is known and the value cannot be read or is not a key.
    pub fn parse(key_value: Element<'_>) -> Result<Option<Self>, KeyInfoError> {
        let mut children = Children::of(key_value);
        let Some(value) = children.any() else {
            return Err(StructureError::new(key_value, "one child", None).into());
        };
        children.end("exactly one child")?;
        Self::read(value)
    }

    /// Reads what a `ds:KeyValue` holds, which can also be retrieved by itself (XML-DSig 1.1
    /// sections 4.5.2.1 to 4.5.2.3); `None` when it is no kind of key that is known.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse).
    pub fn read(value: Element<'_>) -> Result<Option<Self>, KeyInfoError> {
        Ok(Some(match (value.namespace(), value.local()) {
            (DSIG, "RSAKeyValue") => Self::Rsa(rsa(value)?),
            (DSIG, "DSAKeyValue") => Self::Dsa(dsa(value)?),
            (DSIG11, "ECKeyValue") => Self::Ec(ec(value)?),
            (DSIG_MORE_2001, "ECDSAKeyValue") => Self::Ec(ec_rfc4050(value)?),
            _ => return Ok(None),
        }))
    }
}

/// Reads a `dsig11:DEREncodedKeyValue`: a DER `SubjectPublicKeyInfo`.
///
/// # Errors
/// [`KeyInfoError::Malformed`] and [`KeyInfoError::Crypto`].
pub fn der_encoded_key_value(element: Element<'_>) -> Result<PublicKey, KeyInfoError> {
    Ok(PublicKey::from_spki_der(&octets(
        element,
        "dsig11:DEREncodedKeyValue",
    )?)?)
}

fn rsa(value: Element<'_>) -> Result<PublicKey, KeyInfoError> {
    let mut children = Children::of(value);
    let modulus = children.required(DSIG, "Modulus", "`ds:Modulus`")?;
    let exponent = children.required(DSIG, "Exponent", "`ds:Exponent` after `ds:Modulus`")?;
    Ok(PublicKey::rsa(
        &number(modulus, "ds:Modulus")?,
        &number(exponent, "ds:Exponent")?,
    )?)
}

fn dsa(value: Element<'_>) -> Result<PublicKey, KeyInfoError> {
    let mut children = Children::of(value);
    let p = children.required(DSIG, "P", "`ds:P`")?;
    let q = children.required(DSIG, "Q", "`ds:Q` after `ds:P`")?;
    let g = children.required(DSIG, "G", "`ds:G` after `ds:Q`")?;
    // Key files put the private X before Y.
    let y = std::iter::from_fn(|| children.any()).find(|child| child.is(DSIG, "Y"));
    let y = y.ok_or_else(|| StructureError::new(value, "`ds:Y`", None))?;
    Ok(PublicKey::dsa(
        &number(p, "ds:P")?,
        &number(q, "ds:Q")?,
        &number(g, "ds:G")?,
        &number(y, "ds:Y")?,
    )?)
}

fn ec(value: Element<'_>) -> Result<PublicKey, KeyInfoError> {
    let mut children = Children::of(value);
    let curve = children.required(
        DSIG11,
        "NamedCurve",
        "`dsig11:NamedCurve` (explicit parameters are not supported)",
    )?;
    let point = children.required(DSIG11, "PublicKey", "`dsig11:PublicKey`")?;
    children.end("nothing after `dsig11:PublicKey`")?;
    let curve = named_curve(&required_attribute(curve, "URI", "a `URI` attribute")?)?;
    Ok(PublicKey::ec(curve, &octets(point, "dsig11:PublicKey")?)?)
}

/// RFC 4050 section 3: the curve by URN, the coordinates as decimal numbers.
fn ec_rfc4050(value: Element<'_>) -> Result<PublicKey, KeyInfoError> {
    let namespace = value.namespace();
    let mut children = Children::of(value);
    let domain = children.required(namespace, "DomainParameters", "`DomainParameters`")?;
    let point = children.required(namespace, "PublicKey", "`PublicKey`")?;
    let curve = Children::of(domain).required(
        namespace,
        "NamedCurve",
        "`NamedCurve` (explicit parameters are not supported)",
    )?;
    let curve = named_curve(&required_attribute(curve, "URN", "a `URN` attribute")?)?;
    let mut coordinates = Children::of(point);
    let x = coordinates.required(namespace, "X", "`X`")?;
    let y = coordinates.required(namespace, "Y", "`Y`")?;
    let mut encoded = vec![4];
    for coordinate in [x, y] {
        let decimal = required_attribute(coordinate, "Value", "a `Value` attribute")?;
        let octets = decimal_to_octets(decimal.trim(), curve.coordinate_length()).ok_or(
            KeyInfoError::Malformed {
                element: "X, Y",
                reason: "not a decimal number of the curve's size",
            },
        )?;
        encoded.extend_from_slice(&octets);
    }
    Ok(PublicKey::ec(curve, &encoded)?)
}

fn named_curve(uri: &str) -> Result<Curve, KeyInfoError> {
    Curve::from_uri(uri).ok_or_else(|| KeyInfoError::UnknownCurve {
        uri: uri.to_owned(),
    })
}

/// The big-endian bytes of a decimal number, `length` of them.
fn decimal_to_octets(decimal: &str, length: usize) -> Option<Vec<u8>> {
    // 2.41 decimal digits per byte: longer text cannot fit.
    if decimal.is_empty() || decimal.len() > length * 5 / 2 + 1 {
        return None;
    }
    let mut octets = vec![0u8; length];
    for digit in decimal.bytes() {
        let mut carry = u32::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?);
        for octet in octets.iter_mut().rev() {
            carry += u32::from(*octet) * 10;
            *octet = carry as u8;
            carry >>= 8;
        }
        (carry == 0).then_some(())?;
    }
    Some(octets)
}

fn number(element: Element<'_>, name: &'static str) -> Result<Vec<u8>, KeyInfoError> {
    let number = octets(element, name)?;
    if number.len() > LONGEST_NUMBER {
        return Err(KeyInfoError::Malformed {
            element: name,
            reason: "too long",
        });
    }
    Ok(number)
}

fn octets(element: Element<'_>, name: &'static str) -> Result<Vec<u8>, KeyInfoError> {
    base64::decode_xml_to_vec(simple_content(element)?.as_bytes()).map_err(|_| {
        KeyInfoError::Malformed {
            element: name,
            reason: "not base64",
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_numbers_become_octets_of_the_curves_size() {
        assert_eq!(decimal_to_octets("65537", 4), Some(vec![0, 1, 0, 1]));
        assert_eq!(decimal_to_octets("256", 1), None);
        assert_eq!(decimal_to_octets("1x", 4), None);
        assert_eq!(decimal_to_octets("", 4), None);
    }
}
