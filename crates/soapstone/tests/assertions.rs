//! Assertions by endpoint files: what a file accepts, what it sends, and what is wrong with one.
//!
//! The messages in `assertions/` were signed by other programs' libraries (lxml and libxmlsec1),
//! with throw-away keys. The clock of each endpoint stands still.

use std::path::{Path, PathBuf};

use soapstone::crypto::issue::{self, Template, Validity};
use soapstone::wss::{ConfirmationMethod, Envelope, Rejected, Verified};
use soapstone::{ForgetfulReplayCache, Memory, Opener, Securer, Service};
use soapstone_testkit::{Folder, envelope, keys};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/assertions")
}

/// What is accepted of the issuer of all messages.
fn accepting(confirmation: &str, mechanism: &str, more: &str) -> String {
    format!(
        "[saml]\naudience = [\"https://service.example\"]\nconfirmation = [\"{confirmation}\"]\n{more}\n\
         issuers = [{{ name = \"https://idp.example\", pinned = [\"server.cert.pem\"] }}]\n\
         [security]\nmechanism = \"{mechanism}\"\ntime = \"2026-11-25T16:01:00Z\"\n"
    )
}

/// An opener of an endpoint file with this text.
fn opener(text: &str) -> Opener {
    let file = folder().join("endpoint.toml");
    let config = soapstone::config::EndpointConfig::from_text(text, &file, &|_| None);
    let config = config.unwrap_or_else(|problems| panic!("{problems}"));
    Opener::from_config(&config).unwrap_or_else(|problems| panic!("{problems}"))
}

fn open(text: &str, message: &str) -> Result<Verified<Envelope>, Rejected> {
    let message = std::fs::read(folder().join(message)).expect("a message");
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    opener(text).verify(message, memory)
}

#[track_caller]
fn confirmed(verified: &Verified<Envelope>, expected: ConfirmationMethod) {
    let found = verified
        .evidence()
        .assertion
        .as_ref()
        .expect("an assertion");
    assert_eq!(found.assertion.subject.value, "alice");
    assert_eq!(found.confirmed, Some(expected));
}

/// Case 06: IHE XUA, Swiss EPR.
#[test]
fn a_bearers_assertion_is_accepted_over_tls() {
    let text = accepting("bearer", "none", "");
    let verified = open(&text, "saml-bearer.xml").unwrap();
    confirmed(&verified, ConfirmationMethod::Bearer);
    assert!(opener(&text).needs_tls());
    assert_eq!(opener(&text).mechanism(), "saml");
}

/// Case 07: the signature names the assertion, and is made with the key in it.
#[test]
fn the_holder_of_an_assertions_key_is_accepted_and_a_thief_is_not() {
    let text = accepting("holder-of-key", "sign", "");
    let verified = open(&text, "saml-hok.xml").unwrap();
    confirmed(&verified, ConfirmationMethod::HolderOfKey);
    assert!(!opener(&text).needs_tls());
    let algorithms = "algorithms = { signature = [\"rsa-sha256\", \"ecdsa-sha256\"], \
                      digest = [\"sha256\"], canonicalization = [\"exc-c14n\"] }\n";
    let refused = open(&(text + algorithms), "saml-hok-stolen.xml").unwrap_err();
    assert_eq!(refused.name(), "key-misused");
}

/// Case 08: the signature covers the assertion by the STR transform.
#[test]
fn an_attester_is_accepted_and_a_stranger_is_not() {
    let trusting = |attester: &str| {
        let more = format!("attesters = [\"{attester}\"]");
        accepting("sender-vouches", "sign", &more) + "[trust]\nanchors = [\"ca.pem\"]\n"
    };
    let verified = open(&trusting("CN=client"), "saml-sv.xml").unwrap();
    confirmed(&verified, ConfirmationMethod::SenderVouches);
    let refused = open(&trusting("CN=gateway"), "saml-sv.xml").unwrap_err();
    assert_eq!(refused.name(), "assertion-unconfirmed");
}

/// What is said of an endpoint file.
fn problems(text: &str) -> String {
    let file = folder().join("endpoint.toml");
    match soapstone::config::EndpointConfig::from_text(text, &file, &|_| None) {
        Err(problems) => problems.to_string(),
        Ok(config) => {
            Service::from_config(&config).map_or_else(|it| it.to_string(), |_| String::new())
        }
    }
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

/// A client that holds an assertion and its key, and a service that knows the issuer.
#[test]
fn an_assertion_from_a_file_goes_with_a_request() {
    let folder = Folder::with_keys(keys::P256, &["service"]);
    let holder = folder_of_case(&folder);
    let client = "[saml]\nconfirmation = [\"holder-of-key\"]\nassertion = \"assertion.xml\"\n\
                  [identity]\nkey = \"holder.key.pem\"\ncertificate = \"holder.cert.pem\"\n\
                  [security]\nmechanism = \"sign\"\n";
    let file = folder.write("client.toml", client);
    let securer = Securer::from_file(&file, &|_| None).unwrap();
    let secured = securer.secure(envelope::with_body("<a/>").into_bytes());
    // The key is another one than that in the assertion.
    assert_eq!(
        secured.unwrap_err().to_string(),
        "expected a private key of the assertion's holder, found another one"
    );
    assert!(!holder.is_empty());
    let bearer = client.replace("holder-of-key", "bearer");
    folder.write("assertion.xml", assertion_of("saml-bearer.xml"));
    let file = folder.write("client.toml", bearer);
    let client = Securer::from_file(&file, &|_| None).unwrap();
    let secured = client
        .secure(envelope::with_body("<a/>").into_bytes())
        .unwrap();
    let text = String::from_utf8(secured.bytes).unwrap();
    assert!(text.contains("<saml:NameID>alice</saml:NameID>"));
    assert!(
        text.contains("URI=\"#_a1\""),
        "the signature covers the assertion: {text}"
    );
}

/// The assertion of a message.
fn assertion_of(message: &str) -> String {
    let message = std::fs::read_to_string(folder().join(message)).expect("a message");
    let start = message.find("<saml:Assertion").unwrap();
    let end = message.find("</saml:Assertion>").unwrap() + "</saml:Assertion>".len();
    message[start..end].to_owned()
}

/// Writes an assertion, and an identity that is not its holder.
fn folder_of_case(folder: &Folder) -> String {
    let template = Template::new("CN=holder", Validity::days(jiff::Timestamp::now(), 3)).unwrap();
    let holder = issue::identity(&keys::authority(keys::AUTHORITY), keys::RSA, &template).unwrap();
    folder.write_identity("holder", &holder);
    folder.write("assertion.xml", assertion_of("saml-hok.xml"));
    holder.certificate().subject().to_owned()
}
