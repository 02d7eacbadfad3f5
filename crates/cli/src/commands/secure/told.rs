//! What `soapstone secure --explain` tells.
//!
//! The rule kept here: what only the receiver may read is in the files of `--dump` alone, and these
//! are for their owner.

use std::path::Path;

use soapstone::wss::OperationObserver;
use soapstone::{Step, StepObserver};
use soapstone_explain::Sent;

use crate::dump;
use crate::failure::Failure;

/// Hears what is done to a message.
#[derive(Default)]
pub(super) struct Told(pub(super) Sent);

impl StepObserver for Told {
    fn ended(&mut self, _: Step) {}

    fn securing(&mut self) -> Option<&mut dyn OperationObserver> {
        Some(&mut self.0)
    }
}

/// What was done, as JSON.
pub(super) fn json(name: &str, sent: &Sent) -> String {
    let json = soapstone_explain::sent_json(name, sent);
    serde_json::to_string_pretty(&json).unwrap_or_default() + "\n"
}

/// Writes what was done, and the canonical bytes of all that was signed.
pub(super) fn dump(folder: &Path, name: &str, sent: &Sent) -> Result<(), Failure> {
    let files: Vec<_> = sent.files().collect();
    dump::write(folder, &files, Some(json(name, sent).as_bytes()))
}
