//! What the peer is told of a refusal: one coarse code.

use soapstone_xmlsec::dsig::SignatureError;
use soapstone_xmlsec::enc::EncryptionError;

use super::Rejected;
use crate::conversation::ConversationVersion;
use crate::envelope_error::EnvelopeError;

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
    /// The code for the peer.
    pub fn fault(&self) -> FaultCode {
        match self {
            // A profile is judged of what verified; a code of its own would tell that it did.
            // Short cipher text is told as if a signature or a decryption had failed.
            Self::AfterDecryption(_)
            | Self::KeyTriedTooOften { .. }
            | Self::ShortCipherText { .. }
            | Self::ProfileBroken { .. } => FaultCode::FailedCheck,
            Self::Envelope(EnvelopeError::NotAnEnvelope { .. }) => FaultCode::VersionMismatch,
            Self::Envelope(_)
            | Self::Canonicalization(_)
            | Self::OperationUnknown { .. }
            | Self::OperationUnclear { .. } => FaultCode::Sender,
            Self::SecurityUnexpected
            | Self::HeaderNotVerified { .. }
            | Self::HeaderNotUnderstood { .. } => FaultCode::MustUnderstand,
            Self::SecurityMissing
            | Self::SecurityForOthers { .. }
            | Self::SecurityOfNamespace { .. }
            | Self::SecurityOfDraft
            | Self::SecurityDuplicated
            | Self::SignatureWouldBreak { .. }
            | Self::NotTheReceiver
            | Self::ElementUnexpected { .. }
            | Self::Malformed { .. }
            | Self::TooMany { .. }
            | Self::TimestampMissing
            | Self::TimestampDuplicated
            | Self::ExpiresMissing
            | Self::DestinationMismatch { .. }
            | Self::ActionMismatch { .. }
            | Self::ProcessingInstruction { .. }
            | Self::UsernameMissing
            | Self::AssertionMissing
            | Self::KerberosMissing
            | Self::SignatureMissing
            | Self::KeyNotDerived
            | Self::NotInConversation
            | Self::OperationMismatch { .. }
            | Self::ConfirmationMissing
            | Self::ConfirmationMismatch
            | Self::AnotherRequestAnswered { .. }
            | Self::EndorsementMissing
            | Self::EndorserRepeated
            | Self::PartMissing { .. }
            | Self::LayoutViolated { .. }
            | Self::Unsigned { .. }
            | Self::Unendorsed { .. }
            | Self::SignedElsewhere { .. }
            | Self::Attachment { .. }
            | Self::InnerSignature { .. }
            | Self::InnerEncryption { .. }
            | Self::Undeciphered { .. }
            | Self::CipherTextUnexpected { .. }
            | Self::Unencrypted { .. }
            | Self::WrongOrder { .. } => FaultCode::InvalidSecurity,
            Self::TimestampExpired { .. } | Self::TimestampInFuture { .. } => {
                FaultCode::MessageExpired
            }
            Self::PasswordKindNotAllowed { .. } | Self::TokenUnsupported { .. } => {
                FaultCode::UnsupportedSecurityToken
            }
            Self::AuthenticationFailed { .. }
            | Self::KerberosRefused { .. }
            | Self::KerberosExpired { .. }
            | Self::KerberosUnavailable { .. }
            | Self::Replayed => FaultCode::FailedAuthentication,
            Self::AlgorithmNotAllowed { .. } | Self::AlgorithmRetired { .. } => {
                FaultCode::UnsupportedAlgorithm
            }
            Self::KeyNotFound { .. }
            | Self::CipherTextNotFound { .. }
            | Self::KeyAmbiguous { .. }
            | Self::AssertionUnavailable { .. }
            | Self::KerberosUnknown => FaultCode::SecurityTokenUnavailable,
            // Its client begins anew; it could not with a store that is said to be busy.
            Self::ContextUnknown { name } | Self::ContextUnreadable { name } => {
                FaultCode::BadContextToken(name.version)
            }
            Self::ContextExpired { name, .. } => FaultCode::RenewNeeded(name.version),
            Self::Untrusted(_)
            | Self::Reflected
            | Self::KeyMisused { .. }
            | Self::AssertionUnsigned
            | Self::IssuerUnknown { .. }
            | Self::AssertionExpired { .. }
            | Self::AssertionCancelled
            | Self::AssertionInFuture { .. }
            | Self::AudienceMismatch { .. }
            | Self::ConditionUnknown { .. }
            | Self::AssertionUnconfirmed { .. } => FaultCode::InvalidSecurityToken,
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
            Self::CancellationsUsed { .. }
            | Self::ReplayUnknown { .. }
            | Self::ContextsUnavailable { .. } => FaultCode::FailedAuthentication,
        }
    }
}
