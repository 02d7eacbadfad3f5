//! Messages of other stacks, made again with the file that was learned from them.

mod outside;

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use soapstone::config::EndpointConfig;
use soapstone::crypto::KeyKind;
use soapstone::{ForgetfulReplayCache, Memory, Opener, Securer};
use soapstone_learn::{KeyTables, difference, learn};
use soapstone_testkit::{Folder, keys};

/// What a message that the learned file of the sender makes has otherwise than the sample.
fn differences(
    sample: &[u8],
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
    let plain = opener.open(sample.to_vec(), memory);
    let plain = plain.map_err(|rejected| rejected.to_string())?.bytes;
    let text = learned.sender(Some(sender));
    let securer = EndpointConfig::from_text(&text, sender.file(), &|_| None)
        .and_then(|config| Securer::from_config(&config))
        .map_err(|problems| format!("{problems}\n{text}"))?;
    let made = securer.secure(plain).map_err(|error| error.to_string())?;
    difference(sample, &made.bytes).map_err(|error| error.to_string())
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

/// What is told of differences that both kinds of messages have.
const PREFIX_LIST: &str = "the sample holds InclusiveNamespaces, ours nothing";
const NO_DIGEST: &str =
    "Header/Security/EncryptedKey/EncryptionMethod: the sample holds nothing, ours DigestMethod";
const BESIDE_SERIAL: &str =
    "X509Data: the sample holds X509IssuerSerial, X509Certificate, ours X509IssuerSerial";
const UNPROVEN_BLOCK: &str =
    "expected `{http://www.w3.org/2005/08/addressing}To` in the message, found no such element";

/// The kinds of differences of recorded messages: what is told, in how many messages, and why it
/// stays.
const OF_RECORDED: &[(&str, usize, &str)] = &[
    (PREFIX_LIST, 46, NO_LIST),
    (
        NO_DIGEST,
        21,
        "SHA-1 of OAEP is written, also where it is the default (XML Encryption 1.1, 5.5.2)",
    ),
    (BESIDE_SERIAL, 3, NAMED_ONCE),
    (
        UNPROVEN_BLOCK,
        1,
        "a header block that no signature covers is not passed on, so that the plain message lacks it",
    ),
];

const NO_LIST: &str = "our canonical forms are exclusive, without a list of prefixes (Exclusive XML Canonicalization 1.0, 3)";
const NAMED_ONCE: &str = "a key is named once: of two names, two receivers might take two keys";
const NOT_OPENED: &str = "no file opens it, for the reason in the table of `vectors.rs`";
const OLD_BLOCKS: &str = "cipher text right in the Header is of WS-Security 1.0: ours is in EncryptedHeader (SOAP Message Security 1.1.1, 9.3)";

/// Each published message that is not made again as it was, what is told, and why it stays.
const OF_PUBLISHED: &[(&str, &str, &str)] = &[
    (
        "cxf-wss/open/encrypted_body_content",
        "ours Security, EncryptedHeader",
        OLD_BLOCKS,
    ),
    (
        "cxf-wss/open/encrypted_missing_enc_body",
        "ours Security, EncryptedHeader",
        OLD_BLOCKS,
    ),
    (
        "cxf-wss/open/wss-242",
        "ours Security, EncryptedHeader",
        OLD_BLOCKS,
    ),
    (
        "cxf-wss/open/encrypted_body_content_signed",
        "an endpoint file without a policy cannot say",
        NOT_OPENED,
    ),
    (
        "cxf-wss/open/encrypted_body_content_signed_with_encrypted_header",
        "two elements carry the id",
        NOT_OPENED,
    ),
    (
        "cxf-wss/open/encrypted_body_element",
        "one `Body` in the `Envelope`",
        NOT_OPENED,
    ),
    (
        "signer/output_1_inclusive_namespaces",
        "certificate-not-yet-valid",
        NOT_OPENED,
    ),
    (
        "signer/output_4_with_nested_signatures_with_noblanks_disabled",
        "certificate-not-yet-valid",
        NOT_OPENED,
    ),
    (
        "signxml/soap/request",
        "expected one element in `KeyInfo`",
        NOT_OPENED,
    ),
    (
        "wss4j-inline/EMPTY_PASSWORD_MSG_UsernameTokenTest",
        "the password of a user is empty",
        NOT_OPENED,
    ),
    ("cxf-wss/systest/request-with-comment", PREFIX_LIST, NO_LIST),
    ("phase4-as4/testfiles/TestReceipt11", PREFIX_LIST, NO_LIST),
    ("phase4-as4/testfiles/TestReceipt12", PREFIX_LIST, NO_LIST),
    ("rampart-msgs/req06", PREFIX_LIST, NO_LIST),
    (
        "signer/output_5_with_security_token",
        BESIDE_SERIAL,
        NAMED_ONCE,
    ),
    ("signer/output_5_with_x509_data", BESIDE_SERIAL, NAMED_ONCE),
    (
        "wss4j-inline/SOAPUTMSG_WCFUsernameTokenTest",
        "Password: ours has the attribute Type, the sample has not",
        "our passwords always say their type (UsernameToken Profile 1.1.1, 3.1)",
    ),
];

#[test]
fn recorded_messages_are_made_again() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../interop/recorded");
    let mut counts = vec![0; OF_RECORDED.len()];
    let (mut same, mut tried) = (0, 0);
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
        tried += 1;
        let told = differences(&sample, &receiver, &sender_of_recorded(stem, &file));
        let told = told.unwrap_or_else(|problem| vec![problem]);
        same += usize::from(told.is_empty());
        for ((kind, _, _), count) in OF_RECORDED.iter().zip(&mut counts) {
            *count += usize::from(told.iter().any(|one| one.contains(kind)));
        }
        let is_known = |one: &&String| OF_RECORDED.iter().any(|(kind, _, _)| one.contains(kind));
        let unknown: Vec<_> = told.iter().filter(|one| !is_known(one)).collect();
        assert!(unknown.is_empty(), "{stem}: {unknown:#?}");
    }
    let expected: Vec<usize> = OF_RECORDED.iter().map(|(_, count, _)| *count).collect();
    assert_eq!(counts, expected);
    assert_eq!((same, tried), (20, 74));
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
        let told = differences(&published.message, &published.receiver, &sender);
        let told = told.unwrap_or_else(|problem| vec![problem]);
        same += usize::from(told.is_empty());
        if !told.is_empty() {
            different.insert(case.id, told.join("; "));
        }
    }
    assert_eq!((same, tried), (6, 23));
    for (id, why, _) in OF_PUBLISHED {
        let found = different.remove(*id).unwrap_or_default();
        assert!(found.contains(why), "{id}: {found}");
    }
    assert!(different.is_empty(), "{different:#?}");
}
