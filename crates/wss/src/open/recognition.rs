//! Signed elements that the same signer has sent before, byte for byte: they are not digested
//! again.
//!
//! An element is looked for only after the signature value over its digest has verified, and
//! remembered only after its digest has. The digest that the signature names is the key; what is
//! found under it counts only if it is this element
//! ([`DigestCache`](crate::digest_cache::DigestCache)). Signers do not meet: what one has sent is
//! not compared with what another sends, so that not even the time a message takes tells one of
//! them what others send.

use std::sync::Arc;

use soapstone_xml::Document;
use soapstone_xmlsec::dsig::{Reference, Target, Transform};

use crate::digest;
use crate::digest_cache::{DigestCache, NamespaceContext, SignedKey};
use crate::evidence::Signer;

/// What one signer has sent before.
pub(super) struct Recognition<'p> {
    known: &'p DigestCache<()>,
    partner: [u8; 32],
    surroundings: NamespaceContext,
}

/// An element that may be known.
pub(super) struct Candidate<'d> {
    key: SignedKey,
    source: &'d [u8],
    surroundings: Arc<[u8]>,
}

/// Who signs, for as long as it can be told: whoever makes a session key of his own, or answers
/// with ours, is nobody.
pub(super) fn partner(signer: &Signer) -> Option<[u8; 32]> {
    let (kind, name): (&[u8], &[u8]) = match signer {
        Signer::Certificate(certificate) => (b"certificate", certificate.der()),
        Signer::SharedKey(name) => (b"shared key", name.as_bytes()),
        Signer::Kerberos(client) => (b"kerberos", client.as_bytes()),
        Signer::Context { name, .. } => (b"context", name.identifier.as_bytes()),
        Signer::User(name) => (b"user", name.as_bytes()),
        Signer::RequestKey(_) | Signer::SessionKey(_) | Signer::Holder { .. } => return None,
    };
    Some(digest::mark([b"partner".as_slice(), kind, name]))
}

impl<'p> Recognition<'p> {
    pub(super) fn new(known: &'p DigestCache<()>, partner: [u8; 32]) -> Self {
        Self {
            known,
            partner,
            surroundings: NamespaceContext::default(),
        }
    }

    /// An element whose digest depends on its bytes and surroundings alone: in exclusive canonical
    /// form, with nothing left out of it, nothing deciphered in it, and no comments selected by
    /// the reference.
    pub(super) fn candidate<'d>(
        &mut self,
        document: &'d Document,
        reference: &Reference,
        target: Target<'_>,
    ) -> Option<Candidate<'d>> {
        let (
            Target::Element {
                node,
                comments: false,
            },
            [Transform::Canonicalization(method)],
        ) = (target, &*reference.transforms)
        else {
            return None;
        };
        if !method.method.is_exclusive() {
            return None;
        }
        let source = document.source(node)?;
        let (method_of_digest, digest) = (reference.digest_method, &reference.digest_value);
        Some(Candidate {
            key: SignedKey::new(&self.partner, method_of_digest, digest),
            source,
            surroundings: self
                .surroundings
                .of(document, node, &method.inclusive_prefixes),
        })
    }

    /// Whether the candidate was digested before, with the digest that is referred to.
    pub(super) fn knows(&self, candidate: &Candidate<'_>) -> bool {
        self.known
            .find(
                candidate.key.as_ref(),
                candidate.source,
                &candidate.surroundings,
            )
            .is_some()
    }

    /// Remembers the candidate, whose digest verified.
    pub(super) fn learn(&self, candidate: &Candidate<'_>) {
        self.known.learn(
            candidate.key.as_ref(),
            candidate.source,
            &candidate.surroundings,
            (),
        );
    }
}
