//! What an operator is told of a policy file that is obeyed.

use crate::config::Place;

/// One remark on a policy file, or on a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Remark {
    /// The stable name of its warning.
    pub(super) name: &'static str,
    /// Where the endpoint file causes it.
    pub(super) place: Place,
    /// What is to be known.
    pub(super) message: String,
    /// What to do about it.
    pub(super) hint: &'static str,
}
