//! What a study is run on: something that answers calls one way or another, and tells how long each took.
//!
//! The rule kept here: a bench checks every answer, and a wrong one is a failure, never a figure.

use std::time::Duration;

use soapstone::wss::Mechanism;

/// Which way a call takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To the service, without gateways.
    Direct,
    /// Through two gateways, and secured between them.
    Through {
        /// How.
        mechanism: Mechanism,
        /// With which algorithms; empty, where nothing is signed or encrypted.
        suite: &'static str,
    },
}

impl Way {
    /// Through both gateways without security: what secured calls are compared with.
    pub const PLAIN: Self = Self::Through {
        mechanism: Mechanism::None,
        suite: "",
    };

    /// Signed and encrypted with X.509 certificates.
    pub const fn sign_encrypt(suite: &'static str) -> Self {
        Self::Through {
            mechanism: Mechanism::SignEncrypt,
            suite,
        }
    }

    /// Signed and encrypted with the keys of a conversation.
    pub const fn conversation(suite: &'static str) -> Self {
        Self::Through {
            mechanism: Mechanism::SecureConversation,
            suite,
        }
    }

    /// Its name in measurements.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Through { mechanism, .. } => mechanism.name(),
        }
    }

    /// The suite; empty, where there is none.
    pub fn suite(self) -> &'static str {
        match self {
            Self::Direct => "",
            Self::Through { suite, .. } => suite,
        }
    }
}

/// Where the service takes books from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Its memory.
    Memory,
    /// A database: its place in [`Options::databases`](super::Options::databases).
    Database(usize),
}

/// One call: `getBooks`, a way, and where the books come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Which way it takes.
    pub way: Way,
    /// Where the books come from.
    pub source: Source,
    /// How many are asked for.
    pub books: u32,
}

/// Octets of request and response together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// As the client sends and gets them.
    pub plain: usize,
    /// As they travel between the gateways; the same as plain, where there are none.
    pub secured: usize,
}

/// Answers calls. Whoever runs studies puts it up, with a way for each of [`routes`](super::routes).
pub trait Bench {
    /// Why a call was not made, or that its answer was wrong.
    type Failure;

    /// Makes a call and checks the answer: the time from sending the request until the whole answer was there.
    ///
    /// # Errors
    /// The call failed, or its answer was wrong.
    fn call(&mut self, call: &Call) -> Result<Duration, Self::Failure>;

    /// Makes a call that nobody measures, to weigh its messages.
    ///
    /// # Errors
    /// The call failed, or its answer was wrong.
    fn weigh(&mut self, call: &Call) -> Result<Sizes, Self::Failure>;
}
