//! Experiment 4: ways to send (figure 5).
//!
//! What the paper's variants are in an engine that is given whole messages:
//!
//! | arm | what it does |
//! |---|---|
//! | `none` | nothing is signed: the message is read and copied to its sink |
//! | `two-pass` | each signed part is written for its digest, and again into the message |
//! | `buffered` | each signed part's canonical form is collected in a buffer and digested there |
//! | `streaming` | runs of the source go to the digest, the message to its sink: nothing is assembled |
//! | `prehashed` | as `two-pass`, for parts that changed; of others the digest is known |
//! | `streaming-prehashed` | both |
//!
//! What the claim measures there and here. A sender whose digest of a part is known neither
//! canonicalizes nor digests it. What is left are the scan of the message, the reference to each
//! part, and a signature value over some 330 bytes for each: none of that can be known before, and
//! where canonical parts go to their digest as they lie it is the larger part. So factors here are
//! smaller than those of a sender who spends most of his time on canonicalization.
//!
//! The rule kept here: all arms send the same strings, which do not change, under ids that do not
//! change.

use std::cell::RefCell;

use jiff::Timestamp;
use soapstone::wss::{Buffering, CacheBounds, Outgoing, Tuning};
use soapstone::xml::{Buffers, FnSink};

use super::messages::{self, Signed, Spelling};
use super::processor::{self, Arm};
use super::{number, point};
use crate::papers::Laid;
use crate::study::{Estimate, Experiment, Figure, Line, Point, Procedure, Quantity, Scope, Shows};

pub(super) const EXPERIMENT: Experiment = Experiment {
    number: 4,
    question: "What do buffering, streaming and known digests save a sender?",
    figures: &[
        Figure {
            shown_in: "figure-5",
            caption: "processor time to send an array of strings, with each string signed and with the Body signed",
            lines: None,
            x: "elements",
            logarithmic: true,
            shows: Shows::Itself(Quantity::Processor, Estimate::Median),
            reported: &[],
        },
        Figure {
            shown_in: "figure-5-factor",
            caption: "the same by that of two passes: how many times faster",
            lines: Some("figure-5"),
            x: "elements",
            logarithmic: true,
            shows: Shows::Factor {
                of: Quantity::Processor,
                by: Estimate::Median,
                baseline: "two-pass",
            },
            reported: &[Laid::printed("text-3.4", &[("arm", "streaming-prehashed")])],
        },
        Figure {
            shown_in: "figure-5-baseline",
            caption: "the same by that of messages that are not signed",
            lines: Some("figure-5"),
            x: "elements",
            logarithmic: true,
            shows: Shows::Impact {
                of: Quantity::Processor,
                by: Estimate::Median,
                baseline: "none",
            },
            reported: &[],
        },
    ],
    points: |scope| {
        let elements: &[usize] = scope
            .scale
            .pick(&[100, 1_000], &[100, 500, 1_000, 2_000, 5_000]);
        let mut points = Vec::new();
        for signed in ["elements", "body"] {
            for count in elements {
                let at = [
                    ("elements", count.to_string()),
                    ("signed", signed.to_owned()),
                ];
                points.push(point("figure-5", &at, Procedure::Own(measure)));
            }
        }
        points
    },
};

fn measure(point: &Point, scope: &Scope, emit: &mut dyn FnMut(Line)) {
    let elements = number(point, "elements");
    let signed = match point.at.get("signed").map(String::as_str) {
        Some("body") => Signed::Body,
        _ => Signed::Elements,
    };
    let two_pass = Tuning {
        canonical_runs: false,
        ..Tuning::default()
    };
    let buffered = Tuning {
        buffering: Buffering::Buffered,
        ..Tuning::default()
    };
    let known = Some(CacheBounds {
        entries: 2 * elements + 16,
        octets: 64 << 20,
    });
    let prehashed = |tuning: Tuning| Tuning {
        prehash: known,
        ..tuning
    };
    let (assembled, in_pieces) = (false, true);
    let variants = [
        ("two-pass", two_pass, assembled),
        ("buffered", buffered, assembled),
        ("prehashed", prehashed(two_pass), assembled),
        ("streaming", Tuning::default(), in_pieces),
        (
            "streaming-prehashed",
            prehashed(Tuning::default()),
            in_pieces,
        ),
    ];
    let plain = messages::request(elements, elements, 0, Spelling::Canonical).into_bytes();
    let plain = plain.as_slice();
    let buffers = RefCell::new(Buffers::default());
    let buffers = &buffers;
    let none = Arm::new("none", move || {
        let buffers = &mut buffers.borrow_mut();
        let octets = plain.to_vec();
        let (time, sent) = processor::time(|| {
            let envelope = messages::parse(octets, buffers);
            let mut sink = buffers.take(plain.len());
            sink.extend_from_slice(envelope.document().bytes());
            let sent = sink.len();
            buffers.give(sink);
            envelope.recycle(buffers);
            sent
        });
        assert_eq!(sent, plain.len());
        time
    });
    let arms = variants.map(|(name, tuning, in_pieces)| {
        let (outbound, _) = messages::plans(signed, elements, tuning);
        Arm::new(name, move || {
            let buffers = &mut buffers.borrow_mut();
            let octets = plain.to_vec();
            let now = Timestamp::now();
            let (time, sent) = processor::time(|| {
                let envelope = messages::parse(octets, buffers);
                let outgoing = Outgoing::default();
                if !in_pieces {
                    let secured = outbound
                        .secure(envelope, outgoing, now, buffers)
                        .expect("a message that can be secured");
                    let sent = secured.bytes.len();
                    buffers.give(secured.bytes);
                    return sent;
                }
                let mut sent = 0;
                let mut sink = FnSink(|piece: &[u8]| sent += std::hint::black_box(piece).len());
                outbound
                    .secure_into(envelope, outgoing, now, buffers, &mut sink, &mut ())
                    .expect("a message that can be secured");
                sent
            });
            assert!(sent > plain.len());
            time
        })
    });
    let arms = [none].into_iter().chain(arms);
    processor::in_turns(arms.collect(), scope.scale.pick(7, 30), emit);
}
