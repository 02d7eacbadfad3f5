//! Session keys and what they decipher, with the keys of the reader's side.
//!
//! The rule kept here: the reader holds the keys, so he may be told what a peer must never learn.
//! The gateway does not depend on this crate.

use soapstone_crypto::{
    DataEncryption, DigestAlgorithm, KeyKind, KeyTransport, OaepParameters, PHash, SymmetricKey,
    base64,
};
use soapstone_wss::DEFAULT_LABEL;
use soapstone_wss::names::{WSSE11, XENC};
use soapstone_xml::{Buffers, Document, Element, NodeId, ParseOptions};
use soapstone_xmlsec::enc::{EncryptedData, EncryptedKey, KeyEncryption, OpeningKey};

use crate::cause::{Cause, Step};
use crate::keys::Known;
use crate::model::EncryptionFound;
use crate::options::Options;
use crate::password_keys;
use crate::search::Budget;

/// Most cipher texts and keys that are looked at.
const MOST: usize = 64;

/// The kind of cipher text that is no key.
pub(crate) const DATA: &str = "EncryptedData";

/// Most secrets that are kept, those that are derived included.
const MOST_SECRETS: usize = 256;

/// The id of an element that holds a secret, and the place of the secret.
pub(crate) type Holder = (String, usize);

/// What came of it.
pub(crate) struct Opened {
    /// The message with everything in the clear that could be deciphered; `None` where nothing
    /// was.
    pub(crate) document: Option<Document>,
    /// Keys for signatures and data, each with a name.
    pub(crate) secrets: Vec<(String, SymmetricKey)>,
    /// Ids of elements that hold a secret, with its place.
    pub(crate) holders: Vec<Holder>,
    pub(crate) found: Vec<EncryptionFound>,
    /// Bytes that may still be deciphered.
    budget: Budget,
}

/// The session keys of another message.
pub(crate) fn secrets_of(
    message: Option<&[u8]>,
    options: &Options<'_>,
    name: &str,
) -> Vec<(String, SymmetricKey)> {
    let secrets = message.map(|message| deciphered(message, options, &[]).secrets);
    let secrets = secrets.into_iter().flatten();
    let own = secrets.skip(options.known.secrets.len());
    own.map(|(place, key)| (format!("{place} of {name}"), key))
        .collect()
}

/// Opens what can be opened, with session keys of the request too. What our keys do not decipher,
/// the engine may have deciphered with a key that stays elsewhere.
pub(crate) fn open(
    source: &[u8],
    options: &Options<'_>,
    of_request: &[(String, SymmetricKey)],
) -> Opened {
    let mut opened = deciphered(source, options, of_request);
    let is_left = |one: &EncryptionFound| !one.opened;
    let plain = options.engine.and_then(|engine| engine.plain.as_ref());
    let Some(plain) = plain.filter(|_| opened.found.iter().any(is_left)) else {
        return opened;
    };
    let (parsing, mut buffers) = (options.parsing(), Buffers::new());
    let plain = without_wrappers(plain.clone(), &parsing, &mut buffers);
    let Ok(document) = Document::parse(plain, &parsing, &mut buffers) else {
        return opened;
    };
    let left = nodes(&document, "EncryptedData").len();
    let is_left_data = |one: &&EncryptionFound| is_left(one) && one.kind == DATA;
    if left < opened.found.iter().filter(is_left_data).count() {
        opened.document = Some(document);
    }
    if left == 0 {
        for found in opened.found.iter_mut().filter(|one| is_left(one)) {
            found.opened = true;
            "opened by a key of the endpoint file".clone_into(&mut found.says);
        }
    }
    opened
}

/// Opens what can be opened with known keys. The document is read anew, since deciphering changes
/// it.
fn deciphered(
    source: &[u8],
    options: &Options<'_>,
    of_request: &[(String, SymmetricKey)],
) -> Opened {
    let known = &options.known;
    let mut opened = Opened {
        document: None,
        secrets: known.secrets.iter().chain(of_request).cloned().collect(),
        holders: Vec::new(),
        found: Vec::new(),
        budget: Budget::new(options.work),
    };
    let options = options.parsing();
    let mut buffers = Buffers::new();
    let Ok(mut document) = Document::parse(source.to_vec(), &options, &mut buffers) else {
        return opened;
    };
    for (id, name, key) in password_keys::keys(&document, known) {
        opened
            .holders
            .extend(id.map(|id| (id, opened.secrets.len())));
        opened.secrets.push((name, key));
    }
    let data: Vec<NodeId> = nodes(&document, "EncryptedData");
    for node in nodes(&document, "EncryptedKey") {
        encrypted_key(&document, node, &data, known, &mut opened);
    }
    let derived = derive(&document, &mut opened.secrets);
    opened.holders.extend(derived);
    let mut any = false;
    for node in data {
        any |= encrypted_data(&mut document, node, &options, &mut buffers, &mut opened);
    }
    if any {
        let mut plain = Vec::new();
        document.write(document.root().id(), &mut plain);
        let plain = without_wrappers(plain, &options, &mut buffers);
        opened.document = Document::parse(plain, &options, &mut buffers).ok();
    }
    opened
}

fn nodes(document: &Document, local: &str) -> Vec<NodeId> {
    let elements = document.elements_named(XENC, local).take(MOST);
    elements.map(|element| element.id()).collect()
}

/// The announced method first, then what senders confuse it with.
fn methods(announced: &KeyEncryption) -> Vec<(KeyEncryption, Option<Step>)> {
    let mut methods = vec![(announced.clone(), None)];
    if !matches!(announced, KeyEncryption::Transport { .. }) {
        return methods;
    }
    let oaep = |digest, mgf| KeyEncryption::Transport {
        algorithm: KeyTransport::RsaOaep,
        oaep: OaepParameters::new(digest, mgf),
    };
    use DigestAlgorithm::{Sha1, Sha256, Sha512};
    let others = [
        (
            KeyEncryption::Transport {
                algorithm: KeyTransport::Rsa15,
                oaep: OaepParameters::default(),
            },
            "PKCS#1 v1.5 (rsa-1_5)",
        ),
        (oaep(Sha1, Sha1), "OAEP with SHA-1"),
        (
            oaep(Sha256, Sha1),
            "OAEP with the digest SHA-256 and the mask SHA-1",
        ),
        (
            oaep(Sha256, Sha256),
            "OAEP with SHA-256 for digest and mask",
        ),
        (
            oaep(Sha1, Sha256),
            "OAEP with the digest SHA-1 and the mask SHA-256",
        ),
        (
            oaep(Sha512, Sha1),
            "OAEP with the digest SHA-512 and the mask SHA-1",
        ),
        (
            oaep(Sha512, Sha512),
            "OAEP with SHA-512 for digest and mask",
        ),
    ];
    for (method, name) in others {
        let says = format!("the padding {name} in the place of the one that is announced");
        methods.push((method, Some(Step::new("key-transport", says))));
    }
    methods
}

fn encrypted_key(
    document: &Document,
    node: NodeId,
    data: &[NodeId],
    known: &Known,
    opened: &mut Opened,
) {
    let element = document.element(node);
    let mut found = EncryptionFound {
        kind: "EncryptedKey",
        line: element.line_column().0,
        algorithm: method_of(element),
        opened: false,
        says: String::new(),
        causes: Vec::new(),
    };
    match EncryptedKey::parse(document, node, 1024) {
        Err(error) => found.says = format!("cannot be read: {error}"),
        Ok(key) => {
            // Only data tells whether a key is right: some paddings fail in silence.
            let sample = key
                .data_references
                .iter()
                .find_map(|uri| document.by_id(uri.strip_prefix('#')?).ok().flatten())
                .or_else(|| data.first().copied())
                .and_then(|node| EncryptedData::parse(document, node).ok());
            'methods: for (method, step) in methods(&key.method) {
                let mut variant = key.clone();
                variant.method = method;
                for (name, secret) in candidates(&variant, known, sample.as_ref(), opened) {
                    // A key for signatures alone enciphers nothing: its padding has to tell. The
                    // announced one tells also where the data is under another name.
                    let is_alone = key.data_references.is_empty() || step.is_none();
                    let tells = is_alone && !is_silent(&variant.method);
                    if !tells && !opens(document, sample.as_ref(), &secret, &mut opened.budget) {
                        continue;
                    }
                    found.opened = true;
                    found.says = format!("opened with {name}");
                    if let Some(step) = step {
                        found.causes.push(Cause::proven(
                            &[step],
                            &format!(
                                "{name} opens it, and the key inside opens what it enciphered"
                            ),
                        ));
                    }
                    let name = format!("the session key in line {}", found.line);
                    let holder = key.id.clone().map(|id| (id, opened.secrets.len()));
                    opened.holders.extend(holder);
                    opened.secrets.push((name, secret));
                    break 'methods;
                }
            }
            if !found.opened {
                let has_none = known.private_keys.is_empty() && known.secrets.is_empty();
                found.says = match has_none {
                    true => "not opened: no key is given (--config)".to_owned(),
                    false => "not opened by any of the keys that are given: it was encrypted to another certificate, or changed".to_owned(),
                };
            }
        }
    }
    opened.found.push(found);
}

fn method_of(element: Element<'_>) -> String {
    let method = element.child(XENC, "EncryptionMethod");
    let uri = method.and_then(|method| method.attribute("", "Algorithm"));
    uri.unwrap_or_default().into_owned()
}

/// Session keys that the known keys give.
fn candidates(
    key: &EncryptedKey,
    known: &Known,
    sample: Option<&EncryptedData>,
    opened: &Opened,
) -> Vec<(String, SymmetricKey)> {
    let mut found = Vec::new();
    // The padding of RSA 1.5 wants a length; where the sample has none, any will do.
    let length = sample.map(|sample| sample.method.key_length());
    for (name, private) in &known.private_keys {
        if !matches!(private.kind(), KeyKind::Rsa { .. }) {
            continue;
        }
        for length in [length, None] {
            if let Ok(secret) = key.open(OpeningKey::Private(private), length) {
                found.push((name.clone(), secret));
            }
        }
    }
    for (name, secret) in &opened.secrets {
        if let Ok(secret) = key.open(OpeningKey::Secret(secret), None) {
            found.push((name.clone(), secret));
        }
    }
    found
}

/// Whether a wrong key gives another session key instead of an error.
fn is_silent(method: &KeyEncryption) -> bool {
    let is_rsa15 = |algorithm: &KeyTransport| *algorithm == KeyTransport::Rsa15;
    matches!(method, KeyEncryption::Transport { algorithm, .. } if is_rsa15(algorithm))
}

/// Whether a session key, or one derived from it, opens a sample.
fn opens(
    document: &Document,
    sample: Option<&EncryptedData>,
    secret: &SymmetricKey,
    budget: &mut Budget,
) -> bool {
    let Some(sample) = sample else {
        return false;
    };
    let length = document.source(sample.node).map_or(0, <[u8]>::len);
    let mut all = vec![(String::new(), secret.clone())];
    derive(document, &mut all);
    let mut buffer = Vec::new();
    all.iter().any(|(_, key)| {
        buffer.clear();
        budget.take(length)
            && sample
                .decrypt_octets(document, key, &mut buffer)
                .is_ok_and(|range| std::str::from_utf8(&buffer[range]).is_ok())
    })
}

fn encrypted_data(
    document: &mut Document,
    node: NodeId,
    options: &ParseOptions,
    buffers: &mut Buffers,
    opened: &mut Opened,
) -> bool {
    let element = document.element(node);
    let mut found = EncryptionFound {
        kind: DATA,
        line: element.line_column().0,
        algorithm: method_of(element),
        opened: false,
        says: String::new(),
        causes: Vec::new(),
    };
    match EncryptedData::parse(document, node) {
        Err(error) => found.says = format!("cannot be read: {error}"),
        Ok(data) => {
            let length = document.source(node).map_or(0, <[u8]>::len);
            // The announced cipher first, and then those that it may be confused with.
            let others = DataEncryption::ALL.iter().copied();
            let others = others.filter(|other| *other != data.method);
            let ciphers = std::iter::once(data.method).chain(others);
            let tries = ciphers.flat_map(|cipher| {
                let secrets = opened.secrets.iter();
                let fitting = secrets.filter(move |(_, key)| key.len() == cipher.key_length());
                fitting.map(move |secret| (cipher, secret))
            });
            for (cipher, (name, key)) in tries {
                if !opened.budget.take(length) {
                    break;
                }
                let mut variant = data.clone();
                variant.method = cipher;
                let is_likely = cipher == data.method || begins_a_tag(document, &variant, key);
                if !is_likely || variant.decrypt(document, key, options, buffers).is_err() {
                    continue;
                }
                found.opened = true;
                found.says = format!("deciphered with {name}");
                if cipher != data.method {
                    let says = format!(
                        "the cipher {} under the name {}",
                        cipher.short_name(),
                        data.method.short_name()
                    );
                    let step = Step::new("data-cipher", says);
                    let proof = format!("{name} deciphers it");
                    found.causes.push(Cause::proven(&[step], &proof));
                }
                break;
            }
            if !found.opened {
                found.says = "not deciphered: no key that is known opens it".to_owned();
            }
        }
    }
    let any = found.opened;
    opened.found.push(found);
    any
}

/// Whether the plaintext begins a tag: a cipher without authentication makes any bytes of any key.
fn begins_a_tag(document: &Document, data: &EncryptedData, key: &SymmetricKey) -> bool {
    let mut buffer = Vec::new();
    let range = data.decrypt_octets(document, key, &mut buffer);
    range.is_ok_and(|range| buffer[range].first() == Some(&b'<'))
}

/// Header blocks in the place of the `wsse11:EncryptedHeader` that held them.
fn without_wrappers(plain: Vec<u8>, options: &ParseOptions, buffers: &mut Buffers) -> Vec<u8> {
    let Ok(document) = Document::parse(plain.clone(), options, buffers) else {
        return plain;
    };
    let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
    for element in document.elements_named(WSSE11, "EncryptedHeader") {
        if element.child(XENC, "EncryptedData").is_some() {
            continue;
        }
        let (whole, tag) = (element.range(), element.start_tag_range());
        let inside = document.content_source(element.id()).map_or(0, <[u8]>::len);
        ranges.push(tag.start as usize..tag.end as usize);
        ranges.push(tag.end as usize + inside..whole.end as usize);
    }
    let mut out = Vec::with_capacity(plain.len());
    let mut copied = 0;
    for range in ranges {
        out.extend_from_slice(&plain[copied..range.start]);
        copied = range.end;
    }
    out.extend_from_slice(&plain[copied..]);
    out
}

/// What a `wsc:DerivedKeyToken` says.
pub(crate) struct Derivation {
    pub(crate) id: String,
    pub(crate) label: Option<String>,
    pub(crate) nonce_text: String,
    pub(crate) nonce: Vec<u8>,
    pub(crate) offset: usize,
    pub(crate) generation: Option<usize>,
    pub(crate) length: usize,
}

/// The derived keys of a message.
pub(crate) fn derivations(document: &Document) -> Vec<Derivation> {
    let all = document.root().descendants();
    let tokens = all
        .filter(|element| element.local() == "DerivedKeyToken")
        .take(MOST);
    tokens
        .map(|token| {
            let text = |local: &str| {
                let mut children = token.children();
                let child = children.find(|child| child.local() == local);
                child.map(|child| child.text().trim().to_owned())
            };
            let number = |local: &str| text(local).and_then(|text| text.parse().ok());
            let nonce_text = text("Nonce").unwrap_or_default();
            let length = number("Length").unwrap_or(32);
            let generation: Option<usize> = number("Generation");
            let id = token
                .attributes()
                .find(|attribute| attribute.local() == "Id")
                .map(|attribute| attribute.value().into_owned());
            Derivation {
                id: id.unwrap_or_default(),
                label: text("Label"),
                nonce: base64::decode_xml_to_vec(nonce_text.as_bytes()).unwrap_or_default(),
                nonce_text,
                offset: number("Offset")
                    .or_else(|| Some(generation?.saturating_mul(length)))
                    .unwrap_or(0),
                generation,
                length,
            }
        })
        .collect()
}

/// Adds the keys that the message derives from each secret, and says which token derives which.
fn derive(document: &Document, secrets: &mut Vec<(String, SymmetricKey)>) -> Vec<Holder> {
    let sources = secrets.clone();
    let mut holders = Vec::new();
    for derivation in derivations(document) {
        for (name, secret) in &sources {
            let label = derivation.label.as_deref().unwrap_or(DEFAULT_LABEL);
            let seed: [&[u8]; 2] = [label.as_bytes(), &derivation.nonce];
            let derived =
                PHash::SHA1.derive(secret.expose(), &seed, derivation.offset, derivation.length);
            if secrets.len() < MOST_SECRETS
                && let Ok(key) = derived
                && let Ok(key) = SymmetricKey::from_secret(key)
            {
                holders.push((derivation.id.clone(), secrets.len()));
                secrets.push((
                    format!("the key `#{}` derived from {name}", derivation.id),
                    key,
                ));
            }
        }
    }
    holders
}

/// Whether an element is or holds cipher text.
pub(crate) fn is_encrypted(element: Element<'_>) -> bool {
    element
        .descendants()
        .any(|inside| inside.is(XENC, "EncryptedData") || inside.is(WSSE11, "EncryptedHeader"))
}
