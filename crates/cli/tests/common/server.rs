//! A run of the program that goes on until it is stopped, and calls to it.

#![allow(dead_code, reason = "each test program uses its part")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use super::common::Folder;

/// A server that is stopped when the test ends, however it ends.
pub(crate) struct Server {
    child: Child,
    /// What it said on standard output up to the line that was waited for.
    pub(crate) said: String,
    _rest: BufReader<std::process::ChildStdout>,
}

impl Server {
    /// Starts it and waits until it has said `last`.
    pub(crate) fn start(folder: &Folder, words: &str, last: &str) -> Self {
        let mut command = folder.command_with(&words.split(' ').collect::<Vec<_>>());
        Self::start_command(command.stderr(Stdio::null()), last)
    }

    /// Starts a command and waits until it has said `last`.
    pub(crate) fn start_command(command: &mut Command, last: &str) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let mut lines = BufReader::new(child.stdout.take().expect("standard output"));
        let mut said = String::new();
        while !said.lines().last().is_some_and(|line| line.contains(last)) {
            let read = lines.read_line(&mut said).expect("it says something");
            assert!(read > 0, "it ended without saying {last}: {said}");
        }
        Self {
            child,
            said,
            _rest: lines,
        }
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it says on standard error, which has to be piped.
    pub(crate) fn standard_error(&mut self) -> ChildStderr {
        self.child.stderr.take().expect("standard error is piped")
    }

    /// Sends it a signal.
    pub(crate) fn tell(&self, signal: &str) {
        let told = Command::new("kill")
            .args([signal, &self.id().to_string()])
            .status()
            .expect("kill runs");
        assert!(told.success());
    }

    /// Tells it to stop, and waits until it has: its exit code.
    pub(crate) fn stop(&mut self, signal: &str) -> Option<i32> {
        self.tell(signal);
        self.ended()
    }

    /// Waits until it has ended: its exit code.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(20) {
            if let Some(status) = self.child.try_wait().expect("it can be waited for") {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("it does not stop");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Posts a message to `http://ADDRESS/PATH`; the whole response.
pub(crate) fn post(url: &str, message: &str) -> String {
    post_octets(url, "", message.as_bytes())
}

/// Posts bytes with further header lines.
pub(crate) fn post_octets(url: &str, headers: &str, message: &[u8]) -> String {
    let (address, path) = url
        .strip_prefix("http://")
        .unwrap()
        .split_once('/')
        .unwrap();
    let mut stream = TcpStream::connect(address).expect("somebody listens");
    let head = format!(
        "POST /{path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: text/xml; charset=utf-8\r\nSOAPAction: \"\"\r\nConnection: close\r\n\
         {headers}Content-Length: {}\r\n\r\n",
        message.len()
    );
    stream
        .write_all(&[head.as_bytes(), message].concat())
        .expect("the request is sent");
    let mut response = String::new();
    stream
        .read_to_string(&mut response)
        .expect("the response is read");
    response
}

/// The whole response to a GET of `http://ADDRESS/PATH`.
pub(crate) fn get(url: &str) -> String {
    let (address, path) = url
        .strip_prefix("http://")
        .unwrap()
        .split_once('/')
        .unwrap();
    let mut stream = TcpStream::connect(address).expect("somebody listens");
    let head = format!("GET /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream
        .write_all(head.as_bytes())
        .expect("the request is sent");
    let mut response = String::new();
    stream
        .read_to_string(&mut response)
        .expect("the response is read");
    response
}

/// A port of localhost where nobody listens.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

/// A service that answers each request with its Body; its address.
pub(crate) fn backend() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut read = Vec::new();
            let mut buffer = [0; 4096];
            let body = loop {
                let text = String::from_utf8_lossy(&read).into_owned();
                if let Some((_, body)) = text.split_once("\r\n\r\n")
                    && body.ends_with("Envelope>")
                {
                    break body.to_owned();
                }
                match stream.read(&mut buffer) {
                    Ok(0) | Err(_) => break String::new(),
                    Ok(length) => read.extend_from_slice(&buffer[..length]),
                }
            };
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            // A gateway that only looks whether somebody listens has gone.
            let _ = stream.write_all(&[head, body].concat().into_bytes());
        }
    });
    address
}
