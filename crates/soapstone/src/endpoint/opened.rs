//! A message that was accepted.
//!
//! The one rule: what is given out was proven.

use soapstone_trust::addressing::Addressing;
use soapstone_wss::{Evidence, Receipt, SoapVersion};

use super::fault::Blame;

/// A message that was accepted.
#[derive(Debug)]
pub struct OpenedMessage {
    /// The plain envelope, rebuilt from what the plan covers.
    pub bytes: Vec<u8>,
    /// Its version.
    pub version: SoapVersion,
    /// Whom it blames, if it is a SOAP fault.
    pub fault: Option<Blame>,
    /// What was proven.
    pub evidence: Evidence,
    /// What the answer needs.
    pub receipt: Receipt,
    /// Addressing headers of the request, where the policy asks for them: they are not passed on,
    /// and the answer refers to them ([`Endpoint::label_answer`](super::Endpoint::label_answer)).
    pub addressing: Option<Box<Addressing>>,
    /// `wsa:Action` of a request whose addressing headers are taken out, if it would have been
    /// passed on: where the plan wants signatures, only a signed one would.
    pub action: Option<String>,
}
