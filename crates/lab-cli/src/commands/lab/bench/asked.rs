//! What is asked of the sample services and of the user's, and the answer that is right.
//!
//! The rule kept here: what is right is what the service gives without gateways: of the sample
//! services, made anew from the same data.

use bytes::Bytes;
use soapstone_lab::study::{Operation, Source};
use soapstone_services::{Device, EMPLOYEES, Service, SoapVersion, json, requests, responses};

use super::own::{OwnCall, OwnServices};
use crate::failure::Failure;
use crate::testbed::{canonical_body, names_in_body};

/// An operation of the sample services, or of one of the user's.
pub(super) struct Asked {
    /// The path of its service behind that of its route.
    pub(super) path: &'static str,
    /// What its URL ends with.
    pub(super) query: String,
    /// The version of SOAP and the action of the request.
    pub(super) soap: (SoapVersion, String),
    /// The request.
    pub(super) message: Bytes,
    /// For people.
    pub(super) title: String,
    compared: Compared,
    operation: Operation,
}

/// What of answers is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Compared {
    /// Everything, as it is.
    Bytes,
    /// The content of the Body, in canonical form.
    Body,
    /// The names of the elements in the Body.
    Names,
}

/// The terms of `Sum`.
const TERMS: (i32, i32) = (19, 93);

impl Asked {
    /// The request of an operation.
    pub(super) fn of(operation: Operation, own: &OwnServices) -> Self {
        let soap = SoapVersion::Soap11;
        let (query, message, title) = match operation {
            Operation::Books { source, books } => {
                let query = match source {
                    Source::Memory => "?source=memory",
                    Source::Database(_) => "?source=database",
                };
                let message = requests::get_books(soap, books);
                (query, message, format!("getBooks({books})"))
            }
            Operation::Echo { characters } => {
                let text = responses::text_of_length(characters as usize);
                let title = format!("Echo of {characters} characters");
                ("", requests::echo(soap, &text), title)
            }
            Operation::Strings { elements } => {
                let title = format!("EchoStringArray of {elements} strings");
                let message = requests::echo_string_array(soap, &strings(elements));
                ("", message, title)
            }
            Operation::Sum => {
                let message = requests::sum(soap, TERMS.0, TERMS.1);
                ("", message, "Sum".to_owned())
            }
            Operation::Employees => {
                let message = requests::employee_details(soap);
                ("", message, "EmployeeDetails".to_owned())
            }
            Operation::OneEmployee => {
                let message = requests::employee_details(soap);
                let title = "EmployeeDetails of one record".to_owned();
                ("?records=one", message, title)
            }
            Operation::Resource => ("", String::new(), "the employees as JSON".to_owned()),
            Operation::Own(index) => return Self::of_own(operation, &own[index]),
            Operation::Temperature(_) => {
                let message = requests::get_temperature(soap);
                ("", message, "getTemperature".to_owned())
            }
        };
        let (path, action) =
            service(operation).map_or(("", ""), |service| (service.path(), service.soap_action()));
        Self {
            path,
            query: query.to_owned(),
            soap: (soap, action.to_owned()),
            message: Bytes::from(message),
            title,
            compared: match operation {
                Operation::Resource => Compared::Bytes,
                _ => Compared::Body,
            },
            operation,
        }
    }

    /// A request of the user's.
    fn of_own(operation: Operation, own: &OwnCall) -> Self {
        Self {
            path: "",
            query: own.query.clone(),
            soap: (own.version, own.soap_action.clone()),
            message: own.message.clone(),
            title: own.name.clone(),
            compared: if own.same {
                Compared::Body
            } else {
                Compared::Names
            },
            operation,
        }
    }

    /// What an answer holds, in the form in which it is compared.
    pub(super) fn held(&self, answer: &[u8]) -> Result<Vec<u8>, Failure> {
        match self.compared {
            Compared::Bytes => Ok(answer.to_vec()),
            Compared::Body => canonical_body(answer, &self.title),
            Compared::Names => names_in_body(answer, &self.title),
        }
    }

    /// Whether it is asked without SOAP: by GET, for JSON.
    pub(super) fn is_resource(&self) -> bool {
        self.operation == Operation::Resource
    }

    /// The answer that is right; nothing, where only the service knows it.
    pub(super) fn right(&self) -> Option<Vec<u8>> {
        let soap = SoapVersion::Soap11;
        Some(match self.operation {
            Operation::Books { books, .. } => responses::books(soap, books),
            Operation::Echo { characters } => responses::echo_of_length(soap, characters as usize),
            Operation::Strings { elements } => {
                responses::echo_string_array(soap, &strings(elements))
            }
            Operation::Sum => responses::sum(soap, TERMS.0, TERMS.1),
            Operation::Resource => json::employee_details(EMPLOYEES),
            Operation::Employees => responses::employee_details(soap, EMPLOYEES),
            Operation::OneEmployee => responses::one_employee(soap),
            Operation::Temperature(_) => {
                responses::temperature(soap, Device::default().temperature)
            }
            Operation::Own(_) => return None,
        })
    }
}

/// The sample service that has an operation; nothing, where the service is the user's.
pub(super) const fn service(operation: Operation) -> Option<Service> {
    Some(match operation {
        Operation::Books { .. } => Service::Books,
        Operation::Echo { .. } => Service::Echo,
        Operation::Strings { .. } => Service::EchoStringArray,
        Operation::Sum => Service::Sum,
        Operation::Employees | Operation::OneEmployee | Operation::Resource => Service::Employees,
        Operation::Temperature(_) => Service::Temperature,
        Operation::Own(_) => return None,
    })
}

fn strings(elements: u32) -> Vec<String> {
    (0..elements)
        .map(|index| format!("string {index}"))
        .collect()
}
