//! What is wrong with an endpoint file that has to do with assertions.

use soapstone::config::EndpointConfig;
use soapstone::crypto::base64;
use soapstone::wss::OutboundPlan;
use soapstone::{Opener, Service};
use soapstone_testkit::assertion::Assertion;
use soapstone_testkit::keys;

use super::{BEARERS, PROVING_CLIENT, accepting, endpoints, messages, of_alices_secret};

/// What is said of an endpoint file.
pub(super) fn problems(text: &str) -> String {
    let file = messages().join("endpoint.toml");
    match EndpointConfig::from_text(text, &file, &|_| None) {
        Err(problems) => problems.to_string(),
        Ok(config) => {
            Service::from_config(&config).map_or_else(|it| it.to_string(), |_| String::new())
        }
    }
}

#[test]
fn an_ignored_part_of_a_confirmation_is_warned_of_until_its_end() {
    const IGNORED: &str = "ignore_confirmation = [\"address\", \"in-response-to\"]";
    let risks = |more: &str, until: &str| {
        let text = accepting("bearer", "none", more) + until;
        let file = messages().join("endpoint.toml");
        let config = EndpointConfig::from_text(&text, &file, &|_| None).unwrap();
        let opener = Opener::from_config(&config).unwrap_or_else(|problems| panic!("{problems}"));
        let risks = opener.risks(&config, true);
        risks
            .iter()
            .filter(|risk| risk.name == "ignored-confirmation")
            .count()
    };
    let until = |end: &str| format!("allow_weak_until = {{ ignored-confirmation = \"{end}\" }}\n");
    for (more, until, count) in [
        ("", String::new(), 0),
        ("ignore_confirmation = []", String::new(), 0),
        (IGNORED, String::new(), 1),
        (IGNORED, until("2099-01-01"), 0),
        (IGNORED, until("2020-01-01"), 1),
    ] {
        assert_eq!(risks(more, &until), count, "{more} {until}");
    }
    let of_11 = format!("{IGNORED}\nversions = [\"1.1\"]");
    for (more, expected) in [
        (
            "ignore_confirmation = [\"Recipient\"]",
            "`ignore_confirmation` must be one of address, in-response-to",
        ),
        (
            &*of_11,
            "`ignore_confirmation` names what SAML 2.0 has, and `versions` does not name 2.0",
        ),
    ] {
        let found = problems(
            &accepting("bearer", "none", more).replace("time = \"2026-11-25T16:01:00Z\"", ""),
        );
        assert!(found.contains(expected), "{found}");
    }
    let folder = of_alices_secret();
    let sent = format!("{PROVING_CLIENT}{IGNORED}\n[security]\nmechanism = \"sign\"\n");
    let found = endpoints::problems::<OutboundPlan>(&folder, &sent);
    let expected =
        "`ignore_confirmation` is for those who accept assertions, and none is accepted here";
    assert!(found.contains(expected), "{found}");
}

#[test]
fn mistakes_are_told() {
    let right = accepting("bearer", "none", "");
    assert_eq!(
        problems(&right.replace("time = \"2026-11-25T16:01:00Z\"", "")),
        ""
    );
    for (from, to, expected) in [
        (
            "confirmation = [\"bearer\"]",
            "",
            "`confirmation` is missing",
        ),
        (
            "confirmation = [\"bearer\"]",
            "confirmation = [\"holder\"]",
            "`confirmation` must be one of holder-of-key, sender-vouches, bearer",
        ),
        (
            "audience = [\"https://service.example\"]",
            "",
            "`audience` is missing: an assertion for another service would do",
        ),
        ("pinned = [\"server.cert.pem\"]", "", "`pinned` is missing"),
        (
            "pinned = [\"server.cert.pem\"]",
            "anchors = [\"ca.pem\"]",
            "whoever has a certificate of these authorities would be the issuer: `subjects` names nobody",
        ),
        (
            "pinned = [\"server.cert.pem\"]",
            "pinned = [\"server.cert.pem\"], signed = false",
            "an issuer that does not sign has no certificates",
        ),
        (
            "confirmation = [\"bearer\"]",
            "confirmation = [\"sender-vouches\"]",
            "`attesters` is missing: whoever may sign could vouch for anybody",
        ),
        (
            "confirmation = [\"bearer\"]",
            "confirmation = [\"bearer\"]\nprotection = \"signature\"",
            "an assertion is tied to its message by a signature, or by a connection that protects both",
        ),
        (
            "confirmation = [\"bearer\"]",
            "confirmation = [\"bearer\"]\nsignature_algorithms = [\"rsa\"]",
            "expected a signature algorithm, found another text",
        ),
        (
            "issuers = [{ name = \"https://idp.example\", pinned = [\"server.cert.pem\"] }]",
            "",
            "`issuers` is missing: no assertion could be accepted",
        ),
    ] {
        assert!(right.contains(from), "{from}");
        let told = problems(&right.replace(from, to));
        assert!(
            told.contains(expected),
            "{to}: expected {expected}, found {told}"
        );
    }
}

#[test]
fn mistakes_with_symmetric_keys_of_holders_are_told() {
    let folder = of_alices_secret();
    let idp = keys::identity("CN=idp", keys::RSA);
    let public = Assertion {
        method: "holder-of-key",
        holder: Some(idp.certificate()),
        audience: None,
        ..BEARERS
    };
    folder.write("public.saml.xml", public.about("alice", &idp));
    folder.write("short.key.txt", base64::encode(&[7; 8]));
    folder.write("other.key.txt", "no base64!");
    let right = format!("{PROVING_CLIENT}[security]\nmechanism = \"sign\"\n");
    let told = |text: &str| endpoints::problems::<OutboundPlan>(&folder, text);
    assert_eq!(told(&right), "");
    for (from, to, expected) in [
        (
            "proof_key_file = \"alice.key.txt\"",
            "",
            "`proof_key` is missing",
        ),
        (
            "assertion = \"alice.saml.xml\"",
            "from_request = true",
            "`proof_key` is the key of the assertion that requests carry, and `assertion` names none",
        ),
        (
            "assertion = \"alice.saml.xml\"\nproof_key_file = \"alice.key.txt\"",
            "from_request = true",
            "the assertion comes without that key",
        ),
        (
            "alice.saml",
            "public.saml",
            "the assertion has no symmetric key of its holder",
        ),
        (
            "alice.key",
            "short.key",
            "`proof_key` must be 16 to 64 bytes in base64",
        ),
        (
            "alice.key",
            "other.key",
            "`proof_key` must be 16 to 64 bytes in base64",
        ),
        (
            "\"symmetric\"",
            "\"public\"",
            "`proof_key` is given, and the holder's key is a public one",
        ),
        (
            "\"sign\"",
            "\"encrypt\"",
            "the symmetric key of an assertion's holder signs messages, and this mechanism has another key or none",
        ),
        (
            "[\"holder-of-key\"]",
            "[\"holder-of-key\", \"bearer\"]",
            "the key of an assertion's holder is the key of messages, and other confirmations are accepted",
        ),
        (
            "holder_key = \"symmetric\"",
            "derived_keys = true",
            "keys are derived from a symmetric key alone",
        ),
    ] {
        assert!(right.contains(from), "{from}");
        let told = told(&right.replace(from, to));
        assert!(
            told.contains(expected),
            "{to}: expected {expected}, found {told}"
        );
    }
}
