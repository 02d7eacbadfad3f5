//! Van Engelen and Zhang: ICWS 2008, pages 137 to 144. The text at hand has no page numbers.

use super::{Drawn, Head, Numbers, Source, head, plain, row, text};

const LEFT: Head = head("100 elements", &[("elements", "100")]);
const RIGHT: Head = head("5,000 elements", &[("elements", "5000")]);

pub(crate) const NUMBERS: Numbers = Numbers {
    sources: &[
        text(
            "text-1",
            "1",
            None,
            "what was known before, and what the paper finds",
            &[
                row(
                    "WS-Security against plain messages, by earlier studies",
                    &[("unit", "times")],
                    &["up to 100"],
                ),
                row(
                    "combinations of optimizations against none",
                    &[("unit", "times")],
                    &["4"],
                ),
                row(
                    "TLS against the best optimization",
                    &[("unit", "times")],
                    &["about 10"],
                ),
            ],
        ),
        text(
            "text-2.1",
            "2.1",
            None,
            "tokens",
            &[
                row(
                    "throughput of Kerberos over X.509 at full load, by Moralis et al. 2007",
                    &[("unit", "%")],
                    &["28"],
                ),
                row(
                    "HMAC keys against RSA and DSA keys",
                    &[("unit", "times")],
                    &["about 10"],
                ),
            ],
        ),
        text(
            "text-2.2",
            "2.2",
            None,
            "digest cache; by the paper's own formula 1e17 objects collide with a chance of 3.4e-15 only",
            &[
                row(
                    "share of parsing in deserialization",
                    &[("unit", "%")],
                    &["up to 50"],
                ),
                row("bits of SHA-1: k = 2^160", &[("unit", "bits")], &["160"]),
                row("chance of a collision", &[("unit", "chance")], &["1e-9"]),
                row(
                    "objects from which on that chance is exceeded",
                    &[("unit", "objects")],
                    &["1e17"],
                ),
            ],
        ),
        text(
            "text-2.5",
            "2.5",
            None,
            "canonicalization on demand",
            &[
                row(
                    "share of canonicalization in the cost, c",
                    &[("unit", "share")],
                    &["0.12"],
                ),
                row(
                    "least share of canonical messages that pays, 1 - c",
                    &[("unit", "share")],
                    &["0.88"],
                ),
                row("the same in percent", &[("unit", "%")], &["88"]),
            ],
        ),
        text(
            "text-3.1",
            "3.1",
            None,
            "machine and repetitions",
            &[
                row("clock of the Core 2 Duo", &[("unit", "GHz")], &["2.33"]),
                row("memory", &[("unit", "GB")], &["2"]),
                row("clock of the memory", &[("unit", "MHz")], &["667"]),
                row("repetitions", &[("unit", "repetitions")], &["100 to 10000"]),
            ],
        ),
        Source {
            name: "figure-3",
            section: "3.2",
            item: "figure 3, values in the text",
            page: None,
            of: "share of operations in the total time with HMAC",
            tags: &[
                ("unit", "%"),
                ("proof", "hmac-sha1"),
                ("statistic", "share"),
            ],
            columns: &[plain("")],
            rows: &[
                row("C14N OUT", &[("arm", "c14n-out")], &["14.0"]),
                row("C14N IN", &[("arm", "c14n-in")], &["12.0"]),
                row("HMAC-SHA1 VERIFY", &[("arm", "verify")], &["15.2"]),
                row("BODY DIGEST", &[("arm", "digest-out")], &["2.2"]),
                row("BODY VERIFY", &[("arm", "digest-in")], &["4.8"]),
                row(
                    "WS-Security without canonicalization",
                    &[("arm", "security without canonicalization")],
                    &["40.4"],
                ),
                row(
                    "WS-Security with canonicalization",
                    &[("arm", "security")],
                    &["66.4"],
                ),
                row(
                    "HMAC-SHA1 VERIFY, C14N IN and XML RECV",
                    &[("arm", "verify, c14n-in and xml-receive")],
                    &["36.7"],
                ),
                row(
                    "HMAC-SHA1 SIGN, C14N OUT and XML SEND",
                    &[("arm", "sign, c14n-out and xml-send")],
                    &["27"],
                ),
                row("C14N OUT, in section 3.4", &[("arm", "c14n-out")], &["14"]),
            ],
        },
        text(
            "text-3.2",
            "3.2",
            None,
            "checking digests of passwords",
            &[
                row(
                    "UID+DA CHECK",
                    &[("arm", "username-check"), ("unit", "ms")],
                    &["2.7"],
                ),
                row(
                    "pairs of user and nonce that are held",
                    &[("unit", "pairs")],
                    &["10,000"],
                ),
            ],
        ),
        text(
            "text-3.3",
            "3.3",
            None,
            "digest cache, figure 4",
            &[
                row(
                    "at most, against ARRAY C14N VERIFY",
                    &[("arm", "cache-100"), ("unit", "times")],
                    &["3 to 4"],
                ),
                row("on average", &[("unit", "times")], &["more than 2"]),
                row(
                    "hits at which it is as slow as without",
                    &[("unit", "%")],
                    &["0"],
                ),
            ],
        ),
        text(
            "text-3.4",
            "3.4",
            None,
            "streaming and prehashing, figure 5",
            &[
                row(
                    "streaming and prehashing against two passes, 100 elements",
                    &[
                        ("arm", "streaming-prehashed"),
                        ("elements", "100"),
                        ("signed", "elements"),
                        ("unit", "times"),
                    ],
                    &["3"],
                ),
                row(
                    "streaming and prehashing against two passes, 5,000 elements",
                    &[
                        ("arm", "streaming-prehashed"),
                        ("elements", "5000"),
                        ("signed", "elements"),
                        ("unit", "times"),
                    ],
                    &["7"],
                ),
                row(
                    "streaming and prehashing over prehashing in two passes",
                    &[("unit", "%")],
                    &["20 to 35"],
                ),
                row(
                    "signing by HMAC against plain messages",
                    &[("unit", "times")],
                    &["2 to 3"],
                ),
                row("smallest array", &[("unit", "elements")], &["100"]),
                row("largest array", &[("unit", "elements")], &["5,000"]),
            ],
        ),
        Source {
            name: "figure-6",
            section: "3.5",
            item: "figure 6, values in the text",
            page: None,
            of: "time of canonicalization",
            tags: &[("unit", "ms"), ("statistic", "mean")],
            columns: &[LEFT, RIGHT],
            rows: &[
                row(
                    "send, Body",
                    &[("arm", "c14n-out/anew"), ("signed", "body")],
                    &["0.1", "0.8"],
                ),
                row(
                    "send, elements",
                    &[("arm", "c14n-out/anew"), ("signed", "elements")],
                    &["1.6", "34"],
                ),
                row(
                    "receive, Body",
                    &[("arm", "c14n-in/anew"), ("signed", "body")],
                    &["0.1", "0.9"],
                ),
                row(
                    "receive, elements",
                    &[("arm", "c14n-in/anew"), ("signed", "elements")],
                    &["3.3", "40"],
                ),
            ],
        },
        Source {
            name: "figure-6-share",
            section: "3.5",
            item: "figure 6, values in the text",
            page: None,
            of: "overhead of canonicalization",
            tags: &[("unit", "%"), ("statistic", "share")],
            columns: &[LEFT, RIGHT],
            rows: &[
                row(
                    "send, Body",
                    &[("arm", "c14n-out/anew"), ("signed", "body")],
                    &["50", "1.0"],
                ),
                row(
                    "send, elements",
                    &[("arm", "c14n-out/anew"), ("signed", "elements")],
                    &["50", "59"],
                ),
                row(
                    "receive, Body",
                    &[("arm", "c14n-in/anew"), ("signed", "body")],
                    &["19", "1.0"],
                ),
                row(
                    "receive, elements",
                    &[("arm", "c14n-in/anew"), ("signed", "elements")],
                    &["45", "20"],
                ),
            ],
        },
        Source {
            name: "figure-6-sizes",
            section: "3.5",
            item: "figure 6, values in the text",
            page: None,
            of: "size of messages",
            tags: &[("unit", "kB"), ("statistic", "size")],
            columns: &[LEFT, RIGHT],
            rows: &[
                row("Body signed", &[("signed", "body")], &["10", "230"]),
                row(
                    "elements signed",
                    &[("signed", "elements")],
                    &["88", "1,066"],
                ),
            ],
        },
        text(
            "text-3.5",
            "3.5",
            None,
            "gain from canonicalizing on demand with many signed elements",
            &[row("gain", &[("unit", "%")], &["10 to 20"])],
        ),
        text(
            "text-4",
            "4",
            None,
            "optimizations together",
            &[row(
                "speed of what performance-critical applications may reach",
                &[("unit", "times")],
                &["about 10"],
            )],
        ),
    ],
    drawn: &[
        Drawn {
            item: "figure 2",
            section: "3.2",
            page: None,
            of: "total time of calls over HTTPS with and without HMAC, DSA, RSA and passwords",
        },
        Drawn {
            item: "figure 3",
            section: "3.2",
            page: None,
            of: "the shares of operations that the text does not print: tokens, TCP/IP, HTTPS",
        },
        Drawn {
            item: "figure 4",
            section: "3.3",
            page: None,
            of: "time to receive by the number of elements, without signature, with one, with one for each element, with a cache",
        },
        Drawn {
            item: "figure 5",
            section: "3.4",
            page: None,
            of: "time to send by the number of elements, in two passes, buffered, prehashed, streaming",
        },
        Drawn {
            item: "figure 6",
            section: "3.5",
            page: None,
            of: "time of canonicalization between 100 and 5,000 elements",
        },
    ],
};
