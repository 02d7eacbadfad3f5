//! What the paper concludes of canonicalization, always and on demand.
//!
//! The rule kept here: a conclusion stands with its place in the paper, and with what in the paper
//! speaks against it.

use super::PROCESSOR;
use crate::papers::Tags;
use crate::study::{Asks, Conclusion, Estimate, Measure, Of, Quantity};

/// Mean processor times.
const MEAN: Measure = Measure::Itself(Quantity::Processor, Estimate::Mean);

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
];
