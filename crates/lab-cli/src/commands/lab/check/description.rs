//! What a WSDL tells of calls: operations with address, action, version of SOAP, and a request that
//! is made from its schema.
//!
//! The rule kept here: a request that cannot be made is told with its reason, and only where it is
//! needed.

use std::borrow::Cow;

use bytes::Bytes;
use soapstone::xml::{Buffers, Document, Element, ParseOptions};
use soapstone_lab::sample::Schemas;
use soapstone_policy::{BodyContent, PolicyDocument, PolicyLimits};
use soapstone_services::SoapVersion;

const WSDL: &str = "http://schemas.xmlsoap.org/wsdl/";
/// Why no request is made in rpc style.
const RPC: &str = "it is in rpc style, whose elements no schema has";
const WSDL_SOAP12: &str = "http://schemas.xmlsoap.org/wsdl/soap12/";

/// Operations of a WSDL.
pub(super) struct Description(Vec<Described>);

/// An operation.
pub(super) struct Described {
    /// Its name.
    pub(super) name: String,
    /// Where its port is.
    pub(super) address: Option<String>,
    /// Its action.
    pub(super) action: Option<String>,
    /// The version of SOAP of its binding.
    pub(super) version: SoapVersion,
    /// The request, or why it cannot be made.
    pub(super) request: Result<Bytes, String>,
}

impl Description {
    /// Reads a WSDL and the documents that `beside` gives.
    ///
    /// # Errors
    /// It is no WSDL, or has no operation over SOAP.
    pub(super) fn read(
        wsdl: Vec<u8>,
        beside: &dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<Self, String> {
        let Styles { newer, is_rpc } = styles(&wsdl)?;
        let document = PolicyDocument::parse_with(wsdl.clone(), &PolicyLimits::default(), beside);
        let document = document.map_err(|error| error.to_string())?;
        let schemas = Schemas::read(wsdl, beside).map_err(|error| error.to_string())?;
        let subjects = document.subjects().map_err(|error| error.to_string())?;
        let mut operations: Vec<Described> = Vec::new();
        for subject in subjects {
            let Some(name) = subject.operation.filter(|_| subject.is_soap) else {
                continue;
            };
            // The same port type is often bound to both versions: the first counts.
            if operations.iter().any(|it| it.name == name) {
                continue;
            }
            let version = match subject.binding {
                Some(binding) if newer.contains(&binding) => SoapVersion::Soap12,
                _ => SoapVersion::Soap11,
            };
            let content = match subject.messages.map(|it| it.request) {
                Some(BodyContent::Element(_)) if is_rpc => Err(RPC.to_owned()),
                Some(BodyContent::Element(name)) => schemas
                    .element(&name.namespace, &name.local)
                    .map_err(|error| error.to_string()),
                Some(BodyContent::Empty) => Ok(String::new()),
                Some(BodyContent::Unknown { problem }) => Err(problem.to_owned()),
                None => Err("it does not say what the Body holds".to_owned()),
            };
            operations.push(Described {
                name,
                address: subject.address,
                action: subject.action.filter(|it| !it.is_empty()),
                version,
                request: content.map(|content| envelope(version, &content)),
            });
        }
        if operations.is_empty() {
            return Err("it has no operation over SOAP".to_owned());
        }
        Ok(Self(operations))
    }

    /// All operations, in its order.
    pub(super) fn operations(&self) -> &[Described] {
        &self.0
    }

    /// The operation of this name.
    pub(super) fn operation(&self, name: &str) -> Option<&Described> {
        self.0.iter().find(|it| it.name == name)
    }

    /// The names of all operations.
    pub(super) fn names(&self) -> Vec<&str> {
        self.0.iter().map(|it| it.name.as_str()).collect()
    }
}

fn envelope(version: SoapVersion, content: &str) -> Bytes {
    let namespace = version.namespace();
    Bytes::from(format!(
        "<soap:Envelope xmlns:soap=\"{namespace}\"><soap:Body>{content}</soap:Body></soap:Envelope>"
    ))
}

/// What bindings say beside policies.
struct Styles {
    /// The names of those to SOAP 1.2.
    newer: Vec<String>,
    /// One of them is in rpc style.
    is_rpc: bool,
}

fn styles(wsdl: &[u8]) -> Result<Styles, String> {
    let parsed = Document::parse(
        wsdl.to_vec(),
        &ParseOptions::default(),
        &mut Buffers::default(),
    );
    let document = parsed.map_err(|error| error.to_string())?;
    let bindings = || {
        document
            .root()
            .children()
            .filter(|it| it.is(WSDL, "binding"))
    };
    let newer = bindings().filter(|it| it.children().any(|it| it.namespace() == WSDL_SOAP12));
    let is_rpc = |it: Element<'_>| it.attribute("", "style").as_deref() == Some("rpc");
    Ok(Styles {
        newer: newer
            .filter_map(|it| it.attribute("", "name").map(Cow::into_owned))
            .collect(),
        is_rpc: bindings().any(|it| it.descendants().any(is_rpc)),
    })
}

#[cfg(test)]
mod tests {
    use soapstone_services::{Service, contract};

    use super::*;

    #[test]
    fn operations_of_the_sample_services_have_requests_that_are_made_from_their_schemas() {
        for service in Service::ALL {
            let base = "http://localhost/s";
            let wsdl = contract::wsdl(service, base);
            let schema = |location: &str| {
                let number = location.rsplit_once("xsd=")?.1.parse().ok()?;
                contract::schema(service, number, base).map(String::into_bytes)
            };
            let description = Description::read(wsdl.into_bytes(), &schema)
                .unwrap_or_else(|why| panic!("{service:?}: {why}"));
            for operation in description.operations() {
                assert_eq!(operation.action.as_deref(), Some(service.soap_action()));
                match service {
                    Service::EchoStringArray => {
                        assert_eq!(operation.request, Err(RPC.to_owned()));
                    }
                    _ => assert!(operation.request.is_ok(), "{:?}", operation.request),
                }
            }
        }
    }
}
