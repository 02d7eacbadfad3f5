//! A `soapstone` command in a process of its own, so that it can be limited, or stand on another network.
//!
//! The rule kept here: the process ends with the value that stands for it, however that ends.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{self, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// How long a process may take until it says where it listens: a short processor makes it slow.
const PATIENCE: Duration = Duration::from_secs(30);

/// A process that serves at an address.
pub(crate) struct Child {
    process: process::Child,
    address: SocketAddr,
}

impl Child {
    /// Runs the command with these arguments, by way of the words `before` it, and waits until it says where it listens. What it logs goes to `log`.
    ///
    /// # Errors
    /// Why it does not listen.
    pub(crate) fn start(
        before: &[String],
        arguments: &[&OsStr],
        log: Option<&File>,
    ) -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let log = log.map(File::try_clone).transpose();
        let log = log.map_err(|error| error.to_string())?;
        let mut words = before.iter();
        let mut command = match words.next() {
            Some(first) => {
                let mut command = Command::new(first);
                command.args(words).arg(&program);
                command
            }
            None => Command::new(&program),
        };
        let mut process = command
            .args(arguments)
            .args(["--log-level", "warn"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log.map_or_else(Stdio::null, Stdio::from))
            .spawn()
            .map_err(|error| format!("{}: {error}", before.first().map_or("soapstone", |it| it)))?;
        let output = process.stdout.take();
        let (tell, told) = mpsc::channel();
        // It goes on reading to the end, so that the process never waits for a reader.
        std::thread::spawn(move || {
            for line in output.into_iter().flat_map(|it| BufReader::new(it).lines()) {
                let Ok(line) = line else { break };
                if let Some(address) = line.split_whitespace().find_map(address) {
                    // Only the first is waited for.
                    let _ = tell.send(address);
                }
            }
        });
        match told.recv_timeout(PATIENCE) {
            Ok(address) => Ok(Self { process, address }),
            Err(_) => {
                let _ = process.kill();
                let ended = process.wait();
                Err(match ended {
                    Ok(status) => format!("it does not start: {status}"),
                    Err(error) => format!("it does not start: {error}"),
                })
            }
        }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The most memory that it has held, octets; nothing, where the system does not tell.
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
