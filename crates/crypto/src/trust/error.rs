//! Why a certificate is not trusted.
//!
//! The one rule: each reason names the certificate that it is about, which may be an authority's.

use std::fmt;

use jiff::Timestamp;

use super::answer_error::AnswerError;
use crate::certificate::KeyPurpose;

/// Why a certificate is not trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrustError {
    /// Not pinned, and no path to an anchor.
    Untrusted {
        /// Its subject.
        subject: String,
    },
    /// A certificate is no longer valid.
    Expired {
        /// Whose: the signer's or that of an authority on its path.
        subject: String,
        /// Last moment of validity.
        since: Timestamp,
    },
    /// A certificate is not valid yet.
    NotYetValid {
        /// Whose: the signer's or that of an authority on its path.
        subject: String,
        /// First moment of validity.
        until: Timestamp,
    },
    /// A certificate is on a revocation list.
    Revoked {
        /// Whose: the signer's or that of an authority on its path.
        subject: String,
    },
    /// Revocation lists are configured, and none of them tells about this certificate.
    RevocationUnknown {
        /// The issuer whose list is missing.
        issuer: String,
    },
    /// The revocation list that would tell is out of date, or not valid yet.
    RevocationListExpired {
        /// The issuer of the list.
        issuer: String,
        /// When the next one was due.
        since: Timestamp,
    },
    /// An answer about revocation is demanded, and there is none.
    RevocationUnanswered {
        /// Whose: the signer's or that of an authority on its path.
        subject: String,
        /// Why.
        why: &'static str,
    },
    /// A server of TLS brought an answer about its certificate, and the answer does not count
    /// (RFC 6066 section 8).
    StapledAnswer {
        /// Whose certificate it is about.
        subject: String,
        /// Why it does not count.
        why: AnswerError,
    },
    /// A key is too short.
    WeakKey {
        /// Whose: the signer's or that of an authority on its path.
        subject: String,
        /// Bits found.
        bits: u32,
        /// Fewest bits accepted.
        minimum: u32,
    },
    /// A certificate is signed with an algorithm that is not accepted.
    WeakSignature {
        /// Whose: the signer's or that of an authority on its path.
        subject: String,
        /// The algorithm's name or number.
        algorithm: String,
    },
    /// A certificate is of an old kind that is taken only when the rules say so.
    LegacyCertificate {
        /// Its subject.
        subject: String,
        /// What is old about it.
        what: &'static str,
    },
    /// The certificate restricts the usage of its key, and signatures are not among what it allows;
    /// or an authority on its path may not sign certificates.
    KeyUsage {
        /// Whose: the signer's or that of an authority on its path.
        subject: String,
        /// Whether it is that of an authority.
        of_authority: bool,
        /// The usages that it names.
        found: String,
    },
    /// The purposes that a certificate names do not cover the signing of messages, or are not those
    /// that are asked for.
    ExtendedKeyUsage {
        /// Whose: the signer's or that of an authority on its path.
        subject: String,
        /// The purposes that it names.
        found: Vec<KeyPurpose>,
    },
    /// The certificate is trusted, but nobody with this subject is expected.
    SubjectNotAllowed {
        /// Its subject.
        subject: String,
        /// The expected name that is a part of it, if there is one.
        partly: Option<String>,
        /// The first of the subjects that are expected, and how many there are more.
        expected: String,
    },
    /// There is a path to an anchor, and it breaks a constraint.
    InvalidPath {
        /// Subject of the signer's certificate.
        subject: String,
        /// The constraint.
        reason: String,
    },
}

impl TrustError {
    /// Stable name of the reason, for logs, metrics and `--json`; one for what has one remedy.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Untrusted { .. } | Self::LegacyCertificate { .. } | Self::InvalidPath { .. } => {
                "untrusted"
            }
            Self::Expired { .. } => "certificate-expired",
            Self::NotYetValid { .. } => "certificate-not-yet-valid",
            Self::Revoked { .. } => "certificate-revoked",
            Self::RevocationUnknown { .. }
            | Self::RevocationListExpired { .. }
            | Self::RevocationUnanswered { .. }
            | Self::StapledAnswer { .. } => "revocation-unknown",
            Self::WeakKey { .. } | Self::WeakSignature { .. } => "certificate-weak",
            Self::KeyUsage { .. } | Self::ExtendedKeyUsage { .. } => "key-usage",
            Self::SubjectNotAllowed { .. } => "subject-not-allowed",
        }
    }
}

impl fmt::Display for TrustError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untrusted { subject } => {
                write!(
                    formatter,
                    "the certificate of `{subject}` is neither pinned nor issued under an anchor"
                )
            }
            Self::Expired { subject, since } => {
                write!(
                    formatter,
                    "the certificate of `{subject}` expired at {since}"
                )
            }
            Self::NotYetValid { subject, until } => {
                write!(
                    formatter,
                    "the certificate of `{subject}` is not valid before {until}"
                )
            }
            Self::Revoked { subject } => {
                write!(formatter, "the certificate of `{subject}` has been revoked")
            }
            Self::RevocationUnknown { issuer } => {
                write!(
                    formatter,
                    "no revocation list of `{issuer}` is configured that tells about the certificate"
                )
            }
            Self::RevocationListExpired { issuer, since } => {
                write!(
                    formatter,
                    "the revocation list of `{issuer}` is out of date since {since}"
                )
            }
            Self::RevocationUnanswered { subject, why } => write!(
                formatter,
                "it is not known whether the certificate of `{subject}` was revoked: {why}"
            ),
            Self::StapledAnswer { subject, why } => write!(
                formatter,
                "the answer about the certificate of `{subject}` that came with it does not count: {why}"
            ),
            Self::WeakKey {
                subject,
                bits,
                minimum,
            } => write!(
                formatter,
                "the key of `{subject}` has {bits} bits (fewest accepted: {minimum})"
            ),
            Self::WeakSignature { subject, algorithm } => write!(
                formatter,
                "the certificate of `{subject}` is signed with {algorithm}, which is not accepted"
            ),
            Self::LegacyCertificate { subject, what } => {
                write!(
                    formatter,
                    "the certificate of `{subject}` is {what}, which is not accepted"
                )
            }
            Self::KeyUsage {
                subject,
                of_authority,
                found,
            } => write!(
                formatter,
                "expected {} in the key usage of the certificate of `{subject}`, found {found}",
                match of_authority {
                    true => "`keyCertSign`",
                    false => "`digitalSignature` or `nonRepudiation`",
                }
            ),
            Self::ExtendedKeyUsage { subject, found } if found.is_empty() => write!(
                formatter,
                "the certificate of `{subject}` names no extended key usage, and one is asked for"
            ),
            Self::ExtendedKeyUsage { subject, found } => {
                let found: Vec<String> = found.iter().map(ToString::to_string).collect();
                write!(
                    formatter,
                    "the certificate of `{subject}` is for other purposes (extended key usage {})",
                    found.join(", ")
                )
            }
            Self::SubjectNotAllowed {
                subject,
                partly,
                expected,
            } => {
                write!(
                    formatter,
                    "`{subject}` is trusted but not among the subjects expected"
                )?;
                match partly {
                    Some(part) => write!(formatter, " (`{part}` is only a part of it)"),
                    None => write!(formatter, " ({expected})"),
                }
            }
            Self::InvalidPath { subject, reason } => {
                write!(
                    formatter,
                    "the certificate path of `{subject}` is not valid: {reason}"
                )
            }
        }
    }
}

impl std::error::Error for TrustError {}
