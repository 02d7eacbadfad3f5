//! What an endpoint file can demand beside its policy: addresses, actions, an end, no processing
//! instructions; and policies that demand nothing.

#[path = "support/arrived.rs"]
mod arrived;
#[path = "support/endpoints.rs"]
mod endpoints;

use endpoints::compile;
use jiff::Timestamp;
use soapstone::endpoint::{Calling, Endpoint, Fixed, Serving};
use soapstone::wss::{FaultCode, InboundPlan, OutboundPlan, Part, Rejected};
use soapstone::xml::Buffers;
use soapstone::{Call, Client, ForgetfulReplayCache, Memory, Opener, Service};
use soapstone_testkit::Folder as Temporary;
use soapstone_testkit::envelope::{ADDRESSING, HELLO, SOAP11, with_header};
use soapstone_testkit::keys::RSA;

/// A folder with an authority and the key pairs of a client and of a service.
struct Folder(Temporary);

impl Folder {
    fn new() -> Self {
        Self(Temporary::with_keys(RSA, &["client", "service"]))
    }

    fn compile<P: Fixed>(&self, name: &str, security: &str) -> Result<Endpoint<P>, String> {
        let peer = if name == "client" {
            "service"
        } else {
            "client"
        };
        let text = format!(
            "identity = {{ key = \"{name}.key.pem\", certificate = \"{name}.cert.pem\" }}\n\
             peer = {{ certificate = \"{peer}.cert.pem\" }}\ntrust = {{ anchors = [\"ca.cert.pem\"] }}\n\
             users = [{{ name = \"alice\", password = \"opens it\" }}]\nsecurity = {{ {security} }}\n"
        );
        compile(&self.0, &text)
    }

    fn service(&self, security: &str) -> Service {
        let compiled = self.compile("service", security);
        compiled.unwrap_or_else(|problems| panic!("{problems}"))
    }

    fn secured(&self, security: &str, plain: &str) -> String {
        let client = self.compile("client", security);
        let client: Client = client.unwrap_or_else(|problems| panic!("{problems}"));
        let secured = client.secure(plain.as_bytes().to_vec());
        String::from_utf8(secured.expect("it is secured").bytes).expect("UTF-8")
    }

    fn problems<P: Fixed>(&self, name: &str, security: &str) -> String {
        let compiled = self.compile::<P>(name, security);
        compiled.err().unwrap_or_default()
    }

    fn of_service(&self, security: &str) -> String {
        self.problems::<Serving>("service", security)
    }

    fn of_client(&self, security: &str) -> String {
        self.problems::<Calling>("client", security)
    }

    fn of_opener(&self, security: &str) -> String {
        self.problems::<InboundPlan>("service", security)
    }

    fn of_securer(&self, security: &str) -> String {
        self.problems::<OutboundPlan>("client", security)
    }
}

/// A request with these header blocks.
fn request(headers: &str) -> String {
    with_header(SOAP11, headers, HELLO)
}

/// What a service says of a message beside which these actions were said.
fn received(service: &Service, message: &str, actions: &[&str]) -> Result<(), Rejected> {
    let mut buffers = Buffers::default();
    let mut call = Call::new(Timestamp::now(), &mut buffers);
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    let read = service.read(message.as_bytes().to_vec(), &mut call)?;
    let read = read.about(actions.iter().map(ToString::to_string).collect());
    arrived::message(service.receive_with(read, memory, &mut call)).map(drop)
}

fn header(local: &str) -> Part {
    Part::Header {
        namespace: ADDRESSING.to_owned(),
        local: local.to_owned(),
    }
}

/// Preset, and the keys that have the addressing headers signed.
const SIGNING: [&str; 3] = [
    "mechanism = \"sign\", SIGNED",
    "mechanism = \"sign-encrypt\", SIGNED",
    "mechanism = \"sign-encrypt\", suite = \"Basic256Sha256\", SIGNED",
];

fn signing(parts: &[&str]) -> [String; 3] {
    let parts = parts
        .iter()
        .map(|part| format!(", \"{{{ADDRESSING}}}{part}\""));
    let parts: String = parts.collect();
    SIGNING.map(|security| {
        security.replace(
            "SIGNED",
            &format!("signed = [\"Body\", \"Timestamp\"{parts}]"),
        )
    })
}

#[test]
fn a_request_to_another_address_is_refused_where_addresses_are_named() {
    let folder = Folder::new();
    let demand = ", addressing = { to = [\"https://soap.example.com/books\", \"urn:books\"] }";
    for (security, without) in signing(&["To"]).into_iter().zip(signing(&[])) {
        let service = folder.service(&(security.clone() + demand));
        let to = |to: &str| {
            let headers = format!("<a:To>{to}</a:To><a:Action>urn:a</a:Action>");
            received(
                &service,
                &folder.secured(&security, &request(&headers)),
                &[],
            )
        };
        assert_eq!(to("urn:books"), Ok(()));
        assert_eq!(to(" https://soap.example.com/books "), Ok(()));
        let refused = to("https://soap.example.com/accounts").unwrap_err();
        let found = "https://soap.example.com/accounts".to_owned();
        assert_eq!(refused.cause(), &Rejected::DestinationMismatch { found });
        // Where something was deciphered, the peer is told no more than if that had failed.
        let told = match refused {
            Rejected::AfterDecryption(_) => ("decryption-failed", FaultCode::FailedCheck),
            _ => ("destination-mismatch", FaultCode::InvalidSecurity),
        };
        assert_eq!((refused.name(), refused.fault()), told);
        let plain = request("<a:Action>urn:a</a:Action>");
        let absent = received(&service, &folder.secured(&without, &plain), &[]).unwrap_err();
        let part = header("To");
        assert_eq!(absent.cause(), &Rejected::PartMissing { part });
    }
    // Who signs nothing of it says nothing of it.
    let [unsigned, ..] = signing(&[]);
    let service = folder.service(&(unsigned.clone() + demand));
    let message = folder.secured(&unsigned, &request("<a:To>urn:books</a:To>"));
    let part = header("To");
    assert_eq!(
        received(&service, &message, &[]),
        Err(Rejected::Unsigned { part })
    );
    let [signed, ..] = signing(&["To"]);
    let both = "<a:To>urn:books</a:To><o:To xmlns:o=\"http://schemas.xmlsoap.org/ws/2004/08/addressing\">urn:other</o:To>";
    let service = folder.service(&(signed.clone() + demand));
    let refused = received(&service, &folder.secured(&signed, &request(both)), &[]);
    assert_eq!(refused.unwrap_err().name(), "unsigned");
}

/// SOAPAction spoofing (WS-Attacks.org): services dispatch on a header of HTTP that nobody signs.
#[test]
fn another_action_in_http_than_the_signed_one_is_refused_where_that_is_demanded() {
    let folder = Folder::new();
    for (security, unaddressed) in signing(&["Action"]).into_iter().zip(signing(&[])) {
        let service = folder.service(&(security.clone() + ", addressing = { soap_action = true }"));
        assert!(service.asks_for_actions());
        let message = folder.secured(&security, &request("<a:Action>urn:echo</a:Action>"));
        for said in [&[][..], &[""], &["urn:echo"], &["urn:echo", "", "urn:echo"]] {
            assert_eq!(received(&service, &message, said), Ok(()), "{said:?}");
        }
        for said in [&["urn:drop"][..], &["urn:echo", "urn:drop"], &["urn:Echo"]] {
            let refused = received(&service, &message, said).unwrap_err();
            let found = (*said.last().expect("one")).to_owned();
            let expected = "urn:echo".to_owned();
            assert_eq!(
                refused.cause(),
                &Rejected::ActionMismatch { expected, found }
            );
            assert_eq!(refused.cause().name(), "action-mismatch");
        }
        let without = folder.secured(&unaddressed, &request(""));
        let part = header("Action");
        let refused = received(&service, &without, &["urn:echo"]).unwrap_err();
        assert_eq!(refused.cause(), &Rejected::PartMissing { part });
    }
}

#[test]
fn a_timestamp_without_an_end_is_refused_where_one_is_demanded() {
    let folder = Folder::new();
    let demand = "timestamp = { require_expires = true }";
    let security = format!("mechanism = \"username\", {demand}");
    let message = folder.secured("mechanism = \"username\"", &request(""));
    let start = message.find("<wsu:Expires>").expect("it is there");
    let end = message.find("</wsu:Expires>").expect("it is there") + "</wsu:Expires>".len();
    let endless = format!("{}{}", &message[..start], &message[end..]);
    let service = folder.service(&security);
    assert_eq!(received(&service, &message, &[]), Ok(()));
    let refused = Err(Rejected::ExpiresMissing);
    assert_eq!(received(&service, &endless, &[]), refused);
    let opener = folder.compile("service", &security);
    let opener: Opener = opener.unwrap_or_else(|problems| panic!("{problems}"));
    let opened = |message: &str| {
        let memory = Memory::without_conversations(&ForgetfulReplayCache);
        opener.open(message.as_bytes().to_vec(), memory).map(drop)
    };
    assert_eq!(opened(&message), Ok(()));
    assert_eq!(opened(&endless), refused);
    let service = folder.service("mechanism = \"username\"");
    assert_eq!(received(&service, &endless, &[]), Ok(()));
}

/// SOAP 1.1, 3; SOAP 1.2 part 1, 5.
#[test]
fn processing_instructions_are_refused_where_none_are_wanted() {
    let folder = Folder::new();
    let body = request("<a:To>urn:a</a:To>").replace("hello", "<e:a><?target data?></e:a>");
    let header = request("<a:To>urn:a<?target data?></a:To>");
    for security in signing(&["To"]) {
        let refusing = format!("{security}, processing_instructions = \"refuse\"");
        let (refusing, taking) = (folder.service(&refusing), folder.service(&security));
        for plain in [&body, &header] {
            let message = folder.secured(&security, plain);
            assert_eq!(received(&taking, &message, &[]), Ok(()));
            let refused = received(&refusing, &message, &[]).unwrap_err();
            let target = "target".to_owned();
            assert_eq!(refused.cause(), &Rejected::ProcessingInstruction { target });
        }
        let message = folder.secured(&security, &request("<a:To>urn:a</a:To>"));
        assert_eq!(received(&refusing, &message, &[]), Ok(()));
    }
}

#[test]
fn demands_that_make_no_sense_are_told_with_their_place() {
    let folder = Folder::new();
    let none = "mechanism = \"none\"";
    let sign = "mechanism = \"sign\"";
    assert_eq!(
        folder.of_client(&format!("{sign}, addressing = {{ soap_action = true }}")),
        "endpoint.toml:5:47: `addressing` is for requests that arrive, and this endpoint sends them\n    \
         hint: leave it out, or let it stand with the endpoint of the service: [routes.inbound]"
    );
    for demand in [
        "addressing = { soap_action = true }",
        "processing_instructions = \"refuse\"",
    ] {
        let told = folder.of_service(&format!("{none}, {demand}"));
        assert!(
            told.contains("more is demanded of messages, and nothing protects them"),
            "{told}"
        );
    }
    assert_eq!(
        folder.of_service(&format!("{sign}, addressing = {{}}")),
        "endpoint.toml:5:47: `addressing` demands nothing\n    \
         hint: name the addresses of this endpoint, to = [\"https://…\"], or set soap_action = true"
    );
    assert_eq!(
        folder.of_service(&format!("{sign}, addressing = {{ to = [] }}")),
        "endpoint.toml:5:54: `to` names no address: every message would be for somebody else\n    \
         hint: name the addresses of this endpoint, or leave it out"
    );
    // What is said once for both sides is no mistake of the one that only secures.
    let both = format!("{sign}, addressing = {{ to = [\"urn:a\"] }}");
    assert_eq!(folder.of_securer(&both), "");
}

/// What is left of a mechanism's demands must be something.
#[test]
fn parts_that_are_nowhere_are_no_protection() {
    let folder = Folder::new();
    for (security, told) in [
        (
            "mechanism = \"sign\", signed = [\"Timestamp\"], timestamp = false",
            "`signed` names only parts that no message has",
        ),
        (
            "mechanism = \"sign\", signed = [\"UsernameToken\"]",
            "`signed` names only parts that no message has",
        ),
        (
            "mechanism = \"encrypt\", encrypted = []",
            "`encrypted` names no part that a message has",
        ),
        (
            "mechanism = \"encrypt\", encrypted = [\"Signature\"]",
            "`encrypted` names no part that a message has",
        ),
        (
            "mechanism = \"sign\", signed = []",
            "`signed` names no part",
        ),
        // Answers have no user.
        (
            "mechanism = \"username\", signed = [\"UsernameToken\"]",
            "a signature is to be made, and nothing for it to cover",
        ),
        ("mechanism = \"sign-encrypt\", encrypted = []", ""),
        ("mechanism = \"sign\", signed = [\"Timestamp\"]", ""),
    ] {
        for found in [folder.of_service(security), folder.of_client(security)] {
            assert!(found.contains(told), "{security}: {found}");
            assert_eq!(found.is_empty(), told.is_empty(), "{security}: {found}");
        }
    }
}

const WSP: &str = "http://www.w3.org/ns/ws-policy";
const SP: &str = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702";

fn policy(content: &str) -> String {
    format!("<wsp:Policy xmlns:wsp=\"{WSP}\" xmlns:sp=\"{SP}\">{content}</wsp:Policy>")
}

/// A policy that demands nothing is mostly the wrong file, and would let everything in, and out,
/// without a word.
#[test]
fn a_policy_that_demands_nothing_is_refused_unless_the_file_says_that_it_may() {
    let folder = Folder::new();
    let wsdl = "<w:definitions xmlns:w=\"http://schemas.xmlsoap.org/wsdl/\" xmlns:s=\"http://schemas.xmlsoap.org/wsdl/soap/\" \
                xmlns:t=\"urn:t\" targetNamespace=\"urn:t\"><w:portType name=\"T\"><w:operation name=\"a\"/></w:portType>\
                <w:binding name=\"B\" type=\"t:T\"><s:binding transport=\"http://schemas.xmlsoap.org/soap/http\"/>\
                <w:operation name=\"a\"><s:operation soapAction=\"urn:a\"/></w:operation></w:binding>\
                <w:service name=\"S\"><w:port name=\"P\" binding=\"t:B\"><s:address location=\"http://a/\"/></w:port></w:service></w:definitions>";
    let bindings = "<sp:TransportBinding wsp:Optional=\"true\"><wsp:Policy/></sp:TransportBinding>";
    for (name, text) in [
        ("plain.wsdl", wsdl.to_owned()),
        ("nothing.xml", policy("")),
        (
            "choice.xml",
            policy("<wsp:ExactlyOne><wsp:All/></wsp:ExactlyOne>"),
        ),
        (
            "versions.xml",
            policy("<sp:Wss11><wsp:Policy/></sp:Wss11><sp:Trust13><wsp:Policy/></sp:Trust13>"),
        ),
        (
            "addressing.xml",
            policy(
                "<wsam:Addressing xmlns:wsam=\"http://www.w3.org/2007/05/addressing/metadata\"><wsp:Policy/></wsam:Addressing>",
            ),
        ),
    ] {
        folder.0.write(name, text);
        for problems in [
            Folder::of_service,
            Folder::of_client,
            Folder::of_opener,
            Folder::of_securer,
        ] {
            let expected = format!(
                "endpoint.toml:5:23: {name}: the policy demands nothing of requests\n    \
                 hint: name the file that has the policy; policy_may_be_empty = true accepts messages without protection, \
                 as mechanism = \"none\" does"
            );
            let security = format!("policy = \"{name}\"");
            assert_eq!(problems(&folder, &security), expected);
            let meant = format!("{security}, policy_may_be_empty = true");
            assert_eq!(problems(&folder, &meant), "");
        }
    }
    // Of an optional protection, the protection counts: the policy demands something, or cannot be
    // done.
    folder.0.write("optional.xml", policy(bindings));
    let optional = folder.of_service("policy = \"optional.xml\"");
    assert!(!optional.contains("demands nothing"), "{optional}");
    let needless = folder.of_service("mechanism = \"none\", policy_may_be_empty = true");
    assert!(
        needless.starts_with(
            "endpoint.toml:5:56: `policy_may_be_empty` is given without `policy`, of which it speaks"
        ),
        "{needless}"
    );
}
