//! Why a client does not accept an answer.
//!
//! The one rule: each message says what was expected and what was found, and no key or entropy is
//! in one.

use std::fmt;

use jiff::Timestamp;
use soapstone_crypto::CryptoError;
use soapstone_wss::{ContextName, Rejected};

use super::rules::{LONGEST_KEY, MOST_TOKENS};
use crate::fault::TrustFaultCode;
use crate::message::{Lifetime, MessageError};
use crate::version::TrustVersion;

/// Why the answer to a request is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrustError {
    /// The Body holds no answer of WS-Trust.
    Malformed(MessageError),
    /// The Body holds a fault.
    Fault {
        /// Its code, if it is one of WS-Trust or WS-SecureConversation.
        code: Option<TrustFaultCode>,
        /// Whether it blames a token of the request, as [`blames_token`](crate::blames_token)
        /// says.
        blames_token: bool,
    },
    /// The answer is of another version than the request.
    Version {
        /// Of the answer.
        found: TrustVersion,
    },
    /// A message asks for two tokens at least, and for [`MOST_TOKENS`](super::MOST_TOKENS) at most,
    /// where it asks for several.
    BatchSize {
        /// How many were to be asked for.
        found: usize,
    },
    /// A renewed assertion is about another subject than before.
    SubjectChanged {
        /// As before.
        expected: String,
        /// As the answer has it.
        found: String,
    },
    /// A renewed assertion has the name of the subject from before, and the name means somebody
    /// else: its format or a qualifier is another one.
    SubjectRequalified {
        /// The name.
        name: String,
    },
    /// A renewed assertion is another issuer's than before.
    IssuerChanged {
        /// As before.
        expected: String,
        /// As the answer has it.
        found: String,
    },
    /// A renewed assertion ends no later than before.
    NotProlonged {
        /// The end before.
        before: Timestamp,
        /// The end as the answer has it.
        found: Timestamp,
    },
    /// There is not one answer for each token that was asked for.
    AnswerCount {
        /// How many answers there are.
        found: usize,
    },
    /// An element of WS-Trust that is not understood.
    NotUnderstood {
        /// Expanded name.
        element: String,
    },
    /// There is no security context token of the right version in the answer.
    TokenMissing {
        /// What there is instead.
        found: Option<String>,
    },
    /// The answer is about another context than the one that was to be renewed, or makes two things
    /// of one.
    ContextMismatch {
        /// The context that was asked for, or that the token names.
        expected: ContextName,
        /// What was found.
        found: String,
    },
    /// A renewed context has the instance of the old one, or none.
    InstanceUnchanged {
        /// The context.
        name: ContextName,
    },
    /// The answer does not say what the key is, or says it twice.
    ProofMissing,
    /// The answer brings a key where none was to change.
    ProofUnexpected,
    /// The answer brings a key in which our entropy has no part.
    EntropyIgnored,
    /// The key that the answer tells is nothing but zeros, as a buffer is that was wiped too early.
    KeyBlank,
    /// Our own key was to be that of the token, and the answer has another one.
    OwnKeyIgnored,
    /// The key is to be computed in a way that was not asked for.
    ComputedKeyRefused {
        /// Its URI, in the version of the answer.
        found: String,
    },
    /// The key is to be computed from a part of the service's that is missing, or that nobody asked
    /// for.
    EntropyMissing,
    /// The service's entropy is our own, sent back.
    EntropyReflected,
    /// The service's entropy is too short.
    EntropyLength {
        /// Bytes found.
        found: usize,
        /// Fewest bytes.
        minimum: usize,
    },
    /// Key or entropy cannot be decrypted: one failure, whatever its cause.
    SecretUnreadable,
    /// The key is shorter than asked for, absurdly long, or not as long as said.
    KeySize {
        /// Bits found.
        found: u32,
        /// Fewest bits.
        minimum: u32,
    },
    /// The token has ended already, begins later, or ends before it begins.
    LifetimeRefused {
        /// As the answer says.
        lifetime: Lifetime,
        /// The present.
        now: Timestamp,
    },
    /// Somebody else answers than the one with whom the context was established.
    PeerChanged,
    /// The service does not say that the context is cancelled.
    NotCancelled,
    /// The service does not say whether the token is good.
    StatusMissing,
    /// The answer is to another request, or does not say to which one (WS-Trust 1.4, 3.2).
    AnotherRequestAnswered {
        /// Its `@Context`.
        found: Option<String>,
    },
    /// There is no assertion of the version that was asked for.
    AssertionMissing {
        /// What there is instead.
        found: Option<String>,
    },
    /// The token has another kind of key than the one that was asked for.
    KeyTypeRefused {
        /// Its URI.
        found: String,
    },
    /// The token is for another service.
    AppliesToRefused {
        /// The address of that service.
        found: String,
    },
    /// The assertion is not the one that was asked for.
    AssertionRefused(Box<Rejected>),
    /// The assertion is too large to be kept.
    AssertionTooLarge {
        /// Bytes found.
        size: usize,
        /// Most bytes.
        limit: usize,
    },
    /// The cryptographic library refused.
    Crypto(CryptoError),
}

impl fmt::Display for TrustError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => error.fmt(out),
            Self::Fault {
                code: Some(code), ..
            } => {
                write!(out, "the service refused: {code} ({})", code.reason())
            }
            Self::Fault { code: None, .. } => out.write_str("the service answered with a fault"),
            Self::Version { found } => write!(
                out,
                "expected an answer in the version of the request, found {found}"
            ),
            Self::BatchSize { found } => write!(
                out,
                "expected 2 to {MOST_TOKENS} tokens to ask for in one message, found {found}"
            ),
            Self::SubjectChanged { expected, found } => write!(
                out,
                "expected an assertion about {expected:?} as before, found one about {found:?}"
            ),
            Self::SubjectRequalified { name } => write!(
                out,
                "expected an assertion about {name:?} as before, found one whose format or qualifiers make {name:?} another subject"
            ),
            Self::IssuerChanged { expected, found } => write!(
                out,
                "expected an assertion of the issuer {expected:?} as before, found one of {found:?}"
            ),
            Self::NotProlonged { before, found } => write!(
                out,
                "expected an assertion that ends after {before}, found one that ends at {found}"
            ),
            Self::AnswerCount { found } => {
                write!(out, "expected one answer for each request, found {found}")
            }
            Self::NotUnderstood { element } => {
                write!(out, "`{element}` in the answer is not understood")
            }
            Self::TokenMissing { found: Some(found) } => write!(
                out,
                "expected a security context token of the version asked for, found `{found}`"
            ),
            Self::TokenMissing { found: None } => {
                out.write_str("expected a security context token, found none")
            }
            Self::ContextMismatch { expected, found } => {
                write!(out, "expected {expected}, found {found}")
            }
            Self::InstanceUnchanged { name } => {
                write!(out, "expected a new instance of {name}, found the old one or none")
            }
            Self::ProofMissing => {
                out.write_str("expected one `wst:RequestedProofToken`, found none")
            }
            Self::ProofUnexpected => {
                out.write_str("expected the key to stay, found a new one in the answer")
            }
            Self::EntropyIgnored => out.write_str(
                "expected a key computed from both sides' entropy, found one that is the service's alone",
            ),
            Self::KeyBlank => out.write_str("expected a random key, found one of zeros"),
            Self::OwnKeyIgnored => out.write_str(
                "expected our own key as that of the token, found another one in the answer",
            ),
            Self::ComputedKeyRefused { found } => {
                write!(out, "the key is to be computed by `{found}`, which was not asked for")
            }
            Self::EntropyMissing => {
                out.write_str("expected entropy of the service for a computed key, found none")
            }
            Self::EntropyReflected => {
                out.write_str("expected entropy of the service, found our own sent back")
            }
            Self::EntropyLength { found, minimum } => write!(
                out,
                "expected at least {minimum} bytes of entropy of the service, found {found}"
            ),
            Self::SecretUnreadable => {
                out.write_str("the key or entropy of the service cannot be decrypted")
            }
            Self::KeySize { found, minimum } => write!(
                out,
                "expected a key of {minimum} to {LONGEST_KEY} bits in whole bytes, found {found}"
            ),
            Self::LifetimeRefused { lifetime, now } => write!(
                out,
                "expected a token that is good now ({now}), found one for {lifetime}"
            ),
            Self::PeerChanged => out.write_str(
                "the answer is from somebody else than the one with whom the context was established",
            ),
            Self::NotCancelled => {
                out.write_str("expected `wst:RequestedTokenCancelled`, found none")
            }
            Self::StatusMissing => out.write_str("expected `wst:Status`, found none"),
            Self::AnotherRequestAnswered { found: Some(found) } => {
                write!(out, "the answer is to another request: its context is `{found}`")
            }
            Self::AnotherRequestAnswered { found: None } => out.write_str(
                "the answer does not say to which request: the context of the request is missing",
            ),
            Self::AssertionMissing { found: Some(found) } => write!(
                out,
                "expected an assertion of the version asked for, found `{found}`"
            ),
            Self::AssertionMissing { found: None } => {
                out.write_str("expected an assertion, found none")
            }
            Self::KeyTypeRefused { found } => {
                write!(out, "expected a token with the key asked for, found `{found}`")
            }
            Self::AppliesToRefused { found } => {
                write!(out, "expected a token for the service asked for, found `{found}`")
            }
            Self::AssertionRefused(rejected) => {
                write!(out, "the assertion is not the one that was asked for: {rejected}")
            }
            Self::AssertionTooLarge { size, limit } => write!(
                out,
                "expected an assertion of at most {limit} bytes, found {size}"
            ),
            Self::Crypto(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for TrustError {}

impl From<MessageError> for TrustError {
    fn from(error: MessageError) -> Self {
        Self::Malformed(error)
    }
}

impl From<CryptoError> for TrustError {
    fn from(error: CryptoError) -> Self {
        Self::Crypto(error)
    }
}
