//! Re-canonicalization on demand: an element is digested as it came, and canonicalized only if that
//! is not what was signed (van Engelen and Zhang 2008).
//!
//! A digest over bytes as they came is a gamble, and by itself it proves too little. What was
//! signed is a canonical form, and bytes that are equal to it can stand in a message in which they
//! mean something else: `<a>` is canonical by itself, and inside of an element that declares a
//! default namespace it is another element. So a digest that fits only says that it is worth
//! comparing: the canonical form is walked through, and every byte of it must be the one that
//! came. The one rule kept here: what is accepted is exactly what would have been accepted without
//! the gamble.

use soapstone_crypto::Hasher;
use soapstone_xml::{Apex, C14nOptions, Document, Sink, canonical_start_tag, canonicalize};

use super::error::SignatureError;
use super::reference::Reference;
use super::transform::Transform;
use super::verify::{Scratch, Target};

impl Reference {
    /// Whether the element that is referred to came in its canonical form, but for the start tag,
    /// which depends on the namespaces around it and is always rebuilt, and that form has the
    /// digest that was signed. `false` means nothing: it was not tried, or it is to be
    /// canonicalized.
    ///
    /// # Errors
    /// [`SignatureError::Canonicalization`], and [`SignatureError::Crypto`] when the installed
    /// libraries lack the digest.
    pub fn came_canonical(
        &self,
        document: &Document,
        target: Target<'_>,
        scratch: &mut Scratch,
    ) -> Result<bool, SignatureError> {
        let (Target::Element { node, comments }, [Transform::Canonicalization(method)]) =
            (target, &*self.transforms)
        else {
            return Ok(false);
        };
        let Some(source) = document.source(node) else {
            return Ok(false);
        };
        let tag = document.element(node).start_tag_range();
        let inside = &source[(tag.end - tag.start) as usize..];
        if inside.is_empty() {
            return Ok(false);
        }
        let prefixes: Vec<&str> = method
            .inclusive_prefixes
            .iter()
            .map(String::as_str)
            .collect();
        let options = C14nOptions {
            inclusive_prefixes: &prefixes,
            ..C14nOptions::new(method.selecting(comments))
        };
        let Scratch { c14n, octets, .. } = scratch;
        octets.clear();
        canonical_start_tag(document, node, &options, c14n, octets)?;
        let mut hasher = Hasher::new(self.digest_method)?;
        hasher.update(octets);
        hasher.update(inside);
        if !hasher.finish().matches(self.digest_value.as_ref()) {
            return Ok(false);
        }
        let mut comparison = Comparison {
            expected: [octets, inside],
            same: true,
        };
        canonicalize(
            document,
            Apex::Element(node),
            &options,
            c14n,
            &mut comparison,
        )?;
        Ok(comparison.came_out_the_same())
    }
}

/// Compares what is written to it with two pieces, one behind the other.
struct Comparison<'a> {
    /// What is still to come.
    expected: [&'a [u8]; 2],
    same: bool,
}

impl Comparison<'_> {
    /// Whether everything that was expected came, and nothing else.
    fn came_out_the_same(&self) -> bool {
        self.same && self.expected.iter().all(|piece| piece.is_empty())
    }

    /// Takes the front of `bytes` off a piece; returns what is behind it.
    fn take<'b>(&mut self, piece: usize, bytes: &'b [u8]) -> &'b [u8] {
        let expected = self.expected[piece];
        let length = expected.len().min(bytes.len());
        let (front, rest) = bytes.split_at(length);
        let (now, later) = expected.split_at(length);
        // A run of the source is the very piece that is expected: nothing to look at.
        self.same &= std::ptr::eq(front, now) || front == now;
        self.expected[piece] = later;
        rest
    }
}

impl Sink for Comparison<'_> {
    fn write(&mut self, bytes: &[u8]) {
        let rest = self.take(0, bytes);
        let rest = self.take(1, rest);
        self.same &= rest.is_empty();
    }
}
