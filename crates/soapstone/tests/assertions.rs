//! Assertions by endpoint files: what a file accepts, what it sends, and what is wrong with one.
//!
//! The messages in `assertions/` were signed by other programs' libraries (lxml and libxmlsec1),
//! with throw-away keys. The clock of each endpoint stands still.

#[path = "support/endpoints.rs"]
mod endpoints;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use soapstone::crypto::base64;
use soapstone::crypto::issue::{self, Template, Validity};
use soapstone::endpoint::{AssertionErrand, AssertionFetcher};
use soapstone::mime::{Attachment, Message};
use soapstone::wss::{ConfirmationMethod, Envelope, Rejected, Verified, names};
use soapstone::{Arrived, Client, ForgetfulReplayCache, Memory, Opener, Securer, Service};
use soapstone_testkit::assertion::{Assertion, ID};
use soapstone_testkit::envelope::{SOAP11, with_header};
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

/// A folder with the keys of a service and of its client Alice, and her assertion.
fn of_alice() -> Folder {
    let folder = Folder::with_keys(keys::RSA, &["service", "alice"]);
    let idp = keys::identity("CN=idp", keys::RSA);
    folder.write_identity("idp", &idp);
    let alice = keys::identity("CN=alice", keys::RSA);
    let assertion = Assertion {
        is_20: true,
        method: "holder-of-key",
        holder: Some(alice.certificate()),
        audience: Some("https://service.example"),
        attributes: &[("role", "reader")],
    };
    folder.write("alice.saml.xml", assertion.about("alice", &idp));
    folder
}

const CLIENT: &str = "[saml]\nconfirmation = [\"holder-of-key\"]\nassertion = \"alice.saml.xml\"\n\
     [identity]\nkey = \"alice.key.pem\"\ncertificate = \"alice.cert.pem\"\n\
     [peer]\ncertificate = \"service.cert.pem\"\n[trust]\npinned = [\"service.cert.pem\"]\n";

const SERVICE: &str = "[saml]\naudience = [\"https://service.example\"]\nconfirmation = [\"holder-of-key\"]\n\
     issuers = [{ name = \"https://idp.example\", pinned = [\"idp.cert.pem\"] }]\n\
     [identity]\nkey = \"service.key.pem\"\ncertificate = \"service.cert.pem\"\n";

/// A request of the client and the answer of the service, whose texts these are.
fn exchange(folder: &Folder, security: &str) {
    exchange_with(folder, CLIENT, SERVICE, security);
}

/// As [`exchange`], with other texts; returns the request.
fn exchange_with(folder: &Folder, client: &str, service: &str, security: &str) -> String {
    let client = folder.write("client.toml", format!("{client}{security}"));
    let service = folder.write("service.toml", format!("{service}{security}"));
    let client = Client::from_file(&client, &|_| None).unwrap_or_else(|it| panic!("{it}"));
    let service = Service::from_file(&service, &|_| None).unwrap_or_else(|it| panic!("{it}"));
    let memory = || Memory::without_conversations(&ForgetfulReplayCache);
    let plain = envelope::with_body("<a/>").into_bytes();
    let secured = client.secure(plain.clone()).unwrap();
    let request = String::from_utf8(secured.bytes.clone()).unwrap();
    let Arrived::Message(opened) = service.receive(secured.bytes, memory()).unwrap() else {
        panic!("a message");
    };
    let found = opened.evidence.assertion.as_ref().expect("an assertion");
    assert_eq!(found.assertion.subject.value, "alice");
    assert_eq!(found.confirmed, Some(ConfirmationMethod::HolderOfKey));
    let answer = service.answer(plain, &opened.receipt).unwrap();
    assert!(!String::from_utf8_lossy(&answer.bytes).contains("saml:Assertion"));
    client
        .open(answer.bytes, secured.receipt, memory())
        .unwrap_or_else(|it| panic!("{it}"));
    request
}

/// A folder with the keys of a service, and Alice's assertion with a symmetric key for it.
fn of_alices_secret() -> Folder {
    let folder = Folder::with_keys(keys::RSA, &["service"]);
    let idp = keys::identity("CN=idp", keys::RSA);
    folder.write_identity("idp", &idp);
    let service = keys::identity("CN=service", keys::RSA);
    let assertion = Assertion {
        is_20: true,
        method: "holder-of-key",
        holder: None,
        audience: Some("https://service.example"),
        attributes: &[],
    };
    let secret = [7; 32];
    let assertion = assertion.proving("alice", &idp, service.certificate(), &secret);
    folder.write("alice.saml.xml", assertion);
    folder.write("alice.key.txt", base64::encode(&secret) + "\n");
    folder
}

const PROVING_CLIENT: &str = "[saml]\nconfirmation = [\"holder-of-key\"]\nassertion = \"alice.saml.xml\"\n\
     proof_key_file = \"alice.key.txt\"\nholder_key = \"symmetric\"\n";

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
    let file = folder.write("client.toml", format!("{client}{security}"));
    let stolen = Securer::from_file(&file, &|_| None).unwrap();
    let stolen = stolen.secure(envelope::with_body("<a/>").into_bytes());
    let file = folder.write("service.toml", format!("{service}{security}"));
    let opener = Opener::from_file(&file, &|_| None).unwrap();
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    let refused = opener.verify(stolen.unwrap().bytes, memory);
    assert_eq!(refused.unwrap_err().name(), "signature-mismatch");
    // A file that does not say so has public keys.
    folder.write("alice.key.txt", base64::encode(&[7; 32]));
    let file = folder.write("client.toml", format!("{client}{security}"));
    let sent = Securer::from_file(&file, &|_| None).unwrap();
    let sent = sent.secure(envelope::with_body("<a/>").into_bytes());
    let file = folder.write("service.toml", format!("{SERVICE}{security}"));
    let opener = Opener::from_file(&file, &|_| None).unwrap();
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    let refused = opener.verify(sent.unwrap().bytes, memory);
    assert_eq!(refused.unwrap_err().name(), "element-unexpected");
}

#[test]
fn mistakes_with_symmetric_keys_of_holders_are_told() {
    let folder = of_alices_secret();
    let idp = keys::identity("CN=idp", keys::RSA);
    let public = Assertion {
        is_20: true,
        method: "holder-of-key",
        holder: Some(idp.certificate()),
        audience: None,
        attributes: &[],
    };
    folder.write("public.saml.xml", public.about("alice", &idp));
    folder.write("short.key.txt", base64::encode(&[7; 8]));
    folder.write("other.key.txt", "no base64!");
    let right = format!("{PROVING_CLIENT}[security]\nmechanism = \"sign\"\n");
    let told = |text: &str| {
        let file = folder.write("client.toml", text);
        let read = Securer::from_file(&file, &|_| None);
        read.err().map(|it| it.to_string()).unwrap_or_default()
    };
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

/// WS-SecurityPolicy 1.3, 5.4.8 and 7.4.
#[test]
fn a_policy_file_has_an_assertion_protect_messages() {
    let folder = of_alices_secret();
    let sp = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702";
    for (derived, name) in [("", "no"), ("<sp:RequireDerivedKeys/>", "derived")] {
        let policy = format!(
            "<wsp:Policy xmlns:wsp=\"http://www.w3.org/ns/ws-policy\" xmlns:sp=\"{sp}\"><sp:SymmetricBinding><wsp:Policy>\
             <sp:ProtectionToken><wsp:Policy><sp:SamlToken sp:IncludeToken=\"{sp}/IncludeToken/AlwaysToRecipient\">\
             <wsp:Policy>{derived}<sp:WssSamlV20Token11/></wsp:Policy></sp:SamlToken></wsp:Policy></sp:ProtectionToken>\
             <sp:AlgorithmSuite><wsp:Policy><sp:Basic256Sha256/></wsp:Policy></sp:AlgorithmSuite><sp:IncludeTimestamp/>\
             <sp:ProtectTokens/></wsp:Policy></sp:SymmetricBinding><sp:SignedParts><sp:Body/></sp:SignedParts>\
             <sp:EncryptedParts><sp:Body/></sp:EncryptedParts></wsp:Policy>"
        );
        folder.write("policy.xml", policy);
        let security = "[security]\npolicy = \"policy.xml\"\nsha256_suites = \"sha256\"\n\
             algorithms = { key_transport = [\"rsa-oaep\"] }\n";
        let client = PROVING_CLIENT.replace("holder_key = \"symmetric\"\n", "");
        let request = exchange_with(&folder, &client, SERVICE, security);
        assert_eq!(
            request.contains("DerivedKeyToken"),
            !derived.is_empty(),
            "{name}"
        );
    }
}

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
        let memory = || Memory::without_conversations(&ForgetfulReplayCache);
        for (sent, opened, expected) in [
            (CLIENT, service.as_str(), "unencrypted"),
            (client.as_str(), SERVICE, "element-unexpected"),
        ] {
            let file = folder.write("sent.toml", format!("{sent}{security}"));
            let securer = Securer::from_file(&file, &|_| None).unwrap();
            let secured = securer.secure(envelope::with_body("<a/>").into_bytes());
            let file = folder.write("opened.toml", format!("{opened}{security}"));
            let opener = Opener::from_file(&file, &|_| None).unwrap();
            let refused = opener.verify(secured.unwrap().bytes, memory());
            assert_eq!(refused.unwrap_err().name(), expected);
        }
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
    let assertion = Assertion {
        is_20: true,
        method: "bearer",
        holder: None,
        audience: Some("https://service.example"),
        attributes: &[],
    };
    folder.write("alice.saml.xml", assertion.about("alice", &idp));
    let bearer = |text: &str| {
        let text = text.replace("holder-of-key", "bearer");
        let text = text.replace("[saml]\n", "[saml]\nencrypted = true\n");
        format!("{text}[security]\nmechanism = \"none\"\nattachments = {{ }}\n")
    };
    let own = "[identity]\nkey = \"alice.key.pem\"\ncertificate = \"alice.cert.pem\"\n";
    let trust = "[trust]\npinned = [\"service.cert.pem\"]\n";
    let client = CLIENT.replace(own, "").replace(trust, "");
    let file = folder.write("client.toml", bearer(&client));
    let securer = Securer::from_file(&file, &|_| None).unwrap_or_else(|it| panic!("{it}"));
    let file = folder.write("service.toml", bearer(SERVICE));
    let opener = Opener::from_file(&file, &|_| None).unwrap_or_else(|it| panic!("{it}"));
    assert!(opener.needs_tls());
    let message = Message {
        root: envelope::with_body("<a/>").into_bytes(),
        parts: vec![Attachment::new("a@x", "text/plain", b"7".to_vec()).unwrap()],
    };
    let secured = securer.secure(message).unwrap();
    let message = Message {
        root: secured.bytes,
        parts: secured.parts,
    };
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    let verified = opener.verify(message, memory).unwrap();
    let evidence = verified.evidence();
    assert!(!evidence.encrypted.is_empty() && !evidence.hides_body);
    assert_eq!(opener.has_uncovered_part(evidence).ok(), Some(false));
}

#[test]
fn the_holder_of_an_assertion_calls_a_service() {
    let folder = of_alice();
    exchange(&folder, "[security]\nmechanism = \"sign\"\n");
    exchange(&folder, "[security]\nmechanism = \"sign-encrypt\"\n");
}

/// SAML Token Profile 1.1.1, 3.4: the key of an answer is for the holder of the assertion that the
/// request had, and of no other one.
#[test]
fn an_answer_names_the_assertion_of_its_request() {
    let folder = of_alice();
    let security = "[security]\nmechanism = \"sign-encrypt\"\n";
    let file = folder.write("client.toml", format!("{CLIENT}{security}"));
    let client = Client::from_file(&file, &|_| None).unwrap_or_else(|it| panic!("{it}"));
    let file = folder.write("service.toml", format!("{SERVICE}{security}"));
    let service = Service::from_file(&file, &|_| None).unwrap_or_else(|it| panic!("{it}"));
    let memory = || Memory::without_conversations(&ForgetfulReplayCache);
    for (version, id, expected) in [
        ("SAMLID", ID, None),
        ("SAMLID", "_another", Some("key-not-found")),
        ("SAMLAssertionID", ID, Some("key-not-found")),
    ] {
        let plain = envelope::with_body("<a/>").into_bytes();
        let secured = client.secure(plain.clone()).unwrap();
        let arrived = service.receive(secured.bytes, memory()).unwrap();
        let Arrived::Message(opened) = arrived else {
            panic!("a message");
        };
        let answer = service.answer(plain, &opened.receipt).unwrap();
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

/// WS-SecurityPolicy 1.3, 5.4.8: the policy says that the initiator's token is an assertion, and
/// the endpoint file says whose.
#[test]
fn a_policy_file_has_the_holder_of_an_assertion_sign() {
    let folder = of_alice();
    let sp = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702";
    let token = |name: &str, inclusion: &str, form: &str| {
        format!(
            "<sp:{name} sp:IncludeToken=\"{sp}/IncludeToken/{inclusion}\"><wsp:Policy><sp:{form}/></wsp:Policy></sp:{name}>"
        )
    };
    let initiator = token("SamlToken", "AlwaysToRecipient", "WssSamlV20Token11");
    let recipient = token("X509Token", "Never", "WssX509V3Token10");
    let policy = format!(
        "<wsp:Policy xmlns:wsp=\"http://www.w3.org/ns/ws-policy\" xmlns:sp=\"{sp}\"><sp:AsymmetricBinding><wsp:Policy>\
         <sp:InitiatorToken><wsp:Policy>{initiator}</wsp:Policy></sp:InitiatorToken>\
         <sp:RecipientToken><wsp:Policy>{recipient}</wsp:Policy></sp:RecipientToken>\
         <sp:AlgorithmSuite><wsp:Policy><sp:Basic256Sha256/></wsp:Policy></sp:AlgorithmSuite><sp:IncludeTimestamp/>\
         <sp:ProtectTokens/></wsp:Policy></sp:AsymmetricBinding><sp:SignedParts><sp:Body/></sp:SignedParts>\
         <sp:EncryptedParts><sp:Body/></sp:EncryptedParts></wsp:Policy>"
    );
    folder.write("policy.xml", policy);
    let security = "[security]\npolicy = \"policy.xml\"\nsha256_suites = \"sha256\"\n";
    exchange(&folder, security);
    let told = |text: String| {
        let file = folder.write("wrong.toml", text);
        let read = Service::from_file(&file, &|_| None);
        read.err().map(|it| it.to_string()).unwrap_or_default()
    };
    let bearers = SERVICE.replace("holder-of-key", "bearer");
    let expected = "the policy has the holder of the assertion sign, or show its key by the connection, and `confirmation` does not name it";
    assert!(told(format!("{bearers}{security}")).contains(expected));
    let older = SERVICE.replace("[saml]\n", "[saml]\nversions = [\"1.1\"]\n");
    let expected = "the policy wants an assertion of a version that `versions` does not name";
    assert!(told(format!("{older}{security}")).contains(expected));
    let identity = &SERVICE[SERVICE.find("[identity]").unwrap()..];
    let expected = "the policy wants an assertion, and nothing is said of one";
    assert!(told(format!("{identity}{security}")).contains(expected));
}

/// A service that is given a user's assertion shows it to the next one, in its own name.
#[test]
fn the_assertion_of_a_request_goes_with_the_next_one() {
    let folder = Folder::with_keys(keys::RSA, &["service", "gateway"]);
    let idp = keys::identity("CN=idp", keys::RSA);
    folder.write_identity("idp", &idp);
    let about = |subject: &str| {
        let assertion = Assertion {
            is_20: true,
            method: "bearer",
            holder: None,
            audience: Some("https://service.example"),
            attributes: &[],
        };
        assertion.about(subject, &idp)
    };
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
    let memory = || Memory::without_conversations(&ForgetfulReplayCache);
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

/// Apache WSS4J 2.4.3 with OpenSAML 3.4.6. Attesters' signatures cover the assertion by an
/// STR-Transform.
#[test]
fn assertions_of_wss4j_are_accepted() {
    for (version, name, confirmation) in [
        ("2.0", "holder-of-key", ConfirmationMethod::HolderOfKey),
        ("1.1", "holder-of-key", ConfirmationMethod::HolderOfKey),
        ("2.0", "sender-vouches", ConfirmationMethod::SenderVouches),
        ("1.1", "sender-vouches", ConfirmationMethod::SenderVouches),
    ] {
        let vouching = match confirmation {
            ConfirmationMethod::SenderVouches => "attesters = [\"CN=gateway\"]\n",
            _ => "",
        };
        let text = accepting(
            name,
            "sign",
            &format!("versions = [\"{version}\"]\n{vouching}"),
        )
        .replace("server.cert.pem", "wss4j-idp.cert.pem")
        .replace("2026-11-25T16:01:00Z", "2026-11-26T07:03:00Z");
        let text = match vouching {
            "" => text,
            _ => format!("{text}[trust]\npinned = [\"wss4j-gateway.cert.pem\"]\n"),
        };
        let message = format!("wss4j-{version}-{name}.xml");
        let verified = open(&text, &message).unwrap_or_else(|it| panic!("{message}: {it}"));
        confirmed(&verified, confirmation);
    }
}

/// An authority that has this assertion of SAML 1.1, and that one of SAML 2.0.
#[derive(Debug)]
struct Authority([String; 2]);

impl AssertionFetcher for Authority {
    fn fetch(&self, errand: AssertionErrand) -> Result<Vec<u8>, String> {
        let [old, new] = &self.0;
        let Some(request) = errand.message else {
            return Ok(new.clone().into_bytes());
        };
        let request = String::from_utf8(request).expect("text");
        let (_, id) = request.split_once("RequestID=\"").expect("its id");
        let (id, _) = id.split_once('"').expect("its end");
        let answer = format!(
            "<samlp:Response xmlns:samlp=\"urn:oasis:names:tc:SAML:1.0:protocol\" InResponseTo=\"{id}\"><samlp:Status>\
             <samlp:StatusCode Value=\"samlp:Success\"/></samlp:Status>{old}</samlp:Response>"
        );
        Ok(with_header(SOAP11, "", &answer).into_bytes())
    }
}

/// A port whose first operation wants an assertion of SAML 1.1, and whose second one of SAML 2.0.
fn port_of_two_versions() -> String {
    let sp = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702";
    let (mut messages, mut offered, mut bound) = (String::new(), String::new(), String::new());
    for (name, form) in [("Old", "WssSamlV11Token11"), ("New", "WssSamlV20Token11")] {
        messages.push_str(&format!(
            "<message name='{name}'><part name='p' element='t:{name}'/></message>"
        ));
        offered.push_str(&format!(
            "<operation name='{name}'><input message='t:{name}'/></operation>"
        ));
        bound.push_str(&format!(
            "<operation name='{name}'><wsp:Policy><sp:TransportBinding><wsp:Policy>\
             <sp:TransportToken><wsp:Policy><sp:HttpsToken><wsp:Policy/></sp:HttpsToken></wsp:Policy></sp:TransportToken>\
             <sp:AlgorithmSuite><wsp:Policy><sp:Basic256Sha256/></wsp:Policy></sp:AlgorithmSuite></wsp:Policy></sp:TransportBinding>\
             <sp:SupportingTokens><wsp:Policy><sp:SamlToken sp:IncludeToken='{sp}/IncludeToken/AlwaysToRecipient'><wsp:Policy>\
             <sp:{form}/></wsp:Policy></sp:SamlToken></wsp:Policy></sp:SupportingTokens></wsp:Policy>\
             <soap:operation soapAction='urn:t:{name}'/><input><soap:body use='literal'/></input></operation>"
        ));
    }
    format!(
        "<definitions xmlns='http://schemas.xmlsoap.org/wsdl/' xmlns:t='urn:t' targetNamespace='urn:t' \
         xmlns:wsp='http://www.w3.org/ns/ws-policy' xmlns:sp='{sp}' xmlns:soap='http://schemas.xmlsoap.org/wsdl/soap/'>{messages}\
         <portType name='P'>{offered}</portType><binding name='B' type='t:P'>\
         <soap:binding transport='http://schemas.xmlsoap.org/soap/http'/>{bound}</binding>\
         <service name='S'><port name='P' binding='t:B'><soap:address location='https://t/'/></port></service></definitions>"
    )
}

/// What is fetched is judged by the operation that its message is for, and not by the first one.
#[test]
fn operations_name_assertions_of_different_versions() {
    let folder = Folder::new();
    let idp = keys::identity("CN=idp", keys::RSA);
    folder.write_identity("idp", &idp);
    folder.write("port.wsdl", port_of_two_versions());
    let made = [false, true].map(|is_20| {
        let assertion = Assertion {
            is_20,
            method: "bearer",
            holder: None,
            audience: Some("https://service.example"),
            attributes: &[],
        };
        assertion.about("alice", &idp)
    });
    let place = "https://idp.example/assertions";
    let text = format!(
        "[saml]\naudience = [\"https://service.example\"]\nconfirmation = [\"bearer\"]\nprotection = \"tls\"\n\
         issuers = [{{ name = \"https://idp.example\", pinned = [\"idp.cert.pem\"] }}]\n\
         by_reference = {{ authorities = [\"{place}\"], allow_bearer = true }}\n\
         [security]\npolicy = \"port.wsdl\"\nsha256_suites = \"sha256\"\n"
    );
    let service: Service = endpoints::compile(&folder, &text).unwrap_or_else(|it| panic!("{it}"));
    let service = service.fetching_with(Arc::new(Authority(made)));
    let profile = "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1";
    let old = format!(
        "<saml:AuthorityBinding xmlns:saml=\"urn:oasis:names:tc:SAML:1.0:assertion\" AuthorityKind=\"saml:AssertionIDReference\" \
         Location=\"{place}\" Binding=\"urn:oasis:names:tc:SAML:1.0:bindings:SOAP-binding\"/>\
         <wsse:KeyIdentifier ValueType=\"{profile}.0#SAMLAssertionID\">{ID}</wsse:KeyIdentifier>"
    );
    let new = format!("<wsse:Reference URI=\"{place}?ID={ID}\"/>");
    let received = |operation: &str, reference: &str, version: &str| {
        let security = format!(
            "<wsse:Security xmlns:wsse=\"{}\"><wsse:SecurityTokenReference xmlns:wsse11=\"{}\" \
             wsse11:TokenType=\"{profile}.1#SAMLV{version}\">{reference}</wsse:SecurityTokenReference></wsse:Security>",
            names::WSSE,
            names::WSSE11
        );
        let body = format!("<t:{operation} xmlns:t=\"urn:t\"/>");
        let message = with_header(SOAP11, &security, &body);
        let memory = Memory::without_conversations(&ForgetfulReplayCache);
        let arrived = service.receive(message.into_bytes(), memory);
        arrived.map(drop).map_err(|refused| refused.to_string())
    };
    assert_eq!(received("Old", &old, "1.1"), Ok(()));
    assert_eq!(received("New", &new, "2.0"), Ok(()));
    for (operation, reference, version) in [("Old", &new, "2.0"), ("New", &old, "1.1")] {
        let refused = received(operation, reference, version).unwrap_err();
        assert!(refused.contains("assertion"), "{refused}");
    }
}
