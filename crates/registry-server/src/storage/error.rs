//! Why a database keeps no entries, or gives none.
//!
//! The rule kept here: a row that cannot be read is named by its key, and nothing of it is told.

use std::fmt;
use std::time::Duration;

/// Why entries cannot be kept or read.
#[derive(Debug)]
#[non_exhaustive]
pub enum StorageError {
    /// The database does not answer in time.
    Slow(Duration),
    /// Another process has the database.
    InUse,
    /// The database refuses, or is not there.
    Database(sqlx::Error),
    /// A row that this program did not write.
    Row {
        /// The key of the entry.
        key: String,
    },
    /// The program was built without the driver of this database.
    #[cfg(not(feature = "servers"))]
    NoDriver,
}

impl fmt::Display for StorageError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slow(patience) => {
                write!(out, "the database did not answer within {patience:?}")
            }
            Self::InUse => out.write_str("another registry uses the database"),
            Self::Database(error) => write!(out, "the database refuses: {error}"),
            Self::Row { key } => write!(out, "the row {key} is not of this program"),
            #[cfg(not(feature = "servers"))]
            Self::NoDriver => out.write_str("this program was built without its driver"),
        }
    }
}

impl std::error::Error for StorageError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Database(error) => Some(error),
            _ => None,
        }
    }
}

impl From<sqlx::Error> for StorageError {
    fn from(error: sqlx::Error) -> Self {
        let is_locked = error.as_database_error().is_some_and(|it| {
            // SQLITE_BUSY, which has no SQLSTATE.
            it.code().as_deref() == Some("5")
        });
        match is_locked {
            true => Self::InUse,
            false => Self::Database(error),
        }
    }
}
