//! Messages that must be refused, each for its own reason. Every test is an attack that someone has
//! made, or a clause.

mod agreements;
mod changes;
mod ciphers;
mod downgrades;
mod edwards;
mod input;
mod limits;
mod missing;
mod profile;
mod replays;
mod signers;
mod users;
mod wrapping;

use soapstone_wss::{Mechanism, Policy, Rejected};

use crate::support::*;

fn sign() -> Policy {
    policy(Mechanism::Sign, "Basic128GCM")
}

/// The text of the first element of this name, tags included.
fn cut<'m>(message: &'m str, name: &str) -> &'m str {
    let start = message
        .find(&format!("<{name}"))
        .unwrap_or_else(|| panic!("no {name} in {message}"));
    let end = format!("</{name}>");
    let length = message[start..]
        .find(&end)
        .unwrap_or_else(|| panic!("no {end} in {message}"))
        + end.len();
    &message[start..start + length]
}

/// The same element with another first character of its text.
fn other_first_octet(element: &str) -> String {
    let at = element.find('>').unwrap() + 1;
    let other = if element.as_bytes()[at] == b'A' {
        "B"
    } else {
        "A"
    };
    format!("{}{other}{}", &element[..at], &element[at + 1..])
}

fn name_of(refused: &Rejected) -> &'static str {
    refused.name()
}

#[track_caller]
fn refuse(policy: &Policy, message: &str) -> Rejected {
    match open(policy, message) {
        Err(refused) => refused,
        Ok(verified) => panic!("accepted: {}", forwarded(&verified)),
    }
}
