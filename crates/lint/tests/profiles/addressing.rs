//! Messages and descriptions for the rules that Basic Profile 1.2 and 2.0 have beyond 1.1.

use super::{SERVICE, Sample};

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
