//! Keys from the passwords of users (UsernameToken Profile 1.1.1, 4), as endpoint files and policy
//! files say them: a service with two users, a client, and what stands between them.

#[path = "support/kept.rs"]
mod kept;

use kept::Kept;
use soapstone::config::{EndpointConfig, Problems};
use soapstone::endpoint::Endpoint;
use soapstone::wss::{Rejected, Signer};
use soapstone::{ForgetfulReplayCache, Memory, OpenedMessage, Opener, Securer};
use soapstone_testkit::Folder;
use soapstone_testkit::envelope::{HELLO, SOAP11, with_header};

const USERS: &str = "users = [{ name = \"alice\", password = \"open sesame\" }, { name = \"bob\", password = \"another\" }]\n";

fn config(folder: &Folder, text: &str) -> Result<EndpointConfig, Problems> {
    EndpointConfig::from_text(text, &folder.path("endpoint.toml"), &|_| None)
}

fn file(security: &str) -> String {
    format!("{USERS}security = {{ {security} }}\n")
}

fn opener(folder: &Folder, text: &str) -> Opener {
    let config = config(folder, text).and_then(|config| Endpoint::from_config(&config));
    config.unwrap_or_else(|problems| panic!("{text}: {problems}"))
}

fn secured(folder: &Folder, text: &str) -> String {
    let config = config(folder, text).and_then(|config| Endpoint::from_config(&config));
    let securer: Securer = config.unwrap_or_else(|problems| panic!("{text}: {problems}"));
    let plain = with_header(SOAP11, "", HELLO).into_bytes();
    let secured = securer.secure(plain).expect("it is secured");
    String::from_utf8(secured.bytes).expect("text")
}

fn problems(folder: &Folder, text: &str) -> String {
    let made: Result<Opener, Problems> =
        config(folder, text).and_then(|config| Endpoint::from_config(&config));
    made.err()
        .map(|found| found.to_string())
        .unwrap_or_default()
}

fn open(opener: &Opener, message: &str) -> Result<OpenedMessage, Rejected> {
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    opener.open(message.as_bytes().to_vec(), memory)
}

fn name(opened: Result<OpenedMessage, Rejected>) -> &'static str {
    opened.map_or_else(|rejected| rejected.cause().name(), |_| "accepted")
}

#[test]
fn a_file_has_messages_protected_with_keys_from_passwords() {
    let folder = Folder::new();
    for mechanism in ["sign", "sign-encrypt", "encrypt-sign"] {
        for keys in [
            "password_keys = {}",
            "password_keys = { derived = \"explicit\" }",
            "password_keys = { derived = \"implied\" }",
            "suite = \"Basic128GCM\", password_keys = { derived = \"none\", iterations = 1000 }",
        ] {
            let text = file(&format!("mechanism = \"{mechanism}\", {keys}"));
            let message = secured(&folder, &text);
            // A derivation takes as long as a signature: it is a worker's.
            assert!(!opener(&folder, &text).opens_lightly());
            let opened = open(&opener(&folder, &text), &message)
                .unwrap_or_else(|rejected| panic!("{text}: {rejected}"));
            let evidence = &opened.evidence;
            assert_eq!(evidence.user.as_deref(), Some("alice"), "{text}");
            assert!(evidence.user_is_sender(), "{text}");
            // The signature covers the name of the user.
            let signature = &evidence.signatures[0];
            assert!(matches!(&signature.signer, Signer::User(name) if name == "alice"));
            assert!(
                message.contains("-ut\"></ds:") || message.contains("-ut\"><ds:"),
                "{message}"
            );
        }
    }
}

#[test]
fn wrong_and_unknown_users_are_refused_alike() {
    let folder = Folder::new();
    let keys = "mechanism = \"sign\", password_keys = {}";
    let message = secured(&folder, &file(keys));
    let knowing = |users: &str| {
        let text = format!("users = [{users}]\nsecurity = {{ {keys} }}\n");
        open(&opener(&folder, &text), &message)
    };
    let wrong = knowing("{ name = \"alice\", password = \"open\" }");
    let unknown = knowing("{ name = \"carol\", password = \"open sesame\" }");
    for refused in [wrong, unknown] {
        let expected = Rejected::AuthenticationFailed {
            user: "alice".to_owned(),
        };
        assert_eq!(refused.map(drop), Err(expected));
    }
}

#[test]
fn a_copy_is_refused() {
    let folder = Folder::new();
    let text = file("mechanism = \"sign-encrypt\", password_keys = {}");
    let (message, opener) = (secured(&folder, &text), opener(&folder, &text));
    let cache = Kept::default();
    let twice = [(), ()].map(|()| {
        let memory = Memory::without_conversations(&cache);
        name(opener.open(message.clone().into_bytes(), memory))
    });
    assert_eq!(twice, ["accepted", "replayed"]);
}

#[test]
fn the_bounds_of_iterations_are_those_of_the_file() {
    let folder = Folder::new();
    let sent = |iterations: u32| {
        let keys = format!("least = 1, most = 100000, iterations = {iterations}");
        let text = file(&format!(
            "mechanism = \"sign\", password_keys = {{ {keys} }}"
        ));
        secured(&folder, &text)
    };
    let verdict = |bounds: &str, message: &str| {
        let text = file(&format!(
            "mechanism = \"sign\", password_keys = {{ {bounds} }}"
        ));
        name(open(&opener(&folder, &text), message))
    };
    for (iterations, bounds, expected) in [
        (999, "", "key-misused"),
        (1000, "", "accepted"),
        (10_000, "", "accepted"),
        (10_001, "", "too-many"),
        (10_001, "most = 20000", "accepted"),
        (1000, "least = 1001", "key-misused"),
        (1, "least = 1", "accepted"),
    ] {
        assert_eq!(
            verdict(bounds, &sent(iterations)),
            expected,
            "{iterations} {bounds}"
        );
    }
}

#[test]
fn mistakes_are_told_with_what_to_do() {
    let folder = Folder::new();
    let keyless = "security = { mechanism = \"sign\", password_keys = {} }\n";
    for (text, expected) in [
        (
            keyless.to_owned(),
            "a user with a password is needed to derive keys",
        ),
        (
            file("mechanism = \"username\", password_keys = {}"),
            "`password_keys` is given, and no key signs messages",
        ),
        (
            file("mechanism = \"secure-conversation\", password_keys = {}"),
            "`password_keys` is given, and no key of a password begins conversations",
        ),
        (
            file("mechanism = \"sign\", password_keys = { least = 10, most = 5 }"),
            "`most` is less than `least`: no message would be accepted",
        ),
        (
            file("mechanism = \"sign\", key_reference = \"ski\", password_keys = {}"),
            "`key_reference` is given beside `password_keys`: messages carry the token of such a key",
        ),
        (
            file(
                "mechanism = \"sign-encrypt\", suite = \"Basic256GCM\", password_keys = { derived = \"none\" }",
            ),
            "a key from a password has 20 bytes, and the suite's data encryption wants more",
        ),
        (
            file("mechanism = \"sign\", signed = [\"Body\"], password_keys = {}")
                .replace("another", "open sesame"),
            "the users alice and bob have one password, and no signature covers the token that names the user",
        ),
    ] {
        let found = problems(&folder, &text);
        assert!(found.contains(expected), "{text}: {found}");
    }
    // Where the signature covers the name, two users may have one password.
    let text = file("mechanism = \"sign\", password_keys = {}").replace("another", "open sesame");
    assert_eq!(problems(&folder, &text), "");
}

/// A policy as CXF's own tests have it (DoubleItUtDerived).
#[test]
fn a_policy_file_has_them_too() {
    let folder = Folder::new();
    let policy = "<wsp:Policy xmlns:wsp=\"http://www.w3.org/ns/ws-policy\" xmlns:sp=\"http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702\">\
        <sp:SymmetricBinding><wsp:Policy><sp:ProtectionToken><wsp:Policy><sp:UsernameToken><wsp:Policy><sp:NoPassword/><sp:RequireDerivedKeys/></wsp:Policy></sp:UsernameToken></wsp:Policy></sp:ProtectionToken>\
        <sp:AlgorithmSuite><wsp:Policy><sp:Basic256/></wsp:Policy></sp:AlgorithmSuite><sp:IncludeTimestamp/></wsp:Policy></sp:SymmetricBinding>\
        <sp:SignedParts><sp:Body/></sp:SignedParts><sp:EncryptedParts><sp:Body/></sp:EncryptedParts></wsp:Policy>";
    std::fs::write(folder.path("policy.xml"), policy).expect("it is written");
    let text = file("policy = \"policy.xml\", password_keys = { most = 50000 }");
    let message = secured(&folder, &text);
    assert_eq!(name(open(&opener(&folder, &text), &message)), "accepted");
    let derived = file("policy = \"policy.xml\", password_keys = { derived = \"none\" }");
    let found = problems(&folder, &derived);
    assert!(
        found.contains("`password_keys.derived` is given beside a policy file, which decides it"),
        "{found}"
    );
    let one_password = text.replace("another", "open sesame");
    let found = problems(&folder, &one_password);
    assert!(found.contains("no signature covers the token"), "{found}");
}
