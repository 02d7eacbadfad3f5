//! A plain SOAP client, and what is compared of the answers that it gets.
//!
//! The rule kept here: an answer is right if what its body holds is, in canonical form, what the service gives without gateways.

use bytes::Bytes;
use http::{Method, Request, header};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use soapstone::xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Canonicalization, Document, ParseOptions, canonicalize,
};

use crate::failure::Failure;

/// The client. It keeps its connections, and shares them with its clones.
#[derive(Clone)]
pub(crate) struct Client(legacy::Client<HttpConnector, Full<Bytes>>);

impl Client {
    pub(crate) fn new() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self(legacy::Client::builder(TokioExecutor::new()).build(connector))
    }

    /// Sends a SOAP 1.1 request and reads the whole answer, which must be one of success.
    pub(crate) async fn post(
        &self,
        url: &str,
        soap_action: &str,
        message: Bytes,
    ) -> Result<Bytes, Failure> {
        let failed =
            |problem: String| Failure::new(format_args!("the call to {url} failed: {problem}"));
        let request = Request::builder()
            .method(Method::POST)
            .uri(url)
            .header(header::CONTENT_TYPE, "text/xml; charset=utf-8")
            .header("SOAPAction", format!("\"{soap_action}\""))
            .body(Full::new(message))
            .map_err(|error| failed(error.to_string()))?;
        let response = self
            .0
            .request(request)
            .await
            .map_err(|error| failed(error.to_string()))?;
        let status = response.status();
        let body = response
            .into_body()
            .collect()
            .await
            .map_err(|error| failed(error.to_string()))?
            .to_bytes();
        if status.is_success() {
            Ok(body)
        } else {
            Err(failed(format!(
                "{status}: {}",
                String::from_utf8_lossy(&body)
            )))
        }
    }
}

/// The canonical form of what the body of an envelope, the answer to `what`, holds. The body itself may have got an id on its way.
pub(crate) fn canonical_body(envelope: &[u8], what: &str) -> Result<Vec<u8>, Failure> {
    let unreadable = |problem: &dyn std::fmt::Display| {
        Failure::new(format_args!(
            "the answer to {what} is no SOAP envelope: {problem}"
        ))
    };
    let mut options = ParseOptions::default();
    // It is ours, and whole: whatever came may be as long as it is.
    options.limits.message = options.limits.message.max(envelope.len());
    let mut buffers = Buffers::default();
    let document = Document::parse(envelope.to_vec(), &options, &mut buffers)
        .map_err(|error| unreadable(&error))?;
    let root = document.root();
    let body = root
        .child(root.namespace(), "Body")
        .ok_or_else(|| unreadable(&"it has no Body"))?;
    let mut canonical = Vec::with_capacity(envelope.len());
    let options = C14nOptions::new(Canonicalization::Exclusive);
    for element in body.children() {
        let apex = Apex::Element(element.id());
        canonicalize(
            &document,
            apex,
            &options,
            &mut C14nScratch::default(),
            &mut canonical,
        )
        .map_err(|error| unreadable(&error))?;
    }
    Ok(canonical)
}
