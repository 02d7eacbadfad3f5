//! A plain SOAP client: calls, and checks what comes back.
//!
//! The rule kept here: an answer is right if what its body holds is, in canonical form, what the service gives without gateways.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request, header};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use soapstone::wss::Mechanism;
use soapstone::xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Canonicalization, Document, ParseOptions, canonicalize,
};
use soapstone_services::{Service, SoapVersion, requests};

use super::network::Network;
use super::report::Way;
use super::tap::Exchange;
use crate::failure::Failure;

/// What Echo is asked to say again: twelve characters, as studies have it.
const WORDS: &str = "Hello, world";

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// Echo of twelve characters.
    Echo,
    /// So many book records.
    Books(u32),
}

impl Operation {
    /// The service that has it.
    pub(super) fn service(self) -> Service {
        match self {
            Self::Echo => Service::Echo,
            Self::Books(_) => Service::Books,
        }
    }

    /// The message that calls it.
    pub(super) fn request(self) -> String {
        match self {
            Self::Echo => requests::echo(SoapVersion::Soap11, WORDS),
            Self::Books(count) => requests::get_books(SoapVersion::Soap11, count),
        }
    }

    /// Its name for people.
    pub(super) fn title(self) -> String {
        match self {
            Self::Echo => format!("Echo of {} characters", WORDS.len()),
            Self::Books(count) => format!("getBooks({count})"),
        }
    }

    /// Its name in measurements, and how many items it asks for.
    pub(super) fn payload(self) -> (&'static str, u32) {
        match self {
            Self::Echo => ("echo", 1),
            Self::Books(count) => ("books", count),
        }
    }
}

/// Bytes of a request and of its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) request: usize,
    pub(super) response: usize,
}

/// The right answer to a call.
#[derive(Clone)]
pub(super) struct Expected {
    body: Vec<u8>,
    /// Of the plain messages.
    pub(super) sizes: Sizes,
}

/// A call as it was on both sides of the outbound gateway.
pub(super) struct Seen {
    pub(super) mechanism: Mechanism,
    pub(super) operation: Operation,
    pub(super) plain: Exchange,
    pub(super) secured: Exchange,
}

impl Seen {
    /// Bytes between the gateways.
    pub(super) fn secured_sizes(&self) -> Sizes {
        Sizes {
            request: self.secured.request.len(),
            response: self.secured.response.len(),
        }
    }
}

/// The client.
pub(super) struct Caller<'n> {
    network: &'n Network,
    client: Client<HttpConnector, Full<Bytes>>,
}

impl<'n> Caller<'n> {
    pub(super) fn new(network: &'n Network) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self {
            network,
            client: Client::builder(TokioExecutor::new()).build(connector),
        }
    }

    /// Calls the service itself and keeps the answer as the right one.
    pub(super) async fn expected(&self, operation: Operation) -> Result<Expected, Failure> {
        let request = operation.request();
        let response = self
            .post(
                self.network.services(),
                operation.service().path(),
                operation,
            )
            .await?;
        let sizes = Sizes {
            request: request.len(),
            response: response.len(),
        };
        let body = canonical_body(&response, operation)?;
        let telling = match operation {
            Operation::Echo => count(&body, WORDS.as_bytes()) == 1,
            Operation::Books(books) => count(&body, b"<isbn>") == books as usize,
        };
        if telling {
            Ok(Expected { body, sizes })
        } else {
            Err(wrong(operation, "the service's own answer"))
        }
    }

    /// Calls once and checks the answer; says how long the call took.
    pub(super) async fn call(
        &self,
        way: Way,
        operation: Operation,
        expected: &Expected,
    ) -> Result<Duration, Failure> {
        let (address, path) = match way {
            Way::Direct => (
                self.network.services(),
                operation.service().path().to_owned(),
            ),
            Way::Through(mechanism) => (
                self.network.outbound(),
                format!("/{mechanism}{}", operation.service().path()),
            ),
        };
        let begun = Instant::now();
        let response = self.post(address, &path, operation).await?;
        let took = begun.elapsed();
        if canonical_body(&response, operation)? != expected.body {
            return Err(wrong(
                operation,
                &format!("the answer at http://{address}{path}"),
            ));
        }
        Ok(took)
    }

    /// Calls once with the tap between the gateways.
    pub(super) async fn watch(
        &self,
        mechanism: Mechanism,
        operation: Operation,
    ) -> Result<Seen, Failure> {
        let path = format!("/tapped/{mechanism}{}", operation.service().path());
        let response = self.post(self.network.outbound(), &path, operation).await?;
        canonical_body(&response, operation)?;
        let plain = Exchange {
            request: Bytes::from(operation.request()),
            response,
        };
        Ok(Seen {
            mechanism,
            operation,
            plain,
            secured: self.network.tap().last(),
        })
    }

    async fn post(
        &self,
        address: SocketAddr,
        path: &str,
        operation: Operation,
    ) -> Result<Bytes, Failure> {
        let failed = |problem: String| {
            Failure::new(format_args!(
                "the call to http://{address}{path} failed: {problem}"
            ))
        };
        let request = Request::builder()
            .method(Method::POST)
            .uri(format!("http://{address}{path}"))
            .header(header::CONTENT_TYPE, "text/xml; charset=utf-8")
            .header(
                "SOAPAction",
                format!("\"{}\"", operation.service().soap_action()),
            )
            .body(Full::new(Bytes::from(operation.request())))
            .map_err(|error| failed(error.to_string()))?;
        let response = self
            .client
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

fn wrong(operation: Operation, what: &str) -> Failure {
    Failure::new(format_args!(
        "{what} is not what {} gives",
        operation.title()
    ))
}

fn count(text: &[u8], word: &[u8]) -> usize {
    text.windows(word.len())
        .filter(|window| *window == word)
        .count()
}

/// The canonical form of what the body of an envelope holds. The body itself may have got an id on its way.
fn canonical_body(envelope: &[u8], operation: Operation) -> Result<Vec<u8>, Failure> {
    let unreadable = |problem: &dyn std::fmt::Display| {
        Failure::new(format_args!(
            "the answer to {} is no SOAP envelope: {problem}",
            operation.title()
        ))
    };
    let mut buffers = Buffers::default();
    let document = Document::parse(envelope.to_vec(), &ParseOptions::default(), &mut buffers)
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
