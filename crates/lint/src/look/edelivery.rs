//! Algorithms of eDelivery AS4 1.15 (1.4.2.6), and who may prove what.

use crate::element::Element;

use crate::findings::{Findings, quoted};
use crate::message::Message;
use crate::names::{
    AES128_GCM, DS, MGF1_SHA256, RSA_OAEP_11, RSA_SHA256, SHA256, SOAP12, XENC, XENC11,
};

pub(crate) fn look(message: &Message<'_>, findings: &mut Findings) {
    if message.soap != SOAP12 {
        let expected = "an envelope of SOAP 1.2";
        let found = "one of SOAP 1.1";
        findings.add("edelivery-soap-version", message.envelope, expected, found);
    }
    for token in &message.usernames {
        let expected = "an X.509 token alone";
        let found = "a user";
        findings.add("edelivery-username-token", *token, expected, found);
    }
    for signature in &message.signatures {
        let Some(info) = signature.child(DS, "SignedInfo") else {
            continue;
        };
        for child in info.children() {
            if child.is(DS, "SignatureMethod") {
                let rule = "edelivery-signature-method";
                look_at_algorithm(rule, child, RSA_SHA256, findings);
            } else if let Some(digest) = child.child(DS, "DigestMethod") {
                look_at_algorithm("edelivery-digest", digest, SHA256, findings);
            }
        }
    }
    for data in &message.encrypted_data {
        if let Some(method) = data.child(XENC, "EncryptionMethod") {
            look_at_algorithm("edelivery-cipher", method, AES128_GCM, findings);
        }
    }
    for key in &message.encrypted_keys {
        let Some(method) = key.child(XENC, "EncryptionMethod") else {
            continue;
        };
        let rule = "edelivery-key-transport";
        if !look_at_algorithm(rule, method, RSA_OAEP_11, findings) {
            continue;
        }
        for (rule, namespace, local, wanted) in [
            ("edelivery-oaep-digest", DS, "DigestMethod", SHA256),
            ("edelivery-oaep-mask", XENC11, "MGF", MGF1_SHA256),
        ] {
            match method.child(namespace, local) {
                Some(child) => {
                    look_at_algorithm(rule, child, wanted, findings);
                }
                // Without the element the algorithm is one with SHA-1.
                None => findings.add(rule, method, quoted(Some(wanted)), "none"),
            }
        }
    }
}

/// Whether an element names the algorithm that is wanted; tells if not.
fn look_at_algorithm(
    rule: &str,
    element: Element<'_>,
    wanted: &str,
    findings: &mut Findings,
) -> bool {
    let algorithm = element.attribute("", "Algorithm");
    let is_wanted = algorithm.as_deref() == Some(wanted);
    if !is_wanted {
        let found = quoted(algorithm.as_deref());
        findings.add(rule, element, quoted(Some(wanted)), found);
    }
    is_wanted
}
