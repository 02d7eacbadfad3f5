//! The operations that a message is made of, for those who want to know what each of them takes,
//! and the events of their work, for those who want to know what was found.
//!
//! There is no clock here: an observer is told that an operation has ended, and looks at its own.
//! The rule: what an operation took is the time since the one before it ended, so that all of them
//! together are the whole.

use crate::envelope::Envelope;
use crate::event::Event;
use crate::securing_event::SecuringEvent;

/// An operation of [`InboundPlan::authenticate`](crate::InboundPlan::authenticate), of what follows
/// it, and of [`OutboundPlan::secure_into`](crate::OutboundPlan::secure_into).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Operation {
    /// A `wsse:UsernameToken`, written or checked.
    Username,
    /// A SAML assertion, read, and its issuer's signature verified.
    Assertion,
    /// The key of a signature, found and believed: tokens, certificate paths, derivations.
    Key,
    /// The value of a signature, made or verified.
    Signature,
    /// The canonical form of a signed part, where it is collected
    /// ([`Buffering::Buffered`](crate::Buffering::Buffered)).
    Canonicalization,
    /// The digest of a signed part; with its canonicalization, where bytes go from one to the
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
            Self::Assertion => "assertion",
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

/// Is told of operations, and of events if it listens. `()` does neither.
///
/// It is `Send`, so that a message can go from one thread to another between two steps.
pub trait OperationObserver: Send {
    /// An operation has ended.
    fn ended(&mut self, operation: Operation);

    /// Whether it wants [`found`](Self::found) and [`made`](Self::made) called. It is asked once
    /// for each message.
    ///
    /// For a listener the engine collects canonical bytes. So listeners are for messages at rest:
    /// behind a network, the time of the additional work tells a peer what failed.
    fn listens(&self) -> bool {
        false
    }

    /// Something was found out about a message that is opened.
    fn found(&mut self, envelope: &Envelope, event: Event<'_>) {
        let _ = (envelope, event);
    }

    /// Something was done to a message that is secured.
    fn made(&mut self, event: SecuringEvent<'_>) {
        let _ = event;
    }
}

impl OperationObserver for () {
    #[inline]
    fn ended(&mut self, _: Operation) {}
}

/// An observer, and what the engine does for it.
pub(crate) struct Observer<'o> {
    pub(crate) observer: &'o mut dyn OperationObserver,
    /// It hears of events.
    pub(crate) listens: bool,
    /// Work goes on after a refusal, so that it hears of the next one, too.
    pub(crate) explains: bool,
}

impl<'o> Observer<'o> {
    pub(crate) fn new(observer: &'o mut dyn OperationObserver) -> Self {
        let listens = observer.listens();
        Self {
            observer,
            listens,
            explains: false,
        }
    }

    /// An operation has ended.
    #[inline]
    pub(crate) fn ended(&mut self, operation: Operation) {
        self.observer.ended(operation);
    }

    /// Something was found out. The event is made for listeners alone.
    #[inline]
    pub(crate) fn found<'e>(&mut self, envelope: &Envelope, event: impl FnOnce() -> Event<'e>) {
        if self.listens {
            self.observer.found(envelope, event());
        }
    }

    /// Something was done to a message that is secured. The event is made for listeners alone.
    #[inline]
    pub(crate) fn made<'e>(&mut self, event: impl FnOnce() -> SecuringEvent<'e>) {
        if self.listens {
            self.observer.made(event());
        }
    }
}
