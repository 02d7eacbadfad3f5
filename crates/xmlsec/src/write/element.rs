//! Attributes and text of the elements that are written.

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
pub(super) fn uri_attribute(name: &str, uri: &'static str, out: &mut Vec<u8>) {
    debug_assert!(!uri.contains(['&', '<', '"']), "{uri}");
    out.push(b' ');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"=\"");
    out.extend_from_slice(uri.as_bytes());
    out.push(b'"');
}

/// ` name="value"` if there is a value.
pub(super) fn optional_attribute(name: &str, value: Option<&str>, out: &mut Vec<u8>) {
    if let Some(value) = value {
        attribute(name, value, out);
    }
}

/// `octets` in base64, on one line.
pub(super) fn base64_text(octets: &[u8], out: &mut Vec<u8>) {
    base64::encode_into(octets, out);
}
