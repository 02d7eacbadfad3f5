//! Packages on routes with several backends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use http::{Response, StatusCode};
use http_body_util::Full;
use soapstone::mime::Packaged;
use soapstone::wss::SoapVersion;

use super::{
    contents, gateway, of_backend, opening, parts, plain, request, request_with, secured, securing,
};
use crate::secured::client;
use crate::support::{Backend, ENVELOPE, Folder, Nobody, post, send};

/// A route to two backends, each with an endpoint of its own.
fn mixed(addresses: [std::net::SocketAddr; 2], words: [String; 2]) -> String {
    let backends = addresses.into_iter().zip(words);
    let backends: String = backends
        .map(|(address, tables)| {
            format!(
                "[[routes.backends]]\nurl = \"http://{address}/echo\"\n[routes.backends.outbound]\n{tables}"
            )
        })
        .collect();
    format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\n{backends}[routes.balance]\nselection = \"round-robin\"\n"
    )
}

#[tokio::test]
async fn a_package_goes_to_a_backend_whose_endpoint_takes_it() {
    let folder = Folder::with_keys();
    let mut without = Backend::echo().await;
    let mut backend = Backend::echo().await;
    let service = gateway(&folder, backend.address, "", &[opening("sign", "{}")]).await;
    let words = || [client("sign"), securing("sign", "{}").1];
    let file = mixed([without.address, service.address()], words());
    let gateway = folder.gateway(&file).await;
    for _ in 0..4 {
        let Packaged { content_type, body } = plain(SoapVersion::V11);
        let answer = send(gateway.address(), request(&content_type, body)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let seen = backend.seen.recv().await.expect("it arrived");
        let seen = of_backend(&seen, SoapVersion::V11);
        assert_eq!(contents(&seen.parts), contents(&parts()));
    }
    assert!(without.seen.try_recv().is_err());
    for _ in 0..2 {
        send(gateway.address(), post("/echo", ENVELOPE)).await;
    }
    assert!(without.seen.try_recv().is_ok(), "other messages go to both");
    // Nor does it go there when its backend is gone.
    let nobody = Nobody::new();
    let file = mixed([without.address, nobody.address], words());
    let gateway = folder.gateway(&file).await;
    for _ in 0..3 {
        let Packaged { content_type, body } = plain(SoapVersion::V11);
        let answer = send(gateway.address(), request(&content_type, body)).await;
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{}", answer.body);
    }
    assert!(without.seen.try_recv().is_err());
}

#[tokio::test]
async fn a_package_that_may_be_obeyed_twice_goes_to_another_backend() {
    let folder = Folder::with_keys();
    let failures = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&failures);
    let failing = Backend::answering(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        let mut response = Response::new(Full::from("away"));
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        response
    })
    .await;
    let mut backend = Backend::echo().await;
    let text = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackends = [{{ url = \"http://{}/echo\" }}, {{ url = \"http://{}/echo\" }}]\n\
         [routes.balance]\nselection = \"round-robin\"\nidempotent = [\"echo\"]\n[routes.inbound]\n{}",
        failing.address,
        backend.address,
        opening("sign", "{}").1
    );
    let service = folder.gateway(&text).await;
    for _ in 0..2 {
        let message = secured(&folder, "sign", "{}", parts());
        let answer = send(service.address(), request_with(&message)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let seen = backend.seen.recv().await.expect("it arrived");
        let seen = of_backend(&seen, SoapVersion::V11);
        assert_eq!(contents(&seen.parts), contents(&parts()));
    }
    assert!(failures.load(Ordering::Relaxed) > 0);
}
