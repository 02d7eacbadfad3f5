//! What answers have, where it is learned beside the requests.
//!
//! The rule kept here: `[answers]` says everything that answers prove, also where requests prove
//! the same.

use std::fmt::Write as _;

use crate::draft::Draft;
use crate::quoted::quoted;

/// What answers have.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// No Security header.
    Plain,
    /// A Timestamp that nothing signs. The value of `timestamp`.
    Timestamp(String),
    /// Signatures or cipher text.
    Secured(Box<Draft>),
}

impl Answer {
    /// The protection, where there is any.
    pub(crate) fn secured(&self) -> Option<&Draft> {
        match self {
            Self::Secured(draft) => Some(draft),
            Self::Plain | Self::Timestamp(_) => None,
        }
    }

    fn mechanism(&self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Timestamp(_) => "timestamp",
            Self::Secured(draft) => draft.mechanism(),
        }
    }

    /// The table of an endpoint file.
    pub(crate) fn table(&self) -> String {
        let mut text = format!("\n[answers]\nmechanism = {}\n", quoted(self.mechanism()));
        let mut line = |key: &str, value: String| {
            let _ = writeln!(text, "{key} = {value}");
        };
        match self {
            Self::Plain => {}
            Self::Timestamp(value) => line("timestamp", value.clone()),
            Self::Secured(draft) => {
                draft.protection().for_each(|(key, value)| line(key, value));
                let references = draft.key_references();
                let signing = references.iter().find(|(table, _)| *table != "encryption");
                if let Some((_, name)) = signing {
                    line("key_reference", quoted(name));
                }
                line("timestamp", draft.timestamp());
            }
        }
        text
    }
}
