//! Types and names of certificates as products write them, beside those of the profiles.

use soapstone_wss::names::{X509, X509_V1, X509_V3_SKI};

use super::*;

/// The message with these types of its token and of the reference to it.
fn typed(message: &str, token: &str, reference: &str) -> String {
    let element = cut(message, "wsse:BinarySecurityToken");
    let message = message.replacen(element, &element.replace(X509_V3, token), 1);
    let element = cut(&message, "wsse:Reference");
    let other = element.replace(X509_V3, reference);
    assert_eq!(element == other, reference == X509_V3);
    message.replacen(element, &other, 1)
}

/// X.509 Token Profile 1.1.1, 3.1: clients of EET, IBM CICS and DataPower do not name a version, or
/// name it in the token alone.
#[test]
fn one_certificate_has_three_types_that_fit_each_other() {
    let policy = signing_by(KeyReference::Direct);
    let message = secure(&policy, PLAIN);
    for token in [X509_V3, X509_V1, X509] {
        for reference in [X509_V3, X509_V1, X509] {
            let message = typed(&message, token, reference);
            assert_eq!(
                open_by_anchor(&policy, &message).as_deref(),
                Ok("CN=client"),
                "{token} {reference}"
            );
        }
        let message = typed(&message, token, X509_V3);
        let untyped = message.replace(
            cut(&message, "wsse:Reference"),
            &cut(&message, "wsse:Reference").replace(&format!(" ValueType=\"{X509_V3}\""), ""),
        );
        assert_ne!(untyped, message);
        open_by_anchor(&policy, &untyped).unwrap();
    }
}

/// BSP 1.1, R3058: a receiver that heeds the type of the reference reads another token.
#[test]
fn a_certificate_and_a_path_have_types_that_do_not_fit_each_other() {
    let policy = signing_by(KeyReference::Direct);
    let message = secure(&policy, PLAIN);
    for (token, reference, found) in [
        (
            X509,
            X509_PKI_PATH_V1,
            format!("a reference of type `{X509_PKI_PATH_V1}` to `{{{WSSE}}}BinarySecurityToken`"),
        ),
        (
            X509_PKI_PATH_V1,
            X509,
            format!("a reference of type `{X509}` to `{{{WSSE}}}BinarySecurityToken`"),
        ),
        ("urn:x#X509", X509_V3, {
            format!("a reference of type `{X509_V3}` to `{{{WSSE}}}BinarySecurityToken`")
        }),
        (
            "urn:x#X509",
            "urn:x#X509",
            "token type `urn:x#X509`".to_owned(),
        ),
    ] {
        let refused = open_by_anchor(&policy, &typed(&message, token, reference)).unwrap_err();
        assert_eq!(
            refused,
            Rejected::TokenUnsupported { found },
            "{token} {reference}"
        );
    }
    // Whatever its type says, it holds one certificate.
    let bytes = base64::encode(client().der());
    let other = base64::encode(&Certificate::to_pki_path(&[client().clone()]));
    let path = typed(&message, X509, X509).replace(&bytes, &other);
    let refused = open_by_anchor(&policy, &path).unwrap_err();
    assert_eq!(refused.name(), "malformed", "{refused}");
}

/// X.509 Token Profile 1.1.1, 3.2.1: DataPower has a name of its own.
#[test]
fn a_subject_key_identifier_has_two_types() {
    let policy = signing_by(KeyReference::Direct);
    for value_type in [X509_SKI, X509_V3_SKI] {
        let named = naming(&key_identifier(value_type, client().ski()));
        assert_eq!(
            open_by_anchor(&policy, &named).as_deref(),
            Ok("CN=client"),
            "{value_type}"
        );
        let stranger = naming(&key_identifier(value_type, stranger().ski()));
        let refused = open_by_anchor(&policy, &stranger).unwrap_err();
        assert_eq!(refused.name(), "key-not-found", "{value_type}");
    }
}
