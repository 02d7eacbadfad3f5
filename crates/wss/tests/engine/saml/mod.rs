//! SAML assertions in messages (SAML Token Profile 1.1.1): accepted, and refused.

pub(crate) mod accepted;
mod conditions;
mod confirmations;
mod elsewhere;
mod endorsing_proof;
mod forms;
pub(crate) mod hidden;
mod ignored_confirmations;
pub(crate) mod issuing;
pub(crate) mod proof;
mod trust;
mod wrapping;

use soapstone_wss::{Envelope, Rejected, Verified};

/// A case that must be refused: its name, the message, and what the operator is told.
type Case = (&'static str, String, &'static str);

/// Every case that is not refused with its reason.
#[track_caller]
fn refuse_all(
    cases: Vec<Case>,
    mut open: impl FnMut(&str) -> Result<Verified<Envelope>, Rejected>,
) {
    let mut wrong = Vec::new();
    for (name, message, expected) in cases {
        match open(&message) {
            Ok(_) => wrong.push(format!("{name}: accepted")),
            Err(refused) => {
                let found = format!("{}: {refused}", refused.name());
                if found != expected {
                    wrong.push(format!("{name}: expected `{expected}`, found `{found}`"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
