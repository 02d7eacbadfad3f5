//! Tells the program which revision of the sources it is made of, where they are in their
//! repository: `SOAPSTONE_REVISION`, a commit, with a + behind it if a file was changed since.
//!
//! The rule kept here: it runs again when a commit is made or a source is changed, and where there
//! is no repository (a package, an archive) it says nothing and stays out of the way.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What the program is made of.
const SOURCES: [&str; 3] = ["Cargo.toml", "Cargo.lock", "crates"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let Some(revision) = revision() else { return };
    println!("cargo::rustc-env=SOAPSTONE_REVISION={revision}");
}

fn revision() -> Option<String> {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR")?);
    let root = here.ancestors().nth(2)?;
    // A package that is unpacked somewhere below another repository is not of that one.
    git(
        root,
        &["ls-files", "--error-unmatch", "crates/lab-cli/build.rs"],
    )?;
    // Its last line is another after each commit, checkout and reset; what is looked for must be
    // there, or everything is built each time.
    let moved = root.join(git(root, &["rev-parse", "--git-path", "logs/HEAD"])?);
    let watched = SOURCES.map(|name| root.join(name));
    for path in watched.iter().chain([&moved]).filter(|path| path.exists()) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let commit = git(root, &["rev-parse", "HEAD"])?;
    let status = ["status", "--porcelain", "--untracked-files=no", "--"];
    let changed = git(root, &[&status[..], &SOURCES].concat())?;
    Some(commit + if changed.is_empty() { "" } else { "+" })
}

/// What git says, if it is there and content. It writes nothing, so that asking changes no file
/// that is watched.
fn git(root: &Path, words: &[&str]) -> Option<String> {
    let told = Command::new("git")
        .arg("--no-optional-locks")
        .args(words)
        .current_dir(root)
        .output();
    let told = told.ok().filter(|told| told.status.success())?;
    Some(String::from_utf8(told.stdout).ok()?.trim().to_owned())
}
