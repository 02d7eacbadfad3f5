//! Van Engelen and Zhang: what WS-Security costs gSOAP, and what optimizations save.
//!
//! The paper measures processor time of messages in memory, and calls over HTTP and HTTPS. Of its
//! figures the text prints some values; the others are only drawn. DSA-SHA-1 is in no suite,
//! and named as an algorithm. The rule kept here: every variant is a tuning of one engine.

mod caching;
mod calls;
mod canonicalizing;
mod combinations;
mod conclusions;
mod messages;
mod operations;
mod processor;
mod sending;

use std::collections::BTreeMap;

use crate::papers::{Results, VAN_ENGELEN};
use crate::study::{Claim, Paper, Point, Procedure, Quantity, Study};

/// The study.
pub(super) const STUDY: Study = Study {
    name: "vanengelen2008",
    paper: Some(Paper {
        title: "An Overview and Evaluation of Web Services Security Performance Optimizations",
        authors: "R. A. van Engelen, W. Zhang",
        published: "IEEE International Conference on Web Services (ICWS)",
        year: 2008,
        stack: "gSOAP 2.7.9",
    }),
    experiments: &[
        calls::EXPERIMENT,
        operations::EXPERIMENT,
        caching::EXPERIMENT,
        sending::EXPERIMENT,
        canonicalizing::EXPERIMENT,
        combinations::EXPERIMENT,
    ],
    claims: &[
        Claim {
            says: "security by HMAC, canonicalization included, takes 66 % of the time of a message",
            experiment: 2,
            shown_in: "figure-3-share",
            arm: "security",
            at: &[("proof", "hmac-sha1")],
            paper: [66.4, 66.4],
            goal: None,
        },
        Claim {
            says: "objects kept by digests make receiving 3 to 4 times as fast",
            experiment: 3,
            shown_in: "figure-4-factor",
            arm: "cache-100",
            at: &[("elements", "1000")],
            paper: [3.0, 4.0],
            goal: None,
        },
        Claim {
            says: "streaming with known digests makes sending 3 times as fast with 100 signed elements, 7 times with 5,000",
            experiment: 4,
            shown_in: "figure-5-factor",
            arm: "streaming-prehashed",
            at: &[("elements", "1000"), ("signed", "elements")],
            paper: [3.0, 7.0],
            goal: None,
        },
    ],
    conclusions: conclusions::ALL,
    numbers: &VAN_ENGELEN,
    results: &[Results {
        experiment: 5,
        shown_in: "figure-6",
        source: "figure-6",
        with: &[],
        quantity: Quantity::Processor,
        n: 100,
        suffix: "",
    }],
};

/// A point that is measured in memory.
fn point(shown_in: &'static str, at: &[(&'static str, String)], procedure: Procedure) -> Point {
    Point {
        shown_in,
        at: at.iter().cloned().collect::<BTreeMap<_, _>>(),
        arms: Vec::new(),
        procedure,
    }
}

/// A coordinate that is a number.
fn number(point: &Point, axis: &str) -> usize {
    let value = point.at.get(axis).and_then(|value| value.parse().ok());
    value.expect("points of this study have the coordinates that they are measured by")
}

#[cfg(test)]
mod tests;
