//! Log lines: for people, or as JSON for machines, on standard error.
//!
//! The rule kept here: operators read the exact reason; what messages held is not in the log.

use tracing::Level;
use tracing_subscriber::filter::LevelFilter;

use crate::config::{LogConfig, LogFormat};

/// Has the process log as configured. Does nothing when it already logs.
pub fn install(config: LogConfig) {
    let level = match config.level {
        Level::ERROR => LevelFilter::ERROR,
        Level::WARN => LevelFilter::WARN,
        Level::INFO => LevelFilter::INFO,
        Level::DEBUG => LevelFilter::DEBUG,
        Level::TRACE => LevelFilter::TRACE,
    };
    let builder = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_target(false);
    // An error means that another subscriber is there, which then has the say.
    let _ = match config.format {
        LogFormat::Text => builder
            .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
            .try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
}
