//! Assertions that go with requests: from a file, and from the request before.

use std::path::Path;

use soapstone::crypto::issue::{self, Template, Validity};
use soapstone::{Opener, Securer};
use soapstone_testkit::{Folder, keys};

use super::{BEARERS, endpoint, memory, messages, plain};

/// The assertion of a message.
fn assertion_of(message: &str) -> String {
    let message = std::fs::read_to_string(messages().join(message)).expect("a message");
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

/// A client that holds an assertion and its key, and a service that knows the issuer.
#[test]
fn an_assertion_from_a_file_goes_with_a_request() {
    let folder = Folder::with_keys(keys::P256, &["service"]);
    let holder = folder_of_case(&folder);
    let client = "[saml]\nconfirmation = [\"holder-of-key\"]\nassertion = \"assertion.xml\"\n\
                  [identity]\nkey = \"holder.key.pem\"\ncertificate = \"holder.cert.pem\"\n\
                  [security]\nmechanism = \"sign\"\n";
    let securer: Securer = endpoint(&folder, client);
    let secured = securer.secure(plain());
    // The key is another one than that in the assertion.
    assert_eq!(
        secured.unwrap_err().to_string(),
        "expected a private key of the assertion's holder, found another one"
    );
    assert!(!holder.is_empty());
    let bearer = client.replace("holder-of-key", "bearer");
    folder.write("assertion.xml", assertion_of("saml-bearer.xml"));
    let client: Securer = endpoint(&folder, &bearer);
    let secured = client.secure(plain()).unwrap();
    let text = String::from_utf8(secured.bytes).unwrap();
    assert!(text.contains("<saml:NameID>alice</saml:NameID>"));
    assert!(
        text.contains("URI=\"#_a1\""),
        "the signature covers the assertion: {text}"
    );
}

/// A service that is given a user's assertion shows it to the next one, in its own name.
#[test]
fn the_assertion_of_a_request_goes_with_the_next_one() {
    let folder = Folder::with_keys(keys::RSA, &["service", "gateway"]);
    let idp = keys::identity("CN=idp", keys::RSA);
    folder.write_identity("idp", &idp);
    let about = |subject: &str| BEARERS.about(subject, &idp);
    let accepts = "[saml]\naudience = [\"https://service.example\"]\nconfirmation = [\"bearer\"]\n\
         forward = true\nissuers = [{ name = \"https://idp.example\", pinned = [\"idp.cert.pem\"] }]\n";
    let first = folder.write(
        "first.toml",
        format!("{accepts}[security]\nmechanism = \"none\"\n"),
    );
    let second = format!(
        "{accepts}[trust]\npinned = [\"gateway.cert.pem\"]\n[security]\nmechanism = \"sign\"\n"
    );
    let second = folder.write("second.toml", second);
    let gateway = "[saml]\nconfirmation = [\"bearer\"]\nfrom_request = true\n\
         [identity]\nkey = \"gateway.key.pem\"\ncertificate = \"gateway.cert.pem\"\n\
         [security]\nmechanism = \"sign\"\n";
    let gateway_file = folder.write("gateway.toml", gateway);
    let gateway = Securer::from_file(&gateway_file, &|_| None).unwrap_or_else(|it| panic!("{it}"));
    let open = |file: &Path, message: Vec<u8>| {
        let opener = Opener::from_file(file, &|_| None).unwrap_or_else(|it| panic!("{it}"));
        opener.open(message, memory())
    };
    let in_header = |blocks: &str| {
        format!(
            "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Header>{blocks}</s:Header><s:Body><a/></s:Body></s:Envelope>"
        )
    };
    let wsse = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd";
    let alice = about("alice");
    let secured = in_header(&format!(
        "<w:Security xmlns:w=\"{wsse}\">{alice}</w:Security>"
    ));
    let opened = open(&first, secured.into_bytes()).unwrap();
    let passed = gateway.secure(opened.bytes).unwrap().bytes;
    let opened = open(&second, passed.clone()).unwrap();
    let found = opened.evidence.assertion.as_ref().expect("an assertion");
    assert_eq!(found.assertion.subject.value, "alice");
    // It stands in one place.
    let passed = String::from_utf8(passed).unwrap();
    assert_eq!(passed.matches("<saml:Assertion").count(), 1);
    // Another user's in its place is not what the gateway signed.
    let begin = passed.find("<saml:Assertion").unwrap();
    let end = passed.find("</saml:Assertion>").unwrap() + "</saml:Assertion>".len();
    let mallory = passed.replace(&passed[begin..end], &about("mallory"));
    assert!(open(&second, mallory.into_bytes()).is_err());
    for (blocks, expected) in [
        (
            String::new(),
            "the message is to carry an assertion, and none is at hand",
        ),
        (
            alice.clone() + &alice.replace("_assertion", "_another"),
            "the assertion in the header cannot be sent: expected one, found several",
        ),
        (
            alice.replacen(" Version", " a=\"\" Version", 1),
            "the assertion in the header cannot be sent: ",
        ),
        (
            alice.replacen("alice", "al<!---->ice", 1),
            "the assertion in the header cannot be sent: ",
        ),
    ] {
        let refused = gateway.secure(in_header(&blocks).into_bytes()).unwrap_err();
        assert!(refused.to_string().starts_with(expected), "{refused}");
    }
    let plain = std::fs::read_to_string(&gateway_file).unwrap();
    let from_file = plain.replace("from_request", "assertion = \"first.toml\"\nfrom_request");
    let told = Securer::from_file(&folder.write("both.toml", from_file), &|_| None);
    let told = told.err().map(|it| it.to_string()).unwrap_or_default();
    assert!(told.contains("`assertion` and `from_request`"), "{told}");
}
