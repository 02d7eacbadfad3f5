//! McHale, O'Raw and Curran: IJWS 1(4), 2012, pages 291 to 314. The text at hand has no page
//! numbers.

use super::{Drawn, Numbers, Source, head, row, text};

pub(crate) const NUMBERS: Numbers = Numbers {
    sources: &[
        text(
            "text-1",
            "1",
            None,
            "earlier studies",
            &[
                row(
                    "WS-Security against plain messages, by van Engelen and Zhang 2008",
                    &[("unit", "times")],
                    &["up to 100"],
                ),
                row(
                    "increase of response time by signatures and encryption",
                    &[("unit", "%")],
                    &["up to 1,500"],
                ),
                row(
                    "signing and encrypting against signing alone",
                    &[("unit", "times")],
                    &["2 to 7"],
                ),
            ],
        ),
        text(
            "text-2",
            "2",
            None,
            "TLS",
            &[
                row(
                    "HTTPS transactions of a core with RSA-1024",
                    &[("unit", "calls/s")],
                    &["1,000"],
                ),
                row(
                    "plain HTTP transactions of the same core",
                    &[("unit", "calls/s")],
                    &["10,000"],
                ),
                row(
                    "suites of WS-SecurityPolicy",
                    &[("unit", "suites")],
                    &["16"],
                ),
                row(
                    "suites that the Basic Security Profile recommends",
                    &[("unit", "suites")],
                    &["4"],
                ),
            ],
        ),
        text(
            "text-2.2",
            "2.2",
            None,
            "Kerberos against X.509, by Moralis et al.",
            &[
                row(
                    "messages in a second, 60 to 800 bytes, 2007",
                    &[
                        ("unit", "% more"),
                        ("arm", "sign-encrypt-kerberos"),
                        ("statistic", "one-client"),
                    ],
                    &["15 to 20"],
                ),
                row("smallest message", &[("unit", "bytes")], &["60"]),
                row("largest message", &[("unit", "bytes")], &["800"]),
                row(
                    "throughput at full load, 2007",
                    &[
                        ("unit", "% more"),
                        ("arm", "sign-encrypt-kerberos"),
                        ("statistic", "full-load"),
                    ],
                    &["up to 28"],
                ),
                row(
                    "throughput, 2009",
                    &[
                        ("unit", "% more"),
                        ("arm", "sign-encrypt-kerberos"),
                        ("statistic", "throughput"),
                    ],
                    &["up to 50"],
                ),
            ],
        ),
        text(
            "text-2.3",
            "2.3",
            None,
            "HMAC, by van Engelen and Zhang 2008",
            &[
                row("against DSA", &[("unit", "times")], &["about 7"]),
                row(
                    "against RSA",
                    &[("unit", "times"), ("arm", "sign-encrypt-hmac")],
                    &["about 8"],
                ),
            ],
        ),
        text(
            "text-3.1",
            "3.1",
            None,
            "stacks, by Sosnoski 2010",
            &[
                row(
                    "many small signed and encrypted answers against plain ones",
                    &[("unit", "times")],
                    &["about 22"],
                ),
                row(
                    "few large ones against plain ones",
                    &[("unit", "times")],
                    &["about 13"],
                ),
                row(
                    "CXF and Metro against Axis2, signed and encrypted",
                    &[("unit", "times")],
                    &["more than 2"],
                ),
                row(
                    "Metro and CXF faster than Axis2 in all configurations",
                    &[("unit", "%")],
                    &["over 40"],
                ),
                row("Metro faster than CXF", &[("unit", "%")], &["12 to 15"]),
            ],
        ),
        text(
            "text-4",
            "4",
            None,
            "machine",
            &[
                row(
                    "clock of the Pentium Dual Core",
                    &[("unit", "GHz")],
                    &["2.3"],
                ),
                row("memory", &[("unit", "GB")], &["4"]),
            ],
        ),
        Source {
            name: "text-4.1",
            section: "4.1",
            item: "text, figures 5 and 6",
            page: None,
            of: "impact of signing and encrypting as answers grow",
            tags: &[],
            columns: &[
                head("factor", &[("unit", "times")]),
                head("percentage", &[("unit", "%")]),
            ],
            rows: &[
                row("where the impact begins", &[], &["10", "1,000"]),
                row("where the impact ends", &[], &["15", "1,500"]),
                row(
                    "range",
                    &[("arm", "sign-encrypt")],
                    &["10 to 15", "1,000 to 1,500"],
                ),
            ],
        },
        text(
            "text-4.1-plain",
            "4.1",
            None,
            "a plain call for one book",
            &[row(
                "latency",
                &[("arm", "none"), ("books", "1"), ("unit", "ms")],
                &["about 1"],
            )],
        ),
        text(
            "text-4.2",
            "4.2",
            None,
            "impact of suites, figures 7 and 8; time of conversations, figures 9 and 10",
            &[
                row(
                    "Basic128",
                    &[("arm", "sign-encrypt/Basic128"), ("unit", "times")],
                    &["11 to 15"],
                ),
                row(
                    "Basic256",
                    &[("arm", "sign-encrypt/Basic256"), ("unit", "times")],
                    &["11 to 15"],
                ),
                row(
                    "TripleDes",
                    &[("arm", "sign-encrypt/TripleDes"), ("unit", "times")],
                    &["14 to 19"],
                ),
                row(
                    "TripleDesRsa15",
                    &[("arm", "sign-encrypt/TripleDesRsa15"), ("unit", "times")],
                    &["14 to 19"],
                ),
                row(
                    "books at which Basic256 costs less for no known reason",
                    &[("unit", "books")],
                    &["1,000"],
                ),
                row(
                    "latency for ten books",
                    &[("arm", "none"), ("books", "10"), ("unit", "ms")],
                    &["1"],
                ),
                row(
                    "books of each answer in conversations",
                    &[("unit", "books")],
                    &["100"],
                ),
                row(
                    "conversations with Basic256 longer than with Basic128",
                    &[("unit", "%")],
                    &["20"],
                ),
            ],
        ),
        text(
            "text-4.3",
            "4.3",
            None,
            "WS-Security against WS-SecureConversation, figures 11 to 13",
            &[
                row(
                    "gain at 1,000 requests for 5 books",
                    &[
                        ("arm", "secure-conversation"),
                        ("load", "1000x5"),
                        ("unit", "times"),
                    ],
                    &["almost 3"],
                ),
                row(
                    "requests of the second test",
                    &[("unit", "requests")],
                    &["500"],
                ),
                row(
                    "gain at 50 books",
                    &[
                        ("arm", "secure-conversation"),
                        ("books", "50"),
                        ("unit", "times"),
                    ],
                    &["2"],
                ),
                row(
                    "gain at 600 books",
                    &[
                        ("arm", "secure-conversation"),
                        ("books", "600"),
                        ("unit", "times"),
                    ],
                    &["1.2"],
                ),
            ],
        ),
        Source {
            name: "table-1",
            section: "4.4",
            item: "table 1",
            page: None,
            of: "best response time with books from a database and from memory",
            tags: &[("unit", "ms"), ("statistic", "best")],
            columns: &[
                head("1 book", &[("books", "1")]),
                head("2493 books", &[("books", "2493")]),
                head("5034 books", &[("books", "5034")]),
                head("20000 books", &[("books", "20000")]),
            ],
            rows: &[
                row(
                    "Database (plain)",
                    &[("arm", "none"), ("source", "mysql")],
                    &["109", "124", "296", "1,109"],
                ),
                row(
                    "Database (WS-Security)",
                    &[("arm", "sign-encrypt"), ("source", "mysql")],
                    &["93", "985", "1,593", "8,832"],
                ),
                row(
                    "No database (plain)",
                    &[("arm", "none"), ("source", "memory")],
                    &["1", "47", "109", "390"],
                ),
                row(
                    "No database (WS-Security)",
                    &[("arm", "sign-encrypt"), ("source", "memory")],
                    &["62", "735", "1,203", "6,523"],
                ),
            ],
        },
        text(
            "text-4.4",
            "4.4",
            None,
            "impact with and without a database, figure 14; the text's numbers of books",
            &[
                row(
                    "without a database",
                    &[
                        ("arm", "sign-encrypt"),
                        ("source", "memory"),
                        ("unit", "times"),
                    ],
                    &["11 to 15"],
                ),
                row(
                    "with a database",
                    &[
                        ("arm", "sign-encrypt"),
                        ("source", "mysql"),
                        ("unit", "times"),
                    ],
                    &["3 to 8"],
                ),
                row(
                    "second number of books in the text",
                    &[("unit", "books")],
                    &["2501"],
                ),
                row(
                    "third number of books in the text",
                    &[("unit", "books")],
                    &["5094"],
                ),
            ],
        ),
        text(
            "text-5",
            "5",
            None,
            "conclusions",
            &[
                row(
                    "simple service",
                    &[("arm", "sign-encrypt"), ("unit", "%")],
                    &["1,000 to 1,500"],
                ),
                row(
                    "service with a database",
                    &[("arm", "sign-encrypt"), ("source", "mysql"), ("unit", "%")],
                    &["300 to 800"],
                ),
                row(
                    "WS-Security, 1,000 small messages",
                    &[
                        ("arm", "sign-encrypt"),
                        ("load", "1000x5"),
                        ("unit", "times"),
                    ],
                    &["13"],
                ),
                row(
                    "WS-SecureConversation, 1,000 small messages",
                    &[
                        ("arm", "secure-conversation"),
                        ("load", "1000x5"),
                        ("unit", "times"),
                    ],
                    &["4.5"],
                ),
            ],
        ),
    ],
    drawn: &[
        Drawn {
            item: "figures 5 and 6",
            section: "4.1",
            page: None,
            of: "response times and impacts for 1 to 25,000 books",
        },
        Drawn {
            item: "figures 7 and 8",
            section: "4.2",
            page: None,
            of: "response times and impacts of four suites for 10 to 20,000 books",
        },
        Drawn {
            item: "figures 9 and 10",
            section: "4.2",
            page: None,
            of: "time of 10 to 1,000 requests in a conversation with each suite, and its impact",
        },
        Drawn {
            item: "figure 11",
            section: "4.3",
            page: None,
            of: "impacts of WS-Security and WS-SecureConversation at five loads, of which the text prints one",
        },
        Drawn {
            item: "figure 12",
            section: "4.3",
            page: None,
            of: "time of 500 requests by the number of books",
        },
        Drawn {
            item: "figure 13",
            section: "4.3",
            page: None,
            of: "gain of WS-SecureConversation at 200 and 400 books",
        },
        Drawn {
            item: "figure 14",
            section: "4.4",
            page: None,
            of: "the impacts that follow from table 1",
        },
    ],
};
