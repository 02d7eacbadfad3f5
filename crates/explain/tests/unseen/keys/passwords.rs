//! Keys of passwords, and digests of them.

use soapstone::crypto::{
    DigestAlgorithm, SecretBytes, SignatureAlgorithm, SymmetricKey, base64, digest, hexadecimal,
};
use soapstone_explain::Known;

use crate::cases::{Cases, Sender, of_soap12, rich};
use crate::support::{Signer, as_it_is, with_value};

/// A message that a key of a user's password signs, and how it is signed with another one.
fn of_password(key: &[u8]) -> String {
    let sender = Sender::sharing(&of_soap12(&rich()));
    let message = sender.message;
    let start = message.find("<ds:KeyInfo>").expect("a KeyInfo");
    let end = message.find("</ds:KeyInfo>").expect("a KeyInfo");
    let info = "<ds:KeyInfo><wsse:SecurityTokenReference xmlns:wsse=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\">\
        <wsse:Reference URI=\"#UT\"/></wsse:SecurityTokenReference>";
    let token = format!(
        "<wsse:UsernameToken xmlns:wsse=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\" \
         xmlns:wsu=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd\" \
         xmlns:wsse11=\"http://docs.oasis-open.org/wss/oasis-wss-wssecurity-secext-1.1.xsd\" wsu:Id=\"UT\"><wsse:Username>alice</wsse:Username>\
         <wsse11:Salt>{SALT}</wsse11:Salt><wsse11:Iteration>1200</wsse11:Iteration></wsse:UsernameToken>"
    );
    let message = format!("{}{info}{}", &message[..start], &message[end..]);
    let message = message.replacen("<ds:Signature ", &format!("{token}<ds:Signature "), 1);
    let key = SymmetricKey::new(key.to_vec()).expect("a key");
    let signer = Signer::Secret(key, SignatureAlgorithm::HmacSha256);
    with_value(&message, |bytes| signer.sign(bytes), &as_it_is)
}

const SALT: &str = "AQIDBAUGBwgJCgsMDQ4PEA==";

/// SHA-1 again and again (UsernameToken Profile 1.1.1, 4).
fn password_key(salt: &[u8], iterations: usize) -> Vec<u8> {
    let mut bytes = [b"secret", salt].concat();
    for _ in 0..iterations {
        let digest = digest(DigestAlgorithm::Sha1, &bytes).expect("a digest");
        bytes = digest.as_ref().to_vec();
    }
    bytes
}

fn knows_alice() -> Known {
    Known {
        passwords: vec![("alice".to_owned(), SecretBytes::new(b"secret".to_vec()))],
        ..Known::default()
    }
}

pub(super) fn passwords(cases: &mut Cases) {
    let salt: Vec<u8> = (1..=16).collect();
    let kind = "derived-otherwise";
    let mut add = |name, kinds, key: Vec<u8>| {
        cases.add(name, kinds, of_password(&key), knows_alice());
    };
    add(
        "the text of a salt",
        kind,
        password_key(SALT.as_bytes(), 1200),
    );
    add("one iteration less", kind, password_key(&salt, 1199));
    add("1000 iterations", kind, password_key(&salt, 1000));
    add("the password as the key", kind, b"secret".to_vec());
    add(
        "the key of another password",
        "other-key",
        password_key(b"another salt", 1200),
    );
}

pub(super) fn users(cases: &mut Cases) {
    const NONCE: &str = "8u3v9Sv2ATrSVRnjm8n5Aw==";
    const CREATED: &str = "2026-11-21T16:02:29Z";
    const PASSWORD: &[u8] = b"Pa55 w\xc3\xb6rd";
    let bytes = base64::decode_xml_to_vec(NONCE.as_bytes()).expect("base64");
    let hashed = |algorithm, pieces: &[&[u8]]| {
        let bytes = digest(algorithm, &pieces.concat()).expect("a digest");
        bytes.as_ref().to_vec()
    };
    let sha1 = |pieces: &[&[u8]]| hashed(DigestAlgorithm::Sha1, pieces);
    let message = |kind: &str, password: &str| {
        of_soap12(&format!(
            "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Header><wsse:Security \
             xmlns:wsse=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\" \
             xmlns:wsu=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd\"><wsse:UsernameToken>\
             <wsse:Username>alice</wsse:Username><wsse:Password Type=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#{kind}\">{password}</wsse:Password>\
             <wsse:Nonce>{NONCE}</wsse:Nonce><wsu:Created>{CREATED}</wsu:Created></wsse:UsernameToken></wsse:Security></s:Header><s:Body/></s:Envelope>"
        ))
    };
    let known = || Known {
        passwords: vec![("alice".to_owned(), SecretBytes::new(PASSWORD.to_vec()))],
        ..Known::default()
    };
    let mut add = |name, kinds, digest: Vec<u8>| {
        let message = message("PasswordDigest", &base64::encode(&digest));
        cases.add(name, kinds, message, known());
    };
    let kind = "username-digest";
    let md5 = hexadecimal::encode(&hashed(DigestAlgorithm::Md5, &[PASSWORD]));
    let sha256 = hexadecimal::encode(&hashed(DigestAlgorithm::Sha256, &[PASSWORD]));
    let created = CREATED.as_bytes();
    add(
        "the MD5 of the password",
        kind,
        sha1(&[&bytes, created, md5.as_bytes()]),
    );
    add(
        "the SHA-256 of the password",
        kind,
        sha1(&[&bytes, created, sha256.as_bytes()]),
    );
    add(
        "a line end behind the password",
        kind,
        sha1(&[&bytes, created, PASSWORD, b"\n"]),
    );
    add(
        "the password in Latin-1",
        kind,
        sha1(&[&bytes, created, b"Pa55 w\xf6rd"]),
    );
    add(
        "the zone by number",
        kind,
        sha1(&[&bytes, b"2026-11-21T16:02:29+00:00", PASSWORD]),
    );
    add(
        "milliseconds",
        kind,
        sha1(&[&bytes, b"2026-11-21T16:02:29.000Z", PASSWORD]),
    );
    add(
        "the user in front",
        kind,
        sha1(&[&bytes, created, b"alice", PASSWORD]),
    );
    let text = hexadecimal::encode(&bytes);
    add(
        "the nonce in hexadecimal",
        kind,
        sha1(&[text.as_bytes(), created, PASSWORD]),
    );
    add("Created first", kind, sha1(&[created, &bytes, PASSWORD]));
    let right = sha1(&[&bytes, created, PASSWORD]);
    let url = base64::encode(&right).replace('+', "-").replace('/', "_");
    let url = message("PasswordDigest", url.trim_end_matches('='));
    cases.add("a digest in base64url", "digest-encoding", url, known());
    let capitals = String::from_utf8_lossy(PASSWORD).to_uppercase();
    for (name, text) in [
        ("the password in base64", base64::encode(PASSWORD)),
        ("the password in capitals", capitals),
    ] {
        let message = message("PasswordText", &text);
        cases.add(name, "password-kind", message, known());
    }
    let text = base64::encode(&sha1(&[PASSWORD]));
    cases.add(
        "a hashed password as text",
        "password-kind",
        message("PasswordText", &text),
        known(),
    );
}

/// Good messages, each with what the reader's side knows.
pub(super) fn good() -> Vec<(&'static str, String, Known)> {
    let salt: Vec<u8> = (1..=16).collect();
    let message = of_password(&password_key(&salt, 1200));
    vec![("a key of a password", message, knows_alice())]
}
