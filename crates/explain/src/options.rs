//! What a message is explained with.
//!
//! The rule kept here: without any of it, the message alone is explained.

use jiff::Timestamp;
use soapstone_xml::{IdAttributes, Limits, ParseOptions};

use crate::engine_report::EngineReport;
use crate::keys::Known;

/// How a message is explained.
#[derive(Debug)]
pub struct Options<'o> {
    /// The moment at which it is judged; nothing is said of clocks without one.
    pub now: Option<Timestamp>,
    /// How far the clocks of both sides may be apart.
    pub skew: jiff::SignedDuration,
    /// The bounds of documents.
    pub limits: Limits,
    /// Attributes without a namespace that are ids, too (`ids` of an endpoint file).
    pub ids: &'o [&'o str],
    /// What the engine told of the message, where an endpoint file opened it.
    pub engine: Option<&'o EngineReport>,
    /// Keys, certificates and passwords of the reader's side.
    pub known: Known,
    /// A good message of the same sender, to compare with.
    pub against: Option<&'o [u8]>,
    /// The request that the message answers.
    pub request: Option<&'o [u8]>,
    /// Bytes that the search for causes may write and digest.
    pub work: usize,
    /// Whether canonical bytes are kept
    /// ([`Explanation::dumps`](crate::Explanation::dumps)).
    pub dump: bool,
}

impl Options<'_> {
    /// How documents are read.
    pub(crate) fn parsing(&self) -> ParseOptions {
        ParseOptions {
            limits: self.limits.clone(),
            ids: self.ids.iter().fold(IdAttributes::standard(), |all, id| {
                all.with(&format!("{{}}{id}"))
            }),
        }
    }
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            now: None,
            skew: jiff::SignedDuration::from_secs(60),
            limits: Limits::default(),
            ids: &[],
            engine: None,
            known: Known::default(),
            against: None,
            request: None,
            work: 512 << 20,
            dump: false,
        }
    }
}
