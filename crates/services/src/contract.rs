//! The contracts: WSDL and XML Schema files as they are in the folder `contract`, served with the
//! address of the server in them.
//!
//! The files stand on their own: they refer to each other by file name and to a server at
//! `http://localhost:9000`. The one rule it keeps: only these references are replaced, nothing else
//! of a file is changed on its way.

use soapstone_xml::escape;

use crate::service::Service;

/// The server that the files name.
const FILED_ADDRESS: &str = "location=\"http://localhost:9000/";

struct Contract {
    wsdl: &'static str,
    /// File name and text; number N is served at `?xsd=N`.
    schemas: &'static [(&'static str, &'static str)],
}

macro_rules! contract_file {
    ($name:literal) => {
        include_str!(concat!("../contract/", $name))
    };
}

const fn contract(service: Service) -> Contract {
    match service {
        Service::Echo => Contract {
            wsdl: contract_file!("echo.wsdl"),
            schemas: &[("echo.xsd", contract_file!("echo.xsd"))],
        },
        Service::EchoStringArray => Contract {
            wsdl: contract_file!("echo-string-array.wsdl"),
            schemas: &[(
                "echo-string-array.xsd",
                contract_file!("echo-string-array.xsd"),
            )],
        },
        Service::Sum => Contract {
            wsdl: contract_file!("sum.wsdl"),
            schemas: &[("sum.xsd", contract_file!("sum.xsd"))],
        },
        Service::Employees => Contract {
            wsdl: contract_file!("employees.wsdl"),
            schemas: &[("employees.xsd", contract_file!("employees.xsd"))],
        },
        Service::Books => Contract {
            wsdl: contract_file!("books.wsdl"),
            schemas: &[
                ("books.xsd", contract_file!("books.xsd")),
                ("book-record.xsd", contract_file!("book-record.xsd")),
            ],
        },
        Service::Temperature => Contract {
            wsdl: contract_file!("temperature.wsdl"),
            schemas: &[("temperature.xsd", contract_file!("temperature.xsd"))],
        },
    }
}

/// The WSDL of `service` at the server `base`, an absolute URL without a slash at its end.
pub fn wsdl(service: Service, base: &str) -> String {
    filled_in(contract(service).wsdl, service, base)
}

/// Schema `number` (from 1) of `service`; none if it has fewer.
pub fn schema(service: Service, number: usize, base: &str) -> Option<String> {
    let (_, text) = contract(service).schemas.get(number.checked_sub(1)?)?;
    Some(filled_in(text, service, base))
}

fn filled_in(text: &str, service: Service, base: &str) -> String {
    let mut escaped = Vec::with_capacity(base.len());
    escape::attribute(base, &mut escaped);
    let base = String::from_utf8_lossy(&escaped);
    let mut filled = text.replace(FILED_ADDRESS, &format!("location=\"{base}/"));
    for (number, (file, _)) in (1..).zip(contract(service).schemas) {
        filled = filled.replace(
            &format!("schemaLocation=\"{file}\""),
            &format!("schemaLocation=\"{base}{}?xsd={number}\"", service.path()),
        );
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_served_contracts_refer_to_their_server_only() {
        for service in Service::ALL {
            let base = "https://example.com:8443/a&b";
            let address = format!(
                "location=\"https://example.com:8443/a&amp;b{}\"",
                service.path()
            );
            let wsdl = wsdl(service, base);
            assert_eq!(wsdl.matches(&address).count(), 2, "{wsdl}");
            assert!(!wsdl.contains("localhost"));
            let schemas: Vec<_> = (1..).map_while(|n| schema(service, n, base)).collect();
            assert_eq!(schemas.len(), contract(service).schemas.len());
            for text in [&wsdl].into_iter().chain(&schemas) {
                for reference in text.split("schemaLocation=\"").skip(1) {
                    let expected =
                        format!("https://example.com:8443/a&amp;b{}?xsd=", service.path());
                    assert!(reference.starts_with(&expected), "{reference}");
                }
            }
        }
    }

    #[test]
    fn there_is_no_schema_zero_and_none_after_the_last() {
        assert_eq!(schema(Service::Echo, 0, "http://h"), None);
        assert_eq!(schema(Service::Echo, 2, "http://h"), None);
        assert!(schema(Service::Books, 2, "http://h").is_some());
    }

    #[test]
    fn the_contracts_have_the_names_that_the_services_use() {
        for service in Service::ALL {
            let wsdl = contract(service).wsdl;
            assert!(wsdl.contains(&format!("targetNamespace=\"{}\"", service.namespace())));
            assert!(wsdl.contains(&format!(
                "<wsdl:operation name=\"{}\">",
                service.operation()
            )));
            assert!(wsdl.contains(&format!("soapAction=\"{}\"", service.soap_action())));
        }
    }
}
