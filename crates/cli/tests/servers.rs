//! The commands that serve: gateway, services and demo, started and stopped as a user does.
#![cfg(unix)]

mod common;
#[path = "common/endpoints.rs"]
mod endpoints;
#[path = "common/redis.rs"]
mod redis;
#[path = "common/server.rs"]
mod server;

use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::{Folder, SOAP11, key};
use endpoints::Endpoint;
use redis::Redis;
use server::{Server, free_port, post};

fn echo(text: &str) -> String {
    format!(
        "<s:Envelope xmlns:s=\"{SOAP11}\"><s:Body><Echo xmlns=\"urn:soapstone:services:echo\"><text>{text}</text></Echo></s:Body></s:Envelope>"
    )
}

#[test]
fn the_sample_services_serve_until_they_are_told_to_stop() {
    let folder = Folder::new();
    for signal in ["-TERM", "-INT"] {
        let mut services = Server::start(&folder, "services --listen 127.0.0.1:0", "/books");
        let url = services
            .said
            .lines()
            .find(|line| line.ends_with("/echo"))
            .expect("the address of Echo");
        let response = post(url, &echo("Hello, world"));
        assert!(
            response.starts_with("HTTP/1.1 200") && response.contains("<text>Hello, world</text>"),
            "{response}"
        );
        assert_eq!(services.stop(signal), Some(0));
    }
}

#[test]
fn the_services_read_the_controller_that_they_are_shown() {
    let folder = Folder::new();
    let request = format!(
        "<s:Envelope xmlns:s=\"{SOAP11}\"><s:Body><getTemperature xmlns=\"urn:soapstone:services:temperature\"/></s:Body></s:Envelope>"
    );
    let mut controller = Server::start(
        &folder,
        "services controller --listen 127.0.0.1:0 --temperature -3.5 --delay 5 --loss 0.1 --seed 3",
        "udp://",
    );
    let address = controller.said.trim().trim_start_matches("udp://");
    let words = format!("services --listen 127.0.0.1:0 --controller {address}");
    let mut services = Server::start(&folder, &words, "/temperature");
    let url = services.said.lines().last().expect("its address");
    let response = post(url, &request);
    assert!(
        response.starts_with("HTTP/1.1 200")
            && response.contains("<temperature>-3.50</temperature>"),
        "{response}"
    );
    assert_eq!(controller.stop("-TERM"), Some(0));
    let response = post(url, &request);
    assert!(
        response.starts_with("HTTP/1.1 500")
            && response.contains("the controller of the sensor answered none of 6 requests"),
        "{response}"
    );
    assert_eq!(services.stop("-TERM"), Some(0));
}

#[test]
fn a_device_that_cannot_be_is_a_usage_error() {
    let folder = Folder::new();
    for (words, expected) in [
        (
            "--temperature 400",
            "expected degrees from -327.68 to 327.67",
        ),
        ("--loss 1.5", "expected a number from 0 to 1"),
        ("--loss NaN", "expected a number from 0 to 1"),
    ] {
        folder
            .run(&format!("services controller {words}"))
            .fails(expected);
    }
}

#[test]
fn a_database_that_is_none_is_a_usage_error() {
    Folder::new()
        .run("services --database oracle://db")
        .fails("expected a database as sqlite:PATH");
}

#[test]
fn an_address_is_numbers() {
    let folder = Folder::new();
    for command in [
        "services --listen localhost:9000",
        "services --controller 9001",
        "services controller --listen 127.0.0.1",
    ] {
        folder
            .run(command)
            .fails("expected an address and a port, such as 127.0.0.1:9000");
    }
}

#[test]
fn a_port_in_use_is_told_at_once() {
    let folder = Folder::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let told =
        format!("soapstone: cannot listen on {address}: another program listens there\nhint: ");
    folder
        .run(&format!("services --listen {address}"))
        .fails(&told);
    folder.write("gateway.toml", gateway(address.port(), 9, "none"));
    folder.run("gateway --config gateway.toml").fails(&told);
}

/// A gateway before the Echo service.
fn gateway(port: u16, backend: u16, mechanism: &'static str) -> String {
    let mut text = format!(
        "listen = \"127.0.0.1:{port}\"\n[[routes]]\npath = \"/echo\"\nbackend = \"http://127.0.0.1:{backend}/echo\"\n[routes.inbound]\n"
    );
    if mechanism != "none" {
        for (table, name) in [("identity", "server"), ("peer", "client")] {
            let certificate = key(&format!("{name}.cert.pem"));
            let own = match table {
                "identity" => format!("key = \"{}\", ", key("server.key.pem")),
                _ => String::new(),
            };
            text.push_str(&format!(
                "{table} = {{ {own}certificate = \"{certificate}\" }}\n"
            ));
        }
        text.push_str(&format!(
            "trust = {{ anchors = [\"{}\"] }}\n",
            key("ca.cert.pem")
        ));
    }
    text + &format!("security = {{ mechanism = \"{mechanism}\" }}\n")
}

#[test]
fn a_gateway_opens_what_the_command_line_secured() {
    let folder = Folder::new();
    let services = Server::start(&folder, "services --listen 127.0.0.1:0", "/books");
    let url = services
        .said
        .lines()
        .find(|line| line.ends_with("/echo"))
        .expect("the address of Echo");
    let backend: u16 = url
        .trim_end_matches("/echo")
        .rsplit(':')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let port = free_port();
    folder.write("gateway.toml", gateway(port, backend, "sign-encrypt"));
    let mut gateway = Server::start(&folder, "gateway --config gateway.toml", "gateway at");
    Endpoint::client("sign-encrypt", "").write(&folder, "client.toml");
    folder.write("request.xml", echo("Hello, world"));
    let secured = folder
        .run("secure --config client.toml request.xml")
        .succeeds();
    let response = post(&format!("http://127.0.0.1:{port}/echo"), secured.text());
    assert!(
        response.starts_with("HTTP/1.1 200") && !response.contains("Hello, world"),
        "{response}"
    );
    folder.write(
        "response.xml",
        response.split_once("\r\n\r\n").expect("a body").1,
    );
    // The client opens what was encrypted to it.
    let mut client = Endpoint::client("sign-encrypt", "");
    client.peer = "server";
    client.write(&folder, "client.toml");
    let opened = folder
        .run("open --config client.toml response.xml")
        .succeeds();
    assert!(
        opened.text().contains("<text>Hello, world</text>"),
        "{}",
        opened.text()
    );
    let refused = post(
        &format!("http://127.0.0.1:{port}/echo"),
        &echo("Hello, world"),
    );
    assert!(
        refused.starts_with("HTTP/1.1 500") && refused.contains("InvalidSecurity"),
        "{refused}"
    );
    assert_eq!(gateway.stop("-TERM"), Some(0));
}

#[test]
fn a_configuration_is_checked_without_anything_being_started() {
    let folder = Folder::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    folder.write("gateway.toml", gateway(port, 9, "sign-encrypt"));
    let plan = format!(
        "gateway.toml: no problem found\nlisten 127.0.0.1:{port}\n\
         route /echo -> http://127.0.0.1:9/echo, inbound sign-encrypt Basic256GCM\n"
    );
    let checked = folder
        .run("gateway --config gateway.toml --check")
        .succeeds();
    let risk = "warning: gateway.toml:8:9: whoever has a certificate of these authorities may sign: `subjects` names nobody in \
                particular\n    hint: name the partners, subjects = [\"CN=…\"], or pin their certificates\n";
    assert_eq!(checked.text(), format!("{plan}{risk}"));
    let strict = folder
        .run("gateway --config gateway.toml --check --strict")
        .fails("1 warning, and --strict allows none");
    assert_eq!(strict.text(), checked.text());

    let text = gateway(port, 9, "sign-encrypt");
    let named = text.replace("trust = {", "trust = { subjects = [\"CN=client\"],");
    folder.write("gateway.toml", named);
    let checked = folder
        .run("gateway --config gateway.toml --check --strict")
        .succeeds();
    assert_eq!(checked.text(), plan);
}

#[test]
fn all_problems_of_a_gateway_are_told_at_once() {
    let folder = Folder::new();
    folder.write(
        "gateway.toml",
        "listen = \"localhost\"\n[[routes]]\npath = \"books\"\nbackend = \"ftp://x\"\n[routes.inbound]\n\
         identity = { key = \"nowhere.pem\", certificate = \"nowhere.pem\" }\nsecurity = { mechanism = \"sign\", suite = \"Basic512\" }\n",
    );
    for words in [
        "gateway --config gateway.toml",
        "gateway --config gateway.toml --check",
    ] {
        let run = folder.run(words).fails("problems in the configuration");
        for line in [1, 3, 4, 6] {
            assert!(
                run.err.contains(&format!("gateway.toml:{line}:")),
                "line {line} is not in\n{}",
                run.err
            );
        }
        assert!(run.err.contains("hint: "), "{}", run.err);
    }
}

#[test]
fn the_demo_calls_under_every_mechanism_and_ends() {
    let folder = Folder::new();
    let run = folder.run("demo --json --count 2").succeeds();
    let lines: Vec<serde_json::Value> = run
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    for payload in ["echo", "books"] {
        for mechanism in [
            "direct",
            "none",
            "username",
            "sign",
            "encrypt",
            "sign-encrypt",
            "encrypt-sign",
            "secure-conversation",
        ] {
            let line = lines
                .iter()
                .find(|line| line["payload"] == payload && line["mechanism"] == mechanism);
            let line =
                line.unwrap_or_else(|| panic!("{payload} {mechanism} is not in {}", run.text()));
            assert_eq!(line["n"], 2);
            assert_eq!(line["op"], "roundtrip");
            assert!(line["median_us"].as_f64().unwrap() > 0.0);
            let grew = line["secured_bytes"].as_u64() > line["bytes"].as_u64();
            assert_eq!(grew, !["direct", "none"].contains(&mechanism), "{line}");
        }
    }
    assert_eq!(lines.len(), 16);
    let text = folder.run("demo --count 1 --suite Basic128GCM").succeeds();
    for part in [
        "as the client sends it",
        "between the gateways: sign-encrypt, Basic128GCM",
        "increment",
        "secure-conversation  Basic128GCM",
    ] {
        assert!(
            text.text().contains(part),
            "{part} is not in\n{}",
            text.text()
        );
    }
    // On P-256, and with a key to sign and another one to decrypt.
    for suite in ["Basic128GCMEcdhEs", "Basic256GCMX25519"] {
        let words = format!("demo --json --count 1 --suite {suite}");
        let run = folder.run(&words).succeeds();
        assert_eq!(run.text().lines().count(), 16, "{}", run.text());
    }
    folder
        .run("demo --suite Basic512")
        .fails("expected one of Basic256,");
}

#[test]
fn a_demo_that_is_kept_can_be_called_until_it_is_stopped() {
    let folder = Folder::new();
    let mut demo = Server::start(&folder, "demo --count 1 --keep", "until then");
    assert!(demo.said.contains("curl -H"), "{}", demo.said);
    let url = demo
        .said
        .split_ascii_whitespace()
        .find(|word| word.ends_with("/sign-encrypt/echo"))
        .expect("an address");
    let response = post(url, &echo("still there"));
    assert!(
        response.starts_with("HTTP/1.1 200") && response.contains("<text>still there</text>"),
        "{response}"
    );
    let scratch = demo
        .said
        .lines()
        .find(|line| line.contains("soapstone-demo-"))
        .map(std::path::PathBuf::from)
        .expect("the scratch folder");
    assert!(scratch.join("demo-outbound.toml").is_file());
    assert_eq!(demo.stop("-INT"), Some(0));
    assert!(!scratch.exists(), "nothing is left behind");
}

#[test]
fn conversations_are_held_with_a_gateway_and_replays_of_them_refused() {
    let folder = Folder::new();
    let (port, service) = (free_port(), free_port());
    folder.write(
        "gateway.toml",
        gateway(port, service, "secure-conversation"),
    );
    let _gateway = Server::start(&folder, "gateway --config gateway.toml", "gateway at");
    Endpoint::client("secure-conversation", "").write(&folder, "client.toml");
    let load = format!(
        "lab run conversations --json --config client.toml --url http://127.0.0.1:{port}/echo --service 127.0.0.1:{service} \
         --conversations 3 --seconds 1 --rate 30 --begin-every 4"
    );
    let outcome = folder.run(&load).succeeds().json();
    assert_eq!(outcome["lost"], serde_json::json!([]));
    assert_eq!(outcome["failed"], serde_json::json!({}));
    assert!(
        outcome["handshakes"]["n"].as_u64() > Some(3),
        "they went on with new contexts: {outcome}"
    );
    let replays = &outcome["replays"];
    assert!(replays["sent"].as_u64() > Some(0), "{outcome}");
    assert_eq!(replays["refused"]["FailedAuthentication"], replays["sent"]);
    assert_eq!(outcome["delivered"]["messages"], outcome["answered"]["n"]);
    assert_eq!(outcome["delivered"]["repeated"], 0);

    folder.write("single.toml", "[security]\nmechanism = \"none\"\n");
    folder
        .run(&load.replace("client.toml", "single.toml"))
        .fails("the endpoint has no conversations");
}

#[test]
fn who_does_not_listen_is_named_with_what_the_system_says() {
    let folder = Folder::new();
    let nobody = free_port();
    Endpoint::client("secure-conversation", "").write(&folder, "client.toml");
    let url = format!("http://127.0.0.1:{nobody}/echo");
    folder
        .run(&format!(
            "lab run conversations --config client.toml --url {url} --seconds 1"
        ))
        .fails(&format!(
            "no conversation began at {url}: nobody accepts connections: Connection refused"
        ));
    let run = folder
        .run(&format!(
            "services --listen 127.0.0.1:0 --database mysql://user:secret@127.0.0.1:{nobody}/books"
        ))
        .fails(&format!(
            "the database mysql://user@127.0.0.1:{nobody}/books cannot be used: "
        ));
    assert!(
        run.err.contains("Connection refused") && !run.err.contains("secret"),
        "{}",
        run.err
    );
    folder
        .run("services controller --delay 20ms")
        .fails("invalid value '20ms' for '--delay <MS>': expected milliseconds, such as 20");
}

#[test]
fn a_log_that_nobody_reads_any_more_costs_no_request() {
    let folder = Folder::new();
    let (port, nobody) = (free_port(), free_port());
    folder.write("gateway.toml", gateway(port, nobody, "none"));
    let mut command = folder.command();
    command.args(["gateway", "--config", "gateway.toml"]);
    let mut gateway = Server::start_command(command.stderr(Stdio::piped()), "gateway at");
    drop(gateway.standard_error());
    for _ in 0..3 {
        let response = post(&format!("http://127.0.0.1:{port}/echo"), &echo("Hello"));
        assert!(response.starts_with("HTTP/1.1 502"), "{response}");
    }
    assert_eq!(gateway.stop("-TERM"), Some(0));
}

#[test]
fn a_file_that_only_a_changed_configuration_names_is_noticed_when_it_comes() {
    let folder = Folder::new();
    let (port, nobody) = (free_port(), free_port());
    let before = gateway(port, nobody, "none");
    folder.write("gateway.toml", &before);
    let _gateway = Server::start(&folder, "gateway --config gateway.toml", "gateway at");
    let added = format!(
        "[[routes]]\npath = \"/added\"\nbackend = \"http://127.0.0.1:{nobody}/\"\n[routes.inbound]\n\
         users = [{{ name = \"alice\", password_file = \"later\" }}]\nsecurity = {{ mechanism = \"username\" }}\n"
    );
    folder.write("gateway.toml", before + &added);
    // It looks every two seconds.
    std::thread::sleep(Duration::from_secs(3));
    folder.write("later", "secret");
    let url = format!("http://127.0.0.1:{port}/added");
    let begun = Instant::now();
    while post(&url, &echo("Hello")).starts_with("HTTP/1.1 404") {
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "the file was not noticed"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Starts the gateway of `gateway.toml`, which logs into `log`.
fn logging(folder: &Folder) -> Server {
    let log = std::fs::File::create(folder.path("log")).expect("a file for the log");
    let mut command = folder.command();
    command
        .args(["gateway", "--config", "gateway.toml"])
        .stderr(log);
    Server::start_command(&mut command, "gateway at")
}

/// Waits until the log has a line with all of these words.
fn logged(folder: &Folder, words: &[&str]) {
    let begun = Instant::now();
    let has_all = |line: &str| words.iter().all(|word| line.contains(word));
    while !folder.read("log").lines().any(has_all) {
        let text = folder.read("log");
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "{words:?}: {text}"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn certificates_whose_time_is_not_now_are_told_of_by_check_start_reload_and_secure() {
    let folder = Folder::new();
    for (name, not_before) in [
        ("ca --ca", "2024-01-01T00:00:00Z"),
        ("old --signed-by ca", "2024-01-01T00:00:00Z"),
        ("early --signed-by ca", "2098-01-01T00:00:00Z"),
    ] {
        folder
            .run(&format!(
                "keys new {name} --days 100 --not-before {not_before}"
            ))
            .succeeds();
    }
    let expired = "old.cert.pem` of `CN=old` expired at 2024-04-10T00:00:00Z";
    let early = "early.cert.pem` of `CN=early` is valid only from 2098-01-01T00:00:00Z";
    let endpoint = |peer: &str| {
        format!(
            "identity = {{ key = \"old.key.pem\", certificate = \"old.cert.pem\" }}\npeer = {{ certificate = \"{peer}\" }}\n\
             trust = {{ anchors = [\"{}\"], subjects = [\"CN=client\"] }}\nsecurity = {{ mechanism = \"sign-encrypt\" }}\n",
            key("ca.cert.pem")
        )
    };
    let gateway = |peer: &str| {
        format!(
            "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/echo\"\nbackend = \"http://127.0.0.1:9/\"\n[routes.inbound]\n{}",
            endpoint(peer)
        )
    };
    let valid = key("client.cert.pem");
    folder.write("gateway.toml", gateway(&valid));
    let checked = folder
        .run("gateway --config gateway.toml --check")
        .succeeds();
    let warnings: Vec<&str> = checked
        .text()
        .lines()
        .filter(|line| line.starts_with("warning: "))
        .collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].starts_with("warning: route /echo, inbound identity: `")
            && warnings[0].ends_with(expired),
        "{warnings:?}"
    );
    folder.write("client.toml", endpoint("early.cert.pem"));
    folder.write("request.xml", echo("Hello, world"));
    let secured = folder
        .run("secure --config client.toml request.xml")
        .succeeds();
    let told: Vec<&str> = secured.err.lines().collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].starts_with("soapstone: warning: identity: `") && told[0].ends_with(expired),
        "{told:?}"
    );
    assert!(
        told[1].starts_with("soapstone: warning: peer: `") && told[1].ends_with(early),
        "{told:?}"
    );
    let _running = logging(&folder);
    logged(
        &folder,
        &[
            "WARN",
            expired,
            "route=\"/echo\" direction=\"inbound\" use=\"identity\"",
        ],
    );
    assert!(!folder.read("log").contains(early));
    folder.write("gateway.toml", gateway("early.cert.pem"));
    logged(&folder, &["WARN", early, "use=\"peer\""]);
}

#[test]
fn a_changed_file_with_problems_has_a_line_of_the_log_for_each_of_them() {
    let folder = Folder::new();
    folder.write("gateway.toml", gateway(0, 9, "sign"));
    let _running = logging(&folder);
    let wrong = gateway(0, 9, "sign").replace("listen =", "listten = 1\nlisten =");
    folder.write("gateway.toml", wrong.replace("\"sign\"", "\"sing\""));
    logged(&folder, &["ERROR", "stays in use", "problems=2"]);
    let expected =
        "unknown key `listten` file=gateway.toml line=1 column=1 hint=\"did you mean `listen`?\"";
    logged(&folder, &["ERROR", expected]);
    logged(
        &folder,
        &[
            "ERROR",
            "`mechanism` must be one of",
            "hint=\"did you mean \\\"sign\\\"?\"",
        ],
    );
}

/// `--check` looks at files only; with `--store` it asks the servers as well.
#[test]
fn a_store_that_does_not_let_the_node_in_is_told_by_check_and_at_the_start() {
    let folder = Folder::new();
    let port = free_port();
    let options = ["--requirepass", "open", "--port", &port.to_string()];
    let _server = Redis::start(port, &options);
    let write = |password: &str| {
        folder.write(
            "gateway.toml",
            format!(
                "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/echo\"\nbackend = \"http://127.0.0.1:9/\"\n\
                 [routes.inbound]\nusers = [{{ name = \"alice\", password = \"secret\" }}]\n\
                 store = {{ url = \"redis://:{password}@127.0.0.1:{port}\", timeout = \"5s\" }}\n\
                 security = {{ mechanism = \"username\", replay = {{ store = \"redis\" }} }}\n"
            ),
        );
    };
    write("open");
    let check = "gateway --config gateway.toml --check --store";
    let checked = folder.run(check).succeeds();
    assert!(
        checked.text().ends_with("store: no problem found\n"),
        "{}",
        checked.text()
    );
    write("guessed");
    folder
        .run("gateway --config gateway.toml --check")
        .succeeds();
    let refused = folder.run(check).fails("WRONGPASS");
    let problem = format!("store: 127.0.0.1:{port}: WRONGPASS ");
    assert!(refused.err.contains(&problem), "{}", refused.err);
    assert!(
        refused
            .err
            .contains("hint: compare `username` and `password`"),
        "{}",
        refused.err
    );
    assert!(!refused.err.contains("guessed"), "{}", refused.err);
    let _running = logging(&folder);
    logged(&folder, &["ERROR", &problem, "hint="]);
}
