//! `soapstone broker explain --admin`: what a gateway that runs knows of each backend.
#![cfg(unix)]

mod common;
#[path = "common/server.rs"]
mod server;

use common::{Folder, SOAP11, envelope, key};
use server::{Server, free_port, post};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A gateway before a plain backend that nobody reaches and one that wants signatures; with its
/// port and that of its listener for operators.
fn gateway(folder: &Folder) -> (Server, u16, u16) {
    let (port, admin) = (free_port(), free_port());
    folder.write("admin.token", TOKEN);
    folder.write("wrong.token", TOKEN.replace('0', "1"));
    let text = format!(
        "listen = \"127.0.0.1:{port}\"\nadmin = {{ listen = \"127.0.0.1:{admin}\", token_file = \"admin.token\" }}\n\
         [[routes]]\npath = \"/books\"\n\
         [[routes.backends]]\nname = \"plain\"\nurl = \"http://127.0.0.1:9/books\"\n\
         [[routes.backends]]\nname = \"signed\"\nurl = \"http://127.0.0.1:9/other\"\nlimit = 7\n\
         [routes.backends.outbound]\nidentity = {{ key = \"{}\", certificate = \"{}\" }}\n\
         trust = {{ anchors = [\"{}\"] }}\n\
         security = {{ mechanism = \"sign\", suite = \"Basic256Sha256+RsaSha256\" }}\n\
         [routes.balance]\nselection = \"performance\"\nretries = 0\n\
         ejection = {{ failures = 1, time = \"1h\", longest = \"1h\" }}\n\
         [[routes.balance.classes]]\nmembers = [\"CN=careful & slow\"]\nneeds = {{ bits = 256, properties = [\"integrity\"] }}\n",
        key("client.key.pem"),
        key("client.cert.pem"),
        key("ca.cert.pem")
    );
    folder.write("gateway.toml", text);
    let mut command = folder.command();
    command.args(["gateway", "--config", "gateway.toml"]);
    (
        Server::start_command(&mut command, "gateway at"),
        port,
        admin,
    )
}

#[test]
fn a_gateway_that_runs_tells_both_indices_and_why_each_backend_may_be_chosen_or_not() {
    let folder = Folder::new();
    let (_gateway, port, admin) = gateway(&folder);
    let asked =
        format!("broker explain --admin http://127.0.0.1:{admin}/ --token-file admin.token");
    let run = folder
        .run(&format!("{asked} --property integrity"))
        .succeeds();
    let text = run.text();
    for expected in [
        "route /books (performance)\nneeds: integrity\n",
        "backend plain -> http://127.0.0.1:9/books\n  not eligible: it does not cover the needs: no integrity\n  security index 0: nothing\n",
        "backend signed -> http://127.0.0.1:9/other\n  eligible: it may be chosen\n  security index 112: authentication 112 (message), integrity 112 (message)",
        "  performance index not known: seen not known, mean of answers not known, claimed not known\n",
        "  up: 0 of 7 in hand, 0 answered, 0 failed, 0 ejections, availability ? %, weight 1\n",
    ] {
        assert!(text.contains(expected), "{expected}\nin\n{text}");
    }
    // Nobody gives what the class of that sender needs.
    let sender = ["--sender", "CN=careful & slow", "--json"];
    let words: Vec<&str> = asked.split(' ').chain(sender).collect();
    let run = folder.run_words(&words, b"");
    assert_eq!(run.status, 2);
    let told = run.json();
    let candidates = &told["routes"][0]["candidates"];
    assert_eq!(told["routes"][0]["needs"]["bits"], 256);
    let short = "it does not cover the needs: integrity of 112 bits, needed 256";
    assert_eq!(candidates[1]["why"], short);
    assert_eq!(candidates[1]["security"]["integrity"]["bits"], 112);
    assert_eq!(candidates[1]["covers"], false);
    // Each of them fails a call, and is shown as what it is now: calls go there all the same.
    for _ in 0..2 {
        post(&format!("http://127.0.0.1:{port}/books"), &envelope(SOAP11));
    }
    let run = folder.run(&format!("{asked} --json")).succeeds();
    let told = run.json();
    for candidate in told["routes"][0]["candidates"].as_array().expect("two") {
        assert_eq!(candidate["state"], "ejected", "{told}");
        let why = candidate["why"].as_str().expect("text");
        let expected = "it may be chosen as the last resort: it is ejected for another ";
        assert!(why.starts_with(expected), "{why}");
        assert_eq!(candidate["eligible"], true);
    }
}

#[test]
fn who_may_not_ask_or_asks_for_nothing_that_is_there_is_told() {
    let folder = Folder::new();
    let (_gateway, _, admin) = gateway(&folder);
    let url = format!("http://127.0.0.1:{admin}");
    for (more, expected) in [
        ("", "wants the token of its `admin`"),
        (
            " --token-file wrong.token",
            "wants the token of its `admin`",
        ),
        (
            " --token-file admin.token --route /papers",
            "no route /papers of",
        ),
    ] {
        let run = folder.run(&format!("broker explain --admin {url}{more}"));
        run.fails(expected);
    }
}

#[test]
fn a_gateway_with_client_certificates_tells_whoever_it_names() {
    let folder = Folder::new();
    folder.run("keys new ca --ca").succeeds();
    for name in ["operator", "other"] {
        folder
            .run(&format!("keys new {name} --signed-by ca"))
            .succeeds();
    }
    folder
        .run("keys new admin --signed-by ca --san localhost")
        .succeeds();
    let (port, admin) = (free_port(), free_port());
    let text = format!(
        "listen = \"127.0.0.1:{port}\"\n[admin]\nlisten = \"127.0.0.1:{admin}\"\nsubjects = [\"CN=operator\"]\n\
         [admin.tls]\ncertificate = \"admin.cert.pem\"\nkey = \"admin.key.pem\"\nclient_ca = \"ca.cert.pem\"\n\
         [[routes]]\npath = \"/books\"\n[[routes.backends]]\nname = \"plain\"\nurl = \"http://127.0.0.1:9/books\"\n"
    );
    folder.write("gateway.toml", text);
    let mut command = folder.command();
    command.args(["gateway", "--config", "gateway.toml"]);
    let _gateway = Server::start_command(&mut command, "gateway at");
    let explain = |shown: &str| {
        folder.run(&format!(
            "broker explain --admin https://localhost:{admin} --ca ca.cert.pem{shown}"
        ))
    };
    let run = explain(" --cert operator.cert.pem --key operator.key.pem").succeeds();
    let text = run.text();
    assert!(
        text.contains("backend plain -> http://127.0.0.1:9/books\n"),
        "{text}"
    );
    explain(" --cert other.cert.pem --key other.key.pem")
        .fails("the client certificate is of nobody whom `admin.subjects` names");
    explain(" --cert operator.cert.pem").fails("--key");
}
