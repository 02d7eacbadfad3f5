//! The contract of inquiries: what it says is how the registry is called.

use soapstone::xml::{Buffers, Document, Element, ParseOptions};

use super::*;

const WSDL: &str = "http://schemas.xmlsoap.org/wsdl/";
const SOAP: &str = "http://schemas.xmlsoap.org/wsdl/soap/";
const UDDI: &str = "urn:uddi-org:api_v3";

fn contract(address: SocketAddr, host: &str) -> (u16, String) {
    let request = format!("GET /uddi?wsdl HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    let (status, body) = exchange(address, request.as_bytes());
    (status, String::from_utf8(body).expect("text"))
}

fn parsed(text: &str) -> Document {
    let options = ParseOptions::default();
    let document = Document::parse(text.as_bytes().to_vec(), &options, &mut Buffers::default());
    document.unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// An attribute that must be there, without the prefix of its value.
fn named(element: Element<'_>, attribute: &str) -> String {
    let value = element.attribute("", attribute).expect(attribute);
    let local = value.rsplit_once(':').map_or(&*value, |(_, local)| local);
    local.to_owned()
}

/// The elements of WSDL of one name in another one, and of `name` where that is given.
fn find<'d>(inside: Element<'d>, local: &str, name: Option<&str>) -> Element<'d> {
    let mut found = inside.children().filter(|it| it.is(WSDL, local));
    let found = found.find(|it| name.is_none_or(|name| named(*it, "name") == name));
    found.unwrap_or_else(|| panic!("no {local} {name:?}"))
}

/// A client that knows the contract alone calls each operation: its address, its action, its
/// element, and the element of the answer come from there.
#[tokio::test]
async fn each_operation_of_the_contract_is_served_as_it_says() {
    let folder = folder();
    let running = registry(&folder).await;
    let (own, listen) = (client(&folder, "p1"), running.address());
    let inquiry = running.inquiry().expect("inquiries");
    waiting(move || {
        call(listen, &own, &uddi::write_request(&business(HOME)));
        let (status, text) = contract(inquiry, &inquiry.to_string());
        assert_eq!(status, 200, "{text}");
        let document = parsed(&text);
        let root = document.root();
        let service = find(root, "service", None);
        let port = find(service, "port", None);
        let location = port.children().find(|it| it.is(SOAP, "address"));
        let location = location.and_then(|it| it.attribute("", "location"));
        assert_eq!(
            location.as_deref(),
            Some(&*format!("http://{inquiry}/uddi"))
        );
        let binding = find(root, "binding", Some(&named(port, "binding")));
        let port_type = find(root, "portType", Some(&named(binding, "type")));
        let element = |message: Element<'_>| {
            let message = find(root, "message", Some(&named(message, "message")));
            named(find(message, "part", None), "element")
        };
        let keys = [
            ("get_businessDetail", "businessKey", "uddi:p1"),
            ("get_serviceDetail", "serviceKey", "uddi:p1:service"),
            ("get_bindingDetail", "bindingKey", "uddi:p1:binding"),
        ];
        let mut served = Vec::new();
        for bound in binding.children().filter(|it| it.is(WSDL, "operation")) {
            let name = named(bound, "name");
            let action = bound.children().find(|it| it.is(SOAP, "operation"));
            let action = action.and_then(|it| it.attribute("", "soapAction"));
            assert_eq!(action.as_deref(), Some(&*name), "the action of UDDI v3");
            let offered = find(port_type, "operation", Some(&name));
            let asked = element(find(offered, "input", None));
            let key = keys.iter().find(|(operation, ..)| *operation == name);
            let key = key.map(|(_, key, value)| format!("<{key}>{value}</{key}>"));
            let key = key.unwrap_or_default();
            let body = format!("<{asked} xmlns=\"{UDDI}\">{key}</{asked}>");
            let (status, answer) = post(inquiry, "/uddi", &envelope(&body));
            let answer = String::from_utf8(answer).expect("text");
            let answer = parsed(&answer);
            let mut inside = answer.root().descendants();
            let expected = match (status, asked.as_str()) {
                (200, _) => element(find(offered, "output", None)),
                // Without a key there is nothing to tell of.
                (500, "get_tModelDetail") => element(find(offered, "fault", None)),
                _ => panic!("{status} to {body}"),
            };
            assert!(
                inside.any(|it| it.is(UDDI, &expected)),
                "{expected} to {body}"
            );
            served.push(name);
        }
        assert_eq!(served.len(), 8, "{served:?}");
        drop(running);
    })
    .await;
}

/// The host of a request is the word of a client, and gets into no markup.
#[tokio::test]
async fn a_host_writes_nothing_into_the_contract_but_an_address() {
    let folder = folder();
    let running = registry(&folder).await;
    let inquiry = running.inquiry().expect("inquiries");
    waiting(move || {
        for host in [
            "a'/><evil x='",
            "a<b",
            "a\"b",
            "a b",
            "a/b",
            "registry@evil.example",
            "",
        ] {
            let (status, body) = contract(inquiry, host);
            assert_eq!(
                (status, body.contains("<definitions")),
                (400, false),
                "{host}: {body}"
            );
        }
        let request = "GET /uddi?wsdl HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
        let answer = whole(inquiry, request.as_bytes());
        let answer = String::from_utf8(answer).expect("text");
        // The answer to one client is of no use to another.
        assert!(answer.contains("cache-control: no-store\r\n"), "{answer}");
        let (status, text) = contract(inquiry, "a'b&c");
        assert_eq!(status, 200, "{text}");
        let document = parsed(&text);
        let mut inside = document.root().descendants();
        let address = inside
            .find(|it| it.is(SOAP, "address"))
            .expect("it is there");
        let location = address.attribute("", "location");
        assert_eq!(location.as_deref(), Some("http://a'b&c/uddi"));
        drop(running);
    })
    .await;
}
