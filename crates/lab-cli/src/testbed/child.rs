//! A `soapstone` command in a process of its own, as it is for anybody, and so that it can be
//! limited, or stand on another network.
//!
//! The rule kept here: the process ends with the value that stands for it, however that ends.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{self, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use soapstone_cli::sibling;

use crate::failure::Failure;

/// How long a process may take until it says where it listens: a short processor makes it slow.
const PATIENCE: Duration = Duration::from_secs(30);

/// A process that serves at an address.
pub(crate) struct Child {
    process: process::Child,
    address: SocketAddr,
    talk: Mutex<Talk>,
}

/// What is said to a process, if anything is, and what it says.
struct Talk {
    input: Option<ChildStdin>,
    heard: mpsc::Receiver<String>,
}

/// What a gateway apart can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// To end its conversations with backends.
    EndConversations,
    /// To close the connections that calls left open.
    CloseIdle,
}

impl Order {
    const ALL: [Self; 2] = [Self::EndConversations, Self::CloseIdle];

    const fn word(self) -> &'static str {
        match self {
            Self::EndConversations => "end-conversations",
            Self::CloseIdle => "close-idle",
        }
    }

    /// Reads one, as it is said.
    pub(crate) fn read(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.word() == word)
    }
}

/// What is answered when an order was carried out.
pub(crate) const DONE: &str = "done";

fn own_program() -> Result<PathBuf, String> {
    std::env::current_exe().map_err(|error| error.to_string())
}

/// The program that has this command.
fn program_of(command: &OsStr) -> Result<PathBuf, String> {
    if sibling::COMMANDS.iter().any(|own| command == *own) {
        return own_program();
    }
    sibling::program(sibling::SOAPSTONE).map_err(|failure| match failure {
        Failure::Failed { message, .. } => message,
        other => other.to_string(),
    })
}

impl Child {
    /// Runs the command with these arguments, by way of the words `before` it, and waits until it
    /// says where it listens. What it logs goes to `log`.
    ///
    /// # Errors
    /// Why it does not listen.
    pub(crate) fn start(
        before: &[String],
        arguments: &[&OsStr],
        log: Option<&File>,
    ) -> Result<Self, String> {
        let program = program_of(arguments.first().copied().unwrap_or_default())?;
        let mut words = before.iter();
        let mut command = match words.next() {
            Some(first) => {
                let mut command = Command::new(first);
                command.args(words).arg(&program);
                command
            }
            None => Command::new(&program),
        };
        // What serves until its input ends goes on; others do not read it.
        command.args(arguments).stdin(Stdio::piped());
        Self::spawn(command, log)
            .map_err(|error| format!("{}: {error}", before.first().map_or("soapstone", |it| it)))
    }

    /// Runs `soapstone lab apart` with these arguments, which does what it is told and ends with
    /// this process, and waits until it says where it listens. Ctrl-C is for this process
    /// alone. `surround` changes its environment; what it logs goes to `log`.
    ///
    /// # Errors
    /// Why it does not listen.
    pub(crate) fn apart(
        arguments: &[&OsStr],
        surround: impl FnOnce(&mut Command),
        log: Option<&File>,
    ) -> Result<Self, String> {
        let mut command = Command::new(own_program()?);
        command.args(["lab", "apart"]).args(arguments);
        command.stdin(Stdio::piped());
        surround(&mut command);
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt;
            command.process_group(0);
        }
        Self::spawn(command, log)
    }

    fn spawn(mut command: Command, log: Option<&File>) -> Result<Self, String> {
        let log = log.map(File::try_clone).transpose();
        let log = log.map_err(|error| error.to_string())?;
        let mut process = command
            .args(["--log-level", "warn"])
            .stdout(Stdio::piped())
            .stderr(log.map_or_else(Stdio::null, Stdio::from))
            .spawn()
            .map_err(|error| error.to_string())?;
        let output = process.stdout.take();
        let (hear, heard) = mpsc::channel();
        // It goes on reading to the end, so that the process never waits for a reader.
        std::thread::spawn(move || {
            for line in output.into_iter().flat_map(|it| BufReader::new(it).lines()) {
                let Ok(line) = line else { break };
                // Nobody may be listening any more.
                let _ = hear.send(line);
            }
        });
        let given_up = Instant::now() + PATIENCE;
        while let Ok(line) = heard.recv_timeout(given_up.saturating_duration_since(Instant::now()))
        {
            if let Some(address) = line.split_whitespace().find_map(address) {
                let talk = Mutex::new(Talk {
                    input: process.stdin.take(),
                    heard,
                });
                return Ok(Self {
                    process,
                    address,
                    talk,
                });
            }
        }
        let _ = process.kill();
        Err(match process.wait() {
            Ok(status) => format!("it does not start: {status}"),
            Err(error) => format!("it does not start: {error}"),
        })
    }

    /// Tells one that runs [`apart`](Self::apart) what to do, and waits until it has.
    ///
    /// # Errors
    /// It does not answer.
    pub(crate) fn tell(&self, order: Order) -> Result<(), Failure> {
        let mut talk = self.talk.lock().unwrap_or_else(PoisonError::into_inner);
        let Talk { input, heard } = &mut *talk;
        let input = input
            .as_mut()
            .ok_or_else(|| Failure::new("this process is told nothing"))?;
        writeln!(input, "{}", order.word()).map_err(Failure::new)?;
        match heard.recv_timeout(PATIENCE) {
            Ok(line) if line == DONE => Ok(()),
            Ok(line) => Err(Failure::new(format_args!(
                "expected `{DONE}` of a process that was told `{}`, found `{line}`",
                order.word()
            ))),
            Err(_) => Err(Failure::new(format_args!(
                "a process that was told `{}` does not answer",
                order.word()
            ))),
        }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The most memory that it has held, bytes; nothing, where the system does not tell.
    pub(crate) fn memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).ok()?;
        let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:"))?;
        let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kibibytes << 10)
    }

    /// How it ended, if it did.
    pub(crate) fn ended(&mut self) -> Option<process::ExitStatus> {
        self.process.try_wait().ok().flatten()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// `127.0.0.1:9000`, alone or in the URL of a service.
fn address(word: &str) -> Option<SocketAddr> {
    let word = word.strip_prefix("http://").unwrap_or(word);
    let host = word.split('/').next()?;
    host.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_alone_and_in_urls() {
        let expected = SocketAddr::from(([127, 0, 0, 1], 9000));
        for word in ["127.0.0.1:9000", "http://127.0.0.1:9000/echo"] {
            assert_eq!(address(word), Some(expected));
        }
        for word in ["gateway", "127.0.0.1", "(Ctrl-C"] {
            assert_eq!(address(word), None);
        }
    }
}
