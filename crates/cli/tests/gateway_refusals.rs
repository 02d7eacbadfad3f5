//! What a gateway refuses: each with its own reason in the log, a coarse fault to the peer, and the
//! backend not reached.
#![cfg(unix)]

#[path = "common/attacks.rs"]
mod attacks;
mod common;
#[path = "common/endpoints.rs"]
mod endpoints;
#[path = "common/server.rs"]
mod server;

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use attacks::{Place, doubled_id, doubled_timestamp, element, moved_body, tamper};
use common::{Folder, SOAP11, envelope, key, keys};
use endpoints::Endpoint;
use serde_json::Value;
use server::{Server, post_octets};
use soapstone::crypto::{PrivateKey, SignatureAlgorithm, base64};

/// A gateway with a route for each mechanism, its log, and a backend that counts who reaches it.
struct Guarded {
    folder: Folder,
    gateway: Server,
    reached: Arc<AtomicU32>,
    sent: u32,
}

/// Largest message that the gateway takes, bytes.
const LIMIT: usize = 64 << 10;

impl Guarded {
    fn start() -> Self {
        let folder = Folder::new();
        let reached = Arc::new(AtomicU32::new(0));
        let backend = backend(Arc::clone(&reached));
        let mut file = "listen = \"127.0.0.1:0\"\n[log]\nformat = \"json\"\n".to_owned();
        for mechanism in ["username", "sign", "encrypt", "sign-encrypt"] {
            // The tables of an endpoint file, within the route.
            let tables = Endpoint::server(mechanism, "").text();
            let tables = tables.replace("\n[", "\n[routes.inbound.");
            let tables = tables.replace("[routes.inbound.[", "[[routes.inbound.");
            file.push_str(&format!(
                "[[routes]]\npath = \"/{mechanism}\"\nbackend = \"http://{}/\"\n[routes.inbound]\nlimits = {{ message = \"64KiB\" }}\n\
                 [routes.inbound.{}",
                backend,
                tables.trim_start_matches('[')
            ));
        }
        folder.write("gateway.toml", file);
        let log = File::create(folder.path("log")).expect("a file for the log");
        let mut command = folder.command();
        command
            .args(["gateway", "--config", "gateway.toml"])
            .stderr(log);
        let gateway = Server::start_command(&mut command, "gateway at");
        Self {
            folder,
            gateway,
            reached,
            sent: 0,
        }
    }

    /// A message of this client, as the program secures it.
    fn secured(&self, client: &Endpoint) -> String {
        self.secured_from(client, &envelope(SOAP11))
    }

    fn secured_from(&self, client: &Endpoint, plain: &str) -> String {
        client.write(&self.folder, "client.toml");
        self.folder.write("plain.xml", plain);
        self.folder
            .run("secure --config client.toml plain.xml -o secured.xml")
            .succeeds();
        self.folder.read("secured.xml")
    }

    fn send(&self, mechanism: &str, id: &str, message: &[u8]) -> String {
        let (_, address) = self
            .gateway
            .said
            .split_once("gateway at ")
            .expect("it listens");
        let address = address.split_whitespace().next().unwrap_or_default();
        let url = format!("http://{address}/{mechanism}");
        post_octets(&url, &format!("X-Request-ID: {id}\r\n"), message)
    }

    /// Why the log says that a request was refused.
    fn reason(&self, id: &str) -> String {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(20) {
            let log = self.folder.read("log");
            let lines = log
                .lines()
                .filter_map(|line| serde_json::from_str(line).ok());
            let mut refusals = lines.filter(|line: &Value| line["request"] == id);
            if let Some(refusal) = refusals.next() {
                return refusal["reason"].as_str().unwrap_or_default().to_owned();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("{id} is not in the log:\n{}", self.folder.read("log"));
    }

    /// Posts a message that must be refused for this reason with this fault.
    #[track_caller]
    fn refuses(&mut self, mechanism: &str, message: impl AsRef<[u8]>, reason: &str, fault: &str) {
        self.sent += 1;
        let id = format!("request-{}", self.sent);
        let response = self.send(mechanism, &id, message.as_ref());
        let found = self.reason(&id);
        assert_eq!(found, reason, "{response}");
        let code = format!("{fault}</faultcode>");
        assert!(
            response.contains(&code),
            "{reason}: expected {fault}: {response}"
        );
        assert!(
            !response.contains(reason),
            "the peer is told too much: {response}"
        );
        let reached = self.reached.load(Ordering::SeqCst);
        assert_eq!(reached, 0, "{reason}: the backend was reached");
    }
}

/// Takes every request and has nothing to say to it; its address.
fn backend(reached: Arc<AtomicU32>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            reached.fetch_add(1, Ordering::SeqCst);
            let mut read = Vec::new();
            let mut octets = [0; 4096];
            while !read.ends_with(b"Envelope>") {
                match stream.read(&mut octets) {
                    Ok(0) | Err(_) => break,
                    Ok(count) => read.extend_from_slice(&octets[..count]),
                }
            }
            let accepted =
                "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            stream
                .write_all(accepted.as_bytes())
                .expect("the gateway reads");
        }
    });
    address
}

fn client(mechanism: &'static str) -> Endpoint {
    Endpoint::client(mechanism, "")
}

/// The same message with another `URI` in its first reference, signed anew by the client: nothing
/// is wrong but what it refers to.
fn referring_to(message: &str, uri: &str) -> String {
    let signature = element(message, "ds:Signature");
    let info = element(signature, "ds:SignedInfo");
    let (before, rest) = info.split_once("URI=\"").expect("a reference");
    let (_, after) = rest.split_once('"').expect("it ends");
    let changed = format!("{before}URI=\"{uri}\"{after}");
    let canonical = changed.replacen(
        "<ds:SignedInfo",
        "<ds:SignedInfo xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\"",
        1,
    );
    let pem = std::fs::read(key("client.key.pem")).expect("the client's key");
    let value = PrivateKey::from_pem(&pem, None)
        .expect("a key")
        .sign(SignatureAlgorithm::RsaSha256, canonical.as_bytes())
        .expect("a signature");
    let old = element(signature, "ds:SignatureValue");
    let new = format!(
        "<ds:SignatureValue>{}</ds:SignatureValue>",
        base64::encode(&value)
    );
    message.replacen(info, &changed, 1).replacen(old, &new, 1)
}

#[test]
fn what_was_altered_moved_or_doubled_is_refused() {
    let mut guarded = Guarded::start();
    let signed = guarded.secured(&client("sign"));
    guarded.refuses(
        "sign",
        signed.replace("<b:price>100<", "<b:price>001<"),
        "digest-mismatch",
        "wsse:FailedCheck",
    );
    guarded.refuses(
        "sign",
        tamper(&signed, "SignatureValue>", "</ds:SignatureValue>"),
        "signature-mismatch",
        "wsse:FailedCheck",
    );
    let encrypted = guarded.secured(&client("encrypt"));
    guarded.refuses(
        "encrypt",
        tamper(&encrypted, "CipherValue>", "</xenc:CipherValue>"),
        "decryption-failed",
        "wsse:FailedCheck",
    );
    // A message is known once its signature verified, whatever it is refused for then: each of
    // these is a message of its own.
    for place in [Place::Header, Place::Body, Place::Signature] {
        let moved = moved_body(&guarded.secured(&client("sign")), place);
        guarded.refuses("sign", &moved, "unsigned", "wsse:InvalidSecurity");
        guarded.refuses("sign", &moved, "replayed", "wsse:FailedAuthentication");
    }
    guarded.refuses(
        "sign",
        moved_body(&signed, Place::Security),
        "element-unexpected",
        "wsse:InvalidSecurity",
    );
    guarded.refuses(
        "sign",
        moved_body(&signed, Place::Envelope),
        "not-an-envelope",
        "soap:Client",
    );
    guarded.refuses("sign", doubled_id(&signed), "duplicate-id", "soap:Client");
    let timestamp_alone = Endpoint::client("sign", "signed = [\"Timestamp\"]");
    let unsigned = guarded.secured(&timestamp_alone);
    guarded.refuses("sign", unsigned, "unsigned", "wsse:InvalidSecurity");
}

#[test]
fn strangers_expired_certificates_other_suites_and_wrong_passwords_are_refused() {
    let mut guarded = Guarded::start();
    let mut stranger = client("sign");
    stranger.own = "stranger";
    let message = guarded.secured(&stranger);
    guarded.refuses("sign", message, "untrusted", "wsse:InvalidSecurityToken");

    let former = "keys new former --days 1 --not-before 2020-01-01T00:00:00Z --signed-by";
    let authority = keys().join("ca");
    guarded
        .folder
        .run(&format!("{former} {}", authority.display()))
        .succeeds();
    let mine = |name: &str| guarded.folder.path(name).display().to_string();
    let text = client("sign")
        .text()
        .replace(&key("client.key.pem"), &mine("former.key.pem"))
        .replace(&key("client.cert.pem"), &mine("former.cert.pem"));
    guarded.folder.write("former.toml", text);
    guarded.folder.write("plain.xml", envelope(SOAP11));
    guarded
        .folder
        .run("secure --config former.toml plain.xml -o former.xml")
        .succeeds();
    let message = guarded.folder.read("former.xml");
    guarded.refuses(
        "sign",
        message,
        "certificate-expired",
        "wsse:InvalidSecurityToken",
    );

    let other = Endpoint::client("sign-encrypt", "suite = \"Basic256\"");
    let message = guarded.secured(&other);
    guarded.refuses(
        "sign-encrypt",
        message,
        "algorithm-not-allowed",
        "wsse:UnsupportedAlgorithm",
    );

    let mut wrong = client("username");
    wrong.password = "PATH";
    let message = guarded.secured(&wrong);
    guarded.refuses(
        "username",
        message,
        "authentication-failed",
        "wsse:FailedAuthentication",
    );
}

#[test]
fn messages_of_another_time_and_messages_of_before_are_refused() {
    let mut guarded = Guarded::start();
    let at = |time: &str| Endpoint::client("sign", &format!("time = \"{time}\""));
    let none = Endpoint::client("sign", "timestamp = false\nsigned = [\"Body\"]");
    let invalid = "wsse:InvalidSecurity";
    let message = guarded.secured(&none);
    guarded.refuses("sign", message, "timestamp-missing", invalid);
    let message = guarded.secured(&client("sign"));
    guarded.refuses(
        "sign",
        doubled_timestamp(&message),
        "timestamp-duplicated",
        invalid,
    );
    let now = jiff::Timestamp::now();
    for (minutes, reason) in [(-60, "timestamp-expired"), (60, "timestamp-in-future")] {
        let then = now + jiff::SignedDuration::from_mins(minutes);
        let message = guarded.secured(&at(&then.to_string()));
        guarded.refuses("sign", message, reason, "wsu:MessageExpired");
    }

    // What is accepted once is not accepted again, nor is its nonce with another body.
    let messages = [
        ("sign", guarded.secured(&client("sign"))),
        ("username", guarded.secured(&client("username"))),
    ];
    for (mechanism, message) in messages {
        let response = guarded.send(mechanism, "first", message.as_bytes());
        assert!(response.starts_with("HTTP/1.1 202"), "{response}");
        assert_eq!(guarded.reached.swap(0, Ordering::SeqCst), 1);
        let fault = "wsse:FailedAuthentication";
        guarded.refuses(mechanism, &message, "replayed", fault);
        if mechanism == "username" {
            let other = message.replace("<b:price>100<", "<b:price>001<");
            guarded.refuses(mechanism, other, "replayed", fault);
        }
    }
}

#[test]
fn what_no_parser_should_read_or_follow_is_refused() {
    let mut guarded = Guarded::start();
    let signed = guarded.secured(&client("sign"));
    let dtd = format!("<!DOCTYPE a [<!ENTITY b \"c\">]>{signed}");
    guarded.refuses("sign", dtd, "dtd", "soap:Client");
    let deep = "<a>".repeat(300) + &"</a>".repeat(300) + "</soap:Body>";
    let deep = signed.replace("</soap:Body>", &deep);
    guarded.refuses("sign", deep, "too-deep", "soap:Client");
    let large = signed.replace("<b:price>100<", &format!("<b:price>{}<", "1".repeat(LIMIT)));
    guarded.refuses("sign", large, "too-large", "soap:Client");
    // Half a character: 0xc3 begins two bytes.
    let broken: Vec<u8> = signed.bytes().filter(|octet| *octet != 0xa9).collect();
    guarded.refuses("sign", broken, "malformed-encoding", "soap:Client");

    // That nothing else is wrong with what refers elsewhere: with its own URI it is as good as
    // before.
    let reference = element(&signed, "ds:Reference");
    let own = reference.split("URI=\"").nth(1).expect("a URI");
    let own = own.split('"').next().expect("it ends");
    guarded
        .folder
        .write("again.xml", referring_to(&signed, own));
    Endpoint::server("sign", "").write(&guarded.folder, "server.toml");
    guarded
        .folder
        .run("open --config server.toml again.xml")
        .succeeds();
    for uri in [
        "http://127.0.0.1:1/x",
        "file:///etc/passwd",
        "cid:part",
        "body.xml#x",
    ] {
        let elsewhere = referring_to(&guarded.secured(&client("sign")), uri);
        guarded.refuses("sign", elsewhere, "external-reference", "wsse:FailedCheck");
    }
    let transform = "Transform Algorithm=\"http://www.w3.org/TR/1999/REC-xslt-19991116\"";
    let xslt = signed.replacen(
        "Transform Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"",
        transform,
        1,
    );
    guarded.refuses(
        "sign",
        xslt,
        "transform-not-allowed",
        "wsse:UnsupportedAlgorithm",
    );
}
