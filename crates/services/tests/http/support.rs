//! A plain HTTP client for the tests of the services, and one set of services that several tests
//! share.

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use soapstone_services::SoapVersion;

/// An answer, read whole.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) version: http::Version,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("the answer is UTF-8")
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().expect("ASCII"))
    }
}

/// A client with its own connections.
pub(crate) struct Http(Client<HttpConnector, Full<Bytes>>);

impl Http {
    pub(crate) fn one() -> Self {
        Http(Client::builder(TokioExecutor::new()).build_http())
    }

    /// HTTP/2 without TLS, by prior knowledge.
    pub(crate) fn two() -> Self {
        Http(
            Client::builder(TokioExecutor::new())
                .http2_only(true)
                .build_http(),
        )
    }

    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> Answer {
        let response = self.0.request(request).await.expect("an answer");
        let (head, body) = response.into_parts();
        Answer {
            status: head.status,
            headers: head.headers,
            version: head.version,
            body: body
                .collect()
                .await
                .expect("a whole body")
                .to_bytes()
                .to_vec(),
        }
    }

    pub(crate) async fn get(&self, url: &str) -> Answer {
        self.method(Method::GET, url).await
    }

    pub(crate) async fn method(&self, method: Method, url: &str) -> Answer {
        self.send(
            Request::builder()
                .method(method)
                .uri(url)
                .body(Full::default())
                .unwrap(),
        )
        .await
    }

    /// Posts a message of `version`.
    pub(crate) async fn call(
        &self,
        version: SoapVersion,
        url: &str,
        message: impl Into<Bytes>,
    ) -> Answer {
        self.post(version.content_type(), url, message).await
    }

    pub(crate) async fn post(
        &self,
        content_type: &str,
        url: &str,
        message: impl Into<Bytes>,
    ) -> Answer {
        let request = Request::post(url)
            .header("content-type", content_type)
            .body(Full::new(message.into()))
            .unwrap();
        self.send(request).await
    }
}

/// An envelope around `body`, with `header` blocks before it.
pub(crate) fn envelope(version: SoapVersion, header: &str, body: &str) -> String {
    format!(
        "<soap:Envelope xmlns:soap=\"{}\">{header}<soap:Body>{body}</soap:Body></soap:Envelope>",
        version.namespace()
    )
}
