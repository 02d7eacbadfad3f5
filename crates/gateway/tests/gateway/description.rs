//! `?wsdl` through the gateway.

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;

use crate::secured;
use crate::support::{Backend, Folder, gateway_before, get, send};

const DESCRIPTION: &str = "<definitions xmlns=\"http://schemas.xmlsoap.org/wsdl/\" \
                           xmlns:soap=\"http://schemas.xmlsoap.org/wsdl/soap/\"><service name=\"S\"><port name=\"P\" binding=\"b\">\
                           <soap:address location=\"http://HOST/echo\"/></port></service></definitions>";

async fn described() -> Backend {
    Backend::answering(|seen| {
        let host = seen.headers["host"].to_str().expect("a name").to_owned();
        let mut response =
            Response::new(Full::new(Bytes::from(DESCRIPTION.replace("HOST", &host))));
        response
            .headers_mut()
            .insert("content-type", "text/xml".parse().expect("a value"));
        response
            .headers_mut()
            .insert("x-asked", seen.uri.to_string().parse().expect("a value"));
        response
    })
    .await
}

#[tokio::test]
async fn the_description_has_the_address_that_the_client_asked() {
    let backend = described().await;
    let gateway = gateway_before(backend.address, "").await;
    let answer = send(gateway.address(), get("/echo?wsdl")).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.headers["content-type"], "text/xml; charset=utf-8");
    assert_eq!(answer.headers["x-asked"], "/echo?wsdl");
    assert_eq!(
        answer.body,
        DESCRIPTION.replace("HOST", "gateway.example:8443")
    );
}

#[tokio::test]
async fn the_description_has_the_public_address_when_one_is_configured() {
    let backend = described().await;
    let gateway = gateway_before(
        backend.address,
        "public_url = \"https://soap.example.com/\"",
    )
    .await;
    let answer = send(gateway.address(), get("/echo?WSDL")).await;
    assert!(
        answer
            .body
            .contains("location=\"https://soap.example.com/echo\""),
        "{}",
        answer.body
    );
}

/// The first backend gets messages as they are. Nothing proves what any other one says.
#[tokio::test]
async fn a_description_of_several_backends_has_no_header_fields_of_one_where_any_is_secured() {
    let backends = [described().await, described().await];
    let text = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbalance = {{ selection = \"round-robin\" }}\n\
         backends = [{{ url = \"http://{}/echo\", outbound = {{ security = {{ mechanism = \"none\" }} }} }}, \
         {{ url = \"http://{}/echo\" }}]\n[routes.outbound]\n{}",
        backends[0].address,
        backends[1].address,
        secured::client("sign")
    );
    let gateway = Folder::with_keys().gateway(&text).await;
    for _ in 0..2 {
        let answer = send(gateway.address(), get("/echo?wsdl")).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        assert_eq!(answer.headers.get("x-asked"), None);
    }
}

#[tokio::test]
async fn a_description_with_a_dtd_is_not_served() {
    let backend = Backend::answering(|_| {
        let mut response = Response::new(Full::from(
            "<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><x>&e;</x>",
        ));
        response
            .headers_mut()
            .insert("content-type", "text/xml".parse().expect("a value"));
        response
    })
    .await;
    let gateway = gateway_before(backend.address, "").await;
    assert_eq!(
        send(gateway.address(), get("/echo?wsdl")).await.status,
        StatusCode::BAD_GATEWAY
    );
}

/// Ten times as many take ten times as long; a hundred times would be ever more of a thread that
/// serves others.
#[tokio::test]
async fn a_description_with_very_many_policies_does_not_hold_up_the_gateway() {
    let few = time_of_policies(3_000).await;
    let many = time_of_policies(30_000).await;
    assert!(many < few * 40, "{few:?} for a tenth of them, {many:?}");
}

/// How long it takes to serve a description with so many security policies, and references to other
/// ones.
async fn time_of_policies(count: usize) -> std::time::Duration {
    let policies: String = (0..count)
        .map(|number| {
            format!("<p:Policy u:Id=\"a{number}\"><s:X/></p:Policy><p:PolicyReference URI=\"#b{number}\"/>")
        })
        .collect();
    let text = format!(
        "<definitions xmlns=\"http://schemas.xmlsoap.org/wsdl/\" xmlns:p=\"http://www.w3.org/ns/ws-policy\" \
         xmlns:s=\"http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702\" \
         xmlns:u=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd\">{policies}</definitions>"
    );
    let backend = Backend::answering(move |_| {
        let mut response = Response::new(Full::new(Bytes::from(text.clone())));
        let headers = response.headers_mut();
        headers.insert("content-type", "text/xml".parse().expect("a value"));
        response
    })
    .await;
    let folder = Folder::new();
    let file = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.inbound]\n\
         users = [{{ name = \"a\", password = \"b\" }}]\nsecurity = {{ mechanism = \"username\" }}\n",
        backend.address
    );
    let gateway = folder.gateway(&file).await;
    let asked = std::time::Instant::now();
    let answer = send(gateway.address(), get("/echo?wsdl")).await;
    let taken = asked.elapsed();
    assert_eq!(answer.status, StatusCode::OK, "{:.200}", answer.body);
    assert!(!answer.body.contains("Id=\"a"), "{:.200}", answer.body);
    taken
}

/// Whoever follows would get another description than this one.
#[tokio::test]
async fn a_description_that_is_elsewhere_is_not_looked_for_behind_the_gateway() {
    for (location, told) in [
        (
            "http://BACKEND/echo/there?wsdl",
            Some("http://gateway.example:8443/echo/there?wsdl"),
        ),
        (
            "/echo/?wsdl",
            Some("http://gateway.example:8443/echo/?wsdl"),
        ),
        ("http://internal.example/admin?wsdl", None),
    ] {
        let backend = Backend::answering(move |seen| {
            let host = seen.headers["host"].to_str().expect("a name");
            let location = location.replace("BACKEND", host);
            let mut response = Response::new(Full::default());
            *response.status_mut() = StatusCode::FOUND;
            let headers = response.headers_mut();
            headers.insert("location", location.parse().expect("a value"));
            headers.insert("content-location", location.parse().expect("a value"));
            response
        })
        .await;
        let gateway = gateway_before(backend.address, "").await;
        let answer = send(gateway.address(), get("/echo?wsdl")).await;
        assert_eq!(answer.status, StatusCode::FOUND);
        let found = answer.headers.get("location");
        let found = found.map(|found| found.to_str().expect("text"));
        assert_eq!(found, told, "{location}");
        assert!(!answer.headers.contains_key("content-location"));
    }
}
