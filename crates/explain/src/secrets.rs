//! Keys that both sides hold, as senders misread them: as text, in another code, hashed, derived
//! otherwise.
//!
//! The rule kept here: the keys as they are come first.

use soapstone_crypto::{DigestAlgorithm, PHash, SymmetricKey, base64, digest, hexadecimal};
use soapstone_wss::DEFAULT_LABEL;

use crate::cause::Step;
use crate::opened::Derivation;

/// Most keys whose misreadings are tried.
const MOST: usize = 8;

/// Lengths of keys that are cut, bytes: those of AES and of Triple DES.
const LENGTHS: [usize; 3] = [16, 24, 32];

/// Longest key whose misreadings are tried.
const LONGEST: usize = 4096;

/// Secrets that both sides may hold.
pub(crate) struct Secrets<'k> {
    pub(crate) all: &'k [(String, SymmetricKey)],
    /// Places of those that the signature names; each is as good as another if there are none.
    pub(crate) named: Vec<usize>,
    /// Secrets of another message.
    pub(crate) foreign: &'k [(String, SymmetricKey)],
    pub(crate) derivations: &'k [Derivation],
    /// Keys of passwords as they may have been derived, with what was done.
    pub(crate) of_passwords: &'k [(String, SymmetricKey)],
}

impl<'k> Secrets<'k> {
    /// All of them with their places: those that the signature names, and then the others.
    fn in_order(&self) -> impl Iterator<Item = (usize, &'k (String, SymmetricKey))> {
        let is_named = |place: &usize| self.named.contains(place);
        let others = (0..self.all.len()).filter(move |place| !is_named(place));
        let places = self.named.iter().copied().chain(others);
        let secrets = self.all;
        places.filter_map(move |place| Some((place, secrets.get(place)?)))
    }

    /// The name of the first one.
    pub(crate) fn first(&self) -> Option<&'k str> {
        let of_message = self.in_order().map(|(_, secret)| secret);
        let mut all = of_message.chain(self.foreign);
        all.next().map(|(name, _)| name.as_str())
    }
}

/// A key as it may have been meant, and what leads to it.
pub(crate) type Variant = (SymmetricKey, Option<Step>);

/// The keys as senders misread them, as they are first.
pub(crate) fn variants(secrets: &Secrets<'_>) -> Vec<Variant> {
    let mut variants: Vec<Variant> = Vec::new();
    for (place, (name, key)) in secrets.in_order() {
        let is_meant = secrets.named.is_empty() || secrets.named.contains(&place);
        let step = (!is_meant).then(|| {
            let says = format!("{name} as the key, which the signature does not name");
            Step::new("other-secret", says)
        });
        variants.push((key.clone(), step));
    }
    for (name, key) in secrets.foreign {
        let step = Step::new("key-of-another-message", format!("{name} as the key"));
        variants.push((key.clone(), Some(step)));
    }
    for (says, key) in secrets.of_passwords {
        let step = Step::new("derived-otherwise", says.as_str());
        variants.push((key.clone(), Some(step)));
    }
    let misread = secrets.in_order().map(|(_, secret)| secret);
    let misread = misread.filter(|(_, key)| key.len() <= LONGEST);
    for (name, key) in misread.take(MOST) {
        let bytes = key.expose();
        let mut add = |kind: &'static str, says: String, bytes: Vec<u8>| {
            if let Ok(key) = SymmetricKey::new(bytes) {
                variants.push((key, Some(Step::new(kind, says))));
            }
        };
        let text = base64::encode(bytes);
        let unpadded = text.trim_end_matches('=').as_bytes().to_vec();
        add(
            "key-in-base64",
            format!("the base64 text of {name} as the key"),
            text.into_bytes(),
        );
        add(
            "key-in-base64",
            format!("the base64 text of {name} without padding as the key"),
            unpadded,
        );
        let lower = hexadecimal::encode(bytes);
        add(
            "key-in-hexadecimal",
            format!("the hexadecimal text of {name} as the key"),
            lower.to_lowercase().into_bytes(),
        );
        add(
            "key-in-hexadecimal",
            format!("the hexadecimal text of {name} in capitals as the key"),
            lower.to_uppercase().into_bytes(),
        );
        if let Ok(text) = std::str::from_utf8(bytes) {
            if let Ok(decoded) = base64::decode_xml_to_vec(text.as_bytes()) {
                add(
                    "key-as-text",
                    format!("{name} decoded as base64 as the key, not as text"),
                    decoded,
                );
            }
            if let Some(decoded) = hexadecimal::decode(text.trim()) {
                add(
                    "key-as-text",
                    format!("{name} decoded as hexadecimal as the key, not as text"),
                    decoded,
                );
            }
            add(
                "key-as-text",
                format!("{name} without white space at its ends"),
                text.trim().as_bytes().to_vec(),
            );
            let wide = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            add("key-as-text", format!("{name} in UTF-16 as the key"), wide);
        }
        add(
            "key-as-text",
            format!("{name} with a line end behind it"),
            [bytes, b"\n"].concat(),
        );
        add(
            "key-as-text",
            format!("the bytes of {name} in reverse order"),
            bytes.iter().rev().copied().collect(),
        );
        for length in LENGTHS {
            if let Some(cut) = bytes.get(..length).filter(|cut| cut.len() < bytes.len()) {
                let says = format!("the first {length} bytes of {name} as the key");
                add("key-cut", says, cut.to_vec());
            }
        }
        for algorithm in [
            DigestAlgorithm::Sha1,
            DigestAlgorithm::Sha256,
            DigestAlgorithm::Md5,
            DigestAlgorithm::Sha512,
        ] {
            if let Ok(digest) = digest(algorithm, bytes) {
                add(
                    "key-hashed",
                    format!("the {} digest of {name} as the key", algorithm.short_name()),
                    digest.as_ref().to_vec(),
                );
            }
        }
        for (says, bytes) in derived_from_text(secrets.derivations, bytes) {
            let says = format!("a key derived from {says} of {name}");
            add("derived-otherwise", says, bytes);
        }
        for (says, bytes) in derived(secrets.derivations, bytes) {
            add(
                "derived-otherwise",
                format!("a key derived from {name} {says}"),
                bytes,
            );
        }
    }
    variants
}

/// Keys derived as the message says, of texts of the secret in the place of its bytes.
fn derived_from_text(derivations: &[Derivation], secret: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let texts = [
        ("the base64 text", base64::encode(secret)),
        ("the hexadecimal text", hexadecimal::encode(secret)),
    ];
    let mut found = Vec::new();
    for one in derivations {
        let label = one.label.as_deref().unwrap_or(DEFAULT_LABEL).as_bytes();
        for (says, text) in &texts {
            let seed: [&[u8]; 2] = [label, &one.nonce];
            let key = PHash::SHA1.derive(text.as_bytes(), &seed, one.offset, one.length);
            found.extend(key.map(|key| (*says, key.expose().clone())));
        }
    }
    found
}

/// Keys derived otherwise than the message says.
fn derived(derivations: &[Derivation], secret: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for one in derivations {
        let label = one.label.as_deref().unwrap_or(DEFAULT_LABEL).as_bytes();
        let nonce = one.nonce.as_slice();
        let text = one.nonce_text.as_bytes();
        let half = "WS-SecureConversation".as_bytes();
        let seeds: [(&str, [&[u8]; 2]); 7] = [
            ("as announced", [label, nonce]),
            ("without a label", [b"", nonce]),
            ("with the default label", [DEFAULT_LABEL.as_bytes(), nonce]),
            ("with the label `WS-SecureConversation`", [half, nonce]),
            ("with the base64 text of the nonce", [label, text]),
            ("with the nonce before the label", [nonce, label]),
            ("with no nonce", [label, b""]),
        ];
        let generation = one.generation.unwrap_or(0);
        for (seed_says, seed) in seeds {
            for (hash, hash_says) in [(PHash::SHA1, ""), (PHash::SHA256, " by P_SHA256")] {
                for length in [one.length, 16, 20, 24, 32] {
                    let offsets = [
                        one.offset,
                        0,
                        generation,
                        generation.saturating_mul(length),
                        length,
                        length.saturating_mul(2),
                    ];
                    for (place, offset) in offsets.into_iter().enumerate() {
                        if offsets[..place].contains(&offset) {
                            continue;
                        }
                        if let Ok(key) = hash.derive(secret, &seed, offset, length) {
                            let says = format!(
                                "{seed_says}{hash_says}, {length} bytes from byte {offset} on"
                            );
                            found.push((says, key.expose().clone()));
                        }
                    }
                }
            }
        }
        if found.len() > 400 {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_keys_are_misread_and_all_are_tried_as_they_are() {
        let key = |number: u8| SymmetricKey::new(vec![number; 32]).unwrap();
        let secrets: Vec<(String, SymmetricKey)> = (1..=40)
            .map(|number| (format!("key {number}"), key(number)))
            .collect();
        let naming = |named| Secrets {
            all: &secrets,
            named,
            foreign: &[],
            derivations: &[],
            of_passwords: &[],
        };
        let of_named = variants(&naming(vec![39]));
        let kinds: Vec<Option<&str>> = of_named[..2]
            .iter()
            .map(|(_, step)| step.as_ref().map(|step| step.kind))
            .collect();
        assert_eq!(kinds, [None, Some("other-secret")]);
        assert_eq!(of_named[0].0.expose()[..], [40; 32]);
        let variants = variants(&naming(Vec::new()));
        let as_they_are = variants.iter().filter(|(_, step)| step.is_none());
        assert_eq!(as_they_are.count(), 40);
        let misread = |number: usize| {
            let name = format!(" key {number} ");
            let mut steps = variants.iter().filter_map(|(_, step)| step.as_ref());
            steps.any(|step| format!("{} ", step.says).contains(&name))
        };
        let misread: Vec<usize> = (1..=40).filter(|number| misread(*number)).collect();
        assert_eq!(misread, (1..=MOST).collect::<Vec<usize>>());
    }
}
