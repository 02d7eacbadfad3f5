//! Messages and descriptions for the rules that Basic Profile 1.2 and 2.0 have beyond 1.1.

use std::collections::BTreeSet;

use soapstone_lint::{Choice, Profile, Profiles, Severity, lint};

use super::{SERVICE, Sample, broken, compare};

pub(crate) const SOAP12: &str = "http://www.w3.org/2003/05/soap-envelope";

/// All changes of this file.
pub(crate) const ALL: [&[Sample]; 6] = [
    OF_REQUESTS,
    OF_ENVELOPES12,
    OF_FAULTS11,
    OF_FAULTS12,
    OF_SERVICES,
    OF_SERVICES12,
];

/// A request with addressing headers, in SOAP 1.1.
pub(crate) const REQUEST: &str = "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:b=\"urn:b\" \
    xmlns:a=\"http://www.w3.org/2005/08/addressing\"><s:Header><a:To>http://books.example/books</a:To><a:Action>urn:getBooks</a:Action>\
    <a:MessageID>urn:uuid:1</a:MessageID><a:ReplyTo><a:Address>http://client.example/</a:Address></a:ReplyTo></s:Header>\
    <s:Body><b:book/></s:Body></s:Envelope>";

/// Changes that break a rule in both SOAP versions.
pub(crate) const OF_REQUESTS: &[Sample] = &[
    ("bp-action", "<a:Action>urn:getBooks</a:Action>", "", &[]),
    (
        "bp-addressing-once",
        "<a:MessageID>",
        "<a:MessageID>urn:uuid:2</a:MessageID><a:MessageID>",
        &[],
    ),
    ("bp-addressing-iri", "urn:uuid:1", "1", &[]),
    (
        "bp-addressing-iri",
        "<a:ReplyTo>",
        "<a:RelatesTo>2 3</a:RelatesTo><a:ReplyTo>",
        &[],
    ),
    (
        "bp-endpoint-address",
        "<a:Address>http://client.example/</a:Address>",
        "",
        &[],
    ),
    (
        "bp-endpoint-address",
        "http://client.example/",
        "client.example",
        &[],
    ),
    (
        "bp-addressing-version",
        "<a:ReplyTo>",
        "<o:From xmlns:o=\"http://schemas.xmlsoap.org/ws/2004/08/addressing\"/><a:ReplyTo>",
        &[],
    ),
    (
        "bp-message-id",
        "<a:MessageID>urn:uuid:1</a:MessageID>",
        "",
        &[],
    ),
];

/// A fault about addressing, in SOAP 1.1.
pub(crate) const FAULT11: &str = "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\" \
    xmlns:a=\"http://www.w3.org/2005/08/addressing\"><s:Header><a:Action>http://www.w3.org/2005/08/addressing/fault</a:Action>\
    <a:FaultDetail><a:ProblemHeaderQName>a:To</a:ProblemHeaderQName></a:FaultDetail></s:Header><s:Body><s:Fault>\
    <faultcode>a:InvalidAddressingHeader</faultcode><faultstring>no</faultstring></s:Fault></s:Body></s:Envelope>";

pub(crate) const OF_FAULTS11: &[Sample] = &[
    (
        "bp-fault-action",
        "http://www.w3.org/2005/08/addressing/fault",
        "urn:other",
        &[],
    ),
    (
        "bp12-fault-detail",
        "</faultstring>",
        "</faultstring><detail><a:ProblemHeaderQName>a:To</a:ProblemHeaderQName></detail>",
        &[],
    ),
];

/// A fault about addressing, in SOAP 1.2.
pub(crate) const FAULT12: &str = "<s:Envelope xmlns:s=\"http://www.w3.org/2003/05/soap-envelope\" \
    xmlns:a=\"http://www.w3.org/2005/08/addressing\"><s:Header><a:Action>http://www.w3.org/2005/08/addressing/fault</a:Action>\
    </s:Header><s:Body><s:Fault><s:Code><s:Value>s:Sender</s:Value><s:Subcode><s:Value>a:InvalidAddressingHeader</s:Value></s:Subcode>\
    </s:Code><s:Reason><s:Text xml:lang=\"en\">no</s:Text></s:Reason><s:Detail/></s:Fault></s:Body></s:Envelope>";

pub(crate) const OF_FAULTS12: &[Sample] = &[
    (
        "bp-fault-action",
        "http://www.w3.org/2005/08/addressing/fault",
        "urn:other",
        &[],
    ),
    (
        "bp20-fault",
        "<s:Detail/>",
        "<s:Role>urn:r</s:Role><s:Detail/><s:Node/>",
        &[],
    ),
    (
        "bp20-fault",
        "<s:Reason><s:Text xml:lang=\"en\">no</s:Text></s:Reason>",
        "",
        &[],
    ),
    (
        "bp20-fault",
        "<s:Detail/>",
        "<faultcode>s:Sender</faultcode>",
        &[],
    ),
    ("bp20-fault-code", "s:Sender", "s:Client", &[]),
    ("bp20-fault-code", "s:Sender", "a:Sender", &[]),
    ("bp20-fault-code", "<s:Value>s:Sender</s:Value>", "", &[]),
    ("bp20-fault-reason", " xml:lang=\"en\"", "", &[]),
    (
        "bp20-fault-reason",
        "</s:Reason>",
        "<a:Text/></s:Reason>",
        &[],
    ),
    (
        "bp20-fault-languages",
        "</s:Reason>",
        "<s:Text xml:lang=\"EN\">no</s:Text></s:Reason>",
        &[],
    ),
];

/// Changes of the request in SOAP 1.2.
pub(crate) const OF_ENVELOPES12: &[Sample] = &[
    ("R9980", "</s:Body>", "</s:Body><b:x/>", &[]),
    ("bp20-attributes", "<s:Body>", "<s:Body kind=\"x\">", &[]),
    (
        "bp20-encoding-style",
        "<s:Body>",
        "<s:Body s:encodingStyle=\"urn:x\">",
        &[],
    ),
    (
        "bp20-block-attributes",
        "<a:Address>",
        "<a:Address s:mustUnderstand=\"true\">",
        &[],
    ),
    (
        "bp20-block-attributes",
        "<b:book/>",
        "<b:book s:role=\"urn:r\"/>",
        &[],
    ),
    (
        "bp20-boolean",
        "<a:Action>",
        "<a:Action s:mustUnderstand=\"yes\">",
        &[],
    ),
];

/// The sample service, with actions and the demand of addressing.
pub(crate) fn service() -> String {
    let metadata = "xmlns:wsam=\"http://www.w3.org/2007/05/addressing/metadata\" xmlns:wsaw=\"http://www.w3.org/2006/05/addressing/wsdl\" xmlns:wsp=";
    SERVICE
        .replacen("xmlns:wsp=", metadata, 1)
        .replacen(
            "<wsdl:input message=\"t:getBooks\"/>",
            "<wsdl:input wsam:Action=\"urn:getBooks\" message=\"t:getBooks\"/>",
            1,
        )
        .replacen(
            "<sp:SignedParts>",
            "<wsam:Addressing><wsp:Policy><wsam:AnonymousResponses/></wsp:Policy></wsam:Addressing><sp:SignedParts>",
            1,
        )
}

pub(crate) const OF_SERVICES: &[Sample] = &[
    (
        "bp-wsdl-action-iri",
        "<wsdl:output message=\"t:getBooksResponse\"/>",
        "<wsdl:output wsam:Action=\"answer\" message=\"t:getBooksResponse\"/>",
        &[],
    ),
    (
        "bp-wsdl-action-soap",
        "wsam:Action=\"urn:getBooks\"",
        "wsam:Action=\"urn:other\"",
        &[],
    ),
    (
        "bp-wsdl-action-draft",
        "<wsdl:output message=\"t:getBooksResponse\"/>",
        "<wsdl:output wsaw:Action=\"urn:answer\" message=\"t:getBooksResponse\"/>",
        &[],
    ),
    (
        "bp-wsdl-action-draft",
        "<soap:binding transport",
        "<wsaw:UsingAddressing/><soap:binding transport",
        &[],
    ),
    (
        "bp-wsdl-addressing-attached",
        "<wsdl:portType name=\"Books\">",
        "<wsdl:portType name=\"Books\" wsp:PolicyURIs=\"#Signed\">",
        &[],
    ),
    (
        "bp-wsdl-addressing-attached",
        "<wsdl:portType name=\"Calls\">",
        "<wsdl:portType name=\"Calls\"><wsp:Policy><wsam:Addressing/></wsp:Policy>",
        &[],
    ),
    (
        "bp-wsdl-responses",
        "<wsam:AnonymousResponses/>",
        "<wsam:AnonymousResponses/><wsam:NonAnonymousResponses/>",
        &[],
    ),
    (
        "bp-one-way-fault",
        "<wsdl:input message=\"t:getTitles\"/>",
        "<wsdl:input message=\"t:getTitles\"/><wsdl:fault name=\"trouble\" message=\"t:trouble\"/>",
        &["R2740"],
    ),
];

/// The service, one of whose bindings is of SOAP 1.1 and the other of SOAP 1.2.
pub(crate) fn service_of_both() -> String {
    let service = service();
    let start = service
        .find("<wsdl:binding name=\"Calls\"")
        .expect("a binding");
    let end = service.find("<wsdl:service").expect("its end");
    let binding = service[start..end].replacen(
        "<wsdl:binding ",
        "<wsdl:binding xmlns:soap=\"http://schemas.xmlsoap.org/wsdl/soap12/\" ",
        1,
    );
    format!("{}{binding}{}", &service[..start], &service[end..])
}

/// The service bound to SOAP 1.2.
pub(crate) fn service12() -> String {
    let soap12 = "http://schemas.xmlsoap.org/wsdl/soap12/";
    service()
        .replacen("http://schemas.xmlsoap.org/wsdl/soap/", soap12, 1)
        .replacen(
            "<soap:operation ",
            "<soap:operation soapActionRequired=\"true\" ",
            1,
        )
}

pub(crate) const OF_SERVICES12: &[Sample] = &[
    (
        "bp20-soap-action",
        "soapAction=\"urn:getBooks\"",
        "soapAction=\"\"",
        &[],
    ),
    (
        "bp-binding-version",
        "http://schemas.xmlsoap.org/wsdl/soap12/",
        "http://schemas.xmlsoap.org/wsdl/soap/",
        &[],
    ),
];

#[test]
fn each_rule_of_basic_profile_1_2_and_2_0_alone_is_found_where_it_is_broken() {
    let of_12 = Profiles::of(Profile::Bp12);
    let of_20 = Profiles::of(Profile::Bp20);
    let soap11 = "http://schemas.xmlsoap.org/soap/envelope/";
    let request12 = REQUEST.replace(soap11, SOAP12);
    compare(REQUEST, OF_REQUESTS, of_12);
    compare(&request12, OF_REQUESTS, of_20);
    compare(&request12, OF_ENVELOPES12, of_20);
    compare(FAULT11, OF_FAULTS11, of_12);
    compare(FAULT12, OF_FAULTS12, of_20);
    let service = service();
    compare(&service, OF_SERVICES, Profiles::BASIC);
    let service12 = service12();
    compare(&service12, OF_SERVICES12, of_20);
}

/// Basic Profile 1.1 takes WS-Addressing in nowhere, and either SOAP version may be bound where no
/// profile is chosen.
#[test]
fn rules_of_later_basic_profiles_leave_others_alone() {
    let of_11 = Profiles::of(Profile::Bp11);
    for (rule, from, to, _) in OF_REQUESTS {
        let changed = REQUEST.replacen(from, to, 1);
        assert_eq!(
            broken(&changed, Choice::Of(of_11)),
            BTreeSet::new(),
            "{rule}"
        );
    }
    let both = Choice::Of(Profiles::BASIC);
    assert_eq!(broken(&service12(), both), BTreeSet::new());
    let refused = BTreeSet::from(["bp-binding-version"]);
    let of_12 = Choice::Of(Profiles::of(Profile::Bp12));
    assert_eq!(broken(&service12(), of_12), refused);
    // One binding of the SOAP version of the profile is enough.
    for name in [Profile::Bp12, Profile::Bp20] {
        let of_one = Choice::Of(Profiles::of(name));
        assert_eq!(broken(&service_of_both(), of_one), BTreeSet::new());
    }
    // A header for another role is another header, and answers that go nowhere relate to nothing.
    let request = REQUEST;
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
    let service = service();
    let choice =
        "<wsp:ExactlyOne><wsam:AnonymousResponses/><wsam:NonAnonymousResponses/></wsp:ExactlyOne>";
    let chosen = service.replacen("<wsam:AnonymousResponses/>", choice, 1);
    assert_eq!(broken(&chosen, both), BTreeSet::new());
}

/// The engine reads and writes headers of August 2004, and SOAP 1.2 says that languages of a reason
/// should differ: neither is an error.
#[test]
fn what_a_specification_leaves_open_is_no_error() {
    let draft = REQUEST.replace(
        "http://www.w3.org/2005/08/addressing",
        "http://schemas.xmlsoap.org/ws/2004/08/addressing",
    );
    let fault = FAULT12.replacen(
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
