//! What arrives at a service that is asked for no token.

use soapstone::wss::Rejected;
use soapstone::{Arrived, OpenedMessage, ReceiveError};

/// The message of the application, or why it is refused.
pub(crate) fn message(arrived: Result<Arrived, ReceiveError>) -> Result<OpenedMessage, Rejected> {
    match arrived {
        Ok(Arrived::Message(opened)) => Ok(*opened),
        Err(ReceiveError::Rejected(rejected)) => Err(rejected),
        other => panic!("{other:?}"),
    }
}
