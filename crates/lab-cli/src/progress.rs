//! What is being done: on one line of a terminal, or now and then as a line of its own.
//!
//! The rule kept here: what ends soon says nothing where standard error is no terminal, and a log
//! of hours shows that they were not idle.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// How long nothing is said in a log.
const QUIET: Duration = Duration::from_mins(1);

/// The line.
pub(crate) struct Progress {
    terminal: bool,
    /// When something was last said in a log.
    told: Instant,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self {
            terminal: std::io::stderr().is_terminal(),
            told: Instant::now(),
        }
    }

    /// Replaces what the line says.
    pub(crate) fn say(&mut self, what: &str) {
        if let Some(text) = self.text(what, Instant::now()) {
            // Progress that cannot be shown is no reason to stop.
            let _ = std::io::stderr().write_all(text.as_bytes());
        }
    }

    /// Empties the line.
    pub(crate) fn end(&mut self) {
        if self.terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }

    /// What is to be written, if anything is.
    fn text(&mut self, what: &str, now: Instant) -> Option<String> {
        if self.terminal {
            return Some(format!("\r\x1b[2K{what} …"));
        }
        if now.saturating_duration_since(self.told) < QUIET {
            return None;
        }
        self.told = now;
        Some(format!("{what} …\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_has_one_line_and_a_log_one_a_minute() {
        let begun = Instant::now();
        let said = |terminal: bool| {
            let mut progress = Progress {
                terminal,
                told: begun,
            };
            let after = |seconds| begun + Duration::from_secs(seconds);
            [59, 60, 61, 119, 120].map(|seconds| progress.text("measuring", after(seconds)))
        };
        let line = || Some("measuring …\n".to_owned());
        assert_eq!(said(false), [None, line(), None, None, line()]);
        assert_eq!(
            said(true),
            [(); 5].map(|()| Some("\r\x1b[2Kmeasuring …".to_owned()))
        );
    }
}
