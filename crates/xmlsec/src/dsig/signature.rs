//! `ds:Signature` as a value: its structure read once, strictly, before any key is touched
//! (XML-DSig 4.1 to 4.4).
//!
//! The one rule: what is verified is what was parsed here. The `SignedInfo` that is canonicalized
//! for the signature value is the same node whose references are checked, there is exactly one of
//! it, and no comment can hide in a digest.

use soapstone_crypto::{MacTruncation, SignatureAlgorithm};
use soapstone_xml::{Document, Element, NodeId};

use super::error::SignatureError;
use super::reference::{Reference, octets};
use super::reference_template::ReferenceTemplate;
use super::transform::{CanonicalizationMethod, Rules};
use crate::namespaces::DSIG;
use crate::structure::{
    Children, StructureError, owned_attribute, required_attribute, simple_content,
};

/// A parsed `ds:Signature`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Signature {
    /// The `ds:Signature` element.
    pub node: NodeId,
    /// Its `Id`.
    pub id: Option<String>,
    /// The one `ds:SignedInfo`.
    pub signed_info: NodeId,
    /// How `SignedInfo` is canonicalized.
    pub canonicalization: CanonicalizationMethod,
    /// How the signature value is computed.
    pub method: SignatureAlgorithm,
    /// `ds:HMACOutputLength`, already checked against the floor of [`Rules`].
    pub truncation: Option<MacTruncation>,
    /// What is signed, in document order; at least one.
    pub references: Vec<Reference>,
    /// The bytes of `ds:SignatureValue`.
    pub value: Vec<u8>,
    /// The `ds:SignatureValue` element (what WS-SecurityPolicy's signature confirmation and
    /// encrypted signatures refer to).
    pub value_node: NodeId,
    /// The `ds:KeyInfo`, if any. It says where to look for the key; it is never itself a reason to
    /// trust one.
    pub key_info: Option<NodeId>,
    /// The `ds:Object` elements.
    pub objects: Vec<NodeId>,
    /// Most bytes of the canonical form of `SignedInfo`.
    pub(crate) longest_signed_info: usize,
}

impl Signature {
    /// Reads the `ds:Signature` at `at`.
    ///
    /// # Errors
    /// Everything that is wrong with the structure, the algorithms, the transforms and the bounds
    /// is found here, before a key is looked for: [`SignatureError::Structure`],
    /// [`UnknownAlgorithm`](SignatureError::UnknownAlgorithm),
    /// [`TransformRefused`](SignatureError::TransformRefused),
    /// [`TooMany`](SignatureError::TooMany), [`HmacLength`](SignatureError::HmacLength),
    /// [`Malformed`](SignatureError::Malformed).
    pub fn parse(document: &Document, at: NodeId, rules: &Rules) -> Result<Self, SignatureError> {
        Self::parse_filled(document, at, rules, true)
    }

    /// Reads a template: a signature whose digests and value are still to be filled in, and come
    /// out empty. A seam for signers that fill templates in.
    ///
    /// # Errors
    ///
    /// As for [`parse`](Self::parse).
    pub fn parse_template(
        document: &Document,
        at: NodeId,
        rules: &Rules,
    ) -> Result<Self, SignatureError> {
        Self::parse_filled(document, at, rules, false)
    }

    fn parse_filled(
        document: &Document,
        at: NodeId,
        rules: &Rules,
        filled: bool,
    ) -> Result<Self, SignatureError> {
        let element = document.element(at);
        if !element.is(DSIG, "Signature") {
            return Err(StructureError::new(element, "`ds:Signature`", None).into());
        }
        let mut children = Children::of(element);
        let signed_info = children.required(DSIG, "SignedInfo", "`ds:SignedInfo`")?;
        let value = children.required(
            DSIG,
            "SignatureValue",
            "`ds:SignatureValue` after the one `ds:SignedInfo`",
        )?;
        let key_info = children
            .optional(DSIG, "KeyInfo")
            .map(|key_info| key_info.id());
        let mut objects = Vec::new();
        while let Some(object) = children.optional(DSIG, "Object") {
            objects.push(object.id());
        }
        children.end("`ds:KeyInfo` and `ds:Object` elements only, after `ds:SignatureValue`")?;

        let source = document.source(signed_info.id());
        if source.is_some_and(|source| source.len() > rules.signed_info) {
            return Err(SignatureError::TooMany {
                what: "bytes of `ds:SignedInfo`",
                limit: rules.signed_info,
            });
        }
        let mut info = Children::of(signed_info);
        let canonicalization = CanonicalizationMethod::parse(info.required(
            DSIG,
            "CanonicalizationMethod",
            "`ds:CanonicalizationMethod`",
        )?)?;
        let (method, truncation) = signature_method(
            info.required(DSIG, "SignatureMethod", "`ds:SignatureMethod`")?,
            rules,
        )?;
        // A graft could have brought namespaces of its own.
        let comparable = filled && document.source(signed_info.id()).is_some();
        let mut template: Option<ReferenceTemplate<'_>> = None;
        let mut references: Vec<Reference> = Vec::new();
        while let Some(next) = info.peek() {
            let alike = template
                .as_mut()
                .and_then(|template| template.read(next, at));
            if alike.is_none() && info.optional(DSIG, "Reference").is_none() {
                break;
            }
            if references.len() == rules.references {
                return Err(SignatureError::TooMany {
                    what: "ds:Reference",
                    limit: rules.references,
                });
            }
            match alike {
                Some(reference) => {
                    info.any();
                    references.push(reference);
                }
                None => {
                    let reference = Reference::parse_filled(next, at, rules, filled)?;
                    template = comparable
                        .then(|| ReferenceTemplate::of(next, &reference))
                        .flatten();
                    references.push(reference);
                }
            }
        }
        info.end("`ds:Reference` elements only, after `ds:SignatureMethod`")?;
        if references.is_empty() {
            return Err(
                StructureError::new(signed_info, "at least one `ds:Reference`", None).into(),
            );
        }

        Ok(Self {
            node: at,
            id: owned_attribute(element, "Id"),
            signed_info: signed_info.id(),
            canonicalization,
            method,
            truncation,
            references,
            value: if filled {
                octets(value, "SignatureValue")?
            } else {
                Vec::new()
            },
            value_node: value.id(),
            key_info,
            objects,
            longest_signed_info: rules.signed_info,
        })
    }
}

/// `ds:SignatureMethod` with its `ds:HMACOutputLength` (XML-DSig 4.4.2 and 6.3.1).
fn signature_method(
    element: Element<'_>,
    rules: &Rules,
) -> Result<(SignatureAlgorithm, Option<MacTruncation>), SignatureError> {
    let uri = required_attribute(element, "Algorithm", "an `Algorithm` attribute")?;
    let method =
        SignatureAlgorithm::from_uri(&uri).ok_or_else(|| SignatureError::UnknownAlgorithm {
            element: "SignatureMethod",
            uri: uri.clone().into_owned(),
        })?;
    let mut children = Children::of(element);
    let Some(length) = children.optional(DSIG, "HMACOutputLength") else {
        children.end("at most one `ds:HMACOutputLength`")?;
        return Ok((method, None));
    };
    children.end("at most one `ds:HMACOutputLength`")?;
    if !method.is_mac() {
        return Err(StructureError::new(
            element,
            "no `ds:HMACOutputLength`, the method being no HMAC",
            None,
        )
        .into());
    }
    let bits =
        simple_content(length)?
            .trim()
            .parse::<u32>()
            .map_err(|_| SignatureError::Malformed {
                element: "HMACOutputLength",
                reason: "not a number",
            })?;
    let truncation = match rules.hmac_minimum_bits {
        Some(minimum) if bits < minimum => {
            return Err(SignatureError::HmacLength { bits, minimum });
        }
        Some(_) => MacTruncation::forgeable(method, bits)?,
        None => MacTruncation::new(method, bits)?,
    };
    Ok((method, Some(truncation)))
}
