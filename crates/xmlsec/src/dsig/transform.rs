//! Canonicalization methods and transforms as they are written in a signature, and which of them a
//! caller admits.
//!
//! The one rule: a transform is admitted by name before anything is executed. XSLT, XPath and
//! base64 are never executed on this path; the command line's general verifier has its own
//! (`xmltools`).

use soapstone_xml::{Canonicalization, Element, NodeId};

use super::error::SignatureError;
use crate::namespaces::{DSIG, ENVELOPED_SIGNATURE, EXCLUSIVE_C14N};
use crate::structure::{Children, required_attribute};

/// A canonicalization method with its prefix list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CanonicalizationMethod {
    /// The method.
    pub method: Canonicalization,
    /// `ec:InclusiveNamespaces/@PrefixList`, exclusive canonicalization only; `#default` stands
    /// for the default namespace.
    pub inclusive_prefixes: Vec<String>,
}

impl CanonicalizationMethod {
    /// What a set of nodes is canonicalized with where bytes are needed and no method is named
    /// (XML-DSig 4.4.3.2).
    pub const DEFAULT: Self = Self::new(Canonicalization::Inclusive10);

    /// The method without a prefix list.
    #[must_use]
    pub const fn new(method: Canonicalization) -> Self {
        Self {
            method,
            inclusive_prefixes: Vec::new(),
        }
    }

    /// The method for a selection with comments or without: they are left out unless both the
    /// selection and the method have them (XML-DSig 4.4.3.3).
    #[must_use]
    pub const fn selecting(&self, comments: bool) -> Canonicalization {
        if comments {
            return self.method;
        }
        match self.method {
            Canonicalization::Inclusive10 | Canonicalization::Inclusive10WithComments => {
                Canonicalization::Inclusive10
            }
            Canonicalization::Inclusive11 | Canonicalization::Inclusive11WithComments => {
                Canonicalization::Inclusive11
            }
            Canonicalization::Exclusive | Canonicalization::ExclusiveWithComments => {
                Canonicalization::Exclusive
            }
        }
    }

    /// Reads a `ds:CanonicalizationMethod`, or a `ds:Transform` that names a canonicalization.
    ///
    /// # Errors
    /// [`SignatureError::UnknownAlgorithm`] when the URI is no canonicalization;
    /// [`SignatureError::Structure`] when something other than one `ec:InclusiveNamespaces` is
    /// inside.
    pub fn parse(element: Element<'_>) -> Result<Self, SignatureError> {
        let uri = required_attribute(element, "Algorithm", "an `Algorithm` attribute")?;
        match Canonicalization::from_uri(&uri) {
            Some(method) => Self::parse_content(element, method),
            None => Err(SignatureError::UnknownAlgorithm {
                element: "CanonicalizationMethod",
                uri: uri.into_owned(),
            }),
        }
    }

    fn parse_content(
        element: Element<'_>,
        method: Canonicalization,
    ) -> Result<Self, SignatureError> {
        let mut children = Children::of(element);
        let exclusive = matches!(
            method,
            Canonicalization::Exclusive | Canonicalization::ExclusiveWithComments
        );
        let list = children
            .optional(EXCLUSIVE_C14N, "InclusiveNamespaces")
            .filter(|_| exclusive)
            .and_then(|list| list.attribute("", "PrefixList"));
        let inclusive_prefixes = list.map(|list| prefixes(&list)).transpose()?;
        children.end("at most one `ec:InclusiveNamespaces`, for exclusive canonicalization")?;
        Ok(Self {
            method,
            inclusive_prefixes: inclusive_prefixes.unwrap_or_default(),
        })
    }
}

/// Most prefixes of a list: a document may have no more
/// ([`Limits::namespaces`](soapstone_xml::Limits::namespaces)), and each becomes a string of its
/// own before any key is touched.
const LONGEST_LIST: usize = 1024;

fn prefixes(list: &str) -> Result<Vec<String>, SignatureError> {
    let mut written = list.split_ascii_whitespace();
    let prefixes = written.by_ref().take(LONGEST_LIST).map(str::to_owned);
    let prefixes = prefixes.collect();
    match written.next() {
        None => Ok(prefixes),
        Some(_) => Err(SignatureError::TooMany {
            what: "prefixes of ec:InclusiveNamespaces",
            limit: LONGEST_LIST,
        }),
    }
}

/// One `ds:Transform` of a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transform {
    /// Canonicalization; the bytes that it produces are digested.
    Canonicalization(CanonicalizationMethod),
    /// The signature that contains the reference is left out (XML-DSig 6.6.4).
    Enveloped,
    /// Any other transform. A strict caller executes it itself, through
    /// [`Extension`](super::Extension).
    Other {
        /// The algorithm.
        uri: String,
        /// The `ds:Transform`, whose content may hold parameters.
        node: NodeId,
    },
}

impl Transform {
    /// The transform's algorithm.
    #[must_use]
    pub fn uri(&self) -> &str {
        match self {
            Self::Canonicalization(canonicalization) => canonicalization.method.uri(),
            Self::Enveloped => ENVELOPED_SIGNATURE,
            Self::Other { uri, .. } => uri,
        }
    }

    /// Reads one `ds:Transform`.
    ///
    /// # Errors
    /// [`SignatureError::Structure`] when the element has no `Algorithm`, or a canonicalization has
    /// foreign content.
    pub fn parse(element: Element<'_>) -> Result<Self, SignatureError> {
        let uri = required_attribute(element, "Algorithm", "an `Algorithm` attribute")?;
        if let Some(method) = Canonicalization::from_uri(&uri) {
            return CanonicalizationMethod::parse_content(element, method)
                .map(Self::Canonicalization);
        }
        if uri == ENVELOPED_SIGNATURE {
            return Ok(Self::Enveloped);
        }
        Ok(Self::Other {
            uri: uri.into_owned(),
            node: element.id(),
        })
    }

    /// Reads `ds:Transforms`, at most `limit` of them.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and [`SignatureError::TooMany`].
    pub fn parse_all(transforms: Element<'_>, limit: usize) -> Result<Vec<Self>, SignatureError> {
        let mut children = Children::of(transforms);
        let mut parsed = Vec::with_capacity(1);
        while let Some(transform) = children.optional(DSIG, "Transform") {
            if parsed.len() == limit {
                return Err(SignatureError::TooMany {
                    what: "ds:Transform",
                    limit,
                });
            }
            parsed.push(Self::parse(transform)?);
        }
        children.end("`ds:Transform` elements only")?;
        Ok(parsed)
    }
}

/// What a caller accepts in a signature: bounds, and the transforms that references may use.
///
/// The default is the strict set of WS-Security: canonicalizations only, 64 references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Most references in one `SignedInfo`. Real envelopes sign fewer than 20 parts; the endpoint
    /// file says 64.
    pub references: usize,
    /// Most transforms in one reference. Three is the longest chain that WS-Security and SAML use
    /// (enveloped, STR, C14N).
    pub transforms: usize,
    /// Most bytes of the canonical form of `SignedInfo`. It is canonicalized before anything is
    /// known of who made it, and quotation marks in it grow to six bytes each.
    pub signed_info: usize,
    /// Whether `enveloped-signature` is admitted (SAML assertions and plain XML signatures;
    /// WS-Security messages sign by id).
    pub enveloped: bool,
    /// Further transforms by URI, which the caller executes through
    /// [`Extension`](super::Extension).
    pub extensions: &'static [&'static str],
    /// Shortest truncated HMAC in bits, instead of the specification's half of the hash and at
    /// least 80 (XML-DSig 4.4.2): only the command line, for old test vectors, sets it.
    pub hmac_minimum_bits: Option<u32>,
    pub(crate) any_transform: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            references: 64,
            transforms: 3,
            signed_info: 64 * 1024,
            enveloped: false,
            extensions: &[],
            hmac_minimum_bits: None,
            any_transform: false,
        }
    }
}

impl Rules {
    /// The same rules, with every transform admitted. A seam for callers that execute each
    /// transform themselves, or refuse it by name: [`Reference`](super::Reference) streams
    /// canonicalizations alone.
    #[must_use]
    pub fn admitting_any_transform(mut self) -> Self {
        self.any_transform = true;
        self
    }

    pub(crate) fn admit(&self, transform: &Transform) -> Result<(), SignatureError> {
        let admitted = match transform {
            Transform::Canonicalization(_) => true,
            Transform::Enveloped => self.enveloped || self.any_transform,
            Transform::Other { uri, .. } => {
                self.any_transform || self.extensions.contains(&uri.as_str())
            }
        };
        if admitted {
            Ok(())
        } else {
            Err(SignatureError::TransformRefused {
                uri: transform.uri().to_owned(),
            })
        }
    }
}
