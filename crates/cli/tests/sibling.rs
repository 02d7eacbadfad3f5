//! `soapstone lab`, `demo`, `services` and `registry`: commands of the programs beside this one.
#![cfg(unix)]

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::Folder;

/// A copy of `soapstone` in a folder of its own.
fn alone(folder: &Folder) -> PathBuf {
    let copy = folder.path("bin/soapstone");
    std::fs::create_dir_all(folder.path("bin")).expect("a folder is made");
    std::fs::copy(env!("CARGO_BIN_EXE_soapstone"), &copy).expect("the program is copied");
    copy
}

/// A program that says how it was called, and ends with 7.
fn put_lab(folder: &Folder, name: &str) {
    folder.write(
        name,
        "#!/bin/sh\necho \"$(dirname \"$0\"):$*\"\ncat\nexit 7\n",
    );
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(name), executable).expect("it is made executable");
}

fn run(program: &Path, path: &str, words: &[&str]) -> Output {
    loop {
        let ended = Command::new(program)
            .args(words)
            .env("PATH", path)
            .current_dir(program.ancestors().nth(2).expect("the folder"))
            .stdin(std::process::Stdio::null())
            .output();
        match ended {
            // Another test begins a process while the copy is written: it holds the copy open until
            // it is its program.
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                std::thread::yield_now();
            }
            ended => return ended.expect("the program runs"),
        }
    }
}

#[test]
fn the_words_and_the_exit_code_are_those_of_the_other_program() {
    let folder = Folder::new();
    let soapstone = alone(&folder);
    put_lab(&folder, "bin/soapstone-lab");
    let path = std::env::var("PATH").expect("a path");
    for words in [
        &["lab", "run", "engine", "--quick", "--json"][..],
        &["lab"],
        &["lab", "--help"],
        &["demo", "-h"],
        &["demo", "--suite", "Basic 256", "--", "-x"],
        &["--log", "json", "services", "--listen", "127.0.0.1:0"],
        &["services", "--log-level", "debug", "controller"],
        &["help", "lab"],
        &["help", "services", "controller"],
    ] {
        let ended = run(&soapstone, &path, words);
        let said = String::from_utf8(ended.stdout).expect("text");
        let expected = format!(":{}\n", words.join(" "));
        assert!(said.ends_with(&expected), "{words:?}: {said}");
        assert_eq!(ended.status.code(), Some(7), "{words:?}");
    }
    put_lab(&folder, "bin/soapstone-registry");
    for words in [
        &["registry", "serve", "--config", "registry.toml"][..],
        &["help", "registry", "serve"],
    ] {
        let ended = run(&soapstone, &path, words);
        let said = String::from_utf8(ended.stdout).expect("text");
        assert!(said.ends_with(&format!(":{}\n", words.join(" "))), "{said}");
        assert_eq!(ended.status.code(), Some(7), "{words:?}");
    }
    let ended = run(&soapstone, &path, &["completions", "fish"]);
    let said = String::from_utf8(ended.stdout).expect("text");
    assert!(
        said.ends_with(":completions fish --of-soapstone\n"),
        "{said}"
    );
}

#[test]
fn the_program_in_the_same_folder_goes_before_one_in_path() {
    let folder = Folder::new();
    let soapstone = alone(&folder);
    put_lab(&folder, "other/soapstone-lab");
    let system = std::env::var("PATH").expect("a path");
    let path = format!("{}:{system}", folder.path("other").display());
    let said = |path: &str| {
        let ended = run(&soapstone, path, &["lab", "list"]);
        String::from_utf8(ended.stdout).expect("text")
    };
    assert!(said(&path).contains("/other:lab list"), "{}", said(&path));
    put_lab(&folder, "bin/soapstone-lab");
    assert!(said(&path).contains("/bin:lab list"), "{}", said(&path));
}

#[test]
fn without_the_other_program_it_is_told_where_that_is_to_be_had() {
    let folder = Folder::new();
    let soapstone = alone(&folder);
    // Neither the working directory nor a file that cannot be started counts.
    put_lab(&folder, "soapstone-lab");
    folder.write("bin/soapstone-lab", "no program");
    for path in ["", ".", "bin"] {
        for words in [&["lab", "list"][..], &["demo"], &["help", "services"]] {
            let ended = run(&soapstone, path, words);
            assert_eq!(ended.status.code(), Some(1));
            assert_eq!(
                String::from_utf8_lossy(&ended.stderr),
                "soapstone: the program soapstone-lab is neither in the folder of this program nor in PATH\n\
                 hint: `make build` makes soapstone, soapstone-lab and soapstone-registry in one folder\n"
            );
        }
        let script = run(&soapstone, path, &["completions", "bash"]);
        assert_eq!(script.status.code(), Some(0));
        assert!(String::from_utf8_lossy(&script.stdout).contains("gateway"));
    }
}
