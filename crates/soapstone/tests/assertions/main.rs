//! Assertions by endpoint files: what a file accepts, what it sends, and what is wrong with one.

mod encrypted;
mod holders;
mod mistakes;
mod passed_on;
mod policies;
mod recorded;

#[path = "../support/endpoints.rs"]
mod endpoints;

use std::path::{Path, PathBuf};

use endpoints::compile;
use soapstone::crypto::base64;
use soapstone::endpoint::{Endpoint, Fixed};
use soapstone::wss::ConfirmationMethod;
use soapstone::{Arrived, Client, ForgetfulReplayCache, Memory, Service};
use soapstone_testkit::assertion::Assertion;
use soapstone_testkit::{Folder, envelope, keys};

/// The folder of recorded messages, and of the certificates for them.
fn messages() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/assertions")
}

/// What is accepted of the issuer of all messages.
fn accepting(confirmation: &str, mechanism: &str, more: &str) -> String {
    format!(
        "[saml]\naudience = [\"https://service.example\"]\nconfirmation = [\"{confirmation}\"]\n{more}\n\
         issuers = [{{ name = \"https://idp.example\", pinned = [\"server.cert.pem\"] }}]\n\
         [security]\nmechanism = \"{mechanism}\"\ntime = \"2026-11-25T16:01:00Z\"\n"
    )
}

const CLIENT: &str = "[saml]\nconfirmation = [\"holder-of-key\"]\nassertion = \"alice.saml.xml\"\n\
     [identity]\nkey = \"alice.key.pem\"\ncertificate = \"alice.cert.pem\"\n\
     [peer]\ncertificate = \"service.cert.pem\"\n[trust]\npinned = [\"service.cert.pem\"]\n";

const SERVICE: &str = "[saml]\naudience = [\"https://service.example\"]\nconfirmation = [\"holder-of-key\"]\n\
     issuers = [{ name = \"https://idp.example\", pinned = [\"idp.cert.pem\"] }]\n\
     [identity]\nkey = \"service.key.pem\"\ncertificate = \"service.cert.pem\"\n";

const PROVING_CLIENT: &str = "[saml]\nconfirmation = [\"holder-of-key\"]\nassertion = \"alice.saml.xml\"\n\
     proof_key_file = \"alice.key.txt\"\nholder_key = \"symmetric\"\n";

/// A bearer's assertion of SAML 2.0 for the service.
const BEARERS: Assertion<'_> = Assertion {
    is_20: true,
    method: "bearer",
    holder: None,
    audience: Some("https://service.example"),
    attributes: &[],
};

/// A folder with the keys of a service and of its client Alice, and her assertion.
fn of_alice() -> Folder {
    let folder = Folder::with_keys(keys::RSA, &["service", "alice"]);
    let idp = keys::identity("CN=idp", keys::RSA);
    folder.write_identity("idp", &idp);
    let alice = keys::identity("CN=alice", keys::RSA);
    let assertion = Assertion {
        method: "holder-of-key",
        holder: Some(alice.certificate()),
        attributes: &[("role", "reader")],
        ..BEARERS
    };
    folder.write("alice.saml.xml", assertion.about("alice", &idp));
    folder
}

/// A folder with the keys of a service, and Alice's assertion with a symmetric key for it.
fn of_alices_secret() -> Folder {
    let folder = Folder::with_keys(keys::RSA, &["service"]);
    let idp = keys::identity("CN=idp", keys::RSA);
    folder.write_identity("idp", &idp);
    let service = keys::identity("CN=service", keys::RSA);
    let assertion = Assertion {
        method: "holder-of-key",
        ..BEARERS
    };
    let secret = [7; 32];
    let assertion = assertion.proving("alice", &idp, service.certificate(), &secret);
    folder.write("alice.saml.xml", assertion);
    folder.write("alice.key.txt", base64::encode(&secret) + "\n");
    folder
}

/// The endpoint of a file with this text in the folder.
#[track_caller]
fn endpoint<P: Fixed>(folder: &Folder, text: &str) -> Endpoint<P> {
    compile(folder, text).unwrap_or_else(|it| panic!("{it}"))
}

/// A memory that keeps nothing.
fn memory() -> Memory<'static> {
    Memory::without_conversations(&ForgetfulReplayCache)
}

/// A message of the application.
fn plain() -> Vec<u8> {
    envelope::with_body("<a/>").into_bytes()
}

/// A request of the client and the answer of the service, whose texts these are.
fn exchange(folder: &Folder, security: &str) {
    exchange_with(folder, CLIENT, SERVICE, security);
}

/// As [`exchange`], with other texts; returns the request.
fn exchange_with(folder: &Folder, client: &str, service: &str, security: &str) -> String {
    let client: Client = endpoint(folder, &format!("{client}{security}"));
    let service: Service = endpoint(folder, &format!("{service}{security}"));
    let secured = client.secure(plain()).unwrap();
    let request = String::from_utf8(secured.bytes.clone()).unwrap();
    let Arrived::Message(opened) = service.receive(secured.bytes, memory()).unwrap() else {
        panic!("a message");
    };
    let found = opened.evidence.assertion.as_ref().expect("an assertion");
    assert_eq!(found.assertion.subject.value, "alice");
    assert_eq!(found.confirmed, Some(ConfirmationMethod::HolderOfKey));
    let answer = service.answer(plain(), &opened.receipt).unwrap();
    assert!(!String::from_utf8_lossy(&answer.bytes).contains("saml:Assertion"));
    client
        .open(answer.bytes, secured.receipt, memory())
        .unwrap_or_else(|it| panic!("{it}"));
    request
}
