//! Shopov and Kakanakov: Technical University of Sofia, Plovdiv branch, 2007. The text at hand has
//! no page and no section numbers.

use super::{Drawn, Numbers, Source, head, row, text};

pub(crate) const NUMBERS: Numbers = Numbers {
    sources: &[
        text(
            "text-testbed",
            "Testbed",
            None,
            "machine, network, calls",
            &[
                row(
                    "clock of the server's Pentium 4",
                    &[("unit", "GHz")],
                    &["3.00"],
                ),
                row("memory of the server", &[("unit", "GB")], &["1"]),
                row("network", &[("unit", "Mbit/s")], &["100"]),
                row("scenarios", &[("unit", "scenarios")], &["4"]),
                row("smallest echo", &[("unit", "kB")], &["1"]),
                row("middle echo", &[("unit", "kB")], &["100"]),
                row("largest echo", &[("unit", "MB")], &["1"]),
            ],
        ),
        text(
            "text-results",
            "Experimental results",
            None,
            "repetitions",
            &[row(
                "executions of each call",
                &[("unit", "calls")],
                &["101"],
            )],
        ),
        Source {
            name: "table-1",
            section: "Experimental results",
            item: "table 1",
            page: None,
            of: "mean processing time of 101 calls; the paper does not define its columns \"+ processing\"",
            tags: &[("unit", "s"), ("statistic", "mean")],
            columns: &[
                head("echo (1KB)", &[("call", "echo-1-kB")]),
                head("echo (100KB)", &[("call", "echo-100-kB")]),
                head("echo (1MB)", &[("call", "echo-1-MB")]),
                head("get temperature", &[("call", "getTemperature")]),
                head(
                    "echo (1KB) + processing",
                    &[("call", "echo-1-kB"), ("statistic", "mean with processing")],
                ),
                head(
                    "echo (100KB) + processing",
                    &[
                        ("call", "echo-100-kB"),
                        ("statistic", "mean with processing"),
                    ],
                ),
                head(
                    "echo (1MB) + processing",
                    &[("call", "echo-1-MB"), ("statistic", "mean with processing")],
                ),
            ],
            rows: &[
                row(
                    "scenario1",
                    &[("arm", "https")],
                    &["0.23", "0.24", "1.04", "", "", "", ""],
                ),
                row(
                    "scenario2",
                    &[("arm", "encrypt")],
                    &["0.056", "0.173", "0.131", "0.202", "0.32", "0.2", "0.338"],
                ),
                row(
                    "scenario3",
                    &[("arm", "sign")],
                    &["0.085", "0.149", "0.53", "0.143", "0.154", "0.187", "0.43"],
                ),
                row(
                    "scenario4",
                    &[("arm", "sign-encrypt")],
                    &["0.123", "0.228", "0.391", "0.21", "0.234", "0.428", "0.506"],
                ),
            ],
        },
        Source {
            name: "table-2",
            section: "Experimental results",
            item: "table 2",
            page: None,
            of: "bytes of a message, of its Security header, and the share of the header in the message",
            tags: &[],
            columns: &[
                head("SOAP size", &[("statistic", "message"), ("unit", "bytes")]),
                head(
                    "WSS header size",
                    &[("statistic", "header"), ("unit", "bytes")],
                ),
                head("Overhead", &[("statistic", "share"), ("unit", "%")]),
            ],
            rows: &[
                row(
                    "scenario2",
                    &[("arm", "encrypt")],
                    &["3370", "1950", "57.86"],
                ),
                row("scenario3", &[("arm", "sign")], &["2063", "1207", "58.51"]),
                row(
                    "scenario4",
                    &[("arm", "sign-encrypt")],
                    &["4907", "3833", "78.11"],
                ),
            ],
        },
        text(
            "text-overhead",
            "Experimental results",
            None,
            "share of the header in words",
            &[
                row(
                    "only signing or only encrypting",
                    &[("unit", "%")],
                    &["about 50"],
                ),
                row(
                    "both",
                    &[("arm", "sign-encrypt"), ("unit", "%")],
                    &["almost 80"],
                ),
            ],
        ),
        text(
            "text-tls",
            "Experimental results",
            None,
            "TLS beside WS-Security at 1 MB",
            &[row(
                "an order of magnitude slower",
                &[("arm", "https"), ("call", "echo-1-MB"), ("unit", "times")],
                &["about 10"],
            )],
        ),
    ],
    drawn: &[
        Drawn {
            item: "figure 3",
            section: "Experimental results",
            page: None,
            of: "the times of table 1",
        },
        Drawn {
            item: "figure 4",
            section: "Experimental results",
            page: None,
            of: "the overheads of table 2",
        },
    ],
};
