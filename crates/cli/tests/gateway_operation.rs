//! A gateway under what operators meet: readers that stand still, clients without end, restarts.
#![cfg(unix)]

mod common;
#[path = "common/server.rs"]
mod server;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::Folder;
use server::{Server, free_port, post};

/// A gateway with users, so that a message without a user is refused.
fn configuration(port: u16, admin: u16, more: &str) -> String {
    format!(
        "listen = \"127.0.0.1:{port}\"\nadmin = \"127.0.0.1:{admin}\"\n{more}\n[[routes]]\npath = \"/u\"\nbackend = \"http://127.0.0.1:9\"\n\
         [routes.inbound]\nusers = [{{ name = \"alice\", password = \"secret\" }}]\nsecurity = {{ mechanism = \"username\" }}\n"
    )
}

/// The answer to a GET, whole.
fn get(port: u16, path: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("somebody listens");
    let patience = Some(Duration::from_secs(20));
    stream.set_read_timeout(patience).expect("a timeout");
    let request = format!("GET {path} HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n");
    stream
        .write_all(request.as_bytes())
        .expect("the request is sent");
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .expect("an answer comes in time");
    answer
}

/// The value of a metric without labels.
fn metric(port: u16, name: &str) -> u64 {
    let text = get(port, "/metrics");
    let line = text.lines().find(|line| {
        let rest = line.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with(' '))
    });
    let value = line.and_then(|line| line.rsplit(' ').next());
    let value = value.unwrap_or_else(|| panic!("no {name} in {text}"));
    value.parse().expect("a number")
}

/// A gateway that logs everything into a pipe.
fn start_with_piped_log(folder: &Folder, port: u16, admin: u16) -> Server {
    folder.write("gateway.toml", configuration(port, admin, ""));
    let mut command = folder.command();
    command.args([
        "gateway",
        "--config",
        "gateway.toml",
        "--log-level",
        "debug",
    ]);
    Server::start_command(command.stderr(Stdio::piped()), "gateway at")
}

#[test]
fn a_reader_of_the_log_that_stands_still_stops_neither_requests_nor_the_end() {
    let folder = Folder::new();
    let (port, admin) = (free_port(), free_port());
    // The pipe stays open, and nobody reads it.
    let mut gateway = start_with_piped_log(&folder, port, admin);
    // Each of these lines holds its path: some 7 kB, of which a pipe and the queue take some 150.
    let long = format!("/{}", "x".repeat(7000));
    let mut asked = 0;
    while metric(admin, "soapstone_log_lines_lost_total") == 0 {
        for _ in 0..50 {
            assert!(get(port, &long).starts_with("HTTP/1.1 404"));
        }
        asked += 50;
        assert!(asked < 1000, "no line was lost");
    }
    let refused = post(&format!("http://127.0.0.1:{port}/u"), "<a/>");
    assert!(refused.starts_with("HTTP/1.1 500"), "{refused}");
    assert!(get(admin, "/healthz").starts_with("HTTP/1.1 200"));
    assert_eq!(gateway.stop("-TERM"), Some(0));
}

/// A gateway below a shell that limits its open files.
fn limited(folder: &Folder, limits: &str) -> Server {
    let program = folder.command();
    let mut shell = Command::new("sh");
    shell
        .current_dir(folder.path("."))
        .args(["-c", &format!("{limits}; exec \"$0\" \"$@\"")])
        .arg(program.get_program())
        .args(["gateway", "--config", "gateway.toml"]);
    let log = std::fs::File::create(folder.path("log")).expect("a file for the log");
    Server::start_command(shell.stderr(log), "gateway at")
}

#[test]
fn health_is_told_while_clients_hold_every_descriptor_that_they_may_have() {
    let folder = Folder::new();
    let (port, admin) = (free_port(), free_port());
    folder.write("gateway.toml", configuration(port, admin, ""));
    let gateway = limited(&folder, "ulimit -Sn 64; ulimit -Hn 128");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", gateway.id()));
    let limits = limits.expect("a Linux machine");
    let files = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let files: Vec<&str> = files.expect("a limit").split_whitespace().collect();
    assert_eq!(files[3..5], ["128", "128"], "the soft limit is raised");
    let clients: Vec<TcpStream> = (0..200)
        .map(|_| TcpStream::connect(("127.0.0.1", port)).expect("somebody listens"))
        .collect();
    while metric(admin, "soapstone_refused_connections_total") < 200 - 48 {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(metric(admin, "soapstone_connections"), 48);
    assert!(get(admin, "/healthz").starts_with("HTTP/1.1 200"));
    let log = folder.read("log");
    assert!(
        log.contains("`limits.connections` = 10000 is out of reach"),
        "{log}"
    );
    drop(clients);
}

#[test]
fn a_gateway_that_is_told_to_stop_says_so_and_serves_on_until_it_is_told_again() {
    let folder = Folder::new();
    let (port, admin) = (free_port(), free_port());
    let more = "timeouts = { drain_delay = \"1h\" }";
    folder.write("gateway.toml", configuration(port, admin, more));
    let mut gateway = Server::start(&folder, "gateway --config gateway.toml", "gateway at");
    gateway.tell("-TERM");
    while !get(admin, "/readyz").contains("\nready: false\ndraining: true\n") {
        std::thread::sleep(Duration::from_millis(20));
    }
    let served = post(&format!("http://127.0.0.1:{port}/u"), "<a/>");
    assert!(served.starts_with("HTTP/1.1 500"), "{served}");
    assert_eq!(gateway.stop("-TERM"), Some(0));
}

#[test]
fn the_last_lines_of_the_log_are_written_before_the_program_ends() {
    let folder = Folder::new();
    let (port, admin) = (free_port(), free_port());
    let mut gateway = start_with_piped_log(&folder, port, admin);
    let mut log = gateway.standard_error();
    // Lines of some 7 kB, 140 in all: a pipe has no room for the last of them.
    for request in 0..20 {
        let path = format!("/{request}/{}", "x".repeat(7000));
        assert!(get(port, &path).starts_with("HTTP/1.1 404"));
    }
    gateway.tell("-TERM");
    while TcpStream::connect(("127.0.0.1", port)).is_ok() {
        std::thread::sleep(Duration::from_millis(1));
    }
    // The reader is slower than the end of a process that does not wait for him.
    let mut text = Vec::new();
    let mut part = [0; 4096];
    while let count @ 1.. = log.read(&mut part).expect("the log is read") {
        text.extend_from_slice(&part[..count]);
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(gateway.ended(), Some(0));
    let text = String::from_utf8(text).expect("the log is text");
    for request in 0..20 {
        let path = format!("/{request}/x");
        assert!(text.contains(&path), "{path} is not in the log");
    }
    let last = text.lines().last().unwrap_or_default();
    assert!(
        text.ends_with('\n') && last.contains("stopping: requests in hand may finish"),
        "{last}"
    );
}
