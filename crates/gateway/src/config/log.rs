//! `[log]`: which lines the log shows, and how they look.
//!
//! The rule kept here: refusals and failures are shown unless the file asks for less than warnings.

use soapstone::config::Table;

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// `[log]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogConfig {
    /// The least level shown. Every request is shown at `debug`, refusals and failures at `warn`.
    pub level: tracing::Level,
    /// Text or JSON.
    pub format: LogFormat,
}

/// Reads `[log]`.
pub fn read_log(table: Option<Table<'_>>) -> LogConfig {
    let mut log = LogConfig {
        level: tracing::Level::INFO,
        format: LogFormat::Text,
    };
    let Some(mut table) = table else { return log };
    let levels = [
        ("error", tracing::Level::ERROR),
        ("warn", tracing::Level::WARN),
        ("info", tracing::Level::INFO),
        ("debug", tracing::Level::DEBUG),
        ("trace", tracing::Level::TRACE),
    ];
    if let Some(level) = table.choice("level", &levels) {
        log.level = level.value;
    }
    if let Some(format) = table.choice(
        "format",
        &[("text", LogFormat::Text), ("json", LogFormat::Json)],
    ) {
        log.format = format.value;
    }
    table.finish();
    log
}
