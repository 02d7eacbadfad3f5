//! McHale, O'Raw and Curran: what WS-Security and WS-SecureConversation cost a service of books on
//! Apache CXF.
//!
//! The paper measures impact, the time of secured calls by that of plain ones in percent; it
//! ignores the first response and keeps the best of the repetitions. Two of the numbers of books of
//! its experiment with the database are given in two versions (2,493 and 2,501, 5,034 and 5,094);
//! the first of each is taken. The rule kept here: numbers of the paper only.

mod conclusions;
mod tokens;

use std::collections::BTreeMap;

use soapstone::wss::Mechanism;

use crate::papers::{Laid, MCHALE, Results, Tags};
use crate::study::{
    Claim, Estimate, Experiment, Figure, Operation, Paper, Point, Procedure, Quantity, Scale,
    Scope, Setup, Shows, Source, Step, Study,
};

/// The study.
pub(super) const STUDY: Study = Study {
    name: "mchale2012",
    paper: Some(Paper {
        title: "WS-I* compliant web service SOAP message security performance",
        authors: "G. McHale, J. O'Raw, K. Curran",
        published: "International Journal of Web Science 1(4), from page 291",
        year: 2012,
        stack: "Apache CXF 2.3",
    }),
    experiments: &[SIZE, SUITES, CONVERSATION, DATABASE, tokens::EXPERIMENT],
    claims: &[
        Claim {
            says: "signing and encrypting with X.509 makes calls of the books service take 10 to 15 times as long, the more the larger the answer",
            experiment: 1,
            shown_in: "figures-5-6",
            arm: "sign-encrypt/Basic256",
            at: &[("books", "25000")],
            paper: [1_000.0, 1_500.0],
            goal: Some(200.0),
        },
        Claim {
            says: "with 50 books of each answer a conversation is twice as fast as WS-Security",
            experiment: 3,
            shown_in: "figure-13",
            arm: "secure-conversation/Basic256",
            at: &[("books", "50")],
            paper: [2.0, 2.0],
            goal: None,
        },
        Claim {
            says: "with books from a database signing and encrypting with X.509 makes calls take 3 to 8 times as long",
            experiment: 4,
            shown_in: "table-1-figure-14",
            arm: "sign-encrypt/Basic256",
            at: &[("books", "20000"), ("source", "sqlite")],
            paper: [300.0, 800.0],
            goal: Some(200.0),
        },
        Claim {
            says: "with books from a database signing and encrypting with X.509 makes calls take 3 to 8 times as long: the same with a suite of today",
            experiment: 4,
            shown_in: "beyond-databases",
            arm: "sign-encrypt/Basic128GCM",
            at: &[("source", "sqlite")],
            paper: [300.0, 800.0],
            goal: Some(200.0),
        },
        Claim {
            says: "Kerberos answers 15 to 20 % more messages of 60 to 800 bytes in a second than X.509 (Moralis et al., 2007)",
            experiment: 5,
            shown_in: "tokens-gain",
            arm: "sign-encrypt-kerberos/Basic128GCM",
            at: &[("bytes", "800")],
            paper: [1.15, 1.2],
            goal: None,
        },
    ],
    conclusions: conclusions::ALL,
    numbers: &MCHALE,
    results: &[Results {
        experiment: 4,
        shown_in: "table-1-figure-14",
        source: "table-1",
        with: &[],
        quantity: Quantity::Time,
        n: 5,
        suffix: "/Basic256",
    }],
};

/// The suite of every experiment but the second.
const SUITE: &str = "Basic256";
/// What is chosen today where it can be.
const SUITE_OF_TODAY: &str = "Basic128GCM";
/// Those that are compared.
const ALL_SUITES: [&str; 4] = ["Basic256", "Basic128", "TripleDes", "TripleDesRsa15"];

const WS_SECURITY: Setup = sign_encrypt(SUITE);
const SECURE_CONVERSATION: Setup = conversation(SUITE);

/// Best time of secured calls by that of plain ones.
const IMPACT: Shows = Shows::Impact {
    of: Quantity::Time,
    by: Estimate::Best,
    baseline: "none",
};

/// Best time under WS-Security by that of each way.
const GAIN: Shows = Shows::Factor {
    of: Quantity::Time,
    by: Estimate::Best,
    baseline: "sign-encrypt/Basic256",
};

/// What the text says of a suite's impact; ten books are excepted there.
const fn of_suite(with: Tags) -> Laid {
    Laid::printed("text-4.2", with).at(&[("books", "!10")])
}

const SIZE: Experiment = Experiment {
    number: 1,
    question: "What does signing and encrypting with X.509 cost as answers grow?",
    figures: &[
        Figure {
            shown_in: "figures-5-6",
            caption: "impact of signing and encrypting with X.509, by the number of books from memory",
            lines: None,
            x: "books",
            logarithmic: false,
            shows: IMPACT,
            reported: &[
                Laid::printed("text-4.1", &[("arm", "sign-encrypt"), ("unit", "%")])
                    .at(&[("books", "!1")]),
            ],
        },
        in_memory(
            "beyond-securing",
            "beyond the paper: time to secure an answer in memory, bytes to bytes, by its number of books",
        ),
        in_memory(
            "beyond-opening",
            "beyond the paper: time to open a secured answer in memory, bytes to bytes, by its number of books",
        ),
    ],
    points: |scope| {
        let books = [
            1, 2_500, 5_000, 7_500, 10_000, 12_500, 15_000, 17_500, 20_000, 22_500, 25_000,
        ];
        let point = |books| {
            let point = Load::once(books).point("figures-5-6", scope, &[WS_SECURITY]);
            glanced(point, scope, [1, 2_500, 10_000, 25_000].contains(&books))
        };
        let mut points = books.map(point).to_vec();
        for books in [1, 2_500, 25_000] {
            for (shown_in, step) in [
                ("beyond-securing", Step::Secure),
                ("beyond-opening", Step::Open),
            ] {
                let operation = Operation::Books {
                    source: Source::Memory,
                    books,
                };
                points.push(Point {
                    shown_in,
                    at: BTreeMap::from([("books", books.to_string())]),
                    arms: scope.arms_in_memory(&[WS_SECURITY], operation),
                    procedure: Procedure::InMemory {
                        step,
                        repetitions: scope.scale.pick(10, 100),
                    },
                });
            }
        }
        points
    },
};

/// What one message takes without services and gateways.
const fn in_memory(shown_in: &'static str, caption: &'static str) -> Figure {
    Figure {
        shown_in,
        caption,
        lines: None,
        x: "books",
        logarithmic: false,
        shows: Shows::Itself(Quantity::Time, Estimate::Median),
        reported: &[],
    }
}

const SUITES: Experiment = Experiment {
    number: 2,
    question: "What does the algorithm suite change?",
    figures: &[
        Figure {
            shown_in: "figures-7-8",
            caption: "impact of suites under WS-Security, by the number of books from memory",
            lines: None,
            x: "books",
            logarithmic: false,
            shows: IMPACT,
            reported: &[
                of_suite(&[("arm", "sign-encrypt/Basic128")]),
                of_suite(&[("arm", "sign-encrypt/Basic256")]),
                of_suite(&[("arm", "sign-encrypt/TripleDes")]),
                of_suite(&[("arm", "sign-encrypt/TripleDesRsa15")]),
            ],
        },
        Figure {
            shown_in: "figures-9-10",
            caption: "time of all requests for 100 books each in a conversation that is begun with the first of them, by their number",
            lines: None,
            x: "requests",
            logarithmic: false,
            shows: Shows::Itself(Quantity::Total, Estimate::Best),
            reported: &[],
        },
    ],
    points: |scope| {
        let single = [10, 5_000, 10_000, 15_000, 20_000].map(|books| {
            let point =
                Load::once(books).point("figures-7-8", scope, &ALL_SUITES.map(sign_encrypt));
            glanced(point, scope, [10, 5_000].contains(&books))
        });
        // Totals of fewer requests are those of fewer requests: a glance has points of its own.
        let requests: &[u32] = scope
            .scale
            .pick(&[10, 50, 100], &[10, 250, 500, 750, 1_000]);
        let conversations = requests.iter().map(|requests| {
            let load = Load {
                requests: *requests,
                books: 100,
            };
            let point = load.point("figures-9-10", scope, &ALL_SUITES.map(conversation));
            at(point, "requests", requests.to_string())
        });
        single.into_iter().chain(conversations).collect()
    },
};

/// The requests, and the books of each, that the paper's text concludes from.
const CONCLUDED: (u32, u32) = (1_000, 5);

const CONVERSATION: Experiment = Experiment {
    number: 3,
    question: "When is a conversation the better choice?",
    figures: &[
        Figure {
            shown_in: "figure-11",
            caption: "impact of WS-Security and of secure conversation on the time of all requests, by their number and that of books of each; \
                      a conversation is begun with the first",
            lines: None,
            x: "load",
            logarithmic: false,
            shows: IMPACT,
            reported: &[Laid::printed("text-5", &[("load", "1000x5")])],
        },
        Figure {
            shown_in: "figure-11-gain",
            caption: "the same by that of WS-Security: how many times faster, by the number of requests and that of books of each",
            lines: Some("figure-11"),
            x: "load",
            logarithmic: false,
            shows: GAIN,
            reported: &[Laid::printed("text-4.3", &[("load", "1000x5")])],
        },
        Figure {
            shown_in: "figures-12-13",
            caption: "impact on the time of 500 requests (25 with --quick), by the number of books of each; a conversation is begun with the \
                      first",
            lines: None,
            x: "books",
            logarithmic: false,
            shows: IMPACT,
            reported: &[],
        },
        Figure {
            shown_in: "figure-13",
            caption: "time of 500 requests (25 with --quick) under WS-Security by that in a conversation: how many times faster",
            lines: Some("figures-12-13"),
            x: "books",
            logarithmic: false,
            shows: GAIN,
            reported: &[Laid::printed("text-4.3", &[("arm", "secure-conversation")])],
        },
        Figure {
            shown_in: "beyond-sources",
            caption: "beyond the paper: impact on the time of 1,000 requests (100 with --quick) for 5 books each, by where these come from; a \
                      conversation is begun with the first",
            lines: None,
            x: "source",
            logarithmic: false,
            shows: IMPACT,
            reported: &[],
        },
    ],
    points: |scope| {
        let setups = [WS_SECURITY, SECURE_CONVERSATION];
        // How many requests share a handshake is what is asked: those of a glance are fewer, and
        // named so, but for the load that the paper's conclusions are about.
        let loads: &[(u32, u32)] = scope.scale.pick(
            &[
                CONCLUDED,
                (100, 5),
                (75, 100),
                (50, 200),
                (15, 3_000),
                (10, 15_000),
            ],
            &[CONCLUDED, (750, 100), (500, 200), (50, 3_000), (10, 15_000)],
        );
        let mut points: Vec<Point> = loads
            .iter()
            .map(|&(requests, books)| {
                let point = Load { requests, books }.point("figure-11", scope, &setups);
                // Thousands of books take seconds on other stacks, and so do a thousand calls.
                let all = requests != 15 && (requests, books) != CONCLUDED;
                let mut point = glanced(point, scope, all);
                point.at.clear();
                at(point, "load", format!("{requests}x{books}"))
            })
            .collect();
        points.extend([50, 200, 400, 600].map(|books| {
            let load = Load {
                requests: scope.scale.pick(25, 500),
                books,
            };
            load.point("figures-12-13", scope, &setups)
        }));
        let load = Load {
            requests: scope.scale.pick(100, 1_000),
            books: 5,
        };
        points.extend(sources(scope).map(|(source, name)| {
            let setups =
                [SUITE, SUITE_OF_TODAY].map(|suite| [sign_encrypt(suite), conversation(suite)]);
            let mut point = load.point_of("beyond-sources", scope, setups.as_flattened(), source);
            point.at.clear();
            at(point, "source", name.to_owned())
        }));
        points
    },
};

const DATABASE: Experiment = Experiment {
    number: 4,
    question: "What is left of the impact when books come from a database?",
    figures: &[
        Figure {
            shown_in: "table-1-figure-14",
            caption: "impact with books from memory and from databases",
            lines: None,
            x: "books",
            logarithmic: false,
            shows: IMPACT,
            reported: &[
                Laid::printed("table-1", &[("source", "memory")]).computed(),
                Laid::printed("table-1", &[("source", "mysql")])
                    .computed()
                    .at(&[("source", "!memory")]),
            ],
        },
        Figure {
            shown_in: "beyond-databases",
            caption: "beyond the paper: impact of certificates and of conversations that are there already on 20,000 books from memory and from \
                      databases, with suites of then and of today",
            lines: None,
            x: "source",
            logarithmic: false,
            shows: IMPACT,
            reported: &[],
        },
    ],
    points: |scope| {
        let mut points = Vec::new();
        for (source, name) in sources(scope) {
            for books in [1, 2_493, 5_034, 20_000] {
                let load = Load::once(books);
                let point = load.point_of("table-1-figure-14", scope, &[WS_SECURITY], source);
                points.push(at(point, "source", name.to_owned()));
            }
            let setups =
                [SUITE, SUITE_OF_TODAY].map(|suite| [sign_encrypt(suite), conversation(suite)]);
            let mut point = Load::once(20_000).point_of(
                "beyond-databases",
                scope,
                setups.as_flattened(),
                source,
            );
            point.at.clear();
            points.push(at(point, "source", name.to_owned()));
        }
        points
    },
};

/// Where books come from: memory, and each database that there is.
fn sources(scope: &Scope) -> impl Iterator<Item = (Source, &str)> {
    let databases = scope.databases.iter().enumerate();
    let databases = databases.map(|(index, name)| (Source::Database(index), name.as_str()));
    [(Source::Memory, "memory")].into_iter().chain(databases)
}

/// So many calls for so many books each; more than one are made in conversations of so many, where
/// there are conversations.
#[derive(Clone, Copy)]
struct Load {
    requests: u32,
    books: u32,
}

impl Load {
    /// A single call.
    const fn once(books: u32) -> Self {
        Self { requests: 1, books }
    }

    /// Its point with books from memory.
    fn point(self, shown_in: &'static str, scope: &Scope, secured: &[Setup]) -> Point {
        self.point_of(shown_in, scope, secured, Source::Memory)
    }

    /// The secured ways beside plain ones, with and without gateways.
    fn point_of(
        self,
        shown_in: &'static str,
        scope: &Scope,
        secured: &[Setup],
        source: Source,
    ) -> Point {
        let setups = [&[Setup::DIRECT, Setup::PLAIN], secured].concat();
        let operation = Operation::Books {
            source,
            books: self.books,
        };
        Point {
            shown_in,
            at: BTreeMap::from([("books", self.books.to_string())]),
            arms: scope.arms(&setups, operation),
            procedure: self.procedure(scope.scale),
        }
    }

    fn procedure(self, scale: Scale) -> Procedure {
        match self.requests {
            1 => Procedure::Turns {
                repetitions: scale.pick(3, 15),
                requests: 1,
            },
            requests => Procedure::Conversations {
                repetitions: scale.pick(3, 5),
                requests,
            },
        }
    }
}

/// The point as a glance has it: other stacks are measured only where `all` says so. What takes
/// them seconds is left to a whole run.
fn glanced(mut point: Point, scope: &Scope, all: bool) -> Point {
    if scope.scale == Scale::Quick && !all {
        point.arms.retain(|arm| !arm.call.stack.is_foreign_pair());
    }
    point
}

/// The same point with one more coordinate.
fn at(mut point: Point, axis: &'static str, value: String) -> Point {
    point.at.insert(axis, value);
    point
}

/// Signed and encrypted with X.509 certificates.
const fn sign_encrypt(suite: &'static str) -> Setup {
    Setup::secured(Mechanism::SignEncrypt, suite)
}

/// Signed and encrypted with the keys of a conversation.
const fn conversation(suite: &'static str) -> Setup {
    Setup::secured(Mechanism::SecureConversation, suite)
}
