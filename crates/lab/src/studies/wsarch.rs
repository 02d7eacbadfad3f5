//! The architecture that Rodrigues, Estrella and Branco describe in section 5 and leave for later:
//! clients call a broker, which knows providers from a registry and chooses by quality and
//! security.
//!
//! The paper has no figures of it. What is measured here is what the architecture costs and what it
//! gives, beside nginx and HAProxy with round robin in front of the same providers. The rule kept
//! here: each bar is a conclusion with a number, and is asked of values of one run.

use std::collections::BTreeMap;

use soapstone::wss::Mechanism;

use crate::papers::Numbers;
use crate::study::{
    Arm, Asks, Call, Conclusion, Estimate, Experiment, Factor, Figure, GOAL, Level, Measure, Of,
    Operation, Point, Procedure, Quantity, Setup, Shows, Stack, Study, Trial,
};

/// The study.
pub const WSARCH: &Study = &Study {
    name: "wsarch",
    paper: None,
    experiments: &[OVERHEAD, SLOWED, KILLED, NEEDS, FACTORS, AGREEMENTS],
    claims: &[],
    conclusions: &[
        Conclusion::of(
            "a broker that passes secured calls on takes at most 1.15 times as long as the direct secured call (1 kB, registry known)",
            BAR,
            (1, "overhead"),
            TIME,
            Asks::ratio(
                Of::arms(&["broker"]).at(ALONE),
                Of::arms(&["direct"]).at(ALONE),
                [0.0, 1.15],
            ),
        ),
        Conclusion::of(
            "a broker in the place of the client's gateway takes at most 1.15 times as long as the direct secured call",
            BAR,
            (1, "overhead"),
            TIME,
            Asks::ratio(
                Of::arms(&["client-broker"]).at(ALONE),
                Of::arms(&["direct"]).at(ALONE),
                [0.0, 1.15],
            ),
        ),
        Conclusion::of(
            "a broker that opens calls and secures them anew takes at most 1.15 times as long as the direct secured call",
            BAR,
            (1, "overhead"),
            TIME,
            Asks::ratio(
                Of::arms(&["bridge"]).at(ALONE),
                Of::arms(&["direct"]).at(ALONE),
                [0.0, 1.15],
            ),
        )
        .but("both parts of the way have a signature and a decryption of their own: twice the work of private keys"),
        Conclusion::of(
            "a broker that opens calls and has conversations with providers takes at most 1.15 times as long as the direct secured call",
            BAR,
            (1, "overhead"),
            TIME,
            Asks::ratio(
                Of::arms(&["bridge-conversation"]).at(ALONE),
                Of::arms(&["direct"]).at(ALONE),
                [0.0, 1.15],
            ),
        ),
        Conclusion::of(
            "with one provider of three that has a third of a processor, 95 of 100 calls take at most half as long as by nginx's round robin",
            BAR,
            (2, "slowed"),
            TAIL,
            Asks::ratio(
                Of::arms(&["broker"]).at(&[("provider", THIRD)]),
                Of::arms(&["nginx"]).at(&[("provider", THIRD)]),
                [0.0, 0.5],
            ),
        ),
        Conclusion::of(
            "with one provider of three that has a third of a processor, 95 of 100 calls take at most half as long as by HAProxy's round robin",
            BAR,
            (2, "slowed"),
            TAIL,
            Asks::ratio(
                Of::arms(&["broker"]).at(&[("provider", THIRD)]),
                Of::arms(&["haproxy"]).at(&[("provider", THIRD)]),
                [0.0, 0.5],
            ),
        ),
        Conclusion::of(
            "with one provider of three that has a twentieth of a processor, 95 of 100 calls take at most half as long as by nginx's round robin",
            BAR,
            (2, "slowed"),
            TAIL,
            Asks::ratio(
                Of::arms(&["broker"]).at(&[("provider", TWENTIETH)]),
                Of::arms(&["nginx"]).at(&[("provider", TWENTIETH)]),
                [0.0, 0.5],
            ),
        ),
        Conclusion::of(
            "with one provider of three that has a twentieth of a processor, 95 of 100 calls take at most half as long as by HAProxy's round robin",
            BAR,
            (2, "slowed"),
            TAIL,
            Asks::ratio(
                Of::arms(&["broker"]).at(&[("provider", TWENTIETH)]),
                Of::arms(&["haproxy"]).at(&[("provider", TWENTIETH)]),
                [0.0, 0.5],
            ),
        ),
        Conclusion::of(
            "with one provider of three that answers 500 ms later, 95 of 100 calls take at most half as long as by nginx's round robin",
            BAR,
            (2, "slowed"),
            TAIL,
            Asks::ratio(
                Of::arms(&["broker"]).at(&[("provider", LATE)]),
                Of::arms(&["nginx"]).at(&[("provider", LATE)]),
                [0.0, 0.5],
            ),
        ),
        Conclusion::of(
            "with one provider of three that answers 500 ms later, 95 of 100 calls take at most half as long as by HAProxy's round robin",
            BAR,
            (2, "slowed"),
            TAIL,
            Asks::ratio(
                Of::arms(&["broker"]).at(&[("provider", LATE)]),
                Of::arms(&["haproxy"]).at(&[("provider", LATE)]),
                [0.0, 0.5],
            ),
        ),
        Conclusion::of(
            "with one provider of three that answers 500 ms later and reports that it does not, 95 of 100 calls take at most half as long as by nginx's round robin",
            BAR,
            (2, "slowed"),
            TAIL,
            Asks::ratio(
                Of::arms(&["broker"]).at(&[("provider", LYING)]),
                Of::arms(&["nginx"]).at(&[("provider", LYING)]),
                [0.0, 0.5],
            ),
        ),
        Conclusion::of(
            "with one provider of three that answers 500 ms later and reports that it does not, 95 of 100 calls take at most half as long as by HAProxy's round robin",
            BAR,
            (2, "slowed"),
            TAIL,
            Asks::ratio(
                Of::arms(&["broker"]).at(&[("provider", LYING)]),
                Of::arms(&["haproxy"]).at(&[("provider", LYING)]),
                [0.0, 0.5],
            ),
        ),
        Conclusion::of(
            "no idempotent call is lost when a provider is killed",
            BAR,
            (3, "killed"),
            Measure::Itself(Quantity::Lost, Estimate::Mean),
            Asks::value(Of::arms(&["bridge"]), [0.0, 0.0]),
        ),
        Conclusion::of(
            "calls to a killed provider end within a second",
            BAR,
            (3, "killed-ends"),
            Measure::Itself(Quantity::Ended, Estimate::Mean),
            Asks::value(Of::arms(&["bridge"]), [0.0, 1e6]),
        ),
        Conclusion::of(
            "no call is served below its security needs",
            BAR,
            (4, "needs"),
            Measure::Itself(Quantity::Below, Estimate::Mean),
            Asks::value(Of::arms(&["bridge"]), [0.0, 0.0]),
        ),
        Conclusion::of(
            "at least 95 % of the calls are answered in the time that they need",
            BAR,
            (4, "needs-met"),
            Measure::Itself(Quantity::Met, Estimate::Mean),
            Asks::value(Of::arms(&["bridge"]), [95.0, 100.0]),
        ),
        Conclusion::of(
            "as many violations of an agreement are recorded as are made, and the records verify",
            BAR,
            (6, "agreements-unrecorded"),
            Measure::Itself(Quantity::Unrecorded, Estimate::Mean),
            Asks::value(Of::arms(&["bridge"]), [0.0, 0.0]),
        ),
    ],
    numbers: &Numbers {
        sources: &[],
        drawn: &[],
    },
    results: &[],
};

/// One client: what a call takes where nobody waits for another one.
const ALONE: &[(&str, &str)] = &[("clients", "1")];

/// Where the bars stand.
const BAR: &str = GOAL;

const TIME: Measure = Measure::Itself(Quantity::Time, Estimate::Median);
const TAIL: Measure = Measure::Itself(Quantity::Tail, Estimate::Median);

const OVERHEAD: Experiment = Experiment {
    number: 1,
    question: "What does a broker in the path cost a call of 1 kB that is signed and encrypted?",
    figures: &[figure(
        "overhead",
        "time of a call: direct, by what passes it on, and by what chooses; by clients that call at once",
        "clients",
        Quantity::Time,
        Estimate::Median,
    )],
    points: |scope| {
        let points = [("1", 1), ("5", 5), ("10", 10)].map(|(number, clients)| {
            point(
                "overhead",
                ("clients", number),
                &[
                    "direct",
                    "nginx",
                    "haproxy",
                    "gateway",
                    "broker",
                    "look-up",
                    "client-broker",
                    "bridge",
                    "bridge-conversation",
                ],
                Procedure::Providers {
                    trial: Trial::Well,
                    clients,
                    requests: 10,
                    repetitions: scope.scale.pick(if clients == 1 { 20 } else { 4 }, 100),
                },
            )
        });
        points.into()
    },
};

/// One provider has a third of a processor, and calls need more than that of it.
const THIRD: &str = "third";
/// One provider has a twentieth of a processor: less than its turn of the calls needs.
const TWENTIETH: &str = "twentieth";
/// One provider answers later.
const LATE: &str = "late";
/// One provider answers later, and its monitor does not see it.
const LYING: &str = "lying";

const SLOWED: Experiment = Experiment {
    number: 2,
    question: "What is left of a slow provider where calls are sent to others?",
    figures: &[figure(
        "slowed",
        "95th percentile of calls while one of three providers has a part of a processor, answers later, or lies about that",
        "provider",
        Quantity::Tail,
        Estimate::Median,
    )],
    points: |scope| {
        let trials = [
            // On two processors, a turn of the calls needs more than a third of one where keys are
            // that long.
            (
                THIRD,
                Trial::Slowed {
                    percent: 33,
                    bits: 4096,
                },
            ),
            (
                TWENTIETH,
                Trial::Slowed {
                    percent: 5,
                    bits: 2048,
                },
            ),
            (LATE, Trial::Late { milliseconds: 500 }),
            (LYING, Trial::Lying { milliseconds: 500 }),
        ];
        let points = trials.map(|(name, trial)| {
            let procedure = Procedure::Providers {
                trial,
                clients: 3,
                requests: scope.scale.pick(30, 200),
                repetitions: scope.scale.pick(4, 30),
            };
            let fronts = ["nginx", "haproxy", "broker", "bridge"];
            point("slowed", ("provider", name), &fronts, procedure)
        });
        points.into()
    },
};

const KILLED: Experiment = Experiment {
    number: 3,
    question: "What is lost when one of three providers is killed?",
    figures: &[
        figure(
            "killed",
            "calls of a round that were lost",
            "clients",
            Quantity::Lost,
            Estimate::Mean,
        ),
        Figure {
            lines: Some("killed"),
            ..figure(
                "killed-ends",
                "from the death of the provider until the last call was sent that it would have got",
                "clients",
                Quantity::Ended,
                Estimate::Mean,
            )
        },
    ],
    points: |scope| {
        vec![point(
            "killed",
            ("clients", "6"),
            &["nginx", "haproxy", "bridge"],
            Procedure::Providers {
                trial: Trial::Killed,
                clients: 6,
                requests: scope.scale.pick(60, 300),
                repetitions: scope.scale.pick(3, 10),
            },
        )]
    },
};

const NEEDS: Experiment = Experiment {
    number: 4,
    question: "Are clients with different needs served by providers whose policies cover them?",
    figures: &[
        figure(
            "needs",
            "calls of a round that were served below their security needs",
            "clients",
            Quantity::Below,
            Estimate::Mean,
        ),
        Figure {
            lines: Some("needs"),
            ..figure(
                "needs-met",
                "share of the calls of a round that were answered in the time that they need",
                "clients",
                Quantity::Met,
                Estimate::Mean,
            )
        },
        Figure {
            lines: Some("needs"),
            ..figure(
                "needs-classes",
                "time of calls, of all clients and of each class: reader needs integrity, shop confidentiality too, bank 128 bits as well",
                "clients",
                Quantity::Time,
                Estimate::Median,
            )
        },
    ],
    points: |scope| {
        vec![point(
            "needs",
            ("clients", "3"),
            &["bridge"],
            Procedure::Providers {
                trial: Trial::Needs,
                clients: 3,
                requests: scope.scale.pick(50, 334),
                repetitions: scope.scale.pick(3, 10),
            },
        )]
    },
};

/// How much later the provider of the design answers that is loaded: some calls' worth.
const LOADED: u32 = 20;

const FACTORS: Experiment = Experiment {
    number: 5,
    question: "Which of selection, load, security and clients does the time of calls through a broker come from?",
    figures: &[Figure {
        shown_in: "factors",
        caption: "share of the variation of times that each factor, and factors together, explain",
        lines: None,
        x: "clients",
        logarithmic: false,
        shows: Shows::Allocation {
            of: Quantity::Time,
            factors: &[
                Factor {
                    name: "selection",
                    high: Level::Arms(&["performance"]),
                },
                Factor {
                    name: "load",
                    high: Level::At("load", "one"),
                },
                Factor {
                    name: "security",
                    high: Level::At("security", "sign-encrypt"),
                },
                Factor {
                    name: "clients",
                    high: Level::At("clients", "10"),
                },
            ],
        },
        reported: &[],
    }],
    points: |scope| {
        let mut points = Vec::new();
        for (load, milliseconds) in [("even", 0), ("one", LOADED)] {
            for (security, secured) in [("none", false), ("sign-encrypt", true)] {
                for (number, clients) in [("5", 5), ("10", 10)] {
                    let procedure = Procedure::Providers {
                        trial: Trial::Factors {
                            milliseconds,
                            secured,
                        },
                        clients,
                        requests: scope.scale.pick(10, 30),
                        repetitions: scope.scale.pick(3, 30),
                    };
                    let fronts = ["random", "performance"];
                    let mut point = point("factors", ("clients", number), &fronts, procedure);
                    point.at.insert("load", load.to_owned());
                    point.at.insert("security", security.to_owned());
                    points.push(point);
                }
            }
        }
        points
    },
};

const AGREEMENTS: Experiment = Experiment {
    number: 6,
    question: "Is each violation of an agreement recorded, and no other?",
    figures: &[
        figure(
            "agreements",
            "violations that were made in a round: every other window of ten calls has late answers",
            "clients",
            Quantity::Violations,
            Estimate::Mean,
        ),
        Figure {
            lines: Some("agreements"),
            ..figure(
                "agreements-unrecorded",
                "violations of a round that were made and not recorded, or recorded and not made",
                "clients",
                Quantity::Unrecorded,
                Estimate::Mean,
            )
        },
    ],
    points: |scope| {
        vec![point(
            "agreements",
            ("clients", "10"),
            &["bridge"],
            Procedure::Providers {
                trial: Trial::Agreement,
                // Each makes one call of a window.
                clients: Trial::WINDOW,
                requests: scope.scale.pick(4, 10),
                repetitions: scope.scale.pick(3, 20),
            },
        )]
    },
};

const fn figure(
    shown_in: &'static str,
    caption: &'static str,
    x: &'static str,
    quantity: Quantity,
    estimate: Estimate,
) -> Figure {
    Figure {
        shown_in,
        caption,
        lines: None,
        x,
        logarithmic: false,
        shows: Shows::Itself(quantity, estimate),
        reported: &[],
    }
}

/// The arms are named after what is in front of the providers.
fn point(
    shown_in: &'static str,
    (axis, value): (&'static str, &str),
    fronts: &[&str],
    procedure: Procedure,
) -> Point {
    let call = Call {
        stack: Stack::Soapstone,
        setup: Setup::secured(Mechanism::SignEncrypt, "Basic128GCM"),
        operation: Operation::Echo { characters: 1_000 },
    };
    let arm = |name: &&str| Arm {
        name: (*name).to_owned(),
        call,
    };
    Point {
        shown_in,
        at: BTreeMap::from([(axis, value.to_owned())]),
        arms: fronts.iter().map(arm).collect(),
        procedure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::{Design, OwnCalls, Scale, Scope};

    /// What tests of studies of papers ask, of this one.
    #[test]
    fn each_figure_has_points_and_each_bar_is_asked_of_arms_that_are_measured() {
        let scope = |scale| Scope {
            scale,
            stacks: vec![Stack::Soapstone],
            databases: Vec::new(),
            own: OwnCalls::default(),
            design: Design::default(),
        };
        for scale in [Scale::Quick, Scale::Full] {
            for experiment in WSARCH.experiments {
                let points = (experiment.points)(&scope(scale));
                for figure in experiment.figures {
                    let mut of = points.iter().filter(|it| it.shown_in == figure.lines_of());
                    assert!(of.all(|it| it.at.contains_key(figure.x)));
                }
                let asked = WSARCH.conclusions.iter();
                for conclusion in asked.filter(|it| it.experiment == experiment.number) {
                    assert!(
                        WSARCH
                            .figure(experiment.number, conclusion.shown_in)
                            .is_some(),
                        "{}",
                        conclusion.says
                    );
                    let measured = points.iter().flat_map(|it| &it.arms);
                    let measured: Vec<&str> = measured.map(|arm| arm.name.as_str()).collect();
                    for arm in conclusion.asks.names().iter().flat_map(|it| it.arms) {
                        assert!(measured.contains(arm), "{}: {arm}", conclusion.says);
                    }
                }
            }
        }
        // 10,000 calls of mixed clients.
        let Procedure::Providers {
            clients,
            requests,
            repetitions,
            ..
        } = (NEEDS.points)(&scope(Scale::Full))[0].procedure
        else {
            panic!("rounds of calls");
        };
        assert!(clients * requests * repetitions >= 10_000);
    }
}
