//! A tap on the wire between the gateways: passes each call on as it came, and keeps a copy of what
//! it saw last.
//!
//! The rule kept here: nothing is measured through the tap; it is there to see and to weigh
//! messages.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::failure::Failure;

/// Both messages of a call, as they were on the wire.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exchange {
    pub(crate) request: Bytes,
    pub(crate) response: Bytes,
}

/// A tap before `target`. It stops when it is dropped.
pub(crate) struct Tap {
    address: SocketAddr,
    seen: Arc<Mutex<Exchange>>,
    task: JoinHandle<()>,
}

type HttpClient = Client<HttpConnector, Full<Bytes>>;

impl Tap {
    pub(crate) async fn start(target: SocketAddr) -> Result<Self, Failure> {
        let failed =
            |error| Failure::new(format_args!("cannot listen on a loopback port: {error}"));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let seen = Arc::new(Mutex::new(Exchange::default()));
        let task = tokio::spawn(serve(listener, target, Arc::clone(&seen)));
        Ok(Self {
            address,
            seen,
            task,
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The call that passed last.
    pub(crate) fn last(&self) -> Exchange {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, target: SocketAddr, seen: Arc<Mutex<Exchange>>) {
    let client: HttpClient = Client::builder(TokioExecutor::new()).build_http();
    while let Ok((stream, _)) = listener.accept().await {
        let (client, seen) = (client.clone(), Arc::clone(&seen));
        let service = service_fn(move |request| {
            let (client, seen) = (client.clone(), Arc::clone(&seen));
            async move {
                Ok::<_, Infallible>(pass(request, target, &client, &seen).await.unwrap_or_else(
                    |problem| {
                        let mut response = Response::new(Full::new(Bytes::from(problem)));
                        *response.status_mut() = StatusCode::BAD_GATEWAY;
                        response
                    },
                ))
            }
        });
        tokio::spawn(
            hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service),
        );
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
        request: body,
        response: answer.clone(),
    };
    let mut response = Response::from_parts(head, Full::new(answer));
    response
        .headers_mut()
        .remove(http::header::TRANSFER_ENCODING);
    Ok(response)
}
