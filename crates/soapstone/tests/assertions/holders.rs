//! Whoever has the key of an assertion: calls with it, and the answers.

use soapstone::crypto::base64;
use soapstone::wss::names;
use soapstone::{Arrived, Client, Opener, Securer, Service};
use soapstone_testkit::assertion::ID;

use super::{
    CLIENT, PROVING_CLIENT, SERVICE, endpoint, exchange, exchange_with, memory, of_alice,
    of_alices_secret, plain,
};

#[test]
fn the_holder_of_an_assertion_calls_a_service() {
    let folder = of_alice();
    exchange(&folder, "[security]\nmechanism = \"sign\"\n");
    exchange(&folder, "[security]\nmechanism = \"sign-encrypt\"\n");
}

/// SAML Token Profile 1.1.1, 3.5.1: the holder's key is a secret that the service deciphers.
#[test]
fn the_holder_of_a_symmetric_key_calls_a_service() {
    let folder = of_alices_secret();
    let client = PROVING_CLIENT;
    let service = SERVICE.replace("[saml]\n", "[saml]\nholder_key = \"symmetric\"\n");
    for mechanism in ["sign", "sign-encrypt", "encrypt-sign"] {
        for derived in [true, false] {
            let set = |text: &str| match derived {
                true => text.to_owned(),
                false => text.replace("[saml]\n", "[saml]\nderived_keys = false\n"),
            };
            let security = format!("[security]\nmechanism = \"{mechanism}\"\n");
            let request = exchange_with(&folder, &set(client), &set(&service), &security);
            assert_eq!(request.contains("DerivedKeyToken"), derived);
            assert!(request.contains("#hmac-sha") && !request.contains("BinarySecurityToken"));
        }
    }
    let security = "[security]\nmechanism = \"sign\"\n";
    let hidden = |text: &str| text.replace("[saml]\n", "[saml]\nencrypted = true\n");
    let peer = "[peer]\ncertificate = \"service.cert.pem\"\n";
    let request = exchange_with(
        &folder,
        &(hidden(client) + peer),
        &hidden(&service),
        security,
    );
    assert!(request.contains("<saml:EncryptedAssertion "));
    // The assertion has another key than a thief, or than an operator takes for it.
    folder.write("alice.key.txt", base64::encode(&[8; 32]));
    let stolen: Securer = endpoint(&folder, &format!("{client}{security}"));
    let stolen = stolen.secure(plain());
    let opener: Opener = endpoint(&folder, &format!("{service}{security}"));
    let refused = opener.verify(stolen.unwrap().bytes, memory());
    assert_eq!(refused.unwrap_err().name(), "signature-mismatch");
    // A file that does not say so has public keys.
    folder.write("alice.key.txt", base64::encode(&[7; 32]));
    let sent: Securer = endpoint(&folder, &format!("{client}{security}"));
    let sent = sent.secure(plain());
    let opener: Opener = endpoint(&folder, &format!("{SERVICE}{security}"));
    let refused = opener.verify(sent.unwrap().bytes, memory());
    assert_eq!(refused.unwrap_err().name(), "element-unexpected");
}

/// SAML Token Profile 1.1.1, 3.4: the key of an answer is for the holder of the assertion that the
/// request had, and of no other one.
#[test]
fn an_answer_names_the_assertion_of_its_request() {
    let folder = of_alice();
    let security = "[security]\nmechanism = \"sign-encrypt\"\n";
    let client: Client = endpoint(&folder, &format!("{CLIENT}{security}"));
    let service: Service = endpoint(&folder, &format!("{SERVICE}{security}"));
    for (version, id, expected) in [
        ("SAMLID", ID, None),
        ("SAMLID", "_another", Some("key-not-found")),
        ("SAMLAssertionID", ID, Some("key-not-found")),
    ] {
        let secured = client.secure(plain()).unwrap();
        let arrived = service.receive(secured.bytes, memory()).unwrap();
        let Arrived::Message(opened) = arrived else {
            panic!("a message");
        };
        let answer = service.answer(plain(), &opened.receipt).unwrap();
        let answer = String::from_utf8(answer.bytes).unwrap();
        let (before, key) = answer.split_once("<xenc:EncryptedKey").expect("a key");
        let (method, info) = key.split_once("<ds:KeyInfo").expect("whose it is");
        let (_, after) = info.split_once("</ds:KeyInfo>").expect("its end");
        let kind = match version {
            "SAMLID" => "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.1#SAMLID",
            _ => "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.0#SAMLAssertionID",
        };
        let named = format!(
            "{before}<xenc:EncryptedKey{method}<ds:KeyInfo xmlns:ds=\"{}\"><wsse:SecurityTokenReference xmlns:wsse=\"{}\">\
             <wsse:KeyIdentifier ValueType=\"{kind}\">{id}</wsse:KeyIdentifier></wsse:SecurityTokenReference></ds:KeyInfo>{after}",
            names::DS,
            names::WSSE,
        );
        let opened = client.open(named.into_bytes(), secured.receipt, memory());
        assert_eq!(opened.err().map(|it| it.name()), expected, "{version} {id}");
    }
}
