//! What was done to secure a message, as the engine told it: the names of these fields are those of
//! the JSON output.
//!
//! The rule kept here: what only the receiver may read is in no text and in no JSON. It is in the
//! [files](Sent::files), which are made for whoever asks for them.

mod arrived;
mod hearing;
mod text;

use serde::Serialize;

pub use arrived::compare;
pub use text::{sent_json, sent_text};

/// Everything that was done to secure one message.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sent {
    /// The security headers, in the order in which they were made: that of the last node first.
    pub headers: Vec<SentHeader>,
    /// A header is being made.
    #[serde(skip)]
    is_open: bool,
}

/// One `wsse:Security` header.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SentHeader {
    /// Whom it is for; absent for the last node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// Its items, in order.
    pub items: Vec<SentItem>,
    /// Its `wsu:Timestamp`, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<SentTimestamp>,
    /// How many signatures of the request it confirms, where it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<usize>,
    /// Its tokens.
    pub tokens: Vec<SentToken>,
    /// The keys of the message.
    pub keys: Vec<SentKey>,
    /// Keys that were wrapped.
    pub wrapped: Vec<SentWrapping>,
    /// Signatures, in the order in which they were made.
    pub signatures: Vec<SentSignature>,
    /// What was encrypted.
    pub encryption: Vec<SentCipherText>,
    /// References of the signature that is made next.
    #[serde(skip)]
    pending: Vec<SentReference>,
}

/// A child of `wsse:Security`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SentItem {
    /// Its name as it is written.
    pub name: String,
    /// Its id, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// A `wsu:Timestamp`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SentTimestamp {
    /// Its id.
    pub id: String,
    /// Its beginning.
    pub created: String,
    /// Its end.
    pub expires: String,
}

/// A token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SentToken {
    /// The element.
    pub element: &'static str,
    /// Its id; absent of a reference in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Whom or what it names.
    pub says: String,
    /// Why the message has it.
    pub why: &'static str,
}

/// A key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SentKey {
    /// What it does: `signature`, `endorsement` or `encryption`.
    pub usage: &'static str,
    /// Whether only the receiver may read whose it is: then that is not told.
    pub secret: bool,
    /// Where it comes from.
    pub origin: String,
    /// What names it; empty where nothing does.
    pub named_by: String,
    /// How it was derived, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub derived: Option<SentDerivation>,
    /// What names it, told or not.
    #[serde(skip)]
    name: String,
}

/// How a key was derived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SentDerivation {
    /// What names the key that it was derived from.
    pub from: String,
    /// `token`, if a `wsc:DerivedKeyToken` says how; `reference`, if the reference does.
    pub said_by: &'static str,
    /// The label.
    pub label: String,
    /// The nonce, base64.
    pub nonce: String,
    /// Bytes of the key.
    pub length: usize,
}

/// A key that was wrapped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SentWrapping {
    /// The id of the `xenc:EncryptedKey`.
    pub id: String,
    /// Whose private key unwraps it.
    pub recipient: String,
    /// What names the recipient.
    pub named_by: String,
    /// How it was wrapped.
    pub algorithm: String,
    /// The SHA-1 of what it carries, base64.
    pub sha1: String,
}

/// A signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SentSignature {
    /// Its number among those of the message, in document order, from 1.
    pub number: usize,
    /// Its id.
    pub id: String,
    /// The signature method.
    pub algorithm: String,
    /// Whose key it is.
    pub key: String,
    /// What names the key.
    pub named_by: String,
    /// Whether it was encrypted afterwards: then its value is not told.
    pub secret: bool,
    /// Its value, base64.
    pub value: String,
    /// Bytes of the canonical `ds:SignedInfo`.
    pub bytes: usize,
    /// What it covers.
    pub references: Vec<SentReference>,
    #[serde(skip)]
    signed_info: Vec<u8>,
}

/// A reference of a signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SentReference {
    /// Its URI. Empty where it is secret and the signature as well.
    pub uri: String,
    /// The element that it leads to; the media type of an attachment.
    pub element: String,
    /// The part of the endpoint file that it is of, if that names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Its transforms with their prefix lists.
    pub transforms: Vec<String>,
    /// The digest method.
    pub algorithm: String,
    /// Whether only the receiver may read the bytes: then they are not told.
    pub secret: bool,
    /// The digest, base64. Empty where the signature is secret as well.
    pub digest: String,
    /// How many bytes were digested.
    pub bytes: usize,
    /// The first of them.
    pub first: String,
    /// The last of them.
    pub last: String,
    #[serde(skip)]
    canonical: Vec<u8>,
}

/// Something that was encrypted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SentCipherText {
    /// The id of the `xenc:EncryptedData`.
    pub id: String,
    /// The element, or the `cid:` URI of an attachment.
    pub element: String,
    /// `content`, `element` or `attachment`.
    pub extent: &'static str,
    /// The algorithm.
    pub algorithm: String,
    /// What names the key.
    pub named_by: String,
}

impl Sent {
    /// The canonical bytes of all that was signed, each by the name of a file. They are plaintext
    /// where it was encrypted afterwards. [`explain`](crate::explain) gives the bytes of a message
    /// that arrived the same names.
    pub fn files(&self) -> impl Iterator<Item = (String, &[u8])> {
        let signatures = self.headers.iter().flat_map(|header| &header.signatures);
        signatures.flat_map(|signature| {
            let references = signature.references.iter().enumerate();
            let references = references.map(|(at, one)| {
                (
                    reference_file(signature.number, at + 1),
                    one.canonical.as_slice(),
                )
            });
            let signed_info = signature.signed_info.as_slice();
            std::iter::once((signed_info_file(signature.number), signed_info)).chain(references)
        })
    }
}

/// The name of the file with the canonical `ds:SignedInfo` of a signature, from 1.
pub(crate) fn signed_info_file(signature: usize) -> String {
    format!("signature-{signature}-signed-info.c14n")
}

/// The name of the file with the canonical bytes of a reference of a signature, both from 1.
pub(crate) fn reference_file(signature: usize, reference: usize) -> String {
    format!("signature-{signature}-reference-{reference}.c14n")
}
