//! What a changed file does to a registry that runs, by `SIGHUP`.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use soapstone_testkit::keys;

use super::*;

/// The policy of a conversation that begins under TLS, and whose messages have their Body signed.
const POLICY: &str = include_str!(
    "../../../../interop/recorded/cxf/secure-conversation-transport-bootstrap-renew/service.wsdl"
);
const NO_CERTIFICATE: &str = "<sp:HttpsToken><wsp:Policy/></sp:HttpsToken>";
const CERTIFICATE: &str =
    "<sp:HttpsToken><wsp:Policy><sp:RequireClientCertificate/></wsp:Policy></sp:HttpsToken>";
const TLS: &str = "[tls]\ncertificate = \"registry.cert.pem\"\nkey = \"registry.key.pem\"\n";
const CLIENTS: &str = "client_ca = [\"ca.cert.pem\"]\n";

/// A registry in a process of its own, which ends with the value.
struct Process {
    child: Child,
    log: Receiver<String>,
}

impl Process {
    /// Starts it, and waits until it serves: the process, and where.
    fn start(folder: &Folder) -> (Self, SocketAddr) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_soapstone-registry"))
            .args(["registry", "serve", "--config"])
            .arg(folder.path("registry.toml"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let mut said = String::new();
        let stdout = child.stdout.take().expect("standard output");
        let (told, log) = channel();
        let stderr = BufReader::new(child.stderr.take().expect("standard error"));
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let _ = told.send(line);
            }
        });
        BufReader::new(stdout).read_line(&mut said).expect("text");
        let rest = said.strip_prefix("registry at ").unwrap_or_else(|| {
            let log: Vec<String> = log.iter().collect();
            panic!("{said}{log:?}")
        });
        let address = rest.split(' ').next().expect("an address");
        let address = address.parse().expect("an address");
        (Self { child, log }, address)
    }

    fn hang_up(&self) {
        let id = self.child.id().to_string();
        let told = Command::new("kill").args(["-HUP", &id]).status();
        assert!(told.is_ok_and(|told| told.success()));
    }

    /// Lines of the log up to the one that has these words.
    fn log_up_to(&self, words: &str) -> String {
        let mut log = String::new();
        loop {
            let line = self.log.recv_timeout(Duration::from_secs(20));
            let line = line.unwrap_or_else(|_| panic!("no {words}: {log}"));
            log.push_str(&line);
            log.push('\n');
            if line.contains(words) {
                return log;
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn by_policy() -> String {
    SERVER.replace(
        "security = { mechanism = \"sign\", suite = \"Basic256GCMEcdhEs\" }",
        "security = { policy = \"policy.wsdl\" }",
    )
}

const PLAIN: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

fn rsa() -> Folder {
    let folder = Folder::with_keys(keys::RSA, &["registry", "p1"]);
    folder.write("policy.wsdl", POLICY);
    folder
}

#[test]
fn no_reload_takes_tls_away_from_a_policy_that_leaves_protection_to_it() {
    let folder = rsa();
    folder.write("registry.toml", by_policy() + TLS);
    let (process, address) = Process::start(&folder);
    // A file in which nothing is wrong: its own policy needs no TLS.
    let other = SERVER.replace(", suite = \"Basic256GCMEcdhEs\"", "");
    folder.write("registry.toml", other);
    process.hang_up();
    let log = process.log_up_to("what these keys say now waits for a restart keys=\"inbound\"");
    assert!(log.contains("`tls` waits for a restart"), "{log}");
    let (status, body) = exchange(address, PLAIN);
    let body = String::from_utf8_lossy(&body);
    assert!(
        status == 400 && body.starts_with("this port speaks TLS"),
        "{status} {body}"
    );
}

#[test]
fn no_reload_takes_certificates_of_clients_away_from_a_policy_that_wants_them() {
    let folder = rsa();
    let wanting = POLICY.replace(NO_CERTIFICATE, CERTIFICATE);
    assert_ne!(wanting, POLICY);
    folder.write("policy.wsdl", wanting);
    folder.write("registry.toml", by_policy() + TLS + CLIENTS);
    let (process, _) = Process::start(&folder);
    let other = SERVER.replace(", suite = \"Basic256GCMEcdhEs\"", "");
    folder.write("registry.toml", other + TLS);
    process.hang_up();
    process.log_up_to("`tls` waits for a restart");
}

#[test]
fn a_policy_that_wants_certificates_of_clients_needs_tls_that_demands_them() {
    let folder = rsa();
    let said = |text: String| match config(&folder, &text) {
        Ok(_) => String::new(),
        Err(problems) => problems.to_string(),
    };
    let without = "the policy leaves protection to TLS, and there is no [tls]";
    assert!(said(by_policy()).contains(without), "{}", said(by_policy()));
    assert_eq!(said(by_policy() + TLS), "");
    let wanting = POLICY.replace(NO_CERTIFICATE, CERTIFICATE);
    assert_ne!(wanting, POLICY);
    folder.write("policy.wsdl", wanting);
    let expected = "the policy wants clients to show a certificate, and [tls] demands none";
    let optional = format!("{CLIENTS}client_auth = \"optional\"\n");
    for tls in [TLS.to_owned(), TLS.to_owned() + &optional] {
        let said = said(by_policy() + &tls);
        assert!(said.contains(expected), "{said}");
    }
    assert_eq!(said(by_policy() + TLS + CLIENTS), "");
}

#[test]
fn keys_that_wait_for_a_restart_are_named() {
    let folder = folder();
    folder.write("registry.toml", SERVER);
    let (process, _) = Process::start(&folder);
    let changed = format!("# Another line.\n{SERVER}[limits]\nentries = 7\n");
    let changed = changed.replace("cluster = \"test\"", "cluster = \"other\"");
    folder.write("registry.toml", changed);
    process.hang_up();
    process.log_up_to("what these keys say now waits for a restart keys=\"limits, ganglia\"");
    // What is as it was is not named any more, and a key that the endpoint names is as its table.
    folder.write("registry.toml", SERVER);
    let key = std::fs::read(folder.path("p1.key.pem")).expect("a key");
    let certificate = std::fs::read(folder.path("p1.cert.pem")).expect("a certificate");
    folder.write("registry.key.pem", key);
    folder.write("registry.cert.pem", certificate);
    process.hang_up();
    process.log_up_to("what these keys say now waits for a restart keys=\"inbound\"");
}

/// Nobody follows the files yet.
#[tokio::test]
async fn a_signal_right_after_the_start_does_not_end_the_process() {
    let folder = folder();
    let running = registry(&folder).await;
    let id = std::process::id().to_string();
    let told = Command::new("kill").args(["-HUP", &id]).status();
    assert!(told.is_ok_and(|told| told.success()));
    tokio::time::sleep(Duration::from_millis(200)).await;
    running.shutdown().await;
}
