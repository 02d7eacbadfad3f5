//! Files learned from whole exchanges: requests, their answers, and the description of the service.

use std::path::Path;

use soapstone::config::EndpointConfig;
use soapstone::policy::{PolicyDocument, PolicyLimits};
use soapstone::{Arrived, Client, ForgetfulReplayCache, Memory, Opener, Securer, Service};
use soapstone_learn::{KeyTables, Learned, difference, learn};
use soapstone_testkit::{Folder, keys};

const ADDRESS: &str = "http://shop.example/orders";
const ACTION: &str = "urn:example:shop:Orders:orderRequest";

fn envelope(to: &str, content: &str) -> Vec<u8> {
    format!(
        "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:a=\"http://www.w3.org/2005/08/addressing\">\
         <s:Header><a:To>{to}</a:To><a:Action>{ACTION}</a:Action></s:Header><s:Body>{content}</s:Body></s:Envelope>"
    )
    .into_bytes()
}

const ORDER: &str = "<q:order xmlns:q=\"urn:example:shop\"><q:item>1</q:item></q:order>";

/// A folder with the keys of both sides, and their tables.
struct Sides {
    folder: Folder,
    service: String,
    client: String,
}

impl Sides {
    fn new() -> Self {
        let folder = Folder::new();
        for name in ["client", "service"] {
            let identity = keys::identity(
                &format!("CN={name}"),
                soapstone::crypto::KeyKind::Rsa { bits: 2048 },
            );
            folder.write_identity(name, &identity);
        }
        let tables = |own: &str, other: &str| {
            format!(
                "identity = {{ key = '{own}.key.pem', certificate = '{own}.cert.pem' }}\npeer = {{ certificate = '{other}.cert.pem' }}\ntrust = {{ pinned = ['{other}.cert.pem'] }}\n"
            )
        };
        Self {
            service: tables("service", "client"),
            client: tables("client", "service"),
            folder,
        }
    }

    fn config(&self, text: &str) -> EndpointConfig {
        EndpointConfig::from_text(text, &self.folder.path("endpoint.toml"), &|_| None)
            .unwrap_or_else(|problems| panic!("{problems}\n{text}"))
    }

    fn tables(&self, text: &str) -> KeyTables {
        KeyTables::of(&self.folder.path("tables.toml"), text)
    }

    /// A request and its answer under these tables of `security` and `answers`.
    fn exchange(&self, security: &str, plain: Vec<u8>) -> (Vec<u8>, Vec<u8>) {
        let client = Client::from_config(&self.config(&format!("{}{security}", self.client)));
        let client = client.unwrap_or_else(|problems| panic!("{problems}"));
        let service = Service::from_config(&self.config(&format!("{}{security}", self.service)));
        let service = service.unwrap_or_else(|problems| panic!("{problems}"));
        let request = client.secure(plain).expect("a request").bytes;
        let answer = answered(&service, request.clone());
        (request, answer)
    }
}

/// What a service answers to a request.
fn answered(service: &Service, request: Vec<u8>) -> Vec<u8> {
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    let Arrived::Message(opened) = service.receive(request, memory).expect("a request") else {
        panic!("a message");
    };
    let plain = envelope("urn:anonymous", "<q:done xmlns:q=\"urn:example:shop\"/>");
    let answer = service.answer(plain, &opened.receipt);
    answer.expect("an answer").bytes
}

/// Both files, learned from a request and an answer, and what is told.
fn learned(sides: &Sides, request: &[u8], answer: &[u8]) -> (Learned, Option<String>) {
    let service = sides.tables(&sides.service);
    let mut learned = learn(&[request.to_vec()], Some(&service)).expect("a request");
    assert_eq!(learned.refused, None);
    let client = sides.tables(&sides.client);
    let refused = learned
        .also_answers(&[answer.to_vec()], Some(&client))
        .unwrap_or_else(|error| panic!("{error}"));
    (learned, refused)
}

#[test]
fn answers_are_learned_beside_requests() {
    let sides = Sides::new();
    let suite = "suite = \"Basic256Sha256\"\n";
    for (requests, answers, words) in [
        ("sign-encrypt", "sign", "mechanism = \"sign\""),
        ("sign", "sign-encrypt", "mechanism = \"sign-encrypt\""),
        ("sign", "timestamp", "mechanism = \"timestamp\""),
        ("sign-encrypt", "plain", "mechanism = \"plain\""),
        (
            "encrypt-sign",
            "encrypt-sign",
            "mechanism = \"encrypt-sign\"",
        ),
    ] {
        let security = format!(
            "[security]\nmechanism = \"{requests}\"\n{suite}[answers]\nmechanism = \"{answers}\"\nwithout_tls = true\n"
        );
        let (request, answer) = sides.exchange(&security, envelope(ADDRESS, ORDER));
        let (learned, refused) = learned(&sides, &request, &answer);
        assert_eq!(refused, None, "{requests}, {answers}");
        let text = learned.receiver(Some(&sides.tables(&sides.service)));
        let table = text.split("[answers]\n").nth(1).expect("answers");
        assert!(table.contains(words), "{text}");
        let left = learned.notes.iter();
        let left = left.filter(|note| note.contains("yours to say"));
        assert_eq!(left.count(), 1, "{:?}", learned.notes);
        let weaker = learned.notes.iter().any(|note| note.contains("prove less"));
        let is_weaker = matches!(
            (requests, answers),
            ("sign-encrypt", "sign" | "plain") | ("sign", "timestamp")
        );
        assert_eq!(weaker, is_weaker, "{:?}", learned.notes);
        // The service's file makes answers of the same form.
        let again = |text: &str| {
            let service = Service::from_config(&sides.config(text));
            let service = service.unwrap_or_else(|problems| panic!("{problems}\n{text}"));
            let client = sides.tables(&sides.client);
            let client = Client::from_config(&sides.config(&learned.sender(Some(&client))));
            let client = client.unwrap_or_else(|problems| panic!("{problems}"));
            let request = client.secure(envelope(ADDRESS, ORDER)).expect("a request");
            answered(&service, request.bytes)
        };
        let told = difference(&answer, &again(&text)).expect("envelopes");
        assert_eq!(told, [""; 0], "{requests}, {answers}");
    }
}

/// An answer that somebody wrote over is refused by the client's file that was learned from it.
#[test]
fn an_answer_that_does_not_verify_is_told() {
    let sides = Sides::new();
    let security = "[security]\nmechanism = \"sign\"\nsuite = \"Basic256Sha256\"\n";
    let (request, answer) = sides.exchange(security, envelope(ADDRESS, ORDER));
    let answer = String::from_utf8(answer).expect("text");
    let changed = answer.replace(":done", ":gone");
    assert_ne!(answer, changed);
    let (_, refused) = learned(&sides, &request, changed.as_bytes());
    let refused = refused.expect("a refusal");
    assert!(refused.starts_with("digest-mismatch"), "{refused}");
}

const WSDL: &str = "<w:definitions xmlns:w=\"http://schemas.xmlsoap.org/wsdl/\" xmlns:b=\"http://schemas.xmlsoap.org/wsdl/soap/\" \
xmlns:t=\"urn:example:shop\" targetNamespace=\"urn:example:shop\">\
<w:types><x:schema xmlns:x=\"http://www.w3.org/2001/XMLSchema\" targetNamespace=\"urn:example:shop\"><x:element name=\"order\"/></x:schema></w:types>\
<w:message name=\"orderIn\"><w:part name=\"in\" element=\"t:order\"/></w:message>\
<w:portType name=\"Orders\"><w:operation name=\"order\"><w:input name=\"orderRequest\" message=\"t:orderIn\"/></w:operation></w:portType>\
<w:binding name=\"Soap\" type=\"t:Orders\">POLICY<b:binding style=\"document\" transport=\"http://schemas.xmlsoap.org/soap/http\"/>\
<w:operation name=\"order\"><b:operation soapAction=\"\"/><w:input><b:body use=\"literal\"/></w:input></w:operation></w:binding>\
<w:service name=\"Shop\"><w:port name=\"Orders\" binding=\"t:Soap\"><b:address location=\"http://shop.example/orders\"/></w:port></w:service></w:definitions>";

fn beside(
    sides: &Sides,
    learned: &mut Learned,
    request: &[u8],
    wsdl: &str,
) -> soapstone_learn::Described {
    let file = sides.folder.write("shop.wsdl", wsdl);
    let document = PolicyDocument::parse(wsdl.as_bytes().to_vec(), &PolicyLimits::default());
    let document = document.expect("a description");
    let service = sides.tables(&sides.service);
    learned.beside(
        Path::new(&file),
        &document,
        &[request.to_vec()],
        Some(&service),
    )
}

#[test]
fn a_description_agrees_or_differs_in_words() {
    let sides = Sides::new();
    let security = "[security]\nmechanism = \"sign\"\nsuite = \"Basic256Sha256\"\nsigned = [\"Body\", \"Timestamp\", \"{http://www.w3.org/2005/08/addressing}To\"]\n";
    let (request, _) = sides.exchange(security, envelope(ADDRESS, ORDER));
    let service = sides.tables(&sides.service);
    let mut learned = learn(std::slice::from_ref(&request), Some(&service)).expect("a file");
    let wsdl = WSDL.replace("POLICY", "");
    let told = beside(&sides, &mut learned, &request, &wsdl);
    let has = |lines: &[String], words: &str| lines.iter().any(|line| line.contains(words));
    assert!(has(&told.agrees, "message 1 calls"), "{told:#?}");
    assert!(has(&told.agrees, "wsa:To is the address"), "{told:#?}");
    assert!(has(&told.agrees, "wsa:Action is"), "{told:#?}");
    assert!(has(&told.differs, "has no policy"), "{told:#?}");
    // The address on which both agree is demanded.
    let text = learned.receiver(Some(&service));
    assert!(
        text.contains(&format!("addressing = {{ to = [\"{ADDRESS}\"] }}")),
        "{text}"
    );
    // The address is in the file, and the signers are not.
    assert!(!has(&learned.notes, "addressing.to"), "{learned:#?}");
    assert!(has(&learned.notes, "trust.subjects"), "{learned:#?}");
    let open = |bytes: Vec<u8>| {
        let opener = Opener::from_config(&sides.config(&text)).expect("an endpoint");
        let memory = Memory::without_conversations(&ForgetfulReplayCache);
        opener.open(bytes, memory).map(|_| ())
    };
    open(request).expect("the sample");
    let (elsewhere, _) = sides.exchange(security, envelope("http://other.example/", ORDER));
    let refused = open(elsewhere.clone()).expect_err("another address");
    assert_eq!(refused.cause().name(), "destination-mismatch");
    // Another address and another operation differ.
    let mut learned = learn(std::slice::from_ref(&elsewhere), Some(&service)).expect("a file");
    let told = beside(&sides, &mut learned, &elsewhere, &wsdl);
    assert!(
        has(
            &told.differs,
            "wsa:To of message 1 is `http://other.example/`"
        ),
        "{told:#?}"
    );
    assert!(!learned.receiver(Some(&service)).contains("addressing = "));
    assert!(has(&learned.notes, "addressing.to"), "{learned:#?}");
    let told = beside(
        &sides,
        &mut learned,
        &elsewhere,
        &wsdl.replace("t:order\"", "t:other\""),
    );
    assert!(
        has(&told.differs, "no operation of the description"),
        "{told:#?}"
    );
}

#[test]
fn the_policy_of_a_description_is_tried_on_the_messages() {
    let sides = Sides::new();
    let policy = include_str!("exchanges/policy.xml");
    let wsdl = WSDL.replace("POLICY", policy);
    let service = sides.tables(&sides.service);
    for (lines, opens) in [
        ("suite = \"Basic256Sha256\"\n", true),
        (
            "suite = \"Basic256Sha256\"\nsigned = [\"Timestamp\"]\n",
            false,
        ),
    ] {
        let security = format!("[security]\nmechanism = \"sign\"\n{lines}");
        let text = format!("{}{security}", sides.client);
        let securer = Securer::from_config(&sides.config(&text)).expect("an endpoint");
        let request = securer
            .secure(envelope(ADDRESS, ORDER))
            .expect("a request")
            .bytes;
        let mut learned = learn(std::slice::from_ref(&request), Some(&service)).expect("a file");
        let told = beside(&sides, &mut learned, &request, &wsdl);
        let agrees = told
            .agrees
            .iter()
            .any(|line| line.contains("opens the messages"));
        let refuses = told
            .differs
            .iter()
            .any(|line| line.contains("refuses message 1"));
        assert_eq!((agrees, refuses), (opens, !opens), "{told:#?}");
    }
}

/// A signature of an element of the Body is demanded where it verifies, and noted where it does
/// not.
#[test]
fn an_element_that_is_signed_by_itself_is_learned() {
    let sides = Sides::new();
    let security = "[security]\nmechanism = \"sign\"\nsuite = \"Basic256Sha256+RsaSha256\"\n[inner]\nrequests = \"{urn:example:shop}order\"\n";
    let text = format!("{}{security}", sides.client);
    let securer = Securer::from_config(&sides.config(&text)).expect("an endpoint");
    let request = securer
        .secure(envelope(ADDRESS, ORDER))
        .expect("a request")
        .bytes;
    let service = sides.tables(&sides.service);
    let learned = learn(std::slice::from_ref(&request), Some(&service)).expect("a file");
    assert_eq!(learned.refused, None);
    let text = learned.receiver(Some(&service));
    assert!(
        text.contains("[inner]\nrequests = \"{urn:example:shop}order\""),
        "{text}"
    );
    // Without keys nothing is demanded, and a note tells it.
    let learned = learn(std::slice::from_ref(&request), None).expect("a file");
    assert!(!learned.receiver(None).contains("[inner]"));
    let tells = |note: &String| note.contains("is signed by itself");
    assert!(learned.notes.iter().any(tells), "{:?}", learned.notes);
}

/// A request whose order `signer` has signed by itself, as this function leaves it, under the
/// signature of the client.
fn with_inner(sides: &Sides, signer: &str, change: impl Fn(String) -> String) -> Vec<u8> {
    let inner =
        "[security]\nmechanism = \"none\"\n[inner]\nrequests = \"{urn:example:shop}order\"\n";
    let text = format!("{signer}{inner}");
    let securer = Securer::from_config(&sides.config(&text)).expect("an endpoint");
    let signed = securer
        .secure(envelope(ADDRESS, ORDER))
        .expect("a request")
        .bytes;
    let changed = change(String::from_utf8(signed).expect("text"));
    let outer =
        "[security]\nmechanism = \"sign\"\nsuite = \"Basic256Sha256+RsaSha256\"\n".to_owned();
    let text = format!("{}{outer}", sides.client);
    let securer = Securer::from_config(&sides.config(&text)).expect("an endpoint");
    let secured = securer.secure(changed.into_bytes());
    secured.expect("a request").bytes
}

/// What no key proves is never demanded, and what cannot be demanded is told with its reason.
#[test]
fn an_inner_signature_that_is_not_demanded_is_told() {
    let sides = Sides::new();
    let service = sides.tables(&sides.service);
    let stranger = {
        let identity = keys::identity(
            "CN=stranger",
            soapstone::crypto::KeyKind::Rsa { bits: 2048 },
        );
        sides.folder.write_identity("stranger", &identity);
        sides.client.replace("'client.", "'stranger.")
    };
    let as_it_is = |text: String| text;
    let right = with_inner(&sides, &sides.client, as_it_is);
    let learned = learn(&[right], Some(&service)).expect("a file");
    let text = learned.receiver(Some(&service));
    assert!(text.contains("[inner]"), "{:?}", learned.notes);
    let second = |text: String| {
        let (_, signature) = text.split_once("<ds:Signature").expect("a signature");
        let (signature, _) = signature.split_once("</ds:Signature>").expect("its end");
        let copy = format!(
            "<q:other xmlns:q=\"urn:q\"><ds:Signature{signature}</ds:Signature></q:other></s:Body>"
        );
        text.replace("</s:Body>", &copy)
    };
    let without_id = |text: String| {
        let (head, rest) = text.split_once("URI=\"#").expect("a reference");
        let (_, rest) = rest.split_once('"').expect("its end");
        format!("{head}URI=\"\"{rest}")
    };
    let messages = [
        (
            "a changed element",
            with_inner(&sides, &sides.client, |text| {
                text.replace("<q:item>1<", "<q:item>2<")
            }),
            "digest-mismatch",
        ),
        (
            "the key of a stranger",
            with_inner(&sides, &stranger, as_it_is),
            "is signed by itself",
        ),
        (
            "two signatures",
            with_inner(&sides, &sides.client, second),
            "2 signatures",
        ),
        (
            "no id",
            with_inner(&sides, &sides.client, without_id),
            "by an id",
        ),
        (
            "no certificate",
            with_inner(&sides, &sides.client, |text| {
                text.replace("X509Certificate>", "X509SubjectName>")
            }),
            "X509Certificate",
        ),
        (
            "another element of the name",
            with_inner(&sides, &sides.client, |text| {
                let other = "<q:order xmlns:q=\"urn:example:shop\"/></s:Body>";
                text.replace("</s:Body>", other)
            }),
            "several elements",
        ),
        (
            "an id in another attribute",
            with_inner(&sides, &sides.client, |text| {
                text.replacen(" Id=\"", " key=\"", 1)
            }),
            "does not have the id",
        ),
    ];
    for (what, message, reason) in messages {
        let learned = learn(&[message], Some(&service)).expect("a file");
        let text = learned.receiver(Some(&service));
        assert!(!text.contains("[inner]"), "{what}: {text}");
        let tells = |note: &String| note.contains("([inner])") && note.contains(reason);
        assert!(
            learned.notes.iter().any(tells),
            "{what}: {:?}",
            learned.notes
        );
    }
}

/// What no learned file has messages carry has no place in them.
#[test]
fn an_order_is_learned_of_the_items_that_messages_of_the_file_have() {
    let text = String::from_utf8(envelope(ADDRESS, ORDER)).expect("text");
    let wsse = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd";
    let wsu = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";
    let header = format!(
        "<s:Header><e:Security xmlns:e=\"{wsse}\" xmlns:u=\"{wsu}\">\
         <e:UsernameToken><e:Username>alice</e:Username><e:Password>secret</e:Password></e:UsernameToken>\
         <saml:Assertion xmlns:saml=\"urn:oasis:names:tc:SAML:2.0:assertion\"/>\
         <e:BinarySecurityToken u:Id=\"t\">AAAA</e:BinarySecurityToken>\
         <u:Timestamp><u:Created>2026-01-01T00:00:00Z</u:Created></u:Timestamp></e:Security>"
    );
    let message = text.replace("<s:Header>", &header).into_bytes();
    let learned = learn(&[message], None).expect("a message");
    let file = learned.sender(None);
    let expected = "header_order = [\"username\", \"timestamp\"]\n";
    assert!(file.contains(expected), "{file}");
}

/// A signed message whose references have these lists, and the parts that they name.
fn listing(info: &str, references: &[(&str, &str)]) -> Vec<u8> {
    const EXCLUSIVE: &str = "http://www.w3.org/2001/10/xml-exc-c14n#";
    let list = |prefixes: &str| match prefixes {
        "" => String::new(),
        some => format!("<c:InclusiveNamespaces xmlns:c=\"{EXCLUSIVE}\" PrefixList=\"{some}\"/>"),
    };
    let references = references.iter().map(|(id, prefixes)| {
        let list = list(prefixes);
        format!("<d:Reference URI=\"#{id}\"><d:Transforms><d:Transform Algorithm=\"{EXCLUSIVE}\">{list}</d:Transform></d:Transforms></d:Reference>")
    });
    let references: String = references.collect();
    let wsse = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd";
    let wsu = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";
    let info = list(info);
    format!(
        "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:x=\"urn:x\"><s:Header>\
         <e:Security xmlns:e=\"{wsse}\" xmlns:u=\"{wsu}\"><u:Timestamp u:Id=\"t\"><u:Created>2026-01-01T00:00:00Z</u:Created></u:Timestamp>\
         <d:Signature xmlns:d=\"http://www.w3.org/2000/09/xmldsig#\"><d:SignedInfo><d:CanonicalizationMethod Algorithm=\"{EXCLUSIVE}\">{info}</d:CanonicalizationMethod>\
         {references}</d:SignedInfo></d:Signature></e:Security></s:Header><s:Body xmlns:u=\"{wsu}\" u:Id=\"b\"/></s:Envelope>"
    )
    .into_bytes()
}

/// What a file with `inclusive_prefixes = true` lists is what is in scope, and nothing else.
#[test]
fn prefix_lists_that_no_key_makes_are_told() {
    for (info, body, timestamp, is_told) in [
        ("s x", "x", "e s x", false),
        ("", "", "", false),
        // A list of names.
        ("", "x", "x", false),
        ("s x", "x", "e x s", true),
        ("s x", "", "", true),
        ("s", "x", "e s x", true),
        ("", "x", "e s x", true),
    ] {
        let message = listing(info, &[("b", body), ("t", timestamp)]);
        let learned = learn(&[message], None).expect("a message");
        let tells = |note: &String| note.contains("our messages list others");
        let notes = &learned.notes;
        let lists = format!("{info:?} {body:?} {timestamp:?}");
        assert_eq!(notes.iter().any(tells), is_told, "{lists}: {notes:?}");
    }
}

#[test]
fn messages_that_differ_in_form_are_told() {
    let in_order = listing("", &[("b", ""), ("t", "")]);
    let in_another = listing("", &[("t", ""), ("b", "")]);
    let body_alone = listing("", &[("b", "")]);
    let by_user = |rest: &str| {
        let text = String::from_utf8(envelope(ADDRESS, ORDER)).expect("text");
        let wsse =
            "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd";
        let header = format!(
            "<s:Header><e:Security xmlns:e=\"{wsse}\"><e:UsernameToken><e:Username>alice</e:Username>\
             <e:Password>secret</e:Password>{rest}</e:UsernameToken></e:Security>"
        );
        text.replace("<s:Header>", &header).into_bytes()
    };
    let (with_nonce, without) = (by_user("<e:Nonce>AAAA</e:Nonce>"), by_user(""));
    let orders = "several orders";
    let token = "Nonce, Created or Type";
    for (first, second, told) in [
        (&in_order, &in_another, Some(orders)),
        (&in_order, &in_order, None),
        // What is not in all of them is not demanded, and is no order.
        (&in_order, &body_alone, None),
        (&with_nonce, &without, Some(token)),
        (&without, &without, None),
    ] {
        let learned = learn(&[first.clone(), second.clone()], None).expect("two messages");
        let tells = |what: &str| learned.notes.iter().any(|note| note.contains(what));
        let found = [orders, token].into_iter().find(|what| tells(what));
        assert_eq!(found, told, "{:?}", learned.notes);
    }
}
