//! Packages that arrive where they are to go.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use soapstone::mime::{Message, Packaged};
use soapstone::wss::SoapVersion;
use tokio::net::TcpListener;

use super::{
    contents, gateway, of_backend, opening, packed, parts, plain, read, request, request_with,
    secured, securing, with,
};
use crate::conversations;
use crate::secured::{client, service};
use crate::support::{Backend, ENVELOPE, Folder, Nobody, Said, post, reason, send};

/// SwA Profile 1.1.1, 5.3 to 5.5.
#[tokio::test(flavor = "multi_thread")]
async fn a_package_and_its_answer_travel_through_two_gateways() {
    let folder = Folder::with_keys();
    for (mechanism, word) in [
        ("sign", "{}"),
        ("sign-encrypt", "{}"),
        ("encrypt", "{}"),
        (
            "sign-encrypt",
            "{ signed = \"complete\", encrypted = \"complete\" }",
        ),
        ("encrypt-sign", "{ encrypted = \"none\" }"),
    ] {
        let mut backend = Backend::echo().await;
        let service = gateway(&folder, backend.address, "", &[opening(mechanism, word)]).await;
        let sides = [securing(mechanism, word)];
        let client = gateway(&folder, service.address(), "", &sides).await;
        for version in [SoapVersion::V11, SoapVersion::V12] {
            let Packaged { content_type, body } = plain(version);
            let answer = send(client.address(), request(&content_type, body)).await;
            let case = format!("{mechanism} {word} {version:?}");
            assert_eq!(answer.status, StatusCode::OK, "{case}: {}", answer.body);
            let seen = backend.seen.recv().await.expect("it arrived");
            let expected = parts();
            for message in [
                of_backend(&seen, version),
                read(&answer.headers, &answer.bytes, version),
            ] {
                let root = String::from_utf8(message.root.clone()).expect("UTF-8");
                assert!(root.contains(">hello<") && !root.contains("Security"));
                assert_eq!(contents(&message.parts), contents(&expected), "{case}");
                let types = message.parts.iter().map(|part| part.field("Content-Type"));
                let types: Vec<_> = types.collect();
                assert_eq!(
                    types,
                    [Some("application/gzip"), Some("text/xml")],
                    "{case}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_message_without_attachments_is_answered_with_a_package_and_the_other_way_round() {
    let folder = Folder::with_keys();
    let mut backend = Backend::answering(|seen| {
        let is_package = seen.headers["content-type"]
            .as_bytes()
            .starts_with(b"multi");
        let (content_type, body) = match is_package {
            true => ("text/xml".to_owned(), ENVELOPE.as_bytes().to_vec()),
            false => {
                let Packaged { content_type, body } = plain(SoapVersion::V11);
                (content_type, body)
            }
        };
        let mut response = Response::new(Full::new(Bytes::from(body)));
        let content_type = content_type.parse().expect("a value");
        response.headers_mut().insert("content-type", content_type);
        response
    })
    .await;
    let service = gateway(
        &folder,
        backend.address,
        "",
        &[opening("sign-encrypt", "{}")],
    )
    .await;
    let sides = [securing("sign-encrypt", "{}")];
    let client = gateway(&folder, service.address(), "", &sides).await;
    let answer = send(client.address(), post("/echo", ENVELOPE)).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let answered = read(&answer.headers, &answer.bytes, SoapVersion::V11);
    assert_eq!(contents(&answered.parts), contents(&parts()));
    backend.seen.recv().await.expect("it arrived");
    let Packaged { content_type, body } = plain(SoapVersion::V11);
    let answer = send(client.address(), request(&content_type, body)).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert_eq!(answer.headers["content-type"], "text/xml; charset=utf-8");
    let seen = backend.seen.recv().await.expect("it arrived");
    let seen = of_backend(&seen, SoapVersion::V11);
    assert_eq!(contents(&seen.parts), contents(&parts()));
}

/// RFC 2387, 3.2: `start` names the root, wherever it stands.
#[tokio::test]
async fn a_root_that_is_not_first_goes_on_as_the_first_part() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let service = gateway(&folder, backend.address, "", &[opening("sign", "{}")]).await;
    let message = secured(&folder, "sign", "{}", parts());
    let first = message.parts[0].content();
    let second = message.parts[1].content();
    let body = [
        b"--b\r\nContent-ID: <plan@sender>\r\nContent-Type: application/gzip\r\n\r\n",
        first,
        b"\r\n--b\r\nContent-ID: <r@x>\r\nContent-Type: text/xml\r\n\r\n",
        &message.root,
        b"\r\n--b\r\nContent-ID: <sum@sender>\r\nContent-Type: text/xml\r\n\r\n",
        second,
        b"\r\n--b--\r\n",
    ]
    .concat();
    let named = "multipart/related; type=\"text/xml\"; boundary=b; start=\"<r@x>\"";
    let unnamed = "multipart/related; type=\"text/xml\"; boundary=b";
    let answer = send(service.address(), request(unnamed, body.clone())).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    let answer = send(service.address(), request(named, body)).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let seen = backend.seen.recv().await.expect("it arrived");
    let seen = of_backend(&seen, SoapVersion::V11);
    assert_eq!(contents(&seen.parts), contents(&parts()));
    assert!(backend.seen.try_recv().is_err());
}

#[tokio::test]
async fn a_fault_answers_a_package_as_a_message_of_its_own() {
    let folder = Folder::with_keys();
    let fault = "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body><s:Fault>\
        <faultcode>s:Server</faultcode><faultstring>sold out</faultstring></s:Fault></s:Body></s:Envelope>";
    let backend = Backend::answering(move |_| {
        let mut response = Response::new(Full::from(fault));
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        let content_type = "text/xml".parse().expect("a value");
        response.headers_mut().insert("content-type", content_type);
        response
    })
    .await;
    let service = gateway(&folder, backend.address, "", &[opening("sign", "{}")]).await;
    let sides = [securing("sign", "{}")];
    let client = gateway(&folder, service.address(), "", &sides).await;
    let Packaged { content_type, body } = plain(SoapVersion::V11);
    let answer = send(client.address(), request(&content_type, body)).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(answer.headers["content-type"], "text/xml; charset=utf-8");
    assert_eq!(reason(&answer.body), "sold out");
}

/// A package is written anew for each backend, and its head is that of its bytes.
#[tokio::test(flavor = "multi_thread")]
async fn a_package_goes_to_another_backend_with_its_own_boundary() {
    let folder = Folder::with_keys();
    let nobody = Nobody::new();
    let mut backend = Backend::echo().await;
    let service = gateway(&folder, backend.address, "", &[opening("sign", "{}")]).await;
    let text = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackends = [{{ url = \"http://{}/echo\" }}, {{ url = \"http://{}/echo\" }}]\n\
         [routes.balance]\nselection = \"round-robin\"\n[routes.outbound]\n{}",
        nobody.address,
        service.address(),
        securing("sign", "{}").1
    );
    let client = folder.gateway(&text).await;
    for _ in 0..4 {
        let Packaged { content_type, body } = plain(SoapVersion::V11);
        let answer = send(client.address(), request(&content_type, body)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let seen = backend.seen.recv().await.expect("it arrived");
        let seen = of_backend(&seen, SoapVersion::V11);
        assert_eq!(contents(&seen.parts), contents(&parts()));
    }
    let metrics = client.metrics();
    let retried = metrics
        .lines()
        .filter(|line| line.contains("retries_total{"));
    assert!(
        retried.clone().any(|line| !line.ends_with(" 0")),
        "{metrics}"
    );
}

#[tokio::test]
async fn without_a_word_for_attachments_packages_are_refused_and_the_log_says_which() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let (said, _guard) = Said::listen();
    let Packaged { content_type, body } = plain(SoapVersion::V11);
    for side in [("inbound", service("sign")), ("outbound", client("sign"))] {
        let before = said.times("attachments = {} takes packages");
        let gateway = gateway(&folder, backend.address, "", &[side]).await;
        let answer = send(gateway.address(), request(&content_type, body.clone())).await;
        assert_eq!(answer.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
        assert!(!answer.body.contains("attachments"));
        assert_eq!(said.times("attachments = {} takes packages"), before + 1);
    }
    // One side with the word is not enough.
    let sides = [opening("sign", "{}"), ("outbound", client("sign"))];
    let both = gateway(&folder, backend.address, "", &sides).await;
    let message = secured(&folder, "sign", "{}", parts());
    let answer = send(both.address(), request_with(&message)).await;
    assert_eq!(answer.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert!(backend.seen.try_recv().is_err());
    // Nor is an answer taken.
    let answering = Backend::answering(|_| {
        let Packaged { content_type, body } = plain(SoapVersion::V11);
        let mut response = Response::new(Full::new(Bytes::from(body)));
        let content_type = content_type.parse().expect("a value");
        response.headers_mut().insert("content-type", content_type);
        response
    })
    .await;
    let sides = [("inbound", service("sign"))];
    let gateway = gateway(&folder, answering.address, "", &sides).await;
    let plain = folder.secured(&client("sign"), ENVELOPE);
    let answer = send(gateway.address(), post("/echo", plain)).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
}

/// A head may announce another version than that of the envelope. What leaves tells the truth.
#[tokio::test]
async fn a_package_leaves_with_the_version_of_its_envelope() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let service = gateway(&folder, backend.address, "", &[opening("sign", "{}")]).await;
    let message = secured(&folder, "sign", "{}", parts());
    let Packaged { content_type, body } = packed(&message, SoapVersion::V12);
    let answer = send(service.address(), request(&content_type, body)).await;
    let seen = backend.seen.recv().await.expect("it arrived");
    let seen = of_backend(&seen, SoapVersion::V11);
    assert_eq!(contents(&seen.parts), contents(&parts()));
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
}

/// A service that lost its contexts says so in a package. The second request has a boundary of its
/// own, and its head names it.
#[tokio::test]
async fn a_package_is_sent_again_in_another_conversation() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let tables = |us, peer| with(&conversations::tables(us, peer, ""), "{}");
    let file = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.inbound]\n{}",
        backend.address,
        tables("server", "client")
    );
    let mut service = folder.gateway(&file).await;
    let inner = Arc::new(Mutex::new(service.address()));
    let current = Arc::clone(&inner);
    let between = packing(current).await;
    let sides = [("outbound", tables("client", "server"))];
    let client = gateway(&folder, between, "", &sides).await;
    for calls in 0..2 {
        if calls == 1 {
            service.shutdown().await;
            service = folder.gateway(&file).await;
            *inner.lock().expect("no panic") = service.address();
        }
        let Packaged { content_type, body } = plain(SoapVersion::V11);
        let answer = send(client.address(), request(&content_type, body)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let seen = backend.seen.recv().await.expect("it arrived");
        let seen = of_backend(&seen, SoapVersion::V11);
        assert_eq!(contents(&seen.parts), contents(&parts()));
    }
    let line = "soapstone_resent_requests_total{route=\"/echo\"} 1";
    let metrics = client.metrics();
    assert!(metrics.lines().any(|found| found == line), "{metrics}");
}

/// A node that passes requests on to the address that is current, and packs faults that answer
/// them.
async fn packing(current: Arc<Mutex<SocketAddr>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let current = Arc::clone(&current);
            let service = service_fn(move |asked: Request<Incoming>| {
                let to = *current.lock().expect("no panic");
                async move {
                    let (head, body) = asked.into_parts();
                    let body = body.collect().await?.to_bytes();
                    let answer = send(to, Request::from_parts(head, Full::new(body))).await;
                    let mut content_type = answer.headers["content-type"].clone();
                    let mut body = answer.bytes;
                    if !answer.status.is_success() {
                        let message = Message::from(body.to_vec());
                        let packed = packed(&message, SoapVersion::V11);
                        content_type = packed.content_type.parse().expect("a value");
                        body = packed.body.into();
                    }
                    let mut response = Response::new(Full::new(body));
                    *response.status_mut() = answer.status;
                    response.headers_mut().insert("content-type", content_type);
                    Ok::<_, hyper::Error>(response)
                }
            });
            let serving = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service);
            tokio::spawn(serving);
        }
    });
    address
}

/// XOP 1.0, 4.1.
#[tokio::test]
async fn mtom_is_refused_by_name() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let service = gateway(&folder, backend.address, "", &[opening("sign", "{}")]).await;
    let mut message = packed(&secured(&folder, "sign", "{}", parts()), SoapVersion::V11);
    let announced = message
        .content_type
        .replace("text/xml", "application/xop+xml");
    let answer = send(service.address(), request(&announced, message.body.clone())).await;
    assert_eq!(answer.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    // A root that the head does not announce.
    let text = b"Content-Type: text/xml\r\n";
    let place = message.body.windows(text.len()).position(|it| it == text);
    let place = place.expect("the root's field");
    message.body.splice(
        place..place + text.len(),
        *b"Content-Type: application/xop+xml\r\n",
    );
    let answer = send(
        service.address(),
        request(&message.content_type, message.body),
    )
    .await;
    assert_eq!(answer.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let metrics = service.metrics();
    let line = "soapstone_failures_total{route=\"/echo\",reason=\"xop\"} 2";
    assert!(metrics.lines().any(|found| found == line), "{metrics}");
    assert!(backend.seen.try_recv().is_err());
}
