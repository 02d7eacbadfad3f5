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

use std::borrow::Cow;

use soapstone_wss::SoapVersion;
use soapstone_xml::{Buffers, Document, Element, ParseOptions};

pub use self::error::SampleError;
use self::schemas::Schemas;
use crate::document::PolicyDocument;
use crate::limits::PolicyLimits;
use crate::names::{WSDL, WSDL_SOAP12};
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
    /// Its action.
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
        let Styles { newer, is_rpc } = styles(&wsdl)?;
        let document = PolicyDocument::parse_with(wsdl.clone(), &PolicyLimits::default(), beside);
        let document = document.map_err(|error| unreadable(&error))?;
        let schemas = Schemas::read(wsdl, beside)?;
        let subjects = document.subjects().map_err(|error| unreadable(&error))?;
        let mut operations: Vec<SampleCall> = Vec::new();
        for subject in subjects {
            if port.is_some() && subject.port.as_deref() != port {
                continue;
            }
            let Some(name) = subject.operation.filter(|_| subject.is_soap) else {
                continue;
            };
            // The same port type is often bound to both versions: the first counts.
            if operations.iter().any(|it| it.name == name) {
                continue;
            }
            let version = match subject.binding {
                Some(binding) if newer.contains(&binding) => SoapVersion::V12,
                _ => SoapVersion::V11,
            };
            let content = match subject.messages.map(|it| it.request) {
                Some(BodyContent::Element(_)) if is_rpc => Err(no_element(RPC)),
                Some(BodyContent::Element(name)) => schemas.element(&name.namespace, &name.local),
                Some(BodyContent::Empty) => Ok(String::new()),
                Some(BodyContent::Unknown { problem }) => Err(no_element(problem)),
                None => Err(no_element("it does not say what the Body holds")),
            };
            operations.push(SampleCall {
                name,
                address: subject.address,
                action: subject.action.filter(|it| !it.is_empty()),
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

/// What bindings say beside policies.
struct Styles {
    /// The names of those to SOAP 1.2.
    newer: Vec<String>,
    /// One of them is in rpc style.
    is_rpc: bool,
}

fn styles(wsdl: &[u8]) -> Result<Styles, SampleError> {
    let parsed = Document::parse(
        wsdl.to_vec(),
        &ParseOptions::default(),
        &mut Buffers::default(),
    );
    let document = parsed.map_err(|error| unreadable(&error))?;
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

fn unreadable(error: &dyn std::fmt::Display) -> SampleError {
    SampleError::Description {
        problem: error.to_string(),
    }
}

fn no_element(problem: &'static str) -> SampleError {
    SampleError::NoElement { problem }
}
