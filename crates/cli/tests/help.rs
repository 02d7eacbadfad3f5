//! What every user meets first: help, completions, exit codes.

mod common;

use common::{Folder, SOAP11, envelope};

#[test]
fn help_names_every_command_and_shows_examples() {
    let help = Folder::new().run("--help").succeeds();
    for command in [
        "demo",
        "init",
        "gateway",
        "broker",
        "agreements",
        "secure",
        "open",
        "explain",
        "policy",
        "lint",
        "keys",
        "services",
        "xml",
        "lab",
        "completions",
    ] {
        assert!(
            help.text().contains(&format!("  {command} ")),
            "{command} is not in\n{}",
            help.text()
        );
    }
    assert!(
        help.text().contains("Examples:") && help.text().contains("Exit codes:"),
        "{}",
        help.text()
    );
    assert_eq!(help.err, "");
}

#[test]
fn every_command_explains_itself() {
    let folder = Folder::new();
    for command in [
        "demo",
        "init",
        "gateway",
        "broker explain",
        "agreements verify",
        "secure",
        "open",
        "explain",
        "policy",
        "lint",
        "keys",
        "keys new",
        "keys check",
        "keys list",
        "keys convert",
        "services",
        "services controller",
        "xml",
        "xml c14n",
        "xml sign",
        "xml verify",
        "xml encrypt",
        "xml decrypt",
        "lab run",
        "lab report",
        "lab advise",
        "lab compare",
        "completions",
    ] {
        let help = folder.run(&format!("{command} --help")).succeeds();
        assert!(
            help.text().contains("Examples:"),
            "{command}: {}",
            help.text()
        );
        assert!(
            !help.text().contains('\x1b'),
            "no colour where there is no terminal"
        );
    }
}

#[test]
fn the_version_is_told() {
    let version = Folder::new().run("--version").succeeds();
    assert_eq!(
        version.text(),
        concat!("soapstone ", env!("CARGO_PKG_VERSION"), "\n")
    );
}

#[test]
fn usage_errors_end_with_exit_code_1() {
    let folder = Folder::new();
    folder.run("frobnicate").fails("unrecognized subcommand");
    folder.run("secure").fails("--config");
    folder.run("open --config a.toml --jsn").fails("--json");
    folder
        .run("xml verify --enabled-reference-uris all in.xml")
        .fails("expected empty, same-doc, local, remote or any");
    folder.run_words(&[], b"").fails("Usage:");
    folder.run("keys").fails("Usage:");
}

#[test]
fn completions_are_written_for_every_shell() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = folder.run(&format!("completions {shell}")).succeeds();
        assert!(
            script.text().contains("soapstone") && script.text().contains("gateway"),
            "{shell}"
        );
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let folder = Folder::new();
    folder
        .run("xml c14n nowhere.xml")
        .fails("soapstone: nowhere.xml: cannot be read: No such file or directory");
    folder
        .run("keys list nowhere.pem")
        .fails("soapstone: nowhere.pem: cannot be read");
    folder
        .run("secure --config nowhere.toml")
        .fails("nowhere.toml: the configuration file cannot be read");
}

#[cfg(unix)]
#[test]
fn output_that_nobody_reads_to_its_end_is_nothing_to_complain_about() {
    let folder = Folder::new();
    let run = folder.run_unread("completions bash");
    assert_eq!((run.status, run.err.as_str()), (1, ""));
}

#[cfg(unix)]
#[test]
fn what_is_refused_is_refused_whether_anybody_reads_the_verdict_or_not() {
    let folder = Folder::new();
    folder
        .write("policy.xml", "<Policy xmlns='http://www.w3.org/ns/ws-policy'><All><a xmlns='urn:a'/></All></Policy>")
        .write(
            "open.toml",
            "users = [{ name = \"alice\", password = \"secret\" }]\n[security]\nmechanism = \"username\"\n",
        )
        .write("plain.xml", envelope(SOAP11));
    for words in [
        "open --json --config open.toml plain.xml",
        "policy policy.xml",
    ] {
        folder.run(words).refuses_somehow();
        folder.run_unread(words).refuses_somehow();
    }
}
