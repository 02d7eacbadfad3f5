//! How a document is read.

use crate::ids::IdAttributes;
use crate::limits::Limits;

/// How a document is read.
#[derive(Clone, Debug, Default)]
pub struct ParseOptions {
    /// Its bounds.
    pub limits: Limits,
    /// Which of its attributes are ids.
    pub ids: IdAttributes,
}
