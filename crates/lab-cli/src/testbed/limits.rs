//! Limits that a process is put under: control groups of Linux, and where there are none, limits of
//! its resources.
//!
//! The rule kept here: what cannot be limited is not measured, and why is told.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// What a process may have.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limit {
    /// So many bytes of memory.
    Memory(u64),
    /// So many percent of one processor.
    Processor(u32),
}

/// A limit that processes can be started under.
#[derive(Debug)]
pub(crate) struct Limited {
    words: Vec<String>,
    _group: Option<Group>,
}

/// A control group. It is removed with this value, when no process is left in it.
#[derive(Debug)]
struct Group(PathBuf);

/// A file of a control group, and what is written into it.
type Setting = (&'static str, String);

impl Limited {
    /// Prepares the limit.
    ///
    /// # Errors
    /// Why there cannot be one.
    pub(crate) fn new(limit: Limit) -> Result<Self, String> {
        let ways = match limit {
            Limit::Memory(octets) => [
                // Version 2, and version 1.
                ("", vec![("memory.max", octets.to_string())]),
                (
                    "memory",
                    vec![("memory.limit_in_bytes", octets.to_string())],
                ),
            ],
            Limit::Processor(percent) => {
                /// Microseconds in which the share is given.
                const PERIOD: u32 = 100_000;
                let quota = PERIOD / 100 * percent;
                [
                    ("", vec![("cpu.max", format!("{quota} {PERIOD}"))]),
                    (
                        "cpu",
                        vec![
                            ("cpu.cfs_period_us", PERIOD.to_string()),
                            ("cpu.cfs_quota_us", quota.to_string()),
                        ],
                    ),
                ]
            }
        };
        let mut ways = ways.iter();
        if let Some(group) =
            ways.find_map(|(controller, settings)| Group::make(controller, settings))
        {
            let processes = group.0.join("cgroup.procs");
            let script = "echo $$ > \"$0\" && exec \"$@\"";
            let words = ["sh", "-c", script].map(str::to_owned).to_vec();
            return Ok(Self {
                words: [words, vec![processes.to_string_lossy().into_owned()]].concat(),
                _group: Some(group),
            });
        }
        match limit {
            Limit::Memory(octets) if there_is("prlimit") => Ok(Self {
                words: vec!["prlimit".to_owned(), format!("--data={octets}")],
                _group: None,
            }),
            Limit::Memory(_) => {
                Err("neither control groups nor prlimit limit memory here".to_owned())
            }
            Limit::Processor(_) => Err("no control group limits processors here".to_owned()),
        }
    }

    /// What a command begins with to be under the limit.
    pub(crate) fn words(&self) -> &[String] {
        &self.words
    }
}

impl Group {
    /// Makes a group and sets what it limits; nothing, if that is not possible here.
    fn make(controller: &str, settings: &[Setting]) -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("soapstone-lab-{}-{number}", std::process::id());
        let folder = Path::new("/sys/fs/cgroup").join(controller).join(name);
        fs::create_dir(&folder).ok()?;
        let group = Self(folder);
        let mut settings = settings.iter();
        settings
            .all(|(file, value)| {
                let file = group.0.join(file);
                file.exists() && fs::write(file, value).is_ok()
            })
            .then_some(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // It stays, empty, if the system still has a process in it.
        let _ = fs::remove_dir(&self.0);
    }
}

/// Whether there is such a program.
pub(super) fn there_is(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok()
}
