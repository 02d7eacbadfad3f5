//! What a deployment remembers between messages: replay marks.
//!
//! [`MemoryReplay`] is for a process that serves many messages, [`FileReplay`] for calls of the command line that share what they
//! have seen, and [`Replay`] is whichever of them an endpoint's configuration asks for.
//!
//! The rule kept here: when in doubt, refuse. A cache that is full, damaged or out of reach admits nothing.
#![forbid(unsafe_code)]

mod file;
mod memory;

use std::fmt;
use std::path::PathBuf;

use jiff::Timestamp;
use soapstone::config::{ReplayConfig, ReplayStoreConfig};
use soapstone::replay::{ReplayCache, ReplayError};
use soapstone::wss::{FirstSeen, Mark};

pub use file::FileReplay;
pub use memory::MemoryReplay;

/// Most unexpired marks held when the configuration does not say: 1,048,576.
///
/// At five minutes of life that is 3,500 messages a second; in memory they take some 80 MB.
pub const DEFAULT_CAPACITY: usize = 1 << 20;

/// The replay cache that a configuration asks for.
#[derive(Debug)]
#[non_exhaustive]
pub enum Replay {
    /// In this process.
    Memory(MemoryReplay),
    /// In a file.
    File(FileReplay),
}

impl Replay {
    /// Opens the cache of a configuration; in memory when there is none.
    ///
    /// # Errors
    ///
    /// When the file cannot be used, or the store is one that this version does not have.
    pub fn open(config: Option<&ReplayConfig>) -> Result<Self, StoreError> {
        let capacity = config
            .and_then(|config| config.capacity)
            .map_or(DEFAULT_CAPACITY, |capacity| {
                usize::try_from(capacity).unwrap_or(usize::MAX)
            });
        match config.map(|config| &config.store) {
            None | Some(ReplayStoreConfig::Memory) => Ok(Self::Memory(MemoryReplay::new(capacity))),
            Some(ReplayStoreConfig::File { path }) => {
                Ok(Self::File(FileReplay::open(path, capacity)?))
            }
            Some(ReplayStoreConfig::Redis { .. }) => {
                Err(StoreError::Unsupported { store: "redis" })
            }
        }
    }

    /// How many marks are held, expired ones that were not yet dropped included; `None` where that is not known without looking.
    pub fn len(&self) -> Option<usize> {
        match self {
            Self::Memory(memory) => Some(memory.len()),
            Self::File(_) => None,
        }
    }

    /// Whether no marks are held; `None` where that is not known without looking.
    pub fn is_empty(&self) -> Option<bool> {
        self.len().map(|marks| marks == 0)
    }
}

impl ReplayCache for Replay {
    fn first_seen(&self, marks: &[Mark], now: Timestamp) -> Result<FirstSeen, ReplayError> {
        match self {
            Self::Memory(memory) => memory.first_seen(marks, now),
            Self::File(file) => file.first_seen(marks, now),
        }
    }
}

/// Why a store cannot be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// This version has no such store.
    Unsupported {
        /// Its name in configuration files.
        store: &'static str,
    },
    /// The file cannot be opened or created.
    File {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl fmt::Display for StoreError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported { store } => {
                write!(
                    out,
                    "this version keeps replay marks in \"memory\" or in a \"file\", found \"{store}\""
                )
            }
            Self::File { path, source } => {
                write!(
                    out,
                    "the file of replay marks {} cannot be used: {source}",
                    path.display()
                )
            }
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unsupported { .. } => None,
            Self::File { source, .. } => Some(source),
        }
    }
}
