//! Experiment 5: what canonicalization costs, and what it pays to gamble that messages are
//! canonical as they came (figure 6).
//!
//! The paper's model is `cost = α(1 − c) + (1 − α)(2 − c)`, where α is the share of messages that
//! are canonical, c the share of canonicalization in the cost of a message, and 1 what a message
//! costs that is always canonicalized. `c` is what the first figure shows, the second what becomes
//! of it over α, beside the model. The rule kept here: `runs` is measured beside the gamble, since
//! it knows what the gamble guesses.

use std::cell::RefCell;

use jiff::Timestamp;
use soapstone::wss::{Buffering, Facts, FirstSeen, InboundPlan, Operation, Outgoing, Tuning};
use soapstone::xml::Buffers;

use super::messages::{self, Signed, Spelling};
use super::operations::Stopwatch;
use super::processor::{self, Arm};
use super::{number, point};
use crate::papers::Laid;
use crate::study::{
    Estimate, Experiment, Figure, Finding, Gamble, Line, Point, Procedure, Quantity, Scope, Shows,
};

/// Shares of messages that are canonical, in percent. The paper's model has the break-even at 88.
const SHARES: [usize; 6] = [0, 25, 50, 75, 90, 100];
/// Strings of the messages of the gamble; the model's `at` has the same.
const STRINGS: usize = 200;
/// Messages of a repetition of the gamble: every share of them is a whole number.
const MESSAGES: usize = 20;

pub(super) const EXPERIMENT: Experiment = Experiment {
    number: 5,
    question: "What does canonicalization cost, and can it be left out?",
    figures: &[
        Figure {
            shown_in: "figure-6",
            caption: "processor time of canonicalization and of everything else, when every part is written anew and when canonical runs are passed on",
            lines: None,
            x: "elements",
            logarithmic: true,
            shows: Shows::Itself(Quantity::Processor, Estimate::Median),
            reported: &[Laid::printed("figure-6", &[])],
        },
        Figure {
            shown_in: "cost-model",
            caption: "processor time to receive a message by that of always canonicalizing; canonical are so many percent of the messages",
            lines: None,
            x: "canonical",
            logarithmic: false,
            shows: Shows::Modelled {
                of: Quantity::Processor,
                by: Estimate::Mean,
                baseline: "always",
                model: Gamble {
                    arm: "on-demand",
                    parts: "figure-6",
                    at: ("elements", "200"),
                    canonicalization: "c14n-in/anew",
                    rest: "rest-in/anew",
                },
            },
            reported: &[],
        },
        Figure {
            shown_in: "cost-model-even",
            caption: "break-even as measured: the share of canonical messages from which on the gamble costs no more than always \
                      canonicalizing; the paper has it by its model, 1 − c",
            lines: None,
            x: "signed",
            logarithmic: false,
            shows: Shows::Drawn {
                from: "cost-model",
                finding: Finding::Even {
                    of: Quantity::Processor,
                    arm: "on-demand",
                    beside: "always",
                },
            },
            reported: &[Laid::printed("text-2.5", &[("unit", "%")])],
        },
    ],
    points: |scope| {
        let elements: &[usize] = scope.scale.pick(
            &[100, STRINGS, 5_000][..],
            &[10, 100, STRINGS, 500, 1_000, 2_000, 5_000],
        );
        let mut points = Vec::new();
        for signed in ["elements", "body"] {
            for count in elements {
                let at = [
                    ("elements", count.to_string()),
                    ("signed", signed.to_owned()),
                ];
                points.push(point("figure-6", &at, Procedure::Own(overhead)));
            }
            for share in SHARES {
                let at = [
                    ("canonical", share.to_string()),
                    ("signed", signed.to_owned()),
                ];
                points.push(point("cost-model", &at, Procedure::Own(gamble)));
            }
        }
        points
    },
};

fn signed(point: &Point) -> Signed {
    match point.at.get("signed").map(String::as_str) {
        Some("body") => Signed::Body,
        _ => Signed::Elements,
    }
}

/// Canonicalization and the rest of a message, sent and received.
fn overhead(point: &Point, scope: &Scope, emit: &mut dyn FnMut(Line)) {
    let elements = number(point, "elements");
    let plain = messages::request(elements, elements, 0, Spelling::Canonical);
    let mut buffers = Buffers::default();
    let repetitions = scope.scale.pick(7, 30);
    for (name, canonical_runs) in [("runs", true), ("anew", false)] {
        let tuning = Tuning {
            canonical_runs,
            buffering: Buffering::Buffered,
            ..Tuning::default()
        };
        let (outbound, inbound) = messages::plans(signed(point), elements, tuning);
        let mut samples: [Vec<f64>; 4] = Default::default();
        for _ in 0..repetitions {
            let mut watch = Stopwatch::default();
            let mut message = Vec::new();
            watch.begin();
            let envelope = messages::parse(plain.clone().into_bytes(), &mut buffers);
            let (now, outgoing) = (Timestamp::now(), Outgoing::default());
            outbound
                .secure_into(
                    envelope,
                    outgoing,
                    now,
                    &mut buffers,
                    &mut message,
                    &mut watch,
                )
                .expect("a message that can be secured");
            samples[0].push(watch.of(Operation::Canonicalization));
            samples[1].push(watch.all() - watch.of(Operation::Canonicalization));
            let mut watch = Stopwatch::default();
            watch.begin();
            let envelope = messages::parse(message, &mut buffers);
            let facts = Facts::default();
            let opened = inbound
                .authenticate(envelope, &facts, now, &mut buffers, &mut watch)
                .and_then(|authenticated| {
                    let first_seen = FirstSeen::assertion(authenticated.marks());
                    authenticated.open(&first_seen, &mut buffers)
                })
                .expect("a message that is accepted");
            samples[2].push(watch.of(Operation::Canonicalization));
            samples[3].push(watch.all() - watch.of(Operation::Canonicalization));
            let first_seen = FirstSeen::assertion(opened.late_marks());
            let verified = opened.admit(first_seen).expect("its own marks");
            verified.finish(&mut buffers);
        }
        for (what, samples) in ["c14n-out", "rest-out", "c14n-in", "rest-in"]
            .into_iter()
            .zip(samples)
        {
            processor::hand_out(&format!("{what}/{name}"), &samples, emit);
        }
    }
}

/// The gamble, at one share of messages that are canonical.
fn gamble(point: &Point, scope: &Scope, emit: &mut dyn FnMut(Line)) {
    let share = number(point, "canonical");
    let tunings = [
        ("always", (false, false)),
        ("on-demand", (false, true)),
        ("runs", (true, false)),
    ];
    let signed = signed(point);
    let (outbound, _) = messages::plans(signed, STRINGS, Tuning::default());
    let now = Timestamp::now();
    let buffers = RefCell::new(Buffers::default());
    let [canonical, other] = [Spelling::Canonical, Spelling::Other].map(|spelling| {
        let buffers = &mut buffers.borrow_mut();
        let plain = messages::request(STRINGS, STRINGS, 0, spelling);
        let envelope = messages::parse(plain.into_bytes(), buffers);
        outbound
            .secure(envelope, Outgoing::default(), now, buffers)
            .expect("a message that can be secured")
            .bytes
    });
    let (canonical, other, buffers) = (canonical.as_slice(), other.as_slice(), &buffers);
    let arms = tunings.map(|(name, (canonical_runs, on_demand))| {
        let tuning = Tuning {
            canonical_runs,
            on_demand,
            ..Tuning::default()
        };
        let (_, inbound) = messages::plans(signed, STRINGS, tuning);
        Arm::new(name, move || {
            let buffers = &mut buffers.borrow_mut();
            let mut total = 0.0;
            for index in 0..MESSAGES {
                // Spread evenly.
                let is_canonical = (index + 1) * share / 100 > index * share / 100;
                let octets = if is_canonical { canonical } else { other }.to_vec();
                total += receive(&inbound, octets, now, buffers);
            }
            total / MESSAGES as f64
        })
    });
    processor::in_turns(arms.into(), scope.scale.pick(5, 30), emit);
}

/// Processor time to open a message.
fn receive(inbound: &InboundPlan, octets: Vec<u8>, now: Timestamp, buffers: &mut Buffers) -> f64 {
    let (time, verified) = processor::time(|| {
        let envelope = messages::parse(octets, buffers);
        let opened = inbound
            .open_unmarked(envelope, &Facts::default(), now, buffers)
            .expect("a message that is accepted");
        let first_seen = FirstSeen::assertion(opened.late_marks());
        opened.admit(first_seen).expect("its own marks")
    });
    verified.finish(buffers);
    time
}
