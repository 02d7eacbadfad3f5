//! What the paper concludes of known objects at a receiver, and of known digests and streaming at a
//! sender.
//!
//! The rule kept here: a conclusion stands with its place in the paper, and with what in the paper
//! speaks against it.

use super::PROCESSOR;
use crate::study::{Asks, Conclusion, Grows, Measure, Of};

pub(super) const ALL: &[Conclusion] = &[
    Conclusion::of(
        "known objects make receiving up to 3 or 4 times as fast",
        "section 3.3",
        (3, "figure-4-factor"),
        Measure::Shown,
        Asks::value(Of::arms(&["cache-100"]), [3.0, 4.0]),
    ),
    Conclusion::of(
        "known objects make receiving more than twice as fast on average (asked at 50 % known)",
        "section 3.3",
        (3, "figure-4-factor"),
        Measure::Shown,
        Asks::value(Of::arms(&["cache-50"]), [2.0, f64::INFINITY]),
    ),
    Conclusion::of(
        "a cache that knows nothing costs as much as none (within 10 % here)",
        "section 3.3",
        (3, "figure-4-factor"),
        Measure::Shown,
        Asks::value(Of::arms(&["cache-0"]), [0.9, 1.1]),
    ),
    Conclusion::of(
        "receiving one signature of the Body takes less than one of each element",
        "section 3.3",
        (3, "figure-4"),
        PROCESSOR,
        Asks::order(Of::arms(&["body"]), Of::arms(&["elements"])),
    ),
    Conclusion::of(
        "receiving one signature of the Body takes less than known objects",
        "section 3.3",
        (3, "figure-4"),
        PROCESSOR,
        Asks::order(Of::arms(&["body"]), Of::arms(&["cache-100"])),
    ),
    Conclusion::of(
        "unsigned messages take less than signed ones",
        "section 3.3",
        (3, "figure-4"),
        PROCESSOR,
        Asks::order(Of::arms(&["none"]), Of::arms(&["body", "elements"])),
    ),
    Conclusion::of(
        "streaming with known digests makes sending 100 signed elements 3 times as fast",
        "section 3.4",
        (4, "figure-5-factor"),
        Measure::Shown,
        Asks::value(
            Of::arms(&["streaming-prehashed"]).at(&[("signed", "elements"), ("elements", "100")]),
            [2.5, 3.5],
        ),
    ),
    Conclusion::of(
        "streaming with known digests makes sending 5,000 signed elements 7 times as fast",
        "section 3.4",
        (4, "figure-5-factor"),
        Measure::Shown,
        Asks::value(
            Of::arms(&["streaming-prehashed"]).at(&[("signed", "elements"), ("elements", "5000")]),
            [6.5, 7.5],
        ),
    ),
    Conclusion::of(
        "streaming with known digests takes less than known digests in two passes",
        "section 3.4",
        (4, "figure-5"),
        PROCESSOR,
        Asks::order(
            Of::arms(&["streaming-prehashed"]).at(&[("signed", "elements")]),
            Of::arms(&["prehashed"]).at(&[("signed", "elements")]),
        ),
    ),
    Conclusion::of(
        "known digests take less than two passes",
        "section 3.4",
        (4, "figure-5"),
        PROCESSOR,
        Asks::order(
            Of::arms(&["prehashed"]).at(&[("signed", "elements")]),
            Of::arms(&["two-pass"]).at(&[("signed", "elements")]),
        ),
    ),
    Conclusion::of(
        "streaming takes another 20 to 35 % off known digests in two passes",
        "section 3.4",
        (4, "figure-5"),
        PROCESSOR,
        Asks::ratio(
            Of::arms(&["streaming-prehashed"]).at(&[("signed", "elements")]),
            Of::arms(&["prehashed"]).at(&[("signed", "elements")]),
            [0.65, 0.8],
        ),
    ),
    Conclusion::of(
        "buffering takes less than two passes",
        "section 3.4",
        (4, "figure-5"),
        PROCESSOR,
        Asks::order(
            Of::arms(&["buffered"]).at(&[("signed", "elements")]),
            Of::arms(&["two-pass"]).at(&[("signed", "elements")]),
        ),
    ),
    Conclusion::of(
        "sending one signature of the Body takes less than one of each element",
        "section 3.4",
        (4, "figure-5"),
        PROCESSOR,
        Asks::order(
            Of::arms(&["two-pass"]).at(&[("signed", "body")]),
            Of::arms(&["two-pass"]).at(&[("signed", "elements")]),
        ),
    ),
    Conclusion::of(
        "signing by HMAC makes messages take 2 to 3 times as long as unsigned ones",
        "section 3.4",
        (4, "figure-5-baseline"),
        Measure::Shown,
        Asks::value(
            Of::arms(&["two-pass"]).at(&[("signed", "elements")]),
            [200.0, 300.0],
        ),
    )
    .but("figure 5 is drawn: the text does not say for which message sizes"),
    Conclusion::of(
        "the time to sign grows along a straight line with the message",
        "sections 3.4 and 4",
        (4, "figure-5"),
        PROCESSOR,
        Asks::Growth {
            of: Of::arms(&["two-pass"]).at(&[("signed", "elements")]),
            over: None,
            along: "elements",
            grows: Grows::Linear,
        },
    ),
];
