//! Choices that a policy leaves open, and the operator makes.

use std::fmt;

/// How the `…Sha256` suites are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SignatureReading {
    /// By the letter of WS-SecurityPolicy 1.3, 6.1, as CXF does: digests are SHA-256, signatures
    /// RSA-SHA1 and HMAC-SHA1.
    #[default]
    Letter,
    /// As WCF and many others do: signatures use SHA-256 too.
    Sha256,
}

/// Choices that a policy leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompileOptions {
    /// How `…Sha256` suites are read.
    pub signatures: SignatureReading,
}

impl fmt::Display for SignatureReading {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Letter => "by the letter (SHA-1 signatures)",
            Self::Sha256 => "with SHA-256 signatures",
        })
    }
}
