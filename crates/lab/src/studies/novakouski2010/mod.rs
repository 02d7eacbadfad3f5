//! Novakouski, Simanta, Peterson, Morris and Lewis: what the mechanisms of WS-Security cost on
//! Axis2 with Rampart, CMU/SEI-2010-TR-023.
//!
//! Experiments 1 to 7 are the report's; those from 8 on are what it left for later. Where it counts
//! messages until something happens (crossing, converging), calls are made after a new deployment,
//! for more and more messages. The rule kept here: numbers of the report only.

mod conclusions;
mod further;
mod policies;
mod reported;
mod tokens;

use std::collections::BTreeMap;

use soapstone::wss::Mechanism;

use crate::papers::{NOVAKOUSKI, Results};
use crate::study::{
    Claim, Operation, Paper, Point, Procedure, Quantity, Scope, Setup, Stack, Study,
};

/// The study.
pub(super) const STUDY: Study = Study {
    name: "novakouski2010",
    paper: Some(Paper {
        title: "Performance Analysis of WS-Security Mechanisms in SOAP-Based Web Services",
        authors: "M. Novakouski, S. Simanta, G. Peterson, E. Morris, G. Lewis",
        published: "technical report CMU/SEI-2010-TR-023, Software Engineering Institute",
        year: 2010,
        stack: "Apache Axis2 with Rampart",
    }),
    experiments: &[
        reported::STATIC,
        reported::GROWING,
        reported::STARTUP,
        reported::TOTAL,
        reported::CONVERGENCE,
        reported::SIZES,
        reported::MEMORY,
        further::SUITES,
        further::SUITE_B,
        further::LARGE,
        further::NETWORK,
        further::PROCESSOR,
        further::PARTIAL,
        further::CONTEXT,
        further::DOUBLE,
        further::REST,
        further::CHUNKS,
        further::WARM_UP,
        tokens::EXPERIMENT,
    ],
    claims: &[Claim {
        says: "the dearest of seven mechanisms makes calls of Echo take up to 20 times as long",
        experiment: 1,
        shown_in: "tables-1-2",
        arm: "encrypt-sign/Basic256",
        at: &[("operation", "Echo")],
        // Table 1 has 65 ms beside 3 ms, which is more than the text's 20 times.
        paper: [2_000.0, 2_167.0],
        goal: None,
    }],
    conclusions: conclusions::ALL,
    numbers: &NOVAKOUSKI,
    results: &[of_table("table-1"), of_table("table-2")],
};

/// The round trips of a table, each of 10,000 calls.
const fn of_table(source: &'static str) -> Results {
    Results {
        experiment: 1,
        shown_in: "tables-1-2",
        source,
        with: &[],
        quantity: Quantity::Time,
        n: 10_000,
        suffix: "/Basic256",
    }
}

/// The suite of all experiments but those about suites.
const SUITE: &str = "Basic256";

/// The seven mechanisms, and before them the way past the gateways.
const SETUPS: [Setup; 8] = [
    Setup::DIRECT,
    Setup::PLAIN,
    Setup::secured(Mechanism::Username, ""),
    Setup::secured(Mechanism::Sign, SUITE),
    Setup::secured(Mechanism::Encrypt, SUITE),
    Setup::secured(Mechanism::SignEncrypt, SUITE),
    Setup::secured(Mechanism::EncryptSign, SUITE),
    Setup::secured(Mechanism::SecureConversation, SUITE),
];

/// What stands for all of them where each arm takes long: none, with keys of certificates, and with
/// those of a conversation.
const FEW: [Setup; 3] = [
    Setup::PLAIN,
    Setup::secured(Mechanism::SignEncrypt, SUITE),
    Setup::secured(Mechanism::SecureConversation, SUITE),
];

/// The text that the report's Echo begins with, "Hello World ".
const HELLO: Operation = Operation::Echo { characters: 12 };

/// Both services, as they are called in figures. The report's EmployeeDetails has one record of
/// eight strings, each "Hello World": it differs from Echo in structure, and hardly in size.
const SERVICES: [(&str, Operation); 2] =
    [("Echo", HELLO), ("EmployeeDetails", Operation::OneEmployee)];

/// What is larger than the report's EmployeeDetails: a list of records of all kinds of strings.
const RECORDS: (&str, Operation) = ("EmployeeDetails-25", Operation::Employees);

/// A point of these ways.
fn point(
    shown_in: &'static str,
    at: &[(&'static str, String)],
    scope: &Scope,
    (setups, operation): (&[Setup], Operation),
    procedure: Procedure,
) -> Point {
    Point {
        shown_in,
        at: at.iter().cloned().collect::<BTreeMap<_, _>>(),
        arms: scope.arms(setups, operation),
        procedure,
    }
}

/// The same with arms of these stacks only: others have no part that could be put under a condition
/// alone.
fn only(stacks: &[Stack], mut point: Point) -> Point {
    point.arms.retain(|arm| stacks.contains(&arm.call.stack));
    point
}
