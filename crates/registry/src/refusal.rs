//! Why a request is refused.
//!
//! The rule kept here: each refusal has its code of UDDI (UDDI 3.0.2, section 12.1.2) and a name
//! for logs. A refusal that comes after the signature was verified may say what is wrong.

use std::fmt;

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The body is no request that the registry knows.
    Unknown {
        /// `{namespace}name` of its element.
        found: String,
    },
    /// The request has something that the registry does not keep.
    Unsupported {
        /// What.
        found: String,
    },
    /// A part is missing, or is there twice.
    Missing {
        /// What.
        part: &'static str,
    },
    /// A value is not what it has to be.
    Value {
        /// Of what.
        part: &'static str,
        /// What it has to be.
        expected: &'static str,
    },
    /// There is too much of something.
    TooMany {
        /// Of what.
        part: &'static str,
        /// How much is allowed.
        most: usize,
    },
    /// The request changes something, and no certificate signed it.
    Unsigned,
    /// The entry belongs to another certificate.
    NotOwner {
        /// Its key.
        key: String,
    },
    /// The certificate may not publish this.
    NotAllowed {
        /// What.
        what: String,
    },
    /// There is no entry with this key.
    NoSuchKey {
        /// The key.
        key: String,
    },
    /// A key that another entry has.
    KeyTaken {
        /// The key.
        key: String,
    },
    /// The report is no newer than the last one.
    StaleReport {
        /// Of which binding.
        key: String,
    },
    /// The report was taken in the future.
    FutureReport,
    /// The registry has begun after the message was made, and cannot tell whether it is a copy.
    Doubtful,
    /// The owner or the registry has as many entries as it may have.
    Full,
    /// The answer would be larger than answers may be.
    TooLarge,
    /// The changes could not be kept.
    NotKept,
}

impl Refusal {
    /// Its number and name in UDDI.
    pub fn code(&self) -> (u32, &'static str) {
        match self {
            Self::Unknown { .. } | Self::Unsupported { .. } => (10050, "E_unsupported"),
            Self::Missing { .. } | Self::Value { .. } | Self::NotKept => (10500, "E_fatalError"),
            Self::TooMany { .. } => (10030, "E_tooManyOptions"),
            Self::Unsigned => (10120, "E_authTokenRequired"),
            Self::NotOwner { .. } | Self::NotAllowed { .. } => (10140, "E_userMismatch"),
            Self::NoSuchKey { .. } => (10210, "E_invalidKeyPassed"),
            Self::KeyTaken { .. } => (40100, "E_keyUnavailable"),
            Self::StaleReport { .. } | Self::FutureReport | Self::Doubtful => {
                (40030, "E_invalidTime")
            }
            Self::Full => (10160, "E_accountLimitExceeded"),
            Self::TooLarge => (40300, "E_resultSetTooLarge"),
        }
    }

    /// A stable name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "unknown-request",
            Self::Unsupported { .. } => "unsupported",
            Self::Missing { .. } => "missing-part",
            Self::Value { .. } => "wrong-value",
            Self::TooMany { .. } => "too-many",
            Self::Unsigned => "unsigned",
            Self::NotOwner { .. } => "not-owner",
            Self::NotAllowed { .. } => "not-allowed",
            Self::NoSuchKey { .. } => "no-such-key",
            Self::KeyTaken { .. } => "key-taken",
            Self::StaleReport { .. } => "stale-report",
            Self::FutureReport => "future-report",
            Self::Doubtful => "doubtful",
            Self::Full => "full",
            Self::TooLarge => "answer-too-large",
            Self::NotKept => "not-kept",
        }
    }

    /// Whether the registry is at fault, and not the sender.
    pub fn is_ours(&self) -> bool {
        matches!(self, Self::NotKept)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { found } => {
                write!(out, "expected a request of UDDI version 3, found {found}")
            }
            Self::Unsupported { found } => write!(out, "the registry does not keep {found}"),
            Self::Missing { part } => write!(out, "expected one {part}"),
            Self::Value { part, expected } => write!(out, "{part} must be {expected}"),
            Self::TooMany { part, most } => write!(out, "expected at most {most} of {part}"),
            Self::Unsigned => out.write_str("expected the signature of a certificate"),
            Self::NotOwner { key } => write!(out, "{key} belongs to another certificate"),
            Self::NotAllowed { what } => write!(out, "this certificate may not publish {what}"),
            Self::NoSuchKey { key } => write!(out, "there is no entry {key}"),
            Self::KeyTaken { key } => write!(out, "{key} is the key of another entry"),
            Self::StaleReport { key } => {
                write!(out, "the report of {key} is no newer than the last one")
            }
            Self::FutureReport => out.write_str("the report was taken in the future"),
            Self::Doubtful => {
                out.write_str("the registry began after the message was made: make it anew")
            }
            Self::Full => out.write_str("there is room for no more entries"),
            Self::TooLarge => out.write_str("the answer would be too large: ask for less"),
            Self::NotKept => out.write_str("the change could not be kept"),
        }
    }
}

impl std::error::Error for Refusal {}
