//! What the report left for later: other suites, larger payloads, poor networks and processors,
//! parts instead of whole messages, contexts without derived keys, what is encrypted twice.

use soapstone::wss::Mechanism;

use super::{FEW, HELLO, RECORDS, SERVICES, SUITE, only, point, policies};
use crate::study::{
    Arm, Call, Condition, Estimate, Experiment, Figure, Finding, Link, Operation, Outages, Point,
    Procedure, Quantity, Setup, Shows, Stack,
};
use std::collections::BTreeMap;
use std::time::Duration;

pub(super) const SUITES: Experiment = Experiment {
    number: 8,
    question: "What do other suites cost: AES-128, GCM, SHA-256, 3DES, RSA 1.5, RSA-1024?",
    figures: &[Figure {
        shown_in: "suites",
        caption: "mean time of calls that are signed and encrypted, by that of plain calls",
        lines: None,
        x: "operation",
        logarithmic: false,
        shows: Shows::Impact {
            of: Quantity::Time,
            by: Estimate::Mean,
            baseline: "none",
        },
        reported: &[],
    }],
    points: |scope| {
        let suites = [
            "Basic256",
            "Basic128",
            "Basic256Sha256",
            "Basic128GCM",
            "Basic256GCM",
            "TripleDes",
            "TripleDesRsa15",
        ];
        let suites = suites.map(|suite| Setup::secured(Mechanism::SignEncrypt, suite));
        let small = ["Basic256", "Basic128"]
            .map(|suite| Setup::secured(Mechanism::SignEncrypt, suite).with_rsa(1024));
        let setups = [&[Setup::PLAIN], &suites[..], &small].concat();
        let procedure = Procedure::Turns {
            repetitions: scope.scale.pick(15, 1_000),
            requests: 1,
        };
        let operations = [
            ("Echo", HELLO),
            RECORDS,
            (
                "Echo-120-kB",
                Operation::Echo {
                    characters: 120_000,
                },
            ),
        ];
        operations
            .map(|(name, operation)| {
                let at = [("operation", name.to_owned())];
                point("suites", &at, scope, (&setups, operation), procedure)
            })
            .to_vec()
    },
};

pub(super) const SUITE_B: Experiment = Experiment {
    number: 9,
    question: "What do the signatures of Suite B cost: ECDSA on P-256 and P-384?",
    figures: &[Figure {
        shown_in: "suite-b",
        caption: "time to sign and verify both messages of an echo in memory, without encryption",
        lines: None,
        x: "characters",
        logarithmic: false,
        shows: Shows::Itself(Quantity::Processor, Estimate::Median),
        reported: &[],
    }],
    points: |_| {
        [12, 12_000]
            .map(|characters: u32| {
                let at = ("characters", characters.to_string());
                own("suite-b", at, policies::suite_b)
            })
            .to_vec()
    },
};

pub(super) const LARGE: Experiment = Experiment {
    number: 10,
    question: "What do payloads of more than 1 MB cost?",
    figures: &[Figure {
        shown_in: "large-payloads",
        caption: "mean time of an echo by that of a plain one, by its characters",
        lines: None,
        x: "characters",
        logarithmic: true,
        shows: Shows::Impact {
            of: Quantity::Time,
            by: Estimate::Mean,
            baseline: "none",
        },
        reported: &[],
    }],
    points: |scope| {
        // The services take 8 MiB at most.
        let sizes: &[u32] = scope.scale.pick(
            &[1_000_000, 4_000_000],
            &[1_000_000, 2_000_000, 4_000_000, 8_000_000],
        );
        let procedure = Procedure::Turns {
            repetitions: scope.scale.pick(3, 50),
            requests: 1,
        };
        let sizes = sizes.iter().map(|characters| {
            let at = [("characters", characters.to_string())];
            let operation = Operation::Echo {
                characters: *characters,
            };
            point("large-payloads", &at, scope, (&FEW, operation), procedure)
        });
        sizes.collect()
    },
};

/// The networks that are tried: the name of each in the figure, and what it is like.
const NETWORKS: [(&str, Link); 7] = [
    ("unlimited", Link::PERFECT),
    (
        "10-Mbit-5-ms",
        Link {
            kilobits: Some(10_000),
            delay: Duration::from_millis(5),
            ..Link::PERFECT
        },
    ),
    (
        "1-Mbit-20-ms",
        Link {
            kilobits: Some(1_000),
            delay: Duration::from_millis(20),
            ..Link::PERFECT
        },
    ),
    (
        "1-percent-lost",
        Link {
            delay: Duration::from_millis(5),
            loss: 0.01,
            ..Link::PERFECT
        },
    ),
    (
        "5-percent-lost",
        Link {
            delay: Duration::from_millis(5),
            loss: 0.05,
            ..Link::PERFECT
        },
    ),
    (
        "outages",
        Link {
            delay: Duration::from_millis(5),
            // TCP waits 0.2 s, then 0.4 s, then 0.8 s …: a period of those would meet it again and
            // again.
            outages: Some(Outages {
                every: Duration::from_millis(1_000),
                lasting: Duration::from_millis(150),
            }),
            ..Link::PERFECT
        },
    ),
    (
        "disconnects",
        Link {
            delay: Duration::from_millis(5),
            // Some ten calls of 20 ms.
            resets: Some(Duration::from_millis(200)),
            ..Link::PERFECT
        },
    ),
];

pub(super) const NETWORK: Experiment = Experiment {
    number: 11,
    question: "What is left of the differences on a slow network, on one that loses packets, and on one that comes and goes or cuts connections?",
    figures: &[Figure {
        shown_in: "networks",
        caption: "mean time of calls of EmployeeDetails between gateways with such a network between them, each way",
        lines: None,
        x: "network",
        logarithmic: true,
        shows: Shows::Itself(Quantity::Time, Estimate::Mean),
        reported: &[],
    }],
    points: |scope| {
        let setups = [&FEW[..], &[Setup::PLAIN.over_tls()]].concat();
        NETWORKS
            .map(|(name, link)| {
                let at = [("network", name.to_owned())];
                let procedure = Procedure::Under {
                    condition: Condition::Network(link),
                    clients: 1,
                    requests: match link.kilobits {
                        Some(_) => scope.scale.pick(3, 50),
                        None => scope.scale.pick(20, 200),
                    },
                    repetitions: scope.scale.pick(2, 5),
                };
                let employees = Operation::Employees;
                only(
                    &[Stack::Soapstone],
                    point("networks", &at, scope, (&setups, employees), procedure),
                )
            })
            .to_vec()
    },
};

pub(super) const PROCESSOR: Experiment = Experiment {
    number: 12,
    question: "What is left when the gateway before the services has only a part of a processor?",
    figures: &[Figure {
        shown_in: "processor",
        caption: "calls of EmployeeDetails in a second of four clients, by the percentage of a processor that the gateway before the services has",
        lines: None,
        x: "percent",
        logarithmic: false,
        shows: Shows::Itself(Quantity::Rate, Estimate::Mean),
        reported: &[],
    }],
    points: |scope| {
        let percents: &[u32] = scope.scale.pick(&[10, 100], &[5, 10, 25, 50, 100, 200]);
        let points = percents.iter().map(|percent| {
            let at = [("percent", percent.to_string())];
            let procedure = Procedure::Under {
                condition: Condition::Processor { percent: *percent },
                clients: 4,
                requests: scope.scale.pick(25, 500),
                repetitions: scope.scale.pick(2, 10),
            };
            let employees = Operation::Employees;
            only(
                &[Stack::Soapstone],
                point("processor", &at, scope, (&FEW, employees), procedure),
            )
        });
        points.collect()
    },
};

pub(super) const PARTIAL: Experiment = Experiment {
    number: 13,
    question: "What is gained where only parts of a message are encrypted?",
    figures: &[Figure {
        shown_in: "partial-encryption",
        caption: "time to secure and open both messages of EmployeeDetails in memory, with 25 records of eight fields",
        lines: None,
        x: "encrypted",
        logarithmic: false,
        shows: Shows::Itself(Quantity::Processor, Estimate::Median),
        reported: &[],
    }],
    points: |_| {
        policies::PARTS
            .map(|(name, _)| {
                let at = ("encrypted", name.to_owned());
                own("partial-encryption", at, policies::partial)
            })
            .to_vec()
    },
};

pub(super) const CONTEXT: Experiment = Experiment {
    number: 14,
    question: "What does a security context token cost, with keys derived for many messages, for each, and for none?",
    figures: &[Figure {
        shown_in: "security-context-token",
        caption: "time to secure and open both messages of an echo in memory",
        lines: None,
        x: "characters",
        logarithmic: false,
        shows: Shows::Itself(Quantity::Processor, Estimate::Median),
        reported: &[],
    }],
    points: |_| {
        [12, 12_000]
            .map(|characters: u32| {
                let at = ("characters", characters.to_string());
                own("security-context-token", at, policies::context)
            })
            .to_vec()
    },
};

pub(super) const DOUBLE: Experiment = Experiment {
    number: 15,
    question: "What does it cost to encrypt twice, in one message and beneath it?",
    figures: &[
        Figure {
            shown_in: "twice-in-one-message",
            caption: "time to secure and open both messages of a call in memory: the Body's content encrypted once, and once more with \
                      what is in it encrypted before",
            lines: None,
            x: "operation",
            logarithmic: false,
            shows: Shows::Itself(Quantity::Processor, Estimate::Median),
            reported: &[],
        },
        Figure {
            shown_in: "twice-in-one-message-bytes",
            caption: "bytes of both messages of the same call",
            lines: Some("twice-in-one-message"),
            x: "operation",
            logarithmic: false,
            shows: Shows::Itself(Quantity::Secured, Estimate::Mean),
            reported: &[],
        },
        Figure {
            shown_in: "double-encryption",
            caption: "mean time of calls by that of plain ones: messages that are encrypted, TLS, and both",
            lines: None,
            x: "operation",
            logarithmic: false,
            shows: Shows::Impact {
                of: Quantity::Time,
                by: Estimate::Mean,
                baseline: "none",
            },
            reported: &[],
        },
    ],
    points: |scope| {
        let encrypted = Setup::secured(Mechanism::Encrypt, SUITE);
        let signed_encrypted = Setup::secured(Mechanism::SignEncrypt, SUITE);
        let setups = [
            Setup::PLAIN,
            Setup::PLAIN.over_tls(),
            encrypted,
            encrypted.over_tls(),
            signed_encrypted,
            signed_encrypted.over_tls(),
        ];
        let procedure = Procedure::Turns {
            repetitions: scope.scale.pick(15, 1_000),
            requests: 1,
        };
        let (name, operation) = RECORDS;
        let at = [("operation", name.to_owned())];
        let called = (&setups[..], operation);
        let mut points = vec![point("double-encryption", &at, scope, called, procedure)];
        points.extend(policies::TWICE.map(|(called, _)| {
            let at = ("operation", called.to_owned());
            own("twice-in-one-message", at, policies::twice)
        }));
        points
    },
};

pub(super) const REST: Experiment = Experiment {
    number: 16,
    question: "What does the alternative cost: no SOAP, but JSON over TLS?",
    figures: &[Figure {
        shown_in: "rest",
        caption: "mean time of getting the records of EmployeeDetails: JSON and SOAP straight from the service over TLS, and SOAP that is \
                  signed and encrypted between gateways",
        lines: None,
        x: "records",
        logarithmic: false,
        shows: Shows::Itself(Quantity::Time, Estimate::Mean),
        reported: &[],
    }],
    points: |scope| {
        let straight = Setup::DIRECT.over_tls();
        let setups = [&[Setup::DIRECT, straight], &FEW[..]].concat();
        let at = [("records", soapstone_services::EMPLOYEES.to_string())];
        let procedure = Procedure::Turns {
            repetitions: scope.scale.pick(30, 1_000),
            requests: 1,
        };
        let called = (&setups[..], Operation::Employees);
        let mut point = point("rest", &at, scope, called, procedure);
        if scope.stacks.contains(&Stack::Soapstone) {
            point.arms.push(Arm {
                name: "rest+https".to_owned(),
                call: Call {
                    stack: Stack::Soapstone,
                    setup: straight,
                    operation: Operation::Resource,
                },
            });
        }
        vec![point]
    },
};

/// What is echoed in chunks: its name, and its characters.
const CHUNKED: [(&str, u32); 3] = [
    ("1-MB", 1_000_000),
    ("8-MB", 8_000_000),
    ("100-MB", 100_000_000),
];

pub(super) const CHUNKS: Experiment = Experiment {
    number: 17,
    question: "Into chunks of which size is a large message best split?",
    figures: &[
        Figure {
            shown_in: "chunks",
            caption: "time of all echoes of so many characters together, one chunk each, by the characters of a chunk; a conversation is \
                      begun with the first",
            lines: None,
            x: "chunk",
            logarithmic: true,
            shows: Shows::Itself(Quantity::Total, Estimate::Mean),
            reported: &[],
        },
        Figure {
            shown_in: "chunks-best",
            caption: "characters of the chunk with which all echoes together take the least time",
            lines: None,
            x: "text",
            logarithmic: true,
            shows: Shows::Drawn {
                from: "chunks",
                finding: Finding::Least {
                    of: Quantity::Total,
                },
            },
            reported: &[],
        },
        Figure {
            shown_in: "chunks-memory",
            caption: "most memory that the gateway before the services has held, by the characters of a chunk",
            lines: None,
            x: "chunk",
            logarithmic: true,
            shows: Shows::Itself(Quantity::Memory, Estimate::Mean),
            reported: &[],
        },
    ],
    points: |scope| {
        // The services take 8 MiB at most.
        let chunks: &[u32] = scope.scale.pick(
            &[10_000, 100_000, 1_000_000, 8_000_000],
            &[
                10_000, 30_000, 100_000, 300_000, 1_000_000, 2_000_000, 4_000_000, 8_000_000,
            ],
        );
        let texts = scope.scale.pick(&CHUNKED[..2], &CHUNKED[..]);
        let mut points = Vec::new();
        for (text, characters) in texts {
            // Larger ones at a glance are those that need most of them.
            let least = scope.scale.pick(characters / 100, 0);
            let fits = |chunk: &&u32| (least..=*characters).contains(*chunk);
            for chunk in chunks.iter().filter(fits) {
                let at = [("chunk", chunk.to_string()), ("text", (*text).to_owned())];
                let echoes = (&FEW[..], Operation::Echo { characters: *chunk });
                let requests = characters.div_ceil(*chunk);
                let timed = Procedure::Conversations {
                    repetitions: scope.scale.pick(3, 10),
                    requests,
                };
                let weighed = Procedure::Under {
                    // More than it takes: what it takes is asked.
                    condition: Condition::Memory { mebibytes: 2_048 },
                    clients: 1,
                    requests: requests.min(scope.scale.pick(3, 100)),
                    repetitions: 1,
                };
                points.push(point("chunks", &at, scope, echoes, timed));
                if *text == "8-MB" {
                    let weighed = point("chunks-memory", &at, scope, echoes, weighed);
                    points.push(only(&[Stack::Soapstone], weighed));
                }
            }
        }
        points
    },
};

pub(super) const WARM_UP: Experiment = Experiment {
    number: 18,
    question: "What does the first call after a deployment cost where the gateway has warmed up?",
    figures: &[
        Figure {
            shown_in: "warm-up",
            caption: "time of the first call after a deployment, with and without a request of the gateway's own before it",
            lines: None,
            x: "operation",
            logarithmic: false,
            shows: Shows::Itself(Quantity::First, Estimate::Mean),
            reported: &[],
        },
        Figure {
            shown_in: "warm-up-later",
            caption: "time of later calls after the same deployments",
            lines: Some("warm-up"),
            x: "operation",
            logarithmic: false,
            shows: Shows::Itself(Quantity::Later, Estimate::Mean),
            reported: &[],
        },
    ],
    points: |scope| {
        let warm = FEW.map(Setup::warmed_up);
        let setups = [FEW, warm].concat();
        let procedure = Procedure::Fresh {
            times: scope.scale.pick(3, 30),
            calls: 10,
        };
        let points = SERVICES.map(|(name, operation)| {
            let at = [("operation", name.to_owned())];
            let point = point("warm-up", &at, scope, (&setups, operation), procedure);
            only(&[Stack::Soapstone], point)
        });
        points.to_vec()
    },
};

/// A point that is measured in memory.
fn own(
    shown_in: &'static str,
    (axis, value): (&'static str, String),
    measure: fn(&Point, &crate::study::Scope, &mut dyn FnMut(crate::study::Line)),
) -> Point {
    Point {
        shown_in,
        at: BTreeMap::from([(axis, value)]),
        arms: Vec::new(),
        procedure: Procedure::Own(measure),
    }
}
