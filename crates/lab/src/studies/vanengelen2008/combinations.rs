//! Experiment 6: optimizations together. What the paper says earlier work leaves out is
//! combinations, and a four-fold gain and an order of magnitude are its sums.
//!
//! | | combined |
//! |---|---|
//! | signature | RSA, HMAC with a shared key, HMAC with keys derived in a conversation |
//! | sender | two passes, known digests, known digests and no message assembled |
//! | receiver's memory | none, objects of which half are known, objects that are all known |
//! | canonicalization | always, on demand, none of runs that are canonical already |
//!
//! A round trip is a request and its answer, each an array of signed strings, from bytes at the
//! sender to strings at the receiver, both ends in this thread. Messages that nobody signs stand
//! beside it, in memory and under TLS. The rule kept here: the dearest combination is measured
//! again at each point, in turns with what is compared with it.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use soapstone::wss::{
    CacheBounds, FirstSeen, InboundPlan, KeyBinding, Mechanism, ObjectCache, OutboundPlan,
    Outgoing, Part, Suite, Tuning,
};
use soapstone::xml::Buffers;

use super::messages::{self, Spelling};
use super::processor::{self, Arm};
use crate::engine::Established;
use crate::peers::Peers;
use crate::study::{Estimate, Experiment, Figure, Line, Point, Procedure, Quantity, Scope, Shows};
use crate::tls::Connection;

/// Kinds of signatures.
const SIGNATURES: [&str; 3] = ["rsa", "hmac", "conversation"];
/// What a receiver remembers: its name, and how many percent of the strings are known.
const CACHES: [(&str, usize); 3] = [("none", 100), ("50", 50), ("100", 100)];
/// When a receiver canonicalizes.
const CANONICALIZING: [&str; 3] = ["always", "on-demand", "runs"];
/// What a sender does.
const SENDING: [&str; 3] = ["two-pass", "prehashed", "streaming-prehashed"];

pub(super) const EXPERIMENT: Experiment = Experiment {
    number: 6,
    question: "What do optimizations gain together, and is TLS still faster than all of them?",
    figures: &[
        Figure {
            shown_in: "combinations",
            caption: "beyond single optimizations: processor time of a round trip of signed strings, by when the receiver canonicalizes",
            lines: None,
            x: "canonicalizing",
            logarithmic: true,
            shows: Shows::Itself(Quantity::Processor, Estimate::Median),
            reported: &[],
        },
        Figure {
            shown_in: "combinations-factor",
            caption: "the same by that of the dearest combination with the same kind of signature: how many times faster",
            lines: Some("combinations"),
            x: "canonicalizing",
            logarithmic: true,
            shows: Shows::Factor {
                of: Quantity::Processor,
                by: Estimate::Median,
                baseline: DEAREST_OF_ITS_KIND,
            },
            reported: &[],
        },
        Figure {
            shown_in: "combinations-gain",
            caption: "the same by that of the dearest combination of all, with signatures by RSA: how many times faster",
            lines: Some("combinations"),
            x: "canonicalizing",
            logarithmic: true,
            shows: Shows::Factor {
                of: Quantity::Processor,
                by: Estimate::Median,
                baseline: DEAREST,
            },
            reported: &[],
        },
    ],
    points: |_| {
        let mut points = Vec::new();
        for signature in SIGNATURES {
            for (cache, _) in CACHES {
                points.extend(CANONICALIZING.map(|canonicalizing| {
                    let at = [
                        ("signature", signature.to_owned()),
                        ("cache", cache.to_owned()),
                        ("canonicalizing", canonicalizing.to_owned()),
                    ];
                    super::point("combinations", &at, Procedure::Own(measure))
                }));
            }
        }
        points
    },
};

/// Two passes, no cache, and canonicalization always.
const DEAREST_OF_ITS_KIND: &str = "dearest-of-its-kind";
/// The same with RSA.
const DEAREST: &str = "dearest";

/// One of all combinations.
#[derive(Clone, Copy)]
struct Combination<'n> {
    signature: &'n str,
    sending: &'n str,
    cache: (&'n str, usize),
    canonicalizing: &'n str,
}

fn measure(point: &Point, scope: &Scope, emit: &mut dyn FnMut(Line)) {
    let at = |axis: &str| point.at.get(axis).map_or("", String::as_str);
    let Some(cache) = CACHES.into_iter().find(|it| it.0 == at("cache")) else {
        return;
    };
    let (signature, canonicalizing) = (at("signature"), at("canonicalizing"));
    let strings = scope.scale.pick(100, 1_000);
    let peers = peers();
    let buffers = RefCell::new(Buffers::default());
    let dearest = |signature| Combination {
        signature,
        sending: SENDING[0],
        cache: CACHES[0],
        canonicalizing: CANONICALIZING[0],
    };
    let combinations = SENDING.map(|sending| {
        let combination = Combination {
            signature,
            sending,
            cache,
            canonicalizing,
        };
        (sending, combination)
    });
    let combinations = combinations.into_iter().chain([
        (DEAREST_OF_ITS_KIND, dearest(signature)),
        (DEAREST, dearest(SIGNATURES[0])),
    ]);
    let mut arms = Vec::new();
    for (name, combination) in combinations {
        let parties = Parties::of(&combination, peers, strings, &buffers);
        arms.push(Arm::new(name, move || {
            parties.one_way() + parties.one_way()
        }));
    }
    for (name, tls) in [("none", false), ("tls", true)] {
        let plain = Plain {
            strings,
            connection: tls.then(|| RefCell::new(Connection::new())),
            buffers: &buffers,
            sent: Cell::new(0),
        };
        arms.push(Arm::new(name, move || plain.one_way() + plain.one_way()));
    }
    processor::in_turns(arms, scope.scale.pick(5, 30), emit);
}

/// Those with RSA keys, which are made once for all points.
fn peers() -> &'static Peers {
    static PEERS: OnceLock<Peers> = OnceLock::new();
    PEERS.get_or_init(Peers::new)
}

/// A sender and a receiver of one combination.
struct Parties<'b> {
    outbound: OutboundPlan,
    inbound: InboundPlan,
    established: Option<Established>,
    streams: bool,
    strings: usize,
    /// So many strings are the same in all messages.
    known: usize,
    /// Objects by the digests of their elements, where the receiver remembers them.
    objects: Option<ObjectCache<String>>,
    sent: Cell<u64>,
    buffers: &'b RefCell<Buffers>,
}

impl<'b> Parties<'b> {
    fn of(
        combination: &Combination<'_>,
        peers: &Peers,
        strings: usize,
        buffers: &'b RefCell<Buffers>,
    ) -> Self {
        let bounds = CacheBounds {
            entries: 4 * strings + 16,
            octets: 64 << 20,
        };
        let (cache, known) = combination.cache;
        let remembers = cache != CACHES[0].0;
        let sending = Tuning {
            canonical_runs: combination.sending == "streaming-prehashed",
            prehash: (combination.sending != "two-pass").then_some(bounds),
            ..Tuning::default()
        };
        let receiving = Tuning {
            canonical_runs: combination.canonicalizing == "runs",
            on_demand: combination.canonicalizing == "on-demand",
            digest_cache: remembers.then_some(bounds),
            ..Tuning::default()
        };
        let (mechanism, binding) = match combination.signature {
            "rsa" => (Mechanism::Sign, KeyBinding::Certificate),
            "hmac" => (Mechanism::Sign, KeyBinding::Shared),
            _ => (Mechanism::SecureConversation, KeyBinding::Context),
        };
        let suite = Suite::named("Basic256Sha256").expect("a suite of the table");
        let tunings = [sending, receiving];
        let (outbound, inbound) =
            peers.plans_tuned(mechanism, &suite, binding, tunings, |policy| {
                policy.limits.references = strings + 16;
                let ids = (0..strings).map(|index| Part::Id(format!("s{index}")));
                policy.parts.signed = ids.chain([Part::Timestamp]).collect();
                policy.parts.encrypted.clear();
            });
        let established = mechanism == Mechanism::SecureConversation;
        Self {
            outbound,
            inbound,
            established: established.then(Established::new),
            streams: combination.sending == "streaming-prehashed",
            strings,
            known: strings * known / 100,
            objects: remembers.then(|| ObjectCache::new(bounds)),
            sent: Cell::new(0),
            buffers,
        }
    }

    /// One message: what it takes both sides, µs.
    fn one_way(&self) -> f64 {
        self.sent.set(self.sent.get() + 1);
        let plain = messages::request(
            self.strings,
            self.known,
            self.sent.get(),
            Spelling::Canonical,
        );
        let plain = plain.into_bytes();
        let buffers = &mut self.buffers.borrow_mut();
        let now = Timestamp::now();
        let facts = match &self.established {
            Some(established) => established.facts(),
            None => Default::default(),
        };
        let (time, count) = processor::time(|| {
            let outgoing = match &self.established {
                Some(established) => established.outgoing(),
                None => Outgoing::default(),
            };
            let length = plain.len();
            let envelope = messages::parse(plain, buffers);
            let message = if self.streams {
                let mut message = buffers.take(4 * length);
                self.outbound
                    .secure_into(envelope, outgoing, now, buffers, &mut message, &mut ())
                    .expect("a message that can be secured");
                message
            } else {
                let secured = self.outbound.secure(envelope, outgoing, now, buffers);
                secured.expect("a message that can be secured").bytes
            };
            let envelope = messages::parse(message, buffers);
            let opened = self
                .inbound
                .open_unmarked(envelope, &facts, now, buffers)
                .expect("a message that is accepted");
            let first_seen = FirstSeen::assertion(opened.late_marks());
            let verified = opened.admit(first_seen).expect("its own marks");
            let count = match &self.objects {
                None => messages::strings(verified.envelope()).len(),
                Some(objects) => {
                    let mut standing_alone = Buffers::default();
                    let object = |element: soapstone::xml::Element<'_>| {
                        let make = |octets: &[u8]| {
                            Ok::<_, Infallible>(messages::string(octets, &mut standing_alone))
                        };
                        let object = objects.object(&verified, element.id(), make);
                        object.expect("every string is signed")
                    };
                    let elements = messages::elements(verified.envelope());
                    elements.map(object).collect::<Vec<Arc<String>>>().len()
                }
            };
            verified.finish(buffers);
            count
        });
        assert_eq!(count, self.strings);
        time
    }
}

/// Two that sign nothing.
struct Plain<'b> {
    strings: usize,
    /// Nothing, where messages stay in memory.
    connection: Option<RefCell<Connection>>,
    buffers: &'b RefCell<Buffers>,
    sent: Cell<u64>,
}

impl Plain<'_> {
    fn one_way(&self) -> f64 {
        self.sent.set(self.sent.get() + 1);
        let plain = messages::request(self.strings, 0, self.sent.get(), Spelling::Canonical);
        let plain = plain.into_bytes();
        let buffers = &mut self.buffers.borrow_mut();
        let (time, count) = processor::time(|| {
            if let Some(connection) = &self.connection {
                connection.borrow_mut().carry(&plain);
            }
            let envelope = messages::parse(plain, buffers);
            let count = messages::strings(&envelope).len();
            envelope.recycle(buffers);
            count
        });
        assert_eq!(count, self.strings);
        time
    }
}
