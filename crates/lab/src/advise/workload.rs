//! What somebody wants to send, and what must be true of it.
//!
//! The rule kept here: a need is satisfied by what a mechanism proves, not by what it is usually
//! taken for.

use std::fmt;
use std::str::FromStr;

use soapstone::wss::{Envelope, Mechanism};
use soapstone::xml::{Buffers, Limits};

use super::{Partner, Source};
use crate::study::{Proof, Setup};

/// What must be true of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Nobody can change them unnoticed.
    Integrity,
    /// Nobody else can read them.
    Confidentiality,
    /// The service knows who sent a request.
    Authentication,
    /// All that holds through intermediaries, who pass messages on without being trusted with them.
    Intermediaries,
}

impl Need {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Integrity,
        Self::Confidentiality,
        Self::Authentication,
        Self::Intermediaries,
    ];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Integrity => "integrity",
            Self::Confidentiality => "confidentiality",
            Self::Authentication => "authentication",
            Self::Intermediaries => "intermediaries",
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

impl FromStr for Need {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|need| need.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("expected a need ({names}), found {text}")
        })
    }
}

/// How messages are secured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Means {
    /// The connection is under TLS, with a certificate of the server's.
    pub tls: bool,
    /// What is done to messages.
    pub mechanism: Mechanism,
    /// What their keys come from.
    pub proof: Proof,
    /// With which algorithms; empty, where none is used.
    pub suite: String,
}

impl Means {
    /// Whether it satisfies a need: `Err` says why not.
    ///
    /// # Errors
    /// Why the need is not satisfied.
    pub fn satisfies(&self, need: Need) -> Result<(), &'static str> {
        let Self { tls, mechanism, .. } = self;
        let by_message = |held: bool, otherwise| held.then_some(()).ok_or(otherwise);
        match need {
            Need::Integrity => by_message(*tls || mechanism.signs(), "nothing is signed"),
            Need::Confidentiality => {
                by_message(*tls || mechanism.encrypts(), "nothing is encrypted")
            }
            Need::Authentication => by_message(
                *mechanism == Mechanism::Username || mechanism.signs(),
                "requests do not say who sent them",
            ),
            Need::Intermediaries => by_message(!tls, "TLS ends at the first intermediary"),
        }
    }
}

impl fmt::Display for Means {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.tls, self.mechanism) {
            (true, Mechanism::None) => out.pad("https"),
            (true, mechanism) => out.pad(&format!("https+{mechanism}")),
            (false, mechanism) if self.suite.is_empty() => out.pad(mechanism.name()),
            (false, mechanism) => {
                let name = Setup::secured(mechanism, "")
                    .by(self.proof)
                    .mechanism_name();
                out.pad(&format!("{name}/{}", self.suite))
            }
        }
    }
}

/// A message of a workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message {
    /// Bytes, without security.
    pub bytes: f64,
    /// Elements.
    pub elements: f64,
}

impl Message {
    /// Bytes for each element, where nobody says how many there are: those of the books that the
    /// lab measures with.
    const BYTES_PER_ELEMENT: f64 = 21.0;

    /// A text of so many bytes in one element of a Body.
    pub fn of_text(bytes: f64) -> Self {
        Self {
            bytes,
            elements: 4.0,
        }
    }

    /// A message of so many bytes, with as many elements as records have.
    pub fn of_bytes(bytes: f64) -> Self {
        Self {
            bytes,
            elements: (bytes / Self::BYTES_PER_ELEMENT).max(4.0),
        }
    }

    /// The size of a captured message, which has no security of its own; `None`, if it is no SOAP
    /// message.
    pub fn of_sample(octets: &[u8]) -> Option<Self> {
        let limits = Limits::default();
        let envelope = Envelope::parse(octets.to_vec(), &limits, &mut Buffers::default()).ok()?;
        drop(envelope);
        // It is well-formed: what begins with a name behind `<` is an element, outside of comments
        // and CDATA, which are rare in messages.
        let starts = octets.windows(2).filter(|pair| {
            pair[0] == b'<' && (pair[1].is_ascii_alphabetic() || pair[1] == b'_' || pair[1] >= 0x80)
        });
        Some(Self {
            bytes: octets.len() as f64,
            elements: starts.count() as f64,
        })
    }
}

/// Calls that somebody wants to make.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// A request.
    pub request: Message,
    /// Its response.
    pub response: Message,
    /// Calls between the beginning of a conversation, or of a connection, and its end.
    pub messages_per_conversation: f64,
    /// Calls in a second, all clients together; 0, if they come one after another.
    pub rate: f64,
    /// Clients that call at once.
    pub clients: f64,
    /// Bits in a second that the network carries; infinite, if nobody says.
    pub bandwidth: f64,
    /// Time that bytes take to the other side and back, microseconds.
    pub round_trip: f64,
    /// Cores of each side.
    pub cores: f64,
    /// What must be true.
    pub needs: Vec<Need>,
    /// What there is beside certificates that keys can come from.
    pub sources: Vec<Source>,
    /// Stacks that the other side is; none, if nobody says.
    pub partners: Vec<Partner>,
    /// How many partners call; nothing, if nobody says.
    pub callers: Option<f64>,
    /// What the service takes for a call, microseconds; nothing, if nobody says.
    pub service: Option<f64>,
    /// Intermediaries between both sides, which pass messages on.
    pub hops: f64,
    /// The share of a message's bytes that is encrypted, where encryption is in the message.
    pub encrypted: f64,
    /// The share of signed elements that come again; nothing, if nobody says.
    pub repeated: Option<f64>,
    /// The share of messages that come in canonical form; nothing, if nobody says.
    pub canonical: Option<f64>,
}

impl Default for Workload {
    /// Messages of 2 kB, one call after another, each with a conversation or a connection of its
    /// own, over a network without limits.
    fn default() -> Self {
        let message = Message::of_bytes(2_000.0);
        Self {
            request: message,
            response: message,
            messages_per_conversation: 1.0,
            rate: 0.0,
            clients: 1.0,
            bandwidth: f64::INFINITY,
            round_trip: 0.0,
            cores: 1.0,
            needs: Vec::new(),
            sources: Vec::new(),
            partners: Vec::new(),
            callers: None,
            service: None,
            hops: 0.0,
            encrypted: 1.0,
            repeated: None,
            canonical: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(tls: bool, mechanism: Mechanism) -> Means {
        Means {
            proof: Proof::Usual,
            tls,
            mechanism,
            suite: String::new(),
        }
    }

    #[test]
    fn tls_ends_at_the_first_intermediary() {
        let https = means(true, Mechanism::None);
        assert_eq!(https.satisfies(Need::Integrity), Ok(()));
        assert_eq!(https.satisfies(Need::Confidentiality), Ok(()));
        assert_eq!(
            https.satisfies(Need::Authentication),
            Err("requests do not say who sent them")
        );
        assert_eq!(
            https.satisfies(Need::Intermediaries),
            Err("TLS ends at the first intermediary")
        );
        assert_eq!(
            means(true, Mechanism::Username).satisfies(Need::Authentication),
            Ok(())
        );
    }

    #[test]
    fn mechanisms_satisfy_what_they_prove() {
        let satisfied = |mechanism| {
            let means = means(false, mechanism);
            Need::ALL.map(|need| means.satisfies(need).is_ok())
        };
        assert_eq!(satisfied(Mechanism::None), [false, false, false, true]);
        assert_eq!(satisfied(Mechanism::Username), [false, false, true, true]);
        assert_eq!(satisfied(Mechanism::Sign), [true, false, true, true]);
        assert_eq!(satisfied(Mechanism::Encrypt), [false, true, false, true]);
        assert_eq!(satisfied(Mechanism::SignEncrypt), [true; 4]);
        assert_eq!(satisfied(Mechanism::SecureConversation), [true; 4]);
    }

    #[test]
    fn a_sample_has_its_octets_and_elements() {
        let sample = b"<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body><a/><b>1 &lt; 2</b></s:Body></s:Envelope>";
        let message = Message::of_sample(sample).expect("a message");
        assert_eq!(
            (message.bytes, message.elements),
            (sample.len() as f64, 4.0)
        );
        assert_eq!(Message::of_sample(b"<a/>"), None);
        assert_eq!("integrity".parse::<Need>(), Ok(Need::Integrity));
        assert!("speed".parse::<Need>().is_err());
    }
}
