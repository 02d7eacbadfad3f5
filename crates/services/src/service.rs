//! The six services and the names in their contracts.
//!
//! The one rule it keeps: a name that is in a contract file is written here once and nowhere else.

/// One of the sample services. Each has an address, a contract and one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Service {
    /// Gives a string back.
    Echo,
    /// Gives an array of strings back; RPC style.
    EchoStringArray,
    /// Adds two integers.
    Sum,
    /// A list of records of eight strings each.
    Employees,
    /// As many book records as are asked for, from a database.
    Books,
    /// The temperature that a sensor measures, read from its controller.
    Temperature,
}

/// Start and end tag of the element in the body that is named after the operation. Its children
/// follow directly.
pub(crate) struct Wrapper {
    pub(crate) start: &'static str,
    pub(crate) end: &'static str,
}

impl Service {
    /// All of them.
    pub const ALL: [Service; 6] = [
        Service::Echo,
        Service::EchoStringArray,
        Service::Sum,
        Service::Employees,
        Service::Books,
        Service::Temperature,
    ];

    /// The path of its address.
    pub const fn path(self) -> &'static str {
        match self {
            Service::Echo => "/echo",
            Service::EchoStringArray => "/echo-string-array",
            Service::Sum => "/sum",
            Service::Employees => "/employees",
            Service::Books => "/books",
            Service::Temperature => "/temperature",
        }
    }

    /// The service at `path`.
    pub fn at(path: &str) -> Option<Service> {
        Service::ALL
            .into_iter()
            .find(|service| service.path() == path)
    }

    /// The target namespace of its contract, and the namespace of its wrapper elements.
    pub const fn namespace(self) -> &'static str {
        match self {
            Service::Echo => "urn:soapstone:services:echo",
            Service::EchoStringArray => "urn:soapstone:services:echo-string-array",
            Service::Sum => "urn:soapstone:services:sum",
            Service::Employees => "urn:soapstone:services:employees",
            Service::Books => "urn:soapstone:services:books",
            Service::Temperature => "urn:soapstone:services:temperature",
        }
    }

    /// The name of its operation, which is that of the element in the body of a request.
    pub const fn operation(self) -> &'static str {
        match self {
            Service::Echo => "Echo",
            Service::EchoStringArray => "EchoStringArray",
            Service::Sum => "Sum",
            Service::Employees => "EmployeeDetails",
            Service::Books => "getBooks",
            Service::Temperature => "getTemperature",
        }
    }

    /// The SOAPAction of its operation, without quotes.
    pub const fn soap_action(self) -> &'static str {
        match self {
            Service::Echo => "urn:soapstone:services:echo:Echo",
            Service::EchoStringArray => "urn:soapstone:services:echo-string-array:EchoStringArray",
            Service::Sum => "urn:soapstone:services:sum:Sum",
            Service::Employees => "urn:soapstone:services:employees:EmployeeDetails",
            Service::Books => "urn:soapstone:services:books:getBooks",
            Service::Temperature => "urn:soapstone:services:temperature:getTemperature",
        }
    }

    pub(crate) const fn request(self) -> Wrapper {
        let (start, end) = match self {
            Service::Echo => (r#"<Echo xmlns="urn:soapstone:services:echo">"#, "</Echo>"),
            Service::EchoStringArray => (
                r#"<m:EchoStringArray xmlns:m="urn:soapstone:services:echo-string-array">"#,
                "</m:EchoStringArray>",
            ),
            Service::Sum => (r#"<Sum xmlns="urn:soapstone:services:sum">"#, "</Sum>"),
            Service::Employees => (
                r#"<EmployeeDetails xmlns="urn:soapstone:services:employees">"#,
                "</EmployeeDetails>",
            ),
            Service::Books => (
                r#"<getBooks xmlns="urn:soapstone:services:books">"#,
                "</getBooks>",
            ),
            Service::Temperature => (
                r#"<getTemperature xmlns="urn:soapstone:services:temperature">"#,
                "</getTemperature>",
            ),
        };
        Wrapper { start, end }
    }

    pub(crate) const fn response(self) -> Wrapper {
        let (start, end) = match self {
            Service::Echo => (
                r#"<EchoResponse xmlns="urn:soapstone:services:echo">"#,
                "</EchoResponse>",
            ),
            Service::EchoStringArray => (
                r#"<m:EchoStringArrayResponse xmlns:m="urn:soapstone:services:echo-string-array">"#,
                "</m:EchoStringArrayResponse>",
            ),
            Service::Sum => (
                r#"<SumResponse xmlns="urn:soapstone:services:sum">"#,
                "</SumResponse>",
            ),
            Service::Employees => (
                r#"<EmployeeDetailsResponse xmlns="urn:soapstone:services:employees">"#,
                "</EmployeeDetailsResponse>",
            ),
            Service::Books => (
                r#"<getBooksResponse xmlns="urn:soapstone:services:books">"#,
                "</getBooksResponse>",
            ),
            Service::Temperature => (
                r#"<getTemperatureResponse xmlns="urn:soapstone:services:temperature">"#,
                "</getTemperatureResponse>",
            ),
        };
        Wrapper { start, end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_to_its_service_and_no_other_path_does() {
        for service in Service::ALL {
            assert_eq!(Service::at(service.path()), Some(service));
        }
        assert_eq!(Service::at("/echo/"), None);
        assert_eq!(Service::at("/"), None);
    }

    #[test]
    fn wrappers_and_actions_have_the_names_of_their_operation() {
        for service in Service::ALL {
            let (namespace, operation) = (service.namespace(), service.operation());
            let (request, response) = (service.request(), service.response());
            assert_eq!(service.soap_action(), format!("{namespace}:{operation}"));
            for (wrapper, name) in [
                (request, operation.to_owned()),
                (response, format!("{operation}Response")),
            ] {
                let colon_prefix = if service == Service::EchoStringArray {
                    ("m:", ":m")
                } else {
                    ("", "")
                };
                assert_eq!(
                    wrapper.start,
                    format!(
                        "<{}{name} xmlns{}=\"{namespace}\">",
                        colon_prefix.0, colon_prefix.1
                    )
                );
                assert_eq!(wrapper.end, format!("</{}{name}>", colon_prefix.0));
            }
        }
    }
}
