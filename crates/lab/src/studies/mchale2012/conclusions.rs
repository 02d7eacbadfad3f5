//! What McHale, O'Raw and Curran conclude, as questions to the lab's figures.
//!
//! The rule kept here: a conclusion stands with its place in the paper, and with what in the paper
//! speaks against it.

use crate::study::{Asks, Conclusion, Estimate, Grows, Measure, Of, Quantity};

/// Best times.
const BEST: Measure = Measure::Itself(Quantity::Time, Estimate::Best);
/// Best times of all calls together.
const TOTAL: Measure = Measure::Itself(Quantity::Total, Estimate::Best);
/// Median times of calls.
const MEDIAN: Measure = Measure::Itself(Quantity::Time, Estimate::Median);

/// A Kerberos token in each request.
const KERBEROS: &[&str] = &["sign-encrypt-kerberos"];

pub(super) const ALL: &[Conclusion] = &[
    Conclusion::of(
        "signing and encrypting makes calls take 10 to 15 times as long",
        "section 4.1",
        (1, "figures-5-6"),
        Measure::Shown,
        Asks::value(
            Of::arms(&["sign-encrypt"]).at(&[("books", "!1")]),
            [1000.0, 1500.0],
        ),
    ),
    Conclusion::of(
        "the impact grows as the answer grows",
        "section 4.1",
        (1, "figures-5-6"),
        Measure::Shown,
        Asks::order(
            Of::arms(&["sign-encrypt"]).at(&[("books", "2500")]),
            Of::arms(&["sign-encrypt"]).at(&[("books", "25000")]),
        ),
    ),
    Conclusion::of(
        "the impact on an answer of one book is far above all others",
        "section 4.1",
        (1, "figures-5-6"),
        Measure::Shown,
        Asks::order(
            Of::arms(&["sign-encrypt"]).at(&[("books", "!1")]),
            Of::arms(&["sign-encrypt"]).at(&[("books", "1")]),
        ),
    ),
    Conclusion::of(
        "the time of plain calls grows along a straight line with the answer",
        "section 4.1",
        (1, "figures-5-6"),
        BEST,
        Asks::Growth {
            of: Of::arms(&["none"]),
            over: None,
            along: "books",
            grows: Grows::Linear,
        },
    ),
    Conclusion::of(
        "the time of secured calls grows along a straight line with the answer",
        "section 4.1",
        (1, "figures-5-6"),
        BEST,
        Asks::Growth {
            of: Of::arms(&["sign-encrypt"]),
            over: None,
            along: "books",
            grows: Grows::Linear,
        },
    ),
    Conclusion::of(
        "plain calls take less than secured ones at every size",
        "section 4.1",
        (1, "figures-5-6"),
        BEST,
        Asks::order(Of::arms(&["none"]), Of::arms(&["sign-encrypt"])),
    ),
    Conclusion::of(
        "Basic128 takes less than TripleDes",
        "section 4.2",
        (2, "figures-7-8"),
        BEST,
        Asks::order(
            Of::arms(&["sign-encrypt/Basic128"]).at(&[("books", "!10")]),
            Of::arms(&["sign-encrypt/TripleDes"]).at(&[("books", "!10")]),
        ),
    ),
    Conclusion::of(
        "Basic128 takes less than TripleDesRsa15",
        "section 4.2",
        (2, "figures-7-8"),
        BEST,
        Asks::order(
            Of::arms(&["sign-encrypt/Basic128"]).at(&[("books", "!10")]),
            Of::arms(&["sign-encrypt/TripleDesRsa15"]).at(&[("books", "!10")]),
        ),
    ),
    Conclusion::of(
        "Basic256 takes less than TripleDes",
        "section 4.2",
        (2, "figures-7-8"),
        BEST,
        Asks::order(
            Of::arms(&["sign-encrypt/Basic256"]).at(&[("books", "!10")]),
            Of::arms(&["sign-encrypt/TripleDes"]).at(&[("books", "!10")]),
        ),
    ),
    Conclusion::of(
        "Basic256 takes less than TripleDesRsa15",
        "section 4.2",
        (2, "figures-7-8"),
        BEST,
        Asks::order(
            Of::arms(&["sign-encrypt/Basic256"]).at(&[("books", "!10")]),
            Of::arms(&["sign-encrypt/TripleDesRsa15"]).at(&[("books", "!10")]),
        ),
    ),
    Conclusion::of(
        "the suites with AES make calls take 11 to 15 times as long",
        "section 4.2",
        (2, "figures-7-8"),
        Measure::Shown,
        Asks::value(
            Of::arms(&["sign-encrypt/Basic128", "sign-encrypt/Basic256"]).at(&[("books", "!10")]),
            [1100.0, 1500.0],
        ),
    ),
    Conclusion::of(
        "the suites with Triple DES make calls take 14 to 19 times as long",
        "section 4.2",
        (2, "figures-7-8"),
        Measure::Shown,
        Asks::value(
            Of::arms(&["sign-encrypt/TripleDes", "sign-encrypt/TripleDesRsa15"])
                .at(&[("books", "!10")]),
            [1400.0, 1900.0],
        ),
    ),
    Conclusion::of(
        "under WS-Security Basic256 costs as good as no more than Basic128 (within 5 % here)",
        "sections 4.2 and 5",
        (2, "figures-7-8"),
        BEST,
        Asks::ratio(
            Of::arms(&["sign-encrypt/Basic256"]).at(&[("books", "!10")]),
            Of::arms(&["sign-encrypt/Basic128"]).at(&[("books", "!10")]),
            [0.95, 1.05],
        ),
    )
    .but("the text names an effect at 1,000 books, which are not among the sizes of that test"),
    Conclusion::of(
        "in conversations Basic256 takes 20 % longer than Basic128",
        "section 4.2",
        (2, "figures-9-10"),
        TOTAL,
        Asks::ratio(
            Of::arms(&["secure-conversation/Basic256"]),
            Of::arms(&["secure-conversation/Basic128"]),
            [1.195, 1.205],
        ),
    ),
    Conclusion::of(
        "in conversations Basic128 takes less than the suites with Triple DES",
        "section 4.2",
        (2, "figures-9-10"),
        TOTAL,
        Asks::order(
            Of::arms(&["secure-conversation/Basic128"]),
            Of::arms(&[
                "secure-conversation/TripleDes",
                "secure-conversation/TripleDesRsa15",
            ]),
        ),
    ),
    Conclusion::of(
        "in conversations Basic256 takes less than the suites with Triple DES",
        "section 4.2",
        (2, "figures-9-10"),
        TOTAL,
        Asks::order(
            Of::arms(&["secure-conversation/Basic256"]),
            Of::arms(&[
                "secure-conversation/TripleDes",
                "secure-conversation/TripleDesRsa15",
            ]),
        ),
    ),
    Conclusion::of(
        "with 1,000 requests for 5 books WS-Security makes calls take 13 times as long",
        "section 5",
        (3, "figure-11"),
        Measure::Shown,
        Asks::value(
            Of::arms(&["sign-encrypt"]).at(&[("load", "1000x5")]),
            [1250.0, 1350.0],
        ),
    ),
    Conclusion::of(
        "with 1,000 requests for 5 books WS-SecureConversation makes calls take 4.5 times as long",
        "section 5",
        (3, "figure-11"),
        Measure::Shown,
        Asks::value(
            Of::arms(&["secure-conversation"]).at(&[("load", "1000x5")]),
            [445.0, 455.0],
        ),
    ),
    Conclusion::of(
        "with 1,000 requests for 5 books a conversation is almost three times as fast as WS-Security",
        "section 4.3",
        (3, "figure-11-gain"),
        Measure::Shown,
        Asks::value(
            Of::arms(&["secure-conversation"]).at(&[("load", "1000x5")]),
            [2.5, 3.5],
        ),
    ),
    Conclusion::of(
        "many requests for few books take less in a conversation",
        "sections 4.3 and 5",
        (3, "figure-11"),
        BEST,
        Asks::order(
            Of::arms(&["secure-conversation"]).at(&[("load", "!10x15000")]),
            Of::arms(&["sign-encrypt"]).at(&[("load", "!10x15000")]),
        ),
    ),
    Conclusion::of(
        "ten requests for 15,000 books gain almost nothing from a conversation (within 10 % here)",
        "section 4.3",
        (3, "figure-11-gain"),
        Measure::Shown,
        Asks::value(
            Of::arms(&["secure-conversation"]).at(&[("load", "10x15000")]),
            [0.9, 1.1],
        ),
    ),
    Conclusion::of(
        "the gain of a conversation falls with the number of requests",
        "section 4.3",
        (3, "figure-11-gain"),
        Measure::Shown,
        Asks::order(
            Of::arms(&["secure-conversation"]).at(&[("load", "10x15000")]),
            Of::arms(&["secure-conversation"]).at(&[("load", "!10x15000")]),
        ),
    ),
    Conclusion::of(
        "with few requests a conversation can cost more than WS-Security, for its handshake",
        "section 5",
        (3, "figure-11"),
        BEST,
        Asks::order(
            Of::arms(&["sign-encrypt"]).at(&[("load", "10x15000")]),
            Of::arms(&["secure-conversation"]).at(&[("load", "10x15000")]),
        ),
    )
    .but("section 4.3 sees almost no gain there, and no loss"),
    Conclusion::of(
        "with 50 books a conversation is twice as fast as WS-Security",
        "section 4.3",
        (3, "figure-13"),
        Measure::Shown,
        Asks::value(
            Of::arms(&["secure-conversation"]).at(&[("books", "50")]),
            [1.5, 2.5],
        ),
    ),
    Conclusion::of(
        "with 600 books a conversation is 1.2 times as fast as WS-Security",
        "section 4.3",
        (3, "figure-13"),
        Measure::Shown,
        Asks::value(
            Of::arms(&["secure-conversation"]).at(&[("books", "600")]),
            [1.15, 1.25],
        ),
    ),
    Conclusion::of(
        "the gain of a conversation falls as answers grow",
        "section 4.3",
        (3, "figure-13"),
        Measure::Shown,
        Asks::order(
            Of::arms(&["secure-conversation"]).at(&[("books", "600")]),
            Of::arms(&["secure-conversation"]).at(&[("books", "50")]),
        ),
    ),
    Conclusion::of(
        "with books from memory signing and encrypting makes calls take 11 to 15 times as long",
        "section 4.4",
        (4, "table-1-figure-14"),
        Measure::Shown,
        Asks::value(
            Of::arms(&["sign-encrypt"]).at(&[("source", "memory"), ("books", "!1")]),
            [1100.0, 1500.0],
        ),
    )
    .but("table 1 has 735/47 = 15.6 and 6,523/390 = 16.7"),
    Conclusion::of(
        "with books from a database signing and encrypting makes calls take 3 to 8 times as long",
        "sections 4.4 and 5",
        (4, "table-1-figure-14"),
        Measure::Shown,
        Asks::value(
            Of::arms(&["sign-encrypt"]).at(&[("source", "!memory"), ("books", "!1")]),
            [300.0, 800.0],
        ),
    ),
    Conclusion::of(
        "a database makes the impact of security smaller",
        "sections 4.4 and 5",
        (4, "table-1-figure-14"),
        Measure::Shown,
        Asks::order(
            Of::arms(&["sign-encrypt"]).at(&[("source", "!memory")]),
            Of::arms(&["sign-encrypt"]).at(&[("source", "memory")]),
        ),
    ),
    Conclusion::of(
        "secured calls take longer than plain ones, with a database, too",
        "section 4.4",
        (4, "table-1-figure-14"),
        BEST,
        Asks::order(Of::arms(&["none"]), Of::arms(&["sign-encrypt"])),
    )
    .but("table 1 has 93 ms secured and 109 ms plain for one book from the database"),
    Conclusion::of(
        "Kerberos answers 15 to 20 % more messages of 60 to 800 bytes in a second than X.509 (Moralis et al., 2007)",
        "section 2.2",
        (5, "tokens-gain"),
        Measure::Shown,
        Asks::value(Of::arms(KERBEROS), [1.15, 1.2]),
    ),
    Conclusion::of(
        "Kerberos answers up to 28 % more messages than X.509 at full load (Moralis et al., 2007)",
        "section 2.2",
        (5, "tokens-load"),
        Measure::Shown,
        Asks::value(Of::arms(KERBEROS), [1.0, 1.28]),
    ),
    Conclusion::of(
        "Kerberos answers up to 50 % more messages than X.509 (Moralis et al., 2009)",
        "section 2.2",
        (5, "tokens-gain"),
        Measure::Shown,
        Asks::value(Of::arms(KERBEROS), [1.0, 1.5]),
    ),
    Conclusion::of(
        "a Kerberos token takes less than X.509",
        "section 2.2",
        (5, "tokens"),
        MEDIAN,
        Asks::order(Of::arms(KERBEROS), Of::arms(&["sign-encrypt"])),
    ),
    Conclusion::of(
        "HMAC with a shared key takes less than X.509",
        "section 2.3",
        (5, "tokens"),
        MEDIAN,
        Asks::order(Of::arms(&["sign-encrypt-hmac"]), Of::arms(&["sign-encrypt"])),
    ),
    Conclusion::of(
        "HMAC with a shared key takes less than a Kerberos token",
        "section 2.2",
        (5, "tokens"),
        MEDIAN,
        Asks::order(Of::arms(&["sign-encrypt-hmac"]), Of::arms(KERBEROS)),
    )
    .but("section 2.1 of van Engelen and Zhang, which is cited for it, compares HMAC with RSA and DSA, and not with Kerberos"),
    Conclusion::of(
        "HMAC is 8 times as fast as RSA (7.5 to 8.5 here)",
        "section 2.3",
        (5, "tokens-gain"),
        Measure::Shown,
        Asks::value(Of::arms(&["sign-encrypt-hmac"]), [7.5, 8.5]),
    )
    .but("the paper cites it of signatures; messages are encrypted here as well"),
    Conclusion::of(
        "in a conversation calls take less than with X.509 in each message (Liu et al., 2005)",
        "section 2.3",
        (5, "tokens"),
        MEDIAN,
        Asks::order(Of::arms(&["secure-conversation"]), Of::arms(&["sign-encrypt"])),
    ),
];
