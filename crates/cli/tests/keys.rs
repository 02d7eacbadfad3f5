//! `soapstone keys`: made, listed and converted, and read by others.

mod common;

use common::{Folder, key};

fn list(folder: &Folder, words: &str) -> Vec<serde_json::Value> {
    let listed = folder
        .run(&format!("keys list --json {words}"))
        .succeeds()
        .json();
    listed.as_array().expect("a list").clone()
}

#[test]
fn an_authority_signs_and_others_are_signed_by_it() {
    let folder = Folder::new();
    let authority = &list(&folder, &key("ca.cert.pem"))[0];
    assert_eq!(authority["subject"], "CN=CA,O=Tests");
    assert_eq!(authority["issuer"], authority["subject"]);
    assert_eq!(authority["authority"], true);
    let client = &list(&folder, &key("client.cert.pem"))[0];
    assert_eq!(client["kind"], "certificate");
    assert_eq!(client["subject"], "CN=client");
    assert_eq!(client["issuer"], "CN=CA,O=Tests");
    assert_eq!(client["authority"], false);
    assert_eq!(client["key"], "RSA");
    assert_eq!(client["bits"], 2048);
    assert_eq!(client["thumbprint_sha1"].as_str().unwrap().len(), 40);
    let private = &list(&folder, &key("client.key.pem"))[0];
    assert_eq!(private["kind"], "private-key");
    assert_eq!(private["bits"], 2048);
}

#[test]
fn every_kind_of_key_can_be_made() {
    let folder = Folder::new();
    for (kind, name, bits) in [
        ("rsa-2048", "RSA", 2048),
        ("rsa-3072", "RSA", 3072),
        ("ec-p256", "EC P-256", 256),
        ("ec-p384", "EC P-384", 384),
        ("ec-p521", "EC P-521", 521),
        ("ec-brainpool-p256", "EC brainpoolP256r1", 256),
        ("ec-brainpool-p384", "EC brainpoolP384r1", 384),
        ("ec-brainpool-p512", "EC brainpoolP512r1", 512),
        ("ed25519", "Ed25519", 255),
    ] {
        folder
            .run(&format!("keys new {kind} --kind {kind}"))
            .succeeds();
        let made = &list(&folder, &format!("{kind}.cert.pem"))[0];
        assert_eq!(made["key"], name);
        assert_eq!(made["bits"], bits);
        assert_eq!(made["subject"], format!("CN={kind}"));
    }
}

#[test]
fn what_was_written_is_said_with_what_is_in_it() {
    let folder = Folder::new();
    folder.write("password", "opens it\n");
    for (words, expected) in [
        (
            "a --kind ec-p256",
            "wrote a.key.pem (private key, not encrypted: keep it secret)\nwrote a.cert.pem (certificate of CN=a)\n",
        ),
        (
            "b --kind ec-p256 --pkcs12 --password-file password",
            "wrote b.key.pem (private key, encrypted)\nwrote b.cert.pem (certificate of CN=b)\nwrote b.p12 (both, as PKCS#12)\n",
        ),
        (
            "c --symmetric 32",
            "wrote c.key.bin (symmetric key of 32 bytes: keep it secret)\n",
        ),
    ] {
        let made = folder.run(&format!("keys new {words}")).succeeds();
        assert_eq!(made.text(), expected);
    }
}

#[test]
fn a_key_that_cannot_sign_gets_its_certificate_from_an_authority() {
    let folder = Folder::new();
    folder
        .run("keys new reader --kind x25519")
        .fails("let an authority sign it: --signed-by NAME");
    assert!(!folder.exists("reader.key.pem"));
    folder
        .run("keys new ca --ca --kind ed25519 --subject CN=Example")
        .succeeds();
    folder
        .run("keys new reader --kind x25519 --signed-by ca")
        .succeeds();
    let made = &list(&folder, "reader.cert.pem")[0];
    assert_eq!(made["key"], "X25519");
    assert_eq!(made["issuer"], "CN=Example");
}

#[test]
fn subject_names_and_validity_are_as_asked_for() {
    let folder = Folder::new();
    let words = [
        "keys",
        "new",
        "web",
        "--subject",
        "CN=books.example,O=Books\\, Ltd,C=CZ",
        "--san",
        "DNS:books.example",
        "--san",
        "IP:127.0.0.1",
        "--days",
        "30",
    ];
    folder.run_words(&words, b"").succeeds();
    let made = &list(&folder, "web.cert.pem")[0];
    assert_eq!(made["subject"], "CN=books.example,O=Books\\, Ltd,C=CZ");
    let days = |field: &str| {
        made[field]
            .as_str()
            .unwrap()
            .parse::<jiff::Timestamp>()
            .unwrap()
    };
    let life = days("not_after").duration_since(days("not_before"));
    assert!((29..=31).contains(&(life.as_hours() / 24)), "{life}");
    folder
        .run("keys new bad --subject Peter")
        .fails("the subject: ");
    folder
        .run("keys new bad --san IP:books")
        .fails("expected a host name");
    assert!(!folder.exists("bad.key.pem"));
}

#[cfg(unix)]
#[test]
fn private_keys_are_readable_by_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    folder.run("keys new a --kind ec-p256").succeeds();
    folder.run("keys new b --symmetric 16").succeeds();
    for name in ["a.key.pem", "b.key.bin"] {
        assert_eq!(
            std::fs::metadata(folder.path(name))
                .unwrap()
                .permissions()
                .mode()
                & 0o777,
            0o600,
            "{name}"
        );
    }
    assert_eq!(std::fs::read(folder.path("b.key.bin")).unwrap().len(), 16);
}

#[test]
fn nothing_is_overwritten_unless_forced() {
    let folder = Folder::new();
    folder.run("keys new a --kind ec-p256").succeeds();
    let first = folder.read("a.key.pem");
    folder
        .run("keys new a --kind ec-p256")
        .fails("a.key.pem: exists already");
    std::fs::remove_file(folder.path("a.key.pem")).unwrap();
    folder
        .run("keys new a --kind ec-p256")
        .fails("a.cert.pem: exists already");
    assert!(!folder.exists("a.key.pem"), "all files are made, or none");
    folder.run("keys new a --kind ec-p256 --force").succeeds();
    assert_ne!(folder.read("a.key.pem"), first);
}

#[test]
fn keys_travel_from_pem_to_pkcs12_and_back() {
    let folder = Folder::new();
    folder.write("password", "open sesame\n");
    let (private, certificate, ca) = (
        key("client.key.pem"),
        key("client.cert.pem"),
        key("ca.cert.pem"),
    );
    let to = format!(
        "keys convert {private} {certificate} {ca} --to client.p12 --new-password-file password --alias client"
    );
    folder.run(&to).succeeds();
    let listed = list(&folder, "client.p12 --password-file password");
    assert_eq!(listed[0]["alias"], "client");
    assert!(
        listed.iter().any(|entry| entry["kind"] == "private-key"),
        "{listed:?}"
    );
    assert!(
        listed.iter().any(|entry| entry["subject"] == "CN=client"),
        "{listed:?}"
    );
    folder.write("wrong", "close sesame\n");
    folder
        .run("keys list client.p12 --password-file wrong")
        .fails("password does not open");
    folder
        .run("keys list client.p12 --password-env NO_SUCH_VARIABLE")
        .fails("NO_SUCH_VARIABLE, which is not set");
    folder
        .run("keys convert client.p12 --password-file password --to copy")
        .succeeds();
    assert_eq!(
        list(&folder, "copy.key.pem")[0]["ski"],
        list(&folder, &private)[0]["ski"]
    );
    assert_eq!(
        list(&folder, "copy.cert.pem")[0]["thumbprint_sha256"],
        list(&folder, &certificate)[0]["thumbprint_sha256"]
    );
}

#[test]
fn openssl_reads_what_is_made_and_its_files_are_read() {
    let folder = Folder::new();
    let openssl = |words: &str| {
        let run = std::process::Command::new("openssl")
            .args(words.split(' '))
            .current_dir(folder.path(""))
            .output();
        run.expect("openssl is installed: building needs it")
    };
    let verified = openssl(&format!(
        "verify -CAfile {} {}",
        key("ca.cert.pem"),
        key("client.cert.pem")
    ));
    assert!(verified.status.success(), "{verified:?}");
    let checked = openssl(&format!("pkey -in {} -noout -check", key("client.key.pem")));
    assert!(checked.status.success(), "{checked:?}");
    let exported = openssl(&format!(
        "pkcs12 -export -inkey {} -in {} -name theirs -passout pass:secret -out theirs.p12",
        key("client.key.pem"),
        key("client.cert.pem")
    ));
    assert!(exported.status.success(), "{exported:?}");
    folder.write("password", "secret");
    assert_eq!(
        list(&folder, "theirs.p12 --password-file password")[0]["alias"],
        "theirs"
    );
}

#[test]
fn a_private_key_with_a_password_is_encrypted_and_opened_with_it() {
    let folder = Folder::new();
    folder.write("password", "open sesame\n");
    folder
        .run("keys new safe --kind ec-p256 --ca --pkcs12 --password-file password")
        .succeeds();
    assert!(
        folder
            .read("safe.key.pem")
            .starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----")
    );
    assert_eq!(
        list(&folder, "safe.key.pem")[0]["kind"],
        "locked-private-key"
    );
    assert_eq!(
        list(&folder, "safe.p12 --password-file password")[0]["alias"],
        "safe"
    );
    folder
        .run("keys list safe.p12")
        .fails("give the password with --password-env");
    folder
        .run("keys new leaf --kind ec-p256 --signed-by safe")
        .fails("safe.key.pem: the key is encrypted");
    folder
        .run("keys new leaf --kind ec-p256 --signed-by safe --password-file password")
        .succeeds();
    folder
        .run("keys new unsafe --pkcs12")
        .fails("--password-env");
    folder
        .run("keys convert safe.p12 --password-file password --to again.p12")
        .succeeds();
    assert_eq!(
        list(&folder, "again.p12 --password-file password")[0]["alias"],
        "safe"
    );
}

#[test]
fn only_an_authority_signs_others() {
    let folder = Folder::new();
    let client = key("client.key.pem").replace(".key.pem", "");
    folder
        .run(&format!("keys new leaf --signed-by {client}"))
        .fails("expected the certificate of an authority");
}

#[test]
fn the_table_for_people_names_what_is_in_a_file() {
    let folder = Folder::new();
    let table = folder
        .run(&format!("keys list {}", key("client.cert.pem")))
        .succeeds();
    for word in ["certificate", "CN=client", "CN=CA,O=Tests", "RSA", "2048"] {
        assert!(
            table.text().contains(word),
            "{word} is not in\n{}",
            table.text()
        );
    }
    folder.write("nothing.pem", "no keys here");
    folder
        .run("keys list nothing.pem")
        .fails("nothing.pem: expected");
}

#[test]
fn what_is_no_key_and_no_certificate_is_called_that() {
    let folder = Folder::new();
    folder.write("shared.key.bin", [7; 32]);
    folder.run("keys list shared.key.bin").fails(
        "shared.key.bin: expected a key or a certificate in PEM, DER, PKCS#12 or JKS, found none",
    );
}

#[test]
fn a_key_with_a_password_of_its_own_is_listed_and_converted() {
    let folder = Folder::new();
    folder.write("store-password", "storepass\n");
    folder.write("key-password", "keypass\n");
    for (name, bytes) in [
        (
            "own.jks",
            &include_bytes!("../../soapstone/tests/keystores/key-with-password-of-its-own.jks")[..],
        ),
        (
            "own.p12",
            include_bytes!("../../soapstone/tests/keystores/key-with-password-of-its-own.p12"),
        ),
    ] {
        folder.write(name, bytes);
        let store = format!("{name} --password-file store-password");
        assert_eq!(list(&folder, &store)[0]["kind"], "locked-private-key");
        let both = format!("{store} --key-password-file key-password");
        assert_eq!(list(&folder, &both)[0]["kind"], "private-key");
        folder
            .run(&format!("keys convert {store} --to without"))
            .fails("the private key is encrypted and no password that opens it was given");
        folder
            .run(&format!("keys convert {both} --to {name}.made.p12"))
            .succeeds();
        let made = format!("{name}.made.p12 --password-file store-password");
        assert_eq!(list(&folder, &made)[0]["kind"], "private-key");
        folder
            .run(&format!("keys convert {both} --to pair --force"))
            .succeeds();
        assert_eq!(list(&folder, "pair.key.pem")[0]["kind"], "private-key");
    }
}

#[test]
fn a_key_is_not_written_as_jks() {
    let folder = Folder::new();
    folder
        .run(&format!(
            "keys convert {} {} --to client.jks",
            key("client.key.pem"),
            key("client.cert.pem")
        ))
        .fails("client.jks: JKS is read only: expected NAME.p12, NAME.pem or NAME");
}

#[test]
fn a_subject_has_a_name_and_a_validity_a_moment() {
    let folder = Folder::new();
    folder
        .run_words(&["keys", "new", "nobody", "--subject", ""], b"")
        .fails("a value is required for '--subject <NAME>'");
    folder
        .run("keys new late --not-before tomorrow")
        .fails("expected a moment such as 2026-11-20T12:00:00Z");
}

#[test]
fn an_authority_that_is_named_by_its_file_is_told_how_to_be_named() {
    let folder = Folder::new();
    folder.run("keys new ca --ca").succeeds();
    for file in ["ca.cert.pem", "ca.key.pem"] {
        folder
            .run(&format!("keys new client --signed-by {file}"))
            .fails("hint: an authority is named without the ending of its files: --signed-by ca\n");
    }
}

#[test]
fn what_expires_is_warned_of_as_many_days_before_as_asked_for() {
    let folder = Folder::new();
    folder
        .run("keys new long --kind ec-p256 --days 400")
        .succeeds();
    folder
        .run("keys new short --kind ec-p256 --days 20")
        .succeeds();
    let check = |words: &str| folder.run(&format!("keys check {words}"));
    let told = check("long.cert.pem").succeeds();
    assert_eq!(
        told.text(),
        "1 certificates and 0 lists: nothing to warn of\n"
    );
    check("long.cert.pem short.cert.pem --days 19").succeeds();
    let told = check("long.cert.pem short.cert.pem --json").fails("1 warning");
    let found = told.json();
    assert_eq!(found[0]["name"], "expires");
    assert_eq!(found[0]["subject"], "CN=short");
    assert_eq!(found.as_array().expect("a list").len(), 1);
    check("long.cert.pem short.cert.pem --days 500").fails("2 warnings");
}

#[test]
fn a_revoked_certificate_is_warned_of_if_the_issuer_has_signed_the_list() {
    let folder = Folder::new();
    folder
        .run("keys new ca --ca --kind ec-p256 --days 400")
        .succeeds();
    folder
        .run("keys new other --ca --kind ec-p256 --days 400 --subject CN=ca")
        .succeeds();
    for name in ["good", "bad"] {
        let words = format!("keys new {name} --kind ec-p256 --signed-by ca --days 400");
        folder.run(&words).succeeds();
    }
    let identity = |name: &str| {
        let read = |what: &str| std::fs::read(folder.path(&format!("{name}.{what}.pem"))).unwrap();
        soapstone::crypto::Identity::from_file_contents(&read("key"), &read("cert"), None).unwrap()
    };
    let revoked = identity("bad");
    let list = |issuer: &str, days: i64| {
        let now = jiff::Timestamp::now();
        let then = |days| {
            now.checked_add(jiff::SignedDuration::from_hours(24 * days))
                .unwrap()
        };
        let validity = soapstone::crypto::issue::Validity {
            not_before: then(days - 7),
            not_after: then(days),
        };
        let revoked = [revoked.certificate()];
        soapstone::crypto::issue::revocation_list(&identity(issuer), revoked, validity).unwrap()
    };
    let check = |words: &str| folder.run(&format!("keys check --json {words}"));
    let names = |told: serde_json::Value| -> Vec<String> {
        let found = told.as_array().expect("a list").iter();
        found
            .map(|it| {
                format!(
                    "{} {}",
                    it["name"].as_str().unwrap(),
                    it["subject"].as_str().unwrap()
                )
            })
            .collect()
    };
    std::fs::write(folder.path("ca.crl"), list("ca", 7)).unwrap();
    let all = "ca.cert.pem good.cert.pem bad.cert.pem --crl ca.crl";
    assert_eq!(
        names(check(all).fails("1 warning").json()),
        ["revoked CN=bad"]
    );
    std::fs::write(folder.path("ca.crl"), list("ca", -1)).unwrap();
    let found = names(check(all).fails("2 warnings").json());
    assert_eq!(found, ["list-out-of-date CN=ca", "revoked CN=bad"]);
    std::fs::write(folder.path("ca.crl"), list("other", 7)).unwrap();
    let found = names(check(all).fails("1 warning").json());
    assert_eq!(found, ["list-unverified CN=ca"]);
    let found = names(
        check("good.cert.pem --crl ca.crl")
            .fails("1 warning")
            .json(),
    );
    assert_eq!(found, ["list-unverified CN=ca"], "the issuer is not there");
}
