//! Addressing headers that a gateway writes for plain clients: where their requests go.

use http::StatusCode;

use crate::support::{Backend, ENVELOPE, Folder, post, send};

/// The `wsa:To` of a message.
fn to(body: &[u8]) -> Option<String> {
    let text = String::from_utf8(body.to_vec()).expect("text");
    let rest = text.split_once("<wsa:To ")?.1.split_once('>')?.1;
    Some(rest.split('<').next().expect("text").to_owned())
}

/// Case `clients/11-to-of-the-addressing-headers`.
#[tokio::test]
async fn a_request_is_for_the_url_that_it_goes_to_unless_the_file_says_another() {
    let folder = Folder::new();
    let mut backend = Backend::echo().await;
    for (addressing, asked, expected) in [
        ("message_id = true", "/tax", "http://BACKEND/service/Tax"),
        (
            "message_id = true",
            "/tax/a/b?x=y",
            "http://BACKEND/service/Tax",
        ),
        ("to = [\"urn:tax\"]", "/tax/a", "urn:tax"),
    ] {
        let gateway = folder
            .gateway(&format!(
                "LISTEN\n[[routes]]\npath = \"/tax\"\nbackend = \"http://{}/service/Tax\"\n[routes.outbound]\n\
                 users = [{{ name = \"alice\", password = \"pw\" }}]\n\
                 security = {{ mechanism = \"username\", addressing = {{ {addressing} }} }}\n",
                backend.address
            ))
            .await;
        let answer = send(gateway.address(), post(asked, ENVELOPE)).await;
        let seen = backend.seen.recv().await.expect("a request");
        let expected = expected.replace("BACKEND", &backend.address.to_string());
        assert_eq!(to(&seen.body), Some(expected), "{addressing} {asked}");
        // The echo has the Security header of the request, which its answer must not have.
        assert_ne!(answer.status, StatusCode::NOT_FOUND);
    }
}

/// Nothing says what an empty Body asks for, and no `wsa:Action` may be empty.
#[tokio::test]
async fn a_request_whose_action_nothing_says_is_refused_as_its_clients_mistake() {
    let folder = Folder::new();
    let mut backend = Backend::echo().await;
    let gateway = folder
        .gateway(&format!(
            "LISTEN\n[[routes]]\npath = \"/tax\"\nbackend = \"http://{}/tax\"\n[routes.outbound]\n\
             users = [{{ name = \"alice\", password = \"pw\" }}]\n\
             security = {{ mechanism = \"username\", addressing = {{ message_id = true }} }}\n",
            backend.address
        ))
        .await;
    let empty =
        "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body/></s:Envelope>";
    let mut request = post("/tax", empty);
    request.headers_mut().remove("soapaction");
    let answer = send(gateway.address(), request).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(
        answer.body.contains("<faultcode>soap:Client</faultcode>"),
        "{}",
        answer.body
    );
    assert!(!answer.body.contains("SOAPAction"), "{}", answer.body);
    assert!(backend.seen.try_recv().is_err());
    let metrics = gateway.metrics();
    let line = "soapstone_failures_total{route=\"/tax\",reason=\"not-secured\"} 1";
    assert!(metrics.lines().any(|found| found == line), "{metrics}");
}
