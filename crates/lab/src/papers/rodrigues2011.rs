//! Rodrigues, Estrella and Branco: IJSIA 5(1), 2011. The text at hand has no page numbers.

use super::{Drawn, Head, Numbers, Source, head, plain, row, text};

/// Mean, deviation and half of the interval, as in tables 2 and 3.
const RESPONSES: &[Head] = &[
    head("Resp. Time", &[("statistic", "mean"), ("unit", "ms")]),
    head(
        "Std. Deviation",
        &[("statistic", "deviation"), ("unit", "ms")],
    ),
    head(
        "Conf. Interval",
        &[("statistic", "half-interval"), ("unit", "ms")],
    ),
];

/// Mean and increment, as in tables 4 and 5.
const INCREMENTS: &[Head] = &[
    head("Resp. Time", &[("statistic", "mean"), ("unit", "ms")]),
    head(
        "Increment Percentage",
        &[("statistic", "increment"), ("unit", "%")],
    ),
];

pub(crate) const NUMBERS: Numbers = Numbers {
    sources: &[
        text(
            "text-3",
            "3",
            None,
            "algorithms of all services",
            &[
                row(
                    "RSA key pair for encryption",
                    &[("unit", "bits")],
                    &["1024"],
                ),
                row("Triple DES key", &[("unit", "bits")], &["192"]),
                row("SHA-1 digest", &[("unit", "bits")], &["160"]),
                row(
                    "RSA key pair for signatures",
                    &[("unit", "bits")],
                    &["1024"],
                ),
                row("services", &[("unit", "services")], &["5"]),
            ],
        ),
        text(
            "text-3.1",
            "3.1",
            None,
            "machines of clients and services",
            &[
                row(
                    "clock of the Core 2 Quad Q6600",
                    &[("unit", "GHz")],
                    &["2.4"],
                ),
                row("memory", &[("unit", "GB")], &["2"]),
                row("disk", &[("unit", "GB")], &["120"]),
                row("network", &[("unit", "Gbit/s")], &["1"]),
            ],
        ),
        text(
            "text-3.2",
            "3.2",
            None,
            "design of the experiments",
            &[
                row("factors", &[("unit", "factors")], &["3"]),
                row("levels of each factor", &[("unit", "levels")], &["2"]),
                row("experiments", &[("unit", "experiments")], &["8"]),
                row("repetitions of each", &[("unit", "repetitions")], &["30"]),
                row("repetitions of all", &[("unit", "repetitions")], &["240"]),
            ],
        ),
        Source {
            name: "table-1",
            section: "3.2",
            item: "table 1",
            page: None,
            of: "clients of each experiment",
            tags: &[("unit", "clients")],
            columns: &[plain("Number of Clients")],
            rows: &[
                row("1", &[("arm", "none")], &["5"]),
                row("2", &[("arm", "encrypt")], &["5"]),
                row("3", &[("arm", "sign")], &["5"]),
                row("4", &[("arm", "sign-encrypt")], &["5"]),
                row("5", &[("arm", "none")], &["10"]),
                row("6", &[("arm", "encrypt")], &["10"]),
                row("7", &[("arm", "sign")], &["10"]),
                row("8", &[("arm", "sign-encrypt")], &["10"]),
            ],
        },
        Source {
            name: "table-2",
            section: "4.1",
            item: "table 2",
            page: None,
            of: "response time of 5 clients at once; half-intervals of 95 %",
            tags: &[("clients", "5")],
            columns: RESPONSES,
            rows: &[
                row(
                    "No Security",
                    &[("arm", "none")],
                    &["283.68", "38.02154017", "13.6055834"],
                ),
                row(
                    "Enc",
                    &[("arm", "encrypt")],
                    &["2861.31", "77.99662214", "27.91021991"],
                ),
                row(
                    "Sign",
                    &[("arm", "sign")],
                    &["1547.76", "62.12568795", "22.23098341"],
                ),
                row(
                    "Sign and Enc",
                    &[("arm", "sign-encrypt")],
                    &["3094.20", "73.42715276", "26.27508634"],
                ),
            ],
        },
        Source {
            name: "table-3",
            section: "4.1",
            item: "table 3",
            page: None,
            of: "response time of 10 clients at once; half-intervals of 95 %",
            tags: &[("clients", "10")],
            columns: RESPONSES,
            rows: &[
                row(
                    "No Security",
                    &[("arm", "none")],
                    &["482.59", "36.04660154", "12.89887368"],
                ),
                row(
                    "Enc",
                    &[("arm", "encrypt")],
                    &["5877.78", "138.3788438", "49.51732339"],
                ),
                row(
                    "Sign",
                    &[("arm", "sign")],
                    &["3100.42", "90.63035452", "32.43105991"],
                ),
                row(
                    "Sign and Enc",
                    &[("arm", "sign-encrypt")],
                    &["6038.10", "129.2029255", "46.23382355"],
                ),
            ],
        },
        text(
            "text-4.1",
            "4.1",
            None,
            "increase of response time from 5 to 10 clients",
            &[
                row(
                    "without security",
                    &[("arm", "none"), ("unit", "%")],
                    &["70.12"],
                ),
                row(
                    "encryption",
                    &[("arm", "encrypt"), ("unit", "%")],
                    &["105.42"],
                ),
                row("signature", &[("arm", "sign"), ("unit", "%")], &["100.32"]),
                row(
                    "signature and encryption",
                    &[("arm", "sign-encrypt"), ("unit", "%")],
                    &["95.14"],
                ),
                row(
                    "most clients of the target application",
                    &[("unit", "clients")],
                    &["up to 10"],
                ),
            ],
        ),
        Source {
            name: "table-4",
            section: "4.2",
            item: "table 4",
            page: None,
            of: "increment over no security, 5 clients at once",
            tags: &[("clients", "5")],
            columns: INCREMENTS,
            rows: &[
                row("No Security", &[("arm", "none")], &["283.68", ""]),
                row("Enc", &[("arm", "encrypt")], &["2861.31", "908.64"]),
                row("Sign", &[("arm", "sign")], &["1547.76", "445.60"]),
                row(
                    "Sign and Enc",
                    &[("arm", "sign-encrypt")],
                    &["3094.20", "990.74"],
                ),
            ],
        },
        Source {
            name: "table-5",
            section: "4.2",
            item: "table 5",
            page: None,
            of: "increment over no security, 10 clients at once",
            tags: &[("clients", "10")],
            columns: INCREMENTS,
            rows: &[
                row("No Security", &[("arm", "none")], &["482.59", ""]),
                row("Enc", &[("arm", "encrypt")], &["5877.78", "1117.97"]),
                row("Sign", &[("arm", "sign")], &["3100.42", "542.45"]),
                row(
                    "Sign and Enc",
                    &[("arm", "sign-encrypt")],
                    &["6038.10", "1151.19"],
                ),
            ],
        },
        text(
            "text-4.2",
            "4.2",
            None,
            "growth of the increment from 5 to 10 clients",
            &[
                row(
                    "encryption",
                    &[("arm", "encrypt"), ("unit", "%")],
                    &["23.04"],
                ),
                row("signature", &[("arm", "sign"), ("unit", "%")], &["21.73"]),
                row(
                    "signature and encryption",
                    &[("arm", "sign-encrypt"), ("unit", "%")],
                    &["16.19"],
                ),
            ],
        ),
        Source {
            name: "figure-9",
            section: "4.3",
            item: "figure 9, values in the text",
            page: None,
            of: "share of the variation of response times that factors explain",
            tags: &[("unit", "%"), ("statistic", "variation")],
            columns: SHARE,
            rows: &[
                row("encryption (A)", &[("arm", "encryption")], &["58"]),
                row("number of clients (C)", &[("arm", "clients")], &["22"]),
                row("signature (B)", &[("arm", "signature")], &["7"]),
                row("AC", &[("arm", "encryption × clients")], &["7"]),
                row("AB", &[("arm", "encryption × signature")], &["4"]),
                row("BC", &[("arm", "signature × clients")], &["1"]),
                row(
                    "ABC",
                    &[("arm", "encryption × signature × clients")],
                    &["1"],
                ),
            ],
        },
    ],
    drawn: &[
        Drawn {
            item: "figure 5",
            section: "4.1",
            page: None,
            of: "the response times of tables 2 and 3",
        },
        Drawn {
            item: "figure 8",
            section: "4.2",
            page: None,
            of: "the increments of tables 4 and 5",
        },
        Drawn {
            item: "figure 10",
            section: "4.4",
            page: None,
            of: "response time over TLS with a UsernameToken beside the policies of WS-Security",
        },
    ],
};

/// The only column of figure 9.
const SHARE: &[Head] = &[plain("")];
