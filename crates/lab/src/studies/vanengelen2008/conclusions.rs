//! What van Engelen and Zhang conclude, as questions to the lab's figures.
//!
//! The rule kept here: a conclusion stands with its place in the paper, and with what in the paper
//! speaks against it.

use crate::papers::Tags;
use crate::study::{Asks, Conclusion, Estimate, Grows, Measure, Of, Quantity};

/// Median times of calls.
const MEDIAN: Measure = Measure::Itself(Quantity::Time, Estimate::Median);
/// Median processor times.
const PROCESSOR: Measure = Measure::Itself(Quantity::Processor, Estimate::Median);
/// Mean processor times.
const MEAN: Measure = Measure::Itself(Quantity::Processor, Estimate::Mean);

/// Operations of a signed message that is sent, carried and received.
const WHOLE: &[&str] = &[
    "xml-send",
    "c14n-out",
    "digest-out",
    "sign",
    "key-out",
    "header-out",
    "tcp",
    "xml-receive",
    "header-in",
    "key-in",
    "c14n-in",
    "digest-in",
    "verify",
    "replay",
];

/// Canonicalization and the rest of sending.
const OUT: &[&str] = &["c14n-out/anew", "rest-out/anew"];
/// The same of receiving.
const IN: &[&str] = &["c14n-in/anew", "rest-in/anew"];

/// A share that canonicalization has of the work, as section 3.5 prints it with these tags; the
/// first of them is the arm.
const fn share_of(
    says: &'static str,
    among: &'static [&'static str],
    tags: Tags,
    within: [f64; 2],
) -> Conclusion {
    let of = Of::arms(among.split_at(1).0).at(tags.split_at(1).1);
    let asks = Asks::Share { of, among, within };
    Conclusion::of(says, "section 3.5", (5, "figure-6"), PROCESSOR, asks)
        .printed("figure-6-share", tags)
}

pub(super) const ALL: &[Conclusion] = &[
    Conclusion::of(
        "HMAC takes less than DSA",
        "section 3.2",
        (1, "figure-2"),
        MEDIAN,
        Asks::order(
            Of::arms(&["https+sign-hmac"]),
            Of::arms(&["https+sign-dsa"]),
        ),
    ),
    Conclusion::of(
        "HMAC takes less than RSA",
        "section 3.2",
        (1, "figure-2"),
        MEDIAN,
        Asks::order(Of::arms(&["https+sign-hmac"]), Of::arms(&["https+sign"])),
    ),
    Conclusion::of(
        "HMAC is an order of magnitude faster than DSA (5 to 20 times here)",
        "sections 2.1 and 3.2",
        (1, "figure-2"),
        MEDIAN,
        Asks::ratio(
            Of::arms(&["sign-dsa"]),
            Of::arms(&["sign-hmac"]),
            [5.0, 20.0],
        ),
    )
    .but("a later paper reads 7 times from the drawing"),
    Conclusion::of(
        "HMAC is an order of magnitude faster than RSA (5 to 20 times here)",
        "sections 2.1 and 3.2",
        (1, "figure-2"),
        MEDIAN,
        Asks::ratio(
            Of::arms(&["sign/Basic256"]),
            Of::arms(&["sign-hmac"]),
            [5.0, 20.0],
        ),
    )
    .but("a later paper reads 8 times from the drawing"),
    Conclusion::of(
        "TLS alone takes less than a signature by HMAC over HTTP",
        "section 3.2",
        (1, "figure-2"),
        MEDIAN,
        Asks::order(Of::arms(&["https"]), Of::arms(&["sign-hmac"])),
    ),
    Conclusion::of(
        "TLS alone takes less than every proof in the message",
        "section 3.2",
        (1, "figure-2"),
        MEDIAN,
        Asks::order(
            Of::arms(&["https"]),
            Of::arms(&["sign-hmac", "sign-dsa", "sign/Basic256"]),
        ),
    ),
    Conclusion::of(
        "verifying by HMAC takes longer than signing",
        "section 3.2",
        (2, "figure-3"),
        PROCESSOR,
        Asks::order(
            Of::arms(&["sign"]).at(&[("proof", "hmac-sha1")]),
            Of::arms(&["verify"]).at(&[("proof", "hmac-sha1")]),
        ),
    ),
    Conclusion::of(
        "verifying by HMAC is the dearest single operation",
        "section 3.2",
        (2, "figure-3"),
        PROCESSOR,
        Asks::order(
            Of::arms(&[
                "xml-send",
                "c14n-out",
                "digest-out",
                "sign",
                "c14n-in",
                "digest-in",
                "xml-receive",
            ])
            .at(&[("proof", "hmac-sha1")]),
            Of::arms(&["verify"]).at(&[("proof", "hmac-sha1")]),
        ),
    ),
    Conclusion::of(
        "checking the digest of the Body takes longer than making it",
        "section 3.2",
        (2, "figure-3"),
        PROCESSOR,
        Asks::order(
            Of::arms(&["digest-out"]).at(&[("proof", "hmac-sha1")]),
            Of::arms(&["digest-in"]).at(&[("proof", "hmac-sha1")]),
        ),
    ),
    Conclusion::of(
        "canonicalization is 14.0 % of the time at the sender",
        "section 3.2",
        (2, "figure-3-percent"),
        Measure::Shown,
        Asks::value(
            Of::arms(&["c14n-out"]).at(&[("proof", "hmac-sha1")]),
            [13.95, 14.05],
        ),
    ),
    Conclusion::of(
        "canonicalization is 12.0 % of the time at the receiver",
        "section 3.2",
        (2, "figure-3-percent"),
        Measure::Shown,
        Asks::value(
            Of::arms(&["c14n-in"]).at(&[("proof", "hmac-sha1")]),
            [11.95, 12.05],
        ),
    ),
    Conclusion::of(
        "verifying by HMAC is 15.2 % of the time",
        "section 3.2",
        (2, "figure-3-percent"),
        Measure::Shown,
        Asks::value(
            Of::arms(&["verify"]).at(&[("proof", "hmac-sha1")]),
            [15.15, 15.25],
        ),
    ),
    Conclusion::of(
        "making the digest of the Body is 2.2 % of the time",
        "section 3.2",
        (2, "figure-3-percent"),
        Measure::Shown,
        Asks::value(
            Of::arms(&["digest-out"]).at(&[("proof", "hmac-sha1")]),
            [2.15, 2.25],
        ),
    ),
    Conclusion::of(
        "checking the digest of the Body is 4.8 % of the time",
        "section 3.2",
        (2, "figure-3-percent"),
        Measure::Shown,
        Asks::value(
            Of::arms(&["digest-in"]).at(&[("proof", "hmac-sha1")]),
            [4.75, 4.85],
        ),
    ),
    Conclusion::of(
        "security without canonicalization is 40.4 % of the time",
        "section 3.2",
        (2, "figure-3"),
        PROCESSOR,
        Asks::Share {
            of: Of::arms(&[
                "digest-out",
                "sign",
                "key-out",
                "header-out",
                "header-in",
                "key-in",
                "digest-in",
                "verify",
                "replay",
            ])
            .at(&[("proof", "hmac-sha1")]),
            among: WHOLE,
            within: [40.35, 40.45],
        },
    )
    .printed("figure-3", &[("arm", "security without canonicalization")]),
    Conclusion::of(
        "security with canonicalization is 66.4 % of the time",
        "section 3.2",
        (2, "figure-3-share"),
        Measure::Shown,
        Asks::value(
            Of::arms(&["security"]).at(&[("proof", "hmac-sha1")]),
            [66.35, 66.45],
        ),
    ),
    Conclusion::of(
        "verifying, canonicalizing and reading at the receiver are 36.7 % of the time",
        "section 3.3",
        (2, "figure-3"),
        PROCESSOR,
        Asks::Share {
            of: Of::arms(&["verify", "c14n-in", "xml-receive"]).at(&[("proof", "hmac-sha1")]),
            among: WHOLE,
            within: [36.65, 36.75],
        },
    )
    .printed("figure-3", &[("arm", "verify, c14n-in and xml-receive")]),
    Conclusion::of(
        "signing, canonicalizing and writing at the sender are 27 % of the time",
        "section 3.4",
        (2, "figure-3"),
        PROCESSOR,
        Asks::Share {
            of: Of::arms(&["sign", "c14n-out", "xml-send"]).at(&[("proof", "hmac-sha1")]),
            among: WHOLE,
            within: [26.5, 27.5],
        },
    )
    .printed("figure-3", &[("arm", "sign, c14n-out and xml-send")]),
    Conclusion::of(
        "signing and verifying by RSA are most of the time",
        "section 3.2",
        (2, "figure-3"),
        PROCESSOR,
        Asks::Share {
            of: Of::arms(&["sign", "verify"]).at(&[("proof", "rsa-sha1")]),
            among: WHOLE,
            within: [50.0, 100.0],
        },
    ),
    Conclusion::of(
        "signing and verifying by DSA are most of the time",
        "section 3.2",
        (2, "figure-3"),
        PROCESSOR,
        Asks::Share {
            of: Of::arms(&["sign", "verify"]).at(&[("proof", "dsa-sha1")]),
            among: WHOLE,
            within: [50.0, 100.0],
        },
    ),
    Conclusion::of(
        "checking a password's digest and its nonce takes longer than checking a password",
        "section 3.2",
        (2, "figure-3"),
        PROCESSOR,
        Asks::order(
            Of::arms(&["username-check"]).at(&[("proof", "username-text-signed")]),
            Of::arms(&["username-check"]).at(&[("proof", "username-digest-signed")]),
        ),
    ),
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
    share_of(
        "canonicalizing a Body of 100 elements to send is half of the work",
        OUT,
        &[
            ("arm", "c14n-out/anew"),
            ("signed", "body"),
            ("elements", "100"),
        ],
        [49.5, 50.5],
    ),
    share_of(
        "canonicalizing a Body of 5,000 elements to send is 1.0 % of the work",
        OUT,
        &[
            ("arm", "c14n-out/anew"),
            ("signed", "body"),
            ("elements", "5000"),
        ],
        [0.95, 1.05],
    )
    .but("its 0.8 ms as 1.0 % make 80 ms of all for 230 kB, more than the 58 ms of 1,066 kB with signed elements (34 ms as 59 %), \
          and 400 times the 0.2 ms of 10 kB (0.1 ms as 50 %)"),
    share_of(
        "canonicalizing 100 signed elements to send is half of the work",
        OUT,
        &[
            ("arm", "c14n-out/anew"),
            ("signed", "elements"),
            ("elements", "100"),
        ],
        [49.5, 50.5],
    ),
    share_of(
        "canonicalizing 5,000 signed elements to send is 59 % of the work",
        OUT,
        &[
            ("arm", "c14n-out/anew"),
            ("signed", "elements"),
            ("elements", "5000"),
        ],
        [58.5, 59.5],
    ),
    share_of(
        "canonicalizing a Body of 100 elements that came is 19 % of the work",
        IN,
        &[
            ("arm", "c14n-in/anew"),
            ("signed", "body"),
            ("elements", "100"),
        ],
        [18.5, 19.5],
    ),
    share_of(
        "canonicalizing a Body of 5,000 elements that came is 1.0 % of the work",
        IN,
        &[
            ("arm", "c14n-in/anew"),
            ("signed", "body"),
            ("elements", "5000"),
        ],
        [0.95, 1.05],
    )
    .but("its 0.9 ms as 1.0 % make 90 ms of all for 230 kB, 171 times the 0.5 ms of 10 kB (0.1 ms as 19 %), and 23 times the size"),
    share_of(
        "canonicalizing 100 signed elements that came is 45 % of the work",
        IN,
        &[
            ("arm", "c14n-in/anew"),
            ("signed", "elements"),
            ("elements", "100"),
        ],
        [44.5, 45.5],
    ),
    share_of(
        "canonicalizing 5,000 signed elements that came is 20 % of the work",
        IN,
        &[
            ("arm", "c14n-in/anew"),
            ("signed", "elements"),
            ("elements", "5000"),
        ],
        [19.5, 20.5],
    ),
    Conclusion::of(
        "canonicalizing one signed Body takes less than as many signed elements",
        "section 3.5",
        (5, "figure-6"),
        PROCESSOR,
        Asks::order(
            Of::arms(&["c14n-out/anew", "c14n-in/anew"]).at(&[("signed", "body")]),
            Of::arms(&["c14n-out/anew", "c14n-in/anew"]).at(&[("signed", "elements")]),
        ),
    ),
    Conclusion::of(
        "canonicalizing on demand pays from 88 % of canonical messages on, where canonicalization is 12 % of the cost",
        "section 2.5",
        (5, "cost-model"),
        MEAN,
        Asks::Threshold {
            of: Of::arms(&["on-demand"]),
            over: Of::arms(&["always"]),
            along: "canonical",
            from: 88.0,
        },
    ),
    Conclusion::of(
        "canonicalizing on demand takes 10 to 20 % off with many signed elements, if messages came in canonical form",
        "section 3.5",
        (5, "cost-model"),
        MEAN,
        Asks::ratio(
            Of::arms(&["on-demand"]).at(&[("signed", "elements"), ("canonical", "100")]),
            Of::arms(&["always"]).at(&[("signed", "elements"), ("canonical", "100")]),
            [0.8, 0.9],
        ),
    ),
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
