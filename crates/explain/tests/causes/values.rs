//! Values of signatures that differ: RSA, ECDSA and HMAC.

use soapstone::crypto::{
    DigestAlgorithm, SignatureAlgorithm, SymmetricKey, base64, digest, hexadecimal,
};
use soapstone::xml::Canonicalization;
use soapstone_explain::Known;

use crate::cases::Cases;
use crate::support::{
    self, Digested, PLAIN, Signer, as_it_is, form, private_key, replaced_value, secured, signed,
    signed_anew, value, with_value,
};

fn inclusive_info(
    document: &soapstone::xml::Document,
    node: soapstone::xml::NodeId,
    _: &str,
) -> Vec<u8> {
    form(document, node, Canonicalization::Inclusive10, &[], &[])
}

pub(crate) fn values(cases: &mut Cases) {
    // The digest was signed without the name of its algorithm around it.
    cases.add(
        "RSA: a block that is not padded as it should be",
        "padding",
        include_str!("bare-digest.xml"),
    );
    let message = signed();
    let client = || Signer::client();
    let rsa = |how: Digested<'_>| with_value(&message, |octets| client().sign(octets), how);
    cases.add(
        "SignedInfo inclusive",
        "canonicalization",
        rsa(&inclusive_info),
    );
    cases.add(
        "SignedInfo with a prefix list",
        "prefix-list",
        rsa(&|document, node, _| form(document, node, Canonicalization::Exclusive, &["x"], &[])),
    );
    cases.add(
        "SignedInfo indented",
        "white-space",
        rsa(&|_, _, form| form.replace("><", ">\n<").into_bytes()),
    );
    cases.add(
        "SignedInfo with empty tags",
        "empty-element-tags",
        rsa(&|_, _, form| {
            form.replace("></ds:Transform>", "/>")
                .replace("></ds:CanonicalizationMethod>", "/>")
                .replace("></ds:SignatureMethod>", "/>")
                .replace("></ds:DigestMethod>", "/>")
                .into_bytes()
        }),
    );
    cases.add(
        "SignedInfo with another digest method",
        "algorithm-renamed",
        rsa(&|_, _, form| {
            form.replace(
                "http://www.w3.org/2001/04/xmlenc#sha256",
                "http://www.w3.org/2000/09/xmldsig#sha1",
            )
            .into_bytes()
        }),
    );
    cases.add(
        "SignedInfo with another prefix",
        "prefix-renamed",
        rsa(&|_, _, form| {
            form.replace("ds:", "")
                .replace("xmlns:ds", "xmlns")
                .replace(" xmlns:=", " xmlns=")
                .into_bytes()
        }),
    );
    let key = private_key("client");
    let by = |method| {
        with_value(
            &message,
            |octets| key.sign(method, octets).expect("a signature"),
            &as_it_is,
        )
    };
    cases.add(
        "SHA-1 signed under the name of SHA-256",
        "other-hash",
        by(SignatureAlgorithm::RsaSha1),
    );
    cases.add(
        "SHA-512 signed under the name of SHA-256",
        "other-hash",
        by(SignatureAlgorithm::RsaSha512),
    );
    cases.add(
        "PSS under the name of PKCS#1",
        "other-method",
        by(SignatureAlgorithm::RsaPssSha256),
    );
    let server = private_key("server");
    let other = with_value(
        &message,
        |octets| {
            server
                .sign(SignatureAlgorithm::RsaSha256, octets)
                .expect("a signature")
        },
        &as_it_is,
    );
    cases.add("an unknown key", "other-key", other.clone());
    cases.add_known(
        "another certificate",
        "other-certificate",
        other,
        Known {
            certificates: vec![("the peer's".to_owned(), support::certificate("server"))],
            ..Known::default()
        },
    );
    let octets = base64::decode_xml_to_vec(value(&message).as_bytes()).expect("base64");
    cases.add(
        "a value in hexadecimal",
        "signature-encoding",
        replaced_value(&message, &hexadecimal::encode(&octets)),
    );
    let reversed: Vec<u8> = octets.iter().rev().copied().collect();
    cases.add(
        "a value in reverse",
        "signature-encoding",
        replaced_value(&message, &base64::encode(&reversed)),
    );
    cases.add(
        "a value in base64 twice",
        "signature-encoding",
        replaced_value(&message, &base64::encode(value(&message).as_bytes())),
    );
}

pub(crate) fn pss(cases: &mut Cases) {
    let lines = "[security]\nmechanism = \"sign\"\nalgorithms = { signature = [\"rsa-pss-sha256\"], digest = [\"sha256\"], canonicalization = [\"exc-c14n\"] }";
    let message = secured("client", lines, PLAIN);
    let key = private_key("client");
    let by = |method, how: Digested<'_>| {
        with_value(
            &message,
            |octets| key.sign(method, octets).expect("a signature"),
            how,
        )
    };
    cases.add(
        "PSS: SignedInfo inclusive",
        "canonicalization",
        by(SignatureAlgorithm::RsaPssSha256, &inclusive_info),
    );
    cases.add(
        "PKCS#1 under the name of PSS",
        "other-method",
        by(SignatureAlgorithm::RsaSha256, &as_it_is),
    );
}

/// The DER of two numbers of 32 bytes.
fn der(value: &[u8]) -> Vec<u8> {
    let integer = |number: &[u8]| {
        let zeros = number.iter().take_while(|octet| **octet == 0).count();
        let mut digits = number[zeros..].to_vec();
        if digits[0] >= 0x80 {
            digits.insert(0, 0);
        }
        [
            &[0x02, u8::try_from(digits.len()).expect("short")],
            digits.as_slice(),
        ]
        .concat()
    };
    let (r, s) = value.split_at(value.len() / 2);
    let inside = [integer(r), integer(s)].concat();
    [
        &[0x30, u8::try_from(inside.len()).expect("short")],
        inside.as_slice(),
    ]
    .concat()
}

pub(crate) fn ecdsa(cases: &mut Cases) {
    let lines = "[security]\nmechanism = \"sign\"\nalgorithms = { signature = [\"ecdsa-sha256\"], digest = [\"sha256\"], canonicalization = [\"exc-c14n\"] }";
    let message = secured("p256", lines, PLAIN);
    let key = private_key("p256");
    let by = |method, how: Digested<'_>| {
        with_value(
            &message,
            |octets| key.sign(method, octets).expect("a signature"),
            how,
        )
    };
    let octets = base64::decode_xml_to_vec(value(&message).as_bytes()).expect("base64");
    cases.add(
        "ECDSA in DER",
        "signature-encoding",
        replaced_value(&message, &base64::encode(&der(&octets))),
    );
    let (r, s) = octets.split_at(32);
    cases.add(
        "ECDSA with s first",
        "signature-encoding",
        replaced_value(&message, &base64::encode(&[s, r].concat())),
    );
    cases.add(
        "ECDSA: SignedInfo inclusive",
        "canonicalization",
        by(SignatureAlgorithm::EcdsaSha256, &inclusive_info),
    );
    cases.add(
        "ECDSA with SHA-384 under the name of SHA-256",
        "other-hash",
        by(SignatureAlgorithm::EcdsaSha384, &as_it_is),
    );
    let unknown = private_key("p384");
    let other = with_value(
        &message,
        |octets| {
            unknown
                .sign(SignatureAlgorithm::EcdsaSha256, octets)
                .expect("a signature")
        },
        &as_it_is,
    );
    cases.add("ECDSA: an unknown key", "other-key", other);
    let body = signed_anew(
        &message,
        &Signer::Private(key.clone(), SignatureAlgorithm::EcdsaSha256),
        &[("Body", &|_, _, form: &str| {
            form.replace('\n', "&#xD;\n").into_bytes()
        })],
        &as_it_is,
    );
    cases.add("ECDSA: CR LF in the Body", "line-ends", body);
}

pub(crate) const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";

pub(crate) fn hmac(cases: &mut Cases) {
    let lines = format!(
        "shared_key = {{ hex = \"{}\" }}\n[security]\nmechanism = \"sign\"\nkey_reference = \"key-name\"\n\
         algorithms = {{ signature = [\"hmac-sha256\"], digest = [\"sha256\"], canonicalization = [\"exc-c14n\"] }}",
        hexadecimal::encode(SECRET)
    );
    let message = secured("", &lines, PLAIN);
    let secret = |octets: &[u8]| SymmetricKey::new(octets.to_vec()).expect("a key");
    let known = || Known {
        secrets: vec![("the shared key".to_owned(), secret(SECRET))],
        ..Known::default()
    };
    let by = |key: &[u8], method, how: Digested<'_>| {
        let signer = Signer::Secret(secret(key), method);
        with_value(&message, |octets| signer.sign(octets), how)
    };
    let sha256 = SignatureAlgorithm::HmacSha256;
    let mut add = |name, kind, message: String| cases.add_known(name, kind, message, known());
    add(
        "HMAC: the key in base64",
        "key-in-base64",
        by(base64::encode(SECRET).as_bytes(), sha256, &as_it_is),
    );
    add(
        "HMAC: the key in hexadecimal",
        "key-in-hexadecimal",
        by(hexadecimal::encode(SECRET).as_bytes(), sha256, &as_it_is),
    );
    add(
        "HMAC: the key decoded",
        "key-as-text",
        by(
            &hexadecimal::decode("0123456789abcdef0123456789abcdef").expect("hex"),
            sha256,
            &as_it_is,
        ),
    );
    let hashed = digest(DigestAlgorithm::Sha1, SECRET).expect("a digest");
    add(
        "HMAC: the key hashed",
        "key-hashed",
        by(hashed.as_ref(), sha256, &as_it_is),
    );
    add(
        "HMAC: SHA-1 under the name of SHA-256",
        "other-hash",
        by(SECRET, SignatureAlgorithm::HmacSha1, &as_it_is),
    );
    add(
        "HMAC: SignedInfo inclusive",
        "canonicalization",
        by(SECRET, sha256, &inclusive_info),
    );
    let octets = base64::decode_xml_to_vec(value(&message).as_bytes()).expect("base64");
    add(
        "HMAC cut short",
        "hmac-truncated",
        replaced_value(&message, &base64::encode(&octets[..16])),
    );
    add(
        "HMAC: an unknown key",
        "other-key",
        by(b"quite another key", sha256, &as_it_is),
    );
    let token = "<wsc:DerivedKeyToken xmlns:wsc=\"http://docs.oasis-open.org/ws-sx/ws-secureconversation/200512\">\
        <wsc:Generation>1</wsc:Generation><wsc:Length>32</wsc:Length><wsc:Nonce>AAECAwQFBgcICQoLDA0ODw==</wsc:Nonce></wsc:DerivedKeyToken>";
    let nonce: Vec<u8> = (0..16).collect();
    let derive = |label: &[u8], nonce: &[u8], offset| {
        let key = soapstone::crypto::PHash::SHA1
            .derive(SECRET, &[label, nonce], offset, 32)
            .expect("a key");
        let derived = message.replacen("<ds:Signature ", &format!("{token}<ds:Signature "), 1);
        assert!(derived.contains("DerivedKeyToken"), "{derived}");
        let signer = Signer::Secret(secret(key.expose()), sha256);
        with_value(&derived, |octets| signer.sign(octets), &as_it_is)
    };
    let label = b"WS-SecureConversationWS-SecureConversation";
    add(
        "derived with another label",
        "derived-otherwise",
        derive(b"WS-SecureConversation", &nonce, 32),
    );
    add(
        "derived from the text of the nonce",
        "derived-otherwise",
        derive(label, b"AAECAwQFBgcICQoLDA0ODw==", 32),
    );
    add(
        "derived with the generation taken for an offset",
        "derived-otherwise",
        derive(label, &nonce, 1),
    );
}
