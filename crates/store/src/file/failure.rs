//! Why a turn at the file ended early.

use std::io::Error;

use soapstone::replay::ReplayError;

/// A failure of a turn.
#[derive(Debug)]
pub(super) enum Failure {
    /// Of the store.
    Replay(ReplayError),
    /// Of the file.
    File(Error),
}

impl<E: Into<redb::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::File(match error.into() {
            redb::Error::Io(error) => error,
            other => Error::other(other),
        })
    }
}
