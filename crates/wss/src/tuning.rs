//! Optimisations, each switchable alone, so that one binary can be measured with and without it.
//!
//! The rule kept here: a tuning changes what a message costs, never what is accepted, sent or
//! handed on; of what is sent, at most which random bytes it has. Where that is not obvious, the
//! place that does the work says why it holds, and `tests/engine/tunings` attacks it.

/// How messages are worked on. The defaults are what pays for most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tuning {
    /// Hand source bytes that are canonical already to the digest as they are, instead of writing
    /// them anew.
    pub canonical_runs: bool,
    /// Inbound: digest signed elements as they came first, and canonicalize those whose digest is
    /// not the one that was signed (on-demand re-canonicalization, van Engelen and Zhang
    /// 2008). Of use only where `canonical_runs` is off: a run needs no gamble.
    pub on_demand: bool,
    /// What becomes of canonical bytes on their way to the digest.
    pub buffering: Buffering,
    /// Inbound: remember elements that were digested, so that the same bytes from the same signer
    /// are not digested again, and keep digests in the evidence, for an
    /// [`ObjectCache`](crate::ObjectCache). Pays where partners send the same signed elements
    /// again and again, under the same ids.
    pub digest_cache: Option<CacheBounds>,
    /// Outbound: remember the digests of elements that have an id of their own, so that one whose
    /// bytes are still the same is not digested again.
    pub prehash: Option<CacheBounds>,
    /// In conversations: use the keys that are derived from the context's secret for several
    /// messages, and know those that the other side uses again. Without it, each message has
    /// new ones.
    pub derived_keys: Option<DerivedKeyLimits>,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            canonical_runs: true,
            on_demand: false,
            buffering: Buffering::Streaming,
            digest_cache: None,
            prehash: None,
            derived_keys: Some(DerivedKeyLimits::default()),
        }
    }
}

/// How long derived keys are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DerivedKeyLimits {
    /// Most security contexts that have derived keys kept with them. The first that came make
    /// room: their next message has new keys.
    pub conversations: usize,
    /// Most messages that are sent with one derived key.
    pub messages: u32,
}

impl DerivedKeyLimits {
    /// More messages than this are not sent with one key, whatever is asked for. With AES-GCM and
    /// random vectors, 2^32 encryptions with one key are too many (NIST SP 800-38D, 8.3), and a
    /// message may have thousands of encrypted parts.
    pub const MOST_MESSAGES: u32 = 1 << 20;
}

impl Default for DerivedKeyLimits {
    /// A thousand contexts, some 6 kB each, and 65,536 messages.
    fn default() -> Self {
        Self {
            conversations: 1_000,
            messages: 1 << 16,
        }
    }
}

/// What becomes of canonical bytes on their way to the digest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Buffering {
    /// They go there as they are produced, and nothing is kept.
    #[default]
    Streaming,
    /// Those of one part are collected, and digested in one piece. It costs a copy;
    /// canonicalization and digest can be timed apart.
    Buffered,
}

/// How much a memory of elements may hold. What was not used for longest makes room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CacheBounds {
    /// Most elements.
    pub entries: usize,
    /// Most bytes, all elements together, what it takes to remember them included.
    pub octets: usize,
}

impl Default for CacheBounds {
    /// Ten thousand elements and 16 MiB: every element of the largest messages of van Engelen and
    /// Zhang (2008, figure 4) twice.
    fn default() -> Self {
        Self {
            entries: 10_000,
            octets: 16 << 20,
        }
    }
}
