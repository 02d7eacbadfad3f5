//! What the operator is told of a refusal: a stable name, and a sentence with what was expected and
//! what was found.

use std::fmt;

use soapstone_crypto::CryptoError;
use soapstone_xml::{Limit, Problem};
use soapstone_xmlsec::dsig::SignatureError;
use soapstone_xmlsec::enc::EncryptionError;

use super::Rejected;
use crate::envelope_error::EnvelopeError;

/// The one name of everything that fails from the first decryption on.
const DECRYPTION_FAILED: &str = "decryption-failed";

impl Rejected {
    /// Stable name of the reason, for logs, metrics and `--json`.
    pub fn name(&self) -> &'static str {
        match self {
            // One name for all of them: metrics tell strangers what answers do not.
            Self::AfterDecryption(_) => DECRYPTION_FAILED,
            Self::Envelope(error) => match error {
                EnvelopeError::Xml(error) => xml_name(&error.problem),
                EnvelopeError::DuplicateId(_) => "duplicate-id",
                EnvelopeError::AttachmentRepeated { .. } => "attachment-repeated",
                EnvelopeError::AttachmentsTooLarge { .. } => "too-large",
                _ => "not-an-envelope",
            },
            Self::SecurityMissing
            | Self::SecurityForOthers { .. }
            | Self::SecurityOfNamespace { .. } => "security-missing",
            Self::SecurityDuplicated => "security-duplicated",
            Self::SecurityUnexpected => "security-unexpected",
            Self::SecurityOfDraft => "security-of-draft",
            Self::HeaderNotVerified { .. } => "header-not-verified",
            Self::HeaderNotUnderstood { .. } => "header-not-understood",
            Self::SignatureWouldBreak { .. } => "signature-would-break",
            Self::NotTheReceiver => "not-the-receiver",
            Self::ElementUnexpected { .. } => "element-unexpected",
            Self::Malformed { .. } => "malformed",
            Self::TooMany { .. } => "too-many",
            Self::TimestampMissing => "timestamp-missing",
            Self::TimestampDuplicated => "timestamp-duplicated",
            Self::TimestampExpired { .. } => "timestamp-expired",
            Self::TimestampInFuture { .. } => "timestamp-in-future",
            Self::ExpiresMissing => "expires-missing",
            Self::DestinationMismatch { .. } => "destination-mismatch",
            Self::ActionMismatch { .. } => "action-mismatch",
            Self::ProfileBroken { .. } => "profile-broken",
            Self::ProcessingInstruction { .. } => "processing-instruction",
            Self::UsernameMissing => "username-missing",
            Self::PasswordKindNotAllowed { .. } => "password-kind-not-allowed",
            Self::AuthenticationFailed { .. } => "authentication-failed",
            Self::AssertionMissing => "assertion-missing",
            Self::AssertionUnsigned => "assertion-unsigned",
            Self::IssuerUnknown { .. } => "issuer-unknown",
            Self::AssertionExpired { .. } => "assertion-expired",
            Self::AssertionCancelled => "assertion-cancelled",
            Self::AssertionInFuture { .. } => "assertion-in-future",
            Self::AudienceMismatch { .. } => "audience-mismatch",
            Self::ConditionUnknown { .. } => "condition-unknown",
            Self::AssertionUnconfirmed { .. } => "assertion-unconfirmed",
            Self::SignatureMissing => "signature-missing",
            Self::AlgorithmNotAllowed { .. } => "algorithm-not-allowed",
            Self::AlgorithmRetired { .. } => "algorithm-retired",
            Self::Signature(error) => signature_name(error),
            Self::KeyNotFound { .. } => "key-not-found",
            Self::CipherTextNotFound { .. } => "reference-not-found",
            Self::KeyAmbiguous { .. } => "key-ambiguous",
            Self::TokenUnsupported { .. } => "token-unsupported",
            Self::KeyNotDerived => "key-not-derived",
            Self::NotInConversation => "not-in-conversation",
            Self::OperationUnknown { .. } => "operation-unknown",
            Self::OperationUnclear { .. } => "operation-unclear",
            Self::OperationMismatch { .. } => "operation-mismatch",
            Self::ContextUnknown { .. } => "context-unknown",
            Self::ContextUnreadable { .. } => "context-unreadable",
            Self::ContextExpired { .. } => "context-expired",
            Self::KerberosMissing => "kerberos-missing",
            Self::KerberosRefused { .. } => "kerberos-refused",
            Self::KerberosUnknown => "kerberos-unknown",
            Self::KerberosExpired { .. } => "kerberos-expired",
            Self::KerberosUnavailable { .. } => "kerberos-unavailable",
            Self::AssertionUnavailable { .. } => "assertion-unavailable",
            Self::ConfirmationMissing => "confirmation-missing",
            Self::ConfirmationMismatch => "confirmation-mismatch",
            Self::AnotherRequestAnswered { .. } => "answer-to-another-request",
            Self::EndorsementMissing => "endorsement-missing",
            Self::EndorserRepeated => "endorser-repeated",
            Self::PartMissing { .. } => "part-missing",
            Self::LayoutViolated { .. } => "layout-violated",
            Self::Untrusted(error) => error.name(),
            Self::Reflected => "reflected",
            Self::KeyMisused { .. } => "key-misused",
            Self::Encryption(error) => encryption_name(error),
            Self::Attachment { problem, .. } => problem.name(),
            Self::Unsigned { .. } => "unsigned",
            Self::Unendorsed { .. } => "unendorsed",
            Self::SignedElsewhere { .. } => "signed-elsewhere",
            Self::InnerSignature { .. } => "inner-signature",
            Self::InnerEncryption { .. } => "inner-encryption",
            Self::Undeciphered { .. } => "undeciphered",
            Self::CipherTextUnexpected { .. } => "cipher-text-unexpected",
            Self::ShortCipherText { .. } => "short-cipher-text",
            Self::Unencrypted { .. } => "unencrypted",
            Self::WrongOrder { .. } => "wrong-order",
            Self::Canonicalization(_) => "too-large",
            Self::Replayed => "replayed",
            Self::KeyTriedTooOften { .. } => "key-tried-too-often",
            Self::CancellationsUsed { .. } => "cancellations-used",
            Self::ReplayUnknown { .. } => "replay-unknown",
            Self::ContextsUnavailable { .. } => "contexts-unavailable",
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
        SignatureError::Crypto(CryptoError::MacLength { .. })
        | SignatureError::HmacLength { .. } => "hmac-truncated",
        SignatureError::Crypto(_) => "key-misused",
        _ => "signature-invalid",
    }
}

fn encryption_name(error: &EncryptionError) -> &'static str {
    match error {
        EncryptionError::Failed => DECRYPTION_FAILED,
        EncryptionError::KeyUnavailable { .. } => "key-unavailable",
        EncryptionError::UnknownAlgorithm { .. } => "algorithm-not-allowed",
        EncryptionError::TooMany { .. } => "too-many",
        EncryptionError::CipherReference { .. } => "external-reference",
        _ => "malformed",
    }
}

impl fmt::Display for Rejected {
    #[expect(clippy::too_many_lines, reason = "one arm for each reason")]
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Envelope(error) => error.fmt(out),
            Self::SecurityMissing => {
                out.write_str("expected a `wsse:Security` header, found none for this actor")
            }
            Self::SecurityForOthers { actor: Some(actor) } => write!(
                out,
                "expected a `wsse:Security` header for this actor, found one for actor `{actor}`"
            ),
            Self::SecurityForOthers { actor: None } => out.write_str(
                "expected a `wsse:Security` header for this actor, found one without an actor",
            ),
            Self::SecurityOfNamespace { namespace } => write!(
                out,
                "expected a `wsse:Security` header, found `Security` of namespace `{namespace}`"
            ),
            Self::SecurityDuplicated => {
                out.write_str("expected one `wsse:Security` header for this actor, found more")
            }
            Self::SecurityOfDraft => out.write_str(
                "expected a `wsse:Security` header, found one of the draft http://schemas.xmlsoap.org/ws/2002/07/secext",
            ),
            Self::SecurityUnexpected => out.write_str(
                "a `wsse:Security` header must be understood, and the plan has no security",
            ),
            Self::HeaderNotVerified { header } => {
                write!(
                    out,
                    "header `{header}` must be understood, and no signature covers it"
                )
            }
            Self::HeaderNotUnderstood { header } => write!(
                out,
                "header `{header}` is for this node and must be understood, and nothing here understands it"
            ),
            Self::SignatureWouldBreak { element } => write!(
                out,
                "the header of another node refers to `{element}`, which would be taken out or changed here"
            ),
            Self::NotTheReceiver => out.write_str(
                "a message is kept by its last receiver alone, and passed on by an intermediary alone",
            ),
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
            Self::ExpiresMissing => {
                out.write_str("expected `wsu:Expires` in the `wsu:Timestamp`, found none")
            }
            Self::DestinationMismatch { found } => {
                write!(out, "expected `wsa:To` to be an address of this endpoint, found `{found}`")
            }
            Self::ActionMismatch { expected, found } => write!(
                out,
                "expected HTTP to say the action of `wsa:Action`, `{expected}`, found `{found}`"
            ),
            Self::ProcessingInstruction { target } => {
                write!(out, "expected no processing instruction, found one for `{target}`")
            }
            Self::UsernameMissing => out.write_str("expected a `wsse:UsernameToken`, found none"),
            Self::PasswordKindNotAllowed { found } => {
                write!(out, "the plan does not accept a password of type `{found}`")
            }
            Self::AuthenticationFailed { user } => {
                write!(out, "unknown user or wrong password for `{user}`")
            }
            Self::AssertionMissing => out.write_str("expected a `saml:Assertion`, found none"),
            Self::AssertionUnsigned => {
                out.write_str("expected the issuer's signature in the assertion, found none")
            }
            Self::IssuerUnknown { issuer } => {
                write!(out, "expected an assertion of a known issuer, found one of `{issuer}`")
            }
            Self::AssertionExpired { expired, now, skew } => write!(
                out,
                "the assertion, its session or its confirmation ended {} s ago, at {expired} (clock skew allowed: {skew} s)",
                now.as_second() - expired.as_second()
            ),
            Self::AssertionCancelled => {
                out.write_str("the assertion was cancelled at its token service")
            }
            Self::AssertionInFuture { begins, now, skew } => write!(
                out,
                "the assertion begins in {} s, at {begins} (clock skew allowed: {skew} s)",
                begins.as_second() - now.as_second()
            ),
            Self::AudienceMismatch { found } => write!(
                out,
                "expected an assertion for an audience of this endpoint, found one for `{found}`"
            ),
            Self::ConditionUnknown { found } => {
                write!(out, "the assertion has a condition that is not understood, `{found}`")
            }
            Self::AssertionUnconfirmed { problem } => {
                write!(out, "nothing confirms the subject of the assertion: {problem}")
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
            Self::CipherTextNotFound { reference } => {
                write!(
                    out,
                    "no `xenc:EncryptedData` answers to the `DataReference` to `{reference}`"
                )
            }
            Self::KeyAmbiguous { reference } => {
                write!(out, "expected one key, found several for {reference}")
            }
            Self::TokenUnsupported { found } => {
                write!(out, "token or key reference not accepted: {found}")
            }
            Self::KeyNotDerived => out.write_str("expected a derived key, found a key used as it is"),
            Self::ContextUnknown { name } => write!(out, "{name} is not known to this endpoint"),
            Self::ContextUnreadable { name } => write!(
                out,
                "the store has a {name} that was not sealed by one who may"
            ),
            Self::KerberosMissing => out.write_str("expected a Kerberos token, found none"),
            Self::KerberosRefused { problem } => write!(out, "Kerberos: {problem}"),
            Self::KerberosUnknown => out.write_str(
                "the Kerberos token is not known: it was not accepted, or is not that of this message",
            ),
            Self::KerberosExpired { expired } => {
                write!(out, "the ticket of the Kerberos token ended at {expired}")
            }
            Self::KerberosUnavailable { problem } => write!(out, "Kerberos: {problem}"),
            Self::AssertionUnavailable { problem } => {
                write!(out, "the assertion that the message names: {problem}")
            }
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
            Self::ProfileBroken { profile, rules } => write!(
                out,
                "expected a message that keeps {profile}, found breaches of {rules}"
            ),
            Self::ConfirmationMissing => {
                out.write_str("expected the answer to confirm the signatures of its request, found no `wsse11:SignatureConfirmation`")
            }
            Self::ConfirmationMismatch => {
                out.write_str("the answer confirms other signatures than those of its request")
            }
            Self::AnotherRequestAnswered {
                expected,
                found: Some(found),
                ..
            } => write!(
                out,
                "expected an answer to the request `{expected}`, found one whose `wsa:RelatesTo` says `{found}`"
            ),
            Self::AnotherRequestAnswered {
                expected,
                found: None,
                is_of_other_version: true,
            } => write!(
                out,
                "expected an answer to the request `{expected}`, found one whose `wsa:RelatesTo` is of a version of WS-Addressing that the policy does not have signed"
            ),
            Self::AnotherRequestAnswered {
                expected,
                found: None,
                is_of_other_version: false,
            } => write!(
                out,
                "expected an answer to the request `{expected}`, found one that proves no `wsa:RelatesTo`"
            ),
            Self::EndorserRepeated => out.write_str(
                "expected endorsing signatures with different keys, found two with one key",
            ),
            Self::EndorsementMissing => {
                out.write_str("expected one signature over the message's signature, found none or another one beside it")
            }
            Self::PartMissing { part } => write!(out, "expected `{part}` in the message, found none"),
            Self::LayoutViolated { problem } => out.write_str(problem),
            Self::Untrusted(error) => error.fmt(out),
            Self::Reflected => {
                out.write_str("the message is one of ours: it was sent back to us")
            }
            Self::KeyMisused { problem } => out.write_str(problem),
            Self::Encryption(error) => error.fmt(out),
            Self::Attachment { id, problem } => write!(out, "attachment `{id}`: {problem}"),
            Self::Unsigned { part } => write!(
                out,
                "expected `{part}` to be signed; no accepted signature covers it"
            ),
            Self::Unendorsed { part } => write!(
                out,
                "expected `{part}` to be signed by the endorsing signature, too; it does not cover it"
            ),
            Self::SignedElsewhere { element } => write!(
                out,
                "`{element}` is signed and stands neither in the Body nor as a header block that can be read"
            ),
            Self::InnerSignature { element, problem } => {
                write!(out, "the inner signature of `{element}`: {problem}")
            }
            Self::InnerEncryption { element, problem } => {
                write!(out, "the inner encryption of `{element}`: {problem}")
            }
            Self::Undeciphered { part } => write!(
                out,
                "expected `{part}`, where it is in the message, to be listed for decryption; found an `xenc:EncryptedData` that is not, and it may be in that"
            ),
            Self::CipherTextUnexpected { element } => write!(
                out,
                "expected nothing in `{element}` to be listed for decryption but the encrypted parts of the plan; found an `xenc:EncryptedData` that is none of them"
            ),
            Self::ShortCipherText { element, least } => write!(
                out,
                "expected a signature over the `xenc:EncryptedKey` of the cipher text in `{element}`, or {least} bytes of cipher text; found a signature over less cipher text alone, for which another key can be found"
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
            Self::KeyTriedTooOften { tries } => write!(
                out,
                "{tries} messages that ask to decipher with this key were refused, or are being opened: it is not tried again"
            ),
            Self::CancellationsUsed { share } => write!(
                out,
                "the requester has cancelled {share} assertions that have not ended, and no more are remembered of one requester"
            ),
            Self::ReplayUnknown { problem } => {
                write!(out, "the replay cache cannot tell: {problem}")
            }
            Self::ContextsUnavailable { problem } => out.write_str(problem),
        }
    }
}
