//! What is wrong with an attachment.
//!
//! The one rule: no problem tells what an attachment holds.

use std::fmt;

/// What is wrong with an attachment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttachmentProblem {
    /// The plan wants it signed, and no accepted signature covers it, or not with its header.
    Unsigned,
    /// The plan wants it encrypted, and it was not, or not with its header.
    Unencrypted,
    /// Its cipher text is listed by no key.
    Undeciphered,
    /// Neither a signature covers it nor was it encrypted, and the host passes on no such part.
    Uncovered,
    /// Something refers to it, and the message has no such part.
    Missing,
    /// Two references of one signature lead to it, or two `xenc:EncryptedData`.
    Repeated,
    /// A signature is over its cipher text. It is signed before it is encrypted (ebMS 3.0 Core,
    /// 7.6).
    SignedAsCipherText,
    /// It has no canonical form, or its `xenc:EncryptedData` is not as the profile has it.
    Malformed {
        /// What was expected and what was found.
        problem: String,
    },
    /// The plan takes no attachments.
    Unexpected {
        /// Why.
        reason: &'static str,
    },
}

impl AttachmentProblem {
    /// Stable name, for logs, metrics and `--json`.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Unsigned => "attachment-unsigned",
            Self::Unencrypted => "attachment-unencrypted",
            Self::Undeciphered => "attachment-undeciphered",
            Self::Uncovered => "attachment-uncovered",
            Self::Missing => "attachment-missing",
            Self::Repeated => "attachment-repeated",
            Self::SignedAsCipherText => "attachment-order",
            Self::Malformed { .. } => "attachment-malformed",
            Self::Unexpected { .. } => "attachment-unexpected",
        }
    }

    /// What the operator might look at first.
    pub(super) fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Unsigned => {
                "have the peer sign all parts of the package; attachments = { signed = \"none\" } takes what nobody signed"
            }
            Self::Unencrypted => {
                "have the peer encrypt all parts of the package; attachments = { encrypted = \"none\" } takes readable ones"
            }
            Self::Uncovered => {
                "have the peer protect all parts of the package; attachments = { uncovered = true } passes on what nothing covers"
            }
            Self::Missing => "the part was taken out on the way, or its Content-ID was changed",
            Self::SignedAsCipherText => "have the peer sign before it encrypts",
            Self::Unexpected { .. } => "have the peer send its message without attachments",
            _ => return None,
        })
    }
}

impl fmt::Display for AttachmentProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Unsigned => "expected it to be signed; no accepted signature covers it as the plan wants",
            Self::Unencrypted => "expected it to be encrypted; it was not, or not as the plan wants",
            Self::Undeciphered => "expected its `xenc:EncryptedData` to be listed by a key, found none that does",
            Self::Uncovered => "expected a part that the security of the message covers, found one that anybody can have put there",
            Self::Missing => "expected a part of the package with this Content-ID, found none",
            Self::Repeated => "expected one reference to it, found another one",
            Self::SignedAsCipherText => "expected it to be signed before it is encrypted, found a signature over its cipher text",
            Self::Malformed { problem } => problem,
            Self::Unexpected { reason } => {
                return write!(out, "expected a message without attachments: {reason}");
            }
        })
    }
}
