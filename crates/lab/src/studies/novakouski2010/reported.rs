//! The experiments that the report made.

use soapstone::wss::Mechanism;

use super::{FEW, HELLO, RECORDS, SERVICES, SETUPS, SUITE, only, point};
use crate::papers::Laid;
use crate::study::{
    Condition, Estimate, Experiment, Figure, Finding, Operation, Point, Procedure, Quantity, Setup,
    Shows, Stack, Step,
};
use std::collections::BTreeMap;

/// Mean time of calls by that of plain ones.
const IMPACT: Shows = Shows::Impact {
    of: Quantity::Time,
    by: Estimate::Mean,
    baseline: "none",
};

pub(super) const STATIC: Experiment = Experiment {
    number: 1,
    question: "What does each mechanism cost a small echo, and a list of records?",
    figures: &[
        Figure {
            shown_in: "tables-1-2",
            caption: "mean time by that of plain calls",
            lines: None,
            x: "operation",
            logarithmic: false,
            shows: IMPACT,
            reported: &[
                Laid::printed("table-1", &[("statistic", "mean")]).computed(),
                Laid::printed("table-2", &[("statistic", "mean")]).computed(),
            ],
        },
        Figure {
            shown_in: "tables-1-2-times",
            caption: "mean time of calls",
            lines: Some("tables-1-2"),
            x: "operation",
            logarithmic: false,
            shows: Shows::Itself(Quantity::Time, Estimate::Mean),
            reported: &[
                Laid::printed("table-1", &[("statistic", "mean")]),
                Laid::printed("table-2", &[("statistic", "mean")]),
            ],
        },
        Figure {
            shown_in: "tables-1-2-medians",
            caption: "median time of calls",
            lines: Some("tables-1-2"),
            x: "operation",
            logarithmic: false,
            shows: Shows::Itself(Quantity::Time, Estimate::Median),
            reported: &[
                Laid::printed("table-1", &[("statistic", "median")]),
                Laid::printed("table-2", &[("statistic", "median")]),
            ],
        },
        Figure {
            shown_in: "tables-1-2-deviations",
            caption: "deviation of the time of calls",
            lines: Some("tables-1-2"),
            x: "operation",
            logarithmic: false,
            shows: Shows::Itself(Quantity::Time, Estimate::Deviation),
            reported: &[
                Laid::printed("table-1", &[("statistic", "deviation")]),
                Laid::printed("table-2", &[("statistic", "deviation")]),
            ],
        },
        Figure {
            shown_in: "beyond-records",
            caption: "beyond the paper: mean time by that of plain calls, with 25 records of 300 bytes each instead of one of eight short strings",
            lines: None,
            x: "operation",
            logarithmic: false,
            shows: IMPACT,
            reported: &[],
        },
    ],
    points: |scope| {
        let procedure = Procedure::Turns {
            repetitions: scope.scale.pick(30, 10_000),
            requests: 1,
        };
        let services = SERVICES.map(|service| ("tables-1-2", service));
        let few = Procedure::Turns {
            repetitions: scope.scale.pick(15, 1_000),
            requests: 1,
        };
        let records = [("beyond-records", RECORDS)];
        let points = services.map(|it| (it, procedure)).into_iter();
        points
            .chain(records.map(|it| (it, few)))
            .map(|((shown_in, (name, operation)), procedure)| {
                let at = [("operation", name.to_owned())];
                point(shown_in, &at, scope, (&SETUPS, operation), procedure)
            })
            .collect()
    },
};

pub(super) const GROWING: Experiment = Experiment {
    number: 2,
    question: "How do costs grow with a payload of \"Hello World \" again and again?",
    figures: &[
        Figure {
            shown_in: "figures-2-3-table-3",
            caption: "mean time of an echo by its characters",
            lines: None,
            x: "characters",
            logarithmic: false,
            shows: Shows::Itself(Quantity::Time, Estimate::Mean),
            reported: &[],
        },
        Figure {
            shown_in: "table-3-increase",
            caption: "by how many percent the mean of the last ten echoes of the largest text is above the least time of any",
            lines: None,
            x: "operation",
            logarithmic: true,
            shows: Shows::Drawn {
                from: "figures-2-3-table-3",
                finding: Finding::Increase,
            },
            reported: &[Laid::printed("table-3", &[("statistic", "increase")])],
        },
        Figure {
            shown_in: "figure-3",
            caption: "mean time of an echo of up to 20 kB by its characters: where signing begins to take less than encrypting",
            lines: None,
            x: "characters",
            logarithmic: false,
            shows: Shows::Itself(Quantity::Time, Estimate::Mean),
            reported: &[],
        },
        Figure {
            shown_in: "figure-3-crossovers",
            caption: "from how many characters on the second of two mechanisms takes less time, which takes more before",
            lines: None,
            x: "operation",
            logarithmic: true,
            shows: Shows::Drawn {
                from: "figure-3",
                finding: Finding::Crossovers { of: Quantity::Time },
            },
            reported: &[],
        },
        Figure {
            shown_in: "beyond-securing",
            caption: "beyond the paper: time to secure an answer in memory, bytes to bytes, by its characters",
            lines: None,
            x: "characters",
            logarithmic: false,
            shows: Shows::Itself(Quantity::Time, Estimate::Median),
            reported: &[],
        },
        Figure {
            shown_in: "beyond-opening",
            caption: "beyond the paper: time to open a secured answer in memory, bytes to bytes, by its characters",
            lines: None,
            x: "characters",
            logarithmic: false,
            shows: Shows::Itself(Quantity::Time, Estimate::Median),
            reported: &[],
        },
        Figure {
            shown_in: "table-3-rates",
            caption: "by how much the mean time of an echo grows with each kB of its text, which travels both ways",
            lines: None,
            x: "operation",
            logarithmic: false,
            shows: Shows::Drawn {
                from: "figures-2-3-table-3",
                finding: Finding::Rates,
            },
            reported: &[],
        },
    ],
    points: |scope| {
        // The report adds 12 characters with each of 10,000 calls. Here calls are repeated at sizes
        // along that way.
        let sizes: &[u32] = scope.scale.pick(
            &[12, 30_000, 60_000, 120_000],
            &[
                12, 12_000, 24_000, 36_000, 48_000, 60_000, 72_000, 84_000, 96_000, 108_000,
                120_000,
            ],
        );
        let procedure = Procedure::Turns {
            repetitions: scope.scale.pick(10, 900),
            requests: 1,
        };
        let point = |characters: &u32| {
            let at = [("characters", characters.to_string())];
            let operation = Operation::Echo {
                characters: *characters,
            };
            point(
                "figures-2-3-table-3",
                &at,
                scope,
                (&SETUPS, operation),
                procedure,
            )
        };
        let mut points: Vec<_> = sizes.iter().map(point).collect();
        let small: &[u32] = scope.scale.pick(
            &[1_000, 5_000, 10_000, 20_000],
            &[
                12, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000, 9_000, 10_000, 12_000,
                14_000, 16_000, 18_000, 20_000,
            ],
        );
        let often = Procedure::Turns {
            repetitions: scope.scale.pick(20, 600),
            requests: 1,
        };
        let setups = [
            Setup::PLAIN,
            Setup::secured(Mechanism::Sign, SUITE),
            Setup::secured(Mechanism::Encrypt, SUITE),
        ];
        points.extend(small.iter().map(|characters| {
            let at = [("characters", characters.to_string())];
            let operation = Operation::Echo {
                characters: *characters,
            };
            super::point("figure-3", &at, scope, (&setups, operation), often)
        }));
        // Those who process messages in memory have no calls.
        let sizes: &[u32] = scope.scale.pick(&[1_000, 20_000], small);
        for (shown_in, step) in [
            ("beyond-securing", Step::Secure),
            ("beyond-opening", Step::Open),
        ] {
            points.extend(sizes.iter().map(|characters| {
                let operation = Operation::Echo {
                    characters: *characters,
                };
                Point {
                    shown_in,
                    at: BTreeMap::from([("characters", characters.to_string())]),
                    arms: scope.arms_in_memory(&setups[1..], operation),
                    procedure: Procedure::InMemory {
                        step,
                        repetitions: scope.scale.pick(20, 300),
                    },
                }
            }));
        }
        points
    },
};

pub(super) const STARTUP: Experiment = Experiment {
    number: 3,
    question: "What does the first call cost, of all and of each new client?",
    figures: &[
        Figure {
            shown_in: "figures-4-5",
            caption: "time of the first call after deployment, of echoes by their characters and of EmployeeDetails",
            lines: None,
            x: "payload",
            logarithmic: false,
            shows: Shows::Itself(Quantity::First, Estimate::Mean),
            reported: &[],
        },
        Figure {
            shown_in: "figure-4-later",
            caption: "time of the first call of a client that comes later, of both services",
            lines: None,
            x: "payload",
            logarithmic: false,
            shows: Shows::Itself(Quantity::Newcomer, Estimate::Mean),
            reported: &[],
        },
    ],
    points: |scope| {
        // Figure 4 has both services, figure 5 the three echoes beside EmployeeDetails.
        let fresh = Procedure::Fresh {
            times: scope.scale.pick(3, 30),
            calls: 2,
        };
        let newcomers = Procedure::Newcomers {
            times: scope.scale.pick(3, 30),
        };
        let echo = |characters| Operation::Echo { characters };
        let (_, employee) = SERVICES[1];
        [
            ("figures-4-5", "Echo-12", HELLO, fresh),
            ("figures-4-5", "Echo-60", echo(60), fresh),
            ("figures-4-5", "Echo-120", echo(120), fresh),
            ("figures-4-5", "EmployeeDetails", employee, fresh),
            ("figure-4-later", "Echo-12", HELLO, newcomers),
            ("figure-4-later", "EmployeeDetails", employee, newcomers),
        ]
        .map(|(shown_in, name, operation, procedure)| {
            let at = [("payload", name.to_owned())];
            point(shown_in, &at, scope, (&SETUPS, operation), procedure)
        })
        .to_vec()
    },
};

pub(super) const TOTAL: Experiment = Experiment {
    number: 4,
    question: "After how many messages does what is dearer at the start become cheaper in all?",
    figures: &[
        Figure {
            shown_in: "figures-6-7",
            caption: "time of all messages after a deployment, by their number",
            lines: None,
            x: "messages",
            logarithmic: true,
            shows: Shows::Itself(Quantity::Total, Estimate::Mean),
            reported: &[],
        },
        Figure {
            shown_in: "figures-6-7-crossovers",
            caption: "after how many messages the second of two mechanisms costs less in all, which costs more before",
            lines: None,
            x: "operation",
            logarithmic: true,
            shows: Shows::Drawn {
                from: "figures-6-7",
                finding: Finding::Crossovers {
                    of: Quantity::Total,
                },
            },
            reported: &[
                Laid::printed("figure-6", &[]),
                Laid::printed("figure-7", &[]),
            ],
        },
    ],
    points: |scope| {
        let messages: &[u32] = scope
            .scale
            .pick(&[1, 4, 12, 46], &[1, 2, 5, 12, 20, 46, 70, 100]);
        let mut points = Vec::new();
        for (name, operation) in SERVICES {
            points.extend(messages.iter().map(|messages| {
                let at = [
                    ("messages", messages.to_string()),
                    ("operation", name.to_owned()),
                ];
                let procedure = Procedure::Fresh {
                    // Three at least have intervals that tell something; a glance that is short of
                    // time has no more.
                    times: scope.scale.pick(5, 30),
                    calls: *messages,
                };
                point("figures-6-7", &at, scope, (&SETUPS, operation), procedure)
            }));
        }
        points
    },
};

pub(super) const CONVERGENCE: Experiment = Experiment {
    number: 5,
    question: "After how many messages is the start paid off, and how much do times spread after that?",
    figures: &[
        Figure {
            shown_in: "tables-4-5-figure-8",
            caption: "mean time of messages since deployment, by their number",
            lines: None,
            x: "messages",
            logarithmic: true,
            shows: Shows::Itself(Quantity::Time, Estimate::Mean),
            reported: &[],
        },
        Figure {
            shown_in: "tables-4-5-convergence",
            caption: "after how many messages their mean time since deployment is at most 10 % above the steady state",
            lines: None,
            x: "operation",
            logarithmic: true,
            shows: Shows::Drawn {
                from: "tables-4-5-figure-8",
                finding: Finding::Convergence { percent: 10.0 },
            },
            reported: &[],
        },
        Figure {
            shown_in: "tables-4-5-first-below-mean",
            caption: "number of the first message since deployment whose time is no more than the mean of all",
            lines: None,
            x: "operation",
            logarithmic: true,
            shows: Shows::Drawn {
                from: "tables-4-5-figure-8",
                finding: Finding::FirstBelowMean,
            },
            reported: &[Laid::printed("table-4", &[]), Laid::printed("table-5", &[])],
        },
        Figure {
            shown_in: "figure-9",
            caption: "standard deviation of the time of messages after the first since deployment, by their number",
            lines: None,
            x: "messages",
            logarithmic: true,
            shows: Shows::Drawn {
                from: "tables-4-5-figure-8",
                finding: Finding::Spread,
            },
            reported: &[],
        },
    ],
    points: |scope| {
        let messages: &[u32] = scope
            .scale
            // The report has 10,000 messages after each start.
            .pick(
                &[2, 10, 40, 80],
                &[2, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000],
            );
        let mut points = Vec::new();
        for (name, operation) in SERVICES {
            points.extend(messages.iter().map(|messages| {
                let at = [
                    ("messages", messages.to_string()),
                    ("operation", name.to_owned()),
                ];
                let procedure = Procedure::Fresh {
                    // Means of deployments have intervals, for which it takes three at least.
                    times: match messages {
                        10_000 => 3,
                        _ => scope.scale.pick(3, 10),
                    },
                    calls: *messages,
                };
                point(
                    "tables-4-5-figure-8",
                    &at,
                    scope,
                    (&SETUPS, operation),
                    procedure,
                )
            }));
        }
        points
    },
};

pub(super) const SIZES: Experiment = Experiment {
    number: 6,
    question: "How large do messages become, and how does that change as they grow?",
    figures: &[
        Figure {
            shown_in: "table-6",
            caption: "bytes of request and response together as they travel",
            lines: None,
            x: "operation",
            logarithmic: false,
            shows: Shows::Itself(Quantity::Secured, Estimate::Mean),
            reported: &[Laid::printed("table-6", &[("statistic", "size")]).summed("direction")],
        },
        Figure {
            shown_in: "table-6-requests",
            caption: "bytes of the request as it travels",
            lines: Some("table-6"),
            x: "operation",
            logarithmic: false,
            shows: Shows::Itself(Quantity::SecuredRequest, Estimate::Mean),
            reported: &[Laid::printed(
                "table-6",
                &[("statistic", "size"), ("direction", "request")],
            )
            .summed("direction")],
        },
        Figure {
            shown_in: "table-6-responses",
            caption: "bytes of the response as it travels",
            lines: Some("table-6"),
            x: "operation",
            logarithmic: false,
            shows: Shows::Itself(Quantity::SecuredResponse, Estimate::Mean),
            reported: &[Laid::printed(
                "table-6",
                &[("statistic", "size"), ("direction", "response")],
            )
            .summed("direction")],
        },
        Figure {
            shown_in: "figure-10",
            caption: "bytes that security adds to both messages of an echo, by its characters",
            lines: None,
            x: "characters",
            logarithmic: true,
            shows: Shows::Added {
                of: Quantity::Secured,
                by: Estimate::Mean,
                baseline: "none",
            },
            reported: &[],
        },
        Figure {
            shown_in: "figure-10-crossovers",
            caption: "from how many characters of an echo on the messages of the second of two mechanisms are smaller, which are larger before",
            lines: None,
            x: "operation",
            logarithmic: true,
            shows: Shows::Drawn {
                from: "figure-10",
                finding: Finding::Crossovers {
                    of: Quantity::Secured,
                },
            },
            reported: &[],
        },
        Figure {
            shown_in: "figure-10-percent",
            caption: "by how many percent security makes the messages of an echo larger, by its characters",
            lines: Some("figure-10"),
            x: "characters",
            logarithmic: true,
            shows: Shows::Increment {
                of: Quantity::Secured,
                by: Estimate::Mean,
                baseline: "none",
            },
            reported: &[],
        },
    ],
    points: |scope| {
        // Sizes do not vary: they are weighed once.
        let procedure = Procedure::Turns {
            repetitions: 1,
            requests: 1,
        };
        let mut points: Vec<_> = SERVICES
            .map(|(name, operation)| {
                let at = [("operation", name.to_owned())];
                point("table-6", &at, scope, (&SETUPS[1..], operation), procedure)
            })
            .to_vec();
        let sizes = [
            12, 120, 1_200, 2_000, 3_000, 4_000, 5_000, 6_000, 8_000, 12_000, 120_000,
        ];
        points.extend(sizes.map(|characters| {
            let at = [("characters", characters.to_string())];
            let operation = Operation::Echo { characters };
            point(
                "figure-10",
                &at,
                scope,
                (&SETUPS[1..], operation),
                procedure,
            )
        }));
        points
    },
};

pub(super) const MEMORY: Experiment = Experiment {
    number: 7,
    question: "How much memory does security need, and what happens when there is less?",
    figures: &[
        Figure {
            shown_in: "figure-11",
            caption: "calls of EmployeeDetails with 25 records in a second of four clients, by the memory of the gateway before the services, or of the heap of a Java stack, MiB",
            lines: None,
            x: "memory",
            logarithmic: true,
            shows: Shows::Itself(Quantity::Rate, Estimate::Mean),
            reported: &[],
        },
        Figure {
            shown_in: "figure-11-latency",
            caption: "mean time of the calls of one client, by the same",
            lines: None,
            x: "memory",
            logarithmic: true,
            shows: Shows::Itself(Quantity::Time, Estimate::Mean),
            reported: &[],
        },
    ],
    points: |scope| {
        let limits: &[u32] = scope
            .scale
            .pick(&[6, 64, 256], &[4, 5, 6, 8, 12, 16, 32, 64, 128, 256, 512]);
        let mut points = Vec::new();
        for (shown_in, clients) in [("figure-11", 4), ("figure-11-latency", 1)] {
            points.extend(limits.iter().map(|mebibytes| {
                let at = [("memory", mebibytes.to_string())];
                let procedure = Procedure::Under {
                    condition: Condition::Memory {
                        mebibytes: *mebibytes,
                    },
                    clients,
                    requests: scope.scale.pick(25, 500),
                    repetitions: scope.scale.pick(2, 10),
                };
                let employees = Operation::Employees;
                only(
                    &[Stack::Soapstone, Stack::Cxf, Stack::Cxf35, Stack::Metro],
                    point(shown_in, &at, scope, (&FEW, employees), procedure),
                )
            }));
        }
        points
    },
};
