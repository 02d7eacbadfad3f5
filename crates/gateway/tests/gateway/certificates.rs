//! What operators are told of certificates and revocation lists whose time is not now.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use soapstone::crypto::KeyKind;
use soapstone::crypto::issue::{self, Template, Validity};

use crate::support::{Folder, Said};

const FIRST: &str = "2024-01-01T00:00:00Z";
const LAST: &str = "2024-06-01T00:00:00Z";

fn moment(text: &str) -> Timestamp {
    text.parse().expect("a moment")
}

/// Writes `NAME.pem` and `NAME.key.pem`.
fn write_identity(folder: &Folder, name: &str, not_before: Timestamp, not_after: Timestamp) {
    let validity = Validity {
        not_before,
        not_after,
    };
    let authority = issue::authority("CN=Test CA", KeyKind::Ed25519, validity).expect("a key");
    let template = Template::new(&format!("CN={name}"), validity).expect("a name");
    let rsa = KeyKind::Rsa { bits: 2048 };
    let identity = issue::identity(&authority, rsa, &template).expect("a certificate");
    let certificate = identity.certificate().to_pem();
    folder.write(&format!("{name}.pem"), certificate);
    let key = identity.key_to_pem(None).expect("a key");
    folder.write(&format!("{name}.key.pem"), key.expose());
}

const FILE: &str = r#"LISTEN
tls = { certificate = "old.pem", key = "old.key.pem" }
[[routes]]
name = "books"
path = "/books"
backend = "https://127.0.0.1:9/"
tls = { ca = ["server.pem"], certificate = "old.pem", key = "old.key.pem" }
[routes.inbound]
identity = { key = "old.key.pem", certificate = "old.pem", decryption = [{ key = "early.key.pem", certificate = "early.pem" }, { key = "server.key.pem", certificate = "server.pem" }] }
peer = { certificate = "old.pem" }
trust = { anchors = ["server.pem", "old.pem"], pinned = ["old.pem"] }
security = { mechanism = "sign-encrypt" }
"#;

#[tokio::test]
async fn certificates_that_have_expired_or_are_not_valid_yet_are_told_of_with_their_use() {
    let folder = Folder::with_keys("certificates");
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
                .replace(&format!("{}/", folder.0.display()), "")
        })
        .collect();
    let old = format!("`old.pem` of `CN=old` expired at {LAST}");
    let from: Timestamp = format!("{:.0}", later(24)).parse().expect("a moment");
    let expected = [
        format!("tls: {old}"),
        format!(
            "route books, inbound identity.decryption: `early.pem` of `CN=early` is valid only from {from}"
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
    let folder = Folder::with_keys("certificate-metrics");
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
        "peer = { certificate = \"old.pem\" }",
        "peer = { certificate = \"early.pem\" }",
    )));
    let metrics = gateway.metrics();
    assert!(
        expires(&metrics).contains(&labelled("inbound", "peer", end.as_second())),
        "{metrics}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_gateway_that_runs_says_once_a_day_what_is_out_of_date() {
    let folder = Folder::with_keys("reminding");
    let validity = Validity {
        not_before: moment(FIRST),
        not_after: moment(LAST),
    };
    let authority = issue::authority("CN=Test CA", KeyKind::Ed25519, validity).expect("a key");
    folder.write("ca.pem", authority.certificate().to_pem());
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
identity = { key = "server.key.pem", certificate = "server.pem" }
trust = { anchors = ["ca.pem"], crls = ["ca.crl"] }
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
