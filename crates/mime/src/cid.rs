//! `cid:` URIs, which name attachments by their Content-ID (RFC 2392).
//!
//! The rule kept here: a URI names one Content-ID, byte by byte, or it names none.

/// The scheme with its colon.
const SCHEME: &str = "cid:";

/// Whether a URI is of this scheme, whatever it names.
pub fn is_cid(uri: &str) -> bool {
    uri.get(..SCHEME.len())
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case(SCHEME))
}

/// The Content-ID that a URI names, without angle brackets; `None` where it is of another scheme,
/// or no Content-ID is written so. A plus sign is a plus sign (RFC 3986, 2.2).
///
/// ```
/// # use soapstone_mime::attachment_named;
/// assert_eq!(attachment_named("cid:a%2Bb@x").as_deref(), Some(&b"a+b@x"[..]));
/// assert_eq!(attachment_named("cid:a%2"), None);
/// ```
pub fn attachment_named(uri: &str) -> Option<Vec<u8>> {
    if !is_cid(uri) {
        return None;
    }
    let written = &uri.as_bytes()[SCHEME.len()..];
    let mut id = Vec::with_capacity(written.len());
    let mut at = 0;
    while let Some(byte) = written.get(at) {
        match byte {
            b'%' => {
                let digits = written.get(at + 1..at + 3)?;
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return None;
                }
                let digits = std::str::from_utf8(digits).ok()?;
                id.push(u8::from_str_radix(digits, 16).ok()?);
                at += 3;
            }
            byte if byte.is_ascii_graphic() => {
                id.push(*byte);
                at += 1;
            }
            _ => return None,
        }
    }
    (!id.is_empty()).then_some(id)
}

/// The URI that names a Content-ID. All but unreserved characters and `@` are escaped: there are
/// readers that take a plus sign for a space.
///
/// ```
/// # use soapstone_mime::uri_of;
/// assert_eq!(uri_of("a+b@x.example"), "cid:a%2Bb@x.example");
/// ```
pub fn uri_of(id: &str) -> String {
    let mut uri = String::with_capacity(SCHEME.len() + id.len());
    uri.push_str(SCHEME);
    for byte in id.bytes() {
        match byte {
            b'-' | b'.' | b'_' | b'~' | b'@' => uri.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_reads_back_from_its_uri() {
        for id in ["a@b", "part+1/2?x#y%z@[::1]", "a b", "\u{e4}@x", "'\"&<"] {
            let uri = uri_of(id);
            assert!(uri.is_ascii() && !uri.contains(['+', '"', '&', '<', '#']));
            assert_eq!(attachment_named(&uri).as_deref(), Some(id.as_bytes()));
        }
    }

    #[test]
    fn other_uris_name_no_attachment() {
        for uri in [
            "",
            "cid",
            "cid:",
            "#a",
            "http://x/cid:a",
            "cid:a b",
            "cid:%",
            "cid:%g0",
            "cid:%+1",
            "cid:\u{e4}",
            "mid:a",
        ] {
            assert_eq!(attachment_named(uri), None, "{uri}");
        }
        // Schemes have no case (RFC 3986, 3.1).
        assert_eq!(attachment_named("CID:a").as_deref(), Some(&b"a"[..]));
    }
}
