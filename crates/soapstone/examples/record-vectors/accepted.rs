//! Messages that are accepted: every mechanism with every suite and key reference, and the
//! variations that an endpoint file knows.

use soapstone::wss::SUITE_NAMES;

use crate::endpoints::{Endpoint, Side};
use crate::suite::{SOAP, Suite};

/// Mechanisms with keys.
const MECHANISMS: [&str; 4] = ["sign", "encrypt", "sign-encrypt", "encrypt-sign"];

/// How a certificate is named.
const REFERENCES: [&str; 6] = [
    "direct",
    "ski",
    "thumbprint",
    "issuer-serial",
    "embedded",
    "key-name",
];

/// Suites without their pairs with RSA 1.5, which a shared key does not touch, with the length of
/// their keys in bytes.
const SHARED_SUITES: [(&str, usize); 10] = [
    ("Basic256", 32),
    ("Basic192", 24),
    ("Basic128", 16),
    ("TripleDes", 24),
    ("Basic256Sha256", 32),
    ("Basic192Sha256", 24),
    ("Basic128Sha256", 16),
    ("TripleDesSha256", 24),
    ("Basic256GCM", 32),
    ("Basic128GCM", 16),
];

const TO: &str = "{http://www.w3.org/2005/08/addressing}To";

/// What an endpoint file can say beside mechanism and suite; both sides say it.
fn variations() -> Vec<(&'static str, &'static str, String)> {
    let with = |name, mechanism, security: &str| (name, mechanism, format!(", {security}"));
    vec![
        with(
            "signed-header",
            "sign",
            &format!("signed = [\"Body\", \"Timestamp\", \"{TO}\"]"),
        ),
        with(
            "signed-header",
            "sign-encrypt",
            &format!("signed = [\"Body\", \"Timestamp\", \"{TO}\"]"),
        ),
        with(
            "encrypted-header",
            "encrypt",
            &format!("encrypted = [\"Body\", \"{TO}\"]"),
        ),
        with(
            "signed-and-encrypted-header",
            "sign-encrypt",
            &format!(
                "signed = [\"Body\", \"Timestamp\", \"{TO}\"], encrypted = [\"Body\", \"{TO}\"]"
            ),
        ),
        with(
            "signed-and-encrypted-header",
            "encrypt-sign",
            &format!(
                "signed = [\"Body\", \"Timestamp\", \"{TO}\"], encrypted = [\"Body\", \"{TO}\"]"
            ),
        ),
        with(
            "encrypted-signature",
            "sign-encrypt",
            "encrypted = [\"Body\", \"Signature\"]",
        ),
        with(
            "encrypted-signature",
            "encrypt-sign",
            "encrypted = [\"Body\", \"Signature\"]",
        ),
        with(
            "signed-token",
            "sign",
            "signed = [\"Body\", \"Timestamp\", \"Token\"]",
        ),
        with(
            "signed-token",
            "sign-encrypt",
            "signed = [\"Body\", \"Timestamp\", \"Token\"]",
        ),
        with(
            "body-alone",
            "sign",
            "signed = [\"Body\"], timestamp = false",
        ),
        with("timestamp-alone", "sign", "signed = [\"Timestamp\"]"),
        with("no-timestamp", "encrypt", "timestamp = false"),
        with("actor", "sign", "actor = \"urn:gateway\""),
        with("need-not-understand", "sign", "must_understand = false"),
        with("digest", "username", "password = \"digest\""),
        with("text", "username", "password = \"text\""),
        with(
            "signed",
            "username",
            "password = \"digest\", signed = [\"Body\", \"Timestamp\", \"UsernameToken\"]",
        ),
        with(
            "signed-and-encrypted",
            "username",
            "password = \"text\", signed = [\"Body\", \"Timestamp\", \"UsernameToken\"], encrypted = [\"Body\", \"UsernameToken\"]",
        ),
        with(
            "encrypted",
            "username",
            "password = \"text\", encrypted = [\"UsernameToken\"]",
        ),
    ]
}

/// Algorithms that no suite has, with the keys that they take.
const ALGORITHMS: [(&str, &str, &str, &str); 10] = [
    (
        "ecdsa-sha384",
        "sign",
        "-p384",
        "signature = [\"ecdsa-sha384\"], digest = [\"sha384\"]",
    ),
    (
        "ecdsa-sha512",
        "sign",
        "-p521",
        "signature = [\"ecdsa-sha512\"], digest = [\"sha512\"]",
    ),
    (
        "rsa-sha512",
        "sign",
        "",
        "signature = [\"rsa-sha512\"], digest = [\"sha512\"]",
    ),
    (
        "rsa-pss-sha256",
        "sign",
        "",
        "signature = [\"rsa-pss-sha256\"]",
    ),
    (
        "rsa-pss-sha3-256",
        "sign",
        "",
        "signature = [\"rsa-pss-sha3-256\"], digest = [\"sha3-256\"]",
    ),
    ("aes192-gcm", "sign-encrypt", "", "data = [\"aes192-gcm\"]"),
    (
        "oaep-sha512",
        "encrypt",
        "",
        "oaep_digest = [\"sha512\"], oaep_mgf = [\"sha256\"]",
    ),
    (
        "ecdh-p384-hkdf",
        "sign-encrypt",
        "-p384",
        "signature = [\"ecdsa-sha384\"], key_agreement = [\"ecdh-es\"], key_derivation = [\"hkdf\"], derivation_digest = [\"sha384\"]",
    ),
    (
        "ecdh-p521-concat-kdf",
        "encrypt-sign",
        "-p521",
        "signature = [\"ecdsa-sha512\"], key_agreement = [\"ecdh-es\"], derivation_digest = [\"sha512\"], key_wrap = [\"kw-aes256\"]",
    ),
    (
        "ecdh-p256-cbc",
        "sign-encrypt",
        "-p256",
        "signature = [\"ecdsa-sha256\"], key_agreement = [\"ecdh-es\"], data = [\"aes128-cbc\"]",
    ),
];

/// Records all of them.
pub(crate) fn record(suite: &mut Suite) {
    matrix(suite);
    shared_keys(suite);
    for (name, mechanism, security) in variations() {
        let side = |side| Endpoint::new(side, mechanism, "Basic256GCM", &security);
        both_versions(suite, &format!("variations/{mechanism}_{name}"), &side);
    }
    for (name, mechanism, keys, algorithms) in ALGORITHMS {
        let security = format!("mechanism = \"{mechanism}\", algorithms = {{ {algorithms} }}");
        let side = |side| {
            let mut endpoint = Endpoint::new(side, mechanism, "Basic256GCM", "");
            endpoint.security.clone_from(&security);
            endpoint.own.push_str(keys);
            endpoint.peer.push_str(keys);
            endpoint
        };
        both_versions(suite, &format!("algorithms/{mechanism}_{name}"), &side);
    }
}

/// Every mechanism, suite and reference together; the version of SOAP alternates, so that both come
/// with every two of them.
fn matrix(suite: &mut Suite) {
    let mut count = 0;
    for mechanism in MECHANISMS {
        for name in SUITE_NAMES {
            let service = Endpoint::new(Side::Service, mechanism, name, "");
            for reference in REFERENCES {
                let security = format!(", key_reference = \"{reference}\"");
                let client = Endpoint::new(Side::Client, mechanism, name, &security);
                let (version, _) = SOAP[count % SOAP.len()];
                let message = suite.secure(&client, version);
                let file = format!("{mechanism}/{name}_{reference}_{version}");
                suite.accept(&file, &service, &message, version);
                count += 1;
            }
            count += 1;
        }
        count += 1;
    }
}

fn shared_keys(suite: &mut Suite) {
    for mechanism in MECHANISMS {
        for (name, length) in SHARED_SUITES {
            for reference in ["key-name", "encrypted-key-sha1"] {
                let security = format!(", key_reference = \"{reference}\"");
                let side = |side| Endpoint::new(side, mechanism, name, &security).shared(length);
                let (client, service) = (side(Side::Client), side(Side::Service));
                let message = suite.secure(&client, "soap11");
                let file = format!("shared-key/{mechanism}_{name}_{reference}");
                suite.accept(&file, &service, &message, "soap11");
            }
        }
    }
}

fn both_versions(suite: &mut Suite, name: &str, side: &dyn Fn(Side) -> Endpoint) {
    for (version, _) in SOAP {
        let message = suite.secure(&side(Side::Client), version);
        suite.accept(
            &format!("{name}_{version}"),
            &side(Side::Service),
            &message,
            version,
        );
    }
}
