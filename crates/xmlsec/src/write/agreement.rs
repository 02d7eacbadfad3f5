//! `xenc:AgreementMethod`, for the `raw_key_info` of an `xenc:EncryptedKey`.

use soapstone_crypto::{ConcatKdf, Hkdf, KeyAgreement, KeyDerivation, PublicKey};

use super::element::{base64_text, uri_attribute};
use super::key_info::{der_encoded_key_value, element, key_value};
use crate::namespaces::{DSIG_MORE_2021, XENC11};

/// How the agreed secret becomes the key that wraps.
#[derive(Clone, Copy, Debug)]
pub enum DerivationParts<'a> {
    /// `xenc11:ConcatKDF`.
    ConcatKdf(&'a ConcatKdf),
    /// HKDF of RFC 9231 with the length of the key, bytes.
    Hkdf(&'a Hkdf, usize),
}

/// An `xenc:AgreementMethod` to write.
#[derive(Clone, Copy, Debug)]
pub struct AgreementParts<'a> {
    /// The algorithm.
    pub algorithm: KeyAgreement,
    /// How the agreed secret becomes a key.
    pub derivation: DerivationParts<'a>,
    /// The sender's public key, made for this message.
    pub originator: &'a PublicKey,
    /// The content of `xenc:RecipientKeyInfo`, canonical in a context where `xenc` and `ds` alone
    /// are declared.
    pub raw_recipient: &'a [u8],
}

/// Writes an `xenc:AgreementMethod` (XML-Enc 1.1 section 5.6.1), canonical in a context where
/// `xenc` and `ds` are declared.
pub fn agreement_method(parts: &AgreementParts<'_>, out: &mut Vec<u8>) {
    // Three URIs, a public key, a salt, and tags.
    out.reserve(1200 + parts.raw_recipient.len());
    out.extend_from_slice(b"<xenc:AgreementMethod");
    uri_attribute("Algorithm", parts.algorithm.uri(), out);
    out.extend_from_slice(b"><xenc11:KeyDerivationMethod");
    uri_attribute("xmlns:xenc11", XENC11, out);
    match parts.derivation {
        DerivationParts::ConcatKdf(concat) => {
            uri_attribute("Algorithm", KeyDerivation::ConcatKdf.uri(), out);
            out.push(b'>');
            concat_kdf(concat, out);
        }
        DerivationParts::Hkdf(derivation, length) => {
            uri_attribute("Algorithm", KeyDerivation::Hkdf.uri(), out);
            out.push(b'>');
            hkdf(derivation, length, out);
        }
    }
    out.extend_from_slice(b"</xenc11:KeyDerivationMethod><xenc:OriginatorKeyInfo>");
    if parts.originator.ec_components().is_some() {
        key_value(parts.originator, out);
    } else {
        der_encoded_key_value(parts.originator, out);
    }
    out.extend_from_slice(b"</xenc:OriginatorKeyInfo><xenc:RecipientKeyInfo>");
    out.extend_from_slice(parts.raw_recipient);
    out.extend_from_slice(b"</xenc:RecipientKeyInfo></xenc:AgreementMethod>");
}

/// All that is digested after the secret stands in `AlgorithmID`, before which the byte stands
/// that counts its padding bits; readers put the attributes one after the other anyway. The two
/// that name the parties are there, empty, because readers expect them.
fn concat_kdf(parameters: &ConcatKdf, out: &mut Vec<u8>) {
    out.extend_from_slice(b"<xenc11:ConcatKDFParams AlgorithmID=\"");
    // No bit string at all has no padding bits to count (BDEW AS4-Profil 1.1, 2.3.4.3).
    if !parameters.other_info.is_empty() {
        out.extend_from_slice(b"00");
    }
    for octet in &parameters.other_info {
        for digit in [octet >> 4, octet & 15] {
            out.push(b"0123456789ABCDEF"[usize::from(digit)]);
        }
    }
    out.extend_from_slice(b"\" PartyUInfo=\"\" PartyVInfo=\"\"><ds:DigestMethod");
    uri_attribute("Algorithm", parameters.digest.uri(), out);
    out.extend_from_slice(b"></ds:DigestMethod></xenc11:ConcatKDFParams>");
}

fn hkdf(parameters: &Hkdf, length: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(b"<dsig-more:HKDFParams");
    uri_attribute("xmlns:dsig-more", DSIG_MORE_2021, out);
    out.extend_from_slice(b"><dsig-more:PRF");
    uri_attribute("Algorithm", parameters.prf.uri(), out);
    out.extend_from_slice(b"></dsig-more:PRF>");
    for (name, octets) in [
        ("dsig-more:Salt", &parameters.salt),
        ("dsig-more:Info", &parameters.info),
    ] {
        if !octets.is_empty() {
            element(name, out, |out| base64_text(octets, out));
        }
    }
    element("dsig-more:KeyLength", out, |out| {
        out.extend_from_slice(length.to_string().as_bytes());
    });
    out.extend_from_slice(b"</dsig-more:HKDFParams>");
}
