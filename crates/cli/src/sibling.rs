//! The other programs, started in place of this one.
//!
//! `soapstone` is what stands on a network. The lab, the demo and the sample services are commands
//! of `soapstone-lab`, and the registry is `soapstone-registry`; both have drivers of databases.
//! All are called `soapstone`: its commands of another program are passed on as they were typed.
//!
//! The rule kept here: another program is the one in the folder of this program, or else the
//! first in `PATH`; an entry of `PATH` that depends on the working directory does not count.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::failure::Failure;

/// The program that faces the network.
pub const SOAPSTONE: &str = "soapstone";
/// The program of the lab, the demo and the sample services.
pub const LAB: &str = "soapstone-lab";

/// The program of the registry of services.
pub const REGISTRY: &str = "soapstone-registry";

/// The commands of [`LAB`].
pub const COMMANDS: [&str; 3] = ["demo", "services", "lab"];
/// The commands of [`REGISTRY`].
const REGISTRY_COMMANDS: [&str; 1] = ["registry"];

const EXAMPLES: &str = "\
Examples:
  soapstone lab --help
  soapstone demo --help
  soapstone services --help
  soapstone registry --help";

/// The words of a command of another program. That program reads them, and has the help for them.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true, after_help = EXAMPLES)]
pub struct Words {
    /// What the program of this command is told
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "WORD"
    )]
    _words: Vec<OsString>,
}

/// The program whose command a command line, the program's name first, asks for help with.
pub(crate) fn helps(words: &[OsString]) -> Option<&'static str> {
    let [_, help, command, ..] = words else {
        return None;
    };
    let is_one_of = |commands: &[&str]| help == "help" && commands.iter().any(|it| command == it);
    if is_one_of(&COMMANDS) {
        Some(LAB)
    } else {
        is_one_of(&REGISTRY_COMMANDS).then_some(REGISTRY)
    }
}

/// Runs a program with the words of this command line, the program's name first, and ends as it
/// ends.
///
/// # Errors
/// [`Failure`] when the program is not there or cannot be started.
pub(crate) fn run(name: &str, words: &[OsString]) -> Result<ExitCode, Failure> {
    let program = program(name)?;
    let mut command = Command::new(&program);
    command.args(words.iter().skip(1));
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        // Help names the program as it was typed.
        command.arg0(
            words
                .first()
                .map_or(SOAPSTONE.as_ref(), OsString::as_os_str),
        );
        Err(Failure::file(&program, command.exec()))
    }
    #[cfg(not(unix))]
    {
        let ended = command.status();
        let code = ended
            .map_err(|error| Failure::file(&program, error))?
            .code();
        let code = code.and_then(|code| u8::try_from(code).ok());
        Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
    }
}

/// Where the program of this name is.
///
/// # Errors
/// [`Failure`] when it is neither in the folder of this program nor in `PATH`.
pub fn program(name: &str) -> Result<PathBuf, Failure> {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = beside.map(Path::to_owned).into_iter();
    let found = folders
        .chain(std::env::split_paths(&path).filter(|folder| folder.is_absolute()))
        .map(|folder| folder.join(&file))
        .find(|program| can_be_started(program));
    found.ok_or_else(|| {
        Failure::new(format_args!(
            "the program {name} is neither in the folder of this program nor in PATH"
        ))
        .with_hint(
            "`make build` makes soapstone, soapstone-lab and soapstone-registry in one folder",
        )
    })
}

fn can_be_started(program: &Path) -> bool {
    let Ok(found) = program.metadata() else {
        return false;
    };
    #[cfg(unix)]
    let executable = std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let executable = true;
    found.is_file() && executable
}
