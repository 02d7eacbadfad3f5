//! What the paper concludes of optimizations in combination.
//!
//! The rule kept here: a conclusion stands with its place in the paper, and with what in the paper
//! speaks against it.

use super::PROCESSOR;
use crate::study::{Asks, Conclusion, Measure, Of};

pub(super) const ALL: &[Conclusion] = &[
    Conclusion::of(
        "HMAC takes less than RSA in every combination",
        "sections 2.1 and 4",
        (6, "combinations"),
        PROCESSOR,
        Asks::order(
            Of::arms(COMBINED).at(&[("signature", "hmac")]),
            Of::arms(COMBINED).at(&[("signature", "rsa")]),
        ),
    ),
    Conclusion::of(
        "streaming with known digests takes less than two passes in every combination",
        "sections 3.4 and 4",
        (6, "combinations"),
        PROCESSOR,
        Asks::order(Of::arms(&["streaming-prehashed"]), Of::arms(&["two-pass"])),
    ),
    Conclusion::of(
        "canonicalizing on demand takes less than always in every combination, if messages came in canonical form",
        "sections 2.5 and 4",
        (6, "combinations"),
        PROCESSOR,
        Asks::order(
            Of::arms(COMBINED).at(&[("canonicalizing", "on-demand")]),
            Of::arms(COMBINED).at(&[("canonicalizing", "always")]),
        ),
    ),
    Conclusion::of(
        "combined optimizations make signatures four times as fast (3 to 5 times here, of those of the paper by HMAC)",
        "section 1",
        (6, "combinations-factor"),
        Measure::Shown,
        Asks::value(
            Of::arms(&["streaming-prehashed"]).at(ALL_OF_THE_PAPER),
            [3.0, 5.0],
        ),
    ),
    Conclusion::of(
        "all optimizations and HMAC are an order of magnitude faster (5 to 20 times here)",
        "section 4",
        (6, "combinations-gain"),
        Measure::Shown,
        Asks::value(
            Of::arms(&["streaming-prehashed"]).at(ALL_OF_THE_PAPER),
            [5.0, 20.0],
        ),
    ),
    Conclusion::of(
        "TLS remains an order of magnitude more efficient than all optimizations together (5 to 20 times here)",
        "section 1",
        (6, "combinations"),
        PROCESSOR,
        Asks::ratio(
            Of::arms(&["streaming-prehashed"]).at(ALL_OF_THE_PAPER),
            Of::arms(&["tls"]).at(ALL_OF_THE_PAPER),
            [5.0, 20.0],
        ),
    ),
];

/// What a sender does in combinations.
const COMBINED: &[&str] = &["two-pass", "prehashed", "streaming-prehashed"];

/// Where everything is combined that the paper has.
const ALL_OF_THE_PAPER: &[(&str, &str)] = &[
    ("signature", "hmac"),
    ("cache", "100"),
    ("canonicalizing", "on-demand"),
];
