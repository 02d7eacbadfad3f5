//! Dialects of `wsse:UsernameToken`: without nonce and time, without a password, types as qualified
//! names, the namespaces of 2002, and freshness without a Timestamp.
//!
//! Cases `clients/06-password-text-without-nonce`, `clients/07-old-user-name-tokens`,
//! `sectors/09-skew-without-timestamp`.

#[path = "support/kept.rs"]
mod kept;

use jiff::Timestamp;
use kept::Kept;
use soapstone::config::{EndpointConfig, Problems};
use soapstone::endpoint::Endpoint;
use soapstone::wss::Rejected;
use soapstone::{ForgetfulReplayCache, Memory, OpenedMessage, Opener, Securer};
use soapstone_testkit::Folder;
use soapstone_testkit::envelope::{HELLO, SOAP11, SOAP12, with_header};
use soapstone_testkit::keys::RSA;

const WSSE: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd";
const WSU: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";
const WSSE_2002: &str = "http://schemas.xmlsoap.org/ws/2002/07/secext";
const WSU_2002: &str = "http://schemas.xmlsoap.org/ws/2002/07/utility";

const USERS: &str = "users = [{ name = \"alice\", password = \"secret\" }]\n";
const KEYS: &str = "identity = { key = \"client.key.pem\", certificate = \"client.cert.pem\" }\n\
    trust = { anchors = [\"ca.cert.pem\"] }\n";

/// When the messages of this file were made.
const MOMENT: &str = "2026-11-25T12:01:00Z";

fn config(folder: &Folder, text: &str) -> Result<EndpointConfig, Problems> {
    EndpointConfig::from_text(text, &folder.path("endpoint.toml"), &|_| None)
}

fn file(security: &str) -> String {
    format!("{USERS}security = {{ time = \"{MOMENT}\", {security} }}\n")
}

fn opener(folder: &Folder, text: &str) -> Opener {
    let config = config(folder, text).and_then(|config| Endpoint::from_config(&config));
    config.unwrap_or_else(|problems| panic!("{text}: {problems}"))
}

fn securer(folder: &Folder, text: &str) -> Securer {
    let config = config(folder, text).and_then(|config| Endpoint::from_config(&config));
    config.unwrap_or_else(|problems| panic!("{text}: {problems}"))
}

fn problems(folder: &Folder, text: &str) -> String {
    let made: Result<Securer, Problems> =
        config(folder, text).and_then(|config| Endpoint::from_config(&config));
    made.err()
        .map(|problems| problems.to_string())
        .unwrap_or_default()
}

fn open(opener: &Opener, message: &str) -> Result<OpenedMessage, Rejected> {
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    opener.open(message.as_bytes().to_vec(), memory)
}

/// What an endpoint with this `security` says of a message.
fn verdict(folder: &Folder, security: &str, message: &str) -> &'static str {
    let opened = open(&opener(folder, &file(security)), message);
    opened.map_or_else(|rejected| rejected.name(), |_| "accepted")
}

fn secured(folder: &Folder, text: &str) -> String {
    let plain = with_header(SOAP11, "", HELLO).into_bytes();
    let secured = securer(folder, text).secure(plain).expect("it is secured");
    String::from_utf8(secured.bytes).expect("text")
}

/// A message with a token of these namespaces; `w` is the first, `u` the second.
fn message(soap: &str, [wsse, wsu]: [&str; 2], items: &str) -> String {
    let header = format!(
        "<w:Security xmlns:w=\"{wsse}\" xmlns:u=\"{wsu}\" s:mustUnderstand=\"1\"><w:UsernameToken><w:Username>alice</w:Username>{items}</w:UsernameToken></w:Security>"
    );
    with_header(soap, &header, HELLO)
}

const OF_2004: [&str; 2] = [WSSE, WSU];
const OF_2002: [&str; 2] = [WSSE_2002, WSU_2002];

const TEXT: &str = "<w:Password Type=\"w:PasswordText\">secret</w:Password>";

/// Base64(SHA-1("0123456789abcdef" + "2026-11-25T12:00:00Z" + "secret")).
const DIGEST: &str = "<w:Password Type=\"w:PasswordDigest\">LYY8HywfhfvoOkNm+rIhK4zjPkw=</w:Password>\
    <w:Nonce>MDEyMzQ1Njc4OWFiY2RlZg==</w:Nonce><u:Created>2026-11-25T12:00:00Z</u:Created>";

#[test]
fn types_that_are_qualified_names_are_accepted_where_the_file_says_so() {
    let folder = Folder::new();
    for soap in [SOAP11, SOAP12] {
        for (password, items) in [("text", TEXT), ("digest", DIGEST)] {
            let sent = message(soap, OF_2004, items);
            let strict = format!("mechanism = \"username\", password = \"{password}\"");
            let lenient =
                format!("{strict}, username_token = {{ accept = [\"qualified-types\"] }}");
            assert_eq!(
                verdict(&folder, &strict, &sent),
                "password-kind-not-allowed",
                "{password}"
            );
            assert_eq!(verdict(&folder, &lenient, &sent), "accepted", "{password}");
            for (wrong, why) in [
                (sent.replace("w:Password", "w:Secret"), "malformed"),
                (
                    sent.replace("\"w:Password", "\"s:Password"),
                    "password-kind-not-allowed",
                ),
                (
                    sent.replace("\"w:Password", "\"Password"),
                    "password-kind-not-allowed",
                ),
                (
                    sent.replace("\"w:Password", "\"none:Password"),
                    "password-kind-not-allowed",
                ),
                (
                    sent.replace(">secret<", ">Secret<").replace("LYY8", "LYY9"),
                    "authentication-failed",
                ),
            ] {
                assert_eq!(verdict(&folder, &lenient, &wrong), why, "{wrong}");
            }
            // The type says which kind it is, however it is written.
            let other = match password {
                "text" => lenient.replace("\"text\"", "\"digest\""),
                _ => lenient.replace("\"digest\"", "\"text\""),
            };
            assert_eq!(
                verdict(&folder, &other, &sent),
                "password-kind-not-allowed",
                "{other}"
            );
        }
    }
}

/// Clients of cameras: the names of the profile, with the identifier of another document in front.
#[test]
fn identifiers_of_other_documents_are_accepted_where_the_file_says_so() {
    const DOCUMENTS: &str = "http://docs.oasis-open.org/wss/";
    let folder = Folder::new();
    for (password, items) in [("text", TEXT), ("digest", DIGEST)] {
        let sent = |start: &str, encoding: &str| {
            let sent = message(SOAP12, OF_2004, items);
            let sent = sent.replace("\"w:Password", &format!("\"{start}Password"));
            sent.replace(
                "<w:Nonce>",
                &format!("<w:Nonce EncodingType=\"{encoding}#Base64Binary\">"),
            )
        };
        let own_type = format!("{DOCUMENTS}2004/01/oasis-200401-wss-username-token-profile-1.0");
        let own_encoding = format!("{DOCUMENTS}2004/01/oasis-200401-wss-soap-message-security-1.0");
        let own_start = format!("{own_type}#");
        let strict = format!("mechanism = \"username\", password = \"{password}\"");
        let lenient = format!("{strict}, username_token = {{ accept = [\"other-identifiers\"] }}");
        let own = sent(&own_start, &own_encoding);
        assert_eq!(verdict(&folder, &strict, &own), "accepted");
        for start in [
            "",
            &format!("{DOCUMENTS}oasis-wss-username-token-profile-1.1#"),
            &format!("{DOCUMENTS}2004/01/oasis-200401-wss-username-token-profile-1.1#"),
        ] {
            let sent = sent(start, &own_encoding);
            let refused = "password-kind-not-allowed";
            assert_eq!(verdict(&folder, &strict, &sent), refused, "{start}");
            assert_eq!(verdict(&folder, &lenient, &sent), "accepted", "{start}");
            let wrong = sent.replace(">secret<", ">Secret<").replace("LYY8", "LYY9");
            assert_eq!(verdict(&folder, &lenient, &wrong), "authentication-failed");
            // The type says which kind it is, however it is written.
            let (one, other) = match password {
                "text" => ("PasswordText", "PasswordDigest"),
                _ => ("PasswordDigest", "PasswordText"),
            };
            let swapped = sent.replace(one, other);
            assert_eq!(verdict(&folder, &lenient, &swapped), refused, "{start}");
        }
        for encoding in [
            format!("{DOCUMENTS}2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"),
            own_type,
        ] {
            let sent = sent(&own_start, &encoding);
            let refused = match password {
                "text" => "accepted",
                _ => "token-unsupported",
            };
            assert_eq!(verdict(&folder, &strict, &sent), refused, "{encoding}");
            assert_eq!(verdict(&folder, &lenient, &sent), "accepted", "{encoding}");
        }
        let refused = "password-kind-not-allowed";
        for start in ["urn:x#", "#", "w:", &format!("{DOCUMENTS}Password#")] {
            let sent = sent(start, &own_encoding);
            assert_eq!(verdict(&folder, &lenient, &sent), refused, "{start}");
        }
    }
}

#[test]
fn tokens_of_the_draft_of_2002_are_accepted_where_the_file_says_so() {
    let folder = Folder::new();
    for soap in [SOAP11, SOAP12] {
        for (password, items) in [("text", TEXT), ("digest", DIGEST)] {
            let sent = message(soap, OF_2002, items);
            let strict = format!("mechanism = \"username\", password = \"{password}\"");
            let lenient = format!("{strict}, username_token = {{ accept = [\"2002/07\"] }}");
            assert_eq!(verdict(&folder, &strict, &sent), "security-of-draft");
            let opened = open(&opener(&folder, &file(&lenient)), &sent);
            let opened = opened.expect("it is accepted");
            assert_eq!(opened.evidence.user.as_deref(), Some("alice"));
            let passed = String::from_utf8(opened.bytes).expect("text");
            assert!(
                !passed.contains("secret") && !passed.contains("Security"),
                "{passed}"
            );
            let encoded = sent.replace("<w:Nonce>", "<w:Nonce EncodingType=\"w:Base64Binary\">");
            assert_eq!(verdict(&folder, &lenient, &encoded), "accepted");
            // Those of 2004 are accepted as before, and with the types of the profile.
            let own = message(soap, OF_2004, items);
            let uri = "\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#Password";
            let own = own.replace("\"w:Password", uri);
            assert_eq!(verdict(&folder, &lenient, &own), "accepted");
        }
    }
}

/// Two headers, or two tokens, of which one is read and the other one obeyed.
#[test]
fn a_message_has_one_token_in_one_header_whatever_their_namespaces() {
    let folder = Folder::new();
    let lenient = "mechanism = \"username\", password = \"text\", username_token = { accept = [\"2002/07\", \"qualified-types\"] }";
    let token = |prefix: &str, namespace: &str| {
        format!(
            "<{prefix}:UsernameToken xmlns:{prefix}=\"{namespace}\"><{prefix}:Username>alice</{prefix}:Username><{prefix}:Password>secret</{prefix}:Password></{prefix}:UsernameToken>"
        )
    };
    let header = |namespace: &str, items: &str| {
        format!("<x:Security xmlns:x=\"{namespace}\">{items}</x:Security>")
    };
    let (new, old) = (token("n", WSSE), token("o", WSSE_2002));
    for (headers, expected) in [
        (header(WSSE, &new), "accepted"),
        (header(WSSE_2002, &old), "accepted"),
        (
            header(WSSE, &new) + &header(WSSE_2002, &old),
            "security-duplicated",
        ),
        (
            header(WSSE_2002, &old) + &header(WSSE_2002, &old),
            "security-duplicated",
        ),
        (header(WSSE, &format!("{new}{old}")), "too-many"),
        (header(WSSE_2002, &format!("{old}{new}")), "too-many"),
    ] {
        let sent = with_header(SOAP11, &headers, HELLO);
        assert_eq!(verdict(&folder, lenient, &sent), expected, "{sent}");
    }
    // One that is for another node shows its password to no backend.
    let elsewhere =
        format!("<x:Security xmlns:x=\"{WSSE_2002}\" s:actor=\"urn:x\">{old}</x:Security>");
    let sent = with_header(SOAP11, &(header(WSSE, &new) + &elsewhere), HELLO);
    let opened = open(&opener(&folder, &file(lenient)), &sent).expect("it is accepted");
    let passed = String::from_utf8(opened.bytes).expect("text");
    assert!(!passed.contains("secret"), "{passed}");
    // A token of the draft in a header of 2004 is none, unless the file accepts it.
    let strict = "mechanism = \"username\", password = \"text\"";
    let sent = with_header(SOAP11, &header(WSSE, &old), HELLO);
    assert_eq!(verdict(&folder, strict, &sent), "element-unexpected");
}

#[test]
fn a_digest_of_a_dialect_is_accepted_once() {
    let folder = Folder::new();
    let lenient = "mechanism = \"username\", username_token = { accept = [\"2002/07\", \"qualified-types\"] }";
    let opener = opener(&folder, &file(lenient));
    let cache = Kept::default();
    let memory = || Memory::without_conversations(&cache);
    let (old, new) = (
        message(SOAP11, OF_2002, DIGEST),
        message(SOAP11, OF_2004, DIGEST),
    );
    assert!(opener.open(old.clone().into_bytes(), memory()).is_ok());
    // The same digest in the other form is the same message of the same user.
    for copy in [old, new] {
        let refused = opener.open(copy.into_bytes(), memory());
        assert_eq!(refused.expect_err("a copy"), Rejected::Replayed);
    }
}

#[test]
fn nonce_and_time_are_left_out_where_the_file_says_so() {
    let folder = Folder::new();
    for (items, nonce, created) in [
        ("", true, true),
        (", username_token = { nonce = false }", false, true),
        (", username_token = { created = false }", true, false),
        (
            ", username_token = { nonce = false, created = false }",
            false,
            false,
        ),
    ] {
        for password in ["text", "none"] {
            let security = format!(
                "mechanism = \"username\", password = \"{password}\", timestamp = false{items}"
            );
            let sent = secured(&folder, &file(&security));
            assert_eq!(sent.contains("<wsse:Nonce"), nonce, "{security}: {sent}");
            assert_eq!(sent.contains("<wsu:Created"), created, "{security}: {sent}");
            assert_eq!(
                sent.contains("<wsse:Password"),
                password == "text",
                "{sent}"
            );
            assert_eq!(verdict(&folder, &security, &sent), "accepted", "{security}");
        }
    }
    let digest = "mechanism = \"username\", username_token = { nonce = false }";
    let found = problems(&folder, &file(digest));
    assert!(
        found.contains("a password digest has a nonce and the time of its making"),
        "{found}"
    );
    let found = problems(
        &folder,
        &file("mechanism = \"none\", username_token = { nonce = false }"),
    );
    assert!(
        found.contains("`username_token` is given, and messages have no user"),
        "{found}"
    );
}

/// WS-SecurityPolicy 1.3, 5.4.1.
#[test]
fn under_a_policy_tokens_have_what_it_demands() {
    let folder = Folder::new();
    let sp = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702";
    let sp13 = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200802";
    let policy = |inner: &str| {
        format!(
            "<p:Policy xmlns:p=\"http://www.w3.org/ns/ws-policy\" xmlns:sp=\"{sp}\" xmlns:sp13=\"{sp13}\"><sp:SupportingTokens><p:Policy>\
             <sp:UsernameToken sp:IncludeToken=\"{sp}/IncludeToken/AlwaysToRecipient\"><p:Policy>{inner}</p:Policy></sp:UsernameToken>\
             </p:Policy></sp:SupportingTokens></p:Policy>"
        )
    };
    let bare = message(
        SOAP11,
        OF_2004,
        &TEXT.replace(" Type=\"w:PasswordText\"", ""),
    );
    for (inner, nonce, created, of_bare) in [
        ("", false, false, "accepted"),
        ("<sp13:Nonce/>", true, false, "malformed"),
        ("<sp13:Created/>", false, true, "malformed"),
        ("<sp13:Created/><sp13:Nonce/>", true, true, "malformed"),
        (
            "<sp:HashPassword/>",
            true,
            true,
            "password-kind-not-allowed",
        ),
    ] {
        folder.write("policy.xml", policy(inner));
        let file = file("policy = \"policy.xml\"");
        let sent = secured(&folder, &file);
        assert_eq!(sent.contains("<wsse:Nonce"), nonce, "{inner}: {sent}");
        assert_eq!(sent.contains("<wsu:Created"), created, "{inner}: {sent}");
        let opener = opener(&folder, &file);
        open(&opener, &sent).unwrap_or_else(|rejected| panic!("{inner}: {rejected}"));
        let of_others = open(&opener, &bare).map_or_else(|it| it.name(), |_| "accepted");
        assert_eq!(of_others, of_bare, "{inner}");
    }
    let found = problems(
        &folder,
        &file("policy = \"policy.xml\", username_token = { nonce = false }"),
    );
    assert!(
        found.contains("`nonce` is given beside a policy file, which decides it"),
        "{found}"
    );
}

#[test]
fn a_user_without_a_password_is_named_and_not_proven() {
    let folder = Folder::with_keys(RSA, &["client"]);
    let signed = "mechanism = \"username\", password = \"none\", signed = [\"Body\", \"Timestamp\", \"UsernameToken\"], timestamp = true";
    for security in ["mechanism = \"username\", password = \"none\"", signed] {
        let text = format!("{KEYS}users = [{{ name = \"alice\" }}]\nsecurity = {{ {security} }}\n");
        let sent = secured(&folder, &text);
        assert!(!sent.contains("Password"), "{sent}");
        let receiver = opener(&folder, &text);
        let opened = open(&receiver, &sent).expect("it is accepted");
        assert_eq!(opened.evidence.user, None);
        assert_eq!(opened.evidence.named_user.as_deref(), Some("alice"));
        // One that nobody knows.
        let unknown = text.replace("alice", "bob");
        let refused = open(&opener(&folder, &unknown), &sent).expect_err("nobody knows alice");
        let failed = Rejected::AuthenticationFailed {
            user: "alice".to_owned(),
        };
        assert_eq!(refused, failed);
    }
    let unsigned =
        format!("{KEYS}{USERS}security = {{ mechanism = \"username\", password = \"none\" }}\n");
    let bare = secured(&folder, &unsigned);
    for password in ["text", "digest"] {
        // Where a password is demanded, a token without one is none.
        let strict = unsigned.replace("\"none\"", &format!("\"{password}\""));
        let refused = open(&opener(&folder, &strict), &bare).expect_err("it proves nobody");
        let missing = Rejected::Malformed {
            element: "wsse:UsernameToken",
            problem: "expected `Password`, found none".to_owned(),
        };
        assert_eq!(refused, missing);
        // And where none is demanded, a password is not looked at: another dialect is spoken.
        let with_password = secured(&folder, &strict);
        let refused = open(&opener(&folder, &unsigned), &with_password);
        assert_eq!(
            refused.expect_err("it has a password").name(),
            "password-kind-not-allowed"
        );
        // Users without a password are a mistake there.
        let lacking = strict.replace(USERS, "users = [{ name = \"alice\" }]\n");
        let found = problems(&folder, &lacking);
        assert!(
            found.contains("`password` is missing in [users]"),
            "{found}"
        );
    }
}

/// ONVIF and other profiles have a token of a user, and no Timestamp.
#[test]
fn ttl_and_skew_hold_without_a_timestamp() {
    let folder = Folder::new();
    let sent = message(SOAP11, OF_2004, DIGEST);
    let sent = sent.replace(
        "w:PasswordDigest",
        "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#PasswordDigest",
    );
    for (timestamp, at, expected) in [
        ("false", "2026-11-25T13:30:00Z", "timestamp-expired"),
        (
            "{ skew = \"2h\" }",
            "2026-11-25T13:30:00Z",
            "timestamp-missing",
        ),
        (
            "{ required = false, skew = \"2h\" }",
            "2026-11-25T13:30:00Z",
            "accepted",
        ),
        (
            "{ required = false, skew = \"2h\" }",
            "2026-11-25T14:06:00Z",
            "timestamp-expired",
        ),
        (
            "{ required = false, skew = \"2h\" }",
            "2026-11-25T10:00:01Z",
            "accepted",
        ),
        (
            "{ required = false, skew = \"2h\" }",
            "2026-11-25T09:59:59Z",
            "timestamp-in-future",
        ),
        (
            "{ required = false, ttl = \"1h\" }",
            "2026-11-25T13:00:59Z",
            "accepted",
        ),
        (
            "{ required = false, ttl = \"1h\" }",
            "2026-11-25T13:01:00Z",
            "timestamp-expired",
        ),
    ] {
        let security = format!("mechanism = \"username\", timestamp = {timestamp}");
        let text = format!("{USERS}security = {{ time = \"{at}\", {security} }}\n");
        let found = open(&opener(&folder, &text), &sent);
        let found = found.map_or_else(|rejected| rejected.name(), |_| "accepted");
        assert_eq!(found, expected, "{timestamp} {at}");
        let required = !timestamp.contains("false");
        let ours = secured(&folder, &text);
        assert_eq!(
            ours.contains("<wsu:Timestamp"),
            required,
            "{timestamp}: {ours}"
        );
    }
    // The same of signed messages, whose mark is remembered for as long as they are fresh.
    let folder = Folder::with_keys(RSA, &["client"]);
    let text = format!(
        "{KEYS}security = {{ mechanism = \"sign\", timestamp = {{ required = false, ttl = \"1h\", skew = \"2h\" }} }}\n"
    );
    let ours = secured(&folder, &text);
    assert!(!ours.contains("Timestamp"), "{ours}");
    let cache = Kept::default();
    let opened =
        opener(&folder, &text).open(ours.into_bytes(), Memory::without_conversations(&cache));
    opened.expect("it is accepted");
    let until = cache.until().expect("a mark");
    let hours = (until.as_second() - Timestamp::now().as_second()) / 3_600;
    assert!((2..=5).contains(&hours), "{until}");
}
