//! What a receiver relies on at this layer.

use soapstone_crypto::{
    ConcatKdf, DataEncryption, DigestAlgorithm, KeyAgreement, KeyKind, KeyTransport, KeyWrap,
    OaepParameters, PrivateKey, SymmetricKey, base64, cipher,
};
use soapstone_testkit::{keys, processor_time};
use soapstone_xml::{Buffers, Document, NodeId, ParseOptions};

use super::*;
use crate::keyinfo::{AgreementMethod, KeyDerivationMethod};
use crate::namespaces::XENC;
use crate::write::{self, EncryptedDataStart, EncryptedKeyParts};

fn parse(text: &str) -> Document {
    Document::parse(
        text.as_bytes().to_vec(),
        &ParseOptions::default(),
        &mut Buffers::new(),
    )
    .unwrap()
}

fn first(document: &Document, local: &str) -> NodeId {
    let found = document
        .root()
        .descendants()
        .find(|element| element.is(XENC, local));
    found.unwrap().id()
}

fn sealed(
    method: DataEncryption,
    key: &SymmetricKey,
    plaintext: &[u8],
    content_type: ContentType,
) -> String {
    let mut out = Vec::new();
    let start = EncryptedDataStart {
        id: Some("data"),
        mime_type: None,
        content_type: &content_type,
        method,
        raw_key_info: None,
    };
    write::begin_encrypted_data(&start, &mut out);
    base64::encode_into(&cipher::seal(method, key, plaintext).unwrap(), &mut out);
    write::end_encrypted_data(&mut out);
    String::from_utf8(out).unwrap()
}

/// Breaks the base64 of the cipher value into lines.
fn wrapped(text: &str, line: usize, end: &str) -> String {
    let start = text.find("<xenc:CipherValue>").unwrap() + "<xenc:CipherValue>".len();
    let stop = text.find("</xenc:CipherValue>").unwrap();
    let lines: Vec<&str> = text.as_bytes()[start..stop]
        .chunks(line)
        .map(|row| std::str::from_utf8(row).unwrap())
        .collect();
    format!(
        "{}{end}{}{end}{}",
        &text[..start],
        lines.join(end),
        &text[stop..]
    )
}

fn decrypt(text: &str, key: &SymmetricKey) -> Result<String, EncryptionError> {
    let mut document = parse(text);
    let encrypted = EncryptedData::parse(&document, first(&document, "EncryptedData"))?;
    encrypted.decrypt(
        &mut document,
        key,
        &ParseOptions::default(),
        &mut Buffers::new(),
    )?;
    let mut out = Vec::new();
    document.write(document.root().id(), &mut out);
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn plaintext_takes_the_place_of_its_ciphertext_whatever_the_algorithm_and_the_lines() {
    let plaintext = "<b>text</b>".repeat(40);
    for &method in DataEncryption::ALL {
        let key = SymmetricKey::generate(method.key_length()).unwrap();
        let data = sealed(method, &key, plaintext.as_bytes(), ContentType::Content);
        for data in [
            data.clone(),
            wrapped(&data, 76, "\r\n"),
            wrapped(&data, 64, "\n"),
            wrapped(&data, 5, "&#13;\n"),
        ] {
            let opened = decrypt(&format!("<a>{data}</a>"), &key);
            assert_eq!(opened, Ok(format!("<a>{plaintext}</a>")), "{method}");
        }
    }
}

#[test]
fn every_failure_after_the_key_is_the_same() {
    for method in [
        DataEncryption::Aes128Cbc,
        DataEncryption::Aes128Gcm,
        DataEncryption::TripleDesCbc,
    ] {
        let key = SymmetricKey::generate(method.key_length()).unwrap();
        let other = SymmetricKey::generate(method.key_length()).unwrap();
        let fails = |data: &str| {
            assert_eq!(
                decrypt(&format!("<a>{data}</a>"), &key),
                Err(EncryptionError::Failed),
                "{method}"
            )
        };
        // Not an element, two elements, not UTF-8, an end tag that would close the element around.
        for plaintext in [&b"text"[..], b"<b/><b/>", b"<b>\xff</b>", b"</a><a>"] {
            fails(&sealed(method, &key, plaintext, ContentType::Element));
        }
        // Another key; with CBC some padding may come out right, and then the plaintext is no XML.
        fails(&sealed(
            method,
            &other,
            &b"<b/>".repeat(100),
            ContentType::Content,
        ));
        // No ciphertext, or less than one block of it.
        let data = sealed(method, &key, b"<b/>", ContentType::Element);
        let value =
            &data[data.find("Value>").unwrap() + 6..data.find("</xenc:CipherValue>").unwrap()];
        for short in ["", "AAAA", &value[..20], &value[..value.len() - 4]] {
            fails(&data.replace(value, short));
        }
    }
}

#[test]
fn what_is_wrong_before_the_key_is_told_exactly() {
    let key = SymmetricKey::generate(16).unwrap();
    let data = sealed(
        DataEncryption::Aes128Gcm,
        &key,
        b"<b/>",
        ContentType::Element,
    );
    let unknown = data.replace(DataEncryption::Aes128Gcm.uri(), "urn:unknown");
    let expected = EncryptionError::UnknownAlgorithm {
        element: "xenc:EncryptionMethod",
        uri: "urn:unknown".to_owned(),
    };
    assert_eq!(decrypt(&unknown, &key), Err(expected));
    let not_base64 = EncryptionError::Malformed {
        element: "xenc:CipherValue",
        reason: "not base64",
    };
    let value = &data[data.find("Value>").unwrap() + 6..data.find("</xenc:CipherValue>").unwrap()];
    assert_eq!(
        decrypt(&data.replace(value, "%%%%"), &key),
        Err(not_base64.clone())
    );
    assert_eq!(
        decrypt(&data.replace(value, &format!("{value}%%%%")), &key),
        Err(not_base64)
    );
    let short = SymmetricKey::generate(24).unwrap();
    assert_eq!(
        decrypt(&data, &short),
        Err(EncryptionError::WrongKey {
            algorithm: "aes128-gcm"
        })
    );
    let octets = sealed(
        DataEncryption::Aes128Gcm,
        &key,
        b"<b/>",
        ContentType::Unspecified,
    );
    assert_eq!(
        decrypt(&octets, &key),
        Err(EncryptionError::NotXml { kind: None })
    );
    let reference = data.replace(
        &format!("<xenc:CipherValue>{value}</xenc:CipherValue>"),
        "<xenc:CipherReference URI=\"http://example.org/\"/>",
    );
    assert_eq!(
        decrypt(&reference, &key),
        Err(EncryptionError::CipherReference {
            uri: "http://example.org/".to_owned()
        })
    );
    let size = data.replace(
        "></xenc:EncryptionMethod>",
        "><xenc:KeySize>256</xenc:KeySize></xenc:EncryptionMethod>",
    );
    let contradiction = EncryptionError::Malformed {
        element: "xenc:KeySize",
        reason: "contradicts the algorithm",
    };
    assert_eq!(decrypt(&size, &key), Err(contradiction));
}

#[test]
fn the_length_of_ciphertext_is_told_without_what_is_no_text_of_it() {
    let key = SymmetricKey::generate(16).unwrap();
    let method = DataEncryption::Aes128Cbc;
    // A vector and two blocks.
    let data = sealed(method, &key, &[b'x'; 20], ContentType::Content);
    let reaches = |text: &str, bytes: usize| {
        let document = parse(&format!("<a xmlns:xenc=\"{XENC}\">{text}</a>"));
        let node = first(&document, "EncryptedData");
        let data = EncryptedData::parse(&document, node).unwrap();
        data.has_ciphertext_of(&document, bytes)
    };
    let begin = "<xenc:CipherValue>";
    let digit = &data[data.find(begin).unwrap() + begin.len()..][..1];
    let reference = format!("{begin}&#x{:x};", digit.as_bytes()[0]);
    let referred = data.replacen(&format!("{begin}{digit}"), &reference, 1);
    for text in [&data, &wrapped(&data, 7, "\n "), &referred] {
        assert_eq!(reaches(text, 48), Ok(true), "{text}");
        assert_eq!(reaches(text, 49), Ok(false), "{text}");
    }
    let long = "A".repeat(99);
    let comment = data.replacen(begin, &format!("{begin}<!--{long}-->"), 1);
    assert!(reaches(&comment, 48).is_err());
    let rubbish = data.replacen(begin, &format!("{begin}*"), 1);
    assert!(reaches(&rubbish, 48).is_err());
}

#[test]
fn a_comment_in_a_cipher_value_is_refused_instead_of_cutting_it() {
    let key = SymmetricKey::generate(16).unwrap();
    let data = sealed(
        DataEncryption::Aes128Gcm,
        &key,
        b"<b/>",
        ContentType::Element,
    );
    let commented = data.replace("<xenc:CipherValue>", "<xenc:CipherValue><!-- -->");
    match decrypt(&commented, &key) {
        Err(EncryptionError::Structure(error)) => assert_eq!(error.expected, "character data only"),
        other => panic!("{other:?}"),
    }
}

fn encrypted_key(method: &KeyEncryption, cipher_value: &[u8]) -> String {
    let mut out = Vec::new();
    let parts = EncryptedKeyParts {
        id: Some("key"),
        recipient: Some("you & me"),
        method,
        implied_oaep_digest: false,
        raw_key_info: Some(b"<ds:KeyName>k</ds:KeyName>"),
        cipher_value,
        data_references: &["data", "more"],
        carried_key_name: Some("a < b"),
    };
    write::encrypted_key(&parts, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn what_the_writer_says_of_a_key_the_reader_reads() {
    let digests = [
        soapstone_crypto::DigestAlgorithm::Sha256,
        soapstone_crypto::DigestAlgorithm::Sha1,
    ];
    let labelled = |digest, mgf| OaepParameters {
        label: b"label".to_vec(),
        ..OaepParameters::new(digest, mgf)
    };
    let methods = [
        KeyEncryption::Wrap(KeyWrap::Aes256),
        KeyEncryption::Transport {
            algorithm: KeyTransport::Rsa15,
            oaep: OaepParameters::default(),
        },
        KeyEncryption::Transport {
            algorithm: KeyTransport::RsaOaepMgf1p,
            oaep: OaepParameters::new(digests[0], digests[1]),
        },
        KeyEncryption::Transport {
            algorithm: KeyTransport::RsaOaep,
            oaep: labelled(digests[1], digests[0]),
        },
    ];
    for method in methods {
        let document = parse(&encrypted_key(&method, b"wrapped"));
        let key = EncryptedKey::parse(&document, document.root().id(), 2).unwrap();
        assert_eq!(key.method, method);
        assert_eq!(key.cipher_value, b"wrapped");
        assert_eq!(
            (key.id.as_deref(), key.recipient.as_deref()),
            (Some("key"), Some("you & me"))
        );
        assert_eq!(key.data_references, ["#data", "#more"]);
        assert_eq!(key.carried_key_name.as_deref(), Some("a < b"));
        let limited = EncryptedKey::parse(&document, document.root().id(), 1).map(drop);
        assert_eq!(
            limited,
            Err(EncryptionError::TooMany {
                what: "xenc:DataReference",
                limit: 1
            })
        );
    }
}

#[test]
fn nothing_can_hide_in_the_parameters_of_a_key_transport() {
    let digest = soapstone_crypto::DigestAlgorithm::Sha256;
    let method = KeyEncryption::Transport {
        algorithm: KeyTransport::RsaOaep,
        oaep: OaepParameters::new(digest, digest),
    };
    let key = encrypted_key(&method, b"wrapped");
    for parameter in ["ds:DigestMethod", "xenc11:MGF"] {
        let end = format!("></{parameter}>");
        let filled = key.replace(&end, &format!("><hidden></hidden></{parameter}>"));
        let document = parse(&filled);
        let Err(EncryptionError::Structure(error)) =
            EncryptedKey::parse(&document, document.root().id(), 2).map(drop)
        else {
            panic!("{parameter} hides an element");
        };
        assert_eq!(error.element, parameter);
        assert_eq!(error.found.as_deref(), Some("hidden"));
    }
}

#[test]
fn keys_open_with_the_key_they_are_for_and_no_other() {
    let pair = keys::key(keys::RSA);
    let wrapping = SymmetricKey::generate(16).unwrap();
    let secret = SymmetricKey::generate(32).unwrap();
    let oaep = OaepParameters::default();
    let transport = KeyEncryption::Transport {
        algorithm: KeyTransport::RsaOaepMgf1p,
        oaep: oaep.clone(),
    };
    let to_pair = pair
        .public_key()
        .wrap(KeyTransport::RsaOaepMgf1p, &oaep, secret.expose())
        .unwrap();
    let wrapped = wrapping.wrap(KeyWrap::Aes128, secret.expose()).unwrap();
    let open = |method: &KeyEncryption, value: &[u8], key, length| {
        let document = parse(&encrypted_key(method, value));
        let parsed = EncryptedKey::parse(&document, document.root().id(), 8).unwrap();
        parsed.open(key, length).map(|key| key.expose().to_vec())
    };
    let opened = Ok(secret.expose().to_vec());
    assert_eq!(
        open(&transport, &to_pair, OpeningKey::Private(&pair), Some(32)),
        opened
    );
    let wrap = KeyEncryption::Wrap(KeyWrap::Aes128);
    assert_eq!(
        open(&wrap, &wrapped, OpeningKey::Secret(&wrapping), Some(32)),
        opened
    );
    assert_eq!(
        open(&wrap, &wrapped, OpeningKey::Secret(&wrapping), Some(16)),
        Err(EncryptionError::Failed)
    );
    assert_eq!(
        open(&wrap, &wrapped[1..], OpeningKey::Secret(&wrapping), None),
        Err(EncryptionError::Failed)
    );
    let wrong = |algorithm| Err(EncryptionError::WrongKey { algorithm });
    assert_eq!(
        open(&wrap, &wrapped, OpeningKey::Private(&pair), None),
        wrong("kw-aes128")
    );
    assert_eq!(
        open(&wrap, &wrapped, OpeningKey::Secret(&secret), None),
        wrong("kw-aes128")
    );
    assert_eq!(
        open(&transport, &to_pair, OpeningKey::Secret(&wrapping), None),
        wrong("rsa-oaep-mgf1p")
    );
}

#[test]
fn a_bad_rsa15_padding_yields_the_same_substitute_each_time_and_no_error() {
    let pair = keys::key(keys::RSA);
    let rsa15 = KeyEncryption::Transport {
        algorithm: KeyTransport::Rsa15,
        oaep: OaepParameters::default(),
    };
    let document = parse(&encrypted_key(&rsa15, &[1; 256]));
    let parsed = EncryptedKey::parse(&document, document.root().id(), 8).unwrap();
    let open = || {
        parsed
            .open(OpeningKey::Private(&pair), Some(16))
            .unwrap()
            .expose()
            .to_vec()
    };
    let (one, other) = (open(), open());
    assert_eq!(one, *pair.substitute(&[1; 256], 16).expose());
    assert_eq!(one, other);
}

/// A key that X25519 agrees on, with a wrapped key that it does not open.
fn agreed_key(cipher_value: &[u8]) -> String {
    let mut text = Vec::new();
    write::encrypted_key(
        &EncryptedKeyParts {
            id: None,
            recipient: None,
            method: &KeyEncryption::Wrap(KeyWrap::Aes192),
            implied_oaep_digest: false,
            raw_key_info: None,
            cipher_value,
            data_references: &[],
            carried_key_name: None,
        },
        &mut text,
    );
    String::from_utf8(text).unwrap()
}

fn x25519_agreement() -> AgreementMethod {
    AgreementMethod {
        algorithm: KeyAgreement::X25519,
        derivation: KeyDerivationMethod::ConcatKdf(ConcatKdf {
            digest: DigestAlgorithm::Sha256,
            other_info: Vec::new(),
        }),
        originator: None,
        recipient: None,
    }
}

#[test]
fn an_agreement_that_fails_yields_the_same_substitute_each_time() {
    let private = PrivateKey::generate(KeyKind::X25519).unwrap();
    let agreed = private
        .public_key()
        .agree_ephemeral(KeyAgreement::X25519)
        .unwrap();
    let document = parse(&agreed_key(&[7; 24]));
    let key = EncryptedKey::parse(&document, document.root().id(), 0).unwrap();
    for originator in [Some(&agreed.originator), None] {
        let opened = key
            .open_agreed(&private, &x25519_agreement(), originator, 16)
            .unwrap();
        assert_eq!(opened.expose(), private.substitute(&[7; 24], 16).expose());
    }
}

/// XML-Enc 1.1 section 5.7: unwrapping takes far longer than reading what is unwrapped, and anybody
/// may ask for it.
#[test]
fn what_is_far_longer_than_a_key_is_not_unwrapped() {
    let private = PrivateKey::generate(KeyKind::X25519).unwrap();
    let agreed = private
        .public_key()
        .agree_ephemeral(KeyAgreement::X25519)
        .unwrap();
    let document = parse(&agreed_key(&vec![7; 3 << 20]));
    let key = EncryptedKey::parse(&document, document.root().id(), 0).unwrap();
    let agreement = x25519_agreement();
    let open = |key: &EncryptedKey| {
        let (opened, time) =
            processor_time(|| key.open_agreed(&private, &agreement, Some(&agreed.originator), 16));
        assert_eq!(opened.unwrap().len(), 16);
        time
    };
    let wrapping = SymmetricKey::generate(16).unwrap();
    let wrapped = vec![7; 3 << 20];
    let (_, unwrapping) = processor_time(|| wrapping.unwrap(KeyWrap::Aes128, &wrapped));
    // The least of several times: a page that is fetched in one of them tells nothing of the work.
    let long = (0..8).map(|_| open(&key)).min().unwrap();
    assert!(long * 4 < unwrapping, "{long:?} beside {unwrapping:?}");
}
