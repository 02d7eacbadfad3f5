//! What is told of a value that is wrong, and what is not.
//!
//! The rule kept here: a text is quoted only if it is recognizably a slip. Every other text may be
//! a secret in the wrong place.

use std::path::Path;

/// What is said of a number where a duration must be.
pub(super) const NO_UNIT: &str = "a number without a unit";

/// What is said of a text that is none of `names`, and the name that it is near to. Far from all of
/// them it is not quoted.
pub fn slip<'n>(text: &str, names: impl Iterator<Item = &'n str>) -> (String, Option<&'n str>) {
    match nearest(text, names) {
        Some(near) => (format!("\"{text}\""), Some(near)),
        None => (OTHER_TEXT.to_owned(), None),
    }
}

/// What is said of a text that is no quantity. It is quoted if it begins with a digit and has
/// nothing that units and times do not have.
pub(super) fn quantity(text: &str) -> String {
    const LONGEST: usize = 32;
    let is_usual = |octet: u8| octet.is_ascii_alphanumeric() || b" .:+-".contains(&octet);
    let begins = text.starts_with(|first: char| first.is_ascii_digit());
    if !begins || text.len() > LONGEST || !text.bytes().all(is_usual) {
        return OTHER_TEXT.to_owned();
    }
    match text.bytes().all(|octet| octet.is_ascii_digit()) {
        true => NO_UNIT.to_owned(),
        false => format!("\"{text}\""),
    }
}

/// What is said of a text that is not quoted.
pub const OTHER_TEXT: &str = "another text";

/// Whether the permissions of a file let everybody on the host read it. Nobody is warned where
/// there are no permissions.
pub(super) fn is_readable_by_everybody(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let metadata = std::fs::metadata(path);
        metadata.is_ok_and(|metadata| metadata.permissions().mode() & 0o004 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Whether a text may be meant as the name of a file, and is no content of one.
pub(super) fn is_like_a_path(text: &str) -> bool {
    text.len() <= 1024 && !text.contains(char::is_control) && !text.contains("-----")
}

/// The candidate nearest to what was written, when it is near enough to have been meant.
pub(super) fn nearest<'n>(
    written: &str,
    candidates: impl Iterator<Item = &'n str>,
) -> Option<&'n str> {
    let tolerance = (written.chars().count() / 3).max(1);
    candidates
        .map(|candidate| {
            (
                strsim::damerau_levenshtein(&written.to_lowercase(), &candidate.to_lowercase()),
                candidate,
            )
        })
        .filter(|(distance, _)| *distance <= tolerance)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}
