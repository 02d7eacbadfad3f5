//! Why a store cannot be opened.
//!
//! The rule kept here: a message names the file or the key, and nothing secret.

use std::fmt;
use std::path::PathBuf;

/// Why a store cannot be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// The file cannot be opened or created.
    File {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// What the configuration names for TLS to Redis cannot be used.
    Tls {
        /// Why.
        problem: String,
    },
    /// Security contexts cannot rest in Redis without a key that seals them.
    NoSealKey,
}

impl fmt::Display for StoreError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, source } => {
                write!(
                    out,
                    "the file of replay marks {} cannot be used: {source}",
                    path.display()
                )
            }
            Self::Tls { problem } => {
                write!(out, "TLS to the store is not possible: {problem}")
            }
            Self::NoSealKey => out.write_str(
                "security contexts rest sealed, and there is no usable key: it must have 32 bytes",
            ),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File { source, .. } => Some(source),
            Self::Tls { .. } | Self::NoSealKey => None,
        }
    }
}
