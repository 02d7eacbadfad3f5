//! Bounds on the work that one message may ask for.

use soapstone_xmlsec::dsig::Rules;

use crate::names::{ATTACHMENT_COMPLETE_SIGNATURE, ATTACHMENT_CONTENT_SIGNATURE, STR_TRANSFORM};

/// Bounds on the security elements of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SecurityLimits {
    /// `ds:Reference` and `xenc:DataReference` elements, all signatures and keys together. 64
    /// covers signed headers of every profile that we know; a message with each of its records
    /// signed needs more and must be told so.
    pub references: usize,
    /// Signatures. A primary and a few endorsing ones.
    pub signatures: usize,
    /// `EncryptedKey` elements: each costs a private-key operation.
    pub encrypted_keys: usize,
    /// Security tokens, embedded and derived ones included.
    pub tokens: usize,
    /// Largest `soap:Header`, bytes. It bounds the work that somebody can put beside a captured
    /// cipher text. Cipher text of tokens and long certificate paths fit into 256 kB; the
    /// largest header among the project's vectors has 33 kB.
    pub header: usize,
    /// Failed openings of messages that ask to decipher with one `EncryptedKey`, in a day. The
    /// next one is refused unread.
    pub failed_openings: u32,
    /// The same of messages in one security context whose signature cipher text holds: nothing
    /// else tells them from what a stranger has changed.
    pub failed_openings_of_context: u32,
}

impl SecurityLimits {
    /// How signatures are read.
    pub(crate) fn signature_rules(&self) -> Rules {
        let mut rules = Rules::default();
        rules.references = self.references;
        rules.signed_info = self.signed_info_bytes();
        // BSP 1.1, R5423. What holds the signature is refused when it is followed.
        rules.enveloped = true;
        rules.extensions = &[
            STR_TRANSFORM,
            ATTACHMENT_CONTENT_SIGNATURE,
            ATTACHMENT_COMPLETE_SIGNATURE,
        ];
        rules
    }

    /// Largest `soap:Header` in bytes: each reference beyond the usual number adds what one takes.
    pub(crate) fn header_bytes(&self) -> usize {
        let more = self.signed_info_bytes() - SIGNED_INFO_BYTES;
        self.header.saturating_add(more)
    }

    /// Largest canonical `ds:SignedInfo` in bytes: 1 kB for each reference, and 64 kB at least.
    /// References of live peers take 300 to 700 bytes.
    pub(crate) fn signed_info_bytes(&self) -> usize {
        self.references.saturating_mul(1024).max(SIGNED_INFO_BYTES)
    }
}

/// Least bound of a canonical `ds:SignedInfo`, bytes.
const SIGNED_INFO_BYTES: usize = 64 * 1024;

impl Default for SecurityLimits {
    fn default() -> Self {
        Self {
            references: 64,
            signatures: 4,
            encrypted_keys: 4,
            tokens: 16,
            header: 256 * 1024,
            failed_openings: 3,
            failed_openings_of_context: 16,
        }
    }
}
