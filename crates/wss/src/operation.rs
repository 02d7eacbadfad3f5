//! The operations that a message is made of, for those who want to know what each of them takes.
//!
//! There is no clock here: an observer is told that an operation has ended, and looks at its own.
//! The rule: what an operation took is the time since the one before it ended, so that all of them
//! together are the whole.

/// An operation of [`InboundPlan::authenticate`](crate::InboundPlan::authenticate), of what follows
/// it, and of [`OutboundPlan::secure_into`](crate::OutboundPlan::secure_into).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Operation {
    /// A `wsse:UsernameToken`, written or checked.
    Username,
    /// The key of a signature, found and believed: tokens, certificate paths, derivations.
    Key,
    /// The value of a signature, made or verified.
    Signature,
    /// The canonical form of a signed part, where it is collected
    /// ([`Buffering::Buffered`](crate::Buffering::Buffered)).
    Canonicalization,
    /// The digest of a signed part; with its canonicalization, where octets go from one to the
    /// other.
    Digest,
    /// A signed part that was digested before, compared instead of digested
    /// ([`Tuning::digest_cache`](crate::Tuning::digest_cache),
    /// [`Tuning::prehash`](crate::Tuning::prehash)).
    Recognition,
    /// Keys wrapped and unwrapped, parts encrypted and decrypted.
    Encryption,
    /// Everything else: reading and writing the header, comparing what was proven with the plan.
    Other,
}

impl Operation {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Username => "username",
            Self::Key => "key",
            Self::Signature => "signature",
            Self::Canonicalization => "canonicalization",
            Self::Digest => "digest",
            Self::Recognition => "recognition",
            Self::Encryption => "encryption",
            Self::Other => "other",
        }
    }
}

/// Is told of operations. `()` does not listen.
///
/// It is `Send`, so that a message can go from one thread to another between two steps.
pub trait OperationObserver: Send {
    /// An operation has ended.
    fn ended(&mut self, operation: Operation);
}

impl OperationObserver for () {
    #[inline]
    fn ended(&mut self, _: Operation) {}
}
