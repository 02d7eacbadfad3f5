//! Kerberos tokens with the command line and through gateways, with a live KDC.
//!
//! Where the programs are not installed these tests pass, but not in continuous integration.
#![cfg(unix)]

mod common;
#[path = "common/server.rs"]
mod server;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{Folder, SOAP11, envelope};
use server::{Server, backend, free_port, post};
use soapstone_testkit::kdc::{self, Realm};

const SERVICE: &str = "HTTP/books.example@EXAMPLE.COM";
const ALICE: &str = "alice@EXAMPLE.COM";

/// A realm with a service and a client, and a folder with their files; or none where there are no
/// programs.
fn realm() -> Option<(Realm, Folder)> {
    if !kdc::is_there() {
        return None;
    }
    let realm = Realm::start("");
    let (service, alice) = (realm.keytab(SERVICE, ""), realm.keytab(ALICE, ""));
    let folder = Folder::new();
    let security = "security = { mechanism = \"sign-encrypt\", suite = \"Basic256GCM\" }\n";
    let of_service = format!(
        "kerberos = {{ keytab = \"{}\", principal = \"{SERVICE}\" }}\n{security}",
        service.display()
    );
    let of_client = format!(
        "kerberos = {{ keytab = \"{}\", principal = \"{ALICE}\", service = \"{SERVICE}\", timeout = \"10s\" }}\n{security}",
        alice.display()
    );
    folder.write("service.toml", of_service);
    folder.write("client.toml", of_client);
    folder.write("plain.xml", envelope(SOAP11));
    Some((realm, folder))
}

/// The program in the folder, in the realm.
fn command(realm: &Realm, folder: &Folder, words: &str) -> Command {
    let mut command = folder.command_with(&words.split(' ').collect::<Vec<_>>());
    command.envs(realm.environment());
    command
}

#[test]
fn the_command_line_secures_and_opens_with_a_token() {
    let Some((realm, folder)) = realm() else {
        return;
    };
    let secure = "secure --config client.toml plain.xml -o request.xml";
    let secured = command(&realm, &folder, secure).output().expect("it runs");
    assert!(secured.status.success(), "{secured:?}");
    let open = "open --config service.toml --json request.xml";
    let opened = command(&realm, &folder, open).output().expect("it runs");
    assert!(opened.status.success(), "{opened:?}");
    let said = [opened.stdout, opened.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains(ALICE), "{said}");
    // The library has seen the authenticator.
    let again = command(&realm, &folder, open).output().expect("it runs");
    assert_eq!(again.status.code(), Some(2), "{again:?}");
    let said = [again.stdout, again.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("replayed"), "{said}");
}

/// A file of a gateway that secures for itself: `/out` leads to `/in`, and that to the backend.
fn gateway_file(folder: &Folder) -> u16 {
    let port = free_port();
    gateway_file_with(folder, port, &format!("127.0.0.1:{port}"));
    port
}

/// The same for this port, where `/out` leads to `/in` by way of `out`.
fn gateway_file_with(folder: &Folder, port: u16, out: &str) {
    let backend = backend();
    let tables = |name: &str, side: &str| {
        let file = folder.read(name);
        let mut lines = file.lines();
        let (kerberos, security) = (lines.next(), lines.next());
        let (kerberos, security) = (kerberos.expect("a line"), security.expect("a line"));
        format!("[routes.{side}]\n{kerberos}\n{security}\n")
    };
    folder.write(
        "gateway.toml",
        format!(
            "listen = \"127.0.0.1:{port}\"\n\
             [[routes]]\npath = \"/in\"\nbackend = \"http://{backend}/echo\"\n{}\
             [[routes]]\npath = \"/out\"\nbackend = \"http://{out}/in\"\n{}\
             [[routes]]\npath = \"/plain\"\nbackend = \"http://{backend}/echo\"\n",
            tables("service.toml", "inbound"),
            tables("client.toml", "outbound"),
        ),
    );
}

fn call(port: u16, route: &str) -> String {
    let message = envelope(SOAP11);
    post(&format!("http://127.0.0.1:{port}/{route}"), &message)
}

fn start(realm: &Realm, folder: &Folder) -> Server {
    let mut start = command(realm, folder, "gateway --config gateway.toml");
    Server::start_command(start.stderr(Stdio::null()), "gateway at")
}

#[test]
fn requests_and_answers_pass_through_gateways_on_both_sides() {
    let Some((mut realm, folder)) = realm() else {
        return;
    };
    let port = gateway_file(&folder);
    let _gateway = start(&realm, &folder);
    for _ in 0..2 {
        let answer = call(port, "out");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.contains("urn:books"), "{answer}");
    }
    let plain = call(port, "in");
    assert!(!plain.starts_with("HTTP/1.1 200"), "{plain}");
    // With a ticket that is there, nobody asks the KDC.
    realm.stop_kdc();
    let answer = call(port, "out");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn a_kdc_that_hangs_holds_no_other_route_and_is_asked_again_when_it_is_back() {
    let Some((mut realm, folder)) = realm() else {
        return;
    };
    let port = gateway_file(&folder);
    let hangs = realm.hang_kdc();
    let _gateway = start(&realm, &folder);
    let answered = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let waiting: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(|| {
                    let answer = call(port, "out");
                    answered.fetch_add(1, Ordering::SeqCst);
                    answer
                })
            })
            .collect();
        for _ in 0..4 {
            let answer = call(port, "plain");
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        }
        assert_eq!(answered.load(Ordering::SeqCst), 0, "they wait for the KDC");
        for answer in waiting {
            let answer = answer.join().expect("no panic");
            assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
            assert!(
                !answer.contains("KDC"),
                "the client is told nothing: {answer}"
            );
        }
    });
    drop(hangs);
    realm.start_kdc();
    // The library may still wait for the answer of the one that hung.
    let back = (0..600).any(|_| call(port, "out").starts_with("HTTP/1.1 200"));
    assert!(back, "the KDC is back");
}

/// What is in front of a port: it loses the first request, and hands all others on. Its address.
fn loses_the_first_request(port: u16) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        let mut is_first = true;
        for near in listener.incoming() {
            let mut near = near.expect("a connection");
            let mut head = [0; 1];
            // A gateway that only looks whether somebody listens sends nothing.
            if !near.read(&mut head).is_ok_and(|read| read == 1) || std::mem::take(&mut is_first) {
                continue;
            }
            let mut far = TcpStream::connect(("127.0.0.1", port)).expect("the gateway listens");
            far.write_all(&head).expect("the gateway reads");
            let mut backwards = (
                far.try_clone().expect("a socket"),
                near.try_clone().expect("a socket"),
            );
            std::thread::spawn(move || std::io::copy(&mut backwards.0, &mut backwards.1));
            std::thread::spawn(move || std::io::copy(&mut near, &mut far));
        }
    });
    address
}

/// Kerberos Token Profile 1.1, 3.4: a later message names a token that the service has accepted.
#[test]
fn a_lost_first_request_leaves_no_session_behind_that_the_backend_does_not_know() {
    let Some((realm, folder)) = realm() else {
        return;
    };
    for name in ["service.toml", "client.toml"] {
        let once = folder
            .read(name)
            .replacen(" }", ", include = \"once\" }", 1);
        folder.write(name, once);
    }
    let port = free_port();
    let out = loses_the_first_request(port);
    gateway_file_with(&folder, port, &out.to_string());
    let _gateway = start(&realm, &folder);
    let lost = call(port, "out");
    assert!(lost.starts_with("HTTP/1.1 502"), "{lost}");
    for _ in 0..2 {
        let answer = call(port, "out");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

/// Callers of `/out`: more than questions to KDCs and stores are asked at once, for all routes.
const CALLERS: usize = 512;

/// Most of them that wait for the KDC, for one route.
const MOST_WAITING: usize = 48;

/// A call whose gateway may end meanwhile: whether it was answered that somebody is busy.
fn is_told_to_come_back(port: u16) -> bool {
    let message = envelope(SOAP11);
    let mut answer = String::new();
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else {
        return false;
    };
    let head = format!(
        "POST /out HTTP/1.1\r\nHost: a\r\nContent-Type: text/xml\r\nSOAPAction: \"\"\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n",
        message.len()
    );
    let sent = stream.write_all(&[head.as_bytes(), message.as_bytes()].concat());
    let read = sent.and_then(|()| stream.read_to_string(&mut answer));
    read.is_ok() && answer.starts_with("HTTP/1.1 503")
}

#[test]
fn a_kdc_that_hangs_takes_no_turn_of_the_stores_of_other_routes() {
    let Some((mut realm, folder)) = realm() else {
        return;
    };
    // Longer than the test looks for refusals.
    let client = folder.read("client.toml").replace("10s", "10m");
    folder.write("client.toml", client);
    let port = gateway_file(&folder);
    let endpoint = |replay: &str| {
        let key = "5a".repeat(32);
        format!(
            "shared_key = {{ hex = \"{key}\" }}\nsecurity = {{ mechanism = \"sign\", \
             suite = \"Basic256GCM\", key_reference = \"key-name\"{replay} }}\n"
        )
    };
    let file = format!(
        ", replay = {{ store = \"file\", path = \"{}\" }}",
        folder.path("replay.marks").display()
    );
    let routes = format!(
        "[[routes]]\npath = \"/filed\"\nbackend = \"http://127.0.0.1:{port}/plain\"\n\
         [routes.inbound]\n{}\
         [[routes]]\npath = \"/signed\"\nbackend = \"http://127.0.0.1:{port}/filed\"\n\
         [routes.outbound]\n{}",
        endpoint(&file),
        endpoint(""),
    );
    folder.write("gateway.toml", folder.read("gateway.toml") + &routes);
    let _hangs = realm.hang_kdc();
    let gateway = start(&realm, &folder);
    let filed = call(port, "signed");
    assert!(filed.starts_with("HTTP/1.1 200"), "{filed}");
    let refused = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..CALLERS {
            scope.spawn(|| {
                if is_told_to_come_back(port) {
                    refused.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        let others = CALLERS - MOST_WAITING;
        let are_refused = (0..1200).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            refused.load(Ordering::SeqCst) >= others
        });
        assert!(are_refused, "{refused:?}");
        for _ in 0..4 {
            let filed = call(port, "signed");
            assert!(filed.starts_with("HTTP/1.1 200"), "{filed}");
        }
        let refused = refused.load(Ordering::SeqCst);
        assert!(refused < CALLERS, "the others wait for the KDC");
        drop(gateway);
    });
}
