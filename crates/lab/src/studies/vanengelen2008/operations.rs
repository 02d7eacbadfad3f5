//! Experiment 2: what of a message's time goes where (figure 3), by the engine's own timers.
//!
//! The operations are those of the paper's table 1, sent and received, as far as there are such
//! here: canonicalization and digest are one stream unless bytes are collected, so they are
//! collected for this. One message is sent, carried and received; a request and its response are
//! two of them, and the shares are the same. The rule kept here: what an operation takes is told by
//! the engine while it works on a real message, not by a loop over the operation alone.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use jiff::Timestamp;
use soapstone::crypto::{Curve, DigestAlgorithm, KeyKind, SecretBytes, SignatureAlgorithm};
use soapstone::replay::ReplayCache;
use soapstone::wss::{
    Buffering, End, Facts, FirstSeen, InboundPlan, KeyBinding, KeyReference, Mechanism, Operation,
    OperationObserver, OutboundPlan, Outgoing, Part, PasswordKind, ReplayKey, Suite,
    SymmetricToken, Tuning,
};
use soapstone::xml::Buffers;
use soapstone_store::MemoryReplay;

use super::messages::{self, Spelling};
use super::point;
use super::processor;
use crate::papers::Laid;
use crate::peers::{PASSWORD, Peers, USER};
use crate::study::{Estimate, Experiment, Figure, Line, Point, Procedure, Quantity, Scope, Shows};
use crate::tls::Connection;

/// Strings of the message.
const STRINGS: usize = 10;
/// Nonces that are held while passwords are checked.
const NONCES: u32 = 10_000;

/// Which proof a message carries: its name, and what is set for it.
const PROOFS: [&str; 9] = [
    "none",
    "hmac-sha1",
    "dsa-sha1",
    "rsa-sha1",
    "ecdsa-sha256",
    "username-text",
    "username-digest",
    "username-text-signed",
    "username-digest-signed",
];

pub(super) const EXPERIMENT: Experiment = Experiment {
    number: 2,
    question: "What of the time of a message goes where?",
    figures: &[
        Figure {
            shown_in: "figure-3",
            caption: "processor time of operations on a message of ten strings that is sent and received once; https is what carries it instead of tcp",
            lines: None,
            x: "proof",
            logarithmic: false,
            shows: Shows::Parts {
                of: Quantity::Processor,
                by: Estimate::Median,
                parts: &PARTS,
            },
            reported: &[],
        },
        Figure {
            shown_in: "figure-3-percent",
            caption: "the same in percent of all of them",
            lines: Some("figure-3"),
            x: "proof",
            logarithmic: false,
            shows: Shows::Share {
                of: Quantity::Processor,
                by: Estimate::Median,
                among: &PARTS,
            },
            reported: &[
                Laid::printed("figure-3", &[("arm", "c14n-out")]),
                Laid::printed("figure-3", &[("arm", "c14n-in")]),
                Laid::printed("figure-3", &[("arm", "verify")]),
                Laid::printed("figure-3", &[("arm", "digest-out")]),
                Laid::printed("figure-3", &[("arm", "digest-in")]),
            ],
        },
        Figure {
            shown_in: "figure-3-share",
            caption: "the share of security, and of everything that a message without it takes: writing, reading, carrying",
            lines: None,
            x: "proof",
            logarithmic: false,
            shows: Shows::Share {
                of: Quantity::Processor,
                by: Estimate::Median,
                among: &["security", "messaging"],
            },
            reported: &[Laid::printed("figure-3", &[("arm", "security")])],
        },
    ],
    points: |_| {
        let figures = [
            ("figure-3", Procedure::Own(operations)),
            ("figure-3-share", Procedure::Own(shares)),
        ];
        figures
            .into_iter()
            .flat_map(|(figure, procedure)| {
                PROOFS.map(|proof| point(figure, &[("proof", proof.to_owned())], procedure))
            })
            .collect()
    },
};

/// Adds up what operations take.
pub(super) struct Stopwatch {
    since: Instant,
    spent: BTreeMap<Operation, f64>,
}

impl Default for Stopwatch {
    fn default() -> Self {
        Self {
            since: Instant::now(),
            spent: BTreeMap::new(),
        }
    }
}

impl Stopwatch {
    /// Forgets what was before.
    pub(super) fn begin(&mut self) {
        self.since = Instant::now();
    }

    /// What an operation took, µs.
    pub(super) fn of(&self, operation: Operation) -> f64 {
        self.spent.get(&operation).copied().unwrap_or_default()
    }

    /// What all took, µs.
    pub(super) fn all(&self) -> f64 {
        self.spent.values().sum()
    }
}

impl OperationObserver for Stopwatch {
    fn ended(&mut self, operation: Operation) {
        let now = Instant::now();
        let took = (now - self.since).as_secs_f64() * 1e6;
        *self.spent.entry(operation).or_default() += took;
        self.since = now;
    }
}

/// What each operation takes.
fn operations(point: &Point, scope: &Scope, emit: &mut dyn FnMut(Line)) {
    for (operation, samples) in measure(point, scope) {
        processor::hand_out(operation, &samples, emit);
    }
}

/// Security, and the rest.
fn shares(point: &Point, scope: &Scope, emit: &mut dyn FnMut(Line)) {
    let repetitions = measure(point, scope);
    let sum = |security: bool| {
        let mut sums = Vec::new();
        for (operation, samples) in &repetitions {
            // Messages are secured instead of TLS.
            if *operation == "https" || MESSAGING.contains(operation) == security {
                continue;
            }
            sums.resize(samples.len(), 0.0);
            sums.iter_mut()
                .zip(samples)
                .for_each(|(sum, one)| *sum += one);
        }
        sums
    };
    processor::hand_out("security", &sum(true), emit);
    processor::hand_out("messaging", &sum(false), emit);
}

/// Operations of a message that is carried without TLS, in their order.
const PARTS: [&str; 16] = [
    "xml-send",
    "c14n-out",
    "digest-out",
    "sign",
    "username-sign",
    "key-out",
    "header-out",
    "tcp",
    "xml-receive",
    "header-in",
    "key-in",
    "username-check",
    "c14n-in",
    "digest-in",
    "verify",
    "replay",
];
/// Operations of messages without security.
const MESSAGING: [&str; 3] = ["xml-send", "xml-receive", "tcp"];

type Samples = BTreeMap<&'static str, Vec<f64>>;

/// Sends and receives messages, and adds what each operation of each takes to its samples.
fn measure(point: &Point, scope: &Scope) -> Samples {
    let proof = point.at.get("proof").map_or("none", String::as_str);
    let sides = Sides::of(proof);
    let mut carrier = Carrier::new();
    let mut buffers = Buffers::default();
    let mut samples = Samples::new();
    let repetitions = scope.scale.pick(30, 300);
    for repetition in 0..repetitions + 10 {
        let took = sides.message(&mut carrier, &mut buffers);
        if repetition < 10 {
            continue;
        }
        for (operation, time) in took {
            samples.entry(operation).or_default().push(time);
        }
    }
    samples
}

/// Sender and receiver.
struct Sides {
    outbound: OutboundPlan,
    inbound: InboundPlan,
    facts: Facts,
    replay: MemoryReplay,
    sent: Cell<u64>,
}

impl Sides {
    fn of(proof: &str) -> Self {
        let rsa = KeyKind::Rsa { bits: 2048 };
        let (mechanism, kind, algorithm) = match proof {
            "hmac-sha1" => (Mechanism::Sign, rsa, Some(SignatureAlgorithm::HmacSha1)),
            "dsa-sha1" => {
                let kind = KeyKind::Dsa { bits: 1024 };
                (Mechanism::Sign, kind, Some(SignatureAlgorithm::DsaSha1))
            }
            "rsa-sha1" => (Mechanism::Sign, rsa, Some(SignatureAlgorithm::RsaSha1)),
            "ecdsa-sha256" => {
                let kind = KeyKind::Ec(Curve::P256);
                (Mechanism::Sign, kind, Some(SignatureAlgorithm::EcdsaSha256))
            }
            "username-text" | "username-digest" => (Mechanism::Username, rsa, None),
            // The paper's UID+PW SIGN and UID+DA SIGN.
            "username-text-signed" | "username-digest-signed" => {
                (Mechanism::Username, rsa, Some(SignatureAlgorithm::HmacSha1))
            }
            _ => (Mechanism::None, rsa, None),
        };
        let mut suite = Suite::named("Basic256Sha256").expect("a suite of the table");
        // The paper's digests, but for the algorithm that has one of its own.
        if algorithm != Some(SignatureAlgorithm::EcdsaSha256) {
            suite.digest = vec![DigestAlgorithm::Sha1];
        }
        let binding = match algorithm {
            Some(SignatureAlgorithm::HmacSha1) => KeyBinding::Shared,
            Some(algorithm) => {
                suite.signature = vec![algorithm];
                KeyBinding::Certificate
            }
            None => KeyBinding::Certificate,
        };
        let tuning = Tuning {
            buffering: Buffering::Buffered,
            ..Tuning::default()
        };
        let peers = Peers::with_keys(kind);
        let (outbound, inbound) = peers.plans_with(mechanism, &suite, binding, tuning, |policy| {
            if policy.binding.signs() {
                policy.parts.signed = vec![Part::Body];
                policy.header.timestamp = None;
            }
            if let Some(username) = policy.username_mut() {
                username.passwords = vec![match proof.strip_suffix("-signed").unwrap_or(proof) {
                    "username-text" => PasswordKind::Text,
                    _ => PasswordKind::Digest,
                }];
            }
            if mechanism == Mechanism::Username && algorithm.is_some() {
                policy.protect_with(SymmetricToken::Shared(KeyReference::KeyName));
                policy.parts.signed = vec![Part::UsernameToken];
            }
        });
        let sides = Self {
            outbound,
            inbound,
            facts: Facts {
                passwords: vec![(USER.to_owned(), SecretBytes::copy_of(PASSWORD))],
                ..Facts::default()
            },
            replay: MemoryReplay::new(10 * NONCES as usize),
            sent: Cell::new(0),
        };
        sides.hold_nonces();
        sides
    }

    /// Remembers as many nonces as the paper's receiver held.
    fn hold_nonces(&self) {
        let now = Timestamp::now();
        let until = now + jiff::SignedDuration::from_hours(1);
        for nonce in 0..NONCES {
            // Spread like the hashes that marks are.
            let spread = u64::from(nonce + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let key = [spread.to_be_bytes(); 4].concat();
            let key = key.try_into().expect("four times eight bytes");
            let mark = ReplayKey {
                key,
                until,
                end: End::Proven,
            };
            self.replay
                .first_seen(&[mark], now)
                .expect("room for the nonces");
        }
    }

    /// One message from the application's strings to the other application's: what each operation
    /// took, µs.
    fn message(&self, carrier: &mut Carrier, buffers: &mut Buffers) -> Vec<(&'static str, f64)> {
        let mut took = Vec::new();
        // Another one each time: without a time in them equal messages would be replays.
        self.sent.set(self.sent.get() + 1);
        let (time, plain) = processor::time(|| {
            messages::request(STRINGS, 0, self.sent.get(), Spelling::Canonical).into_bytes()
        });
        took.push(("xml-send", time));

        let (now, outgoing) = (Timestamp::now(), Outgoing::default());
        let mut message = Vec::with_capacity(2 * plain.len());
        let mut watch = Stopwatch::default();
        watch.begin();
        let envelope = messages::parse(plain, buffers);
        self.outbound
            .secure_into(envelope, outgoing, now, buffers, &mut message, &mut watch)
            .expect("a message that can be secured");
        took.extend(named(&watch, &SENT));

        let (time, ()) = processor::time(|| carrier.over_tcp(&message));
        took.push(("tcp", time));
        let (time, _) = processor::time(|| carrier.tls.carry(&message));
        took.push(("https", time));

        let (time, envelope) = processor::time(|| messages::parse(message, buffers));
        let read = time;
        let mut watch = Stopwatch::default();
        watch.begin();
        // The replay cache is asked afterwards, so that its time is in no operation's.
        let opened = self
            .inbound
            .authenticate(envelope, &self.facts, now, buffers, &mut watch)
            .and_then(|authenticated| {
                let first_seen = FirstSeen::assertion(authenticated.marks());
                authenticated.open(&first_seen, buffers)
            })
            .expect("a message that is accepted");
        took.extend(named(&watch, &RECEIVED));
        let (time, first_seen) = processor::time(|| self.replay.first_seen(opened.marks(), now));
        took.push(("replay", time));
        let verified = match first_seen {
            Ok(first_seen) => opened.admit(first_seen).expect("its own marks"),
            Err(error) => panic!("a message that was never sent before: {error}"),
        };
        let (time, strings) = processor::time(|| messages::strings(verified.envelope()));
        assert_eq!(strings.len(), STRINGS);
        took.push(("xml-receive", read + time));
        verified.finish(buffers);
        took
    }
}

/// The names of operations on the way out, and on the way in.
const SENT: [(Operation, &str); 6] = [
    (Operation::Canonicalization, "c14n-out"),
    (Operation::Digest, "digest-out"),
    (Operation::Signature, "sign"),
    (Operation::Username, "username-sign"),
    (Operation::Key, "key-out"),
    (Operation::Other, "header-out"),
];
const RECEIVED: [(Operation, &str); 6] = [
    (Operation::Canonicalization, "c14n-in"),
    (Operation::Digest, "digest-in"),
    (Operation::Signature, "verify"),
    (Operation::Username, "username-check"),
    (Operation::Key, "key-in"),
    (Operation::Other, "header-in"),
];

/// What a watch says, under these names; operations that there were none of are left out.
fn named<'n>(
    watch: &Stopwatch,
    names: &'n [(Operation, &'static str)],
) -> impl Iterator<Item = (&'static str, f64)> + use<'n> {
    let took: Vec<_> = names
        .iter()
        .map(|(operation, name)| (*name, watch.of(*operation)))
        .filter(|(_, time)| *time > 0.0)
        .collect();
    took.into_iter()
}

/// What carries bytes from one end to the other, both in this process.
struct Carrier {
    near: TcpStream,
    far: TcpStream,
    tls: Connection,
    received: Vec<u8>,
}

impl Carrier {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of this machine");
        let address = listener.local_addr().expect("an address");
        let near = TcpStream::connect(address).expect("a connection to ourselves");
        let (far, _) = listener.accept().expect("the connection");
        near.set_nodelay(true).expect("an option of every socket");
        Self {
            near,
            far,
            tls: Connection::new(),
            received: Vec::new(),
        }
    }

    /// Sends bytes that fit into the buffers of a socket, and receives them.
    fn over_tcp(&mut self, octets: &[u8]) {
        self.near.write_all(octets).expect("room in the socket");
        self.received.resize(octets.len(), 0);
        self.far
            .read_exact(&mut self.received)
            .expect("what was sent");
    }
}
