//! The digests that this crate takes on its own account: of marks, passwords and key identifiers.

use soapstone_crypto::{Digest, DigestAlgorithm, Hasher};

/// SHA-256 over `pieces`, each preceded by its length so that no two lists of pieces are the same
/// bytes.
pub(crate) fn mark<'p>(pieces: impl IntoIterator<Item = &'p [u8]>) -> [u8; 32] {
    let mut hasher = hasher(DigestAlgorithm::Sha256);
    for piece in pieces {
        hasher.update(&(piece.len() as u64).to_be_bytes());
        hasher.update(piece);
    }
    octets(hasher.finish())
}

/// [`mark`] over `pieces` and one more, which lies in `parts`.
pub(crate) fn mark_of_parts(pieces: &[&[u8]], parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = hasher(DigestAlgorithm::Sha256);
    for piece in pieces {
        hasher.update(&(piece.len() as u64).to_be_bytes());
        hasher.update(piece);
    }
    let length: usize = parts.iter().map(|part| part.len()).sum();
    hasher.update(&(length as u64).to_be_bytes());
    for part in parts {
        hasher.update(part);
    }
    octets(hasher.finish())
}

/// [`mark`] over many short pieces, none of them secret: handed over one by one, each would cost
/// more than digesting it takes.
pub(crate) fn mark_gathered<'p>(pieces: impl IntoIterator<Item = &'p [u8]>) -> [u8; 32] {
    // What one or two signatures say of themselves fits.
    let mut gathered = Vec::with_capacity(512);
    for piece in pieces {
        gathered.extend_from_slice(&(piece.len() as u64).to_be_bytes());
        gathered.extend_from_slice(piece);
    }
    let mut hasher = hasher(DigestAlgorithm::Sha256);
    hasher.update(&gathered);
    octets(hasher.finish())
}

/// SHA-1 over `pieces`, one after the other, as the specifications want it.
pub(crate) fn sha1<'p>(pieces: impl IntoIterator<Item = &'p [u8]>) -> [u8; 20] {
    let mut hasher = hasher(DigestAlgorithm::Sha1);
    for piece in pieces {
        hasher.update(piece);
    }
    octets(hasher.finish())
}

fn hasher(algorithm: DigestAlgorithm) -> Hasher {
    Hasher::new(algorithm).expect("SHA-1 and SHA-256 are in every build of the library")
}

fn octets<const LENGTH: usize>(digest: Digest) -> [u8; LENGTH] {
    digest
        .as_ref()
        .try_into()
        .expect("the digest has the length of its algorithm")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_one_mark_gathered_or_not() {
        let pieces: [&[u8]; 4] = [b"signature", b"", &[7; 300], b"x"];
        assert_eq!(mark(pieces), mark_gathered(pieces));
        assert_ne!(
            mark(pieces),
            mark_gathered([b"signature".as_slice(), &[7; 300], b"x"])
        );
        let parts: [&[u8]; 3] = [&[7; 100], &[], &[7; 200]];
        assert_eq!(
            mark([b"signature".as_slice(), &[7; 300]]),
            mark_of_parts(&[b"signature"], &parts)
        );
    }
}
