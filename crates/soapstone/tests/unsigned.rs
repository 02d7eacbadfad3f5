//! Header blocks that are passed on although no signature covers them: `unsigned` of an endpoint
//! file.
//!
//! Case `sectors/15-unsigned-business-header`.

use soapstone::config::{EndpointConfig, Problems};
use soapstone::endpoint::Endpoint;
use soapstone::wss::{Part, Rejected};
use soapstone::{
    Arrived, Client, ForgetfulReplayCache, Memory, OpenedMessage, ReceiveError, Service,
};
use soapstone_testkit::Folder;
use soapstone_testkit::envelope::{ADDRESSING, HELLO, SOAP11, SOAP12, with_header};
use soapstone_testkit::keys::RSA;

const ROUTING: &str = "{urn:app}Routing";

/// Mechanisms that sign.
const MECHANISMS: [&str; 4] = [
    "mechanism = \"sign\"",
    "mechanism = \"username\", signed = [\"Body\", \"Timestamp\", \"UsernameToken\"], timestamp = true",
    "mechanism = \"sign-encrypt\"",
    "mechanism = \"encrypt-sign\"",
];

struct Pair(Folder);

impl Pair {
    fn new() -> Self {
        Self(Folder::with_keys(RSA, &["client", "service"]))
    }

    fn config(&self, name: &str, security: &str) -> Result<EndpointConfig, Problems> {
        let peer = match name {
            "client" => "service",
            _ => "client",
        };
        let text = format!(
            "identity = {{ key = \"{name}.key.pem\", certificate = \"{name}.cert.pem\" }}\n\
             peer = {{ certificate = \"{peer}.cert.pem\" }}\ntrust = {{ anchors = [\"ca.cert.pem\"] }}\n\
             users = [{{ name = \"alice\", password = \"opens it\" }}]\nsecurity = {{ {security} }}\n"
        );
        EndpointConfig::from_text(&text, &self.0.path("endpoint.toml"), &|_| None)
    }

    fn client(&self, security: &str) -> Client {
        let made = self.config("client", security);
        let made = made.and_then(|config| Endpoint::from_config(&config));
        made.unwrap_or_else(|problems| panic!("{security}: {problems}"))
    }

    fn service(&self, security: &str) -> Result<Service, Problems> {
        let config = self.config("service", security);
        config.and_then(|config| Endpoint::from_config(&config))
    }

    /// What a service says of a message with these header blocks, secured by this mechanism.
    fn received(
        &self,
        sent_by: &str,
        received_by: &str,
        soap: &str,
        headers: &str,
    ) -> Result<OpenedMessage, Rejected> {
        let plain = with_header(soap, headers, HELLO).into_bytes();
        let secured = self.client(sent_by).secure(plain).expect("it is secured");
        let service = self.service(received_by);
        let service = service.unwrap_or_else(|problems| panic!("{received_by}: {problems}"));
        received(&service, secured.bytes)
    }
}

fn received(service: &Service, message: Vec<u8>) -> Result<OpenedMessage, Rejected> {
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    match service.receive(message, memory) {
        Ok(Arrived::Message(opened)) => Ok(*opened),
        Err(ReceiveError::Rejected(rejected)) => Err(rejected),
        other => panic!("{other:?}"),
    }
}

fn text(opened: &OpenedMessage) -> String {
    String::from_utf8(opened.bytes.clone()).expect("text")
}

fn routing(value: &str, attributes: &str) -> String {
    format!("<r:Routing xmlns:r=\"urn:app\"{attributes}>{value}</r:Routing>")
}

fn with_unsigned(security: &str, names: &[&str]) -> String {
    format!("{security}, unsigned = {names:?}")
}

#[test]
fn a_named_block_is_passed_on_as_what_nothing_proves() {
    let pair = Pair::new();
    for mechanism in MECHANISMS {
        for soap in [SOAP11, SOAP12] {
            for attributes in ["", " s:mustUnderstand=\"1\""] {
                let headers = routing("a", attributes) + "<o:Other xmlns:o=\"urn:app\">b</o:Other>";
                let strict = pair.received(mechanism, mechanism, soap, &headers);
                match attributes {
                    "" => {
                        let strict = strict.expect("it is accepted");
                        assert!(!text(&strict).contains("Routing"), "{mechanism}");
                        assert_eq!(strict.evidence.dropped, [ROUTING, "{urn:app}Other"]);
                        assert_eq!(strict.evidence.unproven, [""; 0]);
                    }
                    _ => {
                        let header = ROUTING.to_owned();
                        let refused = strict.expect_err("it must be understood");
                        assert_eq!(refused.cause(), &Rejected::HeaderNotVerified { header });
                    }
                }
                let lenient = with_unsigned(mechanism, &[ROUTING]);
                let opened = pair.received(mechanism, &lenient, soap, &headers);
                let opened = opened.unwrap_or_else(|it| panic!("{mechanism}: {it}"));
                assert!(
                    text(&opened).contains(">a</r:Routing>"),
                    "{}",
                    text(&opened)
                );
                assert!(!text(&opened).contains("Other"), "{}", text(&opened));
                assert_eq!(opened.evidence.unproven, [ROUTING]);
                assert_eq!(opened.evidence.dropped, ["{urn:app}Other"]);
            }
        }
    }
}

/// Somebody on the way who adds a block beside the signed one of its name.
#[test]
fn a_block_beside_a_proven_one_of_its_name_is_not_passed_on() {
    let pair = Pair::new();
    let signing = "mechanism = \"sign\", signed = [\"Body\", \"Timestamp\", \"{urn:app}Routing\"]";
    let lenient = with_unsigned("mechanism = \"sign\"", &[ROUTING]);
    let plain = with_header(SOAP11, &routing("right", ""), HELLO).into_bytes();
    let secured = pair.client(signing).secure(plain).expect("it is secured");
    let secured = String::from_utf8(secured.bytes).expect("text");
    let service = pair.service(&lenient).expect("a service");
    let opened = received(&service, secured.clone().into_bytes()).expect("it is accepted");
    assert!(text(&opened).contains(">right</r:Routing>"));
    assert_eq!(opened.evidence.unproven, [""; 0]);
    for (attributes, expected) in [
        ("", Ok(())),
        (" s:mustUnderstand=\"1\"", Err("header-not-verified")),
    ] {
        for place in ["<s:Header>", "</s:Header>"] {
            let added = match place {
                "<s:Header>" => format!("{place}{}", routing("wrong", attributes)),
                _ => format!("{}{place}", routing("wrong", attributes)),
            };
            let changed = secured.replacen(place, &added, 1);
            assert_ne!(changed, secured);
            match received(&service, changed.into_bytes()) {
                Ok(opened) => {
                    assert_eq!(expected, Ok(()));
                    let passed = text(&opened);
                    assert!(
                        passed.contains("right") && !passed.contains("wrong"),
                        "{passed}"
                    );
                    assert_eq!(opened.evidence.dropped, [ROUTING]);
                }
                Err(rejected) => assert_eq!(Err(rejected.name()), expected),
            }
        }
    }
}

/// What is passed on unsigned counts for nothing that is demanded.
#[test]
fn an_unsigned_block_meets_no_demand() {
    let pair = Pair::new();
    let to = format!("{{{ADDRESSING}}}To");
    let demanding = "mechanism = \"sign\", addressing = { to = [\"urn:service\"] }";
    let lenient = with_unsigned(demanding, &[&to]);
    let headers = "<a:To>urn:service</a:To>";
    for security in [demanding, &lenient] {
        let refused = pair.received("mechanism = \"sign\"", security, SOAP11, headers);
        let part = Part::Header {
            namespace: ADDRESSING.to_owned(),
            local: "To".to_owned(),
        };
        assert_eq!(
            refused.expect_err("nobody signed it"),
            Rejected::Unsigned { part }
        );
    }
}

#[test]
fn a_message_has_few_blocks_that_nothing_proves() {
    let pair = Pair::new();
    let lenient = with_unsigned("mechanism = \"sign\"", &[ROUTING]);
    for (count, is_accepted) in [(64, true), (65, false)] {
        let headers = routing("a", "").repeat(count);
        let opened = pair.received("mechanism = \"sign\"", &lenient, SOAP11, &headers);
        match opened {
            Ok(opened) => {
                assert!(is_accepted);
                assert_eq!(text(&opened).matches("</r:Routing>").count(), count);
                assert_eq!(opened.evidence.unproven, [ROUTING]);
            }
            Err(rejected) => {
                assert!(!is_accepted);
                let what = "header blocks that nothing proves";
                assert_eq!(rejected, Rejected::TooMany { what, limit: 64 });
            }
        }
    }
}

#[test]
fn what_makes_no_sense_of_unsigned_blocks_is_a_mistake_of_the_file() {
    let pair = Pair::new();
    for (security, expected) in [
        (
            "mechanism = \"username\", unsigned = [\"{urn:app}Routing\"]",
            "`unsigned` names header blocks, and no signature keeps any from being passed on",
        ),
        (
            "mechanism = \"sign\", unsigned = [\"Body\"]",
            "`unsigned` must name header blocks, found another part",
        ),
        (
            "mechanism = \"sign\", signed = [\"Body\", \"{urn:app}Routing\"], unsigned = [\"{urn:app}Routing\"]",
            "`{urn:app}Routing` is to be signed, and to be passed on unsigned",
        ),
    ] {
        let found = pair.service(security).err();
        let found = found
            .map(|problems| problems.to_string())
            .unwrap_or_default();
        assert!(found.contains(expected), "{security}: {found}");
    }
}
