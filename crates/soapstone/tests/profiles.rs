//! Profiles: each has an endpoint file among the recipes, takes messages of its form that another
//! endpoint makes, and refuses those of another form.

#[expect(
    dead_code,
    reason = "contexts are granted here, and not agreed on with a peer"
)]
#[path = "support/contexts.rs"]
mod contexts;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use soapstone::config::EndpointConfig;
use soapstone::crypto::base64;
use soapstone::endpoint::{Endpoint, Fixed};
use soapstone::wss::{Envelope, Outgoing, SoapVersion};
use soapstone::xml::Buffers;
use soapstone::{Arrived, Call, Client, ForgetfulReplayCache, Memory, ReceiveError, Service};
use soapstone_testkit::Folder;
use soapstone_testkit::envelope::{HELLO, SOAP11, SOAP12, with_header};
use soapstone_testkit::keys::RSA;

const HEADERS: &str = "<a:To xmlns:a=\"http://www.w3.org/2005/08/addressing\">https://service.example/</a:To>\
    <a:Action xmlns:a=\"http://www.w3.org/2005/08/addressing\">urn:hello</a:Action>\
    <a:MessageID xmlns:a=\"http://www.w3.org/2005/08/addressing\">urn:uuid:6b2f7c1e-0000-4000-8000-000000000001</a:MessageID>\
    <a:ReplyTo xmlns:a=\"http://www.w3.org/2005/08/addressing\"><a:Address>http://www.w3.org/2005/08/addressing/anonymous</a:Address></a:ReplyTo>";

const RELATES_TO: &str = "<a:RelatesTo xmlns:a=\"http://www.w3.org/2005/08/addressing\">urn:uuid:6b2f7c1e-0000-4000-8000-000000000001</a:RelatesTo>";

const SIGNED_HEADERS: &str = "\"{http://www.w3.org/2005/08/addressing}To\", \"{http://www.w3.org/2005/08/addressing}Action\", \
    \"{http://www.w3.org/2005/08/addressing}MessageID\", \"{http://www.w3.org/2005/08/addressing}ReplyTo\"";

/// A profile, a form that its messages have, written out with a mechanism, and forms that they do
/// not have, each with the name of what a service says of it.
struct Case {
    profile: &'static str,
    soap: &'static str,
    headers: &'static str,
    form: String,
    others: Vec<(String, &'static str)>,
}

const PLAIN: &str = "answers = { mechanism = \"plain\" }\n";

fn signing(parts: &str, algorithms: &str) -> String {
    format!(
        "security = {{ mechanism = \"sign\", signed = [{parts}], algorithms = {{ {algorithms} }} }}\n"
    )
}

const SHA1: &str = "signature = [\"rsa-sha1\"], digest = [\"sha1\"]";
const SHA256: &str = "signature = [\"rsa-sha256\"], digest = [\"sha256\"]";
/// The first is what messages have; answers may have the other one.
const SHA2: &str =
    "signature = [\"rsa-sha512\", \"rsa-sha256\"], digest = [\"sha512\", \"sha256\"]";
const SHA512: &str = "signature = [\"rsa-sha512\"], digest = [\"sha512\"]";

fn cases() -> Vec<Case> {
    let digikoppeling = format!("\"Body\", \"Timestamp\", {SIGNED_HEADERS}");
    let sosi = "\"Timestamp\", \"Body\", \"{http://www.w3.org/2005/08/addressing}Action\", \
        \"{http://www.w3.org/2005/08/addressing}MessageID\", \"{http://www.w3.org/2005/08/addressing}To\"";
    let encrypting = |algorithms: &str| {
        format!(
            "security = {{ mechanism = \"sign-encrypt\", signed = [{digikoppeling}], \
             algorithms = {{ {SHA2}, {algorithms} }} }}\n"
        )
    };
    let user = |more: &str| format!("{PLAIN}security = {{ mechanism = \"username\", {more} }}\n");
    vec![
        Case {
            profile: "digikoppeling-2w-be-s",
            soap: SOAP11,
            headers: HEADERS,
            form: signing(&digikoppeling, SHA2),
            others: vec![
                (signing(&digikoppeling, SHA1), "algorithm-not-allowed"),
                (signing("\"Body\", \"Timestamp\"", SHA256), "unsigned"),
            ],
        },
        Case {
            profile: "digikoppeling-2w-be-se",
            soap: SOAP11,
            headers: HEADERS,
            form: encrypting(
                "data = [\"aes128-gcm\", \"aes256-gcm\"], key_transport = [\"rsa-oaep-mgf1p\"]",
            ),
            others: vec![
                (
                    encrypting("data = [\"aes128-cbc\"], key_transport = [\"rsa-oaep-mgf1p\"]"),
                    "algorithm-not-allowed",
                ),
                (signing(&digikoppeling, SHA256), "unencrypted"),
            ],
        },
        Case {
            profile: "face",
            soap: SOAP11,
            headers: "",
            form: PLAIN.to_owned()
                + &signing(
                    "\"Timestamp\", \"Body\"",
                    &format!("{SHA512}, canonicalization = [\"exc-c14n\"]"),
                ),
            others: vec![(
                signing("\"Timestamp\", \"Body\"", SHA256),
                "algorithm-not-allowed",
            )],
        },
        Case {
            profile: "eet",
            soap: SOAP11,
            headers: "",
            form: format!(
                "security = {{ mechanism = \"sign\", signed = [\"Body\"], timestamp = false, algorithms = {{ {SHA256} }} }}\n"
            ),
            others: vec![(
                format!(
                    "security = {{ mechanism = \"sign\", signed = [\"Body\"], timestamp = false, algorithms = {{ {SHA1} }} }}\n"
                ),
                "algorithm-not-allowed",
            )],
        },
        Case {
            profile: "nordic-bank",
            soap: SOAP11,
            headers: "",
            form: signing("\"Timestamp\", \"Body\"", SHA256),
            others: vec![
                (
                    signing("\"Timestamp\", \"Body\"", SHA1),
                    "algorithm-not-allowed",
                ),
                (signing("\"Timestamp\"", SHA256), "unsigned"),
            ],
        },
        Case {
            profile: "sosi",
            soap: SOAP11,
            headers: HEADERS,
            form: signing(sosi, SHA256),
            others: vec![
                (signing(sosi, SHA1), "algorithm-not-allowed"),
                (signing("\"Timestamp\", \"Body\"", SHA256), "unsigned"),
            ],
        },
        Case {
            profile: "sunat",
            soap: SOAP11,
            headers: "",
            form: user(
                "password = \"text\", timestamp = false, username_token = { nonce = false, created = false }",
            ),
            others: vec![(
                user("password = \"digest\", timestamp = false"),
                "password-kind-not-allowed",
            )],
        },
        Case {
            profile: "onvif",
            soap: SOAP12,
            headers: "",
            form: user("password = \"digest\", timestamp = false"),
            others: vec![(
                user("password = \"text\", timestamp = false"),
                "password-kind-not-allowed",
            )],
        },
        Case {
            profile: "dian",
            soap: SOAP12,
            headers: HEADERS,
            form: "answers = { mechanism = \"timestamp\" }\n".to_owned()
                + &signing(
                    "\"Timestamp\", \"{http://www.w3.org/2005/08/addressing}To\"",
                    SHA256,
                ),
            others: vec![
                (
                    signing(
                        "\"Timestamp\", \"{http://www.w3.org/2005/08/addressing}To\"",
                        SHA1,
                    ),
                    "algorithm-not-allowed",
                ),
                (signing("\"Timestamp\"", SHA256), "unsigned"),
            ],
        },
    ]
}

fn memory() -> Memory<'static> {
    Memory::without_conversations(&ForgetfulReplayCache)
}

/// A folder with the keys that recipes name.
fn folder() -> Folder {
    Folder::with_keys(RSA, &["client", "service", "authority"])
}

/// An endpoint of either side, with these tables.
fn endpoint<P: Fixed>(folder: &Folder, owner: &str, tables: &str) -> Endpoint<P> {
    let peer = if owner == "client" {
        "service"
    } else {
        "client"
    };
    let text = format!(
        "identity = {{ key = \"{owner}.key.pem\", certificate = \"{owner}.cert.pem\" }}\n\
         peer = {{ certificate = \"{peer}.cert.pem\" }}\ntrust = {{ anchors = [\"ca.cert.pem\"] }}\n\
         users = [{{ name = \"alice\", password = \"opens it\" }}]\n{tables}"
    );
    let file = folder.path("endpoint.toml");
    let config = EndpointConfig::from_text(&text, &file, &|_| None);
    let endpoint = config.and_then(|config| Endpoint::from_config(&config));
    endpoint.unwrap_or_else(|problems| panic!("{tables}\n{problems}"))
}

fn profile(name: &str) -> String {
    format!("security = {{ profile = \"{name}\" }}\n")
}

/// A request of one endpoint at another, and its answer.
fn exchange(client: &Client, service: &Service, case: &Case) -> Result<(), String> {
    let plain = with_header(case.soap, case.headers, HELLO).into_bytes();
    let request = client.secure(plain.clone()).expect("it is secured");
    let opened = match service.receive(request.bytes, memory()) {
        Ok(Arrived::Message(opened)) => opened,
        Err(ReceiveError::Rejected(rejected)) => return Err(rejected.name().to_owned()),
        other => return Err(format!("{other:?}")),
    };
    let header = if case.headers.is_empty() {
        ""
    } else {
        RELATES_TO
    };
    let answer = with_header(case.soap, header, HELLO).into_bytes();
    let answer = service.answer(answer, &opened.receipt).expect("an answer");
    client
        .open(answer.bytes, request.receipt, memory())
        .map(drop)
        .map_err(|rejected| format!("the answer: {rejected}"))
}

#[test]
fn messages_of_the_form_of_a_profile_are_accepted_both_ways_and_others_are_refused() {
    let folder = folder();
    for case in cases() {
        let by_profile = profile(case.profile);
        let service: Service = endpoint(&folder, "service", &by_profile);
        let client: Client = endpoint(&folder, "client", &by_profile);
        let formed: Client = endpoint(&folder, "client", &case.form);
        let name = case.profile;
        assert_eq!(exchange(&client, &service, &case), Ok(()), "{name}");
        assert_eq!(exchange(&formed, &service, &case), Ok(()), "{name}");
        for (other, refused) in &case.others {
            let other: Client = endpoint(&folder, "client", other);
            let found = exchange(&other, &service, &case);
            assert_eq!(found, Err((*refused).to_owned()), "{name}");
        }
    }
}

/// WB004 has every WS-Addressing header signed, WA001 has `wsa:From` optional.
#[test]
fn digikoppeling_signs_from_where_it_is_and_refuses_one_that_is_not_signed() {
    let folder = folder();
    for name in ["digikoppeling-2w-be-s", "digikoppeling-2w-be-se"] {
        let service: Service = endpoint(&folder, "service", &profile(name));
        let from = format!(
            "security = {{ profile = \"{name}\", addressing = {{ from = \"https://client.example/?OIN=1\" }} }}\n"
        );
        let with_from: Client = endpoint(&folder, "client", &from);
        let without: Client = endpoint(&folder, "client", &profile(name));
        let mut buffers = Buffers::new();
        let plain = || with_header(SOAP11, "", HELLO).into_bytes();
        let labelled = with_from
            .label_request(
                plain(),
                Some("urn:hello"),
                Some("https://s.example/"),
                &mut buffers,
            )
            .expect("it gets headers");
        let written = String::from_utf8(labelled.clone()).expect("text");
        assert!(
            written.contains("<wsa:Address>https://client.example/?OIN=1</wsa:Address></wsa:From>")
        );
        let request = with_from.secure(labelled).expect("it is secured");
        let text = String::from_utf8_lossy(&request.bytes).into_owned();
        // Body, Timestamp, To, Action, MessageID, ReplyTo, From.
        assert_eq!(text.matches("<ds:Reference ").count(), 7, "{text}");
        let received = service.receive(request.bytes, memory());
        assert!(matches!(received, Ok(Arrived::Message(_))), "{received:?}");
        // Without one nothing is missing.
        let request = without.secure(with_header(SOAP11, HEADERS, HELLO).into_bytes());
        let request = request.expect("it is secured").bytes;
        let forged = String::from_utf8(request.clone()).expect("text");
        assert!(matches!(
            service.receive(request, memory()),
            Ok(Arrived::Message(_))
        ));
        // Somebody on the way adds one.
        let added = "<a:From xmlns:a=\"http://www.w3.org/2005/08/addressing\"><a:Address>urn:evil</a:Address></a:From>";
        let forged = forged.replace("</s:Header>", &format!("{added}</s:Header>"));
        assert!(forged.contains("urn:evil"));
        match service.receive(forged.into_bytes(), memory()) {
            Err(ReceiveError::Rejected(rejected)) => {
                assert_eq!(rejected.cause().name(), "unsigned", "{name}")
            }
            other => panic!("{other:?}"),
        }
    }
}

/// The file's own list is obeyed: a header that it names is never left out in silence.
#[test]
fn a_from_that_the_file_itself_has_signed_must_be_there() {
    let folder = folder();
    let signed = "security = { mechanism = \"sign\", signed = [\"Body\", \"{http://www.w3.org/2005/08/addressing}From\"] }\n";
    let client: Client = endpoint(&folder, "client", signed);
    let refused = client.secure(with_header(SOAP11, HEADERS, HELLO).into_bytes());
    assert!(refused.is_err());
}

/// SAT signs the Timestamp alone; its token is all that the answer is for.
#[test]
fn what_clients_of_sat_write_has_one_reference_and_weak_algorithms_are_warned_of() {
    let folder = folder();
    let client: Client = endpoint(&folder, "client", &profile("sat"));
    let plain = with_header(SOAP11, "", HELLO).into_bytes();
    let message = client.secure(plain).expect("it is secured").bytes;
    let message = String::from_utf8(message).expect("text");
    assert_eq!(message.matches("Reference URI=\"#").count(), 2, "{message}");
    assert!(message.contains("xmldsig#rsa-sha1\""), "{message}");
    let text = format!(
        "identity = {{ key = \"client.key.pem\", certificate = \"client.cert.pem\" }}\n{}",
        profile("sat")
    );
    let config = EndpointConfig::from_text(&text, &folder.path("e.toml"), &|_| None).expect("read");
    let risks = client.risks(&config, true);
    let names: Vec<&str> = risks.iter().map(|risk| risk.name).collect();
    assert!(names.contains(&"weak-algorithm"), "{names:?}");
    assert!(names.contains(&"weaker-answers"), "{names:?}");
}

/// Both have suites of SHA-1, and policies in the place of a mechanism.
/// Clients of EET in Go have `#X509v3` as the type of the token, and `#X509` in the reference.
#[test]
fn a_reference_of_eet_that_names_no_version_is_of_its_token() {
    let folder = folder();
    let client: Client = endpoint(&folder, "client", &profile("eet"));
    let service: Service = endpoint(&folder, "service", &profile("eet"));
    let plain = with_header(SOAP11, "", HELLO).into_bytes();
    let request = client.secure(plain).expect("it is secured");
    let request = String::from_utf8(request.bytes).expect("text");
    let at = request.find("<wsse:Reference ").expect("a reference");
    let (token, reference) = request.split_at(at);
    let untold = reference.replacen("#X509v3\"", "#X509\"", 1);
    assert_ne!(untold, reference);
    let request = format!("{token}{untold}").into_bytes();
    service.receive(request, memory()).expect("it is accepted");
}

#[test]
fn endpoints_of_a_profile_with_a_policy_understand_each_other() {
    let folder = folder();
    for name in ["wcf-mutual-certificate", "rampart"] {
        let by_profile = profile(name);
        let case = Case {
            profile: name,
            soap: SOAP11,
            headers: "",
            form: String::new(),
            others: Vec::new(),
        };
        let service: Service = endpoint(&folder, "service", &by_profile);
        let client: Client = endpoint(&folder, "client", &by_profile);
        assert_eq!(exchange(&client, &service, &case), Ok(()), "{name}");
        let modern = "security = { mechanism = \"sign-encrypt\" }\n";
        let modern: Client = endpoint(&folder, "client", modern);
        let refused = Err("algorithm-not-allowed".to_owned());
        assert_eq!(exchange(&modern, &service, &case), refused, "{name}");
    }
}

/// WSHttpBinding: a handshake under its bootstrap, and a message under the context.
#[test]
fn a_conversation_of_the_profile_of_ws_http_begins_and_carries_messages() {
    let folder = folder();
    let by_profile = profile("wcf-ws-http");
    let service: Service = endpoint(&folder, "service", &by_profile);
    let client: Client = endpoint(&folder, "client", &by_profile);
    let granted = contexts::Granted::default();
    let serving = || Memory {
        replay: &ForgetfulReplayCache,
        contexts: &granted,
    };
    let mut buffers = Buffers::new();
    let mut call = Call::new(jiff::Timestamp::now(), &mut buffers);
    let handshakes = client.handshakes().expect("it has conversations");
    let mut handshake = handshakes
        .begin("http://service.example/", SoapVersion::V12, &mut call)
        .expect("it is asked for");
    let request = std::mem::take(&mut handshake.bytes);
    let Ok(Arrived::Answered(answer)) = service.receive(request, serving()) else {
        panic!("no answer");
    };
    let context = handshakes
        .conclude(handshake, answer.bytes, memory(), &mut call)
        .expect("a context");
    assert_eq!(granted.contexts().len(), 1);
    let plain = with_header(SOAP12, HEADERS, HELLO).into_bytes();
    let envelope = Envelope::parse(plain, client.limits(), &mut buffers).expect("an envelope");
    let plan = client.outbound().next().expect("it sends requests");
    let now = jiff::Timestamp::now();
    let secured = plan
        .secure(envelope, Outgoing::within(&context), now, &mut buffers)
        .expect("it is secured");
    let received = service.receive(secured.bytes, serving());
    assert!(matches!(received, Ok(Arrived::Message(_))), "{received:?}");
}

/// The ApplicationRequest is a document in base64 with a signature of its own.
#[test]
fn the_recipe_of_nordic_banks_signs_the_application_request_by_itself() {
    let folder = folder();
    let recipe = recipes();
    let recipe = recipe
        .iter()
        .find(|file| file.ends_with("nordic-bank.toml"));
    let recipe = fs::read_to_string(recipe.expect("a recipe")).expect("text");
    let made = |text: &str| EndpointConfig::from_text(text, &folder.path("e.toml"), &|_| None);
    let client: Client = made(&recipe)
        .and_then(|config| Endpoint::from_config(&config))
        .unwrap_or_else(|problems| panic!("{problems}"));
    let bank = recipe.replace("CN=service", "CN=client");
    let bank = bank.replace("\"client.", "\"service.");
    let bank: Service = made(&bank)
        .and_then(|config| Endpoint::from_config(&config))
        .unwrap_or_else(|problems| panic!("{problems}"));
    let document = |name: &str| {
        let document =
            format!("<{name} xmlns=\"http://bxd.fi/xmldata/\"><CustomerId>1</CustomerId></{name}>");
        let text = base64::encode(document.as_bytes());
        let body = format!(
            "<c:inout xmlns:c=\"http://bxd.fi/CorporateFileService\">\
             <{name} xmlns=\"http://model.bxd.fi\">{text}</{name}></c:inout>"
        );
        with_header(SOAP11, "", &body).into_bytes()
    };
    let request = client.secure(document("ApplicationRequest"));
    let request = request.expect("it is secured");
    let Ok(Arrived::Message(opened)) = bank.receive(request.bytes, memory()) else {
        panic!("the request is not received");
    };
    let inner = opened.evidence.inner.as_ref().expect("who signed it");
    assert_eq!(inner.subject, "CN=client");
    assert_eq!(inner.element, "{http://model.bxd.fi}ApplicationRequest");
    let answer = bank.answer(document("ApplicationResponse"), &opened.receipt);
    let answer = answer.expect("it is secured");
    let answered = client.open(answer.bytes, request.receipt, memory());
    let answered = answered.expect("the answer");
    assert_eq!(
        answered.evidence.inner.as_ref().expect("who").subject,
        "CN=service"
    );
    // The outer signature alone proves no document.
    let outer: Client = endpoint(&folder, "client", &profile("nordic-bank"));
    let unsigned = outer
        .secure(document("ApplicationRequest"))
        .expect("it is secured");
    match bank.receive(unsigned.bytes, memory()) {
        Err(ReceiveError::Rejected(rejected)) => assert_eq!(rejected.name(), "inner-signature"),
        other => panic!("{other:?}"),
    }
}

/// The recipe whose service hands an encrypted element on, and whose authority reads it.
#[test]
fn the_recipe_of_inner_encryption_is_read_by_the_authority_alone() {
    let folder = folder();
    let recipe = recipes();
    let mut recipe = recipe.iter();
    let recipe = recipe.find(|file| file.ends_with("inner-encryption.toml"));
    let recipe = fs::read_to_string(recipe.expect("a recipe")).expect("text");
    let made = |text: &str| EndpointConfig::from_text(text, &folder.path("e.toml"), &|_| None);
    let client: Client = made(&recipe)
        .and_then(|config| Endpoint::from_config(&config))
        .unwrap_or_else(|problems| panic!("{problems}"));
    let (outer, inner) = recipe.split_once("[inner]").expect("the table");
    let outer = outer.replace("CN=service", "CN=client");
    let outer = outer
        .replace("\"client.", "\"own.")
        .replace("\"service.", "\"client.");
    let outer = outer.replace("\"own.", "\"service.");
    let opens = "identity = { key = \"authority.key.pem\", certificate = \"authority.cert.pem\" }";
    let peer = "peer = { certificate = \"authority.cert.pem\" }";
    let inner = inner.replace(peer, opens);
    let [service, authority] = [outer.clone(), format!("{outer}[inner]{inner}")].map(|text| {
        let service: Result<Service, _> =
            made(&text).and_then(|config| Endpoint::from_config(&config));
        service.unwrap_or_else(|problems| panic!("{problems}"))
    });
    let declaration = "<t:Declaration xmlns:t=\"urn:example:tax\">12</t:Declaration>";
    for (reader, reads) in [(service, false), (authority, true)] {
        let request = client.secure(with_header(SOAP11, "", declaration).into_bytes());
        let request = request.expect("it is secured");
        let Ok(Arrived::Message(opened)) = reader.receive(request.bytes, memory()) else {
            panic!("the request is not received");
        };
        assert_eq!(opened.evidence.inner_encryption.is_some(), reads);
        assert_eq!(opened.evidence.inner.is_some(), reads);
        let passed_on = String::from_utf8(opened.bytes).expect("text");
        assert_eq!(passed_on.contains(">12<"), reads, "{passed_on}");
        assert_eq!(passed_on.contains("EncryptedData"), !reads, "{passed_on}");
    }
}

/// Recipes that are of no profile.
const OTHERS: [&str; 1] = ["inner-encryption"];

fn recipes() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/recipes");
    let files = fs::read_dir(folder).expect("the recipes");
    let mut files: Vec<PathBuf> = files.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "toml"));
    files.sort();
    files
}

#[test]
fn every_profile_has_a_recipe_and_every_recipe_is_an_endpoint_of_a_client() {
    let folder = folder();
    let mut named = BTreeSet::new();
    for recipe in recipes() {
        let text = fs::read_to_string(&recipe).expect("a recipe");
        let name = recipe.file_stem().expect("a name").to_string_lossy();
        let is_other = OTHERS.contains(&&*name);
        let is_named = text.contains(&format!("profile = \"{name}\""));
        assert!(is_named != is_other, "{name}");
        let environment = |_: &str| Some("opens it".to_owned());
        let file = folder.path(format!("{name}.toml"));
        let config = EndpointConfig::from_text(&text, &file, &environment);
        let client: Result<Client, _> = config.and_then(|config| Endpoint::from_config(&config));
        client.unwrap_or_else(|problems| panic!("{name}: {problems}"));
        if !is_other {
            named.insert(name.into_owned());
        }
    }
    let file = folder.path("endpoint.toml");
    let known = EndpointConfig::known_keys("[security]\n", &file, &|_| None);
    let profile = known.into_iter().find(|key| key.key == "profile");
    let soapstone::config::KeyKind::Choice(profiles) = profile.expect("a key").kind else {
        panic!("no choice");
    };
    assert_eq!(named, profiles.into_iter().collect());
}
