//! Classes of work, by how long it takes.
//!
//! The rule kept here: the class is known before the work begins.

/// How long work takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WorkClass {
    /// Some tens of microseconds, a tenth of a millisecond at most: a message that is not large and
    /// no private key. Handing the sockets on would take as long.
    Inline,
    /// Private-key operations on a message that is not large: some 0.3 ms with RSA-2048, more with
    /// longer keys.
    Short,
    /// Anything else; also operations of private keys that are held elsewhere, which wait for it.
    Blocking,
}

impl WorkClass {
    /// That of operations of private keys on a message that is not large.
    pub(crate) fn of_private_keys(wait: bool) -> Self {
        if wait { Self::Blocking } else { Self::Short }
    }
}
