//! `xenc:EncryptedData`, `xenc:EncryptedKey` and their parts.
//!
//! `EncryptedData` is written around its ciphertext: [`begin_encrypted_data`], then base64 straight
//! into the same buffer, then [`end_encrypted_data`].

use soapstone_crypto::{DataEncryption, DigestAlgorithm, KeyTransport};

use super::element::{attribute, base64_text, optional_attribute, uri_attribute};
use crate::enc::{ContentType, KeyEncryption};
use crate::namespaces::{DSIG, TYPE_CONTENT, TYPE_ELEMENT, XENC, XENC11};

/// The start of an `xenc:EncryptedData` to write.
#[derive(Clone, Debug)]
pub struct EncryptedDataStart<'a> {
    /// `Id`.
    pub id: Option<&'a str>,
    /// `MimeType`.
    pub mime_type: Option<&'a str>,
    /// `Type`.
    pub content_type: &'a ContentType,
    /// The algorithm.
    pub method: DataEncryption,
    /// The content of `ds:KeyInfo`, canonical in a context where `xenc` and `ds` alone are
    /// declared.
    pub raw_key_info: Option<&'a [u8]>,
}

/// An `xenc:EncryptedKey` to write.
#[derive(Clone, Debug)]
pub struct EncryptedKeyParts<'a> {
    /// `Id`.
    pub id: Option<&'a str>,
    /// `Recipient`.
    pub recipient: Option<&'a str>,
    /// The algorithm with its parameters.
    pub method: &'a KeyEncryption,
    /// Whether the digest of OAEP is left out where it is the default, SHA-1.
    pub implied_oaep_digest: bool,
    /// The content of `ds:KeyInfo`, canonical in a context where `xenc` and `ds` alone are
    /// declared.
    pub raw_key_info: Option<&'a [u8]>,
    /// The encrypted key.
    pub cipher_value: &'a [u8],
    /// Ids (without `#`) of the `EncryptedData` elements that the key encrypts; none, no
    /// `xenc:ReferenceList`.
    pub data_references: &'a [&'a str],
    /// `xenc:CarriedKeyName`.
    pub carried_key_name: Option<&'a str>,
}

/// What an `xenc:EncryptedData` or an `xenc:EncryptedKey` takes beside its parts, and an
/// `xenc:DataReference` or the list of them: reserved, so that writing piece by piece does not grow
/// the buffer piece by piece.
const ENCRYPTED_DATA_BYTES: usize = 700;
const REFERENCE_LIST_BYTES: usize = 120;

/// Writes everything of an `xenc:EncryptedData` that stands before the base64 of its ciphertext.
pub fn begin_encrypted_data(parts: &EncryptedDataStart<'_>, out: &mut Vec<u8>) {
    encrypted_data_start(parts, out);
    out.extend_from_slice(b"<xenc:CipherData><xenc:CipherValue>");
}

/// Writes an `xenc:EncryptedData` whose cipher text is elsewhere: at `uri`, of which `transform`
/// makes it.
pub fn encrypted_data_elsewhere(
    parts: &EncryptedDataStart<'_>,
    uri: &str,
    transform: &str,
    out: &mut Vec<u8>,
) {
    encrypted_data_start(parts, out);
    out.extend_from_slice(b"<xenc:CipherData><xenc:CipherReference");
    attribute("URI", uri, out);
    out.extend_from_slice(b"><xenc:Transforms><ds:Transform");
    uri_attribute("xmlns:ds", DSIG, out);
    attribute("Algorithm", transform, out);
    out.extend_from_slice(
        b"></ds:Transform></xenc:Transforms></xenc:CipherReference></xenc:CipherData></xenc:EncryptedData>",
    );
}

/// Everything of an `xenc:EncryptedData` in front of its `xenc:CipherData`.
fn encrypted_data_start(parts: &EncryptedDataStart<'_>, out: &mut Vec<u8>) {
    out.reserve(ENCRYPTED_DATA_BYTES + parts.raw_key_info.map_or(0, <[u8]>::len));
    open("xenc:EncryptedData", out);
    optional_attribute("Id", parts.id, out);
    optional_attribute("MimeType", parts.mime_type, out);
    match parts.content_type {
        ContentType::Element => uri_attribute("Type", TYPE_ELEMENT, out),
        ContentType::Content => uri_attribute("Type", TYPE_CONTENT, out),
        ContentType::Other(kind) => attribute("Type", kind, out),
        ContentType::Unspecified => {}
    }
    out.extend_from_slice(b"><xenc:EncryptionMethod");
    uri_attribute("Algorithm", parts.method.uri(), out);
    out.extend_from_slice(b"></xenc:EncryptionMethod>");
    key_info(parts.raw_key_info, out);
}

/// Writes everything of an `xenc:EncryptedData` that stands after the base64 of its ciphertext.
pub fn end_encrypted_data(out: &mut Vec<u8>) {
    out.extend_from_slice(b"</xenc:CipherValue></xenc:CipherData></xenc:EncryptedData>");
}

/// Writes an `xenc:EncryptedKey`.
pub fn encrypted_key(parts: &EncryptedKeyParts<'_>, out: &mut Vec<u8>) {
    out.reserve(
        ENCRYPTED_DATA_BYTES
            + parts.raw_key_info.map_or(0, <[u8]>::len)
            + 2 * parts.cipher_value.len()
            + REFERENCE_LIST_BYTES * (1 + parts.data_references.len()),
    );
    open("xenc:EncryptedKey", out);
    optional_attribute("Id", parts.id, out);
    optional_attribute("Recipient", parts.recipient, out);
    out.push(b'>');
    method_of_key(parts.method, parts.implied_oaep_digest, out);
    key_info(parts.raw_key_info, out);
    out.extend_from_slice(b"<xenc:CipherData><xenc:CipherValue>");
    base64_text(parts.cipher_value, out);
    out.extend_from_slice(b"</xenc:CipherValue></xenc:CipherData>");
    if !parts.data_references.is_empty() {
        out.extend_from_slice(b"<xenc:ReferenceList>");
        data_references(parts.data_references, out);
        out.extend_from_slice(b"</xenc:ReferenceList>");
    }
    if let Some(name) = parts.carried_key_name {
        out.extend_from_slice(b"<xenc:CarriedKeyName>");
        soapstone_xml::escape::text(name, out);
        out.extend_from_slice(b"</xenc:CarriedKeyName>");
    }
    out.extend_from_slice(b"</xenc:EncryptedKey>");
}

/// Writes a stand-alone `xenc:ReferenceList` (WS-Security headers that encrypt with a key named
/// elsewhere).
pub fn reference_list(data: &[&str], out: &mut Vec<u8>) {
    out.reserve(REFERENCE_LIST_BYTES * (1 + data.len()));
    open("xenc:ReferenceList", out);
    out.push(b'>');
    data_references(data, out);
    out.extend_from_slice(b"</xenc:ReferenceList>");
}

/// Writes the `xenc:EncryptionMethod` of a key, canonical in a context where `xenc` alone is
/// declared.
///
/// Parameters that equal the defaults are left out, except the digest of OAEP, which receivers
/// expect to see (BSP 1.1 names it).
pub fn encryption_method(method: &KeyEncryption, out: &mut Vec<u8>) {
    method_of_key(method, false, out);
}

/// The same, where the default digest of OAEP may be `implied` (XML-Enc 1.1, 5.5.2).
fn method_of_key(method: &KeyEncryption, implied: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(b"<xenc:EncryptionMethod");
    uri_attribute("Algorithm", method.uri(), out);
    out.push(b'>');
    if let KeyEncryption::Transport { algorithm, oaep } = method
        && *algorithm != KeyTransport::Rsa15
    {
        if !oaep.label.is_empty() {
            out.extend_from_slice(b"<xenc:OAEPparams>");
            base64_text(&oaep.label, out);
            out.extend_from_slice(b"</xenc:OAEPparams>");
        }
        if !(implied && oaep.digest == DigestAlgorithm::Sha1) {
            parameter("ds:DigestMethod", "xmlns:ds", DSIG, oaep.digest.uri(), out);
        }
        if *algorithm == KeyTransport::RsaOaep
            && let Some(mask) = DigestAlgorithm::mgf1_uri(oaep.mgf)
        {
            parameter("xenc11:MGF", "xmlns:xenc11", XENC11, mask, out);
        }
    }
    out.extend_from_slice(b"</xenc:EncryptionMethod>");
}

fn parameter(
    name: &str,
    declaration: &str,
    namespace: &'static str,
    algorithm: &'static str,
    out: &mut Vec<u8>,
) {
    out.push(b'<');
    out.extend_from_slice(name.as_bytes());
    uri_attribute(declaration, namespace, out);
    uri_attribute("Algorithm", algorithm, out);
    out.extend_from_slice(b"></");
    out.extend_from_slice(name.as_bytes());
    out.push(b'>');
}

fn open(name: &str, out: &mut Vec<u8>) {
    out.push(b'<');
    out.extend_from_slice(name.as_bytes());
    uri_attribute("xmlns:xenc", XENC, out);
}

fn key_info(raw: Option<&[u8]>, out: &mut Vec<u8>) {
    if let Some(raw) = raw {
        out.extend_from_slice(b"<ds:KeyInfo");
        uri_attribute("xmlns:ds", DSIG, out);
        out.push(b'>');
        out.extend_from_slice(raw);
        out.extend_from_slice(b"</ds:KeyInfo>");
    }
}

fn data_references(data: &[&str], out: &mut Vec<u8>) {
    for id in data {
        out.extend_from_slice(b"<xenc:DataReference URI=\"#");
        soapstone_xml::escape::attribute(id, out);
        out.extend_from_slice(b"\"></xenc:DataReference>");
    }
}
