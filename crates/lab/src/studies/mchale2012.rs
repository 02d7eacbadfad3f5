//! McHale, O'Raw and Curran: what WS-Security and WS-SecureConversation cost a service of books on Apache CXF.
//!
//! The paper measures impact, the time of secured calls by that of plain ones in percent; it ignores the first response and keeps the
//! best of the repetitions. Two of the numbers of books of its experiment with the database are given in two versions (2,493 and
//! 2,501, 5,034 and 5,094); the first of each is taken. The rule kept here: numbers of the paper only.

use soapstone::wss::Mechanism;

use crate::study::{Experiment, Load, Paper, Reported, Series, Sources, Study, Way};

/// The study.
pub(super) const STUDY: Study = Study {
    name: "mchale2012",
    paper: Paper {
        title: "WS-I* compliant web service SOAP message security performance",
        authors: "G. McHale, J. O'Raw, K. Curran",
        published: "International Journal of Web Science 1(4), from page 291",
        year: 2012,
        stack: "Apache CXF 2.3",
    },
    experiments: &[SIZE, SUITES, CONVERSATION, DATABASE],
};

/// The suite of every experiment but the second.
const SUITE: &str = "Basic256";
const WS_SECURITY: Way = Way::sign_encrypt(SUITE);
const SECURE_CONVERSATION: Way = Way::conversation(SUITE);

const SIZE: Experiment = Experiment {
    number: 1,
    question: "What does signing and encrypting with X.509 cost as answers grow?",
    series: &[Series {
        shown_in: "figures-5-6",
        secured: &[WS_SECURITY],
        sources: Sources::Memory,
        loads: &[
            Load::once(1),
            Load::once(2_500),
            Load::once(5_000),
            Load::once(7_500),
            Load::once(10_000),
            Load::once(12_500),
            Load::once(15_000),
            Load::once(17_500),
            Load::once(20_000),
            Load::once(22_500),
            Load::once(25_000),
        ],
        reported: &[Reported {
            mechanism: Mechanism::SignEncrypt,
            least: 10.0,
            most: 15.0,
        }],
    }],
};

const SUITES: Experiment = Experiment {
    number: 2,
    question: "What does the algorithm suite change?",
    series: &[
        Series {
            shown_in: "figures-7-8",
            secured: &[
                Way::sign_encrypt("Basic256"),
                Way::sign_encrypt("Basic128"),
                Way::sign_encrypt("TripleDes"),
                Way::sign_encrypt("TripleDesRsa15"),
            ],
            sources: Sources::Memory,
            loads: &[
                Load::once(10),
                Load::once(5_000),
                Load::once(10_000),
                Load::once(15_000),
                Load::once(20_000),
            ],
            reported: &[],
        },
        Series {
            shown_in: "figures-9-10",
            secured: &[
                Way::conversation("Basic256"),
                Way::conversation("Basic128"),
                Way::conversation("TripleDes"),
                Way::conversation("TripleDesRsa15"),
            ],
            sources: Sources::Memory,
            loads: &[
                requests(10, 100),
                requests(250, 100),
                requests(500, 100),
                requests(750, 100),
                requests(1_000, 100),
            ],
            reported: &[],
        },
    ],
};

const CONVERSATION: Experiment = Experiment {
    number: 3,
    question: "When is a conversation the better choice?",
    series: &[
        Series {
            shown_in: "figure-11",
            secured: &[WS_SECURITY, SECURE_CONVERSATION],
            sources: Sources::Memory,
            loads: &[
                requests(1_000, 5),
                requests(750, 100),
                requests(500, 200),
                requests(50, 3_000),
                requests(10, 15_000),
            ],
            reported: &[
                Reported {
                    mechanism: Mechanism::SignEncrypt,
                    least: 13.0,
                    most: 13.0,
                },
                Reported {
                    mechanism: Mechanism::SecureConversation,
                    least: 4.5,
                    most: 4.5,
                },
            ],
        },
        Series {
            shown_in: "figures-12-13",
            secured: &[WS_SECURITY, SECURE_CONVERSATION],
            sources: Sources::Memory,
            loads: &[
                requests(500, 50),
                requests(500, 200),
                requests(500, 400),
                requests(500, 600),
            ],
            reported: &[],
        },
    ],
};

const DATABASE: Experiment = Experiment {
    number: 4,
    question: "What is left of the impact when books come from a database?",
    series: &[Series {
        shown_in: "table-1-figure-14",
        secured: &[WS_SECURITY],
        sources: Sources::MemoryAndDatabases,
        loads: &[
            Load::once(1),
            Load::once(2_493),
            Load::once(5_034),
            Load::once(20_000),
        ],
        reported: &[],
    }],
};

const fn requests(requests: u32, books: u32) -> Load {
    Load { requests, books }
}
