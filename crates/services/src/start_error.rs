//! Why the services cannot start.
//!
//! The rule kept here: what cannot be had is named.

use std::fmt;
use std::net::SocketAddr;

use crate::database::DatabaseError;

/// Why the services cannot start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The address cannot be had.
    Listen {
        /// Which.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The database cannot be had.
    Database(DatabaseError),
}

impl fmt::Display for StartError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Listen { address, source } => {
                write!(formatter, "cannot listen on {address}: {source}")
            }
            StartError::Database(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StartError::Listen { source, .. } => Some(source),
            StartError::Database(error) => error.source(),
        }
    }
}
