//! The tables of an endpoint file that say which keys there are: `identity`, `peer`, `trust`,
//! `users`, `shared_key`, `limits`.
//!
//! The rule kept here: they are the reader's own, and pass as they are written.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

/// Tables of keys, and the file that their paths are relative to.
#[derive(Clone, Debug)]
pub struct KeyTables {
    file: PathBuf,
    /// Without `security`.
    text: String,
    at: Option<Timestamp>,
}

impl KeyTables {
    /// Those of an endpoint file with this text. Its `security` is left out.
    pub fn of(file: &Path, text: &str) -> Self {
        Self {
            file: file.to_owned(),
            text: without_security(text),
            at: None,
        }
    }

    /// With the moment at which messages are tried. Without one it is the moment at which a message
    /// says that it was made, and now for a message that says none.
    #[must_use]
    pub fn at(self, moment: Timestamp) -> Self {
        Self {
            at: Some(moment),
            ..self
        }
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    pub(crate) fn moment(&self) -> Option<Timestamp> {
        self.at
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// The lines of a TOML file that belong to no table `security`.
fn without_security(text: &str) -> String {
    let mut kept = String::new();
    let (mut in_security, mut at_top) = (false, true);
    // Braces of an inline table that are open yet.
    let mut open = 0;
    for line in text.lines() {
        let start = line.trim_start();
        if open > 0 {
            open += depth(line);
            continue;
        }
        if let Some(header) = start.strip_prefix('[') {
            at_top = false;
            in_security = names_security(header.trim_start_matches('['));
        } else if at_top && names_security(start) {
            open = depth(line);
            continue;
        }
        if !in_security {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// Whether a key, or the name of a table, is `security` or below it.
fn names_security(text: &str) -> bool {
    let rest = text.trim_start().strip_prefix("security");
    rest.is_some_and(|rest| rest.trim_start().starts_with(['=', '.', ']']))
}

/// Braces that a line opens and does not close, outside of strings.
fn depth(line: &str) -> i32 {
    let (mut depth, mut quote, mut escaped) = (0, None, false);
    for character in line.chars() {
        match (quote, character) {
            (Some(_), _) if escaped => escaped = false,
            (Some('"'), '\\') => escaped = true,
            (Some(open), found) if open == found => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (None, '#') => break,
            (None, '{' | '[') => depth += 1,
            (None, '}' | ']') => depth -= 1,
            (None, _) => {}
        }
    }
    depth
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn security_is_left_out_however_it_is_written() {
        let keys = "# ours\nusers = [{ name = \"}\" }]\n";
        for security in [
            "security = { mechanism = \"sign\", actor = \"{\" } # {\n",
            "security = {\n  mechanism = \"sign\",\n}\n",
            "security.mechanism = \"sign\"\n",
            "[security]\nmechanism = \"sign\"\n[security.algorithms]\ndata = [\"aes128-gcm\"]\n",
        ] {
            let trust = "[trust]\nanchors = [\"ca.pem\"]\nsecurity = 1\n";
            let text = format!("{keys}{security}{trust}");
            assert_eq!(
                without_security(&text),
                format!("{keys}{trust}"),
                "{security}"
            );
        }
    }
}
