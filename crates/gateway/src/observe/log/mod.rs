//! Log lines: for people, or as JSON for machines, on standard error.
//!
//! A thread of its own writes them ([`queue`]): a reader that stands still costs lines and nothing
//! else.
//!
//! The rule kept here: operators read the exact reason; what messages held is not in the log. Names
//! that came with a message are, and one event is one line whatever they are made of.

mod queue;

use std::fmt::{self, Write};
use std::sync::OnceLock;
use std::time::Duration;

use tracing::field::Field;
use tracing::{Level, Subscriber};
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::{self, Writer};

use crate::config::log::{LogConfig, LogFormat};

pub(crate) use queue::Lines;

/// Most bytes of lines that wait for their reader: some four thousand lines, four seconds of a
/// gateway that refuses a thousand messages a second.
const MOST_WAITING: usize = 1 << 20;

/// How long the end of a process waits for the reader of its last lines.
pub(crate) const LAST_LINES: Duration = Duration::from_secs(1);

/// The lines of the log of this process.
static LOG: OnceLock<Lines> = OnceLock::new();

/// Has the process log as configured. Does nothing when it already logs.
pub fn install(config: LogConfig) {
    // https://no-color.org: whatever it is set to, unless to nothing.
    let is_colourless = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let ansi = !is_colourless && std::io::IsTerminal::is_terminal(&std::io::stderr());
    install_on(config, ansi, std::io::stderr());
}

/// The same into a file, where standard error shows something else.
pub fn install_into(config: LogConfig, file: std::fs::File) {
    install_on(config, false, file);
}

fn install_on(config: LogConfig, ansi: bool, sink: impl std::io::Write + Send + 'static) {
    if LOG.get().is_some() {
        return;
    }
    let tell = |lines| {
        tracing::error!(
            lines,
            "lines of the log were lost: its reader stood still, or there was no room"
        );
    };
    // Where the system gives no thread, nothing else will start either, and it is said without the
    // log.
    let Ok(lines) = Lines::to(sink, MOST_WAITING, tell) else {
        return;
    };
    let lines = LOG.get_or_init(|| lines);
    // An error means that another subscriber is there, which then has the say.
    let _ =
        tracing::subscriber::set_global_default(subscriber(config, ansi, move || lines.clone()));
}

/// Waits for the last lines of the log to be written, for a second at most. To be called before the
/// process ends.
pub fn flush() {
    if let Some(lines) = LOG.get() {
        lines.flush(LAST_LINES);
    }
}

/// How many lines of the log were lost.
pub(crate) fn lost_lines() -> u64 {
    LOG.get().map_or(0, Lines::lost)
}

fn subscriber<W>(config: LogConfig, ansi: bool, writer: W) -> Box<dyn Subscriber + Send + Sync>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let level = match config.level {
        Level::ERROR => LevelFilter::ERROR,
        Level::WARN => LevelFilter::WARN,
        Level::INFO => LevelFilter::INFO,
        Level::DEBUG => LevelFilter::DEBUG,
        Level::TRACE => LevelFilter::TRACE,
    };
    let builder = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(writer)
        // Said on standard error, where it could not be written, it would be a panic: a full disk
        // would cost every request that is refused.
        .log_internal_errors(false)
        .with_target(false);
    match config.format {
        LogFormat::Text => Box::new(
            builder
                .with_ansi(ansi)
                .fmt_fields(format::debug_fn(write_field).delimited(" "))
                .finish(),
        ),
        LogFormat::Json => Box::new(builder.json().flatten_event(true).finish()),
    }
}

fn write_field(out: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    if field.name() != "message" {
        write!(out, "{}=", field.name())?;
    }
    write!(out, "{}", OneLine(format_args!("{value:?}")))
}

/// Text that stays in its line, whatever it is made of: what breaks lines, steers a terminal or
/// turns the direction of writing is written as an escape, as Rust writes it in its own strings.
/// For names that a stranger chose.
#[derive(Clone, Copy, Debug)]
pub struct OneLine<T>(pub T);

impl<T: fmt::Display> fmt::Display for OneLine<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaping(out), "{}", self.0)
    }
}

/// Most bytes of what is told of a message that was refused: names in it may be as long as the
/// message.
const LONGEST_TOLD: usize = 4096;

/// The beginning of a text that may be as long as a stranger's message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beginning<T>(pub(crate) T);

impl<T: fmt::Display> fmt::Display for Beginning<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ending = Ending {
            out,
            left: LONGEST_TOLD,
            ended: false,
        };
        match write!(ending, "{}", self.0) {
            // What comes behind is not even made.
            Err(_) if ending.ended => ending.out.write_str("…"),
            written => written,
        }
    }
}

/// Fails when it is full.
struct Ending<'f, 'o> {
    out: &'f mut fmt::Formatter<'o>,
    left: usize,
    ended: bool,
}

impl fmt::Write for Ending<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if text.len() <= self.left {
            self.left -= text.len();
            return self.out.write_str(text);
        }
        self.ended = true;
        let end = text.floor_char_boundary(self.left);
        self.out.write_str(&text[..end])?;
        Err(fmt::Error)
    }
}

struct Escaping<'f, 'o>(&'f mut fmt::Formatter<'o>);

impl fmt::Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for piece in text.split_inclusive(leaves_the_line) {
            match piece.chars().next_back() {
                Some(last) if leaves_the_line(last) => {
                    self.0.write_str(&piece[..piece.len() - last.len_utf8()])?;
                    write!(self.0, "{}", last.escape_default())?;
                }
                _ => self.0.write_str(piece)?,
            }
        }
        Ok(())
    }
}

/// Control characters, separators of lines and paragraphs, and marks that turn the direction of
/// writing (UAX #9).
fn leaves_the_line(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{2028}' | '\u{2029}' | '\u{61C}' | '\u{200E}' | '\u{200F}'
        )
        || matches!(character, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    fn logged(format: LogFormat, event: impl FnOnce()) -> String {
        #[derive(Clone, Default)]
        struct Kept(Arc<Mutex<Vec<u8>>>);
        impl std::io::Write for Kept {
            fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
                self.0.lock().unwrap().extend_from_slice(octets);
                Ok(octets.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let kept = Kept::default();
        let writer = kept.clone();
        let level = Level::INFO;
        let subscriber = subscriber(LogConfig { level, format }, false, move || writer.clone());
        tracing::subscriber::with_default(subscriber, event);
        String::from_utf8(kept.0.lock().unwrap().clone()).unwrap()
    }

    const FORGED: &str =
        "urn:x\r\n2026-11-20T12:00:00Z  INFO serving\u{1b}[2J\u{202e}\u{85}\u{2028}";

    #[test]
    fn a_name_from_a_message_cannot_forge_a_line_of_the_log() {
        let event = || tracing::warn!(route = "books", detail = %FORGED, user = FORGED, "refused");
        let text = logged(LogFormat::Text, event);
        let escaped = r"urn:x\r\n2026-11-20T12:00:00Z  INFO serving\u{1b}[2J\u{202e}\u{85}\u{2028}";
        assert!(
            text.ends_with(&format!(
                " WARN refused route=\"books\" detail={escaped} user=\"{escaped}\"\n"
            )),
            "{text}"
        );
        assert_eq!(text.lines().count(), 1);
        let json = logged(LogFormat::Json, event);
        assert_eq!(json.lines().count(), 1);
    }

    #[test]
    fn what_is_told_of_a_message_ends() {
        let told = Beginning("ä".repeat(1 << 20)).to_string();
        assert_eq!(told, "ä".repeat(LONGEST_TOLD / 2) + "…");
        let short = format!("{:>width$}", "x", width = LONGEST_TOLD);
        assert_eq!(Beginning(&short).to_string(), short);
        let text = logged(
            LogFormat::Text,
            || tracing::warn!(detail = %Beginning("\u{2028}".repeat(1 << 20)), "refused"),
        );
        assert!(text.len() < 16 << 10, "{} bytes", text.len());
    }

    #[test]
    fn text_of_any_script_is_left_as_it_is() {
        let text = "Přísně tajné «שלום» 本 \\ 'quoted'";
        assert_eq!(OneLine(text).to_string(), text);
    }
}
