//! Experiment 1: calls under each proof, over HTTP and over TLS (figure 2).
//!
//! HMAC-SHA-1 signs and AES enciphers the messages of a conversation here, whose key was agreed before; signatures by RSA are those of
//! the suite `Basic256`. Passwords travel as digests; what they take as text is in the breakdown by operations. The rule kept here: what is called is as small as can be, so that what is added is seen.

use std::collections::BTreeMap;

use soapstone::wss::Mechanism;

use crate::study::{Estimate, Experiment, Figure, How, Operation, Point, Quantity, Shows, Way};

const SUITE: &str = "Basic256";

pub(super) const EXPERIMENT: Experiment = Experiment {
    number: 1,
    question: "What do calls take under each proof, over HTTP and over TLS?",
    figures: &[Figure {
        shown_in: "figure-2",
        caption: "time of a call that echoes ten strings",
        x: "strings",
        logarithmic: false,
        shows: Shows::Itself(Quantity::Time, Estimate::Median),
        reported: &[],
    }],
    points: |scope| {
        let ways = [
            Way::PLAIN,
            Way::secured(Mechanism::Username, ""),
            Way::secured(Mechanism::Sign, SUITE),
            Way::secured(Mechanism::SecureConversation, SUITE),
        ];
        let over_tls = ways.map(Way::over_tls);
        let operation = Operation::Strings { elements: 10 };
        vec![Point {
            shown_in: "figure-2",
            at: BTreeMap::from([("strings", "10".to_owned())]),
            arms: scope.arms(&[ways, over_tls].concat(), operation),
            how: How::Turns {
                repetitions: scope.scale.pick(5, 20),
                requests: scope.scale.pick(20, 500),
            },
        }]
    },
};
