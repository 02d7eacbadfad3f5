//! The service that is called: Echo, which counts how often it received each text.
//!
//! Every call has a text of its own, so a text that came twice is a message that was let in twice.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde::Serialize;
use soapstone::xml::Buffers;
use soapstone_services::{SoapVersion, responses};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::caller::echoed;

/// What the service received.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Delivered {
    /// Different messages.
    pub messages: usize,
    /// How many of them it received more than once. Each is a replay that was accepted.
    pub repeated: usize,
}

type Received = Arc<Mutex<HashMap<String, u32>>>;

/// Echo, served until it is dropped.
pub(super) struct CountingEcho {
    received: Received,
    task: JoinHandle<()>,
}

impl CountingEcho {
    pub(super) async fn start(address: SocketAddr) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let received = Received::default();
        let task = tokio::spawn(serve(listener, Arc::clone(&received)));
        Ok(Self { received, task })
    }

    pub(super) fn delivered(&self) -> Delivered {
        let received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        Delivered {
            messages: received.len(),
            repeated: received.values().filter(|times| **times > 1).count(),
        }
    }
}

impl Drop for CountingEcho {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, received: Received) {
    loop {
        // What is wrong with one connection is not wrong with the next.
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        let received = Arc::clone(&received);
        let answers = service_fn(move |request| {
            let received = Arc::clone(&received);
            async move { Ok::<_, Infallible>(answer(request, &received).await) }
        });
        tokio::spawn(
            hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), answers),
        );
    }
}

async fn answer(
    request: Request<Incoming>,
    received: &Mutex<HashMap<String, u32>>,
) -> Response<Full<Bytes>> {
    let text = match request.into_body().collect().await {
        Ok(body) => echoed(body.to_bytes().into(), &mut Buffers::default()),
        Err(_) => None,
    };
    let Some(text) = text else {
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::BAD_REQUEST;
        return response;
    };
    let said = responses::echo(SoapVersion::Soap11, &text);
    *received
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .entry(text)
        .or_default() += 1;
    let mut response = Response::new(Full::new(Bytes::from(said)));
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/xml; charset=utf-8"),
    );
    response
}
