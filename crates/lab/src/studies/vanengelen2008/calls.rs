//! Experiment 1: calls under each proof, over HTTP and over TLS (figure 2).
//!
//! HMAC-SHA-1 is taken with a key that both sides hold; a conversation, which the paper did not
//! have, stands beside it. The paper signs the tokens of users (UID+PW SIGN, UID+DA SIGN): here
//! that is done by HMAC, and tokens that are not signed stand beside them. Signatures by RSA are
//! those of the suite `Basic256`. Stacks that lack a proof are left out of it. The rule kept here:
//! what is called is as small as can be, so that what is added is seen.

use std::collections::BTreeMap;

use soapstone::wss::Mechanism;

use crate::study::{
    Estimate, Experiment, Figure, Operation, Point, Procedure, Proof, Quantity, Scope, Setup, Shows,
};

const SUITE: &str = "Basic256";

pub(super) const EXPERIMENT: Experiment = Experiment {
    number: 1,
    question: "What do calls take under each proof, over HTTP and over TLS?",
    figures: &[Figure {
        shown_in: "figure-2",
        caption: "time of a call that echoes ten strings",
        lines: None,
        x: "strings",
        logarithmic: false,
        shows: Shows::Itself(Quantity::Time, Estimate::Median),
        reported: &[],
    }],
    points: |scope| {
        let over_http = [
            Setup::PLAIN,
            USERNAME,
            USERNAME.by(Proof::PasswordText),
            SIGNED_USERNAME.by(Proof::SharedKey),
            SIGNED_USERNAME.by(Proof::SignedPasswordText),
            SIGN.by(Proof::SharedKey),
            SIGN.by(Proof::Dsa),
            SIGN,
            Setup::secured(Mechanism::SecureConversation, SUITE),
        ];
        let over_tls = over_http.map(Setup::over_tls);
        vec![point(scope, "figure-2", &[over_http, over_tls].concat())]
    },
};

const USERNAME: Setup = Setup::secured(Mechanism::Username, "");
/// The signature is in the algorithms of the suite.
const SIGNED_USERNAME: Setup = Setup::secured(Mechanism::Username, SUITE);
const SIGN: Setup = Setup::secured(Mechanism::Sign, SUITE);

fn point(scope: &Scope, shown_in: &'static str, setups: &[Setup]) -> Point {
    Point {
        shown_in,
        at: BTreeMap::from([("strings", "10".to_owned())]),
        arms: scope.arms(setups, Operation::Strings { elements: 10 }),
        procedure: Procedure::Turns {
            repetitions: scope.scale.pick(5, 20),
            requests: scope.scale.pick(20, 500),
        },
    }
}
