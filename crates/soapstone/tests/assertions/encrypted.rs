//! Assertions that are encrypted for their receiver.

use soapstone::mime::{Attachment, Message};
use soapstone::{Opener, Securer};
use soapstone_testkit::keys;

use super::mistakes::problems;
use super::{
    BEARERS, CLIENT, SERVICE, accepting, endpoint, exchange_with, memory, of_alice, plain,
};

/// The file demands cipher text of the assertion's own, and refuses it where it does not say so.
#[test]
fn an_assertion_is_encrypted_for_its_receiver() {
    let folder = of_alice();
    let hiding = |text: &str| text.replace("[saml]\n", "[saml]\nencrypted = true\n");
    for mechanism in ["sign", "sign-encrypt"] {
        let security = format!("[security]\nmechanism = \"{mechanism}\"\n");
        let (client, service) = (hiding(CLIENT), hiding(SERVICE));
        let request = exchange_with(&folder, &client, &service, &security);
        assert!(request.contains("<saml:EncryptedAssertion "));
        assert!(!request.contains("alice"));
        // BSP 1.1, R5426: a reference names whose key it is.
        let (_, key) = request.split_once("-saml-key\"").expect("a key");
        let (_, info) = key.split_once("<ds:KeyInfo").expect("whose it is");
        let (_, named) = info.split_once('>').expect("its start");
        assert!(named.starts_with("<wsse:SecurityTokenReference"), "{named}");
        for (sent, opened, expected) in [
            (CLIENT, service.as_str(), "unencrypted"),
            (client.as_str(), SERVICE, "element-unexpected"),
        ] {
            let securer: Securer = endpoint(&folder, &format!("{sent}{security}"));
            let secured = securer.secure(plain());
            let opener: Opener = endpoint(&folder, &format!("{opened}{security}"));
            let refused = opener.verify(secured.unwrap().bytes, memory());
            assert_eq!(refused.unwrap_err().name(), expected);
        }
    }
    // Keys of `encryption` say of which form that cipher text is.
    for (forms, is_of_nothing) in [
        ("implied_digest = true", false),
        ("derivation_info = \"00\"", false),
        ("encrypted_header = false", true),
    ] {
        let told = problems(&format!(
            "{}[security.encryption]\n{forms}\n",
            accepting("bearer", "none", "encrypted = true")
        ));
        let expected = "is given, and nothing encrypts messages";
        assert_eq!(told.contains(expected), is_of_nothing, "{told}");
    }
    let told = problems(&accepting("bearer", "none", "encrypted = true"));
    let expected = "our private key is needed to decipher assertions";
    assert!(told.contains(expected), "{told}");
}

/// Nothing but its issuer vouches for the client's key: answers are encrypted to it all the same.
/// Cipher text of a token alone protects nothing of its message.
#[test]
fn an_encrypted_assertion_leaves_attachments_to_tls() {
    let folder = of_alice();
    let idp = keys::identity("CN=idp", keys::RSA);
    folder.write("alice.saml.xml", BEARERS.about("alice", &idp));
    let bearer = |text: &str| {
        let text = text.replace("holder-of-key", "bearer");
        let text = text.replace("[saml]\n", "[saml]\nencrypted = true\n");
        format!("{text}[security]\nmechanism = \"none\"\nattachments = {{ }}\n")
    };
    let own = "[identity]\nkey = \"alice.key.pem\"\ncertificate = \"alice.cert.pem\"\n";
    let trust = "[trust]\npinned = [\"service.cert.pem\"]\n";
    let client = CLIENT.replace(own, "").replace(trust, "");
    let securer: Securer = endpoint(&folder, &bearer(&client));
    let opener: Opener = endpoint(&folder, &bearer(SERVICE));
    assert!(opener.needs_tls());
    let message = Message {
        root: plain(),
        parts: vec![Attachment::new("a@x", "text/plain", b"7".to_vec()).unwrap()],
    };
    let secured = securer.secure(message).unwrap();
    let message = Message {
        root: secured.bytes,
        parts: secured.parts,
    };
    let verified = opener.verify(message, memory()).unwrap();
    let evidence = verified.evidence();
    assert!(!evidence.encrypted.is_empty() && !evidence.hides_body);
    assert_eq!(opener.has_uncovered_part(evidence).ok(), Some(false));
}
