//! Database servers of one's own: MariaDB or PostgreSQL, where they are installed, with their files
//! in a temporary folder and on a free loopback port. Tests and measurements start them.
//!
//! The rule kept here: nothing of a server stays when its value is gone, and nobody else's server
//! is touched.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::database::DatabaseLocation;

/// How long a server may take to start on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// A server that runs. It ends when it is dropped.
#[derive(Debug)]
pub struct DatabaseServer {
    process: Child,
    location: DatabaseLocation,
    /// Ends it at once, but in order.
    signal: &'static str,
    _folder: TempDir,
}

/// Why there is no server.
#[derive(Debug)]
#[non_exhaustive]
pub enum NoServer {
    /// Its programs are not here.
    NotInstalled {
        /// What it is called.
        name: &'static str,
        /// Debian's package.
        package: &'static str,
    },
    /// Its programs do not do what they should.
    Failed {
        /// What it is called.
        name: &'static str,
        /// How it ended, if it did.
        status: Option<ExitStatus>,
        /// What it said.
        said: String,
    },
    /// The system has no folder, port or process for it.
    System(io::Error),
}

impl fmt::Display for NoServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInstalled { name, package } => {
                write!(formatter, "{name} is not installed (package {package})")
            }
            Self::Failed { name, status, said } => {
                write!(formatter, "{name} does not start")?;
                if let Some(status) = status {
                    write!(formatter, " ({status})")?;
                }
                write!(formatter, ": {}", said.trim())
            }
            Self::System(error) => write!(formatter, "no database server can be started: {error}"),
        }
    }
}

impl std::error::Error for NoServer {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::System(error) => Some(error),
            Self::NotInstalled { .. } | Self::Failed { .. } => None,
        }
    }
}

impl From<io::Error> for NoServer {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl DatabaseServer {
    /// Starts PostgreSQL, and waits until it takes sessions.
    ///
    /// # Errors
    /// It is not installed, or does not start.
    pub fn postgresql() -> Result<Self, NoServer> {
        let kind = Kind {
            name: "PostgreSQL",
            package: "postgresql",
            signal: "-INT",
        };
        let (initdb, postgres) = (kind.program("initdb")?, kind.program("postgres")?);
        let folder = folder()?;
        let data = folder.path().join("data");
        let arguments = [
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            "--username=soapstone",
        ];
        kind.finish(
            Command::new(initdb).args(arguments).arg("-D").arg(&data),
            &folder,
        )?;
        let port = free_port()?;
        let mut command = Command::new(postgres);
        command
            .args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"])
            .args(["-p", &port.to_string()])
            .arg("-k")
            .arg(folder.path())
            .arg("-D")
            .arg(&data);
        let url = format!("postgres://soapstone@127.0.0.1:{port}/postgres");
        kind.start(&mut command, folder, port, DatabaseLocation::Postgres(url))
    }

    /// Starts MariaDB, and waits until it takes sessions.
    ///
    /// # Errors
    /// It is not installed, or does not start.
    pub fn mariadb() -> Result<Self, NoServer> {
        let kind = Kind {
            name: "MariaDB",
            package: "mariadb-server",
            signal: "-TERM",
        };
        let (install, mariadbd) = (
            kind.program("mariadb-install-db")?,
            kind.program("mariadbd")?,
        );
        let folder = folder()?;
        let within = |name: &str| folder.path().join(name).display().to_string();
        let data = format!("--datadir={}", within("data"));
        kind.finish(
            Command::new(install)
                .args(["--no-defaults", "--auth-root-authentication-method=normal"])
                .arg(&data),
            &folder,
        )?;
        let port = free_port()?;
        let mut command = Command::new(mariadbd);
        command
            .args([
                "--no-defaults",
                "--bind-address=127.0.0.1",
                "--innodb-flush-log-at-trx-commit=0",
            ])
            .arg(&data)
            .arg(format!("--port={port}"))
            .arg(format!("--socket={}", within("socket")))
            .arg(format!("--pid-file={}", within("pid")));
        let url = format!("mysql://root@127.0.0.1:{port}/test");
        kind.start(&mut command, folder, port, DatabaseLocation::MySql(url))
    }

    /// Where its database is.
    pub fn location(&self) -> &DatabaseLocation {
        &self.location
    }

    /// Ends it.
    pub fn stop(&mut self) {
        if !matches!(self.process.try_wait(), Ok(None)) {
            return;
        }
        let process = self.process.id().to_string();
        let told = Command::new("kill").args([self.signal, &process]).status();
        if !told.is_ok_and(|status| status.success()) {
            // Without order, then.
            let _ = self.process.kill();
        }
        let _ = self.process.wait();
    }
}

impl Drop for DatabaseServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A kind of server.
struct Kind {
    name: &'static str,
    package: &'static str,
    signal: &'static str,
}

impl Kind {
    /// One of its programs, from the search path or from where Debian keeps servers.
    fn program(&self, name: &str) -> Result<PathBuf, NoServer> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let versions = fs::read_dir("/usr/lib/postgresql");
        let versions = versions.into_iter().flatten().flatten();
        std::env::split_paths(&path)
            .chain([PathBuf::from("/usr/sbin"), PathBuf::from("/usr/local/sbin")])
            .chain(versions.map(|version| version.path().join("bin")))
            .map(|folder| folder.join(name))
            .find(|file| file.is_file())
            .ok_or(NoServer::NotInstalled {
                name: self.name,
                package: self.package,
            })
    }

    /// Runs one of its programs to the end.
    fn finish(&self, command: &mut Command, folder: &TempDir) -> Result<(), NoServer> {
        let status = prepare(command, folder)?.status()?;
        if status.success() {
            return Ok(());
        }
        Err(self.failed(Some(status), folder))
    }

    fn start(
        &self,
        command: &mut Command,
        folder: TempDir,
        port: u16,
        location: DatabaseLocation,
    ) -> Result<DatabaseServer, NoServer> {
        let process = prepare(command, &folder)?.spawn()?;
        // From here on it ends with the value.
        let mut server = DatabaseServer {
            process,
            location,
            signal: self.signal,
            _folder: folder,
        };
        let begun = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            let ended = server.process.try_wait()?;
            if ended.is_some() || begun.elapsed() > PATIENCE {
                return Err(self.failed(ended, &server._folder));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        // The port is open a moment before the server takes sessions.
        std::thread::sleep(Duration::from_millis(500));
        Ok(server)
    }

    fn failed(&self, status: Option<ExitStatus>, folder: &TempDir) -> NoServer {
        let said = fs::read_to_string(folder.path().join("log"));
        NoServer::Failed {
            name: self.name,
            status,
            said: said.unwrap_or_else(|error| error.to_string()),
        }
    }
}

/// A folder that belongs to the user who will run the server.
fn folder() -> io::Result<TempDir> {
    let folder = TempDir::new()?;
    if let Some(user) = unprivileged() {
        chown(folder.path(), Some(user), Some(user))?;
    }
    Ok(folder)
}

/// Database servers refuse to run as root: there they run as Debian's `nobody`.
fn unprivileged() -> Option<u32> {
    const NOBODY: u32 = 65_534;
    let root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    root.then_some(NOBODY)
}

/// What every program of a server has in common; what it says goes to `log`.
fn prepare<'c>(command: &'c mut Command, folder: &TempDir) -> io::Result<&'c mut Command> {
    if let Some(user) = unprivileged() {
        command.uid(user).gid(user);
    }
    // Not the Ctrl-C that is meant for whoever started it, who ends it in order.
    command.process_group(0);
    let log = || {
        let mut options = OpenOptions::new();
        options
            .create(true)
            .append(true)
            .open(folder.path().join("log"))
    };
    Ok(command
        .current_dir(folder.path())
        .env("HOME", folder.path())
        .stdin(Stdio::null())
        .stdout(log()?)
        .stderr(log()?))
}

fn free_port() -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}
