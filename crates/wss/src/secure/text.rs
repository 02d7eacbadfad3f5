//! Text that is written into the header as it is.

/// Appends pieces that have nothing to escape.
pub(super) fn put(pieces: &[&str], out: &mut Vec<u8>) {
    for piece in pieces {
        out.extend_from_slice(piece.as_bytes());
    }
}
