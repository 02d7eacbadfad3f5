//! Tokens in the place of certificates: what has to be there for each, and what messages under
//! their keys take.
//!
//! The rule kept here: a token is advised only where the user says that its source is there.

use std::fmt;
use std::str::FromStr;
use std::time::Instant;

use jiff::Timestamp;
use soapstone::endpoint::{Arrived, Call, Client, Memory, Service};
use soapstone::replay::ForgetfulReplayCache;
use soapstone::wss::{Mechanism, Outgoing, Receipt};
use soapstone::xml::Buffers;
use soapstone_store::MemoryContexts;

use crate::measurement::{Effort, Measurement, Samples, repeat};
use crate::payload::Payload;
use crate::study::Proof;

/// What there is beside certificates, that the keys of messages can come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Both sides hold a key.
    SharedKey,
    /// The service knows the passwords of its clients.
    Passwords,
    /// A KDC knows both sides.
    Kdc,
    /// The service believes an issuer of assertions, who knows the clients.
    Issuer,
}

impl Source {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::SharedKey, Self::Passwords, Self::Kdc, Self::Issuer];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SharedKey => "shared-key",
            Self::Passwords => "passwords",
            Self::Kdc => "kdc",
            Self::Issuer => "issuer",
        }
    }

    /// The tokens that it takes.
    pub const fn tokens(self) -> &'static [Proof] {
        match self {
            Self::SharedKey => &[Proof::SharedKey],
            Self::Passwords => &[Proof::PasswordKey],
            Self::Kdc => &[Proof::Kerberos, Proof::KerberosOnce],
            Self::Issuer => &[Proof::SamlHolder, Proof::SamlBearer],
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|it| it.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("expected a source of tokens ({names}), found {text}")
        })
    }
}

/// What lines of measurements say of the keys of messages.
const BINDINGS: [(&str, Proof); 8] = [
    ("certificate", Proof::Usual),
    ("context", Proof::Usual),
    ("shared", Proof::SharedKey),
    ("password", Proof::PasswordKey),
    ("kerberos", Proof::Kerberos),
    ("kerberos-once", Proof::KerberosOnce),
    ("saml-holder", Proof::SamlHolder),
    ("saml-bearer", Proof::SamlBearer),
];

/// What the keys of a measured message came from; `None`, where that is not known.
pub(super) fn proof_of(binding: &str) -> Option<Proof> {
    let found = BINDINGS.iter().find(|it| it.0 == binding);
    found.map(|it| it.1)
}

/// Whether a token can be chosen where these sources are there: one of theirs, under a mechanism
/// that proves with it.
pub(super) fn is_there(sources: &[Source], mechanism: Mechanism, proof: Proof) -> bool {
    let mut tokens = sources.iter().flat_map(|source| source.tokens());
    proof == Proof::Usual || mechanism.signs() && tokens.any(|token| *token == proof)
}

/// Both ends of calls under the keys of a token.
#[derive(Debug)]
pub struct TokenEnds {
    /// Which token.
    pub proof: Proof,
    /// What is done to messages.
    pub mechanism: Mechanism,
    /// The suite's name.
    pub suite: String,
    /// Who sends requests.
    pub client: Client,
    /// Who answers.
    pub service: Service,
}

/// Measures what securing and opening a message takes under a token: two lines for each payload.
///
/// Requests and answers differ: requests carry the token, and answers name it. A line is of a
/// request and an answer with the same payload, half of what both take.
///
/// # Panics
/// The ends do not understand each other.
pub fn measure_token(
    ends: &TokenEnds,
    payloads: &[Payload],
    effort: Effort,
    emit: &mut dyn FnMut(&Measurement),
) {
    let contexts = MemoryContexts::new(ROOM);
    let memory = Memory {
        replay: &ForgetfulReplayCache,
        contexts: &contexts,
    };
    let binding = BINDINGS.iter().rev().find(|it| it.1 == ends.proof);
    let binding = binding.map_or("certificate", |it| it.0);
    for payload in payloads.iter().copied() {
        let plain = payload.envelope();
        let mut buffers = Buffers::default();
        let (mut secured, mut opened, mut bytes) = (Vec::new(), Vec::new(), 0);
        repeat(effort, |counts| {
            let round = ends.round(&plain, memory, &mut buffers);
            bytes = round.bytes / 2;
            if counts {
                secured.push(round.securing / 2.0);
                opened.push(round.opening / 2.0);
            }
        });
        for (op, times) in [("secure", secured), ("open", opened)] {
            let figures = Samples::from_iter(times).figures();
            emit(&Measurement {
                suite: ends.suite.clone(),
                binding: binding.into(),
                bytes: plain.len(),
                secured_bytes: bytes,
                ..Measurement::ours(op, ends.mechanism.name(), payload, &figures)
            });
        }
    }
}

/// Sessions that the service has room for: there is one at a time.
const ROOM: usize = 64;

/// What a request and its answer take together: microseconds, and bytes.
struct Round {
    securing: f64,
    opening: f64,
    bytes: usize,
}

impl TokenEnds {
    /// A request and its answer, both with this message.
    fn round(&self, plain: &[u8], memory: Memory<'_>, buffers: &mut Buffers) -> Round {
        let mut round = Round {
            securing: 0.0,
            opening: 0.0,
            bytes: 0,
        };
        let call = &mut Call::new(Timestamp::now(), buffers);
        let begun = Instant::now();
        let request = self
            .client
            .secure_with(plain.to_vec(), Outgoing::default(), call)
            .expect("a request that can be secured");
        round.securing += since(begun);
        round.bytes += request.bytes.len();
        let begun = Instant::now();
        let receipt = self.received(request.bytes, memory, call);
        round.opening += since(begun);
        let begun = Instant::now();
        let answer = self
            .service
            .answer_with(plain.to_vec(), &receipt, call)
            .expect("an answer that can be secured");
        round.securing += since(begun);
        round.bytes += answer.bytes.len();
        let begun = Instant::now();
        self.client
            .open_with(answer.bytes, request.receipt, memory, call)
            .expect("an answer that is accepted");
        round.opening += since(begun);
        round
    }

    fn received(&self, request: Vec<u8>, memory: Memory<'_>, call: &mut Call<'_>) -> Receipt {
        let read = self.service.read(request, call).expect("an envelope");
        let arrived = self.service.receive_with(read, memory, call);
        match arrived.expect("a request that is accepted") {
            Arrived::Message(opened) => opened.receipt,
            Arrived::Answered(_) => panic!("an echo is no request for a token"),
        }
    }
}

fn since(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e6
}
