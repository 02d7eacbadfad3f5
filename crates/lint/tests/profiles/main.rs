//! The rules of the Basic Profiles, of policies, of Digikoppeling, of AS4 and of packages, each
//! with a change of a good document that breaks it, and what the whole crate promises of hostile
//! input.

#[path = "profiles/addressing.rs"]
mod addressing;
#[path = "profiles/as4.rs"]
mod as4;
#[path = "profiles/descriptions.rs"]
mod descriptions;
#[path = "profiles/packages.rs"]
mod packages;
#[path = "profiles/policies.rs"]
mod policies;

use std::collections::BTreeSet;

use descriptions::DESCRIPTIONS;
use policies::POLICIES;
use soapstone_lint::{
    Choice, LintError, MOST_FINDINGS, NOT_LOOKED_FOR, Profile, ProfileError, Profiles, Severity,
    lint, rule, rules_table,
};
use soapstone_testkit::processor_time;

const ENVELOPE: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><s:Envelope \
    xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:e=\"http://schemas.xmlsoap.org/soap/encoding/\" \
    xmlns:b=\"urn:b\"><s:Header><b:h s:mustUnderstand=\"1\"/></s:Header><s:Body><b:book/></s:Body></s:Envelope>";

const FAULT: &str = "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:b=\"urn:b\"><s:Body>\
    <s:Fault><faultcode>s:Client</faultcode><faultstring>no</faultstring></s:Fault></s:Body></s:Envelope>";

const SERVICE: &str = include_str!("samples/service.wsdl");

const OTHER: &str = "<wsdl:definitions xmlns:wsdl=\"http://schemas.xmlsoap.org/wsdl/\" targetNamespace=\"urn:other\"/>";

/// Rule, what is replaced, by what, and the rules that are broken besides.
type Sample = (
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

const ENVELOPES: &[Sample] = &[
    ("R9980", "<s:Body><b:book/></s:Body>", "", &[]),
    ("R9981", "<b:book/>", "<b:book/><b:book/>", &[]),
    ("R1014", "<b:book/>", "<book/>", &[]),
    ("R1009", "<b:book/>", "<b:book><?run x?></b:book>", &[]),
    (
        "R1033",
        "xmlns:b=",
        "xmlns:xml=\"http://www.w3.org/XML/1998/namespace\" xmlns:b=",
        &[],
    ),
    ("R1012", "UTF-8", "ISO-8859-1", &[]),
    ("R1011", "</s:Body>", "</s:Body><b:x/>", &[]),
    (
        "R1005",
        "<s:Body>",
        "<s:Body s:encodingStyle=\"urn:x\">",
        &["R1032"],
    ),
    (
        "R1006",
        "<b:book/>",
        "<b:book s:encodingStyle=\"urn:x\"/>",
        &[],
    ),
    ("R1013", "=\"1\"/>", "=\"true\"/>", &[]),
    ("R1032", "<s:Body>", "<s:Body s:actor=\"urn:x\">", &[]),
    (
        "R2113",
        "<b:book/>",
        "<b:book e:arrayType=\"b:x[2]\"/>",
        &[],
    ),
];

const FAULTS: &[Sample] = &[
    ("R1000", "</faultstring>", "</faultstring><b:more/>", &[]),
    (
        "R1001",
        "<faultstring>no</faultstring>",
        "<b:faultstring>no</b:faultstring>",
        &[],
    ),
    ("R1004", "s:Client", "s:Sender", &[]),
    ("R1031", "s:Client", "s:Client.Authentication", &[]),
];

/// A message that Digikoppeling takes: signed and encrypted.
fn wus() -> String {
    let secured = |uri: &str| {
        format!(
            "<ds:Reference URI=\"#{uri}\"><ds:Transforms><ds:Transform Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"/></ds:Transforms>\
                 <ds:DigestMethod Algorithm=\"http://www.w3.org/2001/04/xmlenc#sha256\"/><ds:DigestValue>AAAA</ds:DigestValue></ds:Reference>"
        )
    };
    let certificate =
        "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-x509-token-profile-1.0#X509v3";
    format!(
        "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:a=\"http://www.w3.org/2005/08/addressing\" xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\" \
         xmlns:xenc=\"http://www.w3.org/2001/04/xmlenc#\" xmlns:wsu=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd\" \
         xmlns:wsse=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\"><s:Header><a:Action wsu:Id=\"A\">urn:a</a:Action>\
         <wsse:Security><wsu:Timestamp wsu:Id=\"T\"><wsu:Created>2026-01-31T12:00:00Z</wsu:Created></wsu:Timestamp>\
         <wsse:BinarySecurityToken wsu:Id=\"C\" ValueType=\"{certificate}\">MAQwAqAA</wsse:BinarySecurityToken>\
         <xenc:EncryptedKey Id=\"K\"><xenc:EncryptionMethod Algorithm=\"http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p\"/>\
         <xenc:ReferenceList><xenc:DataReference URI=\"#D\"/></xenc:ReferenceList></xenc:EncryptedKey>\
         <ds:Signature><ds:SignedInfo><ds:CanonicalizationMethod Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"/>\
         <ds:SignatureMethod Algorithm=\"http://www.w3.org/2001/04/xmldsig-more#rsa-sha256\"/>{}{}{}</ds:SignedInfo>\
         <ds:KeyInfo><wsse:SecurityTokenReference><wsse:Reference URI=\"#C\" ValueType=\"{certificate}\"/></wsse:SecurityTokenReference></ds:KeyInfo></ds:Signature>\
         </wsse:Security></s:Header><s:Body wsu:Id=\"B\"><xenc:EncryptedData Id=\"D\"><xenc:EncryptionMethod Algorithm=\"http://www.w3.org/2009/xmlenc11#aes256-gcm\"/>\
         </xenc:EncryptedData></s:Body></s:Envelope>",
        secured("A"),
        secured("T"),
        secured("B"),
    )
}

const WUS: &[Sample] = &[
    ("WS002", "<a:Action wsu:Id=\"A\">urn:a</a:Action>", "", &[]),
    (
        "WS007",
        "<wsse:Security>",
        "<b:h xmlns:b=\"urn:b\"/><wsse:Security>",
        &[],
    ),
    (
        "WA001",
        "<wsse:Security>",
        "<o:To xmlns:o=\"http://schemas.xmlsoap.org/ws/2004/08/addressing\"/><wsse:Security>",
        &[],
    ),
    (
        "WB002",
        "<wsu:Created>2026-01-31T12:00:00Z</wsu:Created>",
        "",
        &[],
    ),
    (
        "WB004",
        "<s:Body wsu:Id=\"B\">",
        "<s:Body wsu:Id=\"Z\">",
        &[],
    ),
    (
        "WB006",
        "<xenc:EncryptedKey Id=\"K\">",
        "<ds:Signature/><xenc:EncryptedKey Id=\"K\">",
        &[],
    ),
    (
        "WB007",
        "<ds:CanonicalizationMethod Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"/>",
        "<ds:CanonicalizationMethod Algorithm=\"http://www.w3.org/TR/2001/REC-xml-c14n-20010315\"/>",
        &[],
    ),
    (
        "WB010",
        "<wsse:Reference URI=\"#C\"",
        "<wsse:Reference URI=\"urn:c\"",
        &[],
    ),
    (
        "SIGN001",
        "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
        "http://www.w3.org/2000/09/xmldsig#rsa-sha1",
        &[],
    ),
    (
        "SIGN003",
        "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
        "http://www.w3.org/2001/04/xmldsig-more#rsa-sha224",
        &[],
    ),
    (
        "ENC003",
        "http://www.w3.org/2009/xmlenc11#aes256-gcm",
        "http://www.w3.org/2001/04/xmlenc#aes256-cbc",
        &[],
    ),
    (
        "ENC004",
        "http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p",
        "http://www.w3.org/2001/04/xmlenc#rsa-1_5",
        &[],
    ),
];

fn beside(uri: &str) -> Option<Vec<u8>> {
    match uri {
        "other.wsdl" => Some(OTHER.as_bytes().to_vec()),
        "schema.xsd" => Some(b"<schema xmlns=\"http://www.w3.org/2001/XMLSchema\"/>".to_vec()),
        _ => None,
    }
}

fn broken(source: &str, choice: Choice) -> BTreeSet<&'static str> {
    let report = lint(source.as_bytes().to_vec(), &choice, &beside).expect("a document");
    report
        .findings
        .iter()
        .map(|finding| finding.rule.id)
        .collect()
}

fn compare(base: &str, samples: &[Sample], profiles: Profiles) {
    let choice = Choice::Of(profiles);
    assert_eq!(broken(base, choice), BTreeSet::new(), "the base");
    let mut problems = Vec::new();
    for (rule, from, to, besides) in samples {
        assert!(base.contains(from), "{rule}: the base does not hold {from}");
        let expected: BTreeSet<&str> = besides.iter().copied().chain([*rule]).collect();
        let found = broken(&base.replacen(from, to, 1), choice);
        if found != expected {
            problems.push(format!("{rule}: expected {expected:?}, found {found:?}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn each_rule_of_envelopes_is_found_where_it_is_broken() {
    let profiles = Profiles::of(Profile::Bp11);
    compare(ENVELOPE, ENVELOPES, profiles);
    compare(FAULT, FAULTS, profiles);
}

#[test]
fn the_basic_profile_of_the_other_soap_version_refuses_the_envelope() {
    let of_12 = ENVELOPE.replace(
        "http://schemas.xmlsoap.org/soap/envelope/",
        "http://www.w3.org/2003/05/soap-envelope",
    );
    let of = |profile| Choice::Of(Profiles::of(profile));
    let refused = BTreeSet::from(["R9980"]);
    assert_eq!(broken(ENVELOPE, of(Profile::Bp20)), refused);
    assert_eq!(broken(&of_12, of(Profile::Bp12)), refused);
    assert_eq!(broken(&of_12, of(Profile::Bp20)), BTreeSet::new());
    assert_eq!(broken(&of_12, Choice::Fitting), BTreeSet::new());
}

#[test]
fn each_rule_of_basic_profile_1_2_and_2_0_alone_is_found_where_it_is_broken() {
    let of_12 = Profiles::of(Profile::Bp12);
    let of_20 = Profiles::of(Profile::Bp20);
    let soap11 = "http://schemas.xmlsoap.org/soap/envelope/";
    let request12 = addressing::REQUEST.replace(soap11, addressing::SOAP12);
    compare(addressing::REQUEST, addressing::OF_REQUESTS, of_12);
    compare(&request12, addressing::OF_REQUESTS, of_20);
    compare(&request12, addressing::OF_ENVELOPES12, of_20);
    compare(addressing::FAULT11, addressing::OF_FAULTS11, of_12);
    compare(addressing::FAULT12, addressing::OF_FAULTS12, of_20);
    let service = addressing::service();
    compare(&service, addressing::OF_SERVICES, Profiles::BASIC);
    let service12 = addressing::service12();
    compare(&service12, addressing::OF_SERVICES12, of_20);
}

/// Basic Profile 1.1 takes WS-Addressing in nowhere, and either SOAP version may be bound where no
/// profile is chosen.
#[test]
fn rules_of_later_basic_profiles_leave_others_alone() {
    let of_11 = Profiles::of(Profile::Bp11);
    for (rule, from, to, _) in addressing::OF_REQUESTS {
        let changed = addressing::REQUEST.replacen(from, to, 1);
        assert_eq!(
            broken(&changed, Choice::Of(of_11)),
            BTreeSet::new(),
            "{rule}"
        );
    }
    let both = Choice::Of(Profiles::BASIC);
    assert_eq!(broken(&addressing::service12(), both), BTreeSet::new());
    let refused = BTreeSet::from(["bp-binding-version"]);
    let of_12 = Choice::Of(Profiles::of(Profile::Bp12));
    assert_eq!(broken(&addressing::service12(), of_12), refused);
    // One binding of the SOAP version of the profile is enough.
    for name in [Profile::Bp12, Profile::Bp20] {
        let of_one = Choice::Of(Profiles::of(name));
        assert_eq!(
            broken(&addressing::service_of_both(), of_one),
            BTreeSet::new()
        );
    }
    // A header for another role is another header, and answers that go nowhere relate to nothing.
    let request = addressing::REQUEST;
    for (from, to) in [
        (
            "<a:MessageID>",
            "<a:MessageID s:actor=\"urn:r\">urn:uuid:2</a:MessageID><a:MessageID>",
        ),
        (
            "<a:MessageID>urn:uuid:1</a:MessageID><a:ReplyTo><a:Address>http://client.example/</a:Address></a:ReplyTo>",
            "<a:FaultTo><a:Address>http://client.example/</a:Address></a:FaultTo>",
        ),
        (
            "<a:MessageID>urn:uuid:1</a:MessageID><a:ReplyTo><a:Address>http://client.example/",
            "<a:ReplyTo><a:Address>http://www.w3.org/2005/08/addressing/none",
        ),
    ] {
        assert!(request.contains(from), "{from}");
        let changed = request.replacen(from, to, 1);
        assert_eq!(broken(&changed, of_12), BTreeSet::new(), "{to}");
    }
    // Another choice in each alternative.
    let service = addressing::service();
    let choice =
        "<wsp:ExactlyOne><wsam:AnonymousResponses/><wsam:NonAnonymousResponses/></wsp:ExactlyOne>";
    let chosen = service.replacen("<wsam:AnonymousResponses/>", choice, 1);
    assert_eq!(broken(&chosen, both), BTreeSet::new());
}

/// The engine reads and writes headers of August 2004, and SOAP 1.2 says that languages of a reason
/// should differ: neither is an error.
#[test]
fn what_a_specification_leaves_open_is_no_error() {
    let draft = addressing::REQUEST.replace(
        "http://www.w3.org/2005/08/addressing",
        "http://schemas.xmlsoap.org/ws/2004/08/addressing",
    );
    let fault = addressing::FAULT12.replacen(
        "</s:Reason>",
        "<s:Text xml:lang=\"en\">no</s:Text></s:Reason>",
        1,
    );
    for source in [draft, fault] {
        let report = lint(source.into_bytes(), &Choice::Fitting, &|_| None).expect("a message");
        assert_eq!(report.count(Severity::Error), 0);
        assert!(report.count(Severity::Warning) > 0);
    }
}

/// The operations of a port type, and the policies that demand addressing, are read once.
#[test]
fn many_bindings_of_a_large_port_type_take_linear_work() {
    let with = |many: usize| {
        let several = |make: &dyn Fn(usize) -> String| (0..many).map(make).collect::<String>();
        let operations = several(&|at| format!("<wsdl:operation name=\"o{at}\"/>"));
        let bindings = several(&|at| {
            format!("<wsdl:binding name=\"b{at}\" type=\"t:P\"><soap:binding/></wsdl:binding>")
        });
        let port_types = several(&|at| {
            format!(
                "<wsdl:portType name=\"p{at}\" wsp:PolicyURIs=\"#n{at}\"/><wsp:Policy wsu:Id=\"n{at}\"/>"
            )
        });
        let source = format!(
            "<wsdl:definitions xmlns:wsdl=\"http://schemas.xmlsoap.org/wsdl/\" xmlns:soap=\"http://schemas.xmlsoap.org/wsdl/soap/\" \
             xmlns:wsp=\"http://www.w3.org/ns/ws-policy\" \
             xmlns:wsu=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd\" \
             xmlns:t=\"urn:t\" targetNamespace=\"urn:t\">{port_types}<wsdl:portType name=\"P\">{operations}</wsdl:portType>{bindings}</wsdl:definitions>"
        );
        processor_time(|| broken(&source, Choice::Of(Profiles::BASIC))).1
    };
    let (few, many) = (with(500), with(2_000));
    assert!(many < few * 10, "{few:?} and {many:?}");
}

/// However many operations a binding has, those of its port type are told from others.
#[test]
fn a_binding_of_very_many_operations_is_held_against_all_of_its_port_type() {
    let with = |abstract_ones: usize, bound: usize| {
        let operations = |count: usize| {
            let one = |at: usize| format!("<operation name=\"o{at}\"/>");
            (0..count).map(one).collect::<String>()
        };
        let source = format!(
            "<definitions xmlns=\"http://schemas.xmlsoap.org/wsdl/\" xmlns:soap=\"http://schemas.xmlsoap.org/wsdl/soap/\" \
             xmlns:t=\"urn:t\" targetNamespace=\"urn:t\"><portType name=\"P\">{}</portType>\
             <binding name=\"B\" type=\"t:P\"><soap:binding transport=\"http://schemas.xmlsoap.org/soap/http\"/>{}</binding></definitions>",
            operations(abstract_ones),
            operations(bound)
        );
        let choice = Choice::Of(Profiles::BASIC);
        let report = lint(source.into_bytes(), &choice, &beside).expect("a description");
        let found = report.findings.into_iter();
        let found = found.filter(|it| matches!(it.rule.id, "R2718" | "wsdl-not-looked-at"));
        found.map(|it| (it.rule.id, it.found)).collect::<Vec<_>>()
    };
    const MOST: usize = 1 << 16;
    let not_looked_at = |count: usize| {
        let found = format!("more than {MOST}: those of the last {count} operations are not");
        ("wsdl-not-looked-at", found)
    };
    assert_eq!(with(MOST, MOST), []);
    assert_eq!(with(MOST + 9, MOST + 9), [not_looked_at(9)]);
    let (one_more, one_less) = (with(MOST + 8, MOST + 9), with(MOST + 9, MOST + 8));
    let last = format!("`o{}`", MOST + 8);
    let lacks = ("R2718", format!("{last} that the port type lacks"));
    assert!(
        one_more.contains(&lacks) && one_more.len() == 2,
        "{one_more:?}"
    );
    let unbound = ("R2718", format!("{last} is not bound"));
    assert!(
        one_less.contains(&unbound) && one_less.len() == 2,
        "{one_less:?}"
    );
}

#[test]
fn each_rule_of_descriptions_is_found_where_it_is_broken() {
    compare(SERVICE, DESCRIPTIONS, Profiles::BASIC);
}

#[test]
fn each_rule_of_policies_is_found_where_it_is_broken() {
    compare(SERVICE, POLICIES, Profiles::of(Profile::Policy));
}

/// What a policy demands may be completed by another one that is attached beside it.
#[test]
fn a_policy_that_stands_alone_is_taken_for_a_piece() {
    let token = "<sp:EncryptedSupportingTokens><wsp:Policy><sp:UsernameToken><wsp:Policy/></sp:UsernameToken></wsp:Policy></sp:EncryptedSupportingTokens>";
    let alone = format!(
        "<wsp:Policy xmlns:wsp=\"http://www.w3.org/ns/ws-policy\" xmlns:sp=\"http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702\">{token}</wsp:Policy>"
    );
    assert_eq!(broken(&alone, Choice::Fitting), BTreeSet::new());
    let start = SERVICE.find("<wsp:Policy wsu:Id").expect("a policy");
    let end = SERVICE.find("  <wsdl:import").expect("its end");
    let policy = SERVICE[start..end].replacen(
        "wsu:Id=\"Signed\"",
        "xmlns:wsp=\"http://www.w3.org/ns/ws-policy\" xmlns:sp=\"http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702\"",
        1,
    );
    let policy = policy.replace("<sp:SignedParts><sp:Body/></sp:SignedParts>", "");
    assert_eq!(broken(&policy, Choice::Fitting), BTreeSet::new());
    // In a description nothing is elsewhere.
    let (from, to) = ("<sp:SignedParts><sp:Body/></sp:SignedParts>", "");
    let whole = SERVICE.replacen(from, to, 1);
    assert!(broken(&whole, Choice::Fitting).contains("nothing-signed"));
}

/// The policy of the messages that begin a conversation says nothing of the port's own messages.
#[test]
fn transport_that_protects_the_beginning_of_a_conversation_alone_demands_no_https() {
    let bootstrap = "<wsp:Policy wsu:Id=\"Signed\"><sp:Trust13><wsp:Policy><sp:TransportBinding/></wsp:Policy></sp:Trust13>";
    let nested = SERVICE.replacen("<wsp:Policy wsu:Id=\"Signed\">", bootstrap, 1);
    let found = broken(&nested, Choice::Of(Profiles::of(Profile::Policy)));
    assert!(!found.contains("transport-unprotected"), "{found:?}");
}

#[test]
fn each_rule_of_digikoppeling_is_found_where_it_is_broken() {
    compare(&wus(), WUS, Profiles::of(Profile::Digikoppeling));
}

#[test]
fn each_rule_of_as4_is_found_where_it_is_broken() {
    for (base, samples) in [
        (as4::with_attachment(), as4::OF_USER_MESSAGES),
        (as4::with_body(), as4::OF_BODIES),
        (as4::pull_request(), as4::OF_PULL_REQUESTS),
        (as4::receipt(), as4::OF_RECEIPTS),
        (as4::error(), as4::OF_ERRORS),
    ] {
        compare(&base, samples, Profiles::AS4);
    }
}

#[test]
fn each_rule_of_packages_is_found_where_it_is_broken() {
    let of_mtom = Profiles::of(Profile::Swa);
    for (base, samples, profiles) in [
        (packages::encrypted(), packages::OF_ENCRYPTED, Profiles::AS4),
        (packages::signed(), packages::OF_SIGNED, Profiles::AS4),
        (packages::mtom(), packages::OF_MTOM, of_mtom),
    ] {
        compare(&base, samples, profiles);
    }
}

#[test]
fn a_package_is_held_against_its_rules_where_no_profile_is_chosen() {
    let base = packages::encrypted();
    assert_eq!(
        broken(&base, Choice::Fitting),
        broken(&as4::with_attachment(), Choice::Fitting)
    );
    let changed = base.replacen("--b-1--", "--b-1\r\n\r\nx\r\n--b-1--", 1);
    let found = broken(&changed, Choice::Fitting);
    assert!(found.contains("swa-content-id-missing"), "{found:?}");
    assert!(found.contains("as4-part-listed"), "{found:?}");
}

/// Security is an agreement of partners, and so are the algorithms.
#[test]
fn a_message_of_as4_needs_no_signature_and_may_use_other_algorithms() {
    let message = as4::with_attachment();
    let start = message.find("<wsse:Security ").expect("a header");
    let end = message.find("</s:Header>").expect("its end");
    let plain = format!("{}{}", &message[..start], &message[end..]);
    assert_eq!(broken(&plain, Choice::Of(Profiles::AS4)), BTreeSet::new());
    let other = message.replace("#aes128-gcm", "#aes256-gcm");
    let of_as4 = Choice::Of(Profiles::of(Profile::As4));
    assert_eq!(broken(&other, of_as4), BTreeSet::new());
}

/// What the rules of AS4 leave alone, beside what they mind.
#[test]
fn rules_of_as4_mind_what_they_are_about_alone() {
    let message = as4::with_attachment();
    let of_as4 = Choice::Of(Profiles::AS4);
    // The header that authorizes may hold a UsernameToken, and that of eDelivery may not.
    let user = "<wsse:Security s:role=\"ebms\"><wsse:UsernameToken/></wsse:Security><wsse:Security s:mustUnderstand";
    let authorized = message.replacen("<wsse:Security s:mustUnderstand", user, 1);
    let alone = Choice::Of(Profiles::of(Profile::As4));
    assert_eq!(broken(&authorized, alone), BTreeSet::new());
    let expected = BTreeSet::from(["edelivery-username-token"]);
    assert_eq!(broken(&authorized, of_as4), expected);
    // A key that is agreed on names its receiver inside of the agreement.
    let agreed = message.replacen(
        "<ds:KeyInfo><wsse:SecurityTokenReference><ds:X509Data>",
        "<ds:KeyInfo><xenc:AgreementMethod/><wsse:SecurityTokenReference><ds:X509Data>",
        1,
    );
    let agreed = agreed.replacen(
        "<ds:X509Data>",
        "<ds:KeyName>k</ds:KeyName><ds:X509Data>",
        1,
    );
    assert!(!broken(&agreed, of_as4).contains("as4-x509-encryption"));
    // A receipt that is a copy proves nothing, and needs no signature.
    let start = as4::receipt();
    let from = start.find("<ebbp:NonRepudiation").expect("evidence");
    let to = start.find("</eb:Receipt>").expect("its end");
    let copy = format!("{}<eb:UserMessage/>{}", &start[..from], &start[to..]);
    let copy = copy.replace("http://www.w3.org/2000/09/xmldsig#", "urn:other");
    assert_eq!(broken(&copy, of_as4), BTreeSet::new());
    // Another header block may be encrypted.
    let hidden = "<wsse11:EncryptedHeader xmlns:wsse11=\"http://docs.oasis-open.org/wss/oasis-wss-wssecurity-secext-1.1.xsd\"/><wsse:Security s:mustUnderstand";
    let hidden = message.replacen("<wsse:Security s:mustUnderstand", hidden, 1);
    assert_eq!(broken(&hidden, of_as4), BTreeSet::new());
    // A signature around itself is not detached, whatever names what it signs.
    let around = message
        .replacen("<wsse:Security s:", "<wsse:Security wsu:Id=\"S\" s:", 1)
        .replacen("<ds:Reference URI=\"#B\">", "<ds:Reference URI=\"#S\">", 1);
    let expected = BTreeSet::from(["as4-detached-signature", "as4-signed-body"]);
    assert_eq!(broken(&around, of_as4), expected);
    // Elements of other namespaces may stand behind those of a header, and in evidence.
    let receipt = as4::receipt();
    for end in [
        "</eb:Messaging>",
        "</eb:SignalMessage>",
        "</ebbp:NonRepudiationInformation>",
    ] {
        let extended = receipt.replacen(end, &format!("<b:Receipt/>{end}"), 1);
        assert_eq!(broken(&extended, of_as4), BTreeSet::new(), "{end}");
    }
    // Digest and mask are those of OAEP.
    let start = message.find("<ds:DigestMethod").expect("a digest");
    let end = message.find("</xenc:EncryptionMethod>").expect("its end");
    let other = format!("{}{}", &message[..start], &message[end..]);
    let other = other.replace("xmlenc11#rsa-oaep", "xmlenc11#rsa-1_5");
    let expected = BTreeSet::from(["edelivery-key-transport"]);
    assert_eq!(broken(&other, of_as4), expected);
}

#[test]
fn parts_are_listed_and_signed_where_a_message_lists_and_signs() {
    let of_as4 = Choice::Of(Profiles::of(Profile::As4));
    // Without an ebMS header nothing is listed.
    let expected = BTreeSet::from(["eb-messaging"]);
    let other = packages::mtom().replacen("<s:Body>", "<s:Header/><s:Body>", 1);
    assert_eq!(broken(&other, of_as4), expected);
    let signed = packages::signed();
    // What is not called compressed is of any type.
    let property = "<eb:Property name=\"CompressionType\">application/gzip</eb:Property>";
    let whole = signed
        .replacen(property, "", 1)
        .replacen("application/gzip", "application/xml", 1)
        .replacen("H4sIAAAA", "PGEvPgAA", 1);
    assert_eq!(broken(&whole, of_as4), BTreeSet::new());
    let start = signed.find("<wsse:Security ").expect("a header");
    let end = signed.find("</s:Header>").expect("its end");
    let plain = format!("{}{}", &signed[..start], &signed[end..]);
    assert_eq!(broken(&plain, of_as4), BTreeSet::new());
    let unlisted = plain.replacen(
        "--b-1--",
        "--b-1\r\nContent-ID: <x@y>\r\n\r\nx\r\n--b-1--",
        1,
    );
    let expected = BTreeSet::from(["as4-part-listed"]);
    assert_eq!(broken(&unlisted, of_as4), expected);
}

#[test]
fn an_encrypted_header_hides_what_as4_leaves_in_clear() {
    let message = as4::with_attachment();
    let start = message.find("<eb:Messaging ").expect("a header block");
    let end = message.find("<wsse:Security ").expect("its end");
    let hidden = "<wsse11:EncryptedHeader xmlns:wsse11=\"http://docs.oasis-open.org/wss/oasis-wss-wssecurity-secext-1.1.xsd\"><xenc:EncryptedData/></wsse11:EncryptedHeader>";
    let message = format!("{}{hidden}{}", &message[..start], &message[end..]);
    let found = broken(&message, Choice::Of(Profiles::of(Profile::As4)));
    let expected = [
        "as4-encrypted-messaging",
        "as4-signed-part-listed",
        "eb-messaging",
    ];
    assert_eq!(found, BTreeSet::from(expected));
}

/// A payload in an encrypted Body is not seen, and its id is not called wrong.
#[test]
fn the_target_of_a_part_is_not_looked_for_in_an_encrypted_body() {
    let message = as4::with_body().replace("<b:order wsu:Id=\"P\"/>", "<xenc:EncryptedData/>");
    let found = broken(&message, Choice::Of(Profiles::of(Profile::As4)));
    assert_eq!(found, BTreeSet::new());
}

#[test]
fn an_envelope_with_an_ebms_header_is_held_against_as4_where_none_is_chosen() {
    let message = as4::pull_request().replace("m1@sender.example", "m1");
    let found = broken(&message, Choice::Fitting);
    assert!(found.contains("eb-message-id"), "{found:?}");
}

/// A receipt may copy the user message, which is no message unit.
#[test]
fn a_copy_of_a_user_message_in_a_receipt_is_evidence_alone() {
    let receipt = as4::receipt();
    let start = receipt
        .find("<ebbp:NonRepudiationInformation>")
        .expect("evidence");
    let end = receipt.find("</eb:Receipt>").expect("its end");
    let copied = format!("{}<eb:UserMessage/>{}", &receipt[..start], &receipt[end..]);
    let found = broken(&copied, Choice::Of(Profiles::AS4));
    assert_eq!(found, BTreeSet::new());
}

#[test]
fn every_rule_outside_of_the_security_profile_has_its_sample() {
    let of_as4 = [
        as4::OF_USER_MESSAGES,
        as4::OF_BODIES,
        as4::OF_PULL_REQUESTS,
        as4::OF_RECEIPTS,
        as4::OF_ERRORS,
        packages::OF_ENCRYPTED,
        packages::OF_SIGNED,
        packages::OF_MTOM,
    ];
    let sampled: BTreeSet<&str> = [ENVELOPES, FAULTS, DESCRIPTIONS, POLICIES, WUS]
        .into_iter()
        .chain(of_as4)
        .chain(addressing::ALL)
        .collect::<Vec<_>>()
        .concat()
        .iter()
        .map(|sample| sample.0)
        .collect();
    let rules = rules_table()
        .iter()
        .filter(|rule| !rule.profiles.has(Profile::Bsp));
    let rules = rules.map(|rule| rule.id);
    // What passes that bound is made by a test of its own.
    let rules: BTreeSet<&str> = rules.filter(|id| *id != "wsdl-not-looked-at").collect();
    assert_eq!(sampled, rules);
}

#[test]
fn a_rule_stands_in_the_table_once_and_is_looked_for_or_not() {
    let mut known = BTreeSet::new();
    for rule in rules_table() {
        assert!(known.insert(rule.id), "{} twice", rule.id);
        assert!(
            rule.explanation.ends_with('.') && rule.remedy.ends_with('.'),
            "{}",
            rule.id
        );
    }
    for (id, _) in NOT_LOOKED_FOR {
        assert_eq!(rule(id), None, "{id}");
    }
}

#[test]
fn findings_stand_in_document_order_with_lines_and_columns_in_characters() {
    let source = "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body>\n  <é/>\r\n<ü/><b/></s:Body></s:Envelope>";
    let choice = Choice::Of(Profiles::of(Profile::Bp11));
    let report = lint(source.as_bytes().to_vec(), &choice, &|_| None).expect("an envelope");
    let places: Vec<_> = report
        .findings
        .iter()
        .map(|finding| (finding.rule.id, finding.line, finding.column))
        .collect();
    assert_eq!(
        places,
        [
            ("R1014", 2, 3),
            ("R1014", 3, 1),
            ("R9981", 3, 1),
            ("R1014", 3, 5)
        ]
    );
}

#[test]
fn findings_beyond_the_limit_are_counted() {
    let mut body = String::new();
    for _ in 0..3 * MOST_FINDINGS {
        body.push_str("<x/>");
    }
    let source = format!(
        "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body>{body}</s:Body></s:Envelope>"
    );
    let report = lint(source.into_bytes(), &Choice::Fitting, &|_| None).expect("an envelope");
    assert_eq!(report.findings.len(), MOST_FINDINGS);
    // Each has no namespace, and together they are too many.
    assert_eq!(report.count(Severity::Error), 3 * MOST_FINDINGS + 1);
}

#[test]
fn values_of_a_hostile_message_are_cut_and_stay_in_their_line() {
    let long = "x".repeat(100_000);
    let source = format!(
        "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body/>\
        <y:h xmlns:y=\"urn:y\" s:mustUnderstand=\"a&#10;hint: all is well{long}\"/></s:Envelope>"
    );
    let report = lint(source.into_bytes(), &Choice::Fitting, &|_| None).expect("an envelope");
    let text = soapstone_lint::text("a\nb.xml", &report);
    assert!(text.len() < 2_000, "{} bytes", text.len());
    assert!(
        text.contains("a\\nb.xml:1:") && !text.contains("\nhint:"),
        "{text}"
    );
}

#[test]
fn what_is_no_xml_and_what_is_something_else_have_their_errors() {
    let of = |source: &str| lint(source.as_bytes().to_vec(), &Choice::Fitting, &|_| None);
    let refused = of("<!DOCTYPE a><a/>").unwrap_err();
    assert_eq!(
        refused.to_string(),
        "document type declarations are refused (at line 1 column 1)"
    );
    assert_eq!(
        of("<html xmlns=\"urn:h\"/>").unwrap_err(),
        LintError::OtherRoot {
            found: "html".to_owned(),
            namespace: "urn:h".to_owned(),
        }
    );
}

#[test]
fn profiles_are_named() {
    for profile in Profile::ALL {
        assert_eq!(profile.name().parse(), Ok(profile));
    }
    assert_eq!("x".parse::<Profile>(), Err(ProfileError("x".to_owned())));
}
