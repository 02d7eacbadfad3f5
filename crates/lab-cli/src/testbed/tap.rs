//! A tap on the wire between the gateways: passes each call on as it came, and keeps a copy of what
//! it saw last.
//!
//! The rule kept here: nothing is measured through the tap; it is there to see and to weigh
//! messages.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use super::server::Server;
use crate::failure::Failure;

/// Both messages of a call, as they were on the wire.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exchange {
    /// The fields beside the request.
    pub(crate) fields: HeaderMap,
    pub(crate) request: Bytes,
    pub(crate) response: Bytes,
}

/// A tap before `target`. It stops when it is dropped.
pub(crate) struct Tap {
    server: Server,
    seen: Arc<Mutex<Exchange>>,
}

type HttpClient = Client<HttpConnector, Full<Bytes>>;

impl Tap {
    pub(crate) async fn start(target: SocketAddr) -> Result<Self, Failure> {
        let seen = Arc::new(Mutex::new(Exchange::default()));
        let client: HttpClient = Client::builder(TokioExecutor::new()).build_http();
        let noted = Arc::clone(&seen);
        let server = Server::start(move |request| {
            let (client, seen) = (client.clone(), Arc::clone(&noted));
            async move { pass(request, target, &client, &seen).await }
        });
        Ok(Self {
            server: server.await?,
            seen,
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The call that passed last.
    pub(crate) fn last(&self) -> Exchange {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

async fn pass(
    request: Request<Incoming>,
    target: SocketAddr,
    client: &HttpClient,
    seen: &Mutex<Exchange>,
) -> Result<Response<Full<Bytes>>, String> {
    let (mut head, body) = request.into_parts();
    let body = body
        .collect()
        .await
        .map_err(|error| error.to_string())?
        .to_bytes();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    head.uri = format!("http://{target}{path}")
        .parse::<Uri>()
        .map_err(|error| error.to_string())?;
    head.headers.remove(http::header::TRANSFER_ENCODING);
    let fields = head.headers.clone();
    let request = Request::from_parts(head, Full::new(body.clone()));
    let (head, answer) = client
        .request(request)
        .await
        .map_err(|error| error.to_string())?
        .into_parts();
    let answer = answer
        .collect()
        .await
        .map_err(|error| error.to_string())?
        .to_bytes();
    *seen.lock().unwrap_or_else(PoisonError::into_inner) = Exchange {
        fields,
        request: body,
        response: answer.clone(),
    };
    let mut response = Response::from_parts(head, Full::new(answer));
    response
        .headers_mut()
        .remove(http::header::TRANSFER_ENCODING);
    Ok(response)
}
