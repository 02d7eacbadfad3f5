//! Messages that ask for much work, or hold what steers a terminal: an explanation is bounded, and
//! stays in its lines.

mod support;

use soapstone::crypto::SymmetricKey;
use soapstone_explain::{Explanation, Known, Options, State, explain, text};
use support::{PLAIN, RSA, secured, signed};

fn explained(message: &str, options: &Options<'_>) -> Explanation {
    let told = explain(message.as_bytes().to_vec(), options);
    told.unwrap_or_else(|error| panic!("{error}"))
}

/// A signed message with so many references to its Body, each with another digest.
fn with_references(count: usize) -> String {
    let message = signed();
    let start = message.rfind("<ds:Reference ").expect("a reference");
    let end = message.rfind("</ds:Reference>").expect("a reference") + "</ds:Reference>".len();
    let reference = message[start..end].repeat(count);
    format!("{}{reference}{}", &message[..start], &message[end..])
}

#[test]
fn canonical_bytes_are_kept_only_where_they_are_wanted() {
    let message = signed();
    assert!(explained(&message, &Options::default()).dumps.is_empty());
    let options = Options {
        dump: true,
        ..Options::default()
    };
    let names = explained(&message, &options).dumps.into_iter();
    let names: Vec<String> = names.map(|(name, _)| name).collect();
    let expected = [
        "signature-1-reference-1.c14n",
        "signature-1-reference-2.c14n",
        "signature-1-reference-3.c14n",
        "signature-1-signed-info.c14n",
    ];
    assert_eq!(names, expected);
}

#[test]
fn digests_are_computed_within_the_budget() {
    let message = with_references(60);
    let options = Options {
        work: 8 << 10,
        ..Options::default()
    };
    let told = explained(&message, &options);
    let references = &told.signatures[0].references;
    let computed: usize = references.iter().map(|one| one.bytes).sum();
    assert!(computed > 0 && computed <= 8 << 10, "{computed} bytes");
    let left = references
        .iter()
        .filter(|one| one.state == State::NotChecked);
    assert!(left.count() > 20);
    assert!(told.stopped);
    let kind = "work-bound";
    assert!(told.findings.iter().any(|finding| finding.kind == kind));
}

#[test]
fn the_items_of_all_headers_are_bounded_together() {
    let item = "<wsse:Unknown/>".repeat(200);
    let header = format!(
        "<wsse:Security xmlns:wsse=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\">{item}</wsse:Security>"
    );
    let message = PLAIN.replacen(
        "<soap:Header>",
        &format!("<soap:Header>{header}{header}"),
        1,
    );
    let told = explained(&message, &Options::default());
    assert_eq!(told.header.len(), 256);
}

#[test]
fn numbers_of_a_derivation_overflow_nothing() {
    let key = SymmetricKey::new(vec![7; 32]).expect("a key");
    let lines = "shared_key = { hex = \"0707070707070707070707070707070707070707070707070707070707070707\" }\n\
        [security]\nmechanism = \"sign\"\nkey_reference = \"key-name\"\n\
        algorithms = { signature = [\"hmac-sha256\"], digest = [\"sha256\"], canonicalization = [\"exc-c14n\"] }";
    let token = format!(
        "<wsc:DerivedKeyToken xmlns:wsc=\"http://docs.oasis-open.org/ws-sx/ws-secureconversation/200512\">\
         <wsc:Generation>{0}</wsc:Generation><wsc:Length>{0}</wsc:Length><wsc:Nonce>AAEC</wsc:Nonce></wsc:DerivedKeyToken>",
        usize::MAX
    );
    let message = secured("", lines, PLAIN);
    let message = message
        .replacen("<ds:Signature ", &format!("{token}<ds:Signature "), 1)
        .replacen("<ds:SignatureValue>", "<ds:SignatureValue>AAAA", 1);
    let known = Known {
        secrets: vec![("the shared key".to_owned(), key)],
        ..Known::default()
    };
    let options = Options {
        known,
        ..Options::default()
    };
    assert_eq!(
        explained(&message, &options).signatures[0].value,
        State::Differs
    );
}

#[test]
fn what_a_message_says_of_itself_stays_in_its_line() {
    let forged = "&#x9;&#xA;error: x&#x85;&#x202E;&#x2066;&#x2028;&#x200F;";
    let message = signed()
        .replacen(
            "DigestMethod Algorithm=\"",
            &format!("DigestMethod Algorithm=\"{forged}"),
            1,
        )
        .replacen("URI=\"#", &format!("URI=\"#{forged}"), 1)
        .replacen("ValueType=\"", &format!("ValueType=\"{forged}"), 1);
    let told = explained(&message, &Options::default());
    let text = text("evil\u{202e}.xml", &told);
    let is_steering = |one: &char| {
        one.is_control() && *one != '\n' || "\u{202e}\u{2066}\u{2028}\u{200f}".contains(*one)
    };
    let found: Vec<char> = text.chars().filter(is_steering).collect();
    assert_eq!(found, [], "{text}");
    assert!(!text.contains("\nerror: x"), "{text}");
}

#[test]
fn certificates_of_a_message_do_not_displace_configured_ones() {
    let signer = support::certificate("client");
    let message = signed();
    // The signature names no token any more, and forty others come before the configured ones.
    let start = message.find("<ds:KeyInfo>").expect("a KeyInfo");
    let end = message.find("</ds:KeyInfo>").expect("a KeyInfo") + "</ds:KeyInfo>".len();
    let message = format!("{}{}", &message[..start], &message[end..]);
    let other = soapstone::crypto::base64::encode(support::certificate("server").der());
    let start = message.find("<wsse:BinarySecurityToken").expect("a token");
    let end = message
        .find("</wsse:BinarySecurityToken>")
        .expect("a token");
    let open = start + message[start..].find('>').expect("a tag") + 1;
    let token = format!("<wsse:BinarySecurityToken>{other}</wsse:BinarySecurityToken>");
    let message = format!(
        "{}{}{}{other}{}",
        &message[..start],
        token.repeat(40),
        &message[start..open],
        &message[end..]
    );
    let options = Options {
        known: Known {
            certificates: vec![("`peer` of the endpoint file".to_owned(), signer)],
            ..Known::default()
        },
        ..Options::default()
    };
    let told = explained(&message, &options);
    let signature = &told.signatures[0];
    assert_eq!(signature.value, State::Matches, "{signature:?}");
    assert!(signature.key.contains("`peer`"), "{}", signature.key);
}

#[test]
fn documents_have_the_bounds_of_the_endpoint() {
    let mut limits = soapstone::xml::Limits::default();
    limits.depth = 3;
    let options = Options {
        limits,
        ..Options::default()
    };
    let error = explain(secured("client", RSA, PLAIN).into_bytes(), &options);
    let error = error.expect_err("a message that is too deep");
    assert!(error.to_string().contains("deep"), "{error}");
}
