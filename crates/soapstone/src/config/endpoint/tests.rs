//! Endpoint files as they are read, and what is told of their mistakes.

use std::time::Duration;

use super::*;
use soapstone_testkit::Folder as Temporary;
use soapstone_wss::{Extent, KeyReference, Mechanism, Part};

use crate::config::{IdentitySource, ReplayStoreConfig};

/// A folder with the files that endpoint files name.
struct Folder(Temporary);

impl Folder {
    fn new() -> Self {
        let folder = Temporary::new();
        for file in [
            "client.key.pem",
            "client.cert.pem",
            "server.pem",
            "ca.pem",
            "ca.crl.pem",
        ] {
            folder.write(file, file);
        }
        Self(folder)
    }

    fn read(&self, text: &str) -> Result<EndpointConfig, Problems> {
        EndpointConfig::from_text(text, &self.0.path("endpoint.toml"), &|name| {
            (name == "ALICE_PASSWORD").then(|| "secret".to_owned())
        })
    }

    fn problems(&self, text: &str) -> String {
        let problems = self.read(text).expect_err("the text is wrong");
        let folder = self.0.root().display().to_string();
        let problems = self.0.relative(&problems.to_string());
        problems.replace(&folder, "FOLDER")
    }
}

#[test]
fn a_file_with_every_key_is_read_with_the_files_it_names() {
    let folder = Folder::new();
    let endpoint = folder
        .read(
            r##"
[identity]
key = "client.key.pem"
certificate = "client.cert.pem"
[peer]
certificate = "server.pem"
[trust]
anchors = ["ca.pem"]
pinned = ["server.pem"]
subjects = ["CN=client"]
subject_match = "contains"
extended_key_usage = ["clientAuth"]
crls = ["ca.crl.pem"]
min_rsa_bits = 2048
[[users]]
name = "alice"
password_env = "ALICE_PASSWORD"
[security]
mechanism = "sign-encrypt"
suite = "Basic256Sha256"
signed = ["Body", "Timestamp", "{http://www.w3.org/2005/08/addressing}To", "#Order-1"]
encrypted = ["Body", "element:#Order-1", "{urn:x}Secret"]
key_reference = "issuer-serial"
timestamp = { ttl = "5m", skew = "60s" }
replay = { store = "file", path = "marks" }
allow_weak_until = { rsa-sha1 = "2027-01-01" }
time = "2026-11-20T12:00:00Z"
[limits]
depth = 200
attributes = 256
message = "8MiB"
references = 64
"##,
        )
        .expect("the file is right");
    let identity = endpoint.identity.expect("there is one");
    let IdentitySource::KeyAndCertificate { key, certificate } = identity.source else {
        panic!("not a keystore")
    };
    assert_eq!(key.bytes.expose(), b"client.key.pem");
    assert_eq!(certificate.bytes.expose(), b"client.cert.pem");
    assert_eq!(
        endpoint.users[0]
            .password
            .as_ref()
            .expect("a password")
            .value
            .expose(),
        "secret"
    );
    assert_eq!(endpoint.limits.message.expect("it is given").value, 8 << 20);
    let security = endpoint.security;
    assert_eq!(security.mechanism(), Some(Mechanism::SignEncrypt));
    assert_eq!(
        security.key_reference.expect("it is given").value,
        KeyReference::IssuerSerial
    );
    let signed: Vec<Part> = security
        .signed
        .expect("given")
        .into_iter()
        .map(|part| part.value)
        .collect();
    let to = Part::Header {
        namespace: "http://www.w3.org/2005/08/addressing".into(),
        local: "To".into(),
    };
    assert_eq!(
        signed,
        [Part::Body, Part::Timestamp, to, Part::Id("Order-1".into())]
    );
    let scopes: Vec<_> = security
        .encrypted
        .expect("given")
        .into_iter()
        .map(|part| part.value.extent)
        .collect();
    assert_eq!(scopes, [Extent::Content, Extent::Element, Extent::Element]);
    assert_eq!(
        security.timestamp.expect("given").value.skew,
        Some(Duration::from_secs(60))
    );
    let ReplayStoreConfig::File { path } = security.replay.expect("given").store else {
        panic!("not a file")
    };
    assert!(path.ends_with("marks") && path.is_absolute());
    assert_eq!(
        security.allow_weak_until[0].until.value.to_string(),
        "2027-01-01T00:00:00Z"
    );
}

#[test]
fn all_problems_are_reported_at_once_with_place_and_hint() {
    let folder = Folder::new();
    let problems = folder.problems(
        r#"[identity]
key = "cleint.key.pem"
[trust]
anchor = ["ca.pem"]
[[users]]
name = "bob"
password_env = "BOB_PASSWORD"
[security]
mechanism = "sign-encript"
sute = "Basic256"
signed = ["Body", "Boddy"]
timestamp = { ttl = "5 minutes" }
[limits]
depth = 0
"#,
    );
    let expected = r#"endpoint.toml:1:1: `certificate` is missing in [identity]
    hint: name a PEM file with the certificate, or a keystore = "….p12"
endpoint.toml:2:7: `key` names a file that cannot be read: No such file or directory (os error 2)
    hint: relative paths start at the folder FOLDER
endpoint.toml:3:1: `anchors` is missing in [trust]
    hint: say whom to trust: anchors = ["ca.pem"], or pinned = ["partner.pem"]
endpoint.toml:4:1: unknown key `anchor` in [trust]
    hint: did you mean `anchors`?
endpoint.toml:7:16: the environment variable that `password_env` names is not set
    hint: set it, or use `password` or `password_file`
endpoint.toml:9:13: `mechanism` must be one of none, username, sign, encrypt, sign-encrypt, encrypt-sign, secure-conversation, found "sign-encript"
    hint: did you mean "sign-encrypt"?
endpoint.toml:10:1: unknown key `sute` in [security]
    hint: did you mean `suite`?
endpoint.toml:11:19: `signed` must name parts of the envelope, found "Boddy"
    hint: a part is Body, Timestamp, Signature, UsernameToken, Assertion, Token, {namespace}header or #id
endpoint.toml:12:21: `ttl` must be a duration such as "500ms", "60s", "5m" or "1h30m", found "5 minutes"
endpoint.toml:14:9: `depth` must be a whole number from 1 to 65535, found a smaller number"#;
    assert_eq!(problems, expected);
}

#[test]
fn a_syntax_error_is_reported_with_its_place_and_without_its_consequences() {
    let folder = Folder::new();
    assert_eq!(
        folder.problems("[security\nmechanism = \"none\"\n"),
        "endpoint.toml:1:10: not valid TOML: unclosed table, expected `]`"
    );
}

#[test]
fn lists_of_nobody_are_not_trust() {
    let folder = Folder::new();
    let expected = "endpoint.toml:1:1: `anchors` and `pinned` name nobody\n    \
             hint: say whom to trust: anchors = [\"ca.pem\"], or pinned = [\"partner.pem\"]";
    for nobody in ["anchors = []", "anchors = []\npinned = []", "pinned = []"] {
        let text = format!("[trust]\n{nobody}\n[security]\nmechanism = \"sign\"\n");
        assert_eq!(folder.problems(&text), expected);
    }
}

#[test]
fn a_gateways_file_in_the_place_of_an_endpoints_is_recognised() {
    let folder = Folder::new();
    let problems =
        folder.problems("listen = \"127.0.0.1:0\"\nsecurity = { mechanism = \"none\" }\n");
    assert_eq!(
        problems,
        "endpoint.toml:1:1: unknown key `listen`\n    \
             hint: this is a key of a gateway's file: `soapstone gateway --config FILE` runs one"
    );
}

#[test]
fn an_empty_file_lacks_its_security_table() {
    let folder = Folder::new();
    assert_eq!(
        folder.problems(""),
        "endpoint.toml:1:1: `security` is missing\n    \
             hint: say what is done to messages: security = { mechanism = \"sign-encrypt\", … }"
    );
}

#[test]
fn a_list_of_subjects_that_names_nobody_does_not_mean_everybody() {
    let folder = Folder::new();
    let problems = folder.problems(
        "trust = { anchors = [\"ca.pem\"], subjects = [] }\nsecurity = { mechanism = \"sign\" }\n",
    );
    let expected = "endpoint.toml:1:9: `subjects` names nobody\n    hint: leave it out where whoever is trusted may sign";
    assert_eq!(problems, expected);
}

#[test]
fn a_signature_over_nothing_is_not_agreed_on() {
    let folder = Folder::new();
    let problems = folder.problems("security = { mechanism = \"sign\", signed = [] }\n");
    let expected = "endpoint.toml:1:43: `signed` names no part: a signature would prove nothing of a message\n    \
                        hint: leave it out for Body and Timestamp, or take a mechanism that signs nothing";
    assert_eq!(problems, expected);
}

/// `clients = []` would accept everybody, and the other two nobody.
#[test]
fn lists_of_kerberos_that_name_nothing_are_reported() {
    let problems = Folder::new().problems(
        "security = { mechanism = \"sign\" }\nkerberos = { clients = [], enctypes = [], realms = [] }\n",
    );
    let expected = "endpoint.toml:2:24: `clients` is a list of nothing\n    hint: leave it out for everybody of `realms`\n\
                        endpoint.toml:2:39: `enctypes` is a list of nothing\n    hint: leave it out for those with AES\n\
                        endpoint.toml:2:52: `realms` is a list of nothing\n    hint: leave it out for the realm of `principal`";
    assert_eq!(problems, expected);
}

#[test]
fn a_user_whom_everybody_could_be_or_who_is_there_twice_is_reported() {
    let folder = Folder::new();
    folder.0.write("empty", "\nopen sesame\n");
    let problems = folder.problems(
            "users = [\n{ name = \"alice\", password = \"\" },\n{ name = \"bob\", password_file = \"empty\" },\n\
             { name = \"bob\", password = \"hunter2\" }]\nsecurity = { mechanism = \"username\" }\n",
        );
    let expected = "endpoint.toml:2:30: the password of a user is empty\n    hint: say which it is, or leave the user out\n\
                        endpoint.toml:3:33: the password of a user is empty\n    hint: say which it is, or leave the user out\n\
                        endpoint.toml:4:10: the user bob is there twice\n    hint: keep one of them";
    assert_eq!(problems, expected);
}

#[test]
fn secrets_are_not_shown_by_debug() {
    let folder = Folder::new();
    let endpoint = folder
            .read("[[users]]\nname = \"alice\"\npassword = \"hunter2\"\n[security]\nmechanism = \"username\"\n")
            .expect("the file is right");
    assert!(!format!("{endpoint:?}").contains("hunter2"));
}

#[test]
fn a_shared_key_may_be_hexadecimal() {
    let folder = Folder::new();
    let text =
        "shared_key = { name = \"k\", hex = \"00ff10\" }\nsecurity = { mechanism = \"sign\" }\n";
    let endpoint = folder.read(text).expect("the file is right");
    assert_eq!(
        endpoint.shared_key.expect("given").key.expose(),
        &[0x00, 0xff, 0x10]
    );
}
