//! What can go wrong with the database.

use std::fmt;
use std::path::PathBuf;

use super::tables::Counts;

/// What can go wrong with the database.
#[derive(Debug)]
#[non_exhaustive]
pub enum DatabaseError {
    /// The text of a location is none of the forms that are understood.
    Location {
        /// What was given, without a password.
        found: String,
    },
    /// The folder of an SQLite file cannot be made.
    Folder {
        /// Where it was to be.
        folder: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The database refuses, is not there, or does not answer.
    Unavailable {
        /// Which database, without a password.
        location: String,
        /// What it said.
        source: sqlx::Error,
    },
    /// The program was built without the driver of this database.
    #[cfg(not(feature = "servers"))]
    NoDriver {
        /// Which database, without a password.
        location: String,
    },
    /// The tables are there with rows that Soapstone did not write, or without some that it did.
    /// They are left as they are.
    UnexpectedRows {
        /// Which database, without a password.
        location: String,
        /// What was counted.
        found: Counts,
    },
}

impl fmt::Display for DatabaseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DatabaseError::Location { found } => write!(
                formatter,
                "expected a database as sqlite:PATH, sqlite::memory:, mysql://USER:PASSWORD@HOST/DATABASE or \
                 postgres://USER:PASSWORD@HOST/DATABASE, found {found:?}"
            ),
            DatabaseError::Folder { folder, source } => write!(
                formatter,
                "cannot make the folder {} for the database: {source}",
                folder.display()
            ),
            DatabaseError::Unavailable { location, source } => {
                write!(
                    formatter,
                    "the database {location} cannot be used: {source}"
                )
            }
            #[cfg(not(feature = "servers"))]
            DatabaseError::NoDriver { location } => write!(
                formatter,
                "expected a database in SQLite, found {location}: this program was built quickly, without the drivers \
                 of MariaDB and PostgreSQL; `make build` builds them"
            ),
            DatabaseError::UnexpectedRows { location, found } => write!(
                formatter,
                "expected no rows or {} in {location}, found {found}: drop these tables there, or choose another \
                 database",
                Counts::ALL
            ),
        }
    }
}

impl std::error::Error for DatabaseError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            DatabaseError::Folder { source, .. } => Some(source),
            DatabaseError::Unavailable { source, .. } => Some(source),
            _ => None,
        }
    }
}
