//! `[shared_key]`: a symmetric key that two sides hold.
//!
//! The one rule: a key comes from one place.

use super::confidential::Confidential;
use super::problem::{Located, Place};
use super::table::Table;
use super::values::decode_hexadecimal;

/// `[shared_key]`: a symmetric key that both sides hold.
#[derive(Clone, Debug)]
pub struct SharedKeyConfig {
    /// Where the table begins.
    pub place: Place,
    /// The name it has in messages.
    pub name: Option<Located<String>>,
    /// The key's bytes.
    pub key: Confidential<Vec<u8>>,
}

/// Reads the table to its end. `None` where it has no usable key, which is reported.
pub(super) fn read(mut table: Table<'_>) -> Option<SharedKeyConfig> {
    let place = table.place();
    let name = table.string("name");
    let file = table.secret_file("file");
    let hexadecimal = table.secret("hex", "hex_env", "hex_file");
    let given = usize::from(table.has("file"))
        + ["hex", "hex_env", "hex_file"]
            .iter()
            .filter(|key| table.has(key))
            .count()
            .min(1);
    match given {
        0 => table.missing(
            "file",
            "name a file with the key's bytes, or give them as hex, hex_env or hex_file",
        ),
        1 => {}
        _ => table.report_with_hint(place, "both `file` and `hex` are given", "keep one of them"),
    }
    let from_hexadecimal =
        hexadecimal.and_then(
            |text| match decode_hexadecimal(text.value.expose().trim()) {
                Some(octets) => Some(Confidential::new(octets)),
                None => {
                    table.report(
                        text.place,
                        "the key must be pairs of hexadecimal digits, found something else",
                    );
                    None
                }
            },
        );
    table.finish();
    Some(SharedKeyConfig {
        place,
        name,
        key: file.map(|file| file.bytes).or(from_hexadecimal)?,
    })
}
