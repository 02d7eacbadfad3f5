//! What is being done, on one line of a terminal.
//!
//! The rule kept here: nothing is said where standard error is no terminal.

use std::io::{IsTerminal, Write};

/// The line.
pub(crate) struct Progress {
    terminal: bool,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self {
            terminal: std::io::stderr().is_terminal(),
        }
    }

    /// Replaces what the line says.
    pub(crate) fn say(&mut self, what: &str) {
        if self.terminal {
            // Progress that cannot be shown is no reason to stop.
            let _ = write!(std::io::stderr(), "\r\x1b[2K{what} …");
        }
    }

    /// Empties the line.
    pub(crate) fn end(&mut self) {
        if self.terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}
