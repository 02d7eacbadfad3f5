//! Cipher text of somebody else's in a message of one's own: to sign it, or to have it beside what
//! one signs, takes no knowledge of what it holds.

use soapstone_crypto::KeyKind;
use soapstone_wss::{
    EncryptedPart, KeyBinding, KeyReference, Keys, Mechanism, Part, PasswordKind, Policy,
    ProtectionOrder, Rejected,
};

use super::signers::two_session_keys;
use super::{cut, refuse};
use crate::conversations::bound;
use crate::support::Adjust as _;
use crate::support::*;

/// A policy with a password, signed and encrypted: `sp:SignedEncryptedSupportingTokens`
/// (WS-SecurityPolicy 1.3, 8.6).
fn with_password(key: KeyBinding, order: ProtectionOrder) -> Policy {
    let mut policy = bound(
        Mechanism::SignEncrypt,
        "Basic128GCM",
        key,
        KeyReference::Thumbprint,
    );
    policy.set_order(order);
    if key == KeyBinding::Certificate {
        policy.name_signing_key(KeyReference::Direct);
    }
    policy.set_username(
        self::policy(Mechanism::Username, "Basic128GCM")
            .username()
            .cloned(),
    );
    policy.username_mut().unwrap().passwords = vec![PasswordKind::Text];
    let token = Part::UsernameToken;
    policy.parts.signed.push(token.clone());
    let encrypted = &mut policy.parts.encrypted;
    encrypted.push(EncryptedPart::customary(token));
    policy
}

/// The keys of another partner.
fn mallory() -> Keys {
    let rsa = KeyKind::Rsa { bits: 2048 };
    Keys {
        identity: Some(identity("CN=mallory", rsa)),
        ..client_keys()
    }
}

fn id_of(element: &str) -> &str {
    let at = element.find(" Id=\"").unwrap() + 5;
    &element[at..at + element[at..].find('"').unwrap()]
}

/// What deciphers `id`.
fn list(id: &str) -> String {
    let namespace = soapstone_wss::names::XENC;
    format!(
        "<xenc:ReferenceList xmlns:xenc=\"{namespace}\"><xenc:DataReference URI=\"#{id}\"/></xenc:ReferenceList>"
    )
}

fn before(message: &str, mark: &str, elements: &[&str]) -> String {
    assert!(message.contains(mark), "no {mark} in {message}");
    message.replacen(mark, &format!("{}{mark}", elements.concat()), 1)
}

/// A message of Mallory's with his own Body, which signs the encrypted password of `captured`; and
/// the elements that decipher that, and it.
fn splice(policy: &Policy, captured: &str) -> (String, [String; 3]) {
    let data = cut(captured, "xenc:EncryptedData");
    let id = id_of(data);
    assert!(id.ends_with("-user-data"), "{id}");
    let mut his = with(policy, |policy| policy.set_username(None));
    let parts = &mut his.parts.signed;
    parts.retain(|part| *part != Part::UsernameToken);
    parts.push(Part::Id(id.to_owned()));
    let encrypted = &mut his.parts.encrypted;
    encrypted.retain(|wanted| wanted.part != Part::UsernameToken);
    let plain = before(PLAIN, "<a:To>", &[data]).replace("mehr", "weniger");
    let message = String::from_utf8(secure_with(&his, mallory(), &plain, None).bytes).unwrap();
    // It was a header block while he signed it.
    let message = message.replacen(data, "", 1);
    let key = cut(captured, "xenc:EncryptedKey").to_owned();
    (message, [key, list(id), data.to_owned()])
}

/// WS-SecurityPolicy 1.3, 6.3: what is signed before it is encrypted is signed by somebody who
/// knows it. A signature that refers to what was deciphered already is over the cipher text all the
/// same.
#[test]
fn an_encrypted_password_is_of_no_use_to_whoever_signs_its_cipher_text() {
    let policy = with_password(
        KeyBinding::Certificate,
        ProtectionOrder::SignBeforeEncrypting,
    );
    let captured = secure(&policy, PLAIN);
    assert!(open(&policy, &captured).is_ok());
    let (message, [key, list, data]) = splice(&policy, &captured);
    let key = key.replace(cut(&key, "xenc:ReferenceList"), &list);
    let message = before(&message, "<ds:Signature ", &[&key]);
    let message = before(&message, "</wsse:Security>", &[&data]);
    let part = Part::UsernameToken;
    assert_eq!(refuse(&policy, &message), Rejected::WrongOrder { part });
}

/// The Body of a partner's message, as it was encrypted, inside of the encrypted Body of another
/// one's, whose signature is verified in between.
#[test]
fn an_encrypted_body_inside_of_ones_own_is_not_what_one_signs() {
    let policy = policy(Mechanism::SignEncrypt, "Basic128GCM");
    let captured = secure(&policy, PLAIN);
    let body = &captured[captured.find("<soap:Body").unwrap()..];
    let data = cut(body, "xenc:EncryptedData");
    let plain = PLAIN.replace(cut(PLAIN, "e:echo"), data);
    let secured = secure_with(&policy, mallory(), &plain, None);
    let message = String::from_utf8(secured.bytes).unwrap();
    assert!(open(&policy, &message).is_ok());
    let key = cut(&captured, "xenc:EncryptedKey");
    let key = key.replace(cut(key, "xenc:ReferenceList"), &list(id_of(data)));
    let message = before(&message, "</wsse:Security>", &[&key]);
    let part = Part::Body;
    assert_eq!(refuse(&policy, &message), Rejected::WrongOrder { part });
}

/// A header block that the plan does not name is passed on as the sender's if he has signed it; not
/// so what he has not read.
#[test]
fn an_encrypted_header_block_is_not_of_whoever_signs_its_cipher_text() {
    let to = Part::Header {
        namespace: "http://www.w3.org/2005/08/addressing".to_owned(),
        local: "To".to_owned(),
    };
    let policy = policy(Mechanism::SignEncrypt, "Basic128GCM");
    let mut theirs = policy.clone();
    theirs.parts.signed.push(to.clone());
    let encrypted = &mut theirs.parts.encrypted;
    encrypted.push(EncryptedPart::customary(to));
    let captured = secure(&theirs, PLAIN);
    assert!(forwarded(&open(&policy, &captured).unwrap()).contains("<a:To "));
    let block = cut(&captured, "wsse11:EncryptedHeader");
    let id = id_of(cut(block, "xenc:EncryptedData"));
    let mut his = policy.clone();
    let parts = &mut his.parts.signed;
    parts.push(Part::Id(id.to_owned()));
    let plain = PLAIN.replace(cut(PLAIN, "a:To"), block);
    let message = String::from_utf8(secure_with(&his, mallory(), &plain, None).bytes).unwrap();
    let key = cut(&captured, "xenc:EncryptedKey");
    let key = key.replace(cut(key, "xenc:ReferenceList"), &list(id));
    for place in ["</wsse:Security>", "<ds:Signature "] {
        let message = before(&message, place, &[&key]);
        let opened = open(&policy, &message).unwrap();
        let dropped = ["{http://www.w3.org/2005/08/addressing}To"];
        assert_eq!(opened.evidence().dropped[..1], dropped);
        assert!(!forwarded(&opened).contains("a:To"));
    }
}

/// WS-SecurityPolicy 1.3, 7.4: one token protects the message. Who signs cipher text with a session
/// key of his own has deciphered it with another one.
#[test]
fn an_encrypted_password_is_of_no_use_beside_a_session_key_of_ones_own() {
    let signed = with_password(
        KeyBinding::SessionKey,
        ProtectionOrder::EncryptBeforeSigning,
    );
    let mut unsigned = signed.clone();
    let parts = &mut unsigned.parts.signed;
    parts.retain(|part| *part != Part::UsernameToken);
    for policy in [signed, unsigned] {
        let captured = secure(&policy, PLAIN);
        assert!(open(&policy, &captured).is_ok());
        let (message, [key, list, data]) = splice(&policy, &captured);
        let by_itself = key.replace("</xenc:CipherData>", &format!("</xenc:CipherData>{list}"));
        for deciphering in [[key.as_str(), &list].as_slice(), &[&by_itself]] {
            let spliced = before(&message, "</wsse:Security>", deciphering);
            let spliced = before(&spliced, "</wsse:Security>", &[&data]);
            assert_eq!(refuse(&policy, &spliced), two_session_keys());
        }
    }
}
