//! Requests that are made from the descriptions of the sample services.

use soapstone::policy::{SampleCalls, SampleError};
use soapstone_services::{Service, contract};

#[test]
fn operations_of_the_sample_services_have_requests_that_are_made_from_their_schemas() {
    for service in Service::ALL {
        let base = "http://localhost/s";
        let wsdl = contract::wsdl(service, base);
        let schema = |location: &str| {
            let number = location.rsplit_once("xsd=")?.1.parse().ok()?;
            contract::schema(service, number, base).map(String::into_bytes)
        };
        let calls = SampleCalls::read(wsdl.into_bytes(), &schema, None)
            .unwrap_or_else(|why| panic!("{service:?}: {why}"));
        for call in calls.operations() {
            assert_eq!(call.action.as_deref(), Some(service.soap_action()));
            match service {
                Service::EchoStringArray => {
                    let problem = "it is in rpc style, whose elements no schema has";
                    assert_eq!(call.request, Err(SampleError::NoElement { problem }));
                }
                _ => assert!(call.request.is_ok(), "{:?}", call.request),
            }
        }
    }
}
