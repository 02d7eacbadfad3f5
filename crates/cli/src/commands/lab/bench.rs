//! What studies are run on: sample services and two gateways in this process, and a client that calls them.
//!
//! The rule kept here: the body of each answer is compared with what the service gives, outside of the time that is measured.

use std::time::{Duration, Instant};

use bytes::Bytes;
use soapstone_lab::study::{self, Bench, Call, Options, Sizes, Source, Study, Way};
use soapstone_services::{DatabaseLocation, Service, SoapVersion, requests, responses};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::failure::Failure;
use crate::runtime;
use crate::testbed::{Client, Layout, Network, Route, canonical_body};

/// The largest message that the gateways let through, MiB: 25,000 books are 6 MiB, and 9 when they are encrypted.
const LARGEST_MESSAGE: u32 = 32;

/// What the study calls: a route for each source and each way through the gateways.
pub(super) fn layout(
    study: &'static Study,
    options: &Options,
    databases: Vec<DatabaseLocation>,
) -> Layout {
    let routes = study::routes(study, options)
        .into_iter()
        .filter_map(|(source, way)| match way {
            Way::Direct => None,
            Way::Through { mechanism, suite } => Some(Route {
                prefix: prefix(source, way),
                instance: instance(source),
                service: Service::Books,
                mechanism,
                suite: suite.to_owned(),
            }),
        });
    Layout {
        routes: routes.collect(),
        databases,
        largest_message: LARGEST_MESSAGE,
    }
}

/// Any of the services has books in memory.
fn instance(source: Source) -> usize {
    match source {
        Source::Memory => 0,
        Source::Database(index) => index,
    }
}

fn prefix(source: Source, way: Way) -> String {
    let place = match source {
        Source::Memory => "/memory".to_owned(),
        Source::Database(index) => format!("/database-{index}"),
    };
    match way.suite() {
        "" => format!("{place}/{}", way.name()),
        suite => format!("{place}/{}/{suite}", way.name()),
    }
}

/// Services and two gateways, called until somebody wants to stop.
pub(super) struct Gateways<'n> {
    runtime: &'n Runtime,
    network: &'n Network,
    client: Client,
    stop: JoinHandle<()>,
    /// The right body of the answer with so many books.
    right: Option<(u32, Vec<u8>)>,
}

impl<'n> Gateways<'n> {
    /// The network, called on this runtime until the process is told to stop.
    pub(super) fn new(runtime: &'n Runtime, network: &'n Network) -> Self {
        Self {
            runtime,
            network,
            client: Client::new(),
            stop: runtime.spawn(async { runtime::stop_requested().await }),
            right: None,
        }
    }

    /// Posts the call to this URL and checks the answer: octets of both, and the time it took.
    fn post(&mut self, call: &Call, url: &str) -> Result<(usize, Duration), Failure> {
        let message = Bytes::from(requests::get_books(SoapVersion::Soap11, call.books));
        let asked = message.len();
        let (client, stop) = (&self.client, &mut self.stop);
        let (answer, took) = self.runtime.block_on(async {
            let begun = Instant::now();
            tokio::select! {
                answer = client.post(url, Service::Books.soap_action(), message) => Ok((answer?, begun.elapsed())),
                _ = stop => Err(Failure::new("stopped before the end")),
            }
        })?;
        let title = format!("getBooks({})", call.books);
        if canonical_body(&answer, &title)? != self.right(call.books)? {
            return Err(Failure::new(format_args!(
                "the answer at {url} is not what {title} gives"
            )));
        }
        Ok((asked + answer.len(), took))
    }

    fn right(&mut self, books: u32) -> Result<&[u8], Failure> {
        if self.right.as_ref().is_none_or(|(of, _)| *of != books) {
            let answer = responses::books(SoapVersion::Soap11, books);
            self.right = Some((books, canonical_body(&answer, "getBooks")?));
        }
        Ok(self.right.as_ref().map_or(&[], |(_, body)| body))
    }

    fn url(&self, call: &Call, before: &str) -> Result<String, Failure> {
        let query = match call.source {
            Source::Memory => "source=memory",
            Source::Database(_) => "source=database",
        };
        let path = Service::Books.path();
        Ok(match call.way {
            Way::Direct => {
                let address = self.network.services(instance(call.source));
                let address =
                    address.ok_or_else(|| Failure::new("the sample services were not started"))?;
                format!("http://{address}{path}?{query}")
            }
            Way::Through { .. } => format!(
                "http://{}{before}{}{path}?{query}",
                self.network.outbound(),
                prefix(call.source, call.way)
            ),
        })
    }
}

impl Bench for Gateways<'_> {
    type Failure = Failure;

    fn call(&mut self, call: &Call) -> Result<Duration, Failure> {
        let url = self.url(call, "")?;
        Ok(self.post(call, &url)?.1)
    }

    fn weigh(&mut self, call: &Call) -> Result<Sizes, Failure> {
        let url = self.url(call, "/tapped")?;
        let (plain, _) = self.post(call, &url)?;
        let secured = match call.way {
            Way::Direct => plain,
            Way::Through { .. } => {
                let seen = self.network.tapped();
                seen.request.len() + seen.response.len()
            }
        };
        Ok(Sizes { plain, secured })
    }
}
