//! Why the word of a responder, or a revocation list that was fetched, does not count.
//!
//! The one rule: operators read the reason; no peer is told any of it.

use std::fmt;

use jiff::Timestamp;

use crate::error::CryptoError;

/// Why an answer or a list does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerError {
    /// It cannot be read.
    Malformed(CryptoError),
    /// The responder gives no answer.
    Declined {
        /// The name of its status (RFC 6960 section 4.2.1).
        status: &'static str,
    },
    /// A critical extension is not understood.
    CriticalExtension {
        /// Its object identifier.
        oid: String,
    },
    /// It is not about the certificate that was asked about, or says two things of it.
    OtherCertificate,
    /// It is signed with an algorithm that is not accepted.
    WeakSignature {
        /// The algorithm's name or number.
        algorithm: String,
    },
    /// Neither the issuer nor a certificate in the response has signed it.
    BadSignature,
    /// The signer may not answer for the issuer (RFC 6960 section 4.2.2.2).
    NotAuthorized {
        /// Why.
        why: &'static str,
    },
    /// It does not repeat the nonce, and the rules demand that.
    NonceMissing,
    /// It repeats another nonce: it is the answer to another question.
    OtherNonce,
    /// It is from the future.
    NotYet {
        /// The moment that it begins at.
        from: Timestamp,
    },
    /// It is out of date.
    Stale {
        /// Since when.
        since: Timestamp,
    },
    /// It is older than the one that is known.
    Older {
        /// The moment of the known one.
        known: Timestamp,
    },
    /// It calls a certificate good that is known to be revoked for ever.
    RevokedBefore,
    /// There is no room for it.
    NoRoom,
    /// Nobody asks for it any more.
    NotAsked,
}

impl AnswerError {
    /// Stable name of the reason, for logs and metrics.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Malformed(_) | Self::CriticalExtension { .. } => "malformed",
            Self::Declined { .. } => "declined",
            Self::OtherCertificate => "other-certificate",
            Self::WeakSignature { .. } => "weak-signature",
            Self::BadSignature => "bad-signature",
            Self::NotAuthorized { .. } => "not-authorized",
            Self::NonceMissing | Self::OtherNonce => "nonce",
            Self::NotYet { .. } => "not-yet",
            Self::Stale { .. } => "stale",
            Self::Older { .. } => "older",
            Self::RevokedBefore => "revoked-before",
            Self::NoRoom => "no-room",
            Self::NotAsked => "not-asked",
        }
    }
}

impl fmt::Display for AnswerError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => write!(out, "{error}"),
            Self::Declined { status } => write!(out, "the responder declines with `{status}`"),
            Self::CriticalExtension { oid } => {
                write!(
                    out,
                    "it has the critical extension {oid}, which is not understood"
                )
            }
            Self::OtherCertificate => {
                out.write_str("it holds no answer, or several, about the certificate")
            }
            Self::WeakSignature { algorithm } => {
                write!(out, "it is signed with {algorithm}, which is not accepted")
            }
            Self::BadSignature => {
                out.write_str("neither the issuer nor a certificate in it has signed it")
            }
            Self::NotAuthorized { why } => {
                write!(out, "its signer may not answer for the issuer: {why}")
            }
            Self::NonceMissing => out.write_str("it does not repeat the nonce of the request"),
            Self::OtherNonce => out.write_str("it repeats the nonce of another request"),
            Self::NotYet { from } => write!(out, "it is valid only from {from}"),
            Self::Stale { since } => write!(out, "it is out of date since {since}"),
            Self::Older { known } => write!(out, "it is older than the known one of {known}"),
            Self::RevokedBefore => {
                out.write_str("it calls a certificate good that is known to be revoked")
            }
            Self::NoRoom => out.write_str("there is no room for it"),
            Self::NotAsked => out.write_str("nobody asks for it any more"),
        }
    }
}

impl std::error::Error for AnswerError {}
