//! Signatures as they stand in a message, read leniently: what is wrong with one part does not hide
//! the others.
//!
//! The rule kept here: reading gives no verdict. What cannot be read is `None` beside the text that
//! stands there.

use soapstone_crypto::{DigestAlgorithm, SignatureAlgorithm, base64};
use soapstone_wss::names::DS;
use soapstone_xml::{Document, Element};
use soapstone_xmlsec::dsig::CanonicalizationMethod;
use soapstone_xmlsec::namespaces::EXCLUSIVE_C14N;

/// Most signatures, and most references of one, that are looked at.
pub(crate) const MOST: usize = 64;

/// A `ds:Transform`.
pub(crate) struct TransformRead<'d> {
    pub(crate) element: Element<'d>,
    pub(crate) uri: String,
    /// The canonicalization, if it is one.
    pub(crate) canonicalization: Option<CanonicalizationMethod>,
}

impl<'d> TransformRead<'d> {
    fn read(element: Element<'d>) -> Self {
        Self {
            element,
            uri: algorithm(element),
            canonicalization: CanonicalizationMethod::parse(element).ok(),
        }
    }

    /// Its prefix list, as written.
    pub(crate) fn prefixes(&self) -> Option<String> {
        let list = self.element.child(EXCLUSIVE_C14N, "InclusiveNamespaces")?;
        list.attribute("", "PrefixList")
            .map(|list| list.into_owned())
    }
}

/// A `ds:Reference`.
pub(crate) struct ReferenceRead<'d> {
    pub(crate) uri: Option<String>,
    pub(crate) transforms: Vec<TransformRead<'d>>,
    pub(crate) digest_uri: String,
    pub(crate) digest_method: Option<DigestAlgorithm>,
    pub(crate) value_element: Option<Element<'d>>,
    pub(crate) value_text: String,
    pub(crate) value: Option<Vec<u8>>,
}

/// A `ds:Signature`.
pub(crate) struct SignatureRead<'d> {
    pub(crate) element: Element<'d>,
    pub(crate) signed_info: Option<Element<'d>>,
    pub(crate) canonicalization: Option<TransformRead<'d>>,
    pub(crate) method_uri: String,
    pub(crate) method: Option<SignatureAlgorithm>,
    /// `ds:HMACOutputLength`.
    pub(crate) hmac_bits: Option<u32>,
    pub(crate) references: Vec<ReferenceRead<'d>>,
    pub(crate) value_text: String,
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) key_info: Option<Element<'d>>,
}

fn algorithm(element: Element<'_>) -> String {
    let uri = element.attribute("", "Algorithm");
    uri.unwrap_or_default().into_owned()
}

pub(crate) fn decoded(text: &str) -> Option<Vec<u8>> {
    base64::decode_xml_to_vec(text.as_bytes()).ok()
}

/// Whether an element stands in the Body, as content of the application.
pub(crate) fn is_in_body(element: Element<'_>) -> bool {
    let mut inside = element;
    while let Some(parent) = inside.parent() {
        if parent.parent().is_none() {
            return inside.local() == "Body";
        }
        inside = parent;
    }
    false
}

impl<'d> ReferenceRead<'d> {
    fn read(element: Element<'d>) -> Self {
        let transforms = element.child(DS, "Transforms");
        let transforms = transforms.into_iter().flat_map(|list| list.children());
        let method = element.child(DS, "DigestMethod");
        let digest_uri = method.map(algorithm).unwrap_or_default();
        let value_element = element.child(DS, "DigestValue");
        let value_text = value_element
            .map(|value| value.text().into_owned())
            .unwrap_or_default();
        Self {
            uri: element.attribute("", "URI").map(|uri| uri.into_owned()),
            transforms: transforms.take(MOST).map(TransformRead::read).collect(),
            digest_method: DigestAlgorithm::from_uri(&digest_uri),
            digest_uri,
            value_element,
            value: decoded(&value_text),
            value_text,
        }
    }
}

impl<'d> SignatureRead<'d> {
    /// The signatures of a document, in order.
    pub(crate) fn all(document: &'d Document) -> Vec<Self> {
        document
            .elements_named(DS, "Signature")
            .filter(Element::is_live)
            .take(MOST)
            .map(Self::read)
            .collect()
    }

    /// Whether it is a signature of the application, and none of WS-Security.
    pub(crate) fn is_in_body(&self) -> bool {
        is_in_body(self.element)
    }

    fn read(element: Element<'d>) -> Self {
        let signed_info = element.child(DS, "SignedInfo");
        let inside = |local: &str| signed_info.and_then(|info| info.child(DS, local));
        let method = inside("SignatureMethod");
        let method_uri = method.map(algorithm).unwrap_or_default();
        let hmac_bits = method
            .and_then(|method| method.child(DS, "HMACOutputLength"))
            .and_then(|length| length.text().trim().parse().ok());
        let references = signed_info.into_iter().flat_map(|info| info.children());
        let value_text = element
            .child(DS, "SignatureValue")
            .map(|value| value.text().into_owned())
            .unwrap_or_default();
        Self {
            element,
            signed_info,
            canonicalization: inside("CanonicalizationMethod").map(TransformRead::read),
            method: SignatureAlgorithm::from_uri(&method_uri),
            method_uri,
            hmac_bits,
            references: references
                .filter(|child| child.is(DS, "Reference"))
                .take(MOST)
                .map(ReferenceRead::read)
                .collect(),
            value: decoded(&value_text),
            value_text,
            key_info: element.child(DS, "KeyInfo"),
        }
    }
}
