//! Services of the user's: where they are, and what they are asked.
//!
//! The rule kept here: a message is sent as it was captured, byte for byte.

use std::path::PathBuf;

use bytes::Bytes;
use soapstone_services::SoapVersion;

/// The calls of the user's services; an operation of a study is a place among them.
pub(in super::super) type OwnServices = [OwnCall];

/// A call of a service of the user's.
#[derive(Clone, Debug)]
pub(in super::super) struct OwnCall {
    /// What it is called.
    pub(in super::super) name: String,
    /// Where the service is, without a query.
    pub(in super::super) url: String,
    /// The query of its URL, with its question mark; empty, if there is none.
    pub(in super::super) query: String,
    /// Files with the certificates of authorities that the service's own is from.
    pub(in super::super) authorities: Vec<PathBuf>,
    /// The version of SOAP that the message is in.
    pub(in super::super) version: SoapVersion,
    /// The action, without quotes.
    pub(in super::super) soap_action: String,
    /// The request.
    pub(in super::super) message: Bytes,
    /// Every answer has the same content.
    pub(in super::super) same: bool,
}
