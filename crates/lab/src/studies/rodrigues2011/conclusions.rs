//! What Rodrigues, Estrella and Branco conclude, as questions to the lab's figures.
//!
//! The rule kept here: a conclusion stands with its place in the paper, and with what in the paper
//! speaks against it.

use crate::study::{Asks, Conclusion, Estimate, Measure, Of, Quantity};

/// Mean times of calls.
const MEAN: Measure = Measure::Itself(Quantity::Time, Estimate::Mean);

pub(super) const ALL: &[Conclusion] = &[
    Conclusion::of(
        "no security takes less than every policy",
        "section 4.1",
        (1, "tables-2-5"),
        MEAN,
        Asks::order(
            Of::arms(&["none"]),
            Of::arms(&["sign", "encrypt", "sign-encrypt"]),
        ),
    ),
    Conclusion::of(
        "signing takes less than encrypting with 5 clients",
        "section 4.1",
        (1, "tables-2-5"),
        MEAN,
        Asks::order(
            Of::arms(&["sign"]).at(&[("clients", "5")]),
            Of::arms(&["encrypt"]).at(&[("clients", "5")]),
        ),
    ),
    Conclusion::of(
        "signing takes less than encrypting with 10 clients",
        "section 4.1",
        (1, "tables-2-5"),
        MEAN,
        Asks::order(
            Of::arms(&["sign"]).at(&[("clients", "10")]),
            Of::arms(&["encrypt"]).at(&[("clients", "10")]),
        ),
    ),
    Conclusion::of(
        "encrypting takes less than signing and encrypting",
        "section 4.1",
        (1, "tables-2-5"),
        MEAN,
        Asks::order(Of::arms(&["encrypt"]), Of::arms(&["sign-encrypt"])),
    ),
    Conclusion::of(
        "ten clients wait longer than five under every policy",
        "section 4.1",
        (1, "tables-2-5"),
        MEAN,
        Asks::order(
            Of::arms(&["none", "sign", "encrypt", "sign-encrypt"]).at(&[("clients", "5")]),
            Of::arms(&["none", "sign", "encrypt", "sign-encrypt"]).at(&[("clients", "10")]),
        ),
    ),
    Conclusion::of(
        "without security ten clients wait 70.12 % longer than five",
        "section 4.1",
        (1, "tables-2-5"),
        MEAN,
        Asks::ratio(
            Of::arms(&["none"]).at(&[("clients", "10")]),
            Of::arms(&["none"]).at(&[("clients", "5")]),
            [1.70115, 1.70125],
        ),
    ),
    Conclusion::of(
        "with encryption ten clients wait 105.42 % longer than five",
        "section 4.1",
        (1, "tables-2-5"),
        MEAN,
        Asks::ratio(
            Of::arms(&["encrypt"]).at(&[("clients", "10")]),
            Of::arms(&["encrypt"]).at(&[("clients", "5")]),
            [2.05415, 2.05425],
        ),
    ),
    Conclusion::of(
        "with signatures ten clients wait 100.32 % longer than five",
        "section 4.1",
        (1, "tables-2-5"),
        MEAN,
        Asks::ratio(
            Of::arms(&["sign"]).at(&[("clients", "10")]),
            Of::arms(&["sign"]).at(&[("clients", "5")]),
            [2.00315, 2.00325],
        ),
    ),
    Conclusion::of(
        "with both ten clients wait 95.14 % longer than five",
        "section 4.1",
        (1, "tables-2-5"),
        MEAN,
        Asks::ratio(
            Of::arms(&["sign-encrypt"]).at(&[("clients", "10")]),
            Of::arms(&["sign-encrypt"]).at(&[("clients", "5")]),
            [1.95135, 1.95145],
        ),
    ),
    Conclusion::of(
        "more clients make the increment by security larger",
        "sections 4.1, 4.2 and 6",
        (1, "tables-2-5"),
        Measure::Shown,
        Asks::order(
            Of::arms(&["sign", "encrypt", "sign-encrypt"]).at(&[("clients", "5")]),
            Of::arms(&["sign", "encrypt", "sign-encrypt"]).at(&[("clients", "10")]),
        ),
    ),
    Conclusion::of(
        "signing takes the smallest increment",
        "section 4.2",
        (1, "tables-2-5"),
        Measure::Shown,
        Asks::order(Of::arms(&["sign"]), Of::arms(&["encrypt", "sign-encrypt"])),
    ),
    Conclusion::of(
        "signing and encrypting takes the largest increment",
        "section 4.2",
        (1, "tables-2-5"),
        Measure::Shown,
        Asks::order(Of::arms(&["sign", "encrypt"]), Of::arms(&["sign-encrypt"])),
    ),
    Conclusion::of(
        "signing and encrypting takes less than both one after the other: T = X + Y − Z",
        "section 4.1",
        (1, "tables-2-5"),
        MEAN,
        Asks::Share {
            of: Of::arms(&["sign-encrypt"]),
            among: &["sign", "encrypt"],
            within: [0.0, 100.0],
        },
    ),
    Conclusion::of(
        "more clients make the increment by encryption 23.04 % larger",
        "section 4.2",
        (1, "figure-8"),
        Measure::Shown,
        Asks::value(Of::arms(&["encrypt"]), [23.035, 23.045]),
    ),
    Conclusion::of(
        "more clients make the increment by signatures 21.73 % larger",
        "section 4.2",
        (1, "figure-8"),
        Measure::Shown,
        Asks::value(Of::arms(&["sign"]), [21.725, 21.735]),
    ),
    Conclusion::of(
        "more clients make the increment by both 16.19 % larger",
        "section 4.2",
        (1, "figure-8"),
        Measure::Shown,
        Asks::value(Of::arms(&["sign-encrypt"]), [16.185, 16.195]),
    ),
    Conclusion::of(
        "encryption explains more of the variation than any other factor",
        "section 4.3",
        (2, "figure-9"),
        Measure::Shown,
        Asks::order(
            Of::arms(&[
                "signature",
                "clients",
                "encryption × signature",
                "encryption × clients",
                "signature × clients",
                "encryption × signature × clients",
            ]),
            Of::arms(&["encryption"]),
        ),
    ),
    Conclusion::of(
        "the number of clients explains more of the variation than the signature",
        "section 4.3",
        (2, "figure-9"),
        Measure::Shown,
        Asks::order(Of::arms(&["signature"]), Of::arms(&["clients"])),
    ),
    Conclusion::of(
        "signature with clients, and all three together, explain no more than 1 % of the variation",
        "section 4.3",
        (2, "figure-9"),
        Measure::Shown,
        Asks::value(
            Of::arms(&["signature × clients", "encryption × signature × clients"]),
            [0.0, 1.5],
        ),
    ),
    Conclusion::of(
        "encryption with signature explains 4 % of the variation",
        "section 4.3",
        (2, "figure-9"),
        Measure::Shown,
        Asks::value(Of::arms(&["encryption × signature"]), [3.5, 4.5]),
    )
    .but("tables 2 and 3 give 4.56 %"),
    Conclusion::of(
        "TLS with a password takes less than every policy in the message",
        "sections 4.4 and 6",
        (1, "tables-2-5"),
        MEAN,
        Asks::order(
            Of::arms(&["https+username"]),
            Of::arms(&["sign", "encrypt", "sign-encrypt"]),
        ),
    ),
];
