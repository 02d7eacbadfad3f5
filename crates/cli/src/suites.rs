//! Algorithm suites as commands take them.
//!
//! The rule kept here: a name that no endpoint file could have is refused before anything is done.

use soapstone::wss::SUITE_NAMES;

/// Reads the name of a suite.
///
/// # Errors
/// What the names are.
pub(crate) fn name(text: &str) -> Result<String, String> {
    if SUITE_NAMES.contains(&text) {
        Ok(text.to_owned())
    } else {
        Err(format!("expected one of {}", SUITE_NAMES.join(", ")))
    }
}
