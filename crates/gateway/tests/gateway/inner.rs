//! Elements of the Body that are signed by themselves, at gateways: `[routes.outbound.inner]` and
//! `[routes.inbound.inner]`.

use http::{HeaderValue, StatusCode};
use soapstone_testkit::{envelope, keys};

use crate::support::{Backend, Folder, post, send};

const ORDER: &str = "<t:Order xmlns:t=\"urn:tax\">12</t:Order>";

fn folder() -> Folder {
    let folder = Folder::with_keys();
    folder.write_identity("clerk", &keys::identity("CN=clerk", keys::RSA));
    folder
}

/// A gateway that signs documents of its plain clients, and nothing else.
fn signing(backend: std::net::SocketAddr) -> String {
    format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{backend}/echo\"\n\
         [routes.outbound.inner]\nrequests = \"{{urn:tax}}Order\"\nanswers = \"{{urn:tax}}Order\"\n\
         identity = {{ key = \"clerk.key.pem\", certificate = \"clerk.cert.pem\" }}\n\
         trust = {{ pinned = [\"clerk.cert.pem\"] }}\n\
         [routes.outbound.security]\nmechanism = \"none\"\n"
    )
}

/// A gateway that verifies documents, and tells its backend whose they are.
fn verifying(backend: std::net::SocketAddr) -> String {
    format!(
        "LISTEN\n[audit]\nfile = \"audit.jsonl\"\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{backend}/echo\"\n\
         [routes.identity]\ndocument_signer = \"X-Document-Signer\"\n\
         [routes.inbound.inner]\nrequests = \"{{urn:tax}}Order\"\n\
         trust = {{ pinned = [\"clerk.cert.pem\"] }}\n\
         [routes.inbound.security]\nmechanism = \"none\"\n"
    )
}

#[tokio::test]
async fn a_document_travels_signed_and_its_backend_hears_who_signed_it() {
    let mut backend = Backend::echo().await;
    let folder = folder();
    let inbound = folder.gateway(&verifying(backend.address)).await;
    let outbound = folder.gateway(&signing(inbound.address())).await;
    let mut request = post("/echo", envelope::with_body(ORDER));
    let claimed = HeaderValue::from_static("CN=chief");
    request.headers_mut().append("x-document-signer", claimed);
    let answer = send(outbound.address(), request).await;
    // The echo has the signature of the request, which is good for the answer, too.
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let seen = backend.seen.recv().await.expect("a request");
    let told = seen.headers.get_all("x-document-signer").iter();
    let told: Vec<_> = told.map(|it| it.to_str().expect("text")).collect();
    assert_eq!(told, ["CN=clerk"]);
    let body = String::from_utf8(seen.body.to_vec()).expect("text");
    assert!(body.contains("</ds:Signature></t:Order>"), "{body}");
    drop(inbound);
    let audit = String::from_utf8(folder.read("audit.jsonl")).expect("text");
    assert!(
        audit.contains("\"document_signer\":\"CN=clerk\""),
        "{audit}"
    );
}

#[tokio::test]
async fn a_document_that_nobody_signed_reaches_no_backend() {
    let mut backend = Backend::echo().await;
    let folder = folder();
    let gateway = folder.gateway(&verifying(backend.address)).await;
    let answer = send(gateway.address(), post("/echo", envelope::with_body(ORDER))).await;
    assert_eq!(
        answer.status,
        StatusCode::INTERNAL_SERVER_ERROR,
        "{}",
        answer.body
    );
    assert!(answer.body.contains("InvalidSecurity"), "{}", answer.body);
    assert!(backend.seen.try_recv().is_err(), "it reached the backend");
    // What the gateway before the client cannot sign is not sent either.
    let signing = folder.gateway(&signing(backend.address)).await;
    let other = post("/echo", envelope::with_body("<a/>"));
    let answer = send(signing.address(), other).await;
    assert_ne!(answer.status, StatusCode::OK, "{}", answer.body);
    assert!(backend.seen.try_recv().is_err(), "it reached the backend");
}

/// What is encrypted for the office alone, by gateways that do nothing else.
#[tokio::test]
async fn a_document_travels_encrypted_and_its_backend_hears_for_whom() {
    let folder = folder();
    folder.write_identity("office", &keys::identity("CN=office", keys::RSA));
    let mut backend = Backend::echo().await;
    let inbound = format!(
        "LISTEN\n[audit]\nfile = \"audit.jsonl\"\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n\
         [routes.identity]\ndocument_recipient = \"X-Document-Recipient\"\n\
         [routes.inbound.inner.encryption]\nrequests = \"{{urn:tax}}Order\"\n\
         identity = {{ key = \"office.key.pem\", certificate = \"office.cert.pem\" }}\n\
         [routes.inbound.security]\nmechanism = \"none\"\n",
        backend.address
    );
    let inbound = folder.gateway(&inbound).await;
    let outbound = |to: std::net::SocketAddr| {
        format!(
            "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{to}/echo\"\n\
             [routes.outbound.inner.encryption]\nrequests = \"{{urn:tax}}Order\"\n\
             peer = {{ certificate = \"office.cert.pem\" }}\n\
             [routes.outbound.security]\nmechanism = \"none\"\n"
        )
    };
    let gateway = folder.gateway(&outbound(inbound.address())).await;
    let mut request = post("/echo", envelope::with_body(ORDER));
    let claimed = HeaderValue::from_static("CN=chief");
    request
        .headers_mut()
        .append("x-document-recipient", claimed);
    let answer = send(gateway.address(), request).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let seen = backend.seen.recv().await.expect("a request");
    let told = seen.headers.get_all("x-document-recipient").iter();
    let told: Vec<_> = told.map(|it| it.to_str().expect("text")).collect();
    assert_eq!(told, ["CN=office"]);
    let body = String::from_utf8(seen.body.to_vec()).expect("text");
    assert!(body.contains(ORDER), "{body}");
    // On the way between the two nobody reads it.
    let mut tapped = Backend::echo().await;
    let gateway = folder.gateway(&outbound(tapped.address)).await;
    let request = post("/echo", envelope::with_body(ORDER));
    send(gateway.address(), request).await;
    let seen = tapped.seen.recv().await.expect("a request");
    let body = String::from_utf8(seen.body.to_vec()).expect("text");
    assert!(
        body.contains("EncryptedData") && !body.contains("12<"),
        "{body}"
    );
    // What is not encrypted reaches no backend.
    let plain = post("/echo", envelope::with_body(ORDER));
    let answer = send(inbound.address(), plain).await;
    assert!(answer.body.contains("InvalidSecurity"), "{}", answer.body);
    assert!(backend.seen.try_recv().is_err(), "it reached the backend");
    drop(inbound);
    let audit = String::from_utf8(folder.read("audit.jsonl")).expect("text");
    assert!(
        audit.contains("\"document_recipient\":\"CN=office\""),
        "{audit}"
    );
}
