//! The audit trail of a gateway, or its log, read as it grows: a file of lines of JSON.
//!
//! The rule kept here: a line counts when it is whole.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::failure::Failure;

/// The file, and how much of it was read.
pub(crate) struct Trail {
    file: PathBuf,
    read: usize,
}

/// How long the trail may be behind.
const PATIENCE: Duration = Duration::from_secs(20);

impl Trail {
    pub(crate) fn new(file: PathBuf) -> Self {
        Self { file, read: 0 }
    }

    /// So many further lines.
    pub(crate) async fn next(&mut self, count: usize) -> Result<Vec<Value>, Failure> {
        let given_up = Instant::now() + PATIENCE;
        loop {
            let text = std::fs::read_to_string(&self.file).unwrap_or_default();
            let whole = text.rfind('\n').map_or("", |end| &text[..end]);
            let lines = whole.lines().skip(self.read);
            let lines: Vec<Value> = lines
                .map(serde_json::from_str)
                .collect::<Result<_, _>>()
                .map_err(Failure::new)?;
            if lines.len() >= count {
                self.read += lines.len();
                return Ok(lines);
            }
            if Instant::now() > given_up {
                return Err(Failure::new(format_args!(
                    "{} has {} of {count} further lines",
                    self.file.display(),
                    lines.len()
                )));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
