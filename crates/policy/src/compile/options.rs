//! Choices that a policy leaves open, and the operator makes.

use std::fmt;

use soapstone_wss::Suite;

use crate::names::Name;

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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompileOptions {
    /// How `…Sha256` suites are read.
    pub signatures: SignatureReading,
    /// The algorithms of a suite that are in no policy (CXF's `CustomAlgorithmSuite`).
    pub custom_suite: Option<Suite>,
    /// Assertions of other languages that are left out, whatever they demand. Assertions of
    /// WS-SecurityPolicy and WS-Policy are never left out.
    pub ignored: Vec<Name>,
    /// `sp:NoPassword` is obeyed also where nothing proves who the user is.
    pub unproven_users: bool,
}

impl fmt::Display for SignatureReading {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Letter => "by the letter (SHA-1 signatures)",
            Self::Sha256 => "with SHA-256 signatures",
        })
    }
}
