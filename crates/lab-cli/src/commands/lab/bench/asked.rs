//! What is asked of the sample services, and the answer that is right.
//!
//! The rule kept here: what is right is what the service gives without gateways, made anew from the
//! same data.

use bytes::Bytes;
use soapstone_lab::study::{Operation, Source};
use soapstone_services::{Device, EMPLOYEES, Service, SoapVersion, json, requests, responses};

/// An operation that the sample services have.
pub(super) struct Asked {
    /// Which service.
    pub(super) service: Service,
    /// What its URL ends with.
    pub(super) query: &'static str,
    /// The request.
    pub(super) message: Bytes,
    /// For people.
    pub(super) title: String,
    operation: Operation,
}

/// The terms of `Sum`.
const TERMS: (i32, i32) = (19, 93);

impl Asked {
    /// The request of an operation.
    pub(super) fn of(operation: Operation) -> Self {
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
            Operation::Resource => ("", String::new(), "the employees as JSON".to_owned()),
            Operation::Temperature(_) => {
                let message = requests::get_temperature(soap);
                ("", message, "getTemperature".to_owned())
            }
        };
        Self {
            service: service(operation),
            query,
            message: Bytes::from(message),
            title,
            operation,
        }
    }

    /// Whether it is asked without SOAP: by GET, for JSON.
    pub(super) fn is_resource(&self) -> bool {
        self.operation == Operation::Resource
    }

    /// The answer that is right.
    pub(super) fn right(&self) -> Vec<u8> {
        let soap = SoapVersion::Soap11;
        match self.operation {
            Operation::Books { books, .. } => responses::books(soap, books),
            Operation::Echo { characters } => responses::echo_of_length(soap, characters as usize),
            Operation::Strings { elements } => {
                responses::echo_string_array(soap, &strings(elements))
            }
            Operation::Sum => responses::sum(soap, TERMS.0, TERMS.1),
            Operation::Resource => json::employee_details(EMPLOYEES),
            Operation::Employees => responses::employee_details(soap, EMPLOYEES),
            Operation::Temperature(_) => {
                responses::temperature(soap, Device::default().temperature)
            }
        }
    }
}

/// The service that has an operation.
pub(super) const fn service(operation: Operation) -> Service {
    match operation {
        Operation::Books { .. } => Service::Books,
        Operation::Echo { .. } => Service::Echo,
        Operation::Strings { .. } => Service::EchoStringArray,
        Operation::Sum => Service::Sum,
        Operation::Employees | Operation::Resource => Service::Employees,
        Operation::Temperature(_) => Service::Temperature,
    }
}

fn strings(elements: u32) -> Vec<String> {
    (0..elements)
        .map(|index| format!("string {index}"))
        .collect()
}
