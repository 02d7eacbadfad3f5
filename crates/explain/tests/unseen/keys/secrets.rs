//! Secrets that both sides share, session keys, and keys that are derived of these.

use soapstone::crypto::{
    DigestAlgorithm, PHash, SignatureAlgorithm, SymmetricKey, base64, digest, hexadecimal,
};
use soapstone::xmlsec::enc::{EncryptedKey, OpeningKey};
use soapstone_explain::Known;

use super::decoded;
use crate::cases::{self, Cases, SECRET, Sender, inclusive, of_soap12, rich};
use crate::support::{
    self, PLAIN, Signer, as_it_is, document, known, private_key, replaced_value, secured,
    with_value,
};

pub(super) fn shared(cases: &mut Cases) {
    let hashed = |algorithm| {
        let bytes = digest(algorithm, SECRET).expect("a digest");
        bytes.as_ref().to_vec()
    };
    let wide: Vec<u8> = std::str::from_utf8(SECRET)
        .expect("text")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let reversed: Vec<u8> = SECRET.iter().rev().copied().collect();
    let unpadded = base64::encode(SECRET).trim_end_matches('=').to_owned();
    for (name, kinds, key) in [
        ("HMAC: UTF-16", "key-as-text", wide),
        ("HMAC: the key cut", "key-cut", SECRET[..16].to_vec()),
        ("HMAC: the key in reverse", "key-as-text", reversed),
        (
            "HMAC: base64 without padding",
            "key-in-base64",
            unpadded.into_bytes(),
        ),
        (
            "HMAC: the MD5 of the key",
            "key-hashed",
            hashed(DigestAlgorithm::Md5),
        ),
        (
            "HMAC: the SHA-512 of the key",
            "key-hashed",
            hashed(DigestAlgorithm::Sha512),
        ),
        (
            "HMAC: a line end behind the key",
            "key-as-text",
            [SECRET, b"\n"].concat(),
        ),
        (
            "HMAC: hexadecimal in capitals",
            "key-in-hexadecimal",
            hexadecimal::encode(SECRET).to_uppercase().into_bytes(),
        ),
    ] {
        let sender = Sender::sharing(&of_soap12(&rich()));
        let key = SymmetricKey::new(key).expect("a key");
        let signer = Signer::Secret(key, SignatureAlgorithm::HmacSha256);
        let message = with_value(&sender.message, |bytes| signer.sign(bytes), &as_it_is);
        cases.add(name, kinds, message, sender.known());
    }
    let sender = Sender::sharing(&rich());
    let bytes = decoded(&sender.message);
    let cut = replaced_value(&sender.message, &base64::encode(&bytes[..12]));
    cases.add("HMAC cut to 96 bits", "hmac-truncated", cut, sender.known());
    let text = hexadecimal::encode(&bytes);
    let text = replaced_value(&sender.message, &text);
    cases.add(
        "HMAC in hexadecimal",
        "signature-encoding",
        text,
        sender.known(),
    );
}

/// The elements of a message that a session key and a derived key need, and the session key.
fn session() -> (String, Vec<u8>) {
    let good = secured(
        "client",
        "[security]\nmechanism = \"encrypt\"\nalgorithms = { key_transport = [\"rsa-oaep-mgf1p\"], data = [\"aes256-gcm\"] }",
        PLAIN,
    );
    let read = document(&good);
    let element = read
        .elements_named("http://www.w3.org/2001/04/xmlenc#", "EncryptedKey")
        .next()
        .expect("a session key");
    let key = EncryptedKey::parse(&read, element.id(), 16).expect("a session key");
    let secret = key
        .open(OpeningKey::Private(&private_key("server")), Some(32))
        .expect("a session key");
    let cipher = element
        .descendants()
        .find(|inside| inside.local() == "CipherValue")
        .expect("cipher text")
        .text()
        .into_owned();
    let key = format!(
        "<xenc:EncryptedKey xmlns:xenc=\"http://www.w3.org/2001/04/xmlenc#\" Id=\"EK\"><xenc:EncryptionMethod \
         Algorithm=\"http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p\"/><xenc:CipherData><xenc:CipherValue>{cipher}</xenc:CipherValue>\
         </xenc:CipherData></xenc:EncryptedKey>"
    );
    (key, secret.expose().to_vec())
}

const NONCES: [&str; 2] = ["AAECAwQFBgcICQoLDA0ODw==", "Dw4NDAsKCQgHBgUEAwIBAA=="];

fn derived_token(id: &str, nonce: &str) -> String {
    format!(
        "<wsc:DerivedKeyToken xmlns:wsc=\"http://docs.oasis-open.org/ws-sx/ws-secureconversation/200512\" \
         xmlns:wsu=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd\" wsu:Id=\"{id}\">\
         <wsse:SecurityTokenReference xmlns:wsse=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\">\
         <wsse:Reference URI=\"#EK\"/></wsse:SecurityTokenReference><wsc:Offset>0</wsc:Offset><wsc:Length>32</wsc:Length>\
         <wsc:Nonce>{nonce}</wsc:Nonce></wsc:DerivedKeyToken>"
    )
}

/// A message that names the key `uri` of its header, signed with another key.
struct Session {
    message: String,
    secret: Vec<u8>,
}

impl Session {
    fn new(uri: &str) -> Self {
        let (key, secret) = session();
        let sender = Sender::sharing(&of_soap12(&rich()));
        let message = sender.message;
        let start = message.find("<ds:KeyInfo>").expect("a KeyInfo");
        let end = message.find("</ds:KeyInfo>").expect("a KeyInfo");
        let info = format!(
            "<ds:KeyInfo><wsse:SecurityTokenReference xmlns:wsse=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\">\
             <wsse:Reference URI=\"{uri}\"/></wsse:SecurityTokenReference>"
        );
        let message = format!("{}{info}{}", &message[..start], &message[end..]);
        let tokens = derived_token("DK1", NONCES[0]) + &derived_token("DK2", NONCES[1]);
        let message =
            message.replacen("<ds:Signature ", &format!("{key}{tokens}<ds:Signature "), 1);
        assert!(message.contains("DK2"), "{message}");
        Self { message, secret }
    }

    fn signed(&self, key: &[u8]) -> String {
        self.signed_over(key, &as_it_is)
    }

    fn signed_over(&self, key: &[u8], how: support::Digested<'_>) -> String {
        let key = SymmetricKey::new(key.to_vec()).expect("a key");
        let signer = Signer::Secret(key, SignatureAlgorithm::HmacSha256);
        with_value(&self.message, |bytes| signer.sign(bytes), how)
    }

    fn derived(&self, hash: PHash, seed: &[&[u8]; 2], offset: usize) -> Vec<u8> {
        let key = hash.derive(&self.secret, seed, offset, 32);
        key.expect("a key").expose().clone()
    }
}

const LABEL: &[u8] = b"WS-SecureConversationWS-SecureConversation";

fn nonce(number: usize) -> Vec<u8> {
    base64::decode_xml_to_vec(NONCES[number].as_bytes()).expect("base64")
}

pub(super) fn derived(cases: &mut Cases) {
    let (of_key, of_session) = (Session::new("#DK1"), Session::new("#EK"));
    let (first, second) = (nonce(0), nonce(1));
    let derive = |hash, seed: [&[u8]; 2], offset| of_key.derived(hash, &seed, offset);
    let mut add = |name, kinds, message| cases.add(name, kinds, message, known());
    let kind = "derived-otherwise";
    let mut by = |name, kinds, key: Vec<u8>| add(name, kinds, of_key.signed(&key));
    by(
        "derived by P_SHA256",
        kind,
        derive(PHash::SHA256, [LABEL, &first], 0),
    );
    by(
        "derived with the nonce first",
        kind,
        derive(PHash::SHA1, [&first, LABEL], 0),
    );
    by(
        "derived from byte 32 on",
        kind,
        derive(PHash::SHA1, [LABEL, &first], 32),
    );
    by(
        "derived without a label",
        kind,
        derive(PHash::SHA1, [b"", &first], 0),
    );
    let text = base64::encode(&of_key.secret);
    let of_text = PHash::SHA1.derive(text.as_bytes(), &[LABEL, &first], 0, 32);
    let of_text = of_text.expect("a key").expose().clone();
    by("derived from the text of the secret", kind, of_text);
    by(
        "the session key, and not the derived one",
        "other-secret",
        of_key.secret.clone(),
    );
    by(
        "the other derived key",
        "other-secret",
        derive(PHash::SHA1, [LABEL, &second], 0),
    );
    let key = of_session.derived(PHash::SHA1, &[LABEL, &first], 0);
    add(
        "the derived key, and not the session key",
        "other-secret",
        of_session.signed(&key),
    );
    let key = of_key.derived(PHash::SHA1, &[LABEL, &first], 0);
    add(
        "derived: SignedInfo inclusive",
        "canonicalization",
        of_key.signed_over(&key, &|read, node, _| inclusive(read, node).into_bytes()),
    );
    add(
        "a session key: SignedInfo indented",
        "white-space",
        of_session.signed_over(&of_session.secret, &|_, _, form| {
            cases::indented(form, "  ", "\n").into_bytes()
        }),
    );
}

/// Good messages, each with what the reader's side knows.
pub(super) fn good() -> Vec<(&'static str, String, Known)> {
    let of_key = Session::new("#DK1");
    let key = of_key.derived(PHash::SHA1, &[LABEL, &nonce(0)], 0);
    let of_session = Session::new("#EK");
    let by_session = of_session.signed(&of_session.secret);
    vec![
        ("a derived key", of_key.signed(&key), known()),
        ("a session key", by_session, known()),
    ]
}
