//! The profile `sosi` against messages in the form of the Seal libraries, which xmlsec1 signs.
//!
//! Their ids are chosen by hand, and their Timestamp has no `Expires`. `mustUnderstand` has no
//! namespace. The ID card in the Body has a signature of its own.

#[path = "support/endpoints.rs"]
mod endpoints;
#[path = "support/xmlsec.rs"]
mod xmlsec;

use soapstone::endpoint::{Endpoint, Fixed};
use soapstone::xml::Buffers;
use soapstone::{Client, ForgetfulReplayCache, Memory, OpenedMessage, Opener};
use soapstone_testkit::Folder;
use soapstone_testkit::envelope::{HELLO, SOAP11, with_header};
use soapstone_testkit::keys::RSA;

use endpoints::compile;
use xmlsec::{SHA1, SHA256, WSA_2004, WSSE, WSU};

const WSA: &str = "http://www.w3.org/2005/08/addressing";
const DS: &str = "http://www.w3.org/2000/09/xmldsig#";
/// The ids of what the Seal libraries sign: `wsa:To` and `wsa:RelatesTo` where they are there.
const SIGNED: [&str; 6] = [
    "timestamp",
    "messageID",
    "action",
    "to",
    "relatesTo",
    "body",
];

const TO: &str = "<wsa:To wsu:Id=\"to\">https://sts.example/</wsa:To>";
const RELATES_TO: &str = "<wsa:RelatesTo wsu:Id=\"relatesTo\">urn:uuid:1</wsa:RelatesTo>";

/// The ID card: the look of SAML 2.0, with an `id` in lower case, in a request for a token.
const CARD: &str = "<wst:RequestSecurityToken xmlns:wst=\"http://docs.oasis-open.org/ws-sx/ws-trust/200512\">\
    <wst14:ActAs xmlns:wst14=\"http://docs.oasis-open.org/ws-sx/ws-trust/200802\">\
    <saml:Assertion xmlns:saml=\"urn:oasis:names:tc:SAML:2.0:assertion\" Version=\"2.0\" id=\"IDCard\">\
    <saml:Issuer>TESTSTS</saml:Issuer><saml:Subject><saml:SubjectConfirmation><saml:SubjectConfirmationData>\
    <ds:KeyInfo xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\"><ds:KeyName>OCESSignature</ds:KeyName></ds:KeyInfo>\
    </saml:SubjectConfirmationData></saml:SubjectConfirmation></saml:Subject>\
    <ds:Signature xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\" id=\"OCESSignature\"><ds:SignatureValue>AA==</ds:SignatureValue></ds:Signature>\
    </saml:Assertion></wst14:ActAs></wst:RequestSecurityToken>";

fn folder() -> Folder {
    Folder::with_keys(RSA, &["client", "service"])
}

fn endpoint<P: Fixed>(folder: &Folder, security: &str) -> Endpoint<P> {
    let text = format!(
        "identity = {{ key = \"client.key.pem\", certificate = \"client.cert.pem\" }}\n\
         trust = {{ anchors = [\"ca.cert.pem\"] }}\nsecurity = {{ {security} }}\n"
    );
    compile(folder, &text).unwrap_or_else(|problems| panic!("{security}: {problems}"))
}

fn open(opener: &Opener, message: &str) -> Result<OpenedMessage, &'static str> {
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    let opened = opener.open(message.as_bytes().to_vec(), memory);
    opened.map_err(|rejected| rejected.cause().name())
}

/// A message as the Seal libraries put it together, before it is signed.
fn template(signed: &[&str], [signature, digest]: [&str; 2]) -> String {
    let references: String = signed
        .iter()
        .map(|id| {
            format!(
                "<ds:Reference URI=\"#{id}\"><ds:Transforms><ds:Transform Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"/></ds:Transforms>\
                 <ds:DigestMethod Algorithm=\"{digest}\"/><ds:DigestValue/></ds:Reference>"
            )
        })
        .collect();
    let created = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
    format!(
        "<soap:Envelope xmlns:soap=\"{SOAP11}\" xmlns:wsu=\"{WSU}\" xmlns:wsa=\"{WSA}\"><soap:Header>\
         <wsa:Action mustUnderstand=\"1\" wsu:Id=\"action\">urn:issue</wsa:Action>\
         <wsa:MessageID wsu:Id=\"messageID\">urn:uuid:6b2f7c1e-0000-4000-8000-000000000001</wsa:MessageID>\
         {TO}{RELATES_TO}\
         <wsse:Security xmlns:wsse=\"{WSSE}\" mustUnderstand=\"1\">\
         <wsu:Timestamp wsu:Id=\"timestamp\"><wsu:Created>{created}</wsu:Created></wsu:Timestamp>\
         <ds:Signature xmlns:ds=\"{DS}\"><ds:SignedInfo><ds:CanonicalizationMethod Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"/>\
         <ds:SignatureMethod Algorithm=\"{signature}\"/>{references}</ds:SignedInfo><ds:SignatureValue/>\
         <ds:KeyInfo><ds:X509Data/></ds:KeyInfo></ds:Signature></wsse:Security></soap:Header>\
         <soap:Body wsu:Id=\"body\">{CARD}</soap:Body></soap:Envelope>"
    )
}

/// A request of a client, before it is secured.
fn request() -> Vec<u8> {
    let headers = format!(
        "<a:Action xmlns:a=\"{WSA}\">urn:issue</a:Action><a:MessageID xmlns:a=\"{WSA}\">urn:uuid:1</a:MessageID>\
         <a:To xmlns:a=\"{WSA}\">https://sts.example/</a:To>"
    );
    with_header(SOAP11, &headers, CARD).into_bytes()
}

/// The message with its signature; `None`: xmlsec1 is not installed.
fn signed(folder: &Folder, template: &str) -> Option<String> {
    signed_by(folder, "client", template)
}

fn signed_by(folder: &Folder, signer: &str, template: &str) -> Option<String> {
    let addressing = ["MessageID", "Action", "To", "RelatesTo"];
    let addressing = addressing.map(|local| [[WSA, local], [WSA_2004, local]]);
    let others = [[WSU, "Timestamp"], [SOAP11, "Body"]];
    let identified = others.into_iter().chain(addressing.concat());
    let identified: Vec<_> = identified.map(|it| it.join(":")).collect();
    let place = "//*[local-name()='Security']/*[local-name()='Signature']";
    let mut options = vec!["--node-xpath", place];
    options.extend(identified.iter().flat_map(|it| ["--id-attr:Id", it]));
    xmlsec::signed(folder, signer, template, &options, "SOSI")
}

#[test]
fn a_message_in_the_form_of_the_seal_libraries_is_accepted() {
    let folder = folder();
    let Some(message) = signed(&folder, &template(&SIGNED, SHA256)) else {
        return;
    };
    let opener: Opener = endpoint(&folder, "profile = \"sosi\"");
    let opened = open(&opener, &message).expect("it is accepted");
    assert!(
        opened.evidence.dropped.is_empty(),
        "{:?}",
        opened.evidence.dropped
    );
    let passed_on = String::from_utf8(opened.bytes).expect("text");
    assert!(passed_on.contains("id=\"IDCard\""), "{passed_on}");
    assert!(passed_on.contains("id=\"OCESSignature\""), "{passed_on}");
    for content in [
        "wsu:Id=\"to\">https://sts.example/</wsa:To>",
        "wsu:Id=\"relatesTo\">urn:uuid:1</wsa:RelatesTo>",
    ] {
        assert!(passed_on.contains(content), "{passed_on}");
    }
}

/// The profile speaks of WS-Addressing 1.0 alone. A file that names the headers of 2004 wants them
/// signed, and writes them.
#[test]
fn the_addressing_of_2004_is_for_a_file_that_names_its_headers() {
    let folder = folder();
    let message = |signed_parts: &[&str]| {
        let template = template(signed_parts, SHA256).replace(WSA, WSA_2004);
        signed(&folder, &template)
    };
    let without_to = SIGNED.map(|id| if id == "to" { "body" } else { id });
    let (Some(whole), Some(without_to)) = (message(&SIGNED), message(&without_to)) else {
        return;
    };
    let profile: Opener = endpoint(&folder, "profile = \"sosi\"");
    let opened = open(&profile, &without_to).expect("it says nothing of these headers");
    let passed_on = String::from_utf8(opened.bytes).expect("text");
    assert!(!passed_on.contains("https://sts.example/"), "{passed_on}");

    let headers = ["Action", "MessageID", "To", "RelatesTo"];
    let headers = headers.map(|local| format!("\"{{{WSA_2004}}}{local}\""));
    let security = format!(
        "mechanism = \"sign\", key_reference = \"x509-data\", signed = [\"Timestamp\", \"Body\", {}]",
        headers.join(", ")
    );
    let named: Opener = endpoint(&folder, &security);
    let opened = open(&named, &whole).expect("it is accepted");
    let passed_on = String::from_utf8(opened.bytes).expect("text");
    assert!(passed_on.contains("id=\"IDCard\""), "{passed_on}");
    assert!(passed_on.contains("https://sts.example/"), "{passed_on}");
    assert_eq!(open(&named, &without_to).map(drop), Err("unsigned"));
    let changed = whole.replace(">https://sts.example/<", ">https://evil.example/<");
    assert_eq!(open(&named, &changed).map(drop), Err("digest-mismatch"));

    let writes = format!("{security}, addressing = {{ version = \"2004/08\" }}");
    let client: Client = endpoint(&folder, &writes);
    let plain = with_header(SOAP11, "", CARD).into_bytes();
    let (action, to) = (Some("urn:issue"), Some("https://sts.example/"));
    let labelled = client.label_request(plain, action, to, &mut Buffers::new());
    let labelled = String::from_utf8(labelled.expect("it gets headers")).expect("text");
    assert!(labelled.contains(WSA_2004), "{labelled}");
}

/// Each part that the profile names is needed, and neither of them can be changed or exchanged.
#[test]
fn what_the_profile_signs_is_not_left_out_changed_or_moved() {
    let folder = folder();
    let opener: Opener = endpoint(&folder, "profile = \"sosi\"");
    for left_out in SIGNED {
        let rest: Vec<&str> = SIGNED.into_iter().filter(|id| *id != left_out).collect();
        let Some(message) = signed(&folder, &template(&rest, SHA256)) else {
            return;
        };
        assert_eq!(
            open(&opener, &message).map(drop),
            Err("unsigned"),
            "{left_out}"
        );
    }
    let Some(message) = signed(&folder, &template(&SIGNED, SHA256)) else {
        return;
    };
    for (from, to) in [
        (">urn:issue<", ">urn:cancel<"),
        ("000000000001<", "000000000002<"),
        (">TESTSTS<", ">ATTACKER<"),
        (">https://sts.example/<", ">https://evil.example/<"),
        (">urn:uuid:1<", ">urn:uuid:2<"),
    ] {
        let changed = message.replace(from, to);
        assert_ne!(changed, message);
        assert_eq!(open(&opener, &changed).map(drop), Err("digest-mismatch"));
    }
    // Signature wrapping: the signed Body under a header block, another one in its place.
    let (head, rest) = message.split_once("<soap:Body").expect("a Body");
    let (body, end) = rest.split_once("</soap:Body>").expect("its end");
    let moved = format!(
        "{}<x:Old xmlns:x=\"urn:x\"><soap:Body{body}</soap:Body></x:Old></soap:Header>\
         <soap:Body>{HELLO}</soap:Body>{end}",
        head.strip_suffix("</soap:Header>").expect("the Header")
    );
    assert_eq!(open(&opener, &moved).map(drop), Err("unsigned"));
    // The same of a header: the signed one below another block.
    for (block, other) in [
        (TO, "<wsa:To>https://evil.example/</wsa:To>"),
        (RELATES_TO, "<wsa:RelatesTo>urn:uuid:2</wsa:RelatesTo>"),
    ] {
        let wrapped = format!("<x:Old xmlns:x=\"urn:x\">{block}</x:Old>");
        for put in [format!("{wrapped}{other}"), format!("{other}{wrapped}")] {
            let moved = message.replace(block, &put);
            assert_ne!(moved, message);
            assert_eq!(open(&opener, &moved).map(drop), Err("unsigned"), "{put}");
        }
        let taken_out = message.replace(block, "");
        let refused = open(&opener, &taken_out).map(drop);
        assert_eq!(refused, Err("reference-not-found"), "{block}");
    }
}

/// The Seal libraries have neither header in each message.
#[test]
fn a_message_without_to_and_relates_to_is_accepted() {
    let folder = folder();
    let rest: Vec<&str> = SIGNED
        .into_iter()
        .filter(|id| !["to", "relatesTo"].contains(id))
        .collect();
    let bare = template(&rest, SHA256).replace(TO, "");
    let Some(message) = signed(&folder, &bare.replace(RELATES_TO, "")) else {
        return;
    };
    let opener: Opener = endpoint(&folder, "profile = \"sosi\"");
    assert_eq!(open(&opener, &message).map(drop), Ok(()));
}

/// Whoever is on the way holds back an answer and gives it to another request.
#[test]
fn an_answer_proves_which_request_it_is_to() {
    let folder = folder();
    let client: Client = endpoint(&folder, "profile = \"sosi\"");
    let unrelated: Vec<&str> = SIGNED.into_iter().filter(|id| *id != "relatesTo").collect();
    let whole = template(&SIGNED, SHA256);
    let bare = template(&unrelated, SHA256);
    let another = RELATES_TO.replace("urn:uuid:1", "urn:uuid:2");
    for (answer, expected) in [
        (whole.clone(), Ok(())),
        (
            whole.replace(RELATES_TO, &another),
            Err("answer-to-another-request"),
        ),
        (
            bare.replace(RELATES_TO, ""),
            Err("answer-to-another-request"),
        ),
        (bare, Err("unsigned")),
    ] {
        let request = client.secure(request()).expect("it is secured");
        let Some(answer) = signed_by(&folder, "service", &answer) else {
            return;
        };
        let memory = Memory::without_conversations(&ForgetfulReplayCache);
        let opened = client.open(answer.into_bytes(), request.receipt, memory);
        let found = opened.map(drop).map_err(|rejected| rejected.name());
        assert_eq!(found, expected);
    }
}

/// `ds:X509Data` is a key that the message brings along: it proves nothing by itself.
#[test]
fn a_certificate_of_somebody_else_signs_nothing() {
    let folder = folder();
    let Some(message) = signed(&folder, &template(&SIGNED, SHA256)) else {
        return;
    };
    let text = "trust = { anchors = [\"ca.cert.pem\"], subjects = [\"CN=service\"] }\nsecurity = { profile = \"sosi\" }\n";
    let opener: Opener = compile(&folder, text).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(
        open(&opener, &message).map(drop),
        Err("subject-not-allowed")
    );
    // Two certificates beside each other mean two keys.
    let other = String::from_utf8(folder.read("service.cert.pem")).expect("text");
    let other: String = other
        .lines()
        .filter(|line| !line.starts_with('-'))
        .collect();
    let second = format!("<ds:X509Certificate>{other}</ds:X509Certificate></ds:X509Data>");
    let two = message.replace("</ds:X509Data>", &second);
    assert_ne!(two, message);
    assert!(open(&endpoint(&folder, "profile = \"sosi\""), &two).is_err());
}

#[test]
fn sha1_is_accepted_where_the_file_names_it_alone() {
    let folder = folder();
    let Some(message) = signed(&folder, &template(&SIGNED, SHA1)) else {
        return;
    };
    let usual: Opener = endpoint(&folder, "profile = \"sosi\"");
    assert_eq!(
        open(&usual, &message).map(drop),
        Err("algorithm-not-allowed")
    );
    let old =
        "profile = \"sosi\", algorithms = { signature = [\"rsa-sha1\"], digest = [\"sha1\"] }";
    let old: Opener = endpoint(&folder, old);
    assert_eq!(open(&old, &message).map(drop), Ok(()));
}

#[test]
fn a_client_writes_the_certificate_without_a_reference_to_a_token() {
    let folder = folder();
    let client: Client = endpoint(&folder, "profile = \"sosi\"");
    let message = client.secure(request()).expect("it is secured").bytes;
    let message = String::from_utf8(message).expect("text");
    assert!(
        message.contains("<ds:KeyInfo><ds:X509Data><ds:X509Certificate>"),
        "{message}"
    );
    assert!(!message.contains("BinarySecurityToken"), "{message}");
    assert_eq!(
        message.matches("<ds:Reference URI=").count(),
        5,
        "{message}"
    );
    let opener: Opener = endpoint(&folder, "profile = \"sosi\"");
    assert_eq!(open(&opener, &message).map(drop), Ok(()));
    // A header that the profile has signed is never left out in silence.
    let refused = client.secure(with_header(SOAP11, "", CARD).into_bytes());
    assert!(refused.is_err());
}
