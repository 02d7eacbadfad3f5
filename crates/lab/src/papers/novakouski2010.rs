//! Novakouski, Simanta, Peterson, Morris and Lewis: CMU/SEI-2010-TR-023. Pages are those of its
//! table of contents.

use super::{Drawn, Head, Numbers, Source, head, row, text};

/// The seven mechanisms, in the order of the tables.
const MECHANISMS: &[Head] = &[
    head("No Security", &[("arm", "none")]),
    head("Password Only", &[("arm", "username")]),
    head("Sign Only", &[("arm", "sign")]),
    head("Encrypt Only", &[("arm", "encrypt")]),
    head("Sign -> Encrypt", &[("arm", "sign-encrypt")]),
    head("Encrypt -> Sign", &[("arm", "encrypt-sign")]),
    head("Secure Conversation", &[("arm", "secure-conversation")]),
];

/// Those of table 6, which lacks the last.
const WEIGHED: &[Head] = &[
    head("No Security", &[("arm", "none")]),
    head("Password Only", &[("arm", "username")]),
    head("Sign Only", &[("arm", "sign")]),
    head("Encrypt Only", &[("arm", "encrypt")]),
    head("Sign -> Encrypt", &[("arm", "sign-encrypt")]),
    head("Encrypt -> Sign", &[("arm", "encrypt-sign")]),
];

pub(crate) const NUMBERS: Numbers = Numbers {
    sources: &[
        text(
            "text-3.4",
            "3.4",
            Some(7),
            "configurations",
            &[
                row(
                    "calls of each experiment",
                    &[("unit", "calls")],
                    &["10,000"],
                ),
                row("text that Echo begins with", &[("unit", "bytes")], &["12"]),
                row("largest text", &[("unit", "kB")], &["over 100"]),
                row("array of EmployeeDetails", &[("unit", "records")], &["1"]),
            ],
        ),
        text(
            "text-4.1",
            "4.1",
            Some(9),
            "the dearest mechanism against none",
            &[row(
                "most",
                &[("operation", "Echo"), ("unit", "times")],
                &["up to 20"],
            )],
        ),
        Source {
            name: "table-1",
            section: "4.1",
            item: "table 1",
            page: Some(9),
            of: "round trips of Echo, static payload, 10,000 calls",
            tags: &[("operation", "Echo"), ("unit", "ms")],
            columns: MECHANISMS,
            rows: &[
                row(
                    "Average",
                    &[("statistic", "mean")],
                    &["3", "8", "38", "36", "65", "65", "39"],
                ),
                row(
                    "Median",
                    &[("statistic", "median")],
                    &["3", "7", "37", "36", "64", "65", "38"],
                ),
                row(
                    "Std. Dev",
                    &[("statistic", "deviation")],
                    &[
                        "0.696", "1.862", "2.814", "2.218", "3.332", "3.117", "3.682",
                    ],
                ),
            ],
        },
        Source {
            name: "table-2",
            section: "4.1",
            item: "table 2",
            page: Some(10),
            of: "round trips of EmployeeDetails, static payload, 10,000 calls",
            tags: &[("operation", "EmployeeDetails"), ("unit", "ms")],
            columns: MECHANISMS,
            rows: &[
                row(
                    "Average",
                    &[("statistic", "mean")],
                    &["100", "106", "174", "157", "197", "190", "228"],
                ),
                row(
                    "Median",
                    &[("statistic", "median")],
                    &["100", "105", "173", "156", "196", "190", "237"],
                ),
                row(
                    "Std. Dev.",
                    &[("statistic", "deviation")],
                    &[
                        "5.298", "6.115", "8.376", "7.847", "9.673", "7.494", "23.483",
                    ],
                ),
            ],
        },
        text(
            "text-4.1.1",
            "4.1.1",
            Some(10),
            "Sign against Encrypt by payload, figure 3",
            &[row(
                "payload up to which both take the same",
                &[("unit", "kB")],
                &["about 7"],
            )],
        ),
        text(
            "text-4.1.2",
            "4.1.2",
            Some(12),
            "startup",
            &[
                row(
                    "first call after deployment against that of a later client",
                    &[("unit", "times")],
                    &["about 2"],
                ),
                row(
                    "Secure Conversation over Encrypt -> Sign, after deployment",
                    &[("unit", "%")],
                    &["59"],
                ),
                row(
                    "Secure Conversation over Encrypt -> Sign, later clients",
                    &[("unit", "%")],
                    &["22"],
                ),
                row("payload of Echo", &[("unit", "bytes")], &["12"]),
                row(
                    "payload of EmployeeDetails",
                    &[("unit", "bytes")],
                    &["about 112"],
                ),
                row(
                    "round trip of EmployeeDetails larger than that of Echo",
                    &[("unit", "%")],
                    &["about 450"],
                ),
                row(
                    "payload of both messages of Echo",
                    &[("unit", "bytes")],
                    &["24"],
                ),
                row("second payload of Echo", &[("unit", "bytes")], &["60"]),
                row("third payload of Echo", &[("unit", "bytes")], &["120"]),
                row(
                    "Encrypt Only with complex payload",
                    &[("operation", "EmployeeDetails"), ("unit", "ms")],
                    &["157"],
                ),
                row(
                    "Sign Only with complex payload",
                    &[("operation", "EmployeeDetails"), ("unit", "ms")],
                    &["174"],
                ),
            ],
        ),
        Source {
            name: "figure-6",
            section: "4.1.2",
            item: "figure 6, value in the text",
            page: Some(14),
            of: "messages after which Encrypt Only costs less in all than Sign Only",
            tags: &[("unit", "messages"), ("operation", "EmployeeDetails")],
            columns: &[head("", &[])],
            rows: &[row(
                "Sign Only and Encrypt Only",
                &[("arm", "sign → encrypt")],
                &["about 46"],
            )],
        },
        Source {
            name: "figure-7",
            section: "4.1.2",
            item: "figure 7, value in the text",
            page: Some(14),
            of: "messages after which Secure Conversation costs less in all than Sign/Encrypt",
            tags: &[("unit", "messages"), ("operation", "Echo")],
            columns: &[head("", &[])],
            rows: &[
                row(
                    "Sign -> Encrypt and Secure Conversation",
                    &[("arm", "sign-encrypt → secure-conversation")],
                    &["about 12"],
                ),
                row(
                    "Encrypt -> Sign and Secure Conversation",
                    &[("arm", "encrypt-sign → secure-conversation")],
                    &["about 12"],
                ),
            ],
        },
        text(
            "text-4.1.2-conclusions",
            "4.1.2",
            Some(15),
            "short sequences",
            &[
                row(
                    "messages below which Sign Only beats Encrypt Only",
                    &[("unit", "messages")],
                    &["below 50"],
                ),
                row(
                    "messages below which Sign/Encrypt beats Secure Conversation",
                    &[("unit", "messages")],
                    &["below 10"],
                ),
            ],
        ),
        Source {
            name: "table-3",
            section: "4.1.3",
            item: "table 3",
            page: Some(15),
            of: "increase of the round trip of Echo from its minimum to the mean of the last ten, at 117 kB",
            tags: &[("operation", "Echo")],
            columns: MECHANISMS,
            rows: &[
                row(
                    "Minimum",
                    &[("statistic", "minimum"), ("unit", "ms")],
                    &["3.00", "10.00", "42.00", "42.00", "71.00", "71.00", "41.00"],
                ),
                row(
                    "Average @ 117kb",
                    &[("statistic", "mean of the last ten"), ("unit", "ms")],
                    &[
                        "29.55", "47.45", "108.18", "163.64", "216.18", "212.45", "130.00",
                    ],
                ),
                row(
                    "Increase",
                    &[("statistic", "increase"), ("unit", "%")],
                    &[
                        "884.85", "374.55", "157.58", "289.61", "204.48", "199.23", "217.07",
                    ],
                ),
            ],
        },
        text(
            "text-4.1.3",
            "4.1.3",
            Some(15),
            "payload of the last ten calls",
            &[
                row("bytes", &[("unit", "bytes")], &["about 120,000"]),
                row("kB", &[("unit", "kB")], &["about 117"]),
                row("calls", &[("unit", "calls")], &["10"]),
            ],
        ),
        text(
            "text-4.1.4",
            "4.1.4",
            Some(16),
            "why times are not said to converge within a range",
            &[
                row("least range that could be told", &[("unit", "ms")], &["30"]),
                row("largest deviation", &[("unit", "ms")], &["up to 4"]),
            ],
        ),
        Source {
            name: "table-4",
            section: "4.1.4",
            item: "table 4",
            page: Some(17),
            of: "number of the first message of Echo whose time is no more than the mean of all",
            tags: &[
                ("operation", "Echo"),
                ("unit", "messages"),
                ("statistic", "convergence"),
            ],
            columns: MECHANISMS,
            rows: &[row(
                "Convergence Point",
                &[],
                &["22", "505", "883", "792", "570", "588", "769"],
            )],
        },
        Source {
            name: "table-5",
            section: "4.1.4",
            item: "table 5",
            page: Some(17),
            of: "number of the first message of EmployeeDetails whose time is no more than the mean of all",
            tags: &[
                ("operation", "EmployeeDetails"),
                ("unit", "messages"),
                ("statistic", "convergence"),
            ],
            columns: MECHANISMS,
            rows: &[row(
                "Convergence Point",
                &[],
                &["21", "138", "143", "98", "126", "148", "17"],
            )],
        },
        Source {
            name: "table-6",
            section: "4.2",
            item: "table 6",
            page: Some(19),
            of: "size of the messages of Echo; Secure Conversation is left to future work",
            tags: &[("operation", "Echo"), ("unit", "bytes")],
            columns: WEIGHED,
            rows: &[
                row(
                    "Raw Payload Size",
                    &[("statistic", "payload")],
                    &["11", "11", "11", "11", "11", "11"],
                ),
                row(
                    "Request Size",
                    &[("statistic", "size"), ("direction", "request")],
                    &["522", "1396", "3956", "2480", "7511", "7385"],
                ),
                row(
                    "Response Size",
                    &[("statistic", "size"), ("direction", "response")],
                    &["479", "479", "4627", "2677", "8181", "8053"],
                ),
            ],
        },
        text(
            "text-4.2",
            "4.2",
            Some(19),
            "Encrypt against Sign by payload, figure 10",
            &[row(
                "payload up to which Encrypt Only adds less",
                &[("unit", "kB")],
                &["about 4"],
            )],
        ),
        text(
            "text-4.3",
            "4.3",
            Some(20),
            "heap of figure 11",
            &[
                row("least", &[("unit", "MB")], &["25"]),
                row("most", &[("unit", "MB")], &["50"]),
            ],
        ),
        Source {
            name: "table-7",
            section: "appendix A",
            item: "table 7",
            page: Some(25),
            of: "machines",
            tags: &[("unit", "GHz")],
            columns: &[head("Service Provider", &[]), head("Service Consumer", &[])],
            rows: &[
                row("processors", &[("unit", "processors")], &["2", "2"]),
                row("clock of the Pentium", &[], &["3.6", "3.8"]),
            ],
        },
    ],
    drawn: &[
        Drawn {
            item: "figure 2",
            section: "4.1",
            page: Some(9),
            of: "round trips of Echo by payload, of which table 3 prints both ends",
        },
        Drawn {
            item: "figure 3",
            section: "4.1.1",
            page: Some(10),
            of: "Sign Only and Encrypt Only by payload up to 20 kB",
        },
        Drawn {
            item: "figure 4",
            section: "4.1.2",
            page: Some(12),
            of: "first calls of both services after deployment and of later clients",
        },
        Drawn {
            item: "figure 5",
            section: "4.1.2",
            page: Some(13),
            of: "first calls of Echo with 12, 60 and 120 bytes, and of EmployeeDetails",
        },
        Drawn {
            item: "figures 6 and 7",
            section: "4.1.2",
            page: Some(14),
            of: "totals of up to 100 messages, of which the text prints where they cross",
        },
        Drawn {
            item: "figure 8",
            section: "4.1.4",
            page: Some(16),
            of: "times of the first messages of Echo",
        },
        Drawn {
            item: "figure 9",
            section: "4.1.4",
            page: Some(17),
            of: "times of all messages of EmployeeDetails",
        },
        Drawn {
            item: "figure 10",
            section: "4.2",
            page: Some(18),
            of: "bytes that mechanisms add, by payload",
        },
        Drawn {
            item: "figure 11",
            section: "4.3",
            page: Some(20),
            of: "Secure Conversation with the default heap and with 25 to 50 MB",
        },
    ],
};
