//! Rodrigues, Estrella and Branco: what security costs when clients call at once, and which part of
//! it the cost comes from.
//!
//! The paper measures how much longer calls of `Sum` take than calls without security, in percent,
//! with 5 and 10 clients at once, 30 times, and a design of three factors: encryption, signature
//! and clients. Its messages have a Timestamp only where they are signed, and name the receiver's
//! key by the thumbprint of its certificate. Where it names no padding of key transport, RSA 1.5 is
//! taken, as was usual. Beyond it the same is asked of suites of today, and of up to a thousand
//! clients. The rule kept here: numbers of the paper only.

mod conclusions;

use std::collections::BTreeMap;
use std::time::Duration;

use soapstone::wss::Mechanism;

use crate::papers::{Laid, RODRIGUES, Results};
use crate::study::{
    Arm, Claim, Estimate, Experiment, Factor, Figure, Finding, Form, Level, Operation, Paper,
    Point, Procedure, Proof, Quantity, Scope, Setup, Shows, Stack, Study,
};

/// The study.
pub(super) const STUDY: Study = Study {
    name: "rodrigues2011",
    paper: Some(Paper {
        title: "Analysis of security and performance aspects in service-oriented architectures",
        authors: "D. Rodrigues, J. C. Estrella, K. R. L. J. C. Branco",
        published: "International Journal of Security and Its Applications 5(1)",
        year: 2011,
        stack: "Apache Axis2 with Rampart",
    }),
    experiments: &[CLIENTS, FACTORS, BEYOND, PACE],
    claims: &[
        Claim {
            says: "with 5 clients signing and encrypting makes calls take 991 % longer",
            experiment: 1,
            shown_in: "tables-2-5",
            arm: "sign-encrypt/TripleDesRsa15/rsa1024",
            at: &[("clients", "5")],
            paper: [990.74, 990.74],
            goal: None,
        },
        Claim {
            says: "with 10 clients signing and encrypting makes calls take 1,151 % longer",
            experiment: 1,
            shown_in: "tables-2-5",
            arm: "sign-encrypt/TripleDesRsa15/rsa1024",
            at: &[("clients", "10")],
            paper: [1_151.19, 1_151.19],
            goal: None,
        },
        Claim {
            says: "with 10 clients signing and encrypting makes calls take 1,151 % longer: the same with a suite of today",
            experiment: 3,
            shown_in: "beyond-clients",
            arm: "sign-encrypt/Basic128GCM",
            at: &[("clients", "10")],
            paper: [1_151.19, 1_151.19],
            goal: Some(100.0),
        },
        Claim {
            says: "with 10 clients signing and encrypting makes calls take 1,151 % longer: the same with a suite without RSA",
            experiment: 3,
            shown_in: "beyond-clients",
            arm: "sign-encrypt/Basic128GCMEcdhEs",
            at: &[("clients", "10")],
            paper: [1_151.19, 1_151.19],
            goal: Some(100.0),
        },
    ],
    conclusions: conclusions::ALL,
    numbers: &RODRIGUES,
    results: &[
        of_table(1, "tables-2-5", "table-2"),
        of_table(1, "tables-2-5", "table-3"),
        of_table(2, "figure-9", "table-2"),
        of_table(2, "figure-9", "table-3"),
    ],
};

/// The response times of a table, each of 30 repetitions.
const fn of_table(experiment: u8, shown_in: &'static str, source: &'static str) -> Results {
    Results {
        experiment,
        shown_in,
        source,
        with: &[],
        quantity: Quantity::Time,
        n: 30,
        suffix: "/TripleDesRsa15/rsa1024",
    }
}

/// Triple DES, RSA 1.5 and RSA-SHA1 with keys of 1,024 bits, with Timestamps and certificates where
/// the paper has them.
const fn of_the_paper(mechanism: Mechanism) -> Setup {
    Setup::secured(mechanism, "TripleDesRsa15")
        .with_rsa(1_024)
        .in_form(Form::Thumbprints)
}

const ENCRYPT: Setup = of_the_paper(Mechanism::Encrypt);
const SIGN: Setup = of_the_paper(Mechanism::Sign);
const SIGN_ENCRYPT: Setup = of_the_paper(Mechanism::SignEncrypt);
const TLS_USERNAME: Setup = Setup::secured(Mechanism::Username, "").over_tls();

/// By how much the mean time is longer than without security.
const INCREMENT: Shows = Shows::Increment {
    of: Quantity::Time,
    by: Estimate::Mean,
    baseline: "none",
};

/// Clients at once, in the paper.
const PAPER_CLIENTS: [u32; 2] = [5, 10];

const CLIENTS: Experiment = Experiment {
    number: 1,
    question: "How much longer do calls take with security, for 5 and for 10 clients at once?",
    figures: &[
        Figure {
            shown_in: "tables-2-5",
            caption: "increment of the mean time of Sum over that without security, by the number of clients",
            lines: None,
            x: "clients",
            logarithmic: false,
            shows: INCREMENT,
            reported: &[
                Laid::printed("table-4", &[("statistic", "increment")]),
                Laid::printed("table-5", &[("statistic", "increment")]),
            ],
        },
        Figure {
            shown_in: "tables-2-3",
            caption: "mean time of Sum, by the number of clients; the paper's intervals are 1.96·s/√n, ours Student's t",
            lines: Some("tables-2-5"),
            x: "clients",
            logarithmic: false,
            shows: Shows::Itself(Quantity::Time, Estimate::Mean),
            reported: &[
                Laid::printed("table-2", &[("statistic", "mean")]),
                Laid::printed("table-3", &[("statistic", "mean")]),
            ],
        },
        Figure {
            shown_in: "figure-6",
            caption: "what both alone take more than both together: Z in T = X + Y − Z, which the paper puts down to the service's \
                      certificate in signed answers",
            lines: None,
            x: "clients",
            logarithmic: false,
            shows: Shows::Drawn {
                from: "tables-2-5",
                finding: Finding::Remainder {
                    plus: &["encrypt", "sign"],
                    minus: &["sign-encrypt"],
                },
            },
            reported: &[],
        },
        Figure {
            shown_in: "figure-5",
            caption: "by how many percent the mean time of Sum is longer with 10 clients than with 5",
            lines: None,
            x: "operation",
            logarithmic: false,
            shows: Shows::Drawn {
                from: "tables-2-5",
                finding: Finding::Change {
                    over: None,
                    from: "5",
                    to: "10",
                },
            },
            reported: &[Laid::printed("text-4.1", &[("unit", "%")])],
        },
        Figure {
            shown_in: "figure-8",
            caption: "by how many percent the increment over no security is larger with 10 clients than with 5",
            lines: None,
            x: "operation",
            logarithmic: false,
            shows: Shows::Drawn {
                from: "tables-2-5",
                finding: Finding::Change {
                    over: Some("none"),
                    from: "5",
                    to: "10",
                },
            },
            reported: &[Laid::printed("text-4.2", &[])],
        },
    ],
    points: |scope| {
        let setups = [Setup::PLAIN, TLS_USERNAME, ENCRYPT, SIGN, SIGN_ENCRYPT];
        let point = |clients| together("tables-2-5", scope, &setups, clients);
        PAPER_CLIENTS.map(point).to_vec()
    },
};

const FACTORS: Experiment = Experiment {
    number: 2,
    question: "Which of encryption, signature and clients does the time come from?",
    figures: &[Figure {
        shown_in: "figure-9",
        caption: "share of the variation of times that each factor, and factors together, explain",
        lines: None,
        x: "factor",
        logarithmic: false,
        shows: Shows::Allocation {
            of: Quantity::Time,
            factors: &[
                Factor {
                    name: "encryption",
                    high: Level::Arms(&[
                        "encrypt/TripleDesRsa15/rsa1024",
                        "sign-encrypt/TripleDesRsa15/rsa1024",
                    ]),
                },
                Factor {
                    name: "signature",
                    high: Level::Arms(&[
                        "sign/TripleDesRsa15/rsa1024",
                        "sign-encrypt/TripleDesRsa15/rsa1024",
                    ]),
                },
                Factor {
                    name: "clients",
                    high: Level::At("clients", "10"),
                },
            ],
        },
        reported: &[Laid::printed("figure-9", &[])],
    }],
    points: |scope| {
        let setups = [Setup::PLAIN, ENCRYPT, SIGN, SIGN_ENCRYPT];
        let point = |clients| together("figure-9", scope, &setups, clients);
        PAPER_CLIENTS.map(point).to_vec()
    },
};

const BEYOND: Experiment = Experiment {
    number: 3,
    question: "What is it with the suites and the numbers of clients of today?",
    figures: &[Figure {
        shown_in: "beyond-clients",
        caption: "beyond the paper: increment of the mean time of Sum with suites of today, by the number of clients",
        lines: None,
        x: "clients",
        logarithmic: true,
        shows: INCREMENT,
        reported: &[],
    }],
    points: |scope| {
        let clients: &[u32] = scope.scale.pick(
            &[1, 10, 100, 1_000][..],
            &[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000][..],
        );
        let point = |clients: &u32| {
            let mut point = together("beyond-clients", scope, &today(), *clients);
            let ours = |arm: &Arm| matches!(arm.call.stack, Stack::Soapstone | Stack::Tls);
            point
                .arms
                .retain(|arm| *clients <= MOST_OF_OTHERS || ours(arm));
            point
        };
        clients.iter().map(point).collect()
    },
};

const PACE: Experiment = Experiment {
    number: 4,
    question: "How long do calls take when they come at a steady rate, whatever became of earlier ones?",
    figures: &[Figure {
        shown_in: "beyond-pace",
        caption: "beyond the paper: median time of Sum from when a call was to begin, by calls in a second",
        lines: None,
        x: "rate",
        logarithmic: true,
        shows: Shows::Itself(Quantity::Time, Estimate::Median),
        reported: &[],
    }],
    points: |scope| {
        let rates: &[u32] = scope
            .scale
            .pick(&[50, 200][..], &[50, 100, 200, 400, 800][..]);
        let point = |rate: &u32| Point {
            shown_in: "beyond-pace",
            at: BTreeMap::from([("rate", rate.to_string())]),
            arms: scope.arms(&today(), Operation::Sum),
            procedure: Procedure::Paced {
                per_second: f64::from(*rate),
                lasting: scope
                    .scale
                    .pick(Duration::from_millis(500), Duration::from_secs(20)),
            },
        };
        rates.iter().map(point).collect()
    },
};

/// Most clients at once of other stacks. Each of theirs is a thread with a proxy of its own, and a
/// glance at a thousand of them took longer than a glance at all the rest.
const MOST_OF_OTHERS: u32 = 100;

/// What one would choose today, beside no security: AES in GCM with keys of both sizes, signatures
/// by ECDSA, and session keys that are agreed on by the same keys, so that no message takes RSA.
fn today() -> [Setup; 9] {
    let secured = |mechanism| Setup::secured(mechanism, "Basic128GCM");
    [
        Setup::PLAIN,
        TLS_USERNAME,
        secured(Mechanism::Encrypt),
        secured(Mechanism::Sign),
        Setup::secured(Mechanism::Sign, "").by(Proof::Ecdsa),
        secured(Mechanism::SignEncrypt),
        Setup::secured(Mechanism::SignEncrypt, "Basic256GCM"),
        Setup::secured(Mechanism::SignEncrypt, "Basic128GCMEcdhEs"),
        secured(Mechanism::SecureConversation),
    ]
}

/// So many clients that call at once, 30 times: 100 calls each time or as many as there are
/// clients, fewer at a glance.
fn together(shown_in: &'static str, scope: &Scope, setups: &[Setup], clients: u32) -> Point {
    Point {
        shown_in,
        at: BTreeMap::from([("clients", clients.to_string())]),
        arms: scope.arms(setups, Operation::Sum),
        procedure: Procedure::Together {
            clients,
            requests: scope.scale.pick(20, 100u32).div_ceil(clients),
            repetitions: scope.scale.pick(10, 30),
        },
    }
}
