//! What a listener is shown of something that was digested.
//!
//! The one rule: it is made for a listener, and whether only the receiver may read it is said with
//! it.

/// What was digested.
#[derive(Clone)]
pub(super) struct Shown {
    /// The qualified name of the element, or the media type of an attachment.
    pub(super) element: String,
    pub(super) octets: Vec<u8>,
    /// Whether only the receiver may read it.
    pub(super) is_secret: bool,
}

/// The qualified name of the element that a text begins with; empty where that is none.
pub(super) fn name_of(written: &[u8]) -> &str {
    let name = written.strip_prefix(b"<").unwrap_or_default();
    let end = name
        .iter()
        .position(|byte| matches!(byte, b' ' | b'>' | b'/' | b'\t' | b'\r' | b'\n'));
    std::str::from_utf8(&name[..end.unwrap_or(name.len())]).unwrap_or_default()
}
