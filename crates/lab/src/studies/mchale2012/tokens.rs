//! Experiment 5: what each token costs small messages. The paper measures X.509 alone, and cites
//! what others found of Kerberos (section 2.2) and of HMAC (section 2.3).
//!
//! Moralis et al. compared Kerberos with X.509 for messages of 60 to 800 bytes. Echoes of as many
//! characters are called here. The rule kept here: what is cited is laid beside figures of the same
//! metric, as many times as many messages as with X.509.

use std::collections::BTreeMap;

use super::super::tokens::{
    self, CONVERSATION, HMAC, KERBEROS, KERBEROS_ONCE, PASSWORD, PLAIN, X509,
};
use crate::papers::Laid;
use crate::study::{
    Estimate, Experiment, Figure, Operation, Point, Procedure, Quantity, Scope, Setup, Shows,
};

/// The tokens, in the order in which they are drawn.
const SETUPS: [Setup; 7] = [
    PLAIN,
    X509,
    KERBEROS,
    KERBEROS_ONCE,
    HMAC,
    PASSWORD,
    CONVERSATION,
];

/// How many times as many messages as with X.509, by this time of a call.
const fn gain(by: Estimate) -> Shows {
    Shows::Factor {
        of: Quantity::Time,
        by,
        baseline: "sign-encrypt/Basic128GCM",
    }
}

/// What is cited of Kerberos.
const fn cited(statistic: &'static [(&'static str, &'static str)]) -> Laid {
    Laid::printed("text-2.2", statistic)
}

pub(super) const EXPERIMENT: Experiment = Experiment {
    number: 5,
    question: "What do Kerberos, shared keys, passwords and conversations cost small messages beside X.509?",
    figures: &[
        Figure {
            shown_in: "tokens",
            caption: "time of an echo that is signed and encrypted with the keys of each token, by its characters; a Kerberos token is \
                      carried by each request, or by the first (once)",
            lines: None,
            x: "bytes",
            logarithmic: false,
            shows: Shows::Itself(Quantity::Time, Estimate::Median),
            reported: &[],
        },
        Figure {
            shown_in: "tokens-gain",
            caption: "how many times as many messages as with X.509, one call after another; the paper's figures of Kerberos are of Moralis \
                      et al., that of HMAC is of signatures alone",
            lines: Some("tokens"),
            x: "bytes",
            logarithmic: false,
            shows: gain(Estimate::Median),
            reported: &[
                cited(&[("statistic", "one-client")]),
                // Of all sizes at once: it answers no question about one.
                cited(&[("statistic", "throughput")]).at(&[("bytes", "!0")]),
                Laid::printed("text-2.3", &[("arm", "sign-encrypt-hmac")]),
            ],
        },
        Figure {
            shown_in: "tokens-load",
            caption: "how many times as many messages as with X.509, by clients at once that load both sides fully, 400 characters each",
            lines: None,
            x: "clients",
            logarithmic: false,
            shows: gain(Estimate::Mean),
            reported: &[cited(&[("statistic", "full-load")])],
        },
        Figure {
            shown_in: "tokens-first",
            caption: "time of the first call of a client that comes to what runs already: Kerberos asks the KDC for its tickets, a \
                      conversation is begun",
            lines: None,
            x: "bytes",
            logarithmic: false,
            shows: Shows::Itself(Quantity::Newcomer, Estimate::Median),
            reported: &[],
        },
        Figure {
            shown_in: "tokens-bytes",
            caption: "bytes of the request as it travels, by the characters that it has echoed",
            lines: Some("tokens"),
            x: "bytes",
            logarithmic: false,
            shows: Shows::Itself(Quantity::SecuredRequest, Estimate::Mean),
            reported: &[],
        },
    ],
    points,
};

fn points(scope: &Scope) -> Vec<Point> {
    let sizes: &[u32] = scope.scale.pick(&[60, 800], &[60, 200, 400, 800]);
    let by_size = sizes.iter().map(|bytes| {
        let procedure = Procedure::Turns {
            repetitions: scope.scale.pick(5, 20),
            requests: scope.scale.pick(20, 200),
        };
        point("tokens", ("bytes", *bytes), scope, *bytes, procedure)
    });
    let clients: &[u32] = scope.scale.pick(&[8], &[2, 8, 32]);
    let by_clients = clients.iter().map(|clients| {
        let procedure = Procedure::Together {
            clients: *clients,
            requests: scope.scale.pick(10, 100),
            repetitions: scope.scale.pick(3, 30),
        };
        point("tokens-load", ("clients", *clients), scope, 400, procedure)
    });
    let first = Procedure::Newcomers {
        times: scope.scale.pick(3, 30),
    };
    let first = point("tokens-first", ("bytes", 400), scope, 400, first);
    by_size.chain(by_clients).chain([first]).collect()
}

fn point(
    shown_in: &'static str,
    (axis, value): (&'static str, u32),
    scope: &Scope,
    characters: u32,
    procedure: Procedure,
) -> Point {
    Point {
        shown_in,
        at: BTreeMap::from([(axis, value.to_string())]),
        arms: tokens::arms(scope, &SETUPS, Operation::Echo { characters }),
        procedure,
    }
}
