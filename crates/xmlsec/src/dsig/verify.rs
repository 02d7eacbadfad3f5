//! Verification: digests of references and the signature value (XML-DSig 3.2).
//!
//! Canonical octets stream from the document's source into the digest; nothing is built in between.
//! The one rule: a reference is dereferenced to one node of this document, found by its place in
//! the tree, and the caller learns which one it was, so that it can compare nodes and not names.

use soapstone_crypto::{
    CryptoError, Digest, Hasher, MacTruncation, PublicKey, SignatureAlgorithm, SymmetricKey, base64,
};
use soapstone_xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Document, NodeId, Sink, canonicalize,
};

use super::error::SignatureError;
use super::reference::Reference;
use super::signature::Signature;
use super::transform::{CanonicalizationMethod, Transform};
use super::uri::SameDocument;

/// The key that a signature must verify with: chosen by the caller, whatever `ds:KeyInfo` says.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum VerificationKey<'k> {
    /// A public key, for RSA, ECDSA, EdDSA and DSA signatures.
    Public(&'k PublicKey),
    /// A shared secret, for HMAC.
    Secret(&'k SymmetricKey),
}

/// What a reference's transforms start from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target<'t> {
    /// The whole document, top-level comments and processing instructions included.
    Document {
        /// Whether comments were selected (`#xpointer(/)`).
        comments: bool,
    },
    /// One element with all its content.
    Element {
        /// The element.
        node: NodeId,
        /// Whether comments were selected (`#xpointer(id('…'))`).
        comments: bool,
    },
    /// Bytes from outside the document: an attachment.
    Octets(&'t [u8]),
}

/// Bytes that the canonical form of a `SignedInfo` with a few references fits into.
const SIGNED_INFO: usize = 2 << 10;

/// Memory that verification reuses, and how it canonicalizes.
pub struct Scratch {
    /// Whether source runs that are already canonical are digested as they stand (on by default;
    /// the lab switches it off).
    pub canonical_runs: bool,
    /// Whether elements are digested as they came first, and canonicalized only if that is not
    /// what was signed (off by default).
    pub on_demand: bool,
    /// Whether the canonical form of a reference is collected, and digested when it is complete
    /// (off by default).
    pub collects: bool,
    pub(super) c14n: C14nScratch,
    pub(super) octets: Vec<u8>,
}

impl Default for Scratch {
    fn default() -> Self {
        Self {
            canonical_runs: true,
            on_demand: false,
            collects: false,
            c14n: C14nScratch::default(),
            octets: Vec::new(),
        }
    }
}

/// A transform that the caller executes: `STR-Transform` and the attachment transforms of
/// WS-Security.
pub trait Extension {
    /// Writes the bytes that `transform` (a `ds:Transform` admitted by
    /// [`Rules::extensions`](super::Rules::extensions)) makes of `target` to `sink`.
    ///
    /// # Errors
    /// Why it cannot; becomes [`SignatureError::Extension`].
    fn apply(
        &mut self,
        document: &Document,
        transform: &Transform,
        target: Target<'_>,
        sink: &mut DigestSink,
    ) -> Result<(), String>;
}

/// An [`Extension`] that has no transform: for callers whose rules admit none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoExtension;

impl Extension for NoExtension {
    fn apply(
        &mut self,
        _: &Document,
        _: &Transform,
        _: Target<'_>,
        _: &mut DigestSink,
    ) -> Result<(), String> {
        Err("not supported".to_owned())
    }
}

/// The digest as a sink for canonical bytes.
pub struct DigestSink {
    hasher: Hasher,
    /// Bytes that are digested at the end, where they are collected.
    collected: Option<Vec<u8>>,
}

impl DigestSink {
    /// A sink that digests with the method of `reference`.
    ///
    /// # Errors
    /// [`SignatureError::Crypto`] when the installed libraries lack the digest (MD5, RIPEMD-160).
    pub fn new(reference: &Reference) -> Result<Self, SignatureError> {
        Ok(Self {
            hasher: Hasher::new(reference.digest_method)?,
            collected: None,
        })
    }
}

impl Sink for DigestSink {
    fn write(&mut self, bytes: &[u8]) {
        match &mut self.collected {
            None => self.hasher.update(bytes),
            Some(octets) => octets.extend_from_slice(bytes),
        }
    }
}

impl Reference {
    /// The node of this document that the reference names.
    ///
    /// # Errors
    /// [`SignatureError::NoUri`], [`ExternalReference`](SignatureError::ExternalReference) for
    /// anything but the four same-document forms, [`NotFound`](SignatureError::NotFound) and
    /// [`DuplicateId`](SignatureError::DuplicateId).
    pub fn target(&self, document: &Document) -> Result<Target<'static>, SignatureError> {
        let uri = self.uri.as_deref().ok_or(SignatureError::NoUri)?;
        match SameDocument::parse(uri) {
            None => Err(SignatureError::ExternalReference {
                uri: uri.to_owned(),
            }),
            Some(SameDocument::Document { comments }) => Ok(Target::Document { comments }),
            Some(SameDocument::Element { id, comments }) => match document.by_id(id) {
                Ok(Some(node)) => Ok(Target::Element { node, comments }),
                Ok(None) => Err(SignatureError::NotFound { id: id.to_owned() }),
                Err(_) => Err(SignatureError::DuplicateId { id: id.to_owned() }),
            },
        }
    }

    /// Digests `target` after the reference's transforms and compares with the digest in the
    /// signature.
    ///
    /// # Errors
    /// [`SignatureError::DigestMismatch`] when it differs;
    /// [`TransformOrder`](SignatureError::TransformOrder),
    /// [`Extension`](SignatureError::Extension) and
    /// [`Canonicalization`](SignatureError::Canonicalization) when the transforms cannot be
    /// executed.
    pub fn verify(
        &self,
        document: &Document,
        target: Target<'_>,
        extension: &mut dyn Extension,
        scratch: &mut Scratch,
    ) -> Result<(), SignatureError> {
        if scratch.on_demand && self.came_canonical(document, target, scratch)? {
            return Ok(());
        }
        let mut sink = self.sink(scratch)?;
        self.transform(document, target, extension, scratch, &mut sink)?;
        self.check_with(sink, scratch)
    }

    /// A sink for the bytes of this reference, which digests or collects them as `scratch` says.
    ///
    /// # Errors
    /// As [`DigestSink::new`].
    pub fn sink(&self, scratch: &mut Scratch) -> Result<DigestSink, SignatureError> {
        let mut sink = DigestSink::new(self)?;
        if scratch.collects {
            let mut octets = std::mem::take(&mut scratch.octets);
            octets.clear();
            sink.collected = Some(octets);
        }
        Ok(sink)
    }

    /// [`check`](Self::check)s, and gives the memory of what was collected back.
    ///
    /// # Errors
    /// [`SignatureError::DigestMismatch`].
    pub fn check_with(
        &self,
        mut sink: DigestSink,
        scratch: &mut Scratch,
    ) -> Result<(), SignatureError> {
        if let Some(octets) = sink.collected.take() {
            sink.hasher.update(&octets);
            scratch.octets = octets;
        }
        self.check(sink)
    }

    /// Compares what was written to `sink` with the digest in the signature: for callers that
    /// digest while they do something else.
    ///
    /// # Errors
    /// [`SignatureError::DigestMismatch`].
    pub fn check(&self, sink: DigestSink) -> Result<(), SignatureError> {
        let DigestSink {
            mut hasher,
            collected,
        } = sink;
        if let Some(octets) = collected {
            hasher.update(&octets);
        }
        let digest = hasher.finish();
        if digest.matches(self.digest_value.as_ref()) {
            return Ok(());
        }
        Err(SignatureError::DigestMismatch {
            uri: self.uri.clone().unwrap_or_default(),
            expected: base64::encode(self.digest_value.as_ref()),
            found: base64::encode(digest.as_ref()),
        })
    }

    /// The bytes that are digested, with their digest: for those who explain a signature.
    ///
    /// # Errors
    /// As [`transform`](Self::transform).
    pub fn digested(
        &self,
        document: &Document,
        target: Target<'_>,
        extension: &mut dyn Extension,
        scratch: &mut Scratch,
    ) -> Result<(Vec<u8>, Digest), SignatureError> {
        let mut sink = DigestSink::new(self)?;
        sink.collected = Some(Vec::new());
        self.transform(document, target, extension, scratch, &mut sink)?;
        let DigestSink {
            mut hasher,
            collected,
        } = sink;
        let octets = collected.unwrap_or_default();
        hasher.update(&octets);
        Ok((octets, hasher.finish()))
    }

    /// Writes the bytes that are digested to `sink`.
    ///
    /// # Errors
    /// As [`verify`](Self::verify), without the comparison.
    pub fn transform(
        &self,
        document: &Document,
        target: Target<'_>,
        extension: &mut dyn Extension,
        scratch: &mut Scratch,
        sink: &mut DigestSink,
    ) -> Result<(), SignatureError> {
        let mut omit: &[NodeId] = &[];
        let mut canonicalization = None;
        for (index, transform) in self.transforms.iter().enumerate() {
            let last = index + 1 == self.transforms.len();
            match transform {
                Transform::Enveloped if !matches!(target, Target::Octets(_)) => {
                    omit = std::slice::from_ref(&self.signature)
                }
                Transform::Canonicalization(method)
                    if last && !matches!(target, Target::Octets(_)) =>
                {
                    canonicalization = Some(method)
                }
                Transform::Other { uri, .. } if last && omit.is_empty() => {
                    return extension
                        .apply(document, transform, target, sink)
                        .map_err(|reason| SignatureError::Extension {
                            uri: uri.clone(),
                            reason,
                        });
                }
                _ => {
                    return Err(SignatureError::TransformOrder {
                        uri: transform.uri().to_owned(),
                    });
                }
            }
        }
        let (apex, comments) = match target {
            Target::Octets(octets) => {
                sink.write(octets);
                return Ok(());
            }
            Target::Document { comments } => (Apex::Document, comments),
            Target::Element { node, comments } => (Apex::Element(node), comments),
        };
        scratch.canonicalize(
            document,
            apex,
            canonicalization.unwrap_or(&CanonicalizationMethod::DEFAULT),
            comments,
            omit,
            sink,
        )
    }
}

impl Scratch {
    /// Verification with memory that was used before.
    pub fn reusing(buffers: &mut Buffers) -> Self {
        Self {
            c14n: buffers.take_scratch(),
            octets: buffers.take(SIGNED_INFO),
            ..Self::default()
        }
    }

    /// Gives its memory back, for another use.
    pub fn recycle(self, buffers: &mut Buffers) {
        buffers.give_scratch(self.c14n);
        buffers.give(self.octets);
    }

    /// The canonical `SignedInfo` of the signature whose value was verified last, until something
    /// else is canonicalized.
    pub fn signed_info(&self) -> &[u8] {
        &self.octets
    }

    /// Canonicalizes into `sink`. Comments are left out unless both the selection and the method
    /// have them (XML-DSig 4.4.3.3).
    ///
    /// # Errors
    /// [`SignatureError::Canonicalization`].
    pub fn canonicalize(
        &mut self,
        document: &Document,
        apex: Apex,
        canonicalization: &CanonicalizationMethod,
        comments: bool,
        omit: &[NodeId],
        sink: &mut impl Sink,
    ) -> Result<(), SignatureError> {
        let prefixes: Vec<&str> = canonicalization
            .inclusive_prefixes
            .iter()
            .map(String::as_str)
            .collect();
        let options = C14nOptions {
            inclusive_prefixes: &prefixes,
            omit,
            canonical_runs: self.canonical_runs,
            ..C14nOptions::new(canonicalization.selecting(comments))
        };
        canonicalize(document, apex, &options, &mut self.c14n, sink)?;
        Ok(())
    }
}

impl Signature {
    /// Verifies the signature value over the canonical form of `SignedInfo` with `key`.
    ///
    /// # Errors
    /// [`SignatureError::ValueMismatch`] when it does not verify,
    /// [`Crypto`](SignatureError::Crypto) when the key is not one for the
    /// method, [`TooMany`](SignatureError::TooMany) when the canonical form is longer than
    /// [`Rules::signed_info`](super::Rules) allows.
    pub fn verify_value(
        &self,
        document: &Document,
        key: VerificationKey<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), SignatureError> {
        let mut octets = std::mem::take(&mut scratch.octets);
        octets.clear();
        // Its canonical form is hardly ever longer than it is written.
        octets.reserve(document.source(self.signed_info).map_or(0, <[u8]>::len));
        let canonicalized = scratch.canonicalize(
            document,
            Apex::Element(self.signed_info),
            &self.canonicalization,
            true,
            &[],
            &mut octets,
        );
        let within_limit = || match octets.len() > self.longest_signed_info {
            true => Err(SignatureError::TooMany {
                what: "bytes of canonical `ds:SignedInfo`",
                limit: self.longest_signed_info,
            }),
            false => Ok(()),
        };
        let verified = canonicalized
            .and_then(|()| within_limit())
            .and_then(|()| verify_octets(self.method, self.truncation, &octets, &self.value, key));
        scratch.octets = octets;
        verified
    }
}

/// Verifies `value` over `octets`.
pub(crate) fn verify_octets(
    method: SignatureAlgorithm,
    truncation: Option<MacTruncation>,
    octets: &[u8],
    value: &[u8],
    key: VerificationKey<'_>,
) -> Result<(), SignatureError> {
    let verified = match key {
        VerificationKey::Public(key) => key.verify(method, octets, value),
        VerificationKey::Secret(key) => key.verify(method, octets, value, truncation),
    };
    verified.map_err(|error| match error {
        CryptoError::BadSignature => SignatureError::ValueMismatch {
            algorithm: method.short_name(),
        },
        other => SignatureError::Crypto(other),
    })
}
