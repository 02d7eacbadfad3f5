//! Experiment 19: tokens by value, by reference, by name, and from an issuer. The report's section
//! 6.2.6 leaves for later whether tokens by reference, as in SAML, improve on tokens by value.
//!
//! Measured are assertions by value, and by reference at a receiver that keeps them and at one that
//! fetches them for each request; assertions that a token service issues, with the client's cache
//! cold and warm; and Kerberos tokens that later requests name. Constrained devices, which the
//! report has in mind, are a slow network and little of a processor. The rule kept here: a token
//! that is not measured is told, never left away.

use super::super::tokens::{
    self, BEARER, HOLDER, ISSUED, KERBEROS, KERBEROS_ONCE, PLAIN, REFERENCE, REFERENCE_COLD, X509,
};
use super::{HELLO, SERVICES};
use crate::study::{
    Condition, Estimate, Experiment, Figure, Link, Point, Procedure, Quantity, Setup, Shows,
};

/// The tokens, in the order in which they are drawn.
const SETUPS: [Setup; 9] = [
    PLAIN,
    X509,
    HOLDER,
    BEARER,
    ISSUED,
    REFERENCE,
    REFERENCE_COLD,
    KERBEROS,
    KERBEROS_ONCE,
];

/// Those without a realm, which a gateway under a condition is not in.
const ASSERTIONS: [Setup; 7] = [
    PLAIN,
    X509,
    HOLDER,
    BEARER,
    ISSUED,
    REFERENCE,
    REFERENCE_COLD,
];

/// What a constrained device has little of.
const CONDITIONS: [(&str, Condition); 2] = [
    (
        "1-Mbit",
        Condition::Network(Link {
            kilobits: Some(1_000),
            ..Link::PERFECT
        }),
    ),
    ("10-percent", Condition::Processor { percent: 10 }),
];

pub(super) const EXPERIMENT: Experiment = Experiment {
    number: 19,
    question: "What do tokens cost by value, by reference, by name, and from a token service?",
    figures: &[
        figure(
            "tokens",
            "mean time of calls: an assertion that each request carries for the holder of a key, or for its bearer; one from a token \
             service, which the client's gateway keeps; one that requests name, and that the receiver keeps, or fetches for each of \
             them (cold); a Kerberos token that each request carries, or names after the first (once)",
            None,
            Quantity::Time,
        ),
        figure(
            "tokens-bytes",
            "bytes of the request as it travels",
            Some("tokens"),
            Quantity::SecuredRequest,
        ),
        figure(
            "tokens-cold",
            "time of the first call of a client that comes to what runs already: it keeps no assertion and no ticket yet, and asks the \
             issuer",
            None,
            Quantity::Newcomer,
        ),
        Figure {
            x: "limit",
            ..figure(
                "tokens-constrained",
                "mean time of echoes where little is there: a network of 1 Mbit/s between the gateways, or 10 % of a processor for that \
                 before the services",
                None,
                Quantity::Time,
            )
        },
    ],
    points: |scope| {
        let warm = Procedure::Turns {
            repetitions: scope.scale.pick(5, 20),
            requests: scope.scale.pick(10, 500),
        };
        let cold = Procedure::Newcomers {
            times: scope.scale.pick(3, 30),
        };
        // At a glance of one service: what differs between the two is no token.
        let cold_of = scope.scale.pick(1, SERVICES.len());
        let of = |shown_in, count, procedure| {
            let services = SERVICES.into_iter().take(count);
            services.map(move |(name, operation)| Point {
                shown_in,
                at: [("operation", name.to_owned())].into(),
                arms: tokens::arms(scope, &SETUPS, operation),
                procedure,
            })
        };
        let constrained = CONDITIONS.map(|(name, condition)| Point {
            shown_in: "tokens-constrained",
            at: [("limit", name.to_owned())].into(),
            arms: tokens::arms(scope, &ASSERTIONS, HELLO),
            procedure: Procedure::Under {
                condition,
                clients: 1,
                requests: scope.scale.pick(2, 100),
                repetitions: scope.scale.pick(2, 10),
            },
        });
        let warm = of("tokens", SERVICES.len(), warm);
        let all = warm.chain(of("tokens-cold", cold_of, cold));
        all.chain(constrained).collect()
    },
};

/// A figure of both services.
const fn figure(
    shown_in: &'static str,
    caption: &'static str,
    lines: Option<&'static str>,
    of: Quantity,
) -> Figure {
    Figure {
        shown_in,
        caption,
        lines,
        x: "operation",
        logarithmic: false,
        shows: Shows::Itself(of, Estimate::Mean),
        reported: &[],
    }
}
