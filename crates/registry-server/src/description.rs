//! The contract of inquiries as WSDL 1.1: what `?wsdl` is answered with.
//!
//! The names of messages, elements and SOAP actions are those of UDDI v3 (`UDDI_Inquiry_PortType`
//! and `UDDI_Inquiry_SoapBinding`). The port type has a namespace of its own, since it has fewer
//! operations. The schema is that of the standard.
//!
//! The rule kept here: an operation stands here if the address for inquiries serves it.

use http::uri::Authority;
use soapstone::xml::escape;
use soapstone_registry::names::{OWN, UDDI};

/// Each operation and the element that answers it (UDDI v3.0.2, section 5.1).
const OPERATIONS: [(&str, &str); 8] = [
    ("find_binding", "bindingDetail"),
    ("find_business", "businessList"),
    ("find_service", "serviceList"),
    ("find_tModel", "tModelList"),
    ("get_bindingDetail", "bindingDetail"),
    ("get_businessDetail", "businessDetail"),
    ("get_serviceDetail", "serviceDetail"),
    ("get_tModelDetail", "tModelDetail"),
];

/// Where the standard has its schema.
const SCHEMA: &str = "http://uddi.org/schema/uddi_v3.xsd";

/// The contract of a registry that is reached at this host and port, by `http` or `https`.
pub(crate) fn wsdl(scheme: &str, authority: &Authority) -> String {
    let mut answers: Vec<&str> = OPERATIONS.iter().map(|(_, answer)| *answer).collect();
    answers.sort_unstable();
    answers.dedup();
    let requests = OPERATIONS.iter().map(|(name, _)| *name);
    let messages: String = requests
        .chain(answers)
        .chain(["dispositionReport"])
        .map(message)
        .collect();
    let offered: String = OPERATIONS
        .map(|(name, answer)| offered(name, answer))
        .concat();
    let bound: String = OPERATIONS.map(|(name, _)| bound(name)).concat();
    let authority = escape::value_of(authority.as_str());
    format!(
        "<?xml version='1.0' encoding='UTF-8'?>\n\
         <definitions xmlns='http://schemas.xmlsoap.org/wsdl/' xmlns:soap='http://schemas.xmlsoap.org/wsdl/soap/' \
         xmlns:xs='http://www.w3.org/2001/XMLSchema' xmlns:uddi='{UDDI}' xmlns:tns='{OWN}' targetNamespace='{OWN}'>\n\
         <types><xs:schema targetNamespace='{OWN}'><xs:import namespace='{UDDI}' schemaLocation='{SCHEMA}'/></xs:schema></types>\n\
         {messages}<portType name='UDDI_Inquiry_PortType'>\n{offered}</portType>\n\
         <binding name='UDDI_Inquiry_SoapBinding' type='tns:UDDI_Inquiry_PortType'>\n\
         <soap:binding style='document' transport='http://schemas.xmlsoap.org/soap/http'/>\n{bound}</binding>\n\
         <service name='UDDI_Inquiry'><port name='UDDI_Inquiry' binding='tns:UDDI_Inquiry_SoapBinding'>\
         <soap:address location='{scheme}://{authority}/uddi'/></port></service>\n</definitions>\n"
    )
}

fn message(element: &str) -> String {
    format!("<message name='{element}'><part name='body' element='uddi:{element}'/></message>\n")
}

fn offered(name: &str, answer: &str) -> String {
    format!(
        "<operation name='{name}'><input message='tns:{name}'/><output message='tns:{answer}'/>\
         <fault name='error' message='tns:dispositionReport'/></operation>\n"
    )
}

fn bound(name: &str) -> String {
    format!(
        "<operation name='{name}'><soap:operation soapAction='{name}'/><input><soap:body use='literal'/></input>\
         <output><soap:body use='literal'/></output><fault name='error'><soap:fault name='error' use='literal'/></fault></operation>\n"
    )
}
