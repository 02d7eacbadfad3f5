//! Protection inside of the Body: one element of it is signed as a document of its own, or
//! encrypted for somebody, whatever protects the message around it.
//!
//! The form is an enveloped signature (XML-DSig 6.6.4) with one reference. The element stays in the
//! Body, or the Body has it as base64. Tax authorities and banks want such signatures, to keep them
//! with the document. Cipher text is an `xenc:EncryptedData` with its own key (XML-Enc 3.4, 3.5),
//! in the place of the element or of its content.
//!
//! The one rule: an inner protection adds one. It takes the place of none.

mod decrypting;
mod encrypting;
mod signing;
mod verifying;

use std::fmt;

use jiff::Timestamp;
use soapstone_crypto::DataEncryption;
use soapstone_xml::{Document, Element, ParseOptions};
use soapstone_xmlsec::namespaces::{DSIG, XENC};

use crate::envelope::{Envelope, is_version_1_0};
use crate::part::Extent;
use crate::rejected::Rejected;
use crate::suite::{Retirement, retired};

pub use decrypting::InnerDecryption;
pub use encrypting::InnerEncryption;
pub use signing::{InnerKeyInfo, InnerSigning};
pub use verifying::{InnerEvidence, InnerVerification};

/// An element of the Body that is protected by itself, or that holds a document which is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InnerElement {
    /// Namespace of the element; empty for none.
    pub namespace: String,
    /// Its local name.
    pub local: String,
    /// Whether the element holds the document as base64. Otherwise it is the document.
    pub encoded: bool,
    /// Whether it is an element of answers: one that is a fault, and nothing else, has none.
    pub of_answers: bool,
}

impl fmt::Display for InnerElement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{{{}}}{}", self.namespace, self.local)
    }
}

/// An element of the Body that came encrypted by itself. It proves nothing about who sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InnerCipherEvidence {
    /// Expanded name of the element.
    pub element: String,
    /// Whether the element was encrypted, or its content alone.
    pub extent: Extent,
    /// How.
    pub algorithm: DataEncryption,
    /// Short name of the algorithm that encrypted its key.
    pub key: &'static str,
    /// Subject of our certificate that it was encrypted for.
    pub recipient: String,
    /// Short names of weak algorithms that it uses and the endpoint allows.
    pub weak: Vec<&'static str>,
}

/// What is wrong with an inner protection, in words.
type Problem = String;

impl InnerElement {
    /// The one element of this name in the Body. `None` in an answer that is a fault.
    ///
    /// # Errors
    /// There is none, or there are several: which of them a receiver reads would be open.
    fn find<'e>(&self, envelope: &'e Envelope) -> Result<Option<Element<'e>>, Problem> {
        if self.is_left_out(envelope) {
            return Ok(None);
        }
        let mut named = self.named(envelope);
        let (first, others) = (named.next(), named.count());
        match (first, others) {
            (Some(element), 0) => Ok(Some(element)),
            (None, _) => Err("expected one such element in the Body, found none".to_owned()),
            (Some(_), others) => Err(format!(
                "expected one such element in the Body, found {}",
                others.saturating_add(1)
            )),
        }
    }

    /// Whether the message is an answer that is a fault, and nothing else. What stands beside a
    /// fault, or is sent as one, could be read all the same.
    fn is_left_out(&self, envelope: &Envelope) -> bool {
        let soap = envelope.version().namespace();
        let mut content = envelope.body().children();
        let is_fault = content.next().is_some_and(|child| child.is(soap, "Fault"));
        self.of_answers && is_fault && content.next().is_none()
    }

    /// The elements of this name in the Body.
    fn named<'e>(&self, envelope: &'e Envelope) -> impl Iterator<Item = Element<'e>> {
        let descendants = envelope.body().descendants();
        descendants.filter(|element| element.is(&self.namespace, &self.local))
    }

    /// The document that an element holds as base64.
    fn decoded(&self, element: Element<'_>, options: &ParseOptions) -> Result<Document, Problem> {
        let text = element
            .text_strict()
            .ok_or("expected base64, found elements or comments")?;
        let bytes = soapstone_crypto::base64::decode_xml_to_vec(text.as_bytes())
            .map_err(|error| format!("expected base64: {error}"))?;
        let document = Document::parse(bytes, options, &mut soapstone_xml::Buffers::new())
            .map_err(|error| format!("expected base64 of a document: {error}"))?;
        // No signature covers the declaration.
        match is_version_1_0(document.bytes()) {
            true => Ok(document),
            false => Err("expected base64 of XML 1.0, found another version".to_owned()),
        }
    }
}

/// Refuses weak algorithms whose time is over, each with its short name.
fn refuse_retired(
    retirements: &[Retirement],
    used: [(bool, &'static str); 2],
    now: Timestamp,
) -> Result<(), Rejected> {
    for (_, algorithm) in used.into_iter().filter(|(is_weak, _)| *is_weak) {
        if let Some(since) = retired(retirements, algorithm, now) {
            return Err(Rejected::AlgorithmRetired { algorithm, since });
        }
    }
    Ok(())
}

/// Whether an element is cipher text.
fn is_cipher_text(element: &Element<'_>) -> bool {
    element.is(XENC, "EncryptedData")
}

/// The signatures among the children of an element.
fn signatures<'d>(element: Element<'d>) -> impl Iterator<Item = Element<'d>> {
    element
        .children()
        .filter(|child| child.is(DSIG, "Signature"))
}

/// Attributes that are ids, of XML-Signature users: without a namespace, and `xml:id`.
const ID_ATTRIBUTES: [(&str, &str); 4] = [
    ("", "Id"),
    ("", "ID"),
    ("", "id"),
    ("http://www.w3.org/XML/1998/namespace", "id"),
];
