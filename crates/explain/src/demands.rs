//! The permitted algorithms of a policy, each compared with what the message has.
//!
//! The rule kept here: all of them are compared. The engine's verdict names the first one that is
//! refused.

use soapstone_wss::Policy;

use crate::model::{Demand, Explanation};

/// The algorithms of the signatures, permitted or not.
#[must_use]
pub fn algorithms(policy: &Policy, told: &Explanation) -> Vec<Demand> {
    let suite = &policy.suite;
    let mut all: Vec<Demand> = Vec::new();
    let mut add = |what: &str, found: &str, allowed: Vec<&str>| {
        let met = allowed.contains(&found);
        let list = allowed.join(", ");
        let demand = format!("{what}: one of {list}");
        let says = match met {
            true => format!("it is {found}"),
            false => format!(
                "it is {found}: have the sender change it, or name it in `algorithms` or another `suite`"
            ),
        };
        let one = Demand {
            demand,
            met,
            judged: true,
            says,
        };
        if !all.contains(&one) {
            all.push(one);
        }
    };
    for signature in &told.signatures {
        let methods = suite.signature.iter().chain(&suite.symmetric_signature);
        add(
            "signature method",
            &signature.algorithm,
            methods.map(|one| one.short_name()).collect(),
        );
        let forms = || {
            suite
                .canonicalization
                .iter()
                .map(|one| one.short_name())
                .collect()
        };
        let form = signature
            .canonicalization
            .split(' ')
            .next()
            .unwrap_or_default();
        add("canonicalization of ds:SignedInfo", form, forms());
        for reference in &signature.references {
            let digests = suite.digest.iter().map(|one| one.short_name()).collect();
            add("digest method", &reference.algorithm, digests);
        }
    }
    all
}
