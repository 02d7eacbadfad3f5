//! Files learned from the good messages of this project and of others.

mod outside;

use std::collections::BTreeMap;

use soapstone::Securer;
use soapstone::config::EndpointConfig;
use soapstone::crypto::Certificate;
use soapstone_learn::{KeyTables, difference, learn};
use soapstone_testkit::{Case, Folder, keys};

fn keys_of(case: &Case) -> KeyTables {
    let endpoint = case.value["endpoint"].as_str().expect("an endpoint file");
    let file = case.folder.join(endpoint);
    let text = std::fs::read_to_string(&file).expect("an endpoint file");
    KeyTables::of(&file, &text)
}

fn good() -> impl Iterator<Item = Case> {
    let cases = soapstone_testkit::cases("endpoint-open").into_iter();
    cases.filter(|case| case.outcome() == "valid")
}

#[test]
fn the_file_that_was_learned_opens_the_message() {
    let mut refused = BTreeMap::new();
    let mut tried = 0;
    for case in good() {
        tried += 1;
        let learned = learn(&[case.input()], Some(&keys_of(&case)));
        match learned {
            Ok(learned) => {
                if let Some(why) = learned.refused {
                    refused.insert(case.id, why);
                }
            }
            Err(error) => {
                refused.insert(case.id, error.to_string());
            }
        }
    }
    assert!(tried > 100, "{tried}");
    assert!(
        refused.is_empty(),
        "{} of {tried}: {refused:#?}",
        refused.len()
    );
}

/// The tables of whoever sends to such a receiver, with other keys of the same kinds, and the
/// folder of the keys.
fn sender_of(case: &Case) -> (KeyTables, Folder) {
    let folder = Folder::new();
    let endpoint = case.value["endpoint"].as_str().expect("an endpoint file");
    let text = String::from_utf8(case.read(endpoint)).expect("text");
    let beside = case.folder.join("endpoints");
    let line = |key: &str| text.lines().find(|line| line.starts_with(key));
    let mut own = String::new();
    if let Some(identity) = line("identity") {
        let mut certificates = identity.split("certificate = \"").skip(1);
        let mut next = || {
            let path = certificates.next()?.split('"').next()?;
            Some(beside.join(path))
        };
        let signing = next().expect("a certificate");
        let encryption = next().unwrap_or_else(|| signing.clone());
        let certificate = std::fs::read(&signing).expect("a file");
        let certificate = Certificate::from_pem(&certificate).expect("a certificate");
        let kind = certificate.public_key().kind();
        folder.write_identity("sender", &keys::identity("CN=client", kind));
        own = format!(
            "identity = {{ key = 'sender.key.pem', certificate = 'sender.cert.pem' }}\npeer = {{ certificate = '{}' }}\n",
            encryption.display()
        );
    }
    if let Some(shared) = line("shared_key") {
        let absolute = format!("file = \"{}/", beside.display());
        own.push_str(&shared.replace("file = \"", &absolute));
        own.push('\n');
    }
    own.extend(line("users").map(|users| format!("{users}\n")));
    let place = folder.path("sender.toml");
    (KeyTables::of(&place, &own), folder)
}

#[test]
fn the_file_of_the_sender_makes_messages_of_the_same_form() {
    let mut different = BTreeMap::new();
    for case in good() {
        let sample = case.input();
        let Ok(learned) = learn(std::slice::from_ref(&sample), Some(&keys_of(&case))) else {
            panic!("{}", case.id);
        };
        let (tables, _folder) = sender_of(&case);
        let text = learned.sender(Some(&tables));
        let made = EndpointConfig::from_text(&text, tables.file(), &|_| None)
            .and_then(|config| Securer::from_config(&config))
            .map_err(|problems| problems.to_string())
            .and_then(|securer| {
                let plain = case.read(case.expected("plain").expect("the plain message"));
                securer.secure(plain).map_err(|error| error.to_string())
            });
        let told = match made {
            Ok(secured) => difference(&sample, &secured.bytes)
                .expect("envelopes")
                .join("; "),
            Err(problem) => problem,
        };
        if !told.is_empty() {
            different.insert(case.id, told);
        }
    }
    let few = different.iter().take(40).collect::<BTreeMap<_, _>>();
    assert!(different.is_empty(), "{}: {few:#?}", different.len());
}

/// Why nothing that opens a message was learned; empty where it was.
fn why_not(message: Vec<u8>, tables: &KeyTables) -> String {
    match learn(&[message], Some(tables)) {
        Ok(learned) => learned.refused.unwrap_or_default(),
        Err(error) => error.to_string(),
    }
}

/// Messages of WSS4J under every mechanism and suite.
#[test]
fn the_file_that_was_learned_opens_messages_of_another_stack() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../interop/recorded");
    let mut refused = BTreeMap::new();
    let mut tried = 0;
    for entry in std::fs::read_dir(folder).expect("the folder") {
        let file = entry.expect("an entry").path();
        let message = file.with_extension("xml");
        if file.extension().is_none_or(|it| it != "toml") || !message.exists() {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("text");
        let tables = KeyTables::of(&file, &text);
        let why = why_not(std::fs::read(&message).expect("a message"), &tables);
        tried += 1;
        if !why.is_empty() {
            refused.insert(message, why);
        }
    }
    assert!(tried > 50, "{tried}");
    assert!(refused.is_empty(), "{refused:#?}");
}

/// Messages from outside that no learned file opens, what is told of each, and the reason.
const NOT_LEARNED: &[(&str, &str, &str)] = &[
    (
        "cxf-wss/open/encrypted_body_content_signed",
        "an endpoint file without a policy cannot say",
        "a session key of the message signs: that takes a policy with sp:SymmetricBinding",
    ),
    (
        "cxf-wss/open/encrypted_body_content_signed_with_encrypted_header",
        "two elements carry the id",
        "what was signed, nobody can tell",
    ),
    (
        "cxf-wss/open/encrypted_body_element",
        "one `Body` in the `Envelope`",
        "the Body itself is encrypted, so that what arrives is no envelope (SOAP 1.1, 4)",
    ),
    (
        "signer/output_1_inclusive_namespaces",
        "certificate-not-yet-valid",
        "the certificate begins a day after the message says that it was made",
    ),
    (
        "signer/output_4_with_nested_signatures_with_noblanks_disabled",
        "certificate-not-yet-valid",
        "the certificate begins a day after the message says that it was made",
    ),
    (
        "signxml/soap/request",
        "expected one element in `KeyInfo`",
        "the key is named twice, once by a token that is not there: two receivers might take two keys",
    ),
    (
        "wss4j-inline/EMPTY_PASSWORD_MSG_UsernameTokenTest",
        "the password of a user is empty",
        "an empty password is none, and no endpoint file has one",
    ),
];

/// A block that must be understood and that nothing proves is passed on by name, with a note.
#[test]
fn what_is_unsigned_and_must_be_understood_is_named() {
    let Some(cases) = soapstone_testkit::outside_cases() else {
        return;
    };
    let name = "phase4-as4/testfiles/TestReceipt11";
    let case = cases.iter().find(|case| case.id == name);
    let case = case.expect("the receipt");
    let learned = learn(&[case.input()], None).expect("a file");
    let block = "{http://docs.oasis-open.org/ebxml-msg/ebms/v3.0/ns/core/200704/}Messaging";
    let line = format!("unsigned = [\"{block}\"]");
    assert!(learned.receiver(None).contains(&line));
    assert!(!learned.sender(None).contains("unsigned"));
    let tells = |note: &String| note.contains(block) && note.contains("anybody on the way");
    assert!(learned.notes.iter().any(tells), "{:#?}", learned.notes);
}

#[test]
fn the_file_that_was_learned_opens_messages_from_outside() {
    let Some(cases) = soapstone_testkit::outside_cases() else {
        return;
    };
    let folder = Folder::new();
    let mut refused = BTreeMap::new();
    let mut tried = 0;
    for case in cases {
        if case.value["kind"] != "wss-open" || case.outcome() != "valid" {
            continue;
        }
        tried += 1;
        let outside::Published {
            message,
            receiver: tables,
            ..
        } = outside::published(&case, &folder);
        let why = why_not(message, &tables);
        if !why.is_empty() {
            refused.insert(case.id, why);
        }
    }
    assert_eq!(tried, 23);
    for (id, why, _) in NOT_LEARNED {
        let found = refused.remove(*id).unwrap_or_default();
        assert!(found.contains(why), "{id}: {found}");
    }
    assert!(refused.is_empty(), "{refused:#?}");
}
