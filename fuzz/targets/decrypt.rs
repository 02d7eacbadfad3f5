//! Any plaintext in the place of an `EncryptedData`, and any ciphertext in it.
//!
//! The first byte says whether an element or content was encrypted, the second how; the rest is
//! plaintext first and ciphertext then. A document with a graft reads as the document that was
//! never encrypted, and a ciphertext has one way to fail.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use soapstone_crypto::{DataEncryption, SymmetricKey, base64, cipher};
use soapstone_fuzz::reading;
use soapstone_xml::{Apex, Buffers, Canonicalization, Document, Graft, NodeId, ParseOptions};
use soapstone_xmlsec::enc::{EncryptedData, EncryptionError, encrypted_data_below};

const BEFORE: &str = r#"<s:a xmlns:s="urn:s" xmlns="urn:d" xml:space="preserve" xml:lang="de"><s:b xmlns:s="urn:t">x"#;
const AFTER: &str = "y</s:b><!--z--></s:a>";

const ALGORITHMS: [DataEncryption; 4] = [
    DataEncryption::Aes128Gcm,
    DataEncryption::Aes256Cbc,
    DataEncryption::TripleDesCbc,
    DataEncryption::Aes256Gcm,
];

static KEYS: LazyLock<[SymmetricKey; 4]> = LazyLock::new(|| {
    ALGORITHMS.map(|algorithm| {
        SymmetricKey::new((1..).take(algorithm.key_length()).collect()).expect("octets")
    })
});

fuzz_target!(|bytes: &[u8]| {
    let [kind, algorithm, octets @ ..] = bytes else {
        return;
    };
    let kind = if kind % 2 == 0 {
        Graft::Element
    } else {
        Graft::Content
    };
    let which = usize::from(*algorithm) % ALGORITHMS.len();
    let (algorithm, key) = (ALGORITHMS[which], &KEYS[which]);

    let grafted = plaintext_is_read_as_if_never_encrypted(kind, octets);
    let sealed = cipher::seal(algorithm, key, octets).expect("a key that fits");
    match (decrypt(kind, algorithm, key, &sealed), grafted) {
        (Ok(decrypted), Some(grafted)) => assert_same(&decrypted, &grafted),
        (Err(EncryptionError::Failed), None) => {}
        (decrypted, grafted) => panic!("decrypting gives {decrypted:?}, grafting {grafted:?}"),
    }
    if let Err(error) = decrypt(kind, algorithm, key, octets) {
        assert_eq!(error, EncryptionError::Failed);
    }
});

/// A canonical form; `None` if it is larger than the limits allow, which depends on how the
/// document was written.
type Canonical = Option<String>;

fn assert_same(one: &Canonical, other: &Canonical) {
    if let (Some(one), Some(other)) = (one, other) {
        assert_eq!(one, other);
    }
}

/// Grafts, reads and canonicalizes. What a stranger to grafts would read, and what it is compared
/// with, is the written document.
fn plaintext_is_read_as_if_never_encrypted(kind: Graft, plaintext: &[u8]) -> Option<Canonical> {
    let (mut document, at) = encrypted(kind, DataEncryption::Aes128Gcm, b"");
    let before = document.bytes().to_vec();
    let options = ParseOptions::default();
    if document
        .graft(at, plaintext.to_vec(), kind, &options)
        .is_err()
    {
        assert_eq!(document.bytes(), before);
        assert!(!document.element(at).is_replaced());
        return None;
    }
    reading::read(&document);
    let mut written = Vec::new();
    document.write(document.root().id(), &mut written);
    let never_encrypted = [BEFORE.as_bytes(), plaintext, AFTER.as_bytes()].concat();
    assert_eq!(
        String::from_utf8_lossy(&written),
        String::from_utf8_lossy(&never_encrypted)
    );
    let plain = reading::parse(&written).expect("what can be grafted can be read where it stands");
    for method in Canonicalization::ALL {
        assert_same(&canonical(&document, method), &canonical(&plain, method));
    }
    Some(text(&document))
}

fn decrypt(
    kind: Graft,
    algorithm: DataEncryption,
    key: &SymmetricKey,
    ciphertext: &[u8],
) -> Result<Canonical, EncryptionError> {
    let (mut document, at) = encrypted(kind, algorithm, ciphertext);
    let data = EncryptedData::parse(&document, at).expect("we wrote it as it should be");
    let options = ParseOptions::default();
    data.decrypt(&mut document, key, &options, &mut Buffers::default())?;
    reading::read(&document);
    Ok(text(&document))
}

/// The document with an `EncryptedData` in the middle, and that element.
fn encrypted(kind: Graft, algorithm: DataEncryption, ciphertext: &[u8]) -> (Document, NodeId) {
    let kind = match kind {
        Graft::Element => "Element",
        Graft::Content => "Content",
    };
    let xenc = "http://www.w3.org/2001/04/xmlenc#";
    let source = format!(
        r#"{BEFORE}<e:EncryptedData xmlns:e="{xenc}" Type="{xenc}{kind}"><e:EncryptionMethod Algorithm="{}"/><e:CipherData><e:CipherValue>{}</e:CipherValue></e:CipherData></e:EncryptedData>{AFTER}"#,
        algorithm.uri(),
        base64::encode(ciphertext),
    );
    let document = reading::parse(source.as_bytes()).expect("we wrote it well-formed");
    let at = encrypted_data_below(&document, document.root().id())[0];
    (document, at)
}

fn text(document: &Document) -> Canonical {
    canonical(document, Canonicalization::Inclusive10WithComments)
}

fn canonical(document: &Document, method: Canonicalization) -> Canonical {
    reading::canonical(document, Apex::Document, method)
        .map(|octets| String::from_utf8_lossy(&octets).into_owned())
}
