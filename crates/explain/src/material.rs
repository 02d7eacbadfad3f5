//! What the parts of a message are explained with: the message in its states, and the keys at hand.
//!
//! The rule kept here: nothing of it is changed by what is found out.

use soapstone_crypto::SymmetricKey;
use soapstone_mime::Attachment;
use soapstone_xml::{Document, NodeId, ParseOptions};

use crate::keys::Certified;
use crate::model::{Explanation, Finding, Severity};
use crate::opened::Derivation;
use crate::read::SignatureRead;

/// Most canonical bytes that are kept: eight times the largest message.
const MOST_KEPT: usize = 64 << 20;

/// The message in one state: as it came, or with everything deciphered.
pub(crate) struct Layer<'a> {
    pub(crate) document: &'a Document,
    /// Its signatures by their values.
    signatures: Vec<(String, NodeId)>,
}

impl<'a> Layer<'a> {
    pub(crate) fn new(document: &'a Document) -> Self {
        let signatures = SignatureRead::all(document).into_iter();
        Self {
            document,
            signatures: signatures
                .map(|one| (one.value_text, one.element.id()))
                .collect(),
        }
    }

    /// The signature with this value.
    pub(crate) fn signature(&self, value_text: &str) -> Option<NodeId> {
        let mut signatures = self.signatures.iter();
        let found = signatures.find(|(value, _)| value == value_text);
        found.map(|(_, node)| *node)
    }
}

/// What the parts of a message are explained with.
pub(crate) struct Material<'a> {
    /// The message with everything deciphered, if anything was, and the message as it came.
    pub(crate) layers: Vec<Layer<'a>>,
    pub(crate) certificates: Vec<Certified>,
    pub(crate) secrets: &'a [(String, SymmetricKey)],
    /// Ids of elements that hold a secret, with its place.
    pub(crate) holders: &'a [(String, usize)],
    /// Session keys of the good message.
    pub(crate) foreign: &'a [(String, SymmetricKey)],
    pub(crate) derivations: Vec<Derivation>,
    /// Keys of passwords as they may have been derived, with what was done.
    pub(crate) of_passwords: Vec<(String, SymmetricKey)>,
    /// Signature values that the engine checked.
    pub(crate) verified: &'a [(Vec<u8>, bool)],
    /// The other parts of the package that the message came in.
    pub(crate) attachments: &'a [Attachment],
    /// The message as it stands in its package, with its `xop:Include` elements.
    pub(crate) with_includes: Option<Layer<'a>>,
    /// How documents are read.
    pub(crate) parsing: ParseOptions,
    /// Whether canonical bytes are kept.
    pub(crate) dump: bool,
}

impl Material<'_> {
    /// Keeps canonical bytes where they are wanted.
    pub(crate) fn keep(&self, file: String, bytes: &[u8], told: &mut Explanation) {
        if !self.dump {
            return;
        }
        let kept: usize = told.dumps.iter().map(|(_, bytes)| bytes.len()).sum();
        if kept + bytes.len() <= MOST_KEPT {
            told.dumps.push((file, bytes.to_vec()));
            return;
        }
        let kind = "dump-incomplete";
        if !told.findings.iter().any(|finding| finding.kind == kind) {
            let says = format!("no more than {MOST_KEPT} canonical bytes are kept");
            let finding = Finding::new(Severity::Note, kind, file, says);
            told.findings.push(finding);
        }
    }
}
