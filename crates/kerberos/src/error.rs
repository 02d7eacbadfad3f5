//! Why a token is refused, or cannot be made.
//!
//! The one rule: a variant for each reason that an operator acts on differently. None of them is
//! for a peer.

use std::fmt;
use std::time::Duration;

use crate::enctype::Enctype;

/// A refusal, or a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KerberosError {
    /// The GSS library of MIT Kerberos cannot be loaded.
    LibraryMissing {
        /// What the loader says.
        problem: String,
    },
    /// The bytes are no AP-REQ, or not in the framing that they are said to have.
    Malformed {
        /// What was expected.
        problem: &'static str,
    },
    /// Something is enciphered as the rules do not allow.
    Enctype {
        /// What is.
        what: &'static str,
        /// How.
        found: Enctype,
    },
    /// The ticket is for another realm's service.
    WrongRealm {
        /// The realm of this service.
        expected: String,
        /// That of the ticket.
        found: String,
    },
    /// The ticket is for another service.
    WrongService {
        /// This service.
        expected: String,
        /// That of the ticket.
        found: String,
    },
    /// The client is of a realm that is not accepted.
    ClientRealm {
        /// The client.
        client: String,
    },
    /// The client is not among those that are accepted.
    Client {
        /// The client.
        client: String,
    },
    /// The library has seen the authenticator before.
    Replayed,
    /// The ticket has ended.
    Expired,
    /// The ticket begins later.
    NotYetValid,
    /// The clocks of client and service differ too much.
    Skew,
    /// The ticket cannot be deciphered, or it was changed.
    Integrity,
    /// The client wants the service to answer with a token of its own, which no message carries.
    Mutual,
    /// The KDC, or whatever the library waits for, did not answer in time.
    TimedOut {
        /// The wait.
        after: Duration,
    },
    /// As many callers as there may be wait for the KDC already.
    Busy {
        /// How many.
        waiting: usize,
    },
    /// No KDC can be reached, or the KDC says that it cannot answer now.
    Unreachable {
        /// The words of the library.
        problem: String,
    },
    /// A file of this machine cannot be used, or the machine lacks something: the keytab, the
    /// replay cache, memory, descriptors.
    Machine {
        /// The call of the library.
        call: &'static str,
        /// The words of the library.
        problem: String,
    },
    /// The library says something else.
    Library {
        /// The call.
        call: &'static str,
        /// Its words.
        problem: String,
    },
    /// A name that is no name of a principal.
    Name {
        /// What was expected.
        problem: &'static str,
    },
}

impl fmt::Display for KerberosError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LibraryMissing { problem } => write!(
                out,
                "MIT's GSS library is not there (Debian: libgssapi-krb5-2): {problem}"
            ),
            Self::Malformed { problem } => write!(out, "no AP-REQ: {problem}"),
            Self::Enctype { what, found } => {
                write!(out, "{what} has the encryption type {found}, which is not allowed")
            }
            Self::WrongRealm { expected, found } => write!(
                out,
                "the ticket is for a service of realm `{found}`, expected `{expected}`"
            ),
            Self::WrongService { expected, found } => {
                write!(out, "the ticket is for `{found}`, expected `{expected}`")
            }
            Self::ClientRealm { client } => {
                write!(out, "the client `{client}` is of a realm that is not accepted")
            }
            Self::Client { client } => write!(out, "the client `{client}` is not accepted"),
            Self::Replayed => out.write_str("the authenticator was seen before"),
            Self::Expired => out.write_str("the ticket has ended"),
            Self::NotYetValid => out.write_str("the ticket is not valid yet"),
            Self::Skew => out.write_str("the clocks of client and service differ too much"),
            Self::Integrity => out.write_str(
                "the ticket or its authenticator cannot be deciphered: changed, or not for a key of the keytab",
            ),
            Self::Mutual => out.write_str(
                "the client asks for an answering token (mutual authentication), which no message carries",
            ),
            Self::TimedOut { after } => write!(
                out,
                "the KDC did not answer in {} ms",
                after.as_millis()
            ),
            Self::Busy { waiting } => {
                write!(out, "{waiting} callers wait for the KDC already")
            }
            Self::Unreachable { problem } => write!(out, "the KDC is away: {problem}"),
            Self::Machine { call, problem } | Self::Library { call, problem } => write!(out, "{call}: {problem}"),
            Self::Name { problem } => write!(out, "no name of a principal: {problem}"),
        }
    }
}

impl std::error::Error for KerberosError {}

impl KerberosError {
    /// Whether it says something of this machine or the KDC, and nothing of the token.
    pub const fn is_temporary(&self) -> bool {
        matches!(
            self,
            Self::LibraryMissing { .. }
                | Self::TimedOut { .. }
                | Self::Busy { .. }
                | Self::Unreachable { .. }
                | Self::Machine { .. }
        )
    }
}
