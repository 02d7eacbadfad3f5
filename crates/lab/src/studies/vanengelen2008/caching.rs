//! Experiment 3: objects kept by the digests of the elements they were made of, at several shares
//! of elements that were seen before (figure 4).
//!
//! Measured is all that a receiver does, from bytes to strings. Without a cache strings are read
//! where they stand (`elements`); with it each is an object that is made of its canonical form or
//! found, and elements that were seen before are compared instead of digested. `made` makes the
//! objects too and remembers nothing: what an application pays that wants them. The rule kept here:
//! a message that is opened with a cache was never opened before; only its elements were.
//!
//! What the claim measures there and here. An element that the paper's cache has is neither
//! canonicalized nor digested nor deserialized. Here the first two are left out as well, and they
//! are the smaller part: an element in canonical form goes to its digest as it lies. The third is
//! not the engine's, which hands out the message; its place is taken by `made`. No cache leaves out
//! what is left, and what is left is the larger part: the `ds:Reference` of each element, which is
//! five elements to scan and some 330 bytes that the signature value is computed over. So factors
//! over `elements` stay small however cheap it is to find an object, and those over `made` are what
//! an application gains.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::sync::Arc;

use jiff::Timestamp;
use soapstone::wss::{
    CacheBounds, Envelope, Facts, FirstSeen, InboundPlan, ObjectCache, OutboundPlan, Outgoing,
    Tuning, Verified,
};
use soapstone::xml::Buffers;

use super::messages::{self, Signed, Spelling};
use super::processor::{self, Arm};
use super::{number, point};
use crate::papers::Laid;
use crate::study::{Estimate, Experiment, Figure, Line, Point, Procedure, Quantity, Scope, Shows};

/// Shares of elements that were seen before, in percent.
const RATIOS: [usize; 5] = [0, 25, 50, 75, 100];

pub(super) const EXPERIMENT: Experiment = Experiment {
    number: 3,
    question: "What is saved by objects that are kept by the digests of their elements?",
    figures: &[
        Figure {
            shown_in: "figure-4",
            caption: "processor time to receive an array of strings, each signed, by the share of strings that were received before",
            lines: None,
            x: "elements",
            logarithmic: true,
            shows: Shows::Itself(Quantity::Processor, Estimate::Median),
            reported: &[],
        },
        Figure {
            shown_in: "figure-4-factor",
            caption: "the same by that without a cache: how many times faster; references to the strings are read and their signature value is verified with and without",
            lines: Some("figure-4"),
            x: "elements",
            logarithmic: true,
            shows: Shows::Factor {
                of: Quantity::Processor,
                by: Estimate::Median,
                baseline: "elements",
            },
            reported: &[Laid::printed("text-3.3", &[("arm", "cache-100")])],
        },
        Figure {
            shown_in: "objects-factor",
            caption: "the same by that of making an object of each string anew: how many times faster",
            lines: Some("figure-4"),
            x: "elements",
            logarithmic: true,
            shows: Shows::Factor {
                of: Quantity::Processor,
                by: Estimate::Median,
                baseline: "made",
            },
            reported: &[],
        },
    ],
    points: |scope| {
        let elements: &[usize] = scope
            .scale
            .pick(&[100, 1_000], &[100, 500, 1_000, 2_000, 5_000]);
        let points = elements.iter().map(|count| {
            let at = [("elements", count.to_string())];
            point("figure-4", &at, Procedure::Own(measure))
        });
        points.collect()
    },
};

fn measure(point: &Point, scope: &Scope, emit: &mut dyn FnMut(Line)) {
    let elements = number(point, "elements");
    let repetitions = scope.scale.pick(7, 30);
    let buffers = RefCell::new(Buffers::default());
    let mut arms = vec![Arm::new("none", || {
        let octets = messages::request(elements, elements, 0, Spelling::Canonical).into_bytes();
        let buffers = &mut buffers.borrow_mut();
        let (time, count) = processor::time(|| {
            let envelope = messages::parse(octets, buffers);
            let count = messages::strings(&envelope).len();
            envelope.recycle(buffers);
            count
        });
        assert_eq!(count, elements);
        time
    })];
    for (name, signed) in [("body", Signed::Body), ("elements", Signed::Elements)] {
        let receiver = Receiver::new(signed, elements, &buffers);
        arms.push(Arm::new(name, move || {
            receiver.receive(elements, |message| {
                messages::strings(message.envelope()).len()
            })
        }));
    }
    let nothing = CacheBounds {
        entries: 0,
        octets: 0,
    };
    let enough = CacheBounds {
        entries: 4 * elements,
        octets: 64 << 20,
    };
    let ratios = RATIOS.map(|ratio| (format!("cache-{ratio}"), ratio, enough));
    for (name, ratio, bounds) in [("made".to_owned(), 0, nothing)].into_iter().chain(ratios) {
        let known = elements * ratio / 100;
        let receiver = Receiver::caching(elements, bounds, &buffers);
        let objects = ObjectCache::<String>::new(bounds);
        let standing_alone = RefCell::new(Buffers::default());
        let arm = Arm::new(name, move || {
            receiver.receive(known, |message| {
                let object = |element: soapstone::xml::Element<'_>| {
                    let make = |octets: &[u8]| {
                        Ok::<_, Infallible>(messages::string(
                            octets,
                            &mut standing_alone.borrow_mut(),
                        ))
                    };
                    objects
                        .object(message, element.id(), make)
                        .expect("every string is signed")
                };
                let strings: Vec<Arc<String>> =
                    messages::elements(message.envelope()).map(object).collect();
                strings.len()
            })
        });
        arms.push(arm);
    }
    processor::in_turns(arms, repetitions, emit);
}

/// One who receives messages that were never received before.
struct Receiver<'b> {
    outbound: OutboundPlan,
    inbound: InboundPlan,
    elements: usize,
    sent: Cell<u64>,
    buffers: &'b RefCell<Buffers>,
}

impl<'b> Receiver<'b> {
    fn new(signed: Signed, elements: usize, buffers: &'b RefCell<Buffers>) -> Self {
        Self::with(signed, elements, Tuning::default(), buffers)
    }

    fn caching(elements: usize, bounds: CacheBounds, buffers: &'b RefCell<Buffers>) -> Self {
        let tuning = Tuning {
            digest_cache: Some(bounds),
            ..Tuning::default()
        };
        Self::with(Signed::Elements, elements, tuning, buffers)
    }

    fn with(
        signed: Signed,
        elements: usize,
        tuning: Tuning,
        buffers: &'b RefCell<Buffers>,
    ) -> Self {
        let (outbound, inbound) = messages::plans(signed, elements, tuning);
        Self {
            outbound,
            inbound,
            elements,
            sent: Cell::new(0),
            buffers,
        }
    }

    /// Receives a message whose first `known` strings are those of all messages: what it takes
    /// until the application has `read` it.
    fn receive(&self, known: usize, read: impl FnOnce(&Verified<Envelope>) -> usize) -> f64 {
        self.sent.set(self.sent.get() + 1);
        let plain = messages::request(self.elements, known, self.sent.get(), Spelling::Canonical);
        let buffers = &mut self.buffers.borrow_mut();
        let now = Timestamp::now();
        let envelope = messages::parse(plain.into_bytes(), buffers);
        let secured = self
            .outbound
            .secure(envelope, Outgoing::default(), now, buffers)
            .expect("a message that can be secured");
        let (time, count) = processor::time(|| {
            let envelope = messages::parse(secured.bytes, buffers);
            let opened = self
                .inbound
                .open_unmarked(envelope, &Facts::default(), now, buffers)
                .expect("a message that is accepted");
            let first_seen = FirstSeen::assertion(opened.late_marks());
            let verified = opened.admit(first_seen).expect("its own marks");
            let count = read(&verified);
            verified.finish(buffers);
            count
        });
        assert_eq!(count, self.elements);
        time
    }
}
