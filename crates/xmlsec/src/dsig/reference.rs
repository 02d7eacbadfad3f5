//! `ds:Reference` as a value (XML-DSig 4.4.3).
//!
//! The one rule: no comment can hide in a digest, and no transform passes that the rules of its
//! reader do not admit.

use std::sync::Arc;

use soapstone_crypto::{Digest, DigestAlgorithm, base64};
use soapstone_xml::{Element, NodeId};

use super::error::SignatureError;
use super::transform::{Rules, Transform};
use crate::namespaces::DSIG;
use crate::structure::{Children, owned_attribute, required_attribute, simple_content};

/// A parsed `ds:Reference`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Reference {
    /// The `ds:Reference` element.
    pub node: NodeId,
    /// The `ds:Signature` it belongs to, which `enveloped-signature` leaves out.
    pub signature: NodeId,
    /// Its `Id`.
    pub id: Option<String>,
    /// Its `URI`.
    pub uri: Option<String>,
    /// Its `Type`: a hint, never checked by XML-Signature itself.
    pub kind: Option<String>,
    /// Its transforms, all admitted by the [`Rules`] it was parsed with.
    pub transforms: Arc<[Transform]>,
    /// The digest method.
    pub digest_method: DigestAlgorithm,
    /// The digest in the signature.
    pub digest_value: Digest,
}

impl Reference {
    /// Reads a `ds:Reference` of `signature`, from `SignedInfo` or from a `ds:Manifest`.
    ///
    /// # Errors
    /// As [`Signature::parse`](super::Signature::parse).
    pub fn parse(
        reference: Element<'_>,
        signature: NodeId,
        rules: &Rules,
    ) -> Result<Self, SignatureError> {
        Self::parse_filled(reference, signature, rules, true)
    }

    /// Reads a `ds:Reference` of a template: its digest is still to be filled in, and comes out
    /// empty. A seam for signers that fill templates in.
    ///
    /// # Errors
    /// As [`Signature::parse`](super::Signature::parse).
    pub fn parse_template(
        reference: Element<'_>,
        signature: NodeId,
        rules: &Rules,
    ) -> Result<Self, SignatureError> {
        Self::parse_filled(reference, signature, rules, false)
    }

    pub(super) fn parse_filled(
        reference: Element<'_>,
        signature: NodeId,
        rules: &Rules,
        filled: bool,
    ) -> Result<Self, SignatureError> {
        let mut children = Children::of(reference);
        let transforms = match children.optional(DSIG, "Transforms") {
            Some(transforms) => Transform::parse_all(transforms, rules.transforms)?,
            None => Vec::new(),
        };
        for transform in &transforms {
            rules.admit(transform)?;
        }
        let method = children.required(DSIG, "DigestMethod", "`ds:DigestMethod`")?;
        let value = children.required(DSIG, "DigestValue", "`ds:DigestValue`")?;
        children.end("nothing after `ds:DigestValue`")?;

        let uri = required_attribute(method, "Algorithm", "an `Algorithm` attribute")?;
        let digest_method =
            DigestAlgorithm::from_uri(&uri).ok_or_else(|| SignatureError::UnknownAlgorithm {
                element: "DigestMethod",
                uri: uri.clone().into_owned(),
            })?;
        Children::of(method).end("no content")?;
        let digest_value = if filled {
            octets(value, "DigestValue")?
        } else {
            Vec::new()
        };
        let digest_value = Digest::of_octets(&digest_value)
            .filter(|_| !filled || digest_value.len() == digest_method.output_length())
            .ok_or(SignatureError::Malformed {
                element: "DigestValue",
                reason: "not as long as the digest method's output",
            })?;
        Ok(Self {
            node: reference.id(),
            signature,
            id: owned_attribute(reference, "Id"),
            uri: owned_attribute(reference, "URI"),
            kind: owned_attribute(reference, "Type"),
            transforms: transforms.into(),
            digest_method,
            digest_value,
        })
    }
}

/// The bytes in an element whose content is base64.
pub(super) fn octets(element: Element<'_>, name: &'static str) -> Result<Vec<u8>, SignatureError> {
    let text = simple_content(element)?;
    let mut octets = Vec::new();
    base64::decode_xml(text.as_bytes(), &mut octets).map_err(|_| SignatureError::Malformed {
        element: name,
        reason: "not base64",
    })?;
    Ok(octets)
}
