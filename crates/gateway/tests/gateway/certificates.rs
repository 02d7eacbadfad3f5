//! What operators are told of certificates and revocation lists whose time is not now.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use soapstone::crypto::issue::{self, Template, Validity};
use soapstone::crypto::{Identity, KeyKind};
use soapstone_testkit::{keys, moment};

use crate::support::{Folder, Said};

const FIRST: &str = "2024-01-01T00:00:00Z";
const LAST: &str = "2024-06-01T00:00:00Z";

/// Writes the certificate of a time, and its key.
fn write_identity(folder: &Folder, name: &str, not_before: Timestamp, not_after: Timestamp) {
    let validity = Validity {
        not_before,
        not_after,
    };
    let template = Template::new(&format!("CN={name}"), validity).expect("a name");
    let issuer = keys::authority(keys::AUTHORITY);
    let key = keys::key_of(name, keys::RSA);
    let certificate = issue::issued(&issuer, key.public_key(), &template).expect("a certificate");
    let identity = Identity::new(key, certificate, Vec::new()).expect("its key");
    folder.write_identity(name, &identity);
}

const FILE: &str = r#"LISTEN
tls = { certificate = "old.cert.pem", key = "old.key.pem" }
[[routes]]
name = "books"
path = "/books"
backend = "https://127.0.0.1:9/"
tls = { ca = ["server.cert.pem"], certificate = "old.cert.pem", key = "old.key.pem" }
[routes.inbound]
identity = { key = "old.key.pem", certificate = "old.cert.pem", decryption = [{ key = "early.key.pem", certificate = "early.cert.pem" }, { key = "server.key.pem", certificate = "server.cert.pem" }] }
peer = { certificate = "old.cert.pem" }
trust = { anchors = ["server.cert.pem", "old.cert.pem"], pinned = ["old.cert.pem"] }
security = { mechanism = "sign-encrypt" }
"#;

#[tokio::test]
async fn certificates_that_have_expired_or_are_not_valid_yet_are_told_of_with_their_use() {
    let folder = Folder::with_keys();
    write_identity(&folder, "old", moment(FIRST), moment(LAST));
    let now = Timestamp::now();
    let later = |hours| {
        now.checked_add(SignedDuration::from_hours(hours))
            .expect("a moment")
    };
    write_identity(&folder, "early", later(24), later(24 * 365));
    write_identity(&folder, "server", moment(FIRST), later(24 * 365));
    let config = folder.config(FILE);
    let told: Vec<String> = config
        .validity_warnings(now)
        .iter()
        .map(|warning| {
            warning
                .to_string()
                .replace(&format!("{}/", folder.root().display()), "")
        })
        .collect();
    let old = format!("`old.cert.pem` of `CN=old` expired at {LAST}");
    let from: Timestamp = format!("{:.0}", later(24)).parse().expect("a moment");
    let expected = [
        format!("tls: {old}"),
        format!(
            "route books, inbound identity.decryption: `early.cert.pem` of `CN=early` is valid only from {from}"
        ),
        format!("route books, inbound identity: {old}"),
        format!("route books, inbound peer: {old}"),
        format!("route books, inbound trust.anchors: {old}"),
        format!("route books, inbound trust.pinned: {old}"),
        format!("route books, outbound tls: {old}"),
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn the_first_certificate_of_its_use_to_expire_is_a_number_to_watch() {
    let folder = Folder::with_keys();
    write_identity(&folder, "old", moment(FIRST), moment(LAST));
    let end = moment("2100-01-01T00:00:00Z");
    write_identity(&folder, "early", moment(FIRST), end);
    write_identity(
        &folder,
        "server",
        moment(FIRST),
        moment("2099-01-01T00:00:00Z"),
    );
    let plain = FILE.replace("tls = { certificate", "# tls = { certificate");
    let gateway = folder.gateway(&plain).await;
    let expires = |text: &str| {
        let lines = text
            .lines()
            .filter(|line| line.starts_with("soapstone_certificate_expires_seconds{"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let metrics = gateway.metrics();
    let last = moment(LAST).as_second();
    let labelled = |direction: &str, usage: &str, second: i64| {
        format!(
            "soapstone_certificate_expires_seconds{{route=\"books\",direction=\"{direction}\",use=\"{usage}\"}} {second}"
        )
    };
    let expected = [
        labelled("inbound", "identity", last),
        labelled(
            "inbound",
            "identity.decryption",
            moment("2099-01-01T00:00:00Z").as_second(),
        ),
        labelled("inbound", "peer", last),
        labelled("inbound", "trust.anchors", last),
        labelled("inbound", "trust.pinned", last),
        labelled("outbound", "tls", last),
    ];
    assert_eq!(expires(&metrics), expected);
    gateway.reload(folder.config(&plain.replace(
        "peer = { certificate = \"old.cert.pem\" }",
        "peer = { certificate = \"early.cert.pem\" }",
    )));
    let metrics = gateway.metrics();
    assert!(
        expires(&metrics).contains(&labelled("inbound", "peer", end.as_second())),
        "{metrics}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_gateway_that_runs_says_once_a_day_what_is_out_of_date() {
    let folder = Folder::with_keys();
    let validity = Validity {
        not_before: moment(FIRST),
        not_after: moment(LAST),
    };
    let authority = issue::authority("CN=Test CA", KeyKind::Ed25519, validity).expect("a key");
    folder.write("ca.cert.pem", authority.certificate().to_pem());
    let list = issue::revocation_list(&authority, [], validity).expect("a list");
    folder.write("ca.crl", list);
    let (said, _log) = Said::listen();
    let gateway = folder
        .gateway(
            r#"LISTEN
[[routes]]
name = "books"
path = "/books"
backend = "http://127.0.0.1:9/"
[routes.inbound]
identity = { key = "server.key.pem", certificate = "server.cert.pem" }
trust = { anchors = ["ca.cert.pem"], crls = ["ca.crl"] }
security = { mechanism = "sign" }
"#,
        )
        .await;
    let list = format!(
        "the revocation list of `CN=Test CA`, is out of date since {LAST}: every certificate of that issuer is refused"
    );
    let use_of = "route=\"books\" direction=\"inbound\" use=\"trust.crls\"";
    assert_eq!((said.times(&list), said.times(use_of)), (1, 1));
    tokio::time::sleep(Duration::from_hours(24) - Duration::from_secs(60)).await;
    assert_eq!(said.times(&list), 1);
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!((said.times(&list), said.times(use_of)), (2, 2));
    let metrics = gateway.metrics();
    let expires = format!(
        "soapstone_certificate_expires_seconds{{route=\"books\",direction=\"inbound\",use=\"trust.crls\"}} {}",
        moment(LAST).as_second()
    );
    assert!(metrics.contains(&expires), "{metrics}");
}
