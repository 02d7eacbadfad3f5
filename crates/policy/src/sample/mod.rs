//! What a WSDL tells of calls: operations with address, action, version of SOAP, and a request that
//! is made from its schema.
//!
//! The rule kept here: an element that cannot be made valid is an error that says why, and never a
//! message that a service would refuse for its form. The error is told only where the request is
//! needed.

mod elements;
mod error;
mod schemas;
mod values;

use soapstone_wss::SoapVersion;

pub use self::error::SampleError;
use self::schemas::Schemas;
use crate::document::PolicyDocument;
use crate::limits::PolicyLimits;
use crate::operation::BodyContent;

/// Why no request is made in rpc style.
const RPC: &str = "it is in rpc style, whose elements no schema has";

/// Operations of a WSDL.
#[derive(Clone, Debug)]
pub struct SampleCalls(Vec<SampleCall>);

/// An operation.
#[derive(Clone, Debug)]
pub struct SampleCall {
    /// Its name.
    pub name: String,
    /// Where its port is.
    pub address: Option<String>,
    /// Its action, as far as a header of HTTP can have it: printable ASCII without quotes.
    pub action: Option<String>,
    /// The version of SOAP of its binding.
    pub version: SoapVersion,
    /// The request, or why it cannot be made.
    pub request: Result<String, SampleError>,
}

impl SampleCalls {
    /// Reads the operations of a WSDL, or of one port of it. `beside` gives the documents that it
    /// imports.
    ///
    /// # Errors
    /// It is no WSDL, or has no operation over SOAP there.
    pub fn read(
        wsdl: Vec<u8>,
        beside: &dyn Fn(&str) -> Option<Vec<u8>>,
        port: Option<&str>,
    ) -> Result<Self, SampleError> {
        let document = PolicyDocument::parse_with(wsdl.clone(), &PolicyLimits::default(), beside);
        let document = document.map_err(|error| unreadable(&error))?;
        let schemas = Schemas::read(wsdl, beside)?;
        let subjects = document.subjects().map_err(|error| unreadable(&error))?;
        let mut operations: Vec<SampleCall> = Vec::new();
        for subject in subjects {
            if port.is_some() && subject.port.as_deref() != port {
                continue;
            }
            let (Some(name), Some(version)) = (subject.operation, subject.soap) else {
                continue;
            };
            // The same port type is often bound to both versions: the first counts.
            if operations.iter().any(|it| it.name == name) {
                continue;
            }
            let content = match subject.messages.map(|it| it.request) {
                Some(BodyContent::Element(_)) if subject.is_rpc => Err(no_element(RPC)),
                Some(BodyContent::Element(name)) => schemas.element(&name.namespace, &name.local),
                Some(BodyContent::Empty) => Ok(String::new()),
                Some(BodyContent::Unknown { problem }) => Err(no_element(problem)),
                None => Err(no_element("it does not say what the Body holds")),
            };
            operations.push(SampleCall {
                name,
                address: subject.address,
                action: subject.action.filter(|it| is_header(it)),
                version,
                request: content.map(|content| envelope(version, &content)),
            });
        }
        if operations.is_empty() {
            return Err(SampleError::NoOperation);
        }
        Ok(Self(operations))
    }

    /// All operations, in its order.
    pub fn operations(&self) -> &[SampleCall] {
        &self.0
    }

    /// The operation of this name.
    pub fn operation(&self, name: &str) -> Option<&SampleCall> {
        self.0.iter().find(|it| it.name == name)
    }

    /// The names of all operations.
    pub fn names(&self) -> Vec<&str> {
        self.0.iter().map(|it| it.name.as_str()).collect()
    }
}

fn envelope(version: SoapVersion, content: &str) -> String {
    let namespace = version.namespace();
    format!(
        "<soap:Envelope xmlns:soap=\"{namespace}\"><soap:Body>{content}</soap:Body></soap:Envelope>"
    )
}

/// Whether an action can stand in quotes in a header of HTTP.
fn is_header(action: &str) -> bool {
    let in_quotes = |it: char| (' '..='~').contains(&it) && !['"', '\\'].contains(&it);
    !action.is_empty() && action.chars().all(in_quotes)
}

fn unreadable(error: &dyn std::fmt::Display) -> SampleError {
    SampleError::Description {
        problem: error.to_string(),
    }
}

fn no_element(problem: &'static str) -> SampleError {
    SampleError::NoElement { problem }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::{WSDL, WSDL_SOAP12, XSD};

    #[test]
    fn imported_bindings_say_version_and_style_each_for_themselves() {
        let main = format!(
            "<d:definitions xmlns:d=\"{WSDL}\" xmlns:t=\"urn:t\" xmlns:s=\"{WSDL_SOAP12}\" targetNamespace=\"urn:m\">\
             <d:import namespace=\"urn:t\" location=\"b.wsdl\"/><d:service name=\"S\"><d:port name=\"P\" binding=\"t:B\">\
             <s:address location=\"http://h/\"/></d:port></d:service></d:definitions>"
        );
        let operation = |name: &str, style: &str| {
            format!(
                "<d:operation name=\"{name}\"><s:operation soapAction=\"urn:{name}\" style=\"{style}\"/><d:input><s:body use=\"literal\"/></d:input></d:operation>"
            )
        };
        let bindings = format!(
            "<d:definitions xmlns:d=\"{WSDL}\" xmlns:t=\"urn:t\" xmlns:s=\"{WSDL_SOAP12}\" targetNamespace=\"urn:t\">\
             <d:types><x:schema xmlns:x=\"{XSD}\" targetNamespace=\"urn:t\"><x:element name=\"ask\" type=\"x:int\"/></x:schema></d:types>\
             <d:message name=\"in\"><d:part name=\"p\" element=\"t:ask\"/></d:message><d:portType name=\"T\">\
             <d:operation name=\"one\"><d:input message=\"t:in\"/></d:operation><d:operation name=\"two\"><d:input message=\"t:in\"/></d:operation></d:portType>\
             <d:binding name=\"B\" type=\"t:T\"><s:binding transport=\"http://schemas.xmlsoap.org/soap/http\"/>{}{}</d:binding></d:definitions>",
            operation("one", "document"),
            operation("two", "rpc"),
        );
        let beside = |uri: &str| (uri == "b.wsdl").then(|| bindings.clone().into_bytes());
        let calls = SampleCalls::read(main.into_bytes(), &beside, None).expect("a description");
        let [one, two] = calls.operations() else {
            panic!("{calls:?}")
        };
        assert_eq!([one.version, two.version], [SoapVersion::V12; 2]);
        let request = envelope(SoapVersion::V12, "<ask xmlns=\"urn:t\">1</ask>");
        assert_eq!(one.request, Ok(request));
        assert_eq!(two.request, Err(no_element(RPC)));
    }
}
