//! PEM (RFC 7468): labelled base64 blocks in a text file.
//!
//! Text around the blocks is skipped, as OpenSSL does. Blocks are kept as secrets, since one of them may be a private key.

use crate::base64;
use crate::error::CryptoError;
use crate::secret::SecretBytes;

/// One block.
#[derive(Debug)]
pub(crate) struct Block<'p> {
    /// What stands between `-----BEGIN ` and `-----`.
    pub(crate) label: &'p str,
    /// The decoded octets.
    pub(crate) octets: SecretBytes,
}

const BEGIN: &str = "-----BEGIN ";

/// Every block of a PEM file, in order. Blocks with encryption headers (RFC 1421) are left out: their octets say nothing.
pub(crate) fn blocks(pem: &[u8]) -> Result<Vec<Block<'_>>, CryptoError> {
    let malformed = |found: String| CryptoError::Malformed {
        expected: "PEM",
        found,
    };
    let text =
        std::str::from_utf8(pem).map_err(|_| malformed("octets that are not text".to_owned()))?;
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(begin) = rest.find(BEGIN) {
        let after = &rest[begin + BEGIN.len()..];
        let (label, after) = after
            .split_once("-----")
            .ok_or_else(|| malformed("a `-----BEGIN` line that does not end".to_owned()))?;
        let end = format!("-----END {label}-----");
        let (body, after) = after
            .split_once(end.as_str())
            .ok_or_else(|| malformed(format!("`{label}` without `{end}`")))?;
        rest = after;
        if body.contains(':') {
            continue;
        }
        let octets = base64::decode_xml_to_vec(body.as_bytes())
            .map_err(|_| malformed(format!("`{label}` that is not base64")))?;
        found.push(Block {
            label,
            octets: SecretBytes::new(octets),
        });
    }
    Ok(found)
}
