//! What of an exchange policy cannot be said in a policy.

use std::fmt;

use soapstone_wss::{KeyReference, Part};

/// Something that WS-SecurityPolicy has no words for, or none that others would read as it is
/// meant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unwritable {
    /// No suite that has a name has these algorithms.
    Suite {
        /// Short names of the algorithms.
        algorithms: String,
        /// Suites of this strength that can be said, as endpoint files name them.
        instead: Vec<String>,
    },
    /// An assertion: no policy says whose, and how it is confirmed.
    Assertion,
    /// A Kerberos token: no policy says for which service.
    Kerberos,
    /// A key that both sides hold already: no token assertion stands for it.
    SharedKey,
    /// A part that is signed and has no assertion.
    Signed {
        /// The part.
        part: Part,
    },
    /// A part that is encrypted and has no assertion.
    Encrypted {
        /// The part.
        part: Part,
    },
    /// A Timestamp that is demanded and not signed, or signed and not demanded (WS-SecurityPolicy
    /// 1.3, 6.2: it is neither or both).
    Timestamp,
    /// A way to name keys that no assertion asks for.
    Reference {
        /// The way.
        reference: KeyReference,
    },
    /// A Security header for somebody else than the ultimate receiver.
    Actor {
        /// The actor or role.
        actor: String,
    },
    /// Not exactly one kind of password.
    Passwords,
    /// A password that is neither a digest nor encrypted, in a message that is protected
    /// (WS-SecurityPolicy 1.3, 8 has it encrypted).
    ClearPassword,
    /// A conversation whose first messages do not sign and encrypt their Body: its keys travel in
    /// them.
    Bootstrap,
    /// What was written says something else, in this respect.
    Unsaid {
        /// In which.
        what: &'static str,
    },
}

impl fmt::Display for Unwritable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Suite {
                algorithms,
                instead,
            } => write!(
                out,
                "WS-SecurityPolicy has no name for the suite of {algorithms}; suites that have a name: `{}`",
                instead.join("`, `")
            ),
            Self::Assertion => out.write_str(
                "no policy says whose assertions are accepted, and how they are confirmed",
            ),
            Self::Kerberos => {
                out.write_str("no policy says for which service a Kerberos token is")
            }
            Self::SharedKey => out.write_str("no token stands for a key that both sides hold"),
            Self::Signed { part } => write!(out, "no assertion has this part signed: `{part}`"),
            Self::Encrypted { part } => {
                write!(out, "no assertion has this part encrypted: `{part}`")
            }
            Self::Timestamp => out.write_str(
                "a Timestamp is demanded and signed, or neither: expected `timestamp = true` with `Timestamp` among the signed parts, \
                 or `timestamp = false` without",
            ),
            Self::Reference { reference } => {
                write!(out, "no assertion has keys named like this: `{reference:?}`")
            }
            Self::Actor { actor } => write!(
                out,
                "no assertion addresses the Security header to somebody: `{actor}`"
            ),
            Self::Passwords => out.write_str("a policy asks for one kind of password"),
            Self::ClearPassword => out.write_str(
                "a policy has passwords in the clear encrypted: expected `UsernameToken` among the encrypted parts",
            ),
            Self::Bootstrap => out.write_str(
                "a policy has the messages that make a conversation sign and encrypt their Body",
            ),
            Self::Unsaid { what } => {
                write!(out, "a policy would be read as something else: {what}")
            }
        }
    }
}

impl std::error::Error for Unwritable {}
