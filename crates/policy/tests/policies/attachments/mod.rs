//! Policies attached to the parts of a WSDL.

mod answers;
mod misplaced;
mod scopes;
mod subjects;

use soapstone_policy::{PolicyDocument, Selection};

use crate::support::*;

/// A WSDL with two operations; each argument is put where its name says.
#[derive(Default)]
struct Wsdl<'a> {
    service: &'a str,
    port: &'a str,
    binding: &'a str,
    port_type: &'a str,
    operation: &'a str,
    input: &'a str,
    output: &'a str,
    message: &'a str,
    other_input: &'a str,
    policies: &'a str,
    attributes: &'a str,
}

impl Wsdl<'_> {
    fn source(&self) -> String {
        let Self {
            service,
            port,
            binding,
            port_type,
            operation,
            input,
            output,
            message,
            other_input,
            policies,
            attributes,
        } = self;
        format!(
            "<definitions xmlns='http://schemas.xmlsoap.org/wsdl/' xmlns:t='urn:t' targetNamespace='urn:t' xmlns:wsp='{WSP}' xmlns:sp='{SP}'
               xmlns:soap='http://schemas.xmlsoap.org/wsdl/soap/'
               xmlns:u='http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd'>{policies}
              <types><schema xmlns='http://www.w3.org/2001/XMLSchema'/></types>
              <message name='ask'>{message}</message>
              <portType name='T'>{port_type}<operation name='a'><input message='t:ask'/><output/></operation>
                <operation name='b'><input/><output/></operation></portType>
              <binding name='B' type='t:T' {attributes}>{binding}<soap:binding transport='http://schemas.xmlsoap.org/soap/http'/>
                <operation name='a'>{operation}<soap:operation soapAction='urn:a'/><input>{input}</input><output>{output}</output></operation>
                <operation name='b'><input>{other_input}</input><output/></operation></binding>
              <service name='S'>{service}<port name='P' binding='t:B'>{port}<soap:address location='http://localhost/s'/></port></service>
             </definitions>"
        )
    }

    fn document(&self) -> PolicyDocument {
        document(&self.source())
    }
}

fn inline(assertions: &str) -> String {
    format!("<wsp:Policy>{assertions}</wsp:Policy>")
}

fn operation(name: &str) -> Selection {
    Selection {
        operation: Some(name.to_owned()),
        ..Selection::default()
    }
}
