//! What `soapstone secure --explain` tells.
//!
//! The rule kept here: what only the receiver may read is in the files of `--dump` alone, and these
//! are for their owner.

use std::path::Path;

use soapstone::wss::OperationObserver;
use soapstone::{Step, StepObserver};
use soapstone_explain::Sent;

use crate::failure::Failure;
use crate::files::{self, Existing, Privacy};

/// The file of a folder that says what was signed.
pub(crate) const TREE: &str = "secured.json";

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
    std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, error))?;
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        files::create(&path, bytes, Privacy::Secret, Existing::Replace)
    };
    for (name, bytes) in sent.files() {
        write(&name, bytes)?;
    }
    write(TREE, json(name, sent).as_bytes())
}
