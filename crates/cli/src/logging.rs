//! `--log` and `--log-level`: how and how much is logged, on standard error, or in a file.
//!
//! The rule kept here: logging is set up once, by the command that runs, from the command line
//! first and from its configuration file otherwise.

use std::fs::File;

use clap::ValueEnum;
use soapstone_gateway::LogConfig;
use tracing::Level;

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    /// For people
    Text,
    /// One JSON object per line
    Json,
}

/// The least level that is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogLevel {
    /// What needs an operator's attention
    Error,
    /// What is refused or does not go as it should
    Warn,
    /// What happens now and then
    Info,
    /// Every request
    Debug,
    /// Everything
    Trace,
}

/// What the command line says about logging.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct LogArguments {
    /// How log lines look
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "text|json",
        hide_possible_values = true,
        help_heading = "Global options"
    )]
    log: Option<LogFormat>,
    /// The least level that is logged
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "error|warn|info|debug|trace",
        hide_possible_values = true,
        help_heading = "Global options"
    )]
    log_level: Option<LogLevel>,
}

impl LogArguments {
    /// Starts logging; what the command line does not say is as given here.
    pub fn start(self, otherwise: LogConfig) {
        soapstone_gateway::install_log(self.config(otherwise));
    }

    /// What the command line says, and otherwise what is given here.
    fn config(self, otherwise: LogConfig) -> LogConfig {
        let level = self.log_level.map_or(otherwise.level, |level| match level {
            LogLevel::Error => Level::ERROR,
            LogLevel::Warn => Level::WARN,
            LogLevel::Info => Level::INFO,
            LogLevel::Debug => Level::DEBUG,
            LogLevel::Trace => Level::TRACE,
        });
        let format = self.log.map_or(otherwise.format, |format| match format {
            LogFormat::Text => soapstone_gateway::LogFormat::Text,
            LogFormat::Json => soapstone_gateway::LogFormat::Json,
        });
        LogConfig { level, format }
    }

    /// Starts logging as text, from this level on.
    pub fn start_at(self, level: Level) {
        self.start(as_text(level));
    }

    /// The same into a file, for commands whose standard error shows their progress.
    pub fn start_in(self, file: File, level: Level) {
        soapstone_gateway::install_log_into(self.config(as_text(level)), file);
    }
}

fn as_text(level: Level) -> LogConfig {
    LogConfig {
        level,
        format: soapstone_gateway::LogFormat::Text,
    }
}
