//! A folder to work in, and the program run in it.
//!
//! The rule kept here: tests run the real program and see what its user sees: exit code, standard
//! output, standard error, files.

#![allow(dead_code, unused_imports, reason = "each test program uses its part")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The program of the package whose tests these are.
const SOAPSTONE: Option<&str> = option_env!("CARGO_BIN_EXE_soapstone");
const LAB: Option<&str> = option_env!("CARGO_BIN_EXE_soapstone-lab");

/// A scratch folder in which the program is run.
pub(crate) struct Folder(soapstone_testkit::Folder);

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: i32,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(soapstone_testkit::Folder::new())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> &Self {
        self.0.write(name, contents);
        self
    }

    pub(crate) fn read(&self, name: &str) -> String {
        String::from_utf8(self.0.read(name)).expect("the file is text")
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// Runs `soapstone` with these words, separated by spaces.
    pub(crate) fn run(&self, words: &str) -> Run {
        self.run_words(&words.split(' ').collect::<Vec<_>>(), b"")
    }

    pub(crate) fn run_words(&self, words: &[&str], input: &[u8]) -> Run {
        run_in(self.0.root(), words, input)
    }

    /// Runs `soapstone` with these words, with nobody to read its standard output.
    pub(crate) fn run_unread(&self, words: &str) -> Run {
        let mut child = self
            .command_with(&words.split(' ').collect::<Vec<_>>())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        drop(child.stdout.take());
        ended(child.wait_with_output().expect("the program ends"))
    }

    /// The report of the lines that a run of the lab told has these parts.
    #[track_caller]
    pub(crate) fn reports(&self, lines: &str, parts: &[&str]) {
        self.write("lines.jsonl", lines);
        self.run("lab report lines.jsonl --markdown -o report.md")
            .succeeds();
        let report = self.read("report.md");
        for part in parts {
            assert!(report.contains(part), "{part} is not in\n{report}");
        }
    }

    /// The program, to be started in this folder with further settings.
    pub(crate) fn command(&self) -> Command {
        command(self.0.root(), &[])
    }

    /// The program with these words, to be started in this folder with further settings.
    pub(crate) fn command_with(&self, words: &[&str]) -> Command {
        command(self.0.root(), words)
    }
}

/// `soapstone`, or `soapstone-lab` where the package of these tests has that and the command is one
/// of its own.
fn command(folder: &Path, words: &[&str]) -> Command {
    let of_lab = matches!(words.first(), Some(&("demo" | "lab" | "services")));
    let program = match (SOAPSTONE, LAB) {
        (Some(own), _) => {
            if of_lab {
                build("soapstone-lab", "soapstone-lab-cli", Path::new(own));
            }
            PathBuf::from(own)
        }
        (None, Some(own)) => {
            // The lab starts it as a gateway under conditions.
            let soapstone = build("soapstone", "soapstone-cli", Path::new(own));
            if of_lab {
                PathBuf::from(own)
            } else {
                soapstone
            }
        }
        (None, None) => panic!("expected a package that has one of both programs"),
    };
    let mut command = Command::new(program);
    command
        .args(words)
        .current_dir(folder)
        .env("ALICE_PASSWORD", "correct horse")
        .env_remove("NO_COLOR");
    command
}

/// Has cargo build the program of the registry beside that of the lab, which starts it.
pub(crate) fn build_registry() {
    let own = LAB.expect("a package that has the lab");
    build(
        "soapstone-registry",
        "soapstone-registry-server",
        Path::new(own),
    );
}

/// Has cargo build the program of another package, in the folder of this package's program,
/// `own`; it does nothing if that is up to date.
fn build(name: &str, package: &str, own: &Path) -> PathBuf {
    static BUILT: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let program = own.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    // The Makefile says so where cargo tests the workspace, which has both programs. Built alone,
    // a package has other features of its dependencies, and cargo would compile these again.
    if std::env::var_os("SOAPSTONE_PROGRAMS").is_some_and(|programs| programs == "built") {
        assert!(program.is_file(), "cargo has built {}", program.display());
        return program;
    }
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if !built.iter().any(|it| it == name) {
        let folder = own.parent().and_then(Path::file_name).expect("a folder");
        let profile = if folder == "debug" {
            "dev".as_ref()
        } else {
            folder
        };
        let build = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", package, "--profile"])
            .arg(profile)
            .status()
            .expect("cargo runs");
        assert!(
            build.success() && program.is_file(),
            "cargo builds {}",
            program.display()
        );
        built.push(name.to_owned());
    }
    program
}

fn run_in(folder: &Path, words: &[&str], input: &[u8]) -> Run {
    let mut child = command(folder, words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut stdin = child.stdin.take().expect("standard input");
    let input = input.to_vec();
    let feeding = std::thread::spawn(move || {
        // A program that refuses its arguments does not read its input.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().expect("the program ends");
    feeding.join().expect("the input is written");
    ended(output)
}

fn ended(output: Output) -> Run {
    Run {
        status: output.status.code().expect("the program was not killed"),
        out: output.stdout,
        err: String::from_utf8(output.stderr).expect("what it says is text"),
    }
}

impl Run {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.out).expect("the output is text")
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.out)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {self:?}"))
    }

    /// Exit code 0.
    #[track_caller]
    pub(crate) fn succeeds(self) -> Self {
        assert_eq!(self.status, 0, "{}", self.err);
        self
    }

    /// Exit code 2, for whatever reason.
    #[track_caller]
    pub(crate) fn refuses_somehow(self) -> Self {
        assert_eq!(self.status, 2, "{}", self.err);
        self
    }

    /// Exit code 2, for exactly this reason.
    #[track_caller]
    pub(crate) fn refuses(self, reason: &str) -> Self {
        assert_eq!(self.status, 2, "{}", self.err);
        let said = self.err.lines().next().unwrap_or_default();
        assert!(
            said.starts_with(&format!("soapstone: refused ({reason}): ")),
            "expected {reason}: {}",
            self.err
        );
        self
    }

    /// Exit code 1, saying this among other things.
    #[track_caller]
    pub(crate) fn fails(self, saying: &str) -> Self {
        assert_eq!(self.status, 1, "{}", self.err);
        assert!(
            self.err.contains(saying),
            "expected \"{saying}\": {}",
            self.err
        );
        self
    }
}

/// A folder with a certificate authority, a client and a server, made once by the program itself.
/// Tests read from it only.
pub(crate) fn keys() -> &'static Path {
    static KEYS: OnceLock<Folder> = OnceLock::new();
    KEYS.get_or_init(|| {
        let folder = Folder::new();
        for words in [
            "keys new ca --ca --subject CN=CA,O=Tests",
            "keys new client --signed-by ca",
            "keys new server --signed-by ca",
            "keys new other-ca --ca",
            "keys new stranger --signed-by other-ca",
            "keys new p256 --kind ec-p256 --signed-by ca",
            "keys new p384 --kind ec-p384 --signed-by ca",
            "keys new p521 --kind ec-p521 --signed-by ca",
            "keys new ed25519 --kind ed25519 --signed-by ca",
            "keys new x25519 --kind x25519 --signed-by ca",
            "keys new shared --symmetric 32",
        ] {
            folder.run(words).succeeds();
        }
        folder
    })
    .0
    .root()
}

/// The path of a file made by [`keys`].
pub(crate) fn key(name: &str) -> String {
    keys()
        .join(name)
        .to_str()
        .expect("the path is text")
        .to_owned()
}

/// A plain envelope with an addressing header and a body worth reading.
pub(crate) fn envelope(soap: &str) -> String {
    format!(
        "<soap:Envelope xmlns:soap=\"{soap}\"><soap:Header><a:To xmlns:a=\"http://www.w3.org/2005/08/addressing\">urn:books</a:To>\
         </soap:Header><soap:Body><b:order xmlns:b=\"urn:books\"><b:title>Přísně tajné &amp; levné</b:title><b:price>100</b:price>\
         </b:order></soap:Body></soap:Envelope>"
    )
}

pub(crate) use soapstone_testkit::envelope::{SOAP11, SOAP12};
