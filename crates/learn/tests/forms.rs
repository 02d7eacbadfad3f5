//! Messages of other stacks, made again with the file that was learned from them.

mod outside;

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use soapstone::config::EndpointConfig;
use soapstone::crypto::KeyKind;
use soapstone::{ForgetfulReplayCache, Memory, Opener, Securer};
use soapstone_learn::{KeyTables, difference, learn, unsecured};
use soapstone_testkit::{Folder, keys};

/// What a message that the learned file of the sender makes has otherwise than the sample. It is
/// made of `plain`, of the sample without its Security header, or, where cipher text is in that, of
/// what the learned file of the receiver passes on.
fn differences(
    sample: &[u8],
    plain: Option<Vec<u8>>,
    receiver: &KeyTables,
    sender: &KeyTables,
) -> Result<Vec<String>, String> {
    let learned = learn(&[sample.to_vec()], Some(receiver)).map_err(|error| error.to_string())?;
    if let Some(refused) = learned.refused {
        return Err(refused);
    }
    let at = learned.at.unwrap_or_else(Timestamp::now);
    let text = learned.receiver_at(Some(receiver), at);
    let opener = EndpointConfig::from_text(&text, receiver.file(), &|_| None)
        .and_then(|config| Opener::from_config(&config))
        .map_err(|problems| problems.to_string())?;
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    let opened = opener.open(sample.to_vec(), memory);
    let opened = opened.map_err(|rejected| rejected.to_string())?.bytes;
    let text = learned.sender(Some(sender));
    let securer = EndpointConfig::from_text(&text, sender.file(), &|_| None)
        .and_then(|config| Securer::from_config(&config))
        .map_err(|problems| format!("{problems}\n{text}"))?;
    let plain = plain.or_else(|| unsecured(sample).ok().flatten());
    let made = securer
        .secure(plain.unwrap_or(opened))
        .map_err(|error| error.to_string())?;
    let found = difference(sample, &made.bytes).map_err(|error| error.to_string())?;
    // What is made again as it was has the lists that it had.
    let tells = |note: &String| note.contains("our messages list others");
    assert!(!found.is_empty() || !learned.notes.iter().any(tells));
    Ok(found)
}

/// The message that the peers secured.
fn plain_of_recorded(folder: &str, sample: &[u8]) -> Vec<u8> {
    let soap12 = b"<soap:Envelope xmlns:soap=\"http://www.w3.org/2003/05/soap-envelope\"";
    let version = match sample.starts_with(soap12) {
        true => "soap12",
        false => "soap11",
    };
    std::fs::read(format!("{folder}/{version}.plain.xml")).expect("the plain message")
}

/// The tables of whoever sends to the receiver of the recorded messages.
fn sender_of_recorded(stem: &str, file: &Path) -> KeyTables {
    let curves = [
        ("ecdsa-sha256", "p256"),
        ("ecdsa-sha384", "p384"),
        ("ecdsa-sha512", "p521"),
        ("ed25519", "ed25519"),
    ];
    let by_curve = curves.iter().find(|(name, _)| stem.ends_with(name));
    let own = by_curve.map_or("client", |(_, own)| own);
    KeyTables::of(
        file,
        &format!(
            "identity = {{ key = 'keys/{own}.key.pem', certificate = 'keys/{own}.cert.pem' }}\npeer = {{ certificate = 'keys/server.cert.pem' }}\nusers = [{{ name = 'alice', password = 'correct horse battery staple' }}]\n"
        ),
    )
}

/// Each published message that is not made again as it was, and what is told: no file opens it, for
/// the reason in the table of `vectors.rs`.
const OF_PUBLISHED: &[(&str, &str)] = &[
    (
        "cxf-wss/open/encrypted_body_content_signed",
        "an endpoint file without a policy cannot say",
    ),
    (
        "cxf-wss/open/encrypted_body_content_signed_with_encrypted_header",
        "two elements carry the id",
    ),
    (
        "cxf-wss/open/encrypted_body_element",
        "one `Body` in the `Envelope`",
    ),
    (
        "signer/output_1_inclusive_namespaces",
        "certificate-not-yet-valid",
    ),
    (
        "signer/output_4_with_nested_signatures_with_noblanks_disabled",
        "certificate-not-yet-valid",
    ),
    ("signxml/soap/request", "expected one element in `KeyInfo`"),
    (
        "wss4j-inline/EMPTY_PASSWORD_MSG_UsernameTokenTest",
        "the password of a user is empty",
    ),
];

#[test]
fn recorded_messages_are_made_again() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../interop/recorded");
    let mut different = BTreeMap::new();
    let mut tried = 0;
    for entry in std::fs::read_dir(folder).expect("the folder") {
        let file = entry.expect("an entry").path();
        let message = file.with_extension("xml");
        if file.extension().is_none_or(|it| it != "toml") || !message.exists() {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("text");
        let stem = file.file_stem().and_then(|it| it.to_str()).expect("a name");
        let receiver = KeyTables::of(&file, &text);
        let sample = std::fs::read(&message).expect("a message");
        let plain = plain_of_recorded(folder, &sample);
        tried += 1;
        let sender = sender_of_recorded(stem, &file);
        let told = differences(&sample, Some(plain), &receiver, &sender);
        let told = told.unwrap_or_else(|problem| vec![problem]);
        if !told.is_empty() {
            different.insert(stem.to_owned(), told);
        }
    }
    assert_eq!(tried, 74);
    assert!(different.is_empty(), "{}: {different:#?}", different.len());
}

#[test]
fn published_messages_are_made_again() {
    let Some(cases) = soapstone_testkit::outside_cases() else {
        return;
    };
    let folder = Folder::new();
    let mut different = BTreeMap::new();
    let (mut same, mut tried) = (0, 0);
    for case in cases {
        if case.value["kind"] != "wss-open" || case.outcome() != "valid" {
            continue;
        }
        let published = outside::published(&case, &folder);
        let kind = published.signer.as_ref().map(|it| it.public_key().kind());
        let kind = kind.unwrap_or(KeyKind::Rsa { bits: 2048 });
        folder.write_identity("sender", &keys::identity("CN=client", kind));
        let own = "identity = { key = 'sender.key.pem', certificate = 'sender.cert.pem' }\npeer = { certificate = 'sender.cert.pem' }\n";
        let tables = format!("{own}{}", published.users);
        let sender = KeyTables::of(&folder.path("sender.toml"), &tables);
        tried += 1;
        let told = differences(&published.message, None, &published.receiver, &sender);
        let told = told.unwrap_or_else(|problem| vec![problem]);
        same += usize::from(told.is_empty());
        if !told.is_empty() {
            different.insert(case.id, told.join("; "));
        }
    }
    for (id, why) in OF_PUBLISHED {
        let found = different.remove(*id).unwrap_or_default();
        assert!(found.contains(why), "{id}: {found}");
    }
    assert!(different.is_empty(), "{different:#?}");
    assert_eq!((same, tried), (16, 23));
}
