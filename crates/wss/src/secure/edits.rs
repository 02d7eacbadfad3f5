//! Changes to the source of a message, collected first and made in one pass over the bytes.

use std::ops::Range;

use soapstone_crypto::base64;
use soapstone_crypto::cipher::SealedApart;
use soapstone_xml::{Buffers, Sink};

/// Bytes of a text that is made anew for each message: an id to be inserted, the tags around
/// cipher text.
const SHORT: usize = 1024;

/// Bytes of cipher text that are encoded at a time where they are handed over in pieces: whole
/// groups of three, in the second cache.
const PIECE: usize = 48 << 10;

/// What takes the place of a range of the source.
#[derive(Default)]
pub(super) struct Replacement {
    /// Bytes before the cipher text; all of them where there is none.
    pub(super) start: Vec<u8>,
    /// Cipher text, not yet base64: it is encoded only where it stays.
    pub(super) cipher: Cipher,
    /// Bytes behind the cipher text.
    pub(super) end: Vec<u8>,
}

/// Cipher text: bytes of its own, or bytes of the source, which was enciphered where it stood.
pub(super) enum Cipher {
    /// All of it; empty, where there is none.
    Octets(Vec<u8>),
    /// What the source has in a range, with what stands before and behind it.
    Source(Range<usize>, SealedApart),
}

impl Default for Cipher {
    fn default() -> Self {
        Self::Octets(Vec::new())
    }
}

impl Cipher {
    fn len(&self) -> usize {
        match self {
            Self::Octets(octets) => octets.len(),
            Self::Source(range, sealed) => {
                sealed.before().len() + range.len() + sealed.after().len()
            }
        }
    }

    /// Shows it in runs of whole groups of three bytes, and the last one of what is left.
    fn in_groups(&self, source: &[u8], mut show: impl FnMut(&[u8])) {
        let pieces = match self {
            Self::Octets(octets) => [&[][..], octets, &[]],
            Self::Source(range, sealed) => {
                [sealed.before(), &source[range.clone()], sealed.after()]
            }
        };
        let (mut group, mut held) = ([0; 3], 0);
        for mut piece in pieces {
            while held > 0
                && let [first, rest @ ..] = piece
            {
                group[held] = *first;
                held = (held + 1) % group.len();
                if held == 0 {
                    show(&group);
                }
                piece = rest;
            }
            let (whole, rest) = piece.split_at(piece.len() / group.len() * group.len());
            show(whole);
            if !rest.is_empty() {
                group[..rest.len()].copy_from_slice(rest);
                held = rest.len();
            }
        }
        show(&group[..held]);
    }
}

impl Replacement {
    /// The same between two more texts.
    pub(super) fn between(mut self, before: &[u8], after: &[u8]) -> Self {
        self.start.splice(0..0, before.iter().copied());
        self.end.extend_from_slice(after);
        self
    }

    /// Bytes that it writes.
    pub(super) fn len(&self) -> usize {
        self.start.len() + base64::encoded_length(self.cipher.len()) + self.end.len()
    }

    /// Appends it.
    pub(super) fn write(&self, source: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.start);
        self.cipher
            .in_groups(source, |octets| base64::encode_into(octets, out));
        out.extend_from_slice(&self.end);
    }

    /// Hands it over piece by piece.
    fn hand_over(&self, source: &[u8], buffers: &mut Buffers, sink: &mut dyn Sink) {
        sink.write(&self.start);
        if self.cipher.len() > 0 {
            let mut text = buffers.take(PIECE / 3 * 4);
            self.cipher.in_groups(source, |octets| {
                for piece in octets.chunks(PIECE) {
                    text.clear();
                    base64::encode_into(piece, &mut text);
                    sink.write(&text);
                }
            });
            buffers.give(text);
        }
        sink.write(&self.end);
    }

    /// Gives the memory of its cipher text back.
    pub(super) fn recycle_cipher(self, buffers: &mut Buffers) {
        if let Cipher::Octets(octets) = self.cipher {
            buffers.give(octets);
        }
    }
}

impl From<Vec<u8>> for Replacement {
    fn from(octets: Vec<u8>) -> Self {
        Self {
            start: octets,
            ..Self::default()
        }
    }
}

/// Replacements of ranges of one source, none of which overlap.
#[derive(Default)]
pub(super) struct Edits {
    edits: Vec<(Range<usize>, Replacement)>,
}

impl Edits {
    /// Puts `with` in the place of `range`; an empty range is an insertion.
    pub(super) fn replace(&mut self, range: Range<usize>, with: impl Into<Replacement>) {
        let before = |other: &Range<usize>| (other.start, other.end) <= (range.start, range.end);
        let at = self.edits.partition_point(|(other, _)| before(other));
        self.edits.insert(at, (range, with.into()));
    }

    /// Takes out the edits inside `range`: what is encrypted takes its changes with it.
    pub(super) fn take_within(&mut self, range: &Range<usize>) -> Self {
        let inside = |edit: &(Range<usize>, Replacement)| {
            edit.0.start >= range.start && edit.0.end <= range.end
        };
        let (taken, kept) = std::mem::take(&mut self.edits)
            .into_iter()
            .partition(inside);
        self.edits = kept;
        Self { edits: taken }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Bytes that the edits add to the source (or, negative, take from it).
    pub(super) fn growth(&self) -> isize {
        self.edits
            .iter()
            .map(|(range, with)| with.len() as isize - range.len() as isize)
            .sum()
    }

    /// Appends `source[range]` with the edits made.
    pub(super) fn apply(&self, source: &[u8], range: Range<usize>, out: &mut Vec<u8>) {
        let mut done = range.start;
        let inside = |edit: &Range<usize>| edit.start >= range.start && edit.end <= range.end;
        for (edit, with) in self.edits.iter().filter(|(edit, _)| inside(edit)) {
            out.extend_from_slice(&source[done..edit.start]);
            with.write(source, out);
            done = edit.end;
        }
        out.extend_from_slice(&source[done..range.end]);
    }

    /// Hands over the whole source with the edits made, runs of it as they lie.
    pub(super) fn hand_over(&self, source: &[u8], buffers: &mut Buffers, sink: &mut dyn Sink) {
        let mut done = 0;
        for (edit, with) in &self.edits {
            sink.write(&source[done..edit.start]);
            with.hand_over(source, buffers, sink);
            done = edit.end;
        }
        sink.write(&source[done..]);
    }

    /// Gives the memory of the edits back. That of short texts is not worth keeping.
    pub(super) fn recycle(self, buffers: &mut Buffers) {
        for (_, mut with) in self.edits {
            if with.start.capacity() > SHORT {
                buffers.give(std::mem::take(&mut with.start));
            }
            with.recycle_cipher(buffers);
        }
    }
}

#[cfg(test)]
mod tests {
    use soapstone_crypto::cipher::seal_apart;
    use soapstone_crypto::random::Supply;
    use soapstone_crypto::{DataEncryption, SymmetricKey};

    use super::*;

    #[test]
    fn edits_are_made_in_the_order_of_the_source() {
        let mut edits = Edits::default();
        edits.replace(4..5, b"E".to_vec());
        edits.replace(1..1, b"+".to_vec());
        edits.replace(2..3, Vec::new());
        let mut out = Vec::new();
        edits.apply(b"abcdef", 0..6, &mut out);
        assert_eq!(out, b"a+bdEf");
        assert_eq!(edits.growth(), 0);
    }

    /// What edits make of a source: in one, in pieces, and as long as they say.
    fn made(edits: &Edits, source: &[u8]) -> Vec<u8> {
        let (mut whole, mut pieces) = (Vec::new(), Vec::new());
        edits.apply(source, 0..source.len(), &mut whole);
        edits.hand_over(source, &mut Buffers::new(), &mut pieces);
        assert!(whole == pieces);
        assert_eq!(
            whole.len(),
            source.len().saturating_add_signed(edits.growth())
        );
        whole
    }

    #[test]
    fn what_is_handed_over_in_pieces_is_what_is_written_in_one() {
        let source: Vec<u8> = (0..=255).cycle().take(9_999).collect();
        let mut edits = Edits::default();
        edits.replace(10..10, b"id".to_vec());
        edits.replace(
            500..9_000,
            Replacement {
                start: b"<c>".to_vec(),
                cipher: Cipher::Octets(source.repeat(20)),
                end: b"</c>".to_vec(),
            },
        );
        made(&edits, &source);
    }

    #[test]
    fn edits_inside_a_range_can_be_taken_out_and_made_there() {
        let mut edits = Edits::default();
        edits.replace(0..1, b"A".to_vec());
        edits.replace(3..4, b"D".to_vec());
        let inside = edits.take_within(&(2..5));
        let mut out = Vec::new();
        inside.apply(b"abcdef", 2..5, &mut out);
        assert_eq!(out, b"cDe");
        out.clear();
        edits.apply(b"abcdef", 0..6, &mut out);
        assert_eq!(out, b"Abcdef");
    }

    #[test]
    fn cipher_text_is_written_as_base64_between_its_texts() {
        let replacement = Replacement {
            start: b"<c>".to_vec(),
            cipher: Cipher::Octets(b"four".to_vec()),
            end: b"</c>".to_vec(),
        };
        let replacement = replacement.between(b"<d>", b"</d>");
        let mut out = Vec::new();
        replacement.write(&[], &mut out);
        assert_eq!(out, b"<d><c>Zm91cg==</c></d>");
        assert_eq!(out.len(), replacement.len());
    }

    #[test]
    fn cipher_text_in_the_source_is_written_like_octets_of_its_own() {
        let key = SymmetricKey::generate(16).unwrap();
        for algorithm in [DataEncryption::Aes128Gcm, DataEncryption::Aes128Cbc] {
            for length in [0, 1, 2, 15, 16, 47, 48, 200_000] {
                let mut source = vec![b'x'; length + 7];
                let range = 3..3 + length;
                let sealed = seal_apart(
                    algorithm,
                    &key,
                    &mut source[range.clone()],
                    &mut Supply::default(),
                )
                .unwrap();
                let enciphered = range.start..range.start + sealed.length();
                let octets =
                    [sealed.before(), &source[enciphered.clone()], sealed.after()].concat();
                let with = |cipher: Cipher| {
                    let mut edits = Edits::default();
                    let data = Replacement {
                        cipher,
                        ..Replacement::default()
                    };
                    edits.replace(range.clone(), data);
                    made(&edits, &source)
                };
                assert!(with(Cipher::Source(enciphered, sealed)) == with(Cipher::Octets(octets)));
            }
        }
    }
}
