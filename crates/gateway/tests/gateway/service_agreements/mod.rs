//! Agreements between clients and providers as a gateway enforces them: who is let in, what is
//! measured, and what the records say.

mod classes;
mod clients;
mod files;
mod load;
mod providers;
mod together;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use http::StatusCode;
use serde_json::Value;
use soapstone::crypto::{Certificate, TrustRules, TrustStore};
use soapstone_gateway::{Running, VerifiedRecord, verify_records};
use soapstone_testkit::keys::{self, RSA};

use crate::secured;
use crate::support::{Backend, ENVELOPE, Folder, post, send, to_admin};

const GOLD: &str = "service = \"/echo\"\nclass = \"gold\"\nuntil = 2999-01-01\nwindow = { calls = 10 }\n\
    [client]\nsubject = \"CN=client\"\nrate = \"1/h\"\nburst = 3\noperations = [\"{urn:echo}echo\"]\nlargest = \"1KiB\"\n\
    penalty = \"1 EUR\"\n";

/// A folder with the keys of three clients' and servers' sides, and this agreement.
fn folder(agreement: &str) -> Folder {
    let folder = Folder::with_keys();
    for name in ["mallory", "gateway"] {
        folder.write_identity(name, &keys::identity(&format!("CN={name}"), RSA));
    }
    folder.write("gold.toml", agreement);
    folder
}

/// Writes `other.cert.pem`, of an authority with subjects of its own.
fn another_authority(folder: &Folder) {
    let other = keys::authority("CN=other");
    folder.write("other.cert.pem", other.certificates_to_pem());
}

const AGREEMENTS: &str = "admin = \"127.0.0.1:0\"\n[agreements]\nfiles = [\"gold.toml\"]\nrecords = \"violations.xml\"\n\
    identity = { key = \"gateway.key.pem\", certificate = \"gateway.cert.pem\" }\n";

/// A gateway's file with a route to these backends.
fn file(backends: &str, more: &str) -> String {
    format!(
        "LISTEN\n{AGREEMENTS}[[routes]]\npath = \"/echo\"\nbackends = [{backends}]\n[routes.inbound]\n{}{more}",
        secured::service("sign")
    )
}

fn backend(name: &str, backend: &Backend) -> String {
    format!(
        "{{ name = \"{name}\", url = \"http://{}/echo\" }}, ",
        backend.address
    )
}

/// The status of the answer to a message that this client signed.
async fn call(folder: &Folder, gateway: &Running, client: &str) -> StatusCode {
    called(folder, gateway, client, ENVELOPE).await.0
}

async fn called(
    folder: &Folder,
    gateway: &Running,
    client: &str,
    envelope: &str,
) -> (StatusCode, Option<String>) {
    let tables = secured::client("sign").replace("client.", &format!("{client}."));
    let message = folder.secured(&tables, envelope);
    let answer = send(gateway.address(), post("/echo", message)).await;
    let wait = answer.headers.get("retry-after");
    let wait = wait.map(|wait| wait.to_str().expect("text").to_owned());
    (answer.status, wait)
}

async fn calls(folder: &Folder, gateway: &Running, client: &str, count: usize) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..count {
        statuses.push(call(folder, gateway, client).await.as_u16());
    }
    statuses
}

/// What the gateway tells of its agreement.
async fn told(gateway: &Running) -> Value {
    let admin = gateway.admin_address().expect("it has one");
    let answer = send(admin, to_admin("/agreements")).await;
    let told: Value = serde_json::from_str(&answer.body).expect("JSON");
    told["agreements"][0].clone()
}

fn certificate(folder: &Folder, name: &str) -> Certificate {
    let file = folder.path(format!("{name}.cert.pem"));
    let contents = std::fs::read(file).expect("it is there");
    Certificate::from_pem(&contents).expect("a certificate")
}

/// The records of a gateway that has ended.
async fn records(folder: &Folder, gateway: Running) -> Vec<VerifiedRecord> {
    gateway.shutdown().await;
    let mut rules = TrustRules::default();
    rules.pinned = vec![certificate(folder, "gateway")];
    let trust = TrustStore::new(rules).expect("a certificate");
    let bytes = std::fs::read(folder.path("violations.xml")).expect("it is there");
    let (records, _) = verify_records(&bytes, trust).expect("they verify");
    records
}

/// How many calls violated each obligation.
fn violating(records: &[VerifiedRecord]) -> BTreeMap<&str, u64> {
    let mut counts = BTreeMap::new();
    for record in records {
        let part = |name| record.part(name).expect("each has it");
        let count: u64 = part("Violating").parse().expect("a number");
        *counts.entry(part("Obligation")).or_insert(0) += count;
    }
    counts
}

const PROVIDER: &str = "service = \"/echo\"\nuntil = 2999-01-01\nwindow = { calls = 2 }\n[client]\nsubject = \"CN=client\"\n";

/// A backend with an endpoint in front of it that demands signatures.
fn signing(name: &str, backend: SocketAddr) -> String {
    let tables = secured::client("sign").replace("client.", "gateway.");
    let tables: String = tables.trim_end().replace('\n', ", ");
    format!("{{ name = \"{name}\", url = \"http://{backend}/echo\", outbound = {{ {tables} }} }}, ")
}

/// A service, and the gateway in front of it that demands signatures and signs its answers.
async fn signing_provider(folder: &Folder) -> (Backend, Running) {
    let service = Backend::echo().await;
    let text = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.inbound]\n{}",
        service.address,
        secured::service("sign")
    );
    let gateway = folder.gateway(&text).await;
    (service, gateway)
}
