//! What a message that arrives is taken for, before it is opened.

use super::operations::Expected;

/// What a message that arrives is taken for, before it is opened.
pub(super) struct Arriving<'a> {
    pub(super) expected: Expected,
    /// What HTTP says of its action; `None` where there is no HTTP, or where it is an answer.
    pub(super) said: Option<&'a [String]>,
}
