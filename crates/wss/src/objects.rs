//! Objects that an application makes of signed elements, kept by their digests: algorithm 1 of van
//! Engelen and Zhang (2008).
//!
//! Theirs looks up objects by id and digest while a message is read, and leaves out the
//! deserialization of what it has. Here an object is only given out for a node of a [`Verified`]
//! message, so that the signature over its digest, the digest over the node, the plan and
//! the replay cache have all spoken before; nodes are asked for, never ids; and an object is a
//! function of the canonical bytes that were digested, and of nothing else, so that equal digests
//! mean equal objects. That is the rule kept here.

use std::fmt;
use std::sync::Arc;

use soapstone_xml::{Apex, C14nError, C14nOptions, C14nScratch, NodeId, canonicalize};

use crate::digest_cache::SignedKey;
use crate::envelope::Envelope;
use crate::evidence::{PartDigest, SignatureEvidence, SignatureRole};
use crate::lru_cache::LruCache;
use crate::tuning::CacheBounds;
use crate::verified::Verified;

/// Why there is no object for a node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObjectError<E> {
    /// No signature of the message is over this node itself, or the plan does not keep digests
    /// ([`Tuning::digest_cache`](crate::Tuning::digest_cache)).
    NotSigned,
    /// The canonical form is larger than the limits allow.
    Canonicalization(C14nError),
    /// The application could not make one.
    Making(E),
}

impl<E: fmt::Display> fmt::Display for ObjectError<E> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSigned => out.write_str(
                "expected an element that a signature refers to, under a plan with a digest cache",
            ),
            Self::Canonicalization(error) => error.fmt(out),
            Self::Making(error) => error.fmt(out),
        }
    }
}

impl<E: fmt::Display + fmt::Debug> std::error::Error for ObjectError<E> {}

/// Objects made of signed elements. One for each kind of object and each endpoint.
///
/// An object is found again only for the signer whose message it was made of: what one partner
/// sends does not decide what is made of the message of another. Nothing is kept of signers who
/// cannot be told apart (session keys), nor under digests that collide (SHA-1, MD5); such objects
/// are made each time.
///
/// ```
/// use std::sync::Arc;
/// use soapstone_wss::{CacheBounds, Envelope, ObjectCache, ObjectError, Verified};
/// use soapstone_xml::NodeId;
///
/// struct Order { articles: usize }
///
/// /// Reads an order from its canonical form, an XML document of its own.
/// fn read(canonical: &[u8]) -> Result<Order, std::str::Utf8Error> {
///     let text = std::str::from_utf8(canonical)?;
///     Ok(Order { articles: text.matches("<article>").count() })
/// }
///
/// fn order(
///     cache: &ObjectCache<Order>,
///     message: &Verified<Envelope>,
///     node: NodeId,
/// ) -> Result<Arc<Order>, ObjectError<std::str::Utf8Error>> {
///     cache.object(message, node, read)
/// }
/// # let _ = ObjectCache::<Order>::new(CacheBounds::default());
/// ```
#[derive(Debug)]
pub struct ObjectCache<T> {
    objects: LruCache<Arc<T>>,
}

impl<T> ObjectCache<T> {
    /// An empty cache. An object counts as many bytes as the canonical form that it was made of.
    pub fn new(bounds: CacheBounds) -> Self {
        Self {
            objects: LruCache::new(bounds),
        }
    }

    /// The object of a signed element: the one that was made of the same bytes before, or else
    /// what `make` makes of them now. They are a document of their own; namespaces that the
    /// element uses in text or attribute values only are declared in it if the signature covers
    /// them.
    ///
    /// # Errors
    /// [`ObjectError::NotSigned`] for a node that no signature refers to itself; what `make`
    /// returns.
    pub fn object<E>(
        &self,
        message: &Verified<Envelope>,
        node: NodeId,
        make: impl FnOnce(&[u8]) -> Result<T, E>,
    ) -> Result<Arc<T>, ObjectError<E>> {
        let (signature, part) = message
            .evidence()
            .signatures
            .iter()
            .filter(|signature| signature.role == SignatureRole::Message)
            .find_map(|signature| Some((signature, signature.digest_of(node)?)))
            .ok_or(ObjectError::NotSigned)?;
        let key = key(signature, part);
        let found = key.as_ref().and_then(|key| self.objects.find(key.as_ref()));
        if let Some(object) = found {
            return Ok(object);
        }
        let octets = canonical(message.envelope(), part).map_err(ObjectError::Canonicalization)?;
        let object = Arc::new(make(&octets).map_err(ObjectError::Making)?);
        if let Some(key) = key {
            self.objects
                .keep(key.as_ref(), octets.len(), || Arc::clone(&object));
        }
        Ok(object)
    }
}

/// What an object is remembered under; `None` if it is not to be remembered.
fn key(signature: &SignatureEvidence, part: &PartDigest) -> Option<SignedKey> {
    if part.algorithm.is_weak() {
        return None;
    }
    // Two methods can give the same bytes; their objects are the same, too.
    let partner = signature.partner.as_ref()?;
    Some(SignedKey::new(partner, part.algorithm, &part.digest))
}

/// The bytes that were digested.
fn canonical(envelope: &Envelope, part: &PartDigest) -> Result<Vec<u8>, C14nError> {
    let prefixes: Vec<&str> = part.inclusive_prefixes.iter().map(String::as_str).collect();
    let options = C14nOptions {
        inclusive_prefixes: &prefixes,
        ..C14nOptions::new(part.canonicalization)
    };
    let mut octets = Vec::new();
    canonicalize(
        envelope.document(),
        Apex::Element(part.node),
        &options,
        &mut C14nScratch::default(),
        &mut octets,
    )?;
    Ok(octets)
}
