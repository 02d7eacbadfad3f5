//! What other stacks speak, where the other side of calls is one of them.
//!
//! The rule kept here: what a stack speaks is what the peers of this repository showed, and for a
//! stack that is none of them what its own policies can name.

use std::fmt;
use std::str::FromStr;

use soapstone::wss::{Mechanism, Suite};

use super::Means;
use crate::study::Proof;

/// A stack on the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partner {
    /// Apache CXF 4 with WSS4J 4.
    Cxf,
    /// WCF, as Mono has it.
    Wcf,
    /// Metro 4.
    Metro,
    /// gSOAP 2.8 with its plugin.
    Gsoap,
    /// WSS4J 1.6, as in Rampart and in CXF 2.
    Wss4j16,
}

impl Partner {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Cxf,
        Self::Wcf,
        Self::Metro,
        Self::Gsoap,
        Self::Wss4j16,
    ];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cxf => "cxf",
            Self::Wcf => "wcf",
            Self::Metro => "metro",
            Self::Gsoap => "gsoap",
            Self::Wss4j16 => "wss4j-1.6",
        }
    }

    /// Whether it speaks these means.
    ///
    /// # Errors
    /// What it does not know.
    pub fn speaks(self, means: &Means) -> Result<(), &'static str> {
        let agrees = Suite::called(&means.suite).is_some_and(|suite| suite.only_agrees());
        let conversation = means.mechanism == Mechanism::SecureConversation;
        match self {
            Self::Cxf if means.proof == Proof::SharedKey => {
                Err("it was not tried with a shared key")
            }
            Self::Cxf => Ok(()),
            _ if means.proof != Proof::Usual => Err("it was not tried with such a token"),
            _ if agrees => Err("it agrees on no keys"),
            Self::Wcf | Self::Metro | Self::Wss4j16 if means.suite.contains("GCM") => {
                Err("it has no AES in GCM")
            }
            Self::Wcf if means.mechanism == Mechanism::Encrypt => {
                Err("it signs whatever it encrypts")
            }
            Self::Wcf if means.mechanism == Mechanism::Username && !means.tls => {
                Err("it sends users over TLS, or with keys")
            }
            Self::Gsoap if conversation => Err("it has no conversations"),
            Self::Gsoap if means.mechanism == Mechanism::EncryptSign => {
                Err("it cannot encrypt before it signs")
            }
            Self::Gsoap if means.suite.contains("Sha256") => {
                Err("its signatures and digests have one hash")
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Partner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

impl FromStr for Partner {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|it| it.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("expected a stack ({names}), found {text}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_partner_speaks_what_its_programs_showed() {
        let spoken = |mechanism: Mechanism, suite: &str| {
            let means = Means {
                proof: Proof::Usual,
                tls: false,
                mechanism,
                suite: suite.to_owned(),
            };
            Partner::ALL.map(|it| it.speaks(&means).is_ok())
        };
        use Mechanism::{Encrypt, EncryptSign, SecureConversation, SignEncrypt, Username};
        for (mechanism, suite, expected) in [
            (SignEncrypt, "Basic256", [true; 5]),
            (
                SignEncrypt,
                "Basic128GCM",
                [true, false, false, true, false],
            ),
            (
                SignEncrypt,
                "Basic128GCMEcdhEs",
                [true, false, false, false, false],
            ),
            (
                SignEncrypt,
                "Basic256Sha256+RsaSha256",
                [true, true, true, false, true],
            ),
            (EncryptSign, "Basic256", [true, true, true, false, true]),
            (Encrypt, "Basic256", [true, false, true, true, true]),
            (
                SecureConversation,
                "Basic256",
                [true, true, true, false, true],
            ),
            (Username, "", [true, false, true, true, true]),
        ] {
            assert_eq!(spoken(mechanism, suite), expected, "{mechanism}/{suite}");
        }
    }
}
