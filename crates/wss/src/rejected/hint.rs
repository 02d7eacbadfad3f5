//! What the operator of a refusing endpoint might look at first.
//!
//! The one rule: a hint names what can be done, by the keys of the configuration where there are
//! some; it repeats nothing of what the sentence says. `docs/debug-a-signature.md` says more of
//! each.

use soapstone_crypto::TrustError;
use soapstone_xmlsec::dsig::SignatureError;
use soapstone_xmlsec::enc::EncryptionError;

use super::{BEHIND_ITS_USER, Rejected};
use crate::envelope_error::EnvelopeError;
use crate::names::WSSE;

impl Rejected {
    /// What the operator might look at first, where there is something to say.
    #[expect(
        clippy::too_many_lines,
        reason = "one arm for each reason that has a hint"
    )]
    pub fn hint(&self) -> Option<&'static str> {
        let cause = self.cause();
        if let Some(hint) = cause.hint_of_assertion() {
            return Some(hint);
        }
        Some(match cause {
            Self::Envelope(EnvelopeError::DuplicateId(_)) => {
                "a library that copies elements with their ids, or a wrapping attack"
            }
            Self::Envelope(EnvelopeError::NotXml { .. }) => {
                "have the peer send the envelope alone, in UTF-8 or in UTF-16 with a byte order mark; of a message of several parts open the first"
            }
            Self::SecurityMissing => {
                "the peer secures nothing, or somebody took its header out on the way"
            }
            Self::SecurityForOthers { actor: Some(_) } => {
                "where this endpoint is meant, name it as `actor` in [security]; or have the peer address its header to nobody in particular"
            }
            Self::SecurityForOthers { actor: None } => {
                "leave `actor` out of [security], or have the peer address its header to this endpoint"
            }
            Self::SecurityOfNamespace { .. } => {
                "have the peer send WS-Security of 2004: http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"
            }
            Self::SecurityOfDraft => {
                "for tokens of users say `username_token = { accept = [\"2002/07\"] }`; or have the peer send those of 2004"
            }
            Self::SecurityUnexpected => {
                "name the mechanism that the peer uses; of answers that have nothing but a Timestamp: answers = { mechanism = \"timestamp\" }"
            }
            Self::SecurityDuplicated => "two stacks secured the message, one after the other",
            Self::ElementUnexpected { .. } => "compare `mechanism` on both sides",
            Self::TimestampMissing => {
                "have the peer send a `wsu:Timestamp`, or set `timestamp = false`"
            }
            Self::TimestampExpired { .. } => {
                "compare the clocks of both hosts; for a captured message set `time` to when it was sent"
            }
            Self::TimestampInFuture { .. } => {
                "compare the clocks of both hosts; a local time written as UTC is hours off"
            }
            Self::ExpiresMissing => {
                "have the peer send `wsu:Expires`, or leave `require_expires` out of `timestamp`"
            }
            Self::DestinationMismatch { .. } => {
                "add the address to `to` in `addressing`, as the peer writes it; or the message is for another endpoint"
            }
            Self::ActionMismatch { .. } => {
                "a client that writes another `SOAPAction` than `wsa:Action`, or somebody who changed the header on the way"
            }
            Self::ProcessingInstruction { .. } => {
                "SOAP has no processing instructions; `processing_instructions = \"allow\"` passes them on"
            }
            Self::Replayed => "a peer that tries again has to secure the message anew",
            Self::CancellationsUsed { .. } => {
                "the requester waits until some of them end; or give the store of `replay` more `capacity`"
            }
            Self::KeyTriedTooOften { .. } => {
                "somebody tries a captured key, or one partner's messages are all refused for another reason: see the refusals before"
            }
            Self::AuthenticationFailed { .. } => {
                "digests are over the nonce's bytes (not its base64), `Created` as written, and the password in UTF-8"
            }
            Self::PasswordKindNotAllowed { .. } => {
                "set `password` to \"text\", \"digest\" or \"none\", as the peer sends it; a `Type` like `wsse:PasswordText` needs `username_token = { accept = [\"qualified-types\"] }`"
            }
            Self::SignatureMissing | Self::Unencrypted { .. } => {
                "compare `mechanism`, `signed` and `encrypted` with what the peer does"
            }
            Self::Signature(SignatureError::DigestMismatch { .. }) => {
                "the referenced element was changed after it was signed: look for a proxy or library that re-indents or re-serializes; where it is encrypted as well, exchange `sign-encrypt` and `encrypt-sign`"
            }
            Self::Signature(SignatureError::ValueMismatch { .. }) => {
                "the key is another than the signer's, or `SignedInfo` was changed after it was signed"
            }
            Self::Signature(SignatureError::NotFound { .. }) => {
                "the element was taken out on the way, or carries its id in an attribute that is not known as one: `ids = [\"Id\"]` makes it one"
            }
            Self::CipherTextNotFound { .. } => {
                "the cipher text was taken out on the way, or the peer lists an id that it does not write"
            }
            Self::Unsigned { .. } => {
                "the peer does not sign it, or signs another element: add it to `signed` there, or take it out of `signed` here"
            }
            Self::Unendorsed { .. } => {
                "compare the `sp:SignedParts` inside of the endorsing supporting tokens in both policies"
            }
            Self::WrongOrder { .. } => "exchange `sign-encrypt` and `encrypt-sign`, on one side",
            Self::AlgorithmNotAllowed { .. } => {
                "name the algorithm in `algorithms`, or ask the peer for one of the accepted ones"
            }
            Self::AlgorithmRetired { .. } => {
                "the peer has not changed over by the date in `allow_weak_until`"
            }
            Self::KeyNotFound { reference } if reference.ends_with(BEHIND_ITS_USER) => {
                "have the peer write the token in front of what uses it"
            }
            Self::KeyNotFound { .. } => {
                "the message names a key that is neither in it nor in the configuration (`peer`, `trust.pinned`, `identity`)"
            }
            Self::TokenUnsupported { found } if names_another_document(found) => {
                "a reference to a token of the message begins with `#`: have the peer write it so"
            }
            Self::Untrusted(error) => return untrusted(error),
            Self::Encryption(EncryptionError::KeyUnavailable { .. }) => {
                "look at the token that holds the private key; the next message tries it again"
            }
            Self::Encryption(EncryptionError::Failed) => {
                "the peer encrypts to another certificate than that of `identity`, or the cipher text was changed on the way"
            }
            Self::InnerSignature { .. } => {
                "compare `inner` with what the peer signs by itself; the command xml verify judges such a signature alone"
            }
            Self::InnerEncryption { .. } => {
                "compare `inner.encryption` with what the peer encrypts by itself, and whether it signs before or after"
            }
            Self::Attachment { problem, .. } => return problem.hint(),
            Self::Undeciphered { .. } => {
                "somebody took a reference out of the `xenc:ReferenceList`, or the application has cipher text of its own: that wants the whole Body \
                 encrypted, or signatures before encryption"
            }
            Self::CipherTextUnexpected { .. } => {
                "somebody added a reference to the `xenc:ReferenceList`, or the peer encrypts more than `encrypted` names: name it there"
            }
            Self::ShortCipherText { .. } => {
                "take a suite with GCM, or `sign-encrypt`; or have the peer sign the `xenc:EncryptedKey` as well, as our messages do; `allow_short_cipher_text = true` takes the risk"
            }
            Self::HeaderNotUnderstood { header } if is_security(header) => {
                "the header is for whichever node comes next: where this endpoint is meant, say `actor = \"next\"` in [security]"
            }
            Self::HeaderNotUnderstood { .. } => {
                "name the header among the parts that the policy protects, or have the sender address it to another node"
            }
            Self::SignatureWouldBreak { .. } => {
                "have the sender sign for later nodes before he encrypts for this one, and nothing that is addressed to this one; or leave `reinsert` out"
            }
            Self::HeaderNotVerified { .. } => "add the header to `signed`, in both policies",
            Self::ContextUnknown { .. } => {
                "the conversation was cancelled, or the node that knew it is gone: a shared store keeps conversations over restarts"
            }
            Self::ContextUnreadable { .. } => {
                "somebody else writes to the store, or it is damaged: look at who may write to it; the client makes another context"
            }
            Self::KerberosRefused { .. } => {
                "compare principal, realm and keytab (klist -ke) with the ticket of the client (klist -e), and the clocks of both"
            }
            Self::KerberosUnknown => {
                "the client names a token of an earlier message, and this node does not know it: have it send the token again"
            }
            Self::KerberosUnavailable { .. } => {
                "look for MIT's GSS library (Debian: libgssapi-krb5-2) and the keytab"
            }
            Self::AssertionUnavailable { .. } => {
                "compare `saml.by_reference` with where the assertion stands, and ask the authority for it by hand"
            }
            Self::ContextExpired { .. } => {
                "compare the clocks of both hosts; a client that does not renew wants a longer `conversations.lifetime`"
            }
            Self::NotInConversation => {
                "the client has to establish a security context before it sends anything else"
            }
            Self::KeyAmbiguous { .. } => {
                "certificates of different keys have this name: have the client send its certificate (`key_reference = \"direct\"`), or name it by its thumbprint"
            }
            Self::KeyNotDerived => "the client's policy lacks `sp:RequireDerivedKeys`",
            Self::ConfirmationMissing => {
                "the service does not know `sp:RequireSignatureConfirmation`"
            }
            Self::AnotherRequestAnswered { found: Some(_), .. } => {
                "answers are mixed up on the way, or somebody plays them; or the client gives one `wsa:MessageID` to several requests"
            }
            Self::AnotherRequestAnswered {
                found: None,
                is_of_other_version: true,
                ..
            } => {
                "have requests written in the version whose headers the policy has signed: `version` in `addressing`, or the client's own headers"
            }
            Self::AnotherRequestAnswered { found: None, .. } => {
                "the service leaves `wsa:RelatesTo` out or unsigned, although the policy speaks of it"
            }
            Self::EndorserRepeated => {
                "the client has one key for all of its endorsing tokens: `same_endorser = true` accepts that"
            }
            Self::EndorsementMissing => "the client's policy lacks `sp:EndorsingSupportingTokens`",
            Self::LayoutViolated { .. } => {
                "an `sp:Layout` of `Lax` fits every order that can be processed"
            }
            Self::ProfileBroken { .. } => {
                "`soapstone lint` shows each place; the route lets such messages in with bsp = \"warn\""
            }
            Self::OperationUnclear { .. } => {
                "let the client send `SOAPAction` or `wsa:Action`; for a single message, name its operation in `policy_subject`"
            }
            Self::Reflected => {
                "a peer that echoes, or an attacker; where both sides share one certificate on purpose, name it as `peer` or pin it"
            }
            _ => return None,
        })
    }
}

impl Rejected {
    /// What is to be looked at where an assertion is refused.
    fn hint_of_assertion(&self) -> Option<&'static str> {
        Some(match self {
            Self::AssertionMissing => {
                "the peer has no assertion, or sends it outside of the `wsse:Security` header"
            }
            Self::AssertionUnsigned => {
                "the issuer does not sign; what an attester alone answers for wants `signed = false` at the issuer, and sender-vouches"
            }
            Self::IssuerUnknown { .. } => {
                "name the issuer in `saml.issuers`, as it writes itself, with certificates of its own"
            }
            Self::AssertionExpired { .. } => {
                "the client keeps an assertion for too long, or the clocks of issuer and service differ: see `saml.skew`"
            }
            Self::AssertionCancelled => {
                "its subject cancelled it, or the holder of its key: the client asks for another one"
            }
            Self::AssertionInFuture { .. } => "compare the clocks of the issuer and of this host",
            Self::AudienceMismatch { .. } => {
                "add the address or name to `saml.audience`, as the issuer writes it; or the assertion is for another service"
            }
            Self::AssertionUnconfirmed { .. } => {
                "compare `saml.confirmation` with what the issuer writes, and with what the client signs"
            }
            _ => return None,
        })
    }
}

/// Whether a reference that is not accepted is a relative URI, as some libraries write the id of
/// their token.
fn names_another_document(found: &str) -> bool {
    let uri = found.strip_prefix("a reference to ");
    uri.is_some_and(|uri| !uri.contains([':', '#', ' ']))
}

/// Whether a header block of this name is a `wsse:Security`.
fn is_security(header: &str) -> bool {
    let rest = header
        .strip_prefix('{')
        .and_then(|it| it.strip_prefix(WSSE));
    rest == Some("}Security")
}

fn untrusted(error: &TrustError) -> Option<&'static str> {
    Some(match error {
        TrustError::Untrusted { .. } => {
            "add its authority to `trust.anchors` or the certificate to `trust.pinned`; intermediate certificates must come with the message or be anchors"
        }
        TrustError::Expired { .. } => {
            "renew the certificate; for a captured message set `time` to when it was sent"
        }
        TrustError::NotYetValid { .. } => {
            "compare the clocks of this host and of the certificate's authority; for a captured message set `time` to when it was sent"
        }
        TrustError::SubjectNotAllowed {
            partly: Some(_), ..
        } => {
            "an entry of `trust.subjects` is the whole subject: write it as it stands here, or set `subject_match = \"contains\"`"
        }
        TrustError::SubjectNotAllowed { .. } => {
            "add the subject to `trust.subjects` as it stands here; or the message is for another endpoint"
        }
        TrustError::KeyUsage {
            of_authority: true, ..
        } => {
            "an authority on its path may certify nobody: have the peer's certificate issued by another one"
        }
        TrustError::KeyUsage { .. } | TrustError::ExtendedKeyUsage { .. } => {
            "have the peer sign with a certificate for signatures: the one that it sends may be for encryption, or for TLS"
        }
        TrustError::RevocationUnknown { .. } | TrustError::RevocationListExpired { .. } => {
            "fetch the issuer's current list: files of `crls` are read again when they change"
        }
        _ => return None,
    })
}
