//! Answers that are protected otherwise than requests: `[answers]` of an endpoint file.
//!
//! Case `clients/04-answers-protected-otherwise`, case `sectors/01-answers-not-secured`.

use jiff::Timestamp;
use soapstone::config::{EndpointConfig, Problems};
use soapstone::endpoint::Endpoint;
use soapstone::wss::{Part, Receipt, Rejected};
use soapstone::{Arrived, Client, ForgetfulReplayCache, Memory, ReceiveError, Service};
use soapstone_testkit::Folder;
use soapstone_testkit::envelope::{HELLO, SOAP11, SOAP12, with_header};
use soapstone_testkit::keys::RSA;

const WSSE: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd";
const WSU: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";

/// Mechanisms of requests.
const REQUESTS: [&str; 7] = [
    "mechanism = \"none\"",
    "mechanism = \"username\"",
    "mechanism = \"username\", timestamp = true",
    "mechanism = \"sign\"",
    "mechanism = \"encrypt\"",
    "mechanism = \"sign-encrypt\"",
    "mechanism = \"encrypt-sign\", suite = \"Basic256Sha256\"",
];

fn memory() -> Memory<'static> {
    Memory::without_conversations(&ForgetfulReplayCache)
}

/// A folder with an authority and the key pairs of a client and of a service.
struct Pair(Folder);

impl Pair {
    fn new() -> Self {
        Self(Folder::with_keys(RSA, &["client", "service"]))
    }

    fn config(
        &self,
        name: &str,
        security: &str,
        answers: &str,
    ) -> Result<EndpointConfig, Problems> {
        let peer = match name {
            "client" => "service",
            _ => "client",
        };
        let answers = match answers {
            "" => String::new(),
            answers => format!("answers = {{ {answers} }}\n"),
        };
        let text = format!(
            "identity = {{ key = \"{name}.key.pem\", certificate = \"{name}.cert.pem\" }}\n\
             peer = {{ certificate = \"{peer}.cert.pem\" }}\ntrust = {{ anchors = [\"ca.cert.pem\"] }}\n\
             users = [{{ name = \"alice\", password = \"opens it\" }}]\n{answers}security = {{ {security} }}\n"
        );
        EndpointConfig::from_text(&text, &self.0.path("endpoint.toml"), &|_| None)
    }

    fn client(&self, security: &str, answers: &str) -> Client {
        let config = self.config("client", security, answers);
        let client = config.and_then(|config| Endpoint::from_config(&config));
        client.unwrap_or_else(|problems| panic!("{security}: {problems}"))
    }

    fn service(&self, security: &str, answers: &str) -> Service {
        let config = self.config("service", security, answers);
        let service = config.and_then(|config| Endpoint::from_config(&config));
        service.unwrap_or_else(|problems| panic!("{security}: {problems}"))
    }

    fn problems(&self, security: &str, answers: &str) -> String {
        let config = self.config("client", security, answers);
        let client: Result<Client, Problems> =
            config.and_then(|config| Endpoint::from_config(&config));
        let problems = client.err().map(|problems| problems.to_string());
        self.0.relative(&problems.unwrap_or_default())
    }
}

fn plain(soap: &str) -> Vec<u8> {
    with_header(soap, "", HELLO).into_bytes()
}

/// What a request of a client leaves behind.
fn asked(client: &Client, soap: &str) -> Receipt {
    client.secure(plain(soap)).expect("it is secured").receipt
}

fn received(service: &Service, message: Vec<u8>) -> Result<Receipt, Rejected> {
    match service.receive(message, memory()) {
        Ok(Arrived::Message(opened)) => Ok(opened.receipt),
        Err(ReceiveError::Rejected(rejected)) => Err(rejected),
        other => panic!("{other:?}"),
    }
}

/// A Timestamp created that many seconds ago.
fn timestamp(ago: i64) -> String {
    let created = Timestamp::from_second(Timestamp::now().as_second() - ago).expect("a time");
    let expires = Timestamp::from_second(created.as_second() + 300).expect("a time");
    format!(
        "<u:Timestamp xmlns:u=\"{WSU}\"><u:Created>{created}</u:Created><u:Expires>{expires}</u:Expires></u:Timestamp>"
    )
}

/// A Security header that must be understood.
fn security(soap: &str, items: &str) -> String {
    format!(
        "<w:Security xmlns:w=\"{WSSE}\" xmlns:m=\"{soap}\" m:mustUnderstand=\"1\">{items}</w:Security>"
    )
}

fn answer(soap: &str, items: Option<&str>) -> Vec<u8> {
    let header = items.map_or_else(String::new, |items| security(soap, items));
    with_header(soap, &header, HELLO).into_bytes()
}

/// What a client says of an answer, by its stable name.
fn verdict(client: &Client, soap: &str, items: Option<&str>) -> &'static str {
    let receipt = asked(client, soap);
    let opened = client.open(answer(soap, items), receipt, memory());
    opened.map_or_else(|rejected| rejected.name(), |_| "accepted")
}

#[test]
fn plain_answers_and_those_with_a_timestamp_are_accepted_where_the_file_says_so() {
    let pair = Pair::new();
    for requests in REQUESTS {
        for soap in [SOAP11, SOAP12] {
            let judge = |answers: &str| {
                let client = pair.client(requests, answers);
                let (fresh, old) = (timestamp(1), timestamp(4_000));
                let user = format!("<w:UsernameToken xmlns:w=\"{WSSE}\"/>");
                let signature =
                    "<d:Signature xmlns:d=\"http://www.w3.org/2000/09/xmldsig#\"/>".to_owned();
                [
                    None,
                    Some(String::new()),
                    Some(fresh),
                    Some(old),
                    Some(user),
                    Some(signature),
                ]
                .map(|items| verdict(&client, soap, items.as_deref()))
            };
            assert_eq!(
                judge("mechanism = \"timestamp\""),
                [
                    "accepted",
                    "accepted",
                    "accepted",
                    "timestamp-expired",
                    "element-unexpected",
                    "element-unexpected"
                ],
                "{requests} {soap}"
            );
            let [bare, headers @ ..] = judge("mechanism = \"plain\"");
            assert_eq!(bare, "accepted", "{requests} {soap}");
            assert_eq!(headers, ["security-unexpected"; 5], "{requests} {soap}");
        }
    }
}

#[test]
fn a_service_gives_answers_what_the_file_says() {
    let pair = Pair::new();
    for requests in REQUESTS {
        for soap in [SOAP11, SOAP12] {
            for (answers, has_timestamp) in [
                ("mechanism = \"plain\"", false),
                ("mechanism = \"timestamp\"", true),
            ] {
                let (client, service) = (
                    pair.client(requests, answers),
                    pair.service(requests, answers),
                );
                let request = client.secure(plain(soap)).expect("it is secured");
                let receipt = received(&service, request.bytes).expect("it is accepted");
                let answered = service.answer(plain(soap), &receipt).expect("an answer");
                let text = String::from_utf8(answered.bytes.clone()).expect("text");
                assert_eq!(text.contains("Timestamp>"), has_timestamp, "{text}");
                for absent in ["Signature", "EncryptedData", "UsernameToken"] {
                    assert!(!text.contains(absent), "{requests}: {text}");
                }
                let opened = client.open(answered.bytes, request.receipt, memory());
                opened.unwrap_or_else(|rejected| panic!("{requests} {answers}: {rejected}"));
            }
        }
    }
}

#[test]
fn answers_have_a_mechanism_a_suite_and_parts_of_their_own() {
    let pair = Pair::new();
    for (requests, answers, signs, encrypts) in [
        (
            "mechanism = \"sign\"",
            "mechanism = \"sign-encrypt\"",
            true,
            true,
        ),
        (
            "mechanism = \"sign\"",
            "mechanism = \"encrypt\"",
            false,
            true,
        ),
        (
            "mechanism = \"sign-encrypt\"",
            "mechanism = \"sign\"",
            true,
            false,
        ),
        (
            "mechanism = \"encrypt\"",
            "mechanism = \"sign\"",
            true,
            false,
        ),
        (
            "mechanism = \"username\"",
            "mechanism = \"sign\"",
            true,
            false,
        ),
        (
            "mechanism = \"none\"",
            "mechanism = \"encrypt-sign\"",
            true,
            true,
        ),
        (
            "mechanism = \"sign-encrypt\"",
            "suite = \"Basic128GCM\"",
            true,
            true,
        ),
        (
            "mechanism = \"sign-encrypt\"",
            "signed = [\"Body\"]",
            true,
            true,
        ),
        ("mechanism = \"sign\"", "encrypted = [\"Body\"]", true, true),
        (
            "mechanism = \"sign\"",
            "key_reference = \"thumbprint\"",
            true,
            false,
        ),
        ("mechanism = \"sign\"", "timestamp = false", true, false),
    ] {
        let (client, service) = (
            pair.client(requests, answers),
            pair.service(requests, answers),
        );
        let request = client.secure(plain(SOAP11)).expect("it is secured");
        let receipt = received(&service, request.bytes).expect("it is accepted");
        let answered = service.answer(plain(SOAP11), &receipt).expect("an answer");
        let opened = client.open(answered.bytes, request.receipt, memory());
        let opened = opened.unwrap_or_else(|rejected| panic!("{requests} {answers}: {rejected}"));
        let evidence = opened.evidence;
        assert_eq!(
            !evidence.signatures.is_empty(),
            signs,
            "{requests} {answers}"
        );
        assert_eq!(
            !evidence.encrypted.is_empty(),
            encrypts,
            "{requests} {answers}"
        );
        // What the file demands of answers is demanded.
        let refused = client.open(plain(SOAP11), asked(&client, SOAP11), memory());
        assert_eq!(
            refused.expect_err("nothing protects it"),
            Rejected::SecurityMissing,
            "{requests} {answers}"
        );
    }
}

/// Whatever is said of answers, a request has to prove the same.
#[test]
fn what_a_file_says_of_answers_weakens_no_request() {
    let pair = Pair::new();
    for requests in REQUESTS {
        let strict = pair.service(requests, "");
        let old = timestamp(4_000);
        let weak = [None, Some(""), Some(timestamp(1).as_str()), Some(&old)]
            .map(|items| answer(SOAP11, items))
            .into_iter();
        let others = REQUESTS
            .iter()
            .filter(|other| **other != requests)
            .map(|other| {
                let secured = pair.client(other, "").secure(plain(SOAP11));
                secured.expect("it is secured").bytes
            });
        let messages: Vec<Vec<u8>> = weak.chain(others).collect();
        for answers in [
            "mechanism = \"plain\"",
            "mechanism = \"timestamp\"",
            "mechanism = \"sign\"",
            "unsecured_faults = \"all\"",
            "timestamp = false",
        ] {
            let service = pair.service(requests, answers);
            for message in &messages {
                // `timestamp-expired` tells the moment.
                let name = |service: &Service| {
                    received(service, message.clone()).map_or_else(|it| it.name(), |_| "accepted")
                };
                assert_eq!(name(&service), name(&strict), "{requests} {answers}");
            }
        }
    }
}

/// The request itself, sent back as the answer to it.
#[test]
fn a_request_that_comes_back_is_no_plain_answer() {
    let pair = Pair::new();
    for requests in &REQUESTS[1..] {
        for (answers, expected) in [
            ("mechanism = \"plain\"", "security-unexpected"),
            ("mechanism = \"timestamp\"", "element-unexpected"),
        ] {
            let client = pair.client(requests, answers);
            let request = client.secure(plain(SOAP11)).expect("it is secured");
            let opened = client.open(request.bytes, request.receipt, memory());
            let refused = opened.expect_err("it is the request");
            assert_eq!(refused.name(), expected, "{requests} {answers}");
        }
    }
}

/// A policy's `sp:IncludeTimestamp` is of the binding, so of requests and answers alike.
#[test]
fn a_policy_can_leave_the_timestamp_out_of_answers() {
    let pair = Pair::new();
    let sp = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702";
    let policy = format!(
        "<p:Policy xmlns:p=\"http://www.w3.org/ns/ws-policy\" xmlns:sp=\"{sp}\"><sp:AsymmetricBinding><p:Policy>\
         <sp:InitiatorToken><p:Policy><sp:X509Token sp:IncludeToken=\"{sp}/IncludeToken/AlwaysToRecipient\"><p:Policy><sp:WssX509V3Token10/></p:Policy></sp:X509Token></p:Policy></sp:InitiatorToken>\
         <sp:RecipientToken><p:Policy><sp:X509Token sp:IncludeToken=\"{sp}/IncludeToken/Never\"><p:Policy><sp:WssX509V3Token10/></p:Policy></sp:X509Token></p:Policy></sp:RecipientToken>\
         <sp:AlgorithmSuite><p:Policy><sp:Basic256Sha256/></p:Policy></sp:AlgorithmSuite>\
         <sp:Layout><p:Policy><sp:LaxTsFirst/></p:Policy></sp:Layout><sp:IncludeTimestamp/></p:Policy></sp:AsymmetricBinding>\
         <sp:SignedParts><sp:Body/></sp:SignedParts></p:Policy>"
    );
    pair.0.write("policy.xml", policy);
    let requests = "policy = \"policy.xml\", sha256_suites = \"sha256\"";
    for (answers, demanded) in [("", true), ("timestamp = false", false)] {
        let client = pair.client(requests, answers);
        let with = pair.service(requests, "");
        let without = pair.service(requests, "timestamp = false");
        for (service, is_accepted) in [(&with, true), (&without, !demanded)] {
            let request = client.secure(plain(SOAP11)).expect("it is secured");
            let receipt = received(service, request.bytes).expect("it is accepted");
            let answered = service.answer(plain(SOAP11), &receipt).expect("an answer");
            let opened = client.open(answered.bytes, request.receipt, memory());
            let outcome = opened.map_or_else(|rejected| rejected.name(), |_| "accepted");
            let expected = match is_accepted {
                true => "accepted",
                false => "timestamp-missing",
            };
            assert_eq!(outcome, expected, "{answers}");
        }
    }
    // One that comes all the same is signed, or refused.
    let client = pair.client(requests, "timestamp = false");
    let service = pair.service(requests, "timestamp = false");
    let request = client.secure(plain(SOAP11)).expect("it is secured");
    let receipt = received(&service, request.bytes).expect("it is accepted");
    let answered = service.answer(plain(SOAP11), &receipt).expect("an answer");
    let text = String::from_utf8(answered.bytes).expect("text");
    let added = text.replacen(
        "<ds:Signature ",
        &format!("{}<ds:Signature ", timestamp(1)),
        1,
    );
    assert_ne!(added, text);
    let opened = client.open(added.into_bytes(), request.receipt, memory());
    let unsigned = Rejected::Unsigned {
        part: Part::Timestamp,
    };
    assert_eq!(opened.expect_err("nobody signed it"), unsigned);
    // What else a policy decides cannot be said beside it.
    let beside = pair.problems(requests, "mechanism = \"plain\"");
    assert!(
        beside.contains("`mechanism` is given beside a policy file, which decides it"),
        "{beside}"
    );
}

#[test]
fn what_makes_no_sense_of_answers_is_a_mistake_of_the_file() {
    let pair = Pair::new();
    for (answers, expected) in [
        (
            "mechanism = \"plain\", suite = \"Basic256GCM\"",
            "`suite` is given, and mechanism = \"plain\" signs and encrypts nothing",
        ),
        (
            "mechanism = \"timestamp\", signed = [\"Body\"]",
            "`signed` is given, and mechanism = \"timestamp\" signs and encrypts nothing",
        ),
        (
            "mechanism = \"plain\", timestamp = true",
            "`timestamp` is given, and plain answers have none",
        ),
        ("mechanism = \"username\"", "`mechanism` must be one of"),
        (
            "unsecured_faults = \"some\"",
            "`unsecured_faults` must be one of",
        ),
        ("plain = true", "`plain`"),
    ] {
        let found = pair.problems("mechanism = \"sign\"", answers);
        assert!(found.contains(expected), "{answers}: {found}");
    }
}

#[test]
fn an_endpoint_tells_whether_its_answers_need_tls() {
    let pair = Pair::new();
    for (requests, answers, less, needs) in [
        ("mechanism = \"sign\"", "", false, false),
        ("mechanism = \"sign\"", "mechanism = \"plain\"", true, true),
        (
            "mechanism = \"sign\"",
            "mechanism = \"plain\", without_tls = true",
            true,
            false,
        ),
        (
            "mechanism = \"sign\"",
            "mechanism = \"timestamp\"",
            true,
            true,
        ),
        (
            "mechanism = \"sign\"",
            "mechanism = \"encrypt\"",
            true,
            true,
        ),
        (
            "mechanism = \"sign\"",
            "mechanism = \"sign-encrypt\"",
            false,
            false,
        ),
        (
            "mechanism = \"sign-encrypt\"",
            "mechanism = \"sign\"",
            true,
            true,
        ),
        (
            "mechanism = \"sign\"",
            "unsecured_faults = \"code\"",
            false,
            false,
        ),
        (
            "mechanism = \"sign\"",
            "unsecured_faults = \"reason\"",
            false,
            true,
        ),
        (
            "mechanism = \"sign\"",
            "unsecured_faults = \"all\"",
            false,
            true,
        ),
        (
            "mechanism = \"sign\"",
            "unsecured_faults = \"all\", without_tls = true",
            false,
            false,
        ),
        // Nothing protects the answers to these anyway.
        (
            "mechanism = \"username\"",
            "mechanism = \"timestamp\"",
            false,
            false,
        ),
        (
            "mechanism = \"username\"",
            "unsecured_faults = \"all\"",
            false,
            false,
        ),
    ] {
        let client = pair.client(requests, answers);
        assert_eq!(client.answers_prove_less(), less, "{requests} {answers}");
        assert_eq!(client.answers_need_tls(), needs, "{requests} {answers}");
    }
}
