//! Why a gateway does not start.
//!
//! The rule kept here: what is wrong with the file was found before, so that only the system can
//! refuse.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use soapstone::crypto::CryptoError;
use soapstone_store::StoreError;

use crate::route::build::BuildError;

/// Why a gateway does not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// It cannot listen at an address.
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// What was passed is no socket that listens.
    Sockets {
        /// Why.
        source: io::Error,
    },
    /// A socket was passed that has neither of the addresses.
    Unnamed {
        /// Its address.
        address: SocketAddr,
    },
    /// A store of a route cannot be opened any more.
    Store {
        /// The route.
        route: String,
        /// Why.
        source: StoreError,
    },
    /// The file of the audit trail cannot be written.
    Audit {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file of violation records cannot be written.
    Violations {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is no key for the messages that are recorded.
    Records {
        /// Why.
        source: CryptoError,
    },
    /// The store of the registry's answers cannot be opened any more.
    Registry {
        /// Why.
        source: StoreError,
    },
    /// The system gives no threads.
    Threads {
        /// Why.
        source: io::Error,
    },
}

impl StartError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        let Self::Listen { source, .. } = self else {
            return None;
        };
        match source.kind() {
            io::ErrorKind::AddrInUse => Some("stop it, or choose another port"),
            io::ErrorKind::PermissionDenied => {
                Some("ports below 1024 need a privilege; choose a higher one")
            }
            io::ErrorKind::AddrNotAvailable => Some("0.0.0.0 and [::] are all of its addresses"),
            _ => None,
        }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen { address, source } => match source.kind() {
                io::ErrorKind::AddrInUse => write!(
                    formatter,
                    "cannot listen on {address}: another program listens there"
                ),
                io::ErrorKind::AddrNotAvailable => write!(
                    formatter,
                    "cannot listen on {address}: this machine has no such address"
                ),
                _ => write!(formatter, "cannot listen on {address}: {source}"),
            },
            Self::Sockets { source } => {
                write!(
                    formatter,
                    "what was passed to listen on is no TCP socket that listens: {source}"
                )
            }
            Self::Unnamed { address } => write!(
                formatter,
                "a socket that listens on {address} was passed, and neither `listen` nor `admin` is that address"
            ),
            Self::Store { route, source } => write!(formatter, "route {route}: {source}"),
            Self::Audit { file, source } => write!(
                formatter,
                "the audit trail {} cannot be written: {source}",
                file.display()
            ),
            Self::Violations { file, source } => write!(
                formatter,
                "the violation records {} cannot be written: {source}",
                file.display()
            ),
            Self::Records { source } => {
                write!(
                    formatter,
                    "no key seals the messages that are recorded: {source}"
                )
            }
            Self::Registry { source } => write!(formatter, "registry: {source}"),
            Self::Threads { source } => {
                write!(formatter, "the crypto workers cannot be started: {source}")
            }
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Listen { source, .. }
            | Self::Sockets { source }
            | Self::Audit { source, .. }
            | Self::Violations { source, .. }
            | Self::Threads { source } => Some(source),
            Self::Store { source, .. } | Self::Registry { source } => Some(source),
            Self::Records { source } => Some(source),
            Self::Unnamed { .. } => None,
        }
    }
}

impl From<BuildError> for StartError {
    fn from(BuildError { route, source }: BuildError) -> Self {
        Self::Store { route, source }
    }
}
