//! `soapstone init`: what it writes is used as its user will, for every mechanism.
#![cfg(unix)]

mod common;
#[path = "common/server.rs"]
mod server;

use std::os::unix::fs::PermissionsExt;

use common::Folder;
use server::{Server, free_port, post};

const MECHANISMS: [&str; 6] = [
    "username",
    "sign",
    "encrypt",
    "sign-encrypt",
    "encrypt-sign",
    "secure-conversation",
];

/// Names of what is in a folder, hidden files among them.
fn names(folder: &Folder, inside: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path(inside)).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name())
        .map(|name| name.into_string().expect("text"))
        .collect();
    names.sort();
    names
}

/// The sample services, and the address of their books.
fn services(folder: &Folder) -> (Server, String) {
    let services = Server::start(folder, "services --listen 127.0.0.1:0", "/temperature");
    let url = services.said.lines().find(|line| line.ends_with("/books"));
    let url = url.expect("the address of Books").to_owned();
    (services, url)
}

/// A way for plain sockets to a gateway whose connections are TLS; the others' own address.
fn door(folder: &Folder, mechanism: &str, port: u16) -> (Option<Server>, String) {
    if mechanism != "username" {
        return (None, format!("http://127.0.0.1:{port}/books"));
    }
    let door = free_port();
    folder.write(
        &format!("{mechanism}/door.toml"),
        format!(
            "listen = \"127.0.0.1:{door}\"\n[[routes]]\npath = \"/books\"\nbackend = \"https://localhost:{port}/books\"\n\
             tls = {{ ca = [\"ca.cert.pem\"] }}\n"
        ),
    );
    let words = format!("gateway --config {mechanism}/door.toml");
    let server = Server::start(folder, &words, "gateway at");
    (Some(server), format!("http://127.0.0.1:{door}/books"))
}

fn body(response: &str) -> &str {
    response.split_once("\r\n\r\n").expect("a body").1
}

#[track_caller]
fn has_books(text: &str) {
    let count = text.matches("<book>").count();
    assert_eq!(count, 2, "{text}");
}

#[test]
fn what_is_written_runs_as_it_stands_under_every_mechanism() {
    let folder = Folder::new();
    let (_services, backend) = services(&folder);
    // The call that is written for the sample services where they are by default.
    folder.run("init defaults").succeeds();
    let request = folder.read("defaults/request.xml");
    for mechanism in MECHANISMS {
        let (port, client_port) = (free_port(), free_port());
        let said = folder
            .run(&format!(
                "init {mechanism} --mechanism {mechanism} --backend {backend} --listen 127.0.0.1:{port} --client-listen 127.0.0.1:{client_port}"
            ))
            .succeeds();
        let written = names(&folder, mechanism);
        for name in &written {
            let line = format!("\n  {name} ");
            assert!(said.text().contains(&line), "{name}\n{}", said.text());
        }
        for file in ["gateway.toml", "client-gateway.toml"] {
            let checked = folder
                .run(&format!("gateway --config {mechanism}/{file} --check"))
                .succeeds();
            let bound = format!("bound {mechanism} Basic256GCM\n");
            assert!(checked.text().contains(&bound), "{}", checked.text());
        }
        let inbound = format!("gateway --config {mechanism}/gateway.toml");
        let _inbound = Server::start(&folder, &inbound, "gateway at");
        let outbound = format!("gateway --config {mechanism}/client-gateway.toml");
        let _outbound = Server::start(&folder, &outbound, "gateway at");

        let client_url = format!("http://127.0.0.1:{client_port}/books");
        assert!(said.text().contains(&client_url), "{}", said.text());
        let answer = post(&client_url, &request);
        assert!(answer.starts_with("HTTP/1.1 200"), "{mechanism}: {answer}");
        has_books(&answer);

        let (_door, url) = door(&folder, mechanism, port);
        let refused = post(&url, &request);
        assert!(
            refused.starts_with("HTTP/1.1 500") && refused.contains("wsse:InvalidSecurity"),
            "{mechanism}: {refused}"
        );

        let single = mechanism != "secure-conversation";
        for name in ["client.toml", "answers.toml"] {
            assert_eq!(written.iter().any(|written| written == name), single);
        }
        if single {
            let secure = format!("secure --config {mechanism}/client.toml");
            let words: Vec<&str> = secure.split(' ').collect();
            let secured = folder.run_words(&words, request.as_bytes()).succeeds();
            let answer = post(&url, secured.text());
            assert!(answer.starts_with("HTTP/1.1 200"), "{mechanism}: {answer}");
            let encrypts = mechanism.contains("encrypt");
            assert_eq!(
                answer.contains("<book>"),
                !encrypts,
                "{mechanism}: {answer}"
            );
            let open = format!("open --config {mechanism}/answers.toml");
            let words: Vec<&str> = open.split(' ').collect();
            let opened = folder.run_words(&words, body(&answer).as_bytes());
            has_books(opened.succeeds().text());
        }
    }
}

#[test]
fn suites_without_rsa_keys_get_the_keys_that_they_take() {
    let folder = Folder::new();
    let (_services, backend) = services(&folder);
    folder.run("init defaults").succeeds();
    let request = folder.read("defaults/request.xml");
    for (suite, mechanism, two) in [
        ("Basic256GCMEcdhEs", "sign-encrypt", false),
        ("Basic256GCMEcdhEs", "encrypt", false),
        ("Basic256GCMEcdhEs+RsaSha256", "encrypt-sign", true),
        ("Basic128GCMX25519", "sign-encrypt", true),
        ("Basic128GCMX25519", "secure-conversation", true),
        ("Basic256GCMX25519", "sign", false),
        ("Basic256GCMX25519", "encrypt", false),
    ] {
        let (port, client_port) = (free_port(), free_port());
        let name = format!("{mechanism}-{suite}");
        let said = folder
            .run(&format!(
                "init {name} --mechanism {mechanism} --suite {suite} --backend {backend} --listen 127.0.0.1:{port} \
                 --client-listen 127.0.0.1:{client_port}"
            ))
            .succeeds();
        let written = names(&folder, &name);
        for file in &written {
            let line = format!("\n  {file} ");
            assert!(said.text().contains(&line), "{file}\n{}", said.text());
        }
        let reads = written.iter().filter(|file| file.contains("-reads."));
        assert_eq!(reads.count(), if two { 4 } else { 0 }, "{written:?}");
        let inbound = format!("gateway --config {name}/gateway.toml");
        let _inbound = Server::start(&folder, &inbound, "gateway at");
        let outbound = format!("gateway --config {name}/client-gateway.toml");
        let _outbound = Server::start(&folder, &outbound, "gateway at");
        let answer = post(&format!("http://127.0.0.1:{client_port}/books"), &request);
        assert!(answer.starts_with("HTTP/1.1 200"), "{name}: {answer}");
        has_books(&answer);
        if mechanism == "secure-conversation" {
            continue;
        }
        let secure = format!("secure --config {name}/client.toml");
        let words: Vec<&str> = secure.split(' ').collect();
        let secured = folder.run_words(&words, request.as_bytes()).succeeds();
        let answer = post(&format!("http://127.0.0.1:{port}/books"), secured.text());
        let open = format!("open --config {name}/answers.toml");
        let words: Vec<&str> = open.split(' ').collect();
        let opened = folder.run_words(&words, body(&answer).as_bytes());
        has_books(opened.succeeds().text());
    }
}

#[test]
fn what_is_secret_is_its_owners_alone() {
    let folder = Folder::new();
    for (mechanism, secret) in [
        (
            "sign-encrypt",
            &["ca.key.pem", "client.key.pem", "service.key.pem"][..],
        ),
        (
            "username",
            &["alice.password", "ca.key.pem", "service.key.pem"],
        ),
    ] {
        folder
            .run(&format!("init {mechanism} --mechanism {mechanism}"))
            .succeeds();
        let secrets: Vec<String> = names(&folder, mechanism)
            .into_iter()
            .filter(|name| {
                let about = std::fs::metadata(folder.path(&format!("{mechanism}/{name}")));
                let mode = about.expect("a file").permissions().mode();
                mode & 0o777 == 0o600
            })
            .collect();
        assert_eq!(secrets, secret);
    }
    folder.run("init again --mechanism username").succeeds();
    let password = folder.read("username/alice.password");
    assert!(password.trim_end().len() >= 32);
    assert_ne!(password, folder.read("again/alice.password"));
    for name in names(&folder, "username") {
        if name != "alice.password" {
            let text = folder.read(&format!("username/{name}"));
            assert!(!text.contains(password.trim_end()), "{name}");
        }
    }
}

#[test]
fn nothing_is_overwritten_and_everything_in_the_way_is_named() {
    let folder = Folder::new();
    folder.write("mine/gateway.toml", "# mine\n");
    folder.write("mine/client.key.pem", "mine");
    folder.write("mine/notes", "mine");
    let run = folder
        .run("init mine")
        .fails("soapstone: nothing was written: mine/client.key.pem, mine/gateway.toml exist already\nhint: ");
    assert_eq!(run.text(), "");
    assert_eq!(
        names(&folder, "mine"),
        ["client.key.pem", "gateway.toml", "notes"]
    );
    assert_eq!(folder.read("mine/gateway.toml"), "# mine\n");
    assert_eq!(folder.read("mine/client.key.pem"), "mine");
    // Files of other names are nobody's hindrance, and are not touched either.
    folder.write("other/notes", "mine");
    folder.run("init other").succeeds();
    assert_eq!(folder.read("other/notes"), "mine");
    let before = folder.read("other/ca.key.pem");
    folder
        .run("init other")
        .fails("other/request.xml exist already");
    assert_eq!(folder.read("other/ca.key.pem"), before);
}

#[test]
fn a_link_that_leads_nowhere_is_in_the_way_too() {
    let folder = Folder::new();
    folder.write("mine/notes", "mine");
    std::os::unix::fs::symlink("/nowhere/key", folder.path("mine/ca.key.pem")).unwrap();
    folder
        .run("init mine")
        .fails("nothing was written: mine/ca.key.pem exists already");
}

#[test]
fn what_cannot_be_is_said_before_anything_is_made() {
    let folder = Folder::new();
    for (words, expected) in [
        (
            "--backend 127.0.0.1:9000/books",
            "'--backend <URL>': must be an http or https URL without a query",
        ),
        (
            "--backend ftp://127.0.0.1/books",
            "must be an http or https URL without a query and without a user, found a URL of another scheme",
        ),
        (
            "--backend http://127.0.0.1/books?wsdl",
            "must be an http or https URL without a query",
        ),
        ("--suite Basic512", "expected one of Basic256, "),
        (
            "--suite Basic256Sha256+RsaSha512",
            "+RsaSha256 behind one makes its signatures SHA-256",
        ),
        ("--mechanism none", "username, sign, encrypt, sign-encrypt"),
        (
            "--mechanism username --suite Basic256GCM",
            "--suite is for what is signed or encrypted",
        ),
        (
            "--listen localhost:8443",
            "expected an address and a port, such as 127.0.0.1:9000",
        ),
        ("--listen 127.0.0.1:0", "expected a port, found 0"),
        ("--listen 127.0.0.1:65535", "there is no port after 65535"),
        (
            "--listen 0.0.0.0:8443 --client-listen 127.0.0.1:8443",
            "must be different addresses",
        ),
        ("--days 0", "0 is not in 1..=36500"),
    ] {
        folder
            .run(&format!("init new/folder {words}"))
            .fails(expected);
        assert!(!folder.exists("new"), "{words}");
    }
    folder.write("file", "");
    folder
        .run("init file")
        .fails("soapstone: file: cannot be written: ");
}

#[test]
fn whoever_lets_in_other_machines_does_not_let_them_call_in_the_clients_name() {
    let folder = Folder::new();
    for (listen, client, url, own) in [
        (
            "0.0.0.0:9443",
            "127.0.0.1:9444",
            "http://127.0.0.1:9443/",
            "127.0.0.1",
        ),
        ("[::]:9443", "[::1]:9444", "http://[::1]:9443/", "[::1]"),
        (
            "192.0.2.7:9443",
            "127.0.0.1:9444",
            "http://192.0.2.7:9443/",
            "127.0.0.1",
        ),
    ] {
        let made = tempfile::tempdir_in(folder.path("")).expect("a folder");
        let made = made.path().to_str().expect("text");
        let words = format!(
            "init {made} --listen {listen} --backend https://books.example --mechanism sign --suite Basic128Sha256+RsaSha256"
        );
        folder.run(&words).succeeds();
        let checked = |file: &str| {
            let words = format!("gateway --config {made}/{file} --check");
            folder.run(&words).succeeds().text().to_owned()
        };
        let inbound = checked("gateway.toml");
        let route = "route / -> https://books.example/, inbound sign Basic128Sha256+RsaSha256\n";
        assert!(
            inbound.ends_with(&format!("\nlisten {listen}\nadmin {own}:10901\n{route}")),
            "{inbound}"
        );
        let outbound = checked("client-gateway.toml");
        let route = format!("route / -> {url}, outbound sign Basic128Sha256+RsaSha256\n");
        assert!(
            outbound.ends_with(&format!("\nlisten {client}\nadmin {own}:10902\n{route}")),
            "{outbound}"
        );
    }
}

#[test]
fn what_is_commented_out_can_be_taken_in() {
    let folder = Folder::new();
    folder
        .run("init made --backend https://books.example:9443/v1/")
        .succeeds();
    let text = folder.read("made/gateway.toml");
    let line = "tls = { ca = [\"service-ca.pem\"] }";
    assert!(text.contains(&format!("\n# {line}")), "{text}");
    folder.write("made/gateway.toml", text.replace("# tls =", "tls ="));
    folder.write("made/service-ca.pem", folder.read("made/ca.cert.pem"));
    let checked = folder
        .run("gateway --config made/gateway.toml --check")
        .succeeds();
    assert_eq!(
        checked.text(),
        "made/gateway.toml: no problem found\nlisten 127.0.0.1:8443\nadmin 127.0.0.1:9901\n\
         route /v1 -> https://books.example:9443/v1/, inbound sign-encrypt Basic256GCM\n"
    );
}

/// In a pipeline nobody reads warnings.
#[test]
fn risks_are_warnings_and_fail_a_strict_check() {
    let folder = Folder::new();
    let made = "init made --backend http://127.0.0.1:9/books";
    folder.run(made).succeeds();
    let check = "gateway --config made/gateway.toml --check";
    let strict = format!("{check} --strict --json");
    let safe = folder.run(&strict).succeeds().json();
    assert_eq!(safe["warnings"], serde_json::json!([]));
    let text = folder.read("made/gateway.toml");
    let weak = text.replace("Basic256GCM", "Basic256");
    assert_ne!(weak, text);
    folder.write("made/gateway.toml", &weak);
    let told = folder.run(check).succeeds();
    assert!(
        told.text().contains("warning: made/gateway.toml:"),
        "{}",
        told.text()
    );
    let failed = folder.run(&strict);
    assert!(
        failed.err.contains("--strict allows none"),
        "{}",
        failed.err
    );
    let json = failed.json();
    assert_eq!(json["problems"], serde_json::json!([]));
    let names: Vec<&str> = json["warnings"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|warning| {
            assert!(warning["line"].is_u64() && warning["hint"].is_string());
            warning["name"].as_str().expect("a name")
        })
        .collect();
    assert_eq!(names, ["weak-algorithm", "cbc"]);
    folder.run(&strict).fails("2 warnings");
    folder.write("made/gateway.toml", weak.replace("path =", "pfad ="));
    let wrong = folder.run(&format!("{check} --json"));
    let problems = wrong.json()["problems"].clone();
    assert!(problems[0]["message"].is_string(), "{problems}");
    wrong.fails("in the configuration");
    // Both speak of a check.
    folder
        .run("gateway --config made/gateway.toml --strict")
        .fails("--check");
}

#[test]
fn names_with_a_meaning_elsewhere_stay_names() {
    let folder = Folder::new();
    let backend = "http://127.0.0.1:9/a\"b$(id)'c";
    let words = ["init", "my books", "--backend", backend];
    let said = folder.run_words(&words, b"").succeeds();
    assert!(
        said.text().contains("\n  cd 'my books'\n"),
        "{}",
        said.text()
    );
    assert!(
        said.text()
            .contains(" 'http://127.0.0.1:8444/a\"b$(id)'\\''c'\n"),
        "{}",
        said.text()
    );
    for file in ["gateway.toml", "client-gateway.toml"] {
        let path = format!("my books/{file}");
        let words = ["gateway", "--check", "--config", &path];
        let checked = folder.run_words(&words, b"").succeeds();
        assert!(
            checked.text().contains("route /a\"b$(id)'c -> http://"),
            "{}",
            checked.text()
        );
    }
}

#[test]
fn the_request_for_a_service_of_ones_own_is_an_envelope_to_be_filled() {
    let folder = Folder::new();
    folder
        .run("init own --backend http://127.0.0.1:9000/mine")
        .succeeds();
    let request = folder.read("own/request.xml");
    assert!(request.contains("<!-- Put here what your service expects"));
    folder
        .run("secure --config own/client.toml own/request.xml -o secured.xml")
        .succeeds();
    assert!(!folder.read("secured.xml").contains("Put here"));
}

#[test]
fn certificates_are_valid_for_as_long_as_was_asked_and_the_authority_no_shorter() {
    let folder = Folder::new();
    for (days, authority_days) in [(30, 3650), (5000, 5000)] {
        let made = format!("for-{days}");
        folder.run(&format!("init {made} --days {days}")).succeeds();
        for (name, days) in [("ca", authority_days), ("service", days), ("client", days)] {
            let listed = folder
                .run(&format!("keys list --json {made}/{name}.cert.pem"))
                .succeeds()
                .json();
            let until = listed[0]["not_after"].as_str().expect("a moment");
            let until: jiff::Timestamp = until.parse().expect("a moment");
            let left = until.duration_since(jiff::Timestamp::now()).as_hours();
            assert!(
                (days * 24 - 1..=days * 24).contains(&left),
                "{name}: {left}"
            );
        }
    }
}
