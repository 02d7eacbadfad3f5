//! What the paper concludes of proofs beside each other, and of the operations that each takes.
//!
//! The rule kept here: a conclusion stands with its place in the paper, and with what in the paper
//! speaks against it.

use super::PROCESSOR;
use crate::study::{Asks, Conclusion, Estimate, Measure, Of, Quantity};

/// Median times of calls.
const MEDIAN: Measure = Measure::Itself(Quantity::Time, Estimate::Median);

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
];
