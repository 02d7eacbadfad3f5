//! Why a message was refused: everything for the operator, one coarse code for the peer.
//!
//! The one rule: what the peer is told ([`Rejected::fault`]) never depends on which cryptographic step failed.

use std::fmt;

use jiff::Timestamp;
use soapstone_crypto::TrustError;
use soapstone_xml::{C14nError, Limit, Problem};
use soapstone_xmlsec::dsig::SignatureError;
use soapstone_xmlsec::enc::EncryptionError;

use crate::conversation::{ContextName, ConversationVersion};
use crate::envelope::EnvelopeError;
use crate::part::Part;

/// What an algorithm was meant for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlgorithmUse {
    /// `ds:SignatureMethod`.
    Signature,
    /// `ds:DigestMethod` of a reference.
    Digest,
    /// `ds:CanonicalizationMethod`, or the canonicalization of a reference.
    Canonicalization,
    /// A transform of a reference.
    Transform,
    /// `xenc:EncryptionMethod` of an `EncryptedKey`.
    KeyTransport,
    /// `xenc:EncryptionMethod` of an `EncryptedData`.
    Data,
    /// `wsc:DerivedKeyToken/@Algorithm`.
    KeyDerivation,
}

impl fmt::Display for AlgorithmUse {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Signature => "signature",
            Self::Digest => "digest",
            Self::Canonicalization => "canonicalization",
            Self::Transform => "transform",
            Self::KeyTransport => "key transport",
            Self::Data => "data encryption",
            Self::KeyDerivation => "key derivation",
        })
    }
}

/// Why a message was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rejected {
    /// The bytes are not an acceptable SOAP envelope.
    Envelope(EnvelopeError),
    /// The plan wants security and there is no `wsse:Security` header for us.
    SecurityMissing,
    /// Two `wsse:Security` headers for the same actor (SOAP Message Security 1.1.1, 5).
    SecurityDuplicated,
    /// A `wsse:Security` header that must be understood, and a plan without security.
    SecurityUnexpected,
    /// A header block that must be understood is not among the verified ones, so that it cannot be passed on.
    HeaderNotVerified {
        /// Expanded name of the block.
        header: String,
    },
    /// An element in the `wsse:Security` header that the plan has no use for.
    ElementUnexpected {
        /// Expanded name.
        element: String,
    },
    /// An element of a security structure is not as its schema says.
    Malformed {
        /// The element.
        element: &'static str,
        /// What was expected and what was found.
        problem: String,
    },
    /// More of something than the plan allows in one message.
    TooMany {
        /// Of what.
        what: &'static str,
        /// The limit.
        limit: usize,
    },

    /// The plan wants a `wsu:Timestamp`.
    TimestampMissing,
    /// Two `wsu:Timestamp` elements (SOAP Message Security 1.1.1, 10).
    TimestampDuplicated,
    /// `Expires`, or the longest age accepted, has passed.
    TimestampExpired {
        /// When it ended.
        expired: Timestamp,
        /// The present.
        now: Timestamp,
        /// Skew forgiven, seconds.
        skew: u64,
    },
    /// `Created` is in the future.
    TimestampInFuture {
        /// What it says.
        created: Timestamp,
        /// The present.
        now: Timestamp,
        /// Skew forgiven, seconds.
        skew: u64,
    },

    /// The plan wants a `wsse:UsernameToken`.
    UsernameMissing,
    /// The password comes in a way that the plan does not accept.
    PasswordKindNotAllowed {
        /// `Password/@Type` as found.
        found: String,
    },
    /// Unknown user or wrong password: on purpose not told apart.
    AuthenticationFailed {
        /// The user as named in the token.
        user: String,
    },

    /// The plan wants a signature.
    SignatureMissing,
    /// An algorithm outside the plan's suite.
    AlgorithmNotAllowed {
        /// Its use.
        purpose: AlgorithmUse,
        /// Its URI, as found.
        found: String,
        /// The short names accepted.
        allowed: String,
    },
    /// The signature itself: its structure, its references, its value.
    Signature(SignatureError),
    /// A weak algorithm whose time in this peer's messages is over.
    AlgorithmRetired {
        /// Short name.
        algorithm: &'static str,
        /// Since when.
        since: Timestamp,
    },
    /// No key answers to a `KeyInfo`.
    KeyNotFound {
        /// What it asks for.
        reference: String,
    },
    /// A kind of key reference or token that is not accepted.
    TokenUnsupported {
        /// What was found.
        found: String,
    },
    /// The plan wants keys derived, and one is used as it is.
    KeyNotDerived,
    /// The message names a security context that this endpoint does not have: never made, cancelled, long expired, or another endpoint's.
    ContextUnknown {
        /// Which.
        name: ContextName,
    },
    /// The security context has expired.
    ContextExpired {
        /// Which.
        name: ContextName,
        /// When.
        expired: Timestamp,
    },
    /// The message is secured as a request for a security context is, and asks for something else.
    NotInConversation,
    /// The message is of no operation that its receiver knows.
    OperationUnknown {
        /// Its action, or what its Body holds.
        found: String,
    },
    /// The receiver treats operations in different ways, and cannot tell which of them the message is of.
    OperationUnclear {
        /// What stands in the way.
        problem: &'static str,
    },
    /// The message speaks of several operations, or was secured as one operation and holds another one.
    OperationMismatch {
        /// The operations that it was taken for.
        expected: String,
        /// What it says and holds.
        found: String,
    },
    /// The answer confirms no signature, and the plan wants it to.
    ConfirmationMissing,
    /// The answer confirms other signatures than those of its request.
    ConfirmationMismatch,
    /// Not exactly one signature endorses the message's own.
    EndorsementMissing,
    /// A part that must be in the message is not.
    PartMissing {
        /// The part.
        part: Part,
    },
    /// The elements of the `wsse:Security` header are not in the order that the plan wants.
    LayoutViolated {
        /// What is out of order.
        problem: &'static str,
    },
    /// The certificate is not trusted.
    Untrusted(TrustError),
    /// The signature is our own: the message, or a part of it, was sent back to us.
    Reflected,
    /// A key or a token of a kind that cannot do what is asked of it.
    KeyMisused {
        /// What is wrong.
        problem: String,
    },

    /// The encryption itself: its structure, or (as one failure) unwrapping, deciphering, and reading what was deciphered.
    Encryption(EncryptionError),
    /// The plan wants `part` signed, and no accepted signature covers it.
    Unsigned {
        /// The part.
        part: Part,
    },
    /// A signature covers an element that is neither in the Body nor a header block nor named by the plan: moved aside, perhaps.
    SignedElsewhere {
        /// Expanded name of the element.
        element: String,
    },
    /// The plan wants `part` encrypted, and it was not.
    Unencrypted {
        /// The part.
        part: Part,
    },
    /// `part` is signed and encrypted, but in the other order.
    WrongOrder {
        /// The part.
        part: Part,
    },

    /// Something failed after cipher text without authentication (CBC) was deciphered. The peer is told no more than if deciphering had
    /// failed (Jager and Somorovsky, How to Break XML Encryption, 2011).
    AfterDecryption(Box<Rejected>),
    /// What is to be passed on has no canonical form within the limits.
    Canonicalization(C14nError),

    /// The message, or its nonce, was seen before.
    Replayed,
    /// The replay cache cannot tell.
    ReplayUnknown {
        /// Why.
        problem: String,
    },
    /// The store of security contexts cannot tell.
    ContextsUnavailable {
        /// Why.
        problem: String,
    },
}

/// What the peer is told (SOAP Message Security 1.1.1, 12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultCode {
    /// `wsse:UnsupportedSecurityToken`.
    UnsupportedSecurityToken,
    /// `wsse:UnsupportedAlgorithm`.
    UnsupportedAlgorithm,
    /// `wsse:InvalidSecurity`.
    InvalidSecurity,
    /// `wsse:InvalidSecurityToken`.
    InvalidSecurityToken,
    /// `wsse:FailedAuthentication`.
    FailedAuthentication,
    /// `wsse:FailedCheck`.
    FailedCheck,
    /// `wsse:SecurityTokenUnavailable`.
    SecurityTokenUnavailable,
    /// `wsu:MessageExpired`.
    MessageExpired,
    /// `wsc:BadContextToken` (WS-SecureConversation 1.4, 9).
    BadContextToken(ConversationVersion),
    /// `wsc:RenewNeeded` (WS-SecureConversation 1.4, 9).
    RenewNeeded(ConversationVersion),
    /// `soap:Client` / `soap:Sender`: no security matter.
    Sender,
    /// `soap:MustUnderstand`.
    MustUnderstand,
    /// `soap:VersionMismatch`: not an envelope of a version we know.
    VersionMismatch,
}

impl FaultCode {
    /// Local name of the code.
    pub const fn local(self) -> &'static str {
        match self {
            Self::UnsupportedSecurityToken => "UnsupportedSecurityToken",
            Self::UnsupportedAlgorithm => "UnsupportedAlgorithm",
            Self::InvalidSecurity => "InvalidSecurity",
            Self::InvalidSecurityToken => "InvalidSecurityToken",
            Self::FailedAuthentication => "FailedAuthentication",
            Self::FailedCheck => "FailedCheck",
            Self::SecurityTokenUnavailable => "SecurityTokenUnavailable",
            Self::MessageExpired => "MessageExpired",
            Self::BadContextToken(_) => "BadContextToken",
            Self::RenewNeeded(_) => "RenewNeeded",
            Self::Sender => "Sender",
            Self::MustUnderstand => "MustUnderstand",
            Self::VersionMismatch => "VersionMismatch",
        }
    }

    /// The sentence that the specification gives for the code, or a plain one for SOAP's own codes.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::UnsupportedSecurityToken => "An unsupported token was provided",
            Self::UnsupportedAlgorithm => {
                "An unsupported signature or encryption algorithm was used"
            }
            Self::InvalidSecurity => {
                "An error was discovered processing the <wsse:Security> header."
            }
            Self::InvalidSecurityToken => "An invalid security token was provided",
            Self::FailedAuthentication => {
                "The security token could not be authenticated or authorized"
            }
            Self::FailedCheck => "The signature or decryption was invalid",
            Self::SecurityTokenUnavailable => "Referenced security token could not be retrieved",
            Self::MessageExpired => "The message has expired",
            Self::BadContextToken(_) => {
                "The requested context elements are insufficient or unsupported"
            }
            Self::RenewNeeded(_) => "The provided context token has expired",
            Self::Sender => "The message is not acceptable",
            Self::MustUnderstand => "A header that must be understood was not",
            Self::VersionMismatch => "The message is not a SOAP envelope of a known version",
        }
    }
}

impl Rejected {
    /// A reason that was found when cipher text without authentication had been deciphered, or not: another code for what fails later would
    /// tell a stranger that the cipher text had a plaintext that can be read.
    pub(crate) fn after(self, deciphered: bool) -> Self {
        if deciphered {
            Self::AfterDecryption(Box::new(self))
        } else {
            self
        }
    }

    /// The reason itself, for the operator.
    pub fn cause(&self) -> &Self {
        match self {
            Self::AfterDecryption(cause) => cause.cause(),
            _ => self,
        }
    }

    /// The code for the peer.
    pub fn fault(&self) -> FaultCode {
        match self {
            Self::AfterDecryption(_) => FaultCode::FailedCheck,
            Self::Envelope(EnvelopeError::NotAnEnvelope { .. }) => FaultCode::VersionMismatch,
            Self::Envelope(_)
            | Self::Canonicalization(_)
            | Self::OperationUnknown { .. }
            | Self::OperationUnclear { .. } => FaultCode::Sender,
            Self::SecurityUnexpected | Self::HeaderNotVerified { .. } => FaultCode::MustUnderstand,
            Self::SecurityMissing
            | Self::SecurityDuplicated
            | Self::ElementUnexpected { .. }
            | Self::Malformed { .. }
            | Self::TooMany { .. }
            | Self::TimestampMissing
            | Self::TimestampDuplicated
            | Self::UsernameMissing
            | Self::SignatureMissing
            | Self::KeyNotDerived
            | Self::NotInConversation
            | Self::OperationMismatch { .. }
            | Self::ConfirmationMissing
            | Self::ConfirmationMismatch
            | Self::EndorsementMissing
            | Self::PartMissing { .. }
            | Self::LayoutViolated { .. }
            | Self::Unsigned { .. }
            | Self::SignedElsewhere { .. }
            | Self::Unencrypted { .. }
            | Self::WrongOrder { .. } => FaultCode::InvalidSecurity,
            Self::TimestampExpired { .. } | Self::TimestampInFuture { .. } => {
                FaultCode::MessageExpired
            }
            Self::PasswordKindNotAllowed { .. } | Self::TokenUnsupported { .. } => {
                FaultCode::UnsupportedSecurityToken
            }
            Self::AuthenticationFailed { .. } | Self::Replayed => FaultCode::FailedAuthentication,
            Self::AlgorithmNotAllowed { .. } | Self::AlgorithmRetired { .. } => {
                FaultCode::UnsupportedAlgorithm
            }
            Self::KeyNotFound { .. } => FaultCode::SecurityTokenUnavailable,
            Self::ContextUnknown { name } => FaultCode::BadContextToken(name.version),
            Self::ContextExpired { name, .. } => FaultCode::RenewNeeded(name.version),
            Self::Untrusted(_) | Self::Reflected | Self::KeyMisused { .. } => {
                FaultCode::InvalidSecurityToken
            }
            Self::Signature(error) => match error {
                SignatureError::UnknownAlgorithm { .. }
                | SignatureError::TransformRefused { .. } => FaultCode::UnsupportedAlgorithm,
                SignatureError::Structure(_) | SignatureError::TooMany { .. } => {
                    FaultCode::InvalidSecurity
                }
                _ => FaultCode::FailedCheck,
            },
            Self::Encryption(error) => match error {
                EncryptionError::UnknownAlgorithm { .. } => FaultCode::UnsupportedAlgorithm,
                EncryptionError::Structure(_) | EncryptionError::TooMany { .. } => {
                    FaultCode::InvalidSecurity
                }
                _ => FaultCode::FailedCheck,
            },
            Self::ReplayUnknown { .. } | Self::ContextsUnavailable { .. } => {
                FaultCode::FailedAuthentication
            }
        }
    }

    /// Stable name of the reason, for logs, metrics and `--json`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::AfterDecryption(cause) => cause.name(),
            Self::Envelope(error) => match error {
                EnvelopeError::Xml(error) => xml_name(&error.problem),
                EnvelopeError::DuplicateId(_) => "duplicate-id",
                _ => "not-an-envelope",
            },
            Self::SecurityMissing => "security-missing",
            Self::SecurityDuplicated => "security-duplicated",
            Self::SecurityUnexpected => "security-unexpected",
            Self::HeaderNotVerified { .. } => "header-not-verified",
            Self::ElementUnexpected { .. } => "element-unexpected",
            Self::Malformed { .. } => "malformed",
            Self::TooMany { .. } => "too-many",
            Self::TimestampMissing => "timestamp-missing",
            Self::TimestampDuplicated => "timestamp-duplicated",
            Self::TimestampExpired { .. } => "timestamp-expired",
            Self::TimestampInFuture { .. } => "timestamp-in-future",
            Self::UsernameMissing => "username-missing",
            Self::PasswordKindNotAllowed { .. } => "password-kind-not-allowed",
            Self::AuthenticationFailed { .. } => "authentication-failed",
            Self::SignatureMissing => "signature-missing",
            Self::AlgorithmNotAllowed { .. } => "algorithm-not-allowed",
            Self::AlgorithmRetired { .. } => "algorithm-retired",
            Self::Signature(error) => signature_name(error),
            Self::KeyNotFound { .. } => "key-not-found",
            Self::TokenUnsupported { .. } => "token-unsupported",
            Self::KeyNotDerived => "key-not-derived",
            Self::NotInConversation => "not-in-conversation",
            Self::OperationUnknown { .. } => "operation-unknown",
            Self::OperationUnclear { .. } => "operation-unclear",
            Self::OperationMismatch { .. } => "operation-mismatch",
            Self::ContextUnknown { .. } => "context-unknown",
            Self::ContextExpired { .. } => "context-expired",
            Self::ConfirmationMissing => "confirmation-missing",
            Self::ConfirmationMismatch => "confirmation-mismatch",
            Self::EndorsementMissing => "endorsement-missing",
            Self::PartMissing { .. } => "part-missing",
            Self::LayoutViolated { .. } => "layout-violated",
            Self::Untrusted(error) => error.name(),
            Self::Reflected => "reflected",
            Self::KeyMisused { .. } => "key-misused",
            Self::Encryption(error) => encryption_name(error),
            Self::Unsigned { .. } => "unsigned",
            Self::SignedElsewhere { .. } => "signed-elsewhere",
            Self::Unencrypted { .. } => "unencrypted",
            Self::WrongOrder { .. } => "wrong-order",
            Self::Canonicalization(_) => "too-large",
            Self::Replayed => "replayed",
            Self::ReplayUnknown { .. } => "replay-unknown",
            Self::ContextsUnavailable { .. } => "contexts-unavailable",
        }
    }

    /// What the operator might look at first, where there is something to say.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self.cause() {
            Self::TimestampExpired { .. } | Self::TimestampInFuture { .. } => {
                "compare the clocks of both hosts"
            }
            Self::Signature(SignatureError::DigestMismatch { .. }) => {
                "the referenced element was changed after it was signed: look for a proxy or library that re-indents or re-serializes"
            }
            Self::Signature(SignatureError::ValueMismatch { .. }) => {
                "the key is another than the signer's, or `SignedInfo` was changed after it was signed"
            }
            Self::Unsigned { .. } => {
                "the element that was signed is not the one in this place: compare `signed` in both policies"
            }
            Self::AlgorithmNotAllowed { .. } => {
                "name the algorithm in `algorithms`, or ask the peer for one of the accepted ones"
            }
            Self::KeyNotFound { .. } => {
                "the message names a key that is neither in it nor in the configuration (`peer`, `trust.pinned`, `identity`)"
            }
            Self::HeaderNotVerified { .. } => "add the header to `signed`, in both policies",
            Self::ContextUnknown { .. } => {
                "the conversation was cancelled, or the node that knew it is gone: a shared store keeps conversations over restarts"
            }
            Self::OperationUnclear { .. } => {
                "let the client send `SOAPAction` or `wsa:Action`; for a single message, name its operation in `policy_subject`"
            }
            _ => return None,
        })
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Envelope(error) => error.fmt(out),
            Self::SecurityMissing => {
                out.write_str("expected a `wsse:Security` header, found none for this actor")
            }
            Self::SecurityDuplicated => {
                out.write_str("expected one `wsse:Security` header for this actor, found more")
            }
            Self::SecurityUnexpected => out.write_str(
                "a `wsse:Security` header must be understood, and the plan has no security",
            ),
            Self::HeaderNotVerified { header } => {
                write!(
                    out,
                    "header `{header}` must be understood, and no signature covers it"
                )
            }
            Self::ElementUnexpected { element } => {
                write!(
                    out,
                    "the plan has no use for `{element}` in `wsse:Security`"
                )
            }
            Self::Malformed { element, problem } => write!(out, "`{element}`: {problem}"),
            Self::TooMany { what, limit } => write!(out, "more than {limit} {what} in one message"),
            Self::TimestampMissing => out.write_str("expected a `wsu:Timestamp`, found none"),
            Self::TimestampDuplicated => out.write_str("expected one `wsu:Timestamp`, found more"),
            Self::TimestampExpired { expired, now, skew } => write!(
                out,
                "the message expired {} s ago, at {expired} (clock skew allowed: {skew} s)",
                now.as_second() - expired.as_second()
            ),
            Self::TimestampInFuture { created, now, skew } => write!(
                out,
                "the message was created {} s in the future, at {created} (clock skew allowed: {skew} s)",
                created.as_second() - now.as_second()
            ),
            Self::UsernameMissing => out.write_str("expected a `wsse:UsernameToken`, found none"),
            Self::PasswordKindNotAllowed { found } => {
                write!(out, "the plan does not accept a password of type `{found}`")
            }
            Self::AuthenticationFailed { user } => {
                write!(out, "unknown user or wrong password for `{user}`")
            }
            Self::SignatureMissing => out.write_str("expected a `ds:Signature`, found none"),
            Self::AlgorithmNotAllowed {
                purpose,
                found,
                allowed,
            } => {
                write!(
                    out,
                    "{purpose} algorithm `{found}` is not allowed (allowed: {allowed})"
                )
            }
            Self::AlgorithmRetired { algorithm, since } => {
                write!(
                    out,
                    "`{algorithm}` is not accepted from this peer any more, since {since}"
                )
            }
            Self::Signature(error) => error.fmt(out),
            Self::KeyNotFound { reference } => write!(out, "no key answers to {reference}"),
            Self::TokenUnsupported { found } => {
                write!(out, "token or key reference not accepted: {found}")
            }
            Self::KeyNotDerived => out.write_str("expected a derived key, found a key used as it is"),
            Self::ContextUnknown { name } => write!(out, "{name} is not known to this endpoint"),
            Self::ContextExpired { name, expired } => write!(out, "{name} expired at {expired}"),
            Self::NotInConversation => out.write_str(
                "expected a message in a conversation; one that is secured as its bootstrap may only ask for a token",
            ),
            Self::OperationUnknown { found } => {
                write!(out, "expected an operation of the policy, found `{found}`")
            }
            Self::OperationUnclear { problem } => {
                write!(out, "operations have policies of their own, and which of them applies is not clear: {problem}")
            }
            Self::OperationMismatch { expected, found } => {
                write!(out, "expected one operation, {expected}, found {found}")
            }
            Self::ConfirmationMissing => {
                out.write_str("expected the answer to confirm the signatures of its request, found no `wsse11:SignatureConfirmation`")
            }
            Self::ConfirmationMismatch => {
                out.write_str("the answer confirms other signatures than those of its request")
            }
            Self::EndorsementMissing => {
                out.write_str("expected one signature over the message's signature, found none or another one beside it")
            }
            Self::PartMissing { part } => write!(out, "expected `{part}` in the message, found none"),
            Self::LayoutViolated { problem } => out.write_str(problem),
            Self::Untrusted(error) => error.fmt(out),
            Self::Reflected => {
                out.write_str("the message is signed with our own key: it was sent back to us")
            }
            Self::KeyMisused { problem } => out.write_str(problem),
            Self::Encryption(error) => error.fmt(out),
            Self::Unsigned { part } => write!(
                out,
                "expected `{part}` to be signed; no accepted signature covers it"
            ),
            Self::SignedElsewhere { element } => write!(
                out,
                "`{element}` is signed and stands neither in the Body nor as a header block"
            ),
            Self::Unencrypted { part } => {
                write!(out, "expected `{part}` to be encrypted; it was not")
            }
            Self::WrongOrder { part } => {
                write!(
                    out,
                    "`{part}` is signed and encrypted in the order that the plan does not accept"
                )
            }
            Self::AfterDecryption(cause) => cause.fmt(out),
            Self::Canonicalization(error) => error.fmt(out),
            Self::Replayed => out.write_str("the message was seen before"),
            Self::ReplayUnknown { problem } => {
                write!(out, "the replay cache cannot tell: {problem}")
            }
            Self::ContextsUnavailable { problem } => out.write_str(problem),
        }
    }
}

fn xml_name(problem: &Problem) -> &'static str {
    match problem {
        Problem::Doctype => "dtd",
        Problem::TooMany {
            limit: Limit::Depth,
            ..
        } => "too-deep",
        Problem::TooMany {
            limit: Limit::Message,
            ..
        } => "too-large",
        Problem::TooMany { .. } => "too-many",
        Problem::MalformedEncoding { .. }
        | Problem::WrongEncoding { .. }
        | Problem::UnsupportedEncoding { .. } => "malformed-encoding",
        _ => "not-well-formed",
    }
}

fn signature_name(error: &SignatureError) -> &'static str {
    match error {
        SignatureError::Structure(_) | SignatureError::Malformed { .. } => "malformed",
        SignatureError::UnknownAlgorithm { .. } => "algorithm-not-allowed",
        SignatureError::TransformRefused { .. } | SignatureError::TransformOrder { .. } => {
            "transform-not-allowed"
        }
        SignatureError::TooMany { .. } => "too-many",
        SignatureError::ExternalReference { .. } | SignatureError::NoUri => "external-reference",
        SignatureError::NotFound { .. } => "reference-not-found",
        SignatureError::DuplicateId { .. } => "duplicate-id",
        SignatureError::DigestMismatch { .. } => "digest-mismatch",
        SignatureError::ValueMismatch { .. } => "signature-mismatch",
        SignatureError::Crypto(_) => "key-misused",
        SignatureError::HmacLength { .. } => "hmac-truncated",
        _ => "signature-invalid",
    }
}

fn encryption_name(error: &EncryptionError) -> &'static str {
    match error {
        EncryptionError::Failed => "decryption-failed",
        EncryptionError::UnknownAlgorithm { .. } => "algorithm-not-allowed",
        EncryptionError::TooMany { .. } => "too-many",
        EncryptionError::CipherReference { .. } => "external-reference",
        _ => "malformed",
    }
}

impl std::error::Error for Rejected {}

impl From<SignatureError> for Rejected {
    fn from(error: SignatureError) -> Self {
        Self::Signature(error)
    }
}

impl From<EncryptionError> for Rejected {
    fn from(error: EncryptionError) -> Self {
        Self::Encryption(error)
    }
}

impl From<EnvelopeError> for Rejected {
    fn from(error: EnvelopeError) -> Self {
        Self::Envelope(error)
    }
}

impl From<TrustError> for Rejected {
    fn from(error: TrustError) -> Self {
        Self::Untrusted(error)
    }
}
