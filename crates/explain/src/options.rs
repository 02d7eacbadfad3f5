//! What a message is explained with.
//!
//! The rule kept here: without any of it, the message alone is explained.

use jiff::Timestamp;

use crate::keys::Known;

/// How a message is explained.
#[derive(Debug)]
pub struct Options<'o> {
    /// The moment at which it is judged; nothing is said of clocks without one.
    pub now: Option<Timestamp>,
    /// How far the clocks of both sides may be apart.
    pub skew: jiff::SignedDuration,
    /// Keys, certificates and passwords of the reader's side.
    pub known: Known,
    /// A good message of the same sender, to compare with.
    pub against: Option<&'o [u8]>,
    /// The request that the message answers.
    pub request: Option<&'o [u8]>,
    /// Bytes that the search for causes may write and digest.
    pub work: usize,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            now: None,
            skew: jiff::SignedDuration::from_secs(60),
            known: Known::default(),
            against: None,
            request: None,
            work: 512 << 20,
        }
    }
}
