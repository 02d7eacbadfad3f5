//! Session keys that an attacker chooses. No signature covers the `EncryptedKey`, and anybody has
//! the certificate of the receiver. Where the signature is over cipher text, another key makes
//! another text of it.

use soapstone_crypto::{KeyTransport, OaepParameters, SymmetricKey, base64};
use soapstone_wss::{Mechanism, Policy};

use crate::derivations::{cut, encrypted_key};
use crate::support::*;

/// The message with another session key, which its receiver can unwrap.
fn with_key(message: &str, number: u32) -> String {
    let mut key = vec![7; 32];
    key[..4].copy_from_slice(&number.to_be_bytes());
    let key = SymmetricKey::new(key).unwrap();
    let receiver = PARTIES.service.certificate().public_key();
    let oaep = OaepParameters::default();
    let wrapped = receiver.wrap(KeyTransport::RsaOaepMgf1p, &oaep, key.expose());
    let former = encrypted_key(message);
    let value = cut(former, "<xenc:CipherValue>", "</xenc:CipherValue>");
    let other = base64::encode(&wrapped.unwrap());
    let other = format!("<xenc:CipherValue>{other}</xenc:CipherValue>");
    message.replacen(value, &other, 1)
}

/// What the receiver takes of a message with a small Body, under the first of so many keys that it
/// takes anything under.
fn taken(policy: &Policy, keys: u32) -> Option<String> {
    let start = PLAIN.find("<e:echo").unwrap();
    let end = PLAIN.find("</soap:Body>").unwrap();
    let plain = [&PLAIN[..start], "<a/>", &PLAIN[end..]].concat();
    let message = secure(policy, &plain);
    let right = forwarded(&open(policy, &message).unwrap());
    assert!(right.contains("<a"), "{right}");
    let other = (0..keys).find_map(|number| open(policy, &with_key(&message, number)).ok());
    other.map(|opened| forwarded(&opened))
}

/// The stated limit (SECURITY.md): cipher text of one block in CBC, signed as cipher text.
#[test]
fn a_key_can_be_found_under_which_one_block_of_signed_cipher_text_says_something_else() {
    // Of 256 keys, one makes the padding a whole block, and the Body is empty.
    let taken = taken(&policy(Mechanism::EncryptSign, "Basic256"), 8192);
    assert!(!taken.expect("a key").contains("<a"));
}

#[test]
fn no_other_key_opens_what_its_tag_covers_or_what_was_signed_in_plain_text() {
    for (mechanism, suite) in [
        (Mechanism::EncryptSign, "Basic256GCM"),
        (Mechanism::SignEncrypt, "Basic256"),
        (Mechanism::SignEncrypt, "Basic256GCM"),
    ] {
        assert_eq!(
            taken(&policy(mechanism, suite), 800),
            None,
            "{mechanism} {suite}"
        );
    }
}
