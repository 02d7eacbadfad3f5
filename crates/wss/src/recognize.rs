//! What a message is that is no XML: told to operators, who mostly see at once what went wrong.
//!
//! The one rule: nothing is decided by it. A message that can be read as an envelope is one,
//! whatever it begins like.

/// Bytes of a message that are looked at.
pub(crate) const LOOKED_AT: usize = 64;

/// What begins like this, if it is something known. `beginning` has the first bytes of a message,
/// at most [`LOOKED_AT`] of them.
pub(crate) fn recognized(beginning: &[u8]) -> Option<&'static str> {
    let text = beginning.trim_ascii_start();
    let begins = |word: &str| {
        let start = text.get(..word.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
    };
    Some(match beginning {
        [] => "nothing: the message is empty",
        [b'<', 0, 0, 0, ..] | [0, 0, 0, b'<', ..] => "UTF-32",
        [b'<', 0, ..] | [0, b'<', ..] => "UTF-16 without a byte order mark",
        [0x1f, 0x8b, ..] => "compressed data (gzip)",
        [b'P', b'K', 3, 4, ..] => "a ZIP archive",
        _ if text.is_empty() && beginning.len() < LOOKED_AT => "white space: the message is empty",
        _ if begins("{") || begins("[") => "JSON",
        _ if begins("<!DOCTYPE html") || begins("<html") => "an HTML page",
        _ if begins("-----BEGIN ") => "a PEM file",
        _ if begins("--") || begins("MIME-Version:") || begins("Content-Type:") => {
            "a MIME message of several parts (attachments)"
        }
        _ if begins("HTTP/1.") || begins("POST ") => "a message of HTTP with its head",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_xml_is_named_as_what_it_is() {
        let utf_16: Vec<u8> = "<a/>".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let utf_16_big: Vec<u8> = "<a/>".encode_utf16().flat_map(u16::to_be_bytes).collect();
        for (beginning, name) in [
            (&b""[..], Some("nothing: the message is empty")),
            (b" \r\n", Some("white space: the message is empty")),
            (&utf_16, Some("UTF-16 without a byte order mark")),
            (&utf_16_big, Some("UTF-16 without a byte order mark")),
            (b"\n {\"a\": 1}", Some("JSON")),
            (b"<!doctype HTML>", Some("an HTML page")),
            (
                b"--uuid:1\r\nContent-Type: text/xml",
                Some("a MIME message of several parts (attachments)"),
            ),
            (b"-----BEGIN CERTIFICATE-----", Some("a PEM file")),
            (
                b"POST /a HTTP/1.1\r\n",
                Some("a message of HTTP with its head"),
            ),
            (b"\x1f\x8b\x08", Some("compressed data (gzip)")),
            (b"<soap:Envelope", None),
            (b"hello", None),
        ] {
            assert_eq!(recognized(beginning), name);
        }
    }
}
