//! XML-Signature: the strict, fast path.
//!
//! [`Signature::parse`] reads a `ds:Signature` once and refuses what its caller's [`Rules`] do not
//! admit. [`Reference::target`] and [`Reference::verify`] digest what was signed straight from the
//! document's source; [`Signature::verify_value`] checks the value with the key that the caller
//! chose. The three are separate so that the caller can record which node each reference covered.
//!
//! ```
//! use soapstone_crypto::{DigestAlgorithm, SignatureAlgorithm, SymmetricKey, digest};
//! use soapstone_xml::{Buffers, Canonicalization, Document, ParseOptions};
//! use soapstone_xmlsec::dsig::{NoExtension, Rules, Scratch, Signature, VerificationKey};
//! use soapstone_xmlsec::write::{self, Apex, ReferenceParts, SignedInfoWriter, TransformParts};
//!
//! // Sign an element that is canonical already.
//! let (key, method) = (SymmetricKey::generate(32)?, SignatureAlgorithm::HmacSha256);
//! let body = "<body xml:id=\"b\">text</body>";
//! let form = Canonicalization::Exclusive;
//! let mut writer = SignedInfoWriter::new(Vec::new(), Apex::PLAIN, form, method, None);
//! writer.reference(&ReferenceParts {
//!     id: None,
//!     uri: Some("#b"),
//!     kind: None,
//!     transforms: &[TransformParts::Canonicalization(Canonicalization::Exclusive, &[])],
//!     digest_method: DigestAlgorithm::Sha256,
//!     digest: digest(DigestAlgorithm::Sha256, body.as_bytes())?.as_ref(),
//! });
//! let signed_info = writer.finish();
//! let value = key.sign(method, signed_info.octets(), None)?;
//! let mut message = b"<message>".to_vec();
//! write::signature(None, &signed_info, value.as_ref(), None, &mut message);
//! message.extend_from_slice(body.as_bytes());
//! message.extend_from_slice(b"</message>");
//!
//! // Verify it.
//! let document = Document::parse(message, &ParseOptions::default(), &mut Buffers::new())?;
//! let node = document.root().first_child().expect("the signature").id();
//! let signature = Signature::parse(&document, node, &Rules::default())?;
//! let mut scratch = Scratch::default();
//! signature.verify_value(&document, VerificationKey::Secret(&key), &mut scratch)?;
//! for reference in &signature.references {
//!     // The node that was signed: compare it with the node that you need.
//!     let target = reference.target(&document)?;
//!     reference.verify(&document, target, &mut NoExtension, &mut scratch)?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The one rule: nothing here fetches, executes a stylesheet or takes a key from the message.

mod error;
mod on_demand;
mod reference;
mod reference_template;
mod signature;
mod transform;
mod uri;
mod verify;

#[cfg(test)]
mod tests;

pub use error::SignatureError;
pub use reference::Reference;
pub use signature::Signature;
pub use transform::{CanonicalizationMethod, Rules, Transform};
pub use uri::SameDocument;
pub use verify::{DigestSink, Extension, NoExtension, Scratch, Target, VerificationKey};
