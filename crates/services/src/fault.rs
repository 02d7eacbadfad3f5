//! SOAP faults: what a message that cannot be answered is told.
//!
//! A fault names what was expected, what was found and where, because the one who reads it is
//! debugging a client. The one rule it keeps: nothing about the inside of the server is in it; that
//! goes to the log.

use std::fmt;
use std::time::Duration;

use http::StatusCode;
use soapstone_xml::escape;

use crate::responses::element;
use crate::soap::{END, HEADER_TO_BODY, SoapVersion};

/// An expanded name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) namespace: String,
    pub(crate) local: String,
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => formatter.write_str(&self.local),
            namespace => write!(formatter, "{{{namespace}}}{}", self.local),
        }
    }
}

/// A place in the message, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}, column {}", self.line, self.column)
    }
}

/// Why a message is answered with a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Not XML, or more of it than is allowed.
    Malformed { cause: String },
    /// The document element is not the Envelope of the version that the media type announced.
    VersionMismatch { expected: SoapVersion, found: Name },
    /// Header blocks that must be understood, and none is.
    NotUnderstood { headers: Vec<Name> },
    /// An element where another should be, or none at all.
    Structure {
        expected: String,
        found: String,
        place: Place,
    },
    /// A parameter outside its type.
    Value {
        parameter: &'static str,
        expected: String,
        found: String,
    },
    /// The database does not answer.
    DatabaseUnavailable,
    /// The controller of the sensor does not answer.
    ControllerAway { requests: u32, waited: Duration },
    /// The controller does not know the sensor, or cannot be asked.
    SensorUnavailable,
}

enum Code {
    VersionMismatch,
    MustUnderstand,
    Sender,
    Receiver,
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Malformed { cause } => write!(formatter, "the message cannot be read: {cause}"),
            Fault::VersionMismatch { expected, found } => write!(
                formatter,
                "expected a {} message, {{{}}}Envelope, as the Content-Type {} says, found {found}",
                expected.name(),
                expected.namespace(),
                expected.media_type(),
            ),
            Fault::NotUnderstood { headers } => {
                formatter.write_str("header blocks marked mustUnderstand are not understood: ")?;
                for (index, header) in headers.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(formatter, "{comma}{header}")?;
                }
                Ok(())
            }
            Fault::Structure {
                expected,
                found,
                place,
            } => write!(formatter, "expected {expected}, found {found} at {place}"),
            Fault::Value {
                parameter,
                expected,
                found,
            } => write!(
                formatter,
                "expected {parameter} to be {expected}, found {found:?}"
            ),
            Fault::DatabaseUnavailable => {
                formatter.write_str("the database of the books does not answer; try again later")
            }
            Fault::ControllerAway { requests, waited } => write!(
                formatter,
                "the controller of the sensor answered none of {requests} requests within {} ms; try again later",
                waited.as_millis()
            ),
            Fault::SensorUnavailable => formatter.write_str(
                "the sensor cannot be read; whoever runs the service finds the cause in its log",
            ),
        }
    }
}

impl Fault {
    fn code(&self) -> Code {
        match self {
            Fault::VersionMismatch { .. } => Code::VersionMismatch,
            Fault::NotUnderstood { .. } => Code::MustUnderstand,
            Fault::Malformed { .. } | Fault::Structure { .. } | Fault::Value { .. } => Code::Sender,
            Fault::DatabaseUnavailable
            | Fault::ControllerAway { .. }
            | Fault::SensorUnavailable => Code::Receiver,
        }
    }

    /// The HTTP status that carries it: always 500 in SOAP 1.1 (SOAP 1.1 section 6.2, BP 1.1
    /// R1126); in SOAP 1.2 400 when the sender is to blame (SOAP 1.2 Part 2, table 20).
    pub(crate) fn status(&self, version: SoapVersion) -> StatusCode {
        match (version, self.code()) {
            (SoapVersion::Soap12, Code::Sender) => StatusCode::BAD_REQUEST,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The message.
    pub(crate) fn envelope(&self, version: SoapVersion) -> Vec<u8> {
        let mut output = self.start(version);
        let reason = self.to_string();
        let output = &mut output;
        match version {
            SoapVersion::Soap11 => {
                let code = match self.code() {
                    Code::VersionMismatch => "soap:VersionMismatch",
                    Code::MustUnderstand => "soap:MustUnderstand",
                    Code::Sender => "soap:Client",
                    Code::Receiver => "soap:Server",
                };
                // The children of a SOAP 1.1 Fault are in no namespace (R1001).
                output.extend_from_slice(b"<soap:Fault>");
                element("<faultcode>", code, "</faultcode>", output);
                element(
                    "<faultstring xml:lang=\"en\">",
                    &reason,
                    "</faultstring>",
                    output,
                );
            }
            SoapVersion::Soap12 => {
                let code = match self.code() {
                    Code::VersionMismatch => "soap:VersionMismatch",
                    Code::MustUnderstand => "soap:MustUnderstand",
                    Code::Sender => "soap:Sender",
                    Code::Receiver => "soap:Receiver",
                };
                output.extend_from_slice(b"<soap:Fault>");
                element(
                    "<soap:Code><soap:Value>",
                    code,
                    "</soap:Value></soap:Code>",
                    output,
                );
                element(
                    "<soap:Reason><soap:Text xml:lang=\"en\">",
                    &reason,
                    "</soap:Text></soap:Reason>",
                    output,
                );
            }
        }
        output.extend_from_slice(b"</soap:Fault>");
        output.extend_from_slice(END);
        std::mem::take(output)
    }

    /// Everything before the Fault: with SOAP 1.2's header blocks that say more (Part 1, 5.4.7 and
    /// 5.4.8).
    fn start(&self, version: SoapVersion) -> Vec<u8> {
        const CAPACITY: usize = 600;
        match self {
            // A SOAP 1.2 node tells in a 1.1 fault too which envelopes it takes (Part 1, appendix
            // A).
            Fault::VersionMismatch { .. } => {
                let mut output = version.start_header(CAPACITY);
                output.extend_from_slice(
                    b"<upgrade:Upgrade xmlns:upgrade=\"http://www.w3.org/2003/05/soap-envelope\">",
                );
                for supported in [SoapVersion::Soap12, SoapVersion::Soap11] {
                    output.extend_from_slice(b"<upgrade:SupportedEnvelope xmlns:supported=\"");
                    output.extend_from_slice(supported.namespace().as_bytes());
                    output.extend_from_slice(
                        b"\" qname=\"supported:Envelope\"></upgrade:SupportedEnvelope>",
                    );
                }
                output.extend_from_slice(b"</upgrade:Upgrade>");
                output.extend_from_slice(HEADER_TO_BODY);
                output
            }
            Fault::NotUnderstood { headers } if version == SoapVersion::Soap12 => {
                let mut output = version.start_header(CAPACITY);
                for header in headers {
                    output.extend_from_slice(b"<soap:NotUnderstood xmlns:block=\"");
                    escape::attribute(&header.namespace, &mut output);
                    output.extend_from_slice(b"\" qname=\"block:");
                    escape::attribute(&header.local, &mut output);
                    output.extend_from_slice(b"\"></soap:NotUnderstood>");
                }
                output.extend_from_slice(HEADER_TO_BODY);
                output
            }
            _ => version.start_body(CAPACITY),
        }
    }
}
