//! Why a message cannot be secured.

use std::fmt;

use jiff::Timestamp;
use soapstone_crypto::{CryptoError, KeyKind};
use soapstone_xml::C14nError;

use crate::envelope_error::EnvelopeError;
use crate::part::Part;

/// Why a message cannot be secured. Always our own side's matter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecureError {
    /// The bytes are not an acceptable SOAP envelope.
    Envelope(EnvelopeError),
    /// The message has a `wsse:Security` header for this actor already.
    AlreadySecured,
    /// The plan names an element by id, and the message has no such element.
    PartMissing {
        /// The part.
        part: Part,
    },
    /// A header block is protected for a node, and addressed to one that the message reaches
    /// before, or to none that is known: that one takes it out.
    TakenOutBefore {
        /// The header block.
        part: Part,
        /// Whom it is addressed to.
        actor: String,
    },
    /// Messages have addressing headers, and nothing says where this one goes.
    DestinationUnknown,
    /// Messages have addressing headers, and nothing says what this one asks for.
    ActionUnknown,
    /// The message is of no operation that its sender knows.
    OperationUnknown {
        /// What its Body holds.
        found: String,
    },
    /// The sender treats operations in different ways, and cannot tell which of them the message is
    /// of.
    OperationUnclear {
        /// What stands in the way.
        problem: &'static str,
    },
    /// The message asks for a token. In a conversation its host alone does that: whoever wrote the
    /// message would have what becomes of the context.
    TokenRequest,
    /// The plan answers with a key or to a signer of the request, and the request had none.
    RequestKeyMissing,
    /// A signature would cover nothing: the message has none of the parts that are to be signed.
    NothingToSign,
    /// The plan uses a key that it was not compiled with.
    KeyMissing,
    /// The suite has no way to encrypt a session key to the certificate that signed the request.
    RecipientUnfit {
        /// Kind of the certificate's key.
        key: KeyKind,
        /// The suite's name.
        suite: String,
    },
    /// The plan has messages carry an assertion, and was given none.
    AssertionMissing,
    /// The plan protects messages with the symmetric key of an assertion's holder, and was given
    /// none.
    ProofKeyMissing,
    /// The plan takes an assertion out of the message, and it is none that could be sent.
    AssertionUnfit {
        /// Why.
        problem: String,
    },
    /// The key that signs is not that of the assertion's holder, and the signature is to name the
    /// assertion.
    NotTheHolder,
    /// The plan speaks in a conversation, and was given no security context.
    ContextMissing,
    /// Keys are to be derived from the password of a user, and there is none: the plan's keys have
    /// none, or the request that is answered was secured by nobody's password.
    UserMissing,
    /// The security context has expired.
    ContextExpired {
        /// When.
        expired: Timestamp,
    },
    /// The plan uses a Kerberos token, and was given none.
    KerberosMissing,
    /// The ticket of the Kerberos token has ended.
    KerberosExpired {
        /// When.
        expired: Timestamp,
    },
    /// No Kerberos token could be made.
    KerberosUnavailable {
        /// Why.
        problem: String,
        /// Whether another try may succeed.
        is_temporary: bool,
    },
    /// The plan uses a weak algorithm whose time is over.
    AlgorithmRetired {
        /// Short name.
        algorithm: &'static str,
        /// Since when.
        since: Timestamp,
    },
    /// An element of the Body is to be signed by itself, and cannot be.
    InnerSignature {
        /// Expanded name of the element.
        element: String,
        /// Why.
        problem: String,
    },
    /// An element of the Body is to be encrypted by itself, and cannot be.
    InnerEncryption {
        /// Expanded name of the element.
        element: String,
        /// Why.
        problem: String,
    },
    /// The plan cannot protect attachments.
    AttachmentsUnexpected {
        /// Why.
        problem: &'static str,
    },
    /// An attachment has no canonical form that can be signed.
    AttachmentUnfit {
        /// Its Content-ID.
        id: String,
        /// Why.
        problem: String,
    },
    /// What is to be signed has no canonical form within the limits.
    Canonicalization(C14nError),
    /// A cryptographic operation failed.
    Crypto(CryptoError),
}

impl SecureError {
    /// Whether the message may be right, and this side cannot secure it now: a private key is held
    /// elsewhere and is away.
    pub fn is_temporary(&self) -> bool {
        matches!(
            self,
            Self::Crypto(CryptoError::KeyUnavailable { .. })
                | Self::KerberosUnavailable {
                    is_temporary: true,
                    ..
                }
        )
    }
}

impl fmt::Display for SecureError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Envelope(error) => error.fmt(out),
            Self::AlreadySecured => {
                out.write_str("the message has a `wsse:Security` header for this actor already")
            }
            Self::PartMissing { part } => write!(
                out,
                "expected `{part}` in the message, found no such element"
            ),
            Self::TakenOutBefore { part, actor } => write!(
                out,
                "`{part}` is addressed to `{actor}`, which takes it out before the message reaches the node that it is protected for"
            ),
            Self::DestinationUnknown => out.write_str(
                "messages have addressing headers, and nothing says the address for `wsa:To`",
            ),
            Self::ActionUnknown => out.write_str(
                "messages have addressing headers, and nothing says the `wsa:Action`: the Body is empty, there is no `SOAPAction` (SOAP 1.2: `action` of the \
                 media type), and no WSDL says that of a sole operation; have the client send it, or say addressing = { action = \"…\" }",
            ),
            Self::OperationUnknown { found } => {
                write!(out, "expected an operation of the policy, found `{found}`")
            }
            Self::OperationUnclear { problem } => write!(
                out,
                "operations have policies of their own, and which of them applies is not clear: {problem}"
            ),
            Self::TokenRequest => out.write_str(
                "expected a message of an application, found a request for a token: in a conversation nobody but its host asks for them",
            ),
            Self::RequestKeyMissing => out.write_str(
                "the answer uses a key of its request, and the request left none behind",
            ),
            Self::NothingToSign => out.write_str(
                "expected something of what is to be signed in the message, found none of it",
            ),
            Self::KeyMissing => out.write_str("the plan uses a key that it was not compiled with"),
            Self::RecipientUnfit { key, suite } => write!(
                out,
                "suite `{suite}` names no key transport and no key agreement for the certificate that signed the request, whose key is {key}"
            ),
            Self::AssertionMissing => {
                out.write_str("the message is to carry an assertion, and none is at hand")
            }
            Self::ProofKeyMissing => out.write_str(
                "the message is to be protected with the proof key of an assertion, and none is at hand",
            ),
            Self::AssertionUnfit { problem } => {
                write!(out, "the assertion in the header cannot be sent: {problem}")
            }
            Self::NotTheHolder => out.write_str(
                "expected a private key of the assertion's holder, found another one",
            ),
            Self::UserMissing => out.write_str(
                "keys are to be derived from a user's password, and there is no user",
            ),
            Self::ContextMissing => out.write_str(
                "the message belongs to a conversation, and no security context is at hand",
            ),
            Self::KerberosMissing => out.write_str("messages have a Kerberos token, and there is none"),
            Self::KerberosExpired { expired } => {
                write!(out, "the ticket of the Kerberos token ended at {expired}")
            }
            Self::KerberosUnavailable { problem, .. } => {
                write!(out, "no Kerberos token: {problem}")
            }
            Self::ContextExpired { expired } => {
                write!(out, "the security context expired at {expired}")
            }
            Self::AlgorithmRetired { algorithm, since } => {
                write!(
                    out,
                    "`{algorithm}` is not to be used with this peer any more, since {since}"
                )
            }
            Self::InnerSignature { element, problem } => {
                write!(out, "`{element}` is to be signed by itself: {problem}")
            }
            Self::InnerEncryption { element, problem } => {
                write!(out, "`{element}` is to be encrypted by itself: {problem}")
            }
            Self::AttachmentsUnexpected { problem } => {
                write!(out, "the message has attachments: {problem}")
            }
            Self::AttachmentUnfit { id, problem } => write!(out, "attachment `{id}`: {problem}"),
            Self::Canonicalization(error) => error.fmt(out),
            Self::Crypto(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for SecureError {}

impl From<EnvelopeError> for SecureError {
    fn from(error: EnvelopeError) -> Self {
        Self::Envelope(error)
    }
}

impl From<CryptoError> for SecureError {
    fn from(error: CryptoError) -> Self {
        Self::Crypto(error)
    }
}
