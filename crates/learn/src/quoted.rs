//! Texts of an endpoint file.
//!
//! The rule kept here: whatever a message says is one string of TOML.

use std::fmt::Write as _;

/// A basic string of TOML (1.0, "String").
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control.is_control() => {
                let _ = write!(quoted, "\\U{:08X}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
