//! PEM (RFC 7468): labelled base64 blocks in a text file.
//!
//! Text around the blocks is skipped, as OpenSSL does. Blocks are kept as secrets, since one of
//! them may be a private key.

use zeroize::Zeroizing;

use crate::base64;
use crate::error::CryptoError;
use crate::secret::SecretBytes;

/// One block.
#[derive(Debug)]
pub(crate) struct Block<'p> {
    /// What stands between `-----BEGIN ` and `-----`.
    pub(crate) label: &'p str,
    /// The decoded bytes.
    pub(crate) octets: SecretBytes,
}

const BEGIN: &str = "-----BEGIN ";

/// Every block of a PEM file, in order. Blocks with encryption headers (RFC 1421) are left out:
/// their bytes say nothing.
pub(crate) fn blocks(pem: &[u8]) -> Result<Vec<Block<'_>>, CryptoError> {
    let malformed = |found: String| CryptoError::Malformed {
        expected: "PEM",
        found,
    };
    let text =
        std::str::from_utf8(pem).map_err(|_| malformed("bytes that are not text".to_owned()))?;
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

/// Whether the file holds PEM rather than DER.
pub(crate) fn looks_like_pem(contents: &[u8]) -> bool {
    contents
        .windows(BEGIN.len())
        .any(|window| window == BEGIN.as_bytes())
}

/// Characters on each line (RFC 7468 section 2).
const LINE: usize = 64;

/// Bytes as a block with this label.
pub(crate) fn block(label: &str, octets: &[u8]) -> String {
    let encoded = Zeroizing::new(base64::encode(octets));
    let mut text =
        String::with_capacity(encoded.len() + encoded.len() / LINE + 2 * label.len() + 40);
    text.push_str(BEGIN);
    text.push_str(label);
    text.push_str("-----\n");
    for line in encoded.as_bytes().chunks(LINE) {
        text.extend(line.iter().copied().map(char::from));
        text.push('\n');
    }
    text.push_str("-----END ");
    text.push_str(label);
    text.push_str("-----\n");
    text
}
