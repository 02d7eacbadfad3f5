//! The steps of opening and securing, for those who measure or explain.

use soapstone_wss::{Envelope, OperationObserver, Verified};

/// A step of opening or securing, for those who measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Bytes to envelope.
    Parse,
    /// The store of security contexts; and what is had beside it before a message is judged: the
    /// session of a Kerberos token, an assertion from its authority.
    Contexts,
    /// Times, users and the values of signatures, before anything is deciphered.
    Authenticate,
    /// The replay cache.
    Replay,
    /// Decryption, digests, and the comparison with the plan.
    Open,
    /// Writing the message that is passed on.
    Forward,
    /// Signing and encrypting.
    Secure,
}

impl Step {
    /// Name in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Parse => "parse",
            Self::Contexts => "contexts",
            Self::Authenticate => "authenticate",
            Self::Replay => "replay",
            Self::Open => "open",
            Self::Forward => "forward",
            Self::Secure => "secure",
        }
    }
}

/// Told when a step has ended. `()` listens to nothing.
pub trait StepObserver: Send {
    /// `step` has ended.
    fn ended(&mut self, step: Step);

    /// A message was verified, which is passed on next: who wants to count by what it holds looks
    /// at it here, where nothing has to be read again.
    fn verified(&mut self, message: &Verified<Envelope>) {
        let _ = message;
    }

    /// Who is told of all that is done to messages that are secured. It is asked once for each
    /// header. A listener is for messages at rest
    /// ([`OperationObserver::listens`](soapstone_wss::OperationObserver::listens)).
    fn securing(&mut self) -> Option<&mut dyn OperationObserver> {
        None
    }
}

impl StepObserver for () {
    fn ended(&mut self, _: Step) {}
}
