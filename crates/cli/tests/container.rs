//! `soapstone-container`: the commands that a gateway needs in its container, and no others.

#[path = "common/attacks.rs"]
mod attacks;
mod common;
#[path = "common/endpoints.rs"]
mod endpoints;
#[path = "common/server.rs"]
mod server;

use std::process::{Command, Output};

use attacks::element;
use common::{Folder, SOAP11, envelope, key};
use endpoints::Endpoint;
use server::{Server, free_port};

/// The program with these words, separated by spaces, in a folder.
fn container(folder: &Folder, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_soapstone-container"));
    command.args(words.split(' ')).current_dir(folder.path(""));
    command.env("ALICE_PASSWORD", "correct horse");
    command
}

/// How it ended: its exit code, and what it said on standard error.
fn ended(output: &Output) -> (Option<i32>, String) {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

fn run(folder: &Folder, words: &str) -> Output {
    container(folder, words).output().expect("the program runs")
}

#[test]
fn a_command_that_is_not_there_says_where_it_is() {
    let folder = Folder::new();
    for words in [
        "explain",
        "explain --json message.xml",
        "--log json explain message.xml",
        "help explain",
        "xml verify signed.xml",
        "completions bash",
        "lab run engine",
        "registry --help",
    ] {
        let mut asked = words
            .split(' ')
            .filter(|word| !word.starts_with('-') && *word != "json" && *word != "help");
        let expected = format!(
            "soapstone: the program of the gateway's container has no command {}\n\
             hint: `make build` makes soapstone, soapstone-lab and soapstone-registry, which have all commands\n",
            asked.next().expect("a command")
        );
        assert_eq!(ended(&run(&folder, words)), (Some(1), expected), "{words}");
    }
    let (code, said) = ended(&run(&folder, "frobnicate"));
    assert_eq!(code, Some(1));
    assert!(said.contains("unrecognized subcommand"), "{said}");
}

#[test]
fn its_help_names_its_own_commands_alone() {
    let folder = Folder::new();
    let help = run(&folder, "--help");
    assert_eq!(ended(&help), (Some(0), String::new()));
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    for command in ["gateway", "broker", "agreements", "secure", "open", "keys"] {
        assert!(
            help.contains(&format!("\n  {command} ")),
            "{command}: {help}"
        );
    }
    for command in ["explain", "xml", "init", "lab"] {
        assert!(
            !help.contains(&format!("  {command} ")),
            "{command}: {help}"
        );
    }
}

#[test]
fn each_of_both_programs_opens_what_the_other_one_secured() {
    let folder = Folder::new();
    Endpoint::client("sign-encrypt", "").write(&folder, "client.toml");
    Endpoint::server("sign-encrypt", "").write(&folder, "server.toml");
    folder.write("plain.xml", envelope(SOAP11));
    let secure = "secure --config client.toml plain.xml -o secured.xml";
    let open = "open --config server.toml secured.xml --json -o opened.xml";
    folder.run(secure).succeeds();
    let opened = run(&folder, open);
    assert_eq!(opened.status.code(), Some(0), "{}", ended(&opened).1);
    let order = |file: &str| element(&folder.read(file), "b:order").to_owned();
    assert_eq!(order("opened.xml"), order("plain.xml"));
    let secured = run(&folder, secure);
    assert_eq!(secured.status.code(), Some(0), "{}", ended(&secured).1);
    folder.run(open).succeeds();
    assert_eq!(order("opened.xml"), order("plain.xml"));
    let tampered = folder
        .read("secured.xml")
        .replace("<soap:Body", "<soap:Body x=\"\"");
    folder.write("secured.xml", tampered);
    let refused = run(&folder, open);
    assert_eq!(refused.status.code(), Some(2), "{}", ended(&refused).1);
}

#[cfg(unix)]
#[test]
fn its_gateway_serves_until_it_is_told_to_stop() {
    let folder = Folder::new();
    let port = free_port();
    folder.write(
        "gateway.toml",
        format!(
            "listen = \"127.0.0.1:{port}\"\n[[routes]]\npath = \"/echo\"\nbackend = \"http://127.0.0.1:9\"\n"
        ),
    );
    let checked = run(&folder, "gateway --config gateway.toml --check");
    assert_eq!(checked.status.code(), Some(0), "{}", ended(&checked).1);
    let mut command = container(&folder, "gateway --config gateway.toml");
    let mut gateway = Server::start_command(&mut command, "gateway at");
    assert!(gateway.said.contains(&port.to_string()), "{}", gateway.said);
    assert_eq!(gateway.stop("-TERM"), Some(0));
}
