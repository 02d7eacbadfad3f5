//! What a copy of the message is known by: collected while it is opened, and marked as soon as it
//! can be told until when.

use soapstone_xml::{Document, NodeId};
use soapstone_xmlsec::enc::{EncryptedData, EncryptionError};

use jiff::Timestamp;

use crate::marks::{self, End, ReplayKey};

/// The marks of a message, and what there will be marks of.
#[derive(Default)]
pub(super) struct ReplayKeys {
    pub(super) marks: Vec<ReplayKey>,
    /// Of signatures that cipher text held.
    late: Vec<[u8; 32]>,
    /// Of cipher text, where nothing is signed and no key is wrapped.
    ciphers: Vec<[u8; 32]>,
    /// The `EncryptedData` that they are of, and those of marks that were taken before.
    marked_ciphers: Vec<NodeId>,
}

impl ReplayKeys {
    /// Marks what ends with the message.
    pub(super) fn mark(&mut self, end: (Timestamp, End), keys: impl IntoIterator<Item = [u8; 32]>) {
        self.marks.extend(marks::ending(end, keys));
    }

    /// Marks the cipher text that was noted.
    pub(super) fn mark_ciphers(&mut self, end: (Timestamp, End)) {
        self.marks
            .extend(marks::ending(end, self.ciphers.drain(..)));
    }

    /// Marks the rest: what was noted while cipher text was deciphered.
    pub(super) fn mark_rest(&mut self, end: (Timestamp, End)) {
        let keys = self.late.drain(..).chain(self.ciphers.drain(..));
        self.marks.extend(marks::ending(end, keys));
    }

    /// Notes a signature that cipher text held.
    pub(super) fn note_late(&mut self, key: [u8; 32]) {
        self.late.push(key);
    }

    /// Notes the cipher text of an attachment, which came with the message.
    pub(super) fn note_bytes(&mut self, data: NodeId, bytes: &[u8]) {
        self.ciphers.push(marks::of_cipher_text(&[bytes]));
        self.marked_ciphers.push(data);
    }

    /// Notes cipher text, where it is not noted yet.
    pub(super) fn note_cipher_text(
        &mut self,
        document: &Document,
        data: &EncryptedData,
        bytes: &mut Vec<u8>,
    ) -> Result<(), EncryptionError> {
        if !self.marked_ciphers.contains(&data.node) {
            data.ciphertext(document, bytes)?;
            self.ciphers.push(marks::of_cipher_text(&[bytes]));
            self.marked_ciphers.push(data.node);
        }
        Ok(())
    }
}
