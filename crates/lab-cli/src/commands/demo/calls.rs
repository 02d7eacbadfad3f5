//! What the demo calls, which way, and whether the answer is right.
//!
//! The rule kept here: what is right is what the service itself gave.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use soapstone::wss::Mechanism;
use soapstone_services::{Service, SoapVersion, requests};

use super::report::Way;
use crate::failure::Failure;
use crate::testbed::{Client, Exchange, Network, canonical_body};

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
    services: SocketAddr,
    client: Client,
}

impl<'n> Caller<'n> {
    pub(super) fn new(network: &'n Network, services: SocketAddr) -> Self {
        Self {
            network,
            services,
            client: Client::new(),
        }
    }

    /// Calls the service itself and keeps the answer as the right one.
    pub(super) async fn expected(&self, operation: Operation) -> Result<Expected, Failure> {
        let request = operation.request();
        let response = self
            .post(self.services, operation.service().path(), operation)
            .await?;
        let sizes = Sizes {
            request: request.len(),
            response: response.len(),
        };
        let body = canonical_body(&response, &operation.title())?;
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
            Way::Direct => (self.services, operation.service().path().to_owned()),
            Way::Through(mechanism) => (
                self.network.outbound(),
                format!("/{mechanism}{}", operation.service().path()),
            ),
        };
        let begun = Instant::now();
        let response = self.post(address, &path, operation).await?;
        let took = begun.elapsed();
        if canonical_body(&response, &operation.title())? != expected.body {
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
        canonical_body(&response, &operation.title())?;
        let plain = Exchange {
            request: Bytes::from(operation.request()),
            response,
            ..Exchange::default()
        };
        Ok(Seen {
            mechanism,
            operation,
            plain,
            secured: self.network.tapped(),
        })
    }

    async fn post(
        &self,
        address: SocketAddr,
        path: &str,
        operation: Operation,
    ) -> Result<Bytes, Failure> {
        let url = format!("http://{address}{path}");
        let message = Bytes::from(operation.request());
        let soap = (SoapVersion::Soap11, operation.service().soap_action());
        self.client.post(&url, soap, message).await
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
