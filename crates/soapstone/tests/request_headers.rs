//! Addressing headers that an endpoint writes into requests, for mechanisms and policies alike.
//!
//! Cases `clients/11-to-of-the-addressing-headers`, `clients/12-secure-without-demanded-headers`.

use soapstone::config::{EndpointConfig, Problems};
use soapstone::endpoint::Endpoint;
use soapstone::wss::{Part, SecureError};
use soapstone::xml::Buffers;
use soapstone::{Client, Securer};
use soapstone_testkit::Folder;
use soapstone_testkit::envelope::{ADDRESSING, HELLO, SOAP11, SOAP12, with_header};
use soapstone_testkit::keys::RSA;

const OF_2004: &str = "http://schemas.xmlsoap.org/ws/2004/08/addressing";

struct Pair(Folder);

impl Pair {
    fn new() -> Self {
        Self(Folder::with_keys(RSA, &["client", "service"]))
    }

    fn config(&self, security: &str) -> Result<EndpointConfig, Problems> {
        let text = format!(
            "identity = {{ key = \"client.key.pem\", certificate = \"client.cert.pem\" }}\n\
             peer = {{ certificate = \"service.cert.pem\" }}\ntrust = {{ anchors = [\"ca.cert.pem\"] }}\n\
             users = [{{ name = \"alice\", password = \"opens it\" }}]\nsecurity = {{ {security} }}\n"
        );
        EndpointConfig::from_text(&text, &self.0.path("endpoint.toml"), &|_| None)
    }

    fn securer(&self, security: &str) -> Securer {
        let made = self.config(security);
        let made = made.and_then(|config| Endpoint::from_config(&config));
        made.unwrap_or_else(|problems| panic!("{security}: {problems}"))
    }

    fn client(&self, security: &str) -> Client {
        let made = self.config(security);
        let made = made.and_then(|config| Endpoint::from_config(&config));
        made.unwrap_or_else(|problems| panic!("{security}: {problems}"))
    }

    fn problems<P: soapstone::endpoint::Fixed>(&self, security: &str) -> String {
        let made: Result<Endpoint<P>, Problems> = self
            .config(security)
            .and_then(|config| Endpoint::from_config(&config));
        made.err()
            .map(|problems| problems.to_string())
            .unwrap_or_default()
    }

    fn secured(&self, security: &str, soap: &str, headers: &str) -> Result<String, SecureError> {
        let plain = with_header(soap, headers, HELLO).into_bytes();
        let secured = self.securer(security).secure(plain)?;
        Ok(String::from_utf8(secured.bytes).expect("text"))
    }
}

/// The text of an addressing header, if it is there.
fn header(message: &str, local: &str) -> Option<String> {
    let start = format!("<wsa:{local} ");
    let rest = message.split_once(&start)?.1;
    let content = rest.split_once('>')?.1;
    let content = content.split_once(&format!("</wsa:{local}>"))?.0;
    let address = content.strip_prefix("<wsa:Address>");
    let text = address.map_or(content, |text| text.trim_end_matches("</wsa:Address>"));
    Some(text.to_owned())
}

const MECHANISMS: [&str; 5] = [
    "mechanism = \"none\"",
    "mechanism = \"username\"",
    "mechanism = \"sign\"",
    "mechanism = \"encrypt\"",
    "mechanism = \"sign-encrypt\"",
];

#[test]
fn requests_of_every_mechanism_get_the_headers_that_the_file_names() {
    let pair = Pair::new();
    for mechanism in MECHANISMS {
        for soap in [SOAP11, SOAP12] {
            let to = "to = [\"https://service.example/a\"]";
            let secured = |more: &str| {
                let security = format!("{mechanism}, addressing = {{ {to}{more} }}");
                pair.secured(&security, soap, "").expect("it is secured")
            };
            let usual = secured("");
            assert_eq!(
                header(&usual, "To").as_deref(),
                Some("https://service.example/a"),
                "{usual}"
            );
            assert_eq!(header(&usual, "Action").as_deref(), Some("urn:echo/echo"));
            let anonymous = format!("{ADDRESSING}/anonymous");
            assert_eq!(header(&usual, "ReplyTo"), Some(anonymous));
            assert!(header(&usual, "MessageID").is_some_and(|id| id.starts_with("urn:uuid:")));
            let other = secured(
                ", action = \"urn:do\", message_id = false, reply_to = \"absent\", version = \"2004/08\"",
            );
            assert!(
                other.contains(OF_2004) && !other.contains(&format!("xmlns:wsa=\"{ADDRESSING}\""))
            );
            assert_eq!(header(&other, "Action").as_deref(), Some("urn:do"));
            assert_eq!(header(&other, "MessageID"), None);
            assert_eq!(header(&other, "ReplyTo"), None);
            let elsewhere = secured(", reply_to = \"https://client.example/\"");
            let reply_to = header(&elsewhere, "ReplyTo");
            assert_eq!(reply_to.as_deref(), Some("https://client.example/"));
            // A message that has some already is its author's.
            let security = format!("{mechanism}, addressing = {{ {to} }}");
            let own = pair.secured(&security, soap, "<a:Action>urn:own</a:Action>");
            let own = own.expect("it is secured");
            assert_eq!(header(&own, "To"), None, "{own}");
            assert!(own.contains("<a:Action"), "{own}");
        }
    }
}

/// KvK and others want Body, Timestamp and addressing headers signed.
#[test]
fn an_addressing_header_that_is_named_is_signed_or_securing_fails() {
    let pair = Pair::new();
    for local in ["To", "Action", "MessageID", "ReplyTo"] {
        let signing = format!(
            "mechanism = \"sign\", signed = [\"Body\", \"Timestamp\", \"{{{ADDRESSING}}}{local}\"]"
        );
        let encrypting =
            format!("mechanism = \"encrypt\", encrypted = [\"Body\", \"{{{ADDRESSING}}}{local}\"]");
        let part = Part::Header {
            namespace: ADDRESSING.to_owned(),
            local: local.to_owned(),
        };
        for security in [&signing, &encrypting] {
            let missing = pair.secured(security, SOAP11, "");
            let expected = SecureError::PartMissing { part: part.clone() };
            assert_eq!(missing.expect_err("nobody writes it"), expected);
            let written = format!("{security}, addressing = {{ to = [\"urn:service\"] }}");
            let secured = pair.secured(&written, SOAP11, "");
            let secured = secured.unwrap_or_else(|error| panic!("{written}: {error}"));
            if security == &signing {
                assert_eq!(secured.matches("<ds:Reference ").count(), 3, "{secured}");
                assert!(secured.contains(&format!("<wsa:{local} ")), "{secured}");
            }
            // By another version, or left out by the file, it is missing all the same.
            let other = format!(
                "{security}, addressing = {{ to = [\"urn:service\"], version = \"2004/08\" }}"
            );
            let missing = pair.secured(&other, SOAP11, "");
            let expected = SecureError::PartMissing { part: part.clone() };
            assert_eq!(missing.expect_err("it is another one"), expected);
        }
    }
    // Of answers alone: requests have none.
    let relating =
        format!("mechanism = \"sign\", signed = [\"Body\", \"{{{ADDRESSING}}}RelatesTo\"]");
    pair.secured(&relating, SOAP11, "").expect("it is secured");
}

/// A description with one port at this address.
fn description(address: &str) -> String {
    let policy = "<p:Policy><am:Addressing xmlns:am=\"http://www.w3.org/2007/05/addressing/metadata\"><p:Policy/></am:Addressing>\
        <sp:SupportingTokens><p:Policy><sp:UsernameToken sp:IncludeToken=\"http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702/IncludeToken/AlwaysToRecipient\"><p:Policy/></sp:UsernameToken></p:Policy></sp:SupportingTokens></p:Policy>";
    format!(
        "<w:definitions xmlns:w=\"http://schemas.xmlsoap.org/wsdl/\" xmlns:so=\"http://schemas.xmlsoap.org/wsdl/soap/\" xmlns:p=\"http://www.w3.org/ns/ws-policy\" \
         xmlns:sp=\"http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702\" xmlns:t=\"urn:echo\" targetNamespace=\"urn:echo\">\
         <w:message name=\"m\"><w:part name=\"p\" element=\"t:echo\"/></w:message>\
         <w:portType name=\"T\"><w:operation name=\"echo\"><w:input message=\"t:m\"/><w:output message=\"t:m\"/></w:operation></w:portType>\
         <w:binding name=\"B\" type=\"t:T\">{policy}<so:binding transport=\"http://schemas.xmlsoap.org/soap/http\"/>\
         <w:operation name=\"echo\"><so:operation soapAction=\"urn:do-echo\"/><w:input><so:body use=\"literal\"/></w:input><w:output><so:body use=\"literal\"/></w:output></w:operation></w:binding>\
         <w:service name=\"S\"><w:port name=\"P\" binding=\"t:B\"><so:address location=\"{address}\"/></w:port></w:service></w:definitions>"
    )
}

/// WS-Addressing 1.0 Metadata, 4.1.
#[test]
fn a_request_is_for_the_requested_url_or_else_the_address_of_the_description() {
    let pair = Pair::new();
    let described = "https://tax.example/Tax.svc";
    pair.0.write("service.wsdl", description(described));
    pair.0.write("relative.wsdl", description("REPLACE_ME"));
    let to = |security: &str, requested: Option<&str>| {
        let client = pair.client(security);
        let mut buffers = Buffers::default();
        let plain = with_header(SOAP11, "", HELLO).into_bytes();
        let labelled = client.label_request(plain, None, requested, &mut buffers);
        labelled.map(|bytes| header(&String::from_utf8(bytes).expect("text"), "To"))
    };
    let (by_description, without) = ("policy = \"service.wsdl\"", "policy = \"relative.wsdl\"");
    let named = |policy: &str| format!("{policy}, addressing = {{ to = [\"urn:named\"] }}");
    let requested = Some("https://10.0.0.5/tax/a");
    for (security, requested, expected) in [
        (
            by_description.to_owned(),
            requested,
            Ok("https://10.0.0.5/tax/a"),
        ),
        (by_description.to_owned(), None, Ok(described)),
        (named(by_description), requested, Ok("urn:named")),
        (without.to_owned(), requested, Ok("https://10.0.0.5/tax/a")),
        (
            without.to_owned(),
            None,
            Err(SecureError::DestinationUnknown),
        ),
        (named(without), None, Ok("urn:named")),
    ] {
        let expected = expected.map(|to| Some(to.to_owned()));
        assert_eq!(to(&security, requested), expected, "{security}");
    }
    // A single message gets them as well, or is not secured.
    let secured = pair
        .secured(by_description, SOAP11, "")
        .expect("it is secured");
    assert_eq!(header(&secured, "To").as_deref(), Some(described));
    let refused = pair.secured(without, SOAP11, "");
    assert_eq!(
        refused.expect_err("nobody says where"),
        SecureError::DestinationUnknown
    );
}

const METADATA: &str = "http://www.w3.org/2007/05/addressing/metadata";
const OF_2004_POLICY: &str = "http://schemas.xmlsoap.org/ws/2004/08/addressing/policy";

/// A description with this policy and these operations: names, each with its `soapAction`.
fn described(policy: &str, operations: &[(&str, &str)]) -> String {
    let of = |text: &dyn Fn(&str, &str) -> String| -> String {
        let texts = operations.iter().map(|(name, action)| text(name, action));
        texts.collect()
    };
    let messages = of(&|name, _| {
        format!("<w:message name=\"{name}\"><w:part name=\"p\" element=\"t:{name}\"/></w:message>")
    });
    let inherited = of(&|name, _| {
        format!(
            "<w:operation name=\"{name}\"><w:input message=\"t:{name}\"/><w:output message=\"t:{name}\"/></w:operation>"
        )
    });
    let bound = of(&|name, action| {
        format!(
            "<w:operation name=\"{name}\"><so:operation soapAction=\"{action}\"/><w:input><so:body use=\"literal\"/></w:input>\
             <w:output><so:body use=\"literal\"/></w:output></w:operation>"
        )
    });
    format!(
        "<w:definitions xmlns:w=\"http://schemas.xmlsoap.org/wsdl/\" xmlns:so=\"http://schemas.xmlsoap.org/wsdl/soap/\" xmlns:p=\"http://www.w3.org/ns/ws-policy\" \
         xmlns:sp=\"http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702\" xmlns:t=\"urn:echo\" targetNamespace=\"urn:echo\">{messages}\
         <w:portType name=\"T\">{inherited}</w:portType>\
         <w:binding name=\"B\" type=\"t:T\"><p:Policy>{policy}</p:Policy><so:binding transport=\"http://schemas.xmlsoap.org/soap/http\"/>{bound}</w:binding>\
         <w:service name=\"S\"><w:port name=\"P\" binding=\"t:B\"><so:address location=\"https://service.example/a\"/></w:port></w:service></w:definitions>"
    )
}

/// A policy whose certificates sign the Body and these addressing headers.
fn signing(asserted: &str, headers: &str) -> String {
    let token = |role: &str, inclusion: &str| {
        format!(
            "<sp:{role}><p:Policy><sp:X509Token sp:IncludeToken=\"http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702/IncludeToken/{inclusion}\">\
             <p:Policy><sp:WssX509V3Token10/></p:Policy></sp:X509Token></p:Policy></sp:{role}>"
        )
    };
    let (initiator, recipient) = (
        token("InitiatorToken", "AlwaysToRecipient"),
        token("RecipientToken", "Never"),
    );
    format!(
        "{asserted}<sp:AsymmetricBinding><p:Policy>{initiator}{recipient}\
         <sp:AlgorithmSuite><p:Policy><sp:Basic256/></p:Policy></sp:AlgorithmSuite><sp:IncludeTimestamp/></p:Policy></sp:AsymmetricBinding>\
         <sp:SignedParts><sp:Body/>{headers}</sp:SignedParts>"
    )
}

fn asserted(element: &str, namespace: &str) -> String {
    format!("<x:{element} xmlns:x=\"{namespace}\"/>")
}

fn named(namespace: &str) -> String {
    let names = ["To", "Action", "MessageID", "ReplyTo", "RelatesTo"];
    let names = names.map(|name| format!("<sp:Header Name=\"{name}\" Namespace=\"{namespace}\"/>"));
    names.concat()
}

#[test]
fn the_version_of_the_headers_is_that_of_the_policy() {
    let pair = Pair::new();
    let old = asserted("UsingAddressing", OF_2004_POLICY);
    let new = asserted("Addressing", METADATA);
    let (old_names, new_names) = (named(OF_2004), named(ADDRESSING));
    let old_prefix = format!("<sp:Header Namespace=\"{OF_2004}\"/>");
    let both = format!("{old_names}{new_names}");
    for (asserted, headers, version, signed) in [
        (&old, &old_names, OF_2004, 4),
        (&old, &old_prefix, OF_2004, 4),
        (&old, &String::new(), OF_2004, 0),
        (&old, &both, OF_2004, 4),
        (&new, &new_names, ADDRESSING, 4),
        (&new, &both, ADDRESSING, 4),
        (&new, &String::new(), ADDRESSING, 0),
    ] {
        pair.0.write(
            "service.wsdl",
            described(&signing(asserted, headers), &[("echo", "urn:do-echo")]),
        );
        let secured = pair.secured("policy = \"service.wsdl\"", SOAP11, "");
        let secured = secured.unwrap_or_else(|error| panic!("{asserted} {headers}: {error}"));
        assert!(
            secured.contains(&format!("xmlns:wsa=\"{version}\"")),
            "{asserted} {headers}: {secured}"
        );
        let references = secured.matches("<ds:Reference ").count();
        // Body and Timestamp are signed in any case.
        assert_eq!(references, 2 + signed, "{asserted} {headers}: {secured}");
    }
    // What the file says comes first, where nothing is signed.
    pair.0.write(
        "service.wsdl",
        described(&signing(&old, ""), &[("echo", "urn:do-echo")]),
    );
    let written = "policy = \"service.wsdl\", addressing = { version = \"2005/08\" }";
    let secured = pair.secured(written, SOAP11, "").expect("it is secured");
    assert!(secured.contains(&format!("xmlns:wsa=\"{ADDRESSING}\"")));
}

#[test]
fn headers_of_a_version_that_nothing_signs_are_a_mistake_of_the_file() {
    let pair = Pair::new();
    let old = asserted("UsingAddressing", OF_2004_POLICY);
    let new = asserted("Addressing", METADATA);
    let policy = "policy = \"service.wsdl\"";
    let of = |version: &str| format!("{policy}, addressing = {{ version = \"{version}\" }}");
    for (asserted, headers, security, expected) in [
        (
            &old,
            named(OF_2004),
            of("2005/08"),
            "`version` has addressing headers of WS-Addressing 2005/08, and the policy signs those of 2004/08: requests would show headers that nothing signs",
        ),
        (
            &new,
            named(OF_2004),
            policy.to_owned(),
            "the policy asks for addressing headers of WS-Addressing 2005/08, and the policy signs those of 2004/08: requests would show headers that nothing signs",
        ),
        (&new, named(OF_2004), of("2004/08"), ""),
        (&old, named(OF_2004), of("2004/08"), ""),
    ] {
        pair.0.write(
            "service.wsdl",
            described(&signing(asserted, &headers), &[("echo", "urn:do-echo")]),
        );
        let found = pair.problems::<soapstone::endpoint::Calling>(&security);
        match expected {
            "" => assert_eq!(found, "", "{security}"),
            _ => {
                assert!(found.contains(expected), "{security}: {found}");
                let hint =
                    "hint: write those that are signed: addressing = { version = \"2004/08\" }";
                assert!(found.contains(hint), "{found}");
            }
        }
        // A service writes no requests.
        let of_service = pair.problems::<soapstone::endpoint::Serving>(policy);
        assert_eq!(of_service, "");
    }
}

/// WS-Addressing 1.0 Metadata, 4.4.
#[test]
fn a_request_without_an_action_gets_that_of_its_operation_or_is_refused() {
    let pair = Pair::new();
    let policy = signing(&asserted("Addressing", METADATA), "");
    let sole = [("echo", "urn:do-echo")];
    let two = [("echo", "urn:do-echo"), ("other", "urn:do-other")];
    pair.0.write("sole.wsdl", described(&policy, &sole));
    pair.0.write("two.wsdl", described(&policy, &two));
    let (sole, two) = ("policy = \"sole.wsdl\"", "policy = \"two.wsdl\"");
    let with_action = format!("{two}, addressing = {{ action = \"urn:file\" }}");
    let by_mechanism = "mechanism = \"sign\", addressing = { to = [\"urn:a\"] }";
    let (echo, other, none) = (HELLO, "<t:other xmlns:t=\"urn:echo\"/>", "");
    let unknown = "<t:unknown xmlns:t=\"urn:echo\"/>";
    for (security, body, said, expected) in [
        (sole, echo, None, Ok("urn:do-echo")),
        (sole, none, None, Ok("urn:do-echo")),
        (sole, none, Some(""), Ok("urn:do-echo")),
        (sole, none, Some("urn:said"), Ok("urn:said")),
        (sole, unknown, None, Ok("urn:echo/unknown")),
        (two, other, None, Ok("urn:do-other")),
        (two, other, Some("urn:do-other"), Ok("urn:do-other")),
        (two, none, Some("urn:said"), Ok("urn:said")),
        (two, none, None, Err(SecureError::ActionUnknown)),
        (two, none, Some(""), Err(SecureError::ActionUnknown)),
        (&with_action, none, None, Ok("urn:file")),
        (by_mechanism, none, None, Err(SecureError::ActionUnknown)),
        (by_mechanism, echo, None, Ok("urn:echo/echo")),
    ] {
        let client = pair.client(security);
        let plain = with_header(SOAP11, "", body).into_bytes();
        let labelled = client.label_request(plain, said, None, &mut Buffers::default());
        let action = labelled.map(|bytes| {
            let text = String::from_utf8(bytes).expect("text");
            header(&text, "Action").unwrap_or_default()
        });
        let expected = expected.map(str::to_owned);
        assert_eq!(action, expected, "{security} {body} {said:?}");
    }
    let empty = format!("{two}, addressing = {{ action = \"\" }}");
    let found = pair.problems::<soapstone::endpoint::Calling>(&empty);
    let expected = "`action` must be an action, found an empty text";
    assert!(found.contains(expected), "{found}");
}

/// A name leads to a certificate that is here, or to none.
#[test]
fn a_policy_whose_answers_only_name_a_certificate_is_warned_of_without_one() {
    let pair = Pair::new();
    let policy = signing("", "");
    pair.0
        .write("named.wsdl", described(&policy, &[("echo", "")]));
    let shown = policy.replace("IncludeToken/Never", "IncludeToken/AlwaysToInitiator");
    pair.0
        .write("shown.wsdl", described(&shown, &[("echo", "")]));
    let peer = "peer = { certificate = \"service.cert.pem\" }\n";
    let anchors = "trust = { anchors = [\"ca.cert.pem\"] }\n";
    let pinned = "trust = { pinned = [\"service.cert.pem\"] }\n";
    for (file, keys, is_warned_of) in [
        ("named.wsdl", anchors.to_owned(), true),
        ("named.wsdl", format!("{peer}{anchors}"), false),
        ("named.wsdl", pinned.to_owned(), false),
        ("shown.wsdl", anchors.to_owned(), false),
    ] {
        let text = format!(
            "identity = {{ key = \"client.key.pem\", certificate = \"client.cert.pem\" }}\n{keys}\
             security = {{ policy = \"{file}\" }}\n"
        );
        let config = EndpointConfig::from_text(&text, &pair.0.path("endpoint.toml"), &|_| None);
        let config = config.unwrap_or_else(|problems| panic!("{problems}"));
        let client: Result<Client, Problems> = Endpoint::from_config(&config);
        let client = client.unwrap_or_else(|problems| panic!("{problems}"));
        let risks = client.risks(&config, false);
        let mut names = risks.iter().map(|risk| risk.name);
        let found = names.any(|name| name == "named-certificate");
        assert_eq!(found, is_warned_of, "{text}");
    }
}

#[test]
fn what_makes_no_sense_of_request_headers_is_a_mistake_of_the_file() {
    let pair = Pair::new();
    let sign = "mechanism = \"sign\"";
    for key in [
        "action = \"urn:a\"",
        "message_id = false",
        "reply_to = \"absent\"",
        "version = \"2004/08\"",
    ] {
        let security = format!("{sign}, addressing = {{ to = [\"urn:a\"], {key} }}");
        let found = pair.problems::<soapstone::endpoint::Serving>(&security);
        let name = key.split(' ').next().expect("a key");
        assert!(
            found.contains(&format!(
                "`{name}` is of requests that leave, and this endpoint opens them"
            )),
            "{found}"
        );
        assert_eq!(pair.problems::<soapstone::endpoint::Calling>(&security), "");
    }
    let several = format!("{sign}, addressing = {{ to = [\"urn:a\", \"urn:b\"] }}");
    let found = pair.problems::<soapstone::endpoint::Calling>(&several);
    assert!(
        found.contains("`to` names several addresses, and a request is for one"),
        "{found}"
    );
}
