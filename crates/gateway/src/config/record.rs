//! `[record]`: which refused messages are kept for `soapstone explain --gateway`.
//!
//! The rule kept here: nothing is kept unless the file asks for it, and no content in the clear
//! unless it asks for that.

use soapstone::config::Table;
use soapstone::crypto::{SymmetricKey, hexadecimal, sealed_storage};

/// Most messages that can be kept.
const MOST: u64 = 10_000;

/// Bytes of all kept messages, unless the file says otherwise: a hundred of 160 kB.
const ROOM: u64 = 16 << 20;

/// Bytes of the largest message that is kept, unless the file says otherwise. It is sealed on a
/// thread that serves sockets, in some 0.1 ms.
const LARGEST: u64 = 256 << 10;

/// `[record]`.
#[derive(Clone, Debug)]
pub(crate) struct RecordConfig {
    /// Refused messages that are kept.
    pub(crate) refused: usize,
    /// Bytes of all of them.
    pub(crate) room: usize,
    /// Bytes of the largest message that is kept.
    pub(crate) largest: usize,
    /// Whether messages with content in the clear are kept.
    pub(crate) plaintext: bool,
    /// What they are sealed with; a key of the process if none is given.
    pub(crate) seal_key: Option<SymmetricKey>,
}

/// Reads `[record]`. `has_admin` says whether there is a listener that serves what is kept.
pub(super) fn read_record(mut table: Table<'_>, has_admin: bool) -> Option<RecordConfig> {
    let place = table.place();
    if !table.has("refused") {
        table.missing("refused", "say how many messages are kept: refused = 100");
    }
    let refused = table.integer("refused", 1, MOST);
    let room = table.size("room").map_or(ROOM, |room| room.value);
    let largest = table.size("largest").map_or(LARGEST, |given| given.value);
    let plaintext = table.boolean("plaintext").is_some_and(|given| given.value);
    let secret = table.secret("seal_key", "seal_key_env", "seal_key_file");
    let seal_key = secret.and_then(|text| {
        let bytes = hexadecimal::decode(text.value.expose().trim());
        let bytes = bytes.filter(|bytes| bytes.len() == sealed_storage::KEY_LENGTH);
        let key = bytes.and_then(|bytes| SymmetricKey::new(bytes).ok());
        if key.is_none() {
            table.report_with_hint(
                text.place,
                "a key that seals must be 64 hexadecimal digits, found something else",
                "make one with `openssl rand -hex 32`",
            );
        }
        key
    });
    if !has_admin {
        table.report_with_hint(
            place,
            "`record` needs `admin`: refused messages are not served beside the routes",
            "admin = \"127.0.0.1:9901\"",
        );
    }
    table.finish();
    let as_length = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    Some(RecordConfig {
        refused: as_length(refused?.value),
        room: as_length(room),
        largest: as_length(largest),
        plaintext,
        seal_key,
    })
}
