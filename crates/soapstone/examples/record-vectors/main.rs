//! Records `vectors/messages`: messages that the project's endpoints secured, and altered copies
//! that must be refused.
//!
//! ```sh
//! cargo run -p soapstone --example record-vectors
//! ```
//!
//! Each run makes new throw-away keys and replaces the whole folder, so it is run to add cases. A
//! case is written only after the endpoint of its file has judged the message as the case says.
//!
//! The rule kept here: the clock of every case is [`MOMENT`], so that nothing of a case depends on
//! when it was recorded.

mod accepted;
mod alter;
mod endpoints;
mod keys;
mod refused;
mod suite;

use std::path::Path;

use suite::Suite;

/// The time at which every message was made.
const MOMENT: &str = "2026-11-01T12:00:00Z";

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/messages");
    let mut suite = Suite::new(&folder);
    keys::write(&folder.join("keys"));
    accepted::record(&mut suite);
    refused::record(&mut suite);
    suite.finish();
}
