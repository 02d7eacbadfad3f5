//! Messages as they were made, by or for another endpoint than the one that opens them.

use crate::endpoints::{Endpoint, Side};
use crate::suite::{SOAP, Suite};

/// Records all of them.
pub(super) fn record(suite: &mut Suite) {
    let service = |mechanism| Endpoint::new(Side::Service, mechanism, "Basic256GCM", "");
    let client = |mechanism| Endpoint::new(Side::Client, mechanism, "Basic256GCM", "");
    let of = |suite, mechanism| Endpoint::new(Side::Service, mechanism, suite, "");
    let signed_by = |name: &str| {
        let mut client = client("sign");
        client.own = name.to_owned();
        client
    };
    let with = |security: &str| Endpoint::new(Side::Service, "sign", "Basic256GCM", security);
    let mut narrow = service("sign");
    narrow.trust =
        "anchors = [\"../keys/authority.cert.pem\"], subjects = [\"CN=somebody else\"]".to_owned();
    let mut wrong_password = service("username");
    wrong_password.password = "another password";
    let mut other_key = service("encrypt");
    other_key.own = "stranger".to_owned();
    let mut small = service("sign");
    small.more = "limits = { message = \"1kB\" }\n".to_owned();
    let mut few = service("sign");
    few.more = "limits = { references = 1 }\n".to_owned();
    let text = Endpoint::new(
        Side::Client,
        "username",
        "Basic256GCM",
        ", password = \"text\"",
    );
    let to = "{http://www.w3.org/2005/08/addressing}To";
    let demands = |list: &str| {
        Endpoint::new(
            Side::Service,
            "sign-encrypt",
            "Basic256GCM",
            &format!(", {list}"),
        )
    };
    let cases = [
        (
            "expired",
            client("sign"),
            service("sign").at("2026-11-01T12:06:30Z"),
            "timestamp-expired",
        ),
        (
            "expired-without-skew",
            client("sign"),
            with(", timestamp = { skew = \"0s\" }").at("2026-11-01T12:05:01Z"),
            "timestamp-expired",
        ),
        (
            "too-old-for-ttl",
            client("sign"),
            with(", timestamp = { ttl = \"1m\", skew = \"0s\" }").at("2026-11-01T12:01:01Z"),
            "timestamp-expired",
        ),
        (
            "in-the-future",
            client("sign"),
            service("sign").at("2026-11-01T11:58:30Z"),
            "timestamp-in-future",
        ),
        (
            "user-expired",
            client("username"),
            service("username").at("2026-11-01T12:06:30Z"),
            "timestamp-expired",
        ),
        (
            "encrypted-expired",
            client("encrypt"),
            service("encrypt").at("2026-11-01T12:06:30Z"),
            "timestamp-expired",
        ),
        (
            "no-timestamp",
            Endpoint::new(
                Side::Client,
                "sign",
                "Basic256GCM",
                ", signed = [\"Body\"], timestamp = false",
            ),
            service("sign"),
            "timestamp-missing",
        ),
        (
            "stranger",
            signed_by("stranger"),
            service("sign"),
            "untrusted",
        ),
        (
            "expired-certificate",
            signed_by("expired"),
            service("sign"),
            "certificate-expired",
        ),
        (
            "another-subject",
            client("sign"),
            narrow,
            "subject-not-allowed",
        ),
        (
            "wrong-password",
            client("username"),
            wrong_password,
            "authentication-failed",
        ),
        (
            "password-in-clear",
            text,
            service("username"),
            "password-kind-not-allowed",
        ),
        (
            "for-another-key",
            client("encrypt"),
            other_key,
            "key-not-found",
        ),
        ("larger-than-limit", client("sign"), small, "too-large"),
        (
            "more-references-than-limit",
            client("sign"),
            few,
            "too-many",
        ),
        (
            "plain-for-sign",
            client("none"),
            service("sign"),
            "security-missing",
        ),
        (
            "plain-for-encrypt",
            client("none"),
            service("encrypt"),
            "security-missing",
        ),
        (
            "plain-for-sign-encrypt",
            client("none"),
            service("sign-encrypt"),
            "security-missing",
        ),
        (
            "plain-for-username",
            client("none"),
            service("username"),
            "security-missing",
        ),
        (
            "signed-for-none",
            client("sign"),
            service("none"),
            "security-unexpected",
        ),
        (
            "signed-for-username",
            client("sign"),
            service("username"),
            "element-unexpected",
        ),
        (
            "signed-for-encrypt",
            client("sign"),
            service("encrypt"),
            "element-unexpected",
        ),
        (
            "signed-for-sign-encrypt",
            client("sign"),
            service("sign-encrypt"),
            "unencrypted",
        ),
        (
            "encrypted-for-sign",
            client("encrypt"),
            service("sign"),
            "element-unexpected",
        ),
        (
            "encrypted-for-sign-encrypt",
            client("encrypt"),
            service("sign-encrypt"),
            "signature-missing",
        ),
        (
            "username-for-sign",
            client("username"),
            service("sign"),
            "element-unexpected",
        ),
        (
            "wrong-order-for-sign-encrypt",
            client("encrypt-sign"),
            service("sign-encrypt"),
            "wrong-order",
        ),
        (
            "wrong-order-for-encrypt-sign",
            client("sign-encrypt"),
            service("encrypt-sign"),
            "digest-mismatch",
        ),
        (
            "cbc-for-gcm",
            Endpoint::new(Side::Client, "encrypt", "Basic256", ""),
            service("encrypt"),
            "algorithm-not-allowed",
        ),
        (
            "gcm-for-cbc",
            client("encrypt"),
            of("Basic256", "encrypt"),
            "algorithm-not-allowed",
        ),
        (
            "sha1-for-sha256",
            Endpoint::new(Side::Client, "sign", "Basic256", ""),
            service("sign"),
            "algorithm-not-allowed",
        ),
        (
            "sha256-for-sha1",
            client("sign"),
            of("Basic256", "sign"),
            "algorithm-not-allowed",
        ),
        (
            "oaep-for-rsa15",
            Endpoint::new(Side::Client, "encrypt", "Basic256", ""),
            of("Basic256Rsa15", "encrypt"),
            "algorithm-not-allowed",
        ),
        (
            "rsa15-for-oaep",
            Endpoint::new(Side::Client, "encrypt", "Basic256Rsa15", ""),
            of("Basic256", "encrypt"),
            "algorithm-not-allowed",
        ),
        (
            "aes128-for-aes256",
            Endpoint::new(Side::Client, "encrypt", "Basic128GCM", ""),
            service("encrypt"),
            "algorithm-not-allowed",
        ),
        (
            "body-not-signed",
            Endpoint::new(
                Side::Client,
                "sign",
                "Basic256GCM",
                ", signed = [\"Timestamp\"]",
            ),
            service("sign"),
            "unsigned",
        ),
        (
            "timestamp-not-signed",
            Endpoint::new(Side::Client, "sign", "Basic256GCM", ", signed = [\"Body\"]"),
            service("sign"),
            "unsigned",
        ),
        (
            "header-not-signed",
            client("sign"),
            with(&format!(", signed = [\"Body\", \"Timestamp\", \"{to}\"]")),
            "unsigned",
        ),
        (
            "header-not-encrypted",
            client("sign-encrypt"),
            demands(&format!("encrypted = [\"Body\", \"{to}\"]")),
            "unencrypted",
        ),
        (
            "signature-not-encrypted",
            client("sign-encrypt"),
            demands("encrypted = [\"Body\", \"Signature\"]"),
            "unencrypted",
        ),
        (
            "for-another-actor",
            Endpoint::new(
                Side::Client,
                "sign",
                "Basic256GCM",
                ", actor = \"urn:other\"",
            ),
            service("sign"),
            "security-missing",
        ),
        (
            "weak-algorithm-retired",
            Endpoint::new(Side::Client, "sign", "Basic256", ""),
            Endpoint::new(
                Side::Service,
                "sign",
                "Basic256",
                ", allow_weak_until = { rsa-sha1 = \"2026-01-01\" }",
            ),
            "algorithm-retired",
        ),
        (
            "shared-key-for-certificates",
            Endpoint::new(
                Side::Client,
                "sign",
                "Basic256GCM",
                ", key_reference = \"key-name\"",
            )
            .shared(32),
            service("sign"),
            "algorithm-not-allowed",
        ),
    ];
    for (name, client, service, reason) in cases {
        for (version, _) in SOAP {
            let message = suite.secure(&client, version);
            let name = format!("others/{name}_{version}");
            suite.refuse(&name, &service, message.as_bytes(), reason);
        }
    }
}
