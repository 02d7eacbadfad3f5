//! Plain requests to every operation, as a client would send them.
//!
//! For tests, the demo and the lab. The one rule they keep: they are what the contract files say,
//! in canonical form.
//!
//! ```
//! use soapstone_services::{SoapVersion, requests};
//! assert_eq!(
//!     requests::sum(SoapVersion::Soap11, 2, 3),
//!     "<soap:Envelope xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\"><soap:Body>\
//!      <Sum xmlns=\"urn:soapstone:services:sum\"><a>2</a><b>3</b></Sum>\
//!      </soap:Body></soap:Envelope>"
//! );
//! ```

use crate::responses::{element, strings};
use crate::service::Service;
use crate::soap::{END, SoapVersion};

/// `Echo(text)`. Only characters that XML 1.0 allows make a message that is well-formed.
pub fn echo(version: SoapVersion, text: &str) -> String {
    request(version, Service::Echo, text.len(), |output| {
        element("<text>", text, "</text>", output);
    })
}

/// `EchoStringArray(strings)`.
pub fn echo_string_array<S: AsRef<str>>(version: SoapVersion, items: &[S]) -> String {
    request(
        version,
        Service::EchoStringArray,
        32 * items.len(),
        |output| {
            strings(
                "<strings>",
                items.iter().map(S::as_ref),
                "</strings>",
                output,
            );
        },
    )
}

/// `Sum(a, b)`.
pub fn sum(version: SoapVersion, a: i32, b: i32) -> String {
    request(version, Service::Sum, 64, |output| {
        element("<a>", &a.to_string(), "</a>", output);
        element("<b>", &b.to_string(), "</b>", output);
    })
}

/// `EmployeeDetails()`.
pub fn employee_details(version: SoapVersion) -> String {
    request(version, Service::Employees, 0, |_| ())
}

/// `getBooks(n)`. The service refuses an `n` beyond [`BOOKS`](crate::BOOKS).
pub fn get_books(version: SoapVersion, n: u32) -> String {
    request(version, Service::Books, 32, |output| {
        element("<n>", &n.to_string(), "</n>", output);
    })
}

/// `getTemperature()`.
pub fn get_temperature(version: SoapVersion) -> String {
    request(version, Service::Temperature, 0, |_| ())
}

fn request(
    version: SoapVersion,
    service: Service,
    capacity: usize,
    parameters: impl FnOnce(&mut Vec<u8>),
) -> String {
    let wrapper = service.request();
    let mut output = version.start_body(capacity + 200);
    output.extend_from_slice(wrapper.start.as_bytes());
    parameters(&mut output);
    output.extend_from_slice(wrapper.end.as_bytes());
    output.extend_from_slice(END);
    String::from_utf8(output).expect("a message made of strings is UTF-8")
}
