//! Writers for what a sender generates: canonical when born.
//!
//! Everything written here is its own exclusive canonical form: fixed prefixes (`ds`, `xenc`,
//! `xenc11`, `dsig-more`, `ec`), each declared on the outermost element of this text that uses it,
//! attributes in canonical order, no self-closing tags, escaped as C14N escapes. It is digested as
//! it is written and never parsed back.
//!
//! The one rule: a writer takes values, not markup, except where the parameter is called `raw`:
//! such text must be canonical already.

mod agreement;
mod encryption;
mod key_info;
mod signature;

pub use agreement::{AgreementParts, DerivationParts, agreement_method};
pub use encryption::{
    EncryptedDataStart, EncryptedKeyParts, begin_encrypted_data, encrypted_key, encryption_method,
    end_encrypted_data, reference_list,
};
pub use key_info::{
    der_encoded_key_value, key_name, key_value, x509_certificates, x509_issuer_serial,
};
pub use signature::{
    Apex, ReferenceParts, SignedInfo, SignedInfoWriter, TransformParts, signature,
};

use soapstone_crypto::base64;
use soapstone_xml::escape;

/// Writes ` name="value"`, escaped: a seam for writers of other elements.
pub fn attribute(name: &str, value: &str, out: &mut Vec<u8>) {
    out.push(b' ');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"=\"");
    escape::attribute(value, out);
    out.push(b'"');
}

/// ` name="uri"` with a URI of this program, which has nothing to escape.
pub(crate) fn uri_attribute(name: &str, uri: &'static str, out: &mut Vec<u8>) {
    debug_assert!(!uri.contains(['&', '<', '"']), "{uri}");
    out.push(b' ');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"=\"");
    out.extend_from_slice(uri.as_bytes());
    out.push(b'"');
}

/// ` name="value"` if there is a value.
pub(crate) fn optional_attribute(name: &str, value: Option<&str>, out: &mut Vec<u8>) {
    if let Some(value) = value {
        attribute(name, value, out);
    }
}

/// `octets` in base64, on one line.
pub(crate) fn base64_text(octets: &[u8], out: &mut Vec<u8>) {
    base64::encode_into(octets, out);
}
