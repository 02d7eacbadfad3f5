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

/// Longest key whose misreadings are tried.
const LONGEST: usize = 4096;

/// The keys as senders misread them, as they are first.
pub(crate) fn variants(
    secrets: &[(String, SymmetricKey)],
    foreign: &[(String, SymmetricKey)],
    derivations: &[Derivation],
) -> Vec<(SymmetricKey, Option<Step>)> {
    let mut variants: Vec<(SymmetricKey, Option<Step>)> = Vec::new();
    for (_, key) in secrets {
        variants.push((key.clone(), None));
    }
    for (name, key) in foreign {
        let step = Step::new("key-of-another-message", format!("{name} as the key"));
        variants.push((key.clone(), Some(step)));
    }
    let misread = secrets.iter().filter(|(_, key)| key.len() <= LONGEST);
    for (name, key) in misread.take(MOST) {
        let bytes = key.expose();
        let mut add = |kind: &'static str, says: String, bytes: Vec<u8>| {
            if let Ok(key) = SymmetricKey::new(bytes) {
                variants.push((key, Some(Step::new(kind, says))));
            }
        };
        add(
            "key-in-base64",
            format!("the base64 text of {name} as the key"),
            base64::encode(bytes).into_bytes(),
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
        for algorithm in [DigestAlgorithm::Sha1, DigestAlgorithm::Sha256] {
            if let Ok(digest) = digest(algorithm, bytes) {
                add(
                    "key-hashed",
                    format!("the {} digest of {name} as the key", algorithm.short_name()),
                    digest.as_ref().to_vec(),
                );
            }
        }
        for (says, bytes) in derived(derivations, bytes) {
            add(
                "derived-otherwise",
                format!("a key derived from {name} {says}"),
                bytes,
            );
        }
    }
    variants
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
        let variants = variants(&secrets, &[], &[]);
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
