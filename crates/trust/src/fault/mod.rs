//! What the peer of a token service is told when it is refused.
//!
//! The one rule: what the peer is told never says whether a context exists that it has not proven
//! to hold.

mod blamed;
mod code;
mod refusal;

use std::fmt;

use crate::version::TrustVersion;

pub use blamed::blames_token;
pub use code::TrustFaultCode;
pub use refusal::{BatchProblem, Refusal};

/// A request was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustFault {
    /// The version in which the peer is told; 1.3 where the request has none.
    pub version: TrustVersion,
    /// Why, for the operator.
    pub refusal: Refusal,
}

impl TrustFault {
    /// The code for the peer.
    #[must_use]
    pub fn code(&self) -> TrustFaultCode {
        self.refusal.code()
    }
}

impl fmt::Display for TrustFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.refusal.fmt(out)
    }
}

impl std::error::Error for TrustFault {}
