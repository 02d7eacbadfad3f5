//! From a reference to the bytes that it announces: target and transforms.
//!
//! The rule kept here: a recipe is what the message says. Whether it is a good idea to sign so is
//! no question here.

use soapstone_wss::names::{SAML11_ID, SAML20_ID, STR_TRANSFORM, WSSE};
use soapstone_xml::{
    Apex, C14nOptions, C14nScratch, Canonicalization, Document, Element, NodeId, canonicalize,
};
use soapstone_xmlsec::dsig::{CanonicalizationMethod, SameDocument};
use soapstone_xmlsec::namespaces::ENVELOPED_SIGNATURE;

use crate::keys::Certified;
use crate::read::{ReferenceRead, TransformRead};
use crate::search::Budget;

/// How the bytes of a reference come about.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    pub(crate) apex: Apex,
    /// Whether the selection has comments.
    pub(crate) comments: bool,
    pub(crate) method: CanonicalizationMethod,
    pub(crate) omit: Vec<NodeId>,
    /// The apex is the token of the STR transform; its default namespace is always declared.
    pub(crate) token: bool,
    /// The `wsse:SecurityTokenReference` that the STR transform starts from.
    pub(crate) reference: Option<NodeId>,
    /// Bytes that stand for a certificate which is only named.
    pub(crate) fixed: Option<Vec<u8>>,
}

/// Why there are no bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoBytes {
    pub(crate) kind: &'static str,
    pub(crate) says: String,
}

impl NoBytes {
    pub(crate) fn new(kind: &'static str, says: impl Into<String>) -> Self {
        Self {
            kind,
            says: says.into(),
        }
    }
}

impl Recipe {
    /// That of `ds:SignedInfo`.
    pub(crate) fn signed_info(info: Element<'_>, method: Option<&CanonicalizationMethod>) -> Self {
        Self {
            apex: Apex::Element(info.id()),
            comments: true,
            method: method.unwrap_or(&CanonicalizationMethod::DEFAULT).clone(),
            omit: Vec::new(),
            token: false,
            reference: None,
            fixed: None,
        }
    }

    /// That of a reference of `signature`.
    pub(crate) fn of(
        document: &Document,
        signature: NodeId,
        reference: &ReferenceRead<'_>,
        certificates: &[Certified],
    ) -> Result<Self, NoBytes> {
        let mut recipe = Self {
            apex: Apex::Document,
            comments: false,
            method: CanonicalizationMethod::DEFAULT,
            omit: Vec::new(),
            token: false,
            reference: None,
            fixed: None,
        };
        let Some(uri) = reference.uri.as_deref() else {
            return Err(NoBytes::new(
                "reference-without-uri",
                "the reference has no URI",
            ));
        };
        match SameDocument::parse(uri) {
            None => {
                return Err(NoBytes::new(
                    "external-reference",
                    format!("`{uri}` leads out of the message; nothing is fetched"),
                ));
            }
            Some(SameDocument::Document { comments }) => recipe.comments = comments,
            Some(SameDocument::Element { id, comments }) => {
                recipe.comments = comments;
                recipe.apex = Apex::Element(target(document, id)?);
            }
        }
        for transform in &reference.transforms {
            recipe.transform(document, signature, transform, certificates)?;
        }
        Ok(recipe)
    }

    fn transform(
        &mut self,
        document: &Document,
        signature: NodeId,
        transform: &TransformRead<'_>,
        certificates: &[Certified],
    ) -> Result<(), NoBytes> {
        if let Some(method) = &transform.canonicalization {
            self.method = method.clone();
            return Ok(());
        }
        match transform.uri.as_str() {
            ENVELOPED_SIGNATURE => self.omit = vec![signature],
            STR_TRANSFORM => self.dereference(document, transform.element, certificates)?,
            other => {
                return Err(NoBytes::new(
                    "transform-not-supported",
                    format!("the transform `{other}` is not executed"),
                ));
            }
        }
        Ok(())
    }

    fn dereference(
        &mut self,
        document: &Document,
        transform: Element<'_>,
        certificates: &[Certified],
    ) -> Result<(), NoBytes> {
        let method = transform.descendants().find_map(|inside| {
            let is_method = inside.local() == "CanonicalizationMethod";
            is_method
                .then(|| CanonicalizationMethod::parse(inside).ok())
                .flatten()
        });
        self.method = method.unwrap_or(CanonicalizationMethod::new(Canonicalization::Exclusive));
        let Apex::Element(node) = self.apex else {
            return Err(NoBytes::new(
                "str-transform",
                "the STR transform has no reference to start from",
            ));
        };
        self.reference = Some(node);
        let reference = document.element(node);
        let direct = reference
            .child(WSSE, "Reference")
            .and_then(|direct| direct.attribute("", "URI"))
            .and_then(|uri| document.by_id(uri.strip_prefix('#')?).ok().flatten());
        let embedded = reference
            .child(WSSE, "Embedded")
            .and_then(|embedded| embedded.first_child().map(|token| token.id()));
        let assertion = reference
            .child(WSSE, "KeyIdentifier")
            .filter(|identifier| {
                let kind = identifier.attribute("", "ValueType");
                kind.is_some_and(|kind| kind == SAML11_ID || kind == SAML20_ID)
            })
            .and_then(|identifier| document.by_id(identifier.text().trim()).ok().flatten());
        if let Some(token) = direct.or(embedded).or(assertion) {
            self.apex = Apex::Element(token);
            self.token = true;
            return Ok(());
        }
        let named = crate::keys::named_by(reference, certificates);
        let certificate = named.first().ok_or_else(|| {
            NoBytes::new(
                "str-transform",
                "the STR transform means a certificate that is not in the message: name it with --config",
            )
        })?;
        self.fixed = Some(token_of(reference, certificate));
        Ok(())
    }

    /// The bytes, where the budget has room for them. It is asked before they are made, for as many
    /// as the source has, and for the rest of a longer form afterwards.
    pub(crate) fn bytes_within(&self, document: &Document, budget: &mut Budget) -> Option<Vec<u8>> {
        let source = match (&self.fixed, self.apex) {
            (Some(fixed), _) => fixed.len(),
            (None, Apex::Document) => document.bytes().len(),
            (None, Apex::Element(node)) => document.source(node).map_or(0, <[u8]>::len),
        };
        if !budget.take(source) {
            return None;
        }
        let bytes = self.bytes(document)?;
        budget.take_rest(source, bytes.len()).then_some(bytes)
    }

    /// The bytes.
    fn bytes(&self, document: &Document) -> Option<Vec<u8>> {
        if let Some(fixed) = &self.fixed {
            return Some(fixed.clone());
        }
        let mut prefixes: Vec<&str> = self
            .method
            .inclusive_prefixes
            .iter()
            .map(String::as_str)
            .collect();
        if self.token {
            prefixes.push("#default");
        }
        let options = C14nOptions {
            inclusive_prefixes: &prefixes,
            omit: &self.omit,
            ..C14nOptions::new(self.method.selecting(self.comments))
        };
        let mut bytes = Vec::new();
        canonicalize(
            document,
            self.apex,
            &options,
            &mut C14nScratch::default(),
            &mut bytes,
        )
        .ok()?;
        Some(match self.token {
            true => with_default_namespace(bytes),
            false => bytes,
        })
    }

    /// The element that is digested.
    pub(crate) fn element<'d>(&self, document: &'d Document) -> Element<'d> {
        match self.apex {
            Apex::Document => document.root(),
            Apex::Element(node) => document.element(node),
        }
    }
}

fn target(document: &Document, id: &str) -> Result<NodeId, NoBytes> {
    match document.by_id(id) {
        Ok(Some(node)) => Ok(node),
        Err(_) => Err(NoBytes::new(
            "duplicate-id",
            format!("several elements have the id `{id}`: which one was signed, nobody can tell"),
        )),
        Ok(None) => {
            let alike = document.root().descendants().find_map(|element| {
                let mut attributes = element.attributes();
                let has_it = |attribute: &soapstone_xml::Attribute<'_>| attribute.value() == id;
                attributes
                    .find(has_it)
                    .map(|attribute| (element, attribute.qualified_name()))
            });
            Err(match alike {
                Some((element, attribute)) => NoBytes::new(
                    "id-attribute",
                    format!(
                        "no element has the id `{id}`; `{}` has it in the attribute `{attribute}`, which is no id: `wsu:Id` is",
                        element.qualified_name()
                    ),
                ),
                None => NoBytes::new(
                    "reference-not-found",
                    format!(
                        "no element has the id `{id}`: it was removed, renamed, or is still encrypted"
                    ),
                ),
            })
        }
    }
}

/// The default namespace declared at the apex, if only to say that there is none (SOAP Message
/// Security 1.1.1, 8.3).
fn with_default_namespace(bytes: Vec<u8>) -> Vec<u8> {
    let tag = &bytes[..crate::tokens::tag_length(&bytes)];
    let declares = crate::tokens::attributes(tag)
        .iter()
        .any(|attribute| &tag[attribute.name.clone()] == b"xmlns");
    if declares {
        return bytes;
    }
    let place = crate::tokens::name_end(tag);
    [&bytes[..place], b" xmlns=\"\"", &bytes[place..]].concat()
}

/// The token that a certificate would be in the place of `reference`.
fn token_of(reference: Element<'_>, certificate: &Certified) -> Vec<u8> {
    let (name, namespaces) = match reference.prefix() {
        "" => (
            "BinarySecurityToken".to_owned(),
            format!("xmlns=\"{WSSE}\""),
        ),
        prefix => (
            format!("{prefix}:BinarySecurityToken"),
            format!("xmlns=\"\" xmlns:{prefix}=\"{WSSE}\""),
        ),
    };
    let content = soapstone_crypto::base64::encode(certificate.certificate.der());
    let kind = soapstone_wss::names::X509_V3;
    format!("<{name} {namespaces} ValueType=\"{kind}\">{content}</{name}>").into_bytes()
}
