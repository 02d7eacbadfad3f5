//! Why a token service refuses a request, for its operator.
//!
//! The one rule: each reason leads to one code for the peer, in [`Refusal::code`] and nowhere else.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use soapstone_wss::ContextName;

use super::code::TrustFaultCode;
use crate::message::{Lifetime, MessageError};
use crate::version::{Operation, TrustVersion};

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The Body does not hold one well-formed request.
    Malformed(MessageError),
    /// A version that is not offered.
    VersionNotOffered {
        /// Of the request.
        version: TrustVersion,
    },
    /// `wsa:Action` and `wst:RequestType` ask for different things. The one chose the policy, the
    /// other would be done.
    ActionMismatch {
        /// The action.
        action: String,
        /// URI of the request type.
        request_type: String,
    },
    /// A request type that is not offered here.
    RequestTypeNotOffered {
        /// Its URI.
        found: String,
    },
    /// Something that is not done about contexts here.
    OperationNotOffered {
        /// What was asked for.
        operation: Operation,
    },
    /// An element that is not understood, or nothing is done about (WS-Trust 1.4, 3.1).
    NotUnderstood {
        /// Expanded name.
        element: String,
    },
    /// A kind of token that is not issued here.
    TokenTypeNotOffered {
        /// Its URI.
        found: String,
    },
    /// A kind of key that the token cannot have.
    KeyTypeNotOffered {
        /// Its URI.
        found: String,
    },
    /// A key that is too short, too long, or no whole number of bytes.
    KeySizeNotOffered {
        /// Bits asked for.
        found: u32,
        /// Fewest bits.
        minimum: u32,
        /// Most bits.
        maximum: u32,
    },
    /// An algorithm that computes keys and is unknown or not offered.
    ComputedKeyNotOffered {
        /// Its URI.
        found: String,
    },
    /// The requestor must contribute to the key.
    EntropyMissing,
    /// The requestor's entropy has the wrong length.
    EntropyLength {
        /// Bytes found.
        found: usize,
        /// Fewest bytes.
        minimum: usize,
    },
    /// The whole key that the requestor sends is zeros, which everybody knows.
    KeyBlank,
    /// The requestor's entropy cannot be decrypted: one failure, whatever its cause.
    EntropyUnreadable,
    /// Key material would travel, or has travelled, readable by everybody on the way.
    NotConfidential,
    /// Nobody was shown to have sent the request, or not the one who has to.
    NotAuthenticated,
    /// What the assertion says of the one who would own the context is more than is kept.
    OwnerTooLarge {
        /// Bytes found.
        found: usize,
        /// Most bytes.
        most: usize,
    },
    /// A user's token and a certificate's signature are in the request, and nothing shows that
    /// both are one requestor's.
    RequesterAmbiguous,
    /// The wanted life of a token is none.
    TimeRange {
        /// What was asked for.
        lifetime: Lifetime,
        /// The present.
        now: Timestamp,
    },
    /// `wsp:AppliesTo` is missing, and has to be there.
    ScopeMissing,
    /// `wsp:AppliesTo` names a service for which no tokens are issued here.
    ScopeNotOffered {
        /// Its address.
        address: String,
    },
    /// What is to be renewed, cancelled or validated is missing, or names no security context.
    TargetMissing {
        /// What was to be done.
        operation: Operation,
    },
    /// The requestor did not prove to hold the key of the context (WS-SecureConversation 1.4, 4 to
    /// 6). Perhaps it does not even exist.
    ContextNotProven {
        /// What it named; `None` for the one it should have signed with.
        name: Option<ContextName>,
    },
    /// The requestor holds the key of the context, but is somebody else than the one who
    /// established it.
    ContextNotYours {
        /// The context.
        name: ContextName,
    },
    /// The context has expired.
    ContextExpired {
        /// The context.
        name: ContextName,
        /// When it ended.
        expired: Timestamp,
    },
    /// The context was renewed by its key alone as long as that is allowed.
    RenewalsExhausted {
        /// The context.
        name: ContextName,
        /// How long that is.
        limit: Duration,
    },
    /// A collection with fewer requests than two, more than the service takes, or of different
    /// types (WS-Trust 1.4, 4.2.1).
    Batch {
        /// What is wrong.
        problem: BatchProblem,
    },
    /// A token in the request is none that is believed: of another form, another issuer, changed,
    /// or over.
    TokenRejected {
        /// Why.
        problem: String,
    },
    /// The requestor may not act for the subject.
    DelegationNotAllowed {
        /// Who would act.
        actor: String,
        /// In which form.
        form: &'static str,
    },
    /// The requestor is neither the subject of the assertion that is to be cancelled nor the holder
    /// of its key, or another service issued it.
    CancelNotAllowed {
        /// Who asked.
        requester: String,
    },
    /// Whether an assertion was cancelled cannot be looked up at the moment.
    CancellationsUnavailable {
        /// Why.
        problem: String,
    },
    /// The key that a token is to name did not sign the request.
    KeyNotProven,
    /// A claim that is not made of the subject, and that the token must not lack.
    ClaimNotOffered {
        /// Its URI.
        claim: String,
    },
    /// A token that is not renewed, or not any more.
    NotRenewable {
        /// Why.
        problem: String,
    },
    /// Contexts cannot be looked up at the moment.
    ContextsUnavailable {
        /// Why.
        problem: String,
    },
    /// The library failed.
    Library {
        /// At what.
        problem: String,
    },
}

/// What is wrong with a collection of requests.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchProblem {
    /// Too few or too many.
    Size {
        /// How many.
        found: usize,
        /// Most that are taken.
        limit: usize,
    },
    /// A request type other than the first one's, or one for single requests (or, in a single
    /// request, one for collections).
    RequestType {
        /// Its URI.
        found: String,
    },
}

impl Refusal {
    /// The code for the peer.
    #[must_use]
    pub const fn code(&self) -> TrustFaultCode {
        match self {
            Self::Malformed(_)
            | Self::ActionMismatch { .. }
            | Self::EntropyMissing
            | Self::EntropyLength { .. }
            | Self::KeyBlank
            | Self::ScopeMissing
            | Self::Batch { .. } => TrustFaultCode::InvalidRequest,
            Self::VersionNotOffered { .. }
            | Self::RequestTypeNotOffered { .. }
            | Self::OperationNotOffered { .. }
            | Self::NotUnderstood { .. }
            | Self::TokenTypeNotOffered { .. }
            | Self::KeyTypeNotOffered { .. }
            | Self::KeySizeNotOffered { .. }
            | Self::ComputedKeyNotOffered { .. }
            | Self::ClaimNotOffered { .. } => TrustFaultCode::BadRequest,
            Self::EntropyUnreadable
            | Self::NotConfidential
            | Self::OwnerTooLarge { .. }
            | Self::ContextsUnavailable { .. }
            | Self::CancellationsUnavailable { .. }
            | Self::Library { .. } => TrustFaultCode::RequestFailed,
            // Nobody learns which part of a proof was missing.
            Self::NotAuthenticated
            | Self::RequesterAmbiguous
            | Self::TokenRejected { .. }
            | Self::DelegationNotAllowed { .. }
            | Self::CancelNotAllowed { .. }
            | Self::KeyNotProven => TrustFaultCode::FailedAuthentication,
            Self::NotRenewable { .. } => TrustFaultCode::UnableToRenew,
            Self::TimeRange { .. } => TrustFaultCode::InvalidTimeRange,
            Self::ScopeNotOffered { .. } => TrustFaultCode::InvalidScope,
            Self::TargetMissing { .. }
            | Self::ContextNotProven { .. }
            | Self::ContextNotYours { .. } => TrustFaultCode::BadContextToken,
            Self::ContextExpired { .. } => TrustFaultCode::ContextRenewNeeded,
            Self::RenewalsExhausted { .. } => TrustFaultCode::ContextUnableToRenew,
        }
    }

    /// Stable name of the reason, for logs and metrics.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "trust-malformed",
            Self::VersionNotOffered { .. } => "trust-version",
            Self::ActionMismatch { .. } => "trust-action",
            Self::RequestTypeNotOffered { .. } | Self::OperationNotOffered { .. } => {
                "trust-request-type"
            }
            Self::NotUnderstood { .. } => "trust-not-understood",
            Self::TokenTypeNotOffered { .. } => "trust-token-type",
            Self::KeyTypeNotOffered { .. } => "trust-key-type",
            Self::KeySizeNotOffered { .. } => "trust-key-size",
            Self::ComputedKeyNotOffered { .. } => "trust-computed-key",
            Self::EntropyMissing
            | Self::EntropyLength { .. }
            | Self::KeyBlank
            | Self::EntropyUnreadable => "trust-entropy",
            Self::NotConfidential => "trust-not-confidential",
            Self::NotAuthenticated => "trust-not-authenticated",
            Self::OwnerTooLarge { .. } => "trust-owner-too-large",
            Self::RequesterAmbiguous => "trust-requester",
            Self::TimeRange { .. } => "trust-time-range",
            Self::ScopeNotOffered { .. } | Self::ScopeMissing => "trust-scope",
            Self::TargetMissing { .. } => "trust-target",
            Self::ContextNotProven { .. } => "context-not-proven",
            Self::ContextNotYours { .. } => "context-not-yours",
            Self::ContextExpired { .. } => "context-expired",
            Self::RenewalsExhausted { .. } => "context-renewals-exhausted",
            Self::Batch { .. } => "trust-batch",
            Self::TokenRejected { .. } => "trust-token",
            Self::DelegationNotAllowed { .. } => "trust-delegation",
            Self::CancelNotAllowed { .. } => "trust-cancel",
            Self::CancellationsUnavailable { .. } => "cancellations-unavailable",
            Self::KeyNotProven => "trust-key-not-proven",
            Self::ClaimNotOffered { .. } => "trust-claim",
            Self::NotRenewable { .. } => "trust-not-renewable",
            Self::ContextsUnavailable { .. } => "contexts-unavailable",
            Self::Library { .. } => "trust-library",
        }
    }
}

impl From<MessageError> for Refusal {
    fn from(error: MessageError) -> Self {
        Self::Malformed(error)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => error.fmt(out),
            Self::VersionNotOffered { version } => {
                write!(out, "requests of {version} are not answered here")
            }
            Self::ActionMismatch {
                action,
                request_type,
            } => write!(
                out,
                "the action `{action}` does not go with the request type `{request_type}`"
            ),
            Self::RequestTypeNotOffered { found } => {
                write!(out, "the request type `{found}` is not offered here")
            }
            Self::OperationNotOffered { operation } => {
                write!(out, "{operation} is not offered here")
            }
            Self::NotUnderstood { element } => {
                write!(out, "`{element}` in the request is not understood")
            }
            Self::TokenTypeNotOffered { found } => {
                write!(out, "tokens of type `{found}` are not issued here")
            }
            Self::KeyTypeNotOffered { found } => {
                write!(
                    out,
                    "tokens with a key of the type `{found}` are not issued here"
                )
            }
            Self::KeySizeNotOffered {
                found,
                minimum,
                maximum,
            } => write!(
                out,
                "expected a key of {minimum} to {maximum} bits in whole bytes to be asked for, found {found}"
            ),
            Self::ComputedKeyNotOffered { found } => {
                write!(out, "keys are not computed by `{found}` here")
            }
            Self::EntropyMissing => out.write_str("expected entropy in the request, found none"),
            Self::EntropyLength { found, minimum } => write!(
                out,
                "expected at least {minimum} bytes of entropy, found {found}"
            ),
            Self::KeyBlank => out.write_str("expected a random key, found one of zeros"),
            Self::EntropyUnreadable => {
                out.write_str("the entropy of the request cannot be decrypted")
            }
            Self::NotConfidential => out.write_str(
                "key material must be encrypted in request and answer, or travel over TLS",
            ),
            Self::NotAuthenticated => {
                out.write_str("nobody was shown to have sent the request who may ask for this")
            }
            Self::OwnerTooLarge { found, most } => write!(
                out,
                "expected at most {most} bytes of subject and attributes in the assertion that begins a context, found {found}"
            ),
            Self::RequesterAmbiguous => out.write_str(
                "the request has a user's token and a certificate's signature, which does not cover the token: it is not known whom an assertion would be about",
            ),
            Self::TimeRange { lifetime, now } => {
                write!(out, "no token can live from {lifetime}: it is {now}")
            }
            Self::ScopeMissing => {
                out.write_str("expected `wsp:AppliesTo` in the request, found none")
            }
            Self::ScopeNotOffered { address } => {
                write!(out, "no tokens are issued here for `{address}`")
            }
            Self::TargetMissing { operation } => write!(
                out,
                "expected a security context to be named for {operation}, found none"
            ),
            Self::ContextNotProven { name: Some(name) } => write!(
                out,
                "the request is not signed with the key of {name}, if that exists"
            ),
            Self::ContextNotProven { name: None } => {
                out.write_str("the request is not signed with the key of a security context")
            }
            Self::ContextNotYours { name } => {
                write!(out, "somebody else than the sender established {name}")
            }
            Self::ContextExpired { name, expired } => write!(out, "{name} expired at {expired}"),
            Self::RenewalsExhausted { name, limit } => write!(
                out,
                "{name} was renewed without authentication for {} s, no longer allowed",
                limit.as_secs()
            ),
            Self::Batch { problem } => problem.fmt(out),
            Self::TokenRejected { problem } => {
                write!(out, "the token in the request is not believed: {problem}")
            }
            Self::DelegationNotAllowed { actor, form } => write!(
                out,
                "no delegation allows `{actor}` to act for that subject there ({form})"
            ),
            Self::CancelNotAllowed { requester } => write!(
                out,
                "`{requester}` is neither the subject of the token nor the holder of its key, or another service issued it"
            ),
            Self::CancellationsUnavailable { problem } => {
                write!(out, "cancelled assertions cannot be looked up: {problem}")
            }
            Self::KeyNotProven => {
                out.write_str("the key that the token is to name did not sign the request")
            }
            Self::ClaimNotOffered { claim } => {
                write!(out, "the claim `{claim}` is not made of the subject")
            }
            Self::NotRenewable { problem } => write!(out, "the token is not renewed: {problem}"),
            Self::ContextsUnavailable { problem } => {
                write!(out, "security contexts cannot be looked up: {problem}")
            }
            Self::Library { problem } => out.write_str(problem),
        }
    }
}

impl fmt::Display for BatchProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size { limit: 0 | 1, .. } => {
                out.write_str("collections of requests are not answered here")
            }
            Self::Size { found, limit } => write!(
                out,
                "expected a collection of 2 to {limit} requests, found {found}"
            ),
            Self::RequestType { found } => write!(
                out,
                "expected requests of one type in a collection, and of a batch type there only, found `{found}`"
            ),
        }
    }
}
